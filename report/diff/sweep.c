#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/analysis/steps.h"
#include "report/analysis/utilization.h"
#include "report/base/names.h"
#include "report/diff/sweep_private.h"

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the sweep");
}

struct ws_sweep *ws_sweep_new(void)
{
	return calloc(1, sizeof(struct ws_sweep));
}

void ws_sweep_free(struct ws_sweep *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nruns; i++) {
		free(s->runs[i].fact);
		for (int t = 0; t < WS_SWEEP_TIMES; t++)
			free(s->runs[i].ns[t]);
	}
	free(s->runs);
	free(s->rows);
	ws_names_release(&s->names);
	ws_texts_release(&s->keys);
	ws_arena_free(&s->arena);
	free(s);
}

/* --- facts ------------------------------------------------------------------------------- */

/* What two runs of one configuration may differ in. */
static bool says_nothing_of_the_work(struct ws_bytes key)
{
	static const char *const own[] = {"result",         "seed",       "skipped_steps",
	                                  "parameters",     "repetition", "device",
	                                  "libraries",      "steps",      "tokens_per_step",
	                                  "images_per_step"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (ws_name_is(key, own[i]))
			return true;
	return false;
}

static enum ws_status add_fact(struct ws_sweep *s, struct ws_sweep_run *run, struct ws_bytes key,
                               struct ws_bytes value, struct ws_err *err)
{
	uint32_t number;

	WS_FORWARD(ws_texts_add(&s->keys, key, &number, err));
	if (!number)
		return WS_OK;
	if (number >= run->nfacts) {
		uint32_t *grown = reallocarray(run->fact, number + 1, sizeof(*grown));

		if (!grown)
			return no_memory(err);
		memset(grown + run->nfacts, 0, (number + 1 - run->nfacts) * sizeof(*grown));
		run->fact = grown;
		run->nfacts = number + 1;
	}
	return ws_texts_add(&s->names.texts, value, &run->fact[number], err);
}

static uint32_t fact_of(const struct ws_sweep *s, const struct ws_sweep_run *run, const char *key)
{
	uint64_t number = ws_strtab_find(&s->keys.known, key, strlen(key));

	return number && number < run->nfacts ? run->fact[number] : 0;
}

uint32_t ws_sweep_fact(const struct ws_sweep *s, const struct ws_sweep_row *row, const char *key)
{
	return fact_of(s, &s->runs[row->first], key);
}

bool ws_sweep_has_key(const struct ws_sweep *s, const char *key)
{
	return ws_strtab_find(&s->keys.known, key, strlen(key)) != 0;
}

static bool as_number(struct ws_bytes text, double *out)
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
	struct ws_bytes x = ws_texts_get(&s->names.texts, a), y = ws_texts_get(&s->names.texts, b);
	double nx, ny;

	if (as_number(x, &nx) && as_number(y, &ny))
		return (nx > ny) - (nx < ny);
	return ws_name_compare(x, y);
}

/* --- runs -------------------------------------------------------------------------------- */

static enum ws_status new_run(struct ws_sweep *s, struct ws_sweep_run **run, struct ws_err *err)
{
	WS_FORWARD(WS_GROW(s->runs, s->nruns + 1, s->runs_allocated, err));
	*run = &s->runs[s->nruns++];
	**run = (struct ws_sweep_run){.flops = NAN,
	                              .model_ns = NAN,
	                              .peak_bytes = NAN,
	                              .softmax_percent = NAN};
	return WS_OK;
}

static enum ws_status keep_times(const struct ws_recording *r, struct ws_sweep_run *run,
                                 struct ws_err *err)
{
	static const int phases[] = {WS_PHASE_FORWARD, WS_PHASE_BACKWARD, WS_PHASE_OPTIMIZER};
	uint8_t present = 0;

