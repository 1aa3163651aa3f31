#include "tests/support/schema_doc.h"

#include <ctype.h>

#include "formats/schema/schema.h"

void ws_schema_doc_print_kinds(FILE *f)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		if (!def)
			continue;
		fprintf(f, "\n#### Kind %u: `%s`%s\n\n", id, def->name, def->is_dict ? " (d)" : "");
		fprintf(f, "%c%s.\n\n", toupper((unsigned char)def->meaning[0]), def->meaning + 1);
		fprintf(f, "| column | id | type | unit | meaning |\n|---|---|---|---|---|\n");
		for (unsigned c = 0; c < def->ncolumns; c++) {
			const struct ws_column_def *col = &def->columns[c];

			fprintf(f, "| %s | %u | %s | %s | %s |\n", col->name, col->id,
			        ws_type_name(col->type), col->unit, col->meaning);
		}
	}
	fputc('\n', f);
}

void ws_schema_doc_print_references(FILE *f)
{
	fprintf(f,
	        "\n| ids | counted 1, 2, 3 … | may come again, later row wins |\n|---|---|---|\n");
	for (size_t i = 0; i < ws_id_columns_count; i++) {
		const struct ws_id_column *id = &ws_id_columns[i];
		const struct ws_kind_def *def = ws_schema_kind(id->kind);

		fprintf(f, "| %s.%s | %s | %s |\n", def->name, def->columns[id->position].name,
		        id->counted ? "yes" : "no", id->may_repeat ? "yes" : "no");
	}
	fprintf(f, "\n| column | names a row of | 0 |\n|---|---|---|\n");
	fprintf(f, "| every STR column | string | none |\n");
	for (size_t i = 0; i < ws_ref_columns_count; i++) {
		const struct ws_ref_column *ref = &ws_ref_columns[i];
		const struct ws_kind_def *def = ws_schema_kind(ref->kind);

		fprintf(f, "| %s.%s | %s | %s |\n", def->name, def->columns[ref->position].name,
		        ws_schema_kind(ref->target)->name, ref->zero_is_none ? "none" : "an id");
	}
	fputc('\n', f);
}
