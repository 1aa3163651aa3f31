/*
 * A trace without its rows of calls, ranges and kernels: texts, configurations, devices, threads,
 * paths, steps, copies, allocations, operations of a framework. Rows refer to these by number.
 */
#pragma once

#include "report/base/spans.h"
#include "report/base/order.h"
#include "report/kernel_info/classify.h"
#include "report/kernel_info/occupancy.h"
#include "report/records/records.h"

/*
 * NVTX payloads, decoded by the schema in the trace. Fields are found by name, so payloads of any
 * program can be used.
 */

/*
 * Properties in the payload of an annotated operation. A payload is an operation if its schema has
 * a number field `flops` or an enumeration field `op`. Texts are indexes of the pool passed to
 * ws_ops_decode; 0 = unknown (also if the enumeration's entry is called "none"). Numbers: -1 =
 * unknown.
 */
struct ws_op_facts {
	int64_t flops;
	int64_t flops_needed; /* FLOPs that the result needs; a recorded 0 becomes -1 if `flops` is
	                         known */
	int64_t bytes;        /* fields bytes_read + bytes_written, or bytes */
	uint32_t kind;        /* field op: "gemm", "softmax" … */
	uint32_t direction;   /* "forward", "backward" */
	uint32_t phase;
	uint32_t dtype;
	int64_t layer;
	int64_t batch, m, n, k; /* of a matrix product */
};

/* Rows of the kinds payload_schema, payload_field, payload_enum and payload. */
struct ws_payload_tables {
	const struct ws_column_data *schema, *field, *enumeration, *payload;
	/* id of a string row -> index of the text */
	uint32_t (*text_of)(void *ctx, uint64_t string_id);
	const struct ws_bytes *texts; /* by that index */
	void *ctx;
};

struct ws_ops {
	struct ws_op_facts *op; /* one per payload row */
	uint8_t *is_op;         /* per payload row: whether it is an operation */
	uint64_t n;
	uint64_t undecodable; /* payloads whose schema or bytes do not fit together */
	/* Messages of communication libraries, and the number of ranks by communicator (0:
	 * contradictory), by the meanings in payloads.def. */
	struct ws_message {
		uint64_t communicator, bytes;
		uint32_t payload; /* row */
		bool has_communicator;
	} * messages;
	size_t nmessages, messages_capacity;
	struct ws_idmap ranks_of;
	uint64_t unreadable_messages;
};
/* Free with ws_ops_release, also after a failure. */
void ws_ops_decode(const struct ws_payload_tables *tables, struct ws_ops *out);
void ws_ops_release(struct ws_ops *ops);

/* Reads a number of a predefined NVTX entry type (little-endian). False if p[0..len) is too short,
 * the type is not a number, or the value does not fit into an int64_t. */
bool ws_payload_number(uint64_t type, const uint8_t *p, size_t len, int64_t *out);

/*
 * Paths of NVTX ranges: the names from the outermost range down. Each path is stored once for all
 * its ranges.
 */

/* Ranges nested deeper than this share the path of their ancestor at this depth (and are counted):
 * a program that forgets to pop must not cost a path of a million names. */
#define WS_RANGE_MAX_DEPTH 512u

enum { WS_RANGE_START_END = 1u << 0 };

/* A path: the names from the outermost range down. Parents come before their children. */
struct ws_path {
	uint32_t parent; /* WS_NONE for an outermost range */
	uint32_t name, domain;
	uint32_t depth;   /* 0 for an outermost range */
	uint8_t style;    /* 0, which is push/pop, or WS_RANGE_START_END */
	uint32_t source;  /* text: the line that called such a module first; 0 = not recorded */
	int64_t first_ns; /* begin of its first instance */
};

/* Starts as all zeros; free with ws_path_table_free. */
struct ws_path_table {
	struct ws_path *paths;
	size_t npaths, capacity;
	uint32_t *next;        /* path -> next with this parent and name, other domain or style */
	struct ws_idmap first; /* parent and name -> first such path */
};
/* The number of the path, which is added if it is new. Its first_ns becomes the smallest one of all
 * calls. */
uint32_t ws_path_intern(struct ws_path_table *t, const struct ws_path *path);
/* Moves the paths out of the table; the caller frees them with free(). Leaves the table empty. */
void ws_path_table_give(struct ws_path_table *t, struct ws_path **paths, size_t *npaths);
void ws_path_table_free(struct ws_path_table *t);

/* The paths of a trace, and counts of events and ranges that are incomplete. */
struct ws_ranges {
	struct ws_path *paths;
	size_t npaths;
	uint64_t unmatched_pops, unmatched_ends; /* ends without a begin */
	uint64_t open;                           /* never ended */
	uint64_t cross_thread;                   /* ended on another thread */
	uint64_t folded;                         /* deeper than WS_RANGE_MAX_DEPTH */
};

