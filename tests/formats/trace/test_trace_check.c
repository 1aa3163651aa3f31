/* Indexes and schemas that are wrong; all other damage: tests/report/scenarios/check.scenario. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "tests/support/trace_sample.h"

static struct ws_sample_findings f;

/* The sample with an index of these rows in place of its own. */
static struct ws_sample make_with_index(const struct ws_row_index *index, size_t n)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_INDEX)};
	struct ws_sample s = ws_sample_make_unclosed();
	const uint64_t index_offset = s.size;
	uint8_t end[WS_TRAILER_BYTES];
	struct ws_block_encoder encoder;
	struct ws_block_header header;
	struct ws_buf block = {0};

	for (size_t i = 0; i < n; i++)
		ws_row_buf_add(&rows, &index[i]);
	ws_block_encoder_init(&encoder, 1);
	ws_block_encode(&encoder, &rows, n, &block, &header);
	ws_sample_insert(&s, s.size, block.data, block.len);
	ws_trailer_put(end, index_offset, s.size + sizeof(end));
	ws_sample_insert(&s, s.size, end, sizeof(end));
	ws_block_encoder_free(&encoder);
	ws_row_buf_free(&rows);
	ws_buf_free(&block);
	return s;
}

/* The right index rows of the sample. */
static size_t index_of_sample(struct ws_row_index rows[64])
{
	struct ws_sample s = ws_sample_make_unclosed();
	struct ws_trace_reader *r;
	struct ws_err err;
	size_t n;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s.data, s.size, &err), WS_OK));
	n = r->walk.nblocks;
	cr_assert(le(sz, n, 64));
	for (size_t i = 0; i < n; i++) {
		const struct ws_block_info *b = &r->walk.blocks[i];

		rows[i] = (struct ws_row_index){b->offset, b->kind, b->rows, b->time_min_ns,
		                                b->time_max_ns};
	}
	ws_trace_reader_free(r);
	ws_sample_free(&s);
	return n;
}

static void assert_index_finding(const struct ws_row_index *rows, size_t n, const char *expected)
{
	struct ws_sample s = make_with_index(rows, n);

	ws_sample_check(&s, &f);
	if (!*expected)
		cr_assert_str_eq(f.text, "");
	else
		cr_assert(strstr(f.text, expected) != NULL, "%s", f.text);
	cr_assert(eq(int, f.result.closed, !*expected));
	ws_sample_free(&s);
}

Test(trace_check, an_index_that_differs_from_the_blocks_is_damage)
{
	struct ws_row_index rows[64], wrong[64];
	size_t n = index_of_sample(rows);

	assert_index_finding(rows, n, "");

	memcpy(wrong, rows, sizeof(wrong));
	wrong[2].kind = WS_KIND_CLOCK;
	assert_index_finding(wrong, n, ": the index lists kind 19 with ");
	memcpy(wrong, rows, sizeof(wrong));
	wrong[2].rows++;
	assert_index_finding(wrong, n, " rows, the block has kind ");
	memcpy(wrong, rows, sizeof(wrong));
	wrong[n - 1].time_max_ns++;
	assert_index_finding(wrong, n, ": the index lists another time range than the block has");
	memcpy(wrong, rows, sizeof(wrong));
	wrong[2] = rows[3];
	wrong[3] = rows[2];
	assert_index_finding(wrong, n, ": the index lists offset ");
	assert_index_finding(rows, n - 1, ": the index does not list it");
}

Test(trace_check, a_row_of_the_index_for_a_place_without_a_block_is_told)
{
	struct ws_row_index rows[64];
	size_t n = index_of_sample(rows);
	struct ws_sample s;

	memmove(rows + 3, rows + 2, (n - 2) * sizeof(*rows));
	rows[2] = (struct ws_row_index){rows[3].offset - 8, WS_KIND_KERNEL, 77, 0, 0};
	s = make_with_index(rows, n + 1);
	ws_sample_check(&s, &f);
	cr_assert(strstr(f.text,
	                 ": the index lists it with 77 rows, but no whole block is there; its "
	                 "rows are lost\n") != NULL,
	          "%s", f.text);
	ws_sample_free(&s);
}

/* An unclosed trace of one schema block with these rows. */
static struct ws_sample make_with_schema(const struct ws_row_buf *rows)
{
	struct ws_block_encoder encoder;
	struct ws_block_header header;
	struct ws_buf block = {0};
	struct ws_sample s;

	ws_block_encoder_init(&encoder, 1);
	ws_block_encode(&encoder, rows, 0, &block, &header);
	s.size = WS_FILE_HEADER_BYTES + block.len;
	s.data = malloc(s.size);
	ws_file_header_put(s.data, 0, 0);
	memcpy(s.data + WS_FILE_HEADER_BYTES, block.data, block.len);
	ws_block_encoder_free(&encoder);
	ws_buf_free(&block);
	return s;
}

Test(trace_check, a_schema_that_contradicts_the_format_is_damage)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_SCHEMA)};
	uint64_t *kind, *column, *type;
	struct ws_sample s;

	ws_block_schema_rows(&rows);
	kind = rows.columns[WS_COL_schema_kind].v;
	column = rows.columns[WS_COL_schema_column].v;
	type = rows.columns[WS_COL_schema_type].v;
	for (uint32_t i = 0; i < rows.rows; i++)
		if (kind[i] == WS_KIND_KERNEL && column[i] == 2)
			type[i] = WS_TYPE_U64;
	s = make_with_schema(&rows);
	ws_sample_check(&s, &f);
	cr_assert(strstr(f.text, "DAMAGE 64: the file's schema describes column kernel.dur_ns "
	                         "differently than format 2 does\n") == f.text,
	          "%s", f.text);
	cr_assert(eq(u64, f.result.damage, 1));
	ws_row_buf_free(&rows);
	ws_sample_free(&s);
}

Test(trace_check, a_schema_with_kinds_of_a_newer_program_is_sound)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_SCHEMA)};
	struct ws_row_schema newer = {.kind = 4000, .kind_name = {"new", 3}, .column = 1};
	struct ws_sample s;

	ws_block_schema_rows(&rows);
	ws_row_buf_add(&rows, &newer);
	newer.kind = WS_KIND_KERNEL;
	newer.column = 4000;
	ws_row_buf_add(&rows, &newer);
	s = make_with_schema(&rows);
	ws_sample_check(&s, &f);
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	ws_row_buf_free(&rows);
	ws_sample_free(&s);
}
