/* docs/reference/tables.md lists every table and column as tables.def has them. */
#include <string.h>

#include "report/tables/tables.h"
#include "tests/support/doc_section.h"

static void print_table(FILE *f, const struct ws_table_def *def, const char *of)
{
	fprintf(f, "\n### `%s`%s\n\n**%s.** %s.\n\n", def->name, of, def->title, def->meaning);
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
#define T(id, ...) print_table(f, &ws_def_##id, " (only on request)");
	WS_REQUEST_TABLES(T)
#undef T
	defs = ws_diff_defs(&n);
	for (size_t i = 0; i < n; i++)
		if (strncmp(defs[i]->name, "diff-", 5) == 0)
			print_table(f, defs[i], " (of `warpsheet diff`)");
	print_table(f, ws_aa_defs(&n)[0], " (of `warpsheet aa`)");
	print_table(f, ws_gate_defs(&n)[0], " (of `warpsheet gate`)");
	defs = ws_sweep_defs(&n);
	for (size_t i = 0; i + 1 < n; i++)
		print_table(f, defs[i], " (of `warpsheet sweep`)");
	defs = ws_ranks_defs(&n);
	for (size_t i = 0; i + 1 < n; i++)
		print_table(f, defs[i], " (of `warpsheet report` of several ranks)");
	fputc('\n', f);
}

Test(reports_doc, the_page_defines_every_table_and_column_and_no_other)
{
	doc_section_check("reference/tables.md", "tables", print_tables);
}
