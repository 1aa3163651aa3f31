/* Which calls of the CUDA API are worth a record each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment.h"

/*
 * 1 for a function of this domain (enum ws_cupti_domain) with this name, as
 * CUPTI has it: those that launch, capture launches, copy, fill, wait, allocate or
 * load code, of the driver too, as some programs have no runtime (of a runtime call and the
 * driver call in it the launcher keeps one). kernels_only: launches and captures alone. By
 * name, as each CUPTI has more of them than the one before.
 */
bool ws_cupti_wants_call(uint32_t domain, const char *name, int kernels_only);
/* 1 when the function of this name launches a kernel or a graph on a device. */
bool ws_cupti_is_launch(const char *name);

/* --- sizes of records --- */

/* How long a record of each kind is, by the iterator of the CUPTI that writes it. */

/* sizes: bytes by kind, 0 where CUPTI has no such records. It needs neither driver nor context. */
void ws_cupti_find_sizes(ws_cupti_fn_ActivityGetNextRecord next, uint16_t sizes[WS_SEG_KINDS]);
