#include "report/analysis/group.h"

#include <string.h>

static enum ws_status group_values(struct ws_arena *temp, const int64_t *values,
                                   const uint32_t *group, size_t n, size_t ngroups,
                                   struct ws_stat *out, struct ws_err *err)
{
	size_t *end, total = 0;
	int64_t *sorted;

	WS_NEW(temp, end, ngroups);
	WS_FORWARD(ws_arena_check(temp, "groups of values", err));
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			end[group[i]]++;
	for (size_t g = 0; g < ngroups; g++) {
		size_t count = end[g];

		end[g] = total; /* where the group begins; grows to its end below */
		total += count;
	}
	WS_NEW(temp, sorted, total);
	WS_FORWARD(ws_arena_check(temp, "groups of values", err));
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			sorted[end[group[i]]++] = values[i];
	for (size_t g = 0, begin = 0; g < ngroups; begin = end[g++])
		ws_stat_of(sorted + begin, end[g] - begin, &out[g]);
	return WS_OK;
}

enum ws_status ws_group_values(const int64_t *values, const uint32_t *group, size_t n,
                               size_t ngroups, struct ws_stat *out, struct ws_err *err)
{
	struct ws_arena temp = {0};
	enum ws_status status = group_values(&temp, values, group, n, ngroups, out, err);

	ws_arena_free(&temp);
	return status;
}

struct ws_row_key ws_group_key(const struct ws_group *g, struct ws_bytes name, uint32_t row)
{
	return (struct ws_row_key){.number = {0, !g->time.n, WS_DESCENDING(g->time.sum),
	                                      (int64_t)g->time.n},
	                           .text = {name},
	                           .row = row};
}
