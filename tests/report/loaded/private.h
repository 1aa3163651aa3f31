/* The steps of loaded_open_reader, in order. */
#pragma once

#include "report/model/load.h"
#include "tests/report/loaded/loaded.h"

/* load.c: every record, and the joins between them. */
enum ws_status loaded_read(struct loaded *l, const struct ws_trace_reader *r,
                           const struct ws_model_opts *opts, struct ws_err *err);
/* work.c: framework operations, collectives, copies and allocations. */
enum ws_status loaded_join_work(struct loaded *l, const struct loaded_calls *calls,
                                struct ws_err *err);
enum ws_status loaded_join_cpu_ops(struct loaded *l, struct ws_loader *loader, struct ws_err *err);
/* label.c: what each range is, and what the joins left over. */
enum ws_status loaded_label(struct loaded *l, const char *step, struct ws_err *err);
/* steps.c: steps, and those of kernels and copies. */
enum ws_status loaded_find_steps(struct loaded *l, const char *pattern, struct ws_err *err);
/* rows.c: l->rows. */
enum ws_status loaded_fill_rows(struct loaded *l, struct ws_err *err);
