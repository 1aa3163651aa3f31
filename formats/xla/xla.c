#include "formats/xla/xla.h"

#include "formats/op_cost/op_cost.h"
#include "formats/text/json_reader.h"

#define DOMAIN "xla" /* NVTX domain of ranges */

enum plane_kind {
	OTHER_PLANE, /* of the profile itself, of networks */
	HOST_PLANE,
	GPU_PLANE,    /* its work is on lines "Stream #7" */
	OTHER_DEVICE, /* a TPU: its work is the line "XLA Ops" */
};

struct ws_xla_plane {
	enum plane_kind kind;
	uint64_t device;
	bool is_amd;
};

struct ws_xla_place {
	uint64_t plane;  /* id of `planes` */
	uint64_t number; /* of the thread or stream */
	uint64_t thread; /* of the trace, once an event of the host is on it */
	bool is_stream;
	struct ws_bytes name;
};

struct ws_xla_host_event {
	uint64_t thread;
	int64_t start_ns, end_ns;
	enum { HOST_RANGE, HOST_OP, HOST_PYTHON } kind;
	uint64_t text;        /* name; of an operation its op_config */
	uint64_t correlation; /* of an operation: of the call that launched its work, 0 = none */
	struct ws_bytes
	        scope; /* of an operation: the functions and modules that it is in, by '/' */
	uint64_t sequence;
};

struct ws_xla_device_op {
	uint64_t device, line;
	int64_t start_ns, end_ns;
	struct ws_bytes name;
	uint64_t sequence;
};

enum ws_xla_stat ws_xla_stat_of(struct ws_bytes name)
{
	static const char *const names[] = {
#define X(id, text) text,
	        WS_XLA_STATS(X)
#undef X
	};
	unsigned i = 0;

	while (i < WS_XLA_NSTATS && !ws_bytes_is(name, names[i]))
		i++;
	return (enum ws_xla_stat)i;
}

/* --- planes and lines --- */

bool ws_xla_names_plane(struct ws_bytes name)
{
	return ws_bytes_begin(name, "/host:") || ws_bytes_begin(name, "/device:");
}

static struct ws_bytes text_after(struct ws_bytes text, const char *prefix)
{
	const size_t n = strlen(prefix);

	return (struct ws_bytes){(const char *)text.ptr + n, text.len - n};
}

/* The number that the text begins with; 0 without one. */
static uint64_t number_of(struct ws_bytes text)
{
	int64_t number = 0;
	size_t digits = 0;

	while (digits < text.len && ((const char *)text.ptr)[digits] >= '0' &&
	       ((const char *)text.ptr)[digits] <= '9')
		digits++;
	return digits && ws_decimal(text.ptr, digits, 0, &number) ? (uint64_t)number : 0;
}

static struct ws_xla_plane *plane_of(struct ws_xla *x, uint64_t plane)
{
	const uint64_t known = x->planes.used,
	               id = ws_strtab_add(&x->planes, &plane, sizeof(plane));

	WS_GROW(x->plane, id, x->planes_capacity);
	if (id > known)
		x->plane[id - 1] = (struct ws_xla_plane){0};
	return &x->plane[id - 1];
}

void ws_xla_name_plane(struct ws_xla *x, uint64_t number, struct ws_bytes name)
{
	struct ws_xla_plane *plane = plane_of(x, number);

	if (ws_bytes_begin(name, "/host:CPU"))
		plane->kind = HOST_PLANE;
	else if (ws_bytes_begin(name, "/device:GPU:"))
		*plane = (struct ws_xla_plane){.kind = GPU_PLANE,
		                               .device =
		                                       number_of(text_after(name, "/device:GPU:"))};
	else if (ws_bytes_begin(name, "/device:TPU:"))
		*plane = (struct ws_xla_plane){.kind = OTHER_DEVICE,
		                               .device =
		                                       number_of(text_after(name, "/device:TPU:"))};
}

static struct ws_xla_place *place_of(struct ws_xla *x, uint64_t plane, uint64_t line)
{
	const uint64_t key[] = {plane, line}, known = x->lines.used,
	               id = ws_strtab_add(&x->lines, key, sizeof(key));

	WS_GROW(x->place, id, x->places_capacity);
	if (id > known)
		x->place[id - 1] = (struct ws_xla_place){.plane = plane, .number = line};
	return &x->place[id - 1];
}

