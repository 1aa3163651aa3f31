/*
 * A trace as a timeline: slices on tracks, arrows between them, arguments of slices, and the
 * timeline as a JSON file.
 */

#include "formats/base/outfile.h"
#include "report/base/names.h"
#include "report/export/chrome/chrome.h"
#include "report/joined/rows.h"

static uint64_t ws_chrome_correlation(const struct ws_chrome *ch, const struct ws_chrome_slice *s);

/* --- look-ups by id --------------------------------------------------------------------- */

/* Pids for processes that do not fit, and for devices: Linux assigns none over 2^22. */
#define FIRST_MADE_PID   (UINT64_C(1) << 23)
#define FIRST_DEVICE_PID (UINT64_C(1) << 24)

static const struct ws_row_launch_config *ws_chrome_config(const struct ws_chrome *ch, uint64_t id,
                                                           const struct ws_config **config)
{
	static const struct ws_row_launch_config lost;
	const struct ws_records *configs = &ch->kind[WS_KIND_LAUNCH_CONFIG];
	const uint64_t *place = ws_map_get(&configs->places, id);

	/* index 0 of the model stands for lost configurations */
	if (config)
		*config = &ch->m->configs[place ? *place + 1 : 0];
	return place ? WS_CHROME_ROW(ch, LAUNCH_CONFIG, launch_config, *place) : &lost;
}

static struct ws_bytes ws_chrome_text(const struct ws_chrome *ch, uint64_t string)
{
	return ws_records_text(&ch->kind[WS_KIND_STRING], string);
}

/* The process of a thread; 0 if it was lost. */
static uint64_t ws_chrome_thread_pid(const struct ws_chrome *ch, uint64_t thread)
{
	const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], thread);

	return row ? row->pid : 0;
}

static void ws_chrome_process(struct ws_chrome *ch, uint64_t pid, uint64_t *out)
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

/* --- operations that requested work ---------------------------------------------------------- */

static void add_link(struct ws_chrome *ch, uint64_t pid, uint64_t correlation, uint64_t external_id)
{
	const uint64_t key[2] = {pid, correlation};

	if (!correlation || ws_strtab_find(&ch->links, key, sizeof(key)))
		return;
	ws_strtab_add(&ch->links, key, sizeof(key));
	WS_GROW(ch->external_ids, ch->nexternal_ids + 1, ch->external_ids_capacity);
	ch->external_ids[ch->nexternal_ids++] = external_id;
}

/* Key of a kernel by correlation id, or of an operation by External id. */
static void key_of(uint64_t correlation, uint64_t external_id, int64_t time_ns, uint64_t key[3])
{
	key[0] = correlation;
	key[1] = correlation ? 0 : external_id;
	key[2] = (uint64_t)time_ns;
}

/* The operation that launched work with this id; 0 = unknown. */
static uint64_t ws_chrome_external_id(const struct ws_chrome *ch, uint64_t pid,
                                      uint64_t correlation)
{
	const uint64_t key[2] = {pid, correlation};
	const uint64_t link = correlation ? ws_strtab_find(&ch->links, key, sizeof(key)) : 0;

	return link ? ch->external_ids[link - 1] : 0;
}

/* Removes ended operations on the slice's track. Slices come by track, the outer ones first. */
static void close_ops(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	if (ch->op_track != s->track)
		ch->nopen_ops = 0;
	ch->op_track = s->track;
	while (ch->nopen_ops && ch->open_ops[ch->nopen_ops - 1].end_ns <= s->start_ns)
		ch->nopen_ops--;
}

/* An operation begins: calls inside it belong to it, unless they are linked to another. */
static void ws_chrome_begin_op(struct ws_chrome *ch, const struct ws_chrome_slice *s,
                               uint64_t external_id)
{
	if (!external_id)
		return;
	close_ops(ch, s);
	WS_GROW(ch->open_ops, ch->nopen_ops + 1, ch->open_ops_capacity);
	ch->open_ops[ch->nopen_ops++] = (struct ws_chrome_open_op){s->end_ns, external_id};
}

/* --- tracks, slices and arrows --------------------------------------------------------------- */

/* Maximum number of subtracks; further crossing slices share the last one. */
#define MAX_SUBTRACKS 256u

/* Tids for additional subtracks: Linux assigns none over 2^22. */
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

	if (!id) {
		WS_GROW(ch->track, ch->ntracks + 1, ch->tracks_capacity);
		id = ws_strtab_add(&ch->track_keys, key, 5 * sizeof(*key));
		struct ws_chrome_track *t = &ch->track[ch->ntracks++];
		*t = (struct ws_chrome_track){key[0], key[1], key[2], key[3], key[4],
		                              0,      0,      0,      NULL};
	}
	s.track = (uint32_t)(id - 1);
	if (__builtin_add_overflow(start_ns, dur_ns < 0 ? 0 : dur_ns, &s.end_ns))
		s.end_ns = INT64_MAX;
	extend(ch, s.start_ns, s.end_ns);
	ws_spill_put(&ch->slices, sizeof(s), ch->nslices++, &s);
}

/*
 * Adds a slice for each row of a kind, on the track of this key; counts rows without time. For
 * functions with ch and err.
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

/* Nesting of slices with equal times by kind: callers are outside. */
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

/* Ends of the open slices in a subtrack, the innermost last. */
struct subtrack {
	int64_t *open_ns;
	size_t depth, capacity;
};

struct subtracks {
	struct subtrack subtrack[MAX_SUBTRACKS];
	uint32_t n;
};

static void place(struct subtracks *subtracks, struct ws_chrome_slice *s, int alone)
{
	uint32_t i = 0;

	for (; i < subtracks->n; i++) {
		struct subtrack *l = &subtracks->subtrack[i];

		while (l->depth && l->open_ns[l->depth - 1] <= s->start_ns)
			l->depth--;
		if (!l->depth || (!alone && l->open_ns[l->depth - 1] >= s->end_ns))
			break;
	}
	if (i == MAX_SUBTRACKS)
		i--;
	else if (i == subtracks->n)
		subtracks->n++;
	struct subtrack *l = &subtracks->subtrack[i];
	WS_GROW(l->open_ns, l->depth + 1, l->capacity);
	l->open_ns[l->depth++] = s->end_ns;
	s->subtrack = i;
}

/* --- arrows --- */

static int ws_chrome_compare_launches(const void *a, const void *b, void *ctx)
{
	const struct ws_chrome_launch *x = a, *y = b;

	(void)ctx;
	WS_ORDER_BY(x->pid, y->pid);
	WS_ORDER_BY(x->correlation, y->correlation);
	return x->work < y->work ? -1 : x->work > y->work;
}

/* Correlation id of device work and calls; 0 for other slices. */
static uint64_t ws_chrome_correlation(const struct ws_chrome *ch, const struct ws_chrome_slice *s)
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

/* Collects slices of all records on their tracks, sorts them, and adds subtracks and arrows. */
static enum ws_status ws_chrome_collect(struct ws_chrome *ch, struct ws_err *err)
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
	WS_CHROME_EACH(ch, GPU_SAMPLE, gpu_sample, r)
		extend(ch, r->time_ns, r->time_ns);

	/* Last, because a range that never ended extends to the end of the trace. */
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

		const uint64_t thread = ranges->events[r->begin].thread;
		const uint64_t key[5] = {WS_CHROME_THREAD, ws_chrome_thread_pid(ch, thread),
		                         thread};

		add_slice(ch, WS_KIND_NVTX, i, key, r->start_ns, dur);
	}

	struct ws_chrome_track **order = ws_arena_array(&ch->arena, ch->ntracks, sizeof(*order));
	for (size_t i = 0; i < ch->ntracks; i++)
		order[i] = &ch->track[i];
	ws_sort(order, ch->ntracks, sizeof(struct ws_chrome_track *), compare_tracks);
	for (size_t i = 0; i < ch->ntracks; i++)
		order[i]->rank = (uint32_t)i;
	ws_spill_sort(&ch->slices, sizeof(struct ws_chrome_slice), ch->nslices, compare_slices,
	              ch->track);
	uint32_t track = 0; /* track of the previous slice */

	struct subtracks *subtracks = ws_arena_array(&ch->arena, 1, sizeof(*subtracks));
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

		/* the first subtrack of a thread or stream gets its number, unless another track
		 * has it */
		const struct ws_row_thread *row =
		        t->type == WS_CHROME_THREAD
		                ? ws_records_find(&ch->kind[WS_KIND_THREAD], t->b)
		                : NULL;
		uint64_t wanted = row ? row->tid : t->type == WS_CHROME_STREAM ? t->d : UINT64_MAX;

		for (uint32_t l = 0; l < t->subtracks; l++, wanted = UINT64_MAX)
			t->tid[l] = ws_export_unique(&used, t->pid, wanted, FIRST_MADE_TID, &made);
	}
	ws_strtab_free(&used);
	/* the launches of device work */
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
	/* The first arrow of a correlation id gets that id, unless another process has it; others
	 * get new ids.
	 */
	struct ws_map pids = {0}, taken = {0};
	uint64_t before = 0; /* launches of one process are in the order of their ids */

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

