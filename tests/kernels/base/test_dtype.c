#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "kernels/base/tensor.h"

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Hand-rounded: the low 16 bits of the float decide, ties go to the even 16-bit value. */
Test(dtype, bf16_rounds_to_nearest_even)
{
	static const struct {
		uint32_t in;
		uint16_t out;
	} table[] = {
	        {0x00000000, 0x0000}, {0x80000000, 0x8000}, /* zeros keep their sign */
	        {0x3f800000, 0x3f80},                       /* 1 */
	        {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80}, /* tie, even below: down */
	        {0x3f808001, 0x3f81}, {0x3f817fff, 0x3f81},
	        {0x3f818000, 0x3f82}, {0x3f818001, 0x3f82}, /* tie, odd below: up */
	        {0xbf818000, 0xbf82},                       /* symmetric in sign */
	        {0x3fffffff, 0x4000},                       /* carries into the exponent */
	        {0x7f7fffff, 0x7f80},                       /* FLT_MAX overflows to infinity */
	        {0x7f7f7fff, 0x7f7f},                       /* largest that does not */
	        {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, /* infinities */
	        {0x00000001, 0x0000}, {0x00008000, 0x0000}, /* subnormals round like the rest */
	        {0x00008001, 0x0001}, {0x00018000, 0x0002},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_eq(ws_f32_to_bf16(float_of(table[i].in)), table[i].out,
		             "0x%08x gives 0x%04x, not 0x%04x", table[i].in,
		             ws_f32_to_bf16(float_of(table[i].in)), table[i].out);
}

Test(dtype, bf16_keeps_every_nan_a_nan)
{
	static const uint32_t nans[] = {0x7f800001, 0x7fffffff, 0xffffffff, 0x7fc00000, 0xff808000};

	for (size_t i = 0; i < sizeof(nans) / sizeof(*nans); i++)
		cr_assert(isnan(ws_bf16_to_f32(ws_f32_to_bf16(float_of(nans[i])))), "0x%08x",
		          nans[i]);
}

Test(dtype, bf16_values_survive_the_round_trip_all_65536)
{
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		float value = ws_bf16_to_f32((uint16_t)bits);

		if (!isnan(value))
			cr_assert_eq(ws_f32_to_bf16(value), bits, "0x%04x", bits);
	}
}

/* The definition itself: no neighbour is nearer, and a tie has an even last bit. */
Test(dtype, bf16_result_is_the_nearest_of_its_neighbours)
{
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t word = i * 21467u % 0x7f000000u; /* positive, no overflow */
		double x = float_of(word);
		uint16_t got = ws_f32_to_bf16((float)x);
		double error = fabs(ws_bf16_to_f32(got) - x);
		double up = fabs(ws_bf16_to_f32((uint16_t)(got + 1)) - x);
		double down = got ? fabs(ws_bf16_to_f32((uint16_t)(got - 1)) - x) : INFINITY;

		cr_assert(error <= up && error <= down, "0x%08x", word);
		if (error == up || error == down)
			cr_assert_eq(got % 2, 0, "tie at 0x%08x", word);
	}
}

