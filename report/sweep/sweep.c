/* The runs of a sweep: facts of their configurations and times of their steps; runs grouped by
 * configuration, and speed-ups over other configurations. */

#include "report/analysis/energy.h"
#include "report/base/elementary.h"
#include "report/diff/recording.h"
#include "report/model/load.h"
#include "report/names/names.h"
#include "report/page/page.h"
#include "report/sweep/sweep.h"
#include "report/tables/tables.h"

/* --- the runs of a sweep and their configurations --------------------------------------------- */

enum ws_sweep_time {
	WS_SWEEP_FORWARD,
	WS_SWEEP_BACKWARD,
	WS_SWEEP_OPTIMIZER,
	WS_SWEEP_TOTAL,
	/* on the device: windows of the kernels */
	WS_SWEEP_FORWARD_WINDOW,
	WS_SWEEP_BACKWARD_WINDOW,
	WS_SWEEP_OPTIMIZER_WINDOW,
	WS_SWEEP_TIMES
};

/* The data of one trace that a sweep needs. */
struct ws_sweep_run {
	uint32_t *fact; /* number of the key -> text of its value; 0 = unknown */
	size_t nfacts;
	size_t nsteps;
	double *ns[WS_SWEEP_TIMES]; /* by step; NULL: no such phase */
	double tokens, images;      /* per step; 0 = unknown */
	double flops;               /* of a step's products; NaN = unknown */
	double model_ns,
	        ran_ns; /* time at the peak of the model's and of all products; NaN = unknown */
	double peak_bytes, softmax_percent;
	double products;               /* kernels of products per step */
	double mhz;                    /* mean sampled clock; 0 = not recorded */
	double noise;                  /* assumed between runs, as in diff; NaN = unknown */
	uint32_t failed;               /* text: reason of failure; 0 = it did not fail */
	size_t nameless;               /* a unique number if its configuration is unknown; else 0 */
	uint64_t file_hash, file_size; /* 0: there is no trace */
	bool has_steps;                /* if false, its only time is the elapsed one, as in diff */
};

/* Begin of the status of a configuration with at least one successful run. */
#define WS_SWEEP_OK "ok"

/* A configuration with all its runs. */
struct ws_sweep_row {
	const struct ws_sweep_run *run; /* the first of n; failed runs come last */
	size_t n;
	size_t steps;
	double mean[WS_SWEEP_TIMES], std[WS_SWEEP_TIMES]; /* NaN = not known */
	double mfu_percent, hfu_percent, peak_bytes;
	double mhz;
	const struct ws_sweep_row *base; /* with which it is compared; NULL: there is none */
	/* its time per step over that of the baseline; of different work, per token or image where
	 * these are known, graded only then */
	struct ws_comparison c;
	struct ws_comparison
	        of_means; /* of mean steps, if they certainly differ from that; else NONE */
	bool by_clocks;   /* the clocks explain the difference */
	double speedup, low, high;
	double memory;     /* its peak over that of the baseline */
	const char *name;  /* distinguishing facts: "transformer-small, context 128, layers 2" */
	const char *check; /* result of ws_over_peak for MFU and HFU */
	const char *status;
};

/* Configurations with one value of the baseline's fact, compared with their baselines: geometric
 * means. */
struct ws_sweep_gain {
	uint32_t value;
	/* number of configurations: all that are compared, with a speed-up under 1; certainly or
	 * likely faster, slower, the same; without an interval, with clocks that explain it, with
	 * slow steps that the median does not show; with other work, which are not compared */
	unsigned n, under_1, faster, slower, equal, unknown, by_clocks, slow_steps, unlike;
	double mean, min, max, low, high, memory; /* NaN = not known */
	bool is_assumed;                          /* an interval uses an assumed noise */
};

struct ws_sweep {
	struct ws_texts texts; /* values of facts, reasons */
	struct ws_texts keys;  /* keys of facts */
	struct ws_sweep_run *runs;
	size_t nruns, runs_capacity;
	size_t ncopies;     /* runs left out because they are copies of another run */
	bool on_cpu;        /* a run is on the CPU reference */
	int64_t created_ns; /* of the first trace */
	/* the following members are set once all traces are read */
	const struct ws_sweep_opts *opts;
	struct ws_grade_opts grade;
	bool *varies; /* by key: do the values of runs differ? */
	struct ws_sweep_row *rows;
	size_t nrows, nfailed;   /* nfailed: runs */
	const char *baseline;    /* KEY=VALUE of the baseline of speed-ups */
	uint32_t baseline_key;   /* number of the key; 0: no trace has it with this value */
	uint32_t baseline_value; /* text */
	/* configurations with different values of the baseline's fact do different work, and are
	 * compared per token or image; per_step: these are not known */
	bool of_work, per_step;
	double least_noise, most_noise; /* assumed of intervals; NaN: of none */
	struct ws_sweep_gain *gains;    /* for each other value, in the order of the rows */
	size_t ngains;
	const struct ws_table *table; /* the table sweep, after it is made */
	struct ws_arena arena;
};

/* --- sweep.c: facts ------------------------------------------------------------------------- */

/* Facts that have a column, in their order. */
#define WS_SWEEP_FACTS 5
static const char *const ws_sweep_facts[WS_SWEEP_FACTS] = {"model", "context", "batch", "dtype",
                                                           "phase"};

/* The number of a key; 0: no run has the key. */
static uint32_t ws_sweep_key(const struct ws_sweep *s, const char *key);
/* The value of a fact by the number of its key; 0 = not known. */
static inline uint32_t ws_sweep_value(const struct ws_sweep_run *run, uint32_t key)
{
	return key < run->nfacts ? run->fact[key] : 0;
}
/* The same by its name, as a text. */
static inline struct ws_bytes ws_sweep_text(const struct ws_sweep *s,
                                            const struct ws_sweep_run *run, const char *key)
{
	return ws_texts_get(&s->texts, ws_sweep_value(run, ws_sweep_key(s, key)));
}

/* --- sweep.c: configurations ---------------------------------------------------------------- */

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

