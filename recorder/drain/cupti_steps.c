#include "recorder/drain/cupti_steps.h"

#include "recorder/shared/cupti_abi.h"

bool ws_cupti_steps_take(struct ws_cupti_steps *steps, const struct ws_seg_gpu *gpu, uint32_t image)
{
	const struct ws_seg_sizes *sizes = &gpu->sizes[image % WS_SEG_IMAGES];

	if (steps->image && steps->image == image)
		return 1;
	if (!image || atomic_load_explicit(&sizes->image, memory_order_acquire) != image)
		return 0;
	memcpy(steps->size, sizes->of_kind, sizeof(steps->size));
	for (uint32_t kind = 0; kind < WS_SEG_KINDS; kind++)
		if (steps->size[kind] % 8 || steps->size[kind] > WS_SEG_MAX_RECORD)
			steps->size[kind] = 0;
	steps->image = image;
	return 1;
}

size_t ws_cupti_record_size(const struct ws_cupti_steps *steps, const uint8_t *buffer, size_t valid,
                            size_t at)
{
	uint32_t kind = at + 8 <= valid ? ws_cupti_kind(buffer + at) : 0;
	size_t size = kind < WS_SEG_KINDS ? steps->size[kind] : 0;

	return size <= valid - at ? size : 0;
}
