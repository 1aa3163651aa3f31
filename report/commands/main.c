#include "report/base/names.h"
#include "report/commands/command.h"
#include "report/tables/tables.h"

enum ws_status ws_cmd_version(int argc, char **argv, struct ws_err *err)
{
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("version", opts, 0, 0, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	puts("warpsheet " WS_VERSION);
	return WS_OK;
}

/* --- tables --- */

enum ws_status ws_cmd_tables(int argc, char **argv, struct ws_err *err)
{
	static const struct {
		const char *command;
		const struct ws_table_def *const *(*defs)(size_t *count);
	} groups[] = {
	        {"report TRACE", ws_table_defs}, {"report TRACE...: ranks", ws_ranks_defs},
	        {"diff", ws_diff_defs},          {"sweep", ws_sweep_defs},
	        {"gate", ws_gate_defs},          {"aa", ws_aa_defs},
	        {"referee", ws_referee_defs},
	};
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("tables", opts, 0, 0, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		size_t count;
		const struct ws_table_def *const *defs = groups[i].defs(&count);

		fputs(i ? "\n" : "", stdout);
		printf("%s\n", groups[i].command);
		for (size_t k = 0; k < count; k++)
			printf("  %-18s %s\n", defs[k]->name, defs[k]->title);
	}
	return WS_OK;
}

/* --- check feature --- */

/* WS_HAVE_…: 1 or 0, from the build. */
#define FEATURES(X)                                                               \
	X("cpu", 1, "the CPU reference backend of warpsheet-step")                \
	X("openblas", WS_HAVE_OPENBLAS, "its matrix multiplications by OpenBLAS") \
	X("cuda", WS_HAVE_CUDA, "the CUDA backend of warpsheet-step")             \
	X("cupti", 1, "recording of CUDA programs through CUPTI")                 \
	X("nvtx", 1, "recording of NVTX ranges")                                  \
	X("zstd", 1, "compression of traces")                                     \
	X("xlsx", 1, "reports as workbooks")                                      \
	X("csv", 1, "reports as CSV")                                             \
	X("json", 1, "reports as JSON")                                           \
	X("md", 1, "reports as Markdown")                                         \
	X("import", 1, "reading of other tools' traces")                          \
	X("export", 1, "writing of other tools' formats")                         \
	X("parquet", 1, "writing of Parquet, one of them")                        \
	X("sweep", 0, "many traces in one table")

static const struct feature {
	const char *name;
	int present;
	const char *meaning;
} features[] = {FEATURES(WS_LIST_ROW)};
#define NFEATURES (sizeof(features) / sizeof(*features))

enum ws_status ws_cmd_check_feature(int argc, char **argv, struct ws_err *err)
{
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("check-feature", opts, 0, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	if (!n) {
		for (size_t i = 0; i < NFEATURES; i++)
			printf("%-10s %-4s %s\n", features[i].name,
			       features[i].present ? "yes" : "no", features[i].meaning);
		return WS_OK;
	}
	for (size_t i = 0; i < NFEATURES; i++) {
		if (!strcmp(features[i].name, argv[0])) {
			printf("%s: %s\n", argv[0], features[i].present ? "yes" : "no");
			return features[i].present ? WS_OK : WS_FINDING;
		}
	}
	return WS_FAIL(err, FINDING, "this version has no feature called '%s'", argv[0]);
}

/* --- record --- */

/* `warpsheet record` runs warpsheet-record, so that users need one name only. */

#define RECORDER "warpsheet-record"

/* Folders of the recorder relative to this program: beside it, or installed. */
static const char *const places[] = {"", "../bin/"};

/* word: the recorder's first argument; NULL: none. */
static enum ws_status become_recorder(const char *word, int argc, char **argv, struct ws_err *err)
{
	char folder[PATH_MAX], path[PATH_MAX + sizeof(RECORDER) + 16], name[] = RECORDER;
	size_t n = 0;

