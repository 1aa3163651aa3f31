/*
 * A trace but for its rows: texts, configurations, devices, threads, paths,
 * steps, copies, allocations, operations of a framework. What rows name are
 * numbers of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"
#include "formats/base/bytes.h"
#include "formats/base/strtab.h"
#include "formats/trace/reader.h"
#include "report/kernel_info/classify.h"
#include "report/kernel_info/device_peaks.h"
#include "report/kernel_info/occupancy.h"
#include "report/model/open.h"
#include "report/model/payload.h"
#include "report/model/soundness.h"
#include "report/model/ranges.h"
#include "report/records/records.h"

/* PyTorch calls its steps ProfilerStep#5, and numbers them anew in each recording. */
#define WS_PYTORCH_STEP "ProfilerStep#"

/* Texts that analysis knows by name; interned first, so WS_TEXT_x is their index. id, text */
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
	WS_PHASE_EVALUATION, /* calls of a model in a step of training that train nothing */
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
	/* by its name, or by the calls of the trace where it has none: HIP's words, matrix cores,
	 * and none of the rules that hold for compute capabilities */
	bool is_amd;
};

struct ws_thread {
	uint64_t pid, tid;
	uint32_t name;    /* text; 0 = it has none */
	uint32_t process; /* number, not pid */
};

struct ws_config {
	uint32_t name; /* of the kernel, demangled */
	/* what the name tells, as texts; 0 = nothing */
	uint32_t name_class, name_direction, name_dtype;
	uint8_t tensor; /* enum ws_tensor */
	/* TF32 of fp32 data, or 8 bits and less: an operation's recorded types do not tell it */
	uint8_t dtype_is_narrow;
	uint8_t call; /* enum ws_name_call */
	uint8_t has_occupancy;
	uint32_t process;
	uint32_t device; /* index into devices */
	uint64_t stream;
	struct ws_launch_shape shape;
	struct ws_occupancy occupancy;
};

/* Device work that is no kernel. */
enum ws_work_kind {
	WS_WORK_MEMCPY,
	WS_WORK_MEMSET,
	WS_WORK_GRAPH, /* a CUDA graph traced as a whole: its kernels have no rows */
};

struct ws_work {
	int64_t start_ns, dur_ns;
	uint64_t bytes;
	uint64_t stream, correlation;
	uint32_t process, device;
	uint32_t call, range, op; /* as for kernels: numbers of joined rows */
	uint32_t path;            /* of the innermost range of its launch, WS_NONE */
	uint32_t step;            /* WS_NONE */
	uint8_t scope;            /* enum ws_scope */
	uint8_t kind;             /* enum ws_work_kind */
	uint8_t direction;        /* memcpy.kind */
	uint8_t no_time;
};

struct ws_op_config {
	uint32_t name;
	uint32_t kind, direction, dtype; /* texts; 0 = not known */
	bool has_dims;                   /* the inputs' dimensions were recorded */
	uint64_t batch, m, n, k;
	int64_t flops, bytes; /* of one call, -1 = not known */
	int64_t flops_needed; /* of fused attention whose mask is known; -1 */
	uint8_t mask;         /* enum ws_op_mask */
	/* of attention over packed sequences; 0: it is none, see struct ws_op_cost */
	uint64_t queries, flops_per_pair;
};

/* Calls of framework operations on a thread contain each other. Sorted by thread, then begin:
 * parents stand before their children. */
struct ws_op_tree {
	size_t n;
	int64_t *start_ns, *end_ns;
	uint32_t *thread;
	uint32_t *name;         /* what stays of it from call to call: see ws_name_steady */
	uint32_t *parent;       /* WS_NONE for an outermost one */
	uint32_t *thread_first; /* those of thread t are [first[t], first[t + 1]) */
	size_t nthreads;
};

