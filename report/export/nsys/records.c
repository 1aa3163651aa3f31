/*
 * Records that are rows of one table: in the schema of Nsight Systems, or, where that has no table,
 * in one of our own. docs/reference/export.md says what becomes of each record.
 */
#include "report/export/nsys/nsys.h"

/* --- cells --- */

/* Times of a hostile trace may overflow; calls that were cut off have a negative duration. */
static int64_t end_ns(int64_t start_ns, int64_t dur_ns)
{
	int64_t end;

	if (dur_ns < 0)
		return start_ns;
	return __builtin_add_overflow(start_ns, dur_ns, &end) ? INT64_MAX : end;
}

static int64_t choose(const struct ws_nsys_choice *choice, int64_t value)
{
	return value < choice->first + choice->shift || value > choice->last + choice->shift
	               ? choice->unlisted
	               : value - choice->shift;
}

/* What a number is in the database; row: it is of. */
static void set_number(struct ws_nsys_out *o, const struct ws_nsys_column_def *c,
                       const uint8_t *row, uint64_t value, int64_t *to)
{
	int64_t start_ns;

	*to = (int64_t)value;
	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_TEXT:
		ws_nsys_string_id(o, value, to);
		break;
	case WS_NSYS_AS_THREAD:
	case WS_NSYS_AS_THREAD_OR_NONE:
	case WS_NSYS_AS_THREAD_OR_0:
		ws_nsys_global_tid(o, value, to);
		break;
	case WS_NSYS_AS_PROCESS:
		ws_nsys_global_pid(o, value, to);
		break;
	case WS_NSYS_AS_END:
		start_ns = (int64_t)ws_load_u64(row + c[-1].row_offset);
		*to = end_ns(start_ns, (int64_t)value);
		ws_nsys_extend(o, start_ns, *to);
		break;
	case WS_NSYS_AS_ID_OR_NONE:
		*to = (int64_t)value < 0 ? UINT32_MAX : (int64_t)value;
		break;
	default:
		if (c->meaning >= WS_NSYS_AS_LAUNCH_TYPE)
			*to = choose(&ws_nsys_choices[c->meaning], (int64_t)value);
	}
}

static bool is_null(const struct ws_nsys_column_def *c, uint64_t value)
{
	return !value && !c->has_number &&
	       (c->meaning == WS_NSYS_AS_NUMBER || c->meaning == WS_NSYS_AS_TEXT ||
	        c->meaning == WS_NSYS_AS_THREAD_OR_NONE);
}

static void set_field(struct ws_nsys_out *o, const struct ws_nsys_column_def *c, const uint8_t *row,
                      struct ws_nsys_value *to)
{
	const uint8_t *at = row + c->row_offset;
	uint64_t value;

	switch ((enum ws_nsys_meaning)c->meaning) {
	case WS_NSYS_AS_BLOB:
		to->type = SQLITE_BLOB;
		memcpy(&to->bytes, at, sizeof(to->bytes));
		break;
	case WS_NSYS_AS_REAL:
		to->type = SQLITE_FLOAT;
		memcpy(&to->real, at, sizeof(to->real));
		break;
	default:
		value = ws_load_u64(at);
		to->type = is_null(c, value) ? 0 : SQLITE_INTEGER;
		if (to->type)
			set_number(o, c, row, value, &to->integer);
	}
}

struct table {
	struct ws_nsys_out *o;
	enum ws_nsys_table table;
	const struct ws_nsys_column_def *columns;
	unsigned n;
	struct ws_nsys_value *values;
	enum ws_kind kind;
	sqlite3_stmt *insert; /* of one of our own */
};

/* The columns that are fields of this kind. */
static void set_fields(const struct table *t, enum ws_kind kind, const void *row)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->columns[i].kind == kind)
			set_field(t->o, &t->columns[i], row, &t->values[i]);
}

/* --- tables of Nsight Systems --- */

static void set_kernel(const struct table *t, const struct ws_row_kernel *row)
{
	const struct ws_row_launch_config *c;
	const struct ws_nsys_config *names;
	struct ws_nsys_out *o = t->o;

	ws_nsys_config_of(o, row->config, &c, &names);
	set_fields(t, WS_KIND_LAUNCH_CONFIG, c);
	SET(KERNEL_demangledName, names->demangled);
	SET(KERNEL_shortName, names->base);
	SET_KNOWN(KERNEL_mangledName, names->mangled);
}

