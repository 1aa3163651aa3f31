/* The inputs of an operation, from the places that were proved, as the body of a definition. */
#include <stdatomic.h>
#include <string.h>

#include "recorder/pytorch/torch.h"
#include "recorder/shared/record.h"

#define MAX_INPUTS  256
#define MAX_NAME    1024
#define MAX_DIMS    64
#define MAX_SCALARS 30 /* of a list; PyTorch's profiler leaves longer ones out, too */

struct body {
	uint64_t *pos, *end;
	bool with_numbers, is_full;
};

static void put_word(struct body *b, uint64_t word)
{
	if (b->pos == b->end)
		b->is_full = 1;
	else
		*b->pos++ = word;
}

static void put_input(struct body *b, enum ws_input_kind kind, uint32_t n)
{
	const struct ws_def_input input = {.kind = (uint8_t)kind, .n = n};
	uint64_t word;

	memcpy(&word, &input, sizeof(word));
	put_word(b, word);
}

static uint64_t word_at(const void *object, uint32_t at)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)object + at, sizeof(word));
	return word;
}

static uint32_t tag_of(const uint8_t *value)
{
	uint32_t tag;

	memcpy(&tag, value + 8, sizeof(tag));
	return tag;
}

/* --- tensors --- */

/* Of a class derived from TensorImpl, what its own members say. */
enum tensor_class {
	CLASS_NONE,
	CLASS_STRIDED, /* sizes and strides */
	CLASS_SPARSE,  /* sizes */
	CLASS_OTHER,   /* nested, of a wrapper …: nothing */
};

/* The class by its name, which stands where every C++ object with virtual functions leads to. */
static enum tensor_class find_class(const void *vtable)
{
	static const struct {
		const char *name;
		enum tensor_class class;
	} classes[] = {
	        {"N3c1010TensorImplE", CLASS_STRIDED},
	        {"N2at11QTensorImplE", CLASS_STRIDED},
	        {"N2at9functorch17BatchedTensorImplE", CLASS_STRIDED},
	        {"N2at16SparseTensorImplE", CLASS_SPARSE},
	        {"N2at19SparseCsrTensorImplE", CLASS_SPARSE},
	};
	const void *type, *name;
	char text[48] = "";

	if (ws_torch_peek((const uint8_t *)vtable - 8, (void *)&type, 8) != 8 ||
	    ws_torch_peek((const uint8_t *)type + 8, (void *)&name, 8) != 8 ||
	    !ws_torch_peek(name, text, sizeof(text)))
		return CLASS_OTHER;
	text[sizeof(text) - 1] = 0;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (!strcmp(text, classes[i].name))
			return classes[i].class;
	return CLASS_OTHER;
}

static enum tensor_class class_of(const void *impl)
{
	static struct {
		_Atomic uintptr_t vtable;
		_Atomic uint32_t class; /* CLASS_NONE until it is known */
	} known[16];
	const uintptr_t vtable = word_at(impl, 0);
	uintptr_t found;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		found = atomic_load_explicit(&known[i].vtable, memory_order_relaxed);
		if (!found && atomic_compare_exchange_strong(&known[i].vtable, &found, vtable)) {
			const enum tensor_class class = find_class((const void *)vtable);

			atomic_store_explicit(&known[i].class, class, memory_order_relaxed);
			return class;
		}
		if (found != vtable)
			continue;
		const uint32_t class = atomic_load_explicit(&known[i].class, memory_order_relaxed);

		return class ? (enum tensor_class) class : find_class((const void *)vtable);
	}
	return find_class((const void *)vtable);
}

/* The numbers multiply up to what PyTorch keeps beside them. */
static bool is_numel(const int64_t *sizes, uint64_t ndim, uint64_t numel)
{
	uint64_t product = 1;

	for (uint64_t i = 0; i < ndim; i++)
		product *= (uint64_t)sizes[i];
	return product == numel;
}

static void put_tensor(struct body *b, const void *impl)
{
	const struct ws_torch_tensor *at = &ws_torch.tensor;
	const int64_t *sizes, *strides;
	enum tensor_class class;
	uint64_t ndim, word;
	struct ws_def_input input = {.kind = WS_INPUT_TENSOR};

	class = !impl || impl == ws_torch.undefined ? CLASS_OTHER : class_of(impl);
	if (class == CLASS_OTHER || word_at(impl, at->keys) & at->python) {
		put_input(b, WS_INPUT_OTHER, 0);
		return;
	}
	ndim = word_at(impl, at->ndim);
	sizes = (const int64_t *)(const void *)((const uint8_t *)impl + at->sizes);
	strides = (const int64_t *)(const void *)((const uint8_t *)impl + at->strides);
	if (ndim > WS_TORCH_INLINE_DIMS) {
		sizes = (const int64_t *)(uintptr_t)word_at(impl, at->sizes);
		strides = sizes + ndim;
	}
	if (ndim > MAX_DIMS ||
	    (class == CLASS_STRIDED && !is_numel(sizes, ndim, word_at(impl, at->numel)))) {
		put_input(b, WS_INPUT_OTHER, 0);
		return;
	}
	input.has_strides = class == CLASS_STRIDED;
	memcpy(&input.type, (const uint8_t *)impl + at->type, sizeof(input.type));
	input.n = (uint32_t)ndim;
	memcpy(&word, &input, sizeof(word));
	put_word(b, word);
	if ((uint64_t)(b->end - b->pos) < 2 * ndim) {
		b->is_full = 1;
		return;
	}
	for (uint64_t i = 0; i < ndim; i++)
		*b->pos++ = (uint64_t)sizes[i];
	for (uint64_t i = 0; i < ndim && input.has_strides; i++)
		*b->pos++ = (uint64_t)strides[i];
}

