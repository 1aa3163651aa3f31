#include "formats/foreign/importer.h"

#include <limits.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/system/files.h"
#include "formats/op_cost/op_cost.h"
#include "formats/text/json_reader.h"

void ws_import_out_init(struct ws_import_out *o, struct ws_trace_writer *w,
                        struct ws_import_stats *stats)
{
	*o = (struct ws_import_out){.w = w, .stats = stats, .next_range = 1};
}

void ws_import_out_free(struct ws_import_out *o)
{
	ws_strtab_free(&o->threads);
	ws_strtab_free(&o->ops);
	ws_strtab_free(&o->processes);
	ws_strtab_free(&o->devices);
	ws_buf_free(&o->key);
	ws_buf_free(&o->compact);
	free(o->process);
	*o = (struct ws_import_out){0};
}

void ws_import_row(struct ws_import_out *o, enum ws_kind kind, const void *row)
{
	ws_trace_writer_add(o->w, kind, row, NULL);
}

/* Cut a text at the longest that a trace can hold. */
static struct ws_bytes cut(struct ws_import_out *o, struct ws_bytes text)
{
	if (text.len > WS_MAX_BLOB_BYTES) {
		text.len = WS_MAX_BLOB_BYTES;
		o->lost[WS_LOST_import_cut_text]++;
	}
	return text;
}

void ws_import_text(struct ws_import_out *o, struct ws_bytes text, uint64_t *id)
{
	text = cut(o, text);
	ws_trace_writer_intern(o->w, text.ptr, text.len, id, NULL);
}

/* --- processes and threads --- */

struct ws_import_process *ws_import_process(struct ws_import_out *o, uint64_t pid)
{
	uint64_t id = ws_strtab_find(&o->processes, &pid, sizeof(pid));

	if (!id) {
		WS_GROW(o->process, o->nprocesses + 1, o->processes_capacity);
		id = ws_strtab_add(&o->processes, &pid, sizeof(pid));
		o->process[o->nprocesses++] = (struct ws_import_process){pid, 0};
	}
	return &o->process[id - 1];
}
bool ws_import_process_known(const struct ws_import_out *o, uint64_t pid)
{
	return ws_strtab_find(&o->processes, &pid, sizeof(pid)) != 0;
}

void ws_import_thread(struct ws_import_out *o, uint64_t pid, uint64_t tid, struct ws_bytes label,
                      uint64_t *id)
{
	struct ws_row_thread row = {.pid = pid, .tid = tid};

	o->key.len = 0;
	ws_buf_put(&o->key, &pid, sizeof(pid));
	ws_buf_put(&o->key, &tid, sizeof(tid));
	ws_buf_put(&o->key, label.ptr, label.len);
	*id = ws_strtab_find(&o->threads, o->key.data, o->key.len);
	if (*id)
		return;
	*id = ws_strtab_add(&o->threads, o->key.data, o->key.len);
	ws_import_process(o, pid);
	row.id = *id;
	ws_import_text(o, label, &row.name);
	ws_import_row(o, WS_KIND_THREAD, &row);
}

uint64_t ws_import_thread_known(const struct ws_import_out *o, uint64_t pid, uint64_t tid)
{
	uint64_t key[2] = {pid, tid};

	return ws_strtab_find(&o->threads, key, sizeof(key));
}
void ws_import_thread_name(struct ws_import_out *o, uint64_t thread, uint64_t pid, uint64_t tid,
                           struct ws_bytes name)
{
	struct ws_row_thread row = {.id = thread, .pid = pid, .tid = tid};

	ws_import_text(o, name, &row.name);
	if (row.name)
		ws_import_row(o, WS_KIND_THREAD, &row);
}

/* --- devices --- */

void ws_import_device(struct ws_import_out *o, uint64_t id, struct ws_bytes name)
{
	struct ws_row_device row = {.id = id, .kind = WS_DEVICE_CUDA};

	ws_strtab_add(&o->devices, &id, sizeof(id));
	ws_import_text(o, name, &row.name);
	ws_import_row(o, WS_KIND_DEVICE, &row);
}

void ws_import_device_used(struct ws_import_out *o, uint64_t id)
{
	if (!ws_strtab_find(&o->devices, &id, sizeof(id)))
		ws_import_device(o, id, (struct ws_bytes){NULL, 0});
}

