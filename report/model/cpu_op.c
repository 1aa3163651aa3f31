/*
 * Framework operations: a tree by containment on each thread, and links from backward to forward
 * operations.
 */

#include "formats/op_cost/op_cost.h"
#include "report/model/load.h"

/* The name of a value of an ENUM column as a text; its entry 0 means unknown. */
static uint32_t enum_text(struct ws_model *m, int column, uint64_t value)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_OP_CONFIG);

	return value ? ws_intern_text(m, ws_enum_name(def->columns[column].unit, value))
	             : WS_TEXT_EMPTY;
}

static int64_t cost_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? -1 : (int64_t)sum;
}

static void on_config(void *loader, const void *row)
{
	const struct ws_row_op_config *r = row;
	struct ws_loader *l = loader;
	struct ws_model *m = l->m;
	uint32_t at = (uint32_t)m->cpu_ops.nconfigs++;
	struct ws_op_config *c = &m->cpu_ops.configs[at];
	const struct ws_op_desc desc = {.name = m->texts[ws_model_text(m, r->name)],
	                                .dims = m->texts[ws_model_text(m, r->dims)],
	                                .types = m->texts[ws_model_text(m, r->types)],
	                                .strides = m->texts[ws_model_text(m, r->strides)],
	                                .inputs = m->texts[ws_model_text(m, r->inputs)]};

	*c = (struct ws_op_config){
	        .has_dims = r->dims != 0,
	        .batch = r->batch,
	        .m = r->m,
	        .n = r->n,
	        .k = r->k,
	        .flops = -1,
	        .flops_needed = -1,
	        .bytes = -1,
	        .alike = ws_op_period_hash(ws_op_period_hash(r->name, r->dims), r->types),
	};
	if (r->cost == WS_COST_FLOPS || r->cost == WS_COST_FLOPS_AND_BYTES)
		c->flops = cost_of(r->flops, 0);
	if (r->cost == WS_COST_FLOPS_AND_BYTES)
		c->bytes = cost_of(r->bytes_read, r->bytes_written);
	if (r->kind == WS_NVTX_OP_ATTENTION ||
	    (r->kind == WS_NVTX_OP_OTHER && !ws_bytes_begin(desc.name, "aten::"))) {
		struct ws_op_cost cost;

		/* mask and packed sequences of attention, for which the record has no columns */
		ws_op_cost(&desc, &cost);
		c->queries = cost.queries;
		c->flops_per_pair = cost.flops_per_pair;
		c->mask = (uint8_t)cost.mask;
		if (cost.mask != WS_MASK_NOT_KNOWN && cost.known != WS_COST_NONE)
			c->flops_needed = cost_of(cost.flops_needed, 0);
	}

	c->kind = enum_text(m, WS_COL_op_config_kind, r->kind);
	c->name = ws_steady_text(m, ws_model_text(m, r->name));
	c->direction = enum_text(m, WS_COL_op_config_direction, r->direction);
	c->dtype = enum_text(m, WS_COL_op_config_dtype, r->dtype);
	ws_idmap_put(&l->op_config_of, r->id, at);
}

/* --- the tree ---------------------------------------------------------------------------- */

/* Autograd's sequence numbers: a backward operation has the number and the thread of its forward
 * one. */
struct op_sequence {
	int64_t number;          /* -1 = not recorded */
	uint64_t forward_thread; /* 0: not a backward operation */
};

/* --- forward and backward ------------------------------------------------------------------ */

/* The first, and so outermost, operation that begins at this time on the thread; WS_NONE. */
static uint32_t op_at(const struct ws_op_tree *r, uint32_t thread, int64_t start_ns)
{
	uint32_t first, n, i;

	if (thread >= r->nthreads)
		return WS_NONE;
	first = r->thread_first[thread];
	n = r->thread_first[thread + 1] - first;
	WS_COUNT_FIRST(i, n, r->start_ns[first + i] < start_ns);
	return i < n && r->start_ns[first + i] == start_ns ? first + i : WS_NONE;
}

