/* Turns the definition log into dictionary rows, and fills the maps needed to read records. */

#include "formats/op_cost/op_cost.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "recorder/drain/private.h"

/* --- operations of PyTorch --- */

/*
 * Makes the same row of an operation as the importer of PyTorch profiles: its inputs as JSON arrays
 * in PyTorch's format.
 */

/* Names of c10::ScalarType. Its numbers are stored in PyTorch's files, so they do not change. */
static const char *const scalar_types[] = {
        "unsigned char",
        "signed char",
        "short int",
        "int",
        "long int",
        "c10::Half",
        "float",
        "double",
        "c10::complex<c10::Half>",
        "c10::complex<float>",
        "c10::complex<double>",
        "bool",
        "c10::qint8",
        "c10::quint8",
        "c10::qint32",
        "c10::BFloat16",
        "c10::quint4x2",
        "c10::quint2x4",
        "c10::bits1x8",
        "c10::bits2x4",
        "c10::bits4x2",
        "c10::bits8",
        "c10::bits16",
        "c10::Float8_e5m2",
        "c10::Float8_e4m3fn",
        "c10::Float8_e5m2fnuz",
        "c10::Float8_e4m3fnuz",
        "short unsigned int",
        "unsigned int",
        "long unsigned int",
        [44] = "c10::Float8_e8m0fnu",
        [45] = "c10::Float4_e2m1fn_x2",
};

/* The same as torch.distributed writes them. */
static const char *const element_types[] = {"Byte",
                                            "Char",
                                            "Short",
                                            "Int",
                                            "Long",
                                            "Half",
                                            "Float",
                                            "Double",
                                            "ComplexHalf",
                                            "ComplexFloat",
                                            "ComplexDouble",
                                            "Bool",
                                            [15] = "BFloat16",
                                            [23] = "Float8_e5m2",
                                            "Float8_e4m3fn",
                                            "Float8_e5m2fnuz",
                                            "Float8_e4m3fnuz",
                                            "UInt16",
                                            "UInt32",
                                            "UInt64"};

/* The four texts of a row. */
struct texts {
	struct ws_buf dims, types, strides, inputs;
};

/* The rest of a definition's body that is not yet read. */
struct reader {
	const uint8_t *pos;
	size_t rest;
	bool is_short; /* a read went beyond the end */
};

static uint64_t take_word(struct reader *r)
{
	uint64_t word = 0;

	if (r->rest < sizeof(word)) {
		r->is_short = 1;
		r->rest = 0;
		return 0;
	}
	memcpy(&word, r->pos, sizeof(word));
	r->pos += sizeof(word);
	r->rest -= sizeof(word);
	return word;
}

static struct ws_def_input take_input(struct reader *r)
{
	uint64_t word = take_word(r);
	struct ws_def_input input;

	_Static_assert(sizeof(input) == sizeof(word), "one word");
	memcpy(&input, &word, sizeof(input));
	if (input.n > r->rest / sizeof(word) + 1)
		r->is_short = 1;
	return input;
}

static void put_words(struct ws_buf *b, const char *text)
{
	ws_buf_put(b, text, strlen(text));
}

/* Adds a comma, unless the array is empty. */
static void put_comma(struct ws_buf *b)
{
	if (b->len && b->data[b->len - 1] != '[')
		put_words(b, ",");
}

static void put_quoted(struct ws_buf *b, const char *text)
{
	put_comma(b);
	put_words(b, "\"");
	put_words(b, text);
	put_words(b, "\"");
}

static void put_numbers(struct ws_buf *b, struct reader *r, uint32_t n)
{
	char number[24];

	put_comma(b);
	put_words(b, "[");
	for (uint32_t i = 0; i < n && !r->is_short; i++) {
		snprintf(number, sizeof(number), "%s%" PRId64, i ? "," : "", (int64_t)take_word(r));
		put_words(b, number);
	}
	put_words(b, "]");
}

