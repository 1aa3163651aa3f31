/*
 * The roll-up of a trace's kernels beside a loop over all of them for each of its rows.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/export/parquet/rollup.h"
#include "tests/report/tables/oracle/compare.h"
#include "tests/support/joined.h"
#include "tests/support/parquet_reading.h"

struct sums {
	int64_t kernels, without_time, sum_ns, sq_hi, sq_lo, min_ns, max_ns;
};

static bool is_text(const struct pq_cell *cell, struct ws_bytes text)
{
	return cell->is_null ? !text.len
	                     : cell->len == text.len && !memcmp(cell->text, text.ptr, text.len);
}

static bool is_number(const struct pq_cell *cell, uint64_t v, bool known)
{
	return cell->is_null ? !known : known && cell->v == v;
}

static bool in_step(const struct pq_file *f, size_t row, const struct ws_model *m, uint32_t step)
{
	static const struct ws_model_step none;
	const struct ws_model_step *s = step == WS_NONE ? &none : &m->steps[step];
	const char *kind = step == WS_NONE ? "" : s->warm_up ? "warm-up" : "measured";

	if (s->unfinished)
		kind = "unfinished";
	return is_number(pq_cell(f, row, "step"), (uint64_t)s->index, step != WS_NONE) &&
	       is_text(pq_cell(f, row, "step_kind"), (struct ws_bytes){kind, strlen(kind)});
}

static bool in_path(const struct pq_cell *cell, const struct ws_model *m, uint32_t path)
{
	struct ws_err err;
	char *text;
	size_t len;
	bool same;

	if (path == WS_NONE)
		return cell->is_null;
	cr_assert(eq(int, ws_path_text(&m->ranges, path, m->texts, &text, &len, &err), WS_OK));
	same = !cell->is_null && is_text(cell, (struct ws_bytes){text, len});
	free(text);
	return same;
}

/* Is kernel k one of those that the row counts? */
static bool of_row(const struct pq_file *f, size_t row, const struct loaded *l, size_t k)
{
	const struct ws_model *m = l->m;
	const struct ws_config *c = &m->configs[l->kernels.config[k]];
	const struct ws_launch_shape *s = &c->shape;
	const struct ws_device *d = &m->devices[c->device];
	const uint32_t range = l->kernels.range[k];
	const struct {
		const char *column;
		uint64_t value;
	} numbers[] = {
	        {"device", d->id},       {"grid_x", s->grid_x},
	        {"grid_y", s->grid_y},   {"grid_z", s->grid_z},
	        {"block_x", s->block_x}, {"block_y", s->block_y},
	        {"block_z", s->block_z}, {"shared_bytes", s->shared_bytes},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!is_number(pq_cell(f, row, numbers[i].column), numbers[i].value, true))
			return false;
	return is_number(pq_cell(f, row, "registers"), s->registers, s->registers != 0) &&
	       is_text(pq_cell(f, row, "name"), m->texts[c->name]) &&
	       is_text(pq_cell(f, row, "op_class"), m->texts[loaded_kernel_class(l, k)]) &&
	       is_text(pq_cell(f, row, "dtype"), m->texts[loaded_kernel_dtype(l, k)]) &&
	       is_text(pq_cell(f, row, "device_name"), m->texts[d->name]) &&
	       in_step(f, row, m, l->kernels.step[k]) &&
	       in_path(pq_cell(f, row, "nvtx_path"), m,
	               range == WS_NONE ? WS_NONE : l->ranges.path[range]);
}

static int64_t in_bucket(const struct pq_file *histogram, size_t row, int64_t dur_ns)
{
	for (size_t i = 0; i < histogram->rows; i++) {
		const int64_t from_ns = pq_int(histogram, i, "from_ns");

		if (pq_int(histogram, i, "row") == (int64_t)row && from_ns <= dur_ns &&
		    dur_ns - from_ns < pq_int(histogram, i, "width_ns"))
			return pq_int(histogram, i, "kernels");
	}
	return 0;
}

