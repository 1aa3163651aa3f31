/* The runs of a sweep: the facts of their configurations and the times of their steps; runs of one
 * configuration together, and what it gains over others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/analysis/device_time.h"
#include "report/analysis/steps.h"
#include "report/analysis/utilization.h"
#include "report/diff/recording.h"
#include "report/model/columns.h"
#include "report/sweep/private.h"

struct ws_sweep *ws_sweep_new(void)
{
	return ws_xarray(1, sizeof(struct ws_sweep));
}

void ws_sweep_free(struct ws_sweep *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nruns; i++)
		free(s->runs[i].fact);
	free(s->runs);
	ws_texts_release(&s->texts);
	ws_texts_release(&s->keys);
	ws_arena_free(&s->arena);
	free(s);
}

/* --- facts ---------------------------------------------------------------------------------- */

const char *const ws_sweep_facts[] = {"model", "context", "batch", "dtype", "phase"};

/* Two runs of one configuration may differ in this fact. */
static bool is_no_work(const struct ws_sweep *s, uint32_t key)
{
	static const char *const own[] = {"result",         "seed",
	                                  "skipped_steps",  "parameters",
	                                  "libraries",      "repetition",
	                                  "steps",          "tokens_per_step",
	                                  "images_per_step"};

	return WS_NAME_IS_ONE_OF(ws_texts_get(&s->keys, key), own);
}

static void add_fact(struct ws_sweep *s, struct ws_sweep_run *run, struct ws_bytes key,
                     struct ws_bytes value)
{
	const size_t known = run->nfacts;
	const uint32_t number = ws_texts_add(&s->keys, key);

	if (!number)
		return;
	WS_GROW(run->fact, number + 1, run->nfacts);
	memset(run->fact + known, 0, (run->nfacts - known) * sizeof(*run->fact));
	run->fact[number] = ws_texts_add(&s->texts, value);
}

uint32_t ws_sweep_key(const struct ws_sweep *s, const char *key)
{
	return (uint32_t)ws_strtab_find(&s->keys.known, key, strlen(key));
}

bool ws_sweep_number(struct ws_bytes text, double *out)
{
	char copy[32] = "", *end;

	if (!text.len || text.len >= sizeof(copy))
		return false;
	memcpy(copy, text.ptr, text.len);
	*out = strtod(copy, &end);
	return !*end;
}

int ws_sweep_compare_values(const struct ws_sweep *s, uint32_t a, uint32_t b)
{
	struct ws_bytes x = ws_texts_get(&s->texts, a), y = ws_texts_get(&s->texts, b);
	double nx, ny;

	if (ws_sweep_number(x, &nx) && ws_sweep_number(y, &ny))
		return (nx > ny) - (nx < ny);
	return ws_name_compare(x, y);
}

const char *ws_sweep_list(struct ws_sweep *s, const char *list, const char *word,
                          struct ws_bytes value)
{
	enum { MOST_SHOWN = 200 };

	if (!value.len)
		return list;
	return ws_arena_format(&s->arena, "%s%s%s%s%.*s", list, *list ? ", " : "", word,
	                       *word ? " " : "",
	                       value.len < MOST_SHOWN ? (int)value.len : MOST_SHOWN,
	                       (const char *)value.ptr);
}

const char *ws_sweep_list_others(struct ws_sweep *s, const char *list,
                                 const struct ws_sweep_run *run, const char *but,
                                 const char *and_but)
{
	for (uint32_t k = 1; k <= s->keys.n; k++) {
		const struct ws_bytes key = ws_texts_get(&s->keys, k);

		if (s->varies[k] && !is_no_work(s, k) && !WS_NAME_IS_ONE_OF(key, ws_sweep_facts) &&
		    !ws_name_is(key, "loss_scale") && !ws_name_is(key, but) &&
		    !ws_name_is(key, and_but))
			list = ws_sweep_list(s, list, ws_arena_copy(&s->arena, key.ptr, key.len),
			                     ws_texts_get(&s->texts, ws_sweep_value(run, k)));
	}
	return list;
}

static void find_what_varies(struct ws_sweep *s)
{
	s->varies = ws_arena_array(&s->arena, s->keys.n + 1, sizeof(*s->varies));
	for (uint32_t k = 1; k <= s->keys.n; k++)
		for (uint32_t i = 0, first = 0; i < s->nruns; i++) {
			const uint32_t value = ws_sweep_value(&s->runs[i], k);

			s->varies[k] |= value && first && value != first;
			first = first ? first : value;
		}
}

/* --- times ------------------------------------------------------------------------------- */

