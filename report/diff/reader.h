/*
 * What the parts of reading a recording share: who it is (recording.c), its ranges
 * (recorded_ranges.c), and what ran in it (recorded_work.c).
 */
#pragma once

#include "report/analysis/device_time.h"
#include "report/analysis/steps.h"
#include "report/diff/recording.h"

struct ws_reader {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_recording *r;
	struct ws_names *names;
	struct ws_selection sel;
	const struct ws_windows *windows; /* one a sample */
	struct ws_arena arena;
	uint32_t *sample_of_step; /* WS_NONE = not compared */
	uint32_t *place_of_path;
	uint32_t *text_of; /* text of the model -> text of the comparison; WS_NONE = not yet */
	uint32_t unclassified;
};

/* The sample of a step; 0 for everything where the whole trace is the sample; WS_NONE. */
static inline uint32_t ws_reader_sample(const struct ws_reader *c, uint32_t step)
{
	if (!c->r->has_steps)
		return 0;
	return step == WS_NONE ? WS_NONE : c->sample_of_step[step];
}
/* A text of the model among those of the comparison; 0 stays 0. */
uint32_t ws_reader_text(struct ws_reader *c, uint32_t text);

/* Ranges, without times, and dtypes. */
void ws_reader_read_ranges(struct ws_reader *c);
/* Calls, classes, copies and the times of ranges. After all else. */
void ws_reader_read_work(struct ws_reader *c);
/* What was launched in a range was launched in those around it. */
void ws_reader_add_up_ranges(struct ws_reader *c);
