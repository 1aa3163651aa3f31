#include "report/analysis/slow_step.h"

#include "report/analysis/digest.h"
#include "report/analysis/idle.h"
#include "report/analysis/steps.h"
#include "report/base/ui.h"
#include "report/model/load.h"

/* Without a trigger a step is slow if it takes so many times the median of so many others. */
#define SLOW_TIMES   1.5
#define LEAST_OTHERS 5
/* A cause has this share of the difference. */
#define MAIN_SHARE 0.5
/* A clock that is lower by less did not change. */
#define SAME_CLOCK 0.03

struct finder {
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_arena *arena; /* of the result */
	struct ws_slow_step *out;
	uint32_t *number[WS_SLOW_KINDS]; /* by name: part + 1 */
	struct ws_arena temp;
};

static int64_t length_of(const struct ws_time_window *w)
{
	return w->end_ns - w->start_ns;
}

static double more_ns(const struct ws_slow_part *part)
{
	return part->ns[WS_SLOW_IT] - part->ns[WS_SLOW_MEDIAN];
}

/* --- which step ------------------------------------------------------------------------------ */

static const char *number_of(struct finder *f, const struct ws_time_window *w)
{
	return ws_arena_format(f->arena, "%" PRIu32, f->m->steps[w->step].number);
}

static bool is_step_at(const struct ws_model_step *step, int64_t at_ns)
{
	return at_ns >= step->start_ns &&
	       (uint64_t)at_ns - (uint64_t)step->start_ns < (uint64_t)step->total_ns;
}

/* The step for which a flight recorder wrote the trace: of steps of several threads at a time the
 * one that begins as told, else the one that contains its middle, since steps that PyTorch's
 * optimizers end begin a little later here than for the recorder. */
static const struct ws_time_window *find_told(struct finder *f, const struct ws_windows *w,
                                              int64_t start_ns, int64_t told_ns)
{
	const struct ws_model *m = f->m;
	const char *why = "is not in this report";

	for (int by_middle = 0; by_middle < 2; by_middle++)
		for (size_t i = 0; i < w->n; i++) {
			const uint32_t step = w->window[i].step;

			if (step != WS_NONE && (by_middle ? is_step_at(&m->steps[step], told_ns)
			                                  : m->steps[step].start_ns == start_ns))
				return &w->window[i];
		}
	for (size_t i = 0; i < m->nsteps; i++)
		if (is_step_at(&m->steps[i], told_ns))
			why = m->steps[i].apart
			              ? ws_arena_format(f->arena, "contains %s",
			                                ws_step_apart_name(m->steps[i].apart))
			      : m->steps[i].unsound    ? "has records that cannot be true"
			      : m->steps[i].unfinished ? "was not recorded whole"
			                               : why;
	f->out->obstacle =
	        ws_arena_format(f->arena,
	                        "The step for which this trace was written %s. It is not "
	                        "measured, and so not compared with the median step.",
	                        why);
	return NULL;
}

/* The longest after start-up, if it is long enough. */
static const struct ws_time_window *find_longest(struct finder *f, const struct ws_windows *w)
{
	const size_t first = ws_host_activity_find(f->m, f->sel)->first_steps;
	const struct ws_time_window *longest = NULL, *median;

	for (size_t i = first; i < w->n; i++)
		if (!longest || length_of(&w->window[i]) > length_of(longest))
			longest = &w->window[i];
	if (!longest || w->n - first <= LEAST_OTHERS) {
		f->out->obstacle = ws_arena_format(
		        f->arena,
		        "Fewer than %d steps after start-up are measured, so none is "
		        "called slow.",
		        LEAST_OTHERS + 1);
		return NULL;
	}
	median = ws_windows_median(w);
	if ((double)length_of(longest) > SLOW_TIMES * (double)length_of(median))
		return longest;
	f->out->obstacle = ws_arena_format(
	        f->arena, "No step is slow: the longest, step %s, takes %s, the median step %s.",
	        number_of(f, longest), ws_say_time(f->arena, (double)length_of(longest)),
	        ws_say_time(f->arena, (double)length_of(median)));
	return NULL;
}

