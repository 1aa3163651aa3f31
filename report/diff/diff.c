#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/base/names.h"
#include "report/diff/private.h"

struct ws_sides {
	struct ws_diff d;
	size_t capacity[2];
};

struct ws_sides *ws_sides_new(void)
{
	return ws_xarray(1, sizeof(struct ws_sides));
}

void ws_sides_free(struct ws_sides *s)
{
	if (!s)
		return;
	ws_match_release(&s->d.match);
	ws_spill_close(&s->d.work[0].rows);
	ws_spill_close(&s->d.work[1].rows);
	ws_side_release(&s->d.side[0]);
	ws_side_release(&s->d.side[1]);
	ws_names_release(&s->d.names);
	free(s);
}

struct ws_side_trace {
	struct ws_recording recording;
	struct ws_names names; /* its own, so that it needs nothing of the other side's */
};

enum ws_status ws_side_trace_read(struct ws_side_trace **out, const struct ws_model *m,
                                  struct ws_joined_rows *rows, struct ws_err *err)
{
	*out = ws_xarray(1, sizeof(**out));
	return ws_recording_read(&(*out)->recording, &(*out)->names, m, rows, err);
}

void ws_sides_add(struct ws_sides *s, int side, struct ws_side_trace *t)
{
	struct ws_side *to = &s->d.side[side];

	WS_GROW(to->recordings, to->nrecordings + 1, s->capacity[side]);
	ws_names_take(&s->d.names, &t->names, &t->recording);
	to->recordings[to->nrecordings++] = t->recording;
	t->recording = (struct ws_recording){0};
}

void ws_side_trace_free(struct ws_side_trace *t)
{
	if (!t)
		return;
	ws_recording_release(&t->recording);
	ws_names_release(&t->names);
	free(t);
}

/* --- is it the same work? ---------------------------------------------------------------- */

static void add_reason(struct ws_diff *d, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
static void add_reason(struct ws_diff *d, const char *fmt, ...)
{
	va_list args;

	if (d->nreasons == WS_DIFF_MAX_REASONS)
		return;
	va_start(args, fmt);
	vsnprintf(d->reasons[d->nreasons], sizeof(*d->reasons), fmt, args);
	va_end(args);
	for (char *p = d->reasons[d->nreasons++]; *p; p++)
		if (*p > 0 && *p < ' ')
			*p = '?';
}

/* Facts of which another value is other work. */
static const struct {
	const char *key, *word;
} work_facts[] = {
        {"workload.model", "model"},
        {"workload.layers", "layers"},
        {"workload.batch", "batch"},
        {"workload.context", "context"},
        {"workload.phase", "phase"},
        {"workload.kernel_width", "kernel width"},
        {"workload.depth_multiplier", "depth multiplier"},
};
#define NWORK_FACTS (sizeof(work_facts) / sizeof(*work_facts))

static void compare_facts(struct ws_diff *d)
{
	for (size_t i = 0; i < NWORK_FACTS; i++) {
		struct ws_bytes value[2];

		for (int s = 0; s < 2; s++)
			value[s] =
			        ws_texts_get(&d->names.texts, ws_side_fact(&d->side[s], &d->names,
			                                                   work_facts[i].key));
		if (value[0].len && value[1].len && ws_name_compare(value[0], value[1]))
			add_reason(d, "%s %.*s and %.*s", work_facts[i].word,
			           (int)(value[0].len < 40 ? value[0].len : 40),
			           (const char *)value[0].ptr,
			           (int)(value[1].len < 40 ? value[1].len : 40),
			           (const char *)value[1].ptr);
	}
}

/* Recordings of one side must be of one thing, too. */
static void compare_recordings(struct ws_diff *d, int s)
{
	const struct ws_side *side = &d->side[s];

	for (size_t r = 1; r < side->nrecordings; r++) {
		const struct ws_recording *first = &side->recordings[0],
		                          *other = &side->recordings[r];

		for (size_t i = 0; i < NWORK_FACTS; i++) {
			if (ws_recording_fact(first, &d->names, work_facts[i].key) ==
			    ws_recording_fact(other, &d->names, work_facts[i].key))
				continue;
			add_reason(d, "the recordings of %s differ in their %s", side->name,
			           work_facts[i].word);
			return;
		}
		if (first->has_steps != other->has_steps) {
			add_reason(d, "only some recordings of %s have steps", side->name);
			return;
		}
	}
}

static bool has_steps(const struct ws_side *s)
{
	return s->recordings[0].has_steps;
}

static uint8_t phases_of(const struct ws_side *s)
{
	return s->nsamples ? s->samples[0]->phases : 0;
}

static void compare_steps(struct ws_diff *d)
{
	const struct ws_side *a = &d->side[0], *b = &d->side[1];
	char list[2][64] = {"", ""};

	if (has_steps(a) != has_steps(b)) {
		add_reason(d, "%s has steps and %s has none (--step PATTERN names them)",
		           has_steps(a) ? a->name : b->name, has_steps(a) ? b->name : a->name);
		return;
	}
	if (!phases_of(a) || !phases_of(b) || phases_of(a) == phases_of(b))
		return;
	for (int s = 0; s < 2; s++)
		for (int p = 0; p < WS_PHASE_OTHER; p++)
			if (phases_of(&d->side[s]) >> p & 1)
				snprintf(list[s] + strlen(list[s]), sizeof(*list) - strlen(list[s]),
				         "%s%s", *list[s] ? ", " : "",
				         ws_phase_name((enum ws_phase)p));
	add_reason(d, "phases %s and %s", list[0], list[1]);
}

static void find_reasons(struct ws_diff *d)
{
	const struct ws_recording *a = &d->side[0].recordings[0], *b = &d->side[1].recordings[0];

	compare_facts(d);
	compare_recordings(d, 0);
	compare_recordings(d, 1);
	compare_steps(d);
	if (a->ndevices && b->ndevices && a->ndevices != b->ndevices)
		add_reason(d, "%u and %u devices", a->ndevices, b->ndevices);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		if (d->side[!s].gpu_ns && d->matched_ns[s] < side->gpu_ns / 2) {
			add_reason(d, "only %.1f %% of the GPU time of %s is matched",
			           ws_stat_percent((double)d->matched_ns[s], (double)side->gpu_ns),
			           side->name);
			return;
		}
	}
}