/*
 * Paths in reading order: a parent before its children, siblings by the begin
 * of their first instance, then by name, domain and style. order has npaths entries.
 */
void ws_paths_order(const struct ws_ranges *r, const struct ws_bytes *texts, uint32_t *order);

/*
 * The path as text: names joined by '/', a '/' inside a name written "\/".
 * Allocated, for the caller to free; *len bytes, and a NUL after them.
 */
void ws_path_text(const struct ws_ranges *r, uint32_t path, const struct ws_bytes *texts,
                  char **out, size_t *len);

/*
 * Pairs NVTX events that begin and end a range. No other code does this.
 *
 * - a pop ends the innermost open push of its thread and domain;
 * - an end closes the latest open start of its id in its process, whichever
 *   thread that was on.
 *
 * Ranges are handles that the caller chooses: small numbers, reused after a range has ended. Pushes
 * and pops of a thread must come in order of time, and so must starts and ends of a process; the
 * two sequences may be interleaved in any way.
 */

/* Starts as all zeros; free with ws_range_pairs_free. */
struct ws_range_pairs {
	uint32_t *below; /* range -> the open range under it in its stack, WS_NONE */
	size_t nbelow;
	uint32_t *top; /* stack -> its innermost open range, WS_NONE */
	size_t nstacks, stacks_capacity;
	struct ws_idmap stack_of; /* thread << 32 | domain -> stack */
	struct ws_strtab started; /* process and id of the range -> number from 1 */
	uint32_t *start_stack;    /* that number - 1 -> stack */
	size_t started_capacity;
	uint64_t last_key; /* events of a thread and domain come in runs */
	uint32_t last_stack;
	uint8_t has_last;
};

void ws_range_push(struct ws_range_pairs *p, uint32_t thread, uint32_t domain, uint32_t range);
/* Returns the range that ends; WS_NONE if none is open. */
uint32_t ws_range_pop(struct ws_range_pairs *p, uint32_t thread, uint32_t domain);
void ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id, uint32_t range);
/* The same for start and end. */
uint32_t ws_range_end(struct ws_range_pairs *p, uint64_t process, uint64_t id);
void ws_range_pairs_free(struct ws_range_pairs *p);

/*
 * Records that contradict physical laws. docs/dev/soundness.md
 */

/* X(ID, "law", "treatment of such records"): the table `soundness`. */
#define WS_LAW_LIST(X)                                                                            \
	X(BEFORE_LAUNCH, "no work begins before its launch",                                      \
	  "The device's clock is off: causes of idle time, gains by replay and launch "           \
	  "latencies are not known. Sums of kernel times are.")                                   \
	X(FAR_AWAY, "no record lies over 1,000 times as far away as the others span",             \
	  "Its time is not believed: it counts, but is in no sum of times and does not make "     \
	  "the run longer. Steps that hold it are in no mean.")                                   \
	X(ONE_AT_A_TIME, "a stream runs one kernel at a time",                                    \
	  "The end of the kernel is not believed: it counts, but is in no sum of times. Steps "   \
	  "that hold it are in no mean.")                                                         \
	X(LAUNCH_HAS_WORK, "a launch, copy or fill before the last recorded one has device work", \
	  "Steps that hold such launches are in no mean. Without steps the causes of idle time "  \
	  "are not known.")                                                                       \
	X(ONCE, "a record stands once", "Equal records count once.")

enum ws_law {
#define X(ID, law, use) WS_LAW_##ID,
	WS_LAW_LIST(X)
#undef X
	        WS_LAWS,
};

struct ws_law_def {
	const char *law, *use;
};
extern const struct ws_law_def ws_law_defs[WS_LAWS];

/* Records that break one law. */
struct ws_broken_law {
	uint64_t kernels, copies, calls; /* that break it; copies includes fills */
	uint64_t judged;                 /* kernels with a launch, or launches; 0: not counted */
	int64_t most_ns;                 /* largest deviation; 0: not a matter of time */
	int64_t first_ns;                /* begin of the first */
	uint32_t first;                  /* its name, a text; of a copy: empty */
};

struct ws_soundness {
	struct ws_broken_law broken[WS_LAWS];
	uint64_t captured;    /* launches captured into a graph, which therefore have no work */
	const char *obstacle; /* why causes of idle time are unknown; NULL: they are known */
	bool clock_is_off;    /* begins of device work cannot be compared with those of calls */
};

static inline uint64_t ws_broken_count(const struct ws_broken_law *broken)
{
	return broken->kernels + broken->copies + broken->calls;
}
bool ws_is_sound(const struct ws_soundness *s);
/* The records that break a law, in words: "20 of 20 kernels", "1 kernel, 2 copies". */
const char *ws_broken_what(struct ws_arena *texts, const struct ws_soundness *s, enum ws_law law);

/* Opening a trace as a model, and selecting the part that a report covers. */

