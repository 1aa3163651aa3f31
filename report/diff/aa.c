#include "report/diff/private.h"
#include "report/page/page.h"

/* Compared quantities: the step, its GPU time, and that of each phase. */
enum { STEP, GPU, FIRST_PHASE, QUANTITIES = FIRST_PHASE + WS_PHASES };

/* Up to this many recordings, all splits are tried (at most 315); with more, some. */
#define MOST_RECORDINGS 10
#define MOST_SPLITS     400

struct aa_context {
	const struct ws_diff *d;
	const struct ws_side *side;
	double *values[QUANTITIES]; /* per sample */
	int present[QUANTITIES];
	double spread[QUANTITIES]; /* standard deviation of log medians between recordings */
	unsigned pairs, splits;
	unsigned pairs_called[QUANTITIES], splits_called[QUANTITIES];
	struct ws_comparison means; /* of the mean steps; spread NaN: not compared */
	double mhz[2]; /* lowest and highest sampled clock of a recording; 0: not known */
	/* values and steps of the recordings of a split */
	double *picked[2];
	size_t *steps[2];
	char *verdict; /* 512 bytes */
	struct ws_arena arena;
};

/* The samples of the recordings with in[r] == s + 1. */
static struct ws_samples pick(const struct aa_context *aa, int quantity, const uint8_t *in, int s)
{
	size_t from = 0, n = 0, recordings = 0;

	for (size_t r = 0; r < aa->side->nrecordings; r++) {
		size_t steps = aa->side->steps[r];

		if (in[r] == s + 1) {
			memcpy(aa->picked[s] + n, aa->values[quantity] + from,
			       steps * sizeof(double));
			aa->steps[s][recordings++] = steps;
			n += steps;
		}
		from += steps;
	}
	return (struct ws_samples){.values = aa->picked[s],
	                           .steps = aa->steps[s],
	                           .recordings = recordings};
}

/* Compares two sets of recordings like a diff, and counts quantities graded different. */
static void try_split(struct aa_context *aa, const uint8_t *in, unsigned called[QUANTITIES])
{
	struct ws_comparison c[QUANTITIES], *rows[QUANTITIES];
	double mhz[2] = {0, 0}, recordings[2] = {0, 0};
	size_t n = 0;

	for (size_t r = 0; r < aa->side->nrecordings; r++)
		if (in[r]) {
			mhz[in[r] - 1] += aa->side->recordings[r].sampled_mhz;
			recordings[in[r] - 1]++;
		}
	for (int s = 0; s < 2; s++)
		mhz[s] = aa->mhz[0] > 0 ? mhz[s] / recordings[s] : 0;

	for (int q = 0; q < QUANTITIES; q++) {
		const struct ws_grade_opts opts =
		        ws_diff_grade_opts(aa->d,
		                           q == STEP ? WS_DIFF_NOISE_STEP : WS_DIFF_NOISE_GPU);

		if (!aa->present[q])
			continue;
		struct ws_samples a = pick(aa, q, in, 0);
		struct ws_samples b = pick(aa, q, in, 1);
		ws_compare(&a, &b, &opts, &c[q]);
		rows[n++] = &c[q];
	}
	ws_grade_rows(rows, n, &aa->d->grade);
	for (int q = 0; q < QUANTITIES; q++)
		called[q] += aa->present[q] && ws_grade_is_different(c[q].grade) &&
		             !ws_clocks_explain(c[q].ratio, mhz, true, aa->d->grade.min_effect);
}

/* Compares halves with recordings as samples, each pair of disjoint halves once, with an odd number
 * without one recording; of many splits, a fixed selection. */
