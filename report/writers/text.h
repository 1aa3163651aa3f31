/* Inside of the text writer: shared by report/out_text*.c. Others call ws_out_text(). */
#pragma once

#include "report/table/table.h"

#define WS_TEXT_GAP 2 /* blanks between columns */

/* SGR escapes; ws__text_style writes them only where colour is wanted. */
#define WS_TEXT_BOLD  "\033[1m"
#define WS_TEXT_DIM   "\033[2m"
#define WS_TEXT_PLAIN "\033[0m"
void ws__text_style(FILE *f, const struct ws_text_opts *opts, const char *sgr);

void ws__text_pad(FILE *f, size_t n);
/* At most `width` columns; a longer text ends in "…". Returns the columns taken. */
size_t ws__text_cut(FILE *f, const char *text, size_t len, size_t width);
/*
 * The next line of a text wrapped at words, from *pos on, at most `width`
 * columns wide (0 = no limit): returns its bytes, *begin is where it begins,
 * *pos moves behind it. A word that is too long for a line is broken.
 */
size_t ws__text_line(const char *text, size_t len, size_t width, size_t *pos, size_t *begin);
/*
 * All lines of a text that begins in column `indent`, as wide as the terminal
 * allows, each ended. sgr NULL = as the text around it.
 */
void ws__text_wrap(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *text,
                   size_t len, size_t indent);
/* The same for a text of its own. */
void ws__text_paragraph(FILE *f, const struct ws_text_opts *opts, const char *sgr, size_t indent,
                        const char *text);

/* The first screen of a report. */
void ws__text_front(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts);
/* Its sentences alone, with their grades. */
void ws__text_headline(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts);
/* Header, rows and totals of a table, and what the width left out. */
void ws__text_table(FILE *f, const struct ws_table *t, const struct ws_text_opts *opts);
