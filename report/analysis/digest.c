#include "report/analysis/digest.h"

#include "report/analysis/device_time.h"

/* --- the sums ----------------------------------------------------------------------------- */

/* Room for sums of paths 0 .. npaths - 1. */
static void reserve_paths(struct ws_digest *d, size_t npaths)
{
	size_t busy = d->paths_capacity;

	npaths += 2;
	if (npaths > d->paths_capacity) {
		ws_grow(&d->busy, &busy, npaths, d->ndevices * sizeof(*d->busy));
		WS_GROW(d->paths, npaths, d->paths_capacity);
	}
	for (; d->npaths < npaths; d->npaths++) {
		d->paths[d->npaths] = (struct ws_path_sums){0};
		memset(d->busy + d->npaths * d->ndevices, 0, d->ndevices * sizeof(*d->busy));
	}
}

/* nkinds: number of kinds of kernels; without a join, kinds are configurations. */
static void init(struct ws_digest *d, const struct ws_model *m, unsigned parts, size_t nkinds)
{
	*d = (struct ws_digest){.parts = parts,
	                        .ndevices = m->ndevices ? m->ndevices : 1,
	                        .ntexts = m->ntexts};
	if (parts & WS_DIGEST_CALLS)
		d->calls = ws_xarray(d->ntexts, sizeof(*d->calls));
	if (parts & WS_DIGEST_COSTS) {
		d->flops = ws_xarray(d->ntexts, sizeof(*d->flops));
		d->flops_unknown = ws_xarray(d->ntexts, sizeof(*d->flops_unknown));
	}
	d->cell_of = ws_xarray(nkinds, sizeof(*d->cell_of));
	memset(d->cell_of, 0xff, nkinds * sizeof(*d->cell_of));
	reserve_paths(d, 0);
}

void ws_digest_release(struct ws_digest *d)
{
	for (size_t i = 0; i < d->ncells; i++)
		ws_values_free(&d->cells[i].dur_ns);
	for (size_t i = 0; i < d->npaths; i++)
		ws_values_free(&d->paths[i].dur_ns);
	for (size_t i = 0; d->calls && i < d->ntexts; i++)
		ws_values_free(&d->calls[i].dur_ns);
	free(d->cells);
	ws_strtab_free(&d->cell_ids);
	free(d->paths);
	free(d->busy);
	free(d->cell_of);
	free(d->calls);
	free(d->flops);
	free(d->flops_unknown);
	*d = (struct ws_digest){0};
}

/* The number of the cell of a configuration and place, for a kind. */
static uint32_t add_cell(struct ws_digest *d, uint32_t kind, uint32_t config,
                         const struct ws_kernel_place *place)
{
	const uint32_t key[] = {config,       place->path,   place->class,      place->direction,
	                        place->dtype, place->source, place->is_captured};
	const uint64_t id = ws_strtab_add(&d->cell_ids, key, sizeof(key));

	if (id > d->ncells) {
		WS_GROW(d->cells, d->ncells + 1, d->cells_capacity);
		d->cells[d->ncells++] = (struct ws_digest_cell){.config = config,
		                                                .place = *place,
		                                                .first = UINT64_MAX};
	}
	return d->cell_of[kind] = (uint32_t)(id - 1);
}

/* After all kernels: computes sums over all cells. */
static void finish(struct ws_digest *d)
{
	d->kernels = 0;
	d->gpu_ns = 0;
	for (size_t i = 0; i < d->ncells; i++) {
		d->kernels += ws_digest_cell_count(&d->cells[i]);
		d->gpu_ns += d->cells[i].total_ns;
	}
}

int64_t ws_digest_busy_ns(const struct ws_digest *d, uint32_t path)
{
	const struct ws_union *busy = d->busy + (size_t)(uint32_t)(path + 2) * d->ndevices;
	int64_t ns = 0;

	for (size_t i = 0; i < d->ndevices; i++)
		ns += busy[i].busy_ns;
	return ns;
}

