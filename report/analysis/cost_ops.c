#include "report/analysis/cost_ops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"

void ws_cost_ops_release(struct ws_cost_ops *c)
{
	ws_arena_free(&c->arena);
	*c = (struct ws_cost_ops){0};
}

/* --- which operations count ------------------------------------------------------------ */

/*
 * cost_op[i] = the operation that counts for framework operation i: itself,
 * or one around it; WS_NONE. Parents stand before their children.
 */
static enum ws_status find_counted(struct ws_arena *temp, const struct ws_model *m,
                                   uint32_t *cost_op, struct ws_err *err)
{
	const struct ws_ranges *tree = &m->cpu_ops.tree;
	double *inner; /* FLOPs of those inside that count */
	uint8_t *has_inner;

	WS_NEW(temp, inner, tree->n);
	WS_NEW(temp, has_inner, tree->n);
	WS_FORWARD(ws_arena_check(temp, "the costs of operations", err));
	for (uint32_t i = (uint32_t)tree->n; i-- > 0;) {
		double flops = (double)ws_cpu_op_config(m, i)->flops;
		uint32_t parent = tree->parent[i];
		int counts = flops > 0 ? inner[i] < flops / 2 : flops == 0 && !has_inner[i];

		cost_op[i] = counts ? i : WS_NONE;
		if (parent == WS_NONE)
			continue;
		inner[parent] += counts ? flops : inner[i];
		has_inner[parent] |= counts || has_inner[i];
	}
	for (uint32_t i = 0; i < tree->n; i++)
		if (tree->parent[i] != WS_NONE && cost_op[tree->parent[i]] != WS_NONE)
			cost_op[i] = cost_op[tree->parent[i]];
	return WS_OK;
}

static struct ws_cost_op from_range(const struct ws_model *m, uint32_t i)
{
	const struct ws_op_facts *op = ws_range_op(m, i);
	/* m, n and k of other operations are rows, elements and filters */
	int sized = (op->kind == WS_TEXT_GEMM || op->kind == WS_TEXT_FUSED_ATTENTION) &&
	            op->m > 0 && op->n > 0 && op->k > 0;

	return (struct ws_cost_op){
	        .range = i,
	        .in_range = i,
	        .cpu_op = WS_NONE,
	        .name = m->ranges.name[i],
	        .class = m->range_class[i],
	        .dtype = op->dtype,
	        .direction = op->direction,
	        .flops = op->flops,
	        .bytes = op->bytes,
	        .batch = sized && op->batch > 0 ? (uint64_t)op->batch : (uint64_t)sized,
	        .m = sized ? (uint64_t)op->m : 0,
	        .n = sized ? (uint64_t)op->n : 0,
	        .k = sized ? (uint64_t)op->k : 0,
	        .start_ns = m->ranges.start_ns[i],
	        .thread = m->ranges.thread[i],
	        .step = m->range_step[i],
	        .device = WS_NONE,
	};
}

static struct ws_cost_op from_framework(const struct ws_model *m, uint32_t i)
{
	const struct ws_op_config *c = ws_cpu_op_config(m, i);
	uint32_t forward = m->cpu_ops.forward[i];
	/* backward runs on a thread without ranges: it belongs where its forward was */
	uint32_t range = m->cpu_ops.range[i] != WS_NONE || forward == WS_NONE
	                         ? m->cpu_ops.range[i]
	                         : m->cpu_ops.range[forward];

	return (struct ws_cost_op){
	        .range = WS_NONE,
	        .in_range = range,
	        .cpu_op = i,
	        .name = c->name,
	        .class = c->kind,
	        .dtype = c->dtype,
	        .direction = forward != WS_NONE ? WS_TEXT_BACKWARD : c->direction,
	        .flops = c->flops,
	        .bytes = c->bytes,
	        .batch = c->batch,
	        .m = c->m,
	        .n = c->n,
	        .k = c->k,
	        .start_ns = m->cpu_ops.tree.start_ns[i],
	        .thread = m->cpu_ops.tree.thread[i],
	        .step = range == WS_NONE ? WS_NONE : m->range_step[range],
	        .device = WS_NONE,
	};
}

/* --- their kernels ------------------------------------------------------------------------ */

static void add_kernel(const struct ws_model *m, struct ws_cost_op *op, size_t k)
{
	const struct ws_config *config = &m->configs[m->kernels.config[k]];
	int64_t ns = m->kernels.dur_ns[k];

	/* launched on a thread without ranges, as backward is */
	if (op->step == WS_NONE)
		op->step = m->kernels.step[k];
	op->gpu_ns += ns;
	if (!op->kernels++ || ns > op->longest_ns) {
		op->longest_ns = ns;
		op->tensor = config->tensor;
		op->device = config->device;
		if (config->name_dtype)
			op->dtype = config->name_dtype;
	}
}

static void add_kernels(const struct ws_model *m, const struct ws_selection *sel,
                        const uint32_t *of_range, const uint32_t *of_cpu_op, struct ws_cost_ops *c)
{
	for (size_t k = 0; k < m->kernels.n; k++) {
		uint32_t range = m->kernels.range[k], op = m->kernels.op[k];
		uint32_t annotated = range == WS_NONE ? WS_NONE : m->range_op[range];

		c->of_kernel[k] = WS_NONE;
		if (!sel->kernel[k])
			continue;
		if (annotated != WS_NONE)
			c->of_kernel[k] = of_range[annotated];
		else if (op != WS_NONE)
			c->of_kernel[k] = of_cpu_op[op];
		if (c->of_kernel[k] != WS_NONE)
			add_kernel(m, &c->op[c->of_kernel[k]], k);
	}
}

