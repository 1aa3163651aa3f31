
#include "formats/base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "kernels/graph/ops.h"
#include "kernels/models/model.h"
#include "kernels/nn/layers.h"

/* --- networks on images and signals -------------------------------------------------------- */

static struct ws_image_options ws_image_defaults(const struct ws_image_model *model,
                                                 const struct ws_image_options *options)
{
	struct ws_image_options o = *options;

	o.size = o.size ? o.size : model->size;
	o.channels = o.channels ? o.channels : model->channels;
	o.classes = o.classes ? o.classes : model->classes;
	o.width_divisor = o.width_divisor ? o.width_divisor : 1;
	o.loss = o.loss ? o.loss : model->loss;
	o.kernel_width = o.kernel_width ? o.kernel_width : 3;
	o.depth_multiplier = o.depth_multiplier ? o.depth_multiplier : 6;
	o.layers = o.layers ? o.layers : 32;
	return o;
}

WS_CHOICE_NAMES(ws_layout_name, WS_LAYOUT_LIST)
WS_CHOICE_NAMES(ws_activation_name, WS_ACTIVATION_LIST)
WS_CHOICE_NAMES(ws_loss_name, WS_LOSS_LIST)

void ws_workload_number(const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	wsnvtx_workload(key, text);
}

void ws_image_facts(const struct ws_image_model *model, const struct ws_image_options *options)
{
	struct ws_image_options o = ws_image_defaults(model, options);

	ws_workload_number("image_size", o.size);
	ws_workload_number("channels", o.channels);
	ws_workload_number("classes", o.classes);
	wsnvtx_workload("layout", ws_layout_name(o.layout));
	wsnvtx_workload("activation", ws_activation_name(o.activation));
	wsnvtx_workload("loss", ws_loss_name(o.loss));
	if (o.xavier)
		wsnvtx_workload("init", "xavier");
	if (o.width_divisor > 1)
		ws_workload_number("width_divisor", o.width_divisor);
	if (!model->signal)
		return;
	ws_workload_number("kernel_width", o.kernel_width);
	ws_workload_number("depth_multiplier", o.depth_multiplier);
	wsnvtx_workload("residual", o.residual ? "yes" : "no");
}

static struct ws_image_batch batch_of(const struct ws_image_model *model,
                                      const struct ws_image_options *o)
{
	return (struct ws_image_batch){
	        .layout = o->layout,
	        .n = o->batch,
	        .c = o->channels,
	        .h = model->signal ? 1 : o->size,
	        .w = o->size,
	        .classes = o->classes,
	};
}

enum ws_status ws_image_build(struct ws_graph *graph, const struct ws_image_model *model,
                              const struct ws_image_options *options, bool with_loss,
                              struct ws_model_io *io, struct ws_err *err)
{
	struct ws_image_options o = ws_image_defaults(model, options);
	struct ws_image_net net = {
	        .graph = graph,
	        .layout = o.layout,
	        .activation = o.activation,
	        .conv_weights = o.xavier ? WS_WEIGHTS_XAVIER : model->conv_weights,
	        .linear_weights = o.xavier ? WS_WEIGHTS_XAVIER : model->linear_weights,
	        .seed = o.seed,
	};
	struct ws_image_batch batch = batch_of(model, &o);
	struct ws_image x = {NULL, batch.n, batch.c, batch.h, batch.w};

