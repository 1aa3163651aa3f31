/*
 * An output file that appears whole or not at all. It is made in its folder, which is opened once,
 * under a name that nobody can guess, and renamed when it is done. So it is never another user's
 * file, and no link leads it elsewhere, whatever others do to names in that folder meanwhile.
 * SIGINT, SIGTERM, SIGHUP and ws_end_program remove unfinished files and the folders that were made
 * for them.
 */
#pragma once

#include <stdio.h>

#include "formats/base/status.h"
#include "formats/base/system/files.h"

/*
 * Files in folders that others may write to: which of them may be written or trusted, and new ones
 * under names that nobody can guess. Uses only libc, because the collector compiles it, too.
 */

/*
 * What is wrong with an open file ("belongs to another user"); NULL if it is a regular file of the
 * user who runs this program, without a second name and without these permission bits. is_folder:
 * it was opened as a folder, of which only owner and permissions are checked.
 */
const char *ws_own_file_problem(int fd, bool is_folder, unsigned forbidden);

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

/* Make a folder, or remove an empty one, in the folder that its path lies in. -1: errno. */
int ws_own_folder_make(const char *path, unsigned mode);
int ws_own_folder_remove(const char *path);
/* Open a new file without a name, in $TMPDIR or /tmp. IO_WRITE. */
enum ws_status ws_own_file_unnamed(int *fd, struct ws_err *err);

struct ws_outfile {
	FILE *f;
	char *room;                               /* of f, as some C libraries have little */
	char *path;                               /* as the user gave it, for messages */
	char name[512];                           /* ws_outfile_name */
	struct ws_outfile_unfinished *unfinished; /* NULL: nothing is to be renamed */
};

/* Are both names the same existing file, so that writing one would destroy the other? */
bool ws_outfile_is_same(const char *path, const char *input);
/*
 * Open the file that will replace path; if path is a link, it replaces the link itself. If path is
 * a descriptor (/dev/stdout), a character device or a pipe of the user's own, that is opened
 * (ws_own_file_direct). IO_WRITE.
 */
enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err);

/*
 * For a writer that needs the name of a file to open (ws_file_path). Where that is a descriptor's
 * name it is a link. A writer that resolves it first, as SQLite does, gets a name that others can
 * change: let such a writer open the descriptor.
 */
const char *ws_outfile_name(struct ws_outfile *o);

/* Check, close and rename the file. o is empty afterwards, also after a failure. */
enum ws_status ws_outfile_commit(struct ws_outfile *o, struct ws_err *err);
/* End a file whose writer did not know its name: if its status is WS_OK commit the file, else
 * abandon it and fail with "cannot write 'PATH': CAUSE". */
enum ws_status ws_outfile_end(struct ws_outfile *o, enum ws_status status,
                              const struct ws_err *cause, struct ws_err *err);
/* Remove unfinished files, for a signal handler that ends the process. */
void ws_outfile_remove_unfinished(void);
/* Close and remove the temporary file. An empty o is legal. */
void ws_outfile_abandon(struct ws_outfile *o);

/* Hold back SIGINT, SIGTERM and SIGHUP, or let them come again. */
void ws_outfile_hold_signals(bool are_held);

/*
 * A folder of output files that appear together or not at all: each is written under a temporary
 * name, and all are renamed when all are whole. All zero is empty.
 */
struct ws_outfolder {
	struct ws_outfolder_level {
		char *path;
		int fd;
		struct ws_outfile_unfinished *made; /* NULL: it existed before */
		int before;                         /* the open folder that it replaces, or -1 */
		bool is_shown;                      /* it has its final name */
	} * levels; /* each in the one before; files go into the last */
	size_t depth, levels_capacity;
	int parent;               /* the folder that the first level lies in */
	struct ws_outfile *files; /* whole, without their final names yet */
	size_t nfiles, capacity;
	bool (*is_old)(const char *name);
};

/*
 * Open a folder, and make it if it does not exist; its parent must exist. IO_WRITE if it is a link
 * or belongs to another user than root: it may be a trap. End with _commit or _abandon, also after
 * a failure.
 */
enum ws_status ws_outfolder_open(struct ws_outfolder *f, const char *path, struct ws_err *err);
/* The open folder that files go into now. */
int ws_outfolder_fd(const struct ws_outfolder *f);
/* Open, or make, a folder in it: files go there from now on. */
enum ws_status ws_outfolder_enter(struct ws_outfolder *f, const char *name, struct ws_err *err);
/*
 * The same with a new folder, which replaces the folder of this name, if there is one, in one step.
 * Then the old files of the replaced folder are removed, and all others move to the new one. This
 * is the last level: no other folder can be entered in it.
 */
enum ws_status ws_outfolder_replace(struct ws_outfolder *f, const char *name,
                                    bool (*is_old)(const char *name), struct ws_err *err);
/* Begin a file; end it with ws_outfolder_add or ws_outfile_abandon. */
enum ws_status ws_outfolder_file(const struct ws_outfolder *f, const char *name,
                                 struct ws_outfile *out, struct ws_err *err);
/* Take a file that is whole; out is empty afterwards. */
void ws_outfolder_add(struct ws_outfolder *f, struct ws_outfile *out);

/* Give all files their names, and a replacing folder its name; _abandon brings the replaced folder
 * back. */
enum ws_status ws_outfolder_show(struct ws_outfolder *f, struct ws_err *err);
/* The same, and removes the replaced file. f is empty afterwards. */
enum ws_status ws_outfolder_commit(struct ws_outfolder *f, struct ws_err *err);
/* Remove the files and folders that were made; a folder that is not empty stays. f is empty
 * afterwards. */
void ws_outfolder_abandon(struct ws_outfolder *f);
