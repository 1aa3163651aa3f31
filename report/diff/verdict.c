/*
 * diff-verdict: the answer, and its evidence.
 */

#include "report/diff/private.h"

/* --- a comparison in words ------------------------------------------------------------------ */

/* Three digits without an exponent. */
struct number {
	char text[16];
};

static struct number number(double value, bool sign)
{
	const double size = fabs(value);
	struct number n;

	if (size >= 999.5)
		snprintf(n.text, sizeof(n.text), sign ? "%+.0f" : "%.0f", value);
	else if (size > 0 && size < 0.001)
		snprintf(n.text, sizeof(n.text), sign ? "%+.4f" : "%.4f", value);
	else
		snprintf(n.text, sizeof(n.text), sign ? "%+.3g" : "%.3g", value);
	return n;
}
#define DIGITS(value) (number(value, false).text)
#define SIGNED(value) (number(value, true).text)

/* How many times faster or slower: always at least 1. */
static double times_of(double ratio)
{
	return ratio < 1 ? 1 / ratio : ratio;
}

static void print_amount(double times, bool in_times, char *out, size_t size)
{
	if (in_times)
		snprintf(out, size, "%s×", DIGITS(times));
	else
		snprintf(out, size, "%s %%", DIGITS(100 * (times - 1)));
}

/* "1.6× faster", "2.3 % slower" */
static void print_ratio(double ratio, char *out, size_t size)
{
	char amount[32];

	print_amount(times_of(ratio), times_of(ratio) >= WS_SAY_TIMES_FROM, amount, sizeof(amount));
	snprintf(out, size, "%s %s", amount, ratio < 1 ? "faster" : "slower");
}

/* ", assumes 5 % noise"; "" if the runs show their own noise */
static const char *print_assumed(const struct ws_comparison *c, char out[48])
{
	*out = '\0';
	if (c->basis == WS_BASIS_STEPS && !c->identical && !isnan(c->run_noise))
		snprintf(out, 48, ", assumes %.2g %% noise", c->run_noise * 100);
	return out;
}

/* The confidence of a comparison's interval. */
static int percent_of(const struct ws_diff *d, const struct ws_comparison *c)
{
	return (int)round(100 *
	                  (c->basis == WS_BASIS_PAIRS ? d->opts.confidence : WS_GRADE_CONFIDENCE));
}

