/*
 * An output file that appears whole or not at all: written under a temporary
 * name in the same folder, renamed when it is done. SIGINT, SIGTERM and SIGHUP
 * remove what is under way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "formats/base/status.h"

struct ws_outfile {
	FILE *f;    /* NULL when the writer opens `temp` itself */
	char *path; /* the final name */
	char *temp; /* NULL: path is no regular file (a pipe, /dev/null) and written directly */
};

/* 1 when both names are the same existing file: writing one would destroy the other. */
bool ws_outfile_is_same(const char *path, const char *input);
/* Create the temporary file and open it for writing. IO_WRITE says why not. */
enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err);
/* The same, closed again, for a writer that wants a file name. */
enum ws_status ws_outfile_reserve(struct ws_outfile *o, const char *path, struct ws_err *err);

/* What a writer that wants a file name shall open. */
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

/*
 * A folder of output files that appear together or not at all: each is written
 * under a temporary name, all are renamed when all are whole.
 */
#define WS_OUTFOLDER_DEPTH 2

/* All zero is an empty one. */
struct ws_outfolder {
	char *dirs[WS_OUTFOLDER_DEPTH]; /* one in the other; files go into the last */
	bool made[WS_OUTFOLDER_DEPTH];  /* it was not there before */
	int depth;
	struct ws_outfile *files; /* whole, not yet under their names */
	size_t nfiles, capacity;
};

/*
 * Make the folder where there is none; its parent must exist. End with _commit
 * or _abandon, also after a failure.
 */
enum ws_status ws_outfolder_open(struct ws_outfolder *f, const char *path, struct ws_err *err);
/* The same with a folder in it: files go there from now on. */
enum ws_status ws_outfolder_enter(struct ws_outfolder *f, const char *name, struct ws_err *err);
/* Begin a file; then either _add it or ws_outfile_abandon it. */
enum ws_status ws_outfolder_file(const struct ws_outfolder *f, const char *name,
                                 struct ws_outfile *out, struct ws_err *err);
/* Take a file that is whole; out is empty afterwards. */
enum ws_status ws_outfolder_add(struct ws_outfolder *f, struct ws_outfile *out, struct ws_err *err);
/* Remove a file of an earlier output that this one lacks; none is legal. */
enum ws_status ws_outfolder_remove(const struct ws_outfolder *f, const char *name,
                                   struct ws_err *err);

/* Give all files their names. f is empty afterwards. */
enum ws_status ws_outfolder_commit(struct ws_outfolder *f, struct ws_err *err);
/* Remove what was written and made; a folder that holds something stays. f is empty afterwards. */
void ws_outfolder_abandon(struct ws_outfolder *f);
