#include "recorder/launch/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/shared/segment_folder.h"

#define DEFAULT_BUFFER_SIZE (UINT32_C(1) << 20)
#define DEFAULT_BUFFERS     64
/* The native steps have few threads: the same memory in larger rings makes larger blocks. */
#define MODEL_BUFFER_SIZE (UINT32_C(8) << 20)
#define MODEL_BUFFERS     8
#define DEFAULT_DEFS_SIZE (UINT64_C(8) << 20)
#define MAX_SECONDS       1e9
#define PROFILER_RANGE    "cudaProfilerApi"

/* --- values --- */

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

/* Seconds with a fraction, to ns. */
static int parse_seconds(const char *text, int64_t *out)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds < 0 || seconds > MAX_SECONDS)
		return -1;
	*out = llround(seconds * 1e9);
	return 0;
}

/* Place of the value among names, -1 = none of them. */
static int parse_choice(const char *text, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

/* --- options: each returns 0, or -1 when the value makes no sense --- */

static int set_output(struct ws_record_command *cmd, const char *value)
{
	cmd->output = value;
	return *value ? 0 : -1;
}

static int set_model(struct ws_record_command *cmd, const char *value)
{
	cmd->model = value;
	return *value ? 0 : -1;
}

static int set_salvage(struct ws_record_command *cmd, const char *value)
{
	cmd->salvage = value;
	return *value ? 0 : -1;
}

static int set_delay(struct ws_record_command *cmd, const char *value)
{
	return parse_seconds(value, &cmd->record.delay_ns);
}

static int set_duration(struct ws_record_command *cmd, const char *value)
{
	return parse_seconds(value, &cmd->record.window.duration_ns) ||
	                       !cmd->record.window.duration_ns
	               ? -1
	               : 0;
}

static int set_max_size(struct ws_record_command *cmd, const char *value)
{
	return parse_size(value, INT64_MAX, &cmd->record.max_size) || !cmd->record.max_size ? -1
	                                                                                    : 0;
}

/* N, N.. or N..M: instances, from 1. 0 = they are, -1 = they are not. */
static int parse_instances(const char *text, struct ws_seg_window *window)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	window->first = window->last = strtoull(text, &end, 10);
	if (!strcmp(end, "..")) {
		window->last = UINT64_MAX;
	} else if (!strncmp(end, "..", 2)) {
		if (parse_number(end + 2, UINT64_MAX, &window->last))
			return -1;
	} else if (*end) {
		return -1;
	}
	return errno || !window->first || window->last < window->first ? -1 : 0;
}

/* An @ that no instances follow is part of the name. */
static int set_capture_range(struct ws_record_command *cmd, const char *value)
{
	struct ws_seg_window *window = &cmd->record.window;
	const char *at = strrchr(value, '@');
	size_t len = at ? (size_t)(at - value) : strlen(value);

	window->first = 1;
	window->last = UINT64_MAX;
	if (at && at[1] >= '0' && at[1] <= '9') {
		if (parse_instances(at + 1, window))
			return -1;
	} else {
		len = strlen(value);
	}
	if (!len || len >= sizeof(window->pattern))
		return -1;
	memcpy(window->pattern, value, len);
	window->pattern[len] = 0;
	window->ranges =
	        strcmp(window->pattern, PROFILER_RANGE) ? WS_RANGES_NVTX : WS_RANGES_PROFILER;
	return 0;
}

static int set_merge(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->merge = 1;
	return 0;
}

static int set_kernels_only(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->record.capture.kernels_only = 1;
	return 0;
}

static int set_api(struct ws_record_command *cmd, const char *value)
{
	static const char *const names[] = {
	        [WS_CAPTURE_LAUNCHES] = "launches",
	        [WS_CAPTURE_ALL] = "all",
	        [WS_CAPTURE_NO_API] = "none",
	};
	int choice = parse_choice(value, names, 3);

	cmd->record.capture.api = choice < 0 ? 0 : (uint32_t)choice;
	return choice < 0 ? -1 : 0;
}

