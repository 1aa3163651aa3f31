/* Names of traces: patterns, and names that are taken. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "recorder/launch/launch.h"

static const char env_text[] = "RANK=7\0PATHLIKE=a/b\0EMPTY=\0RANKS=no\0";
static const struct ws_strings env = {env_text, sizeof(env_text) - 1};

static const char *expand(const char *pattern)
{
	static char out[64];
	const struct ws_output_vars vars = {1234, &env, NULL};
	struct ws_err err;

	return ws_output_expand(pattern, &vars, out, sizeof(out), &err) == WS_OK ? out : NULL;
}

static enum ws_status refusal(const char *pattern)
{
	const struct ws_output_vars vars = {1234, &env, NULL};
	struct ws_err err;
	char out[64];

	return ws_output_expand(pattern, &vars, out, sizeof(out), &err);
}

Test(trace_name, p_is_the_process_and_two_percent_signs_are_one)
{
	cr_expect_str_eq(expand("/x/t.wtrace"), "/x/t.wtrace");
	cr_expect_str_eq(expand("/x/%p-%p.wtrace"), "/x/1234-1234.wtrace");
	cr_expect_str_eq(expand("/50%%/100%%p.wtrace"), "/50%/100%p.wtrace");
}

Test(trace_name, q_is_a_variable_and_unset_when_there_is_none_or_it_is_empty)
{
	cr_expect_str_eq(expand("r%q{RANK}.w"), "r7.w");
	cr_expect_str_eq(expand("r%q{RAN}.w"), "runset.w");
	cr_expect_str_eq(expand("r%q{EMPTY}.w"), "runset.w");
	cr_expect_str_eq(expand("%q{PATHLIKE}"), "a_b", "a value never leads to another folder");
}

Test(trace_name, h_is_the_host_without_its_domain)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	cr_expect_str_eq(expand("%h"), host);
}

Test(trace_name, what_makes_no_sense_is_refused)
{
	cr_expect_eq(refusal("%"), WS_USAGE);
	cr_expect_eq(refusal("a%x"), WS_USAGE);
	cr_expect_eq(refusal("%q"), WS_USAGE);
	cr_expect_eq(refusal("%q{}"), WS_USAGE);
	cr_expect_eq(refusal("%q{RANK"), WS_USAGE);
	cr_expect_eq(refusal("%p/t.wtrace"), WS_USAGE, "folders have no patterns");
	cr_expect_eq(refusal("0123456789012345678901234567890123456789012345678901234567890123"),
	             WS_USAGE);
	cr_expect_eq(refusal("012345678901234567890123456789012345678901234567890123456789012"),
	             WS_OK, "63 and a NUL fit");
}

Test(trace_name, an_escaped_path_expands_to_itself)
{
	char pattern[64];

	cr_assert_eq(ws_output_escape("/a%pb/50%", pattern, sizeof(pattern)), 0);
	cr_expect_str_eq(expand(pattern), "/a%pb/50%");
	cr_expect_eq(ws_output_escape("%%%%", pattern, 8), -1);
}

/* Names that are taken, NULL-terminated. */
static bool is_listed(void *ctx, const char *path)
{
	for (const char *const *name = ctx; *name; name++)
		if (!strcmp(*name, path))
			return 1;
	return 0;
}

static const char *choose(const char *path, uint32_t pid, const char **taken)
{
	static char out[64];
	struct ws_err err;

	snprintf(out, sizeof(out), "%s", path);
	cr_assert_eq(ws_output_choose(out, sizeof(out), pid, is_listed, taken, &err), WS_OK);
	return out;
}

Test(trace_name, a_name_that_is_taken_gets_the_process_and_then_a_number)
{
	const char *taken[] = {"/d.x/t.wtrace", "/d.x/t.77.wtrace", "/d.x/t.77-2.wtrace",
	                       "/d.x/t",        "/d.x/.t",          NULL};

	cr_expect_str_eq(choose("/d.x/u.wtrace", 77, taken), "/d.x/u.wtrace");
	cr_expect_str_eq(choose("/d.x/t.wtrace", 78, taken), "/d.x/t.78.wtrace");
	cr_expect_str_eq(choose("/d.x/t.wtrace", 77, taken), "/d.x/t.77-3.wtrace");
	cr_expect_str_eq(choose("/d.x/t", 77, taken), "/d.x/t.77", "the folder has no extension");
	cr_expect_str_eq(choose("/d.x/.t", 77, taken), "/d.x/.t.77");
}

Test(trace_name, without_a_process_it_gets_a_number)
{
	const char *taken[] = {"t.wtrace", "t-2.wtrace", NULL};

	cr_expect_str_eq(choose("t.wtrace", 0, taken), "t-3.wtrace");
}

Test(trace_name, a_name_that_gets_too_long_is_refused)
{
	const char *taken[] = {"0123456789", NULL};
	char path[12] = "0123456789";
	struct ws_err err;

	cr_expect_eq(ws_output_choose(path, sizeof(path), 77, is_listed, taken, &err), WS_USAGE);
}

Test(trace_name, strings_a_field_without_its_last_nul_ends_before_the_cut_off_string)
{
	static const char field[] = {'a', '=', '1', 0, 'b', 0, 'c', 'd'};
	struct ws_strings list = ws_strings_in(field, sizeof(field));
	char **array;

	cr_expect_eq(list.size, 6);
	cr_expect_str_eq(ws_strings_value(list, "a", 1), "1");
	cr_expect_null(ws_strings_value(list, "b", 1));
	cr_expect_null(ws_strings_value(list, "=", 1));
	array = ws_strings_array(list);
	cr_expect_str_eq(array[0], "a=1");
	cr_expect_str_eq(array[1], "b");
	cr_expect_null(array[2]);
	free(array);
	cr_expect_eq(ws_strings_in("", 1).size, 0);
}

static const char *with_rank(const char *pattern)
{
	static char out[64];
	struct ws_err err;

	snprintf(out, sizeof(out), "%s", pattern);
	return ws_output_add_rank(out, sizeof(out), &err) == WS_OK ? out : NULL;
}

Test(trace_name, ranks_of_a_launcher_have_names_of_their_own)
{
	static const char *const pairs[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	                                       {"PMI_RANK", "PMI_SIZE"},
	                                       {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	                                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	                                       {"RANK", "WORLD_SIZE"}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		unsetenv(pairs[i][0]);
		unsetenv(pairs[i][1]);
	}
	cr_expect_str_eq(with_rank("t.wtrace"), "t.wtrace");
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		setenv(pairs[i][0], "3", 1);
		cr_expect_str_eq(with_rank("t.wtrace"), "t.wtrace", "a batch script is no rank");
		setenv(pairs[i][1], "1", 1);
		cr_expect_str_eq(with_rank("t.wtrace"), "t.wtrace", "one rank needs no number");
		setenv(pairs[i][1], "4", 1);
		cr_expect_str_eq(with_rank("/x.y/t.wtrace"), "/x.y/t.rank3.wtrace", "%s",
		                 pairs[i][0]);
		cr_expect_str_eq(with_rank("100%%.w"), "100%%.rank3.w");
		cr_expect_str_eq(with_rank("t.%q{RANK}.w"), "t.%q{RANK}.w", "the user's own");
		cr_expect_str_eq(with_rank("/dev/null"), "/dev/null");
		setenv(pairs[i][0], "a/b", 1);
		cr_expect_str_eq(with_rank("t.wtrace"), "t.wtrace", "a rank is a number");
		unsetenv(pairs[i][0]);
		unsetenv(pairs[i][1]);
	}
}
