/* The NVTX callbacks: each turns its arguments into an event or a definition. */
#include "recorder/inject/nvtx_source.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "recorder/collect/event.h"

static struct ws_event_text bytes_text(const char *text)
{
	return (struct ws_event_text){text, WS_TEXT_BYTES, 0};
}

static struct ws_event_text wide_text(const wchar_t *text)
{
	return (struct ws_event_text){text, WS_TEXT_UTF32, 0};
}

/*
 * The callback NAME of an event: fill sets ev up, and act records it. off: what the program gets
 * where nothing is recorded.
 */
#define EVENT(ret, name, params, off, fill, act) \
	static ret on_##name params              \
	{                                        \
		struct ws_event ev;              \
                                                 \
		if (!ws_collector_on())          \
			return off;              \
		fill;                            \
		act;                             \
	}
#define MARK(name, params, fill) EVENT(void, name, params, , fill, ws_event_mark(&ev))
#define START(name, params, fill) \
	EVENT(wsn_range_id, name, params, 0, fill, return ws_event_start(&ev))
#define END(name, params, fill) EVENT(void, name, params, , fill, ws_event_end(&ev, id))
#define PUSH(name, params, fill) \
	EVENT(int, name, params, WSN_NO_PUSH_POP_TRACKING, fill, return ws_event_push(&ev))
#define POP(name, params, fill) \
	EVENT(int, name, params, WSN_NO_PUSH_POP_TRACKING, fill, return ws_event_pop(&ev))

/*
 * The callbacks NAMEA and NAMEW, whose last parameter is a text; act makes a definition of it.
 * first: the parameters before it, each with its comma.
 */
#define PLAIN(...) __VA_ARGS__
#define TEXT_OF(ret, name, first, type, text_of, off, act)        \
	static ret on_##name(PLAIN first const type *chars)       \
	{                                                         \
		const struct ws_event_text text = text_of(chars); \
                                                                  \
		if (!ws_collector_on())                           \
			return off;                               \
		act;                                              \
	}
