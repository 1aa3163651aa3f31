#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "kernels/run/step.h"
#include "tests/support/paths.h"
#include "tests/support/precision_named.h"

/* --- the tool's log ---------------------------------------------------------------------- */

/* Each test is a process of its own, so it may set the environment. */
static const char *use_tool(const char *library, const char *mode)
{
	static char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/ws_nvtx_XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
	setenv("NVTX_INJECTION64_PATH", library, 1);
	setenv("WS_TEST_NVTX_LOG", path, 1);
	setenv("WS_TEST_NVTX_MODE", mode, 1);
	return path;
}

struct log {
	char **lines;
	int count;
};

static struct log read_log(const char *path)
{
	struct log log = {0};
	FILE *in = fopen(path, "r");
	size_t size = 0;
	ssize_t length;
	char *line = NULL;

	cr_assert_not_null(in);
	while ((length = getline(&line, &size, in)) > 0) {
		line[length - 1] = '\0';
		log.lines = realloc(log.lines, (size_t)(log.count + 1) * sizeof(*log.lines));
		log.lines[log.count++] = strdup(line);
	}
	free(line);
	fclose(in);
	unlink(path);
	return log;
}

static void free_log(struct log *log)
{
	for (int i = 0; i < log->count; i++)
		free(log->lines[i]);
	free(log->lines);
}

static int find_line(const struct log *log, const char *line)
{
	for (int i = 0; i < log->count; i++)
		if (!strcmp(log->lines[i], line))
			return i;
	return -1;
}

static bool starts(const char *line, const char *prefix)
{
	return !strncmp(line, prefix, strlen(prefix));
}

static int count_lines(const struct log *log, const char *prefix)
{
	int count = 0;

	for (int i = 0; i < log->count; i++)
		count += starts(log->lines[i], prefix);
	return count;
}

/* --- client ------------------------------------------------------------------------------ */

static const struct wsnvtx_op some_op = {
        .flops = 1000000000007,
        .bytes_read = 11,
        .bytes_written = 12,
        .batch = 1,
        .m = 2,
        .n = 3,
        .k = 4,
        .c = 5,
        .h = 6,
        .w = 7,
        .r = 8,
        .s = 9,
        .stride = 10,
        .pad = 13,
        .groups = 14,
        .op = WSNVTX_OP_gemm,
        .direction = WSNVTX_DIRECTION_backward,
        .phase = WSNVTX_PHASE_optimizer,
        .dtype = WSNVTX_DTYPE_bf16,
        .layer = -1,
        .flops_needed = 999,
};

static void call_everything(void)
{
	static const struct wsnvtx_launch launch = {1, 2, 3, 4, 5, 6};

	wsnvtx_workload("model", "tiny");
	wsnvtx_push("outer");
	wsnvtx_push_index("step", 18446744073709551615u);
	wsnvtx_push_op("matmul", &some_op);
	wsnvtx_kernel_push("ws_gemm", &launch);
	wsnvtx_kernel_pop();
	wsnvtx_pop();
	wsnvtx_counter("device_memory_bytes", -5);
	wsnvtx_pop();
	wsnvtx_pop();
}

Test(nvtx_client, without_a_tool_calls_go_nowhere)
{
	unsetenv("NVTX_INJECTION64_PATH");
	call_everything();
	cr_assert_eq(wsnvtx_attached(), 0);
}

