/* Reports for a terminal: the first screen, pages, tables and notes, in lines of its width. */
#include <ctype.h>
#include "report/base/ui.h"
#include "report/front/front.h"
#include "report/names/names.h"

#define WS_TEXT_PLAIN "\033[0m"
#define WS_TEXT_DIM   "\033[2m"

/* SGR escapes; text_style writes them only if colour is used. */
#define WS_TEXT_BOLD "\033[1m"
#define WS_TEXT_GAP  2 /* blanks between columns */

/* --- texts of a given width ------------------------------------------------------------------ */

static void text_style(FILE *f, const struct ws_text_opts *opts, const char *sgr)
{
	if (opts->colour)
		fputs(sgr, f);
}

static void pad(FILE *f, size_t n)
{
	fprintf(f, "%*s", (int)n, "");
}

/* Writes at most `width` columns; a longer text ends in "…". Returns the written columns. */
static size_t cut(FILE *f, const char *text, size_t len, size_t width)
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

/*
 * The next line of a text wrapped at words, from *pos on, at most `width`
 * columns wide (0 = no limit): returns its bytes, *begin is where it begins,
 * *pos moves behind it. A word that is too long for a line is broken.
 */
static size_t text_line(const char *text, size_t len, size_t width, size_t *pos, size_t *begin)
{
	size_t used = 0, end;

	while (*pos < len && text[*pos] == ' ')
		++*pos;
	*begin = end = *pos;
	while (*pos < len) {
		const char *blank = memchr(text + *pos, ' ', len - *pos);
		size_t n = blank ? (size_t)(blank - text) - *pos : len - *pos;
		size_t w = ws_display_width(text + *pos, n), gap = used ? *pos - end : 0;

		if (width && used + gap + w > width) {
			if (used)
				break;
			/* of a word as many bytes as fit, one character at least */
			struct ws_glyph glyph;
			const size_t word = *pos, word_end = *pos + n;

			for (size_t columns = 0; *pos < word_end;) {
				n = ws_display_glyph(text + *pos, word_end - *pos, &glyph);
				columns += glyph.width;
				if (columns > width && *pos > word)
					break;
				*pos += n;
			}
			end = *pos;
			break;
		}
		used += gap + w;
		*pos += n;
		end = *pos;
		while (*pos < len && text[*pos] == ' ')
			++*pos;
	}
	return end - *begin;
}

/* Columns left on a line behind `indent`; 0 = no limit. */
static size_t room(const struct ws_text_opts *opts, size_t indent)
{
	if (opts->width <= 0)
		return 0;
	return (size_t)opts->width > indent + 20 ? (size_t)opts->width - indent : 20;
}

/*
 * Writes all lines of a text from column `indent` on, wrapped to the terminal, each with a line
 * end. sgr NULL = no change of style.
 */
static void wrap(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *text,
                 size_t len, size_t indent)
{
	size_t pos = 0, begin, width = room(opts, indent);

	if (!len)
		fputc('\n', f);
	while (pos < len) {
		size_t n = text_line(text, len, width, &pos, &begin);

		/* for each line, because a pager resets the style at line ends */
		if (sgr)
			text_style(f, opts, sgr);
		cut(f, text + begin, n, SIZE_MAX);
		if (sgr)
			text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		if (pos < len)
			pad(f, indent);
	}
}

/* The same for a separate paragraph. */
static void paragraph(FILE *f, const struct ws_text_opts *opts, const char *sgr, size_t indent,
                      const char *text)
{
	pad(f, indent);
	wrap(f, opts, sgr, text, strlen(text), indent);
}

/* --- tables ---------------------------------------------------------------------------------- */

#define HEADER_LINES 3
#define TEXT_WIDTH   24 /* of a text in a limited line; more if there is room */
#define NAME_LEAST \
	20 /* minimum of the first column and of other texts, before answers are left out */
#define TEXT_LEAST      8
#define UNLIMITED_WIDTH 200 /* of a padded text without a line limit */
#define READING_COLUMNS \
	6 /* tables with at most this number of columns, or with verdicts, are wrapped */

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
	struct ws_arena arena;       /* storage of cut names */
	size_t n;                    /* columns shown */
	size_t rows;
	bool wraps;    /* its texts are wrapped, not cut */
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

/* The smallest width at which the title takes at most HEADER_LINES lines. */
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

static bool is_too_long(const struct text_column *c, const struct ws_cell *cell)
{
	return cell->type == WS_CELL_TEXT &&
	       ws_display_width(cell->text.ptr, cell->text.len) > c->width;
}

/* The label of a tree's row in `text`, its depth, and whether it is too long. */
static bool is_label_too_long(const struct text_table *x, const struct text_column *c,
                              const struct ws_cell *cells, char text[WS_VIEW_LABEL],
                              struct ws_bytes *label, size_t *depth)
{
	unsigned levels;

	*label = (struct ws_bytes){text, ws_view_label(&x->view, cells, text, &levels)};
	*depth = levels < WS_VIEW_LABEL / 4 ? levels : WS_VIEW_LABEL / 4;
	return c->width > 2 * *depth &&
	       ws_display_width(label->ptr, label->len) > c->width - 2 * *depth;
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
	pad(x->f, x->blanks);
	x->blanks = 0;
	width = cut(x->f, text, len, c->width);
	if (width + before < c->width)
		x->blanks = c->width - width - before;
}

static void end_line(struct text_table *x)
{
	x->blanks = 0;
	fputc('\n', x->f);
}

static void put_rule(const struct text_table *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (i)
			pad(x->f, WS_TEXT_GAP);
		for (size_t n = 0; n < x->columns[i].width; n++)
			fputc('-', x->f);
	}
	fputc('\n', x->f);
}