static void print_comparison(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                             size_t size)
{
	const char *a = d->side[0].name, *b = d->side[1].name;
	char ratio[64];

	if (c->grade == WS_GRADE_UNLIKE)
		snprintf(out, size, "%s and %s did different work, so there is no ratio.", a, b);
	else if (isnan(c->ratio))
		snprintf(out, size, "Only one side has this time.");
	else if (c->grade == WS_GRADE_SAME)
		snprintf(out, size, "%s and %s take the same time, within %.3g %%.", a, b,
		         d->grade.same_within * 100);
	else if (ws_grade_is_faster(c->grade) || ws_grade_is_slower(c->grade)) {
		const bool likely = c->basis == WS_BASIS_STEPS;
		const double slow = times_of(c->low), fast = times_of(c->high);
		const bool in_times = times_of(c->ratio) >= WS_SAY_TIMES_FROM;
		char least[32], most[32], assumed[48];

		print_ratio(c->ratio, ratio, sizeof(ratio));
		print_amount(fmin(slow, fast), in_times, least, sizeof(least));
		print_amount(fmax(slow, fast), in_times, most, sizeof(most));
		snprintf(out, size, "%s is %s%s than %s (%d %% CI %s to %s%s).", d->side[1].name,
		         likely ? "likely " : "", ratio, d->side[0].name, percent_of(d, c), least,
		         most, print_assumed(c, assumed));
	} else if (isnan(c->low)) {
		print_ratio(c->ratio, ratio, sizeof(ratio));
		snprintf(out, size, "%s looks %s than %s, but run-to-run noise is unknown.", b,
		         ratio, a);
	} else if (c->discovered && (c->high < 1 || c->low > 1) &&
	           (c->ratio < 1 ? c->less_work : c->more_work) > 1.0005) {
		/* A sentence for times that differ because one side did more work. */
		const bool faster = c->ratio < 1;
		const double more = (faster ? c->less_work : c->more_work) - 1;

		print_ratio(c->ratio, ratio, sizeof(ratio));
		snprintf(out, size,
		         "No significant difference in common work: %s is %s, but %s also did %s "
		         "%% more work.",
		         d->side[1].name, ratio, d->side[!faster].name, DIGITS(100 * more));
	} else {
		const bool in_percent = times_of(c->ratio) < WS_SAY_TIMES_FROM;
		char settles[96], assumed[48];

		/* " Record about 12 runs per side to detect 3 %."; a difference that is plain is
		 * only not sure. */
		const double effect = ws_grade_effect(c, &d->grade);
		unsigned n = ws_grade_recordings_for(c, effect, d->opts.confidence);

		*settles = '\0';
		if (n && (n > c->recordings[0] || n > c->recordings[1])) {
			snprintf(settles, sizeof(settles), " Record about %u %s to ", n,
			         c->basis == WS_BASIS_PAIRS ? "pairs" : "runs per side");
			ws_say_add(settles, sizeof(settles),
			           1 + effect >= WS_SAY_TIMES_FROM ? "be sure." : "detect %s %%.",
			           DIGITS(effect * 100));
		} else if (!n && *print_assumed(c, assumed))
			snprintf(settles, sizeof(settles), " Record 3 runs or more per side.");
		else if (!n)
			snprintf(settles, sizeof(settles),
			         " These runs vary too much to detect %s %%.",
			         DIGITS(effect * 100));
		char change[48] = "looks as fast";

		if (fabs(c->ratio - 1) >= 0.0005)
			snprintf(change, sizeof(change), "differs by %s %%",
			         SIGNED(100 * (c->ratio - 1)));
		print_assumed(c, assumed);
		print_ratio(c->ratio, ratio, sizeof(ratio));
		if (in_percent)
			snprintf(out, size,
			         "No significant difference: %s %s (%d %% CI %s %% to %s %%%s).%s",
			         d->side[1].name, change, percent_of(d, c),
			         SIGNED(100 * (c->low - 1)), SIGNED(100 * (c->high - 1)), assumed,
			         settles);
		else
			snprintf(out, size,
			         "No significant difference: %s looks %s, but the runs vary too "
			         "much to be sure (%d %% CI %s× to %s×%s).%s",
			         d->side[1].name, ratio, percent_of(d, c), DIGITS(c->low),
			         DIGITS(c->high), assumed, settles);
	}
}

struct verdict {
	struct ws_diff *d;
	struct ws_table *t;
};

/* A graded time: its sentence, and its numbers unless they are withheld. */
static void add_time(const struct verdict *v, const char *subject, const char *sentence,
                     const struct ws_comparison *c)
{
	struct ws_cell *row = ws_table_add(v->t, subject, "%s", sentence);

	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_grade], ws_grade_name(c->grade));
	ws_verdict_numbers(v->t, row, c->typical[0] / 1e6, c->typical[1] / 1e6, "ms");
	if (c->grade == WS_GRADE_UNLIKE)
		return;
	ws_cell_set_real(&row[WS_TC_diff_verdict_ratio], c->ratio);
	ws_cell_set_real(&row[WS_TC_diff_verdict_low], c->low);
	ws_cell_set_real(&row[WS_TC_diff_verdict_high], c->high);
}

/* --- times ------------------------------------------------------------------------------- */

static bool are_launch_bound(const struct ws_diff *d)
{
	return d->side[0].recordings[0].idle.launch_bound &&
	       d->side[1].recordings[0].idle.launch_bound;
}

static void add_launch_bound(const struct ws_diff *d, struct ws_sentence *text)
{
	ws_sentence_add(text,
	                "%sBoth runs are launch-bound (the GPU waits for launches %.0f %% and "
	                "%.0f %% of a step).",
	                *text->text ? " " : "", d->side[0].recordings[0].idle.percent,
	                d->side[1].recordings[0].idle.percent);
}