static void put_shape(struct texts *t, struct reader *r, struct ws_def_input input)
{
	put_numbers(&t->dims, r, input.n);
	put_numbers(&t->strides, r, input.has_strides ? input.n : 0);
}

static void put_scalars(struct texts *t, struct reader *r, struct ws_def_input input)
{
	const bool is_list = input.kind >= WS_INPUT_INT_LIST;
	const uint32_t n = is_list ? input.n : input.kind != WS_INPUT_COMPLEX;
	char text[40];

	put_comma(&t->inputs);
	put_words(&t->inputs, is_list ? "\"[" : "\"");
	for (uint32_t i = 0; i < n && !r->is_short; i++) {
		/* Writes a number as PyTorch's operator<< does. */
		uint64_t word = take_word(r);
		double value;

		memcpy(&value, &word, sizeof(value));
		if (input.kind == WS_INPUT_BOOL || input.kind == WS_INPUT_BOOL_LIST)
			snprintf(text, 40, "%s", word ? "True" : "False");
		else if (input.kind == WS_INPUT_INT || input.kind == WS_INPUT_INT_LIST)
			snprintf(text, 40, "%" PRId64, (int64_t)word);
		else if (fabs(value) < 1e10 && (double)(int64_t)value == value)
			snprintf(text, 40, "%s%" PRId64 ".",
			         signbit(value) && value == 0 ? "-" : "", (int64_t)value);
		else
			snprintf(text, 40, "%.17g", value);
		put_words(&t->inputs, i ? ", " : "");
		put_words(&t->inputs, text);
	}
	put_words(&t->inputs, is_list ? "]\"" : "\"");
	put_quoted(&t->types, is_list ? "ScalarList" : "Scalar");
	put_numbers(&t->dims, r, 0);
	put_numbers(&t->strides, r, 0);
}

static struct ws_bytes closed(struct ws_buf *b)
{
	put_words(b, "]");
	return (struct ws_bytes){b->data, b->len};
}

/* Adds the row of an operation. behind: its definition after the fixed part. False: its inputs are
 * invalid. */
static bool add_op_config(struct ws_drain *d, uint64_t id, const struct ws_def_op *def,
                          struct ws_bytes behind)
{
	const size_t name_room = WS_ALIGN8(def->name_size);
	struct reader r = {.is_short = name_room > behind.len};
	struct ws_op_desc op = {.name = {behind.ptr, r.is_short ? 0 : def->name_size}};
	struct ws_row_op_config row = {.id = id};
	struct texts t = {0};

	if (!r.is_short) {
		r.pos = (const uint8_t *)behind.ptr + name_room;
		r.rest = behind.len - name_room;
	}
	if (def->inputs) {
		put_words(&t.dims, "[");
		put_words(&t.types, "[");
		put_words(&t.strides, "[");
		put_words(&t.inputs, "[");
		for (uint32_t i = 0; i < def->inputs && !r.is_short; i++) {
			const struct ws_def_input input = take_input(&r);

			switch (input.kind) {
			case WS_INPUT_TENSOR:
				put_shape(&t, &r, input);
				put_quoted(&t.types,
				           input.type < sizeof(scalar_types) /
				                                           sizeof(*scalar_types) &&
				                           scalar_types[input.type]
				                   ? scalar_types[input.type]
				                   : "");
				put_quoted(&t.inputs, "");
				break;
			case WS_INPUT_TENSOR_LIST:
				put_comma(&t.dims);
				put_comma(&t.strides);
				put_words(&t.dims, "[");
				put_words(&t.strides, "[");
				for (uint32_t k = 0; k < input.n && !r.is_short; k++)
					put_shape(&t, &r, take_input(&r));
				put_words(&t.dims, "]");
				put_words(&t.strides, "]");
				put_quoted(&t.types, "TensorList");
				put_quoted(&t.inputs, "");
				break;
			case WS_INPUT_OTHER:
				put_numbers(&t.dims, &r, 0);
				put_numbers(&t.strides, &r, 0);
				put_quoted(&t.types, "");
				put_quoted(&t.inputs, "");
				break;
			default:
				r.is_short |= input.kind > WS_INPUT_BOOL_LIST;
				put_scalars(&t, &r, input);
			}
		}
		op.dims = closed(&t.dims);
		op.types = closed(&t.types);
		op.strides = closed(&t.strides);
		op.inputs = closed(&t.inputs);
	}
	/* the row is needed in any case, as calls refer to it */
	if (r.is_short)
		op = (struct ws_op_desc){.name = op.name};
	row.name = ws_drain_intern(d, op.name);
	row.dims = ws_drain_intern(d, op.dims);
	row.types = ws_drain_intern(d, op.types);
	row.strides = ws_drain_intern(d, op.strides);
	row.inputs = ws_drain_intern(d, op.inputs);
	ws_op_cost_fill(&op, &row);
	ws_drain_add(d, WS_KIND_OP_CONFIG, &row);
	ws_buf_free(&t.dims);
	ws_buf_free(&t.types);
	ws_buf_free(&t.strides);
	ws_buf_free(&t.inputs);
	return !r.is_short;
}

