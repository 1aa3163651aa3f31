#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/codec/block.h"
#include "tests/support/trace_sample.h"

static const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};

static struct ws_trace_writer *new_writer(void)
{
	struct ws_trace_writer *w;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	return w;
}

static struct ws_trace_reader *read_back(const struct ws_trace_writer *w)
{
	struct ws_bytes bytes = ws_trace_writer_mem(w);
	struct ws_trace_reader *r;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK), "%s",
	          err.text);
	return r;
}

/* A new empty file; the caller removes it. */
static void make_path(char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/ws_test_writer_XXXXXX");
	fd = mkstemp(path);
	cr_assert(ge(int, fd, 0));
	close(fd);
}

static struct ws_sample read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct ws_sample s;

	cr_assert(f != NULL);
	fseek(f, 0, SEEK_END);
	s.size = (size_t)ftell(f);
	rewind(f);
	s.data = malloc(s.size ? s.size : 1);
	cr_assert(eq(sz, fread(s.data, 1, s.size, f), s.size));
	fclose(f);
	return s;
}

static void assert_sound(const struct ws_sample *s)
{
	static struct ws_sample_findings f;

	ws_sample_check(s, &f);
	cr_assert(eq(int, f.status, WS_OK), "%s", f.err.text);
	cr_assert_str_eq(f.text, "");
	cr_assert(eq(int, f.result.closed, 1));
}

Test(trace_writer, two_writers_given_the_same_calls_make_the_same_bytes)
{
	struct ws_sample a = ws_sample_make(), b = ws_sample_make();

	cr_assert(eq(sz, a.size, b.size));
	cr_assert_arr_eq(a.data, b.data, a.size);
	assert_sound(&a);
	ws_sample_free(&a);
	ws_sample_free(&b);
}

Test(trace_writer, a_file_has_the_bytes_that_memory_has)
{
	struct ws_sample in_memory = ws_sample_make(), in_file;
	struct ws_trace_writer *w;
	struct ws_err err;
	char path[64];

	make_path(path);
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK));
	ws_sample_fill(w);
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	cr_assert(eq(u64, ws_trace_writer_size(w), in_memory.size));
	ws_trace_writer_free(w);
	in_file = read_file(path);
	cr_assert(eq(sz, in_file.size, in_memory.size));
	cr_assert_arr_eq(in_file.data, in_memory.data, in_file.size);
	ws_sample_free(&in_memory);
	ws_sample_free(&in_file);
	unlink(path);
}

Test(trace_writer, creating_replaces_what_was_there)
{
	struct ws_trace_writer *w;
	struct ws_sample s;
	struct ws_err err;
	char path[64];
	FILE *f;

	make_path(path);
	f = fopen(path, "wb");
	for (int i = 0; i < 10000; i++)
		fputs("old content ", f);
	fclose(f);
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	ws_trace_writer_free(w);
	s = read_file(path);
	assert_sound(&s);
	ws_sample_free(&s);
	unlink(path);
}

Test(trace_writer, an_empty_trace_is_a_header_a_schema_an_index_and_a_trailer)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_trace_reader *r;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	r = read_back(w);
	cr_assert(eq(sz, ws_trace_reader_block_count(r), 2));
	cr_assert(eq(u16, ws_trace_reader_block(r, 0)->kind, WS_KIND_SCHEMA));
	cr_assert(eq(u16, ws_trace_reader_block(r, 1)->kind, WS_KIND_INDEX));
	cr_assert(eq(int, ws_trace_reader_summary(r)->closed, 1));
	ws_trace_reader_free(r);
	ws_trace_writer_free(w);
}

