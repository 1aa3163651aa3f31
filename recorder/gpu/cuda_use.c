#include "recorder/gpu/cuda_use.h"

#include <elf.h>
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

#define DEVICE_CODE ".nv_fatbin"

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

struct elf {
	const uint8_t *bytes;
	uint64_t size;
};

/* Section i's header, all 0 when it does not lie in the file. */
static Elf64_Shdr section(const struct elf *elf, uint32_t i)
{
	Elf64_Shdr out = {0};
	Elf64_Ehdr header;
	uint64_t at;

	memcpy(&header, elf->bytes, sizeof(header));
	at = header.e_shoff + (uint64_t)i * sizeof(out);
	if (i < header.e_shnum && header.e_shoff <= elf->size && at <= elf->size &&
	    elf->size - at >= sizeof(out))
		memcpy(&out, elf->bytes + at, sizeof(out));
	return out;
}

/* The bytes of a section of strings, the last of which is 0; NULL when it is none. */
static const char *strings_of(const struct elf *elf, const Elf64_Shdr *s)
{
	const char *text = (const char *)elf->bytes + s->sh_offset;

	if (s->sh_type != SHT_STRTAB || s->sh_offset > elf->size || !s->sh_size ||
	    s->sh_size > elf->size - s->sh_offset || text[s->sh_size - 1])
		return NULL;
	return text;
}

/* In the strings of dynamic linking; names of functions there begin otherwise. */
static bool names_library(const struct elf *elf, const Elf64_Shdr *s)
{
	const char *text = strings_of(elf, s);

	for (uint64_t at = 0; text && at < s->sh_size; at += strlen(text + at) + 1)
		if (is_cuda_library(text + at))
			return 1;
	return 0;
}

static bool uses_cuda(const struct elf *elf)
{
	Elf64_Ehdr header;
	const char *text;
	Elf64_Shdr names;

	if (elf->size < sizeof(header))
		return 0;
	memcpy(&header, elf->bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	names = section(elf, header.e_shstrndx);
	text = strings_of(elf, &names);
	for (uint32_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr s = section(elf, i);

		if (text && s.sh_name < names.sh_size && !strcmp(text + s.sh_name, DEVICE_CODE))
			return 1;
		if (s.sh_flags & SHF_ALLOC && names_library(elf, &s))
			return 1;
	}
	return 0;
}

int ws_cuda_use_of_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = 0;
	struct stat st;
	void *bytes;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			result = uses_cuda(&(struct elf){bytes, (uint64_t)st.st_size});
			munmap(bytes, (size_t)st.st_size);
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
