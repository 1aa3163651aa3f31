/*
 * The work in the samples of a recording: calls of operations in launch order, classes, copies.
 */

#include "report/names/names.h"
#include "report/diff/recording.h"

/* Maximum bytes of an operation on a few numbers: three doubles. */
#define MOST_BYTES_OF_SCALARS 24

/* A kernel in a sample. */
struct launch {
	int64_t launch_ns; /* time of the launch; without a record the kernel's start */
	uint32_t sample;
	uint32_t number; /* number of its row */
};
struct launched {
	struct launch launch; /* sorted by it, so it is first */
	struct ws_joined_kernel kernel;
};

/* The last call of attention on a stream, in the current sample. */
struct last_attention {
	uint64_t stream;
	uint32_t device, call;
};

struct work {
	struct ws_reader *c;
	struct ws_spill sorted; /* struct launched; none if the rows are in this order */
	size_t nsorted;
	uint32_t *call_of_op,
	        *call_of_range; /* by framework operation, or by range: its call, WS_NONE */
	struct ws_arena temp;
	struct ws_texts known; /* key for adding a kernel to an item, and … */
	uint32_t *after;       /* … the resulting item, by number of the key - 1 */
	size_t nafter, after_capacity;
	struct ws_map piece_of_kernel; /* kernels of the replayed step */
	size_t classes_capacity;
	struct last_attention *attention;
	size_t nattention, attention_capacity;
	struct ws_joined_kernel *waiting; /* kernels waiting for the next call */
	size_t nwaiting, waiting_capacity;
	uint32_t sample; /* sample of these kernels */
};

/* --- kernels in launch order --------------------------------------------------------------- */

static struct launch launch_of(struct ws_reader *c, const struct ws_joined_kernel *k, uint32_t i)
{
	/* the start of a kernel without time has no meaning */
	struct launch l = {k->kind->timed ? k->start_ns : 0, ws_reader_sample(c, k->step), i};

	if (l.sample != WS_NONE && k->call != WS_NONE)
		l.launch_ns = ws_joined_rows_call(c->rows, k->call)->start_ns;
	return l;
}

/* By sample, then launch. */
static int by_launch(const void *pa, const void *pb, void *ctx)
{
	const struct launch *a = pa, *b = pb;

	(void)ctx;
	WS_ORDER_BY(a->sample, b->sample);
	WS_ORDER_BY(a->launch_ns, b->launch_ns);
	return ws_order_compare(a->number, b->number);
}

/* --- items ----------------------------------------------------------------------------------- */

/* Does the class alone determine the kind of operation, whatever its name? */
static bool class_tells_kind(struct ws_bytes class)
{
	static const char *const telling[] = {"gemm", "conv", "attention", "softmax",  "norm",
	                                      "pool", "loss", "comm",      "embedding"};

	return WS_NAME_IS_ONE_OF(class, telling);
}

/* aten::add_ is add */
static struct ws_bytes bare_op_name(struct ws_bytes name)
{
	const char *begin = name.ptr, *end = begin + name.len;

	for (const char *p = begin; p + 1 < end; p++)
		if (p[0] == ':' && p[1] == ':' && p + 2 < end)
			begin = p + 2;
	while (end > begin + 1 && end[-1] == '_')
		end--;
	while (begin + 1 < end && *begin == '_')
		begin++;
	return (struct ws_bytes){begin, (size_t)(end - begin)};
}

static void set_shape(struct work *w, const int64_t dim[4], struct ws_work_item *item)
{
	char text[96] = "";
	size_t len = 0;
	double volume = 1;

	for (int i = 0; i < 4; i++) {
		if (dim[i] <= 0)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRId64,
		                        len ? "x" : "", dim[i]);
		volume *= (double)dim[i];
	}
	item->volume = len ? (float)volume : 0;
	item->shape = ws_texts_add_str(&w->c->names->texts, text);
}

static uint32_t steady_name(struct work *w, struct ws_bytes name)
{
	char *steady = ws_xmalloc(name.len + 1);
	const uint32_t text = ws_texts_add(&w->c->names->texts,
	                                   (struct ws_bytes){steady, ws_name_steady(name, steady)});

	free(steady);
	return text;
}

