#include "formats/schema/nvtx_number.h"
#include "kernels/nvtx/abi.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/drain/private.h"

void ws_capture_window_init(struct ws_capture_window *w, int64_t begin_ns, int64_t duration_ns,
                            int has_ranges)
{
	*w = (struct ws_capture_window){
	        .begin_ns = begin_ns,
	        .end_ns = INT64_MAX,
	        .has_ranges = has_ranges,
	};
	if (duration_ns > 0 && begin_ns < INT64_MAX - duration_ns)
		w->end_ns = begin_ns + duration_ns;
}

void ws_capture_window_release(struct ws_capture_window *w)
{
	free(w->ranges);
	w->ranges = NULL;
	w->nranges = w->size = 0;
}

void ws_window_stop(struct ws_capture_window *w, int64_t time_ns)
{
	if (time_ns < w->end_ns)
		w->end_ns = time_ns;
}

void ws_capture_window_begin_range(struct ws_capture_window *w, int64_t time_ns)
{
	if (w->open++)
		return;
	/* a thread's clock was read a little before another thread's range ended */
	if (w->nranges && time_ns <= w->ranges[w->nranges - 1].end_ns) {
		w->ranges[w->nranges - 1].end_ns = INT64_MAX;
		return;
	}
	WS_GROW(w->ranges, w->nranges + 1, w->size);
	w->ranges[w->nranges++] = (struct ws_capture_window_range){time_ns, INT64_MAX};
}

void ws_capture_window_end_range(struct ws_capture_window *w, int64_t time_ns)
{
	struct ws_capture_window_range *last = w->nranges ? &w->ranges[w->nranges - 1] : NULL;

	if (!w->open || --w->open || !last)
		return;
	last->end_ns = time_ns > last->begin_ns ? time_ns : last->begin_ns;
}

bool ws_capture_window_keeps(const struct ws_capture_window *w, int64_t start_ns, int64_t end_ns)
{
	size_t i;

	if (start_ns < w->begin_ns)
		start_ns = w->begin_ns;
	if (end_ns > w->end_ns)
		end_ns = w->end_ns;
	if (start_ns > end_ns)
		return 0;
	if (!w->has_ranges)
		return 1;
	/* the first range that ends at this time or later */
	WS_COUNT_FIRST(i, w->nranges, w->ranges[i].end_ns < start_ns);
	return i < w->nranges && w->ranges[i].begin_ns <= end_ns;
}

/* --- events --- */

/* Turns records of the rings into rows of the trace if the window keeps them. */

#define CPU_DEVICE 0 /* id of the only device of the CPU backend */

/* A record whose parts were checked to be inside it. */
struct event {
	struct ws_rec_event rec;
	struct ws_bytes text;
	struct ws_bytes payload;
};

/* Copies the fixed part of a record, because the program can still change the original. The missing
 * fields of a short pop are 0. False: the record has no fixed part. */
static bool record_head(struct ws_rec_event *rec, const uint8_t *bytes, uint32_t size)
{
	struct ws_rec_pop pop;

	if (size >= sizeof(rec->head)) {
		*rec = (struct ws_rec_event){0};
		memcpy(&rec->head, bytes, sizeof(rec->head));
		if (rec->head.type == WS_REC_SAMPLE)
			return 1;
	}
	if (size >= sizeof(*rec)) {
		memcpy(rec, bytes, sizeof(*rec));
		return 1;
	}
	if (size != sizeof(pop))
		return 0;
	memcpy(&pop, bytes, sizeof(pop));
	*rec = (struct ws_rec_event){.head = pop.head, .domain = pop.domain};
	return pop.head.type == WS_REC_POP;
}

static bool parse(struct event *ev, const uint8_t *bytes, uint32_t size)
{
	const struct ws_rec_event *rec = &ev->rec;
	uint64_t need;

	if (!record_head(&ev->rec, bytes, size))
		return 0;
	ev->text = ev->payload = (struct ws_bytes){0};
	if (size < sizeof(*rec))
		return 1;
	if (rec->text_size > WS_MAX_TEXT || rec->payload_size > size)
		return 0;
	need = sizeof(*rec) + WS_ALIGN8(rec->text_size) + WS_ALIGN8((uint64_t)rec->payload_size);
	if (need != size)
		return 0;
	ev->text = (struct ws_bytes){bytes + sizeof(*rec), rec->text_size};
	ev->payload = (struct ws_bytes){bytes + sizeof(*rec) + WS_ALIGN8(rec->text_size),
	                                rec->payload_size};
	return 1;
}

static uint64_t payload_id(struct ws_drain *d, const struct event *ev)
{
	uint64_t id = 0;

	if (ev->rec.schema)
		(void)ws_trace_writer_intern_payload(d->writer, ev->rec.schema, ev->payload.ptr,
		                                     ev->payload.len, &id, NULL);
	return id;
}

/* String row of the message: registered or inline. */
static uint64_t message_id(struct ws_drain *d, const struct event *ev, int *known)
{
	if (ev->rec.string)
		return ws_drain_string_id(d, ev->rec.string, known);
	*known = 1;
	return ws_drain_intern(d, ev->text);
}

/* --- open ranges, for a flight recording --- */

static void forget_range(struct ws_open_ranges *list, size_t i)
{
	list->n--;
	memmove(list->rows + i, list->rows + i + 1, (list->n - i) * sizeof(*list->rows));
}

/* The text of an event's message. */
static struct ws_bytes message_text(const struct ws_drain *d, const struct event *ev)
{
	const uint64_t at = (uint64_t)(ev->rec.string - 1) * 8;
	const uint8_t *def = ws_seg_defs(d->seg) + at;
	struct ws_def_head head;

