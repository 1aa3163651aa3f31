#include <unistd.h>

#include "report/commands/command.h"

#define TRACE_ENDING ".wtrace"

void ws_trace_list_release(struct ws_trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->path[i]);
	free(list->path);
	*list = (struct ws_trace_list){0};
}

/* Takes path over. */
static void add_path(struct ws_trace_list *list, char *path)
{
	WS_GROW(list->path, list->n + 1, list->capacity);
	list->path[list->n++] = path;
}

#define STATE_ENDING ".status"
/* Bytes of a state that are read. */
#define MOST_STATUS_BYTES 65536

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), n = strlen(ending);

	return len > n && name[0] != '.' && !strcmp(name + len - n, ending);
}

#define XPLANE_ENDING   ".xplane.pb"
#define XLA_JSON_ENDING ".trace.json.gz"
#define XLA_PERFETTO    "perfetto_trace.json.gz" /* JAX's second copy of the JSON file */

/* Does a name consist of this stem and an extension of another profiler? */
static bool is_same_run(const char *name, const char *stem, size_t len)
{
	static const char *const endings[] = {STATE_ENDING,        ".json",
	                                      ".json.gz",          ".pt.trace.json",
	                                      ".pt.trace.json.gz", ".sqlite",
	                                      XPLANE_ENDING,       XLA_JSON_ENDING};

	if (strncmp(name, stem, len) != 0)
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcmp(name + len, endings[i]))
			return true;
	return false;
}

/* Is it a file of another profiler, by content? Prints a message about files that only its tool can
 * read. */
static bool is_foreign(const char *path)
{
	const struct ws_importer *importer;
	struct ws_file_info file;
	const char *cure;

	/* reports may lie beside traces */
	if (ends_with(path, ".html") || ws_file_look(WS_HERE, path, true, &file) ||
	    file.type != WS_FILE_REGULAR || ws_import_find(path, &importer, &cure, NULL) != WS_OK)
		return false;
	if (!importer && cure)
		ws_ui_print("warning: '%s' is left out: %s", path, cure);
	return importer != NULL;
}

/* Does the file beside it hold the same run, and say more? A trace does, and of the files that one
 * profiler of XLA writes the protobuf file. */
static bool is_replaced_by(const char *name, const char *folder, const char *other)
{
	const bool is_json = ends_with(name, XLA_JSON_ENDING),
	           is_perfetto = !strcmp(name, XLA_PERFETTO);
	const size_t stem = strlen(other) - strlen(XPLANE_ENDING);

	if (ends_with(other, TRACE_ENDING))
		return is_same_run(name, other, strlen(other) - strlen(TRACE_ENDING));
	if (is_perfetto && ends_with(other, XLA_JSON_ENDING))
		return true;
	if (!ends_with(other, XPLANE_ENDING) ||
	    !(is_perfetto ||
	      (is_json && !strncmp(name, other, stem) && !strcmp(name + stem, XLA_JSON_ENDING))))
		return false;
	char *path = ws_xformat("%s/%s", folder, other); /* some builds cannot read it */
	bool is_better = is_foreign(path);
	free(path);
	return is_better;
}

static bool is_wanted(const char *path, const char *name, bool runs)
{
	return ends_with(name, TRACE_ENDING) || (runs && ends_with(name, STATE_ENDING)) ||
	       is_foreign(path);
}

static bool is_folder(const char *name)
{
	struct ws_file_info file;

	return !ws_file_look(WS_HERE, name, true, &file) && file.type == WS_FILE_FOLDER;
}

bool ws_trace_list_is_many(int n, char *const *names)
{
	return n > 1 || is_folder(names[0]);
}

enum ws_status ws_trace_list_add(struct ws_trace_list *list, int n, char *const *names, bool runs,
                                 struct ws_err *err)
{
	for (int i = 0; i < n; i++) {
		/* errors of other files are reported when they are opened */
		if (is_folder(names[i])) {
			const char *folder = names[i];
			const int handle = ws_folder_open(WS_HERE, folder, true);
			char **entries;
			int nentries = handle < 0 ? -1 : ws_folder_names(handle, &entries),
			    added = 0;

			WS_FAIL_IF(nentries < 0, err, IO_READ, "cannot read the folder '%s': %s",
			           folder, strerror(errno));
			ws_folder_close(handle);
			for (int k = 0; k < nentries; k++) {
				const char *entry = entries[k];
				char *path = ws_xformat("%s/%s", folder, entry);
				bool is_left_out = entry[0] == '.';

				for (int o = 0; o < nentries && !is_left_out; o++)
					is_left_out = strcmp(entry, entries[o]) != 0 &&
					              is_replaced_by(entry, folder, entries[o]);
				if (!is_left_out && is_wanted(path, entry, runs)) {
					add_path(list, path);
					added++;
				} else {
					free(path);
				}
			}
			for (int k = 0; k < nentries; k++)
				free(entries[k]);
			free(entries);
			WS_FAIL_IF(!added, err, USAGE,
			           "the folder '%s' holds no trace: neither *" TRACE_ENDING
			           " nor a file that 'warpsheet import' reads",
			           folder);
		} else {
			add_path(list, ws_xstrdup(names[i]));
		}
	}
	return WS_OK;
}