static void add_call(struct ws_digest *d, uint32_t name, int64_t dur_ns, int failed)
{
	d->ncalls++;
	d->calls[name].failed += (uint64_t)failed;
	d->calls[name].total_ns += dur_ns;
	ws_values_add(&d->calls[name].dur_ns, dur_ns);
}

/* Fields of a kernel for the sums. */
struct kernel {
	int64_t start_ns, dur_ns; /* 0 if unknown */
	int timed;
	uint32_t device;
	uint64_t order; /* ascending by device, then start */
};

struct filling {
	struct ws_digest *d;
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_cost_ops *costs;
	uint32_t *name_of; /* operation -> common name of its kernels, see share_flops */
	uint32_t *path_of; /* step -> its path */
	/* for ranges below nspans: start of the first kernel to the last end */
	struct ws_spill spans;
	uint32_t nspans;
	struct ws_arena temp;
};

/* --- into the digest ---------------------------------------------------------------------- */

/* Counts a kernel in its cell. */
static void count_in_cell(struct ws_digest *d, uint32_t cell, const struct kernel *k)
{
	struct ws_digest_cell *c = &d->cells[cell];

	if (k->order < c->first)
		c->first = k->order;
	if (!k->timed) {
		c->without_time++;
		return;
	}
	c->total_ns += k->dur_ns;
	ws_values_add(&c->dur_ns, k->dur_ns);
}

/* Counts it in a path, once, whatever led there. Kernels of a device come by start. */
static void add_to_path(struct ws_digest *d, uint32_t path, const struct kernel *k)
{
	struct ws_path_sums *sums = ws_digest_path(d, path);

	if (sums->stamp == k->order + 1)
		return;
	sums->stamp = k->order + 1;
	sums->ops_inclusive++;
	if (!k->timed)
		return;
	sums->inclusive_ns += k->dur_ns;
	ws_union_add(&d->busy[(size_t)(sums - d->paths) * d->ndevices + k->device], k->start_ns,
	             k->start_ns + k->dur_ns);
}

/* … and in all paths around it. */
static void add_to_path_and_parents(struct ws_digest *d, const struct ws_path *paths, uint32_t path,
                                    const struct kernel *k)
{
	add_to_path(d, path, k);
	if (path >= WS_PATH_NO_RANGE)
		return;
	for (path = paths[path].parent; path != WS_NONE; path = paths[path].parent)
		add_to_path(d, path, k);
}

/* --- kernels ----------------------------------------------------------------------------- */

static void extend_by(struct filling *f, uint32_t range, const struct kernel *kernel)
{
	static const struct ws_span none = WS_SPAN_EMPTY;

	if (range == WS_NONE || !kernel->timed)
		return;
	/* ranges launch in their order, nearly: what is put last is at hand */
	for (; f->nspans <= range; f->nspans++)
		ws_spill_put(&f->spans, sizeof(none), f->nspans, &none);
	ws_span_widen(ws_spill_row(&f->spans, sizeof(none), range), kernel->start_ns,
	              kernel->start_ns + kernel->dur_ns);
}

