#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#include "formats/op_cost/op_cost.h"
#include "formats/schema/schema.h"
#include "kernels/nvtx/warpsheet_nvtx.h"

static struct ws_bytes text(const char *s)
{
	return (struct ws_bytes){s, s ? strlen(s) : 0};
}

static struct ws_op_cost strided(const char *name, const char *dims, const char *strides,
                                 const char *types, const char *inputs)
{
	struct ws_op_desc op = {.name = text(name),
	                        .dims = text(dims),
	                        .types = text(types),
	                        .strides = text(strides),
	                        .inputs = text(inputs)};
	struct ws_op_cost out;

	ws_op_cost(&op, &out);
	return out;
}

static struct ws_op_cost cost(const char *name, const char *dims, const char *types,
                              const char *inputs)
{
	return strided(name, dims, "", types, inputs);
}

/* known, FLOPs, bytes read, bytes written */
#define IS(c, known_, flops_, read_, written_)                     \
	do {                                                       \
		struct ws_op_cost is_ = (c);                       \
                                                                   \
		cr_assert(eq(int, is_.known, WS_COST_##known_));   \
		cr_assert(eq(u64, is_.flops, (flops_)));           \
		cr_assert(eq(u64, is_.bytes_read, (read_)));       \
		cr_assert(eq(u64, is_.bytes_written, (written_))); \
	} while (0)
#define UNKNOWN(c) IS(c, NONE, 0, 0, 0)

Test(op_cost, values_of_kinds_directions_and_dtypes_are_those_of_the_public_header)
{
	cr_assert(eq(int, WS_NVTX_OP_OTHER, WSNVTX_OP_other));
	cr_assert(eq(int, WS_NVTX_OP_GEMM, WSNVTX_OP_gemm));
	cr_assert(eq(int, WS_NVTX_OP_CONV, WSNVTX_OP_conv));
	cr_assert(eq(int, WS_NVTX_OP_ATTENTION, WSNVTX_OP_attention));
	cr_assert(eq(int, WS_NVTX_OP_SOFTMAX, WSNVTX_OP_softmax));
	cr_assert(eq(int, WS_NVTX_OP_NORM, WSNVTX_OP_norm));
	cr_assert(eq(int, WS_NVTX_OP_ACTIVATION, WSNVTX_OP_activation));
	cr_assert(eq(int, WS_NVTX_OP_ELEMENTWISE, WSNVTX_OP_elementwise));
	cr_assert(eq(int, WS_NVTX_OP_EMBEDDING, WSNVTX_OP_embedding));
	cr_assert(eq(int, WS_NVTX_OP_LOSS, WSNVTX_OP_loss));
	cr_assert(eq(int, WS_NVTX_OP_OPTIMIZER, WSNVTX_OP_optimizer));
	cr_assert(eq(int, WS_NVTX_OP_REDUCE, WSNVTX_OP_reduce));
	cr_assert(eq(int, WS_NVTX_OP_COPY, WSNVTX_OP_copy));
	cr_assert(eq(int, WS_NVTX_OP_CAST, WSNVTX_OP_cast));
	cr_assert(eq(int, WS_NVTX_OP_POOL, WSNVTX_OP_pool));
	cr_assert(eq(int, WS_NVTX_OP_RNG, WSNVTX_OP_rng));
	cr_assert(eq(int, WS_NVTX_OP_FILL, WSNVTX_OP_fill));
	cr_assert(eq(int, WS_OP_FORWARD, WSNVTX_DIRECTION_forward));
	cr_assert(eq(int, WS_OP_BACKWARD, WSNVTX_DIRECTION_backward));
	cr_assert(eq(int, WS_DTYPE_FP32, WSNVTX_DTYPE_fp32));
	cr_assert(eq(int, WS_DTYPE_FP16, WSNVTX_DTYPE_fp16));
	cr_assert(eq(int, WS_DTYPE_BF16, WSNVTX_DTYPE_bf16));
	cr_assert(eq(int, WS_DTYPE_FP64, WSNVTX_DTYPE_fp64));
	cr_assert(eq(int, WS_DTYPE_INT8, WSNVTX_DTYPE_int8));
	cr_assert(eq(int, WS_DTYPE_INT32, WSNVTX_DTYPE_int32));
	cr_assert(eq(int, WS_DTYPE_INT64, WSNVTX_DTYPE_int64));
	cr_assert(eq(int, WS_DTYPE_FP8, WSNVTX_DTYPE_fp8));
	cr_assert(eq(int, WS_DTYPE_BOOL8, WSNVTX_DTYPE_bool8));
}

/* The unit text of a column names exactly the entries of a list of the public header. */
static void column_lists(int column, const char *const *names, const int *values, size_t n)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_OP_CONFIG);
	const char *unit = def->columns[column].unit;
	size_t entries = 1;

	for (const char *c = unit; *c; c++)
		entries += *c == ',';
	cr_assert(eq(sz, entries, n));
	for (size_t i = 0; i < n; i++) {
		struct ws_bytes name = ws_enum_name(unit, (uint64_t)values[i]);

		cr_assert(eq(sz, name.len, strlen(names[i])), "%s", names[i]);
		cr_assert(eq(int, memcmp(name.ptr, names[i], name.len), 0), "%s", names[i]);
	}
}

