#include "recorder/merge.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/references.h"
#include "formats/trace_reader.h"
#include "formats/trace_writer.h"

/* What the program gave a number of its own, and what NVTX knows, lie below. */
#define FIRST_OWN_SCHEMA (UINT64_C(1) << 24)
/* Ids that are distinct in a trace become distinct in all: the trace's number goes on top. */
#define TRACE_SHIFT 48
#define MAX_TRACES  (1u << 15)

/* New ids by old id; 0: there is no such row. */
struct map {
	uint64_t *ids;
	size_t size;
};

struct source {
	struct ws_trace_reader *reader;
	uint64_t index;               /* of the trace */
	int64_t shift_ns;             /* of its time 0 */
	uint64_t pid;                 /* of its first process, 0 = none */
	struct map maps[WS_KIND_END]; /* of string, payload, launch_config, device */
	uint64_t thread_offset, op_config_offset;
};

struct device {
	uint64_t id; /* in the merged trace */
	char *facts; /* what makes it the same as another trace's; NULL: nothing does */
};

struct loss {
	int64_t time_ns;
	uint64_t source, cause, count;
};

struct merge {
	struct ws_trace_writer *writer;
	struct source *sources;
	size_t nsources;
	struct device *devices;
	size_t ndevices;
	uint64_t threads, op_configs; /* highest ids so far */
	struct loss *losses;
	size_t nlosses;
};

static uint64_t cell(const struct ws_table_data *t, unsigned column, uint64_t row)
{
	return t->columns[column].present ? t->columns[column].v[row] : 0;
}

static struct ws_bytes blob(const struct ws_table_data *t, unsigned column, uint64_t row)
{
	if (!t->columns[column].present)
		return (struct ws_bytes){NULL, 0};
	return t->columns[column].b[row];
}

/* --- ids --- */

static enum ws_status map_id(struct map *map, uint64_t id, uint64_t new_id, struct ws_err *err)
{
	/* ids are counted, so one far beyond the rows so far is damage, not size */
	if (id >= map->size) {
		size_t size = map->size ? map->size : 1024;
		uint64_t *ids;

		WS_FAIL_IF(id > UINT32_MAX, err, CORRUPT, "an id of %llu is out of bounds",
		           (unsigned long long)id);
		while (size <= id)
			size *= 2;
		ids = realloc(map->ids, size * sizeof(*ids));
		WS_FAIL_IF(!ids, err, NO_MEMORY, "out of memory for merging");
		memset(ids + map->size, 0, (size - map->size) * sizeof(*ids));
		map->ids = ids;
		map->size = size;
	}
	map->ids[id] = new_id;
	return WS_OK;
}

static uint64_t mapped(const struct map *map, uint64_t id)
{
	return id < map->size ? map->ids[id] : 0;
}

static uint64_t distinct(const struct source *s, uint64_t id)
{
	return id ? id + (s->index << TRACE_SHIFT) : 0;
}

static uint64_t schema_id(const struct source *s, uint64_t id)
{
	return id < FIRST_OWN_SCHEMA ? id : distinct(s, id);
}

/* What an id of another row becomes. */
static uint64_t referred(const struct source *s, const struct ws_ref_column *ref, uint64_t id)
{
	uint64_t device;

	if (!id && ref->zero_is_none)
		return 0;
	switch (ref->target) {
	case WS_KIND_THREAD:
		return id + s->thread_offset;
	case WS_KIND_OP_CONFIG:
		return id + s->op_config_offset;
	case WS_KIND_PAYLOAD_SCHEMA:
		return schema_id(s, id);
	case WS_KIND_DEVICE:
		/* numbered from 0, so the map is of id + 1; one whose row is damaged stays */
		device = mapped(&s->maps[WS_KIND_DEVICE], id + 1);
		return device ? device - 1 : id;
	default:
		return mapped(&s->maps[ref->target], id);
	}
}

/* Columns that are ids without being references. */
static int is_distinct(const struct ws_kind_def *def, unsigned column)
{
	const char *name = def->columns[column].name;

	return !strcmp(name, "correlation") || !strcmp(name, "event_correlation") ||
	       (def->id == WS_KIND_NVTX && column == WS_COL_nvtx_range);
}