/* May two runs of one configuration differ in this fact? */
static bool is_no_work(const struct ws_sweep *s, uint32_t key)
{
	static const char *const own[] = {"result",          "seed",
	                                  "skipped_steps",   "parameters",
	                                  "libraries",       "repetition",
	                                  "steps",           "tokens_per_step",
	                                  "images_per_step", "claimed_step_ms"};

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

static uint32_t ws_sweep_key(const struct ws_sweep *s, const char *key)
{
	return (uint32_t)ws_strtab_find(&s->keys.known, key, strlen(key));
}

/* Parses a number; false if the text is not a number. */
static bool ws_sweep_number(struct ws_bytes text, double *out)
{
	char copy[32] = "", *end;

	if (!text.len || text.len >= sizeof(copy))
		return false;
	memcpy(copy, text.ptr, text.len);
	*out = strtod(copy, &end);
	/* no hexadecimal numbers, infinities and NaN */
	return !*end && isfinite(*out) && !strpbrk(copy, "xX");
}

/* Compares two values as numbers if both are numbers, else as texts; unknown values come first. */
static int ws_sweep_compare_values(const struct ws_sweep *s, uint32_t a, uint32_t b)
{
	struct ws_bytes x = ws_texts_get(&s->texts, a), y = ws_texts_get(&s->texts, b);
	double nx, ny;

	if (ws_sweep_number(x, &nx) && ws_sweep_number(y, &ny))
		return (nx > ny) - (nx < ny);
	return ws_name_compare(x, y);
}

/* Appends ", word value" to list; nothing for an unknown value. */
static const char *ws_sweep_list(struct ws_sweep *s, const char *list, const char *word,
                                 struct ws_bytes value)
{
	enum { MOST_SHOWN = 200 };

	if (!value.len)
		return list;
	return ws_arena_format(&s->arena, "%s%s%s%s%.*s", list, *list ? ", " : "", word,
	                       *word ? " " : "", WS_SHOWN_MOST(value, MOST_SHOWN));
}

/* Appends to list the facts that differ between runs and have no column, except these two:
 * "kernel_width 5, layers 2". */
static const char *ws_sweep_list_others(struct ws_sweep *s, const char *list,
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

/* --- times ------------------------------------------------------------------------------- */

static void keep_failure(struct ws_sweep *s, struct ws_sweep_run *run, const char *reason)
{
	const struct ws_bytes result = ws_sweep_text(s, run, "result");

	if (reason)
		run->failed = ws_texts_add_str(&s->texts, reason);
	else if (result.len && !ws_name_is(result, "ok"))
		run->failed = ws_texts_add(&s->texts, result);
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

void ws_sweep_add(struct ws_sweep *s, const struct ws_model *m, struct ws_joined_rows *rows,
                  const char *reason)
{
	int64_t peak = ws_memory_peak(m);
	struct ws_filter steps = WS_FILTER_ALL;
	struct ws_selection sel = {0};

	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].file_hash == m->file.file_hash &&
		    s->runs[i].file_size == m->file.file_size) {
			s->ncopies++;
			return;
		}
	struct ws_sweep_run *run = new_run(s);
	run->file_hash = m->file.file_hash;
	run->file_size = m->file.file_size;
	for (size_t i = 0; i < m->nfacts; i++)
		add_fact(s, run, m->facts[i].key, m->facts[i].value);
	/* if a program reports no facts, its arguments distinguish configurations */
	if (!m->nfacts)
		add_fact(s, run, ws_bytes_of("arguments"),
		         ws_meta_value(&m->meta, "program.arguments"));
	/* the GPU is part of the configuration */
	if (ws_model_device_name(m).len)
		add_fact(s, run, ws_bytes_of("device"), ws_model_device_name(m));
	keep_failure(s, run, reason);
	steps.scope = WS_SCOPE_STEPS;
	ws_select_rows(m, rows, &steps, &sel);
	const struct ws_windows *w = ws_windows(m, &sel);
	if (w->n) {
		run->has_steps = w->window[0].step != WS_NONE;
		/* a trace with device work but without steps is compared as a whole */
		if (run->has_steps || rows->nkernels || m->nwork)
			run->nsteps = w->n;
		/* a step is not compared with a whole run */
		if (run->nsteps && !run->failed)
			add_fact(s, run, ws_bytes_of("total"),
			         ws_bytes_of(run->has_steps ? "of a step" : "elapsed"));
	}
	static const int phases[] = {WS_PHASE_FORWARD, WS_PHASE_BACKWARD, WS_PHASE_OPTIMIZER};
	const struct ws_step_times *times = ws_step_times(m, &sel);
	uint8_t present = 0, on_device = UINT8_MAX;

	for (size_t i = 0; i < run->nsteps && run->has_steps; i++) {
		present |= m->steps[w->window[i].step].phases;
		for (int p = 0; p < WS_PHASES; p++)
			on_device &= (uint8_t) ~((times->window_ns[w->window[i].step][p] < 0) << p);
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
			                         ? w->window[i].end_ns - w->window[i].start_ns
			                 : is_window ? times->window_ns[w->window[i].step][phase]
			                             : m->steps[w->window[i].step].phase_ns[phase]);
	}
	if (m->nmeasured) {
		const struct ws_utilization *u = ws_utilization_find(m, &sel);

		run->flops = u->flops / (double)m->nmeasured;
		run->model_ns = u->model_sum_ns / (double)m->nmeasured;
		run->ran_ns = u->ran_sum_ns / (double)m->nmeasured;
	}

	/* Sets the share of softmax in the GPU time of the measured steps. If a trace has no dtype,
	 * adds the dtype of most of the time of its products, because runs with different dtypes
	 * are different configurations. */
	static const char *const products[] = {"gemm", "conv", "attention"};
	struct ws_arena temp = {0};
	int64_t *ns, softmax_ns = 0; /* ns: by dtype */
	uint32_t most = 0;
	bool *is_product; /* by class */

	WS_NEW(&temp, ns, m->ntexts);
	WS_NEW(&temp, is_product, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		is_product[i] = WS_NAME_IS_ONE_OF(m->texts[i], products);
	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);

		if (!ws_kernel_selected(m, &sel, k, i))
			continue;
		if (k->kind->class == WS_TEXT_SOFTMAX) {
			softmax_ns += k->dur_ns;
		} else if (is_product[k->kind->class]) {
			ns[k->kind->dtype] += k->dur_ns;
			run->products += 1 / fmax(1, (double)run->nsteps);
		}
		if (ns[k->kind->dtype] > ns[most])
			most = k->kind->dtype;
	}
	run->softmax_percent = ws_stat_percent((double)softmax_ns, (double)sel.gpu_ns);
	if (most && !ws_model_fact(m, "dtype").len)
		add_fact(s, run, ws_bytes_of("dtype"), m->texts[most]);
	ws_arena_free(&temp);
	double use_ns[WS_USES] = {0};
	const struct ws_idle *idle = run->nsteps ? ws_idle_find(m, &sel) : NULL;

	for (size_t i = 0; i < run->nsteps; i++)
		for (int use = 0; use < WS_USES; use++)
			use_ns[use] += (double)idle->of_window[i].ns[use];
	const double waiting = ws_noise_of_waiting(use_ns);
	if (waiting > 0 && run->nsteps)
		run->noise =
		        fmax(waiting, ws_scatter_of_steps(run->ns[WS_SWEEP_TOTAL], run->nsteps));
	if (ws_model_on_cpu(m))
		run->noise = NAN;
	run->mhz = ws_energy_clock(m, &sel);
	ws_selection_release(&sel);
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

/* A failed run has only the facts known by then: it gets those of a successful run that agrees in
 * all of them. */
static void complete_failed(struct ws_sweep *s)
{
	for (struct ws_sweep_run *run = s->runs; run < s->runs + s->nruns; run++) {
		const struct ws_sweep_run *like = run->failed && !run->nameless ? s->runs : NULL;

		for (; like && like < s->runs + s->nruns; like++) {
			bool agrees = !like->failed;

			for (uint32_t k = 1; k <= s->keys.n && agrees; k++)
				agrees = is_no_work(s, k) || !ws_sweep_value(run, k) ||
				         ws_sweep_value(run, k) == ws_sweep_value(like, k);
			if (agrees)
				break;
		}
		for (uint32_t k = 1; like && like < s->runs + s->nruns && k <= s->keys.n; k++)
			if (!is_no_work(s, k) && !ws_sweep_value(run, k) && ws_sweep_value(like, k))
				add_fact(s, run, ws_texts_get(&s->keys, k),
				         ws_texts_get(&s->texts, ws_sweep_value(like, k)));
	}
}

/* Order of runs in the table; equal runs have one configuration. A fact that one of them lacks
 * separates them, too. */
static int compare_runs(const struct ws_sweep *s, const struct ws_sweep_run *a,
                        const struct ws_sweep_run *b)
{
	int c = (a->nameless > b->nameless) - (a->nameless < b->nameless);

	for (size_t i = 0; i < WS_SWEEP_FACTS && !c; i++) {
		const uint32_t key = ws_sweep_key(s, ws_sweep_facts[i]);

		c = ws_sweep_compare_values(s, ws_sweep_value(a, key), ws_sweep_value(b, key));
	}
	for (uint32_t key = 1; key <= s->keys.n && !c; key++)
		if (!is_no_work(s, key))
			c = ws_sweep_compare_values(s, ws_sweep_value(a, key),
			                            ws_sweep_value(b, key));
	return c;
}

static int by_configuration(const void *pa, const void *pb, void *arg)
{
	const struct ws_sweep_run *a = pa, *b = pb;
	const int c = compare_runs(arg, a, b);

	return c ? c : (a->failed > 0) - (b->failed > 0);
}

/* Samples of one time over all steps of the successful runs; n values in total. */
static struct ws_samples times_of(struct ws_sweep *s, const struct ws_sweep_row *row, int time,
                                  double items, size_t *n)
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
		for (size_t k = 0; k < run->nsteps; k++)
			values[*n + k] = run->ns[time][k] / items;
		steps[out.recordings++] = run->nsteps;
		*n += run->nsteps;
	}
	return out;
}

/* Of whole steps, per item of which a step has so many. */
static struct ws_samples samples_of(struct ws_sweep *s, const struct ws_sweep_row *row,
                                    double items, size_t *n)
{
	return times_of(s, row, WS_SWEEP_TOTAL, items, n);
}

