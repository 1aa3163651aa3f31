/* What a sweep keeps of a trace: the facts of its configuration, and the times of its steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/analysis/device_time.h"
#include "report/analysis/steps.h"
#include "report/diff/recording.h"
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

/* --- facts ------------------------------------------------------------------------------- */

bool ws_sweep_is_no_work(const struct ws_sweep *s, size_t key)
{
	static const char *const own[] = {"result",         "seed",
	                                  "skipped_steps",  "parameters",
	                                  "libraries",      "repetition",
	                                  "steps",          "tokens_per_step",
	                                  "images_per_step"};

	return WS_NAME_IS_ONE_OF(ws_texts_get(&s->keys, (uint32_t)key), own);
}

static void add_fact(struct ws_sweep *s, struct ws_sweep_run *run, struct ws_bytes key,
                     struct ws_bytes value)
{
	size_t known = run->nfacts;
	uint32_t number;

	number = ws_texts_add(&s->keys, key);
	if (!number)
		return;
	WS_GROW(run->fact, number + 1, run->nfacts);
	memset(run->fact + known, 0, (run->nfacts - known) * sizeof(*run->fact));
	run->fact[number] = ws_texts_add(&s->texts, value);
}

uint32_t ws_sweep_fact(const struct ws_sweep *s, const struct ws_sweep_run *run, const char *key)
{
	uint64_t number = ws_strtab_find(&s->keys.known, key, strlen(key));

	return number ? ws_sweep_value(run, number) : 0;
}

bool ws_sweep_has_key(const struct ws_sweep *s, const char *key)
{
	return ws_strtab_find(&s->keys.known, key, strlen(key)) != 0;
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

const char *const ws_sweep_facts[] = {"model", "context", "batch", "dtype", "phase"};

static bool has_column(struct ws_bytes key)
{
	return WS_NAME_IS_ONE_OF(key, ws_sweep_facts) || ws_name_is(key, "loss_scale");
}

void ws_sweep_others(const struct ws_sweep *s, const struct ws_sweep_run *run, const char *but,
                     char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	for (size_t key = 1; key <= s->keys.n; key++) {
		uint32_t mine = ws_sweep_value(run, key);
		struct ws_bytes name = ws_texts_get(&s->keys, (uint32_t)key),
		                value = ws_texts_get(&s->texts, mine);
		bool differs = false;

		for (size_t i = 0; i < s->nruns && mine && !differs; i++)
			differs = ws_sweep_value(&s->runs[i], key) &&
			          ws_sweep_value(&s->runs[i], key) != mine;
		if (!differs || has_column(name) || ws_name_is(name, but) ||
		    ws_sweep_is_no_work(s, key) || n + name.len + value.len + 3 > size)
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s%.*s %.*s", n ? ", " : "",
		                      (int)name.len, (const char *)name.ptr, (int)value.len,
		                      (const char *)value.ptr);
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

/* FLOPs of a step's products, and the time that they need at the peak. */
static void keep_flops(struct ws_sweep_run *run, const struct ws_model *m,
                       const struct ws_selection *sel)
{
	const struct ws_utilization *u;

	u = ws_utilization_find(m, sel);
	if (m->nmeasured) {
		run->flops = u->flops / (double)m->nmeasured;
		run->model_ns = u->model_sum_ns / (double)m->nmeasured;
		run->ran_ns = u->ran_sum_ns / (double)m->nmeasured;
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
	struct ws_bytes result = ws_sweep_text(s, run, "result");

	if (reason) {
		run->failed = ws_texts_add_str(&s->texts, reason);
		return;
	}
	if (result.len && !ws_name_is(result, "ok"))
		run->failed = ws_sweep_fact(s, run, "result");
}

static void keep_steps(struct ws_sweep *s, struct ws_sweep_run *run, const struct ws_model *m,
                       struct ws_joined_rows *rows)
{
	struct ws_filter steps = WS_FILTER_ALL;
	const struct ws_windows *w = NULL;
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
	keep_flops(run, m, &sel);
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
	/* the GPU is part of the configuration */
	if (ws_model_device_name(m).len)
		add_fact(s, run, ws_bytes_of("device"), ws_model_device_name(m));
	keep_failure(s, run, reason);
	keep_steps(s, run, m, rows);
	run->tokens = run->has_steps ? (double)ws_fact_number(m, "tokens_per_step") : 0;
	run->images = run->has_steps ? (double)ws_fact_number(m, "images_per_step") : 0;
	run->base_ns = m->file.base_ns;
	run->on_cpu = ws_model_on_cpu(m) != 0;
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