static int is_schema(const struct ws_kind_def *def, unsigned column)
{
	return (def->id == WS_KIND_PAYLOAD_SCHEMA && column == WS_COL_payload_schema_id) ||
	       (def->id == WS_KIND_PAYLOAD_FIELD && column == WS_COL_payload_field_type) ||
	       (def->id == WS_KIND_PAYLOAD_ENUM && column == WS_COL_payload_enum_id) ||
	       (def->id == WS_KIND_PAYLOAD && column == WS_COL_payload_schema);
}

/* Any row's struct, from the table, with new ids and times. */
static void make_row(const struct source *s, const struct ws_table_data *t, uint64_t i, void *row)
{
	const struct ws_kind_def *def = t->def;

	for (unsigned c = 0; c < def->ncolumns; c++) {
		const struct ws_column_def *column = &def->columns[c];
		char *place = (char *)row + column->row_offset;
		struct ws_ref_column ref;
		uint64_t value;

		if (column->type == WS_TYPE_BLOB) {
			struct ws_bytes bytes = blob(t, c, i);

			memcpy(place, &bytes, sizeof(bytes));
			continue;
		}
		value = cell(t, c, i);
		if (column->type == WS_TYPE_TIME)
			value += (uint64_t)s->shift_ns;
		else if (ws_ref_column_at(def, c, &ref))
			value = referred(s, &ref, value);
		else if (is_distinct(def, c))
			value = distinct(s, value);
		else if (is_schema(def, c))
			value = schema_id(s, value);
		memcpy(place, &value, sizeof(value));
	}
}

/* --- kinds that are more than their rows --- */

static enum ws_status add_strings(struct merge *m, struct source *s, const struct ws_table_data *t,
                                  struct ws_err *err)
{
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_bytes text = blob(t, WS_COL_string_text, i);
		uint64_t id;

		WS_FORWARD(ws_trace_writer_intern(m->writer, text.ptr, text.len, &id, err));
		WS_FORWARD(map_id(&s->maps[WS_KIND_STRING], cell(t, WS_COL_string_id, i), id, err));
	}
	return WS_OK;
}

static enum ws_status add_payloads(struct merge *m, struct source *s, const struct ws_table_data *t,
                                   struct ws_err *err)
{
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_bytes bytes = blob(t, WS_COL_payload_bytes, i);
		uint64_t schema = schema_id(s, cell(t, WS_COL_payload_schema, i)), id;

		WS_FORWARD(ws_trace_writer_intern_payload(m->writer, schema, bytes.ptr, bytes.len,
		                                          &id, err));
		WS_FORWARD(
		        map_id(&s->maps[WS_KIND_PAYLOAD], cell(t, WS_COL_payload_id, i), id, err));
	}
	return WS_OK;
}

static enum ws_status add_configs(struct merge *m, struct source *s, const struct ws_table_data *t,
                                  struct ws_err *err)
{
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_row_launch_config row;
		uint64_t id;

		make_row(s, t, i, &row);
		WS_FORWARD(ws_trace_writer_intern_config(m->writer, &row, &id, err));
		WS_FORWARD(map_id(&s->maps[WS_KIND_LAUNCH_CONFIG],
		                  cell(t, WS_COL_launch_config_id, i), id, err));
	}
	return WS_OK;
}

/* Ids 1, 2, 3 …, of which a later row may say more: they go on where the others ended. */
static enum ws_status add_counted(struct merge *m, struct source *s, const struct ws_table_data *t,
                                  unsigned id_column, uint64_t offset, uint64_t *highest,
                                  struct ws_err *err)
{
	union {
		struct ws_row_thread thread;
		struct ws_row_op_config op_config;
	} row;

	for (uint64_t i = 0; i < t->rows; i++) {
		uint64_t id = cell(t, id_column, i) + offset;

		make_row(s, t, i, &row);
		memcpy((char *)&row + t->def->columns[id_column].row_offset, &id, sizeof(id));
		WS_FORWARD(ws_trace_writer_add(m->writer, t->def->id, &row, err));
		if (id > *highest)
			*highest = id;
	}
	return WS_OK;
}

