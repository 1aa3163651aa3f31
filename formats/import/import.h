/*
 * From other profilers' files to a trace: PyTorch profiler JSON and Nsight Systems SQLite exports.
 * docs/reference/import.md documents what becomes of every field. The input is not trusted: neither
 * its syntax nor its sizes, times or texts.
 */
#pragma once

#include "formats/foreign/importer.h"

/*
 * The importer for a file, chosen by its first bytes, whatever its name; NULL: there is none.
 * *cure: the kind of a file that no importer reads, and how to get a readable one: "it is a Git LFS
 * pointer, …"; NULL: not known. IO_READ when the file cannot be read.
 */
enum ws_status ws_import_find(const char *path, const struct ws_importer **importer,
                              const char **cure, struct ws_err *err);
/* The cure alone; NULL also where the file cannot be read. */
const char *ws_import_cure(const char *path);

/*
 * Read path and write the trace out_path, which appears whole or not at all. Damage of the input
 * costs only the damaged records; stats and the trace's `loss` rows count them. IO_READ: path
 * cannot be read or has no importer. CORRUPT: it could not be read at all, or it holds nothing that
 * a trace has; stats count what was left out. IO_WRITE: out_path. opts may be NULL.
 */
enum ws_status ws_import_file(const char *path, const char *out_path,
                              const struct ws_import_opts *opts, struct ws_import_stats *stats,
                              struct ws_err *err);
/*
 * The same into a new file without a name, for programs that read any of these files like a trace.
 * Nothing stays behind, however they end. The caller closes *fd.
 */
enum ws_status ws_import_unnamed(const char *path, const struct ws_import_opts *opts, int *fd,
                                 struct ws_import_stats *stats, struct ws_err *err);