static void put_cells(struct text_table *x, const struct ws_cell *cells)
{
	size_t lines = 1; /* one, except in wrapped tables */

	for (size_t i = 0; x->wraps && i < x->n; i++) {
		const struct ws_cell *cell = &cells[x->columns[i].view->index];
		size_t pos = 0, begin, needed = 0;

		if (cell->type != WS_CELL_TEXT || x->columns[i].view->is_tree)
			continue;
		for (; pos < cell->text.len; needed++)
			text_line(cell->text.ptr, cell->text.len, x->columns[i].width, &pos,
			          &begin);
		lines = needed > lines ? needed : lines;
	}

	for (size_t nth = 0; nth < lines; nth++) {
		char out[WS_DISPLAY_NUMBER_MAX], text[WS_VIEW_SIZE];

		for (size_t i = 0; i < x->n; i++) {
			const struct ws_view_column *c = x->columns[i].view;
			struct ws_cell own;
			const struct ws_cell *cell = ws_view_cell(c, cells, &own, text);

			if (c->is_tree && cell->type == WS_CELL_TEXT && nth) {
				put_field(x, i, "", 0);
			} else if (c->is_tree && cell->type == WS_CELL_TEXT) {
				/* the label behind its indentation */
				char label_text[WS_VIEW_LABEL], indented[2 * WS_VIEW_LABEL];
				struct ws_bytes label;
				size_t depth;

				if (is_label_too_long(x, &x->columns[i], cells, label_text, &label,
				                      &depth))
					label = *x->columns[i].elided++;
				memset(indented, ' ', 2 * depth);
				memcpy(indented + 2 * depth, label.ptr, label.len);
				put_field(x, i, indented, 2 * depth + label.len);
			} else if (cell->type == WS_CELL_TEXT && x->wraps) {
				/* The nth line of a wrapped text. */
				size_t pos = 0, begin = 0, n = 0;

				for (size_t line = 0; line <= nth; line++)
					n = text_line(cell->text.ptr, cell->text.len,
					              x->columns[i].width, &pos, &begin);
				put_field(x, i, cell->text.ptr + begin, n);
			} else if (nth)
				put_field(x, i, "", 0);
			else if (x->columns[i].elided && is_too_long(&x->columns[i], cell)) {
				const struct ws_bytes *name = x->columns[i].elided++;

				put_field(x, i, name->ptr, name->len);
			} else if (cell->type == WS_CELL_TEXT)
				put_field(x, i, cell->text.ptr, cell->text.len);
			else if (!i && cell->type == WS_CELL_EMPTY && cells == x->t->totals)
				put_field(x, i, "Total", 5);
			else
				put_field(x, i, out, ws_display_number(&c->shown, cell, out));
		}
		end_line(x);
	}
}

