#include "report/analysis/calibration.h"
#include "report/diff/private.h"
#include "report/page/private.h"

struct ws_sides {
	struct ws_diff d;
	size_t capacity[2];
	bool has_evidence;
};

struct ws_sides *ws_sides_new(void)
{
	return ws_xarray(1, sizeof(struct ws_sides));
}

void ws_sides_collect_evidence(struct ws_sides *s)
{
	s->has_evidence = true;
}

void ws_sides_free(struct ws_sides *s)
{
	if (!s)
		return;
	ws_match_release(&s->d.match);
	for (int side = 0; side < 2; side++) {
		free(s->d.unlike_phase_ns[side]);
		free(s->d.more_place_ns[side]);
	}
	free(s->d.kind_of_piece);
	ws_spill_close(&s->d.work[0].rows);
	ws_spill_close(&s->d.work[1].rows);
	ws_side_release(&s->d.side[0]);
	ws_side_release(&s->d.side[1]);
	ws_names_release(&s->d.names);
	free(s);
}

bool ws_sides_add(struct ws_sides *s, int side, const struct ws_model *m,
                  struct ws_joined_rows *rows, bool is_shown)
{
	struct ws_side *to = &s->d.side[side];

	for (size_t i = 0; i < to->nrecordings; i++)
		if (to->recordings[i].file_hash == m->file.file_hash &&
		    to->recordings[i].file_size == m->file.file_size) {
			to->ncopies++;
			return false;
		}
	WS_GROW(to->recordings, to->nrecordings + 1, s->capacity[side]);
	ws_recording_read(&to->recordings[to->nrecordings], &s->d.names, m, rows, !side,
	                  s->has_evidence);
	to->recordings[to->nrecordings].page = is_shown ? ws_page_make_side(m, rows) : NULL;
	to->nrecordings++;
	return true;
}

/* --- all of it --------------------------------------------------------------------------- */

struct ws_grade_opts ws_grade_opts_of(const struct ws_diff_opts *opts, bool on_cpu)
{
	struct ws_grade_opts grade = {.min_effect = opts->min_effect_percent / 100,
	                              .same_within = opts->same_within_percent / 100,
	                              .run_noise = opts->run_noise_percent / 100};

	if (isnan(grade.run_noise) && !on_cpu)
		grade.run_noise = WS_RUN_NOISE_GPU_PERCENT / 100;
	return grade;
}

static void resolve_grade(struct ws_diff *d)
{
	const bool on_cpu = ws_diff_is_on_cpu(d) || ws_diff_is_of_host_ops(d);

	d->grade = ws_grade_opts_of(&d->opts, on_cpu);
	d->noise[WS_DIFF_NOISE_GPU] = d->grade.run_noise;
	d->noise[WS_DIFF_NOISE_STEP] = d->noise[WS_DIFF_NOISE_HOST] = d->grade.run_noise;
	if (isnan(d->opts.run_noise_percent) && !on_cpu)
		ws_diff_assume_noise(d);
}

/* Clocks of samples if every recording has some, else those that were read at begin and end. */
static void find_clocks(struct ws_diff *d)
{
	double sampled[2] = {0}, read[2] = {0};
	bool is_read = true;

	d->clocks_are_sampled = true;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++) {
			const struct ws_recording *r = &d->side[s].recordings[i];

			d->clocks_are_sampled &= r->sampled_mhz > 0;
			is_read &= r->read_mhz > 0;
			sampled[s] += r->sampled_mhz / (double)d->side[s].nrecordings;
			read[s] += r->read_mhz / (double)d->side[s].nrecordings;
		}
	if (d->clocks_are_sampled || is_read)
		memcpy(d->result->clock_mhz, d->clocks_are_sampled ? sampled : read,
		       sizeof(sampled));
}

struct ws_diff *ws_sides_diff(struct ws_sides *s)
{
	return &s->d;
}

void ws_sides_prepare_aa(struct ws_sides *s, const struct ws_diff_opts *opts)
{
	static const struct ws_diff_opts defaults = WS_DIFF_OPTS_DEFAULT;

	s->d.opts = opts ? *opts : defaults;
	ws_side_merge(&s->d.side[0], &s->d.names);
	resolve_grade(&s->d);
}