	char **args = ws_xarray((size_t)argc + 3, sizeof(*args));
	args[n++] = name;
	if (word)
		args[n++] = (char *)word;
	for (int i = 0; i < argc; i++)
		args[n++] = argv[i];
	enum ws_status status = ws_executable_dir(folder, err);
	for (size_t i = 0; status == WS_OK && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s" RECORDER, folder, places[i]);
		ws_program_become(path, args);
		if (errno != ENOENT)
			status = WS_FAIL(err, ENVIRONMENT, "cannot run '%s': %s", path,
			                 strerror(errno));
	}
	WS_THEN(status, WS_FAIL(err, ENVIRONMENT,
	                        "cannot find " RECORDER " beside this program in '%s'", folder));
	free(args);
	return status;
}

enum ws_status ws_cmd_record(int argc, char **argv, struct ws_err *err)
{
	WS_FAIL_IF(!ws_system_records(), err, ENVIRONMENT,
	           "recording is done on Linux, on the machine with the GPU. Run 'warpsheet "
	           "record' there, and copy the trace here");
	return become_recorder(NULL, argc, argv, err);
}

enum ws_status ws_cmd_ctl(int argc, char **argv, struct ws_err *err)
{
	WS_FAIL_IF(!ws_system_records(), err, ENVIRONMENT,
	           "recording is done on Linux, on the machine with the GPU. Run 'warpsheet ctl' "
	           "there");
	return become_recorder("ctl", argc, argv, err);
}

/* --- main: finds the command, prints its error, makes the exit code --------------------------- */

static enum ws_status (*const runs[])(int argc, char **argv, struct ws_err *err) = {
#define X(function, name, arguments, summary, help) ws_cmd_##function,
        WS_COMMANDS(X)
#undef X
};

enum ws_status ws_cmd_help(int argc, char **argv, struct ws_err *err)
{
	char help[] = "--help", *help_argv[] = {help, NULL};

	if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		ws_command_list(stdout);
		return WS_OK;
	}
	WS_FAIL_IF(argc > 1, err, USAGE, "help takes one command, not also '%s'", argv[1]);
	int command = ws_command_find(argv[0]);
	return command < 0 ? ws_command_unknown(argv[0], err) : runs[command](1, help_argv, err);
}

static enum ws_status run(int argc, char **argv, struct ws_err *err)
{
	if (argc < 2) {
		ws_command_list(stderr);
		return WS_FAIL(err, USAGE, "no command");
	}
	const char *name = argv[1];
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version"))
		name = "version";
	else if (name[0] == '-')
		return WS_FAIL(err, USAGE, "options go after the command, see 'warpsheet help'");
	int command = ws_command_find(name);
	if (command < 0)
		return ws_command_unknown(name, err);
	return runs[command](argc - 2, argv + 2, err);
}

int main(int argc, char **argv)
{
	struct ws_err err = {0}, late = {0};
	enum ws_status status = WS_OK, written;

	ws_trace_map_end_well_when_cut();
	ws_sqlite_begin();
	/* record runs a program, to which our limits must not apply; ctl maps large segments */
	if (argc > 1 && strcmp(argv[1], "record") && strcmp(argv[1], "ctl"))
		status = ws_allowance_begin(&err);
	WS_THEN(status, run(argc, argv, &err));
	written = ws_ui_stdout_finish(&late);
	if (status == WS_NO_MEMORY && *ws_allowance_text())
		ws_ui_print("%s; %s", err.text, ws_allowance_text());
	else if (status != WS_OK && err.text[0])
		ws_ui_print("%s", err.text);
	/* lost output is more important than a finding in it */
	if (written != WS_OK &&
	    (status == WS_OK || status == WS_FINDING || status == WS_UNDECIDED)) {
		ws_ui_print("%s", late.text);
		status = written;
	}
	return ws_status_exit_code(status);
}
