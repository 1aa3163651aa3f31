/* Native charts, on the first sheet or on that of their table, made of the cells of tables. */
#include "report/writers/xlsx/xlsx.h"

#include <stdbool.h>

#define ROW_PIXELS        20 /* the default height of a row */
#define CHART_PIXELS_WIDE 560

/* Distinguishable with every common colour blindness (Okabe and Ito's palette). */
static const lxw_color_t palette[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7,
                                      0x999999, 0x56B4E9, 0xD55E00, 0xF0E442};

/* Where a chart stands: on the first sheet; below its table. */
enum { ON_FIRST = 1u << 0, ON_OWN = 1u << 1 };

/*
 * What a chart shows: the first rows of a table, of those whose cell in one
 * column has a text, or the lines of a section of the first sheet.
 */
struct chart_def {
	const char *table;                     /* name of the table */
	const char *section;                   /* NULL = rows */
	const char *where_column, *where_text; /* title and text; NULL = all rows */
	const char *same_column; /* title; rows up to where its text changes; NULL = all */
	const char *title;
	const char *alt_text; /* for those who do not see it */
	const char *category; /* title of the column that names the bars */
	const char *values[sizeof(palette) / sizeof(*palette)]; /* titles of columns */
	const char *names_axis, *values_axis;
	const char *number_format;
	const char *names_format;    /* where the category is a number */
	uint32_t max_rows, min_rows; /* of fewer there is nothing to compare */
	unsigned height;             /* in rows of the sheet it lies on */
	uint8_t type;
	uint8_t places;            /* ON_…; 0 = on the first sheet */
	uint8_t labels;            /* the numbers above the columns */
	double base;               /* value that the columns stand on: a line across the chart */
	const char *category_last; /* title; the names are of all columns from `category` to it */
};

#define NUMBERS "#,##0.###"

