#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "formats/codec/residual_private.h"

void ws_residual_new(struct ws_residual **out)
{
	*out = ws_xmalloc(sizeof(**out));
}

void ws_residual_free(struct ws_residual *r)
{
	free(r);
}

void ws_residual_order(struct ws_residual *r)
{
	uint32_t start[256] = {0}, sum = 0;

	for (uint32_t k = 0; k < r->nmeasures; k++)
		start[r->measure[k].scale]++;
	for (unsigned s = 0; s < 256; s++) {
		const uint32_t count = start[s];

		start[s] = sum;
		sum += count;
	}
	for (uint32_t k = 0; k < r->nmeasures; k++)
		r->order[start[r->measure[k].scale]++] = (uint16_t)k;
}

/* --- residuals --- */

/* Lanes: equal values of how->lanes, in order of the tokens. One when there are too many. */
static void number_lanes(struct ws_residual *r, const struct ws_residual_how *how)
{
	const struct ws_tokens *t = how->tokens;
	uint32_t n = 0;

	r->nlanes = 1;
	for (uint32_t k = 0; how->lanes && k < t->count; k++) {
		const uint64_t value = how->lanes[t->first_row[k]];
		uint32_t lane = 0;

		while (lane < n && r->lane_clock[lane] != value)
			lane++;
		if (lane == WS_RESIDUAL_MAX_LANES)
			return;
		if (lane == n)
			r->lane_clock[n++] = value;
		r->lane_of_token[k] = (uint8_t)lane;
	}
	r->nlanes = n ? n : 1;
}

static void predict_lanes(struct ws_residual *r, const struct ws_residual_how *how,
                          const uint64_t *v, uint32_t n)
{
	uint64_t last = 0;

	memset(r->lane_begun, 0, sizeof(r->lane_begun));
	for (uint32_t i = 0; i < n; i++) {
		const unsigned lane = r->lane_of_token[how->tokens->of_row[i]];

		r->by_row[i] = v[i] - (r->lane_begun[lane] ? r->lane_clock[lane] : last);
		last = v[i] + (how->durations ? how->durations[i] : 0);
		r->lane_clock[lane] = last;
		r->lane_begun[lane] = 1;
	}
}

/* The residuals of all rows: v itself where nothing is predicted. */
static const uint64_t *predict(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *v, uint32_t n)
{
	const uint64_t *d = how->durations;

	number_lanes(r, how);
	if (how->predictor == WS_PREDICT_NOTHING)
		return v;
	if (r->nlanes > 1) {
		predict_lanes(r, how, v, n);
		return r->by_row;
	}
	r->by_row[0] = v[0];
	for (uint32_t i = 1; i < n; i++)
		r->by_row[i] = v[i] - v[i - 1] - (d ? d[i - 1] : 0);
	return r->by_row;
}

/* --- the quantum --- */

#define QUANTUM_SAMPLES 512u

static uint64_t magnitude(uint64_t v)
{
	return v >> 63 ? 0 - v : v;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Of all residuals but the first, which may be a time with any offset. */
static bool divides(const uint64_t *v, uint32_t n, uint64_t q)
{
	uint64_t rests = 0;

	for (uint32_t i = 1; i < n; i++)
		rests |= q & (q - 1) ? magnitude(v[i]) % q : v[i] & (q - 1);
	return !rests;
}

/*
 * The unit of the clock that stamped these values, 1 when there is none. With
 * *remainders a few values lie beside its multiples: clocks that were converted.
 */
static uint64_t find_quantum(const uint64_t *residuals, uint32_t n, bool *remainders)
{
	static const uint64_t units[] = {1024, 1000, 512, 256, 128, 64, 32, 16};
	const uint32_t step = n / QUANTUM_SAMPLES + 1;
	uint64_t q = 0;

	*remainders = 0;
	for (uint32_t i = 1; i < n && q != 1; i += step)
		q = divisor(magnitude(residuals[i]), q);
	if (!q)
		return 1;
	if (q > 1 && q <= INT32_MAX && divides(residuals, n, q))
		return q;
	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++) {
		uint32_t exact = 0, near = 0, count = 0;

		for (uint32_t i = 1; i < n; i += step, count++) {
			const uint64_t rest = magnitude(residuals[i]) % units[u];

			exact += rest == 0 && residuals[i];
			near += rest <= 2 || rest + 2 >= units[u];
		}
		if (exact >= count - count / 2 && near >= count - count / 32) {
			*remainders = 1;
			return units[u];
		}
	}
	return 1;
}

