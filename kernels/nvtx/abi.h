/*
 * The binary interface of NVTX version 3, as far as Warpsheet uses it, declared here so that the
 * build does not need the CUDA toolkit.
 *
 * Two sides meet in it: a program that emits NVTX events (kernels/nvtx/client.h
 * for our own programs, NVIDIA's headers for everybody else's) and a tool
 * that is loaded into it (recorder/collect/). tests/kernels/nvtx/test_nvtx_abi.c
 * compares every size, offset and number with NVIDIA's headers where those
 * are installed.
 *
 * How a program finds the tool, once in each ELF module, at its first call:
 *   1. dlopen(getenv("NVTX_INJECTION64_PATH")), dlsym WSN_INIT_SYMBOL, call it
 *      with a function that returns export tables. The tool asks for table
 *      WSN_ETID_CALLBACKS and writes its functions to the addresses that the
 *      module tables hold. Functions it leaves alone become no-ops. It
 *      returns 0 when it cannot serve; then nothing may be called.
 *   2. the same library, dlsym WSN_EXT_INIT_SYMBOL, once for each extension:
 *      the tool writes its functions into segments[0].function_slots. A slot
 *      left at 0 is a no-op, except DomainIsEnabled, which then means "yes".
 *
 * Plain C99; Linux on 64-bit machines only.
 */
#ifndef WS_KERNELS_NVTX_ABI_H
#define WS_KERNELS_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define WSN_VERSION         3
#define WSN_ENV_INJECTION   "NVTX_INJECTION64_PATH"
#define WSN_INIT_SYMBOL     "InitializeInjectionNvtx2"
#define WSN_EXT_INIT_SYMBOL "InitializeInjectionNvtxExtension"

/* Result of push and pop if no tool counts the nesting level. */
#define WSN_NO_PUSH_POP_TRACKING (-2)

/* --- handles: opaque to the program, made by the tool ------------------------ */

struct wsn_domain_st;
struct wsn_string_st;
struct wsn_resource_st;
typedef struct wsn_domain_st *wsn_domain; /* NULL: the default domain */
typedef struct wsn_string_st *wsn_string; /* a registered string; never NULL */
typedef struct wsn_resource_st *wsn_resource;
typedef uint64_t wsn_range_id; /* of a start/end range; may cross threads */

/* --- event attributes --------------------------------------------------------- */

enum wsn_color_type {
	WSN_COLOR_UNKNOWN = 0,
	WSN_COLOR_ARGB = 1,
};

enum wsn_message_type {
	WSN_MESSAGE_ASCII = 1,
	WSN_MESSAGE_UNICODE = 2, /* wchar_t */
	WSN_MESSAGE_REGISTERED = 3,
};

enum wsn_payload_type {
	WSN_PAYLOAD_UNKNOWN = 0,
	WSN_PAYLOAD_UINT64 = 1,
	WSN_PAYLOAD_INT64 = 2,
	WSN_PAYLOAD_DOUBLE = 3,
	WSN_PAYLOAD_UINT32 = 4,
	WSN_PAYLOAD_INT32 = 5,
	WSN_PAYLOAD_FLOAT = 6,
	/* payload.ull: address of an array of struct wsn_payload_data, reserved0: its length */
	WSN_PAYLOAD_EXT = -541261815, /* 0xDFBD0009 as int32_t */
};

union wsn_message {
	const char *ascii;
	const wchar_t *unicode;
	wsn_string registered;
};

struct wsn_event {
	uint16_t version; /* WSN_VERSION */
	uint16_t size;    /* sizeof(struct wsn_event): 48 */
	uint32_t category;
	int32_t color_type; /* enum wsn_color_type */
	uint32_t color;
	int32_t payload_type; /* enum wsn_payload_type */
	int32_t reserved0;    /* with WSN_PAYLOAD_EXT: number of payloads */
	union {
		uint64_t ull;
		int64_t ll;
		double d;
		uint32_t ui;
		int32_t i;
		float f;
	} payload;
	int32_t message_type; /* enum wsn_message_type */
	union wsn_message message;
};

