#include "formats/trace/feed.h"

#include "formats/trace/internal.h"
#include "formats/trace/thread_events.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct wanted {
	int64_t time_ns;
	uint32_t block;
};

struct slot {
	struct ws_block_rows rows;
	size_t holds; /* its place in `wanted`, plus 1, once decoded */
	enum ws_status status;
	struct ws_err err;
};

struct ws_feed {
	const struct ws_trace_reader *r;
	enum ws_feed_order order;
	ws_column_set columns[WS_KIND_END];
	struct wanted *wanted;
	size_t n;
	struct ws_block_reader *own, *other; /* of the caller's and of the second thread */
	struct ws_feed_stage stage;          /* make: NULL = none */
	struct slot slots[WS_FEED_SLOTS];    /* so that neither thread waits at every block */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* guards what follows, and slot.holds */
	pthread_cond_t change;
	size_t claimed; /* blocks that somebody decodes or has decoded */
	size_t made;    /* blocks that are done, or of which one failed and is the last */
	bool making;    /* the one behind those is being made */
	struct ws_block_rows spare[WS_FEED_SLOTS]; /* memory of rows of which that was done */
	size_t nspare;
	size_t next;              /* the block that the caller wants next */
	size_t aside, aside_done; /* put aside by the caller, and done */
	bool doing_aside;
	bool failed, stop;
};

static int by_time(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->block < b->block ? -1 : 1;
}

/* Is it of the same stored block as the one before? What was decoded for that serves it, too. */
static bool goes_with_last(const struct ws_feed *f, size_t at)
{
	return ws_trace_reader_stored(f->r, f->wanted[at - 1].block) ==
	       ws_trace_reader_stored(f->r, f->wanted[at].block);
}

static enum ws_status list_blocks(struct ws_feed *f, struct ws_err *err)
{
	size_t blocks = ws_trace_reader_block_count(f->r);

	f->wanted = calloc(blocks ? blocks : 1, sizeof(*f->wanted));
	WS_FAIL_IF(!f->wanted, err, NO_MEMORY, "out of memory for a list of %zu blocks", blocks);
	for (size_t i = 0; i < blocks; i++) {
		const struct ws_block_info *info = ws_trace_reader_block(f->r, i);

		if (info->kind >= WS_KIND_END || !f->columns[info->kind])
			continue;
		f->wanted[f->n++] = (struct wanted){info->time_min_ns, (uint32_t)i};
		if (f->order == WS_FEED_AS_STORED && f->n > 1 && goes_with_last(f, f->n - 1))
			f->n--;
	}
	if (f->order != WS_FEED_BY_FILE)
		qsort(f->wanted, f->n, sizeof(*f->wanted), by_time);
	return WS_OK;
}

