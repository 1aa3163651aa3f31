/*
 * Files that are not ours to hand on, or too large for fixtures, against what
 * others published and printed. They lie beside the source tree, or in the
 * folder WS_TEST_DATA; where they are missing the tests are skipped.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <ctype.h>
#include <unistd.h>

#include "tests/support/imported.h"
#include "tests/support/paths.h"

static struct ws_imported *imported(const char *path)
{
	struct ws_imported *i = ws_imported_file(path);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	for (size_t k = 0; k < WS_IMPORT_LOSSES; k++)
		cr_assert(eq(u64, i->stats.losses[k].count, 0), "%s", i->stats.losses[k].reason);
	return i;
}

static const char *data_path(const char *name)
{
	static char path[4096];
	const char *folder = getenv("WS_TEST_DATA");

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : WS_TEST_DATA, name);
	if (access(path, R_OK) != 0) {
		cr_log_warn("[SKIP] no %s", path); /* CTest knows it by this line */
		cr_skip_test("no %s", path);
	}
	return path;
}

#define COUNT(i, KIND)        ((i)->table[WS_KIND_##KIND].rows)
#define SUM_NS(i, KIND, kind) ws_imported_sum((i), WS_KIND_##KIND, WS_COL_##kind##_dur_ns)

Test(import_real, resnet50_of_2021_has_the_published_counts)
{
	struct ws_imported *i = imported(data_path("kineto/resnet50_w0_v100.pt.trace.json.gz"));

	cr_assert(eq(str, i->stats.format, (char *)"generation of 2021"));
	cr_assert(eq(u64, COUNT(i, KERNEL), 8772));
	cr_assert(eq(i64, SUM_NS(i, KERNEL, kernel), 591532000));
	cr_assert(eq(u64, COUNT(i, MEMCPY), 12));
	cr_assert(eq(u64, COUNT(i, MEMSET), 312));
	cr_assert(eq(u64, COUNT(i, NVTX), 48), "steps 5-10, loading, zeroing, stepping");
	ws_imported_free(i);
}

Test(import_real, the_dlrm_trace_has_the_published_counts)
{
	struct ws_imported *i = imported(data_path("kineto/hta_negqueue_a100.json.gz"));

	cr_assert(eq(u64, COUNT(i, KERNEL), 6080));
	cr_assert(eq(i64, SUM_NS(i, KERNEL, kernel), 401445000));
	cr_assert(eq(u64, COUNT(i, MEMCPY), 1390));
	cr_assert(eq(u64, COUNT(i, MEMSET), 277));
	cr_assert(eq(u64, COUNT(i, NVTX), 720), "360 annotations");
	cr_assert(eq(u64, COUNT(i, EXTERNAL_LINK), 0), "its ids are no links");
	cr_assert(eq(str, (char *)ws_imported_meta(i, "distributed.world_size"), (char *)"16"));
	ws_imported_free(i);
}

/* --- Nsight Systems: every row that nsys stats printed --- */

/* What one name adds up to. */
struct total {
	char *name;
	uint64_t count;
	int64_t sum_ns, min_ns, max_ns;
	int printed;
};

struct totals {
	struct total *rows;
	size_t n;
};

static void add_to(struct totals *t, const char *name, int64_t ns)
{
	size_t i = 0;

	while (i < t->n && strcmp(t->rows[i].name, name) != 0)
		i++;
	if (i == t->n) {
		t->rows = reallocarray(t->rows, ++t->n, sizeof(*t->rows));
		t->rows[i] = (struct total){.name = strdup(name), .min_ns = INT64_MAX};
	}
	t->rows[i].count++;
	t->rows[i].sum_ns += ns;
	t->rows[i].min_ns = ns < t->rows[i].min_ns ? ns : t->rows[i].min_ns;
	t->rows[i].max_ns = ns > t->rows[i].max_ns ? ns : t->rows[i].max_ns;
}

static void totals_free(struct totals *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->rows[i].name);
	free(t->rows);
}

static struct totals kernel_totals(const struct ws_imported *i)
{
	struct totals t = {0};
	uint64_t configs = COUNT(i, LAUNCH_CONFIG);
	const char **names = calloc(configs, sizeof(*names));

	for (uint64_t c = 0; c < configs; c++)
		names[c] = WS_CELL_TEXT(i, LAUNCH_CONFIG, launch_config, name, c);
	for (uint64_t row = 0; row < COUNT(i, KERNEL); row++)
		add_to(&t, names[WS_CELL(i, KERNEL, kernel, config, row) - 1],
		       WS_CELL(i, KERNEL, kernel, dur_ns, row));
	free(names);
	return t;
}

static struct totals call_totals(const struct ws_imported *i)
{
	struct totals t = {0};

	for (uint64_t row = 0; row < COUNT(i, API); row++) {
		const char *recorded = WS_CELL_TEXT(i, API, api, name, row);
		size_t len = strlen(recorded);
		char *name = strdup(recorded);

		/* the printed tables leave out the version: "_v" and four characters */
		if (len > 6 && memcmp(name + len - 6, "_v", 2) == 0)
			name[len - 6] = 0;
		add_to(&t, name, WS_CELL(i, API, api, dur_ns, row));
		free(name);
	}
	return t;
}

static struct totals copy_totals(const struct ws_imported *i)
{
	struct totals t = {0};

	for (uint64_t row = 0; row < COUNT(i, MEMCPY); row++) {
		int64_t kind = WS_CELL(i, MEMCPY, memcpy, kind, row);

		add_to(&t,
		       kind == 11   ? "[CUDA Unified Memory memcpy HtoD]"
		       : kind == 12 ? "[CUDA Unified Memory memcpy DtoH]"
		                    : "another kind",
		       WS_CELL(i, MEMCPY, memcpy, dur_ns, row));
	}
	return t;
}

