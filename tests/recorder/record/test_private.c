/* What others could have prepared where we write is neither trusted nor written through. */
#include "tests/recorder/record/planted_segments.h"

TestSuite(private, .init = begin, .fini = end, .timeout = 600);

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

Test(private, the_output_is_the_launcher_s_own_whatever_a_segment_says)
{
	char command[4096], paths[3][RUN_PATH];

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
	struct ws_seg_commit *commit;
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
	commit = calloc(1, ws_seg_commit_size(file.seg));
	commit->number = 1;
	commit->file_size = 5;
	ws_seg_commit_write(file.seg, commit);
	free(commit);
	ws_segment_file_close(&file);
	RUN(&r, "--salvage", segment);
	cr_expect_not_null(strstr(r.text, "gives no trace the name"), "%s", r.text);
	expect_victim_untouched("the trace of a further segment");
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

/* The folder of this user in memory, and what decides that it is taken. */
Test(private, the_runtime_folder_is_taken_when_it_is_in_memory_private_and_has_room)
{
	char runtime[RUN_PATH], out[PATH_MAX], path[2 * RUN_PATH];

	make_runtime(runtime);
	cr_assert_eq(ws_segment_folder_default(0, 1 << 20, out), 1);
	snprintf(path, sizeof(path), "%s/warpsheet", runtime);
	cr_expect_str_eq(out, path);
	cr_expect_eq(ws_segment_folder_default(0, UINT64_MAX / 2, out), 0, "no room");
	cr_expect_eq(ws_segment_folder_default(1, 1 << 20, out), 1);
	snprintf(path, sizeof(path), WS_SEG_DIR "/warpsheet-%u", (unsigned)geteuid());
	cr_expect_str_eq(out, path);

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
	char command[4096];

	snprintf(command, sizeof(command),
	         "stat -c 'mode %%a' $(dirname $WARPSHEET_SEGMENT) >&2; '%s' exit 10 %s",
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
	char command[4096];
	struct probe p;
	int status;

	snprintf(command, sizeof(command),
	         "cd %s && %s && exec '" WS_TEST_RECORD
	         "' -o t.wtrace --segment-dir %s -- '%s' exit 10 %s 2>%s",
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
