/* The first sheet of a comparison, or of ranks: the answers, why, and what changed. */
#include <math.h>
#include <stdbool.h>

#include "report/front/front.h"
#include "report/base/say.h"
#include "report/writers/xlsx/front.h"

#define WATERFALL_ROWS 15
#define GRADE_WIDTH    19.0 /* "LIKELY FASTER" */

/* --- the way from A to B -----------------------------------------------------------------------
 */

/* Series of the chart, a column of cells each: what a bar stands on, the bars, and what holds the
 * number on top. */
enum { BELOW, WHOLE, SAVES, COSTS, ON_TOP, SERIES };

struct waterfall {
	struct ws_xlsx *x;
	const struct ws_xlsx_sheet *s;
	const struct ws_page *page;
	struct ws_shown_column shown;
	double least_ns, most_ns;
	uint32_t row; /* of the heads of its cells */
};

/* Of the times of the whole: the axis begins at 0 unless the bars would be too small. */
static void find_axis(struct waterfall *w)
{
	double low = INFINITY;

	for (size_t i = 0; i < w->page->nchange_bars; i++) {
		const struct ws_change_bar *bar = &w->page->change_bar[i];

		w->most_ns = fmax(w->most_ns, fmax(bar->from_ns, bar->to_ns));
		low = fmin(low, bar->is_whole ? bar->to_ns : fmin(bar->from_ns, bar->to_ns));
	}
	w->least_ns = low > w->most_ns / 2 ? fmax(0, low - 0.6 * (w->most_ns - low)) : 0;
}

static void put_time(const struct waterfall *w, uint32_t row, int series, double ns)
{
	struct ws_cell cell;

	ws_cell_set_real(&cell, ns);
	ws__xlsx_cell(w->x, w->s->sheet, row, (uint16_t)(FRONT_DATA + 1 + series), &cell, &w->shown,
	              WS_XLSX_CELL);
}

static void put_bar(const struct waterfall *w, size_t i)
{
	const struct ws_change_bar *bar = &w->page->change_bar[i];
	const double change = bar->to_ns - bar->from_ns;
	const uint32_t row = w->row + 1 + (uint32_t)i;

	ws__xlsx_text(w->x, w->s->sheet, row, FRONT_DATA, bar->name, w->x->styles[WS_XLSX_SOURCE]);
	put_time(w, row, BELOW, bar->is_whole ? 0 : fmin(bar->from_ns, bar->to_ns));
	put_time(w, row, WHOLE, bar->is_whole ? bar->to_ns : 0);
	put_time(w, row, SAVES, bar->is_whole ? 0 : fmax(0, -change));
	put_time(w, row, COSTS, bar->is_whole ? 0 : fmax(0, change));
	put_time(w, row, ON_TOP, 0.1 * (w->most_ns - w->least_ns));
}

/* "383 ms", "−26.9 ms" above each bar. */
static void label_bars(const struct waterfall *w, lxw_chart_series *series)
{
	const size_t n = w->page->nchange_bars;
	lxw_chart_data_label *label, **labels;
	struct ws_arena *arena = &w->x->arena;

	WS_NEW(arena, label, n);
	WS_NEW(arena, labels, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct ws_change_bar *bar = &w->page->change_bar[i];
		const double ns = bar->is_whole ? bar->to_ns : bar->to_ns - bar->from_ns;

		label[i].value = (char *)(uintptr_t)ws__xlsx_format(w->x, "%s%s",
		                                                    bar->is_whole ? ""
		                                                    : ns < 0      ? "−"
		                                                                  : "+",
		                                                    ws_say_time(arena, fabs(ns)));
		labels[i] = &label[i];
	}
	chart_series_set_labels(series);
	chart_series_set_labels_position(series, LXW_CHART_LABEL_POSITION_INSIDE_BASE);
	ws__xlsx_try(w->x, chart_series_set_labels_custom(series, labels));
}

static void add_series(const struct waterfall *w, lxw_chart *chart, int which)
{
	static const lxw_color_t colours[SERIES] = {
	        [WHOLE] = 0x233A5E, [SAVES] = 0x2B8A57, [COSTS] = 0xC8503E};
	const uint32_t last = w->row + (uint32_t)w->page->nchange_bars;
	const lxw_col_t col = (lxw_col_t)(FRONT_DATA + 1 + which);
	lxw_chart_series *series = ws__xlsx_series(chart);
	lxw_chart_fill fill = {.color = colours[which], .none = which == BELOW || which == ON_TOP};
	lxw_chart_line none = {.none = LXW_TRUE};

	chart_series_set_categories(series, w->s->name, w->row + 1, FRONT_DATA, last, FRONT_DATA);
	chart_series_set_values(series, w->s->name, w->row + 1, col, last, col);
	chart_series_set_fill(series, &fill);
	chart_series_set_line(series, &none);
	if (which == ON_TOP)
		label_bars(w, series);
}