/* The next number of a printed row, without its thousands separators. */
static double number(char **p)
{
	char digits[64];
	size_t n = 0;

	while (isspace((unsigned char)**p))
		(*p)++;
	for (; (isdigit((unsigned char)**p) || **p == '.' || **p == ',') && n < 63; (*p)++)
		if (**p != ',')
			digits[n++] = **p;
	digits[n] = 0;
	return strtod(digits, NULL);
}

/* A printed row: Time (%), Total, Count, Avg, Med, Min, Max, StdDev, Name. */
static void printed_row(struct totals *t, char *line)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	char *p = line;
	double value[8];
	size_t len, same = 0;
	int cut = 0;

	for (int k = 0; k < 8; k++)
		value[k] = number(&p);
	while (isspace((unsigned char)*p))
		p++;
	len = strlen(p);
	while (len && isspace((unsigned char)p[len - 1]))
		len--;
	if (len > 3 && memcmp(p + len - 3, ellipsis, 3) == 0)
		cut = 3; /* long names are */
	len -= (size_t)cut;
	for (size_t i = 0; i < t->n && !same; i++) {
		struct total *row = &t->rows[i];

		/* names may be alike as far as they are printed */
		if (row->printed || strncmp(row->name, p, len) != 0 || (!cut && row->name[len]) ||
		    (double)row->sum_ns != value[1] || (double)row->count != value[2] ||
		    (double)row->min_ns != value[5] || (double)row->max_ns != value[6])
			continue;
		row->printed = 1;
		same = 1;
	}
	cr_assert(eq(sz, same, 1), "nothing adds up to: %s", line);
}

/* All rows of the tables that `nsys stats` printed into a file, and no row more. */
static void compare_with_print(const struct ws_imported *i, const char *path)
{
	struct totals kernels = kernel_totals(i), calls_ = call_totals(i), copies = copy_totals(i);
	struct totals *all[] = {&kernels, &calls_, &copies}, *now = NULL;
	FILE *f = fopen(path, "r");
	char line[4096];
	size_t rows = 0;

	cr_assert(f != NULL, "%s", path);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "CUDA API S"))
			now = &calls_;
		else if (strstr(line, "Kernel S"))
			now = &kernels;
		else if (strstr(line, "(by time)"))
			now = &copies;
		else if (strstr(line, "Summary") || strstr(line, "Statistics"))
			now = NULL;
		if (!now || line[0] != ' ' || !isdigit((unsigned char)line[strspn(line, " ")]))
			continue;
		printed_row(now, line);
		rows++;
	}
	fclose(f);
	cr_assert(gt(sz, rows, 0));
	for (size_t k = 0; k < 3; k++)
		for (size_t row = 0; row < all[k]->n; row++)
			cr_assert(eq(int, all[k]->rows[row].printed, 1), "not printed: %s",
			          all[k]->rows[row].name);
	for (size_t k = 0; k < 3; k++)
		totals_free(all[k]);
}

static struct ws_imported *nsys(const char *name)
{
	char path[256], *print;
	struct ws_imported *i;

	snprintf(path, sizeof(path), "nsys/%s.sqlite", name);
	i = imported(data_path(path));
	snprintf(path, sizeof(path), "nsys/%s.nsys-stats.txt", name);
	print = strdup(data_path(path));
	compare_with_print(i, print);
	free(print);
	return i;
}

Test(import_real, the_2p7b_forward_adds_up_to_every_printed_row)
{
	struct ws_imported *i = nsys("a100_2p7b_fp32_fwd_clean");

	cr_assert(eq(u64, COUNT(i, KERNEL), 18320));
	ws_imported_free(i);
}

Test(import_real, the_cuda_graph_export_adds_up_and_shows_the_time_of_the_graphs)
{
	struct ws_imported *i = nsys("a100_2p7b_compile_cudagraph");

	cr_assert(eq(u64, COUNT(i, KERNEL), 30));
	cr_assert(eq(u64, COUNT(i, GRAPH_LAUNCH), 10));
	cr_assert(eq(i64, SUM_NS(i, GRAPH_LAUNCH, graph_launch) / 100000, 78111), "7,811.1 ms");
	ws_imported_free(i);
}

Test(import_real, the_schema_2_9_export_adds_up_to_every_printed_row)
{
	struct ws_imported *i = nsys("um_vecadd_schema291");

	cr_assert(eq(str, i->stats.format, (char *)"schema 2.9.1"));
	cr_assert(eq(u64, COUNT(i, MEMCPY), 18432));
	cr_assert(eq(i64, ws_imported_sum(i, WS_KIND_MEMCPY, WS_COL_memcpy_bytes), 3221225472));
	ws_imported_free(i);
}

Test(import_real, the_pytorch_export_has_its_ranges_and_domains)
{
	struct ws_imported *i = imported(data_path("nsys/rtx3070ti_small_fwdbwd_nvtx.sqlite"));
	uint64_t pushes = 0, of_cublas = 0;

	cr_assert(eq(u64, COUNT(i, KERNEL), 17032));
	for (uint64_t row = 0; row < COUNT(i, NVTX); row++) {
		if (WS_CELL(i, NVTX, nvtx, type, row) != WS_NVTX_PUSH)
			continue;
		pushes++;
		of_cublas += strcmp(WS_CELL_TEXT(i, NVTX, nvtx, domain, row), "cuBLAS") == 0;
	}
	cr_assert(eq(u64, pushes, 31), "32 events, one of them creates the domain");
	cr_assert(eq(u64, of_cublas, 2));
	ws_imported_free(i);
}
