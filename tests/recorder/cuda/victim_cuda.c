/*
 * A CUDA program to be recorded that ends in every way a program can:
 *   victim_cuda MODE COUNT [THREADS [PAUSE_NS [TIME_FILE]]]
 * Each of THREADS threads (1) launches COUNT kernels. Launch i of thread t has
 * the number t * COUNT + i + 1 as its graph node, so that a test finds each one.
 * How long the launches took, in ns, is written into TIME_FILE.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/recorder/cuda/fake.h"
#include "tests/support/recorder/nvtx_module.h"

#define MAX_THREADS 64

static fake_launch launch;
static fake_reset reset;
static long count, pause_ns;
static char **arguments;

static const char *const names[] = {"_Z4gemmPfS_i", "_Z7softmaxPf", "_Z4castPfPh", "_Z4adamPf",
                                    "_Z5scalePf"};

static void start_cuda(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	fake_init init;

	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
	*(void **)&reset = dlsym(driver, "cudaDeviceReset");
	init(0);
}

/* Launches come no faster than this; a sleep would be far too long. */
static void wait_until_ns(uint64_t ns)
{
	struct timespec now;

	/* whoever else waits for a processor gets it: this one only passes the time */
	while (clock_gettime(CLOCK_MONOTONIC, &now),
	       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec < ns)
		sched_yield();
}

static void launches(long first, long n)
{
	struct timespec now;
	uint64_t start;

	clock_gettime(CLOCK_MONOTONIC, &now);
	start = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	for (long i = 0; i < n; i++) {
		launch(names[i % 5], (uint64_t)(first + i) + 1, (unsigned)(i % 5) + 1);
		if (pause_ns)
			wait_until_ns(start + (uint64_t)((i + 1) * pause_ns));
	}
}

static void *thread_main(void *arg)
{
	launches((long)(size_t)arg * count, count);
	return NULL;
}

static void write_time(const char *path, const struct timespec *begin)
{
	struct timespec now;
	FILE *f = fopen(path, "we");

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!f)
		exit(96);
	fprintf(f, "%ld\n",
	        (now.tv_sec - begin->tv_sec) * 1000000000 + now.tv_nsec - begin->tv_nsec);
	fclose(f);
}

static void all_launches(long threads)
{
	pthread_t thread[MAX_THREADS];

	for (long t = 1; t < threads; t++)
		pthread_create(&thread[t], NULL, thread_main, (void *)(size_t)t);
	launches(5, count - 5);
	for (long t = 1; t < threads; t++)
		pthread_join(thread[t], NULL);
}

/* As most programs do; meanwhile the recorder learns the kernels' names. */
static void warm_up(void)
{
	long launched = count < 5 ? count : 5, pause_before = pause_ns;

	pause_ns = 0;
	launches(0, launched);
	usleep(150000);
	pause_ns = pause_before;
}

/* --- another profiler, as PyTorch's: it registers buffers of its own and stops in the end --- */

static _Atomic long foreign_buffers;

static void foreign_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 65536;
	*buffer = calloc(1, *size);
	*max_records = 0;
}

static void foreign_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid_size)
{
	(void)context, (void)stream, (void)buffer, (void)size;
	atomic_fetch_add(&foreign_buffers, valid_size != 0);
}

/* Ticks since some time or other, as a processor counts them. */
static uint64_t foreign_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int launch_under_a_profiler(int with_clock)
{
	void *cupti = dlopen(getenv("WARPSHEET_CUPTI_PATH"), RTLD_NOW | RTLD_NOLOAD);
	int (*register_callbacks)(void *request, void *complete);
	int (*register_clock)(uint64_t(*fn)(void)), (*disable)(int kind), (*flush)(uint32_t flag);

	*(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&register_clock = dlsym(cupti, "cuptiActivityRegisterTimestampCallback");
	*(void **)&disable = dlsym(cupti, "cuptiActivityDisable");
	*(void **)&flush = dlsym(cupti, "cuptiActivityFlushAll");
	usleep(100000); /* some flushes: the recorder knows what it should see */
	if (with_clock)
		register_clock(foreign_clock);
	else
		register_callbacks((void *)foreign_request, (void *)foreign_complete);
	launches(count, count);
	usleep(300000);
	launches(2 * count, count);
	if (with_clock)
		return 0;
	flush(1);
	disable(10); /* concurrent kernels */
	launches(3 * count, count);
	return atomic_load(&foreign_buffers) ? 0 : 95;
}

/* Half of the launches are captured: they make a graph and no work. */
static int launch_while_capturing(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	fake_capture begin, end_capture;

	*(void **)&begin = dlsym(driver, "cuStreamBeginCapture_v2");
	*(void **)&end_capture = dlsym(driver, "cuStreamEndCapture");
	begin();
	launches(1000000, count);
	end_capture();
	launches(count, count);
	return 0;
}

/* The child must not touch the parent's buffers. */
static int fork_and_launch(int child_exits)
{
	pid_t child = fork();

	if (!child) {
		launches(1000000, 500);
		if (child_exits)
			exit(0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	launches(count, count);
	return 0;
}

/* It ends the program: threads of driver and tool would keep it alive for ever. */
static void *outlive(void *arg)
{
	(void)arg;
	usleep(100000);
	launches(count, count);
	exit(0);
}

/* A range around the second half: by then CUPTI has told of this thread, or not. */
static int launch_in_range(int wait_us)
{
	usleep((useconds_t)wait_us);
	nvtx_attach();
	nvtx.RangePushA("second half");
	launches(count, count);
	nvtx.RangePop();
	return 0;
}

static int end(const char *mode)
{
	pthread_t thread;

	if (!strcmp(mode, "exit"))
		return 3;
	if (!strcmp(mode, "_exit"))
		_exit(4);
	if (!strcmp(mode, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(mode, "segv")) {
		signal(SIGSEGV, SIG_DFL);
		kill(getpid(), SIGSEGV);
	}
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "exec"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(mode, "again")) /* the next image attaches again */
		execl("/proc/self/exe", arguments[0], "exit", arguments[2], NULL);
	if (!strcmp(mode, "fork"))
		return fork_and_launch(0);
	if (!strcmp(mode, "fork-exit"))
		return fork_and_launch(1);
	if (!strcmp(mode, "reset")) {
		reset();
		launches(count, count);
		return 0;
	}
	if (!strcmp(mode, "capture"))
		return launch_while_capturing();
	if (!strcmp(mode, "profiler") || !strcmp(mode, "clock"))
		return launch_under_a_profiler(!strcmp(mode, "clock"));
	if (!strcmp(mode, "range"))
		return launch_in_range(0);
	if (!strcmp(mode, "late-range"))
		return launch_in_range(200000);
	if (!strcmp(mode, "outlive")) {
		pthread_create(&thread, NULL, outlive, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(mode, "wait")) /* to be killed from outside */
		pause();
	return 98;
}

int main(int argc, char **argv)
{
	struct timespec begin;

	if (argc < 3)
		return 97;
	arguments = argv;
	count = strtol(argv[2], NULL, 10);
	pause_ns = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	start_cuda();
	warm_up();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	all_launches(argc > 3 ? strtol(argv[3], NULL, 10) : 1);
	if (argc > 5)
		write_time(argv[5], &begin);
	return end(argv[1]);
}
