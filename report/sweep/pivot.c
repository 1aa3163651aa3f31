/* sweep-pivot: the table of a sweep by two facts. */
#include <string.h>

#include "report/sweep/private.h"

#define MOST_SHOWN 5

struct pivot {
	struct ws_sweep *s;
	const char *row_key, *column_key;
	uint32_t *column_value; /* of each column group, in order */
	size_t ncolumns;
	int shown[MOST_SHOWN]; /* columns of the table that each group shows */
	size_t nshown;
	uint32_t *label; /* row of the sweep -> text of its configuration */
};

static enum ws_status find_shown(struct pivot *p, struct ws_err *err)
{
	static const int usual[MOST_SHOWN] = {WS_TC_sweep_forward_ns, WS_TC_sweep_forward_std_ns,
	                                      WS_TC_sweep_backward_ns, WS_TC_sweep_backward_std_ns,
	                                      WS_TC_sweep_backward_ratio};
	const struct ws_table_def *def = p->s->table->def;
	const char *value = p->s->opts->value;

	for (size_t i = 0; i < MOST_SHOWN && !value; i++)
		p->shown[p->nshown++] = usual[i];
	for (size_t i = 0; i < def->ncolumns && value; i++)
		if (!strcasecmp(def->columns[i].id, value) ||
		    !strcasecmp(def->columns[i].title, value))
			p->shown[p->nshown++] = (int)i;
	WS_FAIL_IF(!p->nshown || def->columns[p->shown[0]].type == WS_CELL_TEXT, err, USAGE,
	           "--value %s: no column of numbers of the table sweep; write its title, as in "
	           "'Total (ns)'",
	           value);
	return WS_OK;
}

/* A key that the user gave, else the first of these that runs have in more than one value. */
static enum ws_status find_key(const struct ws_sweep *s, const char *given, const char *option,
                               const char *other, const char **out, struct ws_err *err)
{
	static const char *const usual[] = {"context", "batch", "dtype", "model", "layers"};

	WS_FAIL_IF(given && !ws_sweep_has_key(s, given), err, USAGE,
	           "--%s %s: no trace has such a fact; 'warpsheet info' lists a trace's", option,
	           given);
	*out = given;
	for (size_t k = 0; !*out && k < sizeof(usual) / sizeof(*usual); k++)
		for (size_t i = 1; i < s->nrows; i++)
			if (strcmp(usual[k], other) != 0 &&
			    ws_sweep_fact(s, s->rows[i].run, usual[k]) !=
			            ws_sweep_fact(s, s->rows[0].run, usual[k]))
				*out = usual[k];
	if (!*out)
		*out = strcmp(other, "context") ? "context" : "batch";
	return WS_OK;
}