void ws_xla_name_line(struct ws_xla *x, uint64_t plane, uint64_t line, struct ws_bytes name)
{
	struct ws_xla_place *place = place_of(x, plane, line);
	const struct ws_strtab_entry *kept = ws_strtab_put(&x->names, name.ptr, name.len);

	place->name = (struct ws_bytes){kept->bytes, kept->len};
	place->is_stream = ws_bytes_begin(name, "Stream #");
	if (place->is_stream)
		place->number = number_of(text_after(name, "Stream #"));
}

void ws_xla_plane_stat(struct ws_xla *x, uint64_t number, struct ws_bytes name,
                       struct ws_bytes text, int64_t value)
{
	static const struct {
		const char *name, *attr;
		int64_t unit;
		bool nvidia; /* of NVIDIA's devices alone */
	} attrs[] = {
	        {"clock_rate", "core_clock_hz", 1000, false},
	        {"core_count", "sm_count", 1, false},
	        {"memory_bandwidth", "memory_bandwidth_bytes_per_s", 1, false},
	        {"memory_size", "global_memory_bytes", 1, false},
	        {"compute_cap_major", "compute_capability_major", 1, true},
	        {"compute_cap_minor", "compute_capability_minor", 1, true},
	};
	struct ws_xla_plane *plane = plane_of(x, number);

	if (plane->kind != GPU_PLANE && plane->kind != OTHER_DEVICE)
		return;
	if (ws_bytes_is(name, "device_vendor")) {
		plane->is_amd = ws_bytes_begin(text, "AMD");
		return;
	}
	if (ws_bytes_is(name, "device_type_string")) {
		ws_import_device(x->out, plane->device, text);
		return;
	}
	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		if (ws_bytes_is(name, attrs[i].name) && !(attrs[i].nvidia && plane->is_amd) &&
		    value > 0 && value < INT64_MAX / attrs[i].unit) {
			ws_import_device_used(x->out, plane->device);
			ws_import_device_attr(x->out, plane->device, attrs[i].attr,
			                      value * attrs[i].unit);
		}
}

/* --- work of a device --- */

/* The text behind "key:" in details such as "regs:32 grid:1,1,1", up to the next space. */
static struct ws_bytes detail_of(struct ws_bytes details, const char *key)
{
	const char *at = details.len ? details.ptr : "", *end = at + details.len, *word_end;
	const size_t n = strlen(key);

	for (; at < end; at = word_end + 1) {
		word_end = at;
		while (word_end < end && *word_end != ' ' && *word_end != '\n')
			word_end++;
		if ((size_t)(word_end - at) > n && !memcmp(at, key, n) && at[n] == ':')
			return (struct ws_bytes){at + n + 1, (size_t)(word_end - at) - n - 1};
	}
	return (struct ws_bytes){NULL, 0};
}

static void take_xyz(struct ws_bytes text, uint64_t *x, uint64_t *y, uint64_t *z)
{
	uint64_t *const to[] = {x, y, z};

	for (unsigned i = 0; i < 3; i++) {
		*to[i] = number_of(text);
		const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
		text.len = comma ? text.len - (size_t)(comma + 1 - (const char *)text.ptr) : 0;
		text.ptr = comma ? comma + 1 : NULL;
	}
}

/* Columns common to rows of work; kernels have the place in their configuration. */
#define WHEN                                          \
	.start_ns = e->start_ns, .dur_ns = e->dur_ns, \
	.correlation = number_of(e->stat[WS_XLA_CORRELATION])
#define WHERE                                                                           \
	.pid = x->pid, .device = device, .context = number_of(e->stat[WS_XLA_CONTEXT]), \
	.stream = stream

static void add_kernel(struct ws_xla *x, const struct ws_xla_event *e, uint64_t device,
                       uint64_t stream, struct ws_bytes name)
{
	const struct ws_bytes details = e->stat[WS_XLA_KERNEL];
	struct ws_row_kernel row = {WHEN};
	struct ws_row_launch_config c = {
	        WHERE,
	        .registers = number_of(detail_of(details, "regs")),
	        .shared_static_bytes = number_of(detail_of(details, "static_shared")),
	        .shared_dynamic_bytes = number_of(detail_of(details, "dynamic_shared")) +
	                                number_of(detail_of(details, "group_mem")),
	};

	ws_import_text(x->out, name, &c.name);
	take_xyz(detail_of(details, "grid"), &c.grid_x, &c.grid_y, &c.grid_z);
	take_xyz(detail_of(details, "block"), &c.block_x, &c.block_y, &c.block_z);
	ws_import_device_used(x->out, device);
	ws_trace_writer_intern_config(x->out->w, &c, &row.config, NULL);
	ws_import_record(x->out, WS_KIND_KERNEL, &row);
}

