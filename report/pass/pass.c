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

#define MAX_PROCESSES 65536u /* what ids of launches have room for */

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory to read a trace in one pass");
}

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
		return no_memory(err);
	for (uint64_t id = 0; id < out->n; id++)
		out->of[id] = ws_idmap_get(map, id);
	return WS_OK;
}

static enum ws_status look_at_names(struct ws_pass *p, struct ws_err *err)
{
	const struct ws_model *m = p->m;

	p->names = calloc(m->ntexts, sizeof(*p->names));
	if (!p->names)
		return no_memory(err);
	for (uint32_t i = 0; i < m->ntexts; i++)
		p->names[i] =
		        (struct ws_pass_name){ws_label_marks(i), (uint8_t)ws_label_phase(m, i)};
	return WS_OK;
}

static uint32_t text_of(const struct ws_pass *p, uint64_t string_id)
{
	uint32_t text = string_id ? ws_pass_number(&p->texts, string_id) : WS_TEXT_EMPTY;

	return text == WS_NONE ? WS_TEXT_EMPTY : text;
}

static uint32_t config_of(const struct ws_pass *p, uint64_t id)
{
	uint32_t config = ws_pass_number(&p->configs, id);

	return config == WS_NONE ? 0 : config;
}

/* Rows of a thread come in runs. */
static enum ws_status thread_of(struct ws_pass *p, uint64_t id, uint32_t *thread,
                                struct ws_err *err)
{
	if (p->thread == WS_NONE || p->thread_id != id) {
		p->thread_id = id;
		WS_FORWARD(ws_thread_number(&p->l, id, 0, &p->thread, err));
		if (p->m->nprocesses > MAX_PROCESSES)
			p->declined = "there are too many processes";
	}
	*thread = p->thread;
	return WS_OK;
}

/* Not one that a loaded model refuses, as it is the one to say so; nor one that the header of the
 * block denied. */
static inline bool time_is_sound(const struct ws_pass *p, int64_t start_ns, int64_t dur_ns)
{
	return start_ns >= p->joined_ns && start_ns <= WS_MAX_TIME_NS &&
	       start_ns >= -WS_MAX_TIME_NS && dur_ns <= WS_MAX_TIME_NS;
}

#define UNSOUND "a time is out of bounds"

/* --- rows -------------------------------------------------------------------------------- */

/* Without the join a kernel's cell is that of its configuration, and its order means nothing. */
static enum ws_status take_alone(struct ws_pass *p, const struct ws_block_rows *b, bool has_dur,
                                 struct ws_err *err)
{
	static const struct ws_kernel_place nowhere = {.path = WS_PATH_NO_RANGE};
	const uint64_t *ids = b->v[WS_COL_kernel_config], *durs = b->v[WS_COL_kernel_dur_ns];
	const uint64_t *flags = b->v[WS_COL_kernel_flags];

	for (uint32_t i = 0; i < b->info.rows; i++) {
		uint32_t config = config_of(p, ids[i]), *cell = &p->cell_of_config[config];
		int64_t dur = (int64_t)durs[i];
		bool timed = has_dur && dur >= 0 && !(flags[i] & WS_KERNEL_NO_TIME);

		if (*cell == WS_NONE)
			WS_FORWARD(ws_digest_cell(p->d, config, &nowhere, cell, err));
		if (timed && !ws_digest_add_time(p->d, *cell, dur))
			return no_memory(err);
		if (!timed)
			p->d->cells[*cell].without_time++;
		else if (dur > WS_MAX_TIME_NS ||
		         __builtin_add_overflow(p->kernel_ns, dur, &p->kernel_ns))
			p->declined = UNSOUND;
	}
	return WS_OK;
}

static enum ws_status take_kernels(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                   bool has_dur, struct ws_err *err)
{
	uint64_t *const *v = b->v;
	struct ws_pass_kernel *k = ws_pass_rows_reserve(&p->kernels, b->info.rows);

