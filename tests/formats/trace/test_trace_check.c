#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "tests/support/trace_sample.h"

static const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};
static struct ws_sample_findings f;

static struct ws_trace_writer *new_writer(void)
{
	struct ws_trace_writer *w;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	return w;
}

static void add(struct ws_trace_writer *w, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_add(w, kind, row, &err), WS_OK));
}

static void flush(struct ws_trace_writer *w)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
}

/* Close, check, free. */
static struct ws_sample check_writer(struct ws_trace_writer *w)
{
	struct ws_sample s;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_OK));
	return s;
}

/* The findings are exactly this line; %zu in it is the offset, twice. */
static void assert_only(const char *fmt, size_t offset)
{
	char expected[512];

	snprintf(expected, sizeof(expected), fmt, offset, offset);
	cr_assert_str_eq(f.text, expected);
}

Test(trace_check, a_sound_trace_has_no_finding)
{
	struct ws_sample s = ws_sample_make();

	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_OK));
	cr_assert_str_eq(f.text, "");
	cr_assert(eq(u64, f.result.damage, 0));
	cr_assert(eq(u64, f.result.notes, 0));
	cr_assert(eq(int, f.result.closed, 1));
	cr_assert(gt(u64, f.result.blocks, 20));
	ws_sample_free(&s);
}

Test(trace_check, an_unclosed_trace_that_is_whole_is_a_note)
{
	struct ws_sample s = ws_sample_make_unclosed();

	ws_sample_check(&s, &f);
	assert_only("NOTE %zu: the file was not closed: its recorder was killed, or is still "
	            "running\n",
	            s.size);
	cr_assert(eq(u64, f.result.damage, 0));
	cr_assert(eq(int, f.result.closed, 0));
	ws_sample_free(&s);
}

Test(trace_check, an_id_that_no_row_before_defines_is_damage)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_thread thread = {.id = 1};
	struct ws_row_nvtx row = {.time_ns = 1, .thread = 1};
	struct ws_sample s;

	add(w, WS_KIND_THREAD, &thread);
	add(w, WS_KIND_NVTX, &row);
	row.name = 9;
	add(w, WS_KIND_NVTX, &row);
	add(w, WS_KIND_NVTX, &row);
	s = check_writer(w);
	assert_only("DAMAGE %zu: thread_event block at offset %zu, column name: rows name a "
	            "string that "
	            "no earlier row defines: 2. The first is row 1 with id 9\n",
	            ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0));
	ws_sample_free(&s);
}

Test(trace_check, an_id_defined_only_later_is_damage)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_nvtx row = {.time_ns = 1, .thread = 1};
	struct ws_row_thread thread = {.id = 1};
	struct ws_sample s;

	add(w, WS_KIND_NVTX, &row);
	flush(w);
	add(w, WS_KIND_THREAD, &thread);
	s = check_writer(w);
	assert_only("DAMAGE %zu: thread_event block at offset %zu, column thread: rows name a "
	            "thread "
	            "that no earlier row defines: 1. The first is row 0 with id 1\n",
	            ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0));
	ws_sample_free(&s);
}

Test(trace_check, zero_is_no_reference_where_the_format_says_so_and_one_where_not)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_counter counter = {.time_ns = 1};
	struct ws_row_memset fill = {.start_ns = 1};
	struct ws_sample s;

	add(w, WS_KIND_COUNTER, &counter);
	add(w, WS_KIND_MEMSET, &fill);
	s = check_writer(w);
	assert_only("DAMAGE %zu: memset block at offset %zu, column device: rows name a device "
	            "that no earlier row defines: 1. The first is row 0 with id 0\n",
	            ws_sample_block(&s, WS_KIND_MEMSET, 0));
	ws_sample_free(&s);
}