/* Sets the operation of a kernel: an annotated range, else a framework's operation. */
static void set_operation(struct work *w, const struct ws_joined_range *range, uint32_t cpu_op,
                          struct ws_work_item *item)
{
	const struct ws_model *m = w->c->m;
	struct ws_texts *texts = &w->c->names->texts;

	if (range) {
		const struct ws_op_facts *op = ws_joined_range_op(m, range);

		item->op = steady_name(w, m->texts[range->context->name]);
		item->kind = op->kind ? ws_reader_text(w->c, op->kind) : item->op;
		set_shape(w, (const int64_t[]){op->batch, op->m, op->n, op->k}, item);
		item->flops = op->flops > 0 ? (float)op->flops : 0;
	} else if (cpu_op != WS_NONE) {
		const struct ws_op_config *op = ws_cpu_op_config(m, cpu_op);

		item->op = steady_name(w, m->texts[op->name]);
		set_shape(w,
		          (const int64_t[]){(int64_t)op->batch, (int64_t)op->m, (int64_t)op->n,
		                            (int64_t)op->k},
		          item);
		item->flops = op->flops > 0 ? (float)op->flops : 0;
		if (item->contains_its_class || !class_tells_kind(ws_texts_get(texts, item->class)))
			item->kind =
			        ws_texts_add(texts, bare_op_name(ws_texts_get(texts, item->op)));
	}
	if (!item->kind)
		item->kind = item->class;
}

static uint32_t class_of(struct work *w, const struct ws_joined_kernel *k)
{
	const uint32_t class = ws_reader_text(w->c, k->kind->class);

	return class ? class : w->c->unclassified;
}

/* The number of the item `before` (0 = none yet) with one more kernel, which may be the longest of
 * the call; cached by its inputs. */
