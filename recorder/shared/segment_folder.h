/*
 * The folders that segments lie in. Whoever may write to such a folder could
 * tell the launcher what to write and where, so each is this user's alone.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

#define WS_SEG_DIR "/dev/shm"
/* Names another folder, as --segment-dir does, which wins. */
#define WS_SEG_DIR_ENV "WARPSHEET_SEGMENT_DIR"
/* Of one made beside a trace; eight letters follow. */
#define WS_SEG_BESIDE "warpsheet-segments."

/*
 * Open a folder of segments; *fd is the caller's to close. IO_READ when there
 * is none of that name. ENVIRONMENT when it cannot be trusted: a link, no
 * folder, another user's, or others may read or write it.
 */
enum ws_status ws_segment_folder_open(const char *path, int *fd, struct ws_err *err);

/* Of the folders that segments lie in by default: by number from 0, in the order of preference. */
#define WS_SEG_FOLDERS 2
/*
 * $XDG_RUNTIME_DIR/warpsheet (0) and /dev/shm/warpsheet-UID (1). 1: out is its
 * path, whether it is there or not; 0: there is no such place here, or in the
 * former no room for this many bytes.
 */
bool ws_segment_folder_default(unsigned number, uint64_t bytes, char out[PATH_MAX]);
/* The first default one with room, made when it is not there. */
void ws_segment_folder_make(uint64_t bytes, char out[PATH_MAX]);
/* Make one beside this file, which goes with the last segment in it. ENVIRONMENT. */
enum ws_status ws_segment_folder_beside(const char *file, char out[PATH_MAX], struct ws_err *err);
