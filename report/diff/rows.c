#include "report/base/elementary.h"
#include "report/base/sequential.h"
#include "report/diff/private.h"

void ws_diff_rows_release(struct ws_diff_rows *r)
{
	for (size_t i = 0; i < 2 * r->n; i++)
		free(r->row[i / 2].sums[i % 2].sum);
	free(r->row);
	ws_texts_release(&r->keys);
	ws_arena_free(&r->arena);
	*r = (struct ws_diff_rows){0};
}

struct ws_diff_row *ws_diff_row_of(struct ws_diff_rows *r, const struct ws_diff_key *key)
{
	const uint32_t number = ws_texts_add(&r->keys, (struct ws_bytes){key, sizeof(*key)});

	if (number <= r->n)
		return &r->row[number - 1];
	WS_GROW(r->row, r->n + 1, r->capacity);
	struct ws_diff_row *row = &r->row[r->n++];
	*row = (struct ws_diff_row){.key = *key, .noise = r->noise};
	return row;
}

struct ws_diff_sum *ws_diff_sum_of(struct ws_diff_row *row, int s, uint32_t sample)
{
	struct ws_diff_sums *sums = &row->sums[s];
	size_t at = sums->n;

	/* samples come nearly in order */
	if (at && sums->sum[at - 1].sample >= sample)
		WS_COUNT_FIRST(at, sums->n, sums->sum[at].sample < sample);
	if (at < sums->n && sums->sum[at].sample == sample)
		return &sums->sum[at];
	WS_GROW(sums->sum, sums->n + 1, sums->capacity);
	memmove(&sums->sum[at + 1], &sums->sum[at], (sums->n - at) * sizeof(*sums->sum));
	sums->n++;
	sums->sum[at] = (struct ws_diff_sum){.sample = sample};
	return &sums->sum[at];
}

struct ws_grade_opts ws_diff_grade_opts(const struct ws_diff *d, enum ws_diff_noise noise)
{
	struct ws_grade_opts opts = d->grade;

	opts.run_noise = d->noise[noise];
	if (noise == WS_DIFF_NOISE_GPU && isnan(d->opts.run_noise_percent))
		opts.run_ns = WS_RUN_NOISE_GPU_NS;
	return opts;
}

/* The samples of a side for a comparison. */
struct compared {
	double *values;
	size_t *times, *steps, recordings;
	size_t n; /* values of all recordings */
};

static void compare_add(struct compared *c, double ns, size_t times)
{
	/* logarithms need a positive value, so 0 becomes less than the resolution */
	c->values[c->n] = fmax(ns, 0.5);
	c->times[c->n++] = times;
}

int64_t ws_diff_matched_ns(const struct ws_diff *d, int s, size_t sample, int phase)
{
	const struct ws_sample *of = d->side[s].samples[sample];
	const int64_t *unlike = d->unlike_phase_ns[s] + sample * WS_PHASES;
	int64_t ns = of->gpu_ns;

	if (phase < WS_PHASES)
		return of->phase_gpu_ns[phase] - unlike[phase];
	for (int p = 0; p < WS_PHASES; p++)
		ns -= unlike[p];
	return ns;
}

/* The time of the whole step, where steps were left out of the recording to know it. */
static bool is_of_unrecorded(const struct ws_diff *d, const struct ws_diff_rows *r,
                             const struct ws_diff_row *row)
{
	return d->compares_unrecorded && !r->of_work && row->key.measure != WS_MEASURE_GPU &&
	       row->key.phase == WS_PHASES;
}

/* Compares the samples of each side: all of them, with 0 in samples without such work; or, for
 * matched work of equal size, samples with the work, scaled to equal numbers of calls. */
