/* Hand-made tables for the tests of the writers. */
#pragma once

#include "report/table/table.h"

static const struct ws_table_column kernel_columns[] = {
        {"time_percent", "Time (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT,
         "Share of the GPU time.", WS_RANK_ANSWER},
        {"total_ns", "Total Time (ns)", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "Sum of times.",
         WS_RANK_ANSWER},
        {"instances", "Instances", "", WS_CELL_INT, WS_DISPLAY_COUNT, "Launches.", WS_RANK_ANSWER},
        {"name", "Name", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "Kernel name.", WS_RANK_NAME},
        {"avg_ns", "Avg (ns)", "ns", WS_CELL_REAL, WS_DISPLAY_EACH_NS, "Mean.", WS_RANK_ANSWER},
};
static const struct ws_table_def kernel_def = {
        "kernels",      "Kernels",
        "kernels",      "One row per kernel; Time (%) is of the GPU time of all kernels.",
        kernel_columns, sizeof(kernel_columns) / sizeof(*kernel_columns),
};

static const struct ws_table_column page_columns[] = {
        {"section", "Section", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "Block.", WS_RANK_KEY},
        {"item", "Item", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "What.", WS_RANK_NAME},
        {"text", "Text", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "Statement.", WS_RANK_ANSWER},
        {"count", "Count", "", WS_CELL_INT, WS_DISPLAY_COUNT, "Number.", WS_RANK_ANSWER},
        {"time_ns", "Time (ns)", "ns", WS_CELL_REAL, WS_DISPLAY_TIME_NS, "Time.", WS_RANK_ANSWER},
        {"share", "Share (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "Share.", WS_RANK_ANSWER},
};
static const struct ws_table_def page_def = {
        "summary",    "Summary",
        "summary",    "The run on a page.",
        page_columns, sizeof(page_columns) / sizeof(*page_columns),
};

/* Commas, quotes, line ends, an escape sequence, broken UTF-8, a NUL, a formula, markup. */
#define HOSTILE_NAME     "=1+1,\"q\"\r\n\x1b[31m\xff|<b>*\0_x0041_"
#define HOSTILE_NAME_LEN (sizeof(HOSTILE_NAME) - 1)

static inline void add_kernel(struct ws_table *t, double percent, int64_t total, int64_t n,
                              const char *name, size_t len, double avg)
{
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_real(&row[0], percent);
	ws_cell_set_int(&row[1], total);
	ws_cell_set_int(&row[2], n);
	ws_cell_set_text(t, &row[3], name, len);
	ws_cell_set_real(&row[4], avg);
}

/* Two kernels, the second with a hostile name and no average; totals; a note. */
static inline struct ws_table *kernel_table(void)
{
	struct ws_table *t = ws_table_new(&kernel_def);
	struct ws_cell *totals;

	add_kernel(t, 75, 3000000, 1200, "gemm", 4, 2500.5);
	add_kernel(t, 25, 1000000, 1, HOSTILE_NAME, HOSTILE_NAME_LEN, 0.0 / 0.0);
	totals = ws_table_totals(t);
	ws_cell_set_real(&totals[0], 100);
	ws_cell_set_int(&totals[1], 4000000);
	ws_cell_set_int(&totals[2], 1201);
	ws_table_note(t, "2 kernels lost");
	return t;
}

static inline struct ws_cell *add_line(struct ws_table *t, const char *section, const char *item,
                                       const char *text)
{
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[0], section);
	ws_cell_set_str(t, &row[1], item);
	if (text)
		ws_cell_set_str(t, &row[2], text);
	return row;
}

/* So many lines of one section that looking at all of them for each takes minutes. */
static inline struct ws_table *long_page(void)
{
	struct ws_table *t = ws_table_new(&page_def);

	for (int64_t i = 0; i < 100000; i++)
		ws_cell_set_int(&add_line(t, "Long", "line", NULL)[3], i);
	return t;
}

static inline struct ws_table *page_table(void)
{
	struct ws_table *t = ws_table_new(&page_def);
	struct ws_cell *row = add_line(t, "Headline", "GPU time", "mean of 5 steps");

	ws_cell_set_real(&row[4], 18234567.5);
	ws_cell_set_real(&row[5], 100);
	row = add_line(t, "Headline", "kernels", NULL);
	ws_cell_set_int(&row[3], 1234);
	add_line(t, "Provenance", "program", "/bin/step");
	add_line(t, "Provenance", "nothing known", NULL);
	return t;
}

/* Bytes that a writer made; the caller frees. */
struct made {
	char *bytes;
	size_t len;
	enum ws_status rc;
};
