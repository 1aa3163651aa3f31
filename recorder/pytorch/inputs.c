#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/pytorch/pytorch.h"
#include "recorder/shared/record.h"

/* --- PyTorch's functions and memory --- */

#define ADD_CALLBACK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"

struct ws_torch ws_torch;

static void find_symbol(void *handle, const char *name, void *to)
{
	void *found = dlsym(handle, name);

	memcpy(to, &found, sizeof(found)); /* for any type of function */
}

bool ws_pytorch_is_in(void *handle)
{
	return dlsym(handle, ADD_CALLBACK) != NULL;
}

bool ws_torch_find(void *handle)
{
	struct ws_torch *t = &ws_torch;

	find_symbol(handle, ADD_CALLBACK, &t->add_callback);
	find_symbol(handle, "_ZN2at14removeCallbackEm", &t->remove_callback);
	find_symbol(handle, "_ZN2at16reenableCallbackEm", &t->enable_callback);
	find_symbol(handle, "_ZN2at15disableCallbackEm", &t->disable_callback);
	find_symbol(handle, "_ZNK2at14RecordFunction4nameEv", &t->name);
	find_symbol(handle, "_ZNK2at14RecordFunction10num_inputsEv", &t->num_inputs);
	find_symbol(handle, "_ZN2at15sequence_number4peekEv", &t->peek_sequence);
	find_symbol(handle, "_ZN3c1019UndefinedTensorImpl10_singletonE", &t->undefined);
	find_symbol(handle, "_ZN3c108toStringENS_11DispatchKeyE", &t->key_name);
	find_symbol(handle, "_ZNK3c106IValue12isTensorListEv", &t->is_tensor_list);
	find_symbol(handle, "aoti_torch_empty_strided", &t->shim.empty_strided);
	find_symbol(handle, "aoti_torch_copy_", &t->shim.copy);
	find_symbol(handle, "aoti_torch_get_sizes", &t->shim.sizes);
	find_symbol(handle, "aoti_torch_get_strides", &t->shim.strides);
	find_symbol(handle, "aoti_torch_delete_tensor_object", &t->shim.delete);
	return t->add_callback && t->name;
}

size_t ws_torch_peek(const void *from, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

/* --- proof --- */

/*
 * Finds how this PyTorch stores the inputs of an operation. We run operations with known inputs,
 * and accept an offset only if exactly those inputs are there. All memory is read as if it may be
 * unmapped.
 */

#define OBJECT_BYTES 512 /* bytes of a RecordFunction or TensorImpl that are searched */
#define LIST_BYTES   64
#define NOT_FOUND    UINT32_MAX
#define META_DEVICE  14 /* c10::DeviceType; its numbers are stored in PyTorch's files */

/* Test tensors, in the order of the calls. Their numbers are unlikely to occur by chance. */
static const struct tensor {
	int64_t ndim, sizes[6], strides[6], numel;
	int32_t type; /* c10::ScalarType */
} tensors[] = {
        {4, {23, 5, 29, 7}, {1015, 203, 7, 1}, 23345, 6},             /* float */
        {2, {37, 31}, {1, 37}, 1147, 4},                              /* long */
        {6, {3, 1, 11, 2, 13, 1}, {286, 286, 26, 13, 1, 1}, 858, 15}, /* bfloat16 */
        {1, {41}, {1}, 41, 11},                                       /* bool */
        {3, {17, 3, 19}, {57, 19, 1}, 969, 7},                        /* double */
};
#define NTENSORS (sizeof(tensors) / sizeof(*tensors))

/* The present test call. */
static struct {
	const struct tensor *made; /* tensor made by empty_strided; NULL: a tensor is copied to
	                              itself by copy_ */
	void *self;                /* its TensorImpl */
	bool holds;
} call;

/* Copies an object of unknown size, up to the end of its page if the next page is not mapped. */
static size_t peek_object(const void *from, uint8_t to[OBJECT_BYTES])
{
	const size_t rest = 4096 - ((uintptr_t)from & 4095);
	size_t n = ws_torch_peek(from, to, OBJECT_BYTES);

	if (!n && rest < OBJECT_BYTES)
		n = ws_torch_peek(from, to, rest);
	return n;
}

static uint64_t word_at(const void *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)bytes + at, sizeof(word));
	return word;
}

