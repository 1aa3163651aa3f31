/* The tables made by a user's queries. Queries can read the relations of a trace, its tables and
 * its records. */
#include <ctype.h>

#include "report/model/payload.h"
#include "report/tables/tables.h"

/* --- tables as relations ---------------------------------------------------------------------- */

/* A table that queries can read; made on first access. */
struct ws_user_table {
	const struct ws_table_def *def;
	struct ws_relation rel;
	struct ws_user_tables *all;
	struct ws_table *t;
	size_t row_after; /* cells holds the row row_after - 1 */
	const struct ws_cell *cells;
};

static size_t count_rows(void *ctx)
{
	struct ws_user_table *u = ctx;
	struct ws_user_tables *all = u->all;

	if (!u->t && all->status == WS_OK)
		all->status = all->make(all->relations, all->q, u->def, NULL, &u->t, &all->err);
	return all->status == WS_OK ? u->t->nrows : 0;
}

static void put_cell(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_user_table *u = ctx;

	if (u->row_after != row + 1)
		u->cells = ws_table_cells(u->t, row);
	u->row_after = row + 1;
	const struct ws_cell *cell = &u->cells[column];
	if (cell->type == WS_CELL_INT)
		ws_put_int(out, cell->i);
	else if (cell->type == WS_CELL_REAL)
		ws_put_real(out, cell->r);
	else if (cell->type == WS_CELL_TEXT)
		ws_put_copy(out, cell->text.ptr, cell->text.len);
}

/* The table "kernel-summary" is called kernel_summary in SQL, so that it needs no quotes. Columns
 * have their ids as names. */
static void describe(struct ws_user_table *u, struct ws_arena *arena)
{
	char *name = ws_arena_format(arena, "%s", u->def->name);
	const char *columns = "";

	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	for (size_t c = 0; c < u->def->ncolumns; c++)
		columns = ws_arena_format(arena, "%s%s,", columns, u->def->columns[c].id);
	u->rel = (struct ws_relation){name, columns, count_rows, put_cell};
}

/* --- records as relations --------------------------------------------------------------------- */

/* All records of a kind, in the order of the file, read when the first query needs them. */
struct ws_user_records {
	struct ws_user_tables *all;
	const struct ws_kind_def *def;
	struct ws_relation rel;
	struct ws_records rows;
	bool is_read;
};

static size_t count_records(void *ctx)
{
	struct ws_user_records *u = ctx;
	struct ws_user_tables *all = u->all;

	if (!u->is_read && all->status == WS_OK) {
		u->is_read = true;
		all->status = ws_records_load(&u->rows, all->r, u->def->id, &all->err);
		if (all->status == WS_OK && !all->strings.room)
			all->status = ws_records_load_by(&all->strings, all->r, WS_KIND_STRING,
			                                 WS_COL_string_id, &all->err);
	}
	return all->status == WS_OK ? u->rows.n : 0;
}

static void put_record(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_user_records *u = ctx;
	const struct ws_column_def *c = &u->def->columns[column];
	const uint8_t *value = (const uint8_t *)ws_records_row(&u->rows, row) + c->row_offset;
	struct ws_bytes text;
	double real;

	switch (c->type) {
	case WS_TYPE_BLOB:
		memcpy(&text, value, sizeof(text));
		ws_put_text(out, text);
		break;
	case WS_TYPE_STR:
		ws_put_text(out, ws_records_text(&u->all->strings, ws_load_u64(value)));
		break;
	case WS_TYPE_F64:
		memcpy(&real, value, sizeof(real));
		ws_put_real(out, real);
		break;
	case WS_TYPE_ENUM:
		text = ws_enum_name(c->unit, ws_load_u64(value));
		if (text.len) {
			ws_put_text(out, text);
			break;
		}
		/* fallthrough */
	default: /* SQLite gets numbers of 2^63 and more as negative ones with the same bits */
		ws_put_int(out, (int64_t)ws_load_u64(value));
	}
}

/* The kind `nvtx` is the relation nvtx_record. Kinds that describe the file itself are left out. */
static bool describe_records(struct ws_user_records *u, unsigned kind, struct ws_arena *arena)
{
	const char *columns = "";

	u->def = ws_schema_kind(kind);
	if (!u->def || ws_kind_is_made(kind))
		return false;
	for (unsigned c = 0; c < u->def->ncolumns; c++)
		columns = ws_arena_format(arena, "%s%s,", columns, u->def->columns[c].name);
	u->rel = (struct ws_relation){ws_arena_format(arena, "%s_record", u->def->name), columns,
	                              count_records, put_record};
	return true;
}