static void add_kernel(struct filling *f, const struct ws_joined_kernel *k,
                       const struct kernel *kernel, uint32_t step)
{
	const struct ws_kernel_place place = {
	        .path = k->range != WS_NONE  ? k->kind->path
	                : k->call != WS_NONE ? WS_PATH_NO_RANGE
	                                     : WS_PATH_NO_LAUNCH,
	        .class = k->kind->range_class,
	        .direction = k->kind->direction,
	        .dtype = k->kind->dtype,
	        .source = k->kind->source,
	        .is_captured = k->kind->is_captured,
	};
	uint32_t cell = f->d->cell_of[k->kind->number];

	if (cell == WS_NONE)
		cell = add_cell(f->d, k->kind->number, k->kind->config, &place);
	count_in_cell(f->d, cell, kernel);
	f->d->cells[cell].in_steps += (uint64_t)ws_step_selected(f->m, f->sel, step);
	if (f->d->parts & WS_DIGEST_COSTS) {
		/*
		 * FLOPs belong to operations. A kernel name gets them if all kernels of the
		 * operation have that name; a single instance without such an operation makes the
		 * name's FLOPs unknown.
		 */
		const uint32_t mixed = WS_NONE;
		const uint32_t name = f->m->configs[k->kind->config].name;
		const uint32_t op = ws_cost_ops_of_kernel(f->costs, k);
		uint8_t *unknown = f->d->flops_unknown;
		/* 0, the empty text, means "no kernel yet" */
		uint32_t *name_of = op == WS_NONE ? NULL : &f->name_of[op];

		if (!name_of || ws_cost_ops_flops(f->costs, op) < 0) {
			unknown[name] = 1;
		} else if (!*name_of) {
			*name_of = name;
		} else if (*name_of != name) {
			unknown[name] = 1;
			if (*name_of != mixed)
				unknown[*name_of] = 1;
			*name_of = mixed;
		}
	}
	if (k->kind->marks & WS_IN_WARM_UP) {
		f->d->warm_up++;
		f->d->warm_up_ns += kernel->dur_ns;
	} else if (k->kind->marks & WS_IN_SETUP) {
		f->d->setup++;
		f->d->setup_ns += kernel->dur_ns;
	}
	if (f->d->parts & WS_DIGEST_PATHS) {
		/* as launched in the path itself */
		struct ws_path_sums *sums = ws_digest_path(f->d, place.path);

		sums->ops_exclusive++;
		sums->exclusive_ns += kernel->dur_ns;
		add_to_path_and_parents(f->d, f->m->ranges.paths, place.path, kernel);
		extend_by(f, k->range, kernel);
		/* if another thread launched it during the step, it also counts in the step's path,
		 * but only once */
		if (step != WS_NONE && f->path_of[step] != WS_NONE) {
			add_to_path_and_parents(f->d, f->m->ranges.paths, f->path_of[step], kernel);
			extend_by(f, f->m->steps[step].range, kernel);
		}
		for (uint32_t c = k->range == WS_NONE ? WS_NONE : ws_joined_crossing(f->m, k);
		     c != WS_NONE; c = f->m->attribution.crossings[c].next) {
			uint32_t other = f->m->attribution.crossings[c].range;

			add_to_path_and_parents(
			        f->d, f->m->ranges.paths,
			        ws_joined_rows_range(f->sel->rows, other)->context->path, kernel);
			extend_by(f, other, kernel);
		}
	}
}

/* --- all --------------------------------------------------------------------------------- */

