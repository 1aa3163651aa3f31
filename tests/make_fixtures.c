/*
 * Makes the traces under fixtures/: make_fixtures FOLDER writes FOLDER/traces
 * and FOLDER/broken. Everything in them is invented and fixed: no clock, no
 * random number, no GPU. tests/check_fixtures.sh compares what it makes with what is
 * stored; after a wanted change run it with --update.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/checksum.h"
#include "formats/trace/writer.h"
#include "kernels/nvtx/warpsheet_nvtx.h"

#define BASE_NS INT64_C(1763640000000000000) /* 2025-11-20T12:00:00Z */
#define PID     4242
#define LAYERS  2

/* Ids of our payload schema and its enumerations, as a collector would give them. */
enum { SCHEMA_OP = 100, ENUM_OP, ENUM_DIRECTION, ENUM_PHASE, ENUM_DTYPE };
/* NVTX entry types: int32, uint32, uint64 */
enum { TYPE_INT32 = 15, TYPE_UINT32 = 16, TYPE_UINT64 = 18 };

/* A program that is being recorded. */
struct scene {
	struct ws_trace_writer *w;
	int64_t now;      /* of the thread */
	int64_t gpu_free; /* when the device has done all that was launched */
	uint64_t correlation;
	uint32_t jitter;
	uint8_t dtype; /* enum wsnvtx_dtype */
	uint8_t phase; /* enum wsnvtx_phase */
	int speed;     /* GPU times are divided by this, in tenths */
};

static void must(enum ws_status rc, const struct ws_err *err)
{
	if (rc == WS_OK)
		return;
	fprintf(stderr, "make_fixtures: %s\n", err->text);
	exit(1);
}

static void add(struct scene *s, enum ws_kind kind, const void *row)
{
	struct ws_err err;

	must(ws_trace_writer_add(s->w, kind, row, &err), &err);
}

static uint64_t bytes_id(struct scene *s, const void *bytes, size_t len)
{
	struct ws_err err;
	uint64_t id;

	must(ws_trace_writer_intern(s->w, bytes, len, &id, &err), &err);
	return id;
}

static uint64_t text_id(struct scene *s, const char *text)
{
	return bytes_id(s, text, strlen(text));
}

/* Small, repeatable unevenness: 0..range-1. */
static int64_t jitter(struct scene *s, uint32_t range)
{
	s->jitter = s->jitter * 1664525u + 1013904223u;
	return s->jitter / 65536 % range;
}

/* --- who and where ---------------------------------------------------------------- */

static void meta(struct scene *s, const char *key, const void *value, size_t len)
{
	add(s, WS_KIND_META,
	    &(struct ws_row_meta){.key = {key, strlen(key)}, .value = {value, len}});
}

static void meta_str(struct scene *s, const char *key, const char *value)
{
	meta(s, key, value, strlen(value));
}

static void attr(struct scene *s, const char *name, int64_t value)
{
	add(s, WS_KIND_DEVICE_ATTR,
	    &(struct ws_row_device_attr){.device = 0, .attr = text_id(s, name), .value = value});
}

static void add_machine(struct scene *s)
{
	meta_str(s, "tool.name", "make_fixtures");
	meta_str(s, "tool.version", "1");
	meta_str(s, "record.start_utc", "2025-11-20T12:00:00Z");
	meta_str(s, "program.path", "/opt/example/train");
	meta_str(s, "program.arguments", "--model example --batch 4");
	meta_str(s, "host.cpu", "invented for tests");
	add(s, WS_KIND_DEVICE,
	    &(struct ws_row_device){.id = 0,
	                            .kind = WS_DEVICE_CUDA,
	                            .name = text_id(s, "Example GPU (invented)")});
	attr(s, "sm_count", 100);
	attr(s, "core_clock_khz", 1500000);
	add(s, WS_KIND_PROCESS,
	    &(struct ws_row_process){.pid = PID,
	                             .image = 1,
	                             .program = text_id(s, "/opt/example/train"),
	                             .start_ns = 0});
	add(s, WS_KIND_THREAD,
	    &(struct ws_row_thread){.id = 1, .pid = PID, .tid = PID, .name = text_id(s, "train")});
	add(s, WS_KIND_CLOCK, &(struct ws_row_clock){.realtime_ns = 0, .monotonic_ns = 1000});
}

static void add_enum(struct scene *s, uint64_t id, const char *name, const char *entry,
                     int64_t value)
{
	add(s, WS_KIND_PAYLOAD_ENUM,
	    &(struct ws_row_payload_enum){.id = id,
	                                  .name = text_id(s, name),
	                                  .size_bytes = 1,
	                                  .entry = text_id(s, entry),
	                                  .value = value});
}

