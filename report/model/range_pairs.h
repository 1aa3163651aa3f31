/*
 * Which NVTX event ends which range: the one place that knows.
 *
 * - a pop ends the innermost open push of its thread and domain;
 * - an end closes the latest open start of its id in its process, whichever
 *   thread that was on.
 *
 * Ranges are handles that the caller chooses: small numbers, to be used again
 * once a range has ended. Pushes and pops of a thread come in order of time,
 * starts and ends of a process too; the two sorts need not be in step.
 */
#pragma once

#include "formats/base/strtab.h"
#include "report/base/order.h"

/* Starts as all zeros; free with ws_range_pairs_free. */
struct ws_range_pairs {
	uint32_t *below; /* range -> the open range under it in its stack, WS_NONE */
	size_t nbelow;
	uint32_t *top; /* stack -> its innermost open range, WS_NONE */
	size_t nstacks, stacks_capacity;
	struct ws_idmap stack_of; /* thread << 32 | domain -> stack */
	struct ws_strtab started; /* process and id of the range -> number from 1 */
	uint32_t *start_stack;    /* that number - 1 -> stack */
	size_t started_capacity;
	uint64_t last_key; /* events of a thread and domain come in runs */
	uint32_t last_stack;
	uint8_t has_last;
};

void ws_range_push(struct ws_range_pairs *p, uint32_t thread, uint32_t domain, uint32_t range);
/* The range that ends, WS_NONE = none is open. */
uint32_t ws_range_pop(struct ws_range_pairs *p, uint32_t thread, uint32_t domain);
void ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id, uint32_t range);
/* The same for start and end. */
uint32_t ws_range_end(struct ws_range_pairs *p, uint64_t process, uint64_t id);
void ws_range_pairs_free(struct ws_range_pairs *p);
