/* Versions of NVIDIA's libraries in the traced program, as facts of the trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Path of a library of this process whose file's name begins so; 0: there is none. */
bool ws_library_path(const char *file, char *path, size_t size);
/*
 * Ask each library that was loaded since the last call for its version. Not
 * for the program's own threads: it waits while a library is being loaded.
 * One thread at a time.
 */
void ws_libraries_define(void);
