/*
 * The comparer as a whole, held to docs/reference/compare.md by experiment: recordings
 * with noise as GPUs have it, made as traces.
 */
#include "report/diff/aa.h"
#include "tests/report/diff/training.h"
#include "tests/support/trace_builder.h"

static uint64_t state;

/* A step of these operations, each one kernel. */
static const struct {
	const char *name, *kind;
	int64_t ns;
} ops[] = {
        {"qkv projection", "gemm", 400000},
        {"softmax", "softmax", 150000},
        {"p v", "gemm", 200000},
        {"rmsnorm", "mask", 50000},
        {"ffn", "gemm", 800000},
        {"residual", "scale", 40000},
};
#define NOPS (sizeof(ops) / sizeof(*ops))

struct program {
	size_t steps;
	double between, within; /* standard deviation of runs and of steps, relative */
	const char *slow_op;    /* takes slow_ns more */
	int64_t slow_ns;
	const char *dtype, *kernel, *model;
	double clock_mhz; /* 0 = not read */
	int without_forward;
};
static const struct program usual = {
        .steps = 8, .between = 0.005, .within = 0.005, .dtype = "fp32", .kernel = "k_fp32"};

/* One recording: the run has its level, steps drift and scatter, and now and then one is late. */
static struct tb *record(const struct program *p)
{
	struct tb *b = tb_new();
	double run = exp(p->between * random_normal(&state)), drift = 0;
	int64_t at = 1000;
	char text[64];

	snprintf(text, sizeof(text), "workload.dtype=%s", p->dtype);
	tb_mark(b, 0, text);
	snprintf(text, sizeof(text), "workload.model=%s", p->model ? p->model : "example");
	tb_mark(b, 0, text);
	if (p->clock_mhz > 0) {
		snprintf(text, sizeof(text), "%.0f", p->clock_mhz);
		tb_add(b, WS_KIND_META,
		       &(struct ws_row_meta){.key = {"gpu.0.end.sm_clock_mhz", 22},
		                             .value = {text, strlen(text)}});
	}
	for (size_t i = 0; i < p->steps; i++) {
		double factor;
		int64_t end = at;

		drift = 0.6 * drift + p->within * random_normal(&state);
		factor = run * exp(drift) * (random_uniform(&state) < 0.02 ? 1.3 : 1);
		tb_push(b, at, "step");
		if (!p->without_forward)
			tb_push(b, at + 1, "forward");
		for (size_t k = 0; k < NOPS; k++) {
			struct tb_op op = {0, 0, 0, ops[k].kind, "forward", p->dtype, 0};
			int64_t ns = ops[k].ns;

			if (p->slow_op && !strcmp(p->slow_op, ops[k].name))
				ns += p->slow_ns;
			ns = (int64_t)((double)ns * factor *
			               exp(p->within * random_normal(&state)));
			tb_push_op(b, at + 10 + 10 * (int64_t)k, ops[k].name, &op);
			tb_launch(b, at + 11 + 10 * (int64_t)k, p->kernel, end + 100, ns);
			tb_pop(b, at + 15 + 10 * (int64_t)k);
			end += 100 + ns;
		}
		if (!p->without_forward)
			tb_pop(b, at + 200);
		tb_pop(b, end);
		at = end + 1000;
	}
	return b;
}

/* n recordings a side. */
static struct ws_report *compare(const struct program *a, const struct program *b, size_t n,
                                 const struct ws_diff_opts *opts, struct ws_diff_result *result)
{
	struct ws_sides *sides = ws_sides_new();

	for (size_t i = 0; i < 2 * n; i++)
		add_recording(sides, i >= n, record(i < n ? a : b));
	return compare_sides(sides, opts, result);
}

static int is_different(const char *grade)
{
	return strstr(grade, "FASTER") || strstr(grade, "SLOWER");
}

