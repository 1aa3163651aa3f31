#include "formats/codec/columns.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "formats/base/memory.h"

/* bits of enum ws_type */
#define BLOBS    (1u << WS_TYPE_BLOB)
#define FIXED    (~BLOBS)
#define INTEGERS (FIXED & ~(1u << WS_TYPE_F64))

static const struct {
	const char *name;
	unsigned types;
} encodings[WS_ENCODING_END] = {
#define X(NAME, id, name, types) [id] = {name, types},
        WS_ENCODING_LIST(X)
#undef X
};

const char *ws_encoding_name(unsigned encoding)
{
	return encoding < WS_ENCODING_END ? encodings[encoding].name : NULL;
}

bool ws_encoding_fits(enum ws_encoding encoding, enum ws_type type)
{
	return encodings[encoding].types >> type & 1;
}

/* --- encodings that need nothing but their column --- */

void ws_codec_measure(enum ws_type type, const uint64_t *v, size_t n,
                      struct ws_encoded_sizes *sizes)
{
	size_t varint = 0, delta = 0;
	uint64_t differs = 0, before = 0;
	int sign = ws_type_is_signed(type);

	for (size_t i = 0; i < n; i++) {
		varint += ws_varint_size(sign ? ws_zigzag(v[i]) : v[i]);
		delta += ws_varint_size(ws_zigzag(v[i] - before));
		differs |= v[i] ^ v[0];
		before = v[i];
	}

	memset(sizes, 0, sizeof(*sizes));
	if (!differs)
		sizes->bytes[WS_ENCODING_CONSTANT] = varint / n;
	if (type != WS_TYPE_F64) {
		sizes->bytes[WS_ENCODING_VARINT] = varint;
		sizes->bytes[WS_ENCODING_DELTA] = delta;
	}
	sizes->bytes[WS_ENCODING_RAW] = n * sizeof(*v);
}

uint8_t *ws_codec_encode(enum ws_encoding encoding, enum ws_type type, const uint64_t *v, size_t n,
                         uint8_t *out)
{
	int sign = ws_type_is_signed(type);
	uint64_t before = 0;

	switch (encoding) {
	case WS_ENCODING_CONSTANT:
		return ws_varint_put(out, sign ? ws_zigzag(v[0]) : v[0]);
	case WS_ENCODING_VARINT:
		for (size_t i = 0; i < n; i++)
			out = ws_varint_put(out, sign ? ws_zigzag(v[i]) : v[i]);
		return out;
	case WS_ENCODING_DELTA:
		for (size_t i = 0; i < n; i++) {
			out = ws_varint_put(out, ws_zigzag(v[i] - before));
			before = v[i];
		}
		return out;
	case WS_ENCODING_RAW:
		memcpy(out, v, n * sizeof(*v));
		return out + n * sizeof(*v);
	default: /* encodings that need other columns, too */
		return out;
	}
}

#define CONTINUE_BITS 0x8080808080808080u

/*
 * Decode a number that ends within the next 8 bytes. Returns the bytes that it took, or 0 when it
 * is longer. There is no branch on the length: lengths in noisy columns cannot be predicted.
 */
