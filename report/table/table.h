/*
 * The typed table: analyses produce it, writers print it. Analysis never formats; writers never
 * compute.
 */
#pragma once

#include "formats/base/bytes.h"
#include "formats/base/memory.h"

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

/* Display of the numbers of a column for people. Data formats always contain the plain value. */
enum ws_display {
	WS_DISPLAY_PLAIN,   /* text, ids: as it is */
	WS_DISPLAY_COUNT,   /* 1,234 */
	WS_DISPLAY_TIME_NS, /* ns in the data; all such columns of a table have one unit */
	WS_DISPLAY_EACH_NS, /* … statistics of single items (mean, …), in a unit of their own */
	WS_DISPLAY_START_NS, /* … a moment */
	WS_DISPLAY_PERCENT,  /* 0..100 in the data */
	WS_DISPLAY_RATIO,    /* 1.23 */
	WS_DISPLAY_REAL,     /* 1.2345 */
	WS_DISPLAY_BYTES,    /* bytes in the data; displayed in one SI unit for all such columns */
	WS_DISPLAY_FLOPS,    /* operations in the data; the same */
};

/*
 * Importance of a column for people: columns are displayed in this order, and columns of one rank
 * in the order of the table. CSV and JSON have all columns, in the order of the table.
 */
enum ws_column_rank {
	WS_RANK_NAME = -2, /* names the row: the first column */
	WS_RANK_KEY,       /* further keys of rows: never hidden by scrolling */
	WS_RANK_ANSWER,    /* the answer for which people open the table: always visible */
	WS_RANK_DETAIL,    /* hidden first */
	WS_RANK_FULL,      /* a detail: the full name that NAME shortens: the last column */
};

struct ws_table_column {
	const char *id;         /* snake_case, unique in the table: JSON "id" */
	const char *title;      /* header with its unit, the CSV contract: "Total Time (ns)" */
	const char *unit;       /* "ns", "%", "bytes", "" : JSON "unit" */
	enum ws_cell_type type; /* TEXT, INT or REAL */
	enum ws_display display;
	const char *definition;   /* one or two sentences, in words */
	enum ws_column_rank rank; /* default: an answer */
};

/* A kind of table: one line of tables.def. Static data. */
struct ws_table_def {
	const char *name;    /* --table NAME */
	const char *title;   /* for people: "CUDA GPU Kernel Summary" */
	const char *sheet;   /* XLSX sheet name, at most 31 characters, ASCII */
	const char *meaning; /* one sentence: meaning of a row, and denominator of shares */
	const struct ws_table_column *columns;
	size_t ncolumns;
};

/* Source of rows that are made when they are read, for tables as long as the trace. */
struct ws_table_source {
	void (*fill)(void *ctx, size_t row, struct ws_cell *cells); /* cells are empty */
	void (*free)(void *ctx);                                    /* may be NULL */
	void *ctx;
};

struct ws_table {
	const struct ws_table_def *def;
	size_t nrows;
	struct ws_cell *cells; /* nrows × def->ncolumns, row-major; NULL if rows have a source */
	struct ws_table_source source;
	struct ws_cell *totals; /* def->ncolumns, or NULL; parts add up to it */
	char **notes;           /* notes for readers: losses, filters, conventions */
	size_t nnotes;
	size_t nheadline_notes;    /* number of leading notes that are answers */
	const char **shown_titles; /* by column: displayed header; NULL = the column's title */
	const char *side[2];       /* displayed instead of A and B in titles; NULL = A and B */
	char *not_recorded;        /* why the table is empty and which option records it, or NULL */
	bool without_gpu; /* display "kernel time" instead of "GPU time", because no GPU ran */
	bool is_chosen;   /* the user chose its columns and their order */
	bool is_sorted;   /* the user chose the order of its rows */
	struct ws_table_arena *arena; /* owns cells, texts, notes */
};

/* A new empty table of this kind. Free with ws_table_free. */
struct ws_table *ws_table_new(const struct ws_table_def *def);
void ws_table_free(struct ws_table *t); /* NULL is legal */

/* Gives the table rows from a source, whose ctx it frees. */
void ws_table_set_source(struct ws_table *t, const struct ws_table_source *source, size_t nrows);
/* Removes rows that only head others in a tree: paths of `range-kernels` without a kernel of their
 * own. For programs, and for rows that stand in no tree. */
