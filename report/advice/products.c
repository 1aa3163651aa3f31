/* Rules about matrix products and convolutions: A3, A4, A5, A7, A8, A15. */

#include "report/advice/advice.h"
#include "report/base/names.h"

/* Bytes per element of dtypes that Tensor Cores read; 0 = another or unknown dtype. */
static unsigned item_bytes(const struct ws_advice *a, uint32_t dtype)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} types[] = {{"fp16", 2}, {"bf16", 2}, {"tf32", 4}, {"fp8", 1}, {"int8", 1}, {"fp64", 8}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ws_name_is(a->m->texts[dtype], types[i].name))
			return types[i].bytes;
	return 0;
}

/* "aten::mm 512 x 768 x 2048 bf16" */
static const char *scope_of(struct ws_advice *a, const struct ws_cost_op *op)
{
	char size[96] = "";
	struct ws_bytes dtype = a->m->texts[op->dtype];

	if (op->m && op->batch > 1)
		snprintf(size, sizeof(size), " %" PRIu64 " of", op->batch);
	if (op->m)
		snprintf(size + strlen(size), sizeof(size) - strlen(size),
		         " %" PRIu64 " x %" PRIu64 " x %" PRIu64, op->m, op->n, op->k);
	return ws_advice_text(a, "%s%s %.*s", ws_advice_name(a, op->name), size, WS_SHOWN(dtype));
}

bool ws_advice_has_sizes(const struct ws_advice *a)
{
	for (size_t i = 0; i < a->nwork; i++)
		if (a->work[i].op.m)
			return true;
	return false;
}

/* --- A3 alignment -------------------------------------------------------------------------- */

/*
 * Writes "N 10001 (20002 bytes), …" for sizes that are not a multiple of `bytes`, and returns their
 * number. Only N and K matter for alignment; M is the number of rows in every layout.
 */
static unsigned misaligned(const struct ws_cost_op *op, unsigned item, unsigned multiple,
                           char out[160])
{
	const uint64_t sizes[] = {op->n, op->k};
	unsigned n = 0;
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < 2; i++) {
		if (sizes[i] < 2 || sizes[i] > UINT32_MAX || sizes[i] * item % multiple == 0)
			continue;
		len += (size_t)snprintf(out + len, 160 - len,
		                        "%s%c %" PRIu64 " (%" PRIu64 " bytes)", n++ ? ", " : "",
		                        "NK"[i], sizes[i], sizes[i] * item);
	}
	return n;
}

/* Share of the device's peak that the group attains, in percent; 0 = not known. */
static double attained_percent(const struct ws_work_group *g)
{
	const struct ws_cost_op *op = &g->op;

	if (g->roof.flops_per_s <= 0 || op->flops <= 0 || !g->gpu_ns)
		return 0;
	return 100 * (double)op->flops * (double)g->calls / ((double)g->gpu_ns / 1e9) /
	       g->roof.flops_per_s;
}

/* FLOPs per ns; 0 = unknown. */
static double rate_of(const struct ws_work_group *g)
{
	return g->op.flops > 0 && g->gpu_ns
	               ? (double)g->op.flops * (double)g->calls / (double)g->gpu_ns
	               : 0;
}

/* Upper bound: the group's time minus its time at the rate of the best product of the trace with
 * its dtype and device for which `is_better`, else at its roof; NaN = both unknown. */
static double gain_at_best_rate(const struct ws_advice *a, const struct ws_work_group *g,
                                bool (*is_better)(const struct ws_advice *,
                                                  const struct ws_work_group *))
{
	const double rate = rate_of(g), roof_ns = ws_advice_roof_ns(g);
	double best = 0;

	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *other = &a->work[i];

		if (other->op.class == g->op.class && other->op.dtype == g->op.dtype &&
		    other->op.device == g->op.device && is_better(a, other))
			best = fmax(best, rate_of(other));
	}
	if (best > rate && rate > 0)
		return (double)g->gpu_ns * (1 - rate / best);
	return (double)g->gpu_ns > roof_ns ? (double)g->gpu_ns - roof_ns : NAN;
}

static bool is_aligned(const struct ws_advice *a, const struct ws_work_group *g)
{
	const unsigned item = item_bytes(a, g->op.dtype);
	char which[160];

	return g->op.m && item && g->op.tensor != WS_TENSOR_NO &&
	       !misaligned(&g->op, item, WS_A3_STRONG_BYTES, which);
}

