#include "formats/schema/nvtx_number.h"

/* By predefined NVTX entry type: size on the recording machine (64-bit Linux), and whether it has a
 * sign. Source: NVTX 3, nvToolsExtPayload.h. */
static const struct ws_nvtx_integer integers[] = {
        [1] = {1, 1},  {1, 0}, {2, 1}, {2, 0}, {4, 1}, {4, 0}, {8, 1}, {8, 0}, /* char … long */
        [9] = {8, 1},  {8, 0},                                                 /* long long */
        [11] = {1, 1}, {1, 0}, {2, 1}, {2, 0}, {4, 1}, {4, 0}, {8, 1}, {8, 0}, /* int8_t … */
        [22] = {8, 0}, {8, 0}, {4, 0},         /* size_t, an address, wchar_t */
        [25] = {1, 0}, {2, 0}, {4, 0},         /* char8_t … */
        [32] = {1, 0},                         /* byte */
        [68] = {4, 0}, {4, 0}, {8, 0},         /* category, colour, scope */
        [71] = {4, 0}, {8, 0}, {4, 0}, {8, 0}, /* process id, thread id */
};

const struct ws_nvtx_integer *ws_nvtx_integer(uint64_t type)
{
	return type < sizeof(integers) / sizeof(*integers) && integers[type].bytes ? &integers[type]
	                                                                           : NULL;
}

bool ws_nvtx_integer_bits(const struct ws_nvtx_integer *n, const uint8_t *p, size_t len,
                          uint64_t *out)
{
	const unsigned bits = n->bytes * 8u;

	if (len < n->bytes)
		return false;
	*out = 0;
	memcpy(out, p, n->bytes);
	if (n->is_signed && bits < 64 && *out >> (bits - 1))
		*out |= ~(uint64_t)0 << bits;
	return true;
}

uint64_t ws_nvtx_type_of_enum(uint64_t size)
{
	static const uint8_t by_size[9] = {[1] = 12, [2] = 14, [4] = 16, [8] = 18};

	return size < sizeof(by_size) ? by_size[size] : 0;
}

/* A half-precision or brain float as a double. */
static double half_of(uint16_t bits, bool is_brain)
{
	const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
	float value;

	if (is_brain) {
		const uint32_t wide = (uint32_t)bits << 16;

		memcpy(&value, &wide, sizeof(value));
		return (double)value;
	}
	const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
	                    : exponent     ? ldexp(1024 + fraction, (int)exponent - 25)
	                                   : ldexp(fraction, -24);

	return bits >> 15 ? -size : size;
}

uint64_t ws_nvtx_real_size(uint64_t type)
{
	static const uint8_t reals[53] = {
	        [19] = 4, [20] = 8, [42] = 2, [43] = 4, [44] = 8, [50] = 2, [52] = 4};

	return type < sizeof(reals) ? reals[type] : 0;
}

double ws_nvtx_real(uint64_t type, const uint8_t *p)
{
	const uint64_t size = ws_nvtx_real_size(type);
	uint64_t bits = 0;
	float single;
	double value;

	memcpy(&bits, p, size);
	if (size == 2)
		return half_of((uint16_t)bits, type == 50);
	if (size == 8) {
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
	memcpy(&single, &bits, sizeof(single));
	return (double)single;
}

uint64_t ws_nvtx_number_size(uint64_t type)
{
	return ws_nvtx_integer(type) ? ws_nvtx_integer(type)->bytes : ws_nvtx_real_size(type);
}
