#include "formats/base/outfile.h"
#include "report/commands/command.h"
#include "report/tables/tables.h"
#include "report/writers/comment.h"

struct gate_opts {
	struct ws_destination to;
	struct ws_diff_opts diff;
	struct ws_model_opts model;
	const char *baseline, *accept, *workload, *today;
	bool update, github;
};

/* Runs of one workload on one device. */
struct gate_case {
	struct ws_gate_key key;
	struct ws_sides *sides; /* the runs are side 1 */
	char **path;            /* path of each run, borrowed */
	size_t nruns, paths_capacity;
	size_t ncopies; /* number of given traces that are copies of a run */
	struct ws_trace_list baseline;
	struct ws_report *report; /* NULL: there is no baseline */
	struct ws_diff_result result;
	struct ws_gate_judgement judgement;
};

struct gate {
	struct gate_opts o;
	struct gate_case *cases;
	size_t ncases, capacity;
	struct ws_gate_accepted *accepted;
	size_t naccepted, accepted_capacity;
};

/* --- input ------------------------------------------------------------------------ */

struct of_runs {
	struct gate *g;
	const struct ws_trace_list *list;
};

static void add_run(void *ctx, size_t i, const struct ws_model *m, struct ws_joined_rows *rows)
{
	const struct of_runs *of = ctx;
	struct gate *g = of->g;
	char *path = of->list->path[i];
	struct ws_gate_key key;
	size_t at = 0;

	ws_gate_key_of(m, path, g->o.workload, &key);
	while (at < g->ncases && (strcmp(g->cases[at].key.workload, key.workload) != 0 ||
	                          strcmp(g->cases[at].key.device, key.device) != 0))
		at++;
	if (at == g->ncases) {
		WS_GROW(g->cases, g->ncases + 1, g->capacity);
		g->cases[g->ncases++] = (struct gate_case){.key = key, .sides = ws_sides_new()};
	}
	struct gate_case *c = &g->cases[at];
	if (!ws_sides_add(c->sides, 1, m, rows, false)) {
		c->ncopies++;
		return;
	}
	WS_GROW(c->path, c->nruns + 1, c->paths_capacity);
	c->path[c->nruns++] = path;
}

static void set_failed(struct gate_case *c, const char *why)
{
	c->judgement.outcome = WS_GATE_FAILED;
	snprintf(c->judgement.words, sizeof(c->judgement.words), "%s.", why);
}

/* Adds a row for a run that cannot be read, by its file name. */
static void add_unread(void *ctx, size_t i, const char *why)
{
	const struct of_runs *of = ctx;
	const struct ws_bytes name = ws_name_of_file(ws_bytes_of(of->list->path[i]));
	struct gate_case c = {.nruns = 1};

	snprintf(c.key.workload, sizeof(c.key.workload), "%.*s", WS_SHOWN(name));
	set_failed(&c, why);
	WS_GROW(of->g->cases, of->g->ncases + 1, of->g->capacity);
	of->g->cases[of->g->ncases++] = c;
}

static enum ws_status read_accepted(struct gate *g, struct ws_err *err)
{
	FILE *f = g->o.accept ? fopen(g->o.accept, "rb") : NULL;
	enum ws_status status = WS_OK;
	struct ws_err cause;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	WS_FAIL_IF(g->o.accept && !f, err, IO_READ, "cannot read '%s': %s", g->o.accept,
	           strerror(errno));
	for (size_t n = 1; f && status == WS_OK && (len = getline(&line, &size, f)) > 0; n++) {
		const bool is_text = strlen(line) == (size_t)len;

		line[strcspn(line, "\r\n")] = '\0';
		if (is_text && (!line[strspn(line, " \t")] || line[strspn(line, " \t")] == '#'))
			continue;
		WS_GROW(g->accepted, g->naccepted + 1, g->accepted_capacity);
		status = is_text ? ws_gate_accepted_read(line, &g->accepted[g->naccepted++], &cause)
		                 : WS_FAIL(&cause, USAGE, "it has a byte 0");
		if (status != WS_OK)
			WS_FAIL(err, USAGE, "'%s', line %zu: %s", g->o.accept, n, cause.text);
	}
	if (f && ferror(f) && status == WS_OK)
		status = WS_FAIL(err, IO_READ, "cannot read '%s'", g->o.accept);
	free(line);
	if (f)
		fclose(f);
	return status;
}

