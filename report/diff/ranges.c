/*
 * diff-phases and diff-ranges: changes by part of the step.
 */

#include "report/names/names.h"
#include "report/diff/private.h"

/* --- diff-phases ------------------------------------------------------------------------- */

/* Does the side have this phase? Always true for the remainder and the whole step; windows need
 * work. */
static bool has_phase(const struct ws_side *s, int phase, enum ws_measure measure)
{
	for (size_t i = 0; i < s->nsamples; i++)
		if (measure == WS_MEASURE_STEP && phase != WS_PHASES) {
			if (s->samples[i]->window_ns[phase] >= 0)
				return true;
		} else if (phase >= WS_PHASE_OTHER || s->samples[i]->phases >> phase & 1 ||
		           s->samples[i]->phase_gpu_ns[phase])
			return true;
	return false;
}

/* Without phases the remainder would equal the total. */
bool ws_diff_has_phases(const struct ws_diff *d)
{
	for (int phase = 0; phase < WS_PHASE_OTHER; phase++)
		if (has_phase(&d->side[0], phase, WS_MEASURE_WALL) ||
		    has_phase(&d->side[1], phase, WS_MEASURE_WALL))
			return true;
	return false;
}

void ws_diff_gather_time(const struct ws_diff *d, struct ws_diff_rows *rows, int phase,
                         enum ws_measure measure)
{
	static const enum ws_diff_noise noise[] = {
	        [WS_MEASURE_STEP] = WS_DIFF_NOISE_STEP,
	        [WS_MEASURE_GPU] = WS_DIFF_NOISE_GPU,
	        [WS_MEASURE_WALL] = WS_DIFF_NOISE_HOST,
	};
	const struct ws_diff_key key = {.measure = (uint32_t)measure, .phase = (uint32_t)phase};

	if (!has_phase(&d->side[0], phase, measure) && !has_phase(&d->side[1], phase, measure))
		return;
	struct ws_diff_row *row = ws_diff_row_of(rows, &key);
	row->noise = noise[measure];
	row->compares_like = measure == WS_MEASURE_GPU;
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		row->instances[s] = (uint64_t)has_phase(side, phase, measure);
		for (uint32_t i = 0; i < side->nsamples; i++) {
			const struct ws_sample *of = side->samples[i];
			struct ws_diff_sum *sum = ws_diff_sum_of(row, s, i);

			if (measure == WS_MEASURE_STEP)
				sum->ns = phase == WS_PHASES         ? of->step_ns
				          : of->window_ns[phase] > 0 ? of->window_ns[phase]
				                                     : 0;
			else if (measure == WS_MEASURE_WALL)
				sum->ns = phase == WS_PHASES ? of->host_ns : of->phase_ns[phase];
			else
				sum->ns = phase == WS_PHASES ? of->gpu_ns : of->phase_gpu_ns[phase];
			sum->like_ns = row->compares_like ? ws_diff_matched_ns(d, s, i, phase) : 0;
			row->like_ns[s] += row->compares_like ? sum->like_ns : sum->ns;
		}

		/* GPU time covers only matched work. Other times cover all work, so work of one
		 * side only is passed separately. */
		for (int p = 0; p < WS_PHASES; p++) {
			if (p != phase && phase != WS_PHASES)
				continue;
			row->more_ns[s] += d->more_ns[s][p];
			for (size_t i = 0; i < d->side[s].nsamples && !row->compares_like; i++)
				row->more_ns[s] +=
				        (double)d->unlike_phase_ns[s][i * WS_PHASES + (size_t)p];
		}
	}
}

void ws_diff_gather_phases(struct ws_diff *d, struct ws_diff_rows *rows)
{
	for (int phase = ws_diff_has_phases(d) ? 0 : WS_PHASES; phase <= WS_PHASES && d->by_steps;
	     phase++) {
		ws_diff_gather_time(d, rows, phase, WS_MEASURE_STEP);
		ws_diff_gather_time(d, rows, phase, WS_MEASURE_GPU);
		ws_diff_gather_time(d, rows, phase, WS_MEASURE_WALL);
	}
	ws_diff_rows_grade(d, rows);
}

/* --- diff-ranges ------------------------------------------------------------------------- */

struct ranges {
	struct ws_diff *d;
	uint32_t *max_instances[2]; /* place -> most instances in one sample of the side */
	uint32_t *row_of[3];        /* match -> place -> row, plus 1; 0: none yet */
	uint32_t *rolled;           /* place -> text with * for the numbers of layers */
	uint32_t *variants;         /* text -> number of places rolled into it */
	struct ws_diff_rows *rows;
};

