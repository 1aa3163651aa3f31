#include <stdbool.h>
#include <stdlib.h>

#include "formats/codec/residual_private.h"

#define MAX_LANES  256u
#define PART_BYTES 2048u
#define NO_QUANTA  ((uint64_t)INT64_MAX) /* of a residual that no quantum fits */

enum ws_status ws_residual_new(struct ws_residual **out, int writing, struct ws_err *err)
{
	struct ws_residual *r = malloc(sizeof(*r));

	*out = NULL;
	WS_FAIL_IF(!r, err, NO_MEMORY, "out of memory for the residuals of a block");
	r->writing = writing ? malloc(sizeof(*r->writing)) : NULL;
	if (writing && !r->writing) {
		free(r);
		return WS_FAIL_MEMORY(err, "the residuals of a block");
	}
	*out = r;
	return WS_OK;
}

void ws_residual_free(struct ws_residual *r)
{
	if (r)
		free(r->writing);
	free(r);
}

/* --- residuals --- */

/* Lanes: equal values of how->lanes, in order of the tokens. One when there are too many. */
static void number_lanes(struct ws_residual *r, const struct ws_residual_how *how)
{
	const struct ws_tokens *t = how->tokens;
	uint32_t n = 0;

	r->nlanes = 1;
	for (uint32_t k = 0; how->lanes && k < t->count; k++) {
		uint64_t value = how->lanes[t->first_row[k]];
		uint32_t lane = 0;

		while (lane < n && r->lane_clock[lane] != value)
			lane++;
		if (lane == MAX_LANES)
			return;
		if (lane == n)
			r->lane_clock[n++] = value;
		r->lane_of_token[k] = (uint16_t)lane;
	}
	r->nlanes = n ? n : 1;
}

/* The number + 1 of a pair, counted on first sight; 0 when there are too many. */
static inline unsigned pair_number(struct ws_residual *r, uint32_t key)
{
	struct ws_pair_slot *slot = ws_pair_find(r, key);

	if (!slot->value) {
		if (r->npairs == WS_RESIDUAL_MAX_PAIRS)
			return 0;
		*slot = (struct ws_pair_slot){key, ++r->npairs};
		r->writing->pair_keys[r->npairs] = key;
		r->writing->rows_of_pair[r->npairs] = 0;
	}
	return slot->value;
}

/*
 * Residuals of all rows, and the pair of each where pairs are contexts; how
 * many rows a pair has, and how many rows of a token have none.
 */
static void predict(struct ws_residual *r, const struct ws_residual_how *how, const uint64_t *v,
                    uint32_t n)
{
	const int pairs = how->context == WS_CONTEXT_PAIR, lanes = r->nlanes > 1;
	const uint16_t *tokens = how->tokens->count ? how->tokens->of_row : NULL;
	const uint64_t *durations = how->durations;
	struct ws_residual_writing *w = r->writing;
	uint64_t clock = 0;

	ws_lanes_clear(r);
	for (uint32_t i = 0; i < n; i++) {
		unsigned token = tokens ? tokens[i] : 0;
		unsigned lane = lanes ? r->lane_of_token[token] : 0;
		unsigned pair = 0;

		if (r->lane_begun[lane]) {
			clock = r->lane_clock[lane];
			if (pairs)
				pair = pair_number(r, ws_pair_key(r->lane_token[lane], token));
		}
		w->by_row[i] = v[i] - clock;
		w->pair_of_row[i] = (uint16_t)pair;
		w->rows_of_pair[pair]++;
		w->others_of_token[token] += !pair;
		clock = v[i] + (durations ? durations[i] : 0);
		r->lane_begun[lane] = 1;
		r->lane_clock[lane] = clock;
		r->lane_token[lane] = (uint16_t)token;
	}
}

