#include "tests/support/trace_sample.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/codec/block.h"

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "trace_sample: %s\n", what);
	abort();
}

static void add(struct ws_trace_writer *w, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	must(ws_trace_writer_add(w, kind, row, &err) == WS_OK, "cannot add a row");
}

static uint64_t text_id(struct ws_trace_writer *w, const char *text)
{
	struct ws_err err;
	uint64_t id;

	must(ws_trace_writer_intern(w, text, strlen(text), &id, &err) == WS_OK, "cannot intern");
	return id;
}

static struct ws_bytes bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

static void add_machine(struct ws_trace_writer *w)
{
	add(w, WS_KIND_META,
	    &(struct ws_row_meta){.key = bytes_of("program.path"), .value = bytes_of("/bin/x")});
	add(w, WS_KIND_DEVICE,
	    &(struct ws_row_device){.id = 0,
	                            .kind = WS_DEVICE_CUDA,
	                            .name = text_id(w, "NVIDIA H100")});
	add(w, WS_KIND_DEVICE_ATTR,
	    &(struct ws_row_device_attr){.device = 0,
	                                 .attr = text_id(w, "sm_count"),
	                                 .value = 132});
	add(w, WS_KIND_PROCESS,
	    &(struct ws_row_process){
	            .pid = 42, .image = 1, .program = text_id(w, "/bin/x"), .start_ns = 5});
	add(w, WS_KIND_THREAD,
	    &(struct ws_row_thread){.id = 1, .pid = 42, .tid = 42, .name = text_id(w, "main")});
	add(w, WS_KIND_CLOCK, &(struct ws_row_clock){.realtime_ns = 0, .monotonic_ns = 77});
}

static uint64_t add_payload(struct ws_trace_writer *w)
{
	static const uint8_t payload[8] = {1, 0, 0, 0, 2, 0, 0, 0};
	struct ws_err err;
	uint64_t id;

	add(w, WS_KIND_PAYLOAD_SCHEMA,
	    &(struct ws_row_payload_schema){.id = 9,
	                                    .domain = text_id(w, "warpsheet"),
	                                    .name = text_id(w, "op"),
	                                    .type = 1,
	                                    .size_bytes = 8});
	add(w, WS_KIND_PAYLOAD_FIELD,
	    &(struct ws_row_payload_field){.schema = 9, .name = text_id(w, "kind"), .type = 5});
	add(w, WS_KIND_PAYLOAD_ENUM,
	    &(struct ws_row_payload_enum){.id = 3,
	                                  .name = text_id(w, "kind"),
	                                  .size_bytes = 4,
	                                  .entry = text_id(w, "gemm"),
	                                  .value = -1});
	add(w, WS_KIND_CATEGORY,
	    &(struct ws_row_category){.domain = text_id(w, "warpsheet"),
	                              .id = 4,
	                              .name = text_id(w, "ops")});
	must(ws_trace_writer_intern_payload(w, 9, payload, sizeof(payload), &id, &err) == WS_OK,
	     "cannot intern a payload");
	return id;
}

static void add_launch(struct ws_trace_writer *w, int64_t t, uint64_t correlation, uint64_t payload)
{
	struct ws_row_launch_config config = {
	        .name = text_id(w, correlation % 2 ? "gemm<a,b>" : "softmax"),
	        .pid = 42,
	        .grid_x = 64 + correlation % 2,
	        .grid_y = 1,
	        .grid_z = 1,
	        .block_x = 256,
	        .block_y = 1,
	        .block_z = 1,
	};
	struct ws_err err;
	uint64_t id;

	must(ws_trace_writer_intern_config(w, &config, &id, &err) == WS_OK, "cannot intern");
	add(w, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = t,
	                          .thread = 1,
	                          .type = WS_NVTX_PUSH,
	                          .name = text_id(w, "forward"),
	                          .payload = payload});
	add(w, WS_KIND_API,
	    &(struct ws_row_api){.start_ns = t + 10,
	                         .dur_ns = 4000,
	                         .thread = 1,
	                         .name = text_id(w, "cudaLaunchKernel"),
	                         .correlation = correlation});
	add(w, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.start_ns = WS_SAMPLE_KERNEL_START_NS((int64_t)correlation),
	                            .dur_ns = 1200 + 13 * (int64_t)(correlation % 5),
	                            .correlation = correlation,
	                            .config = id});
	add(w, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = t + 4100, .thread = 1, .type = WS_NVTX_POP});
}

