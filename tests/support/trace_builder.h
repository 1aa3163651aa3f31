/*
 * Traces made by hand, a call an event; and tools to read the tables made of
 * them. Everything here stops the test on a failure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/trace/writer.h"
#include "tests/support/joined.h"

struct tb; /* a trace in the making */

/* A trace of process 100 with thread 1, device 0 ("Test GPU") and the schema "warpsheet.op". */
struct tb *tb_new(void);
void tb_free(struct tb *b);
/* The writer, for rows that have no call here. */
struct ws_trace_writer *tb_writer(struct tb *b);
uint64_t tb_text(struct tb *b, const char *text);
/* A row of any kind. */
void tb_add(struct tb *b, enum ws_kind kind, const void *row);

void tb_thread(struct tb *b, uint64_t id, uint64_t pid);
void tb_device(struct tb *b, uint64_t id, enum ws_device_kind kind, const char *name);

/* Where the next events happen; 1 and "" at first. */
void tb_on_thread(struct tb *b, uint64_t thread);
void tb_in_domain(struct tb *b, const char *domain);

void tb_push(struct tb *b, int64_t time_ns, const char *name);
void tb_pop(struct tb *b, int64_t time_ns);
void tb_start(struct tb *b, int64_t time_ns, const char *name, uint64_t range);
void tb_end(struct tb *b, int64_t time_ns, uint64_t range);
void tb_mark(struct tb *b, int64_t time_ns, const char *text); /* in domain "warpsheet" */

/* An operation in the way of kernels/nvtx/warpsheet_nvtx.h, as far as reports look at it. */
struct tb_op {
	uint64_t flops, bytes_read, bytes_written;
	const char *op, *direction, *dtype; /* names of the enumerations; NULL = none */
	int32_t layer;
};
void tb_push_op(struct tb *b, int64_t time_ns, const char *name, const struct tb_op *op);
/* The same with its size: batch, m, n, k; and the FLOPs that are needed, 0 = not told. */
void tb_push_sized_op(struct tb *b, int64_t time_ns, const char *name, const struct tb_op *op,
                      const uint64_t size[5]);

/*
 * A kernel and the call that launched it on the thread set: the call lasts
 * 1 ns from call_ns. Returns its correlation id.
 */
uint64_t tb_launch(struct tb *b, int64_t call_ns, const char *kernel, int64_t start_ns,
                   int64_t dur_ns);
/* The same with everything said; correlation 0 = without a call. */
struct tb_kernel {
	const char *name;
	int64_t start_ns, dur_ns;
	uint64_t correlation, device, pid, flags;
};
void tb_kernel(struct tb *b, const struct tb_kernel *kernel);
void tb_call(struct tb *b, int64_t start_ns, int64_t dur_ns, uint64_t correlation);

/* The bytes of a closed trace; borrowed. */
struct ws_bytes tb_bytes(struct tb *b);
/* Close it, for those. */
struct ws_bytes tb_close(struct tb *b);
/* Close it and read it as the product does; it borrows from b. Free with joined_free. */
struct joined *tb_joined(struct tb *b);

/* --- reading tables --- */

/* Of a report; stops the test where it has none of this name. */
struct ws_table *tb_table_of(const struct ws_report *report, const char *name);
/* A cell by column id. */
const struct ws_cell *tb_cell(const struct ws_table *t, size_t row, const char *column);
/* Its number; fails when it holds none. */
double tb_real(const struct ws_table *t, size_t row, const char *column);
/* Its text; "" when it is empty. */
const char *tb_str(const struct ws_table *t, size_t row, const char *column);
int tb_is_empty(const struct ws_table *t, size_t row, const char *column);
/* The first row in which the column has this text, from `from` on; fails when there is none. */
size_t tb_find(const struct ws_table *t, size_t from, const char *column, const char *text);
