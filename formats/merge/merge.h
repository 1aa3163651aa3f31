/* Several traces of one run in one file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct ws_merge_result {
	uint64_t kernels;
	uint64_t file_size; /* bytes */
};

/*
 * Write the n traces (1 … 32768) at paths into a new trace at out, which may
 * be one of them and is replaced when all is well. Everything keeps its row;
 * ids, times (which count from the earliest trace's time 0) and correlation
 * ids are changed so that they stay distinct; a device that several processes
 * used, told by its UUID, is one device; loss
 * counters are the sum of all. docs/reference/keys.md tells what becomes of meta
 * rows. USAGE when ids leave no room for more traces. IO_READ, CORRUPT, TOO_NEW and IO_WRITE as the
 * reader's and writer's; a trace that was not closed, or is damaged, gives what is whole of it.
 */
enum ws_status ws_trace_merge(const char *const *paths, size_t n, const char *out, int zstd_level,
                              struct ws_merge_result *result, struct ws_err *err);

struct ws_trace_reader;
struct ws_trace_writer;

/*
 * The same of traces that are open, into memory. *out is the caller's to free, also when this
 * fails; when not it is closed and ws_trace_writer_mem() has the trace.
 */
enum ws_status ws_trace_merge_mem(struct ws_trace_reader *const *readers, size_t n,
                                  struct ws_trace_writer **out, struct ws_err *err);
