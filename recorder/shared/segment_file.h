/*
 * The segment as a file: made, opened, found again, removed; and the folders that segments lie in.
 * Whoever may write to such a folder could tell the launcher what to write and where, so each is
 * this user's alone.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "recorder/shared/segment.h"

/* --- folders --- */

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

/* --- files --- */

#define WS_SEG_PREFIX "warpsheet-"
/* After the first segment's name comes this and a process, for that process's own segment. */
#define WS_SEG_FURTHER ".process-"

struct ws_segment_file {
	struct ws_seg_header *seg; /* mapped, shared but for its sealed part; NULL: none */
	uint64_t size;             /* bytes that are mapped */
	int lock;                  /* 1 + the descriptor that holds it; 0: not locked */
	bool is_attached;          /* a process had attached before it was opened */
	bool is_shrunk;            /* made smaller than asked for, by the limits of this process */
	char path[PATH_MAX];
};

/*
 * Make a segment of this layout in folder dir, readable by this user alone: one that grows where
 * that is safe, else with its space reserved; a smaller one where the limits of this process
 * (RLIMIT_FSIZE, RLIMIT_AS) do not allow all of it. ENVIRONMENT when there is no room for all that
 * it can grow to; as ws_segment_folder_open() when the folder is missing or not to be trusted.
 */
enum ws_status ws_segment_file_create(struct ws_segment_file *out, const char *dir,
                                      const struct ws_seg_opts *opts, struct ws_err *err);
/* The same with a name of the caller's, and room for its beginning; ENVIRONMENT also when a file
 * has it. */
enum ws_status ws_segment_file_create_at(struct ws_segment_file *out, const char *path,
                                         const struct ws_seg_opts *opts, struct ws_err *err);
/* The same in a new folder beside a file; both go with ws_segment_file_remove(). */
enum ws_status ws_segment_file_create_beside(struct ws_segment_file *out, const char *file,
                                             const struct ws_seg_opts *opts, struct ws_err *err);
/*
 * All that is fixed is set: make it known to others, and have a private copy of it in its place,
 * which nobody else can change. ENVIRONMENT.
 */
enum ws_status ws_segment_file_seal(struct ws_segment_file *file, struct ws_err *err);
/*
 * Map a segment that exists and is sealed; of one that was cut short what is missing is zeros, of
 * a damaged header the spare copy is taken. IO_READ, CORRUPT; ENVIRONMENT when folder or file
 * are not this user's alone, so that nothing in the file means anything.
 */
enum ws_status ws_segment_file_open(struct ws_segment_file *out, const char *path,
                                    struct ws_err *err);
/*
 * Be the only one that salvages it, until it is closed or removed, or this
 * process ends. ENVIRONMENT when another process is: err names it. What was
 * read of the segment before may be out of date.
 */
enum ws_status ws_segment_file_lock(struct ws_segment_file *file, struct ws_err *err);
/*
 * A process that cannot even open the first segment leaves word that it is not recorded: a file
 * beside it without any rights, which takes no descriptor. Whether a file is such a word.
 */
void ws_segment_file_leave_word(const char *first_path);
bool ws_segment_file_is_word(const char *path);
/* Remove what lies in a folder of segments; none is legal. */
void ws_segment_file_unlink(const char *path);
/* Unmap; the file stays. Legal twice. */
void ws_segment_file_close(struct ws_segment_file *file);
/* Unmap and delete, with the folder that was made for it beside a trace. */
void ws_segment_file_remove(struct ws_segment_file *file);