static void keep_times(struct ws_sweep *s, struct ws_sweep_run *run, const struct ws_model *m,
                       const struct ws_selection *sel, const struct ws_windows *w)
{
	static const int phases[] = {WS_PHASE_FORWARD, WS_PHASE_BACKWARD, WS_PHASE_OPTIMIZER};
	const struct ws_time_window *windows = w->window;
	const struct ws_step_times *times = ws_step_times(m, sel);
	uint8_t present = 0, on_device = UINT8_MAX;

	for (size_t i = 0; i < run->nsteps && run->has_steps; i++) {
		present |= m->steps[windows[i].step].phases;
		for (int p = 0; p < WS_PHASES; p++)
			on_device &= (uint8_t) ~((times->window_ns[windows[i].step][p] < 0) << p);
	}
	for (int t = 0; t < WS_SWEEP_TIMES; t++) {
		const bool is_window = t > WS_SWEEP_TOTAL;
		const int phase =
		        t == WS_SWEEP_TOTAL ? WS_PHASES : phases[t % WS_SWEEP_FORWARD_WINDOW];

		if (t != WS_SWEEP_TOTAL &&
		    (!run->has_steps || !((is_window ? on_device : present) >> phase & 1)))
			continue;
		run->ns[t] = ws_arena_array(&s->arena, run->nsteps, sizeof(double));
		for (size_t i = 0; i < run->nsteps; i++)
			run->ns[t][i] =
			        (double)(t == WS_SWEEP_TOTAL
			                         ? windows[i].end_ns - windows[i].start_ns
			                 : is_window ? times->window_ns[windows[i].step][phase]
			                             : m->steps[windows[i].step].phase_ns[phase]);
	}
}

/* Of the GPU time of the measured steps. */
static double softmax_share(const struct ws_model *m, const struct ws_selection *sel)
{
	struct ws_joined_rows *rows = sel->rows;
	double softmax = 0;

	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		if (k->kind->class == WS_TEXT_SOFTMAX && ws_kernel_selected(m, sel, k, i))
			softmax += (double)k->dur_ns;
	}
	return ws_stat_percent(softmax, (double)sel->gpu_ns);
}

/* Traces of programs that tell no dtype are not of one configuration when their products ran in
 * different ones: the dtype of most of the time of their products. */
static void add_dtype(struct ws_sweep *s, struct ws_sweep_run *run, const struct ws_model *m,
                      const struct ws_selection *sel)
{
	static const char *const products[] = {"gemm", "conv", "attention"};
	struct ws_joined_rows *rows = sel->rows;
	struct ws_arena temp = {0};
	uint32_t most = 0;
	int64_t *ns;

	if (ws_model_fact(m, "dtype").len)
		return;
	WS_NEW(&temp, ns, m->ntexts);
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		if (!ws_kernel_selected(m, sel, k, i) ||
		    !WS_NAME_IS_ONE_OF(m->texts[k->kind->class], products))
			continue;
		ns[k->kind->dtype] += k->dur_ns;
		if (ns[k->kind->dtype] > ns[most])
			most = k->kind->dtype;
	}
	if (most)
		add_fact(s, run, ws_bytes_of("dtype"), m->texts[most]);
	ws_arena_free(&temp);
}

static void keep_failure(struct ws_sweep *s, struct ws_sweep_run *run, const char *reason)
{
	const struct ws_bytes result = ws_sweep_text(s, run, "result");

	if (reason)
		run->failed = ws_texts_add_str(&s->texts, reason);
	else if (result.len && !ws_name_is(result, "ok"))
		run->failed = ws_texts_add(&s->texts, result);
}

static void keep_steps(struct ws_sweep *s, struct ws_sweep_run *run, const struct ws_model *m,
                       struct ws_joined_rows *rows)
{
	struct ws_filter steps = WS_FILTER_ALL;
	const struct ws_windows *w;
	struct ws_selection sel = {0};

	steps.scope = WS_SCOPE_STEPS;
	ws_select_rows(m, rows, &steps, &sel);
	w = ws_windows(m, &sel);
	if (w->n) {
		run->has_steps = w->window[0].step != WS_NONE;
		/* of a trace without steps, and with device work, the whole is compared */
		if (run->has_steps || rows->nkernels || m->nwork)
			run->nsteps = w->n;
		/* a step is not compared with a whole run */
		if (run->nsteps && !run->failed)
			add_fact(s, run, ws_bytes_of("total"),
			         ws_bytes_of(run->has_steps ? "of a step" : "elapsed"));
	}
	keep_times(s, run, m, &sel, w);
	if (m->nmeasured) {
		const struct ws_utilization *u = ws_utilization_find(m, &sel);

		run->flops = u->flops / (double)m->nmeasured;
		run->model_ns = u->model_sum_ns / (double)m->nmeasured;
		run->ran_ns = u->ran_sum_ns / (double)m->nmeasured;
	}
	run->softmax_percent = softmax_share(m, &sel);
	add_dtype(s, run, m, &sel);
	ws_selection_release(&sel);
}

