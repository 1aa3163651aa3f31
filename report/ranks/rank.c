/* One rank's trace: who it is, how its steps went, and its collectives. */
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/analysis/device_time.h"
#include "report/analysis/rank.h"
#include "report/base/names.h"
#include "report/ranks/private.h"

struct reader {
	struct ws_ranks *r;
	struct ws_rank *rank;
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_selection sel;
	const struct ws_windows *windows;
	struct ws_spans busy, compute, comm;
};

/* --- what a collective is ---------------------------------------------------------------- */

/* Letters only, in lower case: all_reduce_, AllReduce and allreduce are one. */
static void letters_of(struct ws_bytes name, char *out, size_t size)
{
	const char *p = name.ptr;
	size_t n = 0;

	for (size_t i = 0; i < name.len && n + 1 < size; i++) {
		char c = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);

		if (c >= 'a' && c <= 'z')
			out[n++] = c;
	}
	out[n] = '\0';
}

static enum ws_collective_op op_of(const char *letters)
{
	static const struct {
		const char *part;
		enum ws_collective_op op;
	} ops[] = {
	        {"allreduce", WS_OP_ALL_REDUCE},         {"crossdevicereduce", WS_OP_ALL_REDUCE},
	        {"barrier", WS_OP_ALL_REDUCE},           {"allgather", WS_OP_ALL_GATHER},
	        {"reducescatter", WS_OP_REDUCE_SCATTER}, {"alltoall", WS_OP_ALL_TO_ALL},
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strstr(letters, ops[i].part))
			return ops[i].op;
	return WS_OP_ASYMMETRIC;
}

/* Bytes of an element by PyTorch's name of its type; NaN = another name. */
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

/* Names of a framework's calls and of libraries' ranges: nccl:all_to_all, c10d::allreduce_,
 * ncclAllReduce. A program's own words may be about anything. */
static bool is_library_call(struct ws_bytes name)
{
	static const char *const begins[] = {"nccl", "rccl", "c10d::", "_c10d_functional::"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ws_bytes_begin(name, begins[i]))
			return true;
	return false;
}

static bool names_collective(struct ws_bytes name)
{
	char letters[256];

	letters_of(name, letters, sizeof(letters));
	return is_library_call(name) && op_of(letters) != WS_OP_ASYMMETRIC;
}

/* What the kernel is by the ranges and operations that it was launched in, from the innermost: a
 * collective may run as sends and receives. WS_TEXT_EMPTY = they do not tell. */
static uint32_t name_around(const struct ws_model *m, const struct ws_joined_kernel *k)
{
	for (uint32_t at = k->kind->path; at != WS_NONE; at = m->ranges.paths[at].parent)
		if (names_collective(m->texts[m->ranges.paths[at].name]))
			return m->ranges.paths[at].name;
	for (uint32_t at = k->cpu_op; at != WS_NONE; at = m->cpu_ops.tree.parent[at])
		if (names_collective(m->texts[m->cpu_ops.tree.name[at]]))
			return m->cpu_ops.tree.name[at];
	return WS_TEXT_EMPTY;
}

static void take_kind(struct reader *c, const struct ws_joined_kernel *k,
                      const struct ws_collective *known, struct ws_call_kind *kind)
{
	const struct ws_model *m = c->m;
	struct ws_texts *texts = &c->r->texts;
	char letters[256];

	*kind = (struct ws_call_kind){.bytes = NAN};
	if (!known) {
		const uint32_t around = name_around(m, k);
		struct ws_bytes name =
		        around != WS_TEXT_EMPTY
		                ? m->texts[around]
		                : ws_model_short_name(m, m->configs[k->kind->config].name);

		letters_of(name, letters, sizeof(letters));
		kind->op = op_of(letters);
		c->r->no_groups = true;
		kind->name = ws_texts_add(texts, name);
		return;
	}
	letters_of(m->texts[known->name], letters, sizeof(letters));
	kind->op = op_of(letters);
	kind->group_size = known->group_size;
	kind->bytes =
	        element_bytes(m->texts[known->dtype]) *
	        (double)(kind->op == WS_OP_ALL_GATHER ? known->out_elements : known->in_elements);
	kind->name = ws_texts_add(texts, m->texts[known->name]);
	kind->group = ws_texts_add(texts, m->texts[known->group]);
	kind->ranks = ws_texts_add(texts, m->texts[known->ranks]);
	kind->dtype = ws_texts_add(texts, m->texts[known->dtype]);
}

/* Calls of one key face each other; what one rank alone may have otherwise is not in it. */
static uint32_t take_key(struct ws_ranks *r, const struct ws_call_kind *kind)
{
	const uint32_t parts[] = {kind->name, kind->group, kind->ranks};

	return ws_texts_add(&r->texts, (struct ws_bytes){parts, sizeof(parts)});
}

/* The step that a kernel belongs to, else the one in whose time it began; WS_NONE. */
static uint32_t step_of_kernel(const struct reader *c, const struct ws_joined_kernel *k)
{
	uint32_t step = k->step;

	for (uint32_t i = 0; i < c->rank->nsteps && step != WS_NONE; i++)
		if (c->windows->window[i].step == step)
			return i;
	for (uint32_t i = 0; i < c->rank->nsteps; i++)
		if (k->start_ns >= c->windows->window[i].start_ns &&
		    k->start_ns < c->windows->window[i].end_ns)
			return i;
	return WS_NONE;
}

