/* Finds or makes the segment that a process records into. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#include "recorder/collect/collector.h"
#include "recorder/shared/segment_file.h"

/* The owner of a segment. */
enum claim {
	CLAIM_MINE,    /* now owned by this image */
	CLAIM_OTHERS,  /* another process records into it */
	CLAIM_REFUSED, /* owned by this image: this is a second copy of the library (dlmopen) */
};

/* A random number that the kernel draws at exec, so it differs between the images of a process. */
static uint64_t image_token(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM); /* NOLINT: an address by design */
	uint64_t token = 1;

	if (random)
		memcpy(&token, random, sizeof(token));
	return token | 1;
}

/* --- the process's environment and command --- */

/* A list of strings in a field; the last byte stays 0 and ends the list. */
struct list {
	char *text;
	size_t size, used;
};

static void add_variable(struct list *list, const char *name)
{
	const char *value = getenv(name);
	size_t room = list->size - 1 - list->used;

	if (!value)
		return;
	int n = snprintf(list->text + list->used, room, "%s=%s", name, value);
	if (n > 0 && (size_t)n < room)
		list->used += (size_t)n + 1;
	else
		memset(list->text + list->used, 0, room);
}

/* Empty arguments are left out, as they would end the list. */
static void add_command(char *command, size_t size, int no_args)
{
	ssize_t n = readlink("/proc/self/exe", command, size / 2);
	size_t used = n > 0 ? (size_t)n + 1 : 0;
	size_t skip;

	if (!used || no_args)
		return;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, command + used, size - 1 - used);
	close(fd);
	/* skip argv[0], the name by which the program was called */
	skip = n > 0 ? strnlen(command + used, (size_t)n) + 1 : 0;
	if (n <= 0 || skip >= (size_t)n) {
		memset(command + used, 0, size - used);
		return;
	}
	memmove(command + used, command + used + skip, (size_t)n - skip);
	memset(command + used + (size_t)n - skip, 0, skip);
	/* leave out an argument that was cut off */
	for (size_t at = size - 1; at-- > used && command[at];)
		command[at] = 0;
}

/* --- claiming --- */

/* Makes this process the owner of the segment. That is the first process that asks, or the same
 * process after exec. */
static enum claim claim(struct ws_seg_header *seg, struct ws_proc self)
{
	uint32_t owner = 0;

	if (atomic_compare_exchange_strong(&seg->owner.pid, &owner, self.pid)) {
		struct ws_seg_control *control = &seg->control;
		struct list env = {control->environment, sizeof(control->environment), 0};
		char name[256];

		seg->owner.start_ticks = self.start_ticks;
		seg->owner.namespace = self.namespace;
#define X(key, variable) add_variable(&env, variable);
		WS_RANK_VARIABLES(X)
#undef X
		/* the NAMEs of %q{NAME} in the pattern of the trace's name */
		for (const char *p = seg->plan.output; (p = strchr(p, '%')); p += p[1] ? 2 : 1) {
			const char *end = p[1] == 'q' && p[2] == '{' ? strchr(p, '}') : NULL;

			if (!end)
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(end - p - 3), p + 3);
			add_variable(&env, name);
		}
		add_command(control->command, sizeof(control->command), seg->plan.no_args != 0);
		atomic_store(&seg->owner_image, image_token());
		return CLAIM_MINE;
	}
	if (owner != self.pid || seg->owner.start_ticks != self.start_ticks ||
	    seg->owner.namespace != self.namespace)
		return CLAIM_OTHERS;
	if (atomic_exchange(&seg->owner_image, image_token()) == image_token())
		return CLAIM_REFUSED;
	/* the threads of the previous image are gone */
	for (uint32_t i = 0; i < seg->thread_buffer_count; i++) {
		uint32_t owned = WS_THREAD_BUFFER_OWNED, coming = WS_THREAD_BUFFER_COMING;
		_Atomic uint32_t *state = ws_seg_thread_state(seg, i);

		atomic_compare_exchange_strong(state, &owned, WS_THREAD_BUFFER_LEFT);
		atomic_compare_exchange_strong(state, &coming, WS_THREAD_BUFFER_NONE);
	}
	return CLAIM_MINE;
}

/*
 * Makes a segment for this process. Its name contains those of the first segment and of the
 * process, so that the launcher and a later image of the process find it. The launcher must run, as
 * nothing else would read the segment; that is taken as true in another PID namespace, where it
 * cannot be checked.
 */
