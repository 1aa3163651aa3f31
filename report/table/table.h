/*
 * The typed table: what every analysis makes and every writer prints.
 * Analysis never formats; writers never compute.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/bytes.h"
#include "formats/base/memory.h"
#include "formats/base/status.h"

enum ws_cell_type {
	WS_CELL_EMPTY, /* unknown or does not apply: never shown as 0 */
	WS_CELL_TEXT,
	WS_CELL_INT,
	WS_CELL_REAL, /* finite; NaN and infinity are stored as EMPTY */
};

struct ws_cell {
	enum ws_cell_type type;
	union {
		int64_t i;
		double r;
		struct ws_cell_text {
			const char *ptr; /* owned by the table; any bytes, len counts */
			size_t len;
		} text;
	};
};

/* How people see the numbers of a column. Data formats always give the plain value. */
enum ws_display {
	WS_DISPLAY_PLAIN,   /* text, ids: as it is */
	WS_DISPLAY_COUNT,   /* 1,234 */
	WS_DISPLAY_TIME_NS, /* ns in the data; people read all such columns of a table in one unit
	                     */
	WS_DISPLAY_EACH_NS, /* … of one of many: a mean, and what stands beside it of the same times
	                     */
	WS_DISPLAY_START_NS, /* … a moment */
	WS_DISPLAY_PERCENT,  /* 0..100 in the data */
	WS_DISPLAY_RATIO,    /* 1.23 */
	WS_DISPLAY_REAL,     /* 1.2345 */
	WS_DISPLAY_BYTES,    /* bytes in the data; SI units for people, one for all such columns */
	WS_DISPLAY_FLOPS,    /* operations in the data; the same */
};

/*
 * How much a column matters to people: they see the columns in this order, and those of a rank in
 * the order of the table. CSV and JSON have all columns, in the order of the table.
 */
enum ws_column_rank {
	WS_RANK_NAME = -2, /* what names the row: the first column */
	WS_RANK_KEY,       /* what else tells rows apart: never leaves the screen */
	WS_RANK_ANSWER,    /* what people open the table for: always seen */
	WS_RANK_DETAIL,    /* hidden first */
	WS_RANK_FULL,      /* a detail: what NAME shortens, at length: the last column */
};

struct ws_table_column {
	const char *id;         /* snake_case, unique in the table: JSON "id" */
	const char *title;      /* header with its unit, the CSV contract: "Total Time (ns)" */
	const char *unit;       /* "ns", "%", "bytes", "" : JSON "unit" */
	enum ws_cell_type type; /* TEXT, INT or REAL */
	enum ws_display display;
	const char *definition;   /* one or two sentences, in words */
	enum ws_column_rank rank; /* of a column that says nothing else: an answer */
};

/* A kind of table: one line of tables.def. Static data. */
struct ws_table_def {
	const char *name;    /* --table NAME */
	const char *title;   /* for people: "CUDA GPU Kernel Summary" */
	const char *sheet;   /* XLSX sheet name, at most 31 characters, ASCII */
	const char *meaning; /* one sentence: what a row is and what the shares are of */
	const struct ws_table_column *columns;
	size_t ncolumns;
};

/* Where rows come from that are made when they are read: those of a table as long as the trace. */
struct ws_table_source {
	void (*fill)(void *ctx, size_t row, struct ws_cell *cells); /* cells are empty */
	void (*free)(void *ctx);                                    /* may be NULL */
	void *ctx;
};

struct ws_table {
	const struct ws_table_def *def;
	size_t nrows;
	struct ws_cell *cells; /* nrows × def->ncolumns, row-major; NULL where rows have a source */
	struct ws_table_source source;
	struct ws_cell *totals; /* def->ncolumns, or NULL: parts re-add to it */
	char **notes;           /* what a reader must know: losses, filters, conventions */
	size_t nnotes;
	size_t nheadline_notes;    /* the first notes that answer what people open the table for */
	const char **shown_titles; /* by column: what people see for the header; NULL = that */
	const char *side[2];       /* what people see for A and B in titles; NULL = A and B */
	char *not_recorded;        /* why the table is empty and which option records it, or NULL */
	bool without_gpu;          /* people read "kernel time" for "GPU time": no GPU ran */
	bool is_chosen;            /* its columns are those that the user named, in this order */
	bool is_sorted;            /* its rows are in an order that the user named */
	struct ws_table_arena *arena; /* owns cells, texts, notes */
};

/* A new empty table of this kind. Free with ws_table_free. */
struct ws_table *ws_table_new(const struct ws_table_def *def);
void ws_table_free(struct ws_table *t); /* NULL is legal */

/* The table has so many rows, of this source, whose ctx it frees. */
void ws_table_set_source(struct ws_table *t, const struct ws_table_source *source, size_t nrows);
/* Rows by a column; equal ones stay in their order, empty cells come last. */
void ws_table_sort(struct ws_table *t, size_t column, bool descending);
/* The cells of a row; of a row that is made, until the next is asked for. */
const struct ws_cell *ws_table_cells(const struct ws_table *t, size_t row);

