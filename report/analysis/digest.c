#include "report/analysis/digest.h"

#include <stdlib.h>

#include "report/analysis/cost_ops.h"

struct filling {
	struct ws_digest *d;
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_cost_ops costs;
	uint32_t *name_of;           /* operation -> name that its kernels have, see share_flops */
	int64_t *first_ns, *last_ns; /* range -> start of its first and end of its last kernel */
	struct ws_arena temp;
};

static struct ws_kernel_place place_of(const struct ws_model *m, size_t k)
{
	uint32_t r = m->kernels.range[k];
	int launched = !(m->kernels.flags[k] & WS_KERNEL_NO_LAUNCH);

	return (struct ws_kernel_place){
	        .path = r != WS_NONE ? m->ranges.path[r]
	                : launched   ? WS_PATH_NO_RANGE
	                             : WS_PATH_NO_LAUNCH,
	        .class = ws_kernel_range_class(m, k),
	        .direction = ws_kernel_direction(m, k),
	        .dtype = ws_kernel_dtype(m, k),
	};
}

static void widen(struct filling *f, uint32_t range, int64_t first_ns, int64_t last_ns)
{
	if (first_ns < f->first_ns[range])
		f->first_ns[range] = first_ns;
	if (last_ns > f->last_ns[range])
		f->last_ns[range] = last_ns;
}

static void add_to_paths(struct filling *f, size_t k, uint32_t path,
                         const struct ws_digest_kernel *kernel)
{
	const struct ws_model *m = f->m;
	uint32_t range = m->kernels.range[k];
	int64_t end = kernel->start_ns + kernel->dur_ns;
	uint32_t c = m->kernels.crossing ? m->kernels.crossing[k] : WS_NONE;

	uint32_t step = ws_kernel_step(m, k),
	         in_step = step == WS_NONE ? WS_NONE : m->steps[step].range;

	ws_digest_add_own(f->d, path, kernel);
	ws_digest_add_to_path(f->d, m->ranges.paths, path, kernel);
	/* another thread launched it in the step's time: the step has it all the same */
	if (in_step != WS_NONE && (range == WS_NONE || m->range_step[range] != step)) {
		ws_digest_add_to_path(f->d, m->ranges.paths, m->ranges.path[in_step], kernel);
		if (kernel->timed)
			widen(f, in_step, kernel->start_ns, end);
	}
	if (range == WS_NONE)
		return;
	if (kernel->timed)
		widen(f, range, kernel->start_ns, end);
	for (; c != WS_NONE; c = m->attribution.crossings[c].next) {
		uint32_t other = m->attribution.crossings[c].range;

		ws_digest_add_one_path(f->d, m->ranges.path[other], kernel);
		if (kernel->timed)
			widen(f, other, kernel->start_ns, end);
	}
}

static enum ws_status add_kernel(struct filling *f, size_t k, struct ws_err *err)
{
	const struct ws_model *m = f->m;
	struct ws_kernel_place place = place_of(m, k);
	uint32_t range = m->kernels.range[k], cell = 0;
	const struct ws_digest_kernel kernel = {
	        .start_ns = m->kernels.start_ns[k],
	        .dur_ns = m->kernels.dur_ns[k],
	        .timed = !(m->kernels.flags[k] & WS_KERNEL_NO_TIME),
	        .device = ws_kernel_device(m, k),
	        .order = k,
	};

	WS_FORWARD(ws_digest_cell(f->d, m->kernels.config[k], &place, &cell, err));
	WS_FORWARD(ws_digest_add_kernel(f->d, cell, &kernel, err));
	f->d->cells[cell].in_steps += (uint64_t)ws_step_selected(m, f->sel, ws_kernel_step(m, k));
	if (f->d->parts & WS_DIGEST_PATHS)
		add_to_paths(f, k, place.path, &kernel);
	if (range != WS_NONE)
		ws_digest_add_marks(f->d, m->range_marks[range], kernel.dur_ns);
	return WS_OK;
}

/* Of any scope: a report of measured steps tells the warm-up steps, too. */
static enum ws_status add_to_steps(struct filling *f, struct ws_err *err)
{
	const struct ws_model *m = f->m;

	for (size_t k = 0; k < m->kernels.n; k++)
		if (f->sel->any_scope[k] && ws_kernel_step(m, k) != WS_NONE)
			WS_FORWARD(ws_digest_add_to_step(f->d, ws_kernel_step(m, k),
			                                 ws_kernel_phase(m, k),
			                                 m->kernels.dur_ns[k], err));
	return WS_OK;
}

/* --- ranges ------------------------------------------------------------------------------ */

static enum ws_status add_ranges(struct filling *f, struct ws_err *err)
{
	const struct ws_ranges *r = &f->m->ranges;

