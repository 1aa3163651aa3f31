/* Definitions of NVTX counters: the fields of their samples. */

#include "formats/schema/nvtx_number.h"
#include "kernels/nvtx/abi.h"
#include "recorder/drain/private.h"

/* Schemas inside schemas, fields of a counter and of all: a malicious program may have more. */
#define MOST_NESTED     16
#define MOST_FIELDS     4096
#define MOST_FIELDS_ALL (1u << 20)
#define MOST_NAME       256 /* bytes of a field's name in a path */

/* A counter while its fields are found. */
struct counter {
	uint64_t domain, group, description; /* ids of texts; 0: none */
	const struct ws_def_semantics *semantics;
	struct ws_bytes unit;
	bool in_file;
	uint32_t visits; /* how many fields may still be looked at */
};

/* The definition of a schema or enumeration at a place of the log, which the program can change. */
static struct ws_bytes body_at(const struct ws_drain *d, uint64_t pos, enum ws_def_type type)
{
	const uint8_t *log = ws_seg_defs(d->seg);
	struct ws_def_head head;

	memcpy(&head, log + pos, sizeof(head));
	if (head.type != type || head.body_size > d->seg->defs_size - pos - sizeof(head))
		head.body_size = 0;
	return (struct ws_bytes){log + pos + sizeof(head), head.body_size};
}

/* The type of a number; that of an enumeration is the one of its values. 0: it is no number. */
static uint64_t number_type(const struct ws_drain *d, uint64_t type)
{
	const uint64_t *place = ws_map_get(&d->schema_places, type);
	struct ws_bytes body = place ? body_at(d, *place, WS_DEF_ENUM) : (struct ws_bytes){0};
	struct ws_def_enum of;

	if (ws_nvtx_integer(type) || ws_nvtx_real_size(type))
		return type;
	if (body.len < sizeof(of))
		return 0;
	memcpy(&of, body.ptr, sizeof(of));
	return ws_nvtx_type_of_enum(of.size_bytes);
}

/* Sets a limit; false: there is none. */
static bool limit(const struct ws_def_semantics *s, enum wsn_counter_flag flag, uint64_t bits,
                  double *out)
{
	if (!(s->flags & flag) || s->limit_type < WSN_COUNTER_LIMIT_I64 ||
	    s->limit_type > WSN_COUNTER_LIMIT_F64)
		return 0;
	memcpy(out, &bits, sizeof(*out));
	if (s->limit_type == WSN_COUNTER_LIMIT_I64)
		*out = (double)(int64_t)bits;
	else if (s->limit_type == WSN_COUNTER_LIMIT_U64)
		*out = (double)bits;
	return 1;
}

uint64_t ws_counter_scope(struct ws_drain *d, uint64_t scope)
{
	const char *name = wsn_scope_name(scope);
	int known;

	if (name)
		return ws_drain_intern(d, ws_bytes_of(name));
	return scope > WS_SCOPE_PATH && scope <= WS_SCOPE_PATH + UINT32_MAX
	               ? ws_drain_string_id(d, (uint32_t)(scope - WS_SCOPE_PATH), &known)
	               : 0;
}

/* A number of this type. of: the field in its schema, NULL: the counter is a single number. */
static void add_number(struct ws_drain *d, const struct counter *c, uint64_t type, uint64_t offset,
                       const char *path, const struct ws_def_field *of, struct ws_bytes body)
{
	const struct ws_def_semantics none = {0}, *own = of ? &of->semantics : &none;
	const bool has_own = own->flags || own->limit_type || own->unit.size ||
	                     own->unit_numerator || own->unit_denominator;
	struct ws_def_semantics s = has_own ? *own : *c->semantics;
	struct ws_row_counter_series row = {.id = ++d->nseries,
	                                    .domain = c->domain,
	                                    .description = c->description};

	s.scope = own->scope ? own->scope : c->semantics->scope;
	WS_GROW(d->fields, d->nfields + 1, d->fields_capacity);
	d->fields[d->nfields++] =
	        (struct ws_drain_field){row.id, type, offset,
	                                (s.flags & WSN_COUNTER_NORMALIZE) && ws_nvtx_integer(type)};
	if (c->in_file)
		return;
	row.group = of ? c->group : 0;
	row.name = of ? ws_drain_intern(d, ws_bytes_of(path)) : c->group;
	if (of && of->description.size)
		row.description = ws_drain_intern(d, ws_drain_name(body, of->description));
	row.scope = ws_counter_scope(d, s.scope);
	row.unit = ws_drain_intern(d, has_own ? ws_drain_name(body, own->unit) : c->unit);
	row.unit_numerator = s.unit_numerator ? s.unit_numerator : 1;
	row.unit_denominator = s.unit_denominator ? s.unit_denominator : 1;
	row.change = (s.flags & WSN_COUNTER_VALUE_MASK) / WSN_COUNTER_ABSOLUTE;
	row.limits = (uint64_t)limit(&s, WSN_COUNTER_LIMIT_MIN, s.minimum, &row.minimum) |
	             (uint64_t)limit(&s, WSN_COUNTER_LIMIT_MAX, s.maximum, &row.maximum) << 1;
	ws_drain_add(d, WS_KIND_COUNTER_SERIES, &row);
}

