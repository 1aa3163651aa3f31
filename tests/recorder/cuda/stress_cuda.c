/*
 * 64 threads that launch, a flush each few milliseconds that completes buffers
 * on its own thread, CUPTI's thread that completes others, and the drain, all
 * against each other in one process. A plain program, so that it also runs
 * under ThreadSanitizer. Usage: stress_cuda [LAUNCHES_PER_THREAD]
 * Ends with 1 when anything is wrong.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/trace/reader.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment_file.h"
#include "tests/support/recorder/check.h"
#include "tests/support/paths.h"

#define THREADS 64

static struct ws_segment_file file;
static struct ws_trace_writer *writer;
static struct ws_drain *drain;
static int (*launch)(const char *name, uint64_t node, unsigned grid);
static long per_thread;
static _Atomic int running;

static const char *const names[] = {"_Z1av", "_Z1bv", "_Z1cv", "_Z1dv", "_Z1ev", "_Z1fv", "_Z1gv"};

static void *launches(void *arg)
{
	uint64_t first = (uint64_t)(size_t)arg * (uint64_t)per_thread;

	for (long i = 0; i < per_thread; i++) {
		launch(names[i % 7], first + (uint64_t)i + 1, (unsigned)(i % 7) + 1);
		if (!(i % 64))
			usleep(3000); /* fewer processors than threads: others must get on */
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void start(uint32_t slots)
{
	const struct ws_seg_opts opts = {.thread_buffers = 1,
	                                 .ring_size = 4096,
	                                 .defs_size = 1 << 20,
	                                 .slots = slots,
	                                 .slot_size = 65536};
	struct ws_err err;
	void *driver;

	if (ws_segment_file_create_beside(&file, "/tmp/", &opts, &err) == WS_OK)
		file.seg->capture.flush_interval_ms = 2;
	if (!file.seg || ws_segment_file_seal(&file, &err) != WS_OK ||
	    ws_trace_writer_create_mem(&writer, &(struct ws_trace_writer_opts){0}, &err) != WS_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	drain = ws_drain_new(file.seg, writer);
	setenv(WS_SEG_ENV, file.path, 1);
	setenv("CUDA_INJECTION64_PATH", WS_TEST_COLLECTOR, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
	driver = dlopen(WS_TEST_FAKES "/libcuda.so.1", RTLD_NOW);
	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	int (*init)(unsigned flags);
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
	init(0);
	CHECK(atomic_load(&file.seg->gpu.state) == WS_GPU_ON);
}

/*
 * Until no kernel has come for a while. Other records never end: each flush is preceded by a call
 * of the collector's own that CUPTI tells of.
 */
static void drain_all(void)
{
	for (int quiet = 0; quiet < 200;) {
		uint64_t before = ws_drain_counts(drain).gpu_kernels;

		ws_drain_pass(drain);
		if (ws_drain_wants_commit(drain))
			ws_drain_commit(drain);
		if (ws_drain_counts(drain).gpu_kernels == before)
			usleep(1000);
		else
			quiet = 0;
		quiet = atomic_load(&running) ? 0 : quiet + 1;
	}
}

static uint64_t cell(const struct ws_column_data *t, unsigned column, uint64_t row)
{
	return t->columns[column].present ? t->columns[column].v[row] : 0;
}

/* Each launch at most once, its configuration its own; those missing were counted. */
static void check(uint64_t n)
{
	uint64_t lost = ws_drain_lost(drain, WS_DROPPED_activity_dropped);
	struct ws_trace_reader *reader;
	struct ws_column_data kernels, configs;
	struct ws_bytes trace = ws_trace_writer_mem(writer);
	uint8_t *seen = calloc(n + 1, 1);
	struct ws_err err;

	if (ws_trace_reader_open_mem(&reader, trace.ptr, trace.len, &err) != WS_OK ||
	    ws_trace_reader_load(reader, WS_KIND_KERNEL, &kernels, &err) != WS_OK ||
	    ws_trace_reader_load(reader, WS_KIND_LAUNCH_CONFIG, &configs, &err) != WS_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (uint64_t i = 0; i < kernels.rows; i++) {
		uint64_t node = cell(&kernels, WS_COL_kernel_graph_node, i);
		uint64_t config = cell(&kernels, WS_COL_kernel_config, i);

		if (!node || node > n || seen[node]++) {
			CHECK(node && node <= n && seen[node] == 1);
			break;
		}
		CHECK(cell(&configs, WS_COL_launch_config_grid_x, config - 1) ==
		      (node - 1) % (uint64_t)per_thread % 7 + 1);
	}
	CHECK(kernels.rows <= n && n - kernels.rows <= lost);
	CHECK(configs.rows == 7);
	CHECK(!ws_drain_lost(drain, WS_DROPPED_activity_damaged));
	CHECK(!ws_drain_lost(drain, WS_DROPPED_activity_unknown));
	printf("%lu launches, %lu rows, %lu records dropped, %lu requests refused\n",
	       (unsigned long)n, (unsigned long)kernels.rows, (unsigned long)lost,
	       (unsigned long)ws_drain_lost(drain, WS_DROPPED_activity_refused));
	ws_column_data_release(&kernels);
	ws_column_data_release(&configs);
	ws_trace_reader_free(reader);
	free(seen);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct ws_err err;

	per_thread = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
	start(256); /* mostly enough: now and then a refusal is part of it */
	atomic_store(&running, THREADS);
	for (size_t t = 0; t < THREADS; t++)
		CHECK(!pthread_create(&threads[t], NULL, launches, (void *)t));
	drain_all();
	for (size_t t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	drain_all();
	ws_drain_commit(drain);
	CHECK(ws_trace_writer_close(writer, &err) == WS_OK);
	check((uint64_t)THREADS * (uint64_t)per_thread);
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	ws_segment_file_remove(&file);
	fflush(stdout);
	_exit(failures != 0); /* the collector's handlers would flush into what is gone */
}
