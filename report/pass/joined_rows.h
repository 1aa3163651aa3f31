/*
 * Joined rows of a trace. Those of a pass lie in files without names: they come in the order in
 * which the pass is done with them, and are read in another. Those of a loaded model are its own,
 * and nothing is copied. Analyses read either through the same functions.
 */
#pragma once

#include "formats/trace/reader.h"
#include "report/base/spill.h"
#include "report/model/model.h"
#include "report/pass/digest.h"
#include "report/pass/joined.h"

/* Kernels by device, then start; ranges by number. Starts as all zeros. */
struct ws_joined_rows {
	const struct ws_model *loaded;  /* they are this model's; NULL: they lie in files */
	struct ws_joined_kernel kernel; /* the last row that was read of a loaded model */
	struct ws_joined_call call;
	struct ws_joined_range range;
	uint64_t *correlations; /* of its calls; NULL: nobody asks */
	struct ws_spill kernels, calls, ranges;
	size_t nkernels, ncalls, nranges;
	/* what rows name a step by -> the model's step, WS_NONE; … -> its range's row */
	uint32_t *step_of, *range_of;
	size_t nsteps_of;
};

/*
 * One pass (ws_pass_run), with its rows where parts have WS_DIGEST_ROWS. Where the trace needs all
 * rows at once *declined says why, and *m is NULL. Free all three, also after a failure. IO_WRITE:
 * no room for a temporary file.
 */
enum ws_status ws_joined_rows_pass(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   enum ws_scope scope, unsigned parts, struct ws_model **m,
                                   struct ws_digest *d, const char **declined, struct ws_err *err);
/* Those of a loaded model, which outlives them. */
void ws_joined_rows_of_model(struct ws_joined_rows *rows, const struct ws_model *m);
/* From a pass or, where it declines, from a loaded model. Correlations of that are 0. */
enum ws_status ws_joined_rows_read(struct ws_joined_rows *rows, const struct ws_trace_reader *r,
                                   const char *name, const struct ws_model_opts *opts,
                                   struct ws_model **m, struct ws_err *err);
/* … until they are read. */
enum ws_status ws_joined_rows_correlate(struct ws_joined_rows *rows,
                                        const struct ws_trace_reader *r, struct ws_err *err);
void ws_joined_rows_free(struct ws_joined_rows *rows);

/* Row i; to be used before the next of its kind is asked for. */
const struct ws_joined_kernel *ws_joined_rows_kernel(struct ws_joined_rows *rows, size_t i);
/* For who asks no more than when kernel i ran, its configuration and its call: the rest is unset.
 */
const struct ws_joined_kernel *ws_joined_rows_times(struct ws_joined_rows *rows, size_t i);
/* NULL for WS_NONE. A pass numbers ranges by their begin, a model by thread, then begin: parents
 * before what is in them. */
const struct ws_joined_range *ws_joined_rows_range(struct ws_joined_rows *rows, uint32_t number);
/* … and after this rows i = 0, 1, … are by thread, then begin; a number is no longer a place. */
enum ws_status ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows,
                                               const struct ws_model *m, struct ws_err *err);
/* By begin, then thread, then number: an order that a pass, which numbers ranges of all threads by
 * begin, and a model, by thread, then begin, share. For qsort. */
struct ws_range_begin {
	int64_t start_ns;
	uint32_t thread, number;
};
int ws_range_begin_compare(const void *a, const void *b);
/* What a range, or the operation around it, tells of its work; NULL. */
static inline const struct ws_op_facts *ws_joined_range_op(const struct ws_model *m,
                                                           const struct ws_joined_range *range)
{
	return range->op_payload == WS_NONE ? NULL : &m->ops.op[range->op_payload];
}
/* The call that a kernel or other work names; NULL for WS_NONE. Calls stand in the order in which
 * they returned, or that of the file. */
const struct ws_joined_call *ws_joined_rows_call(struct ws_joined_rows *rows, uint32_t number);
/* What a framework told of a kernel as a collective operation; NULL. */
static inline const struct ws_collective *ws_joined_collective(const struct ws_model *m,
                                                               const struct ws_joined_kernel *k)
{
	return k->collective == WS_NONE ? NULL : &m->collectives[k->collective];
}
/* The model's step that a row names, WS_NONE. */
uint32_t ws_joined_rows_step(const struct ws_joined_rows *rows, uint32_t step);
