/* What the look-alikes share: see stub.h. Compiled into each of them. */
#include "tests/stub_cuda/stub.h"

#include <fcntl.h>
#include <library_types.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/tensor.h"

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

float stub_load(const void *data, int64_t index, int type)
{
	uint16_t bits;

	if (type == CUDA_R_32F)
		return ((const float *)data)[index];
	memcpy(&bits, (const char *)data + index * 2, sizeof(bits));
	switch (type) {
	case CUDA_R_16F:
		return ws_f16_to_f32(bits);
	case CUDA_R_16BF:
		return ws_bf16_to_f32(bits);
	default:
		abort();
	}
}

float stub_tf32(float value, int convolution)
{
	const char *how = getenv("WS_STUB_TF32");

	if (how && !strcmp(how, "bf16"))
		return ws_bf16_to_f32(ws_f32_to_bf16(value));
	if (how && (!strcmp(how, "cut") || (!strcmp(how, "mixed") && !convolution)))
		return ws_f32_read(value, WS_TF32_CUT);
	return ws_f32_read(value, WS_TF32_ROUNDED);
}

void stub_store(void *data, int64_t index, int type, float value)
{
	uint16_t bits;

	switch (type) {
	case CUDA_R_16F:
		bits = ws_f32_to_f16(value);
		break;
	case CUDA_R_16BF:
		bits = ws_f32_to_bf16(value);
		break;
	case CUDA_R_32F:
		((float *)data)[index] = value;
		return;
	default:
		abort();
	}
	memcpy((char *)data + index * 2, &bits, sizeof(bits));
}
