/*
 * From the blocks of a trace to the rows of the join: which columns, and what
 * they mean.
 */
#include "report/pass/pass.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/label.h"
#include "report/model/steps.h"
#include "report/pass/private.h"

/* --- what is looked up for every row ------------------------------------------------------ */

/* An array where it takes little more room than the map does. */
static enum ws_status make_numbers(const struct ws_idmap *map, struct ws_pass_numbers *out,
                                   struct ws_err *err)
{
	const struct ws_map *m = &map->map;
	uint64_t greatest = 0;

	*out = (struct ws_pass_numbers){.map = map};
	for (size_t i = 0; i < m->nslots; i++)
		if (m->slots[i].key > greatest)
			greatest = m->slots[i].key;
	if (greatest > 4 * (uint64_t)m->n + 1024)
		return WS_OK;
	out->n = greatest + 1;
	out->of = calloc((size_t)out->n, sizeof(*out->of));
	if (!out->of)
		return WS_FAIL_MEMORY(err, "reading a trace in one pass");
	for (uint64_t id = 0; id < out->n; id++)
		out->of[id] = ws_idmap_get(map, id);
	return WS_OK;
}

static enum ws_status look_at_names(struct ws_pass *p, struct ws_err *err)
{
	const struct ws_model *m = p->m;

	p->names = calloc(m->ntexts, sizeof(*p->names));
	if (!p->names)
		return WS_FAIL_MEMORY(err, "reading a trace in one pass");
	for (uint32_t i = 0; i < m->ntexts; i++)
		p->names[i] =
		        (struct ws_pass_name){ws_label_marks(i), (uint8_t)ws_label_phase(m, i)};
	return WS_OK;
}

/* --- the pass ---------------------------------------------------------------------------- */

static void choose_columns(const struct ws_pass *p, ws_column_set columns[WS_KIND_END])
{
	bool joined = p->parts & WS_DIGEST_JOINED;

	memset(columns, 0, WS_KIND_END * sizeof(*columns));
	if (p->parts & (WS_DIGEST_KERNELS | WS_DIGEST_JOINED))
		columns[WS_KIND_KERNEL] = WS_COLUMN(kernel, config) | WS_COLUMN(kernel, dur_ns) |
		                          WS_COLUMN(kernel, flags);
	if (p->parts & WS_DIGEST_CALLS)
		columns[WS_KIND_API] =
		        WS_COLUMN(api, dur_ns) | WS_COLUMN(api, name) | WS_COLUMN(api, result);
	if (!joined)
		return;
	columns[WS_KIND_KERNEL] |= WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, correlation);
	columns[WS_KIND_API] |= WS_COLUMN(api, start_ns) | WS_COLUMN(api, dur_ns) |
	                        WS_COLUMN(api, thread) | WS_COLUMN(api, correlation);
	if (p->sink)
		columns[WS_KIND_API] |= WS_COLUMN(api, name) | WS_COLUMN(api, result);
	columns[WS_KIND_NVTX] = WS_PASS_EVENT_COLUMNS;
}

static enum ws_status take_ahead(void *ctx, const struct ws_block_rows *rows, uint32_t block,
                                 unsigned slot, struct ws_err *err)
{
	struct ws_pass *p = ctx;

	return ws_pass_take_rows(p, rows, block, &p->taken[slot], err);
}

/* Calls that are about to be joined: a kernel that begins before its call returns waits for it. */
static enum ws_status note_calls(struct ws_pass *p, const struct ws_pass_taken *taken, bool *twice,
                                 struct ws_err *err)
{
	for (size_t i = 0; i < taken->ncalls; i++) {
		const struct ws_pass_call *c = &taken->calls[i];

		WS_FORWARD(ws_launch_ids_note(&p->called, c->process, c->id, WS_LAUNCH_ONCE, err));
		*twice |= (ws_launch_ids_get(&p->called, c->process, c->id) & WS_LAUNCH_AGAIN) != 0;
	}
	return WS_OK;
}

