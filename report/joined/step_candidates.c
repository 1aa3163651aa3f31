#include "report/joined/rows.h"

#include "report/base/names.h"

/* Maximum depth of steps: main / epoch / iteration. */
#define DEPTH_MAX 3
/* Steps contain at least this share of the GPU time. */
#define LEAST_PERCENT 50
/* Ranges with more instances per period of the kernels are parts of a step. */
#define MOST_IN_PERIOD 2
/* Minimum share of kernels that equal the kernel a period earlier. */
#define REPEAT_PERCENT 90
/* Number of rare kernels tried as marks of a period: each costs two scans of all kernels. */
#define NAMES_TRIED 8

struct group {
	uint64_t count, names; /* names: number of different names */
	int64_t gpu_ns;
	uint32_t depth;
	struct ws_bytes pattern;
};

struct finder {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_arena *arena;
	struct ws_strtab patterns; /* pattern and depth -> group + 1 */
	struct group *group;
	size_t ngroups;
	uint32_t *of_path; /* path -> group, WS_NONE */
	int64_t *path_ns;  /* GPU time of kernels launched in a path, without nested ranges */
	int64_t gpu_ns;    /* all times are without warm-up */
	struct ws_spans warm_up;
};

/* "Iteration *" of "Iteration 17": numbers change from step to step. */
static struct ws_bytes pattern_of(struct ws_arena *arena, struct ws_bytes name)
{
	char *out = ws_arena_array(arena, name.len + 2, 1);
	const char *p = name.ptr;
	size_t n = 0;

	/* "step[*", "execute_*": all sizes of a batch vary */
	if (ws_name_is_batch(name)) {
		while (p[n] != '[' && p[n] != '_')
			n++;
		n++;
		return (struct ws_bytes){ws_arena_format(arena, "%.*s*", (int)n, p), n + 1};
	}

	for (size_t i = 0; i < name.len; i++) {
		if (!ws_name_is_digit(p[i]))
			out[n++] = p[i];
		else if (!n || out[n - 1] != '*')
			out[n++] = '*';
	}
	out[n] = '\0';
	return (struct ws_bytes){out, n};
}

/* --- kernels that repeat ---------------------------------------------------------------------- */

static const struct ws_config *config_of(const struct finder *f, size_t i)
{
	return &f->m->configs[ws_joined_rows_kernel(f->rows, i)->kind->config];
}

void ws_step_candidates_find(const struct ws_model *m, struct ws_joined_rows *rows,
                             struct ws_arena *arena, struct ws_step_candidates *out)
{
	/* phases of a step, operations, layers, calls of libraries, and what autograd runs for a
	 * layer: CudnnConvolutionBackward, MmBackward0 */
	static const char *const parts[] = {"*::*",      "nccl*",      "cublas*",    "cudnn*",
	                                    "*Backward", "*Backward?", "*Backward??"};
	const struct ws_ranges *r = &m->ranges;
	struct finder f = {.m = m, .rows = rows, .arena = arena};
	struct ws_strtab seen = {0}; /* group and name */

	*out = (struct ws_step_candidates){0};
	WS_NEW(arena, f.of_path, r->npaths);
	WS_NEW(arena, f.path_ns, r->npaths);
	WS_NEW(arena, f.group, r->npaths);
	for (uint32_t i = 0; i < r->npaths; i++) {
		const struct ws_path *path = &r->paths[i];
		const struct ws_bytes name = m->texts[path->name];

		f.of_path[i] = WS_NONE;
		if (path->depth >= DEPTH_MAX || !name.len || name.len >= 128 ||
		    WS_NAME_IS_ONE_OF(name, parts) || ws_name_marks_iteration(name) ||
		    ws_label_phase(m, path->name) != WS_PHASE_OTHER ||
		    path->name == WS_TEXT_SETUP || ws_name_is_warm_up(name))
			continue;
		struct ws_bytes pattern = pattern_of(arena, name);

		if (!strcmp(pattern.ptr, "*"))
			continue; /* it would match every range */
		uint64_t id = ws_strtab_add(&f.patterns, pattern.ptr, pattern.len);
		if (id > f.ngroups)
			f.group[f.ngroups++] =
			        (struct group){.pattern = pattern, .depth = r->paths[i].depth};
		f.of_path[i] = (uint32_t)id - 1;
	}

