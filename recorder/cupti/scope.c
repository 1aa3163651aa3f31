#include "recorder/cupti/scope.h"

#include <stdbool.h>

#include "recorder/cupti/source.h"

static void *subscriber;
static int is_scoped, has_chosen;

/* --- subscribing --- */

/* All that the newer interface is used for; 13.2 has a part, without layouts. */
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
static bool subscribe_scoped(ws_cupti_callback callback, const struct ws_cupti_buffers *buffers)
{
	struct ws_cupti_subscriber_params params = {.struct_size = sizeof(params),
	                                            .name = "warpsheet",
	                                            .allow_multiple = 1};

	if (!has_scopes() ||
	    ws_cupti.Subscribe_v2(&subscriber, callback, NULL, &params) != WS_CUPTI_OK)
		return 0;
	if (ws_cupti.ActivityRegisterCallbacks_v2(subscriber, buffers->request_v2,
	                                          buffers->complete_v2) == WS_CUPTI_OK)
		return 1;
	ws_cupti.Unsubscribe(subscriber);
	return 0;
}

int ws_cupti_subscribe(ws_cupti_callback callback, const struct ws_cupti_buffers *buffers,
                       char *other, size_t other_size, const char **function)
{
	struct ws_cupti_subscriber_params params = {
	        .struct_size = WS_CUPTI_PARAMS_13_0,
	        .name = "warpsheet",
	        .other_name = other,
	        .other_size = other_size,
	};
	int result;

	is_scoped = subscribe_scoped(callback, buffers);
	if (is_scoped)
		return WS_CUPTI_OK;
	*function = "cuptiSubscribe";
	result = ws_cupti.Subscribe_v2 ? ws_cupti.Subscribe_v2(&subscriber, callback, NULL, &params)
	                               : ws_cupti.Subscribe(&subscriber, callback, NULL);
	if (result != WS_CUPTI_OK)
		return result;
	*function = "cuptiActivityRegisterCallbacks";
	return ws_cupti.ActivityRegisterCallbacks(buffers->request, buffers->complete);
}

/* --- asking --- */

int ws_cupti_set(int attribute)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);

	return is_scoped ? ws_cupti.ActivitySetAttribute_v2(subscriber, attribute, &size, &yes)
	                 : ws_cupti.ActivitySetAttribute(attribute, &size, &yes);
}

int ws_cupti_choose_fields(void)
{
	int result =
	        is_scoped ? ws_cupti_set(WS_CUPTI_ATTR_USER_DEFINED_RECORDS) : WS_CUPTI_NO_FUNCTION;

	has_chosen = result == WS_CUPTI_OK;
	return result;
}

#define F(field, id) id,
static int kernel_fields[] = {0, WS_CUPTI_CHOSEN_KERNEL(F)};
static int api_fields[] = {0, WS_CUPTI_CHOSEN_API(F)};
#undef F

int ws_cupti_enable(int kind)
{
	struct ws_cupti_activity_config config = {sizeof(config),
	                                          {sizeof(config.selection),
	                                           sizeof(kernel_fields) / sizeof(*kernel_fields),
	                                           kernel_fields}};

	if (!is_scoped)
		return ws_cupti.ActivityEnable(kind);
	if (!has_chosen)
		return ws_cupti.ActivityEnable_v2(subscriber, kind, NULL);
	if (kind == WS_CUPTI_KIND_RUNTIME || kind == WS_CUPTI_KIND_DRIVER) {
		config.selection.nfields = sizeof(api_fields) / sizeof(*api_fields);
		config.selection.ids = api_fields;
	} else if (kind != WS_CUPTI_KIND_CONCURRENT_KERNEL) {
		return WS_CUPTI_OK;
	}
	return ws_cupti.ActivityEnable_v2(subscriber, kind, &config);
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

/* --- layouts --- */

static void note_layout(uint32_t kind, const struct ws_cupti_record_layout *layout)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	uint32_t n = atomic_load(&gpu->nlayouts);
	struct ws_seg_layout *out = &gpu->layouts[n];

	if (n == WS_SEG_LAYOUTS || layout->record_size > UINT16_MAX)
		return;
	*out = (struct ws_seg_layout){.kind = kind, .size = (uint16_t)layout->record_size};
	for (size_t i = 0; i < layout->nfields && i < WS_SEG_LAYOUT_FIELDS; i++) {
		const struct ws_cupti_field *f = &layout->fields[i];

		if (f->id < 0 || f->id > UINT16_MAX || f->offset > UINT16_MAX || f->size > 8)
			continue;
		out->fields[out->nfields++] =
		        (struct ws_seg_layout_field){(uint16_t)f->id, (uint16_t)f->offset,
		                                     (uint16_t)f->size};
	}
	atomic_store_explicit(&gpu->nlayouts, n + 1, memory_order_release);
}

const struct ws_seg_layout *ws_cupti_layout(uint32_t kind)
{
	return has_chosen ? ws_seg_layout_of(&ws_collector.seg->gpu, kind) : NULL;
}

void ws_cupti_note_layouts(const struct ws_cupti_complete_info *info)
{
	static const uint32_t kinds[] = {WS_CUPTI_KIND_CONCURRENT_KERNEL, WS_CUPTI_KIND_RUNTIME,
	                                 WS_CUPTI_KIND_DRIVER};
	static _Atomic int is_noted;

	if (!has_chosen || !info || !info->layouts || atomic_exchange(&is_noted, 1))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i] < info->nlayouts && info->layouts[kinds[i]])
			note_layout(kinds[i], info->layouts[kinds[i]]);
}