Test(compare, the_same_program_is_seldom_called_different)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	unsigned verdicts = 0, cried = 0, gates = 0, pairs = 0;

	state = 11;
	opts.threshold_percent = 2;
	/* one recording a side, where 1 % of noise is assumed, and three, which show their own */
	for (; pairs < 240; pairs++) {
		struct ws_diff_result result;
		struct program p = usual;
		struct ws_report *report;
		const struct ws_table *t;

		p.between = pairs % 2 ? 0.01 : 0.02;
		report = compare(&p, &p, pairs % 2 ? 1 : 3, &opts, &result);
		t = tb_table_of(report, "diff-verdict");
		for (size_t row = 0; row < t->nrows; row++) {
			if (tb_is_empty(t, row, "grade"))
				continue;
			verdicts++;
			cried += (unsigned)is_different(tb_str(t, row, "grade"));
		}
		gates += (unsigned)result.finding;
		ws_report_free(report);
	}
	cr_expect(cried <= verdicts * 0.05, "%u of %u verdicts", cried, verdicts);
	cr_expect(gates <= pairs * 0.01, "%u of %u gates", gates, pairs);
}

Test(compare, two_percent_with_five_recordings_is_found_and_where_it_is)
{
	unsigned found = 0, placed = 0, pairs = 60;

	state = 12;
	for (unsigned i = 0; i < pairs; i++) {
		struct program slow = usual;
		struct ws_diff_result result;
		struct ws_report *report;
		const struct ws_table *t;

		/* 2 % of the step's 1.64 ms */
		slow.slow_op = "softmax";
		slow.slow_ns = 32800;
		report = compare(&usual, &slow, 5, NULL, &result);
		found += !strcmp(training_overall(report), "SLOWER");
		t = tb_table_of(report, "diff-ops");
		placed += !strcmp(tb_str(t, 0, "op"), "softmax") &&
		          !strcmp(tb_str(t, 0, "grade"), "SLOWER");
		t = tb_table_of(report, "diff-verdict");
		cr_expect(strstr(tb_str(t, tb_find(t, 0, "subject", "what lost"), "verdict"),
		                 "softmax (forward): ") ||
		                  strcmp(training_overall(report), "SLOWER") != 0,
		          "%s", tb_str(t, tb_find(t, 0, "subject", "what lost"), "verdict"));
		ws_report_free(report);
	}
	cr_expect(found >= pairs * 0.95, "found %u of %u", found, pairs);
	cr_expect(placed >= pairs * 0.95, "placed %u of %u", placed, pairs);
}

Test(compare, other_names_of_kernels_and_dtypes_change_no_grade)
{
	struct program renamed = usual, slow = usual;
	struct ws_diff_result result[2];
	struct ws_report *report[2];

	slow.slow_op = renamed.slow_op = "ffn";
	slow.slow_ns = renamed.slow_ns = 80000;
	renamed.dtype = "bf16";
	renamed.kernel = "nvjet_hsh_128x256";
	state = 13;
	report[0] = compare(&usual, &slow, 3, NULL, &result[0]);
	state = 13;
	report[1] = compare(&usual, &renamed, 3, NULL, &result[1]);
	for (size_t i = 0; i < report[0]->ntables; i++) {
		const struct ws_table *t[2] = {report[0]->tables[i], report[1]->tables[i]};

		if (ws_table_column_index(t[0]->def, "grade") < 0)
			continue;
		cr_assert_eq(t[0]->nrows, t[1]->nrows, "%s", t[0]->def->name);
		for (size_t row = 0; row < t[0]->nrows; row++)
			cr_expect_str_eq(tb_str(t[0], row, "grade"), tb_str(t[1], row, "grade"));
	}
	ws_report_free(report[0]);
	ws_report_free(report[1]);
}

/* The row of t whose columns have the texts that they have in row of other. */
static size_t same_row(const struct ws_table *t, const struct ws_table *other, size_t row,
                       const char *const columns[], size_t n)
{
	for (size_t i = 0; i < t->nrows; i++) {
		size_t same = 0;

		while (same < n &&
		       !strcmp(tb_str(t, i, columns[same]), tb_str(other, row, columns[same])))
			same++;
		if (same == n)
			return i;
	}
	cr_fatal("row %zu of %s has no mirror", row, other->def->name);
}

static const char *mirrored(const char *grade)
{
	static const char *const pairs[][2] = {{"FASTER", "SLOWER"},
	                                       {"LIKELY FASTER", "LIKELY SLOWER"}};

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(grade, pairs[i / 2][i % 2]))
			return pairs[i / 2][!(i % 2)];
	return grade;
}

