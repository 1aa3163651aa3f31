/*
 * What the GPU reaches, as lines of JSON, each with a verdict where there is a goal: the
 * ceilings (device-to-device copies, matrix products), each own kernel's bytes a second at sizes
 * that no cache holds, and whole steps.
 *
 *   gpu_bench [--autotune] [--quick] ceilings
 *   gpu_bench [--autotune] [--quick] kernels [DTYPE]
 *   gpu_bench [--autotune] [--quick] [--fused-attention] [--nhwc] steps MODEL DTYPE FUSION \
 *             BATCH CONTEXT [ROUNDS [STEPS]]
 *
 * Ceilings are measured by the same process before what is held against them. kernels: in the
 * graphs of bench_shapes.h, in fp32, amp-bf16 and amp-fp16, or DTYPE alone. steps: ROUNDS (3) times
 * the milliseconds of STEPS (20) steps, a line for each; with ROUNDS 0 a round for each line on
 * stdin, so that somebody else can run between them.
 *
 * --quick tries the program itself: small products, and weights that are all the same.
 *
 * Times are of the host's clock over many launches and one wait, the median of several.
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/exec/exec.h"
#include "kernels/graph/graph.h"
#include "tests/gpu/bench_shapes.h"
#include "tests/support/precision_named.h"

#define ROUNDS          7
#define COPY_BYTES      ((size_t)1 << 30)
#define GEMM_SIZE       (quick ? 256 : 8192)
#define STEP_WARMUP     5
#define STEPS           20
#define STEPS_MOST      1000
#define ROUNDS_OF_STEPS 3
/* What a kernel that moves enough must reach of a copy. */
#define SHARE_OF_COPY 0.8
/* A round of launches, so long that the clock and the wait at its end are no part of it. */
#define ROUND_S 0.005

static struct ws_pool *pool;
static struct ws_backend *backend;
static enum ws_attention_mode attention;
static bool autotune, quick;
static enum ws_layout layout; /* of images */
static double copy_bytes_s;   /* measured: reading and writing both count */
static double gemm_flop_s;    /* measured, of the precision that was asked for last */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

/* --- ceilings -----------------------------------------------------------------------------------
 */

static enum ws_status check(cudaError_t error, struct ws_err *err)
{
	WS_FAIL_IF(error != cudaSuccess, err, ENVIRONMENT, "%s", cudaGetErrorString(error));
	return WS_OK;
}

static enum ws_status measure_copy(struct ws_err *err)
{
	double times[ROUNDS];
	void *from = NULL, *to = NULL;
	enum ws_status status = check(cudaMalloc(&from, COPY_BYTES), err);

	if (status == WS_OK)
		status = check(cudaMalloc(&to, COPY_BYTES), err);
	for (int i = -1; i < ROUNDS && status == WS_OK; i++) {
		double begin = now_s();

		for (int j = 0; j < 8 && status == WS_OK; j++)
			status = check(cudaMemcpyAsync(to, from, COPY_BYTES,
			                               cudaMemcpyDeviceToDevice, NULL),
			               err);
		if (status == WS_OK)
			status = check(cudaDeviceSynchronize(), err);
		if (i >= 0)
			times[i] = (now_s() - begin) / 8;
	}
	cudaFree(from);
	cudaFree(to);
	if (status != WS_OK)
		return status;
	copy_bytes_s = 2 * (double)COPY_BYTES / median(times, ROUNDS);
	printf("{\"kind\":\"ceiling\",\"name\":\"copy\",\"gb_s\":%.1f}\n", copy_bytes_s / 1e9);
	fflush(stdout);
	return WS_OK;
}

/* Median seconds of an op of a graph whose operands are there, launched many times in a row. */
static enum ws_status time_op(const struct ws_op *op, double *seconds, struct ws_err *err)
{
	double times[ROUNDS], begin;
	int launches = 4;

	for (int i = -2; i < ROUNDS;
	     i++) { /* the first loads the code, the second tells how long */
		begin = now_s();
		for (int j = 0; j < launches; j++)
			WS_FORWARD(backend->ops->run(backend, op, err));
		WS_FORWARD(backend->ops->sync(backend, err));
		if (i >= 0)
			times[i] = (now_s() - begin) / launches;
		else if (i == -1 && now_s() - begin < ROUND_S)
			launches = (int)(launches * ROUND_S / (now_s() - begin + 1e-6)) + 4;
	}
	*seconds = median(times, ROUNDS);
	return WS_OK;
}

