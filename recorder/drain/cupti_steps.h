/*
 * From record to record in a buffer that CUPTI filled: by the iterator of the
 * very library that filled it, or, where that cannot be loaded here, by the
 * record sizes of its version.
 */
#pragma once

#include <stdbool.h>

#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment_capture.h"

struct ws_cupti_steps {
	ws_cupti_fn_ActivityGetNextRecord next;    /* NULL: by table */
	ws_cupti_fn_GetCallbackName callback_name; /* NULL: unknown */
	int known;                                 /* 0: neither; such buffers cannot be read */
};

/*
 * For buffers of this version of CUPTI, made by the library at this path (may
 * be empty). The library is loaded when its file name is one of CUPTI's and it
 * says it has this version; it stays loaded for good.
 */
void ws_cupti_steps_open(struct ws_cupti_steps *steps, const char *library, uint32_t version);

/*
 * Move *record (NULL: before the first) to the next record that lies in the
 * first `valid` bytes of buffer, at least 8 of them. WS_CUPTI_OK,
 * WS_CUPTI_MAX_LIMIT_REACHED at the end, WS_CUPTI_INVALID_KIND where something
 * else is.
 */
int ws_cupti_step(const struct ws_cupti_steps *steps, uint8_t *buffer, size_t valid,
                  uint8_t **record);
