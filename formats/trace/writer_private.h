/* What writing (writer.c) and going on with a file (resume.c) share. */
#pragma once

#include "formats/codec/block.h"
#include "formats/base/sink.h"
#include "formats/base/strtab.h"
#include "formats/trace/internal.h"
#include "formats/trace/thread_events.h"
#include "formats/trace/writer.h"

enum ws_writer_state {
	STATE_OPEN,
	STATE_FAILED, /* rows are lost; failure says why */
	STATE_CLOSED,
};

struct ws_trace_writer {
	struct ws_sink sink;
	struct ws_block_encoder encoder;
	struct ws_buf block; /* being encoded */
	struct ws_row_buf pending[WS_KIND_END];
	uint8_t addable[WS_KIND_END]; /* kinds whose rows callers add */
	uint64_t rows[WS_KIND_END];
	uint64_t rows_lost;
	int64_t cpu_time_quantum_ns;
	uint64_t sequence;
	struct ws_row_index *blocks; /* written so far */
	size_t nblocks, blocks_capacity;
	struct ws_strtab strings, payloads, configs;
	struct ws_buf key;      /* of a payload: schema, bytes */
	uint64_t *config_lanes; /* by launch_config id: what encoder.config_lanes is */
	size_t config_lanes_capacity;
	enum ws_writer_state state;
	struct ws_err failure;
};

/* Without a file yet. */
struct ws_trace_writer *ws_trace_writer_new(const struct ws_trace_writer_opts *opts);
/* Remember a block for the index. */
void ws_trace_writer_note_block(struct ws_trace_writer *w, const struct ws_row_index *row);
/* Remember on which stream a launch configuration runs: kernels of one follow each other. */
void ws_trace_writer_note_config(struct ws_trace_writer *w,
                                 const struct ws_row_launch_config *config);
