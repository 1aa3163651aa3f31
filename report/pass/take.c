/* Error messages for a block whose rows cannot be joined. */

#include "formats/codec/block.h"
#include "report/pass/private.h"

/* The kind of a row, also in a block of two kinds. */
static enum ws_kind kind_of(const struct ws_block_rows *b, uint32_t i)
{
	if (b->info.kind != WS_KIND_THREAD_EVENT)
		return (enum ws_kind)b->info.kind;
	return ws_block_value(b, WS_COL_thread_event_type, i) == WS_THREAD_EVENT_API ? WS_KIND_API
	                                                                             : WS_KIND_NVTX;
}

/* Returns CORRUPT for row i of a block, whose time is before that in the block's header, out of
 * bounds, or too long. Same messages as ws_trace_check_file and ws_check_time. */
static enum ws_status pass_refuse_time(const struct ws_pass *p, const struct ws_block_rows *b,
                                       uint32_t block, uint32_t i, int64_t dur_ns,
                                       struct ws_err *err)
{
	static const char *const what[WS_KIND_END] = {[WS_KIND_KERNEL] = "kernel",
	                                              [WS_KIND_API] = "API call",
	                                              [WS_KIND_NVTX] = "NVTX event"};
	const struct ws_block_info *info = &b->info;
	const int64_t *times = (const int64_t *)b->v[ws_schema_kind(info->kind)->time_column];
	const enum ws_kind kind = kind_of(b, i);
	const char *name = what[kind];
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	uint64_t row = 0; /* its number among the rows of its kind in the file */
	char label[WS_BLOCK_LABEL_BYTES];

	for (uint32_t before = 0; before < block; before++) {
		const struct ws_block_info *other = ws_trace_reader_block(p->l.r, before);

		row += other->kind == kind ? other->rows : 0;
	}
	for (uint32_t before = 0; before < i; before++)
		row += kind_of(b, before) == kind;

	if (!times) /* not requested */
		return WS_FAIL(err, CORRUPT,
		               "time of %s %" PRIu64 " is out of bounds: it takes %" PRId64 " ns",
		               name, row, dur_ns);
	if (times[i] >= info->time_min_ns)
		return ws_check_time(times[i], dur_ns, name, row, err);
	for (uint32_t k = 0; k < info->rows; k++) {
		least = times[k] < least ? times[k] : least;
		greatest = times[k] > greatest ? times[k] : greatest;
	}
	return WS_FAIL(err, CORRUPT,
	               "%s: its header says times %" PRId64 " to %" PRId64
	               " ns, its rows have %" PRId64 " to %" PRId64,
	               ws_block_label(label, info->kind, info->offset), info->time_min_ns,
	               info->time_max_ns, least, greatest);
}

/* The same for a block whose number of calls differs from its header. */
static enum ws_status pass_refuse_calls(const struct ws_block_rows *b, uint32_t ncalls,
                                        struct ws_err *err)
{
	char label[WS_BLOCK_LABEL_BYTES];

	return WS_FAIL(err, CORRUPT, "%s: %" PRIu32 " rows are api rows, its header says %" PRIu32,
	               ws_block_label(label, b->info.kind, b->info.offset), ncalls,
	               b->info.api_rows);
}

/* --- waiting rows, in order of time ----------------------------------------------------------- */

void *ws_pass_rows_reserve(struct ws_pass_rows *r, size_t n)
{
	if (r->first) {
		memmove(r->rows, r->rows + r->first * r->row_size, (r->n - r->first) * r->row_size);
		r->n -= r->first;
		r->first = 0;
	}
	if (r->n + n > r->capacity) {
		/* few rows wait, so capacity is not doubled */
		size_t want = r->n + n + r->n / 2;

		r->rows = ws_xreallocarray(r->rows, want, r->row_size);
		r->capacity = want;
	}
	return r->rows + r->n * r->row_size;
}

/* Up to this many waiting rows are inserted one by one in front of new rows; more are merged. */
#define IN_FRONT 1024u

void *ws_pass_rows_begin(struct ws_pass_rows *r, size_t row_size, size_t n)
{
	r->capacity = r->row_size ? r->capacity * r->row_size / row_size : 0;
	r->row_size = row_size;
	r->first = r->n = 0;
	r->unsorted = 0;
	uint8_t *rows = ws_pass_rows_reserve(r, n + IN_FRONT);
	r->first = r->n = IN_FRONT;
	return rows + IN_FRONT * row_size;
}

