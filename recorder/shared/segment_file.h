/*
 * The segment as a file, and the folders for segments. Such a folder must be accessible to this
 * user only: whoever can write to it could make the launcher write any file.
 */
#pragma once

#include "formats/base/status.h"
#include "recorder/shared/segment.h"

/* --- folders --- */

#define WS_SEG_DIR "/dev/shm"
/* Environment variable with another folder. --segment-dir has precedence. */
#define WS_SEG_DIR_ENV "WARPSHEET_SEGMENT_DIR"
/* Prefix of a folder made beside a trace; eight letters follow. */
#define WS_SEG_BESIDE "warpsheet-segments."

/*
 * Opens a folder of segments; the caller closes *fd. IO_READ: it does not exist. ENVIRONMENT: it is
 * not safe, because it is a link or no folder, belongs to another user, or can be read or written
 * by others.
 */
enum ws_status ws_segment_folder_open(const char *path, int *fd, struct ws_err *err);

/* Number of default folders for segments. */
#define WS_SEG_FOLDERS 2
/*
 * Path of a default folder, in the order of preference: $XDG_RUNTIME_DIR/warpsheet (number 0) and
 * /dev/shm/warpsheet-UID (1). It may not exist yet. False: there is no such place here, or number 0
 * has no room for this many bytes.
 */
bool ws_segment_folder_default(unsigned number, uint64_t bytes, char out[PATH_MAX]);
/* The first default folder with room. It is created if it does not exist. */
void ws_segment_folder_make(uint64_t bytes, char out[PATH_MAX]);

/* --- files --- */

#define WS_SEG_PREFIX "warpsheet-"
/* A further process's segment has the first segment's name, this text, and the process. */
#define WS_SEG_FURTHER ".process-"

struct ws_segment_file {
	struct ws_seg_header *seg; /* mapped; shared except for the sealed part; NULL: none */
	uint64_t size;             /* mapped bytes */
	int lock;                  /* descriptor of the lock + 1; 0: not locked */
	bool is_attached;          /* a process had attached before it was opened */
	bool is_shrunk; /* smaller than requested because of the limits of this process */
	char path[PATH_MAX];
};

/*
 * Makes a segment with this layout in folder dir, readable by this user only. It grows on demand if
 * that is safe; otherwise its space is reserved. It is smaller if the limits of this process
 * (RLIMIT_FSIZE, RLIMIT_AS) require it. ENVIRONMENT: no room for its full size. Other errors as in
 * ws_segment_folder_open().
 */
enum ws_status ws_segment_file_create(struct ws_segment_file *out, const char *dir,
                                      const struct ws_seg_opts *opts, struct ws_err *err);
/* The same with a given name, and room only for its initial size. ENVIRONMENT also if the name is
 * in use. */
enum ws_status ws_segment_file_create_at(struct ws_segment_file *out, const char *path,
                                         const struct ws_seg_opts *opts, struct ws_err *err);
/* The same in a new folder beside a file. ws_segment_file_remove() removes both. */
enum ws_status ws_segment_file_create_beside(struct ws_segment_file *out, const char *file,
                                             const struct ws_seg_opts *opts, struct ws_err *err);
/*
 * Called once all fixed fields are set: makes the segment visible to others, and maps a private
 * copy of its fixed part, which no other process can change. ENVIRONMENT.
 */
enum ws_status ws_segment_file_seal(struct ws_segment_file *file, struct ws_err *err);
/*
 * Maps an existing sealed segment. Missing parts of a file that was cut short are read as zeros. If
 * the header is damaged its copy is used. IO_READ, CORRUPT. ENVIRONMENT: folder or file are not
 * private to this user, so their contents cannot be trusted.
 */
enum ws_status ws_segment_file_open(struct ws_segment_file *out, const char *path,
                                    struct ws_err *err);
/*
 * Locks the segment for salvage, until it is closed or removed or this process ends. ENVIRONMENT:
 * another process has the lock; err names it. Data read from the segment before may be out of date.
 */
enum ws_status ws_segment_file_lock(struct ws_segment_file *file, struct ws_err *err);
/*
 * A process that cannot open the first segment makes a mark that it is not recorded: a file beside
 * the segment with no access rights. That needs no free descriptor. The second function tests for
 * such a file.
 */
void ws_segment_file_leave_word(const char *first_path);
bool ws_segment_file_is_word(const char *path);
/* Removes a file in a folder of segments. It need not exist. */
void ws_segment_file_unlink(const char *path);
/* Unmaps the segment and keeps its file. Legal twice. */
void ws_segment_file_close(struct ws_segment_file *file);
/* Unmaps the segment and deletes its file, with a folder that was made for it beside a trace. */
void ws_segment_file_remove(struct ws_segment_file *file);