enum wsn_resource_type {
	WSN_RESOURCE_GENERIC_POINTER = 0x10001,
	WSN_RESOURCE_GENERIC_HANDLE = 0x10002,
	WSN_RESOURCE_GENERIC_THREAD_NATIVE = 0x10003, /* identifier.ull: system thread id */
	WSN_RESOURCE_GENERIC_THREAD_POSIX = 0x10004,  /* identifier.ull: pthread_t */
	WSN_RESOURCE_LINUX_MUTEX = 0x20001,           /* and futex, semaphore, completion … */
	WSN_RESOURCE_LINUX_RCU = 0x20007,
	WSN_RESOURCE_PTHREAD_MUTEX = 0x30001, /* and condition, rwlock, barrier, spinlock … */
	WSN_RESOURCE_PTHREAD_ONCE = 0x30006,
	WSN_RESOURCE_CUDA_DEVICE = 0x40001,
	WSN_RESOURCE_CUDA_CONTEXT = 0x40002,
	WSN_RESOURCE_CUDA_STREAM = 0x40003,
	WSN_RESOURCE_CUDA_EVENT = 0x40004,
	WSN_RESOURCE_CUDART_DEVICE = 0x50000,
	WSN_RESOURCE_CUDART_STREAM = 0x50001,
	WSN_RESOURCE_CUDART_EVENT = 0x50002,
	WSN_RESOURCE_OPENCL_DEVICE = 0x60001, /* and context, queue, memory, sampler, program … */
	WSN_RESOURCE_OPENCL_EVENT = 0x60007,
};

struct wsn_resource_attr {
	uint16_t version; /* WSN_VERSION */
	uint16_t size;    /* sizeof(struct wsn_resource_attr): 32 */
	int32_t identifier_type;
	union {
		const void *pointer;
		uint64_t ull;
	} identifier;
	int32_t message_type;
	union wsn_message message;
};

/* --- functions of the core modules ---------------------------------------------- */

/* X(name, callback id in WSN_MODULE_CORE, return type, parameters) */
#define WSN_CORE_LIST(X)                                             \
	X(MarkEx, 1, void, (const struct wsn_event *))               \
	X(MarkA, 2, void, (const char *))                            \
	X(MarkW, 3, void, (const wchar_t *))                         \
	X(RangeStartEx, 4, wsn_range_id, (const struct wsn_event *)) \
	X(RangeStartA, 5, wsn_range_id, (const char *))              \
	X(RangeStartW, 6, wsn_range_id, (const wchar_t *))           \
	X(RangeEnd, 7, void, (wsn_range_id))                         \
	X(RangePushEx, 8, int, (const struct wsn_event *))           \
	X(RangePushA, 9, int, (const char *))                        \
	X(RangePushW, 10, int, (const wchar_t *))                    \
	X(RangePop, 11, int, (void))                                 \
	X(NameCategoryA, 12, void, (uint32_t, const char *))         \
	X(NameCategoryW, 13, void, (uint32_t, const wchar_t *))      \
	X(NameOsThreadA, 14, void, (uint32_t, const char *))         \
	X(NameOsThreadW, 15, void, (uint32_t, const wchar_t *))
#define WSN_CORE_SIZE 16

/* X(name, callback id in WSN_MODULE_CORE2, return type, parameters) */
#define WSN_CORE2_LIST(X)                                                                  \
	X(DomainMarkEx, 1, void, (wsn_domain, const struct wsn_event *))                   \
	X(DomainRangeStartEx, 2, wsn_range_id, (wsn_domain, const struct wsn_event *))     \
	X(DomainRangeEnd, 3, void, (wsn_domain, wsn_range_id))                             \
	X(DomainRangePushEx, 4, int, (wsn_domain, const struct wsn_event *))               \
	X(DomainRangePop, 5, int, (wsn_domain))                                            \
	X(DomainResourceCreate, 6, wsn_resource, (wsn_domain, struct wsn_resource_attr *)) \
	X(DomainResourceDestroy, 7, void, (wsn_resource))                                  \
	X(DomainNameCategoryA, 8, void, (wsn_domain, uint32_t, const char *))              \
	X(DomainNameCategoryW, 9, void, (wsn_domain, uint32_t, const wchar_t *))           \
	X(DomainRegisterStringA, 10, wsn_string, (wsn_domain, const char *))               \
	X(DomainRegisterStringW, 11, wsn_string, (wsn_domain, const wchar_t *))            \
	X(DomainCreateA, 12, wsn_domain, (const char *))                                   \
	X(DomainCreateW, 13, wsn_domain, (const wchar_t *))                                \
	X(DomainDestroy, 14, void, (wsn_domain))                                           \
	X(Initialize, 15, void, (const void *))
