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

/* An array of sizes, one level below an array of such arrays where the input is a list. */
static void take_sizes(struct ws_op_inputs *op, struct ws_op_input *in,
                       const struct ws_json_value *v, int in_list)
{
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(v, &faults);
	struct ws_json_value item;
	uint64_t elements = 1;
	int64_t size;

	in->ndim = 0;
	if (v->type != WS_JSON_ARRAY || ws_json_open(&j, '[') != WS_JSON_OK)
		op->malformed = 1;
	while (!op->malformed && ws_json_element(&j) == WS_JSON_OK) {
		if (ws_json_value(&j, &item) != WS_JSON_OK) {
			op->malformed = 1;
		} else if (item.type == WS_JSON_ARRAY && !in_list) {
			in->is_list = 1;
			take_sizes(op, in, &item, 1);
		} else if (!ws_json_i64(&item, &size) || size < 0 || in->ndim == WS_OP_MAX_DIMS) {
			op->malformed = 1;
		} else {
			in->dim[in->ndim++] = (uint64_t)size;
			elements = ws_op_mul(op, elements, (uint64_t)size);
		}
	}
	if (in_list)
		in->elements = ws_op_add(op, in->elements, elements);
	else if (!in->is_list)
		in->elements = elements;
}

static void take_dims(struct ws_op_inputs *op, struct ws_op_input *in,
                      const struct ws_json_value *v)
{
	take_sizes(op, in, v, 0);
}

static void take_value(struct ws_op_inputs *op, struct ws_op_input *in,
                       const struct ws_json_value *v)
{
	(void)op;
	if (v->type == WS_JSON_STRING)
		in->value = (struct ws_bytes){v->text, v->len};
}

/* The elements of one of the three arrays, each to its input. */
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

void ws_op_inputs_read(struct ws_op_inputs *op, const struct ws_op_desc *desc)
{
	*op = (struct ws_op_inputs){0};
	take_each(op, desc->dims, take_dims);
	take_each(op, desc->types, take_type);
	take_each(op, desc->inputs, take_value);
}

const struct ws_op_input *ws_op_tensor(const struct ws_op_inputs *op, int i)
{
	static const struct ws_op_input none;

	return i >= 0 && (size_t)i < op->n && op->in[i].is_tensor && !op->in[i].is_list ? &op->in[i]
	                                                                                : &none;
}

uint64_t ws_op_bytes(struct ws_op_inputs *op, const struct ws_op_input *in)
{
	return ws_op_mul(op, in->elements, in->bytes);
}

int ws_op_value_is(const struct ws_op_inputs *op, int i, const char *text)
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

int ws_op_ints_exactly(const struct ws_op_inputs *op, int i, int64_t out[WS_OP_MAX_DIMS],
                       size_t want)
{
	int n = ws_op_ints(op, i, out);

	for (size_t k = 1; n == 1 && k < want; k++)
		out[k] = out[0];
	return n == 1 || (n > 0 && (size_t)n == want);
}

int ws_op_broadcast(struct ws_op_inputs *op, const struct ws_op_input *x,
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
