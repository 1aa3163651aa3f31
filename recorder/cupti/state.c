/* What the parts of this room share, and what went wrong. */
#include <stdarg.h>
#include <stdio.h>

#include "recorder/cupti/source.h"

struct ws_cupti ws_cupti;
int ws_cupti_has_thread_buffers;
_Atomic int ws_cupti_may_flush;
_Atomic int ws_cupti_is_final;
_Atomic uint64_t ws_cupti_own_records;

void ws_cupti_keep_error(const char *what, const char *words, int result)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;

	snprintf(gpu->last_error, sizeof(gpu->last_error), "%s: %d %s", what, result,
	         words ? words : "");
}

void ws_cupti_count_error(int result, const char *fmt, ...)
{
	const char *words = NULL;
	char function[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(function, sizeof(function), fmt, ap);
	va_end(ap);

	ws_lost(WS_DROPPED_activity_error, 1);
	if (ws_cupti.GetResultString(result, &words) != WS_CUPTI_OK)
		words = NULL;
	ws_cupti_keep_error(function, words, result);
}
