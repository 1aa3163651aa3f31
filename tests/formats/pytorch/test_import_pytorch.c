#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <unistd.h>
#include <zlib.h>

#include "tests/support/imported.h"

static struct ws_imported *import(const char *json)
{
	return ws_imported_bytes(json, strlen(json));
}

/* An import that must work and make a sound trace. */
static struct ws_imported *imported(const char *json)
{
	struct ws_imported *i = import(json);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	return i;
}

static uint64_t rows(const struct ws_imported *i, enum ws_kind kind)
{
	return i->table[kind].rows;
}

/* --- the generations --- */

/* One step of the 2021 generation: capitals, whole microseconds, text where numbers are now. */
static const char generation_2021[] =
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"Tesla V100\","
        " \"numSms\": 80, \"computeMajor\": 7, \"sharedMemPerMultiprocessor\": 98304}],\n"
        "\"traceEvents\": [\n"
        "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"aten::mm\", \"pid\": 25738,"
        " \"tid\": \"25738\", \"ts\": 1623142623460111, \"dur\": 25, \"args\": {\"Device\": 25738,"
        " \"External id\": 2, \"Input Dims\": [[2, 3], [3, 4]], \"Input type\": [\"float\", "
        "\"float\"]"
        ", \"Call stack\": \"a;b\"}},\n"
        "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"ProfilerStep#5\", \"pid\": 25738,"
        " \"tid\": \"25738\", \"ts\": 1623142623460100, \"dur\": 100,"
        " \"args\": {\"Device\": 25738, \"External id\": 4}},\n"
        "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"MmBackward\", \"pid\": 25738,"
        " \"tid\": \"25739\", \"ts\": 1623142623460150, \"dur\": 5,"
        " \"args\": {\"External id\": 5, \"Fwd thread id\": 1, \"Sequence number\": 77}},\n"
        "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 25738,"
        " \"tid\": \"25738\", \"ts\": 1623142623460115, \"dur\": 8, \"args\": {\"cbid\": 211,"
        " \"correlation\": 34441, \"external id\": 2, \"external ts\": 1}},\n"
        "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"volta_sgemm\", \"pid\": 0,"
        " \"tid\": \"stream 7\", \"ts\": 1623142623460130, \"dur\": 40, \"args\": {\"queued\": 0,"
        " \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 34441, \"external id\": 2,"
        " \"registers per thread\": 38, \"shared memory\": 4096, \"blocks per SM\": 0.625,"
        " \"grid\": [50, 2, 1], \"block\": [256, 1, 1], \"est. achieved occupancy %\": 8}},\n"
        "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"Memcpy HtoD (Pageable -> Device)\","
        " \"pid\": 0, \"tid\": \"stream 7\", \"ts\": 1623142623460180, \"dur\": 2, \"args\":"
        " {\"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 34442, \"external id\": "
        "9,"
        " \"bytes\": 256, \"memory bandwidth (GB/s)\": 0.2}},\n"
        "{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"Memset (Device)\", \"pid\": 0,"
        " \"tid\": \"stream 7\", \"ts\": 1623142623460190, \"dur\": 1, \"args\": {\"device\": 0,"
        " \"context\": 1, \"stream\": 7, \"correlation\": 34443, \"bytes\": 128000}},\n"
        "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 25738, \"tid\": 25738,"
        " \"ts\": 1623142623460121, \"args\": {\"Device Type\": 0, \"Device Id\": -1, \"Bytes\": "
        "4}},\n"
        "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 25738, \"tid\": 25738,"
        " \"ts\": 1623142623460122, \"args\": {\"Device Type\": 1, \"Device Id\": 0,"
        " \"Bytes\": -512}},\n"
        "{\"ph\": \"s\", \"id\": 34441, \"pid\": 25738, \"tid\": 25738, \"ts\": 1623142623460115,"
        " \"cat\": \"async\", \"name\": \"launch\"},\n"
        "{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 1623142623460016, \"pid\": 25738,"
        " \"tid\": 0, \"args\": {\"name\": \"python\"}},\n"
        "{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 1, \"pid\": 25738, \"tid\": \"25738\","
        " \"args\": {\"name\": \"thread 25738 (python)\"}},\n"
        "{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 1, \"pid\": 0, \"tid\": \"stream 7\","
        " \"args\": {\"name\": \"stream 7\"}},\n"
        "{\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": 1623142623460016, \"dur\": 1065723,"
        " \"pid\": \"Traces\", \"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\"}\n"
        "]}";

