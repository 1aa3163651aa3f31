#include "recorder/launch/strings.h"

#include <string.h>

#include "formats/base/xalloc.h"

struct ws_strings ws_strings_in(const char *field, size_t field_size)
{
	struct ws_strings list = {field, 0};

	for (size_t at = 0; at < field_size && field[at];) {
		const char *end = memchr(field + at, 0, field_size - at);

		if (!end)
			break;
		at = (size_t)(end - field) + 1;
		list.size = at;
	}
	return list;
}

const char *ws_strings_value(struct ws_strings list, const char *name, size_t len)
{
	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1) {
		const char *entry = list.text + at;

		if (!strncmp(entry, name, len) && entry[len] == '=')
			return entry + len + 1;
	}
	return NULL;
}

char **ws_strings_array(struct ws_strings list)
{
	size_t n = 0;
	char **array;

	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1)
		n++;
	array = ws_xarray(n + 1, sizeof(*array));
	n = 0;
	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1)
		array[n++] = (char *)list.text + at;
	return array;
}