/* --- speed-ups ------------------------------------------------------------------------------ */

/* Do two configurations differ only in one fact? The loss scale may differ with the dtype. */
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

/* Facts that make the work of a step another one. */
static bool is_of_work(struct ws_bytes key)
{
	static const char *const keys[] = {"model", "layers",       "batch",           "context",
	                                   "phase", "kernel_width", "depth_multiplier"};

	return WS_NAME_IS_ONE_OF(key, keys);
}

/* Tokens or images per step, if both have them; else 0. */
static double items_of(const struct ws_sweep_row *row, const struct ws_sweep_row *other)
{
	if (row->run->tokens > 0 && other->run->tokens > 0)
		return row->run->tokens;
	return row->run->images > 0 && other->run->images > 0 ? row->run->images : 0;
}

/* The options for a comparison of two rows: with the noise that diff would assume. */
static struct ws_grade_opts grade_opts(struct ws_sweep *s, const struct ws_sweep_row *a,
                                       const struct ws_sweep_row *b)
{
	const struct ws_sweep_row *rows[] = {a, b};
	struct ws_grade_opts opts = s->grade;

	for (size_t i = 0; i < 2 && isnan(s->opts->grade.run_noise_percent); i++)
		for (size_t k = 0; k < rows[i]->n; k++)
			if (!rows[i]->run[k].failed)
				opts.run_noise = fmax(opts.run_noise, rows[i]->run[k].noise);
	return opts;
}

/* Compares a row with its baseline; all but the grade. */
static void compare_rows(struct ws_sweep *s, struct ws_sweep_row *row)
{
	const struct ws_sweep_row *base = row->base;
	const struct ws_grade_opts opts = grade_opts(s, base, row);
	const bool per_item = s->of_work && items_of(row, base) > 0;
	size_t na, nb;
	const struct ws_samples a = samples_of(s, base, per_item ? items_of(base, row) : 1, &na),
	                        b = samples_of(s, row, per_item ? items_of(row, base) : 1, &nb);

	row->of_means.grade = row->c.grade = WS_GRADE_NONE;
	if (!na || !nb) {
		row->base = NULL;
		return;
	}
	ws_compare(&a, &b, &opts, &row->c);
	if (row->run->has_steps)
		ws_compare_means(&a, &b, &opts, &row->of_means, NULL);
	if (s->of_work ? !per_item : ws_work_apart(row->run->flops, base->run->flops))
		row->c.grade = row->of_means.grade = WS_GRADE_UNLIKE;
	row->memory = row->peak_bytes / base->peak_bytes;
	if (row->c.basis == WS_BASIS_STEPS && !row->c.identical && !isnan(row->c.run_noise)) {
		s->least_noise = fmin(s->least_noise, row->c.run_noise);
		s->most_noise = fmax(s->most_noise, row->c.run_noise);
	}
}

static enum ws_status find_speedups(struct ws_sweep *s, struct ws_err *err)
{
	const char *given = s->opts->baseline;
	uint64_t key, value = 0;

	s->least_noise = s->most_noise = NAN;
	s->baseline = given ? given : "dtype=fp32";
	size_t len = strcspn(s->baseline, "=");
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
	s->of_work = is_of_work(ws_texts_get(&s->keys, s->baseline_key));
	struct ws_comparison **compared =
	        ws_arena_array(&s->arena, s->nrows, sizeof(struct ws_comparison *));
	size_t n = 0;
	for (size_t i = 0; i < s->nrows; i++) {
		struct ws_sweep_row *row = &s->rows[i];

		for (size_t k = 0; k < s->nrows && !row->base; k++)
			if (ws_sweep_value(s->rows[k].run, s->baseline_key) == s->baseline_value &&
			    differ_only_in(s, row->run, s->rows[k].run, s->baseline_key))
				row->base = &s->rows[k];
		if (!row->base)
			continue;
		compare_rows(s, row);
		if (row->base && row->base != row)
			compared[n++] = &row->c;
	}
	ws_grade_rows(compared, n, &s->grade);
	const uint32_t device = ws_sweep_key(s, "device");
	for (size_t i = 0; i < s->nrows; i++) {
		struct ws_sweep_row *row = &s->rows[i];
		struct ws_comparison *c = &row->c;

		if (!row->base)
			continue;
		if (ws_grade_is_different(c->grade) &&
		    ws_sweep_value(row->run, device) == ws_sweep_value(row->base->run, device) &&
		    ws_clocks_explain(c->ratio, (double[]){row->base->mhz, row->mhz}, true,
		                      s->grade.min_effect)) {
			c->grade = WS_GRADE_AMBIGUOUS;
			row->by_clocks = true;
		}
		if (!ws_grade_is_different(row->of_means.grade) ||
		    (row->of_means.low <= c->high && row->of_means.high >= c->low))
			row->of_means.grade = WS_GRADE_NONE;
		if (c->grade == WS_GRADE_UNLIKE && !s->of_work)
			continue;
		s->per_step |= c->grade == WS_GRADE_UNLIKE;
		row->speedup = 1 / c->ratio;
		row->low = 1 / c->high;
		row->high = 1 / c->low;
	}
	s->gains = ws_arena_array(&s->arena, s->nrows, sizeof(*s->gains));
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const uint32_t own = ws_sweep_value(r->run, s->baseline_key);

		if (own == s->baseline_value)
			continue;
		struct ws_sweep_gain *g = s->gains;
		while (g < s->gains + s->ngains && g->value != own)
			g++;
		if (g == s->gains + s->ngains)
			s->gains[s->ngains++] = (struct ws_sweep_gain){.value = own,
			                                               .min = INFINITY,
			                                               .low = NAN,
			                                               .high = NAN};
		g->unlike += r->base && isnan(r->speedup);
		if (isnan(r->speedup))
			continue;
		g->n++;
		g->mean += ws_log(r->speedup); /* a sum until the end */
		g->memory += ws_log(r->memory);
		g->min = fmin(g->min, r->speedup);
		g->max = fmax(g->max, r->speedup);
		g->low = fmin(g->low, r->low);
		g->high = fmax(g->high, r->high);
		g->under_1 += r->speedup < 1;
		g->faster += ws_grade_is_faster(r->c.grade);
		g->slower += ws_grade_is_slower(r->c.grade);
		g->equal += r->c.grade == WS_GRADE_SAME;
		g->unknown += isnan(r->low);
		g->by_clocks += r->by_clocks;
		g->slow_steps += r->of_means.grade != WS_GRADE_NONE;
		g->is_assumed |= r->c.basis == WS_BASIS_STEPS;
	}
	for (size_t i = 0; i < s->ngains; i++) {
		s->gains[i].mean = ws_exp(s->gains[i].mean / s->gains[i].n);
		s->gains[i].memory = ws_exp(s->gains[i].memory / s->gains[i].n);
	}
	return WS_OK;
}

/* The report of a sweep: its tables, the sentences of its verdict and its first screen. */

/* --- configuration: a row of `sweep` -------------------------------------------------------- */

static size_t count_configurations(void *ctx)
{
	return ((const struct ws_sweep *)ctx)->nrows;
}

/* Puts a number if the text is one. */
static void put_number(struct ws_put *out, struct ws_bytes value)
{
	double number;

	if (ws_sweep_number(value, &number) && fabs(number) < 1e15 && number == round(number))
		ws_put_int(out, (int64_t)number);
	else
		ws_put_text(out, value);
}

