#include "kernels/exec/exec.h"

/* Does it live from its first write to its last use only? */
static bool memory_is_transient(const struct ws_tensor *t)
{
	return t->role == WS_ROLE_ACTIVATION || t->role == WS_ROLE_GRAD;
}

struct walk {
	const struct ws_graph *graph;
	struct ws_tensor **alive; /* in the order of their places */
	int count;
	bool *is_alive; /* by tensor id */
	struct ws_memory_plan plan;
	uint64_t now_bytes;
};

static uint64_t place_bytes(const struct ws_tensor *t)
{
	return (t->size_bytes + WS_MEMORY_ALIGN - 1) / WS_MEMORY_ALIGN * WS_MEMORY_ALIGN;
}

static void take_memory(struct walk *w, struct ws_tensor *t)
{
	uint64_t end, hole_begin = 0, smallest = UINT64_MAX;
	int at = w->count;

	if (w->is_alive[t->id])
		return;
	/* the smallest hole that is large enough, the first of equals; else behind all */
	for (int i = 0; i < w->count; i++) {
		uint64_t hole = w->alive[i]->offset - hole_begin;

		if (hole >= place_bytes(t) && hole < smallest) {
			smallest = hole;
			t->offset = hole_begin;
			at = i;
		}
		hole_begin = w->alive[i]->offset + place_bytes(w->alive[i]);
	}
	if (at == w->count)
		t->offset = hole_begin;
	if (__builtin_add_overflow(t->offset, place_bytes(t), &end)) {
		/* more than can be counted: it fits nowhere */
		w->plan.peak_bytes = w->plan.block_bytes = UINT64_MAX;
		return;
	}
	memmove(&w->alive[at + 1], &w->alive[at], (size_t)(w->count - at) * sizeof(*w->alive));
	w->alive[at] = t;
	w->count++;
	w->is_alive[t->id] = true;
	if (end > w->plan.block_bytes)
		w->plan.block_bytes = end;
	w->now_bytes += t->size_bytes;
	if (t->role == WS_ROLE_GRAD)
		w->plan.gradient_bytes += t->size_bytes;
}

static void give(struct walk *w, const struct ws_tensor *t)
{
	int at = 0;

	if (!w->is_alive[t->id])
		return;
	while (w->alive[at] != t)
		at++;
	w->is_alive[t->id] = false;
	w->count--;
	memmove(&w->alive[at], &w->alive[at + 1], (size_t)(w->count - at) * sizeof(*w->alive));
	w->now_bytes -= t->size_bytes;
}

struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph)
{
	struct walk w = {.graph = graph};

	w.alive = ws_xarray((size_t)graph->tensor_count, sizeof(struct ws_tensor *));
	w.is_alive = ws_xarray((size_t)graph->tensor_count, sizeof(*w.is_alive));
	for (int i = 0; i < graph->tensor_count; i++)
		graph->tensors[i]->last_use = -1;
	for (int i = 0; i < graph->op_count; i++)
		for (int j = 0; j < ws_op_touched(graph->ops[i]); j++)
			if (ws_op_touches(graph->ops[i], j))
				ws_op_touches(graph->ops[i], j)->last_use = i;

	for (int i = 0; i < w.graph->tensor_count; i++) {
		struct ws_tensor *t = w.graph->tensors[i];

		if (memory_is_transient(t))
			continue;
		take_memory(&w, t);
		w.plan.by_role_bytes[t->role] += t->size_bytes;
	}
	if (w.now_bytes > w.plan.peak_bytes)
		w.plan.peak_bytes = w.now_bytes;
	/* Walk over the ops as exec.c does, giving places to tensors instead of memory. */
	bool in_setup = true;
	for (int k = 0; k < w.graph->op_count; k++) {
		if (in_setup && w.graph->ops[k]->payload.phase != WSNVTX_PHASE_setup) {
			/* As ws_exec_step_begin() does: what set-up leaves behind goes before the
			 * first step. */
			for (int i = 0; i < w.graph->tensor_count; i++)
				if (memory_is_transient(w.graph->tensors[i]))
					give(&w, w.graph->tensors[i]);
			in_setup = false;
		}
		const struct ws_op *op = w.graph->ops[k];
		for (int j = 0; j < op->in_count; j++)
			if (!w.is_alive[op->in[j]->id])
				w.plan.unwritten = op->in[j];
		for (int j = op->in_count; j < ws_op_touched(op); j++)
			if (ws_op_touches(op, j) && memory_is_transient(ws_op_touches(op, j)))
				take_memory(&w, ws_op_touches(op, j));
		if (w.now_bytes > w.plan.peak_bytes) {
			w.plan.peak_bytes = w.now_bytes;
			w.plan.peak_op = op;
		}
		for (int j = 0; j < ws_op_touched(op); j++) {
			const struct ws_tensor *t = ws_op_touches(op, j);

			if (t && memory_is_transient(t) && !t->keep && t->last_use == k)
				give(&w, t);
		}
	}
	free(w.alive);
	free(w.is_alive);
	return w.plan;
}

