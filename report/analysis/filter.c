#include "formats/base/options.h"
#include "report/analysis/filter.h"
#include "report/base/names.h"
#include "report/base/ui.h"

/* --- the scope and the filters of a report, in words ----------------------------------------- */

static void print(FILE *out, const struct ws_selection *s, const struct ws_filter *f)
{
	const char *comma = "";

	if (s->has_nvtx) {
		fprintf(out, "kernels %s ranges that match \"%s\"",
		        f->by_gpu_time ? "running during" : "launched in", f->nvtx);
		comma = ", ";
	}
	if (s->has_steps) {
		fprintf(out, "%smeasured steps %" PRId64, comma, s->step_first);
		if (f->step_last < 0)
			fputs(" and later", out);
		else
			fprintf(out, " to %" PRId64, s->step_last);
		comma = ", ";
	}
	if (s->has_device) {
		fprintf(out, "%sdevice %" PRId64, comma, f->device);
		comma = ", ";
	}
	if (f && f->has_stream) {
		fprintf(out, "%sstream %" PRIu64, comma, f->stream);
		comma = ", ";
	}
	if (f && f->has_process) {
		fprintf(out, "%sprocess %" PRIu64, comma, f->process);
		comma = ", ";
	}
	if (f && f->kernel) {
		fprintf(out, "%skernels whose name matches \"%s\"", comma, f->kernel);
		comma = ", ";
	}
	if (f && f->has_time) {
		fputs(comma, out);
		fprintf(out, "what overlaps %.6f ms to ", (double)f->time_first_ns / 1e6);
		if (f->time_end_ns == INT64_MAX)
			fputs("the end", out);
		else
			fprintf(out, "%.6f ms", (double)f->time_end_ns / 1e6);
		fputs(" of the trace", out);
	}
}

static char *scope_words_of(const struct ws_model *m, enum ws_scope asked, struct ws_selection *s)
{
	struct ws_arena *arena = &s->arena;

	switch (s->scope) {
	case WS_SCOPE_STEPS:
		if (m->step_mark || m->step_module) {
			const struct ws_bytes name =
			        m->texts[m->step_mark ? m->step_mark : m->step_module];

			return ws_arena_format(arena, "the %zu measured steps, each %s '%.*s'",
			                       m->nmeasured,
			                       m->step_module                    ? "a call of"
			                       : ws_name_is_optimizer_step(name) ? "to the end of"
			                                                         : "from a call of",
			                       WS_SHOWN(name));
		}
		return m->nmeasured == 1 ? ws_arena_format(arena, "the only measured step")
		                         : ws_arena_format(arena,
		                                           "the %zu measured steps%s%s%s, without "
		                                           "warm-up, set-up and "
		                                           "what ran outside steps",
		                                           m->nmeasured, m->step_found ? " '" : "",
		                                           m->step_found ? m->step_found : "",
		                                           m->step_found ? "' (--step auto)" : "");
	case WS_SCOPE_WARM_UP:
		return ws_arena_format(arena, "the warm-up");
	case WS_SCOPE_SETUP:
		return ws_arena_format(arena, "the set-up");
	case WS_SCOPE_OUTSIDE:
		return ws_arena_format(arena, "what ran outside steps, warm-up and set-up");
	default:
		if (asked != WS_SCOPE_STEPS)
			return ws_arena_format(arena,
			                       "all of the trace, warm-up and set-up included");
		return ws_arena_format(arena, "%s: %s",
		                       ws_model_has_work(m)
		                               ? "from the first device work to the last"
		                               : "all of the trace",
		                       m->nmeasured
		                               ? "no device work is known to belong to its steps"
		                               : "the trace has no finished measured step");
	}
}

/* What selecting needs and the report does not. */
struct selector {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	const struct ws_filter *f;
	struct ws_selection *s;
	uint8_t *name_matches; /* text -> the --kernel expression does; NULL = none */
	struct ws_spans spans; /* --by gpu-time: the time of the kept ranges */
	struct ws_arena temp;
};

bool ws_time_selected(const struct ws_selection *s, int64_t start_ns, int64_t end_ns)
{
	/* a moment overlaps a time that begins with it */
	return start_ns < s->time_end_ns &&
	       (end_ns > s->time_first_ns || (end_ns == start_ns && end_ns == s->time_first_ns));
}

