/* Reports for a terminal: pages, tables, notes. */
#include "report/names/names.h"
#include "report/table/display.h"
#include "report/page/page.h"

#include <stdbool.h>
#include "report/writers/text.h"

#define PAGE_ITEM_WIDTH 34
#define PAGE_ITEM_LEAST 14 /* on a narrow terminal */
#define PAGE_TEXT_LEAST 40 /* a text that has less room, and needs more, goes below its line */
#define PAGE_NAME_LEAST                                                          \
	16 /* a name that has less room is left out: its short form stands there \
	    */

/* --- a page instead of a table ------------------------------------------------------ */

/* One section of a page: its lines, and how wide their numbers are by column. */
struct page_section {
	const struct ws_table *t;
	const struct ws_text_opts *opts;
	struct ws_page_columns columns;
	size_t begin, end; /* rows */
	struct page_column {
		size_t width;
		struct ws_shown_column shown;
	} * shown;
	size_t numbers; /* columns that all numbers together take */
	size_t items;   /* the same of the items */
	struct ws_arena *arena;
	struct ws_bytes *item, *text; /* of lines about a name, what is shown of it */
};

static const struct ws_cell *page_cells(const struct page_section *s, size_t row)
{
	return ws_table_cells(s->t, row);
}

static size_t page_number(const struct page_section *s, size_t row, size_t column,
                          char number[WS_DISPLAY_NUMBER_MAX])
{
	return ws_display_quantity(s->t, &s->shown[column].shown, row, column, number);
}

static void measure_section(struct page_section *s)
{
	char number[WS_DISPLAY_NUMBER_MAX];

	s->end = ws_display_section_end(s->t, &s->columns, s->begin);
	s->numbers = 0;
	for (size_t i = 0; i < s->t->def->ncolumns; i++) {
		s->shown[i].width = 0;
		ws_display_section_column(s->t, i, s->begin, s->end, &s->shown[i].shown);
		for (size_t row = s->begin; row < s->end; row++) {
			size_t w = page_number(s, row, i, number);

			s->shown[i].width = w > s->shown[i].width ? w : s->shown[i].width;
		}
		s->numbers += s->shown[i].width ? s->shown[i].width + WS_TEXT_GAP : 0;
	}
	s->items = PAGE_ITEM_WIDTH;
	while (s->opts->width > 0 && s->items > PAGE_ITEM_LEAST &&
	       2 + s->items + s->numbers > (size_t)s->opts->width)
		s->items--;
}

