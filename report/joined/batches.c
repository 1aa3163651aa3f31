#include "report/joined/batches.h"

#include <string.h>

#include "formats/base/strtab.h"
#include "report/model/batch.h"

/* The innermost batch around a range whose sums are told. */
static bool batch_around(struct ws_joined_rows *rows, const struct ws_model *m, uint32_t range,
                         struct ws_batch *batch)
{
	const struct ws_joined_range *r;

	for (; (r = ws_joined_rows_range(rows, range)); range = r->parent)
		if (ws_batch_of_name(m->texts[r->recorded], batch) && batch->has_sums)
			return true;
	return false;
}

/* Pairs that an operation on so many queries computes: of the whole batch, or of its prompts or
 * generation alone. False: of neither. */
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
		struct ws_batch batch;

		if (!like.flops_per_pair || !batch_around(rows, m, ops->range[i], &batch) ||
		    !find_pairs(&batch, like.queries, &pairs) ||
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
