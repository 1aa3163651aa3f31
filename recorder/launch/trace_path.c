#include "recorder/launch/trace_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/launch/output_name.h"

const char *ws_trace_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool ws_trace_path_exists(int folder, const char *path)
{
	return !faccessat(folder, ws_trace_path_name(path), F_OK, AT_SYMLINK_NOFOLLOW);
}

/* A copy of a path in the segment; empty when it has no end. */
static void take_path(const char in[PATH_MAX], char out[PATH_MAX])
{
	memcpy(out, in, PATH_MAX);
	if (!memchr(out, 0, PATH_MAX))
		out[0] = 0;
}

/* Where the launcher before this one left the trace, also when it was killed over a rename. */
static enum ws_status path_told(const struct ws_segment_file *file, int folder, char out[PATH_MAX],
                                struct ws_err *err)
{
	char renamed[PATH_MAX];

	take_path(file->seg->trace_path, out);
	take_path(file->seg->renamed_path, renamed);
	WS_FAIL_IF(!out[0], err, CORRUPT,
	           "%s cannot be salvaged: it names no trace; give the trace's name with -o",
	           file->path);
	if (renamed[0] && !ws_trace_path_exists(folder, out) &&
	    ws_trace_path_exists(folder, renamed))
		memcpy(out, renamed, PATH_MAX);
	return WS_OK;
}

struct ws_strings ws_trace_path_environment(const struct ws_seg_header *seg,
                                            char copy[WS_MAX_ENVIRONMENT])
{
	memcpy(copy, seg->control.environment, WS_MAX_ENVIRONMENT);
	return ws_strings_in(copy, WS_MAX_ENVIRONMENT);
}

enum ws_status ws_trace_path_plain(const struct ws_seg_header *seg, const char *pattern,
                                   uint32_t pid, char out[PATH_MAX], struct ws_err *err)
{
	char copy[WS_MAX_ENVIRONMENT];
	const struct ws_strings env = ws_trace_path_environment(seg, copy);
	/* of a process that did not attach only what it had from us is known */
	const struct ws_output_vars vars = {pid, atomic_load(&seg->attached) ? &env : NULL};

	return ws_output_expand(pattern, &vars, out, PATH_MAX, err);
}

static enum ws_status part_of(const struct ws_segment_file *file, const char *plain,
                              char out[PATH_MAX], struct ws_err *err)
{
	int n = snprintf(out, PATH_MAX, "%.*s/%s.part", (int)(strrchr(plain, '/') - plain), plain,
	                 strrchr(file->path, '/') + 1);

	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", plain);
	return WS_OK;
}

enum ws_status ws_trace_path_part(const struct ws_segment_file *file, const char *pattern,
                                  uint32_t pid, char out[PATH_MAX], struct ws_err *err)
{
	char plain[PATH_MAX];

	WS_FORWARD(ws_trace_path_plain(file->seg, pattern, pid, plain, err));
	return part_of(file, plain, out, err);
}

enum ws_status ws_trace_path_left_at(const struct ws_segment_file *file, int folder,
                                     const char *pattern, uint32_t pid, char out[PATH_MAX],
                                     struct ws_err *err)
{
	char trace[sizeof(file->seg->trace_path)], plain[PATH_MAX];

	WS_FORWARD(path_told(file, folder, trace, err));
	WS_FORWARD(ws_trace_path_plain(file->seg, pattern, pid, plain, err));
	WS_FORWARD(part_of(file, plain, out, err));
	if (!strcmp(trace, out))
		return WS_OK;
	WS_FAIL_IF(!ws_output_could_choose(plain, pid, trace), err, CORRUPT,
	           "%s cannot be salvaged: this recording gives no trace the name %s", file->path,
	           trace);
	memcpy(out, trace, strlen(trace) + 1);
	return WS_OK;
}

/* As first_path() and open_session() made it, by the launcher's pid in the segment's own name. */
static enum ws_status first_part(const struct ws_segment_file *file, const char *pattern,
                                 char out[PATH_MAX], struct ws_err *err)
{
	const char *name = strrchr(file->path, '/') + 1;
	char plain[PATH_MAX];
	int n;

	if (!strncmp(name, WS_SEG_PREFIX, strlen(WS_SEG_PREFIX)))
		name += strlen(WS_SEG_PREFIX);
	WS_FORWARD(
	        ws_output_expand(pattern,
	                         &(struct ws_output_vars){(uint32_t)strtoul(name, NULL, 10), NULL},
	                         plain, PATH_MAX, err));
	n = snprintf(out, PATH_MAX, "%s.%s.part", plain, name);
	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", plain);
	return WS_OK;
}

enum ws_status ws_trace_path_first_left_at(const struct ws_segment_file *file, int folder,
                                           const char *pattern, char out[PATH_MAX],
                                           struct ws_err *err)
{
	const struct ws_seg_header *seg = file->seg;
	const uint32_t pid = atomic_load(&seg->attached) ? atomic_load(&seg->owner.pid)
	                                                 : atomic_load(&seg->started.pid);
	char part[PATH_MAX], plain[PATH_MAX];

	WS_FORWARD(path_told(file, folder, out, err));
	WS_FORWARD(first_part(file, pattern, part, err));
	WS_FORWARD(ws_trace_path_plain(seg, pattern, pid, plain, err));
	WS_FAIL_IF(strcmp(out, part) != 0 && !ws_output_could_choose(plain, pid, out), err, CORRUPT,
	           "%s cannot be salvaged: this recording gives no trace the name %s; give the "
	           "trace's name with -o",
	           file->path, out);
	return WS_OK;
}