static void add_call(struct reader *c, const struct ws_joined_kernel *k,
                     const struct ws_collective *known)
{
	struct ws_ranks *r = c->r;
	struct ws_rank_call call = {
	        .rank = (uint32_t)(r->n - 1),
	        .step = step_of_kernel(c, k),
	        .start_ns = c->rank->base_ns + k->start_ns,
	        .end_ns = c->rank->base_ns + k->start_ns + k->dur_ns,
	        .has_sequence = known && known->sequence >= 0,
	};

	c->rank->comm_kernels++;
	if (call.step == WS_NONE) {
		c->rank->noutside++;
		return;
	}
	call.slot = call.has_sequence ? known->sequence : c->rank->steps[call.step].number;
	take_kind(c, k, known, &call.kind);
	call.key = take_key(r, &call.kind);
	WS_GROW(r->calls, r->ncalls + 1, r->calls_capacity);
	r->calls[r->ncalls++] = call;
}

/* --- time -------------------------------------------------------------------------------- */

static void gather_spans(struct reader *c)
{
	const struct ws_model *m = c->m;

	for (size_t i = 0; i < c->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->rows, i);
		const int64_t start = k->start_ns, end = start + k->dur_ns;

		if (!k->kind->timed)
			continue;
		ws_spans_cover(&c->busy, start, end);
		ws_spans_cover(k->kind->class == WS_TEXT_COMM ? &c->comm : &c->compute, start, end);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		/* of a graph traced as a whole no kernel is known; it computes */
		if (w->kind != WS_WORK_GRAPH || w->no_time)
			continue;
		ws_spans_add(&c->busy, w->start_ns, w->start_ns + w->dur_ns);
		ws_spans_add(&c->compute, w->start_ns, w->start_ns + w->dur_ns);
	}
	ws_spans_merge(&c->busy);
	ws_spans_merge(&c->compute);
	ws_spans_merge(&c->comm);
}

static double time_in(const struct ws_time_window *w, const struct ws_spans *spans)
{
	return (double)ws_spans_inside(spans, w->start_ns, w->end_ns);
}

static void read_steps(struct reader *c)
{
	struct ws_rank *rank = c->rank;

	c->windows = ws_windows(c->m, &c->sel);
	rank->nsteps = c->windows->n;
	gather_spans(c);
	WS_NEW(&c->r->arena, rank->steps, rank->nsteps);
	for (size_t i = 0; i < rank->nsteps; i++) {
		const struct ws_time_window *w = &c->windows->window[i];
		struct ws_rank_step *s = &rank->steps[i];

		rank->has_steps |= w->step != WS_NONE;
		s->number = w->step == WS_NONE ? 0 : c->m->steps[w->step].number;
		s->ns[WS_RANK_STEP] = (double)(w->end_ns - w->start_ns);
		s->ns[WS_RANK_COMPUTE] = time_in(w, &c->compute);
		s->ns[WS_RANK_COMM] = time_in(w, &c->comm);
		s->ns[WS_RANK_EXPOSED] = time_in(w, &c->busy) - s->ns[WS_RANK_COMPUTE];
	}
}

static void read_rank(struct reader *c)
{
	const struct ws_model *m = c->m;
	struct ws_texts *texts = &c->r->texts;
	struct ws_rank *rank = c->rank;
	const struct ws_joined_kernel *k =
	        c->rows->nkernels ? ws_joined_rows_kernel(c->rows, 0) : NULL;
	const uint32_t device = k ? m->configs[k->kind->config].device : WS_NONE;

	rank->number = ws_model_rank(m);
	rank->has_number = rank->number >= 0;
	rank->world_size = ws_model_world_size(m);
	rank->base_ns = m->file.base_ns;
	rank->name = ws_texts_add_str(texts, m->name);
	rank->dtype = ws_texts_add(texts, ws_model_fact(m, "dtype"));
	if (device != WS_NONE)
		rank->device = ws_texts_add(texts, m->texts[m->devices[device].name]);
	read_steps(c);
	for (size_t i = 0; i < c->rows->nkernels; i++) {
		k = ws_joined_rows_kernel(c->rows, i);
		if (k->kind->class == WS_TEXT_COMM && k->kind->timed)
			add_call(c, k, ws_joined_collective(m, k));
	}
}

void ws_ranks_add(struct ws_ranks *r, const struct ws_model *m, struct ws_joined_rows *rows)
{
	struct reader c = {.r = r, .m = m};

	WS_GROW(r->ranks, r->n + 1, r->capacity);
	c.rank = &r->ranks[r->n++];
	*c.rank = (struct ws_rank){.offset_ns = NAN, .residual_ns = NAN};
	ws_select_rows(m, rows, NULL, &c.sel);
	c.rows = c.sel.rows;
	read_rank(&c);
	ws_selection_release(&c.sel);
	ws_spans_release(&c.busy);
	ws_spans_release(&c.compute);
	ws_spans_release(&c.comm);
}