/* --- values of payloads as a relation --------------------------------------------------------- */

/* One row per value. Only the values of the last payload are in memory. */
struct ws_user_payloads {
	struct ws_user_tables *all;
	struct ws_payloads *decoder; /* NULL until the first query needs them */
	struct ws_spill events;      /* struct event */
	size_t nevents, nrows;
	struct event {
		struct ws_payload_event e;
		size_t first, n; /* rows of its values; n 0: none yet */
	} event;                 /* that of `values` */
	const struct ws_payload_value *values;
};

static void on_payload(void *ctx, const struct ws_payload_event *e)
{
	struct ws_user_payloads *u = ctx;
	struct event event = {*e, u->nrows, 0};

	(void)ws_payloads_values(u->decoder, e->payload, &event.n);
	ws_spill_put(&u->events, sizeof(event), u->nevents++, &event);
	u->nrows += event.n;
}

static size_t count_values(void *ctx)
{
	struct ws_user_payloads *u = ctx;
	struct ws_user_tables *all = u->all;

	if (!u->decoder && all->status == WS_OK) {
		ws_spill_open(&u->events,
		              ws_trace_reader_count(all->r, WS_KIND_NVTX) * sizeof(struct event));
		all->status = ws_payloads_new(&u->decoder, all->r, &all->err);
		WS_THEN(all->status, ws_payloads_each_event(all->r, on_payload, u, &all->err));
	}
	return all->status == WS_OK ? u->nrows : 0;
}

#define PAYLOAD_VALUE(X)                                                           \
	X(event, ws_put_count(out, event->e.row))                                  \
	X(time_ns, ws_put_int(out, event->e.time_ns))                              \
	X(thread, ws_put_count(out, event->e.thread))                              \
	X(type, ws_put_text(out, ws_enum_name(types, event->e.type)))              \
	X(domain, ws_put_text(out, ws_payloads_text(u->decoder, event->e.domain))) \
	X(name, ws_put_text(out, ws_payloads_text(u->decoder, event->e.name)))     \
	X(schema, ws_put_text(out, v->schema))                                     \
	X(field, ws_put_copy(out, v->field.ptr, v->field.len))                     \
	X(value, if (v->text.len) ws_put_copy(out, v->text.ptr, v->text.len))      \
	X(number, if (v->number == WS_PAYLOAD_INT) ws_put_int(out, v->i);          \
	  else if (v->number) ws_put_real(out, v->r))                              \
	X(problem, ws_put_str(out, v->problem))

static void put_value(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_user_payloads *u = ctx;
	const struct event *event = &u->event;
	const char *types = ws_schema_kind(WS_KIND_NVTX)->columns[WS_COL_nvtx_type].unit;

	if (row - event->first >= event->n) {
		size_t at;

		WS_COUNT_FIRST(at, u->nevents,
		               ((struct event *)ws_spill_row(&u->events, sizeof(*event), at))
		                               ->first <= row);
		u->event = *(struct event *)ws_spill_row(&u->events, sizeof(*event), at - 1);
		u->values = ws_payloads_values(u->decoder, event->e.payload, &u->event.n);
	}
	const struct ws_payload_value *v = &u->values[row - event->first];
	WS_PUT_COLUMN(column, PAYLOAD_VALUE);
}

static const struct ws_relation payload_value = {"payload_value", PAYLOAD_VALUE(WS_COLUMN_NAME),
                                                 count_values, put_value};
#define PAYLOAD_VALUE_IS "a value in the payload of an NVTX event, or why there is none"

/* --- both ------------------------------------------------------------------------------------- */

void ws_user_tables_add(struct ws_user_tables *all, struct ws_query *q,
                        struct ws_relations *relations)
{
	const struct ws_table_def *const *defs = ws_table_defs_all(&all->n);

	all->q = q;
	all->relations = relations;
	WS_NEW(&all->arena, all->table, all->n);
	for (size_t i = 0; i < all->n; i++) {
		struct ws_user_table *u = &all->table[i];

		*u = (struct ws_user_table){.def = defs[i], .all = all};
		describe(u, &all->arena);
		/* reading it also reads the rows of kernels */
		if (u->def == &ws_def_kernel_trace) {
			u->rel.count = ws_relation_kernel.count;
			u->rel.put = ws_relation_kernel.put;
			ws_query_add(q, &u->rel, relations);
		} else {
			ws_query_add(q, &u->rel, u);
		}
	}
	WS_NEW(&all->arena, all->records, WS_KIND_END);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_user_records *u = &all->records[kind];

