/*
 * What the name of a range says, and its operation: one definition for the
 * loaded model and for the streaming pass.
 */
#ifndef WS_REPORT_MODEL_LABEL_H
#define WS_REPORT_MODEL_LABEL_H

#include "report/model/model.h"

/* Marks that a range has from the one around it. */
#define WS_MARKS_INHERITED (WS_IN_SETUP | WS_IN_WARM_UP | WS_IN_ATTENTION | WS_IN_SOFTMAX)

/* Is a range of this path (of those in r) a step, where none is around it? pattern: as `step` of
 * struct ws_model_opts. */
enum ws_status ws_label_is_step(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                                const char *pattern, uint8_t *is_step, struct ws_err *err);
/* name: text. */
enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name);
uint8_t ws_label_marks(uint32_t name);
/* Class, as text, of a range with these marks in this operation, which may be NULL. */
uint32_t ws_label_class(const struct ws_op *op, uint8_t marks);

/*
 * Sorts m->steps and gives them their numbers, remainders and whether they
 * are PyTorch's; the other fields are there. Counts nmeasured.
 */
void ws_label_steps(struct ws_model *m);

#endif