/* Times of it are relative to its second. */
#define T2021(us) (((us)-1623142623000000) * 1000)

Test(import_pytorch, the_2021_generation_is_read)
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

Test(import_pytorch, copies_fills_and_allocations_of_the_2021_generation_are_read)
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

Test(import_pytorch, a_step_of_the_2021_generation_is_a_range_although_it_is_called_an_operator)
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

Test(import_pytorch, names_of_threads_and_processes_come_from_their_metadata)
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

Test(import_pytorch, device_properties_become_attributes)
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

static const char generation_2022[] =
        "{\"metadata\": {\"environ\": {\"TOKEN\": \"secret\", \"a\": [1, {}]}}, "
        "\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3,"
        " \"world_size\": 16, \"pg_config\": [{\"a\": [1]}]}, \"record_shapes\": 1,\n"
        "\"traceEvents\": [\n"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"outer\", \"pid\": 10, \"tid\": "
        "11,"
        " \"ts\": 1683564901540100, \"dur\": 900},\n"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"inner\", \"pid\": 10, \"tid\": "
        "11,"
        " \"ts\": 1683564901540100, \"dur\": 100},\n"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaGraphLaunch\", \"pid\": 10,"
        " \"tid\": 11, \"ts\": 1683564901540110, \"dur\": 15,"
        " \"args\": {\"External id\": 700, \"cbid\": 311, \"correlation\": 700}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<int>(a, \\\"b\\\")\", \"pid\": 2, "
        "\"tid\": 7,"
        " \"ts\": 1683564901540130, \"dur\": 3, \"args\": {\"External id\": 700, \"device\": 2,"
        " \"context\": 1, \"stream\": 7, \"correlation\": 700, \"grid\": [1, 1, 1],"
        " \"block\": [128, 1, 1]}},\n"
        "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"outer\", \"pid\": 2, "
        "\"tid\": 7,"
        " \"ts\": 1683564901540130, \"dur\": 5, \"args\": {\"External id\": 1}},\n"
        "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"pid\": 2,"
        " \"tid\": -1, \"ts\": 1683564901540150, \"dur\": 4, \"args\": {\"cuda_sync_kind\":"
        " \"Stream Wait Event\", \"wait_on_stream\": 20, \"wait_on_cuda_event_record_corr_id\": 32,"
        " \"wait_on_cuda_event_id\": 9, \"stream\": 4294967295, \"correlation\": 54, \"device\": 2,"
        " \"context\": 1}},\n"
        "{\"ph\": \"X\", \"cat\": \"overhead\", \"name\": \"Buffer Flush\", \"pid\": -1, \"tid\": "
        "0,"
        " \"ts\": 1683564901540160, \"dur\": 6},\n"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"pid\": 10, \"tid\": 11,"
        " \"ts\": 1683564901540105, \"dur\": 20, \"args\": {\"External id\": 5, \"Ev Idx\": 4}},\n"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"ReluBackward0\", \"pid\": 10, \"tid\": "
        "12,"
        " \"ts\": 1683564901540305, \"dur\": 20, \"args\": {\"External id\": 6}},\n"
        "{\"ph\": \"s\", \"id\": 1, \"pid\": 10, \"tid\": 11, \"ts\": 1683564901540105,"
        " \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"},\n"
        "{\"ph\": \"f\", \"id\": 1, \"pid\": 10, \"tid\": 12, \"ts\": 1683564901540305,"
        " \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"bp\": \"e\"},\n"
        "{\"ph\": \"f\", \"id\": 2, \"pid\": 10, \"tid\": 12, \"ts\": 1683564901540306,"
        " \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"bp\": \"e\"},\n"
        "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"nn.Module: Linear_0\", \"pid\": "
        "10,"
        " \"tid\": 11, \"ts\": 1683564901540101, \"dur\": 50, \"args\": {\"Python id\": 3,"
        " \"Python parent id\": 2, \"Python module id\": 0}},\n"
        "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(3): f\", \"pid\": 10,"
        " \"tid\": 11, \"ts\": 1683564901540100, \"dur\": 60, \"args\": {\"Python id\": 2,"
        " \"Python parent id\": null}}\n"
        "], \"traceName\": \"/home/user/secret.json\"}";
