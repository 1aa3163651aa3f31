/*
 * Files in folders that others may write to: which of them may be written or trusted, and new ones
 * under names that nobody can guess. Uses only libc, because the collector compiles it, too.
 */
#pragma once

#include "formats/base/status.h"
#include "formats/base/system/files.h"

/*
 * What is wrong with an open file ("belongs to another user"); NULL if it is a regular file of the
 * user who runs this program, without a second name and without these permission bits.
 */
const char *ws_own_file_problem(int fd, unsigned forbidden);

/*
 * The descriptor that /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N names; -1 for any
 * other path. Only these links are followed: they lead to files that are open already.
 */
int ws_own_file_descriptor(const char *path);
/*
 * Open an output that cannot be replaced, in an open folder (WS_HERE: by the path alone): a
 * descriptor, a character device, or a pipe of the user's own that has a reader. *fd is -1 for an
 * output that is replaced instead: no file, a regular file, or any link. IO_WRITE for all others: a
 * folder, a socket, a disk, a pipe of another user or without a reader, which is not waited for.
 */
enum ws_status ws_own_file_direct(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err);

/* Open the folder that a path lies in; *name is the name in it. -1: errno. */
int ws_own_file_folder(const char *path, const char **name);
/*
 * Open a file in an open folder (WS_HERE: name is the path), emptied, for writing at its end: a
 * new file, one of the user's own, or what ws_own_file_direct() opens. Never another user's file,
 * and never through a link (IO_WRITE).
 */
enum ws_status ws_own_file_create(int folder, const char *name, const char *path, int *fd,
                                  struct ws_err *err);
/* Open a regular file of the user's own without emptying it. IO_READ: there is none. */
enum ws_status ws_own_file_open(int folder, const char *name, const char *path, int *fd,
                                struct ws_err *err);

/* Make an empty file in an open folder, for writing and reading. The XXXXXXXX that end its name
 * become letters that nobody can guess. -1: errno. */
int ws_own_file_temporary(int folder, char *name, unsigned mode);
/* Make a folder with such a name; it is not opened. -1: errno, else 0. */
int ws_own_folder_temporary(int folder, char *name, unsigned mode);
/* Make a folder, or remove an empty one, in the folder that its path lies in. -1: errno. */
int ws_own_folder_make(const char *path, unsigned mode);
int ws_own_folder_remove(const char *path);
/* Open a new file without a name, in $TMPDIR or /tmp. IO_WRITE. */
enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err);
