/* Windows and WebAssembly, by what C itself has; on Linux for tests. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "formats/base/system/folder.h"
#include "formats/base/system/system.h"

/* --- files as memory --- */

#ifdef _WIN32
const void *ws_file_map(int fd, size_t size)
{
	HANDLE map =
	        CreateFileMappingA((HANDLE)_get_osfhandle(fd), NULL, PAGE_READONLY, 0, 0, NULL);
	void *data = map ? MapViewOfFile(map, FILE_MAP_READ, 0, 0, size) : NULL;

	if (map)
		CloseHandle(map);
	if (!data)
		errno = EIO;
	return data;
}

void ws_file_unmap(const void *data, size_t size)
{
	(void)size;
	UnmapViewOfFile(data);
}
#endif

void ws_file_map_let_go(const void *data, size_t size)
{
	(void)data, (void)size;
}

void ws_file_map_when_cut(void (*end_program)(void))
{
	(void)end_program;
}

DIR *ws_folder_entries(int folder)
{
	char path[4096];

	ws_file_path(-1, folder, ".", path, sizeof(path));
	return opendir(path);
}

/* --- memory --- */

#ifdef _WIN32
int ws_region_open(struct ws_region *r, size_t most_bytes, bool is_file)
{
	(void)is_file;
	*r = (struct ws_region){.most_bytes = most_bytes, .fd = -1};
	r->data = VirtualAlloc(NULL, most_bytes, MEM_RESERVE, PAGE_READWRITE);
	errno = ENOMEM;
	return r->data ? 0 : -1;
}

int ws_region_grow(struct ws_region *r, size_t bytes)
{
	void *data;

	if (bytes <= r->bytes)
		return 0;
	data = VirtualAlloc(r->data, bytes, MEM_COMMIT, PAGE_READWRITE);
	if (!data)
		return ENOMEM;
	r->data = data;
	r->bytes = bytes;
	return 0;
}

void ws_region_close(struct ws_region *r)
{
	if (r->data)
		VirtualFree(r->data, 0, MEM_RELEASE);
	*r = (struct ws_region){0};
}
#endif

void ws_region_write(struct ws_region *r, size_t at, const void *bytes, size_t n)
{
	memcpy((char *)r->data + at, bytes, n);
}

void ws_region_let_go(struct ws_region *r)
{
	(void)r;
}

bool ws_memory_has(size_t bytes)
{
	void *room = (uint64_t)bytes >> 40 ? NULL : malloc(bytes); /* that much nobody has */

	free(room);
	return room;
}

void ws_memory_give_back(void)
{
}

/* --- limits: none --- */

void ws_limits_begin(void (*on_time)(void))
{
	(void)on_time;
}

void ws_limits_set(uint64_t memory, uint64_t seconds)
{
	(void)memory, (void)seconds;
}

bool ws_limits_refuse(uint64_t memory, size_t bytes)
{
	(void)memory, (void)bytes;
	return false;
}

void ws_limits_end(void)
{
}

void ws_limits_open_files(void)
{
}

/* --- streams: a temporary file, given away at the end --- */

struct stream {
	struct stream *next;
	FILE *f;
	struct ws_stream_functions functions;
	void *ctx;
};

static _Thread_local struct stream *streams;

FILE *ws_stream_open(const struct ws_stream_functions *functions, void *ctx)
{
	struct stream *s = malloc(sizeof(*s));
	const int fd = s ? ws_file_unnamed(ws_temporary_folder()) : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!f) {
		if (fd >= 0)
			close(fd);
		free(s);
		return NULL;
	}
	*s = (struct stream){streams, f, *functions, ctx};
	streams = s;
	return s->f;
}

int ws_stream_close(FILE *f)
{
	struct stream **at = &streams, *s;
	char bytes[1 << 14];
	int why = ws_stream_flush(f);

	while ((*at)->f != f)
		at = &(*at)->next;
	s = *at;
	*at = s->next;
	rewind(f);
	for (size_t n; !why && (n = fread(bytes, 1, sizeof(bytes), f)) > 0;)
		if (s->functions.write(s->ctx, bytes, n) != n)
			why = errno ? errno : EIO;
	fclose(f);
	if (s->functions.close(s->ctx) && !why)
		why = errno;
	free(s);
	errno = why;
	return why ? EOF : 0;
}

/* --- the terminal, other programs --- */

int ws_processors(void)
{
#ifdef _WIN32
	return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
#else
	return 1; /* threads would share the stretches of plain_memory.c, which has no lock */
#endif
}

const char *ws_program_name(void)
{
	return "warpsheet";
}

int ws_program_path(char *path, size_t size)
{
#ifdef _WIN32
	return GetModuleFileNameA(NULL, path, (DWORD)size) ? 0 : -1;
#else
	(void)path, (void)size;
	errno = ENOSYS;
	return -1;
#endif
}

bool ws_is_terminal(FILE *f)
{
	return isatty(fileno(f));
}

int ws_terminal_width(void)
{
#ifdef _WIN32
	CONSOLE_SCREEN_BUFFER_INFO info;

	if (GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info))
		return info.srWindow.Right - info.srWindow.Left + 1;
#endif
	return 0;
}

bool ws_pager_begin(const char *command)
{
	(void)command;
	return false;
}

bool ws_pager_end(void)
{
	return true;
}

bool ws_system_records(void)
{
	return false;
}

void ws_program_become(const char *path, char *const *args)
{
	(void)path, (void)args;
	errno = ENOSYS;
}

void *ws_library_open(const char *path)
{
	(void)path;
	return NULL;
}

void *ws_library_function(void *library, const char *name)
{
	(void)library, (void)name;
	return NULL;
}

const char *ws_library_error(void)
{
	return "this program loads no libraries";
}

#ifdef _WIN32
/* --- libc.h --- */

void *memmem(const void *text, size_t n, const void *part, size_t len)
{
	const char *at = text;

	if (!len)
		return (void *)(uintptr_t)text;
	for (; n >= len; at++, n--) {
		const char *next = memchr(at, *(const char *)part, n - len + 1);

		if (!next)
			return NULL;
		n -= (size_t)(next - at);
		at = next;
		if (!memcmp(at, part, len))
			return (void *)(uintptr_t)at;
	}
	return NULL;
}

char *strcasestr(const char *text, const char *part)
{
	const size_t len = strlen(part);

	for (; *text && strncasecmp(text, part, len) != 0; text++)
		;
	return *text || !len ? (char *)(uintptr_t)text : NULL;
}

ssize_t getline(char **line, size_t *size, FILE *f)
{
	size_t n = 0;
	int c;

	while ((c = fgetc(f)) != EOF) {
		if (n + 2 > *size) {
			char *more = realloc(*line, 2 * *size + 128);

			if (!more)
				return -1;
			*line = more;
			*size = 2 * *size + 128;
		}
		(*line)[n++] = (char)c;
		(*line)[n] = '\0';
		if (c == '\n')
			break;
	}
	return n ? (ssize_t)n : -1;
}

/* --- as it begins --- */

/* Bytes as they are, UTF-8 and colours on the console. */
__attribute__((constructor)) static void begin(void)
{
	HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
	DWORD mode;

	_fmode = _O_BINARY;
	for (int fd = 0; fd < 3; fd++)
		_setmode(fd, _O_BINARY);
	SetConsoleOutputCP(CP_UTF8);
	if (GetConsoleMode(console, &mode))
		SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}
#endif