/* --- choosing a backend -------------------------------------------------------------------- */

#ifndef WS_HAVE_CUDA /* in the place of kernels/cuda/ */
enum ws_status ws_backend_cuda_open(const struct ws_backend_options *options,
                                    struct ws_backend **backend, struct ws_err *err)
{
	(void)options;
	(void)backend;
	return WS_FAIL(err, ENVIRONMENT,
	               "built without the CUDA toolkit; build with "
	               "-DWARPSHEET_CUDA=ON, or use --device cpu");
}
#endif

enum ws_status ws_backend_open(const struct ws_backend_options *options, struct ws_pool *pool,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err)
{
	bool automatic = !strcmp(options->device, "auto"), cpu = !strcmp(options->device, "cpu");
	struct ws_err reason = {.text = "as asked"};

	WS_FAIL_IF(!automatic && !cpu && strcmp(options->device, "cuda"), err, USAGE,
	           "--device %s: it is auto, cuda or cpu", options->device);
	if (!cpu) {
		enum ws_status status = ws_backend_cuda_open(options, backend, &reason);
		if (status == WS_OK) {
			snprintf(why, why_size, "device cuda (%s; %s): %s", (*backend)->device,
			         (*backend)->libraries, automatic ? "a GPU answers" : "as asked");
			return WS_OK;
		}
		WS_FAIL_IF(status == WS_USAGE, err, USAGE, "%s", reason.text);
		WS_FAIL_IF(!automatic, err, ENVIRONMENT, "--device cuda: %s", reason.text);
	}
	*backend = ws_backend_cpu_open(pool, options->limit_bytes);
	snprintf(why, why_size, "device cpu (reference, %d threads): %s", ws_pool_threads(pool),
	         reason.text);
	return WS_OK;
}

void ws_backend_close(struct ws_backend *backend)
{
	if (backend)
		backend->ops->close(backend);
}

/* --- the rule of first values -------------------------------------------------------------- */

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values)
{
	int parts = t->parts ? t->parts : 1;

	values->t = t;
	values->part_count = t->count / parts;
	for (int i = 0; i < parts; i++)
		values->rng[i] = ws_rng_stream(seed, t->parts ? t->part[i] : t->name);
}

double ws_first_value(const struct ws_first_values *values, int64_t i)
{
	const struct ws_tensor *t = values->t;
	const struct ws_rng *rng;

	if (t->init.kind == WS_INIT_ROPE_TABLE) {
		int64_t pairs = t->shape.dim[2], time = i / pairs % t->shape.dim[1],
		        pair = i % pairs;
		double angle = (double)time * pow(t->init.value, -(double)pair / (double)pairs);

		return i < t->count / 2 ? cos(angle) : sin(angle);
	}
	if (t->channels_last) {
		/* the place of element i of a filter [k, r, s, c] in [k, c, r, s], whose order it
		 * is drawn in. */
		int64_t channels = t->shape.dim[3], window = t->shape.dim[1] * t->shape.dim[2];
		int64_t k = i / (window * channels), rest = i % (window * channels);

		i = (k * channels + rest % channels) * window + rest / channels;
	}
	rng = &values->rng[i / values->part_count];
	uint64_t number = (uint64_t)(i % values->part_count);
	switch (t->init.kind) {
	case WS_INIT_TRUNC_NORMAL:
		return t->init.value * ws_rng_normal(rng, number, WS_INIT_CUT);
	case WS_INIT_NORMAL:
		return t->init.value * ws_rng_normal(rng, number, HUGE_VAL);
	case WS_INIT_UNIFORM:
		return t->init.value * (2 * ws_rng_uniform(rng, number) - 1);
	default:
		return t->init.value;
	}
}

