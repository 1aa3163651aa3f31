/*
 * Reads one trace per rank: steps and collectives of each rank; matches calls of one collective;
 * aligns clocks by them; finds which rank waited for which.
 */
#include <ctype.h>

#include "report/page/page.h"
#include "report/ranks/ranks.h"
#include "report/tables/tables.h"

/* --- the ranks of one run, as read, matched and aligned --------------------------------------- */

enum ws_collective_op {
	WS_OP_ALL_REDUCE,
	WS_OP_ALL_GATHER,
	WS_OP_REDUCE_SCATTER,
	WS_OP_ALL_TO_ALL,
	WS_OP_ASYMMETRIC, /* broadcast, send, …: its ranks neither begin nor end together */
};

/* Attributes of a call, equal on all ranks of its group except for sizes. */
struct ws_call_kind {
	uint32_t name, group, ranks; /* texts; 0 = not recorded */
	uint32_t dtype;
	enum ws_collective_op op;
	uint64_t group_size; /* 0 = not recorded */
	double bytes;        /* of the whole message, as nccl-tests count it; NaN = not recorded */
};

/* A collective on one rank: its kernel. */
struct ws_rank_call {
	uint32_t rank; /* index */
	uint32_t key;  /* text of name, group and ranks: only calls with equal keys are matched */
	int64_t slot;  /* recorded sequence number, else number of the step */
	bool has_sequence;
	uint32_t ordinal;         /* among those of its key and slot, by start */
	uint32_t step;            /* index among the steps of its rank */
	int64_t start_ns, end_ns; /* since 1970 by the rank's clock */
	/* for how long the devices of its rank had been idle when it began, since the recording
	 * began; INT64_MIN: not recorded */
	int64_t idle_ns;
	double waiting_ns; /* time waiting for the last rank, after aligning clocks */
	struct ws_call_kind kind;
	uint32_t kind_number; /* equal for calls of one name, group, ranks, dtype and size */
	uint32_t meeting;     /* index, WS_NONE: unmatched */
	uint32_t previous;    /* matched call of its rank that began before it; WS_NONE */
};

/* Times of a step of a rank. */
enum ws_rank_time {
	WS_RANK_STEP, /* the whole step */
	WS_RANK_COMPUTE,
	WS_RANK_COMM,
	WS_RANK_EXPOSED,
	WS_RANK_WAITING, /* waiting in collectives for the last rank to arrive */
	WS_RANK_CAUSED,  /* waiting of others while this rank was the last */
	WS_RANK_TIMES
};

struct ws_rank_step {
	int64_t number; /* the program's number, the same on all ranks */
	double ns[WS_RANK_TIMES];
	uint32_t calls; /* judged ones */
	bool is_common; /* all ranks recorded it: means cover these steps */
};

struct ws_rank {
	int64_t number; /* as recorded, else the position among the traces */
	bool has_number;
	bool is_workless; /* its trace has neither device work, nor operations, nor steps */
	uint32_t given;   /* position among the traces */
	uint32_t name, device, dtype; /* texts */
	int64_t base_ns, world_size;  /* world_size 0 = not recorded */
	int64_t recorded_ns, span_ns; /* start since 1970, and duration; -1 = unknown */
	bool has_steps;
	/* the step of the timeline, as its clock has it: its window, and when it computed */
	uint32_t shown; /* index among its steps; WS_NONE: it has none of that number */
	struct ws_span shown_window, *computed;
	size_t ncomputed;
	struct ws_rank_step *steps;
	size_t nsteps, first_step; /* first_step: index in the list of all ranks' steps */
	uint64_t comm_kernels;
	uint64_t noutside; /* communication outside measured steps */
	/* after aligning the clocks; NaN = unknown */
	double offset_ns, residual_ns;
	uint32_t component; /* ranks of other components share no collective with it */
	uint64_t matched;   /* its calls in meetings of several ranks, */
	uint64_t judged;    /* those that all members of their group recorded, */
	uint64_t last;      /* and those at which it surely was the last */
	/* from here on: by ws_ranks_make */
	double mean_ns[WS_RANK_TIMES]; /* of common steps, or all if none; NaN without steps */
	size_t ncommon;
	double slower; /* its computation over the median of ranks of its dtype, minus 1; NaN */
	double caused_share; /* share of all waiting, in percent, while it was the last rank */
	size_t peers;        /* ranks that share collectives with it */
};

/* The same collective on several ranks: calls first .. first + n - 1. */
struct ws_meeting {
	size_t first;
	uint32_t n;
	bool is_judged; /* several ranks, and all members of the group, recorded it */
	uint32_t first_rank, last_rank; /* calls; WS_NONE = unknown */
	double skew_ns;                 /* between first and last arrival */
	double residual_ns;             /* difference of the ends by aligned clocks */
	double transfer_ns;             /* time of the rank that waited least */
	/* part of the skew for which the host of the last rank was late: the time for which the
	 * rank's devices were idle, since the previous collective of both, beyond that of the first
	 * rank; NaN = unknown */
	double host_ns;
	uint32_t next_rank; /* the one that arrived before the last; WS_NONE: as last_rank */
	double lead_ns;     /* by how much the last one was later than that */
	/* the shortest transfer of calls of its kind with nearly no skew, like this one if
	 * has_no_skew; NaN = there is none, or no size was recorded */
	double baseline_ns;
	bool has_no_skew;
};

struct ws_ranks {
	struct ws_texts texts;
	struct ws_rank *ranks; /* by number, after matching */
	size_t n, capacity;
	size_t nsteps;              /* steps of all ranks */
	int64_t world_size;         /* the largest of any trace; 0 = not recorded */
	int64_t shown_step;         /* number of the step of the timeline */
	struct ws_rank_call *calls; /* matched calls together, after matching */
	size_t ncalls, calls_capacity;
	struct ws_meeting *meetings;
	size_t nmeetings, meetings_capacity;
	const char **failed; /* why traces could not be read */
	size_t nfailed, failed_capacity;
	struct ws_bytes *launchers; /* names of traces without a rank */
	size_t nlaunchers;
	uint64_t unmatched; /* calls that could not be matched with certainty */
	double waiting_ns;  /* of all ranks and steps */
	bool no_groups;     /* some collective's group is not recorded */
	/* over judged calls: of those with a sure last rank that has met the first before; of those
	 * with a baseline */
	double skew_ns, host_ns, excess_ns, of_baseline_ns;
	size_t nlate, nbaselines;
	/* from here on: by ws_ranks_make */
	double all_ns;               /* time of all calls, */
	double calls_ns, judged_ns;  /* in common steps; of judged calls */
	uint64_t judged, asymmetric; /* judged calls; calls that cannot show a late rank */
	uint64_t lacking;            /* calls that a rank of their group did not record … */
	size_t lacking_meetings;     /* … counted once for all ranks */
	size_t nmatched_meetings, njudged_meetings; /* of several ranks */
	size_t ncommon;                             /* largest number of common steps of a rank */
	double mean_ns[WS_RANK_TIMES]; /* over the ranks with steps; NaN: there are none */
	const struct ws_rank *last;    /* the rank that caused the most waiting; NULL: none */
	/* of last: steps with nearly all waiting that it caused, one of them; the rank that is most
	 * often the last but one when it is last, and how much less the others would wait per step
	 * if it came with that one */
	size_t late_steps;
	int64_t late_step;
	const struct ws_rank *next;
	double lead_ns;
	const struct ws_rank *straggler; /* last, if it caused most of all waiting and most of the
	                                    communication is judged; else NULL */
	const struct ws_rank
	        *least_sure; /* the rank with the largest residual; NULL: no clocks are aligned */
	char alarm[512];
	struct ws_arena arena;
};

struct host_call;

struct reader {
	struct ws_ranks *r;
	struct ws_rank *rank;
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_selection sel;
	const struct ws_windows *windows;
	struct ws_spans busy, compute, comm;
	struct ws_spans worked; /* device work of any kind */
	int64_t *idle_before;   /* of each span: the idle time since the first */
	struct host_call *host; /* if no kernel communicates: those of the host, by begin */
	size_t nhost;
};

/* --- recognising collectives ---------------------------------------------------------------- */

/* By the letters of the name only: all_reduce_, AllReduce and allreduce are the same operation. */
static enum ws_collective_op op_of(struct ws_bytes name)
{
	static const struct {
		const char *part;
		enum ws_collective_op op;
	} ops[] = {
	        {"allreduce", WS_OP_ALL_REDUCE},         {"crossdevicereduce", WS_OP_ALL_REDUCE},
	        {"barrier", WS_OP_ALL_REDUCE},           {"allgather", WS_OP_ALL_GATHER},
	        {"reducescatter", WS_OP_REDUCE_SCATTER}, {"alltoall", WS_OP_ALL_TO_ALL},
	};

	const char *p = name.ptr;
	char letters[256];
	size_t n = 0;

	for (size_t i = 0; i < name.len && n + 1 < sizeof(letters); i++) {
		const char c = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);

		if (c >= 'a' && c <= 'z')
			letters[n++] = c;
	}
	letters[n] = '\0';
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strstr(letters, ops[i].part))
			return ops[i].op;
	return WS_OP_ASYMMETRIC;
}

/* Bytes per element by PyTorch's name of its type; NaN = unknown name. */
static double element_bytes(struct ws_bytes dtype)
{
	static const struct {
		const char *name;
		double bytes;
	} types[] = {{"Float", 4},  {"Half", 2},   {"BFloat16", 2},     {"Double", 8},
	             {"Int", 4},    {"Long", 8},   {"Short", 2},        {"Byte", 1},
	             {"Char", 1},   {"Bool", 1},   {"ComplexFloat", 8}, {"ComplexDouble", 16},
	             {"UInt16", 2}, {"UInt32", 4}, {"UInt64", 8}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ws_name_is(dtype, types[i].name))
			return types[i].bytes;
	return dtype.len > 6 && !memcmp(dtype.ptr, "Float8", 6) ? 1 : NAN;
}

/* Is this a framework's or library's name of communication: nccl:all_to_all, c10d::allreduce_,
 * ncclAllReduce? Names of the program's own ranges do not count. */
static bool names_communication(struct ws_bytes name)
{
	static const char *const begins[] = {"nccl", "rccl", "c10d::", "_c10d_functional::"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ws_bytes_begin(name, begins[i]))
			return true;
	return false;
}

static bool names_collective(struct ws_bytes name)
{
	return names_communication(name) && op_of(name) != WS_OP_ASYMMETRIC;
}

/* The innermost range or operation around the launch that names a collective, because a collective
 * may run as a kernel of sends and receives. WS_TEXT_EMPTY = none. */
static uint32_t collective_around(const struct ws_model *m, const struct ws_joined_kernel *k)
{
	for (uint32_t at = k->kind->path; at != WS_NONE; at = m->ranges.paths[at].parent)
		if (names_collective(m->texts[m->ranges.paths[at].name]))
			return m->ranges.paths[at].name;
	for (uint32_t at = k->cpu_op; at != WS_NONE; at = m->cpu_ops.tree.parent[at])
		if (names_collective(m->texts[m->cpu_ops.tree.name[at]]))
			return m->cpu_ops.tree.name[at];
	return WS_TEXT_EMPTY;
}

/* Adds a call with its rank, times and launch. step: WS_NONE: the one during which it began. name:
 * of one of which nothing else is known. */
