#include "report/analysis/group.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"

static enum ws_status no_memory(struct ws_err *err, size_t n)
{
	return WS_FAIL(err, NO_MEMORY, "no memory to group %zu values", n);
}

enum ws_status ws_group_values(const int64_t *values, const uint32_t *group, size_t n,
                               size_t ngroups, struct ws_stat *out, struct ws_err *err)
{
	size_t *end = calloc(ngroups ? ngroups : 1, sizeof(*end));
	int64_t *sorted = NULL;
	size_t total = 0;

	if (!end)
		return no_memory(err, n);
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			end[group[i]]++;
	for (size_t g = 0; g < ngroups; g++) {
		size_t count = end[g];

		end[g] = total; /* where the group begins; grows to its end below */
		total += count;
	}
	sorted = calloc(total ? total : 1, sizeof(*sorted));
	if (!sorted) {
		free(end);
		return no_memory(err, n);
	}
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			sorted[end[group[i]]++] = values[i];
	for (size_t g = 0, begin = 0; g < ngroups; begin = end[g++])
		ws_stat_of(sorted + begin, end[g] - begin, &out[g]);
	free(end);
	free(sorted);
	return WS_OK;
}

enum ws_status ws_group_kernels(const struct ws_model *m, const uint32_t *group, size_t ngroups,
                                struct ws_group *out, struct ws_err *err)
{
	const struct ws_kernels *k = &m->kernels;
	uint32_t *timed = calloc(k->n ? k->n : 1, sizeof(*timed));
	struct ws_stat *stats = calloc(ngroups ? ngroups : 1, sizeof(*stats));
	enum ws_status status;

	if (!timed || !stats) {
		status = no_memory(err, k->n);
		goto out;
	}
	memset(out, 0, ngroups * sizeof(*out));
	for (size_t i = 0; i < k->n; i++) {
		timed[i] = group[i];
		if (group[i] != WS_NONE && k->flags[i] & WS_KERNEL_NO_TIME) {
			timed[i] = WS_NONE;
			out[group[i]].without_time++;
		}
	}
	status = ws_group_values(k->dur_ns, timed, k->n, ngroups, stats, err);
	for (size_t g = 0; g < ngroups; g++)
		out[g].time = stats[g];
out:
	free(timed);
	free(stats);
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
