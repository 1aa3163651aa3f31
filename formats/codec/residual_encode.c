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

/* The key of a pair that was not seen before; of its token alone when there are too many. */
static unsigned new_pair(struct ws_residual *r, unsigned before, unsigned token)
{
	struct ws_residual_writing *w = r->writing;

	if (r->npairs == WS_RESIDUAL_MAX_PAIRS)
		return token;
	w->pair_keys[++r->npairs] = ws_pair_key(before, token);
	w->rows_of_key[w->ntokens + r->npairs - 1] = 0;
	return w->ntokens + r->npairs - 1;
}

/* The key of a row; few: its tokens have a table. There is no pair whose key is 0. */
static inline unsigned key_of_pair(struct ws_residual *r, unsigned before, unsigned token,
                                   const bool few)
{
	uint16_t *known;
	struct ws_pair_slot *slot;

	if (few) {
		known = &r->context_of_pair[before * r->writing->ntokens + token];
		if (__builtin_expect(!*known, 0))
			*known = (uint16_t)new_pair(r, before, token);
		return *known;
	}
	slot = ws_pair_find(r, ws_pair_key(before, token));
	if (!slot->value && r->npairs < WS_RESIDUAL_MAX_PAIRS)
		*slot = (struct ws_pair_slot){ws_pair_key(before, token),
		                              new_pair(r, before, token)};
	return slot->value ? slot->value : token;
}

/* The key of each row where rows are one lane, counted. */
static inline __attribute__((always_inline)) void
find_keys(struct ws_residual *r, const uint16_t *tokens, uint32_t n, const bool few)
{
	struct ws_residual_writing *w = r->writing;

	w->keys[0] = tokens[0];
	w->rows_of_key[tokens[0]]++;
	for (uint32_t i = 1; i < n; i++) {
		const unsigned key = key_of_pair(r, tokens[i - 1], tokens[i], few);

		w->keys[i] = (uint16_t)key;
		w->rows_of_key[key]++;
	}
}

/* Residuals of all rows where these are one lane. */
static void predict_lane(struct ws_residual *r, const uint64_t *durations, const uint64_t *v,
                         uint32_t n)
{
	uint64_t *by_row = r->writing->by_row;

	by_row[0] = v[0];
	if (durations)
		for (uint32_t i = 1; i < n; i++)
			by_row[i] = v[i] - v[i - 1] - durations[i - 1];
	else
		for (uint32_t i = 1; i < n; i++)
			by_row[i] = v[i] - v[i - 1];
}

/* Residuals of all rows, and with pairs their keys, where there are several lanes. */
static inline __attribute__((always_inline)) void
predict_lanes(struct ws_residual *r, const uint16_t *tokens, const uint64_t *durations,
              const uint64_t *v, uint32_t n, const bool pairs)
{
	const bool few = r->writing->ntokens <= WS_RESIDUAL_TABLE_TOKENS;
	struct ws_residual_writing *w = r->writing;
	uint64_t clock = 0;

	ws_lanes_clear(r);
	for (uint32_t i = 0; i < n; i++) {
		const unsigned token = tokens[i], lane = r->lane_of_token[token];
		unsigned key = token;

		if (r->lane_begun[lane]) {
			clock = r->lane_clock[lane];
			if (pairs)
				key = key_of_pair(r, r->lane_token[lane], token, few);
		}
		if (pairs) {
			w->keys[i] = (uint16_t)key;
			w->rows_of_key[key]++;
			r->lane_token[lane] = (uint16_t)token;
		}
		w->by_row[i] = v[i] - clock;
		clock = v[i] + (durations ? durations[i] : 0);
		r->lane_begun[lane] = 1;
		r->lane_clock[lane] = clock;
	}
}

/* Nothing is known of any pair; no token has rows yet. */
static void clear_keys(struct ws_residual *r, uint32_t n)
{
	struct ws_residual_writing *w = r->writing;

	memset(w->rows_of_key, 0, w->ntokens * sizeof(*w->rows_of_key));
	if (w->ntokens > WS_RESIDUAL_TABLE_TOKENS)
		ws_pairs_clear(r, n < WS_RESIDUAL_MAX_PAIRS ? n : WS_RESIDUAL_MAX_PAIRS);
	else
		memset(r->context_of_pair, 0,
		       (size_t)w->ntokens * w->ntokens * sizeof(*r->context_of_pair));
}

