/*
 * From the blocks of a trace to the rows of the join: which columns, in which
 * order.
 */

#include "report/pass/private.h"

/* --- rows -------------------------------------------------------------------------------- */

static void show_progress(struct ws_pass *p)
{
	if (p->l.opts->progress)
		p->l.opts->progress(p->m->name, ++p->taken_blocks, p->m->file.blocks);
}

static enum ws_status take_thread_rows(void *pass, const struct ws_block_rows *rows, uint32_t block,
                                       int64_t until_ns, struct ws_err *err)
{
	struct ws_pass *p = pass;

	show_progress(p);
	WS_FORWARD(ws_pass_take_thread_rows(p, rows, block, err));
	if (!p->joins) {
		/* Rows of the current block, in their order. */
		uint32_t number;

		for (size_t i = p->taken.first; i < p->taken.n; i++) {
			const struct ws_pass_row *row = (struct ws_pass_row *)p->taken.rows + i;

			if (row->description.type == WS_THREAD_EVENT_API)
				ws_pass_emit_call(p, row, WS_NONE, &number);
		}
		return WS_OK;
	}
	ws_pass_rows_merge(&p->rows, &p->taken);
	return ws_pass_join(p, until_ns, err);
}

static enum ws_status take_kernels(void *pass, const struct ws_block_rows *rows, uint32_t block,
                                   int64_t until_ns, struct ws_err *err)
{
	struct ws_pass *p = pass;
	struct ws_pass_rows *waiting = &p->rows;

	show_progress(p);
	WS_FORWARD(ws_pass_take_kernels(p, rows, block, err));
	ws_pass_rows_merge(waiting, &p->taken);
	for (; waiting->first < waiting->n; waiting->first++) {
		const struct ws_pass_kernel *k =
		        (struct ws_pass_kernel *)waiting->rows + waiting->first;

		if (k->start_ns >= until_ns && until_ns != INT64_MAX)
			break;
		p->m->devices[p->m->configs[k->config].device].kernels++;
		p->sink->kernel(p->sink->ctx, k);
	}
	return WS_OK;
}

static enum ws_status tell_kernels(struct ws_pass *p, ws_column_set of_kernels, struct ws_err *err)
{
	const ws_column_set columns[WS_KIND_END] = {[WS_KIND_KERNEL] = of_kernels};

	free(p->rows.rows);
	p->rows = (struct ws_pass_rows){.row_size = sizeof(struct ws_pass_kernel)};
	return ws_feed_each(p->l.r, columns, take_kernels, p, err);
}

/* Of all names at once: what is sized by the number of texts comes after it. */
static void normalize_names(struct ws_model *m)
{
	const uint32_t n = (uint32_t)m->ntexts;

	for (uint32_t i = 0; i < n; i++)
		ws_steady_text(m, i);
}

static enum ws_status join(struct ws_pass *p, struct ws_err *err)
{
	struct ws_model *m = p->m;

	WS_FORWARD(ws_load_dictionaries(&p->l, err));
	WS_FORWARD(ws_load_work(&p->l, err));
	WS_FORWARD(ws_load_memory(&p->l, err));
	WS_FORWARD(ws_load_counters(&p->l, err));
	WS_FORWARD(ws_load_graph_nodes(&p->l, err));
	ws_pass_find_captures(p);
	WS_FORWARD(ws_load_calibration(&p->l, err));
	if (ws_framework_is_in(p->l.r))
		WS_FORWARD(ws_framework_load(&p->framework, &p->l, err));
	normalize_names(m);
	ws_pass_find_step_module(p);
	WS_FORWARD(ws_pass_read_ends(p, err));

	const ws_column_set columns[WS_KIND_END] = {
	        [WS_KIND_API] = WS_COLUMN(api, start_ns) | WS_COLUMN(api, dur_ns) |
	                        WS_COLUMN(api, thread) | WS_COLUMN(api, correlation) |
	                        WS_COLUMN(api, name) | WS_COLUMN(api, result),
	        [WS_KIND_NVTX] = WS_PASS_EVENT_COLUMNS,
	};

	p->rows.row_size = sizeof(struct ws_pass_row);
	WS_FORWARD(ws_feed_each(p->l.r, columns, take_thread_rows, p, err));
	WS_FORWARD(ws_pass_end(p, err));
	p->sink->halfway(p->sink->ctx, m);
	WS_FORWARD(tell_kernels(p,
	                        WS_COLUMN(kernel, start_ns) | WS_COLUMN(kernel, dur_ns) |
	                                WS_COLUMN(kernel, flags) | WS_COLUMN(kernel, config) |
	                                WS_COLUMN(kernel, correlation) |
	                                (m->ngraph_nodes ? WS_COLUMN(kernel, graph_node) : 0),
	                        err));
	if (p->first_ns <= p->last_ns)
		ws_extend_time(m, p->first_ns, p->last_ns);
	if (m->begin_ns > m->end_ns)
		m->begin_ns = m->end_ns = 0;
	return WS_OK;
}