#define T2022(us) (((us)-1683564901000000) * 1000)

Test(import_pytorch, the_2022_generation_is_read)
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

Test(import_pytorch, an_external_id_that_repeats_the_correlation_is_no_link)
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

Test(import_pytorch, annotations_nest_the_longer_one_outside)
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

Test(import_pytorch, forward_backward_links_have_both_ends_or_are_counted)
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

Test(import_pytorch, paths_and_other_facts_of_the_machine_stay_behind)
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

/* Fractions of microseconds, relative times, the base behind the events. */
static const char generation_2024[] =
        "{\"traceEvents\": [\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"early\", \"pid\": 0, \"tid\": 7,"
        " \"ts\": 1419247333430.849, \"dur\": 3.136, \"args\": {\"External id\": 9, \"device\": 0,"
        " \"context\": 1, \"stream\": 7, \"correlation\": 8218, \"graph node id\": 12}},\n"
        "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy PtoP (Device -> Device)\","
        " \"pid\": 0, \"tid\": 7, \"ts\": 1419247333440.5, \"dur\": 0.001, \"args\": "
        "{\"fromDevice\": 1,"
        " \"inDevice\": 0, \"toDevice\": 3, \"fromContext\": 1, \"inContext\": 6, \"toContext\": 1,"
        " \"stream\": 7, \"correlation\": 8219, \"bytes\": 64, \"memory bandwidth (GB/s)\": "
        "inf}},\n"
        "{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernel\", \"pid\": 19392,"
        " \"tid\": 19392, \"ts\": 1419247333417.54, \"dur\": 12.25,"
        " \"args\": {\"External id\": 9, \"cbid\": 307, \"correlation\": 8218}},\n"
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[OutOfMemory]\","
        " \"pid\": 19392, \"tid\": 19392, \"ts\": 1419247333400.919, \"args\": {\"Total "
        "Reserved\": 10,"
        " \"Total Allocated\": 9, \"Bytes\": 144384, \"Device Id\": 0, \"Device Type\": 1}}\n"
        "], \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1751410836000000000}";

Test(import_pytorch, the_2024_generation_is_read_to_the_nanosecond)
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

Test(import_pytorch, device_work_before_any_call_gets_its_process_all_the_same)
{
	struct ws_imported *i = imported(generation_2024);

	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, pid, 0), 19392));
	cr_assert(eq(i64, WS_CELL(i, MEMCPY, memcpy, pid, 0), 19392));
	cr_assert(eq(i64, WS_CELL(i, EXTERNAL_LINK, external_link, pid, 0), 19392));
	ws_imported_free(i);
}

Test(import_pytorch, an_array_without_an_object_around_it_is_read)
{
	struct ws_imported *i = imported(
	        "\xef\xbb\xbf[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\",\"pid\":1,"
	        "\"tid\":2,\"ts\":5,\"dur\":1}]");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), 5000));
	ws_imported_free(i);
}

/* --- ranges --- */

#define ANNOTATION(name, tid, ts, dur)                                                            \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid \
	",\"ts\":" #ts ",\"dur\":" #dur "},"

Test(import_pytorch, ranges_that_cross_become_start_and_end)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" ANNOTATION("a", 1, 0, 10) ANNOTATION("b", 1, 5, 10)
	                         ANNOTATION("c", 1, 6, 2) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 6));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 0), WS_NVTX_PUSH));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 1), WS_NVTX_START));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 1), (char *)"b"));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 2), WS_NVTX_END));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, time_ns, 2), 15000));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, range, 1), WS_CELL(i, NVTX, nvtx, range, 2)));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 3), WS_NVTX_PUSH), "c inside a");
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 4), WS_NVTX_POP));
	cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, 5), WS_NVTX_POP));
	cr_assert(ws_imported_warned(i, "start/end ranges: 1"));
	ws_imported_free(i);
}

Test(import_pytorch, ranges_that_touch_follow_one_another)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" ANNOTATION("b", 1, 10, 10) ANNOTATION("a", 1, 0, 10)
	                         ANNOTATION("z", 2, 3, 0) "]}");
	const int types[] = {WS_NVTX_PUSH, WS_NVTX_POP,  WS_NVTX_PUSH,
	                     WS_NVTX_POP,  WS_NVTX_PUSH, WS_NVTX_POP};

	cr_assert(eq(u64, rows(i, WS_KIND_NVTX), 6));
	for (int k = 0; k < 6; k++)
		cr_assert(eq(i64, WS_CELL(i, NVTX, nvtx, type, (uint64_t)k), types[k]));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 0), (char *)"a"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, NVTX, nvtx, name, 2), (char *)"b"));
	ws_imported_free(i);
}

