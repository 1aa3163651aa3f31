/* A trace as slices on tracks, the arrows that join them, and the operations that asked for them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include "formats/base/grow.h"
#include "formats/base/sort.h"
#include "report/export/chrome/private.h"
#include "report/joined/rows.h"

/* --- what is found by id --------------------------------------------------------------------- */

/* Numbers of processes that do not fit, and of devices: Linux gives none over 2^22. */
#define FIRST_MADE_PID   (UINT64_C(1) << 23)
#define FIRST_DEVICE_PID (UINT64_C(1) << 24)

const struct ws_row_launch_config *ws_chrome_config(const struct ws_chrome *ch, uint64_t id,
                                                    const struct ws_config **config)
{
	static const struct ws_row_launch_config lost;
	const struct ws_records *configs = &ch->kind[WS_KIND_LAUNCH_CONFIG];
	const uint64_t *place = ws_map_get(&configs->places, id);

	/* the model has a lost one before them */
	if (config)
		*config = &ch->m->configs[place ? *place + 1 : 0];
	return place ? WS_CHROME_ROW(ch, LAUNCH_CONFIG, launch_config, *place) : &lost;
}

struct ws_bytes ws_chrome_text(const struct ws_chrome *ch, uint64_t string)
{
	return ws_records_text(&ch->kind[WS_KIND_STRING], string);
}

uint64_t ws_chrome_thread_pid(const struct ws_chrome *ch, uint64_t thread)
{
	const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], thread);

	return row ? row->pid : 0;
}

void ws_chrome_process(struct ws_chrome *ch, uint64_t pid, uint64_t *out)
{
	const uint64_t *known = ws_map_get(&ch->json_pids, pid);

	*out = known ? *known : pid < FIRST_MADE_PID ? pid : FIRST_MADE_PID + ch->json_pids.n;
	if (!(known))
		ws_map_add(&ch->json_pids, pid, *out);
}

uint64_t ws_chrome_device(uint64_t device)
{
	return FIRST_DEVICE_PID + device % FIRST_DEVICE_PID;
}

int64_t ws_chrome_since_begin(const struct ws_chrome *ch, int64_t time_ns)
{
	int64_t ns;

	return __builtin_sub_overflow(time_ns, ch->begin_ns, &ns) ? INT64_MAX : ns;
}

/* --- which operation asked for what ---------------------------------------------------------- */

static void add_link(struct ws_chrome *ch, uint64_t pid, uint64_t correlation, uint64_t external_id)
{
	const uint64_t key[2] = {pid, correlation};

	if (!correlation || ws_strtab_find(&ch->links, key, sizeof(key)))
		return;
	ws_strtab_add(&ch->links, key, sizeof(key));
	WS_GROW(ch->external_ids, ch->nexternal_ids + 1, ch->external_ids_capacity);
	ch->external_ids[ch->nexternal_ids++] = external_id;
}

/* A kernel has a correlation id; an operation has none, and its External id tells it. */
static void key_of(uint64_t correlation, uint64_t external_id, int64_t time_ns, uint64_t key[3])
{
	key[0] = correlation;
	key[1] = correlation ? 0 : external_id;
	key[2] = (uint64_t)time_ns;
}

void ws_chrome_load_links(struct ws_chrome *ch)
{
	uint64_t key[3];

	WS_CHROME_EACH(ch, EXTERNAL_LINK, external_link, r)
		add_link(ch, r->pid, r->correlation, r->external_id);
	WS_NEW(&ch->arena, ch->collective_rows, ch->kind[WS_KIND_COLLECTIVE].n);
	for (size_t i = 0; i < ch->kind[WS_KIND_COLLECTIVE].n; i++) {
		const struct ws_row_collective *c = WS_CHROME_ROW(ch, COLLECTIVE, collective, i);

		key_of(c->correlation, c->external_id, c->time_ns, key);
		ch->collective_rows[ws_strtab_add(&ch->collectives, key, sizeof(key)) - 1] = i;
	}
}

const struct ws_row_collective *ws_chrome_collective(struct ws_chrome *ch, uint64_t correlation,
                                                     uint64_t external_id, int64_t time_ns)
{
	uint64_t key[3], at;

	key_of(correlation, external_id, time_ns, key);
	at = ws_strtab_find(&ch->collectives, key, sizeof(key));
	if (!at)
		return NULL;
	ws_map_add(&ch->collectives_told, at, 1);
	return WS_CHROME_ROW(ch, COLLECTIVE, collective, ch->collective_rows[at - 1]);
}

