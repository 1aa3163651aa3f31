/*
 * What ran in the samples of a recording: operations in launch order, ranges,
 * classes, copies.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/names.h"
#include "report/diff/reader.h"
#include "report/tables/tables.h"

struct work {
	struct ws_reader *c;
	uint32_t *text_of;  /* text of the model -> text of the comparison; WS_NONE = not yet */
	uint32_t *sample;   /* range -> sample, WS_NONE */
	uint32_t *instance; /* range -> its number at its place in its sample */
	uint32_t *order;    /* compared kernels by sample, then launch */
	size_t norder;
	uint32_t *kernel_sample;
	uint32_t *item_of_range, *item_of_op; /* WS_NONE = none yet */
	size_t items_capacity;
	uint32_t unclassified;
};

static void work_release(struct work *w)
{
	free(w->text_of);
	free(w->sample);
	free(w->instance);
	free(w->order);
	free(w->kernel_sample);
	free(w->item_of_range);
	free(w->item_of_op);
}

static uint32_t *array_of(size_t n, int fill)
{
	uint32_t *a = calloc(n + 1, sizeof(*a));

	if (a)
		memset(a, fill, (n + 1) * sizeof(*a));
	return a;
}

static enum ws_status work_open(struct work *w, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;

	w->text_of = array_of(m->ntexts, 0xff);
	w->sample = array_of(m->ranges.n, 0xff);
	w->instance = array_of(m->ranges.n, 0);
	w->order = array_of(m->kernels.n, 0);
	w->kernel_sample = array_of(m->kernels.n, 0xff);
	w->item_of_range = array_of(m->ranges.n, 0xff);
	w->item_of_op = array_of(m->cpu_ops.tree.n, 0xff);
	if (!w->text_of || !w->sample || !w->instance || !w->order || !w->kernel_sample ||
	    !w->item_of_range || !w->item_of_op)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	return ws_texts_add_str(&w->c->names->texts, "(unclassified)", &w->unclassified, err);
}

/* A text of the model among those of the comparison; 0 stays 0. */
static enum ws_status shared_text(struct work *w, uint32_t text, uint32_t *out, struct ws_err *err)
{
	*out = 0;
	if (!text)
		return WS_OK;
	if (w->text_of[text] == WS_NONE)
		WS_FORWARD(ws_texts_add(&w->c->names->texts, w->c->m->texts[text],
		                        &w->text_of[text], err));
	*out = w->text_of[text];
	return WS_OK;
}

/* The sample of a step; 0 for everything where the whole trace is the sample; WS_NONE. */
static uint32_t sample_of_step(const struct ws_reader *c, uint32_t step)
{
	if (!c->r->has_steps)
		return 0;
	return step == WS_NONE ? WS_NONE : c->sample_of_step[step];
}

/* --- ranges ------------------------------------------------------------------------------ */

/* instance[], and the ranges of each sample in the order of their begin. */
static enum ws_status number_ranges(struct work *w, uint32_t *order, struct ws_err *err)
{
	const struct ws_ranges *ranges = &w->c->m->ranges;
	struct ws_recording *r = w->c->r;
	uint32_t *count = array_of(w->c->names->nplaces, 0);
	size_t n = 0;
	enum ws_status status = count ? WS_OK : WS_FAIL_MEMORY(err, "comparing the traces");

	for (uint32_t i = 0; i < ranges->n; i++) {
		w->sample[i] = sample_of_step(w->c, w->c->m->range_step[i]);
		if (w->sample[i] != WS_NONE)
			order[n++] = i;
	}
	WS_THEN(status, ws_order_by(order, ranges->start_ns, n, err));
	WS_THEN(status, ws_order_by_u32(order, w->sample, n, ranges->n, err));
	for (size_t i = 0; i < n && status == WS_OK; i++) {
		uint32_t range = order[i], place = w->c->place_of_path[ranges->path[range]];

		if (i && w->sample[range] != w->sample[order[i - 1]])
			memset(count, 0, w->c->names->nplaces * sizeof(*count));
		w->instance[range] = count[place]++;
	}
	r->nranges = n;
	free(count);
	return status;
}

