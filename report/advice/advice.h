/*
 * Findings about a run, and what could be done: rules over the joined trace. Only measured steps
 * count, or the whole report if there are none. Rules and thresholds: advice.def,
 * docs/reference/advice.md. A rule that cannot be judged says why.
 */
#pragma once

#include "report/advice/advice.def"
#include "report/analysis/steps.h"
#include "report/base/ui.h"
#include "report/replay/replay.h"

enum ws_rule {
#define R(function, id, gpu, title, condition, says) WS_RULE_##function,
	WS_ADVICE_RULES(R)
#undef R
	        WS_RULES,
};
struct ws_rule_def {
	const char *id, *title, *condition, *advice;
	int gpu; /* 1 = not judged for times of the CPU reference */
};
extern const struct ws_rule_def ws_rule_defs[WS_RULES];

/* X(NAME, "name"), the most severe first */
#define WS_SEVERITY_LIST(X) X(STRONG, "strong") X(WEAK, "weak") X(HINT, "hint")
enum ws_severity {
#define X(NAME, name) WS_SEVERITY_##NAME,
	WS_SEVERITY_LIST(X)
#undef X
};
const char *ws_severity_name(enum ws_severity severity);

struct ws_finding {
	enum ws_rule rule;
	enum ws_severity severity;
	double gain_ns;   /* per step; NaN = unknown */
	bool is_replayed; /* the gain is from a replay; else it is an upper bound by formula */
	/* time per step of its kernels, which limits the gain; NaN = none */
	double kernels_ns;
	const char *scope, *evidence, *advice; /* advice NULL: the text of the rule */
};

/* A rung: the time of the step without one more obstacle, and without all obstacles above. */
struct ws_ladder_rung {
	const char *name;
	double step_ns;
};
#define WS_LADDER_RUNGS   6
#define WS_LADDER_PERCENT 1 /* minimum gain of a rung, in percent of the step */

struct ws_findings {
	struct ws_finding *finding; /* most severe first, then greatest gain, then rule */
	size_t n;
	double step_ns;       /* wall time of the median step, or of the run without steps */
	double setup_ns;      /* start-up in step_ns if it is a tenth or more; else 0 */
	const char *obstacle; /* why gains are upper bounds; NULL: they are replayed */
	const char *alone;    /* the range that only the steps that stand out have; NULL */
	bool has_steps;
	uint8_t fired[WS_RULES];
	uint64_t skipped[WS_RULES];                  /* findings over WS_ADVICE_FINDINGS_MAX */
	uint64_t merged[WS_RULES];                   /* alternatives inside other findings */
	const char *not_judged[WS_RULES];            /* why not; NULL = judged */
	struct ws_ladder_rung rung[WS_LADDER_RUNGS]; /* the first is the present state */
	size_t nrungs;                               /* 0: see obstacle */
};

struct ws_advice;

/* Judged operations of one name, class, dtype, size and cost on one device. */
struct ws_work_group {
	struct ws_cost_op op; /* the first of them, for common attributes */
	struct ws_roof roof;  /* of that */
	uint64_t calls, kernels;
	int64_t gpu_ns;
	uint32_t config; /* of the longest kernel */
	int64_t longest_ns;
	uint32_t id;           /* number in order of occurrence, from 0 */
	double new_kernels_ns; /* gain of rule A5; NaN = none or unknown */
};

/*
 * Judged kernels that are equal for all rules, with their GPU time. A finding covers some cells,
 * and each nanosecond is in the gain of one finding only.
 */
struct ws_advice_cell {
	uint32_t config, class;
	uint32_t source; /* text: the line of the program that called for it; 0 = not recorded */
	uint32_t work;   /* index of the group of operations, WS_NONE */
	uint8_t attention, cast, optimizer; /* flags: inside unfused attention, cast, optimizer */
	int64_t ns;
};

/* The kernels of a finding, and the share of their time that is its gain. */
struct ws_claim {
	/* share for a cell, up to 1; under 0: not in the finding; NaN: in the finding, but the gain
	 * is unknown */
	double (*rate)(const struct ws_advice *a, const struct ws_advice_cell *cell,
	               const struct ws_claim *claim);
	/* rate NULL: the kernels of these configurations, with the share `value` */
	bool (*covers)(const struct ws_advice *a, size_t config);
	const struct ws_work_group *work;
	double value;
	bool is_bound; /* the rate, and so the gain, is an upper bound */
};

