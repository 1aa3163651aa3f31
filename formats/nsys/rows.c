/* Tables of the database by name, and their rows. */
#include "formats/nsys/nsys.h"

#define TELL_ROWS 4096 /* rows between two words about progress */

/* --- tables --- */

bool ws_nsys_has_column(struct ws_nsys *n, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(n->db, "main", table, column, NULL, NULL, NULL, NULL,
	                                     NULL) == SQLITE_OK;
}

int ws_nsys_has_table(struct ws_nsys *n, const char *name)
{
	int found;

	/* most exports lack most tables, and this asks without a statement */
	if (!ws_nsys_has_column(n, name, NULL))
		return 0;
	/* a virtual table has no root page */
	if (!n->table && sqlite3_prepare_v2(n->db,
	                                    "SELECT 1 FROM main.sqlite_master WHERE type = "
	                                    "'table' AND name = ?1 AND rootpage > 0",
	                                    -1, &n->table, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(n->table, 1, name, -1, SQLITE_STATIC);
	found = sqlite3_step(n->table) == SQLITE_ROW;
	sqlite3_reset(n->table);
	return found;
}

static bool is_integer(int read)
{
	return read == WS_NSYS_READ_INT || read == WS_NSYS_READ_INDEX;
}

/* The names of the columns, NULL for those that the export lacks. *any: it has some. */
static char *select_columns(const struct ws_nsys_rows *rows, const char *tail, bool *any)
{
	sqlite3_str *sql = sqlite3_str_new(rows->n->db);

	*any = false;
	for (int c = 0; c < rows->ncolumns; c++) {
		const bool present =
		        rows->columns[c].read != WS_NSYS_READ_NO &&
		        ws_nsys_has_column(rows->n, rows->table, rows->columns[c].name);

		*any |= present;
		sqlite3_str_appendall(sql, c ? "," : "SELECT ");
		sqlite3_str_appendf(sql, present ? "\"%w\"" : "NULL", rows->columns[c].name);
	}
	sqlite3_str_appendf(sql, " FROM main.\"%w\" %s", rows->table, tail);
	return sqlite3_str_finish(sql);
}

/* --- rows --- */

static void open_rows(struct ws_nsys_rows *rows, const char *tail)
{
	struct ws_nsys *n = rows->n;
	bool any;
	char *sql;

	memset(rows->type, SQLITE_NULL, sizeof(rows->type));
	if (!ws_nsys_has_table(n, rows->table))
		return;
	sql = select_columns(rows, *tail ? tail : "NOT INDEXED", &any);
	if (!any || sqlite3_prepare_v2(n->db, sql, -1, &rows->stmt, NULL) != SQLITE_OK) {
		ws_import_warn(n->out, "%s cannot be read: %s", rows->table,
		               any ? sqlite3_errmsg(n->db) : "it has none of the known columns");
		n->out->lost[WS_LOST_import_damaged_table]++;
		rows->stmt = NULL;
	}
	sqlite3_free(sql);
}

void ws_nsys_open_rows(struct ws_nsys *n, enum ws_nsys_table table, const char *tail,
                       struct ws_nsys_rows *rows)
{
	const enum ws_nsys_column first = ws_nsys_tables[table].first;

	*rows = (struct ws_nsys_rows){.n = n,
	                              .table = ws_nsys_tables[table].name,
	                              .columns = &ws_nsys_columns[first],
	                              .first = (int)first,
	                              .ncolumns = (int)ws_nsys_count_columns(table)};
	open_rows(rows, tail);
}

void ws_nsys_open_own(struct ws_nsys *n, const char *table,
                      const struct ws_nsys_column_def *columns, unsigned ncolumns,
                      struct ws_nsys_rows *rows)
{
	*rows = (struct ws_nsys_rows){.n = n,
	                              .table = table,
	                              .columns = columns,
	                              .ncolumns = (int)ncolumns};
	open_rows(rows, "");
}

void ws_nsys_each(struct ws_nsys *n, enum ws_nsys_table table, ws_nsys_row_fn fn)
{
	struct ws_nsys_rows rows;

	ws_nsys_open_rows(n, table, "", &rows);
	while (ws_nsys_next(&rows))
		fn(&rows);
	ws_nsys_close(&rows);
}

/*
 * Takes the row's integers. Is it sound? SQLite takes a value of any type in any column, and turns
 * it into a number when asked for one.
 */
static bool take_integers(struct ws_nsys_rows *rows)
{
	bool is_sound = true;

	for (int i = 0; i < rows->ncolumns; i++) {
		const int read = rows->columns[i].read;
		sqlite3_value *value;
		int type;

		if (read == WS_NSYS_READ_NO)
			continue;
		/* one thread has the database, so the value needs no mutex */
		value = sqlite3_column_value(rows->stmt, i);
		type = sqlite3_value_type(value);
		rows->type[i] = (uint8_t)type;
		rows->integer[i] = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
		if (is_integer(read) && type != SQLITE_NULL)
			is_sound &= type == SQLITE_INTEGER &&
			            (read == WS_NSYS_READ_INT || rows->integer[i] >= 0);
	}
	return is_sound;
}

bool ws_nsys_next(struct ws_nsys_rows *rows)
{
	int code = SQLITE_DONE;

	while (rows->stmt && (code = sqlite3_step(rows->stmt)) == SQLITE_ROW &&
	       !take_integers(rows))
		ws_import_lose(rows->n->out, WS_LOST_import_bad_value, 1);
	if (code == SQLITE_ROW) {
		if (++rows->n->out->stats->events % TELL_ROWS == 0)
			ws_import_tell(rows->n->out, rows->n->out->stats->events,
			               rows->n->rows_total);
		return 1;
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
	return ws_nsys_text(r->stmt, (int)c - r->first);
}

double ws_nsys_real(const struct ws_nsys_rows *r, enum ws_nsys_column c)
{
	return sqlite3_column_double(r->stmt, (int)c - r->first);
}