/* Skips the numbers of a shape, and returns how many elements it has. */
static uint64_t take_elements(struct reader *r, struct ws_def_input input)
{
	uint64_t elements = 1;

	for (uint32_t i = 0; i < input.n * (input.has_strides ? 2u : 1u) && !r->is_short; i++) {
		const uint64_t size = take_word(r);

		if (i < input.n && __builtin_mul_overflow(elements, size, &elements))
			elements = 0;
	}
	return elements;
}

/*
 * What an operation of torch.distributed (c10d::allreduce_) says of its collective: the elements of
 * its first one or two tensors, or lists of them. Two: output, then input. A list of lists is not
 * recorded: of a gather its output, of a scatter its input.
 */
static void add_collective(struct ws_drain *d, uint64_t op_config, const struct ws_def_op *def,
                           struct ws_bytes behind)
{
	static const char prefix[] = "c10d::";
	struct ws_bytes name = {behind.ptr, def->name_size};
	const size_t name_room = WS_ALIGN8(def->name_size);
	struct ws_row_collective row = {.sequence = -1};
	uint64_t elements[2] = {0};
	unsigned n = 0, type = UINT32_MAX;

	if (name_room > behind.len || !ws_bytes_begin(name, prefix))
		return;

	struct reader r = {.pos = (const uint8_t *)behind.ptr + name_room,
	                   .rest = behind.len - name_room};

	for (uint32_t i = 0; i < def->inputs && n < 2 && !r.is_short; i++) {
		const struct ws_def_input input = take_input(&r);

		if (input.kind == WS_INPUT_TENSOR) {
			elements[n++] = take_elements(&r, input);
			type = input.type;
		} else if (input.kind == WS_INPUT_TENSOR_LIST) {
			for (uint32_t k = 0; k < input.n && !r.is_short; k++) {
				const struct ws_def_input inner = take_input(&r);

				elements[n] += take_elements(&r, inner);
				type = inner.type;
			}
			n += input.n > 0;
		} else if (input.kind != WS_INPUT_OTHER) {
			break; /* numbers come last */
		}
	}
	if (!n || r.is_short)
		return;
	name.ptr = (const char *)name.ptr + sizeof(prefix) - 1;
	name.len -= sizeof(prefix) - 1;
	if (name.len && ((const char *)name.ptr)[name.len - 1] == '_')
		name.len--;

	const bool gathers = memmem(name.ptr, name.len, "gather", 6),
	           scatters = memmem(name.ptr, name.len, "scatter", 7);

