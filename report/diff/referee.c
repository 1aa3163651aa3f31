/*
 * The referee's verdict and its evidence: docs/dev/referee.md.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/sequential.h"
#include "report/diff/private.h"

static const char *const verdict_names[] = {
#define X(NAME, name) name,
        WS_REFEREE_LIST(X)
#undef X
};

struct ws_diff_opts ws_referee_diff_opts(void)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;

	opts.paired = true;
	opts.threshold_percent = 0;
	opts.same_within_percent = 1;
	opts.confidence = 1 - WS_GATE_CHANCE;
	opts.name[0] = "A";
	opts.name[1] = "B";
	return opts;
}

struct referee {
	const struct ws_diff *d;
	const struct ws_diff_result *compared;
	struct ws_referee_result *result;
	size_t pairs; /* that count */
	bool is_void; /* no time is compared */
};

#define SAY(r, ...) \
	ws_say_add((r)->result->words, sizeof((r)->result->words), __VA_ARGS__)

/* Records that the traces of a side lack: lost, or in damaged blocks, which count as one each. */
static uint64_t lost_records(const struct ws_side *side)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < side->nrecordings; i++)
		lost += side->recordings[i].lost;
	return lost;
}

/* Finds what makes a comparison of times void, gravest first. False: nothing does. */
static bool find_void(struct referee *r)
{
	enum ws_referee_verdict *verdict = &r->result->verdict;

	*verdict = WS_REFEREE_CANNOT_TELL;
	for (int s = 0; s < 2; s++)
		if (r->compared->copies[s]) {
			SAY(r, "Two runs of %s are the same recording.", r->d->side[s].name);
			return true;
		}
	for (int s = 0; s < 2; s++)
		if (lost_records(&r->d->side[s])) {
			SAY(r,
			    "The traces of %s lack records: 'warpsheet check' and the table "
			    "losses say which.",
			    r->d->side[s].name);
			return true;
		}
	if (*r->compared->reasons) {
		*verdict = WS_REFEREE_NOT_THE_SAME_WORK;
		SAY(r, "The work differs: %s.", r->compared->reasons);
		return true;
	}
	if (r->compared->overall.basis != WS_BASIS_PAIRS) { /* there are no times */
		SAY(r, "%s", r->compared->verdict);
		return true;
	}
	return false;
}

static void judge(struct referee *r)
{
	const struct ws_comparison *c = &r->compared->overall;
	const size_t fewest = ws_sequential_fewest(1 - r->d->opts.confidence);
	enum ws_referee_verdict *verdict = &r->result->verdict;

	r->pairs = c->basis == WS_BASIS_PAIRS ? c->recordings[0] : 0;
	r->is_void = find_void(r);
	if (r->is_void) {
		r->result->is_finding = *verdict != WS_REFEREE_CANNOT_TELL;
		return;
	}
	if (ws_grade_is_different(c->grade)) {
		*verdict = WS_REFEREE_PROVEN;
		r->result->is_finding = ws_grade_is_slower(c->grade);
	} else if (c->grade == WS_GRADE_SAME) {
		*verdict = WS_REFEREE_SAME;
	}
	if (r->pairs < fewest)
		SAY(r, "Pairs of runs that count: %zu. At least %zu are needed.", r->pairs, fewest);
	else
		SAY(r, "%s", r->compared->verdict);
	if (r->compared->pairs_apart)
		SAY(r, " Left out, because the clocks of their runs differed: %zu pair%s. Lock the "
		       "clocks.",
		    r->compared->pairs_apart, r->compared->pairs_apart == 1 ? "" : "s");
	if (r->result->pairs_failed)
		SAY(r, " Left out, because a run failed: %zu pair%s.", r->result->pairs_failed,
		    r->result->pairs_failed == 1 ? "" : "s");
}

