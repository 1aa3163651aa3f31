/* The library's entry points. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/collect/event.h"
#include "recorder/cupti/source.h"
#include "recorder/inject/attach.h"
#include "recorder/inject/nvtx_source.h"
#include "recorder/pytorch/pytorch.h"

#define WS_EXPORT __attribute__((visibility("default")))

/* Called once by each ELF module that contains NVTX, at its first call. */
WS_EXPORT int InitializeInjectionNvtx2(wsn_get_export_table get);
WS_EXPORT int InitializeInjectionNvtxExtension(struct wsn_ext_module *module);

/* Called once by the CUDA driver while it initializes; no CUDA function may be called here. */
WS_EXPORT int InitializeInjection(void);

/* Called by our Python module: a range of the default domain. */
WS_EXPORT void warpsheet_push(const char *name);
WS_EXPORT void warpsheet_pop(void);

/* In a program that took our LD_PRELOAD away: it is loaded by now, as it is that asks for CUDA. */
static void find_pytorch(void)
{
	const char *value = getenv(WS_PYTORCH_ENV);
	void *torch;

	if (!value || !strcmp(value, "off"))
		return;
	torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
	if (torch)
		ws_pytorch_attach(torch);
}

int InitializeInjection(void)
{
	if (ws_attach_once()) {
		ws_cupti_start();
		find_pytorch();
	}
	return 1; /* the program runs on in any case */
}

int InitializeInjectionNvtx2(wsn_get_export_table get)
{
	if (!ws_attach_once() || !ws_nvtx_hook_core(get))
		return 0;
	atomic_fetch_add(&ws_collector.seg->modules, 1);
	return 1;
}

int InitializeInjectionNvtxExtension(struct wsn_ext_module *module)
{
	return ws_attach_once() && ws_nvtx_hook_extension(module);
}

void warpsheet_push(const char *name)
{
	struct ws_event ev;

	if (!ws_attach_once())
		return;
	/* it counts as what calls the collector, or nothing would seem to be recorded */
	(void)!atomic_fetch_or(&ws_collector.seg->modules, 1);
	ws_pytorch_saw_range(name);
	ws_event_init(&ev, 0, name, WS_TEXT_BYTES);
	ws_event_push(&ev);
}

void warpsheet_pop(void)
{
	struct ws_event ev;

	if (!ws_attach_once())
		return;
	ws_event_init(&ev, 0, NULL, WS_TEXT_BYTES);
	ws_event_pop(&ev);
}
