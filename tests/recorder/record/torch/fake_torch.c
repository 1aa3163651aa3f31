/*
 * A PyTorch as far as the recorder sees one: functions under PyTorch's names, and objects that keep
 * their contents as PyTorch's do. A program that is linked to it runs operations by fake_torch.h.
 */
#include "tests/recorder/record/torch/fake_torch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) extern

enum { TAG_TENSOR = 1, TAG_INT = 5, TAG_BOOL = 6, TAG_LIST = 15 };
enum { SCOPE_FUNCTION = 0, SCOPE_USER = 7, META = 14 };
/* of dispatch: a bit each from the 9th on */
enum { KEY_DENSE = 1, KEY_INPLACE = 3, KEY_AUTOGRAD = 4, KEY_PYTHON = 10 };

/* --- objects --- */

struct value { /* c10::IValue */
	uint64_t payload;
	uint32_t tag, padding;
};

struct list { /* of IValues */
	uint64_t references;
	struct value *begin, *end, *capacity;
	uint64_t rest[8];
};

struct tensor_impl {
	const void *const *vtable;
	uint64_t references[2];
	uint64_t ndim;
	int64_t sizes[5], strides[5];
	uint64_t numel;
	uint16_t type, padding[3];
	uint64_t keys;
	uint64_t rest[64];
};

static const char class_name[] = "N3c1010TensorImplE";
static const void *const type_info[] = {NULL, class_name};
static const void *const vtable[] = {(const void *)type_info, NULL};

/* at::RecordFunction, in a place of its own as it is for PyTorch: one for each depth of a thread */
struct record_function {
	const char *name;
	int64_t sequence;
	const struct value *inputs;
	uint64_t ninputs;
	uint64_t link[24];
	uint64_t rest[32];
	int scope;
};

/* --- callbacks --- */

/* std::unique_ptr is returned in memory, as a struct of this size is. */
struct in_memory {
	void *words[3];
};

struct callback {
	struct in_memory (*start)(const void *fn);
	void (*end)(const void *fn, void *context);
	double sampling;
	uint8_t scopes[10], needs[3];
};

static struct callback callbacks[8];
static uint64_t ncallbacks;

EXPORT uint64_t fake_add(struct callback callback) __asm__(
        "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
uint64_t fake_add(struct callback callback)
{
	callbacks[ncallbacks] = callback;
	return ncallbacks++;
}

EXPORT void fake_remove(uint64_t handle) __asm__("_ZN2at14removeCallbackEm");
void fake_remove(uint64_t handle)
{
	callbacks[handle].start = NULL;
}

static void begin(const struct record_function *fn)
{
	for (uint64_t i = 0; i < ncallbacks; i++)
		if (callbacks[i].start && callbacks[i].scopes[fn->scope])
			(void)callbacks[i].start(fn);
}

static void end(const struct record_function *fn)
{
	for (uint64_t i = 0; i < ncallbacks; i++)
		if (callbacks[i].start && callbacks[i].scopes[fn->scope])
			callbacks[i].end(fn, NULL);
}

static void run(const char *name, const struct value *inputs, uint64_t n)
{
	const struct record_function fn = {.name = name,
	                                   .sequence = -1,
	                                   .inputs = inputs,
	                                   .ninputs = n,
	                                   .scope = SCOPE_FUNCTION};

	begin(&fn);
	end(&fn);
}

/* --- what is asked of them --- */

EXPORT const char *fake_name(const void *fn) __asm__("_ZNK2at14RecordFunction4nameEv");
const char *fake_name(const void *fn)
{
	return ((const struct record_function *)fn)->name;
}

EXPORT size_t fake_num_inputs(const void *fn) __asm__("_ZNK2at14RecordFunction10num_inputsEv");
size_t fake_num_inputs(const void *fn)
{
	return ((const struct record_function *)fn)->ninputs;
}

EXPORT const char *fake_key_name(uint16_t key) __asm__("_ZN3c108toStringENS_11DispatchKeyE");
const char *fake_key_name(uint16_t key)
{
	return key == KEY_DENSE      ? "Dense"
	       : key == KEY_INPLACE  ? "ADInplaceOrView"
	       : key == KEY_AUTOGRAD ? "AutogradFunctionality"
	       : key == KEY_PYTHON   ? "Python"
	                             : "another";
}

EXPORT bool fake_is_tensor_list(const void *value) __asm__("_ZNK3c106IValue12isTensorListEv");
bool fake_is_tensor_list(const void *value)
{
	(void)value;
	return 0;
}

/* --- tensors, by PyTorch's C interface --- */

static struct value int_of(int64_t number)
{
	return (struct value){(uint64_t)number, TAG_INT, 0};
}

static struct value tensor_of(const void *impl)
{
	return (struct value){(uintptr_t)impl, TAG_TENSOR, 0};
}

static struct value list_of(struct list *list, struct value items[6], const int64_t *numbers,
                            int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		items[i] = int_of(numbers[i]);
	*list = (struct list){.begin = items, .end = items + n, .capacity = items + n};
	return (struct value){(uintptr_t)list, TAG_LIST, 0};
}

static void *new_tensor(int64_t ndim, const int64_t *sizes, const int64_t *strides, int32_t type)
{
	struct tensor_impl *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	t->vtable = vtable + 1;
	t->ndim = (uint64_t)ndim;
	t->type = (uint16_t)type;
	t->keys = (UINT64_C(1) << 8) *
	          (1 | 1 << (KEY_INPLACE - KEY_DENSE) | 1 << (KEY_AUTOGRAD - KEY_DENSE));
	t->numel = 1;
	for (int64_t i = 0; i < ndim; i++)
		t->numel *= (uint64_t)sizes[i];
	if (ndim <= 5) {
		memcpy(t->sizes, sizes, (size_t)ndim * 8);
		memcpy(t->strides, strides, (size_t)ndim * 8);
	} else {
		int64_t *outside = calloc(2 * (size_t)ndim, 8);

		if (!outside)
			abort();
		memcpy(outside, sizes, (size_t)ndim * 8);
		memcpy(outside + ndim, strides, (size_t)ndim * 8);
		t->sizes[0] = (int64_t)(uintptr_t)outside;
	}
	return t;
}

static int64_t *dims_of(void *handle)
{
	struct tensor_impl *t = *(struct tensor_impl **)handle;

	return t->ndim <= 5 ? t->sizes : (int64_t *)(uintptr_t)t->sizes[0];
}

EXPORT int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t *sizes, const int64_t *strides,
                                        int32_t type, int32_t device, int32_t index, void **out);