Test(trace_check, ids_left_out_and_ids_used_twice_are_damage)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_string row = {.id = 1, .text = {"a", 1}};
	struct ws_sample s;
	char expected[512];
	size_t offset;

	add(w, WS_KIND_STRING, &row);
	row.id = 5;
	add(w, WS_KIND_STRING, &row);
	add(w, WS_KIND_STRING, &row);
	row.id = 8;
	add(w, WS_KIND_STRING, &row);
	s = check_writer(w);
	offset = ws_sample_block(&s, WS_KIND_STRING, 0);
	snprintf(expected, sizeof(expected),
	         "DAMAGE %zu: string block at offset %zu: ids not defined before it: 5, the first "
	         "is "
	         "2; rows that name them lost their meaning\n"
	         "DAMAGE %zu: string block at offset %zu: ids defined twice: 1, the first is 5; "
	         "rows "
	         "that name them are ambiguous\n",
	         offset, offset, offset, offset);
	cr_assert_str_eq(f.text, expected);
	ws_sample_free(&s);
}

Test(trace_check, a_thread_or_device_that_comes_again_is_a_later_row_that_wins)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_sample s;

	for (int i = 0; i < 2; i++) {
		add(w, WS_KIND_THREAD, &(struct ws_row_thread){.id = 1});
		add(w, WS_KIND_DEVICE, &(struct ws_row_device){.id = 3});
		flush(w);
	}
	s = check_writer(w);
	cr_assert_str_eq(f.text, "");
	ws_sample_free(&s);
}

Test(trace_check, a_time_range_that_is_not_that_of_the_rows_is_damage)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_COUNTER, 0);
	char expected[512];

	ws_sample_poke(&s, offset + 24, 8, 299999);
	ws_sample_seal_block(&s, offset);
	ws_sample_check(&s, &f);
	snprintf(expected, sizeof(expected),
	         "DAMAGE %zu: counter block at offset %zu: its header says times 299999 to 300000 "
	         "ns, its rows have 300000 to 300000\n"
	         "DAMAGE %zu: counter block at offset %zu: the index lists another time range than "
	         "the block has\n",
	         offset, offset, offset, offset);
	cr_assert_str_eq(f.text, expected);
	cr_assert(eq(int, f.result.closed, 0));
	ws_sample_free(&s);
}

Test(trace_check, a_damaged_block_is_told_with_what_the_index_knows_of_it)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 1);
	size_t next = offset + ws_sample_block_size(&s, offset);
	char expected[1024];

	s.data[offset + 70] ^= 0x40;
	ws_sample_check(&s, &f);
	snprintf(expected, sizeof(expected),
	         "DAMAGE %zu: thread_event block at offset %zu: the checksum of its body is wrong; "
	         "%zu bytes "
	         "are lost\n"
	         "NOTE %zu: loss block at offset %zu: blocks missing before it: 1\n"
	         "DAMAGE %zu: thread_event block at offset %zu: the index lists it with 30 rows, "
	         "but no "
	         "whole "
	         "block is there; its rows are lost\n",
	         offset, offset, next - offset, next, next, offset, offset);
	cr_assert_str_eq(f.text, expected);
	cr_assert(eq(int, f.result.closed, 1));
	ws_sample_free(&s);
}

Test(trace_check, every_damage_is_told_not_only_the_first)
{
	struct ws_sample s = ws_sample_make();
	const enum ws_kind kinds[] = {WS_KIND_CLOCK, WS_KIND_THREAD_EVENT, WS_KIND_COUNTER,
	                              WS_KIND_LOSS};

	for (int i = 0; i < 4; i++) {
		char expected[64];
		size_t offset = ws_sample_block(&s, kinds[i], 0);

		s.data[offset + 80] ^= 1;
		ws_sample_check(&s, &f);
		snprintf(expected, sizeof(expected), "DAMAGE %zu: ", offset);
		cr_assert(strstr(f.text, expected) != NULL);
		cr_assert(eq(u64, f.result.damage, 2 * ((uint64_t)i + 1))); /* block and index */
	}
	ws_sample_free(&s);
}