/* Data of a trace other than its rows: texts, configurations, paths, steps. */
struct ws_model;

/* Input of the user; zero means none. Used only while the model is opened. */
struct ws_model_opts {
	const char *rules; /* rows in the form of class_rules.txt, with precedence over those */
	size_t rules_len;
	const char *peaks; /* the same for device_peaks.txt */
	size_t peaks_len;
	/* ranges that are steps: a pattern (* and ?) of their name, or of their path; NULL: `step`
	 * and PyTorch's ProfilerStep#N */
	const char *step;
	bool step_is_auto;       /* this program chose `step`, and reports so */
	const char *device_name; /* for devices whose name the trace lacks; NULL: none */
	double softmax_flops;    /* per element, in softmax-matmul; 0 = WS_SOFTMAX_FLOPS */
	bool by_launch; /* kernels of CUDA graphs belong to where the graph was launched, not to
	                   where it was captured */
	/* called often with the name of the current work; may be NULL */
	void (*progress)(const char *what, uint64_t done, uint64_t total);
};
/* How Warpsheet counts a softmax: max, subtract, exp, sum, divide. */
#define WS_SOFTMAX_FLOPS 5.0
struct ws_trace_reader;
void ws_model_free(struct ws_model *m); /* NULL is legal */

/* Parts of a run: X(NAME, "name"). All but the first are disjoint and add up to it. */
#define WS_SCOPE_LIST(X)                                                                       \
	X(ALL, "all")                                                                          \
	X(STEPS, "steps")     /* measured steps that finished */                               \
	X(WARM_UP, "warm-up") /* steps in a range `warm-up`, and other work in such a range */ \
	X(SETUP, "setup")     /* a range `setup` */                                            \
	X(OUTSIDE, "outside") /* the rest: before, between and after, steps cut off at the end */
enum ws_scope {
#define X(NAME, name) WS_SCOPE_##NAME,
	WS_SCOPE_LIST(X)
#undef X
	        WS_SCOPES,
};
const char *ws_scope_name(enum ws_scope scope);

struct ws_filter {
	/* STEPS of a trace without measured steps is ALL */
	enum ws_scope scope;
	/* keep what was launched in a range whose path matches; NULL = all.
	 * [domain:]path[#n|#a..b]: * and ? as in shell patterns, e.g. "step/forward*"; #n keeps
	 * the n-th such range by begin, from 0 */
	const char *nvtx;
	/* measured steps first..last by their number; warm-up is not a step; -1 = open end */
	int64_t step_first, step_last;
	int64_t device; /* -1 = all */
	/* the following members filter only if their has_ flag is set or their pointer is not
	 * NULL */
	int has_stream, has_process, has_time;
	uint64_t stream, process; /* process: pid */
	const char *kernel;       /* POSIX extended regular expression, in the demangled name */
	/* records that overlap [first, end), in ns from the first record of the trace */
	int64_t time_first_ns, time_end_ns;
	/* with nvtx: keep work that overlaps the ranges in time, wherever it was launched, instead
	 * of work launched in them */
	bool by_gpu_time;
	/* no filter: a page draws a timeline, of this measured step; -1 = the median one */
	bool has_timeline;
	int64_t timeline;
	/* not a filter: changes whose effect a report predicts, see report/replay/replay.h */
	const char *const *whatif;
	size_t nwhatif;
};
#define WS_FILTER_ALL                                                                  \
	{                                                                              \
		.scope = WS_SCOPE_ALL, .step_first = -1, .step_last = -1, .device = -1 \
	}

/* PyTorch calls its steps ProfilerStep#5, and numbers them anew in each recording. */
#define WS_PYTORCH_STEP "ProfilerStep#"

/* Texts that the code refers to by name; interned first, so WS_TEXT_x is their index. id, text */
#define WS_KNOWN_TEXTS(X)                     \
	X(EMPTY, "")                          \
	X(UNKNOWN_KERNEL, "(unknown kernel)") \
	X(DOMAIN, "warpsheet")                \
	X(SETUP, "setup")                     \
	X(WARM_UP, "warm-up")                 \
	X(STEP, "step")                       \
	X(FORWARD, "forward")                 \
	X(LOSS, "loss")                       \
	X(BACKWARD, "backward")               \
	X(OPTIMIZER, "optimizer")             \
	X(SOFTMAX, "softmax")                 \
	X(SCALE, "scale")                     \
	X(MASK, "mask")                       \
	X(GEMM, "gemm")                       \
	X(CONV, "conv")                       \
	X(COMM, "comm")                       \
	X(FUSED_ATTENTION, "attention")       \
	X(MODULE_DOMAIN, "pytorch.module")    \
	X(OPTIMIZER_DOMAIN, "pytorch.optimizer")

enum ws_known_text {
#define X(id, text) WS_TEXT_##id,
	WS_KNOWN_TEXTS(X)
#undef X
};

