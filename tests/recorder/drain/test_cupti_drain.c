/* Buffers of CUPTI through the drain into a trace and back: every kind, every column. */
#include <criterion/criterion.h>

#include "tests/support/recorder/cupti_by_hand.h"

TestSuite(cupti_drain, .init = cupti_start, .fini = by_hand_stop, .timeout = 600);

Test(cupti_drain, a_kernel_keeps_every_field)
{
	uint64_t name = put_text("_Z4gemmPf");
	uint8_t *r = RECORD(CONCURRENT_KERNEL, kernel);
	struct probe p;

	PUT(r, kernel, registers, 40);
	PUT(r, kernel, start, BASE + 5000);
	PUT(r, kernel, end, BASE + 5777);
	PUT(r, kernel, device, 2);
	PUT(r, kernel, context, 3);
	PUT(r, kernel, stream, 4);
	PUT(r, kernel, grid_x, 5);
	PUT(r, kernel, grid_y, 6);
	PUT(r, kernel, grid_z, 7);
	PUT(r, kernel, block_x, 8);
	PUT(r, kernel, block_y, 9);
	PUT(r, kernel, block_z, 10);
	PUT(r, kernel, shared_static, 11);
	PUT(r, kernel, shared_dynamic, 12);
	PUT(r, kernel, local, 13);
	PUT(r, kernel, correlation, 14);
	PUT(r, kernel, name, name);
	PUT(r, kernel, launch_type, 1);
	PUT(r, kernel, shared_executed, 15);
	PUT(r, kernel, graph_node, UINT64_C(0x1600000016));
	PUT(r, kernel, graph, 17);
	PUT(r, kernel, cluster_x, 18);
	PUT(r, kernel, cluster_y, 19);
	PUT(r, kernel, cluster_z, 20);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, kernel), 1);
	SAME(&p, kernel, start_ns, 5000);
	SAME(&p, kernel, dur_ns, 777);
	SAME(&p, kernel, correlation, CORRELATION(14));
	SAME(&p, kernel, config, 1);
	SAME(&p, kernel, flags, 0);
	SAME(&p, kernel, graph_node, UINT64_C(0x1600000016));
	SAME(&p, kernel, graph, 17);
	cr_expect_str_eq(TEXT(&p, launch_config, name, 0), "_Z4gemmPf");
	SAME(&p, launch_config, pid, PID);
	SAME(&p, launch_config, device, 2);
	SAME(&p, launch_config, context, 3);
	SAME(&p, launch_config, stream, 4);
	SAME(&p, launch_config, grid_x, 5);
	SAME(&p, launch_config, grid_y, 6);
	SAME(&p, launch_config, grid_z, 7);
	SAME(&p, launch_config, block_x, 8);
	SAME(&p, launch_config, block_y, 9);
	SAME(&p, launch_config, block_z, 10);
	SAME(&p, launch_config, cluster_x, 18);
	SAME(&p, launch_config, cluster_y, 19);
	SAME(&p, launch_config, cluster_z, 20);
	SAME(&p, launch_config, registers, 40);
	SAME(&p, launch_config, shared_static_bytes, 11);
	SAME(&p, launch_config, shared_dynamic_bytes, 12);
	SAME(&p, launch_config, local_bytes, 13);
	SAME(&p, launch_config, shared_executed_bytes, 15);
	SAME(&p, launch_config, launch_type, 1);
	SAME(&p, device, id, 2);
	SAME(&p, device, kind, WS_DEVICE_CUDA);
	cr_expect_eq(ws_drain_counts(drain).kernels, 1);
	probe_close(&p);
}