#define TEXT(ret, name, first, off, act)                         \
	TEXT_OF(ret, name##A, first, char, bytes_text, off, act) \
	TEXT_OF(ret, name##W, first, wchar_t, wide_text, off, act)

/* --- core: the default domain --- */

MARK(MarkEx, (const struct wsn_event *attr), ws_event_attributes(&ev, NULL, attr))
MARK(MarkA, (const char *text), ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
MARK(MarkW, (const wchar_t *text), ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
START(RangeStartEx, (const struct wsn_event *attr), ws_event_attributes(&ev, NULL, attr))
START(RangeStartA, (const char *text), ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
START(RangeStartW, (const wchar_t *text), ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
END(RangeEnd, (wsn_range_id id), ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES))
PUSH(RangePushEx, (const struct wsn_event *attr), ws_event_attributes(&ev, NULL, attr))
PUSH(RangePushA, (const char *text), ws_event_init(&ev, 0, text, WS_TEXT_BYTES))
PUSH(RangePushW, (const wchar_t *text), ws_event_init(&ev, 0, text, WS_TEXT_UTF32))
POP(RangePop, (void), ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES))

TEXT(void, NameCategory, (uint32_t category, ), , ws_define_category(0, category, text))
TEXT(void, NameOsThread, (uint32_t tid, ), , ws_define_thread_name(tid, text))

/* --- core 2: domains --- */

MARK(DomainMarkEx, (wsn_domain domain, const struct wsn_event *attr),
     ws_event_attributes(&ev, domain, attr))
START(DomainRangeStartEx, (wsn_domain domain, const struct wsn_event *attr),
      ws_event_attributes(&ev, domain, attr))
END(DomainRangeEnd, (wsn_domain domain, wsn_range_id id),
    ws_event_init(&ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES))
PUSH(DomainRangePushEx, (wsn_domain domain, const struct wsn_event *attr),
     ws_event_attributes(&ev, domain, attr))
POP(DomainRangePop, (wsn_domain domain),
    ws_event_init(&ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES))

/* Of all resources only threads have a place in the trace. */
static wsn_resource on_DomainResourceCreate(wsn_domain domain, struct wsn_resource_attr *attr)
{
	static char token; /* any address that is not NULL */
	struct ws_event_text name = {0};
	uint32_t size, tid = 0;

	(void)domain;
	if (!ws_collector_on() || !attr || attr->size < sizeof(*attr))
		return NULL;
	if (attr->identifier_type == WSN_RESOURCE_GENERIC_THREAD_NATIVE)
		tid = (uint32_t)attr->identifier.ull;
	else if (attr->identifier_type == WSN_RESOURCE_GENERIC_THREAD_POSIX &&
	         pthread_equal((pthread_t)attr->identifier.ull, pthread_self()))
		tid = (uint32_t)gettid();
	if (attr->message_type == WSN_MESSAGE_ASCII)
		name = bytes_text(attr->message.ascii);
	else if (attr->message_type == WSN_MESSAGE_UNICODE)
		name = wide_text(attr->message.unicode);
	else if (attr->message_type == WSN_MESSAGE_REGISTERED)
		name = bytes_text(ws_string_text((uintptr_t)attr->message.registered, &size));
	if (tid && name.ptr)
		ws_define_thread_name(tid, name);
	return (wsn_resource)(void *)&token;
}

static void on_DomainResourceDestroy(wsn_resource resource)
{
	(void)resource;
}

TEXT(void, DomainNameCategory, (wsn_domain domain, uint32_t category, ), ,
     ws_define_category(ws_event_domain(domain), category, text))
TEXT(wsn_string, DomainRegisterString, (wsn_domain domain, ), NULL, (void)domain;
     return (wsn_string)(uintptr_t)ws_define_string(text))
TEXT(wsn_domain, DomainCreate, (), NULL, return (wsn_domain)(uintptr_t)ws_define_domain(text))

/* A domain is its name: created again it is the same, so nothing is taken down. */
static void on_DomainDestroy(wsn_domain domain)
{
	(void)domain;
}

static void on_Initialize(const void *reserved)
{
	(void)reserved;
}

/* --- payload extension --- */

static uint64_t on_PayloadSchemaRegister(wsn_domain domain, const struct wsn_schema_attr *attr)
{
	if (!ws_collector_on() || !attr)
		return 0;
	return ws_schema_register(ws_event_domain(domain), attr);
}

static uint64_t on_PayloadEnumRegister(wsn_domain domain, const struct wsn_enum_attr *attr)
{
	if (!ws_collector_on() || !attr)
		return 0;
	return ws_enum_register(ws_event_domain(domain), attr);
}

static void with_payloads(struct ws_event *ev, wsn_domain domain,
                          const struct wsn_payload_data *payload, size_t n)
{
	ws_event_init(ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES);
	ws_event_payloads(ev, payload, n);
}

MARK(MarkPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
     with_payloads(&ev, domain, payload, n))
PUSH(RangePushPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
     with_payloads(&ev, domain, payload, n))
POP(RangePopPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
    with_payloads(&ev, domain, payload, n))
START(RangeStartPayload, (wsn_domain domain, const struct wsn_payload_data *payload, size_t n),
      with_payloads(&ev, domain, payload, n))
END(RangeEndPayload,
    (wsn_domain domain, wsn_range_id id, const struct wsn_payload_data *payload, size_t n),
    with_payloads(&ev, domain, payload, n))

/* Always served: headers of NVTX 3.2.0 and 3.2.1 take a missing answer for "no". */
static uint8_t on_DomainIsEnabled(wsn_domain domain)
{
	return ws_collector_on() && ws_event_domain(domain) != WS_DEF_NONE;
}

static int64_t on_TimestampGet(void)
{
	return ws_now_ns();
}

static void on_EventSubmit(wsn_domain domain, const struct wsn_payload_data *payload, size_t n)
{
	(void)domain;
	(void)payload;
	(void)n;
	if (ws_collector_on())
		ws_lost(WS_DROPPED_deferred_event, 1);
}

static void on_EventBatchSubmit(wsn_domain domain, const void *batch)
{
	(void)domain;
	(void)batch;
	if (ws_collector_on())
		ws_lost(WS_DROPPED_deferred_event, 1);
}

/* --- attaching --- */

/* A name and its callback; the assignment checks the callback's type. */
#define X(name, id, ret, params) static const wsn_fn_##name typed_##name = on_##name;
WSN_CORE_LIST(X)
WSN_CORE2_LIST(X)
WSN_PAYLOAD_LIST(X)
#undef X

bool ws_nvtx_hook_core(wsn_get_export_table get)
{
	const struct wsn_callbacks_table *callbacks = get(WSN_ETID_CALLBACKS);
	unsigned int size;
	wsn_fn **table;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
		/* an older NVTX has shorter tables: take what there is */
#define X(name, id, ret, params)    \
	if (id < size && table[id]) \
		*table[id] = (wsn_fn)typed_##name;
	if (callbacks->get_module_function_table(WSN_MODULE_CORE, &table, &size)) {
		WSN_CORE_LIST(X)
	}
	if (callbacks->get_module_function_table(WSN_MODULE_CORE2, &table, &size)) {
		WSN_CORE2_LIST(X)
	}
#undef X
	return 1;
}

bool ws_nvtx_hook_extension(struct wsn_ext_module *module)
{
	struct wsn_ext_segment *segment;

	if (module->module_id != WSN_EXT_PAYLOAD_MODULE || !module->segments_count)
		return 0;
	segment = &module->segments[0];
#define X(name, id, ret, params)      \
	if (id < segment->slot_count) \
		segment->function_slots[id] = (intptr_t)typed_##name;
	WSN_PAYLOAD_LIST(X)
#undef X
	return 1;
}
