/*
 * Payload schemas and enumerations: stored in the definition log with all
 * offsets worked out, and remembered here as far as events need it (the size,
 * and where text outside the payload must be fetched while it lives).
 */
#include <stdbool.h>
#include <string.h>

#include "kernels/nvtx/abi.h"
#include "recorder/collect/collector.h"

#define MAX_SCHEMAS 768

/* In the order of their registration: of two with one id the later one holds. */
static struct ws_schema schemas[MAX_SCHEMAS];
static _Atomic uint32_t schemas_used;

uint32_t ws_entry_size(uint64_t type)
{
	switch (type) {
#define X(name, value, ctype) \
	case value:           \
		return sizeof(ctype);
		WSN_ENTRY_TYPE_C_LIST(X)
#undef X
#define X(name, value, size) \
	case value:          \
		return size;
		WSN_ENTRY_TYPE_SIZED_LIST(X)
#undef X
	default:
		return 0;
	}
}

struct ws_schema *ws_schema_find(uint64_t id)
{
	uint32_t i = atomic_load_explicit(&schemas_used, memory_order_acquire);

	while (i--)
		if (schemas[i].id == id)
			return &schemas[i];
	return NULL;
}

/* What the trace calls the type that the program calls so. */
static uint64_t traced_id(uint32_t domain, uint64_t type)
{
	uint64_t id = ws_schema_id(domain, type);
	const struct ws_schema *s = id < WSN_SCHEMA_ID_STATIC_START ? NULL : ws_schema_find(id);

	return s ? s->traced : id;
}

/* With the definition lock held. id: by ws_schema_id(). */
static void remember(uint64_t id, uint64_t traced, const struct ws_schema *what)
{
	const struct ws_schema *before = ws_schema_find(id);
	uint32_t i = atomic_load_explicit(&schemas_used, memory_order_relaxed);

	if (before && before->traced == traced)
		return;
	if (i == MAX_SCHEMAS) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return;
	}
	schemas[i] = *what;
	schemas[i].id = id;
	schemas[i].traced = traced;
	atomic_store_explicit(&schemas_used, i + 1, memory_order_release);
}

/* --- layout of one schema --- */

/* Where the walk over a schema's entries has come to. */
struct layout {
	uint32_t domain;
	uint64_t schema_type;
	uint64_t pack; /* greatest alignment, 0 = natural */
	uint64_t end;  /* of the entry before */
	int known;     /* end is */
	struct ws_schema s;
};

struct extent {
	uint64_t size, align; /* size 0: unknown */
	const struct ws_schema *nested;
};

/* Strings are pointers unless the entry says how many characters lie in the payload itself. */
static bool is_text_pointer(const struct wsn_schema_entry *e)
{
	const uint64_t inside = WSN_ENTRY_FLAG_POINTER | WSN_ENTRY_FLAG_OFFSET_FROM_BASE |
	                        WSN_ENTRY_FLAG_OFFSET_FROM_HERE | WSN_ENTRY_FLAG_ARRAY_MASK;

	if (e->type == WSN_ENTRY_REGISTERED_STRING)
		return !(e->flags & inside);
	return e->type >= WSN_ENTRY_CSTRING && e->type <= WSN_ENTRY_CSTRING_UTF32 &&
	       !(e->flags & inside) && !e->array_or_union_detail;
}

static uint32_t character_size(uint64_t type)
{
	return type == WSN_ENTRY_CSTRING_UTF16 ? 2 : type == WSN_ENTRY_CSTRING_UTF32 ? 4 : 1;
}

static struct extent extent_of(const struct layout *l, const struct wsn_schema_entry *e)
{
	uint64_t array = e->flags & WSN_ENTRY_FLAG_ARRAY_MASK;
	struct extent x = {ws_entry_size(e->type), 0, NULL};

	x.align = x.size;
	if (!x.size) {
		x.nested = ws_schema_find(ws_schema_id(l->domain, e->type));
		x.size = x.nested ? x.nested->size : 0;
		x.align = x.nested ? x.nested->align : 0;
	}
	if (e->flags & WSN_ENTRY_FLAG_POINTER) {
		x = (struct extent){sizeof(void *), sizeof(void *), NULL};
	} else if (e->flags & (WSN_ENTRY_FLAG_OFFSET_FROM_BASE | WSN_ENTRY_FLAG_OFFSET_FROM_HERE)) {
		x = (struct extent){0, 0, NULL};
	} else if (e->type >= WSN_ENTRY_CSTRING && e->type <= WSN_ENTRY_CSTRING_UTF32 &&
	           !is_text_pointer(e)) {
		x.align = character_size(e->type);
		x.size = e->array_or_union_detail < WS_MAX_PAYLOAD
		                 ? e->array_or_union_detail * x.align
		                 : 0;
	} else if (array == WSN_ENTRY_FLAG_ARRAY_FIXED_SIZE) {
		x.size = e->array_or_union_detail < WS_MAX_PAYLOAD
		                 ? x.size * e->array_or_union_detail
		                 : 0;
	} else if (array) {
		x.size = 0;
	}
	if (l->pack && x.align > l->pack)
		x.align = l->pack;
	return x;
}

