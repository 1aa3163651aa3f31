/* libcupti for tests, what a tool calls of it: see fake.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorder/cuda/fake_cupti.h"

int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version)
{
	*version = (uint32_t)fake_setting("FAKE_CUPTI_VERSION", 130001);
	return *version ? WS_CUPTI_OK : 15; /* as that of 13.3 without a driver */
}

int cuptiGetResultString(int result, const char **text);
int cuptiGetResultString(int result, const char **text)
{
	*text = result == WS_CUPTI_OK ? "CUPTI_SUCCESS" : "CUPTI_ERROR_FAKE";
	return WS_CUPTI_OK;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;

	if (!cbid || cbid >= CALLS)
		return 1;
	*name = runtime ? "cudaSomethingElse" : "cuSomethingElse";
	if (runtime && cbid == CALL_LAUNCH)
		*name = "cudaLaunchKernel_v7000";
	else if (runtime && cbid == CALL_GET_DEVICE)
		*name = "cudaGetDevice_v3020";
	else if (runtime && cbid == CALL_SYNCHRONIZE)
		*name = "cudaDeviceSynchronize_v3020";
	else if (runtime && cbid == CALL_MEMCPY)
		*name = "cudaMemcpy_v3020";
	else if (runtime && cbid == CALL_GRAPH_LAUNCH)
		*name = "cudaGraphLaunch_v10000";
	else if (runtime && cbid == CALL_BEGIN_CAPTURE)
		*name = "cudaStreamBeginCapture_v10000";
	else if (runtime && cbid == CALL_END_CAPTURE)
		*name = "cudaStreamEndCapture_v10000";
	else if (!runtime && cbid == DRIVER_CALL_VERSION)
		*name = "cuDriverGetVersion";
	else if (!runtime && cbid == DRIVER_CALL_LAUNCH)
		*name = "cuLaunchKernel";
	return WS_CUPTI_OK;
}

int cuptiSubscribe(void **subscriber, ws_cupti_callback fn, void *user);
int cuptiSubscribe(void **subscriber, ws_cupti_callback fn, void *user)
{
	(void)user;
	fake_scopes[0].callback = fn;
	*subscriber = &fake_scopes[0];
	return (int)fake_setting("FAKE_CUPTI_SUBSCRIBE", WS_CUPTI_OK);
}

/* From 13.3 on, and with a driver that can: FAKE_CUPTI_SCOPES 0 is one that cannot. */
static int subscribe_scoped(void **subscriber, ws_cupti_callback fn)
{
	struct scope *s = fake_scopes;

	while (s < fake_scopes + SCOPES && s->callback)
		s++;
	if (!fake_setting("FAKE_CUPTI_SCOPES", 1) || s == fake_scopes + SCOPES)
		return 999;
	s->callback = fn;
	s->is_scoped = 1;
	*subscriber = s;
	return WS_CUPTI_OK;
}

int cuptiUnsubscribe(void *subscriber);
int cuptiUnsubscribe(void *subscriber)
{
	memset(subscriber, 0, sizeof(struct scope));
	return WS_CUPTI_OK;
}

int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params);
int cuptiSubscribe_v2(void **subscriber, ws_cupti_callback fn, void *user,
                      struct ws_cupti_subscriber_params *params)
{
	int result;

	if (params && params->struct_size > WS_CUPTI_PARAMS_13_0 && params->allow_multiple)
		return subscribe_scoped(subscriber, fn);
	result = cuptiSubscribe(subscriber, fn, user);
	if (result == WS_CUPTI_MULTIPLE_SUBSCRIBERS)
		snprintf(params->other_name, params->other_size, "CUPTI for somebody");
	return result;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if ((subscriber != &fake_scopes[0] && subscriber != &fake_scopes[1]) || domain >= 8 ||
	    cbid >= CALLS)
		return 1;
	((struct scope *)subscriber)->callback_on[domain][cbid] = (uint8_t)enable;
	return WS_CUPTI_OK;
}

