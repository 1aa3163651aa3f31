/* sweep-pivot: the table of a sweep by two facts. */
#include <string.h>

#include "report/sweep/private.h"

#define MOST_SHOWN 5

/* The texts of each row of the sweep: its row in the pivot, its group of columns. */
struct pivot {
	struct ws_sweep *s;
	const uint32_t *row;    /* the value of the fact --rows */
	const uint32_t *label;  /* the other facts in which rows differ */
	const uint32_t *column; /* the value of the fact --columns: its group of columns */
	const char *row_title, *column_title;
	uint32_t *group; /* the values of `column`, once each, in order */
	size_t ngroups;
	int shown[MOST_SHOWN]; /* columns of the table sweep that each group shows */
	size_t nshown;
};

/* The column that --value names, else the phases' times. */
static enum ws_status find_shown(struct pivot *p, struct ws_err *err)
{
	static const int usual[MOST_SHOWN] = {WS_TC_sweep_forward_ns, WS_TC_sweep_forward_std_ns,
	                                      WS_TC_sweep_backward_ns, WS_TC_sweep_backward_std_ns,
	                                      WS_TC_sweep_backward_ratio};
	const struct ws_table_def *def = p->s->table->def;
	const char *value = p->s->opts->value;

	for (size_t i = 0; i < MOST_SHOWN && !value; i++)
		p->shown[p->nshown++] = usual[i];
	for (size_t i = 0; i < def->ncolumns && value && !p->nshown; i++)
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

/* The fact of each row of the sweep. */
static uint32_t *facts_of(struct ws_sweep *s, const char *key)
{
	uint32_t *value = ws_arena_array(&s->arena, s->nrows, sizeof(*value));

	for (size_t i = 0; i < s->nrows; i++)
		value[i] = ws_sweep_fact(s, s->rows[i].run, key);
	return value;
}

static void find_groups(struct pivot *p)
{
	struct ws_sweep *s = p->s;
	uint32_t *value = ws_arena_array(&s->arena, s->nrows, sizeof(*value));

	for (size_t i = 0; i < s->nrows; i++)
		value[i] = p->column[i];
	if (s->nrows)
		qsort_r(value, s->nrows, sizeof(*value), by_value, s);
	for (size_t i = 0; i < s->nrows; i++)
		if (!i || value[i] != value[p->ngroups - 1])
			value[p->ngroups++] = value[i];
	p->group = value;
}

/* The fixed columns of def, the first of which is called as --rows, and the groups'. */
static struct ws_table_def *make_def(const struct pivot *p, const struct ws_table_def *def)
{
	struct ws_arena *arena = &p->s->arena;
	const struct ws_table_column *from = p->s->table->def->columns;
	struct ws_table_def *made = ws_arena_alloc(arena, sizeof(*made));
	struct ws_table_column *columns =
	        ws_arena_array(arena, def->ncolumns + p->ngroups * p->nshown, sizeof(*columns));
	size_t at = def->ncolumns;

	memcpy(columns, def->columns, at * sizeof(*columns));
	columns[0].title = ws_arena_copy(arena, p->row_title, strlen(p->row_title));
	for (size_t c = 0; c < p->ngroups; c++) {
		struct ws_bytes value = ws_texts_get(&p->s->texts, p->group[c]);

		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_table_column *of = &from[p->shown[k]];

			columns[at] = *of;
			/* the ends of an interval are no ratios to draw */
			if (p->shown[k] == WS_TC_sweep_low || p->shown[k] == WS_TC_sweep_high)
				columns[at].display = WS_DISPLAY_REAL;
			columns[at].id = ws_arena_format(arena, "%s_%zu", of->id, c);
			columns[at++].title =
			        ws_arena_format(arena, "%s %.*s%s%s", p->column_title,
			                        value.len < 60 ? (int)value.len : 60,
			                        value.len ? (const char *)value.ptr : "",
			                        value.len ? " " : "", of->title);
		}
	}
	*made = *def;
	made->columns = columns;
	made->ncolumns = at;
	return made;
}

