/* Names that a program gives to streams, contexts and devices, to the tables and exports. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorder/cuda/cuda_run.h"

static struct run run;
static struct probe p;

static void start(void)
{
	cuda_begin(&run);
}

static void stop(void)
{
	probe_close(&p);
	run_end(&run);
}

TestSuite(cuda_names, .init = start, .fini = stop, .timeout = 600);

/* What `warpsheet ARGUMENTS TRACE` prints; to be freed. */
static char *output_of(const char *arguments)
{
	char command[2 * RUN_PATH];
	char *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(command, sizeof(command), "'" WS_TEST_WARPSHEET "' %s '%s'", arguments, run.trace);
	f = popen(command, "re");
	cr_assert(f && text);
	cr_assert_gt(fread(text, 1, (1 << 20) - 1, f), 0);
	cr_assert_eq(pclose(f), 0, "%s", command);
	return text;
}

static void expect_output(const char *arguments, const char *const *wanted)
{
	char *text = output_of(arguments);

	for (; *wanted; wanted++)
		cr_expect_not_null(strstr(text, *wanted), "%s: no \"%s\" in:\n%.4000s", arguments,
		                   *wanted, text);
	free(text);
}
#define EXPECT_OUTPUT(arguments, ...) \
	expect_output(arguments, (const char *const[]){__VA_ARGS__, NULL})

static void record_names(void)
{
	cr_assert_eq(RECORD_CUDA(&run, "names", "100", "1", "0"), 0, "%s", run.text);
	p = run_open_whole(&run);
}

Test(cuda_names, what_is_named_has_the_number_that_cupti_gives_it)
{
	static const struct {
		const char *name;
		int64_t number;
	} rows[] = {{"an old name", 7},  {"compute", 7},       {"unknown to CUPTI", -1},
	            {"main context", 1}, {"the only one", -1}, {"an event", -1}};

	record_names();
	cr_assert_eq(ROWS(&p, resource), 6);
	for (uint64_t i = 0; i < 6; i++) {
		cr_expect_str_eq(TEXT(&p, resource, name, i), rows[i].name);
		cr_expect_eq((int64_t)CELL(&p, resource, number, i), rows[i].number);
	}
	probe_expect_no_loss(&p);
}

Test(cuda_names, tables_show_the_names)
{
	record_names();
	EXPECT_OUTPUT("report --table resources --format csv", "cuda_stream,compute,7,0x1007,,",
	              "cuda_stream,unknown to CUPTI,,0x3000,,",
	              "cuda_context,main context,1,0x2001,,", "cuda_device,the only one,0,0x0,,",
	              "cuda_event,an event,,0x1007,,");
	EXPECT_OUTPUT("report --table kernel-trace --format csv", ",Stream Name\r\n",
	              ",compute\r\n");
	EXPECT_OUTPUT("report --table gpu --format text", "calls device 0 `the only one`");
}

Test(cuda_names, timelines_show_the_names)
{
	record_names();
	EXPECT_OUTPUT("export --format json -o /dev/stdout", "(the only one)",
	              "stream 7: compute (context 1: main context of process");
}

Test(cuda_names, exports_to_sqlite_keep_the_names)
{
	char command[4 * RUN_PATH];

	record_names();
	snprintf(command, sizeof(command),
	         "cd '%s' && w='" WS_TEST_WARPSHEET "' && \"$w\" export -o x.sqlite t.wtrace && "
	         "\"$w\" import x.sqlite -o back.wtrace && \"$w\" report --table resources "
	         "--format csv back.wtrace | grep -q '^cuda_stream,compute,7,0x1007,,'",
	         run.dir);
	cr_expect_eq(system(command), 0, "%s", command);
}