static int set_graph_level(struct ws_record_command *cmd, const char *value)
{
	static const char *const names[] = {"node", "graph"};
	int choice = parse_choice(value, names, 2);

	cmd->record.capture.graph_level = choice > 0;
	return choice < 0 ? -1 : 0;
}

static int set_library_ranges(struct ws_record_command *cmd, const char *value)
{
	static const char *const names[] = {"no", "yes"};
	int choice = parse_choice(value, names, 2);

	cmd->record.library_ranges = choice > 0 ? WS_LIBRARY_RANGES_ON : WS_LIBRARY_RANGES_OFF;
	return choice < 0 ? -1 : 0;
}

static int set_require_gpu(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->require_gpu = 1;
	return 0;
}

static int set_gpu_buffers(struct ws_record_command *cmd, const char *value)
{
	uint64_t n;

	if (parse_number(value, WS_SEG_MAX_SLOTS, &n))
		return -1;
	cmd->record.segment.slots = (uint32_t)n;
	cmd->record.capture.off = !n;
	return 0;
}

static int set_buffer_size(struct ws_record_command *cmd, const char *value)
{
	uint64_t n;

	if (parse_size(value, WS_SEG_MAX_RING, &n) || n < WS_SEG_MIN_RING || (n & (n - 1)))
		return -1;
	cmd->record.segment.ring_size = (uint32_t)n;
	return 0;
}

static int set_buffers(struct ws_record_command *cmd, const char *value)
{
	uint64_t n;

	if (parse_number(value, WS_SEG_MAX_LANES, &n) || !n)
		return -1;
	cmd->record.segment.lanes = (uint32_t)n;
	return 0;
}

static int set_flush_interval(struct ws_record_command *cmd, const char *value)
{
	uint64_t ms;

	if (parse_number(value, 3600000, &ms) || !ms)
		return -1;
	cmd->record.flush_interval_ns = (int64_t)ms * 1000000;
	cmd->record.capture.flush_interval_ms = (uint32_t)ms;
	return 0;
}

static int set_segment_dir(struct ws_record_command *cmd, const char *value)
{
	cmd->record.segment_dir = value;
	return *value ? 0 : -1;
}

static int set_compress(struct ws_record_command *cmd, const char *value)
{
	uint64_t level;

	if (parse_number(value, 19, &level) || !level)
		return -1;
	cmd->record.zstd_level = (int)level;
	return 0;
}

static int set_stop_on_exit(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->record.stop_on_exit = 1;
	return 0;
}

static int set_no_args(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->record.no_args = 1;
	return 0;
}

static int set_force(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->record.force = 1;
	return 0;
}

static int set_help(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->help = 1;
	return 0;
}

static int set_version(struct ws_record_command *cmd, const char *value)
{
	(void)value;
	cmd->version = 1;
	return 0;
}

struct option {
	const char *name;
	const char *value; /* what it takes, NULL = nothing */
	int (*set)(struct ws_record_command *cmd, const char *value);
	int is_capture; /* named in the trace's provenance */
	const char *help;
};