Test(nvtx_client, ranges_marks_and_payloads_arrive_in_order)
{
	static const char *const want[] = {
	        "attach",
	        "domain warpsheet",
	        "domain warpsheet.cpu",
	        "schema warpsheet|warpsheet.op|size:88",
	        "schema warpsheet.cpu|warpsheet.launch|size:24",
	        "mark warpsheet|workload.model=tiny",
	        "push warpsheet|outer",
	        "push warpsheet|step|u64:18446744073709551615",
	        "push warpsheet|matmul|warpsheet.op:flops=1000000000007,bytes_read=11,"
	        "bytes_written=12,batch=1,m=2,n=3,k=4,c=5,h=6,w=7,r=8,s=9,stride=10,pad=13,"
	        "groups=14,op=gemm,direction=backward,phase=optimizer,dtype=bf16,layer=-1,"
	        "flops_needed=999",
	        ("push warpsheet.cpu|ws_gemm|warpsheet.launch:grid_x=1,grid_y=2,grid_z=3,"
	         "block_x=4,block_y=5,block_z=6"),
	        "pop warpsheet.cpu",
	        "pop warpsheet",
	        "mark warpsheet|counter.device_memory_bytes|i64:-5",
	        "pop warpsheet",
	        "pop warpsheet",
	};
	const char *path = use_tool(WS_TEST_NVTX_TOOL, "");
	struct log log;

	call_everything();
	cr_assert_eq(wsnvtx_attached(), 1);
	log = read_log(path);
	for (int i = 0; i < log.count && i < (int)(sizeof(want) / sizeof(*want)); i++)
		cr_assert_str_eq(log.lines[i], want[i]);
	cr_assert_eq(log.count, (int)(sizeof(want) / sizeof(*want)));
	free_log(&log);
}

Test(nvtx_client, a_tool_that_declines_is_never_called)
{
	const char *path = use_tool(WS_TEST_NVTX_TOOL, "refuse");
	struct log log;

	call_everything();
	cr_assert_eq(wsnvtx_attached(), 0);
	log = read_log(path);
	cr_assert_eq(log.count, 1);
	cr_assert_str_eq(log.lines[0], "attach");
	free_log(&log);
}

Test(nvtx_client, a_tool_without_payloads_still_gets_the_ranges)
{
	const char *path = use_tool(WS_TEST_NVTX_TOOL, "no-payload");
	struct log log;

	call_everything();
	cr_assert_eq(wsnvtx_attached(), 1);
	log = read_log(path);
	cr_assert_geq(find_line(&log, "push warpsheet|matmul"), 0);
	cr_assert_geq(find_line(&log, "push warpsheet.cpu|ws_gemm"), 0);
	cr_assert_geq(find_line(&log, "push warpsheet|step|u64:18446744073709551615"), 0);
	cr_assert_eq(count_lines(&log, "schema"), 0);
	free_log(&log);
}

Test(nvtx_client, a_library_that_is_missing_or_no_tool_is_ignored)
{
	setenv("NVTX_INJECTION64_PATH", "/nonexistent/libtool.so", 1);
	call_everything();
	cr_assert_eq(wsnvtx_attached(), 0);
}

Test(nvtx_client, a_library_without_the_entry_points_is_ignored)
{
	setenv("NVTX_INJECTION64_PATH", "libm.so.6", 1);
	call_everything();
	cr_assert_eq(wsnvtx_attached(), 0);
}

static void *first_call(void *barrier)
{
	pthread_barrier_wait(barrier);
	wsnvtx_push("mine");
	wsnvtx_pop();
	return NULL;
}

Test(nvtx_client, threads_that_race_for_the_first_call_attach_once)
{
	const char *path = use_tool(WS_TEST_NVTX_TOOL, "");
	pthread_barrier_t barrier;
	pthread_t threads[8];
	struct log log;

	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, first_call, &barrier), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	log = read_log(path);
	cr_assert_eq(count_lines(&log, "attach"), 1);
	cr_assert_eq(count_lines(&log, "push warpsheet|mine"), 8);
	cr_assert_eq(count_lines(&log, "pop warpsheet"), 8);
	free_log(&log);
}

/* --- a training step under the tool ---------------------------------------------------------- */

static enum ws_status run_nothing(struct ws_backend *backend, const struct ws_op *op,
                                  struct ws_err *err)
{
	(void)backend;
	WS_FAIL_IF(true, err, NO_MEMORY, "op %s has no memory", op->message);
	return WS_OK;
}