static void add_range_times(const struct work *w, int64_t *gpu_ns)
{
	const struct ws_model *m = w->c->m;
	const struct ws_kernels *k = &m->kernels;

	for (size_t i = 0; i < k->n; i++)
		if (k->range[i] != WS_NONE)
			gpu_ns[k->range[i]] += k->dur_ns[i];
	for (uint32_t r = (uint32_t)m->ranges.n; r-- > 0;)
		if (m->ranges.parent[r] != WS_NONE)
			gpu_ns[m->ranges.parent[r]] += gpu_ns[r];
	/* after the sums over parents: a crossing range's own parents are listed as well */
	for (size_t i = 0; i < k->n && k->crossing; i++)
		for (uint32_t c = k->crossing[i]; c != WS_NONE;
		     c = m->attribution.crossings[c].next)
			gpu_ns[m->attribution.crossings[c].range] += k->dur_ns[i];
}

static enum ws_status read_ranges(struct work *w, struct ws_err *err)
{
	const struct ws_ranges *ranges = &w->c->m->ranges;
	struct ws_recording *r = w->c->r;
	uint32_t *order = array_of(ranges->n, 0);
	int64_t *gpu_ns = calloc(ranges->n + 1, sizeof(*gpu_ns));
	enum ws_status status = order && gpu_ns ? number_ranges(w, order, err)
	                                        : WS_FAIL_MEMORY(err, "comparing the traces");

	r->ranges = calloc(r->nranges + 1, sizeof(*r->ranges));
	if (status == WS_OK && !r->ranges)
		status = WS_FAIL_MEMORY(err, "comparing the traces");
	if (status == WS_OK)
		add_range_times(w, gpu_ns);
	for (size_t i = 0; i < r->nranges && status == WS_OK; i++) {
		uint32_t range = order[i];
		struct ws_sample *s = &r->samples[w->sample[range]];

		if (!s->nranges++)
			s->first_range = i;
		r->ranges[i] = (struct ws_range_time){w->c->place_of_path[ranges->path[range]],
		                                      w->instance[range], gpu_ns[range]};
	}
	free(order);
	free(gpu_ns);
	return status;
}

/* Which dtypes the operations of each place read, at most 64 different ones. */
static enum ws_status read_dtypes(struct work *w, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_recording *r = w->c->r;
	uint64_t *bits = calloc(m->ranges.npaths + 1, sizeof(*bits));
	uint32_t text[64];
	size_t known = 0, pairs = 0;
	enum ws_status status = bits ? WS_OK : WS_FAIL_MEMORY(err, "comparing the traces");

	for (uint32_t i = 0; i < m->ranges.n && bits; i++) {
		const struct ws_op_facts *op = ws_range_op(m, i);
		size_t bit = 0;

		if (!(m->range_marks[i] & WS_OP_COUNTED) || !op->dtype || w->sample[i] == WS_NONE)
			continue;
		while (bit < known && text[bit] != op->dtype)
			bit++;
		if (bit == 64)
			continue;
		if (bit == known)
			text[known++] = op->dtype;
		bits[m->ranges.path[i]] |= UINT64_C(1) << bit;
	}
	for (uint32_t p = (uint32_t)m->ranges.npaths; bits && p-- > 0;) {
		pairs += (size_t)__builtin_popcountll(bits[p]);
		if (m->ranges.paths[p].parent != WS_NONE)
			bits[m->ranges.paths[p].parent] |= bits[p];
	}
	r->dtypes = calloc(pairs + 1, sizeof(*r->dtypes));
	if (!r->dtypes)
		status = WS_FAIL_MEMORY(err, "comparing the traces");
	for (uint32_t p = 0; p < m->ranges.npaths && status == WS_OK; p++) {
		for (size_t bit = 0; bit < known && status == WS_OK; bit++) {
			struct ws_recorded_fact *pair = &r->dtypes[r->ndtypes];

			if (!(bits[p] >> bit & 1))
				continue;
			pair->key = w->c->place_of_path[p];
			status = shared_text(w, text[bit], &pair->value, err);
			r->ndtypes++;
		}
	}
	free(bits);
	return status;
}