static inline struct ws_pass_when time_of_row(const uint8_t *row)
{
	return (struct ws_pass_when){(int64_t)ws_load_u64(row), ws_load_u64(row + sizeof(int64_t))};
}

void ws_pass_rows_filled(struct ws_pass_rows *r, size_t n, bool unsorted)
{
	const uint8_t *row = r->rows + r->n * r->row_size;

	r->unsorted |=
	        unsorted || (r->n > r->first && n &&
	                     ws_pass_is_before(time_of_row(row), time_of_row(row - r->row_size)));
	r->n += n;
}

/* Sorts rows that are nearly sorted; false if that needs many moves. */
static bool sort_nearly_sorted(struct ws_pass_rows *r)
{
	const size_t size = r->row_size;
	uint8_t *first = r->rows + r->first * size, *end = r->rows + r->n * size;
	union { /* the rows that are sorted */
		struct ws_pass_row event;
		struct ws_pass_kernel kernel;
	} late;
	size_t moves = 16 * (r->n - r->first);

	for (uint8_t *row = first + size; row < end; row += size) {
		struct ws_pass_when when = time_of_row(row);
		uint8_t *to = row;

		while (to > first && moves && ws_pass_is_before(when, time_of_row(to - size))) {
			to -= size;
			moves--;
		}
		if (!moves)
			return false;
		if (to == row)
			continue;
		memcpy(&late, row, size);
		memmove(to + size, to, (size_t)(row - to));
		memcpy(to, &late, size);
	}
	return true;
}

void ws_pass_rows_sort(struct ws_pass_rows *r)
{
	size_t n = r->n - r->first;

	if (!r->unsorted) /* the list may be empty */
		return;
	uint8_t *from = r->rows + r->first * r->row_size;
	if (sort_nearly_sorted(r)) {
		r->unsorted = 0;
		return;
	}
	uint32_t *order = ws_xarray(n, sizeof(*order));
	int64_t *key = ws_xarray(n, sizeof(*key));
	uint8_t *sorted = ws_xmalloc(r->capacity * r->row_size);
	ws_order_identity(order, n);
	for (size_t i = 0; i < n; i++)
		key[i] = (int64_t)time_of_row(from + i * r->row_size).position;
	ws_order_by(order, key, n);
	for (size_t i = 0; i < n; i++)
		key[i] = time_of_row(from + i * r->row_size).time_ns;
	ws_order_by(order, key, n);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * r->row_size, from + order[i] * r->row_size, r->row_size);
	free(r->rows);
	r->rows = sorted;
	r->first = 0;
	r->n = n;
	r->unsorted = 0;
	free(order);
	free(key);
}

void ws_pass_rows_merge(struct ws_pass_rows *waiting, struct ws_pass_rows *more)
{
	ws_pass_rows_sort(waiting);
	struct ws_pass_rows was = *waiting;
	if (waiting->n - waiting->first > more->first) {
		ws_pass_rows_reserve(waiting, more->n - more->first);

		/* … and merges `more` into `waiting`, beginning at the end. */
		const size_t size = more->row_size;
		const uint8_t *a = waiting->rows + waiting->first * size;
		const uint8_t *a_end = waiting->rows + waiting->n * size;
		const uint8_t *b = more->rows + more->first * size,
		              *b_end = more->rows + more->n * size;
		uint8_t *to = waiting->rows + (waiting->n + more->n - more->first) * size;

		while (b < b_end) {
			const bool later =
			        a < a_end && ws_pass_is_before(time_of_row(b_end - size),
			                                       time_of_row(a_end - size));

			to -= size;
			*(later ? &a_end : &b_end) -= size;
			memcpy(to, later ? a_end : b_end, size);
		}
		waiting->n += more->n - more->first;
		return;
	}
	if (waiting->first < waiting->n) {
		/* Both are sorted. The few rows of `waiting` are placed before `more`, whose
		 * smaller rows then move before them. If `waiting` is empty, there may be no room
		 * before `more`. */
		const size_t size = more->row_size, n = waiting->n - waiting->first;
		const uint8_t *a = waiting->rows + waiting->first * size, *a_end = a + n * size;
		const uint8_t *b = more->rows + more->first * size,
		              *b_end = more->rows + more->n * size;
		uint8_t *to = more->rows + (more->first - n) * size;

		for (; a < a_end; to += size) {
			const bool later =
			        b < b_end && ws_pass_is_before(time_of_row(b), time_of_row(a));

			memcpy(to, later ? b : a, size);
			*(later ? &b : &a) += size;
		}
		more->first -= n;
	}
	*waiting = *more;
	*more = was;
}

