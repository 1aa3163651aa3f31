#include <limits.h>

#include "report/table/table.h"

struct ws_table_arena {
	struct ws_arena memory; /* texts */
	size_t cells_capacity, notes_capacity;
	struct ws_cell *made;              /* the row that was made last */
	struct ws_column_profile *profile; /* of the first rows */
	size_t profile_rows;
	bool profile_is_sorted;
};

struct ws_table *ws_table_new(const struct ws_table_def *def)
{
	struct ws_table *t = ws_xarray(1, sizeof(*t));

	t->def = def;
	t->arena = ws_xarray(1, sizeof(*t->arena));
	return t;
}

void ws_table_free(struct ws_table *t)
{
	if (!t)
		return;
	if (t->source.free)
		t->source.free(t->source.ctx);
	ws_arena_free(&t->arena->memory);
	free(t->arena);
	free(t->cells);
	free(t->notes);
	free(t);
}

void ws_table_set_source(struct ws_table *t, const struct ws_table_source *source, size_t nrows)
{
	t->source = *source;
	t->arena->made =
	        ws_arena_array(&t->arena->memory, t->def->ncolumns, sizeof(*t->arena->made));
	t->nrows = nrows;
}

const struct ws_cell *ws_table_cells(const struct ws_table *t, size_t row)
{
	const size_t n = t->def->ncolumns;

	if (!t->source.fill)
		return t->cells + row * n;
	memset(t->arena->made, 0, n * sizeof(*t->arena->made));
	t->source.fill(t->source.ctx, row, t->arena->made);
	return t->arena->made;
}

bool ws_cell_is(const struct ws_cell *cell, const char *text)
{
	return cell->type == WS_CELL_TEXT && cell->text.len == strlen(text) &&
	       !memcmp(cell->text.ptr, text, cell->text.len);
}

bool ws_cell_same(const struct ws_cell *a, const struct ws_cell *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == WS_CELL_TEXT)
		return a->text.len == b->text.len && !memcmp(a->text.ptr, b->text.ptr, a->text.len);
	return a->type == WS_CELL_EMPTY || a->i == b->i;
}

double ws_cell_number(const struct ws_cell *cell)
{
	return cell->type == WS_CELL_REAL  ? cell->r
	       : cell->type == WS_CELL_INT ? (double)cell->i
	                                   : NAN;
}

double ws_cell_magnitude(const struct ws_cell *cell)
{
	const double number = ws_cell_number(cell);

	return isnan(number) ? 0 : fabs(number);
}

/* --- what the cells of a column have in common ------------------------------------------- */

#define LEAST_DECADE (-12)
#define DECADES      33 /* up to 10^20 */

/* What is found out on the way. */
struct tally {
	uint32_t decade[DECADES]; /* numbers but 0 */
	struct ws_cell first;
};

static void look_at(struct ws_column_profile *p, struct tally *tally, const struct ws_cell *cell)
{
	const double magnitude = ws_cell_magnitude(cell);

	p->nempty += cell->type == WS_CELL_EMPTY;
	if (magnitude == 0)
		return;
	p->has_negative |= cell->type == WS_CELL_INT ? cell->i < 0 : cell->r < 0;
	p->has_fraction |= cell->type == WS_CELL_REAL && cell->r != rint(cell->r);
	static const double power[DECADES + 1] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7,    1e-6,
	                                          1e-5,  1e-4,  1e-3,  1e-2, 1e-1, 1e0,     1e1,
	                                          1e2,   1e3,   1e4,   1e5,  1e6,  1e7,     1e8,
	                                          1e9,   1e10,  1e11,  1e12, 1e13, 1e14,    1e15,
	                                          1e16,  1e17,  1e18,  1e19, 1e20, INFINITY};
	/* of the binary exponent, which is one too few at most */
	int at = (int)floor(ilogb(magnitude) * 0.30102999566) - LEAST_DECADE;

	at = at < 0 ? 0 : at >= DECADES ? DECADES - 1 : at;
	tally->decade[at + (at + 1 < DECADES && magnitude >= power[at + 1])]++;
}

