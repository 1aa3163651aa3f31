/* Runs of one configuration together: means, deviations, rates, and what they gain over others. */
#include <stdlib.h>
#include <string.h>

#include "report/sweep/private.h"

/* The order of the table, and which runs are of one configuration. */
static int compare_runs(const struct ws_sweep *s, const struct ws_sweep_run *a,
                        const struct ws_sweep_run *b)
{
	WS_ORDER_BY(a->nameless, b->nameless);
	for (size_t i = 0; i < WS_SWEEP_FACTS; i++) {
		int c = ws_sweep_compare_values(s, ws_sweep_fact(s, a, ws_sweep_facts[i]),
		                                ws_sweep_fact(s, b, ws_sweep_facts[i]));

		if (c)
			return c;
	}
	for (size_t key = 1; key <= s->keys.n; key++) {
		uint32_t va = ws_sweep_value(a, key), vb = ws_sweep_value(b, key);
		int c;

		/* what left no trace says only what was varied */
		if (!va || !vb || va == vb || ws_sweep_is_no_work(s, key))
			continue;
		c = ws_sweep_compare_values(s, va, vb);
		if (c)
			return c;
	}
	return 0;
}

static int by_configuration(const void *pa, const void *pb, void *arg)
{
	const struct ws_sweep_run *a = pa, *b = pb;
	int c = compare_runs(arg, a, b);

	/* those that failed last, so that the first run of a row says all */
	return c ? c : (a->failed > 0) - (b->failed > 0);
}

/* One time of all steps of the runs that did not fail; of arena. */
static void gather(struct ws_sweep *s, const struct ws_sweep_row *row, int time,
                   struct ws_samples *out, size_t *n)
{
	size_t all = 0, *steps = ws_arena_array(&s->arena, row->n, sizeof(*steps));
	double *values;

	*n = 0;
	*out = (struct ws_samples){.steps = steps};
	for (size_t i = 0; i < row->n; i++)
		all += row->run[i].nsteps;
	out->values = values = ws_arena_array(&s->arena, all, sizeof(*values));
	for (size_t i = 0; i < row->n; i++) {
		const struct ws_sweep_run *run = &row->run[i];

		if (!run->ns[time] || run->failed)
			continue;
		memcpy(values + *n, run->ns[time], run->nsteps * sizeof(double));
		steps[out->recordings++] = run->nsteps;
		*n += run->nsteps;
	}
}

static void find_times(struct ws_sweep *s, struct ws_sweep_row *row)
{
	for (int t = 0; t < WS_SWEEP_TIMES; t++) {
		struct ws_samples all;
		double sum = 0, squares = 0;
		size_t n;

		gather(s, row, t, &all, &n);
		for (size_t i = 0; i < n; i++)
			sum += all.values[i];
		row->mean[t] = n ? sum / (double)n : NAN;
		for (size_t i = 0; i < n; i++)
			squares += (all.values[i] - row->mean[t]) * (all.values[i] - row->mean[t]);
		row->std[t] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
		if (t == WS_SWEEP_TOTAL)
			row->steps = n;
	}
}

static void find_rest(struct ws_sweep *s, struct ws_sweep_row *row)
{
	struct ws_bytes why;
	size_t failed = 0;
	char text[512];

	row->mfu_percent = 100 * row->run->model_ns / row->mean[WS_SWEEP_TOTAL];
	row->hfu_percent = 100 * row->run->ran_ns / row->mean[WS_SWEEP_TOTAL];
	row->peak_bytes = row->speedup = row->low = row->high = row->memory = NAN;
	for (size_t i = 0; i < row->n; i++) {
		const struct ws_sweep_run *run = &row->run[i];

		row->peak_bytes = fmax(row->peak_bytes, run->peak_bytes);
		failed += run->failed != 0;
		if (run->failed)
			row->status = run->failed;
	}
	if (!failed) {
		row->status = ws_texts_add_str(&s->texts, row->run->has_steps ? WS_SWEEP_OK
		                                                              : WS_SWEEP_OK
		                                                  ", no steps: elapsed time");
		return;
	}
	if (failed == row->n)
		return;
	why = ws_texts_get(&s->texts, row->status);
	snprintf(text, sizeof(text), "%zu of %zu recordings failed: %.*s", failed, row->n,
	         why.len < 400 ? (int)why.len : 400, (const char *)why.ptr);
	row->status = ws_texts_add_str(&s->texts, text);
}

