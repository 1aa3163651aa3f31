/* Regular expressions (regex.h) of names. */
#pragma once

#include <regex.h>
#include <stdbool.h>

/* 0, or the error of a pattern that is none, for regerror(). */
int ws_expression_compile(regex_t *out, const char *pattern);
/* Call it before each text that is matched: without memory the C library's regexec says no match.
 */
void ws_expression_reserve(void);
bool ws_expression_matches(const regex_t *expression, const char *text);