uint32_t ws_cpu_op_around(const struct ws_op_tree *r, uint32_t thread, int64_t start_ns,
                          int64_t end_ns)
{
	uint32_t first, begun, op;

	if (thread >= r->nthreads)
		return WS_NONE;
	first = r->thread_first[thread];
	WS_COUNT_FIRST(begun, r->thread_first[thread + 1] - first,
	               r->start_ns[first + begun] <= start_ns);
	if (!begun)
		return WS_NONE;
	/* an earlier operation around the time also contains the one that began last */
	for (op = first + begun - 1; op != WS_NONE && r->end_ns[op] < end_ns;)
		op = r->parent[op];
	return op;
}

/* PyTorch's number of a thread that called forward operations, in a process. */
struct forward_thread {
	uint32_t process;
	uint32_t runs;   /* the thread of its first backward operation */
	uint32_t thread; /* WS_NONE: not known */
};

#define MOST_FORWARD_THREADS 1024
#define MOST_THREAD_PAIRS    (1u << 24)

/*
 * PyTorch of 2021 recorded sequence numbers instead of flows. Like PyTorch's own links, a link goes
 * to the last operation with the number. Each thread has its own counter, and PyTorch its own
 * number of the thread: that is the thread of the process on which the forward operation of most of
 * its backward operations began before. Of several such threads it is the one that runs them, as on
 * a CPU, or the only one that is no other number's. Otherwise these operations have no link.
 */
static void follow_sequences(const struct ws_model *m, struct ws_arena *temp,
                             struct ws_cpu_ops *ops, const struct op_sequence *sequence)
{
	const struct ws_op_tree *r = &ops->tree;
	struct forward_thread numbers[MOST_FORWARD_THREADS];
	struct ws_idmap last = {0}, number_of = {0};
	uint32_t nnumbers = 0, *number, *first, *next, *count;
	uint8_t *is_taken;

