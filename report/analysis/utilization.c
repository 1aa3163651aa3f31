#include "report/analysis/device_time.h"

#include "report/analysis/steps.h"
#include "report/base/names.h"

const char *ws_over_peak(double percent)
{
	return percent > 100 ? WS_OVER_PEAK : NULL;
}

struct state {
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_cost_ops *costs;
	struct ws_utilization *out;
	uint8_t *is_training; /* by operation: ran in backward or the optimizer */
	uint8_t *devices;     /* ran products */
	int64_t unknown_ns,
	        of_graphs_ns; /* of_graphs_ns: part of unknown_ns launched as CUDA graphs */
	int has_flops, has_backward, has_optimizer;
	/* longest product with a peak, and without one; without kernels: none */
	struct ws_cost_op longest, unknown;
};

static bool is_counted(const struct ws_model *m, const struct ws_selection *sel,
                       const struct ws_utilization *u, uint32_t step)
{
	return ws_step_selected(m, sel, step) && u->step_ns[step] >= 0;
}

#define WHY(u, ...) snprintf((u)->obstacle, sizeof((u)->obstacle), __VA_ARGS__)

/* Has it the longer kernel? Ties are broken by attributes, because the order of operations depends
 * on the source of the trace. */
static bool is_longer(const struct ws_model *m, const struct ws_cost_op *a,
                      const struct ws_cost_op *b)
{
	if (!b->kernels || a->longest_ns != b->longest_ns)
		return !b->kernels || a->longest_ns > b->longest_ns;
	if (a->device != b->device)
		return a->device < b->device;
	int c = ws_name_compare(m->texts[a->dtype], m->texts[b->dtype]);
	return c ? c < 0 : a->tensor < b->tensor;
}

static void add_ops(struct state *s)
{
	struct ws_utilization *u = s->out;

	for (size_t i = 0; i < s->costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(s->costs, i);

		if (!op.kernels || op.flops <= 0 || !ws_class_is_product(op.class) ||
		    !is_counted(s->m, s->sel, u, op.step))
			continue;

		/* Time of an operation at the peak; NaN if the peak is unknown. */
		struct ws_roof roof;

		ws_roof_find(s->m, op.device, op.class, op.dtype, op.tensor, &roof);
		struct ws_cost_op *longest = roof.flops_per_s > 0 ? &s->longest : &s->unknown;
		if (is_longer(s->m, &op, longest))
			*longest = op;
		double ns = roof.flops_per_s > 0 ? (double)op.flops / roof.flops_per_s * 1e9 /
		                                           (double)s->out->devices
		                                 : NAN;
		u->flops += (double)op.flops;
		u->ran_ns[op.step] += ns;
		u->ran_sum_ns += ns;
		if (s->is_training[i])
			continue;
		u->model_ns[op.step] += s->has_backward ? 3 * ns : ns;
	}
	/* Three times the forward includes the data gradient of the first layer, which is not
	 * needed. So it is limited by the executed FLOPs if the products of backward are known. */
	for (size_t i = 0; i < s->m->nsteps; i++) {
		if (s->has_backward && u->ran_ns[i] >= 2 * u->model_ns[i] / 3)
			u->model_ns[i] = fmin(u->model_ns[i], u->ran_ns[i]);
		u->model_sum_ns += u->model_ns[i];
	}
	if (s->unknown.kernels) {
		struct ws_bytes dtype = s->m->texts[s->unknown.dtype];

		if (ws_model_on_cpu(s->m) == 1)
			WHY(s->out, "times of the CPU reference are not those of a GPU");
		else if (s->m->devices[s->unknown.device].name == WS_TEXT_EMPTY)
			WHY(s->out, "the file does not name device %llu; `--device-name NAME` does",
			    (unsigned long long)s->m->devices[s->unknown.device].id);
		else if (!s->unknown.dtype)
			WHY(s->out, "the dtype of a matrix product is not known");
		else
			WHY(s->out,
			    "no peak of %.*s is known for device %llu; `--peaks FILE` adds one",
			    WS_SHOWN_MOST(dtype, 32),
			    (unsigned long long)s->m->devices[s->unknown.device].id);
	} else if (s->has_optimizer && !s->has_backward)
		WHY(u, "an optimizer ran, but no kernel is known to belong to backward");
}

