/*
 * Somebody who may change names in the folder of an output does so at each single system call of
 * the program that makes it: nothing but the output is written, whatever the names lead to.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/recorder/run.h"

#define TRACE  WS_FIXTURES "/traces/step-fp32.wtrace"
#define SECRET "the secret of the one who reports\n"

static struct run r;
static char folder[RUN_PATH];    /* where names are changed */
static char elsewhere[RUN_PATH]; /* where the changed names lead: a file, or a folder */

static void begin(void)
{
	run_begin(&r);
	snprintf(folder, sizeof(folder), "%s/shared", r.dir);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", r.dir);
	setenv("WARPSHEET_SEGMENT_DIR", r.segments, 1);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(redirected, .init = begin, .fini = end, .timeout = 600);

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
	char command[4 * RUN_PATH];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	cr_assert_eq(system(command), 0, "%s", command);
}

/* --- names that are changed --- */

static void link_to_it(const char *path)
{
	cr_assert(!unlink(path) || errno == ENOENT, "%s", path);
	cr_assert_eq(symlink(elsewhere, path), 0, "%s", path);
}

static void second_name_of_it(const char *path)
{
	cr_assert(!unlink(path) || errno == ENOENT, "%s", path);
	cr_assert_eq(link(elsewhere, path), 0, "%s", path);
}

/* An attack on the output's path: all names there become others. */
struct attack {
	const char *name;
	void (*change)(const char *path);
	bool is_folder; /* the output is one: only its own name changes */
	bool is_below;  /* … or that of a folder in it, which `change` finds */
	bool begins_as_pipe;
	bool is_of_parent; /* the folder that the output lies in becomes another, once it was opened
	                    */
};

static void change_names(const struct attack *a, const char *output)
{
	char path[2 * RUN_PATH];
	DIR *d;

	if (a->is_of_parent)
		output = folder;
	if (a->is_below) {
		a->change(output);
		return;
	}
	if (a->is_folder || a->is_of_parent) {
		snprintf(path, sizeof(path), "%s.moved", output);
		cr_assert(!rename(output, path) || errno == ENOENT);
		a->change(output);
		return;
	}
	d = opendir(folder);
	cr_assert_not_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_name[0] != '.' || strlen(e->d_name) > 2)
			a->change(path);
	}
	closedir(d);
	a->change(output);
}

/* --- the program, and its n-th look at a name in the folder --- */

/* Calls with a path, and which argument that is. */
static const struct {
	long number;
	int at;
} calls[] = {
#ifdef SYS_open /* the older ones, which some processors do not have */
        {SYS_open, 0},       {SYS_creat, 0},    {SYS_stat, 0},       {SYS_lstat, 0},
        {SYS_access, 0},     {SYS_rename, 0},   {SYS_mkdir, 0},      {SYS_unlink, 0},
#endif
        {SYS_openat, 1},     {SYS_statx, 1},    {SYS_newfstatat, 1}, {SYS_faccessat, 1},
        {SYS_mkdirat, 1},    {SYS_unlinkat, 1}, {SYS_renameat, 1},   {SYS_renameat2, 1},
        {SYS_faccessat2, 1},
};

/* A path of the folder, or a name relative to an open one. */
static bool is_of_folder(pid_t pid, uint64_t address)
{
	char text[65] = "";
	struct iovec to = {text, sizeof(text) - 1}, from = {(void *)(uintptr_t)address, to.iov_len};

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) <= 0)
		return false;
	return !strncmp(text, folder, strlen(folder)) || (*text && *text != '/');
}

static bool looks_at_folder(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (info.entry.nr == (uint64_t)calls[i].number)
			return is_of_folder(pid, info.entry.args[calls[i].at]);
	return false;
}

/* Run it and change names at its n-th look. 0: it ended before. */
static bool run_attacked(const char *const *argv, const struct attack *a, const char *output,
                         long n, int *code)
{
	pid_t pid = run_start_traced(&r, argv);
	int status, pass = 0;
	bool done = false;
	long looks = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	do {
		cr_assert_eq(ptrace(PTRACE_SYSCALL, pid, NULL, pass), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		pass = WSTOPSIG(status) & 0x80 || WSTOPSIG(status) == SIGTRAP ? 0
		                                                              : WSTOPSIG(status);
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && looks_at_folder(pid) && ++looks == n) {
			change_names(a, output);
			done = true;
			ptrace(PTRACE_DETACH, pid, NULL, NULL);
			cr_assert_eq(waitpid(pid, &status, 0), pid);
		}
	} while (!done);
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return done;
}

/* --- what must not change --- */

static char before[4096];

/* Each file elsewhere: which it is, its size and its times. */
static void describe(char text[sizeof(before)])
{
	char command[2 * RUN_PATH];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command),
	         "find %s -type f -printf '%%P %%i %%s %%T@ %%m\\n' | sort", elsewhere);
	f = popen(command, "r");
	cr_assert_not_null(f);
	n = fread(text, 1, sizeof(before) - 1, f);
	text[n] = 0;
	cr_assert_eq(pclose(f), 0);
	cr_assert(n > 0 && n < sizeof(before) - 1);
}

