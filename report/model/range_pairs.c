#include "report/model/range_pairs.h"

#include <stdlib.h>

#include "formats/base/grow.h"

static enum ws_status open_range(struct ws_range_pairs *p, uint32_t stack, uint32_t range,
                                 struct ws_err *err)
{
	WS_FORWARD(WS_GROW(p->below, (size_t)range + 1, p->nbelow, err));
	p->below[range] = p->top[stack];
	p->top[stack] = range;
	return WS_OK;
}

static uint32_t close_range(struct ws_range_pairs *p, uint32_t stack)
{
	uint32_t range = p->top[stack];

	if (range != WS_NONE)
		p->top[stack] = p->below[range];
	return range;
}

static enum ws_status new_stack(struct ws_range_pairs *p, uint32_t *stack, struct ws_err *err)
{
	WS_FORWARD(WS_GROW(p->top, p->nstacks + 1, p->stacks_capacity, err));
	*stack = (uint32_t)p->nstacks++;
	p->top[*stack] = WS_NONE;
	return WS_OK;
}

static uint32_t find_stack(struct ws_range_pairs *p, uint64_t key)
{
	if (!p->has_last || p->last_key != key) {
		p->last_key = key;
		p->last_stack = ws_idmap_get(&p->stack_of, key);
		p->has_last = p->last_stack != WS_NONE;
	}
	return p->last_stack;
}

enum ws_status ws_range_push_other(struct ws_range_pairs *p, uint64_t key, uint32_t range,
                                   struct ws_err *err)
{
	uint32_t stack = find_stack(p, key);

	if (stack == WS_NONE) {
		WS_FORWARD(new_stack(p, &stack, err));
		WS_FORWARD(ws_idmap_put(&p->stack_of, key, stack, err));
	}
	return open_range(p, stack, range, err);
}

uint32_t ws_range_pop_other(struct ws_range_pairs *p, uint64_t key)
{
	uint32_t stack = find_stack(p, key);

	return stack == WS_NONE ? WS_NONE : close_range(p, stack);
}

enum ws_status ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id,
                              uint32_t range, struct ws_err *err)
{
	const uint64_t key[2] = {process, id};
	uint64_t number = ws_strtab_find(&p->started, key, sizeof(key));

	if (!number) {
		WS_FORWARD(ws_strtab_add(&p->started, key, sizeof(key), &number, err));
		WS_FORWARD(WS_GROW(p->start_stack, number, p->started_capacity, err));
		WS_FORWARD(new_stack(p, &p->start_stack[number - 1], err));
	}
	return open_range(p, p->start_stack[number - 1], range, err);
}

uint32_t ws_range_end(struct ws_range_pairs *p, uint64_t process, uint64_t id)
{
	const uint64_t key[2] = {process, id};
	uint64_t number = ws_strtab_find(&p->started, key, sizeof(key));

	return number ? close_range(p, p->start_stack[number - 1]) : WS_NONE;
}

void ws_range_pairs_free(struct ws_range_pairs *p)
{
	free(p->below);
	free(p->top);
	free(p->start_stack);
	ws_idmap_free(&p->stack_of);
	ws_strtab_free(&p->started);
	*p = (struct ws_range_pairs){0};
}
