/* The ladder: the time of the step now, and after removing one obstacle after the other. */

#include "report/advice/advice.h"

static void add_rung(struct ws_advice *a, const char *name, const struct ws_whatif *change)
{
	struct ws_findings *found = a->found;
	const double recording_ns = (double)a->idle->all.ns[WS_USE_RECORDING] /
	                            (double)(a->idle->nworked ? a->idle->nworked : 1),
	             before_ns = found->rung[found->nrungs - 1].step_ns,
	             step_ns = a->replayed->recorded_ns - recording_ns -
	                       ws_advice_replay_gain(a, change);

	if (before_ns - step_ns >= WS_LADDER_PERCENT / 100.0 * found->step_ns)
		found->rung[found->nrungs++] = (struct ws_ladder_rung){name, step_ns};
}

void ws_advice_climb(struct ws_advice *a)
{
	struct ws_whatif change = {0};

	if (a->replayed->obstacle)
		return;
	a->found->rung[a->found->nrungs++] =
	        (struct ws_ladder_rung){"now", a->replayed->recorded_ns};
	add_rung(a, "without recording", &change);
	change.removed[WS_USE_DATA] = 1;
	add_rung(a, "without waits for data", &change);
	change.removed[WS_USE_HOST] = change.removed[WS_USE_START] = change.removed[WS_USE_END] =
	        change.removed[WS_USE_SYNC] = 1;
	add_rung(a, "without gaps of the host", &change);
	change.removed[WS_USE_LAUNCH] = 1;
	add_rung(a, "launches as one graph", &change);
	double *dur_ns = ws_arena_array(&a->arena, a->replayed->npieces, sizeof(*dur_ns));
	for (size_t i = 0; i < a->replayed->npieces; i++)
		dur_ns[i] = (double)a->replayed->pieces[i].dur_ns;
	change.dur_ns = dur_ns;

	/* Sets communication to the time of the shortest call of its kind in the step, because the
	 * last rank to arrive does not wait. */
	struct ws_joined_rows *rows = a->tab->sel->rows;
	struct ws_strtab kinds = {0};
	const size_t n = a->replayed->npieces;
	double *shortest_ns; /* by kind */
	uint64_t *kind;      /* kind of each piece, 0: not a collective */

	WS_NEW(&a->arena, shortest_ns, n + 1);
	WS_NEW(&a->arena, kind, n);
	for (size_t i = 0; i < n; i++) {
		const struct ws_replay_piece *piece = &a->replayed->pieces[i];
		uint64_t key[3] = {0};

		if (piece->use != WS_USE_COLLECTIVE)
			continue;
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, piece->row);
		const struct ws_collective *known = ws_joined_collective(a->m, k);
		key[0] = a->m->configs[k->kind->config].name;
		if (known) {
			key[1] = known->name;
			key[2] = known->in_elements;
		}
		kind[i] = ws_strtab_add(&kinds, key, sizeof(key));
		if (!(shortest_ns[kind[i]] > 0 && shortest_ns[kind[i]] <= (double)piece->dur_ns))
			shortest_ns[kind[i]] = (double)piece->dur_ns;
	}
	for (size_t i = 0; i < n; i++)
		if (kind[i])
			dur_ns[i] = shortest_ns[kind[i]];
	ws_strtab_free(&kinds);
	add_rung(a, "communication without waiting", &change);

	/* Sets kernels of operations of known cost to the minimum time on the device. */
	for (size_t i = 0; i < a->replayed->npieces; i++) {
		const uint32_t cell = a->cell_of[i];
		const uint32_t work = cell == WS_NONE ? WS_NONE : a->cell[cell].work;

		if (work == WS_NONE)
			continue;
		double roof_ns = ws_advice_roof_ns(&a->work[work]);
		if (roof_ns < (double)a->work[work].gpu_ns)
			dur_ns[i] *= roof_ns / (double)a->work[work].gpu_ns;
	}
	add_rung(a, "kernels at their roof", &change);
}