static void add_field(struct scene *s, uint64_t *index, const char *name, uint64_t type,
                      uint64_t offset)
{
	add(s, WS_KIND_PAYLOAD_FIELD,
	    &(struct ws_row_payload_field){.schema = SCHEMA_OP,
	                                   .index = (*index)++,
	                                   .name = text_id(s, name),
	                                   .type = type,
	                                   .offset_bytes = offset});
}

#define FIELD(name, type) add_field(s, &index, #name, type, offsetof(struct wsnvtx_op, name))

/* As kernels/nvtx/warpsheet_nvtx.h registers it. */
static void add_op_schema(struct scene *s)
{
	uint64_t index = 0;

#define X(entry, value) add_enum(s, ENUM_OP, "warpsheet.op_kind", #entry, value);
	WSNVTX_OP_KIND_LIST(X)
#undef X
#define X(entry, value) add_enum(s, ENUM_DIRECTION, "warpsheet.direction", #entry, value);
	WSNVTX_DIRECTION_LIST(X)
#undef X
#define X(entry, value) add_enum(s, ENUM_PHASE, "warpsheet.phase", #entry, value);
	WSNVTX_PHASE_LIST(X)
#undef X
#define X(entry, value) add_enum(s, ENUM_DTYPE, "warpsheet.dtype", #entry, value);
	WSNVTX_DTYPE_LIST(X)
#undef X
	add(s, WS_KIND_PAYLOAD_SCHEMA,
	    &(struct ws_row_payload_schema){.id = SCHEMA_OP,
	                                    .domain = text_id(s, WSNVTX_DOMAIN),
	                                    .name = text_id(s, "warpsheet.op"),
	                                    .type = 1,
	                                    .size_bytes = sizeof(struct wsnvtx_op)});
	FIELD(flops, TYPE_UINT64);
	FIELD(bytes_read, TYPE_UINT64);
	FIELD(bytes_written, TYPE_UINT64);
	FIELD(batch, TYPE_UINT32);
	FIELD(m, TYPE_UINT32);
	FIELD(n, TYPE_UINT32);
	FIELD(k, TYPE_UINT32);
	FIELD(op, ENUM_OP);
	FIELD(direction, ENUM_DIRECTION);
	FIELD(phase, ENUM_PHASE);
	FIELD(dtype, ENUM_DTYPE);
	FIELD(layer, TYPE_INT32);
}

/* --- what a program does ------------------------------------------------------------ */

static void nvtx(struct scene *s, enum ws_nvtx_type type, uint64_t name, uint64_t payload)
{
	s->now += 200 + jitter(s, 50);
	add(s, WS_KIND_NVTX,
	    &(struct ws_row_nvtx){.time_ns = s->now,
	                          .thread = 1,
	                          .type = type,
	                          .domain = text_id(s, WSNVTX_DOMAIN),
	                          .name = name,
	                          .payload = payload});
}

static void push(struct scene *s, const char *name)
{
	nvtx(s, WS_NVTX_PUSH, text_id(s, name), 0);
}

static void pop(struct scene *s)
{
	nvtx(s, WS_NVTX_POP, 0, 0);
}

static void fact(struct scene *s, const char *key, const char *value)
{
	char text[128];

	snprintf(text, sizeof(text), "workload.%s=%s", key, value);
	nvtx(s, WS_NVTX_MARK, text_id(s, text), 0);
}

static uint64_t config_id(struct scene *s, const void *name, size_t len)
{
	const struct ws_row_launch_config config = {.name = bytes_id(s, name, len),
	                                            .pid = PID,
	                                            .context = 1,
	                                            .stream = 7,
	                                            .grid_x = 128,
	                                            .grid_y = 1,
	                                            .grid_z = 1,
	                                            .block_x = 256,
	                                            .block_y = 1,
	                                            .block_z = 1,
	                                            .registers = 64,
	                                            .shared_dynamic_bytes = 16384};
	struct ws_err err;
	uint64_t id;

	must(ws_trace_writer_intern_config(s->w, &config, &id, &err), &err);
	return id;
}