static enum ws_status measure_gemm(const struct ws_precision *precision, struct ws_err *err)
{
	const int64_t n = GEMM_SIZE;
	struct ws_exec *exec = NULL;
	struct ws_graph *graph;
	struct ws_tensor *a, *b, *y;
	enum ws_status status;
	double seconds = 0;

	graph = ws_graph_create(precision);
	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	a = ws_graph_param(graph, "a", WS_SHAPE(n, n), (struct ws_init){WS_INIT_NORMAL, 1});
	b = ws_graph_param(graph, "b", WS_SHAPE(n, n), (struct ws_init){WS_INIT_NORMAL, 1});
	y = ws_op_gemm(graph, a, b, (struct ws_gemm){.batch = 1, .m = n, .n = n, .k = n},
	               WS_SHAPE(n, n), "product");
	if (y)
		y->keep = true;
	status = ws_exec_create(graph, backend, &exec, err);
	if (status == WS_OK)
		status = ws_exec_init(exec, pool, 1, err);
	if (status == WS_OK)
		status = ws_exec_phase(exec, WSNVTX_PHASE_forward, err);
	if (status == WS_OK)
		status = time_op(graph->ops[0], &seconds, err);
	if (status == WS_OK) {
		gemm_flop_s = 2 * pow((double)n, 3) / seconds;
		printf("{\"kind\":\"ceiling\",\"name\":\"gemm %s\",\"tflop_s\":%.1f}\n",
		       precision->name, gemm_flop_s / 1e12);
		fflush(stdout);
	}
	ws_exec_destroy(exec);
	ws_graph_destroy(graph);
	return status;
}

/* --- own kernels, each in the graph that needs it ------------------------------------------------
 */

/* Run a graph once, and time the largest op of each kernel before its operands are dropped. */
struct timed {
	const struct ws_op *op;
	char name[64];
	uint64_t bytes;
};

struct timing {
	struct ws_backend base; /* stands before the device, to time ops in the middle of a step */
	struct timed kernels[256];
	int count;
};

static bool is_library(const struct ws_op *op)
{
	return op->kind == WS_OP_GEMM || op->kind == WS_OP_CONV || op->kind == WS_OP_CONV_DGRAD ||
	       op->kind == WS_OP_CONV_WGRAD || op->kind == WS_OP_ATTENTION ||
	       op->kind == WS_OP_ATTENTION_GRAD;
}

/* What an op moves: of the scores a causal softmax reads no column beyond its row. */
static uint64_t moved_bytes(const struct ws_op *op)
{
	uint64_t unread = 0;

	for (int i = 0; i < op->in_count; i++)
		if (op->sub == WS_SUB_CAUSAL_SOFTMAX || op->sub == WS_SUB_CAUSAL_SOFTMAX_GRAD)
			unread += op->in[i]->size_bytes / 2;
	return op->payload.bytes_read - unread + op->payload.bytes_written;
}

static void choose_largest(struct timing *timing, const struct ws_graph *graph)
{
	timing->count = 0;
	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];
		uint64_t bytes = moved_bytes(op);
		struct timed *t = timing->kernels;
		char name[64];

		ws_op_kernel_name(op, name, sizeof(name));
		while (t < timing->kernels + timing->count && strcmp(t->name, name) != 0)
			t++;
		if (t == timing->kernels + 256 || is_library(op))
			continue;
		if (t == timing->kernels + timing->count) {
			timing->count++;
			memcpy(t->name, name, sizeof(name));
			t->bytes = 0;
		}
		if (bytes > t->bytes) {
			t->bytes = bytes;
			t->op = op;
		}
	}
}

static enum ws_status timing_run(struct ws_backend *self, const struct ws_op *op,
                                 struct ws_err *err)
{
	struct timing *timing = (struct timing *)self;