/* --- devices, and how the trace was recorded ------------------------------------------------- */

/* Index of the last row for each key, which is the one that counts. */
struct last_rows {
	struct ws_strtab things;
	struct ws_map row;
};

static void last_rows_add(struct last_rows *l, const void *thing, size_t len, size_t row)
{
	uint64_t id = ws_strtab_add(&l->things, thing, len);

	ws_map_put(&l->row, id, row);
}

static bool last_rows_is(const struct last_rows *l, const void *thing, size_t len, size_t row)
{
	const uint64_t *last = ws_map_get(&l->row, ws_strtab_find(&l->things, thing, len));

	return last && *last == row;
}

static void last_rows_free(struct last_rows *l)
{
	ws_strtab_free(&l->things);
	ws_map_free(&l->row);
}

void ws_chrome_each_meta(struct ws_chrome *ch,
                         void (*fn)(struct ws_chrome *ch, const char *key, struct ws_bytes value))
{
	struct last_rows last = {0};
	char key[200];

	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		last_rows_add(&last, m->key.ptr, m->key.len, i);
	}
	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		if (!last_rows_is(&last, m->key.ptr, m->key.len, i) || !m->key.len ||
		    m->key.len >= sizeof(key))
			continue;
		memcpy(key, m->key.ptr, m->key.len);
		key[m->key.len] = 0;
		fn(ch, key, (struct ws_bytes){m->value.ptr ? m->value.ptr : "", m->value.len});
	}
	last_rows_free(&last);
}

/* --- metadata for PyTorch's tools ---------------------------------------------------------- */

/* Writes a text as a number if it is a short number. */
static void put_scalar(struct ws_json_writer *j, const char *key, struct ws_bytes value)
{
	const char *text = value.ptr;
	bool is_number = value.len > 0 && value.len < 16;
	int64_t number = 0;

	for (size_t i = 0; i < value.len && is_number; i++) {
		is_number = text[i] >= '0' && text[i] <= '9';
		number = number * 10 + (text[i] - '0');
	}
	ws_json_key(j, key);
	if (is_number)
		ws_json_i64(j, number);
	else
		ws_json_string(j, text, value.len);
}

static void put_top(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const struct {
		const char *text, *key;
	} names[] = {
#define META(text, key) {text, key},
#include "formats/pytorch/pytorch.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i].key, key) != 0)
			continue;
		ws_json_break(&ch->j);
		put_scalar(&ch->j, names[i].text, value);
	}
}

static void put_distributed(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const char *const ends[] = {"rank", "world_size", "backend", "nccl_version"};

	for (size_t e = 0; e < sizeof(ends) / sizeof(*ends); e++)
		if (ws_bytes_begin(ws_bytes_of(key), ch->rank_keys) &&
		    !strcmp(key + strlen(ch->rank_keys), ends[e]))
			put_scalar(&ch->j, ends[e], value);
}

/* Finds the rank under PyTorch's or the recorder's keys, of which a trace may have both. */
static void look_for_rank(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	(void)value;
	if (!strcmp(key, "distributed.rank"))
		ch->rank_keys = "distributed.";
	else if (!strcmp(key, "process.rank") && !ch->rank_keys)
		ch->rank_keys = "process.";
}

/* --- slices and marks ------------------------------------------------------------------------ */

#define TELL_SLICES 4096 /* slices between two reports of progress */

/* --- arguments --- */

static void put_u64(struct ws_chrome *ch, const char *key, uint64_t value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_U64, .u64 = value});
}

static void put_i64(struct ws_chrome *ch, const char *key, int64_t value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_I64, .i64 = value});
}

static void put_f64(struct ws_chrome *ch, const char *key, double value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_F64, .f64 = value});
}

static void put_yes(struct ws_chrome *ch, const char *key)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_YES});
}

static void put_known(struct ws_chrome *ch, const char *key, uint64_t value)
{
	if (value)
		put_u64(ch, key, value);
}

static void put_text(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_TEXT, .text = text});
}

static void put_known_text(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	if (text.len)
		put_text(ch, key, text);
}

/* Writes a text that is an array in PyTorch's files. */
static void put_known_array(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	const struct ws_chrome_value value = {.type = WS_CHROME_ARRAY, .text = text};

	if (text.len)
		ch->form->arg(ch, key, &value);
}

static void put_sizes(struct ws_chrome *ch, const char *key, uint64_t x, uint64_t y, uint64_t z)
{
	const struct ws_chrome_value value = {.type = WS_CHROME_SIZES, .sizes = {x, y, z}};

	ch->form->arg(ch, key, &value);
}

/* The name of an enumerated value: "htod" for a memcpy's kind. */
static struct ws_bytes enum_name(enum ws_kind kind, int column, uint64_t value)
{
	return ws_enum_name(ws_schema_kind(kind)->columns[column].unit, value);
}

/* Arguments follow. */
static void put_name(struct ws_chrome *ch, struct ws_bytes name, const char *category)
{
	static const struct ws_bytes unknown = {"(unknown)", 9};

	ch->form->name(ch, name.len ? name : unknown, category);
}

static void put_place(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t correlation)
{
	const struct ws_chrome_track *t = &ch->track[s->track];

	/* 0: no operation. Without this argument TensorBoard's plugin assigns it to any
	 * collective. */
	put_u64(ch, "External id", ws_chrome_external_id(ch, t->b, correlation));
	put_u64(ch, "device", t->a);
	put_u64(ch, "context", t->c);
	put_i64(ch, "stream", (int64_t)t->d); /* -1: none, as in current PyTorch */
	put_known(ch, "correlation", correlation);
}

/* Writes a collective as PyTorch's profiler does for kernels and for operations that request
 * one. */
static void put_collective(struct ws_chrome *ch, uint64_t correlation, uint64_t external_id,
                           int64_t time_ns)
{
	uint64_t key[3], at;

	key_of(correlation, external_id, time_ns, key);
	at = ws_strtab_find(&ch->collectives, key, sizeof(key));
	if (!at)
		return;
	ws_map_add(&ch->collectives_told, at, 1);
	const struct ws_row_collective *c =
	        WS_CHROME_ROW(ch, COLLECTIVE, collective, ch->collective_rows[at - 1]);
	put_text(ch, "Collective name", ws_chrome_text(ch, c->name));
	put_u64(ch, "In msg nelems", c->in_elements);
	put_u64(ch, "Out msg nelems", c->out_elements);
	put_known(ch, "Group size", c->group_size);
	put_known_text(ch, "dtype", ws_chrome_text(ch, c->dtype));
	put_known_text(ch, "Process Group Name", ws_chrome_text(ch, c->group));
	put_known_text(ch, "Process Group Ranks", ws_chrome_text(ch, c->ranks));
	if (c->sequence >= 0)
		put_u64(ch, "Seq", (uint64_t)c->sequence);
}

/* --- slices of each kind --- */

