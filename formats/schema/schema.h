/* The record kinds in memory, made from schema.def: a row struct for each kind (struct
 * ws_row_kernel …), ids, and tables that describe them. */
#pragma once

#include "formats/base/bytes.h"
#include "formats/schema/schema.def"

/* Of the id of a start/end range: it holds what its thread does, and not, as others, what all of
 * its process do. */
#define WS_RANGE_OF_THREAD (UINT64_C(1) << 63)

enum ws_type {
	WS_TYPE_U64 = 1,
	WS_TYPE_I64 = 2,
	WS_TYPE_F64 = 3,
	WS_TYPE_TIME = 4,
	WS_TYPE_DUR = 5,
	WS_TYPE_STR = 6,
	WS_TYPE_ENUM = 7,
	WS_TYPE_BLOB = 8,
};

typedef uint64_t ws_ctype_U64;
typedef int64_t ws_ctype_I64;
typedef double ws_ctype_F64;
typedef int64_t ws_ctype_TIME;
typedef int64_t ws_ctype_DUR;
typedef uint64_t ws_ctype_STR;
typedef uint64_t ws_ctype_ENUM;
typedef struct ws_bytes ws_ctype_BLOB;

/* WS_KIND_KERNEL = 15 … */
enum ws_kind {
#define K(NAME, name, id, class, meaning) WS_KIND_##NAME = (id),
	WS_KIND_LIST(K)
#undef K
	        WS_KIND_END /* one past the highest id */
};

/* struct ws_row_kernel { int64_t start_ns; int64_t dur_ns; … } */
#define C(kind, column, id, TYPE, unit, meaning) ws_ctype_##TYPE column;
#define K(NAME, name, id, class, meaning) \
	struct ws_row_##name {            \
		WS_COLUMNS_##NAME(C)      \
	};
WS_KIND_LIST(K)
#undef K
#undef C

/* WS_COL_kernel_start_ns = 0, …: position of a column in ws_kind_def.columns (not its id). */
#define C(kind, column, id, TYPE, unit, meaning) WS_COL_##kind##_##column,
#define K(NAME, name, id, class, meaning)        enum { WS_COLUMNS_##NAME(C) WS_NCOLS_##name };
WS_KIND_LIST(K)
#undef K
#undef C

struct ws_column_def {
	uint16_t id;
	uint8_t type; /* enum ws_type */
	const char *name;
	const char *unit;
	const char *meaning;
	size_t row_offset; /* where the column lies in the row struct */
};

struct ws_kind_def {
	uint16_t id;
	uint16_t ncolumns;
	uint8_t is_dict;
	int16_t time_column; /* position of the first TIME column, -1 = none */
	const char *name;
	const char *meaning;
	size_t row_size; /* sizeof(struct ws_row_<name>) */
	const struct ws_column_def *columns;
};

/* The definition of a kind, or NULL if this program lacks it. */
const struct ws_kind_def *ws_schema_kind(unsigned id);
const struct ws_kind_def *ws_schema_kind_by_name(const char *name);
/* Position of the column with this id in def->columns, or -1. */
int ws_schema_column(const struct ws_kind_def *def, unsigned column_id);
/* Whether the trace writer makes the rows of this kind itself: schema, index, thread_event. */
bool ws_kind_is_made(unsigned id);
/* Whether rows of this kind are events of the program, not definitions or facts about the
 * recording. */
bool ws_kind_is_event(unsigned id);
bool ws_kind_has_blobs(const struct ws_kind_def *def);
/* "TIME" for WS_TYPE_TIME; NULL for a type that this program lacks. */
const char *ws_type_name(unsigned type);
/* The name of a value in an ENUM column's unit ("0=push,1=pop"); empty if it has none. */
struct ws_bytes ws_enum_name(const char *unit, uint64_t value);

/* --- which columns define ids, and which name them: section 3.2 of docs/dev/trace-format.md prints
 * these lists --- */

/* A column that defines ids, each with its row. */
struct ws_id_column {
	enum ws_kind kind;
	unsigned position; /* WS_COL_<kind>_<column> */
	int counted;       /* a new id is one more than the highest so far */
	int may_repeat;    /* a later row with the same id replaces the earlier one */
};
extern const struct ws_id_column ws_id_columns[];
extern const size_t ws_id_columns_count;

/* A column that names rows of another kind. STR columns, which name strings, are not listed. */
struct ws_ref_column {
	enum ws_kind kind;
	unsigned position;
	enum ws_kind target; /* one of ws_id_columns */
	int zero_is_none;    /* 0 names no row */
};
extern const struct ws_ref_column ws_ref_columns[];
extern const size_t ws_ref_columns_count;

/* The definition of ids in this column, or NULL. */
const struct ws_id_column *ws_id_column_at(unsigned kind, unsigned position);
/* Does the column name rows, and which? STR columns do. */
bool ws_ref_column_at(const struct ws_kind_def *def, unsigned position, struct ws_ref_column *ref);

#define WS_MAX_BLOCK_ROWS 65536u
#define WS_MAX_BLOB_BYTES (1u << 24) /* of one BLOB value */

/* Bits of ws_row_kernel.flags. */
enum {
	WS_KERNEL_NO_TIME = 1u << 0,
	WS_KERNEL_CUT_OFF = 1u << 1,
};

enum ws_nvtx_type {
	WS_NVTX_PUSH,
	WS_NVTX_POP,
	WS_NVTX_START,
	WS_NVTX_END,
	WS_NVTX_MARK,
	WS_THREAD_EVENT_API, /* of a thread_event that is an api row */
};

