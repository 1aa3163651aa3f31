#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recorder/drain/drain.h"
#include "recorder/shared/segment.h"

/* --- is a program one of CUDA? --- */

/*
 * Whether a program is one of CUDA, seen from outside: where nothing of a GPU
 * was recorded, that tells a program that wanted one from `ls`.
 */

/*
 * 1 when the program in this file holds device code (nvcc's section .nv_fatbin) or names a
 * library of CUDA, to be linked to or loaded. Of a file over 64 MiB its first 64 and its last are
 * looked at.
 */
int ws_cuda_use_of_file(const char *path);

/* 1 when the process has a library of CUDA in its memory now. */
int ws_cuda_use_of_process(uint32_t pid);

/* --- why GPU work is missing --- */

/* Why nothing of a GPU, or not all, is in a trace, in words and with the cure. */

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

/* --- readings of the GPUs --- */

/*
 * What the GPUs of this machine were doing, by NVIDIA's management library,
 * which is loaded when it is there and never linked.
 */

/*
 * Add `meta` rows gpu.N.WHEN.…: clocks, power, temperature and what holds the
 * clocks down, of each GPU as nvidia-smi numbers them; with is_first also what
 * does not change, and why there is nothing when there is nothing. The library
 * is loaded at the first call, which takes its time, and stays.
 */
void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first);
