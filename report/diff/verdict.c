/*
 * diff-verdict: the answer, and what it rests on.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/base/names.h"
#include "report/diff/private.h"

struct verdict {
	struct ws_diff *d;
	struct ws_table *t;
};

/* The sentences of a row grow here; what does not fit is left out. */
struct sentence {
	char text[512];
};

static void print(struct sentence *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct sentence *s, const char *fmt, ...)
{
	size_t n = strlen(s->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->text + n, sizeof(s->text) - n, fmt, args);
	va_end(args);
}

static struct ws_cell *add_row(const struct verdict *v, const char *subject, const char *verdict)
{
	struct ws_cell *row = ws_table_row(v->t);

	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_subject], subject);
	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_verdict], verdict);
	return row;
}

static void set_numbers(const struct verdict *v, struct ws_cell *row, double a, double b,
                        const char *unit)
{
	ws_cell_set_real(&row[WS_TC_diff_verdict_a], a);
	ws_cell_set_real(&row[WS_TC_diff_verdict_b], b);
	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_unit], unit);
}

/* A graded time: its sentence, and its numbers unless they are withheld. */
static void add_time(const struct verdict *v, const char *subject, const char *sentence,
                     const struct ws_comparison *c)
{
	struct ws_cell *row = add_row(v, subject, sentence);

	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_grade], ws_grade_name(c->grade));
	set_numbers(v, row, c->typical[0] / 1e6, c->typical[1] / 1e6, "ms");
	if (c->grade == WS_GRADE_UNLIKE)
		return;
	ws_cell_set_real(&row[WS_TC_diff_verdict_ratio], c->ratio);
	ws_cell_set_real(&row[WS_TC_diff_verdict_low], c->low);
	ws_cell_set_real(&row[WS_TC_diff_verdict_high], c->high);
}

/* --- before any number ------------------------------------------------------------------- */

static void add_warnings(const struct verdict *v)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &v->d->side[s];

		for (size_t i = 0; i < side->nrecordings; i++) {
			struct ws_bytes name =
			        ws_texts_get(&v->d->names.texts, side->recordings[i].name);
			struct sentence text = {""};

			if (!side->recordings[i].damaged)
				continue;
			print(&text,
			      "%.*s is damaged: a part of it could not be read, so its numbers "
			      "cover "
			      "the rest (`warpsheet check` lists the damage)",
			      (int)name.len, (const char *)name.ptr);
			add_row(v, "damaged", text.text);
		}
	}
	for (size_t i = 0; i < v->d->nreasons; i++) {
		struct ws_cell *row = add_row(v, "not the same work", v->d->reasons[i]);

		ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_grade],
		                ws_grade_name(WS_GRADE_UNLIKE));
	}
}

static void add_matched(const struct verdict *v)
{
	const struct ws_diff *d = v->d;
	struct sentence text = {""};
	double share[2];

	for (int s = 0; s < 2; s++)
		share[s] = ws_stat_percent((double)d->matched_ns[s], (double)d->side[s].gpu_ns);
	if (d->side[0].gpu_ns && d->side[1].gpu_ns)
		print(&text, "%.1f %% of the GPU time of %s and %.1f %% of that of %s is matched",
		      share[0], d->side[0].name, share[1], d->side[1].name);
	else
		print(&text, "one side has no GPU time, so nothing is matched");
	set_numbers(v, add_row(v, "matched work", text.text), share[0], share[1], "%");
}

/* --- times ------------------------------------------------------------------------------- */

enum { OVERALL, GPU_TIME, FIRST_PHASE, NTIMES = FIRST_PHASE + WS_PHASES };

static int64_t time_of(const struct ws_diff *d, const struct ws_sample *s, int which)
{
	if (which == OVERALL)
		return d->by_steps ? s->step_ns : s->gpu_ns;
	return which == GPU_TIME ? s->gpu_ns : s->phase_gpu_ns[which - FIRST_PHASE];
}

static void compare_time(const struct verdict *v, int which, struct ws_comparison *out,
                         int *present)
{
	int64_t *ns[2] = {NULL, NULL}, sum[2] = {0, 0};

	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &v->d->side[s];

		ns[s] = ws_xarray(side->nsamples + 1, sizeof(*ns[s]));
		for (size_t i = 0; i < side->nsamples && ns[s]; i++)
			sum[s] += ns[s][i] = time_of(v->d, side->samples[i], which);
	}
	*present = sum[0] > 0 && sum[1] > 0;
	ws_diff_compare(v->d, ns[0], ns[1], out);
	free(ns[0]);
	free(ns[1]);
}

