#include "formats/codec/residual_private.h"

#define HEAD_BYTES 2u

bool ws_residual_size_is_possible(uint64_t size, uint64_t n)
{
	/* a symbol, low bits, a remainder and an escape a row, and a measure and a lane for each */
	return size >= HEAD_BYTES + n && size <= 64 + n * (10 + 2 * WS_VARINT_MAX);
}

/* --- the numbers before the values --- */

struct head {
	uint8_t predictor, has_remainders;
};

static enum ws_status get_head(struct ws_cursor *c, struct head *h, struct ws_err *err)
{
	const uint8_t *p;

	WS_FORWARD(ws_cursor_bytes(c, HEAD_BYTES, &p, err));
	*h = (struct head){p[0], p[1]};
	WS_FAIL_IF(h->predictor >= WS_PREDICTOR_END || h->has_remainders > 1, err, CORRUPT,
	           "residuals of kind %u, %u are not defined", p[0], p[1]);
	return WS_OK;
}

static enum ws_status get_lanes(struct ws_residual *r, struct ws_cursor *c, struct ws_err *err)
{
	const uint8_t *lanes;
	uint64_t n = 0;

	WS_FORWARD(ws_cursor_varint(c, &n, err));
	WS_FAIL_IF(n < 1 || n > WS_RESIDUAL_MAX_LANES || n > r->nmeasures, err, CORRUPT,
	           "%llu lanes for %u tokens", (unsigned long long)n, r->nmeasures);
	r->nlanes = (uint32_t)n;
	if (n == 1)
		return WS_OK;
	WS_FORWARD(ws_cursor_bytes(c, r->nmeasures, &lanes, err));
	memcpy(r->lane_of_token, lanes, r->nmeasures);
	for (uint32_t k = 0; k < r->nmeasures; k++)
		WS_FAIL_IF(lanes[k] >= n, err, CORRUPT, "token %u has lane %u of %llu", k, lanes[k],
		           (unsigned long long)n);
	return WS_OK;
}

static enum ws_status get_measures(struct ws_residual *r, struct ws_cursor *c,
                                   const struct ws_tokens *t, uint32_t n, struct ws_err *err)
{
	const uint8_t *scales;
	uint32_t start = 0;

	WS_FORWARD(ws_cursor_bytes(c, r->nmeasures, &scales, err));
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct ws_residual_measure *m = &r->measure[k];

		m->rows = t->count ? t->rows[k] : n;
		m->scale = scales[k];
		WS_FAIL_IF(ws_residual_shift(m) > WS_RESIDUAL_MAX_SHIFT, err, CORRUPT,
		           "token %u has %u low bits, more than %u", k, ws_residual_shift(m),
		           WS_RESIDUAL_MAX_SHIFT);
		WS_FORWARD(ws_cursor_varint(c, &m->base, err));
		m->base = ws_unzigzag(m->base);
	}
	ws_residual_order(r);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct ws_residual_measure *m = &r->measure[r->order[k]];

		m->start = r->cursor[r->order[k]] = start;
		start += m->rows;
	}
	return WS_OK;
}

/* --- the values --- */

/* Low bits, `bit` bits behind the beginning; 8 readable bytes follow the last. */
static inline uint64_t bits_at(const uint8_t *p, uint64_t bit, unsigned count)
{
	return ws_load_u64(p + bit / 8) >> bit % 8 & ((UINT64_C(1) << count) - 1);
}

/* Bits at the end, where 8 bytes cannot be read any more. */
static inline uint64_t last_bits_at(const struct ws_cursor *low, uint64_t bit, unsigned count)
{
	uint8_t tail[16] = {0};
	size_t from = (size_t)(bit / 8), left = ws_cursor_left(low);

	memcpy(tail, low->pos + from, left - from < sizeof(tail) ? left - from : sizeof(tail));
	return bits_at(tail, bit % 8, count);
}

/* Rows whose low bits lie where 8 bytes can be read. */
static uint32_t readable_rows(const struct ws_residual_measure *m, const struct ws_cursor *low,
                              uint64_t bit)
{
	const uint64_t bits = ws_cursor_left(low) * 8;
	uint64_t n = bit + 64 <= bits ? (bits - 64 - bit) / ws_residual_shift(m) + 1 : 0;

	return n < m->rows ? (uint32_t)n : m->rows;
}

/* Symbols and low bits of one token to residuals in quanta; where the bits end. */
static uint64_t unpack(const struct ws_residual_measure *m, const uint8_t *symbols,
                       const struct ws_cursor *low, uint64_t bit, uint64_t *out)
{
	const unsigned shift = ws_residual_shift(m);
	const uint64_t base = m->base, mask = (UINT64_C(1) << shift) - 1;
	uint32_t i = 0, n;

	if (shift == 0) {
		for (; i < m->rows; i++)
			out[i] = base + symbols[i];
		return bit;
	}
	n = readable_rows(m, low, bit);
	/* 4 rows from one look, which shows 57 bits at least */
	for (; shift <= 14 && i + 4 <= n; i += 4, bit += 4 * shift) {
		uint64_t word = ws_load_u64(low->pos + bit / 8) >> bit % 8;

		for (unsigned k = 0; k < 4; k++, word >>= shift)
			out[i + k] = base + ((uint64_t)symbols[i + k] << shift | (word & mask));
	}
	for (; i < n; i++, bit += shift)
		out[i] = base + ((uint64_t)symbols[i] << shift | bits_at(low->pos, bit, shift));
	for (; i < m->rows; i++, bit += shift)
		out[i] = base + ((uint64_t)symbols[i] << shift | last_bits_at(low, bit, shift));
	return bit;
}