/* A kernel whose launching call was recorded, or (call 0) was not. */
static void launch_named(struct scene *s, const void *name, size_t len, int64_t gpu_ns, int call)
{
	int64_t start;

	s->correlation++;
	s->now += 300;
	if (call)
		add(s, WS_KIND_API,
		    &(struct ws_row_api){.start_ns = s->now,
		                         .dur_ns = 2500,
		                         .thread = 1,
		                         .name = text_id(s, "cudaLaunchKernel"),
		                         .correlation = s->correlation});
	s->now += 2500;
	start = s->now + 1200 > s->gpu_free ? s->now + 1200 : s->gpu_free + 400;
	gpu_ns = gpu_ns * 10 / s->speed + jitter(s, 300);
	s->gpu_free = start + gpu_ns;
	add(s, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.start_ns = start,
	                            .dur_ns = gpu_ns,
	                            .correlation = s->correlation,
	                            .config = config_id(s, name, len)});
}

static void launch(struct scene *s, const char *name, int64_t gpu_ns)
{
	launch_named(s, name, strlen(name), gpu_ns, 1);
}

struct op {
	const char *range, *kernel; /* %s: the dtype */
	uint8_t kind;               /* enum wsnvtx_op_kind */
	uint64_t flops, bytes;
	int64_t gpu_ns;
};

static void run_op(struct scene *s, const struct op *op, int layer)
{
	static const char *const suffix[] = {"none", "f32", "tf32", "f16", "bf16"};
	int backward = s->phase == WSNVTX_PHASE_backward;
	struct wsnvtx_op payload;
	struct ws_err err;
	uint64_t id;
	char kernel[128];

	memset(&payload, 0, sizeof(payload)); /* its padding goes into the file */
	payload.flops = op->flops << backward;
	payload.bytes_read = op->bytes << backward;
	payload.bytes_written = op->bytes / 2;
	payload.batch = 4;
	payload.op = op->kind;
	payload.direction = backward ? WSNVTX_DIRECTION_backward : WSNVTX_DIRECTION_forward;
	payload.phase = s->phase;
	payload.dtype = s->dtype;
	payload.layer = layer;
	must(ws_trace_writer_intern_payload(s->w, SCHEMA_OP, &payload, sizeof(payload), &id, &err),
	     &err);
	nvtx(s, WS_NVTX_PUSH, text_id(s, op->range), id);
	snprintf(kernel, sizeof(kernel), op->kernel, backward ? "bwd" : "fwd", suffix[s->dtype]);
	launch(s, kernel, op->gpu_ns << backward);
	pop(s);
}

static const struct op norm = {"rmsnorm", "ws_norm_rms_%s_%s", WSNVTX_OP_norm, 262144, 524288,
                               4000};
static const struct op projection = {"qkv projection", "ws_gemm_nt_%s_%s",
                                     WSNVTX_OP_gemm,   100663296,
                                     1835008,          21000};
static const struct op scores = {"q k^T",        "ws_gemm_batched_%s_%s",
                                 WSNVTX_OP_gemm, 33554432,
                                 1310720,        9000};
static const struct op mask = {"mask", "ws_mask_causal_%s_%s", WSNVTX_OP_mask, 0, 2097152, 5000};
static const struct op softmax = {"softmax",         "ws_softmax_row_%s_%s",
                                  WSNVTX_OP_softmax, 1310720,
                                  4194304,           11000};
static const struct op values = {"p v", "ws_gemm_batched_%s_%s", WSNVTX_OP_gemm, 33554432, 1310720,
                                 9500};
static const struct op residual = {
        "residual", "ws_elementwise_add_%s_%s", WSNVTX_OP_elementwise, 65536, 786432, 2500};
static const struct op cross_entropy = {"cross entropy", "ws_loss_cross_entropy_%s_%s",
                                        WSNVTX_OP_loss,  131072,
                                        262144,          6000};
static const struct op adamw = {
        "adamw", "ws_optimizer_adamw_%s_%s", WSNVTX_OP_optimizer, 1641600, 2626560, 14000};

static void attention(struct scene *s, int layer)
{
	push(s, "scaled dot product attention");
	push(s, "computing attention scores");
	run_op(s, &scores, layer);
	pop(s);
	push(s, "computing softmax");
	run_op(s, &mask, layer);
	run_op(s, &softmax, layer);
	pop(s);
	push(s, "final matmul");
	run_op(s, &values, layer);
	pop(s);
	pop(s);
}

static void layers(struct scene *s)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		char name[32];

		snprintf(name, sizeof(name), "layer %d", layer);
		push(s, name);
		run_op(s, &norm, layer);
		run_op(s, &projection, layer);
		attention(s, layer);
		run_op(s, &residual, layer);
		pop(s);
	}
}

static void phase(struct scene *s, enum wsnvtx_phase which, const char *name)
{
	s->phase = (uint8_t)which;
	push(s, name);
	switch (which) {
	case WSNVTX_PHASE_loss:
		run_op(s, &cross_entropy, -1);
		break;
	case WSNVTX_PHASE_optimizer:
		run_op(s, &adamw, -1);
		break;
	default:
		layers(s);
	}
	/* the host waits for the device at the end of each phase */
	if (s->now < s->gpu_free)
		s->now = s->gpu_free + 900;
	pop(s);
}

