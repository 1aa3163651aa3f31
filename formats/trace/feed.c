#include "formats/trace/feed.h"

#include "formats/base/xalloc.h"
#include "formats/trace/task.h"
#include "formats/trace/internal.h"
#include "formats/trace/thread_events.h"

#include <stdlib.h>

struct wanted {
	int64_t time_ns;
	uint32_t block;
};

/* One block of two is read by the caller while the next is decoded. */
struct slot {
	struct ws_block_rows rows;
	enum ws_status status;
	struct ws_err err;
};

struct ws_feed {
	const struct ws_trace_reader *r;
	ws_column_set columns[WS_KIND_END];
	struct wanted *wanted;
	size_t n;
	size_t next; /* the block that the caller wants next */
	struct ws_block_reader *reader;
	struct slot slots[2];
	struct ws_task ahead; /* decodes block `next`, once one was asked for */
};

static int by_time(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->block < b->block ? -1 : 1;
}

/* Is it of the same stored block as the one before? */
static bool goes_with_last(const struct ws_feed *f, size_t at)
{
	return ws_trace_reader_stored(f->r, f->wanted[at - 1].block) ==
	       ws_trace_reader_stored(f->r, f->wanted[at].block);
}

static void list_blocks(struct ws_feed *f)
{
	size_t blocks = ws_trace_reader_block_count(f->r);

	f->wanted = ws_xarray(blocks ? blocks : 1, sizeof(*f->wanted));
	for (size_t i = 0; i < blocks; i++) {
		const struct ws_block_info *info = ws_trace_reader_block(f->r, i);

		if (info->kind >= WS_KIND_END || !f->columns[info->kind])
			continue;
		f->wanted[f->n++] = (struct wanted){info->time_min_ns, (uint32_t)i};
		if (f->n > 1 && goes_with_last(f, f->n - 1))
			f->n--;
	}
	qsort(f->wanted, f->n, sizeof(*f->wanted), by_time);
}

/* Those of the columns asked for that the stored block may have. */
static ws_column_set stored_columns(const struct ws_feed *f, uint32_t block)
{
	const ws_column_set *columns = f->columns;
	uint16_t kind =
	        ws_trace_reader_walk(f->r)->blocks[ws_trace_reader_stored(f->r, block)].kind;
	ws_column_set of_both = WS_COLUMN(thread_event, type);

	if (kind != WS_KIND_THREAD_EVENT)
		return columns[kind];
	for (unsigned at = 0; at < WS_NCOLS_api; at++)
		if (columns[WS_KIND_API] >> at & 1)
			of_both |= (ws_column_set)1 << ws_thread_events_column(WS_KIND_API, at);
	for (unsigned at = 0; at < WS_NCOLS_nvtx; at++)
		if (columns[WS_KIND_NVTX] >> at & 1)
			of_both |= (ws_column_set)1 << ws_thread_events_column(WS_KIND_NVTX, at);
	return of_both;
}

static void decode_next(void *ctx)
{
	struct ws_feed *f = ctx;
	struct slot *slot = &f->slots[f->next % 2];
	const uint32_t block = f->wanted[f->next].block;

	slot->status = ws_block_reader_read(f->reader, block, stored_columns(f, block), &slot->rows,
	                                    &slot->err);
}

void ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                  const ws_column_set columns[WS_KIND_END])
{
	struct ws_feed *f = ws_xarray(1, sizeof(*f));

	*out = NULL;
	f->r = r;
	for (int kind = 0; kind < WS_KIND_END; kind++)
		f->columns[kind] = columns[kind];
	list_blocks(f);
	ws_block_reader_new(&f->reader, r);
	*out = f;
}

void ws_feed_close(struct ws_feed *f)
{
	if (!f)
		return;
	ws_task_end(&f->ahead);
	ws_block_reader_free(f->reader);
	for (size_t i = 0; i < 2; i++)
		ws_block_rows_release(&f->slots[i].rows);
	free(f->wanted);
	free(f);
}

/* Fewer rows are not worth a thread. */
#define FEW_ROWS 8192u

enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err)
{
	struct slot *slot = &f->slots[f->next % 2];

	*rows = NULL;
	*until_ns = INT64_MAX;
	if (f->next == f->n)
		return WS_OK;
	if (f->ahead.fn)
		ws_task_end(&f->ahead);
	else
		decode_next(f);
	f->next++;
	if (slot->status != WS_OK) {
		if (err)
			*err = slot->err;
		return slot->status;
	}
	*rows = &slot->rows;
	if (f->next == f->n)
		return WS_OK;
	*until_ns = f->wanted[f->next].time_ns;
	if (ws_trace_reader_block(f->r, f->wanted[f->next].block)->rows >= FEW_ROWS)
		ws_task_begin(&f->ahead, decode_next, f);
	return WS_OK;
}

enum ws_status ws_feed_each(const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], ws_feed_fn take, void *ctx,
                            struct ws_err *err)
{
	const struct ws_block_rows *rows;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	ws_feed_open(&feed, r, columns);
	do {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status == WS_OK && rows)
			status = take(ctx, rows, feed->wanted[feed->next - 1].block, until_ns, err);
	} while (status == WS_OK && rows);
	ws_feed_close(feed);
	return status;
}
