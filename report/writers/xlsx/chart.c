/* Native charts of tables: their list, and how they are made. */
#include "report/writers/xlsx/xlsx.h"

#define WS_XLSX_SERIES_MAX 8 /* distinguishable colours */

/*
 * A chart shows the first rows of a table, among rows with a given text in one column.
 */
struct ws_xlsx_chart {
	const char *table;                     /* name of the table */
	const char *where_column, *where_text; /* title and text; NULL = all rows */
	const char *same_column;               /* title; rows until its text changes; NULL = all */
	bool has_lines;                        /* such rows are a line each, of values[0] */
	size_t most_charts;                    /* such rows further on have a chart each; 0: 1 */
	const char *named_by[3];               /* columns for the title, instead of same_column */
	const char *title;
	const char *alt_text;                       /* alternative text */
	const char *category;                       /* title of the column that names the bars */
	const char *values[WS_XLSX_SERIES_MAX + 1]; /* titles of columns, NULL-terminated */
	const char *names_axis, *values_axis;
	const char *names_format;    /* for a scatter chart, whose category is a number */
	uint32_t max_rows, min_rows; /* with fewer rows there is nothing to compare */
	unsigned height;             /* in rows of its sheet */
	uint8_t type;
};

/* --- list of charts ------------------------------------------------------------------------- */

/* Only rows with this text in this column. */
#define WHERE(column, text) .where_column = (column), .where_text = (text)

/* The category column, the title of the axis, and the columns to draw. */
#define SHOWS(of, axis, ...) .category = (of), .values_axis = (axis), .values = {__VA_ARGS__}

/* Its type, minimum and maximum number of rows, and height in cells. */
#define FORM(kind, least, most, rows) \
	.type = LXW_CHART_##kind, .min_rows = (least), .max_rows = (most), .height = (rows)

/* Lines from the begin of the recording on. */
#define OVER_TIME(least, rows)                                                 \
	.names_axis = "time from the first record", .names_format = "#,##0.0", \
	FORM(SCATTER_STRAIGHT, least, 200, rows)