static void step(struct scene *s, const char *name)
{
	push(s, name);
	phase(s, WSNVTX_PHASE_forward, "forward");
	phase(s, WSNVTX_PHASE_loss, "loss");
	phase(s, WSNVTX_PHASE_backward, "backward");
	phase(s, WSNVTX_PHASE_optimizer, "optimizer");
	pop(s);
	s->now += 1000;
}

/* --- endings -------------------------------------------------------------------------- */

static void loss(struct scene *s, const char *cause, uint64_t count)
{
	add(s, WS_KIND_LOSS,
	    &(struct ws_row_loss){.time_ns = s->now, .cause = text_id(s, cause), .count = count});
}

static void program_end(struct scene *s, enum ws_end_how how, int64_t code)
{
	add(s, WS_KIND_PROCESS_END,
	    &(struct ws_row_process_end){
	            .time_ns = s->now + 5000, .pid = PID, .how = how, .code = code});
}

static struct scene begin(void)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE_NS};
	struct scene s = {.now = 1000, .jitter = 1, .dtype = WSNVTX_DTYPE_fp32, .speed = 10};
	struct ws_err err;

	must(ws_trace_writer_create_mem(&s.w, &opts, &err), &err);
	return s;
}

struct file {
	char *bytes;
	size_t size;
};

/* Takes the writer's bytes and frees it. */
static struct file take(struct scene *s, int closed)
{
	struct file f;
	struct ws_bytes mem;
	struct ws_err err;

	must(closed ? ws_trace_writer_close(s->w, &err) : ws_trace_writer_flush(s->w, &err), &err);
	mem = ws_trace_writer_mem(s->w);
	f.size = mem.len;
	f.bytes = malloc(mem.len);
	if (!f.bytes)
		abort();
	memcpy(f.bytes, mem.ptr, mem.len);
	ws_trace_writer_free(s->w);
	return f;
}

/* --- the traces ------------------------------------------------------------------------- */

static struct file make_step(uint8_t dtype, const char *dtype_name, int speed)
{
	struct scene s = begin();

	s.dtype = dtype;
	s.speed = speed;
	add_machine(&s);
	add_op_schema(&s);
	fact(&s, "model", "example");
	fact(&s, "dtype", dtype_name);
	fact(&s, "batch", "4");
	fact(&s, "context", "128");
	fact(&s, "tokens_per_step", "512");
	step(&s, "warm-up");
	for (int i = 0; i < 4; i++)
		step(&s, "step");
	loss(&s, "ring_overflow", 0);
	program_end(&s, WS_END_EXITED, 0);
	return take(&s, 1);
}

/* The recorder and its program died in the third step; things were lost before. */
static struct file make_killed(void)
{
	struct scene s = begin();

	add_machine(&s);
	add_op_schema(&s);
	fact(&s, "model", "example");
	launch(&s, "ws_fill_zero", 3000); /* in no range */
	for (int i = 0; i < 2; i++)
		step(&s, "step");
	push(&s, "step");
	push(&s, "forward");
	run_op(&s, &norm, 0);
	launch_named(&s, "ws_gemm_nt_fwd_f32", 18, 20000, 0); /* its launch was lost */
	add(&s, WS_KIND_KERNEL,
	    &(struct ws_row_kernel){.correlation = s.correlation,
	                            .config = config_id(&s, "ws_copy_strided_fwd_f32", 23),
	                            .flags = WS_KERNEL_NO_TIME});
	loss(&s, "ring_overflow", 17);
	loss(&s, "text_truncated", 2);
	program_end(&s, WS_END_SIGNALED, 9);
	return take(&s, 0);
}

static struct file make_empty(void)
{
	struct scene s = begin();

	add_machine(&s);
	program_end(&s, WS_END_EXITED, 0);
	return take(&s, 1);
}