static void add_text(struct ws_schema *s, uint64_t offset, uint32_t type)
{
	if (s->ntexts == WS_SCHEMA_TEXTS || offset > WS_MAX_PAYLOAD) {
		s->out_of_line = 1;
		return;
	}
	s->text[s->ntexts].offset = (uint32_t)offset;
	s->text[s->ntexts++].type = type;
}

/* Offset of entry i, the state moved past it. */
static uint64_t place(struct layout *l, const struct wsn_schema_entry *e, size_t i)
{
	struct extent x = extent_of(l, e);
	int fixed = l->schema_type == WSN_SCHEMA_STATIC;
	int array = (e->flags & WSN_ENTRY_FLAG_ARRAY_MASK) != 0;
	uint64_t offset = e->offset;

	if (fixed && !offset && i && l->known && x.align)
		offset = (l->end + x.align - 1) / x.align * x.align;
	if (x.align > l->s.align)
		l->s.align = (uint32_t)x.align;
	if (!x.size)
		l->known = 0;
	/* an offset that is given makes the position known again */
	else if (e->offset || !i)
		l->known = 1;
	l->end = offset + x.size;

	if (is_text_pointer(e)) {
		if (fixed && (l->known || e->offset))
			add_text(&l->s, offset, (uint32_t)e->type);
		else
			l->s.out_of_line = 1;
	} else if (e->flags & WSN_ENTRY_FLAG_POINTER) {
		l->s.out_of_line = 1;
	} else if (x.nested && (x.nested->ntexts || x.nested->out_of_line)) {
		for (int t = 0; fixed && !array && t < x.nested->ntexts; t++)
			add_text(&l->s, offset + x.nested->text[t].offset, x.nested->text[t].type);
		if (!fixed || array || x.nested->out_of_line)
			l->s.out_of_line = 1;
	}
	return offset;
}

/* --- registration --- */

/* The body of a definition while it is filled: fixed part first, names behind. */
struct body {
	uint8_t *bytes;
	uint32_t used, room;
	int full;
};

static struct ws_def_name put_name(struct body *b, const char *text)
{
	struct ws_event_text t = {text, WS_TEXT_BYTES, 0};
	struct ws_def_name name = {b->used, 0};

	if (ws_text_measure(&t, WS_MAX_TEXT))
		ws_lost(WS_DROPPED_text_truncated, 1);
	if (t.size > b->room - b->used) {
		b->full = 1;
		return name;
	}
	if (t.size)
		memcpy(b->bytes + b->used, text, t.size);
	name.size = t.size;
	b->used += t.size;
	return name;
}

/* Open a definition whose fixed part is head_size + n * item_size bytes, zeroed. */
static struct body open_body(size_t head_size, size_t n, size_t item_size)
{
	struct body b = {NULL, 0, 0, 0};

	b.bytes = ws_def_begin(&b.room);
	if (n > b.room / item_size || head_size + n * item_size > b.room) {
		b.full = 1;
		return b;
	}
	b.used = (uint32_t)(head_size + n * item_size);
	memset(b.bytes, 0, b.used);
	return b;
}

/*
 * Publish under the id that the program chose in its domain, or under a new one
 * where it chose none or another schema has that, and remember the schema.
 * Returns the id for the program.
 */
static uint64_t close_body(struct body *b, enum ws_def_type type, uint32_t domain,
                           uint64_t program_id, const struct ws_schema *what)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t next = atomic_load(&seg->next_schema) + 1;
	uint64_t chosen = ws_schema_id(domain, program_id), id = chosen;
	const struct ws_def_head *def;

	if (b->full) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	if (!program_id || ws_def_has_schema(chosen))
		id = WSN_SCHEMA_ID_DYNAMIC_START + next;
	def = ws_def_publish(type, b->used, id, 1);
	if (id != chosen && def->id == id)
		atomic_store(&seg->next_schema, next);
	remember(program_id ? chosen : def->id, def->id, what);
	return program_id ? program_id : def->id;
}

