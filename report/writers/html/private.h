/* The parts of the writer of HTML. */
#pragma once

#include "formats/text/json_writer.h"
#include "report/page/page.h"
#include "report/table/table.h"

static inline struct ws_json_writer *key(struct ws_json_writer *j, const char *name)
{
	return ws_json_key(j, name);
}

/* Writes text between tags, or between double quotes, as valid UTF-8. */
void ws_html_put_text(FILE *f, const char *text);
/* Writes the content for readers without scripts. */
void ws_html_put_plain(FILE *f, const struct ws_report *report);

/* Each writes an object or null: for a comparison, a sweep or ranks; for one trace. */
void ws_html_put_answers(struct ws_json_writer *j, const struct ws_page *page);
void ws_html_put_page(struct ws_json_writer *j, const struct ws_page *page);
void ws_html_put_boxes(FILE *f, const struct ws_timeline *timeline, const char *id);

/* Writes the bytes deflated and in base64, for a script element that `unpack` of core.js reads. */
void ws_html_put_packed(FILE *f, const void *bytes, size_t len);

/* Writes bytes in base64. */
void ws_html_put_base64(FILE *f, const unsigned char *bytes, size_t len);