struct ws_cpu_ops {
	struct ws_op_tree tree;
	uint32_t *config;     /* index into configs */
	uint64_t *external;   /* id that links name, 0 = none */
	uint32_t *range;      /* innermost NVTX range around it, WS_NONE */
	uint32_t *forward;    /* operation that it, or one around it, is the backward of */
	uint32_t *collective; /* what is known of it, or one around it, as such; NULL: of none */
	uint8_t *phase;       /* enum ws_phase, by these links */
	struct ws_op_config *configs; /* [0]: a lost one */
	size_t nconfigs;
	uint64_t with_shapes; /* calls whose inputs' dimensions were recorded */
};

/* A collective operation as a framework tells it. Texts; 0 = not recorded. */
struct ws_collective {
	uint32_t name, group, ranks, dtype;
	uint64_t group_size; /* 0 = not recorded */
	uint64_t in_elements, out_elements;
	int64_t sequence; /* in its group, the same on all ranks; -1 = not recorded */
};

/* One allocation or release. In the order of time. */
struct ws_memory_event {
	int64_t time_ns;
	uint64_t bytes, address;
	uint64_t allocated_bytes, reserved_bytes; /* after it; 0 = not recorded */
	uint32_t process, device;                 /* device: index, WS_NONE = memory of the host */
	uint32_t thread;                          /* WS_NONE = not recorded */
	uint32_t range, cpu_op; /* innermost around it, WS_NONE; range: a number of joined rows */
	uint8_t op;             /* enum ws_memory_op */
};

/* What sets a step apart from the others, so that it is not measured. */
enum ws_step_apart {
	WS_STEP_NOT_APART,
	WS_STEP_EVALUATES, /* it contains an evaluation, which most do not */
	WS_STEP_PREFILLS,  /* it reads a prompt, the others compute a token each */
};

/* In a step, on its thread. */
struct ws_evaluation {
	int64_t start_ns, end_ns;
	uint32_t step;
};

struct ws_model_step {
	uint32_t range; /* its number, which of a pass without rows is none */
	uint32_t name, thread;
	int64_t start_ns;
	uint32_t index;  /* from 0; warm-up and measured steps are counted apart */
	uint32_t number; /* what the program calls it */
	int warm_up;
	bool by_time;     /* it holds what other threads of its process did in its time, too */
	int64_t reach_ns; /* the latest end of it and all such steps before it */
	bool is_pytorch;
	/* no range, but the time to the end of an optimizer's step: `range` is WS_NONE */
	bool by_marks;
	bool unfinished; /* recording, or that of its work, began or ended in it */
	bool unsound;    /* it holds what cannot be true */
	uint8_t apart;   /* enum ws_step_apart */
	int64_t total_ns;
	int64_t phase_ns[WS_PHASES]; /* of their ranges, or by links; OTHER = the rest */
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

/* What joining left over, beside the counts in ranges and attribution. */
struct ws_leftovers {
	uint64_t no_launch;          /* kernels without a launch record */
	uint64_t no_range;           /* kernels launched in no range */
	uint64_t no_time;            /* kernels whose time is not known */
	uint64_t cut_off;            /* kernels that still ran when recording ended */
	uint64_t launches_behind;    /* launches behind the last one that has work */
	uint64_t no_config;          /* kernels whose description was lost */
	uint64_t unknown_class;      /* kernels of no known class */
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
	uint64_t not_followed; /* calls past WS_MAX_CROSSINGS whose crossing ranges were left out */
};

/* Ceiling of the list above: 512 MiB. Only a trace made to hurt gets there. */
#define WS_MAX_CROSSINGS ((size_t)1 << 26)

struct ws_model {
	struct ws_arena arena; /* holds every array whose length was known when it was made */
	char *name;
	struct ws_trace_summary file;
	struct ws_column_data strings; /* owns the texts */
	struct ws_strtab interned;     /* text -> index */
	struct ws_bytes *texts;        /* never NULL pointers */
	struct ws_buf *made; /* bytes of texts that the trace does not hold: demangled names */
	size_t nmade;
	uint32_t *steady_of; /* text -> its steady form, 0 = not asked for: ws_steady_text */
	size_t ntexts;
	struct ws_idmap text_of; /* string id -> text */
	/* of the texts that are kernel names, the first nshort of texts; else len 0 */
	struct ws_bytes *short_names;
	struct ws_buf short_text; /* what they point into */
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
	struct ws_config *configs; /* [0] is the lost one */
	size_t nconfigs;

