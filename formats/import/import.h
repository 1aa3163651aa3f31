/*
 * From other profilers' files to a trace: PyTorch profiler JSON and Nsight
 * Systems SQLite exports. docs/reference/import.md says what becomes of every field.
 *
 * Nothing of the input is trusted: not its syntax, sizes, times or text.
 */
#pragma once

#include "formats/foreign/importer.h"

/*
 * Who can import the file, by its first bytes, whatever its name; NULL: nobody.
 * IO_READ when it cannot be read.
 */
enum ws_status ws_import_find(const char *path, const struct ws_importer **importer,
                              struct ws_err *err);

/* What makes a readable file of one that nobody can import, by its name; NULL: nothing does. */
const char *ws_import_cure(const char *path);

/*
 * Read path, write the trace out_path, which appears whole or not at all. Damage of
 * the input costs the damaged records only and is told in stats and in the
 * trace's `loss` rows. IO_READ: path cannot be read, or is nothing that can be
 * imported. CORRUPT: nothing at all could be read of it, or nothing
 * of it is anything that a trace holds; the stats tell what was left out. IO_WRITE: out_path.
 * opts may be NULL.
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
