/* The names in a folder, for all systems. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/system/folder.h"
#include "formats/base/system/system.h"

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int ws_folder_names(int folder, char ***names)
{
	DIR *dir = ws_folder_entries(folder);
	char **more, *name = (char *)names; /* NULL: no memory */
	size_t n = 0;

	*names = NULL;
	if (!dir)
		return -1;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		more = realloc(*names, (n + 1) * sizeof(**names));
		*names = more ? more : *names;
		name = more ? strdup(entry->d_name) : NULL;
		if (!name)
			break;
		(*names)[n++] = name;
	}
	int why = errno;
	closedir(dir);
	errno = why;
	if (!name) {
		while (n)
			free((*names)[--n]);
		free(*names);
		return -1;
	}
	if (n)
		qsort(*names, n, sizeof(**names), by_bytes);
	return (int)n;
}
