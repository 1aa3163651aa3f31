/* A table as aligned columns, no wider than the terminal. */
#include "report/base/names.h"
#include "report/names/names.h"
#include "report/table/view.h"

#include <stdbool.h>
#include "report/writers/text.h"

#define HEADER_LINES    3
#define TEXT_WIDTH      24  /* of a text in a limited line, more when there is room */
#define UNLIMITED_WIDTH 200 /* of a padded text where lines have no limit */
#define READING_COLUMNS 6   /* a table of so few, or of verdicts, is for reading: it is wrapped */

struct text_column {
	const struct ws_view_column *view;
	size_t width;
	bool is_text, is_prose;
	bool is_name, is_path;
	struct ws_bytes *elided; /* of names and paths that are too long, in the order of rows */
};

struct text_table {
	FILE *f;
	const struct ws_table *t;
	const struct ws_text_opts *opts;
	struct ws_view view;
	struct text_column *columns; /* view.n of them */
	struct ws_arena arena;       /* what is shown of names */
	size_t n;                    /* columns shown */
	size_t rows;
	bool wraps;    /* a table for reading: its texts are wrapped, not cut */
	size_t blanks; /* before the next field; never at the end of a line */
};

/* --- layout ---------------------------------------------------------------------- */

/* The words of a header on at most HEADER_LINES lines of `width`, the last as long as it needs.
 * Returns how many. */
static size_t split_header(const char *title, size_t width, struct ws_bytes line[HEADER_LINES])
{
	size_t n = 0;

	for (const char *p = title; *p; n++) {
		const char *begin = p, *end = p;

		while (*p) {
			const size_t word = strcspn(p, " ");

			if (end > begin && (size_t)(end - begin) + 1 + word > width &&
			    n + 1 < HEADER_LINES)
				break;
			end = p + word;
			p = end + strspn(end, " ");
		}
		line[n] = (struct ws_bytes){begin, (size_t)(end - begin)};
	}
	return n;
}

/* The least width at which the title takes HEADER_LINES lines at most. */
static size_t header_width(const char *title)
{
	struct ws_bytes line[HEADER_LINES];

	for (size_t width = 0;; width++) {
		const size_t n = split_header(title, width, line);
		size_t longest = 0;

		for (size_t i = 0; i < n; i++)
			longest = line[i].len > longest ? line[i].len : longest;
		if (longest <= width)
			return width;
	}
}

/* The label of a tree's row behind its indentation; returns the length. */
static size_t tree_label(const struct text_table *x, const struct ws_cell *cells,
                         char out[2 * WS_VIEW_LABEL])
{
	char label[WS_VIEW_LABEL];
	unsigned depth;
	size_t len = ws_view_label(&x->view, cells, label, &depth);

	depth = depth < WS_VIEW_LABEL / 4 ? depth : WS_VIEW_LABEL / 4;
	memset(out, ' ', 2 * (size_t)depth);
	memcpy(out + 2 * depth, label, len);
	return 2 * depth + len;
}

static void add_columns(struct text_table *x)
{
	static const char *const prose[] = {"verdict", "advice",     "evidence", "cure",
	                                    "meaning", "definition", "check"};
	static const char *const names[] = {"short_name", "name",   "kernel_a",
	                                    "kernel_b",   "kernel", "part"};

	WS_NEW(&x->arena, x->columns, x->view.n + 1);
	for (size_t i = 0; i < x->view.n; i++) {
		struct text_column *c = &x->columns[x->n++];
		const struct ws_table_column *def;

		c->view = &x->view.column[i];
		def = &x->t->def->columns[c->view->index];
		c->is_text = def->type == WS_CELL_TEXT;
		c->is_path = !strcmp(def->id, "path") && !c->view->is_tree;
		c->is_name = WS_NAME_IS_ONE_OF(ws_bytes_of(def->id), names);
		c->is_prose = WS_NAME_IS_ONE_OF(ws_bytes_of(def->id), prose);
		x->wraps |= c->is_prose && x->opts->width > 0;
		c->width = ws_view_widest(&x->view, c->view, x->rows);
		if (c->width < header_width(c->view->shown.title))
			c->width = header_width(c->view->shown.title);
	}
	/* blanks at the beginning of a name of a first screen say how deep it lies */
	x->wraps |= x->opts->width > 0 && x->t->def->ncolumns <= READING_COLUMNS &&
	            strncmp(x->t->def->name, "front-", 6) != 0;
}

static size_t total_width(const struct text_table *x)
{
	size_t sum = 0;

	for (size_t i = 0; i < x->n; i++)
		sum += x->columns[i].width + (i ? WS_TEXT_GAP : 0);
	return sum;
}

static void cap(struct text_column *c, size_t width)
{
	if (c->is_text && c->width > width)
		c->width = width;
}