	if (!ev->rec.string)
		return ev->text;
	memcpy(&head, def, sizeof(head)); /* the caller has found the string */
	if (head.body_size > d->seg->defs_size - at - sizeof(head))
		head.body_size = 0;
	return (struct ws_bytes){def + sizeof(head), head.body_size};
}

/* Of programs that report/model/ranges.c knows, too. */
static bool is_step(struct ws_bytes text)
{
	static const char pytorch[] = "ProfilerStep#";

	return ws_bytes_is(text, "step") || ws_bytes_is(text, "[pl][profile]run_training_batch") ||
	       (text.len >= sizeof(pytorch) && !memcmp(text.ptr, pytorch, sizeof(pytorch) - 1));
}

static void add_step(struct ws_watch *w, const struct ws_drain_step *step)
{
	if (w->ntaken == w->nended)
		w->ntaken = w->nended = 0;
	WS_GROW(w->steps, w->nended + 1, w->capacity);
	w->steps[w->nended++] = *step;
}

/* A period of PyTorch is a step where no range names the steps: of the first thread that has one,
 * and once the next one follows, as what comes after the last step of a program looks like a
 * period, too. */
static void watch_period(struct ws_watch *w, const struct ws_row_op_period *row)
{
	if (!w->is_watching || w->has_steps ||
	    (w->period_thread && w->period_thread != row->thread))
		return;
	w->period_thread = row->thread;
	if (w->has_period)
		add_step(w, &(struct ws_drain_step){w->period_thread, w->nperiods++,
		                                    w->period_start_ns,
		                                    w->period_end_ns - w->period_start_ns});
	w->has_period = row->part != WS_OP_PERIOD_BEGIN;
	if (row->part != WS_OP_PERIOD_REST || !w->has_begin)
		w->period_start_ns = row->start_ns;
	w->has_begin = !w->has_period;
	w->period_end_ns = row->start_ns + row->dur_ns;
}

bool ws_drain_take_step(struct ws_drain *d, struct ws_drain_step *out)
{
	struct ws_watch *w = &d->watch;

	if (w->ntaken == w->nended)
		return false;
	*out = w->steps[w->ntaken++];
	return true;
}

/* An event was written: keep the list of open ranges. */
static void watch(struct ws_drain *d, const struct ws_row_nvtx *row, const struct event *ev)
{
	const bool is_start = row->type == WS_NVTX_START || row->type == WS_NVTX_END;
	struct ws_drain_thread *thread = ws_drain_thread(d, row->thread);
	struct ws_open_ranges *list = is_start ? &d->watch.starts : &thread->open;

	if (!d->watch.is_watching || row->type == WS_NVTX_MARK)
		return;
	if (row->type == WS_NVTX_PUSH || row->type == WS_NVTX_START) {
		/* more open ranges are an error of the program: their ends remain without begin */
		if (list->n == WS_WATCH_MAX_OPEN)
			return;
		WS_GROW(list->rows, list->n + 1, list->capacity);
		list->rows[list->n++] = *row;
		if (row->type == WS_NVTX_PUSH && is_step(message_text(d, ev))) {
			d->watch.has_steps = thread->has_step = true;
			thread->step_start_ns = row->time_ns;
		}
		return;
	}
	for (size_t i = list->n; i--;)
		if (is_start ? list->rows[i].range == row->range
		             : list->rows[i].domain == row->domain) {
			if (!is_start && thread->has_step &&
			    list->rows[i].time_ns == thread->step_start_ns) {
				add_step(&d->watch,
				         &(struct ws_drain_step){row->thread, thread->nsteps++,
				                                 thread->step_start_ns,
				                                 row->time_ns -
				                                         thread->step_start_ns});
				thread->has_step = false;
			}
			forget_range(list, i);
			return;
		}
}

static bool add_nvtx(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const uint8_t types[] = {
	        [WS_REC_PUSH] = WS_NVTX_PUSH,   [WS_REC_POP] = WS_NVTX_POP,
	        [WS_REC_START] = WS_NVTX_START, [WS_REC_END] = WS_NVTX_END,
	        [WS_REC_MARK] = WS_NVTX_MARK,
	};
	const struct ws_rec_event *rec = &ev->rec;
	int domain_known, name_known;
	struct ws_row_nvtx row = {
	        .thread = thread,
	        .type = types[rec->head.type],
	        .domain = ws_drain_domain_id(d, rec->domain, &domain_known),
	        .name = message_id(d, ev, &name_known),
	        .range = rec->range,
	        .category = rec->category,
	        .color = rec->color,
	};

	if (!domain_known || !name_known || !ws_drain_time(d, rec->head.time_ns, &row.time_ns))
		return 0;
	row.payload = payload_id(d, ev);
	ws_drain_add(d, WS_KIND_NVTX, &row);
	watch(d, &row, ev);
	if (row.type == WS_NVTX_PUSH || row.type == WS_NVTX_START)
		d->counts.ranges++;
	else if (row.type == WS_NVTX_MARK)
		d->counts.marks++;
	return 1;
}

/* --- kernels of the CPU reference backend --- */

/*
 * The kernel ran inside the call that launched it, on the same thread, so the
 * call and the kernel have the same times.
 */