/* --- the baseline -------------------------------------------------------------------------- */

static char *folder_of(const struct gate *g, const struct gate_case *c)
{
	return ws_xformat("%s/%s/%s", g->o.baseline, c->key.workload, c->key.device);
}

/* The visible names in a folder; free() each, and the array. -1: errno. */
static int visible_names(const char *path, char ***names)
{
	const int folder = ws_folder_open(WS_HERE, path, true);
	int n = folder < 0 ? -1 : ws_folder_names(folder, names), kept = 0;

	for (int i = 0; i < n; i++)
		if ((*names)[i][0] == '.')
			free((*names)[i]);
		else
			(*names)[kept++] = (*names)[i];
	if (folder >= 0)
		ws_folder_close(folder);
	return n < 0 ? n : kept;
}

/* Compares the runs of a case with its listed baseline. */
static enum ws_status compare_case(struct gate *g, struct gate_case *c, struct ws_err *err)
{
	struct ws_err why;
	enum ws_status status =
	        ws_sides_read(c->sides, &c->baseline, NULL, &g->o.model, false, &why);

	if (ws_is_of_file(status)) {
		set_failed(c, why.text);
		return WS_OK;
	}
	if (status != WS_OK && err)
		*err = why;
	WS_THEN(status, ws_diff_make(c->sides, &g->o.diff, &c->report, &c->result, err));
	if (status == WS_OK)
		ws_gate_judge(&c->result, &g->o.diff, &c->key, g->accepted, g->naccepted,
		              g->o.today, &c->judgement);
	ws_sides_free(c->sides);
	c->sides = NULL;
	return status;
}

static enum ws_status judge_case(struct gate *g, struct gate_case *c, struct ws_err *err)
{
	char *folder = folder_of(g, c);
	enum ws_status status = WS_OK;
	const bool exists = ws_file_exists(folder);

	if (exists)
		status = ws_trace_list_add(&c->baseline, 1, &folder, false, err);
	free(folder);
	if (!exists) {
		/* There is no baseline for this device: looks for other devices. */
		char *workload = ws_xformat("%s/%s", g->o.baseline, c->key.workload);

		/* Names in a folder, joined by ", "; for free(). */
		char *devices = NULL;
		size_t len;
		FILE *f = ws_xmemstream(&devices, &len);
		char **names;
		int n = visible_names(workload, &names);

		for (int i = 0; i < n; free(names[i++]))
			fprintf(f, "%s%s", i ? ", " : "", names[i]);
		if (n >= 0)
			free(names);
		ws_xfclose(f);

		c->judgement.outcome = WS_GATE_UNDECIDED;
		if (*devices)
			snprintf(c->judgement.words, sizeof(c->judgement.words),
			         strcmp(c->key.device, WS_GATE_NO_DEVICE) != 0
			                 ? "The baseline is of another device: %.300s."
			                 : "These runs name no device, as without device work, or "
			                   "cut "
			                   "files. The baseline is of: %.300s.",
			         devices);
		else
			snprintf(c->judgement.words, sizeof(c->judgement.words),
			         "There is no baseline. Make these runs the baseline with "
			         "--update.");
		ws_defuse(c->judgement.words);
		free(workload);
		free(devices);
	}
	return status != WS_OK || !exists ? status : compare_case(g, c, err);
}

