/*
 * The ranges of a recording: their instance number in the sample, their launches, and the dtypes
 * that their operations read.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "report/diff/recording.h"

/* Adds the dtype of an operation to its place. */
static void look_at_dtype(struct ws_reader *c, const struct ws_joined_range *range, uint32_t place)
{
	const struct ws_op_facts *op = ws_joined_range_op(c->m, range);
	struct ws_names *names = c->names;
	uint32_t text;
	size_t bit = 0;

	if (!range->is_counted || !op->dtype)
		return;
	text = ws_reader_text(c, op->dtype);
	while (bit < names->ndtypes && names->dtype[bit] != text)
		bit++;
	if (bit == WS_MOST_DTYPES)
		return;
	if (bit == names->ndtypes)
		names->dtype[names->ndtypes++] = text;
	c->r->dtypes[place] |= UINT64_C(1) << bit;
}

/*
 * Number of ranges of a place that began so far in a sample. Steps follow each other on their
 * thread, so the count for a thread and place restarts with the next sample.
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

void ws_reader_read_ranges(struct ws_reader *c)
{
	struct ws_recording *r = c->r;
	struct numbering numbering = {.ncounts = 0};

	r->nranges = c->rows->nranges;
	ws_spill_open(&r->ranges, r->nranges * sizeof(struct ws_range_at));
	r->nplaces = c->names->nplaces;
	r->dtypes = ws_xarray(r->nplaces + 1, sizeof(*r->dtypes));
	for (uint32_t i = 0; i < r->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, i);
		struct ws_range_at at = {ws_reader_sample(c, ws_joined_range_step(c->rows, range)),
		                         c->place_of_path[range->context->path], 0, 0};

		if (at.sample != WS_NONE) {
			look_at_dtype(c, range, at.place);
			at.instance = take_instance(&numbering, c, range->context, &at);
		}
		ws_spill_put(&r->ranges, sizeof(at), i, &at);
	}
	/* parents come before their children */
	for (size_t p = r->nplaces; p-- > 0;)
		if (c->names->parents[p] != WS_NONE)
			r->dtypes[c->names->parents[p]] |= r->dtypes[p];
	ws_texts_release(&numbering.keys);
	free(numbering.count);
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
	/* after the sums over parents, because the parents of a crossing range are listed, too */
	for (size_t i = 0; i < c->rows->nkernels && crossings; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c->rows, i);

		for (uint32_t at = ws_joined_crossing(c->m, k); at != WS_NONE;
		     at = crossings[at].next)
			ws_recording_range(c->r, crossings[at].range)->gpu_ns += k->dur_ns;
	}
}
