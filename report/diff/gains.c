/*
 * What gained and what lost, and whether Tensor Cores took over: rows of diff-verdict.
 */
#include <math.h>
#include <stdio.h>

#include "report/base/names.h"
#include "report/diff/private.h"

void ws_verdict_numbers(struct ws_table *t, struct ws_cell *row, double a, double b,
                        const char *unit)
{
	ws_cell_set_real(&row[WS_TC_diff_verdict_a], a);
	ws_cell_set_real(&row[WS_TC_diff_verdict_b], b);
	ws_cell_set_str(t, &row[WS_TC_diff_verdict_unit], unit);
}

/* --- what gained, what lost -------------------------------------------------------------- */

#define MOST_NAMED 3

static double change_of(const struct ws_diff_row *row)
{
	return (row->instances[1] ? row->mean[1] : 0) - (row->instances[0] ? row->mean[0] : 0);
}

/* A graded change. */
static bool is_change(const struct ws_diff_row *row, bool gained)
{
	if (gained ? change_of(row) >= 0 : change_of(row) <= 0)
		return false;
	return gained ? ws_grade_is_faster(row->c.grade) : ws_grade_is_slower(row->c.grade);
}

/* "47.5 ms less" */
static void add_change(struct ws_sentence *text, double ns)
{
	char time[WS_SAY_TIME];

	if (fabs(ns) < 0.5)
		ws_sentence_add(text, "unchanged");
	else
		ws_sentence_add(text, "%s %s", ws_say_time_in(fabs(ns), time),
		                ns < 0 ? "less" : "more");
}

static void add_changes(const struct ws_diff *d, struct ws_table *t,
                        const struct ws_diff_rows *rows, bool gained)
{
	struct ws_sentence text = {""};
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct ws_diff_row *row = &rows->row[i];
		struct ws_bytes name =
		        ws_diff_class_name(ws_texts_get(&d->names.texts, row->key.op));

		if (!is_change(row, gained))
			continue;
		sum += change_of(row);
		if (n++ >= MOST_NAMED)
			continue;
		ws_sentence_add(&text, "%s%.*s", n > 1 ? ", " : "",
		                name.len < 60 ? (int)name.len : 60, (const char *)name.ptr);
		if (d->by_steps)
			ws_sentence_add(&text, " (%s)",
			                ws_phase_name((enum ws_phase)row->key.phase));
		ws_sentence_add(&text, ": ");
		add_change(&text, change_of(row));
	}
	if (n > MOST_NAMED)
		ws_sentence_add(&text, ", and %zu more", n - MOST_NAMED);
	if (n > 1) {
		ws_sentence_add(&text, ". Together: ");
		add_change(&text, sum);
		ws_sentence_add(&text, "%s", d->by_steps ? " per step" : "");
	}
	if (!n)
		ws_sentence_add(&text, "No operation is significantly %s",
		                gained ? "faster" : "slower");
	ws_sentence_add(&text, ".");
	ws_table_add(t, gained ? "what gained" : "what lost", "%s", text.text);
}

/* Less than this share of a step's GPU time is not worth a word. */
#define SMALL_LOSS 0.005

/* Classes that took more than A's ate a part of what others gained. */
static void add_losses(const struct ws_diff *d, const struct ws_diff_rows *classes,
                       struct ws_sentence *text)
{
	const double whole = (double)d->side[0].gpu_ns / (double)d->side[0].nsamples;
	double gained = 0, lost = 0;
	int named = 0;

	for (size_t i = 0; i < classes->n; i++) {
		double change = change_of(&classes->row[i]);

		gained += change < 0 ? -change : 0;
		lost += change > 0 ? change : 0;
	}
	for (size_t i = 0; i < classes->n && named < MOST_NAMED; i++) {
		double change = change_of(&classes->row[i]);
		struct ws_bytes name = ws_diff_class_name(
		        ws_texts_get(&d->names.texts, classes->row[i].key.class));
		char time[WS_SAY_TIME];

		if (change < fmax(gained / 100, SMALL_LOSS * whole))
			continue;
		ws_sentence_add(text, "%s %.*s %s more",
		                named++ ? "," : " Slower classes:", (int)name.len,
		                (const char *)name.ptr, ws_say_time_in(change, time));
		/* more than was gained cannot be taken back of it */
		if (lost <= gained)
			ws_sentence_add(text, " (%.0f %% of the gain)", 100 * change / gained);
	}
	if (named)
		ws_sentence_add(text, ".");
}

