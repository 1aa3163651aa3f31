/* The workbook: sheets in order, properties, the file. */
#include "report/writers/xlsx/front.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

#include "formats/base/outfile.h"
#include "formats/base/xalloc.h"

/* Seconds since 1970 that a document property can say: until the year 9999. */
#define SECONDS_MAX INT64_C(253402300799)

static bool name_taken(const struct ws_xlsx *x, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(x->sheets[i].name, name))
			return true;
	return !strcasecmp(x->front.name, name);
}

/*
 * A name that libxlsxwriter takes for sure: its own check has memory faults in
 * 1.1.4, so nothing doubtful must reach it.
 */
static void guard_sheet_name(const struct ws_xlsx *x, size_t i, char *out)
{
	const char *wanted = x->report->tables[i]->def->sheet;
	size_t len = 0;

	for (const char *p = wanted; *p && len < WS_XLSX_SHEET_NAME_MAX; p++)
		out[len++] = isalnum((unsigned char)*p) || strchr("-_ .", *p) ? *p : '_';
	out[len] = '\0';
	if (!len)
		len = (size_t)snprintf(out, WS_XLSX_SHEET_NAME_MAX + 1, "sheet");
	for (unsigned n = 2; name_taken(x, i, out); n++) {
		char number[12];
		size_t digits = (size_t)snprintf(number, sizeof(number), "~%u", n);
		size_t keep = len + digits > WS_XLSX_SHEET_NAME_MAX
		                      ? WS_XLSX_SHEET_NAME_MAX - digits
		                      : len;

		memcpy(out + keep, number, digits + 1);
	}
}

static enum ws_status add_sheets(struct ws_xlsx *x, struct ws_err *err)
{
	if (x->report->page && x->report->page->is_comparison) {
		snprintf(x->front.name, sizeof(x->front.name), "Summary");
		x->front.sheet = workbook_add_worksheet(x->book, x->front.name);
		WS_FAIL_IF(!x->front.sheet, err, BUG, "cannot add the first sheet");
	}
	for (size_t i = 0; i < x->report->ntables; i++) {
		struct ws_xlsx_sheet *s = &x->sheets[i];

		s->table = x->report->tables[i];
		if ((i || x->front.sheet) && !s->table->nrows)
			continue; /* the first sheet names it */
		guard_sheet_name(x, i, s->name);
		s->sheet = workbook_add_worksheet(x->book, s->name);
		WS_FAIL_IF(!s->sheet, err, BUG, "cannot add sheet '%s' to the workbook", s->name);
	}
	return WS_OK;
}

static enum ws_status check(const struct ws_xlsx *x, struct ws_err *err)
{
	WS_FAIL_IF(x->failed != LXW_NO_ERROR, err, BUG, "cannot make the workbook '%s': %s",
	           x->path, lxw_strerror(x->failed));
	return WS_OK;
}

/* All rows of a table that is too long for its sheet: report.xlsx has report-NAME.csv beside it. */
static enum ws_status write_csv_beside(struct ws_xlsx *x, const struct ws_table *t,
                                       struct ws_err *err)
{
	struct ws_outfile out;
	size_t len = strlen(x->path);
	enum ws_status status;
	const char *path;

	if (len > 5 && !strcasecmp(x->path + len - 5, ".xlsx"))
		len -= 5;
	path = ws__xlsx_format(x, "%.*s-%s.csv", (int)len, x->path, t->def->name);
	WS_FORWARD(check(x, err));
	WS_FORWARD(ws_outfile_open(&out, path, err));
	status = ws_out_csv(out.f, t, err);
	if (status == WS_OK)
		return ws_outfile_commit(&out, err);
	ws_outfile_abandon(&out);
	return status;
}

/* A first sheet that is a table has links below it. */
static void add_overview(struct ws_xlsx *x, const struct ws_xlsx_sheet *s)
{
	struct ws_xlsx_front f = {.x = x, .sheet = s->sheet, .row = s->below + 1};
	const size_t seen = s->view.nanswers;

	ws__xlsx_front_links(&f, 1);
	ws__xlsx_page_setup(x, s->sheet, f.row,
	                    seen > FRONT_LAST ? (uint16_t)(seen - 1) : FRONT_LAST);
}

