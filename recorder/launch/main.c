/* warpsheet-record: the command line. */
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recorder/launch/launch.h"

#define NAME         "warpsheet-record"
#define STEP_PROGRAM "warpsheet-step"

/* --- the program --- */

/* The path of a program beside this one. */
static bool find_beside(const char *name, char path[PATH_MAX])
{
	char self[PATH_MAX];

	if (ws_program_path(self, sizeof(self)))
		return false;
	int len = snprintf(path, PATH_MAX, "%s/%s", dirname(self), name);
	return len > 0 && len < PATH_MAX;
}

/* argv of "warpsheet-step --model NAME rest…", the program found beside this one. */
static int step_command(struct ws_record_command *cmd, char path[PATH_MAX])
{
	if (!find_beside(STEP_PROGRAM, path))
		return -1;
	cmd->program = ws_xarray((size_t)cmd->nrest + 4, sizeof(*cmd->program));
	cmd->program[0] = path;
	cmd->program[1] = (char *)"--model";
	cmd->program[2] = (char *)cmd->model;
	memcpy(cmd->program + 3, cmd->rest, (size_t)cmd->nrest * sizeof(*cmd->rest));
	return 0;
}

/* --- what the user reads --- */

/* One line for all traces together. */
static void print_losses(const struct ws_record_result *r)
{
	int any = 0;

	for (int i = 0; i < WS_DROPPED_COUNT; i++) {
		uint64_t lost = 0;

		for (size_t t = 0; t < r->ntraces; t++)
			lost += r->traces[t].lost[i];
		if (!lost)
			continue;
		fprintf(stderr, "%s %s %" PRIu64,
		        any ? "," : NAME ": lost:", ws_dropped_name((enum ws_dropped)i), lost);
		any = 1;
	}
	if (any)
		fputc('\n', stderr);
}

/* Prints paths in the current folder relative to it, as the user probably typed them. */
static const char *short_path(const char *path)
{
	static char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)))
		return path;
	size_t len = strlen(cwd);
	return !strncmp(path, cwd, len) && path[len] == '/' ? path + len + 1 : path;
}

static void print_traces(const struct ws_record_command *cmd, const struct ws_record_result *r,
                         const char *rescued)
{
	for (size_t i = 0; i < r->ntraces; i++) {
		const struct ws_trace_result *t = &r->traces[i];
		char process[32] = "", operations[48] = "";

		if (r->ntraces > 1)
			snprintf(process, sizeof(process), " of process %u", (unsigned)t->pid);
		if (t->counts.operations)
			snprintf(operations, sizeof(operations), ", %" PRIu64 " operations",
			         t->counts.operations);
		ws_record_notice("%s%s: %" PRIu64 " kernels, %" PRIu64 " ranges, %" PRIu64
		                 " marks%s%s, %" PRIu64 " bytes",
		                 short_path(t->path), process, t->counts.kernels, t->counts.ranges,
		                 t->counts.marks, operations, rescued, t->file_size);
	}
	/* Not a loss: the user asked for it. */
	uint64_t outside = 0;
	/* while the recording was silent most events were not even seen */
	for (size_t j = 0; j < r->ntraces && !cmd->record.capture.standby; j++)
		outside += r->traces[j].noutside;
	if (outside)
		ws_record_notice("%" PRIu64 " events outside the capture range were left out",
		                 outside);
	for (size_t j = 0; j < r->ntraces; j++)
		if (*ws_calibrate_words(r->traces[j].calibrate))
			ws_record_notice("--calibrate: every step of %s is recorded: %s",
			                 short_path(r->traces[j].path),
			                 ws_calibrate_words(r->traces[j].calibrate));
	print_losses(r);
}

/* Prints a summary, and explains missing GPU kernels and missing operations of PyTorch. Exit code:
 * the program's, unless --require-gpu was given and no GPU was recorded. */
