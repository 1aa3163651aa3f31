/* The first screen of small traces: its parts add up, and it says what matters. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "report/page/page.h"
#include "tests/report/tables/foreign.h"
#include "tests/support/trace_builder.h"

#define US 1000
#define SAYS(text, expected) \
	cr_expect(strcmp(text, expected) == 0, "'%s' is not '%s'", text, expected)

static struct tb *builder;
static struct joined *joined;
static struct ws_report *report;

/* In the scope that a report has unless another is asked for. */
static const struct ws_page *page_of(struct tb *b)
{
	struct ws_filter filter = WS_FILTER_ALL;

	filter.scope = WS_SCOPE_STEPS;
	builder = b;
	joined = tb_joined(b);
	cr_assert(eq(int, all_tables(joined->m, &joined->rows, &filter, &report, NULL), WS_OK));
	cr_assert_not_null(report->page);
	return report->page;
}

static void done(void)
{
	ws_report_free(report);
	joined_free(joined);
	tb_free(builder);
}

/* A sentence as one text, *bold*. */
static const char *line_text(const struct ws_page_line *line)
{
	static char text[512];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < line->nparts; i++) {
		const char *mark = line->part[i].bold ? "*" : "";

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s", mark,
		                        line->part[i].text, mark);
	}
	return text;
}

static size_t words_in(const char *text)
{
	size_t n = 0;

	for (const char *p = text; *p; p++)
		n += *p != ' ' && (p == text || p[-1] == ' ');
	return n;
}

static void kernel(struct tb *b, int64_t call_us, const char *name, int64_t start_us,
                   int64_t dur_us)
{
	struct tb_kernel k = {name, start_us * US, dur_us * US, ++ids, 1, 100, 0};

	tb_call(b, call_us * US, 1, k.correlation);
	tb_kernel(b, &k);
}

/*
 * Two steps of 1,000 us. In each: three equal layers of a matrix product of 100 us and a softmax of
 * 50 us, which overlaps the next product by 10 us; the host comes 400 us late.
 */
static struct tb *two_steps(void)
{
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	for (int step = 0; step < 2; step++) {
		const int64_t t = 1000 * step;
		char name[32];

		tb_push(b, t * US, "step");
		tb_push(b, t * US, "encoder");
		for (int layer = 0; layer < 3; layer++) {
			const int64_t at = t + 410 + layer * 140;

			snprintf(name, sizeof(name), "layer %d", layer);
			tb_push(b, (at - 5) * US, name);
			kernel(b, at - 4, "sm90_xmma_gemm_bf16bf16_bf16f32", at, 100);
			kernel(b, at - 3, "cunn_SoftMaxForward", at + 100, 50);
			tb_pop(b, (at - 1) * US);
		}
		tb_pop(b, (t + 980) * US);
		tb_pop(b, (t + 1000) * US);
	}
	return b;
}

Test(page, bar_adds_up_to_the_step)
{
	const struct ws_page *page = page_of(two_steps());
	int64_t sum = 0;

	cr_expect(page->has_steps);
	cr_expect(eq(dbl, page->samples, 2));
	cr_expect(eq(dbl, page->step_ns, 1000 * US));
	for (size_t i = 0; i < page->nsegments; i++) {
		sum += page->segment[i].ns;
		cr_expect(page->segment[i].ns > 0);
		cr_expect(i == 0 || page->segment[i].is_idle >= page->segment[i - 1].is_idle);
	}
	cr_expect(eq(i64, sum, page->whole_ns));
	cr_expect(eq(i64, page->whole_ns, 2000 * US));
	/* what overlaps counts once, for what began first */
	SAYS(page->segment[0].name, "gemm");
	cr_expect(eq(i64, page->segment[0].ns, 2 * (100 + 90 + 90) * US));
	SAYS(page->segment[1].name, "softmax");
	cr_expect(eq(i64, page->segment[1].ns, 2 * 150 * US));
	cr_expect(eq(int, page->segment[0].colour, ws_page_class_colour("gemm", 4)));
	done();
}

Test(page, headline_says_how_long_why_idle_and_who)
{
	const struct ws_page *page = page_of(two_steps());

	cr_assert(eq(sz, page->nheadline, 3));
	SAYS(line_text(&page->headline[0]),
	     "A step takes *1 ms*; the GPU computes for *430 µs (43 %)* of it.");
	SAYS(line_text(&page->headline[1]),
	     "The GPU waits for the host: *285 µs (28 %)*, most in layer 0.");
	SAYS(line_text(&page->headline[2]),
	     "Most GPU time goes to *gemm (280 µs)* and *softmax (150 µs)*.");
	for (size_t i = 0; i < page->nheadline; i++)
		cr_expect(words_in(line_text(&page->headline[i])) <= 15, "%s",
		          line_text(&page->headline[i]));
	done();
}

