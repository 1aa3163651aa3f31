/*
 * Other users of the machine: what they prepare where we write must neither be
 * trusted nor written through. The suite `private` needs no rights, the suite
 * `other_user` is root and plays the other user too.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "recorder/shared/segment_file.h"
#include "recorder/shared/segment_folder.h"
#include "tests/record/run.h"

#define OTHER_USER 65534
#define SECRET     "the secret of the one who records\n"

static struct run r;
static char victim[RUN_PATH];  /* a file of the one who records */
static char planted[RUN_PATH]; /* a whole segment that names it as its output */

/* --- what is prepared --- */

/* A segment like that of a further process that has attached and is gone. */
static void make_planted(const char *path, const char *output, uint32_t pid)
{
	const struct ws_seg_opts opts = {.lanes = 1, .ring_size = 4096, .defs_size = 1 << 16};
	const uint64_t size = ws_seg_size(&opts);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct ws_seg_header *seg;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		_exit(1);
	seg = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (seg == MAP_FAILED)
		_exit(1);
	ws_seg_init(seg, &opts);
	snprintf(seg->control.output, sizeof(seg->control.output), "%s", output);
	memcpy(seg->control.command, "chosen by another user", 23);
	atomic_store(&seg->owner.pid, pid);
	atomic_store(&seg->attached, 1);
	munmap(seg, size);
}

static void begin(void)
{
	FILE *f;

	run_begin(&r);
	snprintf(victim, sizeof(victim), "%s/victim", r.dir);
	snprintf(planted, sizeof(planted), "%s/planted", r.dir);
	f = fopen(victim, "w");
	cr_assert_not_null(f);
	fputs(SECRET, f);
	fclose(f);
	cr_assert_eq(chmod(victim, 0600), 0);
	make_planted(planted, victim, 4194305);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(private, .init = begin, .fini = end, .timeout = 120);
TestSuite(other_user, .init = begin, .fini = end, .timeout = 120);

static void expect_victim_untouched(const char *what)
{
	char text[sizeof(SECRET)] = "";
	struct stat st;
	FILE *f = fopen(victim, "r");

	cr_assert_not_null(f);
	cr_expect_eq(fread(text, 1, sizeof(text), f), strlen(SECRET), "%s", what);
	fclose(f);
	cr_expect_arr_eq(text, SECRET, strlen(SECRET), "%s", what);
	cr_assert_eq(stat(victim, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600, "%s", what);
	cr_expect_eq(st.st_uid, geteuid(), "%s", what);
}

/* Record the victim program after a shell command that sees the segment as $s. */
static int record_after(const char *command)
{
	char all[2048];

	snprintf(all, sizeof(all), "umask 077; s=$WARPSHEET_SEGMENT; %s; %s exit 100 %s", command,
	         WS_TEST_VICTIM, r.tally);
	return RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--buffers", "2", "--",
	           "/bin/sh", "-c", all);
}

/* Everything but what was planted is as without it. */
static void expect_ignored(const char *what)
{
	struct probe p;

	cr_assert_not_null(strstr(r.text, "1 file beside the segment is ignored"), "%s: %s", what,
	                   r.text);
	cr_expect_null(strstr(strstr(r.text, "ignored") + 1, "ignored"), "told twice: %s", r.text);
	expect_victim_untouched(what);
	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed, "%s", what);
	cr_expect_eq(ROWS(&p, kernel), 100, "%s", what);
	cr_expect_eq(probe_loss(&p, "process_not_recorded"), 0, "%s", what);
	probe_close(&p);
}

static void check_planted(const char *const commands[][2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char command[1024];

		snprintf(command, sizeof(command), "p=%s; f=$s.process-4194305-1; %s", planted,
		         commands[i][1]);
		cr_expect_eq(record_after(command), 3, "%s: %s", commands[i][0], r.text);
		expect_ignored(commands[i][0]);
		end();
		begin();
	}
}

/* --- segments that are planted --- */

