/*
 * A PyTorch operation as the collector defines it becomes the row that the importer of PyTorch's
 * profiles would make of it: its inputs as JSON arrays, word by word as PyTorch writes them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/base/bytes.h"
#include "formats/op_cost/op_cost.h"
#include "recorder/drain/private.h"

/* c10::ScalarType, which only grows: its numbers are in PyTorch's files. */
static const char *const types[] = {
        "unsigned char",
        "signed char",
        "short int",
        "int",
        "long int",
        "c10::Half",
        "float",
        "double",
        "c10::complex<c10::Half>",
        "c10::complex<float>",
        "c10::complex<double>",
        "bool",
        "c10::qint8",
        "c10::quint8",
        "c10::qint32",
        "c10::BFloat16",
        "c10::quint4x2",
        "c10::quint2x4",
        "c10::bits1x8",
        "c10::bits2x4",
        "c10::bits4x2",
        "c10::bits8",
        "c10::bits16",
        "c10::Float8_e5m2",
        "c10::Float8_e4m3fn",
        "c10::Float8_e5m2fnuz",
        "c10::Float8_e4m3fnuz",
        "short unsigned int",
        "unsigned int",
        "long unsigned int",
        [44] = "c10::Float8_e8m0fnu",
        [45] = "c10::Float4_e2m1fn_x2",
};

/* The four texts of a row. */
struct texts {
	struct ws_buf dims, types, strides, inputs;
};

/* What is left of a definition's body. */
struct reader {
	const uint8_t *pos;
	size_t rest;
	bool is_short; /* it ended too early */
};

static uint64_t take_word(struct reader *r)
{
	uint64_t word = 0;

	if (r->rest < sizeof(word)) {
		r->is_short = 1;
		r->rest = 0;
		return 0;
	}
	memcpy(&word, r->pos, sizeof(word));
	r->pos += sizeof(word);
	r->rest -= sizeof(word);
	return word;
}

static struct ws_def_input take_input(struct reader *r)
{
	uint64_t word = take_word(r);
	struct ws_def_input input;

	_Static_assert(sizeof(input) == sizeof(word), "one word");
	memcpy(&input, &word, sizeof(input));
	if (input.n > r->rest / sizeof(word) + 1)
		r->is_short = 1;
	return input;
}

static void put(struct ws_buf *b, const char *text)
{
	ws_buf_put(b, text, strlen(text));
}

/* In an array: a comma behind what is there. */
static void put_comma(struct ws_buf *b)
{
	if (b->len && b->data[b->len - 1] != '[')
		put(b, ",");
}

static void put_quoted(struct ws_buf *b, const char *text)
{
	put_comma(b);
	put(b, "\"");
	put(b, text);
	put(b, "\"");
}

static void put_numbers(struct ws_buf *b, struct reader *r, uint32_t n)
{
	char number[24];

	put_comma(b);
	put(b, "[");
	for (uint32_t i = 0; i < n && !r->is_short; i++) {
		snprintf(number, sizeof(number), "%s%" PRId64, i ? "," : "", (int64_t)take_word(r));
		put(b, number);
	}
	put(b, "]");
}

static void put_shape(struct texts *t, struct reader *r, struct ws_def_input input)
{
	put_numbers(&t->dims, r, input.n);
	put_numbers(&t->strides, r, input.has_strides ? input.n : 0);
}

static const char *type_name(uint16_t type)
{
	return type < sizeof(types) / sizeof(*types) && types[type] ? types[type] : "";
}

static void put_list(struct texts *t, struct reader *r, uint32_t n)
{
	put_comma(&t->dims);
	put_comma(&t->strides);
	put(&t->dims, "[");
	put(&t->strides, "[");
	for (uint32_t i = 0; i < n && !r->is_short; i++)
		put_shape(t, r, take_input(r));
	put(&t->dims, "]");
	put(&t->strides, "]");
	put_quoted(&t->types, "TensorList");
	put_quoted(&t->inputs, "");
}

