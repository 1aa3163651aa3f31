/*
 * The part of CUPTI's binary interface that the recorder uses, declared here so that the build does
 * not need the CUDA toolkit. The collector finds the functions at run time; the launcher reads the
 * records. tests/recorder/cupti/test_cupti_abi.c compares it with NVIDIA's headers if they are
 * installed. 64-bit Linux only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder/shared/cupti_records.def"

/* --- numbers ------------------------------------------------------------------- */

/* CUpti_ActivityKind: kinds that are read. */
enum ws_cupti_kind {
#define K(KIND, number, name) WS_CUPTI_KIND_##KIND = (number),
	WS_CUPTI_KIND_LIST(K) WS_CUPTI_LATER_KIND_LIST(K)
#undef K
};

/* CUptiResult */
enum ws_cupti_result {
	WS_CUPTI_OK = 0,
	WS_CUPTI_MAX_LIMIT_REACHED = 12,
	WS_CUPTI_INVALID_KIND = 21,
	WS_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	WS_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	WS_CUPTI_VIRTUALIZED_PRIVILEGES = 40,
};

enum ws_cupti_attribute {
	WS_CUPTI_ATTR_ZEROED_OUT_BUFFER = 5,
	WS_CUPTI_ATTR_PER_THREAD_BUFFER = 9,
};

enum ws_cupti_domain {
	WS_CUPTI_DOMAIN_DRIVER = 1,
	WS_CUPTI_DOMAIN_RUNTIME = 2,
	WS_CUPTI_DOMAIN_RESOURCE = 3,
	WS_CUPTI_DOMAIN_STATE = 6,
};

enum ws_cupti_cbid {
	WS_CUPTI_CBID_RUNTIME_DEVICE_RESET = 164,
	WS_CUPTI_CBID_RUNTIME_PROFILER_START = 171,
	WS_CUPTI_CBID_RUNTIME_PROFILER_STOP = 172,
	WS_CUPTI_CBID_DRIVER_PROFILER_START = 308,
	WS_CUPTI_CBID_DRIVER_PROFILER_STOP = 309,
	WS_CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
	WS_CUPTI_CBID_RESOURCE_INIT_FINISHED = 5,
	WS_CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
	WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED = 13,
	WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED = 20,
	WS_CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED = 22,
	WS_CUPTI_CBID_STATE_FATAL_ERROR = 1,
	WS_CUPTI_CBID_STATE_ERROR = 2,
	WS_CUPTI_CBID_STATE_WARNING = 3,
};

enum ws_cupti_number {
	WS_CUPTI_THREAD_ID_SYSTEM = 1,
	WS_CUPTI_FLUSH_FORCED = 1,
	WS_CUPTI_SITE_ENTER = 0, /* of an API callback */
	WS_CUPTI_OBJECT_THREAD = 2,
	WS_CUPTI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
	WS_CUPTI_ASYNC = 1, /* bit of the flags of a copy or fill */
	WS_CUPTI_SUBSCRIBER_NAME_BYTES = 64,
	WS_CUPTI_CUDA_NOT_READY = 600, /* result of a query: the work is not done */
};
#define WS_CUPTI_NONE UINT32_MAX /* no stream or event, in a synchronization record */

/* --- functions ------------------------------------------------------------------- */

struct ws_cupti_subscriber_params {
	size_t struct_size;
	const char *name;
	char *other_name; /* output: set if another tool is subscribed */
	size_t other_size;
	uint8_t allow_multiple; /* since 13.2 */
	uint8_t reserved[7];
};
#define WS_CUPTI_PARAMS_13_0 32 /* bytes of the struct before allow_multiple */

/* Only the first fields of these structs are used and declared. */
struct ws_cupti_api_callback {
	uint32_t site; /* WS_CUPTI_SITE_ENTER, or 1 at exit */
};
struct ws_cupti_state_callback {
	uint32_t result;
	const char *message; /* may be NULL */
};

struct ws_cupti_graph_callback {
	void *graph, *original_graph;
	void *node, *original_node; /* the original: of copies and updates */
};

typedef void (*ws_cupti_callback)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*ws_cupti_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*ws_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid_size);
/* The same, with buffers per subscriber (13.3). */
typedef void (*ws_cupti_scoped_request)(uint8_t **buffer, size_t *size, size_t *max_records,
                                        void *info);
typedef void (*ws_cupti_scoped_complete)(uint8_t *buffer, size_t size, size_t valid_size,
                                         void *info);

/*
 * F(name, needed, parameters): the function cupti<name>, which returns a CUptiResult. needed 0: it
 * was added after the oldest supported version.
 */
