/* Rules about work other than matrix products: A6, A9, A10, A12, A13, A30. */

#include "report/advice/advice.h"
#include "report/base/names.h"

/* --- A6 work without Tensor Cores -------------------------------------------------------- */

static bool is_product_class(struct ws_bytes class)
{
	static const char *const classes[] = {"gemm", "gemm_aux", "conv", "conv_aux", "attention"};

	return WS_NAME_IS_ONE_OF(class, classes);
}

static int64_t softmax_ns(const struct ws_advice *a)
{
	return a->class_ns[WS_TEXT_SOFTMAX] + a->class_ns[WS_TEXT_SCALE] +
	       a->class_ns[WS_TEXT_MASK];
}

static bool has_eager_attention(const struct ws_advice *a)
{
	return ws_advice_share(a, softmax_ns(a)) > WS_A21_PERCENT &&
	       !a->class_ns[WS_TEXT_FUSED_ATTENTION];
}

static double rate_of_scale_and_mask(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                     const struct ws_claim *claim)
{
	(void)a, (void)claim;
	return cell->class == WS_TEXT_SCALE || cell->class == WS_TEXT_MASK ? 1 : -1;
}

void ws_rule_other_work(struct ws_advice *a)
{
	int64_t products = 0, unknown = a->class_ns[WS_TEXT_EMPTY], other = a->gpu_ns - unknown;
	int64_t fused = a->class_ns[WS_TEXT_SCALE] + a->class_ns[WS_TEXT_MASK];
	const char *evidence, *names;

	for (uint32_t c = 0; c < a->m->ntexts; c++)
		if (is_product_class(a->m->texts[c]))
			products += a->class_ns[c];
	other -= products + a->class_ns[WS_TEXT_COMM];
	if (!products) {
		a->found->not_judged[WS_RULE_other_work] =
		        "no matrix product or convolution is known";
		return;
	}
	if (ws_advice_share(a, unknown) > WS_A6_UNKNOWN_PERCENT) {
		a->found->not_judged[WS_RULE_other_work] = "over " WS_PERCENT(
		        WS_A6_UNKNOWN_PERCENT) " of the GPU time is unclassified";
		return;
	}
	double share = ws_advice_share(a, other);
	if (share <= WS_A6_PERCENT)
		return;

	/* The classes with the most time, other than products; names: "softmax, mask and copy". */
	uint32_t top[WS_ADVICE_TOP];
	const char *text = "";
	size_t n = 0;

	for (uint32_t c = 0; c < a->m->ntexts; c++)
		if (a->class_ns[c] && c != WS_TEXT_COMM && !is_product_class(a->m->texts[c]))
			n = ws_advice_rank(top, n, a->class_ns, c);
	names = "";
	for (size_t i = 0; i < n; i++) {
		const char *name = top[i] ? ws_advice_name(a, top[i]) : "unclassified";
		double bytes = 0; /* at least, of judged operations */
		bool known = true;

		for (size_t k = 0; k < a->nwork; k++)
			if (a->work[k].op.class == top[i]) {
				known &= a->work[k].op.bytes >= 0;
				bytes += (double)a->work[k].op.bytes * (double)a->work[k].calls;
			}
		names = ws_advice_text(a, "%s%s%s", names,
		                       !i          ? ""
		                       : i + 1 < n ? ", "
		                                   : " and ",
		                       name);
		text = ws_advice_text(a, "%s%s%s %s", text, i ? ", " : "", name,
		                      ws_advice_kernel_time(a, a->class_ns[top[i]]));
		if (known && bytes > 0)
			text = ws_advice_text(a, "%s (at least %s%s)", text,
			                      ws_say_si(a->texts, bytes, "B"), ws_advice_each(a));
	}
	evidence = ws_advice_text(a,
	                          "%s. Even if matrix products took no time, the GPU's "
	                          "work would be at most %.2f times faster. Most of it: %s",
	                          ws_advice_kernel_part(a, other),
	                          (double)a->gpu_ns / (double)(a->gpu_ns - products), text);
	/* the gain of unfused attention is in A21 */
	if (fused && !has_eager_attention(a))
		ws_advice_add_claim(a, WS_RULE_other_work, WS_SEVERITY_WEAK,
		                    (struct ws_claim){.rate = rate_of_scale_and_mask}, "whole run",
		                    evidence,
		                    "Fuse scale, mask and softmax: the scores are "
		                    "then read and written once, not three times");
	else
		ws_advice_add(a, WS_RULE_other_work, WS_SEVERITY_WEAK, NAN, NULL, "whole run",
		              evidence, ws_advice_text(a, "Fuse %s with their neighbours", names));
}