/* The residuals: v itself where nothing is predicted. Pairs and tokens get their rows counted. */
static const uint64_t *find_residuals(struct ws_residual *r, const struct ws_residual_how *how,
                                      const uint64_t *v, uint32_t n)
{
	const struct ws_tokens *t = how->tokens;
	struct ws_residual_writing *w = r->writing;

	number_lanes(r, how);
	ws_pairs_clear(r, how->context != WS_CONTEXT_PAIR ? 0
	                  : n < WS_RESIDUAL_MAX_PAIRS     ? n
	                                                  : WS_RESIDUAL_MAX_PAIRS);
	w->rows_of_pair[0] = 0;
	if (how->predictor == WS_PREDICT_NOTHING) {
		memset(w->pair_of_row, 0, n * sizeof(*w->pair_of_row));
		if (t->count)
			memcpy(w->others_of_token, t->rows, t->count * sizeof(*t->rows));
		return v;
	}
	memset(w->others_of_token, 0, (t->count ? t->count : 1) * sizeof(*t->rows));
	predict(r, how, v, n);
	return w->by_row;
}

/* --- the quantum --- */

#define SAMPLES 512u

/* Magnitudes of every so manieth residual but the first, which may be a time with any offset. */
static uint32_t sample(const uint64_t *v, uint32_t n, uint64_t out[SAMPLES])
{
	uint32_t step = n / SAMPLES + 1, count = 0;

	for (uint32_t i = 1; i < n; i += step)
		out[count++] = ws_magnitude(v[i]);
	return count;
}

static uint64_t greatest_divisor(const uint64_t *v, uint32_t n)
{
	uint64_t g = 0;

	for (uint32_t i = 0; i < n && g != 1; i++)
		for (uint64_t b = v[i]; b;) {
			uint64_t rest = g % b;

			g = b;
			b = rest;
		}
	return g;
}

/* Of the residuals but the first. */
static bool is_divisor(const uint64_t *v, uint32_t n, uint64_t q)
{
	uint64_t rests = 0;

	for (uint32_t i = 1; i < n; i++)
		rests |= q & (q - 1) ? ws_magnitude(v[i]) % q : v[i] & (q - 1);
	return !rests;
}

/*
 * The unit of the clock that stamped these values, 1 when there is none. With
 * *remainders a few values lie beside its multiples: clocks that were converted.
 */
static uint64_t find_quantum(const uint64_t *residuals, uint32_t n, int *remainders)
{
	static const uint64_t units[] = {1024, 1000, 512, 256, 128, 64, 32, 16};
	uint64_t v[SAMPLES];
	uint32_t count = sample(residuals, n, v);
	uint64_t q = greatest_divisor(v, count);

	*remainders = 0;
	if (!q)
		return 1;
	if (q > 1 && q <= INT32_MAX && is_divisor(residuals, n, q))
		return q;
	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++) {
		uint32_t exact = 0, near = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t rest = v[i] % units[u];

			exact += rest == 0 && v[i];
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
static inline uint64_t nearest(uint64_t v, uint64_t q)
{
	int64_t x = (int64_t)(v + q / 2);
	int64_t d = x / (int64_t)q;

	return (uint64_t)(d - (x % (int64_t)q < 0));
}

/* Quanta of all residuals, by row. */
static const uint64_t *quantize(struct ws_residual *r, const uint64_t *residuals, uint32_t n,
                                int remainders)
{
	struct ws_residual_writing *w = r->writing;
	const uint64_t q = r->quantum;

	if (q == 1)
		return residuals;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t m = nearest(residuals[i], q);
		uint64_t rest = residuals[i] - m * q;

		w->quanta[i] = (remainders ? rest + 128 < 256 : !rest) ? m : NO_QUANTA;
	}
	return w->quanta;
}

/* --- the rows --- */

/* Values by number, in the order of rows within each; start: where those of a number begin. */
static void scatter(const uint64_t *v, const uint16_t *number, uint32_t n, const uint32_t *start,
                    uint32_t *cursor, uint32_t numbers, uint64_t *out)
{
	memcpy(cursor, start, numbers * sizeof(*cursor));
	for (uint32_t i = 0; i < n; i++)
		out[cursor[number[i]]++] = v[i];
}