/* Says instead of a difference that the clocks explain it. */
static void add_clocks_reason(const struct ws_diff *d, const struct ws_diff_row *row,
                              struct ws_sentence *text)
{
	const double *mhz = d->result->clock_mhz;

	if (row->by_clocks == WS_CLOCKS_NO_REASON)
		return;
	*text->text = '\0';
	if (row->by_clocks == WS_CLOCKS_SAME_CYCLES)
		ws_sentence_add(text,
		                "No significant difference in cycles: the clocks differed (%.0f "
		                "and %.0f MHz).",
		                mhz[0], mhz[1]);
	else
		ws_sentence_add(text,
		                "The clocks can explain the difference of %.3g %%: they differed "
		                "(%.0f and %.0f MHz). Compare at the same clocks.",
		                100 * fabs(row->c.ratio - 1), mhz[0], mhz[1]);
}

/* Adds the reason why the step is not called different although its time differs. False: there is
 * no such reason. */
static bool add_excuse(const struct ws_diff *d, struct ws_diff_row *row, struct ws_sentence *text)
{
	struct ws_comparison *c = &row->c;

	add_clocks_reason(d, row, text);
	/* with a threshold the question is the step's time, not the GPU's */
	if (c->grade == WS_GRADE_UNLIKE || c->identical || d->opts.threshold_percent >= 0 ||
	    !are_launch_bound(d))
		return c->grade == WS_GRADE_AMBIGUOUS;
	*text->text = '\0';
	add_launch_bound(d, text);
	ws_sentence_add(text, " The step says nothing about the GPU work.");
	c->grade = WS_GRADE_AMBIGUOUS;
	return true;
}

static struct ws_diff_row *find_row(const struct ws_diff_rows *rows, enum ws_measure measure,
                                    int phase)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].key.measure == (uint32_t)measure &&
		    rows->row[i].key.phase == (uint32_t)phase)
			return &rows->row[i];
	return NULL;
}

static void add_gpu_time(const struct verdict *v, const struct ws_diff_rows *rows, int phase)
{
	const struct ws_diff_row *row = find_row(rows, WS_MEASURE_GPU, phase);
	struct ws_sentence text = {""}, subject = {""};
	const char *sum = ws_diff_sum_name(v->d);

	if (!row || !(row->mean[0] > 0) || !(row->mean[1] > 0))
		return;
	/* "other" as the only phase says nothing */
	bool is_all = phase == WS_PHASE_OTHER;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < row->sums[s].n && is_all; i++) {
			const struct ws_diff_sum *of = &row->sums[s].sum[i];

			is_all = of->ns == v->d->side[s].samples[of->sample]->gpu_ns;
		}
	if (is_all)
		return;
	snprintf(subject.text, sizeof(subject.text), "%s of %s", sum,
	         phase < WS_PHASES ? ws_phase_name((enum ws_phase)phase)
	         : v->d->by_steps  ? "a step"
	                           : ws_diff_work_noun(v->d));
	struct ws_comparison c = row->c;

	print_comparison(v->d, &c, text.text, sizeof(text.text));
	if (c.grade == WS_GRADE_UNLIKE)
		memcpy(c.typical, row->shown, sizeof(c.typical));
	add_clocks_reason(v->d, row, &text);
	add_time(v, subject.text, text.text, &c);
}

/* The mean steps of recordings. Grade NONE: not compared. */
static struct ws_comparison compare_means(const struct ws_diff *d, size_t nlong[2])
{
	struct ws_comparison c = {.basis = WS_BASIS_NONE, .grade = WS_GRADE_NONE};
	const struct ws_grade_opts opts = ws_diff_grade_opts(d, WS_DIFF_NOISE_STEP);
	struct ws_samples of[2];
	double *ns[2];

