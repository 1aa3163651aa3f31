/*
 * Softmax versus matmul: rows, and the sentences that answer the question.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include <math.h>

#include "report/tables/softmax/rows.h"
#include "report/base/stat.h"

static const char *const part_names[WS_PARTS] = {
        [WS_PART_SCORES] = "computing attention scores",
        [WS_PART_SCALE_MASK] = "scale and mask",
        [WS_PART_SOFTMAX] = "computing softmax",
        [WS_PART_FINAL] = "final matmul",
        [WS_PART_FUSED] = "fused attention",
        [WS_PART_OTHER] = "other kernels of attention",
};
static const char *const class_names[WS_SHARES] = {
        [WS_SHARE_SOFTMAX] = "all softmax kernels",
        [WS_SHARE_MATMUL] = "all matmul kernels",
        [WS_SHARE_CONV] = "all convolution kernels",
        [WS_SHARE_FUSED] = "all fused attention kernels",
        [WS_SHARE_OTHER] = "all other kernels",
};
static const char *const direction_names[WS_DIRECTIONS] = {"forward", "backward", ""};

static const char *phase_of(enum ws_direction d)
{
	return d == WS_DIRECTION_UNKNOWN ? "phase unknown" : direction_names[d];
}

static void add_up(struct ws_softmax_bucket *to, const struct ws_softmax_bucket *from)
{
	to->kernels += from->kernels;
	to->ops += from->ops;
	to->gpu_ns += from->gpu_ns;
	ws_softmax_add_flops(to, from->flops);
	to->bytes += from->bytes;
	to->products += from->products;
	to->needed += from->needed;
	to->needed_unknown |= from->needed_unknown;
	to->scores += from->scores;
	to->flops_unknown |= from->flops_unknown;
	to->bytes_unknown |= from->bytes_unknown;
	to->compute_s += from->compute_s;
	to->memory_s += from->memory_s;
	to->roof_unknown |= from->roof_unknown;
}

static bool knows_flops(const struct ws_softmax_bucket *b)
{
	return b->ops && !b->flops_unknown;
}

static void add_row(const struct ws_softmax *s, struct ws_table *t, const char *scope,
                    enum ws_direction d, const char *part, const struct ws_softmax_bucket *b,
                    const struct ws_softmax_bucket *matmul, const struct ws_softmax_bucket *softmax)
{
	struct ws_cell *row = ws_table_row(t);
	double ns = (double)b->gpu_ns;
	const char *over;

	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_scope], scope);
	if (d != WS_DIRECTION_UNKNOWN)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_phase], direction_names[d]);
	ws_cell_set_str(t, &row[WS_TC_softmax_matmul_part], part);
	if (ws_model_has_kernels(s->tab->m)) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_kernels], (int64_t)b->kernels, s->basis);
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_gpu_ns], b->gpu_ns, s->basis);
	}
	if (knows_flops(b)) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_flops], b->flops, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_tflops],
		                 ws_stat_ratio((double)b->flops, ns) / 1e3);
	}
	if (b->ops && !b->bytes_unknown) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_bytes], b->bytes, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_gbs],
		                 ws_stat_ratio((double)b->bytes, ns));
		if (knows_flops(b))
			ws_cell_set_real(&row[WS_TC_softmax_matmul_intensity],
			                 ws_stat_ratio((double)b->flops, (double)b->bytes));
		if (knows_flops(b) && !b->roof_unknown && b->compute_s + b->memory_s > 0)
			ws_cell_set_str(t, &row[WS_TC_softmax_matmul_bound],
			                b->compute_s > b->memory_s ? "compute" : "memory");
	}
	if (b->products && !b->needed_unknown) {
		ws_cell_set_mean(&row[WS_TC_softmax_matmul_flops_needed], b->needed, s->basis);
		ws_cell_set_real(&row[WS_TC_softmax_matmul_tflops_needed],
		                 ws_stat_ratio((double)b->needed, ns) / 1e3);
	}
	/* what is not known adds nothing: the rest may be too much all the same */
	over = ws_over_peak(ws_stat_percent(1e9 * fmax(b->compute_s, b->memory_s), ns));
	if (over)
		ws_cell_set_str(t, &row[WS_TC_softmax_matmul_check], over);
	if (!matmul)
		return;
	if (knows_flops(matmul) && knows_flops(softmax))
		ws_cell_set_real(&row[WS_TC_softmax_matmul_flop_ratio],
		                 ws_stat_ratio((double)matmul->flops, (double)softmax->flops));
	if (softmax->kernels)
		ws_cell_set_real(&row[WS_TC_softmax_matmul_time_ratio],
		                 ws_stat_ratio((double)softmax->gpu_ns, (double)matmul->gpu_ns));
}

