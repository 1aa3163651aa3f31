/* The first screen of a report from its analyses. */
#pragma once

#include "report/analysis/filter.h"
#include "report/page/page.h"

/* The digest has CLASSES, STEPS and rows. Free with ws_page_free. */
enum ws_status ws_page_make(const struct ws_table_context *tab, struct ws_page **out,
                            struct ws_err *err);

/* What a comparison shows of a side: its tree, and its timeline, of the median step. */
struct ws_page *ws_page_make_side(const struct ws_model *m, struct ws_joined_rows *rows);