/* Adds a workload of the baseline that has no runs, on a device that has runs. */
static void add_if_missing(struct gate *g, const char *workload, const char *device)
{
	struct gate_case missing = {.judgement = {
	                                    .outcome = WS_GATE_UNDECIDED,
	                                    .words = "The baseline has this workload, and no run "
	                                             "of it was given. Record it, or remove its "
	                                             "folder from the baseline.",
	                            }};
	struct ws_gate_key *key = &missing.key;

	for (size_t i = 0; i < g->ncases; i++)
		if (!strcmp(g->cases[i].key.workload, workload) &&
		    !strcmp(g->cases[i].key.device, device))
			return;
	if (snprintf(key->workload, sizeof(key->workload), "%s", workload) >=
	    (int)sizeof(key->workload))
		return; /* not a baseline folder */
	snprintf(key->device, sizeof(key->device), "%s", device);
	char *folder = folder_of(g, &missing);
	if (ws_file_exists(folder) &&
	    ws_trace_list_add(&missing.baseline, 1, &folder, false, NULL) == WS_OK) {
		WS_GROW(g->cases, g->ncases + 1, g->capacity);
		g->cases[g->ncases++] = missing;
	}
	free(folder);
}

/* --- --update ------------------------------------------------------------------------------ */

static bool is_trace_name(const char *path)
{
	const size_t len = strlen(path);

	return len > 7 && !strcmp(path + len - 7, ".wtrace");
}

/* Is this a run of the previous baseline, which will be removed? */
static bool is_old_run(const char *name)
{
	return *name != '.' && is_trace_name(name);
}

/* Opens the existing part of the path as given; creates the missing part. */
static enum ws_status open_baseline(const char *path, struct ws_outfolder *f, struct ws_err *err)
{
	char *copy = ws_xstrdup(path), *end = copy + strspn(copy, "/"), *rest = NULL;

	for (; !rest && *(end += strcspn(end, "/")); end += strspn(end, "/")) {
		*end = '\0';
		if (!ws_file_exists(copy))
			rest = end + 1;
		else
			*end = '/';
	}
	enum ws_status status = ws_outfolder_open(f, copy, err);
	for (char *name; status == WS_OK && rest && (name = strtok_r(rest, "/", &end)); rest = end)
		status = ws_outfolder_enter(f, name, err);
	free(copy);
	return status;
}

static enum ws_status copy_run(const char *from, size_t number, struct ws_outfolder *to,
                               struct ws_err *err)
{
	FILE *f = fopen(from, "rb");
	struct ws_outfile out = {0};
	char buffer[1 << 16], name[32];
	size_t n;

	WS_FAIL_IF(!f, err, IO_READ, "cannot read '%s': %s", from, strerror(errno));
	snprintf(name, sizeof(name), "run-%zu.wtrace", number);
	enum ws_status status = ws_outfolder_file(to, name, &out, err);
	while (status == WS_OK && (n = fread(buffer, 1, sizeof(buffer), f)) > 0 &&
	       fwrite(buffer, 1, n, out.f) == n)
		; /* the commit fails if a byte was not written */
	if (status == WS_OK && ferror(f))
		status = WS_FAIL(err, IO_READ, "cannot read '%s'", from);
	if (status == WS_OK)
		ws_outfolder_add(to, &out);
	ws_outfile_abandon(&out);
	fclose(f);
	return status;
}

/* If anything fails, all workloads are updated or none; if the program is killed, each workload is
 * old or new. */
static enum ws_status update(const struct gate *g, struct ws_err *err)
{
	struct ws_outfolder *folders = ws_xarray(g->ncases + 1, sizeof(*folders));
	enum ws_status status = WS_OK;

