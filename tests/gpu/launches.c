/*
 * Launches of an empty kernel, counted by the program itself. It links no
 * CUDA: driver and runtime are looked up, the kernel is PTX that the driver
 * compiles, so it is built wherever a C compiler is.
 *   launches API COUNT END TALLY [SYNC_EVERY]
 *     API    driver   cuLaunchKernel
 *            runtime  cudaLaunchKernelExC
 *            graph    replays of a graph of 100 nodes; COUNT is kernels
 *     END    exit | _exit | kill (itself, with work in flight)
 *     TALLY  file for "launched NS_PER_LAUNCH GPU_BYTES_USED NS_ON_THE_HOST": the third is the
 *            wall's time with the waits, the last the launching calls' alone
 *   COUNT with an s behind it is seconds: launches until then, a line for each 30 s.
 * Ends with 77 when there is no GPU.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRAPH_NODES 100
#define PROGRESS_NS INT64_C(30000000000)

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry ws_empty()\n{\n\tret;\n}\n";

/* --- what is used of the driver --- */

/* F(member, symbol, parameters) */
#define DRIVER_LIST(F)                                                                          \
	F(init, cuInit, (unsigned flags))                                                       \
	F(device_get, cuDeviceGet, (int *device, int ordinal))                                  \
	F(retain, cuDevicePrimaryCtxRetain, (void **context, int device))                       \
	F(set_current, cuCtxSetCurrent, (void *context))                                        \
	F(synchronize, cuCtxSynchronize, (void))                                                \
	F(load, cuModuleLoadData, (void **module, const void *image))                           \
	F(get_function, cuModuleGetFunction, (void **function, void *module, const char *name)) \
	F(launch, cuLaunchKernel,                                                               \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,     \
	   unsigned bz, unsigned shared, void *stream, void **params, void **extra))            \
	F(stream_create, cuStreamCreate, (void **stream, unsigned flags))                       \
	F(begin_capture, cuStreamBeginCapture_v2, (void *stream, int mode))                     \
	F(end_capture, cuStreamEndCapture, (void *stream, void **graph))                        \
	F(instantiate, cuGraphInstantiateWithFlags,                                             \
	  (void **exec, void *graph, unsigned long long flags))                                 \
	F(graph_launch, cuGraphLaunch, (void *exec, void *stream))                              \
	F(mem_info, cuMemGetInfo_v2, (size_t * free, size_t * total))

static struct {
#define F(member, symbol, params) int(*member) params;
	DRIVER_LIST(F)
#undef F
} cu;

/* cudaLaunchConfig_t: grid, block, shared memory, stream, attributes. */
struct launch_config {
	unsigned grid[3], block[3];
	size_t shared;
	void *stream;
	void *attributes;
	unsigned nattributes;
};
static int (*runtime_launch)(const struct launch_config *config, const void *function, void **args);

static void *function, *stream, *graph_exec, *runtime_kernel;

static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "launches: %s: error %d\n", what, result);
	exit(1);
}

static void *open_any(const char *const *names)
{
	void *lib = NULL;

	for (int i = 0; !lib && names[i]; i++)
		lib = dlopen(names[i], RTLD_NOW);
	return lib;
}

static void no_gpu(const char *why)
{
	fprintf(stderr, "launches: no GPU: %s\n", why);
	exit(77);
}

static void start_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context, *module;
	int device = 0;

	if (!lib)
		no_gpu("no driver is installed");
#define F(member, symbol, params)                   \
	*(void **)&cu.member = dlsym(lib, #symbol); \
	if (!cu.member)                             \
		no_gpu("the driver has no " #symbol);
	DRIVER_LIST(F)
#undef F
	if (cu.init(0) || cu.device_get(&device, 0))
		no_gpu("the driver finds none");
	check(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cu.set_current(context), "cuCtxSetCurrent");
	check(cu.load(&module, ptx), "cuModuleLoadData");
	check(cu.get_function(&function, module, "ws_empty"), "cuModuleGetFunction");
	check(cu.stream_create(&stream, 1), "cuStreamCreate");
}

/* The same kernel through the runtime, as programs that nvcc compiled launch theirs. */
static void start_runtime(void)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12",
	                                    "/usr/local/cuda/lib64/libcudart.so.13",
	                                    "/usr/local/cuda/lib64/libcudart.so.12", NULL};
	int (*load)(void **library, const void *code, void *jit, void **jit_values, unsigned njit,
	            void *options, void **values, unsigned noptions);
	int (*get_kernel)(void **kernel, void *library, const char *name);
	void *lib = open_any(names), *library;

	if (!lib)
		no_gpu("no CUDA runtime is installed");
	*(void **)&load = dlsym(lib, "cudaLibraryLoadData");
	*(void **)&get_kernel = dlsym(lib, "cudaLibraryGetKernel");
	*(void **)&runtime_launch = dlsym(lib, "cudaLaunchKernelExC");
	if (!load || !get_kernel || !runtime_launch)
		no_gpu("the CUDA runtime is too old");
	check(load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), "cudaLibraryLoadData");
	check(get_kernel(&runtime_kernel, library, "ws_empty"), "cudaLibraryGetKernel");
}