static void add_call(struct reader *c, struct ws_rank_call call, uint32_t step,
                     const struct ws_collective *known, struct ws_bytes name)
{
	const struct ws_model *m = c->m;
	struct ws_ranks *r = c->r;
	const int64_t start_ns = call.start_ns - c->rank->base_ns;

	c->rank->comm_kernels++;
	call.rank = (uint32_t)(r->n - 1);
	call.step = WS_NONE;
	for (uint32_t i = 0; i < c->rank->nsteps && step != WS_NONE && call.step == WS_NONE; i++)
		if (c->windows->window[i].step == step)
			call.step = i;
	for (uint32_t i = 0; i < c->rank->nsteps && call.step == WS_NONE; i++)
		if (start_ns >= c->windows->window[i].start_ns &&
		    start_ns < c->windows->window[i].end_ns)
			call.step = i;
	if (call.step == WS_NONE) {
		c->rank->noutside++;
		return;
	}
	call.has_sequence = known && known->sequence >= 0;
	call.slot = call.has_sequence ? known->sequence : c->rank->steps[call.step].number;
	call.kind.bytes = NAN;
	if (known) {
		call.kind.op = op_of(m->texts[known->name]);
		call.kind.group_size = known->group_size;

		const uint64_t elements =
		        call.kind.op == WS_OP_ALL_GATHER ? known->out_elements : known->in_elements;

		if (known->bytes >= 0)
			call.kind.bytes = (double)known->bytes;
		else if (elements || !known->of_host)
			call.kind.bytes = element_bytes(m->texts[known->dtype]) * (double)elements;
		call.kind.name = ws_texts_add(&r->texts, m->texts[known->name]);
		call.kind.group = ws_texts_add(&r->texts, m->texts[known->group]);
		call.kind.ranks = ws_texts_add(&r->texts, m->texts[known->ranks]);
		call.kind.dtype = ws_texts_add(&r->texts, m->texts[known->dtype]);
	} else {
		call.kind.op = op_of(name);
		call.kind.name = ws_texts_add(&r->texts, name);
	}
	r->no_groups |= !call.kind.group && !call.kind.ranks;
	/* sizes and types may differ between ranks: they are not in the key */
	call.key = ws_texts_add(&r->texts,
	                        (struct ws_bytes){(uint32_t[]){call.kind.name, call.kind.group,
	                                                       call.kind.ranks},
	                                          3 * sizeof(uint32_t)});
	WS_GROW(r->calls, r->ncalls + 1, r->calls_capacity);
	r->calls[r->ncalls++] = call;
}

static void add_kernel_call(struct reader *c, const struct ws_joined_kernel *k)
{
	const struct ws_model *m = c->m;
	const uint32_t around = collective_around(m, k);
	struct ws_rank_call call = {
	        .start_ns = c->rank->base_ns + k->start_ns,
	        .end_ns = c->rank->base_ns + k->start_ns + k->dur_ns,
	};
	const struct ws_span *span = c->worked.span;
	size_t before;

	WS_COUNT_FIRST(before, c->worked.n, span[before].start_ns <= k->start_ns);
	call.idle_ns = before ? c->idle_before[before - 1] : INT64_MIN;
	add_call(c, call, k->step, ws_joined_collective(m, k),
	         around != WS_TEXT_EMPTY
	                 ? m->texts[around]
	                 : ws_model_short_name(m, m->configs[k->kind->config].name));
}

/* --- collectives of the host: gloo --- */

/* The range in which gloo runs a collective, on a thread of its own. */
struct host_call {
	int64_t start_ns, end_ns;
	uint32_t name;  /* text */
	uint32_t known; /* collective; WS_NONE: unknown */
};

static int by_call_time(const void *pa, const void *pb)
{
	const struct host_call *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Finds them in order. The program called for them in the same order, so the n-th range of an
 * operation is that of its n-th call, if there are as many. */
static void find_host_calls(struct reader *c)
{
	const struct ws_model *m = c->m;
	size_t capacity = 0;

	WS_EACH_RANGE(c->rows, i, range) {
		const uint32_t name = m->ranges.paths[range->context->path].name;

		if (range->is_open || !ws_bytes_begin(m->texts[name], "gloo:"))
			continue;
		WS_GROW(c->host, c->nhost + 1, capacity);
		c->host[c->nhost++] =
		        (struct host_call){range->start_ns, range->end_ns, name, WS_NONE};
	}
	ws_sort(c->host, c->nhost, sizeof(*c->host), by_call_time);
	for (int op = 0; op <= WS_OP_ASYMMETRIC; op++) {
		size_t ncalled = 0, nrun = 0, next = 0;

		struct host_call *called = ws_xarray(m->ncollectives + 1, sizeof(*called));
		for (uint32_t i = 0; i < m->ncollectives; i++)
			if (m->collectives[i].of_host &&
			    op_of(m->texts[m->collectives[i].name]) == (enum ws_collective_op)op)
				called[ncalled++] =
				        (struct host_call){.start_ns = m->collectives[i].time_ns,
				                           .known = i};
		ws_sort(called, ncalled, sizeof(*called), by_call_time);
		for (size_t i = 0; i < c->nhost; i++)
			nrun += op_of(m->texts[c->host[i].name]) == (enum ws_collective_op)op;
		for (size_t i = 0; i < c->nhost && nrun == ncalled; i++)
			if (op_of(m->texts[c->host[i].name]) == (enum ws_collective_op)op)
				c->host[i].known = called[next++].known;
		free(called);
	}
}

static void add_host_call(struct reader *c, const struct host_call *h)
{
	const struct ws_rank_call call = {
	        .start_ns = c->rank->base_ns + h->start_ns,
	        .end_ns = c->rank->base_ns + h->end_ns,
	        .idle_ns = INT64_MIN,
	};

	add_call(c, call, WS_NONE, h->known == WS_NONE ? NULL : &c->m->collectives[h->known],
	         c->m->texts[h->name]);
}

static void add_computation(struct reader *c, int64_t start_ns, int64_t end_ns)
{
	if (end_ns > start_ns) {
		ws_spans_add(&c->busy, start_ns, end_ns);
		ws_spans_add(&c->compute, start_ns, end_ns);
	}
}

/* Without device work a rank computes in operations of its host, except where they communicate. */
static void find_host_computation(struct reader *c)
{
	const struct ws_op_tree *ops = &c->m->cpu_ops.tree;
	int64_t from_ns = 0, end_ns = 0; /* rest of an outermost operation */

	for (uint32_t i = 0; i < ops->n; i++) {
		if (ops->parent[i] == WS_NONE) {
			add_computation(c, from_ns, end_ns);
			from_ns = ops->start_ns[i];
			end_ns = ops->end_ns[i];
		}
		if (names_communication(c->m->texts[ops->name[i]]) && ops->start_ns[i] >= from_ns) {
			add_computation(c, from_ns, ops->start_ns[i]);
			from_ns = ops->end_ns[i];
		}
	}
	add_computation(c, from_ns, end_ns);
}

/* --- time -------------------------------------------------------------------------------- */

static bool is_in_window(const struct ws_span *s, const struct ws_time_window *w)
{
	return ws_span_overlap(s->start_ns, s->end_ns, w->start_ns, w->end_ns) > 0;
}

void ws_ranks_add(struct ws_ranks *r, const struct ws_model *m, struct ws_joined_rows *rows)
{
	struct reader c = {.r = r, .m = m};
	struct ws_rank *rank;

	WS_GROW(r->ranks, r->n + 1, r->capacity);
	c.rank = rank = &r->ranks[r->n++];
	*rank = (struct ws_rank){.number = ws_model_rank(m),
	                         .world_size = ws_model_world_size(m),
	                         .base_ns = m->file.base_ns,
	                         .recorded_ns = ws_model_recorded_ns(m),
	                         .span_ns = m->end_ns - m->begin_ns,
	                         .name = ws_texts_add_str(&r->texts, m->name),
	                         .dtype = ws_texts_add(&r->texts, ws_model_fact(m, "dtype")),
	                         .offset_ns = NAN,
	                         .residual_ns = NAN};
	rank->has_number = rank->number >= 0;
	rank->is_workless = !m->nsteps && !ws_model_has_work(m) && !m->cpu_ops.tree.n;
	ws_select_rows(m, rows, NULL, &c.sel);
	c.rows = c.sel.rows;
	c.windows = ws_windows(m, &c.sel);
	rank->nsteps = c.windows->n;
	WS_EACH_KERNEL(c.rows, i, k) {
		const int64_t start = k->start_ns, end = start + k->dur_ns;

		if (!k->kind->timed)
			continue;
		ws_spans_cover(&c.busy, start, end);
		ws_spans_cover(&c.worked, start, end);
		ws_spans_cover(k->kind->class == WS_TEXT_COMM ? &c.comm : &c.compute, start, end);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		if (!w->no_time)
			ws_spans_add(&c.worked, w->start_ns, w->start_ns + w->dur_ns);
		/* the kernels of a graph traced as a whole are unknown; its time counts as
		 * computing */
		if (w->kind != WS_WORK_GRAPH || w->no_time)
			continue;
		ws_spans_add(&c.busy, w->start_ns, w->start_ns + w->dur_ns);
		ws_spans_add(&c.compute, w->start_ns, w->start_ns + w->dur_ns);
	}
	if (!c.comm.n)
		find_host_calls(&c);
	if (!c.worked.n)
		find_host_computation(&c);
	for (size_t i = 0; i < c.nhost; i++) {
		ws_spans_add(&c.busy, c.host[i].start_ns, c.host[i].end_ns);
		ws_spans_add(&c.comm, c.host[i].start_ns, c.host[i].end_ns);
	}
	ws_spans_merge(&c.busy);
	ws_spans_merge(&c.worked);
	c.idle_before = ws_xarray(c.worked.n + 1, sizeof(*c.idle_before));
	for (size_t i = 1; i < c.worked.n; i++)
		c.idle_before[i] = c.idle_before[i - 1] + c.worked.span[i].start_ns -
		                   c.worked.span[i - 1].end_ns;
	ws_spans_merge(&c.compute);
	ws_spans_merge(&c.comm);
	WS_NEW(&c.r->arena, rank->steps, rank->nsteps);
	for (size_t i = 0; i < rank->nsteps; i++) {
		const struct ws_time_window *w = &c.windows->window[i];
		struct ws_rank_step *s = &rank->steps[i];

		rank->has_steps |= w->step != WS_NONE;
		s->number = w->step == WS_NONE ? 0 : c.m->steps[w->step].number;
		s->ns[WS_RANK_STEP] = (double)(w->end_ns - w->start_ns);
		s->ns[WS_RANK_COMPUTE] =
		        (double)ws_spans_inside(&c.compute, w->start_ns, w->end_ns);
		s->ns[WS_RANK_COMM] = (double)ws_spans_inside(&c.comm, w->start_ns, w->end_ns);
		s->ns[WS_RANK_EXPOSED] = (double)ws_spans_inside(&c.busy, w->start_ns, w->end_ns) -
		                         s->ns[WS_RANK_COMPUTE];
	}
	/* The timeline has one step of all ranks: the median one of the first that was read. */
	if (rank->nsteps && r->n == 1)
		r->shown_step =
		        rank->steps[ws_windows_median(c.windows) - c.windows->window].number;
	rank->shown = WS_NONE;
	for (uint32_t i = 0; i < rank->nsteps && rank->shown == WS_NONE; i++)
		if (rank->steps[i].number == r->shown_step)
			rank->shown = i;
	if (rank->shown != WS_NONE) {
		const struct ws_time_window *w = &c.windows->window[rank->shown];
		size_t n = 0;

		rank->shown_window =
		        (struct ws_span){rank->base_ns + w->start_ns, rank->base_ns + w->end_ns};
		for (size_t i = 0; i < c.compute.n; i++)
			n += is_in_window(&c.compute.span[i], w);
		WS_NEW(&r->arena, rank->computed, n);
		for (size_t i = 0; i < c.compute.n; i++) {
			const struct ws_span *s = &c.compute.span[i];

			if (is_in_window(s, w))
				rank->computed[rank->ncomputed++] = (struct ws_span){
				        rank->base_ns + (s->start_ns > w->start_ns ? s->start_ns
				                                                   : w->start_ns),
				        rank->base_ns +
				                (s->end_ns < w->end_ns ? s->end_ns : w->end_ns)};
		}
	}
	WS_EACH_KERNEL(c.rows, i, k) {
		const uint32_t device = m->configs[k->kind->config].device;

		if (!i && device != WS_NONE)
			rank->device = ws_texts_add(&r->texts, m->texts[m->devices[device].name]);
		if (k->kind->class == WS_TEXT_COMM && k->kind->timed)
			add_kernel_call(&c, k);
	}
	for (size_t i = 0; i < c.nhost; i++)
		add_host_call(&c, &c.host[i]);
	free(c.host);
	ws_selection_release(&c.sel);
	ws_spans_release(&c.busy);
	ws_spans_release(&c.worked);
	free(c.idle_before);
	ws_spans_release(&c.compute);
	ws_spans_release(&c.comm);
}

void ws_ranks_add_failed(struct ws_ranks *r, const char *why)
{
	WS_GROW(r->failed, r->nfailed + 1, r->failed_capacity);
	r->failed[r->nfailed++] = ws_arena_copy(&r->arena, why, strlen(why));
}

/* --- which calls are one collective -------------------------------------------------------
 *
 * Calls match by the sequence number in their group if it was recorded; else by step and order in
 * the step, if all ranks have as many calls of that kind. Recordings of several ranks begin and
 * end at different times, so the order alone proves nothing.
 */

static int by_number(const void *pa, const void *pb)
{
	const struct ws_rank *a = pa, *b = pb;

	WS_ORDER_BY(a->number, b->number);
	return (a->given > b->given) - (a->given < b->given);
}

/* Ranks of one run are recorded at about one time; clocks of machines differ by less than this. */
#define APART_NS (INT64_C(3600) * 1000000000)

/* Sorts the ranks by number, or as they were given if a trace lacks its number. */
static enum ws_status number_ranks(struct ws_ranks *r, struct ws_err *err)
{
	uint32_t *place; /* rank as given -> by number */
	bool known = true;

	/* A trace that says no rank and did nothing, beside traces of ranks, is of what started
	 * them. */
	bool numbers = false;
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		numbers |= r->ranks[i].has_number;
		if (r->ranks[i].world_size > r->world_size)
			r->world_size = r->ranks[i].world_size;
	}
	WS_NEW(&r->arena, r->launchers, r->n);
	for (size_t i = 0; i < r->n && numbers; i++) {
		const struct ws_rank rank = r->ranks[i];

		if (!rank.has_number && rank.is_workless) {
			r->launchers[r->nlaunchers++] = ws_texts_get(&r->texts, rank.name);
			continue;
		}
		for (size_t c = 0; c < r->ncalls; c++)
			if (r->calls[c].rank == i)
				r->calls[c].rank = (uint32_t)kept;
		r->ranks[kept++] = rank;
	}
	r->n = numbers ? kept : r->n;
	WS_NEW(&r->arena, place, r->n);
	for (size_t i = 0; i < r->n; i++)
		known &= r->ranks[i].has_number;
	for (uint32_t i = 0; i < r->n; i++) {
		r->ranks[i].given = i;
		if (!known)
			r->ranks[i].number = i;
		r->ranks[i].has_number = known;
	}
	ws_sort(r->ranks, r->n, sizeof(*r->ranks), by_number);
	for (uint32_t i = 0; i < r->n; i++)
		place[r->ranks[i].given] = i;
	for (size_t i = 0; i < r->ncalls; i++)
		r->calls[i].rank = place[r->calls[i].rank];

	/* Can each two be ranks of one run? */
	for (size_t i = 1; i < r->n; i++) {
		const struct ws_rank *a = &r->ranks[i - 1], *b = &r->ranks[i];
		const struct ws_bytes of_a = ws_texts_get(&r->texts, a->name);
		const struct ws_bytes of_b = ws_texts_get(&r->texts, b->name);
		const struct ws_rank *first = a->recorded_ns <= b->recorded_ns ? a : b;
		const int64_t apart_ns = (first == a ? b : a)->recorded_ns - first->recorded_ns;

		WS_FAIL_IF(a->number == b->number, err, USAGE,
		           "'%.*s' and '%.*s' are both of rank %" PRId64
		           ": give one trace per rank, of one run",
		           WS_SHOWN(of_a), WS_SHOWN(of_b), a->number);
		WS_FAIL_IF(a->world_size && b->world_size && a->world_size != b->world_size, err,
		           USAGE,
		           "'%.*s' is of a run of %" PRId64 " ranks, '%.*s' of one of %" PRId64
		           ": give the traces of one run",
		           WS_SHOWN(of_a), a->world_size, WS_SHOWN(of_b), b->world_size);
		WS_FAIL_IF(first->recorded_ns > 0 && apart_ns - first->span_ns > APART_NS, err,
		           USAGE,
		           "'%.*s' and '%.*s' were recorded %s apart: give the traces of one run",
		           WS_SHOWN(of_a), WS_SHOWN(of_b), WS_SHOWN_TIME((double)apart_ns));
	}
	return WS_OK;
}

