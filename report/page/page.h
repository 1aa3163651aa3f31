/*
 * What the first screen of a report, of a comparison or of many ranks says, whatever it is shown
 * on: HTML, the first sheet of a workbook, a terminal. Plain data, made once, by page/make.h or
 * with the tables of a comparison; writers choose places and never numbers. docs/dev/pages.md
 *
 * Times are sums in ns: of a report with steps over the median step, of a side of a comparison over
 * all steps. A time a step is that over `samples`.
 * Texts are UTF-8 as recorded: a writer escapes them as its format asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/memory.h"

/*
 * When a step's threads, streams and devices did what, as boxes on lanes. Plain data, made by
 * timeline.c. What is too short for a box of its own stands in a box of many, which counts it:
 * nothing is left out. docs/dev/pages.md
 */

/* X(NAME, "name") */
#define WS_TIMELINE_LANES(X) \
	X(THREAD, "thread")  \
	X(OPS, "ops")        \
	X(STREAM, "stream") X(COPIES, "copies") X(IDLE, "idle") X(PATH, "path")
enum ws_timeline_kind {
#define X(NAME, name) WS_TIMELINE_##NAME,
	WS_TIMELINE_LANES(X)
#undef X
};

/* Texts are numbers of `text`; 0 = not known. Times are ns as recorded; see shift_ns. */
struct ws_timeline_box {
	int64_t start_ns, dur_ns; /* of many: from the first's start to the last's end */
	int64_t busy_ns;          /* sum of their times */
	uint64_t count;           /* over 1: of many, which have no texts of their own here */
	uint32_t name, class, path, operation, shapes, launch, call;
	int64_t call_ns,
	        call_dur_ns; /* start and time of the call that launched it; -1 = not known */
	uint16_t depth;      /* of a range or operation: 0 = outermost */
	uint8_t colour;      /* enum ws_page_colour */
};

struct ws_timeline_lane {
	enum ws_timeline_kind kind;
	const char *name;            /* "stream 7", "GPU 1 idle": no two lanes have one */
	const char *device;          /* "GPU 1"; "" of a thread and the critical path */
	struct ws_timeline_box *box; /* by start */
	size_t n, capacity;
	uint16_t depths;
};

struct ws_timeline {
	const char *title; /* "step 6, the median of 10 measured steps" */
	int64_t start_ns, end_ns;
	int64_t shortest_ns; /* what is shorter may stand in a box of many; 0 = there are none */
	int64_t shift_ns;    /* the beginning of the trace in the clock of its records */
	struct ws_timeline_lane *lane;
	size_t nlanes, lanes_capacity;
	const char **text; /* [0]: "" */
	size_t ntexts;
	uint64_t kernels, ranges, copies, ops; /* in all boxes; ops: of a framework */
	struct ws_arena arena;
};

void ws_timeline_free(struct ws_timeline *timeline); /* NULL is legal */

/* A sentence of up to 15 words; what counts in it is bold. */
#define WS_PAGE_PARTS 7

struct ws_page_line {
	struct ws_page_part {
		const char *text;
		bool bold;
	} part[WS_PAGE_PARTS];
	size_t nparts;     /* 0: there is no such sentence */
	const char *grade; /* "LIKELY FASTER"; "" = none */
	bool is_compared;  /* its numbers are one of page.compared */
};

#define WS_PAGE_LINES 12

/* "383 ms", "step": only what is known. */
struct ws_page_figure {
	const char *value, *label;
};

/*
 * X(NAME, fill on light, fill on dark, ink on either): colours that the colour-blind tell apart.
 * A class of kernels has the same one in every picture: ws_page_class_colour.
 */
