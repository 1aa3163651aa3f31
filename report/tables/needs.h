/* What each table needs of a digest, so that only that is read and joined. */
#pragma once

#include "report/table/table.h"

/*
 * Parts of a digest (enum ws_digest_part) that the table is made from;
 * columns[c] = 0: column c is not wanted; NULL: all are.
 */
unsigned ws_table_needs(const struct ws_table_def *def, const uint8_t *columns);