/* Somebody else takes all of the device's memory that is free. */
static enum ws_status take_memory(void *arg, bool warmup, int64_t number, double loss,
                                  struct ws_err *err)
{
	static struct ws_backend_ops ops;
	struct ws_backend *backend = *(struct ws_backend **)arg;

	(void)warmup;
	(void)number;
	(void)loss;
	(void)err;
	ops = *backend->ops;
	ops.run = run_nothing;
	backend->ops = &ops;
	return WS_OK;
}

/* tight: on a device that has no memory for an op after the first step. */
static struct log run_steps(enum ws_step_phase phase, const char *dtype, bool tight,
                            enum ws_status want)
{
	struct ws_step_run_options options = {
	        .step = {.model = ws_network_find("transformer-tiny"),
	                 .precision = precision_named(dtype),
	                 .phase = phase,
	                 .batch = 2,
	                 .context = 8,
	                 .seed = 3,
	                 .optimizer = WS_ADAMW_DEFAULT},
	        .warmup = 1,
	        .steps = 2,
	};
	const char *path = use_tool(WS_TEST_NVTX_TOOL, "");
	struct ws_backend *backend;
	struct ws_pool *pool;
	struct ws_err err = {0};

	if (tight) {
		options.report = take_memory;
		options.report_arg = &backend;
	}
	cr_assert_eq(ws_pool_create(2, &pool, &err), WS_OK);
	backend = ws_backend_cpu_open(pool, 0);
	cr_assert_eq(ws_step_run_all(&options, backend, pool, &err), want, "%s", err.text);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return read_log(path);
}

/* "setup", "step/forward/layer 0", …: every path of ranges, once, in order of first entry. */
struct paths {
	char list[4096][160];
	int times[4096];
	int count;
};

static int path_index(struct paths *paths, const char *path)
{
	for (int i = 0; i < paths->count; i++)
		if (!strcmp(paths->list[i], path))
			return i;
	cr_assert_lt(paths->count, 4096);
	snprintf(paths->list[paths->count], sizeof(paths->list[0]), "%s", path);
	return paths->count++;
}

static void collect_paths(const struct log *log, struct paths *paths)
{
	char path[160] = "";

	for (int i = 0; i < log->count; i++) {
		const char *line = log->lines[i];

		if (starts(line, "push warpsheet|")) {
			const char *name = line + strlen("push warpsheet|");
			size_t used = strlen(path);

			snprintf(path + used, sizeof(path) - used, "%s%.*s", used ? "/" : "",
			         (int)strcspn(name, "|"), name);
			paths->times[path_index(paths, path)]++;
		} else if (!strcmp(line, "pop warpsheet")) {
			char *slash = strrchr(path, '/');

			cr_assert_neq(path[0], '\0', "a pop too many");
			*(slash ? slash : path) = '\0';
		}
	}
	cr_assert_str_eq(path, "", "ranges left open");
}

static int times(struct paths *paths, const char *path)
{
	return paths->times[path_index(paths, path)];
}