/* The context of each row, as a reader finds it, and where the rows of a context begin. */
static void place_rows(struct ws_residual *r, const struct ws_residual_how *how, uint32_t n)
{
	struct ws_residual_writing *w = r->writing;
	const uint16_t *tokens = how->tokens->count ? how->tokens->of_row : NULL;
	uint32_t start = 0, kept = 0;

	memset(r->cursor, 0, r->ncontexts * sizeof(*r->cursor));
	for (uint32_t i = 0; i < n; i++) {
		unsigned p = w->pair_of_row[i];
		uint16_t context =
		        p ? w->context_of_pair[p] : r->context_of_token[tokens ? tokens[i] : 0];

		r->context_of_row[i] = context;
		r->cursor[context]++;
	}
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		r->contexts[k].rows = r->cursor[k];
		r->contexts[k].start = w->wait[k] = start;
		start += r->cursor[k];
	}
	for (uint32_t p = 1; p <= r->npairs; p++)
		if (w->context_of_pair[p] != r->context_of_token[w->pair_keys[p] & 0xffff]) {
			w->pair_keys[kept] = w->pair_keys[p];
			w->context_of_pair[kept++] = w->context_of_pair[p];
		}
	r->npairs = kept;
}

/* --- the bytes --- */

static enum ws_status put_tables(const struct ws_residual *r, const struct ws_residual_how *how,
                                 int remainders, struct ws_buf *out, struct ws_err *err)
{
	const struct ws_residual_writing *w = r->writing;
	const uint32_t tokens = how->tokens->count;
	const uint8_t head[WS_RESIDUAL_HEAD] = {(uint8_t)how->predictor, (uint8_t)how->context,
	                                        (uint8_t)remainders, 0};
	uint8_t *p;

	WS_FORWARD(ws_buf_put(out, head, sizeof(head), err));
	WS_FORWARD(ws_buf_reserve(out,
	                          (4 + 2 * (size_t)tokens + 3 * (size_t)r->npairs +
	                           2 * (size_t)r->ncontexts) *
	                                  WS_VARINT_MAX,
	                          err));
	p = ws_varint_put(out->data + out->len, r->quantum);
	p = ws_varint_put(p, r->ncontexts);
	p = ws_varint_put(p, r->nlanes);
	for (uint32_t k = 0; r->nlanes > 1 && k < tokens; k++)
		p = ws_varint_put(p, r->lane_of_token[k]);
	for (uint32_t k = 0; how->context != WS_CONTEXT_ONE && k < tokens; k++)
		p = ws_varint_put(p, r->context_of_token[k]);
	if (how->context == WS_CONTEXT_PAIR)
		p = ws_varint_put(p, r->npairs);
	for (uint32_t k = 0; k < r->npairs; k++) {
		p = ws_varint_put(p, w->pair_keys[k] >> 16);
		p = ws_varint_put(p, w->pair_keys[k] & 0xffff);
		p = ws_varint_put(p, w->context_of_pair[k]);
	}
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		p = ws_varint_put(p, ws_zigzag(r->contexts[k].base));
		*p++ = r->contexts[k].shift;
	}
	out->len = (size_t)(p - out->data);
	return WS_OK;
}

static void end_part(struct ws_residual_parts *parts, size_t offset)
{
	if (parts->count < WS_RESIDUAL_MAX_PARTS &&
	    (!parts->count || parts->end[parts->count - 1] < offset))
		parts->end[parts->count++] = offset;
}

/* The distance of a value from its context's base: below 255 << shift it has a symbol. */
static inline uint64_t distance(const struct ws_residual_context *x, uint64_t m)
{
	uint64_t d = m - x->base;

	return d >> x->shift < WS_RESIDUAL_ESCAPE && m != NO_QUANTA
	               ? d
	               : (uint64_t)WS_RESIDUAL_ESCAPE << x->shift;
}

static void put_symbols(const struct ws_residual *r, size_t before, struct ws_buf *out,
                        struct ws_residual_parts *parts)
{
	const uint8_t *shape = r->writing->shape;
	size_t part = out->len;
	uint8_t *p = out->data + out->len;

