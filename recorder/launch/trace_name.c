#include "recorder/launch/launch.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MAX_NUMBER 100000 /* largest number in a name; more would mean another error */

struct ws_strings ws_strings_in(const char *field, size_t field_size)
{
	struct ws_strings list = {field, 0};

	for (size_t at = 0; at < field_size && field[at];) {
		const char *end = memchr(field + at, 0, field_size - at);

		if (!end)
			break;
		at = (size_t)(end - field) + 1;
		list.size = at;
	}
	return list;
}

const char *ws_strings_value(struct ws_strings list, const char *name, size_t len)
{
	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1) {
		const char *entry = list.text + at;

		if (!strncmp(entry, name, len) && entry[len] == '=')
			return entry + len + 1;
	}
	return NULL;
}

char **ws_strings_array(struct ws_strings list)
{
	size_t n = 0;

	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1)
		n++;
	char **array = ws_xarray(n + 1, sizeof(*array));
	n = 0;
	for (size_t at = 0; at < list.size; at += strlen(list.text + at) + 1)
		array[n++] = (char *)list.text + at;
	return array;
}

/* --- expansion --- */

struct name_text {
	char *text;
	size_t size, len;
	bool is_full;
};

static void put_char(struct name_text *o, char c)
{
	if (o->len + 1 < o->size)
		o->text[o->len++] = c;
	else
		o->is_full = 1;
}

/* A value becomes part of a name, never of a folder. */
static void put_value(struct name_text *o, const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put_char(o, value[i] == '/' ? '_' : value[i]);
}

/* The value of a variable; NULL if it is not set or empty. */
static const char *value_of(const char *name, const struct ws_strings *env)
{
	const char *value = env ? ws_strings_value(*env, name, strlen(name)) : getenv(name);

	return value && *value ? value : NULL;
}

enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err)
{
	struct name_text o = {out, size, 0, 0};
	const char *name = ws_path_name(pattern), *p = pattern;
	char number[16], host[HOST_NAME_MAX + 1] = "", variable[WS_OUTPUT_VARIABLE];

	while (*p) {
		const char *at = p, *end, *value;

		if (*p != '%' || p[1] == '%') {
			p += *p == '%' ? 2 : 1;
			put_char(&o, *at);
			continue;
		}
		WS_FAIL_IF(p < name, err, USAGE,
		           "%s: %%p, %%h and %%q{NAME} may stand in the file's name only", pattern);
		p += 2;
		switch (at[1]) {
		case 'p':
			snprintf(number, sizeof(number), "%u", (unsigned)vars->pid);
			put_value(&o, number, strlen(number));
			break;
		case 'h':
			if (gethostname(host, sizeof(host)) || !*host)
				snprintf(host, sizeof(host), "unknown");
			host[sizeof(host) - 1] = 0;
			put_value(&o, host, strcspn(host, "."));
			break;
		case 'q':
			end = *p == '{' ? strchr(p, '}') : NULL;
			if (!end || end == p + 1 || end - p > (ptrdiff_t)sizeof(variable)) {
				p = NULL;
				break;
			}
			snprintf(variable, sizeof(variable), "%.*s", (int)(end - p - 1), p + 1);
			value = value_of(variable, vars->env);
			if (!value && vars->unset && !*vars->unset)
				memcpy(vars->unset, variable, sizeof(variable));
			value = value ? value : "unset";
			put_value(&o, value, strlen(value));
			p = end + 1;
			break;
		default:
			p = NULL;
		}
		WS_FAIL_IF(!p, err, USAGE,
		           "%s: a percent sign stands before p, h, q{NAME} or another percent sign",
		           pattern);
	}
	out[o.len] = 0;
	WS_FAIL_IF(o.is_full, err, USAGE, "the path %s is too long", pattern);
	return WS_OK;
}

int ws_output_escape(const char *path, char *out, size_t size)
{
	struct name_text o = {out, size, 0, 0};

	for (; *path; path++) {
		put_char(&o, *path);
		if (*path == '%')
			put_char(&o, '%');
	}
	out[o.len] = 0;
	return o.is_full ? -1 : 0;
}

/* --- unique names --- */

/* Position at which numbers are inserted: before the last extension, or at the end. */
static size_t stem_length(const char *path)
{
	const char *name = ws_path_name(path), *dot = strrchr(name, '.');

	return dot && dot != name ? (size_t)(dot - path) : strlen(path);
}

enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err)
{
	size_t stem = stem_length(path);
	char first[PATH_MAX], suffix[16] = "";

	if (!taken(ctx, path))
		return WS_OK;
	snprintf(first, sizeof(first), "%s", path);
	if (pid)
		snprintf(suffix, sizeof(suffix), ".%u", (unsigned)pid);
	for (int i = pid ? 1 : 2; i < MAX_NUMBER; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		int n = snprintf(path, size, "%.*s%s%s%s", (int)stem, first, suffix, number,
		                 first + stem);
		WS_FAIL_IF(n < 0 || (size_t)n >= size, err, USAGE, "the path %s is too long",
		           first);
		if (!taken(ctx, path))
			return WS_OK;
	}
	return WS_FAIL(err, USAGE, "no name is left for %s; give one with -o", first);
}

