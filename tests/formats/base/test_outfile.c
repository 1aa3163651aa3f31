/* Who is asked to stop leaves no temporary file, whenever the signal comes. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/outfile.h"

static int signal_when_made;

/* In place of the C library's: a signal may come as the file is made, before its name is known. */
int mkostemps(char *name, int suffix_bytes, int flags)
{
	int (*real)(char *, int, int) = dlsym(RTLD_NEXT, "mkostemps");
	int fd = real(name, suffix_bytes, flags);

	if (signal_when_made)
		raise(signal_when_made);
	return fd;
}

static int files_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	cr_assert_not_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.' || e->d_name[1] == 'a';
	closedir(dir);
	return n;
}

Test(outfile, a_signal_that_comes_as_the_file_is_made_leaves_none)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	char dir[] = "/tmp/ws_outfile.XXXXXX", path[64];

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a", dir);
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
		struct ws_outfile out;
		struct ws_err err;
		int status;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (!pid) {
			signal(stops[i], SIG_DFL);
			signal_when_made = stops[i];
			_exit(ws_outfile_open(&out, path, &err) == WS_OK);
		}
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == stops[i], "%x", status);
		cr_expect_eq(files_in(dir), 0, "signal %d left its file", stops[i]);
	}
	rmdir(dir);
}

Test(outfile, a_signal_that_is_ignored_stays_so)
{
	char dir[] = "/tmp/ws_outfile.XXXXXX", path[64];
	struct ws_outfile out;
	struct ws_err err;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a", dir);
	signal(SIGHUP, SIG_IGN);
	signal_when_made = SIGHUP;
	cr_assert_eq(ws_outfile_open(&out, path, &err), WS_OK, "%s", err.text);
	cr_expect_eq(ws_outfile_commit(&out, &err), WS_OK, "%s", err.text);
	cr_expect_eq(files_in(dir), 1);
	unlink(path);
	rmdir(dir);
}
