/*
 * What the name of a range says, and its operation.
 */
#pragma once

#include "report/model/model.h"

/* Marks that a range has from the one around it. */
#define WS_MARKS_INHERITED (WS_IN_SETUP | WS_IN_WARM_UP | WS_IN_ATTENTION | WS_IN_SOFTMAX)

/* name: text. */
enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name);
uint8_t ws_label_marks(uint32_t name);
/* Class, as text, of a range with these marks in this operation, which may be NULL. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks);