/* --- invalid JSON as PyTorch writes it --- */

#define CALL(name, ts)                                            \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
	"\",\"pid\":1,\"tid\":2,\"ts\":" #ts ",\"dur\":1,\"args\":{\"correlation\":" #ts "}}"

Test(import_pytorch, control_characters_and_bad_escapes_in_names_cost_nothing)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" CALL("a\x01"
	                                           "b",
	                                           1) "," CALL("C:\\Users\\x\\new",
	                                                       2) "," CALL("tab\there", 3) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0),
	             (char *)"a\x01"
	                     "b"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 1), (char *)"C:\\Users\\x\new"));
	cr_assert(ws_imported_warned(i, "raw control characters, kept as they are: 2"));
	cr_assert(ws_imported_warned(i, "JSON does not know, kept as they are: 1"));
	ws_imported_free(i);
}

Test(import_pytorch, a_quote_inside_a_name_costs_its_event_only)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" CALL("a", 1) ",\n" CALL(
	        "foo \"bar\" baz", 2) ",\n" CALL("c", 3) "],\"with_stack\":1}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 2));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 1), (char *)"c"));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 1));
	cr_assert(eq(u64, rows(i, WS_KIND_LOSS), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, LOSS, loss, cause, 0),
	             (char *)"import_unreadable"));
	cr_assert(eq(i64, WS_CELL(i, LOSS, loss, count, 0), 1));
	cr_assert(ws_imported_warned(i, "invalid JSON at byte"));
	cr_assert(eq(str, (char *)ws_imported_meta(i, "pytorch.with_stack"), (char *)"1"),
	          "what follows the events is read");
	ws_imported_free(i);
}

Test(import_pytorch, a_quote_that_is_missing_costs_no_more_than_its_event)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" CALL(
	        "a", 1) ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime,\"name\":\"x\"},"
	                "\n" CALL("b", 2) ",\n" CALL("c", 3) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 3));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 1));
	ws_imported_free(i);
}

Test(import_pytorch, metadata_that_is_no_json_hides_no_events)
{
	struct ws_imported *i = imported("{\"schemaVersion\":1,\"mine\":hello there,\"x\":{]},"
	                                 "\"traceEvents\":[" CALL("a", 1) "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(ws_imported_warned(i, "before the events"));
	ws_imported_free(i);
}

Test(import_pytorch, missing_and_surplus_commas_cost_nothing)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" CALL("a", 1) "\n" CALL("b", 2) ",," CALL("c", 3) ",\n],}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 3));
	cr_assert(eq(u64, i->stats.nwarnings, 0));
	ws_imported_free(i);
}

Test(import_pytorch, what_follows_the_document_is_counted_and_told)
{
	static const char two[] =
	        "{\"traceEvents\":[" CALL("a", 1) "]}\n"
	                                          "{\"traceEvents\":[" CALL("b",
	                                                                    2) "," CALL("c",
	                                                                                3) "]}";
	static const char brackets[] =
	        "{\"traceEvents\":[" CALL("a", 1) "]},\n" CALL("b", 2) "," CALL("c", 3) "]}";
	static const char bracket[] =
	        "{\"traceEvents\":[" CALL("a", 1) "],\n" CALL("b", 2) "," CALL("c", 3) "]}";
	static const char array[] = "[" CALL("a", 1) "]," CALL("b", 2) "," CALL("c", 3) "]";
	static const char *const files[] = {two, brackets, bracket, array};

	for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
		struct ws_imported *i = imported(files[k]);

		cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
		cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 2), "%s", files[k]);
		cr_assert(eq(u64, i->stats.nwarnings, 1));
		cr_assert(ws_imported_warned(i, "what follows is not read"), "%s", files[k]);
		ws_imported_free(i);
	}
}