/* What importers and other sources add. */
static void add_imported(struct ws_trace_writer *w, int64_t t)
{
	add(w, WS_KIND_MEMCPY,
	    &(struct ws_row_memcpy){.start_ns = t, .dur_ns = 700, .kind = 1, .bytes = 4096});
	add(w, WS_KIND_MEMSET, &(struct ws_row_memset){.start_ns = t + 1, .bytes = 64});
	add(w, WS_KIND_SYNC, &(struct ws_row_sync){.start_ns = t + 2, .type = WS_SYNC_STREAM});
	add(w, WS_KIND_OVERHEAD,
	    &(struct ws_row_overhead){.start_ns = t + 3, .name = text_id(w, "flush")});
	add(w, WS_KIND_GRAPH_LAUNCH, &(struct ws_row_graph_launch){.start_ns = t + 4, .graph = 3});
	add(w, WS_KIND_MEMORY,
	    &(struct ws_row_memory){
	            .time_ns = t + 5, .thread = 1, .memory_kind = WS_MEMORY_DEVICE, .bytes = 512});
	add(w, WS_KIND_OP_CONFIG,
	    &(struct ws_row_op_config){.id = 1, .name = text_id(w, "aten::mm"), .kind = 1});
	add(w, WS_KIND_CPU_OP,
	    &(struct ws_row_cpu_op){
	            .start_ns = t + 6, .dur_ns = 9, .thread = 1, .config = 1, .sequence = -1});
	add(w, WS_KIND_PYTHON_CALL,
	    &(struct ws_row_python_call){.start_ns = t + 7,
	                                 .thread = 1,
	                                 .name = text_id(w, "a.py(1): f"),
	                                 .module = -1});
	add(w, WS_KIND_FLOW,
	    &(struct ws_row_flow){
	            .from_ns = t + 8, .from_thread = 1, .to_ns = t + 99, .to_thread = 1});
	add(w, WS_KIND_GPU_RANGE,
	    &(struct ws_row_gpu_range){.start_ns = t + 9, .name = text_id(w, "forward")});
	add(w, WS_KIND_EXTERNAL_LINK,
	    &(struct ws_row_external_link){.pid = 42, .correlation = 1, .kind = 3});
	add(w, WS_KIND_COLLECTIVE,
	    &(struct ws_row_collective){.time_ns = t + 10,
	                                .pid = 42,
	                                .correlation = 1,
	                                .name = text_id(w, "flush"),
	                                .group_size = 2,
	                                .sequence = -1});
}

void ws_sample_fill(struct ws_trace_writer *w)
{
	struct ws_err err;
	uint64_t payload;

	add_machine(w);
	payload = add_payload(w);
	for (uint64_t i = 1; i <= 20; i++) {
		add_launch(w, (int64_t)i * 10000, i, payload);
		if (i == 10)
			must(ws_trace_writer_flush(w, &err) == WS_OK, "cannot flush");
	}
	add_imported(w, 250000);
	add(w, WS_KIND_COUNTER,
	    &(struct ws_row_counter){.time_ns = 300000,
	                             .name = text_id(w, "device_memory_bytes"),
	                             .value = 1 << 20});
	add(w, WS_KIND_LOSS,
	    &(struct ws_row_loss){.time_ns = 300001, .cause = text_id(w, "ring_overflow")});
	add(w, WS_KIND_PROCESS_END,
	    &(struct ws_row_process_end){.time_ns = 300002, .pid = 42, .how = WS_END_EXITED});
}

struct ws_sample ws_sample_take(const struct ws_trace_writer *w)
{
	struct ws_bytes bytes = ws_trace_writer_mem(w);
	struct ws_sample s = {malloc(bytes.len), bytes.len};

	must(s.data != NULL, "out of memory");
	memcpy(s.data, bytes.ptr, bytes.len);
	return s;
}

static struct ws_sample make(int closed)
{
	const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};
	struct ws_trace_writer *w;
	struct ws_sample s;
	struct ws_err err;

	must(ws_trace_writer_create_mem(&w, &opts, &err) == WS_OK, "cannot create");
	ws_sample_fill(w);
	must((closed ? ws_trace_writer_close(w, &err) : ws_trace_writer_flush(w, &err)) == WS_OK,
	     "cannot finish");
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	return s;
}

struct ws_sample ws_sample_make(void)
{
	return make(1);
}

struct ws_sample ws_sample_make_unclosed(void)
{
	return make(0);
}

/* One launch of three: on two streams and two threads, with the noise of clocks. */
static int64_t add_modelled_launch(struct ws_trace_writer *w, int64_t t, uint64_t i)
{
	static const char *const names[] = {"gemm<a,b>", "softmax", "all_reduce"};
	struct ws_row_launch_config config = {.name = text_id(w, names[i % 3]),
	                                      .pid = 42,
	                                      .stream = 7 + i % 3 / 2,
	                                      .grid_x = 64,
	                                      .block_x = 256};
	uint64_t noise = i * 0x9e3779b97f4a7c15u >> 40, thread = 1 + i % 5 / 4;
	int64_t call = t + 200 + (int64_t)(noise % 64), dur = 4000 + (int64_t)(noise % 511);
	struct ws_err err;
	uint64_t id;

	must(ws_trace_writer_intern_config(w, &config, &id, &err) == WS_OK, "cannot intern");
	add(w, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = t,
	                          .thread = thread,
	                          .type = WS_NVTX_PUSH,
	                          .name = text_id(w, names[i % 3])});
	add(w, WS_KIND_API,
	    &(struct ws_row_api){.start_ns = call,
	                         .dur_ns = dur,
	                         .thread = thread,
	                         .name = text_id(w, "cudaLaunchKernel"),
	                         .correlation = i});
	add(w, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.start_ns =
	                                    (call + dur + 3000 + (int64_t)(noise % 200)) / 32 * 32,
	                            .dur_ns = 32 * (int64_t)(40 * (i % 3) + 30 + noise % 7),
	                            .correlation = i,
	                            .config = id});
	add(w, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = call + dur + 90,
	                          .thread = thread,
	                          .type = WS_NVTX_POP});
	return call + dur + 180 + (int64_t)(noise % 32);
}