static void put_rate(struct ws_chrome *ch, uint64_t bytes, const struct ws_chrome_slice *s)
{
	put_known(ch, "bytes", bytes);
	if (bytes && s->end_ns > s->start_ns) {
		put_f64(ch, "memory bandwidth (GB/s)",
		        (double)bytes / (double)(s->end_ns - s->start_ns));
	}
}

/* As PyTorch's profiler writes them: "Memcpy HtoD (Pinned -> Device)". */
static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};

static const char *const memories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                       "Array",   "Managed",  "Device Static", "Managed Static"};

#define NAME_OF(names, value) (names)[(value) < sizeof(names) / sizeof(*(names)) ? (value) : 0]

/* Is the payload that of an operation? */
static bool is_op(const struct ws_chrome *ch, uint64_t payload)
{
	const uint64_t *place = ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places, payload);

	return payload && place && ch->m->ops.is_op[*place];
}

/* Writes the data of an annotated operation. */
static void put_op(struct ws_chrome *ch, uint64_t payload)
{
	const uint64_t *place = ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places, payload);
	int64_t number;

	if (!payload || !place)
		return;
	const struct ws_row_payload *row = WS_CHROME_ROW(ch, PAYLOAD, payload, *place);
	const struct ws_op_facts *op = &ch->m->ops.op[*place];
	if (ws_payload_number(row->schema, row->bytes.ptr, row->bytes.len, &number)) {
		put_i64(ch, "value", number);
	}
	if (!ch->m->ops.is_op[*place])
		return;
	put_known_text(ch, "op", ch->m->texts[op->kind]);
	put_known_text(ch, "direction", ch->m->texts[op->direction]);
	put_known_text(ch, "dtype", ch->m->texts[op->dtype]);
	if (op->layer >= 0)
		put_u64(ch, "layer", (uint64_t)op->layer);
	if (op->flops >= 0)
		put_u64(ch, "FLOPs", (uint64_t)op->flops);
	if (op->bytes >= 0)
		put_u64(ch, "bytes read and written", (uint64_t)op->bytes);
}

/* --- arrows --- */

struct search {
	struct ws_chrome *ch;
	struct ws_chrome_launch key;
};

static bool is_earlier_launch(void *ctx, size_t i)
{
	const struct search *s = ctx;

	return ws_chrome_compare_launches(ws_chrome_launch(s->ch, i), &s->key, NULL) < 0;
}

/* The first arrow not before this one. Searches are mostly in the order of launches. */
static size_t find_launch(struct ws_chrome *ch, uint64_t pid, uint64_t correlation, size_t work)
{
	struct search search = {ch, {pid, correlation, 0, (uint32_t)work, WS_NONE}};

	ch->next_launch =
	        ws_count_before(ch->nlaunches, ch->next_launch, is_earlier_launch, &search);
	return ch->next_launch;
}

/* --- all of them --- */

