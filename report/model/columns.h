/* One cell of a loaded kind; a column that the file lacks reads as 0. */
#pragma once

#include <string.h>

#include "formats/trace/reader.h"

static inline uint64_t ws_value(const struct ws_column_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	return c->present ? c->v[row] : 0;
}

/* Bytes of a BLOB cell; the pointer is never NULL. */
static inline struct ws_bytes ws_blob(const struct ws_column_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	if (!c->present || !c->b[row].ptr)
		return (struct ws_bytes){"", 0};
	return c->b[row];
}

/* The value of a key of the trace's provenance, empty when there is none; the last row of it holds.
 */
static inline struct ws_bytes ws_meta_value(const struct ws_column_data *meta, const char *key)
{
	for (uint64_t i = meta->rows; i-- > 0;) {
		struct ws_bytes k = ws_blob(meta, WS_COL_meta_key, i);

		if (k.len == strlen(key) && !memcmp(k.ptr, key, k.len))
			return ws_blob(meta, WS_COL_meta_value, i);
	}
	return (struct ws_bytes){"", 0};
}
