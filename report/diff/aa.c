#include "report/diff/aa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/private.h"

/* What is compared: the step, its GPU time, and that of each phase. */
enum { STEP, GPU, FIRST_PHASE, QUANTITIES = FIRST_PHASE + WS_PHASES };

/* Of so many recordings all splits are tried, at most 315; of more some. */
#define MOST_RECORDINGS 10
#define MOST_SPLITS     400

struct lab {
	const struct ws_diff *d;
	const struct ws_side *side;
	double *values[QUANTITIES]; /* a sample */
	int present[QUANTITIES];
	double spread[QUANTITIES]; /* standard deviation of log medians between recordings */
	unsigned pairs, splits;
	unsigned pairs_called[QUANTITIES], splits_called[QUANTITIES];
	/* of the recordings of a split: values and steps, side by side */
	double *picked[2];
	size_t *steps[2];
	char *verdict; /* 512 bytes */
};

static double value_of(const struct ws_sample *s, int quantity)
{
	if (quantity == STEP)
		return (double)s->step_ns;
	return (double)(quantity == GPU ? s->gpu_ns : s->phase_gpu_ns[quantity - FIRST_PHASE]);
}

static enum ws_status open_lab(struct lab *lab, struct ws_err *err)
{
	size_t n = lab->side->nsamples;

	for (int q = 0; q < QUANTITIES; q++) {
		lab->values[q] = calloc(n + 1, sizeof(double));
		if (!lab->values[q])
			return WS_FAIL_MEMORY(err, "comparing the traces");
		lab->present[q] = n > 0;
		for (size_t i = 0; i < n; i++) {
			lab->values[q][i] = value_of(lab->side->samples[i], q);
			lab->present[q] &= lab->values[q][i] > 0;
		}
	}
	for (int s = 0; s < 2; s++) {
		lab->picked[s] = calloc(n + 1, sizeof(double));
		lab->steps[s] = calloc(lab->side->nrecordings + 1, sizeof(size_t));
		if (!lab->picked[s] || !lab->steps[s])
			return WS_FAIL_MEMORY(err, "comparing the traces");
	}
	return WS_OK;
}

static void close_lab(struct lab *lab)
{
	for (int q = 0; q < QUANTITIES; q++)
		free(lab->values[q]);
	for (int s = 0; s < 2; s++) {
		free(lab->picked[s]);
		free(lab->steps[s]);
	}
}

/* The samples of the recordings with in[r] == s + 1. */
static struct ws_samples pick(const struct lab *lab, int quantity, const uint8_t *in, int s)
{
	size_t from = 0, n = 0, recordings = 0;

	for (size_t r = 0; r < lab->side->nrecordings; r++) {
		size_t steps = lab->side->steps[r];

		if (in[r] == s + 1) {
			memcpy(lab->picked[s] + n, lab->values[quantity] + from,
			       steps * sizeof(double));
			lab->steps[s][recordings++] = steps;
			n += steps;
		}
		from += steps;
	}
	return (struct ws_samples){lab->picked[s], lab->steps[s], recordings};
}

/* Compare two sets of recordings as a diff would; count what it would call different. */
static enum ws_status try_split(struct lab *lab, const uint8_t *in, unsigned called[QUANTITIES],
                                struct ws_err *err)
{
	struct ws_comparison c[QUANTITIES], *rows[QUANTITIES];
	size_t n = 0;

	for (int q = 0; q < QUANTITIES; q++) {
		struct ws_samples a, b;

		if (!lab->present[q])
			continue;
		a = pick(lab, q, in, 0);
		b = pick(lab, q, in, 1);
		WS_FORWARD(ws_compare(&a, &b, &lab->d->grade, &c[q], err));
		rows[n++] = &c[q];
	}
	WS_FORWARD(ws_grade_rows(rows, n, &lab->d->grade, err));
	for (int q = 0; q < QUANTITIES; q++)
		called[q] += lab->present[q] &&
		             (c[q].grade == WS_GRADE_FASTER || c[q].grade == WS_GRADE_SLOWER);
	return WS_OK;
}

static enum ws_status try_pairs(struct lab *lab, uint8_t *in, struct ws_err *err)
{
	size_t n = lab->side->nrecordings;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			memset(in, 0, n);
			in[i] = 1;
			in[j] = 2;
			lab->pairs++;
			WS_FORWARD(try_split(lab, in, lab->pairs_called, err));
		}
	return WS_OK;
}

