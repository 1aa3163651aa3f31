#include "tests/report/loaded/loaded.h"

#include <stdlib.h>

#include "tests/report/loaded/private.h"

/* What tables read of the model, where a pass puts it, too. The model owns it then. */
static void give_to_model(struct loaded *l)
{
	struct ws_model *m = l->m;
	struct loaded_ranges *r = &l->ranges;

	m->ranges.paths = r->paths;
	m->ranges.npaths = r->npaths;
	m->ranges.open = r->open;
	m->ranges.cross_thread = r->cross_thread;
	m->ranges.folded = r->folded;
	m->ranges.unmatched_pops = r->unmatched_pops;
	m->ranges.unmatched_ends = r->unmatched_ends;
	m->attribution.crossings = l->attribution.crossings;
	m->attribution.not_followed = l->attribution.not_followed;
}

static enum ws_status open_all(struct loaded *l, const struct ws_trace_reader *r, const char *name,
                               const struct ws_model_opts *opts, struct ws_err *err)
{
	enum ws_status status;

	WS_FORWARD(ws_model_begin(&l->m, r, name, opts, err));
	status = loaded_read(l, r, opts, err);
	give_to_model(l);
	WS_THEN(status, loaded_label(l, opts->step, err));
	WS_THEN(status, loaded_fill_rows(l, err));
	return status;
}

enum ws_status loaded_open_reader(struct loaded **out, const struct ws_trace_reader *r,
                                  const char *name, const struct ws_model_opts *opts,
                                  struct ws_err *err)
{
	static const struct ws_model_opts none;
	struct loaded *l = calloc(1, sizeof(*l));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!l, err, NO_MEMORY, "out of memory");
	status = open_all(l, r, name, opts ? opts : &none, err);
	if (status == WS_OK)
		*out = l;
	else
		loaded_free(l);
	return status;
}

enum ws_status loaded_open_mem(struct loaded **out, const void *data, size_t size, const char *name,
                               struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	status = loaded_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

void loaded_free(struct loaded *l)
{
	if (!l)
		return;
	ws_joined_rows_free(&l->rows);
	/* the model's */
	l->ranges.paths = NULL;
	l->attribution.crossings = NULL;
	loaded_ranges_release(&l->ranges);
	loaded_attribution_release(&l->attribution);
	ws_arena_free(&l->arena);
	ws_model_free(l->m);
	free(l);
}

/* --- what is known of a kernel ------------------------------------------------------------- */

static const struct ws_op_facts *op_of_kernel(const struct loaded *l, size_t k)
{
	const uint32_t range = l->kernels.range[k];
	const uint32_t op = range == WS_NONE ? WS_NONE : l->range_op[range];

	return op == WS_NONE ? NULL : &l->m->ops.op[l->ranges.payload[op]];
}

enum ws_phase loaded_kernel_phase(const struct loaded *l, size_t k)
{
	const uint32_t range = l->kernels.range[k];

	return ws_phase_of(l->m, range == WS_NONE ? WS_PHASE_OTHER : l->range_phase[range],
	                   l->kernels.op[k]);
}

uint32_t loaded_kernel_range_class(const struct loaded *l, size_t k)
{
	uint32_t r = l->kernels.range[k];
	const struct ws_op_config *op = ws_cpu_op_config(l->m, l->kernels.op[k]);

	if (r != WS_NONE && l->range_class[r])
		return l->range_class[r];
	return op ? op->kind : WS_TEXT_EMPTY;
}

uint32_t loaded_kernel_class(const struct loaded *l, size_t k)
{
	uint32_t class = loaded_kernel_range_class(l, k);

	return class ? class : l->m->configs[l->kernels.config[k]].name_class;
}

uint32_t loaded_kernel_direction(const struct loaded *l, size_t k)
{
	const struct ws_op_facts *annotated = op_of_kernel(l, k);
	const struct ws_op_config *op = ws_cpu_op_config(l->m, l->kernels.op[k]);

	if (annotated && annotated->direction)
		return annotated->direction;
	if (l->kernels.flags[k] & LOADED_BACKWARD)
		return WS_TEXT_BACKWARD;
	if (op && op->direction)
		return op->direction;
	return l->m->configs[l->kernels.config[k]].name_direction;
}

uint32_t loaded_kernel_dtype(const struct loaded *l, size_t k)
{
	const struct ws_op_facts *annotated = op_of_kernel(l, k);
	const struct ws_op_config *op = ws_cpu_op_config(l->m, l->kernels.op[k]);
	uint32_t by_name = l->m->configs[l->kernels.config[k]].name_dtype;

	if (annotated && annotated->dtype)
		return annotated->dtype;
	/* a name that tells, tells what the kernel reads; an operation only what it was given */
	if (by_name)
		return by_name;
	return op ? op->dtype : WS_TEXT_EMPTY;
}
