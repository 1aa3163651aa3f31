/*
 * Ranges that contain a call without containing the call's innermost range:
 * where ranges of a thread cross.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ws_crossing {
	uint32_t range;
	uint32_t next; /* in ws_attribution.crossings, WS_NONE = last */
};

struct ws_attribution {
	uint32_t *first; /* by call: its list in crossings, WS_NONE; NULL when nothing crosses */
	struct ws_crossing *crossings;
	size_t ncrossings, crossings_capacity;
	uint64_t not_followed; /* calls past WS_MAX_CROSSINGS whose crossing ranges were left out */
};

/* Ceiling of the list above: 512 MiB. Only a trace made to hurt gets there. */
#define WS_MAX_CROSSINGS ((size_t)1 << 26)
