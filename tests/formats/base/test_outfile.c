/* Who is asked to stop leaves no temporary file, whenever the signal comes. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/memory.h"
#include "tests/support/paths.h"

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

/* Of the calls that change names the one of this number kills the program; 0: none does. */
static int killed_by, changes;

static void change_a_name(void)
{
	if (++changes == killed_by)
		raise(SIGKILL);
}

static bool cannot_exchange; /* as on NFS */

int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags)
{
	int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");

	change_a_name();
	if (cannot_exchange && flags) {
		errno = EINVAL;
		return -1;
	}
	return real(from, name, to, new_name, flags);
}

static int renames_that_work = -1;

int renameat(int from, const char *name, int to, const char *new_name)
{
	int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");

	change_a_name();
	if (renames_that_work >= 0 && renames_that_work-- == 0) {
		errno = ENOSPC;
		return -1;
	}
	return real(from, name, to, new_name);
}

int unlinkat(int folder, const char *name, int flags)
{
	int (*real)(int, const char *, int) = dlsym(RTLD_NEXT, "unlinkat");

	change_a_name();
	return real(folder, name, flags);
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

	WS_TEST_NEEDS("linux posix"); /* it makes files by the call that stands above */
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

/* --- a folder that replaces another --- */

static bool is_run(const char *name)
{
	return !strncmp(name, "run-", 4);
}

static void put(const char *name, const char *text)
{
	char file[200];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	f = fopen(file, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

/* The first letter of a file of the folder; 0: there is none. */
static int letter_of(const char *name)
{
	char file[200];
	int letter;
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	f = fopen(file, "r");
	if (!f)
		return 0;
	letter = fgetc(f);
	fclose(f);
	return letter;
}

/* dir/it with three runs, a file and a folder of the user's. */
static void begin_old(void)
{
	char kept[100];

	begin_output("it");
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert_eq(chmod(path, 02750), 0);
	put("run-1", "old");
	put("run-2", "old");
	put("run-3", "old");
	put("notes", "mine");
	snprintf(kept, sizeof(kept), "%s/kept", path);
	cr_assert_eq(mkdir(kept, 0700), 0);
	put("kept/run-1", "inside");
}

static void remove_all(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

/* Two new runs, not yet under their names. */
static enum ws_status replace_folder(struct ws_outfolder *f)
{
	static const char *const names[] = {"run-1", "run-2"};
	enum ws_status status = ws_outfolder_open(f, dir, &err);

	WS_THEN(status, ws_outfolder_replace(f, "it", is_run, &err));
	for (size_t i = 0; i < 2 && status == WS_OK; i++) {
		status = ws_outfolder_file(f, names[i], &out, &err);
		if (status == WS_OK) {
			fputs("new", out.f);
			ws_outfolder_add(f, &out);
		}
	}
	return status;
}

static void expect_runs(int first, int second, int third)
{
	cr_expect_eq(letter_of("run-1"), first);
	cr_expect_eq(letter_of("run-2"), second);
	cr_expect_eq(letter_of("run-3"), third);
}

Test(outfile, a_folder_is_replaced_and_keeps_its_rights_and_what_is_not_old)
{
	struct ws_outfolder f;
	struct stat st;

	for (int i = 0; i < 2; i++) {
		cannot_exchange = i;
		begin_old();
		cr_assert_eq(replace_folder(&f), WS_OK, "%s", err.text);
		expect_runs('o', 'o', 'o');
		cr_assert_eq(ws_outfolder_commit(&f, &err), WS_OK, "%s", err.text);
		expect_runs('n', 'n', 0);
		cr_expect_eq(letter_of("notes"), 'm');
		cr_expect_eq(letter_of("kept/run-1"), 'i');
		cr_expect_eq(files_in(dir), 1);
		cr_assert_eq(stat(path, &st), 0);
		cr_expect_eq(st.st_mode & 07777, 02750);
		remove_all();
	}
}

Test(outfile, a_folder_that_replaces_none_is_new)
{
	struct ws_outfolder f;

	begin_output("it");
	cr_assert_eq(replace_folder(&f), WS_OK, "%s", err.text);
	cr_assert_eq(ws_outfolder_show(&f, &err), WS_OK, "%s", err.text);
	expect_runs('n', 'n', 0);
	ws_outfolder_abandon(&f);
	cr_expect_eq(files_in(dir), 0, "it is taken back");
	cr_assert_eq(replace_folder(&f), WS_OK, "%s", err.text);
	cr_assert_eq(ws_outfolder_commit(&f, &err), WS_OK, "%s", err.text);
	expect_runs('n', 'n', 0);
	remove_all();
}

Test(outfile, a_folder_that_is_not_replaced_stays_as_it_is)
{
	struct ws_outfolder f;

	for (int i = 0; i < 4; i++) {
		cannot_exchange = i & 1;
		begin_old();
		cr_assert_eq(replace_folder(&f), WS_OK, "%s", err.text);
		if (i & 2)
			cr_assert_eq(ws_outfolder_show(&f, &err), WS_OK, "%s", err.text);
		ws_outfolder_abandon(&f);
		expect_runs('o', 'o', 'o');
		cr_expect_eq(letter_of("notes"), 'm');
		cr_expect_eq(files_in(dir), 1);
		remove_all();
	}
}

/* Each rename that fails: of a file, and of folders that change places one by one. */
Test(outfile, a_folder_of_which_a_name_cannot_be_changed_stays_as_it_is)
{
	WS_TEST_NEEDS("linux posix"); /* the calls that stand above */
	cannot_exchange = true;
	for (int n = 0; n < 4; n++) {
		struct ws_outfolder f;

		begin_old();
		cr_assert_eq(replace_folder(&f), WS_OK, "%s", err.text);
		renames_that_work = n;
		cr_expect_eq(ws_outfolder_commit(&f, &err), WS_IO_WRITE, "%d", n);
		renames_that_work = -1;
		expect_runs('o', 'o', 'o');
		cr_expect_eq(letter_of("notes"), 'm');
		cr_expect_eq(files_in(dir), 1, "%d", n);
		remove_all();
	}
}

/* How often it left the one before, the new one and none, killed at each change of a name. */
static void kill_each(int left[3])
{
	int status, n = 0;

	do {
		struct ws_outfolder f;
		pid_t pid;
		int first;

		begin_old();
		n++;
		fflush(NULL);
		pid = fork();
		if (!pid) {
			changes = 0;
			killed_by = n;
			if (replace_folder(&f) == WS_OK)
				ws_outfolder_commit(&f, &err);
			_exit(0);
		}
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		first = letter_of("run-1");
		left[first == 'o' ? 0 : first == 'n' ? 1 : 2]++;
		expect_runs(first, first, first == 'o' ? 'o' : 0);
		remove_all();
	} while (WIFSIGNALED(status));
}

Test(outfile, who_is_killed_while_it_replaces_a_folder_leaves_one_or_the_other)
{
	int left[3] = {0, 0, 0}, without[3] = {0, 0, 0};

	WS_TEST_NEEDS("linux"); /* the calls that stand above */
	kill_each(left);
	cr_expect(left[0] >= 3 && left[1] >= 4 && !left[2], "%d, %d, %d", left[0], left[1],
	          left[2]);
	cannot_exchange = true;
	kill_each(without);
	cr_expect(without[0] >= 3 && without[1] >= 4 && without[2] == 1, "%d, %d, %d", without[0],
	          without[1], without[2]);
}

Test(outfile, a_folder_is_not_replaced_through_a_link)
{
	struct ws_outfolder f;
	char link[100];

	begin_old();
	snprintf(link, sizeof(link), "%s/link", dir);
	cr_assert_eq(symlink(path, link), 0);
	cr_assert_eq(ws_outfolder_open(&f, dir, &err), WS_OK, "%s", err.text);
	cr_expect_eq(ws_outfolder_replace(&f, "link", is_run, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "it is a symbolic link"), "%s", err.text);
	ws_outfolder_abandon(&f);
	expect_runs('o', 'o', 'o');
	cr_expect_eq(files_in(dir), 2);
	remove_all();
}
