/*
 * A comparison as a comment on a pull request, readable on a phone: the answer in the first line, a
 * table of times before and after, a line with the cause for each row that did not pass, the rest
 * folded.
 */
#pragma once

#include "report/page/page.h"
#include "report/table/table.h"

enum ws_comment_sign { WS_COMMENT_GOOD, WS_COMMENT_UNSURE, WS_COMMENT_BAD };
const char *ws_comment_sign(enum ws_comment_sign sign); /* "✅" */

struct ws_comment_row {
	const char *name, *device;           /* device: "" if all rows have the same */
	const struct ws_compared_time *time; /* NULL: nothing was compared */
	enum ws_comment_sign sign;
	const char *result;              /* "slower" */
	const char *cause;               /* in sentences; NULL: none */
	const struct ws_report *details; /* of the comparison; NULL */
};

/* of: name of the rows, "workload". */
void ws_comment_put(FILE *f, const char *of, const struct ws_comment_row *rows, size_t n);
