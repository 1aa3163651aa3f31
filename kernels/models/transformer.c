#include "kernels/models/model.h"

#include <math.h>

#include "kernels/nn/layers.h"
#include "kernels/graph/ops.h"

#define ROPE_THETA 10000.0

/* What all layers share. */
struct build {
	struct ws_graph *graph;
	const struct ws_transformer *size;
	struct ws_heads head;
	struct ws_tensor *rope_table;
};

/* Weight [out, in], normal with variance 2 / (in + out) (Glorot), cut at 3 sigma. */
static struct ws_tensor *linear_weight(struct ws_graph *graph, const char *name, int64_t out,
                                       int64_t in)
{
	double std = sqrt(2.0 / (double)(in + out));

	return ws_graph_param(graph, name, WS_SHAPE(out, in),
	                      (struct ws_init){WS_INIT_TRUNC_NORMAL, std});
}

static struct ws_tensor *norm_weight(struct ws_graph *graph, const char *name, int64_t width)
{
	return ws_graph_param(graph, name, WS_SHAPE(width), (struct ws_init){WS_INIT_FILL, 1});
}

static struct ws_tensor *layer_linear(struct build *b, const char *name, int64_t out, int64_t in)
{
	const char *full = ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, name);

	return linear_weight(b->graph, full, out, in);
}

static struct ws_tensor *layer_norm(struct build *b, const char *name)
{
	const char *full = ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, name);

	return norm_weight(b->graph, full, b->size->width);
}

/* Weights of layers that read the same x: names as in layer_linear(). */
static struct ws_linears layer_linears(struct build *b, const char *merged,
                                       const char *const *names, int count, int64_t out, int64_t in)
{
	double std = sqrt(2.0 / (double)(in + out));
	const char *full[WS_PARTS_MAX];

	for (int i = 0; i < count; i++)
		full[i] = ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, names[i]);
	merged = ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, merged);
	return ws_nn_linears(b->graph, merged, full, count, WS_SHAPE(out, in),
	                     (struct ws_init){WS_INIT_TRUNC_NORMAL, std});
}

/* x [B, T, D] -> attention over all heads, projected back: [B, T, D] */
static struct ws_tensor *attention(struct build *b, struct ws_tensor *x)
{
	struct ws_graph *graph = b->graph;
	int64_t d = b->size->width;
	struct ws_heads h = b->head;
	struct ws_shape merged = WS_SHAPE(h.batch, h.time, d);
	struct ws_linears wqkv =
	        layer_linears(b, "qkv", (const char *const[]){"q", "k", "v"}, 3, d, d);
	struct ws_tensor *wo = layer_linear(b, "o", d, d), *qkv[3], *y;

	ws_nn_qkv(graph, x, &wqkv, b->rope_table, h, qkv);
	y = ws_nn_causal_attention(graph, qkv[0], qkv[1], qkv[2]);

	ws_graph_scope_push(graph, WSNVTX_OP_other, "output projection");
	y = ws_op_permute(graph, y, (int64_t[]){h.batch, h.heads, h.time, h.width}, merged,
	                  "merge heads");
	y = ws_nn_linear(graph, y, wo, "o linear");
	ws_graph_scope_pop(graph);
	return y;
}

static struct ws_tensor *block(struct build *b, struct ws_tensor *x, int layer)
{
	struct ws_graph *graph = b->graph;
	int64_t d = b->size->width, f = b->size->ffn;
	struct ws_linears w13;
	struct ws_tensor *h, *w2;

	graph->layer = layer;
	ws_graph_scope_push(graph, WSNVTX_OP_other, "layer %d", layer);

	h = ws_nn_rmsnorm(graph, x, layer_norm(b, "norm1"), "rmsnorm");
	x = ws_nn_residual(graph, x, attention(b, h));

	h = ws_nn_rmsnorm(graph, x, layer_norm(b, "norm2"), "rmsnorm");
	w13 = layer_linears(b, "w13", (const char *const[]){"w1", "w3"}, 2, f, d);
	w2 = layer_linear(b, "w2", d, f);
	x = ws_nn_residual(graph, x, ws_nn_swiglu(graph, h, &w13, w2));

	ws_graph_scope_pop(graph);
	graph->layer = -1;
	return x;
}

static struct ws_tensor *embed(struct build *b, struct ws_tensor *tokens)
{
	struct ws_graph *graph = b->graph;
	struct ws_tensor *table, *x;

	table = ws_graph_param(graph, "embedding", WS_SHAPE(b->size->vocab, b->size->width),
	                       (struct ws_init){WS_INIT_TRUNC_NORMAL, 1});
	ws_graph_scope_push(graph, WSNVTX_OP_embedding, "embedding");
	x = ws_op_embedding(graph, table, tokens);
	ws_graph_scope_pop(graph);
	return x;
}

static enum ws_status check_size(const struct ws_transformer *size, int64_t batch, int64_t context,
                                 struct ws_err *err)
{
	WS_FAIL_IF(batch < 1 || context < 1, err, USAGE, "batch and context must be at least 1");
	WS_FAIL_IF(size->layers < 1 || size->vocab < 2 || size->ffn < 1, err, USAGE,
	           "a transformer needs a layer, an inner width and a vocabulary of two");
	WS_FAIL_IF(size->heads < 1 || size->width < 1 || size->width % (2 * size->heads), err,
	           USAGE, "width %lld is not an even number for each of %lld heads",
	           (long long)size->width, (long long)size->heads);
	return WS_OK;
}

enum ws_status ws_transformer_build(struct ws_graph *graph, const struct ws_transformer *size,
                                    int64_t batch, int64_t context, bool with_loss,
                                    struct ws_model_io *io, struct ws_err *err)
{
	struct build b = {.graph = graph, .size = size};
	struct ws_tensor *x;

	WS_FORWARD(check_size(size, batch, context, err));
	b.head = (struct ws_heads){batch, context, size->heads, size->width / size->heads};
	memset(io, 0, sizeof(*io));
	io->input = ws_graph_tensor(graph, "tokens", WS_ROLE_INPUT, WS_DTYPE_I32,
	                            WS_SHAPE(batch, context));
	b.rope_table = ws_graph_tensor(graph, "rope table", WS_ROLE_CONST, graph->precision.storage,
	                               WS_SHAPE(2, context, b.head.width / 2));
	b.rope_table->init = (struct ws_init){WS_INIT_ROPE_TABLE, ROPE_THETA};

	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	x = embed(&b, io->input);
	for (int layer = 0; layer < size->layers; layer++)
		x = block(&b, x, layer);
	x = ws_nn_rmsnorm(graph, x, norm_weight(graph, "norm_final", size->width), "final norm");
	ws_graph_scope_push(graph, WSNVTX_OP_other, "lm head");
	io->logits =
	        ws_nn_linear(graph, x, linear_weight(graph, "lm_head", size->vocab, size->width),
	                     "lm head linear");
	ws_graph_scope_pop(graph);
	io->logits->keep = true;

	if (with_loss) {
		io->target = ws_graph_tensor(graph, "targets", WS_ROLE_INPUT, WS_DTYPE_I32,
		                             WS_SHAPE(batch, context));
		ws_graph_phase(graph, WSNVTX_PHASE_loss);
		io->loss = ws_nn_cross_entropy(graph, io->logits, io->target, false);
		io->loss->keep = true;
	}
	return ws_graph_check(graph, err);
}
