/* Reports for a terminal: pages, tables, notes. */
#include "report/display.h"
#include "report/out_text.h"

#define PAGE_ITEM_WIDTH 34

/* --- a page instead of a table ------------------------------------------------------ */

/* One section of a page: its lines, and how wide their numbers are by column. */
struct page_section {
	const struct ws_table *t;
	const struct ws_text_opts *opts;
	struct ws_page_columns columns;
	size_t begin, end; /* rows */
	size_t *widths;
	size_t numbers; /* columns that all numbers together take */
};

static const struct ws_cell *page_cells(const struct page_section *s, size_t row)
{
	return s->t->cells + row * s->t->def->ncolumns;
}

static size_t page_number(const struct page_section *s, size_t row, size_t column,
                          char number[WS_DISPLAY_NUMBER_MAX])
{
	return ws_display_quantity(s->t, s->begin, s->end, row, column, number);
}

static void measure_section(struct page_section *s)
{
	char number[WS_DISPLAY_NUMBER_MAX];

	s->end = ws_display_section_end(s->t, &s->columns, s->begin);
	s->numbers = 0;
	for (size_t i = 0; i < s->t->def->ncolumns; i++) {
		s->widths[i] = 0;
		for (size_t row = s->begin; row < s->end; row++) {
			size_t w = page_number(s, row, i, number);

			s->widths[i] = w > s->widths[i] ? w : s->widths[i];
		}
		s->numbers += s->widths[i] ? s->widths[i] + WS_TEXT_GAP : 0;
	}
}

/* Returns the columns taken; less than s->numbers when the last ones are empty. */
static size_t put_page_numbers(FILE *f, const struct page_section *s, size_t row)
{
	char number[WS_DISPLAY_NUMBER_MAX];
	size_t blanks = 0, used = 0;

	for (size_t i = 0; i < s->t->def->ncolumns; i++) {
		size_t w = page_number(s, row, i, number);

		if (!s->widths[i])
			continue;
		blanks += s->widths[i] - w;
		if (w) {
			ws__text_pad(f, blanks);
			ws__text_cut(f, number, w, SIZE_MAX);
			used += blanks + w;
			blanks = 0;
		}
		blanks += WS_TEXT_GAP;
	}
	return used;
}

static int same_text(const struct ws_cell *a, const struct ws_cell *b)
{
	return a->type == b->type && a->text.len == b->text.len &&
	       !memcmp(a->text.ptr, b->text.ptr, a->text.len);
}

static void put_page_line(FILE *f, const struct page_section *s, size_t row)
{
	const struct ws_cell *cells = page_cells(s, row);
	const struct ws_cell *item = &cells[s->columns.item], *text = &cells[s->columns.text];
	size_t indent = 2 + PAGE_ITEM_WIDTH + WS_TEXT_GAP, at = indent + s->numbers, used = 0;
	int has_text = text->type == WS_CELL_TEXT && text->text.len && !same_text(item, text);
	int has_number = 0;

	for (size_t i = 0; i < s->t->def->ncolumns; i++)
		has_number |= cells[i].type == WS_CELL_INT || cells[i].type == WS_CELL_REAL;
	ws__text_pad(f, 2);
	if (item->type == WS_CELL_TEXT)
		used = ws__text_cut(f, item->text.ptr, item->text.len, PAGE_ITEM_WIDTH);
	if (has_number || has_text)
		ws__text_pad(f, indent - 2 - used);
	used = has_number ? put_page_numbers(f, s, row) : 0;
	if (has_text) {
		ws__text_pad(f, s->numbers - used);
		ws__text_wrap(f, s->opts, s->numbers ? WS_TEXT_DIM : NULL, text->text.ptr,
		              text->text.len, at);
	} else {
		fputc('\n', f);
	}
}

static enum ws_status put_page(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts,
                               const struct ws_page_columns *columns, struct ws_err *err)
{
	struct page_section s = {.t = t, .opts = opts, .columns = *columns};

	s.widths = calloc(t->def->ncolumns, sizeof(*s.widths));
	WS_FAIL_IF(!s.widths, err, NO_MEMORY, "out of memory while printing table %s",
	           t->def->name);
	for (; s.begin < t->nrows; s.begin = s.end) {
		const struct ws_cell *section = &page_cells(&s, s.begin)[columns->section];

		measure_section(&s);
		if (s.begin)
			fputc('\n', f);
		ws__text_style(f, opts, WS_TEXT_BOLD);
		if (section->type == WS_CELL_TEXT)
			ws__text_cut(f, section->text.ptr, section->text.len, SIZE_MAX);
		ws__text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		for (size_t row = s.begin; row < s.end; row++)
			put_page_line(f, &s, row);
	}
	free(s.widths);
	return WS_OK;
}

/* --- the report -------------------------------------------------------------------- */

static enum ws_status put_one(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts,
                              struct ws_err *err)
{
	struct ws_page_columns page;

	ws__text_style(f, opts, WS_TEXT_BOLD);
	fprintf(f, "%s", t->def->title);
	ws__text_style(f, opts, WS_TEXT_PLAIN);
	fputc('\n', f);
	ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, t->def->what);
	fputc('\n', f);
	if (t->not_recorded) {
		fputs("not recorded:\n", f);
		ws__text_paragraph(f, opts, NULL, 2, t->not_recorded);
		fputs(t->nrows ? "\n" : "", f);
	} else if (!t->nrows) {
		fputs("no rows\n", f);
	}
	if (t->nrows && ws_display_page(t->def, &page))
		WS_FORWARD(put_page(f, t, opts, &page, err));
	else if (t->nrows)
		WS_FORWARD(ws__text_table(f, t, opts, err));
	for (size_t i = 0; i < t->nnotes; i++) {
		fputs(i ? "" : "\n", f);
		ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, t->notes[i]);
	}
	return WS_OK;
}

enum ws_status ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts,
                           struct ws_err *err)
{
	ws__text_style(f, opts, WS_TEXT_BOLD);
	fputs(report->title, f);
	ws__text_style(f, opts, WS_TEXT_PLAIN);
	fputs(": ", f);
	ws__text_cut(f, report->trace, strlen(report->trace), SIZE_MAX);
	fputc('\n', f);
	if (*report->filter) {
		fputs("Filter: ", f);
		ws__text_cut(f, report->filter, strlen(report->filter), SIZE_MAX);
		fputc('\n', f);
	}
	for (size_t i = 0; i < report->ntables; i++) {
		WS_FAIL_IF(ws_table_failed(report->tables[i]), err, NO_MEMORY,
		           "out of memory while making table %s", report->tables[i]->def->name);
		fputc('\n', f);
		WS_FORWARD(put_one(f, report->tables[i], opts, err));
	}
	return WS_OK;
}
