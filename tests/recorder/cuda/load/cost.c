/*
 * What a launch costs the program, by part, with a driver and a CUPTI for tests: cost COUNT
 * PAUSE_NS The same launches three ways, in turn, the best of some rounds: alone      nobody is
 * told null tool  CUPTI writes its records into buffers at which nobody looks: its own cost
 *   recorded   by warpsheet-record
 * What recording adds to the null tool is ours: on the launching thread, and on others (CUPTI's,
 * which hands buffers over, and ours). Ends with 1 when it is more than it may be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/environment/scratch.h"
#include "tests/support/paths.h"

#define ROUNDS 3
/* Of processor time a launch. Some 40 and 300 on an idle machine; where others work on the same
 * cores and caches it was 500, so only what is several times as much is told here. */
#define THREAD_LIMIT_NS 400.0
#define OTHERS_LIMIT_NS 2000.0

enum way { ALONE, NULL_TOOL, RECORDED, WAYS };
static const char *const names[WAYS] = {"alone", "null tool", "recorded"};

struct times {
	double wall_ns, thread_ns, process_ns; /* of all launches */
};

static char dir[] = "/tmp/ws_cost.XXXXXX";
static char segments[256]; /* in memory: what is measured */
static char trace[64], tally[64];

static void exec_way(enum way way, const char *count, const char *pause)
{
	setenv("WARPSHEET_SEGMENT_DIR", segments, 1);
	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
	if (way == NULL_TOOL)
		setenv("CUDA_INJECTION64_PATH", WS_TEST_FAKES "/libnull_tool.so", 1);
	if (!freopen("/dev/null", "w", stderr))
		_exit(125);
	if (way < RECORDED)
		execl(WS_TEST_VICTIM_CUDA, WS_TEST_VICTIM_CUDA, "exit", count, "1", pause, tally,
		      NULL);
	execl(WS_TEST_RECORD, WS_TEST_RECORD, "-o", trace, "--gpu-buffers", "256", "--kernels-only",
	      "--", WS_TEST_VICTIM_CUDA, "exit", count, "1", pause, tally, NULL);
	_exit(125);
}

/* 0 when it did not run as it must. */
static int run(enum way way, const char *count, const char *pause, struct times *t)
{
	int status = 0, read = 0;
	pid_t pid = fork();
	FILE *f;

	if (!pid)
		exec_way(way, count, pause);
	waitpid(pid, &status, 0);
	f = fopen(tally, "re");
	if (f) {
		read = fscanf(f, "%lf %lf %lf", &t->wall_ns, &t->thread_ns, &t->process_ns);
		fclose(f);
	}
	unlink(tally);
	return WIFEXITED(status) && WEXITSTATUS(status) == 3 && read == 3;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static int measure(const char *count, const char *pause, struct times best[WAYS])
{
	for (int round = 0; round < ROUNDS; round++)
		for (int way = 0; way < WAYS; way++) {
			struct times t = {0};

			if (!run((enum way)way, count, pause, &t)) {
				fprintf(stderr, "%s: it did not run\n", names[way]);
				return 0;
			}
			if (!round)
				best[way] = t;
			best[way].wall_ns = least(best[way].wall_ns, t.wall_ns);
			best[way].thread_ns = least(best[way].thread_ns, t.thread_ns);
			best[way].process_ns = least(best[way].process_ns, t.process_ns);
		}
	return 1;
}

int main(int argc, char **argv)
{
	struct times best[WAYS];
	double count = argc > 2 ? strtod(argv[1], NULL) : 0;
	int bad = 0;

	snprintf(segments, sizeof(segments), "%s/ws_cost.XXXXXX", scratch_memory());
	if (count < 1 || !mkdtemp(dir) || !mkdtemp(segments))
		return 2;
	snprintf(trace, sizeof(trace), "%s/t.wtrace", dir);
	snprintf(tally, sizeof(tally), "%s/tally", dir);
	bad = !measure(argv[1], argv[2], best);
	for (int way = 0; way < WAYS && !bad; way++)
		printf("%-26s %8.1f ns a launch on the wall, %7.1f of its thread, %7.1f of other "
		       "threads\n",
		       names[way], best[way].wall_ns / count, best[way].thread_ns / count,
		       (best[way].process_ns - best[way].thread_ns) / count);
	if (!bad) {
		double thread_ns = (best[RECORDED].thread_ns - best[NULL_TOOL].thread_ns) / count;
		double all_ns = (best[RECORDED].process_ns - best[NULL_TOOL].process_ns) / count;

		printf("recording adds %.1f ns to its thread, %.1f to others\n", thread_ns,
		       all_ns - thread_ns);
		bad = thread_ns > THREAD_LIMIT_NS || all_ns - thread_ns > OTHERS_LIMIT_NS;
	}
	unlink(trace);
	rmdir(segments);
	rmdir(dir);
	return bad;
}
