/* The models that warpsheet-step knows: models.def. */
#pragma once

#include "kernels/nn/layers.h"

/* Sizes of a transformer language model (docs/dev/kernels.md, workload of the seeds). */
struct ws_transformer {
	int64_t width, ffn, layers, heads, vocab;
};

struct ws_image_model;

struct ws_network {
	const char *name;
	const char *summary;
	struct ws_transformer transformer;
	const struct ws_image_model *image; /* NULL: a transformer */
};

/* Inputs and results of a step. */
struct ws_model_io {
	struct ws_tensor *input, *target; /* int32 [batch, context] */
	struct ws_tensor *step;           /* int32 [1]: number of the step; NULL: not needed */
	struct ws_tensor *logits;         /* [batch, context, vocab] */
	struct ws_tensor *loss;           /* [1]; NULL without a loss */
};

/* NULL: no such model. */
const struct ws_network *ws_network_find(const char *name);
/* The i-th model, NULL after the last. */
const struct ws_network *ws_network_at(int i);

/*
 * Append the forward phase of a transformer language model, and its loss phase
 * if with_loss: pre-norm blocks of causal self-attention with rotary
 * embedding and SwiGLU, an untied head, no biases, no dropout, cross-entropy.
 */
enum ws_status ws_transformer_build(struct ws_graph *graph, const struct ws_transformer *size,
                                    int64_t batch, int64_t context, bool with_loss,
                                    struct ws_model_io *io, struct ws_err *err);

/* --- networks on images and signals: the WS_IMAGE rows of models.def -------------------------- */

/* value of the option, enumerator */
#define WS_LOSS_LIST(X)                                    \
	X("the model's own", DEFAULT) /* no value of it */ \
	X("cross-entropy", CROSS_ENTROPY)                  \
	X("mse", MSE)

enum ws_loss {
#define X(name, id) WS_LOSS_##id,
	WS_LOSS_LIST(X)
#undef X
};

/* 0 means the model's own value, except for batch and layout. */
struct ws_image_options {
	int64_t batch;
	int64_t batches;       /* drawn, and then repeated; 0: each step has a new one */
	int64_t size;          /* height and width of the images, length of the signals */
	int64_t channels;      /* of the input */
	int64_t classes;       /* outputs */
	int64_t width_divisor; /* hidden channels are divided by it: small forms for tests */
	enum ws_layout layout;
	enum ws_activation activation;
	enum ws_loss loss;
	bool xavier; /* first values by Xavier, bias 0.01, instead of the model's own */
	uint64_t seed;

	/* conv1d-resnet only */
	int64_t kernel_width;     /* odd; 3 */
	int64_t depth_multiplier; /* channels are 3 times this; 6 */
	int64_t layers;           /* 32 */
	bool residual;            /* add the input of a block to its output */
};

/* Hidden channels, given for a model of full width. */
static inline int64_t ws_image_width(const struct ws_image_options *options, int64_t full)
{
	return full > options->width_divisor ? full / options->width_divisor : 1;
}

/* A model: its input, and the order of its layers. */
struct ws_image_model {
	/* x [n, channels, h, w] -> [n, classes]; options: all filled in */
	struct ws_image (*forward)(struct ws_image_net *net, struct ws_image x,
	                           const struct ws_image_options *options);
	int64_t channels, size, classes;
	bool signal; /* images are 1 × size */
	enum ws_weights conv_weights, linear_weights;
	enum ws_loss loss;
};

/*
 * Append the forward phase of an image model, and its loss phase if with_loss. io->input: storage
 * dtype, in the layout asked for; io->target: int32 [batch], for the mean squared error fp32
 * [batch, classes]; io->step: the number of the step; NULL if no layer draws random numbers.
 */
enum ws_status ws_image_build(struct ws_graph *graph, const struct ws_image_model *model,
                              const struct ws_image_options *options, bool with_loss,
                              struct ws_model_io *io, struct ws_err *err);

/* A whole number as a fact of the run (warpsheet_nvtx.h: workload). */
void ws_workload_number(const char *key, int64_t value);
/* States the options of image models as facts. */
void ws_image_facts(const struct ws_image_model *model, const struct ws_image_options *options);

/* The option values: the i-th name, NULL after the last. Losses begin at 1. */
const char *ws_layout_name(int i);
const char *ws_activation_name(int i);
const char *ws_loss_name(int i);

/*
 * Write batch number `step` (0, 1, …) of images and their targets, and the number
 * itself, into the inputs of a built model.
 */
enum ws_status ws_image_feed(struct ws_exec *exec, const struct ws_image_model *model,
                             const struct ws_image_options *options, const struct ws_model_io *io,
                             int64_t step, struct ws_err *err);
