/*
 * kernels/nvtx/abi.h against NVIDIA's own headers: every size, offset and
 * number. Skipped, visibly, where those are not installed.
 */
#include <criterion/criterion.h>

#include "kernels/nvtx/abi.h"

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExtCounters.h>)
#define HAVE_NVTX 1
#endif
#endif

#ifndef HAVE_NVTX

Test(nvtx_abi, agrees_with_the_headers_of_nvtx)
{
	cr_log_warn("[SKIP] the headers of NVTX 3 are not installed");
	cr_skip_test("the headers of NVTX 3 are not installed");
}

#else

#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <nvtx3/nvToolsExtSync.h>

#define SAME(ours, theirs)                                                                        \
	cr_expect_eq((long long)(ours), (long long)(theirs), #ours " = %lld, " #theirs " = %lld", \
	             (long long)(ours), (long long)(theirs))
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define SAME_MEMBER(ours, member, theirs, their_member)                                 \
	do {                                                                            \
		SAME(offsetof(ours, member), offsetof(theirs, their_member));           \
		SAME(sizeof(((ours *)0)->member), sizeof(((theirs *)0)->their_member)); \
	} while (0)

Test(nvtx_abi, event_attributes_have_the_layout_of_nvtx)
{
	SAME(WSN_VERSION, NVTX_VERSION);
	SAME(WSN_NO_PUSH_POP_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
	SAME_SIZE(struct wsn_event, nvtxEventAttributes_t);
	SAME_MEMBER(struct wsn_event, version, nvtxEventAttributes_t, version);
	SAME_MEMBER(struct wsn_event, size, nvtxEventAttributes_t, size);
	SAME_MEMBER(struct wsn_event, category, nvtxEventAttributes_t, category);
	SAME_MEMBER(struct wsn_event, color_type, nvtxEventAttributes_t, colorType);
	SAME_MEMBER(struct wsn_event, color, nvtxEventAttributes_t, color);
	SAME_MEMBER(struct wsn_event, payload_type, nvtxEventAttributes_t, payloadType);
	SAME_MEMBER(struct wsn_event, reserved0, nvtxEventAttributes_t, reserved0);
	SAME_MEMBER(struct wsn_event, payload, nvtxEventAttributes_t, payload);
	SAME_MEMBER(struct wsn_event, message_type, nvtxEventAttributes_t, messageType);
	SAME_MEMBER(struct wsn_event, message, nvtxEventAttributes_t, message);

	SAME_SIZE(struct wsn_resource_attr, nvtxResourceAttributes_t);
	SAME_MEMBER(struct wsn_resource_attr, version, nvtxResourceAttributes_t, version);
	SAME_MEMBER(struct wsn_resource_attr, size, nvtxResourceAttributes_t, size);
	SAME_MEMBER(struct wsn_resource_attr, identifier_type, nvtxResourceAttributes_t,
	            identifierType);
	SAME_MEMBER(struct wsn_resource_attr, identifier, nvtxResourceAttributes_t, identifier);
	SAME_MEMBER(struct wsn_resource_attr, message_type, nvtxResourceAttributes_t, messageType);
	SAME_MEMBER(struct wsn_resource_attr, message, nvtxResourceAttributes_t, message);
}

Test(nvtx_abi, type_numbers_of_colours_messages_and_payloads_are_those_of_nvtx)
{
	SAME(WSN_COLOR_UNKNOWN, NVTX_COLOR_UNKNOWN);
	SAME(WSN_COLOR_ARGB, NVTX_COLOR_ARGB);
	SAME(WSN_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
	SAME(WSN_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
	SAME(WSN_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
	SAME(WSN_PAYLOAD_UNKNOWN, NVTX_PAYLOAD_UNKNOWN);
	SAME(WSN_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
	SAME(WSN_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
	SAME(WSN_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
	SAME(WSN_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
	SAME(WSN_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
	SAME(WSN_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
	SAME(WSN_PAYLOAD_EXT, NVTX_PAYLOAD_TYPE_EXT);
	SAME(WSN_RESOURCE_GENERIC_THREAD_NATIVE, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE);
	SAME(WSN_RESOURCE_GENERIC_THREAD_POSIX, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX);
	SAME(WSN_RESOURCE_GENERIC_POINTER, NVTX_RESOURCE_TYPE_GENERIC_POINTER);
	SAME(WSN_RESOURCE_GENERIC_HANDLE, NVTX_RESOURCE_TYPE_GENERIC_HANDLE);
	SAME(WSN_RESOURCE_PTHREAD_MUTEX, NVTX_RESOURCE_TYPE_SYNC_PTHREAD_MUTEX);
	SAME(WSN_RESOURCE_PTHREAD_ONCE, NVTX_RESOURCE_TYPE_SYNC_PTHREAD_ONCE);
	SAME(WSN_RESOURCE_LINUX_MUTEX, NVTX_RESOURCE_TYPE_SYNC_LINUX_MUTEX);
	SAME(WSN_RESOURCE_LINUX_RCU, NVTX_RESOURCE_TYPE_SYNC_LINUX_RCU);
}

Test(nvtx_abi, structs_of_counters_memory_scopes_and_clocks_have_the_layout_of_nvtx)
{
	SAME(WSN_EXT_MEM_MODULE, NVTX_EXT_MODULEID_MEM);
	SAME(WSN_EXT_MEM_COMPAT, NVTX_EXT_COMPATID_MEM);
	SAME(WSN_EXT_COUNTERS_MODULE, NVTX_EXT_COUNTERS_MODULEID);
	SAME(WSN_EXT_COUNTERS_COMPAT, NVTX_EXT_COUNTERS_COMPATID);
	SAME_SIZE(struct wsn_counter_attr, nvtxCounterAttr_t);
	SAME_MEMBER(struct wsn_counter_attr, counter_id, nvtxCounterAttr_t, counterId);
	SAME_SIZE(struct wsn_counter_batch, nvtxCounterBatch_t);
	SAME_MEMBER(struct wsn_counter_batch, timestamps, nvtxCounterBatch_t, timestamps);
	SAME(WSN_COUNTER_SAMPLE_UNCHANGED, NVTX_COUNTER_SAMPLE_UNCHANGED);
	SAME_SIZE(struct wsn_semantics, nvtxSemanticsHeader_t);
	SAME_MEMBER(struct wsn_semantics, id, nvtxSemanticsHeader_t, semanticId);
	SAME(WSN_SEMANTICS_COUNTER, NVTX_SEMANTIC_ID_COUNTERS_V1);
	SAME(WSN_SEMANTICS_SCOPE, NVTX_SEMANTIC_ID_SCOPE_V1);
	SAME(WSN_SEMANTICS_TIME, NVTX_SEMANTIC_ID_TIME_V1);
	SAME_SIZE(struct wsn_semantics_counter, nvtxSemanticsCounter_t);
	SAME_MEMBER(struct wsn_semantics_counter, unit_denominator, nvtxSemanticsCounter_t,
	            unitScaleDenominator);
	SAME_MEMBER(struct wsn_semantics_counter, maximum, nvtxSemanticsCounter_t, max);
	SAME_MEMBER(struct wsn_semantics_scope, scope_id, nvtxSemanticsScope_t, scopeId);
	SAME_MEMBER(struct wsn_semantics_time, time_domain_id, nvtxSemanticsTime_t, timeDomainId);
	SAME(WSN_COUNTER_NORMALIZE, NVTX_COUNTER_FLAG_NORMALIZE);
	SAME(WSN_COUNTER_LIMIT_MAX, NVTX_COUNTER_FLAG_LIMIT_MAX);
	SAME(WSN_COUNTER_DELTA_SINCE_START, NVTX_COUNTER_FLAG_VALUETYPE_DELTA_SINCE_START);
	SAME(WSN_COUNTER_LIMIT_F64, NVTX_COUNTER_LIMIT_F64);
	SAME(WSN_TIMESTAMP_BOOTTIME, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME);
	SAME_SIZE(struct wsn_scope_attr, nvtxScopeAttr_t);
	SAME_MEMBER(struct wsn_scope_attr, scope_id, nvtxScopeAttr_t, scopeId);
	SAME_SIZE(struct wsn_time_domain_attr, nvtxTimeDomainAttr_t);
	SAME_MEMBER(struct wsn_time_domain_attr, time_domain_id, nvtxTimeDomainAttr_t,
	            timeDomainId);
	SAME_MEMBER(struct wsn_mem_batch, count, nvtxMemRegionsRegisterBatch_t, regionCount);
	SAME_MEMBER(struct wsn_mem_batch, count, nvtxMemPermissionsAssignBatch_t, regionCount);
	SAME_MEMBER(struct wsn_mem_list, count, nvtxMemRegionsResizeBatch_t, regionDescCount);
	SAME_MEMBER(struct wsn_mem_list, count, nvtxMemRegionsUnregisterBatch_t, refCount);
	SAME_MEMBER(struct wsn_mem_list, count, nvtxMemRegionsNameBatch_t, regionCount);
}

Test(nvtx_abi, callback_ids_and_modules_are_those_of_nvtx)
{
#define X(name, id, ret, params) SAME(id, NVTX_CBID_CORE_##name);
	WSN_CORE_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX_CBID_CORE2_##name);
	WSN_CORE2_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX_CBID_CUDA_##name);
	WSN_CUDA_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX_CBID_CUDART_##name);
	WSN_CUDART_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX_CBID_OPENCL_##name);
	WSN_OPENCL_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX_CBID_SYNC_##name);
	WSN_SYNC_LIST(X)
#undef X
#define X(name, id, ret, params) SAME(id, NVTX3EXT_CBID_nvtx##name);
	WSN_PAYLOAD_LIST(X)
	WSN_MEM_LIST(X)
	WSN_COUNTERS_LIST(X)
#undef X
	SAME(WSN_CORE_SIZE, NVTX_CBID_CORE_SIZE);
	SAME(WSN_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
	SAME(WSN_MODULE_CORE, NVTX_CB_MODULE_CORE);
	SAME(WSN_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
	SAME(WSN_MODULE_CUDA, NVTX_CB_MODULE_CUDA);
	SAME(WSN_MODULE_CUDART, NVTX_CB_MODULE_CUDART);
	SAME(WSN_MODULE_OPENCL, NVTX_CB_MODULE_OPENCL);
	SAME(WSN_MODULE_SYNC, NVTX_CB_MODULE_SYNC);
	SAME(WSN_ETID_CALLBACKS, NVTX_ETID_CALLBACKS);
	SAME(WSN_ETID_VERSIONINFO, NVTX_ETID_VERSIONINFO);
}

Test(nvtx_abi, tables_for_attaching_have_the_layout_of_nvtx)
{
	SAME_SIZE(struct wsn_callbacks_table, NvtxExportTableCallbacks);
	SAME_MEMBER(struct wsn_callbacks_table, struct_size, NvtxExportTableCallbacks, struct_size);
	SAME_MEMBER(struct wsn_callbacks_table, get_module_function_table, NvtxExportTableCallbacks,
	            GetModuleFunctionTable);
	SAME_SIZE(struct wsn_version_table, NvtxExportTableVersionInfo);
	SAME_MEMBER(struct wsn_version_table, version, NvtxExportTableVersionInfo, version);
	SAME_MEMBER(struct wsn_version_table, set_injection_version, NvtxExportTableVersionInfo,
	            SetInjectionNvtxVersion);
	SAME_SIZE(enum wsn_module, NvtxCallbackModule);

	SAME_SIZE(struct wsn_ext_segment, nvtxExtModuleSegment_t);
	SAME_MEMBER(struct wsn_ext_segment, segment_id, nvtxExtModuleSegment_t, segmentId);
	SAME_MEMBER(struct wsn_ext_segment, slot_count, nvtxExtModuleSegment_t, slotCount);
	SAME_MEMBER(struct wsn_ext_segment, function_slots, nvtxExtModuleSegment_t, functionSlots);
	SAME_SIZE(struct wsn_ext_module, nvtxExtModuleInfo_t);
	SAME_MEMBER(struct wsn_ext_module, nvtx_version, nvtxExtModuleInfo_t, nvtxVer);
	SAME_MEMBER(struct wsn_ext_module, struct_size, nvtxExtModuleInfo_t, structSize);
	SAME_MEMBER(struct wsn_ext_module, module_id, nvtxExtModuleInfo_t, moduleId);
	SAME_MEMBER(struct wsn_ext_module, compat_id, nvtxExtModuleInfo_t, compatId);
	SAME_MEMBER(struct wsn_ext_module, segments_count, nvtxExtModuleInfo_t, segmentsCount);
	SAME_MEMBER(struct wsn_ext_module, segments, nvtxExtModuleInfo_t, segments);
	SAME_MEMBER(struct wsn_ext_module, get_export_function, nvtxExtModuleInfo_t,
	            getExportFunction);
	SAME_MEMBER(struct wsn_ext_module, ext_info, nvtxExtModuleInfo_t, extInfo);
	SAME_SIZE(struct wsn_type_info, nvtxPayloadEntryTypeInfo_t);
	SAME(WSN_EXT_PAYLOAD_MODULE, NVTX_EXT_PAYLOAD_MODULEID);
	SAME(WSN_EXT_PAYLOAD_COMPAT, NVTX_EXT_PAYLOAD_COMPATID);
	SAME(WSN_EXT_PAYLOAD_SLOT_COUNT, NVTX_EXT_PAYLOAD_SLOT_COUNT);
}

Test(nvtx_abi, payload_structs_have_the_layout_of_nvtx)
{
	SAME_SIZE(struct wsn_payload_data, nvtxPayloadData_t);
	SAME_MEMBER(struct wsn_payload_data, schema_id, nvtxPayloadData_t, schemaId);
	SAME_MEMBER(struct wsn_payload_data, size, nvtxPayloadData_t, size);
	SAME_MEMBER(struct wsn_payload_data, payload, nvtxPayloadData_t, payload);

	SAME_SIZE(struct wsn_schema_entry, nvtxPayloadSchemaEntry_t);
	SAME_MEMBER(struct wsn_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags);
	SAME_MEMBER(struct wsn_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
	SAME_MEMBER(struct wsn_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
	SAME_MEMBER(struct wsn_schema_entry, description, nvtxPayloadSchemaEntry_t, description);
	SAME_MEMBER(struct wsn_schema_entry, array_or_union_detail, nvtxPayloadSchemaEntry_t,
	            arrayOrUnionDetail);
	SAME_MEMBER(struct wsn_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
	SAME_MEMBER(struct wsn_schema_entry, semantics, nvtxPayloadSchemaEntry_t, semantics);
	SAME_MEMBER(struct wsn_schema_entry, reserved, nvtxPayloadSchemaEntry_t, reserved);

	SAME_SIZE(struct wsn_schema_attr, nvtxPayloadSchemaAttr_t);
	SAME_MEMBER(struct wsn_schema_attr, field_mask, nvtxPayloadSchemaAttr_t, fieldMask);
	SAME_MEMBER(struct wsn_schema_attr, name, nvtxPayloadSchemaAttr_t, name);
	SAME_MEMBER(struct wsn_schema_attr, type, nvtxPayloadSchemaAttr_t, type);
	SAME_MEMBER(struct wsn_schema_attr, flags, nvtxPayloadSchemaAttr_t, flags);
	SAME_MEMBER(struct wsn_schema_attr, entries, nvtxPayloadSchemaAttr_t, entries);
	SAME_MEMBER(struct wsn_schema_attr, num_entries, nvtxPayloadSchemaAttr_t, numEntries);
	SAME_MEMBER(struct wsn_schema_attr, payload_static_size, nvtxPayloadSchemaAttr_t,
	            payloadStaticSize);
	SAME_MEMBER(struct wsn_schema_attr, pack_align, nvtxPayloadSchemaAttr_t, packAlign);
	SAME_MEMBER(struct wsn_schema_attr, schema_id, nvtxPayloadSchemaAttr_t, schemaId);
	SAME_MEMBER(struct wsn_schema_attr, extension, nvtxPayloadSchemaAttr_t, extension);

	SAME_SIZE(struct wsn_enum_entry, nvtxPayloadEnum_t);
	SAME_MEMBER(struct wsn_enum_entry, name, nvtxPayloadEnum_t, name);
	SAME_MEMBER(struct wsn_enum_entry, value, nvtxPayloadEnum_t, value);
	SAME_MEMBER(struct wsn_enum_entry, is_flag, nvtxPayloadEnum_t, isFlag);
	SAME_SIZE(struct wsn_enum_attr, nvtxPayloadEnumAttr_t);
	SAME_MEMBER(struct wsn_enum_attr, field_mask, nvtxPayloadEnumAttr_t, fieldMask);
	SAME_MEMBER(struct wsn_enum_attr, name, nvtxPayloadEnumAttr_t, name);
	SAME_MEMBER(struct wsn_enum_attr, entries, nvtxPayloadEnumAttr_t, entries);
	SAME_MEMBER(struct wsn_enum_attr, num_entries, nvtxPayloadEnumAttr_t, numEntries);
	SAME_MEMBER(struct wsn_enum_attr, size_of_enum, nvtxPayloadEnumAttr_t, sizeOfEnum);
	SAME_MEMBER(struct wsn_enum_attr, schema_id, nvtxPayloadEnumAttr_t, schemaId);
	SAME_MEMBER(struct wsn_enum_attr, extension, nvtxPayloadEnumAttr_t, extension);
}

/* Three names of ours are shorter than theirs. */
#define NVTX_PAYLOAD_ENTRY_TYPE_REGISTERED_STRING \
	NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE
#define NVTX_PAYLOAD_ENTRY_TYPE_SCHEMA_REFERENCED NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED
#define NVTX_PAYLOAD_ENTRY_TYPE_SCHEMA_RAW        NVTX_TYPE_PAYLOAD_SCHEMA_RAW

Test(nvtx_abi, entry_types_and_their_sizes_are_those_of_nvtx)
{
	const nvtxPayloadEntryTypeInfo_t *info =
	        NVTX_EXT_PAYLOAD_VERSIONED_ID(nvtxExtPayloadTypeInfo);

#define X(name, value, type)                                              \
	SAME(value, NVTX_PAYLOAD_ENTRY_TYPE_##name);                      \
	/* 0: these headers know no such type in this language version */ \
	if (info[value].size)                                             \
		SAME(sizeof(type), info[value].size);
	WSN_ENTRY_TYPE_C_LIST(X)
#undef X
#define X(name, value, size) SAME(value, NVTX_PAYLOAD_ENTRY_TYPE_##name);
	WSN_ENTRY_TYPE_SIZED_LIST(X)
#undef X
	SAME(WSN_SCHEMA_ID_STATIC_START, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
	SAME(WSN_SCHEMA_ID_DYNAMIC_START, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
}

Test(nvtx_abi, schema_and_enum_flags_are_those_of_nvtx)
{
	SAME(WSN_ENTRY_FLAG_POINTER, NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
	SAME(WSN_ENTRY_FLAG_OFFSET_FROM_BASE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE);
	SAME(WSN_ENTRY_FLAG_OFFSET_FROM_HERE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE);
	SAME(WSN_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
	SAME(WSN_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX);

	SAME(WSN_SCHEMA_STATIC, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC);
	SAME(WSN_SCHEMA_FIELD_NAME, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME);
	SAME(WSN_SCHEMA_FIELD_TYPE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE);
	SAME(WSN_SCHEMA_FIELD_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
	SAME(WSN_SCHEMA_FIELD_NUM_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
	SAME(WSN_SCHEMA_FIELD_STATIC_SIZE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
	SAME(WSN_SCHEMA_FIELD_ALIGNMENT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT);
	SAME(WSN_SCHEMA_FIELD_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
	SAME(WSN_ENUM_FIELD_NAME, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME);
	SAME(WSN_ENUM_FIELD_ENTRIES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES);
	SAME(WSN_ENUM_FIELD_NUM_ENTRIES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES);
	SAME(WSN_ENUM_FIELD_SIZE, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
	SAME(WSN_ENUM_FIELD_SCHEMA_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
}

#endif
