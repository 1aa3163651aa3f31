#include "formats/codec/residual_private.h"

#include <stdbool.h>

bool ws_residual_size_is_possible(uint64_t size, uint64_t n)
{
	/* a symbol, low bits, a remainder and an escape a row, and a pair and a context for each */
	return size >= WS_RESIDUAL_HEAD + n && size <= 64 + n * (18 + 8 * WS_VARINT_MAX);
}

/* --- the numbers before the values --- */

struct head {
	uint8_t predictor, context, has_remainders;
};

static enum ws_status get_head(struct ws_cursor *c, struct head *h, struct ws_err *err)
{
	const uint8_t *p;

	WS_FORWARD(ws_cursor_bytes(c, WS_RESIDUAL_HEAD, &p, err));
	*h = (struct head){p[0], p[1], p[2]};
	WS_FAIL_IF(h->predictor >= WS_PREDICTOR_END || h->context >= WS_CONTEXT_END ||
	                   h->has_remainders > 1 || p[3],
	           err, CORRUPT, "residuals of kind %u, %u, %u, %u are not defined", p[0], p[1],
	           p[2], p[3]);
	return WS_OK;
}

/* A number from least to below end. */
static enum ws_status get_number(struct ws_cursor *c, uint64_t least, uint64_t end, uint32_t *v,
                                 const char *what, struct ws_err *err)
{
	uint64_t number = 0;

	WS_FORWARD(ws_cursor_varint(c, &number, err));
	WS_FAIL_IF(number < least || number >= end, err, CORRUPT, "%s %llu is not %llu to %llu",
	           what, (unsigned long long)number, (unsigned long long)least,
	           (unsigned long long)end - 1);
	*v = (uint32_t)number;
	return WS_OK;
}

static enum ws_status get_numbers(struct ws_cursor *c, uint32_t n, uint32_t end, uint16_t *v,
                                  const char *what, struct ws_err *err)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < n; i++) {
		WS_FORWARD(get_number(c, 0, end, &number, what, err));
		v[i] = (uint16_t)number;
	}
	return WS_OK;
}

static enum ws_status get_pairs(struct ws_residual *r, struct ws_cursor *c, uint32_t tokens,
                                struct ws_err *err)
{
	uint32_t n = 0, before = 0, token = 0, context = 0;

	WS_FORWARD(get_number(c, 0, WS_RESIDUAL_MAX_PAIRS + 1, &n, "number of pairs", err));
	ws_pairs_clear(r, n);
	for (uint32_t i = 0; i < n; i++) {
		struct ws_pair_slot *slot;

		WS_FORWARD(get_number(c, 0, tokens, &before, "token", err));
		WS_FORWARD(get_number(c, 0, tokens, &token, "token", err));
		WS_FORWARD(get_number(c, 0, r->ncontexts, &context, "context", err));
		slot = ws_pair_find(r, ws_pair_key(before, token));
		*slot = (struct ws_pair_slot){ws_pair_key(before, token), context + 1};
	}
	return WS_OK;
}

static enum ws_status get_contexts(struct ws_residual *r, struct ws_cursor *c, struct ws_err *err)
{
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		struct ws_residual_context *x = &r->contexts[k];

		WS_FORWARD(ws_cursor_varint(c, &x->base, err));
		x->base = ws_unzigzag(x->base);
		WS_FORWARD(ws_cursor_u8(c, &x->shift, err));
		WS_FAIL_IF(x->shift > WS_RESIDUAL_MAX_SHIFT, err, CORRUPT,
		           "context %u has %u low bits, more than %u", k, x->shift,
		           WS_RESIDUAL_MAX_SHIFT);
	}
	return WS_OK;
}

static enum ws_status get_tables(struct ws_residual *r, struct ws_cursor *c, const struct head *h,
                                 uint32_t tokens, uint32_t n, struct ws_err *err)
{
	WS_FORWARD(ws_cursor_varint(c, &r->quantum, err));
	WS_FORWARD(get_number(c, 1, (uint64_t)n + 1, &r->ncontexts, "number of contexts", err));
	WS_FORWARD(get_number(c, 1, (uint64_t)(tokens ? tokens : 1) + 1, &r->nlanes,
	                      "number of lanes", err));
	if (r->nlanes > 1)
		WS_FORWARD(get_numbers(c, tokens, r->nlanes, r->lane_of_token, "lane", err));
	if (h->context != WS_CONTEXT_ONE) {
		WS_FAIL_IF(!tokens, err, CORRUPT,
		           "its contexts are tokens, but the block has none");
		WS_FORWARD(
		        get_numbers(c, tokens, r->ncontexts, r->context_of_token, "context", err));
	}
	if (h->context == WS_CONTEXT_PAIR)
		WS_FORWARD(get_pairs(r, c, tokens, err));
	return get_contexts(r, c, err);
}