/* --- all of it --------------------------------------------------------------------------- */

static enum ws_status match(struct ws_diff *d, struct ws_err *err)
{
	struct ws_work_list list[2];
	uint32_t cast;

	cast = ws_texts_add_str(&d->names.texts, "cast");
	for (int s = 0; s < 2; s++)
		list[s] = (struct ws_work_list){d->side[s].slots, d->side[s].nslots,
		                                d->side[s].slots_ns};
	ws_match_find(&d->match, &d->names, &list[0], &list[1], cast);
	return ws_diff_sum_work(d, err);
}

struct ws_grade_opts ws_grade_opts_of(const struct ws_diff_opts *opts, bool on_cpu)
{
	struct ws_grade_opts grade = {.min_effect = opts->min_effect_percent / 100,
	                              .same_within = opts->same_within_percent / 100,
	                              .run_noise = opts->run_noise_percent / 100};

	if (isnan(grade.run_noise) && !on_cpu)
		grade.run_noise = WS_RUN_NOISE_GPU_PERCENT / 100;
	return grade;
}

static void resolve_grade(struct ws_diff *d)
{
	d->grade = ws_grade_opts_of(&d->opts, d->side[0].recordings[0].on_cpu ||
	                                              (d->side[1].nrecordings &&
	                                               d->side[1].recordings[0].on_cpu));
}

struct ws_diff *ws_sides_diff(struct ws_sides *s)
{
	return &s->d;
}

void ws_sides_prepare_aa(struct ws_sides *s, const struct ws_diff_opts *opts)
{
	static const struct ws_diff_opts defaults = WS_DIFF_OPTS_DEFAULT;

	s->d.opts = opts ? *opts : defaults;
	resolve_grade(&s->d);
	ws_side_merge(&s->d.side[0], &s->d.names);
}

static enum ws_status prepare(struct ws_diff *d, struct ws_err *err)
{
	for (int s = 0; s < 2; s++)
		ws_side_merge(&d->side[s], &d->names);
	resolve_grade(d);
	ws_sides_name(d->side, &d->names);
	WS_FORWARD(match(d, err));
	d->by_steps = has_steps(&d->side[0]) && has_steps(&d->side[1]);
	find_reasons(d);
	return WS_OK;
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	typedef enum ws_status (*fill_fn)(struct ws_diff *, struct ws_table *, struct ws_err *);
	/* in the order of WS_DIFF_TABLES */
	static const fill_fn fills[] = {
	        ws_diff_fill_verdict, ws_diff_fill_phases,  ws_diff_fill_ranges,
	        ws_diff_fill_ops,     ws_diff_fill_classes, ws_diff_fill_kernels,
	        ws_diff_fill_memory,  ws_diff_fill_only,    ws_diff_fill_config,
	};

	return fills[which](ctx, *t, err);
}

/* "fp32 (a.wtrace) against amp-bf16 (b.wtrace and 2 more)" */
static char *name_report(const struct ws_diff *d)
{
	char more[2][40] = {"", ""};
	struct ws_bytes file[2];

	for (int s = 0; s < 2; s++) {
		file[s] = ws_texts_get(&d->names.texts, d->side[s].recordings[0].name);
		if (d->side[s].nrecordings > 1)
			snprintf(more[s], sizeof(more[s]), " and %zu more",
			         d->side[s].nrecordings - 1);
	}
	return ws_xformat("A = %s (%.*s%s), B = %s (%.*s%s)", d->side[0].name, (int)file[0].len,
	                  (const char *)file[0].ptr, more[0], d->side[1].name, (int)file[1].len,
	                  (const char *)file[1].ptr, more[1]);
}

enum ws_status ws_diff_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                            struct ws_report **out, struct ws_diff_result *result,
                            struct ws_err *err)
{
	static const struct ws_diff_opts defaults = WS_DIFF_OPTS_DEFAULT;
	struct ws_diff *d = &s->d;
	struct ws_report_plan plan = {.title = "Warpsheet diff", .fill = fill, .ctx = d};
	enum ws_status status;
	char *trace;

	*out = NULL;
	*result = (struct ws_diff_result){0};
	d->opts = opts ? *opts : defaults;
	d->result = result;
	WS_FORWARD(prepare(d, err));
	plan.trace = trace = name_report(d);
	plan.created_ns = d->side[1].recordings[0].base_ns;
	plan.defs = ws_diff_defs(&plan.ndefs);
	status = ws_report_of_plan(&plan, out, err);
	free(trace);
	return status;
}