static inline unsigned get_short(uint64_t word, uint64_t *v)
{
	uint64_t stops = ~word & CONTINUE_BITS;

	if (!stops)
		return 0;
	/* clear the bytes after the first one without a continue bit, and all continue bits */
	uint64_t x = word & (stops ^ (stops - 1)) & ~CONTINUE_BITS;
	/* close the gaps between groups of 7, 14 and 28 bits */
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	x = (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
	*v = x;
	return ((unsigned)__builtin_ctzll(stops) >> 3) + 1;
}

/* Decode n values of a type from the front of c. */
static enum ws_status get_values(struct ws_cursor *c, size_t n, enum ws_type type, uint64_t *v,
                                 struct ws_err *err)
{
	size_t i = 0;

	while (i < n && ws_cursor_left(c) >= 8) {
		uint64_t word = ws_load_u64(c->pos);

		if (!(word & CONTINUE_BITS) && n - i >= 8) {
			for (unsigned k = 0; k < 8; k++)
				v[i + k] = c->pos[k];
			i += 8;
			c->pos += 8;
			continue;
		}
		unsigned took = get_short(word, &v[i]);
		if (took)
			c->pos += took;
		else
			WS_FORWARD(ws_cursor_varint(c, &v[i], err));
		i++;
	}
	for (; i < n; i++)
		WS_FORWARD(ws_cursor_varint(c, &v[i], err));
	for (i = 0; ws_type_is_signed(type) && i < n; i++)
		v[i] = ws_unzigzag(v[i]);
	return WS_OK;
}

enum ws_status ws_codec_decode(enum ws_encoding encoding, enum ws_type type, const uint8_t *data,
                               size_t size, size_t n, uint64_t *v, struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};
	uint64_t sum = 0;

	if (encoding == WS_ENCODING_RAW) {
		WS_FAIL_IF(size != n * sizeof(*v), err, CORRUPT,
		           "%zu bytes instead of 8 for each of %zu rows", size, n);
		memcpy(v, data, size);
		return WS_OK;
	}

	WS_FORWARD(get_values(&c, encoding == WS_ENCODING_CONSTANT ? 1 : n,
	                      encoding == WS_ENCODING_DELTA ? WS_TYPE_I64 : type, v, err));
	WS_FAIL_IF(c.pos != c.end, err, CORRUPT, "%zu bytes are left after the last row",
	           ws_cursor_left(&c));
	for (size_t i = 0; encoding == WS_ENCODING_DELTA && i < n; i++)
		v[i] = (sum += v[i]);
	for (size_t i = 1; encoding == WS_ENCODING_CONSTANT && i < n; i++)
		v[i] = v[0];
	return WS_OK;
}

void ws_codec_encode_blobs(const uint64_t *lengths, size_t n, const void *bytes, size_t nbytes,
                           struct ws_buf *out)
{
	ws_buf_reserve(out, n * WS_VARINT_MAX);
	uint8_t *p = out->data + out->len;
	for (size_t i = 0; i < n; i++)
		p = ws_varint_put(p, lengths[i]);
	out->len = (size_t)(p - out->data);
	ws_buf_put(out, bytes, nbytes);
}

enum ws_status ws_codec_decode_blobs(const uint8_t *data, size_t size, size_t n, struct ws_bytes *b,
                                     struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};

	for (size_t i = 0; i < n; i++) {
		uint64_t length;

		WS_FORWARD(ws_cursor_varint(&c, &length, err));
		WS_FAIL_IF(length > WS_MAX_BLOB_BYTES, err, CORRUPT,
		           "row %zu has %llu bytes, more than the limit of %u", i,
		           (unsigned long long)length, WS_MAX_BLOB_BYTES);
		b[i].len = (size_t)length;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p;

		WS_FAIL_IF(b[i].len > ws_cursor_left(&c), err, CORRUPT,
		           "row %zu has %zu bytes, but only %zu are left", i, b[i].len,
		           ws_cursor_left(&c));
		WS_FORWARD(ws_cursor_bytes(&c, b[i].len, &p, err));
		b[i].ptr = p;
	}
	WS_FAIL_IF(c.pos != c.end, err, CORRUPT, "%zu bytes are left after the last row",
	           ws_cursor_left(&c));
	return WS_OK;
}

/* --- tokens --- */

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
		uint64_t hash = 0;

		for (unsigned c = 0; c < ncolumns; c++)
			hash = (hash ^ columns[c][i]) * UINT64_C(0x9e3779b97f4a7c15);
		uint32_t slot = (uint32_t)(hash >> 32) & (SLOTS - 1);
		while (t->slots[slot] &&
		       !rows_are_equal(columns, ncolumns, i, t->first_row[t->slots[slot] - 1]))
			slot = (slot + 1) & (SLOTS - 1);
		uint32_t token = t->slots[slot];
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
	/* compiled once for each common number of columns */
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
		/* in stretches, so that the loop does not check for the end at each row */
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

	ws_buf_reserve(out, (size_t)t->count * WS_VARINT_MAX);
	uint8_t *p = out->data + out->len;
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

	ws_buf_put(out, count, (size_t)(ws_varint_put(count, t->count) - count));
	ws_tokens_put_values(t, type, v, out);
	ws_buf_reserve(out, (size_t)rows * 2);
	uint8_t *p = out->data + out->len;
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

#define FEW_TOKENS 256u

