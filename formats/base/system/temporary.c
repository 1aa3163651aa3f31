#include <errno.h>
#include <string.h>

#include "formats/base/system/files.h"

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

#define LETTERS 8 /* of 32: 40 bits */

int ws_name_temporary(int folder, char *name, unsigned rights, bool is_folder)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	char *end = name + strlen(name) - LETTERS;
	uint8_t random[LETTERS];
	int result;

	do {
		if (ws_random(random, sizeof(random)))
			return -1;
		for (size_t i = 0; i < LETTERS; i++)
			end[i] = letters[random[i] % 32];
		result = is_folder ? ws_folder_make(folder, name, rights)
		                   : ws_file_open(folder, name, WS_FILE_NEW, rights);
	} while (result < 0 && errno == EEXIST);
	return result;
}

int ws_file_unnamed(const char *path)
{
	char name[] = "warpsheet-XXXXXXXX";
	const int folder = ws_folder_open(WS_HERE, path, true);

	if (folder < 0)
		return -1;
	int fd = ws_name_temporary(folder, name, 0600, false);
	int why = errno;
	if (fd >= 0)
		ws_name_remove(folder, name, false);
	ws_folder_close(folder);
	errno = why;
	return fd;
}
