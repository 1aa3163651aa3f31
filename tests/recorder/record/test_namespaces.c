/* Processes in PID namespaces of their own, as containers have them: their pids mean nothing
 * outside. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

#define ROUNDS 600

static struct run r;

static void begin(void)
{
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(namespaces, .init = begin, .fini = end, .timeout = 600);

/* Can this user make such a namespace, and does /proc show whose pids they are? */
static bool can(const char *unshare)
{
	char command[256];

	snprintf(command, sizeof(command), "%s true 2>/dev/null && grep -q NSpid /proc/self/status",
	         unshare);
	if (!system(command))
		return 1;
	cr_log_warn("[SKIP] not permitted here: %s", unshare); /* CTest knows it by this */
	return 0;
}

static void record_whole(const char *unshare)
{
	char command[1024];
	struct probe p;

	if (!can(unshare))
		return;
	snprintf(command, sizeof(command), "%s '%s' slowly %d '%s'", unshare, WS_TEST_VICTIM,
	         ROUNDS, r.tally);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command),
	             0, "%s: %s", unshare, r.text);
	cr_expect_eq(r.rounds[0], ROUNDS, "%s", unshare);
	p = run_open_whole(&r);
	run_check_rounds(&r, &p, 0);
	probe_expect_no_loss(&p);
	probe_close(&p);
}

Test(namespaces, a_process_in_one_with_a_proc_of_its_own_is_recorded_whole)
{
	record_whole("unshare --pid --fork --mount-proc");
}

Test(namespaces, and_with_the_proc_of_the_others)
{
	record_whole("unshare --pid --fork");
}

Test(namespaces, and_one_of_a_user_without_rights)
{
	record_whole("unshare --user --map-root-user --pid --fork");
}

/* Two traces, closed, of 100 kernels each; pid: of their processes, 0 when it may be any. */
static void expect_two_whole(uint64_t pid)
{
	char paths[4][RUN_PATH];
	uint64_t kernels = 0;

	cr_assert_eq(run_traces(&r, paths, 4), 2, "%s", r.text);
	for (int i = 0; i < 2; i++) {
		struct probe p;

		probe_open(&p, paths[i]);
		cr_expect(ws_trace_reader_summary(p.reader)->closed);
		if (pid)
			cr_expect_eq(CELL(&p, process, pid, 0), pid);
		kernels += ROWS(&p, kernel);
		probe_expect_no_loss(&p);
		probe_close(&p);
	}
	cr_expect_eq(kernels, 200);
}

Test(namespaces, several_processes_in_one_have_a_trace_each)
{
	const char *unshare = "unshare --pid --fork --mount-proc";
	char command[1024];

	if (!can(unshare))
		return;
	snprintf(command, sizeof(command),
	         "%s /bin/sh -c \"'%s' slowly 100 '%s' & '%s' slowly 100 '%s' & wait\"", unshare,
	         WS_TEST_VICTIM, r.tally, WS_TEST_VICTIM, r.tally);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command),
	             0, "%s", r.text);
	expect_two_whole(0);
}

/* Two processes with one pid, and often one start time too. */
Test(namespaces, two_with_the_same_pid_are_two_processes)
{
	const char *unshare = "unshare --pid --fork";
	char command[1024];

	if (!can(unshare))
		return;
	snprintf(command, sizeof(command),
	         "%s '%s' slowly 100 '%s' & %s '%s' slowly 100 '%s' & wait", unshare,
	         WS_TEST_VICTIM, r.tally, unshare, WS_TEST_VICTIM, r.tally);
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command),
	             0, "%s", r.text);
	expect_two_whole(1);
}

/* The launcher is in a namespace, and the process that attaches is not: it runs beside it. */
Test(namespaces, one_that_cannot_be_seen_is_recorded_while_the_program_runs_and_told)
{
	const char *unshare = "unshare --pid --fork --mount-proc";
	char command[4096];
	struct probe p;

	if (!can(unshare))
		return;
	snprintf(command, sizeof(command),
	         "cd '%s' && { %s '%s' -o '%s' --segment-dir '%s' -- /bin/sh -c 'echo "
	         "$WARPSHEET_SEGMENT >s && mv s segment; until test -e done; do sleep 0.01; done' "
	         "2>said & until test -e segment; do sleep 0.01; done; "
	         "WARPSHEET_SEGMENT=$(cat segment) NVTX_INJECTION64_PATH='%s' '%s' until-counted "
	         "100000 '%s' && touch done && wait && grep -q 'is in another PID namespace' said; "
	         "}",
	         r.dir, unshare, WS_TEST_RECORD, r.trace, r.segments, WS_TEST_COLLECTOR,
	         WS_TEST_VICTIM, r.tally);
	cr_assert_eq(system(command), 0, "%s", command);
	p = run_open_whole(&r);
	run_check_rounds(&r, &p, 0);
	cr_expect_eq(probe_loss(&p, "process_not_recorded"), 1);
	cr_expect_eq(probe_losses(&p), 1);
	probe_close(&p);
}

/* As bwrap and Apptainer have it: the folder of the shared memory is another one there. */
Test(namespaces, one_that_cannot_see_the_shared_memory_is_named_as_the_cause)
{
	const char *unshare =
	        geteuid() ? "unshare --user --map-root-user --mount" : "unshare --mount";
	char command[1024];

	if (!can(unshare))
		return;
	snprintf(command, sizeof(command),
	         "%s /bin/sh -c \"mount -t tmpfs none '%s' && sleep 2 && exec '%s' exit 20 '%s'\"",
	         unshare, r.segments, WS_TEST_VICTIM, r.tally);
	/* 5: the victim that has nobody to talk to says so */
	cr_expect_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--", "/bin/sh", "-c",
	                 command),
	             5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, "bwrap, Apptainer and other containers"), "%s", r.text);
	cr_expect_not_null(strstr(r.text, "--segment-dir"), "%s", r.text);
}
