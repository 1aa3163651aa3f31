/* What others of the machine prepare where we write. */
#pragma once

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

#include "formats/base/outfile.h"
#include "recorder/shared/segment_file.h"
#include "tests/support/recorder/run.h"
#include "tests/environment/scratch.h"

#define OTHER_USER 65534
#define SECRET     "the secret of the one who records\n"

static struct run r;
static char victim[RUN_PATH];  /* a file of the one who records */
static char planted[RUN_PATH]; /* a whole segment that names it as its output */

/* --- what is prepared --- */

/* A segment like that of a further process that has attached and is gone. */
static inline void make_planted(const char *path, const char *output, uint32_t pid)
{
	const struct ws_seg_opts opts = {.thread_buffers = 1,
	                                 .ring_size = 4096,
	                                 .defs_size = 1 << 16};
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
	snprintf(seg->plan.output, sizeof(seg->plan.output), "%s", output);
	memcpy(seg->control.command, "chosen by another user", 23);
	atomic_store(&seg->owner.pid, pid);
	atomic_store(&seg->attached, 1);
	ws_seg_seal(seg);
	munmap(seg, size);
}

static inline void begin(void)
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

static inline void end(void)
{
	run_end(&r);
}

static inline void expect_victim_untouched(const char *what)
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
static inline int record_after(const char *command)
{
	char all[8192];

	snprintf(all, sizeof(all), "umask 077; s=$WARPSHEET_SEGMENT; %s; '%s' exit 100 %s", command,
	         WS_TEST_VICTIM, r.tally);
	return RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--buffers", "2", "--",
	           "/bin/sh", "-c", all);
}

/* Everything but what was planted is as without it. */
static inline void expect_ignored(const char *what)
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

static inline void check_planted(const char *const commands[][2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char command[4096];

		snprintf(command, sizeof(command), "p=%s; f=$s.process-4194305-1; %s", planted,
		         commands[i][1]);
		cr_expect_eq(record_after(command), 3, "%s: %s", commands[i][0], r.text);
		expect_ignored(commands[i][0]);
		end();
		begin();
	}
}

/* --- folders --- */

/* A folder of this user's in memory, as $XDG_RUNTIME_DIR. */
static inline void make_runtime(char runtime[RUN_PATH])
{
	snprintf(runtime, RUN_PATH, "%s/ws_runtime.XXXXXX", scratch_memory());
	cr_assert_not_null(mkdtemp(runtime), "%s", runtime);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static inline void expect_folder_refused(const char *dir, const char *why)
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

/* --- what is told of segments that were left --- */

static inline void leave_segment(const char *name)
{
	char path[2 * RUN_PATH];
	struct ws_segment_file file;
	struct ws_err err;

	snprintf(path, sizeof(path), "%s/%s", r.segments, name);
	make_planted(path, victim, 4194305);
	cr_assert_eq(ws_segment_file_open(&file, path, &err), WS_OK, "%s", err.text);
	ws_segment_file_close(&file);
}