static const struct ws_xlsx_chart charts[] = {
        {.table = "classes",
         .title = "Kernel time by class of work",
         .alt_text = "Bar chart of the table above: kernel time of each class",
         SHOWS("Class", "kernel time", "GPU Time (ns)"),
         FORM(BAR, 2, 16, 16)},
        {.table = "execution",
         .title = "Where the time of each step went",
         .alt_text = "Stacked column chart of the rows above: each step split into kernels, "
                     "copies, fills, communication, runtime, data loading, CPU and other",
         SHOWS("Step", "time", "Kernel (us)", "Memcpy (us)", "Memset (us)", "Communication (us)",
               "Other (us)", "Runtime (us)", "DataLoader (us)", "CPU Exec (us)"),
         .names_axis = "step",
         FORM(COLUMN_STACKED, 0, 500, 12)},
        {.table = "idle",
         WHERE("Device", "0"),
         .title = "What device 0 did, and what it waited for",
         .alt_text = "Bar chart of the rows of device 0: time of each use",
         SHOWS("Use", "time", "Time (ns)"),
         FORM(BAR, 2, 12, 14)},
        {.table = "steps",
         WHERE("Warm-up", "no"),
         .title = "Time of each measured step by phase",
         .alt_text = "Stacked column chart of the measured steps: their time, split into phases",
         SHOWS("Step", "time", "Forward Window (ns)", "Loss Window (ns)", "Backward Window (ns)",
               "Optimizer Window (ns)", "Remainder Window (ns)"),
         .names_axis = "step",
         FORM(COLUMN_STACKED, 2, 500, 16)},
        {.table = "softmax-matmul",
         WHERE("Scope", "all layers"),
         .same_column = "Phase",
         .title = "Attention, all layers: kernel time",
         .alt_text = "Bar chart: kernel time of the parts of attention, all layers together",
         SHOWS("Part", "kernel time", "GPU Time (ns)"),
         FORM(BAR, 3, 3, 14)},
        {.table = "softmax-matmul",
         WHERE("Scope", "all layers"),
         .same_column = "Phase",
         .title = "Attention, all layers: FLOPs",
         .alt_text = "Bar chart: FLOPs of the parts of attention, all layers together",
         SHOWS("Part", "FLOPs", "FLOPs"),
         FORM(BAR, 3, 3, 12)},
        {.table = "memory",
         WHERE("Section", "over time"),
         .same_column = "Device",
         .has_lines = true,
         .title = "Device memory over time",
         .alt_text = "Chart over time: peak of the allocated memory of each device in each part "
                     "of it",
         SHOWS("Time (ns)", "allocated", "Allocated (bytes)"),
         OVER_TIME(0, 16)},
        {.table = "gpu-samples",
         .same_column = "Device",
         .has_lines = true,
         .title = "Power over time",
         .alt_text = "Chart over time: power of each GPU",
         SHOWS("Time (ns)", "power", "Power (W)"),
         OVER_TIME(3, 14)},
        {.table = "gpu-samples",
         .same_column = "Device",
         .has_lines = true,
         .title = "SM clock over time",
         .alt_text = "Chart over time: clock of each GPU's multiprocessors",
         SHOWS("Time (ns)", "SM clock", "SM Clock (MHz)"),
         OVER_TIME(3, 14)},
        {.table = "counter-samples",
         .same_column = "Number",
         .most_charts = 8,
         .named_by = {"Group", "Counter", "Unit"},
         .title = "Counter over time",
         .alt_text = "Chart over time: values of a counter of the program",
         SHOWS("Time (ns)", "value", "Value"),
         OVER_TIME(3, 14)},
        {.table = "diff-phases",
         WHERE("Measure", "GPU"),
         .title = "Kernel time of a typical step by phase, A and B",
         .alt_text = "Column chart of the phases: typical kernel time of A and of B",
         SHOWS("Phase", "kernel time", "A Typical (ns)", "B Typical (ns)"),
         FORM(COLUMN, 0, 4, 15)},
        {.table = "diff-phases",
         WHERE("Measure", "wall"),
         .title = "Wall time of a typical step by phase, A and B",
         .alt_text = "Column chart of the phases: typical wall time of A and of B",
         SHOWS("Phase", "time", "A Typical (ns)", "B Typical (ns)"),
         FORM(COLUMN, 0, 5, 15)},
        {.table = "diff-ops",
         .title = "Operations that changed most, as on their sheet: kernel time of the median "
                  "step, A and B",
         .alt_text = "Bar chart of the first rows of Operations: kernel time of A and of B",
         SHOWS("Op", "kernel time", "GPU Time A (ns)", "GPU Time B (ns)"),
         FORM(BAR, 0, 12, 20)},
};

/* --- how each is made ------------------------------------------------------------------------ */

#define CHART_PIXELS_WIDE 560

/* The colour of the column with this title, the same in every picture. */
static lxw_color_t colour_of_column(const char *title, size_t nth)
{
	static const char *const phases[WS_PAGE_PHASES] = {"Forward", "Loss", "Backward",
	                                                   "Optimizer", "Remainder"};
	static const struct {
		const char *title;
		enum ws_page_colour colour;
	} parts[] = {
	        {"Kernel (", WS_PAGE_COMPUTING}, {"Memcpy", WS_PAGE_VIOLET},
	        {"Memset", WS_PAGE_OLIVE},       {"Communication", WS_PAGE_PINK},
	        {"Runtime", WS_PAGE_IDLE},       {"DataLoader", WS_PAGE_IDLE_DATA},
	        {"CPU Exec", WS_PAGE_IDLE_HOST}, {"Other (", WS_PAGE_IDLE_UNKNOWN},
	};

	for (size_t i = 0; i < WS_PAGE_PHASES; i++)
		if (!strncmp(title, phases[i], strlen(phases[i])))
			return ws_page_phase_colour(i);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strncmp(title, parts[i].title, strlen(parts[i].title)))
			return ws_page_colour_def(parts[i].colour).light;

	/* Colours that colour-blind readers can distinguish, from the list of all pictures. */
	static const enum ws_page_colour order[WS_XLSX_SERIES_MAX] = {
	        WS_PAGE_BLUE, WS_PAGE_OCHRE, WS_PAGE_TEAL, WS_PAGE_PURPLE,
	        WS_PAGE_GREY, WS_PAGE_CYAN,  WS_PAGE_RED,  WS_PAGE_BROWN,
	};

	return ws_page_colour_def(order[nth % WS_XLSX_SERIES_MAX]).light;
}