	for (int i = 0; i < timing->count; i++) {
		const struct timed *t = &timing->kernels[i];
		const char *why = ws_bench_bounded(op);
		double seconds, share;

		if (t->op != op)
			continue;
		WS_FORWARD(time_op(op, &seconds, err));
		share = (double)t->bytes / seconds / copy_bytes_s;
		printf("{\"kind\":\"kernel\",\"name\":\"%s\",\"bytes\":%llu,\"us\":%.2f,"
		       "\"gb_s\":%.1f,\"of_copy\":%.3f,\"verdict\":\"%s\",\"why\":\"%s\"}\n",
		       t->name, (unsigned long long)t->bytes, seconds * 1e6,
		       (double)t->bytes / seconds / 1e9, share,
		       why                         ? "info"
		       : t->bytes < WS_BENCH_BYTES ? "small"
		       : share >= SHARE_OF_COPY    ? "pass"
		                                   : "slow",
		       why ? why : "");
		fflush(stdout);
		break;
	}
	return backend->ops->run(backend, op, err);
}

static enum ws_status forward_upload(struct ws_backend *self, void *data, uint64_t offset_bytes,
                                     const void *host, uint64_t size_bytes, struct ws_err *err)
{
	(void)self;
	return backend->ops->upload(backend, data, offset_bytes, host, size_bytes, err);
}

static enum ws_status forward_download(struct ws_backend *self, const void *data,
                                       uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                       struct ws_err *err)
{
	(void)self;
	return backend->ops->download(backend, data, offset_bytes, host, size_bytes, err);
}

static enum ws_status forward_sync(struct ws_backend *self, struct ws_err *err)
{
	(void)self;
	return backend->ops->sync(backend, err);
}

static enum ws_status forward_draw_images(struct ws_backend *self,
                                          const struct ws_image_batch *batch,
                                          const struct ws_plane *planes, struct ws_tensor *t,
                                          struct ws_err *err)
{
	(void)self;
	return backend->ops->draw_images(backend, batch, planes, t, err);
}

static enum ws_status forward_prepare(struct ws_backend *self, const struct ws_backend_plan *plan,
                                      void **block, struct ws_err *err)
{
	(void)self;
	/* 10^9 numbers are not drawn to see whether the program works */
	for (int i = 0; i < plan->op_count && quick; i++)
		for (int k = 0; k < plan->ops[i]->in_count; k++)
			if (plan->ops[i]->in[k]->role == WS_ROLE_PARAM)
				plan->ops[i]->in[k]->init = (struct ws_init){WS_INIT_FILL, 1};
	return backend->ops->prepare(backend, plan, block, err);
}

static struct timing *open_timing(void)
{
	static const struct ws_backend_ops ops = {
	        .name = "timing",
	        .prepare = forward_prepare,
	        .upload = forward_upload,
	        .download = forward_download,
	        .draw_images = forward_draw_images,
	        .run = timing_run,
	        .sync = forward_sync,
	};
	static struct timing timing;

	timing.base.ops = &ops;
	timing.base.limit_bytes = backend->limit_bytes;
	timing.count = 0;
	return &timing;
}

static enum ws_status time_step_kernels(const struct ws_step_options *options, struct ws_err *err)
{
	struct timing *timing = open_timing();
	enum ws_status status;
	struct ws_step *step;
	double loss;

	WS_FORWARD(ws_step_open(options, &timing->base, pool, &step, err));
	choose_largest(timing, step->graph);
	status = ws_step_run(step, "step", 1, &loss, err);
	ws_step_close(step);
	printf("{\"kind\":\"session\",\"name\":\"%s\",\"dtype\":\"%s\",\"fusion\":\"%s\","
	       "\"peak_bytes\":%llu}\n",
	       options->model->name, options->precision->name, ws_fusion_name((int)options->fusion),
	       (unsigned long long)backend->peak_bytes);
	return status;
}

static enum ws_status time_row_kernels(struct ws_err *err)
{
	static const enum wsnvtx_phase phases[] = {WSNVTX_PHASE_forward, WSNVTX_PHASE_backward,
	                                           WSNVTX_PHASE_optimizer};
	struct timing *timing = open_timing();
	struct ws_graph *graph = NULL;
	struct ws_exec *exec = NULL;
	enum ws_status status = ws_bench_rows(&graph, err);

