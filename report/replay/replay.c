#include "report/replay/replay.h"

#include "report/base/names.h"
#include "report/base/stat.h"

#define QUIET_NS        50000  /* a thread quiet for longer may wait for another thread */
#define BESIDE_NS       20000  /* a piece that waits for another stream begins this soon after it */
#define DEEP_QUEUE      256    /* launches block only behind so many unfinished pieces */
#define CYCLES          8      /* times that a step is played in a row, */
#define SETTLED         4      /* of which the last are measured */
#define MOST_CHECKED    9      /* steps that are checked */
#define MOST_PIECES     250000 /* of a window without steps */
#define STEP_TOLERANCE  0.005  /* of the step, how far a sound replay may be off */
#define PIECE_TOLERANCE 0.02   /* …, and the begin of each piece */
#define MOST_UNLAUNCHED 0.10   /* of the device time, without a launch record */
#define MOST_MIGRATIONS 0.01   /* of the pieces: of managed memory, by no call */
#define TYPICAL_LATENCY 5000.0 /* ns, where no piece of the step shows it */
#define TYPICAL_GAP     1000.0
#define MOST_SKEW_NS    1000000 /* of the clocks of host and device */
#define LEAST_HIDDEN    3 /* pauses that end with the work, from which a hidden wait is known */

/* The begin or the end of a call on a thread that launches device work. */
struct point {
	int64_t at_ns; /* as recorded */
	uint32_t thread;
	uint32_t call;   /* row; WS_NONE: the end of the step */
	uint32_t range;  /* innermost around the call, a row; WS_NONE */
	uint32_t path;   /* of that range, WS_NONE */
	uint32_t anchor; /* the point that it follows, WS_NONE: the begin of the step */
	uint32_t waits;  /* of an end: the piece that the call waited for, WS_NONE */
	uint32_t hidden; /* the piece for which the host may have waited without a call, WS_NONE */
	double lag_ns;   /* time since the end of that piece */
	bool waits_once; /* the call that waits is part of start-up */
	double gap_ns;   /* since the anchor, or since the end of the piece if that was later */
	double data_ns;  /* part of the gap in which the host loaded data */
	double setup_ns; /* … in which it did what happens once */
	double idle_ns; /* for how long the stream of what it launches had nothing to do, if that is
	                   no longer than a launch takes */
	bool is_end;
};

/* A piece and what holds it back. Each delay counts from the end of what it names. */
struct piece {
	uint32_t launch;    /* point, WS_NONE: no record of it */
	uint32_t before;    /* piece on its stream, WS_NONE: it is the first of the step */
	uint32_t neighbour; /* piece of another stream that it waited for, WS_NONE */
	double latency_ns, gap_ns, neighbour_ns;
	double unknown_ns; /* how much later than all that it began, for no reason that is known */
	double offset_ns;  /* of one that nothing launched: since the begin of the step */
};

struct stream {
	uint64_t id;
	uint32_t process, device;
	uint32_t last;     /* piece of the step, WS_NONE */
	int64_t before_ns; /* end of what ran on it before the step, INT64_MIN: nothing */
};

/* Pauses of the host in which the last launched work ended, of the steps that are read. */
struct pauses {
	size_t n;
	double *gap_ns, *lag_ns; /* of those that end with the work */
	size_t nended, capacity, lags_capacity;
};

struct ws_replay {
	const struct ws_model *m;
	const struct ws_selection *sel;
	const struct ws_windows *windows;
	struct ws_arena kept, *arena; /* arena: for what stays, this one unless it is a check */
	struct ws_replay_facts facts;
	int64_t start_ns, end_ns;               /* of the step on the host */
	int64_t window_start_ns, window_end_ns; /* with its device work */
	bool repeats;                           /* it is a step, not a whole trace */
	bool has_earlier, has_later;            /* device work before and after it */
	struct point *point;                    /* by time */
	size_t npoints, points_capacity;
	uint32_t tail;                /* the point at the end of the step, WS_NONE */
	double between_ns;            /* host time from the step before to this one, if it counts */
	struct ws_replay_piece *work; /* by begin */
	struct piece *piece;          /* of each */
	size_t npieces, work_capacity;
	uint32_t *by_end; /* pieces */
	struct stream *stream;
	size_t nstreams, streams_capacity;
	uint32_t *order;                 /* points, and npoints + pieces, by recorded time */
	double latency_ns, queue_gap_ns; /* typical of the step: of a launch, of a queued piece */
	double launch_gap_ns;            /* of the host between two points while it launches */
	double period_ns[2];             /* of the unchanged step; [1]: with its hidden waits */
	uint32_t first_launch;           /* point; WS_NONE: none is known */
	int64_t last_end_ns;             /* of the device work of the step, as recorded */
	double *point_ns, *begin_ns, *end_of_piece_ns, *stream_ns; /* of one play */
	uint32_t *cause;                   /* node that each node waited for last; WS_NONE */
	struct pauses own_pauses, *pauses; /* pauses: of all steps that are checked */
	struct ws_replay_stretch *path;
	size_t npath;
};

/* --- gathering -------------------------------------------------------------------------------- */

/* A piece of the step is replayed. One before the step only says until when its stream was busy. */
static void add_piece(struct ws_replay *r, struct ws_replay_piece piece, uint32_t step,
                      uint32_t process, uint64_t stream_id)
{
	const bool is_of_step = r->repeats ? step == r->facts.step : true;
	const int64_t end_ns = piece.start_ns + piece.dur_ns;
	size_t at = 0;

	while (at < r->nstreams &&
	       (r->stream[at].id != stream_id || r->stream[at].process != process ||
	        r->stream[at].device != piece.device))
		at++;
	if (at == r->nstreams) {
		WS_GROW(r->stream, r->nstreams + 1, r->streams_capacity);
		r->stream[r->nstreams++] =
		        (struct stream){stream_id, process, piece.device, WS_NONE, INT64_MIN};
	}
	piece.stream = (uint32_t)at;
	if (!is_of_step && piece.start_ns < r->window_start_ns) {
		struct stream *s = &r->stream[piece.stream];

		r->has_earlier = true;
		s->before_ns = end_ns > s->before_ns ? end_ns : s->before_ns;
	}
	/* what was launched outside of all steps holds up the step in whose time it runs */
	if (!is_of_step && (step != WS_NONE || piece.start_ns < r->window_start_ns ||
	                    piece.start_ns >= r->window_end_ns))
		return;
	/* of more than that none is played, so none is kept */
	if (r->npieces > MOST_PIECES)
		return;
	WS_GROW(r->work, r->npieces + 1, r->work_capacity);
	r->work[r->npieces++] = piece;
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_replay_piece *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(b->is_kernel, a->is_kernel);
	return (a->row > b->row) - (a->row < b->row);
}

