/*
 * Encoding residual of docs/dev/trace-format.md, section 2.2: a value is predicted
 * from the row before in its lane, and what is left is coded in the measure of
 * the row's token.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/codec/tokens.h"

enum ws_predictor {
	WS_PREDICT_NOTHING = 0,
	WS_PREDICT_BEFORE = 1,     /* the value of the row before in the lane */
	WS_PREDICT_END_BEFORE = 2, /* that value and its duration */
	WS_PREDICTOR_END,
};

/* How a column is coded. */
struct ws_residual_how {
	enum ws_predictor predictor;    /* writing: the bytes say it */
	const struct ws_tokens *tokens; /* count 0 = the block has none: one lane, one measure */
	const uint64_t *durations;      /* of the rows, for END_BEFORE; NULL = not known */
	const uint64_t *lanes;          /* writing: values of a column that follows from the
	                                   token, equal in one lane; NULL = one lane */
};

/* Working memory of one block; the size depends on WS_MAX_BLOCK_ROWS only. */
struct ws_residual;
void ws_residual_new(struct ws_residual **out);
void ws_residual_free(struct ws_residual *r); /* NULL is legal */

/* Where the bytes change their nature, so that a compressor begins anew there. */
#define WS_RESIDUAL_MAX_PARTS 64u
struct ws_residual_parts {
	unsigned count;
	size_t end[WS_RESIDUAL_MAX_PARTS]; /* ascending offsets from the first byte */
};

/* Append n >= 1 values to out. */
void ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how, const uint64_t *v,
                     uint32_t n, struct ws_buf *out, struct ws_residual_parts *parts);

/* Bytes that n residuals can take. */
bool ws_residual_size_is_possible(uint64_t size, uint64_t n);
/* Read n values from exactly these bytes. CORRUPT when they are not that. */
enum ws_status ws_residual_get(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint8_t *data, size_t size, uint32_t n, uint64_t *v,
                               struct ws_err *err);