static bool add_cpu_kernel(struct ws_drain *d, uint32_t thread, const struct event *ev)
{
	static const char api_name[] = "ws_cpu_launch";
	const struct ws_drain_thread *who = ws_drain_thread(d, thread);
	struct ws_row_launch_config config = {.device = CPU_DEVICE, .pid = who->pid};
	struct ws_row_device device = {.id = CPU_DEVICE, .kind = WS_DEVICE_CPU_REFERENCE};
	struct ws_row_api api = {.thread = thread};
	struct ws_row_kernel kernel = {0};
	struct wsnvtx_launch launch;
	bool is_launch = false;
	int known;

	config.name = message_id(d, ev, &known);
	if (!known || !ws_drain_time(d, ev->rec.head.time_ns, &kernel.start_ns) ||
	    !ws_drain_time(d, (int64_t)ev->rec.range, &kernel.dur_ns) ||
	    kernel.dur_ns < kernel.start_ns)
		return 0;
	kernel.dur_ns -= kernel.start_ns;
	for (size_t i = 0; i < d->nlaunch_schemas && ev->payload.len == sizeof(launch); i++)
		is_launch |= d->launch_schemas[i] == ev->rec.schema;
	if (is_launch) {
		memcpy(&launch, ev->payload.ptr, sizeof(launch));
		config.grid_x = launch.grid_x;
		config.grid_y = launch.grid_y;
		config.grid_z = launch.grid_z;
		config.block_x = launch.block_x;
		config.block_y = launch.block_y;
		config.block_z = launch.block_z;
	} else {
		kernel.payload = payload_id(d, ev);
	}
	if (!ws_drain_flag(d, WS_COMMIT_CPU_DEVICE)) {
		device.name = ws_drain_intern(d, ws_bytes_of("CPU reference"));
		ws_drain_add(d, WS_KIND_DEVICE, &device);
		ws_drain_set_flag(d, WS_COMMIT_CPU_DEVICE);
	}
	kernel.config = ws_drain_intern_config(d, &config);
	if (d->seg->capture.api != WS_CAPTURE_NO_API) {
		kernel.correlation = ++d->next_correlation;
		api.start_ns = kernel.start_ns;
		api.dur_ns = kernel.dur_ns;
		api.name = ws_drain_intern(d, (struct ws_bytes){api_name, sizeof(api_name) - 1});
		api.correlation = kernel.correlation;
		ws_drain_add(d, WS_KIND_API, &api);
	}
	ws_drain_add(d, WS_KIND_KERNEL, &kernel);
	d->counts.kernels++;
	return 1;
}

/* --- operations of a framework --- */

static bool add_op(struct ws_drain *d, uint32_t thread, const uint8_t *bytes)
{
	struct ws_row_cpu_op row = {.thread = thread};
	struct ws_rec_op rec;
	int is_known;

	memcpy(&rec, bytes, sizeof(rec));
	if (!rec.config || rec.config > d->seg->defs_size / 8 || rec.end_ns < rec.head.time_ns)
		return 0;
	row.config = d->ops[rec.config - 1];
	row.source = ws_drain_string_id(d, rec.source, &is_known);
	row.sequence = rec.sequence;
	row.forward_thread = rec.forward_thread;
	row.dur_ns = rec.end_ns - rec.head.time_ns;
	if (!row.config || !ws_drain_time(d, rec.head.time_ns, &row.start_ns) ||
	    !ws_drain_time(d, rec.end_ns, &rec.end_ns))
		return 0;
	if (row.config & WS_DRAIN_MODULE) {
		const struct ws_row_python_call call = {
		        .start_ns = row.start_ns,
		        .dur_ns = row.dur_ns,
		        .thread = row.thread,
		        .name = row.config & ~WS_DRAIN_MODULE,
		        .source = row.source,
		};

		/* a module's call, in the form in which PyTorch's profiler records it with_modules,
		 * without a number */
		ws_drain_add(d, WS_KIND_PYTHON_CALL, &call);
		return 1;
	}
	d->counts.operations++;
	ws_drain_add(d, WS_KIND_CPU_OP, &row);

	const uint64_t *place = ws_map_get(&d->collective_of_op, row.config);

	if (place) {
		struct ws_row_collective collective = d->collectives[*place];

		collective.time_ns = row.start_ns;
		collective.pid = ws_drain_thread(d, thread)->pid;
		ws_drain_add(d, WS_KIND_COLLECTIVE, &collective);
	}
	return 1;
}

/* --- nodes of graphs --- */

static bool add_node(struct ws_drain *d, uint32_t thread, const uint8_t *bytes)
{
	struct ws_rec_node rec;

	memcpy(&rec, bytes, sizeof(rec));
	struct ws_row_graph_node row = (struct ws_row_graph_node){
	        .pid = ws_drain_thread(d, thread)->pid,
	        .thread = thread,
	        .node = rec.node,
	        .original = rec.original,
	        .graph = rec.graph,
	};
	if (!rec.node || !ws_drain_time(d, rec.head.time_ns, &row.time_ns))
		return 0;
	ws_drain_add(d, WS_KIND_GRAPH_NODE, &row);
	return 1;
}

/* --- periods of operations --- */

static bool add_op_period(struct ws_drain *d, uint32_t thread, const uint8_t *bytes)
{
	struct ws_row_op_period row = {.thread = thread};
	struct ws_rec_op_period rec;

	memcpy(&rec, bytes, sizeof(rec));
	if (rec.end_ns < rec.head.time_ns || !ws_drain_time(d, rec.head.time_ns, &row.start_ns) ||
	    !ws_drain_time(d, rec.end_ns, &row.dur_ns))
		return 0;
	row.dur_ns -= row.start_ns;
	row.marks = rec.marks;
	row.ops = rec.ops;
	row.part = rec.part;
	row.calibration = rec.calibration;
	watch_period(&d->watch, &row);
	ws_drain_add(d, WS_KIND_OP_PERIOD, &row);
	return 1;
}