/* --- the context of each row --- */

/* The context of every pair of a few tokens, so that a row finds its own at one look. */
static void tabulate_pairs(struct ws_residual *r, uint32_t tokens)
{
	for (uint32_t k = 0; k < tokens; k++)
		memcpy(r->context_of_pair + k * tokens, r->context_of_token,
		       tokens * sizeof(*r->context_of_pair));
	for (uint32_t k = 0; k <= r->slot_mask; k++) {
		const struct ws_pair_slot *slot = &r->slots[k];

		if (slot->value)
			r->context_of_pair[(slot->key >> 16) * tokens + (slot->key & 0xffff)] =
			        (uint16_t)(slot->value - 1);
	}
}

static void place_few_pairs(struct ws_residual *r, const struct ws_tokens *t, uint32_t n)
{
	const unsigned tokens = t->count;
	unsigned before = t->of_row[0];
	uint16_t context = r->context_of_token[before];

	tabulate_pairs(r, tokens);
	r->context_of_row[0] = context;
	for (uint32_t i = 1; i < n; i++) {
		unsigned token = t->of_row[i];

		context = r->context_of_pair[before * tokens + token];
		r->context_of_row[i] = context;
		before = token;
	}
}

static void place_pairs(struct ws_residual *r, const struct ws_tokens *t, uint32_t n)
{
	if (r->nlanes == 1 && t->count <= WS_RESIDUAL_TABLE_TOKENS) {
		place_few_pairs(r, t, n);
		return;
	}
	ws_lanes_clear(r);
	for (uint32_t i = 0; i < n; i++) {
		unsigned token = t->of_row[i];
		unsigned lane = r->nlanes > 1 ? r->lane_of_token[token] : 0;
		uint16_t context = r->context_of_token[token];

		if (r->lane_begun[lane]) {
			const struct ws_pair_slot *slot =
			        ws_pair_find(r, ws_pair_key(r->lane_token[lane], token));

			context = slot->value ? (uint16_t)(slot->value - 1) : context;
		}
		r->lane_begun[lane] = 1;
		r->lane_token[lane] = (uint16_t)token;
		r->context_of_row[i] = context;
	}
}

#define FEW_CONTEXTS 256u

/* Rows of each context, in cursor. */
static void count_rows(struct ws_residual *r, uint32_t n)
{
	uint32_t quarter[4][FEW_CONTEXTS] = {{0}};
	uint32_t i = 0;

	memset(r->cursor, 0, r->ncontexts * sizeof(*r->cursor));
	/* rows of one context follow each other: an addition need not wait for the one before */
	if (r->ncontexts <= FEW_CONTEXTS)
		for (; i + 4 <= n; i += 4)
			for (unsigned k = 0; k < 4; k++)
				quarter[k][r->context_of_row[i + k]]++;
	for (; i < n; i++)
		r->cursor[r->context_of_row[i]]++;
	for (uint32_t k = 0; k < r->ncontexts && k < FEW_CONTEXTS; k++)
		r->cursor[k] += quarter[0][k] + quarter[1][k] + quarter[2][k] + quarter[3][k];
}

/* Contexts of the rows unless their tokens tell them, and where the rows of each context stand
 * among the clustered ones. */
static void place_rows(struct ws_residual *r, const struct head *h, const struct ws_tokens *t,
                       uint32_t n)
{
	uint32_t start = 0;

	if (h->context == WS_CONTEXT_TOKEN) {
		memset(r->cursor, 0, r->ncontexts * sizeof(*r->cursor));
		for (uint32_t k = 0; k < t->count; k++)
			r->cursor[r->context_of_token[k]] += t->rows[k];
	} else if (h->context == WS_CONTEXT_PAIR) {
		place_pairs(r, t, n);
		count_rows(r, n);
	} else {
		memset(r->context_of_row, 0, n * sizeof(*r->context_of_row));
		count_rows(r, n);
	}
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		r->contexts[k].start = start;
		r->contexts[k].rows = r->cursor[k];
		r->cursor[k] = start;
		start += r->contexts[k].rows;
	}
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

/* Are the bytes of a context the same but for the first? */
static bool all_same(const struct ws_residual_context *x, const uint8_t *bytes)
{
	bytes += x->start + 1;
	return x->rows < 3 || !memcmp(bytes, bytes + 1, x->rows - 2);
}

/* From where on all residuals of a context are 0. remainders may be NULL. */
static uint32_t find_zeros(const struct ws_residual_context *x, const uint8_t *symbols,
                           const uint8_t *remainders)
{
	const uint8_t second = x->rows > 1 ? symbols[x->start + 1] : WS_RESIDUAL_ESCAPE;

	if (x->shift || second == WS_RESIDUAL_ESCAPE || x->base + second || !all_same(x, symbols))
		return x->rows;
	if (remainders &&
	    (remainders[x->start] || remainders[x->start + 1] || !all_same(x, remainders)))
		return x->rows;
	return symbols[x->start] != second;
}

