/* warpsheet-record: the command line. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/launcher.h"
#include "recorder/output_name.h"
#include "recorder/provenance.h"
#include "recorder/segment_file.h"

#define NAME         "warpsheet-record"
#define STEP_PROGRAM "warpsheet-step"

#define DEFAULT_BUFFER_SIZE (UINT32_C(1) << 20)
#define DEFAULT_BUFFERS     64
#define DEFAULT_DEFS_SIZE   (UINT64_C(8) << 20)

struct command {
	struct ws_record_opts record;
	const char *output;
	const char *salvage;
	const char *model;      /* value of --model, NULL: a program after -- */
	char **program;         /* with its arguments, NULL-terminated */
	char **capture_options; /* as given, NULL-terminated: part of the provenance */
	int ncapture_options;
	int help, version;
};

/* --- options: one table for parsing and help --- */

/* Each returns 0, or -1 when the value makes no sense. */
typedef int (*option_fn)(struct command *cmd, const char *value);

static int parse_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || end == text || *end || *text == '-' || *out > max ? -1 : 0;
}

/* Bytes, with K, M or G for their powers of 1024. */
static int parse_size(const char *text, uint64_t max, uint64_t *out)
{
	static const char units[] = "KMG";
	char number[32];
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	int shift = unit ? (int)(unit - units + 1) * 10 : 0;

	if (unit)
		len--;
	if (!len || len >= sizeof(number))
		return -1;
	memcpy(number, text, len);
	number[len] = 0;
	if (parse_number(number, max >> shift, out))
		return -1;
	*out <<= shift;
	return 0;
}

static int set_output(struct command *cmd, const char *value)
{
	cmd->output = value;
	return *value ? 0 : -1;
}

static int set_model(struct command *cmd, const char *value)
{
	cmd->model = value;
	return *value ? 0 : -1;
}

static int set_salvage(struct command *cmd, const char *value)
{
	cmd->salvage = value;
	return *value ? 0 : -1;
}

static int set_buffer_size(struct command *cmd, const char *value)
{
	uint64_t n;

	if (parse_size(value, WS_SEG_MAX_RING, &n) || n < WS_SEG_MIN_RING || (n & (n - 1)))
		return -1;
	cmd->record.segment.ring_size = (uint32_t)n;
	return 0;
}

static int set_buffers(struct command *cmd, const char *value)
{
	uint64_t n;

	if (parse_number(value, WS_SEG_MAX_LANES, &n) || !n)
		return -1;
	cmd->record.segment.lanes = (uint32_t)n;
	return 0;
}

static int set_flush_interval(struct command *cmd, const char *value)
{
	uint64_t ms;

	if (parse_number(value, 3600000, &ms) || !ms)
		return -1;
	cmd->record.flush_interval_ns = (int64_t)ms * 1000000;
	return 0;
}

static int set_segment_dir(struct command *cmd, const char *value)
{
	cmd->record.segment_dir = value;
	return *value ? 0 : -1;
}

static int set_compress(struct command *cmd, const char *value)
{
	uint64_t level;

	if (parse_number(value, 19, &level) || !level)
		return -1;
	cmd->record.zstd_level = (int)level;
	return 0;
}

static int set_no_args(struct command *cmd, const char *value)
{
	(void)value;
	cmd->record.no_args = 1;
	return 0;
}

static int set_stop_on_exit(struct command *cmd, const char *value)
{
	(void)value;
	cmd->record.stop_on_exit = 1;
	return 0;
}

static int set_force(struct command *cmd, const char *value)
{
	(void)value;
	cmd->record.force = 1;
	return 0;
}

static int set_help(struct command *cmd, const char *value)
{
	(void)value;
	cmd->help = 1;
	return 0;
}

static int set_version(struct command *cmd, const char *value)
{
	(void)value;
	cmd->version = 1;
	return 0;
}

struct option {
	const char *name;
	const char *value; /* what it takes, NULL = nothing */
	option_fn set;
	int is_capture; /* named in the trace's provenance */
	const char *help;
};