/* --- devices --- */

static void put_attrs(FILE *f, const struct source *s, const struct ws_table_data *attrs,
                      uint64_t device, uint64_t pci_bus, int *has_bus)
{
	for (uint64_t i = 0; i < attrs->rows; i++) {
		uint64_t attr;

		if (cell(attrs, WS_COL_device_attr_device, i) != device)
			continue;
		attr = mapped(&s->maps[WS_KIND_STRING], cell(attrs, WS_COL_device_attr_attr, i));
		*has_bus |= attr == pci_bus;
		fprintf(f, "%llu=%lld;", (unsigned long long)attr,
		        (long long)cell(attrs, WS_COL_device_attr_value, i));
	}
}

/* What is known of a device, as text; *facts NULL: too little to tell it from others. */
static enum ws_status describe_device(struct merge *m, const struct source *s,
                                      const struct ws_table_data *devices, uint64_t row,
                                      const struct ws_table_data *attrs, char **facts,
                                      struct ws_err *err)
{
	static const char bus[] = "pci_bus";
	uint64_t kind = cell(devices, WS_COL_device_kind, row), pci_bus;
	int has_bus = kind == WS_DEVICE_CPU_REFERENCE;
	char *text = NULL;
	size_t size;
	FILE *f;

	*facts = NULL;
	WS_FORWARD(ws_trace_writer_intern(m->writer, bus, sizeof(bus) - 1, &pci_bus, err));
	f = open_memstream(&text, &size);
	WS_FAIL_IF(!f, err, NO_MEMORY, "out of memory for merging");
	fprintf(f, "%llu:", (unsigned long long)kind);
	put_attrs(f, s, attrs, cell(devices, WS_COL_device_id, row), pci_bus, &has_bus);
	if (fclose(f)) {
		free(text);
		return WS_FAIL(err, NO_MEMORY, "out of memory for merging");
	}
	if (has_bus)
		*facts = text;
	else
		free(text);
	return WS_OK;
}

static const struct device *find_device(const struct merge *m, const char *facts)
{
	for (size_t i = 0; facts && i < m->ndevices; i++)
		if (m->devices[i].facts && !strcmp(m->devices[i].facts, facts))
			return &m->devices[i];
	return NULL;
}

static int device_id_is_used(const struct merge *m, uint64_t id)
{
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].id == id)
			return 1;
	return 0;
}

/* A device of its own, under its own number when that is free. Takes facts. */
static enum ws_status new_device(struct merge *m, uint64_t wish, char *facts, uint64_t *id,
                                 struct ws_err *err)
{
	struct device *devices = realloc(m->devices, (m->ndevices + 1) * sizeof(*devices));

	if (!devices) {
		free(facts);
		return WS_FAIL(err, NO_MEMORY, "out of memory for merging");
	}
	m->devices = devices;
	while (device_id_is_used(m, wish))
		wish++;
	m->devices[m->ndevices++] = (struct device){wish, facts};
	*id = wish;
	return WS_OK;
}

