#include "formats/op_cost/op_cost.h"

#include "formats/text/json_reader.h"

/* --- the recorded inputs of an operation --- */

#define MAX_INPUTS 32
#define MAX_DIMS   8

struct input {
	uint8_t is_tensor; /* it has a dtype; else it is a number, or absent */
	uint8_t is_list;   /* of tensors */
	uint8_t is_output; /* passed as out=: written, not read */
	uint8_t bytes;     /* of an element, 0 = unknown */
	uint8_t dtype;     /* enum ws_op_dtype */
	uint8_t category;  /* for promotion: 0 none, 1 bool, 2 integer, 3 floating */
	uint8_t ndim;
	uint64_t dim[MAX_DIMS];
	uint64_t elements;     /* of a list: of all its tensors */
	uint64_t stored;       /* elements in memory: an expanded tensor has fewer */
	struct ws_bytes sizes; /* as recorded */
	struct ws_bytes value; /* of a scalar, as recorded; empty if it was not */
};

struct inputs {
	struct input in[MAX_INPUTS];
	size_t n;
	const struct input *out; /* the first output, or NULL */
	int overflow;            /* a product did not fit: its results are unknown */
	int malformed;           /* the recorded shapes are invalid */
};

/* Checked arithmetic, short names because every line of a formula uses them. */
static uint64_t checked_mul(struct inputs *op, uint64_t a, uint64_t b)
{
	uint64_t r;

	op->overflow |= __builtin_mul_overflow(a, b, &r);
	return r;
}
static uint64_t checked_add(struct inputs *op, uint64_t a, uint64_t b)
{
	uint64_t r;

	op->overflow |= __builtin_add_overflow(a, b, &r);
	return r;
}
static uint64_t product_of(struct inputs *op, const uint64_t *dim, size_t n)
{
	uint64_t r = 1;

	for (size_t i = 0; i < n; i++)
		r = checked_mul(op, r, dim[i]);
	return r;
}

#define MUL(a, b)        checked_mul(op, (a), (b))
#define ADD(a, b)        checked_add(op, (a), (b))
#define PRODUCT(dims, n) product_of(op, (dims), (n))

static const struct {
	const char *name;
	uint8_t bytes, dtype, category;
} types[] = {
        {"float", 4, WS_DTYPE_FP32, 3},
        {"double", 8, WS_DTYPE_FP64, 3},
        {"c10::Half", 2, WS_DTYPE_FP16, 3},
        {"c10::BFloat16", 2, WS_DTYPE_BF16, 3},
        {"c10::Float8_e4m3fn", 1, WS_DTYPE_FP8, 3},
        {"c10::Float8_e5m2", 1, WS_DTYPE_FP8, 3},
        {"c10::Float8_e4m3fnuz", 1, WS_DTYPE_FP8, 3},
        {"c10::Float8_e5m2fnuz", 1, WS_DTYPE_FP8, 3},
        {"long int", 8, WS_DTYPE_INT64, 2},
        {"long", 8, WS_DTYPE_INT64, 2},
        {"int", 4, WS_DTYPE_INT32, 2},
        {"short int", 2, WS_DTYPE_NONE, 2},
        {"short", 2, WS_DTYPE_NONE, 2},
        {"signed char", 1, WS_DTYPE_INT8, 2},
        {"unsigned char", 1, WS_DTYPE_INT8, 2},
        {"bool", 1, WS_DTYPE_BOOL8, 1},
        {"c10::complex<float>", 8, WS_DTYPE_NONE, 0},
        {"c10::complex<double>", 16, WS_DTYPE_NONE, 0},
};

static void take_type(struct inputs *op, struct input *in, const struct ws_json_value *v)
{
	struct ws_json_items items;
	struct ws_json_value first = *v;

	(void)op;
	if (v->type == WS_JSON_ARRAY) { /* a list: the type of its first tensor */
		ws_json_items_begin(&items, v, '[');
		if (!ws_json_next_element(&items, &first))
			return;
	}
	if (first.type != WS_JSON_STRING)
		return;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!ws_json_is(&first, types[i].name, strlen(types[i].name)))
			continue;
		in->is_tensor = 1;
		in->bytes = types[i].bytes;
		in->dtype = types[i].dtype;
		in->category = types[i].category;
	}
}

/* The numbers of an array of sizes: how many; -1 if it is something else, or has more than
 * MAX_DIMS. */
static int sizes_of(const struct ws_json_value *v, uint64_t out[MAX_DIMS])
{
	struct ws_json_items items;
	struct ws_json_value item;
	int64_t size;
	int n = 0;

	if (v->type != WS_JSON_ARRAY)
		return -1;
	ws_json_items_begin(&items, v, '[');
	while (ws_json_element(&items.j) == WS_JSON_OK) {
		if (n == MAX_DIMS || ws_json_value(&items.j, &item) != WS_JSON_OK ||
		    !ws_json_i64(&item, &size) || size < 0)
			return -1;
		out[n++] = (uint64_t)size;
	}
	return n;
}

