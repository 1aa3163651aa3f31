#include "report/base/values.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"

/* By half, not twice as much: what is empty at the end counts where there are many small groups. */
static size_t grown_capacity(size_t capacity)
{
	return capacity < 8 ? 8 : capacity + capacity / 2;
}

/* --- pairs -------------------------------------------------------------------------------- */

/* Fewer words than these are not worth counting. */
#define WORTH_COUNTING 1024

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

/* By the lowest digit first. other: room for n, too. Returns where the sorted values are. */
static uint32_t *sort_words(uint32_t *v, uint32_t *other, size_t n)
{
	for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
		uint32_t begin[DIGITS] = {0}, at = 0;
		uint32_t *sorted = other;

		for (size_t i = 0; i < n; i++)
			begin[v[i] >> shift & (DIGITS - 1)]++;
		if (begin[v[0] >> shift & (DIGITS - 1)] == n)
			continue;
		for (unsigned digit = 0; digit < DIGITS; digit++) {
			const uint32_t values = begin[digit];

			begin[digit] = at;
			at += values;
		}
		for (size_t i = 0; i < n; i++)
			sorted[begin[v[i] >> shift & (DIGITS - 1)]++] = v[i];
		other = v;
		v = sorted;
	}
	return v;
}

/* One more value that is no less than the last pair's; out NULL: only counts pairs. */
static void put_pair(struct ws_counted_value *out, struct ws_counted_value *last, size_t *n,
                     struct ws_counted_value pair)
{
	/* a pair whose number is full is followed by another of the same value */
	if (*n && last->value == pair.value && last->times <= UINT32_MAX - pair.times) {
		last->times += pair.times;
	} else {
		*last = pair;
		++*n;
	}
	if (out)
		out[*n - 1] = *last;
}

/* Pairs and sorted values, merged into pairs; returns how many. out NULL: only counts them. */
static size_t merge(const struct ws_counted_value *pair, size_t npairs, const uint32_t *value,
                    size_t nvalues, struct ws_counted_value *out)
{
	struct ws_counted_value last = {0};
	size_t n = 0, at = 0;

	for (size_t i = 0; i < nvalues; i++) {
		for (; at < npairs && pair[at].value <= value[i]; at++)
			put_pair(out, &last, &n, pair[at]);
		put_pair(out, &last, &n, (struct ws_counted_value){value[i], 1});
	}
	for (; at < npairs; at++)
		put_pair(out, &last, &n, pair[at]);
	return n;
}

static const struct ws_counted_value *pairs_of(const struct ws_values *v)
{
	return (const struct ws_counted_value *)v->word;
}

/* Counts equal values where that makes room; false: it does not. */
static bool count_equal(struct ws_values *v)
{
	const size_t singles = v->n - 2 * (size_t)v->npairs;
	uint32_t *other = ws_xmalloc(singles * sizeof(*other));
	const uint32_t *sorted = sort_words(v->word + 2 * (size_t)v->npairs, other, singles);
	const size_t npairs = merge(pairs_of(v), v->npairs, sorted, singles, NULL);
	const bool fewer = 2 * npairs <= v->n - v->n / 4;

	if (fewer) {
		uint32_t *word = ws_xmalloc(v->capacity * sizeof(*word));

		merge(pairs_of(v), v->npairs, sorted, singles, (struct ws_counted_value *)word);
		free(v->word);
		v->word = word;
		v->npairs = (uint32_t)npairs;
		v->n = 2 * v->npairs;
	}
	free(other);
	return fewer;
}

void ws_values_make_room(struct ws_values *v)
{
	const size_t want = grown_capacity(v->capacity);

	if (v->n >= WORTH_COUNTING && count_equal(v))
		return;
	if (want > UINT32_MAX)
		ws_out_of_memory(want * sizeof(*v->word));
	v->word = ws_xreallocarray(v->word, want, sizeof(*v->word));
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
	free(v->word);
	free(v->wide);
	*v = (struct ws_values){0};
}

/* --- statistics -------------------------------------------------------------------------- */

uint64_t ws_values_count(const struct ws_values *v)
{
	uint64_t n = v->n - 2 * (size_t)v->npairs + (v->wide ? v->wide->n : 0);

	for (size_t i = 0; i < v->npairs; i++)
		n += pairs_of(v)[i].times;
	return n;
}

void ws_values_stat(const struct ws_values *const *values, size_t n, struct ws_stat *out)
{
	struct ws_stat_part *part = ws_xmalloc(3 * n * sizeof(*part));
	size_t nparts = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ws_values *v = values[i];
		const size_t of_pairs = 2 * (size_t)v->npairs;

		if (v->npairs)
			part[nparts++] = (struct ws_stat_part){WS_STAT_COUNTED, v->word, v->npairs};
		if (v->n > of_pairs)
			part[nparts++] = (struct ws_stat_part){WS_STAT_U32, v->word + of_pairs,
			                                       v->n - of_pairs};
		if (v->wide)
			part[nparts++] = (struct ws_stat_part){WS_STAT_I64, v->wide->v, v->wide->n};
	}
	ws_stat_of_parts(part, nparts, out);
	free(part);
}
