/*
 * Which ranges are steps, and what was done in them.
 *
 * A step holds what its own thread did in its range, and what other threads
 * of its process, in no step or warm-up themselves, did in its time: backward runs on a
 * thread of its own. docs/dev/statistics.md
 */
#pragma once

#include <stdbool.h>

#include "report/model/model.h"

/* Is a range of this name (a text) a step, where none is around it? pattern: as `step` of struct
 * ws_model_opts, but not of a path. */
bool ws_step_is_name(const struct ws_model *m, uint32_t name, const char *pattern);
/* Is a range of this path (of those in r) one? pattern: as `step` of struct ws_model_opts. */
void ws_step_is_path(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                     const char *pattern, uint8_t *is_step);
/*
 * Sorts m->steps and gives them their numbers, remainders and whether they
 * are PyTorch's; the other fields are there. Counts nmeasured.
 */
void ws_steps_sort(struct ws_model *m);
/*
 * Which measured steps recording began or ended in, beside those whose ranges never ended, by the
 * device work that each step launched: those at the begin and the end that launched none, where
 * another did; and the last one if it is PyTorch's and launched under 0.8 times what each of the
 * others did. The last prof.step() opens such a step, and the end of profiling closes it. Likewise
 * the first of those that end with an optimizer's step. Counts nmeasured anew.
 */
void ws_steps_find_unfinished(struct ws_model *m, const uint64_t *work);
/* The step of the process that began last before [start, end] and ended no earlier; WS_NONE. A step
 * that is a range of this thread is none: what it holds lies in its range. */
uint32_t ws_step_holding(const struct ws_model *m, uint32_t process, int64_t start_ns,
                         int64_t end_ns, uint32_t but_thread);
/* The part of the run that something belongs to, by its step (WS_NONE: none) and the marks of its
 * range; never WS_SCOPE_ALL. */
enum ws_scope ws_scope_of(const struct ws_model *m, uint32_t step, uint8_t marks);