/* --- from rows of blocks to rows of the join -------------------------------------------------- */

static uint32_t config_of(const struct ws_pass *p, uint64_t id)
{
	uint32_t config = ws_idmap_get(&p->l.config_of, id);

	return config == WS_NONE ? 0 : config;
}

/* Is the time in bounds and not before that in the header of the block? Earlier rows were joined by
 * the latter. */
static inline bool is_valid_time(const struct ws_block_rows *b, int64_t start_ns)
{
	return start_ns >= b->info.time_min_ns && start_ns <= WS_MAX_TIME_NS &&
	       start_ns >= -WS_MAX_TIME_NS;
}

/* 0 for a column that was not requested. */
static inline uint64_t value_of(const struct ws_block_rows *b, unsigned at, uint32_t i)
{
	return b->v[at] ? ws_block_value(b, at, i) : 0;
}

/* --- rows -------------------------------------------------------------------------------- */

/* The target of the framework's link for this id; WS_NONE. */
static inline uint32_t linked(const struct ws_idmap *of, uint64_t correlation)
{
	return of->map.n && correlation ? ws_idmap_get(of, correlation) : WS_NONE;
}

enum ws_status ws_pass_take_kernels(struct ws_pass *p, const struct ws_block_rows *b,
                                    uint32_t block, struct ws_err *err)
{
	const uint64_t *starts = b->v[WS_COL_kernel_start_ns], *durs = b->v[WS_COL_kernel_dur_ns];
	struct ws_pass_kernel *k = ws_pass_rows_begin(&p->taken, sizeof(*k), b->info.rows);
	int64_t before_ns = INT64_MIN;
	bool unsorted = false;

	if (b->token)
		WS_GROW(p->config_of_token, b->ntokens, p->configs_capacity);
	for (uint32_t t = 0; b->by_token >> WS_COL_kernel_config & 1 && t < b->ntokens; t++)
		p->config_of_token[t] = config_of(p, b->v[WS_COL_kernel_config][t]);
	for (uint32_t i = 0; i < b->info.rows; i++, k++) {
		const uint64_t flags = value_of(b, WS_COL_kernel_flags, i);
		const uint64_t id = value_of(b, WS_COL_kernel_correlation, i);
		int64_t dur = (int64_t)durs[i];

		k->start_ns = starts ? (int64_t)starts[i] : b->info.time_min_ns;
		k->correlation = id;
		k->position = ws_pass_at(block, i);
		k->config = b->by_token >> WS_COL_kernel_config & 1
		                    ? p->config_of_token[b->token[i]]
		                    : config_of(p, b->v[WS_COL_kernel_config][i]);
		k->cpu_op = linked(&p->framework.op_of, id);
		k->collective = linked(&p->framework.collective_of, id);
		k->graph_node = value_of(b, WS_COL_kernel_graph_node, i);
		k->timed = p->has_dur && !(flags & WS_KERNEL_NO_TIME) && dur >= 0;
		k->cut_off = (flags & WS_KERNEL_CUT_OFF) != 0;
		k->dur_ns = k->timed ? dur : 0;
		unsorted |= k->start_ns < before_ns;
		before_ns = k->start_ns;
		if (k->start_ns < b->info.time_min_ns ||
		    (k->timed && (!is_valid_time(b, k->start_ns) || dur > WS_MAX_TIME_NS)))
			return pass_refuse_time(p, b, block, i, k->dur_ns, err);
		if (!k->timed)
			continue;
		WS_FAIL_IF(__builtin_add_overflow(p->kernel_ns, dur, &p->kernel_ns), err, CORRUPT,
		           "the kernels' times add up to over 2^63 ns");
		ws_pass_see_time(p, k->start_ns, k->start_ns + dur);
	}
	ws_pass_rows_filled(&p->taken, b->info.rows, unsorted);
	ws_pass_rows_sort(&p->taken);
	return WS_OK;
}

/* --- calls and events --------------------------------------------------------------------- */

/* UINT32_MAX for an undefined type. */
static inline uint32_t type_of(uint64_t type)
{
	return type <= WS_THREAD_EVENT_API ? (uint32_t)type : UINT32_MAX;
}