static struct ws_seg_header *own_segment(struct ws_seg_header *first, const char *first_path,
                                         struct ws_proc self)
{
	const struct ws_seg_opts opts = ws_seg_opts_of(first);
	const struct ws_proc launcher = ws_seg_process(&first->launcher);
	static struct ws_segment_file file; /* static because the thread's stack may be small; this
	                                       function is called once */
	static char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s" WS_SEG_FURTHER "%u-%llu-%llu", first_path,
	                 (unsigned)self.pid, (unsigned long long)self.start_ticks,
	                 (unsigned long long)self.namespace);

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	if (!access(path, F_OK)) {
		if (ws_segment_file_open(&file, path, NULL) != WS_OK)
			return NULL;
		if (claim(file.seg, self) == CLAIM_MINE)
			return file.seg;
		ws_segment_file_close(&file);
		return NULL;
	}
	if (!ws_proc_is_elsewhere(launcher.namespace) && !ws_proc_alive(launcher))
		return NULL;
	if (ws_segment_file_create_at(&file, path, &opts, NULL) != WS_OK) {
		atomic_store(&first->control.no_room, self.pid);
		return NULL;
	}
	/* the launcher searches for segments once more after it closed the first one */
	if (atomic_load(&first->state) != WS_SEG_OPEN) {
		ws_segment_file_remove(&file);
		return NULL;
	}

	/* The first segment's options are valid for further segments, too. */
	/* same difference as in the first segment, so that all traces of a recording have one
	 * clock */
	file.seg->base_ns = ws_clock_ns(CLOCK_MONOTONIC);
	file.seg->base_realtime_ns = first->base_realtime_ns + (file.seg->base_ns - first->base_ns);
	file.seg->base_raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW);
	file.seg->realtime_apart_ns = ws_clock_realtime_apart();
	file.seg->boot = first->boot;
	ws_seg_set_process(&file.seg->launcher, ws_seg_process(&first->launcher));
	file.seg->plan = first->plan;
	file.seg->capture = first->capture;
	if (ws_segment_file_seal(&file, NULL) != WS_OK) {
		ws_segment_file_remove(&file);
		return NULL;
	}
	/* one that begins while the recording is on is recorded from its begin */
	if (atomic_load(&first->control.standby.is_recording) &&
	    atomic_load(&first->control.standby.last) == UINT64_MAX) {
		const union ws_seg_request now = {.number = 1, .is_start = 1, .is_now = 1};

		atomic_store(&file.seg->control.standby.request, now.word);
	}
	claim(file.seg, self);
	atomic_fetch_add(&first->control.processes, 1);
	return file.seg;
}

struct ws_seg_header *ws_control_claim(void)
{
	const char *path = secure_getenv(WS_SEG_ENV);
	struct ws_seg_header *own = NULL;
	static struct ws_segment_file first;

	errno = 0;
	if (!path || ws_segment_file_open(&first, path, NULL) != WS_OK) {
		if (path && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			ws_segment_file_leave_word(path);
		return NULL;
	}
	if (atomic_load(&first.seg->state) != WS_SEG_OPEN) {
		ws_segment_file_close(&first);
		return NULL;
	}
	struct ws_proc self = ws_proc_self();
	switch (claim(first.seg, self)) {
	case CLAIM_MINE:
		return first.seg;
	case CLAIM_OTHERS:
		own = own_segment(first.seg, path, self);
		break;
	case CLAIM_REFUSED:
		break;
	}
	if (!own)
		ws_seg_count(first.seg, WS_DROPPED_process_not_recorded, 1);
	ws_segment_file_close(&first);
	return own;
}

/* --- loaded libraries --- */

struct search {
	const char *file;
	const void *excluded; /* an address in the library to skip */
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

/* Each returns the version in the library's own format; 0: unknown. */

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
	const char *file; /* beginning of its file name */
	const char *key, *function;
	long (*version)(void *lib, const char *function);
} libraries[] = {
        {"libcublas.so", "library.cublas", "cublasGetProperty", version_by_parts},
        {"libcublasLt.so", "library.cublaslt", "cublasLtGetVersion", version_as_size},
        {"libcudnn.so", "library.cudnn", "cudnnGetVersion", version_as_size},
        {"libnccl.so", "library.nccl", "ncclGetVersion", version_by_pointer},
};
#define NLIBRARIES (sizeof(libraries) / sizeof(*libraries))

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
		long version;
		char text[32];

		if (!lib)
			continue;
		is_known[i] = 1;
		/* 91900 is 9.19.0; older versions: 8907 is 8.9.7. */
		version = libraries[i].version(lib, libraries[i].function);
		long minor = version >= 10000 ? 100 : 10;
		if (version > 0) {
			snprintf(text, sizeof(text), "%ld.%ld.%ld", version / (100 * minor),
			         version / 100 % minor, version % 100);
			ws_define_fact(libraries[i].key, text);
		}
		dlclose(lib);
	}
	return 1;
}
