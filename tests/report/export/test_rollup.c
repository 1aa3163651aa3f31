#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/parquet_reading.h"
#include "report/export/parquet/rollup.h"
#include "tests/support/trace_builder.h"

/* --- buckets --- */

Test(rollup, buckets_of_times_computed_by_hand)
{
	static const struct {
		uint64_t dur_ns;
		uint32_t bucket;
		uint64_t from_ns;
	} cases[] = {
	        {0, 0, 0},
	        {127, 127, 127},
	        {128, 128, 128},
	        {255, 255, 255},
	        {256, 256, 256}, /* from here on 2 ns wide */
	        {257, 256, 256},
	        {258, 257, 258},
	        {511, 383, 510},
	        {512, 384, 512}, /* 4 ns wide */
	        {1000, 2 * 128 + 250, 1000},
	        {1000000, 12 * 128 + 244, 244 * 4096},
	        {INT64_MAX, WS_ROLLUP_BUCKETS - 1, 255ull << 55},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(eq(u32, ws_rollup_bucket(cases[i].dur_ns), cases[i].bucket), "case %zu",
		          i);
		cr_assert(eq(u64, ws_rollup_bucket_from(cases[i].bucket), cases[i].from_ns),
		          "case %zu", i);
	}
	cr_assert(eq(u64, ws_rollup_bucket_from(WS_ROLLUP_BUCKETS), 1ull << 63));
}

Test(rollup, buckets_follow_each_other_without_gap_and_are_at_most_one_128th_wide)
{
	for (uint32_t b = 0; b < WS_ROLLUP_BUCKETS; b++) {
		uint64_t from = ws_rollup_bucket_from(b), next = ws_rollup_bucket_from(b + 1);

		cr_assert(lt(u64, from, next), "bucket %u", b);
		cr_assert(eq(u32, ws_rollup_bucket(from), b));
		cr_assert(eq(u32, ws_rollup_bucket(next - 1), b));
		cr_assert(next - from == 1 || (next - from) * 128 <= from, "bucket %u", b);
	}
}

/* --- tables --- */

struct folder {
	char dir[64];
	struct pq_file *rows, *histogram;
};

static struct folder roll_up(struct joined *j)
{
	struct folder f = {.dir = "/tmp/ws_rollup_XXXXXX"};
	char path[128];
	struct ws_err err;