#ifndef FAKE_CUPTI_LACKS_THREAD_IDS
int cuptiSetThreadIdType(int type);
int cuptiSetThreadIdType(int type)
{
	fake_system_threads = type == WS_CUPTI_THREAD_ID_SYSTEM;
	return WS_CUPTI_OK;
}
#endif

int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	const long version = fake_setting("FAKE_CUPTI_VERSION", 130001);

	fake_must(!fake_scopes[0].request && !fake_scopes[0].scoped_request,
	          "an attribute is set when buffers are registered");
	fake_must(attribute != WS_CUPTI_ATTR_PER_THREAD_BUFFER || version >= WS_CUPTI_VERSION_12_8,
	          "a buffer for each thread, which is not safe before 12.8");
	if (attribute == fake_setting("FAKE_CUPTI_REFUSE_ATTR", -1))
		return 1;
	return *size == 1 && *(uint8_t *)value == 1 &&
	                       (attribute == WS_CUPTI_ATTR_ZEROED_OUT_BUFFER ||
	                        attribute == WS_CUPTI_ATTR_PER_THREAD_BUFFER)
	               ? WS_CUPTI_OK
	               : 1;
}

int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete);
int cuptiActivityRegisterCallbacks(ws_cupti_request on_request, ws_cupti_complete on_complete)
{
	/* the second registration is accepted as the first one is */
	fake_scopes[0].request = on_request;
	fake_scopes[0].complete = on_complete;
	return fake_start(&fake_scopes[0]);
}

int cuptiActivityRegisterCallbacks_v2(void *subscriber, ws_cupti_scoped_request on_request,
                                      ws_cupti_scoped_complete on_complete);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, ws_cupti_scoped_request on_request,
                                      ws_cupti_scoped_complete on_complete)
{
	struct scope *s = subscriber;

	s->scoped_request = on_request;
	s->scoped_complete = on_complete;
	return fake_start(s);
}

int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value)
{
	(void)subscriber;
	return cuptiActivitySetAttribute(attribute, size, value);
}

int cuptiActivityEnable_v2(void *subscriber, int kind, void *config);
int cuptiActivityEnable_v2(void *subscriber, int kind, void *config)
{
	if (config)
		return 1;
	((struct scope *)subscriber)->kind_on[kind] = 1;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid, uint8_t enable);
int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid, uint8_t enable)
{
	((struct scope *)subscriber)->call_on[1][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid, uint8_t enable)
{
	((struct scope *)subscriber)->call_on[0][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiGetTimestamp_v2(void *subscriber, uint64_t *now);
int cuptiGetTimestamp_v2(void *subscriber, uint64_t *now)
{
	(void)subscriber;
	*now = fake_now_ns();
	return WS_CUPTI_OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void));
int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void))
{
	fake_timestamp = fn;
	return WS_CUPTI_OK;
}

int cuptiGetTimestamp(uint64_t *now);
int cuptiGetTimestamp(uint64_t *now)
{
	*now = fake_now_ns();
	return WS_CUPTI_OK;
}

int cuptiActivityEnableAllSyncRecords(uint8_t enable);
int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	if (fake_setting("FAKE_CUPTI_ALL_SYNC", 0))
		return 1;
	atomic_store(&fake_has_all_sync, enable);
	return WS_CUPTI_OK;
}

static int disable(struct scope *s, int kind)
{
	fake_must(kind != WS_CUPTI_KIND_CONCURRENT_KERNEL ||
	                  !fake_setting("FAKE_CUPTI_KERNEL_US", 0) ||
	                  fake_now_ns() > atomic_load(&fake_last_end),
	          "kernels are switched off while one runs");
	s->kind_on[kind] = 0;
	return WS_CUPTI_OK;
}

int cuptiActivityDisable(int kind);
int cuptiActivityDisable(int kind)
{
	return disable(&fake_scopes[0], kind);
}

int cuptiActivityDisable_v2(void *subscriber, int kind, void *config);
int cuptiActivityDisable_v2(void *subscriber, int kind, void *config)
{
	return config ? 1 : disable(subscriber, kind);
}

