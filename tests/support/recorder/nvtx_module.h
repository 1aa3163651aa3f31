/*
 * The program's side of NVTX, bare: attach to the tool that the environment
 * names, then call its functions as they are. For tests that must reach every
 * function, also in ways that NVIDIA's headers or our client would not.
 */
#pragma once

#include "kernels/nvtx/abi.h"

/* nvtx.RangePushA("x") …; NULL where the tool set nothing. */
struct nvtx_functions {
#define X(name, id, ret, params) wsn_fn_##name name;
#define M(list, module)          list(X)
	WSN_MODULE_LIST(M)
	WSN_EXT_LIST(M)
#undef M
#undef X
};
extern struct nvtx_functions nvtx;

/* Attach as a new module would. 1 = the tool serves it. */
int nvtx_attach(void);
/* The answer of the tool to an extension module of this id. */
int nvtx_attach_extension(uint16_t module_id);
