#include "formats/op_cost/op_cost.h"
#include "report/analysis/costs.h"
#include "report/base/names.h"
#include "report/base/stat.h"

/* Stored data of an operation. */
struct kept {
	uint32_t source;            /* number of the range, or of the framework's operation */
	uint32_t facts : 29;        /* row of its payload, or number of its description */
	uint32_t is_replay : 1;     /* by a CUDA graph */
	uint32_t flops_too_big : 1; /* would overflow the sum */
	uint32_t bytes_too_big : 1;
};

/* Data from the kernels of an operation, computed only if requested. */
struct work {
	int64_t gpu_ns, longest_ns;
	uint32_t step;   /* step of the first kernel with one, WS_NONE */
	uint32_t config; /* configuration of its longest kernel */
	uint32_t dtype;  /* dtype of that kernel */
	uint32_t kernels;
};

static void release(void *result)
{
	struct ws_cost_ops *c = result;

	ws_spill_close(&c->ops);
	ws_spill_close(&c->work);
	ws_spill_close(&c->of_range);
	ws_idmap_free(&c->range_replays);
	ws_idmap_free(&c->op_replays);
}

/* --- one operation ------------------------------------------------------------------------ */

struct ws_cost_op ws_cost_ops_at(struct ws_cost_ops *c, size_t i)
{
	const struct kept kept = *(const struct kept *)ws_spill_row(&c->ops, sizeof(kept), i);
	const struct ws_model *m = c->m;
	const struct ws_cpu_ops *ops = &m->cpu_ops;
	/* backward runs on a thread without ranges: it belongs to the range of its forward */
	const bool by_forward = i >= c->nranges && ops->range[kept.source] == WS_NONE &&
	                        ops->forward[kept.source] != WS_NONE;
	const struct ws_joined_range *range =
	        ws_joined_rows_range(c->rows, i < c->nranges ? kept.source
	                                      : by_forward   ? ops->range[ops->forward[kept.source]]
	                                                     : ops->range[kept.source]);

	const struct ws_op_config *config;
	const struct work *work = NULL;
	struct ws_cost_op op = {
	        .range = WS_NONE,
	        .cpu_op = WS_NONE,
	        .path = range ? range->context->path : WS_NONE,
	        .step = range ? ws_joined_range_step(c->rows, range) : WS_NONE,
	        .device = WS_NONE,
	};

	if (i < c->nranges) {
		op.range = kept.source;
		op.name = range->context->name;
		op.class = range->context->class;
		const struct ws_op_facts *facts = &m->ops.op[kept.facts];

		/* m, n and k of other operations are rows, elements and filters */
		if ((facts->kind == WS_TEXT_GEMM || facts->kind == WS_TEXT_FUSED_ATTENTION) &&
		    facts->m > 0 && facts->n > 0 && facts->k > 0) {
			op.batch = facts->batch > 0 ? (uint64_t)facts->batch : 1;
			op.m = (uint64_t)facts->m;
			op.n = (uint64_t)facts->n;
			op.k = (uint64_t)facts->k;
		}
		op.dtype = facts->dtype;
		op.direction = facts->direction;
		op.flops = facts->flops;
		op.flops_needed = facts->flops_needed;
		op.bytes = facts->bytes;
	} else {
		config = &m->cpu_ops.configs[kept.facts];
		op.cpu_op = kept.source;
		op.name = config->name;
		op.class = config->kind;
		op.dtype = config->dtype;
		op.direction = config->direction;
		op.flops = config->flops;
		op.flops_needed = config->flops_needed;
		op.bytes = config->bytes;
		op.batch = config->batch;
		op.m = config->m;
		op.n = config->n;
		op.k = config->k;
		if (m->cpu_ops.forward[kept.source] != WS_NONE)
			op.direction = WS_TEXT_BACKWARD;
	}
	if (kept.is_replay) /* its kernels know the step */
		op.step = WS_NONE;
	if (c->has_kernels)
		work = ws_spill_row(&c->work, sizeof(*work), i);
	if (work && work->kernels) {
		op.gpu_ns = work->gpu_ns;
		op.longest_ns = work->longest_ns;
		op.kernels = work->kernels;
		/* launched on a thread without ranges, like backward */
		if (op.step == WS_NONE)
			op.step = work->step;
		op.device = m->configs[work->config].device;
		op.tensor = m->configs[work->config].tensor;
		if (work->dtype)
			op.dtype = work->dtype;
	}