void ws_table_drop_headings(struct ws_table *t);
/* Sorts rows by a column. Stable; empty cells come last. */
void ws_table_sort(struct ws_table *t, size_t column, bool descending);
/* The cells of a row. If rows have a source, valid until the next call. */
const struct ws_cell *ws_table_cells(const struct ws_table *t, size_t row);

/* Does the cell have this text? */
bool ws_cell_is(const struct ws_cell *cell, const char *text);
/* The text of a cell; empty for a cell without text. */
static inline struct ws_cell_text ws_cell_text(const struct ws_cell *cell)
{
	return cell->type == WS_CELL_TEXT ? cell->text : (struct ws_cell_text){"", 0};
}
/* The same as arguments for "%.*s" of printf. */
#define WS_CELL_SHOWN(cell) (int)ws_cell_text(cell).len, ws_cell_text(cell).ptr
/* Do two cells have equal type and value? True for two empty cells. */
bool ws_cell_same(const struct ws_cell *a, const struct ws_cell *b);
/* The number in a cell; NaN for a cell without a number. */
double ws_cell_number(const struct ws_cell *cell);
/* Absolute value of a number; 0 for other cells. */
double ws_cell_magnitude(const struct ws_cell *cell);

/* Properties of the cells of a column. */
struct ws_column_profile {
	size_t nempty;
	int decade; /* power of ten of the median non-zero number, rounded down; INT_MIN: none */
	bool has_fraction, has_negative;
	bool is_constant; /* all cells are the same */
};
/* Profiles of each column over the first `rows` rows; cached for the same number of rows. */
const struct ws_column_profile *ws_table_profile(const struct ws_table *t, size_t rows);
/* Profile of one column over rows [begin, end). */
void ws_table_profile_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                             struct ws_column_profile *out);

/* Append a row of empty cells; the returned cells stay valid until the next append. */
struct ws_cell *ws_table_row(struct ws_table *t);
/* The totals row (made on first use). */
struct ws_cell *ws_table_totals(struct ws_table *t);