/* Fills the description of row i of a block, and its recorded name. */
static void describe(struct ws_pass *p, const struct ws_block_rows *b, uint32_t i,
                     struct ws_pass_row *row)
{
	const uint64_t payload = value_of(b, WS_COL_thread_event_payload, i);
	struct ws_event_descriptor s = {.type = type_of(value_of(b, WS_COL_thread_event_type, i)),
	                                .payload = WS_NONE};

	s.thread = ws_thread_number(&p->l, value_of(b, WS_COL_thread_event_thread, i), 0);
	s.process = p->m->threads[s.thread].process;
	if (s.type == WS_THREAD_EVENT_API)
		s.failed = value_of(b, WS_COL_thread_event_result, i) != 0;
	else
		s.domain = ws_model_text(p->m, value_of(b, WS_COL_thread_event_domain, i));
	/* pops have neither */
	if (s.type != WS_NVTX_POP) {
		s.name = ws_model_text(p->m, value_of(b, WS_COL_thread_event_name, i));
		s.payload = payload ? ws_idmap_get(&p->l.payload_of, payload) : WS_NONE;
	}
	if (s.type == WS_NVTX_PUSH || s.type == WS_NVTX_START)
		s.collective = ws_collective_begun(p->m, s.payload, s.name) + 1;
	row->recorded = s.name;
	if (s.type < WS_NVTX_MARK)
		s.name = p->m->steady_of[s.name];
	if (p->recorded) {
		/* For exports: all recorded values of an event except time and range, by number. */
		struct ws_recorded_ranges *to = p->recorded;
		const struct ws_recorded_event e = {
		        .type = value_of(b, WS_COL_thread_event_type, i),
		        .thread = value_of(b, WS_COL_thread_event_thread, i),
		        .domain = value_of(b, WS_COL_thread_event_domain, i),
		        .name = value_of(b, WS_COL_thread_event_name, i),
		        .category = value_of(b, WS_COL_thread_event_category, i),
		        .color = value_of(b, WS_COL_thread_event_color, i),
		        .payload = value_of(b, WS_COL_thread_event_payload, i),
		};

		uint64_t known = ws_strtab_add(&p->recorded_of, &e, sizeof(e));
		row->recorded = (uint32_t)(known - 1);
		if (row->recorded >= to->nevents) {
			WS_GROW(to->events, to->nevents + 1, to->events_capacity);
			to->events[to->nevents++] = e;
		}
	}
	row->description = s;
}

#define DESCRIBING                                                            \
	(WS_COLUMN(thread_event, thread) | WS_COLUMN(thread_event, type) |    \
	 WS_COLUMN(thread_event, domain) | WS_COLUMN(thread_event, name) |    \
	 WS_COLUMN(thread_event, category) | WS_COLUMN(thread_event, color) | \
	 WS_COLUMN(thread_event, payload) | WS_COLUMN(thread_event, result))

/* Call before describe_row. */
static void begin_block(struct ws_pass *p, const struct ws_block_rows *b)
{
	ws_column_set per_row = 0;

	for (unsigned c = 0; c < 64; c++)
		per_row |= b->v[c] ? (ws_column_set)1 << c & ~b->by_token : 0;
	p->by_token = b->token && !(per_row & DESCRIBING);
	if (!p->by_token)
		return;
	WS_GROW(p->described, b->ntokens, p->described_capacity);
	memset(p->described, 0, b->ntokens * sizeof(*p->described));
}

/* Returns the type of row i. Copies its description to the row if the type is `from` or higher:
 * rows of one token share a description. */
static inline uint32_t describe_row(struct ws_pass *p, const struct ws_block_rows *b, uint32_t i,
                                    uint32_t from, struct ws_pass_row *row)
{
	if (!p->by_token) {
		describe(p, b, i, row);
		return row->description.type;
	}
	struct ws_pass_row *shared = &p->described[b->token[i]];
	if (!shared->id)
		describe(p, b, i, shared);
	shared->id = 1;
	if (shared->description.type >= from) {
		row->recorded = shared->recorded;
		row->description = shared->description;
	}
	return shared->description.type;
}

/* Fills the other members of a row, unless it is a push or pop. *keep: whether it is joined. */
static enum ws_status take_row(struct ws_pass *p, const struct ws_block_rows *b, uint32_t i,
                               struct ws_pass_row *row, bool *keep, struct ws_err *err)
{
	const struct ws_event_descriptor *d = &row->description;
	const uint32_t block = (uint32_t)(row->position >> 16);
	int64_t dur = 0;