	if (kept.flops_too_big)
		op.flops = op.flops_needed = -1;
	if (kept.bytes_too_big)
		op.bytes = -1;
	return op;
}

int64_t ws_cost_ops_flops(struct ws_cost_ops *c, size_t i)
{
	const struct kept *kept = ws_spill_row(&c->ops, sizeof(*kept), i);

	if (kept->flops_too_big)
		return -1;
	return i < c->nranges ? c->m->ops.op[kept->facts].flops
	                      : c->m->cpu_ops.configs[kept->facts].flops;
}

static uint64_t replay_key(uint32_t source, const struct ws_joined_kernel *k)
{
	return (uint64_t)source << 32 | k->call;
}

uint32_t ws_cost_ops_of_kernel(struct ws_cost_ops *c, const struct ws_joined_kernel *k)
{
	const uint32_t range = ws_joined_rows_op_range(c->rows, k->range);

	if (k->kind->is_captured && range != WS_NONE)
		return ws_idmap_get(&c->range_replays, replay_key(range, k));
	if (k->kind->is_captured && k->cpu_op != WS_NONE && c->counted[k->cpu_op] != WS_NONE)
		return ws_idmap_get(&c->op_replays, replay_key(c->counted[k->cpu_op], k));
	if (range != WS_NONE)
		return *(const uint32_t *)ws_spill_row(&c->of_range, sizeof(uint32_t), range);
	return k->cpu_op == WS_NONE ? WS_NONE : c->of_cpu_op[k->cpu_op];
}

/* --- all operations ------------------------------------------------------------------------ */

struct finder {
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_cost_ops *out;
	int64_t flops, bytes; /* sums so far */
};

/* Would adding overflow the sum? Adds otherwise. */
static bool is_too_big(int64_t *sum, int64_t more)
{
	int64_t with = *sum;

	if (more > 0 && __builtin_add_overflow(*sum, more, &with))
		return true;
	*sum = with;
	return false;
}

static void put_op(struct finder *f, uint32_t source, uint32_t facts, bool is_replay, int64_t flops,
                   int64_t bytes)
{
	const struct kept kept = {source, facts, is_replay, is_too_big(&f->flops, flops),
	                          is_too_big(&f->bytes, bytes)};

	ws_spill_put(&f->out->ops, sizeof(kept), f->out->n++, &kept);
}

/* Adds an operation for each replay of the captured ranges, or of the framework's operations. */
static void add_replays(struct finder *f, bool of_ranges)
{
	struct ws_cost_ops *out = f->out;
	struct ws_joined_rows *rows = f->sel->rows;
	struct ws_idmap *replays = of_ranges ? &out->range_replays : &out->op_replays;

	for (size_t i = 0; i < rows->nkernels && f->m->ngraph_nodes; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, i);
		const uint32_t in = ws_joined_rows_op_range(rows, k->range);
		const struct ws_joined_range *range =
		        of_ranges ? ws_joined_rows_range(rows, in) : NULL;
		const uint32_t source = of_ranges ? in
		                        : in != WS_NONE || k->cpu_op == WS_NONE
		                                ? WS_NONE
		                                : out->counted[k->cpu_op];

		if (!k->kind->is_captured || source == WS_NONE || (range && !range->is_counted) ||
		    !ws_kernel_selected(f->m, f->sel, k, i) ||
		    ws_idmap_get(replays, replay_key(source, k)) != WS_NONE)
			continue;
		ws_idmap_put(replays, replay_key(source, k), (uint32_t)out->n);
		if (range) {
			const struct ws_op_facts *facts = ws_joined_range_op(f->m, range);

			put_op(f, source, range->context->op, true, facts->flops, facts->bytes);
		} else {
			const struct ws_op_config *facts = ws_cpu_op_config(f->m, source);

			put_op(f, source, f->m->cpu_ops.config[source], true, facts->flops,
			       facts->bytes);
		}
	}
}

