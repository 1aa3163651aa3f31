/* Tables of the database by name, and their rows: plain ones from the pages, others from SQLite. */
#include "formats/nsys/nsys.h"

#define TELL_ROWS 4096 /* rows between two words about progress */

/* --- tables --- */

bool ws_nsys_has_column(struct ws_nsys *n, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(n->db, "main", table, column, NULL, NULL, NULL, NULL,
	                                     NULL) == SQLITE_OK;
}

/* The page where a real table begins; 0: there is none of this name. */
static uint32_t root_of(struct ws_nsys *n, const char *name)
{
	int64_t root = 0;

	/* most exports lack most tables, and this asks without a statement */
	if (!ws_nsys_has_column(n, name, NULL))
		return 0;
	/* a virtual table has no root page */
	if (!n->table && sqlite3_prepare_v2(n->db,
	                                    "SELECT rootpage FROM main.sqlite_master WHERE type = "
	                                    "'table' AND name = ?1 AND rootpage > 0",
	                                    -1, &n->table, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(n->table, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(n->table) == SQLITE_ROW)
		root = sqlite3_column_int64(n->table, 0);
	sqlite3_reset(n->table);
	return root > 0 && root <= UINT32_MAX ? (uint32_t)root : 0;
}

int ws_nsys_has_table(struct ws_nsys *n, const char *name)
{
	return root_of(n, name) != 0;
}

static const struct {
	const char *name;
	int first;
} tables[] = {
#define TABLE(ID, name, first) {name, WS_NSYS_##ID##_##first},
#include "formats/nsys/nsys.def"
};

/* How a column is read. */
enum { NO, INT, INDEX, TEXT, REAL };

static const struct {
	enum ws_nsys_table table;
	const char *name;
	int read;
} columns[] = {
#define COLUMN(ID, column, type, READ) {WS_NSYS_##ID, #column, READ},
#include "formats/nsys/nsys.def"
};

static bool is_integer(int read)
{
	return read == INT || read == INDEX;
}

/* The names of a table's known columns, NULL for those that the export lacks. *any: it has some. */
static void put_columns(struct ws_nsys_rows *rows, enum ws_nsys_table table, sqlite3_str *sql,
                        int *any)
{
	for (int c = rows->first; c < WS_NSYS_COLUMNS && columns[c].table == table; c++) {
		int present = columns[c].read != NO &&
		              ws_nsys_has_column(rows->n, rows->table, columns[c].name);

		*any |= present;
		sqlite3_str_appendf(sql, present ? "%s\"%w\"" : "%sNULL",
		                    rows->ncolumns++ ? "," : "", columns[c].name);
	}
}

enum ws_status ws_nsys_begin_rows(struct ws_nsys_rows *rows, sqlite3_str *sql, int any,
                                  const char *tail, struct ws_err *err)
{
	struct ws_nsys *n = rows->n;
	char *text;

	sqlite3_str_appendf(sql, " FROM main.\"%w\" %s", rows->table, tail);
	text = sqlite3_str_finish(sql);
	WS_FAIL_IF(!text, err, NO_MEMORY, "out of memory for reading %s", rows->table);
	if (!any || sqlite3_prepare_v2(n->db, text, -1, &rows->stmt, NULL) != SQLITE_OK) {
		ws_import_warn(n->out, "%s cannot be read: %s", rows->table,
		               any ? sqlite3_errmsg(n->db) : "it has none of the known columns");
		n->out->lost[WS_LOST_import_damaged_table]++;
		rows->stmt = NULL;
	}
	sqlite3_free(text);
	return WS_OK;
}

/* --- rows from the pages --- */

/* Which of the columns that are read this one of the table is; -1: none of them. */
static int column_named(const struct ws_nsys_rows *rows, const char *name)
{
	for (int i = 0; i < rows->ncolumns; i++)
		if (columns[rows->first + i].read != NO &&
		    sqlite3_stricmp(columns[rows->first + i].name, name) == 0)
			return i;
	return -1;
}

/* A column of the table, as it stands in the statement of all_stand_in_records. 0: not in records.
 */
static bool add_column(struct ws_nsys_rows *rows, sqlite3_stmt *stmt)
{
	const char *name = (const char *)sqlite3_column_text(stmt, 0);
	const char *type = (const char *)sqlite3_column_text(stmt, 1);
	const bool is_key = sqlite3_column_int(stmt, 3) != 0;
	const int i = name ? column_named(rows, name) : -1;

	if (!name || !type || rows->nstored == WS_NSYS_MAX_COLUMNS || (is_key && rows->key >= 0))
		return 0;
	/* a default stands in no record, and what is computed neither; a real column turns integers
	 * into reals; and rowid would not be the row's id */
	if (!sqlite3_column_int(stmt, 2) || sqlite3_column_int(stmt, 4) ||
	    sqlite3_stricmp(name, "rowid") == 0 ||
	    (i >= 0 && is_integer(columns[rows->first + i].read) &&
	     (!sqlite3_strlike("%REAL%", type, 0) || !sqlite3_strlike("%FLOA%", type, 0) ||
	      !sqlite3_strlike("%DOUB%", type, 0))))
		return 0;
	if (is_key)
		rows->key = (int)rows->nstored;
	rows->slot[rows->nstored++] = (int8_t)i;
	return 1;
}

/*
 * Are all values of the table's columns in its records, but for a key that is the row's id? One
 * that is not has an index.
 */
static bool all_stand_in_records(struct ws_nsys_rows *rows)
{
	sqlite3_stmt *stmt;
	bool all = 1;

	if (sqlite3_prepare_v2(rows->n->db,
	                       "SELECT name, type, dflt_value IS NULL, pk, hidden OR EXISTS ("
	                       "SELECT 1 FROM pragma_index_list(?1, 'main') WHERE origin = 'pk') "
	                       "FROM pragma_table_xinfo(?1, 'main') ORDER BY cid",
	                       -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	rows->key = -1;
	rows->nstored = 0;
	sqlite3_bind_text(stmt, 1, rows->table, -1, SQLITE_STATIC);
	while (all && sqlite3_step(stmt) == SQLITE_ROW)
		all = add_column(rows, stmt);
	sqlite3_finalize(stmt);
	return all && rows->nstored;
}

/* Takes the row, but for one whose texts and reals are others, which SQLite turns into such. */
static bool take_record(struct ws_nsys_rows *rows, int64_t id, struct ws_bytes record)
{
	struct ws_nsys_values *v = &rows->v;

	if (!ws_nsys_pages_record(record, rows->slot, rows->nstored, v))
		return 0;
	if (rows->key >= 0 && rows->slot[rows->key] >= 0) {
		v->type[rows->slot[rows->key]] = SQLITE_INTEGER;
		v->integer[rows->slot[rows->key]] = id;
	}
	for (int i = 0; i < rows->ncolumns; i++) {
		const int read = columns[rows->first + i].read, type = v->type[i];

		if ((read == TEXT && (type == SQLITE_INTEGER || type == SQLITE_FLOAT)) ||
		    (read == REAL && (type == SQLITE_TEXT || type == SQLITE_BLOB)))
			return 0;
	}
	return 1;
}

/* The next row from the pages; SQLITE_ERROR: it is for SQLite, and all behind it. */
static int next_of_pages(struct ws_nsys_rows *rows)
{
	struct ws_bytes record;
	int64_t id;

	switch (ws_nsys_pages_next(rows->n->pages, &id, &record)) {
	case WS_NSYS_PAGES_END:
		return SQLITE_DONE;
	case WS_NSYS_PAGES_UNREAD:
		return SQLITE_ERROR;
	case WS_NSYS_PAGES_ROW:
		break;
	}
	if (!take_record(rows, id, record))
		return SQLITE_ERROR;
	rows->next_id = id + (id < INT64_MAX);
	return SQLITE_ROW;
}

/* --- rows --- */

enum ws_status ws_nsys_open_rows(struct ws_nsys *n, enum ws_nsys_table table, const char *tail,
                                 struct ws_nsys_rows *rows, struct ws_err *err)
{
	sqlite3_str *sql;
	uint32_t root;
	int any = 0;

	*rows = (struct ws_nsys_rows){.n = n,
	                              .table = tables[table].name,
	                              .first = tables[table].first,
	                              .next_id = INT64_MIN};
	memset(rows->v.type, SQLITE_NULL, sizeof(rows->v.type));
	root = root_of(n, rows->table);
	if (!root)
		return WS_OK;
	sql = sqlite3_str_new(n->db);
	sqlite3_str_appendall(sql, "SELECT ");
	put_columns(rows, table, sql, &any);
	rows->by_pages = any && !*tail && n->pages && all_stand_in_records(rows);
	if (!*tail)
		tail = rows->by_pages ? "NOT INDEXED WHERE rowid >= ?1 ORDER BY rowid"
		                      : "NOT INDEXED";
	WS_FORWARD(ws_nsys_begin_rows(rows, sql, any, tail, err));
	rows->by_pages &= rows->stmt != NULL;
	if (rows->by_pages)
		ws_nsys_pages_begin(n->pages, root);
	return WS_OK;
}

enum ws_status ws_nsys_each(struct ws_nsys *n, enum ws_nsys_table table, ws_nsys_row_fn fn,
                            struct ws_err *err)
{
	struct ws_nsys_rows rows;
	enum ws_status status;

	WS_FORWARD(ws_nsys_open_rows(n, table, "", &rows, err));
	status = WS_OK;
	while (status == WS_OK && ws_nsys_next(&rows))
		status = fn(&rows, err);
	ws_nsys_close(&rows);
	return status;
}

/* Takes the row's integers. */
static void take_integers(struct ws_nsys_rows *rows)
{
	for (int i = 0; i < rows->ncolumns; i++) {
		sqlite3_value *value;
		int type;

		if (columns[rows->first + i].read == NO)
			continue;
		/* one thread has the database, so the value needs no mutex */
		value = sqlite3_column_value(rows->stmt, i);
		type = sqlite3_value_type(value);
		rows->v.type[i] = (uint8_t)type;
		rows->v.integer[i] = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
	}
}

/*
 * Is the row sound? SQLite takes a value of any type in any column, and turns it into a number when
 * asked for one.
 */
static bool is_sound(const struct ws_nsys_rows *rows)
{
	for (int i = 0; i < rows->ncolumns; i++) {
		const int read = columns[rows->first + i].read, type = rows->v.type[i];

		if (is_integer(read) && type != SQLITE_NULL &&
		    (type != SQLITE_INTEGER || (read == INDEX && rows->v.integer[i] < 0)))
			return 0;
	}
	return 1;
}

static int next_row(struct ws_nsys_rows *rows)
{
	int code;

	if (rows->by_pages) {
		code = next_of_pages(rows);
		if (code != SQLITE_ERROR)
			return code;
		rows->by_pages = 0;
		sqlite3_bind_int64(rows->stmt, 1, rows->next_id);
	}
	code = rows->stmt ? sqlite3_step(rows->stmt) : SQLITE_DONE;
	if (code == SQLITE_ROW)
		take_integers(rows);
	return code;
}

int ws_nsys_step(struct ws_nsys_rows *rows)
{
	int code = next_row(rows);

	while (code == SQLITE_ROW && !is_sound(rows)) {
		rows->n->out->lost[WS_LOST_import_bad_value]++;
		code = next_row(rows);
	}
	return code;
}

bool ws_nsys_next(struct ws_nsys_rows *rows)
{
	int code = ws_nsys_step(rows);

	if (code == SQLITE_ROW) {
		if (++rows->n->out->stats->events % TELL_ROWS)
			return 1;
		ws_import_tell(rows->n->out, rows->n->out->stats->events, rows->n->rows_total);
		return !ws_nsys_check_failed(rows->n->check);
	}
	if (code != SQLITE_DONE) {
		ws_import_warn(rows->n->out, "%s is damaged, the rest of it is lost: %s",
		               rows->table,
		               code == SQLITE_INTERRUPT ? "its pages lead in circles"
		                                        : sqlite3_errmsg(rows->n->db));
		rows->n->out->lost[WS_LOST_import_damaged_table]++;
	}
	return 0;
}

void ws_nsys_close(struct ws_nsys_rows *rows)
{
	sqlite3_finalize(rows->stmt);
	rows->stmt = NULL;
}

/* --- values --- */

struct ws_bytes ws_nsys_text(sqlite3_stmt *stmt, int column)
{
	const void *text = sqlite3_column_text(stmt, column);
	int len = sqlite3_column_bytes(stmt, column);

	return text && len > 0 ? (struct ws_bytes){text, (size_t)len} : (struct ws_bytes){NULL, 0};
}

struct ws_bytes ws_nsys_bytes(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	const int i = (int)c - r->first;
	struct ws_bytes bytes;

	if (!r->by_pages)
		return ws_nsys_text(r->stmt, i);
	bytes = r->v.bytes[i];
	return r->v.type[i] != SQLITE_NULL && bytes.len ? bytes : (struct ws_bytes){NULL, 0};
}

double ws_nsys_real(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	const int i = (int)c - r->first;

	if (!r->by_pages)
		return sqlite3_column_double(r->stmt, i);
	if (r->v.type[i] == SQLITE_FLOAT)
		return ws_nsys_pages_real(r->v.bytes[i]);
	return (double)r->v.integer[i];
}
