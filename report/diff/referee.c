/*
 * The referee's verdict and its evidence: docs/dev/referee.md.
 */

#include "report/base/sequential.h"
#include "report/diff/private.h"

static const char *const verdict_names[] = {WS_REFEREE_LIST(WS_LIST_SECOND)};

struct ws_diff_opts ws_referee_diff_opts(void)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;

	opts.paired = true;
	opts.threshold_percent = 0;
	opts.same_within_percent = 1;
	opts.confidence = 1 - WS_GATE_CHANCE;
	opts.name[0] = "A";
	opts.name[1] = "B";
	return opts;
}

/* --- reasons --------------------------------------------------------------------------------- */

/* Times of equal work may differ by this factor for other reasons than a lie: the clock of a device
 * is up to 14 % above the one for which its peaks are stated. */
#define OVER_PEAK 1.25
/* A program's timer may leave out this share of a step, such as what surrounds it. */
#define CLAIM_LACKS 0.1
/* Differences between a program's timer and the recorder's. */
#define CLAIM_NEAR 0.02
/* Smaller shares of a step are not worth a sentence. */
#define RECORDER_SHARE 0.05
#define BEHIND_SHARE   0.1
/* Other code may do work of operations in as short a part of their time. */
#define LEAST_ELSEWHERE 0.1
/* Maximum share of products in a lower precision. */
#define MOST_LOWER 0.01

/* X(NAME, displayed name) */
#define REASON_LIST(X)                         \
	X(COPIES, "copies")                    \
	X(LOST, "lost records")                \
	X(CLOCK, "impossible times")           \
	X(PEAK, "over the peak")               \
	X(CLAIM, "claimed time")               \
	X(NO_WORK, "no work")                  \
	X(WORK, "other work")                  \
	X(CALLS, "other calls")                \
	X(ELSEWHERE, "work not recorded")      \
	X(SIZES, "unknown sizes")              \
	X(PRECISION, "lower precision")        \
	X(FUSED, "fused or left out")          \
	X(CACHE, "cached results")             \
	X(START_UP, "work at start-up")        \
	X(OUTSIDE, "work outside of steps")    \
	X(INPUTS, "inputs not copied")         \
	X(LATE, "work after the end of steps") \
	X(CLOCKS, "clocks")                    \
	X(RECORDER, "cost of recording")
enum reason_kind {
#define X(NAME, name) REASON_##NAME,
	REASON_LIST(X)
#undef X
};
static const char *const reason_names[] = {REASON_LIST(WS_LIST_SECOND)};

/* A verdict without a reason that leads to another one is of the times. */
#define OF_TIMES WS_REFEREE_PROVEN

struct reason {
	enum reason_kind kind;
	int side; /* 2: both */
	enum ws_referee_verdict leads_to;
	char words[512];
};

struct referee {
	const struct ws_diff *d;
	const struct ws_diff_result *compared;
	struct ws_referee_result *result;
	struct found {
		/* sums over the recordings of a side */
		uint64_t lost, holes, untimed, broken, instant;
		double behind_ns, recorder_ns;  /* means */
		const struct ws_evidence *peak; /* of the recording nearest to a peak */
	} found[2];
	struct reason *reasons;
	size_t nreasons, capacity;
	size_t pairs; /* that count */
	bool is_void; /* no time is compared */
};

#define SAY(r, ...) ws_say_add((r)->result->words, sizeof((r)->result->words), __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static void add_reason(struct referee *r,
                                                             enum reason_kind kind, int side,
                                                             enum ws_referee_verdict leads_to,
                                                             const char *fmt, ...)
{
	va_list args;

	WS_GROW(r->reasons, r->nreasons + 1, r->capacity);
	struct reason *reason = &r->reasons[r->nreasons++];
	*reason = (struct reason){.kind = kind, .side = side, .leads_to = leads_to};
	va_start(args, fmt);
	vsnprintf(reason->words, sizeof(reason->words), fmt, args);
	va_end(args);
}

static const char *name_of(const struct referee *r, int s)
{
	return r->d->side[s].name;
}

