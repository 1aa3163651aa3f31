#include "report/base/values.h"

#include <stdlib.h>
#include <string.h>

/* Fewer values than this are not worth folding. */
#define FOLD_FROM ((size_t)8192)

/* Ascending, by three digits of 11 bits: comparing would be most of what a table of a few long
 * groups takes. room is as large as v. */
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
	const struct ws_values_rest *rest = v->rest;
	size_t runs = 0, r = 0, i = 0;
	struct ws_value_run last = {0, 0};

	while (r < rest->nruns || i < v->n) {
		struct ws_value_run next = {0, 1};

		if (r < rest->nruns && (i == v->n || rest->runs[r].value <= v->narrow[i]))
			next = rest->runs[r++];
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
	struct ws_values_rest *rest = v->rest;
	uint32_t *room = malloc(v->n * sizeof(*room));
	struct ws_value_run *runs;
	size_t nruns;

	if (!room)
		return false;
	sort(v->narrow, room, v->n);
	free(room);
	nruns = merge(v, NULL);
	rest->fold_at = 2 * (size_t)v->n;
	if (nruns * sizeof(*runs) * 2 > v->n * sizeof(*v->narrow) + rest->nruns * sizeof(*runs))
		return true;
	runs = malloc(nruns * sizeof(*runs));
	if (!runs)
		return false;
	merge(v, runs);
	free(rest->runs);
	rest->runs = runs;
	rest->nruns = nruns;
	rest->in_runs += v->n;
	v->n = 0;
	/* as many come before the next time as make going through the runs cheap */
	rest->fold_at = nruns / 4 > FOLD_FROM ? nruns / 4 : FOLD_FROM;
	return true;
}

/* By half, not twice as much: what is empty at the end counts where there are many small groups. */
static size_t more(size_t capacity)
{
	return capacity < 8 ? 8 : capacity + capacity / 2;
}

static bool has_rest(struct ws_values *v)
{
	if (!v->rest)
		v->rest = calloc(1, sizeof(*v->rest));
	return v->rest != NULL;
}

bool ws_values_make_room(struct ws_values *v)
{
	size_t want = more(v->capacity);
	uint32_t *grown;

	if (v->n >= FOLD_FROM && !has_rest(v))
		return false;
	if (v->n >= FOLD_FROM && v->n >= v->rest->fold_at && !fold(v))
		return false;
	if (v->n < v->capacity)
		return true;
	grown = want > UINT32_MAX ? NULL : reallocarray(v->narrow, want, sizeof(*grown));
	if (!grown)
		return false;
	v->narrow = grown;
	v->capacity = (uint32_t)want;
	return true;
}

bool ws_values_add_wide(struct ws_values *v, int64_t value)
{
	struct ws_values_rest *rest;

	if (!has_rest(v))
		return false;
	rest = v->rest;
	if (rest->nwide == rest->wide_capacity) {
		size_t want = more(rest->wide_capacity);
		int64_t *grown = reallocarray(rest->wide, want, sizeof(*grown));

		if (!grown)
			return false;
		rest->wide = grown;
		rest->wide_capacity = want;
	}
	rest->wide[rest->nwide++] = value;
	return true;
}

void ws_values_free(struct ws_values *v)
{
	free(v->narrow);
	if (v->rest) {
		free(v->rest->wide);
		free(v->rest->runs);
	}
	free(v->rest);
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
	if (v->rest && v->rest->nwide)
		memcpy(out + v->n, v->rest->wide, v->rest->nwide * sizeof(*out));
	return v->n + (v->rest ? v->rest->nwide : 0);
}

/* All of them with how often each came; a value may be there more than once. */
static size_t list_counted(const struct ws_values *v, struct ws_counted *out)
{
	const struct ws_values_rest *rest = v->rest;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		out[n++] = (struct ws_counted){v->narrow[i], 1};
	for (size_t i = 0; rest && i < rest->nruns; i++)
		out[n++] = (struct ws_counted){rest->runs[i].value, rest->runs[i].n};
	for (size_t i = 0; rest && i < rest->nwide; i++)
		out[n++] = (struct ws_counted){rest->wide[i], 1};
	return n;
}

bool ws_values_stat(const struct ws_values *const *values, size_t n,
                    struct ws_values_scratch *scratch, struct ws_stat *out)
{
	size_t items = 0, runs = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		items += values[i]->n;
		if (!values[i]->rest)
			continue;
		items += values[i]->rest->nwide;
		runs += values[i]->rest->nruns;
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