Test(page, steps_have_their_spread_and_outliers)
{
	struct tb *b = tb_new();
	const struct ws_page *page;
	int64_t at = 0;

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	for (int step = 0; step < 5; step++) {
		const int64_t us = step == 3 ? 4000 : 1000;

		tb_push(b, at * US, "step");
		kernel(b, at + 10, "sm90_xmma_gemm_bf16bf16_bf16f32", at + 100, us - 200);
		tb_pop(b, (at + us) * US);
		at += us;
	}
	page = page_of(b);
	cr_assert(eq(sz, page->nsteps, 5));
	for (size_t i = 0; i < 5; i++)
		cr_expect(eq(int, page->step[i].is_outlier, i == 3));
	cr_expect(eq(i64, page->step[3].ns, 4000 * US));
	SAYS(line_text(&page->headline[0]), "A step takes *1.6 ms, 1 to 4 over 5 steps*.");
	cr_assert(eq(sz, page->ndurations, 3));
	cr_expect(eq(dbl, page->durations[0].from_ns, 500000));
	cr_expect(eq(u64, page->durations[0].kernels, 4));
	cr_expect(eq(i64, page->durations[2].ns, 3800 * US));
	done();
}

/* Backward work counts in the range of its forward; the sentence says so. */
Test(page, headline_names_the_backward_that_a_part_holds)
{
	const struct ws_page *page;
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	tb_thread(b, 2, 100);
	tb_push(b, 0, "encoder");
	add_op(b, 1, (struct op){.name = "aten::mm", .kind = GEMM, .start_ns = 10, .dur_ns = 20});
	launch(b, 15, "k", 20, 5, 1);
	tb_pop(b, 50);
	add_op(b, 2,
	       (struct op){.name = "MmBackward0", .start_ns = 100, .dur_ns = 50, .no_cost = 1});
	add_op(b, 2, (struct op){.name = "aten::mm", .kind = GEMM, .start_ns = 110, .dur_ns = 20});
	tb_on_thread(b, 2);
	launch(b, 115, "k", 120, 7, 1);
	launch(b, 190, "stray", 200, 3, 1);
	link_flow(b, 10, 1, 100, 2);
	page = page_of(b);
	cr_expect(strstr(line_text(&page->headline[page->nheadline - 1]),
	                 "Encoder and its backward hold *80 %* of GPU time") != NULL,
	          "%s", line_text(&page->headline[page->nheadline - 1]));
	done();
}

Test(page, tree_folds_equal_layers)
{
	const struct ws_page *page = page_of(two_steps());
	const struct ws_page_node *n = page->node;

	cr_assert(page->nnodes >= 3);
	SAYS(n[0].label, "step");
	SAYS(n[1].label, "encoder");
	SAYS(n[2].label, "layer ×3");
	SAYS(n[2].path, "step/encoder/layer *");
	cr_expect(eq(sz, n[2].parent, 1));
	cr_expect(eq(u64, n[2].folded, 3));
	cr_expect(eq(u64, n[2].calls, 6));
	cr_expect(eq(u64, n[2].kernels, 12));
	cr_expect(eq(i64, n[2].exclusive_ns, 900 * US));
	cr_expect(eq(i64, n[0].inclusive_ns, 900 * US));
	cr_expect(eq(i64, n[0].exclusive_ns, 0));
	cr_expect(eq(i64, page->gpu_ns, 900 * US));
	cr_expect(eq(i64, n[2].flops, -1));
	cr_expect(eq(int, n[2].colour, WS_PAGE_BLUE));
	done();
}

