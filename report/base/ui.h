/*
 * The terminal: colour, width, pager, messages on stderr. The only code that checks what stdout is.
 * Data goes to stdout, messages to stderr.
 */
#pragma once

#include <limits.h>

#include "formats/base/memory.h"

/* Numbers in sentences: three significant digits and a unit, "383 ms", "2.4 %", "8.9 TFLOP", "446";
 * never an exponent. Texts are in the arena. */

/* Appends to a text in a buffer of `size` bytes, and truncates if it is too long. */
void ws_say_add(char *text, size_t size, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

#define WS_SAY_TIME 32
const char *ws_say_time_in(double ns, char out[WS_SAY_TIME]); /* returns out */
/* The same, in a text that lasts until the end of the block. */
#define WS_SHOWN_TIME(ns) ws_say_time_in(ns, (char[WS_SAY_TIME]){""})
const char *ws_say_time(struct ws_arena *texts, double ns);
const char *ws_say_percent(struct ws_arena *texts, double percent);
/* A ratio as a factor over 1, "1.6×", or as a percentage, "2.3 %". */
#define WS_SAY_TIMES_FROM 1.1 /* ratios from here on are factors, smaller ones percentages */
const char *ws_say_amount(struct ws_arena *texts, double ratio);
const char *ws_say_number(struct ws_arena *texts, double value);
/* With an SI prefix: "8.9 TFLOP", "3.35 TB/s". */
const char *ws_say_si(struct ws_arena *texts, double value, const char *unit);
/* "61.6 vs 38.0 µs", "383 → 391 ms": with the unit once if it is the same. */
const char *ws_say_times(struct ws_arena *texts, double a_ns, const char *between, double b_ns);
/* "7.06 ms, 6.22 to 7.73", or "311 µs, 272 µs to 6.72 ms". */
const char *ws_say_time_range(struct ws_arena *texts, double ns, double least_ns, double most_ns);
/* "1 ± 1.23 ms": a mean and its standard deviation, in one unit. */
const char *ws_say_mean(struct ws_arena *texts, double mean_ns, double std_ns);
/* "20.57 of 39.10 s": both in the unit of the whole, with two decimals. */
const char *ws_say_time_of(struct ws_arena *texts, double ns, double whole_ns);
/* "383 ms (40 %)" */
const char *ws_say_part_of(struct ws_arena *texts, double ns, double percent);

/* Values of --color, in the order of its choices. */
enum ws_ui_when { WS_UI_AUTO, WS_UI_ALWAYS, WS_UI_NEVER };
#define WS_UI_WHEN_CHOICES "auto|always|never"

/* Use colour on stdout? AUTO: only on a terminal that is not dumb, and not when NO_COLOR is set. */
bool ws_ui_colour(enum ws_ui_when when);

/*
 * Maximum columns of a line: the variable COLUMNS if set, else the terminal's width; 0 (no limit)
 * if stdout is not a terminal.
 */
int ws_ui_width(void);

/*
 * Sends stdout through $PAGER (less) if it is a terminal. Without a pager, or with PAGER empty or
 * "cat", output goes to the terminal as it is.
 */
void ws_ui_pager_start(void);

/*
 * Flush and close stdout and wait for the pager. Call once, at the end. Returns IO_WRITE if any of
 * the output was lost, now or earlier.
 */
enum ws_status ws_ui_stdout_finish(struct ws_err *err);

/*
 * Shows the progress of long work as one line on stderr that is overwritten each time. Prints
 * nothing if stderr is not a terminal, or during the first second. `what` names the work; total 0 =
 * unknown. End it before printing anything else.
 */
void ws_ui_progress(const char *what, uint64_t done, uint64_t total);
void ws_ui_progress_end(void);

/* "warpsheet: …" and a newline on stderr; control characters become '?'. */
void ws_ui_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The folder of this program, to find files that belong to it. */

/* The folder with a final slash. Returns ENVIRONMENT if the system does not provide it. */
enum ws_status ws_executable_dir(char folder[PATH_MAX], struct ws_err *err);
