/* Who is asked to stop leaves no temporary file, whenever the signal comes. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/xalloc.h"

static int signal_when_made;

/* In place of the C library's: a signal may come as the file is made, before its name is known. */
int openat(int folder, const char *name, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = real(folder, name, flags, flags & O_CREAT ? va_arg(ap, mode_t) : 0);
	va_end(ap);
	if (signal_when_made && flags & O_CREAT)
		raise(signal_when_made);
	return fd;
}

static int files_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	cr_assert_not_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
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

/* A folder with one output under way. */
static char dir[64], path[80];
static struct ws_outfile out;
static struct ws_err err;

static void begin_output(const char *name)
{
	snprintf(dir, sizeof(dir), "/tmp/ws_outfile.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
}

/* The only name in the folder. */
static void unfinished_name(char name[400])
{
	DIR *d = opendir(dir);

	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			snprintf(name, 400, "%s/%s", dir, e->d_name);
	closedir(d);
}

Test(outfile, what_replaced_the_unfinished_file_does_not_pass_for_it)
{
	char name[400] = "";

	begin_output("a");
	cr_assert_eq(ws_outfile_open(&out, path, &err), WS_OK, "%s", err.text);
	unfinished_name(name);
	cr_assert_eq(unlink(name), 0);
	cr_assert_eq(symlink("/etc/passwd", name), 0);
	cr_expect_eq(ws_outfile_commit(&out, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "somebody else replaced it"), "%s", err.text);
	cr_expect_eq(files_in(dir), 0);
	rmdir(dir);
}

Test(outfile, a_link_is_replaced_and_what_it_leads_to_stays)
{
	struct stat st;

	begin_output("a");
	cr_assert_eq(symlink("/dev/null", path), 0);
	cr_assert_eq(ws_outfile_open(&out, path, &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_outfile_commit(&out, &err), WS_OK, "%s", err.text);
	cr_assert_eq(lstat(path, &st), 0);
	cr_expect(S_ISREG(st.st_mode));
	unlink(path);
	rmdir(dir);
}

Test(outfile, a_name_that_is_a_folder_is_an_error_at_once)
{
	begin_output("");
	cr_expect_eq(ws_outfile_open(&out, path, &err), WS_IO_WRITE);
	cr_expect_eq(ws_outfile_open(&out, dir, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "it is a folder"), "%s", err.text);
	rmdir(dir);
}

/* Ends in the middle of a file of two folders; the outer one is at path. */
static void end_amid_a_folder(int signal_number)
{
	struct ws_outfolder folder;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		if (ws_outfolder_open(&folder, path, &err) == WS_OK &&
		    ws_outfolder_enter(&folder, "inner", &err) == WS_OK &&
		    ws_outfolder_file(&folder, "a", &out, &err) == WS_OK && signal_number)
			raise(signal_number);
		ws_end_program(WS_IO_WRITE, "no room");
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(outfile, who_ends_in_the_middle_leaves_no_new_folder_and_each_of_before)
{
	struct ws_outfolder folder;

	begin_output("outer");
	for (int signal_number = 0; signal_number <= SIGINT; signal_number += SIGINT) {
		end_amid_a_folder(signal_number);
		cr_expect_eq(files_in(dir), 0, "signal %d", signal_number);
		cr_assert_eq(mkdir(path, 0700), 0);
		end_amid_a_folder(signal_number);
		cr_expect_eq(files_in(path), 0, "signal %d", signal_number);
		cr_expect_eq(rmdir(path), 0, "it was there before");
	}
	cr_assert_eq(ws_outfolder_open(&folder, path, &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_outfolder_commit(&folder, &err), WS_OK, "%s", err.text);
	ws_outfile_remove_unfinished();
	cr_expect_eq(rmdir(path), 0, "one that is complete stays");
	rmdir(dir);
}
