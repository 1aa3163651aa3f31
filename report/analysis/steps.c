#include "report/analysis/steps.h"

#include "report/analysis/device_time.h"
#include "report/base/ui.h"
#include "report/model/load.h"

static int by_start(const void *pa, const void *pb)
{
	const struct ws_span *a = pa, *b = pb;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Phases on several streams may overlap: each has its full window, and the remainder is the part
 * outside all of them. */
static void set_windows(const struct ws_span *step, const struct ws_span phases[WS_PHASES],
                        int64_t out[WS_PHASES])
{
	struct ws_span known[WS_PHASE_OTHER];
	struct ws_union covered = {0};
	size_t n = 0;

	for (int p = 0; p < WS_PHASE_OTHER; p++) {
		struct ws_span span = phases[p];

		if (span.start_ns < step->start_ns)
			span.start_ns = step->start_ns;
		if (span.end_ns > step->end_ns)
			span.end_ns = step->end_ns;
		out[p] = span.end_ns >= span.start_ns ? span.end_ns - span.start_ns : -1;
		if (out[p] >= 0)
			known[n++] = span;
	}
	ws_sort(known, n, sizeof(*known), by_start);
	for (size_t i = 0; i < n; i++)
		ws_union_add(&covered, known[i].start_ns, known[i].end_ns);
	out[WS_PHASE_OTHER] = n ? step->end_ns - step->start_ns - covered.busy_ns : -1;
}

static void add_windows(const struct ws_windows *w, struct ws_step_times *out)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct ws_time_window *at = &w->window[i];

		if (at->step == WS_NONE)
			continue;
		out->step_ns[at->step] = at->end_ns - at->start_ns;
		set_windows(&(struct ws_span){at->start_ns, at->end_ns}, out->gpu[at->step].phase,
		            out->window_ns[at->step]);
	}
}

const struct ws_step_times *ws_step_times(const struct ws_model *m, const struct ws_selection *sel)
{
	static const char key;
	struct ws_step_times *out = ws_kept_result(sel, &key);
	struct ws_arena *arena = &sel->kept->arena;

	if (out)
		return out;
	WS_NEW(arena, out, 1);
	WS_NEW(arena, out->gpu, m->nsteps);
	WS_NEW(arena, out->measured, m->nsteps);
	WS_NEW(arena, out->scratch, m->nsteps);
	WS_NEW(arena, out->step_ns, m->nsteps);
	WS_NEW(arena, out->window_ns, m->nsteps);

	bool warm_up = false;

	for (size_t s = 0; s < m->nsteps; s++) {
		out->gpu[s] = (struct ws_step_gpu){.phase = WS_NO_PHASES};
		warm_up |= m->steps[s].warm_up;
	}
	memset(out->step_ns, 0xff, m->nsteps * sizeof(*out->step_ns));
	memset(out->window_ns, 0xff, m->nsteps * sizeof(*out->window_ns));

	/* Of any scope: a report of measured steps tells the warm-up steps, too. */
	struct ws_joined_rows *rows = sel->rows;

	for (size_t i = 0; i < rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);
		const uint32_t step = k->step;

		if (step == WS_NONE || (sel->any_scope && !sel->any_scope[i]))
			continue;
		out->gpu[step].kernels++;
		out->gpu[step].total_ns += k->dur_ns;
		out->gpu[step].phase_ns[k->kind->phase] += k->dur_ns;
		if (k->kind->timed)
			ws_span_widen(&out->gpu[step].phase[k->kind->phase], k->start_ns,
			              k->start_ns + k->dur_ns);
	}
	if (warm_up)
		add_windows(ws_warm_up_windows(m, sel), out);
	add_windows(ws_windows(m, sel), out);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		if (!ws_step_selected(m, sel, s))
			continue;
		out->measured[out->nmeasured++] = s;
		out->has_windows |= out->window_ns[s][WS_PHASE_OTHER] >= 0;
		out->phases |= m->steps[s].phases;
	}
	ws_keep_result(sel, &key, out, NULL);
	return out;
}

const char *ws_measure_name(enum ws_measure measure)
{
	static const char *const names[] = {
	        [WS_MEASURE_WALL] = "host", [WS_MEASURE_GPU] = "GPU", [WS_MEASURE_STEP] = "wall"};

	return names[measure];
}