static bool is_unaligned_name(const struct ws_advice *a, size_t config)
{
	return a->traits[config].tensor == WS_TENSOR_YES &&
	       (a->traits[config].align == 1 || a->traits[config].align == 2);
}

void ws_rule_alignment(struct ws_advice *a)
{
	size_t shown = 0;
	int64_t named_ns = ws_advice_time_of(a, is_unaligned_name), sized_ns = 0;
	bool named = false;

	for (size_t i = 0; i < a->m->nconfigs; i++)
		named |= a->traits[i].align != 0;
	for (size_t i = 0; i < a->nwork; i++)
		if (a->work[i].op.m && is_unaligned_name(a, a->work[i].config))
			sized_ns += a->work[i].gpu_ns;
	/* if operations have recorded sizes, they get their own findings */
	if (ws_advice_share(a, named_ns) >= WS_A3_SHARE_PERCENT && 2 * sized_ns < named_ns)
		ws_advice_add_claim(a, WS_RULE_alignment, WS_SEVERITY_STRONG,
		                    (struct ws_claim){.covers = is_unaligned_name, .value = NAN},
		                    "kernels by name", ws_advice_top_kernels(a, is_unaligned_name),
		                    NULL);
	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];
		const struct ws_cost_op *op = &g->op;
		unsigned item = item_bytes(a, op->dtype);
		int64_t cc = ws_advice_capability(a, op->device);
		int weak = cc >= 80 &&
		           ws_advice_share(a, a->class_ns[WS_TEXT_GEMM]) > WS_A3_CLASS_PERCENT;
		unsigned multiple = WS_A3_STRONG_BYTES;
		char which[160];

		if (op->class != WS_TEXT_GEMM || !op->m || !item || cc < 70 ||
		    op->tensor == WS_TENSOR_NO ||
		    ws_advice_share(a, g->gpu_ns) < WS_A3_SHARE_PERCENT ||
		    attained_percent(g) > WS_A3_ATTAINED_PERCENT)
			continue;
		if (!misaligned(op, item, multiple, which)) {
			multiple = WS_A3_WEAK_BYTES;
			if (!weak || !misaligned(op, item, multiple, which))
				continue;
		}
		if (!ws_advice_has_room(a, WS_RULE_alignment, &shown))
			continue;

		/* "N to 64, K to 128" */
		const uint64_t sizes[] = {op->n, op->k}, to = multiple / item;
		char padded[160] = "";

		for (int s = 0; s < 2; s++)
			if (sizes[s] > 1 && sizes[s] <= UINT32_MAX && sizes[s] % to)
				ws_say_add(padded, sizeof(padded), "%s%c to %" PRIu64,
				           *padded ? ", " : "", "NK"[s],
				           (sizes[s] + to - 1) / to * to);
		ws_advice_add_claim(
		        a, WS_RULE_alignment,
		        multiple == WS_A3_STRONG_BYTES ? WS_SEVERITY_STRONG : WS_SEVERITY_WEAK,
		        ws_claim_work(g, multiple == WS_A3_STRONG_BYTES
		                                 ? gain_at_best_rate(a, g, is_aligned)
		                                 : NAN),
		        scope_of(a, op),
		        ws_advice_text(a, "%s. %s: no multiple of %u bytes",
		                       ws_advice_kernel_part(a, g->gpu_ns), which, multiple),
		        ws_advice_text(a, "Pad %s (multiples of %u bytes)", padded, multiple));
	}
	if (!named && !ws_advice_has_sizes(a))
		a->found->not_judged[WS_RULE_alignment] =
		        "no operation tells the sizes of its matrix "
		        "products, and no kernel's name its alignment";
}

/* --- A4, A5: which kernels ------------------------------------------------------------------ */

/* Products with a vector are bound by memory: Tensor Cores would not help. */
static bool without_tensor_cores(const struct ws_advice *a, size_t config)
{
	return !ws_name_matches(ws_bytes_of("*gemv*"), a->m->texts[a->m->configs[config].name]) &&
	       ws_advice_is_product(a, config) && a->traits[config].tensor == WS_TENSOR_NO &&
	       ws_advice_capability(a, a->m->configs[config].device) >= 70;
}