/* v / q to the nearest, halves up. */
static uint64_t nearest(uint64_t v, uint64_t q)
{
	const int64_t x = (int64_t)(v + q / 2), d = x / (int64_t)q;

	return (uint64_t)(d - (x % (int64_t)q < 0));
}

/* --- measures --- */

#define MIN_MEASURED_ROWS 24u /* fewer do not pay for a measure of their own */
#define SAMPLES           63u
#define CENTER            48u /* symbol of the median: there is more room above it */

/* Samples in order. Their middle, and how far apart an eighth from either end lie. */
static uint64_t sort_samples(const uint64_t *v, uint32_t n, uint64_t q, uint64_t *spread)
{
	const uint32_t count = n < SAMPLES ? n : SAMPLES;
	int64_t sorted[SAMPLES];

	for (uint32_t i = 0; i < count; i++) {
		const int64_t x = (int64_t)nearest(v[(uint64_t)i * n / count], q);
		uint32_t k = i;

		for (; k && sorted[k - 1] > x; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = x;
	}
	*spread = (uint64_t)sorted[count - 1 - count / 8] - (uint64_t)sorted[count / 8];
	return (uint64_t)sorted[count / 2];
}

/*
 * The measure of n residuals: three in four lie within 7 to 14 symbols, where the low bits are
 * noise that costs what it must.
 */
#define STEPS 7u

static struct ws_residual_measure measure(const uint64_t *v, uint32_t n, uint64_t q)
{
	uint64_t spread, median = sort_samples(v, n, q, &spread);
	unsigned shift = 0, quarter;

	while (spread >> shift >= 2 * STEPS && shift < WS_RESIDUAL_MAX_SHIFT)
		shift++;
	if (!shift)
		quarter = spread == 0 ? 0 : spread < STEPS / 2 ? 1 : spread < STEPS ? 2 : 3;
	else
		quarter = (unsigned)((spread - ((uint64_t)STEPS << shift)) * 4 /
		                     ((uint64_t)STEPS << shift));
	return (struct ws_residual_measure){.base = median - ((uint64_t)CENTER << shift),
	                                    .scale = (uint8_t)(4 * shift +
	                                                       (quarter < 4 ? quarter : 3))};
}

/* Cluster the residuals by token, and measure each token; those of few rows together. */
static void measure_tokens(struct ws_residual *r, const struct ws_tokens *t, const uint64_t *v,
                           uint32_t n)
{
	uint32_t start = 0, few = 0;
	struct ws_residual_measure others;

	for (uint32_t k = 0; k < r->nmeasures; k++) {
		r->measure[k] = (struct ws_residual_measure){.rows = t->count ? t->rows[k] : n,
		                                             .start = start};
		r->cursor[k] = start;
		start += r->measure[k].rows;
	}
	for (uint32_t i = 0; i < n; i++)
		r->clustered[r->cursor[t->count ? t->of_row[i] : 0]++] = v[i];
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct ws_residual_measure *m = &r->measure[k];

		if (m->rows < MIN_MEASURED_ROWS) {
			memcpy(r->by_row + few, r->clustered + m->start, m->rows * sizeof(*v));
			few += m->rows;
		}
	}
	others = few ? measure(r->by_row, few, r->quantum) : (struct ws_residual_measure){0};
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct ws_residual_measure *m = &r->measure[k];
		const struct ws_residual_measure found =
		        m->rows < MIN_MEASURED_ROWS
		                ? others
		                : measure(r->clustered + m->start, m->rows, r->quantum);

		m->base = found.base;
		m->scale = found.scale;
	}
	ws_residual_order(r);
}

/* --- the bytes --- */

static void put_tables(const struct ws_residual *r, const struct ws_residual_how *how,
                       bool remainders, struct ws_buf *out)
{
	const uint8_t head[2] = {(uint8_t)how->predictor, remainders};
	uint8_t *p;

	ws_buf_put(out, head, sizeof(head));
	ws_buf_reserve(out, 2 * WS_VARINT_MAX + r->nmeasures * (2 + WS_VARINT_MAX));
	p = ws_varint_put(out->data + out->len, r->quantum);
	p = ws_varint_put(p, r->nlanes);
	for (uint32_t k = 0; r->nlanes > 1 && k < r->nmeasures; k++)
		*p++ = r->lane_of_token[k];
	for (uint32_t k = 0; k < r->nmeasures; k++)
		*p++ = r->measure[k].scale;
	for (uint32_t k = 0; k < r->nmeasures; k++)
		p = ws_varint_put(p, ws_zigzag(r->measure[k].base));
	out->len = (size_t)(p - out->data);
}