/* Writes header, rows and totals of a table, and a note about left-out columns. */
static void table(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts)
{
	struct text_table x = {.f = f, .t = t, .opts = opts};
	char text[128];
	struct ws_bytes line[HEADER_LINES];

	x.rows = opts->max_rows && opts->max_rows < t->nrows ? opts->max_rows : t->nrows;
	ws_view_make(&x.arena, t, x.rows, &x.view);
	ws_view_join_spreads(&x.view);
	/* The columns, with the widths that they need. */
	static const char *const prose[] = {"verdict", "advice",     "evidence", "cure",
	                                    "meaning", "definition", "check"};
	static const char *const names[] = {"short_name", "name",   "kernel_a",
	                                    "kernel_b",   "kernel", "part"};

	WS_NEW(&x.arena, x.columns, x.view.n + 1);
	for (size_t i = 0; i < x.view.n; i++) {
		struct text_column *c = &x.columns[x.n++];

		c->view = &x.view.column[i];
		const struct ws_table_column *def = &x.t->def->columns[c->view->index];
		c->is_text = def->type == WS_CELL_TEXT;
		c->is_path = !strcmp(def->id, "path") && !c->view->is_tree;
		c->is_name = WS_NAME_IS_ONE_OF(ws_bytes_of(def->id), names) ||
		             (def->rank == WS_RANK_NAME && !c->view->is_tree);
		c->is_prose = WS_NAME_IS_ONE_OF(ws_bytes_of(def->id), prose);
		x.wraps |= c->is_prose && x.opts->width > 0;
		c->width = ws_view_widest(&x.view, c->view, x.rows);
		if (c->width < header_width(c->view->shown.title))
			c->width = header_width(c->view->shown.title);
	}
	/* blanks at the begin of a name of a first screen show its depth */
	x.wraps |= x.opts->width > 0 && x.t->def->ncolumns <= READING_COLUMNS &&
	           strncmp(x.t->def->name, "front-", 6) != 0;
	/* Cut texts, then leave out details from the right, then cut texts more, until a row fits
	 * the line. Only then leave out answers. */
	const size_t limit = opts->width > 0 ? (size_t)opts->width : 0;

	for (size_t i = 0; !limit && i + 1 < x.n; i++)
		cap(&x.columns[i], UNLIMITED_WIDTH);
	if (limit) {
		size_t *natural, used;

		WS_NEW(&x.arena, natural, x.n);
		for (size_t i = 0; i < x.n; i++) {
			natural[i] = x.columns[i].width;
			cap(&x.columns[i], i ? TEXT_WIDTH : limit * 2 / 5);
		}
		while (x.n > x.view.nanswers && x.n > 1 && total_width(&x) > limit)
			x.n--;
		/* Makes texts narrower, the widest first, until a row fits. */

		size_t *before = ws_arena_array(&x.arena, x.n, sizeof(*before));
		for (size_t i = 0; i < x.n; i++)
			before[i] = x.columns[i].width;
		while (total_width(&x) > limit) {
			struct text_column *widest = NULL;

			for (size_t i = 0; i < x.n; i++) {
				struct text_column *c = &x.columns[i];
				const size_t head = header_width(c->view->shown.title),
				             least = i ? TEXT_LEAST : NAME_LEAST;

				if (c->is_text && c->width > (head > least ? head : least) &&
				    (!widest || c->width > widest->width))
					widest = c;
			}
			if (!widest)
				break;
			widest->width--;
		}
		if (total_width(&x) > limit) {
			/* all are at their minimum: answers are left out instead */
			for (size_t i = 0; i < x.n; i++)
				x.columns[i].width = before[i];
			while (x.n > 1 && total_width(&x) > limit)
				x.n--;
		}
		if (total_width(&x) > limit)
			cap(&x.columns[0], limit);
		used = total_width(&x);
		if (used < limit) {
			/* Distributes the rest to cut texts, prose first. */
			size_t left = limit - used;
			for (int only_prose = 1; only_prose >= 0; only_prose--)
				for (bool some = true; some && left;) {
					some = false;
					for (size_t i = 0; i < x.n && left; i++) {
						struct text_column *c = &x.columns[i];

						if (c->width < natural[i] &&
						    (c->is_prose || !only_prose)) {
							c->width++;
							left--;
							some = true;
						}
					}
				}
		}
	}
	for (size_t i = 0; i < x.n; i++)
		/* Cuts names and paths that do not fit, keeping different ones different. */
		if (x.columns[i].view->is_tree ||
		    (!x.wraps && (x.columns[i].is_name || x.columns[i].is_path))) {
			struct text_column *c = &x.columns[i];
			size_t n = 0, width = c->width, depth = 0;
			char label[WS_VIEW_LABEL];

			WS_NEW(&x.arena, c->elided, x.rows + 1);
			for (size_t row = 0; row < x.rows; row++) {
				const struct ws_cell *cells = ws_table_cells(x.t, row),
				                     *cell = &cells[c->view->index];
				struct ws_bytes name = {cell->text.ptr, cell->text.len};

				if (c->view->is_tree
				            ? !is_label_too_long(&x, c, cells, label, &name, &depth)
				            : !is_too_long(c, cell))
					continue;
				if (c->width - 2 * depth < width)
					width = c->width - 2 * depth;
				/* labels and texts of made rows are valid until the next row */
				if (c->view->is_tree || x.t->source.fill)
					name.ptr = ws_arena_copy(&x.arena, name.ptr, name.len);
				c->elided[n++] = name;
			}
			ws_names_elide(&x.arena, c->elided, n, width,
			               c->is_path ? 0 : WS_ELIDE_HEAD(width));
		}
	size_t lines = 1;
	for (size_t j = 0; j < x.n; j++) {
		size_t n = split_header(x.columns[j].view->shown.title, x.columns[j].width, line);

		lines = n > lines ? n : lines;
	}
	for (size_t l = 0; l < lines; l++) {
		text_style(x.f, x.opts, WS_TEXT_BOLD);
		for (size_t j = 0; j < x.n; j++) {
			const struct text_column *c = &x.columns[j];
			size_t own = split_header(c->view->shown.title, c->width, line);

			if (l + own >= lines) /* short titles are on the last line */
				put_field(&x, j, line[l + own - lines].ptr,
				          line[l + own - lines].len);
			else
				put_field(&x, j, "", 0);
		}
		text_style(x.f, x.opts, WS_TEXT_PLAIN);
		end_line(&x);
	}
	put_rule(&x);
	for (size_t row = 0; row < x.rows; row++)
		put_cells(&x, ws_table_cells(t, row));
	if (t->totals) {
		put_rule(&x);
		text_style(f, opts, WS_TEXT_BOLD);
		put_cells(&x, t->totals);
		text_style(f, opts, WS_TEXT_PLAIN);
	}
	/* Notes left-out columns. */
	size_t hidden = x.view.n - x.n;
	if (x.rows < x.t->nrows)
		fprintf(x.f, "… %zu more %s (--rows 0)\n", x.t->nrows - x.rows,
		        x.t->nrows - x.rows == 1 ? "row" : "rows");
	if (x.view.constants)
		paragraph(x.f, x.opts, WS_TEXT_DIM, 0,
		          ws_arena_format(&x.arena, "Same in all rows: %s.", x.view.constants));
	if (hidden) {
		snprintf(text, sizeof(text),
		         "%zu %s hidden (narrow terminal). Show %s with %sa wider window.", hidden,
		         hidden == 1 ? "column" : "columns", hidden == 1 ? "it" : "them",
		         x.opts->takes_columns ? "--columns or " : "");
		paragraph(x.f, x.opts, WS_TEXT_DIM, 0, text);
	}
	ws_arena_free(&x.arena);
}

/* --- the first screen ------------------------------------------------------------------------ */

#define TREE_ROWS      8
#define KERNEL_ROWS    6
#define FINDING_ROWS   5
#define BAR_WIDTH      100 /* without a line limit */
#define OUTLIERS_NAMED 6
#define LEGEND_SHARE   1.0 /* percent: smaller segments have no label below the bar */

static void put_text(FILE *f, const char *text)
{
	cut(f, text, strlen(text), SIZE_MAX);
}

static void put_styled(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *text)
{
	text_style(f, opts, sgr);
	put_text(f, text);
	text_style(f, opts, WS_TEXT_PLAIN);
}

