/*
 * Graphs of image models, for tests.
 */
#pragma once

#include "tests/support/kernels_run.h"

#include "kernels/models/model.h"
#include "kernels/nn/layers.h"

/* All phases of a step. */
static inline struct ws_graph *training_graph(const char *model, struct ws_image_options options,
                                              const struct ws_precision *precision,
                                              struct ws_model_io *io)
{
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;
	struct ws_graph *graph;

	graph = ws_graph_create(precision);
	KERNELS_OK(ws_image_build(graph, ws_network_find(model)->image, &options, true, io, err));
	KERNELS_OK(ws_graph_backward(graph, io->loss, NULL, err));
	ws_optim_append(graph, &adamw, NULL);
	KERNELS_OK(ws_graph_check(graph, err));
	return graph;
}

/* A tensor that must be there. */
static inline const struct ws_tensor *param(const struct ws_graph *graph, const char *name)
{
	const struct ws_tensor *t = graph_find(graph, name);

	cr_assert_not_null(t, "no parameter %s", name);
	return t;
}