enum ws_status ws_tokens_get(struct ws_tokens *t, enum ws_type type, const uint8_t *data,
                             size_t size, uint32_t rows, uint64_t *values, struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};
	uint16_t greatest = 0;
	uint64_t count;

	t->count = 0;
	WS_FORWARD(ws_cursor_varint(&c, &count, err));
	WS_FAIL_IF(count == 0 || count > rows, err, CORRUPT, "%llu tokens for %u rows",
	           (unsigned long long)count, rows);
	WS_FORWARD(get_values(&c, count, type, values, err));
	t->count = (uint32_t)count;

	size_t width = count <= FEW_TOKENS ? 1 : 2;
	WS_FAIL_IF(ws_cursor_left(&c) != rows * width, err, CORRUPT,
	           "%zu bytes instead of %zu for the token of each of %u rows", ws_cursor_left(&c),
	           width, rows);
	if (width == 2)
		memcpy(t->of_row, c.pos, (size_t)rows * 2);
	else
		for (uint32_t i = 0; i < rows; i++)
			t->of_row[i] = c.pos[i];
	for (uint32_t i = 0; i < rows; i++)
		greatest = t->of_row[i] > greatest ? t->of_row[i] : greatest;
	WS_FAIL_IF(greatest >= t->count, err, CORRUPT, "a row has token %u, but there are %u",
	           greatest, t->count);

	/* Count the rows of each token. */
	uint32_t quarter[4][FEW_TOKENS] = {{0}};
	uint32_t i = 0;

	memset(t->rows, 0, t->count * sizeof(*t->rows));
	/* four counters per token, as neighbours often share one: no addition waits */
	if (t->count <= FEW_TOKENS)
		for (; i + 4 <= rows; i += 4)
			for (unsigned k = 0; k < 4; k++)
				quarter[k][t->of_row[i + k]]++;
	for (; i < rows; i++)
		t->rows[t->of_row[i]]++;
	for (uint32_t k = 0; k < t->count && k < FEW_TOKENS; k++)
		t->rows[k] += quarter[0][k] + quarter[1][k] + quarter[2][k] + quarter[3][k];
	return WS_OK;
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

/* --- residuals --- */

#define HEAD_BYTES 2u   /* predictor, has_remainders */
#define ESCAPE     255u /* symbol of a value that is stored in full */
#define MAX_SHIFT  48u
#define MAX_LANES  256u

/* How the residuals of a token are coded:
 * residual = (base + (symbol << shift | low bits)) * quantum + remainder */
struct measure {
	uint64_t base; /* two's complement */
	uint32_t rows;
	uint32_t start; /* of the token's rows among the clustered ones */
	uint8_t scale;  /* 4 * shift + 0 to 3; tokens are stored in the order of their scales */
};

struct ws_residual {
	/* the residuals of one token after the other: decoding has tokens in the order of the
	   bytes (`order`), encoding by their numbers */
	uint64_t clustered[WS_MAX_BLOCK_ROWS];
	uint64_t by_row[WS_MAX_BLOCK_ROWS]; /* encoding: residuals, then samples */
	struct measure measure[WS_MAX_BLOCK_ROWS];
	uint32_t cursor[WS_MAX_BLOCK_ROWS]; /* of each token: its next row in clustered */
	uint16_t order[WS_MAX_BLOCK_ROWS];  /* tokens by scale, and by number within a scale */
	uint8_t lane_of_token[WS_MAX_BLOCK_ROWS];
	uint64_t lane_clock[MAX_LANES]; /* predicted next value of the lane */
	bool lane_begun[MAX_LANES];
	uint32_t nmeasures, nlanes; /* measures: 1 in a block without tokens */
	uint64_t quantum;
};

struct ws_residual *ws_residual_new(void)
{
	return ws_xmalloc(sizeof(struct ws_residual));
}

static inline unsigned shift_of(const struct measure *m)
{
	return m->scale / 4;
}

/* Fill r->order. */
static void order_by_scale(struct ws_residual *r)
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

/* Bytes that the low bits of all rows take. */
static size_t low_bytes(const struct ws_residual *r)
{
	uint64_t bits = 0;

	for (uint32_t k = 0; k < r->nmeasures; k++)
		bits += (uint64_t)r->measure[k].rows * shift_of(&r->measure[k]);
	return (size_t)((bits + 7) / 8);
}

/* --- encoding residuals --- */

