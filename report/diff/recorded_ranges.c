/*
 * The ranges of a recording: which of their kind in its sample each is, what
 * was launched in them, and the dtypes that their operations read.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/diff/reader.h"

/* Dtypes in the order of their first operation by thread, then begin. */
#define MOST_DTYPES 64
struct dtypes {
	uint32_t text[MOST_DTYPES];
	uint64_t first[MOST_DTYPES];
	size_t n;
	uint64_t *of_path; /* bits */
};

/* The ranges of a sample get their numbers at their places. count: one entry a place. */
static void number_ranges(struct ws_reader *c, const uint32_t *order, size_t n,
                          struct ws_range_begin *begun, uint32_t *count)
{
	for (size_t i = 0; i < n; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, order[i]);

		begun[i] =
		        (struct ws_range_begin){range->start_ns, range->context->thread, order[i]};
	}
	ws_sort(begun, n, sizeof(*begun), ws_range_begin_compare);
	memset(count, 0, c->names->nplaces * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		struct ws_range_at *range = ws_recording_range(c->r, begun[i].number);

		range->instance = count[range->place]++;
	}
}

static void number_samples(struct ws_reader *c, struct ws_arena *temp, uint32_t *count)
{
	struct ws_rows_by_key of;
	struct ws_range_begin *begun;
	uint32_t *sample;
	size_t most = 0;

	WS_NEW(temp, sample, c->r->nranges);
	for (size_t i = 0; i < c->r->nranges; i++)
		sample[i] = ws_recording_range(c->r, i)->sample;
	ws_order_by_key(&of, temp, sample, c->r->nranges, c->r->nsamples);
	for (size_t s = 0; s < c->r->nsamples; s++)
		if (of.first[s + 1] - of.first[s] > most)
			most = of.first[s + 1] - of.first[s];
	WS_NEW(temp, begun, most);
	for (size_t s = 0; s < c->r->nsamples; s++)
		number_ranges(c, of.order + of.first[s], of.first[s + 1] - of.first[s], begun,
		              count);
}

/* Which dtypes the operations of each path read, at most 64 different ones. */
static void look_at_dtype(struct dtypes *d, const struct ws_reader *c,
                          const struct ws_joined_range *range, uint32_t number)
{
	const struct ws_op_facts *op = ws_joined_range_op(c->m, range);
	const uint64_t at = (uint64_t)range->context->thread << 32 | number;
	size_t bit = 0;

	if (!range->is_counted || !op->dtype)
		return;
	while (bit < d->n && d->text[bit] != op->dtype)
		bit++;
	if (bit == MOST_DTYPES)
		return;
	if (bit == d->n) {
		d->text[d->n++] = op->dtype;
		d->first[bit] = at;
	}
	if (at < d->first[bit])
		d->first[bit] = at;
	d->of_path[range->context->path] |= UINT64_C(1) << bit;
}

static void keep_dtypes(struct ws_reader *c, struct dtypes *d)
{
	struct ws_recording *r = c->r;
	const size_t npaths = c->m->ranges.npaths;
	uint8_t order[MOST_DTYPES];
	size_t pairs = 0;

	for (size_t i = 0; i < d->n; i++) {
		size_t at = i;

		for (; at && d->first[order[at - 1]] > d->first[i]; at--)
			order[at] = order[at - 1];
		order[at] = (uint8_t)i;
	}
	for (size_t i = npaths; i-- > 0;) {
		const uint32_t path = c->path_order[i], parent = c->m->ranges.paths[path].parent;

		pairs += (size_t)__builtin_popcountll(d->of_path[path]);
		if (parent != WS_NONE)
			d->of_path[parent] |= d->of_path[path];
	}
	r->dtypes = ws_xarray(pairs + 1, sizeof(*r->dtypes));
	for (size_t i = 0; i < npaths; i++) {
		const uint32_t path = c->path_order[i];

		for (size_t k = 0; k < d->n; k++) {
			if (!(d->of_path[path] >> order[k] & 1))
				continue;
			r->dtypes[r->ndtypes].key = c->place_of_path[path];
			r->dtypes[r->ndtypes++].value = ws_reader_text(c, d->text[order[k]]);
		}
	}
}

/*
 * What numbers ranges as they come, which is right while they come by sample, then begin, then
 * thread, as they mostly do.
 */
struct numbering {
	struct ws_range_begin last;
	uint32_t sample, *count; /* of each place in it */
	bool in_order;
};

