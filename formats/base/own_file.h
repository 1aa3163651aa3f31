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
 * O_NOFOLLOW for opening path; 0 for a name of /proc/self/fd, which is a link by
 * nature and leads to what this program has opened itself.
 */
int ws_own_file_nofollow(const char *path);

/*
 * Open a file for writing at its end, empty: a new one, or one of the user's
 * own, never through a link and never somebody else's (IO_WRITE). What is no
 * regular file, a device or a pipe, is opened as it is, through links too.
 */
enum ws_status ws_own_file_create(const char *path, int *fd, struct ws_err *err);
/* The same for an existing regular file of the user's, which keeps its bytes. */
enum ws_status ws_own_file_open(const char *path, int *fd, struct ws_err *err);

/*
 * Make an empty file under a new name: the XXXXXX that end the template but
 * for its last suffix_bytes are replaced. Its mode is what open() gives. fd
 * NULL: closed again, for a writer that wants a name. IO_WRITE.
 */
enum ws_status ws_own_file_temporary(char *name, int suffix_bytes, int *fd, struct ws_err *err);
/* A file that has no name any more, in $TMPDIR or /tmp. IO_WRITE. */
enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err);
