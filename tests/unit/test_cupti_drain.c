/*
 * CUPTI's buffers, written by hand, through the drain into a trace and back:
 * every kind field by field, damage, and the launcher's death. The steps from
 * record to record are those of NVIDIA's library when WS_TEST_CUPTI names it,
 * else those of the table of sizes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/drain_has_all.h"
#include "recorder/shared/cupti_abi.h"
#include "recorder/shared/segment_slots.h"
#include "tests/record/by_hand.h"

#define PID   100
#define TID   1001
#define IMAGE 1
/* A correlation id as the trace has it. */
#define CORRELATION(id) ((uint64_t)IMAGE << 32 | (id))

static char trace_path[] = "/tmp/test_cupti_drain.XXXXXX";

static int by_library(void)
{
	return getenv("WS_TEST_CUPTI") != NULL;
}

static void begin(const char *path)
{
	by_hand_start(path);
	if (by_library())
		snprintf(seg->gpu.library, sizeof(seg->gpu.library), "%s", getenv("WS_TEST_CUPTI"));
	atomic_store(&seg->owner.pid, PID);
	atomic_store(&seg->gpu.cupti_version, 130001);
}

static void start(void)
{
	begin(NULL);
}

TestSuite(cupti_drain, .init = start, .fini = by_hand_stop, .timeout = 60);

/* --- filling a slot --- */

static int slot = -1;
static uint64_t used;

/* A record of this size, zeroed but for its kind, at the end of the slot in hand. */
static uint8_t *put_record(uint32_t kind, size_t size)
{
	uint8_t *r;

	if (slot < 0) {
		slot = ws_slot_take(seg, IMAGE);
		cr_assert_geq(slot, 0);
		used = 0;
	}
	r = ws_slot_bytes(seg, (uint32_t)slot) + used;
	cr_assert_leq(used + size, SLOT_SIZE);
	memcpy(r, &kind, sizeof(kind));
	used += size;
	return r;
}

static void finish_slot(void)
{
	ws_slot_finish(seg, (uint32_t)slot, used);
	slot = -1;
}

#define PUT(record, what, field, value)                                                        \
	do {                                                                                   \
		__typeof__(((struct ws_cupti_##what *)0)->field) v_ = (__typeof__(v_))(value); \
		memcpy((record) + WS_CUPTI_AT_##what##_##field, &v_, sizeof(v_));              \
	} while (0)

#define RECORD(KIND, what) put_record(WS_CUPTI_KIND_##KIND, WS_CUPTI_SIZE_##what)

static uint8_t *put_kernel(uint32_t correlation, uint64_t name)
{
	uint8_t *r = RECORD(CONCURRENT_KERNEL, kernel);

	PUT(r, kernel, start, BASE + 1000);
	PUT(r, kernel, end, BASE + 1500);
	PUT(r, kernel, grid_x, 3);
	PUT(r, kernel, block_x, 64);
	PUT(r, kernel, correlation, correlation);
	PUT(r, kernel, name, name);
	return r;
}

static uint8_t *put_api(uint32_t kind, uint32_t cbid, uint32_t correlation)
{
	uint8_t *r = put_record(kind, WS_CUPTI_SIZE_api);

	PUT(r, api, cbid, cbid);
	PUT(r, api, start, BASE + 100);
	PUT(r, api, end, BASE + 300);
	PUT(r, api, thread, TID);
	PUT(r, api, correlation, correlation);
	return r;
}

static void put_call_name(uint32_t domain, uint32_t cbid, const char *name)
{
	uint8_t body[64];
	struct ws_def_call fixed = {domain, cbid};

	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), name, strlen(name));
	put_def(WS_DEF_CALL, 1, body, (uint32_t)(sizeof(fixed) + strlen(name)));
}

static uint64_t put_text(const char *text)
{
	return WS_SLOT_TEXT_ID | put_def(WS_DEF_STRING, 0, text, (uint32_t)strlen(text));
}

static uint64_t lost(enum ws_loss cause)
{
	return ws_drain_lost(drain, cause);
}

/* --- every kind, every column --- */

#define SAME(p, kind, column, value) \
	cr_expect_eq(CELL(p, kind, column, 0), (uint64_t)(value), #kind "." #column)

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

/* --- damage --- */

Test(cupti_drain, times_of_zero_are_no_times_and_counted)
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
	cr_expect_eq(lost(WS_LOSS_kernel_without_time), 1);
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_drain, records_that_make_no_sense_are_counted_and_the_rest_is_read)
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
	r = RECORD(MEMORY_POOL, pool);
	put_kernel(6, 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	SAME(&p, kernel, correlation, CORRELATION(6));
	cr_expect_eq(ROWS(&p, memory), 0);
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 7);
	probe_close(&p);
}

Test(cupti_drain, unknown_kinds_are_counted_and_stepped_over)
{
	struct probe p;

	put_record(39, 24); /* external correlation */
	put_kernel(1, 0);
	put_record(36, 56); /* CUDA event */
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 1);
	cr_expect_eq(lost(WS_LOSS_activity_unknown), 2);
	probe_close(&p);
}