/* --- running ------------------------------------------------------------------------------- */

/* Ops of a phase from one read by the host to the next, which ran once. */
struct segment {
	int first;       /* index of its first op */
	void *recording; /* the backend's; NULL: not recorded yet */
};

struct ws_exec {
	struct ws_graph *graph;
	struct ws_backend *backend;
	uint64_t counted_bytes;      /* the device_memory_bytes emitted last */
	uint64_t counted_peak_bytes; /* likewise the peak */
	struct ws_scope **scopes;    /* open NVTX ranges of the phase, outermost first */
	int scope_depth;
	size_t scope_capacity;
	int64_t skipped; /* ops of the last phase that were not run */
	struct segment *segments;
	int segment_count;
	size_t segment_capacity;
};

/* Tensors always have their places; the counter has the bytes of the live tensors of a step. */
static void set_alive(struct ws_exec *exec, struct ws_tensor *t, bool is_alive)
{
	struct ws_backend *backend = exec->backend;

	if (t->is_alive == is_alive)
		return;
	t->is_alive = is_alive;
	backend->allocated_bytes += is_alive ? t->size_bytes : -t->size_bytes;
	if (backend->allocated_bytes > backend->peak_bytes)
		backend->peak_bytes = backend->allocated_bytes;
}

/* Called at the borders of scopes: a counter for each op would outweigh the ops in a trace. */
static void emit_memory(struct ws_exec *exec)
{
	const struct ws_backend *backend = exec->backend;

	if (backend->allocated_bytes != exec->counted_bytes)
		wsnvtx_counter("device_memory_bytes", (int64_t)backend->allocated_bytes);
	if (backend->peak_bytes != exec->counted_peak_bytes)
		wsnvtx_counter("device_memory_peak_bytes", (int64_t)backend->peak_bytes);
	exec->counted_bytes = backend->allocated_bytes;
	exec->counted_peak_bytes = backend->peak_bytes;
}

enum ws_status ws_exec_create(struct ws_graph *graph, struct ws_backend *backend,
                              struct ws_exec **exec, struct ws_err *err)
{
	struct ws_backend_plan plan = {.ops = graph->ops, .op_count = graph->op_count};
	void *block;

	WS_FORWARD(ws_graph_check(graph, err));
	WS_FAIL_IF(backend->allocated_bytes, err, BUG, "a backend serves one session at a time");
	struct ws_memory_plan memory = ws_memory_plan(graph);
	WS_FAIL_IF(memory.unwritten, err, BUG, "tensor %s is read before it is written",
	           memory.unwritten->name);
	plan.block_bytes = memory.block_bytes;
	WS_FORWARD(backend->ops->prepare(backend, &plan, &block, err));
	*exec = ws_xarray(1, sizeof(**exec));
	(*exec)->graph = graph;
	(*exec)->backend = backend;
	for (int i = 0; i < graph->tensor_count; i++)
		graph->tensors[i]->data = (char *)block + graph->tensors[i]->offset;
	return WS_OK;
}

void ws_exec_destroy(struct ws_exec *exec)
{
	if (!exec)
		return;
	for (int i = 0; i < exec->graph->tensor_count; i++)
		set_alive(exec, exec->graph->tensors[i], false);
	for (int i = 0; i < exec->segment_count; i++)
		if (exec->segments[i].recording)
			exec->backend->ops->forget(exec->backend, exec->segments[i].recording);
	free(exec->segments);
	free(exec->scopes);
	free(exec);
}

/* --- first values -------------------------------------------------------------------- */

#define INIT_CHUNK ((int64_t)1 << 20) /* elements made on the host at a time */
#define INIT_GRAIN ((int64_t)1 << 14)

struct init_chunk {
	struct ws_first_values rule;
	int64_t first, count;
	double *values;
	unsigned char *encoded;
};

static void init_item(void *arg, int64_t item)
{
	struct init_chunk *c = arg;
	int64_t first = item * INIT_GRAIN;
	int64_t end = first + INIT_GRAIN < c->count ? first + INIT_GRAIN : c->count;
	enum ws_dtype dtype = c->rule.t->dtype;

	for (int64_t i = first; i < end; i++)
		c->values[i] = ws_first_value(&c->rule, c->first + i);
	ws_dtype_encode(dtype, c->values + first, c->encoded + (size_t)first * ws_dtype_size(dtype),
	                end - first);
}

