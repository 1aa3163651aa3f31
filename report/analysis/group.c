#include "report/analysis/group.h"

#include <string.h>

static void group_values(struct ws_arena *temp, const int64_t *values, const uint32_t *group,
                         size_t n, size_t ngroups, struct ws_stat *out)
{
	size_t *end, total = 0;
	int64_t *sorted;

	WS_NEW(temp, end, ngroups);
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			end[group[i]]++;
	for (size_t g = 0; g < ngroups; g++) {
		size_t count = end[g];

		end[g] = total; /* where the group begins; grows to its end below */
		total += count;
	}
	WS_NEW(temp, sorted, total);
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			sorted[end[group[i]]++] = values[i];
	for (size_t g = 0, begin = 0; g < ngroups; begin = end[g++])
		ws_stat_of(sorted + begin, end[g] - begin, &out[g]);
}

void ws_group_values(const int64_t *values, const uint32_t *group, size_t n, size_t ngroups,
                     struct ws_stat *out)
{
	struct ws_arena temp = {0};

	group_values(&temp, values, group, n, ngroups, out);
	ws_arena_free(&temp);
}

struct ws_row_key ws_group_key(const struct ws_group *g, struct ws_bytes name, uint32_t row)
{
	return (struct ws_row_key){.number = {0, !g->time.n, WS_DESCENDING(g->time.sum),
	                                      (int64_t)g->time.n},
	                           .text = {name},
	                           .row = row};
}
