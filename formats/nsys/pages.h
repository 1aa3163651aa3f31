/*
 * Rows of a table straight from the pages of a database file, as its format is documented
 * (sqlite.org/fileformat2.html). SQLite's machine takes four times as long for it.
 *
 * Nothing of the file is trusted. Whatever is not plain, a row that goes on in other pages or a
 * tree that cannot be, is not read at all: SQLite shall read on from there, and tell what is
 * damaged.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/status.h"
#include "formats/schema/schema.h"

struct ws_nsys_pages;

/* fd: of a database, which the caller closes. *out is NULL where its texts are not UTF-8. */
enum ws_status ws_nsys_pages_open(struct ws_nsys_pages **out, int fd, struct ws_err *err);
void ws_nsys_pages_free(struct ws_nsys_pages *p); /* NULL is legal */

enum ws_nsys_pages_next {
	WS_NSYS_PAGES_ROW,
	WS_NSYS_PAGES_END,
	WS_NSYS_PAGES_UNREAD, /* this row and those behind it are for SQLite */
};

/* Begin with the first row of the table with this root. */
void ws_nsys_pages_begin(struct ws_nsys_pages *p, uint32_t root);
/* The next row in the order of ids, its record borrowed until the next call. */
enum ws_nsys_pages_next ws_nsys_pages_next(struct ws_nsys_pages *p, int64_t *id,
                                           struct ws_bytes *record);

#define WS_NSYS_MAX_COLUMNS 64 /* of a table; that of kernels is the widest */

/* Of a row: SQLite's type of each value, the integer where it is one, and else its bytes. */
struct ws_nsys_values {
	uint8_t type[WS_NSYS_MAX_COLUMNS];
	int64_t integer[WS_NSYS_MAX_COLUMNS];
	struct ws_bytes bytes[WS_NSYS_MAX_COLUMNS]; /* of a text, a blob, or a real */
};

/*
 * The values of a record of n columns, column c to slot[c] of *v, or nowhere where that is
 * negative. 0: it is for SQLite.
 */
bool ws_nsys_pages_record(struct ws_bytes record, const int8_t *slot, unsigned n,
                          struct ws_nsys_values *v);
double ws_nsys_pages_real(struct ws_bytes value);
