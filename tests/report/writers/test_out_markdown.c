#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <time.h>

#include "report/table/table.h"
#include "tests/environment/random.h"
#include "tests/report/writers/writer_tables.h"

static char *make(struct ws_table *t, const char *filter)
{
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "a_b.wtrace",
	                           .filter = filter,
	                           .tables = &t,
	                           .ntables = 1};
	char *bytes = NULL;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	ws_out_markdown(f, &report);
	fclose(f);
	return bytes;
}

/* --- names in it --- */

/*
 * What Markdown and GitHub read: the cells of a row end at pipes without a backslash in front,
 * which else goes; code stands between runs of backticks of one length.
 */

/* Cell `n` of a row, from 0. */
static void cell_of(const char *row, size_t n, char *out)
{
	for (size_t cell = 0; *row && *row != '\n'; row++) {
		if (*row == '|' && row[-1] != '\\')
			cell++;
		else if (cell == n + 1 && (*row != '\\' || row[1] != '|'))
			*out++ = *row;
	}
	*out = 0;
}

/* Code and what stands around it. */
static void split_code(const char *text, char *code, char *rest)
{
	while (*text) {
		const size_t fence = strspn(text, "`");
		const char *end = text + fence;
		size_t run = 0, len;

		while (fence && *end && (run = strspn(end, "`")) != fence)
			end += run ? run : 1;
		if (!fence || !*end) {
			*rest++ = *text++;
			continue;
		}
		text += fence;
		len = (size_t)(end - text);
		end += fence;
		if (len > 1 && *text == ' ' && text[len - 1] == ' ' && strspn(text, " ") < len) {
			text++;
			len -= 2;
		}
		memcpy(code, text, len);
		code += len;
		text = end;
	}
	*code = *rest = 0;
}

static bool is_harmless(const char *text)
{
	for (size_t i = 0; text[i]; i++)
		if (strchr("@#$<>[]{}~&\\`|", text[i]) || (text[i] == ':' && text[i + 1] > ' ') ||
		    !strncasecmp(text + i, "www.", 4) || !strncasecmp(text + i, "GH-1", 4) ||
		    strspn(text + i, "0123456789abcdefABCDEF") >= 7)
			return false;
	return true;
}

/* As a name, in a sentence of a table, and in a note. */
static void expect_harmless(const char *name)
{
	struct ws_table *t = page_table();
	struct ws_table *kernels = kernel_table();
	char *md, *row, cell[2000], code[8000], rest[8000], sentence[600], shown[1200];
	size_t len;
	FILE *f = fmemopen(shown, sizeof(shown), "w");

	ws_display_name(f, name);
	fclose(f);
	snprintf(sentence, sizeof(sentence), "kernels like %s were lost: see above.", name);
	ws_cell_set_str(kernels, &kernels->cells[3], name);
	ws_table_note(kernels, "%s", sentence);
	md = make(kernels, name);
	row = strstr(md, "---:|\n") + 6;
	cell_of(row, 0, cell);
	split_code(cell, code, rest);
	cr_expect(is_harmless(rest), "%s: %s", name, rest);
	len = strlen(rest);
	if (*code)
		cr_expect_str_eq(code, shown);
	else
		cr_expect(len >= 2 && !strncmp(rest + 1, shown, len - 2), "%s: %s", name, rest);
	cell_of(row, 1, cell);
	cr_expect_str_eq(cell, " 75.0 ", "%s ends its cell", name);
	row = strstr(md, "\n- kernels like");
	cr_assert_not_null(row);
	split_code(row + 2, code, rest);
	cr_expect(is_harmless(rest), "%s: %s", name, rest);
	split_code(md + strlen("# Warpsheet report\n"), code, rest);
	*strstr(rest, "\n\n#") = 0;
	cr_expect(is_harmless(rest), "filter %s: %s", name, rest);
	free(md);
	ws_table_free(kernels);
	ws_cell_set_str(t, &t->cells[2], sentence);
	md = make(t, "");
	row = strstr(md, "| GPU time |");
	cr_assert_not_null(row);
	cell_of(row, 4, cell);
	split_code(cell, code, rest);
	cr_expect(is_harmless(rest), "%s: %s", name, rest);
	cr_expect_not_null(strstr(rest, "kernels like "), "%s: %s", name, rest);
	cr_expect_not_null(strstr(rest, " were lost: see above."), "%s: %s", name, rest);
	free(md);
	ws_table_free(t);
}

