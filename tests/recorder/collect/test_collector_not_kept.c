/* What a program says by NVTX beside events: names are kept, the rest is counted by kind. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/recorder/in_process.h"

static void start(void)
{
	collect_start(4, 1 << 20, 1 << 20);
	cr_assert(nvtx_attach());
}

TestSuite(collector_not_kept, .init = start, .fini = collect_stop, .timeout = 600);

/* --- names --- */

static void expect_row(const struct probe *p, uint64_t row, unsigned type, uint64_t handle,
                       const char *name)
{
	cr_expect_eq(CELL(p, resource, type, row), type, "row %d", (int)row);
	cr_expect_eq(CELL(p, resource, handle, row), handle, "row %d", (int)row);
	cr_expect_str_eq(TEXT(p, resource, name, row), name, "row %d", (int)row);
	cr_expect_eq(CELL(p, resource, pid, row), (uint64_t)getpid());
	cr_expect_eq((int64_t)CELL(p, resource, number, row), -1, "there is no CUPTI");
	cr_expect_eq(CELL(p, resource, device, row), type == WS_RESOURCE_CUDA_DEVICE ? handle : 0);
}

#define HANDLE(n) ((const void *)(uintptr_t)(n))

Test(collector_not_kept, names_of_cuda_and_opencl_objects_are_kept)
{
	struct probe p;

	nvtx.NameCuDeviceA(1, "driver's device");
	nvtx.NameCuContextW(HANDLE(0x10), L"cöntext");
	nvtx.NameCuStreamA(HANDLE(0x20), "driver's stream");
	nvtx.NameCuEventA(HANDLE(0x30), "driver's event");
	nvtx.NameCudaDeviceA(0, "device");
	nvtx.NameCudaStreamW(HANDLE(0x40), L"strëam");
	nvtx.NameCudaEventA(HANDLE(0x50), "event");
	nvtx.NameClDeviceA(HANDLE(1), "cl device");
	nvtx.NameClContextA(HANDLE(2), "cl context");
	nvtx.NameClCommandQueueA(HANDLE(3), "cl queue");
	nvtx.NameClMemObjectA(HANDLE(4), "cl memory");
	nvtx.NameClSamplerA(HANDLE(5), "cl sampler");
	nvtx.NameClProgramA(HANDLE(6), "cl program");
	nvtx.NameClEventW(HANDLE(7), L"cl évent");
	nvtx.NameCudaEventA(HANDLE(0x50), "event");
	p = collect_finish();

	cr_assert_eq(ROWS(&p, resource), 14, "equal names are one");
	expect_row(&p, 0, WS_RESOURCE_CUDA_DEVICE, 1, "driver's device");
	expect_row(&p, 1, WS_RESOURCE_CUDA_CONTEXT, 0x10, "cöntext");
	expect_row(&p, 2, WS_RESOURCE_CUDA_STREAM, 0x20, "driver's stream");
	expect_row(&p, 3, WS_RESOURCE_CUDA_EVENT, 0x30, "driver's event");
	expect_row(&p, 4, WS_RESOURCE_CUDA_DEVICE, 0, "device");
	expect_row(&p, 5, WS_RESOURCE_CUDA_STREAM, 0x40, "strëam");
	expect_row(&p, 6, WS_RESOURCE_CUDA_EVENT, 0x50, "event");
	expect_row(&p, 7, WS_RESOURCE_OPENCL_DEVICE, 1, "cl device");
	expect_row(&p, 8, WS_RESOURCE_OPENCL_CONTEXT, 2, "cl context");
	expect_row(&p, 9, WS_RESOURCE_OPENCL_QUEUE, 3, "cl queue");
	expect_row(&p, 10, WS_RESOURCE_OPENCL_MEMORY, 4, "cl memory");
	expect_row(&p, 11, WS_RESOURCE_OPENCL_SAMPLER, 5, "cl sampler");
	expect_row(&p, 12, WS_RESOURCE_OPENCL_PROGRAM, 6, "cl program");
	expect_row(&p, 13, WS_RESOURCE_OPENCL_EVENT, 7, "cl évent");
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector_not_kept, names_of_resources_of_every_class_are_kept)
{
	static const struct {
		uint32_t nvtx, type;
		const char *name;
	} cases[] = {
	        {0x10001, 1, "pointer"},
	        {0x10002, 2, "handle"},
	        {0x10004, 3, "thread"},
	        {0x20001, 41, "linux_mutex"},
	        {0x20007, 47, "linux_rcu"},
	        {0x30001, 31, "pthread_mutex"},
	        {0x30006, 36, "pthread_once"},
	        {0x40001, 11, "cuda_device"},
	        {0x40004, 14, "cuda_event"},
	        {0x50000, 11, "cuda_device"},
	        {0x50001, 13, "cuda_stream"},
	        {0x50002, 14, "cuda_event"},
	        {0x60001, 21, "opencl_device"},
	        {0x60007, 27, "opencl_event"},
	        {0, 0, "other"},
	        {0x20008, 0, "other"},
	        {0x70001, 0, "other"},
	        {0xFFFFFFFF, 0, "other"},
	};
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_RESOURCE);
	const size_t n = sizeof(cases) / sizeof(*cases);
	wsn_domain d = nvtx.DomainCreateA("dom");
	struct wsn_resource_attr a = {.version = WSN_VERSION, .size = sizeof(a)};
	struct probe p;

	a.message_type = WSN_MESSAGE_REGISTERED;
	a.message.registered = nvtx.DomainRegisterStringA(d, "registered");
	for (size_t i = 0; i < n; i++) {
		a.identifier_type = (int32_t)cases[i].nvtx;
		a.identifier.ull = 10 + i;
		cr_expect_not_null(nvtx.DomainResourceCreate(d, &a));
	}
	a.message_type = 0;
	cr_expect_not_null(nvtx.DomainResourceCreate(d, &a), "without a name");
	p = collect_finish();

	cr_assert_eq(ROWS(&p, resource), n);
	for (size_t i = 0; i < n; i++) {
		struct ws_bytes name = ws_enum_name(def->columns[WS_COL_resource_type].unit,
		                                    CELL(&p, resource, type, i));

		cr_expect_eq(CELL(&p, resource, type, i), cases[i].type, "%#x", cases[i].nvtx);
		cr_expect(name.len == strlen(cases[i].name) &&
		                  !memcmp(name.ptr, cases[i].name, name.len),
		          "%#x", cases[i].nvtx);
		cr_expect_eq(CELL(&p, resource, handle, i), 10 + i);
		cr_expect_str_eq(TEXT(&p, resource, name, i), "registered");
		cr_expect_str_eq(TEXT(&p, resource, domain, i), "dom");
	}
	collect_expect_no_loss();
	probe_close(&p);
}

