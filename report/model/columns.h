/*
 * One cell of a loaded kind; a column that the file lacks reads as 0.
 */
#ifndef WS_REPORT_MODEL_COLUMNS_H
#define WS_REPORT_MODEL_COLUMNS_H

#include "formats/trace/reader.h"

static inline uint64_t ws_value(const struct ws_table_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	return c->present ? c->v[row] : 0;
}

/* Bytes of a BLOB cell; the pointer is never NULL. */
static inline struct ws_bytes ws_blob(const struct ws_table_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	if (!c->present || !c->b[row].ptr)
		return (struct ws_bytes){"", 0};
	return c->b[row];
}

#endif
