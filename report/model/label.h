/*
 * What the name of a range says, and its operation.
 */
#pragma once

#include "report/model/model.h"

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
/* Does it tell where an iteration of a training begins or ends: one of these, or the gradients set to
 * zero? */
bool ws_name_marks_iteration(struct ws_bytes name);

/* name: text. */
enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name);
/* … in a range of a phase: that one, but an optimizer may run forward and backward as its closure.
 */
enum ws_phase ws_label_phase_in(const struct ws_model *m, enum ws_phase around, uint32_t name);
uint8_t ws_label_marks(const struct ws_model *m, uint32_t name);
/* Class, as text, of a range with these marks in this operation, which may be NULL. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks);
