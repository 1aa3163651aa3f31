/* What a timeline writes: slices with their arguments, marks, counters, and what the file says of
 * the trace. */
#include <stdbool.h>
#include <stdlib.h>
#include "formats/base/grow.h"
#include "formats/base/sort.h"
#include "report/base/names.h"
#include "report/export/chrome/private.h"

/* --- devices, and how the trace was recorded ------------------------------------------------- */

/* Of rows that say the same thing twice, the last one counts: a number for each thing. */
struct last_rows {
	struct ws_strtab things;
	struct ws_map row;
};

static void last_rows_add(struct last_rows *l, const void *thing, size_t len, size_t row)
{
	uint64_t id;

	id = ws_strtab_add(&l->things, thing, len);
	ws_map_put(&l->row, id, row);
}

static bool last_rows_is(const struct last_rows *l, const void *thing, size_t len, size_t row)
{
	const uint64_t *last = ws_map_get(&l->row, ws_strtab_find(&l->things, thing, len));

	return last && *last == row;
}

static void last_rows_free(struct last_rows *l)
{
	ws_strtab_free(&l->things);
	ws_map_free(&l->row);
}

void ws_chrome_put_devices(struct ws_chrome *ch)
{
	struct last_rows last = {0};
	struct ws_json_writer *j = &ch->j;

	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE_ATTR].n; i++) {
		const struct ws_row_device_attr *row =
		        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, i);
		const uint64_t thing[2] = {row->device, row->attr};

		last_rows_add(&last, thing, sizeof(thing), i);
	}
	ws_json_break(j);
	ws_json_array_begin(ws_json_key(j, "deviceProperties"));
	for (size_t i = 0; i < ch->kind[WS_KIND_DEVICE].n; i++) {
		const struct ws_row_device *d = WS_CHROME_ROW(ch, DEVICE, device, i);
		struct ws_bytes name = ws_chrome_text(ch, d->name);

		if (ws_records_find(&ch->kind[WS_KIND_DEVICE], d->id) != d)
			continue; /* a later row says more */
		ws_json_break(j);
		ws_json_object_begin(j);
		ws_json_u64(ws_json_key(j, "id"), d->id);
		ws_json_string(ws_json_key(j, "name"), name.ptr, name.len);
		/* as PyTorch's profiler has them */
		static const struct {
			const char *key, *attr;
		} properties[] = {
#define DEVICE(text, attr) {text, attr},
#include "formats/pytorch/pytorch.def"
		};

		for (size_t k = 0; k < ch->kind[WS_KIND_DEVICE_ATTR].n; k++) {
			const struct ws_row_device_attr *row =
			        WS_CHROME_ROW(ch, DEVICE_ATTR, device_attr, k);
			const uint64_t thing[2] = {row->device, row->attr};
			struct ws_bytes attr = ws_chrome_text(ch, row->attr);

			if (row->device != d->id || !last_rows_is(&last, thing, sizeof(thing), k))
				continue;
			for (size_t p = 0; p < sizeof(properties) / sizeof(*properties); p++)
				if (ws_name_is(attr, properties[p].attr))
					ws_json_i64(ws_json_key(&ch->j, properties[p].key),
					            row->value);
		}
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	last_rows_free(&last);
}

void ws_chrome_each_meta(struct ws_chrome *ch,
                         void (*fn)(struct ws_chrome *ch, const char *key, struct ws_bytes value))
{
	struct last_rows last = {0};
	char key[200];

	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		last_rows_add(&last, m->key.ptr, m->key.len, i);
	}
	for (size_t i = 0; i < ch->kind[WS_KIND_META].n; i++) {
		const struct ws_row_meta *m = WS_CHROME_ROW(ch, META, meta, i);

		if (!last_rows_is(&last, m->key.ptr, m->key.len, i) || !m->key.len ||
		    m->key.len >= sizeof(key))
			continue;
		memcpy(key, m->key.ptr, m->key.len);
		key[m->key.len] = 0;
		fn(ch, key, (struct ws_bytes){m->value.ptr ? m->value.ptr : "", m->value.len});
	}
	last_rows_free(&last);
}

/* --- what PyTorch's tools look for ---------------------------------------------------------- */