/* What was taken waits for the join. Another pass is to join ids ahead where there are very many
 * processes, one used an id twice, or a kernel began before its call. */
static enum ws_status take_over(struct ws_pass *p, struct ws_pass_taken *taken, struct ws_err *err)
{
	bool needs_ids = taken->needs_ids;

	WS_FORWARD(ws_pass_add_shapes(&p->shapes, &taken->shapes, 0, err));
	WS_FORWARD(note_calls(p, taken, &needs_ids, err));
	/* with ids that were joined ahead: a damaged block, which is told at its end */
	if (needs_ids && !p->ahead)
		p->stopped = p->again->needs_ids = p->again->knows_more = true;
	return ws_pass_rows_merge(taken->has_kernels ? &p->kernels : &p->rows, &taken->rows, err);
}

/* Nothing that the join works on is used when rows are taken. */
static bool can_take_ahead(const struct ws_pass *p)
{
	const bool counts_calls = p->parts & WS_DIGEST_CALLS && !ws_pass_calls_have_scope(p);

	return p->parts & WS_DIGEST_JOINED && !p->framework.is_there && !counts_calls;
}

static enum ws_status read_rows(struct ws_pass *p, struct ws_err *err)
{
	const struct ws_feed_stage stage = {p, can_take_ahead(p) ? take_ahead : NULL,
	                                    ws_pass_count_batch};
	ws_column_set columns[WS_KIND_END];
	const struct ws_block_rows *rows;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	p->has_dur = ws_trace_reader_has_column(p->l.r, WS_KIND_KERNEL, WS_COL_kernel_dur_ns);
	choose_columns(p, columns);
	WS_FORWARD(ws_pass_add_shapes(&p->shapes, &p->found, 0, err));
	WS_FORWARD(ws_feed_open(&feed, p->l.r, columns, WS_FEED_AS_STORED, &stage, err));
	p->counts.feed = feed;
	do {
		struct ws_pass_taken *taken;

		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status != WS_OK || !rows)
			break;
		taken = &p->taken[ws_feed_slot(feed)];
		if (!stage.make)
			status = ws_pass_take_rows(p, rows, (uint32_t)ws_feed_block(feed), taken,
			                           err);
		if (status != WS_OK || !(p->parts & WS_DIGEST_JOINED))
			continue;
		status = take_over(p, taken, err);
		if (!p->stopped)
			WS_THEN(status, ws_pass_join(p, until_ns, err));
	} while (status == WS_OK && !p->stopped);
	ws_pass_counts_leave(p);
	ws_feed_close(feed);
	return status;
}

/* Sums that are made of rows, where those are all there. */
#define MADE_OF_ROWS (WS_DIGEST_JOINED_SUMS | WS_DIGEST_CALLS)

/* What the framework recorded; it completes rows, so sums are made of those. */
static enum ws_status take_framework(struct ws_pass *p, struct ws_err *err)
{
	if (!(p->parts & WS_DIGEST_JOINED) || !ws_framework_is_in(p->l.r))
		return WS_OK;
	if (!p->sink || p->parts & MADE_OF_ROWS) {
		p->stopped = true;
		return WS_OK;
	}
	p->parts &= ~(unsigned)WS_DIGEST_LEFT;
	return ws_framework_load(&p->framework, &p->l, err);
}

/* Of all names at once: what is sized by the number of texts comes after it. */
static enum ws_status steady_names(struct ws_model *m, struct ws_err *err)
{
	uint32_t n = (uint32_t)m->ntexts, steady;

	for (uint32_t i = 0; i < n; i++)
		WS_FORWARD(ws_steady_text(m, i, &steady, err));
	return WS_OK;
}

