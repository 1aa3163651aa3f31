#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/codec/columns.h"
#include "tests/environment/random.h"

static const enum ws_encoding fixed[] = {
        WS_ENCODING_CONSTANT,
        WS_ENCODING_VARINT,
        WS_ENCODING_DELTA,
        WS_ENCODING_RAW,
};

static uint64_t random_state = 88172645463325252u;

/* Encode in every encoding that fits, check the measured size, decode, compare. */
static void round_trip(enum ws_type type, const uint64_t *v, size_t n)
{
	struct ws_encoded_sizes sizes;
	uint64_t *back = malloc(n * sizeof(*back));

	ws_codec_measure(type, v, n, &sizes);
	for (size_t i = 0; i < 4; i++) {
		size_t size = sizes.bytes[fixed[i]];
		uint8_t *data = malloc(size ? size : 1);
		struct ws_err err;

		if (size) {
			cr_assert(eq(sz,
			             (size_t)(ws_codec_encode(fixed[i], type, v, n, data) - data),
			             size));
			cr_assert(eq(int,
			             ws_codec_decode(fixed[i], type, data, size, n, back, &err),
			             WS_OK),
			          "%s: %s", ws_encoding_name(fixed[i]), err.text);
			cr_assert_arr_eq(back, v, n * sizeof(*v));
		}
		free(data);
	}
	free(back);
}

Test(codec, varint_and_delta_have_the_bytes_of_the_format_page)
{
	const uint64_t v[] = {300, 301, 299};
	/* u64: 300 = ac 02, 301 = ad 02, 299 = ab 02 */
	const uint8_t varint[] = {0xac, 2, 0xad, 2, 0xab, 2};
	/* differences 300, 1, -2, zigzag 600 = d8 04, 2, 3 */
	const uint8_t delta[] = {0xd8, 4, 2, 3};
	/* i64: zigzag 600 = d8 04, 602 = da 04, 598 = d6 04 */
	const uint8_t zigzag[] = {0xd8, 4, 0xda, 4, 0xd6, 4};
	uint8_t out[8];

	cr_assert(eq(sz,
	             (size_t)(ws_codec_encode(WS_ENCODING_VARINT, WS_TYPE_U64, v, 3, out) - out),
	             sizeof(varint)));
	cr_assert_arr_eq(out, varint, sizeof(varint));
	cr_assert(eq(sz, (size_t)(ws_codec_encode(WS_ENCODING_DELTA, WS_TYPE_U64, v, 3, out) - out),
	             sizeof(delta)));
	cr_assert_arr_eq(out, delta, sizeof(delta));
	cr_assert(eq(sz,
	             (size_t)(ws_codec_encode(WS_ENCODING_VARINT, WS_TYPE_DUR, v, 3, out) - out),
	             sizeof(zigzag)));
	cr_assert_arr_eq(out, zigzag, sizeof(zigzag));
}

Test(codec, extreme_values_of_every_fixed_type_come_back)
{
	const uint64_t v[] = {0,
	                      UINT64_MAX,
	                      (uint64_t)INT64_MIN,
	                      INT64_MAX,
	                      1,
	                      UINT64_MAX,
	                      0,
	                      127,
	                      128,
	                      1ull << 56,
	                      (1ull << 56) - 1,
	                      (1ull << 49) - 1,
	                      1ull << 63};

	for (enum ws_type type = WS_TYPE_U64; type < WS_TYPE_BLOB; type++)
		for (size_t n = 1; n <= sizeof(v) / sizeof(*v); n++)
			round_trip(type, v, n);
}

Test(codec, random_values_of_every_size_come_back)
{
	uint64_t v[1000];

	for (unsigned bits = 1; bits <= 64; bits++) {
		for (size_t i = 0; i < 1000; i++)
			v[i] = random_u64(&random_state) >> (64 - bits);
		round_trip(WS_TYPE_U64, v, 1000);
		round_trip(WS_TYPE_TIME, v, 1000);
		/* mixed sizes: short runs of one-byte numbers between long ones */
		for (size_t i = 0; i < 1000; i++)
			v[i] >>= i % 20 < 17 ? 57 : 0;
		round_trip(WS_TYPE_U64, v, 1000);
	}
}