/* A number as one, if it is short enough to be one for sure. */
static void put_scalar(struct ws_json_writer *j, const char *key, struct ws_bytes value)
{
	const char *text = value.ptr;
	bool is_number = value.len > 0 && value.len < 16;
	int64_t number = 0;

	for (size_t i = 0; i < value.len && is_number; i++) {
		is_number = text[i] >= '0' && text[i] <= '9';
		number = number * 10 + (text[i] - '0');
	}
	ws_json_key(j, key);
	if (is_number)
		ws_json_i64(j, number);
	else
		ws_json_string(j, text, value.len);
}

static void put_top(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const struct {
		const char *text, *key;
	} names[] = {
#define META(text, key) {text, key},
#include "formats/pytorch/pytorch.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i].key, key) != 0)
			continue;
		ws_json_break(&ch->j);
		put_scalar(&ch->j, names[i].text, value);
	}
}

static void put_distributed(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	static const char *const ends[] = {"rank", "world_size", "backend", "nccl_version"};

	for (size_t e = 0; e < sizeof(ends) / sizeof(*ends); e++)
		if (ws_bytes_begin(ws_bytes_of(key), ch->rank_keys) &&
		    !strcmp(key + strlen(ch->rank_keys), ends[e]))
			put_scalar(&ch->j, ends[e], value);
}

/* Of PyTorch's names and of the recorder's: both mean the same, and a trace may have both. */
static void look_for_rank(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	(void)value;
	if (!strcmp(key, "distributed.rank"))
		ch->rank_keys = "distributed.";
	else if (!strcmp(key, "process.rank") && !ch->rank_keys)
		ch->rank_keys = "process.";
}

void ws_chrome_put_pytorch_meta(struct ws_chrome *ch)
{
	ws_chrome_each_meta(ch, put_top);
	ws_chrome_each_meta(ch, look_for_rank);
	if (!ch->rank_keys)
		return;
	ws_json_break(&ch->j);
	ws_json_object_begin(ws_json_key(&ch->j, "distributedInfo"));
	ws_chrome_each_meta(ch, put_distributed);
	ws_json_object_end(&ch->j);
}

/* --- slices and marks ------------------------------------------------------------------------ */

#define TELL_SLICES 4096 /* between two words about progress */

/* --- arguments --- */

static void put_u64(struct ws_chrome *ch, const char *key, uint64_t value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_U64, .u64 = value});
}

static void put_i64(struct ws_chrome *ch, const char *key, int64_t value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_I64, .i64 = value});
}

static void put_f64(struct ws_chrome *ch, const char *key, double value)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_F64, .f64 = value});
}

static void put_yes(struct ws_chrome *ch, const char *key)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_YES});
}

static void put_known(struct ws_chrome *ch, const char *key, uint64_t value)
{
	if (value)
		put_u64(ch, key, value);
}

static void put_text(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	ch->form->arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_TEXT, .text = text});
}

static void put_known_text(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	if (text.len)
		put_text(ch, key, text);
}

/* What PyTorch records as an array, and the trace has as its text. */
static void put_known_array(struct ws_chrome *ch, const char *key, struct ws_bytes text)
{
	const struct ws_chrome_value value = {.type = WS_CHROME_ARRAY, .text = text};

	if (text.len)
		ch->form->arg(ch, key, &value);
}

static void put_sizes(struct ws_chrome *ch, const char *key, uint64_t x, uint64_t y, uint64_t z)
{
	const struct ws_chrome_value value = {.type = WS_CHROME_SIZES, .sizes = {x, y, z}};

	ch->form->arg(ch, key, &value);
}

/* A number of 8 bits to the power of its unit's name: "htod" of a memcpy's kind. */
static struct ws_bytes enum_name(enum ws_kind kind, int column, uint64_t value)
{
	return ws_enum_name(ws_schema_kind(kind)->columns[column].unit, value);
}

/* Arguments follow. */
static void put_name(struct ws_chrome *ch, struct ws_bytes name, const char *category)
{
	static const struct ws_bytes unknown = {"(unknown)", 9};

	ch->form->name(ch, name.len ? name : unknown, category);
}

static void put_place(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t correlation)
{
	const struct ws_chrome_track *t = &ch->track[s->track];

	/* 0: of no operation. Without one TensorBoard's plugin takes it for any collective's. */
	put_u64(ch, "External id", ws_chrome_external_id(ch, t->b, correlation));
	put_u64(ch, "device", t->a);
	put_u64(ch, "context", t->c);
	put_i64(ch, "stream", (int64_t)t->d); /* -1: of none, as PyTorch has it today */
	put_known(ch, "correlation", correlation);
}

