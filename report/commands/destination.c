#include "formats/base/outfile.h"
#include "report/commands/command.h"
#include "report/page/page.h"

static int format_of_path(const char *path)
{
	static const struct {
		const char *extension;
		enum ws_format format;
	} known[] = {
	        {".xlsx", WS_FORMAT_XLSX}, {".csv", WS_FORMAT_CSV},  {".json", WS_FORMAT_JSON},
	        {".md", WS_FORMAT_MD},     {".txt", WS_FORMAT_TEXT}, {".html", WS_FORMAT_HTML},
	};
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i].extension);

		if (len > n && !strcasecmp(path + len - n, known[i].extension))
			return (int)known[i].format;
	}
	return -1;
}

enum ws_status ws_output_check(const char *path, const char *input, struct ws_err *err)
{
	WS_FAIL_IF(path && ws_outfile_is_same(path, input), err, USAGE,
	           "'%s' is an input and would be overwritten; choose another name", path);
	return WS_OK;
}

enum ws_status ws_destination_resolve(struct ws_destination *d, const char *table,
                                      struct ws_err *err)
{
	if (d->path && !strcmp(d->path, "-"))
		d->path = NULL; /* as everywhere: stdout */
	int by_path = d->path ? format_of_path(d->path) : (int)WS_FORMAT_TEXT;

	WS_FAIL_IF(by_path == WS_FORMAT_XLSX && d->format >= 0, err, USAGE,
	           "--format is for text; '%s' is a workbook by its name", d->path);
	if (d->format < 0)
		d->format = by_path;
	WS_FAIL_IF(d->format < 0, err, USAGE,
	           "cannot tell a format from '%s': use .xlsx, .html, .csv, .json, .md or .txt, or "
	           "--format",
	           d->path);
	WS_FAIL_IF(d->format == WS_FORMAT_CSV && !table, err, USAGE,
	           "CSV holds one table: choose it with --table");
	return WS_OK;
}

static enum ws_status write_format(FILE *f, const struct ws_destination *d,
                                   const struct ws_report *report, const struct ws_text_opts *text,
                                   struct ws_err *err)
{
	switch (d->format) {
	case WS_FORMAT_CSV:
		ws_out_csv(f, report->tables[0]);
		return WS_OK;
	case WS_FORMAT_JSON:
		if (report->ntables == 1)
			return ws_out_json_table(f, report, report->tables[0], err);
		return ws_out_json(f, report, err);
	case WS_FORMAT_MD:
		ws_out_markdown(f, report);
		return WS_OK;
	case WS_FORMAT_HTML:
		return ws_out_html(f, report, err);
	default:
		ws_out_text(f, report, text);
		return WS_OK;
	}
}

enum ws_status ws_destination_write(const struct ws_destination *d, const struct ws_report *report,
                                    struct ws_err *err)
{
	struct ws_text_opts text = {0};
	struct ws_outfile out;
	struct ws_err inner;
	struct ws_arena arena = {0};
	enum ws_status status;

	if (d->rows && (d->format == WS_FORMAT_CSV || d->format == WS_FORMAT_JSON ||
	                d->format == WS_FORMAT_MD)) {
		size_t rows = (size_t)d->rows;

		struct ws_report *shorter = ws_arena_array(&arena, 1, sizeof(*shorter));
		struct ws_table *cut = ws_arena_array(&arena, report->ntables, sizeof(*cut));
		*shorter = *report;
		WS_NEW(&arena, shorter->tables, report->ntables);
		for (size_t i = 0; i < report->ntables; i++) {
			cut[i] = *report->tables[i];
			cut[i].nrows = cut[i].nrows > rows ? rows : cut[i].nrows;
			shorter->tables[i] = &cut[i];
		}
		report = shorter;
	}
	text.max_rows = (size_t)d->rows;
	text.takes_columns = d->takes_columns;
	text.has_front = d->has_front;
	if (d->format == WS_FORMAT_XLSX)
		return ws_out_xlsx(d->path, report, err);
	if (!d->path) {
		/* check stdout before starting a pager */
		text.width = ws_ui_width();
		text.colour = ws_ui_colour((enum ws_ui_when)d->colour);
		if (!d->no_pager && d->format == WS_FORMAT_TEXT)
			ws_ui_pager_start();
		status = write_format(stdout, d, report, &text, err);
	} else {
		status = ws_outfile_open(&out, d->path, err);
		if (status == WS_OK)
			status = ws_outfile_end(&out, write_format(out.f, d, report, &text, &inner),
			                        &inner, err);
	}
	ws_arena_free(&arena);
	return status;
}