static void find_ops(struct finder *f)
{
	const struct ws_model *m = f->m;
	const struct ws_op_tree *tree = &m->cpu_ops.tree;
	struct ws_joined_rows *rows = f->sel->rows;
	const size_t nranges = rows->nranges, nops = tree->n;
	struct ws_cost_ops *out = f->out;
	uint32_t *cost_op = out->of_cpu_op;
	uint8_t *has_inner, *range_captured = NULL, *op_captured = NULL;
	double *inner; /* FLOPs of counted operations inside */
	struct ws_arena temp = {0};
	bool any_cost = nops > 0;

	for (uint64_t i = 0; i < m->ops.n && !any_cost; i++)
		any_cost = m->ops.is_op[i];
	if (!any_cost)
		return;
	ws_spill_open(&out->ops, (nranges + nops) * sizeof(struct kept));
	ws_spill_open(&out->of_range, nranges * sizeof(uint32_t));

	/* cost_op[i]: the operation that counts for framework operation i: itself, or one around
	 * it; WS_NONE. Parents come before their children. */
	WS_NEW(&temp, inner, tree->n);
	WS_NEW(&temp, has_inner, tree->n);
	for (uint32_t i = (uint32_t)tree->n; i-- > 0;) {
		double flops = (double)ws_cpu_op_config(m, i)->flops;
		uint32_t parent = tree->parent[i];
		int counts = flops > 0 ? inner[i] < flops / 2 : flops == 0 && !has_inner[i];

		cost_op[i] = counts ? i : WS_NONE;
		if (parent == WS_NONE)
			continue;
		inner[parent] += counts ? flops : inner[i];
		has_inner[parent] |= counts || has_inner[i];
	}
	ws_arena_free(&temp);
	for (uint32_t i = 0; i < tree->n; i++)
		if (tree->parent[i] != WS_NONE && cost_op[tree->parent[i]] != WS_NONE)
			cost_op[i] = cost_op[tree->parent[i]];
	if (m->ngraph_nodes) {
		WS_NEW(&f->sel->kept->arena, out->counted, nops);
		memcpy(out->counted, cost_op, nops * sizeof(*out->counted));
		WS_NEW(&temp, range_captured, nranges);
		WS_NEW(&temp, op_captured, nops);
		/* Mark what was captured, and so did not run: ranges, and the framework's
		 * operations. */
		for (size_t i = 0; i < m->ngraph_nodes; i++) {
			const struct ws_graph_node *n = &m->graph_nodes[i];
			const uint32_t in = n->captured == i
			                            ? ws_joined_rows_op_range(rows, n->range)
			                            : WS_NONE;

			if (in != WS_NONE)
				range_captured[in] = 1;
			else if (n->captured == i && n->cpu_op != WS_NONE &&
			         out->counted[n->cpu_op] != WS_NONE)
				op_captured[out->counted[n->cpu_op]] = 1;
		}
	}

	WS_EACH_RANGE(rows, i, range) {
		uint32_t at = WS_NONE;

		if (range->is_counted && !(range_captured && range_captured[i]) &&
		    ws_range_selected(m, f->sel, range, i)) {
			const struct ws_op_facts *facts = ws_joined_range_op(m, range);

			at = (uint32_t)out->n;
			put_op(f, i, range->context->op, false, facts->flops, facts->bytes);
		}
		ws_spill_put(&out->of_range, sizeof(at), i, &at);
	}
	add_replays(f, true);
	out->nranges = out->n;

	/* Parents first, so the number of the operation that counts is there already. */
	for (uint32_t i = 0; i < tree->n; i++) {
		if (cost_op[i] == i && f->sel->op[i] && !(op_captured && op_captured[i])) {
			const struct ws_op_config *facts = ws_cpu_op_config(m, i);

			cost_op[i] = (uint32_t)out->n;
			put_op(f, i, m->cpu_ops.config[i], false, facts->flops, facts->bytes);
		} else if (cost_op[i] == i) {
			cost_op[i] = WS_NONE;
		} else if (cost_op[i] != WS_NONE) {
			cost_op[i] = cost_op[tree->parent[i]];
		}
	}
	add_replays(f, false);
	ws_arena_free(&temp);
}

