/* The first sheet: the answers of a report, its pictures and its index. */
#include "report/base/elementary.h"
#include "report/base/ui.h"
#include "report/front/front.h"
#include "report/writers/xlsx/xlsx.h"

#define FRONT_OTHERS 14.0 /* "communication" */
#define FRONT_NAME   43.0 /* width of column A */
#define FRONT_WIDTH  (FRONT_NAME + FRONT_LAST * FRONT_OTHERS)

/* --- the sheet ------------------------------------------------------------------------------- */

#define GAP_POINTS   6.0 /* between two sections */
#define PAIRS        4   /* of figures, and of links: A, B and C, D and E, F and G */
#define TREE_ROWS    12
#define FINDING_ROWS 4
#define KERNEL_ROWS  8
#define LINES_MAX    8

static void set_height(const struct ws_xlsx_front *f, uint32_t row, double points)
{
	ws__xlsx_try(f->x, worksheet_set_row(f->sheet, row, points, NULL));
}

static void front_section(struct ws_xlsx_front *f, const char *title)
{
	lxw_format *style = f->x->styles[WS_XLSX_SECTION];

	set_height(f, f->row++, GAP_POINTS);
	set_height(f, f->row, 18);
	ws__xlsx_text(f->x, f->sheet, f->row, 0, title, style);
	for (uint16_t c = 1; c < FRONT_COLUMNS; c++)
		ws__xlsx_try(f->x, worksheet_write_blank(f->sheet, f->row, c, style));
	f->row++;
}

/* Across the page. */
static void put_words(struct ws_xlsx_front *f, const char *text, enum ws_xlsx_style style)
{
	ws__xlsx_paragraph(f->x, f->sheet, f->row++, FRONT_LAST, FRONT_WIDTH, text, style);
}

/* --- headline, figures, links ---------------------------------------------------------------- */

/* What counts is bold. */
static void put_sentence(struct ws_xlsx_front *f, const struct ws_page_line *of,
                         bool is_first_thing)
{
	struct ws_page_line with_grade = *of, *line = &with_grade;
	lxw_format *plain = f->x->styles[is_first_thing ? WS_XLSX_FIRST : WS_XLSX_HEADLINE];
	lxw_format *bold = f->x->styles[is_first_thing ? WS_XLSX_FIRST : WS_XLSX_HEADLINE_BOLD];
	lxw_rich_string_tuple part[WS_PAGE_PARTS], *parts[WS_PAGE_PARTS + 1];
	size_t n = 0;

	if (of->nparts && *of->grade && of->nparts < WS_PAGE_PARTS)
		line->part[line->nparts++] =
		        (struct ws_page_part){ws__xlsx_format(f->x, "  %s", of->grade), true};
	for (size_t i = 0; i < line->nparts; i++) {
		const char *text = ws__xlsx_format(f->x, "%s",
		                                   ws__xlsx_clean(f->x, line->part[i].text,
		                                                  strlen(line->part[i].text)));

		if (!*text)
			continue;
		part[n] = (lxw_rich_string_tuple){line->part[i].bold ? bold : plain,
		                                  (char *)(uintptr_t)text}; /* only read */
		parts[n] = &part[n];
		n++;
	}
	if (!n)
		return;
	if (is_first_thing) {
		const double width = FRONT_WIDTH / 1.25;
		/* the letters are larger */
		const char *text = "";

		/* What to do first may take more than a line. */
		for (size_t i = 0; i < n; i++)
			text = ws__xlsx_format(f->x, "%s%s", text, parts[i]->string);
		size_t lines = ws__xlsx_lines(text, strlen(text), width);
		ws__xlsx_paragraph(f->x, f->sheet, f->row, FRONT_LAST, width, text, WS_XLSX_FIRST);
		set_height(f, f->row++, 19 * (double)lines);
		return;
	}
	parts[n] = NULL;
	set_height(f, f->row, 19);
	if (n == 1)
		ws__xlsx_text(f->x, f->sheet, f->row, 0, part[0].string, part[0].format);
	else
		ws__xlsx_try(f->x, worksheet_write_rich_string(f->sheet, f->row, 0, parts, plain));
	f->row++;
}

