#include "tests/fuzz/mutate.h"

#include <string.h>

#include "formats/base/bytes.h"
#include "formats/codec/block.h"
#include "tests/support/trace_sample.h"

#define MAX_BLOCKS 64

struct parts {
	uint8_t *data;
	size_t size, max_size;
	size_t at[MAX_BLOCKS + 1]; /* of each block; the last: the end of the last one */
	unsigned n;
	uint64_t random;
	fuzz_mutate_fn mutate;
};

/* xorshift: a seed gives the same change each time. */
static size_t pick(struct parts *p, size_t n)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return n ? (size_t)(p->random % n) : 0;
}

static void find_blocks(struct parts *p)
{
	size_t at = WS_FILE_HEADER_BYTES;

	p->n = 0;
	while (p->n < MAX_BLOCKS && p->size >= at && p->size - at >= WS_BLOCK_HEADER_BYTES) {
		uint64_t body = ws_load_u64(p->data + at + 16);

		if (body > p->size - at - WS_BLOCK_HEADER_BYTES || body % WS_ALIGN_BYTES)
			break;
		p->at[p->n++] = at;
		at += WS_BLOCK_HEADER_BYTES + body;
	}
	p->at[p->n] = at;
}

static void seal(uint8_t *data, size_t size)
{
	struct parts p = {.data = data, .size = size};
	struct ws_sample s = {data, size};

	if (size < WS_FILE_HEADER_BYTES + WS_TRAILER_BYTES)
		return;
	ws_sample_seal_header(&s);
	ws_sample_seal_trailer(&s);
	find_blocks(&p);
	for (unsigned i = 0; i < p.n; i++)
		ws_sample_seal_block(&s, p.at[i]);
}

/* Make the bytes [at, at + old) be `new` bytes: what follows moves. 0: there is no room. */
static int resize(struct parts *p, size_t at, size_t old, size_t new)
{
	if (p->size - old + new > p->max_size)
		return 0;
	memmove(p->data + at + new, p->data + at + old, p->size - at - old);
	if (new > old)
		memset(p->data + at + old, 0, new - old);
	p->size = p->size - old + new;
	return 1;
}

/* The column's bytes, with its entry, the padding and the block's length as they then are. */
static void change_column(struct parts *p, size_t block)
{
	uint8_t *header = p->data + block, *body = header + WS_BLOCK_HEADER_BYTES, *pos;
	uint64_t body_size = ws_load_u64(header + 16), end;
	unsigned n = ws_load_u16(header + 6), which;
	uint32_t rows = ws_load_u32(header + 8);
	struct ws_dir_entry entry, other;
	size_t room, size;

	if (!n || body_size < (uint64_t)n * WS_DIR_ENTRY_BYTES)
		return;
	which = (unsigned)pick(p, n);
	pos = body + n * WS_DIR_ENTRY_BYTES;
	end = n * WS_DIR_ENTRY_BYTES;
	for (unsigned i = 0; i < n; i++) {
		memcpy(&other, body + i * WS_DIR_ENTRY_BYTES, sizeof(other));
		if (other.stored_size > body_size - end)
			return;
		if (i < which)
			pos += other.stored_size;
		end += other.stored_size;
	}
	memcpy(&entry, body + which * WS_DIR_ENTRY_BYTES, sizeof(entry));
	if (!entry.stored_size)
		return;
	room = entry.stored_size + pick(p, 16);
	if (!resize(p, (size_t)(pos - p->data), entry.stored_size, room))
		return;
	size = p->mutate(pos, entry.stored_size, room);
	resize(p, (size_t)(pos - p->data), room, size);
	end = end - entry.stored_size + size;
	if (entry.compression == WS_COMPRESSION_NONE)
		entry.encoded_size = (uint32_t)size;
	/* what pads the block */
	resize(p, (size_t)(body + end - p->data),
	       (size_t)(body_size - (end - size + entry.stored_size)), 0);
	body_size = ws_body_size(end, rows);
	if (!resize(p, (size_t)(body + end - p->data), 0, body_size - end))
		return;
	entry.stored_size = (uint32_t)size;
	memcpy(body + which * WS_DIR_ENTRY_BYTES, &entry, sizeof(entry));
	ws_store_u64(header + 16, body_size);
}

