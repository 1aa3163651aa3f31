/* What writing and reading of residuals share. Included by residual*.c only. */
#pragma once

#include "formats/codec/residual.h"

#define WS_RESIDUAL_ESCAPE    255u /* symbol of a value that is told in full */
#define WS_RESIDUAL_MAX_SHIFT 48u
#define WS_RESIDUAL_MAX_LANES 256u

/* The measure of a token: residual = (base + (symbol << shift | low bits)) * quantum + rest */
struct ws_residual_measure {
	uint64_t base; /* two's complement */
	uint32_t rows;
	uint32_t start; /* of its rows among the clustered ones */
	uint8_t scale;  /* 4 x the shift, and 0 to 3; clusters stand in its order */
};

static inline unsigned ws_residual_shift(const struct ws_residual_measure *m)
{
	return m->scale / 4;
}

struct ws_residual {
	/* residuals in the order of the bytes, or while they are written of the tokens */
	uint64_t clustered[WS_MAX_BLOCK_ROWS];
	uint64_t by_row[WS_MAX_BLOCK_ROWS]; /* writing: residuals, then samples */
	struct ws_residual_measure measure[WS_MAX_BLOCK_ROWS];
	uint32_t cursor[WS_MAX_BLOCK_ROWS];
	uint16_t order[WS_MAX_BLOCK_ROWS]; /* tokens in the order of their clusters */
	uint8_t lane_of_token[WS_MAX_BLOCK_ROWS];
	uint64_t lane_clock[WS_RESIDUAL_MAX_LANES];
	bool lane_begun[WS_RESIDUAL_MAX_LANES];
	uint32_t nmeasures, nlanes; /* measures: 1 where the block has no tokens */
	uint64_t quantum;
};

/* Tokens by scale, and by number where scales are equal, as r->order. */
void ws_residual_order(struct ws_residual *r);
