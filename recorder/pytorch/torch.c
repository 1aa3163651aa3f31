/* PyTorch's functions by their names, and memory of its objects. */
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/pytorch/pytorch.h"
#include "recorder/pytorch/torch.h"

#define ADD_CALLBACK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"

struct ws_torch ws_torch;

static void find(void *handle, const char *name, void *to)
{
	void *found = dlsym(handle, name);

	memcpy(to, &found, sizeof(found)); /* of whatever type of function */
}

bool ws_pytorch_is_in(void *handle)
{
	return dlsym(handle, ADD_CALLBACK) != NULL;
}

bool ws_torch_find(void *handle)
{
	struct ws_torch *t = &ws_torch;

	find(handle, ADD_CALLBACK, &t->add_callback);
	find(handle, "_ZN2at14removeCallbackEm", &t->remove_callback);
	find(handle, "_ZNK2at14RecordFunction4nameEv", &t->name);
	find(handle, "_ZNK2at14RecordFunction10num_inputsEv", &t->num_inputs);
	find(handle, "_ZN2at15sequence_number4peekEv", &t->peek_sequence);
	find(handle, "_ZN3c1019UndefinedTensorImpl10_singletonE", &t->undefined);
	find(handle, "_ZN3c108toStringENS_11DispatchKeyE", &t->key_name);
	find(handle, "_ZNK3c106IValue12isTensorListEv", &t->is_tensor_list);
	find(handle, "aoti_torch_empty_strided", &t->shim.empty_strided);
	find(handle, "aoti_torch_copy_", &t->shim.copy);
	find(handle, "aoti_torch_get_sizes", &t->shim.sizes);
	find(handle, "aoti_torch_get_strides", &t->shim.strides);
	find(handle, "aoti_torch_delete_tensor_object", &t->shim.delete);
	return t->add_callback && t->name;
}

size_t ws_torch_peek(const void *from, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}
