/*
 * From record to record in a buffer that CUPTI filled, by the sizes that the collector found with
 * that CUPTI's own iterator. No library of the traced program's is ever opened here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "recorder/shared/segment_capture.h"

struct ws_cupti_steps {
	uint32_t image;              /* of the process, whose CUPTI they are of; 0: none so far */
	uint16_t size[WS_SEG_KINDS]; /* 0: there are no records of this kind */
};

/*
 * Take over what the collector told of this image: once, as the program can write there at any
 * time. What no record can have is left out. 0: it told nothing, so no buffer can be read.
 */
bool ws_cupti_steps_take(struct ws_cupti_steps *steps, const struct ws_seg_gpu *gpu,
                         uint32_t image);

/* Bytes of the record that begins at buffer + at and lies in the first `valid`; 0: none does. */
size_t ws_cupti_record_size(const struct ws_cupti_steps *steps, const uint8_t *buffer, size_t valid,
                            size_t at);