/* --- operations -------------------------------------------------------------------------- */

/* Compared kernels by sample, then launch. One without a launch record counts from its start. */
static enum ws_status order_kernels(struct work *w, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	int64_t *launch = calloc(m->kernels.n + 1, sizeof(*launch));
	enum ws_status status;

	if (!launch)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	for (uint32_t k = 0; k < m->kernels.n; k++) {
		uint32_t call = m->kernels.call[k];

		launch[k] = call == WS_NONE ? m->kernels.start_ns[k] : m->api.start_ns[call];
		w->kernel_sample[k] = sample_of_step(w->c, ws_kernel_step(m, k));
		if (w->kernel_sample[k] != WS_NONE)
			w->order[w->norder++] = k;
	}
	status = ws_order_by(w->order, launch, w->norder, err);
	WS_THEN(status, ws_order_by_u32(w->order, w->kernel_sample, w->norder, m->kernels.n, err));
	free(launch);
	return status;
}

/* Classes in which all operations do the same thing, whatever their library calls them. */
static bool class_tells_kind(struct ws_bytes class)
{
	static const char *const telling[] = {"gemm", "conv", "attention", "softmax",  "norm",
	                                      "pool", "loss", "comm",      "embedding"};

	for (size_t i = 0; i < sizeof(telling) / sizeof(*telling); i++)
		if (ws_name_is(class, telling[i]))
			return 1;
	return 0;
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

static enum ws_status set_shape(struct work *w, const int64_t *dim, int n,
                                struct ws_work_item *item, struct ws_err *err)
{
	char text[96] = "";
	size_t len = 0;

	for (int i = 0; i < n; i++)
		if (dim[i] > 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRId64,
			                        len ? "x" : "", dim[i]);
	return ws_texts_add_str(&w->c->names->texts, text, &item->shape, err);
}

static enum ws_status set_steady_name(struct work *w, struct ws_bytes name, uint32_t *out,
                                      struct ws_err *err)
{
	char *steady = malloc(name.len + 1);
	enum ws_status status;

	if (!steady)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	status = ws_texts_add(&w->c->names->texts,
	                      (struct ws_bytes){steady, ws_name_steady(name, steady)}, out, err);
	free(steady);
	return status;
}

/* What operation the kernel belongs to: an annotated range, else a framework's. */
static enum ws_status set_operation(struct work *w, uint32_t range, uint32_t cpu_op,
                                    struct ws_work_item *item, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_texts *texts = &w->c->names->texts;

	if (range != WS_NONE) {
		const struct ws_op_facts *op = ws_range_op(m, range);
		const int64_t dim[] = {op->batch, op->m, op->n, op->k};

		WS_FORWARD(set_steady_name(w, m->texts[m->ranges.name[range]], &item->op, err));
		WS_FORWARD(shared_text(w, op->kind, &item->kind, err));
		WS_FORWARD(set_shape(w, dim, 4, item, err));
		if (!item->kind)
			item->kind = item->op;
	} else if (cpu_op != WS_NONE) {
		const struct ws_op_config *op = ws_cpu_op_config(m, cpu_op);
		const int64_t dim[] = {(int64_t)op->batch, (int64_t)op->m, (int64_t)op->n,
		                       (int64_t)op->k};

		WS_FORWARD(set_steady_name(w, m->texts[op->name], &item->op, err));
		WS_FORWARD(set_shape(w, dim, 4, item, err));
		if (!class_tells_kind(ws_texts_get(texts, item->class)))
			WS_FORWARD(ws_texts_add(texts, bare_op_name(ws_texts_get(texts, item->op)),
			                        &item->kind, err));
	}
	if (!item->kind)
		item->kind = item->class;
	return WS_OK;
}

static enum ws_status new_item(struct work *w, size_t k, uint32_t op_range, uint32_t cpu_op,
                               struct ws_work_item **out, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_recording *r = w->c->r;
	struct ws_sample *s = &r->samples[w->kernel_sample[k]];
	uint32_t range = m->kernels.range[k];
	struct ws_work_item *item;

	WS_FORWARD(WS_GROW(r->items, r->nitems + 1, w->items_capacity, err));
	if (!s->nitems++)
		s->first_item = r->nitems;
	*out = item = &r->items[r->nitems++];
	*item = (struct ws_work_item){.place = WS_NONE, .phase = (uint8_t)ws_kernel_phase(m, k)};
	if (range != WS_NONE) {
		item->place = w->c->place_of_path[m->ranges.path[range]];
		item->instance = w->instance[range];
	}
	WS_FORWARD(shared_text(w, ws_kernel_class(m, k), &item->class, err));
	if (!item->class)
		item->class = w->unclassified;
	return set_operation(w, op_range, cpu_op, item, err);
}

/* "name", then "name + other"; a name that is there already, and what is over 2 KB, is left out. */
static enum ws_status add_kernel_name(struct work *w, struct ws_work_item *item, size_t k,
                                      struct ws_err *err)
{
	struct ws_texts *texts = &w->c->names->texts;
	struct ws_bytes so_far, name;
	uint32_t text;
	char *joined;
	enum ws_status status;

	WS_FORWARD(shared_text(w, ws_kernel_name(w->c->m, k), &text, err));
	if (!item->kernels) {
		item->kernels = text;
		return WS_OK;
	}
	name = ws_texts_get(texts, text);
	so_far = ws_texts_get(texts, item->kernels);
	if (so_far.len + name.len > 2048 || !name.len ||
	    memmem(so_far.ptr, so_far.len, name.ptr, name.len))
		return WS_OK;
	joined = malloc(so_far.len + 3 + name.len);
	if (!joined)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	memcpy(joined, so_far.ptr, so_far.len);
	memcpy(joined + so_far.len, " + ", 3);
	memcpy(joined + so_far.len + 3, name.ptr, name.len);
	status = ws_texts_add(texts, (struct ws_bytes){joined, so_far.len + 3 + name.len},
	                      &item->kernels, err);
	free(joined);
	return status;
}

/* The item of the same call of an operation in this sample; WS_NONE where it has none yet. */
static uint32_t *item_slot(struct work *w, uint32_t op_range, uint32_t cpu_op)
{
	if (op_range != WS_NONE)
		return &w->item_of_range[op_range];
	return cpu_op == WS_NONE ? NULL : &w->item_of_op[cpu_op];
}

static enum ws_status add_kernel(struct work *w, size_t k, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_recording *r = w->c->r;
	uint32_t range = m->kernels.range[k];
	uint32_t op_range = range == WS_NONE ? WS_NONE : m->range_op[range];
	uint32_t cpu_op = op_range == WS_NONE ? m->kernels.op[k] : WS_NONE;
	uint32_t *slot = item_slot(w, op_range, cpu_op);
	struct ws_sample *s = &r->samples[w->kernel_sample[k]];
	struct ws_work_item *item = NULL;
	int64_t ns = m->kernels.dur_ns[k];

	if (slot && *slot != WS_NONE && s->nitems && *slot >= s->first_item) {
		item = &r->items[*slot];
	} else {
		WS_FORWARD(new_item(w, k, op_range, cpu_op, &item, err));
		if (slot)
			*slot = (uint32_t)(r->nitems - 1);
	}
	item->gpu_ns += ns;
	s->gpu_ns += ns;
	s->phase_gpu_ns[ws_kernel_phase(m, k)] += ns;
	s->kernels++;
	if (!item->nkernels++ || ns > item->longest_ns) {
		item->longest_ns = ns;
		item->tensor = m->configs[m->kernels.config[k]].tensor;
		WS_FORWARD(shared_text(w, ws_kernel_dtype(m, k), &item->dtype, err));
	}
	return add_kernel_name(w, item, k, err);
}

static enum ws_status read_items(struct work *w, struct ws_err *err)
{
	WS_FORWARD(order_kernels(w, err));
	for (size_t i = 0; i < w->norder; i++)
		WS_FORWARD(add_kernel(w, w->order[i], err));
	return WS_OK;
}

/* --- classes and copies ------------------------------------------------------------------ */

/* Kernels of each class in each sample; a kernel of an operation by its own class. */
static enum ws_status read_classes(struct work *w, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_recording *r = w->c->r;
	size_t capacity = 0;

	for (size_t i = 0; i < w->norder; i++) {
		size_t k = w->order[i], at;
		struct ws_sample *s = &r->samples[w->kernel_sample[k]];
		uint32_t class;
		uint8_t tensor;

		WS_FORWARD(shared_text(w, ws_kernel_class(m, k), &class, err));
		class = class ? class : w->unclassified;
		if (!s->nclasses)
			s->first_class = r->nclasses;
		for (at = s->first_class; at < r->nclasses && r->classes[at].class != class;)
			at++;
		if (at == r->nclasses) {
			WS_FORWARD(WS_GROW(r->classes, r->nclasses + 1, capacity, err));
			r->classes[r->nclasses++] = (struct ws_class_time){.class = class};
			s->nclasses++;
		}
		r->classes[at].kernels++;
		r->classes[at].gpu_ns += m->kernels.dur_ns[k];
		tensor = m->configs[m->kernels.config[k]].tensor;
		if (tensor == WS_TENSOR_YES)
			r->classes[at].tensor_ns += m->kernels.dur_ns[k];
		else if (tensor != WS_TENSOR_NO)
			r->classes[at].unknown_ns += m->kernels.dur_ns[k];
	}
	return WS_OK;
}

/* The sample in which a copy was asked for: by its range, else by the time of the call. */
static uint32_t sample_of_work(const struct work *w, const struct ws_work *work)
{
	const struct ws_model *m = w->c->m;
	int64_t at = work->call == WS_NONE ? work->start_ns : m->api.start_ns[work->call];
	uint32_t sample =
	        work->range == WS_NONE ? WS_NONE : sample_of_step(w->c, m->range_step[work->range]);

	if (!w->c->r->has_steps)
		return 0;
	for (uint32_t i = 0; i < w->c->r->nsamples && sample == WS_NONE; i++)
		if (at >= w->c->windows->window[i].start_ns && at < w->c->windows->window[i].end_ns)
			sample = i;
	return sample;
}

static enum ws_status read_copies(struct work *w, struct ws_err *err)
{
	const struct ws_model *m = w->c->m;
	struct ws_recording *r = w->c->r;

	r->copies = calloc(r->nsamples * WS_COPY_NAMES + 1, sizeof(*r->copies));
	if (!r->copies)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *work = &m->work[i];
		uint32_t sample = sample_of_work(w, work);
		struct ws_copy_sum *sum;

		if (sample == WS_NONE)
			continue;
		if (work->kind == WS_WORK_GRAPH) {
			r->graphs_ns += work->dur_ns;
			continue;
		}
		sum = &r->copies[sample * WS_COPY_NAMES + ws_copy_name_of(work)];
		sum->count++;
		sum->bytes += work->bytes;
		sum->without_size += !work->bytes; /* 0 is not recorded */
		sum->ns += work->dur_ns;
	}
	return WS_OK;
}

enum ws_status ws_reader_read_work(struct ws_reader *c, struct ws_err *err)
{
	struct work w = {.c = c};
	enum ws_status status = work_open(&w, err);

	WS_THEN(status, read_ranges(&w, err));
	WS_THEN(status, read_dtypes(&w, err));
	WS_THEN(status, read_items(&w, err));
	WS_THEN(status, read_classes(&w, err));
	WS_THEN(status, read_copies(&w, err));
	work_release(&w);
	return status;
}
