#include "report/analysis/relations.h"

#include <stdlib.h>
#include <string.h>

#include "report/analysis/digest.h"
#include "report/kernel_info/classify.h"
#include "report/model/copies.h"

/*
 * A relation is a list of columns, X(name, statement that puts its value, parts of a digest that it
 * is made of). docs/dev/query.md says what they mean.
 */
#define CLASSES (WS_DIGEST_PLACES | WS_DIGEST_NAMES)

/* --- cell: kernels of one configuration and place ------------------------------------------- */

static size_t count_cells(void *ctx)
{
	return ((const struct ws_relations *)ctx)->tab->digest->ncells;
}

/* The row of `path` for the path of a kernel. */
static uint32_t row_of_path(const struct ws_model *m, uint32_t path)
{
	return path == WS_PATH_NO_RANGE    ? ws_path_no_range(m)
	       : path == WS_PATH_NO_LAUNCH ? ws_path_no_launch(m)
	                                   : path;
}

#define CELL(X)                                                                                  \
	X(name, ws_put_text(out, text[k->name]), 0)                                              \
	X(short_name, ws_put_text(out, ws_model_short_name(m, k->name)), 0)                      \
	X(class, ws_put_text(out, text[ws_digest_class(m, c)]), CLASSES)                         \
	X(class_by_name, ws_put_text(out, text[k->name_class]), WS_DIGEST_NAMES)                 \
	X(class_by_range, ws_put_text(out, text[c->place.class]), WS_DIGEST_PLACES)              \
	X(direction, ws_put_text(out, text[c->place.direction]), CLASSES)                        \
	X(dtype, ws_put_text(out, text[c->place.dtype]), CLASSES)                                \
	X(tensor,                                                                                \
	  if (k->tensor != WS_TENSOR_NOT_APPLICABLE)                                             \
	          ws_put_str(out, ws_tensor_shown((enum ws_tensor)k->tensor)),                   \
	  WS_DIGEST_NAMES)                                                                       \
	X(device, ws_put_count(out, m->devices[k->device].id), 0)                                \
	X(grid_x, ws_put_count(out, k->shape.grid_x), 0)                                         \
	X(grid_y, ws_put_count(out, k->shape.grid_y), 0)                                         \
	X(grid_z, ws_put_count(out, k->shape.grid_z), 0)                                         \
	X(block_x, ws_put_count(out, k->shape.block_x), 0)                                       \
	X(block_y, ws_put_count(out, k->shape.block_y), 0)                                       \
	X(block_z, ws_put_count(out, k->shape.block_z), 0)                                       \
	X(registers, ws_put_count(out, k->shape.registers), 0)                                   \
	X(shared_bytes, ws_put_count(out, k->shape.shared_bytes), 0)                             \
	X(blocks_per_sm, if (k->has_occupancy) ws_put_real(out, k->occupancy.blocks_per_sm), 0)  \
	X(occupancy, if (k->has_occupancy) ws_put_real(out, k->occupancy.percent), 0)            \
	X(occupancy_kineto, if (k->has_occupancy) ws_put_real(out, k->occupancy.kineto_percent), \
	  0)                                                                                     \
	X(path, ws_put_int(out, row_of_path(m, c->place.path)), WS_DIGEST_PLACES)                \
	X(instances, ws_put_count(out, ws_values_count(&c->dur_ns)), 0)                          \
	X(without_time, ws_put_count(out, c->without_time), 0)                                   \
	X(total_ns, ws_put_int(out, c->total_ns), 0)                                             \
	X(tensor_ns, ws_put_int(out, k->tensor == WS_TENSOR_YES ? c->total_ns : 0),              \
	  WS_DIGEST_NAMES)                                                                       \
	X(tensor_unknown_ns,                                                                     \
	  ws_put_int(out, ws_config_tensor(k) == WS_TENSOR_UNKNOWN ? c->total_ns : 0),           \
	  WS_DIGEST_NAMES)                                                                       \
	X(times, ws_put_samples(out, &c->dur_ns), 0)                                             \
	X(in_steps, ws_put_count(out, c->in_steps), WS_DIGEST_STEPS)                             \
	X(first, ws_put_int(out, (int64_t)(c->first & INT64_MAX)), WS_DIGEST_PLACES)             \
	X(flops, if (d->flops && !d->flops_unknown[k->name]) ws_put_int(out, d->flops[k->name]), \
	  WS_DIGEST_COSTS)

static void put_cell(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_digest *d = r->tab->digest;
	const struct ws_digest_cell *c = &d->cells[row];
	const struct ws_config *k = &m->configs[c->config];
	const struct ws_bytes *text = m->texts;

	WS_PUT_COLUMN(column, CELL);
}

