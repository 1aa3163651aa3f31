/*
 * The roofline as a scatter chart with logarithmic axes: for each class of work what it attains,
 * and above it, pale, what the device could at that many FLOPs a byte.
 */
#include "report/writers/xlsx/xlsx.h"

#include <stdbool.h>

#include "formats/base/xalloc.h"

#define CHART_ROWS   22
#define ROW_PIXELS   20
#define CHART_PIXELS 760

/* Okabe and Ito's palette; shapes tell points apart without colours, too. */
static const lxw_color_t colours[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                      0xE69F00, 0x56B4E9, 0x000000, 0x999999};
static const uint8_t shapes[] = {LXW_CHART_MARKER_CIRCLE, LXW_CHART_MARKER_SQUARE,
                                 LXW_CHART_MARKER_DIAMOND, LXW_CHART_MARKER_TRIANGLE};
#define NCOLOURS (sizeof(colours) / sizeof(*colours))
#define NSHAPES  (sizeof(shapes) / sizeof(*shapes))
/* Classes in the chart; the list has those with most time first. */
#define POINTS_MAX 12

struct points {
	const struct ws_xlsx_sheet *s;
	int level, name, dtype, intensity, tflops, attainable;
};

static const struct ws_cell *cell(const struct points *p, size_t row, int column)
{
	return &ws_table_cells(p->s->table, row)[column];
}

/* A logarithmic axis has no place for 0. */
static bool is_positive(const struct ws_cell *c)
{
	return (c->type == WS_CELL_REAL && c->r > 0) || (c->type == WS_CELL_INT && c->i > 0);
}

static bool is_class(const struct points *p, size_t row)
{
	return ws_cell_is(cell(p, row, p->level), "class");
}

/* Two thirds of the way to white. */
static lxw_color_t pale(lxw_color_t colour)
{
	lxw_color_t mixed = 0;

	for (int shift = 0; shift < 24; shift += 8)
		mixed |= (0xff - (0xff - (colour >> shift & 0xff)) / 3) << shift;
	return mixed;
}

static void add_point(struct ws_xlsx *x, const struct points *p, lxw_chart *chart, size_t row,
                      int column, size_t nth, int is_roof)
{
	lxw_chart_series *series = chart_add_series(chart, NULL, NULL);
	lxw_color_t colour = is_roof ? pale(colours[nth % NCOLOURS]) : colours[nth % NCOLOURS];
	lxw_chart_fill fill = {.color = colour};
	lxw_chart_line line = {.color = colours[nth % NCOLOURS], .width = 1};
	lxw_row_t at = (lxw_row_t)(ws__xlsx_data_row(p->s) + row);
	const struct ws_cell *name = cell(p, row, p->name), *dtype = cell(p, row, p->dtype);
	char label[64];

	if (!series)
		ws_out_of_memory(sizeof(*series));
	snprintf(label, sizeof(label), "%.*s %.*s",
	         name->type == WS_CELL_TEXT ? (int)name->text.len : 0,
	         name->type == WS_CELL_TEXT ? name->text.ptr : "",
	         dtype->type == WS_CELL_TEXT ? (int)dtype->text.len : 0,
	         dtype->type == WS_CELL_TEXT ? dtype->text.ptr : "");
	chart_series_set_name(series, ws__xlsx_clean(x, label, strlen(label)));
	chart_series_set_categories(series, p->s->name, at, (lxw_col_t)p->intensity, at,
	                            (lxw_col_t)p->intensity);
	chart_series_set_values(series, p->s->name, at, (lxw_col_t)column, at, (lxw_col_t)column);
	chart_series_set_marker_type(series, shapes[nth % NSHAPES]);
	chart_series_set_marker_size(series, 9);
	chart_series_set_marker_fill(series, &fill);
	chart_series_set_marker_line(series, &line);
}