Test(import_pytorch, what_follows_the_document_is_counted_over_many_windows)
{
	static const char event[] = "{\"ph\":\"i\"},\n";
	const size_t copies = 100000, begin = strlen("{\"traceEvents\":[]}");
	char *text = malloc(begin + copies * strlen(event) + 1), *at = text;
	struct ws_imported *i;

	at = stpcpy(at, "{\"traceEvents\":[]}");
	for (size_t k = 0; k < copies; k++)
		at = stpcpy(at, event);
	i = imported(text);
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), copies));
	cr_assert(ws_imported_warned(i, "the document ends at byte 18"));
	ws_imported_free(i);
	free(text);
}

Test(import_pytorch, space_behind_the_document_is_nothing_and_other_text_is_one_record)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" CALL("a", 1) "]} \r\n\t\n");

	cr_assert(eq(u64, i->stats.nwarnings, 0));
	cr_assert(eq(u64, rows(i, WS_KIND_LOSS), 0));
	ws_imported_free(i);

	i = imported("{\"traceEvents\":[" CALL("a", 1) "]}\n# the end");
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 1));
	ws_imported_free(i);
}

/* What is wrong with an import of the first `cut` bytes; NULL: nothing. One assertion a file, for
 * the test program is told of each. */
static const char *cut_fault(const char *text, size_t cut, uint64_t *events)
{
	struct ws_imported *i = ws_imported_bytes(text, cut);
	const char *fault = NULL;

	if (i->damage)
		fault = "the trace is damaged";
	else if (i->status == WS_OK && i->stats.events < *events)
		fault = "fewer events than from less of the file";
	else if (i->status == WS_OK && !i->stats.nwarnings)
		fault = "nobody said that the file is cut off";
	else if (i->status != WS_OK && (*events || i->status == WS_BUG))
		fault = "refused, after less of it was read";
	if (i->status == WS_OK)
		*events = i->stats.events;
	ws_imported_free(i);
	return fault;
}

Test(import_pytorch, a_file_cut_off_at_any_byte_is_read_up_to_there)
{
	const char *const files[] = {generation_2021, generation_2022, generation_2024};

	for (size_t f = 0; f < 3; f++) {
		size_t len = strlen(files[f]), cut = 0;
		const char *fault = NULL;
		uint64_t events = 0;

		for (; cut < len && !fault; cut++)
			fault = cut_fault(files[f], cut, &events);
		cr_assert(fault == NULL, "file %zu, first %zu bytes: %s", f, cut - 1, fault);
		cr_assert(gt(u64, events, 3));
	}
}

Test(import_pytorch, any_byte_may_be_wrong)
{
	const size_t len = sizeof(generation_2022) - 1;
	char *text = malloc(len);
	uint64_t damage = 0;

	for (size_t at = 0; at < len && !damage; at++) {
		static const char wrong[] = {0, '"', '{', '}', '\\', (char)0xff};
		struct ws_imported *i;

		memcpy(text, generation_2022, len);
		text[at] = wrong[at % sizeof(wrong)];
		i = ws_imported_bytes(text, len);
		damage = i->damage;
		ws_imported_free(i);
	}
	cr_assert(eq(u64, damage, 0));
	free(text);
}

/* --- hostile values ----------------------------------------------------------------------------
 */

Test(import_pytorch, hostile_names_survive_as_they_are)
{
	struct ws_imported *i =
	        imported("{\"traceEvents\":[" CALL("=cmd|' /C calc'!A0", 1) "," CALL(
	                "x\\u0000y\\r\\n,;", 2) "," CALL("\xff\xfe", 3) "," CALL("\\u202egnp",
	                                                                         4) "]}");
	const struct ws_bytes *zero = &i->table[WS_KIND_STRING]
	                                       .columns[WS_COL_string_text]
	                                       .b[WS_CELL(i, API, api, name, 1) - 1];

	cr_assert(
	        eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"=cmd|' /C calc'!A0"));
	cr_assert(eq(sz, zero->len, 7));
	cr_assert(eq(int, memcmp(zero->ptr, "x\0y\r\n,;", 7), 0));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 2), (char *)"\xff\xfe"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 3), (char *)"\xe2\x80\xaegnp"));
	ws_imported_free(i);
}