/* Adds up the evidence of all recordings of each side. */
static void add_up(struct referee *r)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r->d->side[s];
		struct found *f = &r->found[s];

		for (size_t i = 0; i < side->nrecordings; i++) {
			const struct ws_evidence *e = &side->recordings[i].evidence;
			const double part = 1 / (double)side->nrecordings;

			f->lost += side->recordings[i].lost + e->is_open;
			f->holes += e->holes;
			f->untimed += e->untimed;
			f->broken += e->broken_times;
			f->instant += e->instant;
			f->behind_ns += part * e->behind_ns;
			f->recorder_ns += part * e->recorder_ns;
			if (!f->peak || e->peak_share > f->peak->peak_share)
				f->peak = e;
		}
	}
}

static void find_lost(struct referee *r)
{
	for (int s = 0; s < 2; s++) {
		const struct found *f = &r->found[s];

		if (r->compared->copies[s])
			add_reason(r, REASON_COPIES, s, WS_REFEREE_CANNOT_TELL,
			           "Two runs of %s are the same recording.", name_of(r, s));
		if (f->lost)
			add_reason(r, REASON_LOST, s, WS_REFEREE_CANNOT_TELL,
			           "The traces of %s lack records: 'warpsheet check' and the table "
			           "losses say which.",
			           name_of(r, s));
		else if (f->holes || f->untimed)
			add_reason(r, REASON_LOST, s, WS_REFEREE_CANNOT_TELL,
			           "In the traces of %s %llu launches lack their kernel, and %llu "
			           "kernels a time.",
			           name_of(r, s), (unsigned long long)f->holes,
			           (unsigned long long)f->untimed);
	}
}

/* If both sides have it, the machine or a peak is at fault, and neither program. */
static enum ws_referee_verdict of_one_side(const bool has[2], enum ws_referee_verdict of_both)
{
	return has[0] && has[1] ? of_both : WS_REFEREE_IMPOSSIBLE;
}

static void find_impossible(struct referee *r)
{
	const struct found *f = r->found;
	const bool of_clock[2] = {f[0].broken || f[0].instant, f[1].broken || f[1].instant},
	           of_peak[2] = {f[0].peak->peak_share > OVER_PEAK,
	                         f[1].peak->peak_share > OVER_PEAK};

	for (int s = 0; s < 2; s++) {
		const enum ws_referee_verdict by_clock =
		        of_one_side(of_clock, WS_REFEREE_CANNOT_TELL);

		if (f[s].broken)
			add_reason(r, REASON_CLOCK, s, by_clock,
			           "%llu records of %s have times that cannot be true: the table "
			           "soundness of its traces has them.",
			           (unsigned long long)f[s].broken, name_of(r, s));
		if (f[s].instant)
			add_reason(r, REASON_CLOCK, s, by_clock,
			           "%llu kernel%s of %s took no time.",
			           (unsigned long long)f[s].instant, WS_PLURAL(f[s].instant),
			           name_of(r, s));
		if (of_peak[s])
			add_reason(r, REASON_PEAK, s, of_one_side(of_peak, OF_TIMES), "%s: %s.",
			           name_of(r, s), f[s].peak->peak_words);
	}
}

