/* What joined rows have from the operations of a framework, once all rows are there. */
#pragma once

#include "report/joined/rows.h"

/*
 * The operations, ranges, collectives and phases of joined rows, by those of the framework; and
 * those of the model's copies, steps and operations. has_left: what the joins left over is counted,
 * too.
 */
enum ws_status ws_framework_complete(struct ws_joined_rows *rows, struct ws_model *m, bool has_left,
                                     struct ws_err *err);
/* The phases of the framework's operations, and by them those of steps. */
enum ws_status ws_framework_find_phases(struct ws_joined_rows *rows, struct ws_model *m,
                                        struct ws_err *err);
