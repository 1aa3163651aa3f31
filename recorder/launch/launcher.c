#include "recorder/launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"
#include "kernels/nvtx/abi.h"
#include "recorder/launch/child.h"
#include "recorder/launch/host_pid.h"
#include "recorder/launch/missing_pages.h"
#include "recorder/gpu/cuda_use.h"
#include "recorder/shared/clock.h"
#include "recorder/shared/segment_folder.h"
#include "recorder/launch/session.h"
#include "recorder/launch/trace_name.h"

#define COLLECTOR_NAME "libwarpsheet-collect.so"
#define ENV_NVTX       WSN_ENV_INJECTION
#define ENV_CUDA       "CUDA_INJECTION64_PATH"
#define ENV_PRELOAD    "LD_PRELOAD"
#define ENV_PYTHON     "PYTHONPATH"

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

/* Each of these variables names one tool; a second one would silently replace the first. */
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

/* The pattern for further processes and for --salvage, from whatever folder that will be called. */
static enum ws_status absolute_pattern(const char *pattern, char out[WS_MAX_OUTPUT],
                                       struct ws_err *err)
{
	char cwd[PATH_MAX], escaped[PATH_MAX];
	int n;

	if (*pattern == '/') {
		n = snprintf(out, WS_MAX_OUTPUT, "%s", pattern);
	} else {
		WS_FAIL_IF(!getcwd(cwd, sizeof(cwd)), err, ENVIRONMENT,
		           "cannot find the current folder: %s", strerror(errno));
		WS_FAIL_IF(ws_output_escape(cwd, escaped, sizeof(escaped)), err, USAGE,
		           "the path %s is too long", cwd);
		n = snprintf(out, WS_MAX_OUTPUT, "%s/%s", escaped, pattern);
	}
	WS_FAIL_IF(n < 0 || n >= WS_MAX_OUTPUT, err, USAGE, "the path %s is too long", pattern);
	return WS_OK;
}

static void tell_shrunk(const struct ws_record_opts *opts, const struct ws_segment_file *file)
{
	if (file->is_shrunk)
		ws_record_notice(opts,
		                 "ulimit -f or ulimit -v leaves %u MiB for shared memory: buffers "
		                 "for %u threads at a time, of %u KiB each",
		                 (unsigned)(file->size >> 20), file->seg->thread_buffer_count,
		                 file->seg->ring_size >> 10);
}

/* The folder of further processes' segments too: room for this many in all, or another one. */
#define ROOM_SEGMENTS 8

/*
 * In memory if it can be, else beside the trace. A folder that others can reach
 * into is an error: whoever prepared it must not choose where else we go.
 */
static enum ws_status make_segment(const struct ws_record_opts *opts, const char *trace,
                                   struct ws_segment_file *file, struct ws_err *err)
{
	const uint64_t room = ws_seg_room(&opts->segment);
	const char *dir = opts->segment_dir;
	char standard[PATH_MAX];
	enum ws_status status;
	struct ws_err first;
	int fd;

	if (!dir) {
		ws_segment_folder_make(ROOM_SEGMENTS * room, standard);
		dir = standard;
	}
	status = ws_segment_folder_open(dir, &fd, &first);
	if (status == WS_OK) {
		close(fd);
		status = ws_segment_file_create(file, dir, &opts->segment, &first);
		if (status == WS_OK) {
			tell_shrunk(opts, file);
			return WS_OK;
		}
	} else if (status != WS_IO_READ) {
		return ws_fail(err, status, first.file, first.line, "%s", first.text);
	}
	if (ws_segment_file_create_beside(file, trace, &opts->segment, err) != WS_OK)
		return ws_fail(err, WS_ENVIRONMENT, __FILE__, __LINE__,
		               "%s, and none beside the trace", first.text);
	ws_record_notice(opts, "%s; using %s", first.text, file->path);
	tell_shrunk(opts, file);
	return WS_OK;
}

/* The folder of a path. `missing` is the status where there is none. */
static enum ws_status open_folder(const char *path, int *folder, enum ws_status missing,
                                  struct ws_err *err)
{
	const char *name;

	*folder = ws_own_file_folder(path, &name);
	return *folder >= 0 ? WS_OK
	                    : ws_fail(err, missing, __FILE__, __LINE__, "cannot open %s: %s", path,
	                              strerror(errno));
}

void ws_record_folder_id(int folder, char out[48])
{
	struct stat st = {0};

	fstat(folder, &st);
	snprintf(out, 48, "%llu:%llu", (unsigned long long)st.st_dev,
	         (unsigned long long)st.st_ino);
}

