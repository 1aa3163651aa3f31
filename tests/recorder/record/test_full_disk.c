/* A disk that is full at every write: what is lost is counted, and nothing passes for whole. */
#include <criterion/criterion.h>
#include <stdlib.h>
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
	setenv("LD_PRELOAD", WS_TEST_BIN "/libfull_disk.so", 1);
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
		if (rows_of_events(&p) < ROWS_OF_ALL) {
			told++;
			cr_expect_geq(probe_loss(&p, "disk_full") + rows_of_events(&p), ROWS_OF_ALL,
			              "%llu bytes: %llu lost of %llu", (unsigned long long)bytes,
			              (unsigned long long)probe_loss(&p, "disk_full"),
			              (unsigned long long)rows_of_events(&p));
			cr_expect_not_null(strstr(r.text, "disk_full"), "%s", r.text);
		}
		probe_close(&p);
	}
	cr_expect_geq(failed, 4);
	cr_expect_geq(told, 1);
}