/* --- call: API calls of one name ------------------------------------------------------------ */

static size_t count_calls(void *ctx)
{
	const struct ws_digest *d = ((const struct ws_relations *)ctx)->tab->digest;

	return d->calls ? d->ntexts : 0;
}

/* Without "_v" and exactly four characters at the end. */
static struct ws_bytes without_version(struct ws_bytes name)
{
	const char *p = name.ptr;

	if (name.len > 6 && p[name.len - 6] == '_' && p[name.len - 5] == 'v')
		name.len -= 6;
	return name;
}

/* Every text of the trace is a row; those that are no name of a call have no calls. */
#define CALL(X)                                                     \
	X(name, ws_put_text(out, without_version(name)), 0)         \
	X(recorded_name, ws_put_copy(out, name.ptr, name.len), 0)   \
	X(calls, ws_put_count(out, ws_values_count(&c->dur_ns)), 0) \
	X(failed, ws_put_count(out, c->failed), 0)                  \
	X(total_ns, ws_put_int(out, c->total_ns), 0)                \
	X(times, ws_put_samples(out, &c->dur_ns), 0)

static void put_call(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_call_sums *c = &r->tab->digest->calls[row];
	const struct ws_bytes name = r->tab->m->texts[row];

	WS_PUT_COLUMN(column, CALL);
}

/* --- path: NVTX ranges of one path, and two for kernels in none ----------------------------- */

static size_t count_paths(void *ctx)
{
	return ((const struct ws_relations *)ctx)->tab->m->ranges.npaths + 2;
}

static void order_paths(struct ws_relations *r)
{
	const struct ws_model *m = r->tab->m;
	const size_t n = m->ranges.npaths + 2;

	if (r->paths)
		return;
	WS_NEW(&r->arena, r->paths, n);
	WS_NEW(&r->arena, r->places, n);
	ws_paths_order(&m->ranges, m->texts, r->paths);
	r->paths[n - 2] = ws_path_no_range(m);
	r->paths[n - 1] = ws_path_no_launch(m);
	for (uint32_t i = 0; i < n; i++)
		r->places[r->paths[i]] = i;
}

static void put_path_text(const struct ws_model *m, uint32_t path, struct ws_put *out)
{
	char *text;
	size_t len;

	if (path >= m->ranges.npaths) {
		ws_put_str(out, ws_path_outside(m, path));
		return;
	}
	ws_path_text(&m->ranges, path, m->texts, &text, &len);
	ws_put_copy(out, text, len);
	free(text);
}

static uint32_t place_of(struct ws_relations *r, size_t path)
{
	order_paths(r);
	return r->places[path];
}

#define PATH(X)                                                                                 \
	X(place, ws_put_int(out, place_of(r, row)), 0)                                          \
	X(path, put_path_text(m, (uint32_t)row, out), 0)                                        \
	X(domain, if (p) ws_put_copy(out, m->texts[p->domain].ptr, m->texts[p->domain].len), 0) \
	X(style, if (p) ws_put_str(out, ws_path_style(m, (uint32_t)row)), 0)                    \
	X(instances, if (p) ws_put_count(out, ws_values_count(&s->dur_ns)), WS_DIGEST_PATHS)

static void put_path(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_path *p = row < m->ranges.npaths ? &m->ranges.paths[row] : NULL;
	const struct ws_path_sums *s =
	        ws_digest_path(r->tab->digest, p                            ? (uint32_t)row
	                                       : row == ws_path_no_range(m) ? WS_PATH_NO_RANGE
	                                                                    : WS_PATH_NO_LAUNCH);

	WS_PUT_COLUMN(column, PATH);
}

/* --- work: copies in one direction, or fills ------------------------------------------------ */

struct ws_work_sums {
	struct ws_values times, sizes; /* of those whose time, whose size is known */
	uint64_t count, without_time;
	int64_t total_ns, bytes, timed_bytes, timed_ns; /* timed_…: of those with both */
	bool by_amd;
};

static void fold_work(struct ws_relations *r)
{
	const struct ws_model *m = r->tab->m;

	r->nwork = WS_COPY_NAMES;
	WS_NEW(&r->arena, r->work, r->nwork);
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];
		struct ws_work_sums *s;

		if (!r->tab->sel->work[i] || w->kind == WS_WORK_GRAPH)
			continue;
		s = &r->work[ws_copy_name_of(w)];
		s->count++;
		s->by_amd |= m->devices[w->device].is_amd;
		s->bytes += (int64_t)w->bytes;
		if (w->bytes) /* 0 is not recorded */
			ws_values_add(&s->sizes, (int64_t)w->bytes);
		if (w->no_time) {
			s->without_time++;
			continue;
		}
		ws_values_add(&s->times, w->dur_ns);
		s->total_ns += w->dur_ns;
		s->timed_bytes += (int64_t)w->bytes;
		s->timed_ns += w->bytes ? w->dur_ns : 0;
	}
}