	if (!d->by_steps || d->compares_unrecorded || ws_diff_is_unlike(d))
		return c;
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		ns[s] = ws_xarray(side->nsamples + 1, sizeof(*ns[s]));
		for (size_t i = 0; i < side->nsamples; i++)
			ns[s][i] = (double)side->samples[i]->step_ns;
		of[s] = (struct ws_samples){.values = ns[s],
		                            .steps = side->steps,
		                            .recordings = side->nrecordings};
	}
	ws_compare_means(&of[0], &of[1], &opts, &c, nlong);
	free(ns[0]);
	free(ns[1]);
	return c;
}

/* False: the time of a side is 0. */
static bool add_times(const struct verdict *v, double gpu_ns[2])
{
	struct ws_diff *d = v->d;
	struct ws_diff_rows rows = {0};

	ws_diff_gather_time(d, &rows, WS_PHASES, WS_MEASURE_STEP);
	ws_diff_gather_time(d, &rows, WS_PHASES, WS_MEASURE_GPU);
	for (int p = 0; p < WS_PHASES && d->by_steps; p++)
		ws_diff_gather_time(d, &rows, p, WS_MEASURE_GPU);
	ws_diff_rows_grade(d, &rows);
	struct ws_diff_row *row = find_row(&rows, WS_MEASURE_STEP, WS_PHASES);
	bool any = row && row->mean[0] > 0 && row->mean[1] > 0;
	if (any) {
		struct ws_comparison *c = &row->c;
		struct ws_sentence text = {""};

		ws_sentence_add(&text, "%s: ", d->by_steps ? "Step" : "Elapsed time");
		print_comparison(d, c, text.text + strlen(text.text),
		                 sizeof(text.text) - strlen(text.text));
		if (!add_excuse(d, row, &text) && ws_grade_is_different(c->grade)) {
			struct ws_diff_parts parts;
			char *cause = d->result->cause;

			ws_diff_find_parts(d, &parts);
			ws_diff_print_cause(d, &parts, cause, sizeof(d->result->cause));
			ws_sentence_add(&text, "%s%s", *cause ? " " : "", cause);
			ws_diff_parts_release(&parts);
			if (are_launch_bound(d))
				add_launch_bound(d, &text);
		} else if (c->grade == WS_GRADE_UNLIKE) {
			ws_sentence_add(&text, " Pass --force to compare them all the same.");
		} else if (isnan(d->noise[WS_DIFF_NOISE_STEP]) && c->basis == WS_BASIS_STEPS &&
		           !c->identical) {
			ws_sentence_add(&text, " CPU runs need three per side, or --run-noise from "
			                       "'warpsheet aa'.");
		}
		size_t nlong[2];
		const struct ws_comparison mean = compare_means(d, nlong);
		const bool is_longer = mean.low > c->high;

		if (ws_grade_is_different(mean.grade) && (is_longer || mean.high < c->low)) {
			char ratio[64];

			print_ratio(mean.ratio, ratio, sizeof(ratio));
			ws_sentence_add(&text, " But the mean step of %s is %s", d->side[1].name,
			                ratio);
			if (nlong[is_longer] > nlong[!is_longer])
				ws_sentence_add(&text,
				                ": %zu of %zu steps of %s take over %.2g times the "
				                "median, of %s %zu of %zu",
				                nlong[is_longer], d->side[is_longer].nsamples,
				                d->side[is_longer].name, WS_GRADE_LONG_STEP,
				                d->side[!is_longer].name, nlong[!is_longer],
				                d->side[!is_longer].nsamples);
			ws_sentence_add(&text, ".");
			d->result->mean = mean;
		}
		snprintf(d->result->verdict, sizeof(d->result->verdict), "%s", text.text);
		add_time(v, "overall", text.text, c);
		ws_verdict_replayed(d, v->t, c);
		d->result->overall = *c;
		d->result->finding =
		        d->opts.threshold_percent >= 0 &&
		        (c->grade == WS_GRADE_SLOWER || (c->grade == WS_GRADE_LIKELY_SLOWER &&
		                                         !isnan(d->opts.run_noise_percent))) &&
		        c->low > 1 + d->opts.threshold_percent / 100;
		add_gpu_time(v, &rows, WS_PHASES);
		for (int p = 0; p < WS_PHASES; p++)
			add_gpu_time(v, &rows, p);
		if (!d->by_steps) {
			/* further times of a whole trace, which has no phases */
			static const char *const subjects[] = {"copies", "idle"};
			double ns[2][2] = {{0, 0}, {0, 0}};

			for (int s = 0; s < 2; s++) {
				const struct ws_side *side = &v->d->side[s];

				for (int use = WS_USE_COPY + 1; use < WS_USES; use++)
					ns[1][s] += (double)side->samples[side->shown]->use_ns[use];
				for (uint32_t name = 0; name < WS_COPY_NAMES; name++)
					ns[0][s] += ws_side_copies(side, name, WS_COPIES_NS);
			}
			for (size_t i = 0; i < 2; i++) {
				const double change = ns[i][1] - ns[i][0];

				if (!ns[i][0] && !ns[i][1])
					continue;
				ws_verdict_numbers(v->t,
				                   ws_table_add(v->t, subjects[i], "%s %s.",
				                                WS_SHOWN_TIME(fabs(change)),
				                                change < 0 ? "less" : "more"),
				                   ns[i][0] / 1e6, ns[i][1] / 1e6, "ms");
			}
		}
		row = find_row(&rows, WS_MEASURE_GPU, WS_PHASES);
		memcpy(gpu_ns, row->shown, sizeof(row->shown));
	} else {
		snprintf(d->result->verdict, sizeof(d->result->verdict), WS_DIFF_NOTHING);
		ws_table_add(v->t, "overall", WS_DIFF_NOTHING);
	}
	ws_diff_rows_release(&rows);
	return any;
}

