#include "report/commands/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "formats/import/import.h"
#include "report/base/ui.h"

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

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Does a name go on like this: is it this beginning and one of the endings of other profilers? */
static bool is_same_run(const char *name, const char *stem, size_t len)
{
	static const char *const endings[] = {STATE_ENDING,        ".json",
	                                      ".json.gz",          ".pt.trace.json",
	                                      ".pt.trace.json.gz", ".sqlite"};

	if (strncmp(name, stem, len) != 0)
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcmp(name + len, endings[i]))
			return true;
	return false;
}

/* Has this a trace of its name beside it? Then the trace stands for both. */
static bool has_trace(const char *name, struct dirent *const *entries, int n)
{
	for (int i = 0; i < n; i++)
		if (ends_with(entries[i]->d_name, TRACE_ENDING) &&
		    is_same_run(name, entries[i]->d_name,
		                strlen(entries[i]->d_name) - strlen(TRACE_ENDING)))
			return true;
	return false;
}

/* A file of another profiler, by its content. One that only its tool can read is told. */
static bool is_foreign(const char *path)
{
	const struct ws_importer *importer;
	struct stat st;

	/* reports lie beside traces */
	if (ends_with(path, ".html") || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    ws_import_find(path, &importer, NULL) != WS_OK)
		return false;
	if (!importer && ws_import_cure(path))
		ws_ui_print("warning: '%s' is left out: %s", path, ws_import_cure(path));
	return importer != NULL;
}

static bool is_wanted(const char *path, const char *name, bool runs)
{
	return ends_with(name, TRACE_ENDING) || (runs && ends_with(name, STATE_ENDING)) ||
	       is_foreign(path);
}

static enum ws_status add_folder(struct ws_trace_list *list, const char *folder, bool runs,
                                 struct ws_err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_visible, alphasort), added = 0;

	WS_FAIL_IF(n < 0, err, IO_READ, "cannot read the folder '%s': %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *path = ws_xformat("%s/%s", folder, name);

		if (!has_trace(name, entries, n) && is_wanted(path, name, runs)) {
			add(list, path);
			added++;
		} else {
			free(path);
		}
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	WS_FAIL_IF(!added, err, USAGE,
	           "the folder '%s' holds no trace: neither *" TRACE_ENDING
	           " nor a file that 'warpsheet import' reads",
	           folder);
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

enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names, bool runs,
                                 struct ws_err *err)
{
	for (int i = 0; i < n; i++) {
		/* what is no folder is for whoever opens it to complain about */
		if (is_folder(names[i]))
			WS_FORWARD(add_folder(list, names[i], runs, err));
		else
			add(list, ws_xstrdup(names[i]));
	}
	return WS_OK;
}