Test(trace_writer, interning_gives_the_same_id_again_and_0_for_nothing)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_launch_config config = {.name = 1, .grid_x = 7};
	uint64_t id, again, other;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_intern(w, NULL, 0, &id, &err), WS_OK));
	cr_assert(eq(u64, id, 0));
	cr_assert(eq(int, ws_trace_writer_intern(w, "a", 1, &id, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_intern(w, "b", 1, &other, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_intern(w, "a", 1, &again, &err), WS_OK));
	cr_assert(eq(u64, id, 1));
	cr_assert(eq(u64, other, 2));
	cr_assert(eq(u64, again, 1));
	cr_assert(eq(u64, ws_trace_writer_rows(w, WS_KIND_STRING), 2));

	/* the same bytes under another schema are another payload; an empty one is a payload, too
	 */
	cr_assert(eq(int, ws_trace_writer_intern_payload(w, 1, "xy", 2, &id, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_intern_payload(w, 2, "xy", 2, &other, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_intern_payload(w, 1, "xy", 2, &again, &err), WS_OK));
	cr_assert(eq(u64, id, 1));
	cr_assert(eq(u64, other, 2));
	cr_assert(eq(u64, again, 1));
	cr_assert(eq(int, ws_trace_writer_intern_payload(w, 1, NULL, 0, &id, &err), WS_OK));
	cr_assert(eq(u64, id, 3));

	cr_assert(eq(int, ws_trace_writer_intern_config(w, &config, &id, &err), WS_OK));
	config.id = 99; /* is ignored */
	cr_assert(eq(int, ws_trace_writer_intern_config(w, &config, &again, &err), WS_OK));
	config.local_bytes = 1;
	cr_assert(eq(int, ws_trace_writer_intern_config(w, &config, &other, &err), WS_OK));
	cr_assert(eq(u64, id, 1));
	cr_assert(eq(u64, again, 1));
	cr_assert(eq(u64, other, 2));
	ws_trace_writer_free(w);
}

Test(trace_writer, dictionaries_stand_before_the_full_block_that_needs_them)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_trace_reader *r;
	int strings_seen = 0, nvtx_seen = 0;
	struct ws_err err;

	/* more rows than a block holds, with new names all the time and no flush */
	for (unsigned i = 0; i < 3 * WS_MAX_BLOCK_ROWS / 2; i++) {
		struct ws_row_nvtx row = {.time_ns = i};
		char text[32];
		int n = snprintf(text, sizeof(text), "op_id = %u", i / 100);

		cr_assert(eq(int, ws_trace_writer_intern(w, text, (size_t)n, &row.name, &err),
		             WS_OK));
		cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_NVTX, &row, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	r = read_back(w);
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		const struct ws_block_info *b = ws_trace_reader_block(r, i);

		strings_seen += b->kind == WS_KIND_STRING;
		if (b->kind == WS_KIND_NVTX)
			cr_assert(eq(int, strings_seen, ++nvtx_seen));
	}
	cr_assert(eq(int, nvtx_seen, 2));
	ws_trace_reader_free(r);
	ws_trace_writer_free(w);
}

Test(trace_writer, a_flush_puts_every_row_into_the_file)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_trace_reader *r;
	struct ws_column_data t;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_meta(w, "a", "1", &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_meta(w, "b", "2", &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	cr_assert(eq(u64, ws_trace_writer_size(w), ws_trace_writer_mem(w).len));
	r = read_back(w);
	cr_assert(eq(int, ws_trace_reader_summary(r)->closed, 0));
	cr_assert(eq(sz, ws_trace_reader_block_count(r), 3));
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_META, &t, &err), WS_OK));
	cr_assert(eq(u64, t.rows, 2));
	cr_assert_arr_eq(t.columns[WS_COL_meta_value].b[1].ptr, "2", 1);
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_trace_writer_free(w);
}

Test(trace_writer, rows_of_the_files_own_kinds_cannot_be_added)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_row_index row = {0};
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_INDEX, &row, &err), WS_BUG));
	cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_SCHEMA, &row, &err), WS_BUG));
	cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_END, &row, &err), WS_BUG));
	cr_assert(eq(int, ws_trace_writer_add(w, 0, &row, &err), WS_BUG));
	ws_trace_writer_free(w);
}

Test(trace_writer, a_closed_writer_takes_no_more)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_meta(w, "a", "b", &err), WS_BUG));
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_BUG));
	cr_assert(gt(sz, ws_trace_writer_mem(w).len, 0));
	ws_trace_writer_free(w);
	ws_trace_writer_free(NULL);
}

Test(trace_writer, a_text_over_the_limit_is_cut_and_the_writer_goes_on)
{
	struct ws_trace_writer *w = new_writer();
	char *big = calloc(1, WS_MAX_BLOB_BYTES + 1);
	struct ws_err err;
	uint64_t id;

	cr_assert(eq(int, ws_trace_writer_intern(w, big, WS_MAX_BLOB_BYTES + 1, &id, &err), WS_OK));
	cr_assert(eq(u64, id, 1));
	cr_assert(eq(int,
	             ws_trace_writer_intern_payload(w, 1, big, WS_MAX_BLOB_BYTES + 1, &id, &err),
	             WS_OK));
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	free(big);
	ws_trace_writer_free(w);
}

