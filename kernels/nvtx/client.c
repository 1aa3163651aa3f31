/*
 * warpsheet_nvtx.h as an NVTX client: finds the tool as nvtx_abi.h describes,
 * registers the payload schemas and forwards the calls.
 *
 * Free of everything else of Warpsheet, so that any program can compile it in.
 */
#include "kernels/nvtx/warpsheet_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/nvtx/abi.h"

/* What the tool writes its functions into; those it leaves alone stay NULL. */
static wsn_fn core[WSN_CORE_SIZE], core2[WSN_CORE2_SIZE];
static wsn_fn *core_table[WSN_CORE_SIZE], *core2_table[WSN_CORE2_SIZE];
static intptr_t payload_slots[WSN_EXT_PAYLOAD_SLOT_COUNT];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int attached; /* written once, before any call passes pthread_once() */
static wsn_domain domain, cpu_domain;

/* Ids are the program's choice above WSN_SCHEMA_ID_STATIC_START, one space for schemas and enums.
 */
enum {
	ID_OP_KIND = 1,
	ID_DIRECTION,
	ID_PHASE,
	ID_DTYPE,
	ID_OP,
	ID_LAUNCH,
};
#define SCHEMA_ID(n) (WSN_SCHEMA_ID_STATIC_START + (n))

static uint64_t op_schema, launch_schema; /* 0: the tool takes no payloads */

/* --- attaching -------------------------------------------------------------------- */

static int get_module_function_table(enum wsn_module module, wsn_fn ***table, unsigned int *size)
{
	wsn_fn **functions = NULL;
	unsigned int count = 0;

	if (module == WSN_MODULE_CORE) {
		functions = core_table;
		count = WSN_CORE_SIZE;
	} else if (module == WSN_MODULE_CORE2) {
		functions = core2_table;
		count = WSN_CORE2_SIZE;
	}
	if (!functions)
		return 0;
	if (table)
		*table = functions;
	if (size)
		*size = count;
	return 1;
}

/* The tool's own version: of no interest to this client. */
static void set_injection_version(uint32_t version)
{
	(void)version;
}

static const void *get_export_table(uint32_t id)
{
	static const struct wsn_callbacks_table callbacks = {
	        .struct_size = sizeof(callbacks),
	        .get_module_function_table = get_module_function_table,
	};
	static const struct wsn_version_table version = {
	        .struct_size = sizeof(version),
	        .version = WSN_VERSION,
	        .set_injection_version = set_injection_version,
	};

	switch (id) {
	case WSN_ETID_CALLBACKS:
		return &callbacks;
	case WSN_ETID_VERSIONINFO:
		return &version;
	default:
		return NULL;
	}
}

