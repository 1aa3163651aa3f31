/* The charts of all tables, as data. */
#include "report/writers/xlsx/charts.h"

#include "report/table/display.h"

/* Of the rows with this text in this column. */
#define WHERE(column, text) .where_column = (column), .where_text = (text)
/* The columns to draw, by the names of the category, and what their axis is called. */
#define SHOWS(of, axis, ...) .category = (of), .values_axis = (axis), .values = {__VA_ARGS__}
/* Its type, for how many rows it is drawn, and rows of cells that it is high. */
#define FORM(kind, least, most, rows) \
	.type = LXW_CHART_##kind, .min_rows = (least), .max_rows = (most), .height = (rows)

const struct ws_xlsx_chart ws__xlsx_charts[] = {
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
         .title = "Device memory over time",
         .alt_text = "Line chart: peak of the allocated memory in each part of the time",
         SHOWS("Time (ns)", "allocated", "Allocated (bytes)"),
         .names_axis = "time from the first record",
         .names_format = "#,##0.0",
         FORM(LINE, 0, 200, 16)},
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
         .title = "Operations that changed most, as on their sheet: kernel time of a typical step, "
                  "A "
                  "and B",
         .alt_text = "Bar chart of the first rows of Operations: kernel time of A and of B",
         SHOWS("Op", "kernel time", "A Typical (ns)", "B Typical (ns)"),
         FORM(BAR, 0, 12, 20)},
        {.table = "ranks",
         .title = "A step of each rank: computation and exposed communication",
         .alt_text = "Stacked column chart of the ranks: computation, exposed communication",
         SHOWS("Rank", "time", "Compute (ns)", "Exposed Communication (ns)"),
         .names_axis = "rank",
         FORM(COLUMN_STACKED, 2, 1024, 16)},
        {.table = "ranks",
         .title = "Waiting that each rank caused to the others",
         .alt_text = "Column chart of the ranks: waiting of the others, a step",
         SHOWS("Rank", "time of all others, per step", "Caused Waiting (ns)"),
         .names_axis = "rank",
         FORM(COLUMN, 2, 1024, 16)},
};
const size_t ws__xlsx_ncharts = sizeof(ws__xlsx_charts) / sizeof(*ws__xlsx_charts);
