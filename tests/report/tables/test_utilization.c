/*
 * MFU and HFU with numbers worked out by hand, on an H100: 989.4 TFLOP/s of dense bf16, so that
 * 9,894,000 FLOPs take 10 ns.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/tables/tables.h"
#include "tests/support/trace_builder.h"

#define NEAR(actual, expected)                                                    \
	cr_expect(fabs((actual) - (expected)) <= 1e-9 * fabs((double)(expected)), \
	          "%.17g is not %.17g", (actual), (double)(expected))
#define TEN_NS 9894000u
#define H100   "NVIDIA H100 80GB HBM3"

static void product(struct tb *b, int64_t at, uint64_t flops, const char *dtype)
{
	tb_push_op(b, at, "product",
	           &(struct tb_op){.flops = flops, .bytes_read = 8, .op = "gemm", .dtype = dtype});
	tb_launch(b, at + 1, "gemm", at + 2, 20);
	tb_pop(b, at + 3);
}

/* A step of 200 ns: `times` products in forward; in backward two, and one computed again. */
static struct tb *trained(const char *device, const char *dtype, unsigned times)
{
	struct tb *b = tb_new();

	tb_device(b, 0, WS_DEVICE_CUDA, device);
	tb_push(b, 1000, "step");
	tb_push(b, 1000, "forward");
	product(b, 1010, times * TEN_NS, dtype);
	/* no product: it counts in neither */
	tb_push_op(b, 1030, "softmax",
	           &(struct tb_op){.flops = 5, .bytes_read = 8, .op = "softmax", .dtype = dtype});
	tb_launch(b, 1031, "softmax", 1032, 10);
	tb_pop(b, 1035);
	tb_pop(b, 1050);
	tb_push(b, 1060, "backward");
	tb_push(b, 1060, "forward");
	product(b, 1070, TEN_NS, dtype);
	tb_pop(b, 1080);
	product(b, 1090, 2 * TEN_NS, dtype);
	tb_pop(b, 1150);
	tb_pop(b, 1200);
	return b;
}

struct run {
	struct tb *b;
	struct joined *j;
	struct ws_table *t;
};

static struct run table_of(struct tb *b, const char *name)
{
	struct run r = {.b = b, .j = tb_joined(b)};

	r.t = tb_table(r.j, name, NULL);
	return r;
}

static void end(struct run *r)
{
	ws_table_free(r->t);
	joined_free(r->j);
	tb_free(r->b);
}

Test(utilization, mfu_is_forward_three_times_and_hfu_what_ran)
{
	struct run r = table_of(trained(H100, "bf16", 1), "steps");

	NEAR(tb_real(r.t, 0, "mfu"), 15.0); /* 3 x 10 ns of 200 */
	NEAR(tb_real(r.t, 0, "hfu"), 20.0); /* 10 + 10 + 20 */
	cr_expect(tb_is_empty(r.t, 0, "check"));
	cr_expect(tb_notes_say(r.t, "989.4 TFLOP/s, dense bf16, on 1 device"));
	cr_expect(tb_notes_say(r.t, "H100 datasheet"), "the source of the peak");
	cr_expect(eq(int, tb_notes_say(r.t, "; check"), 0), "our own sums are no reader's");
	end(&r);
	r = table_of(trained(H100, "bf16", 1), "roofline");
	cr_expect(tb_notes_say(r.t, "MFU 15.00 % and HFU 20.00 %"));
	end(&r);
	r = table_of(trained(H100, "bf16", 1), "summary");
	NEAR(tb_real(r.t, tb_find(r.t, 0, "item", "MFU (%)"), "value"), 15.0);
	NEAR(tb_real(r.t, tb_find(r.t, 0, "item", "HFU (%)"), "value"), 20.0);
	/* of one step nothing is said four times */
	cr_expect(eq(sz, tb_count(r.t, "item", "step"), 1));
	cr_expect(eq(sz, tb_count(r.t, "item", "step, median"), 0));
	end(&r);
}

Test(utilization, each_product_is_held_against_the_peak_of_its_dtype)
{
	struct tb *b = tb_new();
	struct run r;

	/* inference, no backward: forward once. 494.7 TFLOP/s of TF32: twice the time */
	tb_device(b, 0, WS_DEVICE_CUDA, H100);
	tb_push(b, 1000, "step");
	product(b, 1010, TEN_NS, "bf16");
	product(b, 1030, TEN_NS, "tf32");
	tb_pop(b, 1100);
	r = table_of(b, "steps");
	NEAR(tb_real(r.t, 0, "mfu"), 30.0);
	NEAR(tb_real(r.t, 0, "hfu"), 30.0);
	end(&r);
}

