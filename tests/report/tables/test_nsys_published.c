/*
 * Tables of Nsight Systems exports against the text that `nsys stats` printed
 * for the same files: each printed row, in its order and digit by digit. The
 * files are not ours to hand on: they lie beside the source tree or in the
 * folder WS_TEST_DATA; where they are missing the tests are skipped.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <ctype.h>
#include <math.h>
#include <unistd.h>

#include "formats/import/import.h"
#include "formats/trace/internal.h"
#include "report/tables/report.h"
#include "tests/support/joined.h"
#include "tests/support/paths.h"

/* --- the trace --- */

struct opened {
	struct ws_import_stats stats;
	struct ws_trace_map map;
	struct joined *j;
	char print[4096]; /* path of the printed text */
};

static const char *data_path(const char *name, const char *extension)
{
	static char path[4096];
	const char *folder = getenv("WS_TEST_DATA");

	snprintf(path, sizeof(path), "%s/nsys/%s%s", folder ? folder : WS_TEST_DATA, name,
	         extension);
	if (access(path, R_OK) != 0) {
		cr_log_warn("[SKIP] no %s", path); /* CTest knows it by this line */
		cr_skip_test("no %s", path);
	}
	return path;
}

static struct opened *open_file(const char *name)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct ws_err err;
	char path[64];
	int fd;

	snprintf(o->print, sizeof(o->print), "%s", data_path(name, ".nsys-stats.txt"));
	cr_assert(eq(int, ws_import_unnamed(data_path(name, ".sqlite"), NULL, &fd, &o->stats, &err),
	             WS_OK),
	          "%s", err.text);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_assert(eq(int, ws_trace_map_open(&o->map, path, &err), WS_OK), "%s", err.text);
	close(fd);
	cr_assert(eq(int, joined_open_mem(&o->j, o->map.data, o->map.size, name, &err), WS_OK),
	          "%s", err.text);
	return o;
}

static void close_file(struct opened *o)
{
	joined_free(o->j);
	ws_trace_map_close(&o->map);
	free(o);
}

static struct ws_table *make(const struct opened *o, const char *name)
{
	const struct ws_table_def *def = ws_table_def_by_name(name);
	struct ws_table *t;
	struct ws_err err;

	cr_assert(def != NULL, "no table %s", name);
	cr_assert(eq(int, one_table(o->j->m, &o->j->rows, def, NULL, &t, &err), WS_OK), "%s",
	          err.text);
	return t;
}

/* --- what was printed --- */

/* The next word without its thousands separators; the printed cell as it is compared. */
static void next_cell(char **p, char out[64])
{
	size_t n = 0;

	while (isspace((unsigned char)**p))
		(*p)++;
	for (; **p && !isspace((unsigned char)**p); (*p)++)
		if (**p != ',' && n < 63)
			out[n++] = **p;
	out[n] = 0;
}

/* As SQLite's round() and the printing of it have it: halves away from zero. */
static void print_rounded(double value, int digits, char out[64])
{
	long double scale = powl(10, digits);

	snprintf(out, 64, "%.*Lf", digits, roundl((long double)value * scale) / scale);
}

static void check_number(const struct ws_table *t, size_t row, size_t column, char **line,
                         const char *whole)
{
	const struct ws_table_column *c = &t->def->columns[column];
	const struct ws_cell *cell = &ws_table_cells(t, row)[column];
	/* sizes have three decimals, what is computed of times one, times and counts none */
	int megabytes = strstr(c->title, "(MB)") != NULL;
	int digits = megabytes ? 3 : c->type == WS_CELL_REAL ? 1 : 0;
	char want[64], got[64];

	next_cell(line, want);
	cr_assert(ne(int, cell->type, WS_CELL_EMPTY), "%s is empty: %s", c->title, whole);
	if (cell->type == WS_CELL_INT && !megabytes)
		snprintf(got, sizeof(got), digits ? "%lld.0" : "%lld", (long long)cell->i);
	else
		print_rounded(cell->type == WS_CELL_INT ? (double)cell->i : cell->r, digits, got);
	cr_assert(eq(str, got, want), "%s of row %zu: %s", c->title, row, whole);
}

/* Names of the releases up to 2022.2, and those since. */
static const char *const renamed[][2] = {
        {"[CUDA Unified Memory memcpy HtoD]", "[CUDA memcpy Unified Host-to-Device]"},
        {"[CUDA Unified Memory memcpy DtoH]", "[CUDA memcpy Unified Device-to-Host]"},
        {"[CUDA memcpy HtoD]", "[CUDA memcpy Host-to-Device]"},
        {"[CUDA memcpy DtoH]", "[CUDA memcpy Device-to-Host]"},
};

