/*
 * Makes the traces of an invented training job, one a rank:
 *   make_fleet FOLDER RANKS STEPS
 * writes FOLDER/rank-NNNN.wtrace. Data-parallel steps of a transformer; the
 * second half of the ranks computes in bf16, the first in fp32, and each half
 * meets in its own all-reduce; rank 5/8 of the way has a GPU whose matrix
 * products are 15 % slower, and the others of its half wait for it. Each
 * machine's clock is off by up to 2 ms. Fixed: no clock, no random number, no GPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/trace/writer.h"
#include "tests/support/trace_sample.h"

#define BASE_NS       INT64_C(1763640000000000000) /* 2025-11-20T12:00:00Z */
#define LAYERS        12
#define SLOWER        15     /* % */
#define ALL_REDUCE_NS 900000 /* after the last rank has arrived */

struct rank {
	struct ws_trace_writer *w;     /* NULL: only to see when it arrives */
	int64_t number, now, gpu_free; /* now: of the thread */
	uint64_t correlation;
	uint32_t jitter;
	int is_bf16, is_slow;
	int64_t begin_ns; /* when its recording began, by a clock that is right */
	int64_t group_size, sequence;
};

static void must(enum ws_status rc, const struct ws_err *err)
{
	if (rc == WS_OK)
		return;
	fprintf(stderr, "make_fleet: %s\n", err->text);
	exit(1);
}

static void add(struct rank *r, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	if (r->w)
		must(ws_trace_writer_add(r->w, kind, row, &err), &err);
}

static uint64_t text(struct rank *r, const char *s)
{
	struct ws_err err;
	uint64_t id = 0;

	if (r->w)
		must(ws_trace_writer_intern(r->w, s, strlen(s), &id, &err), &err);
	return id;
}

/* Small, repeatable unevenness: 0..range-1. */
static int64_t jitter(struct rank *r, uint32_t range)
{
	r->jitter = r->jitter * 1664525u + 1013904223u;
	return r->jitter / 65536 % range;
}

/* --- what happens ----------------------------------------------------------------------------- */

static void event(struct rank *r, enum ws_nvtx_type type, const char *name)
{
	r->now += 150 + jitter(r, 60);
	add(r, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = r->now,
	                          .thread = 1,
	                          .type = type,
	                          .domain = text(r, "warpsheet"),
	                          .name = name ? text(r, name) : 0});
}

static void push(struct rank *r, const char *name)
{
	event(r, WS_NVTX_PUSH, name);
}

static void pop(struct rank *r)
{
	event(r, WS_NVTX_POP, NULL);
}

static void call(struct rank *r, const char *name, int64_t dur_ns)
{
	r->now += 300;
	add(r, WS_KIND_API,
	    &(struct ws_row_api){.start_ns = r->now,
	                         .dur_ns = dur_ns,
	                         .thread = 1,
	                         .name = text(r, name),
	                         .correlation = ++r->correlation});
	r->now += dur_ns;
}

/* When the device begins what was launched just now, and takes dur_ns. */
static int64_t occupy(struct rank *r, int64_t dur_ns)
{
	int64_t start = r->gpu_free > r->now + 3000 ? r->gpu_free : r->now + 3000;

	/* GPU clocks tick every 32 ns */
	start = (start + 31) / 32 * 32;
	r->gpu_free = start + dur_ns + 640;
	return start;
}

/* end_ns: when it is done, whenever it begins; 0 = after dur_ns. Returns its begin. */
static int64_t run_kernel(struct rank *r, const char *kernel, uint64_t grid, int64_t dur_ns,
                          int64_t end_ns)
{
	const struct ws_row_launch_config config = {.name = text(r, kernel),
	                                            .pid = 4000 + (uint64_t)r->number,
	                                            .context = 1,
	                                            .stream = 7,
	                                            .grid_x = grid,
	                                            .grid_y = 1,
	                                            .grid_z = 1,
	                                            .block_x = 256,
	                                            .block_y = 1,
	                                            .block_z = 1,
	                                            .registers = 64,
	                                            .shared_dynamic_bytes = 16384};
	struct ws_err err;
	uint64_t id = 0;
	int64_t start;

	call(r, "cudaLaunchKernel", 2000 + jitter(r, 900));
	if (r->w)
		must(ws_trace_writer_intern_config(r->w, &config, &id, &err), &err);
	start = occupy(r, dur_ns);
	if (end_ns) {
		dur_ns = end_ns - start;
		r->gpu_free = end_ns + 640;
	}
	add(r, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.start_ns = start,
	                            .dur_ns = dur_ns,
	                            .correlation = r->correlation,
	                            .config = id});
	return start;
}

static void launch(struct rank *r, const char *kernel, uint64_t grid, int64_t dur_ns)
{
	dur_ns = (dur_ns + jitter(r, (uint32_t)dur_ns / 25 + 1)) / 32 * 32;
	run_kernel(r, kernel, grid, dur_ns, 0);
}