	*keep = d->type < WS_NVTX_MARK || d->type == WS_THREAD_EVENT_API;
	if (d->type == WS_THREAD_EVENT_API)
		dur = (int64_t)b->v[WS_COL_thread_event_dur_ns][i];
	dur = dur < 0 ? 0 : dur;
	if (!is_valid_time(b, row->time_ns) || dur > WS_MAX_TIME_NS)
		return pass_refuse_time(p, b, block, i, dur, err);
	ws_pass_see_time(p, row->time_ns, row->time_ns + dur);
	switch (d->type) {
	case WS_NVTX_START:
	case WS_NVTX_END:
		row->id = value_of(b, WS_COL_thread_event_range, i);
		return WS_OK;
	case WS_NVTX_MARK:
		if (d->domain == WS_TEXT_DOMAIN) {
			WS_GROW(p->marks, p->nmarks + 1, p->marks_capacity);
			p->marks[p->nmarks++] = (struct ws_pass_mark){row->position, d->name};
		}
		return WS_OK;
	case WS_THREAD_EVENT_API:
		row->start_ns = row->time_ns;
		row->time_ns += dur;
		row->id = value_of(b, WS_COL_thread_event_correlation, i);
		row->position |= WS_PASS_AT_CALL;
		return WS_OK;
	default:
		return WS_OK;
	}
}

/* Checks the times of pushes and pops of a block, which were taken without checks. */
static enum ws_status check_times(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                  const struct ws_pass_row *rows, size_t n, bool unsorted,
                                  struct ws_err *err)
{
	if (!n)
		return WS_OK;
	int64_t first_ns = rows[0].time_ns;
	int64_t last_ns = rows[n - 1].time_ns;
	for (size_t i = 0; i < n && unsorted; i++) {
		first_ns = rows[i].time_ns < first_ns ? rows[i].time_ns : first_ns;
		last_ns = rows[i].time_ns > last_ns ? rows[i].time_ns : last_ns;
	}
	ws_pass_see_time(p, first_ns, last_ns);
	if (is_valid_time(b, first_ns) && is_valid_time(b, last_ns))
		return WS_OK;
	/* a call may begin in bounds and end out of them */
	for (size_t i = 0; i < n; i++)
		if (!(rows[i].position & WS_PASS_AT_CALL) && !is_valid_time(b, rows[i].time_ns))
			return pass_refuse_time(p, b, block, (uint16_t)rows[i].position, 0, err);
	return WS_OK;
}

enum ws_status ws_pass_take_thread_rows(struct ws_pass *p, const struct ws_block_rows *b,
                                        uint32_t block, struct ws_err *err)
{
	const uint64_t *times = b->v[WS_COL_thread_event_time_ns]; /* NULL for kernels */
	const uint32_t n = b->info.rows;
	uint32_t ncalls = 0;
	struct ws_pass_row *row = ws_pass_rows_begin(&p->taken, sizeof(*row), n), *first = row;
	int64_t before_ns = INT64_MIN,
	        call_ns = INT64_MIN; /* of the last row, and of the last call */
	bool unsorted = false, keep;
	const uint32_t from = p->joins ? WS_NVTX_PUSH : WS_NVTX_START; /* without joins no ranges */

	begin_block(p, b);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t type = describe_row(p, b, i, from, row);

		if (type < from)
			continue;
		row->time_ns = times ? (int64_t)times[i] : b->info.time_min_ns;
		row->position = ws_pass_at(block, i);
		if (type == WS_NVTX_PUSH || type == WS_NVTX_POP) {
			unsorted |= (row->time_ns < before_ns) | (row->time_ns == call_ns);
			before_ns = row++->time_ns;
			continue;
		}
		bool is_call = type == WS_THREAD_EVENT_API;
		WS_FORWARD(take_row(p, b, i, row, &keep, err));
		ncalls += is_call;
		if (!keep)
			continue;
		unsorted |= (row->time_ns < before_ns) | (row->time_ns == call_ns && !is_call);
		before_ns = row->time_ns;
		call_ns = is_call ? row->time_ns : call_ns;
		row++;
	}
	if (ncalls != b->info.api_rows)
		return pass_refuse_calls(b, ncalls, err);
	if (times)
		WS_FORWARD(check_times(p, b, block, first, (size_t)(row - first), unsorted, err));
	ws_pass_rows_filled(&p->taken, (size_t)(row - first), unsorted && p->joins);
	ws_pass_rows_sort(&p->taken);
	return WS_OK;
}

