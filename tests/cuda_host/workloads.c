#include "tests/cuda_host/workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1024

static struct {
	char name[NAMES_MAX][64];
	int count;
} needed;

/* --- workloads -------------------------------------------------------------------------------- */

static void adam_decay(struct ws_step_options *o)
{
	o->optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAM);
	o->optimizer.weight_decay = 0.01;
}

static void adamw_clipped(struct ws_step_options *o)
{
	o->optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW);
	o->optimizer.clip_norm = 1;
}

static void sgd(struct ws_step_options *o)
{
	o->optimizer = ws_optimizer_defaults(WS_OPTIMIZER_SGD);
}

static void sgd_decay(struct ws_step_options *o)
{
	sgd(o);
	o->optimizer.momentum = 0;
	o->optimizer.weight_decay = 0.01;
}

static void scale_static(struct ws_step_options *o)
{
	o->loss_scale = (struct ws_loss_scale){.kind = WS_LOSS_SCALE_STATIC, .value = 128};
}

static void scale_dynamic(struct ws_step_options *o)
{
	o->loss_scale = (struct ws_loss_scale){.kind = WS_LOSS_SCALE_DYNAMIC, .interval = 2};
}

static void scale_none(struct ws_step_options *o)
{
	o->loss_scale.kind = WS_LOSS_SCALE_NONE;
}

static void nhwc(struct ws_step_options *o)
{
	o->image.layout = WS_LAYOUT_NHWC;
}

static void mse(struct ws_step_options *o)
{
	o->image.loss = WS_LOSS_MSE;
}

static void leaky(struct ws_step_options *o)
{
	o->image.activation = WS_ACTIVATION_LEAKY_RELU;
}

static void tanh_activation(struct ws_step_options *o)
{
	o->image.activation = WS_ACTIVATION_TANH;
}

/* One option that is not the default. */
static const struct {
	const char *name;
	void (*set)(struct ws_step_options *options);
	bool image_only;
} variations[] = {
        {"", NULL, false},
        {" adam", adam_decay, false},
        {" adamw clipped", adamw_clipped, false},
        {" sgd", sgd, false},
        {" sgd without momentum", sgd_decay, false},
        {" static scale", scale_static, false},
        {" dynamic scale", scale_dynamic, false},
        {" no scale", scale_none, false},
        {" nhwc", nhwc, true},
        {" mse", mse, true},
        {" leaky", leaky, true},
        {" tanh", tanh_activation, true},
};
#define VARIATIONS ((int)(sizeof(variations) / sizeof(*variations)))

/* Layers are named alike in the models of one kind, so few of them need all variations. */
static bool is_varied(const struct ws_network *model)
{
	static const char *const names[] = {"transformer-tiny", "mlp",      "lenet5",
	                                    "alexnet",          "resnet18", "conv1d-resnet",
	                                    "toy-mixed"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(model->name, names[i]))
			return true;
	return false;
}

static void make_small(struct ws_step_options *o)
{
	const struct ws_image_model *image = o->model->image;

	o->image.width_divisor = 16;
	o->batch = 2;
	if (image && image->signal) {
		o->image.size = 24;
		o->layers = 3;
	} else if (image && image->size > 64) {
		o->image.size = 64;
		o->image.classes = 10;
	} else if (!image) {
		o->context = 13;
	}
}

bool ws_workload_at(int i, bool small, struct ws_workload *w)
{
	int precisions = 0, fusions = 0, model = 0, variation;
	struct ws_step_options *o = &w->options;

	while (ws_precision_at(precisions))
		precisions++;
	while (ws_fusion_name(fusions))
		fusions++;

	/* the combinations that make sense, in order */
	for (; ws_network_at(model); model++) {
		int all = is_varied(ws_network_at(model)) ? VARIATIONS : 1;

		for (variation = 0; variation < all; variation++) {
			if (variations[variation].image_only && !ws_network_at(model)->image)
				continue;
			if (i < precisions * fusions)
				goto found;
			i -= precisions * fusions;
		}
	}
	return false;
found:
	*o = (struct ws_step_options){
	        .model = ws_network_at(model),
	        .precision = ws_precision_at(i / fusions),
	        .fusion = (enum ws_fusion)(i % fusions),
	        .phase = WS_STEP_FULL,
	        .batch = 2,
	        .context = 16,
	        .seed = 7,
	        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW_CS336),
	};
	if (!o->model->image)
		o->layers = 2;
	if (small)
		make_small(o);
	if (variations[variation].set)
		variations[variation].set(o);
	snprintf(w->name, sizeof(w->name), "%s %s %s%s", o->model->name, o->precision->name,
	         ws_fusion_name((int)o->fusion), variations[variation].name);
	return true;
}

/* --- kernels -------------------------------------------------------------------------------------
 */

bool ws_is_own_kernel(const struct ws_op *op)
{
	switch (op->kind) {
	case WS_OP_GEMM:
	case WS_OP_CONV:
	case WS_OP_CONV_DGRAD:
	case WS_OP_CONV_WGRAD:
	case WS_OP_BATCH_NORM:
	case WS_OP_BATCH_NORM_GRAD:
	case WS_OP_LOG_SOFTMAX:
	case WS_OP_LOG_SOFTMAX_GRAD:
		return false;
	default:
		return true;
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void note_names(const struct ws_graph *graph)
{
	for (int i = 0; i < graph->op_count; i++) {
		char name[64];

		ws_op_kernel_name(graph->ops[i], name, sizeof(name));
		if (!ws_is_own_kernel(graph->ops[i]) ||
		    bsearch(name, needed.name, (size_t)needed.count, sizeof(needed.name[0]),
		            compare_names))
			continue;
		if (needed.count == NAMES_MAX)
			abort();
		memcpy(needed.name[needed.count++], name, sizeof(name));
		qsort(needed.name, (size_t)needed.count, sizeof(needed.name[0]), compare_names);
	}
}

static void collect(void)
{
	struct ws_workload workload;

	for (int i = 0; ws_workload_at(i, false, &workload); i++) {
		struct ws_step *step;
		struct ws_err err = {0};

		if (ws_step_build(&workload.options, &step, &err) != WS_OK) {
			fprintf(stderr, "%s: %s\n", workload.name, err.text);
			abort();
		}
		note_names(step->graph);
		ws_step_close(step);
	}
}

bool ws_workloads_need(const char *kernel)
{
	if (!needed.count)
		collect();
	return bsearch(kernel, needed.name, (size_t)needed.count, sizeof(needed.name[0]),
	               compare_names) != NULL;
}

const char *ws_workloads_kernel(int i)
{
	if (!needed.count)
		collect();
	return i < needed.count ? needed.name[i] : NULL;
}