static uint64_t memory_kind(struct ws_bytes text)
{
	static const char *const names[] = {"pageable", "pinned", "device", "array", "managed"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ws_bytes_is(text, names[i]))
			return i + 1;
	return 0;
}

/* --- events of threads --- */

/* XLA numbers instructions of one kind: "fusion.12" is a fusion. "wrapped_tanh" is a tanh. */
static struct ws_bytes instruction_kind(struct ws_bytes name)
{
	size_t n = name.len;

	while (n && ((const char *)name.ptr)[n - 1] >= '0' &&
	       ((const char *)name.ptr)[n - 1] <= '9')
		n--;
	if (n > 1 && n < name.len && ((const char *)name.ptr)[n - 1] == '.')
		name.len = n - 1;
	return ws_bytes_begin(name, "wrapped_") ? text_after(name, "wrapped_") : name;
}

static void keep_host_event(struct ws_xla *x, struct ws_xla_host_event h)
{
	h.sequence = x->nhost;
	WS_GROW(x->host, x->nhost + 1, x->host_capacity);
	x->host[x->nhost++] = h;
}

static void add_host_event(struct ws_xla *x, const struct ws_xla_event *e,
                           struct ws_xla_place *place)
{
	struct ws_xla_host_event h = {.start_ns = e->start_ns, .end_ns = e->start_ns + e->dur_ns};
	struct ws_op_desc op = {0};

	if (!place->thread) {
		ws_import_thread(x->out, x->pid, place->number, (struct ws_bytes){NULL, 0},
		                 &place->thread);
		ws_import_thread_name(x->out, place->thread, x->pid, place->number, place->name);
	}
	h.thread = place->thread;
	if (e->stat[WS_XLA_CORRELATION].len) {
		struct ws_row_api row = {.start_ns = e->start_ns,
		                         .dur_ns = e->dur_ns,
		                         .thread = h.thread,
		                         .correlation = number_of(e->stat[WS_XLA_CORRELATION])};

		ws_import_text(x->out, e->name, &row.name);
		ws_import_row(x->out, WS_KIND_API, &row);
		h.correlation = row.correlation;
	}
	ws_import_keep(x->out, 1);
	if (e->stat[WS_XLA_HLO_OP].len || (h.correlation && e->stat[WS_XLA_PATH].len)) {
		struct ws_bytes path;

		h.kind = HOST_OP;
		/* the operation behind work, and the functions and modules around it. The path of
		 * the program's operation is "jit(train)/jvp(Net)/dense/dot_general". Without one
		 * it is the instruction, in its compiled function: "jit_train" is jit(train). */
		path = e->stat[WS_XLA_PATH].len ? e->stat[WS_XLA_PATH] : e->stat[WS_XLA_TF_OP];
		const char *last = ws_last_byte(path.ptr, ':', path.len);
		if (last) /* tf_op: "path:Type" */
			path.len = (size_t)(last - (const char *)path.ptr);
		last = ws_last_byte(path.ptr, '/', path.len);
		if (last) {
			op.name = (struct ws_bytes){last + 1,
			                            path.len - (size_t)(last + 1 -
			                                                (const char *)path.ptr)};
			path.len -= op.name.len + 1;
		} else {
			op.name = instruction_kind(e->stat[WS_XLA_HLO_OP]);
			path = e->stat[WS_XLA_HLO_MODULE];
			if (ws_bytes_begin(path, "jit_")) {
				path = text_after(path, "jit_");
				x->scratch.len = 0;
				ws_buf_put(&x->scratch, "jit(", 4);
				ws_buf_put(&x->scratch, path.ptr, path.len);
				ws_buf_put(&x->scratch, ")", 1);
				path = (struct ws_bytes){x->scratch.data, x->scratch.len};
			}
		}
		const struct ws_strtab_entry *kept = ws_strtab_put(&x->names, path.ptr, path.len);
		h.scope = (struct ws_bytes){kept->bytes, kept->len};
		ws_import_op(x->out, &op, &h.text);
	} else if (h.correlation) {
		return;
	} else if (ws_bytes_begin(e->name, "$") && e->name.len > 1) {
		h.kind = HOST_PYTHON;
		/* "$file.py:12 function" becomes "file.py(12): function", as PyTorch has it. */
		const char *text = (const char *)e->name.ptr + 1;
		const char *end = (const char *)e->name.ptr + e->name.len;
		const char *space = memchr(text, ' ', e->name.len - 1);
		const char *colon = space ? ws_last_byte(text, ':', (size_t)(space - text)) : NULL;
		x->scratch.len = 0;
		if (colon) {
			ws_buf_put(&x->scratch, text, (size_t)(colon - text));
			ws_buf_put(&x->scratch, "(", 1);
			ws_buf_put(&x->scratch, colon + 1, (size_t)(space - colon) - 1);
			ws_buf_put(&x->scratch, "): ", 3);
			ws_buf_put(&x->scratch, space + 1, (size_t)(end - space) - 1);
		} else {
			ws_buf_put(&x->scratch, text, e->name.len - 1);
		}
		ws_import_text(x->out, (struct ws_bytes){x->scratch.data, x->scratch.len}, &h.text);
	} else {
		h.kind = HOST_RANGE;
		if (e->stat[WS_XLA_STEP].len) {
			/* a step is a step, whatever the program calls it */
			ws_import_text(x->out, ws_bytes_of("step"), &h.text);
			keep_host_event(x, h);
		}
		ws_import_text(x->out, e->name, &h.text);
	}
	keep_host_event(x, h);
}

