#pragma once

#include <stdbool.h>

#include "report/model/model.h"

/* One line of what is missing; meaning is static text. */
struct ws_missing {
	const char *source;
	struct ws_bytes cause;
	uint64_t count;
	bool is_unknown; /* nobody counted to the end, and so far there was none */
	const char *meaning;
};
/* Everything that can be missing from this trace, zeros and what is not known too. Calls fn for
 * each. */
void ws_missing_each(const struct ws_model *m,
                     void (*fn)(void *ctx, const struct ws_missing *missing), void *ctx);
