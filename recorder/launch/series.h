#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/arena.h"
#include "formats/base/status.h"

/* --- grids --- */

/*
 * Many recordings by one command: N of the same, or a grid of list-valued
 * options. What is recorded in which order, without recording anything.
 */

/* One configuration. */
struct ws_grid_point {
	const char *name;           /* of its files, without repetition: "mlp-batch64-fp32" */
	const char *const *options; /* of warpsheet-step, --model first; NULL-terminated; none for a
	                             * program */
	/* what is different between points: "batch" "64"; NULL-terminated */
	const char *const *facts;
};

struct ws_grid_run {
	size_t point;
	int64_t repetition; /* from 1 */
};

/* Free with ws_grid_free. */
struct ws_grid {
	struct ws_grid_point *points;
	size_t npoints;
	struct ws_grid_run *runs; /* in the order in which they are made */
	size_t nruns;
	struct ws_arena arena;
};

/*
 * The grid of a command line. rest: options of warpsheet-step, where a comma
 * in a value makes a list; model NULL: a program of this name.
 * Every point once, then every point again, in an order that seed shuffles
 * anew each time: so drift of the machine hits all points alike.
 */
enum ws_status ws_grid_plan(struct ws_grid *grid, const char *model, char *const *rest, int nrest,
                            const char *program, int64_t repeat, uint64_t seed, struct ws_err *err);
void ws_grid_free(struct ws_grid *grid);
/* Does a value of these options list several? */
bool ws_grid_has_lists(const char *model, char *const *rest, int nrest);

/* --- series --- */

/* Makes the recordings of a grid, one after the other, each by a recorder of its own. */

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