	run->nsteps = r->has_steps ? r->nsamples : 0;
	for (size_t i = 0; i < run->nsteps; i++)
		present |= r->samples[i].phases;
	for (int t = 0; t < WS_SWEEP_TIMES && run->nsteps; t++) {
		if (t != WS_SWEEP_TOTAL && !(present >> phases[t] & 1))
			continue;
		run->ns[t] = calloc(run->nsteps, sizeof(double));
		if (!run->ns[t])
			return no_memory(err);
		for (size_t i = 0; i < run->nsteps; i++)
			run->ns[t][i] =
			        (double)(t == WS_SWEEP_TOTAL ? r->samples[i].step_ns
			                                     : r->samples[i].phase_ns[phases[t]]);
	}
	return WS_OK;
}

/* FLOPs of a step's products, and the time that the model's need at the peak. */
static enum ws_status keep_flops(const struct ws_model *m, struct ws_sweep_run *run,
                                 struct ws_err *err)
{
	struct ws_selection sel = {0};
	struct ws_utilization u = {0};
	enum ws_status status = ws_select(m, NULL, &sel, err);

	if (status == WS_OK)
		status = ws_utilization_of(m, &sel, &u, err);
	if (status == WS_OK && m->nmeasured) {
		run->flops = u.flops / (double)m->nmeasured;
		run->model_ns = u.model_sum_ns / (double)m->nmeasured;
	}
	ws_utilization_release(&u);
	ws_selection_release(&sel);
	return status;
}

static double softmax_share(const struct ws_recording *r, const struct ws_names *names)
{
	double softmax = 0, all = 0;

	for (size_t i = 0; i < r->nclasses; i++) {
		all += (double)r->classes[i].gpu_ns;
		if (ws_name_is(ws_texts_get(&names->texts, r->classes[i].class), "softmax"))
			softmax += (double)r->classes[i].gpu_ns;
	}
	return ws_stat_percent(softmax, all);
}

static enum ws_status keep_failure(struct ws_sweep *s, struct ws_sweep_run *run, const char *reason,
                                   struct ws_err *err)
{
	uint32_t result = fact_of(s, run, "result");

	if (reason)
		return ws_texts_add_str(&s->names.texts, reason, &run->failed, err);
	if (result && !ws_name_is(ws_texts_get(&s->names.texts, result), "ok"))
		run->failed = result;
	return WS_OK;
}

static enum ws_status read_run(struct ws_sweep *s, const struct ws_model *m, const char *reason,
                               struct ws_sweep_run *run, struct ws_recording *r, struct ws_err *err)
{
	WS_FORWARD(ws_recording_read(r, &s->names, m, err));
	for (size_t i = 0; i < m->nfacts; i++)
		WS_FORWARD(add_fact(s, run, m->facts[i].key, m->facts[i].value, err));
	WS_FORWARD(keep_failure(s, run, reason, err));
	WS_FORWARD(keep_times(r, run, err));
	WS_FORWARD(keep_flops(m, run, err));
	run->tokens = (double)ws_fact_number(m, "tokens_per_step");
	run->images = (double)ws_fact_number(m, "images_per_step");
	run->base_ns = r->base_ns;
	run->on_cpu = r->on_cpu != 0;
	if (r->peak_bytes >= 0)
		run->peak_bytes = (double)r->peak_bytes;
	run->softmax_percent = softmax_share(r, &s->names);
	if (!run->nsteps && !run->failed)
		return ws_texts_add_str(&s->names.texts, "no measured steps", &run->failed, err);
	return WS_OK;
}

enum ws_status ws_sweep_add(struct ws_sweep *s, const struct ws_model *m, const char *reason,
                            struct ws_err *err)
{
	struct ws_sweep_run *run;
	struct ws_recording r = {0};
	enum ws_status status;

	WS_FORWARD(new_run(s, &run, err));
	status = read_run(s, m, reason, run, &r, err);
	ws_recording_release(&r);
	return status;
}

enum ws_status ws_sweep_add_failed(struct ws_sweep *s, const char *facts, const char *reason,
                                   struct ws_err *err)
{
	struct ws_sweep_run *run;

