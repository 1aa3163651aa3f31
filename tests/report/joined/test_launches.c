/* The call of a kernel among calls, beside a search through all of them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "report/joined/rows.h"

static uint32_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* The last of its process and id that began no later, or else the first. */
static uint32_t find_slowly(const struct ws_call_key *calls, size_t n, struct ws_call_key k)
{
	const struct ws_call_key *last = NULL, *first = NULL;

	for (const struct ws_call_key *c = calls; c < calls + n; c++) {
		if (!k.correlation || c->process != k.process || c->correlation != k.correlation)
			continue;
		if (c->start_ns <= k.start_ns && (!last || c->start_ns >= last->start_ns))
			last = c;
		if (!first || c->start_ns < first->start_ns)
			first = c;
	}
	return last ? last->call : first ? first->call : WS_NONE;
}

static void find_some(struct ws_launches *l, const struct ws_call_key *calls, uint32_t n,
                      uint32_t ids, uint32_t mixed)
{
	for (uint32_t i = 0; i < 3000; i++) {
		/* after the last one, anywhere, of no call, of no known time */
		const struct ws_call_key kernel = {.correlation = i % 5 ? (i + pick(mixed)) % ids
		                                                          : pick(2 * ids),
		                                     .process = pick(3),
		                                     .start_ns = i % 7 ? (int64_t)pick(2 * n)
		                                                       : INT64_MAX};

		cr_assert(eq(u32, ws_launches_find(l, kernel), find_slowly(calls, n, kernel)),
		          "round %u of %u calls", i, n);
	}
}

/* Ids from a range of so many, in order but for the nearest `mixed`. */
static void compare(uint32_t n, uint32_t ids, uint32_t mixed)
{
	struct ws_call_key *calls = calloc(n, sizeof(*calls));
	struct ws_launches l = {0};

	ws_launches_open(&l, n);
	for (uint32_t i = 0; i < n; i++) {
		calls[i] = (struct ws_call_key){.correlation = (i + pick(mixed)) % ids,
		                                  .process = pick(2),
		                                  .call = i,
		                                  .start_ns = 2 * (int64_t)pick(n)};
		ws_launches_add(&l, &calls[i]);
	}
	ws_launches_sort(&l);
	find_some(&l, calls, n, ids, mixed);
	ws_launches_free(&l);
	free(calls);
}

/* Calls as joined rows have them: each id greater than the one before, or not. */
static void compare_rows(uint32_t n, bool by_id)
{
	struct ws_thread threads[] = {{.process = 0}, {.process = 1}};
	const struct ws_joined_call_kind kinds[] = {{.thread = 0}, {.thread = 1}};
	const struct ws_model m = {.threads = threads, .nthreads = 2};
	struct ws_joined_rows rows = {.ncalls = n, .calls_by_id = by_id};
	struct ws_call_key *calls = calloc(n, sizeof(*calls));
	struct ws_launches l = {0};

	ws_spill_open(&rows.calls, n * sizeof(struct ws_joined_call));
	for (uint32_t i = 0, id = 0; i < n; i++) {
		struct ws_joined_call call = {.start_ns = 2 * (int64_t)pick(n),
		                              .kind = &kinds[pick(2)]};

		id += 1 + pick(3);
		call.correlation = by_id ? id : pick(n);
		calls[i] = (struct ws_call_key){call.correlation, call.kind->thread, i,
		                                  call.start_ns};
		ws_spill_put(&rows.calls, sizeof(call), i, &call);
	}
	ws_launches_of_rows(&l, &rows, &m);
	find_some(&l, calls, n, 2 * n, 1);
	find_some(&l, calls, n, 2 * n, 5);
	ws_launches_free(&l);
	ws_spill_close(&rows.calls);
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
	compare_rows(2000, true);
	compare_rows(2000, false);
}

Test(launches, where_there_is_no_call_none_is_found)
{
	const struct ws_call_key kernel = {.correlation = 1, .start_ns = 5};
	struct ws_launches l = {0};

	ws_launches_open(&l, 0);
	ws_launches_sort(&l);
	cr_expect(eq(u32, ws_launches_find(&l, kernel), WS_NONE));
	ws_launches_free(&l);
}
