#include "report/base/values.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"

/* Fewer values than this are not worth packing. */
#define FOLD_FROM ((size_t)2048)

/* Ascending, by digits of 11 bits, of which the difference between them has two mostly: comparing
 * would be most of what a table of a few long groups takes. room is as large as v. */
static void sort(uint32_t *v, uint32_t *room, size_t n)
{
	enum { BITS = 11 };
	uint32_t *from = v, *to = room, least = v[0], greatest = v[0];

	for (size_t i = 1; i < n; i++) {
		least = v[i] < least ? v[i] : least;
		greatest = v[i] > greatest ? v[i] : greatest;
	}
	for (unsigned shift = 0; shift < 32 && (greatest - least) >> shift; shift += BITS) {
		uint32_t at[1u << BITS] = {0}, sum = 0;
		const uint32_t mask = (1u << BITS) - 1;
		uint32_t *was = from;

		for (size_t i = 0; i < n; i++)
			at[(from[i] - least) >> shift & mask]++;
		for (size_t k = 0; k <= mask && sum < n; k++) {
			const uint32_t count = at[k];

			at[k] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[(from[i] - least) >> shift & mask]++] = from[i];
		from = to;
		to = was;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

/* What is packed, one value after the other; starts with at and end. */
struct unpacking {
	const uint8_t *at, *end;
	uint64_t value, n; /* of the last one that was read */
};

static struct unpacking unpack(const struct ws_values_rest *rest)
{
	return (struct unpacking){.at = rest->packed, .end = rest->packed + rest->packed_bytes};
}

static uint64_t get_varint(struct unpacking *u)
{
	uint64_t v = *u->at & 0x7f;

	for (unsigned shift = 7; *u->at++ & 0x80; shift += 7)
		v |= (uint64_t)(*u->at & 0x7f) << shift;
	return v;
}

static bool read_run(struct unpacking *u)
{
	uint64_t step;

	if (u->at == u->end)
		return false;
	step = get_varint(u);
	u->value += step >> 1;
	u->n = step & 1 ? get_varint(u) + 2 : 1;
	return true;
}

/* before: the value before it. */
static uint8_t *put_run(uint8_t *to, uint64_t before, uint64_t value, uint64_t n)
{
	to = ws_varint_put(to, (value - before) << 1 | (n > 1));
	return n > 1 ? ws_varint_put(to, n - 2) : to;
}

/* What is packed and the sorted narrow values, packed; returns the end. */
static uint8_t *merge(const struct ws_values *v, uint8_t *to, size_t *nruns)
{
	struct unpacking packed = unpack(v->rest);
	bool more = read_run(&packed);
	uint64_t before = 0;
	size_t i = 0;

	for (*nruns = 0; more || i < v->n; ++*nruns) {
		uint64_t value = more ? packed.value : UINT64_MAX, n = 0;

		if (i < v->n && v->narrow[i] < value)
			value = v->narrow[i];
		for (; i < v->n && v->narrow[i] == value; i++)
			n++;
		if (more && packed.value == value) {
			n += packed.n;
			more = read_run(&packed);
		}
		to = put_run(to, before, value, n);
		before = value;
	}
	return to;
}

/* A value that comes in between makes of a step two, each no longer, and may be counted. */
#define MOST_BYTES_A_VALUE 6

/* Narrow values are packed; false without memory. */
static bool fold(struct ws_values *v)
{
	struct ws_values_rest *rest = v->rest;
	const size_t most = rest->packed_bytes + v->n * MOST_BYTES_A_VALUE;
	uint8_t *room = malloc(most), *shorter;

	if (!room)
		return false;
	/* room is long enough for them, too */
	sort(v->narrow, (uint32_t *)(void *)room, v->n);
	rest->packed_bytes = (size_t)(merge(v, room, &rest->nruns) - room);
	free(rest->packed);
	rest->packed = room;
	shorter = realloc(rest->packed, rest->packed_bytes);
	if (shorter)
		rest->packed = shorter;
	rest->in_runs += v->n;
	v->n = 0;
	return true;
}

/* So many narrow ones are worth packing: a quarter of what is, so that going through that is cheap.
 */
static size_t fold_at(const struct ws_values *v)
{
	const size_t quarter = v->rest ? v->rest->nruns / 4 : 0;

	return quarter > FOLD_FROM ? quarter : FOLD_FROM;
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

bool ws_values_make_room(struct ws_values *v, size_t *bytes)
{
	size_t want = more(v->capacity);
	uint32_t *grown;

	if (*bytes >= WS_VALUES_UNPACKED_BYTES && v->n >= fold_at(v) && (!has_rest(v) || !fold(v)))
		return false;
	if (v->n < v->capacity)
		return true;
	grown = want > UINT32_MAX ? NULL : reallocarray(v->narrow, want, sizeof(*grown));
	if (!grown)
		return false;
	*bytes += (want - v->capacity) * sizeof(*grown);
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
		free(v->rest->packed);
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
	if (!rest)
		return n;
	for (struct unpacking u = unpack(rest); read_run(&u);)
		out[n++] = (struct ws_counted){(int64_t)u.value, u.n};
	for (size_t i = 0; i < rest->nwide; i++)
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