struct ws_cost_ops *ws_cost_ops_list(const struct ws_model *m, const struct ws_selection *sel)
{
	static const char key;
	struct ws_cost_ops *out = ws_kept_result(sel, &key);
	struct ws_arena *arena = &sel->kept->arena;
	struct finder f = {.m = m, .sel = sel};

	if (out)
		return out;
	WS_NEW(arena, f.out, 1);
	f.out->m = m;
	f.out->rows = sel->rows;
	WS_NEW(arena, f.out->of_cpu_op, m->cpu_ops.tree.n);
	find_ops(&f);
	ws_keep_result(sel, &key, f.out, release);
	return f.out;
}

struct ws_cost_ops *ws_cost_ops_find(const struct ws_model *m, const struct ws_selection *sel)
{
	struct finder f = {.m = m, .sel = sel, .out = ws_cost_ops_list(m, sel)};

	if (!f.out->has_kernels && f.out->n) {
		ws_spill_open(&f.out->work, f.out->n * sizeof(struct work));
		ws_spill_reserve(&f.out->work, f.out->n * sizeof(struct work));
		WS_EACH_KERNEL(sel->rows, i, k) {
			const uint32_t at = ws_cost_ops_of_kernel(f.out, k);

			if (at == WS_NONE || !ws_kernel_selected(f.m, f.sel, k, i))
				continue;
			struct work *work = ws_spill_row(&f.out->work, sizeof(*work), at);
			if (!work->kernels || work->step == WS_NONE)
				work->step = k->step;
			work->gpu_ns += k->dur_ns;
			if (!work->kernels++ || k->dur_ns > work->longest_ns) {
				work->longest_ns = k->dur_ns;
				work->config = k->kind->config;
				work->dtype = k->kind->dtype;
			}
		}
	}
	f.out->has_kernels = true;
	return f.out;
}

/* --- peaks ----------------------------------------------------------------------------------- */

bool ws_class_is_product(uint32_t class)
{
	return class == WS_TEXT_GEMM || class == WS_TEXT_CONV || class == WS_TEXT_FUSED_ATTENTION;
}

void ws_roof_of(const struct ws_device_peaks *peaks, uint32_t class, struct ws_bytes dtype,
                uint8_t tensor, struct ws_roof *out)
{
	const bool on_tensor_cores = ws_class_is_product(class) && tensor != WS_TENSOR_NO;

	out->unconfirmed = ws_peaks_unconfirmed(peaks);
	out->bytes_per_s = peaks->value[WS_PEAK_MEMORY];
	/* outside of Tensor Cores, arithmetic on 16-bit data is done in fp32 */
	out->flops_per_s = peaks->value[WS_PEAK_FP32];
	if (!dtype.len || ws_name_is(dtype, "fp64"))
		out->flops_per_s = 0;
	for (int i = WS_PEAK_TF32; i <= WS_PEAK_FP8 && on_tensor_cores; i++)
		if (ws_name_is(dtype, ws_peak_name((enum ws_peak)i)))
			out->flops_per_s = peaks->value[i];
}