Test(op_cost, columns_of_op_config_name_the_entries_of_the_public_header)
{
#define NAME(name, value)  #name,
#define VALUE(name, value) value,
	static const char *const kinds[] = {WSNVTX_OP_KIND_LIST(NAME)};
	static const int kind_values[] = {WSNVTX_OP_KIND_LIST(VALUE)};
	static const char *const dtypes[] = {WSNVTX_DTYPE_LIST(NAME)};
	static const int dtype_values[] = {WSNVTX_DTYPE_LIST(VALUE)};
	static const char *const directions[] = {WSNVTX_DIRECTION_LIST(NAME)};
	static const int direction_values[] = {WSNVTX_DIRECTION_LIST(VALUE)};

	column_lists(WS_COL_op_config_kind, kinds, kind_values, sizeof(kinds) / sizeof(*kinds));
	column_lists(WS_COL_op_config_dtype, dtypes, dtype_values,
	             sizeof(dtypes) / sizeof(*dtypes));
	column_lists(WS_COL_op_config_direction, directions, direction_values,
	             sizeof(directions) / sizeof(*directions));
}

/* --- matrix products --- */

Test(op_cost, mm_is_2mnk)
{
	struct ws_op_cost c =
	        cost("aten::mm", "[[32, 1000], [1000, 2048]]", "[\"float\",\"float\"]", "");

	IS(c, FLOPS_AND_BYTES, 2ull * 32 * 1000 * 2048, 4 * (32 * 1000 + 1000 * 2048),
	   4 * 32 * 2048);
	cr_assert(eq(int, c.kind, WS_NVTX_OP_GEMM));
	cr_assert(eq(int, c.dtype, WS_DTYPE_FP32));
	cr_assert(eq(u64, c.batch, 1));
	cr_assert(eq(u64, c.m, 32));
	cr_assert(eq(u64, c.n, 2048));
	cr_assert(eq(u64, c.k, 1000));
}

Test(op_cost, addmm_counts_its_bias)
{
	/* the first row of the published table: 0.0739968 GFLOP and 0.7763671875 MiB */
	IS(cost("aten::addmm", "[[512],[141,512],[512,512],[],[]]",
	        "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"1\",\"1\"]"),
	   FLOPS_AND_BYTES, 73996800, 2 * (512 + 141 * 512 + 512 * 512), 2 * 141 * 512);
	/* beta = 0: it is not read */
	IS(cost("aten::addmm", "[[512],[141,512],[512,512],[],[]]",
	        "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"0\",\"1\"]"),
	   FLOPS_AND_BYTES, 2ull * 141 * 512 * 512, 2 * (141 * 512 + 512 * 512), 2 * 141 * 512);
}

Test(op_cost, batched_products_multiply)
{
	struct ws_op_cost c =
	        cost("aten::bmm", "[[8,16,32],[8,32,4]]", "[\"c10::Half\",\"c10::Half\"]", "");

	IS(c, FLOPS_AND_BYTES, 2ull * 8 * 16 * 4 * 32, 2 * 8 * (16 * 32 + 32 * 4), 2 * 8 * 16 * 4);
	cr_assert(eq(u64, c.batch, 8));
	cr_assert(eq(int, c.dtype, WS_DTYPE_FP16));
	IS(cost("aten::baddbmm", "[[8,16,4],[8,16,32],[8,32,4],[],[]]",
	        "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"1\",\"0.125\"]"),
	   FLOPS_AND_BYTES, 2ull * 8 * 16 * 4 * 32 + 8 * 16 * 4,
	   4 * (8 * 16 * 4 + 8 * 16 * 32 + 8 * 32 * 4), 4 * 8 * 16 * 4);
	IS(cost("aten::matmul", "[[2,1,16,32],[8,32,4]]", "[\"float\",\"float\"]", ""),
	   FLOPS_AND_BYTES, 2ull * 2 * 8 * 16 * 4 * 32, 4 * (2 * 16 * 32 + 8 * 32 * 4),
	   4 * 2 * 8 * 16 * 4);
}

