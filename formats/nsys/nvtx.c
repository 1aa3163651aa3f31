/*
 * NVTX_EVENTS of an Nsight Systems export: ranges become pushes and pops
 * again, in domains with their names.
 */
#include <inttypes.h>

#include "formats/base/grow.h"
#include "formats/nsys/nsys.h"

enum event_type {
	TYPE_CATEGORY = 33,
	TYPE_MARK = 34,
	TYPE_THREAD = 39,
	TYPE_PUSH_POP = 59,
	TYPE_START_END = 60,
	TYPE_IMPORTED_PUSH_POP = 70,
	TYPE_IMPORTED_START_END = 71,
	TYPE_DOMAIN_CREATE = 75,
	TYPE_DOMAIN_DESTROY = 76,
};

/* Entry types of the NVTX payload extension. */
enum payload_type {
	PAYLOAD_INT32 = 15,
	PAYLOAD_UINT32 = 16,
	PAYLOAD_INT64 = 17,
	PAYLOAD_UINT64 = 18,
	PAYLOAD_FLOAT = 19,
	PAYLOAD_DOUBLE = 20,
};

/* A domain belongs to a process; its number is small. */
static uint64_t domain_key(const struct ws_nsys_rows *r)
{
	return ws_nsys_pid(r, WS_NSYS_NVTX_globalTid) << 40 ^ ws_nsys_u64(r, WS_NSYS_NVTX_domainId);
}

static enum ws_status message(const struct ws_nsys_rows *r, uint64_t *name, struct ws_err *err)
{
	struct ws_bytes text = ws_nsys_bytes(r, WS_NSYS_NVTX_text);

	if (text.len)
		return ws_import_text(r->n->out, text, name, err);
	return ws_nsys_string(r, WS_NSYS_NVTX_textId, name, err);
}

/*
 * Push and pop pair up within a domain, and the trace knows domains by name
 * only. So each gets a name of its own: one without a name, and the second of
 * a name in a process, get one made of their number.
 */
static enum ws_status name_domain(const struct ws_nsys_rows *r, uint64_t key, struct ws_bytes name,
                                  uint64_t *id, struct ws_err *err)
{
	struct ws_nsys *n = r->n;
	uint64_t number = ws_nsys_u64(r, WS_NSYS_NVTX_domainId), taken;
	char text[300];
	int len;

	WS_FORWARD(ws_import_text(n->out, name, id, err));
	taken = ws_nsys_pid(r, WS_NSYS_NVTX_globalTid) << 40 ^ *id;
	if (!*id || ws_map_get(&n->domain_names, taken)) {
		if (name.len > 200)
			name.len = 200;
		len = snprintf(text, sizeof(text), *id ? "%.*s (%llu)" : "%.*sdomain %llu",
		               (int)name.len, name.len ? (const char *)name.ptr : "",
		               (unsigned long long)number);
		WS_FORWARD(ws_import_text(n->out, (struct ws_bytes){text, (size_t)len}, id, err));
	}
	ws_map_add(&n->domain_names, taken, key);
	ws_map_add(&n->domains, key, *id);
	return WS_OK;
}

static enum ws_status domain_of(const struct ws_nsys_rows *r, uint64_t *id, struct ws_err *err)
{
	uint64_t key = domain_key(r);
	const uint64_t *known = ws_map_get(&r->n->domains, key);

	*id = known ? *known : 0;
	if (known || !ws_nsys_u64(r, WS_NSYS_NVTX_domainId))
		return WS_OK;
	return name_domain(r, key, (struct ws_bytes){NULL, 0}, id, err);
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

static enum ws_status payload(const struct ws_nsys_rows *r, uint64_t *id, struct ws_err *err)
{
	static const struct {
		enum ws_nsys_column column;
		enum payload_type type;
		size_t bytes;
	} values[] = {
	        {WS_NSYS_NVTX_uint64Value, PAYLOAD_UINT64, 8},
	        {WS_NSYS_NVTX_int64Value, PAYLOAD_INT64, 8},
	        {WS_NSYS_NVTX_doubleValue, PAYLOAD_DOUBLE, 8},
	        {WS_NSYS_NVTX_uint32Value, PAYLOAD_UINT32, 4},
	        {WS_NSYS_NVTX_int32Value, PAYLOAD_INT32, 4},
	        {WS_NSYS_NVTX_floatValue, PAYLOAD_FLOAT, 4},
	};