	for (uint32_t k = 0; k < r->ncontexts; k++) {
		const struct ws_residual_context x = r->contexts[k];

		out->len = (size_t)(p - out->data);
		if (k && shape[k] != shape[k - 1] && out->len - part >= PART_BYTES) {
			end_part(parts, out->len - before);
			part = out->len;
		}
		for (uint32_t i = x.start; i < x.start + x.rows; i++)
			*p++ = (uint8_t)(distance(&x, r->clustered[i]) >> x.shift);
	}
	out->len = (size_t)(p - out->data);
}

static void put_low_bits(const struct ws_residual *r, struct ws_buf *out)
{
	uint8_t *p = out->data + out->len;
	uint64_t word = 0;
	unsigned filled = 0; /* bits of word, below 8 after each value */

	for (uint32_t k = 0; k < r->ncontexts; k++) {
		const struct ws_residual_context x = r->contexts[k];
		uint64_t mask = (UINT64_C(1) << x.shift) - 1;

		for (uint32_t i = x.start; x.shift && i < x.start + x.rows; i++) {
			word |= (distance(&x, r->clustered[i]) & mask) << filled;
			filled += x.shift;
			ws_store_u64(p, word);
			p += filled / 8;
			word >>= filled & ~7u;
			filled %= 8;
		}
	}
	if (filled)
		*p++ = (uint8_t)word;
	out->len = (size_t)(p - out->data);
}

/* Remainders, and the values told in full. */
static void put_rest(const struct ws_residual *r, const uint8_t *symbols, uint32_t n,
                     int remainders, struct ws_buf *out)
{
	const uint64_t *full = r->quantum == 1 ? r->clustered : r->writing->in_full;
	const uint8_t *end = symbols + n;
	uint8_t *p = out->data + out->len;

	for (uint32_t i = 0; remainders && i < n; i++) {
		uint64_t rest = full[i] - r->clustered[i] * r->quantum;

		*p++ = r->clustered[i] == NO_QUANTA ? 0 : (uint8_t)ws_zigzag(rest);
	}
	for (const uint8_t *s = symbols; (s = memchr(s, WS_RESIDUAL_ESCAPE, (size_t)(end - s)));
	     s++)
		p = ws_varint_put(p, ws_zigzag(full[s - symbols]));
	out->len = (size_t)(p - out->data);
}

/* All rows have contexts and stand by them. */
static enum ws_status put_values(const struct ws_residual *r, size_t before, uint32_t n,
                                 int remainders, struct ws_buf *out,
                                 struct ws_residual_parts *parts, struct ws_err *err)
{
	uint64_t nbits = 0;
	size_t symbols;

	for (uint32_t k = 0; k < r->ncontexts; k++)
		nbits += (uint64_t)r->contexts[k].rows * r->contexts[k].shift;
	WS_FORWARD(ws_buf_reserve(out, (size_t)n * (2 + WS_VARINT_MAX) + (size_t)(nbits / 8) + 16,
	                          err));
	symbols = out->len;
	end_part(parts, out->len - before);
	put_symbols(r, before, out, parts);
	end_part(parts, out->len - before);
	put_low_bits(r, out);
	end_part(parts, out->len - before);
	put_rest(r, out->data + symbols, n, remainders, out);
	return WS_OK;
}

enum ws_status ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *v, uint32_t n, struct ws_buf *out,
                               struct ws_residual_parts *parts, struct ws_err *err)
{
	const size_t before = out->len;
	struct ws_residual_writing *w = r->writing;
	const uint64_t *residuals, *quanta;
	int remainders;

	parts->count = 0;
	residuals = find_residuals(r, how, v, n);
	r->quantum = find_quantum(residuals, n, &remainders);
	quanta = quantize(r, residuals, n, remainders);
	ws_residual_find_contexts(r, how, quanta, n);
	place_rows(r, how, n);
	scatter(quanta, r->context_of_row, n, w->wait, r->cursor, r->ncontexts, r->clustered);
	if (r->quantum != 1)
		scatter(residuals, r->context_of_row, n, w->wait, r->cursor, r->ncontexts,
		        w->in_full);
	WS_FORWARD(put_tables(r, how, remainders, out, err));
	return put_values(r, before, n, remainders, out, parts, err);
}
