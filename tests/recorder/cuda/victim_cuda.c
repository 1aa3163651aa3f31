/*
 * A CUDA program to be recorded that ends in every way a program can:
 *   victim_cuda MODE COUNT [THREADS [PAUSE_NS [TIME_FILE]]]
 * Each of THREADS threads (1) launches COUNT kernels. Launch i of thread t has the number
 * t * COUNT + i + 1 as its graph node, so that a test finds each one. TIME_FILE gets the ns that
 * the launches took: on the wall, of the launching thread's processor time, and of the process's.
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
#include "tests/support/recorder/own_segment.h"

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

static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                   CLOCK_PROCESS_CPUTIME_ID};
#define CLOCKS 3

static void read_clocks(int64_t ns[CLOCKS])
{
	for (int i = 0; i < CLOCKS; i++) {
		struct timespec ts;

		clock_gettime(clocks[i], &ts);
		ns[i] = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	}
}

static void write_times(const char *path, const int64_t begin[CLOCKS])
{
	FILE *f = fopen(path, "we");
	int64_t now[CLOCKS];

	read_clocks(now);
	if (!f)
		exit(96);
	for (int i = 0; i < CLOCKS; i++)
		fprintf(f, "%lld%c", (long long)(now[i] - begin[i]), i + 1 < CLOCKS ? ' ' : '\n');
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

/* Never freed: the complete callback is given buffers of others, too. */
static void foreign_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	static uint8_t *given[64];
	static _Atomic unsigned next;

	*size = 65536;
	*buffer = given[atomic_fetch_add(&next, 1) % 64] = calloc(1, *size);
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

/* A profiler of 13.3: it has activities of its own beside the recorder's. */
static void *scoped;
static _Atomic long foreign_kernels;

static void scoped_request(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	foreign_request(buffer, size, max_records);
}

static void scoped_complete(uint8_t *buffer, size_t size, size_t valid_size, void *info)
{
	void *cupti = dlopen(getenv("WARPSHEET_CUPTI_PATH"), RTLD_NOW | RTLD_NOLOAD);
	int (*next)(void *subscriber, uint8_t *buffer, size_t valid_size, uint8_t **record);
	uint8_t *record = NULL;

	(void)size, (void)info;
	*(void **)&next = dlsym(cupti, "cuptiActivityGetNextRecord_v2");
	while (!next(scoped, buffer, valid_size, &record))
		atomic_fetch_add(&foreign_kernels, *record == 10);
}

static void no_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

static int launch_beside_a_profiler(void)
{
	void *cupti = dlopen(getenv("WARPSHEET_CUPTI_PATH"), RTLD_NOW | RTLD_NOLOAD);
	struct {
		size_t struct_size;
		const char *name;
		char *other;
		size_t other_size;
		uint8_t allow_multiple, reserved[7];
	} params = {sizeof(params), "victim", NULL, 0, 1, {0}};
	int (*subscribe)(void **subscriber, void *callback, void *user, void *params);
	int (*register_callbacks)(void *subscriber, void *request, void *complete);
	int (*enable)(void *subscriber, int kind, void *config), (*flush)(uint32_t flag);

	*(void **)&subscribe = dlsym(cupti, "cuptiSubscribe_v2");
	*(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks_v2");
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable_v2");
	*(void **)&flush = dlsym(cupti, "cuptiActivityFlushAll");
	usleep(100000);
	if (subscribe(&scoped, (void *)no_callback, NULL, &params) ||
	    register_callbacks(scoped, (void *)scoped_request, (void *)scoped_complete) ||
	    enable(scoped, 10, NULL))
		return 93;
	launches(count, count);
	usleep(200000);
	launches(2 * count, count);
	flush(1);
	return atomic_load(&foreign_kernels) == 2 * count ? 0 : 94;
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

static _Atomic int is_done;

static void *other_ranges(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_done)) {
		wsn_range_id id = (nvtx.RangePushA("other"), nvtx.RangeStartA("started"));

		nvtx.RangePushA("in other");
		usleep(30);
		nvtx.RangePop();
		nvtx.RangeEnd(id);
		nvtx.RangePop();
	}
	return NULL;
}