/* Each two disjoint halves once; of an odd number one recording is left over. */
static enum ws_status try_all_splits(struct lab *lab, uint8_t *in, struct ws_err *err)
{
	size_t n = lab->side->nrecordings;
	int half = (int)n / 2;

	for (unsigned a = 0; a < 1u << n; a++)
		for (unsigned b = a + 1; b < 1u << n; b++) {
			if (a & b || __builtin_popcount(a) != half || __builtin_popcount(b) != half)
				continue;
			for (size_t r = 0; r < n; r++)
				in[r] = (uint8_t)((a >> r & 1) + 2 * (b >> r & 1));
			lab->splits++;
			WS_FORWARD(try_split(lab, in, lab->splits_called, err));
		}
	return WS_OK;
}

/* Half against half, recordings as samples; of many splits a sample that is the same each time. */
static enum ws_status try_splits(struct lab *lab, uint8_t *in, struct ws_err *err)
{
	size_t n = lab->side->nrecordings, half = n / 2;
	uint64_t state = 1;

	if (half < WS_GRADE_RECORDINGS)
		return WS_OK;
	if (n <= MOST_RECORDINGS)
		return try_all_splits(lab, in, err);
	for (lab->splits = 0; lab->splits < MOST_SPLITS; lab->splits++) {
		for (size_t r = 0; r < n; r++)
			in[r] = r < half ? 1 : r < 2 * half ? 2 : 0;
		for (size_t r = n; r-- > 1;) {
			size_t other;
			uint8_t kept = in[r];

			state = state * 6364136223846793005u + 1442695040888963407u;
			other = (size_t)((state >> 33) % (r + 1));
			in[r] = in[other];
			in[other] = kept;
		}
		WS_FORWARD(try_split(lab, in, lab->splits_called, err));
	}
	return WS_OK;
}

/* --- what could have been found ---------------------------------------------------------- */

/* As if each side had n recordings that scatter by so much. */
static struct ws_comparison as_if(double spread, unsigned n)
{
	return (struct ws_comparison){.error = spread * sqrt(2.0 / n),
	                              .df = 2.0 * (n - 1),
	                              .spread = spread};
}

static enum ws_status find_spread(struct lab *lab, int q, struct ws_err *err)
{
	size_t n = lab->side->nrecordings;
	struct ws_samples all = {lab->values[q], lab->side->steps, n};
	struct ws_comparison c;
	struct ws_grade_opts opts = lab->d->grade;

	/* a side against itself: its spread is what ws_compare finds, from three recordings on */
	if (!lab->present[q] || n < WS_GRADE_RECORDINGS) {
		lab->spread[q] = NAN;
		return WS_OK;
	}
	WS_FORWARD(ws_compare(&all, &all, &opts, &c, err));
	lab->spread[q] = c.spread;
	return WS_OK;
}

static const char *quantity_name(int q)
{
	if (q == STEP)
		return "step";
	return q == GPU ? "GPU time of a step" : ws_phase_name((enum ws_phase)(q - FIRST_PHASE));
}

static void set_recordings(struct ws_cell *cell, unsigned n)
{
	if (n)
		ws_cell_set_int(cell, n);
}

static void add_quantity(const struct lab *lab, struct ws_table *t, int q)
{
	static const struct {
		int column;
		unsigned n;
	} detectable[] = {{WS_TC_aa_detectable_3, 3},
	                  {WS_TC_aa_detectable_5, 5},
	                  {WS_TC_aa_detectable_10, 10}};
	struct ws_cell *row = ws_table_row(t);
	double spread = lab->spread[q];
	struct ws_comparison c = as_if(spread, 3);

	ws_cell_set_str(t, &row[WS_TC_aa_quantity], quantity_name(q));
	ws_cell_set_int(&row[WS_TC_aa_recordings], (int64_t)lab->side->nrecordings);
	ws_cell_set_real(&row[WS_TC_aa_noise], 100 * spread);
	ws_cell_set_int(&row[WS_TC_aa_pairs], lab->pairs);
	ws_cell_set_int(&row[WS_TC_aa_pairs_called], lab->pairs_called[q]);
	if (lab->splits) {
		ws_cell_set_int(&row[WS_TC_aa_splits], lab->splits);
		ws_cell_set_int(&row[WS_TC_aa_splits_called], lab->splits_called[q]);
	}
	if (isnan(spread))
		return;
	for (size_t i = 0; i < sizeof(detectable) / sizeof(*detectable); i++) {
		struct ws_comparison with = as_if(spread, detectable[i].n);

		ws_cell_set_real(&row[detectable[i].column], 100 * ws_grade_detectable(&with));
	}
	set_recordings(&row[WS_TC_aa_for_2], ws_grade_recordings_for(&c, 0.02));
	set_recordings(&row[WS_TC_aa_for_5], ws_grade_recordings_for(&c, 0.05));
}