uint64_t ws_chrome_external_id(const struct ws_chrome *ch, uint64_t pid, uint64_t correlation)
{
	const uint64_t key[2] = {pid, correlation};
	const uint64_t link = correlation ? ws_strtab_find(&ch->links, key, sizeof(key)) : 0;

	return link ? ch->external_ids[link - 1] : 0;
}

/* Forget what has ended on the slice's track. Slices come by track, the outer ones first. */
static void close_ops(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	if (ch->op_track != s->track)
		ch->nopen_ops = 0;
	ch->op_track = s->track;
	while (ch->nopen_ops && ch->open_ops[ch->nopen_ops - 1].end_ns <= s->start_ns)
		ch->nopen_ops--;
}

void ws_chrome_begin_op(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t external_id)
{
	if (!external_id)
		return;
	close_ops(ch, s);
	WS_GROW(ch->open_ops, ch->nopen_ops + 1, ch->open_ops_capacity);
	ch->open_ops[ch->nopen_ops++] = (struct ws_chrome_open_op){s->end_ns, external_id};
}

uint64_t ws_chrome_external_id_of_call(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const uint64_t pid = ch->track[s->track].a, correlation = ws_chrome_correlation(ch, s);
	const uint64_t known = ws_chrome_external_id(ch, pid, correlation);

	if (known || !ch->nopen_ops)
		return known;
	close_ops(ch, s);
	if (!ch->nopen_ops)
		return 0;
	/* of a framework's operations the work has what was recorded of it, and nothing else */
	if (!ch->kind[WS_KIND_CPU_OP].n)
		add_link(ch, pid, correlation, ch->open_ops[ch->nopen_ops - 1].external_id);
	return ch->open_ops[ch->nopen_ops - 1].external_id;
}

/* --- tracks, slices and arrows --------------------------------------------------------------- */

/* More subtracks than this would serve nobody; what crosses then shares the last one. */
#define MAX_SUBTRACKS 256u

/* Numbers of subtracks that have no thread or stream of their own: Linux gives none over 2^22. */
#define FIRST_MADE_TID (UINT64_C(1) << 23)

static void extend(struct ws_chrome *ch, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < ch->begin_ns)
		ch->begin_ns = from_ns;
	if (to_ns > ch->end_ns)
		ch->end_ns = to_ns;
}

/* --- tracks and slices --- */

static void add_slice(struct ws_chrome *ch, enum ws_kind kind, uint64_t row, const uint64_t key[5],
                      int64_t start_ns, int64_t dur_ns)
{
	struct ws_chrome_slice s = {.start_ns = start_ns, .row = row, .kind = kind};

	uint64_t id = ws_strtab_find(&ch->track_keys, key, 5 * sizeof(*key));
	struct ws_chrome_track *t;

	if (!id) {
		WS_GROW(ch->track, ch->ntracks + 1, ch->tracks_capacity);
		id = ws_strtab_add(&ch->track_keys, key, 5 * sizeof(*key));
		t = &ch->track[ch->ntracks++];
		*t = (struct ws_chrome_track){key[0], key[1], key[2], key[3], key[4],
		                              0,      0,      0,      NULL};
	}
	s.track = (uint32_t)(id - 1);
	if (__builtin_add_overflow(start_ns, dur_ns < 0 ? 0 : dur_ns, &s.end_ns))
		s.end_ns = INT64_MAX;
	extend(ch, s.start_ns, s.end_ns);
	ws_spill_put(&ch->slices, sizeof(s), ch->nslices++, &s);
}

static void add_on_thread(struct ws_chrome *ch, enum ws_kind kind, uint64_t row, uint64_t thread,
                          int64_t start_ns, int64_t dur_ns)
{
	const uint64_t key[5] = {WS_CHROME_THREAD, ws_chrome_thread_pid(ch, thread), thread};

	add_slice(ch, kind, row, key, start_ns, dur_ns);
}

/*
 * A slice of each row of a kind, on the track of this key; rows that have no time are counted. In a
 * function with ch and err.
 */