/* The sentences, with bold parts, and their basis. */
static void front_headline(struct ws_xlsx_front *f, const struct ws_page *page)
{
	for (size_t i = 0; i < page->nheadline; i++)
		put_sentence(f, &page->headline[i], false);
	if (page->note)
		put_words(f, page->note, WS_XLSX_NOTE);
}

/* Sets the widths of the columns and of the last one, the title and the grey line; "": none. */
static void front_begin(struct ws_xlsx_front *f, const char *title, const char *source,
                        double last_width)
{
	ws__xlsx_try(f->x, worksheet_set_column(f->sheet, 0, 0, FRONT_NAME, NULL));
	/* columns that are set twice overlap in the file */
	ws__xlsx_try(f->x, worksheet_set_column(f->sheet, 1, FRONT_LAST - 1, FRONT_OTHERS, NULL));
	ws__xlsx_try(f->x,
	             worksheet_set_column(f->sheet, FRONT_LAST, FRONT_LAST, last_width, NULL));
	set_height(f, f->row, 24);
	ws__xlsx_text(f->x, f->sheet, f->row++, 0, title, f->x->styles[WS_XLSX_TITLE]);
	if (*source)
		put_words(f, source, WS_XLSX_NOTE);
}

/* Finishes the page, after all is written. */
static void front_end(struct ws_xlsx_front *f)
{
	worksheet_gridlines(f->sheet, LXW_HIDE_ALL_GRIDLINES);
	worksheet_set_tab_color(f->sheet, 0x1F3864);
	ws__xlsx_page_setup(f->x, f->sheet, f->row, FRONT_LAST, "");
	worksheet_set_portrait(f->sheet); /* many short lines */
}

/* The first column of the nth of PAIRS places of a line, and its last. */
static uint16_t place(size_t nth, uint16_t *last)
{
	uint16_t first = nth % PAIRS ? (uint16_t)(2 * (nth % PAIRS) - 1) : 0;

	*last = first ? (uint16_t)(first + 1) : 0;
	return first;
}

static void put_across(struct ws_xlsx_front *f, uint32_t row, size_t nth, const char *text,
                       lxw_format *format)
{
	uint16_t last, first = place(nth, &last);

	if (last > first)
		ws__xlsx_try(f->x,
		             worksheet_merge_range(f->sheet, row, first, row, last, "", format));
	ws__xlsx_text(f->x, f->sheet, row, first, text, format);
}

void ws__xlsx_front_links(struct ws_xlsx_front *f, size_t first_table)
{
	const struct ws_xlsx *x = f->x;
	const char *without = "";
	size_t n = 0;

	set_height(f, f->row++, GAP_POINTS);
	for (size_t i = first_table; i < x->report->ntables; i++) {
		const struct ws_xlsx_sheet *s = &x->sheets[i];
		uint16_t last, first = place(n, &last);

		if (!s->sheet) {
			without = ws__xlsx_format(f->x, "%s%s%s%s", without, *without ? ", " : "",
			                          s->table->def->sheet,
			                          s->table->not_recorded ? " (not recorded)" : "");
			continue;
		}
		if (last > first)
			ws__xlsx_try(f->x,
			             worksheet_merge_range(f->sheet, f->row, first, f->row, last,
			                                   "", x->styles[WS_XLSX_LINK]));
		ws__xlsx_link(f->x, f->sheet, f->row, first, s, s->name);
		f->row += n++ % PAIRS == PAIRS - 1;
	}
	f->row += n % PAIRS != 0;
	if (*without)
		ws__xlsx_paragraph(f->x, f->sheet, f->row++, FRONT_LAST, FRONT_WIDTH,
		                   ws__xlsx_format(f->x, "Without rows, so without a sheet: %s.",
		                                   without),
		                   WS_XLSX_NOTE);
}

/* --- short tables ---------------------------------------------------------------------------- */

