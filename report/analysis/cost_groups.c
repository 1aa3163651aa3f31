#include "report/analysis/cost_groups.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "report/analysis/attention_ops.h"
#include "report/base/order.h"
#include "report/base/stat.h"

struct gathering {
	struct ws_cost_groups *out;
	struct ws_strtab ids; /* level, class, name, dtype and device -> group, from 1 */
};

static void merge(struct ws_cost_group *to, const struct ws_cost_group *from)
{
	/* of kernels as long as each other one, whichever operation comes first */
	if (from->longest_ns > to->longest_ns ||
	    (from->longest_ns == to->longest_ns && from->tensor < to->tensor)) {
		to->longest_ns = from->longest_ns;
		to->tensor = from->tensor;
	}
	to->calls += from->calls;
	to->kernels += from->kernels;
	to->gpu_ns += from->gpu_ns;
	to->flops += from->flops;
	to->bytes += from->bytes;
	to->flops_unknown |= from->flops_unknown;
	to->bytes_unknown |= from->bytes_unknown;
	to->needed += from->needed;
	to->needed_unknown |= from->needed_unknown;
}

/* Adds an operation to those of its class, or of its name. */
static void add_op(struct gathering *s, const struct ws_cost_op *op, int64_t needed, bool by_name)
{
	struct ws_cost_groups *out = s->out;
	const uint32_t key[] = {by_name, op->class, by_name ? op->name : WS_TEXT_EMPTY, op->dtype,
	                        op->device};
	const struct ws_cost_group group = {
	        .by_name = by_name,
	        .class = op->class,
	        .name = key[2],
	        .dtype = op->dtype,
	        .device = op->device,
	        .tensor = op->tensor,
	        .longest_ns = op->longest_ns,
	        .calls = 1,
	        .kernels = op->kernels,
	        .gpu_ns = op->gpu_ns,
	        .flops = op->flops > 0 ? op->flops : 0,
	        .bytes = op->bytes > 0 ? op->bytes : 0,
	        .flops_unknown = op->flops < 0,
	        .bytes_unknown = op->bytes<0, .needed = needed> 0 ? needed : 0,
	        .needed_unknown = needed < 0,
	};
	const uint64_t id = ws_strtab_add(&s->ids, key, sizeof(key));

	WS_GROW(out->group, id, out->capacity);
	if (id > out->n)
		out->group[out->n++] = group;
	else
		merge(&out->group[id - 1], &group);
}

/* attention: of an operation of a framework; a range's own product says itself what it needs. */
static int64_t needed_of(const struct ws_model *m, const struct ws_cost_op *op,
                         const uint8_t *attention)
{
	const bool may_be =
	        attention ? *attention == WS_ATTENTION_SCORES || *attention == WS_ATTENTION_FINAL
	                  : op->class == WS_TEXT_GEMM;

	return ws_class_is_product(op->class) ? ws_attention_flops_needed(m, op, may_be) : 0;
}

static void release(void *result)
{
	free(((struct ws_cost_groups *)result)->group);
}

const struct ws_cost_groups *ws_cost_groups_find(const struct ws_model *m,
                                                 const struct ws_selection *sel)
{
	static const char key;
	const struct ws_cost_groups *out = ws_kept_result(sel, &key);
	struct gathering s = {0};
	uint8_t *attention;
	struct ws_cost_ops *costs;

	if (out)
		return out;
	costs = ws_cost_ops_find(m, sel);
	WS_NEW(&sel->kept->arena, s.out, 1);
	s.out->nops = costs->n;
	attention = ws_attention_find(m, costs, &sel->kept->arena);
	for (size_t i = 0; i < costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(costs, i);
		int64_t needed;

		if (!op.kernels)
			continue; /* nothing to hold against its cost */
		s.out->counted_ns += op.gpu_ns;
		s.out->modelled_ns += op.flops >= 0 ? op.gpu_ns : 0;
		needed = needed_of(m, &op,
		                   i < costs->nranges ? NULL : &attention[i - costs->nranges]);
		add_op(&s, &op, needed, false);
		add_op(&s, &op, needed, true);
	}
	ws_strtab_free(&s.ids);
	ws_keep_result(sel, &key, s.out, release);
	return s.out;
}

size_t ws_cost_groups_order(const struct ws_model *m, const struct ws_cost_groups *all,
                            bool by_name, struct ws_row_key *order)
{
	const struct ws_bytes *texts = m->texts;
	size_t n = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct ws_cost_group *g = &all->group[i];

		if (g->by_name == by_name)
			order[n++] = (struct ws_row_key){.number = {WS_DESCENDING(g->gpu_ns)},
			                                 .text = {texts[g->class], texts[g->name],
			                                          texts[g->dtype]},
			                                 .tie = {g->device},
			                                 .row = i};
	}
	ws_row_keys_sort(order, n);
	return n;
}

struct ws_attained ws_cost_group_attained(const struct ws_model *m, const struct ws_cost_group *g)
{
	struct ws_attained a = {.seconds = (double)g->gpu_ns / 1e9,
	                        .flops = g->flops_unknown ? NAN : (double)g->flops,
	                        .bytes = g->bytes_unknown ? NAN : (double)g->bytes,
	                        .attainable_flops_per_s = NAN,
	                        .percent = NAN};

	ws_roof_find(m, g->device, g->class, g->dtype, g->tensor, &a.roof);
	a.intensity = ws_stat_ratio(a.flops, a.bytes);
	a.flops_percent = 100 * ws_stat_ratio(a.flops, a.seconds * a.roof.flops_per_s);
	a.bytes_percent = 100 * ws_stat_ratio(a.bytes, a.seconds * a.roof.bytes_per_s);
	a.bound = isnan(a.intensity) ? NULL : ws_roof_bound(&a.roof, a.flops, a.bytes);
	if (a.bound) {
		a.attainable_flops_per_s =
		        fmin(a.roof.flops_per_s, a.intensity * a.roof.bytes_per_s);
		a.percent = fmax(a.flops_percent, a.bytes_percent);
	}
	return a;
}