Test(private, a_segment_that_others_could_have_written_is_ignored)
{
	static const char *const commands[][2] = {
	        {"writable by all", "cp $p $f; chmod 666 $f"},
	        {"readable by all", "cp $p $f; chmod 644 $f"},
	        {"a symbolic link", "ln -s $p $f"},
	        {"a hard link", "ln $p $f"},
	        {"a pipe", "mkfifo $f"},
	};

	check_planted(commands, sizeof(commands) / sizeof(*commands));
}

Test(other_user, a_segment_of_another_user_is_ignored)
{
	static const char *const commands[][2] = {
	        {"a whole one", "cp $p $f; chown 65534 $f"},
	        {"and readable by nobody else", "cp $p $f; chmod 0 $f; chown 65534 $f"},
	};

	check_planted(commands, sizeof(commands) / sizeof(*commands));
}

Test(other_user, an_empty_file_of_another_user_is_not_waited_for)
{
	char command[512], path[RUN_PATH];
	long maker = 0;
	FILE *f;

	/* its maker lives on: what is being made by it would be waited for */
	snprintf(path, sizeof(path), "%s/maker", r.dir);
	snprintf(command, sizeof(command),
	         "sleep 60 >/dev/null 2>&1 & echo $! >%s; "
	         "f=$s.process-$!-$(cut -d' ' -f22 /proc/$!/stat); : >$f; chown 65534 $f",
	         path);
	cr_expect_eq(record_after(command), 3, "%s", r.text);
	f = fopen(path, "r");
	cr_assert_not_null(f);
	cr_assert_eq(fscanf(f, "%ld", &maker), 1);
	fclose(f);
	cr_expect_eq(kill((pid_t)maker, 0), 0, "the recording waited for it");
	kill((pid_t)maker, SIGKILL);
	expect_ignored("empty");
}

Test(private, the_output_is_the_launcher_s_own_whatever_a_segment_says)
{
	char command[512], paths[3][RUN_PATH];

	/* nothing is wrong with the file itself: a recorded program can have made it */
	snprintf(command, sizeof(command), "cp %s $s.process-4194305-1", planted);
	cr_expect_eq(record_after(command), 3, "%s", r.text);
	expect_victim_untouched("the output of a further segment");
	cr_expect_eq(run_traces(&r, paths, 3), 2, "%s", r.text);
}

/* Like a launcher before it, but with a further segment that says where its trace is. */
Test(private, salvage_takes_a_trace_s_place_from_the_pattern_only)
{
	char path[RUN_PATH], segment[600];
	struct ws_segment_file file;
	struct ws_err err;
	pid_t pid;

	pid = run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                          "--flush-interval", "3", "--", WS_TEST_VICTIM,
	                                          "until-killed", "3000", r.tally, NULL});
	while (r.rounds[0] < 100)
		usleep(1000);
	kill(pid, SIGKILL);
	cr_expect_eq(run_wait(&r, pid), 137);
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	snprintf(path, sizeof(path), "%.200s" WS_SEG_FURTHER "4194305-1", segment);
	cr_assert_eq(rename(planted, path), 0);
	cr_assert_eq(ws_segment_file_open(&file, path, &err), WS_OK, "%s", err.text);
	snprintf(file.seg->trace_path, sizeof(file.seg->trace_path), "%s", victim);
	atomic_store(&file.seg->commits, 1);
	ws_seg_commit_slot(file.seg, atomic_load(&file.seg->commit_active))->file_size = 5;
	ws_segment_file_close(&file);
	RUN(&r, "--salvage", segment);
	cr_expect_not_null(strstr(r.text, "gives no trace the name"), "%s", r.text);
	expect_victim_untouched("the trace of a further segment");
}

/* --- folders --- */

static void expect_folder_refused(const char *dir, const char *why)
{
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", dir, "--", WS_TEST_VICTIM, "exit",
	                 "10", r.tally),
	             5, "%s: %s", why, r.text);
	cr_expect_not_null(strstr(r.text, dir), "%s", r.text);
	cr_expect_not_null(strstr(r.text, why), "%s", r.text);
	cr_expect_not_null(strstr(r.text, "--segment-dir"), "%s", r.text);
	cr_expect_eq(r.rounds[1], 0, "the program was run");
	cr_expect_neq(access(r.trace, F_OK), 0);
}