/* "How does the difference in run time compare to the difference in FLOPs?" */
static void answer(struct ws_table *t, const char *where, enum ws_direction d, const char *what,
                   const struct ws_softmax_bucket *matmul, const struct ws_softmax_bucket *softmax)
{
	double time = ws_stat_ratio((double)softmax->gpu_ns, (double)matmul->gpu_ns);
	double flops = ws_stat_ratio((double)matmul->flops, (double)softmax->flops);
	int decimals = time < 0.1 ? 4 : 2; /* of so small a part two would be 0.00 */

	if (!softmax->gpu_ns || !matmul->gpu_ns)
		return;
	if (!knows_flops(matmul) || !knows_flops(softmax) || !softmax->flops || !matmul->flops)
		ws_table_answer(
		        t,
		        "%s, %s: softmax takes %.*f times the GPU time of %s. Their FLOPs are "
		        "not recorded.",
		        where, phase_of(d), decimals, time, what);
	else
		ws_table_answer(t,
		                "%s, %s: softmax takes %.*f times the GPU time of %s, with 1/%.1f "
		                "of the FLOPs: per FLOP it takes %.1f times as long.",
		                where, phase_of(d), decimals, time, what, flops, time * flops);
}

/* Unless attention is fused and nothing else, its four parts have rows, empty or not. */
static bool has_parts(const struct ws_softmax_bucket *parts)
{
	uint64_t n = 0;

	for (int p = 0; p < WS_PART_FUSED; p++)
		n += parts[p].kernels + parts[p].ops;
	return n || !(parts[WS_PART_FUSED].kernels + parts[WS_PART_FUSED].ops);
}

static bool has_both(const struct ws_softmax_bucket *parts)
{
	return parts[WS_PART_SCORES].gpu_ns && parts[WS_PART_FINAL].gpu_ns;
}

/* A ratio to both products needs both. */
static void name_missing(struct ws_table *t, enum ws_direction d,
                         const struct ws_softmax_bucket *parts)
{
	const bool scores = parts[WS_PART_SCORES].gpu_ns > 0,
	           final = parts[WS_PART_FINAL].gpu_ns > 0;

	if (!parts[WS_PART_SOFTMAX].gpu_ns)
		return;
	ws_table_answer(t,
	                "Self-attention of all layers, %s: no kernel of %s was found, so there is "
	                "no ratio to both products.",
	                phase_of(d),
	                scores  ? "PV"
	                : final ? "QK^T"
	                        : "QK^T or PV");
}

