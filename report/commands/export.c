#include "report/commands/command.h"
#include "report/export/parquet/parquet.h"

static const struct ws_exporter *const exporters[] = {
#define X(name) &ws_exporter_##name,
        WS_EXPORTERS(X)
#undef X
};
#define NEXPORTERS (sizeof(exporters) / sizeof(*exporters))

/* after the first bar: the choice of --format */
#define X(name) "|" #name
static const char formats[] = WS_EXPORTERS(X);
#undef X

static const char *exporter_name(int i)
{
	return (size_t)i < NEXPORTERS ? exporters[i]->name : NULL;
}

static const char *extension_of(const struct ws_exporter *e, size_t i)
{
	return i < sizeof(e->extensions) / sizeof(*e->extensions) ? e->extensions[i] : NULL;
}

/* The exporter for this file name, -1 = none. */
static int format_of_path(const char *path)
{
	size_t len = strlen(path);
	const char *extension;

	/* a folder's name may end in '/' */
	while (len > 1 && ws_path_separates(path[len - 1]))
		len--;
	for (size_t e = 0; e < NEXPORTERS; e++) {
		for (size_t i = 0; (extension = extension_of(exporters[e], i)); i++) {
			size_t n = strlen(extension);

			if (len > n && !strncasecmp(path + len - n, extension, n))
				return (int)e;
		}
	}
	return -1;
}

struct export_opts {
	const char *to;
	int format; /* index in exporters, -1 = by the extension of `to` */
	bool rollup;
	int64_t rank; /* -1 = from the trace */
};

static enum ws_status export_file(const char *path, const struct export_opts *o, const char *to,
                                  struct ws_parquet_fleet *fleet, struct ws_err *err)
{
	const struct ws_export_opts opts = {fleet ? NULL : ws_progress_show, (void *)o->to};
	struct ws_export_stats stats = {0};
	struct ws_trace_file f;
	enum ws_status status = ws_trace_file_open(&f, path, err);
	const struct ws_export_job job = {f.name, to, &opts, o->rank, o->rollup, fleet};

	if (status == WS_OK) {
		status = exporters[o->format]->write(f.reader, &job, &stats, err);
		if (!fleet)
			ws_ui_progress_end();
	}
	if (status == WS_OK)
		ws_trace_file_print_damage(&f);
	for (unsigned kind = 0; kind < WS_KIND_END && status == WS_OK; kind++)
		if (stats.skipped[kind])
			ws_ui_print("note: '%s' cannot hold records of kind %s: %" PRIu64, o->to,
			            ws_schema_kind(kind)->name, stats.skipped[kind]);
	if (status == WS_OK && stats.without_time)
		ws_ui_print("note: kernels and copies without a recorded time, left out: %" PRIu64,
		            stats.without_time);
	if (status == WS_OK && stats.dangling)
		ws_ui_print("note: ends of ranges without a start, left out: %" PRIu64,
		            stats.dangling);
	ws_trace_file_close(&f);
	return status;
}

/* ".sqlite, .db, .json" */
static const char *list_extensions(char text[200])
{
	const char *extension;
	size_t used = 0;

	for (size_t e = 0; e < NEXPORTERS; e++)
		for (size_t i = 0; (extension = extension_of(exporters[e], i)); i++)
			if (used < 200)
				used += (size_t)snprintf(text + used, 200 - used, "%s%s",
				                         used ? ", " : "", extension);
	return text;
}

enum ws_status ws_cmd_export(int argc, char **argv, struct ws_err *err)
{
	struct export_opts o = {.format = -1, .rank = -1};
	struct ws_trace_list list = {0};
	char extensions[200], what_output[300];
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT("output", 'o', TEXT, "FILE", &o.to, what_output),
	        WS_OPT("format", 0, CHOICE, formats + 1, &o.format,
	               "output format; overrides FILE's extension", .choice = exporter_name),
	        WS_OPT("rollup", 0, FLAG, NULL, &o.rollup,
	               "parquet: write sums and histograms instead of records"),
	        WS_OPT("rank", 0, INT, "N", &o.rank,
	               "parquet: write into the folder of rank N; overrides the\n"
	               "trace's own rank"),
	        WS_OPT_HELP,
	};
	const struct ws_arguments a = WS_ARGUMENTS("export", opts, 1, INT_MAX, NULL);

	snprintf(what_output, sizeof(what_output),
	         "the file or folder to write; its extension sets the format: %s",
	         list_extensions(extensions));
	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	bool is_fleet = ws_trace_list_is_many(n, argv);
	WS_FAIL_IF(!o.to, err, USAGE, "export needs -o FILE: the file or folder to write");
	size_t len = strlen(o.to);
	if (o.format < 0)
		o.format = format_of_path(o.to);
	WS_FAIL_IF(o.format < 0 && len > 4 && !strcasecmp(o.to + len - 4, ".csv"), err, USAGE,
	           "export writes no CSV; a query does, of one kind of record: warpsheet query %s "
	           "\"SELECT * FROM kernel_record\" -o %s",
	           argv[0], o.to);
	WS_FAIL_IF(o.format < 0, err, USAGE,
	           "cannot tell a format from '%s': use one of %s, or --format", o.to,
	           list_extensions(extensions));
	WS_FAIL_IF((o.rollup || o.rank >= 0) && !exporters[o.format]->has_ranks, err, USAGE,
	           "--rollup and --rank are for Parquet: --format parquet");
	WS_FAIL_IF(is_fleet && !exporters[o.format]->has_ranks, err, USAGE,
	           "several traces need Parquet: --format parquet");
	WS_FAIL_IF(is_fleet && o.rank >= 0, err, USAGE,
	           "--rank is for one trace; several traces each have their own rank");
	for (int i = 0; i < n; i++)
		WS_FORWARD(ws_output_check(o.to, argv[i], err));
	if (!is_fleet)
		return export_file(argv[0], &o, o.to, NULL, err);
	enum ws_status status = ws_trace_list_add(&list, n, argv, false, err);
	struct ws_parquet_fleet *fleet = NULL;

	WS_THEN(status, ws_parquet_fleet_open(&fleet, o.to, err));
	for (size_t i = 0; i < list.n && status == WS_OK; i++) {
		/* the name of a trace is its file name without folder and extension */
		char *name = ws_xstrdup(ws_path_name(list.path[i])),
		     *end = name ? strrchr(name, '.') : NULL;

		if (end && end != name)
			*end = '\0';
		status = export_file(list.path[i], &o, name, fleet, err);
		free(name);
		ws_ui_progress(o.to, i + 1, list.n);
	}
	ws_ui_progress_end();
	status = ws_parquet_fleet_close(fleet, status, err);
	ws_trace_list_release(&list);
	return status;
}
