/*
 * What the writer knows of a record kind: which columns tell what a row is,
 * and how its times follow from the row before. Readers need none of it: a
 * block says how its columns are coded.
 */
#pragma once

#include "formats/codec/residual.h"
#include "formats/schema/schema.h"

#define WS_MODEL_TUPLE   WS_TOKENS_MAX_COLUMNS
#define WS_MODEL_CHOICES 3u
#define WS_MODEL_COLUMNS 4u

/* A column that is worth a residual. Positions as in ws_kind_def.columns. */
struct ws_kind_model_column {
	uint8_t position;
	enum ws_predictor predictor;
	int8_t lane; /* position of the column whose values are lanes, -1 = one lane */
};

struct ws_kind_model {
	enum ws_kind kind;
	int8_t durations; /* position, -1 = none */
	/* Combinations of columns that make tokens, the best first; the first of each carries
	 * them. */
	struct {
		uint8_t count, position[WS_MODEL_TUPLE];
	} tuple[WS_MODEL_CHOICES];
	uint8_t ncolumns;
	struct ws_kind_model_column column[WS_MODEL_COLUMNS];
};

/* The model of a kind, or NULL. */
const struct ws_kind_model *ws_kind_model_of(enum ws_kind kind);
/* How the model codes this column, or NULL. */
const struct ws_kind_model_column *ws_kind_model_column(const struct ws_kind_model *m,
                                                        unsigned position);
