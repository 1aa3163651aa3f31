/* The parts of a page, a file each. */
#pragma once

#include "report/analysis/idle.h"
#include "report/base/ui.h"
#include "report/page/page.h"

/* The first screen of a report from its analyses. */

/* The digest has CLASSES, STEPS and rows. Free with ws_page_free. */
enum ws_status ws_page_make(const struct ws_table_context *tab, struct ws_page **out,
                            struct ws_err *err);

/* The page of one side of a comparison: tree and timeline of the median step. */
struct ws_page *ws_page_make_side(const struct ws_model *m, struct ws_joined_rows *rows);

struct ws_page_making {
	const struct ws_table_context *whole; /* of the report */
	const struct ws_table_context *tab;   /* of the median step; of the report without steps */
	const struct ws_model *m;
	const struct ws_selection *sel; /* of tab */
	struct ws_page *page;
	struct ws_arena *texts; /* of the page */
	size_t most_boxes;      /* of its timeline */
	const struct ws_idle *idle;
	const struct ws_windows *windows;
};

/* A NUL-terminated copy; a NUL inside becomes U+FFFD. */
const char *ws_page_copy(struct ws_arena *arena, const void *text, size_t len);

/* The same of a text of the model. */
const char *ws_page_text_of(const struct ws_page_making *p, uint32_t text);

/* The same with the short name of a kernel; other texts unchanged. */
const char *ws_page_name_of(const struct ws_page_making *p, uint32_t text);

/* A class as text and colour; class 0: unknown. */
const char *ws_page_class_of(const struct ws_page_making *p, uint32_t class);
enum ws_page_colour ws_page_colour_of_class(const struct ws_page_making *p, uint32_t class);
void ws_page_add_findings(struct ws_page_making *p);

/* Adds the timeline of the measured step with this number; -1: the median one, or the whole trace
 * without steps. Call after the bar. */
enum ws_status ws_page_add_timeline(struct ws_page_making *p, int64_t step, struct ws_err *err);

/* Call last. */
void ws_page_add_headline(struct ws_page_making *p);