/* What the pattern stands for while nobody is recorded. */
static enum ws_status plain_path(const struct ws_session *s, char out[PATH_MAX], struct ws_err *err)
{
	const struct ws_output_vars vars = {(uint32_t)getpid(), NULL};

	return ws_output_expand(s->pattern, &vars, out, PATH_MAX - 64, err);
}

/*
 * Where the first trace begins. Who will be recorded, and so the name, is not
 * known yet; and what the name belongs to now stays until there is something
 * to replace it. Until then it is called after its segment, which nobody can
 * guess. A device or pipe is written to at once.
 */
static enum ws_status first_path(struct ws_session *s, char out[PATH_MAX], bool *is_settled,
                                 struct ws_err *err)
{
	const char *name;
	struct stat st;
	char id[48];

	WS_FORWARD(plain_path(s, out, err));
	WS_FORWARD(open_folder(out, &s->folder, WS_IO_WRITE, err));
	ws_record_folder_id(s->folder, id);
	WS_FAIL_IF(s->opts->folder_id && strcmp(id, s->opts->folder_id) != 0, err, IO_WRITE,
	           "cannot write %s: its folder has made way for another", out);
	name = strrchr(out, '/') + 1;
	*is_settled = ws_own_file_descriptor(out) >= 0 ||
	              (!fstatat(s->folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	               !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode));
	return WS_OK;
}

/* --- record --- */

/* What is made for a program that does not run yet. */
static struct {
	struct ws_segment_file segment;
	int folder;
	char trace[PATH_MAX]; /* its name there; empty: the user's own */
} unstarted;

/* Without memory it goes; once the program runs all that was recorded stays. */
static void remove_unstarted(void)
{
	ws_segment_file_remove(&unstarted.segment);
	if (*unstarted.trace)
		unlinkat(unstarted.folder, unstarted.trace, 0);
}

static char cure[PATH_MAX + 64];

static const char *how_to_finish(size_t bytes)
{
	(void)bytes;
	return cure;
}

static void keep_from_now_on(const char *segment)
{
	snprintf(cure, sizeof(cure), "finish the trace: warpsheet-record --salvage %s", segment);
	ws_out_of_memory_reason(how_to_finish);
	ws_out_of_memory_first(NULL);
}

static void start_clock(struct ws_seg_header *seg)
{
	seg->boot = ws_proc_boot();
	seg->base_ns = ws_clock_ns(CLOCK_MONOTONIC);
	seg->base_raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW);
	seg->realtime_apart_ns = ws_clock_realtime_apart();
	seg->base_realtime_ns = seg->base_ns + seg->realtime_apart_ns;
}

static enum ws_status open_session(struct ws_session *s, const char *program, char *const argv[],
                                   struct ws_err *err)
{
	const struct ws_record_opts *opts = s->opts;
	const struct ws_provenance provenance = {
	        .program = program,
	        .arguments = opts->no_args ? NULL : argv + 1,
	        .options = opts->options_text,
	        .no_gpu = (int)opts->capture.no_cupti,
	        .cpu_time_quantum_ns = opts->capture.cpu_time_quantum_ns,
	};
	struct ws_segment_file file;
	struct ws_process *first;
	struct ws_seg_plan *plan;
	enum ws_status status;
	char path[PATH_MAX];
	bool is_settled = false;

	WS_FORWARD(first_path(s, path, &is_settled, err));
	WS_FORWARD(make_segment(opts, path, &file, err));
	if (!is_settled) {
		snprintf(path + strlen(path), 64, ".%s.part",
		         strrchr(file.path, '/') + 1 + strlen(WS_SEG_PREFIX));
		snprintf(unstarted.trace, sizeof(unstarted.trace), "%s", strrchr(path, '/') + 1);
	}
	unstarted.segment = file;
	unstarted.folder = s->folder;
	ws_out_of_memory_first(remove_unstarted);
	start_clock(file.seg);
	plan = &file.seg->plan;
	plan->no_args = (uint32_t)opts->no_args;
	memcpy(plan->output, s->pattern, strlen(s->pattern) + 1);
	plan->keep_existing = (uint32_t)opts->keep_existing;
	file.seg->capture = opts->capture;
	plan->window = opts->window;
	if (opts->delay_ns || opts->window.duration_ns)
		plan->window.begin_ns = file.seg->base_ns + opts->delay_ns;
	status = ws_segment_file_seal(&file, err);
	if (status != WS_OK) {
		ws_segment_file_remove(&file);
		return status;
	}
	WS_FORWARD(ws_process_begin(&first, opts, &file, s->folder, path, &provenance, err));
	first->is_settled = is_settled;
	ws_session_add(s, first);
	return WS_OK;
}