/* An array of sizes; of a list, an array of such arrays. */
static void take_dims(struct inputs *op, struct input *in, const struct ws_json_value *v)
{
	struct ws_json_items items;
	struct ws_json_value item;
	uint64_t dim[MAX_DIMS];
	int n = sizes_of(v, in->dim);

	in->sizes = (struct ws_bytes){v->text, v->len};
	if (n >= 0) {
		in->ndim = (uint8_t)n;
		in->elements = in->stored = PRODUCT(in->dim, in->ndim);
		return;
	}
	in->is_list = 1;
	op->malformed |= v->type != WS_JSON_ARRAY;
	ws_json_items_begin(&items, v, '[');
	while (!op->malformed && ws_json_element(&items.j) == WS_JSON_OK) {
		n = ws_json_value(&items.j, &item) == WS_JSON_OK ? sizes_of(&item, dim) : -1;
		op->malformed |= n < 0;
		if (n >= 0)
			in->elements = ADD(in->elements, PRODUCT(dim, (size_t)n));
	}
	in->stored = in->elements;
}

/*
 * Number of a tensor's elements in memory. Elements repeated by a stride of 0 are stored once, and
 * overlapping windows share elements. Without strides that match the sizes, all elements are taken
 * to be distinct.
 */
static uint64_t stored_elements(struct inputs *op, const struct ws_json_value *sizes,
                                const struct ws_json_value *strides)
{
	uint64_t dim[MAX_DIMS], stride[MAX_DIMS], elements = 1, span = 1;
	int n = sizes_of(sizes, dim), strided = sizes_of(strides, stride) == n;

	for (int d = 0; d < n; d++) {
		if (!strided || stride[d] || !dim[d])
			elements = checked_mul(op, elements, dim[d]);
		if (strided && dim[d])
			span = checked_add(op, span, checked_mul(op, dim[d] - 1, stride[d]));
	}
	return strided && span < elements ? span : elements;
}

static void take_strides(struct inputs *op, struct input *in, const struct ws_json_value *v)
{
	struct ws_json_value all = {WS_JSON_ARRAY, 0, in->sizes.ptr, in->sizes.len}, size, stride;
	struct ws_json_items sizes, strides;
	uint64_t stored = 0, n = 0;

	if (op->malformed || !in->sizes.len)
		return;
	if (!in->is_list) {
		in->stored = stored_elements(op, &all, v);
		return;
	}
	ws_json_items_begin(&sizes, &all, '[');
	ws_json_items_begin(&strides, v, '[');
	while (ws_json_element(&sizes.j) == WS_JSON_OK) {
		if (ws_json_value(&sizes.j, &size) != WS_JSON_OK ||
		    !ws_json_next_element(&strides, &stride))
			return;
		stored = ADD(stored, stored_elements(op, &size, &stride));
		n++;
	}
	if (n)
		in->stored = stored;
}

static void take_value(struct inputs *op, struct input *in, const struct ws_json_value *v)
{
	(void)op;
	if (v->type == WS_JSON_STRING)
		in->value = (struct ws_bytes){v->text, v->len};
}

/* Pass each element of one of the four arrays to its input. */
static void take_each(struct inputs *op, struct ws_bytes text,
                      void (*take)(struct inputs *op, struct input *in,
                                   const struct ws_json_value *v))
{
	struct ws_json_value v = {WS_JSON_ARRAY, 0, text.ptr, text.len};
	struct ws_json_items items;
	size_t i = 0;

	ws_json_items_begin(&items, &v, '[');
	while (i < MAX_INPUTS && ws_json_next_element(&items, &v))
		take(op, &op->in[i++], &v);
	if (i > op->n)
		op->n = i;
}

/* Input i if it is a tensor; else an empty one, whose is_tensor is 0. */
static const struct input *tensor_at(const struct inputs *op, int i)
{
	static const struct input none;

	const struct input *in = i >= 0 && (size_t)i < op->n ? &op->in[i] : &none;

	return in->is_tensor && !in->is_list && !in->is_output ? in : &none;
}

/* The bytes of reading it whole: each stored element once. */
#define BYTES(input) MUL((input)->stored, (input)->bytes)
/* The bytes of a result: of the elements' size as in the out= tensor, if there is one. */
#define RESULT(n, element_bytes) MUL((n), op->out ? op->out->bytes : (element_bytes))

/* Is the value of a scalar input this text? */
static bool value_is(const struct inputs *op, int i, const char *text)
{
	return i >= 0 && (size_t)i < op->n && ws_bytes_is(op->in[i].value, text);
}