/* The cells of a chart. */
struct chart_cells {
	const struct ws_xlsx_sheet *sheet;
	uint32_t first, last;
	size_t end;        /* row of the table after those that could be shown */
	bool is_converted; /* its columns have several units: copies in one are beside the table */
	struct ws_shown_column shown; /* unit of all its numbers */
};

/* Column of the table with this title, -1 = none. */
static int column_of(const struct chart_cells *cells, const char *title)
{
	const struct ws_table_def *def = cells->sheet->table->def;

	for (int i = 0; i < (int)def->ncolumns; i++)
		if (!strcmp(def->columns[i].title, title))
			return i;
	return -1;
}

/* The same of the sheet. */
static int find_column(const struct chart_cells *cells, const char *title)
{
	return ws__xlsx_column(cells->sheet, column_of(cells, title));
}

/* Is there a number over 0 (sign 1), or under 0 (-1), to draw? */
static bool has_numbers(const struct chart_cells *cells, const char *title, int sign)
{
	const int column = column_of(cells, title);

	for (size_t r = cells->first - WS_XLSX_ROW_DATA;
	     find_column(cells, title) >= 0 && r <= cells->last - WS_XLSX_ROW_DATA; r++)
		if (sign * ws_cell_number(&ws_table_cells(cells->sheet->table, r)[column]) > 0)
			return true;
	return false;
}

/* The displayed form of a column by title; false if there is none. */
static bool shown_column(const struct chart_cells *cells, const char *title,
                         struct ws_shown_column *out)
{
	int column = column_of(cells, title);

	if (column >= 0)
		ws_display_column(cells->sheet->table, (size_t)column, out);
	return column >= 0;
}

#define CLASSES_MAX 20

static bool add_series(struct ws_xlsx *x, lxw_chart *chart, const struct ws_xlsx_chart *def,
                       const struct chart_cells *cells, lxw_col_t category, const char *title,
                       size_t nth)
{
	int column = find_column(cells, title);
	lxw_chart_fill fill = {.color = colour_of_column(title, nth)};
	lxw_chart_line line = {.color = fill.color, .width = 2};
	struct ws_shown_column shown;
	char name[128];

	if (column < 0)
		return false;
	if (cells->is_converted) {
		/* A copy of the column in that unit, beside the table. */
		struct ws_xlsx_sheet *s = &x->sheets[cells->sheet - x->sheets];
		const int from = column_of(cells, title);
		const lxw_col_t col = (lxw_col_t)(s->view.n + 2 + s->nconverted++);
		const char *unit = cells->shown.unit;

		ws__xlsx_text(x, s->sheet, WS_XLSX_ROW_HEADER, col,
		              ws__xlsx_format(x, "Of a chart: %.*s (%s)", (int)strcspn(title, "("),
		                              title, unit),
		              x->styles[WS_XLSX_SOURCE]);
		for (uint32_t row = cells->first; row <= cells->last; row++) {
			struct ws_cell cell =
			        ws_table_cells(s->table, row - WS_XLSX_ROW_DATA)[from];

			ws__xlsx_cell(x, s->sheet, row, col, &cell, &cells->shown, WS_XLSX_CELL);
		}
		column = col;
	}
	lxw_chart_series *series = ws__xlsx_series(chart);
	chart_series_set_categories(series, cells->sheet->name, cells->first, category, cells->last,
	                            category);
	chart_series_set_values(series, cells->sheet->name, cells->first, (lxw_col_t)column,
	                        cells->last, (lxw_col_t)column);
	const int by = def->has_lines ? column_of(cells, def->same_column) : -1;
	if (by >= 0) {
		const size_t row = cells->first - WS_XLSX_ROW_DATA;

		snprintf(name, sizeof(name), "%s %.0f", def->same_column,
		         ws_cell_number(&ws_table_cells(cells->sheet->table, row)[by]));
		chart_series_set_name(series, name);
	} else if (shown_column(cells, title, &shown)) { /* "Forward (ns)" is "Forward" */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(shown.title, "("), shown.title);
		for (size_t n = strlen(name); n && name[n - 1] == ' '; n--)
			name[n - 1] = '\0';
		chart_series_set_name(series, name);
	}
	if (def->type == LXW_CHART_SCATTER_STRAIGHT)
		chart_series_set_line(series, &line);
	else
		chart_series_set_fill(series, &fill);
	if (!strcmp(def->category, "Class") || !strcmp(def->category, "Use")) {
		/* a class, or a cause of idle time, has one colour in every picture */
		lxw_chart_fill fills[CLASSES_MAX] = {{0}};
		lxw_chart_point point[CLASSES_MAX] = {{0}}, *points[CLASSES_MAX + 1];
		const int of = column_of(cells, def->category);
		size_t n = cells->last - cells->first + 1;

		n = n < CLASSES_MAX ? n : CLASSES_MAX;
		for (size_t i = 0; i < n && of >= 0; i++) {
			const size_t row = cells->first - WS_XLSX_ROW_DATA + i;
			const struct ws_cell *class = &ws_table_cells(cells->sheet->table, row)[of];

			fills[i].color = strcmp(def->category, "Use")
			                         ? ws__xlsx_class_colour(class)
			                         : ws_page_colour_def(
			                                   ws_page_use_name_colour(class->text.ptr,
			                                                           class->text.len))
			                                   .light;
			point[i].fill = &fills[i];
			points[i] = &point[i];
		}
		points[n] = NULL;
		chart_series_set_points(series, points);
	}
	return true;
}