/* Compares what each program reports of its own time per step with its recorded steps. */
static void find_claims(struct referee *r)
{
	struct claim {
		size_t claims, faster, apart; /* runs with a claim; below all steps; not in them */
		double claimed_ns, least_ns, most_ns; /* of the last such run, or of the last one */
		const char *obstacle;                 /* to comparing the claim of some run */
	} of[2] = {{0}, {0}};
	bool has[2];

	for (int s = 0; s < 2; s++) {
		struct claim *c = &of[s];

		for (size_t i = 0; i < r->d->side[s].nrecordings; i++) {
			const struct ws_recording *x = &r->d->side[s].recordings[i];
			const double claimed = x->evidence.claimed_ns;
			double least = INFINITY, most = 0;

			if (x->evidence.claims && isnan(claimed))
				c->obstacle = "is no number of milliseconds";
			else if (x->evidence.claims && !x->has_steps)
				c->obstacle = "cannot be compared, as the trace has no steps";
			if (isnan(claimed) || !x->has_steps)
				continue;
			for (size_t k = 0; k < x->nsamples; k++) {
				least = fmin(least, (double)x->samples[k].step_ns);
				most = fmax(most, (double)x->samples[k].step_ns);
			}
			c->claims++;
			c->faster += claimed < (1 - CLAIM_LACKS) * least;
			if (claimed < (1 - CLAIM_NEAR) * least ||
			    claimed > (1 + CLAIM_NEAR) * most) {
				c->apart++;
				c->claimed_ns = claimed;
				c->least_ns = least;
				c->most_ns = most;
			}
		}
		has[s] = c->faster > c->claims / 2;
	}
	for (int s = 0; s < 2; s++) {
		if (of[s].obstacle)
			add_reason(r, REASON_CLAIM, s, OF_TIMES,
			           "The time per step that %s claims %s.", name_of(r, s),
			           of[s].obstacle);
		if (of[s].apart > of[s].claims / 2)
			add_reason(r, REASON_CLAIM, s,
			           has[s] ? of_one_side(has, OF_TIMES) : OF_TIMES,
			           "%s claims %s per step; its recorded steps took %s to %s.",
			           name_of(r, s), WS_SHOWN_TIME(of[s].claimed_ns),
			           WS_SHOWN_TIME(of[s].least_ns), WS_SHOWN_TIME(of[s].most_ns));
	}
}

/* --- the same work --------------------------------------------------------------------------- */

/* The higher, the more precise; 0: not known. */
static int precision_of(const struct ws_diff *d, const struct ws_work_item *item)
{
	static const struct {
		const char *dtype;
		int precision;
	} of[] = {{"fp64", 7}, {"fp32", 6}, {"tf32", 5},    {"fp16", 4}, {"bf16", 4},
	          {"fp8", 2},  {"int8", 2}, {"fp8xfp4", 1}, {"fp4", 1}};
	/* of cuBLAS and CUTLASS: sums in fp16 instead of fp32 */
	static const char *const sums_in_half[] = {"h16816", "h1688", "h884", "hgemm"};
	const struct ws_bytes dtype = ws_texts_get(&d->names.texts, item->dtype),
	                      kernels = ws_texts_get(&d->names.texts, item->kernels);

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		if (!ws_name_is(dtype, of[i].dtype))
			continue;
		for (size_t k = 0; k < sizeof(sums_in_half) / sizeof(*sums_in_half); k++)
			if (of[i].precision == 4 && ws_name_has(kernels, sums_in_half[k]))
				return 3;
		return of[i].precision;
	}
	return 0;
}

static bool is_product(const struct ws_diff *d, const struct ws_work_item *item)
{
	static const char *const products[] = {"gemm", "conv", "attention"};

	return WS_NAME_IS_ONE_OF(ws_texts_get(&d->names.texts, item->class), products);
}

