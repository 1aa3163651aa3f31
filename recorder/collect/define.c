/* The definition log: what records refer to by number. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/collect/collector.h"

/*
 * Where equal definitions are found: open addressing over the hash of type and
 * body. Once three quarters are used new definitions are stored unseen, and
 * only their duplicates cost room.
 */
#define TABLE_SIZE (1u << 15)
static struct {
	uint32_t hash;
	uint32_t position; /* position in the log / 8 + 1; 0 = unused */
} table[TABLE_SIZE];
static uint32_t table_used;

/* What a definition takes beside its body: its head and the padding. */
#define WS_DEF_FRAME (sizeof(struct ws_def_head) + 8)

static pthread_mutex_t define_lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t signals_before; /* of the thread that holds it */

_Atomic uint32_t ws_cpu_domain = WS_DEF_NONE;

static struct ws_def_head *def_at(uint64_t pos)
{
	return (struct ws_def_head *)(ws_seg_defs(ws_collector.seg) + pos);
}

/* FNV-1a; nobody gains by making collisions here. */
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

/* Bytes that can be written from pos on: with memory behind them, or got now. */
static uint64_t ready_from(struct ws_seg_header *seg, uint64_t pos)
{
	uint64_t to = pos + WS_DEFS_AHEAD;

	if (to > seg->defs_size)
		to = seg->defs_size;
	if (seg->defs_ready < to && seg->defs_ready < pos + WS_MAX_DEF + WS_DEF_FRAME &&
	    !ws_seg_populate(seg, ws_seg_defs(seg) + seg->defs_ready, to - seg->defs_ready))
		seg->defs_ready = to;
	return seg->defs_ready > pos ? seg->defs_ready - pos : 0;
}

uint8_t *ws_def_begin(uint32_t *room)
{
	struct ws_seg_header *seg = ws_collector.seg;
	uint64_t pos, ready;
	sigset_t before;

	ws_lock(&define_lock, &before);
	signals_before = before;
	pos = atomic_load_explicit(&seg->defs_head, memory_order_relaxed);
	ready = ready_from(seg, pos);
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

/* The definition behind another one, from the log's first after NULL; NULL after the last. */
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

/* Append a measured text at body + at, in UTF-8. Returns the end. */
static uint32_t put_text(uint8_t *body, uint32_t at, const struct ws_event_text *text)
{
	struct ws_text_cursor cursor = {text->ptr, text->kind, text->size};
	uint32_t n;

	while ((n = ws_text_next(&cursor, (char *)body + at, cursor.rest + 4)))
		at += n;
	return at;
}

/* Events in time: never merged with an equal one before. The last name of a thread counts, and the
 * last kernel at an address. */
static bool is_event(enum ws_def_type type)
{
	return type < WS_DEF_DOMAIN || type == WS_DEF_KERNEL || type == WS_DEF_WINDOW;
}

/*
 * A definition of a fixed part and a text, equal ones once. id 0: the position
 * of the definition is its id. Returns the id, WS_DEF_NONE without room.
 */
static uint32_t define(enum ws_def_type type, const void *fixed, uint32_t fixed_size,
                       struct ws_event_text text, uint64_t id)
{
	const struct ws_def_head *def;
	uint32_t room, result;
	uint8_t *body;

	if (ws_text_measure(&text, WS_MAX_TEXT))
		ws_lost(WS_DROPPED_text_truncated, 1);
	body = ws_def_begin(&room);
	if (fixed_size + text.size + 4 > room) {
		ws_def_end();
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return WS_DEF_NONE;
	}
	memcpy(body, fixed, fixed_size);
	def = (const struct ws_def_head *)(const void *)body - 1;
	if (!id)
		id = (uint64_t)((const uint8_t *)def - ws_seg_defs(ws_collector.seg)) / 8 + 1;
	def = ws_def_publish(type, put_text(body, fixed_size, &text), id, !is_event(type));
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

/* The caller finds equal ones itself. There can be so many that this table would be full of them,
 * and other definitions were not found in it any more. */
uint32_t ws_define_op(const void *bytes, uint32_t size)
{
	uint32_t room, result = WS_DEF_NONE;
	uint8_t *body = ws_def_begin(&room);
	const struct ws_def_head *def = (const struct ws_def_head *)(const void *)body - 1;

	if (size <= room) {
		memcpy(body, bytes, size);
		def = ws_def_publish(
		        WS_DEF_OP, size,
		        (uint64_t)((const uint8_t *)def - ws_seg_defs(ws_collector.seg)) / 8 + 1,
		        0);
		result = (uint32_t)def->id;
	}
	ws_def_end();
	return result;
}

/* Ids are given out in order, as a thread buffer has a place for each domain. */
uint32_t ws_define_domain(struct ws_event_text name)
{
	static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
	static const char cpu_name[] = WSNVTX_CPU_DOMAIN;
	struct ws_seg_header *seg = ws_collector.seg;
	uint32_t next, id;
	sigset_t before;

	ws_lock(&order, &before);
	next = atomic_load(&seg->next_domain) + 1;
	id = define(WS_DEF_DOMAIN, "", 0, name, next);
	if (id == next && id < WS_SEG_MAX_DOMAINS)
		atomic_store(&seg->next_domain, next);
	ws_unlock(&order, &before);

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