/* Calls that are equal here, and in their ordinal, may be one collective. */
static int compare_slots(const struct ws_rank_call *a, const struct ws_rank_call *b)
{
	WS_ORDER_BY(a->key, b->key);
	if (a->has_sequence != b->has_sequence)
		return a->has_sequence ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int by_rank(const void *pa, const void *pb)
{
	const struct ws_rank_call *a = pa, *b = pb;

	WS_ORDER_BY(compare_slots(a, b), 0);
	WS_ORDER_BY(a->rank, b->rank);
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_ordinal(const void *pa, const void *pb)
{
	const struct ws_rank_call *a = pa, *b = pb;

	WS_ORDER_BY(compare_slots(a, b), 0);
	WS_ORDER_BY(a->ordinal, b->ordinal);
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Number of ranks that make a call of this kind; those of the whole run if its group is not
 * recorded. */
static size_t members_of(const struct ws_ranks *r, const struct ws_call_kind *kind)
{
	const struct ws_bytes list = ws_texts_get(&r->texts, kind->ranks);
	const char *text = list.ptr;
	const bool is_whole = !memmem(text, list.len, "...", 3);
	size_t listed = 0; /* how many numbers stand in "[0, 1, 4]" */

	for (size_t i = 0; i < list.len && is_whole; i++)
		listed += isdigit((unsigned char)text[i]) &&
		          !(i && isdigit((unsigned char)text[i - 1]));
	return listed                          ? listed
	       : kind->group_size              ? kind->group_size
	       : r->world_size > (int64_t)r->n ? (size_t)r->world_size
	                                       : r->n;
}

struct of_rank {
	uint32_t call, rank;
	int64_t start_ns;
};

static int by_rank_and_time(const void *pa, const void *pb)
{
	const struct of_rank *a = pa, *b = pb;

	WS_ORDER_BY(a->rank, b->rank);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->call > b->call) - (a->call < b->call);
}

static void match_calls(struct ws_ranks *r)
{
	if (r->ncalls)
		ws_sort(r->calls, r->ncalls, sizeof(*r->calls), by_rank);
	for (size_t i = 0; i < r->ncalls; i++) {
		const struct ws_rank_call *before = i ? &r->calls[i - 1] : NULL;

		if (before && !compare_slots(before, &r->calls[i]) &&
		    before->rank == r->calls[i].rank)
			r->calls[i].ordinal = before->ordinal + 1;
	}
	if (r->ncalls)
		ws_sort(r->calls, r->ncalls, sizeof(*r->calls), by_ordinal);
	for (size_t i = 0, next; i < r->ncalls; i = next) {
		for (next = i + 1;
		     next < r->ncalls && !compare_slots(&r->calls[i], &r->calls[next]);)
			next++;
		if (r->calls[i].kind.op == WS_OP_ASYMMETRIC)
			continue;
		/* do all ranks have equal numbers of the calls? */
		size_t nranks = 0;

		while (i + nranks < next && r->calls[i + nranks].ordinal == 0)
			nranks++;
		if (!nranks || (next - i) % nranks != 0 ||
		    r->calls[next - 1].ordinal + 1 != (next - i) / nranks) {
			r->unmatched += next - i;
			continue;
		}
		for (size_t first = i, end; first < next; first = end) {
			const struct ws_rank_call *call = &r->calls[first];

			for (end = first + 1; end < next && r->calls[end].ordinal == call->ordinal;)
				end++;
			WS_GROW(r->meetings, r->nmeetings + 1, r->meetings_capacity);
			r->meetings[r->nmeetings++] =
			        (struct ws_meeting){.first = first,
			                            .n = (uint32_t)(end - first),
			                            .is_judged = end - first > 1 &&
			                                         end - first >=
			                                                 members_of(r, &call->kind),
			                            .first_rank = WS_NONE,
			                            .last_rank = WS_NONE,
			                            .next_rank = WS_NONE,
			                            .skew_ns = NAN,
			                            .residual_ns = NAN,
			                            .transfer_ns = NAN,
			                            .host_ns = NAN,
			                            .baseline_ns = NAN};
		}
	}

	/* Calls that were matched, and of each the one before it on its rank. */
	struct of_rank *by_time = ws_xarray(r->ncalls + 1, sizeof(*by_time));
	size_t n = 0;

	for (size_t i = 0; i < r->ncalls; i++)
		r->calls[i].meeting = r->calls[i].previous = WS_NONE;
	for (uint32_t i = 0; i < r->nmeetings; i++)
		for (uint32_t k = 0; k < r->meetings[i].n; k++) {
			struct ws_rank_call *call = &r->calls[r->meetings[i].first + k];

			call->meeting = i;
			by_time[n++] = (struct of_rank){(uint32_t)(call - r->calls), call->rank,
			                                call->start_ns};
		}
	ws_sort(by_time, n, sizeof(*by_time), by_rank_and_time);
	for (size_t i = 1; i < n; i++)
		if (by_time[i].rank == by_time[i - 1].rank)
			r->calls[by_time[i].call].previous = by_time[i - 1].call;
	free(by_time);
}

/* --- clocks ---------------------------------------------------------------------------------
 *
 * The ranks of a symmetric collective end it together, so the ends of collectives align the clocks
 * of several machines. Aligned clocks show which rank waited for which.
 */

/* Maximum number of rounds; several are needed for clocks that only a chain of collectives
 * connects. */
#define ROUNDS    200
#define ENOUGH_NS 0.5

struct aligner {
	struct ws_ranks *r;
	int64_t epoch_ns; /* times count from here, so that doubles hold them */
	double *middle;   /* by meeting: the mean of its ends by aligned clocks */
	/* deviations of rank r begin at first[r] */
	size_t *first;
	int64_t *deviation;
};

static double end_of(const struct aligner *a, const struct ws_rank_call *c)
{
	return (double)(c->end_ns - a->epoch_ns) - a->r->ranks[c->rank].offset_ns;
}

static uint32_t root_of(const struct ws_ranks *r, uint32_t rank)
{
	while (r->ranks[rank].component != rank)
		rank = r->ranks[rank].component;
	return rank;
}

/* Deviation of each end from the mean of its meeting. */
static void find_deviations(struct aligner *a, size_t *filled)
{
	struct ws_ranks *r = a->r;

	for (size_t i = 0; i < r->n; i++)
		filled[i] = a->first[i];
	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];
		const struct ws_rank_call *call = &r->calls[meeting->first];
		double sum = 0;

		if (meeting->n < 2)
			continue;
		for (uint32_t k = 0; k < meeting->n; k++)
			sum += end_of(a, &call[k]);
		a->middle[i] = sum / meeting->n;
		for (uint32_t k = 0; k < meeting->n; k++)
			a->deviation[filled[call[k].rank]++] =
			        llround(end_of(a, &call[k]) - a->middle[i]);
	}
}

