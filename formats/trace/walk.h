/*
 * From one block to the next through the bytes of a trace, past whatever is
 * damaged. Shared by the reader and the check, so that they mean
 * the same by "whole".
 */
#pragma once

#include "formats/codec/block.h"
#include "formats/trace/check.h"
#include "formats/trace/reader.h"

struct ws_walk {
	const uint8_t *data;
	size_t size;
	bool is_map;                  /* of a file: pages that were read are let go of */
	struct ws_block_info *blocks; /* whole ones in file order, as they are stored; owned */
	size_t nblocks, capacity;
	uint64_t damaged; /* stretches that are no whole block */
	uint64_t skipped_bytes;
	uint64_t hashed_in_vain; /* bytes of bodies whose checksum was wrong */
	bool has_trailer;        /* a trailer that is right in itself */
	struct ws_trailer trailer;
	struct ws_err no_trailer; /* why not */
};

/*
 * Find all whole blocks behind the file header; is_map: data is a whole
 * struct ws_trace_map, of which little stays in memory. fn (may be NULL) hears of
 * each damaged stretch, as DAMAGE.
 */
void ws_walk_run(struct ws_walk *w, const void *data, size_t size, int is_map, ws_finding_fn fn,
                 void *ctx);
/* The checksum of all bytes. */
uint64_t ws_walk_checksum(const struct ws_walk *w);
void ws_walk_free(struct ws_walk *w);

/* The header and the body of block i. */
void ws_walk_block_header(const struct ws_walk *w, size_t i, struct ws_block_header *header);
const uint8_t *ws_walk_block_body(const struct ws_walk *w, size_t i);
/* Block i was read and need not stay in memory; it may be read again. */
void ws_walk_let_go(const struct ws_walk *w, size_t i);

/* Fill a finding and hand it to fn; a long text is cut. */
void ws_check_finding_emit(ws_finding_fn fn, void *ctx, enum ws_finding_level level,
                           uint64_t offset, const char *fmt, ...)
        __attribute__((format(printf, 5, 6)));