	WS_FORWARD(new_run(s, &run, err));
	for (const char *line = facts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len = strcspn(line, "\n"), key = strcspn(line, "=\n");
		struct ws_bytes name = {line, key};

		if (key < len && !ws_name_is(name, "result"))
			WS_FORWARD(add_fact(s, run, name,
			                    (struct ws_bytes){line + key + 1, len - key - 1}, err));
	}
	return keep_failure(s, run, reason, err);
}

/* --- rows -------------------------------------------------------------------------------- */

/* The order of the table, and which runs are of one configuration. */
static int compare_runs(const struct ws_sweep *s, const struct ws_sweep_run *a,
                        const struct ws_sweep_run *b)
{
	static const char *const first[] = {"model", "context", "batch", "dtype", "phase"};

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++) {
		int c = ws_sweep_compare_values(s, fact_of(s, a, first[i]),
		                                fact_of(s, b, first[i]));

		if (c)
			return c;
	}
	for (uint32_t key = 1; key <= s->keys.n; key++) {
		uint32_t va = key < a->nfacts ? a->fact[key] : 0;
		uint32_t vb = key < b->nfacts ? b->fact[key] : 0;
		int c = says_nothing_of_the_work(ws_texts_get(&s->keys, key))
		                ? 0
		                : ws_sweep_compare_values(s, va, vb);

		/* what left no trace says only what was varied */
		if (c && va && vb)
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

/* Samples of the runs that did not fail. */
struct samples {
	double *values;
	size_t *steps;
	size_t n, recordings;
};

static enum ws_status gather(const struct ws_sweep *s, const struct ws_sweep_row *row, int time,
                             struct samples *out, struct ws_err *err)
{
	*out = (struct samples){0};
	for (size_t i = 0; i < row->n; i++)
		out->n += s->runs[row->first + i].nsteps;
	out->values = calloc(out->n + 1, sizeof(*out->values));
	out->steps = calloc(row->n + 1, sizeof(*out->steps));
	if (!out->values || !out->steps)
		return no_memory(err);
	out->n = 0;
	for (size_t i = 0; i < row->n; i++) {
		const struct ws_sweep_run *run = &s->runs[row->first + i];

		if (!run->ns[time] || run->failed)
			continue;
		memcpy(out->values + out->n, run->ns[time], run->nsteps * sizeof(double));
		out->steps[out->recordings++] = run->nsteps;
		out->n += run->nsteps;
	}
	return WS_OK;
}

static void release(struct samples *s)
{
	free(s->values);
	free(s->steps);
}

static enum ws_status find_times(const struct ws_sweep *s, struct ws_sweep_row *row,
                                 struct ws_err *err)
{
	for (int t = 0; t < WS_SWEEP_TIMES; t++) {
		struct samples all;
		double sum = 0, squares = 0;
		enum ws_status status = gather(s, row, t, &all, err);

		row->mean[t] = row->std[t] = NAN;
		for (size_t i = 0; i < all.n && status == WS_OK; i++)
			sum += all.values[i];
		if (status == WS_OK && all.n)
			row->mean[t] = sum / (double)all.n;
		for (size_t i = 0; i < all.n && status == WS_OK; i++)
			squares += (all.values[i] - row->mean[t]) * (all.values[i] - row->mean[t]);
		if (status == WS_OK && all.n > 1)
			row->std[t] = sqrt(squares / (double)(all.n - 1));
		if (t == WS_SWEEP_TOTAL)
			row->steps = all.n;
		release(&all);
		WS_FORWARD(status);
	}
	return WS_OK;
}

static enum ws_status find_rates(struct ws_sweep *s, struct ws_sweep_row *row, struct ws_err *err)
{
	const struct ws_sweep_run *run = &s->runs[row->first];
	double seconds = row->mean[WS_SWEEP_TOTAL] / 1e9;
	size_t failed = 0;

	row->tokens_per_s = run->tokens > 0 ? run->tokens / seconds : NAN;
	row->images_per_s = run->images > 0 ? run->images / seconds : NAN;
	row->flops = run->flops;
	row->tflops = run->flops / seconds / 1e12;
	row->mfu_percent = 100 * run->model_ns / row->mean[WS_SWEEP_TOTAL];
	row->peak_bytes = row->softmax_percent = NAN;
	for (size_t i = 0; i < row->n; i++) {
		const struct ws_sweep_run *other = &s->runs[row->first + i];

		failed += other->failed != 0;
		if (isnan(row->peak_bytes) || other->peak_bytes > row->peak_bytes)
			row->peak_bytes = other->peak_bytes;
		if (other->failed)
			row->status = other->failed;
	}
	row->softmax_percent = run->softmax_percent;
	row->speedup = row->low = row->high = NAN;
	if (failed && failed < row->n) {
		struct ws_bytes why = ws_texts_get(&s->names.texts, row->status);
		char text[512];

		snprintf(text, sizeof(text), "%zu of %zu recordings failed: %.*s", failed, row->n,
		         why.len < 400 ? (int)why.len : 400, (const char *)why.ptr);
		return ws_texts_add_str(&s->names.texts, text, &row->status, err);
	}
	return failed ? WS_OK : ws_texts_add_str(&s->names.texts, "ok", &row->status, err);
}

static enum ws_status find_rows(struct ws_sweep *s, struct ws_err *err)
{
	if (s->nruns)
		qsort_r(s->runs, s->nruns, sizeof(*s->runs), by_configuration, s);
	s->rows = calloc(s->nruns + 1, sizeof(*s->rows));
	if (!s->rows)
		return no_memory(err);
	for (size_t i = 0; i < s->nruns; i++) {
		if (!i || compare_runs(s, &s->runs[i - 1], &s->runs[i]))
			s->rows[s->nrows++].first = i;
		s->rows[s->nrows - 1].n++;
	}
	for (size_t i = 0; i < s->nrows; i++) {
		WS_FORWARD(find_times(s, &s->rows[i], err));
		WS_FORWARD(find_rates(s, &s->rows[i], err));
	}
	return WS_OK;
}

/* --- speed-ups --------------------------------------------------------------------------- */

/* The same configuration but for one fact, which has this value; NULL. */
static const struct ws_sweep_row *
baseline_of(const struct ws_sweep *s, const struct ws_sweep_row *row, uint32_t key, uint32_t value)
{
	const struct ws_sweep_run *run = &s->runs[row->first];

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_run *other = &s->runs[s->rows[i].first];
		bool same = key < other->nfacts && other->fact[key] == value;

		for (uint32_t k = 1; k <= s->keys.n && same; k++) {
			uint32_t a = k < run->nfacts ? run->fact[k] : 0;
			uint32_t b = k < other->nfacts ? other->fact[k] : 0;

			/* a dtype brings a loss scale of its own */
			same = k == key || a == b ||
			       says_nothing_of_the_work(ws_texts_get(&s->keys, k)) ||
			       ws_name_is(ws_texts_get(&s->keys, k), "loss_scale");
		}
		if (same)
			return &s->rows[i];
	}
	return NULL;
}

