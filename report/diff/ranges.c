/*
 * diff-phases and diff-ranges: where in the step the time changed.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "report/names/names.h"
#include "report/diff/private.h"

/* The cells difference, ratio, low, high and noise, which both tables have in this order. */
static void set_difference(const struct ws_diff *d, struct ws_table *t, struct ws_cell *cells,
                           const struct ws_diff_row *row)
{
	const struct ws_comparison *c = &row->c;
	bool different = ws_grade_is_faster(c->grade) || ws_grade_is_slower(c->grade);

	if (isnan(row->mean[0]) || isnan(row->mean[1]))
		return;
	ws_cell_set_real(&cells[0], c->typical[1] - c->typical[0]);
	ws_diff_set_ratio(d, row, &cells[1]);
	if (!d->by_steps || ws_diff_is_unlike(d))
		return;
	ws_cell_set_real(&cells[2], c->typical[0] * (c->low - 1));
	ws_cell_set_real(&cells[3], c->typical[0] * (c->high - 1));
	ws_cell_set_str(t, &cells[4], different ? "beyond noise" : "within noise");
}
_Static_assert(WS_TC_diff_phases_noise - WS_TC_diff_phases_diff_ns == 4, "order of columns");
_Static_assert(WS_TC_diff_ranges_noise - WS_TC_diff_ranges_diff_ns == 4, "order of columns");

/* --- diff-phases ------------------------------------------------------------------------- */

/* In the order of the table. */
static const char *const measures[] = {"step", "GPU", "wall"};

static int64_t time_of(const struct ws_sample *s, int phase, enum ws_diff_measure measure)
{
	if (measure == WS_MEASURE_STEP && phase != WS_PHASES)
		return s->window_ns[phase] > 0 ? s->window_ns[phase] : 0;
	if (measure == WS_MEASURE_STEP)
		return s->step_ns;
	if (measure == WS_MEASURE_WALL)
		return phase == WS_PHASES ? s->host_ns : s->phase_ns[phase];
	return phase == WS_PHASES ? s->gpu_ns : s->phase_gpu_ns[phase];
}

/* Has the side this phase? The remainder and the whole step always are, but a window has work. */
static bool has_phase(const struct ws_side *s, int phase, enum ws_diff_measure measure)
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

/* Else the remainder is the total once more. */
static bool has_phases(const struct ws_diff *d)
{
	for (int phase = 0; phase < WS_PHASE_OTHER; phase++)
		if (has_phase(&d->side[0], phase, WS_MEASURE_WALL) ||
		    has_phase(&d->side[1], phase, WS_MEASURE_WALL))
			return true;
	return false;
}

/* GPU time is compared of matched work; other times have all of it, so what one side did alone is
 * told beside it. */
static void set_more_work(const struct ws_diff *d, struct ws_diff_row *row, int s, int phase)
{
	for (int p = 0; p < WS_PHASES; p++) {
		if (p != phase && phase != WS_PHASES)
			continue;
		row->more_ns[s] += d->more_ns[s][p];
		for (size_t i = 0; i < d->side[s].nsamples && !row->compares_like; i++)
			row->more_ns[s] += (double)d->unlike_phase_ns[s][i * WS_PHASES + (size_t)p];
	}
}

void ws_diff_gather_time(const struct ws_diff *d, struct ws_diff_rows *rows, int phase,
                         enum ws_diff_measure measure)
{
	static const enum ws_diff_noise noise[] = {
	        [WS_MEASURE_STEP] = WS_DIFF_NOISE_STEP,
	        [WS_MEASURE_GPU] = WS_DIFF_NOISE_GPU,
	        [WS_MEASURE_WALL] = WS_DIFF_NOISE_HOST,
	};
	const uint32_t key[WS_DIFF_FIELDS] = {(uint32_t)measure, (uint32_t)phase};
	struct ws_diff_row *row;

	if (!has_phase(&d->side[0], phase, measure) && !has_phase(&d->side[1], phase, measure))
		return;
	row = ws_diff_row_of(rows, key);
	row->noise = noise[measure];
	row->compares_like = measure == WS_MEASURE_GPU;
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		row->instances[s] = (uint64_t)has_phase(side, phase, measure);
		for (uint32_t i = 0; i < side->nsamples; i++) {
			struct ws_diff_sum *sum = ws_diff_sum_of(row, s, i);

			sum->ns = time_of(side->samples[i], phase, measure);
			sum->like_ns = row->compares_like ? ws_diff_matched_ns(d, s, i, phase) : 0;
			row->like_ns[s] += row->compares_like ? sum->like_ns : sum->ns;
		}
		set_more_work(d, row, s, phase);
	}
}

