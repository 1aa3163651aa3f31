#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdlib.h>

#include "formats/codec/columns.h"
#include "tests/environment/random.h"

static uint64_t state = 88172645463325252u;

/* Rows with tokens and durations, and what codes them. */
struct rows {
	uint32_t n, kinds;
	uint64_t *name, *value, *duration, *back;
	struct ws_tokens tokens, tokens_back;
	struct ws_residual *writer, *reader;
	struct ws_buf bytes;
	struct ws_residual_parts parts;
};

static void rows_init(struct rows *r, uint32_t n, uint32_t kinds)
{
	memset(r, 0, sizeof(*r));
	r->n = n;
	r->kinds = kinds;
	r->name = calloc(n, sizeof(uint64_t));
	r->value = calloc(n, sizeof(uint64_t));
	r->duration = calloc(n, sizeof(uint64_t));
	r->back = calloc(n, sizeof(uint64_t));
	for (uint32_t i = 0; i < n; i++)
		r->name[i] = 100 + random_u64(&state) % kinds;
	ws_tokens_init(&r->tokens, 1);
	ws_tokens_init(&r->tokens_back, 0);
	r->writer = ws_residual_new();
	r->reader = ws_residual_new();
	ws_tokens_build(&r->tokens, (const uint64_t *const[]){r->name}, 1, n);
}

static void rows_free(struct rows *r)
{
	free(r->name);
	free(r->value);
	free(r->duration);
	free(r->back);
	ws_tokens_free(&r->tokens);
	ws_tokens_free(&r->tokens_back);
	free(r->writer);
	free(r->reader);
	ws_buf_free(&r->bytes);
}

static const struct ws_tokens no_tokens;

/* one: without the tokens. */
static size_t encode(struct rows *r, enum ws_predictor predictor, bool one, int lanes)
{
	const struct ws_residual_how how = {predictor, one ? &no_tokens : &r->tokens,
	                                    predictor == WS_PREDICT_END_BEFORE ? r->duration : NULL,
	                                    lanes ? r->name : NULL};

	r->bytes.len = 0;
	ws_residual_put(r->writer, &how, r->value, r->n, &r->bytes, &r->parts);
	cr_assert(ws_residual_size_is_possible(r->bytes.len, r->n));
	for (unsigned k = 0; k < r->parts.count; k++)
		cr_assert(le(sz, r->parts.end[k], r->bytes.len));
	return r->bytes.len;
}

static void decode(struct rows *r, enum ws_predictor predictor, bool one)
{
	const struct ws_residual_how how = {.tokens = one ? &no_tokens : &r->tokens,
	                                    .durations = predictor == WS_PREDICT_END_BEFORE
	                                                         ? r->duration
	                                                         : NULL};
	/* exactly these bytes, so that a sanitizer sees what is read behind them */
	uint8_t *copy = malloc(r->bytes.len);
	struct ws_err err;

	memcpy(copy, r->bytes.data, r->bytes.len);
	memset(r->back, 0x55, r->n * sizeof(*r->back));
	cr_assert(eq(int, ws_residual_get(r->reader, &how, copy, r->bytes.len, r->n, r->back, &err),
	             WS_OK),
	          "%s", err.text);
	for (uint32_t i = 0; i < r->n; i++)
		cr_assert(eq(u64, r->back[i], r->value[i]), "row %u of %u", i, r->n);
	free(copy);
}

static void round_trips(struct rows *r)
{
	for (enum ws_predictor p = 0; p < WS_PREDICTOR_END; p++)
		for (int one = 0; one < 2; one++)
			for (int lanes = 0; lanes < 2; lanes++) {
				encode(r, p, one, lanes);
				decode(r, p, one);
			}
}

/* Each style is a sort of values that some branch of the coding exists for. */
static uint64_t value_of(unsigned style, uint64_t before, uint64_t name)
{
	static const uint64_t extremes[] = {0,         1,          UINT64_MAX, INT64_MAX,
	                                    INT64_MIN, 1ull << 48, 1ull << 56, INT64_MAX - 1};

	switch (style) {
	case 0:
		return before + name * 1000 + random_u64(&state) % 64;
	case 1: /* a clock of 32 ns, now and then beside it */
		return (before + 1000 + random_u64(&state) % 4096) / 32 * 32 +
		       (random_u64(&state) % 8 == 0);
	case 2: /* a clock of 1 us that begins anywhere */
		return before + random_u64(&state) % 9 * 1000;
	case 3:
		return random_u64(&state);
	case 4:
		return extremes[random_u64(&state) % 8];
	case 5: /* steady, with outliers */
		return before + 5000 +
		       (random_u64(&state) % 50 ? 0
		                                : random_u64(&state) >> random_u64(&state) % 64);
	case 6: /* going back */
		return before - random_u64(&state) % 100000;
	default:
		return 7;
	}
}