/* --- trace open --- */

void ws_progress_show(void *path, uint64_t done, uint64_t total)
{
	ws_ui_progress(path, done, total);
}

struct ws_import_opts ws_import_opts_watched(const char *path)
{
	return (struct ws_import_opts){.progress = ws_progress_show, .progress_ctx = (void *)path};
}

void ws_import_print_damage(const struct ws_import_stats *s)
{
	for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
		if (s->losses[i].count)
			ws_ui_print("warning: lost %s: %" PRIu64, s->losses[i].reason,
			            s->losses[i].count);
	for (size_t i = 0; i < s->nwarnings; i++)
		ws_ui_print("warning: %s", s->warnings[i]);
	if (s->warnings_more)
		ws_ui_print("warning: and %" PRIu64 " more", s->warnings_more);
}

bool ws_trace_is_foreign(const char *path)
{
	const struct ws_importer *importer;
	const char *cure;

	return ws_import_find(path, &importer, &cure, NULL) == WS_OK && importer;
}

static enum ws_status import(struct ws_trace_file *f, struct ws_err *err)
{
	const struct ws_import_opts opts = ws_import_opts_watched(f->name);
	int fd;

	f->stats = ws_xarray(1, sizeof(*f->stats));
	enum ws_status status = ws_import_unnamed(f->name, &opts, &fd, f->stats, err);
	ws_ui_progress_end();
	WS_FORWARD(status);
	ws_ui_print("reading '%s' as %s. Run 'warpsheet import' once to skip this next time",
	            f->name, f->stats->source);
	ws_import_print_damage(f->stats);
	status = ws_trace_reader_open_file(&f->reader, fd, f->name, err);
	WS_THEN(status, ws_trace_reader_made_of(f->reader, f->name, err));
	close(fd);
	return status;
}

enum ws_status ws_trace_file_open(struct ws_trace_file *f, const char *name, struct ws_err *err)
{
	*f = (struct ws_trace_file){.name = name};
	if (ws_trace_is_foreign(name))
		return import(f, err);
	enum ws_status status = ws_trace_reader_open(&f->reader, name, err);
	const char *other = status == WS_CORRUPT ? ws_import_cure(name) : NULL;
	if (status == WS_CORRUPT && !other && !ends_with(name, TRACE_ENDING))
		other = "it is not a trace. Warpsheet reads .wtrace, profiles of PyTorch (.json, "
		        ".json.gz) and JAX (.trace.json.gz, .xplane.pb), and exports of Nsight "
		        "Systems (.sqlite)";
	return other ? WS_FAIL(err, CORRUPT, "%s: %s", name, other) : status;
}

void ws_trace_file_close(struct ws_trace_file *f)
{
	ws_trace_reader_free(f->reader);
	free(f->auto_step);
	free(f->stats);
	*f = (struct ws_trace_file){0};
}

enum ws_status ws_trace_file_opts(struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_model_opts *out, struct ws_err *err)
{
	struct ws_joined_rows rows = {0};
	struct ws_step_candidates found;
	struct ws_arena arena = {0};
	struct ws_model *m = NULL;

	*out = opts ? *opts : (struct ws_model_opts){0};
	if (!out->step || strcmp(out->step, "auto") != 0)
		return WS_OK;
	out->step = NULL;
	enum ws_status status = ws_joined_rows_read(&rows, f->reader, f->name, out, &m, err);
	if (status == WS_OK && !m->nmeasured) {
		ws_step_candidates_find(m, &rows, &arena, &found);
		if (found.n) {
			free(f->auto_step);
			f->auto_step = ws_xstrdup(found.best[0].pattern);
			out->step = f->auto_step;
			out->step_is_auto = true;
		} else {
			status = WS_FAIL(
			        err, USAGE,
			        "--step auto: no range of '%s' repeats; --table ranges lists all",
			        f->name);
		}
	}
	ws_arena_free(&arena);
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return status;
}

enum ws_status ws_trace_file_rows(struct ws_joined_rows *rows, struct ws_model **m,
                                  struct ws_trace_file *f, const struct ws_model_opts *opts,
                                  struct ws_err *err)
{
	struct ws_model_opts of_file;

	*m = NULL;
	WS_FORWARD(ws_trace_file_opts(f, opts, &of_file, err));
	return ws_joined_rows_read(rows, f->reader, f->name, &of_file, m, err);
}

void ws_trace_file_print_damage(const struct ws_trace_file *f)
{
	const struct ws_trace_summary *s = ws_trace_reader_summary(f->reader);

	if (s->damaged_blocks || s->skipped_bytes)
		ws_ui_print("warning: '%s' is damaged: %llu bytes are lost; 'warpsheet check' says "
		            "where",
		            f->name, (unsigned long long)s->skipped_bytes);
	else if (!s->closed)
		ws_ui_print(
		        "note: '%s' was not closed: its recorder was killed, or is still running; "
		        "all that it wrote is here",
		        f->name);
}