enum ws_status ws_exec_init(struct ws_exec *exec, struct ws_pool *pool, uint64_t seed,
                            struct ws_err *err)
{
	struct init_chunk chunk = {0};
	enum ws_status status = WS_OK;

	chunk.values = ws_xmalloc(INIT_CHUNK * sizeof(*chunk.values));
	chunk.encoded = ws_xmalloc(INIT_CHUNK * sizeof(double));
	for (int i = 0; i < exec->graph->tensor_count && status == WS_OK; i++) {
		struct ws_tensor *t = exec->graph->tensors[i];

		if (memory_is_transient(t))
			continue;
		set_alive(exec, t, true);
		if (t->init.kind == WS_INIT_NONE)
			continue;
		ws_first_values(t, seed, &chunk.rule);
		for (chunk.first = 0; chunk.first < t->count && status == WS_OK;
		     chunk.first += INIT_CHUNK) {
			const uint64_t element_bytes = ws_dtype_size(t->dtype);
			const int64_t left = t->count - chunk.first;

			chunk.count = left < INIT_CHUNK ? left : INIT_CHUNK;
			ws_pool_run(pool, (chunk.count + INIT_GRAIN - 1) / INIT_GRAIN, init_item,
			            &chunk);
			status = exec->backend->ops->upload(exec->backend, t->data,
			                                    (uint64_t)chunk.first * element_bytes,
			                                    chunk.encoded,
			                                    (uint64_t)chunk.count * element_bytes,
			                                    err);
		}
	}
	emit_memory(exec);
	free(chunk.values);
	free(chunk.encoded);
	return status;
}

/* --- phases -------------------------------------------------------------------------- */

void ws_exec_step_begin(struct ws_exec *exec)
{
	for (int i = 0; i < exec->graph->tensor_count; i++)
		if (memory_is_transient(exec->graph->tensors[i]))
			set_alive(exec, exec->graph->tensors[i], false);
	emit_memory(exec);
}

/* Close and open NVTX ranges until those open are target and its parents. */
static void enter_scope(struct ws_exec *exec, struct ws_scope *target)
{
	int depth = target ? target->depth + 1 : 0, same = 0;
	struct ws_scope *scope = target;

	WS_GROW(exec->scopes, (size_t)depth, exec->scope_capacity);
	while (scope && scope->depth >= exec->scope_depth)
		scope = scope->parent;
	while (scope && exec->scopes[scope->depth] != scope)
		scope = scope->parent;
	same = scope ? scope->depth + 1 : 0;
	if (exec->scope_depth > same || depth > same)
		emit_memory(exec);
	for (; exec->scope_depth > same; exec->scope_depth--)
		wsnvtx_pop();
	for (scope = target; scope && scope->depth >= same; scope = scope->parent)
		exec->scopes[scope->depth] = scope;
	for (; exec->scope_depth < depth; exec->scope_depth++)
		wsnvtx_push(exec->scopes[exec->scope_depth]->name);
}

/* Ops first … end - 1, each in its ranges, or as the backend records them. */
static enum ws_status run_ops(struct ws_exec *exec, int first, int end, bool records,
                              struct ws_err *err)
{
	for (int i = first; i < end; i++) {
		const struct ws_op *op = exec->graph->ops[i];

		for (int j = op->in_count; j < ws_op_touched(op); j++)
			if (ws_op_touches(op, j))
				set_alive(exec, ws_op_touches(op, j), true);
		if (!records) { /* no ranges while recording: the ops do not run now */
			enter_scope(exec, op->scope);
			wsnvtx_push_op(op->message, &op->payload);
		}
		enum ws_status status = exec->backend->ops->run(exec->backend, op, err);
		if (!records)
			wsnvtx_pop();
		WS_FORWARD(status);
		for (int k = 0; k < ws_op_touched(op); k++) {
			struct ws_tensor *t = ws_op_touches(op, k);

			if (t && memory_is_transient(t) && !t->keep && t->last_use == i)
				set_alive(exec, t, false);
		}
	}
	return WS_OK;
}