static void compare_samples(const struct ws_diff *d, struct ws_diff_row *row, bool matched,
                            bool of_unrecorded)
{
	const struct ws_diff_sums *of_a = &row->sums[0];
	const double whole[2] = {(double)row->like_ns[0], (double)row->like_ns[1]};
	struct compared c[2];
	double calls = 0; /* mean number of groups in samples that have some */
	size_t having = 0;

	for (size_t i = 0; i < of_a->n && matched; i++) {
		calls += of_a->sum[i].groups;
		having += of_a->sum[i].groups > 0;
	}
	calls = having ? calls / (double)having : 0;
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];
		const struct ws_diff_sum *sum = row->sums[s].sum, *end = sum + row->sums[s].n;
		size_t sample = 0, until = 0, most = 2 * row->sums[s].n + side->nrecordings + 1;

		for (size_t r = 0; r < side->nrecordings; r++)
			most += side->recordings[r].nunrecorded;
		c[s] = (struct compared){.values = ws_xarray(most, sizeof(*c->values)),
		                         .times = ws_xarray(most, sizeof(*c->times)),
		                         .steps = ws_xarray(side->nrecordings + 1,
		                                            sizeof(*c->steps))};
		if (of_unrecorded) {
			for (size_t r = 0; r < side->nrecordings; r++) {
				const struct ws_recording *of = &side->recordings[r];

				for (size_t k = 0; k < of->nunrecorded; k++)
					compare_add(&c[s], of->unrecorded_ns[k], 1);
				c[s].steps[c[s].recordings++] = of->nunrecorded;
			}
		}
		for (size_t r = 0; r < side->nrecordings && !of_unrecorded; r++) {
			const size_t first = c[s].n;

			until += side->steps[r];
			for (; sum < end && sum->sample < until; sum++) {
				const double ns =
				        (double)(matched || row->compares_like ? sum->like_ns
				                                               : sum->ns);

				if (!matched && sum->sample > sample)
					compare_add(&c[s], 0, sum->sample - sample);
				if (!matched)
					compare_add(&c[s], ns, 1);
				else if (sum->groups > 0)
					compare_add(&c[s], fmax(ns, 0.5) / sum->groups * calls, 1);
				sample = sum->sample + 1;
			}
			if (!matched && until > sample)
				compare_add(&c[s], 0, until - sample);
			sample = until;

			/* Ends a recording with the values from `first` on, if there are any. */
			if (c[s].n > first)
				c[s].steps[c[s].recordings++] = c[s].n - first;
		}
	}

	const struct ws_grade_opts opts = ws_diff_grade_opts(d, row->noise);
	struct ws_samples samples[2];

	for (int s = 0; s < 2; s++)
		samples[s] = (struct ws_samples){.values = c[s].values,
		                                 .times = c[s].times,
		                                 .steps = c[s].steps,
		                                 .recordings = c[s].recordings};
	ws_compare(&samples[0], &samples[1], &opts, &row->c);
	if (ws_diff_is_unlike(d))
		row->c.grade = WS_GRADE_UNLIKE;
	for (int s = 0; s < 2; s++) {
		free(c[s].values);
		free(c[s].times);
		free(c[s].steps);
	}

	/* What B takes less, and more, for work that only one side did is no difference. */
	double factor[2] = {1, 1};

	for (int s = 0; s < 2; s++)
		if (whole[s] > 0)
			factor[s] = row->more_ns[s] < whole[s]
			                    ? whole[s] / (whole[s] - row->more_ns[s])
			                    : INFINITY;
	row->c.less_work = factor[0];
	row->c.more_work = factor[1];
}

/* With fewer than three recordings per side, shorter or fewer calls are not graded. */
#define GRADED_CALL_NS 20000
#define GRADED_CALLS   5

/* The sums of the displayed sample; NULL: the row has none. */
static const struct ws_diff_sum *shown_sum(const struct ws_diff *d, const struct ws_diff_row *row,
                                           int s)
{
	const struct ws_diff_sums *sums = &row->sums[s];
	size_t at;

	WS_COUNT_FIRST(at, sums->n, sums->sum[at].sample < d->side[s].shown);
	return at < sums->n && sums->sum[at].sample == d->side[s].shown ? &sums->sum[at] : NULL;
}

static double change(const struct ws_diff_row *row)
{
	return fabs((row->instances[1] ? row->shown[1] : 0) -
	            (row->instances[0] ? row->shown[0] : 0));
}

/* Then by key, for a deterministic order. */
static int by_change(const void *pa, const void *pb)
{
	const struct ws_diff_row *a = pa, *b = pb;
	double x = change(a), y = change(b);

	WS_ORDER_BY(y, x);
	return memcmp(&a->key, &b->key, sizeof(a->key));
}

static double step_of(const struct ws_diff *d, const struct ws_recording *r)
{
	return d->compares_unrecorded ? ws_stat_median(r->unrecorded_ns, r->nunrecorded)
	                              : ws_recording_median_ns(r);
}

