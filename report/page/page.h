/*
 * The first screen of a report, of a comparison or of many ranks, for HTML, the first sheet of a
 * workbook, and terminals. Plain data, made once by page/ or with the tables of a comparison;
 * writers arrange it but compute no numbers. docs/dev/pages.md
 *
 * Times are sums in ns: for a report with steps over the median step, for a side of a comparison
 * over all steps. Divide by `samples` for the time per step. Texts are UTF-8 as recorded: writers
 * escape them for their format.
 */
#pragma once

#include "report/base/names.h"

/*
 * The timeline of a step: boxes on lanes of threads, streams and devices. Plain data, made by
 * timeline.c. Items too short for their own box share a box, which counts them: nothing is left
 * out. docs/dev/pages.md
 */

/* X(NAME, "name") */
#define WS_TIMELINE_LANES(X) \
	X(THREAD, "thread")  \
	X(OPS, "ops")        \
	X(STREAM, "stream") X(COPIES, "copies") X(IDLE, "idle") X(PATH, "path") X(RANK, "rank")
enum ws_timeline_kind {
#define X(NAME, name) WS_TIMELINE_##NAME,
	WS_TIMELINE_LANES(X)
#undef X
};

/* Texts are indexes into `text`; 0 = unknown. Times are ns as recorded; see shift_ns. */
struct ws_timeline_box {
	int64_t start_ns, dur_ns; /* shared box: from the first start to the last end */
	int64_t busy_ns;          /* sum of their times */
	uint64_t count;           /* over 1: a shared box, without texts */
	uint32_t name, class, path, operation, shapes, launch, call;
	int64_t call_ns,
	        call_dur_ns; /* start and time of the call that launched it; -1 = unknown */
	uint16_t depth;      /* depth of a range or operation: 0 = outermost */
	uint8_t colour;      /* enum ws_page_colour */
};

struct ws_timeline_lane {
	enum ws_timeline_kind kind;
	const char *name;            /* "stream 7", "GPU 1 idle": unique */
	const char *device;          /* "GPU 1"; "" for threads and the critical path */
	struct ws_timeline_box *box; /* by start */
	size_t n, capacity;
	uint16_t depths;
};

struct ws_timeline {
	const char *title; /* "step 6, the median of 10 measured steps" */
	int64_t start_ns, end_ns;
	int64_t shortest_ns; /* shorter items may be in shared boxes; 0 = no shared boxes */
	int64_t shift_ns;    /* begin of the trace in the clock of its records */
	struct ws_timeline_lane *lane;
	size_t nlanes, lanes_capacity;
	const char **text; /* [0]: "" */
	size_t ntexts;
	uint64_t kernels, ranges, copies,
	        ops; /* number in all boxes; ops: operations of a framework */
	struct ws_arena arena;
};

void ws_timeline_free(struct ws_timeline *timeline); /* NULL is legal */

/* A sentence of up to 15 words, with bold parts. */
#define WS_PAGE_PARTS 7

struct ws_page_line {
	struct ws_page_part {
		const char *text;
		bool bold;
	} part[WS_PAGE_PARTS];
	size_t nparts;     /* 0: no sentence */
	const char *grade; /* "LIKELY FASTER"; "" = none */
	bool is_compared;  /* its numbers are in page.compared */
};

#define WS_PAGE_LINES 12

/* "383 ms", "step": only known values. */
struct ws_page_figure {
	const char *value, *label;
};

/*
 * X(NAME, fill on light, fill on dark, ink on either): colours that colour-blind readers can
 * distinguish. A class of kernels has the same colour in every picture: ws_page_class_colour.
 */
