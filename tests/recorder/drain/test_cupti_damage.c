/* Buffers of CUPTI that are damaged, say a thing twice or come late. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/recorder/cupti_by_hand.h"

TestSuite(cupti_damage, .init = cupti_start, .fini = by_hand_stop, .timeout = 600);

/* --- damage --- */

Test(cupti_damage, times_of_zero_are_no_times_and_counted)
{
	uint8_t *r = put_kernel(1, 0);
	struct probe p;

	PUT(r, kernel, start, 0);
	PUT(r, kernel, end, 0);
	put_kernel(2, 0);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, kernel), 2);
	SAME(&p, kernel, flags, WS_KERNEL_NO_TIME);
	SAME(&p, kernel, dur_ns, 0);
	cr_expect_eq(CELL(&p, kernel, flags, 1), 0);
	cr_expect_eq(lost(WS_DROPPED_kernel_without_time), 1);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_damage, records_that_make_no_sense_are_counted_and_the_rest_is_read)
{
	struct probe p;
	uint8_t *r;

	r = put_kernel(1, 0);
	PUT(r, kernel, end, BASE + 1); /* before its start */
	r = put_kernel(2, 0);
	PUT(r, kernel, start, 5); /* in 1970 */
	r = put_kernel(3, 0);
	PUT(r, kernel, end, UINT64_MAX);
	r = put_kernel(4, 0);
	PUT(r, kernel, device, 64);
	r = put_kernel(5, 0);
	PUT(r, kernel, grid_x, 0);
	r = RECORD(MEMORY2, memory);
	PUT(r, memory, op, 9);
	RECORD(MEMORY_POOL, pool);
	put_kernel(6, 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	SAME(&p, kernel, correlation, CORRELATION(6));
	cr_expect_eq(ROWS(&p, memory), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 7);
	probe_close(&p);
}

Test(cupti_damage, unknown_kinds_are_counted_and_stepped_over)
{
	struct probe p;

	put_record(39, 24); /* external correlation */
	put_kernel(1, 0);
	put_record(36, 56); /* CUDA event */
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	cr_expect_eq(lost(WS_DROPPED_activity_unknown), 2);
	probe_close(&p);
}

Test(cupti_damage, a_finished_buffer_that_ends_in_something_else_is_damaged_once)
{
	struct probe p;

	put_kernel(1, 0);
	put_record(14, 64); /* a kind that 13.0 removed */
	put_kernel(2, 0);
	finish_slot();
	put_kernel(3, 0);
	used -= 20; /* valid bytes that end inside a record */
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 2);
	probe_close(&p);
}

Test(cupti_damage, a_buffer_whose_process_died_is_read_up_to_its_zeros)
{
	struct probe p;
	uint8_t *r;

	put_kernel(1, 0);
	put_kernel(2, 0);
	r = put_kernel(3, 0);
	PUT(r, kernel, end, 0); /* it ran when its process died */
	r = put_kernel(4, 0);
	PUT(r, kernel, grid_x, 0); /* begun and not written yet: those behind it are whole */
	put_kernel(5, 0);
	slot = -1;
	put_kernel(6, 0); /* in another slot: the zeros behind it are its end */
	slot = -1;
	ws_drain_program_ended(drain);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 5);
	cr_expect_eq(CELL(&p, kernel, flags, 2), WS_KERNEL_NO_TIME);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 1);
	cr_expect_eq(lost(WS_DROPPED_kernel_without_time), 1);
	probe_close(&p);
}

/* A flush hands over no buffer with a kernel that runs: on a busy GPU that is each one. */
Test(cupti_damage, what_cupti_has_in_hand_is_read_when_the_recording_ends_before_the_program)
{
	struct probe p;

	put_kernel(1, 0);
	finish_slot();
	put_kernel(2, 0);
	put_kernel(3, 0);
	slot = -1;
	ws_drain_last_pass(drain);
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, kernel), 3);
	for (uint64_t i = 0; i < 3; i++)
		cr_expect_eq(CELL(&p, kernel, correlation, i), CORRELATION(i + 1));
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_damage, of_a_dead_process_the_names_of_kernels_are_found_by_their_address)
{
	const uint64_t address = UINT64_C(0x7f1234567890);
	struct ws_def_kernel def = {address, 0};
	struct probe p;

	def.string = put_text("_Z4castPf") & ~WS_SLOT_TEXT_ID;
	put_def(WS_DEF_KERNEL, 1, &def, sizeof(def));
	put_kernel(1, address);
	put_kernel(2, address + 8);
	slot = -1;
	ws_drain_program_ended(drain);
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, launch_config), 2);
	cr_expect_str_eq(TEXT(&p, launch_config, name, 0), "_Z4castPf");
	cr_expect_str_eq(TEXT(&p, launch_config, name, 1), "unknown kernel 0x7f1234567898");
	cr_expect_eq(lost(WS_DROPPED_kernel_without_name), 1);
	probe_close(&p);
}