/* Bold parts are used only if a sentence fits into one line. */
static void put_sentence(FILE *f, const struct ws_text_opts *opts, const struct ws_page_line *of)
{
	struct ws_page_line with_grade = *of, *line = &with_grade;
	struct ws_arena arena = {0};
	const char *whole = "";

	if (of->nparts && *of->grade && of->nparts < WS_PAGE_PARTS)
		line->part[line->nparts++] =
		        (struct ws_page_part){ws_arena_format(&arena, " %s", of->grade), false};
	for (size_t i = 0; i < line->nparts; i++)
		whole = ws_arena_format(&arena, "%s%s", whole, line->part[i].text);
	if (opts->width > 0 && ws_display_width(whole, strlen(whole)) > (size_t)opts->width) {
		paragraph(f, opts, WS_TEXT_BOLD, 0, whole);
	} else if (line->nparts) {
		for (size_t i = 0; i < line->nparts; i++)
			put_styled(f, opts, line->part[i].bold ? WS_TEXT_BOLD : "",
			           line->part[i].text);
		fputc('\n', f);
	}
	ws_arena_free(&arena);
}

/* --- the bar ------------------------------------------------------------------------------ */

/* The first letter of a name that is not taken, which it then is; + if there is none. */
static char take_letter(const char *name, bool taken[128])
{
	while (*name && (!islower((unsigned char)*name) || taken[(unsigned char)*name]))
		name++;
	taken[(unsigned char)*name] = true;
	return *name ? *name : '+';
}

/* Work has the colour of its class, or a letter; idle time is pale. */
static void put_glyph(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page,
                      size_t nth)
{
	static const char *const busy[] = {"█", "▓", "▒"};
	static const char *const idle[] = {"░", "·"};
	const struct ws_page_segment *s = &page->segment[nth];
	const uint32_t rgb = ws_page_colour_def(s->colour).dark;
	/* without colours; + for a segment without a label */
	bool taken[128] = {false};
	char letter[] = "+";

	for (size_t i = 0; i <= nth; i++)
		*letter = page->segment[i].is_idle || page->segment[i].percent < LEGEND_SHARE
		                  ? '+'
		                  : take_letter(page->segment[i].name, taken);

	if (!opts->colour)
		fputs(s->is_idle ? "·" : letter, f);
	else if (s->is_idle)
		fputs(idle[nth % 2], f);
	else
		fprintf(f, "\033[38;2;%u;%u;%um%s", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff,
		        busy[nth % 3]);
}

/* --- rows: configurations of a sweep, runs of an A/A test, ranks --------------------------- */

#define ROWS_MOST      24 /* the others are counted */
#define ROW_NAME_WIDTH 26
#define ROW_BAR_LEAST  16

/* Parts of one name have one glyph in all rows. */
struct row_glyphs {
	const struct ws_page_row_part *part[WS_FRONT_PARTS];
	char letter[WS_FRONT_PARTS];
	size_t n;
};

static void put_part_glyph(FILE *f, const struct ws_text_opts *opts, const struct row_glyphs *g,
                           const char *name)
{
	const size_t nth = ws_front_part(g->part, g->n, name);
	const struct ws_page_row_part *part = nth < g->n ? g->part[nth] : NULL;
	const uint32_t rgb = part ? part->paint.dark : 0x808080;

	if (opts->colour)
		fprintf(f, "\033[38;2;%u;%u;%um%s", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff,
		        part && part->is_idle ? "░" : "█");
	else if (part && part->is_idle)
		fputs("·", f);
	else
		fputc(part ? g->letter[nth] : '+', f);
}

static void put_rows(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page)
{
	const size_t n = page->nrows < ROWS_MOST ? page->nrows : ROWS_MOST;
	const size_t width = opts->width > 0 ? (size_t)opts->width : BAR_WIDTH;
	size_t name_width = 0, words_width = 0, cells;
	struct row_glyphs glyphs = {.n = 0};
	struct ws_arena arena = {0};
	struct ws_bytes *shown; /* names */
	bool has_groups = false;

	if (!n)
		return;
	WS_NEW(&arena, shown, n);
	for (size_t i = 0; i < n; i++) {
		const struct ws_page_row *row = &page->row[i];
		shown[i] = (struct ws_bytes){row->name, strlen(row->name)};
		const size_t name = ws_display_width(row->name, shown[i].len),
		             words = ws_display_width(row->words, strlen(row->words));

		name_width = name > name_width ? name : name_width;
		words_width = words > words_width ? words : words_width;
		has_groups |= strcmp(row->group, page->row[0].group) != 0;
	}
	name_width = name_width < ROW_NAME_WIDTH ? name_width : ROW_NAME_WIDTH;
	ws_names_elide(&arena, shown, n, name_width, WS_ELIDE_HEAD(name_width));
	cells = width > name_width + words_width + ROW_BAR_LEAST + 2 * WS_TEXT_GAP
	                ? width - name_width - words_width - 2 * WS_TEXT_GAP
	                : ROW_BAR_LEAST;

	bool taken[128] = {false};

	glyphs.n = ws_front_parts(page, glyphs.part);
	for (size_t i = 0; i < glyphs.n; i++)
		glyphs.letter[i] = take_letter(glyphs.part[i]->name, taken);
	fputc('\n', f);
	put_styled(f, opts, WS_TEXT_BOLD, page->rows_title);
	fputc('\n', f);
	paragraph(f, opts, WS_TEXT_DIM, 0, page->rows_what);
	for (size_t i = 0; i < n; i++) {
		const struct ws_page_row *row = &page->row[i];
		const size_t room = width > name_width + cells + 2 * WS_TEXT_GAP
		                            ? width - name_width - cells - 2 * WS_TEXT_GAP
		                            : 1;
		double most_ns = 0;

		for (size_t k = 0; k < page->nrows; k++)
			if (!strcmp(page->row[k].group, row->group) && page->row[k].ns > most_ns)
				most_ns = page->row[k].ns;
		if (has_groups && (!i || strcmp(row->group, page->row[i - 1].group) != 0)) {
			put_text(f, row->group);
			fputc('\n', f);
		}
		pad(f, name_width - cut(f, shown[i].ptr, shown[i].len, name_width));
		pad(f, WS_TEXT_GAP);

		/* so many cells of a bar for the longest row of its group */
		double sum = 0;
		size_t at = 0;

		for (size_t k = 0; k < row->nparts; k++) {
			sum += row->part[k].ns;
			/* what takes any time is seen */
			for (; at < cells &&
			       (((double)at + 0.5) * most_ns < sum * (double)cells || !at);
			     at++)
				put_part_glyph(f, opts, &glyphs, row->part[k].name);
		}
		text_style(f, opts, WS_TEXT_PLAIN);
		pad(f, cells - at);
		pad(f, WS_TEXT_GAP);
		cut(f, row->words, strlen(row->words), room);
		fputc('\n', f);
	}
	if (page->nrows + page->more_rows > n)
		fprintf(f, "… %zu more\n", page->nrows + page->more_rows - n);
	for (size_t i = 0; i < glyphs.n && glyphs.n > 1; i++) {
		fputs(i ? "   " : "", f);
		put_part_glyph(f, opts, &glyphs, glyphs.part[i]->name);
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc(' ', f);
		put_text(f, glyphs.part[i]->name);
	}
	fputs(glyphs.n > 1 ? "\n" : "", f);
	ws_arena_free(&arena);
}

