/* Tables for a terminal: aligned, scaled, no wider than the terminal. */
#include <inttypes.h>

#include "report/display.h"
#include "report/table.h"

#define GAP             2
#define HEADER_LINES    3
#define TEXT_WIDTH      24  /* of a text in a limited line, more when there is room */
#define UNLIMITED_WIDTH 200 /* of a padded text where lines have no limit */
#define READING_COLUMNS 4   /* a table of so few is for reading */
#define PAGE_ITEM_WIDTH 34

static const char bold[] = "\033[1m", dim[] = "\033[2m", plain[] = "\033[0m";

struct text_column {
	size_t index; /* in the table */
	struct ws_shown_column shown;
	size_t width;
	int is_text;
	int cut_left; /* the end of a path says more than its beginning */
};

struct text_table {
	FILE *f;
	const struct ws_table *t;
	const struct ws_text_opts *opts;
	struct text_column *columns;
	size_t n; /* columns shown */
	size_t rows;
	int wrap_last; /* a table for reading: its last text is wrapped, not cut */
	size_t blanks; /* before the next field; never at the end of a line */
};

static void start(FILE *f, const struct ws_text_opts *opts, const char *sgr)
{
	if (opts->colour)
		fputs(sgr, f);
}

static void pad(FILE *f, size_t n)
{
	fprintf(f, "%*s", (int)n, "");
}

/* --- texts of a given width ------------------------------------------------------ */

/* Returns the columns taken: at most width. A text that does not fit ends in "…". */
static size_t put_cut(FILE *f, const char *text, size_t len, size_t width)
{
	size_t whole = ws_display_width(text, len), used = 0;
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		if (whole > width && used + glyph.width + 1 > width) {
			fputs("…", f);
			return used + 1;
		}
		fwrite(glyph.bytes, 1, glyph.len, f);
		used += glyph.width;
	}
	return used;
}

/* The same with the beginning left out. */
static size_t put_cut_left(FILE *f, const char *text, size_t len, size_t width)
{
	size_t whole = ws_display_width(text, len), skip = 0, used = 0, pos = 0;
	struct ws_glyph glyph;

	if (whole <= width)
		return put_cut(f, text, len, width);
	while (pos < len && whole - skip + 1 > width) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		skip += glyph.width;
	}
	fputs("…", f);
	used = 1 + put_cut(f, text + pos, len - pos, width);
	return used;
}

/* Words wrapped at `width`, later lines indented; 0 = one line. */
static void put_wrapped(FILE *f, const char *text, size_t len, size_t indent, size_t width)
{
	size_t used = 0;

	for (size_t pos = 0; pos < len;) {
		const char *blank = memchr(text + pos, ' ', len - pos);
		size_t n = blank ? (size_t)(blank - text) - pos : len - pos;
		size_t w = ws_display_width(text + pos, n);

		if (width && used && used + 1 + w > width) {
			fputc('\n', f);
			pad(f, indent);
			used = 0;
		} else if (used) {
			fputc(' ', f);
			used++;
		}
		put_cut(f, text + pos, n, SIZE_MAX);
		used += w;
		pos += n + (blank ? 1 : 0);
	}
}

static size_t line_width(const struct ws_text_opts *opts, size_t indent)
{
	if (opts->width <= 0)
		return 0;
	return (size_t)opts->width > indent + 20 ? (size_t)opts->width - indent : 20;
}

static void put_paragraph(FILE *f, const struct ws_text_opts *opts, const char *sgr, size_t indent,
                          const char *text)
{
	start(f, opts, sgr);
	pad(f, indent);
	put_wrapped(f, text, strlen(text), indent, line_width(opts, indent));
	start(f, opts, plain);
	fputc('\n', f);
}

/* --- layout ---------------------------------------------------------------------- */

/* The words of a header on at most HEADER_LINES lines of `width`; fills the n-th (from 0). */
static size_t header_line(const char *title, size_t width, size_t nth, const char **line)
{
	const char *p = title;

	for (size_t i = 0;; i++) {
		size_t used = 0;
		const char *begin = p, *end = p;

		while (*p) {
			size_t n = strcspn(p, " ");

			if (used && used + 1 + n > width && i + 1 < HEADER_LINES)
				break;
			used += (used ? 1 : 0) + n;
			end = p + n;
			p = end + strspn(end, " ");
		}
		if (i == nth) {
			*line = begin;
			return (size_t)(end - begin);
		}
		if (!*p)
			return 0;
	}
}