	const uint64_t *own = own_payload(r->n, ws_nsys_u64(r, WS_NSYS_NVTX_eventId));

	*id = own ? *own : 0;
	if (own)
		return WS_OK;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		enum ws_nsys_column c = values[i].column;
		int64_t integer;
		double real;
		float single;

		if (ws_nsys_is_null(r, c))
			continue;
		integer = ws_nsys_i64(r, c);
		real = ws_nsys_real(r, c);
		single = (float)real;
		/* little-endian: the low half of an integer comes first */
		return ws_trace_writer_intern_payload(r->n->out->w, values[i].type,
		                                      values[i].type == PAYLOAD_DOUBLE
		                                              ? (const void *)&real
		                                      : values[i].type == PAYLOAD_FLOAT
		                                              ? (const void *)&single
		                                              : &integer,
		                                      values[i].bytes, id, err);
	}
	return WS_OK;
}

static enum ws_status take_range(const struct ws_nsys_rows *r, struct ws_import_range *range,
                                 struct ws_err *err)
{
	WS_FORWARD(domain_of(r, &range->domain, err));
	range->category = ws_nsys_u64(r, WS_NSYS_NVTX_category);
	range->color = ws_nsys_u64(r, WS_NSYS_NVTX_color);
	WS_FORWARD(ws_nsys_thread(r, WS_NSYS_NVTX_globalTid, &range->thread, err));
	WS_FORWARD(message(r, &range->name, err));
	return payload(r, &range->payload, err);
}

static enum ws_status on_mark(const struct ws_nsys_rows *r, struct ws_err *err)
{
	struct ws_import_range mark = {.start_ns = ws_nsys_i64(r, WS_NSYS_NVTX_start)};
	struct ws_row_nvtx row = {.time_ns = mark.start_ns, .type = WS_NVTX_MARK};

	if (!ws_import_time_ok(r->n->out, mark.start_ns, 0))
		return WS_OK;
	WS_FORWARD(take_range(r, &mark, err));
	row.thread = mark.thread;
	row.domain = mark.domain;
	row.name = mark.name;
	row.category = mark.category;
	row.color = mark.color;
	row.payload = mark.payload;
	return ws_import_record(r->n->out, WS_KIND_NVTX, &row, err);
}

static enum ws_status on_category(const struct ws_nsys_rows *r, struct ws_err *err)
{
	struct ws_row_category row = {.id = ws_nsys_u64(r, WS_NSYS_NVTX_category)};

	WS_FORWARD(domain_of(r, &row.domain, err));
	WS_FORWARD(message(r, &row.name, err));
	return ws_import_record(r->n->out, WS_KIND_CATEGORY, &row, err);
}

static enum ws_status on_thread(const struct ws_nsys_rows *r, struct ws_err *err)
{
	uint64_t thread, pid = ws_nsys_pid(r, WS_NSYS_NVTX_globalTid);
	uint64_t tid = (uint64_t)ws_nsys_i64(r, WS_NSYS_NVTX_globalTid) & 0xffffff;
	struct ws_row_thread row = {.pid = pid, .tid = tid};

	WS_FORWARD(ws_nsys_thread(r, WS_NSYS_NVTX_globalTid, &thread, err));
	row.id = thread;
	WS_FORWARD(message(r, &row.name, err));
	ws_import_keep(r->n->out, 1);
	return row.name ? ws_import_row(r->n->out, WS_KIND_THREAD, &row, err) : WS_OK;
}

static enum ws_status on_range(const struct ws_nsys_rows *r, struct ws_import_nest *nest,
                               int push_pop, struct ws_err *err)
{
	struct ws_import_range range = {.start_ns = ws_nsys_i64(r, WS_NSYS_NVTX_start),
	                                .end_ns = WS_IMPORT_OPEN};
	uint64_t end_thread;
	int64_t dur_ns;

	if (!ws_nsys_is_null(r, WS_NSYS_NVTX_end)) {
		if (!ws_nsys_span(r, WS_NSYS_NVTX_start, WS_NSYS_NVTX_end, &range.start_ns,
		                  &dur_ns))
			return WS_OK;
		range.end_ns = range.start_ns + dur_ns;
	} else if (!ws_import_time_ok(r->n->out, range.start_ns, 0)) {
		return WS_OK;
	}
	WS_FORWARD(take_range(r, &range, err));
	ws_import_keep(r->n->out, 1);
	if (push_pop)
		return ws_import_nest_add(nest, &range, err);
	end_thread = range.thread;
	if (!ws_nsys_is_null(r, WS_NSYS_NVTX_endGlobalTid))
		WS_FORWARD(ws_nsys_thread(r, WS_NSYS_NVTX_endGlobalTid, &end_thread, err));
	return ws_import_start_end(r->n->out, &range, end_thread, err);
}

