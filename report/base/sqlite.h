/* The memory of SQLite, in all that this process does with it. */
#pragma once

/* From now on SQLite has memory, or the program ends (xalloc.h): its error codes do not reach every
 * caller. Once, before it is used. */
void ws_sqlite_begin(void);