/* The phases of a training step, by the name of their range. */
enum ws_phase {
	WS_PHASE_FORWARD,
	WS_PHASE_LOSS,
	WS_PHASE_BACKWARD,
	WS_PHASE_OPTIMIZER,
	WS_PHASE_EVALUATION, /* calls of a model in a training step that do not train */
	WS_PHASE_OTHER,      /* the remainder, or outside all phases */
	WS_PHASES,
};
const char *ws_phase_name(enum ws_phase phase); /* "forward" … "remainder" */

struct ws_device {
	uint64_t id;
	int kind; /* enum ws_device_kind, -1 = not recorded */
	uint32_t name;
	uint64_t kernels;
	struct ws_device_facts facts;
	struct ws_sm_limits limits;
	bool has_limits;      /* else occupancy is unknown */
	int64_t memory_bytes; /* -1 = not recorded */
	struct ws_device_peaks peaks;
	bool has_peaks;
	bool is_mig; /* an instance of a GPU */
	/* known from its name, or from the calls of the trace if it has none. Then texts use HIP's
	 * terms and matrix cores, and rules about compute capabilities do not apply */
	bool is_amd;
};

/* A counter of the program (NVTX). Names are texts; 0: none. */
struct ws_counter {
	uint32_t domain, group, name, description, scope, unit;
	uint8_t change;                    /* enum ws_counter_change */
	double scale;                      /* from what was sampled to the unit */
	double lower_limit, upper_limit;   /* in the unit; NaN: none */
	struct ws_counter_sample *samples; /* by time */
	size_t n;
};

struct ws_counter_sample {
	int64_t time_ns;
	double value;     /* in the unit; NaN: there was none */
	uint32_t counter; /* its index */
	uint32_t thread;  /* WS_NONE: unknown */
	uint32_t form;    /* enum ws_counter_form */
};

struct ws_thread {
	uint64_t pid, tid;
	uint32_t name;    /* text; 0 = none */
	uint32_t process; /* number, not pid */
	bool has_steps;   /* its optimizer ends steps: those that are by_marks */
};

struct ws_config {
	uint32_t name; /* of the kernel, demangled */
	/* derived from the name, as texts; 0 = unknown */
	uint32_t name_class, name_direction, name_dtype;
	uint8_t tensor; /* enum ws_tensor */
	/* TF32 of fp32 data, or 8 bits and less: not determined by an operation's recorded types */
	uint8_t dtype_is_narrow;
	uint8_t call; /* enum ws_name_call */
	uint8_t has_occupancy;
	uint32_t process;
	uint32_t device; /* index into devices */
	uint64_t stream;
	struct ws_launch_shape shape;
	struct ws_occupancy occupancy;
};

/* Device work other than kernels. */
enum ws_work_kind {
	WS_WORK_MEMCPY,
	WS_WORK_MEMSET,
	WS_WORK_GRAPH, /* a CUDA graph traced as a whole: its kernels have no rows */
};

struct ws_work {
	int64_t start_ns, dur_ns;
	uint64_t bytes;
	uint64_t stream, correlation;
	uint64_t graph_node; /* id of the node that it ran as, 0 = none */
	uint32_t process, device;
	uint32_t call, range, op; /* as for kernels: numbers of joined rows */
	uint32_t path;            /* of the innermost range of its launch, WS_NONE */
	uint32_t step;            /* WS_NONE */
	uint8_t scope;            /* enum ws_scope */
	uint8_t kind;             /* enum ws_work_kind */
	uint8_t direction;        /* memcpy.kind */
	uint8_t no_time;
	bool is_captured; /* as of kernels: see struct ws_kernel_kind */
};

struct ws_op_config {
	uint32_t name;
	uint32_t kind, direction, dtype; /* texts; 0 = not known */
	bool has_dims;                   /* the inputs' dimensions were recorded */
	uint64_t batch, m, n, k;
	int64_t flops, bytes; /* of one call, -1 = not known */
	int64_t flops_needed; /* of fused attention whose mask is known; -1 */
	uint64_t alike;       /* hash of name, dimensions and types */
	uint8_t mask;         /* enum ws_op_mask */
	/* for attention over packed sequences, else 0; see struct ws_op_cost */
	uint64_t queries, flops_per_pair;
};

/* Calls of framework operations on a thread contain each other. Sorted by thread, then begin:
 * parents come before their children. */
struct ws_op_tree {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread;
	uint32_t *name;         /* without numbers that vary between calls: see ws_name_steady */
	uint32_t *parent;       /* WS_NONE for an outermost one */
	uint32_t *thread_first; /* operations of thread t are [first[t], first[t + 1]) */
	size_t nthreads;
};