	/* Workloads and runs need a few descriptors each until all are complete. */
	ws_limits_open_files();
	/* makes a folder of these runs beside the previous baseline, which it will replace */
	for (size_t i = 0; i < g->ncases && status == WS_OK; i++) {
		const struct gate_case *c = &g->cases[i];

		status = open_baseline(g->o.baseline, &folders[i], err);
		WS_THEN(status, ws_outfolder_enter(&folders[i], c->key.workload, err));
		WS_THEN(status, ws_outfolder_replace(&folders[i], c->key.device, is_old_run, err));
		for (size_t k = 0; k < c->nruns; k++)
			WS_THEN(status, copy_run(c->path[k], k + 1, &folders[i], err));
	}
	ws_outfile_hold_signals(true);
	for (size_t i = 0; i < g->ncases; i++)
		WS_THEN(status, ws_outfolder_show(&folders[i], err));
	for (size_t i = 0, all = status == WS_OK ? g->ncases : 0; i < all; i++) {
		const bool is_first_error = status == WS_OK;
		const enum ws_status one =
		        ws_outfolder_commit(&folders[i], is_first_error ? err : NULL);

		if (one == WS_OK) {
			const struct gate_case *c = &g->cases[i];
			char *folder = folder_of(g, c);
			struct ws_trace_list list = {0};

			/* a profile in the folder is a run of the baseline, too */
			const bool is_listed =
			        ws_trace_list_add(&list, 1, &folder, false, NULL) == WS_OK;

			for (size_t k = 0; is_listed && k < list.n; k++)
				if (!is_trace_name(list.path[k]))
					ws_ui_print("warning: '%s' stays in the baseline",
					            list.path[k]);
			if (c->ncopies)
				ws_ui_print("%s: %zu trace%s the same bytes as another; a run "
				            "counts once",
				            folder, c->ncopies,
				            c->ncopies == 1 ? " has" : "s have");
			ws_ui_print("%s: %zu run%s%s", folder, c->nruns, WS_PLURAL(c->nruns),
			            c->nruns < WS_GRADE_RECORDINGS ? ". Record three or more" : "");
			ws_trace_list_release(&list);
			free(folder);
		} else if (is_first_error)
			status = one;
	}
	/* in reverse order, so that empty folders are removed, too */
	for (size_t i = g->ncases; i-- > 0;)
		ws_outfolder_abandon(&folders[i]);
	ws_outfile_hold_signals(false);
	free(folders);
	return status;
}

/* A baseline is read often, so it must not need an import. A run of the baseline cannot replace
 * it. */
static enum ws_status check_update(const struct gate *g, const struct ws_trace_list *list,
                                   struct ws_err *err)
{
	char *baseline = ws_real_path(g->o.baseline);
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		char *path = ws_real_path(list->path[i]); /* NULL: reading it will fail */

		if (!is_trace_name(list->path[i]))
			status = WS_FAIL(err, USAGE,
			                 "--update takes traces (.wtrace). Run 'warpsheet import "
			                 "%s' first",
			                 list->path[i]);
		else if (baseline && path && !strncmp(path, baseline, strlen(baseline)) &&
		         ws_path_separates(path[strlen(baseline)]))
			status = WS_FAIL(err, USAGE, "'%s' is in the baseline already",
			                 list->path[i]);
		free(path);
	}
	free(baseline);
	return status;
}

/* --- output ------------------------------------------------------------------------- */

static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	const struct gate *g = ctx;

	(void)which;
	(void)err;
	for (size_t i = 0; i < g->ncases; i++) {
		const struct gate_case *c = &g->cases[i];
		const struct ws_comparison *r = &c->result.overall;
		struct ws_cell *row = ws_table_row(*t);

		ws_cell_set_str(*t, &row[WS_TC_gate_workload], c->key.workload);
		ws_cell_set_str(*t, &row[WS_TC_gate_device], c->key.device);
		ws_cell_set_str(*t, &row[WS_TC_gate_outcome], ws_gate_name(c->judgement.outcome));
		if (c->report && r->basis != WS_BASIS_NONE) {
			ws_cell_set_str(*t, &row[WS_TC_gate_grade], ws_grade_name(r->grade));
			if (r->grade != WS_GRADE_UNLIKE) {
				ws_cell_set_real(&row[WS_TC_gate_ratio], r->ratio);
				ws_cell_set_real(&row[WS_TC_gate_low], r->low);
				ws_cell_set_real(&row[WS_TC_gate_high], r->high);
			}
		}
		ws_cell_set_int(&row[WS_TC_gate_runs_a],
		                (int64_t)(c->baseline.n - c->result.copies[0]));
		ws_cell_set_int(&row[WS_TC_gate_runs_b], (int64_t)c->nruns);
		if (c->judgement.runs_needed)
			ws_cell_set_int(&row[WS_TC_gate_needed], c->judgement.runs_needed);
		ws_cell_set_str(*t, &row[WS_TC_gate_verdict], c->judgement.words);
		ws_table_answer(*t, "%s%s%s: %s. %s", c->key.workload, *c->key.device ? " on " : "",
		                c->key.device, ws_gate_name(c->judgement.outcome),
		                c->judgement.words);
	}
	return WS_OK;
}