/* At most so many calls of a rank are searched for one that it shares with another rank. */
#define MOST_SEARCHED 1000

/*
 * How much longer the devices of the last rank were idle than those of the first one since they
 * last met: its host was late, for this collective or for work before it. NAN: they have not met.
 */
static double idle_of_last(const struct ws_ranks *r, const struct ws_rank_call *first,
                           const struct ws_rank_call *last)
{
	uint32_t at = last->previous;

	for (int i = 0; i < MOST_SEARCHED && at != WS_NONE; i++, at = r->calls[at].previous) {
		const struct ws_meeting *meeting = &r->meetings[r->calls[at].meeting];

		for (uint32_t k = 0; k < meeting->n; k++) {
			const struct ws_rank_call *other = &r->calls[meeting->first + k];

			if (other->rank == first->rank && other->idle_ns != INT64_MIN &&
			    first->idle_ns != INT64_MIN && last->idle_ns != INT64_MIN &&
			    r->calls[at].idle_ns != INT64_MIN)
				return (double)(last->idle_ns - r->calls[at].idle_ns) -
				       (double)(first->idle_ns - other->idle_ns);
		}
	}
	return NAN;
}

/* A skew up to this part of the transfer does not matter for a baseline. */
#define NO_SKEW 0.1

/* All ranks of a meeting wait for the last one to arrive. It is determined only if the skew exceeds
 * the uncertainty of the clocks. */
static void judge_meeting(struct aligner *a, size_t at)
{
	struct ws_ranks *r = a->r;
	struct ws_meeting *meeting = &r->meetings[at];
	struct ws_rank_call *call = &r->calls[meeting->first];
	double first = INFINITY, last = -INFINITY, next = -INFINITY, shortest = INFINITY,
	       residual = 0, doubt;
	uint32_t first_call = 0, last_call = 0, next_call = 0;

	for (uint32_t k = 0; k < meeting->n; k++) {
		double dur = (double)(call[k].end_ns - call[k].start_ns);
		double end = end_of(a, &call[k]), begin = end - dur;

		shortest = fmin(shortest, dur);
		residual = fmax(residual, fabs(end - a->middle[at]));
		if (begin < first) {
			first = begin;
			first_call = k;
		}
		if (begin > last) {
			next = last;
			next_call = last_call;
			last = begin;
			last_call = k;
		} else if (begin > next) {
			next = begin;
			next_call = k;
		}
	}
	meeting->transfer_ns = shortest;
	meeting->residual_ns = residual;
	meeting->skew_ns = last - first;
	/* ends that coincide by chance do not reduce the uncertainty */
	doubt = r->ranks[call[first_call].rank].residual_ns +
	        r->ranks[call[last_call].rank].residual_ns;
	if (last - first > fmax(2 * residual, doubt)) {
		meeting->first_rank = call[first_call].rank;
		meeting->last_rank = call[last_call].rank;
		meeting->next_rank = call[next_call].rank;
		meeting->lead_ns = last - next;
		r->ranks[call[last_call].rank].last++;
		const double idle = idle_of_last(r, &call[first_call], &call[last_call]);

		if (!isnan(idle)) {
			meeting->host_ns = fmin(fmax(idle, 0), meeting->skew_ns);
			r->nlate++;
			r->skew_ns += meeting->skew_ns;
			r->host_ns += meeting->host_ns;
		}
	}
	meeting->has_no_skew =
	        meeting->last_rank == WS_NONE || meeting->skew_ns <= shortest * NO_SKEW;
	for (uint32_t k = 0; k < meeting->n; k++) {
		double dur = (double)(call[k].end_ns - call[k].start_ns);
		double waited = call[k].waiting_ns = fmin(last - (end_of(a, &call[k]) - dur), dur);
		struct ws_rank_step *mine = &r->ranks[call[k].rank].steps[call[k].step];

		mine->calls++;
		mine->is_common = true;
		r->ranks[call[k].rank].judged++;
		mine->ns[WS_RANK_WAITING] += waited;
		r->waiting_ns += waited;
		if (meeting->last_rank != WS_NONE)
			r->ranks[meeting->last_rank]
			        .steps[call[last_call].step]
			        .ns[WS_RANK_CAUSED] += waited;
	}
}

static void align_clocks(struct ws_ranks *r)
{
	struct aligner a = {.r = r};

	size_t *filled = ws_arena_array(&r->arena, r->n, sizeof(*filled));

	/* the ends of matched calls per rank */
	size_t at = 0;

	WS_NEW(&r->arena, a.middle, r->nmeetings);
	WS_NEW(&r->arena, a.first, r->n);
	WS_NEW(&r->arena, a.deviation, r->ncalls);
	a.epoch_ns = r->ncalls ? r->calls[0].end_ns : 0;
	for (size_t i = 0; i < r->nmeetings; i++)
		for (uint32_t k = 0; k < r->meetings[i].n && r->meetings[i].n > 1; k++)
			r->ranks[r->calls[r->meetings[i].first + k].rank].matched++;
	for (size_t i = 0; i < r->n; i++) {
		a.first[i] = at;
		at += r->ranks[i].matched;
		r->ranks[i].offset_ns = 0;
	}

	/* Finds components: only ranks linked by a chain of collectives have comparable clocks. */
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].component = i;
	for (size_t i = 0; i < r->nmeetings; i++)
		for (uint32_t k = 1; k < r->meetings[i].n; k++) {
			const uint32_t x = root_of(r, r->calls[r->meetings[i].first].rank);
			const uint32_t y = root_of(r, r->calls[r->meetings[i].first + k].rank);

			r->ranks[x > y ? x : y].component = x > y ? y : x;
		}
	for (uint32_t i = 0; i < r->n; i++)
		r->ranks[i].component = root_of(r, i);
	for (int round = 0; round < ROUNDS; round++) {
		find_deviations(&a, filled);

		/* Moves each clock by its median deviation: a few late ends do not matter. */
		double most = 0;

		for (size_t i = 0; i < r->n; i++) {
			struct ws_rank *rank = &r->ranks[i];

			if (!rank->matched)
				continue;
			double by = (double)ws_stat_select(a.deviation + a.first[i], rank->matched,
			                                   rank->matched / 2);
			rank->offset_ns += by;
			most = fmax(most, fabs(by));
		}
		if (most < ENOUGH_NS)
			break;
	}
	find_deviations(&a, filled);
	for (size_t i = 0; i < r->n; i++) {
		struct ws_rank *rank = &r->ranks[i];
		int64_t *deviation = a.deviation + a.first[i];

		if (!rank->matched) {
			rank->offset_ns = NAN;
			continue;
		}
		for (size_t k = 0; k < rank->matched; k++)
			deviation[k] = llabs(deviation[k]);
		rank->residual_ns = (double)ws_stat_select(deviation, rank->matched,
		                                           (rank->matched * 95 + 99) / 100 - 1);
	}
	for (size_t i = 0; i < r->nmeetings; i++)
		if (r->meetings[i].is_judged)
			judge_meeting(&a, i);
}

/* --- data for tables and sentences --------------------------------------------------------- */

/* Time of the transfer that neither its size nor skew explains; NaN = no baseline. */
static double excess_of(const struct ws_meeting *meeting)
{
	return isnan(meeting->baseline_ns) ? NAN
	                                   : fmax(meeting->transfer_ns - meeting->baseline_ns, 0);
}

#define NEARLY_ALL 0.9

/* In how many steps the rank is late, and who is nearly as late. */
static void look_at_straggler(struct ws_ranks *r)
{
	const struct ws_rank *late = r->straggler;
	int64_t *caused = ws_xarray(late->nsteps + 1, sizeof(*caused)), most = -1;
	double sum = 0, some = 0;
	size_t *next = ws_xarray(r->n, sizeof(*next));

	for (size_t i = 0; i < late->nsteps; i++) {
		caused[i] = (int64_t)late->steps[i].ns[WS_RANK_CAUSED];
		sum += (double)caused[i];
		if (caused[i] > most) {
			most = caused[i];
			r->late_step = late->steps[i].number;
		}
	}
	if (late->nsteps)
		ws_sort(caused, late->nsteps, sizeof(*caused), ws_by_time);
	while (some < NEARLY_ALL * sum && r->late_steps < late->nsteps)
		some += (double)caused[late->nsteps - ++r->late_steps];
	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];

		if (meeting->last_rank == WS_NONE || &r->ranks[meeting->last_rank] != late)
			continue;
		r->lead_ns +=
		        meeting->lead_ns / (double)(late->ncommon ? late->ncommon : late->nsteps);
		next[meeting->next_rank]++;
		if (!r->next || next[meeting->next_rank] > next[r->next - r->ranks])
			r->next = &r->ranks[meeting->next_rank];
	}
	free(caused);
	free(next);
}