		u->all = all;
		if (describe_records(u, kind, &all->arena))
			ws_query_add(q, &u->rel, u);
	}
	WS_NEW(&all->arena, all->payloads, 1);
	all->payloads->all = all;
	ws_query_add(q, &payload_value, all->payloads);
}

/* The parts of the report that the queries have read. */
enum ws_status ws_user_tables_parts(struct ws_user_tables *all, unsigned *parts, struct ws_err *err)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct ws_user_table *u = &all->table[i];
		const uint64_t read = ws_query_columns_read(all->q, &u->rel);
		uint8_t wanted[WS_RELATION_COLUMNS] = {0};

		for (size_t c = 0; c < WS_RELATION_COLUMNS; c++)
			wanted[c] = read >> c & 1;
		/* a query that only counts rows needs the same data as one that reads a column */
		wanted[0] |= read == (uint64_t)1 << WS_RELATION_COLUMNS;
		if (read && u->def == &ws_def_kernel_trace)
			*parts |= WS_DIGEST_ROWS;
		else if (read)
			WS_FORWARD(all->needs(all->q, u->def, wanted, parts, err));
	}
	return WS_OK;
}

void ws_user_tables_release(struct ws_user_tables *all)
{
	for (size_t i = 0; i < all->n; i++)
		ws_table_free(all->table[i].t);
	for (size_t kind = 0; all->records && kind < WS_KIND_END; kind++)
		ws_records_free(&all->records[kind].rows);
	if (all->payloads) {
		ws_payloads_free(all->payloads->decoder);
		ws_spill_close(&all->payloads->events);
	}
	ws_records_free(&all->strings);
	ws_arena_free(&all->arena);
}

/* --- a result as a table ---------------------------------------------------------------------- */

#define MOST_ROWS 1000000

/* Lower case, with one _ for each run of other characters between letters and digits: "Total (ns)"
 * gives total_ns. Returns `other` where the title has no letter and no digit. */
static const char *make_id(struct ws_arena *arena, const char *title, char between,
                           const char *other)
{
	char *id = ws_arena_copy(arena, title, strlen(title)), *end = id;

	for (const char *p = title; *p; p++)
		if ((unsigned char)*p < 0x80 && isalnum((unsigned char)*p))
			*end++ = (char)tolower((unsigned char)*p);
		else if (end > id && end[-1] != between)
			*end++ = between;
	while (end > id && end[-1] == between)
		end--;
	*end = '\0';
	return *id ? id : other;
}

/* Units as they stand in parentheses at the end of a title, or after its last _. */
static const struct unit {
	const char *unit, *title, *id;
	enum ws_display display;
} units[] = {
        {"ns", " (ns)", "_ns", WS_DISPLAY_TIME_NS},
        {"%", " (%)", "_percent", WS_DISPLAY_PERCENT},
        {"bytes", " (bytes)", "_bytes", WS_DISPLAY_BYTES},
        {"FLOP", " (FLOP)", "_flops", WS_DISPLAY_FLOPS},
};

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

/* Whether a built-in table or a table of this report has the name. */
static bool has_name(const struct ws_report *report, const char *name)
{
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs_all(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(defs[i]->name, name))
			return true;
	for (size_t i = 0; i < report->ntables; i++)
		if (!strcmp(report->tables[i]->def->name, name))
			return true;
	return false;
}

static enum ws_status make_table(struct ws_query *q, struct ws_arena *arena, const char *sql,
                                 const struct ws_report *report, struct ws_table **out,
                                 struct ws_err *err)
{
	struct ws_query_rows rows;
	struct ws_table_column *columns;
	struct ws_table *t;

	WS_FORWARD(ws_query_start(q, sql, &rows, err));
	struct ws_table_def *def = ws_arena_array(arena, 1, sizeof(*def));

	/* Title and description of the table: the first comment "-- Title" and the comments
	 * below it. */
	char *words = NULL;
	const char *name;

