/* Does this build demangle names? */
#pragma once

#include <stdbool.h>

#include "report/kernel_info/classify.h"

static inline bool demangles(void)
{
	static const char name[] = "_Z1fv";
	struct ws_buf out = {0};
	bool does;

	ws_demangle(name, sizeof(name) - 1, &out);
	does = out.data[0] == 'f';
	ws_buf_free(&out);
	return does;
}