bool ws_sweep_differ(const struct ws_sweep *s, const char *key)
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

/* Facts in which rows differ but these two: "dtype fp32, layers 2". */
static void find_labels(struct ws_sweep *s, const char *but, const char *and_but,
                        const uint32_t **out)
{
	uint32_t *labels = ws_arena_array(&s->arena, s->nrows, sizeof(*labels));
	bool told[WS_SWEEP_FACTS];

	for (size_t k = 0; k < WS_SWEEP_FACTS; k++)
		told[k] = ws_sweep_differ(s, ws_sweep_facts[k]) &&
		          strcmp(ws_sweep_facts[k], but) != 0 &&
		          strcmp(ws_sweep_facts[k], and_but) != 0;
	for (size_t i = 0; i < s->nrows; i++) {
		char others[512];
		const char *label = "";

		for (size_t k = 0; k < WS_SWEEP_FACTS; k++) {
			struct ws_bytes text = ws_sweep_text(s, s->rows[i].run, ws_sweep_facts[k]);

			if (told[k] && text.len)
				label = ws_arena_format(&s->arena, "%s%s%s %.*s", label,
				                        *label ? ", " : "", ws_sweep_facts[k],
				                        (int)text.len, (const char *)text.ptr);
		}
		ws_sweep_others(s, s->rows[i].run, but, others, sizeof(others));
		if (*others)
			label = ws_arena_format(&s->arena, "%s%s%s", label, *label ? ", " : "",
			                        others);
		labels[i] = ws_texts_add_str(&s->texts, label);
	}
	*out = labels;
}

static void set_text(const struct pivot *p, struct ws_table *t, struct ws_cell *cell, uint32_t text)
{
	struct ws_bytes bytes = ws_texts_get(&p->s->texts, text);

	if (bytes.len)
		ws_cell_set_text(t, cell, bytes.ptr, bytes.len);
}

static void fill(const struct pivot *p, size_t fixed, struct ws_table *t)
{
	struct ws_sweep *s = p->s;
	/* row of the pivot -> row of the sweep that it began with */
	size_t *first = ws_arena_array(&s->arena, s->nrows, sizeof(*first));

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_cell *from = s->table->cells + i * s->table->def->ncolumns;
		struct ws_cell *cells;
		size_t c = 0, r = 0;

		while (p->group[c] != p->column[i])
			c++;
		while (r < t->nrows &&
		       (p->row[first[r]] != p->row[i] || p->label[first[r]] != p->label[i]))
			r++;
		if (r == t->nrows) {
			first[r] = i;
			cells = ws_table_row(t);
			set_text(p, t, &cells[0], p->row[i]);
			if (cells[0].type == WS_CELL_EMPTY)
				ws_cell_set_str(t, &cells[0], "not known");
			set_text(p, t, &cells[1], p->label[i]);
		}
		cells = t->cells + r * t->def->ncolumns + fixed + c * p->nshown;
		for (size_t k = 0; k < p->nshown; k++)
			cells[k] = from[p->shown[k]];
	}
}

enum ws_status ws_sweep_pivot(struct ws_sweep *s, struct ws_table **t, struct ws_err *err)
{
	const struct ws_table_def *fixed = (*t)->def, *def;
	const char *rows = s->opts->rows;
	struct pivot p = {.s = s};

	if (!rows && ws_sweep_has_key(s, "model"))
		rows = "model";
	WS_FORWARD(find_shown(&p, err));
	WS_FORWARD(find_key(s, rows, "rows", "", &p.row_title, err));
	WS_FORWARD(find_key(s, s->opts->columns, "columns", p.row_title, &p.column_title, err));
	find_labels(s, p.row_title, p.column_title, &p.label);
	p.row = facts_of(s, p.row_title);
	p.column = facts_of(s, p.column_title);
	find_groups(&p);
	def = make_def(&p, fixed);
	ws_table_free(*t);
	*t = ws_table_new(def);
	fill(&p, fixed->ncolumns, *t);
	return WS_OK;
}