static double deviation(const struct ws_diff_sums *sums, double mean)
{
	double squares = 0;

	for (size_t i = 0; i < sums->n; i++)
		squares += ((double)sums->sum[i].ns - mean) * ((double)sums->sum[i].ns - mean);
	return sqrt(squares / (double)(sums->n - 1));
}

static void add_phase(const struct ws_diff *d, struct ws_table *t, const struct ws_diff_row *row)
{
	static const int means[] = {WS_TC_diff_phases_mean_a_ns, WS_TC_diff_phases_mean_b_ns};
	static const int stds[] = {WS_TC_diff_phases_std_a_ns, WS_TC_diff_phases_std_b_ns};
	static const int steps[] = {WS_TC_diff_phases_steps_a, WS_TC_diff_phases_steps_b};
	uint32_t phase = row->field[1];
	struct ws_cell *cells = ws_table_row(t);

	ws_cell_set_str(t, &cells[WS_TC_diff_phases_phase],
	                phase == WS_PHASES ? "total" : ws_phase_name((enum ws_phase)phase));
	ws_cell_set_str(t, &cells[WS_TC_diff_phases_measure], measures[row->field[0]]);
	for (int s = 0; s < 2; s++) {
		size_t n = d->side[s].nsamples;

		ws_cell_set_int(&cells[steps[s]], (int64_t)n);
		if (isnan(row->mean[s]))
			continue;
		ws_cell_set_real(&cells[means[s]], row->mean[s]);
		if (n > 1)
			ws_cell_set_real(&cells[stds[s]], deviation(&row->sums[s], row->mean[s]));
	}
	set_difference(d, t, &cells[WS_TC_diff_phases_diff_ns], row);
	ws_diff_set_typical(row, &cells[WS_TC_diff_phases_typical_a_ns]);
	ws_diff_set_grade(row, t, &cells[WS_TC_diff_phases_grade]);
}

/* One measure after the other, so that its rows stand together; in each the change decides. */
static int by_measure(const void *pa, const void *pb)
{
	const struct ws_diff_row *a = pa, *b = pb;
	double x = fabs(a->mean[1] - a->mean[0]), y = fabs(b->mean[1] - b->mean[0]);

	WS_ORDER_BY(a->field[0], b->field[0]);
	if (isgreater(x, y) || isgreater(y, x))
		return x > y ? -1 : 1;
	return a->field[1] > b->field[1] ? -1 : 1;
}

void ws_diff_fill_phases(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_rows rows = {.nsamples = {d->side[0].nsamples, d->side[1].nsamples}};

	if (!d->by_steps) {
		ws_table_set_not_recorded(
		        t, "No steps found, so there are no phases to compare. Use --step PATTERN "
		           "to name the step range.");
		return;
	}
	for (int phase = has_phases(d) ? 0 : WS_PHASES; phase <= WS_PHASES; phase++) {
		ws_diff_gather_time(d, &rows, phase, WS_MEASURE_STEP);
		ws_diff_gather_time(d, &rows, phase, WS_MEASURE_GPU);
		ws_diff_gather_time(d, &rows, phase, WS_MEASURE_WALL);
	}
	ws_diff_rows_grade(d, &rows);
	if (rows.n)
		qsort(rows.row, rows.n, sizeof(*rows.row), by_measure);
	for (size_t i = 0; i < rows.n; i++)
		add_phase(d, t, &rows.row[i]);
	ws_diff_rows_release(&rows);
	if (has_phases(d))
		ws_table_note(
		        t, "The rows of measure wall add up to its total, and so do those of GPU.");
	ws_diff_note_samples(d, t);
}

/* --- diff-ranges ------------------------------------------------------------------------- */

struct ranges {
	struct ws_diff *d;
	uint32_t *max_instances[2]; /* place -> most instances in one sample of the side */
	uint32_t *row_of[3];        /* match -> place -> its row, plus 1; 0: none yet */
	uint32_t *rolled;           /* place -> text with * for the numbers of layers */
	uint32_t *variants;         /* text -> places that are rolled into it */
	uint64_t *dtypes[2];        /* text of a row -> bits of dtypes */
	struct ws_diff_rows rows;
};