/* A phase, and its window on the device. */
#define PHASE(X, name, NAME)                                                         \
	X(name##_ns, ws_put_real(out, row->mean[WS_SWEEP_##NAME]))                   \
	X(name##_std_ns, ws_put_real(out, row->std[WS_SWEEP_##NAME]))                \
	X(window_##name##_ns, ws_put_real(out, row->mean[WS_SWEEP_##NAME##_WINDOW])) \
	X(window_##name##_deviation_ns, ws_put_real(out, row->std[WS_SWEEP_##NAME##_WINDOW]))

#define CONFIGURATION(X)                                                                   \
	X(model, ws_put_text(out, ws_sweep_text(s, run, "model")))                         \
	X(context, put_number(out, ws_sweep_text(s, run, "context")))                      \
	X(batch, put_number(out, ws_sweep_text(s, run, "batch")))                          \
	X(dtype, ws_put_text(out, ws_sweep_text(s, run, "dtype")))                         \
	X(phase, ws_put_text(out, ws_sweep_text(s, run, "phase")))                         \
	X(recordings, ws_put_count(out, row->n))                                           \
	X(steps, if (run->has_steps || !row->steps) ws_put_count(out, row->steps))         \
	PHASE(X, forward, FORWARD)                                                         \
	PHASE(X, backward, BACKWARD)                                                       \
	PHASE(X, optimizer, OPTIMIZER)                                                     \
	X(total_ns, ws_put_real(out, row->mean[WS_SWEEP_TOTAL]))                           \
	X(total_std_ns, ws_put_real(out, row->std[WS_SWEEP_TOTAL]))                        \
	X(step_tokens, if (run->tokens > 0) ws_put_real(out, run->tokens))                 \
	X(step_images, if (run->images > 0) ws_put_real(out, run->images))                 \
	X(step_flops, ws_put_real(out, run->flops))                                        \
	X(mfu, ws_put_real(out, row->mfu_percent))                                         \
	X(hfu, ws_put_real(out, row->hfu_percent))                                         \
	X(check, ws_put_str(out, row->check))                                              \
	X(peak_bytes, ws_put_real(out, row->peak_bytes))                                   \
	X(softmax, ws_put_real(out, run->softmax_percent))                                 \
	X(speedup, ws_put_real(out, row->speedup))                                         \
	X(low, ws_put_real(out, row->low))                                                 \
	X(high, ws_put_real(out, row->high))                                               \
	X(status, ws_put_text(out, ws_bytes_of(row->status)))                              \
	X(others, ws_put_text(out, ws_bytes_of(ws_sweep_list_others(s, "", run, "", "")))) \
	X(grade, if (row->base && row->base != row) ws_put_str(out, ws_grade_name(row->c.grade)))

static void put_configuration(void *ctx, size_t number, int column, struct ws_put *out)
{
	struct ws_sweep *s = ctx;
	const struct ws_sweep_row *row = &s->rows[number];
	const struct ws_sweep_run *run = row->run;

	WS_PUT_COLUMN(column, CONFIGURATION);
}

static const struct ws_relation configuration = {"configuration", CONFIGURATION(WS_COLUMN_NAME),
                                                 count_configurations, put_configuration};

void ws_sweep_relations(struct ws_query *q, struct ws_sweep *s)
{
	ws_query_add(q, &configuration, s);
}

/* --- sweep-pivot: the table of a sweep by two facts ----------------------------------------- */

#define MOST_SHOWN 5

struct pivot {
	struct ws_sweep *s;
	const char *row_title, *column_title; /* keys of the facts of rows and of columns */
	uint32_t row, column;                 /* their numbers */
	uint32_t *group;                      /* values of the columns' fact, once each, in order */
	size_t ngroups;
	int shown[MOST_SHOWN]; /* columns of the table sweep that each group shows */
	size_t nshown;
};

/* A key that the user gave, else the first of these that runs have in more than one value. */
static enum ws_status find_key(const struct ws_sweep *s, const char *given, const char *option,
                               const char *other, const char **out, struct ws_err *err)
{
	static const char *const usual[] = {"context", "batch", "dtype", "model", "layers"};

	WS_FAIL_IF(given && !ws_sweep_key(s, given), err, USAGE,
	           "--%s %s: no trace has such a fact; 'warpsheet info' lists a trace's", option,
	           given);
	*out = given;
	for (size_t k = 0; !*out && k < sizeof(usual) / sizeof(*usual); k++) {
		const uint32_t key = ws_sweep_key(s, usual[k]);

		for (size_t i = 1; i < s->nrows; i++)
			if (strcmp(usual[k], other) != 0 &&
			    ws_sweep_value(s->rows[i].run, key) !=
			            ws_sweep_value(s->rows[0].run, key))
				*out = usual[k];
	}
	if (!*out)
		*out = strcmp(other, "context") ? "context" : "batch";
	return WS_OK;
}

static int by_value(const void *a, const void *b, void *s)
{
	return ws_sweep_compare_values(s, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* The fixed columns of def, the first of which is called as --rows, and the groups'. */
static struct ws_table_def *make_def(const struct pivot *p, const struct ws_table_def *def)
{
	struct ws_arena *arena = &p->s->arena;
	const struct ws_table_column *from = p->s->table->def->columns;
	struct ws_table_def *made = ws_arena_alloc(arena, sizeof(*made));
	struct ws_table_column *columns =
	        ws_arena_array(arena, def->ncolumns + p->ngroups * p->nshown, sizeof(*columns));
	size_t at = def->ncolumns;

	memcpy(columns, def->columns, at * sizeof(*columns));
	columns[0].title = ws_arena_copy(arena, p->row_title, strlen(p->row_title));
	for (size_t c = 0; c < p->ngroups; c++) {
		struct ws_bytes value = ws_texts_get(&p->s->texts, p->group[c]);

		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_table_column *of = &from[p->shown[k]];

			columns[at] = *of;
			/* deviations too: they stand beside their means */
			if (!strcmp(of->unit, from[p->shown[0]].unit))
				columns[at].rank = WS_RANK_ANSWER;
			/* the ends of an interval are no ratios to draw */
			if (p->shown[k] == WS_TC_sweep_low || p->shown[k] == WS_TC_sweep_high)
				columns[at].display = WS_DISPLAY_REAL;
			columns[at].id = ws_arena_format(arena, "%s_%zu", of->id, c);
			/* that of a window is joined with its mean only here */
			if (strstr(of->id, "_deviation_ns"))
				columns[at].id = ws_arena_format(arena, "%.*s_std_ns_%zu",
				                                 (int)(strlen(of->id) -
				                                       strlen("_deviation_ns")),
				                                 of->id, c);
			columns[at++].title =
			        ws_arena_format(arena, "%s %.*s%s%s", p->column_title,
			                        value.len < 60 ? (int)value.len : 60,
			                        value.len ? (const char *)value.ptr : "",
			                        value.len ? " " : "", of->title);
		}
	}
	*made = *def;
	made->columns = columns;
	made->ncolumns = at;
	return made;
}

/* In place of the empty table *t; after the table sweep. */
static enum ws_status make_pivot(struct ws_sweep *s, struct ws_table **t, struct ws_err *err)
{
	const struct ws_table_def *fixed = (*t)->def, *all = s->table->def;
	const char *rows = s->opts->rows;
	struct pivot p = {.s = s};

	if (!rows && ws_sweep_key(s, "model"))
		rows = "model";

	/* The column that --value names, else the phases' times. */
	static const int usual[MOST_SHOWN] = {WS_TC_sweep_forward_ns, WS_TC_sweep_forward_std_ns,
	                                      WS_TC_sweep_backward_ns, WS_TC_sweep_backward_std_ns,
	                                      WS_TC_sweep_backward_ratio};
	const char *shown = s->opts->value;

	static const int of_windows[MOST_SHOWN] = {WS_TC_sweep_window_forward_ns,
	                                           WS_TC_sweep_window_forward_deviation_ns,
	                                           WS_TC_sweep_window_backward_ns,
	                                           WS_TC_sweep_window_backward_deviation_ns,
	                                           WS_TC_sweep_window_ratio};
	bool has_windows = !s->on_cpu; /* there, they are the phases on the host */

	for (size_t i = 0; i < s->nrows; i++)
		for (int phase = 0; phase < 2; phase++)
			has_windows &= isnan(s->rows[i].mean[phase]) ||
			               !isnan(s->rows[i].mean[WS_SWEEP_FORWARD_WINDOW + phase]);
	for (size_t i = 0; i < MOST_SHOWN && !shown; i++)
		p.shown[p.nshown++] = has_windows ? of_windows[i] : usual[i];
	for (size_t i = 0; i < all->ncolumns && shown && !p.nshown; i++)
		if (!strcasecmp(all->columns[i].id, shown) ||
		    !strcasecmp(all->columns[i].title, shown))
			p.shown[p.nshown++] = (int)i;
	WS_FAIL_IF(!p.nshown || all->columns[p.shown[0]].type == WS_CELL_TEXT, err, USAGE,
	           "--value %s: no column of numbers of the table sweep; write its title, as in "
	           "'Total (ns)'",
	           shown);
	WS_FORWARD(find_key(s, rows, "rows", "", &p.row_title, err));
	WS_FORWARD(find_key(s, s->opts->columns, "columns", p.row_title, &p.column_title, err));
	p.row = ws_sweep_key(s, p.row_title);
	p.column = ws_sweep_key(s, p.column_title);
	WS_NEW(&s->arena, p.group, s->nrows);
	for (size_t i = 0; i < s->nrows; i++)
		p.group[i] = ws_sweep_value(s->rows[i].run, p.column);
	if (s->nrows)
		ws_sort_by(p.group, s->nrows, sizeof(*p.group), by_value, s);
	for (size_t i = 0; i < s->nrows; i++)
		if (!i || p.group[i] != p.group[p.ngroups - 1])
			p.group[p.ngroups++] = p.group[i];
	const struct ws_table_def *def = make_def(&p, fixed);
	ws_table_free(*t);
	struct ws_table *table = *t = ws_table_new(def);
	/* row of the pivot -> of the sweep with which it begins, and its label */
	size_t *first = ws_arena_array(&s->arena, s->nrows, sizeof(*first));
	const char **label = ws_arena_array(&s->arena, s->nrows, sizeof(*label));

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_run *run = s->rows[i].run;
		const uint32_t value = ws_sweep_value(run, p.row);
		/* the facts in which rows of the pivot differ beside that of --rows: "dtype fp32,
		 * layers 2" */
		const char *own = "";
		struct ws_cell *cells;
		size_t c = 0, r = 0;

		for (size_t k = 0; k < WS_SWEEP_FACTS; k++) {
			const uint32_t key = ws_sweep_key(s, ws_sweep_facts[k]);

			if (key != p.row && key != p.column && s->varies[key])
				own = ws_sweep_list(s, own, ws_sweep_facts[k],
				                    ws_texts_get(&s->texts,
				                                 ws_sweep_value(run, key)));
		}
		own = ws_sweep_list_others(s, own, run, p.row_title, p.column_title);
		while (p.group[c] != ws_sweep_value(run, p.column))
			c++;
		while (r < table->nrows && (ws_sweep_value(s->rows[first[r]].run, p.row) != value ||
		                            strcmp(label[r], own) != 0))
			r++;
		if (r == table->nrows) {
			const struct ws_bytes text =
			        value ? ws_texts_get(&s->texts, value) : ws_bytes_of("not known");

			first[r] = i;
			label[r] = own;
			cells = ws_table_row(table);
			ws_cell_set_text(table, &cells[WS_TC_sweep_pivot_row], text.ptr, text.len);
			if (*own)
				ws_cell_set_str(table, &cells[WS_TC_sweep_pivot_configuration],
				                own);
		}
		cells = table->cells + r * table->def->ncolumns + fixed->ncolumns + c * p.nshown;
		for (size_t k = 0; k < p.nshown; k++)
			cells[k] = ws_table_cells(s->table, i)[p.shown[k]];
	}
	return WS_OK;
}

/* --- the verdict ----------------------------------------------------------------------------- */

/* The model of a row: a text of the sweep, 0 = not known. */
static uint32_t model_of(const struct ws_sweep *s, size_t row)
{
	const uint32_t key = ws_sweep_key(s, "model");

	return key ? ws_sweep_value(s->rows[row].run, key) : 0;
}

/* The configuration of a model with the highest rate. */
struct best {
	const struct ws_sweep_row *row; /* NULL: no rate is known */
	double rate, next;
	unsigned rivals; /* that may be as fast: their runs do not certainly differ from those of
	                    row */
};

static double rate_of(const struct ws_sweep_row *r, bool tokens)
{
	return (tokens ? r->run->tokens : r->run->images) / r->mean[WS_SWEEP_TOTAL] * 1e9;
}

/* Rates of different models are of different work. */
static struct best find_best(struct ws_sweep *s, uint32_t model, bool tokens)
{
	struct best best = {0};
	struct ws_comparison c;
	size_t n;

	for (size_t i = 0; i < s->nrows; i++) {
		const double own = rate_of(&s->rows[i], tokens);

		if (model_of(s, i) != model)
			continue;
		if (own > best.rate) {
			best.next = best.rate;
			best.rate = own;
			best.row = &s->rows[i];
		} else if (own > best.next) {
			best.next = own;
		}
	}
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		struct ws_samples of[2];

		if (model_of(s, i) != model || r == best.row || !(rate_of(r, tokens) > 0))
			continue;
		for (int k = 0; k < 2; k++) {
			const struct ws_sweep_row *one = k ? r : best.row;

			of[k] = samples_of(s, one, tokens ? one->run->tokens : one->run->images,
			                   &n);
		}
		const struct ws_grade_opts opts = grade_opts(s, best.row, r);
		ws_compare_means(&of[0], &of[1], &opts, &c, NULL);
		best.rivals += !ws_grade_is_slower(c.grade);
	}
	return best;
}

/* ", but 3 others may be as fast"; "" = the best is certain. */
static const char *words_of_others(struct ws_arena *texts, const struct best *best)
{
	return best->rivals ? ws_arena_format(texts, ", but %u other%s may be as fast",
	                                      best->rivals, WS_PLURAL(best->rivals))
	                    : "";
}

static void add_best(struct ws_sweep *s, struct ws_table *t, const char *subject, bool tokens)
{
	for (size_t i = 0; i < s->nrows; i++) {
		size_t before = 0;

		while (before < i && model_of(s, before) != model_of(s, i))
			before++;
		if (before < i)
			continue;
		const struct best best = find_best(s, model_of(s, i), tokens);
		if (!best.row)
			continue;
		ws_cell_set_real(&ws_table_add(t, subject, "Highest throughput%s%s%s.",
		                               *best.row->name ? ": " : "", best.row->name,
		                               words_of_others(&s->arena,
		                                               &best))[WS_TC_sweep_verdict_value],
		                 best.rate);
	}
}

/* The difference in words: " It is significantly faster in 3 and slower in 0." */
static const char *words_of_grades(struct ws_sweep *s, const struct ws_sweep_gain *g)
{
	const bool one = g->n == 1;
	const char *words = "";

	if (s->per_step)
		return " Their work differs.";
	if (g->faster || g->slower)
		words = one ? " The difference is significant."
		            : ws_arena_format(&s->arena,
		                              " It is significantly faster in %u and slower in %u.",
		                              g->faster, g->slower);
	else if (g->equal == g->n)
		words = ws_arena_format(&s->arena, " %s, within %.3g %%.",
		                        one ? "The times are the same" : "All times are the same",
		                        100 * s->grade.same_within);
	else if (g->n > g->unknown && !(one && g->by_clocks))
		words = one ? " The difference is not significant."
		            : " The differences are not significant.";
	if (g->by_clocks && one)
		words = " The clocks differed, which can explain the difference.";
	else if (g->by_clocks)
		words = ws_arena_format(&s->arena,
		                        "%s In %u the clocks differed, which can explain the "
		                        "difference.",
		                        words, g->by_clocks);
	if (g->unknown)
		words = ws_arena_format(&s->arena,
		                        "%s CPU runs need at least three per side for an interval.",
		                        words);
	return words;
}

/* "runs at 1.6× the speed of", for other work "has 1.6× the throughput of". */
static const char *words_of_gain(struct ws_sweep *s, double gain)
{
	const char *format = s->per_step  ? "takes %.3g× the time per step of"
	                     : s->of_work ? "has %.3g× the throughput of"
	                                  : "runs at %.3g× the speed of";

	return ws_arena_format(&s->arena, format, s->per_step ? 1 / gain : gain);
}

/* If numbers of products differ by so much, the work may be another one. */
#define MOST_PRODUCTS 1.25

/* Says where runs that are compared, or are of one configuration, have other numbers of products.
 */
static void add_work(struct ws_sweep *s, struct ws_table *t)
{
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		double least = INFINITY, most = 0; /* of its runs; or its and the baseline's */

		for (size_t k = 0; k < r->n; k++)
			if (!r->run[k].failed) {
				least = fmin(least, r->run[k].products);
				most = fmax(most, r->run[k].products);
			}
		const bool one = most > MOST_PRODUCTS * least;
		if (!one) {
			least = r->run->products;
			most = r->base && !s->of_work ? r->base->run->products : least;
		}
		if (fmax(least, most) > MOST_PRODUCTS * fmin(least, most))
			ws_table_add(
			        t, "work",
			        "%s%s%.4g and %.4g kernels of matrix products, convolutions and "
			        "attention %s, %s. `warpsheet diff` tells whether the work is the "
			        "same.",
			        r->name, *r->name ? ": " : "", least, most,
			        r->run->has_steps ? "per step" : "in all",
			        one ? "in runs of this configuration" : "here and in the baseline");
	}
}

static void fill_verdict(struct ws_sweep *s, struct ws_table *t)
{
	ws_table_add(t, "configurations", "%zu configuration%s, %zu run%s, %zu failed.", s->nrows,
	             WS_PLURAL(s->nrows), s->nruns, WS_PLURAL(s->nruns), s->nfailed);
	if (s->ncopies)
		ws_table_add(t, "copies",
		             "%zu trace%s left out: %s has the same bytes as another, and a run "
		             "counts once.",
		             s->ncopies, s->ncopies == 1 ? " is" : "s are",
		             s->ncopies == 1 ? "it" : "each");
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const char *colon = *r->name ? ": " : "";

		if (strncmp(r->status, WS_SWEEP_OK, strlen(WS_SWEEP_OK)) != 0)
			ws_table_add(t, "failed", "%s%s%.200s.", r->name, colon, r->status);
		if (r->check)
			ws_table_add(t, "ALARM", "%s%sMFU %.1f %%, HFU %.1f %%, %s", r->name, colon,
			             r->mfu_percent, r->hfu_percent, WS_OVER_PEAK);
	}
	for (size_t i = 0; i < s->ngains; i++) {
		const struct ws_sweep_gain *g = &s->gains[i];
		struct ws_bytes name = ws_texts_get(&s->texts, g->value),
		                base = ws_texts_get(&s->texts, s->baseline_value);
		char range[64] = "";

		if (g->unlike)
			ws_table_add(
			        t, "not the same work",
			        "%.*s is not compared with %.*s in %u configuration%s: the FLOPs "
			        "of a step are over 5 %% apart.",
			        WS_SHOWN_MOST(name, 80), WS_SHOWN_MOST(base, 80), g->unlike,
			        WS_PLURAL(g->unlike));
		if (!g->n)
			continue;
		if (g->n > 1 && !s->per_step)
			snprintf(range, sizeof(range), ", %.3g× to %.3g×", g->min, g->max);
		struct ws_cell *row =
		        ws_table_add(t, "speed-up", "%.*s %s %.*s (%s%u configuration%s%s).%s",
		                     WS_SHOWN_MOST(name, 80), words_of_gain(s, g->mean),
		                     WS_SHOWN_MOST(base, 80), g->n > 1 ? "geometric mean of " : "",
		                     g->n, WS_PLURAL(g->n), range, words_of_grades(s, g));
		ws_cell_set_real(&row[WS_TC_sweep_verdict_value], g->mean);
		ws_cell_set_real(&row[WS_TC_sweep_verdict_low], g->low);
		ws_cell_set_real(&row[WS_TC_sweep_verdict_high], g->high);
	}
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const double ratio = r->of_means.ratio;

		if (r->of_means.grade == WS_GRADE_NONE)
			continue;
		struct ws_cell *row = ws_table_add(
		        t, "mean step",
		        "%s%sthe mean step is %s %s than that of %s, unlike the median: some steps "
		        "are slow.",
		        r->name, *r->name ? ": " : "",
		        ws_say_amount(&s->arena, fmax(ratio, 1 / ratio)),
		        ratio > 1 ? "slower" : "faster", r->base->name);
		ws_cell_set_real(&row[WS_TC_sweep_verdict_value], 1 / ratio);
		ws_cell_set_real(&row[WS_TC_sweep_verdict_low], 1 / r->of_means.high);
		ws_cell_set_real(&row[WS_TC_sweep_verdict_high], 1 / r->of_means.low);
	}
	add_work(s, t);
	if (s->nrows && !s->baseline_key)
		ws_table_add(t, "speed-up",
		             "No trace is a baseline (%s). Name another with --baseline KEY=VALUE.",
		             s->baseline);
	add_best(s, t, "tokens/s", true);
	add_best(s, t, "images/s", false);
	if (s->on_cpu)
		ws_table_note(t, "Recorded on the CPU reference. These are CPU times, not "
		                 "GPU performance.");
}