/* step: of the model; marks: of the range. */
static bool in_scope_of(const struct ws_model *m, const struct ws_selection *s, uint32_t step,
                        uint8_t marks)
{
	return s->scope == WS_SCOPE_ALL || ws_scope_of(m, step, marks) == s->scope;
}

bool ws_kernel_selected(const struct ws_model *m, const struct ws_selection *s,
                        const struct ws_joined_kernel *k, size_t i)
{
	return s->kernel ? s->kernel[i] : in_scope_of(m, s, k->step, k->kind->marks);
}

static bool keeps_pid(const struct ws_model *m, const struct ws_selection *s, uint32_t process)
{
	return !s->has_process || (process < m->nprocesses && m->pids[process] == s->pid);
}

/* Its own, else the one of another thread in whose time it lies; WS_NONE. */
static uint32_t step_of_range(const struct ws_model *m, const struct ws_joined_rows *rows,
                              const struct ws_joined_range *r)
{
	const uint32_t step = ws_joined_range_step(rows, r);

	if (step != WS_NONE || r->context->marks & WS_IN_WARM_UP)
		return step;
	return ws_step_holding(m, r->context->process, r->context->thread,
	                       r->start_ns - (r->start_ns == r->end_ns), r->end_ns, true);
}

static bool asks_for_steps(const struct ws_selection *s)
{
	return s->scope != WS_SCOPE_ALL || s->has_steps;
}

static bool is_in_steps(const struct ws_model *m, const struct ws_selection *s, uint32_t step,
                        uint8_t marks)
{
	return in_scope_of(m, s, step, marks) && (!s->has_steps || ws_step_selected(m, s, step));
}

bool ws_range_selected(const struct ws_model *m, const struct ws_selection *s,
                       const struct ws_joined_range *r, uint32_t number)
{
	return (!s->in_pattern || s->in_pattern[number]) &&
	       (!asks_for_steps(s) ||
	        is_in_steps(m, s, step_of_range(m, s->rows, r), r->context->marks)) &&
	       ws_time_selected(s, r->start_ns, r->end_ns) &&
	       keeps_pid(m, s, m->threads[r->context->thread].process);
}

bool ws_call_selected(const struct ws_model *m, const struct ws_selection *s,
                      const struct ws_joined_call *c, size_t i)
{
	if (s->call)
		return s->call[i];
	return (!asks_for_steps(s) ||
	        is_in_steps(m, s, ws_joined_call_step(s->rows, m, c), c->kind->marks)) &&
	       ws_time_selected(s, c->start_ns, c->start_ns + c->dur_ns) &&
	       keeps_pid(m, s, m->threads[c->kind->thread].process);
}

/* What may be kept: its range and step, WS_NONE = in none, and the crossing of its call. */
struct thing {
	uint32_t range, step, crossing;
	uint8_t marks; /* of its range */
	int64_t start_ns, end_ns;
};

static bool in_scope(const struct ws_model *m, const struct ws_selection *s, const struct thing *t)
{
	return in_scope_of(m, s, t->step, t->marks);
}

/* What a process did then in a range, WS_NONE. */
static struct thing done_at(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t range,
                            uint32_t process, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	const struct ws_joined_range *r = ws_joined_rows_range(rows, range);

	return (struct thing){range,
	                      ws_joined_step_at(rows, m, r, process, thread, start_ns, end_ns),
	                      WS_NONE,
	                      r ? r->context->marks : 0,
	                      start_ns,
	                      end_ns};
}

bool ws_memory_selected(const struct ws_model *m, const struct ws_selection *s, size_t i)
{
	const struct ws_memory_event *e = &m->memory[i];

	if (s->memory || s->scope == WS_SCOPE_ALL)
		return !s->memory || s->memory[i];
	struct thing t = done_at(m, s->rows, e->range, e->process, WS_NONE, e->time_ns, e->time_ns);
	return in_scope(m, s, &t);
}

