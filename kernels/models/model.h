/* The models that warpsheet-step knows: models.def. */
#pragma once

#include "kernels/graph/graph.h"

/* Sizes of a transformer language model (docs/dev/kernels.md, workload of the seeds). */
struct ws_transformer {
	int64_t width, ffn, layers, heads, vocab;
};

struct ws_image_model; /* model_image.h */

struct ws_network {
	const char *name;
	const char *summary;
	struct ws_transformer transformer;
	const struct ws_image_model *image; /* NULL: a transformer */
};

/* What a step is fed and what it yields. Of image models: model_image.h. */
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
