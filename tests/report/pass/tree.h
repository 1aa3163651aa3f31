/* The ranges of a trace made by hand, from the rows that the product joins. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "tests/support/trace_builder.h"

struct tree {
	struct joined *j;
	size_t n;
	/* by thread, then begin; their parents are places here */
	struct ws_joined_range *range;
	uint32_t *place; /* number of a row -> place here */
};

/* Closes b, which outlives it. */
static inline struct tree tree_of(struct tb *b)
{
	struct joined *j = tb_joined(b);
	struct tree t = {.j = j,
	                 .range = calloc(j->rows.nranges + 1, sizeof(*t.range)),
	                 .place = calloc(j->rows.nranges + 1, sizeof(*t.place))};

	for (uint32_t thread = 0; thread < j->m->nthreads; thread++)
		for (uint32_t i = 0; i < j->rows.nranges; i++) {
			const struct ws_joined_range *r = ws_joined_rows_range(&j->rows, i);

			if (r->context->thread != thread)
				continue;
			t.place[i] = (uint32_t)t.n;
			t.range[t.n++] = *r;
		}
	cr_assert(eq(sz, t.n, j->rows.nranges));
	for (uint32_t i = 0; i < t.n; i++) {
		struct ws_joined_range *r = &t.range[t.place[i]];

		cr_assert(r->parent == WS_NONE || r->parent < i, "parents come first");
		r->parent = r->parent == WS_NONE ? WS_NONE : t.place[r->parent];
	}
	return t;
}

static inline void tree_free(struct tree *t)
{
	free(t->range);
	free(t->place);
	joined_free(t->j);
}