	cr_assert(mkdtemp(f.dir) != NULL);
	cr_assert(ws_rollup_export(j->m, &j->rows,
	                           &(struct ws_export_job){.to = f.dir,
	                                                   .opts = &(struct ws_export_opts){0},
	                                                   .rank = -1},
	                           &err) == WS_OK,
	          "%s", err.text);
	snprintf(path, sizeof(path), "%s/rollup.parquet", f.dir);
	f.rows = pq_read_file(path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/rollup_histogram.parquet", f.dir);
	f.histogram = pq_read_file(path);
	unlink(path);
	cr_assert(eq(int, rmdir(f.dir), 0), "the folder holds more than two files");
	return f;
}

static void release(struct folder *f)
{
	pq_free(f->rows);
	pq_free(f->histogram);
}

/* The number of kernels in a bucket of a row. */
static int64_t in_bucket(const struct folder *f, int64_t row, uint32_t bucket)
{
	int64_t found = 0;

	for (size_t i = 0; i < f->histogram->rows; i++)
		if (pq_int(f->histogram, i, "row") == row &&
		    pq_int(f->histogram, i, "bucket") == bucket) {
			cr_assert(eq(i64, found, 0), "a bucket has two rows");
			found = pq_int(f->histogram, i, "kernels");
			cr_assert(eq(i64, pq_int(f->histogram, i, "from_ns"),
			             (int64_t)ws_rollup_bucket_from(bucket)));
			cr_assert(eq(i64, pq_int(f->histogram, i, "width_ns"),
			             (int64_t)(ws_rollup_bucket_from(bucket + 1) -
			                       ws_rollup_bucket_from(bucket))));
		}
	return found;
}

Test(rollup, sums_and_histograms_computed_by_hand)
{
	struct tb *b = tb_new();
	struct joined *j;
	struct folder f;

	tb_in_domain(b, "warpsheet");
	tb_push(b, 0, "step");
	tb_push(b, 10, "forward");
	tb_launch(b, 20, "gemm", 100, 1000);
	tb_launch(b, 30, "gemm", 2000, 1001);
	tb_launch(b, 40, "gemm", 4000, 3000000000); /* its square takes 63 bits */
	tb_launch(b, 50, "softmax", 3000005000, 7);
	tb_kernel(b, &(struct tb_kernel){"softmax", 0, 0, 0, 0, 100, WS_KERNEL_NO_TIME});
	tb_pop(b, 60);
	tb_pop(b, 3000006000);
	j = tb_joined(b);
	f = roll_up(j);

	/* gemm in the step; softmax in the step; softmax without time, whose launch is unknown */
	cr_assert(eq(sz, f.rows->rows, 3));
	for (size_t i = 0; i < f.rows->rows; i++) {
		int has_path = !pq_cell(f.rows, i, "nvtx_path")->is_null;

		cr_assert(eq(i64, pq_int(f.rows, i, "row"), (int64_t)i));
		cr_assert_str_eq(pq_str(f.rows, i, "device_name"), "Test GPU");
		cr_assert(eq(i64, pq_int(f.rows, i, "grid_x"), 1));
		cr_assert(eq(i64, pq_int(f.rows, i, "block_x"), 32));
		if (!strcmp(pq_str(f.rows, i, "name"), "gemm")) {
			/* 1000^2 + 1001^2 = 2002001; 3e9^2 = 9e18 */
			const int64_t hi = 9000000000000000000 >> 32;
			const int64_t lo = 2002001 + (9000000000000000000 & UINT32_MAX);

			cr_assert(eq(i64, pq_int(f.rows, i, "kernels"), 3));
			cr_assert(eq(i64, pq_int(f.rows, i, "without_time"), 0));
			cr_assert(eq(i64, pq_int(f.rows, i, "sum_ns"), 3000002001));
			cr_assert(eq(i64, pq_int(f.rows, i, "sum_sq_hi"), hi));
			cr_assert(eq(i64, pq_int(f.rows, i, "sum_sq_lo"), lo));
			cr_assert(eq(i64, pq_int(f.rows, i, "min_ns"), 1000));
			cr_assert(eq(i64, pq_int(f.rows, i, "max_ns"), 3000000000));
			cr_assert(eq(i64, pq_int(f.rows, i, "step"), 0));
			cr_assert_str_eq(pq_str(f.rows, i, "step_kind"), "measured");
			cr_assert_str_eq(pq_str(f.rows, i, "nvtx_path"), "step/forward");
			/* 1000 and 1001 share the bucket that begins at 1000 and is 4 wide */
			cr_assert(eq(i64, in_bucket(&f, (int64_t)i, 506), 2));
			cr_assert(eq(i64, in_bucket(&f, (int64_t)i, ws_rollup_bucket(3000000000)),
			             1));
		} else if (has_path) {
			cr_assert(eq(i64, pq_int(f.rows, i, "kernels"), 1));
			cr_assert(eq(i64, pq_int(f.rows, i, "sum_sq_lo"), 49));
			cr_assert(eq(i64, in_bucket(&f, (int64_t)i, 7), 1));
		} else {
			cr_assert(eq(i64, pq_int(f.rows, i, "kernels"), 0));
			cr_assert(eq(i64, pq_int(f.rows, i, "without_time"), 1));
			cr_assert(eq(int, pq_cell(f.rows, i, "min_ns")->is_null, 1));
			cr_assert(eq(int, pq_cell(f.rows, i, "step")->is_null, 1));
		}
	}
	cr_assert(eq(sz, f.histogram->rows, 3));
	release(&f);
	joined_free(j);
	tb_free(b);
}

/* --- merging --- */

#define STEPS   3
#define KERNELS 40 /* of a step */

/* The kernels whose number has this remainder by 2; 2 = all. */
static struct joined *make_part(struct tb **out, int part)
{
	static const char *const names[] = {"gemm", "softmax", "norm"};
	struct tb *b = *out = tb_new();