static const struct option options[] = {
        {"-o", "FILE", set_output, 0,
         "the trace to write, replacing it; in its name %p is the process, %h the host, "
         "%q{NAME} a variable of the environment, %% a percent sign; further processes' traces "
         "have their number before the extension (default: PROGRAM.wtrace or MODEL.wtrace in "
         "this folder, PROGRAM-2.wtrace … when that exists)"},
        {"--model", "NAME", set_model, 0,
         "record " STEP_PROGRAM " --model NAME; all options not listed here go to it"},
        {"--buffer-size", "SIZE", set_buffer_size, 1,
         "ring of each thread, a power of two from 4K to 1G (default 1M)"},
        {"--buffers", "N", set_buffers, 1,
         "rings: threads recorded at a time, 1 to 1024 (default 64)"},
        {"--flush-interval", "MS", set_flush_interval, 1,
         "time until what was recorded is in the file, in ms (default 1000)"},
        {"--compress", "LEVEL", set_compress, 1, "zstd level, 1 to 19 (default 1)"},
        {"--segment-dir", "DIR", set_segment_dir, 1,
         "where the shared memory lies (default " WS_SEG_DIR ")"},
        {"--stop-on-exit", NULL, set_stop_on_exit, 1,
         "end the recording when PROGRAM exits, though processes that it started still run"},
        {"--no-args", NULL, set_no_args, 1, "keep the program's arguments out of the trace"},
        {"--force", NULL, set_force, 1, "replace another tool's injection"},
        {"--salvage", "SEGMENT", set_salvage, 0,
         "finish the trace of a recorder that was killed; SEGMENT is what it left in " WS_SEG_DIR
         ". -o tells where the trace is, when it was moved"},
        {"--help", NULL, set_help, 0, "print this"},
        {"--version", NULL, set_version, 0, "print the version"},
};
#define NOPTIONS (sizeof(options) / sizeof(*options))

