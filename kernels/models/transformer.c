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

/* Normal with variance 2 / (in + out) (Glorot), cut at 3 sigma. */
static struct ws_init linear_init(int64_t out, int64_t in)
{
	return (struct ws_init){WS_INIT_TRUNC_NORMAL, sqrt(2.0 / (double)(in + out))};
}

/* The name of a parameter of the current layer. */
static const char *layer_name(const struct build *b, const char *name)
{
	return ws_graph_text(b->graph, "layer%d.%s", b->graph->layer, name);
}

/* Weight [out, in] */
static struct ws_tensor *linear_weight(struct build *b, const char *name, int64_t out, int64_t in)
{
	return ws_graph_param(b->graph, name, WS_SHAPE(out, in), linear_init(out, in));
}

static struct ws_tensor *norm_weight(struct build *b, const char *name)
{
	return ws_graph_param(b->graph, name, WS_SHAPE(b->size->width),
	                      (struct ws_init){WS_INIT_FILL, 1});
}

/* Weights of layers that read the same x; the name of all where they are merged. */
static struct ws_linears layer_linears(struct build *b, const char *merged,
                                       const char *const *names, int count, int64_t out, int64_t in)
{
	const char *full[WS_PARTS_MAX];

	for (int i = 0; i < count; i++)
		full[i] = layer_name(b, names[i]);
	return ws_nn_linears(b->graph, layer_name(b, merged), full, count, WS_SHAPE(out, in),
	                     linear_init(out, in));
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
	struct ws_tensor *wo = linear_weight(b, layer_name(b, "o"), d, d), *qkv[3], *y;

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

	h = ws_nn_rmsnorm(graph, x, norm_weight(b, layer_name(b, "norm1")), "rmsnorm");
	x = ws_nn_residual(graph, x, attention(b, h));

	h = ws_nn_rmsnorm(graph, x, norm_weight(b, layer_name(b, "norm2")), "rmsnorm");
	w13 = layer_linears(b, "w13", (const char *const[]){"w1", "w3"}, 2, f, d);
	w2 = linear_weight(b, layer_name(b, "w2"), d, f);
	x = ws_nn_residual(graph, x, ws_nn_swiglu(graph, h, &w13, w2));

	ws_graph_scope_pop(graph);
	graph->layer = -1;
	return x;
}

enum ws_status ws_transformer_build(struct ws_graph *graph, const struct ws_transformer *size,
                                    int64_t batch, int64_t context, bool with_loss,
                                    struct ws_model_io *io, struct ws_err *err)
{
	struct build b = {.graph = graph, .size = size};
	struct ws_tensor *table, *x;

	WS_FAIL_IF(batch < 1 || context < 1, err, USAGE, "batch and context must be at least 1");
	WS_FAIL_IF(size->layers < 1 || size->vocab < 2 || size->ffn < 1, err, USAGE,
	           "a transformer needs a layer, an inner width and a vocabulary of two");
	WS_FAIL_IF(size->heads < 1 || size->width < 1 || size->width % (2 * size->heads), err,
	           USAGE, "width %lld is not an even number for each of %lld heads",
	           (long long)size->width, (long long)size->heads);
	b.head = (struct ws_heads){batch, context, size->heads, size->width / size->heads};
	memset(io, 0, sizeof(*io));
	io->input = ws_graph_tensor(graph, "tokens", WS_ROLE_INPUT, WS_DTYPE_I32,
	                            WS_SHAPE(batch, context));
	b.rope_table = ws_graph_tensor(graph, "rope table", WS_ROLE_CONST, graph->precision.storage,
	                               WS_SHAPE(2, context, b.head.width / 2));
	b.rope_table->init = (struct ws_init){WS_INIT_ROPE_TABLE, ROPE_THETA};

	ws_graph_phase(graph, WSNVTX_PHASE_forward);
	table = ws_graph_param(graph, "embedding", WS_SHAPE(size->vocab, size->width),
	                       (struct ws_init){WS_INIT_TRUNC_NORMAL, 1});
	ws_graph_scope_push(graph, WSNVTX_OP_embedding, "embedding");
	x = ws_op_embedding(graph, table, io->input);
	ws_graph_scope_pop(graph);
	for (int layer = 0; layer < size->layers; layer++)
		x = block(&b, x, layer);
	x = ws_nn_rmsnorm(graph, x, norm_weight(&b, "norm_final"), "final norm");
	ws_graph_scope_push(graph, WSNVTX_OP_other, "lm head");
	io->logits = ws_nn_linear(graph, x, linear_weight(&b, "lm_head", size->vocab, size->width),
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
