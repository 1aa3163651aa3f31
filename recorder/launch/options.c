#include "recorder/launch/launch.h"

/* A launching thread makes up to 100 MB of events per second; this is enough for 0.1 s. */
#define DEFAULT_BUFFER_SIZE (UINT32_C(8) << 20)
#define DEFAULT_BUFFERS     1024
/* for segments that cannot grow */
#define RESERVED_BUFFER_SIZE (UINT32_C(1) << 20)
#define RESERVED_BUFFERS     64
#define DEFAULT_DEFS_SIZE    (UINT64_C(8) << 20)
#define MAX_FLUSH_MS         3600000
/* GPUs make no new values more often. */
#define MIN_SAMPLE_MS     20
#define DEFAULT_SAMPLE_MS 100
#define MAX_SAMPLE_MS     60000
/* Finds a difference of 1.2 times the scatter of pairs nearly always: docs/dev/referee.md. */
#define DEFAULT_PAIRS  40
#define LEAST_KEPT_NS  100000000
#define PROFILER_RANGE "cudaProfilerApi"

/* Option values that are converted before use. */
struct given {
	const char *capture_range;
	int64_t max_size_bytes, gpu_buffers, buffer_size_bytes, buffers, flush_interval_ms, level,
	        cpu_time_quantum_ns, calibrate;
	int api, graph_level, hw_trace, library_ranges, pytorch;
	struct ws_opt_texts triggers;
	bool kernels_only, has_library_ranges, has_pytorch, standby;
};

#define IN_PROVENANCE 1 /* tag: the option is stored in the trace */

enum { MAX_OPTIONS = 52 };

/* Number of entries. */
static size_t make_table(struct ws_record_command *cmd, struct given *g,
                         struct ws_opt table[MAX_OPTIONS])
{
	struct ws_record_opts *r = &cmd->record;
	const struct ws_opt opts[] = {
#include "recorder/launch/options.def"
	};

	_Static_assert(sizeof(opts) <= MAX_OPTIONS * sizeof(*opts), "the table holds them");
	memcpy(table, opts, sizeof(opts));
	return sizeof(opts) / sizeof(*opts);
}

void ws_record_options_print(FILE *f)
{
	struct ws_record_command cmd;
	struct ws_opt table[MAX_OPTIONS];
	struct given g;

	ws_opt_print_help(f, table, make_table(&cmd, &g, table));
}

/* --- values of options --- */

/* N, N.. or N..M: instances, from 1. */
static bool parse_instances(const char *text, struct ws_seg_window *window)
{
	int64_t range[2] = {-1, -1};
	char copy[64], *words[] = {(char *)"--i", copy};
	const struct ws_opt opt = WS_OPT("i", 0, RANGE, "N", range, "");
	int n;

	if (*text == '.' || strlen(text) >= sizeof(copy))
		return false;
	memcpy(copy, text, strlen(text) + 1);
	if (ws_opt_parse(&opt, 1, 2, words, &n, NULL) != WS_OK || range[0] < 1)
		return false;
	window->first = (uint64_t)range[0];
	window->last = range[1] < 0 ? UINT64_MAX : (uint64_t)range[1];
	return true;
}

/* The values of --pytorch, in the order of options.def. */
static const struct {
	uint8_t pytorch;
	bool no_source;
} pytorch_choices[] = {
        {WS_PYTORCH_SAMPLED, 0}, {WS_PYTORCH_SHAPES, 0}, {WS_PYTORCH_NAMES, 0}, {WS_PYTORCH_OFF, 0},
        {WS_PYTORCH_SAMPLED, 1}, {WS_PYTORCH_SHAPES, 1}, {WS_PYTORCH_NAMES, 1},
};

/* --- the command line --- */

