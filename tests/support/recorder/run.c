#include "tests/support/recorder/run.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/shared/segment_file.h"
#include "tests/environment/scratch.h"

void run_begin(struct run *r)
{
	int fd;

	memset(r, 0, sizeof(*r));
	/* a short path: commands with several of them must fit */
	snprintf(r->dir, sizeof(r->dir), "%s/ws_record.XXXXXX",
	         strlen(scratch_folder()) < 32 ? scratch_folder() : "/tmp");
	cr_assert_not_null(mkdtemp(r->dir));
	snprintf(r->trace, sizeof(r->trace), "%s/t.wtrace", r->dir);
	snprintf(r->tally, sizeof(r->tally), "%s/tally", r->dir);
	snprintf(r->segments, sizeof(r->segments), "%s/segments", r->dir);
	snprintf(r->output, sizeof(r->output), "%s/stderr", r->dir);
	cr_assert_eq(mkdir(r->segments, 0700), 0);
	fd = open(r->tally, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	r->rounds = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq((void *)r->rounds, MAP_FAILED);
	close(fd);
}

static void empty_folder(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (entry->d_name[0] != '.')
			unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

void run_end(struct run *r)
{
	munmap((void *)r->rounds, 4096);
	empty_folder(r->segments);
	empty_folder(r->dir);
}

void run_preload(struct run *r, const char *library)
{
	char link[RUN_PATH];

	snprintf(link, sizeof(link), "%s/" RUN_PRELOAD, r->dir);
	unlink(link);
	cr_assert_eq(symlink(library, link), 0);
	setenv("LD_PRELOAD", link, 1);
}

pid_t run_start(struct run *r, const char *const *args)
{
	const char *argv[64] = {WS_TEST_RECORD};
	pid_t pid;
	int n = 1;

	for (; args[n - 1]; n++) {
		cr_assert_lt(n, 63);
		argv[n] = args[n - 1];
	}
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		int fd = open(r->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, STDERR_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		if (chdir(r->dir))
			_exit(125);
		execv(argv[0], (char *const *)argv);
		_exit(125);
	}
	return pid;
}

pid_t run_start_traced(const struct run *r, const char *const *argv)
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (!pid) {
		int fd = open(r->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, STDERR_FILENO);
		dup2(fd, STDOUT_FILENO);
		if (chdir(r->dir) || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(125);
		raise(SIGSTOP);
		execv(argv[0], (char *const *)argv);
		_exit(125);
	}
	return pid;
}

pid_t run_child_of(pid_t pid)
{
	char path[64];
	long child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return (pid_t)child;
}

void run_read_output(struct run *r)
{
	int fd = open(r->output, O_RDONLY);
	ssize_t n = read(fd, r->text, sizeof(r->text) - 1);

	r->text[n > 0 ? n : 0] = 0;
	close(fd);
}

int run_wait(struct run *r, pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	run_read_output(r);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static size_t files_that_end(struct run *r, const char *end, char paths[][RUN_PATH], size_t max)
{
	DIR *d = opendir(r->dir);
	struct dirent *entry;
	size_t n = 0;

	while (d && (entry = readdir(d))) {
		size_t len = strlen(entry->d_name);

		if (len < strlen(end) || strcmp(entry->d_name + len - strlen(end), end) != 0)
			continue;
		if (n < max)
			snprintf(paths[n], RUN_PATH, "%s/%.150s", r->dir, entry->d_name);
		n++;
	}
	if (d)
		closedir(d);
	qsort(paths, n < max ? n : max, sizeof(*paths), by_name);
	return n;
}

size_t run_traces(struct run *r, char paths[][RUN_PATH], size_t max)
{
	return files_that_end(r, ".wtrace", paths, max);
}

size_t run_parts(struct run *r, char paths[][RUN_PATH], size_t max)
{
	return files_that_end(r, ".part", paths, max);
}

const char *run_segment(struct run *r)
{
	static char path[600];
	DIR *d = opendir(r->segments);
	struct dirent *entry;

	path[0] = 0;
	while (d && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		cr_expect_eq(path[0], 0, "more than one segment");
		snprintf(path, sizeof(path), "%s/%s", r->segments, entry->d_name);
	}
	if (d)
		closedir(d);
	return path;
}

/* Count the number behind the prefix of a name. */
static void count_name(int *seen, int n, const char *prefix, const char *name)
{
	long i;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return;
	i = strtol(name + strlen(prefix), NULL, 10);
	cr_assert(i >= 0 && i < n, "%s was never begun", name);
	seen[i]++;
}

static int check_each_once(const int *seen, int started, const char *what)
{
	int missing = 0, doubled = 0;

	for (int i = 0; i < started; i++) {
		missing += !seen[i];
		doubled += seen[i] > 1;
	}
	cr_expect_eq(doubled, 0, "%d %s are there twice", doubled, what);
	return missing;
}

/* How many commits there were. */
static uint64_t commits_of(const char *segment)
{
	struct ws_segment_file file;
	struct ws_seg_commit *commit;
	uint64_t n = 0;

	if (ws_segment_file_open(&file, segment, NULL) != WS_OK)
		return 0;
	commit = calloc(1, ws_seg_commit_size(file.seg));
	if (ws_seg_commit_read(file.seg, commit))
		n = commit->number;
	free(commit);
	ws_segment_file_close(&file);
	return n;
}

void run_wait_committed(struct run *r)
{
	const uint64_t commits = commits_of(run_segment(r));

	while (*run_segment(r) && commits_of(run_segment(r)) < commits + 3)
		usleep(1000);
}

struct probe run_open_whole(struct run *r)
{
	struct probe p;

	probe_open(&p, r->trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->skipped_bytes, 0);
	cr_expect_str_empty(run_segment(r), "the segment is left behind");
	return p;
}

void run_adopt_orphans(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void run_wait_orphans(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

void run_check_rounds(struct run *r, const struct probe *p, int cut)
{
	int done = r->rounds[0], started = r->rounds[1], missing;
	int *ranges = calloc((size_t)started + 1, sizeof(int));
	int *kernels = calloc((size_t)started + 1, sizeof(int));
	char **names;

	/* names by string id, so that the check is linear */
	names = calloc(ROWS(p, string) + 1, sizeof(*names));
	for (uint64_t i = 0; i < ROWS(p, string); i++) {
		struct ws_bytes text = BYTES(p, string, text, i);

		names[CELL(p, string, id, i)] = strndup(text.ptr, text.len);
	}
	for (uint64_t i = 0; i < ROWS(p, nvtx); i++)
		if (CELL(p, nvtx, type, i) == WS_NVTX_PUSH)
			count_name(ranges, started, "event ", names[CELL(p, nvtx, name, i)]);
	for (uint64_t i = 0; i < ROWS(p, kernel); i++) {
		uint64_t config = CELL(p, kernel, config, i);

		cr_assert_eq(CELL(p, launch_config, id, config - 1), config);
		count_name(kernels, started, "kernel ",
		           names[CELL(p, launch_config, name, config - 1)]);
	}
	cr_expect_gt(done, 0, "the victim did nothing");
	missing = check_each_once(ranges, started, "ranges");
	cr_expect_leq(missing, started - done, "%d of %d ranges are missing", missing, done);
	missing = check_each_once(kernels, started, "kernels");
	cr_expect_leq(missing, started - done, "%d of %d kernels are missing", missing, done);
	cr_expect_leq(started - done, cut);
	cr_expect_eq(ROWS(p, api), ROWS(p, kernel));
	for (uint64_t i = 0; i <= ROWS(p, string); i++)
		free(names[i]);
	free(names);
	free(ranges);
	free(kernels);
}
