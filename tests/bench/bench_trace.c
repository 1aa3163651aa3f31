/*
 * bench_trace [LAUNCHES [OUT.wtrace | - [NS]]]: size and speed of the trace format on a
 * synthetic stream that looks like training: steps of a transformer, each
 * launch with one kernel, one API call and on average 2.4 NVTX events, with
 * the jitter of real clocks (kernel time 2 % log-normal, API time 9 %, queue
 * delay 70 ns, 32 ns ticks of the device clock). Prints sizes, beside the entropy
 * of the times, which is the limit, and rates by the thread's CPU time, or
 * writes OUT.wtrace; with NS, CPU times are rounded to it; exits 1 when what was written is not
 * read back.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "formats/trace/check.h"
#include "formats/trace/reader.h"
#include "formats/trace/writer.h"
#include "tests/support/trace_sample.h"

#define LAYERS        24
#define OPS_PER_LAYER 20
#define FLUSH_NS      1000000000 /* as the recorder does */

#define WAITING 4096u

/* A row that the writer does not have yet. */
struct waiting {
	enum ws_kind kind;
	union {
		struct ws_row_kernel kernel;
		struct ws_row_api api;
		struct ws_row_nvtx nvtx;
	} row;
};

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
	struct waiting waiting[WAITING];
	size_t nwaiting;
	double encode_s;
	double entropy_bits; /* of the times: what no encoding goes below */
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

/* The chance that a normal variate lies below x. */
static double below(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

/* The chance that it lies in lo..hi; exact in both tails. */
static double within(double lo, double hi)
{
	return lo > 0 ? below(-lo) - below(-hi) : below(hi) - below(lo);
}

/* Count what it takes to tell an outcome of chance p. */
static void tell(struct stream *s, double p)
{
	s->entropy_bits -= log2(p);
}

/* The same for the outcome ns of at_least(). */
static double chance(int64_t ns, double mean, double sigma, int64_t least)
{
	double lo = ns > least ? ((double)ns - mean) / sigma : -HUGE_VAL;

	return within(lo, ((double)ns + 1 - mean) / sigma);
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

/* Time that this thread computed, whatever else the machine does. */
static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Hand over what was generated. Encoding is timed without the generation, which takes longer. */
static void hand_over(struct stream *s, int flush)
{
	double start = cpu_seconds();

	for (size_t i = 0; i < s->nwaiting; i++)
		must(ws_trace_writer_add(s->writer, s->waiting[i].kind, &s->waiting[i].row,
		                         &s->err),
		     &s->err);
	s->nwaiting = 0;
	if (flush)
		must(ws_trace_writer_flush(s->writer, &s->err), &s->err);
	s->encode_s += cpu_seconds() - start;
}

static void add(struct stream *s, enum ws_kind kind, const void *row)
{
	if (s->nwaiting == WAITING)
		hand_over(s, 0);
	s->waiting[s->nwaiting].kind = kind;
	memcpy(&s->waiting[s->nwaiting++].row, row, ws_schema_kind(kind)->row_size);
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
	int64_t gap_ns;

	add(s, WS_KIND_NVTX, &row);
	s->check += (uint64_t)row.time_ns;
	gap_ns = at_least(90 + 25 * normal(s), 40);
	tell(s, chance(gap_ns, 90, 25, 40));
	s->cpu_ns += gap_ns;
}

/* What the times of a launch say that nothing before them said. */
static void tell_launch(struct stream *s, int op, const struct ws_row_api *api,
                        const struct ws_row_kernel *kernel, int64_t gap_ns)
{
	double gpu = (double)(kernel->start_ns - s->gpu_ns) - 1180;
	double cpu = (double)(kernel->start_ns - api->start_ns - api->dur_ns) - 2200;
	double dur = (double)kernel->dur_ns / s->kernel_ns[op];

	tell(s, 0.99 * chance(api->dur_ns, 4200, 378, 900) +
	                0.01 * chance(api->dur_ns, 16800, 1512, 900));
	/* the later of two moments, in ticks of 32 ns */
	tell(s, below((gpu + 32) / 70) * within(cpu / 180, (cpu + 32) / 180) +
	                below(cpu / 180) * within(gpu / 70, (gpu + 32) / 70));
	tell(s, 0.995 * within(log(dur) / 0.02, log(dur + 32 / s->kernel_ns[op]) / 0.02) +
	                0.005 * within(log(dur / 2.5) / 0.02,
	                               log((dur + 32 / s->kernel_ns[op]) / 2.5) / 0.02));
	tell(s, chance(gap_ns, 400, 120, 100));
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
	int64_t gap_ns;

	api.dur_ns = at_least(4200 * (1 + 0.09 * normal(s)) * (uniform(s) < 0.01 ? 4 : 1), 900);
	s->cpu_ns += api.dur_ns;
	ready = fmax((double)s->gpu_ns + 1180 + 70 * normal(s),
	             (double)s->cpu_ns + 2200 + 180 * normal(s));
	kernel.start_ns = (int64_t)ready / 32 * 32;
	kernel.dur_ns = (int64_t)(s->kernel_ns[op] * exp(0.02 * normal(s)) * outlier) / 32 * 32;
	gap_ns = at_least(400 + 120 * normal(s), 100);
	tell_launch(s, op, &api, &kernel, gap_ns);
	s->gpu_ns = kernel.start_ns + kernel.dur_ns;
	add(s, WS_KIND_API, &api);
	add(s, WS_KIND_KERNEL, &kernel);
	s->check += (uint64_t)(api.start_ns + api.dur_ns + kernel.start_ns + kernel.dur_ns);
	s->launches++;
	s->cpu_ns += gap_ns;
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
		hand_over(s, 1);
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

static void print_columns(const struct ws_column_data *t, uint64_t launches)
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
		struct ws_column_data t;
		struct ws_err err;

		must(ws_trace_reader_load(r, checked[k].kind, &t, &err), &err);
		for (int c = 0; c < 2 && checked[k].columns[c] >= 0; c++)
			for (uint64_t i = 0; i < t.rows; i++)
				sum += t.columns[checked[k].columns[c]].v[i];
		if (print) {
			printf("%s: %" PRIu64 " rows\n", t.def->name, t.rows);
			print_columns(&t, launches);
		}
		ws_column_data_release(&t);
	}
	return sum;
}

/* Every column of every block, one block in memory at a time. */
static void decode_blocks(const struct ws_trace_reader *r)
{
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++) {
		struct ws_block block;
		struct ws_err err;

		must(ws_trace_reader_decode(r, i, &block, &err), &err);
		ws_block_release(&block);
	}
}