static enum ws_status write_sheets(struct ws_xlsx *x, struct ws_err *err)
{
	struct ws_page_columns columns;
	int page = x->report->ntables && ws_display_page(x->report->tables[0]->def, &columns);

	for (size_t i = page ? 1 : 0; i < x->report->ntables; i++) {
		struct ws_xlsx_sheet *s = &x->sheets[i];

		if (!s->sheet)
			continue;
		WS_FORWARD(ws__xlsx_write_table(x, s, err));
		WS_FORWARD(check(x, err));
		if (s->rows < s->table->nrows)
			WS_FORWARD(write_csv_beside(x, s->table, err));
	}
	if (page)
		ws__xlsx_write_front(x, &x->sheets[0]);
	else if (x->front.sheet)
		ws__xlsx_write_answers(x, &x->front);
	else if (x->report->ntables > 1)
		add_overview(x, &x->sheets[0]);
	if (x->report->ntables) {
		worksheet_activate(ws__xlsx_first(x)->sheet);
		worksheet_set_first_sheet(ws__xlsx_first(x)->sheet);
	}
	return check(x, err);
}

/* Excel takes 255 characters; the library checks bytes. */
#define PROPERTY_MAX 250

static char *property(struct ws_xlsx *x, const char *text)
{
	const char *clean = ws__xlsx_clean(x, text, strlen(text));
	char *copy = ws_arena_copy(&x->arena, clean, strlen(clean));
	size_t n = PROPERTY_MAX;

	if (strlen(copy) > n) {
		while ((copy[n] & 0xc0) == 0x80) /* not inside a character */
			n--;
		copy[n] = '\0';
	}
	return copy;
}

static void set_properties(struct ws_xlsx *x)
{
	int64_t seconds = x->report->created_ns / 1000000000;
	lxw_doc_properties p = {0};
	char author[] = "Warpsheet " WS_VERSION;

	/* 0 would mean now, and the same trace shall make the same bytes */
	p.created = seconds < 1 ? 1 : seconds > SECONDS_MAX ? SECONDS_MAX : seconds;
	p.title = property(x, x->report->title);
	p.subject = property(x, x->report->trace);
	p.author = author;
	ws__xlsx_try(x, workbook_set_properties(x->book, &p));
}

static enum ws_status write_book(struct ws_xlsx *x, const char *name, struct ws_err *err)
{
	lxw_error error;

	x->book = workbook_new(name);
	if (!x->book)
		ws_out_of_memory(sizeof(*x->book));
	ws__xlsx_make_styles(x);
	set_properties(x);
	WS_FORWARD(check(x, err));
	WS_FORWARD(add_sheets(x, err));
	WS_FORWARD(write_sheets(x, err));
	errno = 0;
	error = workbook_close(x->book);
	x->book = NULL;
	WS_FAIL_IF(error != LXW_NO_ERROR, err, IO_WRITE, "cannot write '%s': %s", x->path,
	           errno ? strerror(errno) : lxw_strerror(error));
	return WS_OK;
}

enum ws_status ws_xlsx_write(const char *path, const struct ws_report *report, struct ws_err *err)
{
	struct ws_xlsx x = {.report = report, .path = path};
	struct ws_outfile out;
	enum ws_status status;

	WS_FORWARD(ws_outfile_open(&out, path, err));
	WS_NEW(&x.arena, x.sheets, report->ntables);
	status = write_book(&x, ws_outfile_name(&out), err);
	if (status == WS_OK)
		status = ws_outfile_commit(&out, err);
	else
		ws_outfile_abandon(&out);
	lxw_workbook_free(x.book); /* NULL is legal; only after a failure */
	ws_arena_free(&x.arena);
	free(x.clean);
	return status;
}