static void find_steps(struct finder *f)
{
	struct ws_slow_step *s = f->out;
	const struct ws_windows *w = ws_windows(f->m, f->sel);
	const int64_t told_ns = ws_meta_number(&f->m->meta, "flight.step_ns", 0),
	              start_ns = ws_meta_number(&f->m->meta, "flight.step_start_ns", INT64_MIN);

	s->slow = told_ns > 0                            ? find_told(f, w, start_ns,
	                                                             (int64_t)((uint64_t)start_ns + (uint64_t)told_ns / 2))
	          : w->n && w->window[0].step != WS_NONE ? find_longest(f, w)
	                                                 : NULL;
	if (!s->slow) {
		if (!s->obstacle)
			s->obstacle = "The trace has no measured steps.";
		return;
	}
	s->median = ws_windows_median(w);
	s->nothers = w->n - 1;
	if (!s->nothers)
		s->obstacle = "No other step is measured with which to compare the slow one.";
	else if (length_of(s->slow) <= length_of(s->median))
		s->obstacle = "The step for which this trace was written takes no longer than the "
		              "median step of this report.";
}

/* --- its parts ------------------------------------------------------------------------------- */

/* The part with this name; nnames: their number. */
static struct ws_slow_part *part_of(struct finder *f, enum ws_slow_kind kind, uint32_t name,
                                    size_t nnames)
{
	struct ws_slow_step *s = f->out;

	if (!f->number[kind])
		WS_NEW(&f->temp, f->number[kind], nnames);
	if (!f->number[kind][name]) {
		WS_GROW(s->part, s->nparts + 1, s->capacity);
		s->part[s->nparts++] = (struct ws_slow_part){.kind = kind, .name = name};
		f->number[kind][name] = (uint32_t)s->nparts;
	}
	return &s->part[f->number[kind][name] - 1];
}

static void add(struct finder *f, uint32_t step, struct ws_slow_part *part, double ns, double count)
{
	const bool is_slow = step == f->out->slow->step;

	part->ns[is_slow ? WS_SLOW_IT : WS_SLOW_OTHERS] += ns;
	part->count[is_slow ? WS_SLOW_IT : WS_SLOW_OTHERS] += count;
	if (step == f->out->median->step) {
		part->ns[WS_SLOW_MEDIAN] += ns;
		part->count[WS_SLOW_MEDIAN] += count;
	}
}

/* What adds up to a step: uses of the device, phases. */
static void add_windows(struct finder *f)
{
	const struct ws_windows *w = ws_windows(f->m, f->sel);
	const struct ws_step_times *times = ws_step_times(f->m, f->sel);
	const struct ws_idle *idle = ws_model_has_work(f->m) ? ws_idle_find(f->m, f->sel) : NULL;

	for (size_t i = 0; i < w->n; i++) {
		const uint32_t step = w->window[i].step;
		double sum_ns = 0;

		add(f, step, part_of(f, WS_SLOW_STEP, 0, 1), (double)length_of(&w->window[i]), 1);
		for (int use = 0; idle && use < WS_USES; use++)
			sum_ns += (double)idle->of_window[i].ns[use];
		/* the mean of the devices */
		for (uint32_t use = 0; sum_ns > 0 && use < WS_USES; use++)
			if (idle->of_window[i].ns[use])
				add(f, step, part_of(f, WS_SLOW_USE, use, WS_USES),
				    (double)idle->of_window[i].ns[use] *
				            (double)length_of(&w->window[i]) / sum_ns,
				    0);
		for (uint32_t p = 0; p < WS_PHASES; p++)
			if (times->window_ns[step][p] > 0)
				add(f, step, part_of(f, WS_SLOW_PHASE, p, WS_PHASES),
				    (double)times->window_ns[step][p], 0);
	}
}