/* No ranges, no steps: by class and kernel; what has no time is in no box. */
Test(page, tree_without_ranges_is_by_class_and_kernel)
{
	struct tb *b = tb_new();
	const struct ws_page *page;

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	kernel(b, 0, "sm90_xmma_gemm_bf16bf16_bf16f32", 10, 300);
	kernel(b, 20, "at::(anonymous namespace)::cunn_SoftMaxForward<at::Half>", 320, 100);
	page = page_of(b);
	cr_expect(page->has_steps == false);
	cr_assert(eq(sz, page->nnodes, 4));
	SAYS(page->node[0].label, "gemm");
	SAYS(page->node[1].label, "sm90_xmma_gemm_bf16bf16_bf16f32");
	cr_expect(eq(sz, page->node[1].parent, 0));
	SAYS(page->node[2].label, "softmax");
	cr_expect(eq(sz, page->node[2].parent, WS_PAGE_ROOT));
	cr_expect(eq(i64, page->node[0].inclusive_ns, 300 * US));
	cr_expect(eq(sz, page->nkernels, 2));
	cr_expect(eq(dbl, page->kernel[0].percent, 75));
	cr_expect(eq(dbl, page->kernel[0].mean_ns, 300 * US));
	cr_expect(isnan(page->kernel[0].flops_per_s));
	cr_expect(strncmp(page->kernel[1].name, "cunn_SoftMaxForward", 19) == 0, "%s",
	          page->kernel[1].name);
	done();
}

Test(page, grey_line_and_figures_leave_out_what_is_unknown)
{
	const struct ws_page *page = page_of(two_steps());

	SAYS(page->device, "NVIDIA H100 80GB HBM3");
	cr_assert(eq(sz, page->nfigures, 3)); /* no FLOPs, no MFU, no tokens */
	SAYS(page->figure[0].value, "1 ms");
	SAYS(page->figure[1].value, "43 %");
	SAYS(page->figure[2].value, "6");
	SAYS(page->figure[2].label, "kernels per step");
	cr_expect(eq(sz, page->npoints, 0));
	done();
}

Test(page, losses_are_named_and_lost_ranges_stand_where_they_lack)
{
	struct tb *b = two_steps();
	const struct ws_page *page;

	tb_loss(b, "ring_overflow", 2657);
	tb_loss(b, "text_truncated", 3);
	page = page_of(b);
	SAYS(page->losses, "lost: ring overflow (2,657) and 2 more kinds, see Losses");
	SAYS(page->tree_title, "Where in the model (incomplete: 2,657 range events were lost)");
	done();
	b = two_steps();
	tb_loss(b, "text_truncated", 3);
	SAYS(page_of(b)->tree_title, "Where in the model"); /* names are short, none lacks */
	done();
}

/* A range of the user's that begins in one step and ends in the next. */
Test(page, what_crosses_a_step_stands_below_the_steps)
{
	struct tb *b = tb_new();
	const struct ws_page *page;

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	for (int i = 0; i < 2; i++) {
		tb_start(b, (1000 * i) * US, "step", (uint64_t)(2 * i + 1));
		tb_push(b, (1000 * i + 100) * US, "model");
		kernel(b, 1000 * i + 110, "sm90_xmma_gemm_bf16bf16_bf16f32", 1000 * i + 120, 100);
		tb_pop(b, (1000 * i + 1100) * US);
		tb_end(b, (1000 * i + 900) * US, (uint64_t)(2 * i + 1));
	}
	page = page_of(b);
	cr_assert(page->has_steps);
	SAYS(page->node[0].label, "step");
	SAYS(page->node[1].label, "model");
	cr_expect(eq(sz, page->node[1].parent, 0));
	cr_expect(eq(i64, page->node[0].inclusive_ns, page->gpu_ns));
	cr_expect(eq(u64, page->node[1].folded, 1));
	done();
}

/* The first roof of a matrix product on the device. */
static const char *roof_of(const char *device, const char *mark)
{
	const struct tb_op op = {2000000, 100, 100, "gemm", "forward", "bf16", 0};
	struct tb *b = tb_new();
	const struct ws_page *page;

	tb_device(b, 1, WS_DEVICE_CUDA, device);
	if (mark)
		tb_mark(b, 0, mark);
	tb_push_op(b, 1 * US, "gemm", &op);
	kernel(b, 2, "sm90_xmma_gemm_bf16bf16_bf16f32", 5, 10);
	tb_pop(b, 20 * US);
	page = page_of(b);
	cr_assert(ge(sz, page->nroofs, 1));
	return page->roof[0].name;
}

Test(page, peaks_that_nothing_confirms_say_so)
{
	SAYS(roof_of("NVIDIA GeForce RTX 5090 Laptop GPU", NULL),
	     "90.7 TFLOP/s dense bf16 (not confirmed)");
	done();
	SAYS(roof_of("NVIDIA GeForce RTX 5090 Laptop GPU", "workload.peak.bf16=80"),
	     "80 TFLOP/s dense bf16");
	done();
	SAYS(roof_of("NVIDIA H100 80GB HBM3", NULL), "989 TFLOP/s dense bf16");
	done();
}

