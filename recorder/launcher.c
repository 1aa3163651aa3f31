#include "recorder/launcher.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/nvtx_abi.h"
#include "recorder/child.h"
#include "recorder/procfs.h"
#include "recorder/provenance.h"
#include "recorder/session.h"

#define COLLECTOR_NAME "libwarpsheet-collect.so"
#define ENV_NVTX       WSN_ENV_INJECTION
#define ENV_CUDA       "CUDA_INJECTION64_PATH"

/* --- what is needed before anything is started --- */

/* Beside this program, as in the build tree, or where it is installed. */
static enum ws_status find_collector(char out[PATH_MAX], struct ws_err *err)
{
	static const char *const places[] = {"", "/../lib/warpsheet"};
	char self[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	WS_FAIL_IF(n < 0, err, ENVIRONMENT, "cannot find this program itself: %s", strerror(errno));
	self[n] = 0;
	dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int len = snprintf(path, sizeof(path), "%s%s/" COLLECTOR_NAME, self, places[i]);

		if (len > 0 && (size_t)len < sizeof(path) && realpath(path, out))
			return WS_OK;
	}
	return WS_FAIL(err, ENVIRONMENT,
	               COLLECTOR_NAME " is neither in %s nor in %s/../lib/warpsheet", self, self);
}

/* Each of these variables names one tool; a second one would silently take the place of the first.
 */
static enum ws_status check_other_tools(const char *collector, struct ws_err *err)
{
	static const char *const names[] = {ENV_NVTX, ENV_CUDA};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		WS_FAIL_IF(
		        value && *value && strcmp(value, collector) != 0, err, ENVIRONMENT,
		        "%s is set to another tool (%s); unset it, or give --force to replace it",
		        names[i], value);
	}
	return WS_OK;
}

/* The path for --salvage, from whatever folder that will be called. */
static enum ws_status absolute_path(const char *path, char out[PATH_MAX], struct ws_err *err)
{
	char cwd[PATH_MAX];
	int n;

	if (*path == '/') {
		n = snprintf(out, PATH_MAX, "%s", path);
	} else {
		WS_FAIL_IF(!getcwd(cwd, sizeof(cwd)), err, ENVIRONMENT,
		           "cannot tell the current folder: %s", strerror(errno));
		n = snprintf(out, PATH_MAX, "%s/%s", cwd, path);
	}
	WS_FAIL_IF(n < 0 || n >= PATH_MAX, err, USAGE, "the path %s is too long", path);
	return WS_OK;
}

/* In memory if it can be, else beside the trace. */
static enum ws_status make_segment(struct ws_session *s, const char *trace, struct ws_err *err)
{
	const struct ws_record_opts *opts = s->opts;
	const char *dir = opts->segment_dir ? opts->segment_dir : WS_SEG_DIR;
	char beside[PATH_MAX];
	struct ws_err first;

	if (ws_segment_file_create(&s->file, dir, &opts->segment, &first) == WS_OK)
		return WS_OK;
	snprintf(beside, sizeof(beside), "%s", trace);
	dirname(beside);
	if (ws_segment_file_create(&s->file, beside, &opts->segment, err) != WS_OK)
		return ws_fail(err, WS_ENVIRONMENT, __FILE__, __LINE__,
		               "%s, and none beside the trace", first.text);
	ws_session_notice(s, "%s; using %s", first.text, s->file.path);
	return WS_OK;
}

static void become_launcher(struct ws_seg_header *seg)
{
	struct ws_proc_stat stat;

	seg->launcher.start_ticks = ws_proc_stat(0, &stat) ? 0 : stat.start_ticks;
	atomic_store(&seg->launcher.pid, (uint32_t)getpid());
}

/* --- record --- */

static enum ws_status open_session(struct ws_session *s, const char *trace, const char *program,
                                   char *const argv[], struct ws_err *err)
{
	const struct ws_record_opts *opts = s->opts;
	struct ws_trace_writer_opts writer_opts = {
	        .base_ns = ws_session_now_ns(),
	        .zstd_level = opts->zstd_level,
	};
	struct ws_provenance provenance = {
	        .program = program,
	        .arguments = opts->no_args ? NULL : argv + 1,
	        .options = opts->options_text,
	};
	struct ws_seg_header *seg;

	WS_FORWARD(ws_trace_writer_create(&s->writer, trace, &writer_opts, err));
	WS_FORWARD(make_segment(s, trace, err));
	seg = s->file.seg;
	seg->base_realtime_ns = writer_opts.base_ns;
	snprintf(seg->trace_path, sizeof(seg->trace_path), "%s", trace);
	become_launcher(seg);

	/* committed before the program starts, so that --salvage always finds a beginning */
	WS_FORWARD(ws_drain_create(&s->drain, seg, s->writer, err));
	ws_provenance_begin(s->drain, &provenance, writer_opts.base_ns);
	ws_drain_statistics(s->drain);
	ws_drain_commit(s->drain);
	return ws_drain_error(s->drain, err);
}

