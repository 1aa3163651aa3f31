/*
 * bench_trace [LAUNCHES [OUT.wtrace]]: size and speed of the trace format on a
 * synthetic stream that looks like training: steps of a transformer, each
 * launch with one kernel, one API call and on average 2.4 NVTX events, with
 * the jitter of real clocks (kernel time 2 % log-normal, API time 9 %, queue
 * delay 70 ns, 32 ns ticks of the device clock). Prints sizes and rates, or
 * writes OUT.wtrace; exits 1 when what was written is not read back.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "formats/trace/check.h"
#include "formats/trace/reader.h"
#include "formats/trace/writer.h"

#define LAYERS        24
#define OPS_PER_LAYER 20
#define FLUSH_NS      1000000000 /* as the recorder does */

struct stream {
	struct ws_trace_writer *writer;
	struct ws_err err;
	uint64_t random;
	int64_t cpu_ns, gpu_ns, flushed_ns;
	uint64_t correlation, launches, rows;
	uint64_t api_name, domain;
	uint64_t op_name[OPS_PER_LAYER], layer_name[LAYERS], phase_name[3];
	uint64_t payload[OPS_PER_LAYER], config[OPS_PER_LAYER];
	double kernel_ns[OPS_PER_LAYER];
	uint64_t check; /* of what was written */
};

static void must(enum ws_status status, const struct ws_err *err)
{
	if (status == WS_OK)
		return;
	fprintf(stderr, "bench_trace: %s\n", err->text);
	exit(ws_status_exit_code(status));
}