/* GitHub's limit is 65,536 characters per comment. */
#define MOST_COMMENT 60000

static enum ws_comment_sign sign_of(enum ws_gate_outcome outcome)
{
	return outcome == WS_GATE_UNDECIDED  ? WS_COMMENT_UNSURE
	       : outcome < WS_GATE_UNDECIDED ? WS_COMMENT_GOOD
	                                     : WS_COMMENT_BAD;
}

static struct ws_comment_row row_of(const struct gate *g, const struct gate_case *c, char *cause,
                                    size_t size)
{
	const struct ws_page *page = c->report ? c->report->page : NULL;
	const struct ws_gate_judgement *j = &c->judgement;
	struct ws_comment_row row = {.name = c->key.workload,
	                             .device = "",
	                             .time = page && page->ncompared ? &page->compared[0] : NULL,
	                             .sign = sign_of(j->outcome),
	                             .result = ws_gate_name(j->outcome)};

	for (size_t i = 0; i < g->ncases; i++)
		if (strcmp(g->cases[i].key.device, c->key.device) != 0)
			row.device = c->key.device;
	if (j->outcome == WS_GATE_PASSED)
		return row;
	if (j->outcome == WS_GATE_ACCEPTED)
		snprintf(cause, size, "%s", j->accepted);
	else if (j->outcome == WS_GATE_SLOWER && *c->result.cause)
		snprintf(cause, size, "%s%s%s", c->result.cause, *j->accepted ? " " : "",
		         j->accepted);
	else if (c->report && c->result.overall.grade != WS_GRADE_UNLIKE &&
	         c->result.overall.basis != WS_BASIS_NONE) {
		/* what would settle it; its numbers are in the row */
		const size_t verdict = strlen(c->result.verdict);
		const char *rest = strlen(j->words) > verdict ? j->words + verdict + 1 : "";

		if (!j->runs_needed && !*rest)
			snprintf(cause, size,
			         "The runs vary too much for any number of them to tell.");
		else if (j->runs_needed && !strstr(rest, "Record "))
			snprintf(cause, size, "%s%sRecord %u %s.", rest, *rest ? " " : "",
			         j->runs_needed,
			         c->result.overall.basis == WS_BASIS_PAIRS
			                 ? "pairs or more"
			                 : "runs or more per side");
		else
			snprintf(cause, size, "%s", rest);
	} else
		snprintf(cause, size, "%s", j->words);
	row.cause = cause;
	row.details = c->report;
	return row;
}