/* --- the first screen: who is fastest, by how much, and what stands against it --------------- */

#define UNSEEN      1.0005
#define MEMORY_FROM 1.05 /* more memory than that stands against a speed-up */
#define NAME_WORDS  6 /* of "Highest throughput: NAME: 16.1 k tokens per second, 1.2× the next." */

struct answering {
	struct ws_sweep *s;
	struct ws_page *out;
	struct ws_arena *texts;
};

static const char *text_of(const struct answering *a, uint32_t text)
{
	const struct ws_bytes value = ws_texts_get(&a->s->texts, text);

	return ws_arena_copy(a->texts, value.ptr, value.len);
}

/* Of all rows together: nothing is claimed where one is not sure. */
static enum ws_grade grade_of(const struct ws_sweep_gain *g)
{
	if (g->faster == g->n)
		return g->is_assumed ? WS_GRADE_LIKELY_FASTER : WS_GRADE_FASTER;
	if (g->slower == g->n)
		return g->is_assumed ? WS_GRADE_LIKELY_SLOWER : WS_GRADE_SLOWER;
	return g->equal == g->n ? WS_GRADE_SAME : WS_GRADE_AMBIGUOUS;
}

/* "Highest throughput: transformer-tiny, context 16: 16.1 k tokens per second." */
static bool say_throughput(const struct answering *a, bool tokens)
{
	const char *next_one = "";
	size_t words = 1;

	for (size_t i = 1; i < a->s->nrows; i++)
		if (model_of(a->s, i) != model_of(a->s, 0))
			return false;
	const struct best best =
	        a->s->nrows ? find_best(a->s, model_of(a->s, 0), tokens) : (struct best){0};
	if (!best.row)
		return false;
	for (const char *c = best.row->name; *c; c++)
		words += *c == ' ';
	bool is_named = *best.row->name && words <= NAME_WORDS;
	if (best.rivals)
		next_one = words_of_others(a->texts, &best);
	else if (best.next > 0 && best.rate / best.next >= WS_SAY_TIMES_FROM)
		next_one = ws_arena_format(a->texts, ", %s the next",
		                           ws_say_amount(a->texts, best.rate / best.next));
	ws_page_say(a->out, "", "Highest throughput: ",
	            is_named ? ws_arena_format(a->texts, "%s", best.row->name) : "",
	            is_named ? ": " : "",
	            ws_arena_format(a->texts, "%s%s per second", ws_say_si(a->texts, best.rate, ""),
	                            tokens ? " tokens" : " images"),
	            next_one, "", ".", NULL);
	return true;
}

