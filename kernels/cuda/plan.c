#include "kernels/cuda/plan.h"

static bool same_gemm(const struct ws_gemm *a, const struct ws_gemm *b)
{
	return a->batch == b->batch && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->trans_a == b->trans_a && a->trans_b == b->trans_b;
}

static bool same_attention(const struct ws_attention *a, const struct ws_attention *b)
{
	/* no padding in it: all its fields take 8 bytes */
	return !memcmp(&a->head, &b->head, sizeof(a->head)) && a->scale == b->scale;
}

static bool same_conv(const struct ws_conv *a, const struct ws_conv *b)
{
	return a->layout == b->layout && a->n == b->n && a->c == b->c && a->h == b->h &&
	       a->w == b->w && a->k == b->k && a->r == b->r && a->s == b->s && a->p == b->p &&
	       a->q == b->q && a->stride == b->stride && a->pad_h == b->pad_h &&
	       a->pad_w == b->pad_w && a->groups == b->groups;
}

/* Does one plan serve both? */
static bool alike(const struct ws_op *a, const struct ws_op *b)
{
	if (a->kind != b->kind || a->tf32 != b->tf32)
		return false;
	for (int i = 0; i < a->in_count + a->out_count; i++)
		if (ws_op_tensor(a, i)->dtype != ws_op_tensor(b, i)->dtype)
			return false;
	if (a->kind == WS_OP_GEMM)
		return same_gemm(&a->u.gemm, &b->u.gemm);
	if (a->kind == WS_OP_ATTENTION || a->kind == WS_OP_ATTENTION_GRAD)
		return same_attention(&a->u.attention, &b->u.attention);
	return same_conv(&a->u.conv, &b->u.conv);
}

const struct ws_cuda_plan *ws_cuda_plan_of(const struct ws_cuda *cuda, const struct ws_op *op)
{
	for (int i = 0; i < cuda->plan_count; i++)
		if (alike(cuda->plans[i].op, op))
			return &cuda->plans[i];
	return NULL;
}
