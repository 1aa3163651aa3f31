/* Why nothing of a GPU, or not all, is in a trace, in words and with the cure. */
#pragma once

#include <stddef.h>

#include "recorder/shared/segment_capture.h"

/* What the collector said of CUDA in a process, copied from its segment. */
struct ws_gpu_report {
	enum ws_gpu_state state;
	int result;             /* CUptiResult that decided, 0 = none */
	uint32_t cupti_version; /* 0 = not loaded */
	uint32_t stopped;       /* bits of enum ws_gpu_stop */
	char text[1024];
	char last_error[256];
	char second[256];
};

struct ws_gpu_report ws_gpu_report(const struct ws_seg_gpu *gpu);

/* One line about a process whose GPU work was not recorded; NULL when it was, or there was none. */
const char *ws_gpu_problem(const struct ws_gpu_report *report, char *out, size_t size);

/* One line about a reason why GPU work is recorded in part only; NULL for no such reason. */
const char *ws_gpu_warning(enum ws_gpu_stop stop, const struct ws_gpu_report *report, char *out,
                           size_t size);

/*
 * One line about this machine, for when the program never got as far as
 * initializing CUDA: asks the driver, which is loaded for that.
 */
const char *ws_gpu_absence(char *out, size_t size);
