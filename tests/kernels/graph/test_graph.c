#include "tests/support/kernels_run.h"

#include "kernels/models/model.h"
#include "kernels/nn/layers.h"

/* A graph of a transformer with loss, backward and AdamW; no data. */
static struct ws_graph *transformer(const struct ws_precision *precision, int64_t layers,
                                    struct ws_model_io *io)
{
	struct ws_transformer size = ws_network_find("transformer-tiny")->transformer;
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;
	struct ws_graph *graph;

	size.layers = layers;
	graph = ws_graph_create(precision);
	KERNELS_OK(ws_transformer_build(graph, &size, 2, 8, true, io, err));
	KERNELS_OK(ws_graph_backward(graph, io->loss, NULL, err));
	ws_optim_append(graph, &adamw, NULL);
	KERNELS_OK(ws_graph_check(graph, err));
	return graph;
}

static int count_ops(const struct ws_graph *graph, enum wsnvtx_phase phase, int sub)
{
	int count = 0;

	for (int i = 0; i < graph->op_count; i++)
		count += graph->ops[i]->payload.phase == phase &&
		         (sub < 0 || graph->ops[i]->sub == (enum ws_sub)sub);
	return count;
}

/* "forward/layer 0/rmsnorm" */
static const char *path_of(const struct ws_scope *scope, char *buf, size_t size)
{
	if (!scope) {
		buf[0] = '\0';
		return buf;
	}
	path_of(scope->parent, buf, size);
	snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? "/" : "", scope->name);
	return buf;
}

Test(graph, forward_pass_has_37_ops_a_layer_and_8_around_them)
{
	for (int64_t layers = 1; layers <= 3; layers++) {
		struct ws_model_io io;
		struct ws_graph *graph = transformer(&kernels_fp32, layers, &io);

		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_forward, -1), 37 * layers + 8);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_forward, WS_SUB_MATMUL), 9 * layers + 1);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_forward, WS_SUB_CAST), 0);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_loss, -1), 9);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_backward, WS_SUB_MATMUL),
		             18 * layers + 2);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_optimizer, -1), 14 * (9 * layers + 3));
		ws_graph_destroy(graph);
	}
}

/* 16 casts a layer and 2 in the head, as torch.autocast dispatches them. */
Test(graph, autocast_adds_16_casts_a_layer_and_2_in_the_head)
{
	for (int64_t layers = 1; layers <= 3; layers++) {
		struct ws_model_io io;
		struct ws_graph *graph = transformer(&kernels_amp, layers, &io);

		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_forward, WS_SUB_CAST), 16 * layers + 2);
		cr_assert_eq(count_ops(graph, WSNVTX_PHASE_forward, -1), 53 * layers + 10);
		ws_graph_destroy(graph);
	}
}

static const struct ws_op *find_op(const struct ws_graph *graph, const char *path,
                                   const char *message)
{
	char buf[256];

	for (int i = 0; i < graph->op_count; i++)
		if (!strcmp(graph->ops[i]->message, message) &&
		    !strcmp(path_of(graph->ops[i]->scope, buf, sizeof(buf)), path))
			return graph->ops[i];
	cr_assert_fail("no op %s in %s", message, path);
	return NULL;
}

#define ATTENTION "forward/layer 1/scaled dot product attention/"