/* Compares precision and sizes. */
static void compare_products(struct referee *r)
{
	const struct ws_diff *d = r->d;
	const struct ws_work_item *example[2] = {NULL, NULL};
	uint64_t products = 0, lower = 0, unsized = 0, smaller = 0;

	for (size_t i = 0; i < d->work[1].n; i++) {
		const struct ws_work_sum *sum =
		        ws_spill_row((struct ws_spill *)&d->work[1].rows, sizeof(*sum), i);
		const struct ws_match_kind *kind = ws_match_kind(&d->match, sum->kind);
		const struct ws_work_item *item[2];

		if (kind->criterion == WS_NONE || ws_match_is_added(kind))
			continue;
		for (int s = 0; s < 2; s++)
			item[s] = ws_names_item(&d->names, kind->item[s]);
		if (!is_product(d, item[1]) || item[1]->contains_its_class)
			continue;
		products += sum->instances;
		/* kernels on a GPU do work of their own size, whatever is known of it */
		if (ws_diff_is_of_host_ops(d) && item[0]->flops > 0 && !(item[1]->flops > 0))
			unsized += sum->instances;
		/* without a size of the operation, that of the launch is a hint */
		if (!(item[0]->flops > 0 && item[1]->flops > 0) &&
		    item[0]->kernels == item[1]->kernels && item[0]->threads > 0 &&
		    item[1]->threads < (1 - WS_WORK_APART) * item[0]->threads)
			smaller += sum->instances;
		if (!precision_of(d, item[1]) ||
		    precision_of(d, item[1]) >= precision_of(d, item[0]))
			continue;
		lower += sum->instances;
		example[0] = item[0];
		example[1] = item[1];
	}
	if (smaller && (double)smaller > MOST_LOWER * (double)products)
		add_reason(
		        r, REASON_SIZES, 1, WS_REFEREE_CANNOT_TELL,
		        "%s launches fewer threads than %s for %.3g %% of its products, by the "
		        "same "
		        "kernels: they may be smaller. Their sizes are not recorded (--pytorch, or "
		        "annotations).",
		        name_of(r, 1), name_of(r, 0), 100 * (double)smaller / (double)products);
	if (unsized && (double)unsized > MOST_LOWER * (double)products)
		add_reason(r, REASON_SIZES, 1, WS_REFEREE_CANNOT_TELL,
		           "The inputs of %.3g %% of the products of %s have no known size, as of "
		           "tensors on the device meta: they may do no work.",
		           100 * (double)unsized / (double)products, name_of(r, 1));
	if (!lower || (double)lower <= MOST_LOWER * (double)products)
		return;
	const struct ws_bytes dtype[2] = {ws_texts_get(&d->names.texts, example[0]->dtype),
	                                  ws_texts_get(&d->names.texts, example[1]->dtype)};
	const bool is_sum = precision_of(d, example[1]) == 3 && precision_of(d, example[0]) == 4;

	add_reason(r, REASON_PRECISION, 1, WS_REFEREE_NOT_THE_SAME_WORK,
	           "%s computes %.3g %% of its products in %s%.*s, where %s computes in %s%.*s.",
	           name_of(r, 1), 100 * (double)lower / (double)products, is_sum ? "sums of " : "",
	           WS_SHOWN(dtype[1]), name_of(r, 0), is_sum ? "sums of fp32 with " : "",
	           WS_SHOWN(dtype[0]));
}

/* The most calls in any step, over those of the median step. */
static double most_calls(const struct ws_side *side)
{
	double *calls = ws_xarray(side->nsamples + 1, sizeof(*calls)), most = 0;

	for (size_t i = 0; i < side->nsamples; i++) {
		calls[i] = (double)side->samples[i]->ncalls;
		most = fmax(most, calls[i]);
	}
	most /= fmax(ws_stat_median(calls, side->nsamples), 1);
	free(calls);
	return most;
}

/* Only B does its work in some of its steps. */
static bool does_all_in_some_steps(const struct ws_diff *d)
{
	return most_calls(&d->side[1]) >= 2 && most_calls(&d->side[0]) < 2;
}

/* How often a side does work of a name: per step, before the first, and beside them per step. */
struct rates {
	double in_steps, calls_before, calls_later;
};

/* By name; for free(). */
static struct rates *find_rates(const struct referee *r, int s)
{
	const struct ws_side *side = &r->d->side[s];
	struct rates *of = ws_xarray(r->d->names.texts.n + 1, sizeof(*of));

	for (size_t i = 0; i < side->nrecordings; i++)
		for (size_t k = 0; k < side->recordings[i].evidence.nplaces; k++) {
			const struct ws_work_place *at = &side->recordings[i].evidence.places[k];

			of[at->name].in_steps += (double)at->in_samples / (double)side->nsamples;
			of[at->name].calls_later +=
			        (double)at->calls_later / (double)side->nsamples;
			of[at->name].calls_before +=
			        (double)at->calls_before / (double)side->nrecordings;
		}
	return of;
}