int64_t ws_step_time(const struct ws_model *m, const struct ws_step_times *t, uint32_t step,
                     int phase, enum ws_measure measure)
{
	const bool is_whole = phase == WS_PHASES;
	const bool has_range = phase >= WS_PHASE_OTHER || (m->steps[step].phases >> phase & 1);

	if (measure == WS_MEASURE_STEP)
		return is_whole ? t->step_ns[step] : t->window_ns[step][phase];
	if (measure == WS_MEASURE_WALL)
		return is_whole    ? m->steps[step].total_ns
		       : has_range ? m->steps[step].phase_ns[phase]
		                   : -1;
	if (is_whole)
		return t->gpu[step].total_ns;
	return has_range || t->gpu[step].phase_ns[phase] ? t->gpu[step].phase_ns[phase] : -1;
}

void ws_step_stat(const struct ws_model *m, const struct ws_step_times *t, int phase,
                  enum ws_measure measure, struct ws_stat *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nmeasured; i++) {
		int64_t ns = ws_step_time(m, t, t->measured[i], phase, measure);

		if (ns >= 0)
			t->scratch[n++] = ns;
	}
	ws_stat_of(t->scratch, n, out);
}

bool ws_step_phase_present(const struct ws_step_times *t, int phase)
{
	if (phase == WS_PHASE_OTHER)
		return t->phases & ((1u << WS_PHASE_OTHER) - 1);
	return phase > WS_PHASE_OTHER || (t->phases >> phase & 1);
}

size_t ws_steps_apart(const struct ws_model *m)
{
	size_t n = 0;

	for (size_t s = 0; s < m->nsteps; s++)
		n += m->steps[s].apart != WS_STEP_NOT_APART;
	return n;
}

const char *ws_step_apart_name(uint8_t apart)
{
	return apart == WS_STEP_EVALUATES    ? "evaluation"
	       : apart == WS_STEP_PREFILLS   ? "prefill"
	       : apart == WS_STEP_CAPTURES   ? "capture of a CUDA graph"
	       : apart == WS_STEP_UNRECORDED ? "unrecorded"
	                                     : "unknown operations";
}

const char *ws_steps_apart_words(const struct ws_model *m, struct ws_arena *arena)
{
	/* of one step, of several */
	static const char *const words[WS_STEPS_APART][2] = {
	        [WS_STEP_EVALUATES] = {"contains an evaluation", "contain an evaluation"},
	        [WS_STEP_PREFILLS] = {"is a prefill", "are prefills"},
	        [WS_STEP_CAPTURES] = {"captures a CUDA graph", "capture a CUDA graph"},
	        [WS_STEP_NO_OPS] = {"lacks operations, as it repeats no recorded step",
	                            "lack operations, as they repeat no recorded step"},
	        [WS_STEP_UNRECORDED] = {"was not recorded, to measure what recording costs",
	                                "were not recorded, to measure what recording costs"},
	};
	const size_t all = ws_steps_apart(m) + m->nmeasured;
	size_t n[WS_STEPS_APART] = {0};
	const char *said = "";

	for (size_t s = 0; s < m->nsteps; s++)
		n[m->steps[s].apart]++;
	for (int why = WS_STEP_NOT_APART + 1; why < WS_STEPS_APART; why++)
		if (n[why])
			said = ws_arena_format(arena, "%s%s%zu of %zu steps %s", said,
			                       *said ? ", " : "", n[why], all,
			                       words[why][n[why] != 1]);
	return said;
}

#define THREADS_SAID 4

