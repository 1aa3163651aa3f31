#include "formats/base/status.h"

#include <stdarg.h>

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

	ws_defuse(err->text); /* names from a trace may carry terminal escapes */
	return status;
}

enum ws_status ws_err_prefix(struct ws_err *err, enum ws_status status, const char *fmt, ...)
{
	const struct ws_err cause = err ? *err : (struct ws_err){0};
	char prefix[sizeof(cause.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	return ws_fail(err, status, cause.file, cause.line, "%s: %s", prefix, cause.text);
}

void ws_defuse(char *text)
{
	unsigned due = 0; /* bytes that this character still lacks */

	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		bool is_inner = (*p & 0xc0) == 0x80;
		/* to a terminal, single bytes 0x80 to 0x9f are control characters; to one that
		   reads UTF-8, U+0080 to U+009f are, which begin with 0xc2 */
		int is_harmful = *p < 0x20 || *p == 0x7f || (is_inner && !due) ||
		                 (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f);

		due = is_inner && due ? due - 1 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0;
		if (is_harmful) {
			*p = '?';
			due = 0;
		}
	}
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