static size_t count_work(void *ctx)
{
	struct ws_relations *r = ctx;

	if (!r->work)
		fold_work(r);
	return r->nwork;
}

/* "[HIP memcpy …]" where an AMD device did it. */
static void put_operation(const char *name, bool by_amd, struct ws_put *out)
{
	static const char cuda[] = "[CUDA ";
	char text[64];

	snprintf(text, sizeof(text), "%s%s", by_amd ? "[HIP " : cuda, name + sizeof(cuda) - 1);
	ws_put_copy(out, text, strlen(text));
}

/* Operations that did not happen are rows, too: their count is 0. */
#define WORK(X)                                                                      \
	X(operation, put_operation(ws_copy_name((uint32_t)row), s->by_amd, out), 0)  \
	X(count, ws_put_count(out, s->count), 0)                                     \
	X(without_time, ws_put_count(out, s->without_time), 0)                       \
	X(without_size, ws_put_count(out, s->count - ws_values_count(&s->sizes)), 0) \
	X(total_ns, if (s->count > s->without_time) ws_put_int(out, s->total_ns), 0) \
	X(bytes, if (s->bytes) ws_put_int(out, s->bytes), 0)                         \
	X(timed_bytes, if (s->timed_bytes) ws_put_int(out, s->timed_bytes), 0)       \
	X(timed_ns, ws_put_int(out, s->timed_ns), 0)                                 \
	X(times, ws_put_samples(out, &s->times), 0)                                  \
	X(sizes, ws_put_samples(out, &s->sizes), 0)

static void put_work(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_work_sums *s = &((const struct ws_relations *)ctx)->work[row];

	WS_PUT_COLUMN(column, WORK);
}

/* --- all ------------------------------------------------------------------------------------ */

#define PARTS(name, put, parts) parts,
static const struct {
	struct ws_relation rel;
	unsigned of_all; /* the parts that any query of it takes */
	unsigned of_columns[WS_RELATION_COLUMNS];
} relations[] = {
        {{"cell", CELL(WS_COLUMN_NAME), count_cells, put_cell}, WS_DIGEST_KERNELS, {CELL(PARTS)}},
        {{"call", CALL(WS_COLUMN_NAME), count_calls, put_call}, WS_DIGEST_CALLS, {CALL(PARTS)}},
        {{"path", PATH(WS_COLUMN_NAME), count_paths, put_path}, WS_DIGEST_PATHS, {PATH(PARTS)}},
        {{"work", WORK(WS_COLUMN_NAME), count_work, put_work}, WS_DIGEST_KERNELS, {WORK(PARTS)}},
};
#define NRELATIONS (sizeof(relations) / sizeof(*relations))

void ws_relations_add(struct ws_query *q, struct ws_relations *r)
{
	for (size_t i = 0; i < NRELATIONS; i++)
		ws_query_add(q, &relations[i].rel, r);
	if (!r)
		return;
	ws_query_set_int(q, "gpu_ns", r->tab->sel->gpu_ns);
	ws_query_set_int(q, "has_kernels", ws_model_has_kernels(r->tab->m));
	ws_query_set_int(q, "has_calls", r->tab->digest->ncalls > 0);
	if (r->tab->sel->measured && r->tab->sel->scope <= WS_SCOPE_STEPS)
		ws_query_set_int(q, "steps", (int64_t)r->tab->sel->measured);
}

unsigned ws_relations_parts(const struct ws_query *q)
{
	unsigned parts = 0;

	for (size_t i = 0; i < NRELATIONS; i++) {
		const uint64_t read = ws_query_columns_read(q, &relations[i].rel);

		if (read)
			parts |= relations[i].of_all;
		for (size_t c = 0; c < WS_RELATION_COLUMNS; c++)
			if (read >> c & 1)
				parts |= relations[i].of_columns[c];
	}
	return parts;
}

void ws_relations_release(struct ws_relations *r)
{
	for (size_t i = 0; r->work && i < r->nwork; i++) {
		ws_values_free(&r->work[i].times);
		ws_values_free(&r->work[i].sizes);
	}
	ws_arena_free(&r->arena);
}