static enum ws_status take_all(struct ws_record_command *cmd, const struct ws_opt *table,
                               size_t noptions, int argc, char **argv, struct ws_err *err)
{
	struct ws_opt_parser p = {table, noptions, argv, argc, 1};

	while (p.pos < argc) {
		const struct ws_opt *taken;
		int first = p.pos;

		if (!strcmp(argv[first], "--")) {
			cmd->program = argv + first + 1;
			break;
		}
		WS_FORWARD(ws_opt_take(&p, &taken, err));
		if (!taken)
			cmd->rest[cmd->nrest++] = argv[p.pos++];
		for (int i = first; taken && taken->tags == IN_PROVENANCE && i < p.pos; i++)
			cmd->capture_options[cmd->ncapture_options++] = argv[i];
	}
	for (char **word = cmd->program; cmd->ab && word && *word; word++)
		if (!strcmp(*word, "---")) {
			*word = NULL;
			cmd->program_b = word[1] ? word + 1 : NULL;
			break;
		}
	/* Other options belong to warpsheet-step. */
	if (cmd->model) {
		WS_FAIL_IF(cmd->ab, err, USAGE,
		           "--ab compares programs: -- A... --- B..., each of "
		           "which may be warpsheet-step --model NAME");
		WS_FAIL_IF(cmd->program, err, USAGE, "--model and a program exclude each other");
		return WS_OK;
	}
	for (int j = 0; j < cmd->nrest; j++) {
		const char *word = cmd->rest[j];

		if (word[0] == '-' && word[1])
			return ws_opt_unknown(table, noptions, word, err);
		return WS_FAIL(err, USAGE,
		               "unexpected argument %s: a program and its arguments stand after --",
		               word);
	}
	return WS_OK;
}

enum ws_status ws_record_command_parse(struct ws_record_command *cmd, int argc, char **argv,
                                       struct ws_err *err)
{
	struct given g = {.gpu_buffers = WS_SEG_SLOTS};
	struct ws_opt table[MAX_OPTIONS];
	struct ws_record_opts *r = &cmd->record;
	const char *pytorch = getenv(WS_PYTORCH_ENV);
	struct ws_seg_opts *segment;

