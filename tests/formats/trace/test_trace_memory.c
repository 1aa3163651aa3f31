/* What reading a large trace takes of memory. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/trace/reader.h"
#include "formats/trace/writer.h"
#include "tests/support/peak_memory.h"
#include "tests/support/trace_sample.h"

Test(trace_memory, opening_a_large_file_takes_little_memory)
{
	static const struct ws_trace_writer_opts opts = {0};
	const size_t text_size = 1u << 20, texts = 24;
	char path[] = "/tmp/warpsheet-large-XXXXXX";
	uint64_t *text = malloc(text_size), random = 1, id;
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	struct ws_err err;
	long before;

	close(mkstemp(path));
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK), "%s", err.text);
	for (size_t i = 0; i < texts; i++) {
		for (size_t k = 0; k < text_size / sizeof(*text); k++)
			text[k] = random = random * 6364136223846793005u + 1442695040888963407u;
		cr_assert(eq(int, ws_trace_writer_intern(w, text, text_size, &id, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK), "%s", err.text);
	ws_trace_writer_free(w);

	begin_peak_memory();
	before = peak_memory_kib();
	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	cr_assert(gt(u64, ws_trace_reader_summary(r)->file_size, texts * text_size / 2));
	cr_expect(lt(long, peak_memory_kib() - before, 8192));
	ws_trace_reader_free(r);
	unlink(path);
	free(text);
}

static enum ws_status count_rows(void *ctx, const struct ws_block_rows *rows, uint32_t block,
                                 int64_t until_ns, struct ws_err *err)
{
	uint64_t *seen = ctx;

	(void)block;
	(void)until_ns;
	(void)err;
	*seen += rows->info.rows;
	return WS_OK;
}

/* A program that reads block by block, whole blocks or some columns, holds a block or two, not all
 * that it has read. */
Test(trace_memory, reading_a_large_file_takes_the_memory_of_a_block)
{
	static const struct ws_trace_writer_opts opts = {0};
	const uint32_t rows = 1500000; /* of 16 bytes that no compressor shortens */
	char path[] = "/tmp/warpsheet-large-XXXXXX";
	struct ws_row_counter row = {0};
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_COUNTER] = ~(ws_column_set)0};
	struct ws_trace_writer *w;
	struct ws_trace_reader *r;
	uint64_t random = 1, seen = 0;
	struct ws_err err;
	long before;

	close(mkstemp(path));
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK), "%s", err.text);
	for (uint32_t i = 0; i < rows; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		memcpy(&row.value, &random, sizeof(row.value));
		row.time_ns = (int64_t)(random * 2862933555777941757u >> 2);
		cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_COUNTER, &row, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK), "%s", err.text);
	ws_trace_writer_free(w);

	begin_peak_memory();
	before = peak_memory_kib();
	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	cr_assert(gt(u64, ws_trace_reader_summary(r)->file_size, 22u << 20));
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		struct ws_block block;

		cr_assert(eq(int, ws_trace_reader_decode(r, i, &block, &err), WS_OK));
		ws_block_release(&block);
	}
	cr_expect(lt(long, peak_memory_kib() - before,
	             16384)); /* a block has 8 columns of 65,536 rows */
	cr_assert(eq(int, ws_feed_each(r, columns, count_rows, &seen, &err), WS_OK));
	cr_expect(eq(u64, seen, rows));
	cr_expect(lt(long, peak_memory_kib() - before,
	             16384)); /* a block has 8 columns of 65,536 rows */
	ws_trace_reader_free(r);
	unlink(path);
}
