/*
 * Code shared by reading, checking and continuing a trace: the bytes of its file, the whole blocks
 * in them, and the reader's own structure.
 */
#pragma once

#include "formats/base/memory.h"
#include "formats/codec/block.h"
#include "formats/trace/check.h"
#include "formats/trace/reader.h"

/* --- a file as read-only memory --- */

struct ws_trace_map {
	const uint8_t *data; /* NULL for an empty file */
	size_t size;
};

/*
 * Map a regular file. IO_READ. If the file is cut while it is mapped, reading beyond its new end
 * raises SIGBUS.
 */
enum ws_status ws_trace_map_open(struct ws_trace_map *map, const char *path, struct ws_err *err);
/* The same of a file that is open, at its beginning, and stays so; path is for messages. */
enum ws_status ws_trace_map_take(struct ws_trace_map *map, int fd, const char *path,
                                 struct ws_err *err);
void ws_trace_map_close(struct ws_trace_map *map); /* all zero is legal */

/* --- from block to block, past damage --- */

struct ws_walk {
	const uint8_t *data;
	size_t size;
	bool is_map; /* data is a mapped file, whose pages can be released */
	/* whole ones in file order, as they are stored; of a file with pieces the first one whole,
	 * and of the others what they do not repeat; owned */
	struct ws_block_info *blocks;
	size_t nblocks, capacity;
	uint64_t next_sequence; /* one more than the highest number of a whole block */
	uint64_t damaged;       /* stretches that are not whole blocks */
	uint64_t skipped_bytes;
	uint64_t hashed_in_vain; /* bytes of bodies whose checksum was wrong */
	bool has_trailer;        /* its own checksum is right */
	struct ws_trailer trailer;
	struct ws_err no_trailer; /* reason why there is none */
};

/*
 * Find all whole blocks behind the file header. is_map: data is all of a struct ws_trace_map; pages
 * that were read do not stay in memory. fn (may be NULL) gets each damaged stretch, as DAMAGE.
 */
void ws_walk_run(struct ws_walk *w, const void *data, size_t size, bool is_map, ws_finding_fn fn,
                 void *ctx);
void ws_walk_free(struct ws_walk *w);
/* Why a block can be zeros in a file that a flight recorder still writes. */
#define WS_DROPPED_MEANWHILE                                                             \
	"the flight recorder that writes this file dropped a part that was being read. " \
	"Read it again, or let `warpsheet ctl dump` write a trace"
/* Open block i. CORRUPT as ws_block_view_open. */
enum ws_status ws_walk_view(const struct ws_walk *w, size_t i, struct ws_block_view *view,
                            struct ws_err *err);

/* Make a finding of this text, which is cut if it is too long, and pass it to fn (may be NULL). */
void ws_check_finding_emit(ws_finding_fn fn, void *ctx, enum ws_finding_level level,
                           uint64_t offset, const char *fmt, ...)
        __attribute__((format(printf, 5, 6)));

/* --- the reader --- */

struct ws_trace_reader {
	struct ws_trace_map map; /* if it was opened by path */
	struct ws_walk walk;
	/* the rows of one kind in a stored block: a thread_event block has two kinds */
	struct ws_reader_part {
		struct ws_block_info info;
		size_t stored; /* index in walk.blocks */
	} * parts;
	size_t nparts;
	struct ws_thread_rows *thread_rows; /* made when a thread_event block is found */
	struct ws_trace_summary summary;
	struct ws_block_decoder *decoder; /* for one thread at a time */
	struct ws_reader_schema *schema;  /* the file's names of kinds and columns */
	size_t nschema;
	struct ws_arena names;
};

/*
 * As ws_trace_reader_open_mem, but the header of the file may be damaged; then the header's values
 * in the summary are 0. fn (may be NULL) gets each damaged stretch.
 */
void ws_trace_reader_open_damaged(struct ws_trace_reader **out, const void *data, size_t size,
                                  ws_finding_fn fn, void *ctx);

/*
 * Compare index and trailer with the blocks found. fn (may be NULL) gets each difference, as
 * DAMAGE. *right is set when index and trailer exist and are right; an index that lists a block
 * which has been damaged since is right.
 */
void ws_trace_index_verify(const struct ws_trace_reader *r, ws_finding_fn fn, void *ctx,
                           int *right);
