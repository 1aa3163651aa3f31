/*
 * Events that are understood at the end of the file only: begins and ends, which pair up, and calls
 * and device work without a correlation id, which arrows or External ids bring together.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/pytorch/pytorch.h"

/* Correlation ids of our own: no profiler counts that far. */
#define FIRST_MADE_ID ((uint64_t)1 << 52)

/* --- keeping --- */

/* Rows of the timeline are known by pid and tid as they are written: "stream 7" is one, too. */
static uint64_t row_of(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	p->scratch.len = 0;
	ws_buf_put(&p->scratch, e->pid.text ? e->pid.text : "", e->pid.len);
	ws_buf_put(&p->scratch, "", 1);
	ws_buf_put(&p->scratch, e->tid.text ? e->tid.text : "", e->tid.len);
	return ws_strtab_add(&p->rows, p->scratch.data, p->scratch.len);
}

void ws_pytorch_defer(struct ws_pytorch *p, const struct ws_pytorch_event *e,
                      enum ws_pytorch_work work, bool is_call)
{
	struct ws_pytorch_deferred d = {.text = p->deferred_text.len,
	                                .len = e->text.len,
	                                .name_len = e->name.len,
	                                .correlation = ARG_U64(e, CORRELATION),
	                                .work = (uint8_t)work,
	                                .is_call = is_call,
	                                .phase = e->ph.text[0]};

	if (!ws_pytorch_time(p, &e->ts, &d.time_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return;
	}
	if (e->name.len)
		d.name = (size_t)(e->name.text - (const char *)e->text.ptr);
	d.lacks_id = work != WS_PYTORCH_NO_WORK && !d.correlation;
	d.external_id = ARG_U64(e, EXTERNAL_ID);
	if (!d.external_id)
		d.external_id = ARG_U64(e, EXTERNAL_ID_2021);
	p->without_id += d.lacks_id && !is_call;
	d.row = row_of(p, e);
	ws_buf_put(&p->deferred_text, e->text.ptr, e->text.len);
	WS_GROW(p->deferred, p->ndeferred + 1, p->deferred_capacity);
	p->deferred[p->ndeferred++] = d;
}

/* --- arrows --- */

void ws_pytorch_arrow(struct ws_pytorch *p, const struct ws_pytorch_event *e)
{
	struct ws_pytorch_arrow *arrow;
	int64_t time_ns, id;
	uint64_t key[2], at;

	if ((p->has_ids && !p->without_id) || !ws_json_i64(&e->id, &id) || id <= 0 ||
	    !ws_pytorch_time(p, &e->ts, &time_ns)) {
		p->dropped[WS_DROPPED_ARROW]++;
		return;
	}
	key[0] = row_of(p, e);
	key[1] = (uint64_t)time_ns;
	at = ws_strtab_add(&p->arrow_ends, key, sizeof(key));
	if (at > p->narrows) {
		WS_GROW(p->arrows, p->narrows + 1, p->arrows_capacity);
		p->arrows[p->narrows++] = (struct ws_pytorch_arrow){.id = (uint64_t)id};
	}
	arrow = &p->arrows[at - 1];
	arrow->events++;
	if (arrow->id != (uint64_t)id)
		arrow->id = 0;
}

static void count_arrows(struct ws_pytorch *p)
{
	for (size_t i = 0; i < p->narrows; i++) {
		if (p->arrows[i].is_used)
			ws_import_keep(p->out, p->arrows[i].events);
		else
			p->dropped[WS_DROPPED_ARROW] += p->arrows[i].events;
	}
	p->narrows = 0;
}

void ws_pytorch_forget_arrows(struct ws_pytorch *p)
{
	if (p->has_ids)
		return;
	p->has_ids = true;
	if (p->without_id)
		return;
	count_arrows(p);
	ws_strtab_free(&p->arrow_ends);
}

static void follow_arrow(struct ws_pytorch *p, struct ws_pytorch_deferred *d, uint64_t *found)
{
	const uint64_t key[2] = {d->row, (uint64_t)d->time_ns};
	const uint64_t at = ws_strtab_find(&p->arrow_ends, key, sizeof(key));

	if (!at || !p->arrows[at - 1].id)
		return;
	p->arrows[at - 1].is_used = true;
	d->correlation = p->arrows[at - 1].id;
	*found += !d->is_call;
}

/* --- External ids --- */

static int compare_external(const void *a, const void *b)
{
	const struct ws_pytorch_deferred *x = *(struct ws_pytorch_deferred *const *)a;
	const struct ws_pytorch_deferred *y = *(struct ws_pytorch_deferred *const *)b;

	WS_ORDER_BY(x->external_id, y->external_id);
	WS_ORDER_BY(x->work, y->work);
	WS_ORDER_BY(y->is_call, x->is_call);
	WS_ORDER_BY(x->time_ns, y->time_ns);
	WS_ORDER_BY(x->text, y->text);
	return 0;
}

/*
 * Calls of an operation and as many pieces of work of that kind, all on one stream, face each other
 * in their order. Else the work's operation is known, and its call is not.
 */
static void link_group(struct ws_pytorch_deferred *const *group, size_t n, uint64_t *made,
                       uint64_t *found)
{
	size_t calls = 0;
	bool pairs;

	while (calls < n && group[calls]->is_call)
		calls++;
	pairs = calls * 2 == n;
	for (size_t i = calls; i < n; i++)
		pairs &= group[i]->row == group[calls]->row;
	for (size_t i = calls; i < n; i++) {
		group[i]->correlation = (*made)++;
		if (pairs)
			group[i - calls]->correlation = group[i]->correlation;
	}
	*found += pairs ? calls : 0;
}

static void link_by_external_id(struct ws_pytorch *p, uint64_t *found)
{
	struct ws_pytorch_deferred **some = ws_xarray(p->ndeferred + 1, sizeof(*some));
	uint64_t made = FIRST_MADE_ID;
	size_t n = 0;

	for (size_t i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].lacks_id && !p->deferred[i].correlation &&
		    p->deferred[i].external_id)
			some[n++] = &p->deferred[i];
	qsort(some, n, sizeof(*some), compare_external);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && some[to]->external_id == some[from]->external_id &&
		                    some[to]->work == some[from]->work;)
			to++;
		link_group(some + from, to - from, &made, found);
	}
	free(some);
}

