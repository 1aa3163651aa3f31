#include <unistd.h>
#include <zlib.h>

#include "tests/formats/pytorch/import.h"

/* --- ranges --- */

#define ANNOTATION(name, tid, ts, dur)                                                            \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid \
	",\"ts\":" #ts ",\"dur\":" #dur "},"

Test(import_pytorch, ranges_that_cross_become_start_and_end)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" ANNOTATION("a", 1, 0, 10) ANNOTATION("b", 1, 5, 10)
	                         ANNOTATION("c", 1, 6, 2) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 6));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 0), WS_NVTX_PUSH));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 1), WS_NVTX_START));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 1), (char *)"b"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 2), WS_NVTX_END));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 2), 15000));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, range, 1), WS_CELL(i, NVTX, nvtx, range, 2)));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 3), WS_NVTX_PUSH), "c inside a");
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 4), WS_NVTX_POP));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 5), WS_NVTX_POP));
	cr_assert(ws_imported_warned(i, "start/end ranges: 1"));
	ws_imported_free(i);
}

Test(import_pytorch, ranges_that_touch_follow_one_another)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" ANNOTATION("b", 1, 10, 10) ANNOTATION("a", 1, 0, 10)
	                         ANNOTATION("z", 2, 3, 0) "]}");
	const int types[] = {WS_NVTX_PUSH, WS_NVTX_POP,  WS_NVTX_PUSH,
	                     WS_NVTX_POP,  WS_NVTX_PUSH, WS_NVTX_POP};

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 6));
	for (int k = 0; k < 6; k++)
		cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, (uint64_t)k), types[k]));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"a"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 2), (char *)"b"));
	ws_imported_free(i);
}

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

Test(import_pytorch, a_name_of_a_megabyte_is_kept)
{
	const size_t len = (size_t)1 << 20;
	char *json = malloc(len + 200);
	char *p = stpcpy(json,
	                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	struct ws_imported *i;

	memset(p, 'x', len);
	p = stpcpy(p + len, "\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1}]}");
	i = ws_imported_bytes(json, (size_t)(p - json));

	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(eq(sz, strlen(WS_CELL_TEXT(i, API, api, name, 0)), len));
	ws_imported_free(i);
	free(json);
}

#define EVENT(cat, rest) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"n\",\"pid\":1,\"tid\":2," rest "},"

Test(import_pytorch, times_that_cannot_be_are_counted_and_left_out)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("cuda_runtime", "\"ts\":1,\"dur\":1")
	                EVENT("cuda_runtime", "\"ts\":1,\"dur\":-1")
	                        EVENT("cuda_runtime", "\"ts\":1e17,\"dur\":1") EVENT("cuda_runtime",
	                                                                             "\"dur\":1")
	                                EVENT("cuda_runtime", "\"ts\":\"x\",\"dur\":1")
	                                        EVENT("cuda_runtime", "\"ts\":NaN,\"dur\":1")
	                                                EVENT("cuda_runtime", "\"ts\":1") "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(u64, ws_imported_lost(i, "times"), 6));
	ws_imported_free(i);
}

Test(import_pytorch, times_before_the_first_event_are_negative)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("cuda_runtime", "\"ts\":1683564901000000,\"dur\":1")
	                EVENT("cuda_runtime", "\"ts\":1683564900000000,\"dur\":1") "]}");

	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 1), -1000000000));
	ws_imported_free(i);
}

Test(import_pytorch, a_kernel_whose_time_the_profiler_lost_is_marked)
{
	struct ws_imported *i =
	        imported("{\"baseTimeNanoseconds\":1700000000000000000,"
	                 "\"traceEvents\":[" EVENT("kernel", "\"ts\":0.000,\"dur\":0.000")
	                         EVENT("kernel", "\"ts\":0.000,\"dur\":1.5") "]}");

	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, flags, 0), WS_KERNEL_NO_TIME));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, flags, 1), 0));
	cr_assert(ws_imported_warned(
	        i, "events at time 0, whose time but not duration the profiler lost: 2"));
	ws_imported_free(i);
}

Test(import_pytorch, unknown_categories_and_phases_are_counted_by_name)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("mtia_ccp\\u0007",
	                                   "\"ts\":1,\"dur\":1") EVENT("xpu", "\"ts\":1,\"dur\":1")
	                EVENT("xpu", "\"ts\":1,\"dur\":1") "{\"ph\":\"b\",\"name\":\"x\"},{\"ph\":"
	                                                   "\"C\",\"name\":\"c\"},{},[],"
	                                                   "{\"ph\":7}," CALL("a", 1) "]}");

	cr_assert(eq(u64, ws_imported_skipped(i, "category 'xpu'"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "phase 'b'"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "counters"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "phase ''"), 2), "{} and []");
	cr_assert(eq(u64, i->stats.events, 9));
	cr_assert(eq(u64, i->stats.kept, 1));
	cr_assert(eq(u64, ws_import_left_out(&i->stats), 8));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 0));
	cr_assert(eq(u64, ws_imported_lost(i, "does not know"), 7), "so reports count them");
	ws_imported_free(i);
}

