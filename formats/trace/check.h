/* Lists all damage of a trace file. */
#pragma once

#include <stdint.h>

#include "formats/base/status.h"

enum ws_finding_level {
	WS_FINDING_NOTE,   /* true and harmless: e.g. not closed, but whole up to its end */
	WS_FINDING_DAMAGE, /* data is lost or wrong */
};

struct ws_check_finding {
	enum ws_finding_level level;
	uint64_t offset; /* bytes from the start of the file */
	char text[256];  /* one line: what is wrong, where, what it means */
};

typedef void (*ws_finding_fn)(void *ctx, const struct ws_check_finding *finding);

struct ws_check_result {
	uint64_t blocks, rows; /* whole ones */
	uint64_t damage, notes;
	int closed;
};

/*
 * Check everything: header, every length, every checksum, every column of
 * every block, that each id refers to a row that came before, that times lie in the
 * block's range, index against blocks, trailer. Calls fn for each finding.
 * WS_OK also when there is damage (see result); an error only when the check
 * itself could not be done: CORRUPT when the file is no trace, TOO_NEW.
 */
enum ws_status ws_trace_check_mem(const void *data, size_t size, ws_finding_fn fn, void *ctx,
                                  struct ws_check_result *result, struct ws_err *err);
enum ws_status ws_trace_check_file(const char *path, ws_finding_fn fn, void *ctx,
                                   struct ws_check_result *result, struct ws_err *err);
