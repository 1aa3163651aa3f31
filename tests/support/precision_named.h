/* A dtype mode by its name; NULL: none. */
#pragma once

#include <string.h>

#include "kernels/run/step.h"

static inline const struct ws_precision *precision_named(const char *name)
{
	for (int i = 0; ws_precision_at(i); i++)
		if (!strcmp(ws_precision_at(i)->name, name))
			return ws_precision_at(i);
	return NULL;
}
