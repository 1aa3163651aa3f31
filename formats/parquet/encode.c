#include "formats/parquet/encode.h"

/* --- bits ------------------------------------------------------------------------------------- */

/* Numbers of width bits, the lowest bit first, to p; n * width is a multiple of 8. The end. */
static uint8_t *pack_u32(uint8_t *p, const uint32_t *v, size_t n, unsigned width)
{
	uint64_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		bits |= (uint64_t)v[i] << have;
		for (have += width; have >= 8; have -= 8, bits >>= 8)
			*p++ = (uint8_t)bits;
	}
	return p;
}

static uint8_t *pack_u64(uint8_t *p, const uint64_t *v, size_t n, unsigned width)
{
	unsigned __int128 bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		bits |= (unsigned __int128)v[i] << have;
		for (have += width; have >= 8; have -= 8, bits >>= 8)
			*p++ = (uint8_t)bits;
	}
	return p;
}

/* --- RLE / bit-packed hybrid ------------------------------------------------------------------ */

#define GROUP 8u /* numbers that are packed together */

/* A run of groups; the last one is filled up with zeros. */
static void put_packed(struct ws_buf *out, const uint32_t *v, size_t n, unsigned width)
{
	size_t groups = (n + GROUP - 1) / GROUP, whole = n / GROUP * GROUP;
	uint32_t rest[GROUP] = {0};
	uint8_t *p;

	if (!n)
		return;
	ws_buf_reserve(out, WS_VARINT_MAX + groups * width);
	p = ws_varint_put(out->data + out->len, groups << 1 | 1);
	p = pack_u32(p, v, whole, width);
	if (whole < n) {
		memcpy(rest, v + whole, (n - whole) * sizeof(*v));
		p = pack_u32(p, rest, GROUP, width);
	}
	out->len = (size_t)(p - out->data);
}

static void put_repeated(struct ws_buf *out, uint32_t v, size_t n, unsigned width)
{
	uint8_t bytes[WS_VARINT_MAX + sizeof(v)];
	uint8_t *p = ws_varint_put(bytes, (uint64_t)n << 1);

	memcpy(p, &v, sizeof(v));
	p += (width + 7) / 8;
	ws_buf_put(out, bytes, (size_t)(p - bytes));
}

void ws_parquet_rle(struct ws_buf *out, const uint32_t *v, size_t n, unsigned width)
{
	size_t packed = 0; /* from here on nothing is written yet */

	for (size_t i = 0, run; i < n; i += run) {
		size_t fill = (GROUP - (i - packed) % GROUP) % GROUP;

		for (run = 1; i + run < n && v[i + run] == v[i];)
			run++;
		/* only the last packed group may be filled up: a run first gives what it lacks */
		if (run < fill + GROUP)
			continue;
		put_packed(out, v + packed, i + fill - packed, width);
		put_repeated(out, v[i], run - fill, width);
		packed = i + run;
	}
	put_packed(out, v + packed, n - packed, width);
}

/* --- DELTA_BINARY_PACKED ---------------------------------------------------------------------- */

#define MINI       32u /* differences of a miniblock, which share a width */
#define MINIBLOCKS 4u
#define BLOCK      (MINI * MINIBLOCKS) /* differences of a block, which share a least one */

static uint8_t *put_delta_block(uint8_t *p, const uint64_t *delta, size_t n)
{
	uint64_t least = delta[0], over[BLOCK] = {0};
	uint8_t *widths;

	for (size_t i = 1; i < n; i++)
		if ((int64_t)delta[i] < (int64_t)least)
			least = delta[i];
	for (size_t i = 0; i < n; i++)
		over[i] = delta[i] - least;
	p = ws_varint_put(p, ws_zigzag(least));
	widths = p;
	p += MINIBLOCKS;
	for (size_t m = 0; m < MINIBLOCKS; m++) {
		uint64_t all = 0;

		for (size_t i = m * MINI; i < (m + 1) * MINI; i++)
			all |= over[i];
		/* a miniblock behind the last value has width 0, and so no bytes */
		widths[m] = (uint8_t)ws_bit_width(all);
		p = pack_u64(p, over + m * MINI, MINI, widths[m]);
	}
	return p;
}

void ws_parquet_delta(struct ws_buf *out, const uint64_t *v, size_t n)
{
	uint64_t delta[BLOCK];
	uint8_t *p;

	ws_buf_reserve(out, 4 * WS_VARINT_MAX);
	p = ws_varint_put(out->data + out->len, BLOCK);
	p = ws_varint_put(p, MINIBLOCKS);
	p = ws_varint_put(p, n);
	p = ws_varint_put(p, ws_zigzag(n ? v[0] : 0));
	out->len = (size_t)(p - out->data);
	for (size_t from = 1; from < n; from += BLOCK) {
		size_t count = n - from < BLOCK ? n - from : BLOCK;

		for (size_t i = 0; i < count; i++)
			delta[i] = v[from + i] - v[from + i - 1];
		ws_buf_reserve(out, WS_VARINT_MAX + MINIBLOCKS + sizeof(delta));
		p = put_delta_block(out->data + out->len, delta, count);
		out->len = (size_t)(p - out->data);
	}
}

/* --- dictionary of integers ------------------------------------------------------------------- */

bool ws_parquet_dict_make(struct ws_parquet_dict *d, const uint64_t *v, size_t n, uint32_t limit,
                          uint32_t *index)
{
	const size_t mask = sizeof(d->slots) / sizeof(d->slots[0]) - 1;

	d->n = 0;
	memset(d->slots, 0, sizeof(d->slots));
	for (size_t i = 0; i < n; i++) {
		/* Fibonacci hashing: the high bits of the product depend on all bits */
		size_t slot = (v[i] * 0x9e3779b97f4a7c15u >> 40) & mask;

		while (d->slots[slot] && d->values[d->slots[slot] - 1] != v[i])
			slot = (slot + 1) & mask;
		if (!d->slots[slot]) {
			if (d->n == limit)
				return 0;
			d->values[d->n++] = v[i];
			d->slots[slot] = (uint16_t)d->n;
		}
		index[i] = d->slots[slot] - 1u;
	}
	return 1;
}
