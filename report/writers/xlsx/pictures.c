/* Pictures of the first sheet: the step as a bar, the roofline, marks in cells. */
#include "report/base/elementary.h"
#include "report/base/ui.h"
#include "report/front/front.h"
#include "report/writers/xlsx/xlsx.h"

/* --- the roofline ---------------------------------------------------------------------------- */

#define CHART_ROWS   24
#define CHART_PIXELS 760
#define POINTS_MAX   24
#define LABELS       6    /* number of the largest operations, which have labels */
#define LEAST_SHARE  0.5  /* percent of the GPU time: smaller operations have no circle */
#define MARKER_MAX   30.0 /* diameter in points for all GPU time */
#define MARKER_MIN   5.0

struct points {
	const struct ws_xlsx_sheet *s;
	int level, name, class, dtype, intensity, tflops, share;
	size_t row[POINTS_MAX]; /* longest first */
	size_t n;
	double min_intensity, max_intensity; /* FLOP/byte */
};

static const struct ws_cell *cell(const struct points *p, size_t row, int column)
{
	return &ws_table_cells(p->s->table, row)[column];
}

static double number(const struct points *p, size_t row, int column)
{
	return ws_cell_number(cell(p, row, column));
}

/* A line between two points; its cells are to the right of the table. */
static void add_line(struct ws_xlsx *x, const struct points *p, lxw_chart *chart, uint32_t row,
                     const char *name, const double at[4])
{
	const lxw_col_t col = (lxw_col_t)(p->s->view.n + 2);
	lxw_chart_line line = {.color = 0x404040, .width = 1.5};
	lxw_chart_series *series = ws__xlsx_series(chart);

	for (uint32_t i = 0; i < 2; i++) {
		ws__xlsx_text(x, p->s->sheet, row + i, col, name, x->styles[WS_XLSX_SOURCE]);
		for (uint16_t k = 0; k < 2; k++)
			ws__xlsx_try(x,
			             worksheet_write_number(p->s->sheet, row + i,
			                                    (lxw_col_t)(col + 1 + k), at[2 * i + k],
			                                    x->styles[WS_XLSX_SOURCE]));
	}
	chart_series_set_name(series, ws__xlsx_clean(x, name, strlen(name)));
	chart_series_set_categories(series, p->s->name, row, (lxw_col_t)(col + 1), row + 1,
	                            (lxw_col_t)(col + 1));
	chart_series_set_values(series, p->s->name, row, (lxw_col_t)(col + 2), row + 1,
	                        (lxw_col_t)(col + 2));
	chart_series_set_line(series, &line);
	chart_series_set_marker_type(series, LXW_CHART_MARKER_NONE);
}

static void style_axis(lxw_chart_axis *axis, const char *name)
{
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_line grid = {.color = 0xD9D9D9, .width = 0.75};

	chart_axis_set_name(axis, name);
	chart_axis_set_name_font(axis, &font);
	chart_axis_set_num_font(axis, &font);
	chart_axis_set_num_format(axis, "#,##0.####");
	chart_axis_set_log_base(axis, 10);
	chart_axis_major_gridlines_set_visible(axis, LXW_TRUE);
	chart_axis_major_gridlines_set_line(axis, &grid);
	chart_axis_set_label_position(axis, LXW_CHART_AXIS_LABEL_POSITION_LOW);
}