#define COUNT_ONE(variable, value) +1
#define MAX_VARIABLES              (6 WS_LIBRARY_RANGES_LIST(COUNT_ONE))

/* Returns how many of them are not set so far. */
static size_t add_library_ranges(struct ws_child_env *env)
{
	size_t n = 0;

#define X(variable, level)     \
	if (!getenv(variable)) \
		env[n++] = (struct ws_child_env){variable, level};
	WS_LIBRARY_RANGES_LIST(X)
#undef X
	return n;
}

struct pytorch_env {
	char preload[2 * PATH_MAX], python[2 * PATH_MAX];
};

/* PATH variable NAME with one more entry, before or behind what the user has there. */
static enum ws_status longer_path(const char *name, const char *entry, bool is_first,
                                  char out[2 * PATH_MAX], struct ws_err *err)
{
	const char *before = getenv(name);
	int n;

	if (!before || !*before)
		n = snprintf(out, 2 * PATH_MAX, "%s", entry);
	else
		n = snprintf(out, 2 * PATH_MAX, "%s:%s", is_first ? entry : before,
		             is_first ? before : entry);
	WS_FAIL_IF(n < 0 || n >= 2 * PATH_MAX, err, ENVIRONMENT, "%s is too long", name);
	return WS_OK;
}

/* What --pytorch needs in the program's environment. Of preloaded libraries an allocator of the
 * user's must come first; of Python's folders ours, as it then goes on to the user's. */
static enum ws_status add_pytorch(const char *collector, struct pytorch_env *env,
                                  struct ws_err *err)
{
	char python[PATH_MAX + 32];

	WS_FAIL_IF(strpbrk(collector, ": "), err, ENVIRONMENT,
	           "--pytorch: the path %s has a blank or a colon, so the system cannot load it "
	           "into a program (LD_PRELOAD)",
	           collector);
	/* our sitecustomize.py lies in a folder beside the collector */
	snprintf(python, sizeof(python), "%.*s/python", (int)(strrchr(collector, '/') - collector),
	         collector);
	WS_FORWARD(longer_path(ENV_PRELOAD, collector, 0, env->preload, err));
	return longer_path(ENV_PYTHON, python, 1, env->python, err);
}

/* mask: the signals that the program is to find blocked. */
static enum ws_status start_program(struct ws_session *s, const char *collector,
                                    const char *program, char *const argv[], const sigset_t *mask,
                                    struct ws_record_result *result, struct ws_err *err)
{
	struct ws_child_env env[MAX_VARIABLES] = {
	        {ENV_NVTX, collector},
	        {WS_SEG_ENV, s->processes[0]->file.path},
	};
	struct pytorch_env pytorch;
	size_t n = 2;

	if (s->opts->capture.pytorch)
		WS_FORWARD(add_pytorch(collector, &pytorch, err));
	if (!s->opts->capture.no_cupti)
		env[n++] = (struct ws_child_env){ENV_CUDA, collector};
	if (s->opts->library_ranges == WS_LIBRARY_RANGES_ON)
		n += add_library_ranges(env + n);
	if (s->opts->capture.pytorch) {
		env[n++] = (struct ws_child_env){WS_PYTORCH_ENV, "on"};
		env[n++] = (struct ws_child_env){ENV_PRELOAD, pytorch.preload};
		env[n++] = (struct ws_child_env){ENV_PYTHON, pytorch.python};
	}
	WS_FORWARD(ws_child_start(&s->child, &s->witness, program, argv, env, n, mask,
	                          &s->processes[0]->file.seg->started, &result->exit_code, err));
	s->started = (uint32_t)s->child;
	keep_from_now_on(s->processes[0]->file.path);
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
	struct ws_session s = {.opts = opts,
	                       .signals = -1,
	                       .folder = -1,
	                       .keep_existing = opts->keep_existing,
	                       .no_args = opts->no_args};
	char program[PATH_MAX], collector[PATH_MAX];
	enum ws_status status;
	sigset_t before;

	*result = (struct ws_record_result){0};
	ws_missing_pages_replace();
	WS_FORWARD(ws_child_find(argv[0], program, sizeof(program), &result->exit_code, err));
	WS_FORWARD(find_collector(collector, err));
	if (!opts->force)
		WS_FORWARD(check_other_tools(collector, err));
	WS_FORWARD(absolute_pattern(opts->output, s.pattern, err));