/* Threads come first in the order of tracks, so the begin of an arrow before its end. */
static void ws_chrome_put_slices(struct ws_chrome *ch)
{
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_row_thread *row;

		if (i % TELL_SLICES == 0 && ch->opts->progress)
			ch->opts->progress(ch->opts->progress_ctx, i, ch->nslices);
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		ch->form->begin_slice(ch, s);
		switch (s->kind) {
		case WS_KIND_KERNEL: {
			const struct ws_row_kernel *r = WS_CHROME_ROW(ch, KERNEL, kernel, s->row);
			const struct ws_config *known;
			const struct ws_row_launch_config *c =
			        ws_chrome_config(ch, r->config, &known);
			const struct ws_occupancy *o = &known->occupancy;
			const bool has_name = known->name != WS_TEXT_UNKNOWN_KERNEL;

			put_name(ch,
			         ch->names_as_recorded ? ws_chrome_text(ch, c->name)
			         : has_name            ? ch->m->texts[known->name]
			                               : (struct ws_bytes){"", 0},
			         "kernel");
			put_place(ch, s, r->correlation);
			put_collective(ch, r->correlation, 0, r->start_ns);
			put_known(ch, "registers per thread", c->registers);
			put_u64(ch, "shared memory",
			        c->shared_static_bytes + c->shared_dynamic_bytes);
			put_u64(ch, "static shared memory (bytes)", c->shared_static_bytes);
			put_u64(ch, "dynamic shared memory (bytes)", c->shared_dynamic_bytes);
			put_sizes(ch, "grid", c->grid_x, c->grid_y, c->grid_z);
			put_sizes(ch, "block", c->block_x, c->block_y, c->block_z);
			if (c->cluster_x)
				put_sizes(ch, "cluster", c->cluster_x, c->cluster_y, c->cluster_z);
			if (known->has_occupancy) {
				put_f64(ch, "blocks per SM", o->blocks_per_sm);
				put_f64(ch, "warps per SM", o->warps_per_sm);
				put_u64(ch, "est. achieved occupancy %", o->kineto_percent);
				put_f64(ch, "est. achieved occupancy opt-in (%)", o->percent);
			}
			put_known(ch, "graph node id", r->graph_node);
			put_known(ch, "graph id", r->graph);
			if (r->flags & WS_KERNEL_CUT_OFF) {
				put_yes(ch, "cut off");
			}
			break;
		}
		case WS_KIND_MEMCPY: {
			const struct ws_row_memcpy *r = WS_CHROME_ROW(ch, MEMCPY, memcpy, s->row);
			const uint64_t peer = 10, first_unified = 11;
			char name[80];
			int len = snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)",
			                   NAME_OF(directions, r->kind),
			                   NAME_OF(memories, r->src_kind),
			                   NAME_OF(memories, r->dst_kind));

			put_name(ch, (struct ws_bytes){name, (size_t)len}, "gpu_memcpy");
			put_place(ch, s, r->correlation);
			put_rate(ch, r->bytes, s);
			if (r->kind >= first_unified)
				put_text(ch, "unified memory",
				         enum_name(WS_KIND_MEMCPY, WS_COL_memcpy_kind, r->kind));
			if (r->kind == peer) {
				put_u64(ch, "fromDevice", r->src_device);
				put_u64(ch, "toDevice", r->dst_device);
			}
			put_known(ch, "graph node id", r->graph_node);
			break;
		}
		case WS_KIND_MEMSET: {
			const struct ws_row_memset *r = WS_CHROME_ROW(ch, MEMSET, memset, s->row);
			char name[60];
			int len = snprintf(name, sizeof(name), "Memset (%s)",
			                   NAME_OF(memories, r->memory_kind));

			put_name(ch, (struct ws_bytes){name, (size_t)len}, "gpu_memset");
			put_place(ch, s, r->correlation);
			put_rate(ch, r->bytes, s);
			put_u64(ch, "value", r->value);
			put_known(ch, "graph node id", r->graph_node);
			break;
		}
		case WS_KIND_GRAPH_LAUNCH: {
			const struct ws_row_graph_launch *r =
			        WS_CHROME_ROW(ch, GRAPH_LAUNCH, graph_launch, s->row);
			char name[60];
			int len = snprintf(name, sizeof(name), "CUDA graph %llu",
			                   (unsigned long long)r->graph);

			put_name(ch, (struct ws_bytes){name, (size_t)len}, "cuda_graph");
			put_place(ch, s, r->correlation);
			put_u64(ch, "graph id", r->graph);
			put_known(ch, "executable graph id", r->graph_exec);
			break;
		}
		case WS_KIND_SYNC: {
			static const char *const names[] = {"Synchronization", "Event Sync",
			                                    "Stream Wait Event", "Stream Sync",
			                                    "Context Sync"};
			const struct ws_row_sync *r = WS_CHROME_ROW(ch, SYNC, sync, s->row);
			const char *name = NAME_OF(names, r->type);

			put_name(ch, ws_bytes_of(name), "cuda_sync");
			put_place(ch, s, r->correlation);
			put_text(ch, "cuda_sync_kind", ws_bytes_of(name));
			if (r->event >= 0)
				put_u64(ch, "wait_on_cuda_event_id", (uint64_t)r->event);
			if (r->event_stream >= 0)
				put_u64(ch, "wait_on_stream", (uint64_t)r->event_stream);
			put_known(ch, "wait_on_cuda_event_record_corr_id", r->event_correlation);
			break;
		}
		case WS_KIND_GPU_RANGE: {
			const struct ws_row_gpu_range *r =
			        WS_CHROME_ROW(ch, GPU_RANGE, gpu_range, s->row);

			put_name(ch, ws_chrome_text(ch, r->name), "gpu_user_annotation");
			put_u64(ch, "device", r->device);
			/* not "stream", because HTA counts events with a stream as device work */
			put_u64(ch, "on stream", r->stream);
			break;
		}
		case WS_KIND_API: {
			const struct ws_row_api *r = WS_CHROME_ROW(ch, API, api, s->row);
			struct ws_bytes name = ws_chrome_text(ch, r->name);
			const uint64_t pid = ch->track[s->track].a;
			/* the operation of the call; for annotated operations also that of its
			 * launched work */
			uint64_t operation = ws_chrome_external_id(ch, pid, r->correlation);

			put_name(ch, name,
			         ws_export_is_driver_call(name) ? "cuda_driver" : "cuda_runtime");
			if (!operation && ch->nopen_ops)
				close_ops(ch, s);
			if (!operation && ch->nopen_ops) {
				operation = ch->open_ops[ch->nopen_ops - 1].external_id;
				/* for a framework's operations, work has only its recorded links */
				if (!ch->kind[WS_KIND_CPU_OP].n)
					add_link(ch, pid, r->correlation, operation);
			}
			put_u64(ch, "External id", operation);
			put_known(ch, "correlation", r->correlation);
			if (r->result) {
				put_i64(ch, "return value", r->result);
			}
			break;
		}
		case WS_KIND_NVTX: {
			const struct ws_recorded_range *r =
			        ws_recorded_range(&ch->ranges.ranges, s->row);
			const struct ws_recorded_event *begin = &ch->ranges.events[r->begin];
			struct ws_bytes name = ws_chrome_text(ch, begin->name);
			char step[40];

			if (name.len == 4 && !memcmp(name.ptr, "step", 4)) {
				/* A step in PyTorch's naming: by the number in its payload, else by
				 * its position. */
				const uint64_t *place =
				        ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places,
				                   begin->payload);
				int64_t number = (int64_t)ch->next_step;

				if (begin->payload && place) {
					const struct ws_row_payload *payload =
					        WS_CHROME_ROW(ch, PAYLOAD, payload, *place);

					ws_payload_number(payload->schema, payload->bytes.ptr,
					                  payload->bytes.len, &number);
				}
				ch->next_step++;
				name = (struct ws_bytes){step, (size_t)snprintf(step, sizeof(step),
				                                                "ProfilerStep#%lld",
				                                                (long long)number)};
			}
			if (is_op(ch, begin->payload)) {
				put_name(ch, name, "cpu_op");
				/* like an operation of a framework, if the trace has none */
				if (!ch->kind[WS_KIND_CPU_OP].n) {
					put_u64(ch, "External id", s->row + 1);
					ws_chrome_begin_op(ch, s, s->row + 1);
				}
			} else {
				put_name(ch, name, "user_annotation");
			}
			put_known_text(ch, "domain", ws_chrome_text(ch, begin->domain));
			put_known(ch, "category", begin->category);
			put_op(ch, begin->payload);
			if (begin->type == WS_NVTX_START)
				put_u64(ch, "range id", r->id);
			if (r->end == WS_NONE)
				put_yes(ch, "never ended");
			break;
		}
		case WS_KIND_CPU_OP: {
			const struct ws_row_cpu_op *r = WS_CHROME_ROW(ch, CPU_OP, cpu_op, s->row);
			const struct ws_row_op_config *c =
			        ws_records_find(&ch->kind[WS_KIND_OP_CONFIG], r->config);

			put_name(ch, c ? ws_chrome_text(ch, c->name) : (struct ws_bytes){"", 0},
			         "cpu_op");
			put_known(ch, "External id", r->external_id);
			ws_chrome_begin_op(ch, s, r->external_id);
			put_known(ch, "Record function id", r->record_function);
			if (r->sequence >= 0)
				put_u64(ch, "Sequence number", (uint64_t)r->sequence);
			put_known(ch, "Fwd thread id", r->forward_thread);
			put_known_text(ch, "Source", ws_chrome_text(ch, r->source));
			put_collective(ch, 0, r->external_id, r->start_ns);
			if (!c)
				break;
			put_known_array(ch, "Input Dims", ws_chrome_text(ch, c->dims));
			put_known_array(ch, "Input type", ws_chrome_text(ch, c->types));
			put_known_array(ch, "Input Strides", ws_chrome_text(ch, c->strides));
			put_known_array(ch, "Concrete Inputs", ws_chrome_text(ch, c->inputs));
			if (c->cost != WS_COST_NONE)
				put_u64(ch, "FLOPs", c->flops);
			if (c->cost == WS_COST_FLOPS_AND_BYTES) {
				put_u64(ch, "bytes read", c->bytes_read);
				put_u64(ch, "bytes written", c->bytes_written);
			}
			break;
		}
		case WS_KIND_PYTHON_CALL: {
			const struct ws_row_python_call *r =
			        WS_CHROME_ROW(ch, PYTHON_CALL, python_call, s->row);

			put_name(ch, ws_chrome_text(ch, r->name), "python_function");
			put_known(ch, "Python id", r->id);
			put_known(ch, "Python parent id", r->parent);
			if (r->module >= 0)
				put_u64(ch, "Python module id", (uint64_t)r->module);
			put_known_text(ch, "Source", ws_chrome_text(ch, r->source));
			break;
		}
		case WS_KIND_OVERHEAD: {
			const struct ws_row_overhead *r =
			        WS_CHROME_ROW(ch, OVERHEAD, overhead, s->row);
			struct ws_bytes kind =
			        enum_name(WS_KIND_OVERHEAD, WS_COL_overhead_kind, r->kind);
			struct ws_bytes name = ws_chrome_text(ch, r->name);

			put_name(ch, name.len ? name : kind, "overhead");
			put_known_text(ch, "kind", kind);
			break;
		}
		default:
			break;
		}
		/* If the row of a thread has another number, adds the thread's number. */
		const struct ws_chrome_track *t = &ch->track[s->track];
		if (t->type == WS_CHROME_THREAD) {
			row = ws_records_find(&ch->kind[WS_KIND_THREAD], t->b);
			if (row && row->tid != t->tid[s->subtrack])
				put_u64(ch, "on thread", row->tid);
		}
		if (ch->form->end_args)
			ch->form->end_args(ch);
		/* directly after its slice, as both have the same time */
		if (s->kind == WS_KIND_API) {
			/* arrows from a call to its launched work */
			const uint64_t pid = ch->track[s->track].a,
			               correlation = ws_chrome_correlation(ch, s);

			for (size_t k = find_launch(ch, pid, correlation, 0); k < ch->nlaunches;
			     k++) {
				const struct ws_chrome_launch *l = ws_chrome_launch(ch, k);

				if (l->pid != pid || l->correlation != correlation)
					break;
				if (l->call == i)
					ch->form->arrow(ch, s, l->arrow, 1);
			}
		} else if (ws_chrome_correlation(ch, s)) {
			const uint64_t correlation = ws_chrome_correlation(ch, s);
			const size_t at = find_launch(ch, ch->track[s->track].b, correlation, i);
			const struct ws_chrome_launch *l = ws_chrome_launch(ch, at);

			if (l->call != WS_NONE)
				ch->form->arrow(ch, s, l->arrow, 0);
		}
		if (ch->form->end_slice)
			ch->form->end_slice(ch, s);
	}
}

/* The track of a thread; NULL if nothing else is drawn on it. */
static const struct ws_chrome_track *thread_track(const struct ws_chrome *ch, uint64_t thread)
{
	const uint64_t key[5] = {WS_CHROME_THREAD, ws_chrome_thread_pid(ch, thread), thread};
	uint64_t id = ws_strtab_find(&ch->track_keys, key, sizeof(key));

	return id ? &ch->track[id - 1] : NULL;
}

