#include "report/joined/launches.h"

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

void ws_launches_open(struct ws_launches *l, uint64_t calls)
{
	ws_spill_open(&l->keys, calls * KEY_BYTES);
}

void ws_launches_add(struct ws_launches *l, const struct ws_launch_key *call)
{
	if (call->correlation)
		ws_spill_put(&l->keys, KEY_BYTES, l->n++, call);
}

void ws_launches_sort(struct ws_launches *l)
{
	ws_spill_sort(&l->keys, KEY_BYTES, l->n, compare, NULL);
}

void ws_launches_free(struct ws_launches *l)
{
	ws_spill_close(&l->keys);
}

static struct ws_launch_key key_at(struct ws_launches *l, size_t at)
{
	return *(const struct ws_launch_key *)ws_spill_row(&l->keys, KEY_BYTES, at);
}

struct search {
	struct ws_launches *l;
	struct ws_launch_key kernel;
};

static bool is_at_or_before_kernel(void *ctx, size_t at)
{
	const struct search *s = ctx;
	const struct ws_launch_key call = key_at(s->l, at);

	return compare(&call, &s->kernel, NULL) <= 0;
}

static bool is_same_call(const struct ws_launch_key *a, const struct ws_launch_key *b)
{
	return a->process == b->process && a->correlation == b->correlation;
}

uint32_t ws_launches_find(struct ws_launches *l, struct ws_launch_key kernel)
{
	struct search search = {l, kernel};
	struct ws_launch_key call;

	search.kernel.call = WS_NONE; /* behind a call that began with it */
	if (!kernel.correlation)
		return WS_NONE;
	l->next = ws_count_before(l->n, l->next, is_at_or_before_kernel, &search);
	if (l->next) {
		call = key_at(l, l->next - 1);
		if (is_same_call(&call, &kernel))
			return call.call;
	}
	if (l->next == l->n)
		return WS_NONE;
	call = key_at(l, l->next); /* clocks that disagree: it began after its kernel */
	return is_same_call(&call, &kernel) ? call.call : WS_NONE;
}
