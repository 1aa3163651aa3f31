/* What recording costs: steps that were not recorded, and recorded ones beside them. */
#pragma once

#include "report/model/model.h"

/* With fewer pairs nothing is said: the interval would be the least and the greatest of them with a
 * smaller probability than 95 %. */
#define WS_CALIBRATION_PAIRS 6

/*
 * Where the cost was not measured so: estimates of the recorder's time on the thread that makes an
 * event. Launches: an H100, docs/dev/measurements.md; ranges: the same run; operations: a whole
 * step on a CPU, docs/dev/pytorch.md, 8. Each was measured on one machine: on others it is up to
 * WS_COST_UNCERTAIN of itself more or less.
 */
#define WS_COST_LAUNCH_NS 1600
/* One more record of a call. With --api all the driver's call in a launch has one, and so has each
 * call that launches nothing. */
#define WS_COST_CALL_NS   1460
#define WS_COST_RANGE_NS  80
#define WS_COST_OP_NS     500
#define WS_COST_UNCERTAIN 0.3
/* A cost of less than this part of the time is only said where causes of waiting are. */
#define WS_COST_SAID_PERCENT 5
/* Do these costs hold for this trace: did CUPTI record it for our recorder? */
bool ws_recording_has_costs(const struct ws_model *m);
/* Was it recorded with --api all? */
bool ws_recording_has_all_calls(const struct ws_model *m);
static inline int64_t ws_recording_launch_ns(const struct ws_model *m)
{
	return WS_COST_LAUNCH_NS + (ws_recording_has_all_calls(m) ? WS_COST_CALL_NS : 0);
}

struct ws_calibration_cost {
	size_t pairs;                      /* of neighbours; 0: none, and nothing below is set */
	double recorded_ns, unrecorded_ns; /* medians of the steps of pairs */
	double percent;                    /* that the first is over the second */
	double low, high;                  /* 95 % interval of percent; only with enough pairs */
	bool is_known; /* there are enough pairs, and 0 is outside the interval */
};
struct ws_calibration_cost ws_calibration_cost(const struct ws_model *m);

/* "Recording adds 7 % (5 to 9 %): steps of 42.8 ms, 40.0 ms without."; "" without such steps. */
const char *ws_calibration_words(const struct ws_model *m, struct ws_arena *texts);
/* Times of the steps that were not recorded, into `out`, which has room for all; their number. */
size_t ws_calibration_unrecorded(const struct ws_model *m, double *out);