static enum ws_status compare_rows(const struct ws_sweep *s, struct ws_sweep_row *row,
                                   const struct ws_sweep_row *base, struct ws_err *err)
{
	struct samples a = {0}, b = {0};
	struct ws_comparison c;
	enum ws_status status = gather(s, base, WS_SWEEP_TOTAL, &a, err);

	if (status == WS_OK)
		status = gather(s, row, WS_SWEEP_TOTAL, &b, err);
	if (status == WS_OK && a.n && b.n) {
		struct ws_samples sa = {a.values, a.steps, a.recordings},
		                  sb = {b.values, b.steps, b.recordings};

		status = ws_compare(&sa, &sb, &s->grade, &c, err);
		if (status == WS_OK) {
			row->speedup = 1 / c.ratio;
			row->low = 1 / c.high;
			row->high = 1 / c.low;
		}
	}
	release(&a);
	release(&b);
	return status;
}

static enum ws_status find_speedups(struct ws_sweep *s, const char *baseline, struct ws_err *err)
{
	const char *wanted = baseline ? baseline : "dtype=fp32";
	size_t len = strcspn(wanted, "=");
	uint64_t key = ws_strtab_find(&s->keys.known, wanted, len), value;

	WS_FAIL_IF(baseline && (!wanted[len] || !key), err, USAGE,
	           "--baseline %s: no trace has such a fact; write KEY=VALUE, as in dtype=fp32",
	           baseline);
	if (!key)
		return WS_OK;
	value = ws_strtab_find(&s->names.texts.known, wanted + len + 1, strlen(wanted + len + 1));
	WS_FAIL_IF(baseline && !value, err, USAGE, "--baseline %s: no trace has this value",
	           baseline);
	for (size_t i = 0; i < s->nrows && value; i++) {
		const struct ws_sweep_row *base =
		        baseline_of(s, &s->rows[i], (uint32_t)key, (uint32_t)value);

		if (base)
			WS_FORWARD(compare_rows(s, &s->rows[i], base, err));
	}
	return WS_OK;
}

