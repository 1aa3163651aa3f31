/* Passes and commits: the part of the drain that must be exact. */

#include "recorder/drain/private.h"

/* Number of slots after which a commit is made. */
#define COMMIT_SLOTS 8

/* --- losses --- */

const char *ws_dropped_name(enum ws_dropped cause)
{
	static const char *const names[] = {
#define X(name, meaning) #name,
	        WS_DROPPED_LIST(X)
#undef X
	};

	return names[cause];
}

static void intern_causes(struct ws_drain *d)
{
	for (int i = 0; i < WS_DROPPED_COUNT; i++) {
		const char *name = ws_dropped_name((enum ws_dropped)i);

		if (!d->causes[i])
			d->causes[i] = ws_drain_intern(d, ws_bytes_of(name));
	}
}

/* --- begin, and continue after a commit --- */

/* The last commit without its tails; all 0 if there is none. */
static struct ws_seg_commit last_commit(const struct ws_seg_header *seg)
{
	struct ws_seg_commit *commit = ws_xmalloc(ws_seg_commit_size(seg)), head = {0};

	if (ws_seg_commit_read(seg, commit))
		head = *commit;
	free(commit);
	return head;
}

uint64_t ws_drain_file_size(const struct ws_seg_header *seg)
{
	return last_commit(seg).file_size;
}

bool ws_drain_is_finished(const struct ws_seg_header *seg)
{
	return atomic_load(&seg->state) == WS_SEG_CLOSED &&
	       last_commit(seg).flags & WS_COMMIT_ENDED;
}

/* Frees slots whose rows are in the file. */
static void give_slots_back(struct ws_drain *d)
{
	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		if (d->slots_read[i] &&
		    d->slots_read[i] == atomic_load(&ws_seg_slot(d->seg, i)->done))
			ws_slot_return(d->seg, i);
}

/* Restores the state of the last commit. */
static void restore(struct ws_drain *d)
{
	struct ws_seg_commit *commit = d->commit;

	if (!ws_seg_commit_read(d->seg, commit)) {
		commit->number = 0;
		return;
	}
	d->defs_in_file = commit->defs_pos;
	d->next_correlation = commit->next_correlation;
	memcpy(d->counted, commit->counted, sizeof(d->counted));
	d->flags = commit->flags;
	d->gpus = commit->gpus;
	for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++)
		if (commit->tails[i] || ws_seg_has_thread_buffer(d->seg, i)) {
			/*
			 * Position up to which a thread buffer was read. The ring's tail may be
			 * older than the commit's. If it is newer, a later commit or the ring is
			 * damaged, and that is counted.
			 */
			uint64_t committed = commit->tails[i];
			struct ws_ring *ring = &ws_seg_thread_buffer(d->seg, i)->ring;
			const uint64_t published = atomic_load(&ring->tail);

			d->seen[i] = WS_SEEN;
			if (published > committed) {
				d->counted[WS_DROPPED_unknown_record]++;
				if (published <= ws_ring_head(ring))
					committed = published;
			}
			d->tails[i] = committed;
			ws_ring_release(ring, committed);
		}
	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		d->slots_read[i] = commit->tails[d->seg->thread_buffer_count + i];
	give_slots_back(d);
}

struct ws_drain *ws_drain_new(struct ws_seg_header *seg, struct ws_trace_writer *writer)
{
	struct ws_drain *d = ws_xarray(1, sizeof(*d));

	d->seg = seg;
	d->writer = writer;
	d->tails = ws_xarray(seg->thread_buffer_count, sizeof(*d->tails));
	d->strings = ws_xarray(seg->defs_size / 8, sizeof(*d->strings));
	d->ops = ws_xarray(seg->defs_size / 8, sizeof(*d->ops));
	d->scratch = ws_xmalloc(seg->ring_size);
	d->slots_read = ws_xarray(seg->activity.count, sizeof(*d->slots_read));
	d->seen = ws_xarray(seg->thread_buffer_count, sizeof(*d->seen));
	d->commit = ws_xarray(1, ws_seg_commit_size(seg));
	d->activity = ws_activity_new(seg);
	memset(d->addresses, 0xff, sizeof(d->addresses));
	ws_filter_init(&d->filter, seg);
	ws_drain_start_clocks(d);
	ws_drain_read_clock(d);
	restore(d);
	/* their names are in the file: get the ids now, in case the file cannot grow later */
	if (d->commit->number)
		intern_causes(d);
	return d;
}

void ws_drain_free(struct ws_drain *d)
{
	if (!d)
		return;
	free(d->commit);
	free(d->seen);
	free(d->tails);
	free(d->slots_read);
	ws_activity_free(d->activity);
	ws_filter_release(d);
	free(d->strings);
	free(d->ops);
	ws_map_free(&d->thread_places);
	ws_map_free(&d->collective_of_op);
	free(d->collectives);
	ws_map_free(&d->schema_places);
	ws_map_free(&d->counter_places);
	free(d->counters);
	free(d->fields);
	free(d->threads);
	free(d->names);
	free(d->scratch);
	free(d);
}

