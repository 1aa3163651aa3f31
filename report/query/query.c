#include "report/query/query.h"

#include <sqlite3.h>

#include "report/base/order.h"

/* A relation of a database. */
struct bound {
	const struct ws_relation *rel;
	void *ctx;
	struct ws_query *q;
	uint64_t read; /* bits of columns, and WS_RELATION_COLUMNS */
	struct bound *next;
};

struct parameter {
	const char *name;
	struct ws_cell value;
};

struct ws_query {
	sqlite3 *db;
	struct bound *relations;
	struct parameter *parameters;
	size_t nparameters, parameters_capacity;
	/* lists from ws_put_samples: their value in a query is the index in this array, from 1 */
	const struct ws_values **samples;
	size_t nsamples, samples_capacity;
	unsigned running; /* number of running queries */
	/* Cached statistics of the last lists: consecutive aggregates of a group use the same
	 * lists. */
	const struct ws_values **last;
	size_t nlast;
	struct ws_stat last_stat;
	enum ws_status blame;
	bool is_connecting; /* a relation declares its columns: no statement of a query */
};

struct ws_query_run {
	struct ws_query *q;
	sqlite3_stmt *statement;
	int code;
	struct ws_cell *cells;
};

/* Destination of a value: SQLite, or a cell of a table. */
struct ws_put {
	sqlite3_context *to;
	struct ws_query *q;
	struct ws_cell *cell;   /* destination if not NULL */
	struct ws_arena *texts; /* texts of the cell's row */
};

/* --- values of relations -------------------------------------------------------------------- */

void ws_put_int(struct ws_put *out, int64_t value)
{
	if (out->cell)
		ws_cell_set_int(out->cell, value);
	else
		sqlite3_result_int64(out->to, value);
}

void ws_put_count(struct ws_put *out, uint64_t value)
{
	if (value <= INT64_MAX)
		ws_put_int(out, (int64_t)value);
}

void ws_put_real(struct ws_put *out, double value)
{
	if (out->cell)
		ws_cell_set_real(out->cell, value);
	else if (isfinite(value))
		sqlite3_result_double(out->to, value);
}

