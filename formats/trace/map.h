/* A file as read-only memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct ws_trace_map {
	const uint8_t *data; /* NULL for an empty file */
	size_t size;
};

/*
 * Map the regular file path. IO_READ. Reading behind the end of a file that is
 * cut while it is mapped raises SIGBUS.
 */
enum ws_status ws_trace_map_open(struct ws_trace_map *map, const char *path, struct ws_err *err);
/*
 * Pages of a map that are not needed now: they do not count as this program's
 * memory until they are read again. Only of a map: other memory would be lost.
 */
void ws_trace_map_let_go(const void *data, size_t size);
/*
 * From now on that ends the process with 3: it says so and removes unfinished
 * output. Of any file that is mapped; once, where a program begins to read.
 */
void ws_trace_map_end_well_when_cut(void);
void ws_trace_map_close(struct ws_trace_map *map); /* all zero is legal */