Test(nvtx_client, step_ranges_tree_is_the_documented_one)
{
	static struct paths paths;
	struct log log = run_steps(WS_STEP_FULL, "fp32", false, WS_OK);

	collect_paths(&log, &paths);
	cr_assert_eq(times(&paths, "setup"), 1);
	cr_assert_eq(times(&paths, "warm-up"), 1);
	cr_assert_eq(times(&paths, "step"), 2);
	cr_assert_geq(find_line(&log, "push warpsheet|warm-up|u64:1"), 0);
	cr_assert_geq(find_line(&log, "push warpsheet|step|u64:2"), 0);
	cr_assert_eq(times(&paths, "step/data"), 2);
	cr_assert_eq(times(&paths, "step/forward"), 2);
	cr_assert_eq(times(&paths, "step/loss"), 2);
	cr_assert_eq(times(&paths, "step/backward"), 2);
	cr_assert_eq(times(&paths, "step/optimizer"), 2);
	cr_assert_eq(times(&paths, "step/forward/embedding/lookup"), 2);
	cr_assert_eq(times(&paths, "step/forward/layer 1"), 2);
	cr_assert_eq(times(&paths, "step/forward/layer 1/rmsnorm"), 4);
	cr_assert_eq(times(&paths, "step/forward/layer 1/qkv projection/v linear"), 2);
	cr_assert_eq(times(&paths, "step/forward/layer 1/scaled dot product attention/"
	                           "computing attention scores/q k^T"),
	             2);
	cr_assert_eq(times(&paths, "step/forward/layer 1/scaled dot product attention/"
	                           "computing softmax"),
	             2);
	cr_assert_eq(times(&paths, "step/forward/layer 1/scaled dot product attention/"
	                           "computing softmax/exp"),
	             2);
	cr_assert_eq(times(&paths, "step/forward/layer 1/scaled dot product attention/"
	                           "final matmul/p v"),
	             2);
	cr_assert_eq(times(&paths, "step/forward/final norm"), 2);
	cr_assert_eq(times(&paths, "step/forward/lm head"), 2);
	cr_assert_eq(times(&paths, "step/loss/cross-entropy/gather"), 2);
	cr_assert_eq(times(&paths, "step/backward/cross-entropy/scatter"), 2);
	cr_assert_eq(times(&paths, "step/backward/layer 0/scaled dot product attention/"
	                           "final matmul/p v grad b"),
	             2);
	cr_assert_eq(times(&paths, "step/optimizer/square"), 2 * 21);
	free_log(&log);
}

Test(nvtx_client, step_ranges_every_op_holds_exactly_one_kernel)
{
	struct log log = run_steps(WS_STEP_FULL, "fp32", false, WS_OK);
	int ops = 0, kernels = 0;

	for (int i = 0; i < log.count; i++) {
		bool op = strstr(log.lines[i], "|warpsheet.op:") != NULL;

		ops += op;
		kernels += starts(log.lines[i], "push warpsheet.cpu|ws_");
		if (!op)
			continue;
		i++;
		while (i < log.count && starts(log.lines[i], "mark warpsheet|counter."))
			i++; /* its results are allocated first */
		cr_assert(starts(log.lines[i], "push warpsheet.cpu|ws_"), "%s", log.lines[i]);
		kernels++;
		cr_assert_str_eq(log.lines[i + 1], "pop warpsheet.cpu");
		cr_assert_str_eq(log.lines[i + 2], "pop warpsheet");
	}
	cr_assert_gt(ops, 3 * (37 * 2 + 8 + 9 + 14 * 21));
	cr_assert_eq(kernels, ops);
	free_log(&log);
}

Test(nvtx_client, step_ranges_payloads_of_a_forward_pass_sum_to_its_cost)
{
	struct log log = run_steps(WS_STEP_FORWARD, "fp32", false, WS_OK);
	unsigned long long flops = 0, gemm_flops = 0;

	for (int i = 0; i < log.count; i++) {
		const char *payload = strstr(log.lines[i], "|warpsheet.op:flops=");
		unsigned long long value;

		if (!payload)
			continue;
		cr_assert_eq(sscanf(payload, "|warpsheet.op:flops=%llu,", &value), 1);
		cr_assert_not_null(strstr(payload, "phase=forward,"));
		flops += value;
		if (strstr(payload, ",op=gemm,"))
			gemm_flops += value;
	}
	/* three passes of 2 (2 8) 147456 + 2 (4 2 8^2 64) */
	cr_assert_eq(gemm_flops, 3 * (2 * 16 * 147456ull + 2 * 4 * 2 * 64 * 64));
	cr_assert_gt(flops, gemm_flops);
	free_log(&log);
}

