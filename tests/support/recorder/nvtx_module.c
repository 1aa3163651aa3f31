#include "tests/support/recorder/nvtx_module.h"

#include <dlfcn.h>

struct nvtx_functions nvtx;

/* By module; what the tool writes into. */
static wsn_fn functions[WSN_MODULE_SYNC + 1][WSN_MODULE_MAX_SIZE];
static intptr_t slots[WSN_EXT_COUNTERS_MODULE + 1][WSN_EXT_PAYLOAD_SLOT_COUNT];

static int module_table(enum wsn_module module, wsn_fn ***table, unsigned int *size)
{
	static wsn_fn *places[WSN_MODULE_SYNC + 1][WSN_MODULE_MAX_SIZE];

	switch (module) {
#define X(name, id, ret, params) +1
#define M(list, number)            \
	case number:               \
		*size = 1 list(X); \
		break;
		WSN_MODULE_LIST(M)
#undef M
#undef X
	default:
		return 0;
	}
	for (unsigned int i = 1; i < *size; i++)
		places[module][i] = &functions[module][i];
	*table = places[module];
	return 1;
}

static const void *export_table(uint32_t id)
{
	static const struct wsn_callbacks_table callbacks = {sizeof(callbacks), module_table};

	return id == WSN_ETID_CALLBACKS ? &callbacks : NULL;
}

static void *symbol(const char *name)
{
	const char *path = getenv(WSN_ENV_INJECTION);
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;

	return library ? dlsym(library, name) : NULL;
}

int nvtx_attach_extension(uint16_t module_id)
{
	intptr_t none[WSN_EXT_PAYLOAD_SLOT_COUNT] = {0};
	struct wsn_ext_segment segment = {0, WSN_EXT_PAYLOAD_SLOT_COUNT,
	                                  module_id <= WSN_EXT_COUNTERS_MODULE ? slots[module_id]
	                                                                       : none};
	struct wsn_ext_module module = {
	        .nvtx_version = WSN_VERSION,
	        .struct_size = sizeof(module),
	        .module_id = module_id,
	        .compat_id = WSN_EXT_PAYLOAD_COMPAT,
	        .segments_count = 1,
	        .segments = &segment,
	};
	wsn_ext_init init = (wsn_ext_init)symbol(WSN_EXT_INIT_SYMBOL);

	return init && init(&module);
}

int nvtx_attach(void)
{
	wsn_init init = (wsn_init)symbol(WSN_INIT_SYMBOL);

	if (!init || !init(export_table))
		return 0;
#define X(name, id, ret, params) nvtx.name = (wsn_fn_##name)table[id];
#define M(list, module)                            \
	{                                          \
		wsn_fn *table = functions[module]; \
		list(X)                            \
	}
	WSN_MODULE_LIST(M)
#undef M
#define M(list, module)                             \
	{                                           \
		intptr_t *table = slots[module];    \
		if (!nvtx_attach_extension(module)) \
			return 0;                   \
		list(X)                             \
	}
	WSN_EXT_LIST(M)
#undef M
#undef X
	return 1;
}