static void add_scope(const struct ws_softmax *s, struct ws_table *t, const char *name,
                      const struct ws_softmax_scope *scope)
{
	for (int d = 0; d < WS_DIRECTIONS; d++) {
		const struct ws_softmax_bucket *parts = scope->parts[d];
		const struct ws_softmax_bucket *softmax = &parts[WS_PART_SOFTMAX];
		struct ws_softmax_bucket whole = {0}, matmul = parts[WS_PART_SCORES];
		int all = scope == &s->all;

		for (int p = 0; p < WS_PARTS; p++)
			add_up(&whole, &parts[p]);
		add_up(&matmul, &parts[WS_PART_FINAL]);
		if (!whole.kernels && !whole.ops)
			continue;
		for (int p = 0; p < WS_PARTS; p++) {
			bool is_matmul = p == WS_PART_SCORES || p == WS_PART_FINAL;

			if (p < WS_PART_FUSED ? has_parts(parts) : parts[p].kernels || parts[p].ops)
				add_row(s, t, name, (enum ws_direction)d, part_names[p], &parts[p],
				        is_matmul ? &parts[p] : NULL, softmax);
		}
		add_row(s, t, name, (enum ws_direction)d, "whole attention", &whole,
		        has_both(parts) ? &matmul : NULL, softmax);
		if (!all)
			continue;
		answer(t, "Self-attention of all layers", (enum ws_direction)d,
		       "computing attention scores (QK^T)", &parts[WS_PART_SCORES], softmax);
		if (has_both(parts))
			answer(t, "Self-attention of all layers", (enum ws_direction)d,
			       "its two matrix multiplications (QK^T and PV) together", &matmul,
			       softmax);
		else
			name_missing(t, (enum ws_direction)d, parts);
	}
}

static void add_model(const struct ws_softmax *s, struct ws_table *t)
{
	for (int d = 0; d < WS_DIRECTIONS; d++) {
		const struct ws_softmax_bucket *classes = s->model[d];
		struct ws_softmax_bucket all = {0};

		for (int c = 0; c < WS_SHARES; c++)
			add_up(&all, &classes[c]);
		if (!all.kernels && !all.ops)
			continue;
		for (int c = 0; c < WS_SHARES; c++)
			if ((c != WS_SHARE_CONV && c != WS_SHARE_FUSED) || classes[c].kernels ||
			    classes[c].ops)
				add_row(s, t, "model", (enum ws_direction)d, class_names[c],
				        &classes[c], c == WS_SHARE_MATMUL ? &classes[c] : NULL,
				        &classes[WS_SHARE_SOFTMAX]);
		add_row(s, t, "model", (enum ws_direction)d, "all kernels", &all, NULL, NULL);
		answer(t, "Whole model", (enum ws_direction)d, "all matrix multiplications",
		       &classes[WS_SHARE_MATMUL], &classes[WS_SHARE_SOFTMAX]);
	}
}

static int by_layer(const void *pa, const void *pb)
{
	const struct ws_softmax_scope *a = pa, *b = pb;

	return (a->layer > b->layer) - (a->layer < b->layer);
}

static void add_rows(struct ws_softmax *s, struct ws_table *t)
{
	if (s->nscopes)
		qsort(s->scopes, s->nscopes, sizeof(*s->scopes), by_layer);
	add_scope(s, t, "all layers", &s->all);
	add_model(s, t);
	for (size_t i = 0; i < s->nscopes; i++) {
		char name[40];

		snprintf(name, sizeof(name),
		         s->scopes[i].layer < 0 ? "(no layer)" : "layer %" PRId64,
		         s->scopes[i].layer);
		add_scope(s, t, name, &s->scopes[i]);
	}
}

/* What fusion took away: passes over scores that are not made, and what it moves instead. */
static void note_scores(const struct ws_softmax *s, struct ws_table *t, enum ws_direction d)
{
	const struct ws_softmax_bucket *fused = &s->all.parts[d][WS_PART_FUSED];

	if (fused->scores > 0 && !fused->bytes_unknown)
		ws_table_note(
		        t,
		        "all layers, %s: the T x T scores of fused attention, %.0f per step, "
		        "are never in memory. Eager attention writes and reads them: in "
		        "16 bits, %.1f MB in each pass; fused attention moves %.1f MB in all.",
		        phase_of(d), fused->scores / (double)s->basis,
		        2 * fused->scores / (double)s->basis / 1e6,
		        (double)fused->bytes / (double)s->basis / 1e6);
}