static void style(const struct waterfall *w, lxw_chart *chart)
{
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_font title = {.size = 10, .bold = LXW_EXPLICIT_FALSE, .color = 0x595959};
	const double unit = pow(10, w->shown.exponent);
	const double span = w->most_ns - w->least_ns;

	chart_title_set_name(chart, w->least_ns > 0
	                                    ? "Green saves, red costs; the bars add up; the "
	                                      "axis does not begin at 0"
	                                    : "Green saves, red costs; the bars add up");
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

	find_axis(&w);
	ws_front_times(w.most_ns, &w.shown);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA, "Cells of the bars", x->styles[WS_XLSX_SOURCE]);
	for (int i = 0; i < SERIES; i++)
		ws__xlsx_text(x, s->sheet, row, (uint16_t)(FRONT_DATA + 1 + i),
		              ws__xlsx_format(x, "%s (%s)", heads[i], w.shown.unit),
		              x->styles[WS_XLSX_SOURCE]);
	for (size_t i = 0; i < w.page->nchange_bars; i++)
		put_bar(&w, i);
	for (int i = 0; i < SERIES; i++)
		add_series(&w, chart, i);
	style(&w, chart);
	ws__xlsx_place_chart(x, s->sheet, row, chart, WS_XLSX_PAGE_PIXELS, WATERFALL_ROWS,
	                     "Waterfall: from the time of A to that of B, a bar for each part");
	return row + (WATERFALL_ROWS > w.page->nchange_bars ? WATERFALL_ROWS
	                                                    : (uint32_t)w.page->nchange_bars + 1);
}

/* --- the sheet ---------------------------------------------------------------------------------
 */

/* The model of both sides, on one scale. */
static void add_icicles(struct ws_xlsx_front *f, const struct ws_page *page, const char *sheet_name)
{
	double ns[2], most;

	if (!page->side[0] || !page->side[1])
		return;
	for (int s = 0; s < 2; s++)
		ns[s] = (double)page->side[s]->gpu_ns / page->side[s]->samples;
	most = fmax(ns[0], ns[1]);
	if (!(ns[0] > 0) || !(ns[1] > 0))
		return;
	ws__xlsx_front_section(f, "Where in the model");
	for (int s = 0; s < 2; s++) {
		const struct ws_xlsx_icicle icicle = {
		        .page = page->side[s],
		        .other_page = page->side[1 - s],
		        .is_b = s == 1,
		        .scale = ns[s] / most,
		        .title = ws__xlsx_format(
		                f->x,
		                "Parts of the model, %s, %s: green is faster, red slower, "
		                "ochre on one side only",
		                page->side_title[s], ws_say_time(&f->x->arena, ns[s]))};

		f->row = ws__xlsx_add_icicle(f->x, f->sheet, sheet_name, &icicle, f->row);
	}
}

void ws__xlsx_write_answers(struct ws_xlsx *x, struct ws_xlsx_sheet *s)
{
	const struct ws_page *page = x->report->page;
	struct ws_xlsx_front f = {.x = x, .sheet = s->sheet};

	ws__xlsx_front_begin(&f, page->title, ws_front_source(&x->arena, page));
	ws__xlsx_try(x, worksheet_set_column(s->sheet, FRONT_LAST, FRONT_LAST, GRADE_WIDTH, NULL));
	ws__xlsx_front_headline(&f, page);
	ws__xlsx_front_links(&f, 0);
	if (page->nchange_bars) {
		if (page->nchange_bars > 2) { /* else nothing changed */
			ws__xlsx_front_section(&f, "Why the time changed");
			f.row = add_waterfall(x, s, f.row);
		}
		if (page->nchanges)
			ws__xlsx_front_table(&f, ws_front_changes(page));
		add_icicles(&f, page, s->name);
	} else {
		f.row = ws__xlsx_add_charts(x, s->sheet, f.row + 1);
	}
	ws__xlsx_front_end(&f);
}
