#include "formats/codec/tokens.h"

#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "formats/codec/encodings.h"

#define MAX_TOKENS (WS_MAX_BLOCK_ROWS / WS_TOKENS_ROWS_EACH)
#define SLOTS      (4 * MAX_TOKENS) /* a power of two, at most a quarter full */

void ws_tokens_init(struct ws_tokens *t, int writing)
{
	memset(t, 0, sizeof(*t));
	t->of_row = ws_xmalloc(WS_MAX_BLOCK_ROWS * sizeof(*t->of_row));
	t->rows = ws_xmalloc((writing ? MAX_TOKENS : WS_MAX_BLOCK_ROWS) * sizeof(*t->rows));
	if (writing) {
		t->first_row = ws_xmalloc(MAX_TOKENS * sizeof(*t->first_row));
		t->slots = ws_xmalloc(SLOTS * sizeof(*t->slots));
	}
}

void ws_tokens_free(struct ws_tokens *t)
{
	free(t->of_row);
	free(t->first_row);
	free(t->rows);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static inline uint32_t slot_of(const uint64_t *const *columns, unsigned ncolumns, uint32_t row)
{
	uint64_t h = 0;

	for (unsigned c = 0; c < ncolumns; c++)
		h = (h ^ columns[c][row]) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32) & (SLOTS - 1);
}

static inline bool rows_are_equal(const uint64_t *const *columns, unsigned ncolumns, uint32_t a,
                                  uint32_t b)
{
	for (unsigned c = 0; c < ncolumns; c++)
		if (columns[c][a] != columns[c][b])
			return 0;
	return 1;
}

static inline __attribute__((always_inline)) void
count_tokens(struct ws_tokens *t, const uint64_t *const *columns, unsigned ncolumns, uint32_t rows)
{
	uint32_t limit = rows / WS_TOKENS_ROWS_EACH;

	t->count = 0;
	memset(t->slots, 0, SLOTS * sizeof(*t->slots));
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t slot = slot_of(columns, ncolumns, i);
		uint32_t token;

		while (t->slots[slot] &&
		       !rows_are_equal(columns, ncolumns, i, t->first_row[t->slots[slot] - 1]))
			slot = (slot + 1) & (SLOTS - 1);
		token = t->slots[slot];
		if (!token) {
			if (t->count == limit) {
				t->count = 0;
				return;
			}
			t->first_row[t->count] = i;
			t->rows[t->count] = 0;
			t->slots[slot] = token = ++t->count;
		}
		t->of_row[i] = (uint16_t)(token - 1);
		t->rows[token - 1]++;
	}
}

void ws_tokens_build(struct ws_tokens *t, const uint64_t *const *columns, unsigned ncolumns,
                     uint32_t rows)
{
	const uint64_t *varied[WS_TOKENS_MAX_COLUMNS];
	unsigned n = 0;

	for (unsigned c = 0; c < ncolumns; c++)
		if (memcmp(columns[c], columns[c] + 1, (rows - 1) * sizeof(uint64_t)) != 0)
			varied[n++] = columns[c];
	/* the loop for each number of columns of its own */
	switch (n) {
	case 0:
	case 1:
		count_tokens(t, n ? varied : columns, 1, rows);
		break;
	case 2:
		count_tokens(t, varied, 2, rows);
		break;
	case 3:
		count_tokens(t, varied, 3, rows);
		break;
	default:
		count_tokens(t, varied, n, rows);
	}
}

bool ws_tokens_determine(const struct ws_tokens *t, const uint64_t *v, uint32_t rows)
{
	uint64_t differs = 0;

	for (uint32_t i = 0; i < rows && !differs;) {
		/* in stretches, so that the loop has no exit for each row */
		uint32_t end = rows - i > 512 ? i + 512 : rows;

		for (; i < end; i++)
			differs |= v[i] ^ v[t->first_row[t->of_row[i]]];
	}
	return !differs;
}

void ws_tokens_put_values(const struct ws_tokens *t, enum ws_type type, const uint64_t *v,
                          struct ws_buf *out)
{
	int sign = ws_type_is_signed(type);
	uint8_t *p;

	ws_buf_reserve(out, (size_t)t->count * WS_VARINT_MAX);
	p = out->data + out->len;
	for (uint32_t k = 0; k < t->count; k++) {
		uint64_t value = v[t->first_row[k]];

		p = ws_varint_put(p, sign ? ws_zigzag(value) : value);
	}
	out->len = (size_t)(p - out->data);
}