/* --- samples of NVTX counters --- */

static void set_real(struct ws_row_counter *row, double value)
{
	row->form = WS_COUNTER_REAL;
	row->real = value;
	row->value = value >= 9.2e18    ? INT64_MAX
	             : value <= -9.2e18 ? INT64_MIN
	             : isnan(value)     ? 0
	                                : llround(value);
}

/* Sets a whole number from its bits. */
static void set_whole(struct ws_row_counter *row, const struct ws_drain_field *f, bool is_signed,
                      uint64_t bits)
{
	const struct ws_nvtx_integer *n = ws_nvtx_integer(f->type);
	const double value = is_signed ? (double)(int64_t)bits : (double)bits;

	if (f->is_normalized)
		set_real(row, value / (ldexp(1, n->bytes * 8 - n->is_signed) - 1));
	else if (is_signed || bits <= INT64_MAX)
		row->value = (int64_t)bits;
	else
		set_real(row, value);
}

/* Sets the value of a field. False: the sample ends before it. */
static bool set_value(struct ws_row_counter *row, const struct ws_drain_field *f,
                      const uint8_t *bytes, size_t len)
{
	const struct ws_nvtx_integer *n = ws_nvtx_integer(f->type);
	uint64_t bits;

	if (f->offset > len || len - f->offset < ws_nvtx_number_size(f->type))
		return 0;
	if (n && ws_nvtx_integer_bits(n, bytes + f->offset, len - f->offset, &bits))
		set_whole(row, f, n->is_signed, bits);
	else
		set_real(row, ws_nvtx_real(f->type, bytes + f->offset));
	return 1;
}

/* A row for each number of a sample. False: it is invalid. */
static bool add_sample(struct ws_drain *d, uint32_t thread, const uint8_t *bytes, uint32_t size)
{
	struct ws_row_counter row = {.thread = thread};
	const struct ws_drain_counter *counter;
	struct ws_rec_sample rec;
	uint64_t bits = 0;
	bool is_whole, is_single;
	double real;

	if (size < sizeof(rec))
		return 0;
	memcpy(&rec, bytes, sizeof(rec));
	const uint64_t *place = ws_map_get(&d->counter_places, rec.counter);
	is_single = rec.head.form == WS_SAMPLE_INT64 || rec.head.form == WS_SAMPLE_FLOAT64;
	if (!place || !rec.bytes || rec.head.form > WS_SAMPLE_NO_VALUE ||
	    (is_single && rec.bytes != sizeof(bits)) ||
	    size != sizeof(rec) + (uint64_t)WS_ALIGN8((uint64_t)rec.bytes) ||
	    !ws_drain_time(d, rec.head.time_ns, &row.time_ns))
		return 0;
	counter = &d->counters[*place];
	bytes += sizeof(rec);
	memcpy(&bits, bytes, is_single ? sizeof(bits) : 1);
	memcpy(&real, &bits, sizeof(real));
	/* false: there are no numbers, or several for one value, or the sample ends before one */
	is_whole = counter->n && !(is_single && counter->n > 1);
	for (size_t i = 0; i < (is_single && !is_whole ? 0 : counter->n); i++) {
		const struct ws_drain_field *f = &d->fields[counter->first + i];
		struct ws_row_counter of = row;
		bool is_kept = 1;

		of.series = f->series;
		if (rec.head.form == WS_SAMPLE_INT64)
			set_whole(&of, f, 1, bits);
		else if (rec.head.form == WS_SAMPLE_FLOAT64)
			set_real(&of, real);
		else if (rec.head.form == WS_SAMPLE_NO_VALUE)
			of.form = bits == WSN_COUNTER_SAMPLE_ZERO        ? WS_COUNTER_WHOLE
			          : bits == WSN_COUNTER_SAMPLE_UNCHANGED ? WS_COUNTER_UNCHANGED
			                                                 : WS_COUNTER_UNAVAILABLE;
		else
			is_kept = set_value(&of, f, bytes, rec.bytes);
		if (is_kept)
			ws_drain_add(d, WS_KIND_COUNTER, &of);
		is_whole &= is_kept;
	}
	d->counted[WS_DROPPED_nvtx_not_kept_counter_samples] += !is_whole;
	return 1;
}

/* Turns one record of a thread into rows. False: it is invalid. */
static bool add_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct event ev;

	if (!ws_drain_thread(d, thread) || !record_head(&ev.rec, rec, size))
		return 0;
	if (ev.rec.head.type == WS_REC_SAMPLE)
		return add_sample(d, thread, rec, size);
	if (ev.rec.head.type == WS_REC_OP)
		return size == sizeof(struct ws_rec_op) && add_op(d, thread, rec);
	if (ev.rec.head.type == WS_REC_NODE)
		return size == sizeof(struct ws_rec_node) && add_node(d, thread, rec);
	if (ev.rec.head.type == WS_REC_OP_PERIOD)
		return size == sizeof(struct ws_rec_op_period) && add_op_period(d, thread, rec);
	if (!parse(&ev, rec, size))
		return 0;
	switch (ev.rec.head.type) {
	case WS_REC_PUSH:
	case WS_REC_POP:
	case WS_REC_START:
	case WS_REC_END:
	case WS_REC_MARK:
		return add_nvtx(d, thread, &ev);
	case WS_REC_CPU_KERNEL:
		return add_cpu_kernel(d, thread, &ev);
	default:
		return 0;
	}
}

/* --- records that wait --- */

/* Maximum number of held records, so that a program that ends no ranges does not fill our
 * memory. */
#define MAX_HELD 4096

