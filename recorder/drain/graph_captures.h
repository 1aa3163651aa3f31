/*
 * When launches were captured: recorded into a CUDA graph instead of done. A launch
 * in that time has a record of its call and no work. Any thread's: the calls of one
 * capture may come from several threads (PyTorch's backward pass). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_graph_captures {
	struct ws_graph_capture_change {
		int64_t time_ns; /* of any clock, always the same one */
		int32_t change;  /* 1: a capture begins, -1: one ends */
		int32_t open;    /* captures that are open after it */
	} * list;                /* in the order of time */
	size_t n, size;
};

void ws_graph_captures_release(struct ws_graph_captures *c);
/*
 * A capture begins (1) or ends (0) at this time. In any order; of very many the
 * oldest half is forgotten.
 */
void ws_graph_captures_change(struct ws_graph_captures *c, int64_t time_ns, int begins);
/* 1 when a capture was open at this time. */
bool ws_graph_captures_has(const struct ws_graph_captures *c, int64_t time_ns);