static int print_summary(const struct ws_record_command *cmd, const struct ws_record_result *r)
{
	uint64_t gpu_kernels = 0, operations = 0;
	bool saw_cuda = false;

	if (r->term_signal)
		ws_record_notice("the program was killed by signal %d (%s)", r->term_signal,
		                 strsignal(r->term_signal));
	if (r->ntraces && !r->traces[0].pid && r->obstacle)
		ws_record_notice("nothing to record: the program %s", r->obstacle);
	else if (r->ntraces && !r->traces[0].pid && r->is_hidden)
		ws_record_notice(
		        "nothing to record: the program could not see the recorder's shared "
		        "memory. bwrap, Apptainer and other containers have a /dev/shm of their "
		        "own. Name a folder that it sees with --segment-dir");
	else if (r->ntraces && !r->traces[0].pid)
		ws_record_notice(
		        "nothing to record: the program used neither CUDA nor NVTX. Or it is "
		        "statically linked, runs as another user, clears its environment, or has "
		        "a /dev/shm of its own, as in a container (see --segment-dir)");

	/* Each problem once, however many processes have it. */
	char line[1600], before[1600] = "";

	for (size_t i = 0; i < r->ntraces; i++) {
		if (!ws_gpu_problem(&r->traces[i].gpu, line, sizeof(line)) || !strcmp(line, before))
			continue;
		ws_record_notice("no GPU was recorded: %s", line);
		memcpy(before, line, sizeof(before));
	}
	unsigned masked = 0;
	for (size_t i = 0; i < r->ntraces; i++)
		masked += r->traces[i].masked;
	if (masked)
		ws_record_notice("secrets in %u argument%s are masked in the trace; --no-args "
		                 "keeps all arguments out",
		                 masked, WS_PLURAL(masked));
	print_traces(cmd, r, "");

	for (size_t i = 0; i < r->ntraces; i++) {
		gpu_kernels += r->traces[i].counts.gpu_kernels;
		operations += r->traces[i].counts.operations;
		saw_cuda |= r->traces[i].gpu.state != WS_GPU_NONE;
	}
	/* a program that uses CUDA but ended before it initialized CUDA; with --require-gpu it is
	 * reported below, and warpsheet-step has reported it itself */
	if (!cmd->require_gpu && !cmd->model && !cmd->record.capture.no_cupti && r->uses_cuda &&
	    r->ntraces && !saw_cuda)
		ws_record_notice("no GPU was recorded: %s", ws_gpu_absence(line, sizeof(line)));
	if (cmd->record.capture.pytorch && !operations)
		ws_record_notice("--pytorch recorded no operation: no recorded process ran "
		                 "PyTorch, or a PyTorch that hides its functions");
	if (!cmd->require_gpu || gpu_kernels)
		return r->exit_code;
	ws_record_notice("no kernel of a GPU was recorded (--require-gpu)%s%s",
	                 saw_cuda ? "" : ": ", saw_cuda ? "" : ws_gpu_absence(line, sizeof(line)));
	return ws_status_exit_code(WS_ENVIRONMENT);
}

/* --- the commands --- */

/* Exit code. */
static int failed(enum ws_status status, const struct ws_err *err)
{
	ws_record_notice("%s", err->text);
	return ws_status_exit_code(status);
}

static int salvage(struct ws_record_command *cmd)
{
	struct ws_record_result result = {0};
	struct ws_err err;
	struct stat st;
	enum ws_status status = ws_allowance_begin(&err);

	if (stat(cmd->salvage, &st) == 0)
		ws_allowance_file((uint64_t)st.st_size);
	cmd->record.output = cmd->output;
	WS_THEN(status, ws_record_salvage(&cmd->record, cmd->salvage, &result, &err));
	if (status == WS_OK) {
		if (result.found == WS_SALVAGE_FINISHED)
			ws_record_notice("the trace was finished; %s is removed", cmd->salvage);
		else if (result.found == WS_SALVAGE_REPLACED)
			ws_record_notice("another recording has replaced the trace since, and is "
			                 "whole; %s is removed",
			                 cmd->salvage);
		print_traces(cmd, &result, " rescued");
	}
	ws_record_result_release(&result);
	return status == WS_OK ? 0 : failed(status, &err);
}

