/* Phases that the links of a framework tell. */
#pragma once

#include "report/joined/rows.h"

/* The phases of the framework's operations, and by them those of steps. */
void ws_framework_find_phases(struct ws_joined_rows *rows, struct ws_model *m);
/* The step of a framework's operation, WS_NONE: in none. The rule is that of docs/dev/statistics.md
 * for calls. */
uint32_t ws_step_of_op(const struct ws_model *m, struct ws_joined_rows *rows, uint32_t op);
