/*
 * What the GPUs of this machine were doing, by NVIDIA's management library,
 * which is loaded when it is there and never linked.
 */
#pragma once

#include "recorder/drain/drain.h"

/*
 * Add `meta` rows gpu.N.WHEN.…: clocks, power, temperature and what holds the
 * clocks down, of each GPU as nvidia-smi numbers them; with is_first also what
 * does not change, and why there is nothing when there is nothing. The library
 * is loaded at the first call, which takes its time, and stays.
 */
void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first);
