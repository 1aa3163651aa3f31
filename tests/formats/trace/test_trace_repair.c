#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/codec/container.h"
#include "tests/support/trace_sample.h"

static struct ws_sample_findings f;

struct paths {
	char from[64], to[72];
};

static void make_paths(struct paths *p)
{
	snprintf(p->from, sizeof(p->from), "/tmp/ws_test_repair_XXXXXX");
	close(mkstemp(p->from));
	snprintf(p->to, sizeof(p->to), "%s.out", p->from);
}

static void drop_paths(const struct paths *p)
{
	unlink(p->from);
	unlink(p->to);
}

static void write_file(const char *path, const struct ws_sample *s)
{
	FILE *file = fopen(path, "wb");

	cr_assert(eq(sz, fwrite(s->data, 1, s->size, file), s->size));
	fclose(file);
}

static struct ws_sample read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct ws_sample s;

	cr_assert(file != NULL);
	fseek(file, 0, SEEK_END);
	s.size = (size_t)ftell(file);
	rewind(file);
	s.data = malloc(s.size);
	cr_assert(eq(sz, fread(s.data, 1, s.size, file), s.size));
	fclose(file);
	return s;
}

/* Repair s; what came out, checked into f. */
static struct ws_sample repair(const struct ws_sample *s, struct ws_check_result *kept)
{
	struct ws_sample out;
	struct ws_err err;
	struct paths p;

	make_paths(&p);
	write_file(p.from, s);
	cr_assert(eq(int, ws_trace_repair(p.from, p.to, kept, &err), WS_OK), "%s", err.text);
	out = read_file(p.to);
	ws_sample_check(&out, &f);
	cr_assert(eq(int, f.status, WS_OK), "%s", f.err.text);
	drop_paths(&p);
	return out;
}

/* The value of a meta row, or "". */
static void meta_value(const struct ws_sample *s, const char *key, char value[64])
{
	struct ws_trace_reader *r;
	struct ws_column_data t;
	struct ws_err err;

	value[0] = 0;
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, s->data, s->size, &err), WS_OK));
	cr_assert(eq(int, ws_trace_reader_load(r, WS_KIND_META, &t, &err), WS_OK));
	for (uint64_t i = 0; i < t.rows; i++) {
		const struct ws_bytes *k = &t.columns[WS_COL_meta_key].b[i];
		const struct ws_bytes *v = &t.columns[WS_COL_meta_value].b[i];

		if (k->len == strlen(key) && !memcmp(k->ptr, key, k->len))
			snprintf(value, 64, "%.*s", (int)v->len, (const char *)v->ptr);
	}
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
}

Test(trace_repair, an_unclosed_trace_gets_an_index_and_keeps_every_byte_it_had)
{
	struct ws_sample s = ws_sample_make_unclosed(), out;
	struct ws_check_result kept;
	char value[64];

	out = repair(&s, &kept);
	cr_assert_str_eq(f.text, "");
	cr_assert(eq(int, f.result.closed, 1));
	cr_assert_arr_eq(out.data, s.data, s.size);
	cr_assert(eq(int, kept.closed, 0));
	cr_assert(eq(u64, kept.damage, 0));
	cr_assert(eq(u64, f.result.blocks, kept.blocks + 2)); /* meta, index */
	meta_value(&out, "repair.source_closed", value);
	cr_assert_str_eq(value, "no");
	meta_value(&out, "repair.damage", value);
	cr_assert_str_eq(value, "0");
	meta_value(&out, "repair.base_ns", value);
	cr_assert_str_eq(value, "");
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, damaged_blocks_are_left_out_and_the_rest_is_kept)
{
	struct ws_sample s = ws_sample_make(), out;
	size_t offset = ws_sample_block(&s, WS_KIND_THREAD_EVENT, 0);
	size_t size = ws_sample_block_size(&s, offset);
	struct ws_check_result kept;
	char value[64], expected[64];

	s.data[offset + 100] ^= 1;
	out = repair(&s, &kept);
	cr_assert_arr_eq(out.data, s.data, offset);
	cr_assert_arr_eq(out.data + offset, s.data + offset + size, 100);
	/* what is missing is told, as something known */
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	cr_assert(strstr(f.text, "NOTE") == f.text);
	cr_assert(strstr(f.text, "blocks missing before it: 1\n") != NULL);
	cr_assert(eq(int, f.result.closed, 1));
	cr_assert(eq(u64, kept.damage, 2));
	meta_value(&out, "repair.skipped_bytes", value);
	snprintf(expected, sizeof(expected), "%zu", size);
	cr_assert_str_eq(value, expected);
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, a_lost_dictionary_leaves_notes_not_damage)
{
	struct ws_sample s = ws_sample_make(), out;

	s.data[ws_sample_block(&s, WS_KIND_STRING, 0) + 100] ^= 1;
	out = repair(&s, NULL);
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	cr_assert(strstr(f.text, "that no earlier row defines") != NULL);
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, a_block_whose_checksums_are_right_but_whose_columns_are_not_is_left_out)
{
	struct ws_sample s = ws_sample_make(), out;
	size_t offset = ws_sample_block(&s, WS_KIND_LOSS, 0);

	ws_sample_poke(&s, offset + WS_BLOCK_HEADER_BYTES + 16, 8, 1 << 20);
	ws_sample_seal_block(&s, offset);
	out = repair(&s, NULL);
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, a_lost_file_header_and_schema_are_made_anew)
{
	struct ws_sample s = ws_sample_make(), out;
	struct ws_trace_reader *r;
	struct ws_err err;
	char value[64];

	s.data[40] ^= 1;
	s.data[WS_FILE_HEADER_BYTES + 100] ^= 1;
	out = repair(&s, NULL);
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	meta_value(&out, "repair.base_ns", value);
	cr_assert_str_eq(value, "lost");
	meta_value(&out, "repair.schema", value);
	cr_assert_str_eq(value, "of the repairing program");
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, out.data, out.size, &err), WS_OK));
	cr_assert(eq(i64, ws_trace_reader_summary(r)->base_ns, 0));
	cr_assert_str_eq(ws_trace_reader_kind_name(r, WS_KIND_NVTX), "nvtx");
	ws_trace_reader_free(r);
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, a_repaired_trace_can_be_repaired_again)
{
	struct ws_sample s = ws_sample_make_unclosed(), once, twice;

	once = repair(&s, NULL);
	once.data[ws_sample_block(&once, WS_KIND_LOSS, 0) + 80] ^= 1;
	twice = repair(&once, NULL);
	cr_assert(eq(u64, f.result.damage, 0), "%s", f.text);
	ws_sample_free(&s);
	ws_sample_free(&once);
	ws_sample_free(&twice);
}