/* Of resource.type; values that are not listed follow the one before them. */
enum ws_resource_type {
	WS_RESOURCE_OTHER = 0,
	WS_RESOURCE_POINTER = 1,
	WS_RESOURCE_THREAD = 3,
	WS_RESOURCE_CUDA_DEVICE = 11,
	WS_RESOURCE_CUDA_CONTEXT,
	WS_RESOURCE_CUDA_STREAM,
	WS_RESOURCE_CUDA_EVENT,
	WS_RESOURCE_OPENCL_DEVICE = 21,
	WS_RESOURCE_OPENCL_CONTEXT,
	WS_RESOURCE_OPENCL_QUEUE,
	WS_RESOURCE_OPENCL_MEMORY,
	WS_RESOURCE_OPENCL_SAMPLER,
	WS_RESOURCE_OPENCL_PROGRAM,
	WS_RESOURCE_OPENCL_EVENT,
	WS_RESOURCE_PTHREAD_MUTEX = 31,
	WS_RESOURCE_LINUX_MUTEX = 41,
};

enum ws_device_kind {
	WS_DEVICE_CPU_REFERENCE,
	WS_DEVICE_CUDA,
};

/* Values of ws_row_memcpy.kind that readers use. */
enum ws_memcpy_kind {
	WS_MEMCPY_HTOD = 1,
	WS_MEMCPY_DTOH = 2,
	WS_MEMCPY_PTOP = 10,
};

/* Bits of ws_row_memcpy.flags and ws_row_memset.flags. */
enum {
	WS_COPY_NO_TIME = 1u << 0,
	WS_COPY_ASYNC = 1u << 1,
	WS_COPY_STAGED = 1u << 2, /* of a copy alone */
};

enum ws_memory_kind {
	WS_MEMORY_UNKNOWN,
	WS_MEMORY_PAGEABLE,
	WS_MEMORY_PINNED,
	WS_MEMORY_DEVICE,
	WS_MEMORY_ARRAY,
	WS_MEMORY_MANAGED,
	WS_MEMORY_DEVICE_STATIC,
	WS_MEMORY_MANAGED_STATIC,
};

enum ws_memory_op {
	WS_MEMORY_OP_ALLOC,
	WS_MEMORY_OP_FREE,
	WS_MEMORY_OP_OUT_OF_MEMORY,
	WS_MEMORY_OP_POOL_CREATE,
	WS_MEMORY_OP_POOL_DESTROY,
	WS_MEMORY_OP_POOL_TRIM,
};

/* From the second to UVM_INIT in the order of CUPTI's numbers; those not listed follow. */
enum ws_overhead_kind {
	WS_OVERHEAD_UNKNOWN,
	WS_OVERHEAD_DRIVER_COMPILER,
	WS_OVERHEAD_UVM_INIT = 9,
	WS_OVERHEAD_JIT_CACHE_LOAD,
	WS_OVERHEAD_JIT_CACHE_STORE,
	WS_OVERHEAD_JIT_COMPILE,
};

/* Bits of gpu_sample.throttle in their order: NVML's names of why clocks are reduced. */
#define WS_THROTTLE_LIST(X)    \
	X(gpu_idle)            \
	X(applications_clocks) \
	X(sw_power_cap)        \
	X(hw_slowdown)         \
	X(sync_boost)          \
	X(sw_thermal_slowdown) \
	X(hw_thermal_slowdown) \
	X(hw_power_brake)      \
	X(display_clocks)
enum ws_throttle_reason {
#define X(name) WS_THROTTLE_##name,
	WS_THROTTLE_LIST(X)
#undef X
	        WS_THROTTLE_REASONS,
};
/* The names of the bits, with commas: "sw_power_cap,other"; "none". */
const char *ws_throttle_words(uint64_t bits, char out[256]);

enum ws_counter_form {
	WS_COUNTER_WHOLE,
	WS_COUNTER_REAL,
	WS_COUNTER_UNCHANGED,
	WS_COUNTER_UNAVAILABLE,
};

enum ws_counter_change {
	WS_CHANGE_UNKNOWN,
	WS_CHANGE_ABSOLUTE,
	WS_CHANGE_DELTA,
	WS_CHANGE_SINCE_START,
};

enum ws_context_switch_op {
	WS_CONTEXT_SWITCH_UNKNOWN,
	WS_CONTEXT_SWITCH_BEGIN,
	WS_CONTEXT_SWITCH_END,
};

enum ws_sync_type {
	WS_SYNC_UNKNOWN,
	WS_SYNC_EVENT,
	WS_SYNC_STREAM_WAIT_EVENT,
	WS_SYNC_STREAM,
	WS_SYNC_CONTEXT,
};

/* Numbers of op_period.part. */
enum ws_op_period_part {
	WS_OP_PERIOD_WHOLE,
	WS_OP_PERIOD_BEGIN,
	WS_OP_PERIOD_REST,
};

/* Numbers of op_period.calibration. */
enum ws_calibration {
	WS_CALIBRATION_NONE,
	WS_CALIBRATION_COMPARED,
	WS_CALIBRATION_UNRECORDED,
	WS_CALIBRATION_SETTLING,
};

enum ws_flow_kind {
	WS_FLOW_FORWARD_BACKWARD,
};

/* Values of ws_row_op_config.cost: the known costs of a call. */
enum ws_op_cost_known {
	WS_COST_NONE,
	WS_COST_FLOPS,
	WS_COST_FLOPS_AND_BYTES,
};

enum ws_external_kind {
	WS_EXTERNAL_CUSTOM0 = 3,
};

enum ws_end_how {
	WS_END_UNKNOWN,
	WS_END_EXITED,
	WS_END_SIGNALED,
};
