/* Launches that nobody tells us of, once somebody else gets CUPTI's records. */
#include "recorder/cupti/calls.h"

#include <stdbool.h>
#include "recorder/cupti/scope.h"
#include "recorder/cupti/source.h"

#define LAUNCHES 64

/* Calls of the driver that launch, for the time when no records tell of them. */
static uint32_t launch_calls[LAUNCHES];
static size_t nlaunch_calls;
static _Atomic int counts_launches;

void ws_cupti_find_launches(void)
{
	const char *name = NULL;

	for (uint32_t cbid = 1;
	     nlaunch_calls < LAUNCHES &&
	     ws_cupti.GetCallbackName(WS_CUPTI_DOMAIN_DRIVER, cbid, &name) == WS_CUPTI_OK;
	     cbid++)
		if (name && ws_cupti_is_launch(name))
			launch_calls[nlaunch_calls++] = cbid;
}

static bool is_launch(uint32_t domain, uint32_t cbid)
{
	for (size_t i = 0; domain == WS_CUPTI_DOMAIN_DRIVER && i < nlaunch_calls; i++)
		if (launch_calls[i] == cbid)
			return 1;
	return 0;
}

bool ws_cupti_is_untold_launch(uint32_t domain, uint32_t cbid)
{
	return atomic_load_explicit(&counts_launches, memory_order_relaxed) &&
	       is_launch(domain, cbid);
}

/*
 * Others get the records now. What can still be done is to count the launches
 * that nobody tells us of: callbacks are each subscriber's own.
 */
void ws_cupti_taken(void)
{
	atomic_fetch_or(&ws_collector.seg->gpu.stopped, WS_GPU_STOP_TAKEN);
	atomic_store(&counts_launches, 1);
	for (size_t i = 0; i < nlaunch_calls; i++)
		ws_cupti_enable_callback(WS_CUPTI_DOMAIN_DRIVER, launch_calls[i]);
}