/* --- counters -------------------------------------------------------------------------------- */

/* --- of the program --- */

static void put_counters(struct ws_chrome *ch)
{
	struct ws_buf name = {0}, unit = {0};
	struct ws_map last = {0}; /* series -> its row with a value before */

	/* each thread has its rows together */
	ws_sort(ch->kind[WS_KIND_COUNTER].rows, ch->kind[WS_KIND_COUNTER].n,
	        sizeof(struct ws_row_counter), ws_by_time);
	for (size_t i = 0; i < ch->kind[WS_KIND_COUNTER].n; i++) {
		const struct ws_row_counter *r = WS_CHROME_ROW(ch, COUNTER, counter, i);
		const struct ws_row_counter_series *s =
		        ws_records_find(&ch->kind[WS_KIND_COUNTER_SERIES], r->series);
		const struct ws_row_thread *thread =
		        ws_records_find(&ch->kind[WS_KIND_THREAD], r->thread);
		const int64_t time_ns = r->time_ns;
		uint64_t pid = ws_chrome_device(r->device);
		double value;

		if (!s) {
			ch->form->counter(ch, pid, ws_chrome_text(ch, r->name), time_ns, "value",
			                  r->value, 0);
			continue;
		}
		if (r->form == WS_COUNTER_UNCHANGED && ws_map_get(&last, r->series))
			r = WS_CHROME_ROW(ch, COUNTER, counter, *ws_map_get(&last, r->series));
		else
			ws_map_put(&last, r->series, i);
		value = r->form == WS_COUNTER_WHOLE  ? (double)r->value
		        : r->form == WS_COUNTER_REAL ? r->real
		                                     : NAN;
		if (!isfinite(value) || !s->unit_denominator)
			continue;
		value *= (double)s->unit_numerator / (double)s->unit_denominator;
		if (thread)
			ws_chrome_process(ch, thread->pid, &pid);
		const struct ws_bytes parts[] = {ws_chrome_text(ch, s->domain), ws_bytes_of(":"),
		                                 ws_chrome_text(ch, s->group), ws_bytes_of("."),
		                                 ws_chrome_text(ch, s->name)};
		name.len = unit.len = 0;
		for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
			if (k % 2 == 0 || parts[k - 1].len) /* a separator only behind a name */
				ws_buf_put(&name, parts[k].ptr, parts[k].len);
		ws_buf_put(&unit, ws_chrome_text(ch, s->unit).ptr, ws_chrome_text(ch, s->unit).len);
		ws_buf_put(&unit, "value", unit.len ? 0 : 5);
		ws_buf_put(&unit, "", 1);
		if (r->form == WS_COUNTER_WHOLE && s->unit_numerator == s->unit_denominator)
			ch->form->counter(ch, pid, (struct ws_bytes){name.data, name.len}, time_ns,
			                  (const char *)unit.data, r->value, 0);
		else
			ch->form->counter(ch, pid, (struct ws_bytes){name.data, name.len}, time_ns,
			                  (const char *)unit.data, ws_chrome_bits(value),
			                  WS_CHROME_REAL);
	}
	ws_buf_free(&name);
	ws_buf_free(&unit);
	ws_map_free(&last);
}

/* --- memory --- */

static bool is_on_device(uint64_t memory_kind)
{
	return memory_kind == WS_MEMORY_DEVICE || memory_kind == WS_MEMORY_DEVICE_STATIC ||
	       memory_kind == WS_MEMORY_ARRAY;
}

struct by_time {
	int64_t time_ns;
	uint64_t key; /* row, or device */
	int64_t change;
};

