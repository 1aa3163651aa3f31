/*
 * Names of traces: by the pattern of -o and the process, by what a segment says, and by what of
 * that is believed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "recorder/shared/segment_file.h"

/* Strings side by side, each ended by a NUL, as /proc and the segment have them. */
struct ws_strings {
	const char *text; /* borrowed; the last byte is a NUL */
	size_t size;      /* bytes, 0 = no string */
};

/* What lies in a field of this many bytes: everything up to its last NUL. */
struct ws_strings ws_strings_in(const char *field, size_t field_size);
/* VALUE of the string NAME=VALUE, its name the len bytes at name; NULL when it is not there. */
const char *ws_strings_value(struct ws_strings list, const char *name, size_t len);
/* As an array that ends with NULL; its strings stay where they are. For free(). */
char **ws_strings_array(struct ws_strings list);

/* --- by the pattern of -o --- */

/* What stands for %p, %h and %q{NAME}. */
struct ws_output_vars {
	uint32_t pid;
	const struct ws_strings *env; /* NULL: the environment of this program */
	char *unset; /* room for the name of the first variable that is not set; NULL: not asked */
};
#define WS_OUTPUT_VARIABLE 256 /* bytes of a name of a variable, with a NUL */

/*
 * Expand a pattern: %p the process id, %h the host's name without its domain,
 * %q{NAME} the variable NAME ("unset" when there is none), %% a percent sign.
 * A slash in what is put in becomes _. USAGE for anything else behind a
 * percent sign, for a percent pattern in the folder, and for a name too long.
 */
enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err);

/*
 * Under a launcher of several ranks (srun, mpirun, torchrun) a pattern without a percent sign gets
 * the rank before its extension: x.rank3.wtrace. One of a device or pipe stays. USAGE: too long.
 */
enum ws_status ws_output_add_rank(char *pattern, size_t size, struct ws_err *err);

/* A pattern that stands for this path: percent signs doubled. 0 = done, -1 = too long. */
int ws_output_escape(const char *path, char *out, size_t size);

/* 1 when the path must not be taken. */
typedef bool (*ws_output_taken_fn)(void *ctx, const char *path);

/*
 * A name that is not taken: the path itself, else with .PID before its last
 * extension, else with a number too: x.wtrace, x.77.wtrace, x.77-2.wtrace …
 * With pid 0 only the number: x-2.wtrace. USAGE when it gets too long.
 */
enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err);

/* --- by a segment --- */

/* Behind its last slash; borrowed. */
const char *ws_trace_path_name(const char *path);
/* Has anything in this open folder, if only a link, the name that the path ends with? */
bool ws_trace_path_exists(int folder, const char *path);

/* The variables of the process, of its segment: a copy, as the program can write there at any time.
 */
struct ws_strings ws_trace_path_environment(const struct ws_seg_header *seg,
                                            char copy[WS_MAX_ENVIRONMENT]);
/* The name by the pattern, when no other process of the recording has it; unset: as in struct
 * ws_output_vars. USAGE: it is too long. */
enum ws_status ws_trace_path_plain(const struct ws_seg_header *seg, const char *pattern,
                                   uint32_t pid, char out[PATH_MAX], char *unset,
                                   struct ws_err *err);
/*
 * Where the trace of a further segment is begun: in the folder of the
 * pattern's names, under the segment's own name, which is nobody else's.
 */
enum ws_status ws_trace_path_part(const struct ws_segment_file *file, const char *pattern,
                                  uint32_t pid, char out[PATH_MAX], struct ws_err *err);
/*
 * Where a launcher that is gone left the trace of a further segment of process
 * pid. The segment tells, but is believed only what the pattern can give:
 * CORRUPT for any other name. folder is the open one of the pattern's names.
 */
enum ws_status ws_trace_path_left_at(const struct ws_segment_file *file, int folder,
                                     const char *pattern, uint32_t pid, char out[PATH_MAX],
                                     struct ws_err *err);
/*
 * The same of the first segment, whose unfinished trace is called in another way: nobody is sent
 * to another file by a program that wrote over its segment. CORRUPT, with -o as the cure.
 */
enum ws_status ws_trace_path_first_left_at(const struct ws_segment_file *file, int folder,
                                           const char *pattern, char out[PATH_MAX],
                                           struct ws_err *err);