static void gemm(struct rank *r, uint64_t grid, int64_t fp32_ns)
{
	int64_t cost_ns = r->is_bf16 ? fp32_ns / 4 : fp32_ns;
	int64_t dur_ns = r->is_slow ? cost_ns * (100 + SLOWER) / 100 : cost_ns;

	launch(r, r->is_bf16 ? "ws_gemm_nt_fwd_bf16" : "ws_gemm_nt_fwd_f32", grid, dur_ns);
}

/* Work that memory limits takes half the time in half the bytes. */
static void stream_kernel(struct rank *r, const char *fp32, const char *bf16, int64_t fp32_ns)
{
	launch(r, r->is_bf16 ? bf16 : fp32, 1024, r->is_bf16 ? fp32_ns / 2 : fp32_ns);
}

static void copy_batch(struct rank *r)
{
	call(r, "cudaMemcpyAsync", 5200);
	add(r, WS_KIND_MEMCPY,
	    &(struct ws_row_memcpy){.start_ns = occupy(r, 21024),
	                            .dur_ns = 21024,
	                            .correlation = r->correlation,
	                            .pid = 4000 + (uint64_t)r->number,
	                            .context = 1,
	                            .stream = 7,
	                            .kind = 1,
	                            .src_kind = WS_MEMORY_PINNED,
	                            .dst_kind = WS_MEMORY_DEVICE,
	                            .bytes = 524288,
	                            .flags = WS_COPY_ASYNC});
}

static void wait(struct rank *r)
{
	int64_t dur_ns;

	call(r, "cudaStreamSynchronize", 1000);
	dur_ns = r->gpu_free > r->now ? r->gpu_free - r->now : 0;
	add(r, WS_KIND_SYNC,
	    &(struct ws_row_sync){.start_ns = r->now,
	                          .dur_ns = dur_ns,
	                          .correlation = r->correlation,
	                          .pid = 4000 + (uint64_t)r->number,
	                          .context = 1,
	                          .stream = 7,
	                          .type = WS_SYNC_STREAM,
	                          .event = -1,
	                          .event_stream = -1});
	r->now += dur_ns;
}

static void attention(struct rank *r, int times)
{
	push(r, "scaled dot product attention");
	for (int i = 0; i < times; i++) {
		push(r, "computing attention scores");
		gemm(r, 512, 96000);
		pop(r);
		push(r, "computing softmax");
		stream_kernel(r, "ws_softmax_row_fwd_f32", "ws_softmax_row_fwd_bf16", 84000);
		pop(r);
		push(r, "final matmul");
		gemm(r, 512, 92000);
		pop(r);
	}
	pop(r);
}

/* times: 1 forward, 2 backward. */
static void layers(struct rank *r, int times)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		char name[32];

		snprintf(name, sizeof(name), "layer %d", times == 1 ? layer : LAYERS - 1 - layer);
		push(r, name);
		stream_kernel(r, "ws_norm_rms_fwd_f32", "ws_norm_rms_fwd_bf16", 20000 * times);
		for (int i = 0; i < times; i++)
			gemm(r, 1024, 260000);
		attention(r, times);
		for (int i = 0; i < 2 * times; i++)
			gemm(r, 2048, 410000);
		stream_kernel(r, "ws_activation_silu_fwd_f32", "ws_activation_silu_fwd_bf16",
		              37000 * times);
		pop(r);
	}
}

/* Up to the all-reduce. */
static void begin_step(struct rank *r)
{
	push(r, "step");
	copy_batch(r);
	push(r, "forward");
	layers(r, 1);
	pop(r);
	push(r, "loss");
	stream_kernel(r, "ws_loss_cross_entropy_fwd_f32", "ws_loss_cross_entropy_fwd_f32", 51000);
	pop(r);
	push(r, "backward");
	layers(r, 2);
	push(r, "all-reduce");
}

/* The all-reduce is done at met_ns; who comes early waits. Returns when it began. */
static int64_t end_step(struct rank *r, int64_t met_ns)
{
	int64_t end = met_ns - r->begin_ns;
	int64_t start = run_kernel(r, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 24, 32, end);

	add(r, WS_KIND_COLLECTIVE,
	    &(struct ws_row_collective){.time_ns = start,
	                                .pid = 4000 + (uint64_t)r->number,
	                                .correlation = r->correlation,
	                                .name = text(r, "allreduce"),
	                                .group = text(r, r->is_bf16 ? "bf16" : "fp32"),
	                                .group_size = (uint64_t)r->group_size,
	                                .dtype = text(r, "Float"),
	                                .in_elements = 20000000,
	                                .out_elements = 20000000,
	                                .sequence = r->sequence++});

	pop(r);
	pop(r);
	push(r, "optimizer");
	stream_kernel(r, "ws_optimizer_adamw_f32", "ws_optimizer_adamw_f32", 640000);
	pop(r);
	wait(r);
	pop(r);
	return r->begin_ns + start;
}