/* Copies go through the join like kernels, to find the step that they were launched in. */
static enum ws_status take_all_work(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;
	struct ws_pass_kernel *k = ws_pass_rows_reserve(&p->kernels, m->nwork);

	if (!k)
		return WS_FAIL_MEMORY(err, "reading a trace in one pass");
	for (size_t i = 0; i < m->nwork; i++) {
		const struct ws_work *w = &m->work[i];

		k[i] = (struct ws_pass_kernel){.start_ns = w->start_ns,
		                               .dur_ns = (int64_t)i,
		                               .correlation = ws_pass_work_id(p, i),
		                               .at = UINT64_C(1) << 61 | i,
		                               .cpu_op = WS_NONE,
		                               .collective = WS_NONE,
		                               .config = WS_NONE};
	}
	ws_pass_rows_filled(&p->kernels, m->nwork, true);
	return WS_OK;
}

/* Measured steps are all of a trace in which nothing is called like a step. */
static enum ws_status resolve_scope(struct ws_pass *p, struct ws_err *err)
{
	const struct ws_model *m = p->m;
	const char *pattern = p->l.opts->step;
	bool may_have = pattern && strchr(pattern, '/');

	if (p->scope == WS_SCOPE_STEPS)
		WS_FORWARD(steady_names(p->m, err));
	for (size_t i = 0; i < m->text_of.map.nslots && p->scope == WS_SCOPE_STEPS; i++) {
		uint32_t text = ws_idmap_get(&m->text_of, m->text_of.map.slots[i].key);

		if (text != WS_NONE)
			may_have |= ws_step_is_name(m, text, pattern) ||
			            ws_step_is_name(m, m->steady_of[text], pattern);
	}
	if (p->scope == WS_SCOPE_STEPS && !may_have)
		p->scope = WS_SCOPE_ALL;
	if (p->scope != WS_SCOPE_ALL)
		p->parts |= WS_DIGEST_STEPS;
	return WS_OK;
}

static enum ws_status prepare(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;

	WS_FORWARD(ws_load_dictionaries(&p->l, err));
	WS_FORWARD(resolve_scope(p, err));
	WS_FORWARD(ws_load_work(&p->l, err));
	WS_FORWARD(take_framework(p, err));
	if (p->stopped)
		return WS_OK;
	if (p->parts & WS_DIGEST_JOINED)
		WS_FORWARD(steady_names(p->m, err));
	WS_FORWARD(ws_digest_init(p->d, m, p->parts, err));
	p->d->scope = p->scope;
	WS_FORWARD(make_numbers(&m->text_of, &p->texts, err));
	WS_FORWARD(make_numbers(&p->l.config_of, &p->configs, err));
	WS_FORWARD(make_numbers(&p->l.payload_of, &p->payloads, err));
	p->cell_of_config = calloc(m->nconfigs, sizeof(*p->cell_of_config));
	if (!p->cell_of_config)
		return WS_FAIL_MEMORY(err, "reading a trace in one pass");
	memset(p->cell_of_config, 0xff, m->nconfigs * sizeof(*p->cell_of_config));
	if (!(p->parts & WS_DIGEST_JOINED))
		return WS_OK;
	WS_FORWARD(ws_pass_counts_begin(p, err));
	/* there is a first one to point to, also where none comes */
	if (!ws_pass_rows_reserve(&p->rows, 1) || !ws_pass_rows_reserve(&p->kernels, 1))
		return WS_FAIL_MEMORY(err, "reading a trace in one pass");
	WS_FORWARD(ws_pass_read_ids(p, err));
	if ((p->scope != WS_SCOPE_ALL || p->sink) && p->m->nwork)
		WS_FORWARD(take_all_work(p, err));
	return look_at_names(p, err);
}

