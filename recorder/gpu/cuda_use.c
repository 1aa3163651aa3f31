#include "recorder/gpu/cuda_use.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/xalloc.h"

/* How the names of their files begin; PyTorch's have a hash in the middle. */
static const char *const libraries[] = {"libcuda.so.", "libcudart", "libcublas", "libcudnn"};
#define NLIBRARIES (sizeof(libraries) / sizeof(*libraries))

static bool is_cuda_library(const char *name)
{
	for (size_t i = 0; i < NLIBRARIES; i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return 1;
	return 0;
}

/* --- a file --- */

/* Of a large one the begin, where the names of libraries lie, and the end, with those of sections:
 * a second for each gigabyte would be the recording's end. */
#define BEGIN_BYTES ((size_t)64 << 20)
#define END_BYTES   ((size_t)1 << 20)

/* Device code has a section of its own; libraries are named as strings. */
static bool uses_cuda(const uint8_t *bytes, size_t size)
{
	bool found = memmem(bytes, size, ".nv_fatbin", sizeof(".nv_fatbin")) != NULL;

	for (size_t i = 0; i < NLIBRARIES && !found; i++) {
		char name[16] = "";

		memcpy(name + 1, libraries[i], strlen(libraries[i]));
		found = memmem(bytes, size, name, 1 + strlen(libraries[i])) != NULL;
	}
	return found;
}

int ws_cuda_use_of_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = 0;
	struct stat st;
	uint8_t *bytes;
	size_t size;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		size = (size_t)st.st_size;
		bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			result = uses_cuda(bytes, size < BEGIN_BYTES ? size : BEGIN_BYTES) ||
			         (size > BEGIN_BYTES &&
			          uses_cuda(bytes + size - END_BYTES, END_BYTES));
			munmap(bytes, size);
		}
	}
	close(fd);
	return result;
}

/* --- a process --- */

int ws_cuda_use_of_process(uint32_t pid)
{
	char path[32], line[PATH_MAX + 128];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", (unsigned)pid);
	f = ws_xopened(fopen(path, "re"));
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, '/');

		found = name && is_cuda_library(name + 1);
	}
	if (f)
		fclose(f);
	return found;
}