/* The residuals: v itself where nothing is predicted. Keys get their rows counted. */
static const uint64_t *find_residuals(struct ws_residual *r, const struct ws_residual_how *how,
                                      const uint64_t *v, uint32_t n)
{
	const struct ws_tokens *t = how->tokens;
	const bool predicted = how->predictor != WS_PREDICT_NOTHING;
	const bool pairs = predicted && how->context == WS_CONTEXT_PAIR;
	struct ws_residual_writing *w = r->writing;
	const uint16_t *tokens = t->count ? t->of_row : r->context_of_row;

	number_lanes(r, how);
	w->ntokens = t->count ? t->count : 1;
	w->key_of_row = pairs ? w->keys : tokens;
	r->npairs = 0;
	if (!t->count)
		memset(r->context_of_row, 0, n * sizeof(*r->context_of_row));
	if (pairs)
		clear_keys(r, n);
	else if (t->count)
		memcpy(w->rows_of_key, t->rows, t->count * sizeof(*t->rows));
	else
		w->rows_of_key[0] = n;
	if (!predicted)
		return v;
	/* a loop for each case, without what the others need */
	if (r->nlanes > 1 && pairs)
		predict_lanes(r, tokens, how->durations, v, n, 1);
	else if (r->nlanes > 1)
		predict_lanes(r, tokens, how->durations, v, n, 0);
	else
		predict_lane(r, how->durations, v, n);
	if (r->nlanes == 1 && pairs && w->ntokens <= WS_RESIDUAL_TABLE_TOKENS)
		find_keys(r, tokens, n, 1);
	else if (r->nlanes == 1 && pairs)
		find_keys(r, tokens, n, 0);
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

	const unsigned shift = q & (q - 1) ? 0 : (unsigned)__builtin_ctzll(q);

	if (q == 1)
		return residuals;
	for (uint32_t i = 0; i < n; i++) {
		/* a division takes as long as all else that is done with a row */
		uint64_t m = shift ? (uint64_t)((int64_t)(residuals[i] + q / 2) >> shift)
		                   : nearest(residuals[i], q);
		uint64_t rest = residuals[i] - m * q;

		w->quanta[i] = (remainders ? rest + 128 < 256 : !rest) ? m : NO_QUANTA;
	}
	return w->quanta;
}

/* --- the rows --- */

/* The context of each key, as a reader finds it, and where the rows of a context begin. */
static void place_contexts(struct ws_residual *r)
{
	struct ws_residual_writing *w = r->writing;
	uint32_t start = 0, kept = 0;

	memcpy(w->of_key, r->context_of_token, w->ntokens * sizeof(*w->of_key));
	memcpy(w->of_key + w->ntokens, w->context_of_pair + 1, r->npairs * sizeof(*w->of_key));
	for (uint32_t k = 0; k < w->ntokens + r->npairs; k++)
		r->contexts[w->of_key[k]].rows += w->rows_of_key[k];
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		r->contexts[k].start = start;
		start += r->contexts[k].rows;
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

/*
 * The symbol of each row, and what its low bits are taken of, by context. A distance from the base
 * of less than 255 << shift has a symbol; others are told in full. is_exact: the
 * quantum is 1, which fits all.
 */
static inline __attribute__((always_inline)) void
code_rows(struct ws_residual *r, const uint64_t *residuals, const uint64_t *quanta, uint32_t n,
          const bool is_exact, const bool remainders, uint8_t *symbols)
{
	struct ws_residual_writing *w = r->writing;
	const uint16_t *key_of_row = w->key_of_row;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n; i++) {
		struct ws_residual_context *x = &r->contexts[w->of_key[key_of_row[i]]];
		const uint32_t at = x->start++;
		const uint64_t m = quanta[i];
		uint64_t d = m - x->base, symbol = d >> x->shift;

		if (__builtin_expect(symbol >= WS_RESIDUAL_ESCAPE || (!is_exact && m == NO_QUANTA),
		                     0)) {
			symbol = WS_RESIDUAL_ESCAPE;
			d = 0;
			w->in_full[at] = residuals[i];
		}
		symbols[at] = (uint8_t)symbol;
		r->clustered[at] = d;
		if (remainders)
			w->remainders[at] =
			        m == NO_QUANTA ? 0
			                       : (uint8_t)ws_zigzag(residuals[i] - m * r->quantum);
	}
	for (uint32_t k = 0; k < r->ncontexts; k++)
		r->contexts[k].start -= r->contexts[k].rows;
}