#define WS_PAGE_COLOURS(X)                                                                 \
	X(BLUE, 0x2c68ba, 0x2f6ec4, 0xffffff)                                              \
	X(CYAN, 0x7aece9, 0x7aece9, 0x10212b)                                              \
	X(INDIGO, 0x3c1874, 0x55339a, 0xffffff)                                            \
	X(RED, 0xc24c57, 0xc24c57, 0xffffff)                                               \
	X(GREEN, 0x21531c, 0x2d6b27, 0xffffff)                                             \
	X(GREY, 0x8f969f, 0x8f969f, 0x10212b)                                              \
	X(PURPLE, 0x932f74, 0x932f74, 0xffffff)                                            \
	X(OCHRE, 0xf9ac11, 0xf9ac11, 0x10212b)                                             \
	X(TEAL, 0x6cc569, 0x6cc569, 0x10212b)                                              \
	X(BROWN, 0x4e2231, 0x6b3145, 0xffffff)                                             \
	X(PINK, 0xde90e7, 0xde90e7, 0x10212b)                                              \
	X(OLIVE, 0x9d8820, 0x9d8820, 0x10212b)                                             \
	/* no class: causes of idle time, in the order of WS_USE_LIST, all of them pale */ \
	X(IDLE, 0xebcb94, 0xebcb94, 0x10212b)                                              \
	X(IDLE_HOST, 0xb3a599, 0xb3a599, 0x10212b)                                         \
	X(IDLE_SYNC, 0xf8ec9b, 0xf8ec9b, 0x10212b)                                         \
	X(IDLE_DATA, 0xbed2ff, 0xbed2ff, 0x10212b)                                         \
	X(IDLE_WAIT, 0x98cdc2, 0x98cdc2, 0x10212b)                                         \
	X(IDLE_DEVICE, 0xd2d1af, 0xd2d1af, 0x10212b)                                       \
	X(IDLE_START, 0xabffe2, 0xabffe2, 0x10212b)                                        \
	X(IDLE_END, 0xe7f4c1, 0xe7f4c1, 0x10212b)                                          \
	X(IDLE_UNKNOWN, 0xafb4d4, 0xafb4d4, 0x10212b)                                      \
	X(IDLE_SETUP, 0x86b278, 0x86b278, 0x10212b)                                        \
	X(IDLE_PAGING, 0x56c5ff, 0x56c5ff, 0x10212b)                                       \
	/* of all classes together: as ranges are */                                       \
	X(COMPUTING, 0x233a5e, 0x3a6db5, 0xffffff)

enum ws_page_colour {
#define X(NAME, light, dark, ink) WS_PAGE_##NAME,
	WS_PAGE_COLOURS(X)
#undef X
	        WS_PAGE_NCOLOURS,
};

struct ws_page_colour_def {
	uint32_t light, dark, ink; /* 0xrrggbb */
};

static inline struct ws_page_colour_def ws_page_colour_def(enum ws_page_colour colour)
{
	static const struct ws_page_colour_def all[WS_PAGE_NCOLOURS] = {
#define X(NAME, light, dark, ink) {light, dark, ink},
	        WS_PAGE_COLOURS(X)
#undef X
	};

	return all[colour];
}

/* Of a class by its name, "gemm"; GREY for those that it does not know. */
enum ws_page_colour ws_page_class_colour(const char *name, size_t len);

/* Of communication, copies and causes of idle time, wherever they stand: use is an enum ws_use. */
#define WS_PAGE_USES (3 + WS_PAGE_COMPUTING - WS_PAGE_IDLE)
enum ws_page_colour ws_page_use_colour(int use);
/* The same by its name, "waiting for data"; of another name that of computing. */
enum ws_page_colour ws_page_use_name_colour(const char *name, size_t len);

/* Ranges are no class: a shade for each level, the outermost first, with its ink. */
#define WS_PAGE_SHADES 7

static inline struct ws_page_colour_def ws_page_shade(size_t depth)
{
	static const uint32_t shades[WS_PAGE_SHADES] = {0x233a5e, 0x2d5480, 0x3a6db5, 0x5b8bd0,
	                                                0x87aadf, 0xb3cbec, 0xd8e4f5};
	const size_t at = depth < WS_PAGE_SHADES ? depth : WS_PAGE_SHADES - 1;

	return (struct ws_page_colour_def){shades[at], shades[at], at < 3 ? 0xffffff : 0x10212b};
}

/* Of forward, loss, backward, optimizer and remainder: parts of a step, as ranges are. */
#define WS_PAGE_PHASES 5

