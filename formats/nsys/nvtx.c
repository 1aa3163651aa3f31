/*
 * NVTX_EVENTS of an Nsight Systems export: ranges become pushes and pops
 * again, in domains with their names.
 */
#include <inttypes.h>

#include "formats/base/grow.h"
#include "formats/nsys/nsys.h"

/* A domain belongs to a process; its number is small. */
static uint64_t domain_key(const struct ws_nsys_rows *r)
{
	return ws_nsys_pid(r, WS_NSYS_NVTX_globalTid) << 40 ^ ws_nsys_u64(r, WS_NSYS_NVTX_domainId);
}

static void message(const struct ws_nsys_rows *r, uint64_t *name)
{
	struct ws_bytes text = ws_nsys_bytes(r, WS_NSYS_NVTX_text);

	if (text.len) {
		ws_import_text(r->n->out, text, name);
		return;
	}
	ws_nsys_string(r, WS_NSYS_NVTX_textId, name);
}

/*
 * Push and pop pair up within a domain, and the trace knows domains by name
 * only. So each gets a name of its own: one without a name, and the second of
 * a name in a process, get one made of their number.
 */
static void name_domain(const struct ws_nsys_rows *r, uint64_t key, struct ws_bytes name,
                        uint64_t *id)
{
	struct ws_nsys *n = r->n;
	uint64_t number = ws_nsys_u64(r, WS_NSYS_NVTX_domainId), taken;
	char text[300];
	int len;

	ws_import_text(n->out, name, id);
	taken = ws_nsys_pid(r, WS_NSYS_NVTX_globalTid) << 40 ^ *id;
	if (!*id || ws_map_get(&n->domain_names, taken)) {
		if (name.len > 200)
			name.len = 200;
		len = snprintf(text, sizeof(text), *id ? "%.*s (%llu)" : "%.*sdomain %llu",
		               (int)name.len, name.len ? (const char *)name.ptr : "",
		               (unsigned long long)number);
		ws_import_text(n->out, (struct ws_bytes){text, (size_t)len}, id);
	}
	ws_map_add(&n->domain_names, taken, key);
	ws_map_add(&n->domains, key, *id);
}

static void domain_of(const struct ws_nsys_rows *r, uint64_t *id)
{
	uint64_t key = domain_key(r);
	const uint64_t *known = ws_map_get(&r->n->domains, key);

	*id = known ? *known : 0;
	if (known || !ws_nsys_u64(r, WS_NSYS_NVTX_domainId))
		return;
	name_domain(r, key, (struct ws_bytes){NULL, 0}, id);
}

/* The payload that one of our own exports tells of an event, which mostly come in order. */
static const uint64_t *own_payload(struct ws_nsys *n, uint64_t event)
{
	size_t at = n->event_payload_at;

	if (at == n->nevent_payloads || n->event_payload[at].key != event)
		WS_COUNT_FIRST(at, n->nevent_payloads, n->event_payload[at].key < event);
	if (at == n->nevent_payloads || n->event_payload[at].key != event)
		return ws_map_get(&n->other_payloads, event);
	n->event_payload_at = at + 1;
	return &n->event_payload[at].value;
}

static void payload(const struct ws_nsys_rows *r, uint64_t *id)
{
	const uint64_t *own = own_payload(r->n, ws_nsys_u64(r, WS_NSYS_NVTX_eventId));

	*id = own ? *own : 0;
	for (size_t i = 0; i < WS_NSYS_PAYLOADS && !own; i++) {
		const struct ws_nsys_payload *p = &ws_nsys_payloads[i];
		const int64_t integer = ws_nsys_i64(r, p->column);
		const double real = p->is_real ? ws_nsys_real(r, p->column) : 0;
		const float single = (float)real;

		if (ws_nsys_is_null(r, p->column))
			continue;
		/* little-endian: the low half of an integer comes first */
		ws_trace_writer_intern_payload(r->n->out->w, p->schema,
		                               !p->is_real     ? (const void *)&integer
		                               : p->bytes == 8 ? (const void *)&real
		                                               : &single,
		                               p->bytes, id, NULL);
		return;
	}
}

static void take_range(const struct ws_nsys_rows *r, struct ws_import_range *range)
{
	domain_of(r, &range->domain);
	range->category = ws_nsys_u64(r, WS_NSYS_NVTX_category);
	range->color = ws_nsys_u64(r, WS_NSYS_NVTX_color);
	ws_nsys_thread(r, WS_NSYS_NVTX_globalTid, &range->thread);
	message(r, &range->name);
	payload(r, &range->payload);
}

static void on_mark(const struct ws_nsys_rows *r)
{
	struct ws_import_range mark = {.start_ns = ws_nsys_i64(r, WS_NSYS_NVTX_start)};
	struct ws_row_nvtx row = {.time_ns = mark.start_ns, .type = WS_NVTX_MARK};

	if (!ws_import_time_ok(r->n->out, mark.start_ns, 0))
		return;
	take_range(r, &mark);
	row.thread = mark.thread;
	row.domain = mark.domain;
	row.name = mark.name;
	row.category = mark.category;
	row.color = mark.color;
	row.payload = mark.payload;
	ws_import_record(r->n->out, WS_KIND_NVTX, &row);
}

static void on_category(const struct ws_nsys_rows *r)
{
	struct ws_row_category row = {.id = ws_nsys_u64(r, WS_NSYS_NVTX_category)};

	domain_of(r, &row.domain);
	message(r, &row.name);
	ws_import_record(r->n->out, WS_KIND_CATEGORY, &row);
}