/* A gap that is not there in cycles is one of the clocks. */
static bool clocks_explain(const struct ws_diff *d, const struct ws_comparison *c, double mhz[2])
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		mhz[s] = 0;
		for (size_t i = 0; i < side->nrecordings; i++) {
			if (side->recordings[i].clock_mhz <= 0)
				return false;
			mhz[s] += side->recordings[i].clock_mhz / (double)side->nrecordings;
		}
	}
	if (ws_side_fact(&d->side[0], &d->names, "device") !=
	    ws_side_fact(&d->side[1], &d->names, "device"))
		return false;
	return fabs(log(c->ratio * mhz[1] / mhz[0])) < log1p(d->grade.min_effect);
}

static void judge_overall(const struct verdict *v, struct ws_comparison *c)
{
	struct ws_diff *d = v->d;
	const struct ws_recording *a = &d->side[0].recordings[0], *b = &d->side[1].recordings[0];
	struct sentence text = {""};
	double mhz[2];

	ws_diff_print(d, c, text.text, sizeof(text.text));
	if ((c->grade == WS_GRADE_FASTER || c->grade == WS_GRADE_SLOWER) &&
	    clocks_explain(d, c, mhz)) {
		c->grade = WS_GRADE_AMBIGUOUS;
		*text.text = '\0';
		print(&text,
		      "not significant: the clocks differed (%.0f and %.0f MHz), and in cycles %s "
		      "and %s take the same time",
		      mhz[0], mhz[1], d->side[0].name, d->side[1].name);
	}
	if (c->grade != WS_GRADE_UNLIKE && !c->identical && a->idle.launch_bound &&
	    b->idle.launch_bound) {
		c->grade = WS_GRADE_AMBIGUOUS;
		*text.text = '\0';
		print(&text,
		      "both runs are launch-bound (the GPU waits for launches %.0f %% and %.0f %% "
		      "of "
		      "a step): the host's launches set the pace, so this says nothing about the "
		      "GPU "
		      "work",
		      a->idle.percent, b->idle.percent);
	} else if (c->grade != WS_GRADE_UNLIKE && c->basis == WS_BASIS_STEPS && !c->identical) {
		const char *few = c->recordings[0] == 1 && c->recordings[1] == 1
		                          ? "one recording"
		                          : "under three recordings";

		if (isnan(d->grade.run_noise))
			print(&text,
			      "; %s per side on the CPU reference: make "
			      "three or more, or measure how much they vary "
			      "('warpsheet aa') and pass --run-noise",
			      few);
		else
			print(&text, "; %s per side: recordings are assumed to vary by %.3g %%",
			      few, d->grade.run_noise * 100);
	}
	snprintf(d->result->verdict, sizeof(d->result->verdict), "%s", text.text);
	add_time(v, "overall", text.text, c);
	d->result->finding = d->opts.threshold_percent >= 0 && c->grade == WS_GRADE_SLOWER &&
	                     c->low > 1 + d->opts.threshold_percent / 100;
}

static void add_times(const struct verdict *v, struct ws_comparison c[NTIMES])
{
	struct ws_comparison *rows[NTIMES];
	int present[NTIMES];
	size_t n = 0;

	for (int i = 0; i < NTIMES; i++) {
		compare_time(v, i, &c[i], &present[i]);
		/* without steps the overall time is that of the GPU, and there are no phases */
		present[i] &= v->d->by_steps || i == OVERALL;
		if (present[i])
			rows[n++] = &c[i];
	}
	ws_grade_rows(rows, n, &v->d->grade);
	judge_overall(v, &c[OVERALL]);
	for (int i = GPU_TIME; i < NTIMES; i++) {
		struct sentence text = {""}, subject = {"GPU time of a step"};

		if (!present[i])
			continue;
		if (i >= FIRST_PHASE)
			snprintf(subject.text, sizeof(subject.text), "GPU time of %s",
			         ws_phase_name((enum ws_phase)(i - FIRST_PHASE)));
		ws_diff_print(v->d, &c[i], text.text, sizeof(text.text));
		add_time(v, subject.text, text.text, &c[i]);
	}
}

