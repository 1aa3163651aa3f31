/* Traces of frameworks, as the tests of their tables make them. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/trace_builder.h"

struct op {
	const char *name;
	enum { OTHER, GEMM } kind;
	int64_t start_ns, dur_ns;
	uint64_t flops, bytes;
	int no_cost;
};

static uint64_t ids = 1000; /* the writer counts its own from 1 */

static inline void add_op(struct tb *b, uint64_t thread, struct op op)
{
	uint64_t id = ++ids;

	tb_add(b, WS_KIND_OP_CONFIG,
	       &(struct ws_row_op_config){.id = id,
	                                  .name = tb_text(b, op.name),
	                                  .dims = tb_text(b, "[[1]]"),
	                                  .kind = op.kind,
	                                  .dtype = 1,
	                                  .cost = op.no_cost ? 0 : 2,
	                                  .flops = op.flops,
	                                  .bytes_read = op.bytes});
	tb_add(b, WS_KIND_CPU_OP,
	       &(struct ws_row_cpu_op){.start_ns = op.start_ns,
	                               .dur_ns = op.dur_ns,
	                               .thread = thread,
	                               .config = id,
	                               .sequence = -1});
}

static inline void link_flow(struct tb *b, int64_t from_ns, uint64_t from, int64_t to_ns,
                             uint64_t to)
{
	tb_add(b, WS_KIND_FLOW, &(struct ws_row_flow){from_ns, from, to_ns, to, 0});
}

/* A kernel of `blocks` blocks of 32 threads, its call 1 ns long on the thread set. */
static inline void launch(struct tb *b, int64_t call_ns, const char *name, int64_t start_ns,
                          int64_t dur_ns, uint64_t blocks)
{
	struct ws_row_launch_config config = {.id = ++ids,
	                                      .name = tb_text(b, name),
	                                      .pid = 100,
	                                      .grid_x = blocks,
	                                      .grid_y = 1,
	                                      .grid_z = 1,
	                                      .block_x = 32,
	                                      .block_y = 1,
	                                      .block_z = 1,
	                                      .registers = 16,
	                                      .shared_static_bytes = 100,
	                                      .shared_dynamic_bytes = 28};
	uint64_t correlation = 5000 + ids;

	tb_add(b, WS_KIND_LAUNCH_CONFIG, &config);
	tb_call(b, call_ns, 1, correlation);
	tb_add(b, WS_KIND_KERNEL,
	       &(struct ws_row_kernel){.start_ns = start_ns,
	                               .dur_ns = dur_ns,
	                               .correlation = correlation,
	                               .config = config.id});
}
