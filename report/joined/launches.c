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

static struct ws_launch_key key_of_call(struct ws_joined_rows *rows, const struct ws_model *m,
                                        uint32_t i)
{
	const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

	return (struct ws_launch_key){call->correlation, m->threads[call->kind->thread].process, i,
	                              call->start_ns};
}

void ws_launches_of_rows(struct ws_launches *l, struct ws_joined_rows *rows,
                         const struct ws_model *m)
{
	if (rows->calls_by_id) {
		*l = (struct ws_launches){.rows = rows, .m = m, .n = rows->ncalls};
		return;
	}
	ws_launches_open(l, rows->ncalls);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const struct ws_launch_key key = key_of_call(rows, m, i);

		ws_launches_add(l, &key);
	}
	ws_launches_sort(l);
}

void ws_launches_free(struct ws_launches *l)
{
	ws_spill_close(&l->keys);
}

static struct ws_launch_key key_at(struct ws_launches *l, size_t at)
{
	if (l->rows)
		return key_of_call(l->rows, l->m, (uint32_t)at);
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
	/* mostly it is the next one; of joined rows none has the id of another */
	if (l->rows && l->next < l->n) {
		call = key_at(l, l->next);
		l->next += call.correlation == kernel.correlation;
		if (is_same_call(&call, &kernel))
			return call.call;
	}
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
