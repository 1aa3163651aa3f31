/*
 * Do the parts of every table of a report add up to what it prints? Stops
 * the test where they do not.
 */
#ifndef WS_TESTS_TOTALS_H
#define WS_TESTS_TOTALS_H

#include "report/table/table.h"

/* A report of all tables. */
void totals_check(const struct ws_report *report);

#endif
