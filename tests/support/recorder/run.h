/* Running warpsheet-record in a test, in a folder of its own. */
#pragma once

#include <sys/types.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/probe.h"

#define RUN_PATH 256

struct run {
	char dir[64];            /* everything is in here */
	char trace[RUN_PATH];    /* dir/t.wtrace */
	char tally[RUN_PATH];    /* what the victim counts in */
	char segments[RUN_PATH]; /* given as --segment-dir */
	char output[RUN_PATH];   /* stderr of the last command */
	char text[8192];         /* its contents */
	volatile int *rounds;    /* [0] done, [1] started, as the victim counts them */
};

void run_begin(struct run *r);
void run_end(struct run *r); /* deletes the folder */

/* What is started from now on loads this library first; by a link, since LD_PRELOAD takes no path
 * with a blank. */
void run_preload(struct run *r, const char *library);
#define RUN_PRELOAD "preload.so" /* the link's name */

/* Start warpsheet-record with these arguments (NULL-terminated); returns its pid. */
pid_t run_start(struct run *r, const char *const *args);
/* The only child of a process, 0: there is none. */
pid_t run_child_of(pid_t pid);
/* Start argv in the folder of the run, stopped before it begins, with us as its tracer (ptrace);
 * what it prints goes into r->output. */
pid_t run_start_traced(const struct run *r, const char *const *argv);
/* What it said so far, into r->text. */
void run_read_output(struct run *r);
/* Wait for it. Exit code, 128 + signal when it was killed; r->text is what it said. */
int run_wait(struct run *r, pid_t pid);
/* Both. The list of arguments ends by itself. */
#define RUN(r, ...) run_wait((r), run_start((r), (const char *const[]){__VA_ARGS__, NULL}))

/* Record the victim in this mode, with further options before the program. */
#define RECORD(r, mode, count, ...)                                                   \
	RUN(r, "-o", (r)->trace, "--segment-dir", (r)->segments, ##__VA_ARGS__, "--", \
	    WS_TEST_VICTIM, mode, count, (r)->tally)

/* Programs whose launcher ends before them are ours from now on. */
void run_adopt_orphans(void);
/* Until all of them have ended. */
void run_wait_orphans(void);

/* The traces in the folder, by name; returns how many, of which at most max are in paths. */
size_t run_traces(struct run *r, char paths[][RUN_PATH], size_t max);

/* The same of traces that are not finished, whose names end in .part. */
size_t run_parts(struct run *r, char paths[][RUN_PATH], size_t max);

/* The only segment there is, "" for none. */
const char *run_segment(struct run *r);

/* Until all that the victim has done by now has its rows in the trace, or the recording has ended.
 */
void run_wait_committed(struct run *r);

/* The trace, which is closed and whole; its segment is gone. */
struct probe run_open_whole(struct run *r);

/*
 * Every round that the victim finished is in the trace exactly once (range and
 * kernel), and at most `cut` more that it had begun.
 */
/* In a shell: until a victim has done a round, as its tally (%s) says. */
#define RUN_UNTIL_A_ROUND "until od -An -N4 %s | grep -q '[1-9]'; do sleep 0.01; done"
void run_check_rounds(struct run *r, const struct probe *p, int cut);
