/* A page: what is said on it. Its sentences, findings and changes; pictures are made in make.c. */
#include <ctype.h>
#include "report/advice/advice.h"
#include "report/analysis/calibration.h"
#include "report/analysis/digest.h"
#include "report/analysis/slow_step.h"
#include "report/model/load.h"
#include "report/page/private.h"

/* --- the page -------------------------------------------------------------------------------- */

enum ws_page_colour ws_page_class_colour(const char *name, size_t len)
{
	static const struct {
		const char *class;
		enum ws_page_colour colour;
	} of[] = {
	        {"gemm", WS_PAGE_BLUE},       {"gemm_aux", WS_PAGE_BLUE},
	        {"conv", WS_PAGE_INDIGO},     {"conv_aux", WS_PAGE_INDIGO},
	        {"layout", WS_PAGE_OLIVE},    {"attention", WS_PAGE_CYAN},
	        {"softmax", WS_PAGE_RED},     {"norm", WS_PAGE_GREEN},
	        {"recurrence", WS_PAGE_TEAL}, {"activation", WS_PAGE_PURPLE},
	        {"reduce", WS_PAGE_TEAL},     {"copy", WS_PAGE_OCHRE},
	        {"cast", WS_PAGE_OCHRE},      {"fill", WS_PAGE_OCHRE},
	        {"embedding", WS_PAGE_OLIVE}, {"gather", WS_PAGE_OLIVE},
	        {"loss", WS_PAGE_PINK},       {"optimizer", WS_PAGE_BROWN},
	        {"sort", WS_PAGE_OLIVE},      {"comm", WS_PAGE_PINK},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (strlen(of[i].class) == len && !memcmp(of[i].class, name, len))
			return of[i].colour;
	return WS_PAGE_GREY;
}

_Static_assert((int)WS_PAGE_USES == (int)WS_USES, "each cause of idle time has a colour");

enum ws_page_colour ws_page_use_colour(int use)
{
	return use == WS_USE_COLLECTIVE ? WS_PAGE_PINK
	       : use == WS_USE_COPY     ? WS_PAGE_VIOLET
	       : use == WS_USE_COMPUTE  ? WS_PAGE_COMPUTING
	                                : (enum ws_page_colour)(WS_PAGE_IDLE + use - WS_USE_LAUNCH);
}

enum ws_page_colour ws_page_use_name_colour(const char *name, size_t len)
{
	for (int use = 0; use < WS_USES; use++)
		if (strlen(ws_use_defs[use].name) == len &&
		    !memcmp(ws_use_defs[use].name, name, len))
			return ws_page_use_colour(use);
	return WS_PAGE_COMPUTING;
}

static void set_line(struct ws_page_line *line, const char *grade, va_list ap)
{
	const char *text;

	*line = (struct ws_page_line){.grade = grade};
	for (bool bold = false; (text = va_arg(ap, const char *)) && line->nparts < WS_PAGE_PARTS;
	     bold = !bold)
		if (*text)
			line->part[line->nparts++] = (struct ws_page_part){text, bold};
}

void ws_page_say(struct ws_page *page, const char *grade, ...)
{
	va_list ap;

	page->nheadline += page->nheadline < WS_PAGE_LINES;
	va_start(ap, grade);
	set_line(&page->headline[page->nheadline - 1], grade, ap);
	va_end(ap);
}

/* Such a sentence anywhere. */
static void say_line(struct ws_page_line *line, ...)
{
	va_list ap;

	va_start(ap, line);
	set_line(line, "", ap);
	va_end(ap);
}

void ws_timeline_free(struct ws_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->nlanes; i++)
		free(timeline->lane[i].box);
	free(timeline->lane);
	free(timeline->text);
	ws_arena_free(&timeline->arena);
	free(timeline);
}

void ws_page_free(struct ws_page *page)
{
	if (!page)
		return;
	ws_timeline_free(page->timeline);
	ws_page_free(page->side[0]);
	ws_page_free(page->side[1]);
	ws_arena_free(&page->arena);
	free(page);
}

const char *ws_page_segment_words(struct ws_arena *texts, const struct ws_page *page,
                                  const struct ws_page_segment *s)
{
	const double hidden_ns = (double)s->hidden_ns * page->step_ns / (double)page->whole_ns;
	const char *part = ws_say_part_of(texts, ws_page_segment_ns(page, s), s->percent);

	if (!s->hidden_ns)
		return ws_arena_format(texts, "%s %s", s->name, part);
	return ws_arena_format(texts, "%s %s, %s more hidden", s->name, part,
	                       ws_say_time(texts, hidden_ns));
}

/* --- words of a trace ------------------------------------------------------------------------ */

const char *ws_page_copy(struct ws_arena *arena, const void *text, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	const char *from = text;
	char *copy, *to;

	if (!memchr(text, '\0', len))
		return ws_arena_copy(arena, text, len);
	to = copy = ws_arena_alloc(arena, 3 * len + 1);
	for (size_t i = 0; i < len; i++) {
		const char *one = from[i] ? &from[i] : replacement;
		const size_t n = from[i] ? 1 : 3;

		memcpy(to, one, n);
		to += n;
	}
	return copy;
}

const char *ws_page_text_of(const struct ws_page_making *p, uint32_t text)
{
	return ws_page_copy(p->texts, p->m->texts[text].ptr, p->m->texts[text].len);
}

const char *ws_page_name_of(const struct ws_page_making *p, uint32_t text)
{
	const struct ws_bytes name = ws_model_short_name(p->m, text);

	return ws_page_copy(p->texts, name.ptr, name.len);
}

const char *ws_page_class_of(const struct ws_page_making *p, uint32_t class)
{
	const struct ws_bytes name = ws_display_class(p->m->texts[class]);

	return class ? ws_page_copy(p->texts, name.ptr, name.len) : "unclassified";
}

enum ws_page_colour ws_page_colour_of_class(const struct ws_page_making *p, uint32_t class)
{
	return ws_page_class_colour(p->m->texts[class].ptr, p->m->texts[class].len);
}

/* --- the headline ---------------------------------------------------------------------------- */

#define START_UP_PERCENT 50   /* over that a trace is of a program's begin, not of its work */
#define IDLE_PERCENT     10   /* a cause of idle time under this is no headline */
#define PART_PERCENT     50   /* a part of the model that holds less is none either */
#define WHOLE_PERCENT    99.5 /* nor is one that holds everything */
#define ALIKE_PERCENT    2
#define SECOND_PERCENT   10
#define WHERE_WORDS      3 /* of a range in such a sentence */
#define MOST_WORDS       15
#define BACKWARD_WORDS   3  /* "and its backward" */
#define BOTH_PERCENT     5  /* of a part's time; less of it is not named */
#define OWNER_WORDS      10 /* of "X holds 90 % of GPU time; gemm takes 34 %." without X */

static size_t words_in(const char *text)
{
	size_t n = 0;

	for (const char *c = text; *c; c++)
		n += *c != ' ' && (c == text || c[-1] == ' ');
	return n;
}

/* --- how long, and how much of it computes ------------------------------------------------- */

/* Of the time that the page calls a step: without recording if that was measured. */
static double use_percent(const struct ws_page_making *p, enum ws_use use)
{
	const struct ws_idle *idle = p->idle;

	return idle ? ws_stat_percent(
	                      (double)idle->all.ns[use],
	                      (double)(idle->all.window_ns -
	                               (idle->measured_share ? idle->all.ns[WS_USE_RECORDING] : 0)))
	            : NAN;
}

/* Of a step, as record --calibrate measured it; NaN: it did not, or it cannot tell. */
static double unrecorded_step_ns(const struct ws_page_making *p)
{
	const struct ws_calibration_cost cost = ws_calibration_cost(p->m);

	return cost.is_known && p->page->has_steps ? p->page->step_ns / (1 + cost.percent / 100)
	                                           : NAN;
}

/* Of a step, on a device. */
static double use_ns(const struct ws_page_making *p, enum ws_use use)
{
	return p->page->step_ns *
	       ws_stat_ratio((double)p->idle->all.ns[use], (double)p->idle->all.window_ns);
}