static void on_thread(const struct ws_nsys_rows *r)
{
	uint64_t thread, pid = ws_nsys_pid(r, WS_NSYS_NVTX_globalTid);
	uint64_t tid = (uint64_t)ws_nsys_i64(r, WS_NSYS_NVTX_globalTid) & 0xffffff;
	struct ws_row_thread row = {.pid = pid, .tid = tid};

	ws_nsys_thread(r, WS_NSYS_NVTX_globalTid, &thread);
	row.id = thread;
	message(r, &row.name);
	ws_import_keep(r->n->out, 1);
	if (row.name)
		ws_import_row(r->n->out, WS_KIND_THREAD, &row);
}

static void on_range(const struct ws_nsys_rows *r, struct ws_import_nest *nest, int push_pop)
{
	struct ws_import_range range = {.start_ns = ws_nsys_i64(r, WS_NSYS_NVTX_start),
	                                .end_ns = WS_IMPORT_OPEN};
	uint64_t end_thread;
	int64_t dur_ns;

	if (!ws_nsys_is_null(r, WS_NSYS_NVTX_end)) {
		if (!ws_nsys_span(r, WS_NSYS_NVTX_start, WS_NSYS_NVTX_end, &range.start_ns,
		                  &dur_ns))
			return;
		range.end_ns = range.start_ns + dur_ns;
	} else if (!ws_import_time_ok(r->n->out, range.start_ns, 0)) {
		return;
	}
	take_range(r, &range);
	ws_import_keep(r->n->out, 1);
	if (push_pop) {
		ws_import_nest_add(nest, &range);
		return;
	}
	end_thread = range.thread;
	if (!ws_nsys_is_null(r, WS_NSYS_NVTX_endGlobalTid))
		ws_nsys_thread(r, WS_NSYS_NVTX_endGlobalTid, &end_thread);
	ws_import_start_end(r->n->out, &range, end_thread);
}

static void on_event(const struct ws_nsys_rows *r, struct ws_import_nest *nest, uint64_t *others)
{
	switch (ws_nsys_i64(r, WS_NSYS_NVTX_eventType)) {
	case WS_NSYS_PUSH_POP:
	case WS_NSYS_IMPORTED_PUSH_POP:
		on_range(r, nest, 1);
		return;
	case WS_NSYS_START_END:
	case WS_NSYS_IMPORTED_START_END:
		on_range(r, nest, 0);
		return;
	case WS_NSYS_MARK:
		on_mark(r);
		return;
	case WS_NSYS_CATEGORY:
		on_category(r);
		return;
	case WS_NSYS_THREAD_NAME:
		on_thread(r);
		return;
	case WS_NSYS_DOMAIN_CREATE: /* ws_nsys_import_nvtx has their names */
	case WS_NSYS_DOMAIN_DESTROY:
		ws_import_keep(r->n->out, 1);
		return;
	default:
		(*others)++;
		return;
	}
}

/* Names of domains stand in events of their own; the earliest wins. */
static void read_domains(struct ws_nsys *n)
{
	/* they are read, and counted, once more with all events */
	const uint64_t bad = n->out->lost[WS_LOST_import_bad_value];
	const uint64_t events = n->out->stats->events;
	struct ws_nsys_rows rows;
	char tail[60];

	snprintf(tail, sizeof(tail), "WHERE eventType = %d ORDER BY start", WS_NSYS_DOMAIN_CREATE);
	ws_nsys_open_rows(n, WS_NSYS_NVTX, tail, &rows);
	while (ws_nsys_next(&rows)) {
		struct ws_bytes name = ws_nsys_bytes(&rows, WS_NSYS_NVTX_text);
		uint64_t id, key = domain_key(&rows);

		if (ws_map_get(&n->domains, key))
			continue;
		if (!name.len)
			name = ws_nsys_string_bytes(&rows, WS_NSYS_NVTX_textId);
		name_domain(&rows, key, name, &id);
	}
	ws_nsys_close(&rows);
	n->out->lost[WS_LOST_import_bad_value] = bad;
	n->out->stats->events = events;
}

void ws_nsys_import_nvtx(struct ws_nsys *n)
{
	/* by thread and domain, the outer range first: as the pushes came; open ranges are longest
	 */
	static const char order[] = "ORDER BY %s %s start, %s %s";
	struct ws_import_nest nest = {.out = n->out};
	struct ws_nsys_rows rows;
	uint64_t others = 0;
	char tail[160];

	if (!ws_nsys_has_column(n, "NVTX_EVENTS", "start") ||
	    !ws_nsys_has_column(n, "NVTX_EVENTS", "eventType"))
		return;
	snprintf(tail, sizeof(tail), order,
	         ws_nsys_has_column(n, "NVTX_EVENTS", "globalTid") ? "globalTid," : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "domainId") ? "domainId," : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "end") ? "\"end\" IS NOT NULL, \"end\" DESC,"
	                                                     : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "eventId") ? "eventId" : "rowid");
	read_domains(n);
	ws_nsys_open_rows(n, WS_NSYS_NVTX, tail, &rows);
	while (ws_nsys_next(&rows))
		on_event(&rows, &nest, &others);
	ws_nsys_close(&rows);
	ws_import_nest_finish(&nest);
	ws_import_nest_free(&nest);
	ws_import_skip(n->out, "NVTX events of other types", others);
}