Test(cupti_drain, a_copy_keeps_every_field)
{
	uint8_t *r = RECORD(MEMCPY, memcpy);
	struct probe p;

	PUT(r, memcpy, kind, 1);
	PUT(r, memcpy, src_kind, 2);
	PUT(r, memcpy, dst_kind, 3);
	PUT(r, memcpy, flags, 1);
	PUT(r, memcpy, bytes, UINT64_C(0x500000005));
	PUT(r, memcpy, start, BASE + 60);
	PUT(r, memcpy, end, BASE + 67);
	PUT(r, memcpy, device, 8);
	PUT(r, memcpy, context, 9);
	PUT(r, memcpy, stream, 10);
	PUT(r, memcpy, correlation, 11);
	PUT(r, memcpy, graph_node, 12);
	PUT(r, memcpy, copies, 13);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, memcpy), 1);
	SAME(&p, memcpy, start_ns, 60);
	SAME(&p, memcpy, dur_ns, 7);
	SAME(&p, memcpy, correlation, CORRELATION(11));
	SAME(&p, memcpy, pid, PID);
	SAME(&p, memcpy, device, 8);
	SAME(&p, memcpy, context, 9);
	SAME(&p, memcpy, stream, 10);
	SAME(&p, memcpy, kind, 1);
	SAME(&p, memcpy, src_kind, 2);
	SAME(&p, memcpy, dst_kind, 3);
	SAME(&p, memcpy, bytes, UINT64_C(0x500000005));
	SAME(&p, memcpy, graph_node, 12);
	SAME(&p, memcpy, flags, WS_COPY_ASYNC);
	SAME(&p, memcpy, copies, 13);
	probe_close(&p);
}

Test(cupti_drain, a_copy_between_devices_keeps_both)
{
	uint8_t *r = RECORD(MEMCPY2, ptop);
	struct probe p;

	PUT(r, ptop, kind, 10);
	PUT(r, ptop, src_kind, 3);
	PUT(r, ptop, dst_kind, 5);
	PUT(r, ptop, bytes, 4096);
	PUT(r, ptop, start, BASE + 60);
	PUT(r, ptop, end, BASE + 67);
	PUT(r, ptop, device, 1);
	PUT(r, ptop, context, 9);
	PUT(r, ptop, stream, 10);
	PUT(r, ptop, src_device, 6);
	PUT(r, ptop, dst_device, 7);
	PUT(r, ptop, correlation, 11);
	PUT(r, ptop, graph_node, 12);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, memcpy), 1);
	SAME(&p, memcpy, start_ns, 60);
	SAME(&p, memcpy, dur_ns, 7);
	SAME(&p, memcpy, correlation, CORRELATION(11));
	SAME(&p, memcpy, device, 1);
	SAME(&p, memcpy, kind, 10);
	SAME(&p, memcpy, src_kind, 3);
	SAME(&p, memcpy, dst_kind, 5);
	SAME(&p, memcpy, bytes, 4096);
	SAME(&p, memcpy, src_device, 6);
	SAME(&p, memcpy, dst_device, 7);
	SAME(&p, memcpy, graph_node, 12);
	SAME(&p, memcpy, flags, 0);
	cr_expect_eq(ROWS(&p, device), 3, "each device that is named has a row");
	probe_close(&p);
}

Test(cupti_drain, a_fill_keeps_every_field)
{
	uint8_t *r = RECORD(MEMSET, memset);
	struct probe p;

	PUT(r, memset, value, 0xAB);
	PUT(r, memset, bytes, 512);
	PUT(r, memset, start, BASE + 60);
	PUT(r, memset, end, BASE + 67);
	PUT(r, memset, device, 8);
	PUT(r, memset, context, 9);
	PUT(r, memset, stream, 10);
	PUT(r, memset, correlation, 11);
	PUT(r, memset, flags, 1);
	PUT(r, memset, memory_kind, 3);
	PUT(r, memset, graph_node, 12);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, memset), 1);
	SAME(&p, memset, start_ns, 60);
	SAME(&p, memset, dur_ns, 7);
	SAME(&p, memset, correlation, CORRELATION(11));
	SAME(&p, memset, pid, PID);
	SAME(&p, memset, device, 8);
	SAME(&p, memset, context, 9);
	SAME(&p, memset, stream, 10);
	SAME(&p, memset, memory_kind, 3);
	SAME(&p, memset, value, 0xAB);
	SAME(&p, memset, bytes, 512);
	SAME(&p, memset, graph_node, 12);
	SAME(&p, memset, flags, WS_COPY_ASYNC);
	probe_close(&p);
}