	if (!k)
		return no_memory(err);
	for (uint32_t i = 0; i < b->info.rows; i++, k++) {
		int64_t dur = (int64_t)v[WS_COL_kernel_dur_ns][i];

		k->start_ns = (int64_t)v[WS_COL_kernel_start_ns][i];
		k->correlation = v[WS_COL_kernel_correlation][i];
		k->at = ws_pass_at(block, i);
		k->config = config_of(p, v[WS_COL_kernel_config][i]);
		k->timed = has_dur && dur >= 0 && !(v[WS_COL_kernel_flags][i] & WS_KERNEL_NO_TIME);
		k->dur_ns = k->timed ? dur : 0;
		if (!time_is_sound(p, k->start_ns, k->dur_ns) ||
		    __builtin_add_overflow(p->kernel_ns, k->dur_ns, &p->kernel_ns)) {
			p->declined = UNSOUND;
			return WS_OK;
		}
		if (k->timed && k->start_ns + k->dur_ns > p->last_ns)
			p->last_ns = k->start_ns + k->dur_ns;
	}
	ws_pass_rows_filled(&p->kernels, b->info.rows);
	return WS_OK;
}

/* Calls by name. */
static enum ws_status sum_calls(struct ws_pass *p, const struct ws_block_rows *b,
                                struct ws_err *err)
{
	uint64_t *const *v = b->v;

	for (uint32_t i = 0; i < b->info.rows; i++) {
		int64_t dur = (int64_t)v[WS_COL_api_dur_ns][i];

		WS_FORWARD(ws_digest_add_call(p->d, text_of(p, v[WS_COL_api_name][i]),
		                              dur < 0 ? 0 : dur, v[WS_COL_api_result][i] != 0,
		                              err));
	}
	return WS_OK;
}

/* Calls that launched a kernel wait for it. */
static enum ws_status take_calls(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                 struct ws_err *err)
{
	uint64_t *const *v = b->v;
	struct ws_pass_call *c = ws_pass_rows_reserve(&p->calls, b->info.rows), *first = c;
	bool named = ws_pass_calls_have_scope(p);

	if (!c)
		return no_memory(err);
	for (uint32_t i = 0; i < b->info.rows; i++) {
		int64_t dur = (int64_t)v[WS_COL_api_dur_ns][i];
		unsigned use = 0;

		dur = dur < 0 ? 0 : dur;
		c->start_ns = (int64_t)v[WS_COL_api_start_ns][i];
		if (!time_is_sound(p, c->start_ns, dur)) {
			p->declined = UNSOUND;
			return WS_OK;
		}
		c->end_ns = c->start_ns + dur;
		if (c->end_ns > p->last_ns)
			p->last_ns = c->end_ns;
		c->correlation = v[WS_COL_api_correlation][i];
		c->at = ws_pass_at(block, i);
		WS_FORWARD(thread_of(p, v[WS_COL_api_thread][i], &c->thread, err));
		c->process = p->l.thread_process[c->thread];
		if (c->correlation)
			use = ws_launch_ids_get(&p->ids, c->process, c->correlation);
		if (use & WS_LAUNCH_CALLS && use & WS_LAUNCH_KERNEL)
			p->declined = "a process used the id of a launch twice";
		c->stays = (use & WS_LAUNCH_KERNELS) != 0;
		c->launches = (use & WS_LAUNCH_KERNEL) != 0;
		if (named) {
			c->name = text_of(p, v[WS_COL_api_name][i]);
			c->failed = v[WS_COL_api_result][i] != 0;
		}
		c += named || c->launches;
	}
	ws_pass_rows_filled(&p->calls, (size_t)(c - first));
	return WS_OK;
}

static enum ws_status add_mark(struct ws_pass *p, uint64_t at, uint32_t text, struct ws_err *err)
{
	if (p->nmarks == p->marks_allocated) {
		size_t want = p->marks_allocated ? p->marks_allocated * 2 : 64;
		void *grown = reallocarray(p->marks, want, sizeof(*p->marks));

		if (!grown)
			return no_memory(err);
		p->marks = grown;
		p->marks_allocated = want;
	}
	p->marks[p->nmarks++] = (struct ws_pass_mark){at, text};
	return WS_OK;
}

