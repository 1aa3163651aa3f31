#include "report/analysis/filter.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/steps.h"

/* What selecting needs and the report does not. */
struct selector {
	const struct ws_model *m;
	const struct ws_filter *f;
	struct ws_selection *s;
	uint8_t *inside;       /* range -> the --nvtx pattern keeps it; NULL = no pattern */
	uint8_t *name_matches; /* text -> the --kernel expression does; NULL = none */
	/* --by gpu-time: the time of the kept ranges, disjoint and in order */
	int64_t *span_start, *span_end;
	size_t nspans;
};

static void selector_release(struct selector *c)
{
	free(c->inside);
	free(c->name_matches);
	free(c->span_start);
	free(c->span_end);
}

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for a filter");
}

int ws_time_selected(const struct ws_selection *s, int64_t start_ns, int64_t end_ns)
{
	/* a moment overlaps a time that begins with it */
	return start_ns < s->time_end_ns &&
	       (end_ns > s->time_first_ns || (end_ns == start_ns && end_ns == s->time_first_ns));
}

int ws_step_selected(const struct ws_model *m, const struct ws_selection *s, uint32_t step)
{
	const struct ws_model_step *st = step == WS_NONE ? NULL : &m->steps[step];

	if (!st || st->unfinished || s->scope > WS_SCOPE_WARM_UP ||
	    (st->warm_up != 0) != (s->scope == WS_SCOPE_WARM_UP))
		return 0;
	return st->number >= s->step_first && st->number <= s->step_last &&
	       ws_time_selected(s, st->start_ns, st->start_ns + st->total_ns);
}

/* --- the filters in words ------------------------------------------------------------- */

static void say_times(FILE *f, const struct ws_filter *filter)
{
	fprintf(f, "what overlaps %.6f ms to ", (double)filter->time_first_ns / 1e6);
	if (filter->time_end_ns == INT64_MAX)
		fputs("the end", f);
	else
		fprintf(f, "%.6f ms", (double)filter->time_end_ns / 1e6);
	fputs(" of the trace", f);
}

static enum ws_status say(struct ws_selection *s, const struct ws_filter *f, struct ws_err *err)
{
	size_t len;
	const char *comma = "";
	FILE *out = open_memstream(&s->words, &len);

	if (!out)
		return no_memory(err);
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
		say_times(out, f);
	}
	if (fclose(out) == 0)
		return WS_OK;
	free(s->words);
	s->words = NULL;
	return no_memory(err);
}

static int scope_words(const struct ws_model *m, enum ws_scope asked, struct ws_selection *s)
{
	static const char whole[] = "all of the trace, from its first record to its last";

	switch (s->scope) {
	case WS_SCOPE_STEPS:
		return m->nmeasured == 1
		               ? asprintf(&s->scope_words, "the only measured step")
		               : asprintf(
		                         &s->scope_words,
		                         "the %zu measured steps, without warm-up, set-up and what "
		                         "ran outside steps",
		                         m->nmeasured);
	case WS_SCOPE_WARM_UP:
		return asprintf(&s->scope_words, "the warm-up");
	case WS_SCOPE_SETUP:
		return asprintf(&s->scope_words, "the set-up");
	case WS_SCOPE_OUTSIDE:
		return asprintf(&s->scope_words, "what ran outside steps, warm-up and set-up");
	default:
		if (asked != WS_SCOPE_STEPS)
			return asprintf(&s->scope_words,
			                "all of the trace, warm-up and set-up included");
		return asprintf(&s->scope_words, "%s: %s", whole,
		                m->nmeasured ? "no device work is known to belong to its steps"
		                             : "it has no finished measured step");
	}
}

enum ws_status ws_select_scope(const struct ws_model *m, enum ws_scope asked, int any_in_steps,
                               struct ws_selection *s, struct ws_err *err)
{
	s->scope =
	        asked == WS_SCOPE_STEPS && !(m->nmeasured && any_in_steps) ? WS_SCOPE_ALL : asked;
	s->measured = 0;
	for (uint32_t i = 0; i < m->nsteps; i++)
		s->measured += (size_t)ws_step_selected(m, s, i);
	if (scope_words(m, asked, s) >= 0)
		return WS_OK;
	s->scope_words = NULL;
	return no_memory(err);
}

/* --- what the filters need ----------------------------------------------------------- */