#define WS_PAGE_COLOURS(X)                                               \
	X(BLUE, 0x2c68ba, 0x2f6ec4, 0xffffff)                            \
	X(CYAN, 0x7aece9, 0x7aece9, 0x10212b)                            \
	X(INDIGO, 0x3c1874, 0x55339a, 0xffffff)                          \
	X(RED, 0xc24c57, 0xc24c57, 0xffffff)                             \
	X(GREEN, 0x21531c, 0x2d6b27, 0xffffff)                           \
	X(GREY, 0x8f969f, 0x8f969f, 0x10212b)                            \
	X(PURPLE, 0x932f74, 0x932f74, 0xffffff)                          \
	X(OCHRE, 0xf9ac11, 0xf9ac11, 0x10212b)                           \
	X(TEAL, 0x6cc569, 0x6cc569, 0x10212b)                            \
	X(BROWN, 0x4e2231, 0x6b3145, 0xffffff)                           \
	X(PINK, 0xde90e7, 0xde90e7, 0x10212b)                            \
	X(OLIVE, 0x9d8820, 0x9d8820, 0x10212b)                           \
	/* copies and fills of the copy engines, no kernels */           \
	X(VIOLET, 0x8448e8, 0x8448e8, 0xffffff)                          \
	/* causes of idle time, in the order of WS_USE_LIST, all pale */ \
	X(IDLE, 0xebcb94, 0xebcb94, 0x10212b)                            \
	X(IDLE_HOST, 0xb3a599, 0xb3a599, 0x10212b)                       \
	X(IDLE_SYNC, 0xf8ec9b, 0xf8ec9b, 0x10212b)                       \
	X(IDLE_DATA, 0xbed2ff, 0xbed2ff, 0x10212b)                       \
	X(IDLE_WAIT, 0x98cdc2, 0x98cdc2, 0x10212b)                       \
	X(IDLE_DEVICE, 0xd2d1af, 0xd2d1af, 0x10212b)                     \
	X(IDLE_START, 0xabffe2, 0xabffe2, 0x10212b)                      \
	X(IDLE_END, 0xe7f4c1, 0xe7f4c1, 0x10212b)                        \
	X(IDLE_UNKNOWN, 0xafb4d4, 0xafb4d4, 0x10212b)                    \
	X(IDLE_SETUP, 0x86b278, 0x86b278, 0x10212b)                      \
	X(IDLE_PAGING, 0x56c5ff, 0x56c5ff, 0x10212b)                     \
	X(IDLE_SHARED, 0xb978ff, 0xb978ff, 0x10212b)                     \
	X(IDLE_RECORDING, 0xbbfa60, 0xbbfa60, 0x10212b)                  \
	/* all classes together: the colour of ranges */                 \
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
	        WS_PAGE_COLOURS(WS_LIST_REST)};

	return all[colour];
}

/* The colour of a class by its name, "gemm"; GREY for unknown classes. */
enum ws_page_colour ws_page_class_colour(const char *name, size_t len);

/* The colour of communication, copies or a cause of idle time; use is an enum ws_use. */
#define WS_PAGE_USES (3 + WS_PAGE_COMPUTING - WS_PAGE_IDLE)
enum ws_page_colour ws_page_use_colour(int use);
/* The same by name, "waiting for data"; for other names that of computing. */
enum ws_page_colour ws_page_use_name_colour(const char *name, size_t len);

/* Ranges have a shade for each level, the outermost first, with an ink. */
#define WS_PAGE_SHADES 7

static inline struct ws_page_colour_def ws_page_shade(size_t depth)
{
	static const uint32_t shades[WS_PAGE_SHADES] = {0x233a5e, 0x2d5480, 0x3a6db5, 0x5b8bd0,
	                                                0x87aadf, 0xb3cbec, 0xd8e4f5};
	const size_t at = depth < WS_PAGE_SHADES ? depth : WS_PAGE_SHADES - 1;

	return (struct ws_page_colour_def){shades[at], shades[at], at < 3 ? 0xffffff : 0x10212b};
}

/* Shades for forward, loss, backward, optimizer and remainder, which are parts of a step like
 * ranges. */
#define WS_PAGE_PHASES 5

static inline struct ws_page_colour_def ws_page_phase_paint(size_t phase)
{
	static const uint8_t depth[WS_PAGE_PHASES] = {3, 5, 1, 4, 6}; /* neighbours differ */

	return ws_page_shade(depth[phase]);
}

static inline uint32_t ws_page_phase_colour(size_t phase)
{
	return ws_page_phase_paint(phase).light;
}

