/* The definition log becomes dictionary rows, and the maps that records need. */
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/nvtx/abi.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/drain/activity.h"
#include "recorder/drain/private.h"
#include "formats/base/grow.h"

/* A definition whose body is known to lie inside the log. */
struct def {
	uint16_t type;
	uint64_t id;
	uint64_t pos; /* in the log */
	const uint8_t *body;
	uint32_t size;
	bool in_file; /* its rows were committed before: only the maps are filled */
};

static struct ws_bytes name_of(const struct def *def, struct ws_def_name name)
{
	if (name.offset > def->size || name.size > def->size - name.offset)
		return (struct ws_bytes){NULL, 0};
	return (struct ws_bytes){def->body + name.offset, name.size};
}

/* The text behind a fixed part of this size. */
static struct ws_bytes text_behind(const struct def *def, uint32_t fixed)
{
	return (struct ws_bytes){def->body + fixed, def->size - fixed};
}

/* --- definitions --- */

static bool define_process(struct ws_drain *d, const struct def *def)
{
	struct ws_def_process fixed;
	struct ws_row_process row;

	if (def->size < sizeof(fixed))
		return 0;
	if (def->in_file)
		return 1;
	memcpy(&fixed, def->body, sizeof(fixed));
	row.pid = fixed.pid;
	row.image = fixed.image;
	row.program = ws_drain_intern(d, text_behind(def, sizeof(fixed)));
	if (!ws_drain_time(d, fixed.start_ns, &row.start_ns))
		return 0;
	ws_drain_add(d, WS_KIND_PROCESS, &row);
	return 1;
}

static void add_thread_row(struct ws_drain *d, const struct def *def, uint64_t id,
                           struct ws_bytes name)
{
	struct ws_row_thread row = {
	        .id = id,
	        .pid = d->threads[id].pid,
	        .tid = d->threads[id].tid,
	};

	if (def->in_file)
		return;
	row.name = ws_drain_intern(d, name);
	ws_drain_add(d, WS_KIND_THREAD, &row);
}

static bool define_thread(struct ws_drain *d, const struct def *def)
{
	struct ws_def_thread fixed;
	struct ws_bytes name;

	if (def->size < sizeof(fixed) || !def->id || def->id >= WS_DRAIN_MAX_THREADS)
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	if (!fixed.pid)
		return 0;
	if (!ws_drain_reach_thread(d, def->id))
		return 0;
	d->threads[def->id] = (struct ws_drain_thread){fixed.pid, fixed.tid};
	name = text_behind(def, sizeof(fixed));
	for (size_t i = d->nnames; i--;) {
		if (d->names[i].pid == fixed.pid && d->names[i].tid == fixed.tid) {
			name = d->names[i].name;
			d->names[i] = d->names[--d->nnames];
			break;
		}
	}
	add_thread_row(d, def, def->id, name);
	return 1;
}

/* Keep the name until the thread has its first event; a later name replaces it. */
static bool keep_name(struct ws_drain *d, const struct ws_def_thread *who, struct ws_bytes name)
{
	size_t i;

	for (i = 0; i < d->nnames; i++)
		if (d->names[i].pid == who->pid && d->names[i].tid == who->tid)
			break;
	if (WS_GROW(d->names, i + 1, d->names_capacity, NULL) != WS_OK)
		return 0;
	if (i == d->nnames)
		d->nnames++;
	d->names[i] = (struct ws_drain_thread_name){who->pid, who->tid, name};
	return 1;
}

static bool define_thread_name(struct ws_drain *d, const struct def *def)
{
	struct ws_def_thread fixed;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	/* the last one: thread ids of the system are used again */
	for (size_t id = d->nthreads; id--;) {
		if (d->threads[id].pid == fixed.pid && d->threads[id].tid == fixed.tid) {
			add_thread_row(d, def, id, text_behind(def, sizeof(fixed)));
			return 1;
		}
	}
	return keep_name(d, &fixed, text_behind(def, sizeof(fixed)));
}

