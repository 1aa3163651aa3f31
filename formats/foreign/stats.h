/* What an import counts, and what it is asked to do. */
#pragma once

#include <stdbool.h>

#include "formats/schema/schema.h"

#define WS_IMPORT_MAX_SKIPS    48
#define WS_IMPORT_MAX_WARNINGS 32
#define WS_IMPORT_TEXT_BYTES   192

#define WS_IMPORT_MAX_LOSSES 9

/* Why records of the input are not in the trace. */
struct ws_import_skip {
	char reason[WS_IMPORT_TEXT_BYTES];
	uint64_t count;
	bool is_summed; /* of a loss: of records that are counted nowhere else */
};

struct ws_import_stats {
	const char *source;                /* of whom it is: the importer's name */
	char format[WS_IMPORT_TEXT_BYTES]; /* "2024 generation", "schema 3.16.1" … */
	/* records of the input: events = kept + ws_import_left_out() */
	uint64_t events;
	uint64_t kept;              /* became rows of the trace, or names in them */
	uint64_t rows[WS_KIND_END]; /* rows written, by record kind */
	struct ws_import_skip
	        losses[WS_IMPORT_MAX_LOSSES];             /* the input is damaged; count may be 0 */
	struct ws_import_skip skips[WS_IMPORT_MAX_SKIPS]; /* the trace has no place for it */
	size_t nskips;
	char warnings[WS_IMPORT_MAX_WARNINGS][WS_IMPORT_TEXT_BYTES];
	size_t nwarnings;
	uint64_t warnings_more; /* those that did not fit */
};

/* Records that are not in the trace, for whatever reason. */
uint64_t ws_import_left_out(const struct ws_import_stats *stats);

/* How far an import is, in bytes or rows of the input; `total` is an estimate. */
typedef void (*ws_import_progress_fn)(void *ctx, uint64_t done, uint64_t total);

struct ws_import_opts {
	ws_import_progress_fn progress; /* called often; may be NULL */
	void *progress_ctx;
};