Test(import_pytorch, a_name_of_a_megabyte_is_kept)
{
	const size_t len = (size_t)1 << 20;
	char *json = malloc(len + 200);
	char *p = stpcpy(json,
	                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	struct ws_imported *i;

	memset(p, 'x', len);
	p = stpcpy(p + len, "\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1}]}");
	i = ws_imported_bytes(json, (size_t)(p - json));

	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(eq(sz, strlen(WS_CELL_TEXT(i, API, api, name, 0)), len));
	ws_imported_free(i);
	free(json);
}

#define EVENT(cat, rest) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"n\",\"pid\":1,\"tid\":2," rest "},"

Test(import_pytorch, times_that_cannot_be_are_counted_and_left_out)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("cuda_runtime", "\"ts\":1,\"dur\":1")
	                EVENT("cuda_runtime", "\"ts\":1,\"dur\":-1")
	                        EVENT("cuda_runtime", "\"ts\":1e17,\"dur\":1") EVENT("cuda_runtime",
	                                                                             "\"dur\":1")
	                                EVENT("cuda_runtime", "\"ts\":\"x\",\"dur\":1")
	                                        EVENT("cuda_runtime", "\"ts\":NaN,\"dur\":1")
	                                                EVENT("cuda_runtime", "\"ts\":1") "]}");

	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(u64, ws_imported_lost(i, "times"), 6));
	ws_imported_free(i);
}

Test(import_pytorch, times_before_the_first_event_are_negative)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("cuda_runtime", "\"ts\":1683564901000000,\"dur\":1")
	                EVENT("cuda_runtime", "\"ts\":1683564900000000,\"dur\":1") "]}");

	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, API, api, start_ns, 1), -1000000000));
	ws_imported_free(i);
}

Test(import_pytorch, a_kernel_whose_time_the_profiler_lost_is_marked)
{
	struct ws_imported *i =
	        imported("{\"baseTimeNanoseconds\":1700000000000000000,"
	                 "\"traceEvents\":[" EVENT("kernel", "\"ts\":0.000,\"dur\":0.000")
	                         EVENT("kernel", "\"ts\":0.000,\"dur\":1.5") "]}");

	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, flags, 0), WS_KERNEL_NO_TIME));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, flags, 1), 0));
	cr_assert(ws_imported_warned(
	        i, "events at time 0, whose time but not duration the profiler lost: 2"));
	ws_imported_free(i);
}

Test(import_pytorch, unknown_categories_and_phases_are_counted_by_name)
{
	struct ws_imported *i = imported(
	        "{\"traceEvents\":[" EVENT("mtia_ccp\\u0007",
	                                   "\"ts\":1,\"dur\":1") EVENT("xpu", "\"ts\":1,\"dur\":1")
	                EVENT("xpu",
	                      "\"ts\":1,\"dur\":1") "{\"ph\":\"B\",\"name\":\"x\"},{\"ph\":\"C\","
	                                            "\"name\":\"c\"},{},[],{\"ph\":7}]}");

	cr_assert(eq(u64, ws_imported_skipped(i, "category 'xpu'"), 2));
	cr_assert(eq(u64, ws_imported_skipped(i, "phase 'B'"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "counters"), 1));
	cr_assert(eq(u64, ws_imported_skipped(i, "phase ''"), 2), "{} and []");
	cr_assert(eq(u64, i->stats.events, 8));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 0));
	ws_imported_free(i);
}

Test(import_pytorch, arguments_of_the_wrong_type_are_unknown)
{
	struct ws_imported *i = imported("{\"traceEvents\":[" EVENT(
	        "kernel",
	        "\"ts\":1,\"dur\":1,\"args\":{\"device\":-1,\"stream\":\"x\",\"correlation\":[1],"
	        "\"grid\":\"no\",\"block\":[1,{},-3,4],\"registers per thread\":1e99,\"External "
	        "id\":null}") "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":[1],\"ts\":2,\"dur\":1,"
	                      "\"args\":[]},"
	                      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":null,\"ts\":2,"
	                      "\"dur\":1,\"args\":7,"
	                      "\"tid\":\"main thread\",\"pid\":{}}]}");

	cr_assert(eq(u64, rows(i, WS_KIND_KERNEL), 2));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_x, 0), 1));
	cr_assert(eq(i64, WS_CELL(i, LAUNCH_CONFIG, launch_config, block_z, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, KERNEL, kernel, correlation, 0), 0));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, THREAD, thread, name, 0), (char *)"main thread"));
	ws_imported_free(i);
}