/* --- A21 attention that is not fused --------------------------------------------------------- */

static bool is_softmax(const struct ws_advice *a, size_t config)
{
	return a->traits[config].op_class == WS_CLASS_SOFTMAX;
}

/* All of attention, less the time that its products need at least: a fused kernel computes them,
 * too. Products whose least time is unknown keep their recorded time. */
static double rate_of_attention(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                const struct ws_claim *claim)
{
	const struct ws_work_group *g = cell->work == WS_NONE ? NULL : &a->work[cell->work];

	(void)claim;
	if (!cell->attention)
		return -1;
	if (cell->class != WS_TEXT_GEMM && !(g && g->op.class == WS_TEXT_GEMM))
		return 1;
	double roof_ns = g ? ws_advice_roof_ns(g) : NAN;
	return isnan(roof_ns) ? 0 : fmax(0, 1 - roof_ns / (double)g->gpu_ns);
}

/* If the extent of attention is unknown: at least its softmax. */
static double rate_of_softmax(const struct ws_advice *a, const struct ws_advice_cell *cell,
                              const struct ws_claim *claim)
{
	(void)a, (void)claim;
	return cell->class == WS_TEXT_SOFTMAX || cell->class == WS_TEXT_SCALE ||
	                       cell->class == WS_TEXT_MASK
	               ? NAN
	               : -1;
}

void ws_rule_eager_attention(struct ws_advice *a)
{
	const int64_t ns = softmax_ns(a);
	/* without ranges or operations of attention, its extent is unknown */
	const bool located = a->attention_ns > 0;

	if (!has_eager_attention(a))
		return;
	const char *top = ws_advice_top_kernels(a, is_softmax);
	ws_advice_add_claim(
	        a, WS_RULE_eager_attention, WS_SEVERITY_STRONG,
	        (struct ws_claim){.rate = located ? rate_of_attention : rate_of_softmax},
	        "attention",
	        ws_advice_text(a, "%ssoftmax, scale and mask: %s%s%s",
	                       located ? ws_advice_text(a, "all of attention: %s; ",
	                                                ws_advice_kernel_part(a, a->attention_ns))
	                               : "",
	                       ws_advice_kernel_part(a, ns), *top ? "; " : "", top),
	        NULL);
}

/* --- A9, A12, A30: classes -------------------------------------------------------------------- */

static bool is_layout(const struct ws_advice *a, size_t config)
{
	return a->traits[config].op_class == WS_CLASS_LAYOUT;
}

/* "38 kernels per step" */
static const char *kernels_text(struct ws_advice *a, uint64_t kernels)
{
	return ws_advice_text(a, "%s kernel%s%s", ws_say_number(a->texts, (double)kernels),
	                      WS_PLURAL(kernels), ws_advice_each(a));
}

static double rate_of_casts(const struct ws_advice *a, const struct ws_advice_cell *cell,
                            const struct ws_claim *claim)
{
	(void)a, (void)claim;
	return cell->cast ? 1 : -1;
}

void ws_rule_layout(struct ws_advice *a)
{
	if (ws_advice_share(a, ws_advice_time_of(a, is_layout)) > WS_A9_PERCENT)
		ws_advice_add_kernels(a, WS_RULE_layout, WS_SEVERITY_STRONG,
		                      (struct ws_claim){.covers = is_layout, .value = 1},
		                      "class layout", NULL);
}