static enum ws_status on_event(const struct ws_nsys_rows *r, struct ws_import_nest *nest,
                               uint64_t *others, struct ws_err *err)
{
	switch (ws_nsys_i64(r, WS_NSYS_NVTX_eventType)) {
	case TYPE_PUSH_POP:
	case TYPE_IMPORTED_PUSH_POP:
		return on_range(r, nest, 1, err);
	case TYPE_START_END:
	case TYPE_IMPORTED_START_END:
		return on_range(r, nest, 0, err);
	case TYPE_MARK:
		return on_mark(r, err);
	case TYPE_CATEGORY:
		return on_category(r, err);
	case TYPE_THREAD:
		return on_thread(r, err);
	case TYPE_DOMAIN_CREATE: /* ws_nsys_import_nvtx has their names */
	case TYPE_DOMAIN_DESTROY:
		ws_import_keep(r->n->out, 1);
		return WS_OK;
	default:
		(*others)++;
		return WS_OK;
	}
}

/* Names of domains stand in events of their own; the earliest wins. */
static enum ws_status read_domains(struct ws_nsys *n, struct ws_err *err)
{
	/* they are read, and counted, once more with all events */
	const uint64_t bad = n->out->lost[WS_LOST_import_bad_value];
	const uint64_t events = n->out->stats->events;
	struct ws_nsys_rows rows;
	enum ws_status status;
	char tail[60];

	snprintf(tail, sizeof(tail), "WHERE eventType = %d ORDER BY start", TYPE_DOMAIN_CREATE);
	ws_nsys_open_rows(n, WS_NSYS_NVTX, tail, &rows);
	status = WS_OK;
	while (status == WS_OK && ws_nsys_next(&rows)) {
		struct ws_bytes name = ws_nsys_bytes(&rows, WS_NSYS_NVTX_text);
		uint64_t id, key = domain_key(&rows);

		if (ws_map_get(&n->domains, key))
			continue;
		if (!name.len)
			name = ws_nsys_string_bytes(&rows, WS_NSYS_NVTX_textId);
		status = name_domain(&rows, key, name, &id, err);
	}
	ws_nsys_close(&rows);
	n->out->lost[WS_LOST_import_bad_value] = bad;
	n->out->stats->events = events;
	return status;
}

enum ws_status ws_nsys_import_nvtx(struct ws_nsys *n, struct ws_err *err)
{
	/* by thread and domain, the outer range first: as the pushes came; open ranges are longest
	 */
	static const char order[] = "ORDER BY %s %s start, %s %s";
	struct ws_import_nest nest = {.out = n->out};
	struct ws_nsys_rows rows;
	enum ws_status status;
	uint64_t others = 0;
	char tail[160];

	if (!ws_nsys_has_column(n, "NVTX_EVENTS", "start") ||
	    !ws_nsys_has_column(n, "NVTX_EVENTS", "eventType"))
		return WS_OK;
	snprintf(tail, sizeof(tail), order,
	         ws_nsys_has_column(n, "NVTX_EVENTS", "globalTid") ? "globalTid," : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "domainId") ? "domainId," : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "end") ? "\"end\" IS NOT NULL, \"end\" DESC,"
	                                                     : "",
	         ws_nsys_has_column(n, "NVTX_EVENTS", "eventId") ? "eventId" : "rowid");
	WS_FORWARD(read_domains(n, err));
	ws_nsys_open_rows(n, WS_NSYS_NVTX, tail, &rows);
	status = WS_OK;
	while (status == WS_OK && ws_nsys_next(&rows))
		status = on_event(&rows, &nest, &others, err);
	ws_nsys_close(&rows);
	WS_THEN(status, ws_import_nest_finish(&nest, err));
	ws_import_nest_free(&nest);
	ws_import_skip(n->out, "NVTX events of other types", others);
	return status;
}