/* An id that the program chose, 0 when it chose none, UINT64_MAX when it must not choose that. */
static uint64_t chosen_id(int is_set, uint64_t id)
{
	if (!is_set || !id)
		return 0;
	if (id < WSN_SCHEMA_ID_STATIC_START || id >= WSN_SCHEMA_ID_DYNAMIC_START)
		return UINT64_MAX;
	return id;
}

uint64_t ws_schema_register(uint32_t domain, const struct wsn_schema_attr *attr)
{
	uint64_t mask = attr->field_mask, result;
	uint64_t program_id = chosen_id(!!(mask & WSN_SCHEMA_FIELD_SCHEMA_ID), attr->schema_id);
	size_t n = mask & WSN_SCHEMA_FIELD_NUM_ENTRIES ? attr->num_entries : 0;
	struct layout l = {.domain = domain, .known = 1};
	struct ws_def_schema *head;
	struct ws_def_field *field;
	uint64_t details = 0;
	struct body b;

	if (!(mask & WSN_SCHEMA_FIELD_ENTRIES) || !attr->entries || !n ||
	    program_id == UINT64_MAX) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	l.schema_type = mask & WSN_SCHEMA_FIELD_TYPE ? attr->type : WSN_SCHEMA_STATIC;
	l.pack = mask & WSN_SCHEMA_FIELD_ALIGNMENT ? attr->pack_align : 0;

	b = open_body(sizeof(*head), n, sizeof(*field));
	head = (struct ws_def_schema *)(void *)b.bytes;
	field = (struct ws_def_field *)(void *)(head + 1);
	for (size_t i = 0; !b.full && i < n; i++) {
		const struct wsn_schema_entry *e = &attr->entries[i];

		field[i].flags = e->flags;
		field[i].type = traced_id(domain, e->type);
		field[i].offset = place(&l, e, i);
		field[i].array_length = e->array_or_union_detail;
		field[i].name = put_name(&b, e->name);
		details += (e->description && *e->description) + (e->semantics != NULL);
	}
	if (mask & WSN_SCHEMA_FIELD_STATIC_SIZE)
		l.s.size = (uint32_t)attr->payload_static_size;
	else if (l.known && l.schema_type == WSN_SCHEMA_STATIC && l.s.align)
		l.s.size = (uint32_t)((l.end + l.s.align - 1) / l.s.align * l.s.align);
	if (!b.full) {
		head->program_id = program_id;
		head->type = l.schema_type;
		head->size_bytes = l.s.size;
		head->domain = domain;
		head->nfields = (uint32_t)n;
		head->name = put_name(&b, mask & WSN_SCHEMA_FIELD_NAME ? attr->name : NULL);
	}
	result = close_body(&b, WS_DEF_SCHEMA, domain, program_id, &l.s);
	ws_def_end();
	if (details)
		ws_lost(WS_DROPPED_nvtx_not_kept_schema_details, details);
	return result;
}

uint64_t ws_enum_register(uint32_t domain, const struct wsn_enum_attr *attr)
{
	uint64_t mask = attr->field_mask, result;
	uint64_t program_id = chosen_id(!!(mask & WSN_ENUM_FIELD_SCHEMA_ID), attr->schema_id);
	size_t n = mask & WSN_ENUM_FIELD_NUM_ENTRIES ? attr->num_entries : 0;
	struct ws_schema what = {.size = 0};
	struct ws_def_enum_entry *entry;
	struct ws_def_enum *head;
	struct body b;

	if (!(mask & WSN_ENUM_FIELD_ENTRIES) || !attr->entries || !n || program_id == UINT64_MAX) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	/* a C enum is an int when nothing is said */
	what.size =
	        mask & WSN_ENUM_FIELD_SIZE ? (uint32_t)attr->size_of_enum : (uint32_t)sizeof(int);
	what.align = what.size;

	b = open_body(sizeof(*head), n, sizeof(*entry));
	head = (struct ws_def_enum *)(void *)b.bytes;
	entry = (struct ws_def_enum_entry *)(void *)(head + 1);
	for (size_t i = 0; !b.full && i < n; i++) {
		entry[i].value = (int64_t)attr->entries[i].value;
		entry[i].name = put_name(&b, attr->entries[i].name);
	}
	if (!b.full) {
		head->program_id = program_id;
		head->size_bytes = what.size;
		head->domain = domain;
		head->nentries = (uint32_t)n;
		head->name = put_name(&b, mask & WSN_ENUM_FIELD_NAME ? attr->name : NULL);
	}
	result = close_body(&b, WS_DEF_ENUM, domain, program_id, &what);
	ws_def_end();
	return result;
}