void ws_xla_add(struct ws_xla *x, const struct ws_xla_event *e)
{
	struct ws_xla_place *place = place_of(x, e->plane, e->line);
	const struct ws_xla_plane *plane = plane_of(x, e->plane);
	const bool has_work = plane->kind == GPU_PLANE ? place->is_stream
	                                               : ws_bytes_begin(place->name, "XLA Ops");
	char reason[WS_IMPORT_TEXT_BYTES];

	if (plane->kind == OTHER_PLANE) {
		ws_import_skip(x->out, "of planes that are neither host nor device", 1);
	} else if (plane->kind != HOST_PLANE && !has_work) {
		snprintf(reason, sizeof(reason), "line '%.*s', drawn from other lines",
		         (int)(place->name.len > 64 ? 64 : place->name.len),
		         place->name.len ? (const char *)place->name.ptr : "");
		ws_import_skip(x->out, reason, 1);
	} else if (plane->kind == HOST_PLANE && (ws_bytes_begin(e->name, "ThreadpoolListener::") ||
	                                         ws_bytes_begin(e->name, "end: "))) {
		ws_import_skip(x->out, "XLA's notes on thread pools and on ends of operations", 1);
	} else if (!ws_import_time_ok(x->out, e->start_ns, e->dur_ns)) {
		return;
	} else if (plane->kind == HOST_PLANE) {
		add_host_event(x, e, place);
	} else if (plane->kind == GPU_PLANE) {
		uint64_t device = plane->device;
		uint64_t stream = place->number;
		/* ROCm calls a kernel's code object NAME.kd, and a demangled name "NAME [clone
		 * .kd]" */
		static const char *const endings[] = {" [clone .kd]", ".kd"};
		struct ws_bytes name = e->name;

		for (unsigned i = 0; i < 2; i++) {
			const size_t n = strlen(endings[i]);

			if (name.len > n &&
			    !memcmp((const char *)name.ptr + name.len - n, endings[i], n))
				name.len -= n;
		}
		if (e->stat[WS_XLA_COPY].len || ws_bytes_begin(e->name, "Memcpy")) {
			/* in the order of the column's values; "": XLA has no name for it */
			enum { COPY_PTOP = 10 };
			static const char *const kinds[] = {"", "H2D", "D2H", "",    "",   "",
			                                    "", "",    "D2D", "H2H", "P2P"};
			const struct ws_bytes details = e->stat[WS_XLA_COPY];
			struct ws_row_memcpy row = {
			        WHEN, WHERE,
			        .src_kind = memory_kind(detail_of(details, "kind_src")),
			        .dst_kind = memory_kind(detail_of(details, "kind_dst")),
			        .bytes = number_of(detail_of(details, "size"))};

			for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
				if (*kinds[i] && memmem(e->name.ptr, e->name.len, kinds[i], 3))
					row.kind = i;
			if (row.kind == COPY_PTOP) {
				row.src_device = device;
				row.dst_device = number_of(detail_of(details, "dest"));
			}
			ws_import_device_used(x->out, device);
			ws_import_record(x->out, WS_KIND_MEMCPY, &row);
		} else if (e->stat[WS_XLA_FILL].len || ws_bytes_begin(e->name, "Memset")) {
			const struct ws_bytes details = e->stat[WS_XLA_FILL];
			const struct ws_row_memset row = {
			        WHEN, WHERE, .memory_kind = memory_kind(detail_of(details, "kind")),
			        .value = number_of(detail_of(details, "value")),
			        .bytes = number_of(detail_of(details, "num_bytes"))};

			ws_import_device_used(x->out, device);
			ws_import_record(x->out, WS_KIND_MEMSET, &row);
		} else {
			add_kernel(x, e, device, stream, name);
		}
	} else {
		struct ws_xla_device_op op = {.device = plane->device,
		                              .line = e->line,
		                              .start_ns = e->start_ns,
		                              .end_ns = e->start_ns + e->dur_ns,
		                              .sequence = x->nops};
		const struct ws_strtab_entry *kept =
		        ws_strtab_put(&x->names, e->name.ptr, e->name.len);

		op.name = (struct ws_bytes){kept->bytes, kept->len};
		WS_GROW(x->op, x->nops + 1, x->ops_capacity);
		x->op[x->nops++] = op;
	}
}