	while (*(sql += strspn(sql, " \t\r\n;"))) {
		size_t len = strcspn(sql, "\r\n"), begin = 2;

		if (strncmp(sql, "--", 2) != 0)
			break;
		begin += strspn(sql + 2, " \t");
		begin = begin < len ? begin : len;
		if (!def->title)
			def->title = ws_arena_copy(arena, sql + begin, len - begin);
		else
			words = ws_arena_format(arena, "%s%s%.*s", words ? words : "",
			                        words ? " " : "", (int)(len - begin), sql + begin);
		sql += len;
	}
	if (!def->title || !*def->title)
		def->title = "Query";
	def->meaning = words ? words : "";
	def->sheet = def->title;
	def->name = name =
	        ws_arena_format(arena, "%.60s", make_id(arena, def->title, '-', "query"));
	for (int number = 2; has_name(report, def->name); number++)
		def->name = ws_arena_format(arena, "%s-%d", name, number);

	/* The first column names the rows; people see the others in the order of the query. */
	WS_NEW(arena, columns, (size_t)rows.ncolumns);
	for (int i = 0; i < rows.ncolumns; i++) {
		struct ws_table_column *c = &columns[i];
		const char *title = ws_query_column_name(&rows, i);
		size_t ndefs;
		const struct ws_table_def *const *defs = ws_table_defs_all(&ndefs);

		*c = (struct ws_table_column){.title = ws_arena_copy(arena, title, strlen(title)),
		                              .unit = "",
		                              .definition = "",
		                              .rank = i ? WS_RANK_ANSWER : WS_RANK_NAME};
		c->id = make_id(arena, title, '_', "column");
		for (int before = 0; before < i; before++)
			if (!strcmp(columns[before].id, c->id)) {
				c->id = ws_arena_format(arena, "%s_%d", c->id, i + 1);
				before = -1;
			}
		for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++)
			if (ends_with(c->title, units[k].title) ||
			    ends_with(c->title, units[k].id)) {
				c->unit = units[k].unit;
				c->display = units[k].display;
			}
		/* a column with the name of a report's column is shown in the same way */
		for (size_t k = 0; k < ndefs; k++) {
			const int like = ws_table_column_index(defs[k], c->id);

			if (like >= 0 && !strcmp(c->unit, "ns") &&
			    !strcmp(defs[k]->columns[like].unit, "ns")) {
				c->display = defs[k]->columns[like].display;
				break;
			}
		}
	}
	def->columns = columns;
	def->ncolumns = (size_t)rows.ncolumns;
	t = *out = ws_table_new(def);
	while (t->nrows <= MOST_ROWS && ws_query_next(&rows)) {
		struct ws_cell *row = ws_table_row(t);

		for (size_t c = 0; c < def->ncolumns; c++)
			if (rows.cells[c].type == WS_CELL_TEXT)
				ws_cell_set_text(t, &row[c], rows.cells[c].text.ptr,
				                 rows.cells[c].text.len);
			else
				row[c] = rows.cells[c];
	}
	WS_FORWARD(ws_query_end(&rows, err));
	WS_FAIL_IF(t->nrows > MOST_ROWS, err, USAGE,
	           "the query has over %d rows: a condition or LIMIT makes it shorter", MOST_ROWS);

	/* Gives each column the widest type of its cells. Where a column has numbers and texts, the
	 * numbers become texts. */
	for (size_t c = 0; c < t->def->ncolumns; c++) {
		bool has_text = false, has_real = false, has_int = false;

		for (size_t r = 0; r < t->nrows; r++) {
			const enum ws_cell_type type = t->cells[r * t->def->ncolumns + c].type;

			has_text |= type == WS_CELL_TEXT;
			has_real |= type == WS_CELL_REAL;
			has_int |= type == WS_CELL_INT;
		}
		columns[c].type = has_text || (!has_real && !has_int) ? WS_CELL_TEXT
		                  : has_real                          ? WS_CELL_REAL
		                                                      : WS_CELL_INT;
		if (columns[c].display == WS_DISPLAY_PLAIN && columns[c].type == WS_CELL_REAL)
			columns[c].display = WS_DISPLAY_REAL;
		for (size_t r = 0; has_text && r < t->nrows; r++) {
			struct ws_cell *cell = &t->cells[r * t->def->ncolumns + c];
			char text[40];

			if (cell->type == WS_CELL_INT)
				snprintf(text, sizeof(text), "%lld", (long long)cell->i);
			else if (cell->type == WS_CELL_REAL)
				snprintf(text, sizeof(text), "%.17g", cell->r);
			if (cell->type == WS_CELL_INT || cell->type == WS_CELL_REAL)
				ws_cell_set_str(t, cell, text);
		}
	}
	return WS_OK;
}

