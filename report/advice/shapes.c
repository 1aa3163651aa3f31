/* Rules about launches that use the device badly: A27 multiprocessors without a block, A29 fp64 on
 * devices with few fp64 units. */

#include "report/advice/advice.h"
#include "report/base/names.h"

/* 0: not recorded. */
static uint64_t blocks_of(const struct ws_config *c)
{
	return c->shape.grid_x * (c->shape.grid_y ? c->shape.grid_y : 1) *
	       (c->shape.grid_z ? c->shape.grid_z : 1);
}

static uint64_t threads_of(const struct ws_config *c)
{
	return c->shape.block_x * (c->shape.block_y ? c->shape.block_y : 1) *
	       (c->shape.block_z ? c->shape.block_z : 1);
}

static int64_t multiprocessors_of(const struct ws_advice *a, const struct ws_config *c)
{
	return c->device < a->m->ndevices ? a->m->devices[c->device].facts.sm_count : 0;
}

/* Kernels of communication use few blocks on purpose. */
static bool is_comm(const struct ws_advice *a, size_t config)
{
	return a->traits[config].op_class == WS_CLASS_COMM;
}

static bool leaves_empty(const struct ws_advice *a, size_t config)
{
	const struct ws_config *c = &a->m->configs[config];
	const int64_t sms = multiprocessors_of(a, c);

	return blocks_of(c) && sms > 0 && a->running_blocks[config] < (double)sms &&
	       !is_comm(a, config);
}

static bool has_tiny_blocks(const struct ws_advice *a, size_t config)
{
	const struct ws_config *c = &a->m->configs[config];
	const uint64_t threads = threads_of(c);

	return threads && threads < WS_A27_THREADS && !leaves_empty(a, config) &&
	       !is_comm(a, config);
}

/* Upper bound: the same work on all multiprocessors. */
static double rate_of_empty(const struct ws_advice *a, const struct ws_advice_cell *cell,
                            const struct ws_claim *claim)
{
	const struct ws_config *c = &a->m->configs[cell->config];

	(void)claim;
	return leaves_empty(a, cell->config)
	               ? 1 - a->running_blocks[cell->config] / (double)multiprocessors_of(a, c)
	               : -1;
}

/* Upper bound: a multiprocessor holds its maximum number of threads. */
static double rate_of_tiny(const struct ws_advice *a, const struct ws_advice_cell *cell,
                           const struct ws_claim *claim)
{
	const struct ws_config *c = &a->m->configs[cell->config];
	const struct ws_device *device = &a->m->devices[c->device];

	(void)claim;
	if (!has_tiny_blocks(a, cell->config))
		return -1;
	if (!c->has_occupancy || !device->has_limits)
		return NAN;
	return fmax(0, 1 - (double)(c->occupancy.active_blocks * threads_of(c)) /
	                               device->limits.threads_per_sm);
}

static bool is_alike(const struct ws_config *a, const struct ws_config *b)
{
	return a->name == b->name && a->device == b->device && blocks_of(a) == blocks_of(b) &&
	       threads_of(a) == threads_of(b);
}

/* "1.2 of 3.4 ms: solve, 1 block of 32 threads on 132 multiprocessors (1.1 ms); …": those with
 * most time. */
static const char *shapes(struct ws_advice *a, bool (*which)(const struct ws_advice *, size_t))
{
	uint32_t top[WS_ADVICE_TOP];
	const char *text = ws_advice_kernel_part(a, ws_advice_time_of(a, which));
	size_t n = 0;

	for (uint32_t i = 0; i < a->m->nconfigs; i++)
		if (a->config_ns[i] && which(a, i))
			n = ws_advice_rank(top, n, a->config_ns, i);
	for (size_t i = 0; i < n; i++) {
		const struct ws_config *c = &a->m->configs[top[i]];
		const uint64_t blocks = blocks_of(c);
		int64_t ns = 0; /* on all streams */
		bool is_told = false;

		for (size_t k = 0; k < i; k++)
			is_told |= is_alike(c, &a->m->configs[top[k]]);
		if (is_told)
			continue;
		for (size_t k = 0; k < a->m->nconfigs; k++)
			ns += is_alike(c, &a->m->configs[k]) ? a->config_ns[k] : 0;
		text = ws_advice_text(a, "%s%s%s, %s block%s of %" PRIu64 " thread%s", text,
		                      i ? "; " : ": ", ws_advice_name(a, c->name),
		                      ws_say_number(a->texts, (double)blocks), WS_PLURAL(blocks),
		                      threads_of(c), WS_PLURAL(threads_of(c)));
		if (multiprocessors_of(a, c) > 0)
			text = ws_advice_text(a, "%s on %" PRId64 " multiprocessors", text,
			                      multiprocessors_of(a, c));
		const double in_all = round(a->running_blocks[top[i]]);

		if (in_all >= 1.05 * (double)blocks)
			text = ws_advice_text(a, "%s, beside others: %s blocks in all", text,
			                      ws_say_number(a->texts, in_all));
		text = ws_advice_text(a, "%s (%s)", text, ws_advice_kernel_time(a, ns));
	}
	return text;
}

