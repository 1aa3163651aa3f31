/* The NVTX callbacks, for the entry points. */
#pragma once

#include <stdbool.h>

#include "kernels/nvtx/abi.h"

/* Put our functions into a module's core tables. 1 = done, 0 = it is no NVTX 3. */
bool ws_nvtx_hook_core(wsn_get_export_table get);
/* The same for an extension; 0 for all but the payload extension. */
bool ws_nvtx_hook_extension(struct wsn_ext_module *module);