#define WSN_CORE2_SIZE 16

/* X(name, callback id in WSN_MODULE_CUDA, return type, parameters): CUdevice, CUcontext … */
#define WSN_CUDA_LIST(X)                                            \
	X(NameCuDeviceA, 1, void, (int, const char *))              \
	X(NameCuDeviceW, 2, void, (int, const wchar_t *))           \
	X(NameCuContextA, 3, void, (const void *, const char *))    \
	X(NameCuContextW, 4, void, (const void *, const wchar_t *)) \
	X(NameCuStreamA, 5, void, (const void *, const char *))     \
	X(NameCuStreamW, 6, void, (const void *, const wchar_t *))  \
	X(NameCuEventA, 7, void, (const void *, const char *))      \
	X(NameCuEventW, 8, void, (const void *, const wchar_t *))

/* X(name, callback id in WSN_MODULE_CUDART, return type, parameters): cudaStream_t … */
#define WSN_CUDART_LIST(X)                                           \
	X(NameCudaDeviceA, 1, void, (int, const char *))             \
	X(NameCudaDeviceW, 2, void, (int, const wchar_t *))          \
	X(NameCudaStreamA, 3, void, (const void *, const char *))    \
	X(NameCudaStreamW, 4, void, (const void *, const wchar_t *)) \
	X(NameCudaEventA, 5, void, (const void *, const char *))     \
	X(NameCudaEventW, 6, void, (const void *, const wchar_t *))

/* X(name, callback id in WSN_MODULE_OPENCL, return type, parameters): cl_device_id … */
#define WSN_OPENCL_LIST(X)                                               \
	X(NameClDeviceA, 1, void, (const void *, const char *))          \
	X(NameClDeviceW, 2, void, (const void *, const wchar_t *))       \
	X(NameClContextA, 3, void, (const void *, const char *))         \
	X(NameClContextW, 4, void, (const void *, const wchar_t *))      \
	X(NameClCommandQueueA, 5, void, (const void *, const char *))    \
	X(NameClCommandQueueW, 6, void, (const void *, const wchar_t *)) \
	X(NameClMemObjectA, 7, void, (const void *, const char *))       \
	X(NameClMemObjectW, 8, void, (const void *, const wchar_t *))    \
	X(NameClSamplerA, 9, void, (const void *, const char *))         \
	X(NameClSamplerW, 10, void, (const void *, const wchar_t *))     \
	X(NameClProgramA, 11, void, (const void *, const char *))        \
	X(NameClProgramW, 12, void, (const void *, const wchar_t *))     \
	X(NameClEventA, 13, void, (const void *, const char *))          \
	X(NameClEventW, 14, void, (const void *, const wchar_t *))

/* X(name, callback id in WSN_MODULE_SYNC, return type, parameters); objects are our handles */
#define WSN_SYNC_LIST(X)                                                     \
	X(DomainSyncUserCreate, 1, wsn_resource, (wsn_domain, const void *)) \
	X(DomainSyncUserDestroy, 2, void, (wsn_resource))                    \
	X(DomainSyncUserAcquireStart, 3, void, (wsn_resource))               \
	X(DomainSyncUserAcquireFailed, 4, void, (wsn_resource))              \
	X(DomainSyncUserAcquireSuccess, 5, void, (wsn_resource))             \
	X(DomainSyncUserReleasing, 6, void, (wsn_resource))

/* --- the payload extension ---------------------------------------------------------- */

#define WSN_EXT_PAYLOAD_MODULE     2
#define WSN_EXT_PAYLOAD_COMPAT     0x0104
#define WSN_EXT_PAYLOAD_SLOT_COUNT 63

/* First ids that a program may choose, and first ids that the tool gives out. */
#define WSN_SCHEMA_ID_STATIC_START  ((uint64_t)1 << 24)
#define WSN_SCHEMA_ID_DYNAMIC_START ((uint64_t)1 << 32)

/* One payload of an event. size SIZE_MAX: the tool must find it from the schema. */
struct wsn_payload_data {
	uint64_t schema_id;
	size_t size;
	const void *payload;
};