/* Text on every colour is read by everybody: contrast of 4.5 at least, on light and on dark. */
static double luminance(uint32_t rgb)
{
	double part[3];

	for (int i = 0; i < 3; i++) {
		part[i] = (double)(rgb >> (16 - 8 * i) & 255) / 255;
		part[i] =
		        part[i] <= 0.04045 ? part[i] / 12.92 : pow((part[i] + 0.055) / 1.055, 2.4);
	}
	return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

static double contrast(uint32_t a, uint32_t b)
{
	const double x = luminance(a), y = luminance(b);

	return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

Test(page, text_on_every_colour_has_contrast)
{
	for (int c = 0; c < WS_PAGE_NCOLOURS; c++) {
		const struct ws_page_colour_def def = ws_page_colour_def((enum ws_page_colour)c);

		cr_expect(contrast(def.light, def.ink) >= 4.5, "colour %d: %.2f", c,
		          contrast(def.light, def.ink));
		cr_expect(contrast(def.dark, def.ink) >= 4.5, "colour %d, dark: %.2f", c,
		          contrast(def.dark, def.ink));
	}
}

/* Colours as somebody sees them who lacks one kind of cones: G. M. Machado and others, 2009. */
static const double cones[4][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868},
         {0.114503, 0.786281, 0.099216},
         {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968},
         {0.280085, 0.672501, 0.047413},
         {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779},
         {-0.078411, 0.930809, 0.147602},
         {0.004733, 0.691367, 0.303900}},
};
static const double to_xyz[3][3] = {{0.4124, 0.3576, 0.1805},
                                    {0.2126, 0.7152, 0.0722},
                                    {0.0193, 0.1192, 0.9505}};

static void multiply(const double m[3][3], const double in[3], double out[3])
{
	for (int i = 0; i < 3; i++) {
		out[i] = 0;
		for (int k = 0; k < 3; k++)
			out[i] += m[i][k] * in[k];
		out[i] = fmin(1.1, fmax(0, out[i]));
	}
}

/* CIE 1976 L*, a*, b* */
static void see(uint32_t rgb, const double m[3][3], double lab[3])
{
	static const double white[3] = {0.9505, 1, 1.089};
	double linear[3], seen[3], xyz[3];

	for (int i = 0; i < 3; i++) {
		linear[i] = (double)(rgb >> (16 - 8 * i) & 255) / 255;
		linear[i] = linear[i] <= 0.04045 ? linear[i] / 12.92
		                                 : pow((linear[i] + 0.055) / 1.055, 2.4);
	}
	multiply(m, linear, seen);
	multiply(to_xyz, seen, xyz);
	for (int i = 0; i < 3; i++)
		xyz[i] = xyz[i] / white[i] > 0.008856 ? cbrt(xyz[i] / white[i])
		                                      : 7.787 * xyz[i] / white[i] + 16.0 / 116;
	lab[0] = 116 * xyz[1] - 16;
	lab[1] = 500 * (xyz[0] - xyz[1]);
	lab[2] = 200 * (xyz[1] - xyz[2]);
}

Test(page, colour_blind_readers_tell_the_colours_apart)
{
	for (int dark = 0; dark < 2; dark++)
		for (int kind = 0; kind < 4; kind++)
			for (int a = 0; a < WS_PAGE_COMPUTING; a++)
				for (int b = 0; b < a; b++) {
					const struct ws_page_colour_def
					        x = ws_page_colour_def((enum ws_page_colour)a),
					        y = ws_page_colour_def((enum ws_page_colour)b);
					double p[3], q[3];

					see(dark ? x.dark : x.light, cones[kind], p);
					see(dark ? y.dark : y.light, cones[kind], q);
					cr_expect(hypot(hypot(p[0] - q[0], p[1] - q[1]),
					                p[2] - q[2]) >=
					                  /* idle time is hatched, too */
					                  (a < WS_PAGE_IDLE ? 12 : 11),
					          "colours %d and %d look alike to kind %d", a, b,
					          kind);
				}
}

Test(page, launches_without_kernels_say_why_that_may_be)
{
	struct tb *b = tb_new();
	const struct ws_page *page;

	tb_call(b, 5 * US, 1, ++ids);
	page = page_of(b);
	cr_assert(eq(sz, page->nheadline, 1));
	cr_expect(strstr(line_text(&page->headline[0]),
	                 "1 kernel launch was recorded (cudaLaunchKernel 1), but no kernel") !=
	                  NULL,
	          "%s", line_text(&page->headline[0]));
	cr_expect(strstr(line_text(&page->headline[0]), "Usual reasons: ") != NULL);
	cr_expect_null(page->findings_note); /* no rule was judged: the page says so */
	done();
}