static bool of_older_architecture(const struct ws_advice *a, size_t config)
{
	int64_t cc = ws_advice_capability(a, a->m->configs[config].device);

	return ws_advice_is_product(a, config) && a->traits[config].tensor == WS_TENSOR_YES &&
	       cc >= 90 && a->traits[config].arch && a->traits[config].arch < cc / 10 * 10;
}

static bool knows_capability(const struct ws_advice *a)
{
	for (uint32_t d = 0; d < a->m->ndevices; d++)
		if (a->m->devices[d].kernels && ws_advice_capability(a, d) >= 0)
			return true;
	return false;
}

/* Is TF32 as slow as fp32, as on GeForce cards? */
static bool tf32_is_no_faster(const struct ws_advice *a, uint32_t device)
{
	const struct ws_device_peaks *p = &a->m->devices[device].peaks;

	return a->m->devices[device].has_peaks && p->value[WS_PEAK_TF32] > 0 &&
	       p->value[WS_PEAK_TF32] <= p->value[WS_PEAK_FP32];
}

/* Upper bound: fp32 work at the device's rate in TF32, or in fp16 without TF32. */
static double rate_of_tensor_cores(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                   const struct ws_claim *claim)
{
	const struct ws_config *c = &a->m->configs[cell->config];
	const struct ws_device_peaks *p = &a->m->devices[c->device].peaks;
	/* the type that Tensor Cores of the device use for fp32 data */
	const enum ws_peak kind =
	        ws_advice_capability(a, c->device) >= 80 && !tf32_is_no_faster(a, c->device)
	                ? WS_PEAK_TF32
	                : WS_PEAK_FP16;

	(void)claim;
	if (!without_tensor_cores(a, cell->config))
		return -1;
	if (!ws_name_is(a->m->texts[c->name_dtype], "fp32") ||
	    !a->m->devices[c->device].has_peaks || p->value[WS_PEAK_FP32] <= 0 ||
	    p->value[kind] <= p->value[WS_PEAK_FP32])
		return NAN;
	return 1 - p->value[WS_PEAK_FP32] / p->value[kind];
}

/* Advice for devices without fast TF32; NULL = the rule's own advice. */
static const char *advice_without_tf32(struct ws_advice *a)
{
	bool all_fp32 = true;

	for (size_t i = 0; i < a->m->nconfigs; i++) {
		const uint32_t device = a->m->configs[i].device;

		if (!a->config_ns[i] || !without_tensor_cores(a, i))
			continue;
		if (ws_advice_capability(a, device) < 80)
			return "Use mixed precision with fp16. This GPU has no "
			       "TF32 and no bf16 on Tensor Cores";
		if (tf32_is_no_faster(a, device))
			return "Compute in 16 bits. On this GPU TF32 is no faster than fp32";
		all_fp32 &= ws_name_is(a->m->texts[a->m->configs[i].name_dtype], "fp32");
	}
	return all_fp32 ? "Allow TF32, or compute in 16 bits" : NULL;
}

void ws_rule_no_tensor_cores(struct ws_advice *a)
{
	if (!knows_capability(a))
		a->found->not_judged[WS_RULE_no_tensor_cores] =
		        "the compute capability of the device is not recorded";
	if (ws_advice_share(a, ws_advice_time_of(a, without_tensor_cores)) > WS_A4_PERCENT)
		ws_advice_add_kernels(a, WS_RULE_no_tensor_cores, WS_SEVERITY_STRONG,
		                      (struct ws_claim){.rate = rate_of_tensor_cores,
		                                        .covers = without_tensor_cores},
		                      "matrix products and convolutions", advice_without_tf32(a));
}

static bool is_native(const struct ws_advice *a, const struct ws_work_group *g)
{
	return a->traits[g->config].tensor == WS_TENSOR_YES && a->traits[g->config].arch &&
	       !of_older_architecture(a, g->config);
}

/* Share saved if operations whose longest kernel is old ran at a better rate; NaN if that is
 * unknown. */
static double rate_of_new_kernels(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                  const struct ws_claim *claim)
{
	const struct ws_work_group *g = cell->work == WS_NONE ? NULL : &a->work[cell->work];

	(void)claim;
	if (g && of_older_architecture(a, g->config))
		return g->new_kernels_ns / (double)g->gpu_ns;
	return of_older_architecture(a, cell->config) ? NAN : -1;
}