void ws_digest_of_rows(struct ws_digest *d, const struct ws_model *m,
                       const struct ws_selection *sel, unsigned parts)
{
	struct ws_joined_rows *rows = sel->rows;
	struct filling f = {.d = d, .m = m, .sel = sel};

	init(d, m, parts, rows->nkinds);
	reserve_paths(d, m->ranges.npaths);
	if (parts & WS_DIGEST_PATHS) {
		WS_NEW(&f.temp, f.path_of, m->nsteps);
		for (size_t s = 0; s < m->nsteps; s++) {
			const struct ws_joined_range *r =
			        ws_joined_rows_range(rows, m->steps[s].range);

			f.path_of[s] = r ? r->context->path : WS_NONE;
		}
		ws_spill_open(&f.spans, rows->nranges * sizeof(struct ws_span));
	}
	if (parts & WS_DIGEST_COSTS) {
		f.costs = ws_cost_ops_list(m, sel);
		WS_NEW(&f.temp, f.name_of, f.costs->n);
	}
	if (parts & WS_DIGEST_OF_KERNELS) {
		WS_EACH_KERNEL(rows, i, k) {
			const uint32_t step = k->step;

			const struct kernel kernel = {
			        .start_ns = k->kind->timed ? k->start_ns : 0,
			        .dur_ns = k->dur_ns,
			        .timed = k->kind->timed,
			        .device = m->configs[k->kind->config].device,
			        .order = i,
			};

			if (ws_kernel_selected(m, sel, k, i))
				add_kernel(&f, k, &kernel, step);
		}
	}
	if (parts & WS_DIGEST_PATHS) {
		/* children before parents, as launches of a child count for its parent */
		for (uint32_t i = (uint32_t)rows->nranges; i-- > 0;) {
			const struct ws_joined_range *r = ws_joined_rows_range(rows, i);
			struct ws_span span = WS_SPAN_EMPTY;
			struct ws_path_sums *sums = ws_digest_path(d, r->context->path);

			/* what it and those inside it launched; its parent did that, too */
			if (i < f.nspans)
				span = *(struct ws_span *)ws_spill_row(&f.spans, sizeof(span), i);
			if (r->parent != WS_NONE && span.start_ns <= span.end_ns)
				ws_span_widen(ws_spill_row(&f.spans, sizeof(span), r->parent),
				              span.start_ns, span.end_ns);
			if (!ws_range_selected(m, sel, r, i))
				continue;
			if (span.start_ns <= span.end_ns)
				sums->projected_ns += span.end_ns - span.start_ns;
			sums->open += r->is_open;
			sums->range_ns += r->end_ns - r->start_ns;
			ws_values_add(&sums->dur_ns, r->end_ns - r->start_ns);
		}
	}
	if (parts & WS_DIGEST_COSTS) {
		for (size_t i = 0; i < f.costs->n; i++) {
			const struct ws_cost_op op = ws_cost_ops_at(f.costs, i);

			if (f.name_of[i] && f.name_of[i] != WS_NONE && op.flops >= 0)
				d->flops[f.name_of[i]] += op.flops;
			/* in its path and those around it; -1: not known */
			for (uint32_t path = op.path; path != WS_NONE;
			     path = m->ranges.paths[path].parent) {
				struct ws_path_sums *sums = ws_digest_path(d, path);

				if (op.flops >= 0) {
					sums->flops += op.flops;
					sums->says_flops = 1;
				}
				if (op.bytes >= 0) {
					sums->bytes += op.bytes;
					sums->says_bytes = 1;
				}
			}
		}
	}
	if (parts & WS_DIGEST_CALLS) {
		for (uint32_t i = 0; i < rows->ncalls; i++) {
			const struct ws_joined_call call = *ws_joined_rows_call(rows, i);

			if (ws_call_selected(m, sel, &call, i))
				add_call(d, call.kind->name, call.dur_ns, call.kind->failed);
		}
		d->ncalls = rows->ncalls;
	}
	finish(d);
	ws_spill_close(&f.spans);
	ws_arena_free(&f.temp);
}

/* --- of rows without a join --------------------------------------------------------------- */

struct unjoined {
	struct ws_digest *d;
	unsigned parts;
	struct ws_judged_streams streams;
	const struct ws_model *m;
	struct ws_arena arena;
	bool is_sound; /* no duplicate kernels and no impossible ends */
};

static void begin_unjoined(void *ctx, struct ws_model *m)
{
	struct unjoined *u = ctx;

	init(u->d, m, u->parts, m->nconfigs);
	u->m = m;
	ws_judged_streams_begin(&u->streams, m, &u->arena);
}

static void add_unjoined_call(void *ctx, const struct ws_joined_call *call, uint32_t *number)
{
	const struct unjoined *u = ctx;

	*number = 0;
	add_call(u->d, call->kind->name, call->dur_ns, call->kind->failed);
}

/* Adds a kernel to the cell of its configuration. */
static void add_unjoined_kernel(void *ctx, const struct ws_pass_kernel *k)
{
	static const struct ws_kernel_place nowhere = {.path = WS_PATH_NO_RANGE};
	const struct kernel kernel = {.dur_ns = k->dur_ns, .timed = k->timed};
	struct unjoined *u = ctx;
	struct ws_digest *d = u->d;
	struct ws_judged_kernel overrun;
	uint32_t cell = d->cell_of[k->config];

	u->is_sound &= !ws_judged_streams_has(&u->streams, u->m, k) &&
	               !ws_judged_streams_add(&u->streams, k, WS_NONE, 0, &overrun);

	if (cell == WS_NONE)
		cell = add_cell(d, k->config, k->config, &nowhere);
	count_in_cell(d, cell, &kernel);
}

