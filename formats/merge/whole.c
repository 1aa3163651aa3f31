/* Devices, loss counters and meta rows: one set of them for all traces. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/merge/private.h"

/* --- devices --- */

/* The attributes of a device as text: all of them, or those two that are its UUID. Their number. */
static unsigned put_attrs(FILE *f, const struct ws_merge_source *s,
                          const struct ws_column_data *attrs, uint64_t device,
                          const uint64_t uuid[2])
{
	unsigned n = 0;

	for (uint64_t i = 0; i < attrs->rows; i++) {
		uint64_t attr = ws_merge_mapped(&s->maps[WS_KIND_STRING],
		                                ws_merge_cell(attrs, WS_COL_device_attr_attr, i));

		if (ws_merge_cell(attrs, WS_COL_device_attr_device, i) != device ||
		    (uuid && attr != uuid[0] && attr != uuid[1]))
			continue;
		fprintf(f, "%llu=%lld;", (unsigned long long)attr,
		        (long long)ws_merge_cell(attrs, WS_COL_device_attr_value, i));
		n++;
	}
	return n;
}

/*
 * What tells a device from all others, as text; *facts NULL: too little is known. A GPU is told by
 * its UUID and nothing else: bus numbers are used again in each PCI domain, and on each machine.
 */
static void describe_device(struct ws_merge *m, const struct ws_merge_source *s,
                            const struct ws_column_data *devices, uint64_t row,
                            const struct ws_column_data *attrs, char **facts)
{
	const uint64_t kind = ws_merge_cell(devices, WS_COL_device_kind, row);
	const uint64_t id = ws_merge_cell(devices, WS_COL_device_id, row);
	const bool is_cpu = kind == WS_DEVICE_CPU_REFERENCE;
	uint64_t uuid[2];
	unsigned n;
	size_t size;
	FILE *f;

	*facts = NULL;
	ws_trace_writer_intern(m->writer, "uuid_high", 9, &uuid[0], NULL);
	ws_trace_writer_intern(m->writer, "uuid_low", 8, &uuid[1], NULL);
	f = ws_xmemstream(facts, &size);
	fprintf(f, "%llu:", (unsigned long long)kind);
	n = put_attrs(f, s, attrs, id, is_cpu ? NULL : uuid);
	ws_xfclose(f);
	if (!is_cpu && n < 2) {
		free(*facts);
		*facts = NULL;
	}
}

static const struct ws_merge_device *find_device(const struct ws_merge *m, const char *facts)
{
	for (size_t i = 0; facts && i < m->ndevices; i++)
		if (m->devices[i].facts && !strcmp(m->devices[i].facts, facts))
			return &m->devices[i];
	return NULL;
}

static bool device_id_is_used(const struct ws_merge *m, uint64_t id)
{
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].id == id)
			return 1;
	return 0;
}

/* A device of its own, under its own number when that is free. Takes facts. */
static uint64_t new_device(struct ws_merge *m, uint64_t wish, char *facts)
{
	WS_GROW(m->devices, m->ndevices + 1, m->devices_capacity);
	while (device_id_is_used(m, wish))
		wish++;
	m->devices[m->ndevices++] = (struct ws_merge_device){wish, facts};
	return wish;
}

/* Rows of devices that are another trace's already are left out, and so are their attributes. */
enum ws_status ws_merge_devices(struct ws_merge *m, struct ws_merge_source *s,
                                const struct ws_column_data *devices,
                                const struct ws_column_data *attrs, struct ws_err *err)
{
	struct ws_map *map = &s->maps[WS_KIND_DEVICE];
	size_t before = m->ndevices;

	for (uint64_t i = 0; i < devices->rows; i++) {
		uint64_t old_id = ws_merge_cell(devices, WS_COL_device_id, i), id = 0;
		const struct ws_merge_device *same;
		struct ws_row_device row;
		char *facts;

		WS_FAIL_IF(old_id > UINT32_MAX, err, CORRUPT, "device number %llu is out of bounds",
		           (unsigned long long)old_id);
		if (!ws_merge_mapped(map, old_id + 1)) {
			describe_device(m, s, devices, i, attrs, &facts);
			same = find_device(m, facts);
			if (same) {
				free(facts);
				id = same->id;

			} else {
				id = new_device(m, old_id, facts);
			}
			ws_map_put(map, old_id + 1, id + 1);
		}
		ws_merge_make_row(m, s, devices, i, &row);
		row.id = ws_merge_mapped(map, old_id + 1) - 1;
		for (size_t d = before; d < m->ndevices; d++)
			if (m->devices[d].id == row.id)
				ws_trace_writer_add(m->writer, WS_KIND_DEVICE, &row, NULL);
	}
	for (uint64_t i = 0; i < attrs->rows; i++) {
		struct ws_row_device_attr row;

		ws_merge_make_row(m, s, attrs, i, &row);
		for (size_t d = before; d < m->ndevices; d++)
			if (m->devices[d].id == row.device)
				ws_trace_writer_add(m->writer, WS_KIND_DEVICE_ATTR, &row, NULL);
	}
	return WS_OK;
}

/* --- losses: each trace's counters go up by themselves; the sum goes up with each --- */

void ws_merge_note_losses(struct ws_merge *m, struct ws_merge_source *s,
                          const struct ws_column_data *t)
{
	WS_GROW(m->losses, m->nlosses + t->rows, m->losses_capacity);
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_row_loss row;

		ws_merge_make_row(m, s, t, i, &row);
		m->losses[m->nlosses++] =
		        (struct ws_merge_loss){row.time_ns, s->index, row.cause, row.count};
	}
}

