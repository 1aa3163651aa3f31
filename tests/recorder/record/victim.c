/*
 * A program to be recorded that ends in every way a program can. Usage:
 *   victim MODE COUNT TALLY
 * It emits COUNT rounds; round i is a range "event i" around a CPU kernel
 * "kernel i" and a mark. TALLY is a file in which it counts the rounds that
 * are behind it, so that a test knows what must be in the trace after a death
 * at any moment.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/shared/segment.h"
#include "tests/support/recorder/nvtx_module.h"

#define THREADS 8

static _Atomic int *tally; /* rounds done; [1]: rounds started */
static wsn_domain cpu;
static char **arguments;

static void one_round(int i)
{
	struct wsn_event attr = {
	        .version = WSN_VERSION,
	        .size = sizeof(attr),
	        .message_type = WSN_MESSAGE_ASCII,
	};
	char range[32], kernel[32];

	snprintf(range, sizeof(range), "event %d", i);
	snprintf(kernel, sizeof(kernel), "kernel %d", i);
	attr.message.ascii = kernel;
	atomic_fetch_add(&tally[1], 1);
	nvtx.RangePushA(range);
	nvtx.DomainRangePushEx(cpu, &attr);
	nvtx.DomainRangePop(cpu);
	nvtx.MarkA("mark");
	nvtx.RangePop();
	atomic_fetch_add(&tally[0], 1);
}

static void rounds(int first, int count)
{
	for (int i = first; i < first + count; i++)
		one_round(i);
}

/* --- ways to end --- */

static int with_exit(int count)
{
	rounds(0, count);
	return 3;
}

/* All rounds inside one range. */
static int nested(int count)
{
	nvtx.RangePushA("epoch");
	rounds(0, count);
	nvtx.RangePop();
	return 0;
}

static int with_underscore_exit(int count)
{
	rounds(0, count);
	_exit(4);
}

static int with_sigkill(int count)
{
	rounds(0, count);
	kill(getpid(), SIGKILL);
	return 0;
}

static int with_segfault(int count)
{
	rounds(0, count);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit */
	kill(getpid(), SIGSEGV);
	return 0;
}

static int with_abort(int count)
{
	rounds(0, count);
	signal(SIGABRT, SIG_DFL);
	kill(getpid(), SIGABRT);
	return 0;
}

static int run_self(const char *mode, const char *count)
{
	execl("/proc/self/exe", "victim", mode, count, arguments[3], (char *)NULL);
	return 99;
}

/* The other image goes on with the number that this one ended with. */
static int with_exec(int count)
{
	rounds(0, count);
	return run_self("second-image", arguments[2]);
}

static int as_second_image(int count)
{
	rounds(count, count);
	return 6;
}

static int wait_for(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* What a forked child does: marks of its own, and one by what its parent registered. */
static void as_forked_child(int count, wsn_domain domain, wsn_string name)
{
	const struct wsn_event attr = {
	        .version = WSN_VERSION,
	        .size = sizeof(attr),
	        .message_type = WSN_MESSAGE_REGISTERED,
	        .message = {.registered = name},
	};

	for (int i = 0; i < count; i++)
		nvtx.MarkA("mark of the child");
	nvtx.DomainMarkEx(domain, &attr);
	exit(7);
}

static int with_forked_child(int count)
{
	wsn_domain domain = nvtx.DomainCreateA("of the parent");
	wsn_string name = nvtx.DomainRegisterStringA(domain, "registered by the parent");
	pid_t pid;

	rounds(0, count / 2);
	pid = fork();
	if (!pid) {
		/* a child of a child that has recorded nothing is one, too */
		if (!(pid = fork()))
			as_forked_child(1000, domain, name);
		wait_for(pid);
		as_forked_child(1000, domain, name);
	}
	wait_for(pid);
	rounds(count / 2, count - count / 2);
	return 0;
}

static atomic_bool forks_are_done;

static void *marks_until_done(void *arg)
{
	char name[32];

	(void)arg;
	for (int i = 0; !atomic_load(&forks_are_done); i++) {
		/* each one defined anew: a lock is held most of the time */
		snprintf(name, sizeof(name), "busy %d", i % 1000);
		nvtx.DomainRegisterStringA(NULL, name);
		nvtx.MarkA(name);
	}
	return NULL;
}

/* COUNT forks beside three threads that record all the time. */
static int with_many_forks(int count)
{
	wsn_string name = nvtx.DomainRegisterStringA(NULL, "registered by the parent");
	pthread_t threads[3];
	int wrong = 0;

	for (int t = 0; t < 3; t++)
		pthread_create(&threads[t], NULL, marks_until_done, NULL);
	for (int i = 0; i < count; i++) {
		const pid_t pid = fork();

		if (!pid)
			as_forked_child(10, NULL, name);
		wrong += wait_for(pid) != 7;
	}
	atomic_store(&forks_are_done, 1);
	for (int t = 0; t < 3; t++)
		pthread_join(threads[t], NULL);
	return wrong ? 8 : 0;
}

static int with_forked_program(int count)
{
	pid_t pid;

	rounds(0, count / 2);
	pid = fork();
	if (!pid)
		exit(run_self("other", "1000"));
	wait_for(pid);
	rounds(count / 2, count - count / 2);
	return 0;
}

/* Not counted in the tally: it is another process. */
static int as_other(int count)
{
	for (int i = 0; i < count && nvtx.MarkA; i++)
		nvtx.MarkA("mark of the child");
	return 0;
}

static void *some_rounds(void *arg)
{
	int *range = arg;

	usleep(20000); /* the main thread is gone by then */
	rounds(range[0], range[1]);
	free(range);
	return NULL;
}

static void start_threads(pthread_t *threads, int count)
{
	for (int t = 0; t < THREADS; t++) {
		int *range = malloc(2 * sizeof(*range));

		range[0] = t * count;
		range[1] = count;
		pthread_create(&threads[t], NULL, some_rounds, range);
	}
}

static int with_threads_after_main(int count)
{
	pthread_t threads[THREADS];

	start_threads(threads, count);
	pthread_exit(NULL);
}

static int with_threads(int count)
{
	pthread_t threads[THREADS];

	start_threads(threads, count);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	return 0;
}

/* One thread after the other, each ends before the next begins. */
static void *one_round_thread(void *arg)
{
	one_round(*(int *)arg);
	return NULL;
}

static int with_short_threads(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, one_round_thread, &i);
		pthread_join(thread, NULL);
	}
	return 0;
}