static int compare_by_time(const void *a, const void *b, void *ctx)
{
	const struct by_time *x = a, *y = b;

	(void)ctx;
	WS_ORDER_BY(x->time_ns, y->time_ns);
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Allocations add, releases subtract; allocations before the recording are unknown. */
static void put_memories(struct ws_chrome *ch)
{
	size_t n = ch->kind[WS_KIND_MEMORY].n;
	struct ws_map in_use = {0};

	struct by_time *order = ws_arena_array(&ch->arena, n, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = (struct by_time){WS_CHROME_ROW(ch, MEMORY, memory, i)->time_ns, i, 0};
	ws_sort_by(order, n, sizeof(*order), compare_by_time, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct ws_row_memory *r = WS_CHROME_ROW(ch, MEMORY, memory, order[i].key);
		uint64_t pid, sum;

		/* with a thread: the framework's allocator, with its recorded values */
		if (r->thread && r->op <= WS_MEMORY_OP_OUT_OF_MEMORY) {
			/* An instant of PyTorch's profiler: memory that a thread allocated or
			 * released.
			 */
			const bool is_host = r->memory_kind == WS_MEMORY_PAGEABLE;
			const bool is_free = r->op == WS_MEMORY_OP_FREE;
			const char *name =
			        r->op == WS_MEMORY_OP_OUT_OF_MEMORY ? "[OutOfMemory]" : "[memory]";

			ch->form->begin_mark(ch, r->time_ns, r->thread,
			                     thread_track(ch, r->thread));
			put_name(ch, ws_bytes_of(name), "cpu_instant_event");
			if (r->memory_kind != WS_MEMORY_UNKNOWN)
				put_i64(ch, "Device Type", !is_host);
			put_i64(ch, "Device Id", is_host ? -1 : (int64_t)r->device);
			put_known(ch, "Addr", r->address);
			put_i64(ch, "Bytes", (int64_t)(is_free ? -r->bytes : r->bytes));
			put_known(ch, "Total Allocated", r->total_allocated_bytes);
			put_known(ch, "Total Reserved", r->total_reserved_bytes);
			if (ch->form->end_args)
				ch->form->end_args(ch);
			if (ch->form->end_mark)
				ch->form->end_mark(ch);
		}
		if (r->thread && r->op == WS_MEMORY_OP_OUT_OF_MEMORY)
			continue;
		if (r->op != WS_MEMORY_OP_ALLOC && r->op != WS_MEMORY_OP_FREE) {
			ch->stats->skipped[WS_KIND_MEMORY]++;
			continue;
		}
		ws_chrome_process(ch, r->pid, &pid);
		if (is_on_device(r->memory_kind))
			pid = ws_chrome_device(r->device);
		const uint64_t *before = ws_map_get(&in_use, pid);
		sum = before ? *before : 0;
		sum = r->op == WS_MEMORY_OP_ALLOC ? sum + r->bytes : sum - r->bytes;
		ws_map_put(&in_use, pid, sum);

		if (r->total_allocated_bytes || r->total_reserved_bytes) {
			ch->form->counter(ch, pid, ws_bytes_of("memory allocated by the framework"),
			                  r->time_ns, "bytes", (int64_t)r->total_allocated_bytes,
			                  0);
			ch->form->counter(ch, pid, ws_bytes_of("memory reserved by the framework"),
			                  r->time_ns, "bytes", (int64_t)r->total_reserved_bytes, 0);
		} else {
			ch->form->counter(
			        ch, pid,
			        ws_bytes_of(is_on_device(r->memory_kind)
			                            ? "device memory allocated since the begin"
			                            : "host memory allocated since the begin"),
			        r->time_ns, "bytes", (int64_t)sum, 0);
		}
	}
	ws_map_free(&in_use);
}

/* --- occupancy --- */

#define PERCENT_DIGITS 3 /* of which sums are exact */
#define PERCENT_ONE    1000

static void put_occupancy(struct ws_chrome *ch)
{
	struct ws_spill changes;
	struct ws_map sums = {0};
	size_t n = 0;

	ws_spill_open(&changes, 2 * ch->kind[WS_KIND_KERNEL].n * sizeof(struct by_time));
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		const struct ws_config *c;

		if (s->kind != WS_KIND_KERNEL || s->end_ns <= s->start_ns)
			continue;
		ws_chrome_config(ch, WS_CHROME_ROW(ch, KERNEL, kernel, s->row)->config, &c);
		if (!c->has_occupancy)
			continue;
		int64_t share = (int64_t)(c->occupancy.percent * PERCENT_ONE + 0.5);
		struct by_time change = {s->start_ns, ch->track[s->track].a, share};
		ws_spill_put(&changes, sizeof(change), (n)++, &change);
		change = (struct by_time){s->end_ns, ch->track[s->track].a, -share};
		ws_spill_put(&changes, sizeof(change), (n)++, &change);
	}
	ws_spill_sort(&changes, sizeof(struct by_time), n, compare_by_time, NULL);
	/* Sum of the kernels' estimates, at most 100, because concurrent kernels share the
	 * device. */
	const int64_t full = 100 * PERCENT_ONE;

	for (size_t i = 0; i < n; i++) {
		const struct by_time *change = ws_spill_row(&changes, sizeof(*change), i);
		const uint64_t *before = ws_map_get(&sums, change->key);
		int64_t sum = (before ? (int64_t)*before : 0) + change->change;

		ws_map_put(&sums, change->key, (uint64_t)sum);
		/* all changes at one time make one value */
		if (i + 1 < n && change[1].time_ns == change->time_ns &&
		    change[1].key == change->key)
			continue;
		ch->form->counter(ch, ws_chrome_device(change->key),
		                  ws_bytes_of("est. achieved occupancy of running kernels"),
		                  change->time_ns, "%", sum > full ? full : sum, PERCENT_DIGITS);
	}
	ws_map_free(&sums);
	ws_spill_close(&changes);
}

/* --- JSON: the Trace Event Format ------------------------------------------------------------ */

#define NS_DIGITS 3 /* times are microseconds with three decimals: exact nanoseconds */

static void begin_event(struct ws_chrome *ch, const char *phase, uint64_t pid, uint64_t tid,
                        int64_t time_ns)
{
	struct ws_json_writer *j = &ch->j;

	ws_json_break(j);
	ws_json_object_begin(j);
	ws_json_str(ws_json_key(j, "ph"), phase);
	ws_json_u64(ws_json_key(j, "pid"), pid);
	ws_json_u64(ws_json_key(j, "tid"), tid);
	ws_json_decimal(ws_json_key(j, "ts"), ws_chrome_since_begin(ch, time_ns), NS_DIGITS);
}

/* --- names and order of processes and tracks --- */

static void end_args_and_event(struct ws_chrome *ch)
{
	ws_json_object_end(&ch->j);
	ws_json_object_end(&ch->j);
}

/* Two events about a process or track: its name and its place in the order. */
static void put_labels(struct ws_chrome *ch, const char *const what[2], uint64_t pid, uint64_t tid,
                       struct ws_bytes name, uint64_t order)
{
	for (int i = 0; i < 2; i++) {
		begin_event(ch, "M", pid, tid, ch->begin_ns);
		ws_json_str(ws_json_key(&ch->j, "name"), what[i]);
		ws_json_object_begin(ws_json_key(&ch->j, "args"));
		if (i)
			ws_json_u64(ws_json_key(&ch->j, "sort_index"), order);
		else
			ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
		end_args_and_event(ch);
	}
}

static void process(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, uint64_t order)
{
	static const char *const what[2] = {"process_name", "process_sort_index"};

	put_labels(ch, what, pid, 0, name, order);
}

static void subtrack(struct ws_chrome *ch, const struct ws_chrome_track *t, uint32_t number,
                     struct ws_bytes name)
{
	static const char *const what[2] = {"thread_name", "thread_sort_index"};

	put_labels(ch, what, t->pid, t->tid[number], name, (uint64_t)t->rank * 256 + number);
}

/* --- events --- */

static void begin_slice(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_chrome_track *t = &ch->track[s->track];
	int64_t dur_ns;

	if (__builtin_sub_overflow(s->end_ns, s->start_ns, &dur_ns))
		dur_ns = INT64_MAX;
	begin_event(ch, "X", t->pid, t->tid[s->subtrack], s->start_ns);
	ws_json_decimal(ws_json_key(&ch->j, "dur"), dur_ns, NS_DIGITS);
}

static void begin_mark(struct ws_chrome *ch, int64_t time_ns, uint64_t thread,
                       const struct ws_chrome_track *t)
{
	const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], thread);
	const uint64_t *pid = ws_map_get(&ch->json_pids, row ? row->pid : 0);
	uint64_t other_pid = pid ? *pid : 0, other_tid = row ? row->tid : 0;

	begin_event(ch, "i", t ? t->pid : other_pid, t ? t->tid[0] : other_tid, time_ns);
	ws_json_str(ws_json_key(&ch->j, "s"), "t");
}

static void put_title(struct ws_chrome *ch, struct ws_bytes name, const char *category)
{
	ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
	ws_json_str(ws_json_key(&ch->j, "cat"), category);
	ws_json_object_begin(ws_json_key(&ch->j, "args"));
}

static void put_arg(struct ws_chrome *ch, const char *key, const struct ws_chrome_value *value)
{
	struct ws_json_writer *j = &ch->j;

	ws_json_key(j, key);
	switch (value->type) {
	case WS_CHROME_U64:
		ws_json_u64(j, value->u64);
		break;
	case WS_CHROME_I64:
		ws_json_i64(j, value->i64);
		break;
	case WS_CHROME_F64:
		ws_json_f64(j, value->f64);
		break;
	case WS_CHROME_YES:
		ws_json_bool(j, 1);
		break;
	case WS_CHROME_TEXT:
		ws_json_string(j, value->text.ptr, value->text.len);
		break;
	case WS_CHROME_ARRAY:
		ws_json_array_text(j, value->text.ptr, value->text.len);
		break;
	case WS_CHROME_SIZES:
		ws_json_array_begin(j);
		for (size_t i = 0; i < 3; i++)
			ws_json_u64(j, value->sizes[i]);
		ws_json_array_end(j);
		break;
	}
}

/* --- arrows --- */

static void put_arrow(struct ws_chrome *ch, const char *what, uint64_t id, uint64_t pid,
                      uint64_t tid, int64_t time_ns, int begins)
{
	begin_event(ch, begins ? "s" : "f", pid, tid, time_ns);
	ws_json_str(ws_json_key(&ch->j, "name"), what);
	ws_json_str(ws_json_key(&ch->j, "cat"), what);
	ws_json_u64(ws_json_key(&ch->j, "id"), id);
	if (!begins) {
		/* it binds to the slice around this time, not to the next one */
		ws_json_str(ws_json_key(&ch->j, "bp"), "e");
	}
	ws_json_object_end(&ch->j);
}

static void json_arrow(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t id,
                       int begins)
{
	const struct ws_chrome_track *t = &ch->track[s->track];

	put_arrow(ch, "ac2g", id, t->pid, t->tid[s->subtrack], s->start_ns, begins);
}

static void link_slices(struct ws_chrome *ch, uint64_t id, const struct ws_chrome_track *t,
                        int64_t time_ns, int begins)
{
	put_arrow(ch, "fwdbwd", id, t->pid, t->tid[0], time_ns, begins);
}

/* --- counters --- */

static void json_counter(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, int64_t time_ns,
                         const char *unit, int64_t value, unsigned digits)
{
	begin_event(ch, "C", pid, 0, time_ns);
	ws_json_string(ws_json_key(&ch->j, "name"), name.ptr, name.len);
	ws_json_object_begin(ws_json_key(&ch->j, "args"));
	ws_json_key(&ch->j, unit);
	if (digits == WS_CHROME_REAL)
		ws_json_f64(&ch->j, ws_chrome_real(value));
	else if (digits)
		ws_json_decimal(&ch->j, value, digits);
	else
		ws_json_i64(&ch->j, value);
	end_args_and_event(ch);
}

/* --- the file --- */

static void put_meta(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	ws_json_break(&ch->j);
	ws_json_string(ws_json_key(&ch->j, key), value.ptr, value.len);
}