struct ws_cpu_ops {
	struct ws_op_tree tree;
	uint32_t *config;     /* index into configs */
	uint64_t *external;   /* id that links name, 0 = none */
	uint32_t *range;      /* innermost NVTX range around it, WS_NONE */
	uint32_t *forward;    /* the forward operation of it or of one around it */
	uint32_t *collective; /* of it or of an operation around it; array NULL: there is none */
	uint32_t *source;     /* text: the line of the program that called it, or its forward
	                         operation; 0 = not recorded */
	uint8_t *phase;       /* enum ws_phase, by these links */
	struct ws_op_config *configs; /* [0]: a lost one */
	size_t nconfigs;
	uint64_t with_shapes; /* calls whose inputs' dimensions were recorded */
};

/* Operations that take a smaller part of a step change no number that a person reads. */
#define WS_LEAST_UNKNOWN_PERCENT 5

/* The time from one step of a framework's program to the next. */
struct ws_op_period {
	int64_t start_ns, end_ns;
	uint64_t marks, ops; /* hashes; ops 0: its operations were not recorded */
	uint32_t thread;
	uint32_t source;      /* the one whose operations it has: its own number, WS_NONE */
	uint32_t next_source; /* the next recorded one of the same marks, if it has other operations
	                   than the source; WS_NONE */
	bool is_begin;        /* of a time whose rest was recorded */
	bool is_unrecorded;   /* nothing was recorded in it, to measure what recording costs */
	int64_t known_until_ns; /* where the program ended in it: the end of the last event that its
	                           source has, too; else its end */
};

/* A step that was recorded, or not, to measure what recording costs. */
struct ws_calibration_step {
	int64_t start_ns, end_ns;
	uint32_t thread;
	bool is_unrecorded;
	bool settles; /* one of the first that were not recorded: its time does not count */
};

/* A collective operation as recorded by a framework. Texts; 0 = not recorded. */
struct ws_collective {
	uint32_t name, group, ranks, dtype;
	uint64_t group_size; /* 0 = not recorded */
	uint64_t in_elements, out_elements;
	int64_t sequence; /* in its group, the same on all ranks; -1 = not recorded */
	int64_t bytes;    /* of the whole message, by a library's payload; -1 = see the elements */
	uint32_t merged;  /* calls of its name and group in one launch; WS_NONE = not needed yet */
	bool of_host;     /* no device work is known of it: it begins at time_ns on the host */
	int64_t time_ns;
};

/* One allocation or release, in order of time. */
struct ws_memory_event {
	int64_t time_ns;
	uint64_t bytes, address;
	uint64_t allocated_bytes, reserved_bytes; /* after it; 0 = not recorded */
	uint32_t process, device;                 /* device: index, WS_NONE = memory of the host */
	uint32_t thread;                          /* WS_NONE = not recorded */
	uint32_t range, cpu_op; /* innermost around it, WS_NONE; range: a number of joined rows */
	uint8_t op;             /* enum ws_memory_op */
};

/* A GPU turned to a context, or away from it. */
struct ws_context_switch {
	int64_t time_ns;
	uint32_t device, process;
	uint64_t context;
};

/* A node of a CUDA graph from when it was made or updated. docs/dev/graphs.md */
struct ws_graph_node {
	uint64_t id, original; /* original: id of the node that it is a copy of, 0 = none */
	int64_t time_ns;
	uint32_t process;
	uint32_t thread; /* WS_NONE = not recorded */
	/* the node that was captured, itself or the first of its originals: index into
	 * graph_nodes; WS_NONE = not recorded, or by_launch */
	uint32_t captured;
	/* of a captured node: the innermost range and operation at its capture, as those of a
	 * launch; WS_NONE */
	uint32_t range, cpu_op;
};

/* Why a step differs from the others and is not measured. */
enum ws_step_apart {
	WS_STEP_NOT_APART,
	WS_STEP_EVALUATES,  /* it contains an evaluation, which most do not */
	WS_STEP_PREFILLS,   /* it reads a prompt, while each of the others computes a token */
	WS_STEP_CAPTURES,   /* it captures a CUDA graph: nothing of that runs in it */
	WS_STEP_NO_OPS,     /* not all were recorded, and it repeats no recorded step */
	WS_STEP_UNRECORDED, /* not recorded, to measure what recording costs */
	WS_STEPS_APART
};

/* In a step, on its thread. */
struct ws_evaluation {
	int64_t start_ns, end_ns;
	uint32_t step;
};

struct ws_model_step {
	uint32_t range; /* its number; WS_NONE in a pass without rows */
	uint32_t name, thread;
	int64_t start_ns;
	uint32_t index;  /* from 0; warm-up and measured steps are counted separately */
	uint32_t number; /* the program's own number of the step */
	int warm_up;
	bool by_time; /* it also contains what other threads of its process did during its time */
	int64_t reach_ns; /* the latest end of it and of all earlier by_time steps */
	bool is_pytorch;
	/* it is not a range, but the time to the end of an optimizer's step: `range` is WS_NONE */
	bool by_marks;
	bool unfinished; /* recording of it, or of its work, began or ended inside it */
	bool unsound;    /* it contains records that break a law of soundness */
	uint8_t apart;   /* enum ws_step_apart */
	bool repeats;    /* its operations are those of another step */
	int64_t total_ns;
	int64_t phase_ns[WS_PHASES]; /* from ranges or links; OTHER = the rest */
	uint8_t phases;              /* bit p: phase p is known of the step */
};