/* --- passes --- */

/* Whether a buffer has memory. A buffer keeps its memory (enum ws_thread_buffer_state). If the
 * table later says otherwise it is damaged: that is counted once per buffer, and ignored. */
static bool has_thread_buffer(struct ws_drain *d, uint32_t i)
{
	const bool is_there = ws_seg_has_thread_buffer(d->seg, i);

	if (is_there && d->seen[i] == WS_UNSEEN)
		d->seen[i] = WS_SEEN;
	if (!is_there && d->seen[i] == WS_SEEN) {
		d->seen[i] = WS_SEEN_DAMAGED;
		d->counted[WS_DROPPED_unknown_record]++;
	}
	return d->seen[i] != WS_UNSEEN;
}

uint64_t ws_drain_pass(struct ws_drain *d)
{
	const uint32_t ring_size = d->seg->ring_size;
	uint64_t heads[WS_SEG_MAX_THREAD_BUFFERS], n = 0;

	ws_drain_read_clock(d);
	/* heads before definitions: everything that these records refer to was defined before they
	 * were written */
	ws_activity_look(d);
	ws_filter_look(d);
	for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++)
		heads[i] = has_thread_buffer(d, i)
		                   ? ws_ring_head(&ws_seg_thread_buffer(d->seg, i)->ring)
		                   : d->tails[i];
	n += ws_drain_definitions(d);
	/* everything between the tail and the head of each thread buffer; the rest of a damaged
	 * ring is skipped */
	for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++) {
		struct ws_thread_buffer *thread_buffer = ws_seg_thread_buffer(d->seg, i);
		const uint8_t *bytes = ws_thread_buffer_bytes(thread_buffer);
		const uint64_t head = heads[i];
		uint64_t pos = d->tails[i];

		if (head < pos) { /* the program damaged it */
			d->counted[WS_DROPPED_unknown_record]++;
			pos = head;
		}
		while (pos < head) {
			struct ws_rec_head rec;
			const uint8_t *whole = bytes + (pos & (ring_size - 1));
			uint64_t rest = head - pos;

			if (rest <= ring_size && rest >= sizeof(rec))
				ws_ring_get(bytes, ring_size, pos, &rec, sizeof(rec));
			else
				rec.size = 0;
			if (rec.size < sizeof(rec) || rec.size % 8 || rec.size > rest) {
				d->counted[WS_DROPPED_unknown_record]++;
				pos = head;
				break;
			}
			if ((pos & (ring_size - 1)) + rec.size > ring_size) {
				ws_ring_get(bytes, ring_size, pos, d->scratch, rec.size);
				whole = d->scratch;
			}
			if (!ws_filter_record(d, thread_buffer->thread, whole, rec.size))
				d->counted[WS_DROPPED_unknown_record]++;
			pos += rec.size;
			n++;
		}
		d->tails[i] = pos;
	}
	return n + ws_activity_pass(d);
}

void ws_drain_program_ended(struct ws_drain *d)
{
	ws_slots_give_up(d->seg);
	d->has_ended = 1;
}

void ws_drain_last_pass(struct ws_drain *d)
{
	ws_drain_pass(d);
	if (!d->has_ended)
		ws_activity_pass_in_hand(d);
	ws_filter_finish(d);
	ws_filter_commit(d);
}

/* --- commits --- */

bool ws_drain_wants_commit(const struct ws_drain *d)
{
	const uint32_t quarter = d->seg->activity.count / 4;
	uint32_t unused = 0, ended = 0, read = 0;

	for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++) {
		const struct ws_ring *ring = &ws_seg_thread_buffer(d->seg, i)->ring;
		const uint32_t state =
		        atomic_load_explicit(ws_seg_thread_state(d->seg, i), memory_order_relaxed);

		unused += state <= WS_THREAD_BUFFER_FREE;
		ended += state == WS_THREAD_BUFFER_LEFT;
		if (d->seen[i] != WS_UNSEEN &&
		    ws_ring_head(ring) - atomic_load_explicit(&ring->tail, memory_order_relaxed) >
		            d->seg->ring_size / 2)
			return 1;
	}
	/* few thread buffers are free; those of ended threads are freed only by a commit */
	if (ended && unused <= d->seg->thread_buffer_count / 4)
		return 1;
	/* slots that were read are freed by a commit, so that CUPTI always finds a free one, and
	 * needs no more memory at a steady rate of launches */
	for (uint32_t i = 0; i < d->seg->activity.count; i++)
		read += d->slots_read[i] &&
		        d->slots_read[i] == atomic_load_explicit(&ws_seg_slot(d->seg, i)->done,
		                                                 memory_order_relaxed);
	return read > (quarter < COMMIT_SLOTS ? quarter : COMMIT_SLOTS);
}

