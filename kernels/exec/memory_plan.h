/*
 * What a graph needs in device memory, known before a byte is allocated.
 *
 * The rule is that of exec.c: parameters, constants, optimizer state and
 * inputs live for the whole session; everything else from the op that writes
 * it first to the op that touches it last, but for kept tensors and the
 * gradients of parameters, which stay until the next step.
 */
#pragma once

#include "kernels/graph/graph.h"

struct ws_memory_plan {
	uint64_t by_role_bytes[WS_ROLE_COUNT]; /* of tensors that live for the session */
	uint64_t gradient_bytes;               /* gradients of parameters, all of them */
	uint64_t peak_bytes;                   /* the most at once, everything included */
	uint64_t arena_bytes;        /* of one block with a place for all of it: device_arena.h */
	const struct ws_op *peak_op; /* while this op runs; NULL: there are no ops */
};

/* By tensor id: index of the last op that touches it, -1 where none does. Caller frees. */
int *ws_memory_last_use(const struct ws_graph *graph);
/* Does it live from its first write to its last use only? */
bool ws_memory_is_transient(const struct ws_tensor *t);

struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph);
