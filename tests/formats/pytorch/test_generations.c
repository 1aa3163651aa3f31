#include "tests/formats/pytorch/import.h"

/* --- the generations --- */

/* Times of it are relative to its second. */
#define T2021(us) (((us)-1623142623000000) * 1000)

Test(generations, the_2021_generation_is_read)
{
	struct ws_imported *i = imported(generation_2021);

	cr_assert(eq(str, i->stats.format, (char *)"generation of 2021"));
	cr_assert(eq(u64, i->stats.events, 14));
	cr_assert(eq(i64, ws_trace_reader_summary(i->reader)->base_ns, 1623142623000000000));
	cr_assert(eq(u64, rows(i, WS_KIND_CPU_OP), 2));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, start_ns, 0), T2021(1623142623460111)));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, dur_ns, 0), 25000));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, external_id, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, sequence, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, sequence, 1), 77));
	cr_assert(eq(i64, WS_CELL(i, CPU_OP, cpu_op, forward_thread, 1), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, OP_CONFIG, op_config, name, 0),
	             (char *)"aten::mm"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, OP_CONFIG, op_config, dims, 0),
	             (char *)"[[2,3],[3,4]]"));
	cr_assert(eq(i64, WS_CELL(i, OP_CONFIG, op_config, flops, 0), 48));
	cr_assert(eq(i64, WS_CELL(i, OP_CONFIG, op_config, cost, 1), WS_COST_NONE));

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 1));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 34441));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, dur_ns, 0), 40000));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 0), 25738));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, stream, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, grid_x, 0), 50));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, grid_y, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_x, 0), 256));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, registers, 0), 38));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, shared_dynamic_bytes, 0), 4096));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, LAUNCH_CONFIG, launch_config, name, 0),
	             (char *)"volta_sgemm"));
	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"cudaLaunchKernel"));
	ws_imported_free(i);
}

Test(generations, copies_fills_and_allocations_of_the_2021_generation_are_read)
{
	struct ws_imported *i = imported(generation_2021);

	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, kind, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_kind, 0), WS_MEMORY_PAGEABLE));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dst_kind, 0), WS_MEMORY_DEVICE));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, bytes, 0), 256));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, pid, 0), 25738));
	cr_assert(eq(i64, WS_CELL(i, MEMSET, memset, memory_kind, 0), WS_MEMORY_DEVICE));
	cr_assert(eq(i64, WS_CELL(i, MEMSET, memset, bytes, 0), 128000));
	cr_assert(eq(u64, rows(i, WS_KIND_MEMORY), 2));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, op, 0), WS_MEMORY_OP_ALLOC));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, memory_kind, 0), WS_MEMORY_PAGEABLE));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, bytes, 0), 4));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, op, 1), WS_MEMORY_OP_FREE));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, bytes, 1), 512));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, memory_kind, 1), WS_MEMORY_DEVICE));
	cr_assert(eq(u64, ws_imported_skipped(i, "arrows"), 1));
	ws_imported_free(i);
}

Test(generations, a_step_of_the_2021_generation_is_a_range_although_it_is_called_an_operator)
{
	struct ws_imported *i = imported(generation_2021);

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 2));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 0), WS_NVTX_PUSH));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 0), T2021(1623142623460100)));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"ProfilerStep#5"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, domain, 0), (char *)"pytorch"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 1), WS_NVTX_POP));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 1), T2021(1623142623460200)));
	cr_assert(
	        eq(i64, WS_CELL(i, NVTX, nvtx, thread, 0), WS_CELL(i, CPU_OP, cpu_op, thread, 0)));
	ws_imported_free(i);
}

Test(generations, names_of_threads_and_processes_come_from_their_metadata)
{
	struct ws_imported *i = imported(generation_2021);
	uint64_t last = rows(i, WS_KIND_THREAD) - 1;

	cr_assert(eq(u64, rows(i, WS_KIND_PROCESS), 1));
	cr_assert(eq(i64, WS_CELL(i, PROCESS, process, pid, 0), 25738));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, PROCESS, process, program, 0), (char *)"python"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, THREAD, thread, name, last),
	             (char *)"thread 25738 (python)"));
	cr_assert(eq(i64, WS_CELL(i, THREAD, thread, tid, last), 25738));
	cr_assert(eq(u64, ws_imported_skipped(i, "names of rows"), 1), "the stream's");
	cr_assert(
	        eq(str, (char *)ws_imported_meta(i, "pytorch.span_dur_ns"), (char *)"1065723000"));
	ws_imported_free(i);
}

Test(generations, device_properties_become_attributes)
{
	struct ws_imported *i = imported(generation_2021);

	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE, device, name, 0), (char *)"Tesla V100"));
	cr_assert(eq(i64, WS_CELL(i, DEVICE, device, kind, 0), WS_DEVICE_CUDA));
	cr_assert(eq(u64, rows(i, WS_KIND_DEVICE_ATTR), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, DEVICE_ATTR, device_attr, attr, 0),
	             (char *)"sm_count"));
	cr_assert(eq(i64, WS_CELL(i, DEVICE_ATTR, device_attr, value, 0), 80));
	ws_imported_free(i);
}

#define T2022(us) (((us)-1683564901000000) * 1000)