static void summarise(struct ws_ranks *r)
{
	double *values = ws_xarray(r->n + 1, sizeof(*values)), most_ns = 0;
	size_t with_steps = 0;

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct ws_rank_call *call = &r->calls[i];

		r->all_ns += (double)(call->end_ns - call->start_ns);
		if (!r->ncommon || r->ranks[call->rank].steps[call->step].is_common)
			r->calls_ns += (double)(call->end_ns - call->start_ns);
		r->asymmetric += r->calls[i].kind.op == WS_OP_ASYMMETRIC;
	}
	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];

		r->nmatched_meetings += meeting->n > 1;
		if (!meeting->is_judged) {
			if (meeting->n < members_of(r, &r->calls[meeting->first].kind)) {
				r->lacking += meeting->n;
				r->lacking_meetings++;
			}
			continue;
		}
		r->njudged_meetings++;
		r->judged += meeting->n;
		for (uint32_t c = 0; c < meeting->n; c++) {
			const struct ws_rank_call *call = &r->calls[meeting->first + c];

			r->judged_ns += (double)(call->end_ns - call->start_ns);
		}
	}

	/* Kinds in the order of their first calls. */
	struct ws_strtab kinds = {0};

	for (size_t i = 0; i < r->ncalls; i++) {
		struct ws_rank_call *call = &r->calls[i];
		struct {
			uint32_t key, dtype;
			double bytes;
		} kind = {call->key, call->kind.dtype, call->kind.bytes};

		kind.bytes = isnan(kind.bytes) ? -1 : kind.bytes;
		call->kind_number = (uint32_t)ws_strtab_add(&kinds, &kind, sizeof(kind));
	}
	/* The zero-skew baseline of a kind: its shortest transfer with nearly no skew. */
	struct {
		double ns;
		size_t calls;
	} *baseline = ws_xarray(kinds.used + 2, sizeof(*baseline));

	for (size_t i = 0; i < r->nmeetings; i++) {
		const struct ws_meeting *meeting = &r->meetings[i];
		const uint32_t kind = r->calls[meeting->first].kind_number;

		baseline[kind].calls += meeting->is_judged;
		if (meeting->is_judged && meeting->has_no_skew &&
		    (!(baseline[kind].ns > 0) || meeting->transfer_ns < baseline[kind].ns))
			baseline[kind].ns = meeting->transfer_ns;
	}
	for (size_t i = 0; i < r->nmeetings; i++) {
		struct ws_meeting *meeting = &r->meetings[i];
		const struct ws_rank_call *call = &r->calls[meeting->first];

		if (!meeting->is_judged || isnan(call->kind.bytes) ||
		    !(baseline[call->kind_number].ns > 0) || baseline[call->kind_number].calls < 2)
			continue;
		meeting->baseline_ns = baseline[call->kind_number].ns;
		r->nbaselines++;
		r->of_baseline_ns += meeting->transfer_ns;
		r->excess_ns += excess_of(meeting);
	}
	free(baseline);
	ws_strtab_free(&kinds);
	for (size_t i = 0; i < r->n; i++) {
		struct ws_rank *rank = &r->ranks[i];

		for (int time = 0; time < WS_RANK_TIMES; time++) {
			double sum = 0;

			for (size_t k = 0; k < rank->nsteps; k++)
				if (rank->steps[k].is_common || !rank->ncommon)
					sum += rank->steps[k].ns[time];
			rank->mean_ns[time] =
			        ws_stat_ratio(sum, (double)(rank->ncommon ? rank->ncommon
			                                                  : rank->nsteps));
		}
		rank->first_step = r->nsteps;
		r->nsteps += rank->nsteps;
	}
	for (size_t i = 0; i < r->n; i++) {
		struct ws_rank *rank = &r->ranks[i];

		/* The rank's computation over the median of ranks of its dtype, of two that of the
		 * other one, minus 1. */
		size_t n = 0, other = i;

		for (size_t k = 0; k < r->n; k++)
			if (r->ranks[k].dtype == rank->dtype && r->ranks[k].nsteps) {
				values[n++] = r->ranks[k].mean_ns[WS_RANK_COMPUTE];
				other = k == i ? other : k;
			}
		if (n == 2)
			values[0] = values[1] = r->ranks[other].mean_ns[WS_RANK_COMPUTE];
		rank->slower = ws_stat_ratio(rank->mean_ns[WS_RANK_COMPUTE],
		                             n > 1 ? ws_stat_median(values, n) : NAN) -
		               1;
		for (size_t k = 0; k < r->n; k++)
			rank->peers += k != i && r->ranks[k].component == rank->component;
		if (rank->nsteps) {
			const double caused_ns =
			        rank->mean_ns[WS_RANK_CAUSED] *
			        (double)(rank->ncommon ? rank->ncommon : rank->nsteps);

			rank->caused_share = ws_stat_percent(caused_ns, r->waiting_ns);
			if (caused_ns > most_ns) {
				most_ns = caused_ns;
				r->last = rank;
			}
			for (int time = 0; time < WS_RANK_TIMES; time++)
				r->mean_ns[time] += rank->mean_ns[time];
			with_steps++;
		}
		if (rank->matched &&
		    (!r->least_sure || rank->residual_ns > r->least_sure->residual_ns))
			r->least_sure = rank;
	}
	free(values);
	for (int time = 0; time < WS_RANK_TIMES; time++)
		r->mean_ns[time] = ws_stat_ratio(r->mean_ns[time], (double)with_steps);
	if (r->last && r->last->caused_share > 50 && r->judged_ns >= r->calls_ns / 2)
		r->straggler = r->last;
	if (r->straggler)
		look_at_straggler(r);
}

struct ws_ranks *ws_ranks_new(void)
{
	return ws_xarray(1, sizeof(struct ws_ranks));
}

void ws_ranks_free(struct ws_ranks *r)
{
	if (!r)
		return;
	free(r->ranks);
	free(r->calls);
	free(r->meetings);
	free(r->failed);
	ws_texts_release(&r->texts);
	ws_arena_free(&r->arena);
	free(r);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* The report of several ranks: its tables, the sentences of its verdict and its first screen. */

/* A rank's computation explains its lateness if it takes this percentage longer than the median. */
#define SLOWER_PERCENT 1.0

/* --- relations -------------------------------------------------------------------------------
 *
 * Lists of columns, X(name, statement that puts its value). The queries over them are in
 * tables.def.
 */

static void put_text(struct ws_put *out, const struct ws_ranks *r, uint32_t text)
{
	ws_put_text(out, ws_texts_get(&r->texts, text));
}

static size_t count_ranks(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->n;
}

#define RANK(X)                                                                                  \
	X(number, ws_put_int(out, rank->number))                                                 \
	X(trace, put_text(out, r, rank->name))                                                   \
	X(device, put_text(out, r, rank->device))                                                \
	X(steps, ws_put_count(out, rank->has_steps ? rank->nsteps : 0))                          \
	X(step_ns, ws_put_real(out, rank->mean_ns[WS_RANK_STEP]))                                \
	X(compute_ns, ws_put_real(out, rank->mean_ns[WS_RANK_COMPUTE]))                          \
	X(slower, ws_put_real(out, 100 * rank->slower))                                          \
	X(comm_ns, ws_put_real(out, rank->mean_ns[WS_RANK_COMM]))                                \
	X(exposed_ns, ws_put_real(out, rank->mean_ns[WS_RANK_EXPOSED]))                          \
	/* the following values are unknown for a rank that shares no collective with another */ \
	X(waiting_ns, if (rank->judged) ws_put_real(out, rank->mean_ns[WS_RANK_WAITING]))        \
	X(caused_ns, if (rank->judged) ws_put_real(out, rank->mean_ns[WS_RANK_CAUSED]))          \
	X(matched, if (rank->matched) ws_put_count(out, rank->matched))                          \
	X(last, ws_put_count(out, rank->last))                                                   \
	X(straggler, if (rank == r->straggler) ws_put_str(out, "yes"))                           \
	X(offset_ns, if (rank->matched && rank->component == r->ranks[0].component)              \
	                     ws_put_real(out, rank->offset_ns - r->ranks[0].offset_ns))          \
	X(residual_ns, if (rank->matched) ws_put_real(out, rank->residual_ns))

static void put_rank(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank *rank = &r->ranks[row];

	WS_PUT_COLUMN(column, RANK);
}

static size_t count_steps(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->nsteps;
}

#define RANK_STEP(X)                                                          \
	X(rank, ws_put_int(out, rank->number))                                \
	X(step, ws_put_int(out, s->number))                                   \
	X(step_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_STEP]))             \
	X(compute_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_COMPUTE]))       \
	X(comm_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_COMM]))             \
	X(exposed_ns, ws_put_int(out, (int64_t)s->ns[WS_RANK_EXPOSED]))       \
	X(collectives, ws_put_count(out, s->calls))                           \
	X(waiting_ns, if (s->calls) ws_put_real(out, s->ns[WS_RANK_WAITING])) \
	X(caused_ns, if (s->calls) ws_put_real(out, s->ns[WS_RANK_CAUSED]))

static void put_step(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank *rank = r->ranks;

	while (row >= rank->first_step + rank->nsteps)
		rank++;
	const struct ws_rank_step *s = &rank->steps[row - rank->first_step];
	WS_PUT_COLUMN(column, RANK_STEP);
}

static size_t count_collectives(void *ctx)
{
	return ((const struct ws_ranks *)ctx)->ncalls;
}

static void put_rank_number(struct ws_put *out, const struct ws_ranks *r, uint32_t rank)
{
	if (rank != WS_NONE)
		ws_put_int(out, r->ranks[rank].number);
}

/* first: the first call of its meeting, which has its attributes; met: the meeting has several
 * ranks. Values of a meeting are set only at its first call. */
#define COLLECTIVE(X)                                                                         \
	X(kind, ws_put_int(out, first->kind_number))                                          \
	X(name, put_text(out, r, first->kind.name))                                           \
	X(group_name, put_text(out, r, first->kind.group))                                    \
	X(group_size, if (first->kind.group_size) ws_put_count(out, first->kind.group_size);  \
	  else if (meeting && meeting->is_judged) ws_put_int(out, meeting->n))                \
	X(dtype, put_text(out, r, first->kind.dtype))                                         \
	X(bytes, ws_put_real(out, first->kind.bytes))                                         \
	/* the factor of the bus bandwidth, but for (n - 1) / n */                            \
	X(bus_factor, if (first->kind.op != WS_OP_ASYMMETRIC)                                 \
	                      ws_put_real(out, first->kind.op == WS_OP_ALL_REDUCE ? 2 : 1))   \
	X(counts, ws_put_int(out, !met || call == first))                                     \
	X(gpu_ns, ws_put_int(out, call->end_ns - call->start_ns))                             \
	X(ranks, if (meeting) ws_put_int(out, meeting->n))                                    \
	X(waiting_ns, if (meeting && meeting->is_judged) ws_put_real(out, call->waiting_ns))  \
	X(step, if (met && call == first)                                                     \
	                ws_put_int(out, r->ranks[call->rank].steps[call->step].number))       \
	X(begin_ns, ws_put_int(out, call->start_ns))                                          \
	X(number, ws_put_int(out, call->has_sequence ? call->slot : (int64_t)call->ordinal))  \
	X(first_rank, if (met && call == first) put_rank_number(out, r, meeting->first_rank)) \
	X(last_rank, if (met && call == first) put_rank_number(out, r, meeting->last_rank))   \
	X(skew_ns, if (met && call == first) ws_put_real(out, meeting->skew_ns))              \
	X(transfer_ns, if (met && call == first) ws_put_real(out, meeting->transfer_ns))      \
	X(residual_ns, if (met && call == first) ws_put_real(out, meeting->residual_ns))      \
	X(host_ns, if (met && call == first) ws_put_real(out, meeting->host_ns))              \
	X(baseline_ns, if (met && call == first) ws_put_real(out, meeting->baseline_ns))      \
	X(excess_ns, if (met && call == first) ws_put_real(out, excess_of(meeting)))          \
	X(has_no_skew, if (met && call == first && !isnan(meeting->baseline_ns))              \
	                       ws_put_int(out, meeting->has_no_skew))

static void put_collective(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_ranks *r = ctx;
	const struct ws_rank_call *call = &r->calls[row], *first = call;
	const struct ws_meeting *meeting =
	        call->meeting == WS_NONE ? NULL : &r->meetings[call->meeting];
	const bool met = meeting && meeting->n > 1;

	if (met)
		first = &r->calls[meeting->first];
	WS_PUT_COLUMN(column, COLLECTIVE);
}

static const struct ws_relation relations[] = {
        {"rank", RANK(WS_COLUMN_NAME), count_ranks, put_rank},
        {"rank_step", RANK_STEP(WS_COLUMN_NAME), count_steps, put_step},
        {"collective", COLLECTIVE(WS_COLUMN_NAME), count_collectives, put_collective},
};

void ws_ranks_relations(struct ws_query *q, struct ws_ranks *r)
{
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++)
		ws_query_add(q, &relations[i], r);
}

/* --- the verdict ----------------------------------------------------------------------------- */

bool ws_ranks_are_unrelated(const struct ws_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].comm_kernels || r->ranks[i].world_size)
			return false;
	return r->n > 1;
}

/* "ranks 0, 1 and ranks 2, 3": those that a chain of common calls joins stand together. */
static const char *words_of_components(const struct ws_ranks *r, struct ws_arena *arena)
{
	const char *all = "";

	for (uint32_t component = 0; component < r->n; component++) {
		const char *one = "";
		size_t n = 0;

		for (size_t i = 0; i < r->n; i++)
			if (r->ranks[i].component == component) {
				one = ws_arena_format(arena, "%s%s%" PRId64, one, n ? ", " : "",
				                      r->ranks[i].number);
				n++;
			}
		if (n)
			all = ws_arena_format(arena, "%s%srank%s %s", all, *all ? " and " : "",
			                      WS_PLURAL(n), one);
	}
	return all;
}