/* --- the end of the file --- */

static int compare_host(const void *a, const void *b)
{
	const struct ws_xla_host_event *x = a, *y = b;

	WS_ORDER_BY(x->thread, y->thread);
	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(y->end_ns, x->end_ns); /* the longer one is outside */
	WS_ORDER_BY(x->sequence, y->sequence);
	return 0;
}

/* Open scopes of a thread, while its events are read in order. */
struct thread_state {
	struct ws_xla *x;
	struct ws_import_range *range; /* all ranges, of all threads */
	size_t nranges, capacity;
	uint64_t domain;
	int64_t *open_end; /* ends of events that may contain the next one */
	uint64_t *python;  /* for each of these: the innermost Python call, 0 = none */
	size_t depth, ends_capacity, python_capacity;
	uint64_t npython;
	/* functions and modules around the operations that follow each other */
	struct ws_bytes scope;
	uint64_t thread;
	int64_t scope_start_ns[64], scope_end_ns; /* by depth; of the last operation */
};

static void add_range(struct thread_state *s, uint64_t thread, int64_t start_ns, int64_t end_ns,
                      uint64_t name)
{
	const struct ws_import_range r = {.start_ns = start_ns,
	                                  .end_ns = end_ns,
	                                  .thread = thread,
	                                  .domain = s->domain,
	                                  .name = name,
	                                  .sequence = s->nranges};

	WS_GROW(s->range, s->nranges + 1, s->capacity);
	s->range[s->nranges++] = r;
}

/* The parts of a path, "jit(f)/jvp(Net)/dense"; those after the 64th count as one. */
static unsigned split(struct ws_bytes path, struct ws_bytes part[64])
{
	const char *at = path.len ? path.ptr : "", *end = at + path.len, *slash;
	unsigned n = 0;

	while (at < end) {
		slash = n == 63 ? NULL : memchr(at, '/', (size_t)(end - at));
		part[n++] = (struct ws_bytes){at, (size_t)((slash ? slash : end) - at)};
		at = slash ? slash + 1 : end;
	}
	return n;
}

/* The next operation of the thread begins at start_ns in this scope. Scopes shared with the
 * previous operation continue; its other scopes end. */
static void enter_scope(struct thread_state *s, struct ws_bytes scope, int64_t start_ns)
{
	struct ws_bytes before[64], now[64];
	const unsigned nbefore = split(s->scope, before), n = split(scope, now);
	unsigned same = 0;
	uint64_t name;

	while (same < nbefore && same < n && before[same].len == now[same].len &&
	       !memcmp(before[same].ptr, now[same].ptr, now[same].len))
		same++;
	for (unsigned i = same; i < nbefore; i++) {
		ws_import_text(s->x->out, before[i], &name);
		add_range(s, s->thread, s->scope_start_ns[i], s->scope_end_ns, name);
	}
	for (unsigned i = same; i < n; i++)
		s->scope_start_ns[i] = start_ns;
	s->scope = scope;
}

