/*
 * Files in folders that others may write to: which may be written or trusted,
 * and new ones under a name that nobody can guess. Only libc: the collector
 * compiles it too.
 */
#pragma once

#include <sys/types.h>

#include "formats/base/status.h"

/*
 * NULL when the open file is regular, of the user who runs this program, has
 * no second name and none of these permission bits; else what is wrong with it
 * ("belongs to another user").
 */
const char *ws_own_file_problem(int fd, mode_t forbidden);

/*
 * The open descriptor that /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N names, -1 for
 * any other path. These are the only links that are followed: they lead to what is open already.
 */
int ws_own_file_descriptor(const char *path);
/*
 * Open what is written to where it is, in a folder that is open (AT_FDCWD: by the path alone): a
 * descriptor, a character device, or a pipe of the user's own that somebody reads. *fd is -1 for
 * what is replaced instead: nothing, a regular file, a link wherever it leads. IO_WRITE for the
 * rest: a folder, a socket, a disk, a pipe of another user or without a reader (never waited for).
 */
enum ws_status ws_own_file_direct(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err);

/* The folder that a path lies in, reached as the user says, and the name there. -1: errno. */
int ws_own_file_folder(const char *path, const char **name);
/*
 * Open a file of an open folder (AT_FDCWD: name is the path) for writing at its end, empty: a new
 * one, or one of the user's own, never through a link and never somebody else's (IO_WRITE); or
 * what ws_own_file_direct() opens.
 */
enum ws_status ws_own_file_create(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err);
/* The same for a regular file of the user's, which keeps its bytes. IO_READ: there is none. */
enum ws_status ws_own_file_open(int folder, const char *name, const char *path, int *fd,
                                struct ws_err *err);

/*
 * Make an empty file in a folder that is open, for writing and reading: the
 * XXXXXXXX that end its name become letters that nobody can guess. -1: errno
 * says why not.
 */
int ws_own_file_temporary(int folder, char *name, mode_t mode);
/* The same for a folder, which is not opened. 0: it is made. */
int ws_own_folder_temporary(int folder, char *name, mode_t mode);
/* Make a folder, or remove an empty one, in the folder that its path names. -1: errno. */
int ws_own_folder_make(const char *path, mode_t mode);
int ws_own_folder_remove(const char *path);
/* A file that has no name any more, in $TMPDIR or /tmp. IO_WRITE. */
enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err);
