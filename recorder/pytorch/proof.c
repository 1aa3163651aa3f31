/*
 * How this PyTorch keeps the inputs of an operation, found and proved on operations that we ask
 * it for: their inputs are known, so a place counts only if what lies there is just that. All is
 * read as memory that may not be there.
 */
#include <string.h>

#include "recorder/pytorch/torch.h"

#define OBJECT_BYTES 512 /* of a RecordFunction, and of a TensorImpl, that are looked at */
#define LIST_BYTES   64
#define NOT_FOUND    UINT32_MAX
#define META_DEVICE  14 /* c10::DeviceType, whose numbers are in PyTorch's files */

/* Numbers that hardly lie anywhere by chance. In the order of the calls. */
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

/* The call that is being proved on. */
static struct {
	const struct tensor *made; /* by empty_strided; NULL: copied to itself by copy_ */
	void *self;                /* its TensorImpl */
	bool holds;
} call;

/* An object of a size that is not known: to the end of its page when the next is not there. */
static size_t peek_object(const void *from, uint8_t to[OBJECT_BYTES])
{
	const size_t rest = 4096 - ((uintptr_t)from & 4095);
	size_t n = ws_torch_peek(from, to, OBJECT_BYTES);

	if (!n && rest < OBJECT_BYTES)
		n = ws_torch_peek(from, to, rest);
	return n;
}

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
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

/* begin and end at this offset of the list bound just these numbers, all of one tag. */
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

/* Where a list has its items. */
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

/* What has to be the same in every call. */
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

/* The one place from..to where a number of this size is the tensor's, for all of them. */
static uint32_t place_of(const uint8_t objects[NTENSORS][OBJECT_BYTES], uint32_t from, uint32_t to,
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

/* Where sizes and strides are: in the object, or at an address that is. */
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
 * The set of a tensor's dispatch keys: a word that is the same in all of ours, with the bits of
 * the keys that an ordinary tensor has, in their distances.
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
		at->python = UINT64_C(1) << first << (python - dense);
		return !(keys & at->python);
	}
	return 0;
}

/* at::Tensor is the pointer to its TensorImpl alone. */
static void *impl_of(const void *handle)
{
	void *impl = NULL;

	return ws_torch_peek(handle, (void *)&impl, sizeof(impl)) == sizeof(impl) ? impl : NULL;
}

static bool prove_tensors(void *const handles[NTENSORS])
{
	static uint8_t objects[NTENSORS][OBJECT_BYTES];
	struct ws_torch_tensor *at = &ws_torch.tensor;
	uint32_t behind;

	for (size_t i = 0; i < NTENSORS; i++) {
		void *impl = impl_of(handles[i]);
		int64_t *sizes, *strides;

		if (peek_object(impl, objects[i]) < 256 ||
		    ws_torch.shim.sizes(handles[i], &sizes) ||
		    ws_torch.shim.strides(handles[i], &strides) ||
		    !has_dims(objects[i], impl, &tensors[i], sizes, strides))
			return 0;
	}
	behind = at->strides + WS_TORCH_INLINE_DIMS * 8;
	at->numel = place_of(objects, behind, 256, 8, 0);
	if (at->numel == NOT_FOUND)
		return 0;
	at->type = place_of(objects, at->numel + 8, at->numel + 16, 2, 1);
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
 * Their likes without memory: for the device `meta` PyTorch calls the operation as a program does,
 * where for that of the processor it takes a shorter way.
 */
static bool describe_all(void)
{
	for (size_t i = 0; i < NTENSORS; i++) {
		const struct tensor *t = &tensors[i];
		void *handle = NULL;

		call.made = t;
		call.holds = 0;
		if (ws_torch.shim.empty_strided(t->ndim, t->sizes, t->strides, t->type, META_DEVICE,
		                                0, &handle))
			return 0;
		(void)ws_torch.shim.delete(handle);
		if (!call.holds)
			return 0;
	}
	return 1;
}

/* Each tensor to itself: nothing moves, but PyTorch is asked. */
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

	ws_torch.has_inputs =
	        make_all(handles) && prove_tensors(handles) && describe_all() && copy_all(handles);
	/* None, Tensor, Storage, Double, ComplexDouble, Int: so in each PyTorch there was */
	ws_torch.has_inputs &= tags->tensor == 1 && tags->integer == 5;
	tags->real = 3;
	tags->complex = 4;
	for (size_t i = 0; i < NTENSORS; i++)
		if (handles[i])
			(void)ws_torch.shim.delete(handles[i]);
	ws_torch.remove_callback(callback);
}