enum ws_status ws_digest_of_trace(struct ws_digest *d, struct ws_joined_rows *rows,
                                  const struct ws_trace_reader *r, const char *name,
                                  const struct ws_model_opts *opts, enum ws_scope scope,
                                  unsigned parts, struct ws_model **m, struct ws_err *err)
{
	struct unjoined u = {.d = d, .parts = parts, .is_sound = true};
	const struct ws_joined_sink sink = {.ctx = &u,
	                                    .call = add_unjoined_call,
	                                    .halfway = begin_unjoined,
	                                    .kernel = add_unjoined_kernel};

	const struct ws_pass_unjoined wanted = {.kernels = parts & WS_DIGEST_KERNELS,
	                                        .calls = parts & WS_DIGEST_CALLS,
	                                        .names = parts & WS_DIGEST_NAMES,
	                                        .scope = scope};

	*m = NULL;
	if (!(parts & WS_DIGEST_JOINED))
		WS_FORWARD(ws_pass_run_unjoined(r, name, opts, &wanted, &sink, m, err));
	ws_arena_free(&u.arena);
	if (*m && !u.is_sound) { /* only the join decides which records count */
		ws_digest_release(d);
		ws_model_free(*m);
		*m = NULL;
	}
	if (!*m)
		return WS_OK;
	finish(d);
	rows->in_scope[WS_SCOPE_OUTSIDE].kernels = d->kernels;
	rows->in_scope[WS_SCOPE_OUTSIDE].gpu_ns = d->gpu_ns;
	return WS_OK;
}

uint32_t ws_digest_class(const struct ws_model *m, const struct ws_digest_cell *cell)
{
	return cell->place.class ? cell->place.class : m->configs[cell->config].name_class;
}

uint32_t ws_digest_name(const struct ws_model *m, const struct ws_digest_cell *cell)
{
	return m->configs[cell->config].name;
}

void ws_digest_rank(const struct ws_table_context *tab, ws_digest_text_fn text_of,
                    struct ws_ranking *out)
{
	const struct ws_model *m = tab->m;
	const struct ws_digest *d = tab->digest;

	*out = (struct ws_ranking){0};
	WS_NEW(tab->temp, out->groups, m->ntexts);
	WS_NEW(tab->temp, out->order, m->ntexts);
	for (size_t i = 0; i < d->ncells; i++) {
		struct ws_group *group = &out->groups[text_of(m, &d->cells[i])];

		group->time.n += ws_values_count(&d->cells[i].dur_ns);
		group->time.sum += d->cells[i].total_ns;
		group->without_time += d->cells[i].without_time;
	}
	/* Total time descending, instances ascending, name; without any known time at the end. */
	for (uint32_t i = 0; i < m->ntexts; i++)
		if (out->groups[i].time.n || out->groups[i].without_time)
			out->order[out->n++] =
			        (struct ws_row_key){.number = {!out->groups[i].time.n,
			                                       WS_DESCENDING(
			                                               out->groups[i].time.sum),
			                                       (int64_t)out->groups[i].time.n},
			                            .text = {m->texts[i]},
			                            .row = i};
	ws_row_keys_sort(out->order, out->n);
}

/* --- of one step -------------------------------------------------------------------------- */

struct median_step {
	struct ws_table_context tab;
	struct ws_selection sel;
	struct ws_digest digest;
};

static void release_median_step(void *result)
{
	struct median_step *s = result;

	ws_digest_release(&s->digest);
	ws_selection_release(&s->sel);
}

const struct ws_table_context *ws_median_step(const struct ws_table_context *tab)
{
	static const char key;
	struct median_step *s = ws_kept_result(tab->sel, &key);
	const struct ws_windows *w = ws_windows(tab->m, tab->sel);

	if (s || w->n < 2)
		return s ? &s->tab : tab;
	WS_NEW(&tab->sel->kept->arena, s, 1);
	ws_select_step(tab->m, tab->sel, ws_windows_median(w)->step, &s->sel);
	s->tab = (struct ws_table_context){.m = tab->m, .sel = &s->sel, .digest = &s->digest};
	ws_digest_of_rows(&s->digest, tab->m, &s->sel, tab->digest->parts);
	ws_keep_result(tab->sel, &key, s, release_median_step);
	return &s->tab;
}