static int by_cause_and_time(const void *a, const void *b)
{
	const struct ws_merge_loss *x = a, *y = b;

	WS_ORDER_BY(x->cause, y->cause);
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void ws_merge_losses(struct ws_merge *m)
{
	uint64_t *last = ws_xarray(m->nsources, sizeof(*last)), sum = 0;

	if (m->nlosses)
		qsort(m->losses, m->nlosses, sizeof(*m->losses), by_cause_and_time);
	for (size_t i = 0; i < m->nlosses; i++) {
		const struct ws_merge_loss *loss = &m->losses[i];
		struct ws_row_loss row = {.time_ns = loss->time_ns, .cause = loss->cause};

		if (i && loss->cause != m->losses[i - 1].cause) {
			memset(last, 0, m->nsources * sizeof(*last));
			sum = 0;
		}
		sum += loss->count - last[loss->source];
		last[loss->source] = loss->count;
		row.count = sum;
		ws_trace_writer_add(m->writer, WS_KIND_LOSS, &row, NULL);
	}
	free(last);
}

/* --- meta: once what is the same in all traces, under its process what is not --- */

static bool is_equal(struct ws_bytes a, struct ws_bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

static bool has_meta(const struct ws_column_data *t, struct ws_bytes key, struct ws_bytes value)
{
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_bytes k = ws_merge_blob(t, WS_COL_meta_key, i);
		struct ws_bytes v = ws_merge_blob(t, WS_COL_meta_value, i);

		if (is_equal(k, key) && is_equal(v, value))
			return 1;
	}
	return 0;
}

/* The first value of the key, empty when there is none. */
static struct ws_bytes find_meta(const struct ws_column_data *t, const char *key)
{
	for (uint64_t i = 0; i < t->rows; i++)
		if (is_equal(ws_merge_blob(t, WS_COL_meta_key, i), ws_bytes_of(key)))
			return ws_merge_blob(t, WS_COL_meta_value, i);
	return (struct ws_bytes){NULL, 0};
}

/*
 * Traces of one boot of one machine have one clock, whatever became of the real time
 * between them. Their first one says where that clock stands beside other machines'.
 */
void ws_merge_clocks(struct ws_merge *m, const struct ws_column_data *tables)
{
	for (size_t i = 0; i < m->nsources; i++) {
		struct ws_merge_source *s = &m->sources[i];
		struct ws_bytes number = find_meta(&tables[i], "clock.base_ns");
		char text[24] = "";

		s->base_ns = ws_trace_reader_summary(s->reader)->base_ns;
		if (!number.len || number.len >= sizeof(text))
			continue;
		memcpy(text, number.ptr, number.len);
		s->boot_ns = strtoll(text, NULL, 10);
		s->boot = find_meta(&tables[i], "clock.boot");
	}
	for (size_t i = 0; i < m->nsources; i++) {
		struct ws_merge_source *s = &m->sources[i], *first = s;
		int64_t base_ns;

		for (size_t k = 0; s->boot.len && k < m->nsources; k++)
			if (is_equal(m->sources[k].boot, s->boot) &&
			    m->sources[k].boot_ns < first->boot_ns)
				first = &m->sources[k];
		/* the first one's own stays, so its order does not matter */
		if (!__builtin_sub_overflow(s->boot_ns, first->boot_ns, &base_ns) &&
		    !__builtin_add_overflow(base_ns, first->base_ns, &base_ns))
			s->base_ns = base_ns;
	}
}

static void add_process_meta(struct ws_merge *m, const struct ws_merge_source *s,
                             struct ws_bytes key, struct ws_bytes value)
{
	static const char process[] = "process.";
	struct ws_row_meta row = {.value = value};
	char *name;

	/* process.rank becomes process.PID.rank */
	if (key.len > strlen(process) && !memcmp(key.ptr, process, strlen(process))) {
		key.ptr = (const char *)key.ptr + strlen(process);
		key.len -= strlen(process);
	}
	name = ws_xformat("%s%llu.%.*s", process, (unsigned long long)s->pid, (int)key.len,
	                  (const char *)key.ptr);
	row.key = ws_bytes_of(name);
	ws_trace_writer_add(m->writer, WS_KIND_META, &row, NULL);
	free(name);
}

void ws_merge_meta(struct ws_merge *m, const struct ws_column_data *tables)
{
	char count[24];

	for (size_t n = 0; n < m->nsources; n++) {
		for (uint64_t i = 0; i < tables[n].rows; i++) {
			struct ws_row_meta row = {
			        .key = ws_merge_blob(&tables[n], WS_COL_meta_key, i),
			        .value = ws_merge_blob(&tables[n], WS_COL_meta_value, i),
			};
			size_t same = 0;

			for (size_t other = 0; other < m->nsources; other++)
				same += has_meta(&tables[other], row.key, row.value) != 0;
			if (same == m->nsources && !n)
				ws_trace_writer_add(m->writer, WS_KIND_META, &row, NULL);
			if (same != m->nsources)
				add_process_meta(m, &m->sources[n], row.key, row.value);
		}
	}
	snprintf(count, sizeof(count), "%zu", m->nsources);
	ws_trace_writer_meta(m->writer, "record.merged", count, NULL);
}