Test(cupti_drain, a_call_keeps_every_field)
{
	uint8_t *r;
	struct probe p;

	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	r = put_api(WS_CUPTI_KIND_RUNTIME, 211, 5);
	PUT(r, api, result, 700);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, api), 1);
	SAME(&p, api, start_ns, 100);
	SAME(&p, api, dur_ns, 200);
	SAME(&p, api, thread, 1);
	SAME(&p, api, correlation, CORRELATION(5));
	SAME(&p, api, result, 700);
	cr_expect_str_eq(TEXT(&p, api, name, 0), "cudaLaunchKernel_v7000");
	probe_close(&p);
}

Test(cupti_drain, a_wait_keeps_every_field_and_takes_the_device_of_its_context)
{
	uint8_t *r = RECORD(CONTEXT, context);
	struct probe p;

	PUT(r, context, id, 9);
	PUT(r, context, device, 4);
	PUT(r, context, api, 2);
	PUT(r, context, null_stream, 7);
	PUT(r, context, is_green, 1);
	PUT(r, context, parent, 8);
	PUT(r, context, sm_count, 16);
	r = RECORD(SYNCHRONIZATION, sync);
	PUT(r, sync, type, 2);
	PUT(r, sync, start, BASE + 60);
	PUT(r, sync, end, BASE + 67);
	PUT(r, sync, correlation, 11);
	PUT(r, sync, context, 9);
	PUT(r, sync, stream, 12);
	PUT(r, sync, event, 13);
	r = RECORD(SYNCHRONIZATION, sync);
	PUT(r, sync, type, 4);
	PUT(r, sync, context, 9);
	PUT(r, sync, stream, WS_CUPTI_NONE);
	PUT(r, sync, event, WS_CUPTI_NONE);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, context), 1);
	SAME(&p, context, pid, PID);
	SAME(&p, context, id, 9);
	SAME(&p, context, device, 4);
	SAME(&p, context, api, 2);
	SAME(&p, context, null_stream, 7);
	SAME(&p, context, parent, 8);
	SAME(&p, context, sm_count, 16);
	cr_assert_eq(ROWS(&p, sync), 2);
	SAME(&p, sync, start_ns, 60);
	SAME(&p, sync, dur_ns, 7);
	SAME(&p, sync, correlation, CORRELATION(11));
	SAME(&p, sync, pid, PID);
	SAME(&p, sync, device, 4);
	SAME(&p, sync, context, 9);
	SAME(&p, sync, stream, 12);
	SAME(&p, sync, type, WS_SYNC_STREAM_WAIT_EVENT);
	SAME(&p, sync, event, 13);
	SAME(&p, sync, event_stream, -1);
	cr_expect_eq((int64_t)CELL(&p, sync, stream, 1), -1);
	cr_expect_eq((int64_t)CELL(&p, sync, event, 1), -1);
	probe_close(&p);
}

Test(cupti_drain, overhead_and_just_in_time_compilation_are_told_apart)
{
	static const uint32_t cupti[] = {1, 1u << 16, 5u << 16, 8u << 16, 99u << 16};
	static const uint64_t ours[] = {1, 2, 6, 9, 0};
	uint8_t *r;
	struct probe p;

	for (int i = 0; i < 5; i++) {
		r = RECORD(OVERHEAD, overhead);
		PUT(r, overhead, kind, cupti[i]);
		PUT(r, overhead, object_kind, WS_CUPTI_OBJECT_THREAD);
		PUT(r, overhead, thread, TID);
		PUT(r, overhead, start, BASE + 60);
		PUT(r, overhead, end, BASE + 67);
	}
	for (uint32_t op = 1; op <= 3; op++) {
		r = RECORD(JIT, jit);
		PUT(r, jit, op, op);
		PUT(r, jit, start, BASE + 70);
		PUT(r, jit, end, BASE + 79);
		PUT(r, jit, thread, TID);
	}
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, overhead), 8);
	for (uint64_t i = 0; i < 5; i++)
		cr_expect_eq(CELL(&p, overhead, kind, i), ours[i]);
	SAME(&p, overhead, start_ns, 60);
	SAME(&p, overhead, dur_ns, 7);
	SAME(&p, overhead, thread, 1);
	for (uint64_t i = 0; i < 3; i++) {
		cr_expect_eq(CELL(&p, overhead, kind, 5 + i), WS_OVERHEAD_JIT_CACHE_LOAD + i);
		cr_expect_eq(CELL(&p, overhead, dur_ns, 5 + i), 9);
		cr_expect_eq(CELL(&p, overhead, thread, 5 + i), 1);
	}
	probe_close(&p);
}