#define WS_CAST        1 /* between 16 and 32 bits */
#define WS_CAST_NARROW 2 /* of 8 bits, if it is a cast */

/* Occurrences of a kernel name in steps, for convolution kernels of the first step. */
struct ws_tried {
	int64_t gpu_ns;
	size_t last; /* row of the last such kernel, plus 1; 0 = none */
	bool later;  /* another measured step ran such a kernel */
};

struct ws_advice {
	const struct ws_table_context *tab;
	const struct ws_model *m;
	const struct ws_selection
	        *whole; /* selection of all measured steps; tab is for the median one */
	int64_t gpu_ns; /* of that */
	uint64_t kernels;
	const struct ws_step_times *times; /* of all measured steps */
	const struct ws_idle *idle;
	struct ws_replay *replay;
	struct ws_replay_facts
	        facts; /* facts of the replay; for the CPU reference with an obstacle */
	const struct ws_replay_facts *replayed; /* points to facts */
	uint32_t *cell_of; /* cell of each piece of the replay, WS_NONE: none */
	uint32_t *of_row;  /* pieces of the replay that are kernels, by row */
	size_t nof_row, next_of_row;
	struct ws_cost_ops *costs;
	const struct ws_utilization *use; /* set by rule A22 */
	struct ws_work_group *work;       /* by GPU time, longest first */
	size_t nwork, work_capacity;
	struct ws_advice_cell *cell;
	size_t ncells, cell_capacity;
	struct ws_claim *claim; /* claim of each finding; rate NULL: no kernels */
	size_t claim_capacity;
	struct ws_kernel_traits *traits; /* of each launch configuration, by its name */
	int64_t *config_ns;              /* GPU time of judged kernels by launch configuration */
	double *running_blocks;  /* of the rule about them: blocks of all kernels during each */
	int64_t *class_ns;       /* GPU time by text of the class */
	uint8_t *is_cast;        /* by launch configuration, from its name: WS_CAST… */
	uint32_t cast, conv_aux; /* texts of classes, WS_NONE */
	struct {
		uint64_t kernels;
		int64_t gpu_ns,
		        narrow_ns; /* all judged GPU time; that of casts to and from 8 bits */
	} casts, optimizer;
	uint32_t optimizer_device; /* device of the optimizer's last kernel */
	bool trains;               /* there are kernels of backward or the optimizer */
	uint8_t *attention;        /* enum ws_attention_part of operations of a framework */
	int64_t attention_ns;      /* GPU time of kernels inside unfused attention */
	struct ws_tried *tried;    /* by text of a kernel's name */

	struct ws_findings *found;
	size_t capacity;
	struct ws_arena *texts; /* texts of the findings */
	struct ws_arena arena;  /* everything else */
};

/* Findings of all rules; computed once per selection and freed with it. */
const struct ws_findings *ws_advice_find(const struct ws_table_context *tab);

/*
 * For a trace without kernels: what it contains instead, and possible reasons. Two or three
 * sentences: "36 kernel launches were recorded (cudaLaunchKernel 30, …), but no kernel. …".
 * Allocated in the arena.
 */
const char *ws_no_kernels_words(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_arena *arena);

/* Is a range path launch-bound by rule A1? Then a diff gives no verdict on dtypes. */
bool ws_path_is_launch_bound(const struct ws_idle *idle, uint32_t path);

/* --- for the rules, report/advice/ --- */

/* Declares the function of each rule. */
#define R(function, id, gpu, title, condition, says) void ws_rule_##function(struct ws_advice *a);
WS_ADVICE_RULES(R)
#undef R

