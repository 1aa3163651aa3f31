/* Segments in the folders for them, found by name. */
#include <dirent.h>

#include "recorder/launch/launch.h"

void ws_segments_with_prefix(const char *dir, const char *prefix,
                             void (*found)(void *ctx, const char *path), void *ctx)
{
	struct dirent *entry;
	DIR *d = NULL;
	int fd;

	if (ws_segment_folder_open(dir, &fd, NULL) == WS_OK && !(d = ws_xopened(fdopendir(fd))))
		close(fd);

	while (d && (entry = readdir(d))) {
		char path[PATH_MAX];

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		int n = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (n > 0 && (size_t)n < sizeof(path))
			found(ctx, path);
	}
	if (d)
		closedir(d);
}

static void tell_abandoned(void *unused, const char *path)
{
	const char *further = strstr(path, WS_SEG_FURTHER);
	struct ws_segment_file file;
	struct ws_proc launcher;
	char first[PATH_MAX];

	(void)unused;
	/* salvaging the first segment of a recording salvages the others */
	snprintf(first, sizeof(first), "%.*s", further ? (int)(further - path) : 0, path);
	if (further && !access(first, F_OK))
		return;
	/* Only header and commits are read, as a folder may have many segments. */
	if (ws_segment_file_open(&file, path, NULL) != WS_OK)
		return;
	launcher = ws_seg_process(&file.seg->launcher);
	/* a launcher in another PID namespace may still run: leave its segment alone */
	if (!ws_drain_is_finished(file.seg) && !ws_proc_is_elsewhere(launcher.namespace) &&
	    (atomic_load(&file.seg->attached) || ws_drain_file_size(file.seg)) &&
	    !ws_proc_alive(launcher))
		ws_record_notice("a killed recorder left %s; finish its trace: warpsheet-record "
		                 "--salvage %s",
		                 path, path);
	ws_segment_file_close(&file);
}

void ws_segments_each(const char *dir, void (*found)(void *ctx, const char *path), void *ctx)
{
	char standard[PATH_MAX];

	if (dir)
		ws_segments_with_prefix(dir, WS_SEG_PREFIX, found, ctx);
	for (unsigned i = 0; !dir && i < WS_SEG_FOLDERS; i++)
		if (ws_segment_folder_default(i, 0, standard))
			ws_segments_with_prefix(standard, WS_SEG_PREFIX, found, ctx);
}

void ws_segments_tell_abandoned(const char *dir)
{
	ws_segments_each(dir, tell_abandoned, NULL);
}
