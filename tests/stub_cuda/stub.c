/* What the look-alikes share: see stub.h. Compiled into each of them. */
#include "tests/stub_cuda/stub.h"

#include <fcntl.h>
#include <library_types.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long stub_setting(const char *name)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : 0;
}

void stub_asked(const char *format, ...)
{
	const char *path = getenv("WS_STUB_LOG");
	char line[512];
	va_list args;
	int n, fd;

	if (!path)
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	line[n++] = '\n';
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

static float of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The lowest n bits rounded away, to nearest even; infinities and NaN stay what they are. */
static uint32_t round_bits(uint32_t bits, int n)
{
	uint32_t half = UINT32_C(1) << (n - 1);

	if ((bits & 0x7f800000u) == 0x7f800000u)
		return bits & 0x7fffffu ? bits | 0x400000u : bits;
	return (bits + half - 1 + (bits >> n & 1)) & ~((half << 1) - 1);
}

float stub_tf32(float value)
{
	return of_bits(round_bits(bits_of(value), 13));
}

float stub_load(const void *data, int64_t index, int type)
{
	_Float16 half;
	uint16_t bits;

	switch (type) {
	case CUDA_R_16F:
		memcpy(&half, (const char *)data + index * 2, sizeof(half));
		return (float)half;
	case CUDA_R_16BF:
		memcpy(&bits, (const char *)data + index * 2, sizeof(bits));
		return of_bits((uint32_t)bits << 16);
	case CUDA_R_32F:
		return ((const float *)data)[index];
	default:
		abort();
	}
}

void stub_store(void *data, int64_t index, int type, float value)
{
	_Float16 half = (_Float16)value;
	uint16_t bits = (uint16_t)(round_bits(bits_of(value), 16) >> 16);

	switch (type) {
	case CUDA_R_16F:
		memcpy((char *)data + index * 2, &half, sizeof(half));
		return;
	case CUDA_R_16BF:
		memcpy((char *)data + index * 2, &bits, sizeof(bits));
		return;
	case CUDA_R_32F:
		((float *)data)[index] = value;
		return;
	default:
		abort();
	}
}