/* As PyTorch's operator<< writes a number. */
static void scalar_text(uint8_t kind, uint64_t word, char text[40])
{
	double value;

	memcpy(&value, &word, sizeof(value));
	if (kind == WS_INPUT_BOOL || kind == WS_INPUT_BOOL_LIST)
		snprintf(text, 40, "%s", word ? "True" : "False");
	else if (kind == WS_INPUT_INT || kind == WS_INPUT_INT_LIST)
		snprintf(text, 40, "%" PRId64, (int64_t)word);
	else if (fabs(value) < 1e10 && (double)(int64_t)value == value)
		snprintf(text, 40, "%s%" PRId64 ".", signbit(value) && value == 0 ? "-" : "",
		         (int64_t)value);
	else
		snprintf(text, 40, "%.17g", value);
}

static void put_scalars(struct texts *t, struct reader *r, struct ws_def_input input)
{
	const bool is_list = input.kind >= WS_INPUT_INT_LIST;
	const uint32_t n = is_list ? input.n : input.kind != WS_INPUT_COMPLEX;
	char text[40];

	put_comma(&t->inputs);
	put(&t->inputs, is_list ? "\"[" : "\"");
	for (uint32_t i = 0; i < n && !r->is_short; i++) {
		scalar_text(input.kind, take_word(r), text);
		put(&t->inputs, i ? ", " : "");
		put(&t->inputs, text);
	}
	put(&t->inputs, is_list ? "]\"" : "\"");
	put_quoted(&t->types, is_list ? "ScalarList" : "Scalar");
	put_numbers(&t->dims, r, 0);
	put_numbers(&t->strides, r, 0);
}

static void put_input(struct texts *t, struct reader *r)
{
	const struct ws_def_input input = take_input(r);

	switch (input.kind) {
	case WS_INPUT_TENSOR:
		put_shape(t, r, input);
		put_quoted(&t->types, type_name(input.type));
		put_quoted(&t->inputs, "");
		break;
	case WS_INPUT_TENSOR_LIST:
		put_list(t, r, input.n);
		break;
	case WS_INPUT_OTHER:
		put_numbers(&t->dims, r, 0);
		put_numbers(&t->strides, r, 0);
		put_quoted(&t->types, "");
		put_quoted(&t->inputs, "");
		break;
	default:
		r->is_short |= input.kind > WS_INPUT_BOOL_LIST;
		put_scalars(t, r, input);
	}
}

static struct ws_bytes closed(struct ws_buf *b)
{
	put(b, "]");
	return (struct ws_bytes){b->data, b->len};
}

static void add_row(struct ws_drain *d, uint64_t id, const struct ws_op_desc *op)
{
	struct ws_row_op_config row = {
	        .id = id,
	        .name = ws_drain_intern(d, op->name),
	        .dims = ws_drain_intern(d, op->dims),
	        .types = ws_drain_intern(d, op->types),
	        .strides = ws_drain_intern(d, op->strides),
	        .inputs = ws_drain_intern(d, op->inputs),
	};

	ws_op_cost_fill(op, &row);
	ws_drain_add(d, WS_KIND_OP_CONFIG, &row);
}

bool ws_drain_op_config(struct ws_drain *d, uint64_t id, const struct ws_def_op *def,
                        struct ws_bytes behind)
{
	const size_t name_room = WS_ALIGN8(def->name_size);
	struct reader r = {.is_short = name_room > behind.len};
	struct ws_op_desc op = {.name = {behind.ptr, r.is_short ? 0 : def->name_size}};
	struct texts t = {0};

	if (!r.is_short) {
		r.pos = (const uint8_t *)behind.ptr + name_room;
		r.rest = behind.len - name_room;
	}
	if (def->inputs) {
		put(&t.dims, "[");
		put(&t.types, "[");
		put(&t.strides, "[");
		put(&t.inputs, "[");
		for (uint32_t i = 0; i < def->inputs && !r.is_short; i++)
			put_input(&t, &r);
		op.dims = closed(&t.dims);
		op.types = closed(&t.types);
		op.strides = closed(&t.strides);
		op.inputs = closed(&t.inputs);
	}
	/* calls name the row in any case */
	if (r.is_short)
		op = (struct ws_op_desc){.name = op.name};
	add_row(d, id, &op);
	ws_buf_free(&t.dims);
	ws_buf_free(&t.types);
	ws_buf_free(&t.strides);
	ws_buf_free(&t.inputs);
	return !r.is_short;
}