/* Ranges of the thread of the step, and operations of a framework, each without those inside it. */
static void add_host(struct finder *f)
{
	const struct ws_model *m = f->m;
	struct ws_joined_rows *rows = f->sel->rows;
	const struct ws_op_tree *ops = &m->cpu_ops.tree;

	for (uint32_t i = 0; i < rows->nranges; i++) {
		const struct ws_joined_range r = *ws_joined_rows_range(rows, i);
		const uint32_t step = ws_joined_step_at(rows, m, &r, r.context->process,
		                                        r.context->thread, r.start_ns, r.end_ns);
		const struct ws_joined_range *around = ws_joined_rows_range(rows, r.parent);
		const double ns = (double)(r.end_ns - r.start_ns);

		if (r.is_open || step == WS_NONE || !ws_step_selected(m, f->sel, step) ||
		    r.context->thread != m->steps[step].thread)
			continue;
		add(f, step, part_of(f, WS_SLOW_RANGE, r.context->path, m->ranges.npaths), ns, 1);
		if (around && i != m->steps[step].range && !around->is_open &&
		    ws_joined_range_step(rows, around) == step)
			add(f, step,
			    part_of(f, WS_SLOW_RANGE, around->context->path, m->ranges.npaths), -ns,
			    0);
	}
	for (uint32_t i = 0; i < ops->n; i++) {
		const uint32_t step = ws_step_of_op(m, rows, i);
		const double ns = (double)(ops->end_ns[i] - ops->start_ns[i]);

		if (step == WS_NONE || !ws_step_selected(m, f->sel, step))
			continue;
		add(f, step, part_of(f, WS_SLOW_OP, ops->name[i], m->ntexts), ns, 1);
		if (ops->parent[i] != WS_NONE)
			add(f, step, part_of(f, WS_SLOW_OP, ops->name[ops->parent[i]], m->ntexts),
			    -ns, 0);
	}
}

static void add_work(struct finder *f)
{
	const struct ws_model *m = f->m;
	struct ws_joined_rows *rows = f->sel->rows;

	WS_EACH_KERNEL(rows, i, k) {
		const double ns = k->kind->timed ? (double)k->dur_ns : 0;
		const uint32_t step = k->step;

		if (step == WS_NONE || !ws_step_selected(m, f->sel, step) ||
		    !ws_kernel_selected(m, f->sel, k, i))
			continue;
		if (k->kind->class)
			add(f, step, part_of(f, WS_SLOW_CLASS, k->kind->class, m->ntexts), ns, 1);
		add(f, step,
		    part_of(f, WS_SLOW_KERNEL, m->configs[k->kind->config].name, m->ntexts), ns, 1);
	}
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		if (w->kind != WS_WORK_GRAPH && w->step != WS_NONE && f->sel->work[i] &&
		    ws_step_selected(m, f->sel, w->step))
			add(f, w->step, part_of(f, WS_SLOW_COPY, ws_copy_name_of(w), WS_COPY_NAMES),
			    w->no_time ? 0 : (double)w->dur_ns, 1);
	}
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_joined_call call = *ws_joined_rows_call(rows, i);
		const uint32_t step = ws_joined_call_step(rows, m, &call);

		if (step != WS_NONE && ws_step_selected(m, f->sel, step))
			add(f, step, part_of(f, WS_SLOW_CALL, call.kind->name, m->ntexts),
			    (double)call.dur_ns, 1);
	}
}

/* --- why ------------------------------------------------------------------------------------- */

static bool knows_clock(const struct ws_slow_step *s)
{
	return ws_energy_is_known(&s->energy[0]) && ws_energy_is_known(&s->energy[1]) &&
	       s->energy[0].sm_mhz.sum > 0 && s->energy[1].sm_mhz.sum > 0;
}

/* The clock of the other steps over that of the slow one. */
static double clock_ratio(const struct ws_slow_step *s)
{
	return ws_time_mean(s->energy[1].sm_mhz) / ws_time_mean(s->energy[0].sm_mhz);
}

static double power_w(const struct ws_energy *e)
{
	return e->known ? 1e6 * e->mj / (double)e->known_ns : NAN;
}

static const char *mhz(struct ws_arena *texts, const struct ws_energy *e)
{
	return ws_arena_format(texts, "%s MHz",
	                       ws_say_number(texts, round(ws_time_mean(e->sm_mhz))));
}

const char *ws_slow_step_clock_words(const struct ws_slow_step *s, struct ws_arena *texts)
{
	const struct ws_energy *it = &s->energy[0], *others = &s->energy[1];
	const bool has_samples = ws_energy_is_known(it);
	const char *words;

	if (!has_samples || !ws_energy_is_known(others))
		return ws_arena_format(texts,
		                       "Clock and power of the %s not known: %s %" PRIu64
		                       " samples of them, and five are needed.",
		                       has_samples ? "other steps are" : "slow step are",
		                       has_samples ? "they have" : "it has",
		                       has_samples ? others->samples : it->samples);
	if (!knows_clock(s))
		return "The clock is not known: the samples of the GPU are without it.";
	words = ws_arena_format(texts, "SM clock: %s in the slow step, %s in the others.",
	                        mhz(texts, it), mhz(texts, others));
	if (power_w(it) > 0 && power_w(others) > 0)
		words = ws_arena_format(texts, "%s Power: %s W, %s W.", words,
		                        ws_say_number(texts, round(power_w(it))),
		                        ws_say_number(texts, round(power_w(others))));
	if (it->throttled.sum > 0)
		words = ws_arena_format(texts, "%s Throttled in the slow step: %s.", words,
		                        ws_throttle_shares(it, texts));
	return words;
}