Test(nvtx_client, step_ranges_facts_of_the_run_are_stated)
{
	static const char *const want[] = {
	        "model=transformer-tiny",
	        "batch=2",
	        "context=8",
	        "dtype=fp32",
	        "phase=step",
	        "fusion=none",
	        "attention=eager",
	        "optimizer=adamw-cs336",
	        "optimizer_impl=loop",
	        "loss_scale=none",
	        "data=synthetic",
	        "warmup=1",
	        "steps=2",
	        "seed=3",
	        "backend=cpu",
	        "device=CPU reference",
	        "tokens_per_step=16",
	        "parameters=164160",
	        "result=ok",
	};
	struct log log = run_steps(WS_STEP_FULL, "fp32", false, WS_OK);

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		char line[128];

		snprintf(line, sizeof(line), "mark warpsheet|workload.%s", want[i]);
		cr_assert_geq(find_line(&log, line), 0, "%s", line);
	}
	cr_assert_eq(count_lines(&log, "mark warpsheet|workload."),
	             (int)(sizeof(want) / sizeof(*want)));
	cr_assert_gt(count_lines(&log, "mark warpsheet|counter.device_memory_bytes|i64:"), 100);
	free_log(&log);
}

Test(nvtx_client, step_ranges_a_loss_scale_is_stated_counted_and_has_a_scope_of_its_own)
{
	struct log log = run_steps(WS_STEP_FULL, "amp-fp16", false, WS_OK);

	cr_assert_geq(find_line(&log, "mark warpsheet|workload.loss_scale=dynamic"), 0);
	cr_assert_geq(find_line(&log, "mark warpsheet|workload.skipped_steps=0"), 0);
	/* three steps: the loss, its backward, before and after the updates; one question of the
	 * host */
	cr_assert_eq(count_lines(&log, "push warpsheet|grad scaler"), 3 * 4);
	cr_assert_eq(count_lines(&log, "push warpsheet|read by the host"), 3);
	cr_assert_eq(count_lines(&log, "mark warpsheet|counter.loss_scale|f64:65536"), 3);
	cr_assert_eq(count_lines(&log, "mark warpsheet|counter.skipped_steps"), 0);
	cr_assert_eq(count_lines(&log, "push warpsheet.cpu|ws_optimizer_unscale_f32"), 3);
	cr_assert_eq(count_lines(&log, "push warpsheet.cpu|ws_optimizer_scale_update_"), 3);
	free_log(&log);
}

Test(nvtx_client, step_ranges_running_out_of_memory_is_stated_and_closes_all_ranges)
{
	static struct paths paths;
	struct log log = run_steps(WS_STEP_FULL, "amp-bf16", true, WS_NO_MEMORY);

	collect_paths(&log, &paths);
	cr_assert_eq(times(&paths, "warm-up"), 1);
	cr_assert_eq(times(&paths, "step"), 1);
	cr_assert_eq(times(&paths, "step/forward"), 1);
	cr_assert_eq(count_lines(&log, "mark warpsheet|workload.result=out of memory: "), 1);
	free_log(&log);
}

Test(nvtx_client, step_ranges_forward_backward_has_no_optimizer)
{
	static struct paths paths;
	struct log log = run_steps(WS_STEP_FORWARD_BACKWARD, "fp32", false, WS_OK);

	collect_paths(&log, &paths);
	cr_assert_eq(times(&paths, "step/backward"), 2);
	cr_assert_eq(times(&paths, "step/optimizer"), 0);
	free_log(&log);
}

Test(nvtx_client, step_ranges_forward_has_neither_loss_nor_backward)
{
	static struct paths paths;
	struct log log = run_steps(WS_STEP_FORWARD, "fp32", false, WS_OK);

	collect_paths(&log, &paths);
	cr_assert_eq(times(&paths, "step/forward"), 2);
	cr_assert_eq(times(&paths, "step/loss"), 0);
	cr_assert_eq(times(&paths, "step/backward"), 0);
	free_log(&log);
}