static bool define_domain(struct ws_drain *d, const struct def *def)
{
	/* a domain beyond the last place has no events: the collector counted them */
	if (def->id && def->id < WS_SEG_MAX_DOMAINS)
		d->domains[def->id] = (struct ws_drain_domain){1, text_behind(def, 0), 0};
	return 1;
}

static bool define_string(struct ws_drain *d, const struct def *def)
{
	if (def->id != def->pos / 8 + 1)
		return 0;
	d->strings[def->pos / 8] = 1;
	return 1;
}

static bool define_category(struct ws_drain *d, const struct def *def)
{
	struct ws_def_category fixed;
	struct ws_row_category row;
	int known;

	if (def->size < sizeof(fixed))
		return 0;
	if (def->in_file)
		return 1;
	memcpy(&fixed, def->body, sizeof(fixed));
	row.domain = ws_drain_domain_id(d, fixed.domain, &known);
	row.id = fixed.category;
	row.name = ws_drain_intern(d, text_behind(def, sizeof(fixed)));
	if (!known)
		return 0;
	ws_drain_add(d, WS_KIND_CATEGORY, &row);
	return 1;
}

static bool define_schema(struct ws_drain *d, const struct def *def)
{
	struct ws_def_schema fixed;
	struct ws_row_payload_schema row;
	struct ws_bytes name;
	int known;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	if (fixed.nfields > (def->size - sizeof(fixed)) / sizeof(struct ws_def_field))
		return 0;
	name = name_of(def, fixed.name);
	if (name.len == strlen("warpsheet.launch") &&
	    !memcmp(name.ptr, "warpsheet.launch", name.len) &&
	    fixed.size_bytes == sizeof(struct wsnvtx_launch) &&
	    d->nlaunch_schemas < WS_DRAIN_LAUNCH_SCHEMAS)
		d->launch_schemas[d->nlaunch_schemas++] = def->id;
	if (def->in_file)
		return 1;

	row.id = def->id;
	row.domain = ws_drain_domain_id(d, fixed.domain, &known);
	row.name = ws_drain_intern(d, name);
	row.type = fixed.type;
	row.size_bytes = fixed.size_bytes;
	ws_drain_add(d, WS_KIND_PAYLOAD_SCHEMA, &row);
	for (uint32_t i = 0; i < fixed.nfields; i++) {
		struct ws_def_field f;
		struct ws_row_payload_field field;

		memcpy(&f, def->body + sizeof(fixed) + i * sizeof(f), sizeof(f));
		field.schema = def->id;
		field.index = i;
		field.name = ws_drain_intern(d, name_of(def, f.name));
		field.type = f.type;
		field.offset_bytes = f.offset;
		field.array_length = f.array_length;
		field.flags = f.flags;
		ws_drain_add(d, WS_KIND_PAYLOAD_FIELD, &field);
	}
	return 1;
}

static bool define_enum(struct ws_drain *d, const struct def *def)
{
	struct ws_def_enum fixed;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	if (fixed.nentries > (def->size - sizeof(fixed)) / sizeof(struct ws_def_enum_entry))
		return 0;
	for (uint32_t i = 0; !def->in_file && i < fixed.nentries; i++) {
		struct ws_def_enum_entry e;
		struct ws_row_payload_enum row = {
		        .id = def->id,
		        .name = ws_drain_intern(d, name_of(def, fixed.name)),
		        .size_bytes = fixed.size_bytes,
		};

		memcpy(&e, def->body + sizeof(fixed) + i * sizeof(e), sizeof(e));
		row.entry = ws_drain_intern(d, name_of(def, e.name));
		row.value = e.value;
		ws_drain_add(d, WS_KIND_PAYLOAD_ENUM, &row);
	}
	return 1;
}

static bool define_call(struct ws_drain *d, const struct def *def)
{
	struct ws_def_call fixed;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	return ws_activity_name_call(d->activity, fixed.domain, fixed.cbid,
	                             text_behind(def, sizeof(fixed)));
}