static size_t header_lines(const char *title, size_t width)
{
	const char *line;
	size_t n = 0;

	while (n < HEADER_LINES && header_line(title, width, n, &line))
		n++;
	return n;
}

/* The least width at which the title takes HEADER_LINES lines at most. */
static size_t header_width(const char *title)
{
	size_t width = 0, len = strlen(title);
	const char *line;

	for (const char *p = title; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n > width)
			width = n;
		p += n;
	}
	for (; width < len; width++) {
		size_t longest = 0;

		for (size_t i = 0; i < HEADER_LINES; i++) {
			size_t n = header_line(title, width, i, &line);

			if (n > longest)
				longest = n;
		}
		if (longest <= width)
			break;
	}
	return width;
}

static size_t cell_width(const struct text_column *c, const struct ws_cell *cell)
{
	char out[WS_DISPLAY_NUMBER_MAX];

	if (cell->type == WS_CELL_TEXT)
		return ws_display_width(cell->text.ptr, cell->text.len);
	return ws_display_number(&c->shown, cell, out);
}

static void measure(const struct text_table *x, struct text_column *c)
{
	size_t n = x->t->def->ncolumns;

	c->width = header_width(c->shown.title);
	for (size_t row = 0; row <= x->rows; row++) {
		const struct ws_cell *cells = row < x->rows ? x->t->cells + row * n : x->t->totals;
		size_t w = cells ? cell_width(c, &cells[c->index]) : 0;

		if (w > c->width)
			c->width = w;
	}
}

static void add_column(struct text_table *x, size_t index)
{
	const struct ws_table_column *def = &x->t->def->columns[index];
	struct text_column *c = &x->columns[x->n++];

	c->index = index;
	c->is_text = def->type == WS_CELL_TEXT;
	c->cut_left = !strcmp(def->id, "path");
	ws_display_column(x->t, index, &c->shown);
	measure(x, c);
}

/*
 * What a row is about stands first: the short name where there is one, then
 * the full name is last; else the first text.
 */
static void order_columns(struct text_table *x)
{
	const struct ws_table_def *def = x->t->def;
	int label = ws_table_column_index(def, "short_name"), last = -1;

	if (label >= 0)
		last = ws_table_column_index(def, "name");
	/* an id or a text that is first already says what the row is about */
	if (label < 0 && def->columns[0].display == WS_DISPLAY_PLAIN)
		label = 0;
	for (size_t i = 0; label < 0 && i < def->ncolumns; i++)
		if (def->columns[i].type == WS_CELL_TEXT)
			label = (int)i;
	if (label >= 0)
		add_column(x, (size_t)label);
	for (size_t i = 0; i < def->ncolumns; i++)
		if ((int)i != label && (int)i != last)
			add_column(x, i);
	if (last >= 0)
		add_column(x, (size_t)last);
}

static size_t total_width(const struct text_table *x)
{
	size_t sum = 0;

	for (size_t i = 0; i < x->n; i++)
		sum += x->columns[i].width + (i ? GAP : 0);
	return sum;
}

static void cap(struct text_column *c, size_t width)
{
	if (c->is_text && c->width > width)
		c->width = width;
}

/* A column moves behind those that are shown: the last one, but before it what says least. */
static void leave_out(struct text_table *x, size_t *natural)
{
	static const char *const says_little[] = {"domain", "style"};
	struct text_column c;
	size_t i = x->n - 1, width;

	for (size_t k = 1; k < x->n; k++)
		for (size_t s = 0; s < sizeof(says_little) / sizeof(*says_little); s++)
			if (!strcmp(x->t->def->columns[x->columns[k].index].id, says_little[s]))
				i = k;
	c = x->columns[i];
	width = natural[i];
	memmove(x->columns + i, x->columns + i + 1, (x->n - i - 1) * sizeof(c));
	memmove(natural + i, natural + i + 1, (x->n - i - 1) * sizeof(*natural));
	x->columns[--x->n] = c;
	natural[x->n] = width;
}

/* Cut texts, then leave out columns from the right, until a row fits the line. */
static enum ws_status fit(struct text_table *x, struct ws_err *err)
{
	size_t limit = x->opts->width > 0 ? (size_t)x->opts->width : 0, *natural, used;