/* Rows whose low bits lie where 8 bytes can be read. */
static uint32_t readable_rows(const struct ws_residual_context *x, const struct ws_cursor *low,
                              uint64_t bit)
{
	const uint64_t bits = ws_cursor_left(low) * 8;
	uint64_t n = bit + 64 <= bits ? (bits - 64 - bit) / x->shift + 1 : 0;

	return n < x->rows ? (uint32_t)n : x->rows;
}

/* Symbols and low bits of one context to residuals in quanta; the bits taken. */
static uint64_t unpack_context(const struct ws_residual_context *x, const uint8_t *symbols,
                               const struct ws_cursor *low, uint64_t bit, uint64_t *out)
{
	const unsigned shift = x->shift;
	const uint64_t base = x->base, mask = (UINT64_C(1) << shift) - 1;
	uint32_t i = 0, n;

	if (shift == 0) {
		for (; i < x->rows; i++)
			out[i] = base + symbols[i];
		return bit;
	}
	n = readable_rows(x, low, bit);
	/* 4 rows from one look, which shows 57 bits at least */
	for (; shift <= 14 && i + 4 <= n; i += 4, bit += 4 * shift) {
		uint64_t word = ws_load_u64(low->pos + bit / 8) >> bit % 8;

		for (unsigned k = 0; k < 4; k++, word >>= shift)
			out[i + k] = base + ((uint64_t)symbols[i + k] << shift | (word & mask));
	}
	for (; i < n; i++, bit += shift)
		out[i] = base + ((uint64_t)symbols[i] << shift | bits_at(low->pos, bit, shift));
	for (; i < x->rows; i++, bit += shift)
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
	for (const uint8_t *p = symbols; (p = memchr(p, WS_RESIDUAL_ESCAPE, (size_t)(end - p)));
	     p++) {
		uint64_t *value = &r->clustered[p - symbols];

		WS_FORWARD(ws_cursor_varint(c, value, err));
		*value = ws_unzigzag(*value);
	}
	WS_FAIL_IF(c->pos != c->end, err, CORRUPT, "%zu bytes are left behind the last row",
	           ws_cursor_left(c));
	return WS_OK;
}

static enum ws_status get_clustered(struct ws_residual *r, const struct head *h,
                                    struct ws_cursor *c, uint32_t n, struct ws_err *err)
{
	const uint8_t *symbols, *bits, *remainders = NULL;
	struct ws_cursor low;
	uint64_t nbits = 0, bit = 0;

	for (uint32_t k = 0; k < r->ncontexts; k++)
		nbits += (uint64_t)r->contexts[k].rows * r->contexts[k].shift;
	WS_FORWARD(ws_cursor_bytes(c, n, &symbols, err));
	WS_FORWARD(ws_cursor_bytes(c, (size_t)((nbits + 7) / 8), &bits, err));
	if (h->has_remainders)
		WS_FORWARD(ws_cursor_bytes(c, n, &remainders, err));
	low = (struct ws_cursor){bits, bits + (nbits + 7) / 8};
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		struct ws_residual_context *x = &r->contexts[k];

		x->zero_from = find_zeros(x, symbols, remainders);
		if (x->zero_from < x->rows) {
			r->clustered[x->start] = x->base + symbols[x->start];
			memset(r->clustered + x->start + 1, 0,
			       (x->rows - 1) * sizeof(*r->clustered));
		} else {
			bit = unpack_context(x, symbols + x->start, &low, bit,
			                     r->clustered + x->start);
		}
	}
	return complete(r, symbols, remainders, n, c, err);
}

/* --- residuals to values --- */

/* The residual of row i, which comes next. by_token: of the contexts that tokens tell. */
static inline uint64_t next_residual(struct ws_residual *r, const struct ws_tokens *t,
                                     bool by_token, uint32_t i)
{
	unsigned context = by_token ? r->context_of_token[t->of_row[i]] : r->context_of_row[i];

	return r->clustered[r->cursor[context]++];
}

static inline void add_up_one_lane(struct ws_residual *r, const struct ws_tokens *t, bool by_token,
                                   const uint64_t *durations, uint32_t n, uint64_t *v)
{
	uint64_t clock = 0;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = clock + next_residual(r, t, by_token, i);
		clock = v[i] + (durations ? durations[i] : 0);
	}
}

/* Rows until each lane has one: a lane's first row goes on from the row before, whatever lane that
 * has. Returns the row behind them. */