static uint32_t tag_at(const uint8_t *values, size_t i)
{
	uint32_t tag;

	memcpy(&tag, values + i * WS_TORCH_IVALUE + 8, sizeof(tag));
	return tag;
}

static const void *pointer(uint64_t word)
{
	return (const void *)(uintptr_t)word;
}

/* --- lists --- */

/* Whether begin and end at this offset of the list enclose exactly these numbers, all with the same
 * tag. */
static bool is_items(const uint8_t *list, size_t at, const int64_t *numbers, int64_t n,
                     uint32_t *tag)
{
	const uint64_t begin = word_at(list, at), end = word_at(list, at + 8);
	uint8_t values[6 * WS_TORCH_IVALUE];
	const size_t size = (size_t)n * WS_TORCH_IVALUE;

	if (end - begin != size || ws_torch_peek(pointer(begin), values, size) != size)
		return 0;
	*tag = tag_at(values, 0);
	for (int64_t i = 0; i < n; i++)
		if ((int64_t)word_at(values, (size_t)i * WS_TORCH_IVALUE) != numbers[i] ||
		    tag_at(values, (size_t)i) != *tag)
			return 0;
	return 1;
}

/* The offset of the items in a list. */
static uint32_t items_of(const void *list, const int64_t *numbers, int64_t n, uint32_t *tag)
{
	uint8_t bytes[LIST_BYTES];
	size_t got = ws_torch_peek(list, bytes, sizeof(bytes));

	for (size_t at = 8; at + 16 <= got; at += 8)
		if (is_items(bytes, at, numbers, n, tag))
			return (uint32_t)at;
	return NOT_FOUND;
}

/* --- the calls --- */

/* Sets a value that must be the same in every call. False: it differs. */
static bool agrees(uint32_t *known, uint32_t found)
{
	if (!*known)
		*known = found;
	return found != NOT_FOUND && *known == found;
}

/* empty_strided(int[] size, int[] stride, int type, …) */
static bool is_inputs_of_made(const uint8_t *values, size_t n)
{
	const struct tensor *t = call.made;
	struct ws_torch_tags *tags = &ws_torch.tags;
	const uint32_t list = n < 3 ? 0 : tag_at(values, 0);
	uint32_t tag = 0, items;

	if (n < 3 || list != tag_at(values, 1) ||
	    word_at(values, 2 * WS_TORCH_IVALUE) != (uint64_t)t->type)
		return 0;
	items = items_of(pointer(word_at(values, 0)), t->sizes, t->ndim, &tag);
	if (items == NOT_FOUND || tag == list || tag != tag_at(values, 2))
		return 0;
	return agrees(&ws_torch.items, items) && agrees(&tags->list, list) &&
	       agrees(&tags->integer, tag) &&
	       items_of(pointer(word_at(values, WS_TORCH_IVALUE)), t->strides, t->ndim, &tag) ==
	               items;
}

/* copy_(Tensor self, Tensor from, bool non_blocking) */
static bool is_inputs_of_copy(const uint8_t *values, size_t n)
{
	struct ws_torch_tags *tags = &ws_torch.tags;

	return n == 3 && pointer(word_at(values, 0)) == call.self &&
	       pointer(word_at(values, WS_TORCH_IVALUE)) == call.self &&
	       tag_at(values, 0) == tag_at(values, 1) && agrees(&tags->tensor, tag_at(values, 0)) &&
	       (word_at(values, 2 * WS_TORCH_IVALUE) & 255) == 1 &&
	       agrees(&tags->boolean, tag_at(values, 2));
}

static void prove_call(const void *fn)
{
	uint8_t object[OBJECT_BYTES], values[8 * WS_TORCH_IVALUE];
	const size_t n = ws_torch.num_inputs(fn);
	const size_t got = peek_object(fn, object);

	if (call.holds || !n || n > 8)
		return;
	for (size_t at = 8; at + 16 <= got && !call.holds; at += 8) {
		const uint32_t before = ws_torch.inputs;

		if (word_at(object, at + 8) != n || (before && before != at) ||
		    ws_torch_peek(pointer(word_at(object, at)), values, n * WS_TORCH_IVALUE) !=
		            n * WS_TORCH_IVALUE)
			continue;
		if (call.made ? is_inputs_of_made(values, n) : is_inputs_of_copy(values, n)) {
			ws_torch.inputs = (uint32_t)at;
			call.holds = 1;
		}
	}
}