static uint32_t find_item(struct work *w, const struct ws_joined_kernel *k, uint32_t op_range,
                          uint32_t cpu_op, uint32_t before, bool is_longest)
{
	const struct ws_joined_range *op =
	        before ? NULL : ws_joined_rows_range(w->c->rows, op_range);
	const uint32_t key[] = {before,
	                        (uint32_t)is_longest | (uint32_t)(cpu_op != WS_NONE) << 1,
	                        k->kind->config,
	                        k->kind->dtype,
	                        k->kind->class,
	                        k->kind->phase,
	                        k->kind->path,
	                        op ? op->context->name : WS_NONE,
	                        op ? op->context->op : WS_NONE,
	                        before || cpu_op == WS_NONE ? WS_NONE
	                                                    : w->c->m->cpu_ops.config[cpu_op]};
	uint32_t number = ws_texts_add_often(&w->known, (struct ws_bytes){key, sizeof(key)},
	                                     k->kind->config * 1021 + k->kind->path);

	if (number > w->nafter) {
		WS_GROW(w->after, number, w->after_capacity);
		struct ws_names *names = w->c->names;
		struct ws_work_item item;

		if (before) {
			item = *ws_names_item(names, before);
		} else {
			item = (struct ws_work_item){.place = WS_NONE, .phase = k->kind->phase};
			if (k->kind->path != WS_NONE)
				item.place = w->c->place_of_path[k->kind->path];
			item.class = class_of(w, k);
			set_operation(w, op, cpu_op, &item);

			/*
			 * Recognises casts under any name: `aten::copy_` between two types, as used
			 * by autocast; "cast to bf16" in our own steps. If types were not recorded,
			 * the kernel's name is used. GradScaler's operations begin with amp_, and
			 * its kernels have that in their names.
			 */
			const struct ws_model *m = w->c->m;
			struct ws_texts *texts = &w->c->names->texts;
			const struct ws_op_config *of = ws_cpu_op_config(m, op ? WS_NONE : cpu_op);
			const struct ws_config *config = &m->configs[k->kind->config];
			const struct ws_bytes kernel = m->texts[config->name],
			                      name = bare_op_name(ws_texts_get(texts, item.op)),
			                      class = ws_texts_get(texts, item.class);
			static const char amp[] = "amp_";
			static const char *const copying[] = {"copy", "to", "to_copy", "type",
			                                      "type_as"};
			const bool copies = !item.op || WS_NAME_IS_ONE_OF(name, copying) ||
			                    ws_bytes_begin(name, "cast") ||
			                    ws_bytes_begin(name, "convert");

			if (ws_bytes_begin(name, amp) ||
			    (ws_name_is(class, "optimizer") && ws_name_has(kernel, amp)))
				item.precision = WS_PRECISION_SCALING;
			else if (copies && (ws_name_is(class, "cast") ||
			                    (ws_name_is(class, "copy") &&
			                     ws_name_is(m->texts[config->name_class], "cast"))))
				item.precision = WS_PRECISION_CAST;
			else if (of && of->bytes > 0 && of->bytes <= MOST_BYTES_OF_SCALARS)
				item.precision = WS_PRECISION_SCALAR;
			if (item.precision == WS_PRECISION_CAST)
				item.kind = ws_texts_add_str(texts, "cast");
		}
		/* Replaces a less specific class: a convolution that begins with a change of layout
		 * is a convolution. */
		const uint32_t class = class_of(w, k);
		if (before && cpu_op != WS_NONE &&
		    class_tells_kind(ws_texts_get(&names->texts, class)) &&
		    !class_tells_kind(ws_texts_get(&names->texts, item.class)))
			item.class = item.kind = class;
		item.nkernels++;
		const struct ws_launch_shape *shape = &w->c->m->configs[k->kind->config].shape;
		item.threads += (float)(shape->grid_x * shape->grid_y * shape->grid_z *
		                        shape->block_x * shape->block_y * shape->block_z);
		if (is_longest) {
			item.tensor = w->c->m->configs[k->kind->config].tensor;
			item.dtype = ws_reader_text(w->c, k->kind->dtype);
		}

		/* "name", then "name + other"; names that are already in it, and text over 2 KB,
		 * are left out. */
		uint32_t text = ws_reader_text(w->c, w->c->m->configs[k->kind->config].name);

		if (!item.kernels) {
			item.kernels = text;
		} else {
			struct ws_bytes name = ws_texts_get(&names->texts, text);
			struct ws_bytes so_far = ws_texts_get(&names->texts, item.kernels);
			if (so_far.len + name.len <= 2048 && name.len &&
			    !memmem(so_far.ptr, so_far.len, name.ptr, name.len)) {
				char *joined = ws_xmalloc(so_far.len + 3 + name.len);
				memcpy(joined, so_far.ptr, so_far.len);
				memcpy(joined + so_far.len, " + ", 3);
				memcpy(joined + so_far.len + 3, name.ptr, name.len);
				item.kernels =
				        ws_texts_add(&names->texts,
				                     (struct ws_bytes){joined,
				                                       so_far.len + 3 + name.len});
				free(joined);
			}
		}
		w->after[number - 1] = ws_names_add_item(names, &item);
		w->nafter = number;
	}
	return w->after[number - 1];
}

/* --- calls ----------------------------------------------------------------------------------- */

/* A unique key of a kernel in a step: its begin and its configuration, which includes the
 * stream. */
static uint64_t key_of_kernel(const struct ws_joined_kernel *k)
{
	return (uint64_t)k->start_ns ^ (uint64_t)k->kind->config << 44;
}

/* Returns its call. into: the call to which it belongs; WS_NONE: that of its operation, or a new
 * one. */
static uint32_t add_kernel(struct work *w, const struct ws_joined_kernel *k, uint32_t into)
{
	struct ws_recording *r = w->c->r;
	const uint64_t *piece = ws_map_get(&w->piece_of_kernel, key_of_kernel(k));
	struct ws_sample *s = &r->samples[w->sample];
	const uint32_t op_range = ws_joined_rows_op_range(w->c->rows, k->range);
	const uint32_t cpu_op = op_range == WS_NONE ? k->cpu_op : WS_NONE;
	struct ws_work_call call = {.longest_ns = INT64_MIN};
	uint32_t at = op_range != WS_NONE ? w->call_of_range[op_range]
	              : cpu_op != WS_NONE ? w->call_of_op[cpu_op]
	                                  : WS_NONE;

	if (k->range != WS_NONE) {
		struct ws_range_at *range = ws_recording_range(r, k->range);

		range->gpu_ns += k->dur_ns;
		call.instance = range->instance;
	}
	at = at == WS_NONE ? into : at;
	if (at != WS_NONE && s->ncalls && at >= s->first_call) {
		call = *ws_recording_call(r, at);
	} else {
		if (!s->ncalls++)
			s->first_call = r->ncalls;
		at = (uint32_t)r->ncalls++;
	}
	if (op_range != WS_NONE)
		w->call_of_range[op_range] = at;
	else if (cpu_op != WS_NONE)
		w->call_of_op[cpu_op] = at;
	call.item = find_item(w, k, op_range, cpu_op, call.item, k->dur_ns > call.longest_ns);
	call.gpu_ns += k->dur_ns;
	if (k->dur_ns > call.longest_ns)
		call.longest_ns = k->dur_ns;
	s->gpu_ns += k->dur_ns;
	s->phase_gpu_ns[k->kind->phase] += k->dur_ns;
	ws_spill_put(&r->calls, sizeof(call), at, &call);
	if (piece && w->sample == r->replayed_sample)
		r->call_of_piece[*piece] = at;
	return at;
}

