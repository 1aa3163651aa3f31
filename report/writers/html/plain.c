/*
 * The page for readers without scripts (a strict Content-Security-Policy, a mail preview, a phone's
 * quick look): the answer, where the time goes, what to do and the first tables, as plain HTML. The
 * page's script replaces it.
 */
#include "report/base/ui.h"
#include "report/front/front.h"
#include "report/writers/html/private.h"

#define FINDINGS       5
#define ROWS           10  /* of a table */
#define TABLES         3   /* of a report, after the first screen */
#define BAR_HIGH       28  /* pixels */
#define LEGEND_PERCENT 0.5 /* of the bar: smaller parts have no label */

void ws_html_put_text(FILE *f, const char *text)
{
	const size_t len = strlen(text);
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		switch (*glyph.bytes) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fwrite(glyph.bytes, 1, glyph.len, f);
		}
	}
}

static void put_element(FILE *f, const char *tag, const char *class, const char *text)
{
	fprintf(f, "<%s", tag);
	if (class)
		fprintf(f, " class=\"%s\"", class);
	fputc('>', f);
	ws_html_put_text(f, text);
	fprintf(f, "</%s>\n", tag);
}

static void put_line(FILE *f, const struct ws_page_line *line, const char *class)
{
	if (!line->nparts)
		return;
	fprintf(f, "<p class=\"%s\">", class);
	for (size_t i = 0; i < line->nparts; i++) {
		fputs(line->part[i].bold ? "<b>" : "", f);
		ws_html_put_text(f, line->part[i].text);
		fputs(line->part[i].bold ? "</b>" : "", f);
	}
	if (line->grade && *line->grade) {
		fputc(' ', f);
		put_element(f, "b", "grade", line->grade);
	}
	fputs("</p>\n", f);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_table(FILE *f, const struct ws_table *t)
{
	const size_t rows = t->nrows < ROWS ? t->nrows : ROWS;
	struct ws_arena arena = {0};
	struct ws_view view;

	if (!rows)
		return;
	ws_view_make(&arena, t, rows, &view);
	put_element(f, "h2", NULL, t->def->title);
	fputs("<div class=\"box scroll\"><table>\n<tr>", f);
	for (size_t c = 0; c < view.nanswers; c++)
		put_element(f, "th",
		            t->def->columns[view.column[c].index].type == WS_CELL_TEXT ? NULL : "n",
		            view.column[c].shown.title);
	fputs("</tr>\n", f);
	for (size_t row = 0; row < rows; row++) {
		fputs("<tr>", f);
		for (size_t c = 0; c < view.nanswers; c++) {
			const struct ws_cell *cells = ws_table_cells(t, row);
			const struct ws_view_column *column = &view.column[c];
			char label[WS_VIEW_LABEL], size[WS_VIEW_SIZE],
			        number[WS_DISPLAY_NUMBER_MAX];
			struct ws_cell own;
			const struct ws_cell *cell =
			        column->is_tree ? &cells[column->index]
			                        : ws_view_cell(column, cells, &own, size);
			struct ws_arena texts = {0};
			unsigned depth = 0;

			if (column->is_tree) {
				ws_view_label(&view, cells, label, &depth);
				fputs("<td>", f);
				for (unsigned i = 0; i < depth && i < WS_VIEW_LABEL / 4; i++)
					fputs("&emsp;", f);
				ws_html_put_text(f, label);
				fputs("</td>", f);
			} else if (cell->type == WS_CELL_TEXT) {
				/* blanks before a name of a first screen are its depth */
				fputs("<td>", f);
				depth = ws_front_depth(cell);
				for (unsigned i = 0; i < depth / 2; i++)
					fputs("&emsp;", f);
				ws_html_put_text(f, ws_arena_copy(&texts, cell->text.ptr + depth,
				                                  cell->text.len - depth));
				fputs("</td>", f);
			} else {
				ws_display_number(&column->shown, cell, number);
				put_element(f, "td", "n", number);
			}
			ws_arena_free(&texts);
		}
		fputs("</tr>\n", f);
	}
	fputs("</table></div>\n", f);
	if (rows < t->nrows)
		put_element(f, "p", "note",
		            ws_arena_format(&arena, "%zu of %zu rows.", rows, t->nrows));
	ws_arena_free(&arena);
}

static void put_own_table(FILE *f, struct ws_table *t)
{
	put_table(f, t);
	ws_table_free(t);
}

void ws_html_put_plain(FILE *f, const struct ws_report *report)
{
	const struct ws_page *page = report->page;
	struct ws_page_columns columns;
	size_t n = 0;

	if (page) {
		fputs("<section class=\"box headline\">\n", f);
		for (size_t i = 0; i < page->nheadline; i++)
			put_line(f, &page->headline[i], "say");
		put_line(f, &page->first, "first");
		if (page->note)
			put_element(f, "p", "soft", page->note);
		fputs(page->nfigures ? "<p>" : "", f);
		for (size_t i = 0; i < page->nfigures; i++) {
			fputs(i ? " · <b>" : "<b>", f);
			ws_html_put_text(f, page->figure[i].value);
			fputs("</b> ", f);
			ws_html_put_text(f, page->figure[i].label);
		}
		fputs(page->nfigures ? "</p>\n</section>\n" : "</section>\n", f);
		struct ws_arena texts = {0};
		double before = 0;
		size_t idle = 0;

		if (page->nsegments) {
			put_element(f, "h2", NULL, page->bar_title);
			/* attributes, not styles: a policy may forbid inline styles */
			fprintf(f, "<svg width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"",
			        BAR_HIGH);
			ws_html_put_text(f, page->bar_title);
			fputs("\">\n", f);
			for (size_t i = 0; i < page->nsegments;
			     before += page->segment[i++].percent) {
				const struct ws_page_segment *s = &page->segment[i];

				/* neighbours have different shades */
				fprintf(f,
				        "<rect x=\"%.3f%%\" width=\"%.3f%%\" height=\"%d\" "
				        "fill=\"#%06x\" fill-opacity=\"%s\"/>\n",
				        before, s->percent, BAR_HIGH,
				        (unsigned)ws_page_colour_def(s->colour).light,
				        s->is_idle && idle++ % 2 ? "0.5" : "1");
			}
			fputs("</svg>\n<ul>\n", f);
			for (size_t i = 0; i < page->nsegments; i++) {
				const struct ws_page_segment *s = &page->segment[i];

				if (s->percent < LEGEND_PERCENT)
					continue;
				fprintf(f,
				        "<li><svg width=\"10\" height=\"10\" class=\"chip\"><rect "
				        "width=\"10\" height=\"10\" fill=\"#%06x\"/></svg> ",
				        (unsigned)ws_page_colour_def(s->colour).light);
				ws_html_put_text(f, ws_page_segment_words(&texts, page, s));
				fputs("</li>\n", f);
			}
			fputs("</ul>\n", f);
		}
		if (page->nfindings || page->no_finding)
			put_element(f, "h2", NULL, "What to do");
		if (page->no_finding)
			put_element(f, "p", NULL, ws_arena_format(&texts, "%s.", page->no_finding));
		if (page->nfindings)
			fputs("<ol>\n", f);
		for (size_t i = 0; i < page->nfindings && i < FINDINGS; i++) {
			fputs("<li>", f);
			ws_html_put_text(f, page->finding[i].advice);
			fputc(' ', f);
			put_element(f, "b", "gain", page->finding[i].gain);
			put_element(f, "div", "soft", page->finding[i].evidence);
			fputs("</li>\n", f);
		}
		if (page->nfindings)
			fputs("</ol>\n", f);
		if (page->caveat)
			put_element(f, "p", NULL, page->caveat);
		if (page->findings_note)
			put_element(f, "p", "soft", page->findings_note);
		if (page->nrungs)
			fputs("<h3>What bounds the step</h3>\n<table>\n", f);
		for (size_t i = 0; i < page->nrungs; i++) {
			fputs("<tr>", f);
			put_element(f, "td", NULL, page->rung[i].name);
			put_element(f, "td", "n", ws_say_time(&texts, page->rung[i].step_ns));
			fputs("</tr>\n", f);
		}
		if (page->nrungs)
			fputs("</table>\n", f);
		ws_arena_free(&texts);
		if (page->nrows) {
			put_element(f, "h2", NULL, page->rows_title);
			fputs("<table>\n", f);
		}
		for (size_t i = 0; i < page->nrows; i++) {
			fputs("<tr>", f);
			put_element(f, "td", NULL, page->row[i].group);
			put_element(f, "td", NULL, page->row[i].name);
			put_element(f, "td", NULL, page->row[i].words);
			fputs("</tr>\n", f);
		}
		fputs(page->nrows ? "</table>\n" : "", f);
		if (page->is_comparison) {
			put_own_table(f, ws_front_changes(page));
		} else {
			put_own_table(f, ws_front_kernels(page, ROWS));
			put_own_table(f, ws_front_tree(page, ROWS));
		}
	}
	for (size_t i = 0; i < report->ntables && n < (page && !page->is_comparison ? 0 : TABLES);
	     i++)
		if (report->tables[i]->nrows &&
		    !ws_display_page(report->tables[i]->def, &columns)) {
			put_table(f, report->tables[i]);
			n++;
		}
	put_element(f, "p", "note",
	            "This viewer runs no scripts. A browser that does shows all tables, which can "
	            "be sorted and searched, and the timeline.");
}