static void find_ids(struct ws_pytorch *p)
{
	uint64_t by_arrow = 0, by_external_id = 0;

	p->without_id = 0; /* once more, without begins that have no end or whose end has an id */
	for (size_t i = 0; i < p->ndeferred; i++) {
		p->deferred[i].lacks_id &= p->deferred[i].phase == 'X' || p->deferred[i].end;
		p->without_id += p->deferred[i].lacks_id && !p->deferred[i].is_call;
	}
	if (!p->without_id)
		return;
	for (size_t i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].lacks_id)
			follow_arrow(p, &p->deferred[i], &by_arrow);
	link_by_external_id(p, &by_external_id);
	ws_import_warn(p->out,
	               "device work without a correlation id: %" PRIu64
	               ". Its launch is found by an arrow: %" PRIu64
	               ", by an External id: %" PRIu64,
	               p->without_id, by_arrow, by_external_id);
}

/* --- correlation ids that no call has --- */

static bool has_call(const struct ws_pytorch *p, uint64_t correlation)
{
	/* key 0 of a map is slower */
	const uint64_t *ids = ws_map_get(&p->call_ids, correlation / 64 + 1);

	return ids && *ids >> correlation % 64 & 1;
}

void ws_pytorch_call_id(struct ws_pytorch *p, uint64_t correlation)
{
	const uint64_t *ids = ws_map_get(&p->call_ids, correlation / 64 + 1);

	ws_map_put(&p->call_ids, correlation / 64 + 1,
	           (ids ? *ids : 0) | (uint64_t)1 << correlation % 64);
}

void ws_pytorch_work_id(struct ws_pytorch *p, uint64_t correlation, bool has_operation)
{
	/* those found here are counted by how they were found */
	if (!correlation || correlation >= FIRST_MADE_ID || has_call(p, correlation))
		return;
	WS_GROW(p->work_ids, p->nwork_ids + 1, p->work_ids_capacity);
	p->work_ids[p->nwork_ids++] = (struct ws_pytorch_id){correlation, has_operation};
}

void ws_pytorch_count_work_without_call(struct ws_pytorch *p)
{
	uint64_t n[2] = {0, 0};

	for (size_t i = 0; i < p->nwork_ids; i++)
		if (!has_call(p, p->work_ids[i].correlation))
			n[p->work_ids[i].has_operation]++;
	if (n[0] + n[1])
		ws_import_warn(p->out,
		               "device work with a correlation id that no call has: %" PRIu64
		               ". Its operation is known by an External id: %" PRIu64,
		               n[0] + n[1], n[1]);
}

/* --- begins and ends --- */

static int compare_rows(const void *a, const void *b)
{
	const struct ws_pytorch_deferred *x = *(struct ws_pytorch_deferred *const *)a;
	const struct ws_pytorch_deferred *y = *(struct ws_pytorch_deferred *const *)b;

	WS_ORDER_BY(x->row, y->row);
	WS_ORDER_BY(x->time_ns, y->time_ns);
	WS_ORDER_BY(x->text, y->text); /* as they stand in the file */
	return 0;
}