/* A part of the bar: GPU time by class, then copies and communication, then idle time by cause.
 * Longest first in each. */
struct ws_page_segment {
	const char *name;
	int64_t ns; /* part of `whole_ns`, to which all segments add up */
	/* for communication and copies, whose `ns` is only the exposed time: the time that other
	 * work hides, which is in no segment of its own */
	int64_t hidden_ns;
	double percent;
	bool is_class, is_idle;
	enum ws_page_colour colour;
};

/* A measured step, in order: its window, as in the bar. */
struct ws_page_step {
	uint32_t number;
	int64_t ns;
	bool is_outlier;
};

/* Uses of one device, as in the bar of all: time computing, then the segments from communication
 * on. */
struct ws_page_device {
	const char *name; /* "GPU 1" */
	struct ws_page_segment *segment;
	size_t nsegments;
};

/* A bin of the histogram: kernels with from_ns <= duration < to_ns. */
struct ws_page_durations {
	double from_ns, to_ns;
	uint64_t kernels;
	int64_t ns; /* sum of their times */
};

/* A box of the icicle; it comes before its children, the longest child first. */
#define WS_PAGE_ROOT SIZE_MAX

struct ws_page_node {
	size_t parent;     /* a node, WS_PAGE_ROOT */
	const char *label; /* "EncoderLayer ×12" */
	const char *path;  /* the full path, with '*' for numbers of equal layers */
	size_t depth;      /* 0: outermost */
	uint64_t folded;   /* number of equal layers, at least 1 */
	int64_t inclusive_ns, exclusive_ns;
	int64_t backward_ns; /* part of inclusive_ns: backward work of operations in it */
	uint64_t calls;      /* calls of the range or operation; 0 = unknown */
	uint64_t kernels;
	int64_t flops;              /* -1 = not known */
	enum ws_page_colour colour; /* colour of the class with the most time in it */
	bool is_step;
	bool is_range;      /* else an operation, class or kernel */
	bool is_rest;       /* "(3 more)" */
	size_t counterpart; /* the same part on the other side; WS_PAGE_ROOT: none */
	size_t whole;       /* the child that is nearly all of it; WS_PAGE_ROOT: none */
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

/* A rung of the ladder: the step's time without this obstacle and those above it. */
struct ws_page_rung {
	const char *name;
	double step_ns, percent; /* percent: of the step now */
};

struct ws_page_finding {
	const char *title;
	const char *advice; /* advice, one or two sentences */
	const char *evidence;
	double gain_ns, gain_percent; /* per step (per run without steps); NaN */
	const char *gain;             /* in words, see ws_finding_gain */
	uint64_t nsimilar;            /* findings of the same rule with less gain */
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

/* A bar of the waterfall from A's step to B's, in ns per step, or per run without steps; the first
 * and the last bar begin at 0. */
struct ws_change_bar {
	const char *name;
	double from_ns, to_ns;
	bool is_whole;
};

/* An operation that both sides ran. */
#define WS_CHANGES 10

struct ws_change {
	const char *name, *class, *grade; /* "" = none */
	const char *shape; /* shown after the phase if another row has the same name */
	enum ws_page_colour colour;
	double calls[2], ns[2], ratio, low, high; /* NaN = not known */
};

/* Times in the headline of a comparison: the step, and its kernels. */
#define WS_COMPARED_TIMES 2

struct ws_compared_time {
	const char *name, *grade;
	double ns[2], ratio, low, high; /* NaN = not known, or not compared */
};

/* One of many that stand below each other: a configuration of a sweep, a run of an A/A test, a
 * rank. A bar from 0, made of parts. */
#define WS_PAGE_ROW_PARTS 5
#define WS_PAGE_ROWS      64 /* of more the others are counted */

struct ws_page_row {
	const char *group;          /* rows of one have an axis of their own: the model; "" */
	const char *name, *words;   /* words stand behind the bar: "229 ± 21.8 ms" */
	double ns, low_ns, high_ns; /* low, high: how far it spreads; NaN = not known */
	struct ws_page_row_part {
		const char *name;
		double ns;
		struct ws_page_colour_def paint;
		bool is_idle;
	} part[WS_PAGE_ROW_PARTS];
	size_t nparts;
};

struct ws_timeline;

struct ws_page {
	const char *title; /* of the trace, without folders and extensions: "fp32 (A) → bf16 (B)" */
	/* the grey line, in this order; NULL: unknown */
	const char *device, *source, *scope, *losses;
	uint64_t lost_events;  /* lost events of ranges: parts of the model may be incomplete */
	uint64_t lost_records; /* of most_lost, the largest loss that makes a trace incomplete */
	const char *most_lost; /* the counter's name; NULL: none was lost */
	const char *only_outliers_have; /* a range; NULL */
	uint64_t merged_records;        /* of several processes in one file */
	uint64_t unknown_records;       /* records of unknown kinds that the import left out */
	bool has_steps;
	bool has_slow_step;   /* the trace was written because of a step, which is compared */
	bool on_cpu;          /* times are of the CPU reference, not of a GPU */
	bool has_operations;  /* no kernels were recorded: `kernel` has operations on the CPU */
	bool has_host_ranges; /* only ranges were recorded: the tree has times on the host */
	double samples;       /* for a side of a comparison: number of measured steps; else 1 */
	double step_ns; /* time of the median step (for such a side the mean), or of the window
	                   without steps */
	struct ws_page_line headline[WS_PAGE_LINES];
	size_t nheadline;
	const char *note;            /* basis of the sentences; NULL */
	struct ws_page_line first;   /* "First: …" */
	struct ws_page_line *whatif; /* "If class=gemm x0.5: …", for each answer to --whatif */
	size_t nwhatif;
	struct ws_page_figure *figure;
	size_t nfigures;
	const char *bar_title; /* "Where the step goes" */
	int64_t whole_ns;      /* length of the steps, summed over devices that worked */
	struct ws_page_segment *segment;
	size_t nsegments;
	struct ws_page_device *devices; /* if several worked */
	size_t ndevices;
	struct ws_page_step *step; /* if there is more than one measured step */
	size_t nsteps;
	int64_t longest_step_ns;             /* of those */
	struct ws_page_durations *durations; /* ascending, without gaps */
	size_t ndurations;
	const char *tree_title; /* "Where in the model" */
	const char *tree_what;  /* "GPU time by module; equal layers are one; click to zoom" */
	int64_t graph_ns; /* graphs traced as a whole: a box of their own; shares are of both */
	int64_t gpu_ns; /* with graph_ns what the tree's outermost boxes add up to; of ranges alone
	                   the host's time */
	uint64_t host_ranges; /* number of ranges on the host */
	struct ws_page_node *node;
	size_t nnodes;
	struct ws_page_point *point; /* longest first */
	size_t npoints;
	struct ws_page_roof *roof;
	size_t nroofs;
	struct ws_page_rung
	        *rung; /* the first is the present state; none: the step cannot be replayed */
	size_t nrungs;
	struct ws_page_finding *finding; /* largest gain first */
	size_t nfindings;
	const char *no_finding; /* a sentence if there are no findings */
	const char *caveat; /* below the findings: what begin or end of the recording cost; NULL */
	const char
	        *findings_note; /* "18 of 22 rules checked; 4 lacked data (…)"; NULL: no kernels */
	struct ws_page_kernel *kernel; /* most time first */
	size_t nkernels;
	double rate_unit;             /* unit of their rates, in FLOP/s; 0: no rate is known */
	const char *rate_name;        /* "TFLOP/s"; "" */
	uint64_t more_kernels;        /* names that are not shown */
	struct ws_timeline *timeline; /* NULL: not requested */