int main(int argc, char **argv)
{
	uint64_t launches = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	static struct stream s = {.random = 88172645463325252u};
	const struct ws_trace_writer_opts opts = {
	        .cpu_time_quantum_ns = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0};
	const int to_file = argc > 2 && strcmp(argv[2], "-") != 0;
	struct ws_check_result result;
	struct ws_trace_reader *r;
	double start, opened, decoded, loaded;
	struct ws_bytes bytes;
	uint64_t sum;

	if (to_file)
		must(trace_file_create(&s.writer, argv[2], &opts, &s.err), &s.err);
	else
		must(ws_trace_writer_create_mem(&s.writer, &opts, &s.err), &s.err);
	define_names(&s);
	while (s.launches < launches)
		step(&s);
	hand_over(&s, 0);
	start = cpu_seconds();
	must(ws_trace_writer_close(s.writer, &s.err), &s.err);
	s.encode_s += cpu_seconds() - start;
	printf("%" PRIu64 " launches, %" PRIu64 " rows, %" PRIu64 " bytes: %.2f bytes/launch\n",
	       s.launches, s.rows, ws_trace_writer_size(s.writer),
	       (double)ws_trace_writer_size(s.writer) / (double)s.launches);
	printf("entropy of its times: %.3f bytes/launch\n",
	       s.entropy_bits / 8 / (double)s.launches);
	printf("encode: %.1f ns/launch, %.2f M rows/s\n", s.encode_s * 1e9 / (double)s.launches,
	       (double)s.rows / s.encode_s / 1e6);
	if (to_file) {
		ws_trace_writer_free(s.writer);
		return 0;
	}

	bytes = ws_trace_writer_mem(s.writer);
	start = cpu_seconds();
	must(ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &s.err), &s.err);
	opened = cpu_seconds();
	decode_blocks(r);
	decoded = cpu_seconds();
	sum = read_back(r, s.launches, 0);
	loaded = cpu_seconds();
	read_back(r, s.launches, 1);
	printf("open and verify: %.4f s, %.2f GB/s\n", opened - start,
	       (double)bytes.len / (opened - start) / 1e9);
	printf("decode block by block: %.3f s, %.1f M rows/s; load: %.3f s, %.1f M rows/s\n",
	       decoded - opened, (double)s.rows / (decoded - opened) / 1e6, loaded - decoded,
	       (double)s.rows / (loaded - decoded) / 1e6);
	ws_trace_reader_free(r);

	start = cpu_seconds();
	must(ws_trace_check_mem(bytes.ptr, bytes.len, NULL, NULL, &result, &s.err), &s.err);
	printf("check: %.3f s\n", cpu_seconds() - start);
	ws_trace_writer_free(s.writer);
	if (result.damage || result.notes || (!opts.cpu_time_quantum_ns && sum != s.check)) {
		fprintf(stderr, "bench_trace: what was read is not what was written\n");
		return 1;
	}
	return 0;
}