/* Is it this text? */
bool ws_cell_is(const struct ws_cell *cell, const char *text);
/* Its text; of any other cell the empty one. */
static inline struct ws_cell_text ws_cell_text(const struct ws_cell *cell)
{
	return cell->type == WS_CELL_TEXT ? cell->text : (struct ws_cell_text){"", 0};
}
/* The same for printf's "%.*s". */
#define WS_CELL_SHOWN(cell) (int)ws_cell_text(cell).len, ws_cell_text(cell).ptr
/* Of one type, and the same there; two empty ones are. */
bool ws_cell_same(const struct ws_cell *a, const struct ws_cell *b);
/* Its number; NaN of any other cell. */
double ws_cell_number(const struct ws_cell *cell);
/* Of a number; 0 of anything else. */
double ws_cell_magnitude(const struct ws_cell *cell);

/* What the cells of a column have in common. */
struct ws_column_profile {
	size_t nempty;
	int decade; /* the median of its numbers but 0 is 10^decade or more, and under ten times
	               that; INT_MIN: it has none */
	bool has_fraction, has_negative;
	bool is_constant; /* all cells are the same */
};
/* Of each column in the first `rows` rows; of the same rows found once. */
const struct ws_column_profile *ws_table_profile(const struct ws_table *t, size_t rows);
/* Of one column in rows [begin, end). */
void ws_table_profile_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                             struct ws_column_profile *out);

/* Append a row of empty cells; the returned cells stay valid until the next append. */
struct ws_cell *ws_table_row(struct ws_table *t);
/* The totals row (made on first use). */
struct ws_cell *ws_table_totals(struct ws_table *t);

/* A row whose first two columns are a subject and a sentence about it. */
struct ws_cell *ws_table_add(struct ws_table *t, const char *subject, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

void ws_cell_set_int(struct ws_cell *cell, int64_t value);
void ws_cell_set_real(struct ws_cell *cell, double value); /* not finite: EMPTY */
/* Copies len bytes into the table. */
void ws_cell_set_text(struct ws_table *t, struct ws_cell *cell, const char *text, size_t len);
void ws_cell_set_str(struct ws_table *t, struct ws_cell *cell, const char *text);
/* The same of texts that live as long as somebody reads the table. */
void ws_cell_share_text(struct ws_cell *cell, const char *text, size_t len);
void ws_cell_share_str(struct ws_cell *cell, const char *text);

/* Add a note; printf-like. */
void ws_table_note(struct ws_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Add a note behind the other answers and before all else; writers for people put it on top. */
void ws_table_answer(struct ws_table *t, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* No GPU ran: before all notes. */
void ws_table_set_without_gpu(struct ws_table *t);
/* No kernel ran: the meaning says nothing of shares of its time. */
void ws_table_set_without_shares(struct ws_table *t);
/* Another title, and name of the sheet (NULL: the same), than those of its kind. */
void ws_table_set_title(struct ws_table *t, const char *title, const char *sheet);
/* Another header of a column for people, with its unit as in the header; programs read that. */
void ws_table_show_as(struct ws_table *t, size_t column, const char *title);
/* Short names of the sides A and B of a comparison; long ones change nothing. */
void ws_table_set_sides(struct ws_table *t, const char *a, const char *b);
void ws_table_set_not_recorded(struct ws_table *t, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Position of a column by id; -1 when there is none. */
int ws_table_column_index(const struct ws_table_def *def, const char *id);

/*
 * A set of tables in order: what a report or a diff is. `trace` names the
 * input, `filter` the filters in words ("" = none).
 */
struct ws_report {
	const char *title; /* "Warpsheet report", "Warpsheet diff" */
	const char *trace; /* path of the trace, or "A against B" */
	const char *filter;
	const char *scope;  /* the part of the run, in words; NULL where there is none to tell */
	bool lacks_comm;    /* the summary has this alarm: ws_model_lacks_comm */
	int64_t created_ns; /* from the trace, never from the clock: ns since 1970, UTC */
	struct ws_table **tables;
	size_t ntables;
	struct ws_page *page; /* its first screen (report/page/page.h); NULL: it has none */
	void *kept;           /* what rows with a source are made of; freed behind the tables */
	void (*free_kept)(void *kept);
};

/*
 * Writers. Each gives the same bytes for the same tables.
 * A writer that makes text appends to a FILE that the caller opened and checks.
 */

struct ws_text_opts {
	int width;          /* columns of the terminal, 0 = unlimited */
	int colour;         /* use SGR escapes */
	size_t max_rows;    /* rows of each table, the rest counted in words; 0 = all */
	bool takes_columns; /* the user may choose columns: --columns */
	bool has_front;     /* the first screen in place of the first table, the others bare */
};
void ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts);
/* RFC 4180, one table, one header line, nothing else. */
enum ws_status ws_out_csv(FILE *f, const struct ws_table *table, struct ws_err *err);
/* One table: the object of the spec. */
enum ws_status ws_out_json_table(FILE *f, const struct ws_report *report,
                                 const struct ws_table *table, struct ws_err *err);
/* All tables: {"title", "trace", "filter", "tables": {"name": {…}, …}}. */
enum ws_status ws_out_json(FILE *f, const struct ws_report *report, struct ws_err *err);
/* The same of the first rows of each. */
enum ws_status ws_out_json_rows(FILE *f, const struct ws_report *report, size_t most_rows,
                                struct ws_err *err);
void ws_out_markdown(FILE *f, const struct ws_report *report);
/* One HTML file of all tables, without network: docs/reports.md says what is in it. */
enum ws_status ws_out_html(FILE *f, const struct ws_report *report, struct ws_err *err);
/*
 * A workbook: one sheet a table in order. Written beside path and renamed.
 * ENVIRONMENT when the module that writes it, or a library of it, is missing.
 */
enum ws_status ws_out_xlsx(const char *path, const struct ws_report *report, struct ws_err *err);
/* The same, of the module. */
enum ws_status ws_xlsx_write(const char *path, const struct ws_report *report, struct ws_err *err);

/*
 * Numbers and texts as people read them. Numbers: one unit a column,
 * thousands separators, ties rounded half away from zero; for the text and
 * Markdown writers. Texts: nothing that a terminal, an editor or a sheet would
 * act on; for the workbook too. Data formats give the plain value.
 */

#define WS_DISPLAY_NUMBER_MAX 64

/*
 * How a column is shown: in one unit, of which its median cell has 1 to 999, and with so many
 * decimals that this has three digits. What is too small for them is "<0.1", never 0.
 */
struct ws_shown_column {
	char title[128];  /* the header with the unit that is shown: "Total Time (ms)" */
	const char *unit; /* "ms", "%", "" */
	enum ws_display display;
	int exponent; /* shown value = value / 10^exponent */
	int decimals;
	bool has_negative;
	bool is_mixed; /* rows have units of their own: each number has three digits */
};

#define WS_DISPLAY_TITLE 256
/* The words A and B of a title become the names of the table's sides. */
void ws_display_sides(const struct ws_table *t, char *title, size_t size);
/* The title of a table with them; returns out. */
const char *ws_display_title(const struct ws_table *t, char out[WS_DISPLAY_TITLE]);
void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out);
/* The same where the first rows alone are shown. */
void ws_display_column_of(const struct ws_table *t, size_t column, size_t rows,
                          struct ws_shown_column *out);

/* Decimals of a number in this column. */
int ws_display_decimals(const struct ws_shown_column *shown, const struct ws_cell *cell);
/*
 * The cell as shown: "" for EMPTY. Only for INT and REAL cells; returns the
 * length, always less than WS_DISPLAY_NUMBER_MAX.
 */
size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX]);