/* Entry types: C types, X(name, value, C type). */
#define WSN_ENTRY_TYPE_C_LIST(X)             \
	X(CHAR, 1, char)                     \
	X(UCHAR, 2, unsigned char)           \
	X(SHORT, 3, short)                   \
	X(USHORT, 4, unsigned short)         \
	X(INT, 5, int)                       \
	X(UINT, 6, unsigned int)             \
	X(LONG, 7, long)                     \
	X(ULONG, 8, unsigned long)           \
	X(LONGLONG, 9, long long)            \
	X(ULONGLONG, 10, unsigned long long) \
	X(INT8, 11, int8_t)                  \
	X(UINT8, 12, uint8_t)                \
	X(INT16, 13, int16_t)                \
	X(UINT16, 14, uint16_t)              \
	X(INT32, 15, int32_t)                \
	X(UINT32, 16, uint32_t)              \
	X(INT64, 17, int64_t)                \
	X(UINT64, 18, uint64_t)              \
	X(FLOAT, 19, float)                  \
	X(DOUBLE, 20, double)                \
	X(LONGDOUBLE, 21, long double)       \
	X(SIZE, 22, size_t)                  \
	X(ADDRESS, 23, void *)               \
	X(WCHAR, 24, wchar_t)                \
	X(CHAR8, 25, uint8_t)                \
	X(CHAR16, 26, uint16_t)              \
	X(CHAR32, 27, uint32_t)

/* Entry types of a fixed size that C has no type for, X(name, value, size and alignment). */
#define WSN_ENTRY_TYPE_SIZED_LIST(X)                                           \
	X(BYTE, 32, 1)                                                         \
	X(INT128, 33, 16)                                                      \
	X(UINT128, 34, 16)                                                     \
	X(FLOAT16, 42, 2)                                                      \
	X(FLOAT32, 43, 4)                                                      \
	X(FLOAT64, 44, 8)                                                      \
	X(FLOAT128, 45, 16)                                                    \
	X(BF16, 50, 2)                                                         \
	X(TF32, 52, 4)                                                         \
	X(CATEGORY, 68, 4)                                                     \
	X(COLOR_ARGB, 69, 4)                                                   \
	X(SCOPE_ID, 70, 8)                                                     \
	X(PID_UINT32, 71, 4)                                                   \
	X(PID_UINT64, 72, 8)                                                   \
	X(TID_UINT32, 73, 4)                                                   \
	X(TID_UINT64, 74, 8)                                                   \
	X(CSTRING, 75, 8)           /* char *: text in the program's memory */ \
	X(CSTRING_UTF8, 76, 8)      /* char * */                               \
	X(CSTRING_UTF16, 77, 8)     /* uint16_t * */                           \
	X(CSTRING_UTF32, 78, 8)     /* uint32_t * */                           \
	X(REGISTERED_STRING, 80, 8) /* wsn_string */                           \
	X(UNION_SELECTOR, 100, 0)                                              \
	X(SCHEMA_REFERENCED, 1022, 0)                                          \
	X(SCHEMA_RAW, 1023, 0)

enum wsn_entry_type {
	WSN_ENTRY_INVALID = 0,
#define X(name, value, type) WSN_ENTRY_##name = value,
	WSN_ENTRY_TYPE_C_LIST(X) WSN_ENTRY_TYPE_SIZED_LIST(X)
#undef X
};

enum wsn_entry_flag {
	WSN_ENTRY_FLAG_POINTER = 1 << 1,
	WSN_ENTRY_FLAG_OFFSET_FROM_BASE = 1 << 2,
	WSN_ENTRY_FLAG_OFFSET_FROM_HERE = 1 << 3,
	/* 1 to 4 in bits 4..6 make the entry an array */
	WSN_ENTRY_FLAG_ARRAY_FIXED_SIZE = 1 << 4,
	WSN_ENTRY_FLAG_ARRAY_LENGTH_INDEX = 3 << 4,
	WSN_ENTRY_FLAG_ARRAY_MASK = 7 << 4,
};

/* Properties of a field or counter: a linked list, each of a struct that begins so. */
struct wsn_semantics {
	uint32_t struct_size;
	uint16_t id, version; /* enum wsn_semantics_id */
	const struct wsn_semantics *next;
};

