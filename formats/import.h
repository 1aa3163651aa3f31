/*
 * From other profilers' files to a trace: PyTorch profiler JSON and Nsight
 * Systems SQLite exports. docs/import.md says what becomes of every field.
 *
 * Nothing of the input is trusted: not its syntax, sizes, times or text.
 */
#ifndef WS_FORMATS_IMPORT_H
#define WS_FORMATS_IMPORT_H

#include "formats/schema.h"
#include "formats/status.h"

enum ws_import_kind {
	WS_IMPORT_NONE,         /* nothing that can be imported */
	WS_IMPORT_PYTORCH_JSON, /* Chrome trace of the PyTorch profiler, plain or gzip */
	WS_IMPORT_NSYS_SQLITE,  /* Nsight Systems export */
};

/* What the file is, by its first bytes, whatever its name. IO_READ when it cannot be read. */
enum ws_status ws_import_kind(const char *path, enum ws_import_kind *kind, struct ws_err *err);
const char *ws_import_kind_name(enum ws_import_kind kind); /* "PyTorch profiler JSON" … */

#define WS_IMPORT_MAX_SKIPS    48
#define WS_IMPORT_MAX_WARNINGS 32
#define WS_IMPORT_TEXT_BYTES   192

#define WS_IMPORT_MAX_LOSSES 8

/* Why records of the input are not in the trace. */
struct ws_import_skip {
	char reason[WS_IMPORT_TEXT_BYTES];
	uint64_t count;
};

struct ws_import_stats {
	enum ws_import_kind kind;
	char format[WS_IMPORT_TEXT_BYTES]; /* "2024 generation", "schema 3.16.1" … */
	uint64_t events;                   /* records of the input that were read */
	uint64_t rows[WS_KIND_END];        /* rows written, by record kind */
	struct ws_import_skip
	        losses[WS_IMPORT_MAX_LOSSES];             /* the input is damaged; count may be 0 */
	struct ws_import_skip skips[WS_IMPORT_MAX_SKIPS]; /* the trace has no place for it */
	size_t nskips;
	char warnings[WS_IMPORT_MAX_WARNINGS][WS_IMPORT_TEXT_BYTES];
	size_t nwarnings;
	uint64_t warnings_more; /* those that did not fit */
};

/* How far an import is, in bytes or rows of the input; `total` is an estimate. */
typedef void (*ws_import_progress_fn)(void *ctx, uint64_t done, uint64_t total);

struct ws_import_opts {
	int zstd_level;                 /* 0 = the trace writer's default */
	ws_import_progress_fn progress; /* called often; may be NULL */
	void *progress_ctx;
};

/*
 * Read path, write the trace out_path (truncated when it exists). Damage of
 * the input costs the damaged records only and is told in stats and in the
 * trace's `loss` rows. IO_READ: path cannot be read, or is nothing that can be
 * imported. CORRUPT: nothing at all could be read of it. IO_WRITE: out_path;
 * its content is then incomplete. opts may be NULL.
 */
enum ws_status ws_import_file(const char *path, const char *out_path,
                              const struct ws_import_opts *opts, struct ws_import_stats *stats,
                              struct ws_err *err);
/*
 * The same into a new file without a name, for programs that want to read any
 * of these files like a trace: nothing is left behind, however they end. *fd
 * is the file, for the caller to close; "/proc/self/fd/N" names it till then.
 */
enum ws_status ws_import_unnamed(const char *path, const struct ws_import_opts *opts, int *fd,
                                 struct ws_import_stats *stats, struct ws_err *err);

#endif