static const struct option options[] = {
        {"-o", "FILE", set_output, 0,
         "the trace to write, replacing it; in its name %p is the process, %h the host, "
         "%q{NAME} a variable of the environment, %% a percent sign; further processes' traces "
         "have their number before the extension (default: PROGRAM.wtrace or MODEL.wtrace in "
         "this folder, PROGRAM-2.wtrace … when that exists)"},
        {"--output", "FILE", set_output, 0, "the same as -o"},
        {"--model", "NAME", set_model, 0,
         "record warpsheet-step --model NAME; all options not listed here go to it"},
        {"--delay", "SECONDS", set_delay, 1, "record nothing in the first seconds"},
        {"--duration", "SECONDS", set_duration, 1, "record for this long, after the delay"},
        {"--max-size", "SIZE", set_max_size, 1,
         "end a trace when it has reached this size, in bytes or with K, M or G"},
        {"--capture-range", "RANGE", set_capture_range, 1,
         "record only inside NVTX ranges with this name (* and ? stand for any text and any "
         "character), or between cudaProfilerStart and -Stop: " PROFILER_RANGE ". NAME@10..20 "
         "records the 10th to the 20th of them, NAME@10 one, NAME@10.. all from there"},
        {"--merge", NULL, set_merge, 1,
         "one trace of all processes, instead of one for each; without a program, of the traces "
         "that are named"},
        {"--stop-on-exit", NULL, set_stop_on_exit, 1,
         "end the recording when PROGRAM exits, though processes that it started still run"},
        {"--kernels-only", NULL, set_kernels_only, 1,
         "of the GPU's work only kernels: no copies, waits, allocations, overhead"},
        {"--api", "WHICH", set_api, 1,
         "CUDA calls: launches (those that launch, copy, wait, allocate or load), all or none "
         "(default launches)"},
        {"--graph-level", "LEVEL", set_graph_level, 1,
         "CUDA graphs: node (each kernel) or graph (a launch is one row, cheaper) (default node)"},
        {"--library-ranges", "yes|no", set_library_ranges, 1,
         "have cuBLAS, cuDNN and their kin mark their calls as NVTX ranges (default yes with "
         "--model, else no)"},
        {"--require-gpu", NULL, set_require_gpu, 1,
         "end with 5 when no kernel of a GPU was recorded"},
        {"--gpu-buffers", "N", set_gpu_buffers, 1,
         "buffers of 1 MiB for what GPUs did, 1 to 1024; 0 records no GPU (default 128)"},
        {"--buffer-size", "SIZE", set_buffer_size, 1,
         "ring of each thread, a power of two from 4K to 1G (default 1M; with --model 8M)"},
        {"--buffers", "N", set_buffers, 1,
         "rings: threads recorded at a time, 1 to 1024 (default 64; with --model 8)"},
        {"--flush-interval", "MS", set_flush_interval, 1,
         "time until what was recorded is in the file, in ms (default 1000)"},
        {"--compress", "LEVEL", set_compress, 1, "zstd level, 1 to 19 (default 1)"},
        {"--segment-dir", "DIR", set_segment_dir, 1,
         "folder of this user's alone (mode 0700) for the shared memory (default "
         "$XDG_RUNTIME_DIR/warpsheet or " WS_SEG_DIR "/warpsheet-UID)"},
        {"--no-args", NULL, set_no_args, 1, "keep the program's arguments out of the trace"},
        {"--force", NULL, set_force, 1, "replace another tool's injection"},
        {"--salvage", "SEGMENT", set_salvage, 0,
         "finish the trace of a recorder that was killed; SEGMENT is what it left in "
         "that folder. -o tells where the trace is, when it was moved"},
        {"--help", NULL, set_help, 0, "print this"},
        {"-h", NULL, set_help, 0, "the same as --help"},
        {"--version", NULL, set_version, 0, "print the version"},
};
#define NOPTIONS (sizeof(options) / sizeof(*options))

void ws_record_options_print(FILE *f)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s", options[i].name, options[i].value ? " " : "",
		         options[i].value ? options[i].value : "");
		fprintf(f, "  %-24s  %s\n", left, options[i].help);
	}
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

/* Take argv[*i] and its value; *taken is 0 when that is no option of ours. */
static enum ws_status take_option(struct ws_record_command *cmd, char **argv, int *i, int *taken,
                                  struct ws_err *err)
{
	const char *value;
	const struct option *opt = find_option(argv[*i], &value);
	int first = *i;