static bool is_gather(const struct ws_advice *a, size_t config)
{
	return a->traits[config].op_class == WS_CLASS_GATHER;
}

/* The gain is an upper bound: some rows must be read in any case. */
void ws_rule_gathers(struct ws_advice *a)
{
	if (ws_advice_share(a, ws_advice_time_of(a, is_gather)) > WS_A30_PERCENT)
		ws_advice_add_kernels(a, WS_RULE_gathers, WS_SEVERITY_WEAK,
		                      (struct ws_claim){.covers = is_gather,
		                                        .value = 1,
		                                        .is_bound = true},
		                      "class gather", NULL);
}

#define CAST_BYTES 6 /* read and written per element: 32 and 16 bits */

void ws_rule_casts(struct ws_advice *a)
{
	const int64_t ns = a->casts.gpu_ns;
	int64_t activation_ns = 0;

	if (ws_advice_share(a, ns) <= WS_A12_PERCENT)
		return;
	/* Are most casts, by shape, of tensors that are not weights of products? */
	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];
		const uint64_t elements = g->op.bytes > 0 ? (uint64_t)g->op.bytes / CAST_BYTES : 0;
		bool is_weight = false; /* or a bias of a recorded product */

		if (a->cast == WS_NONE || g->op.class != a->cast || g->op.bytes <= 0)
			continue;
		for (size_t k = 0; k < a->nwork && !is_weight; k++) {
			const struct ws_cost_op *op = &a->work[k].op;

			is_weight = op->m && (op->n == elements || op->n * op->k == elements);
		}
		activation_ns += is_weight ? 0 : g->gpu_ns;
	}
	ws_advice_add_claim(
	        a, WS_RULE_casts, WS_SEVERITY_WEAK, (struct ws_claim){.rate = rate_of_casts},
	        "casts",
	        ws_advice_text(a, "%s in %s", ws_advice_kernel_part(a, ns),
	                       kernels_text(a, a->casts.kernels)),
	        2 * activation_ns > ns && ws_advice_has_sizes(a)
	                ? "Change the type less often: run norms and softmax in the type of their "
	                  "inputs, or fuse casts with what is beside them. Most casts are of "
	                  "activations, not of weights"
	        : 2 * a->casts.narrow_ns > ns
	                ? "Fuse the fp8 casts into the preceding kernel or the GEMM epilogue"
	        : !ws_advice_has_sizes(a)
	                ? "Change the type less often. What is cast was not recorded: keep weights "
	                  "in 16 bits, and compute in the type of the inputs"
	        : a->trains ? "Keep weights in 16 bits with fp32 masters; cast once per layer"
	                    : NULL);
}

/* --- A10 slow memory ------------------------------------------------------------------------ */

void ws_rule_slow_memory(struct ws_advice *a)
{
	size_t shown = 0, judged = 0;

	for (size_t i = 0; i < a->nwork; i++) {
		const struct ws_work_group *g = &a->work[i];
		const struct ws_cost_op *op = &g->op;

		if (op->flops < 0 || op->bytes <= 0 || !g->gpu_ns ||
		    is_product_class(a->m->texts[op->class]))
			continue;
		const char *bound = ws_roof_bound(&g->roof, (double)op->flops, (double)op->bytes);
		judged += bound != NULL;
		if (!bound || strcmp(bound, "memory") != 0)
			continue;
		/* The gradient of a batch norm reads its inputs twice: first for sums, then for the
		 * result.
		 */
		double bytes = (ws_name_matches((struct ws_bytes){"*batch_norm*backward*", 21},
		                                a->m->texts[g->op.name])
		                        ? 5.0 / 3
		                        : 1) *
		               (double)g->op.bytes * (double)g->calls;
		double attained = bytes / ((double)g->gpu_ns / 1e9);

		if (g->gpu_ns <= (int64_t)g->kernels * WS_A10_KERNEL_US * 1000 ||
		    ws_advice_share(a, g->gpu_ns) <= WS_A10_SHARE_PERCENT ||
		    100 * attained >= WS_A10_PERCENT * g->roof.bytes_per_s)
			continue;
		if (!ws_advice_has_room(a, WS_RULE_slow_memory, &shown))
			continue;
		ws_advice_add_claim(
		        a, WS_RULE_slow_memory, WS_SEVERITY_WEAK,
		        ws_claim_work(g, (double)g->gpu_ns - bytes / g->roof.bytes_per_s * 1e9),
		        ws_advice_name(a, g->op.name),
		        ws_advice_text(a, "%s. It moves %s of %s GB/s; %s per kernel (%s)",
		                       ws_advice_kernel_part(a, g->gpu_ns),
		                       ws_say_number(a->texts, attained / 1e9),
		                       ws_say_number(a->texts, g->roof.bytes_per_s / 1e9),
		                       ws_say_time(a->texts,
		                                   (double)g->gpu_ns / (double)g->kernels),
		                       ws_advice_name(a, a->m->configs[g->config].name)),
		        NULL);
	}
	if (!judged)
		a->found->not_judged[WS_RULE_slow_memory] =
		        "no operation other than matrix products has known "
		        "FLOPs and bytes on a device whose peaks are known";
}