/* The caller still reads the slot of the block before `next`. */
static bool can_claim(const struct ws_feed *f)
{
	return f->claimed < f->n && f->claimed + 1 < f->next + WS_FEED_SLOTS;
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

static void decode_one(struct ws_feed *f, struct ws_block_reader *reader, size_t at)
{
	struct slot *slot = &f->slots[at % WS_FEED_SLOTS];
	uint32_t block = f->wanted[at].block;
	uint16_t kind = ws_trace_reader_block(f->r, block)->kind;

	if (f->nspare)
		slot->rows = f->spare[--f->nspare];
	pthread_mutex_unlock(&f->lock);
	if (f->order == WS_FEED_AS_STORED)
		slot->status = ws_block_reader_read_stored(reader, block, stored_columns(f, block),
		                                           &slot->rows, &slot->err);
	else
		slot->status = ws_block_reader_read(reader, block, f->columns[kind], &slot->rows,
		                                    &slot->err);
	pthread_mutex_lock(&f->lock);
	slot->holds = at + 1;
	pthread_cond_broadcast(&f->change);
}

/* Decode the next unclaimed block, and what goes with it where slots are free; the lock is held
 * before and after, not meanwhile. */
static void decode_next(struct ws_feed *f, struct ws_block_reader *reader)
{
	size_t first = f->claimed++, end;

	while (can_claim(f) && goes_with_last(f, f->claimed))
		f->claimed++;
	end = f->claimed;
	for (size_t at = first; at < end; at++)
		decode_one(f, reader, at);
}

static bool can_make(const struct ws_feed *f)
{
	return !f->making && !f->failed && f->made < f->n &&
	       f->slots[f->made % WS_FEED_SLOTS].holds == f->made + 1;
}

/* What the caller wants of a block that is decoded; the lock as above. */
static void make_next(struct ws_feed *f)
{
	const unsigned at = f->made % WS_FEED_SLOTS;
	struct slot *slot = &f->slots[at];

	if (f->stage.make && slot->status == WS_OK) {
		f->making = true;
		pthread_mutex_unlock(&f->lock);
		slot->status = f->stage.make(f->stage.ctx, &slot->rows, f->wanted[f->made].block,
		                             at, &slot->err);
		pthread_mutex_lock(&f->lock);
		f->making = false;
		f->spare[f->nspare++] = slot->rows;
		slot->rows = (struct ws_block_rows){0};
	}
	f->failed = slot->status != WS_OK;
	f->made++;
	pthread_cond_broadcast(&f->change);
}

static bool can_do_aside(const struct ws_feed *f)
{
	return !f->doing_aside && f->aside_done < f->aside;
}

/* The lock as above. */
static void do_aside(struct ws_feed *f)
{
	f->doing_aside = true;
	pthread_mutex_unlock(&f->lock);
	f->stage.aside(f->stage.ctx, f->aside_done);
	pthread_mutex_lock(&f->lock);
	f->doing_aside = false;
	f->aside_done++;
	pthread_cond_broadcast(&f->change);
}

/* Do what can be done next, or wait for others to do it; the lock as above. What the caller waits
 * for comes first. */
static void work(struct ws_feed *f, struct ws_block_reader *reader)
{
	if (can_make(f))
		make_next(f);
	else if (can_claim(f))
		decode_next(f, reader);
	else if (can_do_aside(f))
		do_aside(f);
	else
		pthread_cond_wait(&f->change, &f->lock);
}

static void *work_ahead(void *arg)
{
	struct ws_feed *f = arg;

	pthread_mutex_lock(&f->lock);
	while (!f->stop)
		work(f, f->other);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* Without a second thread everything is the same, but slower: a failure is none. */
static void start_thread(struct ws_feed *f)
{
	if (f->n < 2 || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	if (ws_block_reader_new(&f->other, f->r, NULL) != WS_OK)
		return;
	f->has_thread = pthread_create(&f->thread, NULL, work_ahead, f) == 0;
}

enum ws_status ws_feed_open(struct ws_feed **out, const struct ws_trace_reader *r,
                            const ws_column_set columns[WS_KIND_END], enum ws_feed_order order,
                            const struct ws_feed_stage *stage, struct ws_err *err)
{
	struct ws_feed *f = calloc(1, sizeof(*f));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!f, err, NO_MEMORY, "out of memory to read the trace");
	f->r = r;
	f->order = order;
	if (stage)
		f->stage = *stage;
	for (int kind = 0; kind < WS_KIND_END; kind++)
		f->columns[kind] = columns[kind];
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->change, NULL);
	status = list_blocks(f, err);
	WS_THEN(status, ws_block_reader_new(&f->own, r, err));
	if (status != WS_OK) {
		ws_feed_close(f);
		return status;
	}
	start_thread(f);
	*out = f;
	return WS_OK;
}

void ws_feed_close(struct ws_feed *f)
{
	if (!f)
		return;
	if (f->has_thread) {
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_broadcast(&f->change);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->thread, NULL);
	}
	pthread_cond_destroy(&f->change);
	pthread_mutex_destroy(&f->lock);
	ws_block_reader_free(f->own);
	ws_block_reader_free(f->other);
	for (size_t i = 0; i < WS_FEED_SLOTS; i++)
		ws_block_rows_release(&f->slots[i].rows);
	while (f->nspare)
		ws_block_rows_release(&f->spare[--f->nspare]);
	free(f->wanted);
	free(f);
}

enum ws_status ws_feed_next(struct ws_feed *f, const struct ws_block_rows **rows, int64_t *until_ns,
                            struct ws_err *err)
{
	size_t at = f->next;
	struct slot *slot = &f->slots[at % WS_FEED_SLOTS];

	*rows = NULL;
	*until_ns = INT64_MAX;
	if (at == f->n)
		return WS_OK;
	pthread_mutex_lock(&f->lock);
	f->next++;
	pthread_cond_broadcast(&f->change); /* a slot is free */
	while (f->made <= at)
		work(f, f->own);
	pthread_mutex_unlock(&f->lock);
	if (slot->status != WS_OK) {
		if (err)
			*err = slot->err;
		return slot->status;
	}
	*rows = &slot->rows;
	if (at + 1 < f->n)
		*until_ns = f->wanted[at + 1].time_ns;
	return WS_OK;
}

size_t ws_feed_block(const struct ws_feed *f)
{
	return f->wanted[f->next - 1].block;
}

void ws_feed_put_aside(struct ws_feed *f, size_t n, size_t waiting)
{
	pthread_mutex_lock(&f->lock);
	f->aside = n;
	pthread_cond_broadcast(&f->change);
	while (f->aside - f->aside_done > waiting)
		if (can_do_aside(f))
			do_aside(f);
		else
			pthread_cond_wait(&f->change, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

unsigned ws_feed_slot(const struct ws_feed *f)
{
	return (unsigned)((f->next - 1) % WS_FEED_SLOTS);
}
