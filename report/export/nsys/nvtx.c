/*
 * NVTX_EVENTS of an export: ranges, marks, and the names of domains and
 * categories. The order of event ids is that of the begins on each thread, so
 * that of two ranges with the same times the outer one comes first.
 */
#include "report/export/nsys/nsys.h"

#include <stdbool.h>
#include "report/pass/recorded.h"

struct nvtx {
	struct ws_nsys_out *o;
	struct ws_strtab domains; /* string id of the name; its id is the domain's number */
	struct ws_strtab created; /* process and domain that have their event */
	struct ws_records payloads;
};

static void begin_event(struct nvtx *n, enum ws_nsys_event_type type, int64_t start_ns, int64_t tid)
{
	struct ws_nsys_out *o = n->o;

	SET(NVTX_start, start_ns);
	SET(NVTX_eventType, type);
	SET(NVTX_globalTid, tid);
}

/* Texts stand in the row: whether a program registered them is not recorded. */
static void put_event(struct nvtx *n, uint64_t text)
{
	if (text)
		ws_nsys_set_text(n->o, WS_NSYS_NVTX_text, ws_records_text(&n->o->strings, text));
	ws_nsys_put(n->o, WS_NSYS_NVTX);
}

/* The number of a domain, 0 for the default one; its event comes before its first use. */
static void domain_of(struct nvtx *n, uint64_t domain, int64_t time_ns, int64_t tid,
                      uint64_t *number)
{
	uint64_t key[2] = {(uint64_t)tid >> 24, domain};
	struct ws_nsys_out *o = n->o;

	*number = 0;
	if (!domain)
		return;
	*number = ws_strtab_find(&n->domains, &domain, sizeof(domain));
	if (!*number)
		*number = ws_strtab_add(&n->domains, &domain, sizeof(domain));
	if (ws_strtab_find(&n->created, key, sizeof(key)))
		return;
	ws_strtab_add(&n->created, key, sizeof(key));
	begin_event(n, WS_NSYS_DOMAIN_CREATE, time_ns, tid);
	SET(NVTX_domainId, *number);
	put_event(n, domain);
}

/* A number of one of NVTX's own types. 0: it is something else, which has no column. */
static bool set_number(struct nvtx *n, uint64_t id)
{
	const struct ws_row_payload *row = ws_records_find(&n->payloads, id);
	const struct ws_nsys_payload *p = ws_nsys_payloads;
	uint64_t bits = 0;
	float single;
	double real;

	if (!row)
		return false;
	while (p->schema != row->schema || p->bytes != row->bytes.len)
		if (++p == ws_nsys_payloads + WS_NSYS_PAYLOADS)
			return false;
	memcpy(&bits, row->bytes.ptr, p->bytes);
	memcpy(&real, &bits, sizeof(real));
	memcpy(&single, &bits, sizeof(single));
	if (p->is_real)
		ws_nsys_set_real(n->o, p->column, p->bytes == 8 ? real : (double)single);
	else if (p->is_signed && p->bytes == 4)
		ws_nsys_set(n->o, p->column, (int32_t)(uint32_t)bits);
	else
		ws_nsys_set(n->o, p->column, (int64_t)bits);
	return true;
}

/* After the event: its payload, where that did not fit into it. */
static void put_payload(struct nvtx *n, uint64_t id)
{
	struct ws_nsys_out *o = n->o;

	SET(OWN_PAYLOAD_eventId, o->rows[WS_NSYS_NVTX]);
	SET(OWN_PAYLOAD_payload, (int64_t)id);
	ws_nsys_put(o, WS_NSYS_OWN_PAYLOAD);
}

/* A range, or a mark. */
static void put_range(struct nvtx *n, const struct ws_recorded_ranges *ranges,
                      const struct ws_recorded_range *range)
{
	static const enum ws_nsys_event_type types[] = {[WS_NVTX_PUSH] = WS_NSYS_PUSH_POP,
	                                                [WS_NVTX_START] = WS_NSYS_START_END,
	                                                [WS_NVTX_MARK] = WS_NSYS_MARK};
	const struct ws_recorded_event *begin = &ranges->events[range->begin];
	const struct ws_recorded_event *end =
	        range->end == WS_NONE ? NULL : &ranges->events[range->end];
	struct ws_nsys_out *o = n->o;
	int64_t tid, end_tid = 0;
	uint64_t domain;
	bool is_set;

	ws_nsys_global_tid(o, begin->thread, &tid);
	if (end && end->thread != begin->thread)
		ws_nsys_global_tid(o, end->thread, &end_tid);
	domain_of(n, begin->domain, range->start_ns, tid, &domain);
	begin_event(n, types[begin->type], range->start_ns, tid);
	if (end)
		SET(NVTX_end, range->end_ns);
	if (begin->type == WS_NVTX_START)
		SET(NVTX_rangeId, range->id);
	SET_KNOWN(NVTX_category, begin->category);
	SET_KNOWN(NVTX_color, begin->color);
	SET_KNOWN(NVTX_endGlobalTid, end_tid);
	SET(NVTX_domainId, domain);
	is_set = !begin->payload || set_number(n, begin->payload);
	ws_nsys_extend(o, range->start_ns, range->end_ns);
	put_event(n, begin->name);
	if (!is_set)
		put_payload(n, begin->payload);
}

/* A category belongs to no thread: the trace's first stands for it. */
static void on_category(void *ctx, const void *data)
{
	const struct ws_row_category *row = data;
	struct nvtx *n = ctx;
	struct ws_nsys_out *o = n->o;
	uint64_t domain, first = o->threads.n ? ((struct ws_row_thread *)o->threads.rows)->id : 0;
	int64_t tid;

	ws_nsys_global_tid(o, first, &tid);
	domain_of(n, row->domain, 0, tid, &domain);
	begin_event(n, WS_NSYS_CATEGORY, 0, tid);
	SET(NVTX_category, row->id);
	SET(NVTX_domainId, domain);
	put_event(n, row->name);
}

enum ws_status ws_nsys_write_nvtx(struct ws_nsys_out *o, struct ws_err *err)
{
	struct nvtx n = {.o = o};
	struct ws_recorded_ranges ranges;
	struct ws_model *m;
	enum ws_status status = ws_recorded_ranges_read(&ranges, o->r, &m, err);

	WS_THEN(status, ws_records_load_by(&n.payloads, o->r, WS_KIND_PAYLOAD, 0, err));
	for (size_t i = 0; i < ranges.nranges && status == WS_OK; i++)
		put_range(&n, &ranges, ws_recorded_range(&ranges.ranges, i));
	for (size_t i = 0; i < ranges.nmarks && status == WS_OK; i++)
		put_range(&n, &ranges, ws_recorded_range(&ranges.marks, i));
	WS_THEN(status, ws_records_each(o->r, WS_KIND_CATEGORY, on_category, &n, err));
	o->stats->dangling = ranges.dangling;
	ws_recorded_ranges_free(&ranges);
	ws_model_free(m);
	ws_records_free(&n.payloads);
	ws_strtab_free(&n.domains);
	ws_strtab_free(&n.created);
	return status;
}
