/*
 * What is odd about a run, and what could be done: rules over the joined trace. Only measured
 * steps count; where a trace has none, everything in the report does. Rules and thresholds in
 * words: advice.def, docs/reference/advice.md. A rule that cannot be judged says why instead of
 * nothing.
 */
#pragma once

#include <stdbool.h>

#include "report/advice/advice.def"
#include "report/analysis/costs.h"
#include "report/analysis/idle.h"
#include "report/analysis/steps.h"
#include "report/analysis/device_time.h"
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
	int gpu; /* says nothing of times that are not those of a GPU */
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
	double gain_ns;   /* per step; NaN = not known */
	bool is_replayed; /* the gain is a replay's; else it is an upper bound by formula */
	/* time of the kernels that it is about, of a step: no gain is more; NaN = it is about none
	 */
	double kernels_ns;
	const char *scope, *evidence, *advice; /* advice NULL: what the rule says */
};

/* The step as one thing after the other no longer holds it up, each rung with all before it. */
struct ws_ladder_rung {
	const char *name;
	double step_ns;
};
#define WS_LADDER_RUNGS   6
#define WS_LADDER_PERCENT 1 /* of the step: a rung that gains less is left out */

struct ws_findings {
	struct ws_finding *finding; /* most severe first, then greatest gain, then rule */
	size_t n;
	double step_ns;  /* wall time of the median step, else of all */
	double setup_ns; /* start-up in it, which no loop has, if it is a tenth or more; else 0 */
	const char *obstacle; /* why gains are upper bounds; NULL: they are replayed */
	const char *alone;    /* the range that only the steps that stand out have; NULL */
	bool has_steps;
	uint8_t fired[WS_RULES];
	uint64_t skipped[WS_RULES];                  /* findings over WS_ADVICE_FINDINGS_MAX */
	uint64_t merged[WS_RULES];                   /* alternatives inside other findings */
	const char *not_judged[WS_RULES];            /* why; NULL = it was */
	struct ws_ladder_rung rung[WS_LADDER_RUNGS]; /* the first is now */
	size_t nrungs;                               /* 0: see obstacle */
};

struct ws_advice;

/* Operations of one name, class, dtype, size and cost on one device, in what counts. */
struct ws_work_group {
	struct ws_cost_op op; /* the first of them: everything they have in common */
	struct ws_roof roof;  /* of that */
	uint64_t calls, kernels;
	int64_t gpu_ns;
	uint32_t config; /* of the longest kernel */
	int64_t longest_ns;
	uint32_t id;           /* by which they were found, from 0 */
	double new_kernels_ns; /* gain of rule A5; NaN = none, not known */
};

/*
 * Kernels that no rule tells apart: GPU time of what counts. A finding is about some of them, and
 * a nanosecond of them is in the gain of one finding.
 */
struct ws_advice_cell {
	uint32_t config, class;
	uint32_t work;                      /* index of the group of operations, WS_NONE */
	uint8_t attention, cast, optimizer; /* inside attention that is not fused; as it says */
	int64_t ns;
};

/* What a finding is about, and which part of a kernel's time is its gain. */
struct ws_claim {
	/* under 0: not about these; NaN: about them, but their gain is not known; else up to 1 */
	double (*rate)(const struct ws_advice *a, const struct ws_advice_cell *cell,
	               const struct ws_claim *claim);
	const struct ws_work_group *work;
	double value;
	bool is_bound; /* the rate is the most that the advice could save: so is the gain */
};

#define WS_CAST        1 /* between 16 and 32 bits */
#define WS_CAST_NARROW 2 /* of 8 bits, if it is one at all */

/* What the kernels of a name did in steps: those of convolutions in the first one. */
struct ws_tried {
	int64_t gpu_ns;
	size_t last; /* row of the last of them, plus 1; 0 = none */
	bool later;  /* another measured step ran some of this name */
};

struct ws_advice {
	const struct ws_table_context *tab;
	const struct ws_model *m;
	const struct ws_selection *whole; /* of all measured steps; tab is about the median one */
	int64_t gpu_ns;                   /* of that */
	uint64_t kernels;
	const struct ws_step_times *times; /* of all measured steps */
	const struct ws_idle *idle;
	struct ws_replay *replay;
	struct ws_replay_facts facts;           /* of it; on the CPU reference with an obstacle */
	const struct ws_replay_facts *replayed; /* these */
	uint32_t *cell_of; /* of each of its pieces, WS_NONE: none */
	uint32_t *of_row;  /* its pieces that are kernels, by row */
	size_t nof_row, next_of_row;
	struct ws_cost_ops *costs;
	const struct ws_utilization *use; /* by the rule about it */
	struct ws_work_group *work;       /* by GPU time, longest first */
	size_t nwork, work_capacity;
	struct ws_advice_cell *cell;
	size_t ncells, cell_capacity;
	struct ws_claim *claim; /* of each finding; no rate: about no kernels */
	size_t claim_capacity;
	struct ws_kernel_traits *traits; /* of each launch configuration, by its name */
	int64_t *config_ns;              /* GPU time of each, of kernels that count */
	double *running_blocks;          /* by the rule about them: of all while each runs */
	int64_t *class_ns;               /* GPU time of each text that is a class */
	uint8_t *is_cast;                /* each launch configuration, by its name: WS_CAST… */
	uint32_t cast, conv_aux;         /* texts of classes, WS_NONE */
	struct {
		uint64_t kernels;
		int64_t gpu_ns, narrow_ns; /* of casts to and from 8 bits */
	} casts, optimizer;
	uint32_t optimizer_device;         /* of its last kernel */
	bool trains;                       /* a kernel is of backward or the optimizer */
	uint8_t *attention;                /* enum ws_attention_part of operations of a framework */
	int64_t attention_ns;              /* kernels inside attention that is not fused */
	struct ws_tried *tried;            /* by text of a kernel's name */

