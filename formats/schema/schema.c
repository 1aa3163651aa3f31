#include "formats/schema/schema.h"

#define C(kind, column, id, TYPE, unit, meaning) \
	{(id), WS_TYPE_##TYPE, #column, unit, meaning, offsetof(struct ws_row_##kind, column)},
#define K(NAME, name, id, class, meaning)                                                   \
	static const struct ws_column_def name##_columns[] = {WS_COLUMNS_##NAME(C)};        \
	_Static_assert(sizeof(name##_columns) / sizeof(*name##_columns) == WS_NCOLS_##name, \
	               "one definition a column");
WS_KIND_LIST(K)
#undef K
#undef C

/* A row is its columns one behind the other, 8 bytes each, 16 of a BLOB. */
_Static_assert(sizeof(uint64_t) == 8 && sizeof(double) == 8 && sizeof(struct ws_bytes) == 16,
               "rows have no padding");

/* The position of the first TIME column: the list of TIME positions, then -1; take its first. */
#define TIME_POSITION_U64(position)
#define TIME_POSITION_I64(position)
#define TIME_POSITION_F64(position)
#define TIME_POSITION_TIME(position) position,
#define TIME_POSITION_DUR(position)
#define TIME_POSITION_STR(position)
#define TIME_POSITION_ENUM(position)
#define TIME_POSITION_BLOB(position)
#define C(kind, column, id, TYPE, unit, meaning) TIME_POSITION_##TYPE(WS_COL_##kind##_##column)
#define FIRST(a, ...)                            a
#define FIRST_OF(...)                            FIRST(__VA_ARGS__, )

#define CLASS_DICT 1
#define CLASS_DATA 0

#define K(NAME, name_, id_, class, meaning_)                       \
	[(id_)] = {                                                \
	        .id = (id_),                                       \
	        .ncolumns = WS_NCOLS_##name_,                      \
	        .is_dict = CLASS_##class,                          \
	        .time_column = FIRST_OF(WS_COLUMNS_##NAME(C) - 1), \
	        .name = #name_,                                    \
	        .meaning = meaning_,                               \
	        .row_size = sizeof(struct ws_row_##name_),         \
	        .columns = name_##_columns,                        \
	},
static const struct ws_kind_def kinds[WS_KIND_END] = {WS_KIND_LIST(K)};
#undef K
#undef C

const struct ws_kind_def *ws_schema_kind(unsigned id)
{
	return id < WS_KIND_END && kinds[id].name ? &kinds[id] : NULL;
}

const struct ws_kind_def *ws_schema_kind_by_name(const char *name)
{
	for (unsigned id = 0; id < WS_KIND_END; id++)
		if (kinds[id].name && strcmp(kinds[id].name, name) == 0)
			return &kinds[id];
	return NULL;
}

bool ws_kind_is_made(unsigned id)
{
	return id == WS_KIND_SCHEMA || id == WS_KIND_INDEX || id == WS_KIND_THREAD_EVENT;
}

bool ws_kind_is_event(unsigned id)
{
	const struct ws_kind_def *def = ws_schema_kind(id);

	return def && !def->is_dict && id != WS_KIND_INDEX && id != WS_KIND_META &&
	       id != WS_KIND_LOSS && id != WS_KIND_CLOCK && id != WS_KIND_PROCESS_END;
}

bool ws_kind_has_blobs(const struct ws_kind_def *def)
{
	for (unsigned c = 0; c < def->ncolumns; c++)
		if (def->columns[c].type == WS_TYPE_BLOB)
			return true;
	return false;
}

int ws_schema_column(const struct ws_kind_def *def, unsigned column_id)
{
	for (int c = 0; c < def->ncolumns; c++)
		if (def->columns[c].id == column_id)
			return c;
	return -1;
}

const char *ws_type_name(unsigned type)
{
	static const char *const names[] = {
	        [WS_TYPE_U64] = "U64",   [WS_TYPE_I64] = "I64",   [WS_TYPE_F64] = "F64",
	        [WS_TYPE_TIME] = "TIME", [WS_TYPE_DUR] = "DUR",   [WS_TYPE_STR] = "STR",
	        [WS_TYPE_ENUM] = "ENUM", [WS_TYPE_BLOB] = "BLOB",
	};

	return type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
}

struct ws_bytes ws_enum_name(const char *unit, uint64_t value)
{
	const char *p = unit;

	while (*p) {
		uint64_t n = 0;

		for (; *p >= '0' && *p <= '9'; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		if (*p++ != '=')
			break;
		size_t len = strcspn(p, ",");
		if (n == value)
			return (struct ws_bytes){p, len};
		p += len;
		p += *p == ',';
	}
	return (struct ws_bytes){NULL, 0};
}

/* --- which columns define ids, and which name them --- */

#define ID(KIND, kind, counted, may_repeat)                             \
	{                                                               \
		WS_KIND_##KIND, WS_COL_##kind##_id, counted, may_repeat \
	}

const struct ws_id_column ws_id_columns[] = {
        ID(STRING, string, 1, 0),       ID(PAYLOAD_SCHEMA, payload_schema, 0, 0),
        ID(PAYLOAD, payload, 1, 0),     ID(DEVICE, device, 0, 1),
        ID(THREAD, thread, 1, 1),       ID(LAUNCH_CONFIG, launch_config, 1, 0),
        ID(OP_CONFIG, op_config, 1, 0), ID(COUNTER_SERIES, counter_series, 1, 0),
};
const size_t ws_id_columns_count = sizeof(ws_id_columns) / sizeof(*ws_id_columns);

/* REF: each row names one; OPT: a row names one, or none as 0 */
#define REF(KIND, kind, column, TARGET)                                       \
	{                                                                     \
		WS_KIND_##KIND, WS_COL_##kind##_##column, WS_KIND_##TARGET, 0 \
	}
#define OPT(KIND, kind, column, TARGET)                                       \
	{                                                                     \
		WS_KIND_##KIND, WS_COL_##kind##_##column, WS_KIND_##TARGET, 1 \
	}

const struct ws_ref_column ws_ref_columns[] = {
        REF(PAYLOAD_FIELD, payload_field, schema, PAYLOAD_SCHEMA),
        REF(DEVICE_ATTR, device_attr, device, DEVICE),
        REF(LAUNCH_CONFIG, launch_config, device, DEVICE),
        REF(KERNEL, kernel, config, LAUNCH_CONFIG),
        OPT(KERNEL, kernel, payload, PAYLOAD),
        REF(API, api, thread, THREAD),
        REF(NVTX, nvtx, thread, THREAD),
        OPT(NVTX, nvtx, payload, PAYLOAD),
        OPT(COUNTER, counter, device, DEVICE),
        OPT(COUNTER, counter, series, COUNTER_SERIES),
        OPT(COUNTER, counter, thread, THREAD),
        REF(MEMCPY, memcpy, device, DEVICE),
        OPT(MEMCPY, memcpy, src_device, DEVICE),
        OPT(MEMCPY, memcpy, dst_device, DEVICE),
        REF(MEMSET, memset, device, DEVICE),
        OPT(SYNC, sync, device, DEVICE),
        OPT(OVERHEAD, overhead, thread, THREAD),
        REF(GRAPH_LAUNCH, graph_launch, device, DEVICE),
        OPT(MEMORY, memory, thread, THREAD),
        OPT(MEMORY, memory, device, DEVICE),
        REF(CPU_OP, cpu_op, thread, THREAD),
        REF(CPU_OP, cpu_op, config, OP_CONFIG),
        REF(PYTHON_CALL, python_call, thread, THREAD),
        REF(FLOW, flow, from_thread, THREAD),
        REF(FLOW, flow, to_thread, THREAD),
        REF(GPU_RANGE, gpu_range, device, DEVICE),
        REF(CONTEXT, context, device, DEVICE),
        OPT(RESOURCE, resource, device, DEVICE),
        OPT(GRAPH_NODE, graph_node, thread, THREAD),
        REF(HOST_FUNCTION, host_function, device, DEVICE),
        OPT(HOST_FUNCTION, host_function, thread, THREAD),
        REF(CONTEXT_SWITCH, context_switch, device, DEVICE),
        REF(GPU_SAMPLE, gpu_sample, device, DEVICE),
        REF(THREAD_EVENT, thread_event, thread, THREAD),
        OPT(THREAD_EVENT, thread_event, payload, PAYLOAD),
};
const size_t ws_ref_columns_count = sizeof(ws_ref_columns) / sizeof(*ws_ref_columns);

const char *ws_throttle_words(uint64_t bits, char out[256])
{
#define X(name) #name,
	static const char *const names[] = {WS_THROTTLE_LIST(X) "other"};
#undef X
	size_t len = (size_t)snprintf(out, 256, "%s", bits ? "" : "none");

	bits = (bits & ((1u << WS_THROTTLE_REASONS) - 1)) |
	       (uint64_t)(bits >> WS_THROTTLE_REASONS != 0) << WS_THROTTLE_REASONS;
	for (size_t i = 0; i <= WS_THROTTLE_REASONS; i++)
		if (bits >> i & 1)
			len += (size_t)snprintf(out + len, 256 - len, "%s%s", len ? "," : "",
			                        names[i]);
	return out;
}

const struct ws_id_column *ws_id_column_at(unsigned kind, unsigned position)
{
	for (size_t i = 0; i < ws_id_columns_count; i++)
		if (ws_id_columns[i].kind == kind && ws_id_columns[i].position == position)
			return &ws_id_columns[i];
	return NULL;
}

bool ws_ref_column_at(const struct ws_kind_def *def, unsigned position, struct ws_ref_column *ref)
{
	if (def->columns[position].type == WS_TYPE_STR) {
		*ref = (struct ws_ref_column){def->id, position, WS_KIND_STRING, 1};
		return 1;
	}
	for (size_t i = 0; i < ws_ref_columns_count; i++)
		if (ws_ref_columns[i].kind == def->id && ws_ref_columns[i].position == position) {
			*ref = ws_ref_columns[i];
			return 1;
		}
	return 0;
}