#define WS_CUPTI_FUNCTION_LIST(F)                                                                 \
	F(GetVersion, 1, (uint32_t * version))                                                    \
	F(GetResultString, 1, (int result, const char **text))                                    \
	F(GetCallbackName, 1, (uint32_t domain, uint32_t cbid, const char **name))                \
	F(Subscribe, 1, (void **subscriber, ws_cupti_callback callback, void *user))              \
	F(Subscribe_v2, 0,                                                                        \
	  (void **subscriber, ws_cupti_callback callback, void *user,                             \
	   struct ws_cupti_subscriber_params *params))                                            \
	F(EnableCallback, 1, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)) \
	F(SetThreadIdType, 1, (int type))                                                         \
	F(ActivitySetAttribute, 1, (int attribute, size_t *size, void *value))                    \
	F(ActivityRegisterCallbacks, 1, (ws_cupti_request request, ws_cupti_complete complete))   \
	F(ActivityEnable, 1, (int kind))                                                          \
	F(ActivityDisable, 0, (int kind))                                                         \
	F(ActivityEnableRuntimeApi, 0, (uint32_t cbid, uint8_t enable))                           \
	F(ActivityEnableDriverApi, 0, (uint32_t cbid, uint8_t enable))                            \
	F(ActivityEnableAllSyncRecords, 0, (uint8_t enable))                                      \
	F(GetTimestamp, 0, (uint64_t * now))                                                      \
	F(GetContextId, 0, (void *context, uint32_t *id))                                         \
	F(GetStreamIdEx, 0, (void *context, void *stream, uint8_t is_per_thread, uint32_t *id))   \
	F(ActivityEnableHWTrace, 0, (uint8_t enable))                                             \
	F(GetGraphNodeId, 0, (void *node, uint64_t *id))                                          \
	F(GetGraphId, 0, (void *graph, uint32_t *id))                                             \
	F(Unsubscribe, 0, (void *subscriber))                                                     \
	F(ActivityRegisterCallbacks_v2, 0,                                                        \
	  (void *subscriber, ws_cupti_scoped_request request, ws_cupti_scoped_complete complete)) \
	F(ActivitySetAttribute_v2, 0,                                                             \
	  (void *subscriber, int attribute, size_t *size, void *value))                           \
	F(ActivityEnable_v2, 0,                                                                   \
	  (void *subscriber, int kind, void *config)) /* NULL: records of CUPTI's own */          \
	F(ActivityDisable_v2, 0, (void *subscriber, int kind, void *config))                      \
	F(ActivityEnableRuntimeApi_v2, 0, (void *subscriber, uint32_t cbid, uint8_t enable))      \
	F(ActivityEnableDriverApi_v2, 0, (void *subscriber, uint32_t cbid, uint8_t enable))       \
	F(ActivityGetNextRecord_v2, 0,                                                            \
	  (void *subscriber, uint8_t *buffer, size_t valid_size, uint8_t **record))               \
	F(GetTimestamp_v2, 0, (void *subscriber, uint64_t *now))                                  \
	F(ActivityFlushAll, 1, (uint32_t flag))                                                   \
	F(ActivityGetNextRecord, 1, (uint8_t * buffer, size_t valid_size, uint8_t * *record))     \
	F(ActivityGetNumDroppedRecords, 1, (void *context, uint32_t stream, size_t *dropped))

#define F(name, needed, params) typedef int(*ws_cupti_fn_##name) params;
WS_CUPTI_FUNCTION_LIST(F)
#undef F

struct ws_cupti {
#define F(name, needed, params) ws_cupti_fn_##name name;
	WS_CUPTI_FUNCTION_LIST(F)
#undef F
};

/* Versions before 13.0 count 18 (11.8, and by their libraries 12.0 and 12.1), 20 (12.2), … 28
 * (12.9 Update 1); then they are e.g. 130001. */
#define WS_CUPTI_VERSION_12_0   18
#define WS_CUPTI_VERSION_12_4   22
#define WS_CUPTI_VERSION_12_8   26
#define WS_CUPTI_VERSION_13_0   130000
#define WS_CUPTI_VERSION_13_1   130100
#define WS_CUPTI_VERSION_13_1_1 130101
#define WS_CUPTI_VERSION_13_2   130200
#define WS_CUPTI_VERSION_13_3   130300
#define WS_CUPTI_VERSION_13_4   130400
#define WS_CUPTI_VERSION_13_4_1 130401

/* --- the driver ------------------------------------------------------------------ */