Test(private, a_folder_that_others_can_reach_into_is_refused)
{
	static const mode_t modes[] = {0777, 01777, 0755, 0710};
	char link[RUN_PATH];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		cr_assert_eq(chmod(r.segments, modes[i]), 0);
		expect_folder_refused(r.segments, "open to other users");
	}
	cr_assert_eq(chmod(r.segments, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", r.dir);
	cr_assert_eq(symlink(r.segments, link), 0);
	expect_folder_refused(link, "symbolic link");
}

Test(other_user, a_folder_that_another_user_made_before_is_refused)
{
	static const mode_t modes[] = {0700, 0777};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		cr_assert_eq(chmod(r.segments, modes[i]), 0);
		cr_assert_eq(chown(r.segments, OTHER_USER, OTHER_USER), 0);
		expect_folder_refused(r.segments, "belongs to another user");
	}
}

/* Wait for a first segment and put one beside it, as anybody may in a folder like /dev/shm. */
static void attack_folder(void)
{
	for (int i = 0; i < 5000; i++) {
		DIR *d = opendir(r.segments);
		struct dirent *entry;
		char path[3 * RUN_PATH];

		while (d && (entry = readdir(d))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s" WS_SEG_FURTHER "4194305-1", r.segments,
			         entry->d_name);
			make_planted(path, victim, 4194305);
			chmod(path, 0666);
			_exit(0);
		}
		if (d)
			closedir(d);
		usleep(1000);
	}
	_exit(1);
}

Test(other_user, who_waits_for_a_segment_in_a_folder_for_all_replaces_no_file)
{
	pid_t attacker;

	cr_assert_eq(chmod(r.dir, 0711), 0);
	cr_assert_eq(chmod(r.segments, 01777), 0);
	attacker = fork();
	if (!attacker) {
		if (setgroups(0, NULL) || setgid(OTHER_USER) || setuid(OTHER_USER))
			_exit(2);
		attack_folder();
	}
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 "sleep 1; " WS_TEST_VICTIM " exit 10 $0", r.tally),
	             5, "%s", r.text);
	kill(attacker, SIGKILL);
	waitpid(attacker, NULL, 0);
	expect_victim_untouched("the output of a planted segment");
}

/* The folder of this user in memory, and what decides that it is taken. */
Test(private, the_runtime_folder_is_taken_when_it_is_in_memory_private_and_has_room)
{
	char runtime[] = WS_SEG_DIR "/ws_runtime.XXXXXX", out[PATH_MAX], path[64], command[128];
	struct probe p;

	cr_assert_not_null(mkdtemp(runtime), "no " WS_SEG_DIR);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	cr_assert_eq(ws_segment_folder_default(0, 1 << 20, out), 1);
	snprintf(path, sizeof(path), "%s/warpsheet", runtime);
	cr_expect_str_eq(out, path);
	cr_expect_eq(ws_segment_folder_default(0, UINT64_MAX / 2, out), 0, "no room");
	cr_expect_eq(ws_segment_folder_default(1, 1 << 20, out), 1);
	snprintf(command, sizeof(command), WS_SEG_DIR "/warpsheet-%u", (unsigned)geteuid());
	cr_expect_str_eq(out, command);

	cr_expect_eq(RUN(&r, "-o", r.trace, "--buffers", "2", "--gpu-buffers", "8", "--",
	                 WS_TEST_VICTIM, "exit", "10", r.tally),
	             3, "%s", r.text);
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 10);
	probe_close(&p);
	cr_assert_eq(chmod(path, 0777), 0);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--buffers", "2", "--gpu-buffers", "8", "--",
	                 "/bin/true"),
	             5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, path), "%s", r.text);
	cr_expect_eq(rmdir(path), 0, "the segment is left behind");

	cr_assert_eq(chmod(runtime, 0755), 0);
	cr_expect_eq(ws_segment_folder_default(0, 1 << 20, out), 0, "others can look into it");
	rmdir(runtime);
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	cr_expect_eq(ws_segment_folder_default(0, 1 << 20, out), 0);
	setenv("XDG_RUNTIME_DIR", "/proc/self", 1);
	cr_expect_eq(ws_segment_folder_default(0, 1 << 20, out), 0, "not in memory");
}