	/* the threads with forward operations, as lists of each process */
	WS_NEW(temp, number, r->n);
	WS_NEW(temp, first, m->nprocesses);
	WS_NEW(temp, next, r->nthreads);
	memset(first, 0xff, m->nprocesses * sizeof(*first));
	memset(number, 0xff, r->n * sizeof(*number));
	for (uint32_t i = 0, caller = WS_NONE; i < r->n; i++) {
		const struct op_sequence *s = &sequence[i];
		const uint32_t thread = r->thread[i], process = m->threads[thread].process;

		if (s->number < 0)
			continue;
		if (!s->forward_thread) {
			ws_idmap_put(&last, (uint64_t)s->number * r->nthreads + thread, i);
			if (thread != caller) {
				next[thread] = first[process];
				first[process] = caller = thread;
			}
			continue;
		}
		const uint64_t key = s->forward_thread * m->nprocesses + process;

		number[i] = ws_idmap_get(&number_of, key);
		if (number[i] == WS_NONE && nnumbers < MOST_FORWARD_THREADS &&
		    (uint64_t)(nnumbers + 1) * r->nthreads <= MOST_THREAD_PAIRS) {
			numbers[nnumbers] = (struct forward_thread){process, thread, WS_NONE};
			ws_idmap_put(&number_of, key, number[i] = nnumbers++);
		}
	}
	WS_NEW(temp, count, (size_t)nnumbers * r->nthreads);
	WS_NEW(temp, is_taken, r->nthreads);
	for (uint32_t i = 0; i < r->n; i++) {
		if (number[i] == WS_NONE)
			continue;
		for (uint32_t t = first[numbers[number[i]].process]; t != WS_NONE; t = next[t]) {
			const uint32_t forward =
			        ws_idmap_get(&last, (uint64_t)sequence[i].number * r->nthreads + t);

			count[number[i] * r->nthreads + t] +=
			        forward != WS_NONE && r->start_ns[forward] <= r->start_ns[i];
		}
	}
	for (bool is_found = true; is_found;) {
		is_found = false;
		for (uint32_t k = 0; k < nnumbers; k++) {
			struct forward_thread *f = &numbers[k];
			uint32_t best = WS_NONE, most = 1, n = 0;

			for (uint32_t t = first[f->process]; t != WS_NONE; t = next[t]) {
				const uint32_t found = count[k * r->nthreads + t];

				if (is_taken[t] || found < most)
					continue;
				n = found > most ? 1 : n + 1;
				best = n == 1 || t == f->runs ? t : best;
				most = found;
			}
			if (f->thread != WS_NONE || !n || (n > 1 && best != f->runs))
				continue;
			f->thread = best;
			is_taken[best] = is_found = true;
		}
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (number[i] != WS_NONE && numbers[number[i]].thread != WS_NONE)
			ops->forward[i] =
			        ws_idmap_get(&last, (uint64_t)sequence[i].number * r->nthreads +
			                                    numbers[number[i]].thread);
	ws_idmap_free(&last);
	ws_idmap_free(&number_of);
}

static void on_flow(void *loader, const void *row)
{
	const struct ws_row_flow *r = row;
	struct ws_loader *l = loader;
	struct ws_cpu_ops *ops = &l->m->cpu_ops;

	if (r->kind != WS_FLOW_FORWARD_BACKWARD)
		return;
	uint32_t from = op_at(&ops->tree, ws_thread_number(l, r->from_thread, 0), r->from_ns);
	uint32_t to = op_at(&ops->tree, ws_thread_number(l, r->to_thread, 0), r->to_ns);
	if (from != WS_NONE && to != WS_NONE)
		ops->forward[to] = from;
}

static enum ws_status load_ops(struct ws_arena *temp, struct ws_loader *l,
                               const struct ws_column_data *t, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct ws_cpu_ops *ops = &m->cpu_ops;
	struct ws_op_tree *r = &ops->tree;
	struct op_sequence *sequence;
	struct ws_op_copy *rows;
	int64_t total = 0;
	uint32_t next = 0; /* thread */

	WS_FORWARD(ws_load_op_periods(l, t, err));

	/* All operations, and copies of those of steps that others repeat, by thread, then begin,
	 * the longer one first: parents before their children. */
	struct ws_op_copy *all;

	uint32_t *order = ws_arena_array(temp, t->rows, sizeof(*order));
	int64_t *key = ws_arena_array(temp, t->rows, sizeof(*key));
	for (uint64_t j = 0; j < t->rows; j++)
		/* descending; a negation could overflow */
		key[j] = ~(int64_t)ws_value(t, WS_COL_cpu_op_dur_ns, j);
	ws_order_identity(order, t->rows);
	ws_order_by(order, key, t->rows);
	for (uint64_t j = 0; j < t->rows; j++)
		key[j] = (int64_t)ws_value(t, WS_COL_cpu_op_start_ns, j);
	ws_order_by(order, key, t->rows);
	size_t n = ws_op_copies(l, order, key, t->rows, temp, &all);
	WS_NEW(temp, order, n);
	WS_NEW(temp, key, n);
	ws_order_identity(order, n);
	if (n > t->rows) {
		for (size_t j = 0; j < n; j++) {
			const uint32_t thread =
			        ws_thread_number(l, ws_value(t, WS_COL_cpu_op_thread, all[j].row),
			                         0);

			key[j] = (int64_t)ws_value(t, WS_COL_cpu_op_start_ns, all[j].row);
			if (all[j].is_copy)
				key[j] = ws_op_copy_time(l, all[j].period, thread, key[j], NULL);
		}
		ws_order_by(order, key, n);
	}
	for (size_t j = 0; j < n; j++)
		key[j] = ws_thread_number(l, ws_value(t, WS_COL_cpu_op_thread, all[j].row), 0);
	ws_order_by(order, key, n);
	WS_NEW(temp, rows, n);
	for (size_t j = 0; j < n; j++)
		rows[j] = all[order[j]];
	r->n = n;
	WS_NEW(&m->arena, r->start_ns, n);
	WS_NEW(&m->arena, r->end_ns, n);
	WS_NEW(&m->arena, r->thread, n);
	WS_NEW(&m->arena, r->name, n);
	WS_NEW(&m->arena, r->parent, n);
	WS_NEW(&m->arena, ops->config, n);
	WS_NEW(&m->arena, ops->external, n);
	WS_NEW(&m->arena, ops->range, n);
	WS_NEW(&m->arena, ops->forward, n);
	WS_NEW(&m->arena, ops->source, n);
	WS_NEW(&m->arena, ops->phase, n);
	memset(ops->range, 0xff, n * sizeof(*ops->range));
	memset(ops->forward, 0xff, n * sizeof(*ops->forward));
	memset(ops->phase, WS_PHASE_OTHER, n);
	WS_NEW(temp, sequence, n);
	r->n = 0;
	for (size_t k = 0; k < n; k++) {
		const struct ws_op_copy from = rows[k];
		const uint32_t i = (uint32_t)r->n;
		const uint64_t row = from.row;
		const uint32_t thread =
		        ws_thread_number(l, ws_value(t, WS_COL_cpu_op_thread, row), 0);
		int64_t start = (int64_t)ws_value(t, WS_COL_cpu_op_start_ns, row);
		int64_t dur = (int64_t)ws_value(t, WS_COL_cpu_op_dur_ns, row);
		uint32_t config =
		        ws_idmap_get(&l->op_config_of, ws_value(t, WS_COL_cpu_op_config, row));

		rows[i] = from;
		dur = dur < 0 ? 0 : dur;
		sequence[i] = (struct op_sequence){
		        from.is_copy ? -1 : (int64_t)ws_value(t, WS_COL_cpu_op_sequence, row),
		        ws_value(t, WS_COL_cpu_op_forward_thread, row),
		};
		WS_FORWARD(ws_check_time(start, dur, "operation", row, err));
		if (from.is_copy) {
			const int64_t end = start + dur;

			start = ws_op_copy_time(l, from.period, thread, start, NULL);
			dur = ws_op_copy_time(l, from.period, thread, end, NULL) - start;
		}
		ws_extend_time(m, start, start + dur);
		r->start_ns[i] = start;
		r->end_ns[i] = start + dur;
		ops->config[i] = config == WS_NONE ? 0 : config;
		r->name[i] = ops->configs[ops->config[i]].name;
		ops->external[i] = ws_value(t, WS_COL_cpu_op_external_id, row);
		r->thread[i] = thread;
		ops->source[i] = ws_model_text(m, ws_value(t, WS_COL_cpu_op_source, row));
		/* a duplicate of the previous operation with another id? */
		if (i && ops->external[i] && ops->external[i] == ops->external[i - 1] &&
		    r->start_ns[i] == r->start_ns[i - 1] && r->end_ns[i] == r->end_ns[i - 1] &&
		    r->thread[i] == r->thread[i - 1] && ops->config[i] == ops->config[i - 1]) {
			m->soundness.broken[WS_LAW_ONCE].calls++;
			continue;
		}
		WS_FAIL_IF(__builtin_add_overflow(total, r->end_ns[i] - r->start_ns[i], &total),
		           err, CORRUPT, "the operations' times add up to over 2^63 ns");
		ops->with_shapes += ops->configs[ops->config[i]].has_dims;
		r->n++;
	}
	/*
	 * The parent is the operation that contains it and began last. An operation that ends
	 * before the new one contains no later operation that the new one does not contain, too.
	 */
	r->nthreads = m->nthreads;
	WS_NEW(&m->arena, r->thread_first, r->nthreads + 1);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t parent = i && r->thread[i] == r->thread[i - 1] ? i - 1 : WS_NONE;

		while (next <= r->thread[i])
			r->thread_first[next++] = i;
		while (parent != WS_NONE && r->end_ns[parent] < r->end_ns[i])
			parent = r->parent[parent];
		r->parent[i] = parent;
	}
	while (next <= r->nthreads)
		r->thread_first[next++] = (uint32_t)r->n;
	if (!t->rows)
		return WS_OK;
	/* Which operation each is the backward of; what lies inside one inherits that. */
	if (ws_trace_reader_count(l->r, WS_KIND_FLOW))
		WS_FORWARD(ws_load_each(l, WS_KIND_FLOW, on_flow, l, err));
	else
		follow_sequences(m, temp, ops, sequence);
	if (m->nop_periods) {
		/*
		 * A copy is the backward of what stands at the place of its original's forward
		 * operation: in the period as many before its own.
		 */
		size_t *first;         /* of each period: of its places in `at` */
		uint32_t *at, *of_row; /* the operations at these places; of a row; WS_NONE */
		size_t nrows = 0;

		/* Rows that were recorded twice have places, but are no operations. */
		WS_NEW(temp, first, m->nop_periods + 1);
		for (size_t i = 0; i < r->n; i++) {
			size_t *places =
			        rows[i].period == WS_NONE ? NULL : &first[rows[i].period + 1];

			if (places && *places <= rows[i].place)
				*places = rows[i].place + (size_t)1;
			if (nrows <= rows[i].row)
				nrows = rows[i].row + (size_t)1;
		}
		for (size_t i = 0; i < m->nop_periods; i++)
			first[i + 1] += first[i];
		WS_NEW(temp, at, first[m->nop_periods]);
		WS_NEW(temp, of_row, nrows);
		memset(at, 0xff, first[m->nop_periods] * sizeof(*at));
		memset(of_row, 0xff, nrows * sizeof(*of_row));
		for (uint32_t i = 0; i < r->n; i++) {
			if (rows[i].period != WS_NONE)
				at[first[rows[i].period] + rows[i].place] = i;
			if (!rows[i].is_copy)
				of_row[rows[i].row] = i;
		}
		for (uint32_t i = 0; i < r->n; i++) {
			const uint32_t like = rows[i].is_copy ? of_row[rows[i].row] : WS_NONE,
			               forward = like == WS_NONE ? WS_NONE : ops->forward[like];
			uint32_t period;

			if (forward == WS_NONE || rows[forward].period == WS_NONE)
				continue;
			period = rows[i].period - (rows[like].period - rows[forward].period);
			if (period < m->nop_periods &&
			    m->op_periods[period].marks ==
			            m->op_periods[rows[forward].period].marks &&
			    first[period + 1] - first[period] > rows[forward].place)
				ops->forward[i] = at[first[period] + rows[forward].place];
		}
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (ops->forward[i] == WS_NONE && r->parent[i] != WS_NONE)
			ops->forward[i] = ops->forward[r->parent[i]];
	return WS_OK;
}

enum ws_status ws_load_cpu_ops(struct ws_loader *l, struct ws_err *err)
{
	struct ws_arena temp = {0};
	struct ws_column_data t;
	struct ws_cpu_ops *ops = &l->m->cpu_ops;

