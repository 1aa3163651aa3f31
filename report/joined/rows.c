#include "report/joined/rows.h"
#include "report/model/load.h"

static uint32_t thread_of_range(const void *ctx, const void *row)
{
	const struct ws_joined_range *range = row;

	(void)ctx;
	return range->context->thread;
}

void ws_joined_rows_ranges_by_thread(struct ws_joined_rows *rows, const struct ws_model *m)
{
	const struct ws_spill_key thread = {m->nthreads, thread_of_range, NULL};

	ws_spill_partition(&rows->ranges, sizeof(struct ws_joined_range), rows->nranges, &thread);
}

uint32_t ws_joined_rows_op_range(struct ws_joined_rows *rows, uint32_t number)
{
	const struct ws_joined_range *range = ws_joined_rows_range(rows, number);

	if (!range || range->context->op == WS_NONE)
		return WS_NONE;
	if (range->context->is_op)
		return number;
	/* for all ranges at once, parents first: recursion could be as deep as all ranges */
	if (!rows->op_ranges.data) {
		ws_spill_open(&rows->op_ranges, rows->nranges * sizeof(uint32_t));
		WS_EACH_RANGE(rows, i, r) {
			uint32_t op = WS_NONE;

			if (r->context->is_op)
				op = i;
			else if (r->context->op != WS_NONE)
				op = *(const uint32_t *)ws_spill_row(&rows->op_ranges, sizeof(op),
				                                     r->parent);
			ws_spill_put(&rows->op_ranges, sizeof(op), i, &op);
		}
	}

	return *(const uint32_t *)ws_spill_row(&rows->op_ranges, sizeof(uint32_t), number);
}

uint32_t ws_joined_step_at(const struct ws_joined_rows *rows, const struct ws_model *m,
                           const struct ws_joined_range *range, uint32_t process, uint32_t thread,
                           int64_t start_ns, int64_t end_ns)
{
	const uint32_t step = range ? ws_joined_range_step(rows, range) : WS_NONE;

	if (step != WS_NONE || (range && range->context->marks & WS_IN_WARM_UP))
		return step;
	return ws_step_holding(m, process, thread, start_ns, end_ns, false);
}

uint32_t ws_joined_call_step(struct ws_joined_rows *rows, const struct ws_model *m,
                             const struct ws_joined_call *call)
{
	return ws_joined_step_at(rows, m, ws_joined_rows_range(rows, call->range),
	                         m->threads[call->kind->thread].process, call->kind->thread,
	                         call->start_ns, call->start_ns + call->dur_ns);
}

void ws_joined_rows_free(struct ws_joined_rows *rows)
{
	ws_spill_close(&rows->kernels);
	ws_spill_close(&rows->op_ranges);
	ws_spill_close(&rows->calls);
	ws_spill_close(&rows->ranges);
	free(rows->range_of);
	free(rows->step_of);
	*rows = (struct ws_joined_rows){0};
}

int ws_range_begin_compare(const void *pa, const void *pb)
{
	const struct ws_range_begin *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* --- launches --- */

#define KEY_BYTES sizeof(struct ws_call_key)

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct ws_call_key *a = pa, *b = pb;

	(void)ctx;
	WS_ORDER_BY(a->correlation, b->correlation);
	WS_ORDER_BY(a->process, b->process);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	return a->call < b->call ? -1 : a->call > b->call;
}

void ws_launches_open(struct ws_launches *l, uint64_t calls)
{
	ws_spill_open(&l->keys, calls * KEY_BYTES);
}

void ws_launches_add(struct ws_launches *l, const struct ws_call_key *call)
{
	if (call->correlation)
		ws_spill_put(&l->keys, KEY_BYTES, l->n++, call);
}

void ws_launches_sort(struct ws_launches *l)
{
	ws_spill_sort(&l->keys, KEY_BYTES, l->n, compare, NULL);
}

static struct ws_call_key key_of_call(struct ws_joined_rows *rows, const struct ws_model *m,
                                      uint32_t i)
{
	const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

	return (struct ws_call_key){call->correlation, m->threads[call->kind->thread].process, i,
	                            call->start_ns};
}

void ws_launches_of_rows(struct ws_launches *l, struct ws_joined_rows *rows,
                         const struct ws_model *m)
{
	if (rows->calls_by_id) {
		*l = (struct ws_launches){.rows = rows, .m = m, .n = rows->ncalls};
		return;
	}
	ws_launches_open(l, rows->ncalls);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_call_key key = key_of_call(rows, m, i);

		ws_launches_add(l, &key);
	}
	ws_launches_sort(l);
}