	tb_in_domain(b, "warpsheet");
	for (int64_t step = 0; step < STEPS; step++) {
		int64_t t = step * 1000000;

		tb_push(b, t, "step");
		for (int64_t i = 0; i < KERNELS; i++) {
			int64_t at = t + 100 + i * 20000;

			tb_push(b, at, i % 4 ? "forward" : "loss");
			if (part == 2 || i % 2 == part)
				tb_launch(b, at + 10, names[(i * i + step) % 3], at + 50,
				          (i * i * 7919 + step * 13) % 15000);
			tb_pop(b, at + 100);
		}
		tb_pop(b, t + 900000);
	}
	return tb_joined(b);
}

static int same_text(const struct pq_cell *a, const struct pq_cell *b)
{
	return a->is_null == b->is_null && (a->is_null || !strcmp(a->text, b->text));
}

/* The row of f with the key of row i of g; -1 when there is none. */
static int64_t find_row(const struct folder *f, const struct folder *g, size_t i)
{
	static const char *const texts[] = {"step_kind", "nvtx_path", "name",
	                                    "op_class",  "dtype",     "device_name"};
	static const char *const numbers[] = {"step",    "device",  "grid_x",
	                                      "grid_y",  "grid_z",  "block_x",
	                                      "block_y", "block_z", "shared_bytes"};

	for (size_t r = 0; r < f->rows->rows; r++) {
		int same = 1;

		for (size_t c = 0; c < sizeof(texts) / sizeof(texts[0]); c++)
			same &= same_text(pq_cell(f->rows, r, texts[c]),
			                  pq_cell(g->rows, i, texts[c]));
		for (size_t c = 0; c < sizeof(numbers) / sizeof(numbers[0]); c++)
			same &= pq_int(f->rows, r, numbers[c]) == pq_int(g->rows, i, numbers[c]);
		if (same)
			return (int64_t)r;
	}
	return -1;
}

static int64_t number(const struct folder *f, int64_t row, const char *column)
{
	return row < 0 ? 0 : pq_int(f->rows, (size_t)row, column);
}

Test(rollup, two_halves_add_up_to_the_whole)
{
	static const char *const sums[] = {"kernels", "without_time", "sum_ns", "sum_sq_hi",
	                                   "sum_sq_lo"};
	struct tb *b[3];
	struct joined *j[3];
	struct folder f[3];
	size_t both = 0, buckets = 0;

	for (int part = 0; part < 3; part++) {
		j[part] = make_part(&b[part], part);
		f[part] = roll_up(j[part]);
	}
	for (size_t i = 0; i < f[2].rows->rows; i++) {
		int64_t left = find_row(&f[0], &f[2], i), right = find_row(&f[1], &f[2], i);
		int64_t min = INT64_MAX, max = 0;

		cr_assert(left >= 0 || right >= 0);
		both += left >= 0 && right >= 0;
		for (size_t c = 0; c < sizeof(sums) / sizeof(sums[0]); c++)
			cr_assert(eq(i64, pq_int(f[2].rows, i, sums[c]),
			             number(&f[0], left, sums[c]) + number(&f[1], right, sums[c])),
			          "%s of row %zu", sums[c], i);
		for (int part = 0; part < 2; part++) {
			int64_t row = part ? right : left;

			if (row < 0)
				continue;
			if (number(&f[part], row, "min_ns") < min)
				min = number(&f[part], row, "min_ns");
			if (number(&f[part], row, "max_ns") > max)
				max = number(&f[part], row, "max_ns");
		}
		cr_assert(eq(i64, pq_int(f[2].rows, i, "min_ns"), min));
		cr_assert(eq(i64, pq_int(f[2].rows, i, "max_ns"), max));
		for (uint32_t bucket = 0; bucket < 3000; bucket++) {
			int64_t whole = in_bucket(&f[2], (int64_t)i, bucket);

			buckets += whole > 0;
			cr_assert(eq(i64, whole,
			             (left < 0 ? 0 : in_bucket(&f[0], left, bucket)) +
			                     (right < 0 ? 0 : in_bucket(&f[1], right, bucket))));
		}
	}
	cr_assert(gt(sz, both, 3), "the halves share no rows: nothing was merged");
	cr_assert(eq(sz, buckets, f[2].histogram->rows));
	for (int part = 0; part < 3; part++) {
		release(&f[part]);
		joined_free(j[part]);
		tb_free(b[part]);
	}
}

/* --- damaged and empty --- */

Test(rollup, a_trace_without_kernels_has_no_rows)
{
	struct tb *b = tb_new();
	struct joined *j = tb_joined(b);
	struct folder f = roll_up(j);

	cr_assert(eq(sz, f.rows->rows, 0));
	cr_assert(eq(sz, f.histogram->rows, 0));
	release(&f);
	joined_free(j);
	tb_free(b);
}

Test(rollup, a_kernel_of_days_is_refused_and_leaves_nothing)
{
	char dir[] = "/tmp/ws_rollup_XXXXXX", sub[64];
	struct ws_err err = {0};
	struct joined *j;
	struct tb *b = tb_new();

	tb_launch(b, 0, "endless", 10, (int64_t)1 << 60);
	j = tb_joined(b);
	cr_assert(mkdtemp(dir) != NULL);
	snprintf(sub, sizeof(sub), "%s/out", dir);
	cr_assert(eq(int,
	             ws_rollup_export(j->m, &j->rows,
	                              &(struct ws_export_job){.to = sub,
	                                                      .opts = &(struct ws_export_opts){0},
	                                                      .rank = -1},
	                              &err),
	             WS_CORRUPT));
	cr_assert_not_null(strstr(err.text, "1152921504606846976 ns"));
	cr_assert(eq(int, rmdir(dir), 0), "something was left behind");
	joined_free(j);
	tb_free(b);
}