/* --- what gained, what lost -------------------------------------------------------------- */

#define MOST_NAMED 3

static void key_of_gain(const struct ws_diff *d, const struct ws_work_item *const item[2],
                        const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS])
{
	const struct ws_work_item *name = item[0] ? item[0] : item[1];

	(void)d;
	(void)n;
	key[0] = name->op ? name->op : name->class;
	key[1] = name->phase;
	key[2] = by >= 0;
}

static double change_of(const struct ws_diff_row *row)
{
	return (row->instances[1] ? row->mean[1] : 0) - (row->instances[0] ? row->mean[0] : 0);
}

/* Only what is sure counts: a graded change, or work that one side has not. */
static bool is_change(const struct ws_diff_row *row, int gained)
{
	if (gained ? change_of(row) >= 0 : change_of(row) <= 0)
		return false;
	return !row->instances[0] || !row->instances[1] ||
	       row->c.grade == (gained ? WS_GRADE_FASTER : WS_GRADE_SLOWER);
}

static void add_changes(const struct verdict *v, const struct ws_diff_rows *rows, int gained)
{
	const char *per = v->d->by_steps ? " a step" : "";
	struct sentence text = {""};
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct ws_diff_row *row = &rows->row[i];
		struct ws_bytes name = ws_texts_get(&v->d->names.texts, row->field[0]);

		if (!is_change(row, gained))
			continue;
		sum += change_of(row);
		if (n++ < MOST_NAMED)
			print(&text, "%s%.*s (%s) %+.3f ms", n > 1 ? ", " : "",
			      name.len < 60 ? (int)name.len : 60, (const char *)name.ptr,
			      ws_phase_name((enum ws_phase)row->field[1]), change_of(row) / 1e6);
	}
	if (n > MOST_NAMED)
		print(&text, ", and %zu more", n - MOST_NAMED);
	if (n)
		print(&text, "; %+.3f ms%s in all", sum / 1e6, per);
	else
		print(&text, "no operation is certainly %s", gained ? "faster" : "slower");
	add_row(v, gained ? "what gained" : "what lost", text.text);
}

static bool is_matmul_class(struct ws_bytes class)
{
	return ws_name_is(class, "gemm") || ws_name_is(class, "conv") ||
	       ws_name_is(class, "attention");
}

/* Classes that came or grew ate a part of what others gained; idle time the rest. */
static void add_gain_breakdown(const struct verdict *v, const struct ws_diff_rows *classes,
                               const struct ws_comparison c[NTIMES])
{
	struct sentence text = {""};
	double gained = 0, lost = 0, gpu, step;
	int named = 0;

	for (size_t i = 0; i < classes->n; i++) {
		double change = change_of(&classes->row[i]);

		gained += change < 0 ? -change : 0;
		lost += change > 0 ? change : 0;
	}
	if (!gained || ws_diff_is_unlike(v->d))
		return;
	/* more than was gained cannot be taken back of it */
	if (lost > gained)
		print(&text, "%.3f ms gained and %.3f ms lost:", gained / 1e6, lost / 1e6);
	else
		print(&text, "of %.3f ms gained", gained / 1e6);
	for (size_t i = 0; i < classes->n && named < MOST_NAMED; i++) {
		double change = change_of(&classes->row[i]);
		struct ws_bytes name = ws_texts_get(&v->d->names.texts, classes->row[i].field[0]);

		if (change <= 0 || change < gained / 100)
			continue;
		print(&text, "%s %.*s %s %.3f ms", named++ ? "," : "", (int)name.len,
		      (const char *)name.ptr, lost > gained ? "lost" : "took back", change / 1e6);
		if (lost <= gained)
			print(&text, " (%.0f %%)", 100 * change / gained);
	}
	if (!named)
		print(&text, " nothing over 1 %% was lost to other classes");
	gpu = c[GPU_TIME].typical[0] - c[GPU_TIME].typical[1];
	step = c[OVERALL].typical[0] - c[OVERALL].typical[1];
	if (v->d->by_steps && gpu > 0 && gpu - step > 0.1 * gpu)
		print(&text,
		      "; its kernels gained %.3f ms and the step %s %.3f: the rest went to time in "
		      "which the GPU waits or copies",
		      gpu / 1e6, step < 0 ? "lost" : "gained", fabs(step) / 1e6);
	add_row(v, "where the gain went", text.text);
}