/* 600 ns of products in 200 ns cannot be: it is said, and the number is not clipped. */
Test(utilization, over_100_percent_is_called_an_error)
{
	struct run r = table_of(trained(H100, "bf16", 20), "steps");

	NEAR(tb_real(r.t, 0, "mfu"), 300.0);
	cr_expect_str_eq(tb_str(r.t, 0, "check"),
	                 "over 100 %: the FLOPs, the bytes or the peak are wrong");
	end(&r);
	r = table_of(trained(H100, "bf16", 20), "summary");
	cr_expect_str_eq(tb_str(r.t, tb_find(r.t, 0, "item", "MFU (%)"), "text"),
	                 "over 100 %: the FLOPs, the bytes or the peak are wrong");
	end(&r);
	/* 230 ns at the peak in kernels of 60 ns */
	r = table_of(trained(H100, "bf16", 20), "roofline");
	cr_expect(gt(dbl, tb_real(r.t, 0, "attained"), 300));
	cr_expect_str_eq(tb_str(r.t, 0, "check"),
	                 "over 100 %: the FLOPs, the bytes or the peak are wrong");
	cr_expect(tb_notes_say(r.t, "over 100 % of a peak"));
	end(&r);
	r = table_of(trained(H100, "bf16", 20), "softmax-matmul");
	cr_expect(
	        gt(sz,
	           tb_count(r.t, "check", "over 100 %: the FLOPs, the bytes or the peak are wrong"),
	           0));
	end(&r);
	r = table_of(trained(H100, "bf16", 1), "roofline");
	cr_expect(tb_is_empty(r.t, 0, "check"));
	end(&r);
}

static void is_unknown(struct tb *b, const char *why)
{
	struct run r = table_of(b, "steps");

	cr_expect(tb_is_empty(r.t, 0, "mfu") && tb_is_empty(r.t, 0, "hfu"), "%s", why);
	cr_expect(tb_notes_say(r.t, why), "%s; says: %s", why, r.t->notes[r.t->nnotes - 1]);
	ws_table_free(r.t);
	r.t = tb_table(r.j, "summary", NULL);
	cr_expect(tb_is_empty(r.t, tb_find(r.t, 0, "item", "MFU (%)"), "value"));
	end(&r);
}

Test(utilization, unknown_is_empty_and_says_why)
{
	struct tb *b = trained(H100, "bf16", 1);

	is_unknown(trained("NVIDIA Nonesuch", "bf16", 1), "no peak of bf16 is known for device 0");
	is_unknown(trained(H100, NULL, 1), "the dtype of a matrix product is not known");
	/* a product beside them of which nothing is known but its time */
	tb_push(b, 2000, "step");
	tb_launch(b, 2010, "nvjet_hsh_128x64_64x6_1x2_h_bz_NNT", 2020, 40);
	tb_pop(b, 2100);
	is_unknown(b, "40.0 % of the GPU time of matrix products, convolutions and fused attention "
	              "is without FLOPs");
	b = tb_new();
	tb_push(b, 1000, "step");
	tb_launch(b, 1010, "k", 1020, 40);
	tb_pop(b, 1100);
	is_unknown(b, "tells its FLOPs");
}

/* With rows of a pass, and of a model. */
Test(utilization, the_pass_and_the_model_agree)
{
	const struct ws_table_def *def = ws_table_def_by_name("steps");
	uint8_t *host = calloc(def->ncolumns, 1);

	host[WS_TC_steps_host_ns] = 1;
	for (int told = 0; told < 2; told++) {
		struct tb *b = trained(H100, "bf16", 1), *untold = tb_new();
		struct run r;
		struct ws_bytes bytes;
		struct ws_trace_reader *reader = NULL;
		struct ws_filter filter = WS_FILTER_ALL;
		struct ws_report *report = NULL;
		struct ws_err err;

		tb_push(untold, 1000, "step");
		tb_launch(untold, 1010, "k", 1020, 40);
		tb_pop(untold, 1100);
		r = table_of(told ? b : untold, "steps");
		filter.scope = WS_SCOPE_STEPS;
		bytes = tb_bytes(r.b);
		cr_assert(eq(int, ws_trace_reader_open_mem(&reader, bytes.ptr, bytes.len, &err),
		             WS_OK));
		cr_assert(eq(int,
		             ws_report_stream(reader, "", NULL, &filter, &def, 1, NULL, &report,
		                              &err),
		             WS_OK));
		cr_assert(report != NULL);
		cr_expect_str_eq(report->tables[0]->notes[report->tables[0]->nnotes - 1],
		                 r.t->notes[r.t->nnotes - 1]);
		cr_expect(eq(int, tb_is_empty(report->tables[0], 0, "mfu"), !told));
		if (told)
			NEAR(tb_real(report->tables[0], 0, "mfu"), 15.0);
		ws_report_free(report);
		report = NULL;
		cr_assert(eq(int,
		             ws_report_stream(reader, "", NULL, &filter, &def, 1, host, &report,
		                              &err),
		             WS_OK));
		cr_assert(report != NULL);
		cr_expect(eq(int, tb_notes_say(report->tables[0], "MFU"), 0),
		          "nobody asked, and nobody looked");
		ws_report_free(report);
		ws_trace_reader_free(reader);
		end(&r);
		tb_free(told ? untold : b);
	}
	free(host);
}

/* The host leaves the step after 200 ns; its product runs until 400 ns after the begin. */
Test(utilization, a_host_that_runs_ahead_makes_no_step_shorter)
{
	struct tb *b = tb_new();
	struct run r;

	tb_device(b, 0, WS_DEVICE_CUDA, H100);
	tb_push(b, 1000, "step");
	tb_push_op(
	        b, 1010, "product",
	        &(struct tb_op){.flops = TEN_NS, .bytes_read = 8, .op = "gemm", .dtype = "bf16"});
	tb_launch(b, 1011, "gemm", 1012, 388);
	tb_pop(b, 1013);
	tb_pop(b, 1200);
	r = table_of(b, "steps");
	NEAR(tb_real(r.t, 0, "mfu"), 2.5);
	end(&r);
}