int32_t aoti_torch_empty_strided(int64_t ndim, const int64_t *sizes, const int64_t *strides,
                                 int32_t type, int32_t device, int32_t index, void **out)
{
	struct list lists[2];
	struct value items[2][6], inputs[3];
	void **handle = calloc(1, sizeof(*handle));

	(void)index;
	if (!handle)
		abort();
	if (device == META) {
		inputs[0] = list_of(&lists[0], items[0], sizes, ndim);
		inputs[1] = list_of(&lists[1], items[1], strides, ndim);
		inputs[2] = int_of(type);
		run("aten::empty_strided", inputs, 3);
	}
	*handle = new_tensor(ndim, sizes, strides, type);
	*out = (void *)handle;
	return 0;
}

EXPORT int32_t aoti_torch_copy_(void *self, void *from, int32_t non_blocking);
int32_t aoti_torch_copy_(void *self, void *from, int32_t non_blocking)
{
	const struct value inputs[] = {tensor_of(*(void **)self),
	                               tensor_of(*(void **)from),
	                               {(uint64_t)non_blocking, TAG_BOOL, 0}};

	run("aten::copy_", inputs, 3);
	return 0;
}

EXPORT int32_t aoti_torch_get_sizes(void *tensor, int64_t **out);
int32_t aoti_torch_get_sizes(void *tensor, int64_t **out)
{
	*out = dims_of(tensor);
	return 0;
}

EXPORT int32_t aoti_torch_get_strides(void *tensor, int64_t **out);
int32_t aoti_torch_get_strides(void *tensor, int64_t **out)
{
	const struct tensor_impl *t = *(struct tensor_impl **)tensor;

	*out = dims_of(tensor) + (t->ndim <= 5 ? 5 : t->ndim);
	return 0;
}

EXPORT int32_t aoti_torch_delete_tensor_object(void *tensor);
int32_t aoti_torch_delete_tensor_object(void *tensor)
{
	struct tensor_impl *t = *(struct tensor_impl **)tensor;

	if (t->ndim > 5)
		free(dims_of(tensor));
	free(t);
	free(tensor);
	return 0;
}

/* --- what the program runs --- */

void fake_op(const char *name, int64_t size)
{
	static __thread struct tensor_impl *tensor;
	struct value input;

	if (!tensor)
		tensor = new_tensor(1, (const int64_t[]){size}, (const int64_t[]){1}, 6);
	tensor->sizes[0] = size;
	tensor->numel = (uint64_t)size;
	input = tensor_of(tensor);
	run(name, &input, 1);
}

void fake_ranges(const char *name, unsigned depth)
{
	struct record_function *fns = calloc(depth, sizeof(*fns));

	if (!fns)
		abort();
	for (unsigned i = 0; i < depth; i++) {
		fns[i] =
		        (struct record_function){.name = name, .sequence = -1, .scope = SCOPE_USER};
		begin(&fns[i]);
	}
	while (depth--)
		end(&fns[depth]);
	free(fns);
}