double ws__xlsx_add_roofline(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t *row)
{
	lxw_chart_font font = {.size = 12, .bold = LXW_TRUE, .color = 0x1F3864};
	const struct ws_table_def *def = s->table->def;
	struct points p = {.s = s,
	                   .level = ws_table_column_index(def, "level"),
	                   .name = ws_table_column_index(def, "name"),
	                   .class = ws_table_column_index(def, "class"),
	                   .dtype = ws_table_column_index(def, "dtype"),
	                   .intensity = ws_table_column_index(def, "intensity"),
	                   .tflops = ws_table_column_index(def, "tflops"),
	                   .share = ws_table_column_index(def, "share")};

	if (ws__xlsx_column(s, p.intensity) < 0 || ws__xlsx_column(s, p.tflops) < 0)
		return 0;
	/* Operations; or classes if no operation is known. A logarithmic axis has no 0. */
	for (int classes = 0; classes < 2 && !p.n; classes++)
		for (size_t k = 0; k < p.s->rows && p.n < POINTS_MAX; k++)
			if (ws_cell_is(cell(&p, k, p.level), "class") == classes &&
			    number(&p, k, p.intensity) > 0 && number(&p, k, p.tflops) > 0 &&
			    number(&p, k, p.share) >= LEAST_SHARE)
				p.row[p.n++] = k;
	p.min_intensity = INFINITY;
	for (size_t i = 0; i < p.n; i++) {
		p.min_intensity = fmin(p.min_intensity, number(&p, p.row[i], p.intensity));
		p.max_intensity = fmax(p.max_intensity, number(&p, p.row[i], p.intensity));
	}
	if (!p.n)
		return 0;
	lxw_chart *chart = ws__xlsx_chart(x, LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS);

	/* The roofs: the slope of the memory rate, and each peak as a horizontal line from where
	 * the memory is fast enough. */
	const struct ws_page *page = x->report->page;
	const double left = p.min_intensity / 3, right = p.max_intensity * 3;
	uint32_t line_row = WS_XLSX_ROW_DATA;
	double bytes = 0, highest = 0;
	const char *memory = "";
	size_t roofs = 0;

	for (size_t i = 0; page && i < page->nroofs; i++) {
		highest = fmax(highest, page->roof[i].flops_per_s);
		if (page->roof[i].bytes_per_s > bytes) {
			bytes = page->roof[i].bytes_per_s;
			memory = page->roof[i].name;
		}
	}
	for (size_t i = 0; page && i < page->nroofs; i++) {
		const double peak = page->roof[i].flops_per_s / 1e12;
		const double ridge = bytes > 0 ? page->roof[i].flops_per_s / bytes : left;

		if (peak <= 0)
			continue;
		add_line(x, &p, chart, line_row, page->roof[i].name,
		         (const double[]){ridge, peak, fmax(right, 3 * ridge), peak});
		line_row += 2;
		roofs++;
	}
	if (bytes > 0) {
		const double end = highest > 0 ? highest / bytes : right;

		add_line(x, &p, chart, line_row, memory,
		         (const double[]){left, left * bytes / 1e12, end, end * bytes / 1e12});
		roofs++;
	}
	if (roofs)
		ws__xlsx_text(x, p.s->sheet, WS_XLSX_ROW_HEADER, (uint16_t)(p.s->view.n + 2),
		              "Roofs of the chart: FLOP/byte, TFLOP/s", x->styles[WS_XLSX_SOURCE]);
	for (size_t i = 0; i < p.n; i++) {
		const size_t k = p.row[i];
		const struct ws_cell *name = cell(&p, k, p.name), *dtype = cell(&p, k, p.dtype);
		const struct ws_cell *class = cell(&p, k, p.class);
		const lxw_row_t at = (lxw_row_t)(WS_XLSX_ROW_DATA + k);
		const lxw_col_t to_right = (lxw_col_t)ws__xlsx_column(p.s, p.intensity);
		const lxw_col_t up = (lxw_col_t)ws__xlsx_column(p.s, p.tflops);
		/* a share over 100 % is an error of its table, and does not enlarge the circle */
		const double size = MARKER_MAX * sqrt(fmin(number(&p, k, p.share), 100) / 100);
		lxw_chart_fill fill = {.transparency = 25};
		lxw_chart_line line = {.color = LXW_COLOR_WHITE, .width = 0.75};
		lxw_chart_font label_font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};
		lxw_chart_series *series = ws__xlsx_series(chart);
		char label[64];

		if (class->type != WS_CELL_TEXT)
			class = name;
		fill.color = ws__xlsx_class_colour(class);
		snprintf(label, sizeof(label), "%.*s %.*s", WS_CELL_SHOWN(name),
		         WS_CELL_SHOWN(dtype));
		chart_series_set_name(series, ws__xlsx_clean(x, label, strlen(label)));
		chart_series_set_categories(series, p.s->name, at, to_right, at, to_right);
		chart_series_set_values(series, p.s->name, at, up, at, up);
		chart_series_set_marker_type(series, LXW_CHART_MARKER_CIRCLE);
		chart_series_set_marker_size(series, (uint8_t)fmax(size, MARKER_MIN));
		chart_series_set_marker_fill(series, &fill);
		chart_series_set_marker_line(series, &line);
		if (i >= LABELS)
			continue;
		chart_series_set_labels(series);
		ws__xlsx_try(x, chart_series_set_labels_custom(
		                        series,
		                        (lxw_chart_data_label *[]){
		                                &(lxw_chart_data_label){
		                                        .value = (char *)(uintptr_t)ws__xlsx_clean(
		                                                x, label, strlen(label)),
		                                        .font = &label_font},
		                                NULL}));
	}
	chart_title_set_name(chart, roofs ? "Roofline: TFLOP/s attained, under the device's roofs; "
	                                    "area is kernel time"
	                                  : "Roofline: TFLOP/s attained; area is kernel time");
	chart_title_set_name_font(chart, &font);
	style_axis(chart->x_axis, "FLOP/byte");
	style_axis(chart->y_axis, "TFLOP/s");
	chart_legend_set_position(chart, LXW_CHART_LEGEND_RIGHT);
	ws__xlsx_place_chart(x, s->sheet, *row, chart, CHART_PIXELS, CHART_ROWS,
	                     "Scatter chart: TFLOP/s over FLOP/byte of each operation, and the "
	                     "roofs of the device as lines");
	*row += CHART_ROWS + 1;
	return CHART_PIXELS;
}