	struct ws_thread *threads;
	uint32_t nthreads;
	struct ws_work *work; /* sorted by device, then start */
	size_t nwork;
	struct ws_cpu_ops cpu_ops;
	struct ws_collective *collectives;
	size_t ncollectives;
	struct ws_memory_event *memory;
	size_t nmemory;
	uint64_t python_calls; /* of functions and modules, as recorded */
	uint64_t overheads;    /* rows of the kind overhead, and their time */
	int64_t overhead_ns;
	char *step_found;   /* the pattern of --step auto; NULL: it was not asked for */
	uint32_t step_mark; /* text: steps end as a range of this name does, or begin as a module
	                       of this name is called; 0: they are ranges */
	uint32_t step_module;              /* text: steps are calls of this module */
	struct ws_evaluation *evaluations; /* by thread, then begin */
	size_t nevaluations;
	struct ws_peaks *peaks;   /* owns what the devices' peaks point to */
	double softmax_flops;     /* as asked for */
	int64_t begin_ns, end_ns; /* first and last moment of any record */

	struct ws_ranges ranges;
	struct ws_attribution attribution;
	struct ws_ops ops;

	struct ws_model_step *steps; /* by begin */
	size_t nsteps;
	size_t nmeasured; /* finished steps that are no warm-up */
	struct ws_leftovers leftovers;
	struct ws_soundness soundness;
	bool has_comm; /* a kernel is one of communication */
};

enum {
	WS_IN_SETUP = 1u << 0,   /* lies in a range `setup` */
	WS_IN_WARM_UP = 1u << 1, /* lies in a range `warm-up` */
	WS_MARKS_OF_SCOPE = WS_IN_SETUP | WS_IN_WARM_UP,
	WS_IN_ATTENTION = 1u << 2, /* lies in `scaled dot product attention` or one of its parts */
	WS_IN_SOFTMAX = 1u << 3,   /* lies in `computing softmax` */
};

/* Text of a string row; the empty text where it is missing. */
uint32_t ws_model_text(const struct ws_model *m, uint64_t string_id);
/* Does it use Tensor Cores? Also unknown for a kernel of no known class. */
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
/* The phase of what happened in a range of this phase and an operation, WS_NONE: in none. The
 * program's own word beats the framework's links, but what is backward lies in the range of its
 * forward. */
static inline enum ws_phase ws_phase_of(const struct ws_model *m, uint8_t of_range, uint32_t op)
{
	if (op != WS_NONE && m->cpu_ops.forward[op] != WS_NONE)
		return WS_PHASE_BACKWARD;
	/* what an optimizer runs as its closure is told by operations */
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
/* Is it a step that the statistics are made of? */
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
/* … or a copy, or other work of a device? Without any nothing is known of devices. */
bool ws_model_has_work(const struct ws_model *m);
/* 1 when every kernel ran on the CPU reference, 2 when only some did, 0 when none. */
int ws_model_on_cpu(const struct ws_model *m);
/* The product name of the first device that ran kernels; len 0 when none is known. */
struct ws_bytes ws_model_device_name(const struct ws_model *m);
/* When the first record was made, ns since 1970; -1 = not known: the clock of the trace is none of
 * the calendar. */
int64_t ws_model_recorded_ns(const struct ws_model *m);
/* Value of a fact; len 0 when it is not known. */
struct ws_bytes ws_model_fact(const struct ws_model *m, const char *key);

/* Copies in one direction, or fills: what they are called, from 0 to WS_COPY_NAMES - 1. */
#define WS_COPY_NAMES 15u
uint32_t ws_copy_name_of(const struct ws_work *w); /* a copy or fill */
const char *ws_copy_name(uint32_t name);