/* --- its picture: the steps of the configurations, those of a model on one axis ------------- */

/* Phases by their windows on the device, else by their ranges; else the step as one. */
static void add_phases(const struct ws_sweep_row *row, struct ws_page_row *out)
{
	static const int phase[] = {WS_PHASE_FORWARD, WS_PHASE_BACKWARD, WS_PHASE_OPTIMIZER};
	const double whole = row->mean[WS_SWEEP_TOTAL];

	for (int first = WS_SWEEP_FORWARD_WINDOW; first >= 0; first -= WS_SWEEP_FORWARD_WINDOW) {
		double sum = 0;

		for (int p = 0; p < 3; p++)
			sum += isnan(row->mean[first + p]) ? 0 : row->mean[first + p];
		if (!(sum > 0) || sum > whole)
			continue;
		for (int p = 0; p < 3; p++)
			ws_page_add_part(out, ws_phase_name((enum ws_phase)phase[p]),
			                 row->mean[first + p],
			                 ws_page_phase_paint((size_t)phase[p]), false);
		ws_page_add_part(out, "remainder", whole - sum,
		                 ws_page_phase_paint(WS_PAGE_PHASES - 1), false);
		return;
	}
	ws_page_add_part(out, "step", whole, ws_page_colour_def(WS_PAGE_COMPUTING), false);
}