/* A fact of the workload; the last mark of a key wins. */
struct ws_fact {
	struct ws_bytes key, value;
};

struct ws_process_end {
	uint64_t pid;
	int end; /* enum ws_end_how */
	int64_t code;
};

/* Counts of records that joining could not place, besides those in ranges and attribution. */
struct ws_leftovers {
	uint64_t no_launch;          /* kernels without a launch record */
	uint64_t no_range;           /* kernels launched outside ranges */
	uint64_t no_capture;         /* kernels of graphs' nodes whose capture is unknown */
	uint64_t no_time;            /* kernels whose time is unknown */
	uint64_t cut_off;            /* kernels that still ran when recording ended */
	uint64_t launches_behind;    /* launches after the last one with work */
	uint64_t no_config;          /* kernels whose description was lost */
	uint64_t unknown_class;      /* kernels whose class is unknown */
	uint64_t ops_without_kernel; /* annotated operations that launched nothing */
	uint64_t ops_too_big;        /* operations whose FLOPs or bytes overflow the sum */
};

/*
 * Ranges that contain a call without containing the call's innermost range:
 * where ranges of a thread cross.
 */
struct ws_crossing {
	uint32_t range;
	uint32_t next; /* in ws_attribution.crossings, WS_NONE = last */
};

struct ws_attribution {
	uint32_t *first; /* by call: its list in crossings, WS_NONE; NULL when nothing crosses */
	struct ws_crossing *crossings;
	size_t ncrossings, crossings_capacity;
	/* the same of the captured kernels of a graph's launch: the ranges around the launch, but
	 * not around the capture. NULL: none */
	uint32_t *launched;
	uint64_t not_followed; /* calls past WS_MAX_CROSSINGS whose crossing ranges were left out */
};

/* Limit of the list above (512 MiB). Only a malicious trace reaches it. */
#define WS_MAX_CROSSINGS ((size_t)1 << 26)

struct ws_model {
	struct ws_arena arena; /* holds every array whose length was known when it was made */
	char *name;
	struct ws_trace_summary file;
	struct ws_column_data strings; /* owns the texts */
	struct ws_strtab interned;     /* text -> index */
	struct ws_bytes *texts;        /* never NULL pointers */
	struct ws_buf *made; /* bytes of texts that are not in the trace: demangled names */
	size_t nmade;
	uint32_t *steady_of; /* text -> without varying numbers, 0 = not yet: ws_steady_text */
	size_t ntexts;
	struct ws_idmap text_of; /* string id -> text */
	/* of the texts that are kernel names, the first nshort of texts; else len 0 */
	struct ws_bytes *short_names;
	struct ws_buf short_text; /* storage of short_names */
	size_t nshort;

	struct ws_column_data meta, loss;
	struct ws_resources resources;
	struct ws_fact *facts;
	size_t nfacts;
	struct ws_process_end *ends;
	size_t nends;
	uint64_t processes;
	uint64_t *pids; /* of each process number */
	uint32_t nprocesses;

	struct ws_device *devices;
	size_t ndevices;
	struct ws_config *configs; /* [0] stands for lost configurations */
	size_t nconfigs;

	struct ws_thread *threads;
	uint32_t nthreads;
	struct ws_work *work; /* sorted by device, then start */
	size_t nwork;
	struct ws_cpu_ops cpu_ops;
	struct ws_op_period *op_periods; /* by thread, then start */
	size_t nop_periods;
	struct ws_calibration_step *calibration; /* by start */
	size_t ncalibration;
	bool op_periods_launch; /* device work, which has to be the same in those that are alike */
	bool op_periods_differ; /* in few operations: one without operations is between such */
	struct ws_collective *collectives;
	size_t ncollectives, collectives_capacity;
	struct ws_idmap collective_of_payload; /* row -> collective of the call that has it */
	struct ws_memory_event *memory;
	size_t nmemory;
	struct ws_graph_node *graph_nodes; /* by id, process, time */
	size_t ngraph_nodes;
	struct ws_context_switch *switches; /* by device, then time */
	size_t nswitches;
	struct ws_row_gpu_sample *gpu_samples; /* device: its index; by device, then time */
	size_t ngpu_samples;
	struct ws_counter *counters; /* in the order of their registration */
	size_t ncounters;
	struct ws_counter_sample *counter_samples; /* by counter, then time */
	size_t ncounter_samples;
	/* windows of a program that was switched on and off (record --standby), ascending; n 0: all
	 * of it was recorded */
	struct ws_span *recorded;
	size_t nrecorded;
	int64_t kept_from_ns; /* what came before was dropped (record --keep); INT64_MIN: nothing */
	uint64_t host_functions; /* of streams, as recorded */
	uint64_t python_calls;   /* of functions and modules, as recorded */
	uint64_t overheads;      /* rows of the kind overhead, and their time */
	int64_t overhead_ns;
	char *step_found;   /* the pattern chosen by --step auto; NULL without that option */
	uint32_t step_mark; /* text: steps end with a range of this name, or begin when a module of
	                       this name is called; 0: steps are ranges */
	uint32_t step_module;              /* text: steps are calls of this module */
	struct ws_evaluation *evaluations; /* by thread, then begin */
	size_t nevaluations;
	struct ws_peaks *peaks;   /* storage of the devices' peaks */
	double softmax_flops;     /* as asked for */
	bool by_launch;           /* likewise */
	int64_t begin_ns, end_ns; /* first and last moment of any record */

