/*
 * One HTML file of a whole report, which needs no network: the JSON of the
 * same tables, and a script that shows, sorts, filters and draws them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/xalloc.h"
#include "report/table/table.h"

static const char style[] = {
#include "page.css.inc"
};
static const char script[] = {
#include "page.js.inc"
};

/* Rows of a table in the page: what a browser shows at once, and a mail takes. */
#define MOST_ROWS 1000

/* Text between tags. */
static void put_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		default:
			fputc(*text, f);
		}
	}
}

/* JSON inside a script element: '<' occurs in texts only, and could end the element. */
static void put_json(FILE *f, const char *json, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (json[i] == '<')
			fputs("\\u003c", f);
		else
			fputc(json[i], f);
	}
}

/* The same tables with fewer rows, which borrow from them. */
struct page {
	struct ws_report report;
	struct ws_arena arena;
};

static void page_open(struct page *p, const struct ws_report *report)
{
	struct ws_table *tables;

	p->report = *report;
	WS_NEW(&p->arena, tables, report->ntables);
	WS_NEW(&p->arena, p->report.tables, report->ntables);
	for (size_t i = 0; i < report->ntables; i++) {
		tables[i] = *report->tables[i];
		if (tables[i].nrows > MOST_ROWS)
			tables[i].nrows = MOST_ROWS;
		p->report.tables[i] = &tables[i];
	}
}

/* {"ranges": 2229}: how many rows the tables have that do not show all. */
static void put_cut(FILE *f, const struct ws_report *report)
{
	const char *comma = "";

	fputc('{', f);
	for (size_t i = 0; i < report->ntables; i++) {
		const struct ws_table *t = report->tables[i];

		if (t->nrows <= MOST_ROWS)
			continue;
		fprintf(f, "%s\"%s\": %zu", comma, t->def->name, t->nrows);
		comma = ", ";
	}
	fputc('}', f);
}

enum ws_status ws_out_html(FILE *f, const struct ws_report *report, struct ws_err *err)
{
	struct page page = {0};
	char *json = NULL;
	size_t len = 0;
	FILE *memory = ws_xmemstream(&json, &len);
	enum ws_status status;

	page_open(&page, report);
	status = ws_out_json(memory, &page.report, err);
	ws_xfclose(memory);
	if (status == WS_OK) {
		fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<link rel=\"icon\" href=\"data:,\">\n<title>",
		      f);
		put_text(f, report->title);
		fputs(": ", f);
		put_text(f, report->trace);
		fputs("</title>\n<style>\n", f);
		fwrite(style, 1, sizeof(style), f);
		fputs("</style>\n</head>\n<body>\n<header>\n<h1>", f);
		put_text(f, report->title);
		fputs("</h1>\n<p>", f);
		put_text(f, report->trace);
		fputs("</p>\n<p class=\"soft\">", f);
		if (report->scope) {
			fputs("Scope: ", f);
			put_text(f, report->scope);
			fputs(". ", f);
		}
		put_text(f, report->filter && *report->filter ? report->filter : "");
		fputs("</p>\n</header>\n<nav></nav>\n<main>\n<noscript>The tables need JavaScript: "
		      "this "
		      "file contains it, but your "
		      "browser is set not to run it.</noscript>\n"
		      "</main>\n<script type=\"application/json\" id=\"report\">",
		      f);
		put_json(f, json, len);
		fputs("</script>\n<script type=\"application/json\" id=\"cut\">", f);
		put_cut(f, report);
		fputs("</script>\n<script>\n", f);
		fwrite(script, 1, sizeof(script), f);
		fputs("</script>\n</body>\n</html>\n", f);
	}
	free(json);
	ws_arena_free(&page.arena);
	return status;
}
