/*
 * The ranges of a recording: which of their kind in its sample each is, what
 * was launched in them, and the dtypes that their operations read.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/diff/reader.h"

/* Dtypes in the order of their first operation. */
#define MOST_DTYPES 64
struct dtypes {
	uint32_t text[MOST_DTYPES];
	size_t n;
	uint64_t *of_path; /* bits */
};

/* Which dtypes the operations of each path read, at most 64 different ones. */
static void look_at_dtype(struct dtypes *d, const struct ws_reader *c,
                          const struct ws_joined_range *range)
{
	const struct ws_op_facts *op = ws_joined_range_op(c->m, range);
	size_t bit = 0;

	if (!range->is_counted || !op->dtype)
		return;
	while (bit < d->n && d->text[bit] != op->dtype)
		bit++;
	if (bit == MOST_DTYPES)
		return;
	if (bit == d->n)
		d->text[d->n++] = op->dtype;
	d->of_path[range->context->path] |= UINT64_C(1) << bit;
}

/* Parents stand before their children. */
static void keep_dtypes(struct ws_reader *c, struct dtypes *d)
{
	struct ws_recording *r = c->r;
	const size_t npaths = c->m->ranges.npaths;
	size_t pairs = 0;

	for (size_t path = npaths; path-- > 0;) {
		const uint32_t parent = c->m->ranges.paths[path].parent;

		pairs += (size_t)__builtin_popcountll(d->of_path[path]);
		if (parent != WS_NONE)
			d->of_path[parent] |= d->of_path[path];
	}
	r->dtypes = ws_xarray(pairs + 1, sizeof(*r->dtypes));
	for (size_t path = 0; path < npaths; path++)
		for (size_t k = 0; k < d->n; k++)
			if (d->of_path[path] >> k & 1)
				r->dtypes[r->ndtypes++] =
				        (struct ws_recorded_fact){c->place_of_path[path],
				                                  ws_reader_text(c, d->text[k])};
}

/*
 * How many ranges of a sample began so far at a place. Samples that are steps follow each other on
 * their thread, so a count of a thread and place begins anew with the next one.
 */
struct count {
	uint32_t sample, n;
};
struct numbering {
	struct ws_texts keys; /* thread and place -> number of its count, from 1 */
	struct count *count;
	size_t ncounts, capacity;
};

static uint32_t take_instance(struct numbering *n, const struct ws_reader *c,
                              const struct ws_range_context *context, const struct ws_range_at *at)
{
	const uint32_t key[] = {c->r->has_steps ? context->thread : 0, at->place};
	const uint32_t number =
	        ws_texts_add_often(&n->keys, (struct ws_bytes){key, sizeof(key)}, context->number);
	struct count *count;

	WS_GROW(n->count, number, n->capacity);
	count = &n->count[number - 1];
	if (number > n->ncounts || count->sample != at->sample)
		*count = (struct count){at->sample, 0};
	n->ncounts = n->keys.n;
	return count->n++;
}

static void read_ranges(struct ws_reader *c, struct ws_arena *temp)
{
	struct ws_recording *r = c->r;
	struct dtypes dtypes = {.n = 0};
	struct numbering numbering = {.ncounts = 0};

	r->nranges = c->rows->nranges;
	ws_spill_open(&r->ranges, r->nranges * sizeof(struct ws_range_at));
	WS_NEW(temp, dtypes.of_path, c->m->ranges.npaths);
	for (uint32_t i = 0; i < r->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, i);
		struct ws_range_at at = {ws_reader_sample(c, ws_joined_range_step(c->rows, range)),
		                         c->place_of_path[range->context->path], 0, 0};

		if (at.sample != WS_NONE) {
			look_at_dtype(&dtypes, c, range);
			at.instance = take_instance(&numbering, c, range->context, &at);
		}
		ws_spill_put(&r->ranges, sizeof(at), i, &at);
	}
	keep_dtypes(c, &dtypes);
	ws_texts_release(&numbering.keys);
	free(numbering.count);
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
		const int64_t gpu_ns = ws_recording_range(c->r, i)->gpu_ns;
		uint32_t parent;

		if (!gpu_ns)
			continue;
		parent = ws_joined_rows_range(c->rows, (uint32_t)i)->parent;
		if (parent != WS_NONE)
			ws_recording_range(c->r, parent)->gpu_ns += gpu_ns;
	}
	/* after the sums over parents: a crossing range's own parents are listed as well */
	for (size_t i = 0; i < c->rows->nkernels && crossings; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->rows, i);

		for (uint32_t at = ws_joined_crossing(c->m, k); at != WS_NONE;
		     at = crossings[at].next)
			ws_recording_range(c->r, crossings[at].range)->gpu_ns += k->dur_ns;
	}
}
