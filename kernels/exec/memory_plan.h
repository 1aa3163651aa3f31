/*
 * What a graph needs in device memory, and where each tensor lies in it, known before a byte is
 * allocated. Parameters, constants, optimizer state and inputs live for the whole session;
 * everything else from the op that writes it first to the op that touches it last, but for kept
 * tensors and the gradients of parameters, which stay until the next step.
 */
#pragma once

#include "kernels/graph/graph.h"

#define WS_MEMORY_ALIGN 256 /* of each place, as cudaMalloc() aligns */

struct ws_memory_plan {
	uint64_t by_role_bytes[WS_ROLE_COUNT]; /* of tensors that live for the session */
	uint64_t gradient_bytes;               /* gradients of parameters, all of them */
	uint64_t peak_bytes;                   /* the most at once, everything included */
	uint64_t block_bytes;                  /* of one block with a place for all of it */
	const struct ws_op *peak_op;           /* while this op runs; NULL: there are no ops */
	const struct ws_tensor *unwritten;     /* read before that; NULL: none */
};

/* Does it live from its first write to its last use only? */
bool ws_memory_is_transient(const struct ws_tensor *t);

/* Sets last_use and offset of each tensor: those alive at the same time lie apart. */
struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph);