/* --- sides read --- */

/* A trace that is read. */
struct reading {
	struct ws_trace_file file;
	struct ws_joined_rows rows;
	struct ws_model *m;
	const struct ws_model_opts *opts;
	ws_trace_fn fn;
	void *ctx;
	size_t i;
	enum ws_status status;
	struct ws_err err;
	struct ws_task task;
};

static void read_rows(void *ctx)
{
	struct reading *r = ctx;

	r->status = ws_trace_file_rows(&r->rows, &r->m, &r->file, r->opts, &r->err);
}

static enum ws_status end(struct reading *r, bool is_wanted, struct ws_err *err)
{
	ws_task_end(&r->task);
	if (r->status != WS_OK && err)
		*err = r->err;
	else if (r->file.auto_step)
		ws_ui_print("Steps of '%s': ranges '%s' (--step auto).", r->file.name,
		            r->file.auto_step);
	if (is_wanted && r->status == WS_OK)
		r->fn(r->ctx, r->i, r->m, &r->rows);
	ws_joined_rows_free(&r->rows);
	ws_model_free(r->m);
	ws_trace_file_close(&r->file);
	return r->status;
}

/* The next trace is read on a second thread, but not after one that cannot be opened, whose error
 * must be reported first. */
enum ws_status ws_traces_read(const struct ws_trace_list *list, const struct ws_model_opts *opts,
                              ws_trace_fn fn, ws_trace_failed_fn failed, void *ctx,
                              struct ws_err *err)
{
	struct reading *two = ws_xarray(2, sizeof(*two));
	size_t begun = 0, nfailed = 0;
	enum ws_status status = WS_OK, first = WS_OK;
	struct ws_err why, of_first;
	bool opened = true;

	ws_memory_give_back();
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		if (list->n > 1)
			ws_ui_progress("traces", i, list->n);
		for (; begun < list->n && begun < i + 2 && opened; begun++) {
			struct reading *r = &two[begun % 2];

			*r = (struct reading){.opts = opts, .fn = fn, .ctx = ctx, .i = begun};
			r->status = ws_trace_file_open(&r->file, list->path[begun], &r->err);
			opened = r->status == WS_OK;
			if (opened) { /* messages come in the order of files */
				ws_trace_file_print_damage(&r->file);
				ws_task_begin(&r->task, read_rows, r);
			}
		}
		status = end(&two[i % 2], true, &why);
		ws_ui_progress_end();
		if (failed && ws_is_of_file(status)) {
			if (!nfailed++) {
				first = status;
				of_first = why;
			}
			failed(ctx, i, why.text);
			status = WS_OK;
			opened = true;
		}
		if (status != WS_OK && begun > i + 1)
			end(&two[(i + 1) % 2], false, NULL);
	}
	free(two);
	if (status != WS_OK && err)
		*err = why;
	if (status == WS_OK && nfailed && nfailed == list->n) {
		status = first;
		if (err)
			*err = of_first;
	}
	return status;
}

struct for_sides {
	struct ws_sides *sides;
	size_t na; /* the first traces are of side 0 */
	bool are_shown;
};

static void add_to_side(void *ctx, size_t i, const struct ws_model *m, struct ws_joined_rows *rows)
{
	const struct for_sides *to = ctx;

	ws_sides_add(to->sides, i >= to->na, m, rows, to->are_shown);
}

enum ws_status ws_sides_read(struct ws_sides *sides, const struct ws_trace_list *a,
                             const struct ws_trace_list *b, const struct ws_model_opts *opts,
                             bool are_shown, struct ws_err *err)
{
	struct ws_trace_list both = {.n = a->n + (b ? b->n : 0)};
	struct for_sides to = {sides, a->n, are_shown};

	both.path = ws_xarray(both.n + 1, sizeof(*both.path));
	memcpy(both.path, a->path, a->n * sizeof(*a->path));
	if (b)
		memcpy(both.path + a->n, b->path, b->n * sizeof(*b->path));
	enum ws_status status = ws_traces_read(&both, opts, add_to_side, NULL, &to, err);
	free(both.path);
	return status;
}

/* --- states of runs --- */

void ws_run_status_read(const char *path, char **text, const char **reason)
{
	static const char result[] = "result=";
	FILE *f = fopen(path, "rb");

	*reason = NULL;
	*text = ws_xarray(1, MOST_STATUS_BYTES);
	if (!f)
		return;
	size_t n = fread(*text, 1, MOST_STATUS_BYTES - 1, f);
	(*text)[n] = '\0';
	fclose(f);
	if (!strncmp(*text, result, sizeof(result) - 1) && strncmp(*text + 7, "ok\n", 3) != 0)
		*reason = ws_xstrndup(*text + 7, strcspn(*text + 7, "\n"));
}