static void release(struct ws_pass *p)
{
	ws_loader_release(&p->l);
	ws_framework_free(&p->framework);
	free(p->rows.rows);
	free(p->shapes.shape);
	free(p->found.shape);
	for (size_t i = 0; i < WS_FEED_SLOTS; i++)
		ws_pass_taken_free(&p->taken[i]);
	free(p->tokens);
	free(p->numbers);
	ws_pass_counts_free(&p->counts);
	ws_strtab_free(&p->shape_of);
	free(p->kernels.rows);
	ws_launch_ids_free(&p->ids);
	ws_launch_ids_free(&p->called);
	ws_launches_free(&p->waiting);
	ws_live_free(&p->live);
	ws_arena_free(&p->ends_arena);
	for (size_t i = 0; i < p->nsteps; i++)
		free(p->steps[i].by_cell);
	free(p->steps);
	free(p->active);
	free(p->marks);
	free(p->cell_of_config);
	free(p->texts.of);
	free(p->configs.of);
	free(p->payloads.of);
	free(p->names);
	free(p->path_is_step);
}

static enum ws_status run(struct ws_pass *p, struct ws_err *err)
{
	WS_FORWARD(prepare(p, err));
	if (p->stopped)
		return WS_OK;
	if (p->again->ranges_cross)
		WS_FORWARD(ws_pass_read_ends(p, err));
	WS_FORWARD(read_rows(p, err));
	if (!p->stopped && p->parts & WS_DIGEST_JOINED)
		WS_FORWARD(ws_pass_end(p, err));
	ws_digest_finish(p->d);
	/* with the join they are counted there, whatever the scope */
	for (size_t i = 0; i < p->d->ncells && !(p->parts & WS_DIGEST_JOINED); i++) {
		const struct ws_digest_cell *cell = &p->d->cells[i];

		p->m->devices[p->m->configs[cell->config].device].kernels +=
		        ws_digest_cell_count(cell);
	}
	return WS_OK;
}

/* What is asked for is in *wanted: d, parts, scope, sink. */
static enum ws_status run_whole(const struct ws_pass *wanted, const struct ws_trace_reader *r,
                                const char *name, const struct ws_model_opts *opts,
                                struct ws_model **m, struct ws_err *err)
{
	static const struct ws_model_opts none;
	struct ws_pass p = {
	        .d = wanted->d,
	        .parts = wanted->parts,
	        .scope = wanted->scope,
	        .sink = wanted->sink,
	        .again = wanted->again,
	        .first_ns = INT64_MAX,
	        .last_ns = INT64_MIN,
	        .rows = {.row_size = sizeof(struct ws_pass_row)},
	        .kernels = {.row_size = sizeof(struct ws_pass_kernel)},
	};
	enum ws_status status;

	*p.d = (struct ws_digest){0};
	opts = opts ? opts : &none;
	WS_FORWARD(ws_model_begin(m, r, name, opts, err));
	p.m = *m;
	p.l = (struct ws_loader){.m = *m,
	                         .r = r,
	                         .opts = opts,
	                         .plain_names = !(p.parts & (WS_DIGEST_NAMES | WS_DIGEST_ROWS))};
	p.live.events = ws_pass_live_events();
	p.live.ctx = &p;
	status = run(&p, err);
	release(&p);
	if (status != WS_OK || p.stopped) {
		ws_model_free(*m);
		*m = NULL;
		ws_digest_release(p.d);
	}
	return status;
}

enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, enum ws_scope scope, unsigned parts,
                           const struct ws_joined_sink *sink, struct ws_model **m,
                           struct ws_digest *d, struct ws_err *err)
{
	struct ws_pass_again again = {.end_ns = INT64_MAX};
	const struct ws_pass wanted = {.d = d,
	                               .parts = parts,
	                               .scope = scope,
	                               .sink = parts & WS_DIGEST_ROWS ? sink : NULL,
	                               .again = &again};
	enum ws_status status;

	do {
		again.knows_more = false;
		status = run_whole(&wanted, r, name, opts, m, err);
		if (again.knows_more && wanted.sink)
			sink->restart(sink->ctx);
	} while (status == WS_OK && again.knows_more);
	free(again.never_ends);
	ws_ids_ahead_free(&again.ids);
	return status;
}
