/* The steps from a PyTorch that was found to its first call. */
#include <stdatomic.h>

#include "recorder/collect/collector.h"
#include "recorder/pytorch/pytorch.h"
#include "recorder/pytorch/torch.h"

static bool has_shim(void)
{
	const struct ws_torch *t = &ws_torch;

	return t->num_inputs && t->remove_callback && t->key_name && t->is_tensor_list &&
	       t->shim.empty_strided && t->shim.copy && t->shim.sizes && t->shim.strides &&
	       t->shim.delete;
}

void ws_pytorch_attach(void *handle)
{
	static atomic_int tried;
	const uint32_t wanted = ws_collector.seg->capture.pytorch;

	if (wanted == WS_PYTORCH_OFF || atomic_exchange(&tried, 1))
		return;
	if (!ws_torch_find(handle)) {
		ws_define_fact("pytorch.operations", "none; functions not found");
		return;
	}
	if (wanted == WS_PYTORCH_SHAPES && has_shim())
		ws_torch_prove();
	if (ws_torch_register(ws_torch.has_inputs))
		ws_define_fact("pytorch.operations", wanted == WS_PYTORCH_NAMES ? "names"
		                                     : ws_torch.has_inputs
		                                             ? "shapes"
		                                             : "names; inputs not proved");
}
