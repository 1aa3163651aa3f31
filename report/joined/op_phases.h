/* Phases that the links of a framework tell. */
#pragma once

#include "report/joined/rows.h"

/* The phases of the framework's operations, and by them those of steps. */
void ws_framework_find_phases(struct ws_joined_rows *rows, struct ws_model *m);