static enum ws_status json_begin(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(ch->r);
	struct ws_json_writer *j = &ch->j;
	int64_t base_ns;

	(void)err;
	if (__builtin_add_overflow(s->base_ns, ch->begin_ns, &base_ns))
		base_ns = 0;
	ws_json_begin(j, f);
	ws_json_object_begin(j);
	ws_json_break(j);
	ws_json_i64(ws_json_key(j, "schemaVersion"), 1);
	ws_json_break(j);
	ws_json_str(ws_json_key(j, "displayTimeUnit"), "ns");
	ws_json_break(j);
	ws_json_i64(ws_json_key(j, "baseTimeNanoseconds"), base_ns);

	struct last_rows last = {0};

	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE_ATTR].n; i++) {
		const struct ws_row_device_attr *row =
		        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, i);
		const uint64_t thing[2] = {row->device, row->attr};

		last_rows_add(&last, thing, sizeof(thing), i);
	}
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "deviceProperties"));
	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE].n; i++) {
		const struct ws_row_device *d = WS_CHROME_ROW(ch, DEVICE, device, i);
		struct ws_bytes name = ws_chrome_text(ch, d->name);

		if (ws_records_find(&ch->kind[WS_KIND_DEVICE], d->id) != d)
			continue; /* a later row counts instead */
		ws_json_break(j);
		ws_json_object_begin(j);
		ws_json_u64(ws_json_key(j, "id"), d->id);
		ws_json_string(ws_json_key(j, "name"), name.ptr, name.len);
		/* as in PyTorch's profiler */
		static const struct {
			const char *key, *attr;
		} properties[] = {
#define DEVICE(text, attr) {text, attr},
#include "formats/pytorch/pytorch.def"
		};

		for (size_t k = 0; k < ch->kind[WS_KIND_DEVICE_ATTR].n; k++) {
			const struct ws_row_device_attr *row =
			        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, k);
			const uint64_t thing[2] = {row->device, row->attr};
			struct ws_bytes attr = ws_chrome_text(ch, row->attr);

			if (row->device != d->id || !last_rows_is(&last, thing, sizeof(thing), k))
				continue;
			for (size_t p = 0; p < sizeof(properties) / sizeof(*properties); p++)
				if (ws_name_is(attr, properties[p].attr))
					ws_json_i64(ws_json_key(j, properties[p].key), row->value);
		}
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	last_rows_free(&last);

	/* Top-level metadata for PyTorch's tools. */
	ws_chrome_each_meta(ch, put_top);
	ws_chrome_each_meta(ch, look_for_rank);
	if (ch->rank_keys) {
		ws_json_break(&ch->j);
		ws_json_object_begin(ws_json_key(&ch->j, "distributedInfo"));
		ws_chrome_each_meta(ch, put_distributed);
		ws_json_object_end(&ch->j);
	}
	ws_json_break(j);
	ws_json_object_begin(ws_json_key(j, "otherData"));
	ws_chrome_each_meta(ch, put_meta);
	ws_json_object_end(j);
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "traceEvents"));
	return WS_OK;
}

static enum ws_status json_end(struct ws_chrome *ch, struct ws_err *err)
{
	ws_json_break(&ch->j);
	ws_json_array_end(&ch->j);
	ws_json_break(&ch->j);
	ws_json_object_end(&ch->j);
	return ws_json_finish(&ch->j, err);
}

const struct ws_chrome_form ws_chrome_json = {
        .begin = json_begin,
        .end = json_end,
        .process = process,
        .subtrack = subtrack,
        .begin_slice = begin_slice,
        .begin_mark = begin_mark,
        .name = put_title,
        .arg = put_arg,
        .end_args = end_args_and_event,
        .arrow = json_arrow,
        .link = link_slices,
        .counter = json_counter,
};

/* --- the whole timeline ---------------------------------------------------------------------- */

/* Devices come below the processes. */
#define DEVICE_SORT_INDEX 1000000

/* --- names and order of processes and tracks --- */

/* The name of a track; further subtracks are numbered. */
static int track_name(const struct ws_chrome *ch, const struct ws_chrome_track *t, char *text,
                      size_t size)
{
	static const char *const words[] = {
	        [WS_CHROME_STREAM] = "stream",
	        [WS_CHROME_WAITS] = "waits for stream",
	        [WS_CHROME_RANGES] = "annotations on stream",
	};
	struct ws_bytes name, context;

	if (t->type == WS_CHROME_THREAD) {
		const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], t->b);
		name = ws_chrome_text(ch, row ? row->name : 0);
		if (ws_bytes_begin(name, "thread ")) /* as PyTorch names them, with the number */
			return snprintf(text, size, "%.*s", WS_SHOWN_MOST(name, 200));
		return snprintf(text, size, "thread %llu%s%.*s",
		                (unsigned long long)(row ? row->tid : 0), name.len ? ": " : "",
		                WS_SHOWN_MOST(name, 200));
	}
	context = ws_chrome_text(ch, ws_resources_context(&ch->m->resources, t->b, t->c));
	if (t->type == WS_CHROME_WAITS && (int64_t)t->d < 0)
		return snprintf(text, size, "waits for context %llu%s%.*s",
		                (unsigned long long)t->c, context.len ? ": " : "",
		                WS_SHOWN_MOST(context, 80));
	name = ws_chrome_text(ch, ws_resources_stream(&ch->m->resources, t->b, t->d));
	return snprintf(text, size, "%s %llu%s%.*s (context %llu%s%.*s of process %llu)",
	                words[t->type], (unsigned long long)t->d, name.len ? ": " : "",
	                WS_SHOWN_MOST(name, 80), (unsigned long long)t->c, context.len ? ": " : "",
	                WS_SHOWN_MOST(context, 80), (unsigned long long)t->b);
}

/* --- the file --- */

static enum ws_status put_file(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	enum ws_status status = ch->form->begin(ch, f, err);

	if (status == WS_OK) {
		const struct ws_records *processes = &ch->kind[WS_KIND_PROCESS];
		const struct ws_records *devices = &ch->kind[WS_KIND_DEVICE];
		uint64_t pid;

		for (size_t i = 0; i < processes->n; i++) {
			const struct ws_row_process *p = WS_CHROME_ROW(ch, PROCESS, process, i);
			struct ws_bytes name = ws_chrome_text(ch, p->program);
			char unnamed[40];

			if (ws_records_find(processes, p->pid) != p)
				continue; /* the last image's program */
			ws_chrome_process(ch, p->pid, &pid);
			snprintf(unnamed, sizeof(unnamed), "process %llu",
			         (unsigned long long)p->pid);
			ch->form->process(ch, pid, name.len ? name : ws_bytes_of(unnamed), i);
		}
		for (size_t i = 0; i < devices->n; i++) {
			const struct ws_row_device *d = WS_CHROME_ROW(ch, DEVICE, device, i);
			struct ws_bytes name = ws_chrome_text(ch, d->name);
			char text[300];
			struct ws_bytes own =
			        ws_chrome_text(ch, ws_resources_device(&ch->m->resources, d->id));
			int len = snprintf(text, sizeof(text), "device %llu%s%.*s%s%.*s%s",
			                   (unsigned long long)d->id, name.len ? ": " : "",
			                   WS_SHOWN_MOST(name, 200), own.len ? " (" : "",
			                   WS_SHOWN_MOST(own, 80), own.len ? ")" : "");

			if (ws_records_find(devices, d->id) != d)
				continue;
			ch->form->process(ch, ws_chrome_device(d->id),
			                  (struct ws_bytes){text, (size_t)len},
			                  DEVICE_SORT_INDEX + i);
		}
		for (size_t i = 0; i < ch->ntracks; i++) {
			const struct ws_chrome_track *t = &ch->track[i];
			char text[320];
			int len = track_name(ch, t, text, sizeof(text) - 16);

			for (uint32_t subtrack = 0; subtrack < t->subtracks; subtrack++) {
				int more = subtrack
				                   ? snprintf(text + len, 16, " (%u)", subtrack + 1)
				                   : 0;

				ch->form->subtrack(ch, t, subtrack,
				                   (struct ws_bytes){text, (size_t)(len + more)});
			}
		}
		ws_chrome_put_slices(ch);
		ch->stats->skipped[WS_KIND_COLLECTIVE] =
		        ch->kind[WS_KIND_COLLECTIVE].n - ch->collectives_told.n;
		for (size_t i = 0; i < ch->ranges.nmarks; i++) {
			const struct ws_recorded_range *mark =
			        ws_recorded_range(&ch->ranges.marks, i);
			const struct ws_recorded_event *r = &ch->ranges.events[mark->begin];

			ch->form->begin_mark(ch, mark->start_ns, r->thread,
			                     thread_track(ch, r->thread));
			put_name(ch, ws_chrome_text(ch, r->name), "user_annotation");
			put_known_text(ch, "domain", ws_chrome_text(ch, r->domain));
			put_op(ch, r->payload);
			if (ch->form->end_args)
				ch->form->end_args(ch);
			if (ch->form->end_mark)
				ch->form->end_mark(ch);
		}

		/* From an operation to its backward pass; both ends are at the start of a slice. */
		uint64_t id = WS_CHROME_FIRST_MADE_ID + ch->nlaunches;

		WS_CHROME_EACH(ch, FLOW, flow, r) {
			const struct ws_chrome_track *from = thread_track(ch, r->from_thread);
			const struct ws_chrome_track *to = thread_track(ch, r->to_thread);

			if (!from || !to) {
				ch->stats->skipped[WS_KIND_FLOW]++;
				continue;
			}
			id++;
			ch->form->link(ch, id, from, r->from_ns, 1);
			ch->form->link(ch, id, to, r->to_ns, 0);
		}
		put_counters(ch);
		WS_CHROME_EACH(ch, GPU_SAMPLE, gpu_sample, r) {
			const struct {
				const char *name, *unit;
				int64_t value;
				unsigned digits;
			} values[] = {{"power", "W", r->power_mw, 3},
			              {"SM clock", "MHz", r->sm_mhz, 0},
			              {"memory clock", "MHz", r->memory_mhz, 0},
			              {"temperature", "C", r->temperature_c, 0}};

			for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
				if (values[i].value >= 0)
					ch->form->counter(ch, ws_chrome_device(r->device),
					                  ws_bytes_of(values[i].name), r->time_ns,
					                  values[i].unit, values[i].value,
					                  values[i].digits);
		}
		put_memories(ch);
		put_occupancy(ch);
	}
	/* also frees */
	return status == WS_OK ? ch->form->end(ch, err) : (ch->form->end(ch, NULL), status);
}