Test(codec, constant_fits_only_where_all_rows_are_equal)
{
	const uint64_t equal[] = {7, 7, 7}, other[] = {7, 7, 8};
	struct ws_encoded_sizes sizes;

	ws_codec_measure(WS_TYPE_U64, equal, 3, &sizes);
	cr_assert(eq(sz, sizes.bytes[WS_ENCODING_CONSTANT], 1));
	ws_codec_measure(WS_TYPE_U64, other, 3, &sizes);
	cr_assert(eq(sz, sizes.bytes[WS_ENCODING_CONSTANT], 0));
}

Test(codec, real_numbers_are_raw_or_constant_only)
{
	const uint64_t v[] = {0x3ff0000000000000u, 0x4000000000000000u};
	struct ws_encoded_sizes sizes;

	ws_codec_measure(WS_TYPE_F64, v, 2, &sizes);
	cr_assert(eq(sz, sizes.bytes[WS_ENCODING_VARINT], 0));
	cr_assert(eq(sz, sizes.bytes[WS_ENCODING_DELTA], 0));
	cr_assert(eq(sz, sizes.bytes[WS_ENCODING_RAW], 16));
	cr_assert(not(ws_encoding_fits(WS_ENCODING_VARINT, WS_TYPE_F64)));
	cr_assert(not(ws_encoding_fits(WS_ENCODING_RAW, WS_TYPE_BLOB)));
	cr_assert(not(ws_encoding_fits(WS_ENCODING_BYTES, WS_TYPE_STR)));
}

static const char *decode_error(enum ws_encoding encoding, const void *data, size_t size, size_t n)
{
	static struct ws_err err;
	uint8_t *copy = malloc(size ? size : 1); /* its end is guarded by the sanitizer */
	uint64_t v[16];
	enum ws_status status;

	memcpy(copy, data, size);
	status = ws_codec_decode(encoding, WS_TYPE_U64, copy, size, n, v, &err);
	free(copy);
	cr_assert(eq(int, status, WS_CORRUPT));
	return err.text;
}