/* Each kernel name is looked at once. */
static enum ws_status match_names(struct selector *c, struct ws_err *err)
{
	const struct ws_model *m = c->m;
	regex_t expression;
	enum ws_status status = WS_OK;
	uint8_t *seen = calloc(m->ntexts, 1);
	int rc = regcomp(&expression, c->f->kernel, REG_EXTENDED | REG_NOSUB);

	if (rc) {
		char why[128];

		regerror(rc, &expression, why, sizeof(why));
		free(seen);
		return WS_FAIL(err, USAGE, "'%s' is no regular expression: %s", c->f->kernel, why);
	}
	c->name_matches = calloc(m->ntexts, 1);
	if (!seen || !c->name_matches)
		status = no_memory(err);
	for (size_t i = 0; i < m->nconfigs && status == WS_OK; i++) {
		uint32_t name = m->configs[i].name;
		char *text;

		if (seen[name])
			continue;
		seen[name] = 1;
		text = strndup(m->texts[name].ptr, m->texts[name].len);
		if (!text)
			status = no_memory(err);
		else
			c->name_matches[name] = !regexec(&expression, text, 0, NULL, 0);
		free(text);
	}
	free(seen);
	regfree(&expression);
	return status;
}

/* The union of the time of the kept ranges. */
static enum ws_status find_spans(struct selector *c, struct ws_err *err)
{
	const struct ws_ranges *r = &c->m->ranges;
	size_t n = 0, size = r->n ? r->n : 1;
	uint32_t *order = calloc(size, sizeof(*order));
	enum ws_status status = WS_OK;

	c->span_start = calloc(size, sizeof(*c->span_start));
	c->span_end = calloc(size, sizeof(*c->span_end));
	if (!order || !c->span_start || !c->span_end)
		status = no_memory(err);
	for (uint32_t i = 0; i < r->n && status == WS_OK; i++)
		if (c->inside[i])
			order[n++] = i;
	if (status == WS_OK)
		status = ws_order_by(order, r->start_ns, n, err);
	for (size_t i = 0; i < n && status == WS_OK; i++) {
		int64_t start = r->start_ns[order[i]], end = r->end_ns[order[i]];

		if (!c->nspans || start > c->span_end[c->nspans - 1]) {
			c->span_start[c->nspans] = start;
			c->span_end[c->nspans++] = end;
		} else if (end > c->span_end[c->nspans - 1]) {
			c->span_end[c->nspans - 1] = end;
		}
	}
	free(order);
	return status;
}

static int overlaps_spans(const struct selector *c, int64_t start_ns, int64_t end_ns)
{
	size_t lo = 0, hi = c->nspans;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->span_end[mid] <= start_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->nspans && c->span_start[lo] < (end_ns > start_ns ? end_ns : end_ns + 1);
}

/* --- one thing -------------------------------------------------------------------------- */

/* What may be kept: its range and step, WS_NONE = in none, and the crossing of its call. */
struct thing {
	uint32_t range, step, crossing;
	int64_t start_ns, end_ns;
};

static int in_scope(const struct selector *c, const struct thing *t)
{
	return c->s->scope == WS_SCOPE_ALL ||
	       ws_scope_of(c->m, t->step, ws_range_marks(c->m, t->range)) == c->s->scope;
}

/* By range, step and time, whatever the scope. */
static int keeps_in_any(const struct selector *c, const struct thing *t)
{
	const struct ws_model *m = c->m;
	uint32_t crossing = t->crossing;
	int in = !c->inside || (t->range != WS_NONE && c->inside[t->range]);

	if (c->inside && c->f->by_gpu_time)
		in = overlaps_spans(c, t->start_ns, t->end_ns);
	else
		for (; !in && crossing != WS_NONE;
		     crossing = m->attribution.crossings[crossing].next)
			in = c->inside[m->attribution.crossings[crossing].range];
	return in && (!c->s->has_steps || ws_step_selected(m, c->s, t->step)) &&
	       ws_time_selected(c->s, t->start_ns, t->end_ns);
}

static int keeps(const struct selector *c, struct thing t)
{
	return in_scope(c, &t) && keeps_in_any(c, &t);
}

static int keeps_pid(const struct selector *c, uint32_t process)
{
	return !c->f || !c->f->has_process ||
	       (process < c->m->nprocesses && c->m->pids[process] == c->f->process);
}

static int keeps_place(const struct selector *c, uint32_t device, uint64_t stream)
{
	return (!c->s->has_device || c->m->devices[device].id == (uint64_t)c->f->device) &&
	       (!c->f || !c->f->has_stream || stream == c->f->stream);
}

