/*
 * One HTML file of a whole report, which needs no network: the tables and the first screen,
 * deflated, and a script that shows, sorts, filters and draws them. The browser runs only that
 * script: the page's policy has its hash.
 */
#include "report/kernel_info/classify.h"
#include "report/writers/html/private.h"

static const char style[] = {
#include "page.css.inc"
};

static const char script[] = {
#include "page.js.inc"
};

/* Their SHA-256. */
static const unsigned char style_hash[] = {
#include "page.css.hash.inc"
};

static const unsigned char script_hash[] = {
#include "page.js.hash.inc"
};

/* Maximum rows of a table in the page, to keep it fast and small enough for mail. */
#define MOST_ROWS 1000

static const char *const classes[] = {WS_OP_CLASS_LIST(WS_LIST_SECOND_NAME)};

/* {"report": {…}, "page": {…}, …} */
static enum ws_status put_data(FILE *f, const struct ws_report *report, struct ws_err *err)
{
	struct ws_json_writer j;
	char *rest = NULL;
	size_t len = 0;
	FILE *memory = ws_xmemstream(&rest, &len);

	ws_json_begin(&j, memory);
	ws_json_object_begin(&j);
	/* {"ranges": 2229}: number of rows of tables that are cut. */
	ws_json_object_begin(ws_json_key(&j, "cut"));
	for (size_t i = 0; i < report->ntables; i++)
		if (report->tables[i]->nrows > MOST_ROWS)
			ws_json_u64(ws_json_key(&j, report->tables[i]->def->name),
			            report->tables[i]->nrows);
	ws_json_object_end(&j);
	/* The displayed form of each table, as in every other format. */
	struct ws_arena arena = {0};

	ws_json_object_begin(ws_json_key(&j, "views"));
	for (size_t i = 0; i < report->ntables; i++) {
		const struct ws_table *t = report->tables[i];
		const size_t rows = t->nrows > MOST_ROWS ? MOST_ROWS : t->nrows;
		struct ws_view view;

		ws_view_make(&arena, t, rows, &view);
		ws_view_join_spreads(&view);
		ws_json_object_begin(ws_json_key(&j, t->def->name));
		WS_JSON_EACH_OBJECT(&j, "columns", c, view.n) {
			ws_json_u64(ws_json_key(&j, "index"), view.column[c].index);
			ws_json_str(ws_json_key(&j, "title"), view.column[c].shown.title);
			ws_json_bool(ws_json_key(&j, "plain"),
			             view.column[c].shown.display == WS_DISPLAY_PLAIN);
			ws_json_i64(ws_json_key(&j, "exponent"), view.column[c].shown.exponent);
			ws_json_i64(ws_json_key(&j, "decimals"), view.column[c].shown.decimals);
			ws_json_bool(ws_json_key(&j, "mixed"), view.column[c].shown.is_mixed);
			ws_json_bool(ws_json_key(&j, "tree"), view.column[c].is_tree);
			if (view.column[c].is_class)
				ws_json_bool(ws_json_key(&j, "class"), true);
			if (view.column[c].spread)
				ws_json_u64(ws_json_key(&j, "spread"), view.column[c].spread - 1);
		}
		ws_json_u64(ws_json_key(&j, "keys"), view.nkeys);
		ws_json_u64(ws_json_key(&j, "answers"), view.nanswers);
		ws_json_str(ws_json_key(&j, "same"), view.constants);
		/* For a tree: label and depth of each row, from which the script makes branches. */
		if (view.column[0].is_tree) {
			WS_JSON_EACH_ARRAY(&j, "labels", row, rows) {
				char label[WS_VIEW_LABEL];
				unsigned depth = 0;
				const size_t n = ws_view_label(&view, ws_table_cells(view.t, row),
				                               label, &depth);

				ws_json_string(&j, label, n);
				ws_json_u64(&j, depth);
			}
		}
		ws_json_object_end(&j);
	}
	ws_json_object_end(&j);
	ws_arena_free(&arena);
	WS_JSON_EACH_ARRAY(&j, "colours", c, WS_PAGE_NCOLOURS) {
		const struct ws_page_colour_def def = ws_page_colour_def((enum ws_page_colour)c);

		ws_json_i64(&j, def.light);
		ws_json_i64(&j, def.dark);
		ws_json_i64(&j, def.ink);
	}
	/* colours of computing, communication, copies and causes of idle time */
	WS_JSON_EACH(&j, "uses", use, WS_PAGE_USES)
		ws_json_i64(&j, ws_page_use_colour(use));
	WS_JSON_EACH_ARRAY(&j, "shades", depth, WS_PAGE_SHADES) {
		ws_json_i64(&j, ws_page_shade(depth).light);
		ws_json_i64(&j, ws_page_shade(depth).ink);
	}
	WS_JSON_EACH(&j, "phases", phase, WS_PAGE_PHASES)
		ws_json_i64(&j, ws_page_phase_colour(phase));
	ws_json_object_begin(ws_json_key(&j, "classes"));
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		ws_json_i64(ws_json_key(&j, classes[i]),
		            ws_page_class_colour(classes[i], strlen(classes[i])));
	ws_json_object_end(&j);

