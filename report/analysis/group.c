#include "report/analysis/group.h"

#include <string.h>

#include "report/base/names.h"

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

enum ws_status ws_group_kernels(const struct ws_model *m, const uint32_t *group, size_t ngroups,
                                struct ws_group *out, struct ws_err *err)
{
	const struct ws_kernels *k = &m->kernels;
	struct ws_arena temp = {0};
	struct ws_stat *stats;
	uint32_t *timed;
	enum ws_status status;

	WS_NEW(&temp, timed, k->n);
	WS_NEW(&temp, stats, ngroups);
	status = ws_arena_check(&temp, "groups of kernels", err);
	if (status != WS_OK)
		goto out;
	memset(out, 0, ngroups * sizeof(*out));
	for (size_t i = 0; i < k->n; i++) {
		timed[i] = group[i];
		if (group[i] != WS_NONE && k->flags[i] & WS_KERNEL_NO_TIME) {
			timed[i] = WS_NONE;
			out[group[i]].without_time++;
		}
	}
	status = group_values(&temp, k->dur_ns, timed, k->n, ngroups, stats, err);
	for (size_t g = 0; g < ngroups; g++)
		out[g].time = stats[g];
out:
	ws_arena_free(&temp);
	return status;
}

int ws_group_compare(const struct ws_group *a, struct ws_bytes name_a, const struct ws_group *b,
                     struct ws_bytes name_b)
{
	if (!a->time.n != !b->time.n)
		return a->time.n ? -1 : 1;
	if (a->time.sum != b->time.sum)
		return a->time.sum > b->time.sum ? -1 : 1;
	if (a->time.n != b->time.n)
		return a->time.n < b->time.n ? -1 : 1;
	return ws_name_compare(name_a, name_b);
}
