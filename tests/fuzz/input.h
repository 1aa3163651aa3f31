/* Small numbers and runs of bytes taken from a fuzzer's input; after its end everything is 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is written only to be read once: entropy coding would take a third of a run. */
#define FUZZ_ZSTD_LEVEL (-5)

struct fuzz_input {
	const uint8_t *at, *end;
};

static inline unsigned fuzz_take(struct fuzz_input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* At most n bytes, where they lie; *got says how many there are. */
static inline const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t n, size_t *got)
{
	const uint8_t *bytes = in->at;

	*got = n < (size_t)(in->end - in->at) ? n : (size_t)(in->end - in->at);
	in->at += *got;
	return bytes;
}

/* A number as a program may write it: small, of eight bytes, or extreme. */
static inline uint64_t fuzz_take_number(struct fuzz_input *in)
{
	static const uint64_t extreme[] = {INT64_MAX, (uint64_t)INT64_MIN, UINT32_MAX, ~0ull};
	unsigned how = fuzz_take(in);
	const uint8_t *bytes;
	uint64_t value = 0;
	size_t got;

	if (how < 192)
		return how;
	if (how < 208)
		return extreme[how % 4];
	bytes = fuzz_take_bytes(in, how % 8 + 1, &got);
	if (got)
		memcpy(&value, bytes, got);
	return value;
}