	if (!limit) {
		for (size_t i = 0; i + 1 < x->n; i++)
			cap(&x->columns[i], UNLIMITED_WIDTH);
		return WS_OK;
	}
	natural = calloc(x->n, sizeof(*natural));
	WS_FAIL_IF(!natural, err, NO_MEMORY, "out of memory while printing table %s",
	           x->t->def->name);
	for (size_t i = 0; i < x->n; i++) {
		natural[i] = x->columns[i].width;
		cap(&x->columns[i], i ? TEXT_WIDTH : limit * 2 / 5);
	}
	while (x->n > 1 && total_width(x) > limit)
		leave_out(x, natural);
	if (total_width(x) > limit)
		cap(&x->columns[0], limit);
	used = total_width(x);
	/* what is left goes to the texts that were cut, the label first */
	for (size_t i = 0; i < x->n && used < limit; i++) {
		size_t more = natural[i] - x->columns[i].width;

		more = more < limit - used ? more : limit - used;
		x->columns[i].width += more;
		used += more;
	}
	free(natural);
	x->wrap_last = x->t->def->ncolumns <= READING_COLUMNS;
	return WS_OK;
}

/* --- rows ------------------------------------------------------------------------ */

static void put_field(struct text_table *x, size_t i, const char *text, size_t len)
{
	const struct text_column *c = &x->columns[i];
	size_t width = ws_display_width(text, len), indent = 0;
	size_t before = !c->is_text && width < c->width ? c->width - width : 0;

	x->blanks += (i ? GAP : 0) + before;
	if (!len) {
		x->blanks += c->width - before;
		return;
	}
	pad(x->f, x->blanks);
	x->blanks = 0;
	if (i + 1 == x->n && c->is_text && x->wrap_last && width > c->width) {
		for (size_t k = 0; k < i; k++)
			indent += x->columns[k].width + GAP;
		put_wrapped(x->f, text, len, indent, c->width);
		return;
	}
	if (width > c->width)
		width = c->cut_left ? put_cut_left(x->f, text, len, c->width)
		                    : put_cut(x->f, text, len, c->width);
	else
		put_cut(x->f, text, len, c->width);
	if (width + before < c->width)
		x->blanks = c->width - width - before;
}

static void end_line(struct text_table *x)
{
	x->blanks = 0;
	fputc('\n', x->f);
}

static void put_header(struct text_table *x)
{
	size_t lines = 1;

	for (size_t i = 0; i < x->n; i++) {
		size_t n = header_lines(x->columns[i].shown.title, x->columns[i].width);

		if (n > lines)
			lines = n;
	}
	start(x->f, x->opts, bold);
	for (size_t l = 0; l < lines; l++) {
		for (size_t i = 0; i < x->n; i++) {
			const struct text_column *c = &x->columns[i];
			size_t own = header_lines(c->shown.title, c->width), len = 0;
			const char *line = "";

			if (l + own >= lines) /* short titles stand on the last line */
				len = header_line(c->shown.title, c->width, l + own - lines, &line);
			put_field(x, i, line, len);
		}
		end_line(x);
	}
	start(x->f, x->opts, plain);
}

static void put_rule(const struct text_table *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (i)
			pad(x->f, GAP);
		for (size_t n = 0; n < x->columns[i].width; n++)
			fputc('-', x->f);
	}
	fputc('\n', x->f);
}

static void put_cells(struct text_table *x, const struct ws_cell *cells)
{
	char out[WS_DISPLAY_NUMBER_MAX];

	for (size_t i = 0; i < x->n; i++) {
		const struct ws_cell *cell = &cells[x->columns[i].index];

		if (cell->type == WS_CELL_TEXT)
			put_field(x, i, cell->text.ptr, cell->text.len);
		else if (!i && cell->type == WS_CELL_EMPTY && cells == x->t->totals)
			put_field(x, i, "Total", 5);
		else
			put_field(x, i, out, ws_display_number(&x->columns[i].shown, cell, out));
	}
	end_line(x);
}