	struct ws_ranges ranges;
	struct ws_attribution attribution;
	struct ws_ops ops;

	struct ws_model_step *steps; /* by begin */
	size_t nsteps;
	size_t nmeasured; /* finished steps other than warm-up */
	struct ws_leftovers leftovers;
	struct ws_soundness soundness;
	bool has_comm; /* there is a communication kernel */
};

enum {
	WS_IN_SETUP = 1u << 0,   /* lies in a range `setup` */
	WS_IN_WARM_UP = 1u << 1, /* lies in a range `warm-up` */
	WS_MARKS_OF_SCOPE = WS_IN_SETUP | WS_IN_WARM_UP,
	WS_IN_ATTENTION = 1u << 2, /* lies in `scaled dot product attention` or one of its parts */
	WS_IN_SOFTMAX = 1u << 3,   /* lies in `computing softmax` */
};

/* Text of a string row; the empty text if the row is missing. */
uint32_t ws_model_text(const struct ws_model *m, uint64_t string_id);
/* Does it use Tensor Cores? Unknown for a kernel without a class, too. */
static inline enum ws_tensor ws_config_tensor(const struct ws_config *c)
{
	return c->name_class ? (enum ws_tensor)c->tensor : WS_TENSOR_UNKNOWN;
}
/* The short name of a kernel, by the text of its name: no two kernels of a trace share one. Any
 * other text is its own. */
static inline struct ws_bytes ws_model_short_name(const struct ws_model *m, uint32_t name)
{
	return name < m->nshort && m->short_names[name].len ? m->short_names[name] : m->texts[name];
}
/* The phase of work in a range of phase of_range and in operation op (WS_NONE: none). The program's
 * ranges have precedence over the framework's links, except that backward work belongs to the range
 * of its forward operation. */
static inline enum ws_phase ws_phase_of(const struct ws_model *m, uint8_t of_range, uint32_t op)
{
	if (op != WS_NONE && m->cpu_ops.forward[op] != WS_NONE)
		return WS_PHASE_BACKWARD;
	/* the phase of an optimizer's closure comes from its operations */
	if (of_range == WS_PHASE_OPTIMIZER && op != WS_NONE &&
	    m->cpu_ops.phase[op] != WS_PHASE_OTHER)
		return (enum ws_phase)m->cpu_ops.phase[op];
	if (of_range != WS_PHASE_OTHER)
		return (enum ws_phase)of_range;
	return op == WS_NONE ? WS_PHASE_OTHER : (enum ws_phase)m->cpu_ops.phase[op];
}
static inline bool ws_step_is_left_out(const struct ws_model_step *s)
{
	return s->unfinished || s->unsound || s->apart;
}
/* Is the step in the statistics? */
static inline bool ws_step_is_measured(const struct ws_model *m, uint32_t step)
{
	return step != WS_NONE && !m->steps[step].warm_up && !ws_step_is_left_out(&m->steps[step]);
}
/* The framework operation's description; NULL for WS_NONE. */
const struct ws_op_config *ws_cpu_op_config(const struct ws_model *m, uint32_t op);
/* The innermost operation of a thread around this time, bounds included; WS_NONE. */
uint32_t ws_cpu_op_around(const struct ws_op_tree *ops, uint32_t thread, int64_t start_ns,
                          int64_t end_ns);
/* Does the trace hold any kernel? */
bool ws_model_has_kernels(const struct ws_model *m);
/* … or a copy or other device work? Without any, nothing is known about devices. */
bool ws_model_has_work(const struct ws_model *m);
/* 1 when every kernel ran on the CPU reference, 2 when only some did, 0 when none. */
int ws_model_on_cpu(const struct ws_model *m);
/* The product name of the first device that ran kernels; len 0 if unknown. */
struct ws_bytes ws_model_device_name(const struct ws_model *m);
/* Time of the first record, ns since 1970; -1 = unknown, because the clock of the trace has no
 * relation to the calendar. */
