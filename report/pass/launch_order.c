#include "report/pass/launch_order.h"

#include <stdbool.h>

static struct ws_launch_key key_of(const struct ws_launch_order *calls, size_t at)
{
	uint32_t i = calls->order[at];

	return (struct ws_launch_key){calls->process[i], calls->correlation[i], calls->start_ns[i]};
}

static bool same_launch(struct ws_launch_key a, struct ws_launch_key b)
{
	return a.process == b.process && a.correlation == b.correlation;
}

/* a <= b; correlations in the order that ws_order_by gave them: as signed numbers */
static bool not_after(struct ws_launch_key a, struct ws_launch_key b)
{
	if (a.process != b.process)
		return a.process < b.process;
	if (a.correlation != b.correlation)
		return (int64_t)a.correlation < (int64_t)b.correlation;
	return a.start_ns <= b.start_ns;
}

/* How many of the sorted calls are not after key. */
static size_t count_not_after(const struct ws_launch_order *calls, struct ws_launch_key key)
{
	size_t lo = 0, hi = calls->n, hint = calls->at;

	if (hint < calls->n && not_after(key_of(calls, hint), key) &&
	    (hint + 1 == calls->n || !not_after(key_of(calls, hint + 1), key)))
		return hint + 1;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (not_after(key_of(calls, mid), key))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

enum ws_status ws_launch_order_make(struct ws_launch_order *calls, struct ws_arena *arena,
                                    struct ws_err *err)
{
	const size_t n = calls->n;

	calls->at = 0;
	WS_NEW(arena, calls->order, n);
	WS_FORWARD(ws_arena_check(arena, "the order of launches", err));
	ws_order_identity(calls->order, n);
	WS_FORWARD(ws_order_by(calls->order, calls->start_ns, n, err));
	WS_FORWARD(ws_order_by(calls->order, (const int64_t *)calls->correlation, n, err));
	return ws_order_by_u32(calls->order, calls->process, n, n, err);
}

uint32_t ws_launch_order_find(struct ws_launch_order *calls, struct ws_launch_key kernel)
{
	size_t at;

	if (!kernel.correlation)
		return WS_NONE;
	calls->at = at = count_not_after(calls, kernel);
	if (at && same_launch(key_of(calls, at - 1), kernel))
		return calls->order[at - 1];
	if (at < calls->n && same_launch(key_of(calls, at), kernel))
		return calls->order[at]; /* clocks that disagree: it began after its kernel */
	return WS_NONE;
}
