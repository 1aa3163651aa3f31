/* Length of a union of time intervals, fed one by one. */
#pragma once

#include <stdint.h>

/* Starts as all zeros. */
struct ws_union {
	int64_t busy_ns; /* time covered by at least one interval so far */
	int64_t end_ns;  /* where the covered time ends; means nothing before the first */
	int started;
};

/* Add [start, end], end >= start. Starts must not descend between calls. */
static inline void ws_union_add(struct ws_union *u, int64_t start_ns, int64_t end_ns)
{
	if (!u->started || start_ns >= u->end_ns) {
		u->busy_ns += end_ns - start_ns;
		u->end_ns = end_ns;
		u->started = 1;
	} else if (end_ns > u->end_ns) {
		u->busy_ns += end_ns - u->end_ns;
		u->end_ns = end_ns;
	}
}

/* Begin anew on another device, where starts begin low again; busy_ns goes on adding. */
static inline void ws_union_next_device(struct ws_union *u)
{
	u->started = 0;
}