	status = ws_session_signals(&s, &before, err);
	WS_THEN(status, open_session(&s, program, argv, err));
	WS_THEN(status, start_program(&s, collector, program, argv, &before, result, err));
	if (status != WS_OK) {
		if (s.nprocesses)
			ws_process_remove_trace(s.processes[0]); /* no program ran */
		ws_session_close(&s, 0);
		return status;
	}
	ws_session_loop(&s);
	take_wait_status(&s, result);
	result->is_hidden = s.is_hidden;
	result->obstacle = ws_child_obstacle(program);
	result->uses_cuda = s.uses_cuda || ws_cuda_use_of_file(program);
	status = ws_session_finish(&s, result, err);
	ws_session_close(&s, 0);
	return status;
}

/* --- salvage --- */

static enum ws_status check_salvageable(const struct ws_seg_header *seg, const char *path,
                                        struct ws_err *err)
{
	const struct ws_proc launcher = ws_seg_process(&seg->launcher);

	WS_FAIL_IF(ws_proc_is_elsewhere(launcher.namespace) ? ws_host_pid_find(launcher) != 0
	                                                    : ws_proc_alive(launcher),
	           err, USAGE, "%s is in use: process %u is recording into it", path,
	           (unsigned)launcher.pid);
	WS_FAIL_IF(!ws_drain_file_size(seg), err, CORRUPT,
	           "%s holds nothing: its program was never started", path);
	return WS_OK;
}

/* What the launcher that is gone had in its own memory, for all processes of the recording. */
static enum ws_status take_names(struct ws_session *s, const struct ws_seg_header *first,
                                 const char *path, struct ws_err *err)
{
	const struct ws_seg_plan *plan = &first->plan;

	WS_FAIL_IF(!memchr(plan->output, 0, sizeof(plan->output)), err, CORRUPT,
	           "%s cannot be salvaged: it names no trace", path);
	memcpy(s->pattern, plan->output, sizeof(s->pattern));
	s->keep_existing = plan->keep_existing != 0;
	s->no_args |= plan->no_args != 0;
	return WS_OK;
}

/* Where the first trace is, and the open folder that it lies in, which can have been moved alone.
 */
static enum ws_status find_trace(struct ws_session *s, const struct ws_segment_file *file,
                                 char path[PATH_MAX], int *folder, struct ws_err *err)
{
	enum ws_status status;

	WS_FORWARD(plain_path(s, path, err));
	status = open_folder(path, &s->folder, WS_IO_READ, err);
	*folder = s->folder;
	if (s->opts->output) {
		snprintf(path, PATH_MAX, "%s", s->opts->output);
		return open_folder(path, folder, WS_IO_READ, err);
	}
	WS_FORWARD(status);
	return ws_trace_path_first_left_at(file, s->folder, s->pattern, path, err);
}

enum ws_status ws_record_salvage(const struct ws_record_opts *opts, const char *segment,
                                 struct ws_record_result *result, struct ws_err *err)
{
	struct ws_session s = {.opts = opts,
	                       .signals = -1,
	                       .folder = -1,
	                       .look_again = 1,
	                       .no_args = opts->no_args};
	struct ws_segment_file file;
	struct ws_process *first = NULL;
	enum ws_status status;
	char path[PATH_MAX];
	sigset_t before;
	int folder = -1;

	*result = (struct ws_record_result){0};
	ws_missing_pages_replace();
	WS_FORWARD(ws_segment_file_open(&file, segment, err));
	status = ws_segment_file_lock(&file, err);
	WS_THEN(status, check_salvageable(file.seg, segment, err));
	WS_THEN(status, take_names(&s, file.seg, segment, err));
	if (status != WS_OK) {
		ws_segment_file_close(&file);
		return status;
	}
	/* killed after the trace was closed: only the segment was left to be removed */
	if (ws_drain_is_finished(file.seg)) {
		result->found = WS_SALVAGE_FINISHED;
		ws_segment_file_remove(&file);
		return WS_OK;
	}
	status = ws_session_signals(&s, &before, err);
	WS_THEN(status, find_trace(&s, &file, path, &folder, err));
	WS_THEN(status, ws_process_resume(&first, opts, &file, folder, path, &result->found, err));
	if (status == WS_OK && first) {
		first->is_settled |= opts->output != NULL;
		ws_session_add(&s, first);
		ws_session_loop(&s);
		status = ws_session_finish(&s, result, err);
	}
	ws_segment_file_close(&file);
	ws_session_close(&s, status != WS_OK);
	if (opts->output && folder >= 0)
		close(folder);
	return status;
}