size_t ws_first_kernel_of(const struct ws_model *m, const struct ws_selection *s, uint32_t device)
{
	struct ws_joined_rows *rows = s->rows;
	size_t i;

	WS_COUNT_FIRST(i, rows->nkernels,
	               m->configs[ws_joined_rows_kernel(rows, i)->kind->config].device < device);
	return i;
}

bool ws_step_selected(const struct ws_model *m, const struct ws_selection *s, uint32_t step)
{
	const struct ws_model_step *st = step == WS_NONE ? NULL : &m->steps[step];

	if (s->whole)
		return step == s->step;
	if (!st || ws_step_is_left_out(st) || s->scope > WS_SCOPE_WARM_UP ||
	    (st->warm_up != 0) != (s->scope == WS_SCOPE_WARM_UP))
		return false;
	return st->number >= s->step_first && st->number <= s->step_last &&
	       ws_time_selected(s, st->start_ns, st->start_ns + st->total_ns);
}

void *ws_kept_result(const struct ws_selection *s, const void *key)
{
	const struct ws_kept_result *r = s->kept->first;

	while (r && r->key != key)
		r = r->next;
	return r ? r->result : NULL;
}

void ws_keep_result(const struct ws_selection *s, const void *key, void *result,
                    void (*release)(void *result))
{
	struct ws_kept_result *r = ws_arena_array(&s->kept->arena, 1, sizeof(*r));

	*r = (struct ws_kept_result){key, result, release, s->kept->first};
	s->kept->first = r;
}

/* --- what the filters need ----------------------------------------------------------- */

enum ws_status ws_filter_check_kernel(const struct ws_filter *f, struct ws_err *err)
{
	struct ws_expression *expression;

	if (!f || !f->kernel)
		return WS_OK;
	WS_FORWARD(ws_expression_new(&expression, f->kernel, err));
	ws_expression_free(expression);
	return WS_OK;
}

/* --- one thing -------------------------------------------------------------------------- */

/* By range, step and time, whatever the scope. */
static bool keeps_in_any(const struct selector *c, const struct thing *t)
{
	const struct ws_model *m = c->m;
	uint32_t crossing = t->crossing;
	int in = !c->s->in_pattern || (t->range != WS_NONE && c->s->in_pattern[t->range]);

	if (c->s->in_pattern && c->f->by_gpu_time)
		in = ws_spans_inside(&c->spans, t->start_ns,
		                     t->end_ns > t->start_ns ? t->end_ns : t->end_ns + 1) > 0;
	else
		for (; !in && crossing != WS_NONE;
		     crossing = m->attribution.crossings[crossing].next)
			in = c->s->in_pattern[m->attribution.crossings[crossing].range];
	return in && (!c->s->has_steps || ws_step_selected(m, c->s, t->step)) &&
	       ws_time_selected(c->s, t->start_ns, t->end_ns);
}

static bool keeps_place(const struct selector *c, uint32_t device, uint64_t stream)
{
	return (!c->s->has_device || c->m->devices[device].id == (uint64_t)c->f->device) &&
	       (!c->f || !c->f->has_stream || stream == c->f->stream);
}

static bool keeps_host(const struct selector *c, const struct thing *t, uint32_t process)
{
	return in_scope(c->m, c->s, t) && keeps_in_any(c, t) && keeps_pid(c->m, c->s, process);
}

/* --- all things ------------------------------------------------------------------------- */

/* With a filter of device work only the calls that started kept work are kept. */
static void keep_call(const struct ws_selection *s, bool work_is_kept, uint32_t call)
{
	if (s->has_launched && work_is_kept && call != WS_NONE)
		s->call[call] = 1;
}

/* Operations or ranges on the CPU alone: their steps are in the report all the same. */
static bool used_device(const struct selector *c)
{
	return c->m->nwork || ws_model_has_kernels(c->m) ||
	       (!c->m->cpu_ops.tree.n && !c->rows->nranges);
}