Test(op_cost, linear_takes_any_leading_dimensions)
{
	IS(cost("aten::linear", "[[4,7,10],[3,10],[3]]", "[\"float\",\"float\",\"float\"]", ""),
	   FLOPS_AND_BYTES, 2ull * 28 * 3 * 10 + 28 * 3, 4 * (280 + 30 + 3), 4 * 28 * 3);
	IS(cost("aten::linear", "[[4,7,10],[3,10],[]]", "[\"float\",\"float\",\"\"]", ""),
	   FLOPS_AND_BYTES, 2ull * 28 * 3 * 10, 4 * (280 + 30), 4 * 28 * 3);
}

Test(op_cost, shapes_that_do_not_fit_have_no_cost)
{
	UNKNOWN(cost("aten::mm", "[[2,3],[4,5]]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[[2,3]]", "[\"float\"]", ""));
	UNKNOWN(cost("aten::bmm", "[[2,3,4],[3,4,5]]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "", "", ""));
	UNKNOWN(cost("aten::mm", "[[2,3],[3,5]]", "", ""));
	UNKNOWN(cost("aten::matmul", "[[2,3,4],[5,4,6]]", "[\"float\",\"float\"]", ""));
}

/* --- convolutions --- */

#define CONV_TYPES "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"Scalar\"]"

Test(op_cost, conv2d_needs_the_recorded_stride_and_padding)
{
	/* ResNet-50's first: 224 + 2*3 - 7 over 2, + 1 = 112 */
	const char *dims = "[[32,3,224,224],[64,3,7,7],[],[],[],[],[]]";
	const char *types = "[\"float\",\"float\",\"\",\"\",\"\",\"\",\"Scalar\"]";
	const uint64_t results = 32ull * 64 * 112 * 112;

	IS(cost("aten::conv2d", dims, types,
	        "[\"\",\"\",\"\",\"[2, 2]\",\"[3, 3]\",\"[1, 1]\",\"1\"]"),
	   FLOPS_AND_BYTES, 2 * results * 3 * 49, 4ull * (32 * 3 * 224 * 224 + 64 * 3 * 49),
	   4 * results);
	UNKNOWN(cost("aten::conv2d", dims, types, ""));
}

Test(op_cost, bias_groups_dilation_and_named_padding_of_convolutions_count)
{
	/* depthwise: each filter has one channel */
	IS(cost("aten::convolution", "[[1,8,10],[8,1,3],[8],[],[],[],[],[],[]]",
	        "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"[1]\",\"[2]\",\"[2]\",\"False\",\"[0]\",\"8\"]"),
	   FLOPS_AND_BYTES, 2ull * 8 * 10 * 3 + 8 * 10, 4 * (80 + 24 + 8), 4 * 80);
	IS(cost("aten::conv1d", "[[1,8,10],[4,8,3],[4],[],[],[],[]]", CONV_TYPES,
	        "[\"\",\"\",\"\",\"[1]\",\"same\",\"[1]\",\"1\"]"),
	   FLOPS_AND_BYTES, 2ull * 4 * 10 * 24 + 40, 4 * (80 + 96 + 4), 4 * 40);
	IS(cost("aten::conv1d", "[[1,8,10],[4,8,3],[4],[],[],[],[]]", CONV_TYPES,
	        "[\"\",\"\",\"\",\"[1]\",\"valid\",\"[1]\",\"1\"]"),
	   FLOPS_AND_BYTES, 2ull * 4 * 8 * 24 + 32, 4 * (80 + 96 + 4), 4 * 32);
	/* cuDNN's own order: padding before stride, no bias */
	IS(cost("aten::cudnn_convolution", "[[1,8,10],[4,8,3],[],[],[],[],[],[],[]]",
	        "[\"float\",\"float\",\"\",\"\",\"\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"[0]\",\"[2]\",\"[1]\",\"1\",\"False\",\"False\",\"True\"]"),
	   FLOPS_AND_BYTES, 2ull * 4 * 4 * 24, 4 * (80 + 96), 4 * 16);
	/* MIOpen's: a bias, then padding before stride */
	IS(cost("aten::miopen_convolution", "[[1,8,10],[4,8,3],[],[],[],[],[],[],[]]",
	        "[\"float\",\"float\",\"\",\"\",\"\",\"\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"[0]\",\"[2]\",\"[1]\",\"1\",\"False\",\"False\"]"),
	   FLOPS_AND_BYTES, 2ull * 4 * 4 * 24, 4 * (80 + 96), 4 * 16);
}

Test(op_cost, a_transposed_or_impossible_convolution_has_no_cost)
{
	UNKNOWN(cost("aten::convolution", "[[1,8,10],[8,4,3],[],[],[],[],[],[],[]]",
	             "[\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"Scalar\"]",
	             "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"True\",\"[0]\",\"1\"]"));
	UNKNOWN(cost("aten::conv1d", "[[1,8,2],[4,8,3],[4],[],[],[],[]]", CONV_TYPES,
	             "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"1\"]"));
	UNKNOWN(cost("aten::conv1d", "[[1,8,10],[4,8,3],[4],[],[],[],[]]", CONV_TYPES,
	             "[\"\",\"\",\"\",\"[0]\",\"[0]\",\"[1]\",\"1\"]"));
}

Test(op_cost, convolution_backward_counts_the_gradients_that_are_wanted)
{
	const char *dims = "[[1,4,8],[1,8,10],[4,8,3],[],[],[],[],[],[],[],[]]";
	const char *types = "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\","
	                    "\"Scalar\",\"\"]";
	const uint64_t pass = 2ull * 32 * 24;

	IS(cost("aten::convolution_backward", dims, types,
	        "[\"\",\"\",\"\",\"[4]\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"1\","
	        "\"[True, True, True]\"]"),
	   FLOPS_AND_BYTES, 2 * pass + 32, 4 * (32 + 96 + 80), 4 * (80 + 96 + 4));
	IS(cost("aten::convolution_backward", dims, types,
	        "[\"\",\"\",\"\",\"[0]\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"1\","
	        "\"[False, True, False]\"]"),
	   FLOPS_AND_BYTES, pass, 4 * (32 + 80), 4 * 96);
	UNKNOWN(cost("aten::convolution_backward", dims, types, ""));
}

Test(op_cost, the_2021_backward_ops_have_what_their_shapes_tell)
{
	/* the sizes of the result are a value, which was not recorded */
	IS(cost("aten::cudnn_convolution_backward_input",
	        "[[],[32,2048,7,7],[2048,512,1,1],[],[],[],[],[],[],[]]",
	        "[\"GenericList\",\"float\",\"float\",\"GenericList\",\"GenericList\","
	        "\"GenericList\",\"Int\",\"Bool\",\"Bool\",\"Bool\"]",
	        ""),
	   FLOPS, 2ull * 32 * 2048 * 49 * 512, 0, 0);
	UNKNOWN(cost("aten::cudnn_convolution_backward_weight",
	             "[[],[32,2048,7,7],[32,512,7,7],[],[],[],[],[],[],[]]",
	             "[\"GenericList\",\"float\",\"float\",\"GenericList\",\"GenericList\","
	             "\"GenericList\",\"Int\",\"Bool\",\"Bool\",\"Bool\"]",
	             ""));
	IS(cost("aten::cudnn_convolution_backward_weight", "[[],[32,2048,7,7],[32,512,7,7]]",
	        "[\"\",\"float\",\"float\"]", "[\"[2048, 512, 1, 1]\"]"),
	   FLOPS_AND_BYTES, 2ull * 32 * 2048 * 49 * 512, 4ull * 32 * 49 * (2048 + 512),
	   4ull * 2048 * 512);
}

/* --- attention --- */

#define QKV "\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\""

Test(op_cost, fused_attention_is_two_products_for_each_pair)
{
	/* the row of the published table: 0.040716288 GFLOP, 0.55078125 MiB */
	IS(cost("aten::_scaled_dot_product_flash_attention",
	        "[[1,8,141,64],[1,8,141,64],[1,8,141,64],[],[],[],[]]",
	        "[" QKV ",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"0.125\"]"),
	   FLOPS_AND_BYTES, 40716288, 3 * 144384, 144384);
	/* the same in the other layout */
	IS(cost("aten::_flash_attention_forward", "[[1,141,8,64],[1,141,8,64],[1,141,8,64]]",
	        "[" QKV "]", ""),
	   FLOPS_AND_BYTES, 40716288, 3 * 144384, 144384);
}

Test(op_cost, a_causal_kernel_skips_the_pairs_above_the_diagonal)
{
	IS(cost("aten::_scaled_dot_product_flash_attention",
	        "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[],[],[],[]]",
	        "[" QKV ",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]"),
	   FLOPS_AND_BYTES, 2ull * 2 * 4 * (16 * 17 / 2) * 16, 3 * 2048, 2048);
	/* one query over many keys: nothing is skipped */
	IS(cost("aten::_scaled_dot_product_flash_attention",
	        "[[2,4,1,8],[2,4,16,8],[2,4,16,8],[],[],[],[]]",
	        "[" QKV ",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\"]"),
	   FLOPS_AND_BYTES, 2ull * 2 * 4 * 16 * 16, 128 + 2 * 2048, 128);
}

Test(op_cost, attention_backward_is_five_products)
{
	IS(cost("aten::_scaled_dot_product_flash_attention_backward",
	        "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[2,4,16,8],[2,4,16,8]]",
	        "[\"c10::BFloat16\"," QKV ",\"c10::BFloat16\"]", ""),
	   FLOPS_AND_BYTES, 5ull * 2 * 2 * 4 * 256 * 8, 5 * 2048, 3 * 2048);
	/* 16 tokens, causal: 136 pairs */
	IS(cost("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
	        "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[2,4,16,8],[2,4,16,8],[2,4,16],[],[],[],[]]",
	        "[\"c10::BFloat16\"," QKV ",\"c10::BFloat16\",\"float\",\"Scalar\",\"Scalar\",\"\","
	        "\"\"]",
	        "[\"\",\"\",\"\",\"\",\"\",\"\",\"0.\",\"True\",\"\",\"\"]"),
	   FLOPS_AND_BYTES, 5ull * 2 * 2 * 4 * 136 * 8, 5 * 2048, 3 * 2048);
}

Test(op_cost, packed_sequences_have_no_cost)
{
	UNKNOWN(cost("aten::_flash_attention_forward", "[[282,8,64],[282,8,64],[282,8,64]]",
	             "[" QKV "]", ""));
}

/* --- the rest --- */

Test(op_cost, softmax_is_five_an_element)
{
	IS(cost("aten::_softmax", "[[4,10],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 200, 160, 160);
	IS(cost("aten::_log_softmax", "[[4,10],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 200, 160, 160);
	IS(cost("aten::_softmax_backward_data", "[[4,10],[4,10],[],[]]",
	        "[\"float\",\"float\",\"Scalar\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 160, 320, 160);
}

Test(op_cost, norms_read_their_parameters)
{
	IS(cost("aten::native_layer_norm", "[[4,10],[],[10],[10],[]]",
	        "[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 280, 4 * 60, 160);
	IS(cost("aten::native_layer_norm_backward", "[[4,10],[4,10],[],[4,1],[4,1],[10],[10],[]]",
	        "[\"float\",\"float\",\"ScalarList\",\"float\",\"float\",\"float\",\"float\",\"\"]",
	        ""),
	   FLOPS_AND_BYTES, 560, 4 * (40 + 40 + 4 + 4 + 10 + 10), 4 * (40 + 20));
}

Test(op_cost, batch_norm_depends_on_training)
{
	const char *dims = "[[2,3,5],[3],[3],[3],[3],[],[],[]]";
	const char *types = "[\"float\",\"float\",\"float\",\"float\",\"float\",\"Scalar\","
	                    "\"Scalar\",\"Scalar\"]";

	IS(cost("aten::cudnn_batch_norm", dims, types,
	        "[\"\",\"\",\"\",\"\",\"\",\"True\",\"0.1\",\"1e-05\"]"),
	   FLOPS_AND_BYTES, 240, 4 * (30 + 12), 120);
	IS(cost("aten::batch_norm", dims, types,
	        "[\"\",\"\",\"\",\"\",\"\",\"False\",\"0.1\",\"1e-05\"]"),
	   FLOPS_AND_BYTES, 60, 4 * (30 + 12), 120);
	UNKNOWN(cost("aten::cudnn_batch_norm", dims, types, ""));
}

Test(op_cost, a_broadcast_operand_counts_at_its_stored_size)
{
	IS(cost("aten::add", "[[4,1,10],[3,10],[]]", "[\"float\",\"float\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 120, 4 * (40 + 30), 480);
	UNKNOWN(cost("aten::add", "[[4,3],[4,2]]", "[\"float\",\"float\"]", ""));
}

/* As recorded of a ResNet-50, of torch.compile and of a trace with CUDA graphs. */
Test(op_cost, a_tensor_passed_as_out_is_written_and_not_read)
{
	const uint64_t n = 32ull * 64 * 112 * 112, of_gemm = 32768ull * 2048;

	IS(cost("aten::clamp_min", "[[32,64,112,112],[],[32,64,112,112]]",
	        "[\"float\",\"Int\",\"float\"]", ""),
	   FLOPS_AND_BYTES, n, 4 * n, 4 * n);
	/* empty so far: the operation makes it as large as its result */
	IS(cost("aten::abs", "[[4096],[0]]", "[\"float\",\"float\"]", ""), FLOPS_AND_BYTES, 4096,
	   4 * 4096, 4 * 4096);
	IS(cost("aten::mul", "[[128,2862],[],[128,2862]]", "[\"float\",\"double\",\"float\"]", ""),
	   FLOPS_AND_BYTES, 128 * 2862, 4 * 128 * 2862, 4 * 128 * 2862);
	IS(cost("aten::logical_and", "[[4096],[4096],[4096]]", "[\"bool\",\"bool\",\"bool\"]", ""),
	   FLOPS_AND_BYTES, 4096, 8192, 4096);
	IS(cost("aten::mm", "[[32768,2048],[2048,2048],[32768,2048]]", "[" QKV "]", ""),
	   FLOPS_AND_BYTES, 2 * of_gemm * 2048, 2 * (of_gemm + 2048 * 2048), 2 * of_gemm);
	IS(cost("aten::cat", "[[[2,3],[4,3]],[],[6,3]]",
	        "[[\"float\",\"float\"],\"Scalar\",\"float\"]", ""),
	   FLOPS_AND_BYTES, 0, 72, 72);
}

Test(op_cost, what_is_passed_as_out_says_the_type_of_the_result)
{
	struct ws_op_cost c = cost("aten::mean", "[[4,10],[],[],[],[4]]",
	                           "[\"c10::BFloat16\",\"ScalarList\",\"Scalar\",\"\",\"float\"]",
	                           "[\"\",\"[1]\",\"False\",\"\",\"\"]");

	IS(c, FLOPS_AND_BYTES, 40, 80, 16);
	cr_assert(eq(int, c.dtype, WS_DTYPE_BF16));
	IS(cost("aten::_int_mm", "[[2,3],[3,5],[2,5]]", "[\"signed char\",\"signed char\",\"int\"]",
	        ""),
	   FLOPS_AND_BYTES, 60, 21, 40);
	/* a number beside max is out= of all elements, or the other operand: bytes unknown */
	IS(cost("aten::max", "[[4,10],[]]", "[\"float\",\"float\"]", ""), FLOPS, 40, 0, 0);
}

/* As recorded of a TimeSformer and of SGLang. */
Test(op_cost, an_expanded_input_is_read_once)
{
	IS(strided("aten::copy_", "[[256],[256],[]]", "[[1],[0],[]]",
	           "[\"int\",\"int\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 4, 1024);
	IS(strided("aten::copy_", "[[1,8,1,1,1,768],[1,8,1,1,1,768],[]]",
	           "[[6144,768,768,6144,768,1],[0,0,19268352,19268352,768,1],[]]",
	           "[\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 2 * 768, 2 * 8 * 768);
	/* a class token for each image of a batch, in a list */
	IS(strided("aten::cat", "[[[128,1,768],[128,196,768]],[]]",
	           "[[[0,768,1],[150528,1,196]],[]]",
	           "[[\"c10::BFloat16\",\"c10::BFloat16\"],\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 2ull * (768 + 128 * 196 * 768), 2ull * 128 * 197 * 768);
	/* what an operation makes of it is no longer expanded; a product computes all of it */
	IS(strided("aten::_softmax", "[[4,10],[],[]]", "[[0,1],[],[]]",
	           "[\"float\",\"Scalar\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 200, 40, 160);
	IS(strided("aten::bmm", "[[8,2,3],[8,3,5]]", "[[6,3,1],[0,5,1]]", "[\"float\",\"float\"]",
	           ""),
	   FLOPS_AND_BYTES, 2 * 8 * 30, 4 * (48 + 15), 4 * 80);
	/* windows that overlap */
	IS(strided("aten::abs", "[[10,5]]", "[[1,1]]", "[\"float\"]", ""), FLOPS_AND_BYTES, 50, 56,
	   200);
}

Test(op_cost, strides_that_tell_nothing_change_nothing)
{
	static const char *const strides[] = {"[[5,1]]",   "[[-1,0]]",    "[[0]]", "[[]]", "[]",
	                                      "[[[0,0]]]", "[[\"x\",0]]", "[0",    "0"};

	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++)
		IS(strided("aten::abs", "[[10,5]]", strides[i], "[\"float\"]", ""), FLOPS_AND_BYTES,
		   50, 200, 200);
	IS(strided("aten::cat", "[[[2,3],[4,3]],[]]", "[[[0,0]],[]]",
	           "[[\"float\",\"float\"],\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 72, 72);
	/* a tensor without elements reads nothing, whatever its strides */
	IS(strided("aten::abs", "[[0,5]]", "[[0,1]]", "[\"float\"]", ""), FLOPS_AND_BYTES, 0, 0, 0);
	UNKNOWN(strided("aten::abs", "[[10,5]]", "[[9223372036854775807,9223372036854775807]]",
	                "[\"float\"]", ""));
}

Test(op_cost, results_have_the_type_that_pytorch_gives_them)
{
	/* bf16 and a double without dimensions: bf16 */
	IS(cost("aten::mul", "[[10],[]]", "[\"c10::BFloat16\",\"double\"]", ""), FLOPS_AND_BYTES,
	   10, 20, 20);
	/* bf16 and fp32: fp32 */
	IS(cost("aten::mul", "[[10],[10]]", "[\"c10::BFloat16\",\"float\"]", ""), FLOPS_AND_BYTES,
	   10, 60, 40);
	/* integers divided: fp32 */
	IS(cost("aten::div", "[[10],[10]]", "[\"long int\",\"long int\"]", ""), FLOPS_AND_BYTES, 10,
	   160, 40);
	/* a comparison: one byte */
	IS(cost("aten::eq", "[[10],[]]", "[\"float\",\"Scalar\"]", ""), FLOPS_AND_BYTES, 10, 40,
	   10);
	/* in place: as the first input */
	IS(cost("aten::mul_", "[[10],[10]]", "[\"c10::BFloat16\",\"float\"]", ""), FLOPS_AND_BYTES,
	   10, 60, 20);
}

Test(op_cost, gelu_depends_on_its_formula)
{
	IS(cost("aten::gelu", "[[10],[]]", "[\"float\",\"\"]", "[\"\",\"none\"]"), FLOPS_AND_BYTES,
	   70, 40, 40);
	IS(cost("aten::gelu", "[[10],[]]", "[\"float\",\"\"]", "[\"\",\"tanh\"]"), FLOPS_AND_BYTES,
	   90, 40, 40);
}

Test(op_cost, reductions_write_what_their_axes_leave)
{
	const char *types = "[\"float\",\"ScalarList\",\"Scalar\",\"\"]";

	IS(cost("aten::sum", "[[4,10],[],[],[]]", types, "[\"\",\"[1]\",\"False\",\"\"]"),
	   FLOPS_AND_BYTES, 40, 160, 16);
	IS(cost("aten::mean", "[[4,10],[],[],[]]", types, "[\"\",\"[-1, 0]\",\"True\",\"\"]"),
	   FLOPS_AND_BYTES, 40, 160, 4);
	IS(cost("aten::sum", "[[4,10],[]]", "[\"float\",\"\"]", ""), FLOPS_AND_BYTES, 40, 160, 4);
	IS(cost("aten::sum", "[[4,10],[],[],[]]", types, ""), FLOPS, 40, 0, 0);
	IS(cost("aten::argmax", "[[4,10],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"1\",\"False\"]"),
	   FLOPS_AND_BYTES, 40, 160, 32);
}

Test(op_cost, max_of_two_tensors_is_no_reduction)
{
	struct ws_op_cost c = cost("aten::max", "[[4],[4]]", "[\"float\",\"float\"]", "");

	IS(c, FLOPS_AND_BYTES, 4, 32, 16);
	cr_assert(eq(int, c.kind, WS_NVTX_OP_ELEMENTWISE));
}

Test(op_cost, embeddings_move_the_rows_they_pick)
{
	IS(cost("aten::embedding", "[[30522,512],[1,141],[],[],[]]",
	        "[\"c10::BFloat16\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 141 * 512 * 2 + 141 * 8, 141 * 512 * 2);
	IS(cost("aten::embedding_dense_backward", "[[141,512],[141],[],[],[]]",
	        "[\"float\",\"long int\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	        "[\"\",\"\",\"30522\",\"-1\",\"False\"]"),
	   FLOPS_AND_BYTES, 141 * 512, 141 * 512 * 4 + 141 * 8, 30522ull * 512 * 4);
}

Test(op_cost, copies_and_fills_have_bytes_but_no_flops)
{
	struct ws_op_cost c = cost("aten::copy_", "[[10],[10],[]]",
	                           "[\"c10::BFloat16\",\"float\",\"Scalar\"]", "");

	IS(c, FLOPS_AND_BYTES, 0, 40, 20);
	cr_assert(eq(int, c.kind, WS_NVTX_OP_CAST));
	cr_assert(eq(
	        int,
	        cost("aten::copy_", "[[10],[10],[]]", "[\"float\",\"float\",\"Scalar\"]", "").kind,
	        WS_NVTX_OP_COPY));
	IS(cost("aten::zero_", "[[10]]", "[\"float\"]", ""), FLOPS_AND_BYTES, 0, 0, 40);
	IS(cost("aten::cat", "[[[2,3],[4,3]],[]]", "[[\"float\",\"float\"],\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 72, 72);
}

Test(op_cost, a_fused_optimizer_goes_over_its_lists)
{
	const char *dims = "[[[100],[20]],[[100],[20]],[[100],[20]],[[100],[20]],[],[[],[]]]";

	IS(cost("aten::_fused_adamw_", dims,
	        "[[\"float\",\"float\"],[\"float\",\"float\"],[\"float\",\"float\"],"
	        "[\"float\",\"float\"],\"\",[\"float\",\"float\"]]",
	        ""),
	   FLOPS_AND_BYTES, 14 * 120, 4 * (4 * 120 + 2), 3 * 4 * 120);
	/* lists without recorded types: FLOPs alone */
	IS(cost("aten::_fused_adamw_", dims,
	        "[\"TensorList\",\"TensorList\",\"TensorList\",\"TensorList\",\"\",\"TensorList\"]",
	        ""),
	   FLOPS, 14 * 120, 0, 0);
	IS(cost("aten::_foreach_add_", "[[[100],[20]],[]]", "[[\"float\",\"float\"],\"Scalar\"]",
	        ""),
	   FLOPS_AND_BYTES, 120, 480, 480);
	/* into halves: reads 4 bytes an element, writes 2; serving does it without an optimizer */
	IS(cost("aten::_foreach_copy_", "[[[100],[20]],[[100],[20]],[]]",
	        "[[\"c10::Half\",\"c10::Half\"],[\"float\",\"float\"],\"Scalar\"]", ""),
	   FLOPS_AND_BYTES, 0, 720, 0);
	cr_assert(eq(int, cost("aten::_foreach_copy_", "[]", "[]", "").kind, WS_NVTX_OP_COPY));
	cr_assert(eq(int, cost("aten::_foreach_add_", "[]", "[]", "").kind, WS_NVTX_OP_OPTIMIZER));
}

Test(op_cost, other_operations_have_none)
{
	struct ws_op_cost c = cost("aten::view", "[[10],[]]", "[\"float\",\"ScalarList\"]", "");

	UNKNOWN(c);
	cr_assert(eq(int, c.kind, WS_NVTX_OP_OTHER));
	UNKNOWN(cost("", "", "", ""));
	UNKNOWN(cost("_", "[[1]]", "[\"float\"]", ""));
	UNKNOWN(cost("aten::", "[[1]]", "[\"float\"]", ""));
}

Test(op_cost, numbers_that_overflow_make_the_cost_unknown)
{
	UNKNOWN(cost("aten::mm", "[[4294967296,4294967296],[4294967296,4294967296]]",
	             "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::add", "[[9223372036854775807,3]]", "[\"float\"]", ""));
	UNKNOWN(cost("aten::_softmax", "[[9223372036854775807]]", "[\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[[99999999999999999999,2],[2,2]]", "[\"float\",\"float\"]", ""));
}

Test(op_cost, damaged_and_hostile_shapes_have_no_cost)
{
	UNKNOWN(cost("aten::mm", "[[2,-3],[-3,5]]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[[2,3],[3,", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[2,3]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[[[[2]]],[[3]]]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::mm", "[\"[2,3]\",\"[3,5]\"]", "[\"float\",\"float\"]", ""));
	UNKNOWN(cost("aten::add", "[[1,1,1,1,1,1,1,1,1]]", "[\"float\"]", ""));
	/* an axis that is none: what is left is not known, what is summed is */
	IS(cost("aten::sum", "[[2],[],[]]", "[\"float\"", "[\"\",\"[5]\""), FLOPS, 2, 0, 0);
}