Test(dtype, f16_rounds_to_nearest_even_with_subnormals_and_overflow)
{
	static const struct {
		float in;
		uint16_t out;
	} table[] = {
	        {0.0f, 0x0000},
	        {-0.0f, 0x8000},
	        {1.0f, 0x3c00},
	        {-2.0f, 0xc000},
	        {0x1.002p0f, 0x3c00},  /* 1 + 2^-11: tie, even below */
	        {0x1.006p0f, 0x3c02},  /* 1 + 3 * 2^-11: tie, odd below */
	        {0x1.0021p0f, 0x3c01}, /* just above the tie */
	        {65504.0f, 0x7bff},
	        {65519.0f, 0x7bff},
	        {65520.0f, 0x7c00}, /* tie with the value that is infinity */
	        {-1e30f, 0xfc00},
	        {0x1p-14f, 0x0400},   /* least normal */
	        {0x1p-24f, 0x0001},   /* least subnormal */
	        {0x1p-25f, 0x0000},   /* tie with zero */
	        {0x1.8p-24f, 0x0002}, /* tie, odd below */
	        {0x1.000002p-25f, 0x0001},
	        {0x1.ff8p-15f, 0x03ff}, /* largest subnormal */
	        {0x1.ffcp-15f, 0x0400}, /* rounds up into the normals */
	        {INFINITY, 0x7c00},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_eq(ws_f32_to_f16(table[i].in), table[i].out,
		             "%a gives 0x%04x, not 0x%04x", table[i].in, ws_f32_to_f16(table[i].in),
		             table[i].out);
	cr_assert(isnan(ws_f16_to_f32(ws_f32_to_f16(NAN))));
	cr_assert(isnan(ws_f16_to_f32(ws_f32_to_f16(float_of(0x7f800001)))));
}

Test(dtype, f16_values_survive_the_round_trip_all_65536)
{
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		float value = ws_f16_to_f32((uint16_t)bits);

		if (!isnan(value))
			cr_assert_eq(ws_f32_to_f16(value), bits, "0x%04x", bits);
	}
	cr_assert_eq(ws_f16_to_f32(0x3555), 0x1.554p-2f);
	cr_assert_eq(bits_of(ws_f16_to_f32(0x8001)), bits_of(-0x1p-24f));
}

/*
 * The course's experiment (1000 times 0.01): what accumulating in each type
 * must give. Published results, so an independent check of the rounding.
 */
Test(dtype, accumulating_a_hundredth_gives_the_published_sums)
{
	uint16_t half = 0, step = ws_f32_to_f16(0.01f);
	float single = 0, of_halves = 0;

	for (int i = 0; i < 1000; i++) {
		single += 0.01f;
		half = ws_f32_to_f16(ws_f16_to_f32(half) + ws_f16_to_f32(step));
		of_halves += ws_f16_to_f32(step);
	}
	cr_assert_float_eq(single, 10.000134, 1e-6);
	cr_assert_eq(ws_f16_to_f32(half), 9.953125f);
	cr_assert_float_eq(of_halves, 10.002136, 1e-6);
}

Test(dtype, promotion_takes_the_wider_type_and_fp32_for_the_two_halves)
{
	cr_assert_eq(ws_dtype_promote(WS_DTYPE_F32, WS_DTYPE_BF16), WS_DTYPE_F32);
	cr_assert_eq(ws_dtype_promote(WS_DTYPE_BF16, WS_DTYPE_F32), WS_DTYPE_F32);
	cr_assert_eq(ws_dtype_promote(WS_DTYPE_BF16, WS_DTYPE_BF16), WS_DTYPE_BF16);
	cr_assert_eq(ws_dtype_promote(WS_DTYPE_BF16, WS_DTYPE_F16), WS_DTYPE_F32);
	cr_assert_eq(ws_dtype_promote(WS_DTYPE_F64, WS_DTYPE_F32), WS_DTYPE_F64);
}

Test(dtype, encode_and_decode_are_inverse_for_values_that_each_type_holds)
{
	static const double values[] = {0, 1, -2, 96, -0.5};
	unsigned char data[sizeof(values)];
	double back[5];

#define X(name, size, suffix, nvtx, is_float)                          \
	if (is_float) {                                                \
		ws_dtype_encode(WS_DTYPE_##name, values, data, 5);     \
		ws_dtype_decode(WS_DTYPE_##name, data, back, 5);       \
		cr_assert_arr_eq(back, values, sizeof(values), #name); \
		cr_assert_eq(ws_dtype_size(WS_DTYPE_##name), size);    \
	}
	WS_DTYPE_LIST(X)
#undef X
	ws_dtype_encode(WS_DTYPE_I32, values, data, 4);
	ws_dtype_decode(WS_DTYPE_I32, data, back, 4);
	cr_assert_arr_eq(back, values, 4 * sizeof(double));
}