static int launch_one(void)
{
	return cu.launch(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static int launch_one_by_runtime(void)
{
	const struct launch_config config = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};

	return runtime_launch(&config, runtime_kernel, NULL);
}

static void make_graph(void)
{
	void *graph;

	check(cu.begin_capture(stream, 1), "cuStreamBeginCapture");
	for (int i = 0; i < GRAPH_NODES; i++)
		check(launch_one(), "cuLaunchKernel");
	check(cu.end_capture(stream, &graph), "cuStreamEndCapture");
	check(cu.instantiate(&graph_exec, graph, 0), "cuGraphInstantiate");
}

static int launch_graph(void)
{
	return cu.graph_launch(graph_exec, stream);
}

struct plan {
	int (*one)(void);
	long count, step, sync_every; /* launches, of one call, before a wait */
	int64_t for_ns;               /* 0: count says how many */
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void write_tally(const char *path, long launched, double ns, double host_ns)
{
	size_t free = 0, total = 0;
	FILE *f = fopen(path, "we");

	cu.mem_info(&free, &total);
	if (!f || fprintf(f, "%ld %.1f %zu %.1f\n", launched, ns, total - free, host_ns) < 0 ||
	    fclose(f)) {
		fprintf(stderr, "launches: cannot write %s\n", path);
		exit(1);
	}
}

/* A soak says how it goes, so that one that is cut short has told something. */
static void tell_progress(int64_t begin, int64_t now, long launched)
{
	static int64_t next = PROGRESS_NS;

	if (now - begin < next)
		return;
	next += PROGRESS_NS;
	printf("%lld s: %ld launched, %.1f ns each\n", (long long)((now - begin) / 1000000000),
	       launched, (double)(now - begin) / (double)launched);
	fflush(stdout);
}

/*
 * The channel to the GPU holds about a thousand launches: before it is full the host waits for the
 * GPU, so that a call's own time is the host's and not the slower one's of both.
 */
static long launch_all(const struct plan *plan, int64_t *wall_ns, int64_t *host_ns)
{
	const int64_t begin = now_ns();
	long launched = 0;

	for (int64_t now = begin;
	     plan->for_ns ? now - begin < plan->for_ns : launched < plan->count;) {
		const int64_t before = now_ns();

		for (long i = 0; i < plan->sync_every && (plan->for_ns || launched < plan->count);
		     i += plan->step, launched += plan->step)
			check(plan->one(), "launch");
		*host_ns += now_ns() - before;
		cu.synchronize();
		now = now_ns();
		if (plan->for_ns)
			tell_progress(begin, now, launched);
	}
	*wall_ns = now_ns() - begin;
	return launched;
}

int main(int argc, char **argv)
{
	struct plan plan = {.one = launch_one, .step = 1, .sync_every = 500};
	int64_t wall_ns = 0, host_ns = 0;
	char *unit;
	long launched;

	if (argc < 5)
		return 2;
	plan.count = strtol(argv[2], &unit, 10);
	plan.for_ns = *unit == 's' ? plan.count * 1000000000 : 0;
	if (argc > 5)
		plan.sync_every = strtol(argv[5], NULL, 10);
	start_driver();
	if (!strcmp(argv[1], "runtime")) {
		start_runtime();
		plan.one = launch_one_by_runtime;
	} else if (!strcmp(argv[1], "graph")) {
		make_graph();
		plan.one = launch_graph;
		plan.step = GRAPH_NODES;
	}
	for (int i = 0; i < 100; i++) /* the first launches load and compile */
		check(plan.one(), "launch");
	check(cu.synchronize(), "cuCtxSynchronize");
	launched = launch_all(&plan, &wall_ns, &host_ns);
	/* with work in flight, where it kills itself */
	for (int i = 0; !strcmp(argv[3], "kill") && i < 100; i++)
		check(plan.one(), "launch");
	write_tally(argv[4], launched + (!strcmp(argv[3], "kill") ? 200 : 100) * plan.step,
	            (double)wall_ns / (double)launched, (double)host_ns / (double)launched);
	if (!strcmp(argv[3], "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[3], "_exit"))
		_exit(0);
	return 0;
}
