/* The definition log. Records refer to its definitions by number. */

#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/collect/collector.h"

/*
 * Hash table to find equal definitions: open addressing by the hash of type and body. Once three
 * quarters are used, new definitions are no longer entered, and only their duplicates take extra
 * room.
 */
#define TABLE_SIZE (1u << 15)
static struct {
	uint32_t hash;
	uint32_t position; /* position in the log / 8 + 1; 0: unused */
} table[TABLE_SIZE];
static uint32_t table_used;

/* Bytes of a definition besides its body: head and padding. */
#define WS_DEF_FRAME (sizeof(struct ws_def_head) + 8)

static pthread_mutex_t define_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t domain_order = PTHREAD_MUTEX_INITIALIZER;
static sigset_t signals_before; /* signal mask of the thread that holds the lock */

_Atomic uint32_t ws_cpu_domain = WS_DEF_NONE;

static struct ws_def_head *def_at(uint64_t pos)
{
	return (struct ws_def_head *)(ws_seg_defs(ws_collector.seg) + pos);
}

/* The id of a definition that is found by its position in the log. */
static uint64_t id_by_position(const struct ws_def_head *def)
{
	return (uint64_t)((const uint8_t *)def - ws_seg_defs(ws_collector.seg)) / 8 + 1;
}

/* FNV-1a. Deliberate collisions do no harm here. */
static uint32_t hash_def(enum ws_def_type type, const uint8_t *body, uint32_t size)
{
	uint32_t h = 2166136261u ^ (uint32_t)type;

	for (uint32_t i = 0; i < size; i++)
		h = (h ^ body[i]) * 16777619u;
	return h;
}

static struct ws_def_head *find_equal(enum ws_def_type type, const uint8_t *body, uint32_t size,
                                      uint32_t hash)
{
	for (uint32_t i = hash % TABLE_SIZE; table[i].position; i = (i + 1) % TABLE_SIZE) {
		struct ws_def_head *def = def_at((uint64_t)(table[i].position - 1) * 8);

		if (table[i].hash == hash && def->type == type && def->body_size == size &&
		    !memcmp(def + 1, body, size))
			return def;
	}
	return NULL;
}

static void remember(uint64_t pos, uint32_t hash)
{
	uint32_t i = hash % TABLE_SIZE;

	if (table_used > TABLE_SIZE / 4 * 3)
		return;
	while (table[i].position)
		i = (i + 1) % TABLE_SIZE;
	table[i].hash = hash;
	table[i].position = (uint32_t)(pos / 8) + 1;
	table_used++;
}

uint8_t *ws_def_begin(uint32_t *room)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t pos, ready, to;
	sigset_t before;

	ws_lock(&define_lock, &before);
	signals_before = before;
	pos = atomic_load_explicit(&seg->defs_head, memory_order_relaxed);
	/* Number of bytes that can be written at pos. Gets memory if necessary. */
	to = pos + WS_DEFS_AHEAD;
	if (to > seg->defs_size)
		to = seg->defs_size;
	if (seg->defs_ready < to && seg->defs_ready < pos + WS_MAX_DEF + WS_DEF_FRAME &&
	    !ws_seg_populate(seg, ws_seg_defs(seg) + seg->defs_ready, to - seg->defs_ready))
		seg->defs_ready = to;
	ready = seg->defs_ready > pos ? seg->defs_ready - pos : 0;
	ready = ready < WS_DEF_FRAME ? 0 : ready - WS_DEF_FRAME;
	*room = ready < WS_MAX_DEF ? (uint32_t)ready : WS_MAX_DEF;
	return (uint8_t *)(def_at(pos) + 1);
}