static void find(struct state *s)
{
	const struct ws_model *m = s->m;
	struct ws_utilization *out = s->out;

	/* A step without a window, because it is truncated, does not count. */
	out->step_ns = ws_step_times(m, s->sel)->step_ns;
	for (uint32_t i = 0; i < m->nsteps; i++)
		if (is_counted(m, s->sel, out, i))
			out->step_sum_ns += out->step_ns[i];

	struct ws_joined_rows *rows = s->sel->rows;

	WS_EACH_KERNEL(rows, i, k) {
		const bool is_backward = k->kind->phase == WS_PHASE_BACKWARD;
		const bool is_optimizer = k->kind->phase == WS_PHASE_OPTIMIZER;
		struct ws_cost_op cost = {.flops = -1};
		const struct ws_joined_call *call;

		if (!ws_kernel_selected(s->m, s->sel, k, i) ||
		    !is_counted(s->m, s->sel, s->out, k->step))
			continue;
		uint32_t op = ws_cost_ops_of_kernel(s->costs, k);
		s->has_backward |= is_backward;
		s->has_optimizer |= is_optimizer;
		if (op != WS_NONE) {
			s->is_training[op] |= is_backward || is_optimizer;
			cost = ws_cost_ops_at(s->costs, op);
		}
		if (!ws_class_is_product(cost.class ? cost.class : k->kind->class))
			continue;
		s->devices[s->m->configs[k->kind->config].device] = 1;
		if (cost.flops < 0) {
			s->unknown_ns += k->dur_ns;
			/* launched as part of a CUDA graph, whose operations ran when it was
			 * captured? */
			call = ws_joined_rows_call(s->sel->rows, k->call);
			if (call && ws_name_has(s->m->texts[call->kind->name], "GraphLaunch"))
				s->of_graphs_ns += k->dur_ns;
		} else {
			s->has_flops = 1;
		}
		s->out->product_ns += k->dur_ns;
	}
	for (size_t d = 0; d < s->m->ndevices; d++)
		s->out->devices += s->devices[d];

	/* Obstacles other than unknown peaks. */
	struct ws_utilization *u = s->out;

	if (s->sel->has_nvtx || s->sel->has_launched)
		WHY(u, "a filter leaves out kernels of the steps");
	else if (!u->step_sum_ns)
		WHY(u, "there is no measured step");
	else if (!ws_model_has_kernels(s->m))
		WHY(u, "no kernel was recorded");
	else if (!s->has_flops && 2 * s->of_graphs_ns > s->unknown_ns)
		WHY(u, "cannot tell: matrix products and attention ran as CUDA graphs, for which "
		       "no profile has shapes: record a step without graphs as well");
	else if (!s->has_flops)
		WHY(u, "no matrix product, convolution or fused attention of the steps tells its "
		       "FLOPs");
	else if (100 * (double)s->unknown_ns >
	         WS_UTILIZATION_UNTOLD_PERCENT * (double)u->product_ns)
		WHY(u,
		    "%.1f %% of the GPU time of matrix products, convolutions and fused "
		    "attention is without FLOPs%s",
		    100 * (double)s->unknown_ns / (double)u->product_ns,
		    2 * s->of_graphs_ns > s->unknown_ns
		            ? ": most of it ran as CUDA graphs, for which no profile has "
		              "shapes: record a step without graphs as well"
		    : s->m->cpu_ops.tree.n ? " (PyTorch's profiler: record_shapes=True)"
		                           : "");
	else
		u->flops = 0;
	if (!out->obstacle[0])
		add_ops(s);
	if (out->obstacle[0]) {
		/* Unknown values are unknown for all steps. */
		for (size_t i = 0; i < m->nsteps; i++)
			out->model_ns[i] = out->ran_ns[i] = NAN;
		out->model_sum_ns = out->ran_sum_ns = NAN;
	} else if (s->longest.kernels) {
		const struct ws_cost_op *op = &s->longest;
		struct ws_bytes dtype = s->m->texts[op->dtype];
		const struct ws_device *device = &s->m->devices[op->device];
		struct ws_roof roof;
		char key[48];

		ws_roof_find(s->m, op->device, op->class, op->dtype, op->tensor, &roof);
		snprintf(key, sizeof(key), "peak.%.*s", WS_SHOWN_MOST(dtype, 32));
		int measured = ws_model_fact(s->m, key).len || !device->has_peaks;
		snprintf(s->out->basis, sizeof(s->out->basis),
		         "%.1f TFLOP/s, dense %.*s, on %llu device%s; source: %.*s",
		         roof.flops_per_s / 1e12, WS_SHOWN_MOST(dtype, 32),
		         (unsigned long long)s->out->devices, WS_PLURAL(s->out->devices),
		         measured ? 100 : ws_peaks_source_len(&device->peaks),
		         measured ? "measured by the program" : device->peaks.source);
	}
	for (uint32_t i = 0; i < m->nsteps; i++)
		if (!is_counted(m, s->sel, out, i))
			out->model_ns[i] = out->ran_ns[i] = NAN;
}

const struct ws_utilization *ws_utilization_find(const struct ws_model *m,
                                                 const struct ws_selection *sel)
{
	static const char key;
	const struct ws_utilization *out = ws_kept_result(sel, &key);
	struct ws_arena *arena = &sel->kept->arena, temp = {0};
	struct state s = {.m = m, .sel = sel};

	if (out)
		return out;
	s.costs = ws_cost_ops_find(m, sel);
	WS_NEW(arena, s.out, 1);
	*s.out = (struct ws_utilization){.flops = NAN};
	WS_NEW(arena, s.out->model_ns, m->nsteps);
	WS_NEW(arena, s.out->ran_ns, m->nsteps);
	WS_NEW(&temp, s.is_training, s.costs->n);
	WS_NEW(&temp, s.devices, m->ndevices);
	find(&s);
	ws_arena_free(&temp);
	ws_keep_result(sel, &key, s.out, NULL);
	return s.out;
}