/* --- pictures -------------------------------------------------------------------------------- */

#define BAR_ROWS      9
#define NAMED_LEAST   1.0 /* percent: less is one of the others */
#define ICICLE_LEVELS 8
#define LEVELS_LEAST  5     /* a chart of less is as high: LibreOffice breaks names by its height */
#define SLOTS_MAX     48    /* boxes and gaps of a level */
#define BOX_LEAST     0.006 /* of the GPU time: less is no box */
#define LABEL_MOST    32    /* letters of a name */
#define LABEL_LEAST   0.07  /* of the width: less has no room for a name */

static lxw_chart *new_chart(struct ws_xlsx *x, uint8_t type, const char *title)
{
	lxw_chart *chart = ws__xlsx_chart(x, type);
	lxw_chart_font font = {.size = 10, .bold = LXW_EXPLICIT_FALSE, .color = 0x595959};

	chart_title_set_name(chart, title);
	chart_title_set_name_font(chart, &font);
	chart_axis_major_gridlines_set_visible(chart->x_axis, LXW_FALSE);
	chart_axis_major_gridlines_set_visible(chart->y_axis, LXW_FALSE);
	return chart;
}

/* --- the step ------------------------------------------------------------------------------- */

struct bar {
	struct ws_xlsx *x;
	const struct ws_xlsx_sheet *s;
	lxw_chart *chart;
	struct ws_shown_column shown;
	uint32_t row; /* of the next part's cells */
};

static void add_part(struct bar *b, const char *name, double ns, double percent, lxw_color_t colour)
{
	lxw_chart_fill fill = {.color = colour};
	lxw_chart_line line = {.color = LXW_COLOR_WHITE, .width = 0.5};
	lxw_chart_series *series = ws__xlsx_series(b->chart);
	const lxw_col_t col = FRONT_DATA + 1;
	struct ws_cell cell;

	ws_cell_set_real(&cell, ns);
	ws__xlsx_text(b->x, b->s->sheet, b->row, FRONT_DATA, name, b->x->styles[WS_XLSX_SOURCE]);
	ws__xlsx_cell(b->x, b->s->sheet, b->row, col, &cell, &b->shown, WS_XLSX_CELL);
	chart_series_set_name(series, ws__xlsx_format(b->x, "%s %s", name,
	                                              ws_say_percent(&b->x->arena, percent)));
	chart_series_set_values(series, b->s->name, b->row, col, b->row, col);
	chart_series_set_fill(series, &fill);
	chart_series_set_line(series, &line);
	b->row++;
}