Test(compare, b_against_a_mirrors_a_against_b)
{
	static const struct {
		const char *name;
		const char *key[4];
		size_t n;
	} tables[] = {{"diff-phases", {"phase", "measure"}, 2},
	              {"diff-ranges", {"path", "match"}, 2},
	              {"diff-ops", {"op", "phase", "shape", "class"}, 4},
	              {"diff-classes", {"class"}, 1}};
	struct program slow = usual;
	struct ws_sides *sides[2] = {ws_sides_new(), ws_sides_new()};
	struct ws_report *report[2];
	struct ws_diff_result result;

	state = 14;
	slow.slow_op = "p v";
	slow.slow_ns = 50000;
	slow.dtype = "bf16";
	for (int i = 0; i < 6; i++) {
		struct tb *b = record(i % 2 ? &slow : &usual);
		struct joined *j = tb_joined(b);

		sides_add(sides[0], i % 2, j->m, &j->rows);
		sides_add(sides[1], !(i % 2), j->m, &j->rows);
		joined_free(j);
		tb_free(b);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ws_diff_make(sides[i], NULL, &report[i], &result, NULL), WS_OK);
		ws_sides_free(sides[i]);
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		const struct ws_table *t = tb_table_of(report[0], tables[i].name),
		                      *back = tb_table_of(report[1], tables[i].name);

		cr_assert_eq(t->nrows, back->nrows);
		for (size_t row = 0; row < t->nrows; row++) {
			size_t other = same_row(back, t, row, tables[i].key, tables[i].n);

			cr_expect_str_eq(tb_str(t, row, "grade"),
			                 mirrored(tb_str(back, other, "grade")));
			cr_expect(fabs(tb_real(t, row, "diff_ns") +
			               tb_real(back, other, "diff_ns")) < 1e-6);
		}
	}
	cr_expect_str_eq(training_overall(report[0]), mirrored(training_overall(report[1])));
	ws_report_free(report[0]);
	ws_report_free(report[1]);
}

Test(compare, what_is_not_the_same_work_gets_no_ratio)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct program other = usual;
	struct ws_diff_result result;
	struct ws_report *report;
	const struct ws_table *t;
	size_t row;

	state = 15;
	other.model = "another";
	other.slow_op = "ffn";
	other.slow_ns = 1000000;
	opts.threshold_percent = 5;
	report = compare(&usual, &other, 1, &opts, &result);
	t = tb_table_of(report, "diff-verdict");
	cr_expect_str_eq(tb_str(t, 0, "subject"), "not the same work", "reasons come first");
	cr_expect_str_eq(tb_str(t, 0, "verdict"), "model example and another");
	row = tb_find(t, 0, "subject", "overall");
	cr_expect_str_eq(tb_str(t, row, "grade"), "UNLIKE");
	cr_expect(tb_is_empty(t, row, "ratio") && tb_is_empty(t, row, "low"));
	cr_expect(not(result.finding));
	ws_report_free(report);

	opts.force = true;
	report = compare(&usual, &other, 1, &opts, &result);
	t = tb_table_of(report, "diff-verdict");
	cr_expect_str_eq(tb_str(t, 0, "subject"), "not the same work");
	row = tb_find(t, 0, "subject", "overall");
	cr_expect_str_eq(tb_str(t, row, "grade"), "LIKELY SLOWER");
	cr_expect(tb_real(t, row, "ratio") > 1.5);
	cr_expect(not(result.finding), "the noise is assumed");
	ws_report_free(report);
}

Test(compare, other_phases_are_other_work)
{
	struct program inference = usual;
	struct ws_diff_result result;
	struct ws_report *report;
	struct tb *b = tb_new();
	struct ws_sides *sides = ws_sides_new();
	struct joined *j;

	state = 16;
	add_recording(sides, 0, record(&usual));
	/* the same kernels in a backward */
	for (int i = 0; i < 3; i++) {
		tb_push(b, i * 10000, "step");
		tb_push(b, i * 10000 + 1, "backward");
		tb_launch(b, i * 10000 + 2, "k", i * 10000 + 5, 900);
		tb_pop(b, i * 10000 + 8);
		tb_pop(b, i * 10000 + 999);
	}
	j = tb_joined(b);
	sides_add(sides, 1, j->m, &j->rows);
	cr_assert_eq(ws_diff_make(sides, NULL, &report, &result, NULL), WS_OK);
	cr_expect_str_eq(training_overall(report), "UNLIKE");
	cr_expect_str_eq(tb_str(tb_table_of(report, "diff-verdict"), 0, "verdict"),
	                 "phases forward and backward");
	ws_report_free(report);
	ws_sides_free(sides);
	joined_free(j);
	tb_free(b);
	/* a side that does not say its phases is not other work for it */
	inference.without_forward = 1;
	report = compare(&inference, &inference, 1, NULL, &result);
	cr_expect_str_neq(training_overall(report), "UNLIKE");
	ws_report_free(report);
}