int64_t ws_model_recorded_ns(const struct ws_model *m);
/* Value of a fact; len 0 if it is unknown. */
struct ws_bytes ws_model_fact(const struct ws_model *m, const char *key);

/* Names of copies by direction, and of fills, numbered from 0 to WS_COPY_NAMES - 1. */
#define WS_COPY_NAMES 15u
uint32_t ws_copy_name_of(const struct ws_work *w); /* a copy or fill */
const char *ws_copy_name(uint32_t name);

/*
 * Which ranges are steps, the work that belongs to them, and properties derived from the name of a
 * range.
 *
 * A step contains the work of its own thread in its range, and the work of other threads of its
 * process during that time, if these are in no step or warm-up themselves: backward runs on its own
 * thread. docs/dev/statistics.md
 */

/* Is a range of this name (a text) a step, if no step is around it? pattern: as `step` of struct
 * ws_model_opts, but without paths. */
bool ws_step_is_name(const struct ws_model *m, uint32_t name, const char *pattern);
/* Is a range of this path (in r) a step? pattern: as `step` of struct ws_model_opts. */
void ws_step_is_path(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                     const char *pattern, uint8_t *is_step);
/*
 * Sorts m->steps and sets their numbers, remainders and whether they are PyTorch's; the other
 * fields must be set. Counts nmeasured.
 */
void ws_steps_sort(struct ws_model *m);
void ws_steps_count_measured(struct ws_model *m);
/*
 * Finds measured steps that recording cut off, besides those whose ranges never ended, by the
 * number of launches of each step: the steps at the begin and the end without any, if others have
 * some; and the last one if it is PyTorch's and launched under 0.8 times as much as each other
 * step. The last prof.step() opens such a step, and the end of profiling closes it. The same for
 * the first of those that end with an optimizer's step. And those that began before
 * m->kept_from_ns. Recounts nmeasured.
 */
void ws_steps_find_unfinished(struct ws_model *m, const uint64_t *work);
/* The step of the process that contains [start, end] and began last; WS_NONE if there is none. A
 * thread (WS_NONE: not known) whose optimizer ends steps has no part in those of others.
 * but_own_ranges: not a step that is a range of this thread, as it contains only what lies in it.
 */
uint32_t ws_step_holding(const struct ws_model *m, uint32_t process, uint32_t thread,
                         int64_t start_ns, int64_t end_ns, bool but_own_ranges);
/* The part of the run to which a record belongs, by its step (WS_NONE: none) and the marks of its
 * range; never WS_SCOPE_ALL. */
enum ws_scope ws_scope_of(const struct ws_model *m, uint32_t step, uint8_t marks);

/* --- the name and the operation of a range --- */

/* Marks that a range inherits from its parent. */
#define WS_MARKS_INHERITED (WS_IN_SETUP | WS_IN_WARM_UP | WS_IN_ATTENTION | WS_IN_SOFTMAX)

/* Part of attention named by the words of a range's name, in any spelling: "computing final
 * matmul", "FinalMatmul", "value_matmul". */
enum ws_attention_word {
	WS_WORD_NONE,
	WS_WORD_ATTENTION, /* all of it */
	WS_WORD_SCORES,    /* QK^T */
	WS_WORD_SOFTMAX,
	WS_WORD_FINAL,         /* PV */
	WS_WORD_MAYBE_SCORES,  /* "scores": in attention, or beside another part of it */
	WS_WORD_MAYBE_SOFTMAX, /* "softmax" */
};
/* Names with "::" are operations, not parts of attention. */
enum ws_attention_word ws_label_attention(struct ws_bytes name);

/* Does a range of this name load data? By the names of PyTorch's loaders. */
bool ws_name_loads_data(struct ws_bytes name);
/* Is it the step of one of PyTorch's optimizers? */
bool ws_name_is_optimizer_step(struct ws_bytes name);
/* Does it mark the begin or end of a training iteration: an optimizer's step, or gradients set to
 * zero? */
bool ws_name_marks_iteration(struct ws_bytes name);

/* Is it a backward operation? Determined by its link to forward, or by PyTorch's wrapper around
 * functions of autograd, which includes the accumulation of gradients. */
bool ws_op_is_backward(const struct ws_model *m, uint32_t op);

/* name: text. */
enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name);
/* … in a range of a phase: that phase, except that an optimizer may run forward and backward in its
 * closure.
 */
enum ws_phase ws_label_phase_in(const struct ws_model *m, enum ws_phase around, uint32_t name);
uint8_t ws_label_marks(const struct ws_model *m, uint32_t name);
/* Class, as text, of a range with these marks in this operation, which may be NULL. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks);