	row.name = ws_drain_intern(d, name);
	if (type < sizeof(element_types) / sizeof(*element_types) && element_types[type])
		row.dtype = ws_drain_intern(d, ws_bytes_of(element_types[type]));
	row.out_elements = n == 1 && gathers ? 0 : elements[0];
	row.in_elements = n == 2 ? elements[1] : scatters ? 0 : elements[0];
	WS_GROW(d->collectives, d->ncollectives + 1, d->collectives_capacity);
	ws_map_put(&d->collective_of_op, op_config, d->ncollectives);
	d->collectives[d->ncollectives++] = row;
}

/* --- definitions --- */

/* A definition whose body was checked to be inside the log. */
struct def {
	uint64_t id;
	uint64_t pos;         /* in the log */
	struct ws_bytes body; /* in the log: the program can still write there */
	struct ws_bytes tail; /* the body after the fixed part */
	bool in_file;         /* its rows are already in the file: only fill the maps */
	/* a copy of the fixed part, by type */
	union {
		struct ws_def_process process;
		struct ws_def_thread thread;
		struct ws_def_category category;
		struct ws_def_schema schema;
		struct ws_def_enum enumeration;
		struct ws_def_call call;
		struct ws_def_kernel kernel;
		struct ws_def_device device;
		struct ws_def_device_attr device_attr;
		struct ws_def_window window;
		struct ws_def_resource resource;
		struct ws_def_op op;
		struct ws_def_counter counter;
	} fixed;
};

static bool define_process(struct ws_drain *d, const struct def *def)
{
	struct ws_row_process row = {.pid = def->fixed.process.pid,
	                             .image = def->fixed.process.image};

	row.program = ws_drain_intern(d, def->tail);
	if (!ws_drain_time(d, def->fixed.process.start_ns, &row.start_ns))
		return 0;
	ws_drain_add(d, WS_KIND_PROCESS, &row);
	return 1;
}

static void add_thread_row(struct ws_drain *d, const struct def *def, uint64_t id,
                           struct ws_bytes name)
{
	const struct ws_drain_thread *thread = ws_drain_thread(d, id);
	struct ws_row_thread row = {.id = id, .pid = thread->pid, .tid = thread->tid};

	if (def->in_file)
		return;
	row.name = ws_drain_intern(d, name);
	ws_drain_add(d, WS_KIND_THREAD, &row);
}

static bool define_thread(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_thread *who = &def->fixed.thread;
	struct ws_bytes name = def->tail;

	if (!ws_drain_set_thread(d, def->id, who->pid, who->tid))
		return 0;
	for (size_t i = d->nnames; i--;) {
		if (d->names[i].pid == who->pid && d->names[i].tid == who->tid) {
			name = d->names[i].name;
			d->names[i] = d->names[--d->nnames];
			break;
		}
	}
	add_thread_row(d, def, def->id, name);
	return 1;
}

static bool define_thread_name(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_thread *who = &def->fixed.thread;
	uint64_t id = ws_drain_find_thread(d, who->pid, who->tid);

	if (id)
		add_thread_row(d, def, id, def->tail);
	else {
		/* Stores the name until the thread has its first event. A later name replaces
		 * it. */
		size_t i;

		for (i = 0; i < d->nnames; i++)
			if (d->names[i].pid == who->pid && d->names[i].tid == who->tid)
				break;
		WS_GROW(d->names, i + 1, d->names_capacity);
		if (i == d->nnames)
			d->nnames++;
		d->names[i] = (struct ws_drain_thread_name){who->pid, who->tid, def->tail};
	}
	return 1;
}

static bool define_domain(struct ws_drain *d, const struct def *def)
{
	/* events of domains beyond the array were counted as lost by the collector */
	if (def->id && def->id < WS_SEG_MAX_DOMAINS)
		d->domains[def->id] = (struct ws_drain_domain){1, def->body, 0};
	return 1;
}

static bool define_string(struct ws_drain *d, const struct def *def)
{
	if (def->id != def->pos / 8 + 1)
		return 0;
	d->strings[def->pos / 8] = 1;
	return 1;
}