static int record(struct ws_record_command *cmd)
{
	const char *folder_id = getenv(WS_SERIES_FOLDER_ENV);
	struct ws_record_result result;
	char output[PATH_MAX];
	enum ws_status status;
	struct ws_err err;
	int code;

	if (folder_id) { /* for this process only: the program must not see it */
		cmd->record.folder_id = folder_id = ws_xstrdup(folder_id);
		unsetenv(WS_SERIES_FOLDER_ENV);
	}
	cmd->record.output = cmd->output;
	if (cmd->output && !folder_id) {
		snprintf(output, sizeof(output), "%s", cmd->output);
		status = ws_output_add_rank(output, sizeof(output), &err);
		if (status != WS_OK)
			return failed(status, &err);
		cmd->record.output = output;
	}
	/* native models mark their steps themselves */
	cmd->record.tell_progress = !cmd->model && isatty(STDERR_FILENO);
	if (!cmd->output) {
		/* NAME.wtrace in this folder, as a pattern. */
		char name[PATH_MAX];

		snprintf(name, sizeof(name), "%s", cmd->model ? cmd->model : cmd->program[0]);
		bool is_long = ws_output_escape(basename(name), output, sizeof(output));
		size_t len = strlen(output);
		if (is_long || snprintf(output + len, sizeof(output) - len, ".wtrace") >=
		                       (int)(sizeof(output) - len)) {
			ws_record_notice("cannot find a name for the trace; give one with -o");
			return ws_status_exit_code(WS_USAGE);
		}
		cmd->record.output = output;
		cmd->record.keep_existing = 1;
	}
	cmd->record.expect_usage_error = cmd->model != NULL;
	if (cmd->record.library_ranges == WS_LIBRARY_RANGES_DEFAULT && cmd->model)
		cmd->record.library_ranges = WS_LIBRARY_RANGES_ON;
	cmd->record.options_text = ws_quote(cmd->capture_options);
	ws_segments_tell_abandoned(cmd->record.segment_dir);
	status = ws_record_run(&cmd->record, cmd->program, &result, &err);
	free((char *)cmd->record.options_text);
	if (status != WS_OK) {
		code = failed(status, &err);
		print_losses(&result);
		code = result.exit_code ? result.exit_code : code;
	} else {
		code = print_summary(cmd, &result);
	}
	ws_record_result_release(&result);
	free((char *)folder_id);
	return code;
}

/* --- many recordings --- */

/* Runs `warpsheet referee FOLDER` of the program beside this one, with -o FILE if there is one.
 * Returns its exit status. */
static int judge(const char *folder, bool is_shown, const char *file)
{
	char path[PATH_MAX],
	        *argv[] = {(char *)"warpsheet",          (char *)"referee", (char *)folder,
	                   (char *)(file ? "-o" : NULL), (char *)file,      NULL};
	int status = 0;

	if (!find_beside("warpsheet", path))
		return ws_status_exit_code(WS_ENVIRONMENT);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (!is_shown) {
			const int null = open("/dev/null", O_WRONLY);

			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		execv(path, argv);
		_exit(ws_status_exit_code(WS_ENVIRONMENT));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status)
	                                    : ws_status_exit_code(WS_ENVIRONMENT);
}

/* Are the runs so far too few for a verdict? */
static bool is_open(const struct ws_series_opts *opts)
{
	return judge(opts->folder, false, NULL) == ws_status_exit_code(WS_UNDECIDED);
}

/* A grid or --repeat: each run is a new process of this program. */
static int record_series(struct ws_record_command *cmd)
{
	char name[PATH_MAX] = "", path[PATH_MAX];
	struct ws_grid_program programs[2] = {{name, cmd->program}, {"b", cmd->program_b}};
	struct ws_series_opts opts = {
	        .folder = cmd->output,
	        .capture_options = cmd->capture_options,
	        .is_open = cmd->ab ? is_open : NULL,
	        .most_ns = cmd->most_ns,
	        .pause_ns = cmd->pause_ns,
	};
	struct ws_grid grid = {0};
	struct ws_err err;
	uint64_t seed = 1; /* a grid has the same order each time */
	int stopped_by = 0;

	if (!cmd->output) {
		ws_record_notice("several recordings need a folder: -o FOLDER");
		return ws_status_exit_code(WS_USAGE);
	}
	if (cmd->ab && (!find_beside("warpsheet", path) || access(path, X_OK))) {
		ws_record_notice("--ab needs the program warpsheet beside " NAME);
		return ws_status_exit_code(WS_ENVIRONMENT);
	}
	if (!cmd->model) {
		snprintf(name, sizeof(name), "%s", cmd->program[0]);
		memmove(name, basename(name), strlen(basename(name)) + 1);
	}
	/* a fair coin for each pair: the referee's 1 % rests on it */
	if (cmd->ab && ws_random(&seed, sizeof(seed))) {
		ws_record_notice("cannot read random bytes: %s", strerror(errno));
		return ws_status_exit_code(WS_ENVIRONMENT);
	}
	if (cmd->ab)
		snprintf(name, sizeof(name), "a");
	/* the seed of warpsheet-step also sets the order of recordings */
	for (int i = 0; i + 1 < cmd->nrest; i++)
		if (!strcmp(cmd->rest[i], "--seed")) {
			seed = strtoull(cmd->rest[i + 1], NULL, 10);
			break;
		}
	enum ws_status status = ws_grid_plan(&grid, cmd->model, cmd->rest, cmd->nrest, programs,
	                                     cmd->ab ? 2 : 1, cmd->repeat, seed, &err);
	WS_THEN(status, ws_series_run(&grid, &opts, &stopped_by, &err));
	ws_grid_free(&grid);
	if (stopped_by)
		return 128 + stopped_by;
	if (status != WS_OK && status != WS_FINDING)
		return failed(status, &err);
	if (!cmd->ab)
		return ws_status_exit_code(status);
	char *file = cmd->referee ? ws_xformat("%s/referee.json", cmd->output) : NULL;
	const int written = file ? judge(cmd->output, true, file) : 0,
	          shown = judge(cmd->output, true, NULL);

	free(file);
	/* the verdict is the same, so another status is that of writing */
	return file && written != shown ? written : shown;
}