Test(residual, all_sorts_of_values_come_back)
{
	static const uint32_t sizes[] = {1, 2, 127, 128, 1000, 5000};

	for (unsigned style = 0; style < 8; style++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
			struct rows r;

			rows_init(&r, sizes[s], 1 + (uint32_t)(random_u64(&state) % 12));
			for (uint32_t i = 0; i < r.n; i++) {
				r.value[i] =
				        value_of(style, i ? r.value[i - 1] : 123456789, r.name[i]);
				r.duration[i] = value_of(style, 0, r.name[i]);
			}
			round_trips(&r);
			rows_free(&r);
		}
}

/* Most rows are 0 for what they are, and are not looked at one by one, unless some are not. */
Test(residual, rows_that_are_0_by_their_token_come_back)
{
	enum { ALL, FIRST_IS_NOT, LAST_IS_NOT, ANOTHER_CONSTANT, IN_QUANTA, STYLES };

	for (unsigned style = ALL; style < STYLES; style++)
		for (uint32_t n = 64; n <= 9000; n = n * 3 + 1) {
			struct rows r;

			rows_init(&r, n, 5);
			for (uint32_t i = 0; i < n; i++) {
				bool is_busy = r.name[i] == 102;
				uint64_t noise = random_u64(&state) % 100;

				r.value[i] = !is_busy ? 0 : style == IN_QUANTA ? i * 32 : i + noise;
				if (!is_busy && style == ANOTHER_CONSTANT)
					r.value[i] = 7;
			}
			r.value[0] += style == FIRST_IS_NOT ? 1000000 : 0;
			r.value[n - 1] += style == LAST_IS_NOT ? 1 : 0;
			round_trips(&r);
			rows_free(&r);
		}
}

Test(residual, a_full_block_with_more_lanes_than_there_may_be_comes_back)
{
	struct rows r;

	rows_init(&r, WS_MAX_BLOCK_ROWS, 600);
	cr_assert(eq(u32, r.tokens.count, 600));
	for (uint32_t i = 0; i < r.n; i++) {
		r.duration[i] = r.name[i] * 10 + random_u64(&state) % 16;
		r.value[i] = i ? r.value[i - 1] + r.duration[i - 1] + random_u64(&state) % 32 : 0;
	}
	round_trips(&r);
	rows_free(&r);
}

/* Bytes a row, but for what does not grow with the rows. */
static double bytes_a_row(struct rows *r, enum ws_predictor p, bool one, int lanes)
{
	size_t size = encode(r, p, one, lanes);

	decode(r, p, one);
	return (double)size / r->n;
}

Test(residual, a_token_that_tells_the_duration_leaves_its_noise_only)
{
	struct rows r;

	rows_init(&r, 20000, 16);
	for (uint32_t i = 0; i < r.n; i++)
		r.value[i] = (r.name[i] - 99) * 1000000 + random_u64(&state) % 64;
	/* 64 values: 6 bits in a byte of their own; with one measure 8 bits and 16 more */
	cr_assert(lt(dbl, bytes_a_row(&r, WS_PREDICT_NOTHING, false, 0), 1.6));
	cr_assert(gt(dbl, bytes_a_row(&r, WS_PREDICT_NOTHING, true, 0), 2.5));
	rows_free(&r);
}

Test(residual, a_quantum_takes_no_bits)
{
	struct rows r;

	rows_init(&r, 20000, 4);
	for (uint32_t i = 0; i < r.n; i++)
		r.value[i] = (i ? r.value[i - 1] : 5) + 1000 * (1000 + random_u64(&state) % 16);
	cr_assert(lt(dbl, bytes_a_row(&r, WS_PREDICT_BEFORE, true, 0), 1.1));
	rows_free(&r);
}

