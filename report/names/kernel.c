/* The short name of one kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/base/names.h"
#include "report/base/signature.h"
#include "report/names/names.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- words of a name ----------------------------------------------------------- */

/* The next word at or behind *at, '::' between identifiers included; len 0 at the end. */
static struct ws_bytes next_word(const char **at, const char *end)
{
	const char *p = *at, *begin;

	while (p < end && !ws_name_is_word(*p))
		p++;
	begin = p;
	while (p < end && (ws_name_is_word(*p) || (end - p > 2 && p > begin && p[0] == ':' &&
	                                           p[1] == ':' && ws_name_is_word(p[2]))))
		p += *p == ':' ? 2 : 1;
	*at = p;
	return (struct ws_bytes){begin, (size_t)(p - begin)};
}

/* Words that hold the function and are not it, types, what demanglers add; a blank around each. */
static const char empty_words[] =
        " gpu_kernel_impl gpu_kernel_impl_nocast gpu_index_kernel "
        "opmath_symmetric_gpu_kernel_with_scalars BinaryFunctor AUnaryFunctor "
        "BUnaryFunctor ReduceOp func_wrapper_t TensorListMetadata "
        "TensorListScalarListMetadata FusedOptimizerTensorListMetadata UnaryOpFunctor "
        "BinaryOpScalarFunctor BinaryOpScalarListFunctor BinaryOpListAlphaFunctor "
        "BinaryOpScalarTensorFunctor PointwiseOpScalarFunctor "
        "PointwiseOpScalarListFunctor PointwiseOpListFunctor TernaryOpListFunctor "
        "TernaryOpScalarFunctor TensorIteratorBase TensorIterator Array array "
        "OpaqueType TrivialOffsetCalculator OffsetCalculator LoadWithoutCast "
        "StoreWithoutCast LoadWithCast StoreWithCast enable_sm90 enable_sm90_or_later "
        "enable_sm80_to_sm89 void int unsigned long bool float double char short half "
        "__half Half BFloat16 __nv_bfloat16 const anonymous namespace unnamed lambda "
        "operator instance std true false at native c10 cuda decltype nullptr internal "
        "detail default_config ReduceOpType ";

static bool is_filler(struct ws_bytes word)
{
	const char *p = empty_words + 1, *end = empty_words + sizeof(empty_words);

	if (is_digit(*(const char *)word.ptr))
		return true;
	if (!word.len)
		return false;
	while ((p = memmem(p, (size_t)(end - p), word.ptr, word.len)) &&
	       (p[-1] != ' ' || p[word.len] != ' '))
		p++;
	return p;
}

/* The type that the function at `at` is made for: f<float, …> or f(…)::{lambda(float)#1}. */
static struct ws_bytes type_of(const char *at, const char *end)
{
	static const char lambda[] = "lambda(";
	struct ws_bytes type = {at, 0};
	const char *p = at, *from = at < end && *at == '<' ? at + 1 : NULL;

	while (!from && (p = memmem(p, (size_t)(end - p), lambda, sizeof(lambda) - 1))) {
		p += sizeof(lambda) - 1;
		if (p < end && *p != ')')
			from = p;
	}
	if (!from)
		return type;
	p = from;
	type = ws_name_last_part(next_word(&p, end));
	/* only a plain type: T<…> or a number says nothing here */
	if (p == end || !strchr(",>)", *p) || (type.len && is_digit(*(const char *)type.ptr)) ||
	    type.len > 16)
		type.len = 0;
	return type;
}

/* --- kinds of names ------------------------------------------------------------- */

static void put(struct ws_buf *out, struct ws_bytes text)
{
	ws_buf_put(out, text.ptr, text.len);
}

static void put_str(struct ws_buf *out, const char *text)
{
	ws_buf_put(out, text, strlen(text));
}

/* Of the template arguments: from behind the first '<' to its '>'. */
static struct ws_bytes arguments_of(struct ws_bytes name)
{
	const char *p = name.ptr, *end = p + name.len, *begin;
	unsigned depth = 1;

	p = name.len ? memchr(p, '<', name.len) : NULL;
	/* an anonymous namespace as some tools print it */
	while (p && end - p > 9 && !memcmp(p, "<unnamed>", 9))
		p = memchr(p + 9, '<', (size_t)(end - p - 9));
	if (!p)
		return (struct ws_bytes){"", 0};
	for (begin = ++p; p < end && depth; p++)
		depth += (unsigned)(*p == '<') - (unsigned)(*p == '>' && p[-1] != '-');
	return (struct ws_bytes){begin, (size_t)(p - begin) - (depth == 0)};
}

/* The first word of the arguments that says something, *behind it; len 0 = none does. */
static struct ws_bytes telling_word(struct ws_bytes arguments, const char **behind)
{
	const char *at = arguments.ptr, *end = at + arguments.len;

	for (;;) {
		struct ws_bytes word = next_word(&at, end);

		*behind = at;
		if (!word.len || !is_filler(ws_name_last_part(word)))
			return word;
	}
}