/* Cells of a table whose first column may be a tree; bars in the cells of its shares. Frees it. */
static void front_table(struct ws_xlsx_front *f, struct ws_table *t)
{
	struct ws_shown_column shown[FRONT_COLUMNS];
	size_t at[FRONT_COLUMNS], n = 0; /* non-empty columns of the table */
	const uint32_t first = f->row + 3;

	if (t->nrows)
		front_section(f, t->def->title);
	for (size_t c = 0; c < t->def->ncolumns && n < FRONT_COLUMNS && t->nrows; c++)
		if (!c || ws_table_profile(t, t->nrows)[c].nempty < t->nrows)
			at[n++] = c;
	for (size_t c = 0; c < n; c++) {
		ws_display_column(t, at[c], &shown[c]);
		ws__xlsx_header(f->x, f->sheet, f->row, (uint16_t)c, shown[c].title,
		                t->def->columns[at[c]].type);
	}
	if (t->nrows)
		set_height(f, f->row++, 2 * WS_XLSX_ROW_POINTS + 2);
	for (size_t r = 0; r < t->nrows; r++, f->row++) {
		const struct ws_cell *cells = ws_table_cells(t, r);
		const unsigned depth = ws_front_depth(&cells[0]);
		const char *name = cells[0].text.ptr + 2 * depth;
		const size_t len = cells[0].text.len - 2 * depth,
		             lines = ws__xlsx_lines(name, len, FRONT_NAME - 2 * depth);

		if (lines > 1) /* if cut, two names could become equal */
			set_height(f, f->row, WS_XLSX_ROW_POINTS * (double)lines);
		ws__xlsx_indented(f->x, f->sheet, f->row, 0,
		                  ws__xlsx_format(f->x, "%.*s", (int)len, name), depth);
		for (size_t c = 1; c < n; c++)
			ws__xlsx_cell(f->x, f->sheet, f->row, (uint16_t)c, &cells[at[c]], &shown[c],
			              WS_XLSX_CELL);
	}
	for (size_t c = 1; c < n; c++)
		if (t->def->columns[at[c]].display == WS_DISPLAY_PERCENT)
			ws__xlsx_data_bars(f->x, f->sheet, first, f->row - 1, (uint16_t)c);
	ws_table_free(t);
}

/* --- the lines of the table ------------------------------------------------------------------ */

static bool has_number(const struct ws_cell *cell)
{
	return cell->type == WS_CELL_INT || cell->type == WS_CELL_REAL;
}