/* Columns of a configuration's name in a sentence. */
#define NAMED_WIDTH 40

static void make_first_screen(struct ws_sweep *s, struct ws_report *report)
{
	static const char *const words[WS_SWEEP_FACTS] = {"", "context", "batch", "", ""};
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	const struct answering a = {s, out, &out->arena};
	const struct ws_sweep_gain *best = NULL; /* NULL: nothing is compared */

	for (const struct ws_sweep_gain *g = s->gains; g < s->gains + s->ngains; g++)
		if (g->n && (!best || g->mean > best->mean))
			best = g;
	out->is_comparison = true;
	out->source = report->trace;
	out->title = ws_arena_format(a.texts, "%zu configuration%s in %zu run%s", s->nrows,
	                             WS_PLURAL(s->nrows), s->nruns, WS_PLURAL(s->nruns));
	for (size_t i = 0; i < s->nrows; i++)
		if (s->rows[i].check) {
			ws_page_say(a.out, "ALARM",
			            "A configuration exceeds the peak: see Verdict.", NULL);
			break;
		}
	if (s->nfailed)
		ws_page_say(a.out, "", "",
		            ws_arena_format(a.texts, "%zu of %zu runs failed", s->nfailed,
		                            s->nruns),
		            ": see Verdict.", NULL);
	if (best) {
		/* "bf16 is 1.6× faster than fp32 (mean of 4 configurations)." Or: "bf16 looks 1.6×
		 * faster than fp32, but CPU runs need three per side to be sure." */
		const char *name = text_of(&a, best->value),
		           *of_base = text_of(&a, a.s->baseline_value);
		const bool faster = best->mean > 1;
		const char *grade = ws_grade_name(grade_of(best));
		const unsigned sure = best->faster + best->slower + best->equal;
		const char *unsure = NULL, *of = "";

		/* if one by one all are sure, some are slower: the next sentence */
		if (s->per_step)
			grade = "";
		else if (grade_of(best) == WS_GRADE_AMBIGUOUS && sure < best->n)
			unsure = best->unknown ? "CPU runs need three per side to be sure"
			         : best->by_clocks == best->n ? "the clocks differed"
			         : best->n == 1 || !sure
			                 ? "runs vary too much to be sure"
			                 : ws_arena_format(a.texts,
			                                   "only %u of %u differ beyond noise",
			                                   best->faster + best->slower, best->n);
		if (best->n > 1)
			of = ws_arena_format(a.texts, " (mean of %u configurations)", best->n);
		if (s->of_work) {
			const struct ws_bytes key = ws_texts_get(&s->keys, s->baseline_key);

			ws_page_say(a.out, grade, "",
			            ws_arena_format(a.texts, "%.*s %s", WS_SHOWN_MOST(key, 40),
			                            name),
			            ws_arena_format(a.texts, " %s %s%s%s%s.",
			                            words_of_gain(s, best->mean), of_base, of,
			                            unsure ? ", but " : "", unsure ? unsure : ""),
			            NULL);
		} else if (grade_of(best) == WS_GRADE_SAME ||
		           fmax(best->mean, 1 / best->mean) < UNSEEN)
			ws_page_say(a.out, grade, "", name,
			            unsure ? " looks as fast as " : " is as fast as ", of_base,
			            ws_arena_format(a.texts, "%s%s%s%s.",
			                            unsure ? "" : ", within 3 %", of,
			                            unsure ? ", but " : "", unsure ? unsure : ""),
			            NULL);
		else
			ws_page_say(a.out, grade, "", name, unsure ? " looks " : " is ",
			            ws_arena_format(a.texts, "%s %s",
			                            ws_say_amount(a.texts, best->mean),
			                            faster ? "faster" : "slower"),
			            ws_arena_format(a.texts, " than %s%s%s%s.", of_base, of,
			                            unsure ? ", but " : "", unsure ? unsure : ""),
			            NULL);
		if (best->slow_steps)
			ws_page_say(a.out, "", "But the mean step differs from that in ",
			            ws_arena_format(a.texts, "%u configuration%s", best->slow_steps,
			                            WS_PLURAL(best->slow_steps)),
			            ", because of slow steps: see Verdict.", NULL);
	}
	if (!say_throughput(&a, true))
		say_throughput(&a, false);

	/* what stands against the gain */
	const unsigned against = !best || s->of_work ? 0
	                         : best->mean < 1    ? best->n - best->under_1
	                                             : best->under_1;

	if (against && out->nheadline < WS_PAGE_LINES)
		ws_page_say(out, "", "But it is ",
		            ws_arena_format(a.texts, "%s in %u of %u",
		                            best->mean < 1 ? "faster" : "slower", against, best->n),
		            ", at most ",
		            ws_say_amount(a.texts, best->mean < 1 ? best->max : best->min), ".",
		            NULL);
	if (best && out->nheadline < WS_PAGE_LINES && best->mean > 1 && best->memory >= MEMORY_FROM)
		ws_page_say(out, "", "But it takes ",
		            ws_arena_format(a.texts, "%s more memory",
		                            ws_say_amount(a.texts, best->memory)),
		            ws_arena_format(a.texts, " than %s.", text_of(&a, s->baseline_value)),
		            NULL);
	if (!out->nheadline) {
		/* nothing is compared */
		const struct ws_sweep_row *shortest = NULL, *longest = NULL;
		bool knows_items = false;

		for (const struct ws_sweep_row *r = s->rows; r < s->rows + s->nrows; r++) {
			const double ns = r->mean[WS_SWEEP_TOTAL];

			knows_items |= r->run->tokens > 0 || r->run->images > 0;
			if (isnan(ns))
				continue;
			if (!shortest || ns < shortest->mean[WS_SWEEP_TOTAL])
				shortest = r;
			if (!longest || ns > longest->mean[WS_SWEEP_TOTAL])
				longest = r;
		}
		if (shortest != longest) {
			struct ws_bytes names[] = {ws_bytes_of(shortest->name),
			                           ws_bytes_of(longest->name)};

			ws_names_elide(a.texts, names, 2, NAMED_WIDTH, WS_ELIDE_HEAD(NAMED_WIDTH));
			ws_page_say(out, "", "Steps take ",
			            ws_say_time(a.texts, shortest->mean[WS_SWEEP_TOTAL]),
			            ws_arena_format(a.texts, " (%.*s) to ", (int)names[0].len,
			                            (const char *)names[0].ptr),
			            ws_say_time(a.texts, longest->mean[WS_SWEEP_TOTAL]),
			            ws_arena_format(a.texts, " (%.*s).", (int)names[1].len,
			                            (const char *)names[1].ptr),
			            NULL);
		} else if (shortest) {
			ws_page_say(out, "", "A step takes ",
			            ws_say_time(a.texts, shortest->mean[WS_SWEEP_TOTAL]), ".",
			            NULL);
		}
		if (shortest != longest && !knows_items)
			ws_page_say(
			        out, "",
			        "Cannot tell which does more work per second: record with --fact "
			        "tokens_per_step=N or images_per_step=N, or name a baseline with "
			        "--baseline KEY=VALUE.",
			        NULL);
	}
	out->rows_title = "Time per step of each configuration";
	out->rows_what = "mean, with its standard deviation; each model has its own axis";
	out->nrows = s->nrows < WS_PAGE_ROWS ? s->nrows : WS_PAGE_ROWS;
	out->more_rows = s->nrows - out->nrows;
	WS_NEW(a.texts, out->row, out->nrows);
	for (size_t i = 0; i < out->nrows; i++) {
		const struct ws_sweep_row *from = &s->rows[i];
		struct ws_page_row *row = &out->row[i];
		const double ns = from->mean[WS_SWEEP_TOTAL], std = from->std[WS_SWEEP_TOTAL];
		const char *name = ""; /* "context 8, amp-bf16": what differs but the model */

		for (size_t k = 1; k < WS_SWEEP_FACTS; k++)
			if (s->varies[ws_sweep_key(s, ws_sweep_facts[k])])
				name = ws_sweep_list(s, name, words[k],
				                     ws_sweep_text(s, from->run,
				                                   ws_sweep_facts[k]));
		name = ws_sweep_list_others(s, name, from->run, "", "");
		name = ws_arena_copy(a.texts, name, strlen(name));
		row->group = model_of(s, i) ? text_of(&a, model_of(s, i)) : "";
		row->name = *name ? name : *row->group ? row->group : "the configuration";
		row->ns = ns;
		row->low_ns = fmax(0, ns - std);
		row->high_ns = ns + std;
		if (isnan(ns)) {
			row->words = ws_arena_format(a.texts, "%.200s", from->status);
			continue;
		}

		/* ", 1.46× the time of fp32" */
		const double ratio = 1 / from->speedup, amount = fmax(ratio, 1 / ratio);
		const char *of_baseline = "";
		const bool is_compared =
		        !isnan(ratio) &&
		        ws_sweep_value(from->run, s->baseline_key) != s->baseline_value;

		if (is_compared && s->of_work && !s->per_step)
			of_baseline = ws_arena_format(a.texts, ", %.2f× the throughput of %s",
			                              1 / ratio, text_of(&a, s->baseline_value));
		else if (is_compared && amount >= WS_SAY_TIMES_FROM)
			of_baseline = ws_arena_format(a.texts, ", %.2f× the time of %s", ratio,
			                              text_of(&a, s->baseline_value));
		else if (is_compared && amount < UNSEEN)
			of_baseline = ws_arena_format(a.texts, ", as long as %s",
			                              text_of(&a, s->baseline_value));
		else if (is_compared)
			of_baseline = ws_arena_format(a.texts, ", %s %s than %s",
			                              ws_say_amount(a.texts, amount),
			                              ratio > 1 ? "longer" : "shorter",
			                              text_of(&a, s->baseline_value));
		row->words = ws_arena_format(a.texts, "%s%s",
		                             isnan(std) ? ws_say_time(a.texts, ns)
		                                        : ws_say_mean(a.texts, ns, std),
		                             of_baseline);
		add_phases(from, row);
	}
	if (report->tables[0]->nnotes)
		out->note = report->tables[0]->notes[0];
}

