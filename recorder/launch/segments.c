#include "recorder/launch/segments.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "formats/base/xalloc.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment_file.h"
#include "recorder/shared/segment_folder.h"

/* found(ctx, path) for each file in dir whose name begins like this. */
static void each_with_prefix(const char *dir, const char *prefix,
                             void (*found)(void *ctx, const char *path), void *ctx)
{
	struct dirent *entry;
	DIR *d = NULL;
	int fd;

	if (ws_segment_folder_open(dir, &fd, NULL) == WS_OK && !(d = ws_xopened(fdopendir(fd))))
		close(fd);

	while (d && (entry = readdir(d))) {
		char path[PATH_MAX];
		int n;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		n = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (n > 0 && (size_t)n < sizeof(path))
			found(ctx, path);
	}
	if (d)
		closedir(d);
}

/* Only the header and the commits are looked at: a folder may hold many. */
static bool is_abandoned(const char *path)
{
	struct ws_segment_file file;
	struct ws_proc launcher;
	bool result;

	if (ws_segment_file_open(&file, path, NULL) != WS_OK)
		return 0;
	launcher = ws_seg_process(&file.seg->launcher);
	/* whether a launcher in another PID namespace lives cannot be told: it is left alone */
	result = !ws_drain_is_finished(file.seg) && !ws_proc_is_elsewhere(launcher.namespace) &&
	         (atomic_load(&file.seg->attached) || ws_drain_file_size(file.seg)) &&
	         !ws_proc_alive(launcher);
	ws_segment_file_close(&file);
	return result;
}

/* ctx: the caller's function. */
static void look_at(void *ctx, const char *path)
{
	void (*const *found)(const char *path) = ctx;

	if (is_abandoned(path))
		(*found)(path);
}

void ws_segments_abandoned(const char *dir, void (*found)(const char *path))
{
	char standard[PATH_MAX];

	if (dir)
		each_with_prefix(dir, WS_SEG_PREFIX, look_at, &found);
	for (unsigned i = 0; !dir && i < WS_SEG_FOLDERS; i++)
		if (ws_segment_folder_default(i, 0, standard))
			each_with_prefix(standard, WS_SEG_PREFIX, look_at, &found);
}

void ws_segments_further(const char *first_path, void (*found)(void *ctx, const char *path),
                         void *ctx)
{
	const char *name = strrchr(first_path, '/');
	char dir[PATH_MAX] = ".", prefix[NAME_MAX + 1];

	if (name)
		snprintf(dir, sizeof(dir), "%.*s", (int)(name - first_path), first_path);
	snprintf(prefix, sizeof(prefix), "%.200s" WS_SEG_FURTHER, name ? name + 1 : first_path);
	each_with_prefix(dir, prefix, found, ctx);
}
