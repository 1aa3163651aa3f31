#include "report/joined/launches.h"

#include <stdbool.h>

#include "formats/base/grow.h"

#define KEY_BYTES sizeof(struct ws_launch_key)

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct ws_launch_key *a = pa, *b = pb;

	(void)ctx;
	WS_ORDER_BY(a->correlation, b->correlation);
	WS_ORDER_BY(a->process, b->process);
	WS_ORDER_BY(a->start_ns, b->start_ns);
	return a->call < b->call ? -1 : a->call > b->call;
}

enum ws_status ws_launches_open(struct ws_launches *l, uint64_t calls, struct ws_err *err)
{
	return ws_spill_open(&l->keys, calls * KEY_BYTES, err);
}

enum ws_status ws_launches_add(struct ws_launches *l, const struct ws_launch_key *call,
                               struct ws_err *err)
{
	return call->correlation ? ws_spill_put(&l->keys, KEY_BYTES, l->n++, call, err) : WS_OK;
}

enum ws_status ws_launches_sort(struct ws_launches *l, struct ws_err *err)
{
	return ws_spill_sort(&l->keys, KEY_BYTES, l->n, compare, NULL, err);
}

void ws_launches_free(struct ws_launches *l)
{
	ws_spill_close(&l->keys);
}

static struct ws_launch_key key_at(struct ws_launches *l, size_t at)
{
	return *(const struct ws_launch_key *)ws_spill_row(&l->keys, KEY_BYTES, at);
}

static bool is_after(struct ws_launches *l, size_t at, const struct ws_launch_key *kernel)
{
	const struct ws_launch_key call = key_at(l, at);

	return compare(&call, kernel, NULL) > 0;
}

/* How many are not after the kernel: outwards from the last answer in steps that double, then
 * between the last two of them. */
static size_t count_not_after(struct ws_launches *l, const struct ws_launch_key *kernel)
{
	const size_t at = l->at;
	size_t lo = 0, hi = l->n, step;

	if (at < l->n && !is_after(l, at, kernel)) {
		lo = at + 1;
		for (step = 1; at + step < l->n && !is_after(l, at + step, kernel); step *= 2)
			lo = at + step + 1;
		hi = at + step < l->n ? at + step : l->n;
	} else if (at && is_after(l, at - 1, kernel)) {
		hi = at - 1;
		for (step = 2; step <= at && is_after(l, at - step, kernel); step *= 2)
			hi = at - step;
		lo = step <= at ? at - step + 1 : 0;
	} else {
		return at;
	}
	WS_COUNT_FIRST(step, hi - lo, !is_after(l, lo + step, kernel));
	return lo + step;
}

static bool is_same(const struct ws_launch_key *a, const struct ws_launch_key *b)
{
	return a->process == b->process && a->correlation == b->correlation;
}

uint32_t ws_launches_find(struct ws_launches *l, struct ws_launch_key kernel)
{
	struct ws_launch_key call;

	kernel.call = WS_NONE; /* behind a call that began with it */
	if (!kernel.correlation)
		return WS_NONE;
	l->at = count_not_after(l, &kernel);
	if (l->at) {
		call = key_at(l, l->at - 1);
		if (is_same(&call, &kernel))
			return call.call;
	}
	if (l->at == l->n)
		return WS_NONE;
	call = key_at(l, l->at); /* clocks that disagree: it began after its kernel */
	return is_same(&call, &kernel) ? call.call : WS_NONE;
}