static void gather_pieces(struct ws_replay *r)
{
	const struct ws_model *m = r->m;

	for (uint32_t d = 0; d < m->ndevices; d++) {
		const size_t end = ws_first_kernel_of(m, r->sel, d + 1);

		for (size_t i = ws_first_kernel_of(m, r->sel, d); i < end; i++) {
			const struct ws_joined_kernel *k = ws_joined_rows_kernel(r->sel->rows, i);
			const struct ws_config *config = &m->configs[k->kind->config];

			if (k->start_ns >= r->window_end_ns) {
				r->has_later |= r->repeats;
				break; /* by begin: the step's work has ended */
			}
			if (ws_kernel_ran(r->sel, k, i))
				add_piece(r,
				          (struct ws_replay_piece){
				                  .row = (uint32_t)i,
				                  .is_kernel = true,
				                  .use = k->kind->class == WS_TEXT_COMM
				                                 ? WS_USE_COLLECTIVE
				                                 : WS_USE_COMPUTE,
				                  .device = d,
				                  .call = k->call,
				                  .start_ns = k->start_ns,
				                  .dur_ns = k->dur_ns},
				          k->step, config->process, config->stream);
		}
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		if (ws_work_ran(r->sel, m, i))
			add_piece(r,
			          (struct ws_replay_piece){.row = (uint32_t)i,
			                                   .use = ws_use_of_work(w),
			                                   .device = w->device,
			                                   .call = w->call,
			                                   .start_ns = w->start_ns,
			                                   .dur_ns = w->dur_ns},
			          w->step, w->process, w->stream);
	}
	ws_sort(r->work, r->npieces, sizeof(*r->work), by_begin);
}

static int by_time(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	WS_ORDER_BY(a->at_ns, b->at_ns);
	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->is_end, b->is_end);
	return (a->call > b->call) - (a->call < b->call); /* the end of the step is the last */
}

static void add_point(struct ws_replay *r, struct point point)
{
	WS_GROW(r->point, r->npoints + 1, r->points_capacity);
	point.anchor = point.waits = point.hidden = WS_NONE;
	r->point[r->npoints++] = point;
}

/* Calls of the threads that launch work of the step, and the end of the step itself. */
static void gather_points(struct ws_replay *r, struct ws_arena *temp)
{
	const struct ws_model *m = r->m;
	struct ws_joined_rows *rows = r->sel->rows;
	uint8_t *launches; /* by thread */
	size_t first;

	WS_NEW(temp, launches, m->nthreads);
	for (size_t i = 0; i < r->npieces; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, r->work[i].call);

		if (!call)
			continue;
		launches[call->kind->thread] = 1;
		if (!r->repeats && call->start_ns < r->start_ns)
			r->start_ns = call->start_ns;
	}
	if (r->repeats) {
		const struct ws_model_step *step = &m->steps[r->facts.step];

		launches[step->thread] = 1;
		add_point(r, (struct point){.at_ns = r->end_ns,
		                            .thread = step->thread,
		                            .call = WS_NONE,
		                            .is_end = true});
	}
	/* calls stand in the order of their ends */
	WS_COUNT_FIRST(first, rows->ncalls,
	               ws_joined_rows_call(rows, (uint32_t)first)->start_ns +
	                               ws_joined_rows_call(rows, (uint32_t)first)->dur_ns <
	                       r->start_ns);
	for (uint32_t i = (uint32_t)first; i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);
		const int64_t end_ns = call->start_ns + call->dur_ns;
		struct point point = {.at_ns = call->start_ns,
		                      .thread = call->kind->thread,
		                      .call = i,
		                      .range = call->range,
		                      .path = WS_NONE};

		if (call->start_ns > r->end_ns && end_ns > r->end_ns + rows->longest_call_ns)
			break;
		if (!launches[point.thread] || call->start_ns < r->start_ns ||
		    call->start_ns > r->end_ns)
			continue;
		const struct ws_joined_range *range = ws_joined_rows_range(rows, point.range);
		if (range)
			point.path = range->context->path;
		add_point(r, point);
		/* behind the end of the step there is nothing of it; a call that its own thread
		 * made in it ends in it, whatever two clocks say */
		if (r->repeats && end_ns > r->end_ns &&
		    point.thread != r->m->steps[r->facts.step].thread)
			continue;
		point.at_ns = r->repeats && end_ns > r->end_ns ? r->end_ns : end_ns;
		point.is_end = true;
		add_point(r, point);
	}
	ws_sort(r->point, r->npoints, sizeof(*r->point), by_time);
}

/* --- what each node waits for ----------------------------------------------------------------- */

/* The last piece that ended in (after, until] by recorded time and was launched by `launched`, on
 * another stream than `stream` if that is one; WS_NONE. */
static uint32_t last_ended(const struct ws_replay *r, int64_t after_ns, int64_t until_ns,
                           int64_t launched_ns, uint32_t stream)
{
	size_t i;

	WS_COUNT_FIRST(i, r->npieces, ws_piece_end(&r->work[r->by_end[i]]) <= until_ns);
	while (i-- > 0) {
		const uint32_t at = r->by_end[i];
		const uint32_t launch = r->piece[at].launch;

		if (ws_piece_end(&r->work[at]) <= after_ns)
			break;
		if (r->work[at].stream != stream && r->work[at].start_ns <= until_ns &&
		    (launch == WS_NONE || r->point[launch].at_ns <= launched_ns))
			return at;
	}
	return WS_NONE;
}

static int by_recorded_end(const void *pa, const void *pb, void *arg)
{
	const struct ws_replay *r = arg;
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	WS_ORDER_BY(ws_piece_end(&r->work[a]), ws_piece_end(&r->work[b]));
	return (a > b) - (a < b);
}

