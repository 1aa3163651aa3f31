/* Texts, processes, threads and kernels of a trace by the ids of an export. */
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/base/signature.h"
#include "report/export/nsys/nsys.h"
#include "report/kernel_info/demangle.h"

/* A global id holds process and thread in so many bits each. */
#define ID_BITS 24
#define ID_MASK ((UINT64_C(1) << ID_BITS) - 1)
/* The first number given to what has none that fits: Linux gives none over 2^22. */
#define FIRST_MADE (UINT64_C(1) << 23)
/* The machine: one, the first. */
#define VM_BITS (UINT64_C(1) << 48)

/* --- texts --- */

static void intern(struct ws_nsys_out *o, struct ws_bytes text, int64_t *id)
{
	const struct ws_bytes readable = ws_export_readable(&o->readable, text);
	uint64_t known = ws_strtab_find(&o->texts, readable.ptr, readable.len);

	if (!known) {
		known = ws_strtab_add(&o->texts, readable.ptr, readable.len);
		ws_nsys_set_text(o, WS_NSYS_STRING_value, readable);
		ws_nsys_put(o, WS_NSYS_STRING);
	}
	*id = (int64_t)known;
}

void ws_nsys_string_id(struct ws_nsys_out *o, uint64_t string, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->string_ids, string);

	if (known) {
		*id = (int64_t)*known;
		return;
	}
	intern(o, ws_records_text(&o->strings, string), id);
	ws_map_add(&o->string_ids, string, (uint64_t)*id);
}

/* --- processes and threads --- */

/* `number` under `above`, or one made up when it does not fit or is taken. */
static uint64_t unique(struct ws_nsys_out *o, struct ws_strtab *used, uint64_t above,
                       uint64_t number)
{
	uint64_t made = FIRST_MADE, id = ws_export_unique(used, above, number, ID_MASK + 1, &made);

	if (id > ID_MASK)
		WS_THEN(o->status, WS_FAIL(&o->err, CORRUPT,
		                           "more processes or threads than an export can tell "
		                           "apart"));
	return id;
}

void ws_nsys_global_pid(struct ws_nsys_out *o, uint64_t pid, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->process_ids, pid);
	const uint64_t number = known ? *known : unique(o, &o->used_processes, 0, pid);

	if (!known)
		ws_map_add(&o->process_ids, pid, number);
	*id = (int64_t)(VM_BITS | number << ID_BITS);
}

/* Threads whose row is lost are the thread 0 of process 0, as their records are kept. */
void ws_nsys_global_tid(struct ws_nsys_out *o, uint64_t thread, int64_t *id)
{
	const uint64_t *known = ws_map_get(&o->thread_ids, thread);
	const struct ws_row_thread *row;

	if (known) {
		*id = (int64_t)*known;
		return;
	}
	row = ws_records_find(&o->threads, thread);
	ws_nsys_global_pid(o, row ? row->pid : 0, id);
	*id |= (int64_t)unique(o, &o->used_threads, (uint64_t)*id >> ID_BITS, row ? row->tid : 0);
	ws_map_add(&o->thread_ids, thread, (uint64_t)*id);
}

/* --- kernels --- */

/* "at::native::reduce_kernel" is "reduce_kernel": exports have no name spaces here. */
static struct ws_bytes last_name(struct ws_bytes name)
{
	const char *p = name.ptr;

	for (size_t i = name.len; i >= 2; i--)
		if (p[i - 1] == ':' && p[i - 2] == ':')
			return (struct ws_bytes){p + i, name.len - i};
	return name;
}

static void name_config(struct ws_nsys_out *o, const struct ws_row_launch_config *row,
                        struct ws_nsys_config *names)
{
	struct ws_bytes recorded = ws_records_text(&o->strings, row->name), readable;
	struct ws_bytes shorter;
	size_t len;

	o->scratch.len = 0;
	ws_demangle(recorded.ptr, recorded.len, &o->scratch);
	/* behind it, room for the short form */
	len = o->scratch.len;
	ws_buf_reserve(&o->scratch, len + 1);
	readable = (struct ws_bytes){o->scratch.data, len};
	intern(o, readable, &names->demangled);
	shorter.ptr = o->scratch.data + len;
	shorter.len = ws_name_function(readable, (char *)o->scratch.data + len);
	intern(o, last_name(shorter), &names->base);
	if (len == recorded.len && !memcmp(o->scratch.data, recorded.ptr, len))
		return;
	intern(o, recorded, &names->mangled);
}

void ws_nsys_config_of(struct ws_nsys_out *o, uint64_t config,
                       const struct ws_row_launch_config **row, const struct ws_nsys_config **names)
{
	static const struct ws_row_launch_config lost;
	const uint64_t *place = ws_map_get(&o->configs.places, config);
	struct ws_nsys_config *c = &o->config[place ? *place : o->configs.n];

	*row = place ? (const struct ws_row_launch_config *)o->configs.rows + *place : &lost;
	*names = c;
	if (!c->demangled)
		name_config(o, *row, c);
}

/* --- loading --- */

enum ws_status ws_nsys_ids_load(struct ws_nsys_out *o, struct ws_err *err)
{
	const struct ws_row_thread *t;
	int64_t id;

	WS_FORWARD(ws_records_load_by(&o->strings, o->r, WS_KIND_STRING, 0, err));
	WS_FORWARD(ws_records_load_by(&o->threads, o->r, WS_KIND_THREAD, 0, err));
	WS_FORWARD(ws_records_load_by(&o->configs, o->r, WS_KIND_LAUNCH_CONFIG, 0, err));
	o->config = ws_xarray(o->configs.n + 1, sizeof(*o->config)); /* the last one: lost */
	/* numbers that fit are nobody else's */
	t = o->threads.rows;
	for (size_t i = 0; i < o->threads.n; i++)
		if (t[i].pid <= ID_MASK)
			ws_nsys_global_pid(o, t[i].pid, &id);
	for (size_t i = 0; i < o->threads.n; i++)
		if (t[i].tid <= ID_MASK)
			ws_nsys_global_tid(o, t[i].id, &id);
	return WS_OK;
}

void ws_nsys_ids_free(struct ws_nsys_out *o)
{
	ws_records_free(&o->strings);
	ws_records_free(&o->threads);
	ws_records_free(&o->configs);
	free(o->config);
	ws_strtab_free(&o->texts);
	ws_strtab_free(&o->used_threads);
	ws_strtab_free(&o->used_processes);
	ws_map_free(&o->string_ids);
	ws_map_free(&o->thread_ids);
	ws_map_free(&o->process_ids);
	ws_buf_free(&o->scratch);
	ws_buf_free(&o->readable);
	ws_arena_free(&o->row_texts);
}