/* Returns the columns taken; less than s->numbers when the last ones are empty. */
static size_t put_page_numbers(FILE *f, const struct page_section *s, size_t row)
{
	char number[WS_DISPLAY_NUMBER_MAX];
	size_t blanks = 0, used = 0;

	for (size_t i = 0; i < s->t->def->ncolumns; i++) {
		size_t w = page_number(s, row, i, number);

		if (!s->shown[i].width)
			continue;
		blanks += s->shown[i].width - w;
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

struct page_line {
	bool has_number;
	bool is_name; /* its text is the item again, at length: a kernel's name and its short form
	               */
};

/* Does the text hold the item, up to where a short name is cut or tells what it shortens? */
static bool is_longer(const struct ws_cell *text, const struct ws_cell *item)
{
	static const char *const ends[] = {"…", "<", " [", " #"};
	size_t len = ws_cell_text(item).len;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && len; i++) {
		const char *end = memmem(item->text.ptr, len, ends[i], strlen(ends[i]));

		if (end)
			len = (size_t)(end - item->text.ptr);
	}
	return len && text->type == WS_CELL_TEXT &&
	       memmem(text->text.ptr, text->text.len, item->text.ptr, len) != NULL;
}

static struct page_line look_at_line(const struct page_section *s, const struct ws_cell *cells)
{
	struct page_line line = {0, is_longer(&cells[s->columns.text], &cells[s->columns.item])};

	for (size_t i = 0; i < s->t->def->ncolumns; i++)
		line.has_number |= cells[i].type == WS_CELL_INT || cells[i].type == WS_CELL_REAL;
	line.is_name &= line.has_number;
	return line;
}

/* Columns behind the numbers for a whole name; 0 = too few. */
static size_t name_room(const struct page_section *s)
{
	size_t at = 2 + s->items + WS_TEXT_GAP + s->numbers;

	if (s->opts->width <= 0)
		return SIZE_MAX;
	return at + PAGE_NAME_LEAST <= (size_t)s->opts->width ? (size_t)s->opts->width - at : 0;
}

/* What is shown of the section's names. */
static void cut_names(struct page_section *s)
{
	size_t n = s->end - s->begin, room = name_room(s);

	WS_NEW(s->arena, s->item, n);
	WS_NEW(s->arena, s->text, n);
	for (size_t i = 0; i < n; i++) {
		const struct ws_cell *cells = page_cells(s, s->begin + i);
		const struct ws_cell *item = &cells[s->columns.item],
		                     *text = &cells[s->columns.text];

		if (!look_at_line(s, cells).is_name)
			continue;
		s->item[i] = (struct ws_bytes){item->text.ptr, item->text.len};
		s->text[i] = (struct ws_bytes){text->text.ptr, text->text.len};
	}
	ws_names_elide(s->arena, s->item, n, s->items, WS_ELIDE_HEAD(s->items));
	ws_names_elide(s->arena, s->text, n, room, WS_ELIDE_HEAD(room));
}

/* Behind the numbers, or below where there is no room for it. `used` columns of them are taken. */
static void put_page_text(FILE *f, const struct page_section *s, const struct ws_cell *text,
                          const struct ws_bytes *name, size_t used)
{
	size_t at = 2 + s->items + WS_TEXT_GAP + s->numbers;
	const char *style = s->numbers ? WS_TEXT_DIM : NULL;

	if (name && !name_room(s)) {
		fputc('\n', f);
		return;
	}
	ws__text_pad(f, s->numbers - used);
	if (name) {
		ws__text_style(f, s->opts, WS_TEXT_DIM);
		ws__text_cut(f, name->ptr, name->len, SIZE_MAX);
		ws__text_style(f, s->opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		return;
	}
	ws__text_wrap(f, s->opts, style, text->text.ptr, text->text.len, at);
}

/* Has the line room for its item, and for its text behind the numbers? */
static bool fits_line(const struct page_section *s, const struct ws_cell *item,
                      const struct ws_cell *text, int has_number)
{
	size_t at = 2 + s->items + WS_TEXT_GAP + s->numbers;
	size_t room = s->opts->width > (int)at ? (size_t)s->opts->width - at : 0;

	if (s->opts->width <= 0)
		return true;
	if (!has_number && item->type == WS_CELL_TEXT &&
	    ws_display_width(item->text.ptr, item->text.len) > s->items)
		return false;
	return room >= PAGE_TEXT_LEAST || ws_display_width(text->text.ptr, text->text.len) <= room;
}

static void put_page_line(FILE *f, const struct page_section *s, size_t row)
{
	const struct ws_cell *cells = page_cells(s, row);
	const struct ws_cell *item = &cells[s->columns.item], *text = &cells[s->columns.text];
	struct page_line line = look_at_line(s, cells);
	int has_text = text->type == WS_CELL_TEXT && text->text.len && !ws_cell_same(item, text);
	int below = has_text && !line.is_name && !fits_line(s, item, text, line.has_number);
	size_t width = below && !line.has_number ? (size_t)s->opts->width - 2 : s->items, used = 0;

	ws__text_pad(f, 2);
	if (line.is_name)
		used = ws__text_cut(f, s->item[row - s->begin].ptr, s->item[row - s->begin].len,
		                    width);
	else if (item->type == WS_CELL_TEXT)
		used = ws__text_cut(f, item->text.ptr, item->text.len, width);
	if (line.has_number || (has_text && !below))
		ws__text_pad(f, s->items + WS_TEXT_GAP - used);
	used = line.has_number ? put_page_numbers(f, s, row) : 0;
	if (has_text && !below) {
		put_page_text(f, s, text, line.is_name ? &s->text[row - s->begin] : NULL, used);
		return;
	}
	fputc('\n', f);
	if (below) {
		ws__text_pad(f, 6);
		ws__text_wrap(f, s->opts, WS_TEXT_DIM, text->text.ptr, text->text.len, 6);
	}
}

static void put_page(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts,
                     const struct ws_page_columns *columns)
{
	struct ws_arena arena = {0};
	struct page_section s = {.t = t, .opts = opts, .columns = *columns, .arena = &arena};

	WS_NEW(&arena, s.shown, t->def->ncolumns);
	for (; s.begin < t->nrows; s.begin = s.end) {
		const struct ws_cell section = page_cells(&s, s.begin)[columns->section];

		measure_section(&s);
		cut_names(&s);
		if (s.begin)
			fputc('\n', f);
		ws__text_style(f, opts, WS_TEXT_BOLD);
		if (section.type == WS_CELL_TEXT)
			ws__text_cut(f, section.text.ptr, section.text.len, SIZE_MAX);
		ws__text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		for (size_t row = s.begin; row < s.end; row++)
			put_page_line(f, &s, row);
	}
	ws_arena_free(&arena);
}

/* --- the report -------------------------------------------------------------------- */

static void put_one(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts)
{
	struct ws_page_columns page;
	char title[WS_DISPLAY_TITLE];

	ws__text_style(f, opts, WS_TEXT_BOLD);
	fputs(ws_display_title(t, title), f);
	ws__text_style(f, opts, WS_TEXT_PLAIN);
	fputc('\n', f);
	ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, t->def->meaning);
	fputc('\n', f);
	if (t->not_recorded) {
		fputs("not recorded:\n", f);
		ws__text_paragraph(f, opts, NULL, 2, t->not_recorded);
		fputs(t->nrows ? "\n" : "", f);
	} else if (!t->nrows) {
		fputs("no rows\n", f);
	}
	if (t->nrows && ws_display_page(t->def, &page))
		put_page(f, t, opts, &page);
	else if (t->nrows)
		ws__text_table(f, t, opts);
	for (size_t i = 0; i < t->nnotes; i++) {
		fputs(i ? "" : "\n", f);
		ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, t->notes[i]);
	}
}

