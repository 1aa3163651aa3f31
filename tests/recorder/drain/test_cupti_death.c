/* The launcher's death while it reads buffers of CUPTI. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/drain_has_all.h"
#include "tests/support/recorder/cupti_by_hand.h"
#include "tests/support/trace_sample.h"

static char trace_path[] = "/tmp/test_cupti_death.XXXXXX";

static void start_file(void)
{
	int fd = mkstemp(trace_path);

	cr_assert_geq(fd, 0);
	close(fd);
	cupti_begin(trace_path);
}

static void stop_file(void)
{
	by_hand_stop();
	unlink(trace_path);
}

static void salvage(void)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE};
	struct ws_err err;

	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	cr_assert_eq(trace_file_resume(&writer, trace_path, ws_drain_file_size(seg), &opts, &err),
	             WS_OK, "%s", err.text);
	drain = ws_drain_new(seg, writer);
}

Test(cupti_death, after_any_death_of_the_launcher_each_record_is_there_once, .init = start_file,
     .fini = stop_file, .timeout = 600)
{
	uint64_t done, kernels = 0;
	struct probe p;
	struct ws_err err;
	int at;

	ws_drain_commit(drain);
	for (int how = 0; how < 4; how++) {
		uint8_t before[WS_CUPTI_SIZE_kernel];

		at = (slot = ws_slot_take(seg, IMAGE));
		used = 0;
		put_kernel((uint32_t)++kernels, put_text("k"));
		finish_slot();
		memcpy(before, ws_slot_bytes(seg, (uint32_t)at), sizeof(before));
		done = atomic_load(&ws_seg_slot(seg, (uint32_t)at)->done);
		ws_drain_pass(drain);
		if (how == 1) /* rows in the file, the commit slot untouched */
			cr_assert_eq(ws_trace_writer_flush(writer, &err), WS_OK);
		if (how >= 2)
			ws_drain_commit(drain);
		if (how == 3) { /* committed, but killed before the slot was given back */
			uint64_t bit = UINT64_C(1) << at;

			memcpy(ws_slot_bytes(seg, (uint32_t)at), before, sizeof(before));
			ws_seg_slot(seg, (uint32_t)at)->valid = sizeof(before);
			atomic_store(&ws_seg_slot(seg, (uint32_t)at)->done, done);
			atomic_fetch_and(&seg->slots_free[0], ~bit);
		}
		salvage();
		if (how == 3)
			cr_expect(ws_slot_is_free(seg, (uint32_t)at), "given back at the start");
		ws_drain_pass(drain);
		ws_drain_commit(drain);
		cr_expect(drain_has_all(drain));
	}
	cr_assert_eq(ws_trace_writer_close(writer, &err), WS_OK, "%s", err.text);
	probe_open(&p, trace_path);
	cr_assert_eq(ROWS(&p, kernel), kernels);
	for (uint64_t i = 0; i < kernels; i++)
		cr_expect_eq(CELL(&p, kernel, correlation, i), CORRELATION(i + 1));
	cr_expect_eq(ROWS(&p, device), 1, "the device is known again");
	cr_expect_eq(ws_drain_lost(drain, WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}
