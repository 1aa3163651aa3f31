/* A timeline of a trace made by hand, and its lines. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/export/chrome/chrome.h"
#include "tests/support/trace_builder.h"

struct timeline {
	struct ws_export_stats stats;
	char *text;
	size_t size;
	enum ws_status status;
};

static inline struct timeline draw(struct tb *b)
{
	static const struct ws_export_opts opts;
	struct ws_trace_reader *r;
	struct timeline t = {0};
	struct ws_bytes mem;
	struct ws_err err;
	FILE *f = open_memstream(&t.text, &t.size);

	cr_assert(eq(int, ws_trace_writer_close(tb_writer(b), NULL), WS_OK));
	mem = ws_trace_writer_mem(tb_writer(b));
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, mem.ptr, mem.len, NULL), WS_OK));
	t.status = ws_export_timeline(&ws_chrome_json, r, f, &opts, &t.stats, &err);
	cr_assert(eq(int, t.status, WS_OK), "%s", err.text);
	fclose(f);
	ws_trace_reader_free(r);
	tb_free(b);
	return t;
}

/* The line that has this text in it, without its comma; fails unless there is one such line. */
static inline const char *line_with(const struct timeline *t, const char *part)
{
	static char line[2000];
	const char *at = strstr(t->text, part), *begin = at, *end;

	cr_assert(at != NULL, "no line with %s in\n%s", part, t->text);
	while (begin > t->text && begin[-1] != '\n')
		begin--;
	end = strchr(at, '\n');
	cr_assert(strstr(end, part) == NULL, "two lines with %s", part);
	snprintf(line, sizeof(line), "%.*s", (int)(end - begin - (end[-1] == ',')), begin);
	return line;
}
#define LINE(t, part, want) cr_assert(eq(str, (char *)line_with((t), (part)), (char *)(want)))

static inline size_t count(const struct timeline *t, const char *part)
{
	size_t n = 0;

	for (const char *p = t->text; (p = strstr(p, part)); p++)
		n++;
	return n;
}
