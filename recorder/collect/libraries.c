#include "recorder/collect/libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "recorder/collect/collector.h"

/* Each returns the version as the library counts it, 0 when it does not tell. */

static long version_as_size(void *lib, const char *name)
{
	size_t (*get)(void);

	*(void **)&get = dlsym(lib, name);
	return get ? (long)get() : 0;
}

static long cublas_version(void *lib)
{
	int (*get)(int property, int *value); /* 0, 1, 2: major, minor, patch */
	int part[3];

	*(void **)&get = dlsym(lib, "cublasGetProperty");
	for (int i = 0; i < 3; i++)
		if (!get || get(i, &part[i]))
			return 0;
	return part[0] * 10000L + part[1] * 100L + part[2];
}

static long cublaslt_version(void *lib)
{
	return version_as_size(lib, "cublasLtGetVersion");
}

static long cudnn_version(void *lib)
{
	return version_as_size(lib, "cudnnGetVersion");
}

static long nccl_version(void *lib)
{
	int (*get)(int *version);
	int version = 0;

	*(void **)&get = dlsym(lib, "ncclGetVersion");
	return get && !get(&version) ? version : 0;
}

static const struct {
	const char *file; /* the name of its file begins so */
	const char *key;
	long (*version)(void *lib);
} libraries[] = {
        {"/libcublas.so", "library.cublas", cublas_version},
        {"/libcublasLt.so", "library.cublaslt", cublaslt_version},
        {"/libcudnn.so", "library.cudnn", cudnn_version},
        {"/libnccl.so", "library.nccl", nccl_version},
};
#define NLIBRARIES (sizeof(libraries) / sizeof(*libraries))

static unsigned known; /* bit n: library n was asked */
static unsigned long long loads_seen;

struct found {
	unsigned new; /* bit n: library n is there now */
	char paths[NLIBRARIES][PATH_MAX];
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct found *found = arg;

	(void)size;
	if (info->dlpi_adds == loads_seen) /* nothing was loaded since */
		return 1;
	for (size_t i = 0; name && i < NLIBRARIES; i++) {
		if (known >> i & 1 ||
		    strncmp(name, libraries[i].file, strlen(libraries[i].file)) != 0 ||
		    strlen(info->dlpi_name) >= sizeof(found->paths[i]))
			continue;
		memcpy(found->paths[i], info->dlpi_name, strlen(info->dlpi_name) + 1);
		found->new |= 1u << i;
	}
	return 0;
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

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

void ws_libraries_define(void)
{
	static struct found found;
	unsigned long long loads = 0;

	found.new = 0;
	dl_iterate_phdr(note_loads, &loads);
	dl_iterate_phdr(look_at_object, &found);
	loads_seen = loads;
	for (size_t i = 0; i < NLIBRARIES; i++) {
		void *lib;

		if (!(found.new >> i & 1))
			continue;
		lib = dlopen(found.paths[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
		if (!lib)
			continue;
		known |= 1u << i;
		define_version(libraries[i].key, libraries[i].version(lib));
		dlclose(lib);
	}
}