/* As PyTorch's profiler tells it of a kernel, and of the operation that asks for one. */
static void put_collective(struct ws_chrome *ch, uint64_t correlation, uint64_t external_id,
                           int64_t time_ns)
{
	const struct ws_row_collective *c =
	        ws_chrome_collective(ch, correlation, external_id, time_ns);

	if (!c)
		return;
	put_text(ch, "Collective name", ws_chrome_text(ch, c->name));
	put_u64(ch, "In msg nelems", c->in_elements);
	put_u64(ch, "Out msg nelems", c->out_elements);
	put_known(ch, "Group size", c->group_size);
	put_known_text(ch, "dtype", ws_chrome_text(ch, c->dtype));
	put_known_text(ch, "Process Group Name", ws_chrome_text(ch, c->group));
	put_known_text(ch, "Process Group Ranks", ws_chrome_text(ch, c->ranks));
	if (c->sequence >= 0)
		put_u64(ch, "Seq", (uint64_t)c->sequence);
}

/* --- slices of each kind --- */

static void put_kernel(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_kernel *r = WS_CHROME_ROW(ch, KERNEL, kernel, s->row);
	const struct ws_config *known;
	const struct ws_row_launch_config *c = ws_chrome_config(ch, r->config, &known);
	const struct ws_occupancy *o = &known->occupancy;
	const bool has_name = known->name != WS_TEXT_UNKNOWN_KERNEL;

	put_name(ch,
	         ch->names_as_recorded ? ws_chrome_text(ch, c->name)
	         : has_name            ? ch->m->texts[known->name]
	                               : (struct ws_bytes){"", 0},
	         "kernel");
	put_place(ch, s, r->correlation);
	put_collective(ch, r->correlation, 0, r->start_ns);
	put_known(ch, "registers per thread", c->registers);
	put_u64(ch, "shared memory", c->shared_static_bytes + c->shared_dynamic_bytes);
	put_u64(ch, "static shared memory (bytes)", c->shared_static_bytes);
	put_u64(ch, "dynamic shared memory (bytes)", c->shared_dynamic_bytes);
	put_sizes(ch, "grid", c->grid_x, c->grid_y, c->grid_z);
	put_sizes(ch, "block", c->block_x, c->block_y, c->block_z);
	if (c->cluster_x)
		put_sizes(ch, "cluster", c->cluster_x, c->cluster_y, c->cluster_z);
	if (known->has_occupancy) {
		put_f64(ch, "blocks per SM", o->blocks_per_sm);
		put_f64(ch, "warps per SM", o->warps_per_sm);
		put_u64(ch, "est. achieved occupancy %", o->kineto_percent);
		put_f64(ch, "est. achieved occupancy opt-in (%)", o->percent);
	}
	put_known(ch, "graph node id", r->graph_node);
	put_known(ch, "graph id", r->graph);
	if (r->flags & WS_KERNEL_CUT_OFF) {
		put_yes(ch, "cut off");
	}
}

static void put_rate(struct ws_chrome *ch, uint64_t bytes, const struct ws_chrome_slice *s)
{
	put_known(ch, "bytes", bytes);
	if (bytes && s->end_ns > s->start_ns) {
		put_f64(ch, "memory bandwidth (GB/s)",
		        (double)bytes / (double)(s->end_ns - s->start_ns));
	}
}

/* As PyTorch's profiler writes them: "Memcpy HtoD (Pinned -> Device)". */
static const char *const directions[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};

static const char *const memories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                       "Array",   "Managed",  "Device Static", "Managed Static"};

#define NAME_OF(names, value) (names)[(value) < sizeof(names) / sizeof(*(names)) ? (value) : 0]

static void put_memcpy(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_memcpy *r = WS_CHROME_ROW(ch, MEMCPY, memcpy, s->row);
	const uint64_t peer = 10, first_unified = 11;
	char name[80];
	int len = snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", NAME_OF(directions, r->kind),
	                   NAME_OF(memories, r->src_kind), NAME_OF(memories, r->dst_kind));

	put_name(ch, (struct ws_bytes){name, (size_t)len}, "gpu_memcpy");
	put_place(ch, s, r->correlation);
	put_rate(ch, r->bytes, s);
	if (r->kind >= first_unified)
		put_text(ch, "unified memory",
		         enum_name(WS_KIND_MEMCPY, WS_COL_memcpy_kind, r->kind));
	if (r->kind == peer) {
		put_u64(ch, "fromDevice", r->src_device);
		put_u64(ch, "toDevice", r->dst_device);
	}
	put_known(ch, "graph node id", r->graph_node);
}