/* --- rows that need no join --------------------------------------------------------------- */

/* *may_have: steps, which are the scope. */
static enum ws_status tell_unjoined(struct ws_pass *p, const struct ws_pass_unjoined *wanted,
                                    bool *may_have, struct ws_err *err)
{
	const ws_column_set calls[WS_KIND_END] = {[WS_KIND_API] = WS_COLUMN(api, dur_ns) |
	                                                          WS_COLUMN(api, name) |
	                                                          WS_COLUMN(api, result)};
	const ws_column_set kernels = WS_COLUMN(kernel, config) | WS_COLUMN(kernel, start_ns) |
	                              WS_COLUMN(kernel, dur_ns) | WS_COLUMN(kernel, flags) |
	                              WS_COLUMN(kernel, correlation);

	WS_FORWARD(ws_load_dictionaries(&p->l, err));
	if (wanted->scope == WS_SCOPE_STEPS) {
		/* Measured steps are all of a trace in which nothing is called like a step or marks
		 * one, and no module is called. */
		normalize_names(p->m);
		*may_have |= ws_trace_reader_count(p->l.r, WS_KIND_PYTHON_CALL) ||
		             ws_pass_names_steps(p->m);
	}
	if (*may_have)
		return WS_OK;
	WS_FORWARD(ws_load_work(&p->l, err));
	p->sink->halfway(p->sink->ctx, p->m);
	if (wanted->calls)
		WS_FORWARD(ws_feed_each(p->l.r, calls, take_thread_rows, p, err));
	return wanted->kernels ? tell_kernels(p, kernels, err) : WS_OK;
}

/* --- makes ranges for exports from events -------------------------------------------------- */

#define ROW_BYTES sizeof(struct ws_recorded_range)

struct pairing {
	struct ws_pass *p;
	struct ws_range_pairs pairs; /* their ranges: rows of p->recorded */
};

/* Values of a beginning range, or of a mark. */
static void add_recorded(struct ws_spill *rows, size_t *n, const struct ws_pass_row *event)
{
	const struct ws_recorded_range row = {event->time_ns, event->time_ns, event->id,
	                                      event->recorded, WS_NONE};

	ws_spill_put(rows, ROW_BYTES, (*n)++, &row);
}

static void end(struct ws_recorded_ranges *to, uint32_t range, const struct ws_pass_row *event)
{
	if (range == WS_NONE) {
		to->dangling++;
		return;
	}
	struct ws_recorded_range *row = ws_spill_row(&to->ranges, ROW_BYTES, range);
	row->end_ns = event->time_ns;
	row->end = event->recorded;
}

static enum ws_status pair(void *ctx, const struct ws_pass_row *row, struct ws_err *err)
{
	struct pairing *pairing = ctx;
	const struct ws_event_descriptor *e = &row->description;
	struct ws_recorded_ranges *to = pairing->p->recorded;
	const uint32_t next = (uint32_t)to->nranges;

	(void)err;
	switch (e->type) {
	case WS_NVTX_PUSH:
		add_recorded(&to->ranges, &to->nranges, row);
		ws_range_push(&pairing->pairs, e->thread, e->domain, next);
		return WS_OK;
	case WS_NVTX_START:
		add_recorded(&to->ranges, &to->nranges, row);
		ws_range_start(&pairing->pairs, e->process, row->id, next);
		return WS_OK;
	case WS_NVTX_POP:
		end(to, ws_range_pop(&pairing->pairs, e->thread, e->domain), row);
		return WS_OK;
	case WS_NVTX_END:
		end(to, ws_range_end(&pairing->pairs, e->process, row->id), row);
		return WS_OK;
	default:
		add_recorded(&to->marks, &to->nmarks, row);
		return WS_OK;
	}
}

static uint32_t rank_of(const void *ranks, const void *row)
{
	const struct ws_recorded_range *range = row;

	return ((const uint32_t *)ranks)[range->begin];
}

/* Events become p->recorded. */
static enum ws_status ws_pass_pair_recorded(struct ws_pass *p, struct ws_err *err)
{
	const uint64_t events = ws_trace_reader_count(p->l.r, WS_KIND_NVTX);
	struct ws_recorded_ranges *to = p->recorded;
	struct pairing pairing = {.p = p};

