/* Gathers the data for rules, and runs all rules. */
#include "report/advice/advice.h"

#include "report/analysis/digest.h"
#include "report/base/names.h"

static uint32_t text_of(const struct ws_model *m, const char *name)
{
	const uint64_t id = ws_strtab_find(&m->interned, name, strlen(name));

	return id ? (uint32_t)id : WS_NONE;
}

static bool is_optimizer(const struct ws_joined_kernel *k)
{
	return k->kind->class == WS_TEXT_OPTIMIZER || k->kind->phase == WS_PHASE_OPTIMIZER;
}

static bool is_cast(const struct ws_advice *a, const struct ws_joined_kernel *k)
{
	return a->is_cast[k->kind->config] & WS_CAST || k->kind->class == a->cast;
}

/* Is it in the measured steps of the report? step: index of the model's steps. */
static bool counts(const struct ws_advice *a, const struct ws_joined_kernel *k, size_t i,
                   uint32_t step)
{
	const struct ws_selection *sel = a->tab->sel;

	return ws_kernel_selected(a->m, sel, k, i) &&
	       (!sel->measured || ws_step_selected(a->m, sel, step));
}

static int by_time(const void *pa, const void *pb, void *arg)
{
	const struct ws_work_group *ga = pa, *gb = pb;
	const struct ws_cost_op *a = &ga->op, *b = &gb->op;
	const struct ws_bytes *texts = arg;

	WS_ORDER_BY(gb->gpu_ns, ga->gpu_ns);
	int c = ws_name_compare(texts[a->name], texts[b->name]);
	c = c ? c : ws_name_compare(texts[a->class], texts[b->class]);
	c = c ? c : ws_name_compare(texts[a->dtype], texts[b->dtype]);
	c = c ? c : ws_order_compare(a->device, b->device);
	c = c ? c : ws_order_compare(a->batch, b->batch);
	c = c ? c : ws_order_compare(a->m, b->m);
	c = c ? c : ws_order_compare(a->n, b->n);
	c = c ? c : ws_order_compare(a->k, b->k);
	c = c ? c : ws_order_compare((uint64_t)a->flops, (uint64_t)b->flops);
	return c ? c : ws_order_compare((uint64_t)a->bytes, (uint64_t)b->bytes);
}