	ops->nconfigs = 1;
	WS_NEW(&l->m->arena, ops->configs, ws_trace_reader_count(l->r, WS_KIND_OP_CONFIG) + 1);
	WS_FORWARD(ws_load_each(l, WS_KIND_OP_CONFIG, on_config, l, err));
	WS_FORWARD(ws_load_kind(l, WS_KIND_CPU_OP, &t, err));
	enum ws_status status = load_ops(&temp, l, &t, err);
	ws_arena_free(&temp);
	ws_column_data_release(&t);
	return status;
}

struct links {
	struct ws_idmap by_external; /* external id -> operation */
	struct ws_idmap *op_of;
};

static void on_link(void *ctx, const void *row)
{
	const struct ws_row_external_link *r = row;
	const struct links *links = ctx;
	uint32_t op = ws_idmap_get(&links->by_external, r->external_id);

	if (!(op == WS_NONE || r->kind != WS_EXTERNAL_CUSTOM0))
		ws_idmap_put(links->op_of, r->correlation, op);
}

enum ws_status ws_load_op_links(struct ws_loader *l, struct ws_idmap *op_of, struct ws_err *err)
{
	const struct ws_cpu_ops *ops = &l->m->cpu_ops;
	struct links links = {.op_of = op_of};
	enum ws_status status = WS_OK;