Test(codec, data_that_is_too_short_or_too_long_is_damage)
{
	static const uint8_t ff[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	                               0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	cr_assert_str_eq(decode_error(WS_ENCODING_VARINT, "\1\2", 2, 3),
	                 "a number is cut off at the end of its data");
	cr_assert_str_eq(decode_error(WS_ENCODING_VARINT, "\1\2\3", 3, 2),
	                 "1 bytes are left after the last row");
	cr_assert_str_eq(decode_error(WS_ENCODING_VARINT, "\1\2\3\1\2\3\1\2\3", 9, 8),
	                 "1 bytes are left after the last row");
	cr_assert_str_eq(decode_error(WS_ENCODING_DELTA, "", 0, 1),
	                 "a number is cut off at the end of its data");
	cr_assert_str_eq(decode_error(WS_ENCODING_DELTA, ff, 16, 2),
	                 "a number has more than 64 bits");
	cr_assert_str_eq(decode_error(WS_ENCODING_VARINT, ff, 9, 1),
	                 "a number is cut off at the end of its data");
	cr_assert_str_eq(decode_error(WS_ENCODING_CONSTANT, "\1\2", 2, 5),
	                 "1 bytes are left after the last row");
	cr_assert_str_eq(decode_error(WS_ENCODING_RAW, ff, 15, 2),
	                 "15 bytes instead of 8 for each of 2 rows");
}

Test(codec, blobs_come_back_empty_ones_and_nul_too)
{
	const uint64_t lengths[] = {3, 0, 1, 200};
	struct ws_buf bytes = {0}, out = {0};
	struct ws_bytes b[4];
	struct ws_err err;
	char text[204];

	memset(text, 'x', sizeof(text));
	text[1] = 0;
	ws_buf_put(&bytes, text, sizeof(text));
	ws_codec_encode_blobs(lengths, 4, bytes.data, bytes.len, &out);
	cr_assert(eq(sz, out.len, 1 + 1 + 1 + 2 + 204));
	cr_assert(eq(int, ws_codec_decode_blobs(out.data, out.len, 4, b, &err), WS_OK));
	for (int i = 0; i < 4; i++)
		cr_assert(eq(sz, b[i].len, lengths[i]));
	cr_assert_arr_eq(b[0].ptr, "x\0x", 3);
	cr_assert_arr_eq(b[3].ptr, text + 4, 200);
	ws_buf_free(&bytes);
	ws_buf_free(&out);
}

Test(codec, blob_lengths_that_do_not_fit_the_data_are_damage)
{
	struct ws_bytes b[3];
	struct ws_err err;

	cr_assert(eq(int, ws_codec_decode_blobs((const uint8_t *)"\5abc", 4, 1, b, &err),
	             WS_CORRUPT));
	cr_assert_str_eq(err.text, "row 0 has 5 bytes, but only 3 are left");
	cr_assert(eq(int, ws_codec_decode_blobs((const uint8_t *)"\2abc", 4, 1, b, &err),
	             WS_CORRUPT));
	cr_assert_str_eq(err.text, "1 bytes are left after the last row");
	cr_assert(
	        eq(int, ws_codec_decode_blobs((const uint8_t *)"\2\2", 2, 3, b, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "a number is cut off at the end of its data");
	/* 2^24 + 1 */
	cr_assert(eq(int, ws_codec_decode_blobs((const uint8_t *)"\x81\x80\x80\x08", 4, 1, b, &err),
	             WS_CORRUPT));
	cr_assert_str_eq(err.text, "row 0 has 16777217 bytes, more than the limit of 16777216");
}

/* --- zstd frames --- */

Test(codec, zframe_a_frame_gives_its_bytes_back)
{
	struct ws_zframe_encoder *enc;
	struct ws_zframe_decoder *dec;
	uint8_t src[4096], dst[4096], back[4096];
	struct ws_err err;
	size_t stored;

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i / 64);
	enc = ws_zframe_encoder_new(1);
	dec = ws_zframe_decoder_new();
	stored = ws_zframe_encode(enc, src, sizeof(src), dst, sizeof(dst));
	cr_assert(gt(sz, stored, WS_ZFRAME_MIN_BYTES));
	cr_assert(lt(sz, stored, 400));
	cr_assert(eq(int, ws_zframe_decode(dec, dst, stored, back, sizeof(back), &err), WS_OK));
	cr_assert_arr_eq(back, src, sizeof(src));

	/* what does not fit is no error but no frame */
	cr_assert(eq(sz, ws_zframe_encode(enc, src, sizeof(src), dst, 20), 0));
	ws_zframe_encoder_free(enc);
	ws_zframe_decoder_free(dec);
}

Test(codec, zframe_free_accepts_null)
{
	ws_zframe_encoder_free(NULL);
	ws_zframe_decoder_free(NULL);
}

Test(codec, zframe_every_damage_of_a_frame_is_seen)
{
	struct ws_zframe_encoder *enc;
	struct ws_zframe_decoder *dec;
	uint8_t src[512], dst[600], back[1024];
	struct ws_err err;
	size_t stored;

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(random_u64(&random_state) >> 61);
	enc = ws_zframe_encoder_new(1);
	dec = ws_zframe_decoder_new();
	stored = ws_zframe_encode(enc, src, sizeof(src), dst, sizeof(dst));

	cr_assert(eq(int, ws_zframe_decode(dec, dst, stored, back, 513, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "the zstd frame holds 512 bytes instead of 513");
	dst[stored] = 0;
	cr_assert(eq(int, ws_zframe_decode(dec, dst, stored + 1, back, 512, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "1 bytes follow the zstd frame");
	cr_assert(eq(int, ws_zframe_decode(dec, "abcdefgh", 8, back, 512, &err), WS_CORRUPT));
	cr_assert_str_eq(err.text, "not a zstd frame");
	for (size_t cut = 0; cut < stored; cut++)
		cr_assert(eq(int, ws_zframe_decode(dec, dst, cut, back, 512, &err), WS_CORRUPT));
	for (size_t i = 0; i < stored; i++) {
		dst[i] ^= 0x10;
		/* a bit of the header that means nothing may pass, wrong bytes may not */
		if (ws_zframe_decode(dec, dst, stored, back, 512, &err) == WS_OK)
			cr_assert_arr_eq(back, src, 512);
		dst[i] ^= 0x10;
	}
	ws_zframe_encoder_free(enc);
	ws_zframe_decoder_free(dec);
}
