/*
 * Which rank of a distributed program a trace is of, as the recorder or
 * PyTorch's profiler noted it.
 */
#pragma once

#include <stdbool.h>

#include "report/model/model.h"

/* -1 when the trace says none, or several as a merged one does. */
int64_t ws_model_rank(const struct ws_model *m);
/* How many there are; 0 = not recorded. */
int64_t ws_model_world_size(const struct ws_model *m);
/* Kernels ran, but none of communication, though there is more than one rank: it was not seen. */
bool ws_model_lacks_comm(const struct ws_model *m);
/* What to do about that. */
#define WS_LACKS_COMM                                                                   \
	"communication was not recorded, or its kernels have names that no rule knows " \
	"(kernel-summary of one trace, --rules FILE)"