static void select_all(struct selector *c)
{
	const struct ws_model *m = c->m;
	struct ws_selection *s = c->s;
	/* an allocation is of no kernel and of no stream */
	int any = 0, of_any = !c->f || (!c->f->kernel && !c->f->has_stream);
	const struct ws_op_tree *ops = &m->cpu_ops.tree;

	/* Framework operations, which a pass declines, and allocations. */
	for (uint32_t i = 0; i < ops->n; i++) {
		const uint32_t process = m->threads[ops->thread[i]].process;
		const struct thing t = done_at(m, c->rows, m->cpu_ops.range[i], process,
		                               ops->thread[i], ops->start_ns[i], ops->end_ns[i]);

		s->op[i] = keeps_host(c, &t, process);
	}
	for (size_t i = 0; i < m->nmemory; i++) {
		const struct ws_memory_event *e = &m->memory[i];
		const struct thing t =
		        done_at(m, c->rows, e->range, e->process, WS_NONE, e->time_ns, e->time_ns);

		s->memory[i] =
		        keeps_host(c, &t, e->process) &&
		        (!s->has_device || (e->device != WS_NONE &&
		                            m->devices[e->device].id == (uint64_t)c->f->device));
	}
	/* Kernels. */
	for (int i = 0; i < WS_SCOPES && !s->kernel; i++) {
		const bool kept = s->scope == WS_SCOPE_ALL || s->scope == (enum ws_scope)i;

		s->kernels += kept ? c->rows->in_scope[i].kernels : 0;
		s->gpu_ns += kept ? c->rows->in_scope[i].gpu_ns : 0;
	}
	for (size_t i = 0; s->kernel && i < c->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->rows, i);
		const struct ws_config *config = &c->m->configs[k->kind->config];
		const int64_t start_ns = k->kind->timed ? k->start_ns : 0;
		const struct thing t = {k->range,       k->step,  ws_joined_crossing(c->m, k),
		                        k->kind->marks, start_ns, start_ns + k->dur_ns};

		s->any_scope[i] = keeps_in_any(c, &t) && keeps_pid(c->m, c->s, config->process) &&
		                  keeps_place(c, config->device, config->stream) &&
		                  (!c->name_matches || c->name_matches[config->name]);
		s->kernel[i] = s->any_scope[i] && in_scope(c->m, c->s, &t);
		keep_call(s, s->kernel[i], k->call);
		s->kernels += s->kernel[i];
		s->gpu_ns += s->kernel[i] ? k->dur_ns : 0;
	}
	/* Copies and fills. */
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];
		const struct thing t = {w->range, w->step,
		                        /* its scope is known */
		                        ws_crossing_of(c->m, w->call, w->is_captured), 0,
		                        w->start_ns, w->start_ns + w->dur_ns};

		s->any_work[i] = keeps_in_any(c, &t) && keeps_pid(c->m, c->s, w->process) &&
		                 keeps_place(c, w->device, w->stream) && !c->name_matches;
		s->work[i] = s->any_work[i] && (s->scope == WS_SCOPE_ALL || w->scope == s->scope);
		if (s->call)
			keep_call(s, s->work[i], w->call);
	}
	/* Calls. */
	for (uint32_t i = 0; s->call && !s->has_launched && i < c->rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(c->rows, i);
		const struct thing t = {call->range,
		                        ws_joined_call_step(c->rows, c->m, call),
		                        ws_crossing_of(c->m, i, false),
		                        call->kind->marks,
		                        call->start_ns,
		                        call->start_ns + call->dur_ns};

		s->call[i] = keeps_host(c, &t, c->m->threads[call->kind->thread].process);
	}
	for (size_t i = 0; i < m->nmemory; i++)
		any |= s->memory[i] && of_any;
	for (size_t i = 0; i < m->nwork; i++)
		any |= s->work[i];
	s->is_empty =
	        (*s->words || (s->scope != WS_SCOPE_ALL && used_device(c))) && !s->kernels && !any;
	for (uint32_t i = 0; i < c->rows->ncalls && s->is_empty; i++)
		s->is_empty = !ws_call_selected(m, s, ws_joined_rows_call(c->rows, i), i);
}

static int64_t time_of(const struct ws_model *m, int64_t relative_ns)
{
	int64_t ns;

	return __builtin_add_overflow(m->begin_ns, relative_ns, &ns)
	               ? relative_ns < 0 ? INT64_MIN : INT64_MAX
	               : ns;
}