/* Writes the workloads, worst first, as many as fit, the first ones with details. */
static void write_comment(const struct gate *g)
{
	struct ws_comment_row *rows = ws_xarray(g->ncases, sizeof(*rows));
	char(*causes)[sizeof(g->cases->judgement.words)] = ws_xarray(g->ncases, sizeof(*causes));
	size_t cases = 0, details = g->ncases, size;

	for (int outcome = WS_GATE_FAILED; outcome >= WS_GATE_PASSED; outcome--)
		for (size_t i = 0; i < g->ncases; i++)
			if ((int)g->cases[i].judgement.outcome == outcome) {
				rows[cases] = row_of(g, &g->cases[i], causes[cases],
				                     sizeof(causes[cases]));
				cases++;
			}
	for (bool fits = false; !fits;) {
		char *text = NULL;
		FILE *f = ws_xmemstream(&text, &size);

		for (size_t i = details; i < cases; i++)
			rows[i].details = NULL;

		/* the answer: "❌ 1 of 5 workloads is slower" */
		size_t n[WS_GATE_FAILED + 1] = {0};
		enum ws_gate_outcome worst = WS_GATE_PASSED;
		const char *plural = WS_PLURAL(g->ncases);

		for (size_t i = 0; i < g->ncases; i++) {
			n[g->cases[i].judgement.outcome]++;
			if (g->cases[i].judgement.outcome > worst)
				worst = g->cases[i].judgement.outcome;
		}
		fprintf(f, "%s ", ws_comment_sign(sign_of(worst)));
		if (worst == WS_GATE_UNDECIDED)
			fprintf(f, "cannot tell: %zu of %zu workload%s", n[worst], g->ncases,
			        plural);
		else if (worst < WS_GATE_UNDECIDED)
			fprintf(f, "%zu of %zu passed", g->ncases, g->ncases);
		if (n[WS_GATE_ACCEPTED] && worst < WS_GATE_UNDECIDED)
			fprintf(f, ", %zu as an accepted slowdown", n[WS_GATE_ACCEPTED]);
		if (n[WS_GATE_SLOWER])
			fprintf(f, "%zu of %zu workload%s %s slower", n[WS_GATE_SLOWER], g->ncases,
			        plural, n[WS_GATE_SLOWER] == 1 ? "is" : "are");
		if (n[WS_GATE_FAILED])
			fprintf(f, "%s%zu of %zu workload%s could not be read",
			        n[WS_GATE_SLOWER] ? ", " : "", n[WS_GATE_FAILED], g->ncases,
			        plural);
		if (n[WS_GATE_UNDECIDED] && worst > WS_GATE_UNDECIDED)
			fprintf(f, "; cannot tell about %zu", n[WS_GATE_UNDECIDED]);
		fputs("\n", f);
		ws_comment_put(f, "workload", rows, cases);
		if (cases < g->ncases)
			fprintf(f, "\n%zu more are left out.\n", g->ncases - cases);
		ws_xfclose(f);
		fits = size < MOST_COMMENT || (!details && cases <= 1);
		if (fits)
			fwrite(text, 1, size, stdout);
		free(text);
		cases = details ? cases : cases / 2;
		details /= 2;
	}
	free(rows);
	free(causes);
}

/* Judges a folder of `record --ab`: B's runs against A's, by pairs. */
static enum ws_status judge_pairs(struct gate *g, const char *folder, struct ws_err *err)
{
	struct ws_trace_list list[2] = {{0}};
	size_t failed;

	g->o.diff.paired = true;
	g->o.diff.name[0] = "A";
	g->o.diff.name[1] = "B";
	enum ws_status status = ws_pairs_list(folder, list, &failed, err);
	WS_THEN(status, ws_traces_read(&list[1], &g->o.model, add_run, NULL,
	                               &(struct of_runs){g, &list[1]}, err));
	if (status == WS_OK && g->ncases > 1)
		status = WS_FAIL(err, USAGE,
		                 "the runs b-*.wtrace in '%s' are of several workloads: %s and %s",
		                 folder, g->cases[0].key.workload, g->cases[1].key.workload);
	if (status == WS_OK) {
		g->cases[0].baseline = list[0];
		list[0] = (struct ws_trace_list){0};
		status = compare_case(g, &g->cases[0], err);
	}
	if (status == WS_OK && failed)
		ws_say_add(g->cases[0].judgement.words, sizeof(g->cases[0].judgement.words),
		           " Left out, because a run failed: %zu pair%s.", failed,
		           WS_PLURAL(failed));
	ws_trace_list_release(&list[0]);
	ws_trace_list_release(&list[1]);
	return status;
}