static inline uint32_t begin_lanes(struct ws_residual *r, const struct ws_tokens *t, bool by_token,
                                   const uint64_t *durations, uint32_t n, uint64_t *v)
{
	uint32_t begun = 0, i = 0;
	uint64_t clock = 0;

	ws_lanes_clear(r);
	for (; i < n && begun < r->nlanes; i++) {
		unsigned lane = r->lane_of_token[t->of_row[i]];

		if (r->lane_begun[lane])
			clock = r->lane_clock[lane];
		begun += !r->lane_begun[lane];
		r->lane_begun[lane] = 1;
		v[i] = clock + next_residual(r, t, by_token, i);
		clock = v[i] + (durations ? durations[i] : 0);
		r->lane_clock[lane] = clock;
	}
	return i;
}

static inline void go_on(struct ws_residual *r, const struct ws_tokens *t, bool by_token,
                         const uint64_t *durations, uint32_t i, uint64_t *v)
{
	uint64_t *lane_clock = &r->lane_clock[r->lane_of_token[t->of_row[i]]];

	v[i] = *lane_clock + next_residual(r, t, by_token, i);
	*lane_clock = v[i] + (durations ? durations[i] : 0);
}

/*
 * Half of a column, or more, is often 0 for what its rows are: an event takes
 * no time and has no correlation. The tokens of other rows that come are busy;
 * returns how many rows of the whole block they have.
 */
static uint32_t find_busy(struct ws_residual *r, const struct head *h, const struct ws_tokens *t)
{
	const bool alone = h->predictor == WS_PREDICT_NOTHING;
	uint8_t *lane_is_busy = r->lane_begun; /* all are */
	uint32_t rows = 0;

	/* what goes on from another value than 0 is no 0 */
	for (uint32_t k = 0; k < r->nlanes && !alone; k++)
		lane_is_busy[k] = r->lane_clock[k] != 0;
	for (uint32_t k = 0; k < t->count; k++) {
		unsigned context = r->context_of_token[k];
		const struct ws_residual_context *x = &r->contexts[context];

		r->is_busy[k] = r->cursor[context] - x->start < x->zero_from;
		if (!alone)
			lane_is_busy[r->lane_of_token[k]] |= r->is_busy[k];
	}
	for (uint32_t k = 0; k < t->count; k++) {
		if (!alone)
			r->is_busy[k] = lane_is_busy[r->lane_of_token[k]];
		rows += r->is_busy[k] ? t->rows[k] : 0;
	}
	return rows;
}

/* Rows begin .. n - 1, by token and without durations, without a look at those that are 0. */
static void add_up_busy(struct ws_residual *r, bool alone, const struct ws_tokens *t,
                        uint32_t begin, uint32_t n, uint64_t *v)
{
	uint32_t busy = 0;

	memset(v + begin, 0, (n - begin) * sizeof(*v));
	for (uint32_t i = begin; i < n; i++) {
		r->busy_row[busy] = (uint16_t)i;
		busy += r->is_busy[t->of_row[i]];
	}
	for (uint32_t k = 0; k < busy; k++) {
		if (alone)
			v[r->busy_row[k]] = next_residual(r, t, true, r->busy_row[k]);
		else
			go_on(r, t, true, NULL, r->busy_row[k], v);
	}
}

/* Residuals whose contexts tokens tell. */
static void add_up_by_token(struct ws_residual *r, const struct head *h, const struct ws_tokens *t,
                            const uint64_t *durations, uint32_t n, uint64_t *v)
{
	const bool alone = h->predictor == WS_PREDICT_NOTHING;
	uint32_t begin = 0;

	if (!alone && r->nlanes == 1) {
		add_up_one_lane(r, t, true, durations, n, v);
		return;
	}
	if (!alone)
		begin = begin_lanes(r, t, true, durations, n, v);
	if (begin < n && !durations && find_busy(r, h, t) <= n / 2)
		add_up_busy(r, alone, t, begin, n, v);
	else if (alone)
		for (uint32_t i = 0; i < n; i++)
			v[i] = next_residual(r, t, true, i);
	else
		for (uint32_t i = begin; i < n; i++)
			go_on(r, t, true, durations, i, v);
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
	WS_FORWARD(get_tables(r, &c, &h, t->count, n, err));
	place_rows(r, &h, t, n);
	WS_FORWARD(get_clustered(r, &h, &c, n, err));
	if (h.context == WS_CONTEXT_TOKEN)
		add_up_by_token(r, &h, t, how->durations, n, v);
	else if (h.predictor == WS_PREDICT_NOTHING)
		for (uint32_t i = 0; i < n; i++)
			v[i] = next_residual(r, t, false, i);
	else if (r->nlanes > 1)
		for (uint32_t i = begin_lanes(r, t, false, how->durations, n, v); i < n; i++)
			go_on(r, t, false, how->durations, i, v);
	else
		add_up_one_lane(r, t, false, how->durations, n, v);
	return WS_OK;
}