	if (status == WS_OK)
		status = ws_exec_create(graph, &timing->base, &exec, err);
	if (status == WS_OK)
		status = ws_exec_init(exec, pool, 1, err);
	if (status == WS_OK)
		choose_largest(timing, graph);
	for (int i = 0; i < 3 && status == WS_OK; i++)
		status = ws_exec_phase(exec, phases[i], err);
	ws_exec_destroy(exec);
	ws_graph_destroy(graph);
	return status;
}

/* --- whole steps
 * ----------------------------------------------------------------------------------- */

/* Of matrix products, convolutions and fused attention: what MFU counts. */
static uint64_t product_flops(const struct ws_graph *graph)
{
	uint64_t flops = 0;

	for (int i = 0; i < graph->op_count; i++)
		if (is_library(graph->ops[i]))
			flops += graph->ops[i]->payload.flops;
	return flops;
}

/* Milliseconds of a step, the median of so many. */
static enum ws_status run_round(struct ws_step *step, int steps, uint64_t *number, double *ms,
                                struct ws_err *err)
{
	double times[STEPS_MOST], loss;

	for (int i = 0; i < steps; i++) {
		double begin = now_s();

		WS_FORWARD(ws_step_run(step, "step", ++*number, &loss, err));
		times[i] = now_s() - begin;
	}
	*ms = median(times, steps) * 1e3;
	return WS_OK;
}

/* Is there to be another round? With rounds 0 each line on stdin asks for one. */
static bool is_asked(int rounds, int done)
{
	char line[64];

	return rounds ? done < rounds : fgets(line, sizeof(line), stdin) != NULL;
}

static enum ws_status time_steps(const struct ws_step_options *options, int rounds, int steps,
                                 struct ws_err *err)
{
	struct ws_step *step;
	enum ws_status status;
	uint64_t flops, number = 0;
	double ms, loss;

	WS_FORWARD(ws_step_open(options, backend, pool, &step, err));
	flops = product_flops(step->graph);
	status = backend->ops->sync(backend, err);
	while (status == WS_OK && number < STEP_WARMUP)
		status = ws_step_run(step, "warm-up", ++number, &loss, err);
	for (int round = 0; status == WS_OK && is_asked(rounds, round); round++) {
		status = run_round(step, steps, &number, &ms, err);
		if (status != WS_OK)
			break;
		printf("{\"kind\":\"step\",\"name\":\"%s\",\"dtype\":\"%s\","
		       "\"fusion\":\"%s%s%s%s\",\"batch\":%lld,\"context\":%lld,\"product_flops\":%"
		       "llu,"
		       "\"peak_bytes\":%llu,\"round\":%d,\"ms\":%.3f,\"mfu\":%.4f}\n",
		       options->model->name, options->precision->name,
		       ws_fusion_name((int)options->fusion),
		       attention == WS_ATTENTION_MODE_FUSED ? ", fused attention" : "",
		       layout == WS_LAYOUT_NHWC ? ", nhwc" : "", autotune ? ", autotuned" : "",
		       (long long)options->batch, (long long)options->context,
		       (unsigned long long)flops, (unsigned long long)backend->peak_bytes, round,
		       ms, (double)flops / (ms * 1e-3) / gemm_flop_s);
		fflush(stdout);
	}
	ws_step_close(step);
	return status;
}

/* --- what is asked for ---------------------------------------------------------------------------
 */

/* The products of a mixed mode are of its 16-bit type. */
static const struct ws_precision *product_precision(const char *dtype)
{
	return precision_named(strstr(dtype, "bf16")   ? "bf16"
	                       : strstr(dtype, "fp16") ? "fp16"
	                                               : dtype);
}