void ws_drain_commit(struct ws_drain *d)
{
	const bool is_written = ws_trace_writer_flush(d->writer, NULL) == WS_OK;

	ws_filter_commit(d);
	/* after an error of the writer the previous commit stays; later records are counted as
	 * lost */
	if (is_written) {
		const struct ws_seg_header *seg = d->seg;
		struct ws_seg_commit *commit = d->commit;

		commit->number++;
		commit->file_size = ws_trace_writer_size(d->writer);
		commit->defs_pos = d->defs_pos > d->defs_in_file ? d->defs_pos : d->defs_in_file;
		commit->next_correlation = d->next_correlation;
		memcpy(commit->counted, d->counted, sizeof(commit->counted));
		commit->flags = d->flags;
		commit->gpus = d->gpus;
		for (uint32_t i = 0; i < seg->thread_buffer_count; i++)
			commit->tails[i] = d->tails[i];
		for (uint32_t i = 0; i < seg->activity.count; i++)
			commit->tails[seg->thread_buffer_count + i] = d->slots_read[i];
		ws_seg_commit_write(seg, commit);
	}
	if (is_written || !d->is_repeatable) {
		/* free slots, ring space, and buffers of threads that ended */
		give_slots_back(d);
		for (uint32_t i = 0; i < d->seg->thread_buffer_count; i++) {
			struct ws_thread_buffer *thread_buffer = ws_seg_thread_buffer(d->seg, i);
			_Atomic uint32_t *state = ws_seg_thread_state(d->seg, i);
			/* read before the head, which a thread that ended no longer moves */
			uint32_t found = atomic_load(state);
			const bool has_left = found == WS_THREAD_BUFFER_LEFT;

			if (!has_thread_buffer(d, i))
				continue;
			ws_ring_release(&thread_buffer->ring, d->tails[i]);
			if (has_left && ws_ring_head(&thread_buffer->ring) == d->tails[i] &&
			    atomic_compare_exchange_strong(state, &found, WS_THREAD_BUFFER_FREE))
				atomic_fetch_add(&d->seg->thread_buffers_freed, 1);
		}
	}
}

void ws_drain_make_repeatable(struct ws_drain *d)
{
	d->is_repeatable = 1;
}

/* --- pieces --- */

void ws_drain_watch(struct ws_drain *d)
{
	d->watch.is_watching = true;
}

void ws_drain_begin_piece(struct ws_drain *d)
{
	struct ws_row_nvtx *open = ws_xarray(WS_MAX_BLOCK_ROWS, sizeof(*open));
	size_t n = 0;

	for (size_t t = 0; t <= d->nthreads; t++) {
		const struct ws_open_ranges *list =
		        t < d->nthreads ? &d->threads[t].open : &d->watch.starts;

		for (size_t i = 0; i < list->n && n < WS_MAX_BLOCK_ROWS; i++)
			open[n++] = list->rows[i];
	}
	/* ws_drain_error() returns an error */
	(void)ws_trace_writer_begin_piece(d->writer, ws_drain_now_ns(d) - d->seg->base_ns, open, n,
	                                  NULL);
	free(open);
	ws_drain_commit(d);
}

/* --- statistics --- */

uint64_t ws_drain_lost(const struct ws_drain *d, enum ws_dropped cause)
{
	uint64_t n = atomic_load_explicit(&d->seg->lost[cause], memory_order_relaxed);

	if (cause == WS_DROPPED_disk_full)
		n += ws_trace_writer_rows_lost(d->writer);
	if (cause == WS_DROPPED_launch_without_work && d->has_ended)
		n += ws_activity_waiting(d->activity);
	return n + d->counted[cause];
}

void ws_drain_count_damage(struct ws_drain *d, uint64_t n)
{
	d->counted[WS_DROPPED_unknown_record] += n;
}

struct ws_drain_counts ws_drain_counts(const struct ws_drain *d)
{
	return d->counts;
}

static void read_losses(const struct ws_drain *d, int64_t time_ns,
                        struct ws_row_loss rows[WS_DROPPED_COUNT])
{
	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		rows[i] = (struct ws_row_loss){.time_ns = time_ns,
		                               .cause = d->causes[i],
		                               .count = ws_drain_lost(d, (enum ws_dropped)i)};
}

void ws_drain_statistics(struct ws_drain *d)
{
	int64_t time_ns = ws_drain_add_clock_row(d);
	struct ws_row_loss rows[WS_DROPPED_COUNT];

	intern_causes(d);
	read_losses(d, time_ns, rows);
	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		ws_drain_add(d, WS_KIND_LOSS, &rows[i]);
}

void ws_drain_last_words(struct ws_drain *d)
{
	struct ws_row_loss rows[WS_DROPPED_COUNT];

	if (!d->causes[0])
		return;
	read_losses(d, ws_drain_now_ns(d) - d->seg->base_ns, rows);
	/* an earlier error is known, so a second one is ignored */
	(void)ws_trace_writer_last_words(d->writer, rows, WS_DROPPED_COUNT, NULL);
}

enum ws_status ws_drain_error(const struct ws_drain *d, struct ws_err *err)
{
	return ws_trace_writer_check_open(d->writer, err);
}