/* Where is the work that B lacks in its steps? */
static void explain_less_work(struct referee *r)
{
	struct rates *a = find_rates(r, 0), *b = find_rates(r, 1);
	double lacking = 0, calls_before = 0, calls_later = 0;

	for (uint32_t i = 0; i <= r->d->names.texts.n; i++) {
		const double less = a[i].in_steps - b[i].in_steps;

		if (!(less > 0))
			continue;
		lacking += less;
		calls_before += fmax(fmin(b[i].calls_before - a[i].calls_before, less), 0);
		calls_later += fmax(fmin(b[i].calls_later - a[i].calls_later, less), 0);
	}
	free(a);
	free(b);
	if (does_all_in_some_steps(r->d))
		add_reason(r, REASON_CACHE, 1, WS_REFEREE_NOT_THE_SAME_WORK,
		           "%s does its work in some steps and lacks it in most: it may return "
		           "results that it kept.",
		           name_of(r, 1));
	if (calls_before > lacking / 2)
		add_reason(r, REASON_START_UP, 1, WS_REFEREE_NOT_THE_SAME_WORK,
		           "Each step of %s makes %.3g call%s that those of %s lack; %s makes %.3g "
		           "of them before its first step.",
		           name_of(r, 0), lacking, WS_PLURAL(lacking), name_of(r, 1), name_of(r, 1),
		           calls_before);
	if (calls_later > lacking / 2)
		add_reason(r, REASON_OUTSIDE, 1, WS_REFEREE_NOT_THE_SAME_WORK,
		           "Each step of %s makes %.3g call%s that those of %s lack; %s makes %.3g "
		           "of them per step between its steps or after them.",
		           name_of(r, 0), lacking, WS_PLURAL(lacking), name_of(r, 1), name_of(r, 1),
		           calls_later);
}

/* The median step's time in operations of the host, or outside of them. */
static double time_of_ops(const struct ws_side *side, bool is_outside)
{
	double *ns = ws_xarray(side->nsamples + 1, sizeof(*ns));

	for (size_t i = 0; i < side->nsamples; i++)
		ns[i] = (double)(is_outside ? side->samples[i]->step_ns - side->samples[i]->gpu_ns
		                            : side->samples[i]->gpu_ns);
	const double median = ws_stat_median(ns, side->nsamples);

	free(ns);
	return median;
}

static void find_other_work(struct referee *r)
{
	const struct ws_side *a = &r->d->side[0], *b = &r->d->side[1];
	const double outside = time_of_ops(b, true),
	             lacking = time_of_ops(a, false) - time_of_ops(b, false);

	/* on a GPU all work is recorded */
	if (ws_diff_is_of_host_ops(r->d) && r->d->by_steps && r->d->lacks_products &&
	    outside > r->d->typical_ns[1] / 2 && outside > LEAST_ELSEWHERE * lacking)
		add_reason(r, REASON_ELSEWHERE, 1, WS_REFEREE_CANNOT_TELL,
		           "The work differs: %s. But for %s of a step of %s no operation was "
		           "recorded: other code, such as NumPy's, or another process may do the "
		           "work then.",
		           r->compared->reasons, WS_SHOWN_TIME(outside), name_of(r, 1));
	else if (a->gpu_ns && !b->gpu_ns)
		add_reason(r, REASON_NO_WORK, 1, WS_REFEREE_NOT_THE_SAME_WORK,
		           "%s does no work that was recorded; %s works for %s%s.", name_of(r, 1),
		           name_of(r, 0), WS_SHOWN_TIME((double)a->gpu_ns / (double)a->nsamples),
		           r->d->by_steps ? " per step" : "");
	else if (r->d->is_arranged_otherwise && !does_all_in_some_steps(r->d))
		add_reason(r, REASON_CALLS, 2, WS_REFEREE_CANNOT_TELL,
		           "The work differs: %s. The products of %s have as many FLOPs in all as "
		           "those of %s, so they may be the same in other calls.",
		           r->compared->reasons, name_of(r, 1), name_of(r, 0));
	else if (*r->compared->reasons)
		add_reason(r, REASON_WORK, 2, WS_REFEREE_NOT_THE_SAME_WORK, "The work differs: %s.",
		           r->compared->reasons);
	/* products of a lower precision have other kernels, but are no other work */
	if (r->nreasons && r->reasons[r->nreasons - 1].leads_to == WS_REFEREE_NOT_THE_SAME_WORK)
		explain_less_work(r);
	compare_products(r);
}

/* --- remarks --------------------------------------------------------------------------------- */

/* Bytes that a side copies to a device per sample; NaN: not known. */
static double copied_in(const struct ws_side *side)
{
	double bytes = 0;

	for (uint32_t name = 0; name < WS_COPY_NAMES; name++)
		if (strstr(ws_copy_name(name), "Host-to-Device"))
			bytes += ws_side_copies(side, name, WS_COPIES_BYTES);
	return bytes;
}

