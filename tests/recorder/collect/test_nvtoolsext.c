/*
 * The library that programs were linked to before NVTX was headers, NVIDIA's own: it finds us as
 * they do. Skipped, visibly, where it is not installed.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>

#include "tests/support/paths.h"
#include "tests/support/recorder/in_process.h"

TestSuite(nvtoolsext, .timeout = 600);

static void *library;

#define CALL(function, ret, params, ...) \
	((ret(*) params)dlsym(library, "nvtx" #function))(__VA_ARGS__)

Test(nvtoolsext, events_and_names_of_the_library_arrive)
{
	struct probe p;
	wsn_domain d;

	library = dlopen(WS_NVTOOLSEXT, RTLD_NOW);
	if (!library) {
		cr_log_warn(
		        "[SKIP] no libnvToolsExt.so.1 is installed"); /* CTest knows it by this */
		return;
	}
	collect_start(4, 1 << 20, 1 << 20);
	CALL(RangePushA, int, (const char *), "range");
	CALL(MarkA, void, (const char *), "mark");
	CALL(RangePop, int, (void));
	d = CALL(DomainCreateA, wsn_domain, (const char *), "domain");
	CALL(NameCudaStreamA, void, (const void *, const char *), NULL, "stream");
	CALL(DomainSyncUserCreate, wsn_resource, (wsn_domain, const void *), d, NULL);
	p = collect_finish();
	cr_assert_eq(ROWS(&p, nvtx), 3);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "range"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "mark"), 1);
	cr_assert_eq(ROWS(&p, resource), 1);
	cr_expect_str_eq(TEXT(&p, resource, name, 0), "stream");
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_sync_objects"), 1);
	cr_expect_eq(probe_losses(&p), 1);
	probe_close(&p);
	collect_stop();
}