/* --- a step of all ranks, on one clock ----------------------------------------------------- */

#define RANK_NAME_WIDTH 10

/* The use of a lane that has most of [from, to); 0: none has any. */
static uint32_t main_use(const struct ws_timeline_lane *lane, double from_ns, double to_ns,
                         enum ws_page_colour *colour)
{
	double ns[WS_PAGE_NCOLOURS] = {0};
	uint32_t use[WS_PAGE_NCOLOURS] = {0};
	size_t most = 0;

	for (size_t i = 0; i < lane->n && (double)lane->box[i].start_ns < to_ns; i++) {
		const struct ws_timeline_box *box = &lane->box[i];
		const double begin = fmax(from_ns, (double)box->start_ns),
		             end = fmin(to_ns, (double)(box->start_ns + box->dur_ns));

		/* stretches that are drawn together take their part of the time */
		if (end > begin)
			ns[box->colour] +=
			        (end - begin) * (double)box->busy_ns / (double)box->dur_ns;
		use[box->colour] = box->class;
	}
	for (size_t c = 1; c < WS_PAGE_NCOLOURS; c++)
		most = ns[c] > ns[most] ? c : most;
	*colour = (enum ws_page_colour)most;
	return ns[most] > 0 ? use[most] : 0;
}

static void put_use(FILE *f, const struct ws_text_opts *opts, const char *use,
                    enum ws_page_colour colour)
{
	const uint32_t rgb = ws_page_colour_def(colour).dark;
	const bool is_idle = colour == WS_PAGE_IDLE;

	if (opts->colour)
		fprintf(f, "\033[38;2;%u;%u;%um%s", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff,
		        is_idle ? "░" : "█");
	else
		fputs(is_idle ? "·" : colour == WS_PAGE_PINK ? "m" : (char[2]){*use, '\0'}, f);
}

static void put_ranks(FILE *f, const struct ws_text_opts *opts, const struct ws_timeline *t)
{
	const size_t width = opts->width > 0 ? (size_t)opts->width : BAR_WIDTH;
	const size_t cells =
	        width > RANK_NAME_WIDTH + ROW_BAR_LEAST ? width - RANK_NAME_WIDTH : ROW_BAR_LEAST;
	const double each_ns = (double)(t->end_ns - t->start_ns) / (double)cells;
	bool is_used[WS_PAGE_NCOLOURS] = {false};
	uint32_t use_of[WS_PAGE_NCOLOURS] = {0};
	const char *gap = "";

	fputc('\n', f);
	text_style(f, opts, WS_TEXT_BOLD);
	fputs("Timeline", f);
	text_style(f, opts, WS_TEXT_PLAIN);
	fputs(" of ", f);
	wrap(f, opts, NULL, t->title, strlen(t->title), 0);
	for (size_t i = 0; i < t->nlanes && i < ROWS_MOST; i++) {
		const char *name = t->lane[i].name;

		pad(f, RANK_NAME_WIDTH - cut(f, name, strlen(name), RANK_NAME_WIDTH - 1));
		for (size_t cell = 0; cell < cells; cell++) {
			const double from_ns = (double)t->start_ns + (double)cell * each_ns;
			enum ws_page_colour colour;
			const uint32_t use =
			        main_use(&t->lane[i], from_ns, from_ns + each_ns, &colour);

			if (use) {
				put_use(f, opts, t->text[use], colour);
				is_used[colour] = true;
				use_of[colour] = use;
			} else {
				fputc(' ', f);
			}
		}
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
	}
	if (t->nlanes > ROWS_MOST)
		fprintf(f, "… %zu more\n", t->nlanes - ROWS_MOST);
	for (size_t c = 0; c < WS_PAGE_NCOLOURS; c++) {
		if (!is_used[c])
			continue;
		fputs(gap, f);
		put_use(f, opts, t->text[use_of[c]], (enum ws_page_colour)c);
		text_style(f, opts, WS_TEXT_PLAIN);
		fprintf(f, " %s", t->text[use_of[c]]);
		gap = "   ";
	}
	fputc('\n', f);
}

