/*
 * Names with numbers in them: "step 1234", "aten::view, op_id = 314290". What stands around the
 * numbers, the template, is told once, the numbers apart. Encoding template of
 * docs/trace-format.md, section 2.3.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/base/strtab.h"
#include "formats/codec/residual.h"
#include "formats/schema/schema.h"

/* Numbers of a name that are told apart; behind them all is text. */
#define WS_TEMPLATE_NUMBERS 16u

/* What a number is the difference to: the one at its place in the last row ... */
enum ws_template_order {
	WS_TEMPLATE_BY_TEMPLATE, /* ... of the same template */
	WS_TEMPLATE_BY_ROW,      /* ... that has one there */
	WS_TEMPLATE_ORDERS
};

/* The templates of a column. All zero is none. Free it, also after a failure. */
struct ws_templates {
	uint32_t rows, count;
	uint32_t *of_row;
	uint8_t *numbers_of; /* how many, of each template */
	uint64_t *number;    /* of all rows, one row's after the other */
	size_t nnumbers, numbers_capacity;
	struct ws_buf lengths, text; /* of all templates, as they are told */
	struct ws_buf key;
	struct ws_strtab known;
};

/* Splits n rows. *worth: there are numbers, and much fewer templates than rows. */
enum ws_status ws_templates_find(struct ws_templates *t, const uint64_t *lengths, uint32_t n,
                                 const uint8_t *bytes, bool *worth, struct ws_err *err);
/* Appends them to out. Parts change their nature where parts says. */
enum ws_status ws_templates_put(const struct ws_templates *t, enum ws_template_order order,
                                struct ws_buf *out, struct ws_residual_parts *parts,
                                struct ws_err *err);
void ws_templates_free(struct ws_templates *t);

/* Reads n rows from exactly these bytes; b borrows from out, which they fill: size_out bytes. */
enum ws_status ws_templates_get(const uint8_t *data, size_t size, uint32_t n, uint8_t *out,
                                size_t size_out, struct ws_bytes *b, struct ws_err *err);