/* A later CUPTI, or an earlier one: its records are longer or shorter, and stepped over by that. */
Test(cupti_damage, records_are_as_long_as_the_collector_says)
{
	struct ws_seg_sizes *sizes = &seg->gpu.sizes[IMAGE % WS_SEG_IMAGES];
	struct probe p;

	sizes->of_kind[WS_CUPTI_KIND_CONCURRENT_KERNEL] = WS_CUPTI_SIZE_kernel + 16;
	sizes->of_kind[WS_CUPTI_KIND_MEMSET] = WS_CUPTI_LEAST_memset;
	for (uint32_t i = 1; i <= 3; i++) {
		uint8_t *r;

		put_kernel(i, 0);
		used += 16;
		r = put_record(WS_CUPTI_KIND_MEMSET, WS_CUPTI_LEAST_memset);
		PUT(r, memset, start, BASE + 1000);
		PUT(r, memset, end, BASE + 1100);
	}
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 3);
	cr_expect_eq(ROWS(&p, memset), 3);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

/* Work of node 5, a copy of node 3, by CUPTI 13.4. */
static uint8_t *put_replayed(uint32_t correlation)
{
	uint8_t *r = put_kernel(correlation, 0);

	used += WS_CUPTI_SIZE_kernel_source - WS_CUPTI_SIZE_kernel;
	PUT(r, kernel, graph_node, 5);
	PUT(r, kernel_source, node, 3);
	return r;
}

Test(cupti_damage, the_source_of_a_node_has_a_row_in_each_image)
{
	struct probe p;
	uint8_t *r;

	put_cupti_sizes(&seg->gpu, IMAGE + 1);
	for (uint32_t image = IMAGE; image <= IMAGE + 1; image++) {
		seg->gpu.sizes[image].of_kind[WS_CUPTI_KIND_CONCURRENT_KERNEL] =
		        WS_CUPTI_SIZE_kernel_source;
		slot = ws_slot_take(seg, image);
		used = 0;
		r = put_replayed(1); /* without times it cannot date its row */
		PUT(r, kernel, start, 0);
		PUT(r, kernel, end, 0);
		put_replayed(2);
		put_replayed(3);
		finish_slot();
	}
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 6);
	cr_assert_eq(ROWS(&p, graph_node), 2);
	SAME(&p, graph_node, time_ns, CELL(&p, kernel, start_ns, 1));
	cr_expect_eq(CELL(&p, graph_node, node, 1), 5);
	cr_expect_eq(CELL(&p, graph_node, original, 1), 3);
	probe_close(&p);
}

Test(cupti_damage, a_buffer_of_an_image_that_told_no_sizes_is_counted_not_guessed)
{
	struct probe p;

	atomic_store(&seg->gpu.sizes[IMAGE % WS_SEG_IMAGES].image, IMAGE + WS_SEG_IMAGES);
	put_kernel(1, 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_unknown), 1);
	probe_close(&p);
}

/* Nothing that a program writes there makes the launcher read beyond a buffer, or for ever. */
Test(cupti_damage, sizes_that_no_record_can_have_end_the_buffer_and_are_counted)
{
	static const uint16_t wrong[] = {0, 1, 7, 108, WS_SEG_MAX_RECORD + 8, 65528, 65535};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct probe p;

		seg->gpu.sizes[IMAGE % WS_SEG_IMAGES].of_kind[WS_CUPTI_KIND_CONCURRENT_KERNEL] =
		        wrong[i];
		put_api(WS_CUPTI_KIND_RUNTIME, 211, 1);
		put_kernel(1, 0);
		put_api(WS_CUPTI_KIND_RUNTIME, 211, 2);
		finish_slot();
		p = by_hand_finish();
		cr_expect_eq(ROWS(&p, api), 1, "%u", wrong[i]);
		cr_expect_eq(ROWS(&p, kernel), 0, "%u", wrong[i]);
		cr_expect_eq(lost(WS_DROPPED_activity_damaged), 1, "%u", wrong[i]);
		probe_close(&p);
		by_hand_stop();
		cupti_start();
	}
}

