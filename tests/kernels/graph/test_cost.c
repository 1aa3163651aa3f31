#include "tests/support/kernels_run.h"

#include "kernels/graph/graph.h"
#include "kernels/models/model.h"
#include "kernels/nn/layers.h"

static struct ws_graph *full_step(const char *model, const struct ws_precision *precision,
                                  int64_t batch, int64_t context, enum ws_fusion fusion)
{
	struct ws_optimizer adamw = WS_ADAMW_DEFAULT;
	struct ws_model_io io;
	struct ws_graph *graph;

	graph = ws_graph_create(precision);
	graph->fusion = fusion;
	KERNELS_OK(ws_transformer_build(graph, &ws_network_find(model)->transformer, batch, context,
	                                true, &io, err));
	KERNELS_OK(ws_graph_backward(graph, io.loss, NULL, err));
	ws_optim_append(graph, &adamw, NULL);
	KERNELS_OK(ws_graph_check(graph, err));
	return graph;
}

/* Parameters by hand for tiny: 2 (4 64^2 + 3 64 256 + 2 64) + 64 + 2 256 64. */
static const struct {
	const char *model;
	int64_t parameters, tensors;
} sizes[] = {
        {"transformer-tiny", 164160, 21},       {"transformer-small", 128625408, 111},
        {"transformer-medium", 423183360, 219}, {"transformer-large", 969411840, 327},
        {"transformer-xl", 1998235200, 435},    {"transformer-2.7b", 3406809600, 291},
};

Test(cost, parameter_counts_of_all_sizes)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct ws_graph *graph =
		        full_step(sizes[i].model, &kernels_fp32, 1, 1, WS_FUSION_NONE);
		int tensors = 0;

		for (int j = 0; j < graph->tensor_count; j++)
			tensors += graph->tensors[j]->role == WS_ROLE_PARAM;
		cr_assert_eq(ws_graph_param_count(graph), sizes[i].parameters, "%s",
		             sizes[i].model);
		cr_assert_eq(tensors, sizes[i].tensors, "%s", sizes[i].model);
		ws_graph_destroy(graph);
	}
}

/* Batch 4. Published sizes: confirmed elsewhere by tracing the course's own model. */
Test(cost, matmul_flops_of_all_sizes_and_contexts_and_backward_is_exactly_twice)
{
	static const struct {
		const char *model;
		int64_t context;
		uint64_t flops;
	} want[] = {
	        /* tiny by hand: 2 (4 32) 147456 + 2 (4 4 32^2 64) */
	        {"transformer-tiny", 32, 39845888},
	        {"transformer-small", 128, 126244356096},
	        {"transformer-small", 256, 257320550400},
	        {"transformer-small", 512, 533968453632},
	        {"transformer-small", 1024, 1145246318592},
	        {"transformer-medium", 128, 429245071360},
	        {"transformer-medium", 256, 871375044608},
	        {"transformer-medium", 512, 1794289696768},
	        {"transformer-medium", 1024, 3794737823744},
	        {"transformer-large", 128, 991554437120},
	        {"transformer-large", 256, 2007268065280},
	        {"transformer-large", 512, 4111172894720},
	        {"transformer-large", 1024, 8608892846080},
	        {"transformer-xl", 128, 2049782579200},
	        {"transformer-xl", 256, 4139830476800},
	        {"transformer-xl", 512, 8440722227200},
	        {"transformer-xl", 1024, 17525689548800},
	        {"transformer-2.7b", 128, 3483663073280},
	        {"transformer-2.7b", 256, 7010275819520},
	        {"transformer-2.7b", 512, 14192350330880},
	        {"transformer-2.7b", 1024, 29071895429120},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_graph *graph =
		        full_step(want[i].model, &kernels_fp32, 4, want[i].context, WS_FUSION_NONE);
		uint64_t forward = ws_cost_phase(graph, WSNVTX_PHASE_forward).matmul_flops;
		uint64_t backward = ws_cost_phase(graph, WSNVTX_PHASE_backward).matmul_flops;

		cr_assert_eq(forward, want[i].flops, "%s at %d: %llu", want[i].model,
		             (int)want[i].context, (unsigned long long)forward);
		cr_assert_eq(backward, 2 * forward);
		cr_assert_eq(ws_cost_phase(graph, WSNVTX_PHASE_loss).matmul_flops, 0);
		cr_assert_eq(ws_cost_phase(graph, WSNVTX_PHASE_optimizer).matmul_flops, 0);
		ws_graph_destroy(graph);
	}
}

