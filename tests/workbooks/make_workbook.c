/*
 * make_workbook FOLDER: hand.xlsx and hand.json of the same hand-made tables,
 * with what libxlsxwriter would let through and Excel would not: for
 * tests/workbooks/check_xlsx.py, which reads the workbook back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/table/table.h"

static const struct ws_table_column columns[] = {
        {"what", "What", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "Which case.", WS_RANK_NAME},
        {"text", "Text", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "A text.", WS_RANK_ANSWER},
        {"count", "Count", "", WS_CELL_INT, WS_DISPLAY_COUNT, "A number.", WS_RANK_ANSWER},
        {"time_ns", "Time (ns)", "ns", WS_CELL_INT, WS_DISPLAY_TIME_NS, "A time.", WS_RANK_ANSWER},
        {"real", "Real", "", WS_CELL_REAL, WS_DISPLAY_REAL, "A real.", WS_RANK_ANSWER},
        {"share", "Share (%)", "%", WS_CELL_REAL, WS_DISPLAY_PERCENT, "A share.", WS_RANK_ANSWER},
        {"bytes", "Bytes (bytes)", "bytes", WS_CELL_INT, WS_DISPLAY_BYTES, "A size.",
         WS_RANK_ANSWER},
        {"id", "Id", "", WS_CELL_INT, WS_DISPLAY_PLAIN, "An id.", WS_RANK_ANSWER},
};
#define DEF(name, title, sheet)                                              \
	{                                                                    \
		name, title, sheet, "A row is a case of the test.", columns, \
		        sizeof(columns) / sizeof(*columns)                   \
	}
static const struct ws_table_def defs[] = {
        DEF("numbers", "Numbers", "Numbers"),
        DEF("texts", "Texts", "Texts"),
        /* a name twice but for its case, one too long, one with every forbidden character */
        DEF("same-name", "Same Name", "numbers"),
        DEF("long-name", "Long Name",
            "A sheet name that is much longer than the 31 that Excel takes"),
        DEF("bad-name", "Bad Name", "'a[b]c:d*e?f/g\\h'"),
        DEF("no-name", "No Name", ""),
        DEF("absent", "Absent", "Absent"),
        DEF("empty", "Empty", "Empty"),
};
enum { NUMBERS, TEXTS, SAME, LONG, BAD, NO_NAME, ABSENT, EMPTY, NTABLES };

static struct ws_cell *row(struct ws_table *t, const char *what)
{
	struct ws_cell *cells = ws_table_row(t);

	ws_cell_set_str(t, &cells[0], what);
	return cells;
}

static void fill_numbers(struct ws_table *t)
{
	static const int64_t ints[] = {
	        0,
	        -1,
	        INT64_C(1) << 53,
	        -(INT64_C(1) << 53),
	        (INT64_C(1) << 53) + 1,
	        -(INT64_C(1) << 53) - 1,
	        INT64_MAX,
	        INT64_MIN,
	        1763640000123456789,
	        123456789012345,
	};
	static const double reals[] = {
	        0.1,      -0.0,   1e300, 1e-300, 100.0 / 3, 0.1 + 0.2, 12345.678901234567,
	        -1.0 / 7, 5e-324,
	};
	struct ws_cell *cells;

	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++) {
		cells = row(t, "integer");
		ws_cell_set_int(&cells[2], ints[i]);
		ws_cell_set_int(&cells[3], ints[i]);
		ws_cell_set_int(&cells[6], ints[i]);
		ws_cell_set_int(&cells[7], ints[i]);
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		cells = row(t, "real");
		ws_cell_set_real(&cells[4], reals[i]);
		ws_cell_set_real(&cells[5], reals[i]);
	}
	cells = row(t, "not a number");
	ws_cell_set_real(&cells[4], 0.0 / 0.0);
	ws_cell_set_real(&cells[5], 1.0 / 0.0);
	cells = ws_table_totals(t);
	ws_cell_set_int(&cells[2], 4711);
	ws_cell_set_real(&cells[5], 100);
}

/* n times the same character */
static void add_long(struct ws_table *t, const char *character, size_t n)
{
	size_t len = strlen(character);
	char *text = malloc(n * len);

	if (!text)
		abort();
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, character, len);
	ws_cell_set_text(t, &row(t, "long")[1], text, n * len);
	free(text);
}

static void fill_texts(struct ws_table *t)
{
	static const char *const texts[] = {
	        "",
	        "=1+1",
	        "+1",
	        "-1",
	        "@SUM(A1)",
	        "'quoted",
	        "=HYPERLINK(\"http://example.invalid\")",
	        "{=1}",
	        "http://example.invalid/link",
	        "internal:Texts!A1",
	        "line\nfeed\r\ttab",
	        "\x1b[31mred\x7f",
	        "_x0041_",
	        "_x0041__x0042_",
	        "_X0041_ _x41_ _x00g1_",
	        "\xff\xfe broken \xe2\x82",
	        "\xed\xa0\x80 surrogate",
	        "\xef\xbf\xbf noncharacter",
	        "\xe2\x80\xaeoverride",
	        "\xc2\x85 next line",
	        "<a href=\"x\">&amp;</a> ]]>",
	        "\xf0\x9f\x94\xa5 \xe6\xb5\x8b\xe8\xaf\x95 \xc3\xa4",
	        "  blanks  ",
	        "TRUE",
	        "1e5",
	        "007",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ws_cell_set_str(t, &row(t, "text")[1], texts[i]);
	ws_cell_set_text(t, &row(t, "NUL")[1], "a\0b", 3);
	/* the most that a cell holds is 32,767 UTF-16 units */
	add_long(t, "x", 32767);
	add_long(t, "x", 32768);
	add_long(t, "\xf0\x9f\x94\xa5", 16383);
	add_long(t, "\xf0\x9f\x94\xa5", 16384);
	add_long(t, "\n", 20000);
	add_long(t, "\xff", 40000);
	ws_table_note(t, "a note with = and <tags> and a control \x01 character");
}

int main(int argc, char **argv)
{
	struct ws_table *tables[NTABLES];
	struct ws_report report = {.title = "Warpsheet \x01 <hand> report",
	                           .trace = "/tmp/\xff=trace.wtrace",
	                           .filter = "steps 1..2",
	                           .created_ns = INT64_C(1763640000000000000),
	                           .tables = tables,
	                           .ntables = NTABLES};
	enum ws_status rc;
	struct ws_err err;
	char path[4096];
	FILE *json;

	if (argc != 2) {
		fputs("usage: make_workbook FOLDER\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < NTABLES; i++) {
		tables[i] = ws_table_new(&defs[i]);
		if (!tables[i])
			abort();
	}
	fill_numbers(tables[NUMBERS]);
	fill_texts(tables[TEXTS]);
	for (size_t i = SAME; i <= NO_NAME; i++)
		ws_cell_set_int(&row(tables[i], defs[i].name)[2], (int64_t)i);
	ws_table_set_not_recorded(tables[ABSENT], "record with --%s", "more");

	snprintf(path, sizeof(path), "%s/hand.xlsx", argv[1]);
	rc = ws_out_xlsx(path, &report, &err);
	snprintf(path, sizeof(path), "%s/hand.json", argv[1]);
	json = fopen(path, "w");
	if (rc == WS_OK && json)
		rc = ws_out_json(json, &report, &err);
	if (rc != WS_OK || !json || fclose(json) != 0) {
		fprintf(stderr, "make_workbook: %s\n", rc != WS_OK ? err.text : path);
		return 1;
	}
	for (size_t i = 0; i < NTABLES; i++)
		ws_table_free(tables[i]);
	return 0;
}
