/* What a convolution's operands are, and how they lie in memory. */
#include "kernels/cuda/conv.h"

struct ws_cuda_conv_roles ws_cuda_conv_roles(enum ws_op_kind kind)
{
	switch (kind) {
	case WS_OP_CONV_DGRAD:
		return (struct ws_cuda_conv_roles){{WS_CONV_Y, WS_CONV_W}, WS_CONV_X};
	case WS_OP_CONV_WGRAD:
		return (struct ws_cuda_conv_roles){{WS_CONV_X, WS_CONV_Y}, WS_CONV_W};
	default:
		return (struct ws_cuda_conv_roles){{WS_CONV_X, WS_CONV_W}, WS_CONV_Y};
	}
}

void ws_cuda_conv_dims(const struct ws_conv *f, enum ws_conv_role role, int64_t dims[4],
                       int64_t strides[4])
{
	const int64_t sizes[WS_CONV_ROLES][4] = {
	        [WS_CONV_X] = {f->n, f->c, f->h, f->w},
	        [WS_CONV_W] = {f->k, f->c / f->groups, f->r, f->s},
	        [WS_CONV_Y] = {f->n, f->k, f->p, f->q},
	};
	const int64_t *d = sizes[role];
	bool nhwc = f->layout == WS_LAYOUT_NHWC;

	memcpy(dims, d, sizeof(sizes[role]));
	strides[0] = d[1] * d[2] * d[3];
	strides[1] = nhwc ? 1 : d[2] * d[3];
	strides[2] = nhwc ? d[1] * d[3] : d[3];
	strides[3] = nhwc ? d[1] : 1;
}