/* What is left goes to the texts that were cut, prose first. */
static void widen(struct text_table *x, const size_t *natural, size_t left)
{
	for (int prose = 1; prose >= 0; prose--)
		for (bool some = true; some && left;) {
			some = false;
			for (size_t i = 0; i < x->n && left; i++) {
				struct text_column *c = &x->columns[i];

				if (c->width < natural[i] && (c->is_prose || !prose)) {
					c->width++;
					left--;
					some = true;
				}
			}
		}
}

/* Cut texts, then leave out columns from the right, details first, until a row fits the line. */
static void fit(struct text_table *x)
{
	size_t limit = x->opts->width > 0 ? (size_t)x->opts->width : 0, *natural, used;

	if (!limit) {
		for (size_t i = 0; i + 1 < x->n; i++)
			cap(&x->columns[i], UNLIMITED_WIDTH);
		return;
	}
	WS_NEW(&x->arena, natural, x->n);
	for (size_t i = 0; i < x->n; i++) {
		natural[i] = x->columns[i].width;
		cap(&x->columns[i], i ? TEXT_WIDTH : limit * 2 / 5);
	}
	while (x->n > 1 && total_width(x) > limit)
		x->n--;
	if (total_width(x) > limit)
		cap(&x->columns[0], limit);
	used = total_width(x);
	if (used < limit)
		widen(x, natural, limit - used);
}

static bool is_too_long(const struct text_column *c, const struct ws_cell *cell)
{
	return cell->type == WS_CELL_TEXT &&
	       ws_display_width(cell->text.ptr, cell->text.len) > c->width;
}

/* Names and paths that do not fit are cut so that those of different rows stay different. */
static void cut_names(struct text_table *x, struct text_column *c)
{
	size_t n = 0;

	for (size_t row = 0; row < x->rows; row++)
		n += is_too_long(c, &ws_table_cells(x->t, row)[c->view->index]);
	if (!n)
		return;
	WS_NEW(&x->arena, c->elided, n + 1);
	n = 0;
	for (size_t row = 0; row < x->rows; row++) {
		const struct ws_cell *cell = &ws_table_cells(x->t, row)[c->view->index];

		if (!is_too_long(c, cell))
			continue;
		/* the text of a row that is made lasts until the next one is */
		c->elided[n++] = (struct ws_bytes){x->t->source.fill ? ws_arena_copy(&x->arena,
		                                                                     cell->text.ptr,
		                                                                     cell->text.len)
		                                                     : cell->text.ptr,
		                                   cell->text.len};
	}
	ws_names_elide(&x->arena, c->elided, n, c->width, c->is_path ? 0 : WS_ELIDE_HEAD(c->width));
}

/* --- rows ------------------------------------------------------------------------ */

static void put_field(struct text_table *x, size_t i, const char *text, size_t len)
{
	const struct text_column *c = &x->columns[i];
	size_t width = ws_display_width(text, len);
	size_t before = !c->is_text && width < c->width ? c->width - width : 0;

	x->blanks += (i ? WS_TEXT_GAP : 0) + before;
	if (!len) {
		x->blanks += c->width - before;
		return;
	}
	ws__text_pad(x->f, x->blanks);
	x->blanks = 0;
	width = ws__text_cut(x->f, text, len, c->width);
	if (width + before < c->width)
		x->blanks = c->width - width - before;
}

static void put_elided(struct text_table *x, size_t i)
{
	const struct ws_bytes *name = x->columns[i].elided++;

	put_field(x, i, name->ptr, name->len);
}

static void end_line(struct text_table *x)
{
	x->blanks = 0;
	fputc('\n', x->f);
}

static void put_header(struct text_table *x)
{
	struct ws_bytes line[HEADER_LINES];
	size_t lines = 1;

	for (size_t i = 0; i < x->n; i++) {
		size_t n = split_header(x->columns[i].view->shown.title, x->columns[i].width, line);

		lines = n > lines ? n : lines;
	}
	for (size_t l = 0; l < lines; l++) {
		ws__text_style(x->f, x->opts, WS_TEXT_BOLD);
		for (size_t i = 0; i < x->n; i++) {
			const struct text_column *c = &x->columns[i];
			size_t own = split_header(c->view->shown.title, c->width, line);

			if (l + own >= lines) /* short titles stand on the last line */
				put_field(x, i, line[l + own - lines].ptr,
				          line[l + own - lines].len);
			else
				put_field(x, i, "", 0);
		}
		ws__text_style(x->f, x->opts, WS_TEXT_PLAIN);
		end_line(x);
	}
}

static void put_rule(const struct text_table *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (i)
			ws__text_pad(x->f, WS_TEXT_GAP);
		for (size_t n = 0; n < x->columns[i].width; n++)
			fputc('-', x->f);
	}
	fputc('\n', x->f);
}