/* Computes the residuals of all rows: v itself without a prediction. */
static const uint64_t *predict(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *v, uint32_t n)
{
	const uint64_t *d = how->durations;
	const struct ws_tokens *t = how->tokens;
	uint64_t last = 0;
	uint32_t nlanes = 0;

	/* Number the distinct values of how->lanes in the order of the tokens. If there are too
	 * many, all are one lane. */
	for (uint32_t k = 0; how->lanes && k < t->count; k++) {
		const uint64_t value = how->lanes[t->first_row[k]];
		uint32_t lane = 0;

		while (lane < nlanes && r->lane_clock[lane] != value)
			lane++;
		if (lane == MAX_LANES) {
			nlanes = 0;
			break;
		}
		if (lane == nlanes)
			r->lane_clock[nlanes++] = value;
		r->lane_of_token[k] = (uint8_t)lane;
	}
	r->nlanes = nlanes ? nlanes : 1;
	if (how->predictor == WS_PREDICT_NOTHING)
		return v;
	if (r->nlanes == 1) {
		r->by_row[0] = v[0];
		for (uint32_t i = 1; i < n; i++)
			r->by_row[i] = v[i] - v[i - 1] - (d ? d[i - 1] : 0);
		return r->by_row;
	}
	memset(r->lane_begun, 0, sizeof(r->lane_begun));
	for (uint32_t i = 0; i < n; i++) {
		const unsigned lane = r->lane_of_token[t->of_row[i]];

		r->by_row[i] = v[i] - (r->lane_begun[lane] ? r->lane_clock[lane] : last);
		last = v[i] + (d ? d[i] : 0);
		r->lane_clock[lane] = last;
		r->lane_begun[lane] = 1;
	}
	return r->by_row;
}

#define QUANTUM_SAMPLES 512u

static uint64_t magnitude(uint64_t v)
{
	return v >> 63 ? 0 - v : v;
}

/*
 * The resolution of the clock of these values: the number of which all residuals are multiples; 1:
 * none. *remainders: some residuals differ a little from a multiple, as for converted clocks.
 */
static uint64_t find_quantum(const uint64_t *residuals, uint32_t n, bool *remainders)
{
	static const uint64_t units[] = {1024, 1000, 512, 256, 128, 64, 32, 16};
	const uint32_t step = n / QUANTUM_SAMPLES + 1;
	uint64_t q = 0;

	*remainders = 0;
	for (uint32_t i = 1; i < n && q != 1; i += step)
		for (uint64_t a = magnitude(residuals[i]); a;) { /* greatest common divisor */
			const uint64_t rest = q % a;

			q = a;
			a = rest;
		}
	if (!q)
		return 1;
	/* Is q a divisor of every residual but the first, which may be a time with any offset? */
	if (q > 1 && q <= INT32_MAX) {
		uint64_t rests = 0;

		for (uint32_t i = 1; i < n; i++)
			rests |= q & (q - 1) ? magnitude(residuals[i]) % q : residuals[i] & (q - 1);
		if (!rests)
			return q;
	}
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

#define MIN_MEASURED_ROWS 24u /* fewer rows do not save the size of a measure of their own */
#define SAMPLES           63u
#define CENTER            48u /* symbol of the median: there is more room above it */
#define STEPS             7u

/*
 * Choose base and scale for n residuals by a sample of them: the median gets symbol CENTER, and
 * the middle three quarters take STEPS to 2 * STEPS symbols. Below that, bits are noise, which no
 * compressor makes smaller.
 */
static void choose_measure(struct measure *m, const uint64_t *v, uint32_t n, uint64_t q)
{
	const uint32_t count = n < SAMPLES ? n : SAMPLES;
	int64_t sorted[SAMPLES];
	unsigned shift = 0, quarter;

	for (uint32_t i = 0; i < count; i++) {
		const int64_t x = (int64_t)nearest(v[(uint64_t)i * n / count], q);
		uint32_t k = i;

		for (; k && sorted[k - 1] > x; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = x;
	}
	uint64_t spread = (uint64_t)sorted[count - 1 - count / 8] - (uint64_t)sorted[count / 8];
	while (spread >> shift >= 2 * STEPS && shift < MAX_SHIFT)
		shift++;
	if (!shift)
		quarter = spread == 0 ? 0 : spread < STEPS / 2 ? 1 : spread < STEPS ? 2 : 3;
	else
		quarter = (unsigned)((spread - ((uint64_t)STEPS << shift)) * 4 /
		                     ((uint64_t)STEPS << shift));
	m->base = (uint64_t)sorted[count / 2] - ((uint64_t)CENTER << shift);
	m->scale = (uint8_t)(4 * shift + (quarter < 4 ? quarter : 3));
}

/* Cluster the residuals by token, and choose a measure for each token; those of few rows share
 * one. */
static void measure_tokens(struct ws_residual *r, const struct ws_tokens *t, const uint64_t *v,
                           uint32_t n)
{
	uint32_t start = 0, few = 0;
	struct measure others = {0};

	for (uint32_t k = 0; k < r->nmeasures; k++) {
		r->measure[k] = (struct measure){.rows = t->count ? t->rows[k] : n, .start = start};
		r->cursor[k] = start;
		start += r->measure[k].rows;
	}
	for (uint32_t i = 0; i < n; i++)
		r->clustered[r->cursor[t->count ? t->of_row[i] : 0]++] = v[i];
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct measure *m = &r->measure[k];

		if (m->rows >= MIN_MEASURED_ROWS) {
			choose_measure(m, r->clustered + m->start, m->rows, r->quantum);
			continue;
		}
		memcpy(r->by_row + few, r->clustered + m->start, m->rows * sizeof(*v));
		few += m->rows;
	}
	if (few)
		choose_measure(&others, r->by_row, few, r->quantum);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct measure *m = &r->measure[k];

		if (m->rows < MIN_MEASURED_ROWS) {
			m->base = others.base;
			m->scale = others.scale;
		}
	}
	order_by_scale(r);
}