static void try_splits(struct aa_context *aa, uint8_t *in)
{
	size_t n = aa->side->nrecordings, half = n / 2;
	uint64_t state = 1;

	if (half < WS_GRADE_RECORDINGS)
		return;
	if (n <= MOST_RECORDINGS) {
		for (unsigned a = 0; a < 1u << n; a++)
			for (unsigned b = a + 1; b < 1u << n; b++) {
				if (a & b || (size_t)__builtin_popcount(a) != half ||
				    (size_t)__builtin_popcount(b) != half)
					continue;
				for (size_t r = 0; r < n; r++)
					in[r] = (uint8_t)((a >> r & 1) + 2 * (b >> r & 1));
				aa->splits++;
				try_split(aa, in, aa->splits_called);
			}
		return;
	}
	for (aa->splits = 0; aa->splits < MOST_SPLITS; aa->splits++) {
		for (size_t r = 0; r < n; r++)
			in[r] = r < half ? 1 : r < 2 * half ? 2 : 0;
		for (size_t r = n; r-- > 1;) {
			uint8_t kept = in[r];

			state = state * 6364136223846793005u + 1442695040888963407u;
			size_t other = (size_t)((state >> 33) % (r + 1));
			in[r] = in[other];
			in[other] = kept;
		}
		try_split(aa, in, aa->splits_called);
	}
}

/* --- detectable differences ---------------------------------------------------------- */

#define LEAST_NOISE     0.01 /* percent; less is not told apart */
#define DETECTABLE_MOST 1000 /* percent; runs that hide more detect nothing */

/* A comparison as if each side had n recordings with this spread. */
static struct ws_comparison predicted_comparison(double spread, unsigned n)
{
	return (struct ws_comparison){.error = spread * sqrt(2.0 / n),
	                              .df = 2.0 * (n - 1),
	                              .spread = spread};
}

static const char *quantity_name(const struct aa_context *aa, int q)
{
	const bool steps = aa->side->recordings[0].has_steps;

	if (q == STEP)
		return steps ? "step" : "elapsed time";
	if (q == GPU)
		return steps ? "GPU time of a step" : "GPU time of kernels";
	return ws_phase_name((enum ws_phase)(q - FIRST_PHASE));
}

static void set_recordings(struct ws_cell *cell, unsigned n)
{
	if (n)
		ws_cell_set_int(cell, n);
}

/* From so many recordings on, and so much of an order in time, a drift is no chance. */
#define DRIFTING_RUNS 8
#define DRIFTING      0.8