static bool is_joined(const struct ws_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].component != r->ranks[0].component)
			return false;
	return true;
}

/* Why no call is judged, though ranks share some or could; NULL: one is. */
static const char *why_nothing_is_judged(const struct ws_ranks *r, struct ws_arena *arena)
{
	if (r->njudged_meetings || !r->lacking)
		return NULL;
	if (is_joined(r))
		return "no call was recorded by all ranks of its group";
	return ws_arena_format(
	        arena, "no call was recorded by all ranks of its group (%s recorded other calls)",
	        words_of_components(r, arena));
}

static void set_share(struct ws_cell *row, double ns, double of_ns)
{
	ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], ns);
	ws_cell_set_real(&row[WS_TC_ranks_verdict_share], ws_stat_percent(ns, of_ns));
}

/* Times of steps, or of whole recordings. */
static const char *per_step(const struct ws_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].has_steps)
			return " per step";
	return "";
}

/* Is the rank late in few steps only? */
static bool is_seldom_late(const struct ws_ranks *r)
{
	const size_t steps = r->straggler->ncommon ? r->straggler->ncommon : r->straggler->nsteps;

	return 4 * r->late_steps <= steps;
}

/* Is another rank nearly as late as the straggler, so that the others would wait for that one? */
static bool has_companion(const struct ws_ranks *r)
{
	return r->next && r->straggler->peers > 1 &&
	       2 * r->lead_ns * (double)r->straggler->peers < r->straggler->mean_ns[WS_RANK_CAUSED];
}

static void add_straggler(const struct ws_ranks *r, struct ws_table *t)
{
	const struct ws_rank *last = r->last;
	char compute[128];
	struct ws_arena arena = {0};
	const char *why = why_nothing_is_judged(r, &arena);
	struct ws_cell *row;

	if (why)
		ws_table_add(t, "straggler", "cannot tell: %s", why);
	ws_arena_free(&arena);
	if (r->lacking && !r->njudged_meetings)
		return;
	if (!last) {
		ws_table_add(t, "straggler",
		             "cannot tell: all ranks arrive within the error of the clocks");
		return;
	}
	if (r->judged_ns < r->calls_ns / 2) {
		ws_table_add(t, "straggler",
		             "cannot tell: %.3g %% of communication time is not judged",
		             ws_stat_percent(r->calls_ns - r->judged_ns, r->calls_ns));
		return;
	}
	double caused_ns = last->mean_ns[WS_RANK_CAUSED] / (double)last->peers;
	char more[320] = "";
	if (r->straggler && is_seldom_late(r))
		ws_say_add(more, sizeof(more),
		           " Nearly all of it is in %zu of %zu steps, most in step %" PRId64 ".",
		           r->late_steps, last->ncommon ? last->ncommon : last->nsteps,
		           r->late_step);
	if (r->straggler && has_companion(r))
		ws_say_add(more, sizeof(more),
		           " Rank %" PRId64 " is nearly as late: without rank %" PRId64
		           " alone the others would wait %s%s less.",
		           r->next->number, last->number, WS_SHOWN_TIME(r->lead_ns), per_step(r));
	if (isnan(last->slower))
		snprintf(compute, sizeof(compute), "Its computation cannot be compared.");
	else if (fabs(100 * last->slower) < 0.05)
		snprintf(compute, sizeof(compute),
		         "Its computation is as long as that of the %s: look at its host, data and "
		         "launches.",
		         last->peers == 1 ? "other" : "median rank");
	else
		snprintf(compute, sizeof(compute),
		         "Its computation is %.1f %% %s than that of the %s%s.",
		         100 * fabs(last->slower), last->slower < 0 ? "shorter" : "longer",
		         last->peers == 1 ? "other" : "median rank",
		         100 * last->slower < SLOWER_PERCENT
		                 ? ": look at its host, data and launches"
		                 : "");
	if (last == r->straggler)
		row = ws_table_add(
		        t, "straggler",
		        "rank %" PRId64 " causes %.3g %% of all waiting: the other%s "
		        "%s%s for it. It is the last at %.0f %% of its collectives. %s%s",
		        last->number, last->caused_share, last->peers == 1 ? " waits" : "s wait",
		        WS_SHOWN_TIME(caused_ns), per_step(r),
		        ws_stat_percent((double)last->last, (double)last->judged), compute, more);
	else
		row = ws_table_add(
		        t, "straggler",
		        "none: no single rank causes more than half of the waiting. Rank "
		        "%" PRId64 " causes most: %.3g %%, %s%s",
		        last->number, last->caused_share, WS_SHOWN_TIME(caused_ns), per_step(r));
	ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], last->number);
	set_share(row, caused_ns, r->mean_ns[WS_RANK_STEP]);
}

static void fill_verdict(struct ws_ranks *r, struct ws_table *t)
{
	const int64_t recorded = r->world_size;
	const uint64_t not_judged = r->ncalls - r->judged;
	const double not_judged_ns = r->all_ns - r->judged_ns;
	const double step_ns = r->mean_ns[WS_RANK_STEP], waiting_ns = r->mean_ns[WS_RANK_WAITING],
	             exposed_ns = r->mean_ns[WS_RANK_EXPOSED];
	const struct ws_rank *first = NULL;
	bool has_kernels = false;
	size_t silent = 0;
	struct ws_arena arena = {0};

	/* The alarm: if one of several ranks, or all of them, ran no communication, the recording
	 * is incomplete. On a CPU communication is no kernel. */
	for (size_t i = r->n; i--;) {
		has_kernels |= r->ranks[i].device != 0;
		if (!r->ranks[i].comm_kernels) {
			silent++;
			first = &r->ranks[i];
		}
	}
	if (silent && (has_kernels || !recorded) && (r->n >= 2 || recorded >= 2)) {
		if (ws_ranks_are_unrelated(r))
			snprintf(r->alarm, sizeof(r->alarm),
			         "no trace has a world size or a communication kernel. If these "
			         "%zu are ranks of one run, communication was not recorded. Else "
			         "compare them with `warpsheet diff` or `warpsheet sweep`",
			         r->n);
		else if (silent == r->n)
			snprintf(r->alarm, sizeof(r->alarm),
			         "no rank ran a communication kernel, at a world size of %" PRId64
			         ": " WS_LACKS_COMM,
			         recorded > (int64_t)r->n ? recorded : (int64_t)r->n);
		else
			snprintf(r->alarm, sizeof(r->alarm),
			         "%zu of %zu ranks ran no communication kernel (the first: rank "
			         "%" PRId64 "), the others did: their recordings are incomplete",
			         silent, r->n, first->number);
		ws_table_add(t, "ALARM", "%s", r->alarm);
	}
	for (size_t i = 0; i < r->nlaunchers; i++)
		ws_table_add(t, "left out",
		             "%.*s: it says no rank, and has no step, operation or device work, as "
		             "the launcher of ranks",
		             WS_SHOWN(r->launchers[i]));
	for (size_t i = 0; i < r->nfailed; i++)
		ws_table_add(t, "failed", "%s", r->failed[i]);
	if (recorded > (int64_t)r->n)
		ws_table_add(t, "ranks",
		             "%zu of %" PRId64 " ranks are here; a missing rank may be the late "
		             "one",
		             r->n, recorded);
	else
		ws_table_add(t, "ranks",
		             !recorded    ? "%zu ranks of an unknown number"
		             : r->lacking ? "%zu ranks, that did not record the same calls"
		                          : "%zu ranks (complete)",
		             r->n);
	if (not_judged)
		set_share(ws_table_add(
		                  t, "not judged",
		                  "%" PRIu64 " of %zu calls, %.3g %% of communication time "
		                  "(%s), cannot show who is late. %" PRIu64
		                  " are sends, broadcasts "
		                  "or of unknown kind, %s%" PRIu64 " have no match on another rank",
		                  not_judged, r->ncalls, ws_stat_percent(not_judged_ns, r->all_ns),
		                  WS_SHOWN_TIME(not_judged_ns), r->asymmetric,
		                  r->lacking ? ws_arena_format(&arena,
		                                               "%" PRIu64 " lack a rank of their "
		                                               "group, ",
		                                               r->lacking)
		                             : "",
		                  not_judged - r->asymmetric - r->lacking),
		          not_judged_ns, r->all_ns);
	if (!r->least_sure) {
		ws_table_add(t, "clocks",
		             "Clocks cannot be aligned (no common collective), so there is no "
		             "straggler analysis");
	} else {
		const double residual_ns = r->least_sure->residual_ns;

		struct ws_cell *row =
		        ws_table_add(t, "clocks",
		                     "%s by assuming that %zu collective%s together; 95 %% of them "
		                     "do within %s on every rank",
		                     is_joined(r) ? "aligned"
		                                  : ws_arena_format(&arena,
		                                                    "aligned within %s, but not of "
		                                                    "one with the other,",
		                                                    words_of_components(r, &arena)),
		                     r->nmatched_meetings,
		                     r->nmatched_meetings == 1 ? " ends" : "s end",
		                     WS_SHOWN_TIME(residual_ns));
		ws_cell_set_int(&row[WS_TC_ranks_verdict_rank], r->least_sure->number);
		ws_cell_set_real(&row[WS_TC_ranks_verdict_time_ns], residual_ns);
		add_straggler(r, t);
		if (!r->njudged_meetings)
			ws_table_add(t, "waiting", "cannot tell: no call is judged");
		else if (waiting_ns < residual_ns && !r->last)
			ws_table_add(t, "waiting", "cannot tell: the clocks agree only within %s",
			             WS_SHOWN_TIME(residual_ns));
		else
			set_share(ws_table_add(t, "waiting",
			                       "a rank waits %s%s in collectives for the last to "
			                       "arrive, %.1f %% of the %s",
			                       WS_SHOWN_TIME(waiting_ns), per_step(r),
			                       ws_stat_percent(waiting_ns, step_ns),
			                       *per_step(r) ? "step" : "run"),
			          waiting_ns, step_ns);
		if (r->nlate)
			set_share(ws_table_add(t, "host dispatch",
			                       "%.3g %% of the skew of %zu calls is idle time of "
			                       "the last rank's GPU: its host was late, for the "
			                       "collective or for work before it; the rest is "
			                       "device work of that rank, or its queue",
			                       ws_stat_percent(r->host_ns, r->skew_ns), r->nlate),
			          r->host_ns, r->skew_ns);
		if (r->nbaselines)
			set_share(ws_table_add(t, "excess transfer",
			                       "%zu transfers take %.3g %% more than the shortest "
			                       "of their size without skew",
			                       r->nbaselines,
			                       ws_stat_percent(r->excess_ns,
			                                       r->of_baseline_ns - r->excess_ns)),
			          r->excess_ns, r->of_baseline_ns);
	}
	if (*r->alarm) /* the unrecorded communication is not 0 */
		ws_table_add(t, "exposed communication",
		             "cannot tell: not every rank's communication was recorded");
	else
		set_share(ws_table_add(t, "exposed communication",
		                       "%s per %srank, %.1f %% of the %s, in which only "
		                       "communication ran",
		                       WS_SHOWN_TIME(exposed_ns), *per_step(r) ? "step and " : "",
		                       ws_stat_percent(exposed_ns, step_ns),
		                       *per_step(r) ? "step" : "run"),
		          exposed_ns, step_ns);
	ws_arena_free(&arena);
}