/* Does an operation run on a GPU alone, by its name? Every recurrent layer asks whether cuDNN is
 * acceptable, on a CPU too. */
static bool has_gpu_operations(const struct ws_model *m)
{
	static const char *const names[] = {"aten::cudnn_*", "aten::miopen_*", "aten::_cudnn_*"};

	for (size_t i = 0; i < m->cpu_ops.tree.n; i++) {
		const struct ws_bytes name = m->texts[m->cpu_ops.tree.name[i]];

		if (WS_NAME_IS_ONE_OF(name, names) &&
		    !ws_bytes_is(name, "aten::cudnn_is_acceptable"))
			return true;
	}
	return false;
}

/* Records of another accelerator, perhaps: "; 5 records of category 'mtia_ccp_events', perhaps a
 * device's, were left out." */
static const char *words_of_left_out(const struct ws_page_making *p)
{
	const struct ws_bytes kind = ws_meta_value(&p->m->meta, "import.left_out");
	const uint64_t n = p->page->unknown_records;

	return ws_arena_format(p->texts, "; %s record%s%s%.*s, perhaps a device's, left out.",
	                       ws_say_number(p->texts, (double)n), WS_PLURAL(n),
	                       kind.len ? " of " : "", WS_SHOWN(kind));
}

/* --- why it does not compute ---------------------------------------------------------------- */

/* "Communication runs 113 ms; 96 % is hidden behind compute, 4.2 ms is not." Is nothing hidden,
 * what is idle says it. */
static bool say_hidden(struct ws_page_making *p, enum ws_use use, const char *runs)
{
	const struct ws_page *page = p->page;
	const enum ws_page_colour colour = ws_page_use_colour(use);

	for (size_t i = 0; i < page->nsegments; i++) {
		const struct ws_page_segment *s = &page->segment[i];
		const double ns = (double)(s->ns + s->hidden_ns);

		if (s->is_class || s->is_idle || s->colour != colour || !s->hidden_ns ||
		    !(100 * ns >= IDLE_PERCENT * (double)page->whole_ns))
			continue;
		const char *hidden = ws_say_percent(p->texts, 100 * (double)s->hidden_ns / ns);
		const char *rest = ws_say_time(p->texts, ws_page_segment_ns(page, s));
		ws_page_say(p->page, "", runs,
		            ws_say_time(p->texts, ns * page->step_ns / (double)page->whole_ns),
		            s->ns ? ws_arena_format(p->texts, "; %s is hidden behind compute, ",
		                                    hidden)
		                  : "; all of it is hidden behind compute.",
		            s->ns ? rest : "", s->ns ? " is not." : "", NULL);
		return true;
	}
	return false;
}

static void say_why_idle(struct ws_page_making *p)
{
	const struct {
		const char *prefix, *suffix;
	} words[WS_USES] = {
	        [WS_USE_COLLECTIVE] = {"Communication alone takes ",
	                               ": nothing computes meanwhile."},
	        [WS_USE_COPY] = {"Copies alone take ", ": nothing computes meanwhile."},
	        [WS_USE_LAUNCH] = {"The GPU waits for launches: ", NULL},
	        [WS_USE_HOST] = {"The GPU waits for the host: ", NULL},
	        [WS_USE_SYNC] = {"The GPU idles after host synchronisations: ", NULL},
	        [WS_USE_DATA] = {"The GPU waits for data: ", NULL},
	        [WS_USE_WAIT] = {"Work waits for a stream or event: ", NULL},
	        [WS_USE_DEVICE] = {"The GPU idles between queued kernels: ", "."},
	        [WS_USE_START] = {"It starts late: ", " pass before the first kernel."},
	        [WS_USE_END] = {"It ends late: ", " pass after the last kernel."},
	        [WS_USE_UNKNOWN] = {"The GPU is idle for an unknown reason: ",
	                            p->sel->rows->ncalls ? "; nothing recorded explains it."
	                                                 : "; record API calls."},
	        [WS_USE_PAGING] = {"The GPU computes nothing while pages of managed memory move: ",
	                           NULL},
	        [WS_USE_SHARED] = {"Another process had the GPU: ", "."},
	};
	enum ws_use most = WS_USE_COLLECTIVE;

	if (!p->idle || p->page->on_cpu || p->m->soundness.obstacle)
		return;
	/* what was measured is the first line */
	if (!p->idle->measured_share && p->idle->verdict.recording_percent >= WS_COST_SAID_PERCENT)
		ws_page_say(p->page, "", "Recording makes the GPU wait for about ",
		            ws_say_part_of(p->texts, use_ns(p, WS_USE_RECORDING),
		                           use_percent(p, WS_USE_RECORDING)),
		            "; record --calibrate measures it.", NULL);
	const bool is_said[WS_USES] = {[WS_USE_COLLECTIVE] = say_hidden(p, WS_USE_COLLECTIVE,
	                                                                "Communication runs "),
	                               [WS_USE_COPY] = say_hidden(p, WS_USE_COPY, "Copies run ")};

	for (int i = most; i < WS_USES; i++)
		if (words[i].prefix && !is_said[i] &&
		    (is_said[most] || p->idle->all.ns[i] > p->idle->all.ns[most]))
			most = (enum ws_use)i;
	if (is_said[most] || !(use_percent(p, most) > IDLE_PERCENT))
		return;

	/* The innermost range with most of the gaps of a cause before its work, as ", most in
	 * NAME". */
	const struct ws_ranges *r = &p->m->ranges;
	const int64_t half = p->idle->all.ns[most] / 2, *ns = p->idle->path_gap_ns[most];
	const char *suffix = words[most].suffix, *place = "";
	uint32_t at = WS_NONE;

	for (uint32_t i = 0; i < r->npaths && !suffix; i++) /* parents come before their children */
		if (r->paths[i].depth && ns[i] > half &&
		    (at == WS_NONE || r->paths[i].depth > r->paths[at].depth))
			at = i;
	if (at != WS_NONE && words_in(ws_page_text_of(p, r->paths[at].name)) <= WHERE_WORDS)
		place = ws_arena_format(p->texts, ", most in %s",
		                        ws_page_text_of(p, r->paths[at].name));
	if (!suffix && most == WS_USE_WAIT && p->idle->waits_for_unrecorded)
		suffix = "; its cause is unrecorded.";
	else if (!suffix && most == WS_USE_LAUNCH && p->idle->verdict.may_be_bound)
		suffix = "; recording alone may cause it.";
	else if (!suffix)
		suffix = ws_arena_format(p->texts, "%s.", place);
	ws_page_say(p->page, "", words[most].prefix,
	            ws_say_part_of(p->texts, use_ns(p, most), use_percent(p, most)), suffix, NULL);
}

static int64_t median_step_ns(const struct ws_page_step *step, size_t n, struct ws_arena *arena)
{
	double *ns = ws_arena_array(arena, n, sizeof(*ns));

	for (size_t i = 0; i < n; i++)
		ns[i] = (double)step[i].ns;
	return (int64_t)ws_stat_median(ns, n);
}

#define TREND_STEPS   6   /* from so many on */
#define TREND_PERCENT 110 /* of the first third, what the last one takes */

#define TURNS_PERCENT 5  /* of the time that a device computes, in which another one may as well */
#define TURN_PERCENT  10 /* of all computing, that a device has to do to take a turn */

/* --- who owns the GPU's time ---------------------------------------------------------------- */

static double node_percent(const struct ws_page *page, const struct ws_page_node *n)
{
	return ws_stat_percent((double)n->inclusive_ns, ws_page_gpu_ns(page));
}

/* Of a range that ran forward: its backward work counts there as well. */
static bool has_both_ways(const struct ws_page_node *n)
{
	const double percent = ws_stat_percent((double)n->backward_ns, (double)n->inclusive_ns);

	return percent >= BOTH_PERCENT && percent <= 100 - BOTH_PERCENT;
}

