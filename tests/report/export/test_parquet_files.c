/* Where an export into Parquet lies: files and folders, ranks, fleets, failures. */
#include "tests/report/export/exported_parquet.h"

#include <signal.h>
#include <sys/resource.h>

Test(parquet_files, an_empty_trace_has_every_table_without_rows)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	char names[32][256];

	export_trace(b, &p, NULL);
	cr_assert(eq(sz, list(p.out, names), TABLES));
	for (size_t i = 0; i < TABLES; i++) {
		struct pq_file *f = read_table(p.out, tables[i]);

		if (strcmp(tables[i], "facts"))
			cr_assert(eq(sz, f->rows, 0), "%s", tables[i]);
		cr_assert(gt(sz, f->ncolumns, 3));
		cr_assert_str_eq(pq_meta(f, "warpsheet.table"), tables[i]);
		cr_assert_str_eq(pq_meta(f, "warpsheet.version"), WS_VERSION);
		cr_assert_str_eq(pq_meta(f, "trace.base_ns"), "1700000000000000000");
		cr_assert(eq(sz, strlen(pq_meta(f, "trace.hash")), 16));
		pq_free(f);
	}
	tb_free(b);
	remove_all(p.root);
}

static void add_meta(struct tb *b, const char *key, const char *value)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_meta(tb_writer(b), key, value, &err), WS_OK));
}

/* The one entry of the output folder, or "" when the files lie in it. */
static void check_rank(const char *const meta[][2], size_t n, int64_t option, const char *expected)
{
	struct ws_export_job like = {.rank = -1};
	struct place p = new_place();
	struct tb *b = tb_new();
	char names[32][256];
	size_t entries;

	like.rank = option;
	for (size_t i = 0; i < n; i++)
		add_meta(b, meta[i][0], meta[i][1]);
	export_trace(b, &p, &like);
	entries = list(p.out, names);
	if (*expected) {
		cr_assert(eq(sz, entries, 1));
		cr_assert_str_eq(names[0], expected);
	} else {
		cr_assert(eq(sz, entries, TABLES));
	}
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_files, the_rank_is_a_folder_when_it_is_known)
{
	static const char *const ours[][2] = {{"process.rank", "7"}};
	static const char *const pytorch[][2] = {{"distributed.rank", "12345"}};
	static const char *const merged[][2] = {{"process.rank", "0"}, {"process.rank", "1"}};
	static const char *const twice[][2] = {{"process.rank", "3"}, {"distributed.rank", "3"}};
	static const char *const hostile[][2] = {{"process.rank", "../../7"}};
	static const char *const huge[][2] = {{"process.rank", "99999999999999999999"}};

	check_rank(ours, 1, -1, "rank=0007");
	check_rank(pytorch, 1, -1, "rank=12345");
	check_rank(merged, 2, -1, "");
	check_rank(merged, 2, 4, "rank=0004");
	check_rank(twice, 2, -1, "rank=0003");
	check_rank(hostile, 1, -1, "");
	check_rank(huge, 1, -1, "");
	check_rank(ours, 0, -1, "");
	check_rank(ours, 1, 0, "rank=0000");
}

/* A trace of so many kernels of a name; the rank's meta row where there is one. */
static void add_to_fleet(const struct place *p, const char *name, int64_t kernels, const char *rank,
                         struct ws_parquet_fleet *fleet)
{
	const struct ws_export_job like = {.rank = -1, .fleet = fleet};
	struct place one = *p;
	struct tb *b = tb_new();

	if (rank)
		add_meta(b, "process.rank", rank);
	for (int64_t i = 0; i < kernels; i++)
		tb_launch(b, i * 100, name, i * 100 + 50, i);
	snprintf(one.out, sizeof(one.out), "%s", name);
	export_trace(b, &one, &like);
	tb_free(b);
}

Test(parquet_files, a_fleet_has_the_rows_of_all_traces_in_row_groups_of_many)
{
	static const char *const of[] = {"one", "one", "two", "two", "two", "four"};
	struct place p = new_place();
	struct ws_parquet_fleet *fleet;
	struct ws_err err;
	char names[32][256];
	struct pq_file *f;

	cr_assert(eq(int, ws_parquet_fleet_open(&fleet, p.out, &err), WS_OK));
	add_to_fleet(&p, "one", 2, "7", fleet);
	add_to_fleet(&p, "two", 3, NULL, fleet);
	add_to_fleet(&p, "three", 0, "8", fleet);
	add_to_fleet(&p, "four", 1, "9", fleet);
	snprintf(names[0], sizeof(names[0]), "%s/kernels.parquet", p.out);
	cr_assert(eq(int, access(names[0], F_OK), -1), "there before the fleet is closed");
	cr_assert(eq(int, ws_parquet_fleet_close(fleet, WS_OK, &err), WS_OK));
	cr_assert(eq(sz, list(p.out, names), TABLES));
	f = read_table(p.out, "kernels");
	cr_assert(eq(sz, f->rows, sizeof(of) / sizeof(*of)));
	cr_assert(eq(sz, f->ngroups, 1));
	for (size_t i = 0; i < f->rows; i++) {
		cr_assert_str_eq(pq_str(f, i, "trace"), of[i]);
		cr_assert_str_eq(pq_str(f, i, "short_name"), of[i]);
		cr_assert(eq(int, is_null(f, i, "rank"), !strcmp(of[i], "two")));
	}
	cr_assert(eq(i64, pq_int(f, 0, "rank"), 7));
	cr_assert(eq(i64, pq_int(f, 5, "rank"), 9));
	pq_free(f);
	f = read_table(p.out, "facts");
	cr_assert_str_eq(pq_str(f, f->rows - 1, "trace"), "four");
	pq_free(f);
	remove_all(p.root);
}