/* A recorded True or False (or 1, 2 or 0): 1, 0; -1 if it was not recorded. */
static int flag_at(const struct inputs *op, int i)
{
	if (value_is(op, i, "True") || value_is(op, i, "1") || value_is(op, i, "2"))
		return 1;
	return value_is(op, i, "False") || value_is(op, i, "0") ? 0 : -1;
}

/* A recorded "[1, 2]" or "3": how many numbers, at most MAX_DIMS; -1 if it is neither. */
static int ints_at(const struct inputs *op, int i, int64_t out[MAX_DIMS])
{
	struct ws_json_faults faults = {0};
	int n = 0;

	if (i < 0 || (size_t)i >= op->n || !op->in[i].value.len)
		return -1;
	struct ws_json_value v =
	        (struct ws_json_value){.text = op->in[i].value.ptr, .len = op->in[i].value.len};
	struct ws_json_reader j = ws_json_inside(&v, &faults);
	if (ws_json_open(&j, '[') != WS_JSON_OK)
		return ws_json_value(&j, &v) == WS_JSON_OK && ws_json_i64(&v, out) ? 1 : -1;
	while (ws_json_element(&j) == WS_JSON_OK) {
		if (n == MAX_DIMS || ws_json_value(&j, &v) != WS_JSON_OK ||
		    !ws_json_i64(&v, &out[n]))
			return -1;
		n++;
	}
	return n;
}

/* The same, exactly `want` of them; a single one is repeated. 0 if there are others. */
static bool ints_exactly(const struct inputs *op, int i, int64_t out[MAX_DIMS], size_t want)
{
	int n = ints_at(op, i, out);

	for (size_t k = 1; n == 1 && k < want; k++)
		out[k] = out[0];
	return n == 1 || (n > 0 && (size_t)n == want);
}

/* The number of elements of two tensors broadcast to one shape, without their last `tail`
 * dimensions, which both have. 0 if the shapes do not go together. */
static bool broadcast(struct inputs *op, const struct input *x, const struct input *y,
                      unsigned tail, uint64_t *elements)
{
	unsigned nx = x->ndim - tail, ny = y->ndim - tail, n = nx > ny ? nx : ny;

	*elements = 1;
	for (unsigned i = 0; i < n; i++) {
		uint64_t dx = i + nx >= n ? x->dim[i + nx - n] : 1;
		uint64_t dy = i + ny >= n ? y->dim[i + ny - n] : 1;

		if (dx != dy && dx != 1 && dy != 1)
			return 0;
		*elements = checked_mul(op, *elements, dx == 1 ? dy : dx);
	}
	return 1;
}

/* --- rules: what a call costs --- */

/* A rule fills cost if the inputs determine it, and leaves it otherwise. */
struct cost_call {
	struct ws_op_cost *cost;
	int a, b;      /* columns of op_cost.def */
	bool in_place; /* the result is the first input */
};
typedef void (*rule_fn)(struct inputs *op, const struct cost_call *c);

enum { NO_OUT = MAX_INPUTS }; /* `inputs` of an operation without out= */
enum { NO_INPUT = -1 };       /* instead of the position of an input */
enum { BATCH_NORM = -2 };
enum { BOOL_RESULT = 1, FLOAT_RESULT = 2 }; /* b of elementwise operations */

static void set_flops(struct ws_op_cost *cost, uint64_t flops)
{
	cost->known = WS_COST_FLOPS;
	cost->flops = flops;
}

static void set_flops_and_bytes(struct ws_op_cost *cost, uint64_t flops, uint64_t bytes_read,
                                uint64_t bytes_written)
{
	cost->known = WS_COST_FLOPS_AND_BYTES;
	cost->flops = flops;
	cost->bytes_read = bytes_read;
	cost->bytes_written = bytes_written;
}

/* --- matrix products --- */

/* batch × (m × k) · (k × n), with one addition for each result where there is a bias. */
static void set_gemm(struct inputs *op, struct ws_op_cost *cost, uint64_t batch, uint64_t m,
                     uint64_t n, uint64_t k, const struct input *bias, uint64_t bytes_read,
                     unsigned result_bytes)
{
	uint64_t results = MUL(MUL(batch, m), n);
	uint64_t flops = MUL(2, MUL(results, k));

	cost->batch = batch;
	cost->m = m;
	cost->n = n;
	cost->k = k;
	if (bias->is_tensor) {
		flops = ADD(flops, results);
		bytes_read = ADD(bytes_read, BYTES(bias));
	}
	if (result_bytes || op->out)
		set_flops_and_bytes(cost, flops, bytes_read, RESULT(results, result_bytes));
	else
		set_flops(cost, flops);
}

