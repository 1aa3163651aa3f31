/* GitHub's Markdown: pipe tables with the numbers of the text writer. */
#include <ctype.h>
#include <stdbool.h>

#include "formats/base/xalloc.h"
#include "report/table/view.h"
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

/* The columns of a table; of a page those that one of its sections uses. */
struct pipes {
	const struct ws_table *t;
	const struct ws_page_columns *page; /* NULL: no page */
	size_t begin, end;                  /* rows */
	struct ws_view_column *pipe;
	size_t n;
	struct ws_view view; /* of a table */
	struct ws_arena arena;
};

static void put_header(FILE *f, const struct pipes *s)
{
	const struct ws_table_column *columns = s->t->def->columns;

	fputc('|', f);
	for (size_t i = 0; i < s->n; i++) {
		const char *title =
		        s->page ? columns[s->pipe[i].index].title : s->pipe[i].shown.title;
		/* "Time" of "Time (ns)": the numbers of a page have their units with them */
		const char *unit = s->page ? strstr(title, " (") : NULL;

		fputc(' ', f);
		put_text(f, title, unit ? (size_t)(unit - title) : strlen(title));
		fputs(" |", f);
	}
	fputs("\n|", f);
	for (size_t i = 0; i < s->n; i++)
		fputs(columns[s->pipe[i].index].type == WS_CELL_TEXT ? "---|" : "---:|", f);
	fputc('\n', f);
}

/* Blanks at the beginning of a cell are lost. */
static void put_label(FILE *f, const struct pipes *s, const struct ws_cell *cells)
{
	char label[WS_VIEW_LABEL];
	unsigned depth;
	size_t len = ws_view_label(&s->view, cells, label, &depth);

	for (; depth; depth--)
		fputs("&emsp;", f);
	put_text(f, label, len);
}

static void put_row(FILE *f, const struct pipes *s, size_t row, const struct ws_cell *cells)
{
	char number[WS_DISPLAY_NUMBER_MAX], size[WS_VIEW_SIZE];

	fputc('|', f);
	for (size_t i = 0; i < s->n; i++) {
		const struct ws_view_column *p = &s->pipe[i];
		struct ws_cell own;
		const struct ws_cell *cell = ws_view_cell(p, cells, &own, size);
		const char *strong =
		        cells == s->t->totals && cell->type != WS_CELL_EMPTY ? "**" : "";

		fprintf(f, " %s", strong);
		if (!i && !s->page && cells == s->t->totals && cell->type == WS_CELL_EMPTY)
			fputs("**Total**", f);
		else if (p->is_tree)
			put_label(f, s, cells);
		else if (cell->type == WS_CELL_TEXT)
			put_text(f, cell->text.ptr, cell->text.len);
		else if (s->page)
			put_text(f, number,
			         ws_display_quantity(s->t, &p->shown, row, p->index, number));
		else
			put_text(f, number, ws_display_number(&p->shown, cell, number));
		fprintf(f, "%s |", strong);
	}
	fputc('\n', f);
}

static void put_rows(FILE *f, const struct pipes *s)
{
	put_header(f, s);
	for (size_t row = s->begin; row < s->end; row++)
		put_row(f, s, row, ws_table_cells(s->t, row));
}

static void add(struct pipes *s, size_t column)
{
	struct ws_view_column *p = &s->pipe[s->n++];

	p->index = column;
	ws_display_section_column(s->t, column, s->begin, s->end, &p->shown);
}

/* Names, keys and answers: paper has no details, but those that the user chose. */
static void add_table(struct pipes *s)
{
	ws_view_make(&s->arena, s->t, s->t->nrows, &s->view);
	for (size_t i = 0; i < s->view.nanswers; i++)
		s->pipe[s->n++] = s->view.column[i];
}

/* Has the section a text, or a number, in this column? */
static bool column_has(const struct pipes *s, size_t column, bool text)
{
	for (size_t row = s->begin; row < s->end; row++) {
		enum ws_cell_type type = ws_table_cells(s->t, row)[column].type;

		if (type != WS_CELL_EMPTY && (type == WS_CELL_TEXT) == text)
			return true;
	}
	return false;
}

/* Each section under its heading: item, numbers, text. */
static void put_page(FILE *f, struct pipes *s)
{
	const struct ws_table_def *def = s->t->def;

	for (; s->begin < s->t->nrows; s->begin = s->end) {
		const struct ws_cell *section = &ws_table_cells(s->t, s->begin)[s->page->section];

		fputs(s->begin ? "\n### " : "### ", f);
		if (section->type == WS_CELL_TEXT)
			put_text(f, section->text.ptr, section->text.len);
		fputs("\n\n", f);
		s->end = ws_display_section_end(s->t, s->page, s->begin);
		s->n = 0;
		add(s, s->page->item);
		for (size_t i = 0; i < def->ncolumns; i++)
			if (def->columns[i].type != WS_CELL_TEXT && column_has(s, i, false))
				add(s, i);
		if (column_has(s, s->page->text, true))
			add(s, s->page->text);
		put_rows(f, s);
	}
}

static void put_table(FILE *f, const struct ws_table *t)
{
	struct ws_page_columns page;
	struct pipes s = {.t = t, .page = ws_display_page(t->def, &page) ? &page : NULL};

	s.pipe = ws_xarray(t->def->ncolumns + 2, sizeof(*s.pipe));
	if (s.page) {
		put_page(f, &s);
	} else {
		s.end = t->nrows;
		add_table(&s);
		put_rows(f, &s);
		if (t->totals)
			put_row(f, &s, 0, t->totals);
		if (s.view.constants) {
			fputs("\nSame in all rows: ", f);
			put_str(f, s.view.constants);
			fputs(".\n", f);
		}
	}
	ws_arena_free(&s.arena);
	free(s.pipe);
}

static void put_one(FILE *f, const struct ws_table *t)
{
	char title[WS_DISPLAY_TITLE];

	fputs("\n## ", f);
	put_str(f, ws_display_title(t, title));
	fputs("\n\n", f);
	put_str(f, t->def->meaning);
	fputs("\n\n", f);
	if (t->not_recorded) {
		fputs("Not recorded: ", f);
		put_str(f, t->not_recorded);
		fputs(t->nrows ? "\n\n" : "\n", f);
	} else if (!t->nrows) {
		fputs("No rows.\n", f);
	}
	if (t->nrows)
		put_table(f, t);
	for (size_t i = 0; i < t->nnotes; i++) {
		fputs(i ? "- " : "\n- ", f);
		put_str(f, t->notes[i]);
		fputc('\n', f);
	}
}

void ws_out_markdown(FILE *f, const struct ws_report *report)
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
		put_one(f, report->tables[i]);
}