const char *ws_steps_threads_words(const struct ws_model *m, struct ws_arena *arena)
{
	int64_t *ns = ws_xarray(m->nsteps + 1, sizeof(*ns));
	const struct ws_model_step *longest = NULL;
	const char *said = "";
	bool overlaps = false;
	size_t nthreads = 0;

	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_model_step *step = &m->steps[s];

		if (!m->threads[step->thread].has_steps || !ws_step_is_measured(m, s))
			continue;
		const int64_t end_ns = longest ? longest->start_ns + longest->total_ns : INT64_MIN;

		overlaps |= longest && longest->thread != step->thread && step->start_ns < end_ns;
		longest = step->start_ns + step->total_ns > end_ns ? step : longest;
	}
	for (uint32_t thread = 0; thread < m->nthreads; thread++) {
		struct ws_stat stat;
		size_t n = 0;

		for (uint32_t s = 0; s < m->nsteps && m->threads[thread].has_steps; s++)
			if (m->steps[s].thread == thread && ws_step_is_measured(m, s))
				ns[n++] = m->steps[s].total_ns;
		if (!n || ++nthreads > THREADS_SAID)
			continue;
		ws_stat_of(ns, n, &stat);
		said = ws_arena_format(arena, "%s%s%zu of thread %" PRIu64 " (median %s)", said,
		                       *said ? ", " : "", n, m->threads[thread].tid,
		                       ws_say_time(arena, stat.median));
	}
	free(ns);
	return nthreads < 2 ? ""
	                    : ws_arena_format(arena, "Steps of %zu threads%s: %s%s", nthreads,
	                                      overlaps ? " overlap" : "", said,
	                                      nthreads > THREADS_SAID ? ", …" : "");
}

/* "0, 1, 11 …" */
static const char *recorded_steps(const struct ws_model *m, struct ws_arena *arena)
{
	const char *said = "";
	int n = 0;

	for (uint32_t s = 0; s < m->nsteps; s++)
		if (ws_step_is_measured(m, s) && !m->steps[s].repeats && n++ < 12)
			said = ws_arena_format(arena, "%s%s%" PRIu32, said, *said ? ", " : "",
			                       m->steps[s].number);
	return n > 12 ? ws_arena_format(arena, "%s …", said) : said;
}

size_t ws_steps_repeating(const struct ws_model *m)
{
	size_t n = 0;

	for (uint32_t s = 0; s < m->nsteps; s++)
		n += ws_step_is_measured(m, s) && m->steps[s].repeats;
	return n;
}

const char *ws_steps_repeat_words(const struct ws_model *m, struct ws_arena *arena)
{
	const size_t repeat = ws_steps_repeating(m);

	if (!repeat)
		return "";
	return ws_arena_format(
	        arena,
	        "Operations of %zu of %zu steps are taken from %s%s, whose %s are the same, in the "
	        "same order. Their CPU times are shares of the step's time.%s",
	        repeat, m->nmeasured,
	        repeat < m->nmeasured ? "those recorded in full: " : "steps before them",
	        recorded_steps(m, arena),
	        m->op_periods_launch ? "kernels, copies and ranges"
	                             : "modules, shapes of inputs and ranges",
	        m->op_periods_launch && !m->op_periods_differ
	                ? ""
	                : " If such a step also ran other operations, outside of modules "
	                  "and without gradients, the trace does not show them; "
	                  "--pytorch=full records every step.");
}

size_t ws_step_batches(const struct ws_model *m, const struct ws_step_times *t,
                       struct ws_batch_steps out[WS_BATCH_KINDS])
{
	size_t n = 0;

	for (size_t i = 0; i < t->nmeasured; i++) {
		const uint32_t s = t->measured[i];
		struct ws_batch b;
		size_t k = 0;

		if (!ws_batch_of_name(m->texts[m->steps[s].name], &b) || !*ws_batch_kind(&b) ||
		    t->step_ns[s] < 0)
			continue;
		while (k < n && strcmp(out[k].kind, ws_batch_kind(&b)) != 0)
			k++;
		if (k == n)
			out[n++] = (struct ws_batch_steps){.kind = ws_batch_kind(&b)};
		out[k].steps++;
		out[k].ns += (double)t->step_ns[s];
		out[k].requests += (double)b.context.requests + (double)b.generation.requests;
		out[k].tokens += (double)b.context.queries + (double)b.generation.queries;
	}
	for (size_t k = 0; k < n; k++) {
		out[k].ns /= (double)out[k].steps;
		out[k].requests /= (double)out[k].steps;
		out[k].tokens /= (double)out[k].steps;
	}
	return n;
}

