/* One table of a loaded model, by itself. */
#ifndef WS_TESTS_ONE_TABLE_H
#define WS_TESTS_ONE_TABLE_H

#include "report/tables/report.h"

/* The filter may be NULL. Free with ws_table_free. */
static inline enum ws_status one_table(const struct ws_model *m, const struct ws_table_def *def,
                                       const struct ws_filter *filter, struct ws_table **out,
                                       struct ws_err *err)
{
	struct ws_report *report;

	WS_FORWARD(ws_report_make_tables(m, filter, &def, 1, &report, err));
	*out = report->tables[0];
	report->tables[0] = NULL;
	ws_report_free(report);
	return WS_OK;
}

#endif