/* --- runs -------------------------------------------------------------------------------- */

static struct ws_sweep_run *new_run(struct ws_sweep *s)
{
	WS_GROW(s->runs, s->nruns + 1, s->runs_capacity);
	s->runs[s->nruns] = (struct ws_sweep_run){.flops = NAN,
	                                          .model_ns = NAN,
	                                          .ran_ns = NAN,
	                                          .peak_bytes = NAN,
	                                          .softmax_percent = NAN};
	return &s->runs[s->nruns++];
}

static bool is_copy(const struct ws_sweep *s, const struct ws_trace_summary *file)
{
	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].file_hash == file->file_hash &&
		    s->runs[i].file_size == file->file_size)
			return true;
	return false;
}

void ws_sweep_add(struct ws_sweep *s, const struct ws_model *m, struct ws_joined_rows *rows,
                  const char *reason)
{
	int64_t peak = ws_memory_peak(m);
	struct ws_sweep_run *run;

	if (is_copy(s, &m->file)) {
		s->ncopies++;
		return;
	}
	run = new_run(s);
	run->file_hash = m->file.file_hash;
	run->file_size = m->file.file_size;
	for (size_t i = 0; i < m->nfacts; i++)
		add_fact(s, run, m->facts[i].key, m->facts[i].value);
	/* a program that says nothing of its work says it by its arguments, if at all */
	if (!m->nfacts)
		add_fact(s, run, ws_bytes_of("arguments"),
		         ws_meta_value(&m->meta, "program.arguments"));
	/* the GPU is part of the configuration */
	if (ws_model_device_name(m).len)
		add_fact(s, run, ws_bytes_of("device"), ws_model_device_name(m));
	keep_failure(s, run, reason);
	keep_steps(s, run, m, rows);
	run->tokens = run->has_steps ? (double)ws_fact_number(m, "tokens_per_step") : 0;
	run->images = run->has_steps ? (double)ws_fact_number(m, "images_per_step") : 0;
	s->created_ns = s->nruns == 1 ? m->file.base_ns : s->created_ns;
	s->on_cpu |= ws_model_on_cpu(m) != 0;
	if (peak >= 0)
		run->peak_bytes = (double)peak;
	if (!run->nsteps && !run->failed)
		run->failed = ws_texts_add_str(&s->texts, "no steps and no device work");
}

void ws_sweep_add_failed(struct ws_sweep *s, const char *facts, const char *reason)
{
	struct ws_sweep_run *run = new_run(s);

	for (const char *line = facts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n"), key = strcspn(line, "=\n");
		struct ws_bytes name = {line, key};

		if (key < len && !ws_name_is(name, "result"))
			add_fact(s, run, name, (struct ws_bytes){line + key + 1, len - key - 1});
	}
	if (!*facts)
		run->nameless = s->nruns;
	keep_failure(s, run, reason);
}

/* --- configurations ------------------------------------------------------------------------- */

/* The order of the table, and which runs are of one configuration. */
static int compare_runs(const struct ws_sweep *s, const struct ws_sweep_run *a,
                        const struct ws_sweep_run *b)
{
	int c = (a->nameless > b->nameless) - (a->nameless < b->nameless);

	for (size_t i = 0; i < WS_SWEEP_FACTS && !c; i++) {
		const uint32_t key = ws_sweep_key(s, ws_sweep_facts[i]);

		c = ws_sweep_compare_values(s, ws_sweep_value(a, key), ws_sweep_value(b, key));
	}
	for (uint32_t key = 1; key <= s->keys.n && !c; key++) {
		const uint32_t va = ws_sweep_value(a, key), vb = ws_sweep_value(b, key);

		/* a run that left no trace has only the facts that were varied */
		if (va && vb && va != vb && !is_no_work(s, key))
			c = ws_sweep_compare_values(s, va, vb);
	}
	return c;
}

static int by_configuration(const void *pa, const void *pb, void *arg)
{
	const struct ws_sweep_run *a = pa, *b = pb;
	const int c = compare_runs(arg, a, b);

	return c ? c : (a->failed > 0) - (b->failed > 0);
}