enum { FIELD_PATH, FIELD_DOMAIN, FIELD_STYLE, FIELD_MATCH };
enum { MATCH_BOTH, MATCH_ONLY_A, MATCH_ONLY_B };
static const char *const matches[] = {"both", "only in A", "only in B"};

static void roll_places(struct ranges *r)
{
	struct ws_names *names = &r->d->names;
	size_t longest = 0;
	char *buffer;

	for (size_t p = 0; p < names->nplaces; p++) {
		size_t len = ws_texts_get(&names->texts, names->places[p].text).len;

		longest = len > longest ? len : longest;
	}
	buffer = ws_xmalloc(longest + 1);
	WS_NEW(&r->rows.arena, r->rolled, names->nplaces);
	for (size_t p = 0; p < names->nplaces; p++) {
		struct ws_bytes text = ws_texts_get(&names->texts, names->places[p].text);

		r->rolled[p] =
		        ws_texts_add(&names->texts,
		                     (struct ws_bytes){buffer, ws_name_roll_up(text, buffer)});
	}
	free(buffer);
}

/* A number that no other place differs in stays. */
static void keep_single_names(struct ranges *r)
{
	struct ws_names *names = &r->d->names;

	WS_NEW(&r->rows.arena, r->variants, names->texts.n + 1);
	for (size_t p = 0; p < names->nplaces; p++)
		r->variants[r->rolled[p]]++;
	for (size_t p = 0; p < names->nplaces; p++)
		if (r->variants[r->rolled[p]] == 1)
			r->rolled[p] = names->places[p].text;
}

static void count_instances(struct ranges *r)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r->d->side[s];
		uint32_t *most;

		WS_NEW(&r->rows.arena, most, r->d->names.nplaces);
		for (size_t i = 0; i < side->nrecordings; i++)
			for (size_t k = 0; k < side->recordings[i].nranges; k++) {
				const struct ws_range_at *at =
				        ws_recording_range(&side->recordings[i], k);

				if (at->sample != WS_NONE && at->instance >= most[at->place])
					most[at->place] = at->instance + 1;
			}
		r->max_instances[s] = most;
	}
}

static struct ws_diff_row *row_of(struct ranges *r, int s, const struct ws_range_at *at)
{
	const struct ws_place *place = &r->d->names.places[at->place];
	const bool both = at->instance < r->max_instances[!s][at->place];
	const uint32_t match = both ? MATCH_BOTH : s ? MATCH_ONLY_B : MATCH_ONLY_A;
	const uint32_t key[WS_DIFF_FIELDS] = {r->rolled[at->place], place->domain, place->style,
	                                      match};
	uint32_t *known = &r->row_of[match][at->place];
	struct ws_diff_row *row;

	if (*known)
		return &r->rows.row[*known - 1];
	row = ws_diff_row_of(&r->rows, key);
	*known = (uint32_t)(row - r->rows.row) + 1;
	return row;
}

/* before: samples of earlier recordings */
static void gather_recording(struct ranges *r, int s, struct ws_recording *recording, size_t before)
{
	for (size_t k = 0; k < recording->nranges; k++) {
		const struct ws_range_at *at = ws_recording_range(recording, k);
		struct ws_diff_row *row;

		if (at->sample == WS_NONE)
			continue;
		row = row_of(r, s, at);
		row->instances[s]++;
		ws_diff_sum_of(row, s, (uint32_t)before + at->sample)->ns += at->gpu_ns;
	}
}

static void gather_ranges(struct ranges *r)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r->d->side[s];
		size_t before = 0;

		for (size_t i = 0; i < side->nrecordings; before += side->steps[i++])
			gather_recording(r, s, &side->recordings[i], before);
	}
}

/* What one side did alone in a range is no difference of the range, and of those around it. */
static void gather_only(struct ranges *r)
{
	const struct ws_names *names = &r->d->names;
	double *more_ns; /* by path of a row */

	WS_NEW(&r->rows.arena, more_ns, names->texts.n + 1);
	for (int s = 0; s < 2; s++) {
		memset(more_ns, 0, (names->texts.n + 1) * sizeof(*more_ns));
		for (uint32_t p = 0; p < names->nplaces; p++)
			for (uint32_t at = p; at != WS_NONE && r->d->more_place_ns[s][p] > 0;
			     at = names->parents[at])
				more_ns[r->rolled[at]] += r->d->more_place_ns[s][p];
		for (size_t i = 0; i < r->rows.n; i++) {
			struct ws_diff_row *row = &r->rows.row[i];

			row->more_ns[s] = more_ns[row->field[FIELD_PATH]];
			for (size_t k = 0; k < row->sums[s].n; k++)
				row->like_ns[s] += row->sums[s].sum[k].ns;
		}
	}
}