/* --- the first screen ------------------------------------------------------------------------ */

#define IDLE_PERCENT 10 /* of a step: from here on it is the first thing to look at */

#define RANKS_IN_ORDER 16

/* Of more ranks than a screen holds the one that makes the others wait stands first. */
static size_t nth_rank(const struct ws_ranks *r, size_t n)
{
	const size_t last = r->last ? (size_t)(r->last - r->ranks) : 0;

	if (r->n <= RANKS_IN_ORDER || n > last)
		return n;
	return n ? n - 1 : last;
}

/* --- the timeline: one step of all ranks, on one clock ---------------------------------------- */

enum rank_text { NO_TEXT, COMPUTING, WAITING, COMMUNICATION, IDLE, RANK_TEXTS };

#define SHORTEST_PART 4000 /* of the step: shorter stretches that follow each other are one box */

struct drawing {
	const struct ws_ranks *r;
	struct ws_timeline *out;
	struct ws_timeline_lane *lane;
	size_t capacity;     /* of its boxes */
	int64_t clock_ns;    /* of the rank, less than that of the timeline */
	uint16_t depth;      /* of the next box */
	struct ws_span open; /* by the timeline's clock, of so many stretches, not in a box yet */
	int64_t busy_ns;
	uint64_t count;
	enum rank_text use;
	uint32_t name;
	uint32_t *of_text; /* text of the ranks -> of the timeline; 0: not yet */
};

static void close_stretch(struct drawing *d)
{
	static const enum ws_page_colour colours[RANK_TEXTS] = {[COMPUTING] = WS_PAGE_COMPUTING,
	                                                        [WAITING] = WS_PAGE_IDLE_WAIT,
	                                                        [COMMUNICATION] = WS_PAGE_PINK,
	                                                        [IDLE] = WS_PAGE_IDLE};

	if (d->count) {
		WS_GROW(d->lane->box, d->lane->n + 1, d->capacity);
		d->lane->box[d->lane->n++] =
		        (struct ws_timeline_box){.start_ns = d->open.start_ns,
		                                 .dur_ns = d->open.end_ns - d->open.start_ns,
		                                 .busy_ns = d->busy_ns,
		                                 .count = d->count,
		                                 .name = d->name,
		                                 .class = d->use,
		                                 .call_ns = -1,
		                                 .call_dur_ns = -1,
		                                 .depth = d->depth,
		                                 .colour = (uint8_t)colours[d->use]};
	}
	d->count = 0;
}

/* By start at each depth. */
static void add_stretch(struct drawing *d, enum rank_text use, uint32_t name, int64_t start_ns,
                        int64_t end_ns)
{
	const int64_t ns = end_ns - start_ns;

	if (ns <= 0)
		return;
	start_ns -= d->clock_ns;
	end_ns -= d->clock_ns;
	if (d->count && d->use == use && d->name == name && ns < d->out->shortest_ns &&
	    start_ns - d->open.end_ns < d->out->shortest_ns) {
		d->open.end_ns = end_ns;
		d->busy_ns += ns;
		d->count++;
		return;
	}
	close_stretch(d);
	d->open = (struct ws_span){start_ns, end_ns};
	d->busy_ns = ns;
	d->count = 1;
	d->use = use;
	d->name = name;
}

static int by_start(const void *pa, const void *pb)
{
	const struct ws_timeline_box *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->depth > b->depth) - (a->depth < b->depth);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_rank_call *const *a = pa, *const *b = pb;

	return ((*a)->start_ns > (*b)->start_ns) - ((*a)->start_ns < (*b)->start_ns);
}

static void draw_rank(struct drawing *d, uint32_t rank, const struct ws_rank_call **calls)
{
	const struct ws_rank *of = &d->r->ranks[rank];
	struct ws_spans busy = {0};
	int64_t at_ns = of->shown_window.start_ns;
	size_t n = 0;

	/* the calls of the rank in the step, by begin */
	for (size_t i = 0; i < d->r->ncalls; i++)
		if (d->r->calls[i].rank == rank && d->r->calls[i].step == of->shown)
			calls[n++] = &d->r->calls[i];
	if (n)
		ws_sort(calls, n, sizeof(*calls), by_begin);
	d->capacity = 0;
	for (size_t i = 0; i < of->ncomputed; i++)
		ws_spans_add(&busy, of->computed[i].start_ns, of->computed[i].end_ns);
	for (size_t i = 0; i < n; i++)
		ws_spans_add(&busy, calls[i]->start_ns, calls[i]->end_ns);
	ws_spans_merge(&busy);
	d->depth = 0;
	for (size_t i = 0; i < of->ncomputed; i++)
		add_stretch(d, COMPUTING, COMPUTING, of->computed[i].start_ns,
		            of->computed[i].end_ns);
	close_stretch(d);
	for (size_t i = 0; i < busy.n; i++) {
		add_stretch(d, IDLE, IDLE, at_ns, busy.span[i].start_ns);
		at_ns = busy.span[i].end_ns;
	}
	add_stretch(d, IDLE, IDLE, at_ns, of->shown_window.end_ns);
	close_stretch(d);
	d->depth = 1;
	for (size_t i = 0; i < n; i++) {
		const int64_t waiting_ns =
		        calls[i]->waiting_ns > 0 ? llround(calls[i]->waiting_ns) : 0;
		const int64_t met_ns = calls[i]->start_ns + waiting_ns;
		const uint32_t text = calls[i]->kind.name;
		const struct ws_bytes name = ws_texts_get(&d->r->texts, text);

		if (name.len && !d->of_text[text]) {
			d->of_text[text] = (uint32_t)d->out->ntexts;
			d->out->text[d->out->ntexts++] =
			        ws_arena_copy(&d->out->arena, name.ptr, name.len);
		}
		add_stretch(d, WAITING, WAITING, calls[i]->start_ns, met_ns);
		add_stretch(d, COMMUNICATION, name.len ? d->of_text[text] : COMMUNICATION, met_ns,
		            calls[i]->end_ns);
		close_stretch(d);
	}
	d->lane->depths = n ? 2 : 1;
	ws_spans_release(&busy);
	if (d->lane->n)
		ws_sort(d->lane->box, d->lane->n, sizeof(*d->lane->box), by_start);
}

static bool has_own_clock(const struct ws_ranks *r, const struct ws_rank *rank)
{
	return isnan(rank->offset_ns) || rank->component != r->ranks[0].component;
}

/* NULL: no rank has the step. Ranks without the common clock begin where the first of the others
 * does. */
static struct ws_timeline *make_timeline(const struct ws_ranks *r)
{
	static const char *const own[RANK_TEXTS] = {"", "computing", "waiting for the last rank",
	                                            "communication", "idle"};
	struct drawing d = {.r = r};
	struct ws_timeline *out;
	const struct ws_rank_call **calls;
	struct ws_span window = WS_SPAN_EMPTY;
	size_t nshown = 0, nclocks = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct ws_rank *rank = &r->ranks[i];
		const int64_t offset_ns = has_own_clock(r, rank) ? 0 : llround(rank->offset_ns);

		if (rank->shown == WS_NONE)
			continue;
		nshown++;
		nclocks += has_own_clock(r, rank);
		if (!has_own_clock(r, rank))
			ws_span_widen(&window, rank->shown_window.start_ns - offset_ns,
			              rank->shown_window.end_ns - offset_ns);
	}
	if (!nshown)
		return NULL;
	if (nclocks == nshown)
		window = (struct ws_span){0, 0};
	for (size_t i = 0; i < r->n; i++)
		if (r->ranks[i].shown != WS_NONE && has_own_clock(r, &r->ranks[i]))
			ws_span_widen(&window, window.start_ns,
			              window.start_ns + r->ranks[i].shown_window.end_ns -
			                      r->ranks[i].shown_window.start_ns);
	d.out = out = ws_xarray(1, sizeof(*out));
	out->start_ns = out->shift_ns = window.start_ns;
	out->end_ns = window.end_ns;
	out->shortest_ns = (window.end_ns - window.start_ns) / SHORTEST_PART;
	out->ntexts = RANK_TEXTS;
	out->text = ws_xarray(RANK_TEXTS + r->texts.n, sizeof(*out->text));
	memcpy(out->text, own, sizeof(own));
	WS_NEW(&out->arena, d.of_text, r->texts.n + 1);
	WS_NEW(&out->arena, calls, r->ncalls + 1);
	for (size_t i = 0; i < r->n; i++) {
		const uint32_t at = (uint32_t)nth_rank(r, i);
		const struct ws_rank *rank = &r->ranks[at];

		if (rank->shown == WS_NONE || out->nlanes >= WS_PAGE_ROWS)
			continue;
		WS_GROW(out->lane, out->nlanes + 1, out->lanes_capacity);
		d.lane = &out->lane[out->nlanes++];
		*d.lane = (struct ws_timeline_lane){.kind = WS_TIMELINE_RANK,
		                                    .device = "",
		                                    .name = ws_arena_format(&out->arena,
		                                                            "rank %" PRId64,
		                                                            rank->number)};
		d.clock_ns = has_own_clock(r, rank) ? rank->shown_window.start_ns - window.start_ns
		                                    : llround(rank->offset_ns);
		draw_rank(&d, at, calls);
	}
	out->title = ws_arena_format(
	        &out->arena, "step %" PRId64 " of %s%zu ranks, %s", r->shown_step,
	        out->nlanes < nshown ? ws_arena_format(&out->arena, "%zu of ", out->nlanes) : "",
	        nshown,
	        !nclocks            ? "by aligned clocks"
	        : nclocks == nshown ? "each from its own beginning: no clock is aligned"
	                            : "by aligned clocks; those without one begin with the step");
	return out;
}