static void style_axis(lxw_chart_axis *axis, const char *name)
{
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_line grid = {.color = 0xD9D9D9, .width = 0.75};

	chart_axis_set_name(axis, name);
	chart_axis_set_name_font(axis, &font);
	chart_axis_set_num_font(axis, &font);
	chart_axis_set_num_format(axis, "0.######");
	chart_axis_set_log_base(axis, 10);
	chart_axis_major_gridlines_set_visible(axis, LXW_TRUE);
	chart_axis_major_gridlines_set_line(axis, &grid);
	chart_axis_set_label_position(axis, LXW_CHART_AXIS_LABEL_POSITION_LOW);
}

static bool find_columns(struct points *p)
{
	const struct ws_table_def *def = p->s->table->def;

	p->level = ws_table_column_index(def, "level");
	p->name = ws_table_column_index(def, "name");
	p->dtype = ws_table_column_index(def, "dtype");
	p->intensity = ws_table_column_index(def, "intensity");
	p->tflops = ws_table_column_index(def, "tflops");
	p->attainable = ws_table_column_index(def, "attainable");
	return p->level >= 0 && p->name >= 0 && p->dtype >= 0 && p->intensity >= 0 &&
	       p->tflops >= 0 && p->attainable >= 0;
}

/* All that is attained first, so that the legend can leave out what could be. */
static size_t add_points(struct ws_xlsx *x, const struct points *p, lxw_chart *chart, size_t *roofs)
{
	size_t n = 0;

	*roofs = 0;
	for (int roof = 0; roof < 2; roof++) {
		size_t nth = 0;

		for (size_t row = 0; row < p->s->rows && nth < POINTS_MAX; row++) {
			if (!is_class(p, row) || !is_positive(cell(p, row, p->intensity)) ||
			    !is_positive(cell(p, row, p->tflops)))
				continue;
			if (!roof)
				add_point(x, p, chart, row, p->tflops, n++, 0);
			else if (is_positive(cell(p, row, p->attainable))) {
				add_point(x, p, chart, row, p->attainable, nth, 1);
				(*roofs)++;
			}
			nth++;
		}
	}
	return n;
}

static bool has_point(const struct points *p)
{
	for (size_t row = 0; row < p->s->rows; row++)
		if (is_class(p, row) && is_positive(cell(p, row, p->intensity)) &&
		    is_positive(cell(p, row, p->tflops)))
			return true;
	return false;
}

uint32_t ws__xlsx_add_roofline(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	char alt_text[] =
	        "Scatter chart: TFLOP/s over FLOP/byte of each class, and what the device "
	        "could";
	lxw_chart_font font = {.size = 12, .bold = LXW_TRUE, .color = 0x1F3864};
	lxw_chart_options options = {
	        .description = alt_text,
	        .x_scale = CHART_PIXELS / 480.0,
	        .y_scale = CHART_ROWS * ROW_PIXELS / 288.0,
	        .object_position = LXW_OBJECT_MOVE_DONT_SIZE,
	};
	int16_t unnamed[POINTS_MAX + 1];
	struct points p = {.s = s};
	size_t n, roofs;
	lxw_chart *chart;

	if (!find_columns(&p) || !has_point(&p))
		return row;
	chart = workbook_add_chart(x->book, LXW_CHART_SCATTER);
	if (!chart)
		ws_out_of_memory(sizeof(*chart));
	n = add_points(x, &p, chart, &roofs);
	for (size_t i = 0; i < roofs; i++)
		unnamed[i] = (int16_t)(n + i);
	unnamed[roofs] = -1;
	chart_title_set_name(chart, roofs ? "Roofline: attained and, in pale, attainable"
	                                  : "Roofline: attained");
	chart_title_set_name_font(chart, &font);
	style_axis(chart->x_axis, "FLOP/byte");
	style_axis(chart->y_axis, "TFLOP/s");
	chart_legend_set_position(chart, LXW_CHART_LEGEND_RIGHT);
	if (roofs)
		chart_legend_delete_series(chart, unnamed);
	ws__xlsx_try(x, worksheet_insert_chart_opt(s->sheet, row, 0, chart, &options));
	return row + CHART_ROWS + 1;
}
