/*
 * The terminal: colour, width, pager, words for people on stderr. The only
 * place that asks what stdout is. Data goes to stdout, words to stderr.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/base/memory.h"
#include "formats/base/status.h"

/* Numbers in sentences: three significant digits and a unit, "383 ms", "2.4 %", "8.9 TFLOP", "446";
 * never an exponent. Texts are in the arena. */

/* Adds to a text in a room of so many bytes; what does not fit is left out. */
void ws_say_add(char *text, size_t size, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

#define WS_SAY_TIME 32
const char *ws_say_time_in(double ns, char out[WS_SAY_TIME]); /* returns out */
const char *ws_say_time(struct ws_arena *texts, double ns);
const char *ws_say_percent(struct ws_arena *texts, double percent);
/* How much more or less, always over 1: "1.6×", "2.3 %". */
#define WS_SAY_TIMES_FROM 1.1 /* from here on as times, below in percent */
const char *ws_say_amount(struct ws_arena *texts, double ratio);
const char *ws_say_number(struct ws_arena *texts, double value);
/* With a prefix of SI: "8.9 TFLOP", "3.35 TB/s". */
const char *ws_say_si(struct ws_arena *texts, double value, const char *unit);
/* "61.6 vs 38.0 µs", "383 → 391 ms": in one unit where it is the same. */
const char *ws_say_times(struct ws_arena *texts, double a_ns, const char *between, double b_ns);
/* "7.06 ms, 6.22 to 7.73": all in the unit of the first. */
const char *ws_say_time_range(struct ws_arena *texts, double ns, double least_ns, double most_ns);
/* "20.57 of 39.10 s": both in the unit of the whole, with two digits behind the point. */
const char *ws_say_time_of(struct ws_arena *texts, double ns, double whole_ns);
/* "383 ms (40 %)" */
const char *ws_say_part_of(struct ws_arena *texts, double ns, double percent);

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