/* Compares pairs of recordings. Pairs whose clocks differ are left out. */
static void compare_pairs(const struct ws_diff *d, struct ws_diff_row *row)
{
	const struct ws_side *a = &d->side[0], *b = &d->side[1];
	const size_t most = a->nrecordings < b->nrecordings ? a->nrecordings : b->nrecordings;
	double *difference = ws_xarray(most + 1, sizeof(*difference));
	struct ws_comparison *c = &row->c;
	size_t n = 0;
	struct ws_sequential s;

	d->result->pairs_apart = 0;
	/* where a copy is left out, the numbers of the recordings are no longer those of pairs */
	for (size_t i = 0; i < most && !d->result->copies[0] && !d->result->copies[1]; i++) {
		const struct ws_recording *of[2] = {&a->recordings[i], &b->recordings[i]};

		if (ws_recordings_are_apart(of[0], of[1]))
			d->result->pairs_apart++;
		else
			difference[n++] = ws_log(step_of(d, of[1]) / step_of(d, of[0]));
	}
	ws_sequential_interval(difference, n, 1 - d->opts.confidence, &s);
	c->basis = WS_BASIS_PAIRS;
	c->recordings[0] = c->recordings[1] = n;
	c->ratio = ws_exp(s.centre);
	c->low = isinf(s.low) ? NAN : ws_exp(s.low);
	c->high = isinf(s.high) ? NAN : ws_exp(s.high);
	for (size_t i = 0; i < n; i++)
		difference[i] = fabs(difference[i] - s.centre);
	/* of one recording, for the number of runs that would settle it */
	c->spread = n > 2 ? 1.4826 / sqrt(2) * ws_stat_median(difference, n) : NAN;
	free(difference);
	if (c->grade == WS_GRADE_UNLIKE || c->grade == WS_GRADE_NONE)
		return;
	c->discovered = c->high < 1 || c->low > 1;
	c->p = c->discovered ? WS_GATE_CHANCE : 1;
	if (c->discovered && fabs(s.centre) >= ws_log1p(d->grade.min_effect))
		c->grade = c->high * c->less_work < 1 ? WS_GRADE_FASTER
		           : c->low > c->more_work    ? WS_GRADE_SLOWER
		                                      : WS_GRADE_AMBIGUOUS;
	else
		c->grade = c->low * (1 + d->grade.same_within) > 1 &&
		                           c->high < 1 + d->grade.same_within
		                   ? WS_GRADE_SAME
		                   : WS_GRADE_AMBIGUOUS;
}

/* Takes back a difference that the clocks explain. */
static void excuse_by_clocks(const struct ws_diff *d, struct ws_diff_row *row)
{
	struct ws_comparison *c = &row->c;

	if (!ws_grade_is_different(c->grade) || row->noise == WS_DIFF_NOISE_HOST ||
	    !ws_diff_is_of_one_device(d))
		return;
	row->by_clocks = ws_clocks_explain(c->ratio, d->result->clock_mhz, d->clocks_are_sampled,
	                                   d->grade.min_effect);
	if (row->by_clocks != WS_CLOCKS_NO_REASON)
		c->grade = WS_GRADE_AMBIGUOUS;
}

void ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r)
{
	struct ws_comparison **compared = ws_xarray(r->n + 1, sizeof(*compared));
	size_t n = 0;

	for (size_t i = 0; i < 2 * r->n; i++) {
		struct ws_diff_row *row = &r->row[i / 2];
		int s = i % 2;

		row->mean[s] = row->shown[s] = NAN;
		if (row->instances[s]) {
			const struct ws_diff_sum *shown = shown_sum(d, row, s);

			row->mean[s] = 0;
			for (size_t k = 0; k < row->sums[s].n; k++)
				row->mean[s] += (double)row->sums[s].sum[k].ns;
			row->mean[s] /= (double)d->side[s].nsamples;
			row->shown[s] = shown ? (double)shown->ns : 0;
		}
	}
	if (r->n)
		ws_sort(r->row, r->n, sizeof(*r->row), by_change);
	/* Compares each row before grading all; marks rows that are not graded. */
	for (size_t i = 0; i < r->n; i++) {
		struct ws_diff_row *row = &r->row[i];
		const bool on_both = row->instances[0] && row->instances[1],
		           matched = r->of_work && row->like_calls[0] && row->like_calls[1];

		/* for work of one side only, computes the typical time, but no grade */
		compare_samples(d, row, matched, is_of_unrecorded(d, r, row));
		if (r->of_work && on_both && !matched)
			row->c.grade = row->apart_calls[0] ? WS_GRADE_UNLIKE : WS_GRADE_NONE;
		/* shorter or fewer calls, with fewer than three recordings per side */
		bool is_too_little = false;

		for (int s = 0; s < 2; s++) {
			const double calls =
			        (double)(r->of_work ? row->like_calls[s] : row->instances[s]);
			const double ns = r->of_work ? (double)row->like_ns[s]
			                             : row->mean[s] * (double)d->side[s].nsamples;

			is_too_little |= calls < GRADED_CALLS || ns / calls < GRADED_CALL_NS;
		}
		if (!on_both ||
		    (r->of_calls && row->c.basis == WS_BASIS_STEPS && !row->c.identical &&
		     row->c.grade != WS_GRADE_UNLIKE && is_too_little))
			row->c.grade = WS_GRADE_NONE;
		compared[n++] = &row->c;
	}
	ws_grade_rows(compared, n, &d->grade);
	for (size_t i = 0; i < r->n && d->opts.paired && !r->of_work; i++)
		if (r->row[i].key.measure == WS_MEASURE_STEP && r->row[i].key.phase == WS_PHASES)
			compare_pairs(d, &r->row[i]);
	for (size_t i = 0; i < r->n; i++) {
		/*
		 * The ratio is that of the displayed times, so that it agrees with them. The
		 * interval is of all steps of both sides; it is widened to contain the ratio, and a
		 * contradicting grade is withdrawn.
		 */
		struct ws_diff_row *row = &r->row[i];
		const bool matched = r->of_work && row->like_calls[0] && row->like_calls[1];
		const struct ws_diff_sum *sum[2] = {shown_sum(d, row, 0), shown_sum(d, row, 1)};
		struct ws_comparison *c = &row->c;
		const double before = c->ratio;

		for (int s = 0; s < 2 && is_of_unrecorded(d, r, row); s++)
			row->shown[s] = c->typical[s];
		if (is_of_unrecorded(d, r, row))
			continue;
		for (int s = 0; s < 2; s++)
			if (!sum[s])
				c->typical[s] = 0;
			else if (matched && sum[0] && sum[1] && sum[0]->groups > 0 &&
			         sum[1]->groups > 0)
				c->typical[s] =
				        (double)sum[s]->like_ns / sum[s]->groups * sum[0]->groups;
			else
				c->typical[s] =
				        (double)(matched || row->compares_like ? sum[s]->like_ns
				                                               : sum[s]->ns);
		if (!(c->typical[0] > 0) || !(c->typical[1] > 0) || isnan(before))
			continue;
		c->ratio = c->typical[1] / c->typical[0];
		c->low = c->low > c->ratio ? c->ratio : c->low; /* NaN stays: unknown */
		c->high = c->high < c->ratio ? c->ratio : c->high;
		if ((ws_grade_is_faster(c->grade) && c->ratio >= 1) ||
		    (ws_grade_is_slower(c->grade) && c->ratio <= 1) ||
		    (c->grade == WS_GRADE_SAME &&
		     fabs(ws_log(c->ratio)) > ws_log1p(d->grade.same_within)))
			c->grade = WS_GRADE_AMBIGUOUS;
	}
	for (size_t i = 0; i < r->n; i++)
		excuse_by_clocks(d, &r->row[i]);
	free(compared);
}

