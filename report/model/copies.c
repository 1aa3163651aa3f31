#include "report/model/copies.h"

/* Numbers as in memcpy.kind; the fill stands behind them. Names as in Nsight Systems. */
static const char *const operations[] = {
        "[CUDA memcpy Unknown]",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memcpy Device-to-Host]",
        "[CUDA memcpy Host-to-Array]",
        "[CUDA memcpy Array-to-Host]",
        "[CUDA memcpy Array-to-Array]",
        "[CUDA memcpy Array-to-Device]",
        "[CUDA memcpy Device-to-Array]",
        "[CUDA memcpy Device-to-Device]",
        "[CUDA memcpy Host-to-Host]",
        "[CUDA memcpy Peer-to-Peer]",
        "[CUDA memcpy Unified Host-to-Device]",
        "[CUDA memcpy Unified Device-to-Host]",
        "[CUDA memcpy Unified Device-to-Device]",
        "[CUDA memset]",
};
#define MEMSET (sizeof(operations) / sizeof(*operations) - 1)
_Static_assert(MEMSET + 1 == WS_COPY_NAMES, "as many names as copies.h says");

const char *ws_copy_name(uint32_t name)
{
	return operations[name];
}

uint32_t ws_copy_name_of(const struct ws_work *w)
{
	if (w->kind == WS_WORK_MEMSET)
		return MEMSET;
	return w->direction < MEMSET ? w->direction : 0;
}
