/*
 * Rows of diff-verdict about gains, losses, use of Tensor Cores, and the part of the change that
 * kernel times alone explain.
 */

#include "report/diff/private.h"

void ws_verdict_numbers(struct ws_table *t, struct ws_cell *row, double a, double b,
                        const char *unit)
{
	ws_cell_set_real(&row[WS_TC_diff_verdict_a], a);
	ws_cell_set_real(&row[WS_TC_diff_verdict_b], b);
	ws_cell_set_str(t, &row[WS_TC_diff_verdict_unit], unit);
}

/* --- gains and losses -------------------------------------------------------------- */

#define MOST_NAMED     3
#define UNSURE_PERCENT 5 /* of the difference between two replays that are both possible */

static double change_of(const struct ws_diff_row *row)
{
	return (row->instances[1] ? row->shown[1] : 0) - (row->instances[0] ? row->shown[0] : 0);
}

/* "47.5 ms less" */
static void add_change(struct ws_sentence *text, double ns)
{
	if (fabs(ns) < 0.5)
		ws_sentence_add(text, "unchanged");
	else
		ws_sentence_add(text, "%s %s", WS_SHOWN_TIME(fabs(ns)), ns < 0 ? "less" : "more");
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

		const double change = change_of(row);

		if (gained ? change >= 0 || !ws_grade_is_faster(row->c.grade)
		           : change <= 0 || !ws_grade_is_slower(row->c.grade))
			continue;
		sum += change;
		if (n++ >= MOST_NAMED)
			continue;
		ws_sentence_add(&text, "%s%.*s", n > 1 ? ", " : "", WS_SHOWN_MOST(name, 60));
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

/* Losses under this share of a step's GPU time are not mentioned. */
#define SMALL_LOSS 0.005

/* --- Tensor Cores -------------------------------------------------------------------------- */

#define PRODUCTS "the matmul, convolution and attention time"

void ws_verdict_gains(struct ws_diff *d, struct ws_table *t, const double step_ns[2],
                      const double gpu_ns[2])
{
	/* matched work; work of one side only is shown separately */
	static const struct ws_diff_key fields = {.op = UINT32_MAX,
	                                          .phase = UINT32_MAX,
	                                          .side = UINT32_MAX};
	struct ws_diff_rows rows = {0}, classes = {0};

	ws_diff_gather_work(d, &fields, &rows);
	ws_diff_gather_classes(d, &classes);
	if (!ws_diff_is_unlike(d)) {
		add_changes(d, t, &rows, true);
		add_changes(d, t, &rows, false);

		/* Where the gain went. */
		const double gpu = gpu_ns[1] - gpu_ns[0], step = step_ns[1] - step_ns[0];
		struct ws_sentence text = {""};

		if (!isnan(gpu) && !isnan(step)) {
			ws_sentence_add(&text, "%s: ",
			                ws_diff_is_of_host_ops(d) ? "Operations" : "Kernels");
			add_change(&text, gpu);
			ws_sentence_add(&text, ". %s: ", d->by_steps ? "Step" : "Elapsed time");
			add_change(&text, step);
			ws_sentence_add(&text, ".");
			double other = step - gpu;
			if (gpu < 0 && other > 0.1 * -gpu)
				ws_sentence_add(&text, " %s: %s more.",
				                ws_diff_is_of_host_ops(d) ? "Time in no operation"
				                                          : "Idle time and copies",
				                WS_SHOWN_TIME(other));
			/* Adds classes that became slower and so reduced the gain of others. */
			const double whole = (double)d->side[0].samples[d->side[0].shown]->gpu_ns;
			double gained = 0, lost = 0;
			int named = 0;

			for (size_t i = 0; i < classes.n; i++) {
				double change = change_of(&classes.row[i]);

				gained += change < 0 ? -change : 0;
				lost += change > 0 ? change : 0;
			}
			for (size_t i = 0; i < classes.n && named < MOST_NAMED; i++) {
				double change = change_of(&classes.row[i]);
				struct ws_bytes name = ws_diff_class_name(
				        ws_texts_get(&d->names.texts, classes.row[i].key.class));

				if (change < fmax(gained / 100, SMALL_LOSS * whole))
					continue;
				ws_sentence_add(&text, "%s %.*s %s more",
				                named++ ? "," : " Slower classes:", WS_SHOWN(name),
				                WS_SHOWN_TIME(change));
				/* losses larger than the gain are described otherwise */
				if (lost <= gained)
					ws_sentence_add(&text, " (%.0f %% of the gain)",
					                100 * change / gained);
			}
			if (named)
				ws_sentence_add(&text, ".");
			ws_table_add(t, "where the gain went", "%s", text.text);
		}
	}

	/* Use of Tensor Cores. */
	double on[2] = {0, 0}, all[2] = {0, 0}, unknown[2] = {0, 0}, share[2] = {0, 0},
	       dark[2] = {0, 0};

	for (size_t i = 0; i < classes.n; i++) {
		const struct ws_diff_row *row = &classes.row[i];

		const struct ws_bytes class = ws_texts_get(&d->names.texts, row->key.class);

		if (!ws_name_is(class, "gemm") && !ws_name_is(class, "conv") &&
		    !ws_name_is(class, "attention"))
			continue;
		for (int s = 0; s < 2; s++) {
			on[s] += (double)row->tensor_ns[s];
			unknown[s] += (double)row->unknown_ns[s];
			all[s] +=
			        row->instances[s] ? row->mean[s] * (double)d->side[s].nsamples : 0;
		}
	}
	const bool has_products =
	        all[0] && all[1] && !ws_diff_is_on_cpu(d) && !ws_diff_is_of_host_ops(d);

	for (int s = 0; s < 2 && has_products; s++) {
		share[s] = ws_stat_percent(on[s], all[s]);
		dark[s] = ws_stat_percent(unknown[s], all[s]);
	}
	if (has_products && (dark[0] > 5 || dark[1] > 5)) {
		ws_table_add(t, "Tensor Cores",
		             "Unknown: kernel names do not tell Tensor Core use for %.0f %% and "
		             "%.0f %% of " PRODUCTS ".",
		             dark[0], dark[1]);
	} else if (has_products) {
		const char *use = fabs(share[1] - share[0]) <= 5 ? "Tensor Core use is unchanged"
		                  : share[1] > share[0]          ? "Tensor Cores are used more"
		                                                 : "Tensor Cores are used less";
		ws_verdict_numbers(t,
		                   ws_table_add(t, "Tensor Cores",
		                                "%s: %.0f %% and %.0f %% of " PRODUCTS
		                                " (from kernel names).",
		                                use, share[0], share[1]),
		                   share[0], share[1], "%");
	}
	ws_diff_rows_release(&rows);
	ws_diff_rows_release(&classes);
}

/* --- the change that kernel times explain: A's median step, replayed with B's times of matched
 * work, docs/dev/replay.md ----------------------------------------------------------------- */

void ws_diff_replay(struct ws_diff *d)
{
	struct ws_replay *replay = d->side[0].recordings[d->side[0].shown_recording].replay;
	const struct ws_replay_facts *facts = replay ? ws_replay_facts(replay) : NULL;
	struct ws_arena temp = {0};
	double *dur_ns, *ns[2];

	d->replayed_ns[0] = d->replayed_ns[1] = d->replayed_waiting_ns = NAN;
	if (!d->kind_of_piece)
		return;
	/* GPU time of each kind in the displayed sample of a side */
	for (int s = 0; s < 2; s++) {
		WS_NEW(&temp, ns[s], d->match.kinds.n + 1);
		for (size_t i = 0; i < d->work[s].n; i++) {
			const struct ws_work_sum *sum =
			        ws_spill_row(&d->work[s].rows, sizeof(*sum), i);

			if (sum->sample == d->side[s].shown)
				ns[s][sum->kind] += (double)sum->gpu_ns;
		}
	}
	WS_NEW(&temp, dur_ns, facts->npieces);
	for (size_t i = 0; i < facts->npieces; i++) {
		const uint32_t kind = d->kind_of_piece[i];

		dur_ns[i] = (double)facts->pieces[i].dur_ns;
		if (kind && ns[0][kind] > 0 && ws_match_kind(&d->match, kind)->criterion != WS_NONE)
			dur_ns[i] *= ns[1][kind] / ns[0][kind];
	}
	d->replayed_ns[0] = facts->recorded_ns;
	d->replayed_ns[1] = ws_replay_step_ns(replay, &(struct ws_whatif){.dur_ns = dur_ns});
	if (facts->hidden_waits == WS_PERHAPS_HIDDEN_WAITS)
		d->replayed_waiting_ns =
		        ws_replay_step_ns(replay, &(struct ws_whatif){.dur_ns = dur_ns,
		                                                      .hidden_waits = true});
	ws_arena_free(&temp);
}

/* What a replay explains of the difference, %; NaN: of none. */
static double explained(const struct ws_diff *d, const struct ws_comparison *overall,
                        double then_ns)
{
	if (!ws_grade_is_different(overall->grade))
		return NAN;
	return 100 * (then_ns - d->replayed_ns[0]) / (overall->typical[1] - overall->typical[0]);
}

bool ws_diff_replay_is_unsure(const struct ws_diff *d, const struct ws_comparison *overall)
{
	return fabs(explained(d, overall, d->replayed_waiting_ns) -
	            explained(d, overall, d->replayed_ns[1])) >= UNSURE_PERCENT;
}

const char *ws_diff_replayed_share(const struct ws_diff *d, const struct ws_comparison *overall,
                                   char out[WS_DIFF_SHARE])
{
	const double percent = explained(d, overall, d->replayed_ns[1]);

	*out = '\0';
	if (isnan(percent))
		return out;
	if (ws_diff_replay_is_unsure(d, overall))
		snprintf(out, WS_DIFF_SHARE,
		         "cannot tell whether %.0f or %.0f %% of the difference, as no call shows "
		         "whether the host waited for the device",
		         round(percent) + 0.0, /* no -0 */
		         round(explained(d, overall, d->replayed_waiting_ns)) + 0.0);
	else if (fabs(percent) < 0.5)
		snprintf(out, WS_DIFF_SHARE, "0 %% of the difference");
	else if (percent < 0)
		snprintf(out, WS_DIFF_SHARE, "against the difference");
	else if (percent > 100.5)
		snprintf(out, WS_DIFF_SHARE, "more than the difference");
	else
		snprintf(out, WS_DIFF_SHARE, "%.0f %% of the difference", percent);
	return out;
}

void ws_verdict_replayed(const struct ws_diff *d, struct ws_table *t,
                         const struct ws_comparison *overall)
{
	const struct ws_replay *replay = d->side[0].recordings[d->side[0].shown_recording].replay;
	const char *a = d->side[0].name, *b = d->side[1].name, *obstacle;
	char now[WS_SAY_TIME], before[WS_SAY_TIME], share[WS_DIFF_SHARE];
	struct ws_cell *row;

	/* on the CPU, kernels are host time, and different work cannot be matched */
	if (!replay || ws_diff_is_on_cpu(d) || ws_diff_is_of_host_ops(d) || ws_diff_is_unlike(d))
		return;
	obstacle = ws_replay_facts(replay)->obstacle;
	if (obstacle || isnan(d->replayed_ns[1])) {
		ws_table_add(t, "kernel times alone",
		             "Cannot tell what they explain: %s's step cannot be replayed, as %s.",
		             a, obstacle ? obstacle : "it ran no kernel");
		return;
	}
	ws_diff_replayed_share(d, overall, share);
	if (ws_diff_replay_is_unsure(d, overall)) {
		row = ws_table_add(t, "kernel times alone", "What they explain: %s.", share);
		ws_verdict_numbers(t, row, d->replayed_ns[0] / 1e6, NAN, "ms");
		return;
	}
	ws_say_time_in(d->replayed_ns[0], now);
	ws_say_time_in(d->replayed_ns[1], before);
	row = ws_table_add(
	        t, "kernel times alone",
	        strcmp(now, before)
	                ? "With %s's kernel times %s's %s would take %s, not %s%s%s."
	                : "With %s's kernel times %s's %s would take as long: %s%.0s%s%s.",
	        b, a, d->by_steps ? "median step" : "run", before, now, *share ? ": " : "", share);
	ws_verdict_numbers(t, row, d->replayed_ns[0] / 1e6, d->replayed_ns[1] / 1e6, "ms");
}