static enum ws_status judge_runs(struct gate *g, const struct ws_trace_list *list,
                                 struct ws_err *err)
{
	const char *path = g->o.baseline;
	enum ws_status status = WS_OK;
	struct ws_file_info file;
	const bool exists = !ws_file_look(WS_HERE, path, true, &file);

	WS_FAIL_IF(!exists && errno != ENOENT, err, IO_READ, "cannot read '%s': %s", path,
	           strerror(errno));
	WS_FAIL_IF(!exists && !g->o.update, err, USAGE,
	           "there is no folder '%s' with a baseline. Make runs the baseline with --update",
	           path);
	WS_FAIL_IF(exists && file.type != WS_FILE_FOLDER, err, USAGE,
	           "--baseline '%s' is no folder", path);
	if (g->o.update)
		WS_THEN(status, check_update(g, list, err));
	WS_THEN(status, ws_traces_read(list, &g->o.model, add_run, g->o.update ? NULL : add_unread,
	                               &(struct of_runs){g, list}, err));
	if (status != WS_OK || g->o.update)
		return status;
	for (size_t i = 0; i < g->ncases; i++)
		if (g->cases[i].judgement.outcome != WS_GATE_FAILED)
			WS_THEN(status, judge_case(g, &g->cases[i], err));
	/* with --workload, only this workload is judged */
	if (g->o.workload || status != WS_OK)
		return status;

	const size_t given = g->ncases;
	char **names;
	const int n = visible_names(path, &names);

	WS_FAIL_IF(n < 0, err, IO_READ, "cannot read the folder '%s': %s", path, strerror(errno));
	for (int i = 0; i < n; free(names[i++]))
		for (size_t k = 0; k < given; k++)
			if (*g->cases[k].key.device)
				add_if_missing(g, names[i], g->cases[k].key.device);
	free(names);
	return WS_OK;
}

static enum ws_status run(struct gate *g, const struct ws_trace_list *list, const char *pairs,
                          struct ws_err *err)
{
	WS_FORWARD(read_accepted(g, err));
	WS_FORWARD(pairs ? judge_pairs(g, pairs, err) : judge_runs(g, list, err));
	if (g->o.update)
		return update(g, err);
	struct ws_report_plan plan = {.title = "Warpsheet gate", .fill = fill, .ctx = g};
	struct ws_report *report = NULL, view;

	plan.trace = g->o.baseline;
	plan.defs = ws_gate_defs(&plan.ndefs);
	enum ws_status status = ws_report_of_plan(&plan, &report, err);
	if (status == WS_OK) {
		view = *report;
		/* people and CSV get the table; JSON its definitions, too */
		if (g->o.to.format == WS_FORMAT_TEXT || g->o.to.format == WS_FORMAT_CSV)
			view.ntables = 1;
		if (g->o.github)
			write_comment(g);
		else
			status = ws_destination_write(&g->o.to, &view, err);
	}
	ws_report_free(report);
	WS_FORWARD(status);
	/* SLOWER is worse than UNKNOWN, which is worse than all others. */
	enum ws_gate_outcome worst = WS_GATE_PASSED;
	for (size_t j = 0; j < g->ncases; j++)
		if (g->cases[j].judgement.outcome > worst)
			worst = g->cases[j].judgement.outcome;
	return worst >= WS_GATE_SLOWER      ? WS_FINDING
	       : worst == WS_GATE_UNDECIDED ? WS_UNDECIDED
	                                    : WS_OK;
}

