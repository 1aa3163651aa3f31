/* Native charts on the first sheet, made of the cells of the other sheets. */
#include "report/out_xlsx.h"

#define ROW_PIXELS        20 /* the default height of a row */
#define CHART_PIXELS_WIDE 560

/* Distinguishable with every common colour blindness (Okabe and Ito's palette). */
static const lxw_color_t palette[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0x999999};

struct chart_def {
	const char *table; /* name of the table */
	const char *title;
	const char *alt_text; /* for those who do not see it */
	const char *category; /* title of the column that names the bars */
	const char *values[sizeof(palette) / sizeof(*palette)]; /* titles; several are stacked */
	const char *axis;
	const char *number_format; /* ",," divides by a million: ns are shown as ms */
	size_t max_rows;           /* of the table that are in the chart */
	unsigned height;           /* in rows of the sheet it lies on */
	uint8_t type;
};

static const struct chart_def charts[] = {
        {"classes",
         "GPU time by class of work",
         "Bar chart of sheet classes: GPU time of each class of work",
         "Class",
         {"GPU Time (ns)"},
         "GPU time (ms)",
         "#,##0.0,,",
         12,
         15,
         LXW_CHART_BAR},
        {"kernel-summary",
         "The ten kernels that cost most",
         "Bar chart of sheet kernel-summary: total GPU time of the first ten kernels",
         "Short Name",
         {"Total Time (ns)"},
         "total GPU time (ms)",
         "#,##0.0,,",
         10,
         18,
         LXW_CHART_BAR},
        {"steps",
         "Time of each step by phase",
         "Stacked column chart of sheet steps: time of each step, split into its phases",
         "Step",
         {"Forward (ns)", "Loss (ns)", "Backward (ns)", "Optimizer (ns)", "Remainder (ns)"},
         "time (ms)",
         "#,##0.0,,",
         500,
         15,
         LXW_CHART_COLUMN_STACKED},
};

static int column_by_title(const struct ws_table_def *def, const char *title)
{
	for (size_t i = 0; i < def->ncolumns; i++)
		if (!strcmp(def->columns[i].title, title))
			return (int)i;
	return -1;
}

static const struct ws_xlsx_sheet *find_sheet(const struct ws_xlsx *x, const char *table)
{
	for (size_t i = 0; i < x->report->ntables; i++)
		if (!strcmp(x->sheets[i].table->def->name, table))
			return &x->sheets[i];
	return NULL;
}

/* "Forward (ns)" is "Forward" in a legend. */
static void series_name(lxw_chart_series *series, const char *title)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(title, "("), title);
	for (size_t n = strlen(name); n && name[n - 1] == ' '; n--)
		name[n - 1] = '\0';
	chart_series_set_name(series, name);
}

static int add_series(struct ws_xlsx *x, lxw_chart *chart, const struct ws_xlsx_sheet *s,
                      int category, const char *title, size_t nth, size_t rows)
{
	int column = column_by_title(s->table->def, title);
	uint32_t last = (uint32_t)(WS_XLSX_ROW_DATA + rows - 1);
	lxw_chart_fill fill = {.color = palette[nth]};
	lxw_chart_series *series;

	if (column < 0)
		return 0;
	series = chart_add_series(chart, NULL, NULL);
	if (!series) {
		x->no_memory = 1;
		return 0;
	}
	chart_series_set_categories(series, s->name, WS_XLSX_ROW_DATA, (lxw_col_t)category, last,
	                            (lxw_col_t)category);
	chart_series_set_values(series, s->name, WS_XLSX_ROW_DATA, (lxw_col_t)column, last,
	                        (lxw_col_t)column);
	series_name(series, title);
	chart_series_set_fill(series, &fill);
	return 1;
}

static void dress(lxw_chart *chart, const struct chart_def *def, int nseries)
{
	lxw_chart_font title_font = {.size = 12, .bold = LXW_TRUE, .color = 0x1F3864};
	lxw_chart_font axis_font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_line grid = {.color = 0xD9D9D9, .width = 0.75};
	int bar = def->type == LXW_CHART_BAR;
	/* the library calls the horizontal axis x, whatever stands on it */
	lxw_chart_axis *values = bar ? chart->x_axis : chart->y_axis;
	lxw_chart_axis *names = bar ? chart->y_axis : chart->x_axis;

	chart_title_set_name(chart, def->title);
	chart_title_set_name_font(chart, &title_font);
	chart_axis_set_name(values, def->axis);
	chart_axis_set_name_font(values, &axis_font);
	chart_axis_set_num_font(values, &axis_font);
	chart_axis_set_num_font(names, &axis_font);
	chart_axis_set_num_format(values, def->number_format);
	chart_axis_major_gridlines_set_visible(values, LXW_TRUE);
	chart_axis_major_gridlines_set_visible(names, LXW_FALSE);
	chart_axis_major_gridlines_set_line(values, &grid);
	chart_set_series_gap(chart, 50);
	if (bar) /* a name to every bar */
		chart_axis_set_interval_unit(names, 1);
	if (bar) {
		/* the first row on top, the numbers still below */
		chart_axis_set_reverse(names);
		chart_axis_set_crossing_max(names);
	}
	chart_legend_set_position(chart,
	                          nseries > 1 ? LXW_CHART_LEGEND_BOTTOM : LXW_CHART_LEGEND_NONE);
}

/* 1 when the chart could be made. */
static int add_chart(struct ws_xlsx *x, const struct chart_def *def, lxw_worksheet *sheet,
                     uint32_t row, uint16_t col)
{
	const struct ws_xlsx_sheet *s = find_sheet(x, def->table);
	lxw_chart_options options = {.x_scale = CHART_PIXELS_WIDE / 480.0,
	                             .object_position = LXW_OBJECT_MOVE_DONT_SIZE};
	size_t rows;
	int category, nseries = 0;
	lxw_chart *chart;

	if (!s || !s->rows)
		return 0;
	category = column_by_title(s->table->def, def->category);
	if (category < 0 || column_by_title(s->table->def, def->values[0]) < 0)
		return 0;
	rows = s->rows < def->max_rows ? s->rows : def->max_rows;
	chart = workbook_add_chart(x->book, def->type);
	if (!chart) {
		x->no_memory = 1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(palette) / sizeof(*palette) && def->values[i]; i++)
		nseries += add_series(x, chart, s, category, def->values[i], i, rows);
	dress(chart, def, nseries);
	options.description = (char *)(uintptr_t)def->alt_text; /* only read */
	options.y_scale = def->height * ROW_PIXELS / 288.0;
	ws__xlsx_try(x, worksheet_insert_chart_opt(sheet, row, col, chart, &options));
	return 1;
}

uint32_t ws__xlsx_add_charts(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col)
{
	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++)
		if (add_chart(x, &charts[i], sheet, row, col))
			row += charts[i].height + 1;
	return row;
}
