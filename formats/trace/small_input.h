/* What a small input may ask of the process that reads it: docs/dev/guarantees.md, section 7. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WS_SMALL_INPUT_BYTES (INT64_C(1) << 20)
#define WS_SMALL_INPUT_UNLIKELY \
	"no recording of that size needs so much: the input is damaged, or was made to do harm"
/* What to say when memory ran out in a process with limits. */
#define WS_SMALL_INPUT_MEMORY \
	"an input of less than 1 MB may use 480 MB of memory; " WS_SMALL_INPUT_UNLIKELY

/*
 * When one file or two are among the words, each of less than 1 MB (many are a sweep), this process
 * gets at most 10 s of processor time and 480 MB of data from now on. true: it has these limits. At
 * the first one it says so, removes unfinished output and ends with 5. Not for who starts other
 * programs, which would inherit them.
 */
bool ws_small_input_limit(char *const *words, int n);