static void select_by(struct selector *c)
{
	const struct ws_filter *f = c->f;

	/* Arrays by row only where a row does not tell it by itself. */
	const struct ws_model *m = c->m;
	const struct ws_joined_rows *rows = c->rows;
	struct ws_selection *s = c->s;

	WS_NEW(&s->arena, s->work, m->nwork);
	WS_NEW(&s->arena, s->any_work, m->nwork);
	WS_NEW(&s->arena, s->op, m->cpu_ops.tree.n);
	WS_NEW(&s->arena, s->memory, m->nmemory);
	WS_NEW(&s->arena, s->kept, 1);
	if (c->f && !ws_filter_is_all(c->f)) {
		WS_NEW(&s->arena, s->kernel, rows->nkernels);
		WS_NEW(&s->arena, s->any_scope, rows->nkernels);
	}
	if (s->has_launched || s->has_nvtx)
		WS_NEW(&s->arena, s->call, rows->ncalls);
	if (s->has_nvtx)
		WS_NEW(&s->arena, s->in_pattern, rows->nranges);
	if (c->s->has_nvtx)
		ws_filter_ranges(c->m, c->rows, f->nvtx, c->s->in_pattern);
	if (c->s->has_nvtx && f->by_gpu_time) {
		WS_EACH_RANGE(c->rows, i, r)
			if (c->s->in_pattern[i])
				ws_spans_add(&c->spans, r->start_ns, r->end_ns);
		ws_spans_merge(&c->spans);
	}
	if (f && f->kernel) {
		struct ws_expression *expression;
		uint8_t *seen; /* each kernel name is looked at once */

		WS_NEW(&c->temp, c->name_matches, m->ntexts);
		WS_NEW(&c->temp, seen, m->ntexts);
		if (ws_expression_new(&expression, f->kernel, NULL) != WS_OK)
			expression = NULL;
		for (size_t i = 0; i < m->nconfigs && expression; i++) {
			uint32_t name = m->configs[i].name;

			if (seen[name])
				continue;
			seen[name] = 1;
			char *text =
			        ws_arena_copy(&c->temp, m->texts[name].ptr, m->texts[name].len);
			ws_expression_reserve();
			c->name_matches[name] = ws_expression_matches(expression, text);
		}
		ws_expression_free(expression);
	}

	char *words = NULL;
	size_t len;
	FILE *out = ws_xmemstream(&words, &len);

	print(out, c->s, f);
	ws_xfclose(out);
	c->s->words = ws_arena_copy(&c->s->arena, words, len);
	free(words);

	/* What was asked for, of a model with its steps; STEPS is ALL where no device work is known
	 * to have been launched in one, as where no API calls were recorded. */
	enum ws_scope asked = f ? f->scope : WS_SCOPE_ALL;
	bool any_in_steps = rows->in_scope[WS_SCOPE_STEPS].kernels > 0;

	for (size_t i = 0; i < m->nwork; i++)
		any_in_steps |= m->work[i].scope == WS_SCOPE_STEPS;

	c->s->scope =
	        asked == WS_SCOPE_STEPS && !(c->m->nmeasured && (any_in_steps || !used_device(c)))
	                ? WS_SCOPE_ALL
	                : asked;
	c->s->to_device_work = c->s->scope != asked;
	c->s->measured = 0;
	for (uint32_t i = 0; i < c->m->nsteps; i++)
		c->s->measured += (size_t)ws_step_selected(c->m, c->s, i);
	c->s->scope_words = scope_words_of(c->m, asked, c->s);
	select_all(c);
}