/* --- all inputs --- */

static enum ws_input_kind scalar_kind(uint32_t tag)
{
	const struct ws_torch_tags *tags = &ws_torch.tags;

	return tag == tags->integer   ? WS_INPUT_INT
	       : tag == tags->boolean ? WS_INPUT_BOOL
	       : tag == tags->real    ? WS_INPUT_DOUBLE
	       : tag == tags->complex ? WS_INPUT_COMPLEX
	                              : WS_INPUT_OTHER;
}

/* A bool is one byte of the word. */
static uint64_t scalar_of(const uint8_t *value, enum ws_input_kind kind)
{
	const uint64_t word = word_at(value, 0);

	return kind == WS_INPUT_BOOL ? (word & 255) != 0 : word;
}

static void put_list(struct body *b, const uint8_t *value)
{
	const void *list = (const void *)(uintptr_t)word_at(value, 0);
	const uint8_t *items = (const uint8_t *)(uintptr_t)word_at(list, ws_torch.items);
	const uint64_t bytes = word_at(list, ws_torch.items + 8) - (uintptr_t)items;
	const uint32_t n = (uint32_t)(bytes / WS_TORCH_IVALUE);
	const bool is_tensors = ws_torch.is_tensor_list && ws_torch.is_tensor_list(value);
	enum ws_input_kind kind;

	if (is_tensors) {
		put_input(b, WS_INPUT_TENSOR_LIST, n);
		for (uint32_t i = 0; i < n && !b->is_full; i++)
			put_tensor(b, (const void *)(uintptr_t)word_at(items, i * WS_TORCH_IVALUE));
		return;
	}
	kind = n ? scalar_kind(tag_of(items)) : WS_INPUT_INT;
	if (n > MAX_SCALARS || kind == WS_INPUT_OTHER || kind == WS_INPUT_COMPLEX ||
	    (kind == WS_INPUT_DOUBLE && !b->with_numbers)) {
		put_input(b, WS_INPUT_OTHER, 0);
		return;
	}
	put_input(b,
	          kind == WS_INPUT_INT    ? WS_INPUT_INT_LIST
	          : kind == WS_INPUT_BOOL ? WS_INPUT_BOOL_LIST
	                                  : WS_INPUT_DOUBLE_LIST,
	          n);
	for (uint32_t i = 0; i < n; i++)
		put_word(b, scalar_of(items + i * WS_TORCH_IVALUE, kind));
}

static void put_value(struct body *b, const uint8_t *value)
{
	const uint32_t tag = tag_of(value);
	const enum ws_input_kind kind = scalar_kind(tag);

	if (tag == ws_torch.tags.tensor) {
		put_tensor(b, (const void *)(uintptr_t)word_at(value, 0));
	} else if (tag == ws_torch.tags.list) {
		put_list(b, value);
	} else {
		/* a flag has two values, and costs depend on it: causal, transposed, training */
		const bool is_kept = b->with_numbers || kind == WS_INPUT_BOOL;

		put_input(b, is_kept ? kind : WS_INPUT_OTHER, 0);
		if (is_kept && kind != WS_INPUT_OTHER && kind != WS_INPUT_COMPLEX)
			put_word(b, scalar_of(value, kind));
	}
}

uint32_t ws_torch_name(const char *name, uint8_t body[WS_TORCH_BODY])
{
	const size_t len = strnlen(name, MAX_NAME);
	const struct ws_def_op op = {.name_size = (uint16_t)len};
	const uint32_t size = (uint32_t)(sizeof(op) + WS_ALIGN8(len));

	memset(body + size - 8, 0, 8); /* the padding */
	memcpy(body, &op, sizeof(op));
	memcpy(body + sizeof(op), name, len);
	return size;
}

uint32_t ws_torch_body(const void *fn, const char *name, bool with_numbers,
                       uint8_t body[WS_TORCH_BODY], bool *whole)
{
	const uint32_t size = ws_torch_name(name, body);
	struct body b = {.pos = (uint64_t *)(void *)(body + size),
	                 .end = (uint64_t *)(void *)(body + WS_TORCH_BODY),
	                 .with_numbers = with_numbers};
	struct ws_def_op op;

	*whole = ws_torch.has_inputs;
	memcpy(&op, body, sizeof(op));
	if (ws_torch.has_inputs) {
		const uint8_t *values = (const uint8_t *)(uintptr_t)word_at(fn, ws_torch.inputs);
		const uint64_t n = word_at(fn, ws_torch.inputs + 8);

		for (uint64_t i = 0; i < n && n <= MAX_INPUTS && !b.is_full; i++)
			put_value(&b, values + i * WS_TORCH_IVALUE);
		*whole = n <= MAX_INPUTS && !b.is_full;
		op.inputs = *whole ? (uint16_t)n : 0;
	}
	if (!*whole)
		return size;
	memcpy(body, &op, sizeof(op));
	return (uint32_t)((uint8_t *)b.pos - body);
}