/* --- attention: one call in several kernels --------------------------------------------------- */

static const struct ws_config *config_of(const struct work *w, const struct ws_joined_kernel *k)
{
	return &w->c->m->configs[k->kind->config];
}

/* Adds the waiting kernels of this attention's stream (NULL = of any stream) to its call; WS_NONE =
 * to calls of their own. */
static void add_waiting(struct work *w, const struct last_attention *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->nwaiting; i++) {
		const struct ws_joined_kernel k = w->waiting[i];

		if (to && (config_of(w, &k)->device != to->device ||
		           config_of(w, &k)->stream != to->stream))
			w->waiting[kept++] = k;
		else
			add_kernel(w, &k, to ? to->call : WS_NONE);
	}
	w->nwaiting = kept;
}

static void end_sample(struct work *w)
{
	add_waiting(w, NULL);
	w->nattention = 0;
}

/* Adds work of a class in a sample. */
static void add_class_time(struct work *w, uint32_t class, uint8_t tensor, int64_t ns,
                           struct ws_sample *s)
{
	struct ws_recording *r = w->c->r;
	size_t at;

	if (!s->nclasses)
		s->first_class = r->nclasses;
	for (at = s->first_class; at < r->nclasses && r->classes[at].class != class;)
		at++;
	if (at == r->nclasses) {
		WS_GROW(r->classes, r->nclasses + 1, w->classes_capacity);
		r->classes[r->nclasses++] = (struct ws_class_time){.class = class};
		s->nclasses++;
	}
	r->classes[at].kernels++;
	r->classes[at].gpu_ns += ns;
	if (tensor == WS_TENSOR_YES)
		r->classes[at].tensor_ns += ns;
	else if (tensor != WS_TENSOR_NO)
		r->classes[at].unknown_ns += ns;
}

/* --- operations on the host ------------------------------------------------------------------- */

struct host_op {
	struct launch launch; /* sorted by it, so it is first */
	int64_t self_ns;
	bool has_inner_flops, contains_its_class;
};

/* Without device work, host operations are the work, each with its time outside of nested
 * operations. */
