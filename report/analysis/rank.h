/*
 * Which rank of a distributed program a trace is of, as the recorder or
 * PyTorch's profiler noted it.
 */
#ifndef WS_REPORT_ANALYSIS_RANK_H
#define WS_REPORT_ANALYSIS_RANK_H

#include "report/model/model.h"

/* -1 when the trace says none, or several as a merged one does. */
int64_t ws_model_rank(const struct ws_model *m);
/* How many there are; 0 = not recorded. */
int64_t ws_model_world_size(const struct ws_model *m);

#endif