Test(import_pytorch, deep_nesting_costs_its_event_and_no_stack)
{
	const size_t depth = 3000000;
	char *json = malloc(2 * depth + 400);
	char *p = stpcpy(json,
	                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\","
	                 "\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1,\"args\":{\"Input Dims\":");
	struct ws_imported *i;

	memset(p, '[', depth);
	memset(p + depth, ']', depth);
	p = stpcpy(p + 2 * depth, "}}," CALL("after", 7) "]}");
	i = ws_imported_bytes(json, (size_t)(p - json));
	cr_assert(eq(u64, rows(i, WS_KIND_API), 1));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, API, api, name, 0), (char *)"after"));
	cr_assert(eq(u64, ws_imported_lost(i, "cannot be read"), 1));
	ws_imported_free(i);
	free(json);
}

Test(import_pytorch, events_whose_brackets_never_close_are_not_searched_to_the_end_each)
{
	const char event[] = "{\"ph\":\"X\",\"x\":[[},";
	const size_t n = 200000, len = sizeof(event) - 1;
	char *json = malloc(n * len + 100);
	char *p = stpcpy(json, "{\"traceEvents\":[");
	struct ws_imported *i;

	for (size_t k = 0; k < n; k++, p += len)
		memcpy(p, event, len);
	i = ws_imported_bytes(json, (size_t)(p - json));
	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(ge(u64, ws_imported_lost(i, "cannot be read"), n - 200));
	ws_imported_free(i);
	free(json);
}

/* --- files --- */

static char *gzip_file(const char *text, size_t cut)
{
	char *path;
	gzFile gz;

	cr_assert(asprintf(&path, "/tmp/ws-test-%d.json.gz", (int)getpid()) > 0);
	gz = gzopen(path, "wb");
	cr_assert(gz && gzwrite(gz, text, (unsigned)strlen(text)) == (int)strlen(text));
	cr_assert(eq(int, gzclose(gz), Z_OK));
	if (cut) {
		FILE *f = fopen(path, "rb");
		long size;

		fseek(f, 0, SEEK_END);
		size = ftell(f);
		fclose(f);
		cr_assert(eq(int, truncate(path, size - (long)cut), 0));
	}
	return path;
}

Test(import_pytorch, compressed_files_are_read_and_cut_off_ones_too)
{
	char *path = gzip_file(generation_2022, 0);
	struct ws_imported *i = ws_imported_file(path);

	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(eq(u64, i->stats.events, 14));
	cr_assert(eq(sz, i->stats.nwarnings, 0));
	ws_imported_free(i);
	unlink(path);
	free(path);

	path = gzip_file(generation_2022, 100);
	i = ws_imported_file(path);
	cr_assert(eq(int, i->status, WS_OK));
	cr_assert(lt(u64, i->stats.events, 14));
	cr_assert(gt(u64, i->stats.events, 0));
	cr_assert(ws_imported_warned(i, "compressed data"));
	cr_assert(ws_imported_warned(i, "ends in the middle"));
	ws_imported_free(i);
	unlink(path);
	free(path);
}

Test(import_pytorch, other_files_are_refused_with_a_reason)
{
	struct ws_imported *i = import("{\"hello\": 1}");

	cr_assert(eq(int, i->status, WS_IO_READ));
	cr_assert(strstr(i->err.text, "it is not a PyTorch profiler JSON or") != NULL);
	ws_imported_free(i);
	i = import("");
	cr_assert(eq(int, i->status, WS_IO_READ));
	ws_imported_free(i);
	i = import("{\"schemaVersion\": 1, \"deviceProperties\": []}");
	cr_assert(eq(int, i->status, WS_CORRUPT));
	cr_assert(strstr(i->err.text, "no traceEvents") != NULL);
	ws_imported_free(i);
	i = ws_imported_file("/nowhere/at/all.json");
	cr_assert(eq(int, i->status, WS_IO_READ));
	cr_assert(strstr(i->err.text, "/nowhere/at/all.json") != NULL);
	ws_imported_free(i);
}

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	cr_assert(ge(u64, done, last[0]), "it never goes back");
	cr_assert(le(u64, done, total), "%llu of %llu", (unsigned long long)done,
	          (unsigned long long)total);
	last[0] = done;
	last[1] = total;
}