const struct ws_def_head *ws_def_publish(enum ws_def_type type, uint32_t body_size, uint64_t id,
                                         int unique)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t pos = atomic_load_explicit(&seg->defs_head, memory_order_relaxed);
	struct ws_def_head *def = def_at(pos);

	if (unique) {
		uint8_t *body = (uint8_t *)(def + 1);
		uint32_t hash = hash_def(type, body, body_size);
		struct ws_def_head *equal = find_equal(type, body, body_size, hash);

		if (equal)
			return equal;
		remember(pos, hash);
	}
	def->size = (uint32_t)sizeof(*def) + WS_ALIGN8(body_size);
	def->type = (uint16_t)type;
	def->reserved = 0;
	def->body_size = body_size;
	def->reserved1 = 0;
	def->id = id;
	atomic_store_explicit(&seg->defs_head, pos + def->size, memory_order_release);
	return def;
}

void ws_def_end(void)
{
	const sigset_t before = signals_before;

	ws_unlock(&define_lock, &before);
}

/* The definition after `def`; the first one for NULL. NULL after the last. */
static const struct ws_def_head *next_def(const struct ws_def_head *def)
{
	const uint8_t *log = ws_seg_defs(ws_collector.seg);
	const uint8_t *next = def ? (const uint8_t *)def + def->size : log;
	uint64_t head = atomic_load(&ws_collector.seg->defs_head);

	return (uint64_t)(next - log) < head ? (const struct ws_def_head *)(const void *)next
	                                     : NULL;
}

bool ws_def_has_schema(uint64_t id)
{
	for (const struct ws_def_head *def = NULL; (def = next_def(def));)
		if ((def->type == WS_DEF_SCHEMA || def->type == WS_DEF_ENUM) && def->id == id)
			return 1;
	return 0;
}

void ws_def_reload(void)
{
	for (const struct ws_def_head *def = NULL; (def = next_def(def));) {
		const uint8_t *body = (const uint8_t *)(def + 1);

		if (def->type >= WS_DEF_DOMAIN && def->type != WS_DEF_OP)
			remember((uint64_t)((const uint8_t *)def - ws_seg_defs(ws_collector.seg)),
			         hash_def(def->type, body, def->body_size));
	}
}

void ws_def_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	define_lock = unlocked;
	domain_order = unlocked;
}

bool ws_def_take_over(const struct ws_seg_header *parent)
{
	struct ws_seg_header *seg = ws_collector.seg;
	const uint64_t used = atomic_load_explicit(&parent->defs_head, memory_order_acquire);
	uint8_t *log = ws_seg_defs(seg);

	if (used > seg->defs_size || ws_seg_populate(seg, log, used))
		return 0;
	memcpy(log, ws_seg_defs(parent), used);
	seg->defs_ready = used;
	for (uint64_t at = 0; at < used;) {
		struct ws_def_head *def = def_at(at);

		/* the parent's threads and window are kept but marked, because ids are positions in
		 * the log */
		if (def->type < WS_DEF_DOMAIN || def->type == WS_DEF_WINDOW)
			def->type = WS_DEF_OF_PARENT;
		at += def->size;
	}
	atomic_store(&seg->next_domain, atomic_load(&parent->next_domain));
	atomic_store_explicit(&seg->defs_head, used, memory_order_release);
	/* a definition that another thread was making may be in the table but not in the log */
	memset(table, 0, sizeof(table));
	table_used = 0;
	ws_def_reload();
	return 1;
}

/*
 * Makes a definition with a fixed part and a text, unless an equal one exists. id 0: its position
 * is its id. Returns the id; WS_DEF_NONE: no room.
 */
static uint32_t define(enum ws_def_type type, const void *fixed, uint32_t fixed_size,
                       struct ws_event_text text, uint64_t id)
{
	uint32_t room, result, end = fixed_size, n;