/* An 8-bit product has a wider result, of a type that is not recorded. */
static unsigned gemm_result_bytes(const struct input *x)
{
	return x->bytes > 1 ? x->bytes : 0;
}

static void rule_gemm(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, c->a), *y = tensor_at(op, c->a + 1);
	const struct input *bias = tensor_at(op, c->b);
	unsigned nd = x->ndim;
	uint64_t batch = nd == 3 ? x->dim[0] : 1;

	if (!x->is_tensor || !y->is_tensor || nd != y->ndim || (nd != 2 && nd != 3) ||
	    x->dim[nd - 1] != y->dim[nd - 2] || (nd == 3 && y->dim[0] != batch))
		return;
	/* beta = 0: the first input is not even read */
	if (bias->is_tensor && (value_is(op, 3, "0") || value_is(op, 3, "0.")))
		bias = tensor_at(op, -1);
	set_gemm(op, c->cost, batch, x->dim[nd - 2], y->dim[nd - 1], x->dim[nd - 1], bias,
	         ADD(BYTES(x), BYTES(y)), gemm_result_bytes(x));
}

/* x · wᵀ + bias, x with any number of leading dimensions */
static void rule_linear(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0), *w = tensor_at(op, 1);

	if (!x->is_tensor || x->ndim < 1 || w->ndim != 2 || x->dim[x->ndim - 1] != w->dim[1])
		return;
	set_gemm(op, c->cost, 1, PRODUCT(x->dim, x->ndim - 1u), w->dim[0], w->dim[1],
	         tensor_at(op, 2), ADD(BYTES(x), BYTES(w)), gemm_result_bytes(x));
}

static void rule_matmul(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0), *y = tensor_at(op, 1);
	uint64_t batch;

	/* vectors are rare enough to stay without a model */
	if (x->ndim < 2 || y->ndim < 2 || x->dim[x->ndim - 1] != y->dim[y->ndim - 2] ||
	    !broadcast(op, x, y, 2, &batch))
		return;
	set_gemm(op, c->cost, batch, x->dim[x->ndim - 2], y->dim[y->ndim - 1], x->dim[x->ndim - 1],
	         tensor_at(op, -1), ADD(BYTES(x), BYTES(y)), gemm_result_bytes(x));
}

/* --- convolutions --- */

/* Size of the result along each spatial dimension. 0 if the recorded values are not enough. */
static bool conv_result(struct inputs *op, int stride_at, int padding_at, uint64_t *out)
{
	const struct input *x = tensor_at(op, 0), *w = tensor_at(op, 1);
	int dilation_at = (stride_at > padding_at ? stride_at : padding_at) + 1;
	int64_t stride[MAX_DIMS], padding[MAX_DIMS] = {0}, dilation[MAX_DIMS];
	const bool is_dilated = (size_t)dilation_at < op->n; /* PyTorch's own on a CPU cannot be */
	size_t spatial = x->ndim - 2u;
	int same = value_is(op, padding_at, "same");

	if (!ints_exactly(op, stride_at, stride, spatial) ||
	    (is_dilated && !ints_exactly(op, dilation_at, dilation, spatial)) ||
	    (!same && !value_is(op, padding_at, "valid") &&
	     !ints_exactly(op, padding_at, padding, spatial)))
		return 0;
	for (size_t i = 0; i < spatial; i++) {
		const int64_t limit = (int64_t)1 << 31;
		int64_t size = (int64_t)x->dim[i + 2], kernel = (int64_t)w->dim[i + 2];

		dilation[i] = is_dilated ? dilation[i] : 1;
		if (x->dim[i + 2] > (uint64_t)limit || w->dim[i + 2] > (uint64_t)limit ||
		    stride[i] < 1 || stride[i] > limit || padding[i] < 0 || padding[i] > limit ||
		    dilation[i] < 1 || dilation[i] > limit || kernel < 1)
			return 0;
		size += 2 * padding[i] - dilation[i] * (kernel - 1) - 1;
		if (!same && size < 0)
			return 0;
		out[i] = same ? x->dim[i + 2] : (uint64_t)(size / stride[i] + 1);
	}
	return 1;
}
/* FLOPs of one pass: every result element is a sum over a filter. weight: filters, channels, … */
static uint64_t conv_flops(struct inputs *op, uint64_t results, const struct input *w)
{
	return MUL(2, MUL(results, PRODUCT(w->dim + 1, w->ndim - 1u)));
}

/* Flag of a: the general operation. Its transposed form has no model. */
enum { GENERAL = 64 };