/* Writes the rows of a held record. */
static void emit(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	if (!add_record(d, thread, rec, size))
		d->counted[WS_DROPPED_unknown_record]++;
}

struct ws_held_record {
	uint8_t *bytes; /* the record */
	uint32_t size;
	uint32_t thread;
	uint32_t domain;
	uint64_t range; /* id of the range of a start */
	int64_t time_ns;
};

/* False: too many records are held. */
static bool hold(struct ws_held_records *list, uint32_t thread, const struct ws_rec_event *ev,
                 const uint8_t *rec, uint32_t size)
{
	if (list->n == MAX_HELD)
		return 0;
	WS_GROW(list->records, list->n + 1, list->size);
	struct ws_held_record *h = &list->records[list->n++];
	*h = (struct ws_held_record){ws_xmalloc(size), size,      thread,
	                             ev->domain,       ev->range, ev->head.time_ns};
	memcpy(h->bytes, rec, size);
	return 1;
}

static void drop_held(struct ws_held_records *list, size_t i)
{
	free(list->records[i].bytes);
	memmove(&list->records[i], &list->records[i + 1],
	        (list->n - i - 1) * sizeof(*list->records));
	list->n--;
}

static void drop_all(struct ws_held_records *list)
{
	while (list->n)
		drop_held(list, list->n - 1);
}

static void release(struct ws_held_records *list)
{
	drop_all(list);
	free(list->records);
}

/* Writes all held pushes of a thread, because something inside them is kept. */
static void release_pushes(struct ws_drain *d, struct ws_held_records *held)
{
	for (size_t i = 0; i < held->n; i++)
		emit(d, held->records[i].thread, held->records[i].bytes, held->records[i].size);
	drop_all(held);
}

/* --- the filter: the window, applied to records --- */

/* Not needed if nothing is left out. */
static void become_active(struct ws_capture_filter *f)
{
	if (f->is_active)
		return;
	f->is_active = 1;
	f->inside_calls = ws_xarray(WS_FILTER_CALLS, sizeof(*f->inside_calls));
	f->outside_calls = ws_xarray(WS_FILTER_CALLS, sizeof(*f->outside_calls));
}

void ws_filter_init(struct ws_capture_filter *f, const struct ws_seg_header *seg)
{
	const struct ws_seg_window *spec = &seg->plan.window;
	const bool has_ranges = spec->ranges != WS_RANGES_NONE || seg->capture.standby;

	memset(f, 0, sizeof(*f));
	f->stop_ns = atomic_load(&seg->control.stop_ns);
	f->last_node_ns = INT64_MIN;
	ws_capture_window_init(&f->window, spec->begin_ns ? spec->begin_ns : INT64_MIN,
	                       spec->duration_ns, has_ranges);
	if (spec->begin_ns || has_ranges)
		become_active(f);
}

void ws_filter_release(struct ws_drain *d)
{
	struct ws_capture_filter *f = &d->filter;

	for (size_t i = 0; i < d->nthreads; i++)
		release(&d->threads[i].held);
	for (size_t i = 0; i < d->nthreads; i++)
		free(d->threads[i].open.rows);
	free(d->watch.starts.rows);
	free(d->watch.steps);
	release(&f->starts);
	free(f->inside_calls);
	free(f->outside_calls);
	ws_capture_window_release(&f->window);
}

void ws_filter_look(struct ws_drain *d)
{
	if (!d->filter.stop_ns)
		return;
	ws_window_stop(&d->filter.window, d->filter.stop_ns);
	become_active(&d->filter);
}

void ws_drain_stop(struct ws_drain *d, int64_t time_ns)
{
	d->filter.stop_ns = time_ns;
	atomic_store(&d->seg->control.stop_ns, time_ns); /* read by --salvage */
	atomic_store(&d->seg->control.has_ended, 1);
}

bool ws_drain_is_stopped(const struct ws_drain *d)
{
	return d->filter.stop_ns != 0;
}

void ws_filter_range(struct ws_drain *d, const struct ws_def_window *range)
{
	if (range->is_open)
		ws_capture_window_begin_range(&d->filter.window, range->time_ns);
	else
		ws_capture_window_end_range(&d->filter.window, range->time_ns);
}

/* --- NVTX --- */

static bool keeps(const struct ws_drain *d, int64_t start_ns, int64_t end_ns)
{
	return ws_capture_window_keeps(&d->filter.window, start_ns, end_ns);
}

/* A pop ends the newest push of its domain. If that push is held, both are decided now. */
static bool pop(struct ws_drain *d, uint32_t thread, struct ws_held_records *held,
                const struct ws_rec_event *ev, const uint8_t *rec, uint32_t size)
{
	for (size_t i = held->n; i--;) {
		if (held->records[i].domain != ev->domain)
			continue;
		if (keeps(d, held->records[i].time_ns, ev->head.time_ns)) {
			release_pushes(d, held);
			break;
		}
		drop_held(held, i);
		d->filter.nexcluded += 2;
		return 1;
	}
	return add_record(d, thread, rec, size);
}

static bool end(struct ws_drain *d, uint32_t thread, const struct ws_rec_event *ev,
                const uint8_t *rec, uint32_t size)
{
	struct ws_held_records *starts = &d->filter.starts;

	for (size_t i = starts->n; i--;) {
		struct ws_held_record *start = &starts->records[i];

		if (start->range != ev->range)
			continue;
		int kept = keeps(d, start->time_ns, ev->head.time_ns) ||
		           start->time_ns <= d->filter.last_node_ns;
		if (kept)
			emit(d, start->thread, start->bytes, start->size);
		else
			d->filter.nexcluded += 2;
		drop_held(starts, i);
		if (!kept)
			return 1;
		break;
	}
	return add_record(d, thread, rec, size);
}