/* VICTIM_STEPS steps of COUNT launches beside another thread's ranges, killed in VICTIM_KILL. */
static int launch_in_steps(void)
{
	const long steps = strtol(getenv("VICTIM_STEPS"), NULL, 10);
	pthread_t thread;

	nvtx_attach();
	pthread_create(&thread, NULL, other_ranges, NULL);
	/* with VICTIM_BY_INPUT each waits for a byte */
	for (long s = 1; s <= steps && (!getenv("VICTIM_BY_INPUT") || getchar() != EOF); s++) {
		nvtx.RangePushA("step");
		nvtx.RangePushA("inner");
		launches(s * count, count);
		if (s == strtol(getenv("VICTIM_KILL") ?: "0", NULL, 10))
			kill(getenv("VICTIM_KILLS") ? getppid() : getpid(), SIGKILL);
		nvtx.RangePop();
		nvtx.MarkA("a mark");
		nvtx.RangePop();
	}
	atomic_store(&is_done, 1);
	pthread_join(thread, NULL);
	return 0;
}

/* The fake's handles: see fake_cupti.c. 0x3000 is none of its streams. */
static int name_all(void)
{
	nvtx_attach();
	nvtx.NameCudaStreamA((const void *)0x1007, "an old name");
	nvtx.NameCudaStreamA((const void *)0x1007, "compute");
	nvtx.NameCuStreamA((const void *)0x3000, "unknown to CUPTI");
	nvtx.NameCuContextA((const void *)0x2001, "main context");
	nvtx.NameCudaDeviceA(0, "the only one");
	nvtx.NameCudaEventA((const void *)0x1007, "an event");
	launches(count, count);
	return 0;
}

/* Somebody sets the clock (fake_clock.c) in the middle of a range. */
static int launch_through_a_step(void)
{
	void (*step)(int64_t ns);

	*(void **)&step = dlsym(RTLD_DEFAULT, "fake_clock_step");
	if (!step)
		return 92;
	usleep(100000); /* CUPTI's clock was looked at before */
	nvtx_attach();
	nvtx.RangePushA("around");
	launches(count, count);
	usleep(1000); /* the fake's last kernel ends microseconds from now, by its old clock */
	step(strtoll(getenv("FAKE_CLOCK_STEP_NS"), NULL, 10));
	launches(2 * count, count);
	nvtx.RangePop();
	return 0;
}

/* The program ends during a flush, by a clock (fake_clock.c) that is behind the kernel's. */
static int end_by_a_late_clock(void)
{
	int64_t (*move)(int64_t ns);

	*(void **)&move = dlsym(RTLD_DEFAULT, "fake_clock_move");
	if (!move)
		return 92;
	launches(count, 400);
	usleep(100000); /* the next flush has begun */
	move(0);
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
	if (!strcmp(mode, "steps"))
		return launch_in_steps();
	if (!strcmp(mode, "names"))
		return name_all();
	if (!strcmp(mode, "step"))
		return launch_through_a_step();
	if (!strcmp(mode, "late-clock"))
		return end_by_a_late_clock();
	if (!strcmp(mode, "capture"))
		return launch_while_capturing();
	if (!strcmp(mode, "beside"))
		return launch_beside_a_profiler();
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

/* Strings of the segment that hold VICTIM_REPLACES become VICTIM_BY. */
static void attack(void)
{
	const char *part = getenv("VICTIM_REPLACES");

	if (part && own_segment_replace(part, getenv("VICTIM_BY")) < 0)
		exit(96);
}

int main(int argc, char **argv)
{
	int64_t begin[CLOCKS];

	if (argc < 3)
		return 97;
	arguments = argv;
	count = strtol(argv[2], NULL, 10);
	pause_ns = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	start_cuda();
	attack();
	if (getenv("VICTIM_OPENS") && !dlopen(getenv("VICTIM_OPENS"), RTLD_NOW | RTLD_LOCAL))
		return 95;
	warm_up();
	if (getenv("VICTIM_WAITS"))
		getchar();
	read_clocks(begin);
	all_launches(argc > 3 ? strtol(argv[3], NULL, 10) : 1);
	if (argc > 5)
		write_times(argv[5], begin);
	return end(argv[1]);
}