enum wsn_semantics_id {
	WSN_SEMANTICS_SCOPE = 1,
	WSN_SEMANTICS_TIME = 2,
	WSN_SEMANTICS_COUNTER = 5,
};

struct wsn_semantics_scope {
	struct wsn_semantics header;
	uint64_t scope_id;
};

struct wsn_semantics_time {
	struct wsn_semantics header;
	uint64_t time_domain_id; /* enum wsn_timestamp_type, or a clock of the program's own */
};

struct wsn_semantics_counter {
	struct wsn_semantics header;
	uint64_t flags; /* enum wsn_counter_flag */
	const char *unit;
	uint64_t unit_numerator, unit_denominator;
	int64_t limit_type; /* enum wsn_counter_limit: what minimum and maximum are */
	uint64_t minimum, maximum;
};

enum wsn_counter_flag {
	WSN_COUNTER_NORMALIZE = 1 << 1, /* a whole number stands for 0 … 1 or -1 … 1 */
	WSN_COUNTER_LIMIT_MIN = 1 << 2,
	WSN_COUNTER_LIMIT_MAX = 1 << 3,
	WSN_COUNTER_ABSOLUTE = 1 << 4, /* 1 to 3 in bits 4 and 5 */
	WSN_COUNTER_DELTA = 2 << 4,
	WSN_COUNTER_DELTA_SINCE_START = 3 << 4,
	WSN_COUNTER_VALUE_MASK = 3 << 4,
};

enum wsn_counter_limit {
	WSN_COUNTER_LIMIT_I64 = 1,
	WSN_COUNTER_LIMIT_U64 = 2,
	WSN_COUNTER_LIMIT_F64 = 3,
};

enum wsn_timestamp_type {
	WSN_TIMESTAMP_NONE = 0,
	WSN_TIMESTAMP_TOOL = 1, /* from TimestampGet */
	WSN_TIMESTAMP_REALTIME = 12,
	WSN_TIMESTAMP_REALTIME_COARSE = 13,
	WSN_TIMESTAMP_MONOTONIC = 14,
	WSN_TIMESTAMP_MONOTONIC_RAW = 15,
	WSN_TIMESTAMP_MONOTONIC_COARSE = 16,
	WSN_TIMESTAMP_BOOTTIME = 17,
};

/* Scopes that need no registration; ids that programs choose begin at WSN_SCHEMA_ID_STATIC_START.
 */
#define WSN_SCOPE_LIST(X)           \
	X(1, "root")                \
	X(2, "machine")             \
	X(3, "socket")              \
	X(4, "physical CPU")        \
	X(5, "logical CPU")         \
	X(15, "innermost hardware") \
	X(16, "hypervisor")         \
	X(17, "virtual machine")    \
	X(18, "kernel")             \
	X(19, "container")          \
	X(20, "operating system")   \
	X(21, "process")            \
	X(22, "thread")             \
	X(31, "innermost software")
/* NULL: not such a scope. */
static inline const char *wsn_scope_name(uint64_t id)
{
	switch (id) {
#define X(scope, name) \
	case scope:    \
		return name;
		WSN_SCOPE_LIST(X)
#undef X
	default:
		return NULL;
	}
}

struct wsn_schema_entry {
	uint64_t flags; /* enum wsn_entry_flag */
	uint64_t type;  /* enum wsn_entry_type, or the id of a schema or enum */
	const char *name;
	const char *description;
	uint64_t array_or_union_detail;
	uint64_t offset; /* bytes; 0 in a later entry: natural alignment after the one before */
	const struct wsn_semantics *semantics;
	const void *reserved;
};

enum wsn_schema_type {
	WSN_SCHEMA_STATIC = 1,
};

/* Bits of wsn_schema_attr.field_mask: which members are set. */
enum wsn_schema_field {
	WSN_SCHEMA_FIELD_NAME = 1 << 1,
	WSN_SCHEMA_FIELD_TYPE = 1 << 2,
	WSN_SCHEMA_FIELD_ENTRIES = 1 << 4,
	WSN_SCHEMA_FIELD_NUM_ENTRIES = 1 << 5,
	WSN_SCHEMA_FIELD_STATIC_SIZE = 1 << 6,
	WSN_SCHEMA_FIELD_ALIGNMENT = 1 << 7,
	WSN_SCHEMA_FIELD_SCHEMA_ID = 1 << 8,
};

