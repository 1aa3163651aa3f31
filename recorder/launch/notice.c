/* What the launcher tells the user on stderr. */

#include "recorder/launch/launch.h"

void ws_record_notice(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *line = ws_xvformat(fmt, ap);
	va_end(ap);
	ws_defuse(line); /* names may contain control characters */
	fprintf(stderr, "warpsheet-record: %s\n", line);
	free(line);
}

void ws_record_pass_on(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

const char *ws_calibrate_words(uint32_t why)
{
	static const char *const words[] = {[WS_CALIBRATE_DONE] = "",
#define X(name, text) [WS_CALIBRATE_##name] = text,
	                                    WS_CALIBRATE_LIST(X)
#undef X
	};

	return why < sizeof(words) / sizeof(*words) ? words[why] : "";
}