Test(residual, lanes_go_on_where_they_ended)
{
	uint64_t clock[4] = {0, 1000000000, 5000000000, 70000000000};
	struct rows r;

	rows_init(&r, 20000, 4);
	for (uint32_t i = 0; i < r.n; i++) {
		r.value[i] = clock[r.name[i] - 100] += 1000 + random_u64(&state) % 16;
	}
	cr_assert(lt(dbl, bytes_a_row(&r, WS_PREDICT_BEFORE, false, 1), 1.1));
	cr_assert(gt(dbl, bytes_a_row(&r, WS_PREDICT_BEFORE, false, 0), 3));
	rows_free(&r);
}

/* Any byte of a residual wrong: other values, or CORRUPT, but nothing else. */
Test(residual, wrong_bytes_are_corrupt_or_other_values)
{
	struct ws_residual_how how;
	struct rows r;
	unsigned refused = 0;

	rows_init(&r, 300, 5);
	for (uint32_t i = 0; i < r.n; i++)
		r.value[i] = value_of(5, i ? r.value[i - 1] : 0, r.name[i]);
	encode(&r, WS_PREDICT_BEFORE, false, 1);
	how = (struct ws_residual_how){.tokens = &r.tokens};
	for (size_t at = 0; at < r.bytes.len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct ws_err err;
			enum ws_status status;

			r.bytes.data[at] ^= (uint8_t)(1 << bit);
			status = ws_residual_get(r.reader, &how, r.bytes.data, r.bytes.len, r.n,
			                         r.back, &err);
			cr_assert(status == WS_OK || status == WS_CORRUPT);
			refused += status == WS_CORRUPT;
			r.bytes.data[at] ^= (uint8_t)(1 << bit);
		}
	cr_assert(gt(u32, refused, 100));
	for (size_t len = 0; len < r.bytes.len; len++) {
		struct ws_err err;
		uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, r.bytes.data, len);
		cr_assert(eq(int, ws_residual_get(r.reader, &how, cut, len, r.n, r.back, &err),
		             WS_CORRUPT));
		free(cut);
	}
	rows_free(&r);
}

static enum ws_status get_tokens(struct ws_tokens *t, const uint8_t *data, size_t size,
                                 uint32_t rows)
{
	static uint64_t values[WS_MAX_BLOCK_ROWS];
	struct ws_err err;

	return ws_tokens_get(t, WS_TYPE_U64, data, size, rows, values, &err);
}

Test(residual, tokens_that_are_not_there_are_corrupt)
{
	struct ws_tokens t;

	ws_tokens_init(&t, 0);
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\2\7\11\0\1\0", 6, 3), WS_OK));
	cr_assert(eq(u32, t.count, 2));
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\2\7\11\0\1\2", 6, 3), WS_CORRUPT));
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\0\7\11\0\1\0", 6, 3), WS_CORRUPT));
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\4\7\11\0\1\0", 6, 3), WS_CORRUPT));
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\2\7\11\0\1", 5, 3), WS_CORRUPT));
	cr_assert(eq(int, get_tokens(&t, (const uint8_t *)"\2\7\11\0\1\0\0", 7, 3), WS_CORRUPT));
	ws_tokens_free(&t);
}

/* The bytes and values of docs/dev/trace-format.md, section 2.2, written out by hand. */
Test(residual, the_example_of_the_format_page_decodes)
{
	static const uint8_t tokens[] = {2, 7, 9, 0, 0, 1, 0, 1};
	static const uint8_t bytes[] = {0x02, 0x00, 0x04, 0x02, 0x00, 0x01, 0x00, 0x08, 0x08,
	                                0x00, 0xf6, 0x02, 0x03, 0xff, 0x02, 0x06, 0x8f, 0x05};
	static const uint64_t durations[] = {400, 404, 400, 400, 400};
	static const uint64_t starts[] = {1000, 1424, 1500, 1856, 1936};
	uint64_t values[5], back[5];
	struct ws_tokens t;
	struct ws_residual *r = ws_residual_new();
	struct ws_err err;

	ws_tokens_init(&t, 0);
	cr_assert(eq(int, ws_tokens_get(&t, WS_TYPE_U64, tokens, sizeof(tokens), 5, values, &err),
	             WS_OK));
	cr_assert(eq(int,
	             ws_residual_get(
	                     r, &(struct ws_residual_how){.tokens = &t, .durations = durations},
	                     bytes, sizeof(bytes), 5, back, &err),
	             WS_OK),
	          "%s", err.text);
	for (int i = 0; i < 5; i++)
		cr_assert(eq(u64, back[i], starts[i]), "row %d", i);
	ws_tokens_free(&t);
	free(r);
}