Test(trace_check, a_block_cut_out_without_a_trace_is_seen_by_its_number)
{
	struct ws_sample s = ws_sample_make_unclosed();
	size_t offset = ws_sample_block(&s, WS_KIND_LOSS, 0);
	size_t size = ws_sample_block_size(&s, offset);
	char expected[512];

	ws_sample_remove(&s, offset, size);
	ws_sample_check(&s, &f);
	snprintf(
	        expected, sizeof(expected),
	        "DAMAGE %zu: process_end block at offset %zu: blocks missing before it: 1\n"
	        "NOTE %zu: the file was not closed: its recorder was killed, or is still running\n",
	        offset, offset, s.size);
	cr_assert_str_eq(f.text, expected);
	ws_sample_free(&s);
}

Test(trace_check, a_block_copied_to_a_second_place_is_seen_by_its_number)
{
	struct ws_sample s = ws_sample_make_unclosed();
	size_t offset = ws_sample_block(&s, WS_KIND_LOSS, 0);
	size_t size = ws_sample_block_size(&s, offset);
	unsigned number = (unsigned)s.data[offset + 40];
	uint8_t copy[4096];
	char expected[512];

	cr_assert(le(sz, size, sizeof(copy)));
	memcpy(copy, s.data + offset, size);
	ws_sample_insert(&s, offset, copy, size);
	ws_sample_check(&s, &f);
	snprintf(expected, sizeof(expected),
	         "DAMAGE %zu: loss block at offset %zu: it has number %u, the block before it %u; "
	         "blocks were moved or copied\n",
	         offset + size, offset + size, number, number);
	cr_assert(strstr(f.text, expected) == f.text, "%s", f.text);
	cr_assert(eq(u64, f.result.damage, 1));
	ws_sample_free(&s);
}

Test(trace_check, an_index_that_leaves_out_a_block_is_damage)
{
	struct ws_sample s = ws_sample_make();
	size_t index = ws_sample_block(&s, WS_KIND_INDEX, 0), offset;
	struct ws_trace_writer *w = new_writer();
	struct ws_sample other;
	struct ws_err err;

	/* put a whole block of another file before the index */
	cr_assert(eq(int, ws_trace_writer_meta(w, "a", "b", &err), WS_OK));
	flush(w);
	other = ws_sample_take(w);
	offset = ws_sample_block(&other, WS_KIND_META, 0);
	ws_sample_insert(&s, index, other.data + offset, other.size - offset);
	ws_sample_poke(&s, s.size - 32, 8, index + other.size - offset);
	ws_sample_poke(&s, s.size - 24, 8, s.size);
	ws_sample_seal_trailer(&s);
	ws_sample_check(&s, &f);
	cr_assert(strstr(f.text, "the index does not list it") != NULL, "%s", f.text);
	cr_assert(eq(int, f.result.closed, 0));
	ws_trace_writer_free(w);
	ws_sample_free(&other);
	ws_sample_free(&s);
}

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

Test(trace_check, only_blocks_that_decode_count_as_whole)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	uint64_t blocks, rows;

	ws_sample_check(&s, &f);
	blocks = f.result.blocks;
	rows = f.result.rows;
	ws_sample_poke(&s, offset + WS_BLOCK_HEADER_BYTES + 2, 1, WS_TYPE_U64);
	ws_sample_seal_block(&s, offset);
	ws_sample_check(&s, &f);
	cr_assert(eq(u64, f.result.damage, 1));
	cr_assert(eq(u64, f.result.blocks, blocks - 1));
	cr_assert(eq(u64, f.result.rows, rows - 30));
	ws_sample_free(&s);
}

