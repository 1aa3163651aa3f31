#include "tests/support/trace_builder.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#define PID    100
#define SCHEMA ((uint64_t)1 << 32)
#define ENUMS  (SCHEMA + 100) /* + 0 op, 1 direction, 2 dtype */

struct tb {
	struct ws_trace_writer *w;
	uint64_t thread, domain, correlation;
};

/* What a payload of the schema looks like; laid out unlike kernels/nvtx/warpsheet_nvtx.h on
 * purpose. */
struct payload {
	uint8_t dtype, op, direction, unused;
	int32_t layer;
	uint64_t bytes_written, flops, bytes_read, batch, m, n, k, flops_needed;
};

enum { ENTRIES = 9 }; /* of an enumeration, at most */

static const char *const enums[3][ENTRIES] = {
        {"other", "gemm", "softmax", "scale", "mask", "copy", "optimizer", "norm", "attention"},
        {"none", "forward", "backward"},
        {"none", "fp32", "bf16", "tf32"},
};
static const char *const enum_names[] = {"op kinds", "directions", "dtypes"};

#define MUST(call)                                                       \
	do {                                                             \
		struct ws_err must_err_ = {0};                           \
		struct ws_err *err = &must_err_;                         \
		cr_assert(eq(int, (call), WS_OK), "%s", must_err_.text); \
	} while (0)

void tb_add(struct tb *b, enum ws_kind kind, const void *row)
{
	MUST(ws_trace_writer_add(b->w, kind, row, err));
}

struct ws_trace_writer *tb_writer(struct tb *b)
{
	return b->w;
}

static uint64_t text_bytes(struct tb *b, const void *text, size_t len)
{
	uint64_t id = 0;

	MUST(ws_trace_writer_intern(b->w, text, len, &id, err));
	return id;
}

uint64_t tb_text(struct tb *b, const char *text)
{
	return text_bytes(b, text, strlen(text));
}

static void add_field(struct tb *b, uint64_t index, const char *name, uint64_t type, size_t offset)
{
	tb_add(b, WS_KIND_PAYLOAD_FIELD,
	       &(struct ws_row_payload_field){.schema = SCHEMA,
	                                      .index = index,
	                                      .name = tb_text(b, name),
	                                      .type = type,
	                                      .offset_bytes = offset});
}

static void add_schema(struct tb *b)
{
	for (uint64_t e = 0; e < 3; e++)
		for (int i = 0; i < ENTRIES && enums[e][i]; i++)
			tb_add(b, WS_KIND_PAYLOAD_ENUM,
			       &(struct ws_row_payload_enum){ENUMS + e, tb_text(b, enum_names[e]),
			                                     1, tb_text(b, enums[e][i]), i});
	tb_add(b, WS_KIND_PAYLOAD_SCHEMA,
	       &(struct ws_row_payload_schema){.id = SCHEMA,
	                                       .domain = tb_text(b, "warpsheet"),
	                                       .name = tb_text(b, "warpsheet.op"),
	                                       .type = 1,
	                                       .size_bytes = sizeof(struct payload)});
	add_field(b, 0, "dtype", ENUMS + 2, offsetof(struct payload, dtype));
	add_field(b, 1, "op", ENUMS, offsetof(struct payload, op));
	add_field(b, 2, "direction", ENUMS + 1, offsetof(struct payload, direction));
	add_field(b, 3, "layer", 15, offsetof(struct payload, layer));
	add_field(b, 4, "bytes_written", 18, offsetof(struct payload, bytes_written));
	add_field(b, 5, "flops", 18, offsetof(struct payload, flops));
	add_field(b, 6, "bytes_read", 18, offsetof(struct payload, bytes_read));
	add_field(b, 7, "batch", 18, offsetof(struct payload, batch));
	add_field(b, 8, "m", 18, offsetof(struct payload, m));
	add_field(b, 9, "n", 18, offsetof(struct payload, n));
	add_field(b, 10, "k", 18, offsetof(struct payload, k));
	add_field(b, 11, "flops_needed", 18, offsetof(struct payload, flops_needed));
}

