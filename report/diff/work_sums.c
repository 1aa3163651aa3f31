/*
 * Sums of the work of both sides over calls that are matched in the same way. There are far fewer
 * such kinds than calls, so tables are made from the sums.
 */

#include "report/diff/private.h"

/* What a side's time is longer than it would be for the work of the other. */
static double excess_ns(int64_t ns, int s, double ratio)
{
	const double of_other = s ? 1 / ratio : ratio;

	return of_other < 1 ? (double)ns * (1 - of_other) : 0;
}

void ws_diff_sum_work(struct ws_diff *d)
{
	/* sums of each kind in the current sample; 0 instances: not yet used */
	struct ws_work_sum *of_kind;
	uint32_t *touched; /* kinds used by the sample */
	size_t ntouched = 0;
	struct ws_arena temp = {0};

	for (int s = 0; s < 2; s++) {
		/* Replaces each slot's group by its kind. Work without a counterpart has a kind by
		 * its own key. */
		struct ws_match *m = &d->match;
		uint32_t *const slot = m->group[s];

		for (size_t i = 0; i < d->side[s].nslots; i++) {
			struct ws_match_kind alone = {.criterion = WS_NONE};

			if (slot[i] != WS_NONE) {
				slot[i] = m->kind[slot[i]];
				continue;
			}
			alone.item[s] = d->side[s].slots[i].item;
			alone.n[s] = 1;
			slot[i] = ws_match_add_kind(m, &alone);
		}
	}

	/* The same for the calls that A's replay plays. */
	struct ws_recording *shown = &d->side[0].recordings[d->side[0].shown_recording];

	if (shown->call_of_piece && d->side[0].nsamples) {
		const struct ws_sample *of = &shown->samples[shown->replayed_sample];
		const size_t n = ws_replay_facts(shown->replay)->npieces;

		d->kind_of_piece = ws_xarray(n + 1, sizeof(*d->kind_of_piece));
		for (size_t i = 0; i < n; i++) {
			const uint32_t call = shown->call_of_piece[i];

			if (call == WS_NONE)
				continue;
			d->kind_of_piece[i] =
			        d->match.group[0][of->calls_are_slots
			                                  ? call - of->first_call
			                                  : ws_recording_call(shown, call)->slot];
		}
	}
	for (int s = 0; s < 2; s++) {
		d->unlike_phase_ns[s] = ws_xarray(d->side[s].nsamples * WS_PHASES + 1,
		                                  sizeof(**d->unlike_phase_ns));
		d->more_place_ns[s] = ws_xarray(d->names.nplaces + 1, sizeof(**d->more_place_ns));
	}
	WS_NEW(&temp, of_kind, d->match.kinds.n + 1);
	WS_NEW(&temp, touched, d->match.kinds.n);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];
		struct ws_work_sums *sums = &d->work[s];
		size_t most = 0;

		for (size_t i = 0; i < side->nsamples; i++)
			most += side->samples[i]->ncalls < d->match.kinds.n
			                ? side->samples[i]->ncalls
			                : d->match.kinds.n;
		ws_spill_open(&sums->rows, most * sizeof(struct ws_work_sum));
		for (uint32_t sample = 0; sample < side->nsamples; sample++) {
			struct ws_recording *r = ws_side_recording(side, sample);
			const struct ws_sample *of = side->samples[sample];

			for (size_t i = 0; i < of->ncalls; i++) {
				const struct ws_work_call *call =
				        ws_recording_call(r, of->first_call + i);
				const size_t slot = of->calls_are_slots ? i : call->slot;
				const uint32_t kind = d->match.group[s][slot];
				struct ws_work_sum *sum = &of_kind[kind];

				if (!sum->instances) {
					*sum = (struct ws_work_sum){.kind = kind, .sample = sample};
					touched[ntouched++] = kind;
				}
				sum->instances++;
				sum->kernels += ws_names_item(&d->names, call->item)->nkernels;
				sum->gpu_ns += call->gpu_ns;
			}
			for (; ntouched; sums->n++) {
				struct ws_work_sum *sum = &of_kind[touched[--ntouched]];

				struct ws_unmatched_work *rest = &d->unmatched[s];
				const struct ws_match_kind *kind =
				        ws_match_kind(&d->match, sum->kind);
				const struct ws_work_item *item =
				        ws_names_item(&d->names, kind->item[s]);
				double ratio, more = (double)sum->gpu_ns;

				if (kind->criterion == WS_NONE)
					rest->kernels += sum->kernels;
				else
					d->matched_ns[s] += sum->gpu_ns;
				if (kind->criterion == WS_MATCHED_BY_CAST) {
					rest->casts += sum->kernels;
					rest->cast_ns += sum->gpu_ns;
				} else if (kind->criterion == WS_MATCHED_BY_SCALING) {
					rest->scalings += sum->kernels;
					rest->scaling_ns += sum->gpu_ns;
				}
				if (kind->flops[0] > 0 && kind->flops[1] > 0)
					d->flops[s] += (double)kind->flops[s] / kind->n[s] *
					               (double)sum->instances /
					               (double)d->side[s].nsamples;
				if (ws_diff_is_like(d, kind, &ratio))
					more = excess_ns(sum->gpu_ns, s, ratio);
				if (item->place != WS_NONE)
					d->more_place_ns[s][item->place] += more;
				if (more < (double)sum->gpu_ns) {
					d->more_ns[s][item->phase] += more;
				} else {
					d->unlike_ns[s] += sum->gpu_ns;
					d->unlike_phase_ns[s][sum->sample * WS_PHASES +
					                      item->phase] += sum->gpu_ns;
				}
				ws_spill_put(&sums->rows, sizeof(*sum), sums->n, sum);
				sum->instances = 0;
			}
		}
		/* groups are not used again, and are a dozen bytes per call */
		free(d->match.group[s]);
		d->match.group[s] = NULL;
	}
	ws_arena_free(&temp);
}

