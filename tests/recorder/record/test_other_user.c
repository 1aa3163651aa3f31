/* What another user prepared where we write; to play that user takes root. */
#include "tests/recorder/record/planted_segments.h"

static void begin_as_root(void)
{
	if (geteuid()) {
		cr_log_warn("[SKIP] to play another user takes root"); /* CTest knows it by this */
		cr_skip_test("to play another user takes root");
	}
	begin();
}

static void end_as_root(void)
{
	if (!geteuid())
		end();
}

TestSuite(other_user, .init = begin_as_root, .fini = end_as_root, .timeout = 600);

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
	char command[4096], path[RUN_PATH];
	long maker = 0;
	FILE *f;

	/* its maker lives on: what is being made by it would be waited for */
	snprintf(path, sizeof(path), "%s/maker", r.dir);
	snprintf(command, sizeof(command),
	         "sleep 600 >/dev/null 2>&1 & echo $! >%s; "
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
	for (int i = 0; i < 300000; i++) {
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
	char command[4096];

	cr_assert_eq(chmod(r.dir, 0711), 0);
	cr_assert_eq(chmod(r.segments, 01777), 0);
	attacker = fork();
	if (!attacker) {
		if (setgroups(0, NULL) || setgid(OTHER_USER) || setuid(OTHER_USER))
			_exit(2);
		attack_folder();
	}
	snprintf(command, sizeof(command),
	         "until find '%s' -name '*4194305-1' -perm 666 | grep -q .; do sleep 0.01; "
	         "done; '" WS_TEST_VICTIM "' exit 10 $0",
	         r.segments);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command, r.tally),
	             5, "%s", r.text);
	kill(attacker, SIGKILL);
	waitpid(attacker, NULL, 0);
	expect_victim_untouched("the output of a planted segment");
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
	cr_expect_eq(ws_own_file_create(AT_FDCWD, path, path, &fd, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "another user"), "%s", err.text);
	cr_expect_eq(ws_own_file_open(AT_FDCWD, path, path, &fd, &err), WS_IO_WRITE);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_size, 0);
}

/* Run a program with this output, which ends its first words; r.text is what it says. */
static int output_to(const char *begin, const char *path, const char *end)
{
	char line[8 * RUN_PATH];
	int status;
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line),
	         "WARPSHEET_SEGMENT_DIR='%s' timeout 20 '" WS_BIN "'/%s '%s' %s 2>&1", r.segments,
	         begin, path, end);
	f = popen(line, "r");
	cr_assert_not_null(f);
	n = fread(r.text, 1, sizeof(r.text) - 1, f);
	r.text[n] = 0;
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#define TRACE  "'" WS_FIXTURES "/traces/step-fp32.wtrace'"
#define REPORT "warpsheet report " TRACE " --table summary -o"

struct other_output {
	const char *begin, *name, *end;
};

Test(other_user, nothing_is_written_into_a_pipe_of_another_user)
{
	static const struct other_output outputs[] = {
	        {REPORT, "p.html", ""},
	        {REPORT, "p.json", ""},
	        {REPORT, "p.csv", ""},
	        {REPORT, "p.xlsx", ""},
	        {"warpsheet export " TRACE " -o", "p.sqlite", ""},
	        {"warpsheet export " TRACE " -o", "p.json.gz", ""},
	        {"warpsheet import '" WS_FIXTURES "/imports/alexnet-a100.json.gz' -o", "p.wtrace",
	         ""},
	        {"warpsheet-record -o", "p.wtrace", "-- /bin/true"},
	};
	char path[2 * RUN_PATH], byte;

	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++) {
		int reader;

		snprintf(path, sizeof(path), "%s/%s", r.dir, outputs[i].name);
		cr_assert_eq(mkfifo(path, 0666), 0);
		cr_assert_eq(chown(path, OTHER_USER, OTHER_USER), 0);
		reader = open(path, O_RDONLY | O_NONBLOCK);
		cr_expect_eq(output_to(outputs[i].begin, path, outputs[i].end), 4, "%zu: %s", i,
		             r.text);
		cr_expect_not_null(strstr(r.text, "a pipe that belongs to another user"), "%zu: %s",
		                   i, r.text);
		cr_expect_leq(read(reader, &byte, 1), 0);
		close(reader);
		unlink(path);
	}
}

Test(other_user, nothing_is_written_into_a_folder_of_another_user)
{
	static const struct other_output outputs[] = {
	        {"warpsheet export " TRACE " --format parquet -o", "out", ""},
	        {"warpsheet export " TRACE " --format parquet --rollup -o", "out", ""},
	        {"warpsheet-record --repeat 2 -o", "out", "-- /bin/true"},
	        {"warpsheet gate --update " TRACE " --baseline", "out", ""},
	};
	char path[2 * RUN_PATH];

	snprintf(path, sizeof(path), "%s/out", r.dir);
	cr_assert_eq(mkdir(path, 0777), 0);
	cr_assert_eq(chown(path, OTHER_USER, OTHER_USER), 0);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++) {
		cr_expect_eq(output_to(outputs[i].begin, path, outputs[i].end), 4, "%zu: %s", i,
		             r.text);
		cr_expect_not_null(strstr(r.text, "it belongs to another user"), "%s", r.text);
	}
	cr_expect_eq(rmdir(path), 0, "something was written into it");
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
