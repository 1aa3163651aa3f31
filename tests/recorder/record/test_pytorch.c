/* --pytorch on a program whose PyTorch is fake_torch.c: what becomes of very many shapes, threads
 * and ranges. Real ones are in tests/pytorch. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/support/recorder/run.h"

static struct run r;

static void begin(void)
{
	run_begin(&r);
}

static void end(void)
{
	run_end(&r);
}

TestSuite(pytorch, .init = begin, .fini = end, .timeout = 300);

/* Record it, with room for all its events, however slow the launcher is. */
static struct probe record(const char *mode, const char *n)
{
	const bool has_threads = !strcmp(mode, "threads");
	struct probe p;

	cr_assert_eq(RUN(&r, "-o", r.trace, "--segment-dir", r.segments, "--gpu-buffers", "0",
	                 "--pytorch", "--buffers", has_threads ? "8192" : "1", "--buffer-size",
	                 has_threads ? "4K" : "64M", "--", WS_TEST_VICTIM_TORCH, mode, n),
	             0, "%s", r.text);
	probe_open(&p, r.trace);
	return p;
}

static uint64_t id_of(const struct probe *p, const char *text)
{
	for (uint64_t i = 0; i < ROWS(p, string); i++)
		if (BYTES(p, string, text, i).len == strlen(text) &&
		    !memcmp(BYTES(p, string, text, i).ptr, text, strlen(text)))
			return CELL(p, string, id, i);
	return 0;
}

/* Operations of this name, and of how many different inputs. */
static uint64_t count_ops(const struct probe *p, const char *name, uint64_t *ninputs)
{
	uint64_t *of_config = calloc(ROWS(p, op_config) + 1, sizeof(*of_config)), n = 0;
	const uint64_t id = id_of(p, name);

	*ninputs = 0;
	for (uint64_t i = 0; i < ROWS(p, op_config); i++)
		if (CELL(p, op_config, name, i) == id) {
			of_config[CELL(p, op_config, id, i)] = 1;
			++*ninputs;
		}
	for (uint64_t i = 0; i < ROWS(p, cpu_op); i++)
		n += of_config[CELL(p, cpu_op, config, i)];
	free(of_config);
	return n;
}

/* Loss of everything but this cause, which says how much is not known of operations that are there.
 */
static void expect_only(const struct probe *p, const char *cause)
{
	cr_expect_eq(probe_losses(p), probe_loss(p, cause), "%s", r.text);
}

Test(pytorch, every_shape_is_kept_where_there_is_room)
{
	struct probe p = record("shapes", "50000");
	uint64_t ninputs;

	cr_expect_eq(count_ops(&p, "aten::growing", &ninputs), 100000);
	cr_expect_eq(ninputs, 50000);
	cr_expect_eq(count_ops(&p, "aten::cos_", &ninputs), 5000);
	cr_expect_eq(count_ops(&p, "aten::sigmoid", &ninputs), 5000);
	cr_expect_eq(probe_losses(&p), 0, "%s", r.text);
	probe_close(&p);
}

Test(pytorch, names_are_kept_however_many_shapes_there_are)
{
	struct probe p = record("shapes", "300000");
	uint64_t ninputs, without = 0;

	cr_expect_eq(count_ops(&p, "aten::growing", &ninputs), 600000);
	without += 600000 - 2 * (ninputs - 1);
	cr_expect_gt(ninputs, 50000);
	cr_expect_eq(count_ops(&p, "aten::cos_", &ninputs), 5000);
	cr_expect_eq(ninputs, 1, "a name is defined once, not %lu times", (unsigned long)ninputs);
	cr_expect_eq(count_ops(&p, "aten::sigmoid", &ninputs), 5000);
	cr_expect_eq(ninputs, 1);
	cr_expect_eq(probe_loss(&p, "pytorch_without_shapes"), without + 10000, "%s", r.text);
	expect_only(&p, "pytorch_without_shapes");
	probe_close(&p);
}

Test(pytorch, thousands_of_short_threads_lose_nothing)
{
	struct probe p = record("threads", "5000");
	uint64_t ninputs;

	cr_expect_eq(count_ops(&p, "aten::short", &ninputs), 5000);
	cr_expect_eq(ninputs, 1);
	cr_expect_eq(probe_losses(&p), 0, "%s", r.text);
	probe_close(&p);
}

/* How many ranges are open where all are over. */
static uint64_t count_open(const struct probe *p)
{
	uint64_t open = 0;

	for (uint64_t i = 0; i < ROWS(p, nvtx); i++) {
		const uint64_t type = CELL(p, nvtx, type, i);

		cr_assert(type != WS_NVTX_POP || open, "an end without a begin");
		open += type == WS_NVTX_PUSH;
		open -= type == WS_NVTX_POP;
	}
	return open;
}

Test(pytorch, ranges_that_are_nested_deeply_keep_their_ends)
{
	struct probe p = record("ranges", "20000");

	cr_expect_eq(ROWS(&p, nvtx), 2 * 20001);
	cr_expect_eq(count_open(&p), 0);
	cr_expect_eq(probe_losses(&p), 0, "%s", r.text);
	probe_close(&p);
}

/* Whose ends do not come, as far as can be told: they are given up, and none stays open. */
Test(pytorch, ranges_beyond_all_nesting_are_counted_and_end)
{
	struct probe p = record("ranges", "70000");

	cr_expect_eq(ROWS(&p, nvtx), 2 * 70001);
	cr_expect_eq(count_open(&p), 0);
	cr_expect_eq(probe_loss(&p, "pytorch_unfinished"), 65536, "%s", r.text);
	expect_only(&p, "pytorch_unfinished");
	probe_close(&p);
}