	if (ws_text_measure(&text, WS_MAX_TEXT))
		ws_lost(WS_DROPPED_text_truncated, 1);
	uint8_t *body = ws_def_begin(&room);
	if (fixed_size + text.size + 4 > room) {
		ws_def_end();
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return WS_DEF_NONE;
	}
	memcpy(body, fixed, fixed_size);
	const struct ws_def_head *def = (const struct ws_def_head *)(const void *)body - 1;
	if (!id)
		id = id_by_position(def);
	/* never merged with an equal one before it, because the order matters: the last name of a
	 * thread is valid, and the last kernel at an address */
	bool is_event = type < WS_DEF_DOMAIN || type == WS_DEF_KERNEL || type == WS_DEF_WINDOW;
	struct ws_text_cursor cursor = (struct ws_text_cursor){text.ptr, text.kind, text.size};
	while ((n = ws_text_next(&cursor, (char *)body + end, cursor.rest + 4)))
		end += n;
	def = ws_def_publish(type, end, id, !is_event);
	result = (uint32_t)def->id;
	ws_def_end();
	return result;
}

static const struct ws_event_text no_text;

/* The fixed part of a definition, and its size. */
#define FIXED(type, ...) &(struct type){__VA_ARGS__}, sizeof(struct type)

uint32_t ws_define_string(struct ws_event_text text)
{
	return define(WS_DEF_STRING, "", 0, text, 0);
}

/* Not entered in the table, as there can be so many that no place would remain for other
 * definitions. The caller finds equal ones itself. */
uint32_t ws_define_op(const void *bytes, uint32_t size)
{
	uint32_t room, result = WS_DEF_NONE;
	uint8_t *body = ws_def_begin(&room);
	const struct ws_def_head *def = (const struct ws_def_head *)(const void *)body - 1;

	if (size <= room) {
		memcpy(body, bytes, size);
		result = (uint32_t)ws_def_publish(WS_DEF_OP, size, id_by_position(def), 0)->id;
	}
	ws_def_end();
	return result;
}

/* Ids of domains are consecutive, as a thread buffer has an array by domain. */
uint32_t ws_define_domain(struct ws_event_text name)
{
	static const char cpu_name[] = WSNVTX_CPU_DOMAIN;
	struct ws_seg_header *seg = ws_collector.seg;
	uint32_t next, id;
	sigset_t before;

	ws_lock(&domain_order, &before);
	next = atomic_load(&seg->next_domain) + 1;
	id = define(WS_DEF_DOMAIN, "", 0, name, next);
	if (id == next && id < WS_SEG_MAX_DOMAINS)
		atomic_store(&seg->next_domain, next);
	ws_unlock(&domain_order, &before);

	if (id >= WS_SEG_MAX_DOMAINS) {
		if (id != WS_DEF_NONE)
			ws_lost(WS_DROPPED_definition_overflow, 1);
		return WS_DEF_NONE;
	}
	if (name.kind == WS_TEXT_BYTES && name.ptr && !strcmp(name.ptr, cpu_name))
		atomic_store(&ws_cpu_domain, id);
	return id;
}

void ws_define_category(uint32_t domain, uint32_t category, struct ws_event_text name)
{
	define(WS_DEF_CATEGORY, FIXED(ws_def_category, domain, category), name, 1);
}

void ws_define_thread_name(uint32_t tid, struct ws_event_text name)
{
	define(WS_DEF_THREAD_NAME, FIXED(ws_def_thread, (uint32_t)getpid(), tid), name, 1);
}

void ws_define_resource(const struct ws_def_resource *resource, struct ws_event_text name)
{
	define(WS_DEF_RESOURCE, resource, sizeof(*resource), name, 1);
}

void ws_define_process(int64_t start_ns, uint64_t image, const char *path)
{
	define(WS_DEF_PROCESS, FIXED(ws_def_process, (uint64_t)getpid(), image, start_ns),
	       (struct ws_event_text){.ptr = path}, image);
}

uint32_t ws_define_thread(uint32_t thread, uint32_t tid, const char *name)
{
	return define(WS_DEF_THREAD, FIXED(ws_def_thread, (uint64_t)getpid(), tid),
	              (struct ws_event_text){.ptr = name}, thread);
}

void ws_define_call(uint32_t domain, uint32_t cbid, const char *name)
{
	define(WS_DEF_CALL, FIXED(ws_def_call, domain, cbid), (struct ws_event_text){.ptr = name},
	       1);
}

