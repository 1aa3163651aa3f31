#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/export/source.h"
#include "report/export/csv.h"
#include "report/export/gzip.h"
#include "report/commands/command.h"
#include "report/kernel_info/demangle.h"
#include "report/export/chrome/chrome.h"
#include "report/base/names.h"
#include "formats/base/outfile.h"
#include "report/export/rollup.h"
#include "report/commands/trace_open.h"

/* In the order of the choices. Names of files end so; the first that fits counts. */
enum format { FORMAT_SQLITE, FORMAT_JSON, FORMAT_CSV, FORMAT_PARQUET };
#define FORMAT_CHOICES "sqlite|json|csv|parquet"

static const struct {
	const char *extension;
	enum format format;
} extensions[] = {
        {".sqlite", FORMAT_SQLITE}, {".db", FORMAT_SQLITE}, {".json", FORMAT_JSON},
        {".json.gz", FORMAT_JSON},  {".csv", FORMAT_CSV},   {".parquet", FORMAT_PARQUET},
};

static int format_of_path(const char *path)
{
	size_t len = strlen(path);

	/* a folder may be written as one */
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++) {
		size_t n = strlen(extensions[i].extension);

		if (len > n && !strncasecmp(path + len - n, extensions[i].extension, n))
			return (int)extensions[i].format;
	}
	return -1;
}

static void tell(void *path, uint64_t done, uint64_t total)
{
	ws_ui_progress(path, done, total);
}

static void say_left_out(const char *path, const struct ws_export_stats *s)
{
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		if (s->left_out[kind])
			ws_ui_say("note: '%s' has no place for records of kind %s: %" PRIu64, path,
			          ws_schema_kind(kind)->name, s->left_out[kind]);
	if (s->without_time)
		ws_ui_say("note: kernels and copies without a recorded time, left out: %" PRIu64,
		          s->without_time);
	if (s->dangling)
		ws_ui_say("note: ends of ranges without a begin, left out: %" PRIu64, s->dangling);
}

/* Give up, naming the file where the writer below could not. */
static enum ws_status abandon(struct ws_outfile *out, const char *path, enum ws_status rc,
                              const struct ws_err *cause, struct ws_err *err)
{
	ws_outfile_abandon(out);
	return ws_fail(err, rc, cause->file, cause->line, "cannot write '%s': %s", path,
	               cause->text);
}

static enum ws_status write_sqlite(const struct ws_trace_reader *r, const char *path,
                                   const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                   struct ws_err *err)
{
	struct ws_outfile out;
	struct ws_err cause;
	enum ws_status rc;

	WS_FORWARD(ws_outfile_reserve(&out, path, err));
	rc = ws_export_nsys(r, ws_outfile_name(&out), opts, stats, &cause);
	return rc == WS_OK ? ws_outfile_commit(&out, err) : abandon(&out, path, rc, &cause, err);
}

static int is_compressed(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcasecmp(path + len - 3, ".gz");
}

static enum ws_status write_json(const struct ws_trace_reader *r, const char *path,
                                 const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                 struct ws_err *err)
{
	struct ws_outfile out;
	struct ws_err cause;
	FILE *gz = NULL;
	enum ws_status rc;

	if (is_compressed(path)) {
		WS_FORWARD(ws_outfile_reserve(&out, path, err));
		rc = ws_export_gzip_open(&gz, ws_outfile_name(&out), &cause);
	} else {
		WS_FORWARD(ws_outfile_open(&out, path, err));
		rc = WS_OK;
	}
	if (rc == WS_OK)
		rc = ws_export_chrome(r, gz ? gz : out.f, opts, stats, &cause);
	if (gz && fclose(gz) != 0 && rc == WS_OK)
		rc = WS_FAIL(&cause, IO_WRITE, "%s", strerror(errno));
	return rc == WS_OK ? ws_outfile_commit(&out, err) : abandon(&out, path, rc, &cause, err);
}

/* --- a folder of CSV --- */

/* Files that are whole, but not yet under their names. */
struct folder {
	const char *path;
	int made; /* it was not there before */
	struct ws_outfile files[WS_KIND_END];
	size_t nfiles;
};