/* --- the tables -------------------------------------------------------------------------- */

static void set_text(const struct ws_sweep *s, struct ws_table *t, struct ws_cell *cell,
                     uint32_t text)
{
	struct ws_bytes bytes = ws_texts_get(&s->names.texts, text);
	double number;

	if (!bytes.len)
		return;
	if (t->def->columns[cell - (t->cells + (t->nrows - 1) * t->def->ncolumns)].type ==
	            WS_CELL_INT &&
	    as_number(bytes, &number))
		ws_cell_set_int(cell, (int64_t)number);
	else
		ws_cell_set_text(t, cell, bytes.ptr, bytes.len);
}

/* Facts in which the rows differ and that have no column: "kernel_width 5, layers 2". */
static void set_others(const struct ws_sweep *s, struct ws_table *t, struct ws_cell *cell,
                       const struct ws_sweep_row *row)
{
	static const char *const shown[] = {"model", "context", "batch",
	                                    "dtype", "phase",   "loss_scale"};
	const struct ws_sweep_run *run = &s->runs[row->first];
	char text[512] = "";
	size_t n = 0;

	for (uint32_t key = 1; key <= s->keys.n; key++) {
		struct ws_bytes name = ws_texts_get(&s->keys, key), value;
		bool differs = false, has_column = says_nothing_of_the_work(name);

		for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
			has_column |= ws_name_is(name, shown[i]);
		for (size_t i = 0; i < s->nruns; i++)
			differs |= key < s->runs[i].nfacts && key < run->nfacts &&
			           s->runs[i].fact[key] && s->runs[i].fact[key] != run->fact[key];
		if (has_column || !differs || key >= run->nfacts || !run->fact[key])
			continue;
		value = ws_texts_get(&s->names.texts, run->fact[key]);
		if (n + name.len + value.len + 3 > sizeof(text))
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s %.*s", n ? ", " : "",
		                      (int)name.len, (const char *)name.ptr, (int)value.len,
		                      (const char *)value.ptr);
	}
	if (n)
		ws_cell_set_text(t, cell, text, n);
}

