/* Versions of NVIDIA's libraries in the traced program, as facts of the trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Path of a library of this process whose file's name begins so; 0: there is none. */
bool ws_library_path(const char *file, char *path, size_t size);
/*
 * Path of another library whose file's name begins so than the one that `function` is of; 0: there
 * is none. One file under two names is one library.
 */
bool ws_library_second(const char *file, const void *function, char *path, size_t size);
/*
 * Ask each library that was loaded since the last call for its version. Not
 * for the program's own threads: it waits while a library is being loaded.
 * One thread at a time. 1 when any was loaded.
 */
bool ws_libraries_define(void);
