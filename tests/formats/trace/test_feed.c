/* Blocks one after the other, and what is made of them ahead and put aside, on whatever thread. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/trace/feed.h"
#include "formats/trace/writer.h"

#define BLOCKS  60u
#define ROWS    50u
#define WAITING 2u

struct made {
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	uint64_t last; /* value of the last row that was made something of */
	uint64_t sum[WS_FEED_SLOTS];
	size_t nmade, fails_at, aside;
	bool out_of_order;
};

static void open_trace(struct made *m)
{
	static const struct ws_trace_writer_opts opts = {0};
	struct ws_row_counter row = {0};
	struct ws_bytes bytes;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&m->w, &opts, &err), WS_OK));
	for (unsigned i = 0; i < BLOCKS * ROWS; i++) {
		row.time_ns = i;
		row.value = i + 1;
		cr_assert(eq(int, ws_trace_writer_add(m->w, WS_KIND_COUNTER, &row, &err), WS_OK));
		if (i % ROWS == ROWS - 1)
			cr_assert(eq(int, ws_trace_writer_flush(m->w, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(m->w, &err), WS_OK));
	bytes = ws_trace_writer_mem(m->w);
	cr_assert(eq(int, ws_trace_reader_open_mem(&m->r, bytes.ptr, bytes.len, &err), WS_OK));
	m->fails_at = SIZE_MAX;
}

static void close_trace(struct made *m)
{
	ws_trace_reader_free(m->r);
	ws_trace_writer_free(m->w);
}

static enum ws_status make(void *ctx, const struct ws_block_rows *rows, uint32_t block,
                           unsigned slot, struct ws_err *err)
{
	struct made *m = ctx;

	(void)block;
	WS_FAIL_IF(m->nmade == m->fails_at, err, CORRUPT, "no more");
	m->nmade++;
	m->sum[slot] = 0;
	for (uint32_t i = 0; i < rows->info.rows; i++) {
		const uint64_t value = rows->v[WS_COL_counter_value][i];

		m->out_of_order |= value != m->last + 1;
		m->last = value;
		m->sum[slot] += value;
	}
	return WS_OK;
}

static void do_aside(void *ctx, size_t n)
{
	struct made *m = ctx;

	m->out_of_order |= n != m->aside;
	m->aside++;
}

/* Blocks that came; their status in the end. */
static size_t read_all(struct made *m, enum ws_status *status)
{
	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_COUNTER] = WS_COLUMN(counter, time_ns) | WS_COLUMN(counter, value)};
	const struct ws_feed_stage stage = {m, make, do_aside};
	const struct ws_block_rows *rows;
	struct ws_feed *feed;
	struct ws_err err;
	int64_t until_ns;
	size_t n = 0;

	cr_assert(
	        eq(int, ws_feed_open(&feed, m->r, columns, WS_FEED_BY_TIME, &stage, &err), WS_OK));
	while ((*status = ws_feed_next(feed, &rows, &until_ns, &err)) == WS_OK && rows) {
		const uint64_t first = n * ROWS + 1;

		cr_expect(
		        eq(u64, m->sum[ws_feed_slot(feed)], ROWS * first + ROWS * (ROWS - 1) / 2));
		cr_expect(eq(i64, until_ns,
		             n + 1 < BLOCKS ? (int64_t)(first + ROWS - 1) : INT64_MAX));
		ws_feed_put_aside(feed, ++n, WAITING);
	}
	ws_feed_put_aside(feed, n, 0);
	ws_feed_close(feed);
	return n;
}

Test(feed, what_is_made_and_put_aside_comes_in_order)
{
	enum ws_status status;
	struct made m = {0};

	open_trace(&m);
	cr_expect(eq(sz, read_all(&m, &status), BLOCKS));
	cr_expect(eq(int, status, WS_OK));
	cr_expect(eq(sz, m.nmade, BLOCKS));
	cr_expect(eq(sz, m.aside, BLOCKS));
	cr_expect(not(m.out_of_order));
	close_trace(&m);
}

Test(feed, blocks_before_one_that_fails_come_and_none_is_made_behind_it)
{
	for (size_t fails_at = 0; fails_at < BLOCKS; fails_at += 7) {
		enum ws_status status;
		struct made m = {0};

		open_trace(&m);
		m.fails_at = fails_at;
		cr_expect(eq(sz, read_all(&m, &status), fails_at));
		cr_expect(eq(int, status, WS_CORRUPT));
		cr_expect(eq(sz, m.nmade, fails_at));
		cr_expect(not(m.out_of_order));
		close_trace(&m);
	}
}