static struct ws_sample make_launches(uint64_t n)
{
	struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};
	struct ws_trace_writer *w;
	struct ws_sample s;
	struct ws_err err;
	int64_t t = 1000;

	must(ws_trace_writer_create_mem(&w, &opts, &err) == WS_OK, "cannot create");
	add_machine(w);
	add(w, WS_KIND_THREAD, &(struct ws_row_thread){.id = 2, .pid = 42, .tid = 43});
	for (uint64_t i = 1; i <= n; i++)
		t = add_modelled_launch(w, t, i);
	must(ws_trace_writer_close(w, &err) == WS_OK, "cannot finish");
	s = ws_sample_take(w);
	ws_trace_writer_free(w);
	return s;
}

struct ws_sample ws_sample_make_modelled(void)
{
	return make_launches(600);
}

struct ws_sample ws_sample_make_small(void)
{
	return make_launches(2);
}

void ws_sample_free(struct ws_sample *s)
{
	free(s->data);
	s->data = NULL;
	s->size = 0;
}

size_t ws_sample_block_size(const struct ws_sample *s, size_t offset)
{
	return WS_BLOCK_HEADER_BYTES + ws_load_u64(s->data + offset + 16);
}

size_t ws_sample_block(const struct ws_sample *s, enum ws_kind kind, unsigned n)
{
	size_t offset = WS_FILE_HEADER_BYTES;

	while (s->size - offset >= WS_BLOCK_HEADER_BYTES) {
		if (ws_load_u16(s->data + offset + 4) == kind && n-- == 0)
			return offset;
		offset += ws_sample_block_size(s, offset);
	}
	must(0, "no such block");
	return 0;
}

void ws_sample_poke(struct ws_sample *s, size_t offset, unsigned width, uint64_t value)
{
	must(offset + width <= s->size, "a poke outside the file");
	memcpy(s->data + offset, &value, width);
}

void ws_sample_seal_block(struct ws_sample *s, size_t offset)
{
	uint8_t *block = s->data + offset;
	uint64_t body = ws_load_u64(block + 16);

	if (body <= s->size - offset - WS_BLOCK_HEADER_BYTES)
		ws_store_u64(block + 48, ws_checksum(block + WS_BLOCK_HEADER_BYTES, body));
	ws_store_u64(block + 56, ws_checksum(block, 56));
}

void ws_sample_seal_header(struct ws_sample *s)
{
	ws_store_u64(s->data + 56, ws_checksum(s->data, 56));
}

void ws_sample_seal_trailer(struct ws_sample *s)
{
	uint8_t *trailer = s->data + s->size - WS_TRAILER_BYTES;

	ws_store_u64(trailer + 16, ws_checksum(trailer, 16));
}

void ws_sample_insert(struct ws_sample *s, size_t offset, const void *bytes, size_t len)
{
	uint8_t *data = malloc(s->size + len);

	must(data && offset <= s->size, "cannot insert");
	memcpy(data, s->data, offset);
	memcpy(data + offset, bytes, len);
	memcpy(data + offset + len, s->data + offset, s->size - offset);
	free(s->data);
	s->data = data;
	s->size += len;
}

void ws_sample_remove(struct ws_sample *s, size_t offset, size_t len)
{
	must(offset + len <= s->size, "cannot remove");
	memmove(s->data + offset, s->data + offset + len, s->size - offset - len);
	s->size -= len;
}

static void append_finding(void *ctx, const struct ws_check_finding *finding)
{
	struct ws_sample_findings *out = ctx;
	size_t left = sizeof(out->text) - out->len;
	int n = snprintf(out->text + out->len, left, "%s %" PRIu64 ": %s\n",
	                 finding->level == WS_FINDING_DAMAGE ? "DAMAGE" : "NOTE", finding->offset,
	                 finding->text);

	if (n > 0 && (size_t)n < left)
		out->len += (size_t)n;
}

void ws_sample_check(const struct ws_sample *s, struct ws_sample_findings *out)
{
	/* memory of exactly this size, so that a read past the end is seen */
	uint8_t *copy = malloc(s->size ? s->size : 1);

	must(copy != NULL, "out of memory");
	memcpy(copy, s->data, s->size);
	out->len = 0;
	out->text[0] = 0;
	out->err.text[0] = 0;
	out->status =
	        ws_trace_check_mem(copy, s->size, append_finding, out, &out->result, &out->err);
	free(copy);
}