/* Rows of devices that are another trace's already are left out, and so are their attributes. */
static enum ws_status add_devices(struct merge *m, struct source *s,
                                  const struct ws_table_data *devices,
                                  const struct ws_table_data *attrs, struct ws_err *err)
{
	struct map *map = &s->maps[WS_KIND_DEVICE];
	size_t before = m->ndevices;

	for (uint64_t i = 0; i < devices->rows; i++) {
		uint64_t old_id = cell(devices, WS_COL_device_id, i), id = 0;
		const struct device *same;
		struct ws_row_device row;
		char *facts;

		WS_FAIL_IF(old_id > UINT32_MAX, err, CORRUPT, "a device %llu is out of bounds",
		           (unsigned long long)old_id);
		if (!mapped(map, old_id + 1)) {
			WS_FORWARD(describe_device(m, s, devices, i, attrs, &facts, err));
			same = find_device(m, facts);
			if (same) {
				free(facts);
				id = same->id;
			} else {
				WS_FORWARD(new_device(m, old_id, facts, &id, err));
			}
			WS_FORWARD(map_id(map, old_id + 1, id + 1, err));
		}
		make_row(s, devices, i, &row);
		row.id = mapped(map, old_id + 1) - 1;
		for (size_t d = before; d < m->ndevices; d++)
			if (m->devices[d].id == row.id)
				WS_FORWARD(
				        ws_trace_writer_add(m->writer, WS_KIND_DEVICE, &row, err));
	}
	for (uint64_t i = 0; i < attrs->rows; i++) {
		struct ws_row_device_attr row;

		make_row(s, attrs, i, &row);
		for (size_t d = before; d < m->ndevices; d++)
			if (m->devices[d].id == row.device)
				WS_FORWARD(ws_trace_writer_add(m->writer, WS_KIND_DEVICE_ATTR, &row,
				                               err));
	}
	return WS_OK;
}

/* --- losses: each trace's counters go up by themselves; the sum goes up with each --- */

static enum ws_status note_losses(struct merge *m, const struct source *s,
                                  const struct ws_table_data *t, struct ws_err *err)
{
	struct loss *losses = realloc(m->losses, (m->nlosses + t->rows + 1) * sizeof(*losses));

	WS_FAIL_IF(!losses, err, NO_MEMORY, "out of memory for merging");
	m->losses = losses;
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_row_loss row;

		make_row(s, t, i, &row);
		m->losses[m->nlosses++] =
		        (struct loss){row.time_ns, s->index, row.cause, row.count};
	}
	return WS_OK;
}

static int by_cause_and_time(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static enum ws_status add_losses(struct merge *m, struct ws_err *err)
{
	uint64_t *last = calloc(m->nsources, sizeof(*last)), sum = 0;
	enum ws_status status = WS_OK;

	WS_FAIL_IF(!last, err, NO_MEMORY, "out of memory for merging");
	if (m->nlosses)
		qsort(m->losses, m->nlosses, sizeof(*m->losses), by_cause_and_time);
	for (size_t i = 0; status == WS_OK && i < m->nlosses; i++) {
		const struct loss *loss = &m->losses[i];
		struct ws_row_loss row = {.time_ns = loss->time_ns, .cause = loss->cause};

		if (i && loss->cause != m->losses[i - 1].cause) {
			memset(last, 0, m->nsources * sizeof(*last));
			sum = 0;
		}
		sum += loss->count - last[loss->source];
		last[loss->source] = loss->count;
		row.count = sum;
		status = ws_trace_writer_add(m->writer, WS_KIND_LOSS, &row, err);
	}
	free(last);
	return status;
}

/* --- meta: once what is the same in all traces, under its process what is not --- */

static int has_meta(const struct ws_table_data *t, struct ws_bytes key, struct ws_bytes value)
{
	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_bytes k = blob(t, WS_COL_meta_key, i);
		struct ws_bytes v = blob(t, WS_COL_meta_value, i);

		if (k.len == key.len && v.len == value.len && !memcmp(k.ptr, key.ptr, key.len) &&
		    !memcmp(v.ptr, value.ptr, value.len))
			return 1;
	}
	return 0;
}

static enum ws_status add_process_meta(struct merge *m, const struct source *s, struct ws_bytes key,
                                       struct ws_bytes value, struct ws_err *err)
{
	static const char process[] = "process.";
	struct ws_row_meta row = {.value = value};
	enum ws_status status;
	char *name;
	int n;

	/* process.rank becomes process.PID.rank */
	if (key.len > strlen(process) && !memcmp(key.ptr, process, strlen(process))) {
		key.ptr = (const char *)key.ptr + strlen(process);
		key.len -= strlen(process);
	}
	n = asprintf(&name, "%s%llu.%.*s", process, (unsigned long long)s->pid, (int)key.len,
	             (const char *)key.ptr);
	WS_FAIL_IF(n < 0, err, NO_MEMORY, "out of memory for merging");
	row.key = (struct ws_bytes){name, (size_t)n};
	status = ws_trace_writer_add(m->writer, WS_KIND_META, &row, err);
	free(name);
	return status;
}