void ws_put_text(struct ws_put *out, struct ws_bytes text)
{
	if (!text.len)
		return;
	if (out->cell)
		ws_cell_share_text(out->cell, text.ptr, text.len);
	else
		sqlite3_result_text64(out->to, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

void ws_put_str(struct ws_put *out, const char *text)
{
	if (text && out->cell)
		ws_cell_share_str(out->cell, text);
	else if (text)
		sqlite3_result_text(out->to, text, -1, SQLITE_STATIC);
}

void ws_put_copy(struct ws_put *out, const char *text, size_t len)
{
	if (out->cell)
		ws_cell_share_text(out->cell, ws_arena_copy(out->texts, text, len), len);
	else
		sqlite3_result_text64(out->to, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void ws_put_samples(struct ws_put *out, const struct ws_values *samples)
{
	struct ws_query *q = out->q;

	if (!q)
		return;
	WS_GROW(q->samples, q->nsamples + 1, q->samples_capacity);
	q->samples[q->nsamples++] = samples;
	sqlite3_result_int64(out->to, (sqlite3_int64)q->nsamples);
}

/* --- rows of a relation as rows of a table -------------------------------------------------- */

struct shown {
	struct ws_relation_rows rows;
	int *column; /* by column of the table: column of the relation, or -1 */
	size_t ncolumns;
	struct ws_arena texts;
};

static void show_row(void *ctx, size_t row, struct ws_cell *cells)
{
	struct shown *s = ctx;
	const struct ws_relation_rows *r = &s->rows;

	ws_arena_free(&s->texts);
	for (size_t c = 0; c < s->ncolumns; c++) {
		struct ws_put out = {.cell = &cells[c], .texts = &s->texts};

		if (s->column[c] >= 0)
			r->rel->put(r->ctx, r->row ? r->row[row] : row, s->column[c], &out);
	}
}

static void free_shown(void *ctx)
{
	struct shown *s = ctx;

	if (s->rows.free)
		s->rows.free(s->rows.ctx);
	ws_arena_free(&s->texts);
	free(s->column);
	free(s);
}

void ws_table_show_relation(struct ws_table *t, const struct ws_relation_rows *rows, size_t nrows)
{
	struct shown *s = ws_xarray(1, sizeof(*s));

	s->rows = *rows;
	s->ncolumns = t->def->ncolumns;
	s->column = ws_xarray(s->ncolumns, sizeof(*s->column));
	for (size_t c = 0; c < s->ncolumns; c++) {
		const char *id = t->def->columns[c].id, *names = rows->rel->columns; /* "a,b,c," */
		const size_t len = strlen(id);
		int n = 0;

		for (; *names && (strncmp(names, id, len) || names[len] != ','); n++)
			names = strchr(names, ',') + 1;
		s->column[c] = *names ? n : -1;
	}

	ws_table_set_source(t, &(struct ws_table_source){show_row, free_shown, s}, nrows);
}

/* --- relations as virtual tables of SQLite -------------------------------------------------- */

struct virtual_table {
	sqlite3_vtab base;
	struct bound *bound;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t row, end;
};

enum plan { ALL_ROWS, ONE_ROW };

static struct bound *bound_of(sqlite3_vtab_cursor *cursor)
{
	return ((struct virtual_table *)cursor->pVtab)->bound;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **error)
{
	struct bound *bound = aux;
	struct virtual_table *t = ws_xarray(1, sizeof(*t));
	const char *before = "CREATE TABLE x(";
	char *declaration;
	size_t len;
	FILE *f = ws_xmemstream(&declaration, &len);

	(void)argc;
	(void)argv;
	(void)error;
	/* columns in quotes, because a name may be a keyword, such as "check" */
	for (const char *p = bound->rel->columns; *p; p += strcspn(p, ",") + 1, before = ", ")
		fprintf(f, "%s\"%.*s\"", before, (int)strcspn(p, ","), p);
	fputs(")", f);
	ws_xfclose(f);

	bound->q->is_connecting = true;
	int code = sqlite3_declare_vtab(db, declaration);
	bound->q->is_connecting = false;
	free(declaration);
	t->bound = bound;
	*out = &t->base;
	return code;
}

static int disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

/* Only look-ups by rowid are direct; for other conditions SQLite scans all rows. */
static int choose_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
	struct bound *bound = ((struct virtual_table *)t)->bound;

	bound->read |= info->colUsed | (uint64_t)1 << WS_RELATION_COLUMNS;
	info->idxNum = ALL_ROWS;
	info->estimatedCost = 1e6;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != -1 ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = ONE_ROW;
		info->estimatedCost = info->estimatedRows = 1;
		break;
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct cursor *c = ws_xarray(1, sizeof(*c));

	(void)t;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int go_to_first(sqlite3_vtab_cursor *cursor, int plan, const char *unused, int argc,
                       sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	struct bound *bound = bound_of(cursor);
	sqlite3_int64 row;

	(void)unused;
	(void)argc;
	c->row = 0;
	c->end = bound->rel->count(bound->ctx);
	if (plan == ALL_ROWS)
		return SQLITE_OK;
	row = sqlite3_value_int64(argv[0]);
	if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER || row < 0 ||
	    (size_t)row >= c->end) {
		c->end = 0;
	} else {
		c->row = (size_t)row;
		c->end = c->row + 1;
	}
	return SQLITE_OK;
}

static int go_to_next(sqlite3_vtab_cursor *cursor)
{
	((struct cursor *)cursor)->row++;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
	const struct cursor *c = (struct cursor *)cursor;

	return c->row >= c->end;
}

static int put_value(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column)
{
	const struct bound *bound = bound_of(cursor);
	struct ws_put out = {.to = to, .q = bound->q};

	bound->rel->put(bound->ctx, ((struct cursor *)cursor)->row, column, &out);
	return SQLITE_OK;
}

static int put_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((struct cursor *)cursor)->row;
	return SQLITE_OK;
}

/* Without xCreate: the table exists as soon as the module is registered. */
static const sqlite3_module module = {
        .xConnect = connect,
        .xBestIndex = choose_plan,
        .xDisconnect = disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = go_to_first,
        .xNext = go_to_next,
        .xEof = is_at_end,
        .xColumn = put_value,
        .xRowid = put_rowid,
};

void ws_query_add(struct ws_query *q, const struct ws_relation *rel, void *ctx)
{
	struct bound *bound = ws_xarray(1, sizeof(*bound));

	*bound = (struct bound){rel, ctx, q, 0, q->relations};
	q->relations = bound;
	if (sqlite3_create_module(q->db, rel->name, &module, bound) != SQLITE_OK)
		ws_out_of_memory(sizeof(module));
}

uint64_t ws_query_columns_read(const struct ws_query *q, const struct ws_relation *rel)
{
	for (const struct bound *b = q->relations; b; b = b->next)
		if (b->rel == rel)
			return b->read;
	return 0;
}

/* --- aggregates of lists of samples --------------------------------------------------------- */

enum statistic { COUNT, SUM, MIN, MAX, MEAN, MEDIAN, DEVIATION };

/* An SQL function: its result, and the query to which it belongs. */
struct function {
	struct ws_query *q;
	enum statistic result;
};

struct lists {
	const struct ws_values **list;
	size_t n, capacity;
};

static struct function *function_of(sqlite3_context *ctx)
{
	return sqlite3_user_data(ctx);
}

/* State of an aggregate; NULL without memory, which fails the query. */
static void *gathered(sqlite3_context *ctx, size_t bytes)
{
	void *p = sqlite3_aggregate_context(ctx, (int)bytes);

	if (!p && bytes)
		sqlite3_result_error_nomem(ctx);
	return p;
}

static void add_list(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct ws_query *q = function_of(ctx)->q;
	const sqlite3_int64 number = sqlite3_value_int64(argv[0]);
	struct lists *l = gathered(ctx, sizeof(*l));

	(void)argc;
	if (!l || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || number < 1 ||
	    (size_t)number > q->nsamples) {
		sqlite3_result_error(ctx, "this is no list of samples", -1);
		return;
	}
	WS_GROW(l->list, l->n + 1, l->capacity);
	l->list[l->n++] = q->samples[number - 1];
}

static void put_statistic(sqlite3_context *ctx, enum statistic result, const struct ws_stat *s)
{
	if (result == COUNT)
		sqlite3_result_int64(ctx, (sqlite3_int64)s->n);
	else if (!s->n)
		sqlite3_result_null(ctx);
	else if (result == SUM)
		sqlite3_result_int64(ctx, s->sum);
	else if (result == MIN)
		sqlite3_result_int64(ctx, s->min);
	else if (result == MAX)
		sqlite3_result_int64(ctx, s->max);
	else if (result == MEAN)
		sqlite3_result_double(ctx, s->mean);
	else if (result == MEDIAN)
		sqlite3_result_double(ctx, s->median);
	else
		sqlite3_result_double(ctx, s->std);
}

static void finish_lists(sqlite3_context *ctx)
{
	static const struct ws_stat none;
	struct ws_query *q = function_of(ctx)->q;
	struct lists *l = gathered(ctx, 0);
	struct ws_stat count = {0};

	if (!l || !l->n) {
		put_statistic(ctx, function_of(ctx)->result, &none);
	} else if (function_of(ctx)->result == COUNT) {
		for (size_t i = 0; i < l->n; i++)
			count.n += ws_values_count(l->list[i]);
		free(l->list);
		put_statistic(ctx, COUNT, &count);
	} else {
		if (q->last && l->n == q->nlast &&
		    !memcmp(l->list, q->last, l->n * sizeof(*l->list))) {
			free(l->list);
		} else {
			ws_values_stat(l->list, l->n, &q->last_stat);
			free(q->last);
			q->last = l->list;
			q->nlast = l->n;
		}
		put_statistic(ctx, function_of(ctx)->result, &q->last_stat);
	}
}

/* --- aggregates of numbers ------------------------------------------------------------------ */

/* Gathered values: a number, and an integer: the value itself, or its place or weight. */
struct terms {
	struct term {
		double value;
		int64_t whole;
	} * term;
	size_t n, capacity;
	bool has_real; /* a value is not an integer */
};

/* Adds a value, with an integer, unless one of them is NULL. Arguments: x; place, x; x, weight. */
static void add_term(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const bool is_placed = function_of(ctx)->result == SUM;
	sqlite3_value *value = argv[is_placed], *whole = argv[is_placed ? 0 : argc - 1];
	struct terms *s = gathered(ctx, sizeof(*s));
	const int type = sqlite3_value_numeric_type(value);

	if (!s || (type != SQLITE_INTEGER && type != SQLITE_FLOAT) ||
	    sqlite3_value_type(whole) == SQLITE_NULL)
		return;
	s->has_real |= type == SQLITE_FLOAT;
	WS_GROW(s->term, s->n + 1, s->capacity);
	s->term[s->n++] = (struct term){sqlite3_value_double(value), sqlite3_value_int64(whole)};
}

static int by_place(const void *pa, const void *pb)
{
	const struct term *a = pa, *b = pb;

	WS_ORDER_BY(a->whole, b->whole);
	WS_ORDER_BY(a->value, b->value);
	return 0;
}

static int by_value(const void *pa, const void *pb)
{
	const struct term *a = pa, *b = pb;

	WS_ORDER_BY(a->value, b->value);
	return 0;
}

/* Sums in the order of values, so that the result is independent of the order of rows. */
static double deviation_of_reals(const struct terms *s)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < s->n; i++)
		mean += s->term[i].value / (double)s->n;
	for (size_t i = 0; i < s->n; i++)
		squares += (s->term[i].value - mean) * (s->term[i].value - mean);
	return s->n > 1 ? sqrt(squares / (double)(s->n - 1)) : 0;
}

