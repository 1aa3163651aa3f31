#include "recorder/drain/window.h"

#include <stdlib.h>

#include "formats/base/grow.h"

void ws_capture_window_init(struct ws_capture_window *w, int64_t begin_ns, int64_t duration_ns,
                            int has_ranges)
{
	*w = (struct ws_capture_window){
	        .begin_ns = begin_ns,
	        .end_ns = INT64_MAX,
	        .has_ranges = has_ranges,
	};
	if (duration_ns > 0 && begin_ns < INT64_MAX - duration_ns)
		w->end_ns = begin_ns + duration_ns;
}

void ws_capture_window_release(struct ws_capture_window *w)
{
	free(w->ranges);
	w->ranges = NULL;
	w->nranges = w->size = 0;
}

void ws_window_stop(struct ws_capture_window *w, int64_t time_ns)
{
	if (time_ns < w->end_ns)
		w->end_ns = time_ns;
}

void ws_capture_window_begin_range(struct ws_capture_window *w, int64_t time_ns)
{
	if (w->open++)
		return;
	/* a thread's clock was read a little before another thread's range ended */
	if (w->nranges && time_ns <= w->ranges[w->nranges - 1].end_ns) {
		w->ranges[w->nranges - 1].end_ns = INT64_MAX;
		return;
	}
	WS_GROW(w->ranges, w->nranges + 1, w->size);
	w->ranges[w->nranges++] = (struct ws_capture_window_range){time_ns, INT64_MAX};
}

void ws_capture_window_end_range(struct ws_capture_window *w, int64_t time_ns)
{
	struct ws_capture_window_range *last = w->nranges ? &w->ranges[w->nranges - 1] : NULL;

	if (!w->open || --w->open || !last)
		return;
	last->end_ns = time_ns > last->begin_ns ? time_ns : last->begin_ns;
}

/* The first range that ends at this time or later; nranges: there is none. */
static size_t first_ending_after(const struct ws_capture_window *w, int64_t time_ns)
{
	size_t i;

	WS_COUNT_FIRST(i, w->nranges, w->ranges[i].end_ns < time_ns);
	return i;
}

bool ws_capture_window_keeps(const struct ws_capture_window *w, int64_t start_ns, int64_t end_ns)
{
	size_t i;

	if (start_ns < w->begin_ns)
		start_ns = w->begin_ns;
	if (end_ns > w->end_ns)
		end_ns = w->end_ns;
	if (start_ns > end_ns)
		return 0;
	if (!w->has_ranges)
		return 1;
	i = first_ending_after(w, start_ns);
	return i < w->nranges && w->ranges[i].begin_ns <= end_ns;
}