static void make_first_screen(const struct ws_ranks *r, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	struct ws_arena *t = &out->arena;
	const double step_ns = r->mean_ns[WS_RANK_STEP], exposed_ns = r->mean_ns[WS_RANK_EXPOSED];
	const char *why = why_nothing_is_judged(r, t), *per = per_step(r);
	const char *step = *per ? "A step takes " : "The run takes ";
	double least_exposed_ns = INFINITY; /* of a rank: that of the one that hardly waits */
	bool has_device = false;

	for (size_t i = 0; i < r->n; i++)
		has_device |= r->ranks[i].device != 0;
	out->is_comparison = true;
	out->title = ws_arena_format(t, "%zu ranks", r->n);
	if (*r->alarm)
		ws_page_say(out, "ALARM",
		            ws_arena_format(t, "%c%s.", toupper(*r->alarm), r->alarm + 1), NULL);
	if (r->nfailed)
		ws_page_say(out, "", "",
		            ws_arena_format(t, "%zu trace%s", r->nfailed, WS_PLURAL(r->nfailed)),
		            " cannot be read: ", r->failed[0], ".", NULL);
	/* Who waits for whom? */
	if (why)
		ws_page_say(out, "", "Cannot tell who waits for whom: ", why, ".", NULL);
	else if (!r->least_sure)
		ws_page_say(out, "",
		            "Nobody can tell who waits for whom: the ranks share no collective.",
		            NULL);
	else if (r->straggler) {
		const struct ws_rank *late = r->straggler;
		const size_t others = late->peers;
		const double slower = 100 * late->slower;

		ws_page_say(out, "", "", ws_arena_format(t, "Rank %" PRId64, late->number),
		            ws_arena_format(t, " makes %zu other%s wait ", others,
		                            WS_PLURAL(others)),
		            ws_arena_format(t, "%s%s",
		                            ws_say_time(t, late->mean_ns[WS_RANK_CAUSED] /
		                                                   (double)others),
		                            per),
		            others == 1 ? ": " : " each: ", ws_say_percent(t, late->caused_share),
		            is_seldom_late(r)
		                    ? ws_arena_format(
		                              t, " of all waiting, nearly all in %zu of %zu steps.",
		                              r->late_steps,
		                              late->ncommon ? late->ncommon : late->nsteps)
		                    : " of all waiting.",
		            NULL);
		if (slower >= SLOWER_PERCENT)
			ws_page_say(out, "", "Its computation takes ",
			            ws_arena_format(t, "%s longer", ws_say_percent(t, slower)),
			            others == 1 ? " than that of the other."
			                        : " than that of the median rank.",
			            NULL);
		else if (!isnan(slower))
			ws_page_say(
			        out, "",
			        has_device ? "Its computation is not slower: look at its host, "
			                     "data and launches."
			                   : "Its computation is not slower: look at its data, and "
			                     "at what it does between operations.",
			        NULL);
		if (has_companion(r))
			ws_page_say(out, "", "",
			            ws_arena_format(t, "Rank %" PRId64, r->next->number),
			            " is nearly as late.", NULL);
	} else if (r->judged_ns < r->calls_ns / 2)
		ws_page_say(out, "", "Nobody can tell who waits for whom: ",
		            ws_say_percent(t, ws_stat_percent(r->calls_ns - r->judged_ns,
		                                              r->calls_ns)),
		            " of communication has no match.", NULL);
	else if (!r->last)
		ws_page_say(out, "", "Cannot tell which rank is late: the clocks agree only to ",
		            ws_say_time(t, r->least_sure->residual_ns), ".", NULL);
	else
		ws_page_say(out, "", "No single rank is late: each waits ",
		            ws_arena_format(t, "%s%s", ws_say_time(t, r->mean_ns[WS_RANK_WAITING]),
		                            per),
		            ws_arena_format(t, "; rank %" PRId64 " causes most, ", r->last->number),
		            ws_say_percent(t, r->last->caused_share), ".", NULL);
	if (r->lacking && r->njudged_meetings)
		ws_page_say(out, "", "",
		            ws_arena_format(t, "%s of %s calls",
		                            ws_say_number(t, (double)r->lacking_meetings),
		                            ws_say_number(t, (double)r->nmeetings)),
		            " were not recorded by all ranks of their group and are not judged.",
		            NULL);
	if (!isnan(step_ns) && *r->alarm)
		ws_page_say(out, "", step, ws_say_time(t, step_ns), ".", NULL);
	else if (!isnan(step_ns))
		ws_page_say(out, "", step, ws_say_time(t, step_ns), "; for ",
		            ws_say_part_of(t, exposed_ns, ws_stat_percent(exposed_ns, step_ns)),
		            " of it only communication runs.", NULL);

	const double idle_ns = step_ns - r->mean_ns[WS_RANK_COMPUTE] - exposed_ns;

	for (size_t i = 0; i < r->n; i++)
		least_exposed_ns = fmin(least_exposed_ns, r->ranks[i].mean_ns[WS_RANK_EXPOSED]);

	/* what computes can hide no more than its own time */
	const double compute_ns = r->mean_ns[WS_RANK_COMPUTE],
	             gain_ns = fmin(least_exposed_ns, compute_ns);

	if (out->nheadline < WS_PAGE_LINES && r->straggler && !has_companion(r) &&
	    !is_seldom_late(r) && ws_stat_percent(r->lead_ns, step_ns) >= IDLE_PERCENT &&
	    r->lead_ns >= gain_ns)
		ws_page_say(out, "", "What to do: ",
		            ws_arena_format(t, "find why rank %" PRId64 " is late",
		                            r->straggler->number),
		            ", which would save up to ",
		            ws_arena_format(t, "%s%s", ws_say_time(t, r->lead_ns), per), ".", NULL);
	else if (out->nheadline < WS_PAGE_LINES &&
	         ws_stat_percent(idle_ns, step_ns) >= IDLE_PERCENT && idle_ns >= exposed_ns)
		ws_page_say(out, "",
		            has_device ? "What to do: the devices idle for "
		                       : "What to do: no operation runs for ",
		            ws_say_part_of(t, idle_ns, ws_stat_percent(idle_ns, step_ns)),
		            has_device ? "; the report of one rank shows why its GPU waits."
		                       : "; a rank's modules and lines show where its program is "
		                         "then.",
		            NULL);
	else if (out->nheadline < WS_PAGE_LINES && !isnan(idle_ns) &&
	         ws_stat_percent(gain_ns, step_ns) >= IDLE_PERCENT)
		ws_page_say(out, "",
		            "What to do: let communication run beside computation, which would "
		            "save up to ",
		            ws_arena_format(t, "%s%s", ws_say_time(t, gain_ns), per), ".", NULL);
	else if (out->nheadline < WS_PAGE_LINES && compute_ns > 0 &&
	         ws_stat_percent(least_exposed_ns, step_ns) >= IDLE_PERCENT)
		ws_page_say(
		        out, "",
		        "What to do: communicate less often, or fewer bytes; computation takes ",
		        ws_arena_format(t, "%s%s", ws_say_time(t, compute_ns), per),
		        ", too little to hide communication.", NULL);

	/* A bar for each rank. */
	out->rows_title =
	        *per ? "Where a step of each rank goes" : "Where the run of each rank goes";
	out->rows_what =
	        *per ? "mean over the steps; idle time stands last" : "idle time stands last";
	WS_NEW(t, out->row, WS_PAGE_ROWS);
	for (size_t i = 0; i < r->n; i++) {
		const struct ws_rank *rank = &r->ranks[nth_rank(r, i)];
		const double own_ns = rank->mean_ns[WS_RANK_STEP],
		             computed_ns = rank->mean_ns[WS_RANK_COMPUTE],
		             alone_ns = rank->mean_ns[WS_RANK_EXPOSED];

		if (isnan(own_ns))
			continue;
		if (out->nrows == WS_PAGE_ROWS) {
			out->more_rows++;
			continue;
		}
		struct ws_page_row *row = &out->row[out->nrows++];
		*row = (struct ws_page_row){.group = "",
		                            .name = ws_arena_format(t, "rank %" PRId64,
		                                                    rank->number),
		                            .ns = own_ns,
		                            .low_ns = NAN,
		                            .high_ns = NAN};
		row->words = ws_say_time(t, own_ns);
		if (rank == r->straggler)
			row->words = ws_arena_format(t, "%s; the others wait for it", row->words);
		else if (r->last && rank->judged && rank->mean_ns[WS_RANK_WAITING] > 0)
			row->words =
			        ws_arena_format(t, "%s; waits %s", row->words,
			                        ws_say_time(t, rank->mean_ns[WS_RANK_WAITING]));
		ws_page_add_part(row, "computing", computed_ns,
		                 ws_page_colour_def(WS_PAGE_COMPUTING), false);
		ws_page_add_part(row, "exposed communication", alone_ns,
		                 ws_page_colour_def(WS_PAGE_PINK), false);
		ws_page_add_part(row, "idle", own_ns - computed_ns - alone_ns,
		                 ws_page_colour_def(WS_PAGE_IDLE), true);
	}
	out->timeline = make_timeline(r);
}

/* Rows from queries exist already; adds sentences. */
static enum ws_status fill(void *ctx, size_t which, struct ws_table **table, struct ws_err *err)
{
	struct ws_ranks *r = ctx;
	struct ws_table *t = *table;

	(void)which, (void)err;
	if (t->def == &ws_def_ranks_verdict)
		fill_verdict(r, t);
	else if (t->def == &ws_def_ranks) {
		struct ws_arena temp = {0};
		uint64_t outside = 0;
		bool steps = false, numbers = false;

		for (size_t i = 0; i < r->n; i++) {
			outside += r->ranks[i].noutside;
			steps |= r->ranks[i].has_steps;
			numbers |= r->ranks[i].has_number;
		}
		if (!steps)
			ws_table_note(t, "The traces have no finished steps: times are of all of "
			                 "each trace. --step PATTERN says which ranges are steps.");
		if (!numbers)
			ws_table_note(t,
			              "Not every trace says its rank: they are numbered as given.");
		if (outside)
			ws_table_note(t,
			              "%s communication kernels lie in no measured step and are "
			              "left out.",
			              ws_say_number(&temp, (double)outside));
		if (r->unmatched)
			ws_table_note(
			        t,
			        "%s calls of collectives are not matched: the ranks have different "
			        "numbers of them in a step, and no sequence numbers.",
			        ws_say_number(&temp, (double)r->unmatched));
		if (r->no_groups)
			ws_table_note(
			        t, "Some collectives have no recorded group: those of one kernel "
			           "and order in the step are taken for one call of all ranks.");
		ws_arena_free(&temp);
	} else if (t->def == &ws_def_collectives && !t->nrows)
		ws_table_set_not_recorded(t, "no communication kernel was recorded");
	else if (t->def == &ws_def_collectives && r->n == 1)
		ws_table_note(t, "These are the calls of one rank: waiting, transfer and bandwidth "
		                 "need the traces of the others.");
	else if (t->def == &ws_def_collectives && r->nbaselines < r->njudged_meetings)
		ws_table_note(t,
		              "%zu of %zu judged calls have no baseline: their size was not "
		              "recorded, every call of their size has skew, or they are the only "
		              "ones of their size.",
		              r->njudged_meetings - r->nbaselines, r->njudged_meetings);
	else if (t->def == &ws_def_collective_calls && !t->nrows)
		ws_table_set_not_recorded(t, "no collective was found on two ranks or more");
	return WS_OK;
}

enum ws_status ws_ranks_make(struct ws_ranks *r, struct ws_report **out, const char **alarm,
                             struct ws_err *err)
{
	*out = NULL;
	WS_FORWARD(number_ranks(r, err));
	match_calls(r);
	align_clocks(r);

	/* A step is common if it contains a judged call; or, if no call can be matched at all, if
	 * all ranks have a step of its number. */
	for (size_t i = 0; i < r->n && !r->nmeetings; i++)
		for (size_t k = 0; k < r->ranks[i].nsteps; k++) {
			struct ws_rank_step *step = &r->ranks[i].steps[k];
			size_t have = 0;

			for (size_t other = 0; other < r->n; other++) {
				const struct ws_rank *of = &r->ranks[other];
				size_t at = 0;

				while (at < of->nsteps && of->steps[at].number != step->number)
					at++;
				have += at < of->nsteps;
			}
			step->is_common = have == r->n;
		}
	for (size_t i = 0; i < r->n; i++) {
		for (size_t k = 0; k < r->ranks[i].nsteps; k++)
			r->ranks[i].ncommon += r->ranks[i].steps[k].is_common;
		r->ncommon = r->ranks[i].ncommon > r->ncommon ? r->ranks[i].ncommon : r->ncommon;
	}
	summarise(r);

	struct ws_report_plan plan = {.title = "Warpsheet report of ranks", .fill = fill, .ctx = r};
	char trace[32];

	snprintf(trace, sizeof(trace), "%zu rank%s", r->n, WS_PLURAL(r->n));
	plan.trace = trace;
	plan.created_ns = r->n ? r->ranks[0].base_ns : 0;
	plan.defs = ws_ranks_defs(&plan.ndefs);
	WS_FORWARD(ws_query_open(&plan.query, err));
	ws_ranks_relations(plan.query, r);
	enum ws_status status = ws_report_of_plan(&plan, out, err);
	ws_query_close(plan.query);
	WS_FORWARD(status);
	make_first_screen(r, *out);
	*alarm = *r->alarm ? r->alarm : NULL;
	return WS_OK;
}