Test(cupti_damage, sizes_are_read_once)
{
	struct ws_seg_sizes *sizes = &seg->gpu.sizes[IMAGE % WS_SEG_IMAGES];
	struct probe p;

	put_kernel(1, 0);
	finish_slot();
	ws_drain_pass(drain);
	memset(sizes->of_kind, 0x11, sizeof(sizes->of_kind));
	put_kernel(2, 0);
	put_kernel(3, 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 3);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_damage, no_bytes_in_a_slot_do_any_harm)
{
	uint64_t seed = 88172645463325252u;
	struct probe p;

	for (int round = 0; round < 200; round++) {
		uint8_t *bytes;

		put_kernel(1, WS_SLOT_TEXT_ID | 77);
		put_api(WS_CUPTI_KIND_RUNTIME, UINT32_MAX, 2);
		put_api(WS_CUPTI_KIND_DRIVER, 4095, 3);
		for (int kind = 1; kind < 60; kind++)
			put_record((uint32_t)kind, 216);
		bytes = ws_slot_bytes(seg, (uint32_t)slot);
		for (int flips = 0; flips < 100; flips++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[seed % used] = (uint8_t)(seed >> 32);
		}
		if (round % 2) {
			finish_slot();
		} else {
			slot = -1;
			ws_drain_program_ended(drain);
		}
		ws_drain_pass(drain);
		ws_drain_commit(drain);
	}
	p = by_hand_finish();
	cr_expect_gt(lost(WS_DROPPED_activity_damaged) + lost(WS_DROPPED_activity_unknown), 0);
	probe_close(&p);
}

/* --- calls that come twice --- */

Test(cupti_damage, of_a_runtime_call_and_the_driver_call_in_it_the_outer_one_is_kept)
{
	struct probe p;

	put_api(WS_CUPTI_KIND_DRIVER, 307, 1);
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 1);
	put_api(WS_CUPTI_KIND_DRIVER, 307, 2); /* a program that calls the driver */
	finish_slot();
	/* the pair's halves in two buffers: the first one is in the file already */
	put_api(WS_CUPTI_KIND_DRIVER, 307, 3);
	finish_slot();
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 3);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, api), 3);
	for (uint64_t i = 0; i < 3; i++)
		cr_expect_eq(CELL(&p, api, correlation, i), CORRELATION(i + 1));
	for (uint64_t i = 0; i < 3; i++)
		cr_expect_str_eq(TEXT(&p, api, name, i),
		                 i ? "driver call 307" : "runtime call 211");
	probe_close(&p);
}

Test(cupti_damage, a_thread_that_only_cupti_knows_gets_a_row)
{
	struct probe p;
	uint8_t *r;

	atomic_store(&seg->next_thread, 1);
	r = put_api(WS_CUPTI_KIND_RUNTIME, 211, 1);
	PUT(r, api, thread, 5555);
	r = put_api(WS_CUPTI_KIND_RUNTIME, 211, 2);
	PUT(r, api, thread, WS_SLOT_THREAD_ID | 1); /* as the collector leaves it */
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, thread), 2);
	cr_expect_eq(CELL(&p, thread, tid, 1), 5555);
	cr_expect_eq(CELL(&p, api, thread, 0), CELL(&p, thread, id, 1));
	cr_expect_eq(CELL(&p, api, thread, 1), 1);
	probe_close(&p);
}

/* --- launches of which nothing came --- */

Test(cupti_damage, launches_without_work_are_counted_when_nothing_more_can_come)
{
	struct probe p;
	uint8_t *r;

	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 212, "cudaLaunchHostFunc_v10000");
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 1); /* its kernel is in the next slot */
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 2);
	r = put_api(WS_CUPTI_KIND_RUNTIME, 211, 3);
	PUT(r, api, result, 1); /* it failed */
	put_api(WS_CUPTI_KIND_RUNTIME, 212, 4);
	put_kernel(5, 0); /* the work first, then its call */
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 5);
	finish_slot();
	put_kernel(1, 0);
	finish_slot();
	ws_drain_pass(drain);
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 0, "its kernel may still come");
	ws_drain_program_ended(drain);
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 1);
	p = by_hand_finish();
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 1);
	probe_close(&p);
}

Test(cupti_damage, a_launch_that_waits_too_long_gives_way_and_is_counted)
{
	struct probe p;

	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 7);
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 7 + (1 << 18));
	put_kernel(7 + (1 << 18), 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 1);
	probe_close(&p);
}

static void put_capture_names(void)
{
	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 315, "cudaStreamBeginCapture_v10000");
	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 319, "cudaStreamEndCapture_v10000");
}