static void look_at_kernels(struct ws_advice *a, struct ws_strtab *ids, struct ws_strtab *cells)
{
	struct ws_joined_rows *rows = a->tab->sel->rows;
	uint32_t *group_of; /* operation -> its group plus 1 */

	WS_NEW(&a->arena, group_of, a->costs->n);
	WS_EACH_KERNEL(rows, i, k) {
		const uint32_t step = k->step;

		if (step != WS_NONE) {
			/* Collects convolutions of the first step, and whether later steps run
			 * them. */
			const struct ws_selection *sel = a->whole;
			struct ws_tried *tried = &a->tried[a->m->configs[k->kind->config].name];

			if (step != 0) {
				tried->later |= ws_step_selected(a->m, sel, step);
			} else if ((k->kind->class == WS_TEXT_CONV ||
			            k->kind->class == a->conv_aux) &&
			           ws_kernel_selected(a->m, sel, k, i)) {
				tried->last = i + 1;
				tried->gpu_ns += k->dur_ns;
			}
		}
		if (!counts(a, k, i, step))
			continue;
		/* multi-tensor kernels also copy inputs of inference */
		a->trains |=
		        k->kind->phase == WS_PHASE_BACKWARD || k->kind->phase == WS_PHASE_OPTIMIZER;
		if (is_cast(a, k)) {
			a->casts.kernels++;
			a->casts.gpu_ns += k->dur_ns;
			if (a->is_cast[k->kind->config] & WS_CAST_NARROW)
				a->casts.narrow_ns += k->dur_ns;
		}
		if (is_optimizer(k)) {
			a->optimizer.kernels++;
			a->optimizer.gpu_ns += k->dur_ns;
			a->optimizer_device = a->m->configs[k->kind->config].device;
		}
		a->kernels++;
		a->gpu_ns += k->dur_ns;
		a->config_ns[k->kind->config] += k->dur_ns;
		a->class_ns[k->kind->class] += k->dur_ns;
		uint32_t op = ws_cost_ops_of_kernel(a->costs, k);
		if (op != WS_NONE) {
			/* Adds a judged kernel to its operation of known cost. */
			if (!group_of[op]) {
				const struct ws_cost_op at = ws_cost_ops_at(a->costs, op);

				/* The group of an operation, plus 1; added if new. */
				const uint64_t key[] = {at.name,
				                        at.class,
				                        at.dtype,
				                        at.device,
				                        at.batch,
				                        at.m,
				                        at.n,
				                        at.k,
				                        (uint64_t)at.flops,
				                        (uint64_t)at.bytes};

				WS_GROW(a->work, a->nwork + 1, a->work_capacity);
				uint64_t id = ws_strtab_add(ids, key, sizeof(key));
				if (id > a->nwork) {
					a->work[a->nwork] =
					        (struct ws_work_group){.op = at,
					                               .longest_ns = -1,
					                               .id = (uint32_t)a->nwork,
					                               .new_kernels_ns = NAN};
					ws_roof_find(a->m, at.device, at.class, at.dtype, at.tensor,
					             &a->work[a->nwork].roof);
					a->nwork++;
				}
				group_of[op] = (uint32_t)id;
				a->work[group_of[op] - 1].calls++;
			}
			struct ws_work_group *g = &a->work[group_of[op] - 1];
			g->kernels++;
			g->gpu_ns += k->dur_ns;
			if (k->dur_ns > g->longest_ns) {
				g->longest_ns = k->dur_ns;
				g->config = k->kind->config;
			}
		}

		/* Adds a kernel to its cell; op: its operation, group: group of the operation;
		 * WS_NONE. */
		uint32_t group = op == WS_NONE ? WS_NONE : group_of[op] - 1;
		const uint8_t part = op == WS_NONE || op < a->costs->nranges
		                             ? WS_ATTENTION_NONE
		                             : a->attention[op - a->costs->nranges];
		/* is it in attention that is not fused? */
		const bool in_attention =
		        k->kind->class != WS_TEXT_FUSED_ATTENTION &&
		        (k->kind->marks & WS_IN_ATTENTION ||
		         (part != WS_ATTENTION_NONE && part != WS_ATTENTION_FUSED));
		const struct ws_advice_cell cell = {.config = k->kind->config,
		                                    .class = k->kind->class,
		                                    .source = k->kind->source,
		                                    .work = group,
		                                    .attention = in_attention,
		                                    .cast = is_cast(a, k),
		                                    .optimizer = is_optimizer(k)};
		const uint32_t key[] = {cell.config, cell.class, cell.source, cell.work,
		                        cell.attention | cell.cast << 1 | cell.optimizer << 2};

		WS_GROW(a->cell, a->ncells + 1, a->cell_capacity);
		uint64_t id = ws_strtab_add(cells, key, sizeof(key));
		if (id > a->ncells)
			a->cell[a->ncells++] = cell;
		a->cell[id - 1].ns += k->dur_ns;
		while (a->next_of_row < a->nof_row &&
		       a->replayed->pieces[a->of_row[a->next_of_row]].row < i)
			a->next_of_row++;
		if (a->next_of_row < a->nof_row &&
		    a->replayed->pieces[a->of_row[a->next_of_row]].row == i)
			a->cell_of[a->of_row[a->next_of_row]] = (uint32_t)id - 1;
		a->attention_ns += cell.attention ? k->dur_ns : 0;
	}
	if (a->nwork)
		ws_sort_by(a->work, a->nwork, sizeof(*a->work), by_time, a->m->texts);
	ws_advice_number_work(a);
}

static int by_row(const void *pa, const void *pb, void *arg)
{
	const struct ws_replay_piece *piece = arg;

	return ws_order_compare(piece[*(const uint32_t *)pa].row, piece[*(const uint32_t *)pb].row);
}