/* median(x), deviation(x) */
static void finish_numbers(sqlite3_context *ctx)
{
	const enum statistic result = function_of(ctx)->result;
	struct terms *s = gathered(ctx, 0);
	struct ws_values whole = {0};
	struct ws_stat stat;

	if (!s || !s->n)
		return;
	if (!s->has_real) {
		for (size_t i = 0; i < s->n; i++)
			ws_values_add(&whole, s->term[i].whole);
		ws_values_stat_of(&whole, &stat);
		ws_values_free(&whole);
		put_statistic(ctx, result, &stat);
	} else {
		const struct term *middle = &s->term[s->n / 2];

		ws_sort(s->term, s->n, sizeof(*s->term), by_value);
		sqlite3_result_double(ctx, result == DEVIATION ? deviation_of_reals(s)
		                           : s->n % 2          ? middle->value
		                                      : (middle[-1].value + middle->value) / 2);
	}
	free(s->term);
}

/* sum_in_order(place, x): in the order of the places, whatever order the rows came in. */
static void finish_sum(sqlite3_context *ctx)
{
	struct terms *s = gathered(ctx, 0);
	double sum = 0;

	if (!s || !s->n)
		return;
	ws_sort(s->term, s->n, sizeof(*s->term), by_place);
	for (size_t i = 0; i < s->n; i++)
		sum += s->term[i].value;
	free(s->term);
	sqlite3_result_double(ctx, sum);
}

