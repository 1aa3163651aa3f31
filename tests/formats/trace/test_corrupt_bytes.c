/*
 * A trace cut at every byte, and with every bit flipped: nothing crashes
 * (run under the address sanitizer, too), every whole block before and
 * behind the damage is kept, and the check tells of it.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "tests/support/trace_sample.h"

/* The blocks of a trace, from a reader of the undamaged bytes. */
struct blocks {
	struct ws_trace_reader *reader;
	size_t n;
};

static const struct ws_block_info *block_of(const struct ws_trace_reader *r, size_t i)
{
	return &r->walk.blocks[i];
}

static struct blocks blocks_of(const struct ws_sample *s)
{
	struct blocks b;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open_mem(&b.reader, s->data, s->size, &err), WS_OK));
	b.n = b.reader->walk.nblocks;
	return b;
}

/* A trace with few kinds, so that all of its bits can be tried. */
static struct ws_sample make_small(void)
{
	const struct ws_trace_writer_opts opts = {.base_ns = 5};
	struct ws_trace_writer *w;
	struct ws_sample s;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	ws_trace_writer_add(w, WS_KIND_THREAD, &(struct ws_row_thread){.id = 1}, &err);
	for (int64_t i = 0; i < 100; i++) {
		struct ws_row_nvtx row = {.time_ns = i * 1000 + i % 7, .thread = 1};

		ws_trace_writer_intern(w, i % 2 ? "a" : "bc", i % 2 ? 1 : 2, &row.name, &err);
		cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_NVTX, &row, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	return s;
}

/* Read all that is left, as a report does; errors are fine, crashes are not. */
static void read_all(const struct ws_trace_reader *r)
{
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_column_data t;

		if (ws_schema_kind(kind) && ws_trace_reader_load(r, kind, &t, NULL) == WS_OK)
			ws_column_data_release(&t);
	}
}

static void cut_at(const struct ws_sample *s, const struct blocks *whole, size_t size)
{
	static struct ws_sample_findings found;
	/* memory that ends where the file does */
	uint8_t *copy = malloc(size ? size : 1);
	struct ws_sample cut = {copy, size};
	struct ws_trace_reader *r;
	enum ws_status status;
	size_t expected = 0;
	struct ws_err err;

	memcpy(copy, s->data, size);
	status = ws_trace_reader_open_mem(&r, copy, size, &err);
	cr_assert(eq(int, status, size < WS_FILE_HEADER_BYTES ? WS_CORRUPT : WS_OK));
	if (status == WS_OK) {
		while (expected < whole->n) {
			const struct ws_block_info *b = block_of(whole->reader, expected);

			if (b->offset + b->size > size)
				break;
			expected++;
		}
		cr_assert(eq(sz, r->walk.nblocks, expected), "cut at %zu", size);
		cr_assert(eq(int, ws_trace_reader_summary(r)->closed, size == s->size));
		read_all(r);
		ws_trace_reader_free(r);
		ws_sample_check(&cut, &found);
		cr_assert(found.result.damage + found.result.notes > 0 || size == s->size,
		          "cut at %zu", size);
	}
	free(copy);
}

Test(corrupt_bytes, cut_at_every_byte_all_whole_blocks_are_kept)
{
	struct ws_sample s = ws_sample_make();
	struct blocks whole = blocks_of(&s);

	for (size_t size = 0; size <= s.size; size += WS_SAMPLE_STRIDE)
		cut_at(&s, &whole, size);
	ws_trace_reader_free(whole.reader);
	ws_sample_free(&s);
}

/* The block that holds this byte, or n. */
static size_t block_at(const struct blocks *b, size_t byte)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct ws_block_info *info = block_of(b->reader, i);

		if (byte >= info->offset && byte < info->offset + info->size)
			return i;
	}
	return b->n;
}

/* s has one wrong byte: only the block that holds it is gone. */
static void assert_one_gone(const struct ws_sample *s, const struct blocks *whole, size_t byte)
{
	size_t gone = block_at(whole, byte), k = 0;
	struct ws_trace_reader *r;
	struct ws_err err;

	if (byte < WS_FILE_HEADER_BYTES) {
		cr_assert(
		        eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_CORRUPT));
		return;
	}
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_OK));
	for (size_t i = 0; i < whole->n; i++) {
		if (i == gone)
			continue;
		cr_assert(lt(sz, k, r->walk.nblocks), "byte %zu", byte);
		cr_assert(eq(u64, block_of(r, k++)->offset, block_of(whole->reader, i)->offset),
		          "byte %zu", byte);
	}
	cr_assert(eq(sz, r->walk.nblocks, k), "byte %zu", byte);
	ws_trace_reader_free(r);
}

/* Flip these bits of every byte, one byte at a time. */
static void flip_all(struct ws_sample *s, const uint8_t *masks, size_t nmasks)
{
	static struct ws_sample_findings found;
	struct ws_sample original = {malloc(s->size), s->size};
	struct blocks whole;

	memcpy(original.data, s->data, s->size);
	whole = blocks_of(&original);
	for (size_t byte = 0; byte < s->size; byte += WS_SAMPLE_STRIDE)
		for (size_t m = 0; m < nmasks; m++) {
			s->data[byte] ^= masks[m];
			assert_one_gone(s, &whole, byte);
			ws_sample_check(s, &found);
			cr_assert(found.status != WS_OK || found.result.damage > 0,
			          "byte %zu ^ %#x is not seen", byte, masks[m]);
			s->data[byte] ^= masks[m];
		}
	ws_trace_reader_free(whole.reader);
	ws_sample_free(&original);
}

Test(corrupt_bytes, every_flipped_bit_costs_one_block_and_is_seen)
{
	static const uint8_t bits[] = {1, 2, 4, 8, 16, 32, 64, 128};
	struct ws_sample s = make_small();

	flip_all(&s, bits, sizeof(bits));
	ws_sample_free(&s);
}

Test(corrupt_bytes, every_flipped_byte_of_a_trace_with_all_kinds_is_seen)
{
	static const uint8_t all[] = {0xff};
	struct ws_sample s = ws_sample_make();

	flip_all(&s, all, sizeof(all));
	ws_sample_free(&s);
}

/* Wrong bytes under right checksums: what a faulty writer or an attacker makes. */
Test(corrupt_bytes, every_wrong_byte_of_a_body_under_a_right_checksum_is_read_without_a_crash)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	static struct ws_sample_findings found;
	struct ws_sample s = ws_sample_make();
	struct ws_sample copy = {malloc(s.size), s.size};
	size_t kernel = ws_sample_block(&s, WS_KIND_KERNEL, 0);

	for (size_t block = WS_FILE_HEADER_BYTES; block < s.size - WS_TRAILER_BYTES;
	     block += ws_sample_block_size(&s, block))
		for (size_t i = 0; i < ws_sample_block_size(&s, block); i += WS_SAMPLE_STRIDE)
			for (size_t m = 0; m < sizeof(masks); m++) {
				struct ws_trace_reader *r;

				/* all bytes of a few blocks, some bytes of all */
				if (block != WS_FILE_HEADER_BYTES && block != kernel && m)
					break;
				memcpy(copy.data, s.data, s.size);
				copy.data[block + i] ^= masks[m];
				ws_sample_seal_block(&copy, block);
				ws_sample_check(&copy, &found);
				if (ws_trace_reader_open_mem(&r, copy.data, copy.size, NULL) !=
				    WS_OK)
					continue;
				read_all(r);
				ws_trace_reader_free(r);
			}
	ws_sample_free(&s);
	ws_sample_free(&copy);
}