/* The dtypes that the course's model has under bf16 autocast, op by op (workload notes 3.1). */
Test(graph, autocast_gives_each_op_the_dtype_that_torch_gives_it)
{
	static const struct {
		const char *path, *message;
		enum ws_dtype out;
	} want[] = {
	        {"forward/embedding", "lookup", WS_DTYPE_F32},
	        {"forward/layer 1/rmsnorm", "square", WS_DTYPE_F32},
	        {"forward/layer 1/rmsnorm", "multiply", WS_DTYPE_F32},
	        {"forward/layer 1/qkv projection", "q linear", WS_DTYPE_BF16},
	        {"forward/layer 1/rope", "rope q", WS_DTYPE_F32},
	        {ATTENTION "computing attention scores", "q k^T", WS_DTYPE_BF16},
	        {ATTENTION "computing softmax", "scale", WS_DTYPE_BF16},
	        {ATTENTION "computing softmax", "mask", WS_DTYPE_BF16},
	        {ATTENTION "computing softmax", "max", WS_DTYPE_BF16},
	        {ATTENTION "computing softmax", "subtract", WS_DTYPE_BF16},
	        {ATTENTION "computing softmax", "exp", WS_DTYPE_F32},
	        {ATTENTION "computing softmax", "sum", WS_DTYPE_F32},
	        {ATTENTION "computing softmax", "divide", WS_DTYPE_F32},
	        {ATTENTION "final matmul", "p v", WS_DTYPE_BF16},
	        {"forward/layer 1/output projection", "o linear", WS_DTYPE_BF16},
	        {"forward/layer 1/residual", "add", WS_DTYPE_F32},
	        {"forward/layer 1/swiglu ffn", "w1 linear", WS_DTYPE_BF16},
	        {"forward/layer 1/swiglu ffn", "sigmoid", WS_DTYPE_BF16},
	        {"forward/layer 1/swiglu ffn", "multiply", WS_DTYPE_BF16},
	        {"forward/layer 1/swiglu ffn", "w2 linear", WS_DTYPE_BF16},
	        {"forward/lm head", "lm head linear", WS_DTYPE_BF16},
	        {"loss/cross-entropy", "max", WS_DTYPE_BF16},
	        {"loss/cross-entropy", "exp", WS_DTYPE_F32},
	        {"loss/cross-entropy", "mean", WS_DTYPE_F32},
	        {"backward/layer 1/swiglu ffn", "w1 linear grad b", WS_DTYPE_BF16},
	        {"backward/layer 1/swiglu ffn", "sigmoid grad", WS_DTYPE_BF16},
	};
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_amp, 2, &io);

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct ws_op *op = find_op(graph, want[i].path, want[i].message);

		cr_assert_eq(op->out[0]->dtype, want[i].out, "%s/%s is %s", want[i].path,
		             want[i].message, ws_dtype_name(op->out[0]->dtype));
	}
	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i]->grad)
			cr_assert_eq(graph->tensors[i]->grad->dtype, WS_DTYPE_F32,
			             "the gradient of a parameter is fp32");
	ws_graph_destroy(graph);
}

Test(graph, weights_are_cast_once_and_activations_for_every_op)
{
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_amp, 1, &io);
	int casts_of_one = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];
		int again = 0;

		if (op->sub != WS_SUB_CAST || op->payload.phase != WSNVTX_PHASE_forward)
			continue;
		for (int j = 0; j < graph->op_count; j++)
			again += graph->ops[j]->sub == WS_SUB_CAST &&
			         graph->ops[j]->payload.phase == WSNVTX_PHASE_forward &&
			         graph->ops[j]->in[0] == op->in[0];
		if (op->in[0]->role == WS_ROLE_PARAM)
			cr_assert_eq(again, 1, "%s", op->in[0]->name);
		casts_of_one = again > casts_of_one ? again : casts_of_one;
	}
	cr_assert_eq(casts_of_one, 3); /* h, for q, k and v */
	ws_graph_destroy(graph);
}

Test(graph, ops_say_what_they_are_by_kind_and_by_scope)
{
	static const struct {
		const char *path, *message;
		enum wsnvtx_op_kind kind;
	} want[] = {
	        {"forward/embedding", "lookup", WSNVTX_OP_embedding},
	        {"forward/layer 0/rmsnorm", "mean", WSNVTX_OP_norm},
	        {"forward/layer 0/qkv projection", "v linear", WSNVTX_OP_gemm},
	        {"forward/layer 0/qkv projection", "split heads of v", WSNVTX_OP_copy},
	        {"forward/layer 0/rope", "rope k", WSNVTX_OP_rope},
	        {"forward/layer 0/scaled dot product attention/computing softmax", "scale",
	         WSNVTX_OP_scale},
	        {"forward/layer 0/scaled dot product attention/computing softmax", "mask",
	         WSNVTX_OP_mask},
	        {"forward/layer 0/scaled dot product attention/computing softmax", "subtract",
	         WSNVTX_OP_softmax},
	        {"forward/layer 0/swiglu ffn", "sigmoid", WSNVTX_OP_activation},
	        {"forward/layer 0/swiglu ffn", "w3 linear", WSNVTX_OP_gemm},
	        {"forward/layer 0/residual", "add", WSNVTX_OP_elementwise},
	        {"loss/cross-entropy", "gather", WSNVTX_OP_loss},
	        {"backward/cross-entropy", "scatter", WSNVTX_OP_loss},
	        {"backward/cross-entropy", "fill", WSNVTX_OP_fill},
	        {"backward/layer 0/scaled dot product attention/computing softmax", "scale",
	         WSNVTX_OP_scale},
	        {"backward/layer 0/scaled dot product attention/computing softmax", "mask",
	         WSNVTX_OP_mask},
	        {"backward/layer 0/scaled dot product attention/computing softmax", "multiply",
	         WSNVTX_OP_softmax},
	        {"backward/layer 0/rmsnorm", "column sum", WSNVTX_OP_norm},
	        {"backward/layer 0/swiglu ffn", "sigmoid grad", WSNVTX_OP_activation},
	        /* the gradients of h from q, k and v are added: no GEMM */
	        {"backward/layer 0/qkv projection", "add", WSNVTX_OP_elementwise},
	        {"optimizer", "square", WSNVTX_OP_optimizer},
	};
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_fp32, 1, &io);

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		cr_assert_eq(find_op(graph, want[i].path, want[i].message)->payload.op,
		             want[i].kind, "%s/%s", want[i].path, want[i].message);
	ws_graph_destroy(graph);
}