static void add_kernel(struct sums *s, const struct loaded *l, size_t k)
{
	const int64_t dur_ns = l->kernels.dur_ns[k];
	const unsigned __int128 square = (unsigned __int128)dur_ns * (unsigned __int128)dur_ns;

	if (l->kernels.flags[k] & WS_KERNEL_NO_TIME) {
		s->without_time++;
		return;
	}
	s->min_ns = !s->kernels++ || dur_ns < s->min_ns ? dur_ns : s->min_ns;
	s->max_ns = dur_ns > s->max_ns ? dur_ns : s->max_ns;
	s->sum_ns += dur_ns;
	s->sq_hi += (int64_t)(square >> 32);
	s->sq_lo += (int64_t)(uint32_t)square;
}

/* Returns the number of kernels that the row counts. */
static size_t check_row(const struct pq_file *f, const struct pq_file *histogram, size_t row,
                        const struct loaded *l, const char *where)
{
	struct sums s = {0};
	const struct {
		const char *column;
		int64_t *value;
	} sums[] = {
	        {"kernels", &s.kernels}, {"without_time", &s.without_time}, {"sum_ns", &s.sum_ns},
	        {"sum_sq_hi", &s.sq_hi}, {"sum_sq_lo", &s.sq_lo},
	};

	for (size_t k = 0; k < l->kernels.n; k++) {
		if (!of_row(f, row, l, k))
			continue;
		add_kernel(&s, l, k);
		cr_assert(l->kernels.flags[k] & WS_KERNEL_NO_TIME ||
		                  in_bucket(histogram, row, l->kernels.dur_ns[k]) > 0,
		          "%s: row %zu, kernel %zu is in no bucket", where, row, k);
	}
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		cr_assert(eq(i64, pq_int(f, row, sums[i].column), *sums[i].value),
		          "%s: row %zu, %s", where, row, sums[i].column);
	cr_assert(is_number(pq_cell(f, row, "min_ns"), (uint64_t)s.min_ns, s.kernels > 0) &&
	                  is_number(pq_cell(f, row, "max_ns"), (uint64_t)s.max_ns, s.kernels > 0),
	          "%s: row %zu, extremes", where, row);
	return (size_t)(s.kernels + s.without_time);
}

static struct pq_file *take_file(const char *dir, const char *name)
{
	char path[128];
	struct pq_file *f;

	snprintf(path, sizeof(path), "%s/%s.parquet", dir, name);
	f = pq_read_file(path);
	unlink(path);
	return f;
}

size_t oracle_compare_rollup(const struct ws_trace_reader *r, const struct loaded *l,
                             const char *where)
{
	char dir[] = "/tmp/ws_rollup_XXXXXX";
	struct pq_file *f, *histogram;
	struct joined *j = NULL;
	struct ws_err err;
	size_t counted = 0, in_buckets = 0, timed = 0, rows;

	cr_assert(mkdtemp(dir) != NULL);
	cr_assert(eq(int, joined_open_reader(&j, r, where, NULL, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int,
	             ws_rollup_export(j->m, &j->rows,
	                              &(struct ws_export_job){.to = dir,
	                                                      .opts = &(struct ws_export_opts){0},
	                                                      .rank = -1},
	                              &err),
	             WS_OK),
	          "%s", err.text);
	f = take_file(dir, "rollup");
	histogram = take_file(dir, "rollup_histogram");
	rmdir(dir);
	rows = f->rows;
	for (size_t row = 0; row < rows; row++)
		counted += check_row(f, histogram, row, l, where);
	/* no kernel in two rows, none in none */
	cr_assert(eq(sz, counted, l->kernels.n), "%s", where);
	for (size_t i = 0; i < histogram->rows; i++)
		in_buckets += (size_t)pq_int(histogram, i, "kernels");
	for (size_t k = 0; k < l->kernels.n; k++)
		timed += !(l->kernels.flags[k] & WS_KERNEL_NO_TIME);
	cr_assert(eq(sz, in_buckets, timed), "%s", where);
	pq_free(f);
	pq_free(histogram);
	joined_free(j);
	return rows;
}