void ws_define_kernel(uint64_t address, uint32_t string)
{
	define(WS_DEF_KERNEL, FIXED(ws_def_kernel, address, string), no_text, 1);
}

void ws_define_fact(const char *key, const char *value)
{
	define(WS_DEF_FACT, key, (uint32_t)strlen(key) + 1, (struct ws_event_text){.ptr = value},
	       1);
}

void ws_define_device(uint32_t device, const char *name)
{
	define(WS_DEF_DEVICE, FIXED(ws_def_device, device), (struct ws_event_text){.ptr = name}, 1);
}

void ws_define_device_attr(uint32_t device, const char *name, int64_t value)
{
	define(WS_DEF_DEVICE_ATTR, FIXED(ws_def_device_attr, device, value),
	       (struct ws_event_text){.ptr = name}, 1);
}

void ws_define_window(int64_t time_ns, int is_open)
{
	define(WS_DEF_WINDOW, FIXED(ws_def_window, time_ns, (uint64_t)is_open), no_text, 1);
}

/* The body of the definition whose id is its position. */
static const void *body_of(enum ws_def_type type, uint64_t id, uint32_t *size)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t pos = (id - 1) * 8;
	const struct ws_def_head *def;

	if (!id || id > seg->defs_size / 8 ||
	    pos + sizeof(*def) > atomic_load_explicit(&seg->defs_head, memory_order_acquire))
		return NULL;
	def = def_at(pos);
	if (def->type != type || def->id != id)
		return NULL;
	*size = def->body_size;
	return def + 1;
}

const char *ws_string_text(uint64_t string, uint32_t *size)
{
	return body_of(WS_DEF_STRING, string, size);
}

bool ws_definitions_fill(unsigned sixteenths)
{
	const struct ws_seg_header *seg = ws_collector.seg;

	return atomic_load_explicit(&seg->defs_head, memory_order_relaxed) >
	       seg->defs_size / 16 * sixteenths;
}

void ws_ops_defined(void (*found)(uint32_t op, const void *body, uint32_t size))
{
	for (const struct ws_def_head *def = NULL; (def = next_def(def));)
		if (def->type == WS_DEF_OP)
			found((uint32_t)def->id, def + 1, def->body_size);
}

const void *ws_op_body(uint32_t op, uint32_t *size)
{
	return body_of(WS_DEF_OP, op, size);
}

/* --- payload schemas --- */

/*
 * Payload schemas and enumerations. The definition log stores them with all offsets computed. A
 * copy here has the data needed for events: the size, and the offsets of pointers to text, which
 * must be read during the call.
 */

#define MAX_SCHEMAS 768

/* In the order of registration. Of two with the same id the later one is valid. */
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

/* --- layout of one schema --- */

/* State while the offsets of a schema's entries are computed. */
struct layout {
	uint32_t domain;
	uint64_t schema_type;
	uint64_t pack; /* largest alignment; 0: natural */
	uint64_t end;  /* end of the previous entry */
	int known;     /* whether `end` is known */
	struct ws_schema s;
};

struct extent {
	uint64_t size, align; /* size 0: unknown */
	const struct ws_schema *nested;
};

/* Strings are pointers, unless the entry gives a number of characters stored in the payload
 * itself. */
