/*
 * The kernels, ranges and other records that a report covers.
 */
#pragma once

#include "report/joined/rows.h"

struct ws_digest;

struct ws_selection {
	struct ws_joined_rows *rows; /* the rows of the trace; NULL: a pass without rows */
	/* 1 = in the report; by row of kernels and calls, NULL if the row itself determines it, and
	 * by index of the model's other records */
	uint8_t *kernel, *call, *work, *op, *memory;
	uint8_t *in_pattern; /* by row of ranges: the pattern matches; NULL: no pattern */
	/* kernels and other device work that pass every filter except the scope: needed because
	 * device work outside the scope is not idle time. NULL: all */
	uint8_t *any_scope, *any_work;
	enum ws_scope
	        scope; /* effective scope: ALL if STEPS was requested and there are no steps */
	bool to_device_work; /* ALL for that reason: only first to last device work counts */
	size_t kernels;
	int64_t gpu_ns;    /* time of the kernels in the report: the usual denominator */
	size_t measured;   /* measured steps in the report */
	bool has_timeline; /* as in the filter */
	int64_t timeline;
	const char *const *whatif; /* as in the filter */
	size_t nwhatif;
	int64_t step_first, step_last; /* range of their numbers; everything without a filter */
	int64_t time_first_ns, time_end_ns; /* selects records that overlap this time; everything
	                                       without a filter */
	uint64_t pid;
	bool has_nvtx, has_steps, has_device, has_process;
	bool has_launched; /* a filter of device work: device, stream or kernel */
	int is_empty;      /* no record passes the filter */
	char *words;       /* the filters in words; "" = none */
	char *scope_words; /* the part of the run, in words */
	/* the selection of which this is one step; NULL: it was made by a filter */
	const struct ws_selection *whole;
	uint32_t step;         /* that step of the model */
	struct ws_kept *kept;  /* cached results of analyses */
	struct ws_arena arena; /* of all these */
};

/* Cached results that several tables need; freed with the selection. */
struct ws_kept {
	struct ws_kept_result {
		const void *key; /* key: an address in the code that stores it */
		void *result;
		void (*release)(void *result); /* NULL: all of it is in the arena */
		struct ws_kept_result *next;
	} * first;
	struct ws_arena arena; /* storage for the results and data that they point to */
};
/* A cached result; NULL: none yet. */
void *ws_kept_result(const struct ws_selection *s, const void *key);
/* Caches a result, which must be allocated in s->kept->arena. `release` frees its other resources,
 * together with the selection. */
void ws_keep_result(const struct ws_selection *s, const void *key, void *result,
                    void (*release)(void *result));

/* Input of a function that builds a table. */
struct ws_table_context {
	const struct ws_model *m;
	const struct ws_selection *sel;
	const struct ws_digest *digest; /* with the parts that the table needs */
	struct ws_arena *temp;          /* temporary memory while the table is built */
	struct ws_relations *relations; /* relations of the report; NULL without queries */
};
/*
 * Selects from joined rows, which must outlive the selection. Free with ws_selection_release.
 * filter may be NULL. An invalid regular expression matches nothing: see ws_filter_check_kernel.
 */
void ws_select_rows(const struct ws_model *m, struct ws_joined_rows *rows,
                    const struct ws_filter *filter, struct ws_selection *out);
void ws_selection_release(struct ws_selection *s);
/* Reduces a selection to one step of the model. any_scope and any_work still cover device work of
 * other steps. sel must outlive the result. */
void ws_select_step(const struct ws_model *m, const struct ws_selection *sel, uint32_t step,
                    struct ws_selection *out);
/* The selection of which s is one step, else s itself. */
static inline const struct ws_selection *ws_selection_whole(const struct ws_selection *sel)
{
	return sel->whole ? sel->whole : sel;
}
/* Returns USAGE for an invalid regular expression. filter may be NULL. */
enum ws_status ws_filter_check_kernel(const struct ws_filter *filter, struct ws_err *err);

/* The first kernel row of this device or a later one. */
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
/* Is this step a sample of the report? These are measured steps, or warm-up steps with scope
 * WARM_UP. */
bool ws_step_selected(const struct ws_model *m, const struct ws_selection *s, uint32_t step);

/*
 * Sets inside[r] = 1 for ranges that match nvtx ("[domain:]path[#n|#a..b]") and for ranges inside
 * these; inside has one entry per range. If the pattern as a whole matches ranges, a suffix #n is
 * part of the name.
 */
void ws_filter_ranges(const struct ws_model *m, struct ws_joined_rows *rows, const char *nvtx,
                      uint8_t *inside);

/* Does it let everything of its scope through? */
bool ws_filter_is_all(const struct ws_filter *f);

/* Returns USAGE, with the nearest names, if no kernel, copy, call or allocation of the trace passes
 * the filter of sel, or if no range matches this --step pattern (NULL: no pattern). */
enum ws_status ws_filter_check(const struct ws_model *m, const struct ws_selection *sel,
                               const struct ws_filter *filter, const char *step,
                               struct ws_err *err);