int64_t ws_fact_number(const struct ws_model *m, const char *key)
{
	struct ws_bytes value = ws_model_fact(m, key);
	char text[24], *end;

	if (!value.len || value.len >= sizeof(text))
		return 0;
	memcpy(text, value.ptr, value.len);
	text[value.len] = '\0';
	errno = 0;
	long long number = strtoll(text, &end, 10);
	return errno || *end || number < 0 ? 0 : number;
}

/* --- without steps ---------------------------------------------------------------------------- */

/* The first and last steps without device work are truncated if others have some. */
static void measure_candidate(const struct ws_model *m, const struct ws_selection *sel,
                              struct ws_step_candidate *c)
{
	struct ws_time_window *windows;
	bool is_measured = false;

	WS_NEW(&sel->kept->arena, windows, c->count);
	ws_sort(c->span, c->count, sizeof(*c->span), by_start);
	while (!is_measured) {
		size_t first = 0, end = c->count;

		for (size_t w = 0; w < c->count; w++)
			windows[w] = (struct ws_time_window){c->span[w].start_ns, c->span[w].end_ns,
			                                     WS_NONE, 0};
		ws_windows_with_work(m, sel, windows, c->count);
		while (first < end && !windows[first].device_work)
			first++;
		while (end > first && !windows[end - 1].device_work)
			end--;
		is_measured = first == end || end - first == c->count;
		c->span += is_measured ? 0 : first;
		c->count = is_measured ? c->count : end - first;
	}
	for (size_t w = 0; w < c->count; w++)
		c->mean_ns += (double)(windows[w].end_ns - windows[w].start_ns);
	c->mean_ns /= (double)c->count;
}

const struct ws_step_candidates *ws_step_candidates(const struct ws_model *m,
                                                    const struct ws_selection *sel)
{
	static const char key;
	struct ws_step_candidates *found = ws_kept_result(sel, &key);

	if (found)
		return found;
	WS_NEW(&sel->kept->arena, found, 1);
	ws_step_candidates_find(m, sel->rows, &sel->kept->arena, found);
	for (size_t i = 0; i < found->n; i++)
		measure_candidate(m, sel, &found->best[i]);
	ws_keep_result(sel, &key, found, NULL);
	return found;
}

/* Quoted for a shell. */
static const char *quoted(struct ws_arena *texts, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789-_./:,+@%";
	const char *out = "'";

	if (*word && !word[strspn(word, plain)])
		return word;
	for (size_t n; *word; word += n) {
		n = strcspn(word, "'");
		out = ws_arena_format(texts, "%s%.*s%s", out, (int)n, word, word[n] ? "'\\''" : "");
		n += word[n] != '\0';
	}
	return ws_arena_format(texts, "%s'", out);
}

struct ws_steps_hint ws_steps_hint(struct ws_arena *texts, const struct ws_model *m,
                                   const struct ws_step_candidates *c)
{
	const struct ws_step_candidate *best = &c->best[0];
	size_t incomplete = 0;

	for (size_t i = 0; i < m->nsteps; i++)
		incomplete +=
		        (m->steps[i].unfinished || m->steps[i].unsound) && !m->steps[i].warm_up;
	if (incomplete)
		return (struct ws_steps_hint){ws_arena_format(texts,
		                                              "No step is measured: records of %zu "
		                                              "step%s are missing or impossible",
		                                              incomplete, WS_PLURAL(incomplete)),
		                              "", ""};
	if (c->n)
		return (struct ws_steps_hint){
		        "No range is called step. Likely: ",
		        ws_arena_format(texts, "--step %s", quoted(texts, best->pattern)),
		        ws_arena_format(texts, " (%s × %s)",
		                        ws_say_number(texts, (double)best->count),
		                        ws_say_time(texts, best->mean_ns))};
	if (c->period)
		return (struct ws_steps_hint){
		        ws_arena_format(texts,
		                        "No steps found. A sequence of %s kernels repeats %s times "
		                        "and may be one",
		                        ws_say_number(texts, (double)c->period),
		                        ws_say_number(texts, (double)c->times)),
		        "", ""};
	return (struct ws_steps_hint){m->ranges.npaths
	                                      ? "No steps found: --step PATTERN names their range"
	                                      : "No steps found: put each in an NVTX range `step`",
	                              "", ""};
}
