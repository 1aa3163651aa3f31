/* The parts of the writer of HTML. */
#pragma once

#include "formats/text/json_writer.h"
#include "report/page/page.h"
#include "report/table/table.h"

static inline struct ws_json_writer *key(struct ws_json_writer *j, const char *name)
{
	return ws_json_key(j, name);
}

/* Text between tags, or between double quotes; as people see it, so always UTF-8. */
void ws_html_put_text(FILE *f, const char *text);
/* What a reader sees where no script runs. */
void ws_html_put_plain(FILE *f, const struct ws_report *report);

/* Each an object, or null: of a comparison, a sweep or ranks; of one trace. */
void ws_html_put_answers(struct ws_json_writer *j, const struct ws_page *page);
void ws_html_put_page(struct ws_json_writer *j, const struct ws_page *page);
void ws_html_put_boxes(FILE *f, const struct ws_timeline *timeline, const char *id);

/* The bytes deflated, in base64: what a script element may hold and `unpack` of core.js reads. */
void ws_html_put_packed(FILE *f, const void *bytes, size_t len);

/* bytes in base64. */
void ws_html_put_base64(FILE *f, const unsigned char *bytes, size_t len);