/* xorshift: the stream is the same on every machine. */
static double uniform(struct stream *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return ((double)(s->random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct stream *s)
{
	double radius = sqrt(-2 * log(uniform(s)));

	return radius * cos(2 * M_PI * uniform(s));
}

static int64_t at_least(double ns, int64_t least)
{
	return ns < (double)least ? least : (int64_t)ns;
}

static uint64_t text_id(struct stream *s, const char *text)
{
	uint64_t id;

	must(ws_trace_writer_intern(s->writer, text, strlen(text), &id, &s->err), &s->err);
	return id;
}

static void define_names(struct stream *s)
{
	static const char *const phases[] = {"forward", "backward", "optimizer"};
	struct ws_row_device device = {.name = text_id(s, "synthetic")};
	struct ws_row_thread thread = {.id = 1, .pid = 4242, .tid = 4242};
	char text[160];

	must(ws_trace_writer_add(s->writer, WS_KIND_DEVICE, &device, &s->err), &s->err);
	must(ws_trace_writer_add(s->writer, WS_KIND_THREAD, &thread, &s->err), &s->err);
	s->api_name = text_id(s, "cudaLaunchKernel");
	s->domain = text_id(s, "warpsheet");
	for (int i = 0; i < 3; i++)
		s->phase_name[i] = text_id(s, phases[i]);
	for (int i = 0; i < LAYERS; i++) {
		snprintf(text, sizeof(text), "layer %d", i);
		s->layer_name[i] = text_id(s, text);
	}
	for (int i = 0; i < OPS_PER_LAYER; i++) {
		uint8_t payload[96] = {(uint8_t)i};
		struct ws_row_launch_config config = {
		        .pid = 4242,
		        .grid_x = 64u << (i % 5),
		        .grid_y = 1,
		        .grid_z = 1,
		        .block_x = 256,
		        .block_y = 1,
		        .block_z = 1,
		        .registers = 40 + 8 * (unsigned)i,
		};

		snprintf(text, sizeof(text), "op %d", i);
		s->op_name[i] = text_id(s, text);
		snprintf(text, sizeof(text),
		         "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_%d>(Params)",
		         i);
		config.name = text_id(s, text);
		must(ws_trace_writer_intern_config(s->writer, &config, &s->config[i], &s->err),
		     &s->err);
		must(ws_trace_writer_intern_payload(s->writer, 1, payload, sizeof(payload),
		                                    &s->payload[i], &s->err),
		     &s->err);
		s->kernel_ns[i] = 3000 * exp(3 * uniform(s));
	}
}

static void add(struct stream *s, enum ws_kind kind, const void *row)
{
	must(ws_trace_writer_add(s->writer, kind, row, &s->err), &s->err);
	s->rows++;
}

static void nvtx(struct stream *s, enum ws_nvtx_type type, uint64_t name, uint64_t payload)
{
	struct ws_row_nvtx row = {
	        .time_ns = s->cpu_ns,
	        .thread = 1,
	        .type = type,
	        .domain = s->domain,
	        .name = name,
	        .payload = payload,
	};

	add(s, WS_KIND_NVTX, &row);
	s->check += (uint64_t)row.time_ns;
	s->cpu_ns += at_least(90 + 25 * normal(s), 40);
}

static void launch(struct stream *s, int op)
{
	struct ws_row_api api = {
	        .start_ns = s->cpu_ns,
	        .thread = 1,
	        .name = s->api_name,
	        .correlation = ++s->correlation,
	};
	struct ws_row_kernel kernel = {.correlation = s->correlation, .config = s->config[op]};
	double ready, outlier = uniform(s) < 0.005 ? 2.5 : 1;

	api.dur_ns = at_least(4200 * (1 + 0.09 * normal(s)) * (uniform(s) < 0.01 ? 4 : 1), 900);
	s->cpu_ns += api.dur_ns;
	ready = fmax((double)s->gpu_ns + 1180 + 70 * normal(s),
	             (double)s->cpu_ns + 2200 + 180 * normal(s));
	kernel.start_ns = (int64_t)ready / 32 * 32;
	kernel.dur_ns = (int64_t)(s->kernel_ns[op] * exp(0.02 * normal(s)) * outlier) / 32 * 32;
	s->gpu_ns = kernel.start_ns + kernel.dur_ns;
	add(s, WS_KIND_API, &api);
	add(s, WS_KIND_KERNEL, &kernel);
	s->check += (uint64_t)(api.start_ns + api.dur_ns + kernel.start_ns + kernel.dur_ns);
	s->launches++;
	s->cpu_ns += at_least(400 + 120 * normal(s), 100);
}

static void layer(struct stream *s, int l)
{
	nvtx(s, WS_NVTX_PUSH, s->layer_name[l], 0);
	for (int op = 0; op < OPS_PER_LAYER; op++) {
		/* every sixth op range has no launch, as views have none */
		if (op % 6 == 5) {
			nvtx(s, WS_NVTX_PUSH, s->op_name[op], 0);
			nvtx(s, WS_NVTX_POP, 0, 0);
		}
		nvtx(s, WS_NVTX_PUSH, s->op_name[op], s->payload[op]);
		launch(s, op);
		nvtx(s, WS_NVTX_POP, 0, 0);
	}
	nvtx(s, WS_NVTX_POP, 0, 0);
	if (s->cpu_ns - s->flushed_ns >= FLUSH_NS) {
		must(ws_trace_writer_flush(s->writer, &s->err), &s->err);
		s->flushed_ns = s->cpu_ns;
	}
}

static void step(struct stream *s)
{
	for (int phase = 0; phase < 3; phase++) {
		nvtx(s, WS_NVTX_PUSH, s->phase_name[phase], 0);
		for (int l = 0; l < LAYERS; l++)
			layer(s, phase == 1 ? LAYERS - 1 - l : l);
		nvtx(s, WS_NVTX_POP, 0, 0);
	}
	/* the host waits for the loss */
	if (s->cpu_ns < s->gpu_ns)
		s->cpu_ns = s->gpu_ns + 8000;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_columns(const struct ws_table_data *t, uint64_t launches)
{
	for (unsigned c = 0; c < t->def->ncolumns; c++)
		printf("  %-24s %9.4f bytes/launch\n", t->def->columns[c].name,
		       (double)t->columns[c].stored_bytes / (double)launches);
}

/* Sum of the columns that the stream summed up; loads all of them. */
static uint64_t read_back(const struct ws_trace_reader *r, uint64_t launches, int print)
{
	static const struct {
		enum ws_kind kind;
		int columns[2];
	} checked[] = {
	        {WS_KIND_KERNEL, {WS_COL_kernel_start_ns, WS_COL_kernel_dur_ns}},
	        {WS_KIND_API, {WS_COL_api_start_ns, WS_COL_api_dur_ns}},
	        {WS_KIND_NVTX, {WS_COL_nvtx_time_ns, -1}},
	};
	uint64_t sum = 0;

	for (size_t k = 0; k < sizeof(checked) / sizeof(*checked); k++) {
		struct ws_table_data t;
		struct ws_err err;

		must(ws_trace_reader_load(r, checked[k].kind, &t, &err), &err);
		for (int c = 0; c < 2 && checked[k].columns[c] >= 0; c++)
			for (uint64_t i = 0; i < t.rows; i++)
				sum += t.columns[checked[k].columns[c]].v[i];
		if (print) {
			printf("%s: %" PRIu64 " rows\n", t.def->name, t.rows);
			print_columns(&t, launches);
		}
		ws_table_data_release(&t);
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t launches = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct stream s = {.random = 88172645463325252u};
	const struct ws_trace_writer_opts opts = {0};
	struct ws_check_result result;
	struct ws_trace_reader *r;
	double start, made, opened, loaded;
	struct ws_bytes bytes;
	uint64_t sum;

	if (argc > 2)
		must(ws_trace_writer_create(&s.writer, argv[2], &opts, &s.err), &s.err);
	else
		must(ws_trace_writer_create_mem(&s.writer, &opts, &s.err), &s.err);
	define_names(&s);
	start = seconds();
	while (s.launches < launches)
		step(&s);
	must(ws_trace_writer_close(s.writer, &s.err), &s.err);
	made = seconds();
	printf("%" PRIu64 " launches, %" PRIu64 " rows, %" PRIu64 " bytes: %.2f bytes/launch\n",
	       s.launches, s.rows, ws_trace_writer_size(s.writer),
	       (double)ws_trace_writer_size(s.writer) / (double)s.launches);
	printf("generate and encode: %.2f s, %.2f M rows/s\n", made - start,
	       (double)s.rows / (made - start) / 1e6);
	if (argc > 2) {
		ws_trace_writer_free(s.writer);
		return 0;
	}

	bytes = ws_trace_writer_mem(s.writer);
	start = seconds();
	must(ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &s.err), &s.err);
	opened = seconds();
	sum = read_back(r, s.launches, 0);
	loaded = seconds();
	read_back(r, s.launches, 1);
	printf("open and verify: %.4f s, %.2f GB/s; load: %.3f s, %.1f M rows/s\n", opened - start,
	       (double)bytes.len / (opened - start) / 1e9, loaded - opened,
	       (double)s.rows / (loaded - opened) / 1e6);
	ws_trace_reader_free(r);

	start = seconds();
	must(ws_trace_check_mem(bytes.ptr, bytes.len, NULL, NULL, &result, &s.err), &s.err);
	printf("check: %.3f s\n", seconds() - start);
	ws_trace_writer_free(s.writer);
	if (result.damage || result.notes || sum != s.check) {
		fprintf(stderr, "bench_trace: what was read is not what was written\n");
		return 1;
	}
	return 0;
}