Test(cupti_drain, a_finished_buffer_that_ends_in_something_else_is_damaged_once)
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
	/* NVIDIA's iterator takes a record that is cut off for the end */
	cr_expect_eq(lost(WS_LOSS_activity_damaged), by_library() ? 1 : 2);
	probe_close(&p);
}

Test(cupti_drain, a_buffer_whose_process_died_is_read_up_to_its_zeros)
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
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 1);
	cr_expect_eq(lost(WS_LOSS_kernel_without_time), 1);
	probe_close(&p);
}

/* A flush hands over no buffer with a kernel that runs: on a busy GPU that is each one. */
Test(cupti_drain, what_cupti_has_in_hand_is_read_when_the_recording_ends_before_the_program)
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
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_drain, of_a_dead_process_the_names_of_kernels_are_found_by_their_address)
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
	probe_close(&p);
}

Test(cupti_drain, a_version_of_which_nothing_is_known_is_counted_not_guessed)
{
	struct probe p;

	atomic_store(&seg->gpu.cupti_version, 140000);
	put_kernel(1, 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_eq(lost(WS_LOSS_activity_unknown), 1);
	probe_close(&p);
}

Test(cupti_drain, no_bytes_in_a_slot_do_any_harm)
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
	cr_expect_gt(lost(WS_LOSS_activity_damaged) + lost(WS_LOSS_activity_unknown), 0);
	probe_close(&p);
}

/* --- calls that come twice --- */

Test(cupti_drain, of_a_runtime_call_and_the_driver_call_in_it_the_outer_one_is_kept)
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
	/* the library knows names that the collector had no time to define */
	for (uint64_t i = 0; i < 3; i++) {
		const char *runtime = by_library() ? "cudaLaunchKernel_v7000" : "runtime call 211";
		const char *driver = by_library() ? "cuLaunchKernel" : "driver call 307";

		cr_expect_str_eq(TEXT(&p, api, name, i), i ? driver : runtime);
	}
	probe_close(&p);
}

Test(cupti_drain, a_thread_that_only_cupti_knows_gets_a_row)
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

Test(cupti_drain, launches_without_work_are_counted_when_nothing_more_can_come)
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
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 0, "its kernel may still come");
	ws_drain_program_ended(drain);
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 1);
	p = by_hand_finish();
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 1);
	probe_close(&p);
}

Test(cupti_drain, a_launch_that_waits_too_long_gives_way_and_is_counted)
{
	struct probe p;

	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 7);
	put_api(WS_CUPTI_KIND_RUNTIME, 211, 7 + (1 << 18));
	put_kernel(7 + (1 << 18), 0);
	finish_slot();
	p = by_hand_finish();
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 1);
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
Test(cupti_drain, launches_in_a_capture_need_no_work_on_whatever_thread_and_in_whatever_order)
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
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 2);
	probe_close(&p);
}

Test(cupti_drain, also_a_captured_launch_that_gives_way_is_none_that_is_missed)
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
	cr_expect_eq(lost(WS_LOSS_launch_without_work), 0);
	probe_close(&p);
}

/* --- what CUPTI has no number for --- */

Test(cupti_drain, memory_and_waits_without_device_or_context_are_kept_with_zeros)
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
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 0);
	probe_close(&p);
}

Test(cupti_drain, a_query_that_found_work_undone_is_no_wait)
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
	cr_expect_eq(lost(WS_LOSS_activity_damaged), 0);
	probe_close(&p);
}

/* --- commits --- */

Test(cupti_drain, a_slot_goes_back_with_the_commit_and_not_before)
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

Test(cupti_drain, a_commit_is_wanted_before_the_pool_runs_dry)
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

/* --- death of the launcher --- */

static void start_file(void)
{
	int fd = mkstemp(trace_path);

	cr_assert_geq(fd, 0);
	close(fd);
	begin(trace_path);
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
	cr_assert_eq(ws_trace_writer_resume(&writer, trace_path, ws_drain_file_size(seg), &opts,
	                                    &err),
	             WS_OK, "%s", err.text);
	cr_assert_eq(ws_drain_create(&drain, seg, writer, &err), WS_OK);
}

Test(cupti_death, after_any_death_of_the_launcher_each_record_is_there_once, .init = start_file,
     .fini = stop_file, .timeout = 60)
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
	cr_expect_eq(ws_drain_lost(drain, WS_LOSS_activity_damaged), 0);
	probe_close(&p);
}