static void expect_untouched(const char *what, long n)
{
	char now[sizeof(before)];

	describe(now);
	cr_assert_str_eq(now, before, "%s, name changed at look %ld", what, n);
}

/* --- outputs --- */

struct output {
	const char *name;
	const char *args[8]; /* behind the program, before -o and what it is made of */
	const char *input;
	bool seeks; /* no pipe can take it */
};

static void make_command(const struct output *o, const char *path, const char *argv[16])
{
	const bool records = !strcmp(o->args[0], "record");
	size_t n = 0;

	argv[n++] = records ? WS_TEST_RECORD : WS_TEST_WARPSHEET;
	for (size_t i = records; o->args[i]; i++)
		argv[n++] = o->args[i];
	argv[n++] = strcmp(o->args[0], "gate") ? "-o" : "--baseline";
	argv[n++] = path;
	if (records)
		argv[n++] = "--";
	argv[n++] = o->input;
	argv[n] = NULL;
}

/* At every look until there are no more. */
static void attack(const struct attack *a, const struct output *o)
{
	const char *argv[16];
	char path[2 * RUN_PATH], what[100];
	bool attacked;
	long n = 0;
	int code, reader = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, o->name);
	snprintf(what, sizeof(what), "%s, %s", o->name, a->name);
	make_command(o, path, argv);
	do {
		shell("rm -rf %s %s.moved; mkdir -m 777 %s", folder, folder, folder);
		if (a->begins_as_pipe) {
			cr_assert_eq(mkfifo(path, 0600), 0);
			reader = open(path, O_RDWR | O_NONBLOCK);
			cr_assert_geq(fcntl(reader, F_SETPIPE_SZ, 1 << 20), 1 << 20);
		}
		/* what leads elsewhere before the first look is what the user says */
		n += n ? 1 : 1 + a->is_of_parent;
		attacked = run_attacked(argv, a, path, n, &code);
		cr_expect(!code || (attacked && code == 4), "%s, look %ld: %d", what, n, code);
		expect_untouched(what, n);
		if (reader >= 0)
			close(reader);
	} while (attacked);
	cr_expect_gt(n, 2, "%s: %ld looks", what, n);
}

static const struct output files[] = {
        {"r.xlsx", {"report"}, TRACE, 1},
        {"r.html", {"report"}, TRACE, 0},
        {"r.json", {"report"}, TRACE, 0},
        {"r.csv", {"report", "--table", "summary"}, TRACE, 0},
        {"e.sqlite", {"export"}, TRACE, 1},
        {"e.json", {"export"}, TRACE, 0},
        {"e.json.gz", {"export"}, TRACE, 0},
        {"e.pftrace", {"export"}, TRACE, 0},
        {"i.wtrace", {"import"}, WS_FIXTURES "/imports/alexnet-a100.json.gz", 1},
        {"recorded.wtrace", {"record"}, "/bin/true", 0},
};
#define NFILES (sizeof(files) / sizeof(*files))

static void attack_files(const struct attack *a)
{
	shell("printf '%s' >%s; chmod 600 %s", SECRET, elsewhere, elsewhere);
	describe(before);
	for (size_t i = 0; i < NFILES; i++)
		if (!a->begins_as_pipe || !files[i].seeks)
			attack(a, &files[i]);
}

Test(redirected, no_file_is_written_through_a_link_that_comes_at_any_time)
{
	attack_files(&(struct attack){"link", .change = link_to_it});
}

Test(redirected, no_file_is_written_through_a_second_name_that_comes_at_any_time)
{
	attack_files(&(struct attack){"second name", .change = second_name_of_it});
}

Test(redirected, no_pipe_becomes_a_link_while_it_is_opened)
{
	attack_files(
	        &(struct attack){"pipe, then link", .change = link_to_it, .begins_as_pipe = true});
}

/* The trace is begun, renamed and removed in the folder that was there when it was begun. */
Test(redirected, no_trace_is_written_into_a_folder_that_takes_the_place_of_its_own)
{
	const struct attack a = {"folder", .change = link_to_it, .is_of_parent = true};
	const struct output *recorded = &files[NFILES - 1];

	shell("mkdir %s; echo precious >%s/%s", elsewhere, elsewhere, recorded->name);
	describe(before);
	attack(&a, recorded);
}

static const struct output folders[] = {
        {"parquet", {"export", "--format", "parquet"}, TRACE, 0},
        {"rollup", {"export", "--format", "parquet", "--rollup"}, TRACE, 0},
        {"baseline", {"gate", "--workload", "w", "--update"}, TRACE, 0},
};

Test(redirected, nothing_is_written_into_a_folder_that_the_name_leads_to_later)
{
	const struct attack a = {"link", .change = link_to_it, .is_folder = true};
	const char *argv[16];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		int code;

		/* whose files have the same names */
		make_command(&folders[i], elsewhere, argv);
		shell("rm -rf %s; mkdir -p %s", elsewhere, folder);
		cr_assert(!run_attacked(argv, &a, elsewhere, -1, &code) && !code);
		describe(before);
		attack(&a, &folders[i]);
	}
}