static enum ws_status add_meta(struct merge *m, const struct ws_table_data *tables,
                               struct ws_err *err)
{
	char count[24];

	for (size_t n = 0; n < m->nsources; n++) {
		for (uint64_t i = 0; i < tables[n].rows; i++) {
			struct ws_row_meta row = {
			        .key = blob(&tables[n], WS_COL_meta_key, i),
			        .value = blob(&tables[n], WS_COL_meta_value, i),
			};
			size_t same = 0;

			for (size_t other = 0; other < m->nsources; other++)
				same += has_meta(&tables[other], row.key, row.value) != 0;
			if (same == m->nsources && !n)
				WS_FORWARD(ws_trace_writer_add(m->writer, WS_KIND_META, &row, err));
			if (same != m->nsources)
				WS_FORWARD(add_process_meta(m, &m->sources[n], row.key, row.value,
				                            err));
		}
	}
	snprintf(count, sizeof(count), "%zu", m->nsources);
	return ws_trace_writer_meta(m->writer, "record.merged", count, err);
}

/* --- one trace after the other --- */

static enum ws_status add_rows(struct merge *m, const struct source *s,
                               const struct ws_table_data *t, struct ws_err *err)
{
	enum ws_status status = WS_OK;
	void *row = calloc(1, t->def->row_size);

	WS_FAIL_IF(!row, err, NO_MEMORY, "out of memory for merging");
	for (uint64_t i = 0; status == WS_OK && i < t->rows; i++) {
		make_row(s, t, i, row);
		status = ws_trace_writer_add(m->writer, t->def->id, row, err);
	}
	free(row);
	return status;
}

static enum ws_status add_kind(struct merge *m, struct source *s, const struct ws_table_data *t,
                               struct ws_err *err)
{
	struct ws_table_data attrs;
	enum ws_status status;

	switch (t->def->id) {
	case WS_KIND_SCHEMA: /* the writer's own */
	case WS_KIND_INDEX:
	case WS_KIND_META: /* done for all traces at once */
	case WS_KIND_DEVICE_ATTR:
		return WS_OK;
	case WS_KIND_STRING:
		return add_strings(m, s, t, err);
	case WS_KIND_PAYLOAD:
		return add_payloads(m, s, t, err);
	case WS_KIND_LAUNCH_CONFIG:
		return add_configs(m, s, t, err);
	case WS_KIND_THREAD:
		return add_counted(m, s, t, WS_COL_thread_id, s->thread_offset, &m->threads, err);
	case WS_KIND_OP_CONFIG:
		return add_counted(m, s, t, WS_COL_op_config_id, s->op_config_offset,
		                   &m->op_configs, err);
	case WS_KIND_DEVICE:
		WS_FORWARD(ws_trace_reader_load(s->reader, WS_KIND_DEVICE_ATTR, &attrs, err));
		status = add_devices(m, s, t, &attrs, err);
		ws_table_data_release(&attrs);
		return status;
	case WS_KIND_LOSS:
		return note_losses(m, s, t, err);
	default:
		return add_rows(m, s, t, err);
	}
}

/* Definitions before what names them. */
static enum ws_status add_source(struct merge *m, struct source *s, struct ws_err *err)
{
	s->thread_offset = m->threads;
	s->op_config_offset = m->op_configs;
	for (int dict = 1; dict >= 0; dict--) {
		for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
			const struct ws_kind_def *def = ws_schema_kind(kind);
			struct ws_table_data t;
			enum ws_status status;

			if (!def || def->is_dict != dict)
				continue;
			WS_FORWARD(ws_trace_reader_load(s->reader, (enum ws_kind)kind, &t, err));
			status = add_kind(m, s, &t, err);
			ws_table_data_release(&t);
			WS_FORWARD(status);
		}
	}
	return WS_OK;
}

