#include "kernels/cuda/own/launch.h"

ws_cuda_launcher *ws_cuda_launcher_of(enum ws_op_kind kind)
{
	static ws_cuda_launcher *const launchers[] = {
#define ws_cuda_gemm             NULL
#define ws_cuda_conv             NULL
#define ws_cuda_conv_dgrad       NULL
#define ws_cuda_conv_wgrad       NULL
#define ws_cuda_attention        NULL
#define ws_cuda_attention_grad   NULL
#define ws_cuda_batch_norm       NULL
#define ws_cuda_batch_norm_grad  NULL
#define ws_cuda_log_softmax      NULL
#define ws_cuda_log_softmax_grad NULL
#define WS_OP(KIND, name, ...)   [WS_OP_##KIND] = ws_cuda_##name,
#include "kernels/graph/op.def"
	};

	return launchers[kind];
}

struct ws_columns ws_cuda_columns(const struct ws_op *op)
{
	const struct ws_tensor *t = op->in[0];
	int64_t cols = ws_tensor_cols(t), least, wanted;
	struct ws_channels ch = {t->count / cols, cols, 1}; /* REDUCE */
	struct ws_columns c = {0};

	if (op->kind == WS_OP_BIAS_GRAD)
		ch = op->u.ch;
	c.channels = ch.channels;
	c.width = 16 / (int)ws_dtype_size(t->dtype);
	if ((ch.inner > 1 ? ch.inner : ch.channels) % c.width)
		c.width = 1;
	c.lanes = 1;
	if (ch.inner > 1) {
		c.run = ch.inner / c.width;
		c.items = ch.outer * c.run;
		c.tiles = (int)ch.channels;
	} else {
		c.items = ch.outer;
		while (c.lanes < 32 && (int64_t)c.lanes * c.width < ch.channels)
			c.lanes *= 2;
		c.tiles = (int)ws_div_up(ch.channels, (int64_t)c.lanes * c.width);
	}
	least = WS_COLUMNS_THREADS / c.lanes * WS_COLUMNS_ITEMS;
	wanted = ws_min64(ws_div_up(WS_COLUMNS_BLOCKS, c.tiles), WS_COLUMNS_SLICES);
	wanted = ws_min64(wanted, ws_div_up(c.items, least));
	c.slice_items = ws_div_up(c.items, wanted);
	c.slices = (int)ws_div_up(c.items, c.slice_items);
	return c;
}

/* At least 8 rows per slice, so that there are few sums compared with rows. */
int64_t ws_cuda_row_slices(int64_t rows)
{
	return ws_min64(ws_div_up(rows, 8), WS_ROW_SLICES);
}

uint64_t ws_cuda_scratch_bytes(const struct ws_op *op)
{
	int64_t floats = 0; /* that the launcher of the op needs */

	switch (op->kind) {
	case WS_OP_REDUCE:
	case WS_OP_BIAS_GRAD: /* the sums of the slices */
		if (op->kind == WS_OP_BIAS_GRAD || op->sub == WS_SUB_COLSUM)
			floats = ws_cuda_columns(op).slices * op->out[0]->count;
		break;
	case WS_OP_BATCH_NORM:
	case WS_OP_BATCH_NORM_GRAD: /* numbers of channels as cuDNN takes them (../dnn.c) */
		floats = op->in[2]->dtype == WS_DTYPE_F32 ? 0 : 4 * op->u.norm.ch.channels;
		break;
	case WS_OP_CLIP: /* a sum for each block of each tensor */
		floats = (int64_t)op->u.update.count * WS_CLIP_BLOCKS;
		break;
	case WS_OP_CROSS_ENTROPY: /* the loss of each row */
		floats = op->in[1]->count;
		break;
	case WS_OP_RMS_NORM_GRAD: /* a sum for each slice of rows and column */
		floats = ws_cuda_row_slices(op->out[0]->count / op->out[1]->count) *
		         op->out[1]->count;
		break;
	default:
		break;
	}
	return (uint64_t)floats * sizeof(float);
}
