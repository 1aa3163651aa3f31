/*
 * The comparer as a whole, held to docs/reference/compare.md by experiment: recordings
 * with noise as GPUs have it, made as traces.
 */
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
	const char *dtype;
};
static const struct program usual = {.steps = 8,
                                     .between = 0.005,
                                     .within = 0.005,
                                     .dtype = "fp32"};

/* One recording: the run has its level, steps drift and scatter, and now and then one is late. */
static struct tb *record(const struct program *p)
{
	struct tb *b = tb_new();
	double run = exp(p->between * random_normal(&state)), drift = 0;
	int64_t at = 1000;
	char text[64];

	snprintf(text, sizeof(text), "workload.dtype=%s", p->dtype);
	tb_mark(b, 0, text);
	for (size_t i = 0; i < p->steps; i++) {
		double factor;
		int64_t end = at;

		drift = 0.6 * drift + p->within * random_normal(&state);
		factor = run * exp(drift) * (random_uniform(&state) < 0.02 ? 1.3 : 1);
		tb_push(b, at, "step");
		tb_push(b, at + 1, "forward");
		for (size_t k = 0; k < NOPS; k++) {
			struct tb_op op = {0, 0, 0, ops[k].kind, "forward", p->dtype, 0};
			int64_t ns = ops[k].ns;

			if (p->slow_op && !strcmp(p->slow_op, ops[k].name))
				ns += p->slow_ns;
			ns = (int64_t)((double)ns * factor *
			               exp(p->within * random_normal(&state)));
			tb_push_op(b, at + 10 + 10 * (int64_t)k, ops[k].name, &op);
			tb_launch(b, at + 11 + 10 * (int64_t)k, "k", end + 100, ns);
			tb_pop(b, at + 15 + 10 * (int64_t)k);
			end += 100 + ns;
		}
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