static void fill_verdict(const struct referee *r, struct ws_table *t)
{
	const struct ws_comparison *c = &r->compared->overall;
	struct ws_cell *row = ws_table_row(t);
	const char *name = verdict_names[r->result->verdict];

	ws_cell_set_str(t, &row[WS_TC_referee_verdict], name);
	if (!r->is_void) {
		ws_cell_set_real(&row[WS_TC_referee_speedup], 1 / c->ratio);
		ws_cell_set_real(&row[WS_TC_referee_low], 1 / c->high);
		ws_cell_set_real(&row[WS_TC_referee_high], 1 / c->low);
	}
	ws_cell_set_int(&row[WS_TC_referee_pairs], (int64_t)r->pairs);
	ws_cell_set_int(&row[WS_TC_referee_out],
	                (int64_t)(r->compared->pairs_apart + r->result->pairs_failed));
	ws_cell_set_str(t, &row[WS_TC_referee_words], r->result->words);
	if (r->result->verdict == WS_REFEREE_PROVEN)
		ws_table_answer(t, "PROVEN %.3g× (%.3g to %.3g). %s", 1 / c->ratio, 1 / c->high,
		                1 / c->low, r->result->words);
	else
		ws_table_answer(t, "%s. %s", name, r->result->words);
}

static void fill_pairs(const struct referee *r, struct ws_table *t)
{
	const struct ws_side *a = &r->d->side[0], *b = &r->d->side[1];

	for (size_t i = 0; i < a->nrecordings && i < b->nrecordings; i++) {
		const struct ws_recording *of[2] = {&a->recordings[i], &b->recordings[i]};
		const double ns[2] = {ws_recording_median_ns(of[0]), ws_recording_median_ns(of[1])};
		struct ws_cell *row = ws_table_row(t);
		char hash[32];

		ws_cell_set_int(&row[WS_TC_referee_pairs_pair], (int64_t)i + 1);
		for (int s = 0; s < 2; s++) {
			ws_cell_set_real(&row[WS_TC_referee_pairs_a + s], ns[s]);
			snprintf(hash, sizeof(hash), "%016llx",
			         (unsigned long long)of[s]->file_hash);
			const struct ws_bytes name = ws_texts_get(&r->d->names.texts, of[s]->name);

			ws_cell_set_text(t, &row[WS_TC_referee_pairs_trace_a + 2 * s], name.ptr,
			                 name.len);
			ws_cell_set_str(t, &row[WS_TC_referee_pairs_hash_a + 2 * s], hash);
		}
		ws_cell_set_real(&row[WS_TC_referee_pairs_ratio], ns[1] / ns[0]);
		ws_cell_set_str(t, &row[WS_TC_referee_pairs_counts],
		                ws_clocks_differ(of[0]->clock_mhz, of[1]->clock_mhz)
		                        ? "no: the clocks differed"
		                        : "yes");
	}
}

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	static void (*const of[])(const struct referee *, struct ws_table *) = {fill_verdict,
	                                                                        fill_pairs};

	(void)err;
	of[which](ctx, *t);
	return WS_OK;
}

enum ws_status ws_referee_make(struct ws_sides *s, const struct ws_diff_opts *opts,
                               const char *folder, struct ws_report **out,
                               struct ws_referee_result *result, struct ws_err *err)
{
	struct ws_report *diff = NULL;
	struct ws_diff_result compared;
	struct referee r = {.d = ws_sides_diff(s), .compared = &compared, .result = result};
	struct ws_report_plan plan = {
	        .title = "Warpsheet referee", .fill = fill, .ctx = &r, .trace = folder};

	*out = NULL;
	WS_FORWARD(ws_diff_make(s, opts, &diff, &compared, err));
	judge(&r);
	plan.created_ns = r.d->side[1].recordings[0].base_ns;
	plan.defs = ws_referee_defs(&plan.ndefs);
	const enum ws_status status = ws_report_of_plan(&plan, out, err);

	ws_report_free(diff);
	return status;
}