Test(parquet_files, a_fleet_that_fails_leaves_nothing)
{
	struct place p = new_place();
	struct ws_export_job like = {.rank = -1};
	struct ws_parquet_fleet *fleet;
	struct ws_err err;
	enum ws_status status;

	cr_assert(eq(int, ws_parquet_fleet_open(&fleet, p.out, &err), WS_OK));
	add_to_fleet(&p, "one", 2, "7", fleet);
	like.fleet = fleet;
	status = export_parquet("/nowhere/t.wtrace", "gone", &like, &err);
	cr_assert(eq(int, status, WS_IO_READ));
	cr_assert(eq(int, ws_parquet_fleet_close(fleet, status, &err), WS_IO_READ));
	cr_assert(eq(int, access(p.out, F_OK), -1));
	remove_all(p.root);
}

Test(parquet_files, a_failure_leaves_no_file_and_what_was_there_stays)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};
	char names[32][256], in_the_way[128];

	export_trace(b, &p, NULL);
	remove_all(p.out);
	cr_assert(eq(int, mkdir(p.out, 0777), 0));
	/* a folder where the last table shall be */
	snprintf(in_the_way, sizeof(in_the_way), "%s/counter.parquet", p.out);
	cr_assert(eq(int, mkdir(in_the_way, 0777), 0));
	cr_assert(eq(int, export_parquet(p.trace, p.out, NULL, &err), WS_IO_WRITE));
	cr_assert_not_null(strstr(err.text, "counter.parquet"));
	cr_assert(eq(sz, list(p.out, names), 1));
	cr_assert_str_eq(names[0], "counter.parquet");
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_files, a_full_disk_names_the_file_and_leaves_nothing)
{
	struct rlimit limit;
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};

	for (int64_t i = 0; i < 3000; i++)
		tb_launch(b, i * 100, "k", i * 100 + 50, i * i % 997);
	export_trace(b, &p, NULL);
	remove_all(p.out);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(eq(int, getrlimit(RLIMIT_FSIZE, &limit), 0));
	limit.rlim_cur = 5000;
	cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
	cr_assert(eq(int, export_parquet(p.trace, p.out, NULL, &err), WS_IO_WRITE));
	limit.rlim_cur = limit.rlim_max;
	cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &limit), 0));
	cr_assert_not_null(strstr(err.text, "out/kernels.parquet': "));
	cr_assert_not_null(strstr(err.text, "File too large"));
	cr_assert(eq(int, access(p.out, F_OK), -1));
	tb_free(b);
	remove_all(p.root);
}

Test(parquet_files, a_file_in_the_place_of_the_folder_is_an_error)
{
	struct place p = new_place();
	struct tb *b = tb_new();
	struct ws_err err = {0};

	export_trace(b, &p, NULL);
	cr_assert(eq(int, export_parquet(p.trace, p.trace, NULL, &err), WS_IO_WRITE));
	cr_assert_not_null(strstr(err.text, "it is not a folder"));
	cr_assert(eq(int, export_parquet("/nowhere/t.wtrace", p.out, NULL, &err), WS_IO_READ));
	tb_free(b);
	remove_all(p.root);
}

static size_t read_bytes(const char *dir, const char *table, char *bytes, size_t size)
{
	char path[256];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.parquet", dir, table);
	f = fopen(path, "rb");
	cr_assert(f != NULL);
	n = fread(bytes, 1, size, f);
	fclose(f);
	return n;
}

Test(parquet_files, a_second_export_replaces_the_first_with_equal_bytes)
{
	static char first[TABLES][1 << 14], second[1 << 14];
	size_t size[TABLES];
	struct place p = new_place();
	struct ws_err err;
	char names[32][256];

	snprintf(p.trace, sizeof(p.trace), "%s/traces/step-fp32.wtrace", WS_FIXTURES);
	for (int round = 0; round < 2; round++) {
		cr_assert(export_parquet(p.trace, p.out, NULL, &err) == WS_OK, "%s", err.text);
		cr_assert(eq(sz, list(p.out, names), TABLES));
		for (size_t i = 0; i < TABLES; i++) {
			if (round == 0) {
				size[i] = read_bytes(p.out, tables[i], first[i], sizeof(first[i]));
				cr_assert(lt(sz, size[i], sizeof(first[i])));
				continue;
			}
			cr_assert(eq(sz, read_bytes(p.out, tables[i], second, sizeof(second)),
			             size[i]));
			cr_assert(eq(int, memcmp(first[i], second, size[i]), 0), "%s", tables[i]);
		}
	}
	remove_all(p.root);
}