void ws_roof_find(const struct ws_model *m, uint32_t device, uint32_t class, uint32_t dtype,
                  uint8_t tensor, struct ws_roof *out)
{
	static const struct {
		const char *key;
		double factor;
	} measured[] = {
#define X(NAME, name, factor, unit, meaning) {"peak." #name, factor},
	        WS_PEAK_LIST(X)
#undef X
	};
	struct ws_device_peaks peaks = {{0}, 0, NULL, NULL, 0};

	*out = (struct ws_roof){0, 0, false};
	if (device == WS_NONE)
		return;
	if (m->devices[device].has_peaks)
		peaks = m->devices[device].peaks;

	/* "workload.peak.bf16=788": TFLOP/s; for memory GB/s. */
	for (int i = 0; i < WS_PEAK_COUNT; i++) {
		struct ws_bytes value = ws_model_fact(m, measured[i].key);
		char text[32], *end;

		if (!value.len || value.len >= sizeof(text))
			continue;
		memcpy(text, value.ptr, value.len);
		text[value.len] = '\0';
		double v = strtod(text, &end);
		if (end != text && !*end)
			ws_device_peaks_measured(&peaks, (enum ws_peak)i, v * measured[i].factor);
	}
	ws_roof_of(&peaks, class, m->texts[dtype], tensor, out);
}

const char *ws_roof_bound(const struct ws_roof *roof, double flops, double bytes)
{
	if (roof->flops_per_s <= 0 || roof->bytes_per_s <= 0 || (flops <= 0 && bytes <= 0))
		return NULL;
	return flops * roof->bytes_per_s > bytes * roof->flops_per_s ? "compute" : "memory";
}

/* --- groups of operations of one kind and size ------------------------------------------------ */

struct gathering {
	struct ws_cost_groups *out;
	struct ws_strtab ids; /* level, class, name, dtype and device -> group, from 1 */
};

/* Adds an operation to the group of its class, or of its name. */
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
	if (id > out->n) {
		out->group[out->n++] = group;
	} else {
		struct ws_cost_group *to = &out->group[id - 1];

		/* of equally long kernels always the same, whatever the order of operations */
		if (group.longest_ns > to->longest_ns ||
		    (group.longest_ns == to->longest_ns && group.tensor < to->tensor)) {
			to->longest_ns = group.longest_ns;
			to->tensor = group.tensor;
		}
		to->calls += group.calls;
		to->kernels += group.kernels;
		to->gpu_ns += group.gpu_ns;
		to->flops += group.flops;
		to->bytes += group.bytes;
		to->flops_unknown |= group.flops_unknown;
		to->bytes_unknown |= group.bytes_unknown;
		to->needed += group.needed;
		to->needed_unknown |= group.needed_unknown;
	}
}

static void release_groups(void *result)
{
	free(((struct ws_cost_groups *)result)->group);
}

const struct ws_cost_groups *ws_cost_groups_find(const struct ws_model *m,
                                                 const struct ws_selection *sel)
{
	static const char key;
	const struct ws_cost_groups *out = ws_kept_result(sel, &key);
	struct gathering s = {0};

	if (out)
		return out;
	struct ws_cost_ops *costs = ws_cost_ops_find(m, sel);
	WS_NEW(&sel->kept->arena, s.out, 1);
	s.out->nops = costs->n;
	uint8_t *attention = ws_attention_find(m, costs, &sel->kept->arena);
	for (size_t i = 0; i < costs->n; i++) {
		const struct ws_cost_op op = ws_cost_ops_at(costs, i);
		uint8_t part = WS_ATTENTION_NONE;

		if (!op.kernels)
			continue; /* no kernel time to compare with its cost */
		s.out->counted_ns += op.gpu_ns;
		s.out->modelled_ns += op.flops >= 0 ? op.gpu_ns : 0;
		/* of a framework's operation in attention; ranges have their own flops_needed */
		if (i >= costs->nranges)
			part = attention[i - costs->nranges];
		int64_t needed =
		        !ws_class_is_product(op.class)
		                ? 0
		                : ws_attention_flops_needed(
		                          m, &op,
		                          i < costs->nranges ? op.class == WS_TEXT_GEMM
		                                             : part == WS_ATTENTION_SCORES ||
		                                                       part == WS_ATTENTION_FINAL);

		add_op(&s, &op, needed, false);
		add_op(&s, &op, needed, true);
	}
	ws_strtab_free(&s.ids);
	ws_keep_result(sel, &key, s.out, release_groups);
	return s.out;
}