/* The mean time of one instance in the median step; where that has none, in the others; NaN. */
static double each_ns(const struct ws_slow_part *p)
{
	const enum ws_slow_side side =
	        p->count[WS_SLOW_MEDIAN] > 0 ? WS_SLOW_MEDIAN : WS_SLOW_OTHERS;

	return p->ns[side] / p->count[side];
}

/* Of kernels that take so many times as long. */
static const char *longer_words(const struct ws_slow_step *s, double ratio, struct ws_arena *texts)
{
	if (!knows_clock(s))
		return "cannot tell if the clock was lower";
	if (clock_ratio(s) < 1 + SAME_CLOCK)
		return "the clock was not lower, so cannot tell why";
	return ws_arena_format(texts, "%s lower clock",
	                       clock_ratio(s) - 1 >= MAIN_SHARE * (ratio - 1)
	                               ? "at a"
	                               : "cannot tell why: only in part by the");
}

/* What is different about a part that is longer; NULL: nothing is known. */
static const char *part_words(const struct ws_slow_step *s, const struct ws_slow_part *p,
                              struct ws_arena *texts)
{
	const double n = p->count[WS_SLOW_IT], median = p->count[WS_SLOW_MEDIAN];
	const double ratio = p->ns[WS_SLOW_IT] / n / each_ns(p);
	const bool is_kernel = p->kind == WS_SLOW_KERNEL || p->kind == WS_SLOW_CLASS;

	if (p->kind == WS_SLOW_STEP)
		return s->cause;
	if (more_ns(p) <= 0)
		return NULL;
	if (p->kind == WS_SLOW_USE)
		return ws_use_defs[p->name].meaning;
	if (p->kind == WS_SLOW_PHASE)
		return NULL;
	if (!(p->count[WS_SLOW_OTHERS] > 0))
		return "in no other step";
	if (n > median)
		return ws_arena_format(texts, "%s instances instead of %s", ws_say_number(texts, n),
		                       ws_say_number(texts, median));
	if (!(ratio > 1))
		return NULL;
	return ws_arena_format(texts, "each %s times as long%s%s", ws_say_number(texts, ratio),
	                       is_kernel ? "; " : "",
	                       is_kernel ? longer_words(s, ratio, texts) : "");
}

/* The part of a kind that is longer by most; NULL: none is. */
static const struct ws_slow_part *longest_part(const struct ws_slow_step *s, enum ws_slow_kind kind)
{
	const struct ws_slow_part *most = NULL;

	for (size_t i = 0; i < s->nparts; i++)
		if (s->part[i].kind == kind && more_ns(&s->part[i]) > (most ? more_ns(most) : 0))
			most = &s->part[i];
	return most;
}

static const char *name_of(const struct ws_model *m, const struct ws_slow_part *p,
                           struct ws_arena *texts)
{
	struct ws_bytes text = {0};
	char *path;
	size_t len;

	switch (p->kind) {
	case WS_SLOW_STEP:
		return "whole step";
	case WS_SLOW_USE:
		return ws_use_defs[p->name].name;
	case WS_SLOW_PHASE:
		return ws_phase_name((enum ws_phase)p->name);
	case WS_SLOW_COPY:
		return ws_copy_name(p->name);
	case WS_SLOW_RANGE:
		ws_path_text(&m->ranges, p->name, m->texts, &path, &len);
		text.ptr = (const uint8_t *)ws_arena_format(texts, "%.*s", (int)len, path);
		free(path);
		return (const char *)text.ptr;
	case WS_SLOW_KERNEL:
		text = ws_model_short_name(m, p->name);
		break;
	default:
		text = m->texts[p->name];
		break;
	}
	return ws_arena_format(texts, "%.*s", (int)text.len, (const char *)text.ptr);
}

/* The GPU computes for so much longer: kernels that others do not run, more of them, or longer
 * ones. */