Test(import_pytorch, an_unnamed_trace_can_be_read_and_leaves_nothing)
{
	char *path = gzip_file(generation_2022, 0), name[32], folder[] = "/tmp/ws-unnamed-XXXXXX";
	struct ws_import_stats *stats = calloc(1, sizeof(*stats));
	uint64_t last[2] = {0};
	const struct ws_import_opts opts = {.progress = note_progress, .progress_ctx = last};
	struct ws_trace_reader *reader;
	const struct ws_importer *importer;
	int fd;

	cr_assert(mkdtemp(folder) != NULL);
	setenv("TMPDIR", folder, 1);
	cr_assert(eq(int, ws_import_find(path, &importer, NULL), WS_OK));
	cr_assert(importer == &ws_importer_pytorch);
	cr_assert(eq(int, ws_import_unnamed(path, &opts, &fd, stats, NULL), WS_OK));
	cr_assert(eq(u64, stats->events, 14));
	cr_assert(gt(u64, last[1], 0), "progress was told");
	cr_assert(eq(u64, last[0], last[1]), "up to the end");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	cr_assert(eq(int, ws_import_find(name, &importer, NULL), WS_OK));
	cr_assert(importer == NULL, "a trace needs no import");
	cr_assert(eq(int, ws_trace_reader_open(&reader, name, NULL), WS_OK));
	cr_assert(ne(i64, ws_trace_reader_summary(reader)->base_ns, 0));
	ws_trace_reader_free(reader);
	close(fd);
	unlink(path);
	cr_assert(eq(int, ws_import_unnamed(path, NULL, &fd, stats, NULL), WS_IO_READ));
	cr_assert(eq(int, rmdir(folder), 0), "nothing is in it");
	setenv("TMPDIR", "/nowhere/at/all", 1);
	cr_assert(eq(int, ws_import_unnamed(path, NULL, &fd, stats, NULL), WS_IO_WRITE));
	free(path);
	free(stats);
}

Test(import_pytorch, the_same_input_gives_the_same_trace)
{
	struct ws_imported *a = imported(generation_2022), *b = imported(generation_2022);

	cr_assert(eq(u64, ws_trace_reader_summary(a->reader)->file_hash,
	             ws_trace_reader_summary(b->reader)->file_hash));
	ws_imported_free(a);
	ws_imported_free(b);
}

Test(import_pytorch, collectives_keep_name_group_size_and_sequence)
{
	struct ws_imported *i = imported(
	        "{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": ["
	        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
	        "10, "
	        "\"tid\": 11, \"ts\": 5.0, \"dur\": 9, \"args\": {\"External id\": 7, \"Collective "
	        "name\": "
	        "\"_allgather_base\", \"dtype\": \"BFloat16\", \"In msg nelems\": 8, "
	        "\"Out msg nelems\": 16, \"Group size\": 2}},"
	        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
	        "10, "
	        "\"tid\": 11, \"ts\": 20, \"dur\": 9, \"args\": {\"External id\": 8, "
	        "\"Collective name\": \"wait\"}},"
	        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
	        "\"pid\": 0, "
	        "\"tid\": 20, \"ts\": 30.5, \"dur\": 100, \"args\": {\"correlation\": 3, "
	        "\"device\": 0, "
	        "\"stream\": 20, \"Collective name\": \"allreduce\", \"In msg nelems\": 4000, "
	        "\"Out msg nelems\": 4000, \"Group size\": 2, \"dtype\": \"Float\", "
	        "\"Process Group Name\": \"tp\", \"Process Group Ranks\": \"[0, 1]\", \"Seq\": "
	        "41}}]}");

	cr_assert(eq(u64, rows(i, WS_KIND_COLLECTIVE), 2), "a wait is none");
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, name, 0),
	             (char *)"_allgather_base"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, external_id, 0), 7));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, correlation, 0), 0));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, out_elements, 0), 16));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, sequence, 0), -1));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, time_ns, 1), 30500));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, pid, 1), 10));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, correlation, 1), 3));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, group, 1), (char *)"tp"));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, ranks, 1),
	             (char *)"[0, 1]"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, group_size, 1), 2));
	cr_assert(eq(str, (char *)WS_CELL_TEXT(i, COLLECTIVE, collective, dtype, 1),
	             (char *)"Float"));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, in_elements, 1), 4000));
	cr_assert(eq(i64, WS_CELL(i, COLLECTIVE, collective, sequence, 1), 41));
	ws_imported_free(i);
}