static uint32_t crossing_of_call(const struct selector *c, uint32_t call)
{
	return call == WS_NONE || !c->m->attribution.first ? WS_NONE
	                                                   : c->m->attribution.first[call];
}

/* --- all things ------------------------------------------------------------------------- */

static void select_work(struct selector *c)
{
	const struct ws_model *m = c->m;
	const struct ws_kernels *kernels = &m->kernels;
	struct ws_selection *s = c->s;

	for (size_t k = 0; k < kernels->n; k++) {
		const struct ws_config *config = &m->configs[kernels->config[k]];
		int64_t start = kernels->start_ns[k];
		const struct thing t = {kernels->range[k], kernels->step[k],
		                        crossing_of_call(c, kernels->call[k]), start,
		                        start + kernels->dur_ns[k]};

		s->any_scope[k] = keeps_in_any(c, &t) && keeps_pid(c, config->process) &&
		                  keeps_place(c, config->device, config->stream) &&
		                  (!c->name_matches || c->name_matches[config->name]);
		s->kernel[k] = s->any_scope[k] && in_scope(c, &t);
		if (s->kernel[k]) {
			s->kernels++;
			s->gpu_ns += kernels->dur_ns[k];
		}
	}
	for (size_t i = 0; i < m->nworks; i++) {
		const struct ws_work *w = &m->works[i];

		const struct thing t = {w->range, w->step, crossing_of_call(c, w->call),
		                        w->start_ns, w->start_ns + w->dur_ns};

		s->any_work[i] = keeps_in_any(c, &t) && keeps_pid(c, w->process) &&
		                 keeps_place(c, w->device, w->stream) && !c->name_matches;
		s->work[i] = s->any_work[i] && in_scope(c, &t);
	}
}

/* With a filter of device work only the calls that started kept work. */
static void select_calls(struct selector *c)
{
	const struct ws_model *m = c->m;
	const struct ws_api *a = &m->api;
	struct ws_selection *s = c->s;

	if (s->has_launched) {
		for (size_t k = 0; k < m->kernels.n; k++)
			if (s->kernel[k] && m->kernels.call[k] != WS_NONE)
				s->call[m->kernels.call[k]] = 1;
		for (size_t i = 0; i < m->nworks; i++)
			if (s->work[i] && m->works[i].call != WS_NONE)
				s->call[m->works[i].call] = 1;
		return;
	}
	for (uint32_t i = 0; i < a->n; i++)
		s->call[i] = keeps(c, (struct thing){a->range[i], ws_call_step(m, i),
		                                     crossing_of_call(c, i), a->start_ns[i],
		                                     a->end_ns[i]}) &&
		             keeps_pid(c, a->process[i]);
}

static void select_host(struct selector *c)
{
	const struct ws_model *m = c->m;
	const struct ws_ranges *r = &m->ranges, *ops = &m->cpu_ops.tree;
	struct ws_selection *s = c->s;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct thing t = {i, ws_range_step(m, i), WS_NONE, r->start_ns[i],
		                        r->end_ns[i]};

		s->range[i] = (!c->inside || c->inside[i]) && in_scope(c, &t) &&
		              (!s->has_steps || ws_step_selected(m, s, t.step)) &&
		              ws_time_selected(s, t.start_ns, t.end_ns) &&
		              keeps_pid(c, m->threads[r->thread[i]].process);
	}
	for (uint32_t i = 0; i < ops->n; i++) {
		uint32_t process = m->threads[ops->thread[i]].process, range = m->cpu_ops.range[i];
		int64_t start = ops->start_ns[i], end = ops->end_ns[i];

		s->op[i] = keeps(c, (struct thing){range, ws_step_at(m, range, process, start, end),
		                                   WS_NONE, start, end}) &&
		           keeps_pid(c, process);
	}
	for (size_t i = 0; i < m->nmemory; i++) {
		const struct ws_memory_event *e = &m->memory[i];

		s->memory[i] =
		        keeps(c, (struct thing){e->range,
		                                ws_step_at(m, e->range, e->process, e->time_ns,
		                                           e->time_ns),
		                                WS_NONE, e->time_ns, e->time_ns}) &&
		        keeps_pid(c, e->process) &&
		        (!s->has_device || (e->device != WS_NONE &&
		                            m->devices[e->device].id == (uint64_t)c->f->device));
	}
}