/* --- tensors --- */

/* The only offset in from..to at which all tensors have their number of this size. */
static uint32_t offset_of(const uint8_t objects[NTENSORS][OBJECT_BYTES], uint32_t from, uint32_t to,
                          uint32_t size, bool is_type)
{
	uint32_t found = NOT_FOUND;

	for (uint32_t at = from; at + size <= to; at += size) {
		bool holds = 1;

		for (size_t i = 0; i < NTENSORS; i++) {
			uint64_t value = 0;

			memcpy(&value, objects[i] + at, size);
			holds &= value ==
			         (is_type ? (uint64_t)tensors[i].type : (uint64_t)tensors[i].numel);
		}
		if (holds && found != NOT_FOUND)
			return NOT_FOUND; /* two such places */
		if (holds)
			found = at;
	}
	return found;
}

/* Whether sizes and strides are at this offset: in the object, or at an address in it. */
static bool has_dims(const uint8_t *object, const void *impl, const struct tensor *t,
                     const int64_t *sizes, const int64_t *strides)
{
	struct ws_torch_tensor *at = &ws_torch.tensor;
	const bool is_inside = t->ndim <= WS_TORCH_INLINE_DIMS;

	if (memcmp(sizes, t->sizes, (size_t)t->ndim * 8) != 0 ||
	    memcmp(strides, t->strides, (size_t)t->ndim * 8) != 0)
		return 0;
	if (!is_inside)
		return at->sizes && word_at(object, at->sizes) == (uintptr_t)sizes &&
		       strides == sizes + t->ndim && word_at(object, at->ndim) == (uint64_t)t->ndim;
	if ((const uint8_t *)sizes < (const uint8_t *)impl + 16 ||
	    (const uint8_t *)strides + 40 > (const uint8_t *)impl + OBJECT_BYTES - 64)
		return 0;
	return agrees(&at->sizes, (uint32_t)((const uint8_t *)sizes - (const uint8_t *)impl)) &&
	       agrees(&at->strides, (uint32_t)((const uint8_t *)strides - (const uint8_t *)impl)) &&
	       agrees(&at->ndim, at->sizes - 8) && word_at(object, at->ndim) == (uint64_t)t->ndim;
}

#define MAX_KEYS 128

/* Number of a dispatch key by its name, 0: there is none. */
static uint32_t key_of(const char *name)
{
	for (uint16_t key = 1; key < MAX_KEYS; key++) {
		const char *found = ws_torch.key_name(key);

		if (found && !strcmp(found, name))
			return key;
	}
	return 0;
}

/*
 * Finds the dispatch keys of a tensor: a word that is equal in all test tensors and has the bits of
 * an ordinary tensor's keys at the right distances.
 */
static bool prove_keys(const uint8_t objects[NTENSORS][OBJECT_BYTES])
{
	struct ws_torch_tensor *at = &ws_torch.tensor;
	const uint32_t dense = key_of("Dense"), python = key_of("Python"),
	               inplace = key_of("ADInplaceOrView"),
	               autograd = key_of("AutogradFunctionality");

	if (!dense || python <= dense || inplace <= dense || autograd <= dense)
		return 0;
	for (at->keys = (at->type + 7) & ~7u; at->keys < at->type + 32; at->keys += 8) {
		const uint64_t keys = word_at(objects[0], at->keys), above = keys & ~UINT64_C(255);
		const int first = above ? __builtin_ctzll(above) : 64;
		bool holds = first + (int)(python - dense) < 64;

		for (size_t i = 1; i < NTENSORS; i++)
			holds &= word_at(objects[i], at->keys) == keys;
		if (!holds || !(keys >> first >> (inplace - dense) & 1) ||
		    !(keys >> first >> (autograd - dense) & 1))
			continue;
		at->unlike = UINT64_C(1) << first << (python - dense);
		return !(keys & at->unlike);
	}
	return 0;
}