/* --- what is counted --- */

Test(collector_not_kept, each_kind_of_what_is_not_kept_is_counted)
{
	const struct wsn_mem_batch batch = {.count = 5};
	const struct wsn_mem_list list = {.count = 7};
	wsn_domain d = nvtx.DomainCreateA("dom");
	wsn_resource sync = nvtx.DomainSyncUserCreate(d, &list);
	struct probe p;
	void *heap;

	heap = nvtx.MemHeapRegister(d, &list);
	cr_expect_not_null(heap);
	nvtx.MemHeapReset(d, heap);
	nvtx.MemHeapUnregister(d, heap);
	nvtx.MemRegionsRegister(d, &batch);
	nvtx.MemRegionsResize(d, &list);
	nvtx.MemRegionsName(d, &list);
	nvtx.MemRegionsUnregister(d, NULL);
	nvtx.MemCudaMarkInitialized(d, NULL, 0, &list);
	cr_expect_not_null(nvtx.MemPermissionsCreate(d, 0));
	cr_expect_not_null(nvtx.MemCudaGetProcessWidePermissions(d));
	cr_expect_not_null(nvtx.MemCudaGetDeviceWidePermissions(d, 0));
	nvtx.MemCudaSetPeerAccess(d, heap, 1, 0);
	nvtx.MemPermissionsAssign(d, &batch);
	nvtx.MemPermissionsBind(d, heap, 0, 0);
	nvtx.MemPermissionsUnbind(d, 0);
	nvtx.MemPermissionsReset(d, heap);
	nvtx.MemPermissionsDestroy(d, heap);
	cr_expect_not_null(sync);
	nvtx.DomainSyncUserAcquireStart(sync);
	nvtx.DomainSyncUserAcquireFailed(sync);
	nvtx.DomainSyncUserAcquireSuccess(sync);
	nvtx.DomainSyncUserReleasing(sync);
	nvtx.DomainSyncUserDestroy(sync);
	cr_expect_neq(nvtx.TimeDomainRegister(d, NULL), 0);
	nvtx.TimerSource(d, 1, 0, nvtx.TimestampGet);
	nvtx.TimerSourceWithData(d, 1, 0, NULL, NULL);
	nvtx.TimeSyncPoint(d, 1, 2, 3, 4);
	nvtx.TimeSyncPointTable(d, 1, 2, &list, 1);
	nvtx.TimestampConversionFactor(d, 1, 2, 1.0, 3, 4);
	cr_expect(!nvtx_attach_extension(3), "an extension that nobody knows");
	p = collect_finish();

	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_heaps"), 3);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_regions"), 5 + 3 * 7);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_memory_permissions"), 8 + 5);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_sync_objects"), 6);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_time_domains"), 6);
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_extensions"), 1);
	cr_expect_eq(probe_losses(&p), 3 + 26 + 13 + 6 + 6 + 1);
	probe_close(&p);
}

Test(collector_not_kept, descriptions_are_kept_and_unknown_semantics_counted)
{
	const struct wsn_semantics unknown = {sizeof(unknown), 99, 1, NULL};
	const struct wsn_schema_entry entries[] = {
	        {.type = WSN_ENTRY_UINT64, .name = "plain", .description = ""},
	        {.type = WSN_ENTRY_UINT64, .name = "described", .description = "what it is"},
	        {.type = WSN_ENTRY_UINT64,
	         .name = "both",
	         .description = "b",
	         .semantics = &unknown},
	};
	const struct wsn_schema_attr attr = {
	        .field_mask = WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES,
	        .entries = entries,
	        .num_entries = 3,
	};
	struct probe p;

	cr_expect_neq(nvtx.PayloadSchemaRegister(NULL, &attr), 0);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, payload_field), 3);
	cr_expect_str_eq(TEXT(&p, payload_field, description, 1), "what it is");
	cr_expect_eq(probe_loss(&p, "nvtx_not_kept_schema_details"), 1);
	cr_expect_eq(probe_losses(&p), 1);
	probe_close(&p);
}