/* Names that harm whoever prints them carelessly. */
static struct file make_hostile(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} names[] = {
#define N(text) {text, sizeof(text) - 1}
	        N("=cmd|' /C calc'!A0"),
	        N("+1+1"),
	        N("-2+3"),
	        N("@SUM(A1:A2)"),
	        N("\t=1"),
	        N("a,b;c\"d\"e'f"),
	        N("line\nfeed\r\nand \x1b[31mred\x1b[0m \a"),
	        N("nul\0inside"),
	        N("broken \xff\xfe utf-8 \xc3"),
	        N("\xe2\x80\xaeright to left"),
	        N("\xf0\x9f\x94\xa5 fire, umlaut \xc3\xa4, CJK \xe6\xb5\x8b\xe8\xaf\x95"),
	        N("_x0041_ and _x000D_"),
	        N("| pipe `code` **bold** <script>alert(1)</script> [link](x) ~~"),
	        N("a/b\\c"),
	        N("%s%n%d"),
	        N(" blanks around "),
#undef N
	};
	struct scene s = begin();
	char big[6000];
	size_t n = 0;

	add_machine(&s);
	meta(&s, "program.arguments", names[6].bytes, names[6].len);
	n = (size_t)snprintf(big, sizeof(big), "void at::native::vectorized_kernel<4, ");
	while (n < 5200)
		n += (size_t)snprintf(big + n, sizeof(big) - n, "std::array<char*, %zuul>, ", n);
	n += (size_t)snprintf(big + n, sizeof(big) - n, "float>(int, float)");
	push(&s, "step");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		nvtx(&s, WS_NVTX_PUSH, bytes_id(&s, names[i].bytes, names[i].len), 0);
		launch_named(&s, names[i].bytes, names[i].len, 1000 * (int64_t)(i + 1), 1);
		pop(&s);
	}
	launch_named(&s, big, n, 50000, 1);
	pop(&s);
	loss(&s, "=1+1", 3);
	program_end(&s, WS_END_EXITED, 1);
	return take(&s, 1);
}

/* --- damage ----------------------------------------------------------------------------- */

static void put_u64(char *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = (char)(value >> 8 * i);
}

/* A file header of the next major version, its checksum right. */
static struct file make_too_new(const struct file *whole)
{
	enum { VERSION_MAJOR = 8, CHECKSUM = 56, HEADER = 64 };
	struct file f = {malloc(HEADER), HEADER};

	if (!f.bytes)
		abort();
	memcpy(f.bytes, whole->bytes, HEADER);
	f.bytes[VERSION_MAJOR] = 2;
	put_u64(f.bytes + CHECKSUM, ws_checksum(f.bytes, CHECKSUM));
	return f;
}

/* Offset into the body of the last block of a kind. */
static size_t inside_block(const struct file *f, uint16_t kind)
{
	enum { MAGIC = 4, KIND = 4, HEADER = 64 };
	size_t found = 0;

	for (size_t at = HEADER; at + HEADER < f->size; at += 8)
		if (!memcmp(f->bytes + at, "WSBK", MAGIC) &&
		    !memcmp(f->bytes + at + KIND, &kind, sizeof(kind)))
			found = at + HEADER + 40;
	return found;
}

static void save(const char *folder, const char *name, const char *bytes, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0) {
		fprintf(stderr, "make_fixtures: cannot write '%s': %s\n", path, strerror(errno));
		exit(1);
	}
}

static void save_and_free(const char *folder, const char *name, struct file f)
{
	save(folder, name, f.bytes, f.size);
	free(f.bytes);
}

static void make_folder(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (mkdir(path, 0777) != 0 && errno != EEXIST) {
		fprintf(stderr, "make_fixtures: cannot make '%s': %s\n", path, strerror(errno));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const char text[] = "This is a text, and no trace.\n";
	struct file whole;
	const char *to;

	if (argc != 2) {
		fputs("usage: make_fixtures FOLDER\n", stderr);
		return 2;
	}
	to = argv[1];
	make_folder(to, "traces");
	make_folder(to, "broken");
	save_and_free(to, "traces/step-bf16.wtrace", make_step(WSNVTX_DTYPE_bf16, "bf16", 17));
	save_and_free(to, "traces/killed.wtrace", make_killed());
	save_and_free(to, "traces/empty.wtrace", make_empty());
	save_and_free(to, "traces/hostile.wtrace", make_hostile());

	whole = make_step(WSNVTX_DTYPE_fp32, "fp32", 10);
	save(to, "traces/step-fp32.wtrace", whole.bytes, whole.size);
	save(to, "broken/truncated.wtrace", whole.bytes, inside_block(&whole, WS_KIND_NVTX));
	save_and_free(to, "broken/too-new.wtrace", make_too_new(&whole));
	whole.bytes[inside_block(&whole, WS_KIND_API)] ^= 0x10;
	save(to, "broken/flipped-bit.wtrace", whole.bytes, whole.size);
	free(whole.bytes);
	save(to, "broken/no-trace.wtrace", text, sizeof(text) - 1);
	save(to, "broken/nothing.wtrace", text, 0);
	return 0;
}