void ws_import_device_attr(struct ws_import_out *o, uint64_t id, const char *attr, int64_t value)
{
	struct ws_row_device_attr row = {.device = id, .value = value};

	ws_import_text(o, ws_bytes_of(attr), &row.attr);
	ws_import_row(o, WS_KIND_DEVICE_ATTR, &row);
}

/* --- operations --- */

void ws_import_op(struct ws_import_out *o, const struct ws_op_desc *op, uint64_t *id)
{
	struct ws_row_op_config row = {0};
	struct {
		struct ws_bytes text;
		uint64_t *id; /* receives its id */
	} texts[] = {{op->name, &row.name},
	             {op->dims, &row.dims},
	             {op->types, &row.types},
	             {op->strides, &row.strides},
	             {op->inputs, &row.inputs}};
	const size_t n = sizeof(texts) / sizeof(*texts);

	o->key.len = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t len = texts[i].text.len;

		ws_buf_put(&o->key, &len, sizeof(len));
		ws_buf_put(&o->key, texts[i].text.ptr, texts[i].text.len);
	}
	*id = ws_strtab_find(&o->ops, o->key.data, o->key.len);
	if (*id)
		return;
	row.id = *id = ws_strtab_add(&o->ops, o->key.data, o->key.len);
	ws_import_text(o, op->name, &row.name);
	for (size_t i = 1; i < n; i++) {
		const struct ws_json_value v = {WS_JSON_ARRAY, 0, texts[i].text.ptr,
		                                texts[i].text.len};

		if (v.len)
			ws_import_text(o, ws_json_compact(&v, &o->compact), texts[i].id);
	}
	ws_op_cost_fill(op, &row);
	ws_import_row(o, WS_KIND_OP_CONFIG, &row);
}

/* --- counts and warnings --- */

void ws_import_skip(struct ws_import_out *o, const char *reason, uint64_t count)
{
	struct ws_import_stats *s = o->stats;
	char text[WS_IMPORT_TEXT_BYTES];
	size_t i = 0;

	if (!count)
		return;
	/* parts of the reason may come from the input */
	snprintf(text, sizeof(text), "%s", reason);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
	while (i < s->nskips && strcmp(s->skips[i].reason, text) != 0)
		i++;
	if (i == s->nskips) {
		/* the last entry counts all further reasons */
		if (s->nskips < WS_IMPORT_MAX_SKIPS)
			s->nskips++;
		i = s->nskips - 1;
		snprintf(s->skips[i].reason, sizeof(text), "%s",
		         i == WS_IMPORT_MAX_SKIPS - 1 ? "other kinds" : text);
	}
	s->skips[i].count += count;
}

uint64_t ws_import_left_out(const struct ws_import_stats *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nskips; i++)
		sum += s->skips[i].count;
	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
		sum += s->losses[i].is_summed ? s->losses[i].count : 0;
	return sum;
}
void ws_import_warn(struct ws_import_out *o, const char *fmt, ...)
{
	struct ws_import_stats *s = o->stats;
	va_list args;

	if (s->nwarnings == WS_IMPORT_MAX_WARNINGS) {
		s->warnings_more++;
		return;
	}
	char *text = s->warnings[s->nwarnings++];
	va_start(args, fmt);
	vsnprintf(text, WS_IMPORT_TEXT_BYTES, fmt, args);
	va_end(args);
	ws_defuse(text); /* parts of it come from the input and go to a terminal */
}

void ws_import_meta(struct ws_import_out *o, const char *key, struct ws_bytes value)
{
	struct ws_row_meta row = {.key = {key, strlen(key)}, .value = cut(o, value)};

	ws_import_row(o, WS_KIND_META, &row);
}

bool ws_import_time_ok(struct ws_import_out *o, int64_t start_ns, int64_t dur_ns)
{
	if (start_ns <= WS_IMPORT_MAX_TIME_NS && start_ns >= -WS_IMPORT_MAX_TIME_NS &&
	    dur_ns >= 0 && dur_ns <= WS_IMPORT_MAX_TIME_NS)
		return 1;
	o->lost[WS_LOST_import_bad_time]++;
	return 0;
}

