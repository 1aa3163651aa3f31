/*
 * What is odd about a run, and what could be done: rules over the joined trace. Only measured
 * steps count; where a trace has none, everything in the report does. Rules and thresholds in
 * words: advice.def, docs/reference/advice.md. A rule that cannot be judged says why instead of
 * nothing.
 */
#pragma once

#include <stdbool.h>

#include "report/advice/advice.def"
#include "report/analysis/attention_ops.h"
#include "report/analysis/cost_ops.h"
#include "report/analysis/idle.h"
#include "report/analysis/steps.h"
#include "report/analysis/utilization.h"

enum ws_rule {
#define R(function, id, gpu, title, condition, says) WS_RULE_##function,
	WS_ADVICE_RULES(R)
#undef R
	        WS_RULES,
};
struct ws_rule_def {
	const char *id, *title, *condition, *says;
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
	double gain_ns;                  /* at most, of a step; NaN = not known */
	char *scope, *evidence, *advice; /* advice NULL: what the rule says */
	/* the operations that it is about, of struct ws_advice; NULL: of no one group */
	const struct ws_work_group *work;
};

struct ws_findings {
	struct ws_finding *finding; /* most severe first, then greatest gain, then rule */
	size_t n;
	double step_ns; /* wall time of one step, else of all */
	bool has_steps;
	uint8_t fired[WS_RULES];
	uint64_t left_out[WS_RULES];      /* findings over WS_ADVICE_FINDINGS_MAX */
	uint64_t merged[WS_RULES];        /* alternatives inside other findings */
	const char *not_judged[WS_RULES]; /* why; NULL = it was */
};

/* Operations of one name, class, dtype, size and cost on one device, in what counts. */
struct ws_work_group {
	struct ws_cost_op op; /* the first of them: everything they have in common */
	uint64_t calls, kernels;
	int64_t gpu_ns;
	uint32_t config; /* of the longest kernel */
	int64_t longest_ns;
	int64_t attention_ns; /* of kernels inside attention that is not fused */
};

/* What the kernels of a name did in steps: those of convolutions in the first one. */
struct ws_tried {
	int64_t gpu_ns;
	size_t last; /* row of the last of them, plus 1; 0 = none */
	bool later;  /* another measured step ran some of this name */
};

struct ws_advice {
	const struct ws_table_context *tab;
	const struct ws_model *m;
	int64_t gpu_ns; /* of these */
	uint64_t kernels;
	double samples; /* measured steps, else 1 */
	struct ws_step_times times;
	const struct ws_idle *idle;
	struct ws_cost_ops *costs;
	const struct ws_utilization *use; /* by the rule about it */
	struct ws_work_group *work;       /* by GPU time, longest first */
	size_t nwork, work_capacity;
	struct ws_kernel_traits *traits; /* of each launch configuration, by its name */
	int64_t *config_ns;              /* GPU time of each, of kernels that count */
	int64_t *class_ns;               /* GPU time of each text that is a class */
	uint8_t *is_cast;                /* each launch configuration, by its name */
	uint32_t cast, conv_aux;         /* texts of classes, WS_NONE */
	struct {
		uint64_t kernels;
		int64_t gpu_ns;
	} casts, optimizer;
	uint32_t optimizer_device;         /* of its last kernel */
	bool trains;                       /* a kernel is of backward or the optimizer */
	struct ws_attention_op *attention; /* of operations of a framework */
	int64_t attention_ns;              /* kernels inside attention that is not fused */
	struct ws_tried *tried;            /* by text of a kernel's name */

	struct ws_findings *found;
	size_t capacity;
	struct ws_arena *texts; /* of the findings */
	struct ws_arena arena;  /* of all else */
};

/* All rules, once a selection: *out lives as long as that. */
enum ws_status ws_advice_find(const struct ws_table_context *tab, const struct ws_findings **out,
                              struct ws_err *err);

/* Is a range path launch-bound by rule A1? A diff gives no verdict on dtypes for one that is. */
bool ws_path_is_launch_bound(const struct ws_idle *idle, uint32_t path);

/* --- for the rules, report/advice/ --- */

/* Where memory lacks, the arena knows. */
#define R(function, id, gpu, title, condition, says) void ws_rule_##function(struct ws_advice *a);
WS_ADVICE_RULES(R)
#undef R

/* A formatted text in the arena. */
char *ws_advice_text(struct ws_advice *a, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* advice may be NULL. gain_ns over all that counts, NaN = not known. */
void ws_advice_add(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                   double gain_ns, char *scope, char *evidence, char *advice);
/* What the last finding is about. */
void ws_advice_about(struct ws_advice *a, const struct ws_work_group *g);
/* Under a per cent of the step: no first page shows it. */
bool ws_finding_is_small(const struct ws_findings *all, const struct ws_finding *f);
/* Findings on the same kernels become one, with alternatives. */
void ws_advice_merge(struct ws_advice *a);
/* The least time that the calls of a group need on their device, ns; NaN = not known. */
double ws_advice_roof_ns(const struct ws_advice *a, const struct ws_work_group *g);
/* The short name of a kernel, or another text of the model, for a sentence: the middle left out
 * where it is long. */
const char *ws_advice_name(struct ws_advice *a, uint32_t text);
/* "name (12.3 %), …": the three kernel names with most time, of configurations in `which`. */
#define WS_ADVICE_TOP 3
char *ws_advice_top_kernels(struct ws_advice *a, bool (*which)(const struct ws_advice *, size_t));
/* Put candidate among those with most ns; top holds n of them. Returns the new n. */
size_t ws_advice_rank(uint32_t *top, size_t n, const int64_t *ns, uint32_t candidate);
/* Is there room for one more finding of the rule? Counts those that are left out. */
bool ws_advice_has_room(struct ws_advice *a, enum ws_rule rule, size_t *shown);
/* " a step", or "" for a trace without steps: what numbers that are divided by samples are for. */
const char *ws_advice_each(const struct ws_advice *a);
/* Percent of the GPU time of the kernels that count. */
double ws_advice_share(const struct ws_advice *a, int64_t ns);
/* GPU time of a class by name. */
int64_t ws_advice_class_ns(const struct ws_advice *a, const char *name);
/* Major compute capability times 10; -1 = not recorded. */
int64_t ws_advice_capability(const struct ws_advice *a, uint32_t device);
/* Is it a matrix product or convolution, by its class? */
bool ws_advice_is_product(const struct ws_advice *a, size_t config);