	struct ws_findings *found;
	size_t capacity;
	struct ws_arena *texts; /* of the findings */
	struct ws_arena arena;  /* of all else */
};

/* All rules, once a selection: they live as long as that. */
const struct ws_findings *ws_advice_find(const struct ws_table_context *tab);

/*
 * Of a trace without kernels, what it holds instead and why it may be so. Two or three sentences:
 * "36 kernel launches were recorded (cudaLaunchKernel 30, …), but no kernel. …". Allocated in the
 * arena.
 */
const char *ws_no_kernels_words(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_arena *arena);

/* Is a range path launch-bound by rule A1? A diff gives no verdict on dtypes for one that is. */
bool ws_path_is_launch_bound(const struct ws_idle *idle, uint32_t path);

/* --- for the rules, report/advice/ --- */

/* Where memory lacks, the arena knows. */
#define R(function, id, gpu, title, condition, says) void ws_rule_##function(struct ws_advice *a);
WS_ADVICE_RULES(R)
#undef R

/* A formatted text in the arena. */
const char *ws_advice_text(struct ws_advice *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* "14.1 of 130 ms": of the step, of the run without steps; ns: of each device that worked. */
const char *ws_advice_part(const struct ws_advice *a, double ns);
/* The same of kernels, and their time alone, "14.1 ms"; ns: their sum over all devices. */
const char *ws_advice_kernel_part(const struct ws_advice *a, int64_t ns);
const char *ws_advice_kernel_time(const struct ws_advice *a, int64_t ns);
/* advice may be NULL. gain_ns over all that counts, NaN = not known. change: what the replay is
 * asked for the gain instead; NULL: nothing. */
void ws_advice_add(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                   double gain_ns, const struct ws_whatif *change, const char *scope,
                   const char *evidence, const char *advice);
/* The same about kernels: its gain is the sum of what the claim says of each. */
void ws_advice_add_claim(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                         struct ws_claim claim, const char *scope, const char *evidence,
                         const char *advice);
/* About the kernels of one group; gain_ns of all of them, NaN = not known. */
struct ws_claim ws_claim_work(const struct ws_work_group *g, double gain_ns);
/* What its gain is a part of: the step without start-up. */
double ws_finding_whole_ns(const struct ws_findings *all, const struct ws_finding *f);
/* Its gain in words: "29.1 ms → 23.4 ms per step" by replay, "at most 5.7 ms (19 %) per step" by
 * formula; "" where it has none. */
const char *ws_finding_gain(struct ws_arena *texts, const struct ws_findings *all,
                            const struct ws_finding *f);
/* Its gain, or the time of its kernels, is under a per cent of the step or under what launches vary
 * by: no first page shows it. */
bool ws_finding_is_small(const struct ws_findings *all, const struct ws_finding *f);
/* Fills the ladder. */
void ws_advice_climb(struct ws_advice *a);
/* Findings on the same kernels become one, with alternatives; no kernel is in two gains. */
void ws_advice_merge(struct ws_advice *a);
/* Every cell has its group of operations in the order that these have now. */
void ws_advice_number_work(struct ws_advice *a);
/* The least time that the calls of a group need on their device, ns; NaN = not known. */
double ws_advice_roof_ns(const struct ws_work_group *g);
/* The short name of a kernel, or another text of the model, for a sentence: the middle left out
 * where it is long. */
const char *ws_advice_name(struct ws_advice *a, uint32_t text);
/* "name (12.3 %), …": the three kernel names with most time, of configurations in `which`. */
#define WS_ADVICE_TOP 3
const char *ws_advice_top_kernels(struct ws_advice *a,
                                  bool (*which)(const struct ws_advice *, size_t));
/* Put candidate among those with most ns; top holds n of them. Returns the new n. */
size_t ws_advice_rank(uint32_t *top, size_t n, const int64_t *ns, uint32_t candidate);
/* Is there room for one more finding of the rule? Counts those that are left out. */
bool ws_advice_has_room(struct ws_advice *a, enum ws_rule rule, size_t *shown);
/* "1.72 µs", "172 ms" */
const char *ws_advice_time(const struct ws_advice *a, double ns);
/* " per step", or "" for a trace without steps */
const char *ws_advice_each(const struct ws_advice *a);
/* Percent of the GPU time of the kernels that count. */
double ws_advice_share(const struct ws_advice *a, int64_t ns);
/* Major compute capability times 10; -1 = not recorded. */
int64_t ws_advice_capability(const struct ws_advice *a, uint32_t device);
/* A card for games: fp16 sums in fp32 at half the rate, and fp64 is slow. */
bool ws_advice_is_geforce(const struct ws_advice *a, uint32_t device);
/* Does a matrix product tell its sizes? */
bool ws_advice_has_sizes(const struct ws_advice *a);
/* Is it a matrix product or convolution, by its class? */
bool ws_advice_is_product(const struct ws_advice *a, size_t config);