struct tb *tb_new(void)
{
	struct ws_trace_writer_opts opts = {.base_ns = 1700000000000000000};
	struct tb *b = calloc(1, sizeof(*b));

	cr_assert(b != NULL);
	MUST(ws_trace_writer_create_mem(&b->w, &opts, err));
	tb_add(b, WS_KIND_PROCESS, &(struct ws_row_process){.pid = PID, .image = 1});
	tb_thread(b, 1, PID);
	tb_device(b, 0, WS_DEVICE_CUDA, "Test GPU");
	tb_on_thread(b, 1);
	add_schema(b);
	return b;
}

void tb_free(struct tb *b)
{
	ws_trace_writer_free(b->w);
	free(b);
}

void tb_thread(struct tb *b, uint64_t id, uint64_t pid)
{
	tb_add(b, WS_KIND_THREAD, &(struct ws_row_thread){.id = id, .pid = pid, .tid = 1000 + id});
}

void tb_device(struct tb *b, uint64_t id, enum ws_device_kind kind, const char *name)
{
	tb_add(b, WS_KIND_DEVICE, &(struct ws_row_device){id, kind, tb_text(b, name)});
}

void tb_on_thread(struct tb *b, uint64_t thread)
{
	b->thread = thread;
}

void tb_in_domain(struct tb *b, const char *domain)
{
	b->domain = tb_text(b, domain);
}

static void event(struct tb *b, int64_t time_ns, enum ws_nvtx_type type, uint64_t name,
                  uint64_t range, uint64_t payload)
{
	tb_add(b, WS_KIND_NVTX,
	       &(struct ws_row_nvtx){.time_ns = time_ns,
	                             .thread = b->thread,
	                             .type = type,
	                             .domain = b->domain,
	                             .name = name,
	                             .range = range,
	                             .payload = payload});
}

void tb_push(struct tb *b, int64_t time_ns, const char *name)
{
	event(b, time_ns, WS_NVTX_PUSH, tb_text(b, name), 0, 0);
}

void tb_pop(struct tb *b, int64_t time_ns)
{
	event(b, time_ns, WS_NVTX_POP, 0, 0, 0);
}

void tb_start(struct tb *b, int64_t time_ns, const char *name, uint64_t range)
{
	event(b, time_ns, WS_NVTX_START, tb_text(b, name), range, 0);
}

void tb_end(struct tb *b, int64_t time_ns, uint64_t range)
{
	event(b, time_ns, WS_NVTX_END, 0, range, 0);
}

void tb_mark(struct tb *b, int64_t time_ns, const char *text)
{
	uint64_t domain = b->domain;

	tb_in_domain(b, "warpsheet");
	event(b, time_ns, WS_NVTX_MARK, tb_text(b, text), 0, 0);
	b->domain = domain;
}

static uint8_t entry(unsigned which, const char *name)
{
	if (!name)
		return 0;
	for (uint8_t i = 0; i < ENTRIES && enums[which][i]; i++)
		if (!strcmp(enums[which][i], name))
			return i;
	cr_fatal("%s is no entry of %s", name, enum_names[which]);
	return 0;
}

void tb_push_op(struct tb *b, int64_t time_ns, const char *name, const struct tb_op *op)
{
	tb_push_sized_op(b, time_ns, name, op, (const uint64_t[5]){0});
}

void tb_push_sized_op(struct tb *b, int64_t time_ns, const char *name, const struct tb_op *op,
                      const uint64_t size[5])
{
	struct payload p = {.dtype = entry(2, op->dtype),
	                    .op = entry(0, op->op),
	                    .direction = entry(1, op->direction),
	                    .layer = op->layer,
	                    .bytes_written = op->bytes_written,
	                    .flops = op->flops,
	                    .bytes_read = op->bytes_read,
	                    .batch = size[0],
	                    .m = size[1],
	                    .n = size[2],
	                    .k = size[3],
	                    .flops_needed = size[4]};
	uint64_t id = 0;

	MUST(ws_trace_writer_intern_payload(b->w, SCHEMA, &p, sizeof(p), &id, err));
	event(b, time_ns, WS_NVTX_PUSH, tb_text(b, name), 0, id);
}