	if (!ws_trace_reader_count(l->r, WS_KIND_EXTERNAL_LINK))
		return WS_OK;
	for (uint32_t i = 0; i < ops->tree.n && status == WS_OK; i++)
		if (ops->external[i]) {
			ws_idmap_put(&links.by_external, ops->external[i], i);
		}
	WS_THEN(status, ws_load_each(l, WS_KIND_EXTERNAL_LINK, on_link, &links, err));
	ws_idmap_free(&links.by_external);
	return status;
}

/* --- module --- */

/*
 * Modules of PyTorch as ranges, which contain the launches of a module's call and of its backward.
 */

struct ws_module_call {
	int64_t start_ns, end_ns;
	uint32_t thread, name, source;
	uint64_t row; /* row of the file: orders calls of one time */
};

static int by_thread_and_begin(const void *pa, const void *pb)
{
	const struct ws_module_call *a = pa, *b = pb;

	WS_ORDER_BY(a->thread, b->thread);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(b->end_ns, a->end_ns);
	return (a->row > b->row) - (a->row < b->row);
}

static enum ws_status take_call(struct ws_loader *l, const struct ws_column_data *t, uint64_t row,
                                struct ws_module_call *call, struct ws_err *err)
{
	int64_t start = (int64_t)ws_value(t, WS_COL_python_call_start_ns, row);
	int64_t dur = (int64_t)ws_value(t, WS_COL_python_call_dur_ns, row);
	/* "Linear_3" of "nn.Module: Linear_3": the domain contains the rest */
	static const char prefix[] = "nn.Module: ";
	const size_t len = sizeof(prefix) - 1;
	struct ws_bytes name;

