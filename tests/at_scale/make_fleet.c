/*
 * Makes the traces of an invented training job, one a rank:
 *   make_fleet FOLDER RANKS STEPS
 * writes FOLDER/rank-NNNN.wtrace. Data-parallel steps of a transformer; the
 * second half of the ranks computes in bf16, the first in fp32; rank 5/8 of
 * the way has a GPU whose matrix products are 15 % slower, and the others of
 * its half wait for it in the all-reduce. Fixed: no clock, no random number, no GPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/trace/writer.h"

#define BASE_NS INT64_C(1763640000000000000) /* 2025-11-20T12:00:00Z */
#define LAYERS  12
#define SLOWER  15 /* % */

struct rank {
	struct ws_trace_writer *w;
	int64_t number, now, gpu_free; /* now: of the thread */
	uint64_t correlation;
	uint32_t jitter;
	int is_bf16, is_slow, waits; /* waits: for the slow one */
	int64_t gemm_cost_ns;        /* what this step's products take where nothing is slow */
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

	must(ws_trace_writer_add(r->w, kind, row, &err), &err);
}

static uint64_t text(struct rank *r, const char *s)
{
	struct ws_err err;
	uint64_t id;

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

static void launch(struct rank *r, const char *kernel, uint64_t grid, int64_t dur_ns)
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
	uint64_t id;

	dur_ns = (dur_ns + jitter(r, (uint32_t)dur_ns / 25 + 1)) / 32 * 32;
	call(r, "cudaLaunchKernel", 2000 + jitter(r, 900));
	must(ws_trace_writer_intern_config(r->w, &config, &id, &err), &err);
	add(r, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.start_ns = occupy(r, dur_ns),
	                            .dur_ns = dur_ns,
	                            .correlation = r->correlation,
	                            .config = id});
}

static void gemm(struct rank *r, uint64_t grid, int64_t fp32_ns)
{
	int64_t cost_ns = r->is_bf16 ? fp32_ns / 4 : fp32_ns;
	int64_t dur_ns = r->is_slow ? cost_ns * (100 + SLOWER) / 100 : cost_ns;

	r->gemm_cost_ns += cost_ns;
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

static void step(struct rank *r)
{
	int64_t late_ns;

	r->gemm_cost_ns = 0;
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
	/* who comes early waits */
	late_ns = r->gemm_cost_ns * SLOWER / 100;
	launch(r, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 24, 900000 + (r->waits ? late_ns : 0));
	pop(r);
	pop(r);
	push(r, "optimizer");
	stream_kernel(r, "ws_optimizer_adamw_f32", "ws_optimizer_adamw_f32", 640000);
	pop(r);
	wait(r);
	pop(r);
}

/* --- a trace ---------------------------------------------------------------------------------- */

static void meta(struct rank *r, const char *key, int64_t number, const char *value)
{
	struct ws_err err;
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
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

static void make_rank(const char *folder, int64_t number, int64_t ranks, int64_t steps)
{
	int64_t slow = ranks * 5 / 8, bf16 = (ranks + 1) / 2;
	struct rank r = {.number = number,
	                 .jitter = (uint32_t)number * 2654435761u,
	                 .is_bf16 = number >= bf16,
	                 .is_slow = number == slow,
	                 .waits = number != slow && (number >= bf16) == (slow >= bf16)};
	/* each rank began its recording at a time of its own */
	struct ws_trace_writer_opts opts = {.base_ns = BASE_NS + number * 12345678};
	struct ws_err err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/rank-%04" PRId64 ".wtrace", folder, number);
	must(ws_trace_writer_create(&r.w, path, &opts, &err), &err);
	describe(&r, ranks);
	push(&r, "warm-up");
	step(&r);
	pop(&r);
	for (int64_t i = 0; i < steps; i++)
		step(&r);
	must(ws_trace_writer_close(r.w, &err), &err);
	ws_trace_writer_free(r.w);
}

int main(int argc, char **argv)
{
	long ranks = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long steps = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

	if (ranks < 1 || ranks > 9999 || steps < 1 || steps > 1000000) {
		fprintf(stderr, "usage: make_fleet FOLDER RANKS STEPS\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	for (long i = 0; i < ranks; i++)
		make_rank(argv[1], i, ranks, steps);
	return 0;
}
