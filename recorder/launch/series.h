/* Makes the recordings of a grid, one after the other, each by a recorder of its own. */
#pragma once

#include "recorder/launch/grid.h"

/* Tells the recorder of a run the folder of the series, which is opened once (launcher.h:
 * folder_id). */
#define WS_SERIES_FOLDER_ENV "WARPSHEET_SERIES_FOLDER"

struct ws_series_opts {
	const char *folder;               /* made when it is not there */
	char *const *capture_options;     /* of warpsheet-record, NULL-terminated; without -o */
	char *const *program;             /* NULL: a model */
	void (*notice)(const char *line); /* progress, for the user */
	void (*words)(const char *line);  /* what a program says on stderr, as it is */
};

/*
 * Recordings become FOLDER/NAME-rN.wtrace when they are whole; beside each is
 * FOLDER/NAME-rN.status: lines "result=ok", or what went wrong, and the facts
 * of the point. What has a status is not made again. FINDING when a run
 * failed. Interrupted (SIGINT, SIGTERM), it stops behind the run under way: *signal.
 */
enum ws_status ws_series_run(const struct ws_grid *grid, const struct ws_series_opts *opts,
                             int *signal, struct ws_err *err);