void ws_tokens_put(const struct ws_tokens *t, enum ws_type type, const uint64_t *v, uint32_t rows,
                   struct ws_buf *out)
{
	uint8_t count[WS_VARINT_MAX];
	uint8_t *p;

	ws_buf_put(out, count, (size_t)(ws_varint_put(count, t->count) - count));
	ws_tokens_put_values(t, type, v, out);
	ws_buf_reserve(out, (size_t)rows * 2);
	p = out->data + out->len;
	if (t->count <= 256) {
		for (uint32_t i = 0; i < rows; i++)
			p[i] = (uint8_t)t->of_row[i];
		out->len += rows;
	} else {
		memcpy(p, t->of_row, (size_t)rows * 2);
		out->len += (size_t)rows * 2;
	}
}

bool ws_tokens_size_is_possible(uint64_t size, uint64_t rows)
{
	return size >= rows + 2 && size <= WS_VARINT_MAX + rows * (WS_VARINT_MAX + 2);
}

static enum ws_status get_values(struct ws_cursor *c, uint32_t count, enum ws_type type,
                                 uint64_t *values, struct ws_err *err)
{
	int sign = ws_type_is_signed(type);

	for (uint32_t k = 0; k < count; k++) {
		WS_FORWARD(ws_cursor_varint(c, &values[k], err));
		if (sign)
			values[k] = ws_unzigzag(values[k]);
	}
	return WS_OK;
}

#define FEW_TOKENS 256u

static void count_rows(struct ws_tokens *t, uint32_t rows)
{
	uint32_t quarter[4][FEW_TOKENS] = {{0}};
	uint32_t i = 0;

	memset(t->rows, 0, t->count * sizeof(*t->rows));
	/* rows of one token follow each other: an addition need not wait for the one before */
	if (t->count <= FEW_TOKENS)
		for (; i + 4 <= rows; i += 4)
			for (unsigned k = 0; k < 4; k++)
				quarter[k][t->of_row[i + k]]++;
	for (; i < rows; i++)
		t->rows[t->of_row[i]]++;
	for (uint32_t k = 0; k < t->count && k < FEW_TOKENS; k++)
		t->rows[k] += quarter[0][k] + quarter[1][k] + quarter[2][k] + quarter[3][k];
}

static enum ws_status get_rows(struct ws_tokens *t, struct ws_cursor *c, uint32_t rows,
                               struct ws_err *err)
{
	const size_t width = t->count <= FEW_TOKENS ? 1 : 2;
	uint16_t greatest = 0;

	WS_FAIL_IF(ws_cursor_left(c) != rows * width, err, CORRUPT,
	           "%zu bytes instead of %zu for the token of each of %u rows", ws_cursor_left(c),
	           width, rows);
	if (width == 2)
		memcpy(t->of_row, c->pos, (size_t)rows * 2);
	else
		for (uint32_t i = 0; i < rows; i++)
			t->of_row[i] = c->pos[i];
	for (uint32_t i = 0; i < rows; i++)
		greatest = t->of_row[i] > greatest ? t->of_row[i] : greatest;
	WS_FAIL_IF(greatest >= t->count, err, CORRUPT, "a row has token %u, but there are %u",
	           greatest, t->count);
	count_rows(t, rows);
	return WS_OK;
}

enum ws_status ws_tokens_get(struct ws_tokens *t, enum ws_type type, const uint8_t *data,
                             size_t size, uint32_t rows, uint64_t *values, struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};
	uint64_t count;

	t->count = 0;
	WS_FORWARD(ws_cursor_varint(&c, &count, err));
	WS_FAIL_IF(count == 0 || count > rows, err, CORRUPT, "%llu tokens for %u rows",
	           (unsigned long long)count, rows);
	WS_FORWARD(get_values(&c, (uint32_t)count, type, values, err));
	t->count = (uint32_t)count;
	return get_rows(t, &c, rows, err);
}

enum ws_status ws_tokens_get_values(const struct ws_tokens *t, enum ws_type type,
                                    const uint8_t *data, size_t size, uint64_t *values,
                                    struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};

	WS_FORWARD(get_values(&c, t->count, type, values, err));
	WS_FAIL_IF(c.pos != c.end, err, CORRUPT, "%zu bytes are left after the last token",
	           ws_cursor_left(&c));
	return WS_OK;
}

void ws_tokens_spread(const struct ws_tokens *t, const uint64_t *values, uint32_t rows, uint64_t *v)
{
	for (uint32_t i = 0; i < rows; i++)
		v[i] = values[t->of_row[i]];
}