void ws__xlsx_write_front(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	struct ws_xlsx_front f = {.x = x, .sheet = s->sheet, .t = s->table};
	const struct ws_page *page = x->report->page;

	s->rows = s->table->nrows;
	front_begin(&f, page ? page->title : x->report->title,
	            page ? ws_front_source(&x->arena, page) : "", FRONT_OTHERS);
	if (page) {
		const struct ws_xlsx_icicle icicle = {
		        .page = page,
		        .scale = 1,
		        .title = "Parts of the model, each below its parent; width is time"};

		const struct ws_report *r = f.x->report;

		if (*r->filter)
			put_words(&f, ws__xlsx_format(f.x, "Filter: %s", r->filter), WS_XLSX_NOTE);
		f.row++;
		front_headline(&f, page);
		put_sentence(&f, &page->first, true);
		for (size_t i = 0; i < page->nwhatif; i++)
			put_sentence(&f, &page->whatif[i], true);
		if (page->nfigures)
			set_height(&f, f.row++, GAP_POINTS);
		for (size_t i = 0; i < page->nfigures; i++) {
			put_across(&f, f.row, i, page->figure[i].value,
			           f.x->styles[WS_XLSX_FIGURE]);
			put_across(&f, f.row + 1, i, page->figure[i].label,
			           f.x->styles[WS_XLSX_NOTE]);
			if (i % PAIRS == PAIRS - 1 || i + 1 == page->nfigures) {
				set_height(&f, f.row, 24);
				f.row += 2;
			}
		}
		ws__xlsx_front_links(&f, 1);
		if (page->nsegments) {
			front_section(&f, page->bar_title);
			f.row = ws__xlsx_add_steps(f.x, s, f.row);
			f.row = ws__xlsx_add_bar(f.x, s, f.row);
		}
		front_table(&f, ws_front_tree(page, TREE_ROWS));
		f.row = ws__xlsx_add_icicle(f.x, f.sheet, s->name, &icicle, f.row);

		/* One line each: advice first, the gain at the right edge, the evidence below in
		 * grey. */
		static const struct ws_shown_column percent = {.display = WS_DISPLAY_PERCENT,
		                                               .decimals = 1};
		const double width = FRONT_WIDTH - FRONT_OTHERS;

		if (page->nfindings || page->no_finding) {
			front_section(&f, "What to do");
			if (page->no_finding)
				put_words(&f, ws__xlsx_format(f.x, "%s.", page->no_finding),
				          WS_XLSX_ADVICE);
			if (page->nfindings &&
			    page->finding[0].gain_ns > 0) /* the first has the largest gain */
				ws__xlsx_text(f.x, f.sheet, f.row - 1, FRONT_LAST, "Gain (%)",
				              f.x->styles[WS_XLSX_SECTION]);
			for (size_t i = 0; i < page->nfindings && i < FINDING_ROWS; i++) {
				const struct ws_page_finding *finding = &page->finding[i];
				struct ws_cell gain;

				ws_cell_set_real(&gain, finding->gain_percent);
				ws__xlsx_paragraph(f.x, f.sheet, f.row, FRONT_LAST - 1, width,
				                   ws__xlsx_format(f.x, "%zu. %s", i + 1,
				                                   finding->advice),
				                   WS_XLSX_ADVICE);
				ws__xlsx_cell(f.x, f.sheet, f.row++, FRONT_LAST, &gain, &percent,
				              WS_XLSX_CELL);
				ws__xlsx_paragraph(f.x, f.sheet, f.row++, FRONT_LAST - 1, width,
				                   finding->evidence, WS_XLSX_EVIDENCE);
			}
			if (page->caveat)
				put_words(&f, page->caveat, WS_XLSX_EVIDENCE);
			if (page->findings_note)
				put_words(&f, page->findings_note, WS_XLSX_NOTE);
		}
		front_table(&f, ws_front_kernels(page, KERNEL_ROWS));
	}
	const struct ws_table *t = f.t;
	struct ws_page_columns columns;

	struct ws_shown_column *shown = ws_arena_array(&x->arena, t->def->ncolumns, sizeof(*shown));
	size_t *at = ws_arena_array(&x->arena, t->def->ncolumns, sizeof(*at));
	ws_display_page(t->def, &columns);
	for (size_t begin = 0, end; begin < t->nrows; begin = end) {
		const struct ws_cell section = ws_table_cells(t, begin)[columns.section];

		end = ws_display_section_end(t, &columns, begin);
		/* the first screen shows these better */
		static const char *const above[] = {"GPU time by class", "Top kernels",
		                                    "Why the device is idle", "What to do"};
		bool is_above = false;

		for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++)
			is_above |= x->report->page && ws_cell_is(&section, above[i]);
		if (is_above)
			continue;
		front_section(&f, ws__xlsx_format(x, "%.*s", WS_CELL_SHOWN(&section)));
		for (size_t c = 0; c < t->def->ncolumns; c++)
			ws_display_section_column(t, c, begin, end, &shown[c]);

		/* Columns have heads, from B on, if a line has several numbers. */
		size_t n = 0, most = 0;

		for (size_t c = 0; c < t->def->ncolumns; c++)
			for (size_t r = begin; r < end; r++)
				if (has_number(&ws_table_cells(t, r)[c])) {
					at[n++] = c;
					break;
				}
		for (size_t r = begin; r < end; r++) {
			size_t numbers = 0;

			for (size_t i = 0; i < n; i++)
				numbers += has_number(&ws_table_cells(t, r)[at[i]]);
			most = numbers > most ? numbers : most;
		}
		n = most > 1 ? n : 0;
		for (size_t i = 0; i < n; i++)
			ws__xlsx_header(x, f.sheet, f.row, (uint16_t)(1 + i), shown[at[i]].title,
			                t->def->columns[at[i]].type);
		f.row += n > 0;
		for (size_t r = begin; r < end; r++) {
			const struct ws_cell *cells = ws_table_cells(t, r);
			const struct ws_cell *text = &cells[columns.text],
			                     *item = &cells[columns.item];
			uint16_t first = (uint16_t)(1 + n); /* the column of the text */

			/* the only number of a line, in B with its unit in C */
			for (size_t c = 0; c < t->def->ncolumns && !n && first == 1; c++) {
				if (!has_number(&cells[c]))
					continue;
				ws__xlsx_cell(x, f.sheet, f.row, 1, &cells[c], &shown[c],
				              WS_XLSX_CELL);
				ws__xlsx_text(x, f.sheet, f.row, 2, shown[c].unit,
				              x->styles[WS_XLSX_SOURCE]);
				first = 3;
			}

			const double width = FRONT_OTHERS * (FRONT_COLUMNS - first);
			size_t lines = 1, digits = 0;

			/* a fact that is a whole number is stored as a number; a cell holds 15
			 * digits */
			while (text->type == WS_CELL_TEXT && digits < text->text.len &&
			       text->text.ptr[digits] >= '0' && text->text.ptr[digits] <= '9')
				digits++;
			for (size_t i = 0; i < n; i++)
				ws__xlsx_cell(x, f.sheet, f.row, (uint16_t)(1 + i), &cells[at[i]],
				              &shown[at[i]], WS_XLSX_CELL);
			if (ws_cell_is(&section, "Workload") && digits &&
			    digits == text->text.len && digits < 16) {
				const struct ws_shown_column count = {.display = WS_DISPLAY_COUNT};
				struct ws_cell number;

				ws_cell_set_int(&number, strtoll(text->text.ptr, NULL, 10));
				ws__xlsx_cell(x, f.sheet, f.row, 1, &number, &count, WS_XLSX_CELL);
			} else if (text->type == WS_CELL_TEXT && text->text.len) {
				ws__xlsx_try(x, worksheet_merge_range(f.sheet, f.row, first, f.row,
				                                      FRONT_LAST, "",
				                                      x->styles[WS_XLSX_LABEL]));
				ws__xlsx_words(x, f.sheet, f.row, first, text,
				               x->styles[WS_XLSX_LABEL]);
				lines = ws__xlsx_lines(text->text.ptr, text->text.len, width);
			}
			if (item->type == WS_CELL_TEXT) {
				ws__xlsx_words(x, f.sheet, f.row, 0, item,
				               x->styles[WS_XLSX_LABEL]);
				const size_t own =
				        ws__xlsx_lines(item->text.ptr, item->text.len, FRONT_NAME);

				lines = own > lines ? own : lines;
			}
			lines = lines < LINES_MAX ? lines : LINES_MAX;
			if (lines > 1)
				set_height(&f, f.row, WS_XLSX_ROW_POINTS * (double)lines);
			f.row++;
		}
	}
	if (t->not_recorded)
		put_words(&f, ws__xlsx_format(x, "Not recorded: %s", t->not_recorded),
		          WS_XLSX_MISSING);
	for (size_t i = 0; i < t->nnotes; i++)
		put_words(&f, t->notes[i], WS_XLSX_NOTE);
	s->below = f.row;
	front_end(&f);
}