const struct ws_import_skip *ws_import_most_skipped(const struct ws_import_stats *s, const char *a,
                                                    const char *b)
{
	const struct ws_import_skip *most = NULL;

	for (size_t i = 0; i < s->nskips; i++) {
		const struct ws_bytes reason = ws_bytes_of(s->skips[i].reason);

		if ((ws_bytes_begin(reason, a) || ws_bytes_begin(reason, b)) &&
		    (!most || s->skips[i].count > most->count))
			most = &s->skips[i];
	}
	return most;
}

void ws_import_out_finish(struct ws_import_out *o)
{
	static const struct {
		const char *name, *words;
	} losses[] = {
#define X(name, meaning) {#name, meaning},
	        WS_IMPORT_LOSS_LIST(X)
#undef X
	};
	const struct ws_import_skip *most =
	        ws_import_most_skipped(o->stats, "category '", "category '");
	struct ws_row_loss loss = {0};

	for (size_t i = 0; i < o->nprocesses; i++) {
		struct ws_row_process row = {.pid = o->process[i].pid,
		                             .image = 1,
		                             .program = o->process[i].name};

		ws_import_row(o, WS_KIND_PROCESS, &row);
	}
	ws_trace_writer_meta(o->w, "tool.name", "warpsheet import", NULL);
	ws_trace_writer_meta(o->w, "tool.version", WS_VERSION, NULL);
	ws_trace_writer_meta(o->w, "import.source", o->stats->source, NULL);
	ws_trace_writer_meta(o->w, "import.format", o->stats->format, NULL);
	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++) {
		struct ws_import_skip *skip = &o->stats->losses[i];

		snprintf(skip->reason, sizeof(skip->reason), "%s", losses[i].words);
		skip->is_summed =
		        i != WS_LOST_import_damaged_table && /* counts tables */
		        i != WS_LOST_import_unknown_kind &&  /* skipped by name, too */
		        i != WS_LOST_import_merged_ranks &&  /* kept, without their process */
		        i != WS_LOST_import_cut_text &&      /* kept, without the rest */
		        i != WS_LOST_import_duplicate;       /* kept, once */
		skip->count = loss.count = o->lost[i];
		if (!loss.count)
			continue;
		ws_trace_writer_intern(o->w, losses[i].name, strlen(losses[i].name), &loss.cause,
		                       NULL);
		ws_import_row(o, WS_KIND_LOSS, &loss);
	}
	if (o->lost[WS_LOST_import_unknown_kind] && most)
		ws_trace_writer_meta(o->w, "import.left_out", most->reason, NULL);
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		o->stats->rows[kind] = ws_trace_writer_rows(o->w, (enum ws_kind)kind);
}

/* --- ranges --- */

static int compare_ranges(const void *a, const void *b)
{
	const struct ws_import_range *x = a, *y = b;

	WS_ORDER_BY(x->thread, y->thread);
	WS_ORDER_BY(x->domain, y->domain);
	WS_ORDER_BY(x->start_ns, y->start_ns);
	WS_ORDER_BY(y->end_ns, x->end_ns); /* the longer one is outside */
	WS_ORDER_BY(x->sequence, y->sequence);
	return 0;
}

static void event(struct ws_import_out *o, const struct ws_import_range *r, enum ws_nvtx_type type,
                  int64_t time_ns, uint64_t thread, uint64_t range)
{
	struct ws_row_nvtx row = {
	        .time_ns = time_ns,
	        .thread = thread,
	        .type = type,
	        .domain = r->domain,
	        .range = range,
	};

	if (type != WS_NVTX_POP && type != WS_NVTX_END) {
		row.name = r->name;
		row.category = r->category;
		row.color = r->color;
		row.payload = r->payload;
	}
	ws_import_row(o, WS_KIND_NVTX, &row);
}

void ws_import_start_end(struct ws_import_out *o, const struct ws_import_range *r,
                         uint64_t end_thread, bool of_thread)
{
	const uint64_t id = o->next_range++ | (of_thread ? WS_RANGE_OF_THREAD : 0);

	event(o, r, WS_NVTX_START, r->start_ns, r->thread, id);
	if (r->end_ns != WS_IMPORT_OPEN)
		event(o, r, WS_NVTX_END, r->end_ns, end_thread, id);
}

void ws_import_mark(struct ws_import_out *o, const struct ws_import_range *r)
{
	event(o, r, WS_NVTX_MARK, r->start_ns, r->thread, 0);
}