static void rule_conv(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0), *w = tensor_at(op, 1);
	/* cuDNN's operation has no bias; in the depthwise one it is one position later */
	const struct input *bias = tensor_at(op, c->b == 2 ? -1 : c->b == 5 ? 3 : 2);
	uint64_t out[MAX_DIMS], results, flops, bytes_read;

	if (c->a & GENERAL && flag_at(op, 6) != 0)
		return;
	if (!x->is_tensor || x->ndim < 3 || w->ndim != x->ndim ||
	    !conv_result(op, c->a % GENERAL, c->b, out))
		return;
	results = MUL(MUL(x->dim[0], w->dim[0]), PRODUCT(out, x->ndim - 2u));
	flops = conv_flops(op, results, w);
	bytes_read = ADD(BYTES(x), BYTES(w));
	if (bias->is_tensor) {
		flops = ADD(flops, results);
		bytes_read = ADD(bytes_read, BYTES(bias));
	}
	set_flops_and_bytes(c->cost, flops, bytes_read, RESULT(results, x->bytes));
}

/* The recorded "[True, False, True]"; 0 if it was not recorded. */
static bool output_mask(const struct inputs *op, int i, int mask[3])
{
	if ((size_t)i >= op->n || !op->in[i].value.len)
		return 0;
	const char *p = op->in[i].value.ptr;
	const char *end = p + op->in[i].value.len;
	for (int k = 0; k < 3; k++) {
		while (p < end && *p != 'T' && *p != 'F')
			p++;
		if (p == end)
			return 0;
		mask[k] = *p++ == 'T';
	}
	return 1;
}

/* a: the gradient; b: which results are wanted. Input, weight and bias gradients. */
static void rule_conv_backward(struct inputs *op, const struct cost_call *c)
{
	const struct input *g = tensor_at(op, c->a), *x = tensor_at(op, c->a ? 0 : 1);
	const struct input *w = tensor_at(op, 2);
	uint64_t pass, flops = 0, bytes_read = 0, bytes_written = 0;
	int mask[3];

	if (!g->is_tensor || !x->is_tensor || !w->is_tensor || g->ndim < 3 || w->ndim != g->ndim ||
	    !output_mask(op, c->b, mask) || (!c->a && flag_at(op, 7) == 1))
		return;
	pass = conv_flops(op, g->elements, w);
	bytes_read = BYTES(g);
	if (mask[0]) {
		flops = pass;
		bytes_read = ADD(bytes_read, BYTES(w));
		bytes_written = MUL(x->elements, x->bytes);
	}
	if (mask[1]) {
		flops = ADD(flops, pass);
		bytes_read = ADD(bytes_read, BYTES(x));
		bytes_written = ADD(bytes_written, BYTES(w));
	}
	if (mask[2]) {
		flops = ADD(flops, g->elements);
		bytes_written = ADD(bytes_written, MUL(w->dim[0], g->bytes));
	}
	set_flops_and_bytes(c->cost, flops, bytes_read, bytes_written);
}

/* Inputs: sizes of the result (as a value), gradient, and the weight for the gradient of the input,
 * or (a: 1) the input for that of the weight. */
static void rule_conv_gradient(struct inputs *op, const struct cost_call *c)
{
	const struct input *g = tensor_at(op, 1), *other = tensor_at(op, 2);
	uint64_t flops, elements = 1;
	int64_t size[MAX_DIMS];
	const int n = ints_at(op, 0, size);

	if (!g->is_tensor || g->ndim < 3 || other->ndim != g->ndim || (c->a && n != g->ndim))
		return;
	for (int i = 1; i < n && n == g->ndim; i++)
		elements = MUL(elements, size[i] < 0 ? 0 : (uint64_t)size[i]);
	flops = c->a ? MUL(2, MUL(g->elements, elements)) : conv_flops(op, g->elements, other);
	if (n != g->ndim) {
		set_flops(c->cost, flops);
		return;
	}
	elements = MUL(elements, size[0] < 0 ? 0 : (uint64_t)size[0]);
	set_flops_and_bytes(c->cost, flops, ADD(BYTES(g), BYTES(other)), MUL(elements, g->bytes));
}

/* --- attention --- */

/* Flags of a: all pairs are computed, causal or not; the dimensions are batch, time, head instead
 * of batch, head, time; and the two inputs behind causal may bound a window. */
enum { UNFUSED = 64, BY_TIME = 128, WINDOWED = 256 };

