#include "recorder/cupti/scope.h"

#include <pthread.h>
#include <stdbool.h>

#include "recorder/cupti/sizes.h"
#include "recorder/cupti/source.h"

static void *subscriber;
static bool is_scoped;

/* --- subscribing --- */

/* All that the newer interface is used for; 13.2 has a part. */
static bool has_scopes(void)
{
	return atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_3 &&
	       ws_cupti.Subscribe_v2 && ws_cupti.Unsubscribe &&
	       ws_cupti.ActivityRegisterCallbacks_v2 && ws_cupti.ActivitySetAttribute_v2 &&
	       ws_cupti.ActivityEnable_v2 && ws_cupti.ActivityEnableRuntimeApi_v2 &&
	       ws_cupti.ActivityEnableDriverApi_v2 && ws_cupti.ActivityGetNextRecord_v2 &&
	       ws_cupti.GetTimestamp_v2;
}

/* A driver that is too old for it says so at one of the two calls. */
static bool subscribe_scoped(const struct ws_cupti_subscription *s)
{
	struct ws_cupti_subscriber_params params = {.struct_size = sizeof(params),
	                                            .name = "warpsheet",
	                                            .allow_multiple = 1};

	if (!has_scopes() ||
	    ws_cupti.Subscribe_v2(&subscriber, s->callback, NULL, &params) != WS_CUPTI_OK)
		return 0;
	is_scoped = 1;
	s->set_attributes();
	if (ws_cupti.ActivityRegisterCallbacks_v2(subscriber, s->buffers->request_v2,
	                                          s->buffers->complete_v2) == WS_CUPTI_OK)
		return 1;
	is_scoped = 0;
	ws_cupti.Unsubscribe(subscriber);
	return 0;
}

int ws_cupti_subscribe(struct ws_cupti_subscription *s)
{
	struct ws_cupti_subscriber_params params = {
	        .struct_size = WS_CUPTI_PARAMS_13_0,
	        .name = "warpsheet",
	        .other_name = s->other_tool,
	        .other_size = s->other_size,
	};
	int result;

	if (subscribe_scoped(s))
		return WS_CUPTI_OK;
	s->function = "cuptiSubscribe";
	result = ws_cupti.Subscribe_v2
	                 ? ws_cupti.Subscribe_v2(&subscriber, s->callback, NULL, &params)
	                 : ws_cupti.Subscribe(&subscriber, s->callback, NULL);
	if (result != WS_CUPTI_OK)
		return result;
	s->set_attributes();
	s->function = "cuptiActivityRegisterCallbacks";
	return ws_cupti.ActivityRegisterCallbacks(s->buffers->request, s->buffers->complete);
}

/* --- asking --- */

int ws_cupti_set(int attribute)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);

	return is_scoped ? ws_cupti.ActivitySetAttribute_v2(subscriber, attribute, &size, &yes)
	                 : ws_cupti.ActivitySetAttribute(attribute, &size, &yes);
}

int ws_cupti_enable(int kind)
{
	return is_scoped ? ws_cupti.ActivityEnable_v2(subscriber, kind, NULL)
	                 : ws_cupti.ActivityEnable(kind);
}

int ws_cupti_enable_call(uint32_t domain, uint32_t cbid)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;
	ws_cupti_fn_ActivityEnableRuntimeApi enable =
	        runtime ? ws_cupti.ActivityEnableRuntimeApi : ws_cupti.ActivityEnableDriverApi;

	if (is_scoped)
		return runtime ? ws_cupti.ActivityEnableRuntimeApi_v2(subscriber, cbid, 1)
		               : ws_cupti.ActivityEnableDriverApi_v2(subscriber, cbid, 1);
	return enable ? enable(cbid, 1) : WS_CUPTI_NO_FUNCTION;
}

int ws_cupti_enable_callback(uint32_t domain, uint32_t cbid)
{
	return ws_cupti.EnableCallback(1, subscriber, domain, cbid);
}

int ws_cupti_next(uint8_t *buffer, size_t valid_size, uint8_t **record)
{
	return is_scoped ? ws_cupti.ActivityGetNextRecord_v2(subscriber, buffer, valid_size, record)
	                 : ws_cupti.ActivityGetNextRecord(buffer, valid_size, record);
}

int ws_cupti_time(uint64_t *now)
{
	if (is_scoped)
		return ws_cupti.GetTimestamp_v2(subscriber, now);
	return ws_cupti.GetTimestamp ? ws_cupti.GetTimestamp(now) : WS_CUPTI_NO_FUNCTION;
}

/* --- sizes of records --- */

void ws_cupti_tell_sizes(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	struct ws_seg_sizes *sizes = &gpu->sizes[ws_collector.image % WS_SEG_IMAGES];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static _Atomic bool are_told;
	sigset_t before;

	if (WS_LIKELY(atomic_load_explicit(&are_told, memory_order_acquire)))
		return;
	ws_lock(&lock, &before);
	if (!atomic_load(&are_told)) {
		atomic_store(&sizes->image, 0);
		ws_cupti_find_sizes(ws_cupti_next, sizes->of_kind);
		if (sizes->of_kind[WS_CUPTI_KIND_CONCURRENT_KERNEL]) {
			atomic_store_explicit(&sizes->image, ws_collector.image,
			                      memory_order_release);
			atomic_store_explicit(&are_told, 1, memory_order_release);
		}
	}
	ws_unlock(&lock, &before);
}