/* The begin of each piece's call, and the piece before it on its stream. */
static void link_pieces(struct ws_replay *r, struct ws_arena *temp)
{
	uint32_t *point_of;
	uint32_t first_call = UINT32_MAX, last_call = 0;

	for (size_t i = 0; i < r->npoints; i++)
		if (r->point[i].call != WS_NONE) {
			first_call = r->point[i].call < first_call ? r->point[i].call : first_call;
			last_call = r->point[i].call > last_call ? r->point[i].call : last_call;
		}
	WS_NEW(temp, point_of, last_call >= first_call ? last_call - first_call + 1 : 0);
	for (size_t i = r->npoints; i-- > 0;)
		if (r->point[i].call != WS_NONE && !r->point[i].is_end)
			point_of[r->point[i].call - first_call] = (uint32_t)i + 1;
	WS_NEW(r->arena, r->piece, r->npieces);
	WS_NEW(r->arena, r->by_end, r->npieces);
	for (uint32_t i = 0; i < r->npieces; i++) {
		const struct ws_replay_piece *w = &r->work[i];
		struct piece *p = &r->piece[i];
		const bool has_point =
		        w->call >= first_call && w->call <= last_call && w->call != WS_NONE;

		*p = (struct piece){.launch = WS_NONE,
		                    .before = r->stream[w->stream].last,
		                    .neighbour = WS_NONE};
		if (has_point && point_of[w->call - first_call])
			p->launch = point_of[w->call - first_call] - 1;
		r->stream[w->stream].last = i;
		r->by_end[i] = i;
	}
	ws_sort_by(r->by_end, r->npieces, sizeof(*r->by_end), by_recorded_end, r);
}

/* What a call waits for, by name: some piece, if not ended; all of its stream; or all. */
enum { WAITS_NOT, WAITS_FOR_SOME, WAITS_FOR_STREAM, WAITS_FOR_ALL };

/* Calls that begin to wait for the device at once, by their names. */
static uint8_t *find_blocking(const struct ws_model *m, struct ws_arena *temp)
{
	static const char *const all[] = {"*DeviceSynchronize*", "*ThreadSynchronize*",
	                                  "*CtxSynchronize*"};
	static const char *const of_stream[] = {"*StreamSynchronize*"};
	static const char *const others[] = {"cudaFree", "cuMemFree", "cuMemFree_v2", "hipFree",
	                                     "ws_cpu_launch"}; /* the host runs the kernel */

	uint8_t *blocks = ws_arena_array(temp, m->ntexts, sizeof(*blocks));
	for (size_t i = 0; i < m->ntexts; i++) {
		blocks[i] = !ws_call_waits(m->texts[i])                 ? WAITS_NOT
		            : WS_NAME_IS_ONE_OF(m->texts[i], all)       ? WAITS_FOR_ALL
		            : WS_NAME_IS_ONE_OF(m->texts[i], of_stream) ? WAITS_FOR_STREAM
		                                                        : WAITS_FOR_SOME;
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
			blocks[i] |= m->texts[i].len == strlen(others[k]) &&
			             !memcmp(m->texts[i].ptr, others[k], m->texts[i].len);
	}
	return blocks;
}

/* How far the clock of the device is ahead: calls that wait for it end before what they waited for,
 * by its record. */
static int64_t find_skew(const struct ws_replay *r, const uint8_t *blocks, struct ws_arena *temp)
{
	struct ws_joined_rows *rows = r->sel->rows;
	struct open {
		uint32_t call;
		int64_t busy_until_ns; /* by what was launched before it */
	} * open_of;                   /* by thread */
	int64_t *busy_until_ns;        /* by what each point launches; 0: nothing */
	int64_t latest_ns = INT64_MIN;
	double *late_ns, median;
	size_t n = 0;

	WS_NEW(temp, open_of, r->m->nthreads);
	WS_NEW(temp, busy_until_ns, r->npoints);
	WS_NEW(temp, late_ns, r->npoints);
	for (size_t i = 0; i < r->npieces; i++) {
		const uint32_t launch = r->piece[i].launch;

		if (launch != WS_NONE && ws_piece_end(&r->work[i]) > busy_until_ns[launch])
			busy_until_ns[launch] = ws_piece_end(&r->work[i]);
	}
	for (size_t i = 0; i < r->npoints; i++) {
		const struct point *p = &r->point[i];
		const struct ws_joined_call *call = ws_joined_rows_call(rows, p->call);
		struct open *open = &open_of[p->thread];

		if (busy_until_ns[i] > latest_ns)
			latest_ns = busy_until_ns[i];
		if (!call || !blocks[call->kind->name])
			continue;
		if (!p->is_end)
			*open = (struct open){p->call, latest_ns};
		else if (open->call == p->call && open->busy_until_ns > call->start_ns &&
		         llabs(p->at_ns - open->busy_until_ns) <= MOST_SKEW_NS)
			late_ns[n++] = (double)(p->at_ns - open->busy_until_ns);
	}
	if (!n)
		return 0;
	median = ws_stat_median(late_ns, n); /* sorts them */
	return median < 0 ? (int64_t)-late_ns[n / 10] : 0;
}

static double median_or(double *values, size_t n, double otherwise)
{
	return n ? ws_stat_median(values, n) : otherwise;
}

/* When the stream of a piece became free before it; INT64_MIN: it was never used. */
static int64_t stream_free_ns(const struct ws_replay *r, uint32_t i)
{
	const uint32_t before = r->piece[i].before;

	return before == WS_NONE ? r->stream[r->work[i].stream].before_ns
	                         : ws_piece_end(&r->work[before]);
}

/* Since a time that may be INT64_MIN: since for ever. */
static double ns_since(int64_t time_ns, int64_t now_ns)
{
	return time_ns == INT64_MIN ? INFINITY : (double)(now_ns - time_ns);
}

