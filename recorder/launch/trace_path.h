/*
 * Where traces lie: by the pattern of -o, by what a segment says, and by what of that is believed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "recorder/launch/strings.h"
#include "recorder/shared/segment_file.h"

/* Behind its last slash; borrowed. */
const char *ws_trace_path_name(const char *path);
/* Has anything in this open folder, if only a link, the name that the path ends with? */
bool ws_trace_path_exists(int folder, const char *path);

/* The variables of the process, of its segment: a copy, as the program can write there at any time.
 */
struct ws_strings ws_trace_path_environment(const struct ws_seg_header *seg,
                                            char copy[WS_MAX_ENVIRONMENT]);
/* The name by the pattern, when no other process of the recording has it. USAGE: it is too long. */
enum ws_status ws_trace_path_plain(const struct ws_seg_header *seg, const char *pattern,
                                   uint32_t pid, char out[PATH_MAX], struct ws_err *err);
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
