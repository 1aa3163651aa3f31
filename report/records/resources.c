#include "report/records/resources.h"

#include <stdlib.h>

#include "formats/base/grow.h"

struct key {
	uint64_t type; /* enum ws_resource_type */
	uint64_t pid;  /* 0 of devices, which are the machine's */
	uint64_t number;
};

static void add(struct ws_resources *s, const struct ws_row_resource *row)
{
	struct key key = {row->type, row->pid, (uint64_t)row->number};
	uint64_t place;

	if (row->type == WS_RESOURCE_CUDA_DEVICE)
		key = (struct key){row->type, 0, row->device};
	else if (row->type != WS_RESOURCE_CUDA_CONTEXT && row->type != WS_RESOURCE_CUDA_STREAM)
		return;
	if ((int64_t)key.number < 0)
		return;
	place = ws_strtab_add(&s->keys, &key, sizeof(key));
	WS_GROW(s->names, place, s->capacity);
	s->n = s->keys.used;
	s->names[place - 1] = row->name;
}

enum ws_status ws_resources_load(struct ws_resources *s, const struct ws_trace_reader *r,
                                 struct ws_err *err)
{
	WS_FORWARD(ws_records_load(&s->rows, r, WS_KIND_RESOURCE, err));
	for (size_t i = 0; i < s->rows.n; i++)
		add(s, ws_records_row(&s->rows, i));
	return WS_OK;
}

void ws_resources_free(struct ws_resources *s)
{
	ws_records_free(&s->rows);
	ws_strtab_free(&s->keys);
	free(s->names);
	*s = (struct ws_resources){0};
}

static uint64_t find(const struct ws_resources *s, uint64_t type, uint64_t pid, uint64_t number)
{
	const struct key key = {type, pid, number};
	uint64_t place = s->n ? ws_strtab_find(&s->keys, &key, sizeof(key)) : 0;

	return place ? s->names[place - 1] : 0;
}

uint64_t ws_resources_device(const struct ws_resources *s, uint64_t device)
{
	return find(s, WS_RESOURCE_CUDA_DEVICE, 0, device);
}

uint64_t ws_resources_context(const struct ws_resources *s, uint64_t pid, uint64_t context)
{
	return find(s, WS_RESOURCE_CUDA_CONTEXT, pid, context);
}

uint64_t ws_resources_stream(const struct ws_resources *s, uint64_t pid, uint64_t stream)
{
	return find(s, WS_RESOURCE_CUDA_STREAM, pid, stream);
}
