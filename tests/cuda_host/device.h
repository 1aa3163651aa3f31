/*
 * The device that a test program runs ops on. Two files implement this: device_emulated.c
 * (own kernels on the emulated GPU, products and convolutions by the CPU reference) and
 * ../gpu/device_cuda.c (a real GPU). So one test source proves both.
 */
#pragma once

#include "kernels/exec/exec.h"

/* pool: borrowed, must outlive the backend. */
enum ws_status ws_test_device_open(struct ws_pool *pool, struct ws_backend **backend,
                                   struct ws_err *err);
/* Does the device run this op itself, so that it is worth comparing? */
bool ws_test_device_runs(const struct ws_op *op);
/*
 * A place for a tensor, on the device that was prepared with block; *used: bytes of the block that
 * are taken, in and out. It is given back by ws_test_device_leave().
 */
void *ws_test_device_place(void *block, uint64_t *used, uint64_t size_bytes);
void ws_test_device_leave(void *place);
/* How often an op must be run to see whether it always yields the same bits; prepare the i-th. */
int ws_test_device_repeats(void);
void ws_test_device_vary(int repeat);
/* Names of the kernels that the last op launched; 0 where the device does not tell. */
int ws_test_device_launched(const char *const **names);