/* --- parts -------------------------------------------------------------------------------- */

static void put_part(FILE *f, const struct ws_text_opts *opts, struct ws_table *t)
{
	if (t->nrows) {
		fputc('\n', f);
		put_styled(f, opts, WS_TEXT_BOLD, t->def->title);
		fputc('\n', f);
		table(f, t, opts);
	}
	ws_table_free(t);
}

#define RUNG_CELLS 30 /* of the bar of a rung */

/* Writes only its sentences, with their grades. */
static void text_headline(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts)
{
	for (size_t i = 0; i < page->nheadline; i++)
		put_sentence(f, opts, &page->headline[i]);
	if (page->note)
		paragraph(f, opts, WS_TEXT_DIM, 0, page->note);
}

/* The first screen of a report. */
static void front(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts)
{
	const struct ws_text_opts whole = {.width = opts->width, .colour = opts->colour};
	struct ws_arena arena = {0};

	put_styled(f, opts, WS_TEXT_BOLD, page->title);
	fputc('\n', f);
	paragraph(f, opts, WS_TEXT_DIM, 0, ws_front_source(&arena, page));
	fputc('\n', f);
	text_headline(f, page, opts);
	put_sentence(f, opts, &page->first);
	for (size_t i = 0; i < page->nwhatif; i++)
		put_sentence(f, opts, &page->whatif[i]);
	const char *figures = "";

	for (size_t i = 0; i < page->nfigures; i++)
		figures = ws_arena_format(&arena, "%s%s%s %s", figures, i ? " · " : "",
		                          page->figure[i].value, page->figure[i].label);
	if (page->nfigures) {
		fputc('\n', f);
		paragraph(f, opts, NULL, 0, figures);
	}
	/* "steps ▆▆▆█▆", from 0 on; if there are too many, each stands for the longest of several
	 * neighbours. Outliers are bold and named. */
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char strip_label[] = "steps ";
	const size_t strip = opts->width > 0 ? (size_t)opts->width : BAR_WIDTH;
	const size_t strip_width = strip > strlen(strip_label) ? strip - strlen(strip_label) : 1;
	const size_t each = (page->nsteps + strip_width - 1) / strip_width;
	const char *named = "";
	size_t outliers = 0;

	fputs(page->nsteps ? strip_label : "", f);
	for (size_t i = 0; i < page->nsteps; i += each) {
		const struct ws_page_step *most = &page->step[i];

		for (size_t k = i; k < i + each && k < page->nsteps; k++)
			most = page->step[k].ns > most->ns ? &page->step[k] : most;
		text_style(f, opts, most->is_outlier ? WS_TEXT_BOLD : WS_TEXT_PLAIN);
		fputs(blocks[most->ns > 0 ? (int)ceil(8 * (double)most->ns /
		                                      (double)page->longest_step_ns) -
		                                    1
		                          : 0],
		      f);
	}
	if (page->nsteps) {
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
	}
	for (size_t i = 0; i < page->nsteps; i++)
		if (page->step[i].is_outlier && outliers++ < OUTLIERS_NAMED)
			named = ws_arena_format(&arena, "%s%s%" PRIu32, named, *named ? ", " : "",
			                        page->step[i].number);
	if (outliers)
		paragraph(f, opts, WS_TEXT_DIM, 0,
		          ws_arena_format(&arena, "Far from the others: step %s%s.", named,
		                          outliers > OUTLIERS_NAMED ? " and more" : ""));
	if (page->nsegments) {
		fputc('\n', f);
		put_styled(f, opts, WS_TEXT_BOLD, page->bar_title);
		fputc('\n', f);
		const size_t width = opts->width > 0 ? (size_t)opts->width : BAR_WIDTH;
		double sum = 0;
		size_t at = 0;

		for (size_t i = 0; i < page->nsegments; i++) {
			sum += page->segment[i].percent;
			for (; at < width && ((double)at + 0.5) * 100 < sum * (double)width; at++)
				put_glyph(f, opts, page, i);
		}
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);

		/* the legend */
		size_t used = 0;

		for (size_t i = 0; i < page->nsegments; i++) {
			const struct ws_page_segment *s = &page->segment[i];

			if (s->percent < LEGEND_SHARE)
				continue;
			const char *text = ws_arena_format(&arena, " %s",
			                                   ws_page_segment_words(&arena, page, s));

			const size_t room = 1 + ws_display_width(text, strlen(text));

			if (used && opts->width > 0 && used + 3 + room > (size_t)opts->width) {
				fputc('\n', f);
				used = 0;
			}
			fputs(used ? "   " : "", f);
			put_glyph(f, opts, page, i);
			text_style(f, opts, WS_TEXT_PLAIN);
			put_text(f, text);
			used += (used ? 3 : 0) + room;
		}
		fputc('\n', f);
	}
	put_part(f, &whole, ws_front_tree(page, TREE_ROWS));
	put_part(f, &whole, ws_front_kernels(page, KERNEL_ROWS));
	fputc('\n', f);
	put_styled(f, opts, WS_TEXT_BOLD, "What to do");
	fputc('\n', f);
	if (page->no_finding)
		paragraph(f, opts, NULL, 0, ws_arena_format(&arena, "%s.", page->no_finding));
	for (size_t i = 0; i < page->nfindings && i < FINDING_ROWS; i++) {
		const struct ws_page_finding *finding = &page->finding[i];
		const char *text = ws_arena_format(&arena, "%zu. %s", i + 1, finding->advice);

		if (*finding->gain)
			text = ws_arena_format(&arena, "%s Gain: %s.", text, finding->gain);
		paragraph(f, opts, NULL, 0, text);
		if (finding->evidence)
			paragraph(f, opts, WS_TEXT_DIM, 3, finding->evidence);
	}
	if (page->caveat)
		paragraph(f, opts, NULL, 0, page->caveat);
	if (page->findings_note)
		paragraph(f, opts, WS_TEXT_DIM, 0, page->findings_note);
	if (page->nrungs) {
		fputc('\n', f);
		put_styled(f, opts, WS_TEXT_BOLD, "What bounds the step");
		fputc('\n', f);
	}
	for (size_t i = 0; i < page->nrungs; i++) {
		const struct ws_page_rung *rung = &page->rung[i];

		fprintf(f, "%-30s ", rung->name);
		for (int cell = 0; cell < RUNG_CELLS; cell++)
			fputs(cell * 100 < rung->percent * RUNG_CELLS ? "█" : " ", f);
		fprintf(f, " %s\n", ws_say_time(&arena, rung->step_ns));
	}
	ws_arena_free(&arena);
}