enum ws_status ws_export_timeline(const struct ws_chrome_form *form,
                                  const struct ws_trace_reader *r, FILE *f,
                                  const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                  struct ws_err *err)
{
	struct ws_chrome ch = {.form = form,
	                       .r = r,
	                       .opts = opts,
	                       .stats = stats,
	                       .begin_ns = INT64_MAX,
	                       .end_ns = INT64_MIN};
	static const enum ws_kind found_by_id[] = {WS_KIND_STRING,        WS_KIND_THREAD,
	                                           WS_KIND_LAUNCH_CONFIG, WS_KIND_DEVICE,
	                                           WS_KIND_PAYLOAD,       WS_KIND_OP_CONFIG,
	                                           WS_KIND_PROCESS,       WS_KIND_COUNTER_SERIES};
	static const enum ws_kind rows[] = {
	        WS_KIND_DEVICE_ATTR,  WS_KIND_KERNEL,     WS_KIND_MEMCPY,        WS_KIND_MEMSET,
	        WS_KIND_GRAPH_LAUNCH, WS_KIND_SYNC,       WS_KIND_GPU_RANGE,     WS_KIND_API,
	        WS_KIND_CPU_OP,       WS_KIND_OVERHEAD,   WS_KIND_PYTHON_CALL,   WS_KIND_FLOW,
	        WS_KIND_MEMORY,       WS_KIND_COUNTER,    WS_KIND_EXTERNAL_LINK, WS_KIND_META,
	        WS_KIND_COLLECTIVE,   WS_KIND_GPU_SAMPLE,
	};
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < sizeof(found_by_id) / sizeof(*found_by_id); i++)
		WS_THEN(status,
		        ws_records_load_by(&ch.kind[found_by_id[i]], r, found_by_id[i], 0, err));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		WS_THEN(status, ws_records_load(&ch.kind[rows[i]], r, rows[i], err));
	WS_THEN(status, ws_recorded_ranges_read(&ch.ranges, r, &ch.m, err));
	if (status == WS_OK) {
		uint64_t key[3];

		WS_CHROME_EACH(&ch, EXTERNAL_LINK, external_link, link)
			add_link(&ch, link->pid, link->correlation, link->external_id);
		WS_NEW(&ch.arena, ch.collective_rows, ch.kind[WS_KIND_COLLECTIVE].n);
		for (size_t i = 0; i < ch.kind[WS_KIND_COLLECTIVE].n; i++) {
			const struct ws_row_collective *c =
			        WS_CHROME_ROW(&ch, COLLECTIVE, collective, i);

			key_of(c->correlation, c->external_id, c->time_ns, key);
			ch.collective_rows[ws_strtab_add(&ch.collectives, key, sizeof(key)) - 1] =
			        i;
		}
		WS_CHROME_EACH(&ch, META, meta, m)
			ch.names_as_recorded |= ws_bytes_begin(m->key, "import.source") &&
			                        ws_bytes_begin(m->value, "PyTorch");
	}
	WS_THEN(status, ws_chrome_collect(&ch, err));
	/* The first drawn time, rounded to a microsecond, because readers round
	 * baseTimeNanoseconds. */
	const int64_t base_ns = ws_trace_reader_summary(ch.r)->base_ns;
	int64_t first_ns, begin_ns;

	if (ch.begin_ns > ch.end_ns)
		ch.begin_ns = ch.end_ns = 0;
	if (!__builtin_add_overflow(base_ns, ch.begin_ns, &first_ns) &&
	    !__builtin_sub_overflow(ch.begin_ns, (first_ns % 1000 + 1000) % 1000, &begin_ns))
		ch.begin_ns = begin_ns;
	stats->dangling = ch.ranges.dangling;
	WS_THEN(status, put_file(&ch, f, err));
	for (size_t i = 0; i < WS_KIND_END; i++)
		ws_records_free(&ch.kind[i]);
	ws_recorded_ranges_free(&ch.ranges);
	ws_model_free(ch.m);
	ws_strtab_free(&ch.links);
	ws_strtab_free(&ch.collectives);
	ws_map_free(&ch.collectives_told);
	free(ch.external_ids);
	free(ch.open_ops);
	ws_strtab_free(&ch.track_keys);
	ws_map_free(&ch.json_pids);
	free(ch.track);
	ws_spill_close(&ch.slices);
	ws_spill_close(&ch.launches);
	ws_arena_free(&ch.arena);
	return status;
}

/* --- the exporters --------------------------------------------------------------------------- */

enum ws_status ws_chrome_write(const struct ws_chrome_form *form, const struct ws_trace_reader *r,
                               const struct ws_export_job *job, struct ws_export_stats *stats,
                               struct ws_err *err)
{
	const size_t len = strlen(job->to);
	enum ws_status status = WS_OK;
	struct ws_outfile out;
	struct ws_err cause;
	FILE *gz = NULL;

	WS_FORWARD(ws_outfile_open(&out, job->to, err));
	if (len > 3 && !strcasecmp(job->to + len - 3, ".gz"))
		status = ws_export_gzip_open(&gz, out.f, &cause);
	WS_THEN(status, ws_export_timeline(form, r, gz ? gz : out.f, job->opts, stats, &cause));
	if (gz && ws_stream_close(gz) != 0 && status == WS_OK)
		status = WS_FAIL(&cause, IO_WRITE, "%s", strerror(errno));
	return ws_outfile_end(&out, status, &cause, err);
}

static enum ws_status write_json(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                 struct ws_export_stats *stats, struct ws_err *err)
{
	return ws_chrome_write(&ws_chrome_json, r, job, stats, err);
}

const struct ws_exporter ws_exporter_json = {
        .name = "json",
        .extensions = {".json", ".json.gz"},
        .write = write_json,
};