/* The name of an axis, with the unit of its numbers. */
static void axis_name(lxw_chart_axis *axis, const char *name, const struct chart_cells *cells,
                      const struct ws_shown_column *shown)
{
	const char *unit = shown ? strrchr(shown->title, '(') : NULL;
	char text[160];

	snprintf(text, sizeof(text), "%s%s%s", name, unit ? " " : "", unit ? unit : "");
	ws_display_sides(cells->sheet->table, text, sizeof(text));
	chart_axis_set_name(axis, text);
}

/* Moves to the next rows that have the chart's text, and one value in its column. */
static bool next_run(struct chart_cells *cells, const struct ws_xlsx_chart *def)
{
	const struct ws_table *t = cells->sheet->table;
	const int text = def->where_column ? column_of(cells, def->where_column) : -1;
	const int same = def->same_column ? column_of(cells, def->same_column) : -1;
	size_t first = cells->end, end;

	if (def->where_column && text < 0)
		return false;
	while (text >= 0 && first < cells->sheet->rows &&
	       !ws_cell_is(&ws_table_cells(t, first)[text], def->where_text))
		first++;
	for (end = first;
	     end < cells->sheet->rows &&
	     (text < 0 || ws_cell_is(&ws_table_cells(t, end)[text], def->where_text)) &&
	     (same < 0 ||
	      ws_cell_same(&ws_table_cells(t, first)[same], &ws_table_cells(t, end)[same]));
	     end++)
		;
	cells->end = end;
	cells->first = (uint32_t)(WS_XLSX_ROW_DATA + first);
	cells->last = (uint32_t)(WS_XLSX_ROW_DATA + end - 1);
	if (cells->last - cells->first >= def->max_rows)
		cells->last = cells->first + def->max_rows - 1;
	return end > first;
}

