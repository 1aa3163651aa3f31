/*
 * Random numbers by counter: the n-th number of a stream is a function of
 * (seed, stream, n), so threads can draw in any order, devices draw what the
 * host would, and every dtype gets the same parameters.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define WS_HOST_DEVICE __host__ __device__
#else
#define WS_HOST_DEVICE
#endif

struct ws_rng {
	uint64_t key;
};

#define WS_RNG_GOLDEN 0x9e3779b97f4a7c15 /* 2^64 / golden ratio: SplitMix64's increment */

/* Finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits. */
static inline WS_HOST_DEVICE uint64_t ws_rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* The stream of a name, e.g. of a parameter. */
static inline struct ws_rng ws_rng_stream(uint64_t seed, const char *name)
{
	struct ws_rng rng = {ws_rng_mix(seed + WS_RNG_GOLDEN)};

	for (; *name; name++)
		rng.key = ws_rng_mix((rng.key ^ (unsigned char)*name) + WS_RNG_GOLDEN);
	return rng;
}

/* The n-th 64 random bits. */
static inline WS_HOST_DEVICE uint64_t ws_rng_bits(const struct ws_rng *rng, uint64_t n)
{
	return ws_rng_mix(rng->key + (n + 1) * WS_RNG_GOLDEN);
}

/* The n-th 32 random bits: halves of the 64, the low one first. */
static inline WS_HOST_DEVICE uint32_t ws_rng_half(const struct ws_rng *rng, uint64_t n)
{
	return (uint32_t)(ws_rng_bits(rng, n / 2) >> (n % 2 * 32));
}

/* Of 32 random bits this many values are below a share p < 1 of all, to 2^-32. */
static inline uint32_t ws_rng_below(double p)
{
	double below = p * 0x1p32 + 0.5;

	return below < 0x1p32 ? (uint32_t)below : UINT32_MAX;
}

/* Uniform in [0, 1), 53 bits. */
static inline WS_HOST_DEVICE double ws_rng_uniform(const struct ws_rng *rng, uint64_t n)
{
	return (double)(ws_rng_bits(rng, n) >> 11) * 0x1p-53;
}

/* --- normal numbers ------------------------------------------------------------------------ */

/*
 * Normal random numbers, the same bits on every processor: made of additions,
 * multiplications, a division and a square root of IEEE doubles, each rounded on
 * its own, because logf() and cosf() differ between libraries.
 *
 * For files that are compiled without contraction of products and sums (-ffp-contract=off).
 */

/* coefficients: of x^0, x^1, ... */
static inline double ws_normal_polynomial(const double *coefficients, int count, double x)
{
	double sum = coefficients[count - 1];

	for (int i = count - 2; i >= 0; i--)
		sum = sum * x + coefficients[i];
	return sum;
}

/*
 * log(n / 2^24), n = 1 ... 2^24, as e log(2) + log(m) with m between sqrt(1/2) and sqrt(2), and
 * log(m) = 2 artanh(s), s = (m - 1) / (m + 1). The minimax polynomial of 2 artanh(s) / s in s^2
 * is off by 3e-14 at most, relatively.
 */
static inline double ws_normal_log(uint32_t n)
{
	const double artanh[] = {1.9999999999999467652,  0.66666666679651562905,
	                         0.39999994872144432422, 0.28572168020728443822,
	                         0.22174177059350544959, 0.19609086212363116506};
	double m = (double)n, s;
	uint64_t word;

	memcpy(&word, &m, sizeof(word));
	int e = (int)(word >> 52) - 1023;
	word = (word & 0x000fffffffffffff) | 0x3ff0000000000000;
	memcpy(&m, &word, sizeof(m));
	if (m > 1.4142135623730951) {
		m /= 2;
		e++;
	}
	s = (m - 1) / (m + 1);
	return (e - 24) * 0.69314718055994530942 + s * ws_normal_polynomial(artanh, 6, s * s);
}

/*
 * cos(2 pi n / 2^24), n = 0 ... 2^24 - 1, from the cosine or sine of the rest r to the nearest
 * quarter of a turn, which is exact. The minimax polynomials of cos(2 pi r) and
 * sin(2 pi r) / r in r^2 are off by 7e-14 at most, relatively.
 */
static inline double ws_normal_cos(uint32_t n)
{
	const double cosine[] = {0.99999999999993436027, -19.739208801891017448,
	                         64.939393815418458364,  -85.4567621096667252,
	                         60.237978256635089715,  -26.052896411633232315};
	const double sine[] = {6.2831853071795581741, -41.341702240271337728,
	                       81.605249181220672294, -76.705834054330680188,
	                       42.055539777209204411, -14.91581204818577675};
	int quarter = (int)((n + (1u << 21)) >> 22);
	double r = (double)((int)n - (quarter << 22)) * 0x1p-24;
	double square = r * r, y;

	if (quarter % 2)
		y = r * ws_normal_polynomial(sine, 6, square);
	else
		y = ws_normal_polynomial(cosine, 6, square);
	return quarter == 1 || quarter == 2 ? -y : y;
}

/*
 * Normal with mean 0 and standard deviation 1, drawn again until within ±limit, which is at
 * least 1 and may be infinite. Box and Muller's transform of 24 bits each: the largest is 5.77.
 */
static inline double ws_rng_normal(const struct ws_rng *rng, uint64_t n, double limit)
{
	uint64_t bits = ws_rng_bits(rng, n);

	for (;;) {
		/* 1 ... 2^24, so that the logarithm is finite */
		double log = ws_normal_log((uint32_t)(bits >> 40) + 1);
		double z = sqrt(-2 * log) * ws_normal_cos((uint32_t)(bits & 0xffffff));

		if (fabs(z) <= limit)
			return z;
		bits = ws_rng_mix(bits + WS_RNG_GOLDEN);
	}
}