enum ws_status ws_pass_take_events(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                   struct ws_pass_rows *to, struct ws_err *err)
{
	const uint32_t last_type = p->recorded ? WS_NVTX_MARK : WS_NVTX_END;
	const int64_t *times = (const int64_t *)b->v[WS_COL_thread_event_time_ns];
	struct ws_pass_row *row = ws_pass_rows_reserve(to, b->info.rows), *first = row;
	uint32_t ncalls = 0;

	begin_block(p, b);
	for (uint32_t i = 0; i < b->info.rows; i++) {
		describe_row(p, b, i, WS_NVTX_PUSH, row);
		ncalls += row->description.type == WS_THREAD_EVENT_API;
		ws_pass_see_time(p, times[i], times[i]);
		if (row->description.type > last_type)
			continue;
		if (times[i] < b->info.time_min_ns)
			return pass_refuse_time(p, b, block, i, 0, err);
		row->time_ns = times[i];
		row->position = ws_pass_at(block, i);
		row++->id = value_of(b, WS_COL_thread_event_range, i);
	}
	if (ncalls != b->info.api_rows)
		return pass_refuse_calls(b, ncalls, err);
	ws_pass_rows_filled(to, (size_t)(row - first), true);
	return WS_OK;
}

void ws_pass_look_for_crossings(struct ws_pass *p, const struct ws_block_rows *b,
                                struct ws_idmap *domain_of, bool *found)
{
	uint64_t last_thread = 0, last_domain = 0;
	bool is_first = true;

	for (uint32_t i = 0; i < b->info.rows && !*found; i++) {
		const uint32_t type = type_of(value_of(b, WS_COL_thread_event_type, i));

		*found = type == WS_NVTX_START;
		if (type != WS_NVTX_PUSH)
			continue;
		uint64_t thread_id = value_of(b, WS_COL_thread_event_thread, i);
		uint64_t domain_id = value_of(b, WS_COL_thread_event_domain, i);
		if (!is_first && thread_id == last_thread && domain_id == last_domain)
			continue;
		is_first = false;
		last_thread = thread_id;
		last_domain = domain_id;
		uint32_t domain = ws_model_text(p->m, domain_id);
		uint32_t thread = ws_thread_number(&p->l, thread_id, 0);
		uint32_t known = ws_idmap_get(domain_of, thread);
		*found = known != WS_NONE && known != domain;
		if (known == WS_NONE)
			ws_idmap_put(domain_of, thread, domain);
	}
}

/* Times out of bounds are reported when rows are taken. */
static enum ws_status see_times(void *pass, const struct ws_block_rows *b, uint32_t block,
                                int64_t until_ns, struct ws_err *err)
{
	const bool kernels = b->info.kind == WS_KIND_KERNEL;
	const int64_t *start =
	        (int64_t *)b->v[kernels ? WS_COL_kernel_start_ns : WS_COL_thread_event_time_ns];
	const int64_t *dur =
	        (int64_t *)b->v[kernels ? WS_COL_kernel_dur_ns : WS_COL_thread_event_dur_ns];
	struct ws_pass *p = pass;

	(void)block, (void)until_ns, (void)err;
	for (uint32_t i = 0; i < b->info.rows; i++) {
		const int64_t lasts = dur[i] > 0 ? dur[i] : 0;

		if (kernels && (!p->has_dur || dur[i] < 0 ||
		                ws_block_value(b, WS_COL_kernel_flags, i) & WS_KERNEL_NO_TIME))
			continue;
		if (start[i] <= WS_MAX_TIME_NS && lasts <= WS_MAX_TIME_NS)
			ws_pass_see_time(p, start[i], start[i] + lasts);
	}
	return WS_OK;
}

enum ws_status ws_pass_see_times(struct ws_pass *p, bool of_calls, struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_KERNEL] = WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, dur_ns) |
	                           WS_COLUMN(kernel, flags),
	        [WS_KIND_API] = of_calls ? WS_COLUMN(api, start_ns) | WS_COLUMN(api, dur_ns) : 0,
	};

	return ws_feed_each(p->l.r, columns, see_times, p, err);
}