Test(trace_repair, a_file_may_be_repaired_in_place)
{
	struct ws_sample s = ws_sample_make_unclosed(), out;
	struct ws_err err;
	struct paths p;

	make_paths(&p);
	write_file(p.from, &s);
	cr_assert(eq(int, ws_trace_repair(p.from, p.from, NULL, &err), WS_OK), "%s", err.text);
	out = read_file(p.from);
	ws_sample_check(&out, &f);
	cr_assert_str_eq(f.text, "");
	drop_paths(&p);
	ws_sample_free(&s);
	ws_sample_free(&out);
}

Test(trace_repair, what_cannot_be_repaired_makes_no_file)
{
	struct ws_sample s = ws_sample_make();
	char temporary[128];
	struct ws_err err;
	struct paths p;
	glob_t found;

	make_paths(&p);
	cr_assert(eq(int, ws_trace_repair(p.from, p.to, NULL, &err), WS_CORRUPT)); /* empty */
	s.size = WS_FILE_HEADER_BYTES + 100;
	write_file(p.from, &s);
	cr_assert(eq(int, ws_trace_repair(p.from, p.to, NULL, &err), WS_CORRUPT));
	cr_assert(strstr(err.text, "it has no whole block") != NULL, "%s", err.text);
	cr_assert(ne(int, access(p.to, F_OK), 0));
	snprintf(temporary, sizeof(temporary), "%s.*", p.to);
	cr_assert(eq(int, glob(temporary, 0, NULL, &found), GLOB_NOMATCH));
	cr_assert(eq(int, ws_trace_repair("/nonexistent", p.to, NULL, &err), WS_IO_READ));
	s.size = 3000;
	write_file(p.from, &s);
	cr_assert(eq(int, ws_trace_repair(p.from, "/nonexistent/a", NULL, &err), WS_IO_WRITE));
	drop_paths(&p);
	ws_sample_free(&s);
}

Test(trace_repair, a_link_at_a_name_that_can_be_guessed_is_not_followed)
{
	struct ws_sample s = ws_sample_make();
	char guessed[128], victim[128];
	struct ws_sample left;
	struct paths p;

	make_paths(&p);
	write_file(p.from, &s);
	snprintf(victim, sizeof(victim), "%s.victim", p.from);
	write_file(victim, &(struct ws_sample){.data = s.data, .size = 6});
	snprintf(guessed, sizeof(guessed), "%s.%ld.tmp", p.to, (long)getpid());
	cr_assert(eq(int, symlink(victim, guessed), 0));
	cr_assert(eq(int, ws_trace_repair(p.from, p.to, NULL, NULL), WS_OK));
	left = read_file(victim);
	cr_assert(eq(sz, left.size, 6));
	free(left.data);
	unlink(guessed);
	unlink(victim);
	drop_paths(&p);
	ws_sample_free(&s);
}