void ws_select_rows(const struct ws_model *m, struct ws_joined_rows *rows,
                    const struct ws_filter *f, struct ws_selection *out)
{
	struct selector c = {.m = m, .rows = rows, .f = f, .s = out};

	/* What the filter says of times and steps. */
	struct ws_selection *s = out;

	*s = (struct ws_selection){.step_last = INT64_MAX,
	                           .time_first_ns = INT64_MIN,
	                           .time_end_ns = INT64_MAX};
	s->has_nvtx = f && f->nvtx;
	s->has_timeline = f && f->has_timeline;
	s->timeline = f ? f->timeline : -1;
	s->whatif = f ? f->whatif : NULL;
	s->nwhatif = f ? f->nwhatif : 0;
	s->has_steps = f && (f->step_first >= 0 || f->step_last >= 0);
	s->has_device = f && f->device >= 0;
	s->has_process = f && f->has_process;
	s->pid = f ? f->process : 0;
	s->has_launched = f && (f->device >= 0 || f->has_stream || f->kernel);
	if (s->has_steps) {
		s->step_first = f->step_first > 0 ? f->step_first : 0;
		s->step_last = f->step_last >= 0 ? f->step_last : INT64_MAX;
	}
	if (f && f->has_time) {
		s->time_first_ns = time_of(m, f->time_first_ns);
		s->time_end_ns = time_of(m, f->time_end_ns);
	}
	out->rows = rows;
	select_by(&c);
	ws_spans_release(&c.spans);
	ws_arena_free(&c.temp);
}

void ws_select_step(const struct ws_model *m, const struct ws_selection *sel, uint32_t step,
                    struct ws_selection *out)
{
	struct ws_joined_rows *rows = sel->rows;
	const struct ws_op_tree *ops = &m->cpu_ops.tree;

	*out = *sel;
	out->whole = sel;
	out->step = step;
	out->has_steps = true;
	out->measured = 1;
	out->kernels = 0;
	out->gpu_ns = 0;
	out->arena = (struct ws_arena){0};
	WS_NEW(&out->arena, out->kept, 1);
	WS_NEW(&out->arena, out->kernel, rows->nkernels);
	WS_NEW(&out->arena, out->work, m->nwork);
	WS_NEW(&out->arena, out->op, ops->n);
	WS_NEW(&out->arena, out->memory, m->nmemory);
	WS_EACH_KERNEL(rows, i, k) {
		out->kernel[i] = k->step == step && ws_kernel_selected(m, sel, k, i);
		out->kernels += out->kernel[i];
		out->gpu_ns += out->kernel[i] ? k->dur_ns : 0;
	}
	for (size_t i = 0; i < m->nwork; i++)
		out->work[i] = sel->work[i] && m->work[i].step == step;
	for (uint32_t i = 0; i < ops->n; i++)
		out->op[i] = sel->op[i] && done_at(m, rows, m->cpu_ops.range[i],
		                                   m->threads[ops->thread[i]].process,
		                                   ops->thread[i], ops->start_ns[i], ops->end_ns[i])
		                                           .step == step;
	for (size_t i = 0; i < m->nmemory; i++) {
		const struct ws_memory_event *e = &m->memory[i];

		out->memory[i] = sel->memory[i] && done_at(m, rows, e->range, e->process, WS_NONE,
		                                           e->time_ns, e->time_ns)
		                                                   .step == step;
	}
	if (!sel->call)
		return;
	WS_NEW(&out->arena, out->call, rows->ncalls);
	for (uint32_t i = 0; i < rows->ncalls; i++)
		out->call[i] = sel->call[i] &&
		               ws_joined_call_step(rows, m, ws_joined_rows_call(rows, i)) == step;
}

void ws_selection_release(struct ws_selection *s)
{
	if (s->kept) {
		for (struct ws_kept_result *r = s->kept->first; r; r = r->next)
			if (r->release)
				r->release(r->result);
		ws_arena_free(&s->kept->arena);
	}
	ws_arena_free(&s->arena);
	*s = (struct ws_selection){0};
}

bool ws_filter_is_all(const struct ws_filter *f)
{
	return !f->nvtx && f->step_first < 0 && f->step_last < 0 && f->device < 0 &&
	       !f->has_stream && !f->has_process && !f->has_time && !f->kernel;
}

/* --- the error message if nothing passes a filter, with the nearest names -------------------- */

/* Texts of the trace that a pattern may mean. */
struct names {
	char **text;
	size_t n;
};

static const char *name_at(const void *ctx, size_t i)
{
	const struct names *names = ctx;

	return i < names->n ? names->text[i] : NULL;
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->text[i]);
	free(names->text);
}

static void add_name(struct names *names, struct ws_bytes text)
{
	names->text[names->n] = ws_xstrndup(text.ptr, text.len);
	names->n++;
}