/* What the symbols leave: quanta, remainders, values told in full. */
static enum ws_status complete(struct ws_residual *r, const uint8_t *symbols,
                               const uint8_t *remainders, uint32_t n, struct ws_cursor *c,
                               struct ws_err *err)
{
	const uint8_t *end = symbols + n;

	if (r->quantum != 1)
		for (uint32_t i = 0; i < n; i++)
			r->clustered[i] *= r->quantum;
	if (remainders)
		for (uint32_t i = 0; i < n; i++)
			r->clustered[i] += ws_unzigzag(remainders[i]);
	for (const uint8_t *p = symbols;
	     (p = memchr(p, WS_RESIDUAL_ESCAPE, (size_t)(end - p))) != NULL; p++) {
		uint64_t *value = &r->clustered[p - symbols];

		WS_FORWARD(ws_cursor_varint(c, value, err));
		*value = ws_unzigzag(*value);
	}
	WS_FAIL_IF(c->pos != c->end, err, CORRUPT, "%zu bytes are left after the last row",
	           ws_cursor_left(c));
	return WS_OK;
}

static enum ws_status get_clustered(struct ws_residual *r, bool has_remainders, struct ws_cursor *c,
                                    uint32_t n, struct ws_err *err)
{
	const uint8_t *symbols, *bits, *remainders = NULL;
	struct ws_cursor low;
	uint64_t nbits = 0, bit = 0;

	for (uint32_t k = 0; k < r->nmeasures; k++)
		nbits += (uint64_t)r->measure[k].rows * ws_residual_shift(&r->measure[k]);
	WS_FORWARD(ws_cursor_bytes(c, n, &symbols, err));
	WS_FORWARD(ws_cursor_bytes(c, (size_t)((nbits + 7) / 8), &bits, err));
	if (has_remainders)
		WS_FORWARD(ws_cursor_bytes(c, n, &remainders, err));
	low = (struct ws_cursor){bits, bits + (nbits + 7) / 8};
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct ws_residual_measure *m = &r->measure[r->order[k]];

		bit = unpack(m, symbols + m->start, &low, bit, r->clustered + m->start);
	}
	return complete(r, symbols, remainders, n, c, err);
}

/* --- residuals to values --- */

static void add_up_lanes(struct ws_residual *r, const struct ws_residual_how *how, uint32_t n,
                         uint64_t *v)
{
	uint64_t last = 0;

	memset(r->lane_begun, 0, r->nlanes * sizeof(*r->lane_begun));
	for (uint32_t i = 0; i < n; i++) {
		const unsigned token = how->tokens->of_row[i], lane = r->lane_of_token[token];

		v[i] = r->clustered[r->cursor[token]++] +
		       (r->lane_begun[lane] ? r->lane_clock[lane] : last);
		last = v[i] + (how->durations ? how->durations[i] : 0);
		r->lane_clock[lane] = last;
		r->lane_begun[lane] = 1;
	}
}

static void add_up(const uint64_t *durations, uint32_t n, uint64_t *v)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		v[i] += last;
		last = v[i] + (durations ? durations[i] : 0);
	}
}

enum ws_status ws_residual_get(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint8_t *data, size_t size, uint32_t n, uint64_t *v,
                               struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};
	const struct ws_tokens *t = how->tokens;
	struct head h;

	WS_FORWARD(get_head(&c, &h, err));
	WS_FAIL_IF((h.predictor == WS_PREDICT_END_BEFORE) != !!how->durations, err, CORRUPT,
	           "its predictor is %u, but its parameter names %s durations", h.predictor,
	           how->durations ? "a column of" : "no");
	r->nmeasures = t->count ? t->count : 1;
	WS_FORWARD(ws_cursor_varint(&c, &r->quantum, err));
	WS_FORWARD(get_lanes(r, &c, err));
	WS_FORWARD(get_measures(r, &c, t, n, err));
	WS_FORWARD(get_clustered(r, h.has_remainders, &c, n, err));
	if (h.predictor != WS_PREDICT_NOTHING && r->nlanes > 1) {
		add_up_lanes(r, how, n, v);
		return WS_OK;
	}
	if (!t->count)
		memcpy(v, r->clustered, n * sizeof(*v));
	for (uint32_t i = 0; t->count && i < n; i++)
		v[i] = r->clustered[r->cursor[t->of_row[i]]++];
	if (h.predictor != WS_PREDICT_NOTHING)
		add_up(how->durations, n, v);
	return WS_OK;
}