/* --- pages and reports ----------------------------------------------------------------------- */

#define PAGE_ITEM_WIDTH 34
#define PAGE_ITEM_LEAST 14 /* on a narrow terminal */
#define PAGE_TEXT_LEAST 40 /* a longer text with less room is written below its line */

#define PAGE_NAME_LEAST                                                          \
	16 /* a name that has less room is left out: its short form stands there \
	    */

/* --- a page instead of a table ------------------------------------------------------ */

/* One section of a page: its lines, and the widths of its number columns. */
struct page_section {
	const struct ws_table *t;
	const struct ws_text_opts *opts;
	struct ws_page_columns columns;
	size_t begin, end; /* rows */
	struct page_column {
		size_t width;
		struct ws_shown_column shown;
	} * shown;
	size_t numbers; /* total width of all numbers */
	size_t items;   /* width of the items */
	struct ws_arena *arena;
	struct ws_bytes *item, *text; /* displayed forms of lines about names */
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

struct page_line {
	bool has_number;
	bool is_name; /* its text is the item's long form: a kernel's name and its short form */
};

static struct page_line look_at_line(const struct page_section *s, const struct ws_cell *cells)
{
	static const char *const ends[] = {"…", "<", " [", " #"};
	const struct ws_cell *text = &cells[s->columns.text], *item = &cells[s->columns.item];
	size_t len = ws_cell_text(item).len; /* up to a cut or an addition of the short name */
	struct page_line line = {0};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && len; i++) {
		const char *end = memmem(item->text.ptr, len, ends[i], strlen(ends[i]));

		if (end)
			len = (size_t)(end - item->text.ptr);
	}
	for (size_t i = 0; i < s->t->def->ncolumns; i++)
		line.has_number |= cells[i].type == WS_CELL_INT || cells[i].type == WS_CELL_REAL;
	line.is_name = line.has_number && len && text->type == WS_CELL_TEXT &&
	               memmem(text->text.ptr, text->text.len, item->text.ptr, len) != NULL;
	return line;
}

/* Columns after the numbers for a whole name; 0 = too few. */
static size_t name_room(const struct page_section *s)
{
	size_t at = 2 + s->items + WS_TEXT_GAP + s->numbers;

	if (s->opts->width <= 0)
		return SIZE_MAX;
	return at + PAGE_NAME_LEAST <= (size_t)s->opts->width ? (size_t)s->opts->width - at : 0;
}

