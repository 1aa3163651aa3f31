#include "report/commands/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

#define TRACE_ENDING ".wtrace"

void ws_trace_list_release(struct ws_trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->path[i]);
	free(list->path);
	*list = (struct ws_trace_list){0};
}

/* Takes path over. */
static void add(struct ws_trace_list *list, char *path)
{
	WS_GROW(list->path, list->n + 1, list->capacity);
	list->path[list->n++] = path;
}

#define STATE_ENDING ".status"

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), n = strlen(ending);

	return len > n && name[0] != '.' && !strcmp(name + len - n, ending);
}

static int is_trace(const struct dirent *entry)
{
	return ends_with(entry->d_name, TRACE_ENDING);
}

static int is_run(const struct dirent *entry)
{
	return is_trace(entry) || ends_with(entry->d_name, STATE_ENDING);
}

/* Has this state a trace beside it? Then the trace stands for both. */
static bool has_trace(const char *folder, const char *name)
{
	char *path;
	int there;

	if (!ends_with(name, STATE_ENDING))
		return false;
	path = ws_xformat("%s/%.*s" TRACE_ENDING, folder,
	                  (int)(strlen(name) - strlen(STATE_ENDING)), name);
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

static enum ws_status add_folder(struct ws_trace_list *list, const char *folder,
                                 int (*wanted)(const struct dirent *), struct ws_err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, wanted, alphasort);

	WS_FAIL_IF(n < 0, err, IO_READ, "cannot read the folder '%s': %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!has_trace(folder, entries[i]->d_name))
			add(list, ws_xformat("%s/%s", folder, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	WS_FAIL_IF(!n, err, USAGE, "the folder '%s' holds no trace (*" TRACE_ENDING ")", folder);
	return WS_OK;
}

static bool is_folder(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

bool ws_trace_list_is_many(int n, char *const *names)
{
	return n > 1 || is_folder(names[0]);
}

static enum ws_status add_all(struct ws_trace_list *list, int n, char *const *names,
                              int (*wanted)(const struct dirent *), struct ws_err *err)
{
	for (int i = 0; i < n; i++) {
		/* what is no folder is for whoever opens it to complain about */
		if (is_folder(names[i]))
			WS_FORWARD(add_folder(list, names[i], wanted, err));
		else
			add(list, ws_xstrdup(names[i]));
	}
	return WS_OK;
}

enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names,
                                 struct ws_err *err)
{
	return add_all(list, n, names, is_trace, err);
}

enum ws_status ws_trace_list_add_runs(struct ws_trace_list *list, int n, char *const *names,
                                      struct ws_err *err)
{
	return add_all(list, n, names, is_run, err);
}