enum ws_status ws_cmd_gate(int argc, char **argv, struct ws_err *err)
{
	struct gate g = {.o = {.to = {.format = -1}, .diff = ws_gate_diff_opts()}};
	struct gate_opts *o = &g.o;
	const char *format = NULL;
	struct ws_trace_list list = {0};
	char today[11];
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT("baseline", 0, TEXT, "DIR", &o->baseline,
	               "where the baseline's runs lie: DIR/WORKLOAD/DEVICE/"),
	        WS_OPT("accept", 0, TEXT, "FILE", &o->accept,
	               "accepted slowdowns, one per line:\n"
	               "UNTIL WORKLOAD DEVICE PERCENT REASON"),
	        WS_OPT("update", 0, FLAG, NULL, &o->update, "make these runs the baseline"),
	        WS_OPT("workload", 0, TEXT, "NAME", &o->workload,
	               "workload of the runs, which alone is judged;\n"
	               "default: as recorded"),
	        WS_OPT("threshold", 0, REAL, "PCT", &o->diff.threshold_percent,
	               "pass up to PCT percent slower; default 0"),
	        WS_OPT("run-noise", 0, REAL, "PCT", &o->diff.run_noise_percent,
	               "run-to-run noise of sides with fewer than three runs;\n"
	               "without it such sides cannot be judged"),
	        WS_OPT("today", 0, TEXT, "DATE", &o->today,
	               "the date to compare UNTIL with: YYYY-MM-DD"),
	        WS_OPT_OUTPUT(&o->to.path),
	        WS_OPT("format", 0, TEXT, "FORMAT", &format,
	               "text, csv, json, md, html, or github: one comment\n"
	               "under 60 kB for a pull request"),
	        WS_OPT_STEP(&o->model.step),
	        WS_OPTS_SHOWN(&o->to),
	};
	const struct ws_arguments a = WS_ARGUMENTS("gate", opts, 1, INT_MAX, ws_gate_defs);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	static const char *const formats[] = {"text", "csv", "json", "md", "html"};
	const time_t now = time(NULL);
	struct tm day;

	WS_FAIL_IF(o->diff.run_noise_percent < 0 || o->diff.threshold_percent < 0, err, USAGE,
	           "a percentage is 0 or more");
	o->github = format && !strcmp(format, "github");
	for (int i = 0; format && i < (int)(sizeof(formats) / sizeof(*formats)); i++)
		if (!strcmp(format, formats[i]))
			o->to.format = i;
	WS_FAIL_IF(format && !o->github && o->to.format < 0, err, USAGE,
	           "--format %s: choose text, csv, json, md, html or github", format);
	WS_FAIL_IF(o->github && o->to.path, err, USAGE, "--format github writes to stdout");
	if (!o->today) {
		gmtime_r(&now, &day);
		strftime(today, 11, "%Y-%m-%d", &day);
		o->today = today;
	}
	WS_FAIL_IF(!ws_gate_is_date(o->today), err, USAGE, "--today needs a day as YYYY-MM-DD");
	/* the only table, so CSV needs no choice */
	WS_FORWARD(ws_destination_resolve(&o->to, "gate", err));
	for (int i = 0; i < n; i++)
		WS_FORWARD(ws_output_check(o->to.path, argv[i], err));
	const char *pairs = NULL;

	if (!o->baseline) {
		WS_FAIL_IF(n > 1 || !ws_trace_list_is_many(1, argv), err, USAGE,
		           "gate needs --baseline DIR, or a folder of 'record --ab', see "
		           "'warpsheet help gate'");
		WS_FAIL_IF(o->update, err, USAGE, "--update needs --baseline DIR");
		pairs = o->baseline = argv[0];
	}
	enum ws_status status = pairs ? WS_OK : ws_trace_list_add(&list, n, argv, false, err);
	WS_THEN(status, run(&g, &list, pairs, err));
	for (size_t j = 0; j < g.ncases; j++) {
		struct gate_case *c = &g.cases[j];

		ws_sides_free(c->sides);
		free(c->path);
		ws_trace_list_release(&c->baseline);
		ws_report_free(c->report);
	}
	free(g.cases);
	free(g.accepted);
	ws_trace_list_release(&list);
	return status;
}