static bool define_category(struct ws_drain *d, const struct def *def)
{
	struct ws_row_category row = {.id = def->fixed.category.category};
	int known;

	row.domain = ws_drain_domain_id(d, def->fixed.category.domain, &known);
	row.name = ws_drain_intern(d, def->tail);
	if (!known)
		return 0;
	ws_drain_add(d, WS_KIND_CATEGORY, &row);
	return 1;
}

static bool define_schema(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_schema *schema = &def->fixed.schema;
	const struct ws_bytes name = ws_drain_name(def->body, schema->name);
	struct ws_row_payload_schema row = {.id = def->id,
	                                    .type = schema->type,
	                                    .size_bytes = schema->size_bytes};
	int known;

	if (schema->nfields > def->tail.len / sizeof(struct ws_def_field))
		return 0;
	if (ws_bytes_is(name, "warpsheet.launch") &&
	    schema->size_bytes == sizeof(struct wsnvtx_launch) &&
	    d->nlaunch_schemas < WS_DRAIN_LAUNCH_SCHEMAS)
		d->launch_schemas[d->nlaunch_schemas++] = def->id;
	ws_map_put(&d->schema_places, def->id, def->pos);
	if (def->in_file)
		return 1;

	row.domain = ws_drain_domain_id(d, schema->domain, &known);
	row.name = ws_drain_intern(d, name);
	ws_drain_add(d, WS_KIND_PAYLOAD_SCHEMA, &row);
	for (uint32_t i = 0; i < schema->nfields; i++) {
		struct ws_def_field f;
		struct ws_row_payload_field field;

		memcpy(&f, (const uint8_t *)def->tail.ptr + i * sizeof(f), sizeof(f));
		field.schema = def->id;
		field.index = i;
		field.name = ws_drain_intern(d, ws_drain_name(def->body, f.name));
		field.type = f.type;
		field.offset_bytes = f.offset;
		field.array_length = f.array_length;
		field.flags = f.flags;
		field.description = ws_drain_intern(d, ws_drain_name(def->body, f.description));
		field.unit = ws_drain_intern(d, ws_drain_name(def->body, f.semantics.unit));
		field.scope = ws_counter_scope(d, f.semantics.scope);
		ws_drain_add(d, WS_KIND_PAYLOAD_FIELD, &field);
	}
	return 1;
}

static bool define_enum(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_enum *enumeration = &def->fixed.enumeration;

	if (enumeration->nentries > def->tail.len / sizeof(struct ws_def_enum_entry))
		return 0;
	ws_map_put(&d->schema_places, def->id, def->pos);
	if (def->in_file)
		return 1;
	for (uint32_t i = 0; i < enumeration->nentries; i++) {
		struct ws_def_enum_entry e;
		struct ws_row_payload_enum row = {
		        .id = def->id,
		        .name = ws_drain_intern(d, ws_drain_name(def->body, enumeration->name)),
		        .size_bytes = enumeration->size_bytes,
		};

		memcpy(&e, (const uint8_t *)def->tail.ptr + i * sizeof(e), sizeof(e));
		row.entry = ws_drain_intern(d, ws_drain_name(def->body, e.name));
		row.value = e.value;
		ws_drain_add(d, WS_KIND_PAYLOAD_ENUM, &row);
	}
	return 1;
}

static bool define_call(struct ws_drain *d, const struct def *def)
{
	return ws_activity_name_call(d->activity, def->fixed.call.domain, def->fixed.call.cbid,
	                             def->tail);
}

static bool define_kernel(struct ws_drain *d, const struct def *def)
{
	return !def->tail.len && ws_activity_name_kernel(d->activity, def->fixed.kernel.address,
	                                                 (uint32_t)def->fixed.kernel.string);
}

static bool define_fact(struct ws_drain *d, const struct def *def)
{
	const uint8_t *key = def->body.ptr, *nul = memchr(key, 0, def->body.len);
	struct ws_row_meta row;

	if (!nul || nul == key)
		return 0;
	row.key = (struct ws_bytes){key, (size_t)(nul - key)};
	row.value = (struct ws_bytes){nul + 1, def->body.len - row.key.len - 1};
	ws_drain_add(d, WS_KIND_META, &row);
	return 1;
}

