/* GitHub's Markdown: pipe tables with the numbers of the text writer. */
#include <ctype.h>
#include <stdbool.h>

#include "report/table/display.h"
#include "report/table/table.h"

/* What means something to Markdown or HTML inside a line. */
static bool is_markup(const char *text, size_t len, size_t pos)
{
	if (text[pos] == '_')
		/* inside a word it is no emphasis, and identifiers stay readable */
		return !pos || pos + 1 >= len || !isalnum((unsigned char)text[pos - 1]) ||
		       !isalnum((unsigned char)text[pos + 1]);
	return text[pos] && strchr("\\`*{}[]<>#|~&", text[pos]) != NULL;
}

static void put_text(FILE *f, const char *text, size_t len)
{
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		int escape = is_markup(text, len, pos);

		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		/* an escape such as \n shows its backslash only when that is doubled */
		if (escape || (glyph.len > 1 && glyph.bytes[0] == '\\'))
			fputc('\\', f);
		fwrite(glyph.bytes, 1, glyph.len, f);
	}
}

static void put_str(FILE *f, const char *text)
{
	put_text(f, text, strlen(text));
}

static void put_header(FILE *f, const struct ws_table_def *def,
                       const struct ws_shown_column *columns)
{
	fputc('|', f);
	for (size_t i = 0; i < def->ncolumns; i++) {
		fputc(' ', f);
		put_str(f, columns[i].title);
		fputs(" |", f);
	}
	fputs("\n|", f);
	for (size_t i = 0; i < def->ncolumns; i++)
		fputs(def->columns[i].type == WS_CELL_TEXT ? "---|" : "---:|", f);
	fputc('\n', f);
}

static void put_row(FILE *f, const struct ws_table_def *def, const struct ws_shown_column *columns,
                    const struct ws_cell *cells, int total)
{
	char number[WS_DISPLAY_NUMBER_MAX];

	fputc('|', f);
	for (size_t i = 0; i < def->ncolumns; i++) {
		const char *strong = total && cells[i].type != WS_CELL_EMPTY ? "**" : "";

		fprintf(f, " %s", strong);
		if (cells[i].type == WS_CELL_TEXT) {
			put_text(f, cells[i].text.ptr, cells[i].text.len);
		} else {
			ws_display_number(&columns[i], &cells[i], number);
			fputs(number, f);
		}
		fprintf(f, "%s |", strong);
	}
	fputc('\n', f);
}

static enum ws_status put_table(FILE *f, const struct ws_table *t, struct ws_err *err)
{
	const struct ws_table_def *def = t->def;
	struct ws_shown_column *columns = calloc(def->ncolumns + 1, sizeof(*columns));

	WS_FAIL_IF(!columns, err, NO_MEMORY, "out of memory while writing table %s", def->name);
	for (size_t i = 0; i < def->ncolumns; i++)
		ws_display_column(t, i, &columns[i]);
	put_header(f, def, columns);
	for (size_t row = 0; row < t->nrows; row++)
		put_row(f, def, columns, ws_table_cells(t, row), 0);
	if (t->totals)
		put_row(f, def, columns, t->totals, 1);
	free(columns);
	return WS_OK;
}

/* --- a page instead of a table: sections with the columns that they use -------------------- */

struct page_section {
	const struct ws_table *t;
	const struct ws_page_columns *columns;
	size_t begin, end; /* rows */
	/* in the order of the page: item, numbers, text */
	struct page_column {
		size_t column;
		double greatest;
	} * shown;
	size_t nshown;
};

static bool has(const struct page_section *s, size_t column, bool text)
{
	for (size_t row = s->begin; row < s->end; row++) {
		enum ws_cell_type type = ws_table_cells(s->t, row)[column].type;

		if (type != WS_CELL_EMPTY && (type == WS_CELL_TEXT) == text)
			return true;
	}
	return false;
}

static void show(struct page_section *s, size_t column)
{
	s->shown[s->nshown++] =
	        (struct page_column){column, ws_display_greatest(s->t, column, s->begin, s->end)};
}

static void choose_columns(struct page_section *s)
{
	const struct ws_table_def *def = s->t->def;

	s->nshown = 0;
	show(s, s->columns->item);
	for (size_t i = 0; i < def->ncolumns; i++)
		if (def->columns[i].type != WS_CELL_TEXT && has(s, i, false))
			show(s, i);
	if (has(s, s->columns->text, true))
		show(s, s->columns->text);
}