Test(cupti_drain, allocations_and_pools_keep_every_field)
{
	uint8_t *r = RECORD(MEMORY2, memory);
	struct probe p;

	PUT(r, memory, op, 2);
	PUT(r, memory, kind, 3);
	PUT(r, memory, correlation, 4);
	PUT(r, memory, address, UINT64_C(0x7f0000001000));
	PUT(r, memory, bytes, 1 << 20);
	PUT(r, memory, time, BASE + 50);
	PUT(r, memory, device, 5);
	PUT(r, memory, context, 6);
	PUT(r, memory, stream, 7);
	PUT(r, memory, pool_type, 1);
	PUT(r, memory, pool_size, 8 << 20);
	PUT(r, memory, pool_used, 3 << 20);
	r = RECORD(MEMORY_POOL, pool);
	PUT(r, pool, op, 3);
	PUT(r, pool, correlation, 9);
	PUT(r, pool, device, 5);
	PUT(r, pool, address, 10);
	PUT(r, pool, size, 11);
	PUT(r, pool, time, BASE + 60);
	PUT(r, pool, used, 12);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, memory), 2);
	SAME(&p, memory, time_ns, 50);
	SAME(&p, memory, pid, PID);
	SAME(&p, memory, op, WS_MEMORY_OP_FREE);
	SAME(&p, memory, memory_kind, WS_MEMORY_DEVICE);
	SAME(&p, memory, device, 5);
	SAME(&p, memory, context, 6);
	SAME(&p, memory, stream, 7);
	SAME(&p, memory, correlation, CORRELATION(4));
	SAME(&p, memory, address, UINT64_C(0x7f0000001000));
	SAME(&p, memory, bytes, 1 << 20);
	SAME(&p, memory, total_reserved_bytes, 8 << 20);
	SAME(&p, memory, total_allocated_bytes, 3 << 20);
	cr_expect_eq(CELL(&p, memory, op, 1), WS_MEMORY_OP_POOL_TRIM);
	cr_expect_eq(CELL(&p, memory, time_ns, 1), 60);
	cr_expect_eq(CELL(&p, memory, address, 1), 10);
	cr_expect_eq(CELL(&p, memory, bytes, 1), 11);
	cr_expect_eq(CELL(&p, memory, total_allocated_bytes, 1), 12);
	probe_close(&p);
}

Test(cupti_drain, a_graph_launch_and_a_stream_keep_every_field)
{
	uint8_t *r = RECORD(GRAPH_TRACE, graph);
	struct probe p;

	PUT(r, graph, correlation, 4);
	PUT(r, graph, start, BASE + 60);
	PUT(r, graph, end, BASE + 67);
	PUT(r, graph, device, 1);
	PUT(r, graph, id, 5);
	PUT(r, graph, context, 6);
	PUT(r, graph, stream, 7);
	r = RECORD(STREAM, stream);
	PUT(r, stream, context, 6);
	PUT(r, stream, id, 7);
	PUT(r, stream, priority, (uint32_t)-5);
	PUT(r, stream, flag, 2);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, graph_launch), 1);
	SAME(&p, graph_launch, start_ns, 60);
	SAME(&p, graph_launch, dur_ns, 7);
	SAME(&p, graph_launch, correlation, CORRELATION(4));
	SAME(&p, graph_launch, pid, PID);
	SAME(&p, graph_launch, device, 1);
	SAME(&p, graph_launch, context, 6);
	SAME(&p, graph_launch, stream, 7);
	SAME(&p, graph_launch, graph, 5);
	cr_assert_eq(ROWS(&p, stream), 1);
	SAME(&p, stream, pid, PID);
	SAME(&p, stream, context, 6);
	SAME(&p, stream, id, 7);
	SAME(&p, stream, priority, -5);
	SAME(&p, stream, flag, 2);
	probe_close(&p);
}