static const char *computing_words(struct finder *f, double longer_ns)
{
	const struct ws_slow_step *s = f->out;
	const struct ws_slow_part *most[3] = {NULL};
	double sum_ns[3] = {0}, most_ns[3] = {0}, same_ns = 0;
	enum { NEW, MORE, LONGER };

	for (size_t i = 0; i < s->nparts; i++) {
		const struct ws_slow_part *p = &s->part[i];
		const double n = p->count[WS_SLOW_IT], extra = n - p->count[WS_SLOW_MEDIAN];
		const bool is_new = !(p->count[WS_SLOW_OTHERS] > 0);
		const double ns[3] = {is_new ? p->ns[WS_SLOW_IT] : 0,
		                      !is_new && extra > 0 ? extra * each_ns(p) : 0,
		                      is_new ? 0 : p->ns[WS_SLOW_IT] - n * each_ns(p)};

		if (p->kind != WS_SLOW_KERNEL)
			continue;
		same_ns += is_new ? 0 : n * each_ns(p);
		for (int w = NEW; w <= LONGER; w++) {
			sum_ns[w] += ns[w];
			if (ns[w] > most_ns[w]) {
				most_ns[w] = ns[w];
				most[w] = p;
			}
		}
	}
	const int why = sum_ns[NEW] >= sum_ns[MORE] && sum_ns[NEW] >= sum_ns[LONGER] ? NEW
	                : sum_ns[MORE] >= sum_ns[LONGER]                             ? MORE
	                                                                             : LONGER;
	const double ratio = same_ns > 0 ? 1 + sum_ns[LONGER] / same_ns : NAN;

	/* kernels may overlap less, or be of a graph that is recorded as a whole */
	if (!most[why] || sum_ns[why] < MAIN_SHARE * longer_ns)
		return "; cannot tell why: the times of its kernels explain less than half of it";
	const char *name = name_of(f->m, most[why], f->arena);
	if (why == NEW)
		return ws_arena_format(f->arena, ", by %s, which no other step runs", name);
	if (why == MORE)
		return ws_arena_format(f->arena,
		                       ", by more kernels: %s instances of %s instead of %s",
		                       ws_say_number(f->arena, most[why]->count[WS_SLOW_IT]), name,
		                       ws_say_number(f->arena, most[why]->count[WS_SLOW_MEDIAN]));
	return ws_arena_format(f->arena, ": the same kernels take %s times as long; %s",
	                       ws_say_number(f->arena, ratio), longer_words(s, ratio, f->arena));
}

/* Where the host was when the device waited, or without a device: the range and the call that are
 * longer by so much. That it was in the step itself says nothing. */
static const char *host_words(struct finder *f, double least_ns)
{
	static const enum ws_slow_kind kinds[] = {WS_SLOW_RANGE, WS_SLOW_OP, WS_SLOW_CALL};
	static const char *const what[] = {"range", "operation", "call"};
	const struct ws_joined_range *step =
	        ws_joined_rows_range(f->sel->rows, f->m->steps[f->out->slow->step].range);
	const uint32_t path = step ? step->context->path : WS_NONE;
	const char *words = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct ws_slow_part *p = longest_part(f->out, kinds[i]);

		if (p && more_ns(p) >= least_ns && (i > 0 || p->name != path))
			words = ws_arena_format(f->arena, "%s, in %s %s", words, what[i],
			                        name_of(f->m, p, f->arena));
	}
	return words;
}

static void find_cause(struct finder *f)
{
	struct ws_slow_step *s = f->out;
	const double all_ns = (double)(length_of(s->slow) - length_of(s->median));
	const struct ws_slow_part *use = longest_part(s, WS_SLOW_USE);
	const double share = use ? more_ns(use) / all_ns : 0;
	const char *host = host_words(f, MAIN_SHARE * all_ns);

	if (use && share < MAIN_SHARE)
		s->cause = ws_arena_format(f->arena,
		                           "cannot tell: nothing that the device did or waited for "
		                           "has half of it; most has %s, %s",
		                           name_of(f->m, use, f->arena),
		                           ws_say_percent(f->arena, 100 * share));
	else if (use && use->name == WS_USE_UNKNOWN)
		s->cause = ws_arena_format(f->arena,
		                           "cannot tell: the device was idle%s, and nothing "
		                           "that was recorded explains it",
		                           host);
	else if (use)
		s->cause = ws_arena_format(f->arena, "%s (%s)%s", name_of(f->m, use, f->arena),
		                           ws_say_percent(f->arena, 100 * share),
		                           use->name == WS_USE_COMPUTE
		                                   ? computing_words(f, more_ns(use))
		                                   : host);
	else if (*host)
		s->cause = ws_arena_format(f->arena, "time of the host%s", host);
	else
		s->cause = "cannot tell: no recorded range, operation or call has half of it";
}