Test(out_markdown, names_notify_nobody_link_nowhere_and_draw_nothing)
{
	static const char *const names[] = {
	        "@octocat",
	        "@org/team",
	        "see #1",
	        "void f<lambda()#1>(a*, b&)",
	        "user/repo#1",
	        "GH-12",
	        "a5c3785ed8d6a35868bc169f07e40e889087fd2e",
	        "deadbeef",
	        "$x$",
	        "$\\color{red}{faster}$ and $x$",
	        "https://evil.example/x",
	        "www.evil.example",
	        "WWW.evil.example",
	        "mail@evil.example",
	        "a::heart::b",
	        ":x:",
	        "x</summary></details><h1>y",
	        "<!-- -->@octocat",
	        "`@octocat",
	        "`` @octocat ` x",
	        "@octocat`",
	        "` `",
	        "`",
	        "``` @octocat",
	        "a|b",
	        "a\\|@octocat|b",
	        "a\\\\|b\\",
	        "\\",
	        "[x](https://evil.example)",
	        "![x](https://evil.example)",
	        "&#64;octocat",
	        "~~x~~ **y** __z__ _z_",
	        "a\n@octocat",
	        "`a` @octocat `b`",
	        "(`@octocat`). `x`y",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect_harmless(names[i]);
}

Test(out_markdown, no_name_of_any_letters_does_harm)
{
	static const char letters[] = "``||\\\\@#$:./w<>a1-_*(~& ";
	uint64_t state = 7;

	for (int i = 0; i < 3000; i++) {
		char name[20];
		const size_t len = 1 + random_below(&state, sizeof(name) - 1);

		for (size_t k = 0; k < len; k++)
			name[k] = letters[random_below(&state, sizeof(letters) - 1)];
		name[len] = 0;
		if (strspn(name, " ") < len && *name != ' ' && name[len - 1] != ' ')
			expect_harmless(name);
	}
}

Test(out_markdown, a_pipe_is_one_in_a_table_and_beside_it)
{
	struct ws_table *t = kernel_table();
	char *md;

	ws_cell_set_str(t, &t->cells[3], "a\\|b");
	ws_table_note(t, "lost: a\\|b.");
	md = make(t, "");
	cr_expect_not_null(strstr(md, "\n| `a\\\\|b` | 75.0"), "%s", md);
	cr_expect_not_null(strstr(md, "\n- lost: `a\\|b`.\n"), "%s", md);
	free(md);
	ws_table_free(t);
}

Test(out_markdown, what_is_plain_stays_plain)
{
	static const char *const plain[] = {"ws_gemm_f32", "a 1.6× faster (95 % CI 1.5 to 2)",
	                                    "fixtures/traces/step-fp32.wtrace", "-12.5 %", "B / A"};

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		struct ws_table *t = kernel_table();
		char *md, row[100];

		ws_cell_set_str(t, &t->cells[3], plain[i]);
		md = make(t, "");
		snprintf(row, sizeof(row), "\n| %s | 75.0 |", plain[i]);
		cr_expect_not_null(strstr(md, row), "%s: %s", plain[i], md);
		free(md);
		ws_table_free(t);
	}
}

Test(out_markdown, a_long_page_takes_time_by_its_lines)
{
	struct ws_table *t = long_page();
	clock_t begin = clock();
	char *md = make(t, "");

	cr_assert(lt(dbl, (double)(clock() - begin) / CLOCKS_PER_SEC, 10.0));
	cr_assert_not_null(strstr(md, "99,999"));
	free(md);
	ws_table_free(t);
}