Test(generations, the_2022_generation_is_read)
{
	struct ws_imported *i = imported(generation_2022);

	cr_assert(eq(str, i->stats.format, (char *)"generation of 2022 or 2023"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "distributed.rank"), (char *)"3"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "distributed.world_size"), (char *)"16"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "pytorch.record_shapes"), (char *)"1"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, LAUNCH_CONFIG, launch_config, name, 0),
	             (char *)"k<int>(a, \"b\")"));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, device, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, type, 0), WS_SYNC_STREAM_WAIT_EVENT));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, stream, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event, 0), 9));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event_stream, 0), 20));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event_correlation, 0), 32));
	cr_assert(eq(i64, WS_CELL(i, OVERHEAD, overhead, kind, 0), 2));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, GPU_RANGE, gpu_range, name, 0), (char *)"outer"));
	cr_assert(eq(i64, WS_CELL(i, GPU_RANGE, gpu_range, dur_ns, 0), 5000));
	cr_assert(eq(i64, WS_CELL(i, GPU_RANGE, gpu_range, pid, 0), 10));
	cr_assert(eq(i64, WS_CELL(i, PYTHON_CALL, python_call, module, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, PYTHON_CALL, python_call, parent, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, PYTHON_CALL, python_call, module, 1), -1));
	cr_assert(eq(i64, WS_CELL(i, PYTHON_CALL, python_call, parent, 1), 0));
	ws_imported_free(i);
}

Test(generations, an_external_id_that_repeats_the_correlation_is_no_link)
{
	struct ws_imported *i = imported(generation_2022);

	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 0));
	ws_imported_free(i);
	i = imported(generation_2021);
	cr_assert(eq(u64, rows(i, WS_KIND_EXTERNAL_LINK), 2));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, correlation, 0), 34441));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, external_id, 0), 2));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, pid, 0), 25738));
	ws_imported_free(i);
}

Test(generations, annotations_nest_the_longer_one_outside)
{
	struct ws_imported *i = imported(generation_2022);

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 4));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"outer"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 1), (char *)"inner"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 2), WS_NVTX_POP));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 2), T2022(1683564901540200)));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 3), T2022(1683564901541000)));
	ws_imported_free(i);
}

Test(generations, forward_backward_links_have_both_ends_or_are_counted)
{
	struct ws_imported *i = imported(generation_2022);

	cr_assert(eq(u64, rows(i, WS_KIND_FLOW), 1));
	cr_assert(eq(i64, WS_CELL(i, FLOW, flow, from_ns, 0),
	             WS_CELL(i, CPU_OP, cpu_op, start_ns, 0)));
	cr_assert(
	        eq(i64, WS_CELL(i, FLOW, flow, to_ns, 0), WS_CELL(i, CPU_OP, cpu_op, start_ns, 1)));
	cr_assert(eq(i64, WS_CELL(i, FLOW, flow, from_thread, 0),
	             WS_CELL(i, CPU_OP, cpu_op, thread, 0)));
	cr_assert(eq(i64, WS_CELL(i, FLOW, flow, to_thread, 0),
	             WS_CELL(i, CPU_OP, cpu_op, thread, 1)));
	cr_assert(eq(u64, ws_imported_skipped(i, "one end"), 1));
	ws_imported_free(i);
}

Test(generations, paths_and_other_facts_of_the_machine_stay_behind)
{
	struct ws_imported *i = imported(generation_2022);

	for (uint64_t row = 0; row < rows(i, WS_KIND_STRING); row++)
		cr_assert(eq(int,
		             strstr(WS_CELL_TEXT(i, STRING, string, id, row), "secret") == NULL,
		             1));
	for (uint64_t row = 0; row < rows(i, WS_KIND_META); row++)
		cr_assert(memmem(i->table[WS_KIND_META].columns[WS_COL_meta_value].b[row].ptr,
		                 i->table[WS_KIND_META].columns[WS_COL_meta_value].b[row].len,
		                 "secret", 6) == NULL);
	ws_imported_free(i);
}

Test(generations, the_2024_generation_is_read_to_the_nanosecond)
{
	struct ws_imported *i = imported(generation_2024);

	cr_assert(eq(str, i->stats.format, (char *)"generation of 2024 or later"));
	cr_assert(eq(i64, ws_trace_reader_summary(i->reader)->base_ns, 1751410836000000000));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, start_ns, 0), 1419247333430849));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, dur_ns, 0), 3136));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), 1419247333417540));
	cr_assert(eq(i64, WS_CELL(i, API, api, dur_ns, 0), 12250));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dur_ns, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, kind, 0), 10));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, src_device, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, dst_device, 0), 3));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, context, 0), 6));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, op, 0), WS_MEMORY_OP_OUT_OF_MEMORY));
	cr_assert(eq(i64, WS_CELL(i, MEMORY, memory, total_reserved_bytes, 0), 10));
	cr_assert(ws_imported_warned(i, "unknown: 1"));
	ws_imported_free(i);
}

Test(generations, device_work_before_any_call_gets_its_process_all_the_same)
{
	struct ws_imported *i = imported(generation_2024);

	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 0), 19392));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, pid, 0), 19392));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, pid, 0), 19392));
	ws_imported_free(i);
}

Test(generations, an_array_without_an_object_around_it_is_read)
{
	struct ws_imported *i = imported(
	        "\xef\xbb\xbf[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\",\"pid\":1,"
	        "\"tid\":2,\"ts\":5,\"dur\":1}]");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), 5000));
	ws_imported_free(i);
}
