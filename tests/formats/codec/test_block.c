#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/base/bytes.h"
#include "formats/codec/block.h"

/* A block in memory and a look into it. */
struct made {
	struct ws_buf bytes;
	struct ws_block_header header;
	struct ws_block_view view;
};

static void make(struct made *m, const struct ws_row_buf *rows)
{
	struct ws_block_encoder encoder;
	struct ws_err err;

	memset(m, 0, sizeof(*m));
	ws_block_encoder_init(&encoder, 1);
	ws_block_encode(&encoder, rows, 5, &m->bytes, &m->header);
	cr_assert(eq(int,
	             ws_block_view_open(&m->view, &m->header, m->bytes.data + WS_BLOCK_HEADER_BYTES,
	                                4096, &err),
	             WS_OK),
	          "%s", err.text);
	ws_block_encoder_free(&encoder);
}

static void add(struct ws_row_buf *b, const void *row)
{
	ws_row_buf_add(b, row);
}

/* Column of the block, decoded; the caller frees. */
static uint64_t *values(const struct made *m, unsigned column)
{
	uint64_t *v = malloc(m->header.rows * sizeof(*v));
	struct ws_block_decoder decoder;
	struct ws_err err;

	ws_block_decoder_init(&decoder);
	cr_assert(eq(int, ws_block_column_decode(&m->view, column, &decoder, v, &err), WS_OK), "%s",
	          err.text);
	ws_block_decoder_free(&decoder);
	return v;
}

Test(block, a_block_says_what_it_holds)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_KERNEL)};
	struct ws_block_header back;
	struct ws_err err;
	struct made m;

	add(&rows,
	    &(struct ws_row_kernel){.start_ns = 100, .dur_ns = 7, .correlation = 3, .config = 1});
	add(&rows,
	    &(struct ws_row_kernel){.start_ns = -50, .dur_ns = 8, .correlation = 4, .config = 1});
	make(&m, &rows);
	cr_assert(eq(int, ws_block_header_get(m.bytes.data, m.bytes.len, 0, &back, &err), WS_OK));
	cr_assert(eq(u16, back.kind, WS_KIND_KERNEL));
	cr_assert(eq(u16, back.ncolumns, WS_NCOLS_kernel));
	cr_assert(eq(u32, back.rows, 2));
	cr_assert(eq(u64, back.sequence, 5));
	cr_assert(eq(i64, back.time_min_ns, -50));
	cr_assert(eq(i64, back.time_max_ns, 100));
	cr_assert(eq(u64, back.body_size, m.bytes.len - WS_BLOCK_HEADER_BYTES));
	cr_assert(eq(sz, m.bytes.len % WS_ALIGN_BYTES, 0));
	cr_assert(eq(u64, back.body_checksum,
	             ws_checksum(m.bytes.data + WS_BLOCK_HEADER_BYTES, back.body_size)));
	ws_row_buf_free(&rows);
	ws_buf_free(&m.bytes);
}

Test(block, values_come_back_and_constants_take_a_byte)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_KERNEL)};
	uint64_t *start, *dur;
	struct made m;

	for (int64_t i = 0; i < 1000; i++)
		add(&rows, &(struct ws_row_kernel){.start_ns = 1000000 - i * i, .dur_ns = 9});
	make(&m, &rows);
	start = values(&m, WS_COL_kernel_start_ns);
	dur = values(&m, WS_COL_kernel_dur_ns);
	for (int64_t i = 0; i < 1000; i++) {
		cr_assert(eq(i64, (int64_t)start[i], 1000000 - i * i));
		cr_assert(eq(u64, dur[i], 9));
	}
	cr_assert(
	        eq(u8, m.view.columns[WS_COL_kernel_dur_ns].entry.encoding, WS_ENCODING_CONSTANT));
	cr_assert(eq(u64, m.view.columns[WS_COL_kernel_dur_ns].entry.stored_size, 1));
	free(start);
	free(dur);
	ws_row_buf_free(&rows);
	ws_buf_free(&m.bytes);
}