static void set_decade(struct ws_column_profile *p, const struct tally *tally)
{
	uint64_t all = 0, seen = 0;
	int at = 0;

	for (int i = 0; i < DECADES; i++)
		all += tally->decade[i];
	p->decade = INT_MIN;
	if (!all)
		return;
	for (; (seen += tally->decade[at]) * 2 < all;)
		at++;
	p->decade = at + LEAST_DECADE;
}

const struct ws_column_profile *ws_table_profile(const struct ws_table *t, size_t rows)
{
	const size_t n = t->def->ncolumns;
	struct ws_arena temp = {0};
	struct ws_column_profile *p = t->arena->profile;

	rows = rows < t->nrows ? rows : t->nrows;
	if (p && t->arena->profile_rows == rows && t->arena->profile_is_sorted == t->is_sorted)
		return p;
	p = ws_arena_array(&t->arena->memory, n, sizeof(*p));
	struct tally *tally = ws_arena_array(&temp, n, sizeof(*tally));
	for (size_t row = 0; row < rows; row++) {
		const struct ws_cell *cells = ws_table_cells(t, row);

		for (size_t c = 0; c < n; c++) {
			struct ws_cell *first = &tally[c].first;

			if (!row) { /* its text lasts until the next row is made */
				*first = cells[c];
				if (first->type == WS_CELL_TEXT && t->source.fill)
					first->text.ptr = ws_arena_copy(&temp, first->text.ptr,
					                                first->text.len);
				p[c].is_constant = true;
			}
			p[c].is_constant &= ws_cell_same(first, &cells[c]);
			look_at(&p[c], &tally[c], &cells[c]);
		}
	}
	for (size_t c = 0; c < n; c++)
		set_decade(&p[c], &tally[c]);
	ws_arena_free(&temp);
	t->arena->profile = p;
	t->arena->profile_rows = rows;
	t->arena->profile_is_sorted = t->is_sorted;
	return p;
}

void ws_table_profile_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                             struct ws_column_profile *out)
{
	struct tally tally = {0};

	*out = (struct ws_column_profile){0};
	for (size_t row = begin; row < end; row++)
		look_at(out, &tally, &ws_table_cells(t, row)[column]);
	set_decade(out, &tally);
}

struct ws_cell *ws_table_row(struct ws_table *t)
{
	size_t n = t->def->ncolumns;

	WS_GROW(t->cells, (t->nrows + 1) * (n ? n : 1), t->arena->cells_capacity);
	struct ws_cell *row = t->cells + t->nrows++ * n;
	memset(row, 0, n * sizeof(*row));
	return row;
}

struct ws_cell *ws_table_totals(struct ws_table *t)
{
	if (!t->totals)
		t->totals = ws_arena_array(&t->arena->memory, t->def->ncolumns, sizeof(*t->totals));
	return t->totals;
}

void ws_cell_set_int(struct ws_cell *cell, int64_t value)
{
	cell->type = WS_CELL_INT;
	cell->i = value;
}

void ws_cell_set_real(struct ws_cell *cell, double value)
{
	cell->type = isfinite(value) ? WS_CELL_REAL : WS_CELL_EMPTY;
	cell->r = value;
}

void ws_cell_set_text(struct ws_table *t, struct ws_cell *cell, const char *text, size_t len)
{
	cell->text.ptr = ws_arena_copy(&t->arena->memory, text, len);
	cell->type = WS_CELL_TEXT;
	cell->text.len = len;
}

void ws_cell_set_str(struct ws_table *t, struct ws_cell *cell, const char *text)
{
	ws_cell_set_text(t, cell, text, strlen(text));
}

void ws_cell_share_text(struct ws_cell *cell, const char *text, size_t len)
{
	cell->type = WS_CELL_TEXT;
	cell->text.ptr = text;
	cell->text.len = len;
}