/* NAME: TEXT, whose further lines stand below its first. */
static void put_fact(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *name,
                     const char *text)
{
	if (sgr)
		ws__text_style(f, opts, sgr);
	fputs(name, f);
	if (sgr)
		ws__text_style(f, opts, WS_TEXT_PLAIN);
	fputs(": ", f);
	ws__text_wrap(f, opts, NULL, text, strlen(text), strlen(name) + 2);
}

void ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts)
{
	if (opts->has_front && report->page) {
		ws__text_front(f, report->page, opts);
		for (size_t i = 1; i < report->ntables; i++) {
			fputc('\n', f);
			ws__text_style(f, opts, WS_TEXT_BOLD);
			fprintf(f, "%s\n", report->tables[i]->def->title);
			ws__text_style(f, opts, WS_TEXT_PLAIN);
			ws__text_table(f, report->tables[i], opts);
		}
		return;
	}
	put_fact(f, opts, WS_TEXT_BOLD, report->title, report->trace);
	if (report->scope)
		put_fact(f, opts, NULL, "Scope", report->scope);
	if (*report->filter)
		put_fact(f, opts, NULL, "Filter", report->filter);
	if (report->page && report->page->is_comparison) {
		fputc('\n', f);
		ws__text_headline(f, report->page, opts);
	}
	for (size_t i = 0; i < report->ntables; i++) {
		fputc('\n', f);
		put_one(f, report->tables[i], opts);
	}
}