/* --- the answers of a comparison, or of ranks ------------------------------------------------ */

#define WATERFALL_ROWS 15
#define GRADE_WIDTH    19.0 /* "LIKELY FASTER" */

/* --- the waterfall from A to B
 * -----------------------------------------------------------------------
 */

/* Series of the chart, one column of cells each: invisible bases, the bars, and labels on top. */
enum { BELOW, WHOLE, SAVES, COSTS, ON_TOP, SERIES };

struct waterfall {
	struct ws_xlsx *x;
	const struct ws_xlsx_sheet *s;
	const struct ws_page *page;
	struct ws_shown_column shown;
	double least_ns, most_ns;
	uint32_t row; /* row of the heads of its cells */
};

static void put_time(const struct waterfall *w, uint32_t row, int series, double ns)
{
	struct ws_cell cell;

	ws_cell_set_real(&cell, ns);
	ws__xlsx_cell(w->x, w->s->sheet, row, (uint16_t)(FRONT_DATA + 1 + series), &cell, &w->shown,
	              WS_XLSX_CELL);
}

static void style(const struct waterfall *w, lxw_chart *chart)
{
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_font title = {.size = 10, .bold = LXW_EXPLICIT_FALSE, .color = 0x595959};
	const double unit = ws_power_of_ten(w->shown.exponent);
	const double span = w->most_ns - w->least_ns;

	chart_title_set_name(chart,
	                     ws__xlsx_format(w->x, "%she bars add up%s",
	                                     w->page->is_unsure ? "T" : "Green saves, red costs; t",
	                                     w->least_ns > 0 ? "; the axis does not begin at 0"
	                                                     : ""));
	chart_title_set_name_font(chart, &title);
	chart_axis_major_gridlines_set_visible(chart->y_axis, LXW_FALSE);
	chart_axis_set_min(chart->y_axis, w->least_ns / unit);
	chart_axis_set_max(chart->y_axis, (w->most_ns + 0.12 * span) / unit);
	chart_axis_set_label_position(chart->y_axis, LXW_CHART_AXIS_LABEL_POSITION_NONE);
	chart_axis_set_name(chart->y_axis, ws__xlsx_format(w->x, "time (%s)", w->shown.unit));
	chart_axis_set_name_font(chart->y_axis, &font);
	chart_axis_set_num_font(chart->x_axis, &font);
	chart_set_series_gap(chart, 25);
	chart_set_series_overlap(chart, 100);
	chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
}

