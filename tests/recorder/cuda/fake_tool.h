/*
 * How a driver for tests loads the recorder's collector, as the real one does while it
 * initializes, and tells the fake CUPTI (fake.h) that the collector loaded what happens.
 */
#pragma once

#include "tests/recorder/cuda/fake.h"

/* NULL: nobody is to be told, as no CUPTI was loaded. */
struct fake_tool {
	__typeof__(&fake_cupti_launched) launched;
	__typeof__(&fake_cupti_node) node;
	__typeof__(&fake_cupti_replayed) replayed;
	__typeof__(&fake_cupti_reset) reset;
	__typeof__(&fake_cupti_profiler) profiler;
	__typeof__(&fake_cupti_capture) capture;
	__typeof__(&fake_cupti_asked_version) asked_version;
	__typeof__(&fake_cupti_synchronized) synchronized;
};

/* The first call loads the tool; the context of the program is created then, too. */
const struct fake_tool *fake_tool(void);