void ws_rule_old_kernels(struct ws_advice *a)
{
	int64_t ns = ws_advice_time_of(a, of_older_architecture),
	        all = ws_advice_time_of(a, ws_advice_is_product);

	if (!knows_capability(a))
		a->found->not_judged[WS_RULE_old_kernels] =
		        "the compute capability of the device is not recorded";
	if (!all || 100 * (double)ns <= WS_A5_PERCENT * (double)all)
		return;
	for (size_t i = 0; i < a->nwork; i++)
		if (of_older_architecture(a, a->work[i].config))
			a->work[i].new_kernels_ns = gain_at_best_rate(a, &a->work[i], is_native);
	ws_advice_add_kernels(a, WS_RULE_old_kernels, WS_SEVERITY_WEAK,
	                      (struct ws_claim){.rate = rate_of_new_kernels,
	                                        .covers = of_older_architecture},
	                      "matrix products and convolutions", NULL);
}

/* --- A7 low intensity ----------------------------------------------------------------------- */

static bool knows_roof(const struct ws_work_group *g)
{
	return g->roof.flops_per_s > 0 && g->roof.bytes_per_s > 0;
}

void ws_rule_low_intensity(struct ws_advice *a)
{
	size_t shown = 0, judged = 0;

	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];
		const struct ws_cost_op *op = &g->op;

		if (op->class != WS_TEXT_GEMM || op->flops <= 0 || op->bytes <= 0 || !knows_roof(g))
			continue;
		judged++;
		/* products of many small matrices, as in attention: their sizes are fixed by the
		 * model */
		if (op->batch > 1)
			continue;
		double intensity = (double)op->flops / (double)op->bytes;
		double ridge = g->roof.flops_per_s / g->roof.bytes_per_s;
		if (intensity >= ridge || ws_advice_share(a, g->gpu_ns) <= WS_A7_PERCENT ||
		    !ws_advice_has_room(a, WS_RULE_low_intensity, &shown))
			continue;

		/* The M from which M x N x K has this number of FLOPs per byte, with each matrix
		 * moved once: 2 M N K >= ridge item (M K + K N + M N). */
		const unsigned item = item_bytes(a, op->dtype);
		const double n = (double)op->n, k = (double)op->k;
		const double spare = 2 * n * k - ridge * item * (n + k);
		const double rows = spare > 0 ? ceil(ridge * item * n * k / spare) : 0;
		const char *advice = NULL;

		if (op->m && item && rows > (double)op->m && rows <= 1e9)
			advice = ws_advice_text(
			        a,
			        "Concatenate products of one input, or make batch or "
			        "context larger (compute-bound from M = %.0f on)",
			        rows);
		else if (op->m && item)
			advice = "Concatenate products of one input, or widen layers "
			         "(no M makes it compute-bound at this N and K)";
		ws_advice_add_claim(a, WS_RULE_low_intensity, WS_SEVERITY_WEAK,
		                    ws_claim_work(g, NAN), scope_of(a, op),
		                    ws_advice_text(a,
		                                   "%s. %.1f FLOP/byte; compute-bound from %.1f on",
		                                   ws_advice_kernel_part(a, g->gpu_ns), intensity,
		                                   ridge),
		                    advice);
	}
	if (!judged)
		a->found->not_judged[WS_RULE_low_intensity] =
		        "no matrix product has known FLOPs and "
		        "bytes on a device whose peaks are known";
}

/* --- A8 quantization ------------------------------------------------------------------------ */

struct filled {
	double tile, waves, wave; /* fractions, except waves */
	uint64_t tiles;
};

static struct filled tiles_filled(const struct ws_cost_op *op, unsigned tile_m, unsigned tile_n,
                                  uint64_t sms)
{
	double down = ceil((double)op->m / tile_m), across = ceil((double)op->n / tile_n);
	double tiles = down * across * (op->batch ? (double)op->batch : 1);
	struct filled f = {.tiles = tiles < 1e18 ? (uint64_t)tiles : 0};

	f.tile = (double)op->m * (double)op->n / (down * tile_m * across * tile_n);
	f.waves = sms ? tiles / (double)sms : NAN;
	f.wave = f.waves / ceil(f.waves);
	return f;
}