Test(compare, a_gap_that_is_one_of_the_clocks_is_no_verdict)
{
	struct program fast = usual, slow = usual;
	struct ws_diff_result result;
	struct ws_report *report;

	state = 17;
	fast.clock_mhz = 1980;
	slow.clock_mhz = 1755;
	fast.between = slow.between = fast.within = slow.within = 0;
	slow.slow_op = "ffn";
	slow.slow_ns = (int64_t)(1640000 * (1980.0 / 1755 - 1));
	report = compare(&fast, &slow, 1, NULL, &result);
	cr_expect_str_eq(training_overall(report), "AMBIGUOUS");
	cr_expect(strstr(result.verdict, "the clocks differed (1980 and 1755 MHz)") != NULL, "%s",
	          result.verdict);
	ws_report_free(report);
	slow.clock_mhz = 1980;
	report = compare(&fast, &slow, 1, NULL, &result);
	cr_expect_str_eq(training_overall(report), "LIKELY SLOWER", "%s", result.verdict);
	ws_report_free(report);
}

/* An A/A test of n recordings with so much noise between runs. */
static struct ws_report *test_aa(size_t n, double between, double run_noise_percent, char *verdict)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;
	struct ws_sides *sides = ws_sides_new();
	struct program p = usual;
	struct ws_report *report;
	struct ws_err err;

	p.between = between;
	opts.run_noise_percent = run_noise_percent;
	for (size_t i = 0; i < n; i++)
		add_recording(sides, 0, record(&p));
	cr_assert_eq(ws_aa_make(sides, &opts, &report, verdict, &err), WS_OK, "%s", err.text);
	ws_sides_free(sides);
	return report;
}

Test(compare, aa_finds_the_noise_and_what_could_be_found)
{
	char verdict[512];
	struct ws_report *report;
	const struct ws_table *t;

	state = 18;
	report = test_aa(16, 0.02, 2, verdict);
	t = report->tables[0];
	cr_expect_str_eq(tb_str(t, 0, "quantity"), "step");
	/* a standard deviation of 16 values is right to some 35 % */
	cr_expect(tb_real(t, 0, "noise") > 1.3 && tb_real(t, 0, "noise") < 2.7, "%g",
	          tb_real(t, 0, "noise"));
	cr_expect_eq(tb_int(t, 0, "pairs"), 120);
	cr_expect(tb_int(t, 0, "pairs_called") <= 12, "%ld", tb_int(t, 0, "pairs_called"));
	cr_expect_eq(tb_int(t, 0, "splits"), 400);
	cr_expect(tb_int(t, 0, "splits_called") <= 40);
	cr_expect(tb_real(t, 0, "detectable_3") > tb_real(t, 0, "detectable_5"));
	cr_expect(tb_real(t, 0, "detectable_5") > tb_real(t, 0, "detectable_10"));
	cr_expect(tb_int(t, 0, "for_2") > tb_int(t, 0, "for_5"));
	cr_expect(strstr(verdict, "runs per side to detect 2 %") != NULL, "%s", verdict);
	ws_report_free(report);

	/* with too little noise assumed it cries wolf, and says so */
	state = 18;
	report = test_aa(16, 0.02, 0, verdict);
	cr_expect(tb_int(report->tables[0], 0, "pairs_called") > 30);
	ws_report_free(report);
}