	WS_FAIL_IF(events >= WS_NONE, err, NO_MEMORY,
	           "the trace has %llu NVTX events, more than an export handles",
	           (unsigned long long)events);
	ws_spill_open(&to->ranges, events * ROW_BYTES);
	ws_spill_open(&to->marks, events * ROW_BYTES);
	enum ws_status status = ws_pass_each_event(p, pair, &pairing, err);
	ws_range_pairs_free(&pairing.pairs);
	if (status == WS_OK) {
		/* Threads by id. Each event has the rank of its thread. */
		struct ws_spill_key key = {.n = 0, .key = rank_of};
		struct ws_arena temp = {0};
		uint32_t *order, *rank;

		WS_NEW(&temp, order, to->nevents);
		WS_NEW(&temp, rank, to->nevents);
		int64_t *thread = ws_arena_array(&temp, to->nevents, sizeof(*thread));
		for (size_t i = 0; i < to->nevents; i++)
			thread[i] = (int64_t)to->events[i].thread;
		ws_order_identity(order, to->nevents);
		ws_order_by(order, thread, to->nevents);
		for (size_t i = 0; i < to->nevents; i++) {
			key.n += !i || thread[order[i]] != thread[order[i - 1]];
			rank[order[i]] = (uint32_t)key.n - 1;
		}
		key.ctx = rank;
		ws_spill_partition(&to->ranges, ROW_BYTES, to->nranges, &key);
		ws_spill_partition(&to->marks, ROW_BYTES, to->nmarks, &key);
		ws_arena_free(&temp);
	}
	return status;
}

void ws_recorded_ranges_free(struct ws_recorded_ranges *ranges)
{
	ws_spill_close(&ranges->ranges);
	ws_spill_close(&ranges->marks);
	free(ranges->events);
	*ranges = (struct ws_recorded_ranges){0};
}

/* --- the pass ---------------------------------------------------------------------------- */

static void release(struct ws_pass *p)
{
	ws_loader_release(&p->l);
	ws_framework_free(&p->framework);
	free(p->rows.rows);
	free(p->taken.rows);
	free(p->described);
	free(p->config_of_token);
	free(p->call_kinds);
	ws_strtab_free(&p->call_kind_of);
	ws_strtab_free(&p->recorded_of);
	ws_live_free(&p->live);
	ws_arena_free(&p->ends_arena);
	free(p->steps);
	free(p->process_ranges);
	free(p->groups);
	free(p->iteration_marks);
	free(p->marks);
}

static void begin(struct ws_pass *p, const struct ws_trace_reader *r, const char *name,
                  const struct ws_model_opts *opts, struct ws_model **m)
{
	static const struct ws_model_opts none;

	opts = opts ? opts : &none;
	p->first_ns = INT64_MAX;
	p->last_ns = INT64_MIN;
	ws_model_begin(m, r, name, opts);
	p->m = *m;
	p->l = (struct ws_loader){.m = *m, .r = r, .opts = opts};
	p->has_dur = ws_trace_reader_has_column(r, WS_KIND_KERNEL, WS_COL_kernel_dur_ns);
	p->live.events = ws_pass_live_events();
	p->live.ctx = p;
	p->live.arena = &p->m->arena;
}

enum ws_status ws_pass_run(const struct ws_trace_reader *r, const char *name,
                           const struct ws_model_opts *opts, const struct ws_joined_sink *sink,
                           struct ws_model **m, struct ws_err *err)
{
	struct ws_pass p = {.sink = sink, .joins = true};

	begin(&p, r, name, opts, m);
	enum ws_status status = join(&p, err);
	release(&p);
	if (status != WS_OK) {
		ws_model_free(*m);
		*m = NULL;
	}
	return status;
}

enum ws_status ws_pass_run_unjoined(const struct ws_trace_reader *r, const char *name,
                                    const struct ws_model_opts *opts,
                                    const struct ws_pass_unjoined *wanted,
                                    const struct ws_joined_sink *sink, struct ws_model **m,
                                    struct ws_err *err)
{
	struct ws_pass p = {.sink = sink};
	bool may_have = false;

	*m = NULL;
	if (wanted->scope > WS_SCOPE_STEPS || (opts && opts->step))
		return WS_OK;
	begin(&p, r, name, opts, m);
	p.l.plain_names = !wanted->names;
	enum ws_status status = tell_unjoined(&p, wanted, &may_have, err);
	release(&p);
	if (status != WS_OK || may_have) {
		ws_model_free(*m);
		*m = NULL;
	}
	return status;
}

enum ws_status ws_recorded_ranges_read(struct ws_recorded_ranges *ranges,
                                       const struct ws_trace_reader *r, struct ws_model **m,
                                       struct ws_err *err)
{
	struct ws_pass p = {.recorded = ranges};

	*m = NULL;
	*ranges = (struct ws_recorded_ranges){0};
	begin(&p, r, "", NULL, m);
	p.l.plain_names = true;
	enum ws_status status = ws_load_dictionaries(&p.l, err);
	WS_THEN(status, ws_pass_pair_recorded(&p, err));
	release(&p);
	return status;
}