static void put_memset(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_memset *r = WS_CHROME_ROW(ch, MEMSET, memset, s->row);
	char name[60];
	int len = snprintf(name, sizeof(name), "Memset (%s)", NAME_OF(memories, r->memory_kind));

	put_name(ch, (struct ws_bytes){name, (size_t)len}, "gpu_memset");
	put_place(ch, s, r->correlation);
	put_rate(ch, r->bytes, s);
	put_u64(ch, "value", r->value);
	put_known(ch, "graph node id", r->graph_node);
}

static void put_graph(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_graph_launch *r = WS_CHROME_ROW(ch, GRAPH_LAUNCH, graph_launch, s->row);
	char name[60];
	int len = snprintf(name, sizeof(name), "CUDA graph %llu", (unsigned long long)r->graph);

	put_name(ch, (struct ws_bytes){name, (size_t)len}, "cuda_graph");
	put_place(ch, s, r->correlation);
	put_u64(ch, "graph id", r->graph);
	put_known(ch, "executable graph id", r->graph_exec);
}

static void put_sync(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	static const char *const names[] = {"Synchronization", "Event Sync", "Stream Wait Event",
	                                    "Stream Sync", "Context Sync"};
	const struct ws_row_sync *r = WS_CHROME_ROW(ch, SYNC, sync, s->row);
	const char *name = NAME_OF(names, r->type);

	put_name(ch, ws_bytes_of(name), "cuda_sync");
	put_place(ch, s, r->correlation);
	put_text(ch, "cuda_sync_kind", ws_bytes_of(name));
	if (r->event >= 0)
		put_u64(ch, "wait_on_cuda_event_id", (uint64_t)r->event);
	if (r->event_stream >= 0)
		put_u64(ch, "wait_on_stream", (uint64_t)r->event_stream);
	put_known(ch, "wait_on_cuda_event_record_corr_id", r->event_correlation);
}

static void put_gpu_range(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_gpu_range *r = WS_CHROME_ROW(ch, GPU_RANGE, gpu_range, s->row);

	put_name(ch, ws_chrome_text(ch, r->name), "gpu_user_annotation");
	put_u64(ch, "device", r->device);
	/* not "stream": HTA takes what has one for work of the device */
	put_u64(ch, "on stream", r->stream);
}

static void put_api(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_api *r = WS_CHROME_ROW(ch, API, api, s->row);
	struct ws_bytes name = ws_chrome_text(ch, r->name);

	put_name(ch, name, ws_export_is_driver_call(name) ? "cuda_driver" : "cuda_runtime");
	put_u64(ch, "External id", ws_chrome_external_id_of_call(ch, s));
	put_known(ch, "correlation", r->correlation);
	if (r->result) {
		put_i64(ch, "return value", r->result);
	}
}

/* The payload's row, and whether it is an operation's. */
static bool is_op(const struct ws_chrome *ch, uint64_t payload)
{
	const uint64_t *place = ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places, payload);

	return payload && place && ch->m->ops.is_op[*place];
}

/* What an annotated operation says of itself. */
static void put_op(struct ws_chrome *ch, uint64_t payload)
{
	const uint64_t *place = ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places, payload);
	const struct ws_row_payload *row;
	const struct ws_op_facts *op;
	int64_t number;

	if (!payload || !place)
		return;
	row = WS_CHROME_ROW(ch, PAYLOAD, payload, *place);
	op = &ch->m->ops.op[*place];
	if (ws_payload_number(row->schema, row->bytes.ptr, row->bytes.len, &number)) {
		put_i64(ch, "value", number);
	}
	if (!ch->m->ops.is_op[*place])
		return;
	put_known_text(ch, "op", ch->m->texts[op->kind]);
	put_known_text(ch, "direction", ch->m->texts[op->direction]);
	put_known_text(ch, "dtype", ch->m->texts[op->dtype]);
	if (op->layer >= 0)
		put_u64(ch, "layer", (uint64_t)op->layer);
	if (op->flops >= 0)
		put_u64(ch, "FLOPs", (uint64_t)op->flops);
	if (op->bytes >= 0)
		put_u64(ch, "bytes read and written", (uint64_t)op->bytes);
}