static int compare_ops(const void *a, const void *b)
{
	const struct ws_xla_device_op *x = a, *y = b;

	WS_ORDER_BY(x->device, y->device);
	WS_ORDER_BY(x->line, y->line);
	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(y->end_ns, x->end_ns);
	WS_ORDER_BY(x->sequence, y->sequence);
	return 0;
}

void ws_xla_finish(struct ws_xla *x)
{
	struct thread_state s = {.x = x};

	ws_import_text(x->out, ws_bytes_of(DOMAIN), &s.domain);
	ws_sort(x->host, x->nhost, sizeof(*x->host), compare_host);
	for (size_t i = 0; i < x->nhost; i++) {
		const struct ws_xla_host_event *h = &x->host[i], *before = i ? h - 1 : NULL;
		const size_t depth = s.depth;

		const bool is_other_thread = before && before->thread != h->thread;

		if (is_other_thread)
			s.depth = 0;
		while (s.depth && s.open_end[s.depth - 1] < h->end_ns)
			s.depth--;
		/* a scope lies between two ends of ranges */
		if (is_other_thread || s.depth < depth || h->kind == HOST_RANGE)
			enter_scope(&s, (struct ws_bytes){NULL, 0}, h->start_ns);
		if (h->kind == HOST_OP) {
			struct ws_row_cpu_op row = {.start_ns = h->start_ns,
			                            .dur_ns = h->end_ns - h->start_ns,
			                            .thread = h->thread,
			                            .config = h->text,
			                            .external_id = h->sequence + 1,
			                            .sequence = -1};
			struct ws_row_external_link link = {.pid = x->pid,
			                                    .correlation = h->correlation,
			                                    .kind = WS_EXTERNAL_CUSTOM0,
			                                    .external_id = row.external_id};

			enter_scope(&s, h->scope, h->start_ns);
			s.thread = h->thread;
			s.scope_end_ns = h->end_ns;
			ws_import_row(x->out, WS_KIND_CPU_OP, &row);
			if (h->correlation)
				ws_import_row(x->out, WS_KIND_EXTERNAL_LINK, &link);
			continue;
		}
		if (h->kind == HOST_PYTHON) {
			const struct ws_row_python_call row = {
			        .start_ns = h->start_ns,
			        .dur_ns = h->end_ns - h->start_ns,
			        .thread = h->thread,
			        .name = h->text,
			        .id = ++s.npython,
			        .parent = s.depth ? s.python[s.depth - 1] : 0,
			        .module = -1};

			ws_import_row(x->out, WS_KIND_PYTHON_CALL, &row);
		} else {
			add_range(&s, h->thread, h->start_ns, h->end_ns, h->text);
		}
		WS_GROW(s.open_end, s.depth + 1, s.ends_capacity);
		WS_GROW(s.python, s.depth + 1, s.python_capacity);
		s.open_end[s.depth] = h->end_ns;
		s.python[s.depth] = h->kind == HOST_PYTHON ? s.npython
		                    : s.depth              ? s.python[s.depth - 1]
		                                           : 0;
		s.depth++;
	}
	enter_scope(&s, (struct ws_bytes){NULL, 0}, 0);
	ws_import_ranges(x->out, s.range, s.nranges);
	free(s.range);
	free(s.open_end);
	free(s.python);
	/* loops and conditions last as long as the operations in them, which count. */
	ws_sort(x->op, x->nops, sizeof(*x->op), compare_ops);
	for (size_t i = 0; i < x->nops; i++) {
		const struct ws_xla_device_op *op = &x->op[i], *next = op + 1;
		const struct ws_xla_event e = {.start_ns = op->start_ns,
		                               .dur_ns = op->end_ns - op->start_ns};

		if (i + 1 < x->nops && next->device == op->device && next->line == op->line &&
		    next->start_ns < op->end_ns && next->end_ns <= op->end_ns)
			ws_import_skip(x->out, "loops and conditions around operations of a device",
			               1);
		else
			add_kernel(x, &e, op->device, 0, instruction_kind(op->name));
	}
	snprintf(x->out->stats->format, sizeof(x->out->stats->format), "profile of XLA");
}

void ws_xla_free(struct ws_xla *x)
{
	ws_strtab_free(&x->planes);
	ws_strtab_free(&x->lines);
	ws_strtab_free(&x->names);
	ws_buf_free(&x->scratch);
	free(x->plane);
	free(x->place);
	free(x->host);
	free(x->op);
}