/* --- speed-ups --------------------------------------------------------------------------- */

/* Are they the same but for a fact, and for one that follows from it? */
static bool differ_only_in(const struct ws_sweep *s, const struct ws_sweep_run *a,
                           const struct ws_sweep_run *b, const char *key, const char *follows)
{
	for (size_t k = 1; k <= s->keys.n; k++) {
		struct ws_bytes name = ws_texts_get(&s->keys, (uint32_t)k);

		if (ws_sweep_value(a, k) != ws_sweep_value(b, k) && !ws_sweep_is_no_work(s, k) &&
		    !ws_name_is(name, key) && !ws_name_is(name, follows))
			return false;
	}
	return true;
}

static void compare_rows(struct ws_sweep *s, struct ws_sweep_row *row,
                         const struct ws_sweep_row *base)
{
	struct ws_samples a, b;
	struct ws_comparison c;
	size_t na, nb;

	gather(s, base, WS_SWEEP_TOTAL, &a, &na);
	gather(s, row, WS_SWEEP_TOTAL, &b, &nb);
	if (!na || !nb)
		return;
	ws_compare(&a, &b, &s->grade, &c);
	row->speedup = 1 / c.ratio;
	row->low = 1 / c.high;
	row->high = 1 / c.low;
	row->memory = row->peak_bytes / base->peak_bytes;
	row->is_assumed = c.basis == WS_BASIS_STEPS;
}

static enum ws_status find_speedups(struct ws_sweep *s, struct ws_err *err)
{
	const char *given = s->opts->baseline, *name;
	size_t len;
	uint64_t key, value;

	s->baseline = given ? given : "dtype=fp32";
	len = strcspn(s->baseline, "=");
	key = ws_strtab_find(&s->keys.known, s->baseline, len);
	WS_FAIL_IF(given && (!given[len] || !key), err, USAGE,
	           "--baseline %s: no trace has such a fact; write KEY=VALUE, as in dtype=fp32",
	           given);
	value = s->baseline[len] ? ws_strtab_find(&s->texts.known, s->baseline + len + 1,
	                                          strlen(s->baseline + len + 1))
	                         : 0;
	WS_FAIL_IF(given && !value, err, USAGE, "--baseline %s: no trace has this value", given);
	if (!key || !value)
		return WS_OK;
	s->baseline_key = (uint32_t)key;
	s->baseline_value = (uint32_t)value;
	name = ws_arena_copy(&s->arena, s->baseline, len);
	for (size_t i = 0; i < s->nrows; i++) {
		size_t base = 0;

		/* a dtype brings a loss scale of its own */
		while (base < s->nrows &&
		       (ws_sweep_value(s->rows[base].run, key) != value ||
		        !differ_only_in(s, s->rows[i].run, s->rows[base].run, name, "loss_scale")))
			base++;
		if (base < s->nrows)
			compare_rows(s, &s->rows[i], &s->rows[base]);
	}
	return WS_OK;
}

enum ws_status ws_sweep_find_rows(struct ws_sweep *s, struct ws_err *err)
{
	if (s->nruns)
		qsort_r(s->runs, s->nruns, sizeof(*s->runs), by_configuration, s);
	s->rows = ws_arena_array(&s->arena, s->nruns, sizeof(*s->rows));
	for (size_t i = 0; i < s->nruns; i++) {
		if (!i || compare_runs(s, &s->runs[i - 1], &s->runs[i]))
			s->rows[s->nrows++].run = &s->runs[i];
		s->rows[s->nrows - 1].n++;
	}
	for (size_t i = 0; i < s->nrows; i++) {
		find_times(s, &s->rows[i]);
		find_rest(s, &s->rows[i]);
	}
	return find_speedups(s, err);
}