static void put_range(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_recorded_range *r = ws_recorded_range(&ch->ranges.ranges, s->row);
	const struct ws_recorded_event *begin = &ch->ranges.events[r->begin];
	struct ws_bytes name = ws_chrome_text(ch, begin->name);
	char step[40];

	if (name.len == 4 && !memcmp(name.ptr, "step", 4)) {
		/* A step as PyTorch's tools know it: by the number that it carries, else one after
		 * the other. */
		const uint64_t *place =
		        ws_map_get(&ch->kind[WS_KIND_PAYLOAD].places, begin->payload);
		int64_t number = (int64_t)ch->next_step;

		if (begin->payload && place) {
			const struct ws_row_payload *row =
			        WS_CHROME_ROW(ch, PAYLOAD, payload, *place);

			ws_payload_number(row->schema, row->bytes.ptr, row->bytes.len, &number);
		}
		ch->next_step++;
		name = (struct ws_bytes){step,
		                         (size_t)snprintf(step, sizeof(step), "ProfilerStep#%lld",
		                                          (long long)number)};
	}
	if (is_op(ch, begin->payload)) {
		put_name(ch, name, "cpu_op");
		/* like a framework's, where the trace has none of those */
		if (!ch->kind[WS_KIND_CPU_OP].n) {
			put_u64(ch, "External id", s->row + 1);
			ws_chrome_begin_op(ch, s, s->row + 1);
		}
	} else {
		put_name(ch, name, "user_annotation");
	}
	put_known_text(ch, "domain", ws_chrome_text(ch, begin->domain));
	put_known(ch, "category", begin->category);
	put_op(ch, begin->payload);
	if (begin->type == WS_NVTX_START)
		put_u64(ch, "range id", r->id);
	if (r->end == WS_NONE)
		put_yes(ch, "never ended");
}

static void put_cpu_op(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_cpu_op *r = WS_CHROME_ROW(ch, CPU_OP, cpu_op, s->row);
	const struct ws_row_op_config *c = ws_records_find(&ch->kind[WS_KIND_OP_CONFIG], r->config);

	put_name(ch, c ? ws_chrome_text(ch, c->name) : (struct ws_bytes){"", 0}, "cpu_op");
	put_known(ch, "External id", r->external_id);
	ws_chrome_begin_op(ch, s, r->external_id);
	put_known(ch, "Record function id", r->record_function);
	if (r->sequence >= 0)
		put_u64(ch, "Sequence number", (uint64_t)r->sequence);
	put_known(ch, "Fwd thread id", r->forward_thread);
	put_collective(ch, 0, r->external_id, r->start_ns);
	if (!c)
		return;
	put_known_array(ch, "Input Dims", ws_chrome_text(ch, c->dims));
	put_known_array(ch, "Input type", ws_chrome_text(ch, c->types));
	put_known_array(ch, "Input Strides", ws_chrome_text(ch, c->strides));
	put_known_array(ch, "Concrete Inputs", ws_chrome_text(ch, c->inputs));
	if (c->cost != WS_COST_NONE)
		put_u64(ch, "FLOPs", c->flops);
	if (c->cost == WS_COST_FLOPS_AND_BYTES) {
		put_u64(ch, "bytes read", c->bytes_read);
		put_u64(ch, "bytes written", c->bytes_written);
	}
}

static void put_python_call(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_python_call *r = WS_CHROME_ROW(ch, PYTHON_CALL, python_call, s->row);

	put_name(ch, ws_chrome_text(ch, r->name), "python_function");
	put_known(ch, "Python id", r->id);
	put_known(ch, "Python parent id", r->parent);
	if (r->module >= 0)
		put_u64(ch, "Python module id", (uint64_t)r->module);
}

static void put_overhead(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const struct ws_row_overhead *r = WS_CHROME_ROW(ch, OVERHEAD, overhead, s->row);
	struct ws_bytes kind = enum_name(WS_KIND_OVERHEAD, WS_COL_overhead_kind, r->kind);
	struct ws_bytes name = ws_chrome_text(ch, r->name);

	put_name(ch, name.len ? name : kind, "overhead");
	put_known_text(ch, "kind", kind);
}

/* --- arrows --- */

struct search {
	struct ws_chrome *ch;
	struct ws_chrome_launch key;
};