static bool waits_for_host(const struct ws_side *side)
{
	const struct ws_recording *x = &side->recordings[side->shown_recording];

	return x->idle.launch_bound || x->has_host_ops || x->on_cpu;
}

/* Only a program that waits for its host waits for the recorder. */
static void find_recorder(struct referee *r)
{
	const struct ws_comparison *c = &r->compared->overall;
	double share[2];

	for (int s = 0; s < 2; s++)
		share[s] = waits_for_host(&r->d->side[s])
		                   ? r->found[s].recorder_ns / r->d->typical_ns[s]
		                   : 0;
	if (!(fmax(share[0], share[1]) >= RECORDER_SHARE))
		return;
	/* ratio of the times without these costs, over the ratio of the times */
	const double factor = (1 - fmin(share[1], 0.99)) / (1 - fmin(share[0], 0.99));
	const bool decides = (ws_grade_is_faster(c->grade) && c->high * factor >= 1) ||
	                     (ws_grade_is_slower(c->grade) && c->low * factor <= 1);

	add_reason(r, REASON_RECORDER, 2, decides ? WS_REFEREE_CANNOT_TELL : OF_TIMES,
	           "Recording takes about %.2g %% of a step of %s and %.2g %% of %s%s.",
	           100 * share[0], name_of(r, 0), 100 * share[1], name_of(r, 1),
	           decides ? ", which alone may make the difference" : "");
}

static void find_remarks(struct referee *r)
{
	const struct ws_side *b = &r->d->side[1];
	const double bytes[2] = {copied_in(&r->d->side[0]), copied_in(b)};
	const double *step_ns = r->d->typical_ns;
	const char *work = ws_diff_is_of_host_ops(r->d) ? "operations" : "kernels";

	if (r->d->fused_share > 0.05 && !r->d->nreasons)
		add_reason(r, REASON_FUSED, 1, OF_TIMES,
		           "%s has no %s of its own for %.2g %% of the %s of %s: its other %s do "
		           "this work, too, or %s leaves it out. Only a difference beyond this "
		           "time is proven.",
		           name_of(r, 1), work, 100 * r->d->fused_share, ws_diff_work_time(r->d),
		           name_of(r, 0), work, name_of(r, 1));
	if (bytes[0] > 0 && bytes[1] < bytes[0] / 2)
		add_reason(r, REASON_INPUTS, 1, OF_TIMES,
		           "%s copies %.3g MB to the device%s, %s %.3g MB: it may keep inputs.",
		           name_of(r, 1), bytes[1] / 1e6, r->d->by_steps ? " per step" : "",
		           name_of(r, 0), bytes[0] / 1e6);
	if (r->found[1].behind_ns > BEHIND_SHARE * step_ns[1] &&
	    r->found[0].behind_ns < CLAIM_NEAR * step_ns[0])
		add_reason(
		        r, REASON_LATE, 1, OF_TIMES,
		        "The device works on stream %llu for %s after the end of the step of %s, "
		        "which a timer in the program does not see; the times here include it.",
		        (unsigned long long)b->recordings[0].evidence.behind_stream,
		        WS_SHOWN_TIME(r->found[1].behind_ns), name_of(r, 1));
	if (r->compared->pairs_apart) {
		const double *mhz = r->compared->clock_mhz;

		add_reason(r, REASON_CLOCKS, 2, OF_TIMES,
		           "Left out, because the clocks of their runs differed: %zu pair%s (on "
		           "average %s %.0f MHz, %s %.0f MHz). Lock the clocks.",
		           r->compared->pairs_apart, WS_PLURAL(r->compared->pairs_apart),
		           name_of(r, 0), mhz[0], name_of(r, 1), mhz[1]);
	}
	find_recorder(r);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* The verdict of the gravest reason. The first ones are about records, without which no other can
 * be trusted. */
static enum ws_referee_verdict gravest(const struct referee *r)
{
	static const enum ws_referee_verdict order[] = {WS_REFEREE_IMPOSSIBLE,
	                                                WS_REFEREE_NOT_THE_SAME_WORK,
	                                                WS_REFEREE_CANNOT_TELL};

	for (size_t i = 0; i < r->nreasons; i++)
		if (r->reasons[i].kind <= REASON_LOST)
			return WS_REFEREE_CANNOT_TELL;
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 0; i < r->nreasons; i++)
			if (r->reasons[i].leads_to == order[k])
				return order[k];
	return OF_TIMES;
}