#define PART_BYTES 2048u

/* Write positions of each kind of byte. */
struct writing {
	uint8_t *symbol, *low, *remainder, *escape;
	uint64_t word; /* low bits of an incomplete byte: `filled` bits, below 8 */
	unsigned filled;
};

/* A residual less than 255 << shift above the base has a symbol; others are stored in full. */
static inline __attribute__((always_inline)) void put_token(struct writing *w,
                                                            const struct measure *m,
                                                            const uint64_t *v, uint64_t q,
                                                            const bool exact, const bool remainders)
{
	const unsigned shift = shift_of(m);
	const uint64_t mask = (UINT64_C(1) << shift) - 1;

	for (uint32_t i = 0; i < m->rows; i++) {
		const uint64_t quanta = exact ? v[i] : nearest(v[i], q), rest = v[i] - quanta * q;
		const uint64_t d = quanta - m->base, symbol = d >> shift;
		const bool fits = symbol < ESCAPE && (remainders ? rest + 128 < 256 : !rest);

		*w->symbol++ = fits ? (uint8_t)symbol : ESCAPE;
		w->word |= (d & mask) << w->filled;
		for (w->filled += shift; w->filled >= 8; w->filled -= 8) {
			*w->low++ = (uint8_t)w->word;
			w->word >>= 8;
		}
		if (remainders)
			*w->remainder++ = fits ? (uint8_t)ws_zigzag(rest) : 0;
		if (!fits)
			w->escape = ws_varint_put(w->escape, ws_zigzag(v[i]));
	}
}

void ws_residual_put(struct ws_residual *r, const struct ws_residual_how *how, const uint64_t *v,
                     uint32_t n, struct ws_buf *out, struct ws_residual_parts *parts)
{
	const uint64_t *residuals = predict(r, how, v, n);
	const size_t before = out->len;
	bool remainders;
	struct writing w = {0};

	r->nmeasures = how->tokens->count ? how->tokens->count : 1;
	r->quantum = find_quantum(residuals, n, &remainders);
	measure_tokens(r, how->tokens, residuals, n);
	size_t nlow = low_bytes(r);
	ws_buf_reserve(out, HEAD_BYTES + 2 * WS_VARINT_MAX + r->nmeasures * (2 + WS_VARINT_MAX) +
	                            (size_t)n * (2 + WS_VARINT_MAX) + nlow);

	uint8_t *p = out->data + before;
	*p++ = (uint8_t)how->predictor;
	*p++ = remainders;
	p = ws_varint_put(p, r->quantum);
	p = ws_varint_put(p, r->nlanes);
	for (uint32_t k = 0; r->nlanes > 1 && k < r->nmeasures; k++)
		*p++ = r->lane_of_token[k];
	for (uint32_t k = 0; k < r->nmeasures; k++)
		*p++ = r->measure[k].scale;
	for (uint32_t k = 0; k < r->nmeasures; k++)
		p = ws_varint_put(p, ws_zigzag(r->measure[k].base));

	/* Symbols begin `at` bytes behind the first. A part ends before them, behind them, and
	 * where the scale changes after PART_BYTES or more; low bits and what follows are noise or
	 * short. */
	size_t at = (size_t)(p - out->data) - before;

	*parts = (struct ws_residual_parts){.count = 1, .end[0] = at};
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct measure *m = &r->measure[r->order[k]];

		if (k && m->scale != r->measure[r->order[k - 1]].scale &&
		    at - parts->end[parts->count - 1] >= PART_BYTES &&
		    parts->count < WS_RESIDUAL_MAX_PARTS)
			parts->end[parts->count++] = at;
		at += m->rows;
	}
	if (parts->count < WS_RESIDUAL_MAX_PARTS)
		parts->end[parts->count++] = at;
	w.symbol = p;
	w.low = w.symbol + n;
	w.remainder = w.low + nlow;
	w.escape = w.remainder + (remainders ? n : 0);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct measure *m = &r->measure[r->order[k]];

		/* compiled once for each combination of constants */
		if (remainders)
			put_token(&w, m, r->clustered + m->start, r->quantum, 0, 1);
		else if (r->quantum != 1)
			put_token(&w, m, r->clustered + m->start, r->quantum, 0, 0);
		else
			put_token(&w, m, r->clustered + m->start, 1, 1, 0);
	}
	if (w.filled)
		*w.low = (uint8_t)w.word;
	out->len = (size_t)(w.escape - out->data);
}