static inline uint32_t ws_page_phase_colour(size_t phase)
{
	static const uint8_t depth[WS_PAGE_PHASES] = {3, 5, 1, 4, 6}; /* neighbours differ */

	return ws_page_shade(depth[phase]).light;
}

/* A part of the bar: GPU time by class, then copies and communication, then idle time by cause.
 * Longest first in each. */
struct ws_page_segment {
	const char *name;
	int64_t ns; /* of `whole_ns`, to which all segments add up */
	/* of communication and copies, whose `ns` nothing hides: how long they ran beside other
	 * work, in no segment of their own */
	int64_t hidden_ns;
	double percent;
	bool is_class, is_idle;
	enum ws_page_colour colour;
};

/* A measured step, in order: its window, as the bar has it. */
struct ws_page_step {
	uint32_t number;
	int64_t ns;
	bool is_outlier;
};

/* What a device did, as the bar has it of all: its time computing, then as the segments from
 * communication on. */
struct ws_page_device {
	const char *name; /* "GPU 1" */
	struct ws_page_segment *segment;
	size_t nsegments;
};

/* Kernels whose durations begin with these digits: from_ns <= duration < to_ns. */
struct ws_page_durations {
	double from_ns, to_ns;
	uint64_t kernels;
	int64_t ns; /* sum of their times */
};

/* A box of the icicle, before all that it holds; children stand longest first. */
#define WS_PAGE_ROOT SIZE_MAX

struct ws_page_node {
	size_t parent;     /* a node, WS_PAGE_ROOT */
	const char *label; /* "EncoderLayer ×12" */
	const char *path;  /* the whole of it, '*' for numbers of equal layers */
	size_t depth;      /* 0: outermost */
	uint64_t folded;   /* equal layers in it, at least 1 */
	int64_t inclusive_ns, exclusive_ns;
	int64_t backward_ns; /* of inclusive_ns: backward work of what ran in it */
	uint64_t calls;      /* of the range or operation; 0 = not known */
	uint64_t kernels;
	int64_t flops;              /* -1 = not known */
	enum ws_page_colour colour; /* of the class with most time in it */
	bool is_step;
	bool is_range;      /* else an operation, class or kernel */
	bool is_rest;       /* "(3 more)" */
	size_t counterpart; /* of a comparison: the same part on the other side; WS_PAGE_ROOT */
	size_t whole;       /* the part in it that is nearly all of it; WS_PAGE_ROOT */
};

/* A circle of the roofline: an operation of one dtype and device with 0.5 % of GPU time or more. */
struct ws_page_point {
	const char *name, *dtype;
	double intensity, flops_per_s; /* FLOP/byte */
	int64_t gpu_ns;
	double percent;  /* of GPU time */
	double attained; /* percent of its roof; NaN = not known */
	bool is_labelled;
	enum ws_page_colour colour;
};

/* "989 TFLOP/s dense bf16", "3.35 TB/s HBM3" */
struct ws_page_roof {
	const char *name;
	double flops_per_s, bytes_per_s; /* one of them; the other is 0 */
};

/* A rung of the ladder: the time of the step as this no longer holds it up, nor what is above it.
 */
struct ws_page_rung {
	const char *name;
	double step_ns, percent; /* percent: of the step now */
};

struct ws_page_finding {
	const char *title;
	const char *advice; /* what to do, a sentence or two */
	const char *evidence;
	double gain_ns, gain_percent; /* of a step (of the run without steps); NaN */
	const char *gain;             /* in words, see ws_finding_gain */
	uint64_t nsimilar;            /* findings of the same rule with less gain */
	bool is_caveat;               /* about the ends of the recording: never what comes first */
};

struct ws_page_kernel {
	const char *name, *full_name, *class;
	enum ws_page_colour colour;
	uint64_t calls;
	int64_t ns;
	double percent, mean_ns;
	double flops_per_s; /* NaN = not known */
	double attained;    /* percent of its roof; NaN = not known */
};

/* A bar of the way from A's step to B's, in ns a step, or of the whole run where there are none:
 * the first and the last stand on 0. */
