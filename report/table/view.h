/*
 * What people see of a table: which columns, in which order, in which units. Every writer for
 * people takes them from here; CSV and JSON have the table as it is.
 */
#pragma once

#include "formats/base/arena.h"
#include "report/table/display.h"

struct ws_view_column {
	size_t index; /* in the table */
	enum ws_column_rank rank;
	struct ws_shown_column shown;
	bool is_tree; /* its paths are shown as their last parts, indented: ws_view_label */
	bool is_size; /* three numbers in columns are shown as "82960×1×1" */
	size_t spread; /* the column, plus 1, whose number stands in its cells, "33.29 ± 0.71"; 0 */
};

struct ws_view {
	const struct ws_table *t;
	struct ws_view_column *column; /* the name first, then keys, answers, details */
	size_t n, nkeys, nanswers;     /* columns; the first that are keys; those and the answers */
	const char
	        *constants; /* "Device 0; Style PushPop": columns left out as all rows are alike */
	size_t least_depth; /* of the paths of a tree */
};

/*
 * Of the first `rows` rows, which alone are shown. Left out are columns that are empty; texts that
 * are the same in all rows; details that are the same number in all rows, or as another column.
 * Columns that the user has chosen all stay, as they are. Where all times of the GPU are empty, one
 * of the host is no detail. Everything is in the arena.
 */
void ws_view_make(struct ws_arena *arena, const struct ws_table *t, size_t rows,
                  struct ws_view *out);

/* Means of a sweep have their deviations in their cells, which are no numbers any more. */
void ws_view_join_spreads(struct ws_view *v);

/* The cell of a column that is no tree as it is shown; `own` and `text` may hold it. */
#define WS_VIEW_SIZE (2 * WS_DISPLAY_NUMBER_MAX + 8)
const struct ws_cell *ws_view_cell(const struct ws_view_column *c, const struct ws_cell *cells,
                                   struct ws_cell *own, char text[WS_VIEW_SIZE]);

/* Columns of a terminal that the widest cell of a column takes, in the first rows or the totals. */
size_t ws_view_widest(const struct ws_view *v, const struct ws_view_column *c, size_t rows);

#define WS_VIEW_LABEL 512
/* The last part of a path, "EncoderLayer ×12", and how deep it lies, from 0; returns its length. */
size_t ws_view_label(const struct ws_view *v, const struct ws_cell *cells, char out[WS_VIEW_LABEL],
                     unsigned *depth);