uint32_t ws__xlsx_add_bar(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	const struct ws_page *page = x->report->page;
	struct bar b = {.x = x,
	                .s = s,
	                .chart = new_chart(x, LXW_CHART_BAR_STACKED,
	                                   "Time by class of work, then idle time by cause"),
	                .row = row + 1};

	ws_front_times(page->step_ns, &b.shown);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA, "Cells of the bar", x->styles[WS_XLSX_SOURCE]);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA + 1, b.shown.title, x->styles[WS_XLSX_SOURCE]);
	/* Work, then idle time. Items too small for a label are merged into one part of each. */
	for (int idle = 0; idle < 2; idle++) {
		double ns = 0, percent = 0;

		for (size_t i = 0; i < page->nsegments; i++) {
			const struct ws_page_segment *part = &page->segment[i];
			const double time = ws_page_segment_ns(page, part);

			if (part->is_idle != idle)
				continue;
			if (part->percent >= NAMED_LEAST) {
				add_part(&b, part->name, time, part->percent,
				         ws_page_colour_def(part->colour).light);
				continue;
			}
			ns += time;
			percent += part->percent;
		}
		if (ns > 0)
			add_part(&b, idle ? "other idle time" : "other work", ns, percent,
			         idle ? 0xD9CFC4 : 0x6B7280);
	}
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};

	chart_set_series_gap(b.chart, 15);
	chart_axis_set_max(b.chart->x_axis, page->step_ns / ws_power_of_ten(b.shown.exponent));
	chart_axis_set_min(b.chart->x_axis, 0);
	chart_axis_set_name(b.chart->x_axis, ws__xlsx_format(b.x, "time (%s)", b.shown.unit));
	chart_axis_set_name_font(b.chart->x_axis, &font);
	chart_axis_set_num_font(b.chart->x_axis, &font);
	chart_axis_set_num_format(b.chart->x_axis, "#,##0.##");
	chart_axis_set_label_position(b.chart->y_axis, LXW_CHART_AXIS_LABEL_POSITION_NONE);
	chart_legend_set_position(b.chart, LXW_CHART_LEGEND_BOTTOM);
	chart_legend_set_font(b.chart, &font);
	ws__xlsx_place_chart(x, s->sheet, row, b.chart, WS_XLSX_PAGE_PIXELS, BAR_ROWS,
	                     "Stacked bar: time of work by class, then idle time by cause");
	return row + BAR_ROWS;
}

/* --- each step ------------------------------------------------------------------------------- */

#define STRIP_ROWS 8
#define STRIP_MOST 200 /* bars; of more steps the longest of some neighbours each */

/* Its cells lie in two rows beside the page. */
uint32_t ws__xlsx_add_steps(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	const struct ws_page *page = x->report->page;
	const size_t each = (page->nsteps + STRIP_MOST - 1) / STRIP_MOST;
	lxw_chart_fill fill[2] = {{.color = ws_page_shade(0).light},
	                          {.color = ws_page_colour_def(WS_PAGE_RED).light}};
	lxw_chart_point point[2] = {{.fill = &fill[0]}, {.fill = &fill[1]}};
	lxw_chart_point *points[STRIP_MOST + 1] = {NULL};
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	const lxw_col_t first = FRONT_DATA + 1;
	struct ws_shown_column shown;
	lxw_col_t n = 0;

	if (!page->nsteps)
		return row;
	ws_front_times((double)page->longest_step_ns, &shown);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA, "Cells of the steps",
	              x->styles[WS_XLSX_SOURCE]);
	ws__xlsx_text(x, s->sheet, row + 1, FRONT_DATA, shown.title, x->styles[WS_XLSX_SOURCE]);
	for (size_t i = 0; i < page->nsteps; i += each) {
		const struct ws_page_step *most = &page->step[i];
		struct ws_cell cell;

		for (size_t k = i; k < i + each && k < page->nsteps; k++)
			most = page->step[k].ns > most->ns ? &page->step[k] : most;
		ws__xlsx_text(x, s->sheet, row, first + n,
		              ws__xlsx_format(x, "%lu", (unsigned long)most->number),
		              x->styles[WS_XLSX_SOURCE]);
		ws_cell_set_real(&cell, (double)most->ns);
		ws__xlsx_cell(x, s->sheet, row + 1, first + n, &cell, &shown, WS_XLSX_CELL);
		points[n++] = &point[most->is_outlier];
	}
	lxw_chart *chart =
	        new_chart(x, LXW_CHART_COLUMN, "Measured steps; red: far from the others");
	lxw_chart_series *series = ws__xlsx_series(chart);
	chart_series_set_categories(series, s->name, row, first, row, first + n - 1);
	chart_series_set_values(series, s->name, row + 1, first, row + 1, first + n - 1);
	chart_series_set_points(series, points);
	chart_set_series_gap(chart, 20);
	chart_axis_set_min(chart->y_axis, 0);
	chart_axis_set_name(chart->y_axis, ws__xlsx_format(x, "time (%s)", shown.unit));
	chart_axis_set_name_font(chart->x_axis, &font);
	chart_axis_set_name_font(chart->y_axis, &font);
	chart_axis_set_num_font(chart->x_axis, &font);
	chart_axis_set_num_font(chart->y_axis, &font);
	chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
	ws__xlsx_place_chart(x, s->sheet, row, chart, WS_XLSX_PAGE_PIXELS, STRIP_ROWS,
	                     "Column chart: time of each measured step");
	return row + STRIP_ROWS;
}

