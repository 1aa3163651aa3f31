#include "report/base/values.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"

/* By half, not twice as much: what is empty at the end counts where there are many small groups. */
static size_t grown_capacity(size_t capacity)
{
	return capacity < 8 ? 8 : capacity + capacity / 2;
}

void ws_values_make_room(struct ws_values *v)
{
	const size_t want = grown_capacity(v->capacity);

	if (want > UINT32_MAX)
		ws_out_of_memory(want * sizeof(*v->narrow));
	v->narrow = ws_xreallocarray(v->narrow, want, sizeof(*v->narrow));
	v->capacity = (uint32_t)want;
}

void ws_values_add_wide(struct ws_values *v, int64_t value)
{
	struct ws_wide_values *wide = v->wide;

	if (!wide || wide->n == wide->capacity) {
		const size_t n = wide ? wide->n : 0, want = grown_capacity(n);

		wide = ws_xreallocarray(wide, 1, sizeof(*wide) + want * sizeof(*wide->v));
		wide->n = n;
		wide->capacity = want;
		v->wide = wide;
	}
	wide->v[wide->n++] = value;
}

void ws_values_free(struct ws_values *v)
{
	free(v->narrow);
	free(v->wide);
	*v = (struct ws_values){0};
}

/* --- statistics -------------------------------------------------------------------------- */

/* All of them one by one; returns how many. */
static size_t list(const struct ws_values *v, int64_t *out)
{
	for (size_t i = 0; i < v->n; i++)
		out[i] = v->narrow[i];
	if (v->wide)
		memcpy(out + v->n, v->wide->v, v->wide->n * sizeof(*out));
	return ws_values_count(v);
}

void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out)
{
	size_t count = 0, at = 0;
	int64_t *all;

	for (size_t i = 0; i < n; i++)
		count += ws_values_count(values[i]);
	all = ws_xmalloc(count * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		at += list(values[i], all + at);
	ws_stat_of(all, at, out);
	free(all);
}
