/* Segments lie in the runtime folder of this user, where memory has room for some of them. */
#include "tests/recorder/record/planted_segments.h"

TestSuite(runtime_folder, .init = begin, .fini = end, .timeout = 600);

#define SMALL "--buffers", "2", "--gpu-buffers", "8"
/* A little more than what the launcher wants to be free: eight such segments. */
#define NEEDED (UINT64_C(160) << 20)

Test(runtime_folder, segments_lie_in_it_unless_others_can_reach_into_it)
{
	char runtime[RUN_PATH], path[2 * RUN_PATH], out[PATH_MAX];
	struct probe p;

	make_runtime(runtime);
	if (!ws_segment_folder_default(0, NEEDED, out)) {
		rmdir(runtime);
		cr_log_warn("[SKIP] no 160 MiB of room in memory"); /* CTest knows it by this */
		cr_skip_test("no 160 MiB of room in memory");
	}
	snprintf(path, sizeof(path), "%s/warpsheet", runtime);
	cr_expect_eq(RUN(&r, "-o", r.trace, SMALL, "--", WS_TEST_VICTIM, "exit", "10", r.tally), 3,
	             "%s", r.text);
	probe_open(&p, r.trace);
	cr_expect_eq(ROWS(&p, kernel), 10);
	probe_close(&p);
	cr_expect_eq(chmod(path, 0777), 0, "it was not taken");
	cr_expect_eq(RUN(&r, "-o", r.trace, SMALL, "--", "/bin/true"), 5, "%s", r.text);
	cr_expect_not_null(strstr(r.text, path), "%s", r.text);
	cr_expect_eq(rmdir(path), 0, "the segment is left behind");
	rmdir(runtime);
}
