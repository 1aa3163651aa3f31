/* Operations of frameworks beside a slow way; all else of them: ../scenarios/operations.scenario.
 */
#include "tests/report/tables/foreign.h"
#include "tests/report/random_traces.h"
#include "tests/environment/random.h"

static uint64_t seed;
/* The operation that contains [start, end] on the thread and began last; of those that began
 * together the shorter, else the later in the tree. `but`: not this one, nor what stands behind it.
 */
static uint32_t naive_innermost(const struct ws_op_tree *r, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, uint32_t but)
{
	uint32_t found = WS_NONE;

	for (uint32_t i = 0; i < r->n && i < but; i++)
		if (r->thread[i] == thread && r->start_ns[i] <= start_ns && r->end_ns[i] >= end_ns)
			found = i;
	return found;
}

/* Operations that nest, touch and cross; calls anywhere; links from thread to thread. */
Test(operation_tables, operations_nest_and_take_calls_as_the_slow_way_says)
{
	for (unsigned round = 0; round < RANDOM_TRACES(2000); round++) {
		struct tb *b = tb_new();
		struct joined *j;
		const struct ws_op_tree *r;

		seed = round;
		ids = 1000;
		tb_thread(b, 2, 100);
		for (unsigned i = random_below(&seed, 40); i; i--)
			add_op(b, 1 + random_below(&seed, 2),
			       (struct op){.name = "op",
			                   .start_ns = random_below(&seed, 60),
			                   .dur_ns = random_below(&seed, 30)});
		for (unsigned i = random_below(&seed, 20); i; i--) {
			tb_on_thread(b, 1 + random_below(&seed, 2));
			tb_call(b, random_below(&seed, 70), random_below(&seed, 5), ++ids);
		}
		j = tb_joined(b);
		r = &j->m->cpu_ops.tree;
		for (uint32_t i = 0; i < r->n; i++) {
			if (i && r->thread[i - 1] == r->thread[i])
				cr_assert(r->start_ns[i - 1] <= r->start_ns[i]);
			cr_assert(eq(u32, r->parent[i],
			             naive_innermost(r, r->thread[i], r->start_ns[i], r->end_ns[i],
			                             i)),
			          "round %u, operation %u", round, i);
		}
		for (uint32_t i = 0; i < j->rows.ncalls; i++) {
			const struct ws_joined_call *call = ws_joined_rows_call(&j->rows, i);

			cr_assert(eq(u32, ws_joined_call_op(j->m, call),
			             naive_innermost(r, call->kind->thread, call->start_ns,
			                             call->start_ns + call->dur_ns, WS_NONE)),
			          "round %u, call %u", round, i);
		}
		joined_free(j);
		tb_free(b);
	}
}