static void time_pieces(struct ws_replay *r, struct ws_arena *temp)
{
	double *latencies, *gaps;
	size_t nlatencies = 0, ngaps = 0;

	WS_NEW(temp, latencies, r->npieces);
	WS_NEW(temp, gaps, r->npieces);
	for (uint32_t i = 0; i < r->npieces; i++) {
		const struct piece *p = &r->piece[i];

		if (p->launch != WS_NONE && stream_free_ns(r, i) <= r->point[p->launch].at_ns)
			latencies[nlatencies++] =
			        (double)(r->work[i].start_ns - r->point[p->launch].at_ns);
	}
	/* a latency that is longer is a wait that nothing explains */
	r->latency_ns =
	        fmin(median_or(latencies, nlatencies, TYPICAL_LATENCY), WS_IDLE_QUEUE_US * 1000);
	for (uint32_t i = 0; i < r->npieces; i++) {
		const uint32_t launch = r->piece[i].launch;
		const int64_t free_ns = stream_free_ns(r, i), begin_ns = r->work[i].start_ns;
		const double ready_ns = launch == WS_NONE
		                                ? -INFINITY
		                                : (double)r->point[launch].at_ns + r->latency_ns;

		if (free_ns != INT64_MIN && (double)free_ns > ready_ns &&
		    begin_ns - free_ns <= WS_IDLE_QUEUE_US * 1000)
			gaps[ngaps++] = fmax(0, (double)(begin_ns - free_ns));
	}
	r->queue_gap_ns = median_or(gaps, ngaps, TYPICAL_GAP);
	for (uint32_t i = 0; i < r->npieces; i++) {
		struct piece *p = &r->piece[i];
		const int64_t free_ns = stream_free_ns(r, i), begin_ns = r->work[i].start_ns;
		const int64_t call_ns =
		        p->launch == WS_NONE ? INT64_MIN : r->point[p->launch].at_ns;
		const double since_call_ns = ns_since(call_ns, begin_ns);
		const double since_free_ns = ns_since(free_ns, begin_ns);
		/* the stream became free while the launch was on its way: did it wait for that? */
		const bool was_queued = free_ns != INT64_MIN && free_ns > call_ns &&
		                        (since_free_ns <= 2 * r->queue_gap_ns ||
		                         (double)free_ns > (double)call_ns + r->latency_ns);

		p->latency_ns = was_queued ? fmin(since_call_ns, r->latency_ns) : since_call_ns;
		p->gap_ns = was_queued             ? since_free_ns
		            : free_ns == INT64_MIN ? 0
		                                   : fmin(since_free_ns, r->queue_gap_ns);
		p->offset_ns = (double)(begin_ns - r->start_ns);
		double ready_ns = (double)(call_ns == INT64_MIN ? free_ns : call_ns) +
		                  (call_ns == INT64_MIN ? 0 : r->latency_ns);
		if (was_queued)
			ready_ns = fmax(ready_ns, (double)free_ns + r->queue_gap_ns);
		if ((double)begin_ns - ready_ns <= WS_IDLE_QUEUE_US * 1000)
			continue;
		p->neighbour =
		        last_ended(r, begin_ns - BESIDE_NS, begin_ns, begin_ns, r->work[i].stream);
		if (p->neighbour == WS_NONE && p->launch == WS_NONE)
			continue; /* what held it back is unknown, and stays */
		if (p->neighbour == WS_NONE) {
			p->latency_ns = fmin(p->latency_ns, r->latency_ns);
			p->gap_ns = fmin(p->gap_ns, r->queue_gap_ns);
			ready_ns = fmax((double)call_ns + p->latency_ns,
			                free_ns == INT64_MIN ? -INFINITY
			                                     : (double)free_ns + p->gap_ns);
			p->unknown_ns = (double)begin_ns - ready_ns;
			continue;
		}
		p->neighbour_ns = (double)(begin_ns - ws_piece_end(&r->work[p->neighbour]));
		p->latency_ns = fmin(p->latency_ns, r->latency_ns);
		p->gap_ns = fmin(p->gap_ns, r->queue_gap_ns);
	}
}

/* Pieces launched by then and not yet done. */
static size_t queued_at(const struct ws_replay *r, size_t launched, int64_t at_ns)
{
	size_t done;

	WS_COUNT_FIRST(done, r->npieces, ws_piece_end(&r->work[r->by_end[done]]) <= at_ns);
	return launched > done ? launched - done : 0;
}

/* The host pauses from since_ns until p, and all that it has launched ends meanwhile. If it goes on
 * as soon as that has ended, it may have waited for it without a call. */
static void find_hidden_wait(struct ws_replay *r, struct point *p, int64_t since_ns,
                             size_t nlaunched)
{
	const double gap_ns = (double)(p->at_ns - since_ns);

	if (gap_ns <= BESIDE_NS || 2 * p->data_ns > gap_ns || queued_at(r, nlaunched, p->at_ns))
		return;
	uint32_t last = last_ended(r, since_ns, p->at_ns, since_ns, WS_NONE);
	if (last == WS_NONE)
		return;
	r->pauses->n++;
	p->lag_ns = (double)(p->at_ns - ws_piece_end(&r->work[last]));
	if (p->lag_ns > BESIDE_NS || 10 * p->lag_ns > gap_ns)
		return;
	p->hidden = last;
	WS_GROW(r->pauses->gap_ns, r->pauses->nended + 1, r->pauses->capacity);
	WS_GROW(r->pauses->lag_ns, r->pauses->nended + 1, r->pauses->lags_capacity);
	r->pauses->gap_ns[r->pauses->nended] = gap_ns;
	r->pauses->lag_ns[r->pauses->nended++] = p->lag_ns;
}

