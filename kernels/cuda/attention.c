/*
 * Fused attention: cuDNN's flash attention, described as the graph of operations that its engines
 * know (docs/dev/kernels.md).
 */
#include "kernels/cuda/cuda.h"

/* Tensors with memory: their ids are these + 1. Those between operations have ids from ROLES on. */
enum role { Q, K, V, Y, LOG_SUM, DY, DQ, DK, DV, DELTA, DQ_SUM, SCALE, MASKED, ONE, ROLES };

#define TENSORS    40
#define OPERATIONS 24

/*
 * A graph being described. The first error stays; what is made after it is NULL and harmless.
 * Every descriptor is kept, to be destroyed when the plan is made.
 */
struct flash {
	const struct ws_op *op;
	cudnnDataType_t low; /* of the operands */
	bool deterministic;
	int64_t heads[4], scores[4], rows[4]; /* sizes: [B, H, T, D], [B, H, T, T], [B, H, T, 1] */
	cudnnBackendDescriptor_t made[TENSORS + 2 * OPERATIONS], operation[OPERATIONS];
	int made_count, operation_count;
	cudnnBackendDescriptor_t number[ROLES];
	int64_t next_id;
	enum ws_status status;
	struct ws_err *err;
};

static cudnnBackendDescriptor_t keep(struct flash *f, cudnnBackendDescriptor_t made)
{
	if (made)
		f->made[f->made_count++] = made;
	return made;
}

/* transposed: the last two sizes exchanged, over the same memory. */
static cudnnBackendDescriptor_t tensor(struct flash *f, int64_t id, cudnnDataType_t type,
                                       const int64_t sizes[4], bool transposed)
{
	struct ws_dnn_tensor t = {.id = id,
	                          .type = type,
	                          .is_virtual = id > ROLES,
	                          .is_by_value = id - 1 >= SCALE && id - 1 < ROLES};
	int order[4] = {0, 1, transposed ? 3 : 2, transposed ? 2 : 3};
	int64_t strides[4] = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
	cudnnBackendDescriptor_t made = NULL;

	for (int i = 0; i < 4; i++) {
		t.dims[i] = sizes[order[i]];
		t.strides[i] = strides[order[i]];
	}
	if (f->status == WS_OK)
		f->status = ws_dnn_tensor_open(&t, &made, f->err);
	return keep(f, made);
}

/* One of q, k, v, y and their gradients. */
static cudnnBackendDescriptor_t operand(struct flash *f, enum role role, bool transposed)
{
	return tensor(f, role + 1, f->low, f->heads, transposed);
}

static cudnnBackendDescriptor_t row_values(struct flash *f, enum role role)
{
	return tensor(f, role + 1, CUDNN_DATA_FLOAT, f->rows, false);
}

/* One descriptor however often it is used. */
static cudnnBackendDescriptor_t number(struct flash *f, enum role role)
{
	if (!f->number[role])
		f->number[role] = tensor(f, role + 1, CUDNN_DATA_FLOAT,
		                         (const int64_t[4]){1, 1, 1, 1}, false);
	return f->number[role];
}

static cudnnBackendDescriptor_t virtual_tensor(struct flash *f, cudnnDataType_t type,
                                               const int64_t sizes[4])
{
	return tensor(f, ROLES + ++f->next_id, type, sizes, false);
}

/* --- operations ----------------------------------------------------------------------------- */

/* How an operation computes: its mode, if it has one, and its arithmetic. */
static cudnnBackendDescriptor_t arithmetic(struct flash *f, cudnnBackendDescriptorType_t type,
                                           cudnnBackendAttributeName_t mode_name,
                                           cudnnBackendAttributeType_t mode_type, const void *mode,
                                           cudnnBackendAttributeName_t name, cudnnDataType_t in,
                                           const int64_t *axis)
{
	cudnnBackendDescriptor_t made = NULL;
	struct ws_dnn_setter s;

	if (f->status != WS_OK)
		return NULL;
	f->status = ws_dnn_create(type, &made, &s, f->err);
	if (f->status != WS_OK)
		return NULL;
	if (mode)
		ws_dnn_set(&s, mode_name, mode_type, 1, mode);
	ws_dnn_set(&s, name, CUDNN_TYPE_DATA_TYPE, 1, &in);
	if (axis)
		ws_dnn_set(&s, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, axis);
	f->status = ws_dnn_finalize(&s, "cuDNN arithmetic", f->err);
	return keep(f, made);
}

