/*
 * keeper COMMAND...: a test of which nothing stays behind, however it ends. Its programs are ended
 * with it, and its folders, $TMPDIR and $WS_TEST_MEMORY (in memory, where /dev/shm is), are
 * removed: also when the test crashes, or ctest kills this program at its time limit or is killed
 * itself. Signals and the mask for new files are those of a shell, whatever the caller's are. The
 * last line says how much processor time the test and its programs took.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "keeper: %s: %m\n", what);
	return 125;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

static void make_folder(const char *variable, const char *in, char path[256])
{
	snprintf(path, 256, "%s/ws_test.XXXXXX", in);
	if (!mkdtemp(path))
		exit(fail(path));
	setenv(variable, path, 1);
}

static void run(char **command, const sigset_t *mask)
{
	static const int usual[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		signal(usual[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(*command, command);
	_exit(fail(*command));
}

/* Wait for the test, or for a signal that ends it; returns its status. */
static int wait_for(pid_t test, const sigset_t *signals)
{
	int status, caught = SIGCHLD;
	pid_t pid;

	while (caught == SIGCHLD) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == test)
				return status;
		caught = sigwaitinfo(signals, NULL);
	}
	return caught;
}

/* Orphans come to this process, which is their subreaper, until none is left. */
static void end_programs(void)
{
	long pid;

	do {
		FILE *f = fopen("/proc/thread-self/children", "re");

		while (f && fscanf(f, "%ld", &pid) == 1)
			kill((pid_t)pid, SIGKILL);
		if (!f)
			return;
		fclose(f);
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/* Of all programs of the test: this process has waited for each. */
static void print_processor_time(void)
{
	struct rusage all;

	getrusage(RUSAGE_CHILDREN, &all);
	fprintf(stderr, "processor time: %.2f s\n",
	        (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
	                (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1e6);
}

static int keep(char **command)
{
	const char *in = getenv("TMPDIR");
	char folder[256], memory[256];
	sigset_t signals, none;
	pid_t test;
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&none);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	signal(SIGCHLD, SIG_DFL);
	umask(022);
	make_folder("TMPDIR", in && !access(in, W_OK) ? in : "/tmp", folder);
	make_folder("WS_TEST_MEMORY", access("/dev/shm", W_OK) ? folder : "/dev/shm", memory);
	test = fork();
	if (!test)
		run(command, &none);
	status = test < 0 ? fail("fork") << 8 : wait_for(test, &signals);
	end_programs();
	print_processor_time();
	nftw(memory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Two processes: the one that ctest kills, and the one that sees it go. */
int main(int argc, char **argv)
{
	pid_t caller = getpid(), keeper;
	int status;

	if (argc < 2)
		return fail("no command");
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* ctest can be ended itself */
	keeper = fork();
	if (keeper < 0)
		return fail("fork");
	if (!keeper) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == caller ? keep(argv + 1) : 125);
	}
	while (waitpid(keeper, &status, 0) < 0)
		if (errno != EINTR)
			return fail("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
