/*
 * bin/warpsheet of the tarball: starts lib/warpsheet/warpsheet with the loader and the libraries
 * that lie there, so that none of the machine's is used. Static; no /proc is needed.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *self = (const char *)getauxval(AT_EXECFN);
	char place[PATH_MAX], loader[PATH_MAX + 64], libraries[PATH_MAX + 64];
	char program[PATH_MAX + 64], **words = calloc((size_t)argc + 5, sizeof(*words));

	/* a link to it may lie anywhere */
	if (!words || !self || !realpath(self, place)) {
		perror("warpsheet: cannot find its own folder");
		free(words);
		return 5;
	}
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(place, '/');

		if (slash)
			*slash = 0;
	}
	snprintf(loader, sizeof(loader), "%s/lib/warpsheet/ld.so", place);
	snprintf(libraries, sizeof(libraries), "%s/lib/warpsheet", place);
	snprintf(program, sizeof(program), "%s/lib/warpsheet/warpsheet", place);
	words[0] = loader;
	words[1] = (char *)"--library-path";
	words[2] = libraries;
	words[3] = program;
	memcpy(words + 4, argv + 1, (size_t)argc * sizeof(*words));
	execv(loader, words);
	perror("warpsheet: cannot start");
	free(words);
	return 5;
}