/*
 * A(number, NAME, name, unit, least): CU_DEVICE_ATTRIBUTE_<NAME> times unit is the attribute `name`
 * in the trace. Values below least are not recorded.
 */
#define WS_CUDA_ATTRIBUTE_LIST(A)                                                    \
	A(1, MAX_THREADS_PER_BLOCK, max_threads_per_block, 1, 1)                     \
	A(8, MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block_bytes, 1, 1)              \
	A(9, TOTAL_CONSTANT_MEMORY, constant_memory_bytes, 1, 1)                     \
	A(10, WARP_SIZE, warp_size, 1, 1)                                            \
	A(12, MAX_REGISTERS_PER_BLOCK, registers_per_block, 1, 1)                    \
	A(13, CLOCK_RATE, core_clock_hz, 1000, 1)                                    \
	A(16, MULTIPROCESSOR_COUNT, sm_count, 1, 1)                                  \
	A(32, ECC_ENABLED, ecc, 1, 0)                                                \
	A(33, PCI_BUS_ID, pci_bus, 1, 0)                                             \
	A(34, PCI_DEVICE_ID, pci_device, 1, 0)                                       \
	A(36, MEMORY_CLOCK_RATE, memory_clock_hz, 1000, 1)                           \
	A(37, GLOBAL_MEMORY_BUS_WIDTH, memory_bus_bits, 1, 1)                        \
	A(38, L2_CACHE_SIZE, l2_cache_bytes, 1, 1)                                   \
	A(39, MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_sm, 1, 1)              \
	A(40, ASYNC_ENGINE_COUNT, copy_engines, 1, 1)                                \
	A(50, PCI_DOMAIN_ID, pci_domain, 1, 0)                                       \
	A(75, COMPUTE_CAPABILITY_MAJOR, compute_capability_major, 1, 1)              \
	A(76, COMPUTE_CAPABILITY_MINOR, compute_capability_minor, 1, 0)              \
	A(81, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_per_sm_bytes, 1, 1)       \
	A(82, MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_sm, 1, 1)              \
	A(97, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin_bytes, 1, 1) \
	A(106, MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_sm, 1, 1)               \
	A(111, RESERVED_SHARED_MEMORY_PER_BLOCK, shared_reserved_per_block_bytes, 1, 1)

/* --- records --------------------------------------------------------------------- */

/* struct ws_cupti_kernel { uint16_t registers; … }: the fields in this order, without packing */
#define F(record, field, type, offset, member) type field;
#define R(NAME, name, type, size, least)  \
	struct ws_cupti_##name {          \
		WS_CUPTI_FIELDS_##NAME(F) \
	};
WS_CUPTI_RECORD_LIST(R)
WS_CUPTI_LATER_RECORD_LIST(R)
WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
#undef F

/* WS_CUPTI_AT_kernel_name = 104, … */
enum ws_cupti_offset {
#define F(record, field, type, offset, member) WS_CUPTI_AT_##record##_##field = (offset),
#define R(NAME, name, type, size, least)       WS_CUPTI_FIELDS_##NAME(F)
	WS_CUPTI_RECORD_LIST(R) WS_CUPTI_LATER_RECORD_LIST(R) WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
#undef F
};

/* Sizes of records: in CUPTI 13.0, and the smallest valid size. */
enum ws_cupti_size {
#define R(NAME, name, type, size, least) \
	WS_CUPTI_SIZE_##name = (size), WS_CUPTI_LEAST_##name = (least),
	WS_CUPTI_RECORD_LIST(R) WS_CUPTI_LATER_RECORD_LIST(R) WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
};

/* ws_cupti_read_kernel(&k, record, size): fields beyond size bytes are set to 0. */
#define F(record, field, type, offset, member)     \
	if ((offset) + sizeof(out->field) <= size) \
		memcpy(&out->field, bytes + (offset), sizeof(out->field));
#define R(NAME, name, type, full, least)                                                           \
	static inline void ws_cupti_read_##name(struct ws_cupti_##name *out, const uint8_t *bytes, \
	                                        size_t size)                                       \
	{                                                                                          \
		memset(out, 0, sizeof(*out));                                                      \
		WS_CUPTI_FIELDS_##NAME(F)                                                          \
	}
WS_CUPTI_RECORD_LIST(R)
WS_CUPTI_LATER_RECORD_LIST(R)
WS_CUPTI_SOURCE_RECORD_LIST(R)
#undef R
#undef F

/* The only record of 12.0 to 13.5 whose fields are not just the first fields of a later version. */
#define WS_CUPTI_SIZE_context_12_4 24

static inline uint32_t ws_cupti_kind(const uint8_t *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	return kind;
}