void ws_diff_gather_work(struct ws_diff *d, const struct ws_diff_key *fields,
                         struct ws_diff_rows *out)
{
	struct ws_arena temp = {0};

	out->of_work = out->of_calls = true;
	out->noise = WS_DIFF_NOISE_GPU;
	uint32_t *row_of = ws_arena_array(&temp, d->match.kinds.n + 1, sizeof(*row_of));

	/* Each kind's row, by the key of its work. */
	for (uint32_t k = 1; k <= d->match.kinds.n; k++) {
		const struct ws_match_kind *kind = ws_match_kind(&d->match, k);
		const bool is_matched = kind->criterion != WS_NONE;
		const struct ws_work_item *item[2] = {NULL, NULL}, *name;
		struct ws_diff_key key = {.matched_by = is_matched ? kind->criterion + 1 : 0};

		for (int s = 0; s < 2; s++) {
			if (!kind->item[s])
				continue;
			item[s] = ws_names_item(&d->names, kind->item[s]);
			key.dtype[s] = item[s]->dtype;
			key.kernels[s] = item[s]->kernels;
			key.tensor[s] = item[s]->tensor + 1u;
		}
		name = item[0] ? item[0] : item[1];
		key.op = name->op ? name->op : name->class;
		key.phase = name->phase;
		key.shape = name->shape;
		key.class = name->class;
		if (item[1] && item[1]->shape != name->shape)
			key.shape_b = item[1]->shape;
		if (!is_matched || kind->criterion == WS_MATCHED_BY_NEIGHBOURS)
			memcpy(key.count, kind->n, sizeof(key.count));
		if (!is_matched)
			key.side = item[0] ? 1 : 2;
		if (!is_matched && name->place != WS_NONE)
			key.path = d->names.places[name->place].text;
		for (size_t i = 0; i < sizeof(key) / sizeof(uint32_t); i++)
			((uint32_t *)&key)[i] &= ((const uint32_t *)fields)[i];
		row_of[k] = (uint32_t)(ws_diff_row_of(out, &key) - out->row);
	}
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->work[s].n; i++) {
			const struct ws_work_sum *sum =
			        ws_spill_row(&d->work[s].rows, sizeof(*sum), i);

			struct ws_diff_row *row = &out->row[row_of[sum->kind]];

			const struct ws_match_kind *kind = ws_match_kind(&d->match, sum->kind);
			struct ws_diff_sum *in_sample = ws_diff_sum_of(row, s, sum->sample);
			double ratio;

			row->instances[s] += sum->instances;
			row->kernels[s] += sum->kernels;
			in_sample->ns += sum->gpu_ns;
			row->call_ns[s] += sum->gpu_ns;
			if (kind->criterion == WS_NONE || ws_match_is_added(kind))
				continue;
			if (!ws_diff_is_like(d, kind, &ratio)) {
				row->apart_calls[s] += sum->instances;
				continue;
			}
			row->like_calls[s] += sum->instances;
			row->like_ns[s] += sum->gpu_ns;
			in_sample->like_ns += sum->gpu_ns;
			in_sample->groups += (double)sum->instances / kind->n[s];
			row->more_ns[s] += excess_ns(sum->gpu_ns, s, ratio);
		}
	ws_arena_free(&temp);
	ws_diff_rows_grade(d, out);
}