/* Two ranks whose correlation ids are the same, one after the other in the file. */
Test(import_pytorch, of_ranks_merged_into_a_file_no_kernel_is_given_to_the_wrong_one)
{
#define RANK_EVENT(cat, name, pid, ts)                                                       \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":7," \
	"\"ts\":" ts ",\"dur\":1,\"args\":{\"correlation\":5,\"device\":0,\"stream\":7}}"
	struct ws_imported *i = imported("{\"traceEvents\":[" RANK_EVENT(
	        "cuda_runtime", "cudaLaunchKernel", "100",
	        "1") "," RANK_EVENT("kernel", "first", "0",
	                            "2") "," RANK_EVENT("cuda_runtime", "cudaLaunchKernel", "200",
	                                                "3") "," RANK_EVENT("kernel", "second", "0",
	                                                                    "4") "," RANK_EVENT("gp"
	                                                                                        "u_"
	                                                                                        "me"
	                                                                                        "ms"
	                                                                                        "e"
	                                                                                        "t",
	                                                                                        "Me"
	                                                                                        "ms"
	                                                                                        "et"
	                                                                                        " ("
	                                                                                        "De"
	                                                                                        "vi"
	                                                                                        "ce"
	                                                                                        ")",
	                                                                                        "0",
	                                                                                        "6") "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 2));
	cr_assert(eq(u64, rows(i, WS_KIND_LAUNCH_CONFIG), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 0), 100));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 1), 0));
	cr_assert(eq(i64, WS_CELL(i, MEMSET, memset, pid, 0), 0));
	cr_assert(eq(u64, ws_imported_lost(i, "merges several ranks"), 2));
	cr_assert(ws_imported_warned(i, "several processes in one file"));
	ws_imported_free(i);
}

Test(import_pytorch, arguments_of_the_wrong_type_are_unknown)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" EVENT(
	        "kernel",
	        "\"ts\":1,\"dur\":1,\"args\":{\"device\":-1,\"stream\":\"x\",\"correlation\":[1],"
	        "\"grid\":\"no\",\"block\":[1,{},-3,4],\"registers per thread\":1e99,\"External "
	        "id\":null}") "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":[1],\"ts\":2,\"dur\":1,"
	                      "\"args\":[]},"
	                      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":null,\"ts\":2,"
	                      "\"dur\":1,\"args\":7,"
	                      "\"tid\":\"main thread\",\"pid\":{}}]}");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_x, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_z, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 0));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, THREAD, thread, name, 0), (char *)"main thread"));
	ws_imported_free(i);
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
	char *path = gzip_file(generation_2022, 0);
	struct ws_imported *i = ws_imported_file(path);

	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(eq(u64, i->stats.events, 14));
	cr_assert(eq(sz, i->stats.nwarnings, 0));
	ws_imported_free(i);
	unlink(path);
	free(path);

	path = gzip_file(generation_2022, 100);
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(lt(u64, i->stats.events, 14));
	cr_assert(gt(u64, i->stats.events, 0));
	cr_assert(ws_imported_warned(i, "compressed data"));
	cr_assert(ws_imported_warned(i, "ends in the middle"));
	ws_imported_free(i);
	unlink(path);
	free(path);
}

Test(import_pytorch, other_files_are_refused_with_a_reason)
{
	struct ws_imported *i = import("{\"hello\": 1}");

	cr_assert(eq(int, i->status, WS_IO_READ));
	cr_assert(strstr(i->err.text, "it is not a PyTorch profiler JSON or") != NULL);
	ws_imported_free(i);
	i = import("");
	cr_assert(eq(int, i->status, WS_IO_READ));
	ws_imported_free(i);
	i = import("{\"schemaVersion\": 1, \"deviceProperties\": []}");
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "no traceEvents") != NULL);
	ws_imported_free(i);
	i = ws_imported_file("/nowhere/at/all.json");
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
	char *path = gzip_file(generation_2022, 0), name[32], folder[] = "/tmp/ws-unnamed-XXXXXX";
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
	free(stats);
}

Test(import_pytorch, the_same_input_gives_the_same_trace)
{
	struct ws_imported *a = imported(generation_2022), *b = imported(generation_2022);

	cr_assert(eq(u64, ws_trace_reader_summary(a->reader)->file_hash,
	             ws_trace_reader_summary(b->reader)->file_hash));
	ws_imported_free(a);
	ws_imported_free(b);
}

Test(import_pytorch, collectives_keep_name_group_size_and_sequence)
{
	struct ws_imported *i = imported(
	        "{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": ["
	        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
	        "10, "
	        "\"tid\": 11, \"ts\": 5.0, \"dur\": 9, \"args\": {\"External id\": 7, \"Collective "
	        "name\": "
	        "\"_allgather_base\", \"dtype\": \"BFloat16\", \"In msg nelems\": 8, "
	        "\"Out msg nelems\": 16, \"Group size\": 2}},"
	        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
	        "10, "
	        "\"tid\": 11, \"ts\": 20, \"dur\": 9, \"args\": {\"External id\": 8, "
	        "\"Collective name\": \"wait\"}},"
	        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
	        "\"pid\": 0, "
	        "\"tid\": 20, \"ts\": 30.5, \"dur\": 100, \"args\": {\"correlation\": 3, "
	        "\"device\": 0, "
	        "\"stream\": 20, \"Collective name\": \"allreduce\", \"In msg nelems\": 4000, "
	        "\"Out msg nelems\": 4000, \"Group size\": 2, \"dtype\": \"Float\", "
	        "\"Process Group Name\": \"tp\", \"Process Group Ranks\": \"[0, 1]\", \"Seq\": "
	        "41}}]}");

	cr_assert(eq(u64, rows(i, WS_KIND_COLLECTIVE), 2), "a wait is none");
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, name, 0),
	             (char *)"_allgather_base"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, external_id, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, correlation, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, out_elements, 0), 16));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, sequence, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, time_ns, 1), 30500));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, pid, 1), 10));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, correlation, 1), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, group, 1), (char *)"tp"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, ranks, 1),
	             (char *)"[0, 1]"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, group_size, 1), 2));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, dtype, 1),
	             (char *)"Float"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, in_elements, 1), 4000));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, sequence, 1), 41));
	ws_imported_free(i);
}