struct ws_change_bar {
	const char *name;
	double from_ns, to_ns;
	bool is_whole;
};

/* An operation that both sides ran. */
#define WS_CHANGES 10

struct ws_change {
	const char *name, *class, *grade; /* "" = none */
	const char *shape;                /* behind the phase, where another row has the name */
	enum ws_page_colour colour;
	double calls[2], ns[2], ratio, low, high; /* NaN = not known */
};

/* The step, its kernels: what the headline of a comparison is of. */
#define WS_COMPARED_TIMES 2

struct ws_compared_time {
	const char *name, *grade;
	double ns[2], ratio, low, high; /* NaN = not known, or not compared */
};

struct ws_timeline;

struct ws_page {
	const char *title; /* of the trace, without folders and endings: "fp32 (A) → bf16 (B)" */
	/* the grey line, in this order; NULL: not known */
	const char *device, *source, *scope, *losses;
	uint64_t lost_events;     /* of ranges: parts of the model may lack some */
	uint64_t lost_records;    /* for most_lost, which lost most of those that make a trace
	                             incomplete */
	const char *most_lost;    /* the counter's name; NULL: none was lost */
	const char *only_outliers_have; /* a range; NULL */
	uint64_t merged_records;  /* of several processes in one file */
	uint64_t unknown_records; /* that the import left out: their kind is not known */
	bool has_steps;
	bool on_cpu;          /* times of the CPU reference, no GPU's */
	bool has_operations;  /* no kernel was recorded: `kernel` has the CPU's operations */
	bool has_host_ranges; /* nothing but ranges was recorded: the tree has the host's time */
	double samples;       /* of a side of a comparison: measured steps; else 1 */
	double step_ns;       /* of the median step, of such a side the mean; else of the window */
	struct ws_page_line headline[WS_PAGE_LINES];
	size_t nheadline;
	const char *note;          /* what they rest on; NULL */
	struct ws_page_line first; /* "First: …" */
	struct ws_page_line *whatif; /* "If class=gemm x0.5: …", for each answer to --whatif */
	size_t nwhatif;
	struct ws_page_figure *figure;
	size_t nfigures;
	const char *bar_title; /* "Where the step goes" */
	int64_t whole_ns;      /* steps, of each device that worked */
	struct ws_page_segment *segment;
	size_t nsegments;
	struct ws_page_device *devices; /* of several that worked */
	size_t ndevices;
	struct ws_page_step *step; /* of more than one measured step */
	size_t nsteps;
	int64_t longest_step_ns; /* of those */
	struct ws_page_durations *durations;       /* ascending, without gaps */
	size_t ndurations;
	const char *tree_title; /* "Where in the model" */
	const char *tree_what;  /* "GPU time by module; equal layers are one; click to zoom" */
	int64_t graph_ns; /* graphs that were traced as a whole, which the tree lacks; shares are of
	                     both */
	int64_t gpu_ns; /* what the tree's outermost boxes add up to; of ranges alone the host's
	                   time */
	uint64_t host_ranges; /* how many there are of those */
	struct ws_page_node *node;
	size_t nnodes;
	struct ws_page_point *point; /* longest first */
	size_t npoints;
	struct ws_page_roof *roof;
	size_t nroofs;
	struct ws_page_rung *rung; /* the first is now; none: the step cannot be replayed */
	size_t nrungs;
	struct ws_page_finding *finding; /* largest gain first */
	size_t nfindings;
	const char *no_finding; /* a sentence in place of findings, where there are none */
	const char
	        *findings_note; /* "18 of 22 rules checked; 4 lacked data (…)"; NULL: no kernels */
	struct ws_page_kernel *kernel; /* most time first */
	size_t nkernels;
	double rate_unit;             /* of what is shown of them, in FLOP/s; 0: none is known */
	const char *rate_name;        /* "TFLOP/s"; "" */
	uint64_t more_kernels;        /* names that are not shown */
	struct ws_timeline *timeline; /* NULL: none was asked for */

