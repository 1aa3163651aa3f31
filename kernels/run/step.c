#include "kernels/run/step.h"

#include <float.h>

#include "formats/base/options.h"

/* --- names -------------------------------------------------------------------------- */

static const struct ws_precision precisions[] = {
#define X(name, storage, low, tf32, masters, scale_max) \
	{name, WS_DTYPE_##storage, WS_DTYPE_##low, tf32, masters, scale_max},
#include "kernels/base/precision.def"
#undef X
};

const struct ws_precision *ws_precision_at(int i)
{
	return i >= 0 && (size_t)i < sizeof(precisions) / sizeof(*precisions) ? &precisions[i]
	                                                                      : NULL;
}

WS_CHOICE_NAMES(ws_fusion_name, WS_FUSION_LIST)
WS_CHOICE_NAMES(ws_attention_mode_name, WS_ATTENTION_MODE_LIST)
WS_CHOICE_NAMES(ws_step_phase_name, WS_STEP_PHASE_LIST)

/* --- session ------------------------------------------------------------------------- */

static enum ws_status build_graph(struct ws_step *step, struct ws_err *err)
{
	struct ws_step_options *o = &step->options;
	bool with_loss = o->phase != WS_STEP_FORWARD;

	step->graph = ws_graph_create(o->precision);
	step->graph->fusion = o->fusion;
	step->graph->attention = o->attention;
	if (o->model->image) {
		o->image.batch = o->batch;
		o->image.layers = o->layers;
		o->image.batches = o->batches;
		o->image.seed = o->seed;
		WS_FORWARD(ws_image_build(step->graph, o->model->image, &o->image, with_loss,
		                          &step->io, err));
	} else {
		step->size = o->model->transformer;
		if (o->layers)
			step->size.layers = o->layers;
		WS_FORWARD(ws_transformer_build(step->graph, &step->size, o->batch, o->context,
		                                with_loss, &step->io, err));
	}
	struct ws_tensor *scaled =
	        ws_scaler_append(step->graph, ws_loss_scale_resolve(o->precision, o->loss_scale),
	                         step->io.loss, &step->scaler);
	step->scale = step->scaler.first;
	WS_FORWARD(ws_graph_check(step->graph, err));
	if (o->phase >= WS_STEP_FORWARD_BACKWARD)
		WS_FORWARD(ws_graph_backward(step->graph, scaled, NULL, err));
	if (o->phase >= WS_STEP_FULL)
		step->optim = ws_optim_append(step->graph, &o->optimizer,
		                              step->scaler.scale ? &step->scaler : NULL);
	return ws_graph_check(step->graph, err);
}

static enum ws_status open_session(struct ws_step *step, struct ws_pool *pool, struct ws_err *err)
{
	WS_FORWARD(build_graph(step, err));

	/* Does the step fit the device? The graph shows it before hours and memory are spent. */
	const struct ws_backend *backend = step->backend;
	struct ws_backend_plan work = {step->graph->ops, step->graph->op_count, 0};
	struct ws_memory_plan plan = ws_memory_plan(step->graph);
	uint64_t workspace_bytes = 0;

	work.block_bytes = plan.block_bytes;
	if (backend->ops->workspace_bytes)
		workspace_bytes = backend->ops->workspace_bytes(backend, &work);
	WS_FAIL_IF(workspace_bytes > backend->limit_bytes ||
	                   plan.block_bytes > backend->limit_bytes - workspace_bytes,
	           err, NO_MEMORY,
	           "the step needs %" PRIu64 " bytes, the most at op %s, and %" PRIu64 " of "
	           "workspace; the device has %" PRIu64 ". Use a smaller batch or model",
	           plan.block_bytes, plan.peak_op ? plan.peak_op->message : "none", workspace_bytes,
	           backend->limit_bytes);
	WS_FORWARD(ws_exec_create(step->graph, step->backend, &step->exec, err));
	WS_FORWARD(ws_exec_init(step->exec, pool, step->options.seed, err));
	WS_FORWARD(ws_exec_phase(step->exec, WSNVTX_PHASE_setup, err));
	if (step->options.model->image)
		return WS_OK;
	step->tokens = ws_xmalloc(step->io.input->size_bytes);
	step->targets = ws_xmalloc(step->io.input->size_bytes);
	return WS_OK;
}

/* backend: NULL for the graph alone */
static enum ws_status make_step(const struct ws_step_options *options, struct ws_backend *backend,
                                struct ws_pool *pool, struct ws_step **step, struct ws_err *err)
{
	struct ws_step *s = ws_xarray(1, sizeof(*s));

	s->options = *options;
	s->backend = backend;
	enum ws_status status = backend ? open_session(s, pool, err) : build_graph(s, err);
	if (status == WS_OK)
		*step = s;
	else
		ws_step_close(s);
	return status;
}

enum ws_status ws_step_build(const struct ws_step_options *options, struct ws_step **step,
                             struct ws_err *err)
{
	return make_step(options, NULL, NULL, step, err);
}

enum ws_status ws_step_open(const struct ws_step_options *options, struct ws_backend *backend,
                            struct ws_pool *pool, struct ws_step **step, struct ws_err *err)
{
	wsnvtx_push("setup");
	enum ws_status status = make_step(options, backend, pool, step, err);
	wsnvtx_pop();
	return status;
}

void ws_step_close(struct ws_step *step)
{
	if (!step)
		return;
	ws_exec_destroy(step->exec);
	ws_graph_destroy(step->graph);
	free(step->tokens);
	free(step->targets);
	free(step);
}

static enum ws_status run_phases(struct ws_step *step, struct ws_err *err)
{
	const struct ws_step_options *o = &step->options;
	struct ws_token_batch batch = {o->batch, o->context, step->size.vocab};
	enum ws_step_phase phase = o->phase;
	enum ws_status status;

	ws_exec_step_begin(step->exec);
	wsnvtx_push("data");
	if (o->model->image) {
		status = ws_image_feed(step->exec, o->model->image, &o->image, &step->io,
		                       step->done, err);
	} else {
		ws_data_tokens(o->seed, o->batches ? step->done % o->batches : step->done, &batch,
		               step->tokens, step->targets);
		status = ws_exec_upload(step->exec, step->io.input, step->tokens, err);
		if (step->io.target)
			WS_THEN(status,
			        ws_exec_upload(step->exec, step->io.target, step->targets, err));
	}
	WS_THEN(status, ws_optim_feed(step->exec, &o->optimizer, &step->optim,
	                              step->done - step->skipped + 1, err));
	wsnvtx_pop();
	WS_FORWARD(status);
	WS_FORWARD(ws_exec_phase(step->exec, WSNVTX_PHASE_forward, err));
	if (phase >= WS_STEP_FORWARD_BACKWARD) {
		WS_FORWARD(ws_exec_phase(step->exec, WSNVTX_PHASE_loss, err));
		WS_FORWARD(ws_exec_phase(step->exec, WSNVTX_PHASE_backward, err));
	}
	if (phase >= WS_STEP_FULL) {
		/* The optimizer phase; what became of the scale is followed here. */

		WS_FORWARD(ws_exec_phase(step->exec, WSNVTX_PHASE_optimizer, err));
		if (step->scaler.dynamic) {
			bool skipped = ws_exec_skipped(step->exec) > 0;
			step->skipped += skipped;
			ws_scaler_next(&step->scaler.rule, skipped, &step->scale, &step->tracker);
			wsnvtx_counter_real("loss_scale", step->scale);
			if (skipped)
				wsnvtx_counter("skipped_steps", step->skipped);
		}
	}
	return step->backend->ops->sync(step->backend, err);
}

enum ws_status ws_step_run(struct ws_step *step, const char *range, uint64_t number, double *loss,
                           struct ws_err *err)
{
	wsnvtx_push_index(range, number);
	enum ws_status status = run_phases(step, err);
	wsnvtx_pop();
	WS_FORWARD(status);
	step->done++;
	/* outside the step's range: a program that never looks at its loss waits for none */
	*loss = NAN;
	return step->io.loss ? ws_exec_read(step->exec, step->io.loss, loss, err) : WS_OK;
}

/* --- the whole run ----------------------------------------------------------------- */

static enum ws_status run_steps(const struct ws_step_run_options *options, struct ws_step *step,
                                struct ws_err *err)
{
	bool is_finite = true;

	for (int64_t i = 0; i < options->warmup + options->steps; i++) {
		if (options->progress)
			options->progress(i, options->warmup + options->steps, i < options->warmup);
		bool warmup = i < options->warmup;
		int64_t number = warmup ? i + 1 : i + 1 - options->warmup;
		double loss;

		WS_FORWARD(ws_step_run(step, warmup ? "warm-up" : "step", (uint64_t)number, &loss,
		                       err));
		if (step->io.loss && is_finite && !isfinite(loss)) {
			char text[40];

			snprintf(text, sizeof(text), "%s %" PRId64, warmup ? "warm-up" : "step",
			         number);
			wsnvtx_workload("loss_not_finite", text);
			if (options->not_finite)
				options->not_finite(text);
			is_finite = false;
		}
		if (options->report)
			WS_FORWARD(options->report(options->report_arg, warmup, number, loss, err));
	}
	if (options->progress)
		options->progress(options->warmup + options->steps,
		                  options->warmup + options->steps, false);
	return WS_OK;
}

enum ws_status ws_step_run_all(const struct ws_step_run_options *options,
                               struct ws_backend *backend, struct ws_pool *pool, struct ws_err *err)
{
	struct ws_step *step = NULL;
	struct ws_err own = {0};
	char result[sizeof(own.text) + 32] = "ok";
	const struct ws_step_options *o = &options->step;
	const struct ws_optimizer *optimizer = &o->optimizer;
	struct ws_loss_scale scale = ws_loss_scale_resolve(o->precision, o->loss_scale);
	char text[32];

	wsnvtx_workload("model", o->model->name);
	ws_workload_number("batch", o->batch);
	if (o->model->image)
		ws_image_facts(o->model->image, &o->image);
	else
		ws_workload_number("context", o->context);
	if (o->layers)
		ws_workload_number("layers", o->layers);
	wsnvtx_workload("dtype", o->precision->name);
	wsnvtx_workload("phase", ws_step_phase_name((int)o->phase));
	wsnvtx_workload("fusion", ws_fusion_name(o->fusion));
	if (!o->model->image)
		wsnvtx_workload("attention", ws_attention_mode_name(o->attention));
	if (o->phase >= WS_STEP_FULL) {
		wsnvtx_workload("optimizer", ws_optimizer_name((int)optimizer->kind));
		wsnvtx_workload("optimizer_impl",
		                ws_optimizer_impl_name(
		                        (int)ws_optimizer_impl_resolve(optimizer, o->fusion)));
		snprintf(text, sizeof(text), "%g", optimizer->clip_norm);
		if (optimizer->clip_norm != 0)
			wsnvtx_workload("clip_norm", text);
	}
	if (o->phase >= WS_STEP_FORWARD_BACKWARD) {
		snprintf(text, sizeof(text), "static:%g", scale.value);
		wsnvtx_workload("loss_scale", scale.kind == WS_LOSS_SCALE_NONE     ? "none"
		                              : scale.kind == WS_LOSS_SCALE_STATIC ? text
		                                                                   : "dynamic");
	}
	wsnvtx_workload("data", "synthetic");
	ws_workload_number("warmup", options->warmup);
	ws_workload_number("steps", options->steps);
	snprintf(text, sizeof(text), "%" PRIu64, o->seed);
	wsnvtx_workload("seed", text);
	wsnvtx_workload("backend", backend->ops->name);
	wsnvtx_workload("device", backend->device);
	if (*backend->libraries)
		wsnvtx_workload("libraries", backend->libraries);
	if (o->model->image)
		ws_workload_number("images_per_step", o->batch);
	else
		ws_workload_number("tokens_per_step", o->batch * o->context);
	enum ws_status status = ws_step_open(&options->step, backend, pool, &step, &own);
	if (status == WS_OK) {
		ws_workload_number("parameters", ws_graph_param_count(step->graph));
		status = run_steps(options, step, &own);
		if (step->scaler.dynamic)
			ws_workload_number("skipped_steps", step->skipped);
	}
	ws_step_close(step);
	if (status != WS_OK) {
		snprintf(result, sizeof(result), "%s: %s",
		         status == WS_NO_MEMORY ? "out of memory" : "failed", own.text);
		if (err)
			*err = own;
	}
	wsnvtx_workload("result", result);
	return status;
}