static void add_gain_breakdown(struct ws_diff *d, struct ws_table *t,
                               const struct ws_diff_rows *classes, const double step_ns[2],
                               const double gpu_ns[2])
{
	const double gpu = gpu_ns[1] - gpu_ns[0], step = step_ns[1] - step_ns[0];
	struct ws_sentence text = {"Kernels: "};
	struct ws_diff_parts parts; /* their means: those of the kernels are no typical ones */
	char time[WS_SAY_TIME];
	double other;

	if (isnan(gpu) || isnan(step))
		return;
	add_change(&text, gpu);
	ws_sentence_add(&text, ". %s: ", d->by_steps ? "Step" : "Elapsed time");
	add_change(&text, step);
	ws_sentence_add(&text, ".");
	ws_diff_find_parts(d, step_ns, &parts);
	other = parts.mean_ns[1] - parts.mean_ns[0] - gpu;
	ws_diff_parts_release(&parts);
	if (gpu < 0 && other > 0.1 * -gpu)
		ws_sentence_add(&text, " The other %s became idle time or copies.",
		                ws_say_time_in(other, time));
	add_losses(d, classes, &text);
	ws_table_add(t, "where the gain went", "%s", text.text);
}

/* --- Tensor Cores -------------------------------------------------------------------------- */

static bool is_matmul_class(struct ws_bytes class)
{
	return ws_name_is(class, "gemm") || ws_name_is(class, "conv") ||
	       ws_name_is(class, "attention");
}

#define PRODUCTS "the matmul, convolution and attention time"

static void add_tensor_cores(const struct ws_diff *d, struct ws_table *t,
                             const struct ws_diff_rows *classes)
{
	double on[2] = {0, 0}, all[2] = {0, 0}, unknown[2] = {0, 0}, share[2], dark[2];
	const char *use;

	for (size_t i = 0; i < classes->n; i++) {
		const struct ws_diff_row *row = &classes->row[i];

		if (!is_matmul_class(ws_texts_get(&d->names.texts, row->key.class)))
			continue;
		for (int s = 0; s < 2; s++) {
			on[s] += (double)row->tensor_ns[s];
			unknown[s] += (double)row->unknown_ns[s];
			all[s] +=
			        row->instances[s] ? row->mean[s] * (double)d->side[s].nsamples : 0;
		}
	}
	if (!all[0] || !all[1] || ws_diff_is_on_cpu(d))
		return;
	for (int s = 0; s < 2; s++) {
		share[s] = ws_stat_percent(on[s], all[s]);
		dark[s] = ws_stat_percent(unknown[s], all[s]);
	}
	if (dark[0] > 5 || dark[1] > 5) {
		ws_table_add(t, "Tensor Cores",
		             "Unknown: kernel names do not tell Tensor Core use for %.0f %% and "
		             "%.0f %% of " PRODUCTS ".",
		             dark[0], dark[1]);
		return;
	}
	use = fabs(share[1] - share[0]) <= 5 ? "Tensor Core use is unchanged"
	      : share[1] > share[0]          ? "Tensor Cores are used more"
	                                     : "Tensor Cores are used less";
	ws_verdict_numbers(t,
	                   ws_table_add(t, "Tensor Cores",
	                                "%s: %.0f %% and %.0f %% of " PRODUCTS
	                                " (from kernel names).",
	                                use, share[0], share[1]),
	                   share[0], share[1], "%");
}

void ws_verdict_gains(struct ws_diff *d, struct ws_table *t, const double step_ns[2],
                      const double gpu_ns[2])
{
	/* matched work; what one side did alone is told apart */
	static const struct ws_diff_key fields = {.op = UINT32_MAX,
	                                          .phase = UINT32_MAX,
	                                          .side = UINT32_MAX};
	struct ws_diff_rows rows = {0}, classes = {0};

	ws_diff_gather_work(d, &fields, &rows);
	ws_diff_gather_classes(d, &classes);
	if (!ws_diff_is_unlike(d)) {
		add_changes(d, t, &rows, true);
		add_changes(d, t, &rows, false);
		add_gain_breakdown(d, t, &classes, step_ns, gpu_ns);
	}
	add_tensor_cores(d, t, &classes);
	ws_diff_rows_release(&rows);
	ws_diff_rows_release(&classes);
}