/* One time of all steps of the runs that did not fail, n values in all. */
static struct ws_samples samples_of(struct ws_sweep *s, const struct ws_sweep_row *row, int time,
                                    size_t *n)
{
	size_t all = 0, *steps = ws_arena_array(&s->arena, row->n, sizeof(*steps));
	struct ws_samples out = {.steps = steps};
	double *values;

	*n = 0;
	for (size_t i = 0; i < row->n; i++)
		all += row->run[i].nsteps;
	out.values = values = ws_arena_array(&s->arena, all, sizeof(*values));
	for (size_t i = 0; i < row->n; i++) {
		const struct ws_sweep_run *run = &row->run[i];

		if (!run->ns[time] || run->failed)
			continue;
		memcpy(values + *n, run->ns[time], run->nsteps * sizeof(double));
		steps[out.recordings++] = run->nsteps;
		*n += run->nsteps;
	}
	return out;
}

static void find_times(struct ws_sweep *s, struct ws_sweep_row *row)
{
	for (int t = 0; t < WS_SWEEP_TIMES; t++) {
		double sum = 0, squares = 0;
		size_t n;
		const struct ws_samples all = samples_of(s, row, t, &n);

		for (size_t i = 0; i < n; i++)
			sum += all.values[i];
		row->mean[t] = n ? sum / (double)n : NAN;
		for (size_t i = 0; i < n; i++)
			squares += (all.values[i] - row->mean[t]) * (all.values[i] - row->mean[t]);
		row->std[t] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
		if (t == WS_SWEEP_TOTAL)
			row->steps = n;
	}
	row->mfu_percent = 100 * row->run->model_ns / row->mean[WS_SWEEP_TOTAL];
	row->hfu_percent = 100 * row->run->ran_ns / row->mean[WS_SWEEP_TOTAL];
	row->check = ws_over_peak(fmax(row->mfu_percent, row->hfu_percent));
	row->peak_bytes = row->speedup = row->low = row->high = row->memory = NAN;
	for (size_t i = 0; i < row->n; i++)
		row->peak_bytes = fmax(row->peak_bytes, row->run[i].peak_bytes);
}

static void find_status(struct ws_sweep *s, struct ws_sweep_row *row)
{
	uint32_t reason = 0;
	size_t failed = 0;
	struct ws_bytes why;

	for (size_t i = 0; i < row->n; i++) {
		failed += row->run[i].failed != 0;
		reason = row->run[i].failed ? row->run[i].failed : reason;
	}
	s->nfailed += failed;
	why = ws_texts_get(&s->texts, reason);
	if (!failed)
		row->status =
		        row->run->has_steps ? WS_SWEEP_OK : WS_SWEEP_OK ", no steps: elapsed time";
	else if (failed == row->n)
		row->status = ws_arena_copy(&s->arena, why.ptr, why.len);
	else
		row->status = ws_arena_format(&s->arena, "%zu of %zu recordings failed: %.*s",
		                              failed, row->n, why.len < 400 ? (int)why.len : 400,
		                              (const char *)why.ptr);
}

static void find_name(struct ws_sweep *s, struct ws_sweep_row *row)
{
	static const char *const words[] = {"", "context", "batch", ""};

	row->name = "";
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (s->nrows == 1 || s->varies[ws_sweep_key(s, ws_sweep_facts[i])])
			row->name = ws_sweep_list(s, row->name, words[i],
			                          ws_sweep_text(s, row->run, ws_sweep_facts[i]));
	row->name = ws_sweep_list_others(s, row->name, row->run, "", "");
}

/* --- speed-ups ------------------------------------------------------------------------------ */

/* Are they the same but for a fact? A dtype brings a loss scale of its own. */
static bool differ_only_in(const struct ws_sweep *s, const struct ws_sweep_run *a,
                           const struct ws_sweep_run *b, uint32_t key)
{
	const uint32_t follows = ws_sweep_key(s, "loss_scale");

	for (uint32_t k = 1; k <= s->keys.n; k++)
		if (ws_sweep_value(a, k) != ws_sweep_value(b, k) && k != key && k != follows &&
		    !is_no_work(s, k))
			return false;
	return true;
}