/* A formatted text in the arena. */
const char *ws_advice_text(struct ws_advice *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* "14.1 of 130 ms": of the step, of the run without steps; ns: of each device that worked. */
const char *ws_advice_part(const struct ws_advice *a, double ns);
/* The same for kernels, and their time only, "14.1 ms". ns: the sum over all devices. */
const char *ws_advice_kernel_part(const struct ws_advice *a, int64_t ns);
const char *ws_advice_kernel_time(const struct ws_advice *a, int64_t ns);
/* Gain of the step by a change, without what recording adds to the waits that vanish. There must be
 * a replay. */
double ws_advice_replay_gain(const struct ws_advice *a, const struct ws_whatif *change);
/* advice may be NULL. gain_ns over all that counts, NaN = not known. change: what the replay is
 * asked for the gain instead; NULL: nothing. */
void ws_advice_add(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                   double gain_ns, const struct ws_whatif *change, const char *scope,
                   const char *evidence, const char *advice);
/* Adds a finding about kernels: its gain is the sum of the claim over all cells. */
void ws_advice_add_claim(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                         struct ws_claim claim, const char *scope, const char *evidence,
                         const char *advice);
/* The same for a claim with `covers`; the evidence is the time and the names of its kernels. */
void ws_advice_add_kernels(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                           struct ws_claim claim, const char *scope, const char *advice);
/* A claim on the kernels of one group; gain_ns is for all of them, NaN = unknown. */
struct ws_claim ws_claim_work(const struct ws_work_group *g, double gain_ns);
/* The time to which gains relate: the step without start-up. */
double ws_finding_whole_ns(const struct ws_findings *all, const struct ws_finding *f);
/* Its gain in words: "29.1 ms → 23.4 ms per step" by replay, "at most 5.7 ms (19 %) per step" by
 * formula; "" without a gain. */
const char *ws_finding_gain(struct ws_arena *texts, const struct ws_findings *all,
                            const struct ws_finding *f);
/* Is its gain, or else the time of its kernels, under one percent of the step or under the noise of
 * launches? The first page leaves such findings out. */
bool ws_finding_is_small(const struct ws_findings *all, const struct ws_finding *f);
/* Fills the ladder. */
void ws_advice_climb(struct ws_advice *a);
/* Merges findings about the same kernels into one with alternatives, so that no kernel is in two
 * gains. */
void ws_advice_merge(struct ws_advice *a);
/* Renumbers the groups of cells after the groups were sorted. */
void ws_advice_number_work(struct ws_advice *a);
/* Minimum time in ns of the calls of a group on their device, by its peaks; NaN = unknown. */
double ws_advice_roof_ns(const struct ws_work_group *g);
/* The short name of a kernel, or another text of the model, for a sentence; a long name is cut in
 * the middle. */
const char *ws_advice_name(struct ws_advice *a, uint32_t text);
/* GPU time of the configurations in `which`. */
int64_t ws_advice_time_of(const struct ws_advice *a,
                          bool (*which)(const struct ws_advice *, size_t));
/* "name (12.3 %), …": the three kernel names with most time, of configurations in `which`. */
#define WS_ADVICE_TOP 3
const char *ws_advice_top_kernels(struct ws_advice *a,
                                  bool (*which)(const struct ws_advice *, size_t));
/* Inserts candidate into the list `top` of n indices with the largest ns. Returns the new n. */
size_t ws_advice_rank(uint32_t *top, size_t n, const int64_t *ns, uint32_t candidate);
/* Can the rule add one more finding? Counts findings that are left out. */
bool ws_advice_has_room(struct ws_advice *a, enum ws_rule rule, size_t *shown);
/* "1.72 µs", "172 ms" */
const char *ws_advice_time(const struct ws_advice *a, double ns);
/* " per step", or "" for a trace without steps */
const char *ws_advice_each(const struct ws_advice *a);
/* Percent of the GPU time of judged kernels. */
double ws_advice_share(const struct ws_advice *a, int64_t ns);
/* Major compute capability times 10; -1 = not recorded. */
int64_t ws_advice_capability(const struct ws_advice *a, uint32_t device);
/* Is it a GeForce: fp16 with fp32 sums at half the rate, and slow fp64? */
bool ws_advice_is_geforce(const struct ws_advice *a, uint32_t device);
/* Is there a matrix product with known sizes? */
bool ws_advice_has_sizes(const struct ws_advice *a);
/* Is it a matrix product or convolution, by its class? */
bool ws_advice_is_product(const struct ws_advice *a, size_t config);