static void print_help(FILE *f)
{
	fprintf(f,
	        "Usage: " NAME " [-o FILE] [options] -- PROGRAM [ARGS...]\n"
	        "       " NAME " [-o FILE] [options] --model NAME [model options]\n"
	        "       " NAME " --salvage SEGMENT [-o FILE]\n\n"
	        "Records what a program does into a trace file, through whatever end it comes to.\n"
	        "Ends with the program's own exit status (128 + signal when it was killed).\n\n");
	for (size_t i = 0; i < NOPTIONS; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s", options[i].name, options[i].value ? " " : "",
		         options[i].value ? options[i].value : "");
		fprintf(f, "  %-22s  %s\n", left, options[i].help);
	}
}

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs(NAME ": ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* --- the command line --- */

/* The option that arg is, with its value when it is written --name=value. */
static const struct option *find_option(const char *arg, const char **value)
{
	*value = NULL;
	for (size_t i = 0; i < NOPTIONS; i++) {
		size_t len = strlen(options[i].name);

		if (!strcmp(arg, options[i].name))
			return &options[i];
		if (len > 2 && options[i].value && !strncmp(arg, options[i].name, len) &&
		    arg[len] == '=') {
			*value = arg + len + 1;
			return &options[i];
		}
	}
	return NULL;
}

/* Take argv[*i] and its value. 0 = done, 1 = no option of ours, -1 = wrong and said so. */
static int take_option(struct command *cmd, char **argv, int *i)
{
	const char *value;
	const struct option *opt = find_option(argv[*i], &value);
	int first = *i;

	if (!opt)
		return 1;
	if (opt->value && !value) {
		value = argv[*i + 1];
		if (!value) {
			complain("%s needs a value: %s", opt->name, opt->value);
			return -1;
		}
		++*i;
	}
	if (opt->set(cmd, value)) {
		complain("%s cannot be %s", opt->name, value);
		return -1;
	}
	for (int a = first; opt->is_capture && a <= *i; a++)
		cmd->capture_options[cmd->ncapture_options++] = argv[a];
	return 0;
}

/* With --model: what is no option of ours is one of warpsheet-step. */
static int parse(struct command *cmd, int argc, char **argv, char **rest)
{
	int nrest = 0;

	for (int i = 1; i < argc; i++) {
		int taken;

		if (!strcmp(argv[i], "--")) {
			if (cmd->model || nrest) {
				complain("--model and a program exclude each other");
				return -1;
			}
			cmd->program = argv + i + 1;
			return 0;
		}
		taken = take_option(cmd, argv, &i);
		if (taken < 0)
			return -1;
		if (taken)
			rest[nrest++] = argv[i];
	}
	if (nrest && !cmd->model) {
		complain("%s is no option; a program and its arguments stand after --", rest[0]);
		return -1;
	}
	return 0;
}

/* NAME.wtrace in this folder, as a pattern. */
static int default_output(char *out, size_t size, const char *name)
{
	char copy[PATH_MAX];
	size_t len;

	snprintf(copy, sizeof(copy), "%s", name);
	if (ws_output_escape(basename(copy), out, size))
		return -1;
	len = strlen(out);
	return snprintf(out + len, size - len, ".wtrace") < (int)(size - len) ? 0 : -1;
}

/* argv of "warpsheet-step --model NAME rest…", the program found beside this one. */
static int step_command(struct command *cmd, char **rest, char path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int nrest = 0, len;

	if (n < 0)
		return -1;
	self[n] = 0;
	len = snprintf(path, PATH_MAX, "%s/" STEP_PROGRAM, dirname(self));
	while (rest[nrest])
		nrest++;
	cmd->program = calloc((size_t)nrest + 4, sizeof(*cmd->program));
	if (!cmd->program || len < 0 || len >= PATH_MAX)
		return -1;
	cmd->program[0] = path;
	cmd->program[1] = (char *)"--model";
	cmd->program[2] = (char *)cmd->model;
	memcpy(cmd->program + 3, rest, (size_t)nrest * sizeof(*rest));
	return 0;
}

/* --- what the user reads --- */

static void notice(const char *line)
{
	complain("%s", line);
}

static void abandoned(void *ctx, const char *path)
{
	const char *further = strstr(path, WS_SEG_FURTHER);
	char first[PATH_MAX];

	(void)ctx;
	/* salvaging the first segment of a recording salvages the others */
	snprintf(first, sizeof(first), "%.*s", further ? (int)(further - path) : 0, path);
	if (further && !access(first, F_OK))
		return;
	complain("a killed recorder left %s; finish its trace: " NAME " --salvage %s", path, path);
}

/* One line for all traces: what one of them lacks is missing. */
static void print_losses(const struct ws_record_result *r)
{
	int any = 0;

	for (int i = 0; i < WS_LOSS_COUNT; i++) {
		uint64_t lost = 0;

		for (size_t t = 0; t < r->ntraces; t++)
			lost += r->traces[t].lost[i];
		if (!lost)
			continue;
		fprintf(stderr, "%s %s %" PRIu64,
		        any ? "," : NAME ": lost:", ws_loss_name((enum ws_loss)i), lost);
		any = 1;
	}
	if (any)
		fputc('\n', stderr);
}

/* Paths in this folder without it, as they were most likely given. */
static const char *short_path(const char *path)
{
	static char cwd[PATH_MAX];
	size_t len;

	if (!getcwd(cwd, sizeof(cwd)))
		return path;
	len = strlen(cwd);
	return !strncmp(path, cwd, len) && path[len] == '/' ? path + len + 1 : path;
}

static void print_traces(const struct ws_record_result *r, const char *rescued)
{
	for (size_t i = 0; i < r->ntraces; i++) {
		const struct ws_trace_result *t = &r->traces[i];
		char process[32] = "";

		if (r->ntraces > 1)
			snprintf(process, sizeof(process), " of process %u", (unsigned)t->pid);
		complain("%s%s: %" PRIu64 " kernels, %" PRIu64 " ranges, %" PRIu64
		         " marks%s, %" PRIu64 " bytes",
		         short_path(t->path), process, t->counts.kernels, t->counts.ranges,
		         t->counts.marks, rescued, t->file_size);
	}
	print_losses(r);
}

static void print_summary(const struct ws_record_result *r)
{
	if (r->term_signal)
		complain("the program was killed by signal %d (%s)", r->term_signal,
		         strsignal(r->term_signal));
	if (r->ntraces && !r->traces[0].pid)
		complain("nothing to record: the program made no NVTX call (or is linked "
		         "statically, runs with another user's rights, or clears its environment)");
	print_traces(r, "");
}

/* --- the commands --- */

static int salvage(struct command *cmd)
{
	struct ws_record_result result;
	struct ws_err err;
	enum ws_status status;

	cmd->record.output = cmd->output;
	status = ws_record_salvage(&cmd->record, cmd->salvage, &result, &err);
	if (status != WS_OK) {
		complain("%s", err.text);
		return ws_status_exit_code(status);
	}
	if (!result.ntraces)
		complain("the trace was finished; %s is removed", cmd->salvage);
	print_traces(&result, " rescued");
	ws_record_result_release(&result);
	return 0;
}

static int record(struct command *cmd)
{
	struct ws_record_result result;
	char output[PATH_MAX];
	enum ws_status status;
	struct ws_err err;
	int code;

	cmd->record.output = cmd->output;
	if (!cmd->output) {
		if (default_output(output, sizeof(output),
		                   cmd->model ? cmd->model : cmd->program[0])) {
			complain("cannot find a name for the trace; give one with -o");
			return ws_status_exit_code(WS_USAGE);
		}
		cmd->record.output = output;
		cmd->record.keep_existing = 1;
	}
	cmd->record.expect_usage_error = cmd->model != NULL;
	cmd->record.options_text = ws_quote(cmd->capture_options);
	if (!cmd->record.options_text) {
		complain("out of memory");
		return ws_status_exit_code(WS_NO_MEMORY);
	}
	ws_segment_file_abandoned(cmd->record.segment_dir ? cmd->record.segment_dir : WS_SEG_DIR,
	                          abandoned, NULL);
	status = ws_record_run(&cmd->record, cmd->program, &result, &err);
	free((char *)cmd->record.options_text);
	if (status != WS_OK) {
		complain("%s", err.text);
		print_losses(&result);
		code = result.exit_code ? result.exit_code : ws_status_exit_code(status);
	} else {
		print_summary(&result);
		code = result.exit_code;
	}
	ws_record_result_release(&result);
	return code;
}

static int run(struct command *cmd, char **rest)
{
	char step_path[PATH_MAX];
	int code;

	if (cmd->help) {
		print_help(stdout);
		return 0;
	}
	if (cmd->version) {
		puts(NAME " " WS_VERSION);
		return 0;
	}
	if (cmd->salvage)
		return salvage(cmd);
	if (!cmd->model && (!cmd->program || !cmd->program[0])) {
		complain("nothing to run: give --model NAME or -- PROGRAM (see --help)");
		return ws_status_exit_code(WS_USAGE);
	}
	if (!cmd->model)
		return record(cmd);
	code = step_command(cmd, rest, step_path) ? ws_status_exit_code(WS_ENVIRONMENT)
	                                          : record(cmd);
	free(cmd->program);
	return code;
}

int main(int argc, char **argv)
{
	struct command cmd = {
	        .record =
	                {
	                        .segment = {DEFAULT_BUFFERS, DEFAULT_BUFFER_SIZE,
	                                    DEFAULT_DEFS_SIZE},
	                        .flush_interval_ns = 1000000000,
	                        .notice = notice,
	                },
	};
	char **rest = calloc((size_t)argc + 1, sizeof(*rest));
	int code = ws_status_exit_code(WS_NO_MEMORY);

	cmd.capture_options = calloc((size_t)argc + 1, sizeof(*cmd.capture_options));
	if (rest && cmd.capture_options)
		code = parse(&cmd, argc, argv, rest) ? ws_status_exit_code(WS_USAGE)
		                                     : run(&cmd, rest);
	else
		complain("out of memory");
	free(rest);
	free(cmd.capture_options);
	return code;
}