	*cmd = (struct ws_record_command){
	        .record = {.gpu_sample_ms = DEFAULT_SAMPLE_MS,
	                   .segment = {.defs_size = DEFAULT_DEFS_SIZE,
	                               .slots = WS_SEG_SLOTS,
	                               .slot_size = WS_SEG_SLOT_SIZE}},
	        .rest = ws_xarray((size_t)argc + 1, sizeof(*cmd->rest)),
	        .capture_options = ws_xarray((size_t)argc + 1, sizeof(*cmd->capture_options)),
	        .repeat = 1,
	        .help = ws_opt_asks_help(argc, argv),
	};
	if (cmd->help)
		return WS_OK;
	size_t noptions = make_table(cmd, &g, table);
	WS_FORWARD(take_all(cmd, table, noptions, argc, argv, err));
	if (!cmd->record.segment_dir) {
		const char *dir = secure_getenv(WS_SEG_DIR_ENV);

		cmd->record.segment_dir = dir && *dir ? dir : NULL;
	}
	if (cmd->ab && !cmd->has_repeat)
		cmd->repeat = DEFAULT_PAIRS;
	r->max_size = (uint64_t)g.max_size_bytes;
	r->capture.no_cupti = !g.gpu_buffers;
	r->capture.kernels_only = g.kernels_only;
	r->capture.api = (uint32_t)g.api;
	r->capture.graph_level = g.graph_level == 1;
	r->capture.hw_trace = g.hw_trace == 1;
	r->capture.flush_interval_ms = (uint32_t)g.flush_interval_ms;
	r->flush_interval_ns = g.flush_interval_ms ? g.flush_interval_ms * 1000000 : 1000000000;
	if (g.has_library_ranges)
		r->library_ranges = g.library_ranges ? WS_LIBRARY_RANGES_ON : WS_LIBRARY_RANGES_OFF;
	r->capture.cpu_time_quantum_ns = (uint32_t)g.cpu_time_quantum_ns;
	r->zstd_level = (int)g.level;
	/* The environment can only turn it off, as the person who set it may not see this command
	 * line. */
	r->capture.pytorch = g.has_pytorch && !(pytorch && !strcmp(pytorch, "off"))
	                             ? pytorch_choices[g.pytorch].pytorch
	                             : WS_PYTORCH_OFF;
	r->capture.no_source = pytorch_choices[g.pytorch].no_source;
	r->capture.calibrate = (uint32_t)g.calibrate;
	WS_FAIL_IF(r->gpu_sample_ms && r->gpu_sample_ms < MIN_SAMPLE_MS, err, USAGE,
	           "--gpu-samples %lld: give %d ms or more, or 0 for none",
	           (long long)r->gpu_sample_ms, MIN_SAMPLE_MS);
	WS_FAIL_IF(g.calibrate && g.capture_range, err, USAGE,
	           "--calibrate and --capture-range exclude each other");
	r->capture.standby = g.standby;
	r->capture.keeps = r->keep_ns != 0;
	WS_FAIL_IF(g.standby &&
	                   (g.calibrate || g.capture_range || r->delay_ns || r->window.duration_ns),
	           err, USAGE,
	           "--standby excludes --calibrate, --capture-range, --delay and --duration: "
	           "`warpsheet ctl` says when to record");
	WS_FAIL_IF(r->job && !g.standby && !r->keep_ns, err, USAGE,
	           "--job needs --standby or --keep");
	WS_FAIL_IF(r->keep_ns && r->keep_ns < LEAST_KEPT_NS, err, USAGE,
	           "--keep needs at least 0.1 s");
	WS_FAIL_IF(r->keep_ns && r->max_size, err, USAGE,
	           "--keep and --max-size exclude each other");
	WS_FAIL_IF(r->keep_ns && (g.standby || cmd->ab || cmd->has_repeat), err, USAGE,
	           "--keep excludes --standby, --ab and --repeat");
	WS_FAIL_IF(g.triggers.n && !r->keep_ns, err, USAGE, "--when needs --keep");
	for (size_t i = 0; i < g.triggers.n; i++) {
		const char *when = g.triggers.text[i];
		int end = 0;

		if (!strcmp(when, "signal")) {
			r->dumps_on_signal = true;
			continue;
		}
		WS_FAIL_IF(
		        sscanf(when, "step > %lfx median%n", &r->slow_factor, &end) != 1 || !end ||
		                when[end] || !(r->slow_factor > 1),
		        err, USAGE,
		        "--when %s: write 'step > 1.5x median', with a factor above 1, or signal",
		        when);
	}
	for (size_t i = 0; i < r->facts.n; i++) {
		const char *fact = r->facts.text[i], *equals = strchr(fact, '=');

		WS_FAIL_IF(!equals || equals == fact ||
		                   strchr(" \t\n", fact[strcspn(fact, "= \t\n")]) ||
		                   equals - fact + sizeof("workload.") > WS_FACT_KEY_MAX,
		           err, USAGE, "--fact %s: write KEY=VALUE, such as batch=16", fact);
	}
	if (g.capture_range) {
		/* An @ without instances after it is part of the name. */
		const char *value = g.capture_range;
		const char *at = strrchr(value, '@');
		size_t len = strlen(value);

		r->window.first = 1;
		r->window.last = UINT64_MAX;
		if (at && at[1] >= '0' && at[1] <= '9') {
			WS_FAIL_IF(!parse_instances(at + 1, &r->window), err, USAGE,
			           "--capture-range %s: instances are @N, @N.. or @N..M, from 1",
			           value);
			len = (size_t)(at - value);
		}
		WS_FAIL_IF(!len || len >= sizeof(r->window.pattern), err, USAGE,
		           "--capture-range %s: a name has 1 to %zu bytes", value,
		           sizeof(r->window.pattern) - 1);
		memcpy(r->window.pattern, value, len);
		r->window.pattern[len] = 0;
		r->window.ranges = strcmp(r->window.pattern, PROFILER_RANGE) ? WS_RANGES_NVTX
		                                                             : WS_RANGES_PROFILER;
	}
	segment = &cmd->record.segment;
	WS_FAIL_IF(g.buffer_size_bytes & (g.buffer_size_bytes - 1), err, USAGE,
	           "--buffer-size needs a power of two, not %lld", (long long)g.buffer_size_bytes);
	segment->thread_buffers = g.buffers ? (uint32_t)g.buffers : DEFAULT_BUFFERS;
	segment->reserved_thread_buffers = g.buffers ? 0 : RESERVED_BUFFERS;
	segment->ring_size =
	        g.buffer_size_bytes ? (uint32_t)g.buffer_size_bytes : DEFAULT_BUFFER_SIZE;
	segment->reserved_ring_size = g.buffer_size_bytes ? 0 : RESERVED_BUFFER_SIZE;
	segment->slots = (uint32_t)g.gpu_buffers;
	return WS_OK;
}

void ws_record_command_release(struct ws_record_command *cmd)
{
	free(cmd->rest);
	free(cmd->capture_options);
	cmd->rest = cmd->capture_options = NULL;
}
