#include "report/commands/columns.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/options.h"
#include "formats/base/xalloc.h"

static const char *column_id(const void *ctx, size_t i)
{
	const struct ws_table_def *def = ctx;

	return i < def->ncolumns ? def->columns[i].id : NULL;
}

/* Ids, titles and titles without their units, in any case; of `len` letters. */
static bool is_named(const struct ws_table_column *c, const char *text)
{
	size_t len = strlen(text), title = strcspn(c->title, "(");

	while (title && c->title[title - 1] == ' ')
		title--;
	return !strcasecmp(c->id, text) || !strcasecmp(c->title, text) ||
	       (title == len && !strncasecmp(c->title, text, len));
}

enum ws_status ws_column_find(const char *name, size_t len, const struct ws_table_def *def,
                              size_t *out, struct ws_err *err)
{
	char text[128], cure[128];

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	for (*out = 0; *out < def->ncolumns; ++*out)
		if (is_named(&def->columns[*out], text))
			return WS_OK;
	snprintf(cure, sizeof(cure), "--table method has those of table %s", def->name);
	return ws_opt_unknown_name("column", text, column_id, def, cure, err);
}

enum ws_status ws_columns_parse(const char *list, const struct ws_table_def *def,
                                struct ws_column_choice *out, struct ws_err *err)
{
	struct ws_table_column *columns;

	*out = (struct ws_column_choice){0};
	out->index = ws_xarray(def->ncolumns, sizeof(*out->index));
	out->wanted = ws_xarray(def->ncolumns, sizeof(*out->wanted));
	columns = ws_xarray(def->ncolumns, sizeof(*columns));
	out->def = *def;
	out->def.columns = columns;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		size_t i;

		WS_FORWARD(ws_column_find(p, len, def, &i, err));
		WS_FAIL_IF(out->wanted[i], err, USAGE, "--columns has '%.*s' twice", (int)len, p);
		out->wanted[i] = 1;
		out->index[out->n++] = i;
		p += len;
		if (!*p)
			break;
	}
	for (size_t i = 0; i < out->n; i++)
		columns[i] = def->columns[out->index[i]];
	out->def.ncolumns = out->n;
	return WS_OK;
}

static void take_cells(void *ctx, size_t row, struct ws_cell *cells)
{
	const struct ws_column_choice *c = ctx;
	const struct ws_cell *all = ws_table_cells(c->source, row);

	for (size_t i = 0; i < c->n; i++)
		cells[i] = all[c->index[i]];
}

struct ws_table *ws_columns_take(struct ws_column_choice *c, const struct ws_table *table)
{
	const struct ws_table_source source = {.fill = take_cells, .ctx = c};

	c->source = table;
	c->table = ws_table_new(&c->def);
	ws_table_set_source(c->table, &source, table->nrows);
	c->table->is_chosen = true;
	c->table->is_sorted = table->is_sorted;
	return c->table;
}

void ws_columns_release(struct ws_column_choice *c)
{
	ws_table_free(c->table);
	free(c->index);
	free(c->wanted);
	/* const for its readers */
	free((void *)c->def.columns);
	*c = (struct ws_column_choice){0};
}