/*
 * A table whose rows are the lines of a page instead of records: columns
 * section, item, text, and numbers of which most are empty. False when the
 * table is no such page.
 */
struct ws_page_columns {
	size_t section, item, text;
};
bool ws_display_page(const struct ws_table_def *def, struct ws_page_columns *out);
/* The row behind the last line of the section that begins at row `begin`. */
size_t ws_display_section_end(const struct ws_table *t, const struct ws_page_columns *columns,
                              size_t begin);
/* How the numbers of a column are shown in rows [begin, end): a section of a page, or part of it.
 */
void ws_display_section_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                               struct ws_shown_column *out);
/* A number with its unit: "18.2 ms", "17.3 %", "412". "" for EMPTY and TEXT. */
size_t ws_display_quantity(const struct ws_table *t, const struct ws_shown_column *shown,
                           size_t row, size_t column, char out[WS_DISPLAY_NUMBER_MAX]);

/* One character as shown. */
struct ws_glyph {
	char bytes[12];
	uint8_t len;   /* of bytes */
	uint8_t width; /* columns of a terminal: 0, 1 or 2; more for an escape */
};
/*
 * The first character of text[0..len), len > 0: as it is, or an escape where
 * it would do harm (\n, \t, \x1b, \u202e), or U+FFFD for a byte that is no
 * UTF-8. Returns the bytes taken, at least 1.
 */
size_t ws_display_glyph(const char *text, size_t len, struct ws_glyph *out);
/* What people read for a class of kernels: "communication" for "comm", else its own name. */
struct ws_bytes ws_display_class(struct ws_bytes name);
/* All characters of a text. */
void ws_display_put(FILE *f, const char *text, size_t len);
/* The same of a name that came from outside, as those of files do. */
void ws_display_name(FILE *f, const char *name);
/* Columns that the text takes. */
size_t ws_display_width(const char *text, size_t len);
/* Columns that a cell takes as it is shown. */
size_t ws_display_cell_width(const struct ws_shown_column *shown, const struct ws_cell *cell);

/*
 * What people see of a table: which columns, in which order, in which units. Every writer for
 * people takes them from here; CSV and JSON have the table as it is.
 */

struct ws_view_column {
	size_t index; /* in the table */
	enum ws_column_rank rank;
	struct ws_shown_column shown;
	bool is_tree;  /* its paths are shown as their last parts, indented: ws_view_label */
	bool is_class; /* of kernels: ws_display_class is shown */
	bool is_size;  /* three numbers in columns are shown as "82960×1×1" */
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