	/* children before parents: what a child launched, its parent did */
	for (uint32_t i = (uint32_t)r->n; i-- > 0;) {
		struct ws_path_sums *sums = ws_digest_path(f->d, r->path[i]);
		int selected = f->sel->range[i];

		if (f->first_ns[i] <= f->last_ns[i]) {
			if (r->parent[i] != WS_NONE)
				widen(f, r->parent[i], f->first_ns[i], f->last_ns[i]);
			if (selected)
				sums->projected_ns += f->last_ns[i] - f->first_ns[i];
		}
		if (!selected)
			continue;
		sums->open += r->flags[i] & WS_RANGE_OPEN ? 1 : 0;
		WS_FAIL_IF(!ws_values_add(&sums->dur_ns, r->end_ns[i] - r->start_ns[i]), err,
		           NO_MEMORY, "out of memory for the sums of a trace");
	}
	return WS_OK;
}

/* --- costs ------------------------------------------------------------------------------- */

/*
 * FLOPs belong to an operation, not to a kernel. They are a kernel's where
 * all kernels of the operation have its name; a name with one instance for
 * which that does not hold has no FLOPs.
 */
static void share_flops(struct filling *f)
{
	const uint32_t mixed = WS_NONE;
	struct ws_cost_ops *costs = &f->costs;
	struct ws_joined_rows *rows = f->sel->rows;
	uint32_t *name_of = f->name_of;
	struct ws_digest *d = f->d;

	/* 0 is the empty text, which stands for "no kernel yet" */
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);
		uint32_t op = ws_cost_ops_of_kernel(costs, k), name = f->m->configs[k->config].name;

		if (!ws_kernel_selected(f->m, f->sel, k, i) || op == WS_NONE)
			continue;
		if (!name_of[op])
			name_of[op] = name;
		else if (name_of[op] != name)
			name_of[op] = mixed;
	}
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);
		uint32_t op = ws_cost_ops_of_kernel(costs, k);

		if (ws_kernel_selected(f->m, f->sel, k, i) &&
		    (op == WS_NONE || name_of[op] == mixed || ws_cost_ops_at(costs, op).flops < 0))
			d->flops_unknown[f->m->configs[k->config].name] = 1;
	}
	for (size_t i = 0; i < costs->n; i++) {
		const int64_t flops = ws_cost_ops_at(costs, i).flops;

		if (name_of[i] && name_of[i] != mixed && flops >= 0)
			d->flops[name_of[i]] += flops;
	}
}

static enum ws_status add_costs(struct filling *f, struct ws_err *err)
{
	const struct ws_model *m = f->m;

	WS_FORWARD(ws_cost_ops_find(m, f->sel, &f->costs, err));
	WS_NEW(&f->temp, f->name_of, f->costs.n);
	WS_FORWARD(ws_arena_check(&f->temp, "the sums of a trace", err));
	share_flops(f);
	for (size_t i = 0; i < f->costs.n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(&f->costs, i);

		if (op.path != WS_NONE)
			ws_digest_add_cost(f->d, m->ranges.paths, op.path, op.flops, op.bytes);
	}
	return WS_OK;
}

/* --- all --------------------------------------------------------------------------------- */

static enum ws_status add_calls(struct filling *f, struct ws_err *err)
{
	const struct ws_api *a = &f->m->api;

	for (size_t i = 0; i < a->n; i++)
		if (f->sel->call[i])
			WS_FORWARD(ws_digest_add_call(f->d, a->name[i],
			                              a->end_ns[i] - a->start_ns[i], a->failed[i],
			                              err));
	return WS_OK;
}

static enum ws_status add_all(struct filling *f, struct ws_err *err)
{
	const struct ws_model *m = f->m;
	const struct ws_ranges *r = &m->ranges;
	unsigned parts = f->d->parts;

	WS_FORWARD(ws_digest_reserve_paths(f->d, r->npaths, err));
	WS_NEW(&f->temp, f->first_ns, r->n);
	WS_NEW(&f->temp, f->last_ns, r->n);
	WS_FORWARD(ws_arena_check(&f->temp, "the sums of a trace", err));
	for (size_t i = 0; i < r->n; i++) {
		f->first_ns[i] = INT64_MAX;
		f->last_ns[i] = INT64_MIN;
	}
	if (parts & (WS_DIGEST_KERNELS | WS_DIGEST_JOINED))
		for (size_t k = 0; k < m->kernels.n; k++)
			if (f->sel->kernel[k])
				WS_FORWARD(add_kernel(f, k, err));
	if (parts & WS_DIGEST_STEPS)
		WS_FORWARD(add_to_steps(f, err));
	if (parts & WS_DIGEST_PATHS)
		WS_FORWARD(add_ranges(f, err));
	if (parts & WS_DIGEST_COSTS)
		WS_FORWARD(add_costs(f, err));
	return parts & WS_DIGEST_CALLS ? add_calls(f, err) : WS_OK;
}

enum ws_status ws_digest_of_model(struct ws_digest *d, const struct ws_model *m,
                                  const struct ws_selection *sel, unsigned parts,
                                  struct ws_err *err)
{
	struct filling f = {.d = d, .m = m, .sel = sel};
	enum ws_status status = ws_digest_init(d, m, parts, err);

	WS_THEN(status, add_all(&f, err));
	ws_digest_finish(d);
	d->nranges = m->ranges.n;
	d->open_ranges = m->ranges.open;
	ws_cost_ops_release(&f.costs);
	ws_arena_free(&f.temp);
	return status;
}