bool ws_filter_record(struct ws_drain *d, uint32_t thread, const uint8_t *rec, uint32_t size)
{
	struct ws_rec_event ev;
	int64_t end_ns;

	if (!d->filter.is_active)
		return add_record(d, thread, rec, size);
	/* invalid records are not held */
	struct ws_drain_thread *who = ws_drain_thread(d, thread);
	if (!record_head(&ev, rec, size) || !who)
		return 0;
	switch (ev.head.type) {
	case WS_REC_PUSH:
		if (!keeps(d, ev.head.time_ns, ev.head.time_ns) &&
		    hold(&who->held, thread, &ev, rec, size))
			return 1;
		release_pushes(d, &who->held);
		return add_record(d, thread, rec, size);
	case WS_REC_POP:
		return pop(d, thread, &who->held, &ev, rec, size);
	case WS_REC_START:
		if (!keeps(d, ev.head.time_ns, ev.head.time_ns) &&
		    hold(&d->filter.starts, thread, &ev, rec, size))
			return 1;
		return add_record(d, thread, rec, size);
	case WS_REC_END:
		return end(d, thread, &ev, rec, size);
	case WS_REC_NODE:
		/* programs capture graphs at start-up and replay them inside the window. So all
		 * nodes are kept, and the ranges and operations in which they were made. */
		who->last_node_ns = ev.head.time_ns;
		if (ev.head.time_ns > d->filter.last_node_ns)
			d->filter.last_node_ns = ev.head.time_ns;
		release_pushes(d, &who->held);
		return add_record(d, thread, rec, size);
	default:
		end_ns = ev.head.type == WS_REC_CPU_KERNEL || ev.head.type == WS_REC_OP ||
		                         ev.head.type == WS_REC_OP_PERIOD
		                 ? (int64_t)ev.range
		                 : ev.head.time_ns;
		if (!keeps(d, ev.head.time_ns, end_ns) &&
		    !(ev.head.type == WS_REC_OP && ev.head.time_ns <= who->last_node_ns)) {
			d->filter.nexcluded++;
			return 1;
		}
		release_pushes(d, &who->held);
		return add_record(d, thread, rec, size);
	}
}

/* --- CUDA --- */

static bool keeps_row(const struct ws_drain *d, int64_t start_ns, int64_t dur_ns)
{
	int64_t start = start_ns + d->seg->base_ns;

	return keeps(d, start, start + dur_ns);
}

int ws_filter_keeps_call(struct ws_drain *d, uint64_t correlation, int64_t start_ns)
{
	struct ws_capture_filter *f = &d->filter;

	if (!f->is_active)
		return 1;
	int kept = keeps_row(d, start_ns, 0);
	if (correlation)
		(kept ? f->inside_calls : f->outside_calls)[correlation % WS_FILTER_CALLS] =
		        correlation;
	f->nexcluded += !kept;
	return kept;
}

int ws_filter_keeps_work(struct ws_drain *d, uint64_t correlation, int64_t start_ns, int64_t dur_ns)
{
	struct ws_capture_filter *f = &d->filter;
	size_t i = correlation % WS_FILTER_CALLS;
	int kept;

	if (!f->is_active)
		return 1;
	if (correlation && f->inside_calls[i] == correlation)
		return 1;
	if (!start_ns && !dur_ns && f->outside_calls[i] != correlation)
		return 1; /* work without a time is kept */
	kept = (!correlation || f->outside_calls[i] != correlation) &&
	       keeps_row(d, start_ns, dur_ns);
	f->nexcluded += !kept;
	return kept;
}

/* --- the end --- */

/* A range that was never ended is treated as if it ended now. */
static void decide(struct ws_drain *d, struct ws_held_records *list, int64_t now_ns)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ws_held_record *h = &list->records[i];

		if (keeps(d, h->time_ns, now_ns))
			emit(d, h->thread, h->bytes, h->size);
		else
			d->filter.nexcluded++;
	}
	drop_all(list);
}

void ws_filter_finish(struct ws_drain *d)
{
	int64_t now_ns = ws_drain_now_ns(d);

	for (size_t i = 0; i < d->nthreads; i++)
		decide(d, &d->threads[i].held, now_ns);
	decide(d, &d->filter.starts, now_ns);
}

bool ws_drain_gpu_address(const struct ws_drain *d, uint32_t device, struct ws_gpu_address *out)
{
	*out = d->addresses[device];
	return ((d->gpus_used ? d->gpus_used : d->gpus) >> device & 1) && out->domain >= 0 &&
	       out->bus >= 0 && out->device >= 0;
}

void ws_filter_commit(struct ws_drain *d)
{
	atomic_fetch_add_explicit(&d->seg->control.noutside, d->filter.nexcluded,
	                          memory_order_relaxed);
	d->filter.nexcluded = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Adds rows to the writer, and converts ids and times of records. */

/* The writer keeps its error, and counts the rows added after it. */
void ws_drain_add(struct ws_drain *d, enum ws_kind kind, const void *row)
{
	(void)ws_trace_writer_add(d->writer, kind, row, NULL);
}

void ws_drain_add_meta(struct ws_drain *d, const char *key, const char *fmt, ...)
{
	struct ws_row_meta row = {.key = {key, strlen(key)}};
	va_list ap;

	va_start(ap, fmt);
	char *value = ws_xvformat(fmt, ap);
	va_end(ap);
	row.value = ws_bytes_of(value);
	ws_drain_add(d, WS_KIND_META, &row);
	free(value);
}

uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern(d->writer, text.ptr, text.len, &id, NULL);
	return id;
}

uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern_config(d->writer, config, &id, NULL);
	return id;
}

bool ws_drain_flag(const struct ws_drain *d, enum ws_commit_flag flag)
{
	return !!(d->flags & flag);
}

void ws_drain_set_flag(struct ws_drain *d, enum ws_commit_flag flag)
{
	d->flags |= flag;
}

/* --- ids in records --- */

struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->thread_places, id);

	return place ? &d->threads[*place] : NULL;
}

bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid)
{
	struct ws_drain_thread *thread = ws_drain_thread(d, id);

	if (!id || id >= WS_DRAIN_MAX_THREADS || !pid)
		return 0;
	if (!thread) {
		WS_GROW(d->threads, d->nthreads + 1, d->threads_capacity);
		ws_map_add(&d->thread_places, id, d->nthreads);
		thread = &d->threads[d->nthreads++];
		*thread = (struct ws_drain_thread){.id = id};
	}
	thread->pid = pid;
	thread->tid = tid;
	return 1;
}

uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known)
{
	struct ws_drain_domain *dom = &d->domains[domain % WS_SEG_MAX_DOMAINS];

	*known = !domain || (domain < WS_SEG_MAX_DOMAINS && dom->known);
	if (!domain || !*known)
		return 0;
	if (!dom->id)
		dom->id = ws_drain_intern(d, dom->name);
	return dom->id;
}

uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known)
{
	const uint64_t slots = d->seg->defs_size / 8;
	uint64_t *slot = string && string <= slots ? &d->strings[string - 1] : NULL;

	*known = slot && *slot;
	if (!*known)
		return 0;
	if (*slot == 1) {
		struct ws_def_head head;
		const uint64_t at = (uint64_t)(string - 1) * 8;
		const uint8_t *def = ws_seg_defs(d->seg) + at;

		memcpy(&head, def, sizeof(head));
		/* it was valid when it was defined, but the program may have changed it */
		if (head.body_size > d->seg->defs_size - at - sizeof(head))
			head.body_size = 0;
		*slot = 1 +
		        ws_drain_intern(d, (struct ws_bytes){def + sizeof(head), head.body_size});
	}
	return *slot - 1;
}

uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known)
{
	if (text & WS_SLOT_TEXT_ID)
		return ws_drain_string_id(d, (uint32_t)text, known);
	*known = 0;
	return 0;
}

uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	/* the newest one, as thread ids of the system are reused */
	for (size_t i = d->nthreads; i--;)
		if (d->threads[i].pid == pid && d->threads[i].tid == tid)
			return d->threads[i].id;
	return 0;
}

uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	struct ws_row_thread row = {.pid = pid, .tid = tid};
	uint64_t known = ws_drain_find_thread(d, pid, tid);

	if (!pid || !tid || known)
		return known;
	row.id = (uint64_t)atomic_fetch_add(&d->seg->next_thread, 1) + 1;
	if (!ws_drain_set_thread(d, row.id, pid, tid))
		return 0;
	ws_drain_add(d, WS_KIND_THREAD, &row);
	return row.id;
}

bool ws_drain_device(struct ws_drain *d, uint32_t device)
{
	struct ws_row_device row = {.id = device, .kind = WS_DEVICE_CUDA};

	if (device >= WS_MAX_GPUS)
		return 0;
	if (!(d->gpus >> device & 1))
		ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << device;
	return 1;
}

/* --- clocks --- */

/* Slack for times of a GPU, whose clock is only fitted to CUPTI's. */
#define SLACK_NS INT64_C(10000000000)

int64_t ws_drain_now_ns(const struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;

	/* a segment on a disk may be from before the last boot, with times of another clock */
	if (d->is_other_boot)
		return seg->base_ns + (ws_clock_ns(CLOCK_REALTIME) - seg->base_realtime_ns);
	return ws_clock_ns(CLOCK_MONOTONIC);
}

void ws_drain_start_clocks(struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;

	d->is_other_boot = seg->boot && seg->boot != ws_proc_boot();
	d->real_time =
	        (struct ws_drain_real_time){seg->realtime_apart_ns, seg->realtime_largest_step_ns};
	if (!ws_seg_is_time(d->real_time.apart_ns) || !ws_seg_is_time(d->real_time.largest_step_ns))
		d->real_time = (struct ws_drain_real_time){0};
}

struct ws_drain_real_time ws_drain_real_time(const struct ws_drain *d)
{
	return d->real_time;
}

void ws_drain_read_clock(struct ws_drain *d)
{
	d->earliest_ns = d->seg->base_ns - SLACK_NS;
	d->latest_ns = ws_drain_now_ns(d) + SLACK_NS;
}

bool ws_drain_time(const struct ws_drain *d, int64_t ns, int64_t *time_ns)
{
	*time_ns = 0;
	if (ns < d->earliest_ns || ns > d->latest_ns)
		return 0;
	*time_ns = ns - d->seg->base_ns;
	return 1;
}

/* Limits a time given by the collector, so that sums cannot overflow. */
static int64_t bounded(int64_t ns)
{
	return ws_seg_is_time(ns) ? ns : ns < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
}

/* Converts a time of CUPTI for a given difference of the clocks. False: it is outside all
 * limits. */
static int by_distance(uint64_t gpu_ns, int64_t apart_ns, int64_t *ns)
{
	return gpu_ns <= INT64_MAX && !__builtin_sub_overflow((int64_t)gpu_ns, apart_ns, ns);
}

