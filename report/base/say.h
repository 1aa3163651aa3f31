/* Numbers in sentences: three significant digits and a unit, "383 ms", "2.4 %", "8.9 TFLOP", "446";
 * never an exponent. Texts are in the arena. */
#pragma once

#include "formats/base/arena.h"

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