static void release(void *result)
{
	free(((struct ws_slow_step *)result)->part);
}

const struct ws_slow_step *ws_slow_step(const struct ws_model *m, const struct ws_selection *sel)
{
	static const char key;
	struct ws_slow_step *s = ws_kept_result(sel, &key);
	struct finder f = {.m = m, .sel = sel, .arena = &sel->kept->arena};

	if (s)
		return s;
	WS_NEW(f.arena, s, 1);
	f.out = s;
	find_steps(&f);
	if (!s->obstacle) {
		const struct ws_windows *w = ws_windows(m, sel);

		s->energy[0] = ws_energy_of(m, sel, s->slow, 1, NULL);
		s->energy[1] = ws_energy_of(m, sel, w->window, w->n, s->slow);
		add_windows(&f);
		add_host(&f);
		add_work(&f);
		find_cause(&f);
	}
	ws_arena_free(&f.temp);
	ws_keep_result(sel, &key, s, release);
	return s;
}

const char *ws_slow_step_words(const struct ws_model *m, const struct ws_selection *sel)
{
	const struct ws_slow_step *s = ws_slow_step(m, sel);
	struct ws_arena *texts = &sel->kept->arena;

	if (s->obstacle)
		return s->obstacle;
	return ws_arena_format(texts,
	                       "Step %" PRIu32 " takes %s, the median step %" PRIu32
	                       " %s. Cause of the difference: %s.",
	                       m->steps[s->slow->step].number,
	                       ws_say_time(texts, (double)length_of(s->slow)),
	                       m->steps[s->median->step].number,
	                       ws_say_time(texts, (double)length_of(s->median)), s->cause);
}

/* --- slow_part: a part of the slow step ------------------------------------------------------ */

static size_t count_parts(void *ctx)
{
	const struct ws_table_context *tab = ((const struct ws_relations *)ctx)->tab;

	return ws_slow_step(tab->m, tab->sel)->nparts;
}

#define OF_STEP(value)                           \
	if (p->kind == WS_SLOW_STEP && is_known) \
	ws_put_real(out, value)
#define COUNTED(side)                                           \
	if (p->kind != WS_SLOW_USE && p->kind != WS_SLOW_PHASE) \
	ws_put_real(out, p->count[side])
#define SLOW_PART(X)                                                                \
	X(place, ws_put_int(out, p->kind))                                          \
	X(kind, ws_put_str(out, kinds[p->kind]))                                    \
	X(name, ws_put_str(out, name_of(m, p, &r->arena)))                          \
	X(slow_ns, ws_put_real(out, p->ns[WS_SLOW_IT]))                             \
	X(median_ns, ws_put_real(out, p->ns[WS_SLOW_MEDIAN]))                       \
	X(others_ns, ws_put_real(out, p->ns[WS_SLOW_OTHERS] / (double)s->nothers))  \
	X(more_ns, ws_put_real(out, more_ns(p)))                                    \
	X(step_more_ns, ws_put_int(out, length_of(s->slow) - length_of(s->median))) \
	X(slow_count, COUNTED(WS_SLOW_IT))                                          \
	X(median_count, COUNTED(WS_SLOW_MEDIAN))                                    \
	X(cause, ws_put_str(out, part_words(s, p, &r->arena)))                      \
	X(slow_mhz, OF_STEP(ws_time_mean(s->energy[0].sm_mhz)))                     \
	X(others_mhz, OF_STEP(ws_time_mean(s->energy[1].sm_mhz)))                   \
	X(slow_w, OF_STEP(power_w(&s->energy[0])))                                  \
	X(others_w, OF_STEP(power_w(&s->energy[1])))

static void put_part(void *ctx, size_t row, int column, struct ws_put *out)
{
	static const char *const kinds[] = {
#define X(NAME, name) name,
	        WS_SLOW_KIND_LIST(X)
#undef X
	};
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_slow_step *s = ws_slow_step(m, r->tab->sel);
	const struct ws_slow_part *p = &s->part[row];
	const bool is_known = knows_clock(s);

	WS_PUT_COLUMN(column, SLOW_PART);
}

const struct ws_relation ws_relation_slow_part = {"slow_part", SLOW_PART(WS_COLUMN_NAME),
                                                  count_parts, put_part};