int cuptiActivityEnable(int kind);
int cuptiActivityEnable(int kind)
{
	if (kind >= WS_CUPTI_KIND_GRAPH_HOST_NODE && kind <= WS_CUPTI_KIND_HOST_LAUNCH &&
	    (fake_setting("FAKE_CUPTI_VERSION", 130001) < WS_CUPTI_VERSION_13_1 ||
	     kind == fake_setting("FAKE_CUPTI_REFUSE_KIND", 0)))
		return WS_CUPTI_INVALID_KIND;
	if (kind == WS_CUPTI_KIND_GREEN_CONTEXT &&
	    fake_setting("FAKE_CUPTI_VERSION", 130001) < WS_CUPTI_VERSION_13_2)
		return WS_CUPTI_INVALID_KIND;
	fake_scopes[0].kind_on[kind] = 1;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable)
{
	if (cbid == (uint32_t)fake_setting("FAKE_CUPTI_REFUSE_CALL", 0))
		return 1;
	fake_scopes[0].call_on[1][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
	fake_scopes[0].call_on[0][cbid] = enable;
	return WS_CUPTI_OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, uint8_t **record);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, uint8_t **record)
{
	static const size_t sizes[64] = {
#define K(KIND, number, name) [number] = WS_CUPTI_SIZE_##name,
	        WS_CUPTI_KIND_LIST(K) WS_CUPTI_LATER_KIND_LIST(K)
#undef K
	};
	size_t at = 0;
	uint32_t kind;

	if (!atomic_load(&fake_has_context) && fake_setting("FAKE_CUPTI_LATE_SIZES", 0))
		return 999;
	if (*record) {
		kind = ws_cupti_kind(*record);
		at = (size_t)(*record - buffer) +
		     (kind == WS_CUPTI_KIND_CONCURRENT_KERNEL ? fake_kernel_size() : sizes[kind]);
	}
	if (at + 8 > valid_size)
		return WS_CUPTI_MAX_LIMIT_REACHED;
	kind = ws_cupti_kind(buffer + at);
	if (kind >= 64 || !sizes[kind])
		return WS_CUPTI_INVALID_KIND;
	*record = buffer + at;
	return WS_CUPTI_OK;
}

/* Handles of contexts are 0x2000 and their number, of streams 0x1000 and theirs. */
int cuptiGetContextId(void *context, uint32_t *id);
int cuptiGetContextId(void *context, uint32_t *id)
{
	*id = (uint32_t)((uintptr_t)context & 0xFFF);
	return (uintptr_t)context >> 12 == 2 ? WS_CUPTI_OK : 3;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t is_per_thread, uint32_t *id);
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t is_per_thread, uint32_t *id)
{
	(void)is_per_thread;
	*id = (uint32_t)((uintptr_t)stream & 0xFFF);
	return !context && (uintptr_t)stream >> 12 == 1 ? WS_CUPTI_OK : 25;
}

int cuptiActivityEnableHWTrace(uint8_t enable);
int cuptiActivityEnableHWTrace(uint8_t enable)
{
	fake_must(enable == 1 && !atomic_load(&fake_has_context),
	          "hardware tracing is asked for when there is a context");
	fake_must(fake_setting("FAKE_CUPTI_VERSION", 130001) >= WS_CUPTI_VERSION_13_4_1,
	          "hardware tracing leaks memory before 13.4 Update 1");
	return (int)fake_setting("FAKE_CUPTI_HW_TRACE", 0);
}

int cuptiGetGraphNodeId(struct fake_node *node, uint64_t *id);
int cuptiGetGraphNodeId(struct fake_node *node, uint64_t *id)
{
	*id = node->id;
	return WS_CUPTI_OK;
}

int cuptiGetGraphId(struct fake_graph *graph, uint32_t *id);
int cuptiGetGraphId(struct fake_graph *graph, uint32_t *id)
{
	*id = graph->id;
	return WS_CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	*n = fake_take_dropped() + !fake_overhead_is_freed();
	return WS_CUPTI_OK;
}

int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid_size,
                                  uint8_t **record);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid_size,
                                  uint8_t **record)
{
	(void)subscriber;
	return cuptiActivityGetNextRecord(buffer, valid_size, record);
}