static bool is_text_pointer(const struct wsn_schema_entry *e)
{
	const uint64_t inside = WSN_ENTRY_FLAG_POINTER | WSN_ENTRY_FLAG_OFFSET_FROM_BASE |
	                        WSN_ENTRY_FLAG_OFFSET_FROM_HERE | WSN_ENTRY_FLAG_ARRAY_MASK;

	if (e->type == WSN_ENTRY_REGISTERED_STRING)
		return !(e->flags & inside);
	return e->type >= WSN_ENTRY_CSTRING && e->type <= WSN_ENTRY_CSTRING_UTF32 &&
	       !(e->flags & inside) && !e->array_or_union_detail;
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
		x.align = e->type == WSN_ENTRY_CSTRING_UTF16   ? 2
		          : e->type == WSN_ENTRY_CSTRING_UTF32 ? 4
		                                               : 1;
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

/* Returns the offset of entry i, and moves the state past it. */
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
	/* after an explicit offset the position is known again */
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

/* The body of a definition while it is filled: the fixed part, then the names. */
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

/* Ids of scopes and counters that programs chose, in their domains: open addressing. */
#define CHOSEN_SIZE  4096u
#define CHOSEN_SCOPE (UINT64_C(1) << 63)
static struct {
	_Atomic uint64_t key; /* by ws_schema_id(); 0: unused */
	_Atomic uint32_t def; /* 0 until it is set, after the key */
} chosen_ids[CHOSEN_SIZE];
static uint32_t chosen_used;

/* The place of a key, or the unused one for it. */
static uint32_t chosen_place(uint64_t key)
{
	uint32_t i = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 52);
	uint64_t found;

	while ((found = atomic_load_explicit(&chosen_ids[i].key, memory_order_relaxed)) &&
	       found != key)
		i = (i + 1) % CHOSEN_SIZE;
	return i;
}

/* With the definition lock held. The last definition with an id is valid. False: no room. */
static bool choose(uint64_t key, uint32_t def)
{
	const uint32_t i = chosen_place(key);

	if (!atomic_load(&chosen_ids[i].key) && ++chosen_used > CHOSEN_SIZE / 4 * 3) {
		chosen_used--;
		return 0;
	}
	atomic_store_explicit(&chosen_ids[i].key, key, memory_order_relaxed);
	atomic_store_explicit(&chosen_ids[i].def, def, memory_order_release);
	return 1;
}

/* The definition with an id that the program passes; 0: none. kind: CHOSEN_SCOPE or 0. */
static uint32_t def_with_id(uint32_t domain, uint64_t id, uint64_t kind)
{
	if (id >= WSN_SCHEMA_ID_DYNAMIC_START)
		return id - WSN_SCHEMA_ID_DYNAMIC_START <= UINT32_MAX
		               ? (uint32_t)(id - WSN_SCHEMA_ID_DYNAMIC_START)
		               : 0;
	if (id < WSN_SCHEMA_ID_STATIC_START)
		return 0;
	return atomic_load_explicit(&chosen_ids[chosen_place(ws_schema_id(domain, id) | kind)].def,
	                            memory_order_acquire);
}

/* As struct ws_def_semantics has it. */
static uint64_t scope_of(uint32_t domain, uint64_t id)
{
	if (id < WSN_SCHEMA_ID_STATIC_START)
		return wsn_scope_name(id) ? id : 0;
	id = def_with_id(domain, id, CHOSEN_SCOPE);
	return id ? WS_SCOPE_PATH + id : 0;
}

/* More must be a circle. */
#define MAX_SEMANTICS 16

/* The struct of this type, if it is as long. */
#define SEMANTICS(type, header)                                \
	((header)->struct_size >= sizeof(struct type)          \
	         ? (const struct type *)(const void *)(header) \
	         : NULL)

static void put_semantics(struct body *b, uint32_t domain, const struct wsn_semantics *list,
                          struct ws_def_semantics *out)
{
	for (int i = 0; list && i < MAX_SEMANTICS; i++, list = list->next) {
		const struct wsn_semantics_counter *c = SEMANTICS(wsn_semantics_counter, list);
		const struct wsn_semantics_scope *scope = SEMANTICS(wsn_semantics_scope, list);
		const struct wsn_semantics_time *time = SEMANTICS(wsn_semantics_time, list);

		if (list->id == WSN_SEMANTICS_COUNTER && c) {
			out->flags = c->flags;
			out->unit_numerator = c->unit_numerator;
			out->unit_denominator = c->unit_denominator;
			out->limit_type = c->limit_type;
			out->minimum = c->minimum;
			out->maximum = c->maximum;
			out->unit = put_name(b, c->unit);
		} else if (list->id == WSN_SEMANTICS_SCOPE && scope) {
			out->scope = scope_of(domain, scope->scope_id);
		} else if (list->id == WSN_SEMANTICS_TIME && time) {
			out->time_type = time->time_domain_id;
		} else {
			ws_lost(WS_DROPPED_nvtx_not_kept_schema_details, 1);
		}
	}
	if (list)
		ws_lost(WS_DROPPED_nvtx_not_kept_schema_details, 1);
}