static void add_tensor_cores(const struct verdict *v, const struct ws_diff_rows *classes)
{
	const struct ws_diff *d = v->d;
	double on[2] = {0, 0}, all[2] = {0, 0}, unknown[2] = {0, 0}, share[2];
	struct sentence text = {""};

	for (size_t i = 0; i < classes->n; i++) {
		const struct ws_diff_row *row = &classes->row[i];

		if (!is_matmul_class(ws_texts_get(&d->names.texts, row->field[0])))
			continue;
		for (int s = 0; s < 2; s++) {
			on[s] += (double)row->tensor_ns[s];
			unknown[s] += (double)row->unknown_ns[s];
			all[s] +=
			        row->instances[s] ? row->mean[s] * (double)d->side[s].nsamples : 0;
		}
	}
	if (!all[0] || !all[1] || d->side[0].recordings[0].on_cpu ||
	    d->side[1].recordings[0].on_cpu)
		return;
	for (int s = 0; s < 2; s++)
		share[s] = ws_stat_percent(on[s], all[s]);
	if (unknown[0] > 0.05 * all[0] || unknown[1] > 0.05 * all[1]) {
		print(&text,
		      "cannot tell: the names of kernels with %.0f %% of the time of matrix "
		      "products, "
		      "convolutions and attention in %s, %.0f %% in %s, do not say whether they "
		      "use "
		      "them",
		      ws_stat_percent(unknown[0], all[0]), d->side[0].name,
		      ws_stat_percent(unknown[1], all[1]), d->side[1].name);
		add_row(v, "Tensor Cores", text.text);
		return;
	}
	if (share[1] > share[0] + 5)
		print(&text, "Tensor Cores took over: ");
	else if (share[0] > share[1] + 5)
		print(&text, "Tensor Cores are used less: ");
	else
		print(&text, "Tensor Cores are used as before: ");
	print(&text,
	      "%.0f %% of the time of matrix products, convolutions and attention in %s, %.0f %% "
	      "in "
	      "%s, by the names of the kernels",
	      share[0], d->side[0].name, share[1], d->side[1].name);
	set_numbers(v, add_row(v, "Tensor Cores", text.text), share[0], share[1], "%");
}

static void add_causes(const struct verdict *v, const struct ws_comparison c[NTIMES])
{
	struct ws_diff_rows rows = {.n = 0}, classes = {.n = 0};

	ws_diff_rows_of_work(v->d, key_of_gain, &rows);
	ws_diff_gather_classes(v->d, &classes);
	if (!ws_diff_is_unlike(v->d)) {
		add_changes(v, &rows, 1);
		add_changes(v, &rows, 0);
		add_gain_breakdown(v, &classes, c);
	}
	add_tensor_cores(v, &classes);
	ws_diff_rows_release(&rows);
	ws_diff_rows_release(&classes);
}

/* --- memory, what is left over, notes ---------------------------------------------------- */

static void add_memory(const struct verdict *v)
{
	const struct ws_diff *d = v->d;
	double peak[2];
	enum ws_grade grade;
	struct sentence text = {""};
	struct ws_cell *row;

	for (int s = 0; s < 2; s++) {
		peak[s] = ws_side_peak(&d->side[s]);
		if (peak[s] < 0)
			return;
	}
	grade = ws_diff_grade_count(d, peak[0], peak[1]);
	if (grade == WS_GRADE_SAME)
		print(&text, "%s and %s have the same peak allocation", d->side[0].name,
		      d->side[1].name);
	else
		print(&text, "at its peak, %s allocates %.3g× as much as %s", d->side[1].name,
		      ws_stat_ratio(peak[1], peak[0]), d->side[0].name);
	row = add_row(v, "memory", text.text);
	set_numbers(v, row, peak[0] / 1e6, peak[1] / 1e6, "MB");
	ws_cell_set_real(&row[WS_TC_diff_verdict_ratio], ws_stat_ratio(peak[1], peak[0]));
	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_grade], ws_grade_count_name(grade));
}

