#include "report/model/model.h"

#include <stdlib.h>

#include "report/model/load.h"
#include "report/base/names.h"

/*
 * Predefined NVTX entry types that hold whole numbers, with their size on the
 * recording machine (64-bit Linux). Source: NVTX 3, nvToolsExtPayload.h.
 * type, bytes, signed
 */
#define NUMBER_TYPES(X)                \
	X(1, 1, 1) /* char */          \
	X(2, 1, 0) /* unsigned char */ \
	X(3, 2, 1) /* short */         \
	X(4, 2, 0)                     \
	X(5, 4, 1) /* int */           \
	X(6, 4, 0)                     \
	X(7, 8, 1) /* long */          \
	X(8, 8, 0)                     \
	X(9, 8, 1) /* long long */     \
	X(10, 8, 0)                    \
	X(11, 1, 1) /* int8_t */       \
	X(12, 1, 0)                    \
	X(13, 2, 1) /* int16_t */      \
	X(14, 2, 0)                    \
	X(15, 4, 1) /* int32_t */      \
	X(16, 4, 0)                    \
	X(17, 8, 1) /* int64_t */      \
	X(18, 8, 0)                    \
	X(22, 8, 0) /* size_t */       \
	X(32, 1, 0) /* byte */

/* Flags of a field that make it more than one plain value: pointer, offsets, arrays. */
#define FIELD_NOT_PLAIN (1u << 1 | 1u << 2 | 1u << 3 | 7u << 4)

bool ws_payload_number(uint64_t type, const uint8_t *p, size_t len, int64_t *out)
{
	static const struct {
		uint8_t type, bytes, is_signed;
	} numbers[] = {NUMBER_TYPES(WS_LIST_ROW)};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint64_t value = 0;
		unsigned bits = numbers[i].bytes * 8u;

		if (numbers[i].type != type)
			continue;
		if (len < numbers[i].bytes)
			return 0;
		memcpy(&value, p, numbers[i].bytes);
		if (numbers[i].is_signed && bits < 64 && value >> (bits - 1))
			value |= ~(uint64_t)0 << bits;
		if (!numbers[i].is_signed && value > INT64_MAX)
			return 0;
		*out = (int64_t)value;
		return 1;
	}
	return 0;
}

/* The fields that make an operation: FIELD_NAME, name of the field */
#define FIELD_LIST(X)                     \
	X(FLOPS, "flops")                 \
	X(BYTES, "bytes")                 \
	X(BYTES_READ, "bytes_read")       \
	X(BYTES_WRITTEN, "bytes_written") \
	X(LAYER, "layer")                 \
	X(OP, "op")                       \
	X(DIRECTION, "direction")         \
	X(PHASE, "phase")                 \
	X(DTYPE, "dtype")                 \
	X(BATCH, "batch")                 \
	X(M, "m")                         \
	X(N, "n")                         \
	X(K, "k")                         \
	X(FLOPS_NEEDED, "flops_needed")
#define X(NAME, name) FIELD_##NAME,
enum field { FIELD_LIST(X) FIELDS };
#undef X
#define X(NAME, name) name,
static const char *const field_names[] = {FIELD_LIST(X)};
#undef X

/* The fields of one schema that an operation needs; a row of payload_field, or WS_NONE. */
struct layout {
	uint32_t row[FIELDS];
};

struct decoder {
	const struct ws_payload_tables *in;
	struct ws_idmap layout_of; /* schema id -> layout */
	struct layout *layouts;
	size_t nlayouts;
	struct ws_idmap enum_of;  /* enumeration id -> its first row */
	struct ws_idmap entry_of; /* first row << 32 | value -> text */
};

static bool is_enum(const struct decoder *d, uint64_t type)
{
	return ws_idmap_get(&d->enum_of, type) != WS_NONE;
}

/* The number in field row `f` of the payload; 0 if the payload ends before it. */
static bool field_number(const struct decoder *d, uint32_t f, struct ws_bytes payload, int64_t *out)
{
	const struct ws_column_data *fields = d->in->field;
	uint64_t offset = ws_value(fields, WS_COL_payload_field_offset_bytes, f);
	uint64_t type = ws_value(fields, WS_COL_payload_field_type, f);
	uint32_t enum_row = ws_idmap_get(&d->enum_of, type);
	const uint8_t *p = payload.ptr;

	if (offset >= payload.len)
		return false;
	if (enum_row != WS_NONE) {
		/* stored as a whole number of the enumeration's size: uint8_t … uint64_t */
		static const uint8_t by_size[9] = {[1] = 12, [2] = 14, [4] = 16, [8] = 18};
		uint64_t size =
		        ws_value(d->in->enumeration, WS_COL_payload_enum_size_bytes, enum_row);

		type = size < sizeof(by_size) ? by_size[size] : 0;
	}
	return ws_payload_number(type, p + offset, payload.len - offset, out);
}

/* The text of an enumeration's value in field row `f`; 0 if it is not an enumeration, or "none". */
static uint32_t field_entry(const struct decoder *d, uint32_t f, struct ws_bytes payload)
{
	uint32_t enum_row, text;
	int64_t value;

	if (f == WS_NONE || !field_number(d, f, payload, &value) || value > UINT32_MAX)
		return 0;
	enum_row = ws_idmap_get(&d->enum_of, ws_value(d->in->field, WS_COL_payload_field_type, f));
	if (enum_row == WS_NONE)
		return 0;
	text = ws_idmap_get(&d->entry_of, (uint64_t)enum_row << 32 | (uint64_t)value);
	return text == WS_NONE || ws_name_is(d->in->texts[text], "none") ? 0 : text;
}

