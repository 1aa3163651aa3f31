/*
 * Buffers of CUPTI in a segment, written by hand, with the sizes of records that CUPTI 13.0 has.
 */
#pragma once

#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment.h"
#include "tests/support/recorder/by_hand.h"
#include "tests/support/recorder/cupti_sizes.h"

#define PID   100
#define TID   1001
#define IMAGE 1
/* A correlation id as the trace has it. */
#define CORRELATION(id) ((uint64_t)IMAGE << 32 | (id))

void cupti_start(void);
/* With a trace that is a file. */
void cupti_begin(const char *path);

/* The slot in hand, -1 when there is none, and what is used of it. */
extern int slot;
extern uint64_t used;

/* A record of this size, zeroed but for its kind, at the end of the slot in hand. */
uint8_t *put_record(uint32_t kind, size_t size);
void finish_slot(void);
uint8_t *put_kernel(uint32_t correlation, uint64_t name);
uint8_t *put_api(uint32_t kind, uint32_t cbid, uint32_t correlation);
void put_call_name(uint32_t domain, uint32_t cbid, const char *name);
uint64_t put_text(const char *text);
uint64_t lost(enum ws_dropped cause);

#define PUT(record, what, field, value)                                                        \
	do {                                                                                   \
		__typeof__(((struct ws_cupti_##what *)0)->field) v_ = (__typeof__(v_))(value); \
		memcpy((record) + WS_CUPTI_AT_##what##_##field, &v_, sizeof(v_));              \
	} while (0)

#define RECORD(KIND, what) put_record(WS_CUPTI_KIND_##KIND, WS_CUPTI_SIZE_##what)

#define SAME(p, kind, column, value) \
	cr_expect_eq(CELL(p, kind, column, 0), (uint64_t)(value), #kind "." #column)
