#include "recorder/collect/capture_range.h"

#include <string.h>

#define LONGEST_NAME 256 /* of a range whose name is not UTF-8 already */

/* 1 when the pattern, in which * is any text and ? any byte, is that of the whole text. */
static bool matches(const char *pattern, const char *text, size_t size)
{
	const char *star = NULL;
	size_t at = 0, star_at = 0;

	while (at < size) {
		if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
		} else if (*pattern && (*pattern == '?' || *pattern == text[at])) {
			pattern++;
			at++;
		} else if (star) { /* the star takes one more */
			pattern = star;
			at = ++star_at;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool is_wanted(const struct ws_event *ev)
{
	const char *pattern = ws_collector.seg->plan.window.pattern;
	struct ws_text_cursor cursor = {ev->text.ptr, ev->text.kind, ev->text.size};
	char name[LONGEST_NAME];
	const char *text;
	uint32_t size = 0;

	if (ev->string) {
		text = ws_string_text(ev->string, &size);
		return text && matches(pattern, text, size);
	}
	if (ev->text.kind == WS_TEXT_BYTES)
		return matches(pattern, ev->text.ptr, ev->text.size);
	size = ws_text_next(&cursor, name, sizeof(name));
	return matches(pattern, name, size);
}

/* The next instance begins. 1: it is one of those to be recorded. */
static bool begin_instance(void)
{
	struct ws_seg_header *seg = ws_collector.seg;
	const uint64_t instance = atomic_fetch_add(&seg->control.instances, 1) + 1;

	if (instance < seg->plan.window.first || instance > seg->plan.window.last)
		return 0;
	ws_define_window(ws_now_ns(), 1);
	return 1;
}

static void end_instance(int64_t time_ns)
{
	const struct ws_seg_window *window = &ws_collector.seg->plan.window;
	struct ws_seg_control *control = &ws_collector.seg->control;

	ws_define_window(time_ns, 0);
	/* all that were asked for are behind us */
	if (atomic_fetch_add(&control->instances_ended, 1) + 1 == window->last - window->first + 1)
		atomic_store(&control->has_ended, 1);
}

void ws_range_pushed(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                     uint32_t level)
{
	if (thread_buffer->range.is_open || !is_wanted(ev))
		return;
	thread_buffer->range.domain = ev->domain;
	thread_buffer->range.level = level;
	thread_buffer->range.is_kept = (uint32_t)begin_instance();
	thread_buffer->range.is_open = 1;
}

void ws_range_popped(struct ws_thread_buffer *thread_buffer, uint32_t domain, uint32_t level,
                     int64_t time_ns)
{
	if (!thread_buffer->range.is_open || thread_buffer->range.domain != domain ||
	    thread_buffer->range.level != level)
		return;
	thread_buffer->range.is_open = 0;
	if (thread_buffer->range.is_kept)
		end_instance(time_ns);
}

void ws_range_abandoned(struct ws_thread_buffer *thread_buffer)
{
	if (thread_buffer->range.is_open && thread_buffer->range.is_kept)
		end_instance(ws_now_ns());
	thread_buffer->range.is_open = 0;
}

bool ws_range_started(const struct ws_event *ev)
{
	return is_wanted(ev) && begin_instance();
}

void ws_range_ended(int64_t time_ns)
{
	end_instance(time_ns);
}

void ws_range_profiler(int start)
{
	struct ws_seg_control *control = &ws_collector.seg->control;
	uint32_t was;

	if (ws_collector.seg->plan.window.ranges != WS_RANGES_PROFILER)
		return;
	if (!start) {
		if (atomic_exchange(&control->profiler, WS_PROFILER_OFF) == WS_PROFILER_KEPT)
			end_instance(ws_now_ns());
		return;
	}
	was = WS_PROFILER_OFF;
	if (!atomic_compare_exchange_strong(&control->profiler, &was, WS_PROFILER_ON))
		return; /* started twice is on once */
	if (begin_instance())
		atomic_store(&control->profiler, WS_PROFILER_KEPT);
}