/* Calls a function with the text of each statement. */
static enum ws_status each_query(struct ws_query *q, const char *sql,
                                 enum ws_status (*with)(void *ctx, const char *sql,
                                                        struct ws_err *err),
                                 void *ctx, struct ws_err *err)
{
	size_t n = 0;

	for (const char *end;; sql = end, n++) {
		WS_FORWARD(ws_query_split(q, sql, &end, err));
		if (end == sql)
			break;
		char *one = ws_xstrndup(sql, (size_t)(end - sql));
		enum ws_status status = with(ctx, one, err);
		free(one);
		WS_FORWARD(status);
	}
	WS_FAIL_IF(!n, err, USAGE, "there is no query: write SELECT …");
	return WS_OK;
}

struct tables {
	struct ws_query *q;
	struct ws_arena *arena;
	struct ws_user_tables *all;
	struct ws_report *report;
};

static enum ws_status add_table(void *ctx, const char *sql, struct ws_err *err)
{
	struct tables *s = ctx;
	struct ws_report *r = s->report;
	struct ws_table *t = NULL;
	enum ws_status status = make_table(s->q, s->arena, sql, r, &t, err);

	/* a table that the query reads could not be made */
	if (s->all->status != WS_OK) {
		*err = s->all->err;
		status = s->all->status;
	}
	if (t) {
		r->tables = ws_xreallocarray(r->tables, r->ntables + 1, sizeof(*r->tables));
		r->tables[r->ntables++] = t;
	}
	return status;
}

enum ws_status ws_user_queries_make(struct ws_user_tables *all, const char *sql,
                                    struct ws_arena *arena, struct ws_report *report,
                                    struct ws_err *err)
{
	struct tables s = {all->q, arena, all, report};

	return each_query(all->q, sql, add_table, &s, err);
}

static enum ws_status check(void *query, const char *sql, struct ws_err *err)
{
	return ws_query_check(query, sql, err);
}

enum ws_status ws_user_queries_check(struct ws_user_tables *all, const char *sql,
                                     struct ws_err *err)
{
	return each_query(all->q, sql, check, all->q, err);
}

/* --- the list of relations
 * --------------------------------------------------------------------- */

static const struct ws_table_column list_columns[] = {
        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "What a query calls it.",
         WS_RANK_NAME},
        {"row", "A Row Is", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "What a row is.", WS_RANK_ANSWER},
        {"columns", "Columns", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "Their names.", WS_RANK_ANSWER},
};
static const struct ws_table_def list_def = {"relations",
                                             "What Queries Can Read",
                                             "Relations",
                                             "One row per relation that a query can read",
                                             list_columns,
                                             3};

static void list_relation(void *table, const struct ws_relation *rel, const char *row_is)
{
	struct ws_table *t = table;
	struct ws_cell *row = ws_table_row(t);
	struct ws_buf columns = {0};

	for (const char *p = rel->columns; *p; p += strcspn(p, ",") + 1) {
		if (columns.len)
			ws_buf_put(&columns, ", ", 2);
		ws_buf_put(&columns, p, strcspn(p, ","));
	}
	ws_cell_set_str(t, &row[0], rel->name);
	ws_cell_set_str(t, &row[1], row_is);
	ws_cell_set_text(t, &row[2], (const char *)columns.data, columns.len);
	ws_buf_free(&columns);
}

struct ws_report *ws_report_relations(const char *trace)
{
	struct ws_report *report = ws_xarray(1, sizeof(*report));
	struct ws_table *t = ws_table_new(&list_def);
	struct ws_arena arena = {0};
	size_t n;
	const struct ws_table_def *const *defs = ws_table_defs_all(&n);

	report->title = "Warpsheet query";
	report->trace = ws_xstrdup(trace);
	report->filter = ws_xstrdup("");
	report->tables = ws_xarray(1, sizeof(*report->tables));
	report->tables[report->ntables++] = t;
	ws_relations_each(list_relation, t);
	for (size_t i = 0; i < n; i++) {
		struct ws_user_table u = {.def = defs[i]};

		describe(&u, &arena);
		list_relation(t, &u.rel, u.def->meaning);
	}
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_user_records u = {0};

		if (describe_records(&u, kind, &arena))
			list_relation(t, &u.rel, u.def->meaning);
	}
	list_relation(t, &payload_value, PAYLOAD_VALUE_IS);
	ws_arena_free(&arena);
	return report;
}
