/*
 * An output file that appears whole or not at all: written under a temporary
 * name in the same folder, renamed when it is done. SIGINT, SIGTERM and SIGHUP
 * remove what is under way.
 */
#ifndef WS_FORMATS_BASE_OUTFILE_H
#define WS_FORMATS_BASE_OUTFILE_H

#include <stdio.h>

#include "formats/base/status.h"

struct ws_outfile {
	FILE *f;    /* NULL when the writer opens `temp` itself */
	char *path; /* the final name */
	char *temp; /* NULL: path is no regular file (a pipe, /dev/null) and written directly */
};

/* 1 when both names are the same existing file: writing one would destroy the other. */
int ws_outfile_is_same(const char *path, const char *input);
/* Create the temporary file and open it for writing. IO_WRITE says why not. */
enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err);
/* The same, closed again, for a writer that wants a file name. */
enum ws_status ws_outfile_reserve(struct ws_outfile *o, const char *path, struct ws_err *err);

/* What a writer that wants a file name shall open. */
const char *ws_outfile_name(const struct ws_outfile *o);

/* Check, close and rename. Whatever happens, o is empty afterwards. */
enum ws_status ws_outfile_commit(struct ws_outfile *o, struct ws_err *err);
/* Close and remove the temporary file. An empty o is legal. */
void ws_outfile_abandon(struct ws_outfile *o);

#endif
