/*
 * Which kernels and ranges a report is about.
 */
#pragma once

#include <stdbool.h>

#include "report/model/model.h"
#include "report/joined/rows.h"

struct ws_digest;

struct ws_selection {
	struct ws_joined_rows *rows; /* what is selected from; NULL: of a pass without rows */
	/* 1 = in the report; by row of kernels and calls, NULL where a row tells it by itself, and
	 * by the model's other things */
	uint8_t *kernel, *call, *work, *op, *memory;
	uint8_t *in_pattern; /* by row of ranges: the pattern keeps it; NULL: there is none */
	/* kernels and other device work that pass every filter but the scope: what a device did
	 * before a step is no idle time, whatever the report is about. NULL: all */
	uint8_t *any_scope, *any_work;
	enum ws_scope scope; /* as it applies: ALL where STEPS were asked for and there are none */
	bool to_device_work; /* ALL for that reason: what is before and behind device work is none
	                        of it */
	size_t kernels;
	int64_t gpu_ns;    /* time of the kernels in the report: the usual denominator */
	size_t measured;   /* measured steps in the report */
	bool has_timeline; /* as in the filter */
	int64_t timeline;
	const char *const *whatif; /* as in the filter */
	size_t nwhatif;
	int64_t step_first, step_last;      /* their numbers; all of them without a filter */
	int64_t time_first_ns, time_end_ns; /* what overlaps this; everything without a filter */
	uint64_t pid;
	bool has_nvtx, has_steps, has_device, has_process;
	bool has_launched;     /* a filter of device work: device, stream or kernel */
	int is_empty;          /* there is a filter, and nothing passes it */
	char *words;           /* the filters in words; "" = none */
	char *scope_words;     /* the part of the run, in words */
	/* what this selects one step of; NULL: it is made by a filter */
	const struct ws_selection *whole;
	uint32_t step;         /* that one, of the model */
	struct ws_kept *kept;  /* what analyses found, for those who ask again */
	struct ws_arena arena; /* of all these */
};

/* Results that several tables ask for and are made once, with the selection's end as theirs. */
struct ws_kept {
	struct ws_kept_result {
		const void *key; /* an address of who keeps it */
		void *result;
		void (*release)(void *result); /* NULL: all of it is in the arena */
		struct ws_kept_result *next;
	} * first;
	struct ws_arena arena; /* for the results and what they point to */
};
/* NULL: not yet. */
void *ws_kept_result(const struct ws_selection *s, const void *key);
/* result: from s->kept->arena; what else it has is released with the selection. */
void ws_keep_result(const struct ws_selection *s, const void *key, void *result,
                    void (*release)(void *result));

/* What a builder works from. */
struct ws_table_context {
	const struct ws_model *m;
	const struct ws_selection *sel;
	const struct ws_digest *digest; /* with the parts that the table needs */
	struct ws_arena *temp;          /* for what it needs while it is made; freed behind it */
	struct ws_relations *relations; /* of the report; NULL where there are no queries */
};
/*
 * From joined rows, which outlive it. Free with ws_selection_release. filter may be NULL;
 * names match nothing where its regular expression is none: ws_filter_check_kernel.
 */
void ws_select_rows(const struct ws_model *m, struct ws_joined_rows *rows,
                    const struct ws_filter *filter, struct ws_selection *out);
void ws_selection_release(struct ws_selection *s);
/* Of what it selects the one step of the model. What other steps did before it stays known
 * (any_scope, any_work). sel outlives it. */
void ws_select_step(const struct ws_model *m, const struct ws_selection *sel, uint32_t step,
                    struct ws_selection *out);
/* The selection that it selects one step of, else itself. */
static inline const struct ws_selection *ws_selection_whole(const struct ws_selection *sel)
{
	return sel->whole ? sel->whole : sel;
}
/* USAGE: the regular expression is none. filter may be NULL. */
enum ws_status ws_filter_check_kernel(const struct ws_filter *filter, struct ws_err *err);

/* The first kernel row of a device or of one behind it. */
size_t ws_first_kernel_of(const struct ws_model *m, const struct ws_selection *s, uint32_t device);
/* Kernel row i, other work i: does it pass every filter but the scope, and is its time known? */
static inline bool ws_kernel_ran(const struct ws_selection *s, const struct ws_joined_kernel *k,
                                 size_t i)
{
	return k->kind->timed && (!s->any_scope || s->any_scope[i]);
}
static inline bool ws_work_ran(const struct ws_selection *s, const struct ws_model *m, size_t i)
{
	return !m->work[i].no_time && m->work[i].device < m->ndevices &&
	       (!s->any_work || s->any_work[i]);
}

/* Is it in the report: kernel row i, the row of a range, call row i? */
bool ws_kernel_selected(const struct ws_model *m, const struct ws_selection *s,
                        const struct ws_joined_kernel *k, size_t i);
bool ws_range_selected(const struct ws_model *m, const struct ws_selection *s,
                       const struct ws_joined_range *r, uint32_t number);
bool ws_call_selected(const struct ws_model *m, const struct ws_selection *s,
                      const struct ws_joined_call *c, size_t i);
/* … event i of the model's memory? */
bool ws_memory_selected(const struct ws_model *m, const struct ws_selection *s, size_t i);

/* Does it overlap the time of the filter? */
bool ws_time_selected(const struct ws_selection *s, int64_t start_ns, int64_t end_ns);
/* Is this step among the samples of the report? Measured ones are, or those of the warm-up where
 * that is the scope. */
bool ws_step_selected(const struct ws_model *m, const struct ws_selection *s, uint32_t step);

/*
 * inside[r] = 1 for the ranges that nvtx ("[domain:]path[#n|#a..b]") names and
 * those in them; inside has an entry a range. A pattern that names ranges as a
 * whole does, also when it ends in what looks like #n.
 */
void ws_filter_ranges(const struct ws_model *m, struct ws_joined_rows *rows, const char *nvtx,
                      uint8_t *inside);

/* --- filter_words.c: of a selection whose filters, or whose scope, are set ------------------- */

/* Sets s->words. */
void ws_filter_words(struct ws_selection *s, const struct ws_filter *f);
/* asked: the scope that was asked for. From s->arena. */
char *ws_scope_words(const struct ws_model *m, enum ws_scope asked, struct ws_selection *s);

/* Does it let everything of its scope through? */
bool ws_filter_is_all(const struct ws_filter *f);

/* USAGE, with the nearest names, when no kernel, copy, call or allocation of the trace passes the
 * filter that sel was made by, or no range is a step by this pattern (NULL: none was asked for). */
enum ws_status ws_filter_check(const struct ws_model *m, const struct ws_selection *sel,
                               const struct ws_filter *filter, const char *step,
                               struct ws_err *err);