static uint32_t add_waterfall(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	static const char *const heads[SERIES] = {"Below", "Whole", "Less", "More", "Label"};
	struct waterfall w = {.x = x, .s = s, .page = x->report->page, .row = row};
	lxw_chart *chart = ws__xlsx_chart(x, LXW_CHART_COLUMN_STACKED);

	/* The axis begins at 0 unless the bars would be too small. */
	double low = INFINITY;

	for (size_t i = 0; i < w.page->nchange_bars; i++) {
		const struct ws_change_bar *bar = &w.page->change_bar[i];

		w.most_ns = fmax(w.most_ns, fmax(bar->from_ns, bar->to_ns));
		low = fmin(low, bar->is_whole ? bar->to_ns : fmin(bar->from_ns, bar->to_ns));
	}
	w.least_ns = low > w.most_ns / 2 ? fmax(0, low - 0.6 * (w.most_ns - low)) : 0;
	ws_front_times(w.most_ns, &w.shown);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA, "Cells of the bars", x->styles[WS_XLSX_SOURCE]);
	for (int i = 0; i < SERIES; i++)
		ws__xlsx_text(x, s->sheet, row, (uint16_t)(FRONT_DATA + 1 + i),
		              ws__xlsx_format(x, "%s (%s)", heads[i], w.shown.unit),
		              x->styles[WS_XLSX_SOURCE]);
	for (size_t i = 0; i < w.page->nchange_bars; i++) {
		const struct ws_change_bar *bar = &w.page->change_bar[i];
		const double change = bar->to_ns - bar->from_ns;
		const uint32_t at = row + 1 + (uint32_t)i;

		ws__xlsx_text(w.x, w.s->sheet, at, FRONT_DATA, bar->name,
		              w.x->styles[WS_XLSX_SOURCE]);
		put_time(&w, at, BELOW, bar->is_whole ? 0 : fmin(bar->from_ns, bar->to_ns));
		put_time(&w, at, WHOLE, bar->is_whole ? bar->to_ns : 0);
		put_time(&w, at, SAVES, bar->is_whole ? 0 : fmax(0, -change));
		put_time(&w, at, COSTS, bar->is_whole ? 0 : fmax(0, change));
		put_time(&w, at, ON_TOP, 0.1 * (w.most_ns - w.least_ns));
	}
	for (int i = 0; i < SERIES; i++) {
		static const lxw_color_t judged
		        [SERIES] = {[WHOLE] = 0x233A5E, [SAVES] = 0x2B8A57, [COSTS] = 0xC8503E},
		  unsure[SERIES] = {[WHOLE] = 0x233A5E, [SAVES] = 0x98A1AD, [COSTS] = 0x98A1AD};
		const lxw_color_t *colours = w.page->is_unsure ? unsure : judged;
		const uint32_t last = w.row + (uint32_t)w.page->nchange_bars;
		const lxw_col_t col = (lxw_col_t)(FRONT_DATA + 1 + i);
		lxw_chart_series *series = ws__xlsx_series(chart);
		lxw_chart_fill fill = {.color = colours[i], .none = i == BELOW || i == ON_TOP};
		lxw_chart_line none = {.none = LXW_TRUE};

		chart_series_set_categories(series, w.s->name, w.row + 1, FRONT_DATA, last,
		                            FRONT_DATA);
		chart_series_set_values(series, w.s->name, w.row + 1, col, last, col);
		chart_series_set_fill(series, &fill);
		chart_series_set_line(series, &none);
		if (i == ON_TOP) {
			/* "383 ms", "−26.9 ms" above each bar. */
			const size_t n = w.page->nchange_bars;
			lxw_chart_data_label *label, **labels;
			struct ws_arena *arena = &w.x->arena;

			WS_NEW(arena, label, n);
			WS_NEW(arena, labels, n + 1);
			for (size_t k = 0; k < n; k++) {
				const struct ws_change_bar *bar = &w.page->change_bar[k];
				const double ns =
				        bar->is_whole ? bar->to_ns : bar->to_ns - bar->from_ns;

				label[k].value =
				        (char *)(uintptr_t)ws__xlsx_format(w.x, "%s%s",
				                                           bar->is_whole ? ""
				                                           : ns < 0      ? "−"
				                                                         : "+",
				                                           ws_say_time(arena,
				                                                       fabs(ns)));
				labels[k] = &label[k];
			}
			chart_series_set_labels(series);
			chart_series_set_labels_position(series,
			                                 LXW_CHART_LABEL_POSITION_INSIDE_BASE);
			ws__xlsx_try(w.x, chart_series_set_labels_custom(series, labels));
		}
	}
	style(&w, chart);
	ws__xlsx_place_chart(x, s->sheet, row, chart, WS_XLSX_PAGE_PIXELS, WATERFALL_ROWS,
	                     "Waterfall: from the time of A to that of B, a bar for each part");
	return row + (WATERFALL_ROWS > w.page->nchange_bars ? WATERFALL_ROWS
	                                                    : (uint32_t)w.page->nchange_bars + 1);
}

