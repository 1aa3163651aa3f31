#include "report/model/range_pairs.h"

#include <stdlib.h>

#include "formats/base/grow.h"

static void open_range(struct ws_range_pairs *p, uint32_t stack, uint32_t range)
{
	WS_GROW(p->below, (size_t)range + 1, p->nbelow);
	p->below[range] = p->top[stack];
	p->top[stack] = range;
}

static uint32_t close_range(struct ws_range_pairs *p, uint32_t stack)
{
	uint32_t range = p->top[stack];

	if (range != WS_NONE)
		p->top[stack] = p->below[range];
	return range;
}

static void new_stack(struct ws_range_pairs *p, uint32_t *stack)
{
	WS_GROW(p->top, p->nstacks + 1, p->stacks_capacity);
	*stack = (uint32_t)p->nstacks++;
	p->top[*stack] = WS_NONE;
}

static uint32_t find_stack(struct ws_range_pairs *p, uint32_t thread, uint32_t domain)
{
	const uint64_t key = (uint64_t)thread << 32 | domain;

	if (!p->has_last || p->last_key != key) {
		p->last_key = key;
		p->last_stack = ws_idmap_get(&p->stack_of, key);
		p->has_last = p->last_stack != WS_NONE;
	}
	return p->last_stack;
}

void ws_range_push(struct ws_range_pairs *p, uint32_t thread, uint32_t domain, uint32_t range)
{
	uint32_t stack = find_stack(p, thread, domain);

	if (stack == WS_NONE) {
		new_stack(p, &stack);
		ws_idmap_put(&p->stack_of, p->last_key, stack);
	}
	open_range(p, stack, range);
}

uint32_t ws_range_pop(struct ws_range_pairs *p, uint32_t thread, uint32_t domain)
{
	uint32_t stack = find_stack(p, thread, domain);

	return stack == WS_NONE ? WS_NONE : close_range(p, stack);
}

void ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id, uint32_t range)
{
	const uint64_t key[2] = {process, id};
	uint64_t number = ws_strtab_find(&p->started, key, sizeof(key));

	if (!number) {
		number = ws_strtab_add(&p->started, key, sizeof(key));
		WS_GROW(p->start_stack, number, p->started_capacity);
		new_stack(p, &p->start_stack[number - 1]);
	}
	open_range(p, p->start_stack[number - 1], range);
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