/* The numbers of "GemmShape<128, 128, 32>" or "tuple<C<64>, C<128>, C<64> >" behind `at`. */
static bool shape_at(const char *at, const char *end, unsigned long shape[3])
{
	for (int i = 0; i < 3; i++) {
		while (at < end && !is_digit(*at) && strchr("cute:C<, (int)>", *at))
			at++;
		if (at == end || !is_digit(*at))
			return false;
		shape[i] = strtoul(at, NULL, 10);
		while (at < end && is_digit(*at))
			at++;
	}
	return shape[0] < 10000 && shape[1] < 10000 && shape[2] < 10000;
}

/* CUTLASS: the tile is the first shape that is larger than a cluster's. */
static bool tile_of(struct ws_bytes arguments, unsigned long tile[3])
{
	static const char *const words[] = {"GemmShape<", "tuple<"};
	const char *begin = arguments.ptr, *end = begin + arguments.len;

	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		size_t n = strlen(words[w]);

		for (const char *p = begin; (p = memmem(p, (size_t)(end - p), words[w], n));) {
			p += n;
			if (shape_at(p, end, tile) && tile[0] * tile[1] * tile[2] >= 512)
				return true;
		}
	}
	return false;
}

/* The element type of a CUTLASS template; len 0 = none is named. */
static struct ws_bytes element_of(struct ws_bytes arguments)
{
	static const char *const types[] = {"bfloat16_t",   "half_t",       "tfloat32_t",
	                                    "float_e4m3_t", "float_e5m2_t", "float_e2m1_t",
	                                    "int8_t"};
	const char *at = arguments.ptr, *end = at + arguments.len;

	for (;;) {
		struct ws_bytes word = ws_name_last_part(next_word(&at, end));

		if (!word.len || WS_NAME_IS_ONE_OF(word, types))
			return word;
	}
}

static void put_wrapped(struct ws_bytes name, struct ws_bytes wrapped, struct ws_buf *out)
{
	struct ws_bytes arguments = arguments_of(name), element = element_of(arguments);
	unsigned long tile[3];
	char text[64];

	put(out, wrapped);
	if (!tile_of(arguments, tile))
		return;
	snprintf(text, sizeof(text), "<%lux%lux%lu", tile[0], tile[1], tile[2]);
	put_str(out, text);
	if (element.len) {
		put_str(out, ", ");
		put(out, element);
	}
	put_str(out, ">");
}

/* frame<function<type>> */
static void put_frame(struct ws_bytes frame, struct ws_bytes function, struct ws_bytes type,
                      struct ws_buf *out)
{
	put(out, ws_name_last_part(frame));
	put_str(out, "<");
	put(out, ws_name_last_part(function));
	if (type.len) {
		put_str(out, "<");
		put(out, type);
		put_str(out, ">");
	}
	put_str(out, ">");
}

/* Bytes of a Tensile name up to its tile and matrix instruction; 0 = it is none. */
static size_t tensile_length(struct ws_bytes name)
{
	static const char *const words[] = {"_MI", "_MT"};
	const char *p = name.ptr, *end = p + name.len;

	if (!memmem(p, name.len, "Cijk_", 5))
		return 0;
	for (size_t w = 0; w < 2; w++) {
		const char *at = memmem(p, name.len, words[w], 3);

		if (!at || end - at < 4 || !is_digit(at[3]))
			continue;
		for (at += 3; at < end && (is_digit(*at) || *at == 'x');)
			at++;
		return (size_t)(at - p);
	}
	return 0;
}

/* "…_xmma_…_execute_segment_k_off_kernel__5x_cublas": what all of them have is left out. */
static bool put_xmma(struct ws_bytes name, struct ws_buf *out)
{
	static const char begin[] = "_execute_", end[] = "kernel__5x_cu";
	const char *p = name.ptr, *at, *tail;
	size_t middle;

	if (!memmem(p, name.len, "_xmma_", 6) || !(at = memmem(p, name.len, begin, 9)) ||
	    !(tail = memmem(at, name.len - (size_t)(at - p), end, sizeof(end) - 1)))
		return false;
	middle = (size_t)(tail - at) - 9;
	ws_buf_put(out, p, (size_t)(at - p));
	if (middle)
		ws_buf_put(out, at + 8, middle);
	return true;
}

void ws_short_name(struct ws_bytes name, struct ws_buf *out)
{
	size_t tensile = tensile_length(name);
	struct ws_bytes function, arguments, telling;
	const char *behind;
	char *room;

	if (tensile) {
		ws_buf_put(out, name.ptr, tensile);
		return;
	}
	if (put_xmma(name, out))
		return;
	room = ws_xmalloc(name.len + 1);
	function = (struct ws_bytes){room, ws_name_function(name, room)};
	arguments = arguments_of(name);
	telling = telling_word(arguments, &behind);
	if (!telling.len || function.len + telling.len > WS_SHORT_NAME_MAX) {
		put(out, function);
	} else if (ws_name_frame(function) == WS_NAME_WRAPPER) {
		put_wrapped(name, telling, out);
	} else if (ws_name_frame(function) == WS_NAME_FRAME) {
		put_frame(function, telling,
		          type_of(behind, (const char *)arguments.ptr + arguments.len), out);
	} else {
		put(out, function);
	}
	free(room);
}