/* --- the sheet -------------------------------------------------------------------------------- */

void ws__xlsx_write_answers(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	const struct ws_page *page = x->report->page;
	struct ws_xlsx_front f = {.x = x, .sheet = s->sheet};

	front_begin(&f, page->title, ws_front_source(&x->arena, page), GRADE_WIDTH);
	front_headline(&f, page);
	ws__xlsx_front_links(&f, 0);
	if (page->nchange_bars) {
		if (page->nchange_bars > 2) { /* otherwise nothing changed */
			front_section(&f, page->is_unsure ? "What the time is made of"
			                                  : "Why the time changed");
			f.row = add_waterfall(x, s, f.row);
		}
		if (page->nchanges)
			front_table(&f, ws_front_changes(page));

		/* The model of both sides, on one scale. */
		struct ws_page *const *side = page->side;
		double ns[2] = {0};

		for (int k = 0; k < 2 && side[0] && side[1]; k++)
			ns[k] = (double)side[k]->gpu_ns / side[k]->samples;

		const bool has_both = ns[0] > 0 && ns[1] > 0;

		if (has_both)
			front_section(&f, "Where in the model");
		for (int k = 0; k < 2 && has_both; k++) {
			const struct ws_xlsx_icicle icicle = {
			        .page = side[k],
			        .other_page = side[1 - k],
			        .is_b = k == 1,
			        .is_unsure = page->is_unsure,
			        .scale = ns[k] / fmax(ns[0], ns[1]),
			        .title = ws__xlsx_format(
			                x, "Parts of the model, %s, %s: %sochre on one side only",
			                page->side_title[k], ws_say_time(&x->arena, ns[k]),
			                page->is_unsure ? "" : "green is faster, red slower, ")};

			f.row = ws__xlsx_add_icicle(x, s->sheet, s->name, &icicle, f.row);
		}
	} else {
		if (page->nrows)
			front_section(&f, page->rows_title);
		f.row = ws__xlsx_add_rows(x, s, f.row);
		f.row = ws__xlsx_add_charts(x, s->sheet, f.row + 1);
	}
	front_end(&f);
}