/* Begins a definition with a zeroed fixed part of head_size + n * item_size bytes. */
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
 * Publishes the definition with the id that the program chose in its domain. If it chose none, or
 * the id is in use, takes a new id. Stores the schema. Returns the id for the program.
 */
static uint64_t close_body(struct body *b, enum ws_def_type type, uint32_t domain,
                           uint64_t program_id, const struct ws_schema *what)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t next = atomic_load(&seg->next_schema) + 1;
	uint64_t chosen = ws_schema_id(domain, program_id), id = chosen, key;

	if (b->full) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	if (!program_id || ws_def_has_schema(chosen))
		id = WSN_SCHEMA_ID_DYNAMIC_START + next;
	const struct ws_def_head *def = ws_def_publish(type, b->used, id, 1);
	if (id != chosen && def->id == id)
		atomic_store(&seg->next_schema, next);
	/* remember it, with the definition lock held */
	key = program_id ? chosen : def->id;
	const struct ws_schema *before = ws_schema_find(key);
	uint32_t i = atomic_load_explicit(&schemas_used, memory_order_relaxed);
	if (i == MAX_SCHEMAS && !(before && before->traced == def->id)) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
	} else if (!before || before->traced != def->id) {
		schemas[i] = *what;
		schemas[i].id = key;
		schemas[i].traced = def->id;
		atomic_store_explicit(&schemas_used, i + 1, memory_order_release);
	}
	return program_id ? program_id : def->id;
}

/* The id that the program chose; 0: none; UINT64_MAX: a reserved id. */
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

	if (!(mask & WSN_SCHEMA_FIELD_ENTRIES) || !attr->entries || !n ||
	    program_id == UINT64_MAX) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	l.schema_type = mask & WSN_SCHEMA_FIELD_TYPE ? attr->type : WSN_SCHEMA_STATIC;
	l.pack = mask & WSN_SCHEMA_FIELD_ALIGNMENT ? attr->pack_align : 0;

	struct body b = open_body(sizeof(*head), n, sizeof(*field));
	head = (struct ws_def_schema *)(void *)b.bytes;
	field = (struct ws_def_field *)(void *)(head + 1);
	for (size_t i = 0; !b.full && i < n; i++) {
		const struct wsn_schema_entry *e = &attr->entries[i];

		field[i].flags = e->flags;

		/* The trace's id of the type with the program's id. */
		uint64_t id = ws_schema_id(domain, e->type);
		const struct ws_schema *s =
		        id < WSN_SCHEMA_ID_STATIC_START ? NULL : ws_schema_find(id);

		field[i].type = s ? s->traced : id;
		field[i].offset = place(&l, e, i);
		field[i].array_length = e->array_or_union_detail;
		field[i].name = put_name(&b, e->name);
		field[i].description = put_name(&b, e->description);
		put_semantics(&b, domain, e->semantics, &field[i].semantics);
		if (field[i].semantics.time_type && l.schema_type == WSN_SCHEMA_STATIC &&
		    field[i].offset < WS_MAX_PAYLOAD) {
			l.s.time_at = (uint32_t)field[i].offset + 1;
			l.s.time_type = field[i].semantics.time_type;
		}
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

	if (!(mask & WSN_ENUM_FIELD_ENTRIES) || !attr->entries || !n || program_id == UINT64_MAX) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return 0;
	}
	/* without a size, a C enum has the size of an int */
	what.size =
	        mask & WSN_ENUM_FIELD_SIZE ? (uint32_t)attr->size_of_enum : (uint32_t)sizeof(int);
	what.align = what.size;

	struct body b = open_body(sizeof(*head), n, sizeof(*entry));
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