static void set_peers(struct ws_nsys_out *o, const struct ws_row_memcpy *row)
{
	if (row->kind != WS_MEMCPY_PTOP)
		return;
	SET(MEMCPY_srcDeviceId, row->src_device);
	SET(MEMCPY_dstDeviceId, row->dst_device);
}

/* Columns that are no field. */
static void set_others(const struct table *t, const void *row)
{
	struct ws_nsys_out *o = t->o;

	switch (t->table) {
	case WS_NSYS_RUNTIME:
		SET(RUNTIME_eventClass,
		    ws_export_is_driver_call(
		            ws_records_text(&o->strings, ((const struct ws_row_api *)row)->name)));
		break;
	case WS_NSYS_KERNEL:
		set_kernel(t, row);
		break;
	case WS_NSYS_MEMCPY:
		set_peers(o, row);
		break;
	case WS_NSYS_MEMORY:
		ws_nsys_extend(o, ((const struct ws_row_memory *)row)->time_ns,
		               ((const struct ws_row_memory *)row)->time_ns);
		break;
	case WS_NSYS_CONTEXT:
		SET(CONTEXT_vmId, 1);
		SET(CONTEXT_isGreenContext, ((const struct ws_row_context *)row)->parent != 0);
		break;
	case WS_NSYS_STREAM:
		SET(STREAM_vmId, 1);
		break;
	default:
		break;
	}
}

/* Failures and pools are in the table of our own only. */
static bool has_place(const struct table *t, const void *row)
{
	const struct ws_row_memory *memory = row;

	if (t->kind == WS_KIND_MEMORY)
		return memory->op == WS_MEMORY_OP_ALLOC || memory->op == WS_MEMORY_OP_FREE;
	if (ws_export_has_time(t->kind, row))
		return true;
	t->o->stats->without_time++;
	return false;
}

static void put_row(void *ctx, const void *row)
{
	const struct table *t = ctx;

	if (!has_place(t, row))
		return;
	set_fields(t, t->kind, row);
	set_others(t, row);
	ws_nsys_put(t->o, t->table);
}

enum ws_status ws_nsys_write_table(struct ws_nsys_out *o, enum ws_nsys_table table,
                                   struct ws_err *err)
{
	const struct ws_nsys_table_def *def = &ws_nsys_tables[table];
	struct table t = {.o = o,
	                  .table = table,
	                  .columns = &ws_nsys_columns[def->first],
	                  .n = ws_nsys_count_columns(table),
	                  .values = &o->value[def->first],
	                  .kind = def->kind};

	return ws_records_each(o->r, t.kind, put_row, &t, err);
}

/* --- tables of our own --- */

static void put_own_row(void *ctx, const void *row)
{
	const struct table *t = ctx;

	set_fields(t, t->kind, row);
	ws_nsys_insert(t->o, t->insert, t->values, t->n);
}

static enum ws_status write_own_table(struct ws_nsys_out *o, enum ws_kind kind, struct ws_err *err)
{
	struct ws_nsys_column_def columns[WS_NSYS_MAX_OWN_COLUMNS];
	struct ws_nsys_value values[WS_NSYS_MAX_OWN_COLUMNS];
	struct table t = {.o = o, .columns = columns, .values = values, .kind = kind};
	enum ws_status status;
	char name[64];

	if (!ws_trace_reader_count(o->r, kind))
		return WS_OK;
	t.n = ws_nsys_own_columns(kind, columns);
	ws_nsys_own_name(kind, name);
	ws_nsys_create(o, name, columns, t.n, &t.insert);
	status = ws_records_each(o->r, kind, put_own_row, &t, err);
	sqlite3_finalize(t.insert);
	return status;
}

enum ws_status ws_nsys_write_own(struct ws_nsys_out *o, struct ws_err *err)
{
	for (size_t i = 0; i < ws_nsys_own_kinds_count; i++)
		WS_FORWARD(write_own_table(o, ws_nsys_own_kinds[i], err));
	return WS_OK;
}