	/* for a comparison, a sweep or ranks, which have the following members and no figures, bar
	 * and so on */
	bool is_comparison;
	struct ws_compared_time compared[WS_COMPARED_TIMES];
	size_t ncompared; /* 0: not a diff, or nothing to compare */
	bool is_unsure;   /* the first has no verdict: no change is shown as good or bad */
	struct ws_change_bar *change_bar;
	size_t nchange_bars;                 /* 0: nothing was compared */
	struct ws_change change[WS_CHANGES]; /* largest first */
	size_t nchanges;
	const char *rows_title, *rows_what; /* "Time per step", "mean, with its deviation" */
	struct ws_page_row *row;
	size_t nrows, more_rows; /* more: that are not shown */
	/* what is shown of each side: its tree, and in HTML its timeline; NULL */
	struct ws_page *side[2];
	const char *side_name[2], *side_title[2]; /* "fp32", "fp32 (A)" */
	struct ws_arena arena;                    /* storage of everything except the sides */
};

/*
 * Adds a sentence to the headline, or replaces the last one if there are enough. Arguments: its
 * parts, alternately plain and bold, beginning with a plain one, ended by NULL; "" is left out.
 */
void ws_page_say(struct ws_page *page, const char *grade, ...) __attribute__((sentinel));

/* One part more; nothing of one that takes no time. */
static inline void ws_page_add_part(struct ws_page_row *row, const char *name, double ns,
                                    struct ws_page_colour_def paint, bool is_idle)
{
	if (ns > 0)
		row->part[row->nparts++] = (struct ws_page_row_part){name, ns, paint, is_idle};
}

/* Whose time its parts have. */
static inline const char *ws_page_work(const struct ws_page *page)
{
	return page->has_operations    ? "CPU"
	       : page->has_host_ranges ? "host"
	       : page->on_cpu          ? "kernel"
	                               : "GPU";
}

/* Denominator of shares of GPU time: all kernels, and whole graphs. */
static inline double ws_page_gpu_ns(const struct ws_page *page)
{
	return (double)(page->gpu_ns + page->graph_ns);
}

/* Is nearly all of a part one child, which is more specific? */
static inline bool ws_page_passed(const struct ws_page *page, size_t node)
{
	return page->node[node].whole != WS_PAGE_ROOT;
}

/* Time of a segment per step and device. */
static inline double ws_page_segment_ns(const struct ws_page *page, const struct ws_page_segment *s)
{
	return (double)s->ns * page->step_ns / (double)page->whole_ns;
}

/* "communication 4.19 ms (3.2 %), 109 ms more hidden" */
const char *ws_page_segment_words(struct ws_arena *texts, const struct ws_page *page,
                                  const struct ws_page_segment *s);

void ws_page_free(struct ws_page *page); /* NULL is legal */

/* Matches nodes of both trees that are the same part. */
void ws_pages_match(struct ws_page *a, struct ws_page *b);

/* B's time over A's for a node of either tree; NaN: only one side has it. */
double ws_pages_ratio(const struct ws_page *of, const struct ws_page *other, size_t node,
                      bool is_b);

/* Colour of a change; none under 3 %. */
enum ws_change_colour { WS_CHANGE_NONE, WS_CHANGE_SAVES, WS_CHANGE_COSTS, WS_CHANGE_ALONE };

enum ws_change_colour ws_change_colour(double ratio);

/* Builds boxes on lanes, with shared boxes for short items. */

/* An open shared box that may take the next item at its depth. */
struct ws_open_box {
	struct ws_timeline_box box; /* count 0: none */
	int64_t colour_ns[WS_PAGE_NCOLOURS];
};

/* Identity of a lane: a thread, or a device and a stream. */
struct ws_lane_key {
	uint32_t kind, device, process;
	uint32_t unused;
	uint64_t number; /* number of the stream or thread */
};

/* State of one timeline. Set `out` and `shortest_ns`, all else zero. */
struct ws_boxes {
	struct ws_timeline *out;
	int64_t shortest_ns;
	struct ws_strtab keys; /* identity of a lane -> lane, from 1 */
	struct ws_boxes_lane {
		struct ws_open_box *open; /* by depth */
		size_t ndepths;
		int64_t order[3]; /* sort key among the lanes */
	} * lane;
	size_t lanes_capacity, nboxes;
	/* recently used lanes: most boxes are on one of a few */
	struct ws_known_lane {
		struct ws_lane_key key;
		size_t lane; /* from 1; 0: none */
	} known[16];
};