/* Kernels of a GPU and of the CPU reference in one trace. */
/* Titles of tables say whose times they have. */
Test(page, without_a_gpu_no_table_is_one_of_gpu_time)
{
	static const char *const titles[][2] = {{"GPU Time by Class", "CUDA GPU Kernel Summary"},
	                                        {"Kernel Time by Class", "CPU Kernel Summary"}};

	for (int cpu = 0; cpu < 2; cpu++) {
		struct tb *b = tb_new();

		tb_device(b, 0, cpu ? WS_DEVICE_CPU_REFERENCE : WS_DEVICE_CUDA, "device");
		tb_launch(b, 10, "gemm", 20, 100);
		page_of(b);
		SAYS(tb_table_of(report, "classes")->def->title, titles[cpu][0]);
		SAYS(tb_table_of(report, "kernel-summary")->def->title, titles[cpu][1]);
		done();
	}
}

Test(page, a_gpu_beside_the_cpu_reference_is_told)
{
	struct tb *b = two_steps();
	const struct ws_page *page;
	const struct tb_kernel k = {"ws_gemm_nt_fwd_f32", 40 * US, 5 * US, ++ids, 2, 100, 0};

	tb_device(b, 2, WS_DEVICE_CPU_REFERENCE, "CPU reference");
	tb_call(b, 30 * US, 1, k.correlation);
	tb_kernel(b, &k);
	page = page_of(b);
	cr_expect_not(page->on_cpu);
	cr_expect_null(strstr(line_text(&page->headline[0]), "no GPU ran"));
	done();
}

Test(page, nothing_recorded_says_so)
{
	const struct ws_page *page = page_of(tb_new());

	cr_assert(eq(sz, page->nheadline, 1));
	SAYS(line_text(&page->headline[0]), "No kernel, no launch and no operation was recorded: "
	                                    "the program launched none, or the "
	                                    "recording did not reach it.");
	cr_expect(eq(sz, page->nsegments, 0));
	cr_expect(eq(sz, page->nnodes, 0));
	cr_expect(eq(sz, page->nfindings, 0));
	cr_expect(eq(sz, page->first.nparts, 0));
	done();
}

/* Two steps of 100 ns: mm takes 60 and 80 of them, in it relu 10; what ran outside does not count.
 */
Test(page, a_program_without_kernels_has_its_operations)
{
	struct tb *b = tb_new();
	const struct ws_page *page;

	for (int64_t step = 0; step < 2; step++) {
		const int64_t from = 1000 * step;

		tb_push(b, from, "step");
		add_op(b, 1,
		       (struct op){.name = "aten::mm",
		                   .start_ns = from + 10,
		                   .dur_ns = 60 + 20 * step,
		                   .flops = 300,
		                   .bytes = 8});
		add_op(b, 1,
		       (struct op){.name = "aten::relu",
		                   .start_ns = from + 20,
		                   .dur_ns = 10,
		                   .no_cost = 1});
		tb_pop(b, from + 100);
	}
	add_op(b, 1,
	       (struct op){.name = "aten::outside", .start_ns = 5000, .dur_ns = 900, .no_cost = 1});
	page = page_of(b);
	cr_expect(page->has_operations);
	cr_assert(eq(sz, page->nkernels, 2));
	SAYS(page->kernel[0].name, "aten::mm");
	cr_expect(eq(u64, page->kernel[0].calls, 2));
	cr_expect(eq(i64, page->kernel[0].ns, 50 + 70));
	cr_expect(eq(i64, page->kernel[1].ns, 20));
	cr_expect(epsilon_eq(dbl, page->kernel[0].flops_per_s, 600e9 / 120, 1));
	cr_expect(isnan(page->kernel[1].flops_per_s));
	cr_expect(epsilon_eq(dbl, page->step_ns, 100, 1e-9));
	SAYS(line_text(&page->headline[0]),
	     "A step takes *100 ns* on the CPU; no GPU kernel was recorded.");
	SAYS(line_text(&page->headline[1]),
	     "aten::mm takes *86 %* of operations' time, aten::relu *14 %*.");
	done();
}

Test(page, operations_without_time_have_no_shares)
{
	struct tb *b = tb_new();

	add_op(b, 1, (struct op){.name = "aten::mm", .start_ns = 10, .dur_ns = 0, .no_cost = 1});
	cr_expect_not(page_of(b)->has_operations);
	done();
}