	dur = dur < 0 ? 0 : dur;
	WS_FORWARD(ws_check_time(start, dur, "call of a module", row, err));
	call->start_ns = start;
	call->end_ns = start + dur;
	call->row = row;
	call->name = ws_model_text(l->m, ws_value(t, WS_COL_python_call_name, row));
	name = l->m->texts[call->name];
	if (name.len > len && !memcmp(name.ptr, prefix, len))
		call->name = ws_intern_text(l->m, (struct ws_bytes){(const char *)name.ptr + len,
		                                                    name.len - len});

	call->source = ws_model_text(l->m, ws_value(t, WS_COL_python_call_source, row));
	call->thread = ws_thread_number(l, ws_value(t, WS_COL_python_call_thread, row), 0);
	return WS_OK;
}

/* --- lines of an import --- */

/* Is it a file of PyTorch or of Python's own library, whose functions are not the program's?
 * PyTorch leaves out the folder of a file that Python finds by its path. */
static bool is_foreign(struct ws_bytes file)
{
	static const char *const begins[] = {"torch/",       "<",
	                                     "threading.py", "contextlib.py",
	                                     "functools.py", "runpy.py",
	                                     "importlib/",   "multiprocessing/"};
	static const char library[] = "/lib/python3", packages[] = "-packages/",
	                  torch[] = "/torch/";
	const bool is_package = memmem(file.ptr, file.len, packages, sizeof(packages) - 1);

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (ws_bytes_begin(file, begins[i]))
			return true;
	return memmem(file.ptr, file.len, torch, sizeof(torch) - 1) ||
	       (!is_package && memmem(file.ptr, file.len, library, sizeof(library) - 1));
}

/* "model.py:5 forward" of the function "model.py(5): forward"; 0: not one of the program. */
static uint32_t source_of_function(struct ws_model *m, uint32_t text)
{
	const struct ws_bytes name = m->texts[text];
	const char *packages, *file = name.ptr, *end = file + name.len;
	const char *behind = memmem(file, name.len, "): ", 3), *open = behind;
	struct ws_buf line = {0};

	if (!behind)
		return 0;
	while (open > file && *open != '(')
		open--;
	if (*open != '(' || is_foreign((struct ws_bytes){file, (size_t)(open - file)}))
		return 0;
	packages = memmem(file, (size_t)(open - file), "-packages/", 10);
	file = packages ? packages + 10 : file;
	ws_buf_put(&line, file, (size_t)(open - file));
	ws_buf_put(&line, ":", 1);
	ws_buf_put(&line, open + 1, (size_t)(behind - open - 1));
	ws_buf_put(&line, " ", 1);
	ws_buf_put(&line, behind + 3, (size_t)(end - behind - 3));
	uint32_t source = ws_intern_text(m, (struct ws_bytes){line.data, line.len});
	ws_buf_free(&line);
	return source;
}

/* Sets the sources that are unknown to the innermost function around each start, but not those of
 * backward operations: forward is NULL or has their forward operations. All are ordered by thread,
 * then start. */
static void find_sources(const struct ws_module_call *functions, size_t nfunctions,
                         const uint32_t *thread, const int64_t *start_ns, const uint32_t *forward,
                         uint32_t *source, size_t n)
{
	struct ws_arena temp = {0};
	size_t *open, nopen = 0, next = 0;

	WS_NEW(&temp, open, nfunctions);
	for (size_t i = 0; i < n; i++) {
		for (; next < nfunctions && (functions[next].thread < thread[i] ||
		                             (functions[next].thread == thread[i] &&
		                              functions[next].start_ns <= start_ns[i]));
		     next++) {
			while (nopen &&
			       (functions[open[nopen - 1]].thread != functions[next].thread ||
			        functions[open[nopen - 1]].end_ns <= functions[next].start_ns))
				nopen--;
			open[nopen++] = next;
		}
		while (nopen && (functions[open[nopen - 1]].thread != thread[i] ||
		                 functions[open[nopen - 1]].end_ns <= start_ns[i]))
			nopen--;
		if (nopen && !source[i] && !(forward && forward[i] != WS_NONE))
			source[i] = functions[open[nopen - 1]].source;
	}
	ws_arena_free(&temp);
}

/* A profile of PyTorch that was recorded with_stack has functions instead of lines. */
static enum ws_status find_imported_sources(struct ws_loader *l, const struct ws_column_data *t,
                                            struct ws_module_call *modules, size_t nmodules,
                                            struct ws_err *err)
{
	struct ws_cpu_ops *ops = &l->m->cpu_ops;
	struct ws_arena temp = {0};
	uint32_t *thread, *source;
	enum ws_status status = WS_OK;
	size_t n = 0;