void ws_cell_share_str(struct ws_cell *cell, const char *text)
{
	ws_cell_share_text(cell, text, strlen(text));
}

/* "of the kernel time" for "of the GPU time". */
static char *words_without_gpu(struct ws_arena *arena, char *text)
{
	static const char of_gpu[] = "GPU time";
	char *at = strstr(text, of_gpu);

	return at ? ws_arena_format(arena, "%.*s%s%s", (int)(at - text), text,
	                            at == text ? "Kernel time" : "kernel time",
	                            words_without_gpu(arena, at + strlen(of_gpu)))
	          : text;
}

static void add_note(struct ws_table *t, size_t at, const char *fmt, va_list ap)
{
	char *text = ws_arena_vformat(&t->arena->memory, fmt, ap);

	if (t->without_gpu)
		text = words_without_gpu(&t->arena->memory, text);
	WS_GROW(t->notes, t->nnotes + 1, t->arena->notes_capacity);
	memmove(&t->notes[at + 1], &t->notes[at], (t->nnotes++ - at) * sizeof(*t->notes));
	t->notes[at] = text;
}

void ws_table_note(struct ws_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_note(t, t->nnotes, fmt, ap);
	va_end(ap);
}

struct ws_cell *ws_table_add(struct ws_table *t, const char *subject, const char *fmt, ...)
{
	struct ws_cell *row = ws_table_row(t);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ws_cell_set_str(t, &row[0], subject);
	ws_cell_set_str(t, &row[1], text);
	return row;
}

void ws_table_answer(struct ws_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_note(t, t->nheadline_notes++, fmt, ap);
	va_end(ap);
}

/* A copy of its kind that can be changed. */
static struct ws_table_def *own_def(struct ws_table *t)
{
	struct ws_table_def *def = ws_arena_array(&t->arena->memory, 1, sizeof(*def));

	*def = *t->def;
	t->def = def;
	return def;
}

void ws_table_set_without_gpu(struct ws_table *t)
{
	struct ws_arena *arena = &t->arena->memory;
	struct ws_table_def *def = own_def(t);

	t->without_gpu = true;
	def->meaning =
	        words_without_gpu(arena, ws_arena_copy(arena, def->meaning, strlen(def->meaning)));
}

void ws_table_set_without_shares(struct ws_table *t)
{
	const char *meaning = t->def->meaning,
	           *at = strstr(meaning, ". Shares are of the GPU time"),
	           *behind = at ? strstr(at + 1, ". ") : NULL;

	if (at)
		own_def(t)->meaning =
		        ws_arena_format(&t->arena->memory, "%.*s%s", (int)(at - meaning), meaning,
		                        behind ? behind : "");
}

void ws_table_set_title(struct ws_table *t, const char *title, const char *sheet)
{
	struct ws_table_def *def = own_def(t);

	def->title = ws_arena_copy(&t->arena->memory, title, strlen(title) + 1);
	if (sheet)
		def->sheet = ws_arena_copy(&t->arena->memory, sheet, strlen(sheet) + 1);
}

void ws_table_show_as(struct ws_table *t, size_t column, const char *title)
{
	if (!t->shown_titles)
		WS_NEW(&t->arena->memory, t->shown_titles, t->def->ncolumns);
	t->shown_titles[column] = title;
}

void ws_table_set_sides(struct ws_table *t, const char *a, const char *b)
{
	const size_t most = 12; /* letters that leave room for the answers on 80 columns */

	if (strlen(a) > most || strlen(b) > most)
		return;
	t->side[0] = ws_arena_copy(&t->arena->memory, a, strlen(a));
	t->side[1] = ws_arena_copy(&t->arena->memory, b, strlen(b));
}

void ws_table_set_not_recorded(struct ws_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->not_recorded = ws_arena_vformat(&t->arena->memory, fmt, ap);
	va_end(ap);
}