/* --- decoding residuals --- */

bool ws_residual_size_is_possible(uint64_t size, uint64_t n)
{
	/* each row has a symbol, and at most low bits, a remainder, an escape, a measure, a lane */
	return size >= HEAD_BYTES + n && size <= 64 + n * (10 + 2 * WS_VARINT_MAX);
}

/* `count` low bits, `bit` bits behind p; the 8 bytes there can be read. */
static inline uint64_t bits_at(const uint8_t *p, uint64_t bit, unsigned count)
{
	return ws_load_u64(p + bit / 8) >> bit % 8 & ((UINT64_C(1) << count) - 1);
}

/* Symbols and low bits of one token to residuals in quanta. Returns where the bits end. */
static uint64_t unpack(const struct measure *m, const uint8_t *symbols, const struct ws_cursor *low,
                       uint64_t bit, uint64_t *out)
{
	const uint64_t nbits = ws_cursor_left(low) * 8;
	const unsigned shift = shift_of(m);
	const uint64_t base = m->base, mask = (UINT64_C(1) << shift) - 1;
	uint64_t n; /* rows whose low bits lie where 8 bytes can be read */
	uint32_t i = 0;

	if (shift == 0) {
		for (; i < m->rows; i++)
			out[i] = base + symbols[i];
		return bit;
	}
	n = bit + 64 <= nbits ? (nbits - 64 - bit) / shift + 1 : 0;
	n = n < m->rows ? n : m->rows;
	/* one load has at least 57 bits of use: those of 4 rows */
	for (; shift <= 14 && i + 4 <= n; i += 4, bit += 4 * shift) {
		uint64_t word = ws_load_u64(low->pos + bit / 8) >> bit % 8;

		for (unsigned k = 0; k < 4; k++, word >>= shift)
			out[i + k] = base + ((uint64_t)symbols[i + k] << shift | (word & mask));
	}
	for (; i < n; i++, bit += shift)
		out[i] = base + ((uint64_t)symbols[i] << shift | bits_at(low->pos, bit, shift));
	/* near the end of the low bits 8 bytes cannot be read any more */
	for (; i < m->rows; i++, bit += shift) {
		const size_t from = (size_t)(bit / 8), left = ws_cursor_left(low);
		uint8_t tail[16] = {0};

		memcpy(tail, low->pos + from,
		       left - from < sizeof(tail) ? left - from : sizeof(tail));
		out[i] = base + ((uint64_t)symbols[i] << shift | bits_at(tail, bit % 8, shift));
	}
	return bit;
}