/* --- a trace ---------------------------------------------------------------------------------- */

static void meta(struct rank *r, const char *key, int64_t number, const char *value)
{
	struct ws_err err;
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
	if (r->w)
		must(ws_trace_writer_meta(r->w, key, value ? value : digits, &err), &err);
}

static void describe(struct rank *r, int64_t ranks)
{
	meta(r, "tool.name", 0, "make_fleet");
	meta(r, "process.rank", r->number, NULL);
	meta(r, "process.world_size", ranks, NULL);
	add(r, WS_KIND_DEVICE,
	    &(struct ws_row_device){0, WS_DEVICE_CUDA, text(r, "Example GPU (invented)")});
	add(r, WS_KIND_DEVICE_ATTR, &(struct ws_row_device_attr){0, text(r, "sm_count"), 100});
	add(r, WS_KIND_PROCESS,
	    &(struct ws_row_process){.pid = 4000 + (uint64_t)r->number, .image = 1});
	add(r, WS_KIND_THREAD,
	    &(struct ws_row_thread){.id = 1,
	                            .pid = 4000 + (uint64_t)r->number,
	                            .tid = 4000 + (uint64_t)r->number});
	event(r, WS_NVTX_MARK, r->is_bf16 ? "workload.dtype=bf16" : "workload.dtype=fp32");
	event(r, WS_NVTX_MARK, "workload.tokens_per_step=8192");
}

static int is_bf16(int64_t number, int64_t ranks)
{
	return number >= (ranks + 1) / 2;
}

static struct rank new_rank(int64_t number, int64_t ranks)
{
	return (struct rank){.number = number,
	                     .jitter = (uint32_t)number * 2654435761u,
	                     .is_bf16 = is_bf16(number, ranks),
	                     .is_slow = number == ranks * 5 / 8,
	                     /* each began its recording at a time of its own */
	                     .begin_ns = BASE_NS + number * 12345678 / 32 * 32,
	                     .group_size = is_bf16(number, ranks) ? ranks / 2 : (ranks + 1) / 2};
}

/* By how much a machine's clock is ahead. */
static int64_t clock_error_ns(int64_t number)
{
	return number * 7919 % 4001 * 1000 - 2000000;
}

/*
 * When the all-reduces of each half are done: of the warm-up step, then of the steps. All ranks go
 * in step, none is written.
 */
static int64_t *meet(int64_t ranks, int64_t steps)
{
	struct rank *r = calloc((size_t)ranks, sizeof(*r));
	int64_t *met = calloc(2 * ((size_t)steps + 1), sizeof(*met));

	if (!r || !met)
		exit(1);
	for (int64_t i = 0; i < ranks; i++) {
		r[i] = new_rank(i, ranks);
		describe(&r[i], ranks);
		push(&r[i], "warm-up");
	}
	for (int64_t s = 0; s <= steps; s++) {
		int64_t *both = &met[2 * s];

		for (int64_t i = 0; i < ranks; i++) {
			struct rank arrives;
			int64_t at;

			begin_step(&r[i]);
			arrives = r[i];
			at = end_step(&arrives, INT64_MAX / 2) + ALL_REDUCE_NS;
			if (at > both[r[i].is_bf16])
				both[r[i].is_bf16] = at;
		}
		for (int64_t i = 0; i < ranks; i++) {
			end_step(&r[i], both[r[i].is_bf16]);
			if (!s)
				pop(&r[i]);
		}
	}
	free(r);
	return met;
}

static void make_rank(const char *folder, int64_t number, int64_t ranks, int64_t steps,
                      const int64_t *met)
{
	struct rank r = new_rank(number, ranks);
	struct ws_trace_writer_opts opts = {.base_ns = r.begin_ns + clock_error_ns(number)};
	struct ws_err err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/rank-%04" PRId64 ".wtrace", folder, number);
	must(trace_file_create(&r.w, path, &opts, &err), &err);
	describe(&r, ranks);
	push(&r, "warm-up");
	for (int64_t i = 0; i <= steps; i++) {
		begin_step(&r);
		end_step(&r, met[2 * i + r.is_bf16]);
		if (!i)
			pop(&r);
	}
	must(ws_trace_writer_close(r.w, &err), &err);
	ws_trace_writer_free(r.w);
}

int main(int argc, char **argv)
{
	long ranks = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long steps = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	int64_t *met;

	if (ranks < 1 || ranks > 9999 || steps < 1 || steps > 1000000) {
		fprintf(stderr, "usage: make_fleet FOLDER RANKS STEPS\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	met = meet(ranks, steps);
	for (long i = 0; i < ranks; i++)
		make_rank(argv[1], i, ranks, steps, met);
	free(met);
	return 0;
}