/* Rows from queries exist already. */
static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	/* in the order of WS_DIFF_TABLES */
	static void (*const note[])(struct ws_diff *, struct ws_table *) = {
	        ws_diff_note_verdict, ws_diff_note_waterfall, ws_diff_note_idle,
	        ws_diff_note_phases,  ws_diff_note_ranges,    ws_diff_note_work,
	        ws_diff_note_work,    ws_diff_note_work,      ws_diff_note_memory,
	        ws_diff_note_only,    ws_diff_note_config,
	};

	(void)err;
	ws_diff_relations_release(ctx);
	note[which](ctx, *t);
	return WS_OK;
}

enum ws_status ws_diff_make(struct ws_sides *sides, const struct ws_diff_opts *opts,
                            struct ws_report **out, struct ws_diff_result *result,
                            struct ws_err *err)
{
	static const struct ws_diff_opts defaults = WS_DIFF_OPTS_DEFAULT;
	struct ws_diff *d = &sides->d;
	struct ws_report_plan plan = {.title = "Warpsheet diff", .fill = fill, .ctx = d};
	char more[2][40] = {"", ""};
	struct ws_bytes file[2];
	struct ws_work_list list[2];

	*out = NULL;
	*result = (struct ws_diff_result){0};
	d->opts = opts ? *opts : defaults;
	d->result = result;
	for (int i = 0; i < 2; i++)
		result->copies[i] = d->side[i].ncopies;
	for (int s = 0; s < 2; s++)
		ws_side_merge(&d->side[s], &d->names);
	resolve_grade(d);
	find_clocks(d);
	ws_sides_name(d->side, &d->names);
	for (int s = 0; s < 2; s++)
		if (d->opts.name[s])
			snprintf(d->side[s].name, sizeof(d->side[s].name), "%s", d->opts.name[s]);
	d->by_steps = d->side[0].recordings[0].has_steps && d->side[1].recordings[0].has_steps;
	d->compares_unrecorded = d->by_steps;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++)
			d->compares_unrecorded &=
			        d->side[s].recordings[i].nunrecorded >= WS_CALIBRATION_PAIRS;
	for (int s = 0; s < 2; s++)
		list[s] = (struct ws_work_list){d->side[s].slots, d->side[s].nslots,
		                                d->side[s].slots_ns};
	ws_match_find(&d->match, &d->names, &list[0], &list[1], true);
	ws_diff_sum_work(d);
	ws_diff_replay(d);
	ws_diff_find_reasons(d);
	for (int s = 0; s < 2; s++)
		d->typical_ns[s] = d->side[s].shown < d->side[s].nsamples
		                           ? (double)d->side[s].samples[d->side[s].shown]->step_ns
		                           : NAN;

	/* "fp32 (a.wtrace) against amp-bf16 (b.wtrace and 2 more)" */
	for (int s = 0; s < 2; s++) {
		file[s] = ws_texts_get(&d->names.texts, d->side[s].recordings[0].name);
		if (d->side[s].nrecordings > 1)
			snprintf(more[s], sizeof(more[s]), " and %zu more",
			         d->side[s].nrecordings - 1);
	}
	char *trace =
	        ws_xformat("A = %s (%.*s%s), B = %s (%.*s%s)", d->side[0].name, WS_SHOWN(file[0]),
	                   more[0], d->side[1].name, WS_SHOWN(file[1]), more[1]);
	plan.trace = trace;
	plan.created_ns = d->side[1].recordings[0].base_ns;
	plan.defs = ws_diff_defs(&plan.ndefs);
	enum ws_status status = ws_query_open(&plan.query, err);
	if (status == WS_OK)
		ws_diff_relations(plan.query, d);
	WS_THEN(status, ws_report_of_plan(&plan, out, err));
	ws_query_close(plan.query);
	free(trace);
	if (status == WS_OK)
		ws_diff_answer(d, *out);
	return status;
}
