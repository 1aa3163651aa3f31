#include "formats/schema/references.h"

#define ID(KIND, kind, counted, may_repeat)                             \
	{                                                               \
		WS_KIND_##KIND, WS_COL_##kind##_id, counted, may_repeat \
	}

const struct ws_id_column ws_id_columns[] = {
        ID(STRING, string, 1, 0),       ID(PAYLOAD_SCHEMA, payload_schema, 0, 0),
        ID(PAYLOAD, payload, 1, 0),     ID(DEVICE, device, 0, 1),
        ID(THREAD, thread, 1, 1),       ID(LAUNCH_CONFIG, launch_config, 1, 0),
        ID(OP_CONFIG, op_config, 1, 0),
};
const size_t ws_id_columns_count = sizeof(ws_id_columns) / sizeof(*ws_id_columns);

/* REF: every row names one; OPT: or none, as 0 */
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
        REF(THREAD_EVENT, thread_event, thread, THREAD),
        OPT(THREAD_EVENT, thread_event, payload, PAYLOAD),
};
const size_t ws_ref_columns_count = sizeof(ws_ref_columns) / sizeof(*ws_ref_columns);

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