/* --- scopes and counters --- */

uint64_t ws_scope_register(uint32_t domain, const struct wsn_scope_attr *attr)
{
	const uint64_t chosen = chosen_id(1, attr->scope_id);
	char path[1024];
	uint32_t size = 0, room, id;

	if (attr->struct_size < sizeof(*attr) || chosen == UINT64_MAX) {
		ws_lost(WS_DROPPED_nvtx_not_kept_scopes, 1);
		return 0;
	}
	const char *parent = attr->parent_scope == 1 ? NULL : wsn_scope_name(attr->parent_scope);
	if (parent)
		size = (uint32_t)strlen(parent);
	else
		parent = ws_string_text(def_with_id(domain, attr->parent_scope, CHOSEN_SCOPE),
		                        &size);
	if (snprintf(path, sizeof(path), "%.*s%s%s", (int)size, parent ? parent : "",
	             size ? "/" : "", attr->path ? attr->path : "") >= (int)sizeof(path))
		ws_lost(WS_DROPPED_text_truncated, 1);
	id = ws_define_string((struct ws_event_text){.ptr = path});
	if (id == WS_DEF_NONE)
		return 0;
	if (!chosen)
		return WSN_SCHEMA_ID_DYNAMIC_START + id;
	(void)ws_def_begin(&room);
	if (!choose(ws_schema_id(domain, chosen) | CHOSEN_SCOPE, id))
		ws_lost(WS_DROPPED_nvtx_not_kept_scopes, 1);
	ws_def_end();
	return chosen;
}

uint64_t ws_counter_register(uint32_t domain, const struct wsn_counter_attr *attr)
{
	const uint64_t chosen = chosen_id(1, attr->counter_id);
	const uint64_t type = ws_schema_id(domain, attr->schema_id);
	const struct ws_schema *s = ws_schema_find(type);
	struct ws_def_counter *head;
	struct body b;
	uint32_t id = 0;

	if (attr->struct_size >= sizeof(*attr) && chosen != UINT64_MAX && domain != WS_DEF_NONE) {
		b = open_body(sizeof(*head), 0, 1);
		head = (struct ws_def_counter *)(void *)b.bytes;
		if (!b.full) {
			head->program_id = chosen;
			head->domain = domain;
			head->name = put_name(&b, attr->name);
			head->description = put_name(&b, attr->description);
			put_semantics(&b, domain, attr->semantics, &head->semantics);
			if (attr->scope_id)
				head->semantics.scope = scope_of(domain, attr->scope_id);
			head->schema = s ? s->traced : type;
			head->size = s ? s->size : ws_entry_size(type);
			head->time_at = s ? s->time_at : 0;
			head->time_type =
			        s && s->time_at ? s->time_type : head->semantics.time_type;
		}
		if (!b.full) {
			const struct ws_def_head *def =
			        (const struct ws_def_head *)(void *)head - 1;

			id = (uint32_t)ws_def_publish(WS_DEF_COUNTER, b.used, id_by_position(def),
			                              1)
			             ->id;
			if (chosen && !choose(ws_schema_id(domain, chosen), id))
				id = 0;
		}
		ws_def_end();
	}
	if (!id) /* the program gets an id, so that it goes on to sample, which is counted */
		ws_lost(WS_DROPPED_nvtx_not_kept_counters, 1);
	return chosen && chosen != UINT64_MAX ? chosen : WSN_SCHEMA_ID_DYNAMIC_START + id;
}

const struct ws_def_counter *ws_counter_find(uint32_t domain, uint64_t id, uint32_t *def)
{
	uint32_t size;

	*def = def_with_id(domain, id, 0);
	return body_of(WS_DEF_COUNTER, *def, &size);
}
