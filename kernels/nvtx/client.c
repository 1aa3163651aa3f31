/* The client once for our own programs, whose other files see the declarations only. */
#define WSNVTX_HEADER_ONLY
#include "kernels/nvtx/warpsheet_nvtx.h"