Test(block, the_smallest_encoding_is_kept)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_API)};
	uint64_t x = 1;
	struct made m;

	for (uint64_t i = 0; i < 5000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		add(&rows, &(struct ws_row_api){
		                   .start_ns = (int64_t)i * 1000000, /* even steps: delta */
		                   .dur_ns = (int64_t)(x >> 58),     /* noise of 6 bits: varint */
		                   .correlation = x,                 /* noise of 64 bits: raw */
		           });
	}
	make(&m, &rows);
	cr_assert(eq(u8, m.view.columns[WS_COL_api_start_ns].entry.encoding, WS_ENCODING_DELTA));
	cr_assert(
	        eq(u8, m.view.columns[WS_COL_api_start_ns].entry.compression, WS_COMPRESSION_ZSTD));
	cr_assert(lt(u64, m.view.columns[WS_COL_api_start_ns].entry.stored_size, 50));
	cr_assert(eq(u8, m.view.columns[WS_COL_api_dur_ns].entry.encoding, WS_ENCODING_VARINT));
	cr_assert(eq(u8, m.view.columns[WS_COL_api_correlation].entry.encoding, WS_ENCODING_RAW));
	cr_assert(eq(u8, m.view.columns[WS_COL_api_correlation].entry.compression,
	             WS_COMPRESSION_NONE));
	ws_row_buf_free(&rows);
	ws_buf_free(&m.bytes);
}

Test(block, no_column_is_ever_larger_than_its_plain_varints)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_LAUNCH_CONFIG)};
	struct ws_encoded_sizes sizes;
	struct made m;
	uint64_t x = 1;

	for (int i = 0; i < 300; i++) {
		struct ws_row_launch_config row;
		uint64_t *fields = (uint64_t *)&row;

		for (unsigned c = 0; c < WS_NCOLS_launch_config; c++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			fields[c] = x >> (63 - c * 3);
		}
		add(&rows, &row);
	}
	make(&m, &rows);
	for (unsigned c = 0; c < WS_NCOLS_launch_config; c++) {
		ws_codec_measure(rows.def->columns[c].type, rows.columns[c].v, 300, &sizes);
		cr_assert(le(u64, m.view.columns[c].entry.stored_size,
		             sizes.bytes[WS_ENCODING_VARINT]));
	}
	ws_row_buf_free(&rows);
	ws_buf_free(&m.bytes);
}

Test(block, a_block_is_full_at_65536_rows_or_4_mib_of_blobs)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_COUNTER)};
	struct ws_row_buf texts = {.def = ws_schema_kind(WS_KIND_STRING)};
	struct ws_row_counter row = {0};
	struct ws_row_string text = {.id = 1, .text = {calloc(1, 1 << 20), 1 << 20}};

	for (unsigned i = 0; i < WS_MAX_BLOCK_ROWS; i++) {
		cr_assert(not(ws_row_buf_is_full(&rows)));
		add(&rows, &row);
	}
	cr_assert(ws_row_buf_is_full(&rows));

	for (int i = 0; i < 4; i++) {
		cr_assert(not(ws_row_buf_is_full(&texts)));
		add(&texts, &text);
	}
	cr_assert(ws_row_buf_is_full(&texts));
	ws_row_buf_clear(&texts);
	cr_assert(not(ws_row_buf_is_full(&texts)));
	free((void *)text.text.ptr);
	ws_row_buf_free(&rows);
	ws_row_buf_free(&texts);
}

Test(block, a_value_over_the_limit_is_cut_there)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_META)};
	char *big = calloc(1, WS_MAX_BLOB_BYTES + 1);
	struct ws_row_meta row = {.key = {"key", 3}, .value = {big, WS_MAX_BLOB_BYTES + 1}};

	add(&rows, &row);
	cr_assert(eq(u32, rows.rows, 1));
	cr_assert(eq(sz, rows.blob_bytes, 3 + WS_MAX_BLOB_BYTES));
	cr_assert(eq(sz, rows.columns[WS_COL_meta_value].bytes.len, WS_MAX_BLOB_BYTES));
	free(big);
	ws_row_buf_free(&rows);
}

Test(block, the_same_rows_make_the_same_bytes_from_a_used_encoder_too)
{
	struct ws_row_buf rows = {.def = ws_schema_kind(WS_KIND_NVTX)};
	struct ws_row_buf other = {.def = ws_schema_kind(WS_KIND_API)};
	struct ws_block_encoder encoder;
	struct ws_block_header header;
	struct ws_buf again = {0};
	struct made m;

	for (int64_t i = 0; i < 3000; i++) {
		add(&rows,
		    &(struct ws_row_nvtx){.time_ns = i * 977 % 4096, .name = (uint64_t)i % 7});
		add(&other, &(struct ws_row_api){.start_ns = i * i, .result = -i});
	}
	make(&m, &rows);
	ws_block_encoder_init(&encoder, 1);
	ws_block_encode(&encoder, &other, 1, &again, &header);
	ws_block_encode(&encoder, &rows, 5, &again, &header);
	cr_assert(eq(sz, again.len, m.bytes.len));
	cr_assert_arr_eq(again.data, m.bytes.data, again.len);
	ws_block_encoder_free(&encoder);
	ws_row_buf_free(&rows);
	ws_row_buf_free(&other);
	ws_buf_free(&again);
	ws_buf_free(&m.bytes);
}