	struct ws_module_call *functions = ws_arena_array(&temp, t->rows, sizeof(*functions));
	WS_NEW(&temp, thread, nmodules);
	WS_NEW(&temp, source, nmodules);
	int64_t *start_ns = ws_arena_array(&temp, nmodules, sizeof(*start_ns));
	for (uint64_t i = 0; i < t->rows && status == WS_OK; i++) {
		const uint32_t line = source_of_function(
		        l->m, ws_model_text(l->m, ws_value(t, WS_COL_python_call_name, i)));

		if (!line)
			continue;
		status = take_call(l, t, i, &functions[n], err);
		functions[n++].source = line;
	}
	ws_sort(functions, n, sizeof(*functions), by_thread_and_begin);
	for (size_t i = 0; i < nmodules; i++) {
		thread[i] = modules[i].thread;
		start_ns[i] = modules[i].start_ns;
		source[i] = modules[i].source;
	}
	find_sources(functions, n, thread, start_ns, NULL, source, nmodules);
	for (size_t i = 0; i < nmodules; i++)
		modules[i].source = source[i];
	find_sources(functions, n, ops->tree.thread, ops->tree.start_ns, ops->forward, ops->source,
	             ops->tree.n);
	ws_arena_free(&temp);
	return status;
}

static void put_event(struct ws_module_event *events, size_t *n, const struct ws_module_call *call,
                      bool begins)
{
	events[*n] = (struct ws_module_event){
	        .time_ns = begins ? call->start_ns : call->end_ns,
	        .position = (uint32_t)*n,
	        .thread = call->thread,
	        .name = begins ? call->name : WS_TEXT_EMPTY,
	        .source = call->source,
	        .begins = begins,
	};
	++*n;
}

static int by_time(const void *pa, const void *pb)
{
	const struct ws_module_event *a = pa, *b = pb;

	WS_ORDER_BY(a->time_ns, b->time_ns);
	return (a->position > b->position) - (a->position < b->position);
}

enum ws_status ws_load_module_events(struct ws_loader *l, struct ws_arena *arena,
                                     struct ws_module_event **out, size_t *n, struct ws_err *err)
{
	struct ws_module_call *calls, *all;
	struct ws_op_copy *copies;
	int64_t *start_ns;
	size_t ncalls = 0, with_copies;
	struct ws_arena temp = {0};

