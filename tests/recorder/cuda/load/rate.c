/*
 * Many launches, fast: what is recorded of them, and how much memory both
 * sides take. Usage:
 *   rate COUNT PAUSE_NS            every launch must be recorded
 *   rate COUNT PAUSE_NS BUFFERS    the same with so many buffers
 *   rate COUNT PAUSE_NS slow-disk  the disk takes nothing until the program
 *                                  has ended: launches are dropped and counted,
 *                                  and none waits, or it would wait for ever
 * Prints what it measures. Ends with 1 when anything is wrong.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/recorder/check.h"
#include "tests/support/paths.h"
#include "tests/environment/scratch.h"

#define ANON_LIMIT_KB   (96L << 10) /* of the launcher: columns, dictionaries */
#define VICTIM_LIMIT_KB (16L << 10)

static char dir[] = "/tmp/ws_rate.XXXXXX";
static char segments[256]; /* in memory: what is measured */
static char trace[64], said[64], elapsed[64], slow_disk[64];

/* RssAnon of a process in KiB: what it allocated, without the segment. 0: it is gone. */
static long anon_kb(long pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kb = strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

/* The program that the launcher started: the only process with this parent. 0: none yet. */
static long child_of(long pid)
{
	char path[64];
	long child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%ld", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

static pid_t start(const char *count, const char *pause, const char *buffers, int slow)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
	setenv("WARPSHEET_SEGMENT_DIR", segments, 1);
	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
	if (slow) {
		/* a link: LD_PRELOAD takes no path with a blank */
		if (symlink(WS_TEST_SLOW_DISK, slow_disk))
			_exit(125);
		setenv("LD_PRELOAD", slow_disk, 1);
	}
	execl(WS_TEST_RECORD, WS_TEST_RECORD, "-o", trace, "--gpu-buffers", buffers, "--",
	      WS_TEST_VICTIM_CUDA, "exit", count, "1", pause, elapsed, NULL);
	_exit(125);
}

/* The number before a word in what the launcher said; -1 when the word is not there. */
static long number_by(const char *text, const char *word, int before)
{
	const char *at = strstr(text, word);

	if (!at)
		return -1;
	if (!before)
		return strtol(at + strlen(word), NULL, 10);
	while (at > text && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
		at--;
	return strtol(at, NULL, 10);
}

static long read_number(const char *path)
{
	long n = -1;
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	const struct timespec interval = {0, 20000000};
	const int slow = argc > 3 && !strcmp(argv[3], "slow-disk");
	const char *buffers = slow ? "16" : argc > 3 ? argv[3] : "256";
	long launcher_kb = 0, victim_kb = 0, count, kernels, dropped, ns;
	char text[4096] = "";
	struct stat st = {0};
	int status, fd;
	pid_t pid;

	snprintf(segments, sizeof(segments), "%s/ws_rate.XXXXXX", scratch_memory());
	if (argc < 3 || !mkdtemp(dir) || !mkdtemp(segments))
		return 2;
	snprintf(trace, sizeof(trace), "%s/t.wtrace", dir);
	snprintf(said, sizeof(said), "%s/said", dir);
	snprintf(slow_disk, sizeof(slow_disk), "%s/slow_disk.so", dir);
	snprintf(elapsed, sizeof(elapsed), "%s/elapsed", dir);
	count = strtol(argv[1], NULL, 10);
	pid = start(argv[1], argv[2], buffers, slow);
	while (!waitpid(pid, &status, WNOHANG)) {
		long kb = anon_kb(pid), child_kb = anon_kb(child_of(pid));

		launcher_kb = kb > launcher_kb ? kb : launcher_kb;
		victim_kb = child_kb > victim_kb ? child_kb : victim_kb;
		nanosleep(&interval, NULL);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);

	fd = open(said, O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	stat(trace, &st);
	kernels = number_by(text, " kernels", 1);
	dropped = number_by(text, "activity_dropped ", 0);
	ns = read_number(elapsed);
	printf("%ld launches in %.2f s (%.2f M/s), %ld recorded, %ld records dropped, "
	       "%.2f bytes a launch; allocated: launcher %ld MiB, program %ld MiB\n",
	       count, (double)ns / 1e9, (double)count / ((double)ns / 1e3), kernels,
	       dropped < 0 ? 0 : dropped, (double)st.st_size / (double)kernels, launcher_kb >> 10,
	       victim_kb >> 10);
	CHECK(launcher_kb > 0 && launcher_kb < ANON_LIMIT_KB);
	CHECK(victim_kb > 0 && victim_kb < VICTIM_LIMIT_KB);
	if (slow) {
		CHECK(kernels > 0 && kernels < count);
		CHECK(dropped > 0 && kernels + dropped >= count);
	} else {
		CHECK(kernels == count);
		CHECK(dropped < 0);
	}
	if (failures)
		fprintf(stderr, "%s", text);
	unlink(trace);
	unlink(said);
	unlink(slow_disk);
	unlink(elapsed);
	rmdir(segments);
	rmdir(dir);
	return failures != 0;
}