#define COLLECT(NAME, name, ...)                                                       \
	for (size_t i = 0; i < ch->kind[WS_KIND_##NAME].n; i++) {                      \
		const struct ws_row_##name *r = WS_CHROME_ROW(ch, NAME, name, i);      \
		const uint64_t key[5] = {__VA_ARGS__};                                 \
                                                                                       \
		if (ws_export_has_time(WS_KIND_##NAME, r))                             \
			add_slice(ch, WS_KIND_##NAME, i, key, r->start_ns, r->dur_ns); \
		else                                                                   \
			ch->stats->without_time++;                                     \
	}

/* --- the host --- */

#define ON_THREAD WS_CHROME_THREAD, ws_chrome_thread_pid(ch, r->thread), r->thread

/* After all else: a range that never ended lasts as long as the trace. */
static void collect_ranges(struct ws_chrome *ch)
{
	struct ws_recorded_ranges *ranges = &ch->ranges;

	for (size_t i = 0; i < ranges->nmarks; i++) {
		const struct ws_recorded_range *mark = ws_recorded_range(&ranges->marks, i);

		extend(ch, mark->start_ns, mark->end_ns);
	}
	for (size_t i = 0; i < ranges->nranges; i++) {
		const struct ws_recorded_range *r = ws_recorded_range(&ranges->ranges, i);

		extend(ch, r->start_ns, r->end_ns);
	}
	for (size_t i = 0; i < ranges->nranges; i++) {
		const struct ws_recorded_range *r = ws_recorded_range(&ranges->ranges, i);
		int64_t end = r->end == WS_NONE ? ch->end_ns : r->end_ns, dur;

		if (__builtin_sub_overflow(end, r->start_ns, &dur))
			dur = INT64_MAX;
		add_on_thread(ch, WS_KIND_NVTX, i, ranges->events[r->begin].thread, r->start_ns,
		              dur);
	}
}

/* --- devices --- */

#define ON_STREAM WS_CHROME_STREAM, r->device, r->pid, r->context, r->stream

/* --- order and subtracks --- */

static int compare_tracks(const void *a, const void *b)
{
	const uint64_t *x = (const uint64_t *)*(struct ws_chrome_track *const *)a;
	const uint64_t *y = (const uint64_t *)*(struct ws_chrome_track *const *)b;

	/* type, a, b, c, d */
	for (size_t i = 0; i < 5; i++)
		WS_ORDER_BY(x[i], y[i]);
	return 0;
}

/* Of slices with the same times, the kind that calls the others is outside. */
static int nesting(uint8_t kind)
{
	static const uint8_t outer_first[] = {WS_KIND_PYTHON_CALL, WS_KIND_NVTX, WS_KIND_CPU_OP,
	                                      WS_KIND_API};
	int i = 0;

	while (i < (int)sizeof(outer_first) && outer_first[i] != kind)
		i++;
	return i;
}

static int compare_slices(const void *a, const void *b, void *tracks)
{
	const struct ws_chrome_slice *x = a, *y = b;
	const struct ws_chrome_track *track = tracks;

	if (x->track != y->track)
		WS_ORDER_BY(track[x->track].rank, track[y->track].rank);
	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(y->end_ns, x->end_ns);
	WS_ORDER_BY(nesting(x->kind), nesting(y->kind));
	WS_ORDER_BY(x->kind, y->kind);
	WS_ORDER_BY(x->row, y->row);
	return 0;
}

/* The ends of the slices that are open in a subtrack, the innermost last. */
struct subtrack {
	int64_t *open_ns;
	size_t depth, capacity;
};

struct subtracks {
	struct subtrack subtrack[MAX_SUBTRACKS];
	uint32_t n;
};

static bool fits(struct subtrack *l, const struct ws_chrome_slice *s, int alone)
{
	while (l->depth && l->open_ns[l->depth - 1] <= s->start_ns)
		l->depth--;
	return !l->depth || (!alone && l->open_ns[l->depth - 1] >= s->end_ns);
}

static void place(struct subtracks *subtracks, struct ws_chrome_slice *s, int alone)
{
	struct subtrack *l;
	uint32_t i = 0;

	while (i < subtracks->n && !fits(&subtracks->subtrack[i], s, alone))
		i++;
	if (i == MAX_SUBTRACKS)
		i--;
	else if (i == subtracks->n)
		subtracks->n++;
	l = &subtracks->subtrack[i];
	WS_GROW(l->open_ns, l->depth + 1, l->capacity);
	l->open_ns[l->depth++] = s->end_ns;
	s->subtrack = i;
}

/* --- numbers of the JSON --- */

/* The first subtrack of a thread or stream has its number, where no other has it. */
static uint64_t wanted_tid(const struct ws_chrome *ch, const struct ws_chrome_track *t,
                           uint32_t subtrack)
{
	const struct ws_row_thread *row;

	if (subtrack || t->type > WS_CHROME_STREAM)
		return UINT64_MAX;
	if (t->type == WS_CHROME_STREAM)
		return t->d;
	row = ws_records_find(&ch->kind[WS_KIND_THREAD], t->b);
	return row ? row->tid : UINT64_MAX;
}

/* --- arrows --- */

int ws_chrome_compare_launches(const void *a, const void *b, void *ctx)
{
	const struct ws_chrome_launch *x = a, *y = b;

	(void)ctx;
	WS_ORDER_BY(x->pid, y->pid);
	WS_ORDER_BY(x->correlation, y->correlation);
	return x->work < y->work ? -1 : x->work > y->work;
}

uint64_t ws_chrome_correlation(const struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	static const uint8_t at[WS_KIND_END] = {
	        [WS_KIND_API] = offsetof(struct ws_row_api, correlation),
	        [WS_KIND_KERNEL] = offsetof(struct ws_row_kernel, correlation),
	        [WS_KIND_MEMCPY] = offsetof(struct ws_row_memcpy, correlation),
	        [WS_KIND_MEMSET] = offsetof(struct ws_row_memset, correlation),
	        [WS_KIND_GRAPH_LAUNCH] = offsetof(struct ws_row_graph_launch, correlation),
	};
	const uint8_t *row = at[s->kind] ? ws_records_row(&ch->kind[s->kind], s->row) : NULL;

	return row ? ws_load_u64(row + at[s->kind]) : 0;
}

static enum ws_status collect_launches(struct ws_chrome *ch, struct ws_err *err)
{
	struct ws_launches calls = {0};

	WS_FAIL_IF(ch->nslices >= WS_NONE, err, NO_MEMORY,
	           "the trace has more records than a timeline handles");
	ws_launches_open(&calls, ch->kind[WS_KIND_API].n);
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		const struct ws_call_key call = {ws_chrome_correlation(ch, s),
		                                 (uint32_t)ch->track[s->track].pid, (uint32_t)i,
		                                 s->start_ns};

		if (s->kind == WS_KIND_API)
			ws_launches_add(&calls, &call);
	}
	ws_launches_sort(&calls);
	ws_spill_open(&ch->launches, ch->nslices * sizeof(struct ws_chrome_launch));
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		struct ws_chrome_launch launch = {ch->track[s->track].b,
		                                  ws_chrome_correlation(ch, s), 0, (uint32_t)i,
		                                  WS_NONE};
		const uint64_t *process = ws_map_get(&ch->json_pids, launch.pid);

		if (s->kind == WS_KIND_API || !launch.correlation)
			continue;
		if (process)
			launch.call = ws_launches_find(
			        &calls, (struct ws_call_key){.correlation = launch.correlation,
			                                     .process = (uint32_t)*process,
			                                     .start_ns = s->start_ns});
		ws_spill_put(&ch->launches, sizeof(launch), ch->nlaunches++, &launch);
	}
	ws_spill_sort(&ch->launches, sizeof(struct ws_chrome_launch), ch->nlaunches,
	              ws_chrome_compare_launches, NULL);
	/* The first arrow of a correlation id has that id, where no other process has it; others
	 * get one.
	 */
	struct ws_map pids = {0}, taken = {0};
	uint64_t before = 0; /* launches of one process come in the order of their ids */

	for (size_t i = 0; i < ch->nlaunches; i++)
		ws_map_add(&pids, ws_chrome_launch(ch, i)->pid, 1);
	for (size_t i = 0; i < ch->nlaunches; i++) {
		struct ws_chrome_launch *l = ws_chrome_launch(ch, i);
		bool is_taken = l->correlation == before || ws_map_get(&taken, l->correlation) ||
		                l->correlation >= WS_CHROME_FIRST_MADE_ID;

		if (l->call == WS_NONE)
			continue;
		if (pids.n > 1)
			ws_map_add(&taken, l->correlation, 1);
		before = l->correlation;
		l->arrow = is_taken ? WS_CHROME_FIRST_MADE_ID + i : l->correlation;
	}
	ws_map_free(&pids);
	ws_map_free(&taken);
	ws_launches_free(&calls);
	return WS_OK;
}

enum ws_status ws_chrome_collect(struct ws_chrome *ch, struct ws_err *err)
{
	size_t most = ch->ranges.nranges;

	for (size_t i = 0; i < WS_KIND_END; i++)
		most += ch->kind[i].n;
	ws_spill_open(&ch->slices, most * sizeof(struct ws_chrome_slice));
	COLLECT(API, api, ON_THREAD)
	COLLECT(CPU_OP, cpu_op, ON_THREAD)
	COLLECT(PYTHON_CALL, python_call, ON_THREAD)
	COLLECT(OVERHEAD, overhead, ON_THREAD)
	for (size_t i = 0; i < ch->kind[WS_KIND_KERNEL].n; i++) {
		const struct ws_row_kernel *r = WS_CHROME_ROW(ch, KERNEL, kernel, i);
		const struct ws_row_launch_config *c = ws_chrome_config(ch, r->config, NULL);
		const uint64_t key[5] = {WS_CHROME_STREAM, c->device, c->pid, c->context,
		                         c->stream};

		if (ws_export_has_time(WS_KIND_KERNEL, r))
			add_slice(ch, WS_KIND_KERNEL, i, key, r->start_ns, r->dur_ns);
		else
			ch->stats->without_time++;
	}
	COLLECT(MEMCPY, memcpy, ON_STREAM)
	COLLECT(MEMSET, memset, ON_STREAM)
	COLLECT(GRAPH_LAUNCH, graph_launch, ON_STREAM)
	COLLECT(SYNC, sync, WS_CHROME_WAITS, r->device, r->pid, r->context, (uint64_t)r->stream)
	COLLECT(GPU_RANGE, gpu_range, WS_CHROME_RANGES, r->device, r->pid, 0, r->stream)
	WS_CHROME_EACH(ch, MEMORY, memory, r)
		extend(ch, r->time_ns, r->time_ns);
	WS_CHROME_EACH(ch, COUNTER, counter, r)
		extend(ch, r->time_ns, r->time_ns);
	collect_ranges(ch);
	struct ws_chrome_track **order;

	WS_NEW(&ch->arena, order, ch->ntracks);
	for (size_t i = 0; i < ch->ntracks; i++)
		order[i] = &ch->track[i];
	ws_sort(order, ch->ntracks, sizeof(struct ws_chrome_track *), compare_tracks);
	for (size_t i = 0; i < ch->ntracks; i++)
		order[i]->rank = (uint32_t)i;
	ws_spill_sort(&ch->slices, sizeof(struct ws_chrome_slice), ch->nslices, compare_slices,
	              ch->track);
	struct subtracks *subtracks;
	uint32_t track = 0; /* of the slice before */

	WS_NEW(&ch->arena, subtracks, 1);
	for (size_t i = 0; i < ch->nslices; i++) {
		struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		struct ws_chrome_track *t = &ch->track[s->track];

		if (s->track != track)
			for (; subtracks->n; subtracks->n--)
				subtracks->subtrack[subtracks->n - 1].depth = 0;
		track = s->track;
		place(subtracks, s, (t->type == WS_CHROME_STREAM));
		t->subtracks = subtracks->n;
	}
	for (size_t l = 0; l < MAX_SUBTRACKS; l++)
		free(subtracks->subtrack[l].open_ns);
	struct ws_strtab used = {0};
	uint64_t made = FIRST_MADE_TID;

	for (size_t i = 0; i < ch->ntracks; i++) {
		struct ws_chrome_track *t = &ch->track[i];

		WS_NEW(&ch->arena, t->tid, t->subtracks);
		t->pid = ws_chrome_device(t->a);
		if (t->type == WS_CHROME_THREAD)
			ws_chrome_process(ch, t->a, &t->pid);
		for (uint32_t l = 0; l < t->subtracks; l++) {
			t->tid[l] = ws_export_unique(&used, t->pid, wanted_tid(ch, t, l),
			                             FIRST_MADE_TID, &made);
		}
	}
	ws_strtab_free(&used);
	return collect_launches(ch, err);
}