static bool is_earlier_launch(void *ctx, size_t i)
{
	const struct search *s = ctx;

	return ws_chrome_compare_launches(ws_chrome_launch(s->ch, i), &s->key, NULL) < 0;
}

/* The first arrow not before this one. Slices ask in the order of their launches, mostly. */
static size_t find_launch(struct ws_chrome *ch, uint64_t pid, uint64_t correlation, size_t work)
{
	struct search search = {ch, {pid, correlation, 0, (uint32_t)work, WS_NONE}};

	ch->next_launch =
	        ws_count_before(ch->nlaunches, ch->next_launch, is_earlier_launch, &search);
	return ch->next_launch;
}

/* Arrows from a call, the slice of this number, to all that it launched. */
static void begin_arrows(struct ws_chrome *ch, const struct ws_chrome_slice *s, size_t slice)
{
	const uint64_t pid = ch->track[s->track].a, correlation = ws_chrome_correlation(ch, s);

	for (size_t i = find_launch(ch, pid, correlation, 0); i < ch->nlaunches; i++) {
		const struct ws_chrome_launch *l = ws_chrome_launch(ch, i);

		if (l->pid != pid || l->correlation != correlation)
			return;
		if (l->call == slice)
			ch->form->arrow(ch, s, l->arrow, 1);
	}
}

static void end_arrow(struct ws_chrome *ch, const struct ws_chrome_slice *s, size_t slice)
{
	const uint64_t correlation = ws_chrome_correlation(ch, s);
	const size_t i = find_launch(ch, ch->track[s->track].b, correlation, slice);
	const struct ws_chrome_launch *l = ws_chrome_launch(ch, i);

	if (l->call != WS_NONE)
		ch->form->arrow(ch, s, l->arrow, 0);
}

/* --- all of them --- */

/* Threads come first in the order of tracks, so the begin of an arrow before its end. */
void ws_chrome_put_slices(struct ws_chrome *ch)
{
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_track *t;
		const struct ws_row_thread *row;

		if (i % TELL_SLICES == 0 && ch->opts->progress)
			ch->opts->progress(ch->opts->progress_ctx, i, ch->nslices);
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		static void (*const put[WS_KIND_END])(struct ws_chrome *,
		                                      const struct ws_chrome_slice *) = {
		        [WS_KIND_KERNEL] = put_kernel,     [WS_KIND_MEMCPY] = put_memcpy,
		        [WS_KIND_MEMSET] = put_memset,     [WS_KIND_GRAPH_LAUNCH] = put_graph,
		        [WS_KIND_SYNC] = put_sync,         [WS_KIND_GPU_RANGE] = put_gpu_range,
		        [WS_KIND_API] = put_api,           [WS_KIND_NVTX] = put_range,
		        [WS_KIND_CPU_OP] = put_cpu_op,     [WS_KIND_PYTHON_CALL] = put_python_call,
		        [WS_KIND_OVERHEAD] = put_overhead,
		};

		ch->form->begin_slice(ch, s);
		put[s->kind](ch, s);
		/* Where a row of a thread has a number of its own, the thread's is told. */
		t = &ch->track[s->track];
		if (t->type == WS_CHROME_THREAD) {
			row = ws_records_find(&ch->kind[WS_KIND_THREAD], t->b);
			if (row && row->tid != t->tid[s->subtrack])
				put_u64(ch, "on thread", row->tid);
		}
		if (ch->form->end_args)
			ch->form->end_args(ch);
		/* right behind the slice that it binds to, as both are at one moment */
		if (s->kind == WS_KIND_API)
			begin_arrows(ch, s, i);
		else if (ws_chrome_correlation(ch, s))
			end_arrow(ch, s, i);
		if (ch->form->end_slice)
			ch->form->end_slice(ch, s);
	}
}

/* The track of a thread: NULL when nothing is drawn on it. */
static const struct ws_chrome_track *thread_track(const struct ws_chrome *ch, uint64_t thread)
{
	const uint64_t key[5] = {WS_CHROME_THREAD, ws_chrome_thread_pid(ch, thread), thread};
	uint64_t id = ws_strtab_find(&ch->track_keys, key, sizeof(key));

	return id ? &ch->track[id - 1] : NULL;
}