static void link_points(struct ws_replay *r, const uint8_t *blocks, struct ws_arena *temp)
{
	struct ws_joined_rows *rows = r->sel->rows;
	const struct ws_host_activity *host = ws_host_activity_find(r->m, r->sel);
	uint32_t *last_of_thread, *launched; /* + 1; pieces launched by each point or before */
	uint32_t last = WS_NONE;             /* point of any thread */
	size_t ngaps = 0, nlaunched = 0;

	WS_NEW(temp, last_of_thread, r->m->nthreads);
	WS_NEW(temp, launched, r->npoints);
	double *gaps = ws_arena_array(temp, r->npoints, sizeof(*gaps));
	for (size_t i = 0; i < r->npieces; i++) {
		const uint32_t launch = r->piece[i].launch;

		const int64_t free_ns = stream_free_ns(r, (uint32_t)i);
		const double idle_ns = (double)(r->work[i].start_ns - free_ns);

		if (launch == WS_NONE)
			continue;
		if (free_ns != INT64_MIN && idle_ns <= WS_IDLE_LAUNCH_US * 1000)
			r->point[launch].idle_ns = fmax(r->point[launch].idle_ns, idle_ns);
		launched[launch]++;
		r->work[i].is_trial = ws_spans_inside(&host->searches, r->point[launch].at_ns,
		                                      r->point[launch].at_ns + 1) > 0;
	}
	r->tail = WS_NONE;
	for (uint32_t i = 0; i < r->npoints; i++) {
		struct point *p = &r->point[i];
		const uint32_t own = last_of_thread[p->thread];
		int64_t since_ns = own ? r->point[own - 1].at_ns : r->start_ns;

		p->anchor = own ? own - 1 : WS_NONE;
		if (!p->is_end && last != WS_NONE && p->at_ns - since_ns > QUIET_NS &&
		    r->point[last].at_ns > since_ns && r->point[last].thread != p->thread) {
			p->anchor = last; /* the thread was quiet and waited for another one */
			since_ns = r->point[last].at_ns;
		}
		if (p->call == WS_NONE)
			r->tail = i;
		p->data_ns = (double)ws_spans_inside(&host->data, since_ns, p->at_ns);
		if (p->is_end && p->call != WS_NONE) {
			const struct ws_joined_call *call = ws_joined_rows_call(rows, p->call);
			const bool is_held = call->dur_ns > WS_IDLE_LAUNCH_US * 1000 &&
			                     queued_at(r, nlaunched, call->start_ns) > DEEP_QUEUE;

			if (blocks[call->kind->name] || is_held)
				p->waits = last_ended(r, call->start_ns, p->at_ns, call->start_ns,
				                      WS_NONE);
			/* it had ended before; of an earlier or faster call it might not have */
			if (p->waits == WS_NONE &&
			    (blocks[call->kind->name] == WAITS_FOR_ALL ||
			     (blocks[call->kind->name] == WAITS_FOR_STREAM && r->nstreams == 1)))
				p->waits =
				        last_ended(r, INT64_MIN, p->at_ns, call->start_ns, WS_NONE);
			/* its own copy, whose recorded end may be a little later */
			const uint32_t copy =
			        p->waits == WS_NONE && blocks[call->kind->name]
			                ? last_ended(r, p->at_ns, p->at_ns + call->dur_ns / 100,
			                             call->start_ns, WS_NONE)
			                : WS_NONE;
			if (copy != WS_NONE && r->work[copy].call == p->call)
				p->waits = copy;
			p->waits_once = ws_spans_inside(&host->setup, call->start_ns, p->at_ns) > 0;
			if (p->waits != WS_NONE && ws_piece_end(&r->work[p->waits]) > since_ns)
				since_ns = ws_piece_end(&r->work[p->waits]) < p->at_ns
				                   ? ws_piece_end(&r->work[p->waits])
				                   : p->at_ns;
		}
		p->gap_ns = (double)(p->at_ns - since_ns);
		p->setup_ns = fmin(p->gap_ns - p->data_ns,
		                   (double)ws_spans_inside(&host->setup, since_ns, p->at_ns));
		if (2 * p->setup_ns > p->gap_ns - p->data_ns)
			p->setup_ns = p->gap_ns - p->data_ns; /* as idle.c judges a gap */
		if (!p->is_end || p->call == WS_NONE)
			find_hidden_wait(r, p, since_ns, nlaunched);
		if (p->waits == WS_NONE && p->gap_ns <= WS_IDLE_LAUNCH_US * 1000)
			gaps[ngaps++] = p->gap_ns;
		nlaunched += launched[i];
		last_of_thread[p->thread] = i + 1;
		last = i;
	}
	r->launch_gap_ns = median_or(gaps, ngaps, TYPICAL_GAP);
}

/* A node of the replay: points first, then pieces. */
struct node {
	int64_t at_ns;
	uint32_t number;
	uint8_t rank; /* at one moment: begins of calls, then pieces, then ends of calls */
};

static int by_node(const void *pa, const void *pb)
{
	const struct node *a = pa, *b = pb;

	WS_ORDER_BY(a->at_ns, b->at_ns);
	WS_ORDER_BY(a->rank, b->rank);
	return (a->number > b->number) - (a->number < b->number);
}

/* --- playing ---------------------------------------------------------------------------------- */

/* What is left of a wait from one time to another. */
static double remaining_until(double from_ns, double to_ns, double removed)
{
	return (1 - removed) * to_ns + removed * from_ns;
}

static bool waits_hidden(const struct point *p, const struct ws_whatif *change)
{
	return p->hidden != WS_NONE && change->hidden_waits;
}

/* The gap in front of point i. */
static double gap_with(const struct ws_replay *r, uint32_t i, const struct ws_whatif *change)
{
	const struct point *p = &r->point[i];
	/* as idle.c calls it: between the work of two steps the host holds the device up */
	const enum ws_use of_other = i <= r->first_launch && !r->has_earlier      ? WS_USE_START
	                             : p->at_ns > r->last_end_ns && !r->has_later ? WS_USE_END
	                                                                          : WS_USE_HOST;
	const double limit_ns = WS_IDLE_LAUNCH_US * 1000;
	const bool is_lag = waits_hidden(p, change);
	const double data_ns = is_lag ? 0 : p->data_ns, setup_ns = is_lag ? 0 : p->setup_ns;
	double kept_ns = is_lag ? p->lag_ns : p->gap_ns - data_ns - setup_ns;
	uint32_t path = change->graph_path ? p->path : WS_NONE;

	while (path != WS_NONE && path != change->graph_path - 1)
		path = r->m->ranges.paths[path].parent;
	const bool is_asked = !change->graph_path || path != WS_NONE;
	const double launch = is_asked ? change->removed[WS_USE_LAUNCH] : 0;

	if (kept_ns > limit_ns)
		kept_ns = remaining_until(r->launch_gap_ns, kept_ns, change->removed[of_other]);
	/* the device waited only for the end of a long pause: as a wait for a launch, by idle.c */
	if (kept_ns > limit_ns)
		kept_ns -= launch * fmin(p->idle_ns, kept_ns);
	else
		kept_ns *= 1 - launch;
	return kept_ns + (1 - change->removed[WS_USE_SETUP]) * setup_ns +
	       (1 - change->removed[WS_USE_DATA]) * data_ns;
}

/* Is `ns` later than *at? Then that is what the node waits for. */
static void wait_until(double *at, double ns, uint32_t *cause, uint32_t node)
{
	if (ns > *at) {
		*at = ns;
		*cause = node;
	}
}