size_t ws_cost_groups_order(const struct ws_model *m, const struct ws_cost_groups *all,
                            struct ws_row_key *order)
{
	const struct ws_bytes *texts = m->texts;
	size_t n = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct ws_cost_group *g = &all->group[i];

		if (g->by_name)
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

/* --- operations of attention ------------------------------------------------------------------ */

/* Maximum number of operations between a product and the softmax. */
#define REACH 12

struct attention_finder {
	const struct ws_model *m;
	struct ws_cost_ops *costs;
	size_t n; /* operations of a framework; they are numbered from 0 here */
	uint8_t *part;
};

static struct ws_cost_op op_at(const struct attention_finder *f, size_t i)
{
	return ws_cost_ops_at(f->costs, f->costs->nranges + i);
}

/* The n-th batched product from i in direction `by` (1 or -1) on its thread; WS_NONE: it is too
 * far, or work of another layer is between. */
static uint32_t product_near(const struct attention_finder *f, size_t i, int by, int n)
{
	const uint32_t *thread = f->m->cpu_ops.tree.thread, on = thread[op_at(f, i).cpu_op];
	size_t at = i;

	for (int steps = 0; steps < REACH; steps++) {
		at = by < 0 ? at - 1 : at + 1;
		if (at >= f->n) /* also before the first */
			return WS_NONE;
		struct ws_cost_op op = op_at(f, at);
		if (thread[op.cpu_op] != on)
			return WS_NONE;
		if (op.class == WS_TEXT_GEMM && op.batch > 1) {
			if (--n == 0)
				return (uint32_t)at;
		} else if (op.class == WS_TEXT_SOFTMAX || ws_class_is_product(op.class)) {
			return WS_NONE;
		}
	}
	return WS_NONE;
}

/* Sets the parts of operations that have none yet. */
static void set(struct attention_finder *f, size_t from, size_t end, enum ws_attention_part part)
{
	for (size_t i = from; i < end; i++)
		if (f->part[i] == WS_ATTENTION_NONE)
			f->part[i] = (uint8_t)part;
}

/* i: a softmax. Before it are scale and mask, after it any other work. */
static void match_forward(struct attention_finder *f, size_t i)
{
	uint32_t scores = product_near(f, i, -1, 1), final = product_near(f, i, 1, 1);

	if (scores == WS_NONE || final == WS_NONE)
		return;
	struct ws_cost_op a = op_at(f, scores);
	struct ws_cost_op b = op_at(f, final);
	if (a.batch != b.batch || a.m != b.m || a.n != b.k)
		return;
	set(f, scores, scores + 1, WS_ATTENTION_SCORES);
	set(f, i, i + 1, WS_ATTENTION_SOFTMAX);
	set(f, final, final + 1, WS_ATTENTION_FINAL);
	set(f, scores, i, WS_ATTENTION_SCALE_MASK);
	set(f, i, final, WS_ATTENTION_OTHER);
}

/* i: a gradient of softmax, between the products for dV and dP and those for dQ and dK. */
static void match_backward(struct attention_finder *f, size_t i)
{
	uint32_t at[4] = {product_near(f, i, -1, 2), product_near(f, i, -1, 1),
	                  product_near(f, i, 1, 1), product_near(f, i, 1, 2)};

	for (int p = 0; p < 4; p++)
		if (at[p] == WS_NONE || op_at(f, at[p]).batch != op_at(f, at[0]).batch)
			return;
	set(f, i, i + 1, WS_ATTENTION_SOFTMAX);
	for (int p = 0; p < 4; p++)
		set(f, at[p], at[p] + 1, p < 2 ? WS_ATTENTION_FINAL : WS_ATTENTION_SCORES);
	set(f, at[1], i, WS_ATTENTION_OTHER);
	set(f, i, at[2], WS_ATTENTION_SCALE_MASK);
}

/* --- pairs ---------------------------------------------------------------------------------- */

int64_t ws_attention_flops_needed(const struct ws_model *m, const struct ws_cost_op *op,
                                  bool in_attention)
{
	/* queries of a product of self-attention: two of its three sizes equal it; 0: unknown */
	const uint64_t n = op->m == op->n || op->m == op->k ? op->m
	                   : op->n == op->k                 ? op->n
	                                                    : 0,
	               flops = (uint64_t)op->flops;

	if (op->flops_needed >= 0 || op->flops < 0 || op->class == WS_TEXT_FUSED_ATTENTION)
		return op->flops_needed;
	if (!in_attention)
		return op->flops;
	/* the mask of fused attention around a product, or around its forward product */
	uint8_t mask = WS_MASK_NOT_KNOWN;
	uint32_t product = op->cpu_op;

	for (int forward = 0; forward < 2 && product != WS_NONE; forward++) {
		for (uint32_t at = product; at != WS_NONE && mask == WS_MASK_NOT_KNOWN;
		     at = m->cpu_ops.tree.parent[at])
			mask = ws_cpu_op_config(m, at)->mask;
		product = m->cpu_ops.forward[product];
	}

	if (mask == WS_MASK_CAUSAL && n && flops % n == 0)
		return (int64_t)((flops + flops / n) / 2);
	return mask == WS_MASK_NONE ? op->flops : -1;
}

/* --- all of them ------------------------------------------------------------------------- */

uint8_t *ws_attention_find(const struct ws_model *m, struct ws_cost_ops *costs,
                           struct ws_arena *arena)
{
	struct attention_finder f = {.m = m, .costs = costs, .n = costs->n - costs->nranges};

