/*
 * The roofline as a scatter chart with logarithmic axes: what each operation attains, as a circle
 * whose area is its kernel time, under the roofs of the device as lines.
 */
#include "report/writers/xlsx/xlsx.h"

#include <math.h>
#include <stdbool.h>

#define CHART_ROWS   24
#define CHART_PIXELS 760
#define POINTS_MAX   24
#define LABELS       6    /* the largest have their names beside them */
#define LEAST_SHARE  0.5  /* percent of the GPU time: less is no circle */
#define MARKER_MAX   30.0 /* points across, of all GPU time */
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

/* A logarithmic axis has no place for 0. */
static bool is_point(const struct points *p, size_t row, bool classes)
{
	return ws_cell_is(cell(p, row, p->level), "class") == classes &&
	       number(p, row, p->intensity) > 0 && number(p, row, p->tflops) > 0 &&
	       number(p, row, p->share) >= LEAST_SHARE;
}

/* Operations; classes where no operation is known. */
static void find_points(struct points *p)
{
	for (int classes = 0; classes < 2 && !p->n; classes++)
		for (size_t row = 0; row < p->s->rows && p->n < POINTS_MAX; row++)
			if (is_point(p, row, classes))
				p->row[p->n++] = row;
	p->min_intensity = INFINITY;
	for (size_t i = 0; i < p->n; i++) {
		p->min_intensity = fmin(p->min_intensity, number(p, p->row[i], p->intensity));
		p->max_intensity = fmax(p->max_intensity, number(p, p->row[i], p->intensity));
	}
}

static bool find_columns(struct points *p)
{
	const struct ws_table_def *def = p->s->table->def;

	p->level = ws_table_column_index(def, "level");
	p->name = ws_table_column_index(def, "name");
	p->class = ws_table_column_index(def, "class");
	p->dtype = ws_table_column_index(def, "dtype");
	p->intensity = ws_table_column_index(def, "intensity");
	p->tflops = ws_table_column_index(def, "tflops");
	p->share = ws_table_column_index(def, "share");
	return ws__xlsx_column(p->s, p->intensity) >= 0 && ws__xlsx_column(p->s, p->tflops) >= 0;
}

static void add_point(struct ws_xlsx *x, const struct points *p, lxw_chart *chart, size_t nth)
{
	const size_t row = p->row[nth];
	const struct ws_cell *name = cell(p, row, p->name), *dtype = cell(p, row, p->dtype);
	const struct ws_cell *class = cell(p, row, p->class);
	const lxw_row_t at = (lxw_row_t)(WS_XLSX_ROW_DATA + row);
	const lxw_col_t to_right = (lxw_col_t)ws__xlsx_column(p->s, p->intensity);
	const lxw_col_t up = (lxw_col_t)ws__xlsx_column(p->s, p->tflops);
	/* a share over all is an error of its table, and no larger circle */
	const double size = MARKER_MAX * sqrt(fmin(number(p, row, p->share), 100) / 100);
	lxw_chart_fill fill = {.transparency = 25};
	lxw_chart_line line = {.color = LXW_COLOR_WHITE, .width = 0.75};
	lxw_chart_font font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_series *series = ws__xlsx_series(chart);
	char label[64];

	if (class->type != WS_CELL_TEXT)
		class = name;
	fill.color = ws__xlsx_class_colour(class);
	snprintf(label, sizeof(label), "%.*s %.*s", WS_CELL_SHOWN(name), WS_CELL_SHOWN(dtype));
	chart_series_set_name(series, ws__xlsx_clean(x, label, strlen(label)));
	chart_series_set_categories(series, p->s->name, at, to_right, at, to_right);
	chart_series_set_values(series, p->s->name, at, up, at, up);
	chart_series_set_marker_type(series, LXW_CHART_MARKER_CIRCLE);
	chart_series_set_marker_size(series, (uint8_t)fmax(size, MARKER_MIN));
	chart_series_set_marker_fill(series, &fill);
	chart_series_set_marker_line(series, &line);
	if (nth >= LABELS)
		return;
	chart_series_set_labels(series);
	ws__xlsx_try(x, chart_series_set_labels_custom(
	                        series, (lxw_chart_data_label *[]){
	                                        &(lxw_chart_data_label){
	                                                .value = (char *)(uintptr_t)ws__xlsx_clean(
	                                                        x, label, strlen(label)),
	                                                .font = &font},
	                                        NULL}));
}

/* A line between two points, whose cells stand right of the table's. */
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

/* Each peak as a level from where the memory is fast enough on, and the slope of the memory before
 * it. Returns how many lines. */
static size_t add_roofs(struct ws_xlsx *x, const struct points *p, lxw_chart *chart)
{
	const struct ws_page *page = x->report->page;
	const double left = p->min_intensity / 3, right = p->max_intensity * 3;
	uint32_t row = WS_XLSX_ROW_DATA;
	double bytes = 0, highest = 0;
	const char *memory = "";
	size_t n = 0;

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
		add_line(x, p, chart, row, page->roof[i].name,
		         (const double[]){ridge, peak, fmax(right, 3 * ridge), peak});
		row += 2;
		n++;
	}
	if (bytes > 0) {
		const double end = highest > 0 ? highest / bytes : right;

		add_line(x, p, chart, row, memory,
		         (const double[]){left, left * bytes / 1e12, end, end * bytes / 1e12});
		n++;
	}
	if (n)
		ws__xlsx_text(x, p->s->sheet, WS_XLSX_ROW_HEADER, (uint16_t)(p->s->view.n + 2),
		              "Roofs of the chart: FLOP/byte, TFLOP/s", x->styles[WS_XLSX_SOURCE]);
	return n;
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
	struct points p = {.s = s};
	lxw_chart *chart;
	size_t roofs;

	if (!find_columns(&p))
		return 0;
	find_points(&p);
	if (!p.n)
		return 0;
	chart = ws__xlsx_chart(x, LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS);
	roofs = add_roofs(x, &p, chart);
	for (size_t i = 0; i < p.n; i++)
		add_point(x, &p, chart, i);
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