/* Sums of these need no look at overflow. */
static void limit_sums(struct ws_cost_ops *c)
{
	int64_t flops = 0, bytes = 0, more;

	for (size_t i = 0; i < c->n; i++) {
		struct ws_cost_op *op = &c->op[i];

		if (op->flops > 0 && __builtin_add_overflow(flops, op->flops, &more))
			op->flops = -1;
		else if (op->flops > 0)
			flops = more;
		if (op->bytes > 0 && __builtin_add_overflow(bytes, op->bytes, &more))
			op->bytes = -1;
		else if (op->bytes > 0)
			bytes = more;
	}
}

static enum ws_status find(struct ws_arena *temp, const struct ws_model *m,
                           const struct ws_selection *sel, struct ws_cost_ops *out,
                           struct ws_err *err)
{
	size_t nops = m->cpu_ops.tree.n;
	uint32_t *of_range, *cost_op;

	WS_NEW(temp, of_range, m->ranges.n);
	WS_NEW(temp, cost_op, nops);
	WS_NEW(&out->arena, out->op, m->ranges.n + nops);
	WS_NEW(&out->arena, out->of_kernel, m->kernels.n);
	WS_FORWARD(ws_arena_check(temp, "the costs of operations", err));
	WS_FORWARD(ws_arena_check(&out->arena, "the costs of operations", err));
	WS_FORWARD(find_counted(temp, m, cost_op, err));
	for (uint32_t i = 0; i < m->ranges.n; i++) {
		of_range[i] = WS_NONE;
		if (!(m->range_marks[i] & WS_OP_COUNTED) || !sel->range[i])
			continue;
		of_range[i] = (uint32_t)out->n;
		out->op[out->n++] = from_range(m, i);
	}
	/* parents first, so the number of the operation that counts is there already */
	for (uint32_t i = 0; i < nops; i++) {
		if (cost_op[i] == i && sel->op[i]) {
			cost_op[i] = (uint32_t)out->n;
			out->op[out->n++] = from_framework(m, i);
		} else if (cost_op[i] == i) {
			cost_op[i] = WS_NONE;
		} else if (cost_op[i] != WS_NONE) {
			cost_op[i] = cost_op[m->cpu_ops.tree.parent[i]];
		}
	}
	limit_sums(out);
	add_kernels(m, sel, of_range, cost_op, out);
	return WS_OK;
}

enum ws_status ws_cost_ops_find(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_cost_ops *out, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status;

	*out = (struct ws_cost_ops){0};
	status = find(&temp, m, sel, out, err);
	ws_arena_free(&temp);
	return status;
}

/* --- peaks ----------------------------------------------------------------------------------- */

/* "workload.peak.bf16=788": TFLOP/s; of memory GB/s. */
static void apply_measured(const struct ws_model *m, struct ws_device_peaks *peaks)
{
	static const double factors[] = {
#define X(NAME, name, factor, unit, meaning) factor,
	        WS_PEAK_LIST(X)
#undef X
	};

	for (int i = 0; i < WS_PEAK_COUNT; i++) {
		char key[32], text[32], *end;
		struct ws_bytes value;
		double v;

		snprintf(key, sizeof(key), "peak.%s", ws_peak_name((enum ws_peak)i));
		value = ws_model_fact(m, key);
		if (!value.len || value.len >= sizeof(text))
			continue;
		memcpy(text, value.ptr, value.len);
		text[value.len] = '\0';
		v = strtod(text, &end);
		if (end != text && !*end)
			ws_device_peaks_measured(peaks, (enum ws_peak)i, v * factors[i]);
	}
}

bool ws_class_is_product(uint32_t class)
{
	return class == WS_TEXT_GEMM || class == WS_TEXT_CONV || class == WS_TEXT_FUSED_ATTENTION;
}

void ws_roof_find(const struct ws_model *m, uint32_t device, uint32_t class, uint32_t dtype,
                  uint8_t tensor, struct ws_roof *out)
{
	struct ws_device_peaks peaks = {{0}, 0, NULL, NULL, 0};
	int on_tensor_cores = ws_class_is_product(class) && tensor != WS_TENSOR_NO;

	*out = (struct ws_roof){0, 0};
	if (device == WS_NONE)
		return;
	if (m->devices[device].has_peaks)
		peaks = m->devices[device].peaks;
	apply_measured(m, &peaks);
	out->bytes_per_s = peaks.value[WS_PEAK_MEMORY];
	/* outside of Tensor Cores 16-bit data is computed with in fp32 */
	out->flops_per_s = peaks.value[WS_PEAK_FP32];
	if (!dtype || ws_name_is(m->texts[dtype], "fp64"))
		out->flops_per_s = 0;
	for (int i = WS_PEAK_TF32; i <= WS_PEAK_FP8 && on_tensor_cores; i++)
		if (ws_name_is(m->texts[dtype], ws_peak_name((enum ws_peak)i)))
			out->flops_per_s = peaks.value[i];
}

const char *ws_roof_bound(const struct ws_roof *roof, double flops, double bytes)
{
	if (roof->flops_per_s <= 0 || roof->bytes_per_s <= 0 || (flops <= 0 && bytes <= 0))
		return NULL;
	return flops * roof->bytes_per_s > bytes * roof->flops_per_s ? "compute" : "memory";
}