	/* Names that repeat because layers are numbered anew in each step are parts of the step. */
	for (uint32_t i = 0; i < r->npaths; i++) {
		const uint32_t key[] = {f.of_path[i], r->paths[i].name};
		const size_t before = seen.used;

		if (f.of_path[i] == WS_NONE)
			continue;
		ws_strtab_add(&seen, key, sizeof(key));
		f.group[f.of_path[i]].names += seen.used > before;
	}
	ws_strtab_free(&seen);
	WS_EACH_RANGE(rows, i, range) {
		const uint32_t group = f.of_path[range->context->path];

		if (range->context->marks & WS_IN_WARM_UP)
			ws_spans_cover(&f.warm_up, range->start_ns, range->end_ns);
		else if (group != WS_NONE)
			f.group[group].count++;
	}
	ws_spans_merge(&f.warm_up);
	WS_EACH_KERNEL(rows, i, k) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, k->call);

		/* launched during a warm-up, by any thread? Autograd's thread runs the backward of
		 * a warm-up */
		if (!k->kind->timed || k->kind->marks & WS_IN_WARM_UP ||
		    (call &&
		     ws_spans_inside(&f.warm_up, call->start_ns, call->start_ns + call->dur_ns)))
			continue;
		f.gpu_ns += k->dur_ns;
		if (k->kind->path < r->npaths)
			f.path_ns[k->kind->path] += k->dur_ns;
	}
	for (uint32_t i = 0; i < r->npaths; i++) {
		uint32_t last = WS_NONE; /* nested ranges of one group count once */

		for (uint32_t at = i; at != WS_NONE && f.path_ns[i]; at = r->paths[at].parent) {
			if (f.of_path[at] != WS_NONE && f.of_path[at] != last)
				f.group[f.of_path[at]].gpu_ns += f.path_ns[i];
			last = f.of_path[at] != WS_NONE ? f.of_path[at] : last;
		}
	}

	/* For the first device: the distance of a rare name in the middle of the trace is the
	 * period. The rarest name may occur only at the start, so several are tried. */
	size_t n = 0;

	uint32_t *count = ws_arena_array(arena, m->ntexts, sizeof(*count));
	for (; n < rows->nkernels && config_of(&f, n)->device == config_of(&f, 0)->device; n++)
		count[config_of(&f, n)->name]++;
	for (int tried = 0; tried < NAMES_TRIED && !out->period; tried++) {
		uint32_t name = 0; /* the rarest one of at least three kernels, not tried yet */
		size_t period, same = 0;

		for (uint32_t t = 0; t < m->ntexts; t++)
			if (count[t] > 2 && (!name || count[t] < count[name]))
				name = t;
		if (!name)
			break;
		/* from the middle kernel of the name to the next one; 0: there is none */
		size_t before = 0, at = 0;

		period = 0;
		for (size_t i = 0; i < n && !period; i++) {
			if (config_of(&f, i)->name != name)
				continue;
			if (before == count[name] / 2)
				at = i;
			else if (before > count[name] / 2)
				period = i - at;
			before++;
		}
		count[name] = 0;
		/* a single repeated kernel has no steps */
		if (period < 2 || n / period < 3)
			continue;
		for (size_t i = period; i < n; i++)
			same += config_of(&f, i)->name == config_of(&f, i - period)->name;
		if (100 * (double)same / (double)(n - period) < REPEAT_PERCENT)
			continue;
		out->period = period;
		out->times = n / period;
	}

	/* The candidates with most GPU time. known: steps even if only one was recorded. */
	static const char *const known[] = {"train_step*", "training_step*", "iteration*",
	                                    "Iteration*",  "train_batch*",   "inference_step*",
	                                    "execute_*",   "step[*",         "prefill[*",
	                                    "decode[*"};

	for (size_t k = 0; k < WS_STEP_CANDIDATES; k++) {
		struct ws_step_candidate *c = &out->best[out->n];
		uint8_t *is_step, *is_outermost; /* by path; is_step: it, or a parent */
		struct group *best = NULL;

		for (size_t i = 0; i < f.ngroups; i++) {
			struct group *g = &f.group[i];

			if (!((g->names > 1 && g->count > g->names) ||
			      (out->times && g->count > MOST_IN_PERIOD * out->times)) &&
			    (g->count > 1 || (g->count && WS_NAME_IS_ONE_OF(g->pattern, known))) &&
			    100 * (double)g->gpu_ns >= LEAST_PERCENT * (double)f.gpu_ns &&
			    g->gpu_ns &&
			    /* more GPU time first, then outer ranges */
			    (!best || g->gpu_ns > best->gpu_ns ||
			     (g->gpu_ns == best->gpu_ns &&
			      (g->depth < best->depth ||
			       (g->depth == best->depth && g->count > best->count)))))
				best = g;
		}
		if (!best)
			break;
		*c = (struct ws_step_candidate){
		        .pattern = ws_arena_copy(arena, best->pattern.ptr, best->pattern.len),
		        .gpu_ns = best->gpu_ns,
		        .percent = 100 * (double)best->gpu_ns / (double)f.gpu_ns,
		};
		best->count = 0;

		/* Add the steps that the pattern gives: outermost, finished, and not warm-up. */
		WS_NEW(arena, is_step, r->npaths);
		WS_NEW(arena, is_outermost, r->npaths);
		for (uint32_t i = 0; i < r->npaths; i++) {
			const uint32_t parent = r->paths[i].parent;
			const bool in_step = parent != WS_NONE && is_step[parent];

			ws_step_is_path(m, r, i, c->pattern, &is_step[i]);
			is_outermost[i] = is_step[i] && !in_step;
			is_step[i] |= in_step;
		}
		WS_NEW(arena, c->span, rows->nranges);
		WS_EACH_RANGE(rows, i, range)
			if (is_outermost[range->context->path] && !range->is_open &&
			    !(range->context->marks & WS_IN_WARM_UP))
				c->span[c->count++] =
				        (struct ws_span){range->start_ns, range->end_ns};
		out->n += c->count > 0;
	}
	ws_strtab_free(&f.patterns);
	ws_spans_release(&f.warm_up);
}