Test(trace_writer, more_than_65536_blocks_take_several_index_blocks)
{
	struct ws_trace_writer *w = new_writer();
	struct ws_trace_reader *r;
	struct ws_err err;
	size_t n;

	for (unsigned i = 0; i < WS_MAX_BLOCK_ROWS + 10; i++) {
		cr_assert(eq(int, ws_trace_writer_meta(w, "k", "v", &err), WS_OK));
		cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	r = read_back(w);
	n = ws_trace_reader_block_count(r);
	cr_assert(eq(sz, n, 1 + WS_MAX_BLOCK_ROWS + 10 + 2));
	cr_assert(eq(u16, ws_trace_reader_block(r, n - 2)->kind, WS_KIND_INDEX));
	cr_assert(eq(u32, ws_trace_reader_block(r, n - 2)->rows, WS_MAX_BLOCK_ROWS));
	cr_assert(eq(u32, ws_trace_reader_block(r, n - 1)->rows, 11));
	cr_assert(eq(int, ws_trace_reader_summary(r)->closed, 1));
	ws_trace_reader_free(r);
	ws_trace_writer_free(w);
}

/* --- a full disk --- */

Test(trace_writer, a_file_that_cannot_be_created_or_written_is_an_error_that_names_it)
{
	struct ws_trace_writer *w;
	struct ws_err err;

	cr_assert(
	        eq(int, trace_file_create(&w, "/nonexistent/a.wtrace", &opts, &err), WS_IO_WRITE));
	cr_assert_str_eq(err.text, "cannot open /nonexistent/a.wtrace: No such file or directory");
	cr_assert(eq(int, trace_file_create(&w, "/dev/full", &opts, &err), WS_IO_WRITE));
	cr_assert_str_eq(err.text, "cannot write to /dev/full: No space left on device");
	cr_assert(w == NULL);
}

/* From now on no file of this process gets larger: as when the disk is full. */
static void fill_disk_at(uint64_t size)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

Test(trace_writer, when_the_disk_is_full_the_file_ends_with_its_last_whole_block)
{
	const struct ws_row_nvtx event = {.time_ns = 1 << 30};
	static struct ws_sample_findings f;
	struct ws_trace_writer *w;
	uint64_t whole, added = 0, id;
	enum ws_status status;
	struct ws_sample s;
	struct ws_err err;
	char path[64];

	make_path(path);
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK));
	ws_sample_fill(w);
	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	whole = ws_trace_writer_size(w);
	fill_disk_at(whole + 100);

	/* a definition alone is nothing that happened */
	cr_assert(eq(int, ws_trace_writer_intern(w, "new text", 8, &id, &err), WS_OK));
	for (int i = 0; i < 5; i++, added++)
		cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_NVTX, &event, &err), WS_OK));
	status = ws_trace_writer_flush(w, &err);
	cr_assert(eq(int, status, WS_IO_WRITE));
	cr_assert(strstr(err.text, path) != NULL);
	cr_assert(eq(u64, ws_trace_writer_rows_lost(w), added));
	cr_assert(eq(u64, ws_trace_writer_size(w), whole));

	/* and so it stays, though there would be room for less */
	cr_assert(eq(int, ws_trace_writer_meta(w, "k", "v", &err), WS_IO_WRITE));
	cr_assert(strstr(err.text, path) != NULL);
	cr_assert(eq(u64, ws_trace_writer_rows_lost(w), added));
	cr_assert(eq(int, ws_trace_writer_add(w, WS_KIND_NVTX, &event, &err), WS_IO_WRITE));
	cr_assert(eq(u64, ws_trace_writer_rows_lost(w), added + 1));
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_IO_WRITE));
	ws_trace_writer_free(w);

	s = read_file(path);
	cr_assert(eq(u64, s.size, whole));
	ws_sample_check(&s, &f);
	cr_assert(eq(u64, f.result.damage, 0));
	cr_assert(eq(u64, f.result.notes, 1));
	ws_sample_free(&s);
	unlink(path);
}