/* An at::Tensor is only a pointer to its TensorImpl. */
static void *impl_of(const void *handle)
{
	void *impl = NULL;

	return ws_torch_peek(handle, (void *)&impl, sizeof(impl)) == sizeof(impl) ? impl : NULL;
}

static bool prove_tensors(void *const handles[NTENSORS])
{
	static uint8_t objects[NTENSORS][OBJECT_BYTES];
	struct ws_torch_tensor *at = &ws_torch.tensor;

	for (size_t i = 0; i < NTENSORS; i++) {
		void *impl = impl_of(handles[i]);
		int64_t *sizes, *strides;

		if (peek_object(impl, objects[i]) < 256 ||
		    ws_torch.shim.sizes(handles[i], &sizes) ||
		    ws_torch.shim.strides(handles[i], &strides) ||
		    !has_dims(objects[i], impl, &tensors[i], sizes, strides))
			return 0;
	}
	uint32_t behind = at->strides + WS_TORCH_INLINE_DIMS * 8;
	at->numel = offset_of(objects, behind, 256, 8, 0);
	if (at->numel == NOT_FOUND)
		return 0;
	at->type = offset_of(objects, at->numel + 8, at->numel + 16, 2, 1);
	return at->type != NOT_FOUND && prove_keys(objects);
}

/* --- all of it --- */

static bool make_all(void *handles[NTENSORS])
{
	for (size_t i = 0; i < NTENSORS; i++) {
		const struct tensor *t = &tensors[i];

		if (ws_torch.shim.empty_strided(t->ndim, t->sizes, t->strides, t->type, 0, 0,
		                                &handles[i]))
			return 0;
	}
	return 1;
}

/*
 * Makes equal tensors without memory, on the device `meta`. There PyTorch calls the operation as in
 * a program, while on the CPU it takes a shortcut.
 */
static bool describe_all(void *const handles[NTENSORS])
{
	struct ws_torch_tensor *at = &ws_torch.tensor;

	for (size_t i = 0; i < NTENSORS; i++) {
		const struct tensor *t = &tensors[i];
		void *handle = NULL;

		call.made = t;
		call.holds = 0;
		if (ws_torch.shim.empty_strided(t->ndim, t->sizes, t->strides, t->type, META_DEVICE,
		                                0, &handle))
			return 0;
		uint64_t keys[2] = {0, 0}; /* on the CPU, on `meta` */
		for (int k = 0; k < 2; k++)
			(void)ws_torch_peek((uint8_t *)impl_of(k ? handle : handles[i]) + at->keys,
			                    &keys[k], sizeof(*keys));
		at->unlike |= keys[0] ? keys[1] & ~keys[0] : 0;
		(void)ws_torch.shim.delete(handle);
		if (!call.holds)
			return 0;
	}
	return 1;
}

/* Copies each tensor to itself. No data moves, but PyTorch runs the operation. */
static bool copy_all(void *const handles[NTENSORS])
{
	call.made = NULL;
	for (size_t i = 0; i < NTENSORS; i++) {
		call.self = impl_of(handles[i]);
		call.holds = 0;
		if (ws_torch.shim.copy(handles[i], handles[i], 1) || !call.holds)
			return 0;
	}
	return 1;
}

WS_TORCH_START(ws_torch_start_proof, prove_call(fn))

static void on_end(const void *fn, void *context)
{
	(void)fn;
	(void)context;
}

static uint64_t add_callback(void)
{
	struct ws_torch_callback callback = {
	        .start = (void *)ws_torch_start_proof,
	        .end = (void *)on_end,
	        .sampling = 1,
	        .scopes[WS_SCOPE_FUNCTION] = 1,
	        .needs_inputs = 1,
	};

	return ws_torch.add_callback(callback);
}