void ws_rule_empty_grids(struct ws_advice *a)
{
	bool is_known = false;

	/* Of how many blocks kernels ran while those of a configuration did, in the mean: its own,
	 * and those of kernels beside it on its device. */
	struct ws_joined_rows *rows = a->tab->sel->rows;
	const struct ws_replay_piece *piece = a->replayed->pieces;
	struct running {
		uint32_t piece, config;
		double blocks;
	} * now;
	size_t n = 0;

	WS_NEW(&a->arena, a->running_blocks, a->m->nconfigs);
	double *ns = ws_arena_array(&a->arena, a->m->nconfigs, sizeof(*ns));
	WS_NEW(&a->arena, now, piece ? a->replayed->npieces : 0);
	for (uint32_t i = 0; piece && i < a->replayed->npieces; i++) {
		struct running own = {.piece = i};
		size_t kept = 0;

		if (!piece[i].is_kernel)
			continue;
		own.config = ws_joined_rows_kernel(rows, piece[i].row)->kind->config;
		own.blocks = (double)blocks_of(&a->m->configs[own.config]);
		for (size_t k = 0; k < n; k++) {
			const struct ws_replay_piece *other = &piece[now[k].piece];
			const double both_ns =
			        (double)ws_span_overlap(other->start_ns, ws_piece_end(other),
			                                piece[i].start_ns, ws_piece_end(&piece[i]));

			if (ws_piece_end(other) <= piece[i].start_ns)
				continue;
			if (other->device == piece[i].device) {
				a->running_blocks[own.config] += both_ns * now[k].blocks;
				a->running_blocks[now[k].config] += both_ns * own.blocks;
			}
			now[kept++] = now[k];
		}
		now[kept] = own;
		n = kept + 1;
		a->running_blocks[own.config] += (double)piece[i].dur_ns * own.blocks;
		ns[own.config] += (double)piece[i].dur_ns;
	}
	for (size_t i = 0; i < a->m->nconfigs; i++)
		a->running_blocks[i] = ns[i] > 0 ? a->running_blocks[i] / ns[i]
		                                 : (double)blocks_of(&a->m->configs[i]);
	for (size_t i = 0; i < a->m->nconfigs; i++)
		is_known |= a->config_ns[i] && blocks_of(&a->m->configs[i]);
	if (!is_known)
		a->found->not_judged[WS_RULE_empty_grids] = "no kernel tells its blocks";
	if (ws_advice_share(a, ws_advice_time_of(a, leaves_empty)) >= WS_A27_PERCENT)
		ws_advice_add_claim(a, WS_RULE_empty_grids, WS_SEVERITY_STRONG,
		                    (struct ws_claim){.rate = rate_of_empty},
		                    "fewer blocks than multiprocessors", shapes(a, leaves_empty),
		                    NULL);
	if (ws_advice_share(a, ws_advice_time_of(a, has_tiny_blocks)) >= WS_A27_PERCENT)
		ws_advice_add_claim(a, WS_RULE_empty_grids, WS_SEVERITY_WEAK,
		                    (struct ws_claim){.rate = rate_of_tiny, .is_bound = true},
		                    "blocks of few threads", shapes(a, has_tiny_blocks),
		                    "Use blocks of 128 threads or more: a multiprocessor holds few "
		                    "blocks at a time");
}

/* --- A29 fp64 --------------------------------------------------------------------------------- */

bool ws_advice_is_geforce(const struct ws_advice *a, uint32_t device)
{
	return device < a->m->ndevices &&
	       ws_name_matches(ws_bytes_of("*GeForce*"), a->m->texts[a->m->devices[device].name]);
}

static bool is_slow_fp64(const struct ws_advice *a, size_t config)
{
	static const char *const others[] = {"*float*", "*half*"};
	const struct ws_config *c = &a->m->configs[config];
	const struct ws_bytes name = a->m->texts[c->name];

	/* also without a class, if all floating-point parameters are doubles */
	return ws_advice_is_geforce(a, c->device) &&
	       (ws_name_is(a->m->texts[c->name_dtype], "fp64") ||
	        (a->traits[config].op_class == WS_CLASS_OTHER &&
	         ws_name_matches(ws_bytes_of("*double*"), name) &&
	         !WS_NAME_IS_ONE_OF(name, others)));
}

/* The gain is an upper bound: fp32 runs at 32 times the rate of fp64 or more. */
void ws_rule_slow_fp64(struct ws_advice *a)
{
	if (ws_advice_share(a, ws_advice_time_of(a, is_slow_fp64)) >= WS_A29_PERCENT)
		ws_advice_add_kernels(a, WS_RULE_slow_fp64, WS_SEVERITY_HINT,
		                      (struct ws_claim){.covers = is_slow_fp64,
		                                        .value = 1 - 1.0 / WS_A29_TIMES,
		                                        .is_bound = true},
		                      "kernels in fp64", NULL);
}
