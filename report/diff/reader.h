/*
 * What the two parts of reading a recording share: who it is (recording.c), and
 * what ran in it (recorded_work.c).
 */
#pragma once

#include "report/analysis/device_time.h"
#include "report/analysis/steps.h"
#include "report/diff/recording.h"

struct ws_reader {
	const struct ws_model *m;
	struct ws_recording *r;
	struct ws_names *names;
	struct ws_selection sel;
	const struct ws_windows *windows; /* one a sample */
	uint32_t *sample_of_step;         /* WS_NONE = not compared */
	uint32_t *place_of_path;
};

/* Items, ranges, classes, copies and dtypes. After all else. */
enum ws_status ws_reader_read_work(struct ws_reader *c, struct ws_err *err);
