/* Versions of NVIDIA's libraries in the traced program, as facts of the trace. */
#pragma once

/*
 * Ask each library that was loaded since the last call for its version. Not
 * for the program's own threads: it waits while a library is being loaded.
 * One thread at a time.
 */
void ws_libraries_define(void);