/* Plays the step once, from base_ns of the host on. Returns when all of it has ended. */
static double play_once(struct ws_replay *r, const struct ws_whatif *change, double base_ns)
{
	double end_ns = r->tail == WS_NONE ? -INFINITY : base_ns;

	for (size_t i = 0; i < r->npoints + r->npieces; i++) {
		const uint32_t node = r->order[i];

		if (node < r->npoints) {
			const struct point *p = &r->point[node];
			const uint32_t waits = waits_hidden(p, change) ? p->hidden : p->waits;
			double at_ns = p->anchor == WS_NONE ? base_ns : r->point_ns[p->anchor];

			r->cause[node] = p->anchor;
			if (waits != WS_NONE)
				wait_until(&at_ns,
				           remaining_until(at_ns, r->end_of_piece_ns[waits],
				                           p->waits_once
				                                   ? 0
				                                   : change->removed[WS_USE_SYNC]),
				           &r->cause[node], (uint32_t)r->npoints + waits);
			r->point_ns[node] = at_ns + gap_with(r, node, change);
		} else {
			const uint32_t number = node - (uint32_t)r->npoints;
			const struct ws_replay_piece *w = &r->work[number];
			const struct piece *p = &r->piece[number];
			const double of_wait = change->removed[WS_USE_WAIT];
			const double gap_ns =
			        p->gap_ns > WS_IDLE_QUEUE_US * 1000
			                ? remaining_until(r->queue_gap_ns, p->gap_ns, of_wait)
			                : (1 - change->removed[WS_USE_DEVICE]) * p->gap_ns;
			const double before_ns = p->before == WS_NONE
			                                 ? r->stream_ns[w->stream]
			                                 : r->end_of_piece_ns[p->before];
			uint32_t *cause = &r->cause[r->npoints + number];
			double at_ns = -INFINITY, beside_ns;

			*cause = WS_NONE;
			if (p->launch != WS_NONE)
				wait_until(&at_ns, r->point_ns[p->launch] + p->latency_ns, cause,
				           p->launch);
			wait_until(&at_ns, before_ns + gap_ns, cause,
			           p->before == WS_NONE ? WS_NONE
			                                : (uint32_t)r->npoints + p->before);
			if (p->neighbour != WS_NONE) {
				beside_ns = r->end_of_piece_ns[p->neighbour] + p->neighbour_ns;
				wait_until(&at_ns,
				           isinf(at_ns)
				                   ? beside_ns
				                   : remaining_until(at_ns, beside_ns, of_wait),
				           cause, (uint32_t)r->npoints + p->neighbour);
			}
			at_ns += (1 - of_wait) * p->unknown_ns;
			/* nothing is before it: it begins when it did */
			if (isinf(at_ns))
				at_ns = base_ns + p->offset_ns;
			r->begin_ns[number] = at_ns;
			r->end_of_piece_ns[number] =
			        at_ns +
			        (change->dur_ns ? change->dur_ns[number] : (double)w->dur_ns);
			r->stream_ns[w->stream] = r->end_of_piece_ns[number];
		}
	}
	for (size_t i = 0; i < r->npieces; i++)
		end_ns = fmax(end_ns, r->end_of_piece_ns[i]);
	return r->tail == WS_NONE ? end_ns : fmax(end_ns, r->point_ns[r->tail]);
}

/* Streams are in use as long as they were when the step began. */
static void rewind_streams(struct ws_replay *r)
{
	for (size_t s = 0; s < r->nstreams; s++)
		r->stream_ns[s] = r->stream[s].before_ns == INT64_MIN
		                          ? -INFINITY
		                          : (double)(r->stream[s].before_ns - r->start_ns);
}

/* The period of the step, played many times in a row; of a window without steps the time from its
 * first device work to its last. */
static double play(struct ws_replay *r, const struct ws_whatif *change)
{
	double end_ns, begin_ns = INFINITY, period_ns = 0;

	rewind_streams(r);
	end_ns = play_once(r, change, 0);
	if (!r->repeats) {
		for (size_t i = 0; i < r->npieces; i++)
			begin_ns = fmin(begin_ns, r->begin_ns[i]);
		return end_ns - begin_ns;
	}
	for (int times = 0; times < 2; times++) {
		double settled_ns = 0, backlog_ns = 0, base_ns;

		for (int cycle = 1; cycle < CYCLES; cycle++) {
			base_ns = r->point_ns[r->tail] + r->between_ns;
			if (cycle == CYCLES - SETTLED) {
				settled_ns = end_ns;
				backlog_ns = end_ns - base_ns;
			}
			end_ns = play_once(r, change, base_ns);
		}
		period_ns = (end_ns - settled_ns) / SETTLED;
		base_ns = r->point_ns[r->tail] + r->between_ns;
		if (backlog_ns - (end_ns - base_ns) <= STEP_TOLERANCE * period_ns)
			break;
		/* The device catches up with the host. What was queued when the step was recorded
		 * will be gone in a loop that lasts. */
		for (size_t s = 0; s < r->nstreams; s++)
			r->stream_ns[s] = fmin(r->stream_ns[s], base_ns);
		end_ns = play_once(r, change, base_ns);
	}
	return period_ns;
}

/* --- one step, checked ------------------------------------------------------------------------ */

static void release(struct ws_replay *r)
{
	free(r->own_pauses.gap_ns);
	free(r->own_pauses.lag_ns);
	free(r->point);
	free(r->work);
	free(r->stream);
}