Test(trace_writer, a_disk_that_fills_at_close_leaves_all_blocks_readable)
{
	struct ws_trace_writer *w;
	struct ws_sample s, unclosed = ws_sample_make_unclosed();
	struct ws_err err;
	char path[64];

	make_path(path);
	cr_assert(eq(int, trace_file_create(&w, path, &opts, &err), WS_OK));
	ws_sample_fill(w);
	fill_disk_at(unclosed.size);
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_IO_WRITE));
	ws_trace_writer_free(w);
	s = read_file(path);
	cr_assert(eq(sz, s.size, unclosed.size));
	cr_assert_arr_eq(s.data, unclosed.data, s.size);
	ws_sample_free(&s);
	ws_sample_free(&unclosed);
	unlink(path);
}

/* --- going on with a file --- */

static void write_file(const char *path, const struct ws_sample *s, size_t size)
{
	FILE *f = fopen(path, "wb");

	cr_assert(f != NULL);
	cr_assert(eq(sz, fwrite(s->data, 1, size, f), size));
	fclose(f);
}

Test(trace_writer, a_resumed_file_gets_the_bytes_it_would_have_got_in_one_go)
{
	struct ws_trace_writer *w = new_writer(), *resumed;
	struct ws_sample first, both, s;
	struct ws_err err;
	char path[64];
	uint64_t size;

	ws_sample_fill(w);
	cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	size = ws_trace_writer_size(w);
	first = ws_sample_take(w);
	ws_sample_fill(w);
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	both = ws_sample_take(w);

	/* the recorder died in the middle of a block */
	make_path(path);
	write_file(path, &both, size + 333);
	cr_assert(eq(int, trace_file_resume(&resumed, path, size, &opts, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(u64, ws_trace_writer_rows(resumed, WS_KIND_NVTX), 40));
	ws_sample_fill(resumed);
	cr_assert(eq(int, ws_trace_writer_close(resumed, &err), WS_OK));
	cr_assert(eq(u64, ws_trace_writer_rows(resumed, WS_KIND_STRING),
	             ws_trace_writer_rows(w, WS_KIND_STRING)));
	ws_trace_writer_free(resumed);

	s = read_file(path);
	cr_assert(eq(sz, s.size, both.size));
	cr_assert_arr_eq(s.data, both.data, s.size);
	ws_sample_free(&s);
	ws_sample_free(&first);
	ws_sample_free(&both);
	ws_trace_writer_free(w);
	unlink(path);
}

Test(trace_writer, what_is_no_whole_unfinished_trace_cannot_be_resumed_and_stays_as_it_is)
{
	struct ws_sample closed = ws_sample_make(), unclosed = ws_sample_make_unclosed(), s;
	size_t index = ws_sample_block(&closed, WS_KIND_INDEX, 0);
	struct ws_trace_writer *w;
	struct ws_err err;
	char path[64];

	make_path(path);
	write_file(path, &closed, closed.size);
	cr_assert(eq(int, trace_file_resume(&w, path, closed.size, &opts, &err), WS_USAGE));
	cr_assert(strstr(err.text,
	                 "the trace has an index: it is complete and cannot be continued") != NULL);
	cr_assert(eq(int, trace_file_resume(&w, path, index - 8, &opts, &err), WS_CORRUPT));
	cr_assert(strstr(err.text, "are not whole blocks") != NULL);
	cr_assert(eq(int, trace_file_resume(&w, path, closed.size + 1, &opts, &err), WS_CORRUPT));
	cr_assert(eq(int, trace_file_resume(&w, path, 10, &opts, &err), WS_CORRUPT));
	cr_assert(eq(int, trace_file_resume(&w, path, 0, &opts, &err), WS_CORRUPT));
	cr_assert(eq(int, trace_file_resume(&w, "/nonexistent", 0, &opts, &err), WS_IO_READ));
	cr_assert(w == NULL);
	s = read_file(path);
	cr_assert(eq(sz, s.size, closed.size));

	/* but up to the index it can */
	cr_assert(eq(int, trace_file_resume(&w, path, index, &opts, &err), WS_OK));
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	ws_trace_writer_free(w);
	ws_sample_free(&s);
	s = read_file(path);
	cr_assert(eq(sz, s.size, closed.size));
	cr_assert_arr_eq(s.data, closed.data, s.size);
	ws_sample_free(&s);
	ws_sample_free(&closed);
	ws_sample_free(&unclosed);
	unlink(path);
}