/* A folder of a baseline, if there is one yet, becomes a link to that of another baseline. */
static void link_below(const char *output, const char *below)
{
	char path[3 * RUN_PATH], moved[3 * RUN_PATH], to[3 * RUN_PATH];

	snprintf(path, sizeof(path), "%s/%s", output, below);
	snprintf(moved, sizeof(moved), "%s/%s.moved", output, below);
	snprintf(to, sizeof(to), "%s/%s", elsewhere, below);
	rename(path, moved);
	(void)!symlink(to, path);
}

static void link_workload(const char *output)
{
	link_below(output, "w");
}

static void link_device(const char *output)
{
	link_below(output, "w/example-gpu-invented");
}

Test(redirected, no_folder_of_a_baseline_leads_into_another)
{
	static const struct attack attacks[] = {
	        {"workload", .change = link_workload, .is_below = true},
	        {"device", .change = link_device, .is_below = true},
	};
	const struct output *gate = &folders[sizeof(folders) / sizeof(*folders) - 1];
	const char *argv[16];
	char precious[2 * RUN_PATH];
	int code;

	make_command(gate, elsewhere, argv);
	shell("rm -rf %s; mkdir -p %s", elsewhere, folder);
	cr_assert(!run_attacked(argv, NULL, elsewhere, -1, &code) && !code);
	snprintf(precious, sizeof(precious), "%s/w/example-gpu-invented/precious.wtrace",
	         elsewhere);
	shell("cp " TRACE " %s", precious);
	describe(before);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
		attack(&attacks[i], gate);
}

/* The program that takes `output`, of which the name is a link from the start. */
static void expect_refused(const char *const *argv)
{
	int code, reader;
	char text[400];
	FILE *f;

	cr_assert(!run_attacked(argv, NULL, NULL, -1, &code));
	reader = open(r.output, O_RDONLY);
	f = fdopen(reader, "r");
	cr_assert_not_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	cr_expect_eq(code, 4, "%s %s: %s", argv[0], argv[1], text);
	cr_expect_not_null(strstr(text, "it is a symbolic link"), "%s", text);
}

Test(redirected, an_output_folder_is_no_link)
{
	char path[2 * RUN_PATH], slash[2 * RUN_PATH + 1];
	const char *argv[16];

	shell("mkdir %s %s; echo precious >%s/kernel.csv; echo precious >%s/true-r1.wtrace; "
	      "ln -s %s %s/out",
	      folder, elsewhere, elsewhere, elsewhere, elsewhere, folder);
	describe(before);
	snprintf(path, sizeof(path), "%s/out", folder);
	snprintf(slash, sizeof(slash), "%s/", path);
	for (int i = 0; i < 2; i++) {
		const char *output = i ? slash : path;

		for (size_t k = 0; k < sizeof(folders) / sizeof(*folders); k++) {
			make_command(&folders[k], output, argv);
			expect_refused(argv);
		}
		expect_refused((const char *const[]){WS_TEST_RECORD, "--repeat", "2", "-o", output,
		                                     "--", "/bin/true", NULL});
	}
	expect_untouched("a folder", 0);
}

/* The program that is recorded moves the folder of its series away. */
Test(redirected, runs_of_a_series_follow_no_link_that_comes_between_them)
{
	char out[2 * RUN_PATH], move[10 * RUN_PATH];

	shell("mkdir %s %s; echo precious >%s/.sh-r2.wtrace", folder, elsewhere, elsewhere);
	describe(before);
	snprintf(out, sizeof(out), "%s/out", folder);
	snprintf(move, sizeof(move),
	         "env | grep -q WARPSHEET_SERIES && exit 9; test -h %s && exit; "
	         "mv %s %s.moved && ln -s %s %s",
	         out, out, out, elsewhere, out);
	RUN(&r, "--repeat", "3", "-o", out, "--", "/bin/sh", "-c", move);
	cr_expect_not_null(strstr(r.text, "its folder has made way for another"), "%s", r.text);
	cr_expect_null(strstr(r.text, "exit status 9"), "%s", r.text);
	expect_untouched("a series", 0);
	shell("test -s %s.moved/sh-r*.wtrace", out);
}

Test(redirected, a_pipe_without_a_reader_is_told_before_the_program_starts)
{
	char path[2 * RUN_PATH], ran[2 * RUN_PATH];

	shell("mkdir %s; mkfifo %s/p", folder, folder);
	snprintf(path, sizeof(path), "%s/p", folder);
	snprintf(ran, sizeof(ran), "%s/ran", folder);
	cr_expect_eq(RUN(&r, "-o", path, "--", "/usr/bin/touch", ran), 4, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "nobody reads this pipe; start its reader first"), "%s",
	                   r.text);
	cr_expect_neq(access(ran, F_OK), 0);
}
