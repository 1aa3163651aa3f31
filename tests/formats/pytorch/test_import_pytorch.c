/* Files of PyTorch that no text can hold; all else of them: import/scenarios/. */
#include <unistd.h>
#include <zlib.h>

#include "tests/formats/pytorch/import.h"
#include "tests/support/peak_memory.h"

/* --- hostile values ----------------------------------------------------------------------------
 */

Test(import_pytorch, hostile_names_survive_as_they_are)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" CALL("=cmd|' /C calc'!A0", 1) "," CALL(
	                "x\\u0000y\\r\\n,;", 2) "," CALL("\xff\xfe", 3) "," CALL("\\u202egnp",
	                                                                         4) "]}");
	const struct ws_bytes *zero = &i->table[WS_KIND_STRING]
	                                       .columns[WS_COL_string_text]
	                                       .b[WS_CELL(i, API, api, name, 1) - 1];

	cr_assert(
	        eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"=cmd|' /C calc'!A0"));
	cr_assert(eq(sz, zero->len, 7));
	cr_assert(eq(int, memcmp(zero->ptr, "x\0y\r\n,;", 7), 0));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 2), (char *)"\xff\xfe"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 3), (char *)"\xe2\x80\xaegnp"));
	ws_imported_free(i);
}

/* A call whose name has so many letters, and a value of the file's that is as long. */
static struct ws_imported *import_long(size_t len)
{
	char *json = malloc(2 * len + 200);
	char *p = stpcpy(json,
	                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	struct ws_imported *i;

	memset(p, 'x', len);
	p = stpcpy(p + len, "\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1}],\"cupti_version\":\"");
	memset(p, 'y', len);
	p = stpcpy(p + len, "\"}");
	i = ws_imported_bytes(json, (size_t)(p - json));
	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	free(json);
	return i;
}

Test(import_pytorch, a_name_of_a_megabyte_is_kept)
{
	struct ws_imported *i = import_long((size_t)1 << 20);

	cr_assert(eq(sz, strlen(WS_CELL_TEXT(i, API, api, name, 0)), (size_t)1 << 20));
	cr_assert(eq(u64, ws_imported_lost(i, "16 MiB"), 0));
	ws_imported_free(i);
}

Test(import_pytorch, a_text_over_16_mib_is_cut_and_counted)
{
	struct ws_imported *i = import_long(WS_MAX_BLOB_BYTES + 1);

	cr_assert(eq(sz, strlen(WS_CELL_TEXT(i, API, api, name, 0)), WS_MAX_BLOB_BYTES));
	cr_assert(eq(u64, ws_imported_lost(i, "16 MiB"), 2));
	cr_assert(eq(u64, ws_import_left_out(&i->stats), 0));
	ws_imported_free(i);
}

Test(import_pytorch, what_waits_for_the_end_costs_its_text_and_100_bytes)
{
	static const char half[] =
	        "{\"ph\":\"B\",\"cat\":\"x\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},";
	const size_t copies = 200000, size = copies * (sizeof(half) - 1) + 100;
	char *text = malloc(size), *at = stpcpy(text, "{\"traceEvents\":[");
	struct ws_imported *i;
	long before;

	for (size_t k = 0; k < copies; k++)
		at = stpcpy(at, half);
	(void)stpcpy(at, "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2}]}");
	begin_peak_memory();
	before = peak_memory_kib();
	i = import(text);
	cr_assert(
	        le(i64, peak_memory_kib() - before, (int64_t)(size + 100 * copies) / 1024 + 4096));
	cr_assert(eq(u64, i->stats.losses[WS_LOST_import_begin_without_end].count, copies - 1));
	cr_assert(eq(u64, i->stats.events, i->stats.kept + ws_import_left_out(&i->stats)));
	ws_imported_free(i);
	free(text);
}

Test(import_pytorch, deep_nesting_costs_its_event_and_no_stack)
{
	const size_t depth = 3000000;
	char *json = malloc(2 * depth + 400);
	char *p = stpcpy(json,
	                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\","
	                 "\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1,\"args\":{\"Input Dims\":");
	struct ws_imported *i;

	memset(p, '[', depth);
	memset(p + depth, ']', depth);
	p = stpcpy(p + 2 * depth, "}}," CALL("after", 7) "]}");
	i = ws_imported_bytes(json, (size_t)(p - json));
	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"after"));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 1));
	ws_imported_free(i);
	free(json);
}

Test(import_pytorch, events_whose_brackets_never_close_are_not_searched_to_the_end_each)
{
	const char event[] = "{\"ph\":\"X\",\"x\":[[},";
	const size_t n = 200000, len = sizeof(event) - 1;
	char *json = malloc(n * len + 100);
	char *p = stpcpy(json, "{\"traceEvents\":[");
	struct ws_imported *i;

	for (size_t k = 0; k < n; k++, p += len)
		memcpy(p, event, len);
	i = ws_imported_bytes(json, (size_t)(p - json));
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "cannot be read. It seems to be damaged") != NULL);
	cr_assert(ge(u64, ws_imported_lost(i, "cannot be read"), n - 200));
	ws_imported_free(i);
	free(json);
}