Test(cupti_drain, a_device_has_the_limits_that_occupancy_and_roofline_need)
{
	/* in the order of the members below, each another number */
	static const struct {
		const char *attr;
		uint64_t value;
	} wanted[] = {
	        {"memory_bandwidth_bytes_per_s", UINT64_C(4800000000) * 1000},
	        {"global_memory_bytes", UINT64_C(150000000000)},
	        {"constant_memory_bytes", 65536},
	        {"l2_cache_bytes", 62914560},
	        {"warp_size", 32},
	        {"core_clock_hz", 1980000000},
	        {"copy_engines", 3},
	        {"sm_count", 132},
	        {"max_warps_per_sm", 64},
	        {"max_threads_per_sm", 2048},
	        {"max_blocks_per_sm", 31},
	        {"shared_per_sm_bytes", 233472},
	        {"registers_per_sm", 65535},
	        {"registers_per_block", 65534},
	        {"shared_per_block_bytes", 49152},
	        {"max_threads_per_block", 1024},
	        {"compute_capability_major", 9},
	        {"compute_capability_minor", 1},
	        {"ecc", 1},
	        {"mig", 1},
	        {"mig_gpu_instance", 6},
	        {"mig_compute_instance", 7},
	};
	uint64_t name = put_text("NVIDIA H200");
	uint8_t *r = RECORD(DEVICE, device);
	struct probe p;

	PUT(r, device, memory_bandwidth, UINT64_C(4800000000));
	PUT(r, device, memory_size, UINT64_C(150000000000));
	PUT(r, device, constant_size, 65536);
	PUT(r, device, l2_size, 62914560);
	PUT(r, device, warp_size, 32);
	PUT(r, device, core_clock, 1980000);
	PUT(r, device, copy_engines, 3);
	PUT(r, device, sm_count, 132);
	PUT(r, device, warps_per_sm, 64);
	PUT(r, device, blocks_per_sm, 31);
	PUT(r, device, shared_per_sm, 233472);
	PUT(r, device, registers_per_sm, 65535);
	PUT(r, device, registers_per_block, 65534);
	PUT(r, device, shared_per_block, 49152);
	PUT(r, device, threads_per_block, 1024);
	PUT(r, device, major, 9);
	PUT(r, device, minor, 1);
	PUT(r, device, id, 3);
	PUT(r, device, ecc, 1);
	PUT(r, device, name, name);
	PUT(r, device, mig, 1);
	PUT(r, device, gpu_instance, 6);
	PUT(r, device, compute_instance, 7);
	finish_slot();
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, device), 1);
	SAME(&p, device, id, 3);
	SAME(&p, device, kind, WS_DEVICE_CUDA);
	cr_expect_str_eq(TEXT(&p, device, name, 0), "NVIDIA H200");
	cr_assert_eq(ROWS(&p, device_attr), sizeof(wanted) / sizeof(*wanted));
	for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++) {
		uint64_t found = 0;

		for (uint64_t i = 0; i < ROWS(&p, device_attr); i++)
			if (!strcmp(TEXT(&p, device_attr, attr, i), wanted[w].attr))
				found = CELL(&p, device_attr, value, i);
		cr_expect_eq(found, wanted[w].value, "%s", wanted[w].attr);
	}
	probe_close(&p);
}