/* weighted_mean(x, weight): in the order of the values, and of equal values once. So neither the
 * order of the rows matters nor how the weight of a value is divided among them. */
static void finish_mean(sqlite3_context *ctx)
{
	struct terms *s = gathered(ctx, 0);
	double sum = 0;
	int64_t weights = 0;

	if (!s || !s->n)
		return;
	ws_sort(s->term, s->n, sizeof(*s->term), by_value);
	for (size_t i = 0, next; i < s->n; i = next) {
		int64_t weight = 0;

		for (next = i; next < s->n && s->term[next].value <= s->term[i].value; next++)
			weight += s->term[next].whole;
		sum += (double)weight * s->term[i].value;
		weights += weight;
	}
	free(s->term);
	if (weights)
		sqlite3_result_double(ctx, sum / (double)weights);
}

/* --- in_order(place, text) ------------------------------------------------------------------ */

/* Texts that differ, each with the first place at which it was seen. */
struct seen {
	struct seen_text {
		sqlite3_int64 place;
		char *text;
		size_t len;
	} * text;
	size_t n, capacity;
	char separator[16];
};

/* The entry of a text, which is added if it is new: then its place is `place`. */
static struct seen_text *seen(struct seen *s, sqlite3_value *value, sqlite3_int64 place)
{
	const unsigned char *text = sqlite3_value_text(value);
	const size_t len = (size_t)sqlite3_value_bytes(value);

	for (size_t i = 0; i < s->n; i++)
		if (s->text[i].len == len && !memcmp(s->text[i].text, text, len))
			return &s->text[i];
	WS_GROW(s->text, s->n + 1, s->capacity);
	s->text[s->n] = (struct seen_text){place, ws_xmalloc(len + 1), len};
	memcpy(s->text[s->n].text, text, len);
	return &s->text[s->n++];
}

static void add_text(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct seen *s = gathered(ctx, sizeof(*s));
	const sqlite3_int64 place = sqlite3_value_int64(argv[0]);

	if (!s || !sqlite3_value_text(argv[1]))
		return;
	if (argc > 2 && sqlite3_value_bytes(argv[2]) >= (int)sizeof(s->separator)) {
		sqlite3_result_error(ctx, "in_order takes at most 15 bytes between texts", -1);
		return;
	}
	if (argc == 2 || sqlite3_value_text(argv[2]))
		snprintf(s->separator, sizeof(s->separator), "%s",
		         argc == 2 ? ", " : (const char *)sqlite3_value_text(argv[2]));
	struct seen_text *text = seen(s, argv[1], place);
	if (place < text->place)
		text->place = place;
}