void tb_kernel(struct tb *b, const struct tb_kernel *k)
{
	struct ws_row_launch_config config = {.name = tb_text(b, k->name),
	                                      .pid = k->pid,
	                                      .device = k->device,
	                                      .grid_x = 1,
	                                      .block_x = 32};
	uint64_t id = 0;

	MUST(ws_trace_writer_intern_config(b->w, &config, &id, err));
	tb_add(b, WS_KIND_KERNEL,
	       &(struct ws_row_kernel){.start_ns = k->start_ns,
	                               .dur_ns = k->dur_ns,
	                               .correlation = k->correlation,
	                               .config = id,
	                               .flags = k->flags});
}

void tb_call(struct tb *b, int64_t start_ns, int64_t dur_ns, uint64_t correlation)
{
	tb_add(b, WS_KIND_API,
	       &(struct ws_row_api){.start_ns = start_ns,
	                            .dur_ns = dur_ns,
	                            .thread = b->thread,
	                            .name = tb_text(b, "cudaLaunchKernel"),
	                            .correlation = correlation});
}

uint64_t tb_launch(struct tb *b, int64_t call_ns, const char *kernel, int64_t start_ns,
                   int64_t dur_ns)
{
	struct tb_kernel k = {kernel, start_ns, dur_ns, ++b->correlation, 0, PID, 0};

	tb_call(b, call_ns, 1, k.correlation);
	tb_kernel(b, &k);
	return k.correlation;
}

struct ws_bytes tb_close(struct tb *b)
{
	MUST(ws_trace_writer_close(b->w, err));
	return tb_bytes(b);
}

struct ws_bytes tb_bytes(struct tb *b)
{
	return ws_trace_writer_mem(b->w);
}

static struct joined *open_joined(struct tb *b)
{
	struct ws_bytes bytes = tb_bytes(b);
	struct joined *j = NULL;

	MUST(joined_open_mem(&j, bytes.ptr, bytes.len, "test.wtrace", err));
	return j;
}

struct joined *tb_joined(struct tb *b)
{
	tb_close(b);
	return open_joined(b);
}

/* --- reading tables ----------------------------------------------------------------------------
 */

struct ws_table *tb_table_of(const struct ws_report *report, const char *name)
{
	for (size_t i = 0; i < report->ntables; i++)
		if (!strcmp(report->tables[i]->def->name, name))
			return report->tables[i];
	cr_fatal("no table %s", name);
	return NULL;
}

const struct ws_cell *tb_cell(const struct ws_table *t, size_t row, const char *column)
{
	int c = ws_table_column_index(t->def, column);

	cr_assert(c >= 0, "no column %s in %s", column, t->def->name);
	cr_assert(row < t->nrows, "row %zu of %zu", row, t->nrows);
	return &ws_table_cells(t, row)[c];
}

double tb_real(const struct ws_table *t, size_t row, const char *column)
{
	const struct ws_cell *cell = tb_cell(t, row, column);

	if (cell->type == WS_CELL_INT)
		return (double)cell->i;
	cr_assert(eq(int, cell->type, WS_CELL_REAL), "%s of row %zu", column, row);
	return cell->r;
}

const char *tb_str(const struct ws_table *t, size_t row, const char *column)
{
	const struct ws_cell *cell = tb_cell(t, row, column);

	return cell->type == WS_CELL_TEXT ? cell->text.ptr : "";
}

int tb_is_empty(const struct ws_table *t, size_t row, const char *column)
{
	return tb_cell(t, row, column)->type == WS_CELL_EMPTY;
}

size_t tb_find(const struct ws_table *t, size_t from, const char *column, const char *text)
{
	for (size_t row = from; row < t->nrows; row++)
		if (!strcmp(tb_str(t, row, column), text))
			return row;
	cr_fatal("no row of %s with %s = %s", t->def->name, column, text);
	return 0;
}