/* nth: which of the rows that it can show. Returns whether the chart was made. */
static bool add_chart(struct ws_xlsx *x, const struct ws_xlsx_chart *def, size_t nth,
                      lxw_worksheet *sheet, uint32_t row, double pixels)
{
	struct chart_cells cells = {0};
	const char *const *values = def->values;
	int category, nseries = 0;
	bool some = false, has_negative = false;

	/* Its cells, if the report has the table and the table enough rows. */
	cells.sheet = ws__xlsx_find_sheet(x, def->table);
	if (!cells.sheet || !cells.sheet->rows)
		return false;
	const struct ws_table *t = cells.sheet->table;
	for (size_t run = 0; run <= nth; run++)
		if (!next_run(&cells, def))
			return false;
	/* each further run with numbers is a line as well, until there are no more colours */
	struct chart_cells line[WS_XLSX_SERIES_MAX] = {cells}, run = cells;
	size_t nlines = !def->has_lines || has_numbers(&cells, *values, 1);
	while (def->has_lines && next_run(&run, def))
		if (has_numbers(&run, *values, 1) && nlines++ < WS_XLSX_SERIES_MAX)
			line[nlines - 1] = run;
	const size_t ndrawn = nlines < WS_XLSX_SERIES_MAX ? nlines : WS_XLSX_SERIES_MAX;
	if (!nlines || line[0].last - line[0].first + 1 < def->min_rows)
		return false;
	cells.first = line[0].first;
	cells.last = line[ndrawn - 1].last;
	category = find_column(&cells, def->category);
	/* One unit for all compared columns: the largest of their units. */
	for (size_t i = 0; values[i]; i++) {
		struct ws_shown_column shown;

		if (!shown_column(&cells, values[i], &shown))
			continue;
		cells.is_converted |= i && shown.exponent != cells.shown.exponent;
		if (!i || shown.exponent > cells.shown.exponent)
			cells.shown = shown;
	}
	for (size_t i = 0; values[i]; i++) {
		const bool is_below = def->type == LXW_CHART_SCATTER_STRAIGHT &&
		                      has_numbers(&cells, values[i], -1);

		has_negative |= is_below;
		some |= (!i || def->type == LXW_CHART_COLUMN_STACKED) &&
		        (is_below || has_numbers(&cells, values[i], 1));
	}
	if (category < 0 || !some)
		return false;
	lxw_chart *chart = ws__xlsx_chart(x, def->type);
	for (size_t i = 0; def->has_lines && i < ndrawn; i++)
		nseries += add_series(x, chart, def, &line[i], (lxw_col_t)category, *values, i);
	for (size_t i = 0; !def->has_lines && values[i]; i++)
		/* a part without values needs no label below the chart */
		if (def->type != LXW_CHART_COLUMN_STACKED || has_numbers(&cells, values[i], 1))
			nseries += add_series(x, chart, def, &cells, (lxw_col_t)category, values[i],
			                      i);

	char title[256];
	struct ws_shown_column of_names;
	lxw_chart_font title_font = {.size = 12, .bold = LXW_TRUE, .color = 0x1F3864};
	lxw_chart_font axis_font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_font name_font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};
	lxw_chart_line grid = {.color = 0xD9D9D9, .width = 0.75};
	int bar = def->type == LXW_CHART_BAR;
	/* in the library, x is always the horizontal axis */
	lxw_chart_axis *value_axis = bar ? chart->x_axis : chart->y_axis;
	lxw_chart_axis *name_axis = bar ? chart->y_axis : chart->x_axis;

	/*
	 * The title with the common values of all rows: ", forward", ", device 0", so that it
	 * agrees with the cells.
	 */
	const size_t size = sizeof(title);
	const int same_column =
	        def->same_column && nlines == 1 ? column_of(&cells, def->same_column) : -1;
	const struct ws_cell *same =
	        same_column < 0 ? NULL
	                        : &ws_table_cells(t, cells.first - WS_XLSX_ROW_DATA)[same_column];

	if (nlines > ndrawn)
		snprintf(title, size, "%s, the first %zu of %zu devices", def->title, ndrawn,
		         nlines);
	else if (*def->named_by) {
		size_t len = (size_t)snprintf(title, size, "%s", def->title);

		for (size_t i = 0; i < sizeof(def->named_by) / sizeof(*def->named_by); i++) {
			const struct ws_cell *name = &ws_table_cells(
			        t, cells.first -
			                   WS_XLSX_ROW_DATA)[column_of(&cells, def->named_by[i])];

			if (len < size && name->type == WS_CELL_TEXT && name->text.len)
				len += (size_t)snprintf(title + len, size - len, ", %.*s",
				                        (int)name->text.len, name->text.ptr);
		}
	} else if (same && same->type == WS_CELL_TEXT)
		snprintf(title, size, "%s, %.*s", def->title, (int)same->text.len, same->text.ptr);
	else if (same && same->type == WS_CELL_INT)
		snprintf(title, size, "%s, %s %lld", def->title, def->same_column,
		         (long long)same->i);
	else
		snprintf(title, size, "%s", def->title);
	ws_display_sides(t, title, size);
	chart_title_set_name(chart, title);
	chart_title_set_name_font(chart, &title_font);
	axis_name(value_axis, def->values_axis, &cells, &cells.shown);
	chart_axis_set_name_font(value_axis, &axis_font);
	if (def->names_axis) {
		const bool has_unit = shown_column(&cells, def->category, &of_names);

		axis_name(name_axis, def->names_axis, &cells, has_unit ? &of_names : NULL);
		chart_axis_set_name_font(name_axis, &axis_font);
	}
	chart_axis_set_num_font(value_axis, &axis_font);
	chart_axis_set_num_font(name_axis, bar ? &name_font : &axis_font);
	chart_axis_set_num_format(value_axis, "#,##0.###");
	if (def->names_format) /* numbers stay beside the lines, also if these begin before 0 */
		chart_axis_set_label_position(value_axis, LXW_CHART_AXIS_LABEL_POSITION_LOW);
	if (has_negative) /* the names stay below the lines */
		chart_axis_set_label_position(name_axis, LXW_CHART_AXIS_LABEL_POSITION_LOW);
	else
		chart_axis_set_min(value_axis, 0); /* lengths are comparable only from 0 */
	if (def->names_format) {
		chart_axis_set_num_format(name_axis, def->names_format);
	}
	chart_axis_major_gridlines_set_visible(value_axis, LXW_TRUE);
	chart_axis_major_gridlines_set_visible(name_axis, LXW_FALSE);
	chart_axis_major_gridlines_set_line(value_axis, &grid);
	chart_set_series_gap(chart, 50);
	if (bar) /* a name for every bar */
		chart_axis_set_interval_unit(name_axis, 1);
	if (bar) {
		/* the first row on top, the numbers still below */
		chart_axis_set_reverse(name_axis);
		chart_axis_set_crossing_max(name_axis);
	}
	chart_legend_set_position(chart, nseries < 2      ? LXW_CHART_LEGEND_NONE
	                                 : def->has_lines ? LXW_CHART_LEGEND_RIGHT
	                                                  : LXW_CHART_LEGEND_BOTTOM);
	chart_show_hidden_data(chart); /* columns may be folded */
	ws__xlsx_place_chart(x, sheet, row, chart, pixels, def->height, def->alt_text);
	return true;
}

/* Adds the charts of a table (NULL: of all), one below the other. Returns their width in pixels. */
static double add_all(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t *row, const char *table,
                      double pixels)
{
	bool some = false;

	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++) {
		const struct ws_xlsx_chart *def = &charts[i];

		if (table && strcmp(def->table, table) != 0)
			continue;
		for (size_t nth = 0; !nth || nth < def->most_charts; nth++)
			if (add_chart(x, def, nth, sheet, *row, pixels)) {
				some = true;
				*row += def->height + 1;
			}
	}
	return some ? pixels + 10 : 0;
}

uint32_t ws__xlsx_add_charts(struct ws_xlsx *x, lxw_worksheet *sheet, uint32_t row)
{
	add_all(x, sheet, &row, NULL, WS_XLSX_PAGE_PIXELS);
	return row;
}

double ws__xlsx_add_own_charts(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t *row)
{
	const uint32_t first = *row + 1;
	uint32_t at = first;
	double pixels = add_all(x, s->sheet, &at, s->table->def->name, CHART_PIXELS_WIDE);

	if (!strcmp(s->table->def->name, "roofline"))
		pixels = fmax(pixels, ws__xlsx_add_roofline(x, s, &at));
	*row = at > first ? at : *row;
	return pixels;
}