/* --- configurations of a sweep, runs of an A/A test, ranks ------------------------------------ */

#define EACH_MOST      40 /* bars of a chart */
#define EACH_ROWS_MORE 5  /* rows of a chart for its title and axis */

uint32_t ws__xlsx_add_rows(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	const struct ws_page *page = x->report->page;
	const struct ws_page_row_part *parts[WS_FRONT_PARTS];
	const size_t n = page->nrows < EACH_MOST ? page->nrows : EACH_MOST;
	const size_t nparts = ws_front_parts(page, parts);

	for (size_t begin = 0, end; begin < n; begin = end) {
		for (end = begin + 1;
		     end < n && !strcmp(page->row[end].group, page->row[begin].group);)
			end++;

		/* rows [begin, end) have one axis; their cells stand beside the page */
		const uint32_t nbars = (uint32_t)(end - begin),
		               height = nbars + nbars / 2 + EACH_ROWS_MORE;
		const char *group = page->row[begin].group;
		lxw_chart *chart = new_chart(x, LXW_CHART_BAR_STACKED,
		                             ws__xlsx_format(x, "%s%s%s", group, *group ? ": " : "",
		                                             page->rows_what));
		lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
		struct ws_shown_column shown;
		double most_ns = 0, high_ns = 0;

		for (size_t i = begin; i < end; i++) {
			most_ns = fmax(most_ns, page->row[i].ns);
			high_ns = fmax(high_ns, page->row[i].high_ns);
		}
		ws_front_times(most_ns, &shown);
		ws__xlsx_text(x, s->sheet, row, FRONT_DATA, shown.title, x->styles[WS_XLSX_SOURCE]);
		for (size_t p = 0; p < nparts; p++) {
			const lxw_col_t col = (lxw_col_t)(FRONT_DATA + 1 + p);
			lxw_chart_fill fill = {.color = parts[p]->paint.light};
			lxw_chart_line line = {.color = LXW_COLOR_WHITE, .width = 0.5};
			lxw_chart_series *series = ws__xlsx_series(chart);

			ws__xlsx_text(x, s->sheet, row, col, parts[p]->name,
			              x->styles[WS_XLSX_SOURCE]);
			chart_series_set_name(series, ws__xlsx_format(x, "%s", parts[p]->name));
			chart_series_set_categories(series, s->name, row + 1, FRONT_DATA,
			                            row + nbars, FRONT_DATA);
			chart_series_set_values(series, s->name, row + 1, col, row + nbars, col);
			chart_series_set_fill(series, &fill);
			chart_series_set_line(series, &line);
		}
		for (size_t i = begin; i < end; i++) {
			const struct ws_page_row *of = &page->row[i];
			const uint32_t at = row + 1 + (uint32_t)(i - begin);

			ws__xlsx_text(x, s->sheet, at, FRONT_DATA,
			              ws__xlsx_format(x, "%s: %s", of->name, of->words),
			              x->styles[WS_XLSX_SOURCE]);
			for (size_t k = 0; k < of->nparts; k++) {
				const size_t p = ws_front_part(parts, nparts, of->part[k].name);
				struct ws_cell cell;

				ws_cell_set_real(&cell, of->part[k].ns);
				if (p < nparts)
					ws__xlsx_cell(x, s->sheet, at,
					              (uint16_t)(FRONT_DATA + 1 + p), &cell, &shown,
					              WS_XLSX_CELL);
			}
		}

		/* Error bars of the rows. All points of a series have the same error in
		 * libxlsxwriter, so each end of a bar is a series whose only point, of length 0,
		 * ends the bars of its row. Their cells stand from `col` on. */
		const uint32_t first = row + 1, last = row + nbars;
		lxw_col_t col = (lxw_col_t)(FRONT_DATA + 1 + nparts);
		lxw_chart_line line = {.color = 0x595959, .width = 1};

		for (size_t i = begin; i < end; i++) {
			const struct ws_page_row *of = &page->row[i];
			const double error_ns[] = {of->ns - of->low_ns, of->high_ns - of->ns};

			for (int is_up = 0; is_up < 2; is_up++) {
				if (!(error_ns[is_up] > 0))
					continue;
				lxw_chart_series *series = ws__xlsx_series(chart);
				ws__xlsx_try(x, worksheet_write_number(
				                        s->sheet, first + (uint32_t)(i - begin),
				                        col, 0, x->styles[WS_XLSX_SOURCE]));
				chart_series_set_categories(series, s->name, first, FRONT_DATA,
				                            last, FRONT_DATA);
				chart_series_set_values(series, s->name, first, col, last, col);
				/* in a bar chart the library calls the values x */
				chart_series_set_error_bars(
				        series->x_error_bars, LXW_CHART_ERROR_BAR_TYPE_FIXED,
				        error_ns[is_up] / ws_power_of_ten(shown.exponent));
				chart_series_set_error_bars_direction(
				        series->x_error_bars,
				        is_up ? LXW_CHART_ERROR_BAR_DIR_PLUS
				              : LXW_CHART_ERROR_BAR_DIR_MINUS);
				chart_series_set_error_bars_line(series->x_error_bars, &line);
				col++;
			}
		}
		if (high_ns > most_ns)
			chart_axis_set_max(chart->x_axis,
			                   high_ns / ws_power_of_ten(shown.exponent));
		chart_set_series_gap(chart, 35);
		chart_axis_set_min(chart->x_axis, 0);
		chart_axis_set_name(chart->x_axis, ws__xlsx_format(x, "time (%s)", shown.unit));
		chart_axis_set_name_font(chart->x_axis, &font);
		chart_axis_set_num_font(chart->x_axis, &font);
		chart_axis_set_num_font(chart->y_axis, &font);
		chart_axis_set_num_format(chart->x_axis, "#,##0.##");
		chart_axis_set_interval_unit(chart->y_axis, 1); /* each has its name */
		chart_axis_set_reverse(
		        chart->y_axis); /* the first on top, the numbers still below */
		chart_axis_set_crossing_max(chart->y_axis);
		chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
		ws__xlsx_place_chart(x, s->sheet, row, chart, WS_XLSX_PAGE_PIXELS, height,
		                     "Stacked bar chart: a bar for each, its time by parts");
		row += height;
	}
	if (n && nparts > 1) {
		/* "■ forward  ■ backward": the colours of all these charts. A legend of the charts
		 * would have the error bars, too. */
		lxw_rich_string_tuple of[2 * WS_FRONT_PARTS], *list[2 * WS_FRONT_PARTS + 1];
		lxw_format *plain = x->styles[WS_XLSX_SOURCE];

		for (size_t i = 0; i < nparts; i++) {
			lxw_format *square = workbook_add_format(x->book);

			format_set_font_size(square, 9);
			format_set_font_color(square, parts[i]->paint.light);
			of[2 * i] = (lxw_rich_string_tuple){square, (char *)(uintptr_t) "■ "};
			of[2 * i + 1] = (lxw_rich_string_tuple){
			        plain,
			        (char *)(uintptr_t)ws__xlsx_format(x, "%s   ", parts[i]->name)};
			list[2 * i] = &of[2 * i];
			list[2 * i + 1] = &of[2 * i + 1];
		}
		list[2 * nparts] = NULL;
		ws__xlsx_try(x, worksheet_write_rich_string(s->sheet, row++, 0, list, plain));
	}
	return row;
}

