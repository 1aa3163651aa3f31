/* The call of a kernel among calls, beside a search through all of them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "report/joined/launches.h"

static uint32_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* The last of its process and id that began no later, or else the first. */
static uint32_t find_slowly(const struct ws_launch_key *calls, size_t n, struct ws_launch_key k)
{
	const struct ws_launch_key *last = NULL, *first = NULL;

	for (const struct ws_launch_key *c = calls; c < calls + n; c++) {
		if (!k.correlation || c->process != k.process || c->correlation != k.correlation)
			continue;
		if (c->start_ns <= k.start_ns && (!last || c->start_ns >= last->start_ns))
			last = c;
		if (!first || c->start_ns < first->start_ns)
			first = c;
	}
	return last ? last->call : first ? first->call : WS_NONE;
}

/* Ids from a range of so many, in order but for the nearest `mixed`. */
static void compare(uint32_t n, uint32_t ids, uint32_t mixed)
{
	struct ws_launch_key *calls = calloc(n, sizeof(*calls));
	struct ws_launches l = {0};

	ws_launches_open(&l, n);
	for (uint32_t i = 0; i < n; i++) {
		calls[i] = (struct ws_launch_key){.correlation = (i + pick(mixed)) % ids,
		                                  .process = pick(2),
		                                  .call = i,
		                                  .start_ns = 2 * (int64_t)pick(n)};
		ws_launches_add(&l, &calls[i]);
	}
	ws_launches_sort(&l);
	for (uint32_t i = 0; i < 3000; i++) {
		/* after the last one, anywhere, of no call, of no known time */
		const struct ws_launch_key kernel = {.correlation = i % 5 ? (i + pick(mixed)) % ids
		                                                          : pick(2 * ids),
		                                     .process = pick(3),
		                                     .start_ns = i % 7 ? (int64_t)pick(2 * n)
		                                                       : INT64_MAX};

		cr_assert(eq(u32, ws_launches_find(&l, kernel), find_slowly(calls, n, kernel)),
		          "round %u of %u calls", i, n);
	}
	ws_launches_free(&l);
	free(calls);
}

Test(launches, a_kernel_finds_its_call)
{
	seed = 1;
	compare(1, 1, 1);
	compare(2000, 2001, 1);  /* each id once, in order */
	compare(2000, 2001, 5);  /* nearly so */
	compare(2000, 100, 100); /* used again and again */
	compare(2000, 5, 5);
}

Test(launches, where_there_is_no_call_none_is_found)
{
	const struct ws_launch_key kernel = {.correlation = 1, .start_ns = 5};
	struct ws_launches l = {0};

	ws_launches_open(&l, 0);
	ws_launches_sort(&l);
	cr_expect(eq(u32, ws_launches_find(&l, kernel), WS_NONE));
	ws_launches_free(&l);
}