/* Which pairs of attention count. */
static void note_pairs(const struct ws_softmax *s, struct ws_table *t)
{
	bool unknown = false, fewer = false;

	for (int d = 0; d < WS_DIRECTIONS; d++)
		for (int p = 0; p < WS_PARTS; p++) {
			const struct ws_softmax_bucket *b = &s->all.parts[d][p];

			unknown |= b->products && b->needed_unknown && knows_flops(b);
			fewer |= b->products && !b->needed_unknown && b->needed < b->flops &&
			         (p == WS_PART_SCORES || p == WS_PART_FINAL);
		}
	if (unknown)
		ws_table_note(
		        t, "FLOPs Needed is empty: the mask of attention was not recorded. FLOPs "
		           "counts the pairs that kernels compute.");
	if (fewer)
		ws_table_note(
		        t,
		        "Attention is causal: FLOPs counts all pairs that eager kernels compute, "
		        "FLOPs Needed those that the mask keeps. TFLOP/s Needed compares eager "
		        "and fused attention.");
}

static void add_notes(const struct ws_softmax *s, struct ws_table *t)
{
	const struct ws_model *m = s->tab->m;
	const bool has_kernels = ws_model_has_kernels(m);
	int fused_parts = 0, fused_softmax = 0, no_peaks = 0;

	if (!has_kernels)
		ws_table_note(t, WS_NO_KERNELS);
	if (s->tab->sel->measured)
		ws_table_note(t, "%s are those of one step: the mean over %zu measured steps.",
		              has_kernels ? "Kernels, time, FLOPs and bytes" : "FLOPs and bytes",
		              s->tab->sel->measured);
	else
		ws_table_note(t,
		              "The trace has no finished range `step`, so the numbers are of all "
		              "%s in the report.",
		              has_kernels ? "kernels" : "operations");
	if (!s->nscopes)
		ws_table_note(
		        t, "No attention range was recorded, so attention has no rows. Its names: "
		           "`scaled dot product attention`, `computing attention scores`, "
		           "`computing softmax`, `final matmul`. A softmax made of elementwise "
		           "kernels is among all other kernels. PyTorch's profiler tells its "
		           "matrix products from each other with record_shapes=True.");
	for (int d = 0; d < WS_DIRECTIONS; d++) {
		const struct ws_softmax_bucket *parts = s->all.parts[d];

		fused_parts |= parts[WS_PART_FUSED].kernels > 0;
		fused_softmax |=
		        parts[WS_PART_SOFTMAX].kernels && !parts[WS_PART_SCALE_MASK].kernels;
		note_scores(s, t, (enum ws_direction)d);
	}
	note_pairs(s, t);
	if (fused_softmax)
		ws_table_note(t, "No separate kernel scales or masks: its work and its FLOPs "
		                 "are in the kernels of softmax, or left out.");
	if (fused_parts)
		ws_table_note(t, "Fused attention has no separate softmax: its FLOPs are those "
		                 "of its matrix products, and there is no time ratio.");
	ws_table_note(
	        t,
	        "FLOPs as recorded; a multiply-add is 2, softmax %g per element, attention the "
	        "full T x T unless the kernel skips half of it. With softmax as 1, 3, 5 or 40 "
	        "the FLOP ratio is %g, %g, %g or %g times as large (`--softmax-flops N`).",
	        m->softmax_flops, m->softmax_flops, m->softmax_flops / 3, m->softmax_flops / 5,
	        m->softmax_flops / 40);
	for (size_t i = 0; i < m->ndevices; i++)
		no_peaks |= m->devices[i].kernels && !m->devices[i].has_peaks;
	if (no_peaks)
		ws_table_note(
		        t, "Bound is empty where the device's peak rates are not known: `--peaks "
		           "FILE` adds them.");
}

void ws_softmax_rows(struct ws_softmax *s, struct ws_table *t)
{
	add_rows(s, t);
	add_notes(s, t);
}
