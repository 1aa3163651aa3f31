/*
 * CSV for programs: UTF-8, RFC 4180 (fields quoted where needed, lines end in
 * CR LF), numbers the same in every locale. Whoever closes the file
 * sees whether it was written.
 *
 * Text that a spreadsheet would run as a formula, as it begins with = + - @
 * TAB, CR or LF, gets an apostrophe in front, as OWASP ("CSV Injection")
 * advises: a kernel's name is a foreign program's, and must not act on the
 * reviewer's machine. Numbers never do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

struct ws_csv {
	FILE *f; /* borrowed */
	uint8_t row_has_fields;
	bool to_terminal; /* which obeys control characters: U+FFFD for these, too */
};

void ws_csv_begin(struct ws_csv *c, FILE *f);

/* Any bytes: what is no UTF-8, and NUL, which breaks many readers, as U+FFFD. */
void ws_csv_text(struct ws_csv *c, const void *bytes, size_t len);
void ws_csv_str(struct ws_csv *c, const char *text); /* NUL-terminated; NULL is empty */
void ws_csv_i64(struct ws_csv *c, int64_t value);
/* Reads back equal; NaN and infinity are empty. */
void ws_csv_f64(struct ws_csv *c, double value);
void ws_csv_empty(struct ws_csv *c); /* unknown */
void ws_csv_end_row(struct ws_csv *c);
