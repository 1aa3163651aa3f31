/*
 * Convolutions by cuDNN's API of named algorithms (--conv-engine legacy): deprecated, but small,
 * and its algorithms have names one can teach with (implicit GEMM, Winograd, FFT).
 */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/dnn_graph.h"

#define RESULTS 16 /* there are fewer algorithms of each kind */

static cudnnTensorFormat_t format_of(const struct ws_conv *f)
{
	return f->layout == WS_LAYOUT_NHWC ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

/* Strict fp32 keeps off Tensor Cores, which would round the operands to TF32. */
static cudnnMathType_t math_of(const struct ws_cuda_conv_shape *shape)
{
	if (shape->dtype[WS_CONV_X] != WS_DTYPE_F32)
		return CUDNN_TENSOR_OP_MATH;
	return shape->tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static enum ws_status describe(struct ws_cuda_conv *conv, struct ws_err *err)
{
	const struct ws_conv *f = &conv->shape.conv;
	const int64_t sizes[] = {f->n, f->c, f->h, f->w, f->k, f->r, f->s, f->p, f->q};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		WS_FAIL_IF(sizes[i] > INT32_MAX, err, USAGE,
		           "--conv-engine legacy: a size of %lld does not fit an int32",
		           (long long)sizes[i]);
	WS_CUDNN_TRY(cudnnCreateTensorDescriptor(&conv->legacy.x), err);
	WS_CUDNN_TRY(cudnnCreateTensorDescriptor(&conv->legacy.y), err);
	WS_CUDNN_TRY(cudnnCreateFilterDescriptor(&conv->legacy.w), err);
	WS_CUDNN_TRY(cudnnCreateConvolutionDescriptor(&conv->legacy.conv), err);
	WS_CUDNN_TRY(cudnnSetTensor4dDescriptor(conv->legacy.x, format_of(f),
	                                        ws_dnn_type(conv->shape.dtype[WS_CONV_X]),
	                                        (int)f->n, (int)f->c, (int)f->h, (int)f->w),
	             err);
	WS_CUDNN_TRY(cudnnSetTensor4dDescriptor(conv->legacy.y, format_of(f),
	                                        ws_dnn_type(conv->shape.dtype[WS_CONV_Y]),
	                                        (int)f->n, (int)f->k, (int)f->p, (int)f->q),
	             err);
	WS_CUDNN_TRY(cudnnSetFilter4dDescriptor(conv->legacy.w,
	                                        ws_dnn_type(conv->shape.dtype[WS_CONV_W]),
	                                        format_of(f), (int)f->k, (int)(f->c / f->groups),
	                                        (int)f->r, (int)f->s),
	             err);
	WS_CUDNN_TRY(cudnnSetConvolution2dDescriptor(conv->legacy.conv, (int)f->pad_h,
	                                             (int)f->pad_w, (int)f->stride, (int)f->stride,
	                                             1, 1, CUDNN_CROSS_CORRELATION,
	                                             CUDNN_DATA_FLOAT),
	             err);
	WS_CUDNN_TRY(cudnnSetConvolutionGroupCount(conv->legacy.conv, (int)f->groups), err);
	WS_CUDNN_TRY(cudnnSetConvolutionMathType(conv->legacy.conv, math_of(&conv->shape)), err);
	return WS_OK;
}

/* What cuDNN says of an algorithm, whatever its kind. */
struct proposal {
	int algo;
	cudnnStatus_t status;
	size_t workspace_bytes;
	cudnnDeterminism_t determinism;
	cudnnMathType_t math;
};

static enum ws_status propose(struct ws_cuda *cuda, const struct ws_cuda_conv *conv,
                              struct proposal found[RESULTS], int *count, struct ws_err *err)
{
#define PROPOSE(function, kind, left, right, result)                                              \
	do {                                                                                      \
		cudnnConvolution##kind##AlgoPerf_t all[RESULTS];                                  \
                                                                                                  \
		WS_CUDNN_TRY(function(cuda->dnn, conv->legacy.left, conv->legacy.right,           \
		                      conv->legacy.conv, conv->legacy.result, RESULTS, count,     \
		                      all),                                                       \
		             err);                                                                \
		for (int i = 0; i < *count; i++)                                                  \
			found[i] =                                                                \
			        (struct proposal){(int)all[i].algo, all[i].status, all[i].memory, \
			                          all[i].determinism, all[i].mathType};           \
	} while (0)
	if (conv->shape.kind == WS_OP_CONV_DGRAD)
		PROPOSE(cudnnGetConvolutionBackwardDataAlgorithm_v7, BwdData, w, y, x);
	else if (conv->shape.kind == WS_OP_CONV_WGRAD)
		PROPOSE(cudnnGetConvolutionBackwardFilterAlgorithm_v7, BwdFilter, x, y, w);
	else
		PROPOSE(cudnnGetConvolutionForwardAlgorithm_v7, Fwd, x, w, y);
	return WS_OK;
}

/* Transforms of the operands, whose rounding no bound on the plain sum holds. */
static bool transforms(enum ws_op_kind kind, int algo)
{
#define TRANSFORMS(name)                                       \
	(algo == CUDNN_CONVOLUTION_##name##_ALGO_FFT ||        \
	 algo == CUDNN_CONVOLUTION_##name##_ALGO_FFT_TILING || \
	 algo == CUDNN_CONVOLUTION_##name##_ALGO_WINOGRAD ||   \
	 algo == CUDNN_CONVOLUTION_##name##_ALGO_WINOGRAD_NONFUSED)
	return kind == WS_OP_CONV_DGRAD   ? TRANSFORMS(BWD_DATA)
	       : kind == WS_OP_CONV_WGRAD ? TRANSFORMS(BWD_FILTER)
	                                  : TRANSFORMS(FWD);
}

static enum ws_status legacy_open(struct ws_cuda *cuda, struct ws_cuda_conv *conv, int most,
                                  struct ws_err *err)
{
	struct proposal found[RESULTS];
	int count = 0;

	WS_FORWARD(describe(conv, err));
	WS_FORWARD(propose(cuda, conv, found, &count, err));
	for (int i = 0; i < count && conv->count < most && conv->count < WS_CUDA_CONV_CANDIDATES;
	     i++) {
		const struct proposal *p = &found[i];

		if (p->status != CUDNN_STATUS_SUCCESS ||
		    p->workspace_bytes > WS_CUDA_DNN_WORKSPACE_BYTES ||
		    (cuda->options.deterministic && (p->determinism != CUDNN_DETERMINISTIC ||
		                                     transforms(conv->shape.kind, p->algo))) ||
		    (math_of(&conv->shape) == CUDNN_FMA_MATH && p->math == CUDNN_TENSOR_OP_MATH))
			continue;
		conv->legacy.algo[conv->count++] = p->algo;
	}
	WS_FAIL_IF(
	        conv->count == 0, err, ENVIRONMENT,
	        "cuDNN has no algorithm for %s in %llu bytes of workspace; use --conv-engine graph",
	        ws_op_info(conv->shape.kind)->name,
	        (unsigned long long)WS_CUDA_DNN_WORKSPACE_BYTES);
	return WS_OK;
}

static enum ws_status legacy_run(struct ws_cuda *cuda, const struct ws_cuda_conv *conv,
                                 int candidate, void *const data[WS_CONV_ROLES], struct ws_err *err)
{
	const struct ws_cuda_stream *stream = ws_cuda_stream(cuda);
	const int algo = conv->legacy.algo[candidate];
	const float one = 1, zero = 0;

	if (cuda->dnn_stream != stream->handle)
		WS_CUDNN_TRY(cudnnSetStream(cuda->dnn, stream->handle), err);
	cuda->dnn_stream = stream->handle;
#define RUN(function, kind, left, LEFT, right, RIGHT, result, RESULT)                       \
	WS_CUDNN_TRY(function(cuda->dnn, &one, conv->legacy.left, data[WS_CONV_##LEFT],     \
	                      conv->legacy.right, data[WS_CONV_##RIGHT], conv->legacy.conv, \
	                      (cudnnConvolution##kind##Algo_t)algo, stream->dnn_workspace,  \
	                      WS_CUDA_DNN_WORKSPACE_BYTES, &zero, conv->legacy.result,      \
	                      data[WS_CONV_##RESULT]),                                      \
	             err)
	if (conv->shape.kind == WS_OP_CONV_DGRAD)
		RUN(cudnnConvolutionBackwardData, BwdData, w, W, y, Y, x, X);
	else if (conv->shape.kind == WS_OP_CONV_WGRAD)
		RUN(cudnnConvolutionBackwardFilter, BwdFilter, x, X, y, Y, w, W);
	else
		RUN(cudnnConvolutionForward, Fwd, x, X, w, W, y, Y);
	return WS_OK;
}

static void legacy_close(struct ws_cuda_conv *conv)
{
	if (conv->legacy.x)
		cudnnDestroyTensorDescriptor(conv->legacy.x);
	if (conv->legacy.y)
		cudnnDestroyTensorDescriptor(conv->legacy.y);
	if (conv->legacy.w)
		cudnnDestroyFilterDescriptor(conv->legacy.w);
	if (conv->legacy.conv)
		cudnnDestroyConvolutionDescriptor(conv->legacy.conv);
	memset(&conv->legacy, 0, sizeof(conv->legacy));
}

const struct ws_cuda_conv_engine ws_cuda_conv_legacy = {legacy_open, legacy_run, legacy_close};