Test(private, a_segment_beside_the_trace_lies_in_a_folder_of_its_own)
{
	glob_t found;
	char command[512];

	snprintf(command, sizeof(command),
	         "stat -c 'mode %%a' $(dirname $WARPSHEET_SEGMENT) >&2; %s exit 10 %s",
	         WS_TEST_VICTIM, r.tally);
	cr_assert_eq(chmod(r.dir, 0777), 0);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", "/nonexistent", "--", "/bin/sh", "-c",
	                 command),
	             3, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "mode 700"), "%s", r.text);
	snprintf(command, sizeof(command), "%s/" WS_SEG_BESIDE "*", r.dir);
	cr_expect_eq(glob(command, 0, NULL, &found), GLOB_NOMATCH, "the folder is left behind");
}

/* --- the trace under its first name --- */

/* The shell has the pid that the launcher will have. */
static void check_part(const char *how)
{
	char command[1024];
	struct probe p;
	int status;

	snprintf(command, sizeof(command),
	         "cd %s && %s && exec " WS_TEST_RECORD
	         " -o t.wtrace --segment-dir %s -- %s exit 10 %s 2>%s",
	         r.dir, how, r.segments, WS_TEST_VICTIM, r.tally, r.output);
	status = system(command);
	cr_expect_eq(WEXITSTATUS(status), 3, "%s", how);
	expect_victim_untouched(how);
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 10, "%s", how);
	probe_close(&p);
}

Test(private, a_link_at_the_name_that_a_trace_had_while_it_was_written_is_not_followed)
{
	static const char *const how[] = {"ln -s victim t.wtrace.$$.part",
	                                  "ln victim t.wtrace.$$.part"};

	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		check_part(how[i]);
		end();
		begin();
	}
}

Test(other_user, an_output_that_another_user_made_before_is_not_written_to)
{
	char path[RUN_PATH];
	struct stat st;
	struct ws_err err;
	int fd;

	snprintf(path, sizeof(path), "%s/before", r.dir);
	close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
	cr_assert_eq(chown(path, OTHER_USER, OTHER_USER), 0);
	cr_expect_eq(ws_own_file_create(path, &fd, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "another user"), "%s", err.text);
	cr_expect_eq(ws_own_file_open(path, &fd, &err), WS_IO_WRITE);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_size, 0);
}

/* --- what is told of segments that were left --- */

static void leave_segment(const char *name)
{
	char path[2 * RUN_PATH];
	struct ws_segment_file file;
	struct ws_err err;

	snprintf(path, sizeof(path), "%s/%s", r.segments, name);
	make_planted(path, victim, 4194305);
	cr_assert_eq(ws_segment_file_open(&file, path, &err), WS_OK, "%s", err.text);
	ws_segment_file_close(&file);
}

Test(private, a_name_with_escapes_does_not_reach_the_terminal)
{
	leave_segment(WS_SEG_PREFIX "1-\033[31m\xc2\x9b"
	                            "0m");
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true"), 0);
	cr_expect_not_null(strstr(r.text, "--salvage"), "%s", r.text);
	cr_expect_not_null(strstr(r.text, WS_SEG_PREFIX "1-?[31m??0m"), "%s", r.text);
	for (const char *c = r.text; *c; c++)
		cr_expect(*c == '\n' || (unsigned char)*c >= 0x20, "byte %d", *c);
	cr_expect_null(strchr(r.text, '\x9b'));
}

Test(other_user, segments_that_another_user_left_are_not_advertised)
{
	char path[2 * RUN_PATH];

	leave_segment(WS_SEG_PREFIX "1-2");
	snprintf(path, sizeof(path), "%s/" WS_SEG_PREFIX "1-2", r.segments);
	cr_assert_eq(chown(path, OTHER_USER, OTHER_USER), 0);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/true"), 0);
	cr_expect_null(strstr(r.text, "--salvage"), "%s", r.text);
	cr_expect_eq(RUN(&r, "--salvage", path), 5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "another user"), "%s", r.text);
}
