/*
 * An output file that appears whole or not at all: made under a name that nobody can guess, in
 * its folder, which is opened once, and renamed there when it is done. So it is nobody else's and
 * never leads elsewhere, whatever others do to names in that folder meanwhile. SIGINT, SIGTERM,
 * SIGHUP and ws_end_program remove what is under way, folders that were made for it, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "formats/base/status.h"

struct ws_outfile {
	FILE *f;
	char *path; /* as the user gave it, for messages */
	char name[32];
	struct ws_outfile_unfinished *unfinished; /* NULL: written to where it is */
};

/* 1 when both names are the same existing file: writing one would destroy the other. */
bool ws_outfile_is_same(const char *path, const char *input);
/*
 * Open the file that will replace path (a link, too, and not what it leads to); or path itself
 * when it is a descriptor (/dev/stdout), a character device or a pipe of the user's own
 * (ws_own_file_direct). IO_WRITE says why not.
 */
enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err);

/*
 * "/proc/self/fd/N", for a writer that wants the name of a file to open. It is a link, and who
 * resolves it first (SQLite does) has a name that others can change: give such a writer memory.
 */
const char *ws_outfile_name(const struct ws_outfile *o);

/* Check, close and rename. Whatever happens, o is empty afterwards. */
enum ws_status ws_outfile_commit(struct ws_outfile *o, struct ws_err *err);
/*
 * The end of a file whose writer does not know its name: with status WS_OK
 * commit it, else abandon it and pass on "cannot write 'PATH': CAUSE".
 */
enum ws_status ws_outfile_end(struct ws_outfile *o, enum ws_status status,
                              const struct ws_err *cause, struct ws_err *err);
/* Remove what is under way, in a signal's handler that ends the process. */
void ws_outfile_remove_unfinished(void);
/* Close and remove the temporary file. An empty o is legal. */
void ws_outfile_abandon(struct ws_outfile *o);

/* SIGINT, SIGTERM and SIGHUP wait until they are no longer held. */
void ws_outfile_hold_signals(bool are_held);

/*
 * A folder of output files that appear together or not at all: each is written
 * under a temporary name, all are renamed when all are whole.
 */

/* All zero is an empty one. */
struct ws_outfolder {
	struct ws_outfolder_level {
		char *path;
		int fd;
		struct ws_outfile_unfinished *made; /* NULL: it was there before */
		int before;                         /* the folder that it replaces, open; or -1 */
		bool is_shown;                      /* it has replaced it */
	} * levels;                                 /* one in the other; files go into the last */
	size_t depth, levels_capacity;
	int parent;               /* the folder that the first lies in; while there are levels */
	struct ws_outfile *files; /* whole, not yet under their names */
	size_t nfiles, capacity;
	bool (*is_old)(const char *name);
};

/*
 * Make the folder where there is none; its parent must exist. IO_WRITE for one that is a link, or
 * belongs to another user (but root): that may have been put there for us. End with _commit or
 * _abandon, also after a failure.
 */
enum ws_status ws_outfolder_open(struct ws_outfolder *f, const char *path, struct ws_err *err);
/* The open folder that files go into now. */
int ws_outfolder_fd(const struct ws_outfolder *f);
/* The same with a folder in it: files go there from now on. */
enum ws_status ws_outfolder_enter(struct ws_outfolder *f, const char *name, struct ws_err *err);
/*
 * The same with a new folder that replaces the one of this name as a whole, whenever the program
 * is killed. Of the one before the files go that are old; all else moves into the new one. The
 * last level: nothing can be entered behind it.
 */
enum ws_status ws_outfolder_replace(struct ws_outfolder *f, const char *name,
                                    bool (*is_old)(const char *name), struct ws_err *err);
/* Begin a file; then either _add it or ws_outfile_abandon it. */
enum ws_status ws_outfolder_file(const struct ws_outfolder *f, const char *name,
                                 struct ws_outfile *out, struct ws_err *err);
/* Take a file that is whole; out is empty afterwards. */
void ws_outfolder_add(struct ws_outfolder *f, struct ws_outfile *out);
/* Remove a file of an earlier output that this one lacks; none is legal. */
void ws_outfolder_remove(const struct ws_outfolder *f, const char *name);

/* Give all files their names, and a folder that replaces another its name; of that, _abandon
 * brings the one before back. */
enum ws_status ws_outfolder_show(struct ws_outfolder *f, struct ws_err *err);
/* The same, and what was replaced goes. f is empty afterwards. */
enum ws_status ws_outfolder_commit(struct ws_outfolder *f, struct ws_err *err);
/* Remove what was written and made; a folder that holds something stays. f is empty afterwards. */
void ws_outfolder_abandon(struct ws_outfolder *f);
