#include "report/base/values.h"

#include <stdlib.h>
#include <string.h>

/* Fewer values than this are not worth folding. */
#define FOLD_FROM ((size_t)8192)

/* Ascending, by three digits of 11 bits; room is as large as v. */
static void sort(uint32_t *v, uint32_t *room, size_t n)
{
	enum { BITS = 11, DIGITS = 3 };
	uint32_t *from = v, *to = room;

	for (unsigned digit = 0; digit < DIGITS; digit++) {
		size_t at[1u << BITS] = {0}, sum = 0;
		const unsigned shift = digit * BITS, mask = (1u << BITS) - 1;
		uint32_t *was = from;

		for (size_t i = 0; i < n; i++)
			at[from[i] >> shift & mask]++;
		for (size_t k = 0; k <= mask; k++) {
			const size_t count = at[k];

			at[k] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[from[i] >> shift & mask]++] = from[i];
		from = to;
		to = was;
	}
	memcpy(v, from, n * sizeof(*v));
}

/* The runs and the sorted narrow values as runs; to may be NULL, to count them. */
static size_t merge(const struct ws_values *v, struct ws_value_run *to)
{
	size_t runs = 0, r = 0, i = 0;
	struct ws_value_run last = {0, 0};

	while (r < v->nruns || i < v->n) {
		struct ws_value_run next = {0, 1};

		if (r < v->nruns && (i == v->n || v->runs[r].value <= v->narrow[i]))
			next = v->runs[r++];
		else
			next.value = v->narrow[i++];
		if (last.n && last.value == next.value && last.n <= UINT32_MAX - next.n) {
			last.n += next.n;
			continue;
		}
		if (to && last.n)
			to[runs] = last;
		runs += last.n != 0;
		last = next;
	}
	if (to && last.n)
		to[runs] = last;
	return runs + (last.n != 0);
}

/* Narrow values into runs, where that halves them at least; false without memory. */
static bool fold(struct ws_values *v)
{
	uint32_t *room = malloc(v->n * sizeof(*room));
	struct ws_value_run *runs;
	size_t nruns;

	if (!room)
		return false;
	sort(v->narrow, room, v->n);
	free(room);
	nruns = merge(v, NULL);
	v->fold_at = 2 * v->n;
	if (nruns * sizeof(*runs) * 2 > v->n * sizeof(*v->narrow) + v->nruns * sizeof(*runs))
		return true;
	runs = malloc(nruns * sizeof(*runs));
	if (!runs)
		return false;
	merge(v, runs);
	free(v->runs);
	v->runs = runs;
	v->nruns = nruns;
	v->in_runs += v->n;
	v->n = 0;
	/* as many come before the next time as make going through the runs cheap */
	v->fold_at = nruns / 4 > FOLD_FROM ? nruns / 4 : FOLD_FROM;
	return true;
}

/* By half, not twice as much: what is empty at the end counts where there are many small groups. */
static bool grow(void *array, size_t *capacity, size_t item_bytes)
{
	size_t want = *capacity < 8 ? 8 : *capacity + *capacity / 2;
	void *items;

	/* an array of any type: only its bytes may be looked at through void * */
	memcpy(&items, array, sizeof(items));
	items = reallocarray(items, want, item_bytes);
	if (!items)
		return false;
	memcpy(array, &items, sizeof(items));
	*capacity = want;
	return true;
}

bool ws_values_make_room(struct ws_values *v)
{
	if (v->n >= FOLD_FROM && v->n >= v->fold_at && !fold(v))
		return false;
	return v->n < v->capacity || grow(&v->narrow, &v->capacity, sizeof(*v->narrow));
}

bool ws_values_add_wide(struct ws_values *v, int64_t value)
{
	if (v->nwide == v->wide_capacity && !grow(&v->wide, &v->wide_capacity, sizeof(*v->wide)))
		return false;
	v->wide[v->nwide++] = value;
	return true;
}

void ws_values_free(struct ws_values *v)
{
	free(v->narrow);
	free(v->wide);
	free(v->runs);
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
	for (size_t i = 0; i < v->nwide; i++)
		out[v->n + i] = v->wide[i];
	return v->n + v->nwide;
}

/* All of them with how often each came; a value may be there more than once. */
static size_t list_counted(const struct ws_values *v, struct ws_counted *out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->nruns; i++)
		out[n++] = (struct ws_counted){v->runs[i].value, v->runs[i].n};
	for (size_t i = 0; i < v->n; i++)
		out[n++] = (struct ws_counted){v->narrow[i], 1};
	for (size_t i = 0; i < v->nwide; i++)
		out[n++] = (struct ws_counted){v->wide[i], 1};
	return n;
}

bool ws_values_stat(const struct ws_values *const *values, size_t n,
                    struct ws_values_scratch *scratch, struct ws_stat *out)
{
	size_t items = 0, runs = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		items += values[i]->n + values[i]->nwide;
		runs += values[i]->nruns;
	}
	if (!reserve(scratch, items + runs, runs ? sizeof(struct ws_counted) : sizeof(int64_t)))
		return false;
	for (size_t i = 0; i < n; i++)
		at += runs ? list_counted(values[i], (struct ws_counted *)scratch->memory + at)
		           : list(values[i], (int64_t *)scratch->memory + at);
	if (runs)
		ws_stat_of_counted(scratch->memory, at, out);
	else
		ws_stat_of(scratch->memory, at, out);
	return true;
}