/* Everything of a window, ready to be played. An obstacle may say that it cannot be. */
static void read_window(struct ws_replay *r, size_t which)
{
	const struct ws_time_window *w = &r->windows->window[which];
	struct ws_arena temp = {0};
	double unlaunched_ns = 0, device_ns = 0;
	size_t migrations = 0;

	r->facts.step = w->step;
	r->repeats = w->step != WS_NONE;
	r->window_start_ns = r->start_ns = w->start_ns;
	r->window_end_ns = r->end_ns = w->end_ns;
	r->facts.recorded_ns = (double)(w->end_ns - w->start_ns);
	if (r->repeats) {
		const struct ws_model_step *step = &r->m->steps[w->step];

		r->start_ns = step->start_ns;
		r->end_ns = step->start_ns + step->total_ns;
		/* a window that begins after its step holds the host's time between the steps */
		if (which && w->start_ns > step->start_ns) {
			const struct ws_model_step *last = &r->m->steps[w[-1].step];

			r->between_ns =
			        fmax(0, (double)(step->start_ns - last->start_ns - last->total_ns));
		}
	}
	gather_pieces(r);
	if (!r->npieces) {
		r->facts.obstacle = "no device work was launched in it";
		return;
	}
	if (r->npieces > MOST_PIECES) {
		r->facts.obstacle = "the trace has no steps, and too much device work to be played "
		                    "as one";
		return;
	}
	gather_points(r, &temp);
	link_pieces(r, &temp);
	const uint8_t *blocks = find_blocking(r->m, &temp);
	const int64_t skew_ns = find_skew(r, blocks, &temp);

	/* from here on times of the device are by the host's clock */
	for (size_t i = 0; i < r->npieces; i++)
		r->work[i].start_ns -= skew_ns;
	for (size_t i = 0; i < r->nstreams; i++)
		if (r->stream[i].before_ns != INT64_MIN)
			r->stream[i].before_ns -= skew_ns;
	if (!r->repeats || r->window_start_ns > r->start_ns)
		r->window_start_ns -= skew_ns;
	if (!r->repeats || r->window_end_ns > r->end_ns)
		r->window_end_ns -= skew_ns;
	time_pieces(r, &temp);
	link_points(r, blocks, &temp);

	/* the order in which the replay plays points and pieces */
	const size_t n = r->npoints + r->npieces;

	struct node *node = ws_arena_array(&temp, n, sizeof(*node));
	WS_NEW(r->arena, r->order, n);
	for (uint32_t i = 0; i < r->npoints; i++)
		node[i] = (struct node){r->point[i].at_ns, i, r->point[i].is_end ? 2 : 0};
	for (uint32_t i = 0; i < r->npieces; i++) {
		const uint32_t launch = r->piece[i].launch, before = r->piece[i].before;
		int64_t at_ns = r->work[i].start_ns;

		/* clocks that disagree put a piece before its call: it is played behind it */
		if (launch != WS_NONE && r->point[launch].at_ns > at_ns)
			at_ns = r->point[launch].at_ns;
		if (before != WS_NONE && node[r->npoints + before].at_ns > at_ns)
			at_ns = node[r->npoints + before].at_ns;
		node[r->npoints + i] = (struct node){at_ns, (uint32_t)r->npoints + i, 1};
	}
	ws_sort(node, n, sizeof(*node), by_node);
	for (size_t i = 0; i < n; i++)
		r->order[i] = node[i].number;
	r->first_launch = WS_NONE;
	for (size_t i = 0; i < r->npieces; i++)
		if (r->piece[i].launch < r->first_launch)
			r->first_launch = r->piece[i].launch;
	r->last_end_ns = ws_piece_end(&r->work[r->by_end[r->npieces - 1]]);
	WS_NEW(r->arena, r->point_ns, r->npoints);
	WS_NEW(r->arena, r->begin_ns, r->npieces);
	WS_NEW(r->arena, r->end_of_piece_ns, r->npieces);
	WS_NEW(r->arena, r->stream_ns, r->nstreams);
	WS_NEW(r->arena, r->cause, r->npoints + r->npieces);
	for (size_t i = 0; i < r->npieces; i++) {
		device_ns += (double)r->work[i].dur_ns;
		unlaunched_ns += r->piece[i].launch == WS_NONE ? (double)r->work[i].dur_ns : 0;
		migrations += r->work[i].use == WS_USE_PAGING;
	}
	if (unlaunched_ns > MOST_UNLAUNCHED * device_ns)
		r->facts.obstacle = "too much device work has no record of its launch";
	else if ((double)migrations > MOST_MIGRATIONS * (double)r->npieces)
		r->facts.obstacle = "pages of managed memory migrated, and the kernel or the host "
		                    "that touched them is not recorded";
	r->facts.start_ns = r->start_ns;
	r->facts.npieces = r->npieces;
	r->facts.pieces = r->work;
	ws_arena_free(&temp);
}

/* Played once and unchanged, does all of the step happen when it did? */
static bool agrees(struct ws_replay *r)
{
	const double recorded_ns = r->facts.recorded_ns;
	const double end_of_work_ns = (double)ws_piece_end(&r->work[r->by_end[r->npieces - 1]]);
	/* a window of one clock is as long by either; behind the last device work of one without
	 * steps nothing is played */
	const double expected_ns = r->repeats ? (double)(r->window_end_ns - r->window_start_ns)
	                                      : end_of_work_ns - (double)r->window_start_ns;

	rewind_streams(r);
	double end_ns = play_once(r, &(struct ws_whatif){0}, 0) + (double)r->start_ns;
	r->facts.replayed_ns = recorded_ns + end_ns - (double)r->window_start_ns - expected_ns;
	if (fabs(r->facts.replayed_ns - recorded_ns) > STEP_TOLERANCE * recorded_ns)
		return false;
	for (size_t i = 0; i < r->npieces; i++)
		if (fabs(r->begin_ns[i] - (double)(r->work[i].start_ns - r->start_ns)) >
		    PIECE_TOLERANCE * recorded_ns)
			return false;
	return true;
}

/* How far values lie from their median, in the mean. */
static double spread(double *values, size_t n)
{
	const double median = ws_stat_median(values, n);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(values[i] - median);
	return sum / (double)n;
}

static void read_median_step(struct ws_replay *r)
{
	if (ws_model_on_cpu(r->m) == 2) {
		r->facts.obstacle = "some kernels ran on the CPU reference";
		return;
	}
	if (r->m->soundness.obstacle) {
		r->facts.obstacle = r->m->soundness.obstacle;
		return;
	}
	if (!r->windows->n || !r->sel->rows) {
		r->facts.obstacle = "there is no device work";
		return;
	}
	read_window(r, (size_t)(ws_windows_median(r->windows) - r->windows->window));
	if (r->facts.obstacle)
		return;
	r->facts.checked = 1;
	r->facts.passed = agrees(r);
	if (!r->facts.passed)
		r->facts.obstacle = "played again unchanged, the step does not take its recorded "
		                    "time: something that it waited for was not recorded";

	/* How many of some measured steps a replay reproduces. */
	const struct ws_windows *windows = r->windows;
	const size_t n = windows->n < MOST_CHECKED ? windows->n : MOST_CHECKED;
	struct ws_arena arena = {0};

	for (size_t i = 0; i < n && r->repeats; i++) {
		const size_t which = i * windows->n / n;
		struct ws_replay step = {.m = r->m,
		                         .sel = r->sel,
		                         .windows = windows,
		                         .arena = &arena,
		                         .pauses = r->pauses};

		if (windows->window[which].step == r->facts.step)
			continue;
		read_window(&step, which);
		r->facts.checked++;
		r->facts.passed += !step.facts.obstacle && agrees(&step);
		release(&step);
	}
	ws_arena_free(&arena);

	/* One pause in ten ends soon after the work by chance, and the time since the work has
	 * ended would then vary at least as much as the pauses do. */
	const struct pauses *p = r->pauses;
	bool has_one = false;

	for (size_t i = 0; i < r->npoints; i++)
		has_one |= r->point[i].hidden != WS_NONE;
	if (!has_one || 5 * p->nended < p->n)
		r->facts.hidden_waits = WS_NO_HIDDEN_WAITS;
	else if (p->nended >= LEAST_HIDDEN && 2 * p->nended >= p->n &&
	         2 * spread(p->lag_ns, p->nended) < spread(p->gap_ns, p->nended))
		r->facts.hidden_waits = WS_HIDDEN_WAITS;
	else
		r->facts.hidden_waits = WS_PERHAPS_HIDDEN_WAITS;
	for (int h = 0; h < 2; h++)
		r->period_ns[h] = play(r, &(struct ws_whatif){.hidden_waits = h});
}