static int by_first_place(const void *pa, const void *pb)
{
	const struct seen_text *a = pa, *b = pb;

	WS_ORDER_BY(a->place, b->place);
	return 0;
}

static void finish_texts(sqlite3_context *ctx)
{
	struct seen *s = gathered(ctx, 0);
	struct ws_buf list = {0};

	if (!s || !s->n)
		return;
	ws_sort(s->text, s->n, sizeof(*s->text), by_first_place);
	for (size_t i = 0; i < s->n; i++) {
		if (i)
			ws_buf_put(&list, s->separator, strlen(s->separator));
		ws_buf_put(&list, s->text[i].text, s->text[i].len);
		free(s->text[i].text);
	}
	free(s->text);
	sqlite3_result_text64(ctx, (const char *)list.data, list.len, SQLITE_TRANSIENT,
	                      SQLITE_UTF8);
	ws_buf_free(&list);
}

/* --- mainly(weight, text) ------------------------------------------------------------------ */

/* place: the sum of the text's weights. */
static void add_weight(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct seen *s = gathered(ctx, sizeof(*s));

	(void)argc;
	if (s && sqlite3_value_text(argv[1]))
		seen(s, argv[1], 0)->place += sqlite3_value_int64(argv[0]);
}

/* The heaviest text; among equal ones the first. "(+2)": there are two others. */
static void finish_main(sqlite3_context *ctx)
{
	struct seen *s = gathered(ctx, 0);
	struct ws_buf text = {0};
	size_t best = 0;
	char others[24];

	if (!s || !s->n)
		return;
	for (size_t i = 1; i < s->n; i++)
		if (s->text[i].place > s->text[best].place)
			best = i;
	ws_buf_put(&text, s->text[best].text, s->text[best].len);
	if (s->n > 1)
		ws_buf_put(&text, others,
		           (size_t)snprintf(others, sizeof(others), " (+%zu)", s->n - 1));
	for (size_t i = 0; i < s->n; i++)
		free(s->text[i].text);
	free(s->text);
	sqlite3_result_text64(ctx, (const char *)text.data, text.len, SQLITE_TRANSIENT,
	                      SQLITE_UTF8);
	ws_buf_free(&text);
}

/* --- functions of one row --------------------------------------------------------------------- */

/* percent(part, whole): NULL where the whole is 0. */
static void put_percent(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const double whole = sqlite3_value_double(argv[1]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && whole != 0)
		sqlite3_result_double(ctx, ws_stat_percent(sqlite3_value_double(argv[0]), whole));
}

/* per(sum, n): an integer if n divides the sum, so that exact counts stay exact. */
static void put_per(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const sqlite3_int64 sum = sqlite3_value_int64(argv[0]), n = sqlite3_value_int64(argv[1]);

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL || n <= 0)
		return;
	if (sum % n == 0)
		sqlite3_result_int64(ctx, sum / n);
	else
		sqlite3_result_double(ctx, (double)sum / (double)n);
}

typedef void row_function(sqlite3_context *, int, sqlite3_value **);
typedef void end_function(sqlite3_context *);

static struct function_def {
	const char *name;
	int nargs;
	enum statistic result;
	row_function *row;
	end_function *end; /* NULL: row gives the value */
} const function_defs[] = {
        {"count_of", 1, COUNT, add_list, finish_lists},
        {"sum_of", 1, SUM, add_list, finish_lists},
        {"min_of", 1, MIN, add_list, finish_lists},
        {"max_of", 1, MAX, add_list, finish_lists},
        {"mean_of", 1, MEAN, add_list, finish_lists},
        {"median_of", 1, MEDIAN, add_list, finish_lists},
        {"deviation_of", 1, DEVIATION, add_list, finish_lists},
        {"median", 1, MEDIAN, add_term, finish_numbers},
        {"deviation", 1, DEVIATION, add_term, finish_numbers},
        {"sum_in_order", 2, SUM, add_term, finish_sum},
        {"weighted_mean", 2, MEAN, add_term, finish_mean},
        {"in_order", 2, COUNT, add_text, finish_texts},
        {"in_order", 3, COUNT, add_text, finish_texts},
        {"mainly", 2, COUNT, add_weight, finish_main},
        {"percent", 2, COUNT, put_percent, NULL},
        {"per", 2, COUNT, put_per, NULL},
};