/* --- A13 optimizer -------------------------------------------------------------------------- */

static double rate_of_optimizer(const struct ws_advice *a, const struct ws_advice_cell *cell,
                                const struct ws_claim *claim)
{
	(void)a;
	return cell->optimizer ? claim->value : -1;
}

/* An optimizer with this few kernels per step is already fused. */
#define FUSED_KERNELS 2

void ws_rule_optimizer(struct ws_advice *a)
{
	/* they move the same: a weight, its gradient and two moments */
	static const char *const two_moments[] = {"adamw", "adamw-cs336", "adam"};
	struct ws_roof roof;
	const int64_t ns = a->optimizer.gpu_ns;
	const bool is_fused = a->optimizer.kernels <= FUSED_KERNELS;
	double floor_ns, weights;
	const char *needs = "";
	const char *advice = NULL;

	if (!a->trains) {
		a->found->not_judged[WS_RULE_optimizer] =
		        "no kernel of a backward pass or of a range optimizer is known";
		return;
	}
	if (ws_advice_share(a, ns) <= WS_A13_PERCENT)
		return;

	/* Minimum time to move all weights, gradients and moments; NaN if unknown. */
	weights = (double)ws_fact_number(a->m, "parameters");
	ws_roof_find(a->m, a->optimizer_device, WS_TEXT_OPTIMIZER, WS_TEXT_EMPTY, WS_TENSOR_NO,
	             &roof);
	floor_ns = weights <= 0 || roof.bytes_per_s <= 0 ||
	                           !WS_NAME_IS_ONE_OF(ws_model_fact(a->m, "optimizer"), two_moments)
	                   ? NAN
	                   : weights * WS_A13_BYTES_A_WEIGHT / roof.bytes_per_s * 1e9;
	if (!isnan(floor_ns))
		needs = ws_advice_text(a, ". %s weights need %s", ws_say_number(a->texts, weights),
		                       ws_advice_time(a, floor_ns));
	if (is_fused)
		advice =
		        floor_ns < (double)ns
		                ? ws_advice_text(a,
		                                 "The optimizer is already %s; it needs %s where "
		                                 "bandwidth allows %s",
		                                 kernels_text(a, a->optimizer.kernels),
		                                 ws_advice_time(a, (double)ns),
		                                 ws_advice_time(a, floor_ns))
		                : "Step less often (accumulate gradients), or keep the "
		                  "optimizer's state in fewer bytes: its kernels are already fused";
	ws_advice_add_claim(a, WS_RULE_optimizer, WS_SEVERITY_WEAK,
	                    (struct ws_claim){.rate = rate_of_optimizer,
	                                      .value = floor_ns < (double)ns
	                                                       ? 1 - floor_ns / (double)ns
	                                                       : NAN},
	                    "optimizer",
	                    ws_advice_text(a, "%s in %s%s", ws_advice_kernel_part(a, ns),
	                                   kernels_text(a, a->optimizer.kernels), needs),
	                    advice);
}
