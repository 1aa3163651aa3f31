#include "tests/support/recorder/probe.h"

#include <criterion/criterion.h>

#include "recorder/drain/drain.h"

static void load(struct probe *p)
{
	struct ws_err err;

	for (unsigned k = 0; k < WS_KIND_END; k++) {
		if (!ws_schema_kind(k))
			continue;
		cr_assert_eq(ws_trace_reader_load(p->reader, (enum ws_kind)k, &p->table[k], &err),
		             WS_OK, "kind %u: %s", k, err.text);
	}
}

void probe_open(struct probe *p, const char *path)
{
	struct ws_err err;

	memset(p, 0, sizeof(*p));
	cr_assert_eq(ws_trace_reader_open(&p->reader, path, &err), WS_OK, "%s", err.text);
	load(p);
}

void probe_open_mem(struct probe *p, struct ws_bytes trace)
{
	struct ws_err err;

	memset(p, 0, sizeof(*p));
	cr_assert_eq(ws_trace_reader_open_mem(&p->reader, trace.ptr, trace.len, &err), WS_OK, "%s",
	             err.text);
	load(p);
}

void probe_close(struct probe *p)
{
	for (unsigned k = 0; k < WS_KIND_END; k++)
		if (ws_schema_kind(k))
			ws_column_data_release(&p->table[k]);
	ws_trace_reader_free(p->reader);
}

uint64_t probe_cell(const struct ws_column_data *t, unsigned column, uint64_t i)
{
	cr_assert_lt(i, t->rows, "row %lu of %lu", (unsigned long)i, (unsigned long)t->rows);
	return t->columns[column].present ? t->columns[column].v[i] : 0;
}

/* A few NUL-terminated copies at a time, so that two can stand in one comparison. */
static const char *copy(struct ws_bytes text)
{
	static char slots[16][512];
	static unsigned next;
	char *slot = slots[next++ % 16];

	snprintf(slot, sizeof(slots[0]), "%.*s", (int)text.len, (const char *)text.ptr);
	return slot;
}

const char *probe_text(const struct probe *p, uint64_t id)
{
	for (uint64_t i = 0; id && i < ROWS(p, string); i++)
		if (CELL(p, string, id, i) == id)
			return copy(BYTES(p, string, text, i));
	cr_assert_eq(id, 0, "string %lu is not in the trace", (unsigned long)id);
	return "";
}

const char *probe_meta(const struct probe *p, const char *key)
{
	const char *value = NULL;

	for (uint64_t i = 0; i < ROWS(p, meta); i++)
		if (!strcmp(copy(BYTES(p, meta, key, i)), key))
			value = copy(BYTES(p, meta, value, i));
	return value;
}

uint64_t probe_loss(const struct probe *p, const char *cause)
{
	uint64_t count = UINT64_MAX;

	for (uint64_t i = 0; i < ROWS(p, loss); i++)
		if (!strcmp(TEXT(p, loss, cause, i), cause))
			count = CELL(p, loss, count, i);
	return count;
}

uint64_t probe_losses(const struct probe *p)
{
	uint64_t n = 0;

	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		n += probe_loss(p, ws_dropped_name((enum ws_dropped)i));
	return n;
}

void probe_expect_no_loss(const struct probe *p)
{
	for (int i = 0; i < WS_DROPPED_COUNT; i++) {
		const char *name = ws_dropped_name((enum ws_dropped)i);

		cr_expect_eq(probe_loss(p, name), 0, "%s", name);
	}
}

uint64_t probe_count(const struct probe *p, unsigned type, const char *name)
{
	uint64_t id = 0, n = 0;

	for (uint64_t i = 0; i < ROWS(p, string); i++)
		if (!strcmp(copy(BYTES(p, string, text, i)), name))
			id = CELL(p, string, id, i);
	for (uint64_t i = 0; id && i < ROWS(p, nvtx); i++)
		n += CELL(p, nvtx, type, i) == type && CELL(p, nvtx, name, i) == id;
	return n;
}
