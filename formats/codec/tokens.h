/*
 * Tokens: the distinct combinations of a block's descriptive columns, counted
 * 0, 1, 2 … in order of first use. Encodings token and by_token of
 * docs/dev/trace-format.md, section 2.1: one column carries the token of each row,
 * and what follows from the token is told once a token.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/schema/schema.h"

/* Tokens that are worth it: more than this share of the rows say little that is common. */
#define WS_TOKENS_ROWS_EACH 8u

/* Tokens of the rows of a block. All zero is empty; free with ws_tokens_free. */
struct ws_tokens {
	uint32_t count;      /* 1..65,536; 0 = the block has none */
	uint16_t *of_row;    /* WS_MAX_BLOCK_ROWS of them */
	uint32_t *first_row; /* writing: first row of each token */
	uint32_t *rows;      /* how many rows have each */
	uint32_t *slots;     /* writing: hash table */
};

void ws_tokens_init(struct ws_tokens *t, int writing);
void ws_tokens_free(struct ws_tokens *t);

#define WS_TOKENS_MAX_COLUMNS 4u

/*
 * Count the distinct combinations of ncolumns columns of rows values each.
 * t->count is 0 when they are more than rows / WS_TOKENS_ROWS_EACH.
 */
void ws_tokens_build(struct ws_tokens *t, const uint64_t *const *columns, unsigned ncolumns,
                     uint32_t rows);
/* Does v follow from the token? */
bool ws_tokens_determine(const struct ws_tokens *t, const uint64_t *v, uint32_t rows);

/* Append a column as `by_token`: its value for each token. It must follow from the token. */
void ws_tokens_put_values(const struct ws_tokens *t, enum ws_type type, const uint64_t *v,
                          struct ws_buf *out);
/* Append the carrier as `token`: as above, then the token of each row. */
void ws_tokens_put(const struct ws_tokens *t, enum ws_type type, const uint64_t *v, uint32_t rows,
                   struct ws_buf *out);

/* Bytes that tokens of these rows can take: how a size is refused before memory is. */
bool ws_tokens_size_is_possible(uint64_t size, uint64_t rows);
/*
 * Read `token` bytes. values has room for WS_MAX_BLOCK_ROWS and gets the
 * value of each token. CORRUPT when a row names a token that is not there.
 */
enum ws_status ws_tokens_get(struct ws_tokens *t, enum ws_type type, const uint8_t *data,
                             size_t size, uint32_t rows, uint64_t *values, struct ws_err *err);
/* Read `by_token` bytes: t->count values. */
enum ws_status ws_tokens_get_values(const struct ws_tokens *t, enum ws_type type,
                                    const uint8_t *data, size_t size, uint64_t *values,
                                    struct ws_err *err);
/* v[row] = values[token of the row] */
void ws_tokens_spread(const struct ws_tokens *t, const uint64_t *values, uint32_t rows,
                      uint64_t *v);