int ws_table_column_index(const struct ws_table_def *def, const char *id)
{
	for (size_t i = 0; i < def->ncolumns; i++)
		if (!strcmp(def->columns[i].id, id))
			return (int)i;
	return -1;
}

/* --- sort --- */

/* The rows of a table in another order. */

struct key {
	struct ws_cell cell; /* its text is a copy */
	size_t row;
};

/* The table before, and in which order its rows come now. */
struct sorted {
	struct ws_table before;
	size_t *row;
};

static int compare_cells(const struct ws_cell *a, const struct ws_cell *b)
{
	if (a->type == WS_CELL_TEXT && b->type == WS_CELL_TEXT) {
		size_t len = a->text.len < b->text.len ? a->text.len : b->text.len;
		int order = memcmp(a->text.ptr, b->text.ptr, len);

		return order ? order : (a->text.len > b->text.len) - (a->text.len < b->text.len);
	}
	if (a->type == WS_CELL_INT && b->type == WS_CELL_INT)
		return (a->i > b->i) - (a->i < b->i);
	const double x = ws_cell_number(a), y = ws_cell_number(b);

	return (x > y) - (x < y);
}

static int compare_keys(const void *x, const void *y, void *descending)
{
	const struct key *a = x, *b = y;
	int empty_a = a->cell.type == WS_CELL_EMPTY, empty_b = b->cell.type == WS_CELL_EMPTY;
	int order = empty_a || empty_b ? 0 : compare_cells(&a->cell, &b->cell);

	if (empty_a != empty_b)
		return empty_a - empty_b;
	if (order)
		return *(const bool *)descending ? -order : order;
	return (a->row > b->row) - (a->row < b->row);
}

static void fill_sorted(void *ctx, size_t row, struct ws_cell *cells)
{
	const struct sorted *s = ctx;
	const struct ws_cell *from = ws_table_cells(&s->before, s->row[row]);

	if (from != cells) /* a row that is made is made there */
		memcpy(cells, from, s->before.def->ncolumns * sizeof(*cells));
}

static void free_sorted(void *ctx)
{
	struct sorted *s = ctx;

	if (s->before.source.free)
		s->before.source.free(s->before.source.ctx);
	free(s->row);
	free(s);
}

void ws_table_drop_headings(struct ws_table *t)
{
	const size_t n = t->def->ncolumns, nrows = t->nrows;
	const int name = ws_table_column_index(t->def, "name");

	if (strcmp(t->def->name, "range-kernels") != 0)
		return;
	t->nrows = 0;
	for (size_t row = 0; row < nrows; row++)
		if (t->cells[row * n + (size_t)name].type != WS_CELL_EMPTY)
			memmove(&t->cells[t->nrows++ * n], &t->cells[row * n],
			        n * sizeof(*t->cells));
}

void ws_table_sort(struct ws_table *t, size_t column, bool descending)
{
	struct ws_arena texts = {0};

	t->is_sorted = true;
	if (!t->nrows)
		return;
	struct key *keys = ws_xarray(t->nrows, sizeof(*keys));
	for (size_t row = 0; row < t->nrows; row++) {
		struct ws_cell *cell = &keys[row].cell;

		keys[row].row = row;
		*cell = ws_table_cells(t, row)[column];
		if (cell->type == WS_CELL_TEXT && t->source.fill)
			cell->text.ptr = ws_arena_copy(&texts, cell->text.ptr, cell->text.len);
	}
	ws_sort_by(keys, t->nrows, sizeof(*keys), compare_keys, &descending);

	struct sorted *s = ws_xarray(1, sizeof(*s));
	const struct ws_table_source source = {fill_sorted, free_sorted, s};

	s->before = *t;
	s->row = ws_xarray(t->nrows, sizeof(*s->row));
	for (size_t i = 0; i < t->nrows; i++)
		s->row[i] = keys[i].row;
	ws_table_set_source(t, &source, t->nrows);
	free(keys);
	ws_arena_free(&texts);
}
