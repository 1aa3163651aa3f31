/* How long a record of each kind is, by the iterator of the CUPTI that writes it. */
#pragma once

#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment_capture.h"

/* sizes: bytes by kind, 0 where CUPTI has no such records. It needs neither driver nor context. */
void ws_cupti_find_sizes(ws_cupti_fn_ActivityGetNextRecord next, uint16_t sizes[WS_SEG_KINDS]);