/* Goes on until somebody ends it. */
static int until_killed(int count)
{
	for (int i = 0; i < count; i++) {
		one_round(i);
		if (i % 50 == 0)
			usleep(1000);
	}
	return 0;
}

/* Long enough for several looks of the launcher. */
static int slowly(int count)
{
	for (int i = 0; i < count; i++) {
		one_round(i);
		usleep(1000);
	}
	return 0;
}

/* A round for each byte of its input; in a step, unless that is not wanted. */
static int by_input(int has_steps)
{
	char c;

	for (int i = 1; read(0, &c, 1) == 1; i++) {
		nvtx.RangePushA(has_steps ? "step" : "other");
		one_round(i);
		nvtx.RangePop();
	}
	return 0;
}

/* Until its launcher has counted it as one that it cannot see. */
static int until_counted(int count)
{
	int fd = open(getenv(WS_SEG_ENV), O_RDWR);
	struct ws_seg_header *seg =
	        mmap(NULL, sizeof(*seg), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (seg == MAP_FAILED)
		return 3;
	for (int i = 0; i < count && !seg->lost[WS_DROPPED_process_not_recorded]; i++) {
		one_round(i);
		usleep(1000);
	}
	return 0;
}

static void count_signal(int number)
{
	atomic_fetch_add(&tally[number == SIGUSR2], 1);
}

/* How often SIGUSR1 and SIGUSR2 come; [2]: they may come now. */
static int counting_signals(int count)
{
	signal(SIGUSR1, count_signal);
	signal(SIGUSR2, count_signal);
	atomic_store(&tally[2], 1);
	for (;;)
		pause();
	return count;
}

/* --- main --- */

static const struct {
	const char *name;
	int (*run)(int count);
} modes[] = {
        {"exit", with_exit},
        {"nested", nested},
        {"_exit", with_underscore_exit},
        {"sigkill", with_sigkill},
        {"sigsegv", with_segfault},
        {"abort", with_abort},
        {"exec", with_exec},
        {"second-image", as_second_image},
        {"fork", with_forked_child},
        {"fork-exec", with_forked_program},
        {"fork-many", with_many_forks},
        {"other", as_other},
        {"threads-after-main", with_threads_after_main},
        {"threads", with_threads},
        {"short-threads", with_short_threads},
        {"until-killed", until_killed},
        {"slowly", slowly},
        {"by-input", by_input},
        {"until-counted", until_counted},
        {"count-signals", counting_signals},
};

int main(int argc, char **argv)
{
	int fd;

	if (argc != 4)
		return 2;
	arguments = argv;
	fd = open(argv[3], O_RDWR);
	tally = mmap(NULL, 3 * sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		return 2;
	if (!nvtx_attach() && strcmp(argv[1], "other") != 0)
		return 5;
	if (nvtx.DomainCreateA)
		cpu = nvtx.DomainCreateA(WSNVTX_CPU_DOMAIN);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run((int)strtol(argv[2], NULL, 10));
	return 2;
}
