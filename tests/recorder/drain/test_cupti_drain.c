/* Buffers of CUPTI through the drain into a trace and back: every kind, every column. */
#include <criterion/criterion.h>

#include "tests/support/recorder/cupti_by_hand.h"

TestSuite(cupti_drain, .init = cupti_start, .fini = by_hand_stop, .timeout = 600);

/* --- all fields of a record, all columns of a row --- */

/* Fields of the record that was put last: each has another number. */
struct field {
	const char *name;
	size_t at, size;
	uint64_t value;
	bool is_told; /* a column has it, or the test gave it its value */
};
static struct field fields[32];
static size_t nfields;

/* A field and what is put there, or a column and what must be there; ends with a name of NULL. */
struct number {
	const char *name;
	uint64_t value;
};
#define NUMBERS(...) ((const struct number[]){__VA_ARGS__ __VA_OPT__(, ){NULL, 0}})

static const struct number *find_number(const struct number *list, const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

static struct field *find_field(const char *name)
{
	for (size_t i = 0; i < nfields; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

/* What was put into this field. */
static uint64_t put(const char *name)
{
	struct field *f = find_field(name);

	cr_assert_not_null(f, "%s", name);
	f->is_told = true;
	return f->value;
}

/* A number for each field: of 8 bytes one that needs them, of CUPTI's clock times. */
static void set_fields(const struct number *given)
{
	static const struct number times[] = {{"start", BASE + 60},
	                                      {"end", BASE + 67},
	                                      {"time", BASE + 60},
	                                      {"thread", TID},
	                                      {NULL, 0}};

	for (size_t i = 0; i < nfields; i++) {
		struct field *f = &fields[i];
		const struct number *number = find_number(given, f->name);

		f->is_told = number != NULL;
		if (!number)
			number = find_number(times, f->name);
		f->value = number ? number->value : f->size == 8 ? (i + 1) << 32 | (i + 1) : i + 1;
	}
}

#define F(name, field, type, offset, member) {#field, offset, sizeof(type), 0, 0},
#define R(NAME, name, type, size, least) \
	static const struct field fields_of_##name[] = {WS_CUPTI_FIELDS_##NAME(F)};
WS_CUPTI_RECORD_LIST(R)
WS_CUPTI_LATER_RECORD_LIST(R)
#undef R
#undef F

/* A record of which every field is set; those that are not given have the numbers above. */
#define PUT_ALL(KIND, what, ...)                                                \
	do {                                                                    \
		nfields = sizeof(fields_of_##what) / sizeof(*fields_of_##what); \
		memcpy(fields, fields_of_##what, sizeof(fields_of_##what));     \
		set_fields(NUMBERS(__VA_ARGS__));                               \
		copy_fields(RECORD(KIND, what));                                \
	} while (0)

static void copy_fields(uint8_t *record)
{
	for (size_t i = 0; i < nfields; i++)
		memcpy(record + fields[i].at, &fields[i].value, fields[i].size);
}

/* What the row has that was made of the record; 0 where no field has the column's name. */
static uint64_t expected(const char *column)
{
	if (!strcmp(column, "pid"))
		return PID;
	if (!strcmp(column, "start_ns") || !strcmp(column, "time_ns"))
		return put(*column == 's' ? "start" : "time") - BASE;
	if (!strcmp(column, "dur_ns"))
		return put("end") - put("start");
	if (!find_field(column))
		return 0;
	if (!strcmp(column, "correlation"))
		return CORRELATION(put("correlation"));
	return strcmp(column, "thread") ? put(column) : put(column) - TID + 1;
}

#define ANY UINT64_C(0xA11) /* another test, or line, looks at it */

/* Row `row` of this kind: the columns that are listed, and all others as expected. */
static void expect_row(const struct probe *p, enum ws_kind kind, uint64_t row,
                       const struct number *listed)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	cr_assert_lt(row, p->table[kind].rows, "%s", def->name);
	for (unsigned c = 0; c < def->ncolumns; c++) {
		const char *column = def->columns[c].name;
		const struct number *number = find_number(listed, column);
		const uint64_t wanted = number ? number->value : expected(column);

		if (wanted != ANY)
			cr_expect_eq(probe_cell(&p->table[kind], c, row), wanted, "%s.%s",
			             def->name, column);
	}
}

static void expect_all_told(void)
{
	for (size_t i = 0; i < nfields; i++)
		cr_expect(fields[i].is_told, "%s is in no row", fields[i].name);
}

static struct probe finish(void)
{
	finish_slot();
	return by_hand_finish();
}

/* --- kinds --- */

Test(cupti_drain, a_kernel_keeps_every_field)
{
	struct probe p;

	PUT_ALL(CONCURRENT_KERNEL, kernel, {"name", put_text("_Z4gemmPf")});
	p = finish();
	expect_row(&p, WS_KIND_KERNEL, 0, NUMBERS({"config", 1}));
	expect_row(&p, WS_KIND_LAUNCH_CONFIG, 0,
	           NUMBERS({"id", 1}, {"name", ANY}, {"shared_static_bytes", put("shared_static")},
	                   {"shared_dynamic_bytes", put("shared_dynamic")},
	                   {"shared_executed_bytes", put("shared_executed")},
	                   {"local_bytes", put("local")}));
	cr_expect_str_eq(TEXT(&p, launch_config, name, 0), "_Z4gemmPf");
	expect_row(&p, WS_KIND_DEVICE, 0,
	           NUMBERS({"id", put("device")}, {"kind", WS_DEVICE_CUDA}, {"name", 0}));
	expect_all_told();
	cr_expect_eq(ws_drain_counts(drain).kernels, 1);
	probe_close(&p);
}

Test(cupti_drain, a_copy_keeps_every_field)
{
	struct probe p;

	PUT_ALL(MEMCPY, memcpy, {"flags", WS_CUPTI_ASYNC});
	p = finish();
	expect_row(&p, WS_KIND_MEMCPY, 0, NUMBERS({"flags", WS_COPY_ASYNC}));
	expect_all_told();
	probe_close(&p);
}

/* Of 12.4, whose record ends in them: they are set, and stand for nothing. */
Test(cupti_drain, bytes_that_12_4_has_elsewhere_are_no_number_of_processors)
{
	struct probe p;

	seg->gpu.sizes[1].of_kind[WS_CUPTI_KIND_CONTEXT] = WS_CUPTI_SIZE_context_12_4;
	PUT_ALL(CONTEXT, context, {"api", 1}, {"is_green", 1});
	p = finish();
	cr_assert_eq(ROWS(&p, context), 1);
	cr_expect_eq(CELL(&p, context, sm_count, 0), 0);
	cr_expect_eq(CELL(&p, context, parent, 0), put("parent"));
	probe_close(&p);
}

/* Between devices that do not reach each other: CUPTI tells two copies of device memory. */
Test(cupti_drain, of_a_copy_by_way_of_the_host_bytes_count_once_and_not_as_the_hosts)
{
	struct probe p;

	PUT_ALL(MEMCPY, memcpy, {"kind", WS_MEMCPY_DTOH}, {"src_kind", WS_MEMORY_DEVICE},
	        {"dst_kind", WS_MEMORY_DEVICE}, {"flags", 0}, {"device", 1}, {"bytes", 4096});
	PUT_ALL(MEMCPY, memcpy, {"kind", WS_MEMCPY_HTOD}, {"src_kind", WS_MEMORY_DEVICE},
	        {"dst_kind", WS_MEMORY_DEVICE}, {"flags", 0}, {"device", 2}, {"bytes", 4096});
	PUT_ALL(MEMCPY, memcpy, {"kind", WS_MEMCPY_HTOD}, {"src_kind", WS_MEMORY_PINNED},
	        {"dst_kind", WS_MEMORY_DEVICE}, {"flags", 0}, {"device", 2}, {"bytes", 512});
	p = finish();
	cr_assert_eq(ROWS(&p, memcpy), 3);
	for (uint64_t i = 0; i < 2; i++) {
		cr_expect_eq(CELL(&p, memcpy, kind, i), WS_MEMCPY_PTOP);
		cr_expect_eq(CELL(&p, memcpy, flags, i), WS_COPY_STAGED);
		cr_expect_eq(CELL(&p, memcpy, device, i), i + 1);
		cr_expect_eq(CELL(&p, memcpy, bytes, i), i ? 0 : 4096);
	}
	cr_expect_eq(CELL(&p, memcpy, kind, 2), WS_MEMCPY_HTOD, "a copy of the host's stays one");
	cr_expect_eq(CELL(&p, memcpy, bytes, 2), 512);
	probe_close(&p);
}

Test(cupti_drain, a_copy_between_devices_keeps_both)
{
	struct probe p;

	PUT_ALL(MEMCPY2, ptop, {"flags", 0});
	p = finish();
	expect_row(&p, WS_KIND_MEMCPY, 0, NUMBERS());
	expect_all_told();
	cr_expect_eq(ROWS(&p, device), 3, "each device that is named has a row");
	probe_close(&p);
}

Test(cupti_drain, a_fill_keeps_every_field)
{
	struct probe p;

	PUT_ALL(MEMSET, memset, {"flags", WS_CUPTI_ASYNC});
	p = finish();
	expect_row(&p, WS_KIND_MEMSET, 0, NUMBERS({"flags", WS_COPY_ASYNC}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_call_keeps_every_field)
{
	struct probe p;

	put_call_name(WS_CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000");
	PUT_ALL(RUNTIME, api, {"cbid", 211});
	p = finish();
	expect_row(&p, WS_KIND_API, 0, NUMBERS({"name", ANY}));
	expect_all_told();
	cr_expect_str_eq(TEXT(&p, api, name, 0), "cudaLaunchKernel_v7000");
	probe_close(&p);
}

Test(cupti_drain, a_context_keeps_every_field)
{
	struct probe p;

	PUT_ALL(CONTEXT, context, {"api", 2}, {"is_green", 1});
	p = finish();
	expect_row(&p, WS_KIND_CONTEXT, 0, NUMBERS({"api", 2}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_green_context_of_13_2_keeps_every_field_and_waits_have_its_device)
{
	struct probe p;
	uint8_t *r;

	PUT_ALL(GREEN_CONTEXT, green, {"id", 9}, {"device", 4});
	r = RECORD(SYNCHRONIZATION, sync);
	PUT(r, sync, start, BASE + 60);
	PUT(r, sync, end, BASE + 67);
	PUT(r, sync, context, 9);
	p = finish();
	expect_row(&p, WS_KIND_CONTEXT, 0, NUMBERS({"api", 1}));
	cr_expect_eq(CELL(&p, sync, device, 0), 4);
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, functions_of_the_host_and_switches_of_13_1_keep_every_field)
{
	struct probe p;

	PUT_ALL(CONTEXT, context, {"api", 1}, {"is_green", 1}, {"id", 9}, {"device", 4});
	PUT_ALL(GRAPH_HOST_NODE, host_node, {"device", 4});
	PUT_ALL(HOST_LAUNCH, host_launch, {"device", 4});
	PUT_ALL(COMPUTE_ENGINE_CTX_SWITCH, engine_switch, {"op", 2}, {"context", 9});
	p = finish();
	cr_expect_eq(ROWS(&p, host_function), 2);
	cr_expect_gt(CELL(&p, host_function, graph_node, 0), 0);
	cr_expect_eq(CELL(&p, host_function, graph_node, 1), 0);
	for (uint64_t i = 0; i < 2; i++) {
		cr_expect_eq(CELL(&p, host_function, device, i), 4);
		cr_expect_gt(CELL(&p, host_function, stream, i), 0);
		cr_expect_gt(CELL(&p, host_function, context, i), 0);
		cr_expect_gt(CELL(&p, host_function, correlation, i), 0);
		cr_expect_gt(CELL(&p, host_function, thread, i), 0);
		cr_expect_gt(CELL(&p, host_function, dur_ns, i), 0);
	}
	cr_expect_eq(CELL(&p, context_switch, op, 0), WS_CONTEXT_SWITCH_END);
	cr_expect_eq(CELL(&p, context_switch, device, 0), 4);
	cr_expect_eq(CELL(&p, context_switch, context, 0), 9);
	probe_close(&p);
}

Test(cupti_drain, a_wait_keeps_every_field_and_takes_the_device_of_its_context)
{
	uint8_t *r = RECORD(CONTEXT, context);
	struct probe p;

	PUT(r, context, id, 9);
	PUT(r, context, device, 4);
	r = RECORD(SYNCHRONIZATION, sync);
	PUT(r, sync, type, 4);
	PUT(r, sync, context, 9);
	PUT(r, sync, stream, WS_CUPTI_NONE);
	PUT(r, sync, event, WS_CUPTI_NONE);
	PUT_ALL(SYNCHRONIZATION, sync, {"type", 2}, {"result", 0}, {"context", 9});
	p = finish();
	cr_expect_eq((int64_t)CELL(&p, sync, stream, 0), -1);
	cr_expect_eq((int64_t)CELL(&p, sync, event, 0), -1);
	expect_row(&p, WS_KIND_SYNC, 1,
	           NUMBERS({"device", 4}, {"type", WS_SYNC_STREAM_WAIT_EVENT},
	                   {"event_stream", UINT64_MAX}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, overhead_and_just_in_time_compilation_are_told_apart)
{
	static const uint32_t cupti[] = {1, 1u << 16, 5u << 16, 8u << 16, 99u << 16};
	static const uint64_t ours[] = {1, 2, 6, 9, 0};
	struct probe p;

	for (int i = 0; i < 5; i++)
		PUT_ALL(OVERHEAD, overhead, {"kind", cupti[i]},
		        {"object_kind", WS_CUPTI_OBJECT_THREAD}, {"data", 0});
	for (uint64_t op = 1; op <= 3; op++)
		PUT_ALL(JIT, jit, {"op", op});
	p = finish();
	cr_assert_eq(ROWS(&p, overhead), 8);
	for (uint64_t i = 0; i < 8; i++)
		expect_row(&p, WS_KIND_OVERHEAD, i,
		           NUMBERS({"kind", i < 5 ? ours[i] : WS_OVERHEAD_JIT_CACHE_LOAD + i - 5}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, an_allocation_keeps_every_field)
{
	struct probe p;

	PUT_ALL(MEMORY2, memory, {"op", 2}, {"kind", 3}, {"pool_type", 1});
	p = finish();
	expect_row(&p, WS_KIND_MEMORY, 0,
	           NUMBERS({"op", WS_MEMORY_OP_FREE}, {"memory_kind", WS_MEMORY_DEVICE},
	                   {"total_reserved_bytes", put("pool_size")},
	                   {"total_allocated_bytes", put("pool_used")}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_pool_keeps_every_field)
{
	struct probe p;

	PUT_ALL(MEMORY_POOL, pool, {"op", 3}, {"type", 1});
	p = finish();
	expect_row(&p, WS_KIND_MEMORY, 0,
	           NUMBERS({"op", WS_MEMORY_OP_POOL_TRIM}, {"memory_kind", ANY},
	                   {"total_reserved_bytes", ANY}, {"bytes", put("size")},
	                   {"total_allocated_bytes", put("used")}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_graph_launch_keeps_every_field)
{
	struct probe p;

	PUT_ALL(GRAPH_TRACE, graph);
	p = finish();
	expect_row(&p, WS_KIND_GRAPH_LAUNCH, 0, NUMBERS({"graph", put("id")}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_stream_keeps_every_field)
{
	struct probe p;

	PUT_ALL(STREAM, stream, {"priority", (uint32_t)-5}, {"flag", 2});
	p = finish();
	expect_row(&p, WS_KIND_STREAM, 0, NUMBERS({"priority", (uint64_t)-5}));
	expect_all_told();
	probe_close(&p);
}

Test(cupti_drain, a_device_has_the_limits_that_occupancy_and_roofline_need)
{
	struct probe p;

	PUT_ALL(DEVICE, device, {"name", put_text("NVIDIA H200")});
	{
		const struct number wanted[] = {
		        {"memory_bandwidth_bytes_per_s", put("memory_bandwidth") * 1000},
		        {"global_memory_bytes", put("memory_size")},
		        {"constant_memory_bytes", put("constant_size")},
		        {"l2_cache_bytes", put("l2_size")},
		        {"warp_size", put("warp_size")},
		        {"core_clock_hz", put("core_clock") * 1000},
		        {"copy_engines", put("copy_engines")},
		        {"sm_count", put("sm_count")},
		        {"max_warps_per_sm", put("warps_per_sm")},
		        {"max_threads_per_sm", put("warps_per_sm") * put("warp_size")},
		        {"max_blocks_per_sm", put("blocks_per_sm")},
		        {"shared_per_sm_bytes", put("shared_per_sm")},
		        {"registers_per_sm", put("registers_per_sm")},
		        {"registers_per_block", put("registers_per_block")},
		        {"shared_per_block_bytes", put("shared_per_block")},
		        {"max_threads_per_block", put("threads_per_block")},
		        {"compute_capability_major", put("major")},
		        {"compute_capability_minor", put("minor")},
		        {"ecc", put("ecc")},
		        {"mig", put("mig")},
		        {"mig_gpu_instance", put("gpu_instance")},
		        {"mig_compute_instance", put("compute_instance")},
		        {NULL, 0},
		};

		p = finish();
		for (uint64_t i = 0; i < ROWS(&p, device_attr); i++) {
			const char *attr = TEXT(&p, device_attr, attr, i);
			const struct number *number = find_number(wanted, attr);

			cr_assert_not_null(number, "%s", attr);
			cr_expect_eq(CELL(&p, device_attr, value, i), number->value, "%s", attr);
		}
		cr_expect_eq(ROWS(&p, device_attr), sizeof(wanted) / sizeof(*wanted) - 1);
	}
	expect_row(&p, WS_KIND_DEVICE, 0, NUMBERS({"kind", WS_DEVICE_CUDA}, {"name", ANY}));
	expect_all_told();
	cr_expect_str_eq(TEXT(&p, device, name, 0), "NVIDIA H200");
	probe_close(&p);
}