static void print_verdict(const struct lab *lab, char verdict[512])
{
	int q = lab->present[STEP] ? STEP : GPU;
	size_t n = lab->side->nrecordings;
	struct ws_comparison c = as_if(lab->spread[q], 3);
	unsigned need;

	if (isnan(lab->spread[q])) {
		snprintf(
		        verdict, 512,
		        "%u of %u pairs would have been called different; three recordings or more "
		        "show the noise between them",
		        lab->pairs_called[q], lab->pairs);
		return;
	}
	need = ws_grade_recordings_for(&c, 0.02);
	snprintf(verdict, 512,
	         "%zu recordings vary by %.3g %% (--run-noise %.3g); one against one, %u of %u "
	         "pairs "
	         "would have been called different; ",
	         n, 100 * lab->spread[q], 100 * lab->spread[q], lab->pairs_called[q], lab->pairs);
	if (need)
		snprintf(verdict + strlen(verdict), 512 - strlen(verdict),
		         "%u recordings per side would show 2 %%", need);
	else
		snprintf(verdict + strlen(verdict), 512 - strlen(verdict),
		         "not even 1000 recordings per side would show 2 %%");
}

static enum ws_status fill_aa(struct lab *lab, struct ws_table *t, struct ws_err *err)
{
	uint8_t *in = calloc(lab->side->nrecordings + 1, 1);
	enum ws_status status =
	        in ? open_lab(lab, err) : WS_FAIL_MEMORY(err, "comparing the traces");

	for (int q = 0; q < QUANTITIES && status == WS_OK; q++)
		status = find_spread(lab, q, err);
	WS_THEN(status, try_pairs(lab, in, err));
	WS_THEN(status, try_splits(lab, in, err));
	for (int q = 0; q < QUANTITIES && status == WS_OK; q++)
		if (lab->present[q])
			add_quantity(lab, t, q);
	if (status == WS_OK) {
		print_verdict(lab, lab->verdict);
		ws_table_note(t, "%s.", lab->verdict);
		if (lab->splits)
			ws_table_note(
			        t, "Halves of one series share their recordings, so they are no "
			           "independent trials: of recordings that are independent, too, "
			           "up to half of all series have over 5 %% of their halves "
			           "called different. What must stay below 5 %% is the mean over "
			           "many series.");
		if (isnan(lab->d->grade.run_noise))
			ws_table_note(t, "One recording per side is not graded on the CPU "
			                 "reference: --run-noise says what to assume.");
		else
			ws_table_note(t,
			              "One recording per side was compared, "
			              "assuming a noise between runs of %.3g %% (--run-noise).",
			              100 * lab->d->grade.run_noise);
	}
	free(in);
	return status;
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	(void)which; /* there is one */
	return fill_aa(ctx, *t, err);
}

enum ws_status ws_aa_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                          struct ws_report **out, char verdict[512], struct ws_err *err)
{
	struct ws_diff *d = ws_sides_diff(s);
	struct lab lab = {.d = d, .side = &d->side[0], .verdict = verdict};
	struct ws_report_plan plan = {.title = "Warpsheet A/A test", .fill = fill, .ctx = &lab};
	struct ws_bytes name;
	enum ws_status status;
	char *trace;

	*out = NULL;
	WS_FAIL_IF(lab.side->nrecordings < 2, err, USAGE,
	           "an A/A test needs at least two recordings");
	WS_FORWARD(ws_sides_prepare_aa(s, opts, err));
	name = ws_texts_get(&d->names.texts, lab.side->recordings[0].name);
	if (asprintf(&trace, "%.*s and %zu more", (int)name.len, (const char *)name.ptr,
	             lab.side->nrecordings - 1) < 0)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	plan.trace = trace;
	plan.created_ns = lab.side->recordings[0].base_ns;
	plan.defs = ws_aa_defs(&plan.ndefs);
	status = ws_report_of_plan(&plan, out, err);
	close_lab(&lab);
	free(trace);
	return status;
}