static const struct chart_def charts[] = {
        {.table = "summary",
         .section = "GPU time by class",
         .title = "GPU time by class of work",
         .alt_text = "Bar chart of the section GPU time by class on this sheet",
         .category = "Item",
         .values = {"Time (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 16,
         .height = 18,
         .type = LXW_CHART_BAR},
        /* the summary has names short enough to stand beside bars */
        {.table = "summary",
         .section = "Top kernels",
         .title = "The kernels that cost most",
         .alt_text = "Bar chart of the section Top kernels on this sheet",
         .category = "Item",
         .values = {"Time (ns)"},
         .values_axis = "total GPU time",
         .number_format = NUMBERS,
         .max_rows = 11,
         .height = 18,
         .type = LXW_CHART_BAR},
        {.table = "classes",
         .title = "GPU time by class of work",
         .alt_text = "Bar chart of the table above: GPU time of each class",
         .category = "Class",
         .values = {"GPU Time (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 16,
         .min_rows = 2,
         .height = 18,
         .type = LXW_CHART_BAR,
         .places = ON_OWN},
        {.table = "execution",
         .title = "Where the time of each step went",
         .alt_text = "Stacked column chart of the rows above: each step split into kernels, "
                     "copies, fills, communication, runtime, data loading, CPU and other",
         .category = "Step",
         .values = {"Kernel (us)", "Memcpy (us)", "Memset (us)", "Communication (us)", "Other (us)",
                    "Runtime (us)", "DataLoader (us)", "CPU Exec (us)"},
         .names_axis = "step",
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 500,
         .height = 12,
         .type = LXW_CHART_COLUMN_STACKED,
         .places = ON_OWN},
        {.table = "idle",
         .where_column = "Device",
         .where_text = "0",
         .title = "What device 0 did, and what it waited for",
         .alt_text = "Bar chart of the rows of device 0: time of each use",
         .category = "Use",
         .values = {"Time (ns)"},
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 12,
         .min_rows = 2,
         .height = 14,
         .type = LXW_CHART_BAR,
         .places = ON_OWN},
        {.table = "steps",
         .title = "Time of each step by phase",
         .alt_text = "Stacked column chart of the steps: time of each step, split into phases",
         .category = "Step",
         .category_last = "Warm-up",
         .values = {"Forward (ns)", "Loss (ns)", "Backward (ns)", "Optimizer (ns)",
                    "Remainder (ns)"},
         .names_axis = "step; yes: warm-up",
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 500,
         .height = 15,
         .type = LXW_CHART_COLUMN_STACKED},
        {.table = "softmax-matmul",
         .where_column = "Scope",
         .where_text = "all layers",
         .same_column = "Phase",
         .title = "Attention, all layers, forward: GPU time of a step",
         .alt_text = "Bar chart: GPU time of the parts of attention, all layers together",
         .min_rows = 3,
         .category = "Part",
         .values = {"GPU Time (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 4,
         .height = 12,
         .type = LXW_CHART_BAR,
         .places = ON_FIRST | ON_OWN},
        {.table = "softmax-matmul",
         .where_column = "Scope",
         .where_text = "all layers",
         .same_column = "Phase",
         .title = "Attention, all layers, forward: FLOPs of a step",
         .alt_text = "Bar chart: FLOPs of the parts of attention, all layers together",
         .min_rows = 3,
         .category = "Part",
         .values = {"FLOPs"},
         .values_axis = "FLOPs",
         .number_format = NUMBERS,
         .max_rows = 4,
         .height = 12,
         .type = LXW_CHART_BAR,
         .places = ON_OWN},
        {.table = "softmax-matmul",
         .where_column = "Scope",
         .where_text = "model",
         .same_column = "Phase",
         .title = "Whole model, forward: GPU time of a step",
         .alt_text = "Bar chart: GPU time of softmax, matrix products and other kernels",
         .category = "Part",
         .values = {"GPU Time (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 4,
         .height = 12,
         .type = LXW_CHART_BAR,
         .places = ON_OWN},
        {.table = "softmax-matmul",
         .where_column = "Scope",
         .where_text = "model",
         .same_column = "Phase",
         .title = "Whole model, forward: FLOPs of a step",
         .alt_text = "Bar chart: FLOPs of softmax, matrix products and other kernels",
         .category = "Part",
         .values = {"FLOPs"},
         .values_axis = "FLOPs",
         .number_format = NUMBERS,
         .max_rows = 4,
         .height = 12,
         .type = LXW_CHART_BAR,
         .places = ON_OWN},
        {.table = "memory",
         .where_column = "Section",
         .where_text = "over time",
         .same_column = "Device",
         .title = "Device memory over time",
         .alt_text = "Line chart: peak of the allocated memory in each part of the time",
         .category = "Time (ns)",
         .values = {"Allocated (bytes)"},
         .names_axis = "time from the first record",
         .values_axis = "allocated",
         .number_format = NUMBERS,
         .names_format = "#,##0.0",
         .max_rows = 200,
         .height = 15,
         .type = LXW_CHART_LINE,
         .places = ON_FIRST | ON_OWN},
        {.table = "diff-phases",
         .where_column = "Measure",
         .where_text = "GPU",
         .title = "GPU time, B / A: below the line at 1.0 B is faster",
         .alt_text = "Column chart of the phases: GPU time of B over that of A, from 1.0 on",
         .category = "Phase",
         .values = {"B / A"},
         .values_axis = "B / A",
         .number_format = "0.00",
         .max_rows = 6,
         .height = 15,
         .type = LXW_CHART_COLUMN,
         .labels = 1,
         .base = 1},
        {.table = "diff-phases",
         .where_column = "Measure",
         .where_text = "GPU",
         .title = "GPU time of a step by phase, A and B",
         .alt_text = "Column chart of the phases: mean GPU time of A and of B",
         .category = "Phase",
         .values = {"A Mean (ns)", "B Mean (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 4,
         .height = 15,
         .type = LXW_CHART_COLUMN},
        {.table = "diff-phases",
         .where_column = "Measure",
         .where_text = "wall",
         .title = "Wall time of a step by phase, A and B",
         .alt_text = "Column chart of the phases: mean wall time of A and of B",
         .category = "Phase",
         .values = {"A Mean (ns)", "B Mean (ns)"},
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 5,
         .height = 15,
         .type = LXW_CHART_COLUMN},
        {.table = "diff-ops",
         .title = "Operations that changed most: GPU time of a step, A and B",
         .alt_text = "Bar chart of the first rows of Operations: GPU time of A and of B",
         .category = "Op",
         .category_last = "Phase",
         .values = {"GPU Time A (ns)", "GPU Time B (ns)"},
         .values_axis = "GPU time",
         .number_format = NUMBERS,
         .max_rows = 12,
         .height = 20,
         .type = LXW_CHART_BAR,
         .places = ON_FIRST | ON_OWN},
        {.table = "ranks",
         .title = "A step of each rank: computation, and communication that nothing hides",
         .alt_text = "Stacked column chart of the ranks: computation, exposed communication",
         .category = "Rank",
         .values = {"Compute (ns)", "Exposed Communication (ns)"},
         .names_axis = "rank",
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 1024,
         .min_rows = 2,
         .height = 18,
         .type = LXW_CHART_COLUMN_STACKED,
         .places = ON_FIRST | ON_OWN},
        {.table = "ranks",
         .title = "Waiting that each rank caused the others",
         .alt_text = "Column chart of the ranks: waiting of the others, a step",
         .category = "Rank",
         .values = {"Caused Waiting (ns)"},
         .names_axis = "rank",
         .values_axis = "time of all others, a step",
         .number_format = NUMBERS,
         .max_rows = 1024,
         .min_rows = 2,
         .height = 18,
         .type = LXW_CHART_COLUMN,
         .places = ON_OWN},
        {.table = "sweep",
         .title = "Time of a step by configuration",
         .alt_text = "Stacked column chart of the configurations: forward, backward, optimizer",
         .category = "Model",
         .category_last = "Dtype",
         .values = {"Forward (ns)", "Backward (ns)", "Optimizer (ns)"},
         .values_axis = "time",
         .number_format = NUMBERS,
         .max_rows = 60,
         .height = 20,
         .type = LXW_CHART_COLUMN_STACKED,
         .places = ON_OWN},
        {.table = "sweep",
         .title = "Speed-up over the baseline: above the line at 1.0 it is faster",
         .alt_text = "Column chart of the configurations: speed-up, from 1.0 on",
         .category = "Model",
         .category_last = "Dtype",
         .values = {"Speedup"},
         .values_axis = "speed-up",
         .number_format = "0.00",
         .max_rows = 60,
         .height = 20,
         .type = LXW_CHART_COLUMN,
         .places = ON_OWN,
         .base = 1},
};

/* Where a chart's cells are. */
struct chart_cells {
	const struct ws_xlsx_sheet *sheet;
	uint32_t first, last;
	int without; /* a column of the table that the sheet lacks, -1 = none */
};

/* Column of the sheet, -1 when the table has none of this title. */
static int find_column(const struct chart_cells *cells, const char *title)
{
	const struct ws_table_def *def = cells->sheet->table->def;

	for (int i = 0; i < (int)def->ncolumns; i++)
		if (!strcmp(def->columns[i].title, title))
			return cells->without >= 0 && i > cells->without ? i - 1 : i;
	return -1;
}

static bool find_section(const struct ws_xlsx *x, const char *name, struct chart_cells *cells)
{
	for (size_t i = 0; i < x->nblocks; i++) {
		const struct ws_cell *section = x->blocks[i].section;

		if (section->type == WS_CELL_TEXT && section->text.len == strlen(name) &&
		    !memcmp(section->text.ptr, name, section->text.len)) {
			cells->first = x->blocks[i].first;
			cells->last = x->blocks[i].last;
			cells->without = ws_table_column_index(cells->sheet->table->def, "section");
			return 1;
		}
	}
	return 0;
}

static bool cell_is(const struct ws_cell *cell, const char *text)
{
	return cell->type == WS_CELL_TEXT && cell->text.len == strlen(text) &&
	       !memcmp(cell->text.ptr, text, cell->text.len);
}

static bool equal_cells(const struct ws_cell *a, const struct ws_cell *b)
{
	if (a->type != b->type)
		return 0;
	if (a->type == WS_CELL_TEXT)
		return a->text.len == b->text.len && !memcmp(a->text.ptr, b->text.ptr, a->text.len);
	return a->type == WS_CELL_EMPTY || a->i == b->i;
}

/* A chart of nothing says nothing: is there a number over 0? */
static bool has_numbers(const struct chart_cells *cells, const char *title)
{
	const struct ws_table *t = cells->sheet->table;
	int column = find_column(cells, title);

	if (column < 0 || cells->without >= 0)
		return column >= 0;
	for (size_t r = cells->first - ws__xlsx_data_row(cells->sheet);
	     r <= cells->last - ws__xlsx_data_row(cells->sheet); r++) {
		const struct ws_cell *cell = &t->cells[r * t->def->ncolumns + (size_t)column];

		if ((cell->type == WS_CELL_INT && cell->i > 0) ||
		    (cell->type == WS_CELL_REAL && cell->r > 0))
			return 1;
	}
	return 0;
}

/* The first run of rows with this text. */
static bool find_rows(const struct chart_def *def, struct chart_cells *cells)
{
	const struct ws_table *t = cells->sheet->table;
	int column = find_column(cells, def->where_column);
	int same = def->same_column ? find_column(cells, def->same_column) : -1;
	size_t first = 0, end;

	if (column < 0)
		return 0;
	while (first < cells->sheet->rows &&
	       !cell_is(&t->cells[first * t->def->ncolumns + (size_t)column], def->where_text))
		first++;
	end = first;
	while (end < cells->sheet->rows &&
	       cell_is(&t->cells[end * t->def->ncolumns + (size_t)column], def->where_text) &&
	       (same < 0 || equal_cells(&t->cells[first * t->def->ncolumns + (size_t)same],
	                                &t->cells[end * t->def->ncolumns + (size_t)same])))
		end++;
	cells->first = (uint32_t)(ws__xlsx_data_row(cells->sheet) + first);
	cells->last = (uint32_t)(ws__xlsx_data_row(cells->sheet) + end - 1);
	return end > first;
}

/* 0 when the report lacks the table, or the table lacks rows. */
static bool find_cells(const struct ws_xlsx *x, const struct chart_def *def,
                       struct chart_cells *cells)
{
	*cells = (struct chart_cells){.without = -1};
	cells->sheet = ws__xlsx_find_sheet(x, def->table);
	if (!cells->sheet || !cells->sheet->rows)
		return 0;
	if (def->section) {
		if (!find_section(x, def->section, cells))
			return 0;
	} else if (def->where_column) {
		if (!find_rows(def, cells))
			return 0;
	} else {
		cells->first = ws__xlsx_data_row(cells->sheet);
		cells->last = (uint32_t)(ws__xlsx_data_row(cells->sheet) + cells->sheet->rows - 1);
	}
	if (cells->last - cells->first + 1 < def->min_rows)
		return 0;
	if (cells->last - cells->first >= def->max_rows)
		cells->last = cells->first + def->max_rows - 1;
	return 1;
}

/* The column of a table as people see it, by its title; 0 when there is none. */
static bool shown_column(const struct chart_cells *cells, const char *title,
                         struct ws_shown_column *out)
{
	const struct ws_table_def *def = cells->sheet->table->def;

	for (size_t i = 0; i < def->ncolumns; i++) {
		if (strcmp(def->columns[i].title, title) != 0)
			continue;
		ws_display_column(cells->sheet->table, i, out);
		return 1;
	}
	return 0;
}

/* "Forward (ns)" is "Forward" in a legend. */
static void series_name(lxw_chart_series *series, const struct chart_cells *cells,
                        const char *title)
{
	struct ws_shown_column shown;
	char name[128];

	if (!shown_column(cells, title, &shown))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(shown.title, "("), shown.title);
	for (size_t n = strlen(name); n && name[n - 1] == ' '; n--)
		name[n - 1] = '\0';
	chart_series_set_name(series, name);
}

static bool add_series(struct ws_xlsx *x, lxw_chart *chart, const struct chart_def *def,
                       const struct chart_cells *cells, lxw_col_t category, lxw_col_t category_last,
                       const char *title, size_t nth)
{
	int column = find_column(cells, title);
	lxw_chart_fill fill = {.color = palette[nth]};
	lxw_chart_line line = {.color = palette[nth], .width = 2};
	lxw_chart_series *series;

	if (column < 0)
		return 0;
	series = chart_add_series(chart, NULL, NULL);
	if (!series) {
		x->no_memory = 1;
		return 0;
	}
	chart_series_set_categories(series, cells->sheet->name, cells->first, category, cells->last,
	                            category_last);
	chart_series_set_values(series, cells->sheet->name, cells->first, (lxw_col_t)column,
	                        cells->last, (lxw_col_t)column);
	series_name(series, cells, title);
	if (def->type == LXW_CHART_LINE)
		chart_series_set_line(series, &line);
	else
		chart_series_set_fill(series, &fill);
	if (def->labels)
		chart_series_set_labels(series);
	return 1;
}

/* The name of an axis, with the unit of the column whose numbers stand on it. */
static void axis_name(lxw_chart_axis *axis, const char *name, const struct chart_cells *cells,
                      const char *title)
{
	struct ws_shown_column shown;
	const char *unit = NULL;
	char text[160];

	if (shown_column(cells, title, &shown))
		unit = strrchr(shown.title, '(');
	snprintf(text, sizeof(text), "%s%s%s", name, unit ? " " : "", unit ? unit : "");
	chart_axis_set_name(axis, text);
}

static void dress(lxw_chart *chart, const struct chart_def *def, const struct chart_cells *cells,
                  int nseries)
{
	lxw_chart_font title_font = {.size = 12, .bold = LXW_TRUE, .color = 0x1F3864};
	lxw_chart_font axis_font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_font name_font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_line grid = {.color = 0xD9D9D9, .width = 0.75};
	int bar = def->type == LXW_CHART_BAR;
	/* the library calls the horizontal axis x, whatever stands on it */
	lxw_chart_axis *values = bar ? chart->x_axis : chart->y_axis;
	lxw_chart_axis *names = bar ? chart->y_axis : chart->x_axis;

	chart_title_set_name(chart, def->title);
	chart_title_set_name_font(chart, &title_font);
	axis_name(values, def->values_axis, cells, def->values[0]);
	chart_axis_set_name_font(values, &axis_font);
	if (def->names_axis) {
		axis_name(names, def->names_axis, cells, def->category);
		chart_axis_set_name_font(names, &axis_font);
	}
	chart_axis_set_num_font(values, &axis_font);
	chart_axis_set_num_font(names, bar ? &name_font : &axis_font);
	chart_axis_set_num_format(values, def->number_format);
	chart_axis_set_min(values, 0); /* lengths compare only from 0 on */
	if (def->base != 0) {
		chart_axis_set_crossing(values, def->base);
		chart_axis_set_label_position(names, LXW_CHART_AXIS_LABEL_POSITION_LOW);
	}
	if (def->names_format) {
		chart_axis_set_num_format(names, def->names_format);
		chart_axis_set_interval_unit(names, 40);
		chart_axis_set_interval_tick(names, 40);
	}
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
static bool add_chart(struct ws_xlsx *x, const struct chart_def *def, lxw_worksheet *sheet,
                      uint32_t row, uint16_t col, int32_t x_offset)
{
	lxw_chart_options options = {.x_scale = CHART_PIXELS_WIDE / 480.0,
	                             .x_offset = x_offset,
	                             .object_position = LXW_OBJECT_MOVE_DONT_SIZE};
	struct chart_cells cells;
	int category, category_last, nseries = 0;
	lxw_chart *chart;

	if (!find_cells(x, def, &cells))
		return 0;
	category = find_column(&cells, def->category);
	if (category < 0 || !has_numbers(&cells, def->values[0]))
		return 0;
	category_last = def->category_last ? find_column(&cells, def->category_last) : category;
	chart = workbook_add_chart(x->book, def->type);
	if (!chart) {
		x->no_memory = 1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(palette) / sizeof(*palette) && def->values[i]; i++)
		/* a part that there is none of needs no name below the chart */
		if (def->type != LXW_CHART_COLUMN_STACKED || has_numbers(&cells, def->values[i]))
			nseries += add_series(x, chart, def, &cells, (lxw_col_t)category,
			                      (lxw_col_t)category_last, def->values[i], i);
	dress(chart, def, &cells, nseries);
	options.description = (char *)(uintptr_t)def->alt_text; /* only read */
	options.y_scale = def->height * ROW_PIXELS / 288.0;
	ws__xlsx_try(x, worksheet_insert_chart_opt(sheet, row, col, chart, &options));
	return 1;
}

/* The charts of a place, of one table or of all, one below the other or two beside each other. */
static uint32_t add_all(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                        unsigned place, const char *table, int pairs)
{
	uint32_t left = 0; /* height of the chart that stands alone in its line */

	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++) {
		const struct chart_def *def = &charts[i];

		if (!((def->places ? def->places : ON_FIRST) & place) ||
		    (table && strcmp(def->table, table) != 0) ||
		    !add_chart(x, def, sheet, row, col, left ? CHART_PIXELS_WIDE + 20 : 0))
			continue;
		if (left || !pairs)
			row += (left > def->height ? left : def->height) + 1;
		left = left || !pairs ? 0 : def->height;
	}
	return left ? row + left + 1 : row;
}

uint32_t ws__xlsx_add_charts(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row, uint16_t col,
                             int pairs)
{
	return add_all(x, sheet, row, col, ON_FIRST, NULL, pairs);
}

uint32_t ws__xlsx_add_own_charts(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	row = add_all(x, s->sheet, row, 0, ON_OWN, s->table->def->name, 1);
	if (!strcmp(s->table->def->name, "roofline"))
		row = ws__xlsx_add_roofline(x, s, row);
	return row;
}