static void read_host_ops(struct work *w)
{
	struct ws_reader *c = w->c;
	const struct ws_op_tree *tree = &c->m->cpu_ops.tree;
	struct host_op *ops;
	size_t n = 0;

	WS_NEW(&w->temp, ops, tree->n);
	for (uint32_t i = 0; i < tree->n; i++)
		ops[i].self_ns = tree->end_ns[i] - tree->start_ns[i];
	for (uint32_t i = (uint32_t)tree->n; i-- > 0;) {
		const uint32_t parent = tree->parent[i];

		if (parent == WS_NONE)
			continue;
		ops[parent].self_ns -= tree->end_ns[i] - tree->start_ns[i];
		ops[parent].has_inner_flops |=
		        ops[i].has_inner_flops || ws_cpu_op_config(c->m, i)->flops > 0;
		for (uint32_t p = parent; p != WS_NONE; p = tree->parent[p])
			ops[p].contains_its_class |=
			        ws_cpu_op_config(c->m, p)->kind == ws_cpu_op_config(c->m, i)->kind;
	}
	for (uint32_t i = 0; i < tree->n; i++) {
		ops[n] = ops[i];
		ops[n].launch =
		        (struct launch){tree->start_ns[i],
		                        ws_reader_sample(c, ws_step_of_op(c->m, c->rows, i)), i};
		n += ops[n].launch.sample != WS_NONE;
	}
	ws_sort_by(ops, n, sizeof(*ops), by_launch, NULL);
	ws_spill_open(&c->r->calls, n * sizeof(struct ws_work_call));
	for (size_t i = 0; i < n; i++) {
		const struct host_op *op = &ops[i];
		struct ws_recording *r = c->r;
		struct ws_sample *s = &r->samples[op->launch.sample];
		const uint32_t range = c->m->cpu_ops.range[op->launch.number];
		struct ws_work_call call = {.gpu_ns = op->self_ns, .longest_ns = op->self_ns};

		if (range != WS_NONE) {
			struct ws_range_at *at = ws_recording_range(r, range);

			at->gpu_ns += op->self_ns;
			call.instance = at->instance;
		}

		/* the operation itself: shape and FLOPs, unless an operation inside it has FLOPs */
		const struct ws_op_config *config = ws_cpu_op_config(c->m, op->launch.number);
		const struct ws_joined_range *of = ws_joined_rows_range(c->rows, range);
		struct ws_work_item item = {.place = of ? c->place_of_path[of->context->path]
		                                        : WS_NONE,
		                            .phase = c->m->cpu_ops.phase[op->launch.number],
		                            .nkernels = 1,
		                            .contains_its_class = op->contains_its_class};

		item.class = config->kind ? ws_reader_text(c, config->kind) : c->unclassified;
		set_operation(w, NULL, op->launch.number, &item);
		if (op->has_inner_flops)
			item.flops = 0;
		item.kernels = item.op;
		item.dtype = ws_reader_text(c, config->dtype);
		call.item = ws_names_add_item(c->names, &item);
		if (!s->ncalls++)
			s->first_call = r->ncalls;
		s->gpu_ns += op->self_ns;
		s->phase_gpu_ns[item.phase] += op->self_ns;
		add_class_time(w, item.class, WS_TENSOR_NO, op->self_ns, s);
		ws_spill_put(&r->calls, sizeof(call), r->ncalls++, &call);
	}
}

/* --- copies ---------------------------------------------------------------------------------- */