static void put_call_at(uint32_t cbid, uint32_t correlation, int64_t time_ns, uint32_t thread)
{
	uint8_t *r = put_api(WS_CUPTI_KIND_RUNTIME, cbid, correlation);

	PUT(r, api, start, BASE + time_ns);
	PUT(r, api, end, BASE + time_ns + 10);
	PUT(r, api, thread, thread);
}

/* Of PyTorch's backward pass the launches are another thread's, in another buffer. */
Test(cupti_damage, launches_in_a_capture_need_no_work_on_whatever_thread_and_in_whatever_order)
{
	struct probe p;

	put_capture_names();
	put_call_at(211, 2, 200, TID + 1); /* told before the capture is */
	put_call_at(211, 4, 400, TID + 1); /* done: its kernel is missing */
	finish_slot();
	put_call_at(315, 1, 100, TID);
	put_call_at(319, 3, 300, TID);
	put_call_at(319, 5, 500, TID); /* an end whose begin was lost */
	put_call_at(211, 6, 600, TID); /* done, too */
	finish_slot();
	ws_drain_program_ended(drain);
	p = by_hand_finish();
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 2);
	probe_close(&p);
}

Test(cupti_damage, also_a_captured_launch_that_gives_way_is_none_that_is_missed)
{
	struct probe p;

	put_capture_names();
	put_call_at(315, 1, 100, TID);
	put_call_at(211, 7, 200, TID);
	put_call_at(319, 8, 300, TID);
	put_call_at(211, 7 + (1 << 18), 400, TID);
	put_kernel(7 + (1 << 18), 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(lost(WS_DROPPED_launch_without_work), 0);
	probe_close(&p);
}

/* --- what CUPTI has no number for --- */

Test(cupti_damage, memory_and_waits_without_device_or_context_are_kept_with_zeros)
{
	uint8_t *r = RECORD(MEMORY2, memory);
	struct probe p;

	PUT(r, memory, op, 1);
	PUT(r, memory, kind, 2);
	PUT(r, memory, time, BASE + 50);
	PUT(r, memory, device, UINT32_MAX);
	PUT(r, memory, context, UINT32_MAX);
	PUT(r, memory, stream, UINT32_MAX);
	r = RECORD(MEMORY_POOL, pool);
	PUT(r, pool, op, 1);
	PUT(r, pool, time, BASE + 60);
	PUT(r, pool, device, 64);
	r = RECORD(SYNCHRONIZATION, sync);
	PUT(r, sync, type, 4);
	PUT(r, sync, start, BASE + 70);
	PUT(r, sync, end, BASE + 71);
	PUT(r, sync, context, UINT32_MAX);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, memory), 2);
	SAME(&p, memory, device, 0);
	SAME(&p, memory, context, 0);
	SAME(&p, memory, stream, 0);
	cr_expect_eq(CELL(&p, memory, device, 1), 0);
	SAME(&p, sync, context, 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_damage, a_query_that_found_work_undone_is_no_wait)
{
	uint8_t *r = RECORD(SYNCHRONIZATION, sync);
	struct probe p;

	PUT(r, sync, type, 3);
	PUT(r, sync, start, BASE + 60);
	PUT(r, sync, end, BASE + 61);
	PUT(r, sync, result, 600);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, sync), 0);
	cr_expect_eq(lost(WS_DROPPED_activity_damaged), 0);
	probe_close(&p);
}

/* --- commits --- */

Test(cupti_damage, a_slot_goes_back_with_the_commit_and_not_before)
{
	struct probe p;

	put_kernel(1, 0);
	finish_slot();
	ws_drain_pass(drain);
	cr_expect(!ws_slot_is_free(seg, 0), "its row is not in the file");
	ws_drain_commit(drain);
	cr_expect(ws_slot_is_free(seg, 0));
	for (size_t i = 0; i < WS_CUPTI_SIZE_kernel; i++)
		cr_assert_eq(ws_slot_bytes(seg, 0)[i], 0);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	probe_close(&p);
}

Test(cupti_damage, a_commit_is_wanted_before_the_pool_runs_dry)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		cr_expect_eq(ws_drain_wants_commit(drain), i > SLOTS / 4, "%u slots read", i);
		put_kernel(i + 1, 0);
		finish_slot();
		ws_drain_pass(drain);
	}
	ws_drain_commit(drain);
	cr_expect(!ws_drain_wants_commit(drain));
	for (uint32_t i = 0; i < SLOTS; i++)
		cr_expect(ws_slot_is_free(seg, i));
}
