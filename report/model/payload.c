#include "report/model/payload.h"

#include "formats/schema/nvtx_number.h"
#include "report/model/load.h"
#include "report/model/payloads.def"

/* Flags of a field that make it more than one plain value: pointer, offsets, arrays. */
#define FIELD_OUTSIDE    (1u << 1 | 1u << 2 | 1u << 3)
#define FIELD_ARRAY      (7u << 4)
#define FIELD_FIXED_SIZE (1u << 4)
#define FIELD_NOT_PLAIN  (FIELD_OUTSIDE | FIELD_ARRAY)

bool ws_payload_number(uint64_t type, const uint8_t *p, size_t len, int64_t *out)
{
	const struct ws_nvtx_integer *n = ws_nvtx_integer(type);
	uint64_t value;

	if (!n || !ws_nvtx_integer_bits(n, p, len, &value) || (!n->is_signed && value > INT64_MAX))
		return 0;
	*out = (int64_t)value;
	return 1;
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

/* What fields of other programs mean. */
enum meaning { COMMUNICATOR, PARENT, SPLIT, RANKS, BYTES, MEANINGS };
static const struct {
	const char *domain, *schema, *field;
	enum meaning meaning;
} meanings[] = {WS_PAYLOAD_MEANINGS(WS_LIST_ROW)};

/* The fields of one schema that an operation or a message needs; a row of payload_field, or
 * WS_NONE. */
struct layout {
	uint32_t row[FIELDS];
	uint32_t means[MEANINGS];
};

struct decoder {
	const struct ws_payload_tables *in;
	struct ws_idmap schema_of; /* id -> row of payload_schema */
	struct ws_idmap layout_of; /* schema id -> layout */
	struct layout *layouts;
	size_t nlayouts;
	struct ws_idmap enum_of;  /* enumeration id -> its first row */
	struct ws_idmap entry_of; /* first row << 32 | value -> text */
};

/* Is the schema of this domain, and of this name unless that is ""? */
static bool is_schema_of(const struct decoder *d, uint64_t schema, const char *domain,
                         const char *name)
{
	const struct ws_payload_tables *in = d->in;
	const uint32_t row = ws_idmap_get(&d->schema_of, schema);

	return row != WS_NONE &&
	       ws_is_domain(
	               in->texts[in->text_of(in->ctx, ws_value(in->schema,
	                                                       WS_COL_payload_schema_domain, row))],
	               domain) &&
	       (!*name ||
	        ws_name_is(in->texts[in->text_of(
	                           in->ctx, ws_value(in->schema, WS_COL_payload_schema_name, row))],
	                   name));
}

static bool is_enum(const struct decoder *d, uint64_t type)
{
	return ws_idmap_get(&d->enum_of, type) != WS_NONE;
}

/* The bits of the number in field row `f` of the payload, e.g. those of a hash, and its type; NULL
 * if f is WS_NONE or no number, or if the payload ends before it. */
static const struct ws_nvtx_integer *field_bits(const struct decoder *d, uint32_t f,
                                                struct ws_bytes payload, uint64_t *out)
{
	if (f == WS_NONE)
		return NULL;
	const uint64_t offset = ws_value(d->in->field, WS_COL_payload_field_offset_bytes, f);
	const uint64_t type = ws_value(d->in->field, WS_COL_payload_field_type, f);
	const uint32_t of_enum = ws_idmap_get(&d->enum_of, type);
	const struct ws_nvtx_integer *n = ws_nvtx_integer(
	        of_enum == WS_NONE
	                ? type
	                : ws_nvtx_type_of_enum(ws_value(d->in->enumeration,
	                                                WS_COL_payload_enum_size_bytes, of_enum)));

	return n && offset < payload.len &&
	                       ws_nvtx_integer_bits(n, (const uint8_t *)payload.ptr + offset,
	                                            payload.len - offset, out)
	               ? n
	               : NULL;
}

/* False if the number is absent or too large. */
static bool field_number(const struct decoder *d, uint32_t f, struct ws_bytes payload, int64_t *out)
{
	uint64_t bits;
	const struct ws_nvtx_integer *n = field_bits(d, f, payload, &bits);

	if (!n || (!n->is_signed && bits > INT64_MAX))
		return false;
	*out = (int64_t)bits;
	return true;
}

/* The text of an enumeration's value in field row `f`; 0 if it is not an enumeration, or "none". */
static uint32_t field_entry(const struct decoder *d, uint32_t f, struct ws_bytes payload)
{
	int64_t value;

	if (!field_number(d, f, payload, &value) || value > UINT32_MAX)
		return 0;
	uint32_t enum_row =
	        ws_idmap_get(&d->enum_of, ws_value(d->in->field, WS_COL_payload_field_type, f));
	if (enum_row == WS_NONE)
		return 0;
	uint32_t text = ws_idmap_get(&d->entry_of, (uint64_t)enum_row << 32 | (uint64_t)value);
	return text == WS_NONE || ws_name_is(d->in->texts[text], "none") ? 0 : text;
}

/* -1 if the field is absent, too large or negative. */
static int64_t field_count(const struct decoder *d, uint32_t f, struct ws_bytes payload)
{
	int64_t value;

	if (!field_number(d, f, payload, &value) || value < 0)
		return -1;
	return value;
}

/* Takes what a payload says of a communicator, or of a message. */
static void take_message(const struct decoder *d, const struct layout *l, uint64_t row,
                         struct ws_bytes payload, struct ws_ops *out)
{
	struct ws_message message = {.payload = (uint32_t)row};
	uint64_t ranks;

	message.has_communicator =
	        field_bits(d, l->means[COMMUNICATOR], payload, &message.communicator) != NULL;
	if (l->means[BYTES] != WS_NONE) {
		if (!field_bits(d, l->means[BYTES], payload, &message.bytes) ||
		    message.bytes > INT64_MAX ||
		    (l->means[COMMUNICATOR] != WS_NONE && !message.has_communicator)) {
			out->unreadable_messages++;
			return;
		}
		WS_GROW(out->messages, out->nmessages + 1, out->messages_capacity);
		out->messages[out->nmessages++] = message;
		return;
	}
	/* A split names the new communicator, and the number of ranks of the old one. */
	if (l->means[SPLIT] != WS_NONE)
		message.has_communicator =
		        field_bits(d, l->means[PARENT], payload, &message.communicator) != NULL;
	if (!message.has_communicator || !field_bits(d, l->means[RANKS], payload, &ranks))
		return;
	const uint32_t known = ws_idmap_get(&out->ranks_of, message.communicator);

	/* contradictory numbers are worth nothing */
	if (ranks == 0 || ranks > INT32_MAX || (known != WS_NONE && known != ranks))
		ranks = 0;
	ws_idmap_put(&out->ranks_of, message.communicator, (uint32_t)ranks);
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
	for (uint64_t i = 0; i < tables->schema->rows; i++)
		ws_idmap_put(&d.schema_of, ws_value(tables->schema, WS_COL_payload_schema_id, i),
		             (uint32_t)i);
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
		for (size_t k = 0; k < sizeof(meanings) / sizeof(*meanings); k++)
			if (ws_name_is(tables->texts[name], meanings[k].field) &&
			    is_schema_of(&d, schema, meanings[k].domain, meanings[k].schema))
				d.layouts[at].means[meanings[k].meaning] = (uint32_t)i;
	}
	for (uint64_t i = 0; i < t->rows && bytes->present; i++) {
		uint64_t schema = ws_value(t, WS_COL_payload_schema, i);
		uint32_t at = ws_idmap_get(&d.layout_of, schema);
		const struct layout *l = at == WS_NONE ? NULL : &d.layouts[at];
		int64_t value;

		if (!l)
			continue;
		if (l->means[COMMUNICATOR] != WS_NONE || l->means[BYTES] != WS_NONE)
			take_message(&d, l, i, bytes->b[i], out);
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
	ws_idmap_free(&d.schema_of);
	ws_idmap_free(&d.layout_of);
	ws_idmap_free(&d.enum_of);
	ws_idmap_free(&d.entry_of);
	free(d.layouts);
}

void ws_ops_release(struct ws_ops *ops)
{
	free(ops->op);
	free(ops->is_op);
	free(ops->messages);
	ws_idmap_free(&ops->ranks_of);
	*ops = (struct ws_ops){0};
}

/* --- all values ------------------------------------------------------------------------------ */

/* Schemas inside schemas: a program cannot nest deeper, a malicious trace may. */
#define MOST_NESTED 16

struct ws_payloads {
	struct ws_records schemas, payloads, strings; /* by id */
	struct ws_records fields;
	struct ws_records enums;  /* by id: the last entry of an enumeration */
	struct ws_strtab entries; /* enumeration and value -> */
	uint32_t *entry;          /* row of enums */
	struct ws_idmap first_of; /* schema id -> its first row of fields */
	uint32_t *next;           /* the next row of its schema, WS_NONE */
	/* the values of one payload */
	struct ws_payload_value value[WS_PAYLOAD_MOST_VALUES + 1];
	size_t n;
	struct ws_arena arena; /* of their texts */
	struct ws_bytes bytes, schema_name;
};

struct enum_value {
	uint64_t id, value; /* value: its bits, without those of the sign beyond its size */
};

static uint64_t enum_bits(uint64_t value, uint64_t size)
{
	return size < 8 ? value & (((uint64_t)1 << 8 * size) - 1) : value;
}

enum ws_status ws_payloads_new(struct ws_payloads **out, const struct ws_trace_reader *r,
                               struct ws_err *err)
{
	struct ws_payloads *p = *out = ws_xarray(1, sizeof(*p));
	struct ws_idmap last_of = {0};

	WS_FORWARD(ws_records_load_by(&p->schemas, r, WS_KIND_PAYLOAD_SCHEMA,
	                              WS_COL_payload_schema_id, err));
	WS_FORWARD(ws_records_load_by(&p->payloads, r, WS_KIND_PAYLOAD, WS_COL_payload_id, err));
	WS_FORWARD(ws_records_load_by(&p->strings, r, WS_KIND_STRING, WS_COL_string_id, err));
	WS_FORWARD(ws_records_load(&p->fields, r, WS_KIND_PAYLOAD_FIELD, err));
	WS_FORWARD(ws_records_load_by(&p->enums, r, WS_KIND_PAYLOAD_ENUM, WS_COL_payload_enum_id,
	                              err));
	WS_FAIL_IF(p->fields.n >= WS_NONE || p->enums.n >= WS_NONE, err, NO_MEMORY,
	           "the trace has more payloads than a query handles");
	p->entry = ws_xarray(p->enums.n + 1, sizeof(*p->entry));
	for (uint32_t i = 0; i < p->enums.n; i++) {
		const struct ws_row_payload_enum *e =
		        (struct ws_row_payload_enum *)p->enums.rows + i;
		const struct enum_value key = {e->id, enum_bits(e->value, e->size_bytes)};

		p->entry[ws_strtab_add(&p->entries, &key, sizeof(key)) - 1] = i;
	}
	p->next = ws_xarray(p->fields.n + 1, sizeof(*p->next));
	for (uint32_t i = 0; i < p->fields.n; i++) {
		const uint64_t schema = ((struct ws_row_payload_field *)p->fields.rows)[i].schema;
		const uint32_t last = ws_idmap_get(&last_of, schema);

		p->next[i] = WS_NONE;
		if (last == WS_NONE)
			ws_idmap_put(&p->first_of, schema, i);
		else
			p->next[last] = i;
		ws_idmap_put(&last_of, schema, i);
	}
	ws_idmap_free(&last_of);
	return WS_OK;
}

void ws_payloads_free(struct ws_payloads *p)
{
	if (!p)
		return;
	ws_records_free(&p->schemas);
	ws_records_free(&p->payloads);
	ws_records_free(&p->strings);
	ws_records_free(&p->fields);
	ws_records_free(&p->enums);
	ws_idmap_free(&p->first_of);
	ws_strtab_free(&p->entries);
	free(p->entry);
	free(p->next);
	ws_arena_free(&p->arena);
	free(p);
}

struct ws_bytes ws_payloads_text(const struct ws_payloads *p, uint64_t string_id)
{
	return ws_records_text(&p->strings, string_id);
}

/* The next value; NULL: there are too many, which the last value says. */
static struct ws_payload_value *add_value(struct ws_payloads *p, const char *path)
{
	struct ws_payload_value *v = &p->value[p->n];

	if (p->n > WS_PAYLOAD_MOST_VALUES)
		return NULL;
	*v = (struct ws_payload_value){.schema = p->schema_name, .field = ws_bytes_of(path)};
	if (p->n++ < WS_PAYLOAD_MOST_VALUES)
		return v;
	v->field = (struct ws_bytes){"", 0};
	v->problem = "further values of the payload are left out";
	return NULL;
}

static void add_problem(struct ws_payloads *p, const char *path, const char *problem)
{
	struct ws_payload_value *v = add_value(p, path);

	if (v)
		v->problem = problem;
}

/* Bytes of a value of this type; 0: not a type with a size. */
static uint64_t size_of_type(const struct ws_payloads *p, uint64_t type)
{
	const struct ws_nvtx_integer *n = ws_nvtx_integer(type);
	const struct ws_row_payload_enum *of_enum = ws_records_find(&p->enums, type);
	const struct ws_row_payload_schema *schema = ws_records_find(&p->schemas, type);

	return n                          ? n->bytes
	       : ws_nvtx_real_size(type)  ? ws_nvtx_real_size(type)
	       : type >= 75 && type <= 80 ? 8
	       : of_enum                  ? of_enum->size_bytes
	       : schema                   ? schema->size_bytes
	                                  : 0;
}

static void add_fields(struct ws_payloads *p, uint64_t schema, uint64_t at, const char *path,
                       int depth);

/* A value of this type at a place of the payload. */
static void add_one(struct ws_payloads *p, uint64_t type, uint64_t at, const char *path, int depth)
{
	const struct ws_row_payload_enum *enums = p->enums.rows;
	const bool is_enum_type = ws_records_find(&p->enums, type) != NULL;
	const uint8_t *bytes = p->bytes.ptr;
	const uint64_t left = at < p->bytes.len ? p->bytes.len - at : 0;
	const uint64_t size = size_of_type(p, type);
	const struct ws_nvtx_integer *n = ws_nvtx_integer(type);
	uint64_t bits = 0;

	if (!n && is_enum_type)
		n = ws_nvtx_integer(ws_nvtx_type_of_enum(size));
	else if (!n && ws_records_find(&p->schemas, type)) {
		add_fields(p, type, at, path, depth + 1);
		return;
	}
	struct ws_payload_value *v = add_value(p, path);
	if (!v)
		return;
	if (!size || (is_enum_type && !n)) {
		v->problem = "a type of unknown size";
	} else if (left < size) {
		v->problem = "the payload ends before it";
	} else if (n) {
		(void)ws_nvtx_integer_bits(n, bytes + at, left, &bits);
		v->number =
		        n->is_signed || bits <= INT64_MAX ? WS_PAYLOAD_INT : WS_PAYLOAD_NO_NUMBER;
		v->i = (int64_t)bits;
		v->text = ws_bytes_of(
		        n->is_signed ? ws_arena_format(&p->arena, "%" PRId64, (int64_t)bits)
		                     : ws_arena_format(&p->arena, "%" PRIu64, bits));
		if (is_enum_type) {
			const struct enum_value key = {type, bits};
			const uint64_t entry = ws_strtab_find(&p->entries, &key, sizeof(key));

			if (entry)
				v->text = ws_payloads_text(p, enums[p->entry[entry - 1]].entry);
			else
				v->problem = "the enumeration has no such entry";
		}
	} else if (type >= 75) {
		/* the offset of a text after the fields: docs/dev/trace-format.md */
		memcpy(&bits, bytes + at, sizeof(bits));
		if (bits >= p->bytes.len)
			v->problem = "its text is outside of the payload";
		else if (bits)
			v->text =
			        (struct ws_bytes){bytes + bits, strnlen((const char *)bytes + bits,
			                                                p->bytes.len - bits)};
	} else {
		v->number = WS_PAYLOAD_REAL;
		v->r = ws_nvtx_real(type, bytes + at);
		v->text = ws_bytes_of(ws_arena_format(&p->arena, "%.17g", v->r));
	}
}

static void add_fields(struct ws_payloads *p, uint64_t schema, uint64_t at, const char *path,
                       int depth)
{
	const struct ws_row_payload_schema *of = ws_records_find(&p->schemas, schema);
	const char *dot = *path ? "." : "";
	const size_t before = p->n;

	if (depth > MOST_NESTED) {
		add_problem(p, path, "schemas contain each other");
		return;
	}
	if (of->type > 1) {
		add_problem(p, path, "a union, or a layout that varies");
		return;
	}
	for (uint32_t i = ws_idmap_get(&p->first_of, schema); i != WS_NONE; i = p->next[i]) {
		const struct ws_row_payload_field *f =
		        (struct ws_row_payload_field *)p->fields.rows + i;
		const struct ws_bytes name = ws_payloads_text(p, f->name);
		const uint64_t type = f->type, length = f->array_length;
		const uint64_t size = size_of_type(p, type);
		const bool is_text = type == 75 || type == 76,
		           is_array = (f->flags & FIELD_ARRAY) == FIELD_FIXED_SIZE;
		const char *inner = ws_arena_format(&p->arena, "%s%s%.*s", path, dot,
		                                    WS_SHOWN_MOST(name, 4096));
		const uint64_t from =
		        f->offset_bytes <= p->bytes.len ? at + f->offset_bytes : p->bytes.len;
		const uint64_t left = from < p->bytes.len ? p->bytes.len - from : 0;

		if (p->n > WS_PAYLOAD_MOST_VALUES)
			return;
		if (f->flags & FIELD_OUTSIDE) {
			add_problem(p, inner, "it points to data that was not recorded");
		} else if (f->flags & FIELD_ARRAY && !is_array) {
			add_problem(p, inner, "an array of varying length");
		} else if ((is_text && length) || (is_array && (type == 1 || type == 25))) {
			/* characters in the payload itself */
			struct ws_payload_value *v = add_value(p, inner);

			if (v && left < length)
				v->problem = "the payload ends before it";
			else if (v)
				v->text =
				        (struct ws_bytes){(const char *)p->bytes.ptr + from,
				                          strnlen((const char *)p->bytes.ptr + from,
				                                  length)};
		} else if (is_array) {
			for (uint64_t k = 0; k < length && size && p->n <= WS_PAYLOAD_MOST_VALUES;
			     k++) {
				if (size > left || k * size > left - size) {
					add_problem(p, inner, "the payload ends before it");
					break;
				}
				add_one(p, type, from + k * size,
				        ws_arena_format(&p->arena, "%s[%" PRIu64 "]", inner, k),
				        depth);
			}
			if (!size)
				add_problem(p, inner, "a type of unknown size");
		} else {
			add_one(p, type, from, inner, depth);
		}
	}
	/* as each schema adds a value, arrays of empty schemas end, too */
	if (p->n == before)
		add_problem(p, path, "its schema has no values");
}

const struct ws_payload_value *ws_payloads_values(struct ws_payloads *p, uint64_t payload,
                                                  size_t *n)
{
	const struct ws_row_payload *row = ws_records_find(&p->payloads, payload);
	const struct ws_row_payload_schema *schema;

	ws_arena_free(&p->arena);
	p->n = 0;
	p->schema_name = (struct ws_bytes){"", 0};
	if (!row) {
		add_problem(p, "", "the payload is missing in the trace");
	} else {
		p->bytes = row->bytes.ptr ? row->bytes : (struct ws_bytes){"", 0};
		schema = ws_records_find(&p->schemas, row->schema);
		if (schema) {
			p->schema_name = ws_payloads_text(p, schema->name);
			add_fields(p, row->schema, 0, "", 0);
		} else if (size_of_type(p, row->schema))
			add_one(p, row->schema, 0, "", 0);
		else
			add_problem(p, "", "its schema is missing in the trace");
	}
	*n = p->n;
	return p->value;
}

/* --- their events --- */

struct events {
	void (*fn)(void *ctx, const struct ws_payload_event *e);
	void *ctx;
	uint64_t row;
	struct ws_strtab stack_of; /* thread and domain -> its open ranges */
	struct open_ranges {
		uint64_t *name;
		size_t n, capacity;
	} * stacks;
	size_t nstacks, stacks_capacity;
	struct ws_map name_of; /* id of a start -> its name */
};

static void on_nvtx(void *ctx, const void *row)
{
	const struct ws_row_nvtx *r = row;
	struct events *s = ctx;
	struct ws_payload_event e = {.time_ns = r->time_ns,
	                             .row = s->row++,
	                             .thread = r->thread,
	                             .type = r->type,
	                             .domain = r->domain,
	                             .payload = r->payload,
	                             .name = r->name};

	if (r->type == WS_NVTX_PUSH || r->type == WS_NVTX_POP) {
		const uint64_t key[2] = {r->thread, r->domain};
		const size_t at = ws_strtab_add(&s->stack_of, key, sizeof(key)) - 1;

		if (at == s->nstacks) {
			WS_GROW(s->stacks, s->nstacks + 1, s->stacks_capacity);
			s->stacks[s->nstacks++] = (struct open_ranges){0};
		}
		struct open_ranges *o = &s->stacks[at];

		if (r->type == WS_NVTX_PUSH) {
			WS_GROW(o->name, o->n + 1, o->capacity);
			o->name[o->n++] = r->name;
		} else if (o->n) {
			e.name = o->name[--o->n];
		}
	} else if (r->type == WS_NVTX_START) {
		ws_map_put(&s->name_of, r->range, r->name);
	} else if (r->type == WS_NVTX_END) {
		const uint64_t *name = ws_map_get(&s->name_of, r->range);

		e.name = name ? *name : 0;
	}
	if (r->payload)
		s->fn(s->ctx, &e);
}

enum ws_status ws_payloads_each_event(const struct ws_trace_reader *r,
                                      void (*fn)(void *ctx, const struct ws_payload_event *e),
                                      void *ctx, struct ws_err *err)
{
	struct events s = {.fn = fn, .ctx = ctx};
	const enum ws_status status = ws_records_each(r, WS_KIND_NVTX, on_nvtx, &s, err);

	for (size_t i = 0; i < s.nstacks; i++)
		free(s.stacks[i].name);
	free(s.stacks);
	ws_strtab_free(&s.stack_of);
	ws_map_free(&s.name_of);
	return status;
}