bool ws_destination_is_terminal(const struct ws_destination *d)
{
	return !d->path && d->format == WS_FORMAT_TEXT;
}

enum ws_status ws_destination_show(const struct ws_destination *d, const struct ws_report *report,
                                   const char *table, const char *const *brief, struct ws_err *err)
{
	struct ws_table *slots[WS_BRIEF_TABLES];
	struct ws_report view = *report;

	if (table)
		WS_FORWARD(ws_report_select(report, table, &view, slots, err));
	else if (ws_destination_is_terminal(d))
		ws_report_shorten(report, brief, &view, slots);
	return ws_destination_write(d, &view, err);
}

void ws_report_shorten(const struct ws_report *report, const char *const *names,
                       struct ws_report *out, struct ws_table **slots)
{
	*out = *report;
	out->tables = slots;
	out->ntables = 0;
	for (; *names; names++)
		for (size_t t = 0; t < report->ntables; t++)
			if (!strcmp(report->tables[t]->def->name, *names))
				slots[out->ntables++] = report->tables[t];
}

static const char *table_name(const void *ctx, size_t i)
{
	const struct ws_report *report = ctx;

	return i < report->ntables ? report->tables[i]->def->name : NULL;
}

enum ws_status ws_table_unknown(const char *name, const char *(*names)(const void *ctx, size_t i),
                                const void *ctx, struct ws_err *err)
{
	char matches[512] = "";
	size_t n = 0;

	for (size_t i = 0; names(ctx, i); i++)
		if (*name && !strncmp(names(ctx, i), name, strlen(name)))
			ws_say_add(matches, sizeof(matches), "%s%s", n++ ? ", " : "",
			           names(ctx, i));
	WS_FAIL_IF(n > 1, err, USAGE, "several tables begin with '%s': %s", name, matches);
	return ws_opt_unknown_name("table", name, names, ctx, "'warpsheet tables' lists all", err);
}

enum ws_status ws_report_select(const struct ws_report *report, const char *name,
                                struct ws_report *out, struct ws_table **slot, struct ws_err *err)
{
	size_t nbegin = 0, begins = 0;

	*out = *report;
	out->tables = slot;
	out->ntables = 1;
	if (out->page && out->page->is_comparison)
		out->page = NULL; /* one table, bare */
	for (size_t i = 0; i < report->ntables; i++) {
		const char *own = report->tables[i]->def->name;

		*slot = report->tables[i];
		if (!strcmp(own, name))
			return WS_OK;
		if (*name && !strncmp(own, name, strlen(name))) {
			nbegin++;
			begins = i;
		}
	}
	*slot = report->tables[begins];
	if (nbegin == 1)
		return WS_OK;
	return ws_table_unknown(name, table_name, report, err);
}

/* --- columns --- */

static const char *column_id(const void *ctx, size_t i)
{
	const struct ws_table_def *def = ctx;

	return i < def->ncolumns ? def->columns[i].id : NULL;
}

#define MOST_NAMES 340 /* maximum bytes of column names listed in a message */

enum ws_status ws_column_find(const char *name, size_t len, const struct ws_table_def *def,
                              size_t *out, struct ws_err *err)
{
	char text[128], cure[512] = "";

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	for (*out = 0; *out < def->ncolumns; ++*out) {
		/* its id, title, or title without unit, in any case */
		const struct ws_table_column *c = &def->columns[*out];
		size_t title = strcspn(c->title, "(");

		while (title && c->title[title - 1] == ' ')
			title--;
		if (!strcasecmp(c->id, text) || !strcasecmp(c->title, text) ||
		    (title == strlen(text) && !strncasecmp(c->title, text, title)))
			return WS_OK;
	}
	ws_say_add(cure, sizeof(cure), "table %s has ", def->name);
	for (size_t i = 0; i < def->ncolumns && strlen(cure) < MOST_NAMES; i++)
		ws_say_add(cure, sizeof(cure), "%s%s", i ? ", " : "", def->columns[i].id);
	if (strlen(cure) >= MOST_NAMES)
		ws_say_add(cure, sizeof(cure), " and others: --table method");
	return ws_opt_unknown_name("column", text, column_id, def, cure, err);
}

enum ws_status ws_columns_parse(const char *list, const struct ws_table_def *def,
                                struct ws_column_choice *out, struct ws_err *err)
{
	*out = (struct ws_column_choice){0};
	out->index = ws_xarray(def->ncolumns, sizeof(*out->index));
	out->wanted = ws_xarray(def->ncolumns, sizeof(*out->wanted));
	struct ws_table_column *columns = ws_xarray(def->ncolumns, sizeof(*columns));
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