	WS_FAIL_IF(o.batch < 1 || o.size < 1 || o.channels < 1 || o.classes < 1 ||
	                   o.width_divisor < 1,
	           err, USAGE,
	           "batch, image size, channels, classes and width divisor must be at least 1");
	WS_FAIL_IF(o.size > INT32_MAX || o.batch > INT32_MAX, err, USAGE,
	           "batch and image size must be below 2^31");
	WS_FAIL_IF(o.classes == 1 && o.loss == WS_LOSS_CROSS_ENTROPY, err, USAGE,
	           "cross-entropy needs two classes at least");
	WS_FAIL_IF(o.kernel_width < 1 || o.kernel_width % 2 == 0 || o.depth_multiplier < 1 ||
	                   o.layers < 1,
	           err, USAGE,
	           "the kernel width must be odd, and it, the depth multiplier and the "
	           "layers at least 1");
	memset(io, 0, sizeof(*io));
	/* beside masters the model is fed fp32 and casts it; else what it is stored in */
	io->input = ws_graph_tensor(graph, "images", WS_ROLE_INPUT, ws_graph_norm_dtype(graph),
	                            ws_image_shape(o.layout, x.n, x.c, x.h, x.w));
	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	x.data = ws_op_cast(graph, io->input, graph->precision.storage);
	io->logits = model->forward(&net, x, &o).data;
	io->step = net.step;
	io->logits->keep = true;
	if (!with_loss)
		return ws_graph_check(graph, err);
	if (o.loss == WS_LOSS_MSE)
		io->target = ws_graph_tensor(graph, "targets", WS_ROLE_INPUT,
		                             ws_dtype_exact(graph->precision.storage),
		                             WS_SHAPE(o.batch, o.classes));
	else
		io->target = ws_graph_tensor(graph, "labels", WS_ROLE_INPUT, WS_DTYPE_I32,
		                             WS_SHAPE(o.batch));
	ws_graph_phase(graph, WSNVTX_PHASE_loss);
	io->loss = o.loss == WS_LOSS_MSE ? ws_nn_mse(graph, io->logits, io->target)
	                                 : ws_nn_cross_entropy(graph, io->logits, io->target, true);
	io->loss->keep = true;
	return ws_graph_check(graph, err);
}

enum ws_status ws_image_feed(struct ws_exec *exec, const struct ws_image_model *model,
                             const struct ws_image_options *options, const struct ws_model_io *io,
                             int64_t step, struct ws_err *err)
{
	struct ws_image_options o = ws_image_defaults(model, options);
	struct ws_image_batch batch = batch_of(model, &o);
	double *labels = ws_xarray((size_t)o.batch, sizeof(*labels));
	double *targets = ws_xarray((size_t)(o.batch * o.classes), sizeof(*targets));
	struct ws_plane *planes = ws_xarray((size_t)(batch.n * batch.c), sizeof(*planes));
	double number = (double)(step % INT32_MAX); /* dropout is new with each step */
	enum ws_status status;

	ws_data_image_planes(o.seed, o.batches ? step % o.batches : step, &batch, planes, labels);
	status = ws_exec_draw_images(exec, &batch, planes, io->input, err);
	/* of the mean squared error: the label itself, or 1 for its class and 0 elsewhere */
	for (int64_t i = 0; i < o.batch * o.classes; i++)
		targets[i] = o.classes == 1 ? labels[i]
		                            : (labels[i / o.classes] == (double)(i % o.classes));
	if (status == WS_OK && io->target)
		status = ws_exec_write(exec, io->target, o.loss == WS_LOSS_MSE ? targets : labels,
		                       err);
	if (status == WS_OK && io->step)
		status = ws_exec_write(exec, io->step, &number, err);
	free(planes);
	free(labels);
	free(targets);
	return status;
}

/* --- the list of models -------------------------------------------------------------------- */

#define IMAGE_MODEL(function_, channels_, size_, classes_, signal_, conv, linear, loss_)         \
	&(const struct ws_image_model)                                                           \
	{                                                                                        \
		.forward = function_, .channels = channels_, .size = size_, .classes = classes_, \
		.signal = signal_, .conv_weights = WS_WEIGHTS_##conv,                            \
		.linear_weights = WS_WEIGHTS_##linear, .loss = WS_LOSS_##loss_,                  \
	}

static const struct ws_network models[] = {
#define WS_TRANSFORMER(name_, width_, ffn_, layers_, heads_, vocab_)                               \
	{.name = name_,                                                                            \
	 .summary = #layers_ " layers, width " #width_ ", " #heads_ " heads, vocabulary " #vocab_, \
	 .transformer = {width_, ffn_, layers_, heads_, vocab_}},
#define WS_IMAGE(name_, function, channels, size, classes, signal, conv, linear, loss, summary_) \
	{.name = name_,                                                                          \
	 .summary = summary_,                                                                    \
	 .image = IMAGE_MODEL(function, channels, size, classes, signal, conv, linear, loss)},
#include "kernels/models/models.def"
#undef WS_IMAGE
#undef WS_TRANSFORMER
};

const struct ws_network *ws_network_at(int i)
{
	return i >= 0 && (size_t)i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

const struct ws_network *ws_network_find(const char *name)
{
	for (int i = 0; ws_network_at(i); i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}
