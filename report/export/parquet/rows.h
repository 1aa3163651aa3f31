/*
 * Joined rows of a trace in files without names: they come in the order in
 * which a pass is done with them, and are written in another.
 */
#ifndef WS_REPORT_EXPORT_PARQUET_ROWS_H
#define WS_REPORT_EXPORT_PARQUET_ROWS_H

#include "formats/trace/reader.h"
#include "report/base/spill.h"
#include "report/model/model.h"
#include "report/pass/joined.h"

/* Kernels by device, then start; ranges by thread, then begin. Starts as all zeros. */
struct ws_parquet_rows {
	struct ws_spill kernels, calls, ranges;
	size_t nkernels, ncalls, nranges;
	uint32_t *step_of; /* `range` of a step -> step, WS_NONE */
	size_t nsteps_of;
};

/*
 * All rows of a trace, and the model that their numbers are of: from a pass,
 * or, where the trace needs all rows at once, from a loaded model. Free both,
 * also after a failure. IO_WRITE: no room for a temporary file.
 */
enum ws_status ws_parquet_rows_read(struct ws_parquet_rows *rows, const struct ws_trace_reader *r,
                                    const char *name, struct ws_model **m, struct ws_err *err);
void ws_parquet_rows_free(struct ws_parquet_rows *rows);

/* Row i; to be used before the next is asked for. */
const struct ws_joined_kernel *ws_parquet_kernel(struct ws_parquet_rows *rows, size_t i);
const struct ws_joined_range *ws_parquet_range(struct ws_parquet_rows *rows, size_t i);
/* The call that a kernel names; NULL for WS_NONE. */
const struct ws_joined_call *ws_parquet_call(struct ws_parquet_rows *rows, uint32_t number);
/* The model's step that a row names, WS_NONE. */
uint32_t ws_parquet_rows_step(const struct ws_parquet_rows *rows, uint32_t step);

#endif
