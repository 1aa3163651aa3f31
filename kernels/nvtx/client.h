/*
 * warpsheet_nvtx.h as an NVTX client: finds the tool as abi.h describes, registers the payload
 * schemas and forwards the calls. Included by it, so that a program needs no further source file or
 * library. The weak hidden symbols here exist once per ELF module, however many files include this
 * one.
 *
 * Free of everything else of Warpsheet; C99, and C++ since 11.
 */
#ifndef WARPSHEET_NVTX_CLIENT_H
#define WARPSHEET_NVTX_CLIENT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WSNVTX_ONCE __attribute__((weak, visibility("hidden")))

/* Table for the tool's functions; entries that it does not set stay NULL. */
struct wsnvtx_client {
	wsn_fn core[WSN_CORE_SIZE], core2[WSN_CORE2_SIZE];
	wsn_fn *core_table[WSN_CORE_SIZE], *core2_table[WSN_CORE2_SIZE];
	intptr_t payload_slots[WSN_EXT_PAYLOAD_SLOT_COUNT];
	bool attached; /* written once, before any call passes pthread_once() */
	wsn_domain domain, cpu_domain;
	uint64_t op_schema, launch_schema; /* 0: the tool takes no payloads */
};
WSNVTX_ONCE struct wsnvtx_client wsnvtx_client;
WSNVTX_ONCE pthread_once_t wsnvtx_once = PTHREAD_ONCE_INIT;

/* Ids are a program's choice above WSN_SCHEMA_ID_STATIC_START; schemas and enums share them. */
enum {
	WSNVTX_ID_OP_KIND = 1,
	WSNVTX_ID_DIRECTION,
	WSNVTX_ID_PHASE,
	WSNVTX_ID_DTYPE,
	WSNVTX_ID_OP,
	WSNVTX_ID_LAUNCH,
};
#define WSNVTX_SCHEMA_ID(n) (WSN_SCHEMA_ID_STATIC_START + (n))

/* --- attaching -------------------------------------------------------------------- */

static int wsnvtx_do_get_module_function_table(enum wsn_module module, wsn_fn ***table,
                                               unsigned int *size)
{
	bool core = module == WSN_MODULE_CORE;

	if (!core && module != WSN_MODULE_CORE2)
		return 0;
	if (table)
		*table = core ? wsnvtx_client.core_table : wsnvtx_client.core2_table;
	if (size)
		*size = WSN_CORE_SIZE; /* core 2 has as many */
	return 1;
}

/* The tool's version, which this client ignores. */
static void wsnvtx_do_set_injection_version(uint32_t version)
{
	(void)version;
}

static const void *wsnvtx_do_get_export_table(uint32_t id)
{
	static const struct wsn_callbacks_table callbacks = {sizeof(callbacks),
	                                                     wsnvtx_do_get_module_function_table};
	static const struct wsn_version_table version = {sizeof(version), WSN_VERSION, 0,
	                                                 wsnvtx_do_set_injection_version};

	if (id == WSN_ETID_CALLBACKS)
		return &callbacks;
	return id == WSN_ETID_VERSIONINFO ? &version : NULL;
}