void ws_launches_free(struct ws_launches *l)
{
	ws_spill_close(&l->keys);
}

static struct ws_call_key key_at(struct ws_launches *l, size_t at)
{
	if (l->rows)
		return key_of_call(l->rows, l->m, (uint32_t)at);
	return *(const struct ws_call_key *)ws_spill_row(&l->keys, KEY_BYTES, at);
}

struct search {
	struct ws_launches *l;
	struct ws_call_key kernel;
};

static bool is_at_or_before_kernel(void *ctx, size_t at)
{
	const struct search *s = ctx;
	const struct ws_call_key call = key_at(s->l, at);

	return compare(&call, &s->kernel, NULL) <= 0;
}

static bool is_same_call(const struct ws_call_key *a, const struct ws_call_key *b)
{
	return a->process == b->process && a->correlation == b->correlation;
}

uint32_t ws_launches_find(struct ws_launches *l, struct ws_call_key kernel)
{
	struct search search = {l, kernel};
	struct ws_call_key call;

	search.kernel.call = WS_NONE; /* after a call that began at the same time */
	if (!kernel.correlation)
		return WS_NONE;
	/* mostly it is the next one; ids of joined rows are unique here */
	if (l->rows && l->next < l->n) {
		call = key_at(l, l->next);
		l->next += call.correlation == kernel.correlation;
		if (is_same_call(&call, &kernel))
			return call.call;
	}
	l->next = ws_count_before(l->n, l->next, is_at_or_before_kernel, &search);
	if (l->next) {
		call = key_at(l, l->next - 1);
		if (is_same_call(&call, &kernel))
			return call.call;
	}
	if (l->next == l->n)
		return WS_NONE;
	call = key_at(l, l->next); /* clocks disagree: it began after its kernel */
	return is_same_call(&call, &kernel) ? call.call : WS_NONE;
}

/* --- batches --------------------------------------------------------------------------------- */

/* Pairs that an operation with this number of queries computes: those of the whole batch, or of its
 * prompts or generation alone. False if the number fits none of these. */
static bool find_pairs(const struct ws_batch *b, uint64_t queries, uint64_t *pairs)
{
	const uint64_t context = ws_batch_part_causal_pairs(&b->context),
	               generation = ws_batch_part_causal_pairs(&b->generation);

	if (queries == b->context.queries + b->generation.queries)
		*pairs = context + generation;
	else if (queries == b->context.queries)
		*pairs = context;
	else if (queries == b->generation.queries)
		*pairs = generation;
	else
		return false;
	return true;
}

void ws_batches_find_flops(struct ws_joined_rows *rows, struct ws_model *m)
{
	struct ws_cpu_ops *ops = &m->cpu_ops;
	struct ws_op_config *configs;
	struct ws_strtab known = {0}; /* a configuration and its FLOPs -> number of the new one */
	size_t most = 0, nconfigs = ops->nconfigs;

	for (size_t i = 0; i < ops->tree.n; i++)
		most += ops->configs[ops->config[i]].flops_per_pair > 0;
	if (!most)
		return;
	WS_NEW(&m->arena, configs, nconfigs + most);
	memcpy(configs, ops->configs, nconfigs * sizeof(*configs));
	for (size_t i = 0; i < ops->tree.n; i++) {
		struct ws_op_config like = configs[ops->config[i]];
		uint64_t pairs, flops, number;
		const struct ws_joined_range *range;
		struct ws_batch batch;

		/* the innermost batch with known sums around it */
		range = like.flops_per_pair ? ws_joined_rows_range(rows, ops->range[i]) : NULL;
		while (range &&
		       !(ws_batch_of_name(m->texts[range->recorded], &batch) && batch.has_sums))
			range = ws_joined_rows_range(rows, range->parent);
		if (!range || !find_pairs(&batch, like.queries, &pairs) ||
		    __builtin_mul_overflow(pairs, like.flops_per_pair, &flops) || flops > INT64_MAX)
			continue;
		number = ws_strtab_add(&known, (const uint64_t[]){ops->config[i], flops},
		                       2 * sizeof(flops));
		like.flops = like.flops_needed = (int64_t)flops;
		like.kind = WS_TEXT_FUSED_ATTENTION;
		configs[nconfigs + number - 1] = like;
		ops->config[i] = (uint32_t)(nconfigs + number - 1);
	}
	ops->configs = configs;
	ops->nconfigs = nconfigs + known.used;
	ws_strtab_free(&known);
}