/* --- the model ------------------------------------------------------------------------------- */

/* A box, or a gap before one. */
struct slot {
	double width;
	const struct ws_page_node *node; /* NULL: a gap */
};

struct icicle {
	struct slot slot[ICICLE_LEVELS][SLOTS_MAX];
	size_t n[ICICLE_LEVELS];
	double end[ICICLE_LEVELS]; /* end of the last box of a level */
	size_t levels;
};

/* Colour of a box: in a comparison by its change, otherwise ranges by depth and others by class. */
static struct ws_page_colour_def paint_of(const struct ws_xlsx_icicle *of,
                                          const struct ws_page_node *node)
{
	static const struct ws_page_colour_def changes[] = {
	        [WS_CHANGE_NONE] = {0x8F969F, 0x8F969F, 0x10212B},
	        [WS_CHANGE_SAVES] = {0x22744A, 0x22744A, 0xFFFFFF},
	        [WS_CHANGE_COSTS] = {0xB13F2D, 0xB13F2D, 0xFFFFFF},
	        [WS_CHANGE_ALONE] = {0xE8C37A, 0xE8C37A, 0x10212B},
	};

	if (!node)
		return ws_page_colour_def(WS_PAGE_IDLE);
	if (!of->other_page)
		return node->is_range ? ws_page_shade(node->depth)
		                      : ws_page_colour_def(node->colour);
	const enum ws_change_colour change =
	        ws_change_colour(ws_pages_ratio(of->page, of->other_page,
	                                        (size_t)(node - of->page->node), of->is_b));

	return changes[of->is_unsure && change != WS_CHANGE_ALONE ? WS_CHANGE_NONE : change];
}