/* -1 if the field is absent, too large or negative. */
static int64_t field_count(const struct decoder *d, uint32_t f, struct ws_bytes payload)
{
	int64_t value;

	if (f == WS_NONE || !field_number(d, f, payload, &value) || value < 0)
		return -1;
	return value;
}

void ws_ops_decode(const struct ws_payload_tables *tables, struct ws_ops *out)
{
	struct decoder d = {.in = tables};
	uint64_t n = tables->payload->rows;
	const struct ws_column_data *f = tables->field, *e = tables->enumeration,
	                            *t = tables->payload;
	const struct ws_column *bytes = &t->columns[WS_COL_payload_bytes];

	*out = (struct ws_ops){.n = n};
	out->op = ws_xarray(n ? n : 1, sizeof(*out->op));
	out->is_op = ws_xarray(n ? n : 1, 1);
	for (uint64_t i = 0; i < e->rows; i++) {
		uint64_t id = ws_value(e, WS_COL_payload_enum_id, i);
		uint64_t value = ws_value(e, WS_COL_payload_enum_value, i);
		uint64_t text =
		        tables->text_of(tables->ctx, ws_value(e, WS_COL_payload_enum_entry, i));

		if (!is_enum(&d, id))
			ws_idmap_put(&d.enum_of, id, (uint32_t)i);
		if (value <= UINT32_MAX)
			ws_idmap_put(&d.entry_of,
			             (uint64_t)ws_idmap_get(&d.enum_of, id) << 32 | value,
			             (uint32_t)text);
	}
	d.layouts = ws_xarray(f->rows ? f->rows : 1, sizeof(*d.layouts));
	for (uint64_t i = 0; i < f->rows; i++) {
		uint64_t schema = ws_value(f, WS_COL_payload_field_schema, i);
		uint32_t name =
		        tables->text_of(tables->ctx, ws_value(f, WS_COL_payload_field_name, i));
		uint32_t at = ws_idmap_get(&d.layout_of, schema);

		if (ws_value(f, WS_COL_payload_field_flags, i) & FIELD_NOT_PLAIN ||
		    ws_value(f, WS_COL_payload_field_array_length, i))
			continue;
		if (at == WS_NONE) {
			at = (uint32_t)d.nlayouts++;
			memset(&d.layouts[at], 0xff, sizeof(d.layouts[at]));
			ws_idmap_put(&d.layout_of, schema, at);
		}
		for (int k = 0; k < FIELDS; k++)
			if (ws_name_is(tables->texts[name], field_names[k]))
				d.layouts[at].row[k] = (uint32_t)i;
	}
	for (uint64_t i = 0; i < t->rows && bytes->present; i++) {
		uint64_t schema = ws_value(t, WS_COL_payload_schema, i);
		uint32_t at = ws_idmap_get(&d.layout_of, schema);
		const struct layout *l = at == WS_NONE ? NULL : &d.layouts[at];
		int64_t value;

		if (!l)
			continue;
		if (l->row[FIELD_FLOPS] != WS_NONE) {
			out->is_op[i] = 1;
			out->undecodable +=
			        !field_number(&d, l->row[FIELD_FLOPS], bytes->b[i], &value);
		} else if (l->row[FIELD_OP] != WS_NONE) {
			uint64_t type = ws_value(tables->field, WS_COL_payload_field_type,
			                         l->row[FIELD_OP]);

			out->is_op[i] = (uint8_t)is_enum(&d, type);
		}
		if (out->is_op[i]) {
			const struct ws_bytes of_op = bytes->b[i];
			struct ws_op_facts *op = &out->op[i];
			int64_t read = field_count(&d, l->row[FIELD_BYTES_READ], of_op);
			int64_t written = field_count(&d, l->row[FIELD_BYTES_WRITTEN], of_op);

			op->flops = field_count(&d, l->row[FIELD_FLOPS], of_op);
			op->flops_needed = field_count(&d, l->row[FIELD_FLOPS_NEEDED], of_op);
			if (op->flops_needed > op->flops || (!op->flops_needed && op->flops))
				op->flops_needed = -1;
			op->bytes = field_count(&d, l->row[FIELD_BYTES], of_op);
			if (read >= 0 && written >= 0 &&
			    __builtin_add_overflow(read, written, &op->bytes))
				op->bytes = -1;
			op->layer = field_count(&d, l->row[FIELD_LAYER], of_op);
			op->batch = field_count(&d, l->row[FIELD_BATCH], of_op);
			op->m = field_count(&d, l->row[FIELD_M], of_op);
			op->n = field_count(&d, l->row[FIELD_N], of_op);
			op->k = field_count(&d, l->row[FIELD_K], of_op);
			op->kind = field_entry(&d, l->row[FIELD_OP], of_op);
			op->direction = field_entry(&d, l->row[FIELD_DIRECTION], of_op);
			op->phase = field_entry(&d, l->row[FIELD_PHASE], of_op);
			op->dtype = field_entry(&d, l->row[FIELD_DTYPE], of_op);
		}
	}
	ws_idmap_free(&d.layout_of);
	ws_idmap_free(&d.enum_of);
	ws_idmap_free(&d.entry_of);
	free(d.layouts);
}

void ws_ops_release(struct ws_ops *ops)
{
	free(ops->op);
	free(ops->is_op);
	*ops = (struct ws_ops){0};
}