enum ws_status ws_residual_get(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint8_t *data, size_t size, uint32_t n, uint64_t *v,
                               struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};
	const struct ws_tokens *t = how->tokens;
	const uint64_t *d = how->durations;
	const uint8_t *head, *lanes, *scales, *symbols, *bits, *remainders;
	uint64_t last = 0, nlanes = 0, bit = 0;
	uint32_t start = 0;
	struct ws_cursor low;

	WS_FORWARD(ws_cursor_bytes(&c, HEAD_BYTES, &head, err));
	WS_FAIL_IF(head[0] >= WS_PREDICTOR_END || head[1] > 1, err, CORRUPT,
	           "residuals of kind %u, %u are not defined", head[0], head[1]);
	WS_FAIL_IF((head[0] == WS_PREDICT_END_BEFORE) != !!d, err, CORRUPT,
	           "its predictor is %u, but its parameter names %s durations", head[0],
	           d ? "a column of" : "no");
	r->nmeasures = t->count ? t->count : 1;
	/* the part before the symbols: unit, lanes and measures */
	WS_FORWARD(ws_cursor_varint(&c, &r->quantum, err));
	WS_FORWARD(ws_cursor_varint(&c, &nlanes, err));
	WS_FAIL_IF(nlanes < 1 || nlanes > MAX_LANES || nlanes > r->nmeasures, err, CORRUPT,
	           "%llu lanes for %u tokens", (unsigned long long)nlanes, r->nmeasures);
	r->nlanes = (uint32_t)nlanes;
	if (nlanes > 1) {
		WS_FORWARD(ws_cursor_bytes(&c, r->nmeasures, &lanes, err));
		memcpy(r->lane_of_token, lanes, r->nmeasures);
		for (uint32_t k = 0; k < r->nmeasures; k++)
			WS_FAIL_IF(lanes[k] >= nlanes, err, CORRUPT, "token %u has lane %u of %u",
			           k, lanes[k], r->nlanes);
	}
	WS_FORWARD(ws_cursor_bytes(&c, r->nmeasures, &scales, err));
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct measure *m = &r->measure[k];

		m->rows = t->count ? t->rows[k] : n;
		m->scale = scales[k];
		WS_FAIL_IF(shift_of(m) > MAX_SHIFT, err, CORRUPT,
		           "token %u has %u low bits, more than %u", k, shift_of(m), MAX_SHIFT);
		WS_FORWARD(ws_cursor_varint(&c, &m->base, err));
		m->base = ws_unzigzag(m->base);
	}
	order_by_scale(r);
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		struct measure *m = &r->measure[r->order[k]];

		m->start = r->cursor[r->order[k]] = start;
		start += m->rows;
	}
	/* symbols, low bits, remainders and escapes */
	size_t nlow = low_bytes(r);
	WS_FORWARD(ws_cursor_bytes(&c, n, &symbols, err));
	WS_FORWARD(ws_cursor_bytes(&c, nlow, &bits, err));
	low = (struct ws_cursor){bits, bits + nlow};
	for (uint32_t k = 0; k < r->nmeasures; k++) {
		const struct measure *m = &r->measure[r->order[k]];

		bit = unpack(m, symbols + m->start, &low, bit, r->clustered + m->start);
	}
	if (r->quantum != 1)
		for (uint32_t i = 0; i < n; i++)
			r->clustered[i] *= r->quantum;
	if (head[1]) {
		WS_FORWARD(ws_cursor_bytes(&c, n, &remainders, err));
		for (uint32_t i = 0; i < n; i++)
			r->clustered[i] += ws_unzigzag(remainders[i]);
	}
	for (const uint8_t *p = symbols; (p = memchr(p, ESCAPE, (size_t)(symbols + n - p))) != NULL;
	     p++) {
		uint64_t *value = &r->clustered[p - symbols];

		WS_FORWARD(ws_cursor_varint(&c, value, err));
		*value = ws_unzigzag(*value);
	}
	WS_FAIL_IF(c.pos != c.end, err, CORRUPT, "%zu bytes are left after the last row",
	           ws_cursor_left(&c));

	if (head[0] != WS_PREDICT_NOTHING && r->nlanes > 1) {
		memset(r->lane_begun, 0, r->nlanes * sizeof(*r->lane_begun));
		for (uint32_t i = 0; i < n; i++) {
			const unsigned token = t->of_row[i], lane = r->lane_of_token[token];

			v[i] = r->clustered[r->cursor[token]++] +
			       (r->lane_begun[lane] ? r->lane_clock[lane] : last);
			last = v[i] + (d ? d[i] : 0);
			r->lane_clock[lane] = last;
			r->lane_begun[lane] = 1;
		}
		return WS_OK;
	}
	if (!t->count)
		memcpy(v, r->clustered, n * sizeof(*v));
	for (uint32_t i = 0; t->count && i < n; i++)
		v[i] = r->clustered[r->cursor[t->of_row[i]]++];
	for (uint32_t i = 0; head[0] != WS_PREDICT_NOTHING && i < n; i++) {
		v[i] += last;
		last = v[i] + (d ? d[i] : 0);
	}
	return WS_OK;
}

/* --- zstd frames --- */

struct ws_zframe_encoder {
	ZSTD_CCtx *ctx;
	int level;
};

