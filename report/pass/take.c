/*
 * Rows of blocks to rows of the join, and what is sure without a join to the
 * digest.
 */
#include "formats/base/grow.h"
#include "report/pass/private.h"

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the rows of a trace");
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
		if (p->m->nprocesses > WS_PASS_MAX_PROCESSES)
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

static inline void see_time(struct ws_pass *p, int64_t start_ns, int64_t end_ns)
{
	p->first_ns = start_ns < p->first_ns ? start_ns : p->first_ns;
	p->last_ns = end_ns > p->last_ns ? end_ns : p->last_ns;
}

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
		k->cut_off = (v[WS_COL_kernel_flags][i] & WS_KERNEL_CUT_OFF) != 0;
		k->dur_ns = k->timed ? dur : 0;
		if (!time_is_sound(p, k->start_ns, k->dur_ns) ||
		    __builtin_add_overflow(p->kernel_ns, k->dur_ns, &p->kernel_ns)) {
			p->declined = UNSOUND;
			return WS_OK;
		}
		if (k->timed)
			see_time(p, k->start_ns, k->start_ns + k->dur_ns);
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
	bool named = ws_pass_calls_have_names(p), has_result = ws_pass_calls_have_scope(p);
	bool all = has_result || p->sink;

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
		see_time(p, c->start_ns, c->end_ns);
		c->correlation = v[WS_COL_api_correlation][i];
		c->at = ws_pass_at(block, i);
		WS_FORWARD(thread_of(p, v[WS_COL_api_thread][i], &c->thread, err));
		c->process = p->l.thread_process[c->thread];
		if (c->correlation)
			use = ws_launch_ids_get(&p->ids, c->process, c->correlation);
		if (use & WS_LAUNCH_KERNEL) {
			if (use & WS_LAUNCH_CALL)
				p->declined = "a process used the id of a launch twice";
			if (use & WS_LAUNCH_ORPHAN)
				p->declined = "a kernel began before the call that launched it";
			WS_FORWARD(ws_launch_ids_note(&p->ids, c->process, c->correlation,
			                              WS_LAUNCH_CALL, err));
		}
		c->stays = (use & WS_LAUNCH_KERNELS) != 0;
		c->launches = (use & WS_LAUNCH_KERNEL) != 0;
		if (named) {
			c->name = text_of(p, v[WS_COL_api_name][i]);
			c->failed = has_result && v[WS_COL_api_result][i] != 0;
		}
		c += all || c->launches;
	}
	ws_pass_rows_filled(&p->calls, (size_t)(c - first));
	return WS_OK;
}

static enum ws_status add_mark(struct ws_pass *p, uint64_t at, uint32_t text, struct ws_err *err)
{
	WS_FORWARD(WS_GROW(p->marks, p->nmarks + 1, p->marks_capacity, err));
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
		see_time(p, e->time_ns, e->time_ns);
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

enum ws_status ws_pass_take_rows(struct ws_pass *p, const struct ws_block_rows *rows,
                                 uint32_t block, bool has_dur, struct ws_err *err)
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

/* --- ids of launches ----------------------------------------------------------------------- */

static enum ws_status note_ids(struct ws_pass *p, const struct ws_block_rows *b, struct ws_err *err)
{
	const uint64_t *correlation = b->v[WS_COL_kernel_correlation];

	for (uint32_t i = 0; i < b->info.rows; i++) {
		uint32_t config = config_of(p, b->v[WS_COL_kernel_config][i]);
		uint32_t process = p->m->configs[config].process;

		if (correlation[i] && process != WS_NONE)
			WS_FORWARD(ws_launch_ids_note(&p->ids, process, correlation[i],
			                              WS_LAUNCH_KERNEL, err));
	}
	return WS_OK;
}

static enum ws_status note_work(struct ws_pass *p, struct ws_err *err)
{
	bool joined = p->scope != WS_SCOPE_ALL || p->sink;

	for (size_t i = 0; i < p->m->nwork && joined; i++) {
		const struct ws_work *w = &p->m->work[i];

		if (w->correlation && w->process != WS_NONE)
			WS_FORWARD(ws_launch_ids_note(&p->ids, w->process, w->correlation,
			                              WS_LAUNCH_KERNEL, err));
	}
	return WS_OK;
}

enum ws_status ws_pass_read_ids(struct ws_pass *p, struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_KERNEL] = WS_COLUMN(kernel, correlation) | WS_COLUMN(kernel, config),
	};
	const struct ws_block_rows *rows = NULL;
	struct ws_feed *feed;
	int64_t until_ns;
	enum ws_status status;

	WS_FORWARD(ws_feed_open(&feed, p->l.r, columns, WS_FEED_BY_TIME, err));
	status = note_work(p, err);
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