/* Printed names are padded, and cut to 100 columns with an ellipsis. */
static void check_name(const struct ws_cell *cell, char *p, const char *whole)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	size_t len;
	int is_cut;

	while (isspace((unsigned char)*p))
		p++;
	len = strlen(p);
	while (len && isspace((unsigned char)p[len - 1]))
		len--;
	p[len] = 0;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (!strcmp(p, renamed[i][0])) {
			p = (char *)renamed[i][1];
			len = strlen(p);
		}
	is_cut = len > 3 && !memcmp(p + len - 3, ellipsis, 3);
	if (is_cut)
		len -= 3;
	cr_assert(eq(int, cell->type, WS_CELL_TEXT));
	cr_assert(is_cut ? cell->text.len > len : cell->text.len == len, "%s", whole);
	cr_assert(eq(int, memcmp(cell->text.ptr, p, len), 0), "'%.*s': %s", (int)cell->text.len,
	          cell->text.ptr, whole);
}

static void check_row(const struct ws_table *t, size_t row, const char *text, size_t numbers)
{
	char line[4096], *p = line;

	snprintf(line, sizeof(line), "%s", text);
	cr_assert(lt(sz, row, t->nrows), "the table has no row for: %s", text);
	for (size_t c = 0; c < numbers; c++)
		check_number(t, row, c, &p, text);
	check_name(&ws_table_cells(t, row)[numbers], p, text);
}

/* All rows below a heading, up to the empty line after them. The rows there are. */
static size_t check_section(const struct opened *o, const char *table, const char *heading,
                            size_t numbers)
{
	struct ws_table *t = make(o, table);
	FILE *f = fopen(o->print, "r");
	size_t rows = 0;
	char line[4096];
	int inside = 0;

	cr_assert(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, heading))
			inside = 1;
		else if (inside && rows && line[strspn(line, " ")] == '\n')
			break;
		else if (inside && isdigit((unsigned char)line[strspn(line, " ")]))
			check_row(t, rows++, line, numbers);
	}
	fclose(f);
	cr_assert(eq(sz, t->nrows, rows), "%s has %zu rows, printed are %zu", table, t->nrows,
	          rows);
	ws_table_free(t);
	return rows;
}

#define TIMES 8 /* Time (%), Total, Count, Avg, Med, Min, Max, StdDev */
#define SIZES 7 /* Total, Count, Avg, Med, Min, Max, StdDev */

Test(nsys_published, the_2p7b_forward_is_as_printed)
{
	struct opened *o = open_file("a100_2p7b_fp32_fwd_clean");

	cr_assert(eq(sz, check_section(o, "kernel-summary", "CUDA GPU Kernel Summary", TIMES), 23));
	cr_assert(eq(sz, check_section(o, "api-summary", "CUDA API Summary", TIMES), 3));
	close_file(o);
}

Test(nsys_published, the_cuda_graph_file_is_as_printed)
{
	struct opened *o = open_file("a100_2p7b_compile_cudagraph");
	struct ws_table *t;
	int told = 0;

	cr_assert(eq(sz, check_section(o, "kernel-summary", "CUDA GPU Kernel Summary", TIMES), 2));
	cr_assert(eq(sz, check_section(o, "api-summary", "CUDA API Summary", TIMES), 5));
	/* what the printed summary says nothing of */
	t = make(o, "kernel-summary");
	for (size_t i = 0; i < t->nnotes; i++)
		told |= strstr(t->notes[i], "10 runs of CUDA graphs") &&
		        strstr(t->notes[i], "7811.142 ms");
	cr_assert(told);
	ws_table_free(t);
	close_file(o);
}

Test(nsys_published, the_unified_memory_file_is_as_printed)
{
	struct opened *o = open_file("um_vecadd_schema291");

	cr_assert(eq(sz, check_section(o, "kernel-summary", "CUDA Kernel Statistics", TIMES), 1));
	cr_assert(eq(sz, check_section(o, "api-summary", "CUDA API Statistics", TIMES), 5));
	cr_assert(eq(sz, check_section(o, "memory-time", "Operation Statistics (by time)", TIMES),
	             2));
	cr_assert(eq(sz, check_section(o, "memory-size", "Operation Statistics (by size)", SIZES),
	             2));
	close_file(o);
}
