/*
 * Do the parts of every table of a report add up to what it prints? Stops
 * the test where they do not.
 */
#pragma once

#include "report/table/table.h"

/* A report of all tables. */
void totals_check(const struct ws_report *report);