/* The same for a clock that drifts. */
static int by_clock(uint64_t gpu_ns, const struct ws_seg_gpu_clock *clock, int64_t *ns)
{
	int64_t since_ns;

	if (!by_distance(gpu_ns, clock->apart_ns, ns))
		return 0;
	if (!clock->drift_ppb)
		return 1;
	if (__builtin_sub_overflow(*ns, clock->from_ns, &since_ns))
		return 0;
	since_ns = ws_clock_without_drift(since_ns, clock->drift_ppb);
	return !__builtin_add_overflow(clock->from_ns, since_ns, ns);
}

/*
 * The latest entry below `clocks` that is valid at the time converted by it, and gives a time
 * inside the limits; -1: none. The change from one entry to the next is known only to be between
 * two readings, each exact to WS_CLOCK_STEP_NS.
 */
static int find_clock(const struct ws_drain *d, uint32_t clocks, uint64_t gpu_ns, int64_t from_ns,
                      int64_t until_ns, int64_t *ns)
{
	const struct ws_seg_gpu *gpu = &d->seg->gpu;
	uint32_t n = atomic_load_explicit(&gpu->nclocks, memory_order_acquire);

	if (!n && clocks)
		return by_distance(gpu_ns, d->seg->base_realtime_ns - d->seg->base_ns, ns) &&
		                       *ns >= from_ns && *ns <= until_ns
		               ? 0
		               : -1;
	if (n > WS_SEG_GPU_CLOCKS)
		n = WS_SEG_GPU_CLOCKS;
	for (uint32_t i = clocks < n ? clocks : n; i--;) {
		if (by_clock(gpu_ns, &gpu->clocks[i], ns) && *ns >= from_ns && *ns <= until_ns &&
		    (!i || *ns >= bounded(atomic_load(&gpu->clocks[i - 1].until_ns)) -
		                           WS_CLOCK_STEP_NS) &&
		    (i + 1 == n || *ns <= bounded(gpu->clocks[i + 1].from_ns) + WS_CLOCK_STEP_NS))
			return (int)i;
	}
	return -1;
}

/*
 * With one entry, this is a subtraction. A time is ambiguous if it occurred twice (the clock was
 * set back), or if no reading separates it from a step. Then the later entry is used and the record
 * is counted as uncertain. If a clock only drifts, both entries agree.
 */
bool ws_drain_gpu_times(struct ws_drain *d, const struct ws_activity_slot *slot, uint64_t start,
                        uint64_t end, int64_t *start_ns, int64_t *dur_ns)
{
	int64_t from_ns = d->earliest_ns, until_ns = d->latest_ns, end_ns, other_ns;
	int clock, begun;

	if (atomic_load(&d->seg->gpu.nclocks) > 1) {
		if (slot->taken_ns)
			from_ns = bounded(slot->taken_ns) - WS_CLOCK_STEP_NS;
		if (slot->done_ns)
			until_ns = bounded(slot->done_ns) + WS_CLOCK_STEP_NS;
	}
	clock = find_clock(d, UINT32_MAX, end, from_ns, until_ns, &end_ns);
	if (clock < 0) { /* CUPTI can read times long before it requests the buffer for them */
		from_ns = d->earliest_ns;
		clock = find_clock(d, UINT32_MAX, end, from_ns, until_ns, &end_ns);
	}
	if (clock < 0)
		return 0;
	/* mostly the same entry: few records begin before a step and end after it */
	begun = find_clock(d, (uint32_t)clock + 1, start, d->earliest_ns, end_ns, start_ns);
	if (begun < 0)
		return 0;
	if (find_clock(d, (uint32_t)clock, end, from_ns, until_ns, &other_ns) >= 0 &&
	    llabs(other_ns - end_ns) >= WS_CLOCK_STEP_NS)
		d->counted[WS_DROPPED_time_uncertain]++;
	*dur_ns = end_ns - *start_ns;
	*start_ns -= d->seg->base_ns;
	return 1;
}

/* The real-time clock was set. Times of the trace do not change, but UTC times are wrong by the
 * step. */
void ws_drain_look_for_step(struct ws_drain *d)
{
	struct ws_drain_real_time *real = &d->real_time;
	int64_t apart_ns, step_ns;

	if (d->is_other_boot || ws_clock_apart(ws_clock_read_realtime, &apart_ns))
		return;
	step_ns = real->apart_ns ? apart_ns - real->apart_ns : 0;
	real->apart_ns = d->seg->realtime_apart_ns = apart_ns;
	if (llabs(step_ns) < WS_CLOCK_STEP_NS)
		return;
	d->counted[WS_DROPPED_clock_step]++;
	if (llabs(step_ns) > llabs(real->largest_step_ns))
		real->largest_step_ns = d->seg->realtime_largest_step_ns = step_ns;
}

int64_t ws_drain_add_clock_row(struct ws_drain *d)
{
	const struct ws_seg_header *seg = d->seg;
	uint32_t n = atomic_load_explicit(&seg->gpu.nclocks, memory_order_acquire);
	int64_t now_ns = ws_drain_now_ns(d);
	struct ws_row_clock clock = {
	        .realtime_ns = ws_clock_ns(CLOCK_REALTIME) - seg->base_realtime_ns,
	        .monotonic_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW),
	        .time_ns = now_ns - seg->base_ns,
	};

	if (n && n <= WS_SEG_GPU_CLOCKS)
		clock.gpu_apart_ns = (int64_t)((uint64_t)seg->gpu.clocks[n - 1].apart_ns -
		                               (uint64_t)(seg->base_realtime_ns - seg->base_ns));
	ws_drain_look_for_step(d);
	ws_drain_add(d, WS_KIND_CLOCK, &clock);
	return clock.time_ns;
}