Test(graph, every_op_carries_phase_direction_and_layer)
{
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_fp32, 2, &io);

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];
		const struct ws_scope *root = op->scope;
		const char *layer;
		char path[256];

		while (root->parent)
			root = root->parent;
		path_of(op->scope, path, sizeof(path));
		layer = strstr(path, "layer ");
		switch ((enum wsnvtx_phase)op->payload.phase) {
		case WSNVTX_PHASE_forward:
		case WSNVTX_PHASE_loss:
			cr_assert_eq(op->payload.direction, WSNVTX_DIRECTION_forward);
			break;
		case WSNVTX_PHASE_backward:
			cr_assert_eq(op->payload.direction, WSNVTX_DIRECTION_backward);
			break;
		default:
			cr_assert_str_eq(root->name, "optimizer");
			cr_assert_eq(op->payload.direction, WSNVTX_DIRECTION_none);
			continue; /* its layer is that of the parameter */
		}
		cr_assert_eq(op->payload.layer, layer ? layer[6] - '0' : -1, "%s", path);
	}
	ws_graph_destroy(graph);
}

/* A scope must be one interval of the run, or its range would be opened twice. */
Test(graph, scopes_are_contiguous_in_every_phase)
{
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_amp, 3, &io);
	const struct ws_scope *left[4096];
	int left_count = 0;

	for (int i = 1; i < graph->op_count; i++) {
		const struct ws_scope *now = graph->ops[i]->scope;

		for (const struct ws_scope *s = graph->ops[i - 1]->scope; s; s = s->parent) {
			const struct ws_scope *outer = now;

			while (outer && outer != s)
				outer = outer->parent;
			if (!outer && left_count < 4096)
				left[left_count++] = s;
		}
		for (const struct ws_scope *s = now; s; s = s->parent)
			for (int j = 0; j < left_count; j++)
				cr_assert_neq(s, left[j], "scope %s is entered again", s->name);
	}
	cr_assert_gt(left_count, 50);
	ws_graph_destroy(graph);
}

Test(graph, operands_exist_before_they_are_used)
{
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_amp, 2, &io);
	bool *written = calloc((size_t)graph->tensor_count, sizeof(*written));

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		for (int j = 0; j < op->in_count; j++)
			cr_assert(op->in[j]->role != WS_ROLE_ACTIVATION || written[op->in[j]->id],
			          "%s reads %s", op->message, op->in[j]->name);
		for (int j = 0; j < op->out_count; j++)
			written[op->out[j]->id] = true;
	}
	free(written);
	ws_graph_destroy(graph);
}

Test(graph, two_builds_are_equal_op_by_op)
{
	struct ws_model_io io;
	struct ws_graph *a = transformer(&kernels_amp, 2, &io),
	                *b = transformer(&kernels_amp, 2, &io);

	cr_assert_eq(a->op_count, b->op_count);
	for (int i = 0; i < a->op_count; i++) {
		cr_assert_str_eq(a->ops[i]->message, b->ops[i]->message);
		cr_assert_arr_eq(&a->ops[i]->payload, &b->ops[i]->payload,
		                 sizeof(a->ops[i]->payload));
	}
	ws_graph_destroy(a);
	ws_graph_destroy(b);
}