struct ws_zframe_decoder {
	ZSTD_DCtx *ctx;
};

struct ws_zframe_encoder *ws_zframe_encoder_new(int level)
{
	struct ws_zframe_encoder *z = ws_xarray(1, sizeof(*z));

	z->ctx = ZSTD_createCCtx();
	if (!z->ctx)
		ws_out_of_memory(sizeof(*z));
	z->level = level;
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_contentSizeFlag, 1);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_checksumFlag, 1);
	return z;
}

void ws_zframe_encoder_free(struct ws_zframe_encoder *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->ctx);
	free(z);
}

static size_t encode_frame(struct ws_zframe_encoder *z, int level, const void *src, size_t size,
                           const struct ws_residual_parts *parts, void *dst, size_t limit)
{
	ZSTD_outBuffer out = {dst, limit, 0};
	ZSTD_inBuffer in = {src, 0, 0};
	size_t result;
	unsigned i = 0;
	bool is_last;

	ZSTD_CCtx_reset(z->ctx, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(z->ctx, size);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_compressionLevel, level);
	/* matches in noise are short and by chance: they take more bits than they save */
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_minMatch, parts ? 7 : 0);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_hashLog, parts ? 6 : 0);
	do {
		is_last = !parts || i >= parts->count || parts->end[i] >= size;
		in.size = is_last ? size : parts->end[i++];
		result = ZSTD_compressStream2(z->ctx, &out, &in,
		                              is_last ? ZSTD_e_end : ZSTD_e_flush);
	} while (result == 0 && in.pos == in.size && !is_last);
	if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		ws_out_of_memory(size);
	return result == 0 && in.pos == size ? out.pos : 0;
}

size_t ws_zframe_encode(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                        size_t limit)
{
	return encode_frame(z, z->level, src, size, NULL, dst, limit);
}

#define MAX_HARD_BYTES ((size_t)64 << 10) /* more would take a recorder hundredths of a second */
#define HARD_LEVEL     19

size_t ws_zframe_encode_hard(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                             size_t limit)
{
	return encode_frame(z, size <= MAX_HARD_BYTES ? HARD_LEVEL : z->level, src, size, NULL, dst,
	                    limit);
}

size_t ws_zframe_encode_parts(struct ws_zframe_encoder *z, const void *src, size_t size,
                              const struct ws_residual_parts *parts, void *dst, size_t limit)
{
	return encode_frame(z, z->level, src, size, parts, dst, limit);
}

struct ws_zframe_decoder *ws_zframe_decoder_new(void)
{
	struct ws_zframe_decoder *z = ws_xarray(1, sizeof(*z));

	z->ctx = ZSTD_createDCtx();
	if (!z->ctx)
		ws_out_of_memory(sizeof(*z));
	return z;
}

void ws_zframe_decoder_free(struct ws_zframe_decoder *z)
{
	if (!z)
		return;
	ZSTD_freeDCtx(z->ctx);
	free(z);
}

enum ws_status ws_zframe_decode(struct ws_zframe_decoder *z, const void *src, size_t stored,
                                void *dst, size_t size, struct ws_err *err)
{
	unsigned long long content = ZSTD_getFrameContentSize(src, stored);
	size_t frame, result;

	WS_FAIL_IF(content == ZSTD_CONTENTSIZE_ERROR, err, CORRUPT, "not a zstd frame");
	WS_FAIL_IF(content == ZSTD_CONTENTSIZE_UNKNOWN, err, CORRUPT,
	           "the zstd frame does not say its content size");
	WS_FAIL_IF(content != size, err, CORRUPT, "the zstd frame holds %llu bytes instead of %zu",
	           content, size);

	/* zstd would go on with a second frame */
	frame = ZSTD_findFrameCompressedSize(src, stored);
	WS_FAIL_IF(ZSTD_isError(frame), err, CORRUPT, "the zstd frame is damaged: %s",
	           ZSTD_getErrorName(frame));
	WS_FAIL_IF(frame != stored, err, CORRUPT, "%zu bytes follow the zstd frame",
	           stored - frame);

	result = ZSTD_decompressDCtx(z->ctx, dst, size, src, stored);
	WS_FAIL_IF(ZSTD_isError(result), err, CORRUPT, "the zstd frame is damaged: %s",
	           ZSTD_getErrorName(result));
	WS_FAIL_IF(result != size, err, CORRUPT, "the zstd frame gave %zu bytes instead of %zu",
	           result, size);
	return WS_OK;
}