Test(cost, matmul_flops_do_not_depend_on_the_dtype)
{
	struct ws_graph *fp32 =
	        full_step("transformer-small", &kernels_fp32, 4, 128, WS_FUSION_NONE);
	struct ws_graph *amp = full_step("transformer-small", &kernels_amp, 4, 128, WS_FUSION_NONE);

	cr_assert_eq(ws_cost_phase(fp32, WSNVTX_PHASE_forward).matmul_flops,
	             ws_cost_phase(amp, WSNVTX_PHASE_forward).matmul_flops);
	cr_assert_eq(ws_cost_phase(fp32, WSNVTX_PHASE_backward).matmul_flops,
	             ws_cost_phase(amp, WSNVTX_PHASE_backward).matmul_flops);
	ws_graph_destroy(fp32);
	ws_graph_destroy(amp);
}

static uint64_t flops_of(const struct ws_graph *graph, enum wsnvtx_phase phase,
                         enum wsnvtx_op_kind kind, const char *message)
{
	uint64_t sum = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct ws_op *op = graph->ops[i];

		if (op->payload.phase == phase && op->payload.op == kind &&
		    (!message || !strcmp(op->message, message)))
			sum += op->payload.flops;
	}
	return sum;
}

/* The seeds' question: 2 d_head / 5 = 25.6 times the FLOPs for one matmul, at any context. */
Test(cost, attention_scores_cost_25_6_times_the_flops_of_softmax)
{
	static const int64_t contexts[] = {128, 1024};

	for (int i = 0; i < 2; i++) {
		struct ws_graph *graph = full_step("transformer-small", &kernels_fp32, 4,
		                                   contexts[i], WS_FUSION_NONE);
		uint64_t elements = (uint64_t)(12 * 4 * 12 * contexts[i] * contexts[i]);
		uint64_t softmax = flops_of(graph, WSNVTX_PHASE_forward, WSNVTX_OP_softmax, NULL);
		uint64_t scores = flops_of(graph, WSNVTX_PHASE_forward, WSNVTX_OP_gemm, "q k^T");

		cr_assert_eq(softmax, 5 * elements);
		cr_assert_eq(scores * 10, softmax * 256);
		cr_assert_eq(flops_of(graph, WSNVTX_PHASE_forward, WSNVTX_OP_gemm, "p v"), scores);
		ws_graph_destroy(graph);
	}
}

/*
 * Bytes outside the GEMMs of a forward pass in fp32, elements a layer:
 * RMSNorm 7 N d each, residuals 3 N d each, RoPE 2 N d each for q and k, copies of
 * v and o 2 N d each, scale 2 S, mask 2 S, softmax 8 S, SwiGLU 8 N f; and what is
 * small: row results, norm weights, the rope table.
 */
Test(cost, bytes_outside_gemms_follow_the_byte_model)
{
	const int64_t n = 4 * 512, d = 768, f = 3072, s = 4 * 12 * 512 * 512, rows = 4 * 12 * 512;
	const int64_t table = 2 * 512 * 32;
	int64_t layer = (2 * 7 + 2 * 3 + 2 * 2 + 2 * 2) * n * d + 12 * s + 8 * n * f;
	/* a norm: mean 1, eps 2, rsqrt 2, multiply 1, weight d; softmax: max 2, sum 2; rope: tables
	 */
	int64_t small = 2 * (6 * n + d) + 4 * rows + 2 * table;
	int64_t outside = 7 * n * d + 6 * n + d /* final norm */ + 2 * n * d + n /* embedding */;
	struct ws_graph *graph =
	        full_step("transformer-small", &kernels_fp32, 4, 512, WS_FUSION_NONE);
	uint64_t bytes = 0;

	for (int i = 0; i < graph->op_count; i++) {
		const struct wsnvtx_op *p = &graph->ops[i]->payload;

		if (p->phase == WSNVTX_PHASE_forward && p->op != WSNVTX_OP_gemm)
			bytes += p->bytes_read + p->bytes_written;
	}
	cr_assert_eq(bytes, 4 * (uint64_t)(12 * (layer + small) + outside), "%llu",
	             (unsigned long long)bytes);
	ws_graph_destroy(graph);
}

Test(cost, gemm_moves_each_operand_once)
{
	struct ws_gemm d = {.batch = 3, .m = 5, .n = 7, .k = 11, .trans_b = true};
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *a =
	        ws_graph_tensor(r.graph, "a", WS_ROLE_INPUT, WS_DTYPE_BF16, WS_SHAPE(3, 5, 11));
	struct ws_tensor *b =
	        ws_graph_tensor(r.graph, "b", WS_ROLE_INPUT, WS_DTYPE_BF16, WS_SHAPE(3, 7, 11));
	const struct wsnvtx_op *p;

	ws_op_gemm(r.graph, a, b, d, WS_SHAPE(3, 5, 7), NULL);
	p = &r.graph->ops[0]->payload;
	cr_assert_eq(p->flops, 2 * 3 * 5 * 7 * 11);
	cr_assert_eq(p->bytes_read, 2 * 3 * (5 * 11 + 7 * 11));
	cr_assert_eq(p->bytes_written, 2 * 3 * 5 * 7);
	cr_assert_eq(p->batch, 3);
	cr_assert_eq(p->m, 5);
	cr_assert_eq(p->n, 7);
	cr_assert_eq(p->k, 11);
	cr_assert_eq(p->dtype, WSNVTX_DTYPE_bf16);
	kernels_close(&r);
}