/* The rows of a query are there already: what is left are sentences, and the pivot. */
static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	struct ws_sweep *s = ctx;

	(void)which;
	if ((*t)->def == &ws_def_sweep_pivot)
		return make_pivot(s, t, err);
	if ((*t)->def == &ws_def_sweep_verdict) {
		fill_verdict(s, *t);
	} else {
		s->table = *t;
		ws_table_show_as(*t, WS_TC_sweep_forward_ns, "Host Forward (ns)");
		ws_table_show_as(*t, WS_TC_sweep_backward_ns, "Host Backward (ns)");
		ws_table_show_as(*t, WS_TC_sweep_optimizer_ns, "Host Optimizer (ns)");
		ws_table_note(
		        *t, "MFU: FLOPs of the forward's matmuls and convolutions over the step's "
		            "time and the dense peak of their dtype. With a backward, three times "
		            "that. HFU: FLOPs of all that ran. Attention counts the pairs that its "
		            "operation computes. Empty where the device's peak is not known.");
		if (s->most_noise > s->least_noise)
			ws_table_note(*t,
			              "Intervals of speed-ups with fewer than three runs per side "
			              "assume %.2g to %.2g %% noise between runs (--run-noise).",
			              s->least_noise * 100, s->most_noise * 100);
		else if (!isnan(s->most_noise))
			ws_table_note(*t,
			              "Intervals of speed-ups with fewer than three runs per side "
			              "assume %.3g %% noise between runs (--run-noise).",
			              s->most_noise * 100);
	}
	return WS_OK;
}

enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err)
{
	struct ws_report_plan plan = {.title = "Warpsheet sweep", .fill = fill, .ctx = s};
	char trace[32];

	*out = NULL;
	s->opts = opts;
	s->grade = ws_grade_opts_of(&opts->grade, s->on_cpu);
	complete_failed(s);
	if (s->nruns)
		ws_sort_by(s->runs, s->nruns, sizeof(*s->runs), by_configuration, s);
	s->rows = ws_arena_array(&s->arena, s->nruns, sizeof(*s->rows));
	for (size_t i = 0; i < s->nruns; i++) {
		if (!i || compare_runs(s, &s->runs[i - 1], &s->runs[i]))
			s->rows[s->nrows++].run = &s->runs[i];
		s->rows[s->nrows - 1].n++;
	}

	s->varies = ws_arena_array(&s->arena, s->keys.n + 1, sizeof(*s->varies));
	for (uint32_t k = 1; k <= s->keys.n; k++)
		for (uint32_t i = 0, first = 0; i < s->nruns; i++) {
			const uint32_t value = ws_sweep_value(&s->runs[i], k);

			s->varies[k] |= value && first && value != first;
			first = first ? first : value;
		}
	for (size_t i = 0; i < s->nrows; i++) {
		static const char *const words[] = {"", "context", "batch", ""};
		struct ws_sweep_row *row = &s->rows[i];
		uint32_t reason = 0;
		size_t failed = 0;

		for (int t = 0; t < WS_SWEEP_TIMES; t++) {
			double sum = 0, squares = 0;
			size_t n;
			const struct ws_samples all = times_of(s, row, t, 1, &n);

			for (size_t k = 0; k < n; k++)
				sum += all.values[k];
			row->mean[t] = n ? sum / (double)n : NAN;
			for (size_t k = 0; k < n; k++)
				squares += (all.values[k] - row->mean[t]) *
				           (all.values[k] - row->mean[t]);
			row->std[t] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
			if (t == WS_SWEEP_TOTAL)
				row->steps = n;
		}
		row->mfu_percent = 100 * row->run->model_ns / row->mean[WS_SWEEP_TOTAL];
		row->hfu_percent = 100 * row->run->ran_ns / row->mean[WS_SWEEP_TOTAL];
		row->check = ws_over_peak(fmax(row->mfu_percent, row->hfu_percent));
		row->peak_bytes = row->speedup = row->low = row->high = row->memory = NAN;
		row->c.grade = row->of_means.grade = WS_GRADE_NONE;
		for (size_t k = 0; k < row->n; k++)
			row->peak_bytes = fmax(row->peak_bytes, row->run[k].peak_bytes);
		for (size_t k = 0; k < row->n && row->mhz >= 0 && !row->run[k].failed; k++)
			row->mhz = row->run[k].mhz > 0 ? row->mhz + (row->run[k].mhz - row->mhz) /
			                                                    (double)(k + 1)
			                               : -1; /* not known of all */
		for (size_t k = 0; k < row->n; k++) {
			failed += row->run[k].failed != 0;
			reason = row->run[k].failed ? row->run[k].failed : reason;
		}
		s->nfailed += failed;
		struct ws_bytes why = ws_texts_get(&s->texts, reason);
		if (!failed)
			row->status = row->run->has_steps ? WS_SWEEP_OK
			                                  : WS_SWEEP_OK ", no steps: elapsed time";
		else if (failed == row->n)
			row->status = ws_arena_copy(&s->arena, why.ptr, why.len);
		else
			row->status =
			        ws_arena_format(&s->arena, "%zu of %zu recordings failed: %.*s",
			                        failed, row->n, WS_SHOWN_MOST(why, 400));
		row->name = "";
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (s->nrows == 1 || s->varies[ws_sweep_key(s, ws_sweep_facts[k])])
				row->name = ws_sweep_list(s, row->name, words[k],
				                          ws_sweep_text(s, row->run,
				                                        ws_sweep_facts[k]));
		row->name = ws_sweep_list_others(s, row->name, row->run, "", "");
	}
	WS_FORWARD(find_speedups(s, err));
	snprintf(trace, sizeof(trace), "%zu traces", s->nruns);
	plan.trace = trace;
	plan.created_ns = s->created_ns;
	plan.defs = ws_sweep_defs(&plan.ndefs);
	WS_FORWARD(ws_query_open(&plan.query, err));
	ws_sweep_relations(plan.query, s);
	enum ws_status status = ws_report_of_plan(&plan, out, err);
	ws_query_close(plan.query);
	WS_FORWARD(status);
	make_first_screen(s, *out);
	return WS_OK;
}