struct wsn_schema_attr {
	uint64_t field_mask;
	const char *name;
	uint64_t type; /* enum wsn_schema_type */
	uint64_t flags;
	const struct wsn_schema_entry *entries;
	size_t num_entries;
	size_t payload_static_size;
	size_t pack_align;
	uint64_t schema_id; /* chosen by the program when FIELD_SCHEMA_ID is set */
	void *extension;
};

struct wsn_enum_entry {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

/* Bits of wsn_enum_attr.field_mask. */
enum wsn_enum_field {
	WSN_ENUM_FIELD_NAME = 1 << 1,
	WSN_ENUM_FIELD_ENTRIES = 1 << 2,
	WSN_ENUM_FIELD_NUM_ENTRIES = 1 << 3,
	WSN_ENUM_FIELD_SIZE = 1 << 4,
	WSN_ENUM_FIELD_SCHEMA_ID = 1 << 5,
};

struct wsn_enum_attr {
	uint64_t field_mask;
	const char *name;
	const struct wsn_enum_entry *entries;
	size_t num_entries;
	size_t size_of_enum; /* bytes */
	uint64_t schema_id;
	void *extension;
};

struct wsn_scope_attr {
	size_t struct_size;
	const char *path;
	uint64_t parent_scope;
	uint64_t scope_id; /* chosen by the program; 0: the tool gives one */
};

struct wsn_time_domain_attr {
	uint64_t scope_id;
	uint64_t timestamp_type_id;
	uint64_t time_domain_id; /* chosen by the program; 0: the tool gives one */
	uint64_t timer_flags;
	int64_t timer_resolution;
	uint64_t timer_start;
};

/* X(name, slot, return type, parameters): functions of the payload extension. */
#define WSN_PAYLOAD_LIST(X)                                                                     \
	X(PayloadSchemaRegister, 0, uint64_t, (wsn_domain, const struct wsn_schema_attr *))     \
	X(PayloadEnumRegister, 1, uint64_t, (wsn_domain, const struct wsn_enum_attr *))         \
	X(MarkPayload, 2, void, (wsn_domain, const struct wsn_payload_data *, size_t))          \
	X(RangePushPayload, 3, int, (wsn_domain, const struct wsn_payload_data *, size_t))      \
	X(RangePopPayload, 4, int, (wsn_domain, const struct wsn_payload_data *, size_t))       \
	X(RangeStartPayload, 5, wsn_range_id,                                                   \
	  (wsn_domain, const struct wsn_payload_data *, size_t))                                \
	X(RangeEndPayload, 6, void,                                                             \
	  (wsn_domain, wsn_range_id, const struct wsn_payload_data *, size_t))                  \
	X(DomainIsEnabled, 7, uint8_t, (wsn_domain))                                            \
	X(TimestampGet, 8, int64_t, (void))                                                     \
	X(TimeDomainRegister, 9, uint64_t, (wsn_domain, const struct wsn_time_domain_attr *))   \
	X(TimerSource, 10, void, (wsn_domain, uint64_t, uint64_t, int64_t(*)(void)))            \
	X(TimerSourceWithData, 11, void,                                                        \
	  (wsn_domain, uint64_t, uint64_t, int64_t(*)(void *), void *))                         \
	X(ScopeRegister, 12, uint64_t, (wsn_domain, const struct wsn_scope_attr *))             \
	X(TimeSyncPoint, 13, void, (wsn_domain, uint64_t, uint64_t, int64_t, int64_t))          \
	X(TimeSyncPointTable, 14, void, (wsn_domain, uint64_t, uint64_t, const void *, size_t)) \
	X(TimestampConversionFactor, 15, void,                                                  \
	  (wsn_domain, uint64_t, uint64_t, double, int64_t, int64_t))                           \
	X(EventSubmit, 16, void, (wsn_domain, const struct wsn_payload_data *, size_t))         \
	X(EventBatchSubmit, 17, void, (wsn_domain, const void *))

/* --- the memory extension ------------------------------------------------------------- */

#define WSN_EXT_MEM_MODULE 1
#define WSN_EXT_MEM_COMPAT 0x0102

/* How each batch of regions begins, or what it names or permits (its `heap` is another handle). */
struct wsn_mem_batch {
	uint16_t compat_id, struct_size;
	uint32_t type;
	const void *heap;
	size_t count;
};
/* The same of batches without a heap. */
struct wsn_mem_list {
	uint16_t compat_id, struct_size;
	uint32_t type;
	size_t count;
};

/* X(name, slot, return type, parameters); the last four are of its CUDA runtime part */
#define WSN_MEM_LIST(X)                                                              \
	X(MemHeapRegister, 0, void *, (wsn_domain, const void *))                    \
	X(MemHeapUnregister, 1, void, (wsn_domain, void *))                          \
	X(MemHeapReset, 2, void, (wsn_domain, void *))                               \
	X(MemRegionsRegister, 3, void, (wsn_domain, const struct wsn_mem_batch *))   \
	X(MemRegionsResize, 4, void, (wsn_domain, const struct wsn_mem_list *))      \
	X(MemRegionsUnregister, 5, void, (wsn_domain, const struct wsn_mem_list *))  \
	X(MemRegionsName, 6, void, (wsn_domain, const struct wsn_mem_list *))        \
	X(MemPermissionsAssign, 7, void, (wsn_domain, const struct wsn_mem_batch *)) \
	X(MemPermissionsCreate, 8, void *, (wsn_domain, int32_t))                    \
	X(MemPermissionsDestroy, 9, void, (wsn_domain, void *))                      \
	X(MemPermissionsReset, 10, void, (wsn_domain, void *))                       \
	X(MemPermissionsBind, 11, void, (wsn_domain, void *, uint32_t, uint32_t))    \
	X(MemPermissionsUnbind, 12, void, (wsn_domain, uint32_t))                    \
	X(MemCudaGetProcessWidePermissions, 13, void *, (wsn_domain))                \
	X(MemCudaGetDeviceWidePermissions, 14, void *, (wsn_domain, int))            \
	X(MemCudaSetPeerAccess, 15, void, (wsn_domain, void *, int, uint32_t))       \
	X(MemCudaMarkInitialized, 16, void,                                          \
	  (wsn_domain, const void *, uint8_t, const struct wsn_mem_list *))

/* --- the counters extension ----------------------------------------------------------- */

#define WSN_EXT_COUNTERS_MODULE 4
#define WSN_EXT_COUNTERS_COMPAT 0x0102

struct wsn_counter_attr {
	size_t struct_size;
	uint64_t schema_id;
	const char *name, *description;
	uint64_t scope_id;
	const struct wsn_semantics *semantics;
	uint64_t counter_id; /* chosen by the program; 0: the tool gives one */
};

struct wsn_counter_batch {
	uint64_t counter_id;
	const void *counters; /* an array of samples */
	size_t counters_size; /* bytes */
	uint64_t flags;       /* enum wsn_counter_batch_flag in the upper half */
	const int64_t
	        *timestamps; /* one per sample, or a time and an interval; NULL: in the samples */
	size_t timestamps_size; /* bytes */
};

/* The header shifts an int by 32 bits for these, so what a program passes depends on its compiler.
 */
enum wsn_counter_batch_flag {
	WSN_COUNTER_BATCH_BEGIN_INTERVAL = 1,
	WSN_COUNTER_BATCH_END_INTERVAL = 2,
};

enum wsn_counter_sample {
	WSN_COUNTER_SAMPLE_ZERO = 0,
	WSN_COUNTER_SAMPLE_UNCHANGED = 1,
	WSN_COUNTER_SAMPLE_UNAVAILABLE = 2,
};

/* X(name, slot, return type, parameters) */
#define WSN_COUNTERS_LIST(X)                                                           \
	X(CounterRegister, 0, uint64_t, (wsn_domain, const struct wsn_counter_attr *)) \
	X(CounterSampleInt64, 1, void, (wsn_domain, uint64_t, int64_t))                \
	X(CounterSampleFloat64, 2, void, (wsn_domain, uint64_t, double))               \
	X(CounterSample, 3, void, (wsn_domain, uint64_t, const void *, size_t))        \
	X(CounterSampleNoValue, 4, void, (wsn_domain, uint64_t, uint8_t))              \
	X(CounterBatchSubmit, 5, void, (wsn_domain, const struct wsn_counter_batch *))

/* --- all functions -------------------------------------------------------------------- */

/* M(list, module): of the modules that a core table has; and of extensions. */
#define WSN_MODULE_LIST(M)                    \
	M(WSN_CORE_LIST, WSN_MODULE_CORE)     \
	M(WSN_CORE2_LIST, WSN_MODULE_CORE2)   \
	M(WSN_CUDA_LIST, WSN_MODULE_CUDA)     \
	M(WSN_CUDART_LIST, WSN_MODULE_CUDART) \
	M(WSN_OPENCL_LIST, WSN_MODULE_OPENCL) \
	M(WSN_SYNC_LIST, WSN_MODULE_SYNC)
#define WSN_EXT_LIST(M)                             \
	M(WSN_PAYLOAD_LIST, WSN_EXT_PAYLOAD_MODULE) \
	M(WSN_MEM_LIST, WSN_EXT_MEM_MODULE)         \
	M(WSN_COUNTERS_LIST, WSN_EXT_COUNTERS_MODULE)

/* wsn_fn_MarkEx … : types of all functions above. WSN_CBID_MarkEx … : their ids. */
#define X(name, id, ret, params) typedef ret(*wsn_fn_##name) params;
#define M(list, module)          list(X)
WSN_MODULE_LIST(M)
WSN_EXT_LIST(M)
#undef X
enum {
#define X(name, id, ret, params) WSN_CBID_##name = id,
	WSN_MODULE_LIST(M) WSN_EXT_LIST(M)
#undef X
#undef M
};

/* --- attaching: core ------------------------------------------------------------------ */

enum wsn_module {
	WSN_MODULE_CORE = 1,
	WSN_MODULE_CUDA = 2,
	WSN_MODULE_OPENCL = 3,
	WSN_MODULE_CUDART = 4,
	WSN_MODULE_CORE2 = 5,
	WSN_MODULE_SYNC = 6,
};
/* Places in a module's table: the highest callback id, and the unused place 0. */
#define WSN_MODULE_MAX_SIZE 17

enum wsn_export_table_id {
	WSN_ETID_CALLBACKS = 1,
	WSN_ETID_VERSIONINFO = 3,
};

typedef void (*wsn_fn)(void); /* any function; cast before the call */

struct wsn_callbacks_table {
	size_t struct_size;
	/*
	 * 1: *table[id] is the module's function pointer for callback id, for
	 * id 1 … size - 1 (size: WSN_CORE_SIZE …; a later NVTX has more; entry 0
	 * is NULL). 0: no such module. table and size may be NULL.
	 */
	int (*get_module_function_table)(enum wsn_module module, wsn_fn ***table,
	                                 unsigned int *size);
};

struct wsn_version_table {
	size_t struct_size;
	uint32_t version; /* of the NVTX headers in the program */
	uint32_t reserved0;
	void (*set_injection_version)(uint32_t version);
};

/* The table with this enum wsn_export_table_id, NULL when there is none. */
typedef const void *(*wsn_get_export_table)(uint32_t id);
/* WSN_INIT_SYMBOL: 1 = attached. */
typedef int (*wsn_init)(wsn_get_export_table get);

/* --- attaching: extensions -------------------------------------------------------------- */

struct wsn_ext_segment {
	size_t segment_id;
	size_t slot_count;
	intptr_t *function_slots;
};

struct wsn_ext_module {
	uint16_t nvtx_version;
	uint16_t struct_size;
	uint16_t module_id; /* WSN_EXT_PAYLOAD_MODULE … */
	uint16_t compat_id; /* WSN_EXT_PAYLOAD_COMPAT */
	size_t segments_count;
	struct wsn_ext_segment *segments;
	intptr_t (*get_export_function)(uint32_t id);
	/*
	 * Payload extension: struct wsn_type_info of each C entry type by its
	 * number; the first holds {number of them, sizeof(struct wsn_type_info)}.
	 */
	const void *ext_info;
};

struct wsn_type_info {
	uint16_t size;
	uint16_t align;
};

/* WSN_EXT_INIT_SYMBOL: 1 = attached, 0 = this tool does not serve that extension. */
typedef int (*wsn_ext_init)(struct wsn_ext_module *module);

#endif