Test(graph, the_first_error_is_kept_and_later_calls_do_nothing)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *a = kernels_param(r.graph, "a", WS_SHAPE(2, 3));
	struct ws_tensor *b = kernels_param(r.graph, "b", WS_SHAPE(2));
	struct ws_err failure;
	int ops;

	cr_assert_eq(ws_op_binary(r.graph, WS_SUB_ADD, a, b), &r.graph->error_tensor);
	ops = r.graph->op_count;
	cr_assert_eq(ws_op_unary(r.graph, WS_SUB_EXP, a, 0), &r.graph->error_tensor);
	cr_assert_eq(ws_nn_softmax(r.graph, &r.graph->error_tensor), &r.graph->error_tensor);
	cr_assert_eq(r.graph->op_count, ops);
	cr_assert_eq(ws_graph_check(r.graph, &failure), WS_BUG);
	cr_assert_not_null(strstr(failure.text, "add"), "%s", failure.text);
	kernels_close(&r);
}

Test(graph, shapes_that_do_not_fit_are_refused)
{
	struct ws_gemm d = {.batch = 1, .m = 2, .n = 4, .k = 3};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *a = kernels_param(r.graph, "a", WS_SHAPE(2, 3));

	cr_assert_eq(ws_op_gemm(r.graph, a, a, d, WS_SHAPE(2, 4), NULL), &r.graph->error_tensor);
	cr_assert_eq(ws_graph_check(r.graph, NULL), WS_BUG);
	kernels_close(&r);
}

Test(graph, a_tensor_too_large_to_count_is_an_error_of_the_user)
{
	struct kernels_run r = kernels_open(&kernels_fp32);

	cr_assert_eq(kernels_param(r.graph, "huge", WS_SHAPE((int64_t)1 << 40, (int64_t)1 << 40)),
	             &r.graph->error_tensor);
	cr_assert_eq(ws_graph_check(r.graph, NULL), WS_USAGE);
	kernels_close(&r);
}

Test(graph, models_that_cannot_be_built_say_why)
{
	static const struct ws_transformer bad[] = {
	        {.width = 10, .ffn = 8, .layers = 1, .heads = 3, .vocab = 5},
	        {.width = 6,
	         .ffn = 8,
	         .layers = 1,
	         .heads = 2,
	         .vocab = 5}, /* odd heads: no pairs */
	        {.width = 8, .ffn = 8, .layers = 0, .heads = 2, .vocab = 5},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ws_model_io io;
		struct ws_graph *graph;
		struct ws_err failure = {0};

		graph = ws_graph_create(&kernels_fp32);
		cr_assert_eq(ws_transformer_build(graph, &bad[i], 1, 4, true, &io, &failure),
		             WS_USAGE);
		cr_assert_neq(failure.text[0], '\0');
		ws_graph_destroy(graph);
	}
}

Test(graph, backward_needs_a_scalar_or_a_seed_and_something_to_train)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *x = kernels_param(r.graph, "x", WS_SHAPE(3));

	cr_assert_eq(ws_graph_backward(r.graph, ws_op_unary(r.graph, WS_SUB_EXP, x, 0), NULL, NULL),
	             WS_BUG);
	kernels_close(&r);

	r = kernels_open(&kernels_fp32);
	x = ws_graph_tensor(r.graph, "x", WS_ROLE_INPUT, WS_DTYPE_F32, WS_SHAPE(1));
	cr_assert_eq(ws_graph_backward(r.graph, ws_op_unary(r.graph, WS_SUB_EXP, x, 0), NULL, NULL),
	             WS_BUG);
	kernels_close(&r);
}

Test(graph, kernel_names_follow_the_pattern)
{
	static const struct {
		const char *path, *message, *name;
	} want[] = {
	        {"forward/layer 0/qkv projection", "q linear", "ws_gemm_nt_fwd_bf16"},
	        {"backward/layer 0/qkv projection", "q linear grad b", "ws_gemm_tn_bwd_bf16"},
	        {"forward/layer 0/qkv projection", "cast to bf16", "ws_copy_cast_fwd_f32_bf16"},
	        {"backward/layer 0/qkv projection", "cast to fp32", "ws_copy_cast_bwd_bf16_f32"},
	        {"forward/layer 0/rope", "rope q", "ws_elementwise_rotate_fwd_f32"},
	        {"forward/layer 0/residual", "add", "ws_elementwise_add_fwd_f32"},
	        {"forward/layer 0/rmsnorm", "mean", "ws_reduce_mean_fwd_f32"},
	        {"optimizer", "add constant", "ws_elementwise_add_const_f32"},
	};
	struct ws_model_io io;
	struct ws_graph *graph = transformer(&kernels_amp, 1, &io);
	char buf[96];

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		cr_assert_str_eq(ws_op_kernel_name(find_op(graph, want[i].path, want[i].message),
		                                   buf, sizeof(buf)),
		                 want[i].name);
	ws_graph_destroy(graph);
}