/* Options of a model are documented by warpsheet-step. */
static int print_model_help(struct ws_record_command *cmd, char **argv)
{
	char path[PATH_MAX];

	cmd->model = "";
	if (step_command(cmd, path))
		return ws_status_exit_code(WS_ENVIRONMENT);
	free(cmd->program);
	putchar('\n');
	fflush(stdout);
	argv[0] = path;
	execv(path, argv);
	ws_record_notice("cannot run %s: %s", path, strerror(errno));
	return ws_status_exit_code(WS_ENVIRONMENT);
}

static int run(struct ws_record_command *cmd, int argc, char **argv)
{
	char step_path[PATH_MAX];

	if (cmd->help) {
		printf("Usage: " NAME " [-o FILE] [options] -- PROGRAM [ARGS...]\n"
		       "       " NAME " [-o FILE] [options] --model NAME [model options]\n"
		       "       " NAME " --ab -o FOLDER [options] -- A [ARGS...] --- B [ARGS...]\n"
		       "       " NAME " --salvage SEGMENT [-o FILE]\n\n"
		       "Records what a program does into a trace file, however it ends.\n"
		       "Ends with the program's own exit status (128 + signal when it was "
		       "killed).\n\n");
		ws_record_options_print(stdout);
		for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
			if (!strncmp(argv[i], "--model", 7) && (!argv[i][7] || argv[i][7] == '='))
				return print_model_help(cmd, argv);
		return 0;
	}
	if (cmd->version) {
		puts(NAME " " WS_VERSION);
		return 0;
	}
	if (cmd->salvage)
		return salvage(cmd);
	if (!cmd->model && (!cmd->program || !cmd->program[0])) {
		ws_record_notice("nothing to run: give --model NAME or -- PROGRAM (see --help)");
		return ws_status_exit_code(WS_USAGE);
	}
	if (cmd->referee && !cmd->ab) {
		ws_record_notice("--referee needs --ab");
		return ws_status_exit_code(WS_USAGE);
	}
	if (cmd->ab && !cmd->program_b) {
		ws_record_notice("--ab compares two programs: -- A... --- B...");
		return ws_status_exit_code(WS_USAGE);
	}
	if (cmd->ab || cmd->has_repeat || ws_grid_has_lists(cmd->model, cmd->rest, cmd->nrest))
		return record_series(cmd);
	if (cmd->most_ns || cmd->pause_ns) {
		ws_record_notice("--time-limit and --pause need --ab or --repeat");
		return ws_status_exit_code(WS_USAGE);
	}
	if (!cmd->model)
		return record(cmd);
	int code = step_command(cmd, step_path) ? ws_status_exit_code(WS_ENVIRONMENT) : record(cmd);
	free(cmd->program);
	return code;
}

int main(int argc, char **argv)
{
	struct ws_record_command cmd;
	struct ws_err err;

	if (argc > 1 && !strcmp(argv[1], "ctl"))
		return ws_ctl(argc - 1, argv + 1);
	enum ws_status status = ws_record_command_parse(&cmd, argc, argv, &err);
	int code = status == WS_OK ? run(&cmd, argc, argv) : failed(status, &err);
	ws_record_command_release(&cmd);
	return code;
}