static enum ws_status start_program(struct ws_session *s, const char *collector,
                                    const char *program, char *const argv[],
                                    struct ws_record_result *result, struct ws_err *err)
{
	const struct ws_child_env env[] = {
	        {ENV_NVTX, collector},
	        {WS_SEG_ENV, s->file.path},
	};
	sigset_t before;

	WS_FORWARD(ws_session_signals(s, &before, err));
	WS_FORWARD(ws_child_start(&s->child, program, argv, env, sizeof(env) / sizeof(*env),
	                          &before, &result->exit_code, err));
	s->started = (uint32_t)s->child;
	return WS_OK;
}

static void take_wait_status(const struct ws_session *s, struct ws_record_result *result)
{
	if (WIFSIGNALED(s->wait_status)) {
		result->term_signal = WTERMSIG(s->wait_status);
		result->exit_code = 128 + result->term_signal;
	} else {
		result->exit_code = WEXITSTATUS(s->wait_status);
	}
}

enum ws_status ws_record_run(const struct ws_record_opts *opts, char *const argv[],
                             struct ws_record_result *result, struct ws_err *err)
{
	struct ws_session s = {.opts = opts, .signals = -1};
	char program[PATH_MAX], collector[PATH_MAX], trace[PATH_MAX];
	enum ws_status status;

	memset(result, 0, sizeof(*result));
	WS_FORWARD(ws_child_find(argv[0], program, sizeof(program), &result->exit_code, err));
	WS_FORWARD(find_collector(collector, err));
	if (!opts->force)
		WS_FORWARD(check_other_tools(collector, err));
	WS_FORWARD(absolute_path(opts->output, trace, err));

	status = open_session(&s, trace, program, argv, err);
	if (status == WS_OK)
		status = start_program(&s, collector, program, argv, result, err);
	if (status != WS_OK) {
		if (s.writer) /* no program ran, so there is no trace either */
			unlink(trace);
		ws_session_close(&s, 0);
		return status;
	}
	ws_session_loop(&s);
	take_wait_status(&s, result);
	status = ws_session_finish(&s, result, err);
	ws_session_close(&s, 0);
	return status;
}

/* --- salvage --- */

static enum ws_status check_salvageable(const struct ws_seg_header *seg, const char *path,
                                        struct ws_err *err)
{
	uint32_t launcher = atomic_load(&seg->launcher.pid);

	WS_FAIL_IF(ws_proc_alive(launcher, seg->launcher.start_ticks), err, USAGE,
	           "%s is in use: process %u is recording into it", path, (unsigned)launcher);
	WS_FAIL_IF(!ws_drain_file_size(seg), err, CORRUPT,
	           "%s holds nothing: its program was never started", path);
	WS_FAIL_IF(!memchr(seg->trace_path, 0, sizeof(seg->trace_path)), err, CORRUPT,
	           "%s cannot be salvaged: it names no trace", path);
	return WS_OK;
}

static enum ws_status reopen_session(struct ws_session *s, struct ws_err *err)
{
	const struct ws_record_opts *opts = s->opts;
	struct ws_seg_header *seg = s->file.seg;
	struct ws_trace_writer_opts writer_opts = {
	        .base_ns = seg->base_realtime_ns,
	        .zstd_level = opts->zstd_level,
	};
	const char *trace = opts->output ? opts->output : seg->trace_path;
	sigset_t before;

	WS_FORWARD(ws_trace_writer_resume(&s->writer, trace, ws_drain_file_size(seg), &writer_opts,
	                                  err));
	become_launcher(seg);
	WS_FORWARD(ws_drain_create(&s->drain, seg, s->writer, err));
	return ws_session_signals(s, &before, err);
}

enum ws_status ws_record_salvage(const struct ws_record_opts *opts, const char *segment,
                                 struct ws_record_result *result, struct ws_err *err)
{
	struct ws_session s = {.opts = opts, .signals = -1, .salvage = 1};
	enum ws_status status;

	memset(result, 0, sizeof(*result));
	WS_FORWARD(ws_segment_file_open(&s.file, segment, err));
	status = check_salvageable(s.file.seg, segment, err);
	/* killed after the trace was closed: only the segment was left to be removed */
	if (status == WS_OK && atomic_load(&s.file.seg->state) == WS_SEG_CLOSED) {
		result->file_size = ws_drain_file_size(s.file.seg);
		ws_session_close(&s, 0);
		return WS_OK;
	}
	if (status == WS_OK)
		status = reopen_session(&s, err);
	if (status == WS_OK) {
		ws_session_loop(&s);
		status = ws_session_finish(&s, result, err);
	}
	ws_session_close(&s, status != WS_OK);
	return status;
}
