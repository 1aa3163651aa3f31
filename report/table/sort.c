/* The rows of a table in another order. */
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/xalloc.h"
#include "report/table/table.h"

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

static void order_rows(struct ws_table *t, const struct key *keys)
{
	struct sorted *s = ws_xarray(1, sizeof(*s));
	const struct ws_table_source source = {fill_sorted, free_sorted, s};

	s->before = *t;
	s->row = ws_xarray(t->nrows, sizeof(*s->row));
	for (size_t i = 0; i < t->nrows; i++)
		s->row[i] = keys[i].row;
	ws_table_set_source(t, &source, t->nrows);
}

void ws_table_sort(struct ws_table *t, size_t column, bool descending)
{
	struct ws_arena texts = {0};
	struct key *keys;

	t->is_sorted = true;
	if (!t->nrows)
		return;
	keys = ws_xarray(t->nrows, sizeof(*keys));
	for (size_t row = 0; row < t->nrows; row++) {
		struct ws_cell *cell = &keys[row].cell;

		keys[row].row = row;
		*cell = ws_table_cells(t, row)[column];
		if (cell->type == WS_CELL_TEXT && t->source.fill)
			cell->text.ptr = ws_arena_copy(&texts, cell->text.ptr, cell->text.len);
	}
	qsort_r(keys, t->nrows, sizeof(*keys), compare_keys, &descending);
	order_rows(t, keys);
	free(keys);
	ws_arena_free(&texts);
}
