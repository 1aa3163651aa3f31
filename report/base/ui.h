/*
 * The terminal: colour, width, pager, words for people on stderr. The only
 * place that asks what stdout is. Data goes to stdout, words to stderr.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

/* Values of --color, in the order of its choices. */
enum ws_ui_when { WS_UI_AUTO, WS_UI_ALWAYS, WS_UI_NEVER };
#define WS_UI_WHEN_CHOICES "auto|always|never"

/* Use colour on stdout? AUTO: only on a terminal that is not dumb, and not when NO_COLOR is set. */
bool ws_ui_colour(enum ws_ui_when when);

/*
 * Columns that a line may have: COLUMNS where it is set, the terminal's
 * width, 0 (no limit) where stdout is no terminal.
 */
int ws_ui_width(void);

/*
 * Send stdout through $PAGER (less) when it is a terminal. Without a pager, or
 * with PAGER empty or "cat", output goes to the terminal as it is.
 */
void ws_ui_pager_start(void);

/*
 * Flush and close stdout and wait for the pager. Call once, at the end.
 * IO_WRITE when anything of the output was lost, also earlier.
 */
enum ws_status ws_ui_stdout_finish(struct ws_err *err);

/*
 * How far long work is, as one line on stderr that renews itself. Nothing
 * where stderr is no terminal, nor before the work has taken a second. `what`
 * is named; total 0 = unknown. End it before anything else is said.
 */
void ws_ui_progress(const char *what, uint64_t done, uint64_t total);
void ws_ui_progress_end(void);

/* "warpsheet: …" and a newline on stderr; control characters become '?'. */
void ws_ui_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Where this program lies: what belongs to it lies beside it, or is installed near it. */

/* The folder with the slash behind it. ENVIRONMENT when the system does not say. */
enum ws_status ws_executable_dir(char folder[PATH_MAX], struct ws_err *err);