/* Do the medians of the recordings rise, or fall, with the time of recording (Kendall's tau)? */
static bool is_drifting(const struct aa_context *aa, int q)
{
	const struct ws_side *side = aa->side;
	const size_t n = side->nrecordings;
	double *median = ws_xarray(n, sizeof(*median));
	size_t from = 0;
	int64_t order = 0;

	for (size_t r = 0; r < n && aa->present[q]; from += side->steps[r++]) {
		double *values = ws_xarray(side->steps[r] + 1, sizeof(*values));

		memcpy(values, aa->values[q] + from, side->steps[r] * sizeof(*values));
		median[r] = ws_stat_median(values, side->steps[r]);
		free(values);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			const int64_t later =
			        side->recordings[i].base_ns - side->recordings[k].base_ns;

			order += ((later > 0) - (later < 0)) *
			         ((median[i] > median[k]) - (median[i] < median[k]));
		}
	free(median);
	return n >= DRIFTING_RUNS && fabs((double)order) >= DRIFTING * (double)(n * (n - 1) / 2);
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	struct aa_context *aa = ctx;
	struct ws_table *table = *t;

	(void)err;
	(void)which; /* there is only one table */

	const size_t n = aa->side->nsamples, runs = aa->side->nrecordings;

	uint8_t *in = ws_arena_array(&aa->arena, runs, sizeof(*in));
	for (int q = 0; q < QUANTITIES; q++)
		WS_NEW(&aa->arena, aa->values[q], n);
	for (int s = 0; s < 2; s++) {
		WS_NEW(&aa->arena, aa->picked[s], n);
		WS_NEW(&aa->arena, aa->steps[s], runs);
	}
	for (int q = 0; q < QUANTITIES; q++) {
		aa->present[q] = n > 0;
		for (size_t i = 0; i < n; i++) {
			const struct ws_sample *s = aa->side->samples[i];

			aa->values[q][i] = (double)(q == STEP  ? s->step_ns
			                            : q == GPU ? s->gpu_ns
			                                       : s->phase_gpu_ns[q - FIRST_PHASE]);
			aa->present[q] &= aa->values[q][i] > 0;
		}
	}

	/* compares a side with itself, to get its spread from ws_compare; needs three recordings */
	for (int q = 0; q < QUANTITIES; q++) {
		const struct ws_samples all = {.values = aa->values[q],
		                               .steps = aa->side->steps,
		                               .recordings = runs};
		struct ws_comparison c = {.spread = NAN};

		if (aa->present[q] && runs >= WS_GRADE_RECORDINGS)
			ws_compare(&all, &all, &aa->d->grade, &c);
		aa->spread[q] = c.spread;
	}
	if (aa->present[STEP] && aa->side->recordings[0].has_steps && runs >= WS_GRADE_RECORDINGS) {
		const struct ws_samples all = {.values = aa->values[STEP],
		                               .steps = aa->side->steps,
		                               .recordings = runs};

		ws_compare_means(&all, &all, &aa->d->grade, &aa->means, NULL);
	}
	aa->mhz[0] = INFINITY;
	for (size_t i = 0; i < runs; i++) {
		aa->mhz[0] = fmin(aa->mhz[0], aa->side->recordings[i].sampled_mhz);
		aa->mhz[1] = fmax(aa->mhz[1], aa->side->recordings[i].sampled_mhz);
	}
	for (size_t i = 0; i < runs; i++)
		for (size_t j = i + 1; j < runs; j++) {
			memset(in, 0, runs);
			in[i] = 1;
			in[j] = 2;
			aa->pairs++;
			try_split(aa, in, aa->pairs_called);
		}
	try_splits(aa, in);
	for (int q = 0; q < QUANTITIES; q++) {
		if (!aa->present[q])
			continue;
		static const struct {
			int column;
			unsigned n;
		} detectable[] = {{WS_TC_aa_detectable_3, 3},
		                  {WS_TC_aa_detectable_5, 5},
		                  {WS_TC_aa_detectable_10, 10}};
		struct ws_cell *row = ws_table_row(table);
		double spread = aa->spread[q];
		struct ws_comparison c = predicted_comparison(spread, 3);

		ws_cell_set_str(table, &row[WS_TC_aa_quantity], quantity_name(aa, q));
		ws_cell_set_int(&row[WS_TC_aa_recordings], (int64_t)aa->side->nrecordings);
		ws_cell_set_real(&row[WS_TC_aa_noise], 100 * spread);
		ws_cell_set_int(&row[WS_TC_aa_pairs], aa->pairs);
		ws_cell_set_int(&row[WS_TC_aa_pairs_called], aa->pairs_called[q]);
		if (aa->splits) {
			ws_cell_set_int(&row[WS_TC_aa_splits], aa->splits);
			ws_cell_set_int(&row[WS_TC_aa_splits_called], aa->splits_called[q]);
		}
		if (isnan(spread))
			continue;
		for (size_t i = 0; i < sizeof(detectable) / sizeof(*detectable); i++) {
			struct ws_comparison with = predicted_comparison(spread, detectable[i].n);

			const double percent = 100 * ws_grade_detectable(&with);

			if (percent <= DETECTABLE_MOST)
				ws_cell_set_real(&row[detectable[i].column], percent);
		}
		set_recordings(&row[WS_TC_aa_for_2],
		               ws_grade_recordings_for(&c, 0.02, WS_GRADE_CONFIDENCE));
		set_recordings(&row[WS_TC_aa_for_5],
		               ws_grade_recordings_for(&c, 0.05, WS_GRADE_CONFIDENCE));
	}

	const int q = aa->present[STEP] ? STEP : GPU;
	const double percent = fmax(100 * aa->spread[q], LEAST_NOISE);
	const struct ws_comparison c = predicted_comparison(aa->spread[q], 3);

	if (isnan(aa->spread[q])) {
		snprintf(aa->verdict, 512,
		         "%u of %u pairs would be called different. Record three or more to see "
		         "the noise between runs.",
		         aa->pairs_called[q], aa->pairs);
	} else {
		const unsigned need = ws_grade_recordings_for(&c, 0.02, WS_GRADE_CONFIDENCE);

		snprintf(aa->verdict, 512,
		         "%zu runs vary by %.3g %% (pass --run-noise %.3g). One against one, %u of "
		         "%u pairs would be called different. ",
		         runs, percent, percent, aa->pairs_called[q], aa->pairs);
		if (need)
			ws_say_add(aa->verdict, 512, "Record %u runs per side to detect 2 %%.",
			           need);
		else
			ws_say_add(aa->verdict, 512, "These runs vary too much to detect 2 %%.");
	}
	ws_table_note(table, "%s", aa->verdict);
	for (size_t i = 0; i < aa->d->nreasons; i++)
		ws_table_note(table, "These are not runs of one program: %s.", aa->d->reasons[i]);
	if (is_drifting(aa, q))
		ws_table_note(table,
		              "The later a run, the longer or the shorter it takes: the machine "
		              "drifts. Record the sides of a comparison by turns.");
	ws_diff_note_copies(aa->side, "", table);
	if (isnan(aa->d->grade.run_noise))
		ws_table_note(table, "CPU runs are not graded from one recording. Pass --run-noise "
		                     "to assume a noise level.");
	else
		ws_table_note(table,
		              "One against one assumes %.2g %% noise between runs for steps, %.2g "
		              "%%%s for GPU time (--run-noise).",
		              100 * aa->d->noise[WS_DIFF_NOISE_STEP],
		              100 * aa->d->noise[WS_DIFF_NOISE_GPU],
		              isnan(aa->d->opts.run_noise_percent) ? " and 0.25 µs" : "");
	return WS_OK;
}