/* Lines that the row takes: one, but in a table for reading. */
static size_t row_lines(const struct text_table *x, const struct ws_cell *cells)
{
	size_t most = 1;

	for (size_t i = 0; x->wraps && i < x->n; i++) {
		const struct ws_cell *cell = &cells[x->columns[i].view->index];
		size_t pos = 0, begin, lines = 0;

		if (cell->type != WS_CELL_TEXT || x->columns[i].view->is_tree)
			continue;
		for (; pos < cell->text.len; lines++)
			ws__text_line(cell->text.ptr, cell->text.len, x->columns[i].width, &pos,
			              &begin);
		most = lines > most ? lines : most;
	}
	return most;
}

/* The nth line of a wrapped text. */
static void put_wrapped_field(struct text_table *x, size_t i, const struct ws_cell *cell,
                              size_t nth)
{
	size_t pos = 0, begin = 0, n = 0;

	for (size_t line = 0; line <= nth; line++)
		n = ws__text_line(cell->text.ptr, cell->text.len, x->columns[i].width, &pos,
		                  &begin);
	put_field(x, i, cell->text.ptr + begin, n);
}

static void put_line(struct text_table *x, const struct ws_cell *cells, size_t nth)
{
	char out[WS_DISPLAY_NUMBER_MAX], label[2 * WS_VIEW_LABEL], text[WS_VIEW_SIZE];

	for (size_t i = 0; i < x->n; i++) {
		const struct ws_view_column *c = x->columns[i].view;
		struct ws_cell own;
		const struct ws_cell *cell = ws_view_cell(c, cells, &own, text);

		if (c->is_tree && cell->type == WS_CELL_TEXT)
			put_field(x, i, label, nth ? 0 : tree_label(x, cells, label));
		else if (cell->type == WS_CELL_TEXT && x->wraps)
			put_wrapped_field(x, i, cell, nth);
		else if (nth)
			put_field(x, i, "", 0);
		else if (x->columns[i].elided && is_too_long(&x->columns[i], cell))
			put_elided(x, i);
		else if (cell->type == WS_CELL_TEXT)
			put_field(x, i, cell->text.ptr, cell->text.len);
		else if (!i && cell->type == WS_CELL_EMPTY && cells == x->t->totals)
			put_field(x, i, "Total", 5);
		else
			put_field(x, i, out, ws_display_number(&c->shown, cell, out));
	}
	end_line(x);
}

static void put_cells(struct text_table *x, const struct ws_cell *cells)
{
	size_t lines = row_lines(x, cells);

	for (size_t nth = 0; nth < lines; nth++)
		put_line(x, cells, nth);
}

/* What is not shown is said. */
static void put_left_out(struct text_table *x)
{
	size_t hidden = x->view.n - x->n;
	char text[128];

	if (x->rows < x->t->nrows)
		fprintf(x->f, "… %zu more %s (--rows 0)\n", x->t->nrows - x->rows,
		        x->t->nrows - x->rows == 1 ? "row" : "rows");
	if (x->view.constants)
		ws__text_paragraph(x->f, x->opts, WS_TEXT_DIM, 0,
		                   ws_arena_format(&x->arena, "Same in all rows: %s.",
		                                   x->view.constants));
	if (!hidden)
		return;
	snprintf(text, sizeof(text),
	         "%zu %s hidden (narrow terminal). Show %s with %sa wider window.", hidden,
	         hidden == 1 ? "column" : "columns", hidden == 1 ? "it" : "them",
	         x->opts->takes_columns ? "--columns or " : "");
	ws__text_paragraph(x->f, x->opts, WS_TEXT_DIM, 0, text);
}

void ws__text_table(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts)
{
	struct text_table x = {.f = f, .t = t, .opts = opts};

	x.rows = opts->max_rows && opts->max_rows < t->nrows ? opts->max_rows : t->nrows;
	ws_view_make(&x.arena, t, x.rows, &x.view);
	add_columns(&x);
	fit(&x);
	for (size_t i = 0; i < x.n; i++)
		if (!x.wraps && (x.columns[i].is_name || x.columns[i].is_path))
			cut_names(&x, &x.columns[i]);
	put_header(&x);
	put_rule(&x);
	for (size_t row = 0; row < x.rows; row++)
		put_cells(&x, ws_table_cells(t, row));
	if (t->totals) {
		put_rule(&x);
		ws__text_style(f, opts, WS_TEXT_BOLD);
		put_cells(&x, t->totals);
		ws__text_style(f, opts, WS_TEXT_PLAIN);
	}
	put_left_out(&x);
	ws_arena_free(&x.arena);
}
