#include "formats/base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* snprintf writes the decimal point of the locale, which may be several bytes. */
static void use_point(char *buf)
{
	const char *point = localeconv()->decimal_point;
	size_t len = strlen(point);
	char *at;

	if (strcmp(point, ".") == 0)
		return;
	at = strstr(buf, point);
	if (!at)
		return;
	*at = '.';
	memmove(at + 1, at + len, strlen(at + len) + 1);
}

const char *ws_number_real(char buf[WS_NUMBER_BYTES], double value)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, WS_NUMBER_BYTES, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	use_point(buf);
	return buf;
}
