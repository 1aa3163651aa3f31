/* Sets of time intervals: their union, and the time of the union inside another interval. */
#pragma once

#include "report/base/spill.h"

struct ws_span {
	int64_t start_ns, end_ns;
};
#define WS_SPAN_EMPTY                \
	{                            \
		INT64_MAX, INT64_MIN \
	}

static inline void ws_span_widen(struct ws_span *s, int64_t start_ns, int64_t end_ns)
{
	s->start_ns = start_ns < s->start_ns ? start_ns : s->start_ns;
	s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
}

static inline int64_t ws_span_overlap(int64_t a_start_ns, int64_t a_end_ns, int64_t b_start_ns,
                                      int64_t b_end_ns)
{
	const int64_t from = a_start_ns > b_start_ns ? a_start_ns : b_start_ns;
	const int64_t to = a_end_ns < b_end_ns ? a_end_ns : b_end_ns;

	return to > from ? to - from : 0;
}

/* Starts as all zeros; free with ws_spans_release. */
struct ws_spans {
	struct ws_span *span;
	size_t n, capacity;
	struct ws_spill file; /* storage, if it is open */
	struct ws_span last;  /* last added interval */
	bool is_mixed;        /* if false, each interval begins after the end of the previous one */
};
/* Prepares an empty set for up to `most` intervals; more than a few are stored in a file. */
void ws_spans_open(struct ws_spans *s, size_t most);
/* Adds [start, end]; an empty interval changes nothing. */
void ws_spans_add(struct ws_spans *s, int64_t start_ns, int64_t end_ns);
/* The same if only the union matters: an interval that overlaps the last one extends it. */
void ws_spans_cover(struct ws_spans *s, int64_t start_ns, int64_t end_ns);
/* Sorts by begin, then end. Intervals in a file must not be merged yet. */
void ws_spans_sort(struct ws_spans *s);
/* Merges into disjoint, ascending intervals: the union. */
void ws_spans_merge(struct ws_spans *s);
/* Time of merged spans inside [start, end]. */
int64_t ws_spans_inside(const struct ws_spans *s, int64_t start_ns, int64_t end_ns);
void ws_spans_release(struct ws_spans *s);
