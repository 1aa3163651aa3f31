#include "report/analysis/digest.h"

#include "report/analysis/counters.h"
#include "report/analysis/idle.h"
#include "report/analysis/slow_step.h"
#include "report/analysis/steps.h"
#include "report/model/load.h"
#include "report/names/names.h"

/*
 * A relation is a list of columns, X(name, statement that puts its value, parts of a digest that it
 * needs). Meanings: docs/dev/query.md.
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

/* rolled_up: without the numbers of layers. */
static void put_path_text(const struct ws_model *m, uint32_t path, bool rolled_up,
                          struct ws_put *out)
{
	char *text;
	size_t len;

	if (path >= m->ranges.npaths) {
		ws_put_str(out, ws_path_outside(m, path));
		return;
	}
	ws_path_text(&m->ranges, path, m->texts, &text, &len);
	if (rolled_up) {
		char *rolled = ws_xmalloc(len + 1);

		len = ws_name_roll_up((struct ws_bytes){text, len}, rolled);
		free(text);
		text = rolled;
	}
	ws_put_copy(out, text, len);
	free(text);
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
	X(path_id, ws_put_int(out, row_of_path(m, c->place.path)), WS_DIGEST_PLACES)             \
	X(instances, ws_put_count(out, ws_values_count(&c->dur_ns)), 0)                          \
	X(without_time, ws_put_count(out, c->without_time), 0)                                   \
	X(total_ns, if (ws_values_count(&c->dur_ns)) ws_put_int(out, c->total_ns), 0)            \
	X(tensor_ns, ws_put_int(out, k->tensor == WS_TENSOR_YES ? c->total_ns : 0),              \
	  WS_DIGEST_NAMES)                                                                       \
	X(tensor_unknown_ns,                                                                     \
	  ws_put_int(out, ws_config_tensor(k) == WS_TENSOR_UNKNOWN ? c->total_ns : 0),           \
	  WS_DIGEST_NAMES)                                                                       \
	X(times, ws_put_samples(out, &c->dur_ns), 0)                                             \
	X(in_steps, ws_put_count(out, c->in_steps), WS_DIGEST_STEPS)                             \
	X(first, ws_put_int(out, (int64_t)(c->first & INT64_MAX)), WS_DIGEST_PLACES)             \
	X(flops, if (d->flops && !d->flops_unknown[k->name]) ws_put_int(out, d->flops[k->name]), \
	  WS_DIGEST_COSTS)                                                                       \
	X(source, ws_put_text(out, text[c->place.source]), WS_DIGEST_PLACES)                     \
	X(captured_in,                                                                           \
	  if (c->place.is_captured) put_path_text(m, row_of_path(m, c->place.path), false, out), \
	  WS_DIGEST_PLACES)

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

/* Every text of the trace is a row; texts that are not names of calls have 0 calls. */
#define CALL(X)                                                  \
	X(name, ws_put_text(out, shown))                         \
	X(recorded_name, ws_put_copy(out, name.ptr, name.len))   \
	X(calls, ws_put_count(out, ws_values_count(&c->dur_ns))) \
	X(failed, ws_put_count(out, c->failed))                  \
	X(total_ns, ws_put_int(out, c->total_ns))                \
	X(times, ws_put_samples(out, &c->dur_ns))

static void put_call(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_call_sums *c = &r->tab->digest->calls[row];
	const struct ws_bytes name = r->tab->m->texts[row];
	const char *end = (const char *)name.ptr + name.len;
	struct ws_bytes shown = name;

	/* without "_v" and exactly four characters at the end */
	if (name.len > 6 && end[-6] == '_' && end[-5] == 'v')
		shown.len -= 6;
	WS_PUT_COLUMN(column, CALL);
}

/* --- path: NVTX ranges of one path, and two rows for kernels outside ranges
 * ----------------------------- */

static size_t count_paths(void *ctx)
{
	return ((const struct ws_relations *)ctx)->tab->m->ranges.npaths + 2;
}

const uint32_t *ws_paths_in_order(struct ws_relations *r)
{
	const struct ws_model *m = r->tab->m;
	const size_t n = m->ranges.npaths + 2;

	if (r->paths)
		return r->paths;
	WS_NEW(&r->arena, r->paths, n);
	WS_NEW(&r->arena, r->places, n);
	ws_paths_order(&m->ranges, m->texts, r->paths);
	r->paths[n - 2] = ws_path_no_range(m);
	r->paths[n - 1] = ws_path_no_launch(m);
	for (uint32_t i = 0; i < n; i++)
		r->places[r->paths[i]] = i;
	return r->paths;
}

/* The path of a row in the digest. */
static uint32_t digest_path(const struct ws_model *m, size_t row)
{
	return row < m->ranges.npaths       ? (uint32_t)row
	       : row == ws_path_no_range(m) ? WS_PATH_NO_RANGE
	                                    : WS_PATH_NO_LAUNCH;
}

/* The two last rows are always shown, unless a filter of ranges or steps is set. */
bool ws_path_is_shown(const struct ws_relations *r, uint32_t path)
{
	const struct ws_model *m = r->tab->m;
	const struct ws_selection *sel = r->tab->sel;
	const struct ws_path_sums *s = ws_digest_path(r->tab->digest, digest_path(m, path));

	return ws_values_count(&s->dur_ns) || s->ops_exclusive ||
	       (m->ngraph_nodes && s->ops_inclusive) ||
	       (path >= m->ranges.npaths && !sel->has_nvtx && !sel->has_steps);
}

static uint32_t place_of(struct ws_relations *r, size_t path)
{
	return ws_paths_in_order(r), r->places[path];
}

/* Statistics of the ranges of a path, cached for the columns of one row. */
static const struct ws_stat *times_of(struct ws_relations *r, size_t path,
                                      const struct ws_path_sums *s)
{
	if (r->times_of != path + 1)
		ws_values_stat_of(&s->dur_ns, &r->times);
	r->times_of = path + 1;
	return &r->times;
}

/* of_gpu: NULL if the trace has no device data. */
#define PATH(X)                                                                                   \
	X(place, ws_put_int(out, place_of(r, row)), 0)                                            \
	X(path, put_path_text(m, (uint32_t)row, false, out), 0)                                   \
	X(rolled_up, put_path_text(m, (uint32_t)row, true, out), 0)                               \
	X(domain,                                                                                 \
	  if (p && m->texts[p->domain].len)                                                       \
	          ws_put_copy(out, m->texts[p->domain].ptr, m->texts[p->domain].len),             \
	  0)                                                                                      \
	X(style, if (p) ws_put_str(out, ws_path_style(m, (uint32_t)row)), 0)                      \
	X(is_shown, ws_put_int(out, ws_path_is_shown(r, (uint32_t)row)), WS_DIGEST_PATHS)         \
	X(instances, if (p) ws_put_count(out, ws_values_count(&s->dur_ns)), WS_DIGEST_PATHS)      \
	X(range_ns, if (p) ws_put_int(out, s->range_ns), WS_DIGEST_PATHS)                         \
	X(range_times, if (p) ws_put_samples(out, &s->dur_ns), WS_DIGEST_PATHS)                   \
	X(avg_ns, if (has_ranges) ws_put_real(out, times_of(r, row, s)->mean), WS_DIGEST_PATHS)   \
	X(med_ns, if (has_ranges) ws_put_real(out, times_of(r, row, s)->median), WS_DIGEST_PATHS) \
	X(std_ns, if (has_ranges) ws_put_real(out, times_of(r, row, s)->std), WS_DIGEST_PATHS)    \
	X(open, if (p) ws_put_count(out, s->open), WS_DIGEST_PATHS)                               \
	X(projected_ns, if (of_gpu && p) ws_put_int(out, s->projected_ns), WS_DIGEST_PATHS)       \
	X(busy_ns, if (of_gpu) ws_put_int(out, ws_digest_busy_ns(d, digest_path(m, row))),        \
	  WS_DIGEST_PATHS)                                                                        \
	X(inclusive_ns, if (of_gpu) ws_put_int(out, s->inclusive_ns), WS_DIGEST_PATHS)            \
	X(exclusive_ns, if (of_gpu) ws_put_int(out, s->exclusive_ns), WS_DIGEST_PATHS)            \
	X(share,                                                                                  \
	  if (of_gpu)                                                                             \
	          ws_put_real(out, ws_stat_percent((double)s->inclusive_ns, (double)d->gpu_ns)),  \
	  WS_DIGEST_PATHS)                                                                        \
	X(ops_inclusive, if (of_gpu) ws_put_count(out, s->ops_inclusive), WS_DIGEST_PATHS)        \
	X(ops_exclusive, if (of_gpu) ws_put_count(out, s->ops_exclusive), WS_DIGEST_PATHS)        \
	X(flops, if (s->says_flops) ws_put_int(out, s->flops), WS_DIGEST_COSTS)                   \
	X(tflops,                                                                                 \
	  if (s->says_flops)                                                                      \
	          ws_put_real(out,                                                                \
	                      ws_stat_ratio((double)s->flops, (double)s->inclusive_ns) / 1e3),    \
	  WS_DIGEST_COSTS | WS_DIGEST_PATHS)                                                      \
	X(bytes, if (s->says_bytes) ws_put_int(out, s->bytes), WS_DIGEST_COSTS)                   \
	X(source, if (p) ws_put_text(out, m->texts[p->source]), 0)

static void put_path(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_digest *d = r->tab->digest;
	const struct ws_path_sums *s = ws_digest_path(d, digest_path(m, row));
	const struct ws_path *p = row < m->ranges.npaths ? &m->ranges.paths[row] : NULL;
	const bool of_gpu = ws_model_has_work(m), has_ranges = ws_values_count(&s->dur_ns);

	WS_PUT_COLUMN(column, PATH);
}

/* --- work: copies in one direction, or fills ------------------------------------------------ */

struct ws_work_sums {
	struct ws_values times, sizes; /* of those with known time, with known size */
	uint64_t count, without_time;
	int64_t total_ns, bytes, timed_bytes, timed_ns; /* timed_…: of those with both known */
	bool by_amd;
};

static size_t count_work(void *ctx)
{
	struct ws_relations *r = ctx;

	if (!r->work) {
		const struct ws_model *m = r->tab->m;

		r->nwork = WS_COPY_NAMES;
		WS_NEW(&r->arena, r->work, r->nwork);
		for (size_t i = 0; i < m->nwork; i++) {
			const struct ws_work *w = &m->work[i];

			if (!r->tab->sel->work[i] || w->kind == WS_WORK_GRAPH)
				continue;
			struct ws_work_sums *s = &r->work[ws_copy_name_of(w)];
			s->count++;
			s->by_amd |= m->devices[w->device].is_amd;
			s->bytes += (int64_t)w->bytes;
			if (w->bytes) /* 0 means not recorded */
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
	return r->nwork;
}

/* "[HIP memcpy …]" for an AMD device. */
static void put_operation(const char *name, bool by_amd, struct ws_put *out)
{
	static const char cuda[] = "[CUDA ";
	char text[64];

	snprintf(text, sizeof(text), "%s%s", by_amd ? "[HIP " : cuda, name + sizeof(cuda) - 1);
	ws_put_copy(out, text, strlen(text));
}

/* Operations without occurrence are rows, too: their count is 0. */
#define WORK(X)                                                                   \
	X(operation, put_operation(ws_copy_name((uint32_t)row), s->by_amd, out))  \
	X(count, ws_put_count(out, s->count))                                     \
	X(without_time, ws_put_count(out, s->without_time))                       \
	X(without_size, ws_put_count(out, s->count - ws_values_count(&s->sizes))) \
	X(total_ns, if (s->count > s->without_time) ws_put_int(out, s->total_ns)) \
	X(bytes, if (s->bytes) ws_put_int(out, s->bytes))                         \
	X(timed_bytes, if (s->timed_bytes) ws_put_int(out, s->timed_bytes))       \
	X(timed_ns, ws_put_int(out, s->timed_ns))                                 \
	X(times, ws_put_samples(out, &s->times))                                  \
	X(sizes, ws_put_samples(out, &s->sizes))

static void put_work(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_work_sums *s = &((const struct ws_relations *)ctx)->work[row];

	WS_PUT_COLUMN(column, WORK);
}

/* --- kernel: each execution of a kernel, by device, then start ------------------------------ */

static size_t count_kernels(void *ctx)
{
	struct ws_relations *r = ctx;
	struct ws_kernel_rows *k = &r->kernels;
	const struct ws_selection *sel = r->tab->sel;
	const bool all = sel->kernels == sel->rows->nkernels;

	if (!k->path) {
		k->m = r->tab->m;
		k->rows = sel->rows;
		WS_NEW(&k->arena, k->path, k->m->ranges.npaths + 2);
		k->n = all ? k->rows->nkernels : 0;
		if (!all)
			ws_spill_open(&k->kept, sel->kernels * sizeof(uint32_t));
		for (uint32_t i = 0; i < k->rows->nkernels && !all; i++)
			if (ws_kernel_selected(k->m, sel, ws_joined_rows_kernel(k->rows, i), i))
				ws_spill_put(&k->kept, sizeof(i), k->n++, &i);
	}
	return k->n;
}

/* Caches texts of paths, which repeat in many rows. */
static struct ws_bytes path_of(struct ws_kernel_rows *r, uint32_t path)
{
	char *text;
	size_t len;

	if (path >= r->m->ranges.npaths)
		return ws_bytes_of(ws_path_outside(r->m, path));
	if (!r->path[path].ptr) {
		ws_path_text(&r->m->ranges, path, r->m->texts, &text, &len);
		r->path[path] = (struct ws_bytes){ws_arena_copy(&r->arena, text, len), len};
		free(text);
	}
	return r->path[path];
}

static uint32_t stream_name(const struct ws_model *m, const struct ws_config *c)
{
	return c->process == WS_NONE
	               ? WS_TEXT_EMPTY
	               : ws_model_text(m, ws_resources_stream(&m->resources, m->pids[c->process],
	                                                      c->stream));
}

static void put_known(struct ws_put *out, uint64_t size)
{
	if (size)
		ws_put_count(out, size);
}

#define KERNEL(X)                                                                      \
	X(start_ns, if (kind->timed) ws_put_int(out, k.start_ns - m->begin_ns))        \
	X(dur_ns, if (kind->timed) ws_put_int(out, k.dur_ns))                          \
	X(device, ws_put_count(out, m->devices[c->device].id))                         \
	X(stream, ws_put_count(out, c->stream))                                        \
	X(pid, if (call) ws_put_count(out, m->threads[call->kind->thread].pid))        \
	X(tid, if (call) ws_put_count(out, m->threads[call->kind->thread].tid))        \
	X(step, if (step) ws_put_int(out, step->number))                               \
	X(warm_up, if (step) ws_put_str(out, step->warm_up ? "yes" : "no"))            \
	X(path, ws_put_text(out, path_of(r, path)))                                    \
	X(operation, if (op) ws_put_text(out, m->texts[op->name]))                     \
	X(op_class, ws_put_text(out, m->texts[kind->class]))                           \
	X(direction, ws_put_text(out, m->texts[kind->direction]))                      \
	X(dtype, ws_put_text(out, m->texts[kind->dtype]))                              \
	X(tensor, if (c->tensor != WS_TENSOR_NOT_APPLICABLE)                           \
	                  ws_put_str(out, ws_tensor_shown((enum ws_tensor)c->tensor))) \
	X(grid_x, put_known(out, c->shape.grid_x))                                     \
	X(grid_y, put_known(out, c->shape.grid_y))                                     \
	X(grid_z, put_known(out, c->shape.grid_z))                                     \
	X(block_x, put_known(out, c->shape.block_x))                                   \
	X(block_y, put_known(out, c->shape.block_y))                                   \
	X(block_z, put_known(out, c->shape.block_z))                                   \
	X(registers, put_known(out, c->shape.registers))                               \
	X(shared_bytes, if (c->shape.grid_x) ws_put_count(out, c->shape.shared_bytes)) \
	X(occupancy, if (c->has_occupancy) ws_put_real(out, c->occupancy.percent))     \
	X(api_name, if (call) ws_put_text(out, m->texts[call->kind->name]))            \
	X(api_start_ns, if (call) ws_put_int(out, call->start_ns - m->begin_ns))       \
	X(api_ns, if (call) ws_put_int(out, call->dur_ns))                             \
	X(short_name, ws_put_text(out, ws_model_short_name(m, c->name)))               \
	X(name, ws_put_text(out, m->texts[c->name]))                                   \
	X(stream_name, ws_put_text(out, m->texts[stream_name(m, c)]))                  \
	X(captured_in, if (kind->is_captured) ws_put_text(out, path_of(r, path)))      \
	X(launched_in, if (kind->is_captured) ws_put_text(out, path_of(r, launched)))  \
	X(source, ws_put_text(out, m->texts[kind->source]))

static void put_kernel(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_kernel_rows *r = &((struct ws_relations *)ctx)->kernels;
	const size_t at =
	        r->kept.data ? *(uint32_t *)ws_spill_row(&r->kept, sizeof(uint32_t), row) : row;
	const struct ws_joined_kernel k = *ws_joined_rows_kernel(r->rows, at);
	const struct ws_joined_call *call = ws_joined_rows_call(r->rows, k.call);
	const struct ws_model *m = r->m;
	const struct ws_kernel_kind *kind = k.kind;
	const struct ws_config *c = &m->configs[kind->config];
	const struct ws_op_config *op = ws_cpu_op_config(m, k.cpu_op);
	const struct ws_model_step *step = k.step == WS_NONE ? NULL : &m->steps[k.step];
	const uint32_t outside = call ? ws_path_no_range(m) : ws_path_no_launch(m);
	const uint32_t path = kind->path != WS_NONE ? kind->path : outside;
	const struct ws_joined_range *around =
	        ws_joined_rows_range(r->rows, ws_joined_launched_in(r->rows, &k));
	const uint32_t launched = around ? around->context->path : outside;

	WS_PUT_COLUMN(column, KERNEL);
}

/* --- launch: kernels of one name, launched by one function on one thread for one device ------ */

struct ws_launch_sums {
	struct ws_launch_key {
		uint32_t thread, device, api_name, kernel_name;
	} key;
	struct ws_values total, api, queue, kernel;
};

static size_t count_launches(void *ctx)
{
	struct ws_relations *r = ctx;
	const struct ws_selection *sel = r->tab->sel;
	const struct ws_model *m = r->tab->m;
	struct ws_strtab keys = {0};

	if (m->soundness.clock_is_off) /* latencies are unknown */
		return 0;
	if (r->has_launches)
		return r->nlaunches;
	/* only kernels that began after their call had returned were queued */
	r->has_launches = true;
	uint32_t *last = ws_arena_array(&r->arena, m->nconfigs, sizeof(*last));
	WS_EACH_KERNEL(sel->rows, i, k) {
		const struct ws_config *config = &m->configs[k->kind->config];

		if (!k->kind->timed || !ws_kernel_selected(m, sel, k, i))
			continue;
		const struct ws_joined_call *call = ws_joined_rows_call(sel->rows, k->call);
		if (!call) {
			r->without_launch++;
			continue;
		}
		const struct ws_launch_key key = {call->kind->thread, config->device,
		                                  call->kind->name, config->name};
		uint64_t id = last[k->kind->config]; /* of a kernel of the same configuration */

		if (!id || memcmp(&r->launches[id - 1].key, &key, sizeof(key)) != 0)
			id = ws_strtab_add(&keys, &key, sizeof(key));
		WS_GROW(r->launches, id, r->launches_capacity);
		if (id > r->nlaunches)
			r->launches[r->nlaunches++] = (struct ws_launch_sums){.key = key};
		last[k->kind->config] = (uint32_t)id;
		struct ws_launch_sums *s = &r->launches[id - 1];
		int64_t end_ns = k->start_ns + k->dur_ns;
		int64_t call_end_ns = call->start_ns + call->dur_ns;
		ws_values_add(&s->total,
		              (end_ns > call_end_ns ? end_ns : call_end_ns) - call->start_ns);
		ws_values_add(&s->api, call->dur_ns);
		ws_values_add(&s->kernel, k->dur_ns);
		if (k->start_ns >= call_end_ns)
			ws_values_add(&s->queue, k->start_ns - call_end_ns);
	}
	ws_strtab_free(&keys);
	return r->nlaunches;
}

#define LAUNCH(X)                                                                   \
	X(name, ws_put_text(out, m->texts[s->key.kernel_name]))                     \
	X(short_name, ws_put_text(out, ws_model_short_name(m, s->key.kernel_name))) \
	X(api_name, ws_put_text(out, m->texts[s->key.api_name]))                    \
	X(pid, ws_put_count(out, m->threads[s->key.thread].pid))                    \
	X(tid, ws_put_count(out, m->threads[s->key.thread].tid))                    \
	X(device, ws_put_count(out, m->devices[s->key.device].id))                  \
	X(thread, ws_put_count(out, s->key.thread))                                 \
	X(total_times, ws_put_samples(out, &s->total))                              \
	X(api_times, ws_put_samples(out, &s->api))                                  \
	X(queue_times, ws_put_samples(out, &s->queue))                              \
	X(kernel_times, ws_put_samples(out, &s->kernel))

static void put_launch(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_launch_sums *s = &r->launches[row];
	const struct ws_model *m = r->tab->m;

	WS_PUT_COLUMN(column, LAUNCH);
}

/* --- cost: operations of one class, or of one name, with a dtype on a device ------------------ */

static const struct ws_cost_groups *cost_groups(const struct ws_relations *r)
{
	return ws_cost_groups_find(r->tab->m, r->tab->sel);
}

static size_t count_costs(void *ctx)
{
	return ws_model_has_kernels(((const struct ws_relations *)ctx)->tab->m)
	               ? cost_groups(ctx)->n
	               : 0;
}

/* What fits a cache needs not come from the memory: a small optimizer's weights, a small
 * activation. */
#define OVER_BANDWIDTH                                                                           \
	"over 100 % of the memory's bandwidth: data from a cache, or the bytes or the peak are " \
	"wrong"

#define COST(X)                                                                         \
	X(by_name, ws_put_int(out, g->by_name))                                         \
	X(name, ws_put_text(out, m->texts[g->name]))                                    \
	X(class, ws_put_text(out, m->texts[g->class]))                                  \
	X(dtype, ws_put_text(out, m->texts[g->dtype]))                                  \
	X(device, ws_put_count(out, m->devices[g->device].id))                          \
	X(calls, ws_put_count(out, g->calls))                                           \
	X(kernels, ws_put_count(out, g->kernels))                                       \
	X(gpu_ns, ws_put_int(out, g->gpu_ns))                                           \
	X(flops, ws_put_real(out, a.flops))                                             \
	X(bytes, ws_put_real(out, a.bytes))                                             \
	X(flops_needed, if (is_needed_known) ws_put_real(out, (double)g->needed))       \
	X(peak_flops, if (a.roof.flops_per_s > 0) ws_put_real(out, a.roof.flops_per_s)) \
	X(peak_bytes, if (a.roof.bytes_per_s > 0) ws_put_real(out, a.roof.bytes_per_s)) \
	X(attainable_flops, ws_put_real(out, a.attainable_flops_per_s))                 \
	X(attained, ws_put_real(out, a.percent))                                        \
	X(bound, ws_put_str(out, a.bound))                                              \
	X(check, ws_put_str(out, over ? over : a.bytes_percent > 100 ? OVER_BANDWIDTH : NULL))

static void put_cost(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_model *m = ((const struct ws_relations *)ctx)->tab->m;
	const struct ws_cost_group *g = &cost_groups(ctx)->group[row];
	const struct ws_attained a = ws_cost_group_attained(m, g);
	const bool is_needed_known = ws_class_is_product(g->class) && !g->needed_unknown;
	/* a rate over its peak, also where the other rate is not known */
	const char *over = ws_over_peak(a.flops_percent);

	WS_PUT_COLUMN(column, COST);
}

/* --- device_use: the time of a device, or of all of them, by what it did ---------------------- */

/* The last device stands for all, where several worked. */
static size_t count_uses(void *ctx)
{
	const struct ws_table_context *tab = ((const struct ws_relations *)ctx)->tab;

	if (!tab->sel->rows->nkernels && !tab->m->nwork)
		return 0;
	const struct ws_idle *idle = ws_idle_find_in_scope(tab->m, tab->sel);
	return (idle->ndevices + (idle->nworked > 1)) * WS_USES;
}

#define USE(X)                                                                         \
	X(place, ws_put_count(out, device))                                            \
	X(device, if (is_one) ws_put_count(out, m->devices[device].id))                \
	X(use, ws_put_str(out, ws_use_defs[what].name))                                \
	X(is_work, ws_put_int(out, what == WS_USE_COMPUTE))                            \
	X(time_ns, ws_put_int(out, of->ns[what]))                                      \
	X(per_step_ns,                                                                 \
	  if (tab->sel->measured && !ws_is_of_all(tab->sel))                           \
	          ws_put_real(out, (double)of->ns[what] / (double)tab->sel->measured)) \
	X(window_ns, ws_put_int(out, of->window_ns))                                   \
	X(gaps, if (of->gaps[what]) ws_put_count(out, of->gaps[what]))                 \
	X(longest_ns, if (of->gaps[what]) ws_put_int(out, of->longest_ns[what]))       \
	X(what, ws_put_str(out, ws_use_defs[what].meaning))                            \
	X(cure, ws_put_str(out, ws_use_defs[what].cure))

static void put_use(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_table_context *tab = ((const struct ws_relations *)ctx)->tab;
	const struct ws_model *m = tab->m;
	const struct ws_idle *idle = ws_idle_find_in_scope(m, tab->sel);
	const size_t device = row / WS_USES, what = row % WS_USES;
	const bool is_one = device < idle->ndevices;
	const struct ws_device_use *of = is_one ? &idle->device[device] : &idle->all;

	WS_PUT_COLUMN(column, USE);
}

/* --- step: a step of the program ------------------------------------------------------------- */

static size_t count_steps(void *ctx)
{
	return ((const struct ws_relations *)ctx)->tab->m->nsteps;
}

static bool is_step_shown(const struct ws_table_context *tab, uint32_t s)
{
	const struct ws_model_step *step = &tab->m->steps[s];

	if (step->unfinished || step->unsound)
		return false;
	if (!step->warm_up && !step->apart)
		return ws_step_selected(tab->m, tab->sel, s);
	return !tab->sel->has_steps &&
	       ws_time_selected(tab->sel, step->start_ns, step->start_ns + step->total_ns);
}

static bool step_has_phase(const struct ws_step_times *times, const struct ws_model_step *step,
                           int phase)
{
	return phase == WS_PHASE_OTHER ? ws_step_phase_present(times, phase)
	                               : step->phases >> phase & 1;
}

/* Per second of the step; NULL: unknown. */
static void put_rate(struct ws_put *out, int64_t n, int64_t total_ns)
{
	if (n && total_ns >= 0)
		ws_put_real(out, ws_stat_ratio((double)n * 1e9, (double)total_ns));
}

/* The share of a step's window that `ns` of each step is. */
static double step_use(const struct ws_table_context *tab, bool of_model, uint32_t s)
{
	const struct ws_utilization *use = ws_utilization_find(tab->m, tab->sel);

	return ws_stat_percent((of_model ? use->model_ns : use->ran_ns)[s],
	                       (double)use->step_ns[s]);
}

static bool is_outlier(struct ws_relations *r, const struct ws_step_times *times, int64_t total_ns)
{
	if (!r->has_step_total)
		ws_step_stat(r->tab->m, times, WS_PHASES, WS_MEASURE_STEP, &r->step_total);
	r->has_step_total = true;
	return ws_stat_is_outlier(&r->step_total, total_ns);
}

#define PUT_HOST(phase)                         \
	if (step_has_phase(times, step, phase)) \
	ws_put_int(out, step->phase_ns[phase])
/* a framework's links identify backward kernels without a range `backward` */
#define PUT_GPU(phase)                                                           \
	if (step_has_phase(times, step, phase) ||                                \
	    (gpu->phase_ns[phase] &&                                             \
	     (phase != WS_PHASE_OTHER || gpu->phase_ns[phase] < gpu->total_ns))) \
	ws_put_int(out, gpu->phase_ns[phase])
#define PUT_WINDOW(phase)          \
	if (window_ns[phase] >= 0) \
	ws_put_int(out, window_ns[phase])
#define STEP(X)                                                                                   \
	X(step, ws_put_count(out, step->number), 0)                                               \
	X(warm_up, ws_put_str(out, step->warm_up ? "yes" : "no"), 0)                              \
	X(contains, if (step->apart) ws_put_str(out, ws_step_apart_name(step->apart)), 0)         \
	X(is_measured, ws_put_int(out, ws_step_selected(m, tab->sel, s)), 0)                      \
	X(is_shown, ws_put_int(out, is_step_shown(tab, s)), 0)                                    \
	X(start_ns, ws_put_int(out, step->start_ns), 0)                                           \
	X(host_ns, ws_put_int(out, step->total_ns), 0)                                            \
	X(total_ns, if (total_ns >= 0) ws_put_int(out, total_ns), WS_DIGEST_ROWS)                 \
	X(forward_ns, PUT_HOST(WS_PHASE_FORWARD), 0)                                              \
	X(loss_ns, PUT_HOST(WS_PHASE_LOSS), 0)                                                    \
	X(backward_ns, PUT_HOST(WS_PHASE_BACKWARD), 0)                                            \
	X(optimizer_ns, PUT_HOST(WS_PHASE_OPTIMIZER), 0)                                          \
	X(evaluation_ns, PUT_HOST(WS_PHASE_EVALUATION), 0)                                        \
	X(remainder_ns, PUT_HOST(WS_PHASE_OTHER), 0)                                              \
	X(kernels, ws_put_count(out, gpu->kernels), 0)                                            \
	X(gpu_ns, ws_put_int(out, gpu->total_ns), 0)                                              \
	X(gpu_forward_ns, PUT_GPU(WS_PHASE_FORWARD), 0)                                           \
	X(gpu_loss_ns, PUT_GPU(WS_PHASE_LOSS), 0)                                                 \
	X(gpu_backward_ns, PUT_GPU(WS_PHASE_BACKWARD), 0)                                         \
	X(gpu_optimizer_ns, PUT_GPU(WS_PHASE_OPTIMIZER), 0)                                       \
	X(gpu_evaluation_ns, PUT_GPU(WS_PHASE_EVALUATION), 0)                                     \
	X(gpu_remainder_ns, PUT_GPU(WS_PHASE_OTHER), 0)                                           \
	X(window_forward_ns, PUT_WINDOW(WS_PHASE_FORWARD), WS_DIGEST_ROWS)                        \
	X(window_loss_ns, PUT_WINDOW(WS_PHASE_LOSS), WS_DIGEST_ROWS)                              \
	X(window_backward_ns, PUT_WINDOW(WS_PHASE_BACKWARD), WS_DIGEST_ROWS)                      \
	X(window_optimizer_ns, PUT_WINDOW(WS_PHASE_OPTIMIZER), WS_DIGEST_ROWS)                    \
	X(window_evaluation_ns, PUT_WINDOW(WS_PHASE_EVALUATION), WS_DIGEST_ROWS)                  \
	X(window_remainder_ns, PUT_WINDOW(WS_PHASE_OTHER), WS_DIGEST_ROWS)                        \
	X(tokens_per_s, put_rate(out, tokens ? tokens : (int64_t)batch_tokens, total_ns),         \
	  WS_DIGEST_ROWS)                                                                         \
	X(images_per_s, put_rate(out, ws_fact_number(m, "images_per_step"), total_ns),            \
	  WS_DIGEST_ROWS)                                                                         \
	X(outlier,                                                                                \
	  if (!step->warm_up && !step->apart && total_ns >= 0)                                    \
	          ws_put_str(out, is_outlier(r, times, total_ns) ? "yes" : "no"),                 \
	  WS_DIGEST_ROWS)                                                                         \
	X(mfu, if (!step->warm_up) ws_put_real(out, step_use(tab, true, s)), WS_DIGEST_ROWS)      \
	X(hfu, if (!step->warm_up) ws_put_real(out, step_use(tab, false, s)), WS_DIGEST_ROWS)     \
	X(check,                                                                                  \
	  if (!step->warm_up) ws_put_str(out, ws_over_peak(fmax(step_use(tab, true, s),           \
	                                                        step_use(tab, false, s)))),       \
	  WS_DIGEST_ROWS)                                                                         \
	X(batch, if (is_batch) ws_put_str(out, ws_batch_kind(&batch)), 0)                         \
	X(requests, if (is_batch) ws_put_count(out, context->requests + generation->requests), 0) \
	X(batch_tokens, if (batch_tokens) ws_put_count(out, batch_tokens), 0)                     \
	X(key_tokens,                                                                             \
	  if (is_batch && batch.has_sums) ws_put_count(out, context->keys + generation->keys), 0) \
	X(pairs,                                                                                  \
	  if (is_batch && batch.has_sums) ws_put_count(out, context->pairs + generation->pairs),  \
	  0)

static void put_step(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_relations *r = ctx;
	const struct ws_table_context *tab = r->tab;
	const struct ws_model *m = tab->m;
	const uint32_t s = (uint32_t)row;
	const struct ws_model_step *step = &m->steps[s];
	const struct ws_step_times *times = ws_step_times(m, tab->sel);
	const struct ws_step_gpu *gpu = &times->gpu[s];
	const int64_t total_ns = times->step_ns[s], *window_ns = times->window_ns[s];
	const int64_t tokens = ws_fact_number(m, "tokens_per_step");
	struct ws_batch batch = {0};
	const bool is_batch = ws_batch_of_name(m->texts[step->name], &batch);
	const struct ws_batch_part *context = &batch.context, *generation = &batch.generation;
	const uint64_t batch_tokens = is_batch ? context->queries + generation->queries : 0;

	WS_PUT_COLUMN(column, STEP);
}

/* --- all ------------------------------------------------------------------------------------ */

const struct ws_relation ws_relation_kernel = {"kernel", KERNEL(WS_COLUMN_NAME), count_kernels,
                                               put_kernel},
                         ws_relation_path = {"path", PATH(WS_COLUMN_NAME), count_paths, put_path};
static const struct ws_relation cell = {"cell", CELL(WS_COLUMN_NAME), count_cells, put_cell},
                                call = {"call", CALL(WS_COLUMN_NAME), count_calls, put_call},
                                work = {"work", WORK(WS_COLUMN_NAME), count_work, put_work},
                                launch = {"launch", LAUNCH(WS_COLUMN_NAME), count_launches,
                                          put_launch},
                                cost = {"cost", COST(WS_COLUMN_NAME), count_costs, put_cost},
                                device_use = {"device_use", USE(WS_COLUMN_NAME), count_uses,
                                              put_use},
                                step = {"step", STEP(WS_COLUMN_NAME), count_steps, put_step};

#define PARTS(name, put, parts) parts,
static const struct {
	const struct ws_relation *rel;
	const char *row_is;
	unsigned of_all; /* the parts that every query of it needs */
	unsigned of_columns[WS_RELATION_COLUMNS];
} relations[] = {
        {&cell,
         "kernels of one configuration, range, class, direction, dtype and source line",
         WS_DIGEST_KERNELS,
         {CELL(PARTS)}},
        {&ws_relation_path,
         "NVTX ranges of one path; the last two: kernels in no range, and without a launch",
         0,
         {PATH(PARTS)}},
        {&call, "API calls of one function", WS_DIGEST_CALLS, {0}},
        {&work, "copies in one direction, or fills", 0, {0}},
        {&launch,
         "kernels of one name, launched by one function on one thread for one device",
         WS_DIGEST_ROWS,
         {0}},
        {&cost,
         "operations of one class, or of one name, with a dtype on a device",
         WS_DIGEST_ROWS,
         {0}},
        {&device_use, "one use of the time of a device, or of all devices", WS_DIGEST_ROWS, {0}},
        {&step, "a step of the program", WS_DIGEST_STEPS, {STEP(PARTS)}},
        {&ws_relation_kernel, "an execution of a kernel", WS_DIGEST_ROWS, {0}},
        {&ws_relation_gpu_energy, "energy and clocks of a GPU in the report", WS_DIGEST_ROWS, {0}},
        {&ws_relation_range_energy,
         "energy during the outermost ranges of one path, and those just inside",
         WS_DIGEST_ROWS,
         {0}},
        {&ws_relation_gpu_clock,
         "power and clocks of a GPU at one time, at most 200",
         WS_DIGEST_ROWS,
         {0}},
        {&ws_relation_counter, "a counter of the program, such as NVTX has", WS_DIGEST_ROWS, {0}},
        {&ws_relation_counter_sample, "a sample of a counter", WS_DIGEST_ROWS, {0}},
        {&ws_relation_counter_time, "a counter at one time, at most 200", WS_DIGEST_ROWS, {0}},
        {&ws_relation_slow_part,
         "a part of the slow step, beside the same part of the median step",
         WS_DIGEST_STEPS | WS_DIGEST_ROWS,
         {0}},
};
#define NRELATIONS (sizeof(relations) / sizeof(*relations))

void ws_relations_each(void (*with)(void *ctx, const struct ws_relation *rel, const char *row_is),
                       void *ctx)
{
	for (size_t i = 0; i < NRELATIONS; i++)
		with(ctx, relations[i].rel, relations[i].row_is);
}

void ws_relations_add(struct ws_query *q, struct ws_relations *r)
{
	for (size_t i = 0; i < NRELATIONS; i++)
		ws_query_add(q, relations[i].rel, r);
	if (!r)
		return;
	ws_query_set_int(q, "base_ns", r->tab->m->file.base_ns);
	ws_query_set_int(q, "gpu_ns", r->tab->sel->gpu_ns);
	ws_query_set_int(q, "has_kernels", ws_model_has_kernels(r->tab->m));
	if (r->tab->sel->measured && r->tab->sel->scope <= WS_SCOPE_STEPS)
		ws_query_set_int(q, "steps", (int64_t)r->tab->sel->measured);
}

unsigned ws_relations_parts(const struct ws_query *q)
{
	unsigned parts = 0;

	for (size_t i = 0; i < NRELATIONS; i++) {
		const uint64_t read = ws_query_columns_read(q, relations[i].rel);

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
	for (size_t i = 0; i < r->nlaunches; i++) {
		ws_values_free(&r->launches[i].total);
		ws_values_free(&r->launches[i].api);
		ws_values_free(&r->launches[i].queue);
		ws_values_free(&r->launches[i].kernel);
	}
	free(r->launches);
	ws_spill_close(&r->kernels.kept);
	ws_arena_free(&r->kernels.arena);
	ws_arena_free(&r->arena);
}