static enum ws_status unknown(const char *what, const char *word, const struct names *names,
                              const char *cure, struct ws_err *err)
{
	return names->n ? ws_opt_unknown_name(what, word, name_at, names, cure, err)
	                : WS_FAIL(err, USAGE, "the trace has no %ss", what);
}

static enum ws_status unknown_range(const struct ws_model *m, const char *pattern,
                                    struct names *names, struct ws_err *err)
{
	char word[128];

	for (size_t p = 0; p < m->ranges.npaths; p++)
		add_name(names, m->texts[m->ranges.paths[p].name]);

	/* The last part of a pattern without domain and instances, which may be misspelt. */
	const char *slash = strrchr(pattern, '/'), *colon = strchr(pattern, ':');
	const char *from = slash ? slash + 1 : colon ? colon + 1 : pattern;

	snprintf(word, 128, "%.*s", (int)strcspn(from, "#"), from);
	return unknown("range", word, names,
	               "warpsheet report TRACE --table ranges --scope all lists the ranges", err);
}

/* Does any kernel pass this filter, or for --nvtx any range? */
static bool passes(const struct ws_model *m, struct ws_joined_rows *rows,
                   const struct ws_filter *only)
{
	struct ws_selection sel;

	ws_select_rows(m, rows, only, &sel);
	bool any = sel.kernels > 0;
	for (size_t i = 0; only->nvtx && i < rows->nranges; i++)
		any |= sel.in_pattern[i];
	ws_selection_release(&sel);
	return any;
}

static enum ws_status explain_empty(const struct ws_model *m, const struct ws_filter *f,
                                    const struct ws_selection *sel, struct names *names,
                                    struct ws_err *err)
{
	char list[256] = "";
	bool has_device = f->device < 0;

	if (f->nvtx) {
		const char *nvtx = f->nvtx;
		struct ws_filter only = WS_FILTER_ALL;

		only.nvtx = nvtx;
		WS_FORWARD(passes(m, sel->rows, &only) ? WS_OK
		                                       : unknown_range(m, nvtx, names, err));
	}
	if (f->kernel) {
		struct ws_filter only = WS_FILTER_ALL;

		names_release(names);
		names->n = 0;
		names->text = ws_xarray(m->nconfigs + 1, sizeof(*names->text));
		only.kernel = f->kernel;
		for (size_t i = 1; i < m->nconfigs; i++)
			add_name(names, ws_model_short_name(m, m->configs[i].name));
		WS_FORWARD(passes(m, sel->rows, &only) ? WS_OK
		                                       : unknown("kernel", f->kernel, names,
		                                                 "warpsheet report TRACE --table "
		                                                 "kernel-summary lists the kernels",
		                                                 err));
	}
	for (size_t i = 0; i < m->ndevices && !has_device && strlen(list) + 24 < sizeof(list);
	     i++) {
		has_device = m->devices[i].id == (uint64_t)f->device;
		ws_say_add(list, sizeof(list), "%s%" PRIu64, *list ? ", " : "", m->devices[i].id);
	}
	WS_FAIL_IF(!has_device, err, USAGE, "the trace has no device %" PRId64 "; it has: %s",
	           f->device, *list ? list : "none");

	return WS_FAIL(err, USAGE, "nothing passes the filter: %s%sscope %s: %s%s", sel->words,
	               *sel->words ? "; " : "", ws_scope_name(sel->scope), sel->scope_words,
	               sel->scope == WS_SCOPE_ALL ? "" : "; --scope all looks at the whole trace");
}

enum ws_status ws_filter_check(const struct ws_model *m, const struct ws_selection *sel,
                               const struct ws_filter *filter, const char *step, struct ws_err *err)
{
	struct names names = {.text = ws_xarray(m->ranges.npaths + 1, sizeof(*names.text))};
	enum ws_status status = WS_OK;
	uint8_t is_step = 0;

	for (uint32_t i = 0; i < m->ranges.npaths && step && !is_step; i++)
		ws_step_is_path(m, &m->ranges, i, step, &is_step);
	if (step && !is_step)
		status = unknown_range(m, step, &names, err);
	if (status == WS_OK && sel->is_empty)
		status = explain_empty(m, filter, sel, &names, err);
	names_release(&names);
	return status;
}
