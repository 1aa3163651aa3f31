/*
 * Which ranges are steps, what was done in them, and what the name of a range says.
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
void ws_steps_count_measured(struct ws_model *m);
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

/* --- the name and the operation of a range --- */

/* Marks that a range has from the one around it. */
#define WS_MARKS_INHERITED (WS_IN_SETUP | WS_IN_WARM_UP | WS_IN_ATTENTION | WS_IN_SOFTMAX)

/* What the words of a range's name say of attention, in any spelling: "computing final matmul",
 * "FinalMatmul", "value_matmul". */
enum ws_attention_word {
	WS_WORD_NONE,
	WS_WORD_ATTENTION, /* all of it */
	WS_WORD_SCORES,    /* QK^T */
	WS_WORD_SOFTMAX,
	WS_WORD_FINAL,         /* PV */
	WS_WORD_MAYBE_SCORES,  /* "scores": in attention, or beside another part of it */
	WS_WORD_MAYBE_SOFTMAX, /* "softmax" */
};
/* Names with "::" are operations, and no parts. */
enum ws_attention_word ws_label_attention(struct ws_bytes name);

/* Does a range of this name load data? By the names of PyTorch's loaders. */
bool ws_name_loads_data(struct ws_bytes name);
/* Is it the step of one of PyTorch's optimizers? */
bool ws_name_is_optimizer_step(struct ws_bytes name);
/* Does it tell where an iteration of a training begins or ends: one of these, or the gradients set
 * to zero? */
bool ws_name_marks_iteration(struct ws_bytes name);

/* Is it an operation of a backward, by its link to forward or as PyTorch wraps what autograd runs:
 * the gradients' accumulation, too, which has no forward? */
bool ws_op_is_backward(const struct ws_model *m, uint32_t op);

/* name: text. */
enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name);
/* … in a range of a phase: that one, but an optimizer may run forward and backward as its closure.
 */
enum ws_phase ws_label_phase_in(const struct ws_model *m, enum ws_phase around, uint32_t name);
uint8_t ws_label_marks(const struct ws_model *m, uint32_t name);
/* Class, as text, of a range with these marks in this operation, which may be NULL. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks);