static void number_range(struct numbering *n, const struct ws_reader *c,
                         const struct ws_joined_range *range, struct ws_range_at *at, uint32_t i)
{
	const struct ws_range_begin begin = {range->start_ns, range->context->thread, i};

	if (at->sample != n->sample) {
		n->in_order &= n->sample == WS_NONE || at->sample > n->sample;
		n->sample = at->sample;
		memset(n->count, 0, c->names->nplaces * sizeof(*n->count));
	} else {
		n->in_order &= ws_range_begin_compare(&n->last, &begin) < 0;
	}
	n->last = begin;
	at->instance = n->count[at->place]++;
}

static void read_ranges(struct ws_reader *c, struct ws_arena *temp)
{
	struct ws_recording *r = c->r;
	struct dtypes dtypes = {.n = 0};
	struct numbering numbering = {.sample = WS_NONE, .in_order = true};

	r->nranges = c->rows->nranges;
	ws_spill_open(&r->ranges, r->nranges * sizeof(struct ws_range_at));
	WS_NEW(temp, numbering.count, c->names->nplaces);
	WS_NEW(temp, dtypes.of_path, c->m->ranges.npaths);
	for (uint32_t i = 0; i < r->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, i);
		struct ws_range_at at = {ws_reader_sample(c, ws_joined_range_step(range)),
		                         c->place_of_path[range->context->path], 0};

		if (at.sample != WS_NONE) {
			look_at_dtype(&dtypes, c, range, i);
			number_range(&numbering, c, range, &at, i);
		}
		ws_spill_put(&r->ranges, sizeof(at), i, &at);
	}
	if (!numbering.in_order)
		number_samples(c, temp, numbering.count);
	keep_dtypes(c, &dtypes);
}

void ws_reader_read_ranges(struct ws_reader *c)
{
	struct ws_arena temp = {0};

	read_ranges(c, &temp);
	ws_arena_free(&temp);
}

void ws_reader_add_up_ranges(struct ws_reader *c)
{
	const struct ws_crossing *crossings = c->m->attribution.crossings;

	for (size_t i = c->r->nranges; i-- > 0;) {
		const int64_t gpu_ns = c->range_ns[i];
		uint32_t parent;

		if (!gpu_ns)
			continue;
		parent = ws_joined_rows_range(c->rows, (uint32_t)i)->parent;
		if (parent != WS_NONE)
			c->range_ns[parent] += gpu_ns;
	}
	/* after the sums over parents: a crossing range's own parents are listed as well */
	for (size_t i = 0; i < c->rows->nkernels && crossings; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->rows, i);

		for (uint32_t at = ws_joined_crossing(c->m, k); at != WS_NONE;
		     at = crossings[at].next)
			c->range_ns[crossings[at].range] += k->dur_ns;
	}
}

static void end_sum(struct ws_recording *r, struct ws_range_sum *sum)
{
	if (sum->n)
		ws_spill_put(&r->range_sums, sizeof(*sum), r->nrange_sums++, sum);
	sum->n = 0;
}

/* A sum ends when a range of its place is of another sample. */
static void sum_ranges(struct ws_reader *c, struct ws_range_sum *of_place, size_t nplaces)
{
	struct ws_recording *r = c->r;

	for (size_t i = 0; i < r->nranges; i++) {
		const struct ws_range_at *at = ws_recording_range(r, i);
		struct ws_range_sum *sum;

		ws_spill_put(&r->range_ns, sizeof(int64_t), i, &c->range_ns[i]);
		if (at->sample == WS_NONE)
			continue;
		sum = &of_place[at->place];
		if (sum->sample != at->sample)
			end_sum(r, sum);
		if (!sum->n)
			*sum = (struct ws_range_sum){.sample = at->sample, .place = at->place};
		sum->n++;
		if (at->instance >= sum->instances)
			sum->instances = at->instance + 1;
		sum->gpu_ns += c->range_ns[i];
	}
	for (size_t p = 0; p < nplaces; p++)
		end_sum(r, &of_place[p]);
}

void ws_reader_sum_ranges(struct ws_reader *c)
{
	const size_t nplaces = c->names->nplaces;
	struct ws_arena temp = {0};
	struct ws_range_sum *of_place;

	WS_NEW(&temp, of_place, nplaces);
	ws_spill_open(&c->r->range_sums, c->r->nranges * sizeof(struct ws_range_sum));
	ws_spill_open(&c->r->range_ns, c->r->nranges * sizeof(int64_t));
	sum_ranges(c, of_place, nplaces);
	ws_arena_free(&temp);
}
