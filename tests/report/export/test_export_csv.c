/* Records as CSV: every kind of the sample trace, and cells that need care. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/export/csv.h"
#include "tests/support/trace_sample.h"

struct written {
	struct ws_trace_reader *r;
	struct ws_export_csv csv;
};

static void open_trace(struct written *w, const void *data, size_t size)
{
	static const struct ws_export_opts opts;

	cr_assert(eq(int, ws_trace_reader_open_mem(&w->r, data, size, NULL), WS_OK));
	cr_assert(eq(int, ws_export_csv_init(&w->csv, w->r, &opts, NULL), WS_OK));
}

static void close_trace(struct written *w)
{
	ws_export_csv_free(&w->csv);
	ws_trace_reader_free(w->r);
}

/* The file of a kind; the caller frees it. */
static char *file_of(struct written *w, enum ws_kind kind)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	cr_assert(eq(int, ws_export_csv_kind(&w->csv, kind, f, NULL), WS_OK));
	fclose(f);
	return text;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; (text = strstr(text, "\r\n")); text += 2)
		n++;
	return n;
}

Test(export_csv, every_kind_has_a_header_and_all_its_rows)
{
	struct ws_sample s = ws_sample_make();
	struct written w = {0};
	unsigned kinds = 0;

	open_trace(&w, s.data, s.size);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		char *text;

		if (!ws_export_csv_has(kind))
			continue;
		text = file_of(&w, kind);
		cr_assert(eq(sz, lines_of(text), 1 + ws_trace_reader_count(w.r, kind)), "%s",
		          ws_schema_kind(kind)->name);
		cr_assert(eq(int,
		             strncmp(text, ws_schema_kind(kind)->columns[0].name,
		                     strlen(ws_schema_kind(kind)->columns[0].name)),
		             0));
		kinds += ws_trace_reader_count(w.r, kind) > 0;
		free(text);
	}
	cr_assert(gt(u32, kinds, 20));
	close_trace(&w);
	ws_sample_free(&s);
}

Test(export_csv, the_files_own_bookkeeping_is_left_out)
{
	cr_assert(not(ws_export_csv_has(WS_KIND_SCHEMA)));
	cr_assert(not(ws_export_csv_has(WS_KIND_INDEX)));
	cr_assert(not(ws_export_csv_has(WS_KIND_STRING)), "texts stand where they are named");
	cr_assert(not(ws_export_csv_has((enum ws_kind)0)));
	cr_assert(ws_export_csv_has(WS_KIND_KERNEL));
}

Test(export_csv, ids_have_names_beside_them_and_units_stand_in_the_header)
{
	static const char formula[] = "=cmd|' /C calc'!A0,\"\xff";
	const struct ws_row_thread thread = {1, 100, 101, 1};
	const struct ws_row_device device = {0, WS_DEVICE_CUDA, 2};
	struct ws_row_launch_config c = {.pid = 100, .grid_x = 2, .registers = 40};
	struct ws_row_kernel k = {.start_ns = -5, .dur_ns = 7, .correlation = 3};
	struct ws_row_memcpy copy = {.kind = 99, .src_kind = WS_MEMORY_PINNED, .bytes = UINT64_MAX};
	const struct ws_trace_writer_opts defaults = {0};
	struct ws_trace_writer *t;
	struct written w = {0};
	struct ws_bytes mem;
	uint64_t id, payload;
	char *text;

	cr_assert(eq(int, ws_trace_writer_create_mem(&t, &defaults, NULL), WS_OK));
	ws_trace_writer_intern(t, "main", 4, &id, NULL);
	ws_trace_writer_intern(t, "GPU", 3, &id, NULL);
	ws_trace_writer_intern(t, formula, sizeof(formula) - 1, &c.name, NULL);
	ws_trace_writer_intern_payload(t, 15, "\x01\x02\xfe\xff", 4, &payload, NULL);
	ws_trace_writer_add(t, WS_KIND_THREAD, &thread, NULL);
	ws_trace_writer_add(t, WS_KIND_DEVICE, &device, NULL);
	ws_trace_writer_intern_config(t, &c, &k.config, NULL);
	ws_trace_writer_add(t, WS_KIND_KERNEL, &k, NULL);
	ws_trace_writer_add(t, WS_KIND_MEMCPY, &copy, NULL);
	cr_assert(eq(int, ws_trace_writer_close(t, NULL), WS_OK));
	mem = ws_trace_writer_mem(t);
	open_trace(&w, mem.ptr, mem.len);

	text = file_of(&w, WS_KIND_THREAD);
	cr_assert_str_eq(text, "id,pid,tid,name\r\n1,100,101,main\r\n");
	free(text);
	text = file_of(&w, WS_KIND_KERNEL);
	cr_assert_str_eq(text, "start_ns,dur_ns,correlation,config,config name,flags,payload,"
	                       "graph_node,graph\r\n"
	                       "-5,7,3,1,\"'=cmd|' /C calc'!A0,\"\"\xef\xbf\xbd\",0,0,0,0\r\n");
	free(text);
	text = file_of(&w, WS_KIND_PAYLOAD);
	cr_assert_str_eq(text, "id,schema,bytes\r\n1,15,0102feff\r\n");
	free(text);
	text = file_of(&w, WS_KIND_LAUNCH_CONFIG);
	cr_assert(strstr(text, ",device,device name,") != NULL);
	cr_assert(strstr(text, ",grid_x (blocks),") != NULL);
	cr_assert(strstr(text, ",registers (per thread),shared_static_bytes,") != NULL);
	cr_assert(strstr(text, ",100,0,GPU,0,0,2,") != NULL);
	free(text);
	text = file_of(&w, WS_KIND_MEMCPY);
	cr_assert(strstr(text, ",99,pinned,unknown,18446744073709551615,") != NULL, "%s", text);
	free(text);
	close_trace(&w);
	ws_trace_writer_free(t);
}

Test(export_csv, a_full_disk_is_told)
{
	struct ws_sample s = ws_sample_make();
	struct written w = {0};
	FILE *f = fopen("/dev/full", "w");

	open_trace(&w, s.data, s.size);
	cr_assert(f != NULL);
	setvbuf(f, NULL, _IONBF, 0);
	cr_assert(eq(int, ws_export_csv_kind(&w.csv, WS_KIND_KERNEL, f, NULL), WS_IO_WRITE));
	fclose(f);
	close_trace(&w);
	ws_sample_free(&s);
}