static void compare_rows(struct ws_sweep *s, struct ws_sweep_row *row,
                         const struct ws_sweep_row *base)
{
	struct ws_comparison c;
	size_t na, nb;
	const struct ws_samples a = samples_of(s, base, WS_SWEEP_TOTAL, &na),
	                        b = samples_of(s, row, WS_SWEEP_TOTAL, &nb);

	if (!na || !nb)
		return;
	ws_compare(&a, &b, &s->grade, &c);
	row->speedup = 1 / c.ratio;
	row->low = 1 / c.high;
	row->high = 1 / c.low;
	row->memory = row->peak_bytes / base->peak_bytes;
	row->is_assumed = c.basis == WS_BASIS_STEPS;
}

static struct ws_sweep_gain *gain_of(struct ws_sweep *s, uint32_t value)
{
	size_t i = 0;

	while (i < s->ngains && s->gains[i].value != value)
		i++;
	if (i == s->ngains)
		s->gains[s->ngains++] = (struct ws_sweep_gain){.value = value,
		                                               .min = INFINITY,
		                                               .low = NAN,
		                                               .high = NAN};
	return &s->gains[i];
}

static void find_gains(struct ws_sweep *s)
{
	s->gains = ws_arena_array(&s->arena, s->nrows, sizeof(*s->gains));
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const uint32_t value = ws_sweep_value(r->run, s->baseline_key);
		struct ws_sweep_gain *g;

		if (value == s->baseline_value)
			continue;
		g = gain_of(s, value);
		if (isnan(r->speedup))
			continue;
		g->n++;
		g->mean += log(r->speedup); /* a sum until all are in */
		g->memory += log(r->memory);
		g->min = fmin(g->min, r->speedup);
		g->max = fmax(g->max, r->speedup);
		g->low = fmin(g->low, r->low);
		g->high = fmax(g->high, r->high);
		g->under_1 += r->speedup < 1;
		g->faster += r->low > 1;
		g->slower += r->high < 1;
		g->unknown += isnan(r->low);
		g->is_assumed |= r->is_assumed;
	}
	for (size_t i = 0; i < s->ngains; i++) {
		s->gains[i].mean = exp(s->gains[i].mean / s->gains[i].n);
		s->gains[i].memory = exp(s->gains[i].memory / s->gains[i].n);
	}
}

static enum ws_status find_speedups(struct ws_sweep *s, struct ws_err *err)
{
	const char *given = s->opts->baseline;
	size_t len;
	uint64_t key, value = 0;

	s->baseline = given ? given : "dtype=fp32";
	len = strcspn(s->baseline, "=");
	key = ws_strtab_find(&s->keys.known, s->baseline, len);
	WS_FAIL_IF(given && (!given[len] || !key), err, USAGE,
	           "--baseline %s: no trace has such a fact; write KEY=VALUE, as in dtype=fp32",
	           given);
	if (s->baseline[len])
		value = ws_strtab_find(&s->texts.known, s->baseline + len + 1,
		                       strlen(s->baseline + len + 1));
	WS_FAIL_IF(given && !value, err, USAGE, "--baseline %s: no trace has this value", given);
	if (!key || !value)
		return WS_OK;
	s->baseline_key = (uint32_t)key;
	s->baseline_value = (uint32_t)value;
	for (size_t i = 0; i < s->nrows; i++)
		for (size_t base = 0; base < s->nrows; base++)
			if (ws_sweep_value(s->rows[base].run, s->baseline_key) ==
			            s->baseline_value &&
			    differ_only_in(s, s->rows[i].run, s->rows[base].run, s->baseline_key)) {
				compare_rows(s, &s->rows[i], &s->rows[base]);
				break;
			}
	find_gains(s);
	return WS_OK;
}

enum ws_status ws_sweep_find_rows(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                                  struct ws_err *err)
{
	s->opts = opts;
	s->grade = ws_grade_opts_of(&opts->grade, s->on_cpu);
	/* speed-ups are of whole steps */
	if (isnan(opts->grade.run_noise_percent) && !s->on_cpu)
		s->grade.run_noise = WS_RUN_NOISE_STEP_PERCENT / 100;
	if (s->nruns)
		qsort_r(s->runs, s->nruns, sizeof(*s->runs), by_configuration, s);
	s->rows = ws_arena_array(&s->arena, s->nruns, sizeof(*s->rows));
	for (size_t i = 0; i < s->nruns; i++) {
		if (!i || compare_runs(s, &s->runs[i - 1], &s->runs[i]))
			s->rows[s->nrows++].run = &s->runs[i];
		s->rows[s->nrows - 1].n++;
	}
	find_what_varies(s);
	for (size_t i = 0; i < s->nrows; i++) {
		find_times(s, &s->rows[i]);
		find_status(s, &s->rows[i]);
		find_name(s, &s->rows[i]);
	}
	return find_speedups(s, err);
}