/* --- memory, utilization, notes ---------------------------------------------------- */

static void add_memory(const struct verdict *v)
{
	const struct ws_diff *d = v->d;
	double peak[2], ratio;
	struct ws_cell *row;

	for (int s = 0; s < 2; s++) {
		peak[s] = ws_side_peak(&d->side[s]);
		if (peak[s] < 0)
			return;
	}
	enum ws_grade grade = ws_diff_grade_count(d, peak[0], peak[1]);
	ratio = ws_stat_ratio(peak[1], peak[0]);
	if (grade == WS_GRADE_SAME)
		row = ws_table_add(v->t, "memory", "The peak allocation is the same.");
	else if (fabs(ratio - 1) < 0.1)
		row = ws_table_add(v->t, "memory", "%s allocates %.2g %% %s at its peak.",
		                   d->side[1].name, 100 * fabs(ratio - 1),
		                   ratio < 1 ? "less" : "more");
	else
		row = ws_table_add(v->t, "memory", "%s allocates %.3g× as much as %s at its peak.",
		                   d->side[1].name, ratio, d->side[0].name);
	ws_verdict_numbers(v->t, row, peak[0] / 1e6, peak[1] / 1e6, "MB");
	ws_cell_set_real(&row[WS_TC_diff_verdict_ratio], ratio);
	ws_cell_set_str(v->t, &row[WS_TC_diff_verdict_grade], ws_grade_count_name(grade));
}

static void add_utilization(const struct verdict *v, bool hardware)
{
	const struct ws_diff *d = v->d;
	struct ws_sentence text = {""};
	double percent[2];

	ws_sentence_add(&text, "%s", hardware ? "All FLOPs that ran" : "The model's FLOPs");
	for (int s = 0; s < 2; s++) {
		/* The mean over the recordings; NaN when it is not known of one. */
		double sum = 0;

		for (size_t i = 0; i < d->side[s].nrecordings; i++)
			sum += hardware ? d->side[s].recordings[i].hfu_percent
			                : d->side[s].recordings[i].mfu_percent;
		percent[s] = sum / (double)d->side[s].nrecordings;
		const char *check = ws_over_peak(percent[s]);
		if (isnan(percent[s]))
			ws_sentence_add(&text, "; unknown for %s", d->side[s].name);
		else
			ws_sentence_add(&text, "; %s %.1f %% of %s%s%s", d->side[s].name,
			                percent[s], d->side[s].recordings[0].peak,
			                check ? ", " : "", check ? check : "");
	}
	if (isnan(percent[0]) && isnan(percent[1]))
		return;
	struct ws_cell *row = ws_table_add(v->t, hardware ? "HFU" : "MFU", "%s", text.text);
	ws_verdict_numbers(v->t, row, percent[0], percent[1], "%");
}