/* "gemm" and "70 ms" of the nth class of the bar; "" where it has too little. */
static void describe_class(const struct ws_page_making *p, size_t nth, double least_percent,
                           const char **name, const char **time)
{
	const struct ws_page *page = p->page;
	double computing = 0;

	*name = *time = "";
	for (size_t i = 0; i < page->nsegments && page->segment[i].is_class; i++)
		computing += page->segment[i].percent;
	if (nth >= page->nsegments || !page->segment[nth].is_class ||
	    100 * page->segment[nth].percent < least_percent * computing)
		return;
	*name = page->segment[nth].name;
	*time = ws_say_time(p->texts, ws_page_segment_ns(page, &page->segment[nth]));
	if (strcmp(*name, "unclassified") != 0)
		return;
	/* the longest kernel says more */
	for (size_t i = 0; i < page->nkernels; i++)
		if (!strcmp(page->kernel[i].class, *name)) {
			*name = page->kernel[i].name;
			*time = ws_say_time(p->texts, (double)page->kernel[i].ns);
			return;
		}
}

static void say_largest_part(struct ws_page_making *p)
{
	const struct ws_page *page = p->page;
	const double whole = ws_page_gpu_ns(page);
	const char *work = ws_page_work(page);
	const char *name, *share, *whose, *other, *other_share;
	const struct ws_page_node *owner = NULL;

	/* The innermost range that holds most of the GPU time, and yet not all of it; of ranges in
	 * each other that hold as much the outermost. */
	for (size_t i = 0; i < page->nnodes; i++) {
		const struct ws_page_node *n = &page->node[i];
		const double percent = node_percent(page, n);

		if (n->is_range && !n->is_step && percent >= PART_PERCENT &&
		    percent < WHOLE_PERCENT &&
		    (!owner || (n->depth > owner->depth &&
		                percent < node_percent(page, owner) - ALIKE_PERCENT)))
			owner = n;
	}
	/* a row has the names of two parts, of which the outer one is nothing but the inner one */
	while (owner && owner->whole != WS_PAGE_ROOT && ws_page_passed(page, owner->whole))
		owner = &page->node[owner->whole];
	/* nor does a name say which of several */
	for (size_t i = 0; owner && i < page->nnodes; i++)
		if (&page->node[i] != owner && !strcmp(page->node[i].label, owner->label))
			owner = NULL;

	/* graphs that are traced as a whole, where they have more time than all kernels */
	if (page->graph_ns > page->gpu_ns) {
		const struct ws_bytes source = ws_meta_value(&p->m->meta, "import.source");

		ws_page_say(p->page, "", "CUDA graphs take ",
		            ws_say_time(p->texts, (double)p->page->graph_ns),
		            "; their kernels are not recorded.", NULL);
		const char *option = !source.len                        ? "--graph-level node"
		                     : ws_bytes_begin(source, "Nsight") ? "--cuda-graph-trace=node"
		                                                        : NULL;
		if (option)
			say_line(&p->page->first,
			         "First: record the kernels inside the graphs: ", option, ".",
			         NULL);
		return;
	}
	if (!(whole > 0))
		return;
	describe_class(p, 0, 0, &name, &share);
	describe_class(p, 1, SECOND_PERCENT, &other, &other_share);
	if (!*name)
		return;
	if (!owner ||
	    words_in(owner->label) + OWNER_WORDS + (has_both_ways(owner) ? BACKWARD_WORDS : 0) >
	            MOST_WORDS) {
		ws_page_say(p->page, "", ws_arena_format(p->texts, "Most %s time goes to ", work),
		            ws_arena_format(p->texts, "%s (%s)", name, share),
		            *other ? " and " : "",
		            *other ? ws_arena_format(p->texts, "%s (%s)", other, other_share) : "",
		            ".", NULL);
		return;
	}
	/* its row has the time of what is nearly all of it */
	const struct ws_page_node *row =
	        owner->whole == WS_PAGE_ROOT ? owner : &page->node[owner->whole];

	/* As a sentence begins. */
	char *copy = ws_arena_copy(p->texts, owner->label, strlen(owner->label));

	if (!strstr(copy, "::"))
		*copy = (char)toupper((unsigned char)*copy);
	whose = copy;
	if (has_both_ways(owner))
		whose = ws_arena_format(p->texts, "%s and its backward hold ", whose);
	else
		whose = ws_arena_format(p->texts, "%s holds ", whose);
	if (words_in(whose) - 1 + OWNER_WORDS + 3 > MOST_WORDS)
		other = other_share = "";
	ws_page_say(p->page, "", whose, ws_say_percent(p->texts, node_percent(page, row)),
	            ws_arena_format(p->texts, " of %s time; %s takes ", work, name), share,
	            *other ? ws_arena_format(p->texts, ", %s ", other) : "", other_share, ".",
	            NULL);
}

/* --- what to do first ------------------------------------------------------------------------ */

/* The launches of the host went into a graph, and the GPU ran little of it. */
static bool only_captures(const struct ws_page_making *p)
{
	return use_percent(p, WS_USE_SETUP) > START_UP_PERCENT &&
	       ws_host_activity_find(p->m, p->sel)->captured;
}