/* Appends a row whose first two columns are a subject and a sentence about it. */
struct ws_cell *ws_table_add(struct ws_table *t, const char *subject, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

void ws_cell_set_int(struct ws_cell *cell, int64_t value);
void ws_cell_set_real(struct ws_cell *cell, double value); /* not finite: EMPTY */
/* Copies len bytes into the table. */
void ws_cell_set_text(struct ws_table *t, struct ws_cell *cell, const char *text, size_t len);
void ws_cell_set_str(struct ws_table *t, struct ws_cell *cell, const char *text);
/* The same without a copy, for texts that outlive the table. */
void ws_cell_share_text(struct ws_cell *cell, const char *text, size_t len);
void ws_cell_share_str(struct ws_cell *cell, const char *text);

/* Add a note; printf-like. */
void ws_table_note(struct ws_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a note after the other answers and before all other notes; writers for people put it at the
 * top. */
void ws_table_answer(struct ws_table *t, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
/* Marks that no GPU ran. Call before adding notes. */
void ws_table_set_without_gpu(struct ws_table *t);
/* Marks that no kernel ran, so that the meaning omits shares of GPU time. */
void ws_table_set_without_shares(struct ws_table *t);
/* Replaces the title, and the name of the sheet (NULL: unchanged), of its kind. */
void ws_table_set_title(struct ws_table *t, const char *title, const char *sheet);
/* Replaces the displayed header of a column, which must have the same unit. Data formats keep the
 * original header. */
void ws_table_show_as(struct ws_table *t, size_t column, const char *title);
/* Sets names of the sides A and B of a comparison; ignored if they are long. */
void ws_table_set_sides(struct ws_table *t, const char *a, const char *b);
void ws_table_set_not_recorded(struct ws_table *t, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Position of a column by id; -1 if there is none. */
int ws_table_column_index(const struct ws_table_def *def, const char *id);

/*
 * An ordered set of tables: a report or a diff. `trace` names the input, `filter` the filters in
 * words ("" = none).
 */
struct ws_report {
	const char *title; /* "Warpsheet report", "Warpsheet diff" */
	const char *trace; /* path of the trace, or "A against B" */
	const char *filter;
	const char *scope;  /* the part of the run, in words; NULL if not applicable */
	bool lacks_comm;    /* the summary has the alarm of ws_model_lacks_comm */
	int64_t created_ns; /* from the trace, never from the clock: ns since 1970, UTC */
	struct ws_table **tables;
	size_t ntables;
	struct ws_page *page; /* its first screen (report/page/page.h); NULL: it has none */
	void *kept;           /* data of rows with a source; freed after the tables */
	void (*free_kept)(void *kept);
};

/*
 * Writers. Each gives the same bytes for the same tables. Text writers append to a FILE that the
 * caller opens and checks for errors.
 */

struct ws_text_opts {
	int width;       /* columns of the terminal, 0 = unlimited */
	int colour;      /* use SGR escapes */
	size_t max_rows; /* rows shown of each table, followed by the number of all rows; 0 = all */
	bool takes_columns; /* the command has the option --columns */
	bool has_front; /* the first screen replaces the first table; other tables have no head */
};
void ws_out_text(FILE *f, const struct ws_report *report, const struct ws_text_opts *opts);
/* RFC 4180, one table, one header line, nothing else. */
void ws_out_csv(FILE *f, const struct ws_table *table);
/* One table: the object of docs/reference/json.md. */
enum ws_status ws_out_json_table(FILE *f, const struct ws_report *report,
                                 const struct ws_table *table, struct ws_err *err);
/* All tables: {"title", "trace", "filter", "tables": {"name": {…}, …}}. */
enum ws_status ws_out_json(FILE *f, const struct ws_report *report, struct ws_err *err);
/* The same with the first rows of each table. */
enum ws_status ws_out_json_rows(FILE *f, const struct ws_report *report, size_t most_rows,
                                struct ws_err *err);
void ws_out_markdown(FILE *f, const struct ws_report *report);
/* One self-contained HTML file with all tables: docs/dev/pages.md. */
enum ws_status ws_out_html(FILE *f, const struct ws_report *report, struct ws_err *err);
/*
 * A workbook with one sheet per table, in order. Written beside path and then renamed. Returns
 * ENVIRONMENT if the module that writes workbooks, or a library of it, is missing.
 */
enum ws_status ws_out_xlsx(const char *path, const struct ws_report *report, struct ws_err *err);
/* The implementation in the module. */
enum ws_status ws_xlsx_write(const char *path, const struct ws_report *report, struct ws_err *err);

/*
 * Numbers and texts for display. Numbers have one unit per column, thousands separators, and are
 * rounded half away from zero; for the text and Markdown writers. Texts contain nothing that a
 * terminal, an editor or a sheet would interpret; for the workbook, too. Data formats have the
 * plain value.
 */

#define WS_DISPLAY_NUMBER_MAX 64

/*
 * Display of a column: in the unit in which its median cell is between 1 and 999, with as many
 * decimals as give the median three digits. Smaller values are shown as "<0.1", never 0.
 */
struct ws_shown_column {
	char title[128];  /* the header with the displayed unit: "Total Time (ms)" */
	const char *unit; /* "ms", "%", "" */
	enum ws_display display;
	int exponent; /* shown value = value / 10^exponent */
	int decimals;
	bool has_negative;
	bool is_mixed; /* each row has its own unit: each number has three digits */
};

#define WS_DISPLAY_TITLE 256
/* Replaces the words A and B in a title by the names of the table's sides. */
void ws_display_sides(const struct ws_table *t, char *title, size_t size);
/* The title of a table with these names; returns out. */
const char *ws_display_title(const struct ws_table *t, char out[WS_DISPLAY_TITLE]);
void ws_display_column(const struct ws_table *t, size_t column, struct ws_shown_column *out);
/* The same if only the first rows are shown. */
void ws_display_column_of(const struct ws_table *t, size_t column, size_t rows,
                          struct ws_shown_column *out);

/* Decimals of a number in this column. */
int ws_display_decimals(const struct ws_shown_column *shown, const struct ws_cell *cell);
/*
 * Formats a cell: "" for EMPTY. Only for INT and REAL cells; returns the length, always less than
 * WS_DISPLAY_NUMBER_MAX.
 */
size_t ws_display_number(const struct ws_shown_column *shown, const struct ws_cell *cell,
                         char out[WS_DISPLAY_NUMBER_MAX]);

/*
 * Columns of a table whose rows are lines of a page instead of records: section, item, text, and
 * numbers, most of which are empty. False if the table has another form.
 */
struct ws_page_columns {
	size_t section, item, text;
};
bool ws_display_page(const struct ws_table_def *def, struct ws_page_columns *out);
/* The row behind the last line of the section that begins at row `begin`. */
size_t ws_display_section_end(const struct ws_table *t, const struct ws_page_columns *columns,
                              size_t begin);
/* Display of the numbers of a column in rows [begin, end): a section of a page, or part of one. */
void ws_display_section_column(const struct ws_table *t, size_t column, size_t begin, size_t end,
                               struct ws_shown_column *out);
/* A number with its unit: "18.2 ms", "17.3 %", "412". "" for EMPTY and TEXT. */
size_t ws_display_quantity(const struct ws_table *t, const struct ws_shown_column *shown,
                           size_t row, size_t column, char out[WS_DISPLAY_NUMBER_MAX]);

/* One displayed character. */
struct ws_glyph {
	char bytes[12];
	uint8_t len;   /* length of bytes */
	uint8_t width; /* columns of a terminal: 0, 1 or 2; more for an escape */
};
/*
 * The first character of text[0..len), len > 0: as it is, or an escape where it would be
 * interpreted (\n, \t, \x1b, \u202e), or U+FFFD for a byte that is not UTF-8. Returns the number of
 * bytes consumed, at least 1.
 */
size_t ws_display_glyph(const char *text, size_t len, struct ws_glyph *out);
/* What people read for a class of kernels: "communication" for "comm", else its own name. */
struct ws_bytes ws_display_class(struct ws_bytes name);
/* All characters of a text. */
void ws_display_put(FILE *f, const char *text, size_t len);
/* The same for a name from outside, such as that of a file. */
void ws_display_name(FILE *f, const char *name);
/* Width of a text in terminal columns. */
size_t ws_display_width(const char *text, size_t len);
/* Width of a displayed cell. */
size_t ws_display_cell_width(const struct ws_shown_column *shown, const struct ws_cell *cell);

/*
 * The displayed form of a table: which columns, in which order, in which units. Every writer for
 * people takes them from here; CSV and JSON have the table as it is.
 */

struct ws_view_column {
	size_t index; /* in the table */
	enum ws_column_rank rank;
	struct ws_shown_column shown;
	bool is_tree;  /* its paths are shown as their last parts, indented: ws_view_label */
	bool is_class; /* of kernels: ws_display_class is shown */
	bool is_size;  /* three numbers in columns are shown as "82960×1×1" */
	size_t spread; /* index + 1 of the column whose number is shown in the same cell, "33.29 ±
	                  0.71"; 0 = none */
};

struct ws_view {
	const struct ws_table *t;
	struct ws_view_column *column; /* the name first, then keys, answers, details */
	size_t n, nkeys,
	        nanswers; /* columns; number of all columns, of keys, and of keys and answers */
	const char *constants; /* "Device 0; Style PushPop": columns left out as constant */
	size_t least_depth;    /* of the paths of a tree */
	size_t leaf; /* of a tree: index + 1 of the column whose text, if any, is the label of a row
	                inside its path; 0 = none */
};

/*
 * Makes the view of a table of which the first `rows` rows are shown. It leaves out empty columns,
 * constant texts, and details that are constant or equal to another column. Columns that the user
 * has chosen are never left out. If all GPU times are empty, host times are not details. Everything
 * is in the arena.
 */
void ws_view_make(struct ws_arena *arena, const struct ws_table *t, size_t rows,
                  struct ws_view *out);

/* Puts the deviations of a sweep into the cells of their means, which become texts. */
void ws_view_join_spreads(struct ws_view *v);

/* The displayed cell of a column that is not a tree; `own` and `text` provide storage. */
#define WS_VIEW_SIZE (2 * WS_DISPLAY_NUMBER_MAX + 8)
const struct ws_cell *ws_view_cell(const struct ws_view_column *c, const struct ws_cell *cells,
                                   struct ws_cell *own, char text[WS_VIEW_SIZE]);

/* Width of the widest cell of a column, in the shown rows or the totals. */
size_t ws_view_widest(const struct ws_view *v, const struct ws_view_column *c, size_t rows);

#define WS_VIEW_LABEL 512
/* The last part of a path, "EncoderLayer ×12", and its depth, from 0. Returns its length. */
size_t ws_view_label(const struct ws_view *v, const struct ws_cell *cells, char out[WS_VIEW_LABEL],
                     unsigned *depth);
