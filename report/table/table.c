#include "report/table/table.h"

#include <math.h>
#include <stdarg.h>

/* Texts are carved from chunks of this size; a longer text gets a chunk of its own. */
#define CHUNK_BYTES ((size_t)64 << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct ws_table_arena {
	struct chunk *chunks;
	size_t rows_allocated;
	size_t notes_allocated;
	int failed;
	struct ws_cell *nowhere; /* a row that writes may go to after memory ran out */
};

static void *arena_alloc(struct ws_table_arena *a, size_t size)
{
	struct chunk *c = a->chunks;

	if (!c || c->size - c->used < size) {
		size_t want = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		if (want > SIZE_MAX - sizeof(*c) || !(c = malloc(sizeof(*c) + want))) {
			a->failed = 1;
			return NULL;
		}
		c->used = 0;
		c->size = want;
		c->next = a->chunks;
		a->chunks = c;
	}
	c->used += size;
	return c->bytes + c->used - size;
}

static struct ws_cell *new_cells(size_t n)
{
	/* calloc also checks the product; one at least, so that NULL means out of memory */
	return calloc(n ? n : 1, sizeof(struct ws_cell));
}

struct ws_table *ws_table_new(const struct ws_table_def *def)
{
	struct ws_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->def = def;
	t->arena = calloc(1, sizeof(*t->arena));
	if (!t->arena)
		goto fail;
	t->arena->nowhere = new_cells(def->ncolumns);
	if (!t->arena->nowhere)
		goto fail;
	return t;
fail:
	ws_table_free(t);
	return NULL;
}

void ws_table_free(struct ws_table *t)
{
	if (!t)
		return;
	if (t->arena) {
		for (struct chunk *c = t->arena->chunks, *next; c; c = next) {
			next = c->next;
			free(c);
		}
		free(t->arena->nowhere);
	}
	free(t->arena);
	free(t->cells);
	free(t->totals);
	free(t->notes);
	free(t);
}

int ws_table_failed(const struct ws_table *t)
{
	return t->arena->failed;
}

static struct ws_cell *nowhere(struct ws_table *t)
{
	t->arena->failed = 1;
	for (size_t i = 0; i < t->def->ncolumns; i++)
		t->arena->nowhere[i].type = WS_CELL_EMPTY;
	return t->arena->nowhere;
}

struct ws_cell *ws_table_row(struct ws_table *t)
{
	size_t n = t->def->ncolumns;
	struct ws_cell *row;

	if (t->nrows == t->arena->rows_allocated) {
		size_t rows = t->nrows ? t->nrows * 2 : 16;
		size_t cells, bytes;
		struct ws_cell *grown = NULL;

		if (rows > t->nrows && !__builtin_mul_overflow(rows, n ? n : 1, &cells) &&
		    !__builtin_mul_overflow(cells, sizeof(*grown), &bytes))
			grown = realloc(t->cells, bytes);
		if (!grown)
			return nowhere(t);
		t->cells = grown;
		t->arena->rows_allocated = rows;
	}

	row = t->cells + t->nrows++ * n;
	memset(row, 0, n * sizeof(*row));
	return row;
}

struct ws_cell *ws_table_totals(struct ws_table *t)
{
	if (!t->totals)
		t->totals = new_cells(t->def->ncolumns);
	return t->totals ? t->totals : nowhere(t);
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
	char *copy = len < SIZE_MAX ? arena_alloc(t->arena, len + 1) : NULL;

	if (!copy) {
		cell->type = WS_CELL_EMPTY;
		t->arena->failed = 1;
		return;
	}
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	cell->type = WS_CELL_TEXT;
	cell->text.ptr = copy;
	cell->text.len = len;
}

void ws_cell_set_str(struct ws_table *t, struct ws_cell *cell, const char *text)
{
	ws_cell_set_text(t, cell, text, strlen(text));
}

static char *arena_vformat(struct ws_table_arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *text = NULL;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len >= 0)
		text = arena_alloc(a, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	else
		a->failed = 1;
	va_end(again);
	return text;
}

void ws_table_note(struct ws_table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (t->nnotes == t->arena->notes_allocated) {
		size_t n = t->nnotes ? t->nnotes * 2 : 8;
		char **grown = realloc(t->notes, n * sizeof(*grown));

		if (!grown) {
			t->arena->failed = 1;
			return;
		}
		t->notes = grown;
		t->arena->notes_allocated = n;
	}
	va_start(ap, fmt);
	text = arena_vformat(t->arena, fmt, ap);
	va_end(ap);
	if (text)
		t->notes[t->nnotes++] = text;
}

void ws_table_set_not_recorded(struct ws_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->not_recorded = arena_vformat(t->arena, fmt, ap);
	va_end(ap);
}

int ws_table_column_index(const struct ws_table_def *def, const char *id)
{
	for (size_t i = 0; i < def->ncolumns; i++)
		if (!strcmp(def->columns[i].id, id))
			return (int)i;
	return -1;
}
