/*
 * A backend that proves another while it works: each op is run by the CPU reference, whose
 * results go on, and by the device under test from the same operands; the results of the two
 * are compared element by element at derived bounds (bounds.h), and those of repeated runs of
 * the device bit by bit. So every op of any graph is checked on its own.
 */
#pragma once

#include "kernels/exec/exec.h"

/* What was seen of one kernel. */
struct ws_shadow_kernel {
	char name[64]; /* ws_op_kernel_name() */
	int runs;
	double worst; /* largest error as a share of its bound */
};

#define WS_SHADOW_KERNELS_MAX 512

struct ws_shadow {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_backend *reference, *device;
	void *block; /* the device's */
	struct ws_shadow_kernel kernels[WS_SHADOW_KERNELS_MAX];
	int kernel_count;
	int wrong;     /* ops that differ */
	uint8_t *tf32; /* enum ws_tf32 of each op with operands of TF32, as the device reads them */
	size_t tf32_count, tf32_capacity;
	char first[512]; /* the first of them, in words */
};

/* pool: borrowed, must outlive the backend; close it by ws_backend_close(&shadow->base). */
enum ws_status ws_shadow_open(struct ws_pool *pool, struct ws_shadow **shadow, struct ws_err *err);