/* --- a database ----------------------------------------------------------------------------- */

enum ws_status ws_query_open(struct ws_query **out, struct ws_err *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
	struct ws_query *q = ws_xarray(1, sizeof(*q));

	*out = q;
	q->blame = WS_BUG;
	bool is_open =
	        sqlite3_open_v2(":memory:", &q->db, flags, NULL) == SQLITE_OK &&
	        /* "x" is a name, never a text */
	        sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, (int *)NULL) == SQLITE_OK;
	for (size_t i = 0; i < sizeof(function_defs) / sizeof(*function_defs) && is_open; i++) {
		const struct function_def *f = &function_defs[i];
		struct function *user = ws_xarray(1, sizeof(*user));

		*user = (struct function){q, f->result};
		is_open = sqlite3_create_function_v2(q->db, f->name, f->nargs,
		                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC |
		                                             SQLITE_INNOCUOUS,
		                                     user, f->end ? NULL : f->row,
		                                     f->end ? f->row : NULL, f->end,
		                                     free) == SQLITE_OK;
	}
	if (is_open)
		return WS_OK;

	ws_query_close(q);
	*out = NULL;
	return WS_FAIL(err, ENVIRONMENT, "SQLite %s opens no database in memory",
	               sqlite3_libversion());
}

void ws_query_close(struct ws_query *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	for (struct bound *b = q->relations, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(q->parameters);
	free(q->samples);
	free(q->last);
	free(q);
}

static struct ws_cell *parameter(struct ws_query *q, const char *name)
{
	for (size_t i = 0; i < q->nparameters; i++)
		if (!strcmp(q->parameters[i].name, name))
			return &q->parameters[i].value;
	WS_GROW(q->parameters, q->nparameters + 1, q->parameters_capacity);
	q->parameters[q->nparameters] = (struct parameter){.name = name};
	return &q->parameters[q->nparameters++].value;
}

void ws_query_set_int(struct ws_query *q, const char *name, int64_t value)
{
	ws_cell_set_int(parameter(q, name), value);
}

/* --- queries of users ------------------------------------------------------------------------ */

static int authorize(void *query, int action, const char *of, const char *name, const char *db,
                     const char *trigger)
{
	(void)of;
	(void)db;
	(void)trigger;
	if (((const struct ws_query *)query)->is_connecting)
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION)
		return name && !strcmp(name, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE
	               ? SQLITE_OK
	               : SQLITE_DENY;
}

void ws_query_only_reads(struct ws_query *q)
{
	q->blame = WS_USAGE;
	sqlite3_set_authorizer(q->db, authorize, q);
}

/* --- queries -------------------------------------------------------------------------------- */

static enum ws_status fail(const struct ws_query *q, int code, struct ws_err *err)
{
	if (code == SQLITE_NOMEM)
		return WS_FAIL(err, NO_MEMORY, "out of memory for a query");
	if (code == SQLITE_AUTH)
		return WS_FAIL(err, USAGE, "a query only reads: SELECT, or WITH … SELECT");
	const char *message = sqlite3_errmsg(q->db);
	return ws_fail(err, q->blame, __FILE__, __LINE__, "the query: %s%s", message,
	               q->blame == WS_USAGE && !strncmp(message, "no such ", 8)
	                       ? ". 'warpsheet query TRACE' lists relations and columns"
	                       : "");
}

static enum ws_status prepare(struct ws_query *q, const char *sql, sqlite3_stmt **out,
                              struct ws_err *err)
{
	const char *rest;
	const int code = sqlite3_prepare_v2(q->db, sql, -1, out, &rest);

	if (code != SQLITE_OK)
		return fail(q, code, err);
	if (*out && !rest[strspn(rest, " \t\r\n;")])
		return WS_OK;
	sqlite3_finalize(*out);
	*out = NULL;
	return ws_fail(err, q->blame, __FILE__, __LINE__, "a query is one SELECT, not %s",
	               *rest ? "several statements" : "none");
}

enum ws_status ws_query_split(struct ws_query *q, const char *sql, const char **end,
                              struct ws_err *err)
{
	sqlite3_stmt *statement;
	int code = sqlite3_prepare_v2(q->db, sql, -1, &statement, end);

	*end = statement ? *end : sql;
	if (statement && !sqlite3_column_count(statement))
		code = SQLITE_AUTH; /* REINDEX asks no authorizer */
	sqlite3_finalize(statement);
	return code == SQLITE_OK ? WS_OK : fail(q, code, err);
}

enum ws_status ws_query_start(struct ws_query *q, const char *sql, struct ws_query_rows *rows,
                              struct ws_err *err)
{
	sqlite3_stmt *statement;

	*rows = (struct ws_query_rows){0};
	WS_FORWARD(prepare(q, sql, &statement, err));
	for (size_t i = 0; i < q->nparameters; i++) {
		const struct ws_cell *value = &q->parameters[i].value;
		char name[64];

		snprintf(name, sizeof(name), ":%s", q->parameters[i].name);
		int at = sqlite3_bind_parameter_index(statement, name);
		if (at && value->type == WS_CELL_INT)
			sqlite3_bind_int64(statement, at, value->i);
		else if (at && value->type == WS_CELL_REAL)
			sqlite3_bind_double(statement, at, value->r);
	}
	for (int at = sqlite3_bind_parameter_count(statement); at > 0; at--) {
		const char *name = sqlite3_bind_parameter_name(statement, at);
		bool is_known = q->blame != WS_USAGE;

		for (size_t i = 0; i < q->nparameters && name; i++)
			is_known |= *name == ':' && !strcmp(name + 1, q->parameters[i].name);
		if (is_known)
			continue;
		ws_fail(err, WS_USAGE, __FILE__, __LINE__,
		        "the query: no parameter %s; there are :gpu_ns, :steps and :base_ns",
		        name ? name : "?");
		sqlite3_finalize(statement);
		return WS_USAGE;
	}
	if (!q->running++)
		q->nsamples = 0;
	struct ws_query_run *run = ws_xarray(1, sizeof(*run));
	rows->ncolumns = sqlite3_column_count(statement);
	*run = (struct ws_query_run){q, statement, SQLITE_OK,
	                             ws_xarray((size_t)rows->ncolumns, sizeof(*run->cells))};
	rows->run = run;
	rows->cells = run->cells;
	return WS_OK;
}

bool ws_query_next(struct ws_query_rows *rows)
{
	struct ws_query_run *run = rows->run;

	if (run->code == SQLITE_OK || run->code == SQLITE_ROW)
		run->code = sqlite3_step(run->statement);
	if (run->code != SQLITE_ROW)
		return false;
	for (int i = 0; i < rows->ncolumns; i++) {
		struct ws_cell *cell = &run->cells[i];

		*cell = (struct ws_cell){0};
		switch (sqlite3_column_type(run->statement, i)) {
		case SQLITE_INTEGER:
			ws_cell_set_int(cell, sqlite3_column_int64(run->statement, i));
			break;
		case SQLITE_FLOAT:
			ws_cell_set_real(cell, sqlite3_column_double(run->statement, i));
			break;
		case SQLITE_TEXT:
		case SQLITE_BLOB:
			ws_cell_share_text(cell,
			                   (const char *)sqlite3_column_text(run->statement, i),
			                   (size_t)sqlite3_column_bytes(run->statement, i));
			break;
		default:
			break;
		}
	}
	return true;
}

const char *ws_query_column_name(const struct ws_query_rows *rows, int column)
{
	return sqlite3_column_name(rows->run->statement, column);
}

enum ws_status ws_query_end(struct ws_query_rows *rows, struct ws_err *err)
{
	struct ws_query_run *run = rows->run;
	enum ws_status status = WS_OK;

	if (!run)
		return WS_OK;
	if (run->code != SQLITE_OK && run->code != SQLITE_ROW && run->code != SQLITE_DONE)
		status = fail(run->q, run->code, err);
	sqlite3_finalize(run->statement);
	run->q->running--;
	free(run->cells);
	free(run);
	*rows = (struct ws_query_rows){0};
	return status;
}

/* --- rows of a query as rows of a table ------------------------------------------------------ */

/* The rows become rows of t, or its totals; a row without known values is not a total. */
static enum ws_status append(struct ws_query *q, struct ws_table *t, const char *sql, bool totals,
                             struct ws_err *err)
{
	struct ws_query_rows rows;

	WS_FORWARD(ws_query_start(q, sql, &rows, err));
	int *place = ws_xarray((size_t)rows.ncolumns, sizeof(*place));
	for (int i = 0; i < rows.ncolumns; i++)
		place[i] = ws_table_column_index(t->def, ws_query_column_name(&rows, i));
	while (ws_query_next(&rows)) {
		bool is_known = false;

		for (int i = 0; i < rows.ncolumns; i++)
			is_known |= rows.cells[i].type != WS_CELL_EMPTY;
		if (totals && !is_known)
			continue;

		struct ws_cell *row = totals ? ws_table_totals(t) : ws_table_row(t);
		for (int i = 0; i < rows.ncolumns; i++)
			if (place[i] >= 0) {
				struct ws_cell *cell = &row[place[i]];
				const struct ws_cell *value = &rows.cells[i];

				if (value->type == WS_CELL_TEXT)
					ws_cell_set_text(t, cell, value->text.ptr, value->text.len);
				else
					*cell = *value;
			}
	}
	free(place);
	return ws_query_end(&rows, err);
}

/*
 * "SELECT a AS x, b AS y FROM …": selects the wanted columns or, for totals, all columns with a
 * total, since a total may be computed from others. NULL: there is none.
 */
static char *rows_sql(const struct ws_table_query *of, const uint8_t *wanted, bool for_totals)
{
	char *sql;
	size_t len, n = 0;
	FILE *f = ws_xmemstream(&sql, &len);

	for (size_t c = 0; c < of->def->ncolumns; c++) {
		const char *id = of->def->columns[c].id, *value = of->columns[c][0];

		if (for_totals ? of->columns[c][1] == NULL : wanted && !wanted[c])
			continue;
		if (value)
			fprintf(f, "%s%s AS \"%s\"", n++ ? ", " : "SELECT ", value, id);
		else
			fprintf(f, "%s\"%s\"", n++ ? ", " : "SELECT ", id);
	}
	fprintf(f, " %s", of->from);
	ws_xfclose(f);
	if (n)
		return sql;
	free(sql);
	return NULL;
}

/* "SELECT sum(x) AS x FROM (SELECT …)": for the wanted columns with a total. NULL: there is
 * none. */
static char *totals_sql(const struct ws_table_query *of, const uint8_t *wanted)
{
	char *rows, *sql;
	size_t len, n = 0;
	FILE *f = ws_xmemstream(&sql, &len);

	for (size_t c = 0; c < of->def->ncolumns; c++)
		if (of->columns[c][1] && (!wanted || wanted[c]))
			fprintf(f, "%s%s AS %s", n++ ? ", " : "SELECT ", of->columns[c][1],
			        of->def->columns[c].id);
	rows = n ? rows_sql(of, NULL, true) : NULL;
	fprintf(f, " FROM (%s)", rows ? rows : "");
	ws_xfclose(f);
	free(rows);
	if (n)
		return sql;
	free(sql);
	return NULL;
}

enum ws_status ws_query_table(struct ws_query *q, struct ws_table *t,
                              const struct ws_table_query *of, const uint8_t *wanted,
                              struct ws_err *err)
{
	char *rows = rows_sql(of, wanted, false), *totals = totals_sql(of, wanted);
	enum ws_status status = WS_OK;

	if (rows)
		status = append(q, t, rows, false, err);
	if (totals)
		WS_THEN(status, append(q, t, totals, true, err));
	free(rows);
	free(totals);
	return status;
}

/* --- what queries read ---------------------------------------------------------------------- */

enum ws_status ws_query_check(struct ws_query *q, const char *sql, struct ws_err *err)
{
	sqlite3_stmt *statement;

	WS_FORWARD(prepare(q, sql, &statement, err));
	sqlite3_finalize(statement);
	return WS_OK;
}

enum ws_status ws_query_check_table(struct ws_query *q, const struct ws_table_query *of,
                                    const uint8_t *wanted, struct ws_err *err)
{
	char *rows = rows_sql(of, wanted, false), *totals = totals_sql(of, wanted);
	enum ws_status status = WS_OK;

	if (rows)
		status = ws_query_check(q, rows, err);
	if (totals)
		WS_THEN(status, ws_query_check(q, totals, err));
	free(rows);
	free(totals);
	return status;
}

/* --- memory ---------------------------------------------------------------------------------- */

static sqlite3_mem_methods own; /* SQLite's, which asks the C library */

static void *get(int bytes)
{
	void *p = own.xMalloc(bytes);

	if (!p)
		ws_out_of_memory((size_t)bytes);
	return p;
}

static void *get_again(void *old, int bytes)
{
	void *p = own.xRealloc(old, bytes);

	if (!p)
		ws_out_of_memory((size_t)bytes);
	return p;
}

void ws_sqlite_begin(void)
{
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own);
	sqlite3_mem_methods methods = own;
	methods.xMalloc = get;
	methods.xRealloc = get_again;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