/* A note about programs that do not state their work. */
static void note_arguments(const struct verdict *v)
{
	struct ws_bytes arguments[2];

	for (int s = 0; s < 2; s++) {
		const struct ws_recording *r = &v->d->side[s].recordings[0];

		for (size_t i = 0; i < r->nfacts; i++)
			if (ws_bytes_begin(ws_texts_get(&v->d->names.texts, r->facts[i].key),
			                   "workload."))
				return;
		arguments[s] =
		        ws_texts_get(&v->d->names.texts,
		                     ws_recording_fact(r, &v->d->names, "program.arguments"));
	}
	if (arguments[0].len && arguments[1].len && ws_name_compare(arguments[0], arguments[1]))
		ws_table_note(v->t,
		              "The programs ran with other arguments: '%.*s' and '%.*s'. record "
		              "--fact KEY=VALUE names what they say of the work.",
		              WS_SHOWN_MOST(arguments[0], 80), WS_SHOWN_MOST(arguments[1], 80));
}

/* Clocks that differ, and energy per step, the mean of each side's recordings. */
static void add_clocks(const struct verdict *v)
{
	const struct ws_diff *d = v->d;
	const double *mhz = d->result->clock_mhz;
	double step_j[2] = {0};

	if (d->clocks_are_sampled && ws_diff_is_of_one_device(d) &&
	    ws_clocks_differ(mhz[0], mhz[1]))
		ws_verdict_numbers(
		        v->t,
		        ws_table_add(v->t, "clocks",
		                     "%s ran at %.3g %% %s clocks (%.0f against %.0f MHz).",
		                     d->side[1].name, 100 * fabs(mhz[1] / mhz[0] - 1),
		                     mhz[1] < mhz[0] ? "lower" : "higher", mhz[1], mhz[0]),
		        mhz[0], mhz[1], "MHz");
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++)
			step_j[s] +=
			        d->side[s].recordings[i].step_j / (double)d->side[s].nrecordings;
	if (d->by_steps && step_j[0] > 0 && step_j[1] > 0)
		ws_verdict_numbers(v->t,
		                   ws_table_add(v->t, "energy per step",
		                                "%.4g J for %s, %.4g J for %s, of the whole GPUs.",
		                                step_j[0], d->side[0].name, step_j[1],
		                                d->side[1].name),
		                   step_j[0], step_j[1], "J");
}

