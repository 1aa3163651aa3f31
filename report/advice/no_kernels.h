/* What a trace without kernels holds instead, and why it may be so. */
#pragma once

#include "report/analysis/filter.h"

/*
 * Two or three sentences: "36 kernel launches were recorded (cudaLaunchKernel 30, …), but no
 * kernel. …". Allocated in the arena.
 */
const char *ws_no_kernels_words(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_arena *arena);