static void prepare_rules(struct ws_advice *a)
{
	const struct ws_model *m = a->m;

	WS_NEW(&a->arena, a->is_cast, m->nconfigs);
	WS_NEW(&a->arena, a->tried, m->ntexts);
	WS_NEW(&a->arena, a->traits, m->nconfigs);
	WS_NEW(&a->arena, a->config_ns, m->nconfigs);
	WS_NEW(&a->arena, a->class_ns, m->ntexts);
	a->times = ws_step_times(m, a->whole);
	a->idle = ws_idle_find(m, a->tab->sel);
	a->found->has_steps = a->times->nmeasured > 0;
	a->replay = ws_replay_of(a->m, a->tab->sel);
	a->facts = *ws_replay_facts(a->replay);
	if (ws_model_on_cpu(a->m))
		a->facts.obstacle =
		        "kernels ran on the CPU reference, whose times are not GPU times";
	a->replayed = &a->facts;
	a->found->obstacle = a->replayed->obstacle;
	if (!a->replayed->obstacle) {
		/* its kernels get their cells while rows are counted */
		WS_NEW(&a->arena, a->cell_of, a->replayed->npieces);
		WS_NEW(&a->arena, a->of_row, a->replayed->npieces);
		for (uint32_t i = 0; i < a->replayed->npieces; i++) {
			a->cell_of[i] = WS_NONE;
			if (a->replayed->pieces[i].is_kernel)
				a->of_row[a->nof_row++] = i;
		}
		ws_sort_by(a->of_row, a->nof_row, sizeof(*a->of_row), by_row,
		           (void *)a->replayed->pieces);
	}
	a->found->step_ns = (double)a->idle->wall_ns;
	if (a->idle->nworked && a->idle->measured_share)
		a->found->step_ns -=
		        (double)a->idle->all.ns[WS_USE_RECORDING] / (double)a->idle->nworked;
	double setup_ns = a->idle->nworked
	                          ? (double)a->idle->all.ns[WS_USE_SETUP] / (double)a->idle->nworked
	                          : 0;
	a->found->setup_ns =
	        100 * setup_ns >= WS_WAIT_STRONG_PERCENT * a->found->step_ns ? setup_ns : 0;

	/* Finds PyTorch's copies to a 16-bit type, whose class by operation is copy. */
	static const char *const narrow[] = {"*fp8*", "*FP8*", "*loat8*", "*hfp8*", "*int8*"};

	for (size_t i = 0; i < a->m->nconfigs; i++) {
		const struct ws_bytes name = a->m->texts[a->m->configs[i].name];

		a->is_cast[i] =
		        ws_name_matches(ws_bytes_of("*float16_copy_kernel*"), name) ? WS_CAST : 0;
		if (WS_NAME_IS_ONE_OF(name, narrow))
			a->is_cast[i] |= WS_CAST_NARROW;
	}

	struct ws_strtab ids = {0}, cells = {0};

	a->cast = text_of(a->m, "cast");
	a->conv_aux = text_of(a->m, "conv_aux");
	a->costs = ws_cost_ops_find(a->m, a->tab->sel);
	a->attention = ws_attention_find(a->m, a->costs, &a->arena);
	look_at_kernels(a, &ids, &cells);
	ws_strtab_free(&ids);
	ws_strtab_free(&cells);

	/* Uses only the built-in rules for tile, alignment and architecture. */
	struct ws_classifier *classifier = NULL;

	ws_classifier_new(NULL, 0, &classifier, NULL);
	for (size_t i = 0; i < a->m->nconfigs && classifier; i++) {
		struct ws_bytes name = a->m->texts[a->m->configs[i].name];

		if (a->config_ns[i])
			ws_classify(classifier, name.ptr, name.len, &a->traits[i]);
	}
	ws_classifier_free(classifier);
}

static void (*const rules[WS_RULES])(struct ws_advice *) = {
#define R(function, id, gpu, title, condition, says) ws_rule_##function,
        WS_ADVICE_RULES(R)
#undef R
};

static int by_rank(const void *pa, const void *pb)
{
	const struct ws_finding *a = pa, *b = pb;
	/* unknown gains come last */
	double gain_a = isnan(a->gain_ns) ? -1 : a->gain_ns;
	double gain_b = isnan(b->gain_ns) ? -1 : b->gain_ns;

	WS_ORDER_BY(a->severity, b->severity);
	WS_ORDER_BY(gain_b, gain_a);
	WS_ORDER_BY(a->rule, b->rule);
	int c = strcmp(a->scope, b->scope);
	return c ? c : strcmp(a->evidence, b->evidence);
}

const struct ws_findings *ws_advice_find(const struct ws_table_context *tab)
{
	static const char key;
	const struct ws_findings *out = ws_kept_result(tab->sel, &key);
	struct ws_arena *texts = &tab->sel->kept->arena;
	struct ws_advice a = {.m = tab->m, .whole = tab->sel, .texts = texts};

	if (out)
		return out;
	a.tab = ws_median_step(tab);
	WS_NEW(texts, a.found, 1);
	prepare_rules(&a);
	bool on_cpu = ws_model_on_cpu(a.m);

	for (int i = 0; i < WS_RULES; i++) {
		if (ws_rule_defs[i].gpu && on_cpu)
			a.found->not_judged[i] =
			        "kernels ran on the CPU reference, whose times are not GPU times";
		else if (ws_rule_defs[i].gpu && !a.gpu_ns)
			a.found->not_judged[i] = "no kernel with a known time counts";
		else
			rules[i](&a);
	}
	ws_advice_merge(&a);

	/* Sorts the findings into an array in the arena of texts. */
	struct ws_finding *grown = a.found->finding;

	WS_NEW(a.texts, a.found->finding, a.found->n);
	if (a.found->n) {
		memcpy(a.found->finding, grown, a.found->n * sizeof(*grown));
		ws_sort(a.found->finding, a.found->n, sizeof(*grown), by_rank);
	}
	free(grown);
	ws_advice_climb(&a);
	ws_keep_result(tab->sel, &key, a.found, NULL);
	free(a.work);
	free(a.cell);
	free(a.claim);
	ws_arena_free(&a.arena);
	return a.found;
}