void ws_torch_prove(void)
{
	void *handles[NTENSORS] = {NULL};
	struct ws_torch_tags *tags = &ws_torch.tags;
	const uint64_t callback = add_callback();

	ws_torch.has_inputs = make_all(handles) && prove_tensors(handles) &&
	                      describe_all(handles) && copy_all(handles);
	/* None, Tensor, Storage, Double, ComplexDouble, Int: the same in every PyTorch release so
	 * far */
	ws_torch.has_inputs &= tags->tensor == 1 && tags->integer == 5;
	tags->real = 3;
	tags->complex = 4;
	for (size_t i = 0; i < NTENSORS; i++)
		if (handles[i])
			(void)ws_torch.shim.delete(handles[i]);
	ws_torch.remove_callback(callback);
}

/* --- inputs --- */

/* Writes the inputs of an operation as the body of a definition, read at the proved offsets. */

#define MAX_INPUTS 256
#define MAX_NAME   1024
#define MAX_DIMS   64
#define MAX_SCALARS \
	30 /* maximum length of a list; PyTorch's profiler leaves out longer ones, too */

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

/* --- tensors --- */

/* Which members of a class derived from TensorImpl are valid. */
enum tensor_class {
	CLASS_NONE,
	CLASS_STRIDED, /* sizes and strides */
	CLASS_SPARSE,  /* sizes */
	CLASS_OTHER,   /* none: nested tensors, wrappers and others */
};

/* Finds the class by its name, read from the type information of the C++ object. */
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

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uintptr_t found = atomic_load_explicit(&known[i].vtable, memory_order_relaxed);
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

/* Whether the product of the sizes equals the number of elements that PyTorch stores. */
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
	uint64_t ndim, word;
	struct ws_def_input input = {.kind = WS_INPUT_TENSOR};

	enum tensor_class class =
	        !impl || impl == ws_torch.undefined ? CLASS_OTHER : class_of(impl);
	if (class == CLASS_OTHER || word_at(impl, at->keys) & at->unlike) {
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

	if (is_tensors) {
		put_input(b, WS_INPUT_TENSOR_LIST, n);
		for (uint32_t i = 0; i < n && !b->is_full; i++)
			put_tensor(b, (const void *)(uintptr_t)word_at(items, i * WS_TORCH_IVALUE));
		return;
	}
	enum ws_input_kind kind = n ? scalar_kind(tag_at(items, 0)) : WS_INPUT_INT;
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
	const uint32_t tag = tag_at(value, 0);
	const enum ws_input_kind kind = scalar_kind(tag);

	if (tag == ws_torch.tags.tensor) {
		put_tensor(b, (const void *)(uintptr_t)word_at(value, 0));
	} else if (tag == ws_torch.tags.list) {
		put_list(b, value);
	} else {
		/* flags are kept: they have only two values, and costs depend on them (causal,
		 * transposed, training) */
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

/* Numbers that follow an input in a definition. */
static uint32_t numbers_behind(const struct ws_def_input *input)
{
	switch (input->kind) {
	case WS_INPUT_TENSOR:
		return input->has_strides ? 2 * input->n : input->n;
	case WS_INPUT_INT:
	case WS_INPUT_DOUBLE:
	case WS_INPUT_BOOL:
		return 1;
	case WS_INPUT_INT_LIST:
	case WS_INPUT_DOUBLE_LIST:
	case WS_INPUT_BOOL_LIST:
		return input->n;
	default:
		return 0;
	}
}

static bool is_number(uint8_t kind)
{
	return kind == WS_INPUT_INT || kind == WS_INPUT_DOUBLE || kind == WS_INPUT_COMPLEX ||
	       kind == WS_INPUT_DOUBLE_LIST;
}

uint32_t ws_torch_alike(const uint8_t *body, uint32_t size)
{
	struct ws_def_op op;
	struct ws_def_input input = {0};
	uint32_t behind = 0; /* numbers of the input */
	uint64_t hash = 0;

	memcpy(&op, body, sizeof(op));
	for (uint32_t at = sizeof(op); at < size; at += 8) {
		uint64_t word = word_at(body, at);

		if (at >= sizeof(op) + WS_ALIGN8(op.name_size) && !behind--) {
			memcpy(&input, &word, sizeof(input));
			behind = numbers_behind(&input);
		}
		hash = ws_hash_word(hash, is_number(input.kind) ? 0 : word);
	}
	return (uint32_t)(hash >> 32);
}