static void judge_times(struct referee *r)
{
	const struct ws_comparison *c = &r->compared->overall;
	const size_t fewest = ws_sequential_fewest(1 - r->d->opts.confidence);
	enum ws_referee_verdict *verdict = &r->result->verdict;

	*verdict = WS_REFEREE_CANNOT_TELL;
	if (c->basis != WS_BASIS_PAIRS) { /* there are no times */
		r->is_void = true;
		SAY(r, "%s", r->compared->verdict);
		return;
	}
	if (ws_grade_is_different(c->grade)) {
		*verdict = WS_REFEREE_PROVEN;
		r->result->is_finding = ws_grade_is_slower(c->grade);
	} else if (c->grade == WS_GRADE_SAME) {
		*verdict = WS_REFEREE_SAME;
	}
	if (r->pairs < fewest)
		SAY(r, "Pairs of runs that count: %zu. At least %zu are needed.", r->pairs, fewest);
	else
		SAY(r, "%s", r->compared->verdict);
}

static void judge(struct referee *r)
{
	r->pairs = r->compared->overall.basis == WS_BASIS_PAIRS ? r->compared->overall.recordings[0]
	                                                        : 0;
	add_up(r);
	find_lost(r);
	find_impossible(r);
	find_claims(r);
	find_other_work(r);
	find_remarks(r);
	enum ws_referee_verdict grave = gravest(r);
	r->is_void = grave != OF_TIMES;
	if (r->is_void) {
		r->result->verdict = grave;
		r->result->is_finding = grave != WS_REFEREE_CANNOT_TELL;
	} else {
		judge_times(r);
	}
	/* the reasons of the verdict first */
	for (int of_verdict = 1; of_verdict >= 0; of_verdict--)
		for (size_t i = 0; i < r->nreasons; i++)
			if ((r->is_void && r->reasons[i].leads_to == grave) == of_verdict)
				SAY(r, "%s%s", *r->result->words ? " " : "", r->reasons[i].words);
	if (r->result->pairs_failed)
		SAY(r, "%sLeft out, because a run failed: %zu pair%s.",
		    *r->result->words ? " " : "", r->result->pairs_failed,
		    WS_PLURAL(r->result->pairs_failed));
}

/* --- tables ----------------------------------------------------------------------------------- */

static void fill_reasons(const struct referee *r, struct ws_table *t)
{
	for (size_t i = 0; i < r->nreasons; i++) {
		const struct reason *reason = &r->reasons[i];
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_referee_reasons_reason], reason_names[reason->kind]);
		ws_cell_set_str(t, &row[WS_TC_referee_reasons_side],
		                reason->side == 2 ? "both" : name_of(r, reason->side));
		ws_cell_set_str(t, &row[WS_TC_referee_reasons_verdict],
		                reason->leads_to == OF_TIMES ? ""
		                                             : verdict_names[reason->leads_to]);
		ws_cell_set_str(t, &row[WS_TC_referee_reasons_words], reason->words);
	}
}

/* Versions that every recording of a side has. */
static void fill_versions(const struct referee *r, struct ws_table *t)
{
	static const char *const keys[] = {"device",
	                                   "tool.version",
	                                   "host.kernel",
	                                   "host.cpu",
	                                   "gpu.driver_version",
	                                   "cuda.driver_version",
	                                   "cuda.runtime_version",
	                                   "cupti.version",
	                                   "torch.version",
	                                   "library.cublas",
	                                   "library.cublaslt",
	                                   "library.cudnn",
	                                   "library.nccl"};

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
		struct ws_bytes value[2];

		for (int s = 0; s < 2; s++)
			value[s] =
			        ws_texts_get(&r->d->names.texts,
			                     ws_side_fact(&r->d->side[s], &r->d->names, keys[k]));
		if (!value[0].len && !value[1].len)
			continue;
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_referee_versions_key], keys[k]);
		for (int s = 0; s < 2; s++)
			if (value[s].len)
				ws_cell_set_text(t, &row[WS_TC_referee_versions_a + s],
				                 value[s].ptr, value[s].len);
	}
	ws_table_note(t, "Judged by warpsheet %s.", WS_VERSION);
}