Test(compare, aa_of_two_recordings_shows_no_noise_and_one_is_too_few)
{
	struct ws_sides *sides = ws_sides_new();
	struct ws_report *report;
	char verdict[512];
	struct ws_err err;

	state = 19;
	report = test_aa(2, 0.01, 1, verdict);
	cr_expect(tb_is_empty(report->tables[0], 0, "noise"));
	cr_expect(tb_is_empty(report->tables[0], 0, "splits"));
	cr_expect_eq(tb_int(report->tables[0], 0, "pairs"), 1);
	ws_report_free(report);
	add_recording(sides, 0, record(&usual));
	cr_expect_eq(ws_aa_make(sides, NULL, &report, verdict, &err), WS_USAGE);
	ws_sides_free(sides);
}

Test(compare, steps_that_the_user_names)
{
	struct ws_model_opts opts[] = {{.step = "iter*"},
	                               {.step = "loop/iter ?"},
	                               {.step = "none"}};
	struct tb *b = tb_new();
	struct ws_table *t;
	struct joined *j;
	struct ws_trace_reader *r;
	struct ws_bytes bytes;

	tb_push(b, 0, "loop");
	for (int i = 0; i < 3; i++) {
		char name[24];

		snprintf(name, sizeof(name), "iter %d", i);
		tb_push(b, 1000 * i + 10, name);
		tb_launch(b, 1000 * i + 20, "k", 1000 * i + 30, 100);
		tb_pop(b, 1000 * i + 500);
	}
	tb_pop(b, 4000);
	bytes = tb_close(b);
	cr_assert_eq(ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, NULL), WS_OK);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(joined_open_reader(&j, r, "t", &opts[i], NULL), WS_OK);
		t = tb_table(j, "steps", NULL);
		cr_expect_eq(t->nrows, i == 2 ? 0 : 3, "%s: %zu", opts[i].step, t->nrows);
		ws_table_free(t);
		joined_free(j);
	}
	ws_trace_reader_free(r);
	tb_free(b);
}

/* Three steps, each with a copy and a fill of so many bytes. */
static void add_copies(struct ws_sides *sides, int side, uint64_t copied, uint64_t filled)
{
	struct tb *b = tb_new();
	struct joined *j;

	for (int64_t i = 0; i < 3; i++) {
		int64_t at = 10000 * i;

		tb_push(b, at, "step");
		tb_launch(b, at + 2, "k", at + 5, 900);
		tb_add(b, WS_KIND_MEMCPY,
		       &(struct ws_row_memcpy){.start_ns = at + 1000,
		                               .dur_ns = 100,
		                               .pid = 100,
		                               .kind = 1,
		                               .bytes = copied});
		tb_add(b, WS_KIND_MEMSET,
		       &(struct ws_row_memset){
		               .start_ns = at + 1200, .dur_ns = 50, .pid = 100, .bytes = filled});
		tb_pop(b, at + 2000);
	}
	j = tb_joined(b);
	sides_add(sides, side, j->m, &j->rows);
	joined_free(j);
	tb_free(b);
}

static size_t memory_row(const struct ws_table *t, const char *section, const char *item)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, "section"), section) &&
		    !strcmp(tb_str(t, row, "item"), item))
			return row;
	cr_fatal("no row %s, %s", section, item);
}

Test(compare, bytes_that_a_side_does_not_tell_are_empty)
{
	struct ws_sides *sides = ws_sides_new();
	struct ws_diff_result result;
	struct ws_report *report;
	const struct ws_table *t;
	size_t row;

	add_copies(sides, 0, 4096, 512);
	add_copies(sides, 1, 8192, 0);
	cr_assert_eq(ws_diff_make(sides, NULL, &report, &result, NULL), WS_OK);
	t = tb_table_of(report, "diff-memory");
	row = memory_row(t, "bytes moved", "[CUDA memcpy Host-to-Device]");
	cr_expect(eq(dbl, tb_real(t, row, "a"), 4096));
	cr_expect(eq(dbl, tb_real(t, row, "b"), 8192));
	cr_expect_str_eq(tb_str(t, row, "grade"), "MORE");
	row = memory_row(t, "bytes moved", "[CUDA memset]");
	cr_expect(eq(dbl, tb_real(t, row, "a"), 512));
	cr_expect(tb_is_empty(t, row, "b") && tb_is_empty(t, row, "diff") &&
	          tb_is_empty(t, row, "grade"));
	row = memory_row(t, "copies and fills", "[CUDA memset]");
	cr_expect_str_eq(tb_str(t, row, "grade"), "SAME", "they are counted");
	ws_report_free(report);
	ws_sides_free(sides);
}
