/*
 * Which columns define ids and which columns name them: what makes the kinds
 * of schema.def one file. The check walks these lists, docs/dev/trace-format.md
 * section 3.2 prints them.
 */
#pragma once

#include "formats/schema/schema.h"

/* A column that defines ids, each with its row. */
struct ws_id_column {
	enum ws_kind kind;
	unsigned position; /* WS_COL_<kind>_<column> */
	int counted;       /* a new id is one more than the highest so far */
	int may_repeat;    /* a later row with the same id wins */
};
extern const struct ws_id_column ws_id_columns[];
extern const size_t ws_id_columns_count;

/* A column that names rows of another kind. STR columns, which name strings, are not listed. */
struct ws_ref_column {
	enum ws_kind kind;
	unsigned position;
	enum ws_kind target; /* one of ws_id_columns */
	int zero_is_none;    /* 0 names no row */
};
extern const struct ws_ref_column ws_ref_columns[];
extern const size_t ws_ref_columns_count;

/* The definition of ids in this column, or NULL. */
const struct ws_id_column *ws_id_column_at(unsigned kind, unsigned position);
/* What this column names, STR columns included; 0 when it names nothing. */
bool ws_ref_column_at(const struct ws_kind_def *def, unsigned position, struct ws_ref_column *ref);