void ws_diff_note_verdict(struct ws_diff *d, struct ws_table *t)
{
	const struct verdict v = {d, t};
	double gpu_ns[2] = {NAN, NAN};

	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &v.d->side[s];

		for (size_t i = 0; i < side->nrecordings; i++) {
			struct ws_bytes name =
			        ws_texts_get(&v.d->names.texts, side->recordings[i].name);

			if (side->recordings[i].damaged)
				ws_table_add(v.t, "damaged",
				             "%.*s is damaged: its numbers cover the intact rest. "
				             "'warpsheet check' lists the damage.",
				             WS_SHOWN(name));
		}
	}
	for (size_t i = 0; i < v.d->nreasons; i++) {
		struct ws_cell *row = ws_table_add(v.t, "not the same work", "%s", v.d->reasons[i]);

		ws_say_add(v.d->result->reasons, sizeof(v.d->result->reasons), "%s%s",
		           i ? ", " : "", v.d->reasons[i]);
		ws_cell_set_str(v.t, &row[WS_TC_diff_verdict_grade],
		                ws_grade_name(WS_GRADE_UNLIKE));
	}

	struct ws_cell *row;
	double share[2];

	for (int s = 0; s < 2; s++)
		share[s] = ws_stat_percent((double)d->matched_ns[s], (double)d->side[s].gpu_ns);
	if (share[0] >= 99.95 && share[1] >= 99.95)
		row = ws_table_add(v.t, "matched work", "All work of both sides is matched.");
	else if (d->side[0].gpu_ns && d->side[1].gpu_ns)
		row = ws_table_add(v.t, "matched work",
		                   "%.1f %% of %s's %s and %.1f %% of %s's are matched.", share[0],
		                   d->side[0].name, ws_diff_work_time(d), share[1],
		                   d->side[1].name);
	else
		row = ws_table_add(v.t, "matched work",
		                   "A side has no kernels with a time, so nothing is matched.");
	ws_verdict_numbers(v.t, row, share[0], share[1], "%");
	if (add_times(&v, gpu_ns)) {
		add_memory(&v);
		add_utilization(&v, false);
		add_utilization(&v, true);
		ws_verdict_gains(d, t, d->typical_ns, gpu_ns);
		for (int s = 0; s < 2; s++) {
			const struct ws_side *side = &v.d->side[s];
			const struct ws_unmatched_work *rest = &v.d->unmatched[s];
			struct ws_sentence text = {""};

			const double n = (double)side->nsamples;
			const bool of_ops = ws_diff_is_of_host_ops(v.d);
			const char *per = v.d->by_steps ? " per step" : "";

			if (!rest->kernels)
				ws_sentence_add(&text, "All %s of %s %s a counterpart.",
				                of_ops ? "operations" : "GPU work", side->name,
				                of_ops ? "have" : "has");
			else
				ws_sentence_add(&text,
				                "%s runs %.4g %s%s without a counterpart (%s).",
				                side->name, (double)rest->kernels / n,
				                ws_diff_work_noun(v.d), per,
				                WS_SHOWN_TIME(((double)side->gpu_ns -
				                               (double)v.d->matched_ns[s]) /
				                              n));
			if (rest->casts)
				ws_sentence_add(&text, " %s adds %.4g casts%s (%s).", side->name,
				                (double)rest->casts / n, per,
				                WS_SHOWN_TIME((double)rest->cast_ns / n));
			if (rest->scalings)
				ws_sentence_add(&text,
				                " %s adds %.4g %s that scale the loss%s (%s).",
				                side->name, (double)rest->scalings / n,
				                ws_diff_work_noun(v.d), per,
				                WS_SHOWN_TIME((double)rest->scaling_ns / n));
			ws_table_add(v.t, s ? "only in B" : "only in A", "%s", text.text);
		}
	}
	add_clocks(&v);
	note_arguments(&v);
	ws_diff_note_samples(d, v.t);
	if (!d->by_steps)
		ws_table_note(v.t, "No steps found, so whole traces are compared, from the first "
		                   "device work to the last. Use --step PATTERN to name the "
		                   "step range.");
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		if (side->recordings[0].on_cpu)
			ws_table_note(v.t,
			              "%s ran %son the CPU reference: real CPU timings; not "
			              "GPU performance.",
			              side->name, side->recordings[0].on_cpu == 2 ? "partly " : "");
		for (size_t i = 0; i < side->nrecordings; i++) {
			const struct ws_recording *r = &side->recordings[i];
			struct ws_bytes name = ws_texts_get(&d->names.texts, r->name);

			for (size_t k = 0; k < r->origin->nnotes; k++)
				ws_table_note(v.t, "%.*s: %s", WS_SHOWN(name), r->origin->notes[k]);
			if (r->graphs_ns)
				ws_table_note(v.t,
				              "%.*s: CUDA graphs traced as a whole took %.3f ms; "
				              "their kernels were not recorded, so nothing of "
				              "them is compared.",
				              WS_SHOWN(name), (double)r->graphs_ns / 1e6);
			if (r->unfinished)
				ws_table_note(v.t,
				              "%.*s: %zu of its steps %s cut off, and left out.",
				              WS_SHOWN(name), r->unfinished,
				              r->unfinished == 1 ? "was" : "were");
		}
	}
}