static bool define_device(struct ws_drain *d, const struct def *def)
{
	struct ws_row_device row = {.id = def->fixed.device.device, .kind = WS_DEVICE_CUDA};

	if (row.id >= WS_MAX_GPUS)
		return 0;
	row.name = ws_drain_intern(d, def->tail);
	ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << row.id;
	return 1;
}

static bool define_device_attr(struct ws_drain *d, const struct def *def)
{
	struct ws_row_device_attr row = {.device = def->fixed.device_attr.device,
	                                 .value = def->fixed.device_attr.value};

	if (row.device >= WS_MAX_GPUS || !ws_drain_device(d, (uint32_t)row.device))
		return 0;
	row.attr = ws_drain_intern(d, def->tail);
	ws_drain_add(d, WS_KIND_DEVICE_ATTR, &row);

	struct ws_gpu_address *address = &d->addresses[row.device];
	const struct {
		const char *name;
		int64_t *part;
	} parts[] = {{"pci_domain", &address->domain},
	             {"pci_bus", &address->bus},
	             {"pci_device", &address->device}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (def->tail.len == strlen(parts[i].name) &&
		    !memcmp(def->tail.ptr, parts[i].name, def->tail.len))
			*parts[i].part = row.value;
	return 1;
}

static bool define_resource(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_resource *resource = &def->fixed.resource;
	struct ws_row_resource row = {
	        .pid = atomic_load(&d->seg->owner.pid),
	        .type = resource->type,
	        .handle = resource->handle,
	        .number = resource->number,
	};
	int known;

	row.domain = ws_drain_domain_id(d, resource->domain, &known);
	if (!known)
		return 0;
	if (row.type == WS_RESOURCE_CUDA_DEVICE) {
		/* it may not have run any work */
		if (row.handle >= WS_MAX_GPUS || !ws_drain_device(d, (uint32_t)row.handle))
			return 0;
		row.device = row.handle;
	}
	row.name = ws_drain_intern(d, def->tail);
	ws_drain_add(d, WS_KIND_RESOURCE, &row);
	return 1;
}

static bool define_window(struct ws_drain *d, const struct def *def)
{
	const struct ws_def_window *window = &def->fixed.window;
	int64_t time_ns;
	char key[64];

	ws_filter_range(d, window);
	if (!d->seg->capture.standby || def->in_file)
		return 1;
	/* so that reports do not take the time between windows for idle time */
	snprintf(key, sizeof(key), "record.window.%zu.%s_ns", d->filter.window.nranges,
	         window->is_open ? "begin" : "end");
	if (ws_drain_time(d, window->time_ns, &time_ns))
		ws_drain_add_meta(d, key, "%" PRId64, time_ns);
	return 1;
}

/* Numbered in the order of the log, so that a launcher that continues gives the same numbers. */
static bool define_op(struct ws_drain *d, const struct def *def)
{
	static const char module[] = "nn.Module: ";
	const struct ws_bytes name = {def->tail.ptr, def->fixed.op.name_size};

	if (def->id != def->pos / 8 + 1)
		return 0;
	if (name.len <= def->tail.len && ws_bytes_begin(name, module)) {
		d->ops[def->pos / 8] = WS_DRAIN_MODULE | ws_drain_intern(d, name);
		return 1;
	}
	d->ops[def->pos / 8] = ++d->nops;
	add_collective(d, d->nops, &def->fixed.op, def->tail);
	return def->in_file || add_op_config(d, d->nops, &def->fixed.op, def->tail);
}

static bool define_counter(struct ws_drain *d, const struct def *def)
{
	return ws_counter_define(d, def->id, &def->fixed.counter, def->body, def->in_file);
}

static bool define_nothing(struct ws_drain *d, const struct def *def)
{
	(void)d;
	(void)def;
	return 1;
}

/* Table by type of definition. A body is at least as long as its fixed part. */
static const struct def_type {
	bool (*define)(struct ws_drain *d, const struct def *def); /* false: invalid */
	uint32_t fixed;                                            /* bytes */
	bool only_rows; /* nothing to do if its rows are already in the file */
} types[] = {
        [WS_DEF_PROCESS] = {define_process, sizeof(struct ws_def_process), 1},
        [WS_DEF_THREAD] = {define_thread, sizeof(struct ws_def_thread), 0},
        [WS_DEF_THREAD_NAME] = {define_thread_name, sizeof(struct ws_def_thread), 0},
        [WS_DEF_DOMAIN] = {define_domain, 0, 0},
        [WS_DEF_STRING] = {define_string, 0, 0},
        [WS_DEF_CATEGORY] = {define_category, sizeof(struct ws_def_category), 1},
        [WS_DEF_SCHEMA] = {define_schema, sizeof(struct ws_def_schema), 0},
        [WS_DEF_ENUM] = {define_enum, sizeof(struct ws_def_enum), 0},
        [WS_DEF_CALL] = {define_call, sizeof(struct ws_def_call), 0},
        [WS_DEF_KERNEL] = {define_kernel, sizeof(struct ws_def_kernel), 0},
        [WS_DEF_FACT] = {define_fact, 0, 1},
        [WS_DEF_DEVICE_ATTR] = {define_device_attr, sizeof(struct ws_def_device_attr), 1},
        [WS_DEF_DEVICE] = {define_device, sizeof(struct ws_def_device), 1},
        [WS_DEF_WINDOW] = {define_window, sizeof(struct ws_def_window), 0},
        [WS_DEF_RESOURCE] = {define_resource, sizeof(struct ws_def_resource), 1},
        [WS_DEF_OP] = {define_op, sizeof(struct ws_def_op), 0},
        [WS_DEF_COUNTER] = {define_counter, sizeof(struct ws_def_counter), 0},
        [WS_DEF_OF_PARENT] = {define_nothing, 0, 1},
};

static bool define(struct ws_drain *d, unsigned type, struct def *def)
{
	const struct def_type *t = type < sizeof(types) / sizeof(*types) ? &types[type] : NULL;

	if (!t || !t->define || def->body.len < t->fixed)
		return 0;
	if (def->in_file && t->only_rows)
		return 1;
	memcpy(&def->fixed, def->body.ptr, t->fixed);
	def->tail = (struct ws_bytes){(const uint8_t *)def->body.ptr + t->fixed,
	                              def->body.len - t->fixed};
	return t->define(d, def);
}

uint64_t ws_drain_definitions(struct ws_drain *d)
{
	uint64_t end = atomic_load_explicit(&d->seg->defs_head, memory_order_acquire), n = 0;
	const uint8_t *log = ws_seg_defs(d->seg);

	if (end > d->seg->defs_size)
		end = d->seg->defs_size;
	while (d->defs_pos < end) {
		uint64_t rest = end - d->defs_pos;
		struct ws_def_head head;
		struct def def;

		if (rest >= sizeof(head))
			memcpy(&head, log + d->defs_pos, sizeof(head));
		if (rest < sizeof(head) || head.size < sizeof(head) || head.size > rest ||
		    head.size % 8 || head.body_size > head.size - sizeof(head)) {
			d->counted[WS_DROPPED_unknown_record]++;
			d->defs_pos = end; /* nothing after it can be found */
			break;
		}
		def = (struct def){
		        .id = head.id,
		        .pos = d->defs_pos,
		        .body = {log + d->defs_pos + sizeof(head), head.body_size},
		        .in_file = d->defs_pos < d->defs_in_file,
		};
		if (!define(d, head.type, &def) && !def.in_file)
			d->counted[WS_DROPPED_unknown_record]++;
		d->defs_pos += head.size;
		n++;
	}
	return n;
}