/* Adds the fields of a schema, at an offset of the sample. Returns the number of those that are no
 * numbers of a fixed place, which are left out. */
static uint64_t add_fields(struct ws_drain *d, struct counter *c, uint64_t schema, uint64_t offset,
                           const char *path, int depth)
{
	const uint64_t *pos = ws_map_get(&d->schema_places, schema);
	struct ws_bytes body = pos ? body_at(d, *pos, WS_DEF_SCHEMA) : (struct ws_bytes){0};
	struct ws_def_schema head;
	uint64_t left_out = 0;

	if (body.len < sizeof(head) || depth > MOST_NESTED)
		return 1;
	memcpy(&head, body.ptr, sizeof(head));
	if (head.type != WSN_SCHEMA_STATIC ||
	    head.nfields > (body.len - sizeof(head)) / sizeof(struct ws_def_field))
		return 1;
	for (uint32_t i = 0; i < head.nfields; i++) {
		const uint64_t array = WSN_ENTRY_FLAG_ARRAY_MASK;
		struct ws_def_field f;

		memcpy(&f, (const uint8_t *)body.ptr + sizeof(head) + i * sizeof(f), sizeof(f));

		const bool is_array = (f.flags & array) == WSN_ENTRY_FLAG_ARRAY_FIXED_SIZE;
		const uint64_t type = number_type(d, f.type);
		const uint64_t *place = ws_map_get(&d->schema_places, f.type);
		struct ws_bytes nested =
		        place ? body_at(d, *place, WS_DEF_SCHEMA) : (struct ws_bytes){0};
		const struct ws_bytes name = ws_drain_name(body, f.name);
		struct ws_def_schema of = {0};

		if (f.semantics.time_type) /* when the sample was taken */
			continue;
		if (nested.len >= sizeof(of))
			memcpy(&of, nested.ptr, sizeof(of));
		uint64_t size = type ? ws_nvtx_number_size(type) : of.size_bytes;
		if (!size || size > WS_MAX_PAYLOAD || f.offset > WS_MAX_PAYLOAD ||
		    f.flags & (WSN_ENTRY_FLAG_POINTER | WSN_ENTRY_FLAG_OFFSET_FROM_BASE |
		               WSN_ENTRY_FLAG_OFFSET_FROM_HERE) ||
		    (f.flags & array && !is_array)) {
			left_out++;
			continue;
		}
		for (uint64_t k = 0; k < (is_array ? f.array_length : 1); k++) {
			const uint64_t at = offset + f.offset + k * size;
			char *inner, number[24] = "";

			if (at > WS_MAX_PAYLOAD || !c->visits)
				return left_out + 1;
			c->visits--;
			if (is_array)
				snprintf(number, sizeof(number), "[%" PRIu64 "]", k);
			inner = ws_xformat("%s%s%.*s%s", path, *path ? "." : "",
			                   (int)(name.len < MOST_NAME ? name.len : MOST_NAME),
			                   (const char *)name.ptr, number);
			if (type)
				add_number(d, c, type, at, inner, &f, body);
			else
				left_out += add_fields(d, c, f.type, at, inner, depth + 1);
			free(inner);
		}
	}
	return left_out;
}

bool ws_counter_define(struct ws_drain *d, uint64_t id, const struct ws_def_counter *def,
                       struct ws_bytes body, bool in_file)
{
	struct counter c = {.semantics = &def->semantics,
	                    .unit = ws_drain_name(body, def->semantics.unit),
	                    .in_file = in_file,
	                    .visits = d->nfields < MOST_FIELDS_ALL ? MOST_FIELDS : 0};
	struct ws_drain_counter counter = {.first = d->nfields};
	uint64_t left_out = 0;
	int known;

	if (!in_file) {
		c.domain = ws_drain_domain_id(d, def->domain, &known);
		if (!known)
			return 0;
		c.group = ws_drain_intern(d, ws_drain_name(body, def->name));
		c.description = ws_drain_intern(d, ws_drain_name(body, def->description));
	}
	if (number_type(d, def->schema))
		add_number(d, &c, number_type(d, def->schema), 0, "", NULL, body);
	else
		left_out = add_fields(d, &c, def->schema, 0, "", 0);
	if (!in_file)
		d->counted[WS_DROPPED_nvtx_not_kept_counters] += left_out;
	counter.n = d->nfields - counter.first;
	WS_GROW(d->counters, d->ncounters + 1, d->counters_capacity);
	d->counters[d->ncounters] = counter;
	ws_map_put(&d->counter_places, id, d->ncounters++);
	return 1;
}