void ws_chrome_put_marks(struct ws_chrome *ch)
{
	for (size_t i = 0; i < ch->ranges.nmarks; i++) {
		const struct ws_recorded_range *mark = ws_recorded_range(&ch->ranges.marks, i);
		const struct ws_recorded_event *r = &ch->ranges.events[mark->begin];

		ch->form->begin_mark(ch, mark->start_ns, r->thread, thread_track(ch, r->thread));
		put_name(ch, ws_chrome_text(ch, r->name), "user_annotation");
		put_known_text(ch, "domain", ws_chrome_text(ch, r->domain));
		put_op(ch, r->payload);
		if (ch->form->end_args)
			ch->form->end_args(ch);
		if (ch->form->end_mark)
			ch->form->end_mark(ch);
	}
}

/* From an operation to its backward pass; both ends are at the start of a slice. */
void ws_chrome_put_forward_backward(struct ws_chrome *ch)
{
	uint64_t id = WS_CHROME_FIRST_MADE_ID + ch->nlaunches;

	WS_CHROME_EACH(ch, FLOW, flow, r) {
		const struct ws_chrome_track *from = thread_track(ch, r->from_thread);
		const struct ws_chrome_track *to = thread_track(ch, r->to_thread);

		if (!from || !to) {
			ch->stats->skipped[WS_KIND_FLOW]++;
			continue;
		}
		id++;
		ch->form->link(ch, id, from, r->from_ns, 1);
		ch->form->link(ch, id, to, r->to_ns, 0);
	}
}

/* --- counters -------------------------------------------------------------------------------- */

/* --- sampled quantities --- */

/* --- memory --- */

static bool is_on_device(uint64_t memory_kind)
{
	return memory_kind == WS_MEMORY_DEVICE || memory_kind == WS_MEMORY_DEVICE_STATIC ||
	       memory_kind == WS_MEMORY_ARRAY;
}

struct by_time {
	int64_t time_ns;
	uint64_t key; /* row, or device */
	int64_t change;
};

static int compare_by_time(const void *a, const void *b, void *ctx)
{
	const struct by_time *x = a, *y = b;

	(void)ctx;
	WS_ORDER_BY(x->time_ns, y->time_ns);
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_memory(struct ws_chrome *ch, const struct ws_row_memory *r,
                       const struct ws_map *in_use)
{
	int on_device = is_on_device(r->memory_kind);
	uint64_t pid =
	        on_device ? ws_chrome_device(r->device) : *ws_map_get(&ch->json_pids, r->pid);
	const uint64_t *sum = ws_map_get(in_use, pid);

	if (r->total_allocated_bytes || r->total_reserved_bytes) {
		ch->form->counter(ch, pid, ws_bytes_of("memory allocated by the framework"),
		                  r->time_ns, "bytes", (int64_t)r->total_allocated_bytes, 0);
		ch->form->counter(ch, pid, ws_bytes_of("memory reserved by the framework"),
		                  r->time_ns, "bytes", (int64_t)r->total_reserved_bytes, 0);
	} else {
		ch->form->counter(ch, pid,
		                  ws_bytes_of(on_device ? "device memory allocated since the begin"
		                                        : "host memory allocated since the begin"),
		                  r->time_ns, "bytes", (int64_t)*sum, 0);
	}
}

/* Allocations add, releases subtract; what was allocated before the recording is not known. */
static void put_memories(struct ws_chrome *ch)
{
	size_t n = ch->kind[WS_KIND_MEMORY].n;
	struct ws_map in_use = {0};
	struct by_time *order;

	WS_NEW(&ch->arena, order, n);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct by_time){WS_CHROME_ROW(ch, MEMORY, memory, i)->time_ns, i, 0};
	ws_sort_by(order, n, sizeof(*order), compare_by_time, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct ws_row_memory *r = WS_CHROME_ROW(ch, MEMORY, memory, order[i].key);
		const uint64_t *before;
		uint64_t pid, sum;

		/* of a thread: what a framework says of its allocator, as it says it */
		if (r->thread && r->op <= WS_MEMORY_OP_OUT_OF_MEMORY) {
			/* An instant of PyTorch's profiler: memory that a thread took or gave back.
			 */
			const bool is_host = r->memory_kind == WS_MEMORY_PAGEABLE;
			const bool is_free = r->op == WS_MEMORY_OP_FREE;
			const char *name =
			        r->op == WS_MEMORY_OP_OUT_OF_MEMORY ? "[OutOfMemory]" : "[memory]";

			ch->form->begin_mark(ch, r->time_ns, r->thread,
			                     thread_track(ch, r->thread));
			put_name(ch, ws_bytes_of(name), "cpu_instant_event");
			if (r->memory_kind != WS_MEMORY_UNKNOWN)
				put_i64(ch, "Device Type", !is_host);
			put_i64(ch, "Device Id", is_host ? -1 : (int64_t)r->device);
			put_known(ch, "Addr", r->address);
			put_i64(ch, "Bytes", (int64_t)(is_free ? -r->bytes : r->bytes));
			put_known(ch, "Total Allocated", r->total_allocated_bytes);
			put_known(ch, "Total Reserved", r->total_reserved_bytes);
			if (ch->form->end_args)
				ch->form->end_args(ch);
			if (ch->form->end_mark)
				ch->form->end_mark(ch);
		}
		if (r->thread && r->op == WS_MEMORY_OP_OUT_OF_MEMORY)
			continue;
		if (r->op != WS_MEMORY_OP_ALLOC && r->op != WS_MEMORY_OP_FREE) {
			ch->stats->skipped[WS_KIND_MEMORY]++;
			continue;
		}
		ws_chrome_process(ch, r->pid, &pid);
		if (is_on_device(r->memory_kind))
			pid = ws_chrome_device(r->device);
		before = ws_map_get(&in_use, pid);
		sum = before ? *before : 0;
		sum = r->op == WS_MEMORY_OP_ALLOC ? sum + r->bytes : sum - r->bytes;
		ws_map_put(&in_use, pid, sum);
		put_memory(ch, r, &in_use);
	}
	ws_map_free(&in_use);
}

