/* What a timeline says of the trace itself: devices, and how it was recorded. */
#include "report/base/names.h"
#include "report/export/chrome/private.h"

#include <stdbool.h>

/* Of rows that say the same thing twice, the last one counts: a number for each thing. */
struct last_rows {
	struct ws_strtab things;
	struct ws_map row;
};

static void last_rows_add(struct last_rows *l, const void *thing, size_t len, size_t row)
{
	uint64_t id;

	id = ws_strtab_add(&l->things, thing, len);
	ws_map_put(&l->row, id, row);
}

static bool last_rows_is(const struct last_rows *l, const void *thing, size_t len, size_t row)
{
	const uint64_t *last = ws_map_get(&l->row, ws_strtab_find(&l->things, thing, len));

	return last && *last == row;
}

static void last_rows_free(struct last_rows *l)
{
	ws_strtab_free(&l->things);
	ws_map_free(&l->row);
}

static void put_properties(struct ws_chrome *ch, uint64_t device, const struct last_rows *last)
{
	/* as PyTorch's profiler has them */
	static const struct {
		const char *key, *attr;
	} properties[] = {
#define DEVICE(text, attr) {text, attr},
#include "formats/pytorch/pytorch.def"
	};

	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE_ATTR].n; i++) {
		const struct ws_row_device_attr *row =
		        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, i);
		const uint64_t thing[2] = {row->device, row->attr};
		struct ws_bytes attr = ws_chrome_text(ch, row->attr);

		if (row->device != device || !last_rows_is(last, thing, sizeof(thing), i))
			continue;
		for (size_t p = 0; p < sizeof(properties) / sizeof(*properties); p++)
			if (ws_name_is(attr, properties[p].attr))
				ws_json_i64(ws_json_key(&ch->j, properties[p].key), row->value);
	}
}

void ws_chrome_put_devices(struct ws_chrome *ch)
{
	struct last_rows last = {0};
	struct ws_json_writer *j = &ch->j;

	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE_ATTR].n; i++) {
		const struct ws_row_device_attr *row =
		        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, i);
		const uint64_t thing[2] = {row->device, row->attr};

		last_rows_add(&last, thing, sizeof(thing), i);
	}
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "deviceProperties"));
	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE].n; i++) {
		const struct ws_row_device *d = WS_CHROME_ROW(ch, DEVICE, device, i);
		struct ws_bytes name = ws_chrome_text(ch, d->name);

		if (ws_records_find(&ch->kind[WS_KIND_DEVICE], d->id) != d)
			continue; /* a later row says more */
		ws_json_break(j);
		ws_json_object_begin(j);
		ws_json_u64(ws_json_key(j, "id"), d->id);
		ws_json_string(ws_json_key(j, "name"), name.ptr, name.len);
		put_properties(ch, d->id, &last);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	last_rows_free(&last);
}

void ws_chrome_each_meta(struct ws_chrome *ch,
                         void (*fn)(struct ws_chrome *ch, const char *key, struct ws_bytes value))
{
	struct last_rows last = {0};
	char key[200];

	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		last_rows_add(&last, m->key.ptr, m->key.len, i);
	}
	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		if (!last_rows_is(&last, m->key.ptr, m->key.len, i) || !m->key.len ||
		    m->key.len >= sizeof(key))
			continue;
		memcpy(key, m->key.ptr, m->key.len);
		key[m->key.len] = 0;
		fn(ch, key, (struct ws_bytes){m->value.ptr ? m->value.ptr : "", m->value.len});
	}
	last_rows_free(&last);
}

/* --- what PyTorch's tools look for ---------------------------------------------------------- */

/* A number as one, if it is short enough to be one for sure. */
static void put_scalar(struct ws_json_writer *j, const char *key, struct ws_bytes value)
{
	const char *text = value.ptr;
	bool is_number = value.len > 0 && value.len < 16;
	int64_t number = 0;

	for (size_t i = 0; i < value.len && is_number; i++) {
		is_number = text[i] >= '0' && text[i] <= '9';
		number = number * 10 + (text[i] - '0');
	}
	ws_json_key(j, key);
	if (is_number)
		ws_json_i64(j, number);
	else
		ws_json_string(j, text, value.len);
}

static void put_top(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const struct {
		const char *text, *key;
	} names[] = {
#define META(text, key) {text, key},
#include "formats/pytorch/pytorch.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i].key, key) != 0)
			continue;
		ws_json_break(&ch->j);
		put_scalar(&ch->j, names[i].text, value);
	}
}

static void put_distributed(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const char *const ends[] = {"rank", "world_size", "backend", "nccl_version"};

	for (size_t e = 0; e < sizeof(ends) / sizeof(*ends); e++)
		if (ws_bytes_begin(ws_bytes_of(key), ch->rank_keys) &&
		    !strcmp(key + strlen(ch->rank_keys), ends[e]))
			put_scalar(&ch->j, ends[e], value);
}

/* Of PyTorch's names and of the recorder's: both mean the same, and a trace may have both. */
static void look_for_rank(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	(void)value;
	if (!strcmp(key, "distributed.rank"))
		ch->rank_keys = "distributed.";
	else if (!strcmp(key, "process.rank") && !ch->rank_keys)
		ch->rank_keys = "process.";
}

void ws_chrome_put_pytorch_meta(struct ws_chrome *ch)
{
	ws_chrome_each_meta(ch, put_top);
	ws_chrome_each_meta(ch, look_for_rank);
	if (!ch->rank_keys)
		return;
	ws_json_break(&ch->j);
	ws_json_object_begin(ws_json_key(&ch->j, "distributedInfo"));
	ws_chrome_each_meta(ch, put_distributed);
	ws_json_object_end(&ch->j);
}