void ws_reader_read_work(struct ws_reader *c)
{
	struct work w = {.c = c};
	const size_t nops = c->m->cpu_ops.tree.n, nranges = c->m->ops.n ? c->r->nranges : 0;

	WS_NEW(&w.temp, w.call_of_op, nops);
	WS_NEW(&w.temp, w.call_of_range, nranges);
	memset(w.call_of_op, 0xff, nops * sizeof(*w.call_of_op));
	memset(w.call_of_range, 0xff, nranges * sizeof(*w.call_of_range));

	/* true in most cases with one device and one stream */
	struct launch last = {.launch_ns = INT64_MIN};
	bool in_order = true;

	for (uint32_t i = 0; i < c->rows->nkernels && in_order; i++) {
		const struct launch l = launch_of(c, ws_joined_rows_kernel(c->rows, i), i);

		if (l.sample == WS_NONE)
			continue;
		in_order = by_launch(&last, &l, NULL) <= 0;
		last = l;
	}
	if (!in_order) {
		ws_spill_open(&w.sorted, c->rows->nkernels * sizeof(struct launched));
		WS_EACH_KERNEL(c->rows, i, k) {
			const struct launched l = {launch_of(c, k, i), *k};

			if (l.launch.sample != WS_NONE)
				ws_spill_put(&w.sorted, sizeof(l), w.nsorted++, &l);
		}
		ws_spill_sort(&w.sorted, sizeof(struct launched), w.nsorted, by_launch, NULL);
	}

	/* the kernels of the replay */
	struct ws_recording *r = c->r;
	const struct ws_replay_facts *facts = r->replay ? ws_replay_facts(r->replay) : NULL;

	if (facts && !facts->obstacle) {
		r->replayed_sample = facts->step == WS_NONE ? 0 : c->sample_of_step[facts->step];
		r->call_of_piece = ws_xarray(facts->npieces + 1, sizeof(*r->call_of_piece));
		for (size_t i = 0; i < facts->npieces; i++) {
			r->call_of_piece[i] = WS_NONE;
			if (facts->pieces[i].is_kernel)
				ws_map_add(&w.piece_of_kernel,
				           key_of_kernel(
				                   ws_joined_rows_kernel(c->rows,
				                                         facts->pieces[i].row)),
				           i);
		}
	}
	c->r->has_host_ops = !ws_model_has_work(c->m) && nops;
	if (c->r->has_host_ops)
		read_host_ops(&w);
	else {
		const size_t n = w.sorted.data ? w.nsorted : c->rows->nkernels;

		ws_spill_open(&r->calls, n * sizeof(struct ws_work_call));
		for (size_t i = 0; i < n; i++) {
			const struct launched *l =
			        w.sorted.data ? ws_spill_row(&w.sorted, sizeof(*l), i) : NULL;
			const struct ws_joined_kernel *k =
			        l ? &l->kernel : ws_joined_rows_kernel(c->rows, i);
			const uint32_t sample = l ? l->launch.sample : ws_reader_sample(c, k->step);

			if (sample == WS_NONE)
				continue;
			if (sample != w.sample)
				end_sample(&w);
			w.sample = sample;
			if (ws_name_is(ws_texts_get(&w.c->names->texts, class_of(&w, k)),
			               "attention")) {
				/* Adds kernels that combine splits to the call before them, and
				 * schedules to the call after them, also without an enclosing
				 * operation. */
				const struct ws_config *config = config_of(&w, k);
				size_t at = 0;

				while (at < w.nattention &&
				       (w.attention[at].device != config->device ||
				        w.attention[at].stream != config->stream))
					at++;
				if (at == w.nattention) {
					WS_GROW(w.attention, w.nattention + 1,
					        w.attention_capacity);
					w.attention[w.nattention++] =
					        (struct last_attention){config->stream,
					                                config->device, WS_NONE};
				}
				struct last_attention *last_of = &w.attention[at];
				if (config->call == WS_NAME_CALL_BEHIND) {
					WS_GROW(w.waiting, w.nwaiting + 1, w.waiting_capacity);
					w.waiting[w.nwaiting++] = *k;
				} else {
					last_of->call =
					        add_kernel(&w, k,
					                   config->call == WS_NAME_CALL_BEFORE
					                           ? last_of->call
					                           : WS_NONE);
					add_waiting(&w, last_of);
				}
			} else
				add_kernel(&w, k, WS_NONE);
			add_class_time(&w, class_of(&w, k), w.c->m->configs[k->kind->config].tensor,
			               k->dur_ns, &r->samples[sample]);
		}
		end_sample(&w);
	}

	/* copies, fills, and graphs traced as a whole */
	const struct ws_model *m = c->m;

	r->copies = ws_xarray(r->nsamples * WS_COPY_NAMES + 1, sizeof(*r->copies));
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *work = &m->work[i];

		/* The sample that requested a copy: by its range, else by the time of the call. */
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, work->range);
		uint32_t sample =
		        !c->r->has_steps ? 0
		        : range          ? ws_reader_sample(c, ws_joined_range_step(c->rows, range))
		                         : WS_NONE;
		const struct ws_joined_call *call = ws_joined_rows_call(c->rows, work->call);
		const int64_t at = call ? call->start_ns : work->start_ns;
		for (uint32_t k = 0; k < c->r->nsamples && sample == WS_NONE; k++)
			if (at >= c->windows->window[k].start_ns &&
			    at < c->windows->window[k].end_ns)
				sample = k;

		if (sample == WS_NONE)
			continue;
		if (work->kind == WS_WORK_GRAPH) {
			r->graphs_ns += work->dur_ns;
			r->samples[sample].graph_ns += work->dur_ns;
			continue;
		}
		struct ws_copy_sum *sum =
		        &r->copies[sample * WS_COPY_NAMES + ws_copy_name_of(work)];
		sum->count++;
		sum->bytes += work->bytes;
		sum->without_size += !work->bytes; /* 0 means not recorded */
		sum->ns += work->dur_ns;
	}
	ws_spill_close(&w.sorted);
	ws_texts_release(&w.known);
	ws_map_free(&w.piece_of_kernel);
	ws_arena_free(&w.temp);
	free(w.after);
	free(w.attention);
	free(w.waiting);
}