/* --- occupancy --- */

#define PERCENT_DIGITS 3 /* of which sums are exact */
#define PERCENT_ONE    1000

static void put_occupancy(struct ws_chrome *ch)
{
	struct ws_spill changes;
	struct ws_map sums = {0};
	size_t n = 0;

	ws_spill_open(&changes, 2 * ch->kind[WS_KIND_KERNEL].n * sizeof(struct by_time));
	for (size_t i = 0; i < ch->nslices; i++) {
		const struct ws_chrome_slice *s = ws_chrome_slice(ch, i);
		const struct ws_config *c;
		struct by_time change;
		int64_t share;

		if (s->kind != WS_KIND_KERNEL || s->end_ns <= s->start_ns)
			continue;
		ws_chrome_config(ch, WS_CHROME_ROW(ch, KERNEL, kernel, s->row)->config, &c);
		if (!c->has_occupancy)
			continue;
		share = (int64_t)(c->occupancy.percent * PERCENT_ONE + 0.5);
		change = (struct by_time){s->start_ns, ch->track[s->track].a, share};
		ws_spill_put(&changes, sizeof(change), (n)++, &change);
		change = (struct by_time){s->end_ns, ch->track[s->track].a, -share};
		ws_spill_put(&changes, sizeof(change), (n)++, &change);
	}
	ws_spill_sort(&changes, sizeof(struct by_time), n, compare_by_time, NULL);
	/* The kernels' estimates added up, at most 100: kernels side by side fill the device
	 * together. */
	const int64_t full = 100 * PERCENT_ONE;

	for (size_t i = 0; i < n; i++) {
		const struct by_time *change = ws_spill_row(&changes, sizeof(*change), i);
		const uint64_t *before = ws_map_get(&sums, change->key);
		int64_t sum = (before ? (int64_t)*before : 0) + change->change;

		ws_map_put(&sums, change->key, (uint64_t)sum);
		/* all changes of a moment make one value */
		if (i + 1 < n && change[1].time_ns == change->time_ns &&
		    change[1].key == change->key)
			continue;
		ch->form->counter(ch, ws_chrome_device(change->key),
		                  ws_bytes_of("est. achieved occupancy of running kernels"),
		                  change->time_ns, "%", sum > full ? full : sum, PERCENT_DIGITS);
	}
	ws_map_free(&sums);
	ws_spill_close(&changes);
}

void ws_chrome_put_counters(struct ws_chrome *ch)
{
	WS_CHROME_EACH(ch, COUNTER, counter, r)
		ch->form->counter(ch, ws_chrome_device(r->device), ws_chrome_text(ch, r->name),
		                  r->time_ns, "value", r->value, 0);
	put_memories(ch);
	put_occupancy(ch);
}