Test(cost, embedding_reads_the_rows_it_picks_and_not_the_table)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *table = kernels_param(r.graph, "table", WS_SHAPE(1000, 8));
	struct ws_tensor *index =
	        ws_graph_tensor(r.graph, "index", WS_ROLE_INPUT, WS_DTYPE_I32, WS_SHAPE(6));
	const struct ws_op *op;

	kernels_backward(&r, ws_op_embedding(r.graph, table, index));
	op = r.graph->ops[0];
	cr_assert_eq(op->payload.bytes_read, 6 * 8 * 4 + 6 * 4);
	cr_assert_eq(op->payload.bytes_written, 6 * 8 * 4);
	cr_assert_eq(op->payload.flops, 0);

	op = r.graph->ops[1]; /* the dense gradient starts as zeros: all of it */
	cr_assert_eq(op->sub, WS_SUB_FILL);
	cr_assert_eq(op->payload.bytes_written, 1000 * 8 * 4);
	op = r.graph->ops[2];
	cr_assert_eq(op->sub, WS_SUB_SCATTER_ADD);
	cr_assert_eq(op->payload.bytes_read, 2 * 6 * 8 * 4 + 6 * 4);
	cr_assert_eq(op->payload.bytes_written, 6 * 8 * 4);
	cr_assert_eq(op->payload.flops, 6 * 8);
	kernels_close(&r);
}

Test(cost, mixed_dtypes_count_in_their_own_sizes)
{
	struct kernels_run r = kernels_open(&kernels_fp32);
	struct ws_tensor *a =
	        ws_graph_tensor(r.graph, "a", WS_ROLE_INPUT, WS_DTYPE_F32, WS_SHAPE(4, 10));
	struct ws_tensor *b =
	        ws_graph_tensor(r.graph, "b", WS_ROLE_INPUT, WS_DTYPE_BF16, WS_SHAPE(4, 1));
	const struct wsnvtx_op *p;

	ws_op_binary(r.graph, WS_SUB_MUL, a, b);
	ws_op_cast(r.graph, b, WS_DTYPE_F32);
	p = &r.graph->ops[0]->payload;
	cr_assert_eq(p->bytes_read, 40 * 4 + 4 * 2);
	cr_assert_eq(p->bytes_written, 40 * 4);
	cr_assert_eq(p->flops, 40);
	cr_assert_eq(p->dtype, WSNVTX_DTYPE_fp32);
	p = &r.graph->ops[1]->payload;
	cr_assert_eq(p->op, WSNVTX_OP_cast);
	cr_assert_eq(p->bytes_read, 4 * 2);
	cr_assert_eq(p->bytes_written, 4 * 4);
	cr_assert_eq(p->flops, 0);
	cr_assert_eq(p->dtype, WSNVTX_DTYPE_bf16);
	kernels_close(&r);
}

/* 14 FLOPs and 33 passes of 4 bytes a parameter, and the step size read once a tensor. */
Test(cost, adamw_is_14_flops_and_132_bytes_a_parameter)
{
	struct ws_graph *graph =
	        full_step("transformer-small", &kernels_fp32, 4, 128, WS_FUSION_NONE);
	struct ws_cost cost = ws_cost_phase(graph, WSNVTX_PHASE_optimizer);

	cr_assert_eq(cost.ops, 14 * 111);
	cr_assert_eq(cost.flops, 14 * 128625408ull);
	cr_assert_eq(cost.bytes_read + cost.bytes_written, 132 * 128625408ull + 4 * 111);
	ws_graph_destroy(graph);
}

/* --- of fused graphs
 * ------------------------------------------------------------------------------------- */

Test(cost, matmul_flops_and_parameters_are_those_of_the_other_form)
{
	static const char *const models[] = {"transformer-tiny", "transformer-small",
	                                     "transformer-2.7b"};

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		struct ws_graph *none = full_step(models[i], &kernels_fp32, 4, 256, WS_FUSION_NONE);
		struct ws_graph *full = full_step(models[i], &kernels_fp32, 4, 256, WS_FUSION_FULL);

		for (int p = WSNVTX_PHASE_forward; p <= WSNVTX_PHASE_optimizer; p++)
			cr_assert_eq(ws_cost_phase(full, (enum wsnvtx_phase)p).matmul_flops,
			             ws_cost_phase(none, (enum wsnvtx_phase)p).matmul_flops);
		cr_assert_eq(ws_graph_param_count(full), ws_graph_param_count(none));
		ws_graph_destroy(none);
		ws_graph_destroy(full);
	}
}

