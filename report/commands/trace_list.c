#include "report/commands/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TRACE_ENDING ".wtrace"

void ws_trace_list_release(struct ws_trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->path[i]);
	free(list->path);
	*list = (struct ws_trace_list){0};
}

/* Takes path over; NULL is memory that was not there. */
static enum ws_status add(struct ws_trace_list *list, char *path, struct ws_err *err)
{
	if (path && list->n == list->allocated) {
		size_t want = list->allocated * 2 + 16;
		char **grown = reallocarray(list->path, want, sizeof(*grown));

		if (grown) {
			list->path = grown;
			list->allocated = want;
		}
	}
	if (!path || list->n == list->allocated) {
		free(path);
		return WS_FAIL(err, NO_MEMORY, "out of memory");
	}
	list->path[list->n++] = path;
	return WS_OK;
}

static int is_trace(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), ending = strlen(TRACE_ENDING);

	return len > ending && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + len - ending, TRACE_ENDING);
}

static enum ws_status add_folder(struct ws_trace_list *list, const char *folder,
                                 struct ws_err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_trace, alphasort);
	enum ws_status rc = WS_OK;

	WS_FAIL_IF(n < 0, err, IO_READ, "cannot read the folder '%s': %s", folder, strerror(errno));
	if (!n)
		rc = WS_FAIL(err, USAGE, "the folder '%s' holds no trace (*" TRACE_ENDING ")", folder);
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (rc == WS_OK && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			path = NULL;
		if (rc == WS_OK)
			rc = add(list, path, err);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names,
                                 struct ws_err *err)
{
	for (int i = 0; i < n; i++) {
		struct stat st;

		/* what is no folder is for whoever opens it to complain about */
		if (stat(names[i], &st) == 0 && S_ISDIR(st.st_mode))
			WS_FORWARD(add_folder(list, names[i], err));
		else
			WS_FORWARD(add(list, strdup(names[i]), err));
	}
	return WS_OK;
}