/* --- assumed noise between recordings, if there are too few: docs/dev/statistics.md */

/* With a smaller share of waiting, a step has the noise of its GPU time. */
#define LITTLE_WAITING 0.05
#define STEP_NOISE     (WS_RUN_NOISE_STEP_PERCENT / 100)
/* Relative noise of a cause of waiting, measured on two cycles of one training: 47.5 and 27.5 ms
 * per step for data; docs/dev/statistics.md. */
#define WAITING_NOISE 0.3

double ws_noise_of_waiting(const double use_ns[WS_USES])
{
	double all = 0, waiting = 0, squares = 0;

	for (int use = 0; use < WS_USES; use++)
		all += use_ns[use];
	if (all <= 0)
		return STEP_NOISE; /* only times on the host */
	for (int use = 0; use < WS_USES; use++) {
		/* Is it time without computation, other than gaps between queued kernels? */
		if (!(use > WS_USE_COMPUTE && use != WS_USE_DEVICE))
			continue;
		const double noise = WAITING_NOISE * use_ns[use] / all;

		waiting += use_ns[use] / all;
		squares += noise * noise;
	}
	return waiting > LITTLE_WAITING ? fmax(STEP_NOISE, sqrt(squares)) : 0;
}

double ws_scatter_of_steps(const double *ns, size_t n)
{
	double *v = ws_xarray(n + 1, sizeof(*v)), median;

	for (size_t k = 0; k < n; k++)
		v[k] = ws_log(fmax(1, ns[k]));
	median = ws_stat_median(v, n);
	for (size_t k = 0; k < n; k++)
		v[k] = fabs(v[k] - median);
	const double scatter = n > 2 ? 1.4826 * ws_stat_median(v, n) : 0;
	free(v);
	return scatter;
}

void ws_diff_assume_noise(struct ws_diff *d)
{
	double step = d->noise[WS_DIFF_NOISE_GPU], host = STEP_NOISE;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++) {
			const struct ws_recording *r = &d->side[s].recordings[i];
			double *ns = ws_xarray(r->nsamples + 1, sizeof(*ns)), use_ns[WS_USES] = {0};

			for (size_t k = 0; k < r->nsamples; k++) {
				ns[k] = (double)r->samples[k].step_ns;
				for (int use = 0; use < WS_USES; use++)
					use_ns[use] += (double)r->samples[k].use_ns[use];
			}
			const double scatter = ws_scatter_of_steps(ns, r->nsamples),
			             waiting = ws_noise_of_waiting(use_ns);

			free(ns);
			host = fmax(host, scatter);
			if (waiting > 0)
				step = fmax(step, fmax(waiting, scatter));
		}
	d->noise[WS_DIFF_NOISE_STEP] = step;
	d->noise[WS_DIFF_NOISE_HOST] = host;
}