static bool define_kernel(struct ws_drain *d, const struct def *def)
{
	struct ws_def_kernel fixed;

	if (def->size != sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	return ws_activity_name_kernel(d->activity, fixed.address, (uint32_t)fixed.string);
}

static bool define_fact(struct ws_drain *d, const struct def *def)
{
	const uint8_t *nul = memchr(def->body, 0, def->size);
	struct ws_row_meta row;

	if (!nul || nul == def->body)
		return 0;
	row.key = (struct ws_bytes){def->body, (size_t)(nul - def->body)};
	row.value = text_behind(def, (uint32_t)row.key.len + 1);
	if (!def->in_file)
		ws_drain_add(d, WS_KIND_META, &row);
	return 1;
}

static bool define_device_attr(struct ws_drain *d, const struct def *def)
{
	struct ws_def_device_attr fixed;
	struct ws_row_device_attr row;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	if (def->in_file)
		return 1;
	if (fixed.device >= WS_MAX_GPUS || !ws_drain_device(d, (uint32_t)fixed.device))
		return 0;
	row.device = fixed.device;
	row.attr = ws_drain_intern(d, text_behind(def, sizeof(fixed)));
	row.value = fixed.value;
	ws_drain_add(d, WS_KIND_DEVICE_ATTR, &row);
	return 1;
}

static bool define_window(struct ws_drain *d, const struct def *def)
{
	struct ws_def_window fixed;

	if (def->size < sizeof(fixed))
		return 0;
	memcpy(&fixed, def->body, sizeof(fixed));
	return ws_filter_range(d, &fixed);
}

static bool define(struct ws_drain *d, const struct def *def)
{
	switch (def->type) {
	case WS_DEF_PROCESS:
		return define_process(d, def);
	case WS_DEF_THREAD:
		return define_thread(d, def);
	case WS_DEF_THREAD_NAME:
		return define_thread_name(d, def);
	case WS_DEF_DOMAIN:
		return define_domain(d, def);
	case WS_DEF_STRING:
		return define_string(d, def);
	case WS_DEF_CATEGORY:
		return define_category(d, def);
	case WS_DEF_SCHEMA:
		return define_schema(d, def);
	case WS_DEF_WINDOW:
		return define_window(d, def);
	case WS_DEF_ENUM:
		return define_enum(d, def);
	case WS_DEF_CALL:
		return define_call(d, def);
	case WS_DEF_KERNEL:
		return define_kernel(d, def);
	case WS_DEF_FACT:
		return define_fact(d, def);
	case WS_DEF_DEVICE_ATTR:
		return define_device_attr(d, def);
	default:
		return 0;
	}
}

uint64_t ws_drain_defs_end(const struct ws_drain *d)
{
	uint64_t end = atomic_load_explicit(&d->seg->defs_head, memory_order_acquire);

	return end < d->seg->defs_size ? end : d->seg->defs_size;
}

uint64_t ws_drain_definitions(struct ws_drain *d)
{
	uint64_t end = ws_drain_defs_end(d), n = 0;
	const uint8_t *log = ws_seg_defs(d->seg);

	while (d->defs_pos < end) {
		uint64_t left = end - d->defs_pos;
		struct ws_def_head head;
		struct def def;

		if (left >= sizeof(head))
			memcpy(&head, log + d->defs_pos, sizeof(head));
		if (left < sizeof(head) || head.size < sizeof(head) || head.size > left ||
		    head.size % 8 || head.body_size > head.size - sizeof(head)) {
			d->counted[WS_DROPPED_unknown_record]++;
			d->defs_pos = end; /* nothing behind it can be found */
			break;
		}
		def = (struct def){
		        .type = head.type,
		        .id = head.id,
		        .pos = d->defs_pos,
		        .body = log + d->defs_pos + sizeof(head),
		        .size = head.body_size,
		        .in_file = d->defs_pos < d->defs_in_file,
		};
		if (!define(d, &def) && !def.in_file)
			d->counted[WS_DROPPED_unknown_record]++;
		d->defs_pos += head.size;
		n++;
	}
	return n;
}