static struct ws_step_options session_of(const char *model, const char *dtype, int fusion,
                                         int64_t batch, int64_t context)
{
	return (struct ws_step_options){
	        .model = ws_network_find(model),
	        .precision = precision_named(dtype),
	        .fusion = (enum ws_fusion)fusion,
	        .attention = attention,
	        .phase = WS_STEP_FULL,
	        .batch = batch,
	        .context = context,
	        .image.layout = layout,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
}

static int fusion_of(const char *name)
{
	int fusion = 0;

	while (ws_fusion_name(fusion) && strcmp(ws_fusion_name(fusion), name) != 0)
		fusion++;
	return ws_fusion_name(fusion) ? fusion : -1;
}

/* What cannot run is said and left out: a smaller GPU still measures the rest. */
static int all_kernels(const char *dtype)
{
	struct ws_step_options o;
	struct ws_err err = {0};
	int failed = 0;

	for (int i = 0; ws_bench_step(i, &o); i++) {
		err = (struct ws_err){0};
		if ((dtype && strcmp(dtype, o.precision->name) != 0) ||
		    time_step_kernels(&o, &err) == WS_OK)
			continue;
		fprintf(stderr, "%s %s %s: %s\n", o.model->name, o.precision->name,
		        ws_fusion_name((int)o.fusion), err.text);
		failed++;
	}
	err = (struct ws_err){0};
	if (time_row_kernels(&err) == WS_OK)
		return failed;
	fprintf(stderr, "rows: %s\n", err.text);
	return failed + 1;
}

static enum ws_status ceilings(struct ws_err *err)
{
	static const char *const products[] = {"fp32", "tf32", "bf16", "fp16"};

	for (int i = 0; i < 4; i++)
		WS_FORWARD(measure_gemm(precision_named(products[i]), err));
	return WS_OK;
}

/* steps MODEL DTYPE FUSION BATCH CONTEXT [ROUNDS [STEPS]] */
static enum ws_status steps(int argc, char **argv, struct ws_err *err)
{
	int rounds = argc > 6 ? (int)strtol(argv[6], NULL, 10) : ROUNDS_OF_STEPS;
	int count = argc > 7 ? (int)strtol(argv[7], NULL, 10) : STEPS;
	struct ws_step_options o;

	WS_FAIL_IF(argc < 6 || !ws_network_find(argv[1]) || !precision_named(argv[2]) ||
	                   fusion_of(argv[3]) < 0 || count < 1 || count > STEPS_MOST,
	           err, USAGE, "steps MODEL DTYPE FUSION BATCH CONTEXT [ROUNDS [STEPS]]");
	o = session_of(argv[1], argv[2], fusion_of(argv[3]), strtol(argv[4], NULL, 10),
	               strtol(argv[5], NULL, 10));
	WS_FORWARD(measure_gemm(product_precision(argv[2]), err));
	return time_steps(&o, rounds, count, err);
}

static int run(int argc, char **argv)
{
	struct ws_err err = {0};
	enum ws_status status = WS_OK;

	if (argc && !strcmp(argv[0], "kernels"))
		return all_kernels(argc > 1 ? argv[1] : NULL) != 0;
	if (argc && !strcmp(argv[0], "ceilings"))
		status = ceilings(&err);
	else if (argc && !strcmp(argv[0], "steps"))
		status = steps(argc, argv, &err);
	else
		status = WS_FAIL(&err, USAGE, "gpu_bench ceilings, kernels or steps");
	if (status != WS_OK)
		fprintf(stderr, "gpu_bench: %s\n", err.text);
	return ws_status_exit_code(status);
}

int main(int argc, char **argv)
{
	struct ws_backend_options options = {.device = "cuda"};
	struct ws_err err = {0};
	char why[256];
	int first = 1, code;

	for (; first < argc && !strncmp(argv[first], "--", 2); first++) {
		if (!strcmp(argv[first], "--autotune"))
			options.autotune = autotune = true;
		else if (!strcmp(argv[first], "--fused-attention"))
			attention = WS_ATTENTION_MODE_FUSED;
		else if (!strcmp(argv[first], "--quick"))
			quick = true;
		else if (!strcmp(argv[first], "--nhwc"))
			layout = WS_LAYOUT_NHWC;
		else
			return WS_USAGE;
	}
	/* first values of 26 GB are drawn: by one thread they take minutes */
	if (ws_pool_create(0, &pool, &err) != WS_OK ||
	    ws_backend_open(&options, pool, &backend, why, sizeof(why), &err) != WS_OK ||
	    measure_copy(&err) != WS_OK) {
		printf("skipped: %s\n", err.text);
		return 77;
	}
	code = run(argc - first, argv + first);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return code;
}