/* What the width took away is said. */
static void put_left_out(const struct text_table *x)
{
	char text[1024];
	size_t len = 0;

	if (x->n == x->t->def->ncolumns)
		return;
	for (size_t i = x->n; i < x->t->def->ncolumns && len < sizeof(text) - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
		                        i == x->n ? "Not shown in so narrow a line: " : ", ",
		                        x->columns[i].shown.title);
	put_paragraph(x->f, x->opts, dim, 0, text);
}

static enum ws_status put_table(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts,
                                struct ws_err *err)
{
	struct text_table x = {.f = f, .t = t, .opts = opts};
	enum ws_status rc;

	x.rows = opts->max_rows && opts->max_rows < t->nrows ? opts->max_rows : t->nrows;
	x.columns = calloc(t->def->ncolumns + 1, sizeof(*x.columns));
	if (!x.columns)
		return WS_FAIL(err, NO_MEMORY, "out of memory while printing table %s",
		               t->def->name);
	order_columns(&x);
	rc = fit(&x, err);
	if (rc != WS_OK)
		goto out;
	put_header(&x);
	put_rule(&x);
	for (size_t row = 0; row < x.rows; row++)
		put_cells(&x, t->cells + row * t->def->ncolumns);
	if (x.rows < t->nrows)
		fprintf(f, "… %zu more %s\n", t->nrows - x.rows,
		        t->nrows - x.rows == 1 ? "row" : "rows");
	if (t->totals) {
		put_rule(&x);
		start(f, opts, bold);
		put_cells(&x, t->totals);
		start(f, opts, plain);
	}
	put_left_out(&x);
out:
	free(x.columns);
	return rc;
}

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
		s->numbers += s->widths[i] ? s->widths[i] + GAP : 0;
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
			pad(f, blanks);
			put_cut(f, number, w, SIZE_MAX);
			used += blanks + w;
			blanks = 0;
		}
		blanks += GAP;
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
	size_t indent = 2 + PAGE_ITEM_WIDTH + GAP, at = indent + s->numbers, used = 0;
	int has_text = text->type == WS_CELL_TEXT && text->text.len && !same_text(item, text);
	int has_number = 0;

	for (size_t i = 0; i < s->t->def->ncolumns; i++)
		has_number |= cells[i].type == WS_CELL_INT || cells[i].type == WS_CELL_REAL;
	pad(f, 2);
	if (item->type == WS_CELL_TEXT)
		used = put_cut(f, item->text.ptr, item->text.len, PAGE_ITEM_WIDTH);
	if (has_number || has_text)
		pad(f, indent - 2 - used);
	used = has_number ? put_page_numbers(f, s, row) : 0;
	if (has_text) {
		pad(f, s->numbers - used);
		start(f, s->opts, s->numbers ? dim : "");
		put_wrapped(f, text->text.ptr, text->text.len, at, line_width(s->opts, at));
		start(f, s->opts, s->numbers ? plain : "");
	}
	fputc('\n', f);
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
		start(f, opts, bold);
		if (section->type == WS_CELL_TEXT)
			put_cut(f, section->text.ptr, section->text.len, SIZE_MAX);
		start(f, opts, plain);
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

	start(f, opts, bold);
	fprintf(f, "%s", t->def->title);
	start(f, opts, plain);
	fputc('\n', f);
	put_paragraph(f, opts, dim, 0, t->def->what);
	fputc('\n', f);
	if (t->not_recorded) {
		put_paragraph(f, opts, "", 0, "not recorded:");
		put_paragraph(f, opts, "", 2, t->not_recorded);
	} else if (!t->nrows) {
		fputs("no rows\n", f);
	} else if (ws_display_page(t->def, &page)) {
		WS_FORWARD(put_page(f, t, opts, &page, err));
	} else {
		WS_FORWARD(put_table(f, t, opts, err));
	}
	for (size_t i = 0; i < t->nnotes; i++) {
		fputs(i ? "" : "\n", f);
		put_paragraph(f, opts, dim, 0, t->notes[i]);
	}
	return WS_OK;
}

enum ws_status ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts,
                           struct ws_err *err)
{
	start(f, opts, bold);
	fputs(report->title, f);
	start(f, opts, plain);
	fputs(": ", f);
	put_cut(f, report->trace, strlen(report->trace), SIZE_MAX);
	fputc('\n', f);
	if (*report->filter) {
		fputs("Filter: ", f);
		put_cut(f, report->filter, strlen(report->filter), SIZE_MAX);
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
