/* What opening (reader.c) and decoding (decode.c) share. */
#pragma once

#include "formats/codec/block.h"
#include "formats/trace/internal.h"
#include "formats/trace/map.h"
#include "formats/trace/reader.h"
#include "formats/trace/thread_events.h"
#include "formats/trace/walk.h"

struct ws_reader_schema {
	uint64_t kind, column;
	const char *kind_name, *column_name, *unit; /* in ws_trace_reader.names */
};

/* Rows of one kind in a stored block. */
struct ws_reader_part {
	struct ws_block_info info;
	size_t stored; /* index in walk.blocks */
};

struct ws_trace_reader {
	struct ws_trace_map map; /* when opened by path */
	struct ws_walk walk;
	struct ws_reader_part *parts;
	size_t nparts;
	struct ws_thread_rows *thread_rows; /* made when a thread_event block is read */
	struct ws_trace_summary summary;
	struct ws_block_decoder *decoder; /* why a reader is for one thread at a time */
	struct ws_reader_schema *schema;
	size_t nschema;
	char *names;
};

static inline bool ws_reader_holds_two_kinds(const struct ws_block_info *info)
{
	return info->kind == WS_KIND_THREAD_EVENT;
}