Test(trace_check, what_a_newer_program_wrote_is_noted_not_damage)
{
	struct ws_sample s = ws_sample_make_unclosed();
	size_t kernel = ws_sample_block(&s, WS_KIND_KERNEL, 0);
	size_t api = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	size_t entry =
	        api + WS_BLOCK_HEADER_BYTES + WS_COL_thread_event_result * WS_DIR_ENTRY_BYTES;
	char expected[1024];

	ws_sample_poke(&s, kernel + 4, 2, 999);
	ws_sample_seal_block(&s, kernel);
	ws_sample_poke(&s, entry, 2, 77);
	ws_sample_poke(&s, entry + 3, 1, 9);
	ws_sample_seal_block(&s, api);
	ws_sample_check(&s, &f);
	snprintf(
	        expected, sizeof(expected),
	        "NOTE %zu: block of unknown kind 999 at offset %zu: 10 rows that a newer program "
	        "can read\n"
	        "NOTE %zu: thread_event block at offset %zu: unknown column 77 that a newer "
	        "program can "
	        "read\n"
	        "NOTE %zu: thread_event block at offset %zu: it has no column result\n"
	        "NOTE %zu: thread_event block at offset %zu, unknown column 77: its encoding 9 "
	        "needs a "
	        "newer "
	        "program\n"
	        "NOTE %zu: the file was not closed: its recorder was killed, or is still running\n",
	        kernel, kernel, api, api, api, api, api, api, s.size);
	cr_assert_str_eq(f.text, expected);
	cr_assert(eq(u64, f.result.damage, 0));
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
	ws_file_header_put(s.data, 0);
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

Test(trace_check, a_trace_that_does_not_begin_with_its_schema_is_damage)
{
	struct ws_sample s = ws_sample_make_unclosed();
	size_t schema = ws_sample_block_size(&s, WS_FILE_HEADER_BYTES);

	ws_sample_remove(&s, WS_FILE_HEADER_BYTES, schema);
	ws_sample_check(&s, &f);
	cr_assert(strstr(f.text,
	                 "DAMAGE 64: the first block is not a schema block; names of columns "
	                 "are missing\n") == f.text,
	          "%s", f.text);
	ws_sample_free(&s);
}

Test(trace_check, a_file_that_is_no_trace_or_too_new_cannot_be_checked)
{
	struct ws_sample s = ws_sample_make();

	ws_sample_poke(&s, 16, 8, 4);
	ws_sample_seal_header(&s);
	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_TOO_NEW));
	cr_assert_str_eq(f.err.text, "the file needs features 0x4 that this program lacks");
	cr_assert_str_eq(f.text, "");

	memset(s.data, 'x', s.size);
	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_CORRUPT));
	cr_assert_str_eq(f.err.text, "not a Warpsheet trace: unrecognised file header");
	s.size = 0;
	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_CORRUPT));
	cr_assert_str_eq(f.err.text, "the file is empty");
	cr_assert_str_eq(f.text, "");
	ws_sample_free(&s);
}

Test(trace_check, behind_a_damaged_file_header_the_blocks_are_still_checked)
{
	struct ws_sample s = ws_sample_make();
	size_t offset = ws_sample_block(&s, WS_KIND_LOSS, 0);
	char expected[64];

	s.data[32] ^= 1;
	s.data[offset + 80] ^= 1;
	ws_sample_check(&s, &f);
	cr_assert(eq(int, f.status, WS_OK));
	cr_assert(strstr(f.text,
	                 "DAMAGE 0: the file header is damaged: its checksum is wrong; when "
	                 "the trace was recorded is lost\n") == f.text);
	snprintf(expected, sizeof(expected), "DAMAGE %zu: loss block", offset);
	cr_assert(strstr(f.text, expected) != NULL);
	ws_sample_free(&s);
}

Test(trace_check, a_header_alone_is_damage)
{
	struct ws_sample s = ws_sample_make();

	s.size = WS_FILE_HEADER_BYTES;
	ws_sample_check(&s, &f);
	cr_assert(strstr(f.text, "DAMAGE 64: the file has no whole block\n") == f.text);
	ws_sample_free(&s);
}
