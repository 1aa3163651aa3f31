#include <stdio.h>

#include "report/analysis/idle.h"

const char *ws_idle_words(const struct ws_idle_verdict *v, char *out, size_t size)
{
	if (!v->known)
		snprintf(out, size, "cannot tell: %s", v->why_not);
	else if (v->busy)
		snprintf(out, size, "the GPU computes %.1f %% of the time", v->busy_percent);
	else
		snprintf(out, size,
		         "the GPU computes %.1f %% of the time; the largest other part is %s (%.1f "
		         "%%)",
		         v->busy_percent, ws_use_defs[v->cause].name, v->percent);
	return out;
}
