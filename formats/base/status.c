#include "formats/base/status.h"

#include <stdio.h>
#include <string.h>

enum ws_status ws_fail(struct ws_err *err, enum ws_status status, const char *file, int line,
		       const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return status;

	err->status = status;
	err->file = file;
	err->line = line;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	/* names from a trace may carry terminal escapes */
	for (char *p = err->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return status;
}

int ws_status_exit_code(enum ws_status status)
{
	static const int codes[] = {
#define X(name, code, meaning) code,
		WS_STATUS_LIST(X)
#undef X
	};

	return (size_t)status < sizeof(codes) / sizeof(*codes) ? codes[status] : 70;
}

const char *ws_status_name(enum ws_status status)
{
	static const char *const names[] = {
#define X(name, code, meaning) #name,
		WS_STATUS_LIST(X)
#undef X
	};

	return (size_t)status < sizeof(names) / sizeof(*names) ? names[status] : "unknown";
}
