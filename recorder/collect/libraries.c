#include "recorder/collect/libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "recorder/collect/collector.h"

/* --- which are loaded --- */

struct search {
	const char *file;
	const void *excluded; /* an address in the library that does not count */
	char *path;
	size_t size;
};

static bool has_address(const struct dl_phdr_info *info, const void *address)
{
	const ElfW(Addr) at = (ElfW(Addr))(uintptr_t)address;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    at - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
			return 1;
	}
	return 0;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const struct search *s = arg;

	(void)size;
	if (!name || strncmp(name + 1, s->file, strlen(s->file)) != 0 ||
	    strlen(info->dlpi_name) >= s->size || (s->excluded && has_address(info, s->excluded)))
		return 0;
	memcpy(s->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

bool ws_library_path(const char *file, char *path, size_t size)
{
	return dl_iterate_phdr(look_at_object, &(struct search){file, NULL, path, size});
}

bool ws_library_second(const char *file, const void *function, char *path, size_t size)
{
	return dl_iterate_phdr(look_at_object, &(struct search){file, function, path, size});
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

/* --- their versions --- */

/* Each returns the version as the library counts it, 0 when it does not tell. */

static long version_as_size(void *lib, const char *function)
{
	size_t (*get)(void);

	*(void **)&get = dlsym(lib, function);
	return get ? (long)get() : 0;
}

static long version_by_parts(void *lib, const char *function)
{
	int (*get)(int property, int *value); /* 0, 1, 2: major, minor, patch */
	int part[3];

	*(void **)&get = dlsym(lib, function);
	for (int i = 0; i < 3; i++)
		if (!get || get(i, &part[i]))
			return 0;
	return part[0] * 10000L + part[1] * 100L + part[2];
}

static long version_by_pointer(void *lib, const char *function)
{
	int (*get)(int *version);
	int version = 0;

	*(void **)&get = dlsym(lib, function);
	return get && !get(&version) ? version : 0;
}

static const struct {
	const char *file; /* the name of its file begins so */
	const char *key, *function;
	long (*version)(void *lib, const char *function);
} libraries[] = {
        {"libcublas.so", "library.cublas", "cublasGetProperty", version_by_parts},
        {"libcublasLt.so", "library.cublaslt", "cublasLtGetVersion", version_as_size},
        {"libcudnn.so", "library.cudnn", "cudnnGetVersion", version_as_size},
        {"libnccl.so", "library.nccl", "ncclGetVersion", version_by_pointer},
};
#define NLIBRARIES (sizeof(libraries) / sizeof(*libraries))

/* 91900 is 9.19.0; before that scheme came, 8907 was 8.9.7. */
static void define_version(const char *key, long version)
{
	long minor = version >= 10000 ? 100 : 10;
	char text[32];

	if (version <= 0)
		return;
	snprintf(text, sizeof(text), "%ld.%ld.%ld", version / (100 * minor), version / 100 % minor,
	         version % 100);
	ws_define_fact(key, text);
}

bool ws_libraries_define(void)
{
	static unsigned long long loads_seen;
	static bool is_known[NLIBRARIES];
	static char path[PATH_MAX]; /* not on the stack of a small thread */
	unsigned long long loads = 0;

	dl_iterate_phdr(note_loads, &loads);
	if (loads == loads_seen)
		return 0;
	loads_seen = loads;
	for (size_t i = 0; i < NLIBRARIES; i++) {
		void *lib = !is_known[i] && ws_library_path(libraries[i].file, path, sizeof(path))
		                    ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)
		                    : NULL;

		if (!lib)
			continue;
		is_known[i] = 1;
		define_version(libraries[i].key, libraries[i].version(lib, libraries[i].function));
		dlclose(lib);
	}
	return 1;
}