static int by_value(const void *a, const void *b, void *s)
{
	return ws_sweep_compare_values(s, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void find_columns(struct pivot *p)
{
	struct ws_sweep *s = p->s;
	uint32_t *value = ws_arena_array(&s->arena, s->nrows, sizeof(*value));

	for (size_t i = 0; i < s->nrows && value; i++)
		value[i] = ws_sweep_fact(s, s->rows[i].run, p->column_key);
	if (s->nrows && value)
		qsort_r(value, s->nrows, sizeof(*value), by_value, s);
	for (size_t i = 0; i < s->nrows && value; i++)
		if (!i || value[i] != value[p->ncolumns - 1])
			value[p->ncolumns++] = value[i];
	p->column_value = value;
}

/* The fixed columns, and a group of columns a value. */
static void make_def(const struct pivot *p, struct ws_table_column *columns)
{
	struct ws_arena *arena = &p->s->arena;
	const struct ws_table_column *from = p->s->table->def->columns;
	struct ws_table_def *def = &p->s->pivot;
	size_t at = WS_NTC_sweep_pivot;

	*def = ws_def_sweep_pivot;
	memcpy(columns, def->columns, at * sizeof(*columns));
	columns[WS_TC_sweep_pivot_row].title = ws_arena_copy(arena, p->row_key, strlen(p->row_key));
	for (size_t c = 0; c < p->ncolumns; c++) {
		struct ws_bytes value = ws_texts_get(&p->s->texts, p->column_value[c]);

		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_table_column *of = &from[p->shown[k]];

			columns[at] = *of;
			columns[at].id = ws_arena_format(arena, "%s_%zu", of->id, c);
			columns[at++].title =
			        ws_arena_format(arena, "%s %.*s %s", p->column_key,
			                        value.len < 60 ? (int)value.len : 60,
			                        value.len ? (const char *)value.ptr : "?",
			                        of->title);
		}
	}
	def->columns = columns;
	def->ncolumns = at;
}

/* Do the rows differ in this fact? What left no trace does not say all. */
static bool differ(const struct ws_sweep *s, const char *key)
{
	uint32_t first = 0;

	for (size_t i = 0; i < s->nrows; i++) {
		uint32_t value = ws_sweep_fact(s, s->rows[i].run, key);

		if (value && first && value != first)
			return true;
		first = first ? first : value;
	}
	return false;
}

/* Facts in which rows differ beside the pivot's own: "dtype fp32, layers 2". */
static enum ws_status find_labels(struct pivot *p, struct ws_err *err)
{
	static const char *const also[] = {"model", "context", "batch", "dtype", "phase"};
	struct ws_sweep *s = p->s;
	bool told[5];

	for (size_t k = 0; k < 5; k++)
		told[k] = differ(s, also[k]) && strcmp(also[k], p->row_key) != 0 &&
		          strcmp(also[k], p->column_key) != 0;
	p->label = ws_arena_array(&s->arena, s->nrows, sizeof(*p->label));
	for (size_t i = 0; i < s->nrows && p->label; i++) {
		const struct ws_cell *others =
		        &s->table->cells[i * s->table->def->ncolumns + WS_TC_sweep_others];
		const char *label = "";

		for (size_t k = 0; k < 5; k++) {
			struct ws_bytes text = ws_sweep_text(s, s->rows[i].run, also[k]);

			if (told[k] && text.len)
				label = ws_arena_format(&s->arena, "%s%s%s %.*s", label,
				                        *label ? ", " : "", also[k], (int)text.len,
				                        (const char *)text.ptr);
		}
		if (others->type == WS_CELL_TEXT)
			label = ws_arena_format(&s->arena, "%s%s%.*s", label, *label ? ", " : "",
			                        (int)others->text.len, others->text.ptr);
		WS_FORWARD(ws_arena_check(&s->arena, "the pivot", err));
		WS_FORWARD(ws_texts_add_str(&s->texts, label, &p->label[i], err));
	}
	return WS_OK;
}

static void set_text(const struct pivot *p, struct ws_table *t, struct ws_cell *cell, uint32_t text)
{
	struct ws_bytes bytes = ws_texts_get(&p->s->texts, text);

	if (bytes.len)
		ws_cell_set_text(t, cell, bytes.ptr, bytes.len);
}

/* first: row of the pivot -> row of the sweep that it began with. */
static void fill_pivot(const struct pivot *p, struct ws_table *t, size_t *first)
{
	struct ws_sweep *s = p->s;

	for (size_t i = 0; i < s->nrows; i++) {
		uint32_t value = ws_sweep_fact(s, s->rows[i].run, p->row_key);
		uint32_t column = ws_sweep_fact(s, s->rows[i].run, p->column_key);
		const struct ws_cell *from = s->table->cells + i * s->table->def->ncolumns;
		struct ws_cell *cells;
		size_t c = 0, r = 0;

		while (p->column_value[c] != column)
			c++;
		while (r < t->nrows &&
		       (ws_sweep_fact(s, s->rows[first[r]].run, p->row_key) != value ||
		        p->label[first[r]] != p->label[i]))
			r++;
		if (r == t->nrows) {
			first[r] = i;
			cells = ws_table_row(t);
			set_text(p, t, &cells[WS_TC_sweep_pivot_row], value);
			set_text(p, t, &cells[WS_TC_sweep_pivot_configuration], p->label[i]);
		}
		if (ws_table_failed(t))
			return;
		cells = t->cells + r * t->def->ncolumns + WS_NTC_sweep_pivot + c * p->nshown;
		for (size_t k = 0; k < p->nshown; k++)
			cells[k] = from[p->shown[k]];
	}
}

enum ws_status ws_sweep_pivot(struct ws_sweep *s, struct ws_table **t, struct ws_err *err)
{
	struct pivot p = {.s = s};
	const char *rows = s->opts->rows;
	struct ws_table_column *columns;
	size_t *first = ws_arena_array(&s->arena, s->nrows, sizeof(*first));

	if (!rows && ws_sweep_has_key(s, "model"))
		rows = "model";
	WS_FORWARD(find_shown(&p, err));
	WS_FORWARD(find_key(s, rows, "rows", "", &p.row_key, err));
	WS_FORWARD(find_key(s, s->opts->columns, "columns", p.row_key, &p.column_key, err));
	find_columns(&p);
	columns = ws_arena_array(&s->arena, WS_NTC_sweep_pivot + p.ncolumns * p.nshown,
	                         sizeof(*columns));
	if (columns)
		make_def(&p, columns);
	WS_FORWARD(find_labels(&p, err));
	WS_FORWARD(ws_arena_check(&s->arena, "the pivot", err));
	ws_table_free(*t);
	*t = ws_table_new(&s->pivot);
	if (!*t)
		return WS_FAIL(err, NO_MEMORY, "no memory for the pivot");
	fill_pivot(&p, *t, first);
	return WS_OK;
}
