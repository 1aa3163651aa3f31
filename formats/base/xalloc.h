/*
 * The end of a program that has no memory: one line on standard error and exit
 * status 5. Temporary files of outputs are removed first, so no output is half
 * written. Never in code that runs inside the traced program.
 */
#pragma once

#include <stddef.h>

/* End the program for lack of memory: any thread may call it. */
_Noreturn void ws_out_of_memory(size_t bytes);
/* A second line for the message, which says the cure; it is not copied. NULL: none. */
void ws_out_of_memory_hint(const char *text);