/* A number of a block's header or directory, to a small or an extreme one. */
static void change_field(struct parts *p, size_t block)
{
	static const struct {
		uint8_t offset, width;
	} of_header[] = {{4, 2}, {6, 2}, {8, 4}, {12, 4}, {24, 8}, {32, 8}, {40, 8}},
	  of_entry[] = {{0, 2}, {2, 1}, {3, 1}, {4, 4}, {8, 4}, {12, 2}, {14, 2}};
	static const uint64_t values[] = {0, 1, 7, 255, 65535, 65536, INT32_MAX, INT64_MAX, ~0ull};
	uint8_t *header = p->data + block, *at = header;
	unsigned n = ws_load_u16(header + 6), field;
	uint64_t value =
	        pick(p, 2) ? values[pick(p, sizeof(values) / sizeof(*values))] : pick(p, 32);
	unsigned width;

	if (pick(p, 2) || ws_load_u64(header + 16) < (uint64_t)n * WS_DIR_ENTRY_BYTES || !n) {
		field = (unsigned)pick(p, sizeof(of_header) / sizeof(*of_header));
		at += of_header[field].offset;
		width = of_header[field].width;
	} else {
		field = (unsigned)pick(p, sizeof(of_entry) / sizeof(*of_entry));
		at += WS_BLOCK_HEADER_BYTES + pick(p, n) * WS_DIR_ENTRY_BYTES;
		at += of_entry[field].offset;
		width = of_entry[field].width;
	}
	for (unsigned i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* A block once more at another place, or not at all. */
static void change_blocks(struct parts *p)
{
	unsigned from = (unsigned)pick(p, p->n), to = (unsigned)pick(p, p->n);
	size_t size = p->at[from + 1] - p->at[from], source = p->at[from];

	if (pick(p, 3) == 0) {
		resize(p, p->at[from], size, 0);
		return;
	}
	if (!resize(p, p->at[to], 0, size))
		return;
	if (to <= from)
		source += size;
	memmove(p->data + p->at[to], p->data + source, size);
}

size_t fuzz_mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                         fuzz_mutate_fn mutate)
{
	struct parts p = {data, size, max_size, .random = seed | UINT64_C(1) << 40,
	                  .mutate = mutate};
	size_t how = pick(&p, 16), block;

	find_blocks(&p);
	block = p.n ? p.at[pick(&p, p.n)] : 0;
	if (!p.n || how < 2)
		p.size = mutate(data, size, max_size);
	else if (how < 4)
		change_blocks(&p);
	else if (how < 8)
		change_field(&p, block);
	else
		change_column(&p, block);
	/* now and then as they are: the checks of the checksums are code, too */
	if (pick(&p, 64))
		seal(data, p.size);
	return p.size;
}

size_t fuzz_mutate_block(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                         fuzz_mutate_fn mutate)
{
	struct parts p = {data, size, max_size, .random = seed | UINT64_C(1) << 40,
	                  .mutate = mutate};
	size_t how = pick(&p, 16);
	struct ws_sample s;

	if (size < WS_BLOCK_HEADER_BYTES || ws_load_u64(data + 16) > size - WS_BLOCK_HEADER_BYTES ||
	    how < 2)
		p.size = mutate(data, size, max_size);
	else if (how < 6)
		change_field(&p, 0);
	else
		change_column(&p, 0);
	s = (struct ws_sample){data, p.size};
	if (p.size >= WS_BLOCK_HEADER_BYTES)
		ws_sample_seal_block(&s, 0);
	return p.size;
}