static enum ws_status folder_open(struct folder *f, const char *path, struct ws_err *err)
{
	struct stat st;

	*f = (struct folder){.path = path};
	f->made = mkdir(path, 0777) == 0;
	WS_FAIL_IF(!f->made && errno != EEXIST, err, IO_WRITE, "cannot make the folder '%s': %s",
	           path, strerror(errno));
	WS_FAIL_IF(!f->made && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)), err, IO_WRITE,
	           "cannot write files into '%s': it is no folder", path);
	return WS_OK;
}

static char *folder_file(const struct folder *f, enum ws_kind kind)
{
	char *path;

	return asprintf(&path, "%s/%s.csv", f->path, ws_schema_kind(kind)->name) < 0 ? NULL : path;
}

/* Give all files their names; those of kinds that the trace lacks are of an earlier export. */
static enum ws_status folder_commit(struct folder *f, const struct ws_trace_reader *r,
                                    struct ws_err *err)
{
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		char *path;

		if (!ws_export_csv_has(kind) || ws_export_count(r, kind))
			continue;
		path = folder_file(f, kind);
		WS_FAIL_IF(!path, err, NO_MEMORY, "out of memory");
		unlink(path);
		free(path);
	}
	for (size_t i = 0; i < f->nfiles; i++)
		WS_FORWARD(ws_outfile_commit(&f->files[i], err));
	return WS_OK;
}

static void folder_abandon(struct folder *f)
{
	for (size_t i = 0; i < f->nfiles; i++)
		ws_outfile_abandon(&f->files[i]);
	if (f->made)
		(void)!rmdir(f->path);
}

static enum ws_status write_kind(struct folder *f, struct ws_export_csv *csv, enum ws_kind kind,
                                 struct ws_err *err)
{
	struct ws_outfile *out = &f->files[f->nfiles];
	char *path = folder_file(f, kind);
	struct ws_err cause;
	enum ws_status rc;

	WS_FAIL_IF(!path, err, NO_MEMORY, "out of memory");
	rc = ws_outfile_open(out, path, err);
	free(path);
	if (rc != WS_OK)
		return rc;
	f->nfiles++;
	rc = ws_export_csv_kind(csv, kind, out->f, &cause);
	if (rc == WS_OK)
		return WS_OK;
	return ws_fail(err, rc, cause.file, cause.line, "cannot write '%s': %s", out->path,
	               cause.text);
}

static enum ws_status write_csv(const struct ws_trace_reader *r, const char *path,
                                const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                struct ws_err *err)
{
	struct ws_export_csv csv;
	struct folder f;
	enum ws_status rc;

	*stats = (struct ws_export_stats){0}; /* every kind has its file */
	WS_FORWARD(folder_open(&f, path, err));
	rc = ws_export_csv_init(&csv, r, opts, err);
	for (unsigned kind = 0; kind < WS_KIND_END && rc == WS_OK; kind++)
		if (ws_export_csv_has(kind) && ws_export_count(r, kind))
			rc = write_kind(&f, &csv, kind, err);
	ws_export_csv_free(&csv);
	if (rc == WS_OK)
		rc = folder_commit(&f, r, err);
	if (rc != WS_OK)
		folder_abandon(&f);
	return rc;
}

/* --- all formats --- */

struct export_opts {
	const char *to;
	int format; /* enum format, -1 = by the extension of `to` */
	bool rollup;
	int64_t rank; /* -1 = as the trace says */
};

static enum ws_status write_parquet(struct ws_trace_file *f, const struct export_opts *o,
                                    struct ws_err *err)
{
	const struct ws_export_parquet_opts opts = {o->rank, tell, (void *)o->to};
	struct ws_model *model = NULL;
	enum ws_status rc;

	if (!o->rollup)
		return ws_export_parquet(f->path, o->to, &opts, err);
	rc = ws_trace_file_model(&model, f, NULL, err);
	if (rc == WS_OK)
		rc = ws_rollup_export(model, o->to, &opts, err);
	ws_model_free(model);
	return rc;
}