/* "Time" of "Time (ns)": the numbers have their units with them. */
static void put_page_header(FILE *f, const struct page_section *s)
{
	const struct ws_table_column *columns = s->t->def->columns;

	fputc('|', f);
	for (size_t i = 0; i < s->nshown; i++) {
		const char *title = columns[s->shown[i].column].title, *unit = strstr(title, " (");

		fprintf(f, " %.*s |", (int)(unit ? (size_t)(unit - title) : strlen(title)), title);
	}
	fputs("\n|", f);
	for (size_t i = 0; i < s->nshown; i++)
		fputs(columns[s->shown[i].column].type == WS_CELL_TEXT ? "---|" : "---:|", f);
	fputc('\n', f);
}

static void put_page_row(FILE *f, const struct page_section *s, size_t row)
{
	const struct ws_cell *cells = ws_table_cells(s->t, row);
	char number[WS_DISPLAY_NUMBER_MAX];

	fputc('|', f);
	for (size_t i = 0; i < s->nshown; i++) {
		const struct page_column *shown = &s->shown[i];
		const struct ws_cell *cell = &cells[shown->column];
		size_t n = ws_display_quantity(s->t, shown->greatest, row, shown->column, number);

		fputc(' ', f);
		if (n)
			put_text(f, number, n);
		else if (cell->type == WS_CELL_TEXT)
			put_text(f, cell->text.ptr, cell->text.len);
		fputs(" |", f);
	}
	fputc('\n', f);
}

static enum ws_status put_page(FILE *f, const struct ws_table *t, const struct ws_page_columns *c,
                               struct ws_err *err)
{
	struct page_section s = {.t = t, .columns = c};

	s.shown = calloc(t->def->ncolumns + 2, sizeof(*s.shown));
	WS_FAIL_IF(!s.shown, err, NO_MEMORY, "out of memory while printing table %s", t->def->name);
	for (; s.begin < t->nrows; s.begin = s.end) {
		const struct ws_cell *section = &ws_table_cells(t, s.begin)[c->section];

		s.end = ws_display_section_end(t, c, s.begin);
		choose_columns(&s);
		fprintf(f, "%s### ", s.begin ? "\n" : "");
		if (section->type == WS_CELL_TEXT)
			put_text(f, section->text.ptr, section->text.len);
		fputs("\n\n", f);
		put_page_header(f, &s);
		for (size_t row = s.begin; row < s.end; row++)
			put_page_row(f, &s, row);
	}
	free(s.shown);
	return WS_OK;
}

static enum ws_status put_one(FILE *f, const struct ws_table *t, struct ws_err *err)
{
	struct ws_page_columns page;
	char title[WS_DISPLAY_TITLE];

	WS_FORWARD(ws_table_check(t, err));
	fputs("\n## ", f);
	put_str(f, ws_display_title(t, title));
	fputs("\n\n", f);
	put_str(f, t->def->what);
	fputs("\n\n", f);
	if (t->not_recorded) {
		fputs("Not recorded: ", f);
		put_str(f, t->not_recorded);
		fputs(t->nrows ? "\n\n" : "\n", f);
	} else if (!t->nrows) {
		fputs("No rows.\n", f);
	}
	if (t->nrows && ws_display_page(t->def, &page))
		WS_FORWARD(put_page(f, t, &page, err));
	else if (t->nrows)
		WS_FORWARD(put_table(f, t, err));
	for (size_t i = 0; i < t->nnotes; i++) {
		fputs(i ? "- " : "\n- ", f);
		put_str(f, t->notes[i]);
		fputc('\n', f);
	}
	return WS_OK;
}

enum ws_status ws_out_markdown(FILE *f, const struct ws_report *report, struct ws_err *err)
{
	fputs("# ", f);
	put_str(f, report->title);
	fputs("\n\nTrace: ", f);
	put_str(f, report->trace);
	if (report->scope)
		fprintf(f, " · Scope: %s", report->scope);
	if (*report->filter) {
		fputs(" · Filter: ", f);
		put_str(f, report->filter);
	}
	fputc('\n', f);
	for (size_t i = 0; i < report->ntables; i++)
		WS_FORWARD(put_one(f, report->tables[i], err));
	return WS_OK;
}