static void say_first(struct ws_page_making *p)
{
	const struct ws_page_finding *f = p->page->finding;

	if (p->page->first.nparts)
		return;
	/* a hint that saves nothing, or nobody knows what, is not the first thing to do */
	if (!p->page->nfindings || !(f->gain_ns > 0) || !*f->gain) {
		if (only_captures(p))
			say_line(&p->page->first,
			         "First: record replays of the graph as well, not its capture "
			         "alone.",
			         NULL);
		else if (use_percent(p, WS_USE_SETUP) > START_UP_PERCENT)
			say_line(&p->page->first, "First: warm up, then record: ",
			         ws_say_percent(p->texts, use_percent(p, WS_USE_SETUP)),
			         " of this is start-up.", NULL);
		return;
	}

	/* The first sentence of an advice, with a small letter, without its full stop. */
	const char *stop = strstr(f->advice, ". "), *semicolon = strstr(f->advice, "; ");
	const char *end = stop && (!semicolon || stop < semicolon) ? stop : semicolon;
	size_t len = end ? (size_t)(end - f->advice) : strlen(f->advice);

	while (len && f->advice[len - 1] == '.')
		len--;
	char *text = ws_arena_copy(p->texts, f->advice, len);
	if (len > 1 && islower((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
	const char *advice = ws_arena_format(p->texts, "First: %s", text);
	say_line(&p->page->first, ws_arena_format(p->texts, "%s. ", advice),
	         ws_arena_format(p->texts, "%c%s", toupper((unsigned char)*f->gain), f->gain + 1),
	         ".", NULL);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void add_figure(struct ws_page_making *p, const char *value, const char *what)
{
	p->page->figure[p->page->nfigures++] = (struct ws_page_figure){value, what};
}

static void add_figures(struct ws_page_making *p)
{
	const struct ws_page *page = p->page;
	const double computing = use_percent(p, WS_USE_COMPUTE);
	const double unrecorded_ns = unrecorded_step_ns(p);
	const double step_ns = unrecorded_ns > 0 ? unrecorded_ns : page->step_ns;

	WS_NEW(p->texts, p->page->figure, 9 + WS_BATCH_KINDS);
	if (unrecorded_ns > 0)
		add_figure(p, ws_say_time(p->texts, step_ns), "step without recording");
	else if (page->step_ns > 0)
		add_figure(p, ws_say_time(p->texts, page->step_ns),
		           page->nsteps      ? ws_arena_format(p->texts, "step, the median of %zu",
		                                               page->nsteps)
		           : page->has_steps ? "step"
		                             : "run");

	/* Prompts and generation are other work: "9 ms per decode step (762 of 8 requests)". */
	struct ws_batch_steps batch[WS_BATCH_KINDS];
	const size_t n = ws_step_batches(p->m, ws_step_times(p->m, p->whole->sel), batch);

	for (size_t i = 0; i < n; i++)
		add_figure(p, ws_say_time(p->texts, batch[i].ns),
		           ws_arena_format(p->texts, "per %s step (%llu, of %.4g request%s)",
		                           batch[i].kind, (unsigned long long)batch[i].steps,
		                           batch[i].requests, WS_PLURAL(batch[i].requests)));
	if (!isnan(computing) && !page->on_cpu &&
	    (!p->m->soundness.obstacle || p->m->soundness.clock_is_off))
		add_figure(p, ws_say_percent(p->texts, computing), "GPU computing");
	if (page->has_steps) {
		const struct ws_utilization *use = ws_utilization_find(p->m, p->sel);
		/* MFU and what it is of: the peak of the products with most time. */
		const double mfu = ws_stat_percent(use->model_sum_ns, (double)use->step_sum_ns);
		const char *peak = NULL;

		if (use->flops > 0)
			add_figure(p, ws_say_si(p->texts, use->flops / p->page->samples, "FLOP"),
			           "per step");
		for (size_t i = 0; i < p->page->nroofs && !peak; i++)
			if (p->page->roof[i].flops_per_s > 0)
				peak = p->page->roof[i].name;
		if (!use->obstacle[0] && mfu > 0 && !ws_over_peak(mfu))
			add_figure(p, ws_say_percent(p->texts, mfu),
			           peak ? ws_arena_format(p->texts, "MFU of %s", peak) : "MFU");
	}
	/* of all measured steps, as the median step alone may have no sample */
	const double mj = ws_energy_per_step(p->m, p->whole->sel);
	size_t ngpus = 0;

	for (size_t d = 0; d < p->m->ndevices; d++)
		ngpus += ws_device_energy(p->m, p->whole->sel)[d].n > 0;
	if (page->has_steps && mj > 0)
		add_figure(p, ws_say_si(p->texts, mj / 1e3, "J"),
		           ngpus > 1 ? "per step, whole GPUs" : "per step, whole GPU");
	if (p->sel->kernels)
		add_figure(p, ws_say_number(p->texts, (double)p->sel->kernels / page->samples),
		           ws_arena_format(p->texts, "kernel%s%s",
		                           (double)p->sel->kernels == page->samples ? "" : "s",
		                           page->has_steps ? " per step" : ""));
	if (page->has_steps) {
		static const struct {
			const char *fact, *label;
		} rates[] = {{"images_per_step", "images per second"},
		             {"tokens_per_step", "tokens per second"}};

		for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
			const double work = (double)ws_fact_number(p->m, rates[i].fact);

			if (work > 0 && step_ns > 0)
				add_figure(p, ws_say_si(p->texts, work * 1e9 / step_ns, ""),
				           rates[i].label);
		}
	}
}

/* Collectives of backends on the host's threads: of all windows, the time in any of them. */
static void say_host_collectives(struct ws_page_making *p)
{
	const struct ws_windows *windows = ws_windows(p->m, p->sel);
	struct ws_joined_rows *rows = p->sel->rows;
	struct ws_spans spans = {0};
	int64_t ns = 0, whole_ns = 0, *of_name;
	uint32_t most = 0;

	WS_NEW(p->tab->temp, of_name, p->m->ntexts);
	WS_EACH_RANGE(rows, i, r) {
		const uint32_t name = p->m->ranges.paths[r->context->path].name;

		if (!ws_name_is_collective(p->m->texts[name]))
			continue;
		ws_spans_cover(&spans, r->start_ns, r->end_ns);
		of_name[name] += r->end_ns - r->start_ns;
		most = of_name[name] > of_name[most] ? name : most;
	}
	ws_spans_merge(&spans);
	for (size_t i = 0; i < windows->n; i++) {
		const struct ws_time_window *w = &windows->window[i];

		whole_ns += w->end_ns - w->start_ns;
		ns += ws_spans_inside(&spans, w->start_ns, w->end_ns);
	}
	ws_spans_release(&spans);
	const double percent = ws_stat_percent((double)ns, (double)whole_ns);

	if (!(percent > IDLE_PERCENT))
		return;
	ws_page_say(p->page, "", "",
	            ws_arena_format(p->texts, "%s covers %s", ws_page_text_of(p, most),
	                            ws_say_part_of(p->texts, p->page->step_ns * percent / 100,
	                                           percent)),
	            p->page->has_steps ? " of each step." : " of it.", NULL);
	if (p->page->nfindings)
		return;
	/* rules about kernels find nothing where none ran */
	WS_NEW(p->texts, p->page->finding, 1);
	p->page->nfindings = 1;
	p->page->no_finding = NULL;
	*p->page->finding = (struct ws_page_finding){
	        .title = "Communication of the host",
	        .advice = "Exchange less, or overlap it with computation: larger buckets, 16-bit "
	                  "gradients, a faster network",
	        .evidence = ws_arena_format(p->texts, "%s: %s", ws_page_text_of(p, most),
	                                    ws_say_times(p->texts, p->page->step_ns * percent / 100,
	                                                 "of", p->page->step_ns)),
	        .gain_ns = p->page->step_ns * percent / 100,
	        .gain = ws_arena_format(p->texts, "at most %s",
	                                ws_say_part_of(p->texts, p->page->step_ns * percent / 100,
	                                               percent)),
	        .gain_percent = percent};
	say_first(p);
}

/* --- what cannot be true ---------------------------------------------------------------------- */

static const char *verb(const struct ws_broken_law *b, const char *one, const char *many)
{
	return ws_broken_count(b) == 1 ? one : many;
}

/* Launches behind the last recorded kernel; a few are usual where recording ends. */
#define BEHIND_PERCENT 5

/* Before all else: what follows rests on the rest. */
static void say_what_is_unsound(struct ws_page_making *p)
{
	/* How often profilers leave launches without kernels: no maker publishes it, so it is the
	 * count of docs/dev/soundness.md. */
	static const struct {
		const char *source, *counted;
	} known[] = {{"PyTorch", "0 of 32 traces of PyTorch's profiler"},
	             {"Nsight", "0 of 17 traces of Nsight Systems"}};
	const struct ws_bytes source = ws_meta_value(&p->m->meta, "import.source");
	const char *how_often = " Record";
	const struct ws_soundness *s = &p->m->soundness;
	const uint64_t behind = p->m->leftovers.launches_behind,
	               launches = s->broken[WS_LAW_LAUNCH_HAS_WORK].judged;
	size_t left_out = 0;

	for (size_t i = 0; i < p->m->nsteps; i++)
		left_out += p->m->steps[i].unsound && !p->m->steps[i].warm_up;
	for (int law = 0; law < WS_LAWS; law++) {
		const struct ws_broken_law *b = &s->broken[law];
		const char *most = ws_say_time(p->texts, (double)b->most_ns);
		const char *rest = NULL;

		if (!ws_broken_count(b))
			continue;
		switch ((enum ws_law)law) {
		case WS_LAW_BEFORE_LAUNCH:
			rest = ws_arena_format(
			        p->texts,
			        " %s before %s launch, by up to %s: the device's clock is off; "
			        "idle causes and latencies are not known.",
			        verb(b, "begins", "begin"), verb(b, "its", "their"), most);
			break;
		case WS_LAW_FAR_AWAY:
			rest = ws_arena_format(p->texts,
			                       " %s %s %s everything else: %s clock is another; "
			                       "left out of the run.",
			                       verb(b, "lies", "lie"), most,
			                       b->first_ns > p->m->end_ns ? "after" : "before",
			                       verb(b, "its", "their"));
			break;
		case WS_LAW_ONE_AT_A_TIME:
			rest = ws_arena_format(p->texts,
			                       " %s up to %s after later kernels of the same "
			                       "stream began: %s not believed.",
			                       verb(b, "ends", "end"), most,
			                       verb(b, "its end is", "their ends are"));
			break;
		case WS_LAW_LAUNCH_HAS_WORK:
			for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
				if (ws_bytes_begin(source, known[i].source))
					how_often = ws_arena_format(
					        p->texts, " That is rare (%s at hand): record",
					        known[i].counted);
			rest = ws_arena_format(
			        p->texts,
			        " %s no %s in the trace%s%s again, for a shorter time and without "
			        "a second profiler.",
			        verb(b, "has", "have"), b->copies ? "device work" : "kernel",
			        left_out ? "; the steps that hold them are left out." : ".",
			        how_often);
			break;
		case WS_LAW_ONCE:
			rest = ws_arena_format(p->texts, " stood twice and %s once.",
			                       verb(b, "counts", "count"));
			break;
		case WS_LAWS:
			continue;
		}
		ws_page_say(p->page, "", "", ws_broken_what(p->texts, s, (enum ws_law)law), rest,
		            NULL);
	}
	if (100 * behind > BEHIND_PERCENT * launches)
		ws_page_say(p->page, "", "",
		            ws_arena_format(p->texts, "%s of %s launches",
		                            ws_say_number(p->texts, (double)behind),
		                            ws_say_number(p->texts, (double)launches)),
		            " come after the last recorded kernel. "
		            "Synchronise before recording ends.",
		            NULL);
}

#define BETWEEN_PERCENT    10 /* less between two steps is not worth a sentence */
#define UNLAUNCHED_PERCENT 1  /* of kernels, and of what the GPU computes in the step */

void ws_page_add_headline(struct ws_page_making *p)
{
	const struct ws_page *page = p->page;
	const char *what = page->has_steps ? "A step takes " : "The run spans ";
	const size_t first =
	        p->idle && !page->on_cpu ? ws_host_activity_find(p->m, p->sel)->first_steps : 0;
	const double unrecorded_ns = unrecorded_step_ns(p);
	const double computing = use_percent(p, WS_USE_COMPUTE);
	const struct ws_soundness *s = &p->m->soundness;
	const struct ws_bytes loss = ws_model_fact(p->m, "loss_not_finite");
	const char *time = ws_say_time(p->texts, page->step_ns), *spread = NULL;
	int64_t least_ns = INT64_MAX, most_ns = 0;

	/* The spread of the steps but those of start-up, which a sentence sets apart: "6.22 to 7.73
	 * over 3 steps" behind the time of one; NULL: they do not differ, as they are shown. */
	for (size_t i = first; i < page->nsteps; i++) {
		least_ns = page->step[i].ns < least_ns ? page->step[i].ns : least_ns;
		most_ns = page->step[i].ns > most_ns ? page->step[i].ns : most_ns;
	}
	if (most_ns && strcmp(ws_say_time(p->texts, (double)least_ns),
	                      ws_say_time(p->texts, (double)most_ns)) != 0)
		time = spread =
		        ws_arena_format(p->texts, "%s over %zu steps",
		                        ws_say_time_range(p->texts, page->step_ns, (double)least_ns,
		                                          (double)most_ns),
		                        page->nsteps - first);
	/* "Step 30 took 1.55 s, the median 50.2 ms: this trace was written because of it." */
	const struct ws_bytes trigger = ws_meta_value(&p->m->meta, "flight.trigger");
	const int64_t slow_ns = ws_meta_number(&p->m->meta, "flight.step_ns", 0);
	if (slow_ns > 0) {
		const struct ws_slow_step *slow = ws_slow_step(p->m, p->whole->sel);
		const int64_t number = ws_meta_number(&p->m->meta, "flight.step", 0);
		const char *here = "";

		/* what was dropped, and PyTorch's first period, has no number here */
		if (slow->slow && p->m->steps[slow->slow->step].number != number)
			here = ws_arena_format(p->texts, ", %" PRIu32 " in this report,",
			                       p->m->steps[slow->slow->step].number);
		ws_page_say(p->page, "",
		            ws_arena_format(p->texts,
		                            "Step %" PRId64
		                            " of the run%s took %s, the median %s: this trace "
		                            "was written because of it.",
		                            number, here, ws_say_time(p->texts, (double)slow_ns),
		                            ws_say_time(p->texts,
		                                        (double)ws_meta_number(&p->m->meta,
		                                                               "flight.median_ns",
		                                                               0))),
		            NULL);
		ws_page_say(p->page, "", slow->obstacle ? "" : "Cause of the difference: ",
		            ws_arena_format(p->texts, "%s",
		                            slow->obstacle ? slow->obstacle : slow->cause),
		            slow->obstacle ? "" : ".", NULL);
		if (!slow->obstacle && ws_energy_is_known(&slow->energy[0]) &&
		    ws_energy_is_known(&slow->energy[1]))
			ws_page_say(p->page, "", ws_slow_step_clock_words(slow, p->texts), NULL);
		p->page->has_slow_step = !slow->obstacle;
	}
	if (slow_ns <= 0 && (ws_bytes_is(trigger, "signal") || ws_bytes_is(trigger, "ctl")))
		ws_page_say(p->page, "",
		            "This trace was written on request, while the program ran.", NULL);
	if (*ws_calibration_words(p->m, p->texts))
		ws_page_say(p->page, "", ws_calibration_words(p->m, p->texts), NULL);
	if (unrecorded_ns > 0)
		time = ws_arena_format(p->texts, "%s without recording (recorded: %s)",
		                       ws_say_time(p->texts, unrecorded_ns), time);
	/* Records that the recorder or the import lost, and what keeps them. */
	static const struct {
		const char *cause, *rest;
	} cures[] = {
	        {"ring_overflow",
	         " events were lost: fewer ranges or a larger --buffer-size keep them."},
	        {"thread_without_ring",
	         " events of threads were lost: a higher --buffers keeps them."},
	        {"process_not_recorded",
	         " processes were not recorded: more /dev/shm or --segment-dir helps."},
	        {"disk_full", " rows were lost: the disk was full."},
	        {"activity_refused",
	         " times CUPTI dropped GPU records: a higher --gpu-buffers keeps them."},
	        {"activity_dropped",
	         " GPU records were lost: --kernels-only or a higher --gpu-buffers keeps them."},
	        {"launch_not_told",
	         " launches went to another profiler in the program: run it without."},
	        {"skipped bytes", " bytes of the trace are damaged: their records are missing."},
	        {"damaged blocks", " blocks of the trace are damaged: their records are missing."},
	};
	const char *cure = " records were lost: the table Losses names the cause.";

	for (size_t i = 0; page->most_lost && i < sizeof(cures) / sizeof(*cures); i++)
		if (!strcmp(page->most_lost, cures[i].cause))
			cure = cures[i].rest;
	if (page->most_lost)
		ws_page_say(p->page, "", "", ws_say_number(p->texts, (double)page->lost_records),
		            cure, NULL);
	say_what_is_unsound(p);
	/* Kernels whose launch was not recorded belong to no step and no range. Those that their
	 * streams ran before any of a recorded launch were queued as recording began. */
	struct ws_joined_rows *rows = p->sel->rows;
	struct ws_strtab streams = {0}; /* that have run a kernel whose launch is known */
	const bool knows_launches = rows->ncalls && !page->on_cpu && ws_model_has_kernels(p->m);
	size_t n = 0, early = 0;

	WS_EACH_KERNEL(rows, i, k) {
		if (!knows_launches)
			break;

		const struct ws_config *config = &p->m->configs[k->kind->config];
		const uint64_t stream[] = {config->process, config->device, config->stream};

		if (k->call != WS_NONE) {
			ws_strtab_add(&streams, stream, sizeof(stream));
			continue;
		}
		n++;
		early += !ws_strtab_find(&streams, stream, sizeof(stream));
	}
	ws_strtab_free(&streams);
	if (n && 100 * n >= UNLAUNCHED_PERCENT * rows->nkernels)
		ws_page_say(p->page, "", "",
		            ws_arena_format(p->texts, "%s of %s kernel%s",
		                            ws_say_number(p->texts, (double)n),
		                            ws_say_number(p->texts, (double)rows->nkernels),
		                            WS_PLURAL(rows->nkernels)),
		            page->merged_records ? " have no launch record, as the file merges "
		                                   "several processes: import one file of each."
		            : 2 * early > n
		                    ? " have no launch record: begin recording on an idle GPU."
		                    : " have no launch record: they are in no step and range.",
		            NULL);
	if (p->sel->kernels && !p->m->nmeasured) {
		const struct ws_steps_hint hint =
		        ws_steps_hint(p->texts, p->m, ws_step_candidates(p->m, p->sel));

		ws_page_say(p->page, "", hint.words, hint.command,
		            ws_arena_format(p->texts, "%s.", hint.numbers), NULL);
	}
	if (page->unknown_records && p->sel->kernels)
		ws_page_say(p->page, "", words_of_left_out(p) + strlen("; "), NULL);
	if (page->has_operations)
		ws_page_say(p->page, "", what, time,
		            has_gpu_operations(p->m)
		                    ? "; a GPU computed, and its work was not recorded."
		            : page->unknown_records ? words_of_left_out(p)
		                                    : " on the CPU; no GPU kernel was recorded.",
		            NULL);
	else if (page->has_host_ranges) {
		/* Where nothing but ranges was recorded: how many, and the one with the most time
		 * of its own. */
		const struct ws_page_node *most = NULL;

		for (size_t i = 0; i < page->nnodes; i++)
			if (!page->node[i].is_rest &&
			    (!most || page->node[i].exclusive_ns > most->exclusive_ns))
				most = &page->node[i];
		if (p->sel->rows->ncalls || !most)
			ws_page_say(p->page, "", ws_no_kernels_words(p->m, p->sel, p->texts), NULL);
		if (most)
			ws_page_say(p->page, "",
			            p->sel->rows->ncalls ? "" : "No GPU work was recorded; ",
			            ws_arena_format(p->texts, "%s NVTX range%s%s",
			                            ws_say_number(p->texts,
			                                          (double)page->host_ranges),
			                            WS_PLURAL(page->host_ranges),
			                            page->has_steps ? " per step" : ""),
			            ws_arena_format(p->texts, ": %s ", most->label),
			            ws_say_time_of(p->texts, (double)most->exclusive_ns,
			                           (double)page->gpu_ns),
			            ".", NULL);
	} else if (!p->sel->kernels)
		ws_page_say(p->page, "",
		            ws_model_has_kernels(p->m)
		                    ? "No kernel is in this part of the trace."
		                    : ws_no_kernels_words(p->m, p->sel, p->texts),
		            NULL);
	else if (page->on_cpu)
		ws_page_say(p->page, "", what, time, " on the CPU reference; no GPU ran.", NULL);
	else if (isnan(page->step_ns)) /* what is in no step has no window */
		ws_page_say(p->page, "", "",
		            ws_arena_format(p->texts, "%s kernel%s",
		                            ws_say_number(p->texts, (double)p->sel->kernels),
		                            WS_PLURAL(p->sel->kernels)),
		            " ran in this part of the trace.", NULL);
	else if (isnan(computing))
		ws_page_say(p->page, "", what, time, ".", NULL);
	else if (s->obstacle && !s->clock_is_off)
		ws_page_say(p->page, "", what, time,
		            "; how long the GPU computes is not known: ", s->obstacle, ".", NULL);
	else {
		const char *who = p->idle->nworked > 1
		                          ? ws_arena_format(p->texts, "ts %zu GPUs compute for ",
		                                            p->idle->nworked)
		                          : "he GPU computes for ";
		const double ns = use_ns(p, WS_USE_COMPUTE);
		const bool is_one = p->idle->nworked < 2;
		/* recording can make device work longer, too */
		const bool is_longer = unrecorded_ns > 0 && ns > unrecorded_ns;
		const char *part = ws_say_part_of(p->texts, ns,
		                                  is_longer ? 100 * ns / page->step_ns : computing);
		const char *of_it = is_longer          ? " of the recorded one."
		                    : is_one || spread ? " of it."
		                                       : ".";

		/* with its spread it is a sentence of its own */
		if (spread) {
			ws_page_say(p->page, "", what, time, ".", NULL);
			ws_page_say(p->page, "",
			            ws_arena_format(p->texts, "%s%s", is_one ? "T" : "I", who),
			            part, of_it, NULL);
		} else {
			ws_page_say(p->page, "", what, time,
			            ws_arena_format(p->texts, "; %s%s", is_one ? "t" : "i", who),
			            part, of_it, NULL);
		}
	}
	if (p->sel->kernels && !page->on_cpu && !isnan(computing) && page->has_steps &&
	    p->windows && rows->ncalls) {
		/* What ran in the step's time counts as computing, whoever launched it. */
		int64_t ns = 0;

		WS_EACH_KERNEL(rows, i, k) {
			if (k->call != WS_NONE || !ws_kernel_ran(p->sel, k, i))
				continue;
			for (size_t w = 0; w < p->windows->n; w++) {
				const struct ws_time_window *at = &p->windows->window[w];

				ns += ws_span_overlap(k->start_ns, k->start_ns + k->dur_ns,
				                      at->start_ns, at->end_ns);
			}
		}
		if (!(100.0 * (double)ns < UNLAUNCHED_PERCENT * use_ns(p, WS_USE_COMPUTE)))
			ws_page_say(p->page, "", "", ws_say_time(p->texts, (double)ns),
			            " of that are kernels without a launch record: no table of "
			            "steps has them.",
			            NULL);
	}
	if (*ws_steps_threads_words(p->m, p->texts))
		ws_page_say(p->page, "", ws_steps_threads_words(p->m, p->texts), ".", NULL);
	if (page->has_steps && !page->on_cpu) {
		/* Where steps are calls or ranges, what the program does between two of a thread:
		 * the median, as it may rest between two epochs. */
		const struct ws_windows *windows = ws_windows(p->m, p->whole->sel);
		const struct ws_time_window *w = windows->window;
		int64_t *gap_ns = ws_xarray(windows->n + 1, sizeof(*gap_ns));
		size_t ngaps = 0;

		for (size_t i = 0; i + 1 < windows->n; i++)
			if (w[i + 1].step == w[i].step + 1 &&
			    p->m->steps[w[i].step].thread == p->m->steps[w[i + 1].step].thread)
				gap_ns[ngaps++] =
				        w[i + 1].start_ns - w[i].end_ns -
				        ws_unrecorded_ns(p->m, w[i].end_ns, w[i + 1].start_ns);
		ws_sort(gap_ns, ngaps, sizeof(*gap_ns), ws_by_time);
		double between_ns = ngaps ? (double)gap_ns[(ngaps - 1) / 2] : 0;
		double percent = 100 * between_ns / (between_ns + page->step_ns);
		if (percent >= BETWEEN_PERCENT)
			ws_page_say(p->page, "", "Between two steps the program spends another ",
			            ws_say_time(p->texts, between_ns), ", ",
			            ws_say_percent(p->texts, percent),
			            " of the time from one step to the next; tables of steps are "
			            "without it.",
			            NULL);
		free(gap_ns);
	}
	if (loss.len)
		ws_page_say(p->page, "", "The loss is not finite in ",
		            ws_page_copy(p->texts, loss.ptr, loss.len),
		            ": times hold, values do not.", NULL);
	if (p->sel->kernels) {
		say_why_idle(p);
		if (p->idle && p->windows && !page->on_cpu && !s->obstacle) {
			/* Several devices of which no two compute at the same time, as a model that
			 * is cut into parts does. */
			struct ws_spans any = {0};
			int64_t sum_ns = 0, any_ns = 0;
			size_t ndevices = 0;

			for (uint32_t d = 0; d < p->idle->ndevices; d++)
				sum_ns += p->idle->device[d].ns[WS_USE_COMPUTE];
			for (uint32_t d = 0; d < p->idle->ndevices; d++)
				ndevices += 100 * p->idle->device[d].ns[WS_USE_COMPUTE] >
				            TURN_PERCENT * sum_ns;
			WS_EACH_KERNEL(rows, i, k)
				if (ndevices > 1 && k->kind->class != WS_TEXT_COMM &&
				    ws_kernel_ran(p->sel, k, i))
					ws_spans_add(&any, k->start_ns, k->start_ns + k->dur_ns);
			ws_spans_merge(&any);
			for (size_t w = 0; w < p->windows->n; w++)
				any_ns += ws_spans_inside(&any, p->windows->window[w].start_ns,
				                          p->windows->window[w].end_ns);
			ws_spans_release(&any);
			if (ndevices > 1 && 100 * (sum_ns - any_ns) < TURNS_PERCENT * any_ns)
				ws_page_say(
				        p->page, "", "",
				        ws_arena_format(p->texts, "%zu GPUs take turns", ndevices),
				        ": no two compute at once. Split batches into "
				        "micro-batches, or run a copy of the model on each GPU.",
				        NULL);
		}
		/* What happens once is no part of a step or loop, and no finding is about it. */
		const struct ws_host_activity *host =
		        p->idle && !page->on_cpu ? ws_host_activity_find(p->m, p->sel) : NULL;
		if (host && host->first_steps) {
			/* "Step 0 takes 4.49 s: start-up, which is set apart." */
			const size_t nfirst = host->first_steps;
			const struct ws_windows *w = ws_windows(p->m, p->whole->sel);
			int64_t ns = 0;

			for (size_t i = 0; i < nfirst; i++)
				ns += w->window[i].end_ns - w->window[i].start_ns;
			ws_page_say(p->page, "",
			            nfirst == 1
			                    ? ws_arena_format(p->texts, "Step %" PRIu32 " takes ",
			                                      p->m->steps[w->window[0].step].number)
			                    : ws_arena_format(p->texts, "The first %zu steps take ",
			                                      nfirst),
			            ws_say_time(p->texts, (double)ns),
			            ": start-up, which is set apart.", NULL);
		}
		if (host && host->captured)
			ws_page_say(p->page, "", "",
			            ws_arena_format(p->texts, "%s launch%s",
			                            ws_say_number(p->texts, (double)host->captured),
			                            host->captured == 1 ? "" : "es"),
			            " of the host went into a CUDA graph and did not run.", NULL);
		else if (host && use_percent(p, WS_USE_SETUP) > IDLE_PERCENT)
			ws_page_say(p->page, "", "Start-up takes ",
			            ws_say_time(p->texts, (double)p->idle->all.ns[WS_USE_SETUP] /
			                                          (double)p->idle->nworked),
			            host->searches.n ? ", with a search for convolution "
			                               "algorithms; it happens once."
			                             : "; it happens once.",
			            NULL);
		if (page->only_outliers_have)
			ws_page_say(p->page, "", "Only the steps that stand out have ",
			            page->only_outliers_have, ".", NULL);
		if (page->nsteps >= TREND_STEPS) {
			/* "Steps become slower: 1.72 ms in the first third, 3.1 ms in the last."
			 * Every step of the one is shorter than any of the other. */
			const size_t third = page->nsteps / 3;
			const struct ws_page_step *step = page->step,
			                          *last = &step[page->nsteps - third];
			int64_t longest_ns = 0, shortest_ns = INT64_MAX;
			for (size_t i = 0; i < third; i++) {
				longest_ns = step[i].ns > longest_ns ? step[i].ns : longest_ns;
				shortest_ns = last[i].ns < shortest_ns ? last[i].ns : shortest_ns;
			}
			const int64_t first_ns = median_step_ns(step, third, p->texts);
			const int64_t last_ns = median_step_ns(last, third, p->texts);
			if (shortest_ns > longest_ns && 100 * last_ns >= TREND_PERCENT * first_ns)
				ws_page_say(p->page, "", "Steps become slower: ",
				            ws_say_time(p->texts, (double)first_ns),
				            ws_arena_format(
				                    p->texts,
				                    " in the first third of them, %s in the last.",
				                    ws_say_time(p->texts, (double)last_ns)),
				            NULL);
		}

		/* Pages that move: kernels wait for them, and no other part of the page has it. */
		uint64_t migrations = 0, bytes = 0;

		for (size_t i = 0; i < p->m->nwork; i++)
			if (ws_use_of_work(&p->m->work[i]) == WS_USE_PAGING &&
			    ws_work_ran(p->sel, p->m, i)) {
				migrations++;
				bytes += p->m->work[i].bytes;
			}
		if (migrations)
			ws_page_say(p->page, "", "",
			            ws_arena_format(p->texts, "%s migration%s",
			                            ws_say_number(p->texts, (double)migrations),
			                            WS_PLURAL(migrations)),
			            " of managed memory moved ",
			            ws_say_si(p->texts, (double)bytes, "B"), ".", NULL);
		say_largest_part(p);
		say_first(p);
		/* answers of --what-if */
		const struct ws_whatif_answers *all = ws_whatif_answers(p->whole->sel);
		if (all)
			WS_NEW(p->texts, p->page->whatif, all->n);
		for (size_t i = 0; all && i < all->n; i++) {
			const struct ws_whatif_answer *a = &all->answer[i];
			const char *change = ws_arena_format(p->texts, "If %s: ", a->change),
			           *range = "";

			if (!isnan(a->least_ns))
				range = ws_arena_format(p->texts, ", at best %s, at worst %s",
				                        ws_say_time(p->texts, a->least_ns),
				                        ws_say_time(p->texts, a->most_ns));
			if (isnan(a->then_ns))
				say_line(&p->page->whatif[p->page->nwhatif++], change,
				         ws_arena_format(p->texts, "%s", a->reason), ".", NULL);
			else
				say_line(&p->page->whatif[p->page->nwhatif++], change,
				         ws_arena_format(p->texts, "%s → %s",
				                         ws_say_time(p->texts, a->now_ns),
				                         ws_say_time(p->texts, a->then_ns)),
				         ws_arena_format(p->texts, "%s%s.",
				                         all->has_steps ? " in the median step"
				                                        : "",
				                         range),
				         NULL);
		}
	} else if (page->has_operations) {
		if (has_gpu_operations(p->m))
			say_line(&p->page->first, "First: record the GPU as well: ",
			         "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]", ".",
			         NULL);
		say_host_collectives(p);

		/* the operations that took the CPU's time */
		const struct ws_page_kernel *longest = page->kernel, *second = longest + 1;

		ws_page_say(p->page, "", ws_arena_format(p->texts, "%s takes ", longest->name),
		            ws_say_percent(p->texts, longest->percent),
		            page->nkernels > 1
		                    ? ws_arena_format(p->texts, " of operations' time, %s ",
		                                      second->name)
		                    : " of operations' time",
		            page->nkernels > 1 ? ws_say_percent(p->texts, second->percent) : "",
		            ".", NULL);
	}
	add_figures(p);
}

/* --- findings -------------------------------------------------------------------------------- */

static double gain_of(const struct ws_finding *f)
{
	return isnan(f->gain_ns) ? -1 : f->gain_ns;
}

/* Largest gain first; of those without one the most severe. */
static int compare(const void *a, const void *b)
{
	const struct ws_finding *x = *(const struct ws_finding *const *)a,
	                        *y = *(const struct ws_finding *const *)b;

	WS_ORDER_BY(gain_of(y), gain_of(x));
	WS_ORDER_BY(x->severity, y->severity);
	return (x > y) - (x < y); /* as the rules stand */
}

/* " (the GPU has no name: --device-name NAME)": what most rules need, and how to give it; "" */
static const char *what_rules_lack(const struct ws_page_making *p)
{
	const char *lack = "";

	for (size_t i = 0; i < p->m->ndevices && !*lack && !p->page->on_cpu; i++) {
		const struct ws_device *d = &p->m->devices[i];

		if (!d->kernels || d->has_peaks)
			continue;
		lack = p->m->texts[d->name].len
		               ? ws_arena_format(p->texts,
		                                 "the peak rates of %s are not known: --peaks FILE",
		                                 ws_page_text_of(p, d->name))
		               : "the GPU has no name: --device-name NAME";
	}
	if (p->m->cpu_ops.tree.n && !p->m->cpu_ops.with_shapes)
		lack = ws_arena_format(p->texts, "%s%sshapes were not recorded: record_shapes=True",
		                       lack, *lack ? "; " : "");
	return *lack ? ws_arena_format(p->texts, " (%s)", lack) : "";
}

void ws_page_add_findings(struct ws_page_making *p)
{
	struct ws_page_finding *shown[WS_RULES] = {0};
	size_t n = 0, ncaveats = 0;

	p->page->no_finding =
	        "No rule can be judged: the rules are about kernels, and none was recorded";
	if (!ws_model_has_kernels(p->m))
		return;
	p->page->no_finding = NULL;
	const struct ws_findings *all = ws_advice_find(p->whole);
	p->page->only_outliers_have = all->alone;
	const struct ws_finding **order = ws_arena_array(p->tab->temp, all->n, sizeof(*order));
	WS_NEW(p->texts, p->page->finding, WS_RULES);
	for (size_t i = 0; i < all->n; i++)
		if (!ws_finding_is_small(all, &all->finding[i]))
			order[n++] = &all->finding[i];
	ws_sort(order, n, sizeof(*order), compare);
	for (size_t i = 0; i < n; i++) {
		struct ws_page_finding **of_rule = &shown[order[i]->rule];
		const struct ws_rule_def *rule = &ws_rule_defs[order[i]->rule];
		const char *advice =
		        order[i]->advice && *order[i]->advice ? order[i]->advice : rule->advice;

		/* where the recording begins and ends, which a loop does not have */
		if (order[i]->rule == WS_RULE_late_start || order[i]->rule == WS_RULE_late_end) {
			p->page->caveat = ws_arena_format(
			        p->texts, "%s%s%c%s. %s.", ncaveats ? p->page->caveat : "",
			        ncaveats ? " " : "", toupper((unsigned char)*order[i]->evidence),
			        order[i]->evidence + 1,
			        ws_arena_copy(p->texts, advice, strcspn(advice, ".")));
			ncaveats++;
			continue;
		}
		if (*of_rule) {
			(*of_rule)->nsimilar++;
			continue;
		}

		/* "Casts: 14.1 of 130 ms in 164 kernels per step": behind what was found, unless
		 * it says so itself. */
		const char *own =
		        ws_arena_copy(p->texts, order[i]->evidence, strlen(order[i]->evidence));
		const char *begin = ws_arena_copy(p->texts, own, strcspn(own, ":"));

		*of_rule = &p->page->finding[p->page->nfindings];
		p->page->finding[p->page->nfindings++] = (struct ws_page_finding){
		        .title = rule->title,
		        .advice = ws_arena_format(p->texts, "%s%s", advice,
		                                  strchr(".!?", advice[strlen(advice) - 1]) ? ""
		                                                                            : "."),
		        .evidence = strcasestr(rule->title, begin)
		                            ? own
		                            : ws_arena_format(p->texts, "%s: %s", rule->title, own),
		        .gain_ns = order[i]->gain_ns,
		        .gain = ws_finding_gain(p->texts, all, order[i]),
		        .gain_percent = ws_stat_percent(order[i]->gain_ns,
		                                        ws_finding_whole_ns(all, order[i]))};
		(*of_rule)->nsimilar = all->skipped[order[i]->rule];
	}
	/* the rules that were checked, and what others lack */
	size_t nfound = all->n, nshown = ncaveats;
	int judged = 0;
	const bool has_gain = p->page->nfindings && p->page->finding[0].gain_ns > 0;
	const char *count = "";

	for (int i = 0; i < WS_RULES; i++) {
		judged += !all->not_judged[i];
		nfound += all->skipped[i];
	}
	for (size_t i = 0; i < p->page->nfindings; i++)
		nshown += 1 + p->page->finding[i].nsimilar;
	if (nfound)
		count = ws_arena_format(p->texts, "; %zu of %zu %s shown%s", nshown, nfound,
		                        nfound == 1 ? "finding" : "findings",
		                        nshown < nfound ? " (the rest under 1 %)" : "");
	if (!p->page->nfindings) {
		/* In place of findings. "Nothing stands out" needs most rules judged, over most of
		 * the GPU time. */
		struct ws_page *page = p->page;

		if (page->graph_ns > page->gpu_ns)
			page->no_finding = ws_arena_format(
			        p->texts,
			        "Cannot tell: kernels inside CUDA graphs were not recorded, and "
			        "graphs take %s of the GPU time. Record graphs by node: warpsheet "
			        "record --graph-level node; with nsys --cuda-graph-trace=node",
			        ws_say_percent(p->texts, 100 * (double)page->graph_ns /
			                                         ws_page_gpu_ns(page)));
		else if (only_captures(p))
			page->no_finding = "Cannot tell: the host captured a CUDA graph, and no "
			                   "replay of it was recorded";
		else if (page->on_cpu)
			page->no_finding =
			        ws_arena_format(p->texts,
			                        "Nothing stands out in %d of %d rules. The others "
			                        "are about GPU times, and no GPU ran",
			                        judged, WS_RULES);
		else if (2 * judged > WS_RULES)
			page->no_finding = "Nothing stands out";
		else
			page->no_finding = ws_arena_format(
			        p->texts, "%s rule%s could be judged%s",
			        !judged ? "No"
			                : ws_arena_format(p->texts, "Cannot tell: only %d of %d",
			                                  judged, WS_RULES),
			        judged ? "s" : "", what_rules_lack(p));
	}
	p->page->findings_note = ws_arena_format(
	        p->texts, "%d of %d rules checked%s; %d lacked data%s%s%s", judged, WS_RULES, count,
	        WS_RULES - judged, judged < WS_RULES ? what_rules_lack(p) : "",
	        !has_gain ? ""
	        : all->obstacle
	                ? ". Gains are upper bounds: "
	                : ". A gain is the step replayed without the cost that its finding names",
	        has_gain && all->obstacle ? all->obstacle : "");
	if (all->nrungs < 2)
		return;
	WS_NEW(p->texts, p->page->rung, all->nrungs);
	for (size_t i = 0; i < all->nrungs; i++)
		p->page->rung[p->page->nrungs++] =
		        (struct ws_page_rung){all->rung[i].name, all->rung[i].step_ns,
		                              ws_stat_percent(all->rung[i].step_ns,
		                                              all->rung[0].step_ns)};
}

/* --- what a comparison says ------------------------------------------------------------------ */

/* Parts are the same where their paths are. */
void ws_pages_match(struct ws_page *a, struct ws_page *b)
{
	struct ws_strtab paths = {0};
	size_t *of_path = ws_xarray(a->nnodes + 1, sizeof(*of_path)); /* from 1 */

	for (size_t i = 0; i < a->nnodes; i++)
		/* "(3 more)" are not the same things on both sides */
		if (!a->node[i].is_rest)
			of_path[ws_strtab_add(&paths, a->node[i].path, strlen(a->node[i].path))] =
			        i;
	for (size_t i = 0; i < b->nnodes; i++) {
		const char *path = b->node[i].path;
		const uint64_t id = ws_strtab_find(&paths, path, strlen(path));

		if (!id || b->node[i].is_rest || a->node[of_path[id]].counterpart != WS_PAGE_ROOT)
			continue;
		a->node[of_path[id]].counterpart = i;
		b->node[i].counterpart = of_path[id];
	}
	free(of_path);
	ws_strtab_free(&paths);
}

double ws_pages_ratio(const struct ws_page *of, const struct ws_page *other, size_t node, bool is_b)
{
	const struct ws_page_node *n = &of->node[node];

	if (n->counterpart == WS_PAGE_ROOT)
		return NAN;
	double own = (double)n->inclusive_ns / of->samples;
	double theirs = (double)other->node[n->counterpart].inclusive_ns / other->samples;
	return is_b ? ws_stat_ratio(own, theirs) : ws_stat_ratio(theirs, own);
}

#define CHANGE_LEAST 1.03

enum ws_change_colour ws_change_colour(double ratio)
{
	return isnan(ratio)               ? WS_CHANGE_ALONE
	       : ratio > CHANGE_LEAST     ? WS_CHANGE_COSTS
	       : ratio < 1 / CHANGE_LEAST ? WS_CHANGE_SAVES
	                                  : WS_CHANGE_NONE;
}