static void fill_verdict(const struct referee *r, struct ws_table *t)
{
	const struct ws_comparison *c = &r->compared->overall;
	struct ws_cell *row = ws_table_row(t);
	const char *name = verdict_names[r->result->verdict];

	ws_cell_set_str(t, &row[WS_TC_referee_verdict], name);
	if (!r->is_void) {
		ws_cell_set_real(&row[WS_TC_referee_speedup], 1 / c->ratio);
		ws_cell_set_real(&row[WS_TC_referee_low], 1 / c->high);
		ws_cell_set_real(&row[WS_TC_referee_high], 1 / c->low);
	}
	ws_cell_set_int(&row[WS_TC_referee_pairs], (int64_t)r->pairs);
	ws_cell_set_int(&row[WS_TC_referee_out],
	                (int64_t)(r->compared->pairs_apart + r->result->pairs_failed));
	ws_cell_set_str(t, &row[WS_TC_referee_words], r->result->words);
	if (r->result->verdict == WS_REFEREE_PROVEN)
		ws_table_answer(t, "PROVEN %.3g× (%.3g to %.3g). %s", 1 / c->ratio, 1 / c->high,
		                1 / c->low, r->result->words);
	else
		ws_table_answer(t, "%s. %s", name, r->result->words);
}

static void fill_pairs(const struct referee *r, struct ws_table *t)
{
	const struct ws_side *a = &r->d->side[0], *b = &r->d->side[1];

	for (size_t i = 0; i < a->nrecordings && i < b->nrecordings; i++) {
		const struct ws_recording *of[2] = {&a->recordings[i], &b->recordings[i]};
		const double ns[2] = {ws_recording_median_ns(of[0]), ws_recording_median_ns(of[1])};
		struct ws_cell *row = ws_table_row(t);
		char hash[32];

		ws_cell_set_int(&row[WS_TC_referee_pairs_pair], (int64_t)i + 1);
		for (int s = 0; s < 2; s++) {
			ws_cell_set_real(&row[WS_TC_referee_pairs_a + s], ns[s]);
			snprintf(hash, sizeof(hash), "%016llx",
			         (unsigned long long)of[s]->file_hash);
			const struct ws_bytes name = ws_texts_get(&r->d->names.texts, of[s]->name);

			ws_cell_set_text(t, &row[WS_TC_referee_pairs_trace_a + 2 * s], name.ptr,
			                 name.len);
			ws_cell_set_str(t, &row[WS_TC_referee_pairs_hash_a + 2 * s], hash);
		}
		ws_cell_set_real(&row[WS_TC_referee_pairs_ratio], ns[1] / ns[0]);
		ws_cell_set_str(t, &row[WS_TC_referee_pairs_counts],
		                ws_recordings_are_apart(of[0], of[1]) ? "no: the clocks differed"
		                                                      : "yes");
	}
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	static void (*const of[])(const struct referee *,
	                          struct ws_table *) = {fill_verdict, fill_reasons, fill_pairs,
	                                                fill_versions};

	(void)err;
	of[which](ctx, *t);
	return WS_OK;
}

enum ws_status ws_referee_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                               const char *folder, struct ws_report **out,
                               struct ws_referee_result *result, struct ws_err *err)
{
	struct ws_report *diff = NULL;
	struct ws_diff_result compared;
	struct referee r = {.d = ws_sides_diff(s), .compared = &compared, .result = result};
	struct ws_report_plan plan = {.title = "Warpsheet referee",
	                              .fill = fill,
	                              .ctx = &r,
	                              .trace = folder};

	*out = NULL;
	WS_FORWARD(ws_diff_make(s, opts, &diff, &compared, err));
	judge(&r);
	plan.created_ns = r.d->side[1].recordings[0].base_ns;
	plan.defs = ws_referee_defs(&plan.ndefs);
	const enum ws_status status = ws_report_of_plan(&plan, out, err);

	ws_report_free(diff);
	free(r.reasons);
	return status;
}