/* LibreOffice breaks names into lines: one of more than three is cut in its middle. */
static const char *short_label(struct ws_xlsx *x, const char *label)
{
	const char *clean = ws__xlsx_clean(x, label, strlen(label)), *end;
	size_t begin = LABEL_MOST / 2 - 3;

	if (ws_display_width(clean, strlen(clean)) <= LABEL_MOST)
		return ws__xlsx_format(x, "%s", clean);
	end = clean + strlen(clean) - LABEL_MOST / 2 - 2;
	while ((clean[begin] & 0xc0) == 0x80) /* behind a whole character */
		begin--;
	while ((*end & 0xc0) == 0x80)
		end++;
	return ws__xlsx_format(x, "%.*s…%s", (int)begin, clean, end);
}

uint32_t ws__xlsx_add_icicle(struct ws_xlsx *x, lxw_worksheet *sheet, const char *sheet_name,
                             const struct ws_xlsx_icicle *of, uint32_t row)
{
	const struct ws_page *page = of->page;
	size_t slots = 0;

	struct icicle *icicle = ws_arena_array(&x->arena, 1, sizeof(*icicle));

	/* Boxes stand from left to right below their parents: where each begins. Parents come
	 * first.
	 */
	struct ws_arena arena = {0};
	size_t *depth;        /* column of a node's value */
	double *begin, *used; /* used: by the children of each */

	WS_NEW(&arena, depth, page->nnodes + 1);
	WS_NEW(&arena, begin, page->nnodes + 1);
	WS_NEW(&arena, used, page->nnodes + 1);
	for (size_t i = 0; i < page->nnodes; i++) {
		const struct ws_page_node *node = &page->node[i];
		const size_t up = node->parent == WS_PAGE_ROOT ? page->nnodes : node->parent;
		const double width = of->scale * (double)node->inclusive_ns / ws_page_gpu_ns(page);
		const size_t level = depth[up];

		depth[i] = level + !ws_page_passed(page, i);
		begin[i] = (up < page->nnodes ? begin[up] : 0) + used[up];
		used[up] += width;
		if (ws_page_passed(page, i) || width < BOX_LEAST || level >= ICICLE_LEVELS ||
		    icicle->n[level] + 2 > SLOTS_MAX)
			continue;
		/* boxes of a level come in this order where nodes are in that of the tree */
		if (begin[i] < icicle->end[level] - 1e-9)
			continue;
		if (begin[i] > icicle->end[level] + 1e-9)
			icicle->slot[level][icicle->n[level]++] =
			        (struct slot){begin[i] - icicle->end[level], NULL};
		icicle->slot[level][icicle->n[level]++] = (struct slot){width, node};
		icicle->end[level] = begin[i] + width;
		icicle->levels = level + 1 > icicle->levels ? level + 1 : icicle->levels;
	}
	ws_arena_free(&arena);
	for (size_t level = 0; level < icicle->levels; level++)
		slots = icicle->n[level] > slots ? icicle->n[level] : slots;
	if (!slots || (slots < 2 && !of->other_page))
		return row;
	lxw_chart *chart = new_chart(x, LXW_CHART_BAR_STACKED, of->title);
	unsigned rows = 4 + (icicle->levels < LEVELS_LEAST ? 2 * LEVELS_LEAST
	                                                   : 2 * (unsigned)icicle->levels);
	ws__xlsx_text(x, sheet, row, FRONT_DATA,
	              "Cells of the icicle: % of time, one row per level",
	              x->styles[WS_XLSX_SOURCE]);
	for (size_t nth = 0; nth < slots; nth++) {
		/* The nth slot of every level is a series: its boxes in their colours, its gaps
		 * unseen. */
		lxw_chart_fill fill[ICICLE_LEVELS];
		lxw_chart_line none = {.none = LXW_TRUE},
		               edge = {.color = LXW_COLOR_WHITE, .width = 0.75};
		lxw_chart_font fonts[ICICLE_LEVELS];
		lxw_chart_point point[ICICLE_LEVELS] = {{0}}, *points[ICICLE_LEVELS + 1];
		lxw_chart_data_label label[ICICLE_LEVELS] = {{0}}, *labels[ICICLE_LEVELS + 1];
		lxw_chart_series *series = ws__xlsx_series(chart);
		const lxw_col_t column = (lxw_col_t)(FRONT_DATA + nth);
		const uint32_t first = row + 1;

		for (size_t level = 0; level < icicle->levels; level++) {
			const struct slot *slot =
			        nth < icicle->n[level] ? &icicle->slot[level][nth] : NULL;
			const struct ws_page_node *node = slot ? slot->node : NULL;
			const struct ws_page_colour_def colour = paint_of(of, node);

			if (slot)
				ws__xlsx_try(x,
				             worksheet_write_number(sheet, first + (uint32_t)level,
				                                    column, 100 * slot->width,
				                                    x->styles[WS_XLSX_SOURCE]));
			fill[level] = (lxw_chart_fill){.color = colour.light, .none = !node};
			fonts[level] = (lxw_chart_font){.color = colour.ink, .size = 8};
			point[level].fill = &fill[level];
			point[level].line = node ? &edge : &none;
			points[level] = &point[level];
			label[level].hide = !node || slot->width < LABEL_LEAST;
			if (!label[level].hide) {
				label[level].value = (char *)(uintptr_t)short_label(x, node->label);
				label[level].font = &fonts[level];
			}
			labels[level] = &label[level];
		}
		points[icicle->levels] = NULL;
		labels[icicle->levels] = NULL;
		chart_series_set_values(series, sheet_name, first, column,
		                        first + (uint32_t)icicle->levels - 1, column);
		chart_series_set_points(series, points);
		chart_series_set_labels(series);
		chart_series_set_labels_position(series, LXW_CHART_LABEL_POSITION_CENTER);
		ws__xlsx_try(x, chart_series_set_labels_custom(series, labels));
	}
	chart_axis_set_name(chart->x_axis,
	                    ws__xlsx_format(x, "%% of %s time%s", ws_page_work(of->page),
	                                    of->other_page ? " of the longer side" : ""));
	lxw_chart_font font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};

	chart_set_series_gap(chart, 0);
	chart_axis_set_max(chart->x_axis, 100);
	chart_axis_set_min(chart->x_axis, 0);
	chart_axis_set_name_font(chart->x_axis, &font);
	chart_axis_set_num_font(chart->x_axis, &font);
	chart_axis_set_reverse(chart->y_axis); /* the outermost on top, the numbers still below */
	chart_axis_set_crossing_max(chart->y_axis);
	chart_axis_set_label_position(chart->y_axis, LXW_CHART_AXIS_LABEL_POSITION_NONE);
	chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
	ws__xlsx_place_chart(
	        x, sheet, row, chart, WS_XLSX_PAGE_PIXELS, rows,
	        "Icicle: parts of the model, each below its parent, as wide as its time");
	return row + rows;
}
