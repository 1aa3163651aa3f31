/* A disk that is full at every write: what is lost is counted, and nothing passes for whole. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/run.h"

#define ROUNDS 400
/* A round is a range, a mark and a kernel with its call; all are in a range. */
#define ROWS_OF_ALL (5 * ROUNDS + 2)

static struct run r;

static void begin(void)
{
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(full_disk, .init = begin, .fini = end, .timeout = 600);

/* Record with this much room; the exit code. */
static int record(uint64_t bytes)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	setenv("FULL_DISK_BYTES", text, 1);
	run_preload(&r, WS_TEST_BIN "/libfull_disk.so");
	unlink(r.trace);
	return RECORD(&r, "nested", "400", "--flush-interval", "1");
}

static uint64_t rows_of_events(const struct probe *p)
{
	return ROWS(p, nvtx) + ROWS(p, kernel) + ROWS(p, api);
}

Test(full_disk, what_is_not_in_the_file_is_counted_in_it)
{
	uint64_t size, failed = 0, told = 0;
	struct probe p;

	cr_assert_eq(record(UINT64_C(1) << 40), 0, "%s", r.text);
	probe_open(&p, r.trace);
	cr_assert_eq(rows_of_events(&p), ROWS_OF_ALL);
	cr_expect_eq(probe_loss(&p, "disk_full"), 0);
	size = ws_trace_reader_summary(p.reader)->file_size;
	probe_close(&p);

	for (uint64_t bytes = 64; bytes < size + 4096; bytes += size / 16) {
		int code = record(bytes);

		cr_assert(code == 4 || !code, "%llu bytes: %d, %s", (unsigned long long)bytes, code,
		          r.text);
		failed += code == 4;
		if (access(r.trace, F_OK)) {
			cr_expect_eq(code, 4);
			continue; /* not even the beginning had room: there is no trace */
		}
		probe_open(&p, r.trace);
		cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0);
		cr_expect_eq(ws_trace_reader_summary(p.reader)->closed, !code,
		             "%llu of %llu bytes: %s", (unsigned long long)bytes,
		             (unsigned long long)size, r.text);
		cr_expect_eq(probe_loss(&p, "disk_full") + rows_of_events(&p), ROWS_OF_ALL,
		             "%llu bytes: %llu lost of %llu", (unsigned long long)bytes,
		             (unsigned long long)probe_loss(&p, "disk_full"),
		             (unsigned long long)rows_of_events(&p));
		if (rows_of_events(&p) < ROWS_OF_ALL) {
			told++;
			cr_expect_not_null(strstr(r.text, "disk_full"), "%s", r.text);
		}
		probe_close(&p);
	}
	cr_expect_geq(failed, 4);
	cr_expect_geq(told, 1);
}

/* --- at each single call --- */

static void fail_from(long call)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", call);
	setenv("FULL_DISK_AT", text, 1);
	run_preload(&r, WS_TEST_BIN "/libfull_disk.so");
}

static void put_precious(void)
{
	FILE *f = fopen(r.trace, "w");

	cr_assert_not_null(f);
	fputs("precious", f);
	fclose(f);
}

static int is_precious(void)
{
	char text[16] = "";
	FILE *f = fopen(r.trace, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	return n == 8 && !strcmp(text, "precious");
}

/* The trace of a recording that found the disk full, under the name that it has by now. */
static void check_unfinished(long call)
{
	char parts[4][RUN_PATH];
	size_t n = run_parts(&r, parts, 4);
	struct probe p;

	cr_assert_leq(n, 1);
	if (!n)
		return; /* not even the beginning had room */
	probe_open(&p, parts[0]);
	cr_expect_eq(ws_trace_reader_summary(p.reader)->damaged_blocks, 0, "call %ld", call);
	cr_expect(!ws_trace_reader_summary(p.reader)->closed, "call %ld", call);
	cr_expect_eq(probe_loss(&p, "disk_full") + rows_of_events(&p), ROWS_OF_ALL, "call %ld",
	             call);
	probe_close(&p);
	unlink(parts[0]);
}

Test(full_disk, at_any_call_the_trace_of_before_stays_and_what_is_lost_is_counted)
{
	long call = 0;
	int code;

	do {
		fail_from(++call);
		put_precious();
		code = RECORD(&r, "nested", "400", "--flush-interval", "1");
		cr_assert(code == 4 || !code, "call %ld: %d, %s", call, code, r.text);
		if (!code)
			break;
		cr_expect_str_empty(run_segment(&r));
		cr_expect(is_precious(), "call %ld", call);
		check_unfinished(call);
	} while (1);
	cr_expect_gt(call, 5, "%ld calls", call);
	cr_expect(!is_precious());
}

/* A recording whose launcher is killed once the program has done something. */
static void leave_a_segment(void)
{
	pid_t pid =
	        run_start(&r, (const char *const[]){"-o", r.trace, "--segment-dir", r.segments,
	                                            "--flush-interval", "10", "--", WS_TEST_VICTIM,
	                                            "until-killed", "2000", r.tally, NULL});

	while (r.rounds[0] < 500)
		usleep(1000);
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(full_disk, salvage_that_fails_at_any_call_leaves_everything_to_the_next)
{
	char segment[600];
	struct probe p;
	long call = 0;
	int code;

	leave_a_segment();
	snprintf(segment, sizeof(segment), "%s", run_segment(&r));
	do {
		fail_from(++call);
		code = RUN(&r, "--salvage", segment);
		cr_assert(code == 4 || !code, "call %ld: %d, %s", call, code, r.text);
		cr_expect_eq(code == 4, !strcmp(run_segment(&r), segment), "call %ld", call);
	} while (code);
	cr_expect_gt(call, 3, "%ld calls", call);
	probe_open(&p, r.trace);
	cr_expect(ws_trace_reader_summary(p.reader)->closed);
	cr_expect_eq(r.rounds[0], 2000);
	run_check_rounds(&r, &p, 0);
	probe_close(&p);
}