	WS_NEW(arena, f.part, f.n);
	memset(f.part, WS_ATTENTION_NONE, f.n);
	for (int backward = 0; backward < 2; backward++) {
		for (size_t i = 0; i < f.n; i++) {
			const struct ws_cost_op op = op_at(&f, i);

			if (op.class == WS_TEXT_FUSED_ATTENTION)
				set(&f, i, i + 1, WS_ATTENTION_FUSED);
			else if (op.class == WS_TEXT_SOFTMAX &&
			         (op.direction == WS_TEXT_BACKWARD) == backward &&
			         f.part[i] == WS_ATTENTION_NONE)
				(backward ? match_backward : match_forward)(&f, i);
		}
		if (!backward) {
			const struct ws_op_tree *tree = &f.m->cpu_ops.tree;
			const uint32_t several = WS_NONE - 1;
			uint32_t *inside; /* framework operation -> attention inside it, WS_NONE, or
			                     several */

			/* Backward operations get the part of the linked forward operations. */
			WS_NEW(arena, inside, tree->n);
			memset(inside, 0xff, tree->n * sizeof(*inside));
			for (uint32_t i = 0; i < f.n; i++)
				for (uint32_t at = op_at(&f, i).cpu_op;
				     f.part[i] != WS_ATTENTION_NONE && at != WS_NONE;
				     at = tree->parent[at])
					inside[at] = inside[at] == WS_NONE ? i : several;
			for (size_t i = 0; i < f.n; i++) {
				const uint32_t forward = f.m->cpu_ops.forward[op_at(&f, i).cpu_op],
				               origin = forward == WS_NONE ? WS_NONE
				                                           : inside[forward];

				if (origin < several)
					set(&f, i, i + 1, (enum ws_attention_part)f.part[origin]);
			}
		}
	}
	return f.part;
}