static void put_page(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts,
                     const struct ws_page_columns *columns)
{
	struct ws_arena arena = {0};
	struct page_section s = {.t = t, .opts = opts, .columns = *columns, .arena = &arena};

	WS_NEW(&arena, s.shown, t->def->ncolumns);
	for (; s.begin < t->nrows; s.begin = s.end) {
		const struct ws_cell section = page_cells(&s, s.begin)[columns->section];

		char number[WS_DISPLAY_NUMBER_MAX];

		s.end = ws_display_section_end(s.t, &s.columns, s.begin);
		s.numbers = 0;
		for (size_t i = 0; i < s.t->def->ncolumns; i++) {
			s.shown[i].width = 0;
			ws_display_section_column(s.t, i, s.begin, s.end, &s.shown[i].shown);
			for (size_t row = s.begin; row < s.end; row++) {
				size_t w = page_number(&s, row, i, number);

				s.shown[i].width = w > s.shown[i].width ? w : s.shown[i].width;
			}
			s.numbers += s.shown[i].width ? s.shown[i].width + WS_TEXT_GAP : 0;
		}
		s.items = PAGE_ITEM_WIDTH;
		while (s.opts->width > 0 && s.items > PAGE_ITEM_LEAST &&
		       2 + s.items + s.numbers > (size_t)s.opts->width)
			s.items--;
		/* Computes the displayed names of the section. */
		size_t n = s.end - s.begin, room = name_room(&s);

		WS_NEW(s.arena, s.item, n);
		WS_NEW(s.arena, s.text, n);
		for (size_t i = 0; i < n; i++) {
			const struct ws_cell *cells = page_cells(&s, s.begin + i);
			const struct ws_cell *item = &cells[s.columns.item],
			                     *text = &cells[s.columns.text];

			if (!look_at_line(&s, cells).is_name)
				continue;
			s.item[i] = (struct ws_bytes){item->text.ptr, item->text.len};
			s.text[i] = (struct ws_bytes){text->text.ptr, text->text.len};
		}
		ws_names_elide(s.arena, s.item, n, s.items, WS_ELIDE_HEAD(s.items));
		ws_names_elide(s.arena, s.text, n, room, WS_ELIDE_HEAD(room));
		if (s.begin)
			fputc('\n', f);
		text_style(f, opts, WS_TEXT_BOLD);
		if (section.type == WS_CELL_TEXT)
			cut(f, section.text.ptr, section.text.len, SIZE_MAX);
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		for (size_t row = s.begin; row < s.end; row++) {
			const struct ws_cell *cells = page_cells(&s, row);
			const struct ws_cell *item = &cells[s.columns.item],
			                     *text = &cells[s.columns.text];
			struct page_line line = look_at_line(&s, cells);
			int has_text = text->type == WS_CELL_TEXT && text->text.len &&
			               !ws_cell_same(item, text);
			/* written below if the line lacks room for its item, or for the text after
			 * the numbers */
			const size_t at = 2 + s.items + WS_TEXT_GAP + s.numbers;
			const size_t free = opts->width > (int)at ? (size_t)opts->width - at : 0;
			int below = has_text && !line.is_name && opts->width > 0 &&
			            ((!line.has_number && item->type == WS_CELL_TEXT &&
			              ws_display_width(item->text.ptr, item->text.len) > s.items) ||
			             (free < PAGE_TEXT_LEAST &&
			              ws_display_width(text->text.ptr, text->text.len) > free));
			size_t item_width = below && !line.has_number ? (size_t)s.opts->width - 2
			                                              : s.items,
			       used = 0;

			pad(f, 2);
			if (line.is_name)
				used = cut(f, s.item[row - s.begin].ptr, s.item[row - s.begin].len,
				           item_width);
			else if (item->type == WS_CELL_TEXT)
				used = cut(f, item->text.ptr, item->text.len, item_width);
			if (line.has_number || (has_text && !below))
				pad(f, s.items + WS_TEXT_GAP - used);
			used = 0; /* columns taken by numbers; less than s.numbers if the last are
			           * empty */
			for (size_t c = 0, blanks = 0; line.has_number && c < t->def->ncolumns;
			     c++) {
				const size_t w = page_number(&s, row, c, number);

				if (!s.shown[c].width)
					continue;
				blanks += s.shown[c].width - w;
				if (w) {
					pad(f, blanks);
					cut(f, number, w, SIZE_MAX);
					used += blanks + w;
					blanks = 0;
				}
				blanks += WS_TEXT_GAP;
			}
			/* the text after the numbers, or below if there is no room */
			if (has_text && !below && !line.is_name) {
				pad(f, s.numbers - used);
				wrap(f, opts, s.numbers ? WS_TEXT_DIM : NULL, text->text.ptr,
				     text->text.len, 2 + s.items + WS_TEXT_GAP + s.numbers);
				continue;
			}
			if (has_text && line.is_name && name_room(&s)) {
				const struct ws_bytes *name = &s.text[row - s.begin];

				pad(f, s.numbers - used);
				text_style(f, opts, WS_TEXT_DIM);
				cut(f, name->ptr, name->len, SIZE_MAX);
				text_style(f, opts, WS_TEXT_PLAIN);
			}
			fputc('\n', f);
			if (below) {
				pad(f, 6);
				wrap(f, opts, WS_TEXT_DIM, text->text.ptr, text->text.len, 6);
			}
		}
	}
	ws_arena_free(&arena);
}

/* --- the report -------------------------------------------------------------------- */

/* NAME: TEXT, with further lines indented below the first. */
static void put_fact(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *name,
                     const char *text)
{
	if (sgr)
		text_style(f, opts, sgr);
	fputs(name, f);
	if (sgr)
		text_style(f, opts, WS_TEXT_PLAIN);
	fputs(": ", f);
	wrap(f, opts, NULL, text, strlen(text), strlen(name) + 2);
}

void ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts)
{
	if (opts->has_front && report->page) {
		front(f, report->page, opts);
		for (size_t i = 1; i < report->ntables; i++) {
			fputc('\n', f);
			text_style(f, opts, WS_TEXT_BOLD);
			fprintf(f, "%s\n", report->tables[i]->def->title);
			text_style(f, opts, WS_TEXT_PLAIN);
			table(f, report->tables[i], opts);
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
		text_headline(f, report->page, opts);
		put_rows(f, opts, report->page);
		if (report->page->timeline)
			put_ranks(f, opts, report->page->timeline);
	}
	for (size_t i = 0; i < report->ntables; i++) {
		fputc('\n', f);
		const struct ws_table *t = report->tables[i];
		struct ws_page_columns page;
		char title[WS_DISPLAY_TITLE];

		text_style(f, opts, WS_TEXT_BOLD);
		fputs(ws_display_title(t, title), f);
		text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		for (size_t k = 0; k < t->nheadline_notes; k++)
			paragraph(f, opts, NULL, 0, t->notes[k]);
		if (*t->def->meaning) {
			fputs(t->nheadline_notes ? "\n" : "", f);
			paragraph(f, opts, WS_TEXT_DIM, 0, t->def->meaning);
		}
		fputc('\n', f);
		if (t->not_recorded) {
			fputs("not recorded:\n", f);
			paragraph(f, opts, NULL, 2, t->not_recorded);
			fputs(t->nrows ? "\n" : "", f);
		} else if (!t->nrows) {
			fputs("no rows\n", f);
		}
		if (t->nrows && ws_display_page(t->def, &page))
			put_page(f, t, opts, &page);
		else if (t->nrows)
			table(f, t, opts);
		for (size_t k = t->nheadline_notes; k < t->nnotes; k++) {
			fputs(k > t->nheadline_notes ? "" : "\n", f);
			paragraph(f, opts, WS_TEXT_DIM, 0, t->notes[k]);
		}
	}
}