static void fill(const struct ws_sweep *s, struct ws_table *t)
{
	static const int means[] = {WS_TC_sweep_forward_ns, WS_TC_sweep_backward_ns,
	                            WS_TC_sweep_optimizer_ns, WS_TC_sweep_total_ns};

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *row = &s->rows[i];
		struct ws_cell *cells = ws_table_row(t);

		set_text(s, t, &cells[WS_TC_sweep_model], ws_sweep_fact(s, row, "model"));
		set_text(s, t, &cells[WS_TC_sweep_context], ws_sweep_fact(s, row, "context"));
		set_text(s, t, &cells[WS_TC_sweep_batch], ws_sweep_fact(s, row, "batch"));
		set_text(s, t, &cells[WS_TC_sweep_dtype], ws_sweep_fact(s, row, "dtype"));
		set_text(s, t, &cells[WS_TC_sweep_phase], ws_sweep_fact(s, row, "phase"));
		ws_cell_set_int(&cells[WS_TC_sweep_recordings], (int64_t)row->n);
		ws_cell_set_int(&cells[WS_TC_sweep_steps], (int64_t)row->steps);
		for (int k = 0; k < WS_SWEEP_TIMES; k++) {
			ws_cell_set_real(&cells[means[k]], row->mean[k]);
			ws_cell_set_real(&cells[means[k] + 1], row->std[k]);
		}
		ws_cell_set_real(&cells[WS_TC_sweep_tokens], row->tokens_per_s);
		ws_cell_set_real(&cells[WS_TC_sweep_images], row->images_per_s);
		ws_cell_set_real(&cells[WS_TC_sweep_tflops], row->tflops);
		ws_cell_set_real(&cells[WS_TC_sweep_mfu], row->mfu_percent);
		ws_cell_set_real(&cells[WS_TC_sweep_peak_bytes], row->peak_bytes);
		ws_cell_set_real(&cells[WS_TC_sweep_softmax], row->softmax_percent);
		ws_cell_set_real(&cells[WS_TC_sweep_speedup], row->speedup);
		ws_cell_set_real(&cells[WS_TC_sweep_low], row->low);
		ws_cell_set_real(&cells[WS_TC_sweep_high], row->high);
		set_text(s, t, &cells[WS_TC_sweep_status], row->status);
		set_others(s, t, &cells[WS_TC_sweep_others], row);
	}
	ws_table_note(t,
	              "MFU: FLOPs of the forward's matrix products and convolutions, three times "
	              "where there is a backward, over the step's time and the dense peak of "
	              "the dtype that they ran in; attention counts all positions, also where "
	              "the mask hides them. Empty where the device's peak is not known.");
}

static struct ws_table *add_table(struct ws_report *report, const struct ws_table_def *def)
{
	struct ws_table *t = ws_table_new(def);

	if (t)
		report->tables[report->ntables++] = t;
	return t;
}

static enum ws_status make_tables(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                                  struct ws_report *report, struct ws_err *err)
{
	size_t count;
	const struct ws_table_def *const *defs = ws_sweep_defs(&count);
	struct ws_table *rows, *t;

	WS_FORWARD(find_rows(s, err));
	WS_FORWARD(find_speedups(s, opts->baseline, err));
	rows = add_table(report, &ws_def_sweep);
	if (!rows)
		return no_memory(err);
	fill(s, rows);
	WS_FORWARD(ws_sweep_pivot(s, opts, rows, &t, err));
	report->tables[report->ntables++] = t;
	t = add_table(report, &ws_def_sweep_scaling);
	if (!t)
		return no_memory(err);
	WS_FORWARD(ws_sweep_scaling(s, t, err));
	t = add_table(report, &ws_def_sweep_method);
	if (!t)
		return no_memory(err);
	ws_method_fill(t, defs, count);
	for (size_t i = 0; i < report->ntables; i++)
		WS_FORWARD(ws_table_done(report->tables[i], err));
	return WS_OK;
}

enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err)
{
	struct ws_report *report = calloc(1, sizeof(*report));
	char *trace = NULL;
	bool on_cpu = false;
	enum ws_status status = WS_OK;

	*out = NULL;
	if (!report)
		return no_memory(err);
	for (size_t i = 0; i < s->nruns; i++)
		on_cpu |= s->runs[i].on_cpu;
	s->grade = ws_grade_opts_of(&opts->grade, on_cpu);
	report->title = "Warpsheet sweep";
	report->filter = strdup("");
	report->tables = calloc(5, sizeof(struct ws_table *));
	report->created_ns = s->nruns ? s->runs[0].base_ns : 0;
	if (asprintf(&trace, "%zu traces", s->nruns) >= 0)
		report->trace = trace;
	if (!report->filter || !report->tables || !report->trace)
		status = no_memory(err);
	if (status == WS_OK)
		status = make_tables(s, opts, report, err);
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}