/* The path around a path; "" of an outermost one. */
static struct ws_bytes parent_of(struct ws_bytes path)
{
	const char *text = path.ptr;
	size_t len = path.len;

	while (len > 1 && (text[len - 1] != '/' || text[len - 2] == '\\'))
		len--;
	return (struct ws_bytes){text, len > 1 ? len - 1 : 0};
}

static struct ws_diff_row *row_of(struct ranges *r, int s, const struct ws_range_at *at)
{
	const struct ws_place *place = &r->d->names.places[at->place];
	const bool both = at->instance < r->max_instances[!s][at->place];
	const uint32_t match = both ? WS_DIFF_BOTH : s ? WS_DIFF_ONLY_B : WS_DIFF_ONLY_A;
	const struct ws_diff_key key = {.path = r->rolled[at->place],
	                                .domain = place->domain,
	                                .style = place->style,
	                                .match = match};
	uint32_t *known = &r->row_of[match][at->place];

	if (*known)
		return &r->rows->row[*known - 1];
	struct ws_diff_row *row = ws_diff_row_of(r->rows, &key);
	*known = (uint32_t)(row - r->rows->row) + 1;
	return row;
}

/* Ranges stand behind those around them; of ranges in one, those that changed most come first, as
 * rows come here. */
static void order_as_tree(struct ranges *r)
{
	struct ws_diff_rows *rows = r->rows;
	struct ws_texts paths = {0};
	/* a row plus 1; 0: none */
	uint32_t *row_of_path, *around, *parent, *first_child, *last_child, *next;
	struct ws_diff_row *out = ws_xarray(rows->n + 1, sizeof(*out));
	size_t n = 0;

	WS_NEW(&rows->arena, row_of_path, 2 * rows->n + 1);
	WS_NEW(&rows->arena, around, rows->n + 1); /* a text of paths */
	WS_NEW(&rows->arena, parent, rows->n + 1);
	WS_NEW(&rows->arena, first_child, rows->n + 1); /* [0]: of none, the outermost ones */
	WS_NEW(&rows->arena, last_child, rows->n + 1);
	WS_NEW(&rows->arena, next, rows->n + 1);
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct ws_bytes path =
		        ws_texts_get(&r->d->names.texts, rows->row[i].key.path);
		const uint32_t own = ws_texts_add(&paths, path);

		around[i] = ws_texts_add(&paths, parent_of(path));
		/* what both sides have is what holds the others */
		if (!row_of_path[own] || rows->row[i].key.match == WS_DIFF_BOTH)
			row_of_path[own] = i + 1;
	}
	for (uint32_t row = 1; row <= rows->n; row++) {
		const uint32_t in = around[row - 1] ? row_of_path[around[row - 1]] : 0;

		parent[row] = in;
		if (last_child[in])
			next[last_child[in]] = row;
		else
			first_child[in] = row;
		last_child[in] = row;
	}
	for (uint32_t row = first_child[0]; row;) {
		out[n++] = rows->row[row - 1];
		if (first_child[row]) {
			row = first_child[row];
			continue;
		}
		while (row && !next[row])
			row = parent[row];
		row = row ? next[row] : 0;
	}
	free(rows->row);
	rows->row = out;
	rows->capacity = rows->n + 1;
	ws_texts_release(&paths);
}