void ws_rule_quantization(struct ws_advice *a)
{
	size_t shown = 0, judged = 0;

	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];

		if (g->op.class != WS_TEXT_GEMM || !g->op.m || !a->traits[g->config].tile_m ||
		    !a->traits[g->config].tile_n)
			continue;
		judged++;
		const struct ws_cost_op *op = &g->op;
		const struct ws_kernel_traits *traits = &a->traits[g->config];
		struct ws_bytes name = a->m->texts[a->m->configs[g->config].name];
		int64_t sms = a->m->devices[op->device].facts.sm_count;
		const char *waves = "";
		double saved_ns, roof_ns = ws_advice_roof_ns(g);

		struct filled f = tiles_filled(op, traits->tile_m, traits->tile_n,
		                               sms > 0 ? (uint64_t)sms : 0);
		/* a column-major library computes the transpose */
		struct filled turned = tiles_filled(op, traits->tile_n, traits->tile_m,
		                                    sms > 0 ? (uint64_t)sms : 0);
		if (turned.tile * (isnan(turned.wave) ? 1 : turned.wave) >
		    f.tile * (isnan(f.wave) ? 1 : f.wave))
			f = turned;
		/* split sums have more tiles than the name shows */
		if (ws_name_matches(ws_bytes_of("*plit?*"), name))
			f.waves = f.wave = NAN;
		/* full tiles do not move the operation's bytes faster */
		saved_ns = fmin((double)g->gpu_ns * (1 - f.tile * (isnan(f.wave) ? 1 : f.wave)),
		                (double)g->gpu_ns - roof_ns);
		if (!(100 * f.tile < WS_A8_TILE_PERCENT ||
		      (f.waves < WS_A8_WAVES && 100 * f.wave < WS_A8_WAVE_PERCENT)) ||
		    ws_advice_share(a, g->gpu_ns) <= WS_A8_SHARE_PERCENT || saved_ns <= 0 ||
		    !ws_advice_has_room(a, WS_RULE_quantization, &shown))
			continue;
		if (!isnan(f.wave))
			waves = ws_advice_text(a, ". %.2f waves on %" PRId64 " SMs, %.0f %% filled",
			                       f.waves, sms, 100 * f.wave);
		ws_advice_add_claim(
		        a, WS_RULE_quantization, WS_SEVERITY_WEAK, ws_claim_work(g, saved_ns),
		        scope_of(a, op),
		        ws_advice_text(a, "%s. %s tiles of %u x %u, %.0f %% filled%s (%s)",
		                       ws_advice_kernel_part(a, g->gpu_ns),
		                       ws_say_number(a->texts, (double)f.tiles), traits->tile_m,
		                       traits->tile_n, 100 * f.tile, waves,
		                       ws_advice_name(a, a->m->configs[g->config].name)),
		        NULL);
	}
	if (!judged)
		a->found->not_judged[WS_RULE_quantization] =
		        "no matrix product tells its sizes and, by its kernel's name, its tile";
}

/* --- A15 dense or separable ----------------------------------------------------------------- */

void ws_rule_separable(struct ws_advice *a)
{
	static const char *const patterns[] = {"*depthwise*", "*Depthwise*", "*grouped*"};
	size_t shown = 0, judged = 0;

	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];
		const struct ws_cost_op *op = &g->op;
		double seconds = (double)g->gpu_ns / 1e9, flops, bytes;

		if (op->class != WS_TEXT_CONV || op->flops < 0 || op->bytes < 0 || !g->gpu_ns ||
		    !knows_roof(g))
			continue;
		judged++;
		flops = attained_percent(g);
		bytes = 100 * (double)op->bytes * (double)g->calls / seconds / g->roof.bytes_per_s;
		if ((!WS_NAME_IS_ONE_OF(a->m->texts[op->name], patterns) &&
		     !WS_NAME_IS_ONE_OF(a->m->texts[a->m->configs[g->config].name], patterns)) ||
		    flops >= WS_A15_PERCENT || bytes >= WS_A15_PERCENT ||
		    !ws_advice_has_room(a, WS_RULE_separable, &shown))
			continue;
		ws_advice_add_claim(
		        a, WS_RULE_separable, WS_SEVERITY_HINT, ws_claim_work(g, NAN),
		        scope_of(a, op),
		        ws_advice_text(
		                a,
		                "%s. It attains %.1f %% of the FLOP/s and %.1f %% of the bandwidth",
		                ws_advice_kernel_part(a, g->gpu_ns), flops, bytes),
		        NULL);
	}
	if (!judged)
		a->found->not_judged[WS_RULE_separable] = "no convolution has known FLOPs and "
		                                          "bytes on a device whose peaks are known";
}
