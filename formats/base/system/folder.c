/* Names of paths and of what is in a folder, for all systems. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/system/folder.h"
#include "formats/base/system/system.h"

bool ws_path_separates(char c)
{
#ifdef _WIN32
	return c == '/' || c == '\\';
#else
	return c == '/';
#endif
}

const char *ws_path_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (ws_path_separates(*path))
			name = path + 1;
	return name;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int ws_folder_names(int folder, char ***names)
{
	DIR *dir = ws_folder_entries(folder);
	char **more, *name = (char *)names; /* NULL: no memory */
	size_t n = 0;
	int why;

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
	why = errno;
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