/* A descriptor and the attribute that it is set as; NULL: left out. */
struct part {
	cudnnBackendAttributeName_t name;
	cudnnBackendDescriptor_t descriptor;
};

static void operation(struct flash *f, cudnnBackendDescriptorType_t type, const struct part *parts,
                      int count)
{
	cudnnBackendDescriptor_t made = NULL;
	struct ws_dnn_setter s;

	if (f->status != WS_OK)
		return;
	f->status = ws_dnn_create(type, &made, &s, f->err);
	if (f->status != WS_OK)
		return;
	f->operation[f->operation_count++] = keep(f, made);
	for (int i = 0; i < count; i++)
		if (parts[i].descriptor)
			ws_dnn_set(&s, parts[i].name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
			           &parts[i].descriptor);
	f->status = ws_dnn_finalize(&s, "cuDNN attention operation", f->err);
}

/* c = a b */
static void product(struct flash *f, cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                    cudnnBackendDescriptor_t c)
{
	struct part parts[] = {
	        {CUDNN_ATTR_OPERATION_MATMUL_DESC,
	         arithmetic(f, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 0, 0, NULL,
	                    CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT, NULL)},
	        {CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
	        {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
	        {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c},
	};

	operation(f, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, parts, 4);
}

/* y = mode(x, b) in a dtype; b, the choice of a selection and an axis where the mode has them. */
struct pointwise {
	cudnnPointwiseMode_t mode;
	cudnnBackendDescriptor_t x, b, choice;
	cudnnDataType_t in;
	const int64_t *axis;
};

static cudnnBackendDescriptor_t pointwise(struct flash *f, struct pointwise p,
                                          cudnnBackendDescriptor_t y)
{
	struct part parts[] = {
	        {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
	         arithmetic(f, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE,
	                    CUDNN_TYPE_POINTWISE_MODE, &p.mode, CUDNN_ATTR_POINTWISE_MATH_PREC,
	                    p.in, p.axis)},
	        {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, p.x},
	        {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, p.b},
	        {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, p.choice},
	        {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y},
	};

	operation(f, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, parts, 5);
	return y;
}

/* y = mode(x, b), computed in fp32 */
static cudnnBackendDescriptor_t compute_into(struct flash *f, cudnnPointwiseMode_t mode,
                                             cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                             cudnnBackendDescriptor_t y)
{
	return pointwise(f,
	                 (struct pointwise){.mode = mode, .x = x, .b = b, .in = CUDNN_DATA_FLOAT},
	                 y);
}

/* mode(x, b) in fp32, of the sizes given. */
static cudnnBackendDescriptor_t compute(struct flash *f, cudnnPointwiseMode_t mode,
                                        cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                        const int64_t sizes[4])
{
	return compute_into(f, mode, x, b, virtual_tensor(f, CUDNN_DATA_FLOAT, sizes));
}

/* The sum or maximum of each row. */
static cudnnBackendDescriptor_t reduce(struct flash *f, cudnnReduceTensorOp_t mode,
                                       cudnnBackendDescriptor_t x)
{
	cudnnBackendDescriptor_t y = virtual_tensor(f, CUDNN_DATA_FLOAT, f->rows);
	struct part parts[] = {
	        {CUDNN_ATTR_OPERATION_REDUCTION_DESC,
	         arithmetic(f, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR,
	                    CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &mode,
	                    CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT, NULL)},
	        {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x},
	        {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y},
	};

	operation(f, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, parts, 3);
	return y;
}

/* x with its last two sizes exchanged, as a product reads it. */
static cudnnBackendDescriptor_t transpose(struct flash *f, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t y)
{
	struct part parts[] = {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x},
	                       {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}};

	operation(f, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, parts, 2);
	return y;
}

/* --- attention -------------------------------------------------------------------------------- */

static cudnnBackendDescriptor_t scaled_scores(struct flash *f, cudnnBackendDescriptor_t q,
                                              cudnnBackendDescriptor_t k_transposed)
{
	cudnnBackendDescriptor_t s = virtual_tensor(f, CUDNN_DATA_FLOAT, f->scores);

	product(f, q, k_transposed, s);
	return compute(f, CUDNN_POINTWISE_MUL, s, number(f, SCALE), f->scores);
}

/* The index of the query, or key, of each score. */
static cudnnBackendDescriptor_t index_of(struct flash *f, cudnnBackendDescriptor_t s, int64_t axis)
{
	return pointwise(f,
	                 (struct pointwise){.mode = CUDNN_POINTWISE_GEN_INDEX,
	                                    .x = s,
	                                    .in = CUDNN_DATA_FLOAT,
	                                    .axis = &axis},
	                 virtual_tensor(f, CUDNN_DATA_INT32, f->scores));
}

/* Minus infinity if the key comes after the query. */
static cudnnBackendDescriptor_t mask(struct flash *f, cudnnBackendDescriptor_t s)
{
	cudnnBackendDescriptor_t query = index_of(f, s, 2), key = index_of(f, s, 3), seen;

	seen = pointwise(f,
	                 (struct pointwise){.mode = CUDNN_POINTWISE_CMP_GE,
	                                    .x = query,
	                                    .b = key,
	                                    .in = CUDNN_DATA_BOOLEAN},
	                 virtual_tensor(f, CUDNN_DATA_BOOLEAN, f->scores));
	return pointwise(f,
	                 (struct pointwise){.mode = CUDNN_POINTWISE_BINARY_SELECT,
	                                    .x = s,
	                                    .b = number(f, MASKED),
	                                    .choice = seen,
	                                    .in = CUDNN_DATA_FLOAT},
	                 virtual_tensor(f, CUDNN_DATA_FLOAT, f->scores));
}

/* x, made by a product, as the transposed operand of the next: [B, H, keys, queries]. */
static cudnnBackendDescriptor_t as_transposed(struct flash *f, cudnnBackendDescriptor_t x)
{
	return transpose(f, x, tensor(f, ROLES + ++f->next_id, f->low, f->scores, true));
}

enum ws_status ws_cuda_attention_open(const struct ws_dnn_target *target, const struct ws_op *op,
                                      bool deterministic, cudnnBackendDescriptor_t *plan,
                                      struct ws_err *err)
{
	const struct ws_heads *h = &op->u.attention.head;
	struct flash f = {
	        .op = op,
	        .low = ws_dnn_type(op->in[0]->dtype),
	        .deterministic = deterministic,
	        .heads = {h->batch, h->heads, h->time, h->width},
	        .scores = {h->batch, h->heads, h->time, h->time},
	        .rows = {h->batch, h->heads, h->time, 1},
	        .err = err,
	};

	*plan = NULL;
	if (op->kind == WS_OP_ATTENTION) {
		cudnnBackendDescriptor_t s =
		        mask(&f, scaled_scores(&f, operand(&f, Q, false), operand(&f, K, true)));
		cudnnBackendDescriptor_t max = reduce(&f, CUDNN_REDUCE_TENSOR_MAX, s);
		cudnnBackendDescriptor_t e =
		        compute(&f, CUDNN_POINTWISE_EXP,
		                compute(&f, CUDNN_POINTWISE_SUB, s, max, f.scores), NULL, f.scores);
		cudnnBackendDescriptor_t sum = reduce(&f, CUDNN_REDUCE_TENSOR_ADD, e);
		cudnnBackendDescriptor_t log = compute(&f, CUDNN_POINTWISE_LOG, sum, NULL, f.rows);
		compute_into(&f, CUDNN_POINTWISE_ADD, max, log, row_values(&f, LOG_SUM));
		cudnnBackendDescriptor_t p = compute_into(&f, CUDNN_POINTWISE_DIV, e, sum,
		                                          virtual_tensor(&f, f.low, f.scores));
		product(&f, p, operand(&f, V, false), operand(&f, Y, false));
	} else {
		cudnnBackendDescriptor_t q = operand(&f, Q, false),
		                         k_transposed = operand(&f, K, true);
		cudnnBackendDescriptor_t dy = operand(&f, DY, false), delta, s, p, dp, ds;
		cudnnBackendDescriptor_t sum = reduce(&f, CUDNN_REDUCE_TENSOR_ADD,
		                                      compute(&f, CUDNN_POINTWISE_MUL, dy,
		                                              operand(&f, Y, false), f.heads));

		/* The sums of dy y of each row. */
		/* the product with 1 is where engines expect the factor of a dropout */
		delta = compute_into(&f, CUDNN_POINTWISE_MUL, sum, number(&f, ONE),
		                     row_values(&f, DELTA));
		s = compute(&f, CUDNN_POINTWISE_SUB, scaled_scores(&f, q, k_transposed),
		            row_values(&f, LOG_SUM), f.scores);
		p = compute(&f, CUDNN_POINTWISE_EXP, mask(&f, s), NULL, f.scores);
		product(&f, as_transposed(&f, p), dy, operand(&f, DV, false));

		dp = virtual_tensor(&f, CUDNN_DATA_FLOAT, f.scores);
		product(&f, dy, operand(&f, V, true), dp);
		ds = compute(&f, CUDNN_POINTWISE_SUB, dp, delta, f.scores);
		ds = compute(&f, CUDNN_POINTWISE_MUL, ds, p, f.scores);
		ds = compute(&f, CUDNN_POINTWISE_MUL, ds, number(&f, SCALE), f.scores);
		product(&f, as_transposed(&f, ds), q, operand(&f, DK, false));
		/* dq = ds k. Engines add the parts of dq that blocks of keys contribute into fp32
		 * in any order; those that give the same bits each run write it at once. */
		cudnnBackendDescriptor_t k =
		        transpose(&f, k_transposed, virtual_tensor(&f, CUDNN_DATA_FLOAT, f.heads));
		cudnnBackendDescriptor_t dq = operand(&f, DQ, false);

		if (f.deterministic) {
			product(&f, ds, k, dq);
		} else {
			sum = tensor(&f, DQ_SUM + 1, CUDNN_DATA_FLOAT, f.heads, false);
			product(&f, ds, k, sum);
			compute_into(&f, CUDNN_POINTWISE_IDENTITY, sum, NULL, dq);
		}
	}
	const struct ws_dnn_rules rules = {.deterministic = deterministic,
	                                   .workspace_bytes = WS_CUDA_DNN_WORKSPACE_BYTES};
	int count = 0;

	WS_THEN(f.status,
	        ws_dnn_plans(target, &rules, f.operation, f.operation_count, 1, plan, &count, err));
	if (f.status == WS_OK && count == 0)
		f.status = WS_FAIL(err, ENVIRONMENT,
		                   "cuDNN has no engine for %s of %s, %lld heads of %lld x %lld "
		                   "elements, within "
		                   "%llu bytes of workspace; use --attention eager%s",
		                   ws_op_info(op->kind)->name, ws_dtype_name(op->in[0]->dtype),
		                   (long long)(h->batch * h->heads), (long long)h->time,
		                   (long long)h->width,
		                   (unsigned long long)WS_CUDA_DNN_WORKSPACE_BYTES,
		                   deterministic ? ", or leave out --deterministic" : "");
	while (f.made_count > 0)
		ws_dnn_destroy(&f.made[--f.made_count]);
	return f.status;
}

/* --- of a session ---------------------------------------------------------------------------- */

bool ws_cuda_is_attention(const struct ws_op *op)
{
	return op->kind == WS_OP_ATTENTION || op->kind == WS_OP_ATTENTION_GRAD;
}

const char *ws_cuda_attention_problem(const struct ws_op *op)
{
	if (ws_dtype_size(op->in[0]->dtype) != sizeof(uint16_t))
		return "cuDNN has fused attention of 16-bit operands only; use a --dtype with bf16 "
		       "or fp16 operands, or --attention eager";
	if (cudnnGetVersion() < WS_CUDA_ATTENTION_CUDNN)
		return "fused attention needs cuDNN 9.10.2 or newer; use --attention eager";
	if (op->kind == WS_OP_ATTENTION_GRAD && op->u.attention.head.time % 128 &&
	    cudnnGetVersion() < WS_CUDA_ODD_ATTENTION_CUDNN)
		return "fused attention of this context needs cuDNN 9.15.1 or newer; use a "
		       "--context that is a multiple of 128, or --attention eager";
	return NULL;
}

/* Where the sums of dy y lie behind cuDNN's workspace; after them those of dq. */
static uint64_t delta_bytes(const struct ws_op *op)
{
	const struct ws_heads *h = &op->u.attention.head;

	return ((uint64_t)(h->batch * h->heads * h->time) * sizeof(float) + 255) / 256 * 256;
}

uint64_t ws_cuda_attention_workspace_bytes(const struct ws_op *op)
{
	if (op->kind != WS_OP_ATTENTION_GRAD)
		return 0;
	return delta_bytes(op) + (uint64_t)op->in[0]->count * sizeof(float);
}

enum ws_status ws_cuda_attention_plan(struct ws_cuda *cuda, struct ws_cuda_plan *plan,
                                      struct ws_err *err)
{
	const struct ws_dnn_target target = {.handle = cuda->dnn};

	return ws_cuda_attention_open(&target, plan->op, cuda->options.deterministic, &plan->dnn,
	                              err);
}

/* The operands and results of an op, by role. */
static const enum role forward_roles[] = {Q, K, V, Y, LOG_SUM};
static const enum role backward_roles[] = {DY, Q, K, V, Y, LOG_SUM, DQ, DK, DV};

enum ws_status ws_cuda_attention_run(struct ws_cuda *cuda, const struct ws_op *op,
                                     struct ws_err *err)
{
	bool backward = op->kind == WS_OP_ATTENTION_GRAD;
	const enum role *roles = backward ? backward_roles : forward_roles;
	char *behind = (char *)cuda->dnn_workspace + WS_CUDA_DNN_WORKSPACE_BYTES;
	const struct ws_cuda_plan *plan = ws_cuda_plan_of(cuda, op);
	float scale = (float)op->u.attention.scale, masked = -INFINITY, one = 1;
	const struct {
		enum role role;
		void *data;
	} more[] = {{SCALE, &scale},
	            {MASKED, &masked},
	            {ONE, &one},
	            {DELTA, behind},
	            {DQ_SUM, behind + delta_bytes(op)}};
	const int more_count = !backward ? 2 : cuda->options.deterministic ? 4 : 5;
	int64_t ids[ROLES];
	void *data[ROLES];
	int count = 0;

	WS_FAIL_IF(!plan, err, BUG, "op %s was not in the plan", op->message);
	for (; count < op->in_count + op->out_count; count++) {
		ids[count] = roles[count] + 1;
		data[count] = ws_op_tensor(op, count)->data;
	}
	for (int i = 0; i < more_count; i++, count++) {
		ids[count] = more[i].role + 1;
		data[count] = more[i].data;
	}
	return ws_dnn_run(cuda, plan->dnn, count, ids, data, err);
}
