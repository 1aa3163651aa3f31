/* Which copy of CUPTI, and what of it. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/collect/libraries.h"
#include "recorder/cupti/source.h"

#define FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) /* never unloaded: CUPTI crashes then */

/* The major version that the program's runtime has goes first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
#define NSONAMES 2

/* --- looking --- */

struct search {
	int first;         /* index of the soname to begin with */
	bool takes_flawed; /* there is none but one with known faults */
	void *lib;
};

/* CUPTI of exactly CUDA 13.0, as a toolkit has it: the name of its file tells, before it is loaded.
 */
static bool is_flawed(const char *path)
{
	static const char flawed[] = "/libcupti.so.2025.3.0";
	char real[PATH_MAX];
	size_t len = realpath(path, real) ? strlen(real) : 0;

	return len >= strlen(flawed) && !strcmp(real + len - strlen(flawed), flawed);
}

/* Both major versions in this folder. */
static void try_folder(struct search *s, const char *folder)
{
	char path[PATH_MAX];

	for (int i = 0; !s->lib && i < NSONAMES; i++) {
		const char *soname = sonames[(s->first + i) % NSONAMES];
		int n = snprintf(path, sizeof(path), "%s/%s", folder, soname);

		if (n > 0 && (size_t)n < sizeof(path) && (s->takes_flawed || !is_flawed(path)))
			s->lib = dlopen(path, FLAGS);
	}
}

static void try_sonames(struct search *s, int flags)
{
	for (int i = 0; !s->lib && i < NSONAMES; i++)
		s->lib = dlopen(sonames[(s->first + i) % NSONAMES], flags);
}

/* As toolkits, Linux distributions and Python packages lay it out. */
static void try_beside(struct search *s, const char *cudart)
{
	static const char *const folders[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64",
	                                      "/../cupti/lib"};
	int dir = (int)(strrchr(cudart, '/') - cudart);
	char path[PATH_MAX];

	for (size_t i = 0; !s->lib && i < sizeof(folders) / sizeof(*folders); i++) {
		int n = snprintf(path, sizeof(path), "%.*s%s", dir, cudart, folders[i]);

		if (n > 0 && (size_t)n < sizeof(path))
			try_folder(s, path);
	}
}

static void *find_library(void)
{
	const char *named = secure_getenv("WARPSHEET_CUPTI_PATH");
	struct search s = {0};
	char cudart[PATH_MAX];
	int has_cudart = ws_library_path(WS_CUDART, cudart, sizeof(cudart));

	s.first = has_cudart && strstr(cudart, "libcudart.so.12") != NULL;
	/* two copies in one process are more than CUPTI bears */
	try_sonames(&s, FLAGS | RTLD_NOLOAD);
	if (!s.lib && named && *named) {
		s.lib = dlopen(named, FLAGS);
		s.takes_flawed = 1;
		try_folder(&s, named);
		return s.lib; /* whoever names one wants no other */
	}
	for (int i = 0; !s.lib && i < 2; i++) {
		s.takes_flawed = i == 1;
		if (has_cudart)
			try_beside(&s, cudart);
		try_folder(&s, "/usr/local/cuda/lib64");
		try_folder(&s, "/usr/local/cuda/extras/CUPTI/lib64");
	}
	try_sonames(&s, FLAGS);
	return s.lib;
}

/* --- taking --- */

/* The state is what the launcher looks at, so it is set last. */
static int fail(struct ws_seg_gpu *gpu, enum ws_gpu_state state, void *function, const char *lacks)
{
	const char *path = "";
	Dl_info info;

	if (function && dladdr(function, &info) && info.dli_fname)
		path = info.dli_fname;
	snprintf(gpu->text, sizeof(gpu->text), "%s%s%s", path, *lacks ? " lacks " : "", lacks);
	atomic_store(&gpu->state, state);
	return -1;
}

static const char *look_up(void *lib)
{
#define F(name, needed, params)                               \
	*(void **)&ws_cupti.name = dlsym(lib, "cupti" #name); \
	if ((needed) && !ws_cupti.name)                       \
		return "cupti" #name;
	WS_CUPTI_FUNCTION_LIST(F)
#undef F
	return NULL;
}

int ws_cupti_load(struct ws_seg_gpu *gpu)
{
	void *lib = find_library();
	ws_cupti_fn_GetVersion get_version;
	const char *missing;
	uint32_t version = 0;

	if (!lib)
		return fail(gpu, WS_GPU_CUPTI_MISSING, NULL, "");
	*(void **)&get_version = dlsym(lib, "cuptiGetVersion");
	if (!get_version)
		return fail(gpu, WS_GPU_CUPTI_LACKS, NULL, "cuptiGetVersion");
	gpu->result = get_version(&version);
	if (gpu->result) { /* as that of 13.3 does without a driver that it likes */
		snprintf(gpu->text, sizeof(gpu->text), "cuptiGetVersion");
		atomic_store(&gpu->state, WS_GPU_CUPTI_FAILED);
		return -1;
	}
	atomic_store(&gpu->cupti_version, version);
	if (version == WS_CUPTI_VERSION_13_0)
		atomic_fetch_or(&gpu->stopped, WS_GPU_STOP_FLAWED);
	if (version < WS_CUPTI_VERSION_12_0)
		return fail(gpu, WS_GPU_CUPTI_TOO_OLD, *(void **)&get_version, "");
	missing = look_up(lib);
	if (missing)
		return fail(gpu, WS_GPU_CUPTI_LACKS, *(void **)&get_version, missing);
	return 0;
}