/* Where symbols of another shape begin, a part ends, unless it is short. */
static void end_parts(const struct ws_residual *r, size_t offset, struct ws_residual_parts *parts)
{
	const uint8_t *shape = r->writing->shape;
	uint32_t part = 0;

	for (uint32_t k = 1; k < r->ncontexts; k++)
		if (shape[k] != shape[k - 1] && r->contexts[k].start - part >= PART_BYTES) {
			part = r->contexts[k].start;
			end_part(parts, offset + part);
		}
}

/* Bits of word, below 8 after each value. */
struct bits {
	uint8_t *p;
	uint64_t word;
	unsigned filled;
};

static inline void put_bits(struct bits *b, uint64_t v, unsigned n)
{
	b->word |= v << b->filled;
	b->filled += n;
	ws_store_u64(b->p, b->word);
	b->p += b->filled / 8;
	b->word >>= b->filled & ~7u;
	b->filled %= 8;
}

static void put_low_bits(const struct ws_residual *r, struct ws_buf *out)
{
	struct bits bits = {.p = out->data + out->len};

	for (uint32_t k = 0; k < r->ncontexts; k++) {
		const struct ws_residual_context x = r->contexts[k];
		const uint64_t mask = (UINT64_C(1) << x.shift) - 1;
		const uint64_t *d = r->clustered + x.start, *end = d + x.rows;

		if (!x.shift)
			continue;
		/* four at once, where they leave room for what is left of a byte */
		for (; 4 * x.shift <= 56 && end - d >= 4; d += 4)
			put_bits(&bits,
			         (d[0] & mask) | (d[1] & mask) << x.shift |
			                 ((d[2] & mask) | (d[3] & mask) << x.shift) << 2 * x.shift,
			         4 * x.shift);
		for (; d < end; d++)
			put_bits(&bits, *d & mask, x.shift);
	}
	if (bits.filled)
		*bits.p++ = (uint8_t)bits.word;
	out->len = (size_t)(bits.p - out->data);
}

/* Remainders, and the values told in full. */
static enum ws_status put_rest(const struct ws_residual *r, const uint8_t *symbols, uint32_t n,
                               int remainders, struct ws_buf *out, struct ws_err *err)
{
	const uint8_t *end = symbols + n;
	uint8_t *p;

	if (remainders)
		WS_FORWARD(ws_buf_put(out, r->writing->remainders, n, err));
	p = out->data + out->len;
	for (const uint8_t *s = symbols; (s = memchr(s, WS_RESIDUAL_ESCAPE, (size_t)(end - s)));
	     s++)
		p = ws_varint_put(p, ws_zigzag(r->writing->in_full[s - symbols]));
	out->len = (size_t)(p - out->data);
	return WS_OK;
}

/* All contexts have their places. */
static enum ws_status put_values(struct ws_residual *r, const uint64_t *residuals,
                                 const uint64_t *quanta, size_t before, uint32_t n, int remainders,
                                 struct ws_buf *out, struct ws_residual_parts *parts,
                                 struct ws_err *err)
{
	uint64_t nbits = 0;
	uint8_t *symbols;

	for (uint32_t k = 0; k < r->ncontexts; k++)
		nbits += (uint64_t)r->contexts[k].rows * r->contexts[k].shift;
	WS_FORWARD(ws_buf_reserve(out, (size_t)n * (2 + WS_VARINT_MAX) + (size_t)(nbits / 8) + 16,
	                          err));
	symbols = out->data + out->len;
	if (remainders)
		code_rows(r, residuals, quanta, n, 0, 1, symbols);
	else if (r->quantum != 1)
		code_rows(r, residuals, quanta, n, 0, 0, symbols);
	else
		code_rows(r, residuals, quanta, n, 1, 0, symbols);
	end_part(parts, out->len - before);
	end_parts(r, out->len - before, parts);
	out->len += n;
	end_part(parts, out->len - before);
	put_low_bits(r, out);
	end_part(parts, out->len - before);
	return put_rest(r, symbols, n, remainders, out, err);
}

enum ws_status ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *v, uint32_t n, struct ws_buf *out,
                               struct ws_residual_parts *parts, struct ws_err *err)
{
	const size_t before = out->len;
	const uint64_t *residuals, *quanta;
	int remainders;

	parts->count = 0;
	residuals = find_residuals(r, how, v, n);
	r->quantum = find_quantum(residuals, n, &remainders);
	quanta = quantize(r, residuals, n, remainders);
	ws_residual_find_contexts(r, how, quanta, n);
	place_contexts(r);
	WS_FORWARD(put_tables(r, how, remainders, out, err));
	return put_values(r, residuals, quanta, before, n, remainders, out, parts, err);
}