/* The mean over the recordings; NaN when it is not known of one. */
static double utilization_of(const struct ws_side *side, bool hardware)
{
	double sum = 0;

	for (size_t i = 0; i < side->nrecordings; i++)
		sum += hardware ? side->recordings[i].hfu_percent : side->recordings[i].mfu_percent;
	return sum / (double)side->nrecordings;
}

static void add_utilization(const struct verdict *v, bool hardware)
{
	const struct ws_diff *d = v->d;
	struct sentence text = {""};
	double percent[2];
	struct ws_cell *row;

	print(&text, "%s", hardware ? "of all products that ran" : "of the model's products");
	for (int s = 0; s < 2; s++) {
		const char *check;

		percent[s] = utilization_of(&d->side[s], hardware);
		check = ws_over_peak(percent[s]);
		if (isnan(percent[s]))
			print(&text, "; unknown for %s", d->side[s].name);
		else
			print(&text, "; %s %.1f %% of %s%s%s", d->side[s].name, percent[s],
			      d->side[s].recordings[0].peak, check ? ", " : "", check ? check : "");
	}
	if (isnan(percent[0]) && isnan(percent[1]))
		return;
	row = add_row(v, hardware ? "HFU" : "MFU", text.text);
	set_numbers(v, row, percent[0], percent[1], "%");
}

static void add_unmatched(const struct verdict *v)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &v->d->side[s];
		const struct ws_unmatched_work *rest = &v->d->unmatched[s];
		struct sentence text = {""};

		if (!rest->kernels)
			print(&text, "all GPU work of %s has a counterpart", side->name);
		else
			print(&text,
			      "%.4g kernels%s of %s have no counterpart: %.3f ms of GPU time%s",
			      (double)rest->kernels / (double)side->nsamples,
			      v->d->by_steps ? " a step" : "", side->name,
			      (double)(side->gpu_ns - v->d->matched_ns[s]) /
			              (double)side->nsamples / 1e6,
			      v->d->by_steps ? " a step" : "");
		if (rest->casts)
			print(&text, "; %.4g casts appear beside matched work: %.3f ms",
			      (double)rest->casts / (double)side->nsamples,
			      (double)rest->cast_ns / (double)side->nsamples / 1e6);
		add_row(v, s ? "only in B" : "only in A", text.text);
	}
}

static void add_notes(const struct verdict *v)
{
	const struct ws_diff *d = v->d;

	ws_diff_note_samples(d, v->t);
	if (!d->by_steps)
		ws_table_note(v->t, "At least one trace has no completed range `step`: whole "
		                    "traces are compared, set-up and warm-up included "
		                    "(--step PATTERN names the steps).");
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		if (side->recordings[0].on_cpu)
			ws_table_note(v->t,
			              "%s ran on the CPU reference: real CPU timings; not GPU "
			              "performance.",
			              side->name);
		for (size_t i = 0; i < side->nrecordings; i++) {
			const struct ws_recording *r = &side->recordings[i];
			struct ws_bytes name = ws_texts_get(&d->names.texts, r->name);

			for (size_t k = 0; k < r->origin->nnotes; k++)
				ws_table_note(v->t, "%.*s: %s", (int)name.len,
				              (const char *)name.ptr, r->origin->notes[k]);
			if (r->graphs_ns)
				ws_table_note(v->t,
				              "%.*s: CUDA graphs traced as a whole took %.3f ms; "
				              "their kernels were not recorded, so nothing of "
				              "them is compared.",
				              (int)name.len, (const char *)name.ptr,
				              (double)r->graphs_ns / 1e6);
			if (r->cut)
				ws_table_note(v->t,
				              "%.*s: %zu steps at its end were cut off and are "
				              "left out.",
				              (int)name.len, (const char *)name.ptr, r->cut);
		}
	}
}

enum ws_status ws_diff_fill_verdict(struct ws_diff *d, struct ws_table *t, struct ws_err *err)
{
	const struct verdict v = {d, t};
	struct ws_comparison c[NTIMES];

	(void)err;
	add_warnings(&v);
	add_matched(&v);
	add_times(&v, c);
	add_memory(&v);
	add_utilization(&v, false);
	add_utilization(&v, true);
	add_causes(&v, c);
	add_unmatched(&v);
	add_notes(&v);
	return WS_OK;
}
