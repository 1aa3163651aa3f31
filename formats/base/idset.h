/* A set of ids that mostly are 1, 2, 3 … */
#ifndef WS_FORMATS_BASE_IDSET_H
#define WS_FORMATS_BASE_IDSET_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* All zero is an empty set. Free with ws_idset_free. */
struct ws_idset {
	uint64_t dense; /* 1..dense are in the set */
	uint64_t highest;
	int has_zero;
	uint64_t *slots; /* the others: open addressing, 0 = free */
	size_t nslots, used;
};

enum ws_status ws_idset_add(struct ws_idset *set, uint64_t id, struct ws_err *err);
int ws_idset_has(const struct ws_idset *set, uint64_t id);
void ws_idset_free(struct ws_idset *set); /* empties it */

#endif
