#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>

#include "formats/schema/schema.h"
#include "tests/support/doc_section.h"
#include "tests/support/schema_doc.h"

Test(schema, a_kind_is_found_by_id_and_by_name)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_KERNEL);

	cr_assert_str_eq(def->name, "kernel");
	cr_assert(eq(u16, def->id, 15));
	cr_assert(eq(u8, def->is_dict, 0));
	cr_assert(eq(sz, def->row_size, sizeof(struct ws_row_kernel)));
	cr_assert(ws_schema_kind_by_name("kernel") == def);
	cr_assert(eq(u8, ws_schema_kind(WS_KIND_STRING)->is_dict, 1));
}

Test(schema, unknown_kinds_and_columns_are_not_found)
{
	cr_assert(ws_schema_kind(0) == NULL);
	cr_assert(ws_schema_kind(WS_KIND_END) == NULL);
	cr_assert(ws_schema_kind(4000000000u) == NULL);
	cr_assert(ws_schema_kind_by_name("kernels") == NULL);
	cr_assert(eq(int, ws_schema_column(ws_schema_kind(WS_KIND_KERNEL), 99), -1));
	cr_assert(eq(int, ws_schema_column(ws_schema_kind(WS_KIND_KERNEL), 0), -1));
}

Test(schema, columns_lie_where_the_row_struct_has_them)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_NVTX);

	cr_assert(eq(u16, def->ncolumns, WS_NCOLS_nvtx));
	cr_assert(eq(int, ws_schema_column(def, 5), WS_COL_nvtx_name));
	cr_assert(eq(sz, def->columns[WS_COL_nvtx_name].row_offset,
	             offsetof(struct ws_row_nvtx, name)));
	cr_assert(eq(u8, def->columns[WS_COL_nvtx_name].type, WS_TYPE_STR));
}

Test(schema, the_time_column_is_the_first_of_type_time)
{
	cr_assert(eq(i16, ws_schema_kind(WS_KIND_KERNEL)->time_column, WS_COL_kernel_start_ns));
	cr_assert(eq(i16, ws_schema_kind(WS_KIND_PROCESS)->time_column, WS_COL_process_start_ns));
	cr_assert(eq(i16, ws_schema_kind(WS_KIND_INDEX)->time_column, WS_COL_index_time_min_ns));
	cr_assert(eq(i16, ws_schema_kind(WS_KIND_STRING)->time_column, -1));
}

Test(schema, ids_and_names_are_unique_and_every_column_has_a_meaning)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		if (!def)
			continue;
		cr_assert(ws_schema_kind_by_name(def->name) == def, "%s", def->name);
		for (int c = 0; c < def->ncolumns; c++) {
			const struct ws_column_def *col = &def->columns[c];

			cr_assert(eq(int, ws_schema_column(def, col->id), c), "%s.%s", def->name,
			          col->name);
			cr_assert(ws_type_name(col->type) != NULL, "%s.%s", def->name, col->name);
			cr_assert(col->meaning[0] != 0, "%s.%s", def->name, col->name);
			for (int k = 0; k < c; k++)
				cr_assert_str_neq(def->columns[k].name, col->name);
		}
	}
}

Test(schema, every_enum_column_lists_names_from_0)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		for (unsigned c = 0; def && c < def->ncolumns; c++)
			if (def->columns[c].type == WS_TYPE_ENUM)
				cr_assert(ws_enum_name(def->columns[c].unit, 0).len > 0, "%s.%s",
				          def->name, def->columns[c].name);
	}
}

Test(schema, an_enum_name_is_found_by_its_number)
{
	struct ws_bytes name = ws_enum_name("0=push,1=pop,12=mark", 1);

	cr_assert(eq(sz, name.len, 3));
	cr_assert_arr_eq(name.ptr, "pop", 3);
	name = ws_enum_name("0=push,1=pop,12=mark", 12);
	cr_assert(eq(sz, name.len, 4));
	cr_assert_arr_eq(name.ptr, "mark", 4);
}

Test(schema, an_enum_number_without_a_name_has_an_empty_one)
{
	/* units come from files, too */
	cr_assert(eq(sz, ws_enum_name("0=push,1=pop", 2).len, 0));
	cr_assert(eq(sz, ws_enum_name("", 0).len, 0));
	cr_assert(eq(sz, ws_enum_name("ns", 0).len, 0));
	cr_assert(eq(sz, ws_enum_name("0=", 0).len, 0));
	cr_assert(eq(sz, ws_enum_name("0", 0).len, 0));
	cr_assert(eq(sz, ws_enum_name("0=a,,", 1).len, 0));
}

Test(schema, types_without_a_name_are_unknown)
{
	cr_assert_str_eq(ws_type_name(WS_TYPE_TIME), "TIME");
	cr_assert(ws_type_name(0) == NULL);
	cr_assert(ws_type_name(9) == NULL);
	cr_assert(ws_type_name(255) == NULL);
}

Test(schema, references_every_reference_names_a_kind_that_defines_ids)
{
	for (size_t i = 0; i < ws_ref_columns_count; i++) {
		const struct ws_ref_column *ref = &ws_ref_columns[i];
		int found = 0;

		for (size_t k = 0; k < ws_id_columns_count; k++)
			found |= ws_id_columns[k].kind == ref->target;
		cr_assert(found, "%s", ws_schema_kind(ref->kind)->name);
	}
}

Test(schema, references_dictionaries_refer_only_to_lower_kinds_so_a_writer_can_order_them)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		for (unsigned c = 0; def && def->is_dict && c < def->ncolumns; c++) {
			struct ws_ref_column ref;

			if (ws_ref_column_at(def, c, &ref))
				cr_assert(ref.target < id, "%s.%s", def->name,
				          def->columns[c].name);
		}
	}
}

Test(schema, references_only_dictionaries_are_referred_to)
{
	for (size_t i = 0; i < ws_id_columns_count; i++)
		cr_assert(ws_schema_kind(ws_id_columns[i].kind)->is_dict);
}

Test(schema, schema_doc_the_page_describes_every_kind_and_column_and_no_other)
{
	doc_section_check("dev/trace-format.md", "kinds", ws_schema_doc_print_kinds);
}

Test(schema, schema_doc_the_page_describes_every_reference_and_no_other)
{
	doc_section_check("dev/trace-format.md", "references", ws_schema_doc_print_references);
}