static enum ws_status add_all_meta(struct merge *m, struct ws_err *err)
{
	struct ws_table_data *tables = calloc(m->nsources, sizeof(*tables));
	enum ws_status status = WS_OK;
	size_t loaded = 0;

	WS_FAIL_IF(!tables, err, NO_MEMORY, "out of memory for merging");
	while (status == WS_OK && loaded < m->nsources) {
		status = ws_trace_reader_load(m->sources[loaded].reader, WS_KIND_META,
		                              &tables[loaded], err);
		loaded += status == WS_OK;
	}
	if (status == WS_OK)
		status = add_meta(m, tables, err);
	while (loaded)
		ws_table_data_release(&tables[--loaded]);
	free(tables);
	return status;
}

/* --- begin and end --- */

static enum ws_status open_source(struct source *s, size_t index, const char *path,
                                  struct ws_err *err)
{
	struct ws_table_data processes;

	s->index = index;
	WS_FORWARD(ws_trace_reader_open(&s->reader, path, err));
	WS_FORWARD(ws_trace_reader_load(s->reader, WS_KIND_PROCESS, &processes, err));
	if (processes.rows)
		s->pid = cell(&processes, WS_COL_process_pid, 0);
	ws_table_data_release(&processes);
	return WS_OK;
}

static enum ws_status merge_into(struct merge *m, const char *const *paths, const char *out,
                                 int zstd_level, struct ws_err *err)
{
	struct ws_trace_writer_opts opts = {.base_ns = INT64_MAX, .zstd_level = zstd_level};

	for (size_t i = 0; i < m->nsources; i++) {
		int64_t base_ns;

		WS_FORWARD(open_source(&m->sources[i], i, paths[i], err));
		base_ns = ws_trace_reader_summary(m->sources[i].reader)->base_ns;
		opts.base_ns = base_ns < opts.base_ns ? base_ns : opts.base_ns;
	}
	WS_FORWARD(ws_trace_writer_create(&m->writer, out, &opts, err));
	WS_FORWARD(add_all_meta(m, err));
	for (size_t i = 0; i < m->nsources; i++) {
		struct source *s = &m->sources[i];

		s->shift_ns = ws_trace_reader_summary(s->reader)->base_ns - opts.base_ns;
		WS_FORWARD(add_source(m, s, err));
	}
	WS_FORWARD(add_losses(m, err));
	return ws_trace_writer_close(m->writer, err);
}

static void release(struct merge *m)
{
	for (size_t i = 0; i < m->nsources; i++) {
		for (unsigned kind = 0; kind < WS_KIND_END; kind++)
			free(m->sources[i].maps[kind].ids);
		ws_trace_reader_free(m->sources[i].reader);
	}
	free(m->sources);
	for (size_t i = 0; i < m->ndevices; i++)
		free(m->devices[i].facts);
	free(m->devices);
	free(m->losses);
	ws_trace_writer_free(m->writer);
}

enum ws_status ws_trace_merge(const char *const *paths, size_t n, const char *out, int zstd_level,
                              struct ws_merge_result *result, struct ws_err *err)
{
	struct merge m = {.sources = calloc(n, sizeof(*m.sources)), .nsources = n};
	enum ws_status status;
	char part[PATH_MAX];
	int len = snprintf(part, sizeof(part), "%s.part", out);

	if (!m.sources || !n || n > MAX_TRACES || len < 0 || (size_t)len >= sizeof(part)) {
		free(m.sources);
		return WS_FAIL(err, USAGE,
		               "1 to %u traces can be merged, into a path that is no "
		               "longer than others",
		               MAX_TRACES);
	}
	status = merge_into(&m, paths, part, zstd_level, err);
	if (status == WS_OK) {
		result->kernels = ws_trace_writer_rows(m.writer, WS_KIND_KERNEL);
		result->file_size = ws_trace_writer_size(m.writer);
		if (rename(part, out))
			status = WS_FAIL(err, IO_WRITE, "cannot rename %s to %s: %s", part, out,
			                 strerror(errno));
	}
	if (status != WS_OK && m.writer)
		unlink(part);
	release(&m);
	return status;
}