static void *function_of(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static int attach_core(void *library)
{
	void *symbol = function_of(library, WSN_INIT_SYMBOL);
	wsn_init init;

	for (unsigned int i = 1; i < WSN_CORE_SIZE; i++)
		core_table[i] = &core[i];
	for (unsigned int i = 1; i < WSN_CORE2_SIZE; i++)
		core2_table[i] = &core2[i];
	memcpy(&init, &symbol, sizeof(init));
	return init && init(get_export_table);
}

static void attach_payload(void *library)
{
	/* size and alignment of each C type, by its entry type; the first tells the array's own */
	enum {
#define X(name, value, type) +1
		TYPE_INFO_COUNT = 1 WSN_ENTRY_TYPE_C_LIST(X)
#undef X
	};
	static const struct wsn_type_info type_info[TYPE_INFO_COUNT] = {[0] = {TYPE_INFO_COUNT,
	                                                                       sizeof(*type_info)},
#define X(name, value, type) [value] = {sizeof(type), __alignof__(type)},
	                                                                WSN_ENTRY_TYPE_C_LIST(X)
#undef X
	};
	struct wsn_ext_segment segment = {
	        .slot_count = WSN_EXT_PAYLOAD_SLOT_COUNT,
	        .function_slots = payload_slots,
	};
	struct wsn_ext_module module = {
	        .nvtx_version = WSN_VERSION,
	        .struct_size = sizeof(module),
	        .module_id = WSN_EXT_PAYLOAD_MODULE,
	        .compat_id = WSN_EXT_PAYLOAD_COMPAT,
	        .segments_count = 1,
	        .segments = &segment,
	        .ext_info = type_info,
	};
	void *symbol = function_of(library, WSN_EXT_INIT_SYMBOL);
	wsn_ext_init init;

	memcpy(&init, &symbol, sizeof(init));
	if (!init || !init(&module))
		memset(payload_slots, 0, sizeof(payload_slots));
}

/* --- schemas ---------------------------------------------------------------------- */

static void register_enum(uint64_t id, const char *name, const struct wsn_enum_entry *entries,
                          size_t count)
{
	struct wsn_enum_attr attr = {
	        .field_mask = WSN_ENUM_FIELD_NAME | WSN_ENUM_FIELD_ENTRIES |
	                      WSN_ENUM_FIELD_NUM_ENTRIES | WSN_ENUM_FIELD_SIZE |
	                      WSN_ENUM_FIELD_SCHEMA_ID,
	        .name = name,
	        .entries = entries,
	        .num_entries = count,
	        .size_of_enum = sizeof(uint8_t),
	        .schema_id = id,
	};
	wsn_fn_PayloadEnumRegister fn =
	        (wsn_fn_PayloadEnumRegister)payload_slots[WSN_CBID_PayloadEnumRegister];

	if (fn)
		fn(domain, &attr);
}

static uint64_t register_schema(wsn_domain in, uint64_t id, const char *name,
                                const struct wsn_schema_entry *entries, size_t count, size_t size)
{
	struct wsn_schema_attr attr = {
	        .field_mask = WSN_SCHEMA_FIELD_NAME | WSN_SCHEMA_FIELD_TYPE |
	                      WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES |
	                      WSN_SCHEMA_FIELD_STATIC_SIZE | WSN_SCHEMA_FIELD_SCHEMA_ID,
	        .name = name,
	        .type = WSN_SCHEMA_STATIC,
	        .entries = entries,
	        .num_entries = count,
	        .payload_static_size = size,
	        .schema_id = id,
	};
	wsn_fn_PayloadSchemaRegister fn =
	        (wsn_fn_PayloadSchemaRegister)payload_slots[WSN_CBID_PayloadSchemaRegister];

	return fn ? fn(in, &attr) : 0;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void register_enums(void)
{
#define X(entry, number) {.name = #entry, .value = number},
	static const struct wsn_enum_entry kinds[] = {WSNVTX_OP_KIND_LIST(X)};
	static const struct wsn_enum_entry directions[] = {WSNVTX_DIRECTION_LIST(X)};
	static const struct wsn_enum_entry phases[] = {WSNVTX_PHASE_LIST(X)};
	static const struct wsn_enum_entry dtypes[] = {WSNVTX_DTYPE_LIST(X)};
#undef X

	register_enum(SCHEMA_ID(ID_OP_KIND), "warpsheet.op_kind", kinds, COUNT(kinds));
	register_enum(SCHEMA_ID(ID_DIRECTION), "warpsheet.direction", directions,
	              COUNT(directions));
	register_enum(SCHEMA_ID(ID_PHASE), "warpsheet.phase", phases, COUNT(phases));
	register_enum(SCHEMA_ID(ID_DTYPE), "warpsheet.dtype", dtypes, COUNT(dtypes));
}

static void register_schemas(void)
{
#define FIELD(of, member, entry_type) \
	{.type = (entry_type), .name = #member, .offset = offsetof(struct of, member)},
	static const struct wsn_schema_entry op[] = {
	        FIELD(wsnvtx_op, flops, WSN_ENTRY_UINT64) FIELD(
	                wsnvtx_op, bytes_read,
	                WSN_ENTRY_UINT64) FIELD(wsnvtx_op, bytes_written,
	                                        WSN_ENTRY_UINT64) FIELD(wsnvtx_op, batch,
	                                                                WSN_ENTRY_UINT32)
	                FIELD(wsnvtx_op, m, WSN_ENTRY_UINT32) FIELD(
	                        wsnvtx_op, n,
	                        WSN_ENTRY_UINT32) FIELD(wsnvtx_op, k,
	                                                WSN_ENTRY_UINT32) FIELD(wsnvtx_op, c,
	                                                                        WSN_ENTRY_UINT32)
	                        FIELD(wsnvtx_op, h, WSN_ENTRY_UINT32) FIELD(
	                                wsnvtx_op, w, WSN_ENTRY_UINT32) FIELD(wsnvtx_op, r,
	                                                                      WSN_ENTRY_UINT32)
	                                FIELD(wsnvtx_op, s, WSN_ENTRY_UINT32) FIELD(
	                                        wsnvtx_op, stride,
	                                        WSN_ENTRY_UINT32) FIELD(wsnvtx_op, pad,
	                                                                WSN_ENTRY_UINT32)
	                                        FIELD(wsnvtx_op, groups, WSN_ENTRY_UINT32) FIELD(
	                                                wsnvtx_op, op,
	                                                SCHEMA_ID(ID_OP_KIND))
	                                                FIELD(wsnvtx_op, direction,
	                                                      SCHEMA_ID(ID_DIRECTION))
	                                                        FIELD(wsnvtx_op, phase,
	                                                              SCHEMA_ID(ID_PHASE))
	                                                                FIELD(wsnvtx_op, dtype,
	                                                                      SCHEMA_ID(ID_DTYPE))
	                                                                        FIELD(wsnvtx_op,
	                                                                              layer,
	                                                                              WSN_ENTRY_INT32)};
	static const struct wsn_schema_entry launch[] = {
	        FIELD(wsnvtx_launch, grid_x, WSN_ENTRY_UINT32)
	                FIELD(wsnvtx_launch, grid_y, WSN_ENTRY_UINT32) FIELD(wsnvtx_launch, grid_z,
	                                                                     WSN_ENTRY_UINT32)
	                        FIELD(wsnvtx_launch, block_x, WSN_ENTRY_UINT32)
	                                FIELD(wsnvtx_launch, block_y, WSN_ENTRY_UINT32)
	                                        FIELD(wsnvtx_launch, block_z, WSN_ENTRY_UINT32)};
#undef FIELD

	register_enums();
	op_schema = register_schema(domain, SCHEMA_ID(ID_OP), "warpsheet.op", op, COUNT(op),
	                            sizeof(struct wsnvtx_op));
	launch_schema = register_schema(cpu_domain, SCHEMA_ID(ID_LAUNCH), "warpsheet.launch",
	                                launch, COUNT(launch), sizeof(struct wsnvtx_launch));
}

static void attach(void)
{
	const char *path = getenv(WSN_ENV_INJECTION);
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	wsn_fn_DomainCreateA create;

	if (!library)
		return;
	if (!attach_core(library)) {
		/* functions it may have set all the same must not be called */
		memset(core, 0, sizeof(core));
		memset(core2, 0, sizeof(core2));
		dlclose(library);
		return;
	}
	attach_payload(library);
	create = (wsn_fn_DomainCreateA)core2[WSN_CBID_DomainCreateA];
	if (create) {
		domain = create(WSNVTX_DOMAIN);
		cpu_domain = create(WSNVTX_CPU_DOMAIN);
	}
	register_schemas();
	attached = 1;
}

int wsnvtx_attached(void)
{
	pthread_once(&once, attach);
	return attached;
}

/* --- events ------------------------------------------------------------------------- */

static struct wsn_event event_of(const char *message)
{
	return (struct wsn_event){
	        .version = WSN_VERSION,
	        .size = sizeof(struct wsn_event),
	        .message_type = WSN_MESSAGE_ASCII,
	        .message.ascii = message,
	};
}

static void push(wsn_domain in, const struct wsn_event *event)
{
	wsn_fn_DomainRangePushEx fn = (wsn_fn_DomainRangePushEx)core2[WSN_CBID_DomainRangePushEx];

	if (fn)
		fn(in, event);
}

static void pop(wsn_domain in)
{
	wsn_fn_DomainRangePop fn = (wsn_fn_DomainRangePop)core2[WSN_CBID_DomainRangePop];

	if (fn)
		fn(in);
}

static void mark(const struct wsn_event *event)
{
	wsn_fn_DomainMarkEx fn = (wsn_fn_DomainMarkEx)core2[WSN_CBID_DomainMarkEx];

	if (fn)
		fn(domain, event);
}

static void push_with(wsn_domain in, const char *message, uint64_t schema, const void *payload,
                      size_t size)
{
	struct wsn_payload_data data = {.schema_id = schema, .size = size, .payload = payload};
	struct wsn_event event = event_of(message);

	if (schema) {
		event.payload_type = WSN_PAYLOAD_EXT;
		event.reserved0 = 1;
		event.payload.ull = (uint64_t)(uintptr_t)&data;
	}
	push(in, &event);
}

void wsnvtx_push(const char *message)
{
	struct wsn_event event;

	if (!wsnvtx_attached())
		return;
	event = event_of(message);
	push(domain, &event);
}

void wsnvtx_push_index(const char *message, uint64_t index)
{
	struct wsn_event event;

	if (!wsnvtx_attached())
		return;
	event = event_of(message);
	event.payload_type = WSN_PAYLOAD_UINT64;
	event.payload.ull = index;
	push(domain, &event);
}

void wsnvtx_push_op(const char *message, const struct wsnvtx_op *op)
{
	if (wsnvtx_attached())
		push_with(domain, message, op_schema, op, sizeof(*op));
}

void wsnvtx_pop(void)
{
	if (wsnvtx_attached())
		pop(domain);
}

void wsnvtx_workload(const char *key, const char *value)
{
	struct wsn_event event;
	char text[1024];

	if (!wsnvtx_attached())
		return;
	snprintf(text, sizeof(text), "workload.%s=%s", key, value);
	event = event_of(text);
	mark(&event);
}

/* A mark counter.NAME; type and value of the payload are in event. */
static void count(const char *name, struct wsn_event value)
{
	struct wsn_event event;
	char text[256];

	snprintf(text, sizeof(text), "counter.%s", name);
	event = event_of(text);
	event.payload_type = value.payload_type;
	event.payload = value.payload;
	mark(&event);
}

void wsnvtx_counter(const char *name, int64_t value)
{
	if (wsnvtx_attached())
		count(name, (struct wsn_event){.payload_type = WSN_PAYLOAD_INT64,
		                               .payload = {.ll = value}});
}

void wsnvtx_counter_real(const char *name, double value)
{
	if (wsnvtx_attached())
		count(name, (struct wsn_event){.payload_type = WSN_PAYLOAD_DOUBLE,
		                               .payload = {.d = value}});
}

void wsnvtx_kernel_push(const char *name, const struct wsnvtx_launch *launch)
{
	if (wsnvtx_attached())
		push_with(cpu_domain, name, launch_schema, launch, sizeof(*launch));
}

void wsnvtx_kernel_pop(void)
{
	if (wsnvtx_attached())
		pop(cpu_domain);
}
