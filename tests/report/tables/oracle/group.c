/*
 * Kernels of a loaded trace in groups, with the statistics of each.
 */
#include "report/analysis/group.h"
#include "report/base/names.h"
#include "tests/report/tables/oracle/oracle.h"

int oracle_group_compare(const struct ws_group *a, struct ws_bytes name_a, const struct ws_group *b,
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

enum ws_status oracle_group_kernels(const struct loaded *l, const uint32_t *group, size_t ngroups,
                                    struct ws_group *out, struct ws_err *err)
{
	const struct loaded_kernels *k = &l->kernels;
	struct ws_arena temp = {0};
	struct ws_stat *stats;
	uint32_t *timed;
	enum ws_status status;

	WS_NEW(&temp, timed, k->n);
	WS_NEW(&temp, stats, ngroups);
	status = ws_arena_check(&temp, "groups of kernels", err);
	for (size_t g = 0; g < ngroups && status == WS_OK; g++)
		out[g] = (struct ws_group){0};
	for (size_t i = 0; i < k->n && status == WS_OK; i++) {
		const bool untimed = k->flags[i] & WS_KERNEL_NO_TIME;

		timed[i] = untimed ? WS_NONE : group[i];
		if (group[i] != WS_NONE)
			out[group[i]].without_time += untimed;
	}
	WS_THEN(status, ws_group_values(k->dur_ns, timed, k->n, ngroups, stats, err));
	for (size_t g = 0; g < ngroups && status == WS_OK; g++)
		out[g].time = stats[g];
	ws_arena_free(&temp);
	return status;
}