void ws_diff_gather_ranges(struct ws_diff *d, struct ws_diff_rows *rows)
{
	struct ranges r = {.d = d, .rows = rows};
	struct ws_names *names = &d->names;

	rows->of_calls = true;
	rows->noise = WS_DIFF_NOISE_GPU;
	size_t longest = 0;

	for (size_t p = 0; p < names->nplaces; p++) {
		size_t len = ws_texts_get(&names->texts, names->places[p].text).len;

		longest = len > longest ? len : longest;
	}
	char *buffer = ws_xmalloc(longest + 1);
	WS_NEW(&rows->arena, r.rolled, names->nplaces);
	for (size_t p = 0; p < names->nplaces; p++) {
		struct ws_bytes text = ws_texts_get(&names->texts, names->places[p].text);

		r.rolled[p] =
		        ws_texts_add(&names->texts,
		                     (struct ws_bytes){buffer, ws_name_roll_up(text, buffer)});
	}
	free(buffer);

	/* A number that no other place differs in stays, also in the paths of what lies in it:
	 * parents come first. */
	WS_NEW(&rows->arena, r.variants, names->texts.n + 1);
	for (size_t p = 0; p < names->nplaces; p++)
		r.variants[r.rolled[p]]++;
	for (size_t p = 0; p < names->nplaces; p++) {
		const uint32_t parent = names->parents[p];
		const bool is_single = r.variants[r.rolled[p]] == 1;
		const struct ws_bytes own =
		        ws_texts_get(&names->texts,
		                     is_single ? names->places[p].text : r.rolled[p]);

		if (parent == WS_NONE) {
			r.rolled[p] = is_single ? names->places[p].text : r.rolled[p];
			continue;
		}
		struct ws_bytes around = ws_texts_get(&names->texts, r.rolled[parent]);
		size_t skip = parent_of(own).len;
		char *path = ws_arena_alloc(&rows->arena, around.len + own.len - skip + 1);
		memcpy(path, around.ptr, around.len);
		memcpy(path + around.len, (const char *)own.ptr + skip, own.len - skip);
		r.rolled[p] = ws_texts_add(&names->texts,
		                           (struct ws_bytes){path, around.len + own.len - skip});
	}
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r.d->side[s];

		uint32_t *most = ws_arena_array(&r.rows->arena, r.d->names.nplaces, sizeof(*most));
		for (size_t i = 0; i < side->nrecordings; i++)
			for (size_t k = 0; k < side->recordings[i].nranges; k++) {
				const struct ws_range_at *at =
				        ws_recording_range(&side->recordings[i], k);

				if (at->sample != WS_NONE && at->instance >= most[at->place])
					most[at->place] = at->instance + 1;
			}
		r.max_instances[s] = most;
	}
	for (int match = 0; match < 3; match++)
		WS_NEW(&rows->arena, r.row_of[match], d->names.nplaces);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r.d->side[s];
		size_t before = 0;

		for (size_t i = 0; i < side->nrecordings; before += side->steps[i++]) {
			/* before: samples of earlier recordings */
			for (size_t k = 0; k < side->recordings[i].nranges; k++) {
				const struct ws_range_at *at =
				        ws_recording_range(&side->recordings[i], k);

				if (at->sample == WS_NONE)
					continue;
				struct ws_diff_row *row = row_of(&r, s, at);
				row->instances[s]++;
				ws_diff_sum_of(row, s, (uint32_t)before + at->sample)->ns +=
				        at->gpu_ns;
			}
		}
	}

	/* What one side did alone in a range is no difference of it, and of those around it. */
	const size_t npaths = names->texts.n + 1;
	double *more_ns; /* by path of a row */

	WS_NEW(&r.rows->arena, more_ns, npaths);
	for (int s = 0; s < 2; s++) {
		memset(more_ns, 0, npaths * sizeof(*more_ns));
		for (uint32_t p = 0; p < names->nplaces; p++)
			for (uint32_t at = p; at != WS_NONE && r.d->more_place_ns[s][p] > 0;
			     at = names->parents[at])
				more_ns[r.rolled[at]] += r.d->more_place_ns[s][p];
		for (size_t i = 0; i < r.rows->n; i++) {
			struct ws_diff_row *row = &r.rows->row[i];

			row->more_ns[s] = more_ns[row->key.path];
			for (size_t k = 0; k < row->sums[s].n; k++)
				row->like_ns[s] += row->sums[s].sum[k].ns;
		}
	}
	ws_diff_rows_grade(d, rows);

	/* "bf16, fp32": of the operations in the ranges of each row, which is not by dtype */
	uint64_t *bits; /* by path of a row */

	WS_NEW(&r.rows->arena, bits, npaths); /* the texts of the lists are no paths */
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r.d->side[s];

		memset(bits, 0, npaths * sizeof(*bits));
		for (size_t i = 0; i < side->nrecordings; i++)
			for (size_t p = 0; p < side->recordings[i].nplaces; p++)
				bits[r.rolled[p]] |= side->recordings[i].dtypes[p];
		for (size_t i = 0; i < r.rows->n; i++) {
			struct ws_diff_row *row = &r.rows->row[i];
			const char *list = "";

			for (size_t bit = 0; bit < names->ndtypes && row->instances[s]; bit++) {
				const struct ws_bytes name =
				        ws_texts_get(&names->texts, names->dtype[bit]);

				if (bits[row->key.path] >> bit & 1)
					list = ws_arena_format(&r.rows->arena, "%s%s%.*s", list,
					                       *list ? ", " : "", WS_SHOWN(name));
			}
			row->key.dtype[s] = ws_texts_add_str(&names->texts, list);
		}
	}
	order_as_tree(&r);
}