static void rule_attention(struct inputs *op, const struct cost_call *c)
{
	const int at = c->a % UNFUSED; /* the input that says causal */
	const int head = c->a & BY_TIME ? 2 : 1, time = c->a & BY_TIME ? 1 : 2;
	int backward = c->cost->direction == WS_OP_BACKWARD, causal;
	const struct input *q = tensor_at(op, backward), *k = tensor_at(op, backward + 1);
	const struct input *v = tensor_at(op, backward + 2);
	uint64_t heads, pairs, needed, each, out, inputs;
	bool square, masked, may_be_bounded = false;
	int64_t reach[MAX_DIMS];

	/* With a window, fewer pairs are computed, and how many is not modelled. A causal window
	 * has no right half. */
	for (int i = at + 1; c->a & WINDOWED && i <= at + (flag_at(op, at) == 1 ? 1 : 2); i++)
		if (ints_at(op, i, reach) == 1 && reach[0] >= 0 &&
		    (uint64_t)reach[0] + 1 < tensor_at(op, 1)->dim[1])
			return;
	for (int i = at + 1; c->a & WINDOWED && i <= at + 2; i++)
		may_be_bounded |= !value_is(op, i, "-1");
	if (may_be_bounded)
		c->cost->mask = WS_MASK_NOT_KNOWN;
	/* three dimensions: sequences of several lengths packed together */
	if (!q->is_tensor || q->ndim != 4 || k->ndim != 4 || v->ndim != 4 ||
	    q->dim[3] != k->dim[3] || k->dim[time] != v->dim[time] || q->dim[0] != k->dim[0])
		return;
	heads = MUL(q->dim[0], q->dim[head]);
	pairs = needed = MUL(q->dim[time], k->dim[time]);
	square = q->dim[time] == k->dim[time];
	/* which pairs are computed, as far as the inputs determine it */
	causal = flag_at(op, at);
	masked = c->b != NO_INPUT && tensor_at(op, c->b)->is_tensor;
	if (masked || may_be_bounded || causal < 0 || (causal && !square))
		c->cost->mask = WS_MASK_NOT_KNOWN;
	else
		c->cost->mask = causal ? WS_MASK_CAUSAL : WS_MASK_NONE;
	if (causal == 1 && square)
		needed = ADD(pairs, q->dim[time]) / 2; /* not those above the diagonal */
	if (!(c->a & UNFUSED))
		pairs = needed;
	/* forward: scores, and their product with v. Backward: the scores again, and four more */
	each = backward ? MUL(2, ADD(MUL(3, q->dim[3]), MUL(2, v->dim[3])))
	                : MUL(2, ADD(q->dim[3], v->dim[3]));
	c->cost->flops_needed = MUL(MUL(heads, needed), each);
	out = MUL(MUL(MUL(q->dim[0], q->dim[head]), q->dim[time]), MUL(v->dim[3], q->bytes));
	inputs = ADD(ADD(BYTES(q), BYTES(k)), BYTES(v));
	if (backward)
		set_flops_and_bytes(c->cost, MUL(MUL(heads, pairs), each), ADD(inputs, MUL(2, out)),
		                    inputs);
	else
		set_flops_and_bytes(c->cost, MUL(MUL(heads, pairs), each), inputs, out);
}

/* Queries of several sequences, with two products per pair: by key and by value. */
static void rule_attention_packed(struct inputs *op, const struct cost_call *c)
{
	const struct input *q = tensor_at(op, c->a);
	uint64_t width = 4;

	if (!q->is_tensor || q->ndim < 2 || q->ndim > 3)
		return;
	for (unsigned d = 1; d < q->ndim; d++)
		width = MUL(width, q->dim[d]);
	c->cost->queries = q->dim[0];
	c->cost->flops_per_pair = width;
}

/* --- element by element --- */

/* Bytes read: those of all tensors and lists. Sets *unknown if a size is not recorded. */
static uint64_t bytes_of_all(struct inputs *op, int *unknown)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < op->n; i++) {
		const struct input *in = &op->in[i];

		if (in->is_output)
			continue;
		*unknown |= in->is_list && in->elements && !in->bytes;
		if (in->is_list || (in->is_tensor && in->ndim))
			bytes = ADD(bytes, BYTES(in));
	}
	return bytes;
}

static void rule_like_input(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0);

	if (x->is_tensor)
		set_flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a),
		                    MUL(BYTES(x), (uint64_t)c->b), RESULT(x->elements, x->bytes));
}

static void rule_norm(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0), *w = tensor_at(op, c->b);
	/* of a batch norm a is the input that says training */
	const int training = c->b == BATCH_NORM ? flag_at(op, c->a) : 0;
	const uint64_t each = c->b != BATCH_NORM ? (uint64_t)c->a : training ? 8 : 2;
	int unknown = 0;

	if (!x->is_tensor || training < 0)
		return;
	uint64_t written = RESULT(x->elements, x->bytes);
	/* backward also writes the gradients of weight and bias */
	if (c->b >= 0 && w->is_tensor)
		written = ADD(written, MUL(2, BYTES(w)));
	set_flops_and_bytes(c->cost, MUL(x->elements, each), bytes_of_all(op, &unknown), written);
}

/* The tensor whose type the result gets (NULL if the shapes do not go together), and the size of
 * the result by broadcasting. */
