/* Boxes on lanes, and boxes of many for what is too short. */
#pragma once

#include <stdbool.h>
#include "formats/base/strtab.h"
#include "report/page/page.h"
#include "report/page/timeline.h"

/* A box of many that may take what comes next at its depth. */
struct ws_open_box {
	struct ws_timeline_box box; /* count 0: there is none */
	int64_t colour_ns[WS_PAGE_NCOLOURS];
};

/* What a lane is: of threads the thread, else a device and a stream. */
struct ws_lane_key {
	uint32_t kind, device, process;
	uint32_t unused;
	uint64_t number; /* of the stream or thread */
};

/* Of one timeline. Starts as zeros but for `out` and `shortest_ns`. */
struct ws_boxes {
	struct ws_timeline *out;
	int64_t shortest_ns;
	struct ws_strtab keys; /* what a lane is -> lane, from 1 */
	struct ws_boxes_lane {
		struct ws_open_box *open; /* by depth */
		size_t ndepths;
		int64_t order[3]; /* where it stands among the lanes */
	} * lane;
	size_t lanes_capacity, nboxes;
	/* lanes that were asked for last: most boxes are on one of few */
	struct ws_known_lane {
		struct ws_lane_key key;
		size_t lane; /* from 1; 0: none */
	} known[16];
};

/* The number of a lane; *is_new: it has no name yet. */
size_t ws_boxes_lane(struct ws_boxes *b, const struct ws_lane_key *key, bool *is_new);
