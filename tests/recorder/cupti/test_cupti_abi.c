/*
 * recorder/shared/cupti_abi.h against NVIDIA's own headers and library: every size,
 * offset and number, and the steps of the real iterator. Skipped, visibly,
 * where those are not installed.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>

#include "recorder/cupti/source.h"
#include "recorder/shared/cupti_abi.h"
#include "tests/support/paths.h"

static const struct {
	const char *name;
	uint32_t kind;
	size_t size, least;
} kinds[] = {
#define K(KIND, number, record) {#KIND, (number), WS_CUPTI_SIZE_##record, WS_CUPTI_LEAST_##record},
        WS_CUPTI_KIND_LIST(K)
#undef K
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

/* --- what holds everywhere --- */

Test(cupti_abi, every_field_lies_inside_its_record)
{
#define F(record, field, type, offset, member) \
	cr_expect_leq((offset) + sizeof(type), size, #record "." #field);
#define R(NAME, name, type, bytes, least)     \
	{                                     \
		const size_t size = (bytes);  \
		cr_expect_leq((least), size); \
		WS_CUPTI_FIELDS_##NAME(F)     \
	}
	WS_CUPTI_RECORD_LIST(R)
	WS_CUPTI_LATER_RECORD_LIST(R)
	WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
#undef F
}

Test(cupti_abi, fields_beyond_the_end_of_a_short_record_read_as_zero)
{
	struct ws_cupti_memcpy m;
	uint8_t bytes[WS_CUPTI_SIZE_memcpy];

	memset(bytes, 0x11, sizeof(bytes));
	ws_cupti_read_memcpy(&m, bytes, 88); /* CUpti_ActivityMemcpy5 of 12.x */
	cr_expect_eq(m.graph_node, UINT64_C(0x1111111111111111));
	cr_expect_eq(m.copies, 0, "it came with 13.0");
	ws_cupti_read_memcpy(&m, bytes, 95);
	cr_expect_eq(m.copies, 0, "half a field is none");
	ws_cupti_read_memcpy(&m, bytes, 96);
	cr_expect_eq(m.copies, UINT64_C(0x1111111111111111));
}

/* --- the library --- */

/* A function of the installed CUPTI; the test is skipped where there is none. */
static void *load_function(const char *name)
{
	static const char *const paths[] = {"libcupti.so.13", WS_TEST_CUPTI "/libcupti.so.13"};
	void *function = NULL;

	for (size_t i = 0; !function && i < sizeof(paths) / sizeof(*paths); i++) {
		void *lib = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

		if (lib)
			function = dlsym(lib, name);
	}
	if (!function) {
		cr_log_warn("[SKIP] no libcupti.so.13 is installed");
		cr_skip_test("no libcupti.so.13 is installed");
	}
	return function;
}

/* Every function of NVIDIA's that launches is wanted; most others are not. */
Test(cupti_abi, of_nvidias_names_all_that_launch_are_wanted)
{
	ws_cupti_fn_GetCallbackName get_name;
	unsigned wanted = 0, all = 0;

	*(void **)&get_name = load_function("cuptiGetCallbackName");
	for (uint32_t domain = WS_CUPTI_DOMAIN_DRIVER; domain <= WS_CUPTI_DOMAIN_RUNTIME;
	     domain++) {
		const char *name = NULL;

		for (uint32_t cbid = 1; get_name(domain, cbid, &name) == WS_CUPTI_OK; cbid++) {
			int wants = ws_cupti_wants_call(domain, name, 0);

			all++;
			wanted += (unsigned)wants;
			if (strstr(name, "LaunchKernel") || strstr(name, "GraphLaunch"))
				cr_expect(wants, "%s", name);
		}
	}
	cr_expect_gt(all, 1000);
	cr_expect(wanted > 50 && wanted < all / 4, "%u of %u", wanted, all);
}

Test(cupti_abi, the_sizes_that_the_iterator_of_cupti_13_tells_are_those_of_the_list)
{
	ws_cupti_fn_ActivityGetNextRecord next;
	uint16_t sizes[WS_SEG_KINDS];

	*(void **)&next = load_function("cuptiActivityGetNextRecord");
	ws_cupti_find_sizes(next, sizes);
	for (size_t i = 0; i < NKINDS; i++)
		cr_expect_eq(sizes[kinds[i].kind], kinds[i].size, "%s: %u", kinds[i].name,
		             (unsigned)sizes[kinds[i].kind]);
	/* kinds that are not read are stepped over: CUDA event, external correlation */
	cr_expect_eq(sizes[36], 56);
	cr_expect_eq(sizes[39], 24);
	cr_expect_eq(sizes[0], 0);
	cr_expect_eq(sizes[14], 0, "13.0 removed it");
	cr_expect_eq(sizes[WS_SEG_KINDS - 1], 0);
}

/* One that steps by the number of the kind, 8 bytes each, but to where no record can begin. */
static int odd_iterator(uint8_t *buffer, size_t valid, uint8_t **record)
{
	const uint32_t kind = ws_cupti_kind(buffer);
	size_t step = kind == 1 ? 0 : kind == 2 ? WS_SEG_MAX_RECORD + 8 : (size_t)kind * 8;

	if (kind == 3 || (kind == 4 && *record))
		return WS_CUPTI_INVALID_KIND;
	*record = *record ? *record + step : buffer;
	return *record < buffer + valid ? WS_CUPTI_OK : WS_CUPTI_MAX_LIMIT_REACHED;
}

Test(cupti_abi, a_kind_for_which_the_iterator_tells_no_size_has_none)
{
	uint16_t sizes[WS_SEG_KINDS];

	ws_cupti_find_sizes(odd_iterator, sizes);
	for (uint32_t kind = 0; kind < WS_SEG_KINDS; kind++)
		cr_expect_eq(sizes[kind], kind <= 4 ? 0 : kind * 8, "%u: %u", kind,
		             (unsigned)sizes[kind]);
}

/* --- the headers --- */

#if defined(__has_include)
#if __has_include(<cupti.h>)
#define HAVE_CUPTI 1
#endif
#endif

#ifndef HAVE_CUPTI

Test(cupti_abi, agrees_with_the_headers_of_cupti)
{
	cr_log_warn("[SKIP] the headers of CUPTI are not installed");
	cr_skip_test("the headers of CUPTI are not installed");
}

#else

#include <cuda.h>
#include <cupti.h>

#define SAME(ours, theirs)                                                                        \
	cr_expect_eq((long long)(ours), (long long)(theirs), #ours " = %lld, " #theirs " = %lld", \
	             (long long)(ours), (long long)(theirs))

Test(cupti_abi, records_have_the_layout_of_cupti)
{
#define F(record, field, ctype, offset, member) \
	SAME(offset, offsetof(theirs, member)); \
	SAME(sizeof(ctype), sizeof(((theirs *)0)->member));
#define R(NAME, name, type, size, least)    \
	{                                   \
		typedef type theirs;        \
		SAME(size, sizeof(theirs)); \
		WS_CUPTI_FIELDS_##NAME(F)   \
	}
	WS_CUPTI_RECORD_LIST(R)
#undef R
#undef F
}

Test(cupti_abi, kinds_have_the_numbers_of_cupti)
{
#define K(KIND, number, record) SAME(number, CUPTI_ACTIVITY_KIND_##KIND);
	WS_CUPTI_KIND_LIST(K)
#undef K
}

Test(cupti_abi, attributes_of_devices_have_the_numbers_of_the_driver)
{
#define A(number, NAME, name, unit, least) SAME(number, CU_DEVICE_ATTRIBUTE_##NAME);
	WS_CUDA_ATTRIBUTE_LIST(A)
#undef A
}

Test(cupti_abi, results_and_options_have_the_numbers_of_cupti)
{
	SAME(WS_CUPTI_OK, CUPTI_SUCCESS);
	SAME(WS_CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
	SAME(WS_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
	SAME(WS_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	SAME(WS_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	SAME(WS_CUPTI_VIRTUALIZED_PRIVILEGES,
	     CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
	SAME(WS_CUPTI_ATTR_ZEROED_OUT_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
	SAME(WS_CUPTI_ATTR_PER_THREAD_BUFFER, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
	SAME(WS_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
	SAME(WS_CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
	SAME(WS_CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
	SAME(WS_CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
	SAME(WS_CUPTI_CBID_RUNTIME_DEVICE_RESET, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
	SAME(WS_CUPTI_CBID_RUNTIME_PROFILER_START,
	     CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
	SAME(WS_CUPTI_CBID_RUNTIME_PROFILER_STOP, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
	SAME(WS_CUPTI_CBID_DRIVER_PROFILER_START, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
	SAME(WS_CUPTI_CBID_DRIVER_PROFILER_STOP, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
	SAME(WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	SAME(WS_CUPTI_CBID_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
	SAME(WS_CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
	SAME(WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
	SAME(WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	SAME(WS_CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
	SAME(WS_CUPTI_CBID_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
	SAME(WS_CUPTI_CBID_STATE_ERROR, CUPTI_CBID_STATE_ERROR);
	SAME(WS_CUPTI_CBID_STATE_WARNING, CUPTI_CBID_STATE_WARNING);
	SAME(WS_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	SAME(WS_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	SAME(WS_CUPTI_SITE_ENTER, CUPTI_API_ENTER);
	SAME(WS_CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
	SAME(WS_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
	SAME(WS_CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
	SAME(WS_CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
	SAME(WS_CUPTI_SUBSCRIBER_NAME_BYTES, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
	SAME(WS_CUPTI_NONE, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
	SAME(WS_CUPTI_CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
}

Test(cupti_abi, parameters_and_callback_data_have_the_layout_of_cupti)
{
	SAME(WS_CUPTI_PARAMS_13_0, CUpti_SubscriberParams_STRUCT_SIZE);
	SAME(offsetof(struct ws_cupti_subscriber_params, allow_multiple), WS_CUPTI_PARAMS_13_0);
	SAME(offsetof(struct ws_cupti_subscriber_params, name),
	     offsetof(CUpti_SubscriberParams, subscriberName));
	SAME(offsetof(struct ws_cupti_subscriber_params, other_name),
	     offsetof(CUpti_SubscriberParams, oldSubscriberName));
	SAME(offsetof(struct ws_cupti_subscriber_params, other_size),
	     offsetof(CUpti_SubscriberParams, oldSubscriberSize));
	SAME(offsetof(struct ws_cupti_api_callback, site),
	     offsetof(CUpti_CallbackData, callbackSite));
	SAME(offsetof(struct ws_cupti_state_callback, result),
	     offsetof(CUpti_StateData, notification.result));
	SAME(offsetof(struct ws_cupti_state_callback, message),
	     offsetof(CUpti_StateData, notification.message));
#define GRAPH(ours, theirs) \
	SAME(offsetof(struct ws_cupti_graph_callback, ours), offsetof(CUpti_GraphData, theirs))
	GRAPH(graph, graph);
	GRAPH(original_graph, originalGraph);
	GRAPH(node, node);
	GRAPH(original_node, originalNode);
#undef GRAPH
}

#endif