/* --- files --- */

static char *gzip_file(const char *text, size_t cut)
{
	char *path;
	gzFile gz;

	cr_assert(asprintf(&path, "/tmp/ws-test-%d.json.gz", (int)getpid()) > 0);
	gz = gzopen(path, "wb");
	cr_assert(gz && gzwrite(gz, text, (unsigned)strlen(text)) == (int)strlen(text));
	cr_assert(eq(int, gzclose(gz), Z_OK));
	if (cut) {
		FILE *f = fopen(path, "rb");
		long size;

		fseek(f, 0, SEEK_END);
		size = ftell(f);
		fclose(f);
		cr_assert(eq(int, truncate(path, size - (long)cut), 0));
	}
	return path;
}

Test(import_pytorch, compressed_files_are_read_and_cut_off_ones_too)
{
	char *text = generation(2022), *path = gzip_file(text, 0);
	struct ws_imported *i = ws_imported_file(path);

	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(eq(u64, i->stats.events, 14));
	cr_assert(eq(sz, i->stats.nwarnings, 0));
	ws_imported_free(i);
	unlink(path);
	free(path);

	path = gzip_file(text, 100);
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(lt(u64, i->stats.events, 14));
	cr_assert(gt(u64, i->stats.events, 0));
	cr_assert(ws_imported_warned(i, "compressed data"));
	cr_assert(ws_imported_warned(i, "ends in the middle"));
	ws_imported_free(i);
	unlink(path);
	free(path);
	free(text);
}

Test(import_pytorch, a_file_that_is_not_there_is_named)
{
	struct ws_imported *i = ws_imported_file("/nowhere/at/all.json");

	cr_assert(eq(int, i->status, WS_IO_READ));
	cr_assert(strstr(i->err.text, "/nowhere/at/all.json") != NULL);
	ws_imported_free(i);
}

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	cr_assert(ge(u64, done, last[0]), "it never goes back");
	cr_assert(le(u64, done, total), "%llu of %llu", (unsigned long long)done,
	          (unsigned long long)total);
	last[0] = done;
	last[1] = total;
}

Test(import_pytorch, an_unnamed_trace_can_be_read_and_leaves_nothing)
{
	char *text = generation(2022), *path = gzip_file(text, 0), name[32],
	     folder[] = "/tmp/ws-unnamed-XXXXXX";
	struct ws_import_stats *stats = calloc(1, sizeof(*stats));
	uint64_t last[2] = {0};
	const struct ws_import_opts opts = {.progress = note_progress, .progress_ctx = last};
	struct ws_trace_reader *reader;
	const struct ws_importer *importer;
	int fd;

	cr_assert(mkdtemp(folder) != NULL);
	setenv("TMPDIR", folder, 1);
	cr_assert(eq(int, ws_import_find(path, &importer, NULL), WS_OK));
	cr_assert(importer == &ws_importer_pytorch);
	cr_assert(eq(int, ws_import_unnamed(path, &opts, &fd, stats, NULL), WS_OK));
	cr_assert(eq(u64, stats->events, 14));
	cr_assert(gt(u64, last[1], 0), "progress was told");
	cr_assert(eq(u64, last[0], last[1]), "up to the end");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	cr_assert(eq(int, ws_import_find(name, &importer, NULL), WS_OK));
	cr_assert(importer == NULL, "a trace needs no import");
	cr_assert(eq(int, ws_trace_reader_open(&reader, name, NULL), WS_OK));
	cr_assert(ne(i64, ws_trace_reader_summary(reader)->base_ns, 0));
	ws_trace_reader_free(reader);
	close(fd);
	unlink(path);
	cr_assert(eq(int, ws_import_unnamed(path, NULL, &fd, stats, NULL), WS_IO_READ));
	cr_assert(eq(int, rmdir(folder), 0), "nothing is in it");
	setenv("TMPDIR", "/nowhere/at/all", 1);
	cr_assert(eq(int, ws_import_unnamed(path, NULL, &fd, stats, NULL), WS_IO_WRITE));
	free(path);
	free(text);
	free(stats);
}

Test(import_pytorch, the_same_input_gives_the_same_trace)
{
	char *text = generation(2022);
	struct ws_imported *a = imported(text), *b = imported(text);

	cr_assert(eq(u64, ws_trace_reader_summary(a->reader)->file_hash,
	             ws_trace_reader_summary(b->reader)->file_hash));
	ws_imported_free(a);
	ws_imported_free(b);
	free(text);
}