static enum ws_status take_events(struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                                  struct ws_err *err)
{
	uint64_t *const *v = b->v;
	struct ws_pass_event *e = ws_pass_rows_reserve(&p->events, b->info.rows), *first = e;

	if (!e)
		return no_memory(err);
	for (uint32_t i = 0; i < b->info.rows; i++) {
		uint64_t payload = v[WS_COL_nvtx_payload][i], type = v[WS_COL_nvtx_type][i];

		e->time_ns = (int64_t)v[WS_COL_nvtx_time_ns][i];
		if (!time_is_sound(p, e->time_ns, 0)) {
			p->declined = UNSOUND;
			return WS_OK;
		}
		if (e->time_ns > p->last_ns)
			p->last_ns = e->time_ns;
		e->at = ws_pass_at(block, i);
		e->range_id = v[WS_COL_nvtx_range][i];
		e->type = (uint32_t)type;
		e->domain = text_of(p, v[WS_COL_nvtx_domain][i]);
		/* pops, which are half of all, have neither */
		e->name = type == WS_NVTX_POP ? 0 : text_of(p, v[WS_COL_nvtx_name][i]);
		e->payload = payload ? ws_pass_number(&p->payloads, payload) : WS_NONE;
		WS_FORWARD(thread_of(p, v[WS_COL_nvtx_thread][i], &e->thread, err));
		e->process = p->l.thread_process[e->thread];
		if (type == WS_NVTX_MARK && e->domain == WS_TEXT_DOMAIN)
			WS_FORWARD(add_mark(p, e->at, e->name, err));
		e->name = p->m->steady_of[e->name];
		e += type < WS_NVTX_MARK;
	}
	ws_pass_rows_filled(&p->events, (size_t)(e - first));
	return WS_OK;
}

/* --- ids of launches ----------------------------------------------------------------------- */

static enum ws_status note_ids(struct ws_pass *p, const struct ws_block_rows *b, struct ws_err *err)
{
	int kernels = b->info.kind == WS_KIND_KERNEL;
	const uint64_t *correlation =
	        b->v[kernels ? WS_COL_kernel_correlation : WS_COL_api_correlation];

	for (uint32_t i = 0; i < b->info.rows && !p->declined; i++) {
		uint32_t process, thread;

		if (!correlation[i])
			continue;
		if (kernels) {
			uint32_t config = config_of(p, b->v[WS_COL_kernel_config][i]);

			process = p->m->configs[config].process;
		} else {
			WS_FORWARD(thread_of(p, b->v[WS_COL_api_thread][i], &thread, err));
			process = p->l.thread_process[thread];
		}
		if (process != WS_NONE)
			WS_FORWARD(ws_launch_ids_note(&p->ids, process, correlation[i],
			                              kernels ? WS_LAUNCH_KERNEL : WS_LAUNCH_CALL,
			                              err));
	}
	return WS_OK;
}

static enum ws_status note_works(struct ws_pass *p, struct ws_err *err)
{
	for (size_t i = 0; i < p->m->nworks && p->scope != WS_SCOPE_ALL; i++) {
		const struct ws_work *w = &p->m->works[i];

		if (w->correlation && w->process != WS_NONE)
			WS_FORWARD(ws_launch_ids_note(&p->ids, w->process, w->correlation,
			                              WS_LAUNCH_KERNEL, err));
	}
	return WS_OK;
}

