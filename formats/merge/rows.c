/* Rows of one trace with ids and times that are distinct in all. */
#include <stdbool.h>
#include <string.h>

#include "formats/schema/references.h"
#include "formats/merge/private.h"

/* What the program gave a number of its own, and what NVTX knows, lie below. */
#define FIRST_OWN_SCHEMA (UINT64_C(1) << 24)

/* --- ids --- */

static uint64_t distinct(struct ws_merge_source *s, uint64_t id)
{
	const uint64_t number = (id >> WS_MERGE_SHIFT) + s->number;

	if (!id)
		return 0;
	if (number > s->highest_number)
		s->highest_number = number;
	return id + (s->number << WS_MERGE_SHIFT);
}

static uint64_t schema_id(struct ws_merge_source *s, uint64_t id)
{
	return id < FIRST_OWN_SCHEMA ? id : distinct(s, id);
}

/* What an id of another row becomes. */
static uint64_t referred(struct ws_merge_source *s, enum ws_kind target, uint64_t id)
{
	uint64_t device;

	switch (target) {
	case WS_KIND_THREAD:
		return id + s->thread_offset;
	case WS_KIND_OP_CONFIG:
		return id + s->op_config_offset;
	case WS_KIND_PAYLOAD_SCHEMA:
		return schema_id(s, id);
	case WS_KIND_DEVICE:
		/* numbered from 0, so the map is of id + 1; one whose row is damaged stays */
		device = ws_merge_mapped(&s->maps[WS_KIND_DEVICE], id + 1);
		return device ? device - 1 : id;
	default:
		return ws_merge_mapped(&s->maps[target], id);
	}
}

/* Columns that are ids without being references. */
static bool is_distinct(const struct ws_kind_def *def, unsigned column)
{
	const char *name = def->columns[column].name;

	return !strcmp(name, "correlation") || !strcmp(name, "event_correlation") ||
	       (def->id == WS_KIND_NVTX && column == WS_COL_nvtx_range);
}

static bool is_schema(const struct ws_kind_def *def, unsigned column)
{
	return (def->id == WS_KIND_PAYLOAD_SCHEMA && column == WS_COL_payload_schema_id) ||
	       (def->id == WS_KIND_PAYLOAD_FIELD && column == WS_COL_payload_field_type) ||
	       (def->id == WS_KIND_PAYLOAD_ENUM && column == WS_COL_payload_enum_id) ||
	       (def->id == WS_KIND_PAYLOAD && column == WS_COL_payload_schema);
}

/* What becomes of a column's values, of a reference with its target and whether 0 is none. */
enum treatment {
	NOT_LOOKED,
	AS_IS,
	TIME,
	DISTINCT,
	SCHEMA,
	REFERRED, /* + 2 * target + zero_is_none */
};
_Static_assert(REFERRED + 2 * WS_KIND_END <= UINT8_MAX, "a treatment is a byte");

static uint8_t treatment_of(const struct ws_kind_def *def, unsigned column)
{
	struct ws_ref_column ref;

	if (def->columns[column].type == WS_TYPE_TIME)
		return TIME;
	if (ws_ref_column_at(def, column, &ref))
		return (uint8_t)(REFERRED + 2 * ref.target + !!ref.zero_is_none);
	if (is_distinct(def, column))
		return DISTINCT;
	return is_schema(def, column) ? SCHEMA : AS_IS;
}

static uint64_t treated(struct ws_merge_source *s, uint8_t treatment, uint64_t value)
{
	switch (treatment) {
	case AS_IS:
		return value;
	case TIME:
		return value + (uint64_t)s->shift_ns;
	case DISTINCT:
		return distinct(s, value);
	case SCHEMA:
		return schema_id(s, value);
	default:
		treatment -= REFERRED;
		return !value && treatment % 2 ? 0 : referred(s, treatment / 2, value);
	}
}

/* A named device is one also when its id is 0, which is none of all other resources. */
static void refer_named_device(struct ws_merge_source *s, struct ws_row_resource *row)
{
	if (row->type == WS_RESOURCE_CUDA_DEVICE && !row->device)
		row->device = referred(s, WS_KIND_DEVICE, 0);
}

void ws_merge_make_row(struct ws_merge *m, struct ws_merge_source *s,
                       const struct ws_column_data *t, uint64_t i, void *row)
{
	const struct ws_kind_def *def = t->def;
	uint8_t *treatments = m->treatments[def->id];

	for (unsigned c = 0; c < def->ncolumns; c++) {
		const struct ws_column_def *column = &def->columns[c];
		char *place = (char *)row + column->row_offset;
		uint64_t value;

		if (column->type == WS_TYPE_BLOB) {
			struct ws_bytes bytes = ws_merge_blob(t, c, i);

			memcpy(place, &bytes, sizeof(bytes));
			continue;
		}
		if (treatments[c] == NOT_LOOKED)
			treatments[c] = treatment_of(def, c);
		value = treated(s, treatments[c], ws_merge_cell(t, c, i));
		memcpy(place, &value, sizeof(value));
	}
	if (def->id == WS_KIND_RESOURCE)
		refer_named_device(s, row);
}

/* --- kinds that are more than their rows --- */

void ws_merge_interned(struct ws_merge *m, struct ws_merge_source *s,
                       const struct ws_column_data *t)
{
	union {
		struct ws_row_string string;
		struct ws_row_payload payload;
		struct ws_row_launch_config config;
	} row;

	for (uint64_t i = 0; i < t->rows; i++) {
		uint64_t id;

		ws_merge_make_row(m, s, t, i, &row);
		if (t->def->id == WS_KIND_STRING)
			ws_trace_writer_intern(m->writer, row.string.text.ptr, row.string.text.len,
			                       &id, NULL);
		else if (t->def->id == WS_KIND_PAYLOAD)
			ws_trace_writer_intern_payload(m->writer, row.payload.schema,
			                               row.payload.bytes.ptr, row.payload.bytes.len,
			                               &id, NULL);
		else
			ws_trace_writer_intern_config(m->writer, &row.config, &id, NULL);
		ws_map_put(&s->maps[t->def->id], ws_merge_cell(t, 0, i), id);
	}
}

void ws_merge_counted(struct ws_merge *m, struct ws_merge_source *s, const struct ws_column_data *t,
                      unsigned id_column, uint64_t offset, uint64_t *highest)
{
	union {
		struct ws_row_thread thread;
		struct ws_row_op_config op_config;
	} row;

	for (uint64_t i = 0; i < t->rows; i++) {
		uint64_t id = ws_merge_cell(t, id_column, i) + offset;

		ws_merge_make_row(m, s, t, i, &row);
		memcpy((char *)&row + t->def->columns[id_column].row_offset, &id, sizeof(id));
		ws_trace_writer_add(m->writer, t->def->id, &row, NULL);
		if (id > *highest)
			*highest = id;
	}
}
