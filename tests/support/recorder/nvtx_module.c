#include "tests/support/recorder/nvtx_module.h"

#include <dlfcn.h>

struct nvtx_functions nvtx;

static wsn_fn core[WSN_CORE_SIZE], core2[WSN_CORE2_SIZE];
static intptr_t slots[WSN_EXT_PAYLOAD_SLOT_COUNT];

static int module_table(enum wsn_module module, wsn_fn ***table, unsigned int *size)
{
	static wsn_fn *core_table[WSN_CORE_SIZE], *core2_table[WSN_CORE2_SIZE];

	for (int i = 1; i < WSN_CORE_SIZE; i++)
		core_table[i] = &core[i];
	for (int i = 1; i < WSN_CORE2_SIZE; i++)
		core2_table[i] = &core2[i];
	if (module != WSN_MODULE_CORE && module != WSN_MODULE_CORE2)
		return 0;
	*table = module == WSN_MODULE_CORE ? core_table : core2_table;
	*size = module == WSN_MODULE_CORE ? WSN_CORE_SIZE : WSN_CORE2_SIZE;
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
	struct wsn_ext_segment segment = {0, WSN_EXT_PAYLOAD_SLOT_COUNT, slots};
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
#define X(name, id, ret, params) nvtx.name = (wsn_fn_##name)core[id];
	WSN_CORE_LIST(X)
#undef X
#define X(name, id, ret, params) nvtx.name = (wsn_fn_##name)core2[id];
	WSN_CORE2_LIST(X)
#undef X
	if (!nvtx_attach_extension(WSN_EXT_PAYLOAD_MODULE))
		return 0;
#define X(name, id, ret, params) nvtx.name = (wsn_fn_##name)slots[id];
	WSN_PAYLOAD_LIST(X)
#undef X
	return 1;
}