static const struct input *promote(struct inputs *op, struct input *result)
{
	const struct input *widest = tensor_at(op, -1);

	*result = (struct input){.is_tensor = 1, .elements = 1};
	for (size_t i = 0; i < op->n; i++) {
		const struct input *in = tensor_at(op, (int)i);
		unsigned n = in->ndim > result->ndim ? in->ndim : result->ndim;
		struct input next = {.is_tensor = 1, .ndim = (uint8_t)n};

		if (!in->is_tensor)
			continue;
		if (!broadcast(op, in, result, 0, &next.elements))
			return NULL;
		for (unsigned d = 0; d < n; d++) {
			uint64_t di = d + in->ndim >= n ? in->dim[d + in->ndim - n] : 1;
			uint64_t dr = d + result->ndim >= n ? result->dim[d + result->ndim - n] : 1;

			next.dim[d] = di == 1 ? dr : di;
		}
		*result = next;
		/* a number (no dimensions) widens tensors only across int and float */
		if (!widest->is_tensor || in->category > widest->category ||
		    (in->category == widest->category &&
		     (in->ndim > 0) * 16 + in->bytes > (widest->ndim > 0) * 16 + widest->bytes))
			widest = in;
	}
	return widest->is_tensor ? widest : NULL;
}

static void rule_elementwise(struct inputs *op, const struct cost_call *c)
{
	struct input result;
	const struct input *widest = promote(op, &result), *first = tensor_at(op, 0);
	uint64_t bytes = widest ? widest->bytes : 0;
	int unknown = 0;

	if (!widest)
		return;
	if (c->b == FLOAT_RESULT && widest->category < 3 && widest->category > 0)
		bytes = 4;
	if (c->b == BOOL_RESULT)
		bytes = 1;
	if (c->in_place && first->is_tensor) {
		bytes = first->bytes;
		result.elements = first->elements;
	}
	set_flops_and_bytes(c->cost, MUL(result.elements, (uint64_t)c->a),
	                    bytes_of_all(op, &unknown), RESULT(result.elements, bytes));
}
static void rule_gelu(struct inputs *op, const struct cost_call *c)
{
	struct cost_call each = *c;

	each.a = value_is(op, 1, "tanh") ? c->a : c->b;
	each.b = 0;
	rule_elementwise(op, &each);
}

/* The number of elements of a reduction's result; 0 if the axes are not recorded. */
static uint64_t reduced_elements(struct inputs *op, const struct input *x)
{
	int64_t axis[MAX_DIMS];
	uint64_t kept = 1;
	unsigned reduced = 0;
	int n = ints_at(op, 1, axis);

	if (op->n < 3) /* the overload without axes: everything */
		return 1;
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		int64_t d = axis[i] < 0 ? axis[i] + x->ndim : axis[i];

		if (d < 0 || d >= x->ndim)
			return 0;
		reduced |= 1u << d;
	}
	for (unsigned d = 0; d < x->ndim; d++)
		if (n && !(reduced >> d & 1))
			kept = MUL(kept, x->dim[d]);
	return kept;
}

static void rule_reduction(struct inputs *op, const struct cost_call *c)
{
	const struct input *x = tensor_at(op, 0), *y = tensor_at(op, 1);
	struct cost_call each = *c;

	if (!x->is_tensor)
		return;
	if (y->is_tensor && !y->ndim &&
	    x->ndim) { /* of a tensor and a number, or out= of all elements */
		set_flops(c->cost, MUL(x->elements, (uint64_t)c->a));
		return;
	}
	if (y->is_tensor) { /* max and min of two tensors reduce nothing */
		c->cost->kind = WS_NVTX_OP_ELEMENTWISE;
		each.b = 0;
		rule_elementwise(op, &each);
		return;
	}
	uint64_t results = reduced_elements(op, x);
	if (results)
		set_flops_and_bytes(c->cost, MUL(x->elements, (uint64_t)c->a), BYTES(x),
		                    RESULT(results, c->b ? (uint64_t)c->b : x->bytes));
	else
		set_flops(c->cost, MUL(x->elements, (uint64_t)c->a));
}

/* --- moving data --- */

static void rule_embedding(struct inputs *op, const struct cost_call *c)
{
	const struct input *w = tensor_at(op, 0), *at = tensor_at(op, 1);

	if (w->ndim != 2 || !at->is_tensor)
		return;
	uint64_t read = MUL(MUL(at->stored, w->dim[1]), w->bytes);
	set_flops_and_bytes(c->cost, 0, ADD(read, BYTES(at)),
	                    RESULT(MUL(at->elements, w->dim[1]), w->bytes));
}