	/* of a comparison, a sweep or ranks, which have these and no figures, bar and so on */
	bool is_comparison;
	struct ws_compared_time compared[WS_COMPARED_TIMES];
	size_t ncompared; /* 0: no diff, or there is nothing to compare */
	bool is_unsure;   /* of the first: no change is called good or bad */
	struct ws_change_bar *change_bar;
	size_t nchange_bars;                 /* 0: nothing is compared */
	struct ws_change change[WS_CHANGES]; /* largest first */
	size_t nchanges;
	/* what is shown of each side: its tree, and in HTML its timeline; NULL */
	struct ws_page *side[2];
	const char *side_name[2], *side_title[2]; /* "fp32", "fp32 (A)" */
	struct ws_arena arena;                    /* has all of these but the sides */
};

/*
 * The next sentence of the headline, or the last one again where there are enough: its parts, plain
 * and bold by turns, beginning with a plain one; NULL ends them, and "" is left out.
 */
void ws_page_say(struct ws_page *page, const char *grade, ...) __attribute__((sentinel));

/* Whose time its parts have. */
static inline const char *ws_page_work(const struct ws_page *page)
{
	return page->has_operations    ? "CPU"
	       : page->has_host_ranges ? "host"
	       : page->on_cpu          ? "kernel"
	                               : "GPU";
}

/* What shares of GPU time are of: that of all kernels, and of graphs that were traced as a whole.
 */
static inline double ws_page_gpu_ns(const struct ws_page *page)
{
	return (double)(page->gpu_ns + page->graph_ns);
}

/* Is nearly all of a part one part in it, which says more? */
static inline bool ws_page_passed(const struct ws_page *page, size_t node)
{
	return page->node[node].whole != WS_PAGE_ROOT;
}

/* Of a step, on a device. */
static inline double ws_page_segment_ns(const struct ws_page *page, const struct ws_page_segment *s)
{
	return (double)s->ns * page->step_ns / (double)page->whole_ns;
}

/* "communication 4.19 ms (3.2 %), 109 ms more hidden" */
const char *ws_page_segment_words(struct ws_arena *texts, const struct ws_page *page,
                                  const struct ws_page_segment *s);

void ws_page_free(struct ws_page *page); /* NULL is legal */

/* Nodes of both trees that are the same part: their counterparts. */
void ws_pages_match(struct ws_page *a, struct ws_page *b);

/* How B's time of a node of either tree is to A's; NaN: one side alone has it. */
double ws_pages_ratio(const struct ws_page *of, const struct ws_page *other, size_t node,
                      bool is_b);

/* What its colour says of a change: nothing under 3 %. */
enum ws_change_colour { WS_CHANGE_NONE, WS_CHANGE_SAVES, WS_CHANGE_COSTS, WS_CHANGE_ALONE };

enum ws_change_colour ws_change_colour(double ratio);

/* Boxes on lanes, and boxes of many for what is too short. */

/* A box of many that may take what comes next at its depth. */
struct ws_open_box {
	struct ws_timeline_box box; /* count 0: there is none */
	int64_t colour_ns[WS_PAGE_NCOLOURS];
};

/* What a lane is: of threads the thread, else a device and a stream. */
struct ws_lane_key {
	uint32_t kind, device, process;
	uint32_t unused;
	uint64_t number; /* of the stream or thread */
};

/* Of one timeline. Starts as zeros but for `out` and `shortest_ns`. */
struct ws_boxes {
	struct ws_timeline *out;
	int64_t shortest_ns;
	struct ws_strtab keys; /* what a lane is -> lane, from 1 */
	struct ws_boxes_lane {
		struct ws_open_box *open; /* by depth */
		size_t ndepths;
		int64_t order[3]; /* where it stands among the lanes */
	} * lane;
	size_t lanes_capacity, nboxes;
	/* lanes that were asked for last: most boxes are on one of few */
	struct ws_known_lane {
		struct ws_lane_key key;
		size_t lane; /* from 1; 0: none */
	} known[16];
};

/* The number of a lane; *is_new: it has no name yet. */
size_t ws_boxes_lane(struct ws_boxes *b, const struct ws_lane_key *key, bool *is_new);