static void pop(struct ws_import_nest *n)
{
	const struct ws_import_range *top = &n->stack[--n->depth];

	if (top->end_ns != WS_IMPORT_OPEN)
		event(n->out, top, WS_NVTX_POP, top->end_ns, top->thread, 0);
}

void ws_import_nest_add(struct ws_import_nest *n, const struct ws_import_range *r)
{
	while (n->depth) {
		const struct ws_import_range *top = &n->stack[n->depth - 1];
		if (top->thread == r->thread && top->domain == r->domain &&
		    top->end_ns > r->start_ns)
			break;
		pop(n);
	}
	if (n->depth && n->stack[n->depth - 1].end_ns < r->end_ns) {
		n->crossing++;
		ws_import_start_end(n->out, r, r->thread, true);
		return;
	}
	/* is the same range already around it, equal except for its position in the file? */
	for (size_t i = n->depth; i-- > 0;) {
		const struct ws_import_range *around = &n->stack[i];

		if (around->start_ns != r->start_ns || around->end_ns != r->end_ns)
			break;
		if (around->name == r->name && around->category == r->category &&
		    around->color == r->color && around->payload == r->payload) {
			n->out->lost[WS_LOST_import_duplicate]++;
			return;
		}
	}
	WS_GROW(n->stack, n->depth + 1, n->capacity);
	n->stack[n->depth++] = *r;
	event(n->out, r, WS_NVTX_PUSH, r->start_ns, r->thread, 0);
}

void ws_import_nest_finish(struct ws_import_nest *n)
{
	while (n->depth)
		pop(n);
	if (n->crossing)
		ws_import_warn(n->out,
		               "ranges that overlap others of their thread without nesting, kept "
		               "as start/end ranges: %llu",
		               (unsigned long long)n->crossing);
	free(n->stack);
	*n = (struct ws_import_nest){0};
}

void ws_import_ranges(struct ws_import_out *o, struct ws_import_range *ranges, size_t n)
{
	struct ws_import_nest nest = {.out = o};

	if (n)
		ws_sort(ranges, n, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < n; i++)
		ws_import_nest_add(&nest, &ranges[i]);
	ws_import_nest_finish(&nest);
}

/* --- a text file --- */

#define GZ_BUFFER_BYTES (1u << 18)

enum ws_status ws_text_file_open(struct ws_text_file *f, const char *path, struct ws_err *err)
{
	/* opening a pipe without a writer would wait */
	int fd = ws_file_open(WS_HERE, path, WS_FILE_READ, 0);
	struct ws_file_info file = {0};

	*f = (struct ws_text_file){0};
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	if (ws_file_look(fd, NULL, false, &file) ||
	    (file.type != WS_FILE_REGULAR && file.type != WS_FILE_FOLDER)) {
		close(fd);
		return WS_FAIL(
		        err, IO_READ,
		        "cannot import %s: it is not a regular file, and it must be read twice",
		        path);
	}
	f->size_bytes = file.size;
	f->gz = gzdopen(fd, "rb");
	if (!f->gz)
		ws_out_of_memory(GZ_BUFFER_BYTES);
	gzbuffer(f->gz, GZ_BUFFER_BYTES);
	return WS_OK;
}

enum ws_status ws_text_file_read(void *ctx, void *buf, size_t size, size_t *got, struct ws_err *err)
{
	struct ws_text_file *f = ctx;
	int n = gzread(f->gz, buf, size > INT_MAX ? (unsigned)INT_MAX : (unsigned)size);
	int code;

	gzerror(f->gz, &code);
	*got = n > 0 ? (size_t)n : 0;
	WS_FAIL_IF(n < 0 && code == Z_ERRNO, err, IO_READ, "cannot read: %s", strerror(errno));
	if (n < 0 && code == Z_MEM_ERROR)
		ws_out_of_memory(GZ_BUFFER_BYTES);
	/* the part before the damage is still read */
	f->damaged |= n < 0 || code == Z_BUF_ERROR;
	if (f->out)
		ws_import_tell(f->out, (uint64_t)gzoffset(f->gz), f->size_bytes);
	return WS_OK;
}

bool ws_text_file_is_gzip(struct ws_text_file *f)
{
	return !gzdirect(f->gz);
}

void ws_text_file_close(struct ws_text_file *f)
{
	gzclose_r(f->gz);
}