static void select_all(struct selector *c)
{
	const struct ws_model *m = c->m;
	struct ws_selection *s = c->s;
	int any = 0;

	select_host(c);
	select_work(c);
	select_calls(c);
	for (size_t i = 0; i < m->nmemory; i++)
		any |= s->memory[i];
	for (size_t i = 0; i < m->nworks; i++)
		any |= s->work[i];
	for (size_t i = 0; i < m->api.n; i++)
		any |= s->call[i];
	s->nothing = (*s->words || s->scope != WS_SCOPE_ALL) && !s->kernels && !any;
}

static enum ws_status allocate(const struct ws_model *m, struct ws_selection *s, struct ws_err *err)
{
	s->kernel = calloc(m->kernels.n + 1, 1);
	s->any_scope = calloc(m->kernels.n + 1, 1);
	s->range = calloc(m->ranges.n + 1, 1);
	s->call = calloc(m->api.n + 1, 1);
	s->work = calloc(m->nworks + 1, 1);
	s->any_work = calloc(m->nworks + 1, 1);
	s->op = calloc(m->cpu_ops.tree.n + 1, 1);
	s->memory = calloc(m->nmemory + 1, 1);
	if (!s->kernel || !s->any_scope || !s->range || !s->call || !s->work || !s->any_work ||
	    !s->op || !s->memory)
		return WS_FAIL(err, NO_MEMORY, "no memory to select %zu kernels", m->kernels.n);
	return WS_OK;
}

static int any_in_steps(const struct ws_model *m)
{
	for (size_t k = 0; k < m->kernels.n; k++)
		if (ws_step_is_measured(m, m->kernels.step[k]))
			return 1;
	for (size_t i = 0; i < m->nworks; i++)
		if (m->works[i].scope == WS_SCOPE_STEPS)
			return 1;
	return 0;
}

static int64_t time_of(const struct ws_model *m, int64_t relative_ns)
{
	int64_t ns;

	return __builtin_add_overflow(m->begin_ns, relative_ns, &ns)
	               ? relative_ns < 0 ? INT64_MIN : INT64_MAX
	               : ns;
}

enum ws_status ws_select(const struct ws_model *m, const struct ws_filter *f,
                         struct ws_selection *out, struct ws_err *err)
{
	struct selector c = {.m = m, .f = f, .s = out};
	enum ws_status status;

	*out = (struct ws_selection){.step_last = INT64_MAX,
	                             .time_first_ns = INT64_MIN,
	                             .time_end_ns = INT64_MAX};
	out->has_nvtx = f && f->nvtx;
	out->has_steps = f && (f->step_first >= 0 || f->step_last >= 0);
	out->has_device = f && f->device >= 0;
	out->has_launched = f && (f->device >= 0 || f->has_stream || f->kernel);
	if (out->has_steps) {
		out->step_first = f->step_first > 0 ? f->step_first : 0;
		out->step_last = f->step_last >= 0 ? f->step_last : INT64_MAX;
	}
	if (f && f->has_time) {
		out->time_first_ns = time_of(m, f->time_first_ns);
		out->time_end_ns = time_of(m, f->time_end_ns);
	}
	status = allocate(m, out, err);
	if (status == WS_OK && out->has_nvtx) {
		c.inside = calloc(m->ranges.n + 1, 1);
		status = c.inside ? ws_filter_ranges(m, f->nvtx, c.inside, err) : no_memory(err);
	}
	if (status == WS_OK && out->has_nvtx && f->by_gpu_time)
		status = find_spans(&c, err);
	if (status == WS_OK && f && f->kernel)
		status = match_names(&c, err);
	if (status == WS_OK)
		status = say(out, f, err);
	if (status == WS_OK)
		status = ws_select_scope(m, f ? f->scope : WS_SCOPE_ALL, any_in_steps(m), out, err);
	if (status == WS_OK)
		select_all(&c);
	selector_release(&c);
	return status;
}

void ws_selection_release(struct ws_selection *s)
{
	free(s->kernel);
	free(s->any_scope);
	free(s->scope_words);
	free(s->range);
	free(s->call);
	free(s->work);
	free(s->any_work);
	free(s->op);
	free(s->memory);
	free(s->words);
	*s = (struct ws_selection){0};
}

int ws_filter_is_all(const struct ws_filter *f)
{
	return !f->nvtx && f->step_first < 0 && f->step_last < 0 && f->device < 0 &&
	       !f->has_stream && !f->has_process && !f->has_time && !f->kernel;
}
