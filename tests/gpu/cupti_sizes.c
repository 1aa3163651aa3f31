/*
 * What a CUPTI says without a driver, for versions.py:
 *   cupti_sizes LIBRARY version|sizes
 * Its version, or KIND:BYTES of each kind of record by its own iterator. Ends with 1 when it says
 * nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "recorder/cupti/source.h"

int main(int argc, char **argv)
{
	void *lib = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	ws_cupti_fn_ActivityGetNextRecord next = NULL;
	ws_cupti_fn_GetVersion get_version = NULL;
	uint16_t sizes[WS_SEG_KINDS];
	uint32_t version = 0;
	int n = 0;

	if (!lib)
		return 1;
	*(void **)&get_version = dlsym(lib, "cuptiGetVersion");
	*(void **)&next = dlsym(lib, "cuptiActivityGetNextRecord");
	if (!get_version || !next)
		return 1;
	if (!strcmp(argv[2], "version")) {
		if (get_version(&version) || !version)
			return 1;
		return printf("%u\n", version) < 0;
	}
	ws_cupti_find_sizes(next, sizes);
	for (int kind = 0; kind < WS_SEG_KINDS; kind++)
		if (sizes[kind])
			n = printf("%d:%u\n", kind, (unsigned)sizes[kind]);
	return n <= 0;
}
