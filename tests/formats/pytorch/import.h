/* What the tests of the import of PyTorch share. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/imported.h"

static inline struct ws_imported *import(const char *json)
{
	return ws_imported_bytes(json, strlen(json));
}

/* An import that must work and make a sound trace. */
static inline struct ws_imported *imported(const char *json)
{
	struct ws_imported *i = import(json);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	return i;
}

static inline uint64_t rows(const struct ws_imported *i, enum ws_kind kind)
{
	return i->table[kind].rows;
}

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

#define CALL(name, ts)                                            \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
	"\",\"pid\":1,\"tid\":2,\"ts\":" #ts ",\"dur\":1,\"args\":{\"correlation\":" #ts "}}"
