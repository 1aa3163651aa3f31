/*
 * Energy, clocks and throttling of devices over spans of time, from samples: docs/dev/energy.md.
 */
#pragma once

#include <math.h>

#include "report/analysis/device_time.h"
#include "report/query/query.h"

/* With fewer samples inside nothing is said of a time. */
#define WS_ENERGY_LEAST_SAMPLES 5
/* Clocks are reduced for another reason than an idle GPU or clocks chosen by the user. */
#define WS_IS_THROTTLED(bits)                                          \
	((bits) > 0 && (bits) & ~(INT64_C(1) << WS_THROTTLE_gpu_idle | \
	                          INT64_C(1) << WS_THROTTLE_applications_clocks))

/* A mean by time. */
struct ws_time_mean {
	double sum, ns; /* of value times ns */
};
/* NaN: unknown. */
static inline double ws_time_mean(struct ws_time_mean mean)
{
	return mean.ns > 0 ? mean.sum / mean.ns : NAN;
}

/* Sums over spans of time. */
struct ws_energy {
	uint64_t known;      /* spans whose energy is known */
	int64_t known_ns;    /* their time */
	double mj, error_mj; /* their energy, and the most by which it is wrong */
	uint64_t samples;    /* inside the spans; one at the end is of the next */
	uint64_t resets;     /* spans in which the counter of energy began again */
	struct ws_time_mean sm_mhz, memory_mhz;
	struct ws_time_mean throttled; /* percent of the time */
	struct ws_time_mean
	        reason[WS_THROTTLE_REASONS + 1];  /* the same for each; the last: others */
	int64_t sm_min_mhz, coolest_c, hottest_c; /* -1: unknown */
	/* the point after the last span, SIZE_MAX: none; its part of error_mj */
	size_t last;
	double last_mj;
};

struct ws_device_energy {
	struct ws_row_gpu_sample *sample; /* by time */
	size_t n;
	struct ws_energy_point { /* samples with an energy */
		int64_t time_ns;
		double mj;       /* since the first, resets left out */
		uint64_t resets; /* until here */
	} * point;
	size_t npoints;
	struct ws_energy steps; /* over the windows in the scope: measured steps, or all */
};

/* By device; n is 0 without samples, and if only other devices ran kernels. Computed once per
 * selection. */
const struct ws_device_energy *ws_device_energy(const struct ws_model *m,
                                                const struct ws_selection *sel);
/* Are there enough samples in the windows? */
static inline bool ws_energy_is_known(const struct ws_energy *e)
{
	return e->samples >= WS_ENERGY_LEAST_SAMPLES;
}
/* Over these windows but one (NULL: all), on all devices with samples. Its samples are those of the
 * device with the fewest. */
struct ws_energy ws_energy_of(const struct ws_model *m, const struct ws_selection *sel,
                              const struct ws_time_window *windows, size_t n,
                              const struct ws_time_window *but);
/* The mean clock of the multiprocessors in the windows, over the devices with samples; 0:
 * unknown. */
double ws_energy_clock(const struct ws_model *m, const struct ws_selection *sel);
/* Millijoules per window, of devices with samples or kernels; NaN: unknown for one. */
double ws_energy_per_step(const struct ws_model *m, const struct ws_selection *sel);
/* "sw_power_cap 40 %, hw_slowdown 2 %"; "none". */
const char *ws_throttle_shares(const struct ws_energy *e, struct ws_arena *texts);

/* Rows: devices with samples; ranges of a path at most one below the outermost; at most 200 times
 * per device. */
extern const struct ws_relation ws_relation_gpu_energy, ws_relation_range_energy,
        ws_relation_gpu_clock;
