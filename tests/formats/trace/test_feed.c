/* Blocks one after the other, the next of them decoded ahead. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/codec/block.h"
#include "formats/trace/reader.h"
#include "tests/support/trace_sample.h"

#define BLOCKS 7u

/* Blocks of so many rows, which have the values 1, 2 and so on. */
static struct ws_sample make_trace(unsigned rows)
{
	static const struct ws_trace_writer_opts opts = {0};
	struct ws_trace_writer *w;
	struct ws_row_counter row = {0};
	struct ws_sample s;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	for (unsigned i = 0; i < BLOCKS * rows; i++) {
		row.time_ns = i;
		row.value = i + 1;
		cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_COUNTER, &row, &err), WS_OK));
		if (i % rows == rows - 1)
			cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	return s;
}

/* How many come, as they should; *status: in the end. */
static unsigned read_blocks(const struct ws_sample *s, unsigned rows, enum ws_status *status)
{
	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_COUNTER] = WS_COLUMN(counter, time_ns) | WS_COLUMN(counter, value)};
	struct ws_trace_reader *r;
	const struct ws_block_rows *b;
	struct ws_feed *feed;
	struct ws_err err;
	int64_t until_ns;
	unsigned n = 0;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_OK), "%s",
	          err.text);
	ws_feed_open(&feed, r, columns);
	while ((*status = ws_feed_next(feed, &b, &until_ns, &err)) == WS_OK && b) {
		cr_assert(eq(u32, b->info.rows, rows));
		for (uint32_t i = 0; i < rows; i++)
			cr_assert(eq(u64, ws_block_value(b, WS_COL_counter_value, i),
			             n * rows + i + 1));
		n++;
		cr_expect(eq(i64, until_ns, n < BLOCKS ? (int64_t)(n * rows) : INT64_MAX));
	}
	ws_feed_close(feed);
	ws_trace_reader_free(r);
	return n;
}

/* Of few rows by the caller, of many on a thread. */
static const unsigned sizes[] = {50, 10000};

Test(feed, blocks_come_in_order)
{
	for (size_t i = 0; i < 2; i++) {
		struct ws_sample s = make_trace(sizes[i]);
		enum ws_status status;

		cr_expect(eq(u32, read_blocks(&s, sizes[i], &status), BLOCKS));
		cr_expect(eq(int, status, WS_OK));
		ws_sample_free(&s);
	}
}

enum { FIRST_COLUMN_TYPE = WS_BLOCK_HEADER_BYTES + 2 }; /* offset in a block */

Test(feed, blocks_before_one_that_fails_come)
{
	for (size_t i = 0; i < 2; i++)
		for (unsigned fails_at = 0; fails_at < BLOCKS; fails_at += 2) {
			struct ws_sample s = make_trace(sizes[i]);
			const size_t at = ws_sample_block(&s, WS_KIND_COUNTER, fails_at);
			enum ws_status status;

			ws_sample_poke(&s, at + FIRST_COLUMN_TYPE, 1, 0xff);
			ws_sample_seal_block(&s, at);
			cr_expect(eq(u32, read_blocks(&s, sizes[i], &status), fails_at));
			cr_expect(ne(int, status, WS_OK));
			ws_sample_free(&s);
		}
}
