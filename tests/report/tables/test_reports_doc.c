/* docs/reports.md lists every table and column as tables.def has them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/tables/tables.h"
#include "tests/support/paths.h"

#define PAGE  "docs/reports.md"
#define BEGIN "<!-- begin tables -->\n"
#define END   "<!-- end tables -->"

static char *read_page(void)
{
	FILE *f = fopen(WS_SOURCE_DIR "/" PAGE, "rb");
	char *text;
	size_t len;

	cr_assert(f != NULL, "cannot open %s", PAGE);
	fseek(f, 0, SEEK_END);
	len = (size_t)ftell(f);
	rewind(f);
	text = malloc(len + 1);
	cr_assert(eq(sz, fread(text, 1, len, f), len));
	text[len] = 0;
	fclose(f);
	return text;
}

static void print_table(FILE *f, const struct ws_table_def *def, const char *of)
{
	fprintf(f, "\n### `%s`%s\n\n**%s.** %s.\n\n", def->name, of, def->title, def->what);
	fputs("| column | unit | what it is |\n|---|---|---|\n", f);
	for (size_t i = 0; i < def->ncolumns; i++)
		fprintf(f, "| %s | %s | %s |\n", def->columns[i].title, def->columns[i].unit,
		        def->columns[i].definition);
}

static void print_tables(FILE *f)
{
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs(&n);

	for (size_t i = 0; i < n; i++)
		print_table(f, defs[i], "");
	defs = ws_request_defs(&n);
	for (size_t i = 0; i < n; i++)
		print_table(f, defs[i], " (only on request)");
	defs = ws_diff_defs(&n);
	for (size_t i = 0; i < n; i++)
		if (strncmp(defs[i]->name, "diff-", 5) == 0)
			print_table(f, defs[i], " (of `warpsheet diff`)");
	print_table(f, ws_aa_defs(&n)[0], " (of `warpsheet aa`)");
	defs = ws_sweep_defs(&n);
	for (size_t i = 0; i + 1 < n; i++)
		print_table(f, defs[i], " (of `warpsheet sweep`)");
	fputc('\n', f);
}

static void write_page(const char *head, const char *tables, const char *tail)
{
	FILE *f = fopen(WS_SOURCE_DIR "/" PAGE, "wb");

	cr_assert(f != NULL, "cannot write %s", PAGE);
	fprintf(f, "%s%s%s", head, tables, tail);
	cr_assert(eq(int, fclose(f), 0));
}

/* With UPDATE_DOCS in the environment the page is written instead of compared. */
Test(reports_doc, the_page_defines_every_table_and_column_and_no_other)
{
	char *page = read_page(), *made = NULL, *tables, *end;
	size_t made_len, line = 1, at = 0;
	FILE *f = open_memstream(&made, &made_len);

	print_tables(f);
	fclose(f);
	tables = strstr(page, BEGIN);
	cr_assert(tables != NULL, "%s has no mark %s", PAGE, BEGIN);
	tables += strlen(BEGIN);
	end = strstr(tables, END);
	cr_assert(end != NULL, "%s has no mark %s", PAGE, END);
	if (getenv("UPDATE_DOCS")) {
		char *head = strndup(page, (size_t)(tables - page));

		write_page(head, made, end);
		free(head);
	} else {
		*end = 0;
		for (size_t i = 0; i < made_len && made[i] == tables[i]; i++)
			if (made[i] == '\n') {
				line++;
				at = i + 1;
			}
		cr_assert(strcmp(tables, made) == 0,
		          "%s differs from report/tables/tables.def at line %zu behind '%s'; "
		          "UPDATE_DOCS=1 makes it:\n%.*s",
		          PAGE, line, BEGIN, (int)strcspn(made + at, "\n"), made + at);
	}
	free(made);
	free(page);
}
