#include "report/base/values.h"

#include <stdlib.h>
#include <string.h>

/* By half, not twice as much: what is empty at the end counts where there are many small groups. */
static size_t more(size_t capacity)
{
	return capacity < 8 ? 8 : capacity + capacity / 2;
}

bool ws_values_make_room(struct ws_values *v)
{
	const size_t want = more(v->capacity);
	uint32_t *grown = want > UINT32_MAX ? NULL : reallocarray(v->narrow, want, sizeof(*grown));

	if (!grown)
		return false;
	v->narrow = grown;
	v->capacity = (uint32_t)want;
	return true;
}

bool ws_values_add_wide(struct ws_values *v, int64_t value)
{
	struct ws_wide_values *wide = v->wide;

	if (!wide || wide->n == wide->capacity) {
		const size_t n = wide ? wide->n : 0, want = more(n);

		wide = realloc(wide, sizeof(*wide) + want * sizeof(*wide->v));
		if (!wide)
			return false;
		wide->n = n;
		wide->capacity = want;
		v->wide = wide;
	}
	wide->v[wide->n++] = value;
	return true;
}

void ws_values_free(struct ws_values *v)
{
	free(v->narrow);
	free(v->wide);
	*v = (struct ws_values){0};
}

/* --- statistics -------------------------------------------------------------------------- */

static bool reserve(struct ws_values_scratch *s, size_t n, size_t item_bytes)
{
	size_t bytes;

	/* one at least: NULL has no offsets */
	if (__builtin_mul_overflow(n + 1, item_bytes, &bytes))
		return false;
	if (bytes <= s->bytes)
		return true;
	ws_values_scratch_free(s);
	s->memory = malloc(bytes);
	s->bytes = s->memory ? bytes : 0;
	return s->memory != NULL;
}

void ws_values_scratch_free(struct ws_values_scratch *s)
{
	free(s->memory);
	*s = (struct ws_values_scratch){0};
}

/* All of them one by one; returns how many. */
static size_t list(const struct ws_values *v, int64_t *out)
{
	for (size_t i = 0; i < v->n; i++)
		out[i] = v->narrow[i];
	if (v->wide)
		memcpy(out + v->n, v->wide->v, v->wide->n * sizeof(*out));
	return ws_values_count(v);
}

bool ws_values_stat(const struct ws_values *const *values, size_t n,
                    struct ws_values_scratch *scratch, struct ws_stat *out)
{
	size_t count = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		count += ws_values_count(values[i]);
	if (!reserve(scratch, count, sizeof(int64_t)))
		return false;
	for (size_t i = 0; i < n; i++)
		at += list(values[i], (int64_t *)scratch->memory + at);
	ws_stat_of(scratch->memory, at, out);
	return true;
}