static void *wsnvtx_do_function_of(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static bool wsnvtx_do_attach_core(void *library)
{
	void *symbol = wsnvtx_do_function_of(library, WSN_INIT_SYMBOL);
	wsn_init init;

	for (unsigned int i = 1; i < WSN_CORE_SIZE; i++)
		wsnvtx_client.core_table[i] = &wsnvtx_client.core[i];
	for (unsigned int i = 1; i < WSN_CORE2_SIZE; i++)
		wsnvtx_client.core2_table[i] = &wsnvtx_client.core2[i];
	memcpy(&init, &symbol, sizeof(init));
	return init && init(wsnvtx_do_get_export_table);
}

static void wsnvtx_do_attach_payload(void *library)
{
	/* size and alignment of each C type, by its entry type; the first tells the array's own */
	enum {
#define X(name, value, type) +1
		TYPE_INFO_COUNT = 1 WSN_ENTRY_TYPE_C_LIST(X)
#undef X
	};
	static struct wsn_type_info type_info[TYPE_INFO_COUNT];
	struct wsn_ext_segment segment = {0, WSN_EXT_PAYLOAD_SLOT_COUNT,
	                                  wsnvtx_client.payload_slots};
	struct wsn_ext_module module = {WSN_VERSION,
	                                sizeof(module),
	                                WSN_EXT_PAYLOAD_MODULE,
	                                WSN_EXT_PAYLOAD_COMPAT,
	                                1,
	                                &segment,
	                                NULL,
	                                type_info};
	void *symbol = wsnvtx_do_function_of(library, WSN_EXT_INIT_SYMBOL);
	wsn_ext_init init;

	type_info[0].size = TYPE_INFO_COUNT;
	type_info[0].align = sizeof(*type_info);
#define X(name, value, type)                  \
	type_info[value].size = sizeof(type); \
	type_info[value].align = __alignof__(type);
	WSN_ENTRY_TYPE_C_LIST(X)
#undef X
	memcpy(&init, &symbol, sizeof(init));
	if (!init || !init(&module))
		memset(wsnvtx_client.payload_slots, 0, sizeof(wsnvtx_client.payload_slots));
}

/* --- schemas ---------------------------------------------------------------------- */

static void wsnvtx_do_register_enum(uint64_t id, const char *name,
                                    const struct wsn_enum_entry *entries, size_t count)
{
	struct wsn_enum_attr attr = {WSN_ENUM_FIELD_NAME | WSN_ENUM_FIELD_ENTRIES |
	                                     WSN_ENUM_FIELD_NUM_ENTRIES | WSN_ENUM_FIELD_SIZE |
	                                     WSN_ENUM_FIELD_SCHEMA_ID,
	                             name,
	                             entries,
	                             count,
	                             sizeof(uint8_t),
	                             id,
	                             NULL};
	wsn_fn_PayloadEnumRegister fn =
	        (wsn_fn_PayloadEnumRegister)
	                wsnvtx_client.payload_slots[WSN_CBID_PayloadEnumRegister];

	if (fn)
		fn(wsnvtx_client.domain, &attr);
}

static uint64_t wsnvtx_do_register_schema(wsn_domain in, uint64_t id, const char *name,
                                          const struct wsn_schema_entry *entries, size_t count,
                                          size_t size)
{
	struct wsn_schema_attr attr = {WSN_SCHEMA_FIELD_NAME | WSN_SCHEMA_FIELD_TYPE |
	                                       WSN_SCHEMA_FIELD_ENTRIES |
	                                       WSN_SCHEMA_FIELD_NUM_ENTRIES |
	                                       WSN_SCHEMA_FIELD_STATIC_SIZE |
	                                       WSN_SCHEMA_FIELD_SCHEMA_ID,
	                               name,
	                               WSN_SCHEMA_STATIC,
	                               0,
	                               entries,
	                               count,
	                               size,
	                               0,
	                               id,
	                               NULL};
	wsn_fn_PayloadSchemaRegister fn =
	        (wsn_fn_PayloadSchemaRegister)
	                wsnvtx_client.payload_slots[WSN_CBID_PayloadSchemaRegister];

	return fn ? fn(in, &attr) : 0;
}

#define WSNVTX_COUNT(array) (sizeof(array) / sizeof(*(array)))

static void wsnvtx_do_register_enums(void)
{
#define X(entry, number) {#entry, number, 0},
#define WSNVTX_ENUM(id, name, LIST)                                                       \
	{                                                                                 \
		static const struct wsn_enum_entry entries[] = {LIST(X)};                 \
		wsnvtx_do_register_enum(WSNVTX_SCHEMA_ID(id), "warpsheet." name, entries, \
		                        WSNVTX_COUNT(entries));                           \
	}
	WSNVTX_ENUM(WSNVTX_ID_OP_KIND, "op_kind", WSNVTX_OP_KIND_LIST)
	WSNVTX_ENUM(WSNVTX_ID_DIRECTION, "direction", WSNVTX_DIRECTION_LIST)
	WSNVTX_ENUM(WSNVTX_ID_PHASE, "phase", WSNVTX_PHASE_LIST)
	WSNVTX_ENUM(WSNVTX_ID_DTYPE, "dtype", WSNVTX_DTYPE_LIST)
#undef WSNVTX_ENUM
#undef X
}

static void wsnvtx_do_register_schemas(void)
{
#define WSNVTX_FIELD(of, member, entry_type)                                               \
	{                                                                                  \
		0, (entry_type), #member, NULL, 0, offsetof(struct of, member), NULL, NULL \
	}
	static const struct wsn_schema_entry op[] = {
	        WSNVTX_FIELD(wsnvtx_op, flops, WSN_ENTRY_UINT64),
	        WSNVTX_FIELD(wsnvtx_op, bytes_read, WSN_ENTRY_UINT64),
	        WSNVTX_FIELD(wsnvtx_op, bytes_written, WSN_ENTRY_UINT64),
	        WSNVTX_FIELD(wsnvtx_op, batch, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, m, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, n, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, k, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, c, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, h, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, w, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, r, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, s, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, stride, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, pad, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, groups, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_op, op, WSNVTX_SCHEMA_ID(WSNVTX_ID_OP_KIND)),
	        WSNVTX_FIELD(wsnvtx_op, direction, WSNVTX_SCHEMA_ID(WSNVTX_ID_DIRECTION)),
	        WSNVTX_FIELD(wsnvtx_op, phase, WSNVTX_SCHEMA_ID(WSNVTX_ID_PHASE)),
	        WSNVTX_FIELD(wsnvtx_op, dtype, WSNVTX_SCHEMA_ID(WSNVTX_ID_DTYPE)),
	        WSNVTX_FIELD(wsnvtx_op, layer, WSN_ENTRY_INT32),
	        WSNVTX_FIELD(wsnvtx_op, flops_needed, WSN_ENTRY_UINT64)};
	static const struct wsn_schema_entry launch[] = {
	        WSNVTX_FIELD(wsnvtx_launch, grid_x, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_launch, grid_y, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_launch, grid_z, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_launch, block_x, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_launch, block_y, WSN_ENTRY_UINT32),
	        WSNVTX_FIELD(wsnvtx_launch, block_z, WSN_ENTRY_UINT32)};
#undef WSNVTX_FIELD

	wsnvtx_do_register_enums();
	wsnvtx_client.op_schema =
	        wsnvtx_do_register_schema(wsnvtx_client.domain, WSNVTX_SCHEMA_ID(WSNVTX_ID_OP),
	                                  "warpsheet.op", op, WSNVTX_COUNT(op),
	                                  sizeof(struct wsnvtx_op));
	wsnvtx_client.launch_schema =
	        wsnvtx_do_register_schema(wsnvtx_client.cpu_domain,
	                                  WSNVTX_SCHEMA_ID(WSNVTX_ID_LAUNCH), "warpsheet.launch",
	                                  launch, WSNVTX_COUNT(launch),
	                                  sizeof(struct wsnvtx_launch));
}

static void wsnvtx_do_attach(void)
{
	const char *path = getenv(WSN_ENV_INJECTION);
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;

	if (!library)
		return;
	if (!wsnvtx_do_attach_core(library)) {
		/* functions that it may have set must not be called */
		memset(wsnvtx_client.core, 0, sizeof(wsnvtx_client.core));
		memset(wsnvtx_client.core2, 0, sizeof(wsnvtx_client.core2));
		dlclose(library);
		return;
	}
	wsnvtx_do_attach_payload(library);
	wsn_fn_DomainCreateA create =
	        (wsn_fn_DomainCreateA)wsnvtx_client.core2[WSN_CBID_DomainCreateA];
	if (create) {
		wsnvtx_client.domain = create(WSNVTX_DOMAIN);
		wsnvtx_client.cpu_domain = create(WSNVTX_CPU_DOMAIN);
	}
	wsnvtx_do_register_schemas();
	wsnvtx_client.attached = true;
}

WSNVTX_ONCE bool wsnvtx_attached(void)
{
	pthread_once(&wsnvtx_once, wsnvtx_do_attach);
	return wsnvtx_client.attached;
}

/* --- events ------------------------------------------------------------------------- */

static struct wsn_event wsnvtx_do_event_of(const char *message)
{
	struct wsn_event event;

	memset(&event, 0, sizeof(event));
	event.version = WSN_VERSION;
	event.size = sizeof(event);
	event.message_type = WSN_MESSAGE_ASCII;
	event.message.ascii = message;
	return event;
}

/* Calls the tool's function name of core 2, where it has one. */
#define WSNVTX_CALL(name, args)                                                         \
	do {                                                                            \
		wsn_fn_##name fn = (wsn_fn_##name)wsnvtx_client.core2[WSN_CBID_##name]; \
                                                                                        \
		if (fn)                                                                 \
			fn args;                                                        \
	} while (0)

static void wsnvtx_do_push_with(wsn_domain in, const char *message, uint64_t schema,
                                const void *payload, size_t size)
{
	struct wsn_payload_data data = {schema, size, payload};
	struct wsn_event event = wsnvtx_do_event_of(message);

	if (schema) {
		event.payload_type = WSN_PAYLOAD_EXT;
		event.reserved0 = 1;
		event.payload.ull = (uint64_t)(uintptr_t)&data;
	}
	WSNVTX_CALL(DomainRangePushEx, (in, &event));
}

WSNVTX_ONCE void wsnvtx_push(const char *message)
{
	if (wsnvtx_attached())
		wsnvtx_do_push_with(wsnvtx_client.domain, message, 0, NULL, 0);
}

WSNVTX_ONCE void wsnvtx_push_index(const char *message, uint64_t index)
{
	if (!wsnvtx_attached())
		return;
	struct wsn_event event = wsnvtx_do_event_of(message);
	event.payload_type = WSN_PAYLOAD_UINT64;
	event.payload.ull = index;
	WSNVTX_CALL(DomainRangePushEx, (wsnvtx_client.domain, &event));
}

WSNVTX_ONCE void wsnvtx_push_op(const char *message, const struct wsnvtx_op *op)
{
	if (wsnvtx_attached())
		wsnvtx_do_push_with(wsnvtx_client.domain, message, wsnvtx_client.op_schema, op,
		                    sizeof(*op));
}

WSNVTX_ONCE void wsnvtx_pop(void)
{
	if (wsnvtx_attached())
		WSNVTX_CALL(DomainRangePop, (wsnvtx_client.domain));
}

WSNVTX_ONCE void wsnvtx_workload(const char *key, const char *value)
{
	char text[1024];

	if (!wsnvtx_attached())
		return;
	snprintf(text, sizeof(text), "workload.%s=%s", key, value);
	struct wsn_event event = wsnvtx_do_event_of(text);
	WSNVTX_CALL(DomainMarkEx, (wsnvtx_client.domain, &event));
}

static void wsnvtx_do_counter(const char *name, int payload_type, int64_t whole, double real)
{
	char text[256];

	if (!wsnvtx_attached())
		return;
	snprintf(text, sizeof(text), "counter.%s", name);
	struct wsn_event event = wsnvtx_do_event_of(text);
	event.payload_type = payload_type;
	if (payload_type == WSN_PAYLOAD_DOUBLE)
		event.payload.d = real;
	else
		event.payload.ll = whole;
	WSNVTX_CALL(DomainMarkEx, (wsnvtx_client.domain, &event));
}

WSNVTX_ONCE void wsnvtx_counter(const char *name, int64_t value)
{
	wsnvtx_do_counter(name, WSN_PAYLOAD_INT64, value, 0);
}

WSNVTX_ONCE void wsnvtx_counter_real(const char *name, double value)
{
	wsnvtx_do_counter(name, WSN_PAYLOAD_DOUBLE, 0, value);
}

WSNVTX_ONCE void wsnvtx_kernel_push(const char *name, const struct wsnvtx_launch *launch)
{
	if (wsnvtx_attached())
		wsnvtx_do_push_with(wsnvtx_client.cpu_domain, name, wsnvtx_client.launch_schema,
		                    launch, sizeof(*launch));
}

WSNVTX_ONCE void wsnvtx_kernel_pop(void)
{
	if (wsnvtx_attached())
		WSNVTX_CALL(DomainRangePop, (wsnvtx_client.cpu_domain));
}

#undef WSNVTX_CALL

#ifdef __cplusplus
}
#endif

#endif