enum ws_status ws_aa_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                          struct ws_report **out, char verdict[512], struct ws_err *err)
{
	struct ws_diff *d = ws_sides_diff(s);
	struct aa_context aa = {.d = d, .side = &d->side[0], .verdict = verdict};
	struct ws_report_plan plan = {.title = "Warpsheet A/A test", .fill = fill, .ctx = &aa};

	*out = NULL;
	WS_FAIL_IF(aa.side->nrecordings < 2, err, USAGE,
	           "an A/A test needs at least two recordings%s",
	           aa.side->ncopies ? "; these have the same bytes and are one" : "");
	ws_sides_prepare_aa(s, opts);
	snprintf(d->side[0].name, sizeof(d->side[0].name), "the test");
	ws_diff_compare_recordings(d, 0);
	struct ws_bytes name = ws_texts_get(&d->names.texts, aa.side->recordings[0].name);
	char *trace = ws_xformat("%.*s and %zu more", WS_SHOWN(name), aa.side->nrecordings - 1);
	plan.trace = trace;
	plan.created_ns = aa.side->recordings[0].base_ns;
	plan.defs = ws_aa_defs(&plan.ndefs);
	enum ws_status status = ws_report_of_plan(&plan, out, err);
	if (status == WS_OK) {
		/* "Runs of one program vary by 0.8 %." */
		struct ws_page *page = (*out)->page = ws_xarray(1, sizeof(*page));
		const int q = aa.present[STEP] ? STEP : GPU;
		struct ws_comparison c = predicted_comparison(aa.spread[q], 3);
		struct ws_arena *texts = &page->arena;

		page->is_comparison = true;
		page->title = ws_arena_format(texts, "A/A test of %zu runs", aa.side->nrecordings);
		page->source = (*out)->trace;
		if (d->nreasons)
			ws_page_say(page, ws_grade_name(WS_GRADE_UNLIKE),
			            "These are not runs of one program: ",
			            ws_arena_format(texts, "%s", d->reasons[0]), ".", NULL);
		if (isnan(aa.spread[q])) {
			ws_page_say(page, "", "Two runs do not show how much runs vary: ",
			            "record three or more", ".", NULL);
		} else {
			if (!d->nreasons)
				ws_page_say(page, "", "Runs of one program vary by ",
				            ws_say_percent(texts, 100 * aa.spread[q]),
				            ": pass --run-noise ",
				            ws_arena_format(texts, "%.3g",
				                            fmax(100 * aa.spread[q], LEAST_NOISE)),
				            ".", NULL);
			const bool are_apart = ws_clocks_differ(aa.mhz[0], aa.mhz[1]);
			if (are_apart)
				ws_page_say(page, "", "Their clocks differed: ",
				            ws_arena_format(texts, "%.0f to %.0f MHz", aa.mhz[0],
				                            aa.mhz[1]),
				            ". Lock them.", NULL);
			if (is_drifting(&aa, q))
				ws_page_say(
				        page, "",
				        "The machine drifts: later runs take ever longer, or ever "
				        "shorter.",
				        NULL);
			if (aa.means.spread > fmax(2 * aa.spread[q], d->grade.min_effect))
				ws_page_say(page, "", "Their mean steps vary by ",
				            ws_say_percent(texts, 100 * aa.means.spread),
				            ": some steps are slow.", NULL);
			unsigned need = ws_grade_recordings_for(&c, 0.02, WS_GRADE_CONFIDENCE);
			if (!d->nreasons && !are_apart)
				ws_page_say(page, "",
				            need ? "Record " : "They vary too much to detect 2 %.",
				            need ? ws_arena_format(texts, "%u runs per side", need)
				                 : "",
				            need ? " to detect 2 %." : "", NULL);
		}
		ws_page_say(page, "", "",
		            ws_arena_format(texts, "%u of %u pairs", aa.pairs_called[q], aa.pairs),
		            d->nreasons          ? " would be called different."
		            : aa.pairs_called[q] ? " would be called different: false alarms."
		                                 : " would be called different: no false alarm.",
		            NULL);

		/* A bar for each run: the median of its steps, with the least and the most. */
		const struct ws_side *side = aa.side;
		size_t from = 0;

		page->rows_title =
		        ws_arena_format(texts, "Time of each run: %s", quantity_name(&aa, q));
		page->rows_what = d->nreasons ? "median, with least and most"
		                              : "median, with least and most; all runs are of one "
		                                "program";
		page->nrows = side->nrecordings < WS_PAGE_ROWS ? side->nrecordings : WS_PAGE_ROWS;
		page->more_rows = side->nrecordings - page->nrows;
		WS_NEW(texts, page->row, page->nrows);
		for (size_t r = 0; r < page->nrows; from += side->steps[r++]) {
			const struct ws_bytes file = ws_name_of_file(
			        ws_texts_get(&aa.d->names.texts, side->recordings[r].name));
			struct ws_page_row *row = &page->row[r];
			const size_t steps = side->steps[r];
			double *values = ws_arena_array(texts, steps, sizeof(*values));

			row->group = "";
			row->name = ws_arena_copy(texts, file.ptr, file.len);
			memcpy(values, aa.values[q] + from, steps * sizeof(*values));
			row->ns = steps ? ws_stat_median(values, steps) : NAN;
			row->low_ns = INFINITY;
			row->high_ns = -INFINITY;
			for (size_t i = 0; i < steps; i++) {
				row->low_ns = fmin(row->low_ns, values[i]);
				row->high_ns = fmax(row->high_ns, values[i]);
			}
			row->words = steps > 1 ? ws_arena_format(texts, "%s over %zu steps",
			                                         ws_say_time_range(texts, row->ns,
			                                                           row->low_ns,
			                                                           row->high_ns),
			                                         steps)
			                       : ws_say_time(texts, row->ns);
			ws_page_add_part(row, quantity_name(&aa, q), row->ns,
			                 ws_page_colour_def(WS_PAGE_COMPUTING), false);
		}
	}
	ws_arena_free(&aa.arena);
	free(trace);
	return status;
}