/* An end needs no name; one that it has is that of its begin. */
static bool ends(const struct ws_pytorch *p, const struct ws_pytorch_deferred *begin,
                 const struct ws_pytorch_deferred *end)
{
	const uint8_t *text = p->deferred_text.data;

	return !end->name_len || (end->name_len == begin->name_len &&
	                          !memcmp(text + begin->text + begin->name,
	                                  text + end->text + end->name, end->name_len));
}

/* The events of one row, in order of time: an end closes the innermost begin that it may. */
static void pair_row(struct ws_pytorch *p, struct ws_pytorch_deferred *const *event, size_t n,
                     struct ws_pytorch_deferred **open)
{
	size_t depth = 0, at;

	for (size_t i = 0; i < n; i++) {
		if (event[i]->phase == 'B') {
			open[depth++] = event[i];
			continue;
		}
		for (at = depth; at && !ends(p, open[at - 1], event[i]);)
			at--;
		if (!at) {
			p->dropped[WS_DROPPED_END]++;
			continue;
		}
		depth = at - 1; /* begins inside it have lost their ends */
		open[depth]->end = (size_t)(event[i] - p->deferred) + 1;
		open[depth]->lacks_id &= !event[i]->correlation;
		if (!open[depth]->external_id)
			open[depth]->external_id = event[i]->external_id;
	}
}

static void pair_events(struct ws_pytorch *p)
{
	struct ws_pytorch_deferred **event = ws_xarray(2 * p->ndeferred + 1, sizeof(*event));
	size_t n = 0;

	for (size_t i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].phase != 'X')
			event[n++] = &p->deferred[i];
	qsort(event, n, sizeof(*event), compare_rows);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && event[to]->row == event[from]->row;)
			to++;
		pair_row(p, event + from, to - from, event + p->ndeferred);
	}
	free(event);
}

/* --- what they become --- */

/* The event once more; its text was read before. */
static void read_again(struct ws_pytorch *p, const struct ws_pytorch_deferred *d,
                       struct ws_pytorch_event *e)
{
	const struct ws_json_value text = {.type = WS_JSON_OBJECT,
	                                   .text = (const char *)p->deferred_text.data + d->text,
	                                   .len = d->len};
	struct ws_json_faults counted = {0};
	struct ws_json_reader j = ws_json_inside(&text, &counted);

	ws_pytorch_parse(p, &j, e);
}

static struct ws_json_value number(const char *text)
{
	return (struct ws_json_value){.type = WS_JSON_NUMBER, .text = text, .len = strlen(text)};
}

/* A begin becomes the whole event: how long it took, and arguments that the end has. */
static void take_end(struct ws_pytorch *p, const struct ws_pytorch_deferred *begin,
                     struct ws_pytorch_event *e, char dur[48])
{
	const struct ws_pytorch_deferred *end = &p->deferred[begin->end - 1];
	struct ws_pytorch_event last;
	int64_t dur_ns;

	read_again(p, end, &last);
	for (unsigned i = 0; i < WS_PYTORCH_ARGS; i++)
		if (e->arg[i].type == WS_JSON_ABSENT)
			e->arg[i] = last.arg[i];
	if (__builtin_sub_overflow(end->time_ns, begin->time_ns, &dur_ns))
		return;
	snprintf(dur, 48, "%" PRId64 ".%03" PRId64, dur_ns / 1000, dur_ns % 1000);
	e->dur = number(dur);
}

static void put(struct ws_pytorch *p, const struct ws_pytorch_deferred *d,
                ws_pytorch_event_fn complete)
{
	const uint64_t kept = p->out->stats->kept;
	char dur[48], id[24];
	struct ws_pytorch_event e;

	if (d->phase == 'E')
		return; /* it is written with its begin */
	if (d->phase == 'B' && !d->end) {
		p->dropped[WS_DROPPED_BEGIN]++;
		return;
	}
	read_again(p, d, &e);
	if (d->phase == 'B')
		take_end(p, d, &e, dur);
	if (d->lacks_id && d->correlation) {
		snprintf(id, sizeof(id), "%" PRIu64, d->correlation);
		e.arg[WS_ARG_CORRELATION] = number(id);
	}
	complete(p, &e);
	if (d->phase != 'B')
		return;
	if (p->out->stats->kept > kept)
		ws_import_keep(p->out, 1);
	else
		p->dropped[WS_DROPPED_END_LEFT_OUT]++;
}

void ws_pytorch_put_deferred(struct ws_pytorch *p, ws_pytorch_event_fn complete)
{
	pair_events(p);
	find_ids(p);
	count_arrows(p);
	for (size_t i = 0; i < p->ndeferred; i++)
		put(p, &p->deferred[i], complete);
}