static enum ws_status read_ids(struct ws_pass *p, struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_KERNEL] = WS_COLUMN(kernel, correlation) | WS_COLUMN(kernel, config),
	        [WS_KIND_API] = WS_COLUMN(api, correlation) | WS_COLUMN(api, thread),
	};
	const struct ws_block_rows *rows = NULL;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	WS_FORWARD(ws_feed_open(&feed, p->l.r, columns, WS_FEED_BY_TIME, err));
	status = note_works(p, err);
	while (status == WS_OK && !p->declined) {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status != WS_OK || !rows)
			break;
		status = note_ids(p, rows, err);
	}
	ws_feed_close(feed);
	if (status == WS_NO_MEMORY && p->ids.npages == WS_LAUNCH_MAX_PAGES) {
		p->declined = "ids of launches are scattered";
		return WS_OK;
	}
	return status;
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
	columns[WS_KIND_NVTX] = WS_COLUMN(nvtx, time_ns) | WS_COLUMN(nvtx, thread) |
	                        WS_COLUMN(nvtx, type) | WS_COLUMN(nvtx, domain) |
	                        WS_COLUMN(nvtx, name) | WS_COLUMN(nvtx, range) |
	                        WS_COLUMN(nvtx, payload);
}

static enum ws_status take_rows(struct ws_pass *p, const struct ws_block_rows *rows, uint32_t block,
                                bool has_dur, struct ws_err *err)
{
	bool joined = p->parts & WS_DIGEST_JOINED;

	switch (rows->info.kind) {
	case WS_KIND_KERNEL:
		return joined ? take_kernels(p, rows, block, has_dur, err)
		              : take_alone(p, rows, has_dur, err);
	case WS_KIND_API:
		if (p->parts & WS_DIGEST_CALLS && !ws_pass_calls_have_scope(p))
			WS_FORWARD(sum_calls(p, rows, err));
		return joined ? take_calls(p, rows, block, err) : WS_OK;
	default:
		return take_events(p, rows, block, err);
	}
}

static enum ws_status read_rows(struct ws_pass *p, struct ws_err *err)
{
	bool joined = p->parts & WS_DIGEST_JOINED;
	bool has_dur = ws_trace_reader_has_column(p->l.r, WS_KIND_KERNEL, WS_COL_kernel_dur_ns);
	ws_column_set columns[WS_KIND_END];
	const struct ws_block_rows *rows;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	choose_columns(p, columns);
	WS_FORWARD(ws_feed_open(&feed, p->l.r, columns, WS_FEED_BY_TIME, err));
	do {
		status = ws_feed_next(feed, &rows, &until_ns, err);
		if (status != WS_OK || !rows)
			break;
		status = take_rows(p, rows, (uint32_t)ws_feed_block(feed), has_dur, err);
		if (status == WS_OK && !p->declined && joined)
			status = ws_pass_join(p, until_ns, err);
		p->joined_ns = joined ? until_ns : INT64_MIN;
	} while (status == WS_OK && !p->declined);
	ws_feed_close(feed);
	return status;
}

