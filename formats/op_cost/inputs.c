#include "formats/op_cost/inputs.h"

#include "formats/text/json_reader.h"

uint64_t ws_op_mul(struct ws_op_inputs *op, uint64_t a, uint64_t b)
{
	uint64_t r;

	op->overflow |= __builtin_mul_overflow(a, b, &r);
	return r;
}

uint64_t ws_op_add(struct ws_op_inputs *op, uint64_t a, uint64_t b)
{
	uint64_t r;

	op->overflow |= __builtin_add_overflow(a, b, &r);
	return r;
}

uint64_t ws_op_product(struct ws_op_inputs *op, const uint64_t *dim, size_t n)
{
	uint64_t r = 1;

	for (size_t i = 0; i < n; i++)
		r = ws_op_mul(op, r, dim[i]);
	return r;
}

/* --- what was recorded --- */

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

static void take_type(struct ws_op_inputs *op, struct ws_op_input *in,
                      const struct ws_json_value *v)
{
	struct ws_json_faults faults = {0};
	struct ws_json_value first = *v;

	(void)op;
	if (v->type == WS_JSON_ARRAY) { /* a list: the type of its first tensor */
		struct ws_json_reader j = ws_json_inside(v, &faults);

		if (ws_json_open(&j, '[') != WS_JSON_OK || ws_json_element(&j) != WS_JSON_OK ||
		    ws_json_value(&j, &first) != WS_JSON_OK)
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

/* The numbers of an array: how many; -1 when they are no sizes, or more than a tensor has. */
static int sizes_of(const struct ws_json_value *v, uint64_t out[WS_OP_MAX_DIMS])
{
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(v, &faults);
	struct ws_json_value item;
	int64_t size;
	int n = 0;

	if (v->type != WS_JSON_ARRAY || ws_json_open(&j, '[') != WS_JSON_OK)
		return -1;
	while (ws_json_element(&j) == WS_JSON_OK) {
		if (n == WS_OP_MAX_DIMS || ws_json_value(&j, &item) != WS_JSON_OK ||
		    !ws_json_i64(&item, &size) || size < 0)
			return -1;
		out[n++] = (uint64_t)size;
	}
	return n;
}

/* An array of sizes, or of such arrays where the input is a list. */
static void take_dims(struct ws_op_inputs *op, struct ws_op_input *in,
                      const struct ws_json_value *v)
{
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(v, &faults);
	struct ws_json_value item;
	uint64_t dim[WS_OP_MAX_DIMS];
	int n = sizes_of(v, in->dim);

	in->sizes = (struct ws_bytes){v->text, v->len};
	if (n >= 0) {
		in->ndim = (uint8_t)n;
		in->elements = in->stored = ws_op_product(op, in->dim, in->ndim);
		return;
	}
	in->is_list = 1;
	op->malformed |= v->type != WS_JSON_ARRAY || ws_json_open(&j, '[') != WS_JSON_OK;
	while (!op->malformed && ws_json_element(&j) == WS_JSON_OK) {
		n = ws_json_value(&j, &item) == WS_JSON_OK ? sizes_of(&item, dim) : -1;
		op->malformed |= n < 0;
		if (n >= 0)
			in->elements =
			        ws_op_add(op, in->elements, ws_op_product(op, dim, (size_t)n));
	}
	in->stored = in->elements;
}

/*
 * Elements of a tensor that lie in memory: what a stride of 0 repeats lies
 * there once, and windows that overlap share what they span. Without strides
 * that fit the sizes, all are taken to differ.
 */
static uint64_t stored_elements(struct ws_op_inputs *op, const struct ws_json_value *sizes,
                                const struct ws_json_value *strides)
{
	uint64_t dim[WS_OP_MAX_DIMS], stride[WS_OP_MAX_DIMS], elements = 1, span = 1;
	int n = sizes_of(sizes, dim), strided = sizes_of(strides, stride) == n;

	for (int d = 0; d < n; d++) {
		if (!strided || stride[d] || !dim[d])
			elements = ws_op_mul(op, elements, dim[d]);
		if (strided && dim[d])
			span = ws_op_add(op, span, ws_op_mul(op, dim[d] - 1, stride[d]));
	}
	return strided && span < elements ? span : elements;
}

static void take_strides(struct ws_op_inputs *op, struct ws_op_input *in,
                         const struct ws_json_value *v)
{
	struct ws_json_faults faults = {0};
	struct ws_json_value size, stride,
	        all = {.type = WS_JSON_ARRAY, .text = in->sizes.ptr, .len = in->sizes.len};
	struct ws_json_reader sizes = ws_json_inside(&all, &faults),
	                      strides = ws_json_inside(v, &faults);
	uint64_t stored = 0, n = 0;

	if (op->malformed || !in->sizes.len)
		return;
	if (!in->is_list) {
		in->stored = stored_elements(op, &all, v);
		return;
	}
	if (ws_json_open(&sizes, '[') != WS_JSON_OK || ws_json_open(&strides, '[') != WS_JSON_OK)
		return;
	while (ws_json_element(&sizes) == WS_JSON_OK) {
		if (ws_json_value(&sizes, &size) != WS_JSON_OK ||
		    ws_json_element(&strides) != WS_JSON_OK ||
		    ws_json_value(&strides, &stride) != WS_JSON_OK)
			return;
		stored = ws_op_add(op, stored, stored_elements(op, &size, &stride));
		n++;
	}
	if (n)
		in->stored = stored;
}

static void take_value(struct ws_op_inputs *op, struct ws_op_input *in,
                       const struct ws_json_value *v)
{
	(void)op;
	if (v->type == WS_JSON_STRING)
		in->value = (struct ws_bytes){v->text, v->len};
}

/* The elements of one of the four arrays, each to its input. */
static void take_each(struct ws_op_inputs *op, struct ws_bytes text,
                      void (*take)(struct ws_op_inputs *op, struct ws_op_input *in,
                                   const struct ws_json_value *v))
{
	struct ws_json_faults faults = {0};
	struct ws_json_value v = {.text = text.ptr, .len = text.len};
	struct ws_json_reader j;
	size_t i = 0;

	if (!text.len)
		return;
	j = ws_json_inside(&v, &faults);
	if (ws_json_open(&j, '[') != WS_JSON_OK)
		return;
	while (i < WS_OP_MAX_INPUTS && ws_json_element(&j) == WS_JSON_OK &&
	       ws_json_value(&j, &v) == WS_JSON_OK)
		take(op, &op->in[i++], &v);
	if (i > op->n)
		op->n = i;
}

void ws_op_inputs_read(struct ws_op_inputs *op, const struct ws_op_desc *desc, size_t out_from)
{
	*op = (struct ws_op_inputs){0};
	take_each(op, desc->dims, take_dims);
	take_each(op, desc->types, take_type);
	take_each(op, desc->strides, take_strides);
	take_each(op, desc->inputs, take_value);
	for (size_t i = out_from; i < op->n; i++) {
		op->in[i].is_output = op->in[i].is_tensor;
		if (op->in[i].is_output && !op->out)
			op->out = &op->in[i];
	}
}

const struct ws_op_input *ws_op_tensor(const struct ws_op_inputs *op, int i)
{
	static const struct ws_op_input none;

	const struct ws_op_input *in = i >= 0 && (size_t)i < op->n ? &op->in[i] : &none;

	return in->is_tensor && !in->is_list && !in->is_output ? in : &none;
}

uint64_t ws_op_bytes(struct ws_op_inputs *op, const struct ws_op_input *in)
{
	return ws_op_mul(op, in->stored, in->bytes);
}

uint64_t ws_op_result(struct ws_op_inputs *op, uint64_t elements, uint64_t element_bytes)
{
	return ws_op_mul(op, elements, op->out ? op->out->bytes : element_bytes);
}

bool ws_op_value_is(const struct ws_op_inputs *op, int i, const char *text)
{
	size_t len = strlen(text);

	return i >= 0 && (size_t)i < op->n && op->in[i].value.len == len &&
	       memcmp(op->in[i].value.ptr, text, len) == 0;
}

int ws_op_flag(const struct ws_op_inputs *op, int i)
{
	if (ws_op_value_is(op, i, "True") || ws_op_value_is(op, i, "1") ||
	    ws_op_value_is(op, i, "2"))
		return 1;
	return ws_op_value_is(op, i, "False") || ws_op_value_is(op, i, "0") ? 0 : -1;
}

int ws_op_ints(const struct ws_op_inputs *op, int i, int64_t out[WS_OP_MAX_DIMS])
{
	struct ws_json_faults faults = {0};
	struct ws_json_value v;
	struct ws_json_reader j;
	int n = 0;

	if (i < 0 || (size_t)i >= op->n || !op->in[i].value.len)
		return -1;
	v = (struct ws_json_value){.text = op->in[i].value.ptr, .len = op->in[i].value.len};
	j = ws_json_inside(&v, &faults);
	if (ws_json_open(&j, '[') != WS_JSON_OK)
		return ws_json_value(&j, &v) == WS_JSON_OK && ws_json_i64(&v, out) ? 1 : -1;
	while (ws_json_element(&j) == WS_JSON_OK) {
		if (n == WS_OP_MAX_DIMS || ws_json_value(&j, &v) != WS_JSON_OK ||
		    !ws_json_i64(&v, &out[n]))
			return -1;
		n++;
	}
	return n;
}

bool ws_op_ints_exactly(const struct ws_op_inputs *op, int i, int64_t out[WS_OP_MAX_DIMS],
                        size_t want)
{
	int n = ws_op_ints(op, i, out);

	for (size_t k = 1; n == 1 && k < want; k++)
		out[k] = out[0];
	return n == 1 || (n > 0 && (size_t)n == want);
}

bool ws_op_broadcast(struct ws_op_inputs *op, const struct ws_op_input *x,
                     const struct ws_op_input *y, unsigned tail, uint64_t *elements)
{
	unsigned nx = x->ndim - tail, ny = y->ndim - tail, n = nx > ny ? nx : ny;

	*elements = 1;
	for (unsigned i = 0; i < n; i++) {
		uint64_t dx = i + nx >= n ? x->dim[i + nx - n] : 1;
		uint64_t dy = i + ny >= n ? y->dim[i + ny - n] : 1;

		if (dx != dy && dx != 1 && dy != 1)
			return 0;
		*elements = ws_op_mul(op, *elements, dx == 1 ? dy : dx);
	}
	return 1;
}
