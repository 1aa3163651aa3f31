#include "report/base/sqlite.h"

#include <sqlite3.h>

#include "formats/base/xalloc.h"

static sqlite3_mem_methods own; /* SQLite's, which asks the C library */

static void *get(int bytes)
{
	void *p = own.xMalloc(bytes);

	if (!p)
		ws_out_of_memory((size_t)bytes);
	return p;
}

static void *get_again(void *old, int bytes)
{
	void *p = own.xRealloc(old, bytes);

	if (!p)
		ws_out_of_memory((size_t)bytes);
	return p;
}

void ws_sqlite_begin(void)
{
	sqlite3_mem_methods methods;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &own);
	methods = own;
	methods.xMalloc = get;
	methods.xRealloc = get_again;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
