/* Strings side by side, each ended by a NUL, as /proc and the segment have them. */
#pragma once

#include <stddef.h>

struct ws_strings {
	const char *text; /* borrowed; the last byte is a NUL */
	size_t size;      /* bytes, 0 = no string */
};

/* What lies in a field of this many bytes: everything up to its last NUL. */
struct ws_strings ws_strings_in(const char *field, size_t field_size);
/* VALUE of the string NAME=VALUE, its name the len bytes at name; NULL when it is not there. */
const char *ws_strings_value(struct ws_strings list, const char *name, size_t len);
/* As an array that ends with NULL; its strings stay where they are. For free(). */
char **ws_strings_array(struct ws_strings list);