	*taken = opt != NULL;
	if (!opt)
		return WS_OK;
	if (opt->value && !value) {
		value = argv[*i + 1];
		WS_FAIL_IF(!value, err, USAGE, "%s needs a value: %s", opt->name, opt->value);
		++*i;
	}
	WS_FAIL_IF(opt->set(cmd, value), err, USAGE, "%s cannot be %s; it is: %s", opt->name,
	           *value ? value : "empty", opt->help);
	for (int a = first; opt->is_capture && a <= *i; a++)
		cmd->capture_options[cmd->ncapture_options++] = argv[a];
	return WS_OK;
}

/* --merge without a program: what is no option of ours is a trace. */
static enum ws_status check_traces(const struct ws_record_command *cmd, struct ws_err *err)
{
	for (int i = 0; i < cmd->nrest; i++)
		WS_FAIL_IF(cmd->rest[i][0] == '-' && cmd->rest[i][1], err, USAGE, "%s is no option",
		           cmd->rest[i]);
	WS_FAIL_IF(!cmd->nrest, err, USAGE, "--merge needs a program after --, or traces");
	WS_FAIL_IF(!cmd->output, err, USAGE, "--merge of traces needs -o FILE");
	return WS_OK;
}

/* Only --model takes more than our options. */
static enum ws_status check_rest(const struct ws_record_command *cmd, struct ws_err *err)
{
	WS_FAIL_IF(cmd->nrest && !cmd->model, err, USAGE,
	           "%s is no option; a program and its arguments stand after --", cmd->rest[0]);
	return WS_OK;
}

static enum ws_status check_before_program(const struct ws_record_command *cmd, struct ws_err *err)
{
	WS_FORWARD(check_rest(cmd, err));
	WS_FAIL_IF(cmd->model, err, USAGE, "--model and a program exclude each other");
	return WS_OK;
}

/* What is no option of ours is one of warpsheet-step. */
static enum ws_status take_all(struct ws_record_command *cmd, int argc, char **argv,
                               struct ws_err *err)
{
	for (int i = 1; i < argc; i++) {
		int taken;

		if (!strcmp(argv[i], "--")) {
			WS_FORWARD(check_before_program(cmd, err));
			cmd->program = argv + i + 1;
			return WS_OK;
		}
		WS_FORWARD(take_option(cmd, argv, &i, &taken, err));
		if (!taken)
			cmd->rest[cmd->nrest++] = argv[i];
	}
	if (cmd->merge && !cmd->model)
		return check_traces(cmd, err);
	return check_rest(cmd, err);
}

static void set_default_rings(struct ws_record_command *cmd)
{
	struct ws_seg_opts *segment = &cmd->record.segment;
	int is_model = cmd->model && !segment->lanes && !segment->ring_size;

	if (!segment->lanes)
		segment->lanes = is_model ? MODEL_BUFFERS : DEFAULT_BUFFERS;
	if (!segment->ring_size)
		segment->ring_size = is_model ? MODEL_BUFFER_SIZE : DEFAULT_BUFFER_SIZE;
}

enum ws_status ws_record_command_parse(struct ws_record_command *cmd, int argc, char **argv,
                                       struct ws_err *err)
{
	*cmd = (struct ws_record_command){
	        .record =
	                {
	                        .segment = {0, 0, DEFAULT_DEFS_SIZE, WS_SEG_SLOTS,
	                                    WS_SEG_SLOT_SIZE},
	                        .flush_interval_ns = 1000000000,
	                },
	        .rest = calloc((size_t)argc + 1, sizeof(*cmd->rest)),
	        .capture_options = calloc((size_t)argc + 1, sizeof(*cmd->capture_options)),
	};
	WS_FAIL_IF(!cmd->rest || !cmd->capture_options, err, NO_MEMORY,
	           "out of memory for the command line");
	WS_FORWARD(take_all(cmd, argc, argv, err));
	set_default_rings(cmd);
	return WS_OK;
}

void ws_record_command_release(struct ws_record_command *cmd)
{
	free(cmd->rest);
	free(cmd->capture_options);
	cmd->rest = cmd->capture_options = NULL;
}
