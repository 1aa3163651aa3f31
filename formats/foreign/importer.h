/*
 * An importer: one of these, ws_importer_NAME, in a folder formats/NAME, and its name in the
 * list below.
 */
#pragma once

#include <stdbool.h>

#include "formats/foreign/out.h"

/* What an importer finds out that goes into the file header. */
struct ws_import_clock {
	int64_t base_ns; /* CLOCK_REALTIME of time 0 of the trace; 0 = unknown */
};

struct ws_importer {
	const char *name; /* of the format, for people: "PyTorch profiler JSON" */
	/* Is a file that begins with these bytes, decompressed, of this format? */
	bool (*recognises)(const char *first, size_t len);
	bool reads_gzip;
	/* Read the file. CORRUPT: nothing at all could be read of it. */
	enum ws_status (*run)(struct ws_import_out *o, const char *path,
	                      struct ws_import_clock *clock, struct ws_err *err);
	/* What makes a readable file of one of the same tool that is none, by its name; NULL:
	   nothing does. */
	const char *(*cure)(const char *path);
	/* What a file of which nothing was kept seems to be, and what to do: "it seems to be ..."
	 */
	void (*empty)(const struct ws_import_stats *stats, char *text, size_t size);
};

/* How many of a file's first bytes an importer is shown, at most. */
#define WS_IMPORT_LOOK_BYTES ((size_t)1 << 18)

/* X(NAME), in the order in which they are asked whether a file is theirs. */
#define WS_IMPORTERS(X) \
	X(pytorch)      \
	X(nsys)
#define X(name) extern const struct ws_importer ws_importer_##name;
WS_IMPORTERS(X)
#undef X