struct ws_replay *ws_replay_new(const struct ws_model *m, const struct ws_selection *sel)
{
	struct ws_replay *r = ws_xarray(1, sizeof(*r));

	r->m = m;
	r->sel = sel;
	r->windows = ws_windows(m, sel);
	r->arena = &r->kept;
	r->pauses = &r->own_pauses;
	r->facts.step = WS_NONE;
	read_median_step(r);
	return r;
}

void ws_replay_free(struct ws_replay *r)
{
	if (!r)
		return;
	release(r);
	ws_arena_free(&r->kept);
	free(r);
}

static void free_result(void *replay)
{
	ws_replay_free(replay);
}

struct ws_replay *ws_replay_of(const struct ws_model *m, const struct ws_selection *sel)
{
	static const char key;
	const struct ws_selection *whole = ws_selection_whole(sel);
	struct ws_replay *r = ws_kept_result(whole, &key);

	if (!r) {
		r = ws_replay_new(m, whole);
		ws_keep_result(whole, &key, r, free_result);
	}
	return r;
}

const struct ws_replay_facts *ws_replay_facts(const struct ws_replay *r)
{
	return &r->facts;
}

double ws_replay_step_ns(struct ws_replay *r, const struct ws_whatif *change)
{
	struct ws_whatif asked = *change;

	if (r->facts.obstacle)
		return NAN;
	asked.hidden_waits |= r->facts.hidden_waits == WS_HIDDEN_WAITS;
	double saved_ns = r->period_ns[asked.hidden_waits] - play(r, &asked);
	return r->facts.recorded_ns - fmin(saved_ns, r->facts.recorded_ns);
}

/* --- the critical path ------------------------------------------------------------------------ */

static void add_stretch(struct ws_replay *r, size_t *capacity, struct ws_replay_stretch stretch)
{
	if (!(stretch.ns > 0))
		return;
	WS_GROW(r->path, r->npath + 1, *capacity);
	r->path[r->npath++] = stretch;
}

/* From the last node's end, back along what each waited for last, until the step began. */
static void trace_back(struct ws_replay *r, size_t *capacity)
{
	double at_ns = -INFINITY;
	uint32_t node = WS_NONE;

	for (uint32_t i = 0; i < r->npieces; i++)
		if (r->end_of_piece_ns[i] > at_ns) {
			at_ns = r->end_of_piece_ns[i];
			node = (uint32_t)r->npoints + i;
		}
	if (r->tail != WS_NONE && r->point_ns[r->tail] > at_ns)
		node = r->tail;
	while (node != WS_NONE) {
		const uint32_t cause = r->cause[node];
		const bool from_piece = cause != WS_NONE && cause >= r->npoints;
		const double from_ns = cause == WS_NONE ? NAN
		                       : from_piece     ? r->end_of_piece_ns[cause - r->npoints]
		                                        : r->point_ns[cause];

		if (node < r->npoints) {
			const struct point *p = &r->point[node];
			const enum ws_use of_gap = from_piece                    ? WS_USE_SYNC
			                           : 2 * p->data_ns > p->gap_ns  ? WS_USE_DATA
			                           : 2 * p->setup_ns > p->gap_ns ? WS_USE_SETUP
			                           : p->gap_ns <= WS_IDLE_LAUNCH_US * 1000
			                                   ? WS_USE_LAUNCH
			                                   : WS_USE_HOST;

			add_stretch(r, capacity,
			            (struct ws_replay_stretch){WS_NONE, p->range, of_gap,
			                                       isnan(from_ns) ? p->gap_ns
			                                                      : r->point_ns[node] -
			                                                                from_ns});
		} else {
			const uint32_t i = node - (uint32_t)r->npoints;
			const double began_ns = r->begin_ns[i];

			add_stretch(r, capacity,
			            (struct ws_replay_stretch){i, WS_NONE,
			                                       (enum ws_use)r->work[i].use,
			                                       r->end_of_piece_ns[i] - began_ns});
			if (!isnan(from_ns))
				add_stretch(r, capacity,
				            (struct ws_replay_stretch){
				                    WS_NONE, WS_NONE,
				                    !from_piece ? WS_USE_LAUNCH
				                    : began_ns - from_ns <= WS_IDLE_QUEUE_US * 1000
				                            ? WS_USE_DEVICE
				                    : cause - r->npoints == r->piece[i].neighbour
				                            ? WS_USE_WAIT
				                            : WS_USE_UNKNOWN,
				                    began_ns - from_ns});
		}
		node = cause;
	}
}

const struct ws_replay_stretch *ws_replay_critical_path(struct ws_replay *r, size_t *n)
{
	const struct ws_whatif unchanged = {.hidden_waits =
	                                            r->facts.hidden_waits == WS_HIDDEN_WAITS};
	size_t capacity = 0;

	*n = 0;
	if (r->facts.obstacle)
		return NULL;
	if (!r->npath) {
		rewind_streams(r);
		play_once(r, &unchanged, 0);
		trace_back(r, &capacity);
		struct ws_replay_stretch *grown = r->path;
		WS_NEW(r->arena, r->path, r->npath);
		for (size_t i = 0; i < r->npath; i++)
			r->path[i] = grown[r->npath - 1 - i];
		free(grown);
	}
	*n = r->npath;
	return r->path;
}