static enum ws_status record(struct ws_exec *exec, struct segment *segment, int end,
                             struct ws_err *err)
{
	const struct ws_backend_ops *ops = exec->backend->ops;
	void *recording = NULL;

	WS_FORWARD(ops->record_begin(exec->backend, err));
	enum ws_status status = run_ops(exec, segment->first, end, true, err);
	/* recording ends in any case; the first error is reported */
	enum ws_status ended =
	        ops->record_end(exec->backend, &recording, status == WS_OK ? err : NULL);
	WS_THEN(status, ended);
	if (status != WS_OK) {
		if (ended == WS_OK)
			ops->forget(exec->backend, recording);
		return status;
	}
	segment->recording = recording;
	return ops->replay(exec->backend, recording, err);
}

/*
 * The first time a segment runs as it is, so that its kernels are loaded: none can be while they
 * are recorded. The second time it is recorded, then replayed. That is a later step for the update,
 * where the first steps overflowed.
 */
static enum ws_status run_segment(struct ws_exec *exec, int first, int end, struct ws_err *err)
{
	struct segment *segment = NULL;

	for (int i = 0; i < exec->segment_count && !segment; i++)
		if (exec->segments[i].first == first)
			segment = &exec->segments[i];
	if (segment && segment->recording)
		return exec->backend->ops->replay(exec->backend, segment->recording, err);
	if (!segment && exec->backend->records) {
		WS_GROW(exec->segments, (size_t)exec->segment_count + 1, exec->segment_capacity);
		exec->segments[exec->segment_count++] = (struct segment){.first = first};
	}
	if (!segment)
		return run_ops(exec, first, end, false, err);
	wsnvtx_push("record for replay");
	enum ws_status status = record(exec, segment, end, err);
	wsnvtx_pop();
	return status;
}

enum ws_status ws_exec_phase(struct ws_exec *exec, enum wsnvtx_phase phase, struct ws_err *err)
{
	const struct ws_graph *graph = exec->graph;
	enum ws_status status = WS_OK;
	int end;

	exec->skipped = 0;
	for (int i = 0; i < graph->op_count && status == WS_OK; i = end) {
		bool set = false;

		end = i + 1;
		if (graph->ops[i]->payload.phase != phase)
			continue;
		/* the ops that run or not for the same reason */
		while (end < graph->op_count && graph->ops[end]->payload.phase == phase &&
		       graph->ops[end]->unless == graph->ops[i]->unless)
			end++;
		/* the host waits for a flag of the device, to decide what to run next */
		if (graph->ops[i]->unless) {
			double value = 0;

			wsnvtx_push("read by the host");
			status = ws_exec_read(exec, graph->ops[i]->unless, &value, err);
			wsnvtx_pop();
			set = value != 0;
		}
		if (status != WS_OK)
			break;
		if (set)
			exec->skipped += end - i;
		else
			status = run_segment(exec, i, end, err);
	}
	enter_scope(exec, NULL);
	return status;
}

int64_t ws_exec_skipped(const struct ws_exec *exec)
{
	return exec->skipped;
}

/* --- host access ----------------------------------------------------------------------- */

enum ws_status ws_exec_upload(struct ws_exec *exec, struct ws_tensor *t, const void *host,
                              struct ws_err *err)
{
	return exec->backend->ops->upload(exec->backend, t->data, 0, host, t->size_bytes, err);
}

enum ws_status ws_exec_write(struct ws_exec *exec, struct ws_tensor *t, const double *values,
                             struct ws_err *err)
{
	void *encoded = ws_xmalloc(t->size_bytes);

	ws_dtype_encode(t->dtype, values, encoded, t->count);
	enum ws_status status = ws_exec_upload(exec, t, encoded, err);
	free(encoded);
	return status;
}

enum ws_status ws_exec_read(struct ws_exec *exec, const struct ws_tensor *t, double *values,
                            struct ws_err *err)
{
	void *encoded = ws_xmalloc(t->size_bytes);

	enum ws_status status = exec->backend->ops->download(exec->backend, t->data, 0, encoded,
	                                                     t->size_bytes, err);
	if (status == WS_OK)
		ws_dtype_decode(t->dtype, encoded, values, t->count);
	free(encoded);
	return status;
}