static enum ws_status write_records(struct ws_trace_file *f, const struct export_opts *o,
                                    struct ws_export_stats *stats, struct ws_err *err)
{
	static const struct ws_export_names names = {ws_demangle, ws_name_short};
	static enum ws_status (*const write[])(const struct ws_trace_reader *, const char *,
	                                       const struct ws_export_opts *,
	                                       struct ws_export_stats *, struct ws_err *) = {
	        [FORMAT_SQLITE] = write_sqlite,
	        [FORMAT_JSON] = write_json,
	        [FORMAT_CSV] = write_csv,
	};
	const struct ws_export_opts opts = {&names, tell, (void *)o->to};
	struct ws_trace_reader *r = NULL;
	enum ws_status rc = ws_trace_reader_open(&r, f->path, err);

	if (rc == WS_OK)
		rc = write[o->format](r, o->to, &opts, stats, err);
	ws_trace_reader_free(r);
	return rc;
}

static enum ws_status export_trace(struct ws_trace_file *f, const struct export_opts *o,
                                   struct ws_err *err)
{
	struct ws_export_stats stats = {0};
	enum ws_status rc = o->format == FORMAT_PARQUET ? write_parquet(f, o, err)
	                                                : write_records(f, o, &stats, err);

	ws_ui_progress_end();
	if (rc != WS_OK)
		return rc;
	ws_trace_file_say_damage(f);
	say_left_out(o->to, &stats);
	return WS_OK;
}

static enum ws_status settle(struct export_opts *o, const char *input, struct ws_err *err)
{
	WS_FAIL_IF(!o->to, err, USAGE, "export needs -o FILE, the file or folder to write");
	if (o->format < 0)
		o->format = format_of_path(o->to);
	WS_FAIL_IF(o->format < 0, err, USAGE,
	           "cannot tell a format from '%s': use .sqlite, .json, .json.gz, .csv or "
	           ".parquet, or --format",
	           o->to);
	WS_FAIL_IF((o->rollup || o->rank >= 0) && o->format != FORMAT_PARQUET, err, USAGE,
	           "--rollup and --rank are for Parquet: --format parquet");
	return ws_output_spares(o->to, input, err);
}

enum ws_status ws_cmd_export(int argc, char **argv, struct ws_err *err)
{
	struct export_opts o = {.format = -1, .rank = -1};
	struct ws_trace_file f;
	bool help = false;
	int n, done;
	const struct ws_opt opts[] = {
	        WS_OPT("output", 'o', TEXT, "FILE", &o.to,
	               "the file or folder to write; its extension tells the\n"
	               "format: .sqlite, .json or .json.gz; for a folder .csv or\n"
	               ".parquet"),
	        WS_OPT("format", 0, CHOICE, FORMAT_CHOICES, &o.format,
	               "the format, whatever FILE is called"),
	        WS_OPT("rollup", 0, FLAG, NULL, &o.rollup,
	               "parquet: sums and histograms that add up over traces,\n"
	               "instead of the records"),
	        WS_OPT("rank", 0, INT, "N", &o.rank,
	               "parquet: into the folder of rank N, whatever the trace says"),
	        WS_OPT_HELP(&help),
	};
	const struct ws_arguments a = {
	        "export",
	        "Writes the records of a trace for other tools: a database in the schema of "
	        "Nsight\n"
	        "Systems' export, a timeline for ui.perfetto.dev and chrome://tracing, or a folder "
	        "of\n"
	        "CSV or Parquet files.",
	        opts,
	        sizeof(opts) / sizeof(*opts),
	        1,
	        1,
	        NULL,
	};
	enum ws_status rc;

	WS_FORWARD(ws_command_parse(&a, argc, argv, &n, &done, err));
	if (done)
		return WS_OK;
	WS_FORWARD(settle(&o, argv[0], err));
	rc = ws_trace_file_open(&f, argv[0], err);
	if (rc == WS_OK)
		rc = export_trace(&f, &o, err);
	ws_trace_file_close(&f);
	return rc;
}