static void gather_dtypes(struct ranges *r)
{
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r->d->side[s];

		WS_NEW(&r->rows.arena, r->dtypes[s], r->d->names.texts.n + 1);
		for (size_t i = 0; i < side->nrecordings; i++)
			for (size_t p = 0; p < side->recordings[i].nplaces; p++)
				r->dtypes[s][r->rolled[p]] |= side->recordings[i].dtypes[p];
	}
}

static void set_dtypes(const struct ranges *r, int s, struct ws_table *t, struct ws_cell *cell,
                       uint32_t path)
{
	char text[512];
	size_t n = 0;

	for (size_t bit = 0; bit < r->d->names.ndtypes; bit++) {
		struct ws_bytes name = ws_texts_get(&r->d->names.texts, r->d->names.dtype[bit]);

		if (!(r->dtypes[s][path] >> bit & 1) || name.len + 2 > sizeof(text) - n)
			continue;
		if (n) {
			text[n++] = ',';
			text[n++] = ' ';
		}
		memcpy(text + n, name.ptr, name.len);
		n += name.len;
	}
	if (n)
		ws_cell_set_text(t, cell, text, n);
}

static void add_range_row(const struct ranges *r, struct ws_table *t, const struct ws_diff_row *row)
{
	static const int counts[] = {WS_TC_diff_ranges_instances_a, WS_TC_diff_ranges_instances_b};
	static const int means[] = {WS_TC_diff_ranges_mean_a_ns, WS_TC_diff_ranges_mean_b_ns};
	static const int dtypes[] = {WS_TC_diff_ranges_dtype_a, WS_TC_diff_ranges_dtype_b};
	static const int shares[] = {WS_TC_diff_ranges_share_a, WS_TC_diff_ranges_share_b};
	struct ws_cell *cells = ws_table_row(t);

	ws_diff_set_text(r->d, t, &cells[WS_TC_diff_ranges_path], row->field[FIELD_PATH]);
	ws_diff_set_text(r->d, t, &cells[WS_TC_diff_ranges_domain], row->field[FIELD_DOMAIN]);
	ws_cell_set_str(t, &cells[WS_TC_diff_ranges_style],
	                row->field[FIELD_STYLE] ? "StartEnd" : "PushPop");
	ws_cell_set_str(t, &cells[WS_TC_diff_ranges_match], matches[row->field[FIELD_MATCH]]);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &r->d->side[s];
		double sum = row->mean[s] * (double)side->nsamples;

		if (!row->instances[s])
			continue;
		ws_cell_set_mean(&cells[counts[s]], (int64_t)row->instances[s], side->nsamples);
		ws_cell_set_real(&cells[means[s]], row->mean[s]);
		set_dtypes(r, s, t, &cells[dtypes[s]], row->field[FIELD_PATH]);
		ws_cell_set_real(&cells[shares[s]], ws_stat_percent(sum, (double)side->gpu_ns));
	}
	set_difference(r->d, t, &cells[WS_TC_diff_ranges_diff_ns], row);
	ws_diff_set_grade(row, t, &cells[WS_TC_diff_ranges_grade]);
}

void ws_diff_fill_ranges(struct ws_diff *d, struct ws_table *t)
{
	struct ranges r = {.d = d,
	                   .rows = {.nsamples = {d->side[0].nsamples, d->side[1].nsamples},
	                            .of_calls = true,
	                            .noise = WS_DIFF_NOISE_GPU}};

	roll_places(&r);
	keep_single_names(&r);
	count_instances(&r);
	for (int match = 0; match < 3; match++)
		WS_NEW(&r.rows.arena, r.row_of[match], d->names.nplaces);
	gather_ranges(&r);
	gather_only(&r);
	gather_dtypes(&r);
	ws_diff_rows_grade(d, &r.rows);
	for (size_t i = 0; i < r.rows.n; i++)
		add_range_row(&r, t, &r.rows.row[i]);
	if (!r.rows.n)
		ws_table_set_not_recorded(t, "Neither trace has NVTX ranges to match.");
	ws_table_note(t,
	              "Shares are of the time of all kernels in %s. Rows nest: a range holds the "
	              "time of the ranges in it.",
	              d->by_steps ? "the measured steps" : "the traces");
	ws_diff_note_samples(d, t);
	ws_diff_rows_release(&r.rows);
}