enum ws_status ws_exec_draw_images(struct ws_exec *exec, const struct ws_image_batch *batch,
                                   const struct ws_plane *planes, struct ws_tensor *t,
                                   struct ws_err *err)
{
	if (exec->backend->ops->draw_images)
		return exec->backend->ops->draw_images(exec->backend, batch, planes, t, err);
	double *images = ws_xarray((size_t)t->count, sizeof(*images));
	ws_data_images(batch, planes, images);
	enum ws_status status = ws_exec_write(exec, t, images, err);
	free(images);
	return status;
}

/* --- data ------------------------------------------------------------------------------------ */

#define LABEL_MAX 0.8

/* A number in ±1. */
static double draw(const struct ws_rng *rng, uint64_t n)
{
	return 2 * ws_rng_uniform(rng, n) - 1;
}

void ws_data_image_planes(uint64_t seed, int64_t step, const struct ws_image_batch *batch,
                          struct ws_plane *planes, double *labels)
{
	for (int64_t n = 0; n < batch->n; n++) {
		char name[64];
		int64_t class = 0;
		double scale = 1;

		snprintf(name, sizeof(name), "image %lld %lld", (long long)step, (long long)n);
		struct ws_rng rng = ws_rng_stream(seed, name);
		if (batch->classes == 1)
			labels[n] = scale = LABEL_MAX * draw(&rng, 0);
		else
			labels[n] = (double)(class = (int64_t)(ws_rng_bits(&rng, 0) %
			                                       (uint64_t)batch->classes));
		for (int64_t c = 0; c < batch->c; c++) {
			struct ws_plane *plane = &planes[n * batch->c + c];

			snprintf(name, sizeof(name), "image class %lld channel %lld",
			         (long long)class, (long long)c);
			struct ws_rng pattern = ws_rng_stream(seed, name);
			*plane = (struct ws_plane){
			        .level = draw(&pattern, 0),
			        .amplitude = 0.5 + 0.5 * ws_rng_uniform(&pattern, 1),
			        .turn_row = 1.5 * draw(&pattern, 2),
			        .turn_col = 1.5 * draw(&pattern, 3),
			        .phase = 3 * draw(&pattern, 4),
			        .noise = rng,
			        .scale = scale,
			        .first = 1 + (uint64_t)(c * batch->h * batch->w),
			};
		}
	}
}

void ws_data_images(const struct ws_image_batch *batch, const struct ws_plane *planes,
                    double *images)
{
	int64_t pixels = batch->h * batch->w;

	for (int64_t n = 0; n < batch->n; n++)
		for (int64_t c = 0; c < batch->c; c++) {
			const struct ws_plane *plane = &planes[n * batch->c + c];
			double *image = images + n * batch->c * pixels +
			                (batch->layout == WS_LAYOUT_NCHW ? c * pixels : c);
			int64_t step = batch->layout == WS_LAYOUT_NCHW ? 1 : batch->c;

			for (int64_t h = 0; h < batch->h; h++) {
				struct ws_plane_pen pen = ws_plane_row(plane, h);

				for (int64_t i = h * batch->w; i < (h + 1) * batch->w; i++)
					image[i * step] = ws_plane_pixel(plane, &pen, i);
			}
		}
}

/* --- tokens -------------------------------------------------------------------------------- */

#define FREQUENT_TOKENS 97 /* that the rule of the language is about, at most */

void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y)
{
	int64_t frequent = batch->vocab < FREQUENT_TOKENS ? batch->vocab : FREQUENT_TOKENS;

	for (int64_t b = 0; b < batch->n; b++) {
		char name[64];

		snprintf(name, sizeof(name), "tokens %lld %lld", (long long)step, (long long)b);
		struct ws_rng rng = ws_rng_stream(seed, name);
		int64_t token = (int64_t)(ws_rng_bits(&rng, 0) % (uint64_t)frequent);
		for (int64_t t = 0; t < batch->context; t++) {
			x[b * batch->context + t] = (int32_t)token;

			/* The token after `token`, number t of its sequence. frequent: tokens that
			 * the rule is about. */
			uint64_t bits = ws_rng_bits(&rng, (uint64_t)t + 1);

			token = bits % 4 ? (5 * token + 17) % frequent
			                 : (int64_t)((bits >> 2) % (uint64_t)batch->vocab);
			y[b * batch->context + t] = (int32_t)token;
		}
	}
}
