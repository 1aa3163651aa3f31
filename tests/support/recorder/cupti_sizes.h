/* What the collector tells of CUPTI 13.0's records: their sizes. */
#pragma once

#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment.h"

static inline void put_cupti_sizes(struct ws_seg_gpu *gpu, uint32_t image)
{
	struct ws_seg_sizes *sizes = &gpu->sizes[image % WS_SEG_IMAGES];

#define K(KIND, number, name) sizes->of_kind[number] = WS_CUPTI_SIZE_##name;
	WS_CUPTI_KIND_LIST(K)
	WS_CUPTI_LATER_KIND_LIST(K)
#undef K
	/* of kinds that are not read, to be stepped over: CUDA event, external correlation */
	sizes->of_kind[36] = 56;
	sizes->of_kind[39] = 24;
	atomic_store(&sizes->image, image);
}