/* Inputs: gradient, indices, number of rows of the table, which is written whole. */
static void rule_embedding_backward(struct inputs *op, const struct cost_call *c)
{
	const struct input *g = tensor_at(op, 0), *at = tensor_at(op, 1);
	int64_t rows[MAX_DIMS];

	if (!g->is_tensor || !g->ndim || !at->is_tensor)
		return;
	if (ints_at(op, 2, rows) == 1 && rows[0] > 0)
		set_flops_and_bytes(c->cost, g->elements, ADD(BYTES(g), BYTES(at)),
		                    RESULT(MUL((uint64_t)rows[0], g->dim[g->ndim - 1]), g->bytes));
	else
		set_flops(c->cost, g->elements);
}

static void rule_copy(struct inputs *op, const struct cost_call *c)
{
	const struct input *to = tensor_at(op, 0), *from = tensor_at(op, 1);

	if (!to->is_tensor || !from->is_tensor)
		return;
	if (to->dtype != from->dtype || to->bytes != from->bytes)
		c->cost->kind = WS_NVTX_OP_CAST;
	set_flops_and_bytes(c->cost, 0, BYTES(from), BYTES(to));
}

static void rule_fill(struct inputs *op, const struct cost_call *c)
{
	const struct input *to = tensor_at(op, 0);

	if (to->is_tensor)
		set_flops_and_bytes(c->cost, 0, 0, BYTES(to));
}

static void rule_concatenate(struct inputs *op, const struct cost_call *c)
{
	int unknown = 0;
	uint64_t bytes = bytes_of_all(op, &unknown);

	if (op->n && op->in[0].is_list && !unknown)
		set_flops_and_bytes(c->cost, 0, bytes, RESULT(op->in[0].elements, op->in[0].bytes));
}

static void rule_lists(struct inputs *op, const struct cost_call *c)
{
	int unknown = 0;

	if (!op->n || !op->in[0].is_list)
		return;
	uint64_t flops = MUL(op->in[0].elements, (uint64_t)c->a);
	uint64_t bytes = bytes_of_all(op, &unknown);
	if (unknown)
		set_flops(c->cost, flops);
	else
		set_flops_and_bytes(c->cost, flops, bytes, MUL((uint64_t)c->b, BYTES(&op->in[0])));
}

/* --- the operations --- */

struct model {
	const char *name;
	rule_fn rule;
	int a, b;
	size_t inputs;
	enum ws_nvtx_op kind;
	enum ws_op_direction direction;
};
static const struct model models[] = {
#define OP(name, rule, a, b, inputs, kind, direction) \
	{name, rule_##rule, a, b, inputs, WS_NVTX_OP_##kind, WS_OP_##direction},
#include "formats/op_cost/op_cost.def"
#undef OP
};

static const struct model *find_model(struct ws_bytes name)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (ws_bytes_is(name, models[i].name))
			return &models[i];
	return NULL;
}

void ws_op_cost(const struct ws_op_desc *desc, struct ws_op_cost *out)
{
	static const char aten[] = "aten::";
	struct ws_bytes name = desc->name;
	const struct input *typed = NULL;

	*out = (struct ws_op_cost){.kind = WS_NVTX_OP_OTHER};
	if (ws_bytes_begin(name, aten))
		name = (struct ws_bytes){(const char *)name.ptr + strlen(aten),
		                         name.len - strlen(aten)};
	const struct model *m = find_model(name);
	/* an operation in place has the model of the one without an underscore at the end */
	bool in_place = !m && name.len && ((const char *)name.ptr)[name.len - 1] == '_';
	if (in_place) {
		name.len--;
		m = find_model(name);
	}
	struct inputs op = {0};
	take_each(&op, desc->dims, take_dims);
	take_each(&op, desc->types, take_type);
	take_each(&op, desc->strides, take_strides);
	take_each(&op, desc->inputs, take_value);
	for (size_t i = (m ? m->inputs : MAX_INPUTS); i < op.n; i++) {
		op.in[i].is_output = op.in[i].is_tensor;
		if (op.in[i].is_output && !op.out)
			op.out = &op.in[i];
	}
	/* the type of the first floating tensor, else of the first tensor */
	for (size_t i = 0; i < op.n && !op.malformed; i++)
		if (op.in[i].is_tensor && !op.in[i].is_output &&
		    (!typed || (typed->category != 3 && op.in[i].category == 3)))
			typed = &op.in[i];
	out->dtype = typed ? typed->dtype : WS_DTYPE_NONE;
	if (!m)
		return;
	out->kind = m->kind;
	out->direction = m->direction;
	if (op.malformed || op.overflow)
		return;
	m->rule(&op, &(struct cost_call){out, m->a, m->b, in_place});
	if (op.overflow)
		*out = (struct ws_op_cost){.kind = out->kind,
		                           .direction = out->direction,
		                           .dtype = out->dtype};
}