/* Records whose joins need all rows at once. */
static const char *unfit(const struct ws_pass *p)
{
	const struct ws_model *m = p->m;

	for (size_t i = 0; i < ws_trace_reader_block_count(p->l.r); i++) {
		uint16_t kind = ws_trace_reader_block(p->l.r, i)->kind;

		if (kind == WS_KIND_CPU_OP || kind == WS_KIND_PYTHON_CALL)
			return "it has the operations of a framework";
	}
	for (size_t i = 0; i < m->ntexts; i++)
		if (m->texts[i].len >= sizeof(WS_PYTORCH_STEP) - 1 &&
		    !memcmp(m->texts[i].ptr, WS_PYTORCH_STEP, sizeof(WS_PYTORCH_STEP) - 1))
			return "its steps are numbered by their names";
	return NULL;
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
static enum ws_status take_works(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;
	struct ws_pass_kernel *k = ws_pass_rows_reserve(&p->kernels, m->nworks);

	if (!k)
		return no_memory(err);
	for (size_t i = 0; i < m->nworks; i++) {
		const struct ws_work *w = &m->works[i];

		k[i] = (struct ws_pass_kernel){.start_ns = w->start_ns,
		                               .dur_ns = (int64_t)i,
		                               .correlation = w->correlation,
		                               .at = UINT64_C(1) << 63 | i,
		                               .config = WS_NONE};
	}
	ws_pass_rows_filled(&p->kernels, m->nworks);
	return WS_OK;
}

/* Measured steps are all of a trace in which nothing is called like a step. */
static enum ws_status settle_scope(struct ws_pass *p, struct ws_err *err)
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
	WS_FORWARD(settle_scope(p, err));
	if (p->parts & WS_DIGEST_JOINED)
		WS_FORWARD(steady_names(p->m, err));
	WS_FORWARD(ws_load_works(&p->l, err));
	WS_FORWARD(ws_digest_init(p->d, m, p->parts, err));
	p->d->scope = p->scope;
	WS_FORWARD(make_numbers(&m->text_of, &p->texts, err));
	WS_FORWARD(make_numbers(&p->l.config_of, &p->configs, err));
	WS_FORWARD(make_numbers(&p->l.payload_of, &p->payloads, err));
	p->cell_of_config = calloc(m->nconfigs, sizeof(*p->cell_of_config));
	if (!p->cell_of_config)
		return no_memory(err);
	memset(p->cell_of_config, 0xff, m->nconfigs * sizeof(*p->cell_of_config));
	if (m->nprocesses > MAX_PROCESSES)
		p->declined = "there are too many processes";
	if (!(p->parts & WS_DIGEST_JOINED) || p->declined)
		return WS_OK;
	p->declined = unfit(p);
	if (p->declined)
		return WS_OK;
	if (p->scope != WS_SCOPE_ALL && p->m->nworks)
		WS_FORWARD(take_works(p, err));
	return look_at_names(p, err);
}

static void release(struct ws_pass *p)
{
	ws_loader_release(&p->l);
	free(p->events.rows);
	free(p->calls.rows);
	free(p->kernels.rows);
	ws_launch_ids_free(&p->ids);
	ws_launches_free(&p->waiting);
	ws_live_free(&p->live);
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
	if (p->declined)
		return WS_OK;
	if (p->parts & WS_DIGEST_JOINED)
		WS_FORWARD(read_ids(p, err));
	if (!p->declined)
		WS_FORWARD(read_rows(p, err));
	if (!p->declined && p->parts & WS_DIGEST_JOINED)
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

enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, enum ws_scope scope, unsigned parts,
                           struct ws_model **m, struct ws_digest *d, const char **declined,
                           struct ws_err *err)
{
	static const struct ws_model_opts none;
	struct ws_pass p = {
	        .d = d,
	        .parts = parts,
	        .scope = scope,
	        .thread = WS_NONE,
	        .joined_ns = INT64_MIN,
	        .last_ns = INT64_MIN,
	        .events = {.row_size = sizeof(struct ws_pass_event),
	                   .time_offset = offsetof(struct ws_pass_event, time_ns),
	                   .at_offset = offsetof(struct ws_pass_event, at)},
	        .calls = {.row_size = sizeof(struct ws_pass_call),
	                  .time_offset = offsetof(struct ws_pass_call, end_ns),
	                  .at_offset = offsetof(struct ws_pass_call, at)},
	        .kernels = {.row_size = sizeof(struct ws_pass_kernel),
	                    .time_offset = offsetof(struct ws_pass_kernel, start_ns),
	                    .at_offset = offsetof(struct ws_pass_kernel, at)},
	};
	enum ws_status status;

	*d = (struct ws_digest){0};
	*declined = NULL;
	opts = opts ? opts : &none;
	WS_FORWARD(ws_model_begin(m, r, name, opts, err));
	p.m = *m;
	p.l = (struct ws_loader){.m = *m,
	                         .r = r,
	                         .opts = opts,
	                         .plain_names = !(parts & WS_DIGEST_NAMES)};
	p.live.events = ws_pass_live_events(&p);
	status = run(&p, err);
	release(&p);
	*declined = status == WS_OK ? p.declined : NULL;
	if (status != WS_OK || p.declined) {
		ws_model_free(*m);
		*m = NULL;
		ws_digest_release(d);
	}
	return status;
}