	struct ws_column_data t;

	*n = 0;
	enum ws_status status = WS_OK;
	WS_FORWARD(ws_load_kind(l, WS_KIND_PYTHON_CALL, &t, err));
	WS_NEW(&l->temp, calls, t.rows);
	l->m->python_calls = t.rows;
	for (uint64_t i = 0; i < t.rows && status == WS_OK; i++)
		if (t.columns[WS_COL_python_call_module].present &&
		    (int64_t)ws_value(&t, WS_COL_python_call_module, i) >= 0) {
			status = take_call(l, &t, i, &calls[ncalls], err);
			if (status == WS_OK)
				ws_extend_time(l->m, calls[ncalls].start_ns, calls[ncalls].end_ns);
			ncalls++;
		}
	ws_sort(calls, ncalls, sizeof(*calls), by_thread_and_begin);
	if (t.rows > ncalls)
		WS_THEN(status, find_imported_sources(l, &t, calls, ncalls, err));
	for (uint32_t i = 0; i < l->m->cpu_ops.tree.n; i++)
		if (!l->m->cpu_ops.source[i] && l->m->cpu_ops.forward[i] != WS_NONE)
			l->m->cpu_ops.source[i] = l->m->cpu_ops.source[l->m->cpu_ops.forward[i]];
	ws_column_data_release(&t);
	WS_FAIL_IF(status == WS_OK && ncalls >= WS_NONE / 2, err, NO_MEMORY,
	           "the trace has more calls of modules than a report handles");
	WS_FORWARD(status);
	/* Calls of modules in the root's, of steps that recorded only that. */
	uint32_t *order = ws_arena_array(&temp, ncalls, sizeof(*order));
	WS_NEW(&temp, start_ns, ncalls);
	for (size_t i = 0; i < ncalls; i++)
		start_ns[i] = calls[i].start_ns;
	ws_order_identity(order, ncalls);
	ws_order_by(order, start_ns, ncalls);
	with_copies = ws_op_copies(l, order, start_ns, ncalls, &temp, &copies);
	if (with_copies > ncalls) {
		WS_NEW(&l->m->arena, all, with_copies);
		memcpy(all, calls, ncalls * sizeof(*all));
		calls = all;
	}
	for (size_t i = ncalls; i < with_copies; i++) {
		struct ws_module_call call = calls[copies[i].row];
		bool is_there;

		call.start_ns =
		        ws_op_copy_time(l, copies[i].period, call.thread, call.start_ns, &is_there);
		call.end_ns = ws_op_copy_time(l, copies[i].period, call.thread, call.end_ns, NULL);
		if (!is_there)
			calls[ncalls++] = call;
	}

	ws_arena_free(&temp);
	ws_sort(calls, ncalls, sizeof(*calls), by_thread_and_begin);
	WS_NEW(arena, *out, 2 * ncalls);
	/* Open calls were moved to the front of the list, which has been read. */
	struct ws_module_event *events = *out;
	size_t open = 0;
	for (size_t j = 0; j < ncalls; j++) {
		struct ws_module_call call = calls[j];

		while (open && (calls[open - 1].thread != call.thread ||
		                calls[open - 1].end_ns <= call.start_ns))
			put_event(events, n, &calls[--open], false);
		if (open && calls[open - 1].end_ns < call.end_ns)
			call.end_ns = calls[open - 1].end_ns;
		put_event(events, n, &call, true);
		calls[open++] = call;
	}
	while (open)
		put_event(events, n, &calls[--open], false);
	ws_sort(*out, *n, sizeof(**out), by_time);
	return WS_OK;
}