#define PART_BYTES 2048u

static void end_part(struct ws_residual_parts *parts, size_t offset)
{
	if (parts->count < WS_RESIDUAL_MAX_PARTS &&
	    (!parts->count || parts->end[parts->count - 1] < offset))
		parts->end[parts->count++] = offset;
}

/* Where rows of another scale begin, a part ends, unless it is short. */
static void end_parts(const struct ws_residual *r, size_t symbols, struct ws_residual_parts *parts)
{
	size_t at = symbols, begin = symbols;

	end_part(parts, symbols);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct ws_residual_measure *m = &r->measure[r->order[k]];

		if (k && m->scale != r->measure[r->order[k - 1]].scale &&
		    at - begin >= PART_BYTES) {
			end_part(parts, at);
			begin = at;
		}
		at += m->rows;
	}
	end_part(parts, at);
	/* low bits and the rest are short or noise */
}

/* Bytes on their way: each sort at its own place. */
struct writing {
	uint8_t *symbol, *low, *remainder, *escape;
	uint64_t word; /* bits of it, below 8 after each row */
	unsigned filled;
};

static inline void put_bits(struct writing *w, uint64_t v, unsigned n)
{
	w->word |= v << w->filled;
	for (w->filled += n; w->filled >= 8; w->filled -= 8) {
		*w->low++ = (uint8_t)w->word;
		w->word >>= 8;
	}
}

/* A distance from the base of less than 255 << shift has a symbol; others are told in full. */
static inline __attribute__((always_inline)) void put_token(struct writing *w,
                                                            const struct ws_residual_measure *m,
                                                            const uint64_t *v, uint64_t q,
                                                            const bool exact, const bool remainders)
{
	const unsigned shift = ws_residual_shift(m);
	const uint64_t mask = (UINT64_C(1) << shift) - 1;

	for (uint32_t i = 0; i < m->rows; i++) {
		const uint64_t quanta = exact ? v[i] : nearest(v[i], q), rest = v[i] - quanta * q;
		const uint64_t d = quanta - m->base, symbol = d >> shift;
		const bool fits =
		        symbol < WS_RESIDUAL_ESCAPE && (remainders ? rest + 128 < 256 : !rest);

		*w->symbol++ = fits ? (uint8_t)symbol : WS_RESIDUAL_ESCAPE;
		put_bits(w, d & mask, shift);
		if (remainders)
			*w->remainder++ = fits ? (uint8_t)ws_zigzag(rest) : 0;
		if (!fits)
			w->escape = ws_varint_put(w->escape, ws_zigzag(v[i]));
	}
}

static void put_values(const struct ws_residual *r, uint32_t n, bool remainders, struct ws_buf *out)
{
	struct writing w = {0};
	uint64_t nbits = 0;

	for (uint32_t k = 0; k < r->nmeasures; k++)
		nbits += (uint64_t)r->measure[k].rows * ws_residual_shift(&r->measure[k]);
	ws_buf_reserve(out, (size_t)n * (2 + WS_VARINT_MAX) + (size_t)(nbits + 7) / 8);
	w.symbol = out->data + out->len;
	w.low = w.symbol + n;
	w.remainder = w.low + (nbits + 7) / 8;
	w.escape = w.remainder + (remainders ? n : 0);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct ws_residual_measure *m = &r->measure[r->order[k]];
		const uint64_t *v = r->clustered + m->start;

		if (remainders)
			put_token(&w, m, v, r->quantum, 0, 1);
		else if (r->quantum != 1)
			put_token(&w, m, v, r->quantum, 0, 0);
		else
			put_token(&w, m, v, 1, 1, 0);
	}
	if (w.filled)
		*w.low = (uint8_t)w.word;
	out->len = (size_t)(w.escape - out->data);
}

void ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how, const uint64_t *v,
                     uint32_t n, struct ws_buf *out, struct ws_residual_parts *parts)
{
	const size_t before = out->len;
	const uint64_t *residuals = predict(r, how, v, n);
	bool remainders;

	parts->count = 0;
	r->nmeasures = how->tokens->count ? how->tokens->count : 1;
	r->quantum = find_quantum(residuals, n, &remainders);
	measure_tokens(r, how->tokens, residuals, n);
	put_tables(r, how, remainders, out);
	end_parts(r, out->len - before, parts);
	put_values(r, n, remainders, out);
}