	/* What people read for a class that has another name in the data. */
	ws_json_object_begin(ws_json_key(&j, "names"));
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		const struct ws_bytes name = ws_display_class(ws_bytes_of(classes[i]));

		if (name.ptr != (const void *)classes[i])
			ws_json_string(ws_json_key(&j, classes[i]), name.ptr, name.len);
	}
	ws_json_object_end(&j);
	ws_html_put_page(ws_json_key(&j, "page"), report->page);
	ws_html_put_answers(ws_json_key(&j, "first"), report->page);
	ws_json_object_end(&j);
	enum ws_status status = ws_json_finish(&j, err);
	ws_xfclose(memory);
	fputs("{\"report\": ", f);
	WS_THEN(status, ws_out_json_rows(f, report, MOST_ROWS, err));
	fputs(", ", f);
	fwrite(rest + 1, 1, len - 1, f); /* after its first brace */
	free(rest);
	return status;
}

static void put_part(FILE *f, const char *text, const char **before)
{
	if (!text || !*text)
		return;
	fputs(*before, f);
	ws_html_put_text(f, text);
	*before = " · ";
}

enum ws_status ws_out_html(FILE *f, const struct ws_report *report, struct ws_err *err)
{
	const struct ws_page *page = report->page;

	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'sha256-",
	      f);
	ws_html_put_base64(f, style_hash, sizeof(style_hash));
	fputs("'; script-src 'sha256-", f);
	ws_html_put_base64(f, script_hash, sizeof(script_hash));
	fputs("'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
	      f);
	/* "timesformer: 383 ms, GPU 40 %": distinguishes tabs */
	ws_html_put_text(f, page ? page->title : report->title);
	fputs(": ", f);
	ws_html_put_text(f, page && page->nfigures ? page->figure[0].value
	                    : page                 ? report->title
	                                           : report->trace);
	for (size_t i = 1; page && i < page->nfigures; i++)
		if (strcmp(page->figure[i].label, "GPU computing") == 0) {
			fputs(", GPU ", f);
			ws_html_put_text(f, page->figure[i].value);
		}
	fputs("</title>\n<style>", f);
	fwrite(style, 1, sizeof(style), f);
	fputs("</style>\n</head>\n", f);
	fputs("<body>\n<header>\n", f);
	/* the grey line of a page, or the trace and filter of other reports */
	const char *before = "";

	fputs("<h1>", f);
	ws_html_put_text(f, page ? page->title : report->title);
	fputs("</h1>\n<p>", f);
	if (page) {
		put_part(f, page->device, &before);
		put_part(f, page->source, &before);
		put_part(f, page->scope, &before);
		put_part(f, page->losses, &before);
	} else {
		put_part(f, report->trace, &before);
		put_part(f, report->scope, &before);
		put_part(f, report->filter, &before);
	}
	fputs("</p>\n", f);
	fputs("</header>\n<nav aria-label=\"Sections\"></nav>\n<main>\n", f);
	ws_html_put_plain(f, report);
	fputs("</main>\n", f);
	char *json = NULL;
	size_t len = 0;
	FILE *memory = ws_xmemstream(&json, &len);

	const enum ws_status status = put_data(memory, report, err);

	ws_xfclose(memory);
	fputs("<script type=\"text/plain\" id=\"data\">", f);
	if (status == WS_OK)
		ws_html_put_packed(f, json, len);
	fputs("</script>\n", f);
	free(json);
	if (page && page->timeline)
		ws_html_put_boxes(f, page->timeline, "boxes");
	for (int s = 0; s < 2 && page && page->side[1]; s++)
		if (page->side[s]->timeline)
			ws_html_put_boxes(f, page->side[s]->timeline, s ? "boxes-b" : "boxes-a");
	fputs("<script>", f);
	fwrite(script, 1, sizeof(script), f);
	fputs("</script>\n</body>\n</html>\n", f);
	return status;
}
