#include "formats/codec/encodings.h"

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
	default: /* those that need more than the column */
		return out;
	}
}

#define CONTINUE_BITS 0x8080808080808080u

/*
 * Decode from the next 8 bytes a number that ends within them; the bytes it
 * took, or 0 when it is longer. Without a branch on the length, as the lengths
 * of noisy columns cannot be predicted.
 */
static inline unsigned get_short(uint64_t word, uint64_t *v)
{
	uint64_t stops = ~word & CONTINUE_BITS;
	uint64_t x;

	if (!stops)
		return 0;
	/* drop what lies behind the first byte without a continue bit, and all continue bits */
	x = word & (stops ^ (stops - 1)) & ~CONTINUE_BITS;
	/* close the gaps between groups of 7, 14 and 28 bits */
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	x = (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
	*v = x;
	return ((unsigned)__builtin_ctzll(stops) >> 3) + 1;
}

/* n numbers from the front of c. */
static enum ws_status get_numbers(struct ws_cursor *c, size_t n, uint64_t *v, struct ws_err *err)
{
	size_t i = 0;

	while (i < n && ws_cursor_left(c) >= 8) {
		uint64_t word = ws_load_u64(c->pos);
		unsigned took;

		if (!(word & CONTINUE_BITS) && n - i >= 8) {
			for (unsigned k = 0; k < 8; k++)
				v[i + k] = c->pos[k];
			i += 8;
			c->pos += 8;
			continue;
		}
		took = get_short(word, &v[i]);
		if (took)
			c->pos += took;
		else
			WS_FORWARD(ws_cursor_varint(c, &v[i], err));
		i++;
	}
	for (; i < n; i++)
		WS_FORWARD(ws_cursor_varint(c, &v[i], err));
	return WS_OK;
}

static void unzigzag_all(uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = ws_unzigzag(v[i]);
}

static void undo_delta(uint64_t *v, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += ws_unzigzag(v[i]);
		v[i] = sum;
	}
}

enum ws_status ws_codec_decode(enum ws_encoding encoding, enum ws_type type, const uint8_t *data,
                               size_t size, size_t n, uint64_t *v, struct ws_err *err)
{
	struct ws_cursor c = {data, data + size};

	if (encoding == WS_ENCODING_RAW) {
		WS_FAIL_IF(size != n * sizeof(*v), err, CORRUPT,
		           "%zu bytes instead of 8 for each of %zu rows", size, n);
		memcpy(v, data, size);
		return WS_OK;
	}

	WS_FORWARD(get_numbers(&c, encoding == WS_ENCODING_CONSTANT ? 1 : n, v, err));
	WS_FAIL_IF(c.pos != c.end, err, CORRUPT, "%zu bytes are left after the last row",
	           ws_cursor_left(&c));

	if (encoding == WS_ENCODING_DELTA)
		undo_delta(v, n);
	else if (ws_type_is_signed(type))
		unzigzag_all(v, encoding == WS_ENCODING_CONSTANT ? 1 : n);
	if (encoding == WS_ENCODING_CONSTANT)
		for (size_t i = 1; i < n; i++)
			v[i] = v[0];
	return WS_OK;
}

void ws_codec_encode_blobs(const uint64_t *lengths, size_t n, const void *bytes, size_t nbytes,
                           struct ws_buf *out)
{
	uint8_t *p;

	ws_buf_reserve(out, n * WS_VARINT_MAX);
	p = out->data + out->len;
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