/* Variables that launchers set for each rank: its number, and the number of ranks. */
static const char *const rank_variables[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
        /* a batch script has SLURM_PROCID too, but is not a job step */
        {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
        {"RANK", "WORLD_SIZE"},
};

enum ws_status ws_output_add_rank(char *pattern, size_t size, struct ws_err *err)
{
	const size_t stem = stem_length(pattern),
	             n = sizeof(rank_variables) / sizeof(*rank_variables);
	char plain[PATH_MAX];
	struct stat st;

	for (const char *p = pattern; (p = strchr(p, '%')); p += 2)
		if (p[1] != '%')
			return WS_OK;
	snprintf(plain, sizeof(plain), "%s", pattern);
	for (size_t i = 0; i < n; i++) {
		const char *rank = value_of(rank_variables[i][0], NULL),
		           *ranks = value_of(rank_variables[i][1], NULL);

		if (!rank || !ranks || strtol(ranks, NULL, 10) < 2 ||
		    rank[strspn(rank, "0123456789")])
			continue;
		if (!stat(plain, &st) && !S_ISREG(st.st_mode))
			return WS_OK;
		int len = snprintf(pattern, size, "%.*s.rank%s%s", (int)stem, plain, rank,
		                   plain + stem);
		WS_FAIL_IF(len < 0 || (size_t)len >= size, err, USAGE, "the path %s is too long",
		           plain);
		return WS_OK;
	}
	return WS_OK;
}

/* Whether ws_output_choose() can have made this name from this path and pid. */
static bool could_choose(const char *path, uint32_t pid, const char *choice)
{
	size_t stem = stem_length(path);
	char suffix[16];

	if (strncmp(choice, path, stem) != 0)
		return 0;
	choice += stem;
	snprintf(suffix, sizeof(suffix), ".%u", (unsigned)pid);
	if (!strncmp(choice, suffix, strlen(suffix)))
		choice += strlen(suffix);
	if (*choice == '-')
		choice += 1 + strspn(choice + 1, "0123456789");
	return !strcmp(choice, path + stem);
}

/* --- names from a segment --- */

bool ws_trace_path_exists(int folder, const char *path)
{
	return !faccessat(folder, ws_path_name(path), F_OK, AT_SYMLINK_NOFOLLOW);
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
                                   uint32_t pid, char out[PATH_MAX], char *unset,
                                   struct ws_err *err)
{
	char copy[WS_MAX_ENVIRONMENT];
	const struct ws_strings env = ws_trace_path_environment(seg, copy);
	/* of a process that did not attach only what it had from us is known */
	const struct ws_output_vars vars = {pid, atomic_load(&seg->attached) ? &env : NULL, unset};

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

	WS_FORWARD(ws_trace_path_plain(file->seg, pattern, pid, plain, NULL, err));
	return part_of(file, plain, out, err);
}

enum ws_status ws_trace_path_left_at(const struct ws_segment_file *file, int folder,
                                     const char *pattern, uint32_t pid, char out[PATH_MAX],
                                     struct ws_err *err)
{
	char trace[sizeof(file->seg->trace_path)], plain[PATH_MAX];

	WS_FORWARD(path_told(file, folder, trace, err));
	WS_FORWARD(ws_trace_path_plain(file->seg, pattern, pid, plain, NULL, err));
	WS_FORWARD(part_of(file, plain, out, err));
	if (!strcmp(trace, out))
		return WS_OK;
	WS_FAIL_IF(!could_choose(plain, pid, trace), err, CORRUPT,
	           "%s cannot be salvaged: this recording gives no trace the name %s", file->path,
	           trace);
	memcpy(out, trace, strlen(trace) + 1);
	return WS_OK;
}

enum ws_status ws_trace_path_first_left_at(const struct ws_segment_file *file, int folder,
                                           const char *pattern, char out[PATH_MAX],
                                           struct ws_err *err)
{
	const struct ws_seg_header *seg = file->seg;
	const uint32_t pid = atomic_load(&seg->attached) ? atomic_load(&seg->owner.pid)
	                                                 : atomic_load(&seg->started.pid);
	const char *name = strrchr(file->path, '/') + 1;
	char part[PATH_MAX], plain[PATH_MAX];

	WS_FORWARD(path_told(file, folder, out, err));
	/* As first_path() and open_session() made it, by the launcher's pid in the segment's own
	 * name. */
	if (!strncmp(name, WS_SEG_PREFIX, strlen(WS_SEG_PREFIX)))
		name += strlen(WS_SEG_PREFIX);
	WS_FORWARD(ws_output_expand(pattern,
	                            &(struct ws_output_vars){(uint32_t)strtoul(name, NULL, 10),
	                                                     NULL, NULL},
	                            plain, PATH_MAX, err));
	int n = snprintf(part, PATH_MAX, "%s.%s.part", plain, name);
	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", plain);
	WS_FORWARD(ws_trace_path_plain(seg, pattern, pid, plain, NULL, err));
	WS_FAIL_IF(strcmp(out, part) != 0 && !could_choose(plain, pid, out), err, CORRUPT,
	           "%s cannot be salvaged: this recording gives no trace the name %s; give the "
	           "trace's name with -o",
	           file->path, out);
	return WS_OK;
}
