/* Records of CUPTI whose fields the recording chose (CUPTI 13.3). */
#include <string.h>

#include "recorder/drain/activity.h"

/* A field of the record, 0 when it was not chosen. Numbers of 64 bits for 32: the low half. */
static void get_field(void *out, size_t size, const struct ws_seg_layout *layout, int id,
                      const uint8_t *record)
{
	for (uint32_t i = 0; i < layout->nfields; i++)
		if (layout->fields[i].id == id)
			memcpy(out, record + layout->fields[i].offset,
			       size < layout->fields[i].size ? size : layout->fields[i].size);
}

#define F(field, id) get_field(&k->field, sizeof(k->field), layout, id, record);
void ws_activity_read_kernel(struct ws_cupti_kernel *k, const struct ws_seg_layout *layout,
                             const uint8_t *record)
{
	memset(k, 0, sizeof(*k));
	WS_CUPTI_CHOSEN_KERNEL(F)
}
#undef F

#define F(field, id) get_field(&api->field, sizeof(api->field), layout, id, record);
void ws_activity_read_api(const struct ws_activity *a, struct ws_cupti_api *api,
                          const uint8_t *record, size_t size)
{
	const struct ws_seg_layout *layout =
	        ws_cupti_steps_layout(&a->steps, ws_cupti_kind(record));

	if (!layout) {
		ws_cupti_read_api(api, record, size);
		return;
	}
	memset(api, 0, sizeof(*api));
	WS_CUPTI_CHOSEN_API(F)
}
#undef F