/*
 * Elements outside the GEMMs of a layer's forward pass: norms 2 N d each, rope and
 * head split of q, k, v 6 N d, softmax 2 S, merge 2 N d, residuals 3 N d each,
 * SwiGLU 3 N f; and what is small: norm weights, 1 / rms, the rope table.
 */
Test(cost, bytes_outside_gemms_are_the_fused_minimum)
{
	const int64_t n = 4 * 512, d = 768, f = 3072, s = 4 * 12 * 512 * 512;
	int64_t layer = (2 * 2 + 6 + 2 + 2 * 3) * n * d + 2 * s + 3 * n * f;
	int64_t small = 2 * (d + n) + 2 * 512 * 32;
	int64_t outside = 2 * n * d + d + n /* final norm */ + 2 * n * d + n /* embedding */;
	struct ws_graph *g = full_step("transformer-small", &kernels_fp32, 4, 512, WS_FUSION_FULL);
	uint64_t bytes = 0;

	for (int i = 0; i < g->op_count; i++) {
		const struct wsnvtx_op *p = &g->ops[i]->payload;

		if (p->phase == WSNVTX_PHASE_forward && p->op != WSNVTX_OP_gemm)
			bytes += p->bytes_read + p->bytes_written;
	}
	cr_assert_eq(bytes, 4 * (uint64_t)(12 * (layer + small) + outside), "%llu",
	             (unsigned long long)bytes);
	ws_graph_destroy(g);
}

static struct ws_cost cost_of_sub(const struct ws_graph *g, enum ws_sub sub)
{
	struct ws_cost sum = {0};

	for (int i = 0; i < g->op_count; i++) {
		const struct wsnvtx_op *p = &g->ops[i]->payload;

		if (g->ops[i]->sub != sub)
			continue;
		sum.ops++;
		sum.flops += p->flops;
		sum.bytes_read += p->bytes_read;
		sum.bytes_written += p->bytes_written;
	}
	return sum;
}

Test(cost, flops_and_bytes_of_each_fused_op_by_hand)
{
	const uint64_t n = 4 * 128, d = 768, f = 3072, v = 10000, s = 4 * 12 * 128 * 128;
	const uint64_t table = 2 * 128 * 32, params = 128625408;
	const struct {
		enum ws_sub sub;
		uint64_t ops, flops, read, written; /* all but ops: of one, elements */
	} want[] = {
	        {WS_SUB_CAUSAL_SOFTMAX, 12, 6 * s, s, s},
	        {WS_SUB_CAUSAL_SOFTMAX_GRAD, 12, 5 * s, 2 * s, s},
	        {WS_SUB_RMS_NORM, 25, 4 * n * d, n * d + d, n * d + n},
	        {WS_SUB_RMS_NORM_GRAD, 25, 9 * n * d, 2 * n * d + d + n, n * d + d},
	        {WS_SUB_SWIGLU, 12, 6 * n * f, 2 * n * f, n * f},
	        {WS_SUB_SWIGLU_GRAD, 12, 12 * n * f, 3 * n * f, 2 * n * f},
	        {WS_SUB_ROTATE_QKV, 12, 6 * n * d, 3 * n * d + table, 3 * n * d},
	        {WS_SUB_ROTATE_QKV_BACK, 12, 6 * n * d, 3 * n * d + table, 3 * n * d},
	        {WS_SUB_CROSS_ENTROPY, 1, 6 * n * v + n, n * v + n, n * v + 1},
	        {WS_SUB_ADAMW_CS336_ALL, 1, 14 * params, 4 * params + 1, 3 * params},
	};
	struct ws_graph *g = full_step("transformer-small", &kernels_fp32, 4, 128, WS_FUSION_FULL);

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct ws_cost cost = cost_of_sub(g, want[i].sub);
		const char *name = ws_sub_info(want[i].sub)->symbol;

		cr_assert_eq(cost.ops, (int)want[i].ops, "%s: %d", name, cost.ops);
		cr_assert_eq(cost.flops, want[i].ops * want[i].flops, "%s", name);
		cr_assert_eq(cost.bytes_read, 4 * want[i].ops * want[i].read, "%s", name);
		cr_assert_eq(cost.bytes_written, 4 * want[i].ops * want[i].written, "%s", name);
	}
	ws_graph_destroy(g);
}
