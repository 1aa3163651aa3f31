
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "formats/base/outfile.h"
#include "formats/trace/reader.h"
#include "recorder/launch/launch.h"

/* Room for the last loss counters when the disk is full: some 20 rows of small numbers. */
#define LEAST_SEGMENT_BYTES ((uint64_t)1 << 20) /* the smallest segment that a recorder makes */
#define LAST_WORDS_BYTES    4096
/* Under a second, so that no second of a trace is without its loss counters. */
#define STATISTICS_INTERVAL_NS 900000000
/* Pause before searching again for a process in another PID namespace. */
#define SEARCH_PAUSE_NS 20000000

/* --- in the folder of the trace --- */

void ws_process_remove_trace(const struct ws_process *p)
{
	struct stat st;

	if (!p->is_settled &&
	    !fstatat(p->folder, ws_path_name(p->trace), &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISREG(st.st_mode))
		unlinkat(p->folder, ws_path_name(p->trace), 0);
}

/* --- beginning --- */

/* A process around the segment, still without writer and drain. */
static struct ws_process *make(const struct ws_record_opts *opts, struct ws_segment_file *file,
                               int folder, const char *trace)
{
	struct ws_process *p = ws_xarray(1, sizeof(*p));
	int64_t now = ws_clock_ns(CLOCK_MONOTONIC);

	p->folder = folder;
	p->trace = ws_xstrdup(trace);
	p->opts = opts;
	p->file = *file;
	file->seg = NULL;
	p->next_commit_ns = now + opts->flush_interval_ns;
	p->next_statistics_ns = now + STATISTICS_INTERVAL_NS;
	return p;
}

static struct ws_trace_writer_opts writer_opts(const struct ws_process *p)
{
	return (struct ws_trace_writer_opts){
	        .base_ns = p->file.seg->base_realtime_ns,
	        .reserve_bytes = LAST_WORDS_BYTES,
	        .zstd_level = p->opts->zstd_level,
	        .cpu_time_quantum_ns = p->file.seg->capture.cpu_time_quantum_ns,
	};
}

/* Committed at once, so that --salvage always finds a beginning. */
static enum ws_status begin_trace(struct ws_process *p, const char *program, char *const *arguments,
                                  struct ws_err *err)
{
	struct ws_seg_header *seg = p->file.seg;
	struct ws_trace_writer_opts opts = writer_opts(p);
	int fd;

	opts.has_pieces = p->opts->keep_ns != 0;
	WS_FAIL_IF(strlen(p->trace) >= sizeof(seg->trace_path), err, USAGE,
	           "the path %s is too long", p->trace);
	WS_FORWARD(ws_own_file_create(p->folder, ws_path_name(p->trace), p->trace, &fd, err));
	enum ws_status status = ws_trace_writer_create(&p->writer, fd, p->trace, &opts, err);
	close(fd);
	if (status != WS_OK) {
		ws_process_remove_trace(p);
		return status;
	}
	memcpy(seg->trace_path, p->trace, strlen(p->trace) + 1);
	ws_seg_set_process(&seg->launcher, ws_proc_self());
	p->drain = ws_drain_new(seg, p->writer);
	if (opts.has_pieces) {
		ws_drain_watch(p->drain);
		p->next_piece_ns = ws_clock_ns(CLOCK_MONOTONIC);
	}
	p->result.masked = ws_provenance_begin(p->drain, p->opts, program, arguments, seg);
	ws_drain_statistics(p->drain);
	ws_drain_commit(p->drain);
	return ws_drain_error(p->drain, err);
}

enum ws_status ws_process_begin(struct ws_process **out, const struct ws_record_opts *opts,
                                struct ws_segment_file *file, int folder, const char *trace,
                                const char *program, char *const *arguments, struct ws_err *err)
{
	*out = make(opts, file, folder, trace);
	enum ws_status status = begin_trace(*out, program, arguments, err);
	if (status != WS_OK) {
		if ((*out)->writer)
			ws_process_remove_trace(*out);
		ws_process_free(*out);
		*out = NULL;
	}
	return status;
}

static enum ws_status resume_trace(struct ws_process *p, enum ws_salvage *found, struct ws_err *err)
{
	struct ws_seg_header *seg = p->file.seg;
	const struct ws_trace_writer_opts opts = writer_opts(p);
	struct ws_err cause;
	int fd;

	WS_FORWARD(ws_own_file_open(p->folder, ws_path_name(p->trace), p->trace, &fd, err));
	enum ws_status status = ws_trace_writer_resume(&p->writer, fd, p->trace,
	                                               ws_drain_file_size(seg), &opts, &cause);
	/* A trace that cannot be continued needs nothing more if it is closed and complete. It may
	 * also belong to a later recording with the same name, which replaced this one's. */
	if (status == WS_CORRUPT || status == WS_USAGE) {
		struct ws_trace_reader *r;
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (ws_trace_reader_open(&r, path, NULL) == WS_OK) {
			const struct ws_trace_summary *s = ws_trace_reader_summary(r);

			if (s->closed && !s->damaged_blocks)
				*found = s->base_ns == seg->base_realtime_ns ? WS_SALVAGE_FINISHED
				                                             : WS_SALVAGE_REPLACED;
			ws_trace_reader_free(r);
		}
	}
	close(fd);
	if (status == WS_CORRUPT && !p->opts->output)
		return ws_fail(err, status, cause.file, cause.line,
		               "%s; if the trace was moved, give its name with -o", cause.text);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "%s", cause.text);
	ws_seg_set_process(&seg->launcher, ws_proc_self());
	p->drain = ws_drain_new(seg, p->writer);
	return WS_OK;
}

enum ws_status ws_process_resume(struct ws_process **out, const struct ws_record_opts *opts,
                                 struct ws_segment_file *file, int folder, const char *trace,
                                 enum ws_salvage *found, struct ws_err *err)
{
	struct ws_process *p = make(opts, file, folder, trace);

	*out = NULL;
	*found = WS_SALVAGE_UNFINISHED;
	p->is_salvaged = 1;
	enum ws_status status = resume_trace(p, found, err);
	/* the named trace may be the wrong one */
	if (*found == WS_SALVAGE_REPLACED && opts->output)
		*found = WS_SALVAGE_UNFINISHED;
	if (status != WS_OK) {
		ws_process_close(p, *found == WS_SALVAGE_UNFINISHED);
		ws_process_free(p);
		return *found == WS_SALVAGE_UNFINISHED ? status : WS_OK;
	}
	ws_drain_make_repeatable(p->drain);
	p->is_settled = ws_drain_flag(p->drain, WS_COMMIT_SETTLED);
	*out = p;
	return WS_OK;
}

/* --- the process --- */

uint32_t ws_process_pid(struct ws_process *p)
{
	const struct ws_seg_header *seg = p->file.seg;

	if (!p->owner.pid && atomic_load(&seg->attached))
		p->owner = ws_seg_process(&seg->owner);
	return p->owner.pid;
}

uint32_t ws_process_who_runs(struct ws_process *p)
{
	uint32_t pid = ws_process_pid(p);

	return pid ? pid : atomic_load(&p->file.seg->started.pid);
}

/* Whether the attached process has a pid of another namespace. Without /proc that is unknown, and
 * the pid is taken as ours. */
static bool is_elsewhere(struct ws_process *p)
{
	return ws_process_pid(p) && ws_proc_is_elsewhere(p->owner.namespace);
}

uint32_t ws_process_our_pid(struct ws_process *p)
{
	return is_elsewhere(p) ? p->found_pid : ws_process_pid(p);
}

enum ws_life ws_process_life(struct ws_process *p)
{
	struct ws_proc process =
	        ws_process_pid(p) ? p->owner : ws_seg_process(&p->file.seg->started);

	/* no recorder makes such small segments, so do not wait for the process that a foreign one
	 * names */
	if (p->is_salvaged && p->file.size < LEAST_SEGMENT_BYTES)
		return WS_LIFE_OVER;
	if (is_elsewhere(p)) {
		int64_t now = ws_clock_ns(CLOCK_MONOTONIC);

		/* Searches at once, then after pauses that double, as the search reads all
		 * processes. */
		if (!p->found_pid && now >= p->next_search_ns) {
			p->found_pid = ws_host_pid_find(p->owner);
			p->search_pause_ns =
			        p->search_pause_ns ? p->search_pause_ns * 2 : SEARCH_PAUSE_NS;
			p->next_search_ns = now + p->search_pause_ns;
		}
		if (!p->found_pid)
			return WS_LIFE_UNSEEN;
		process.pid = p->found_pid;
	}
	return ws_proc_alive(process) ? WS_LIFE_ON : WS_LIFE_OVER;
}

void ws_process_look_unseen(struct ws_process *p, uint64_t records)
{
	if (!is_elsewhere(p) || p->found_pid || !p->next_search_ns)
		return;
	/* if the process had ended before the search, the next step reads everything it left */
	if (p->was_unseen && records && !p->is_told_unseen) {
		p->is_told_unseen = 1;
		ws_seg_count(p->file.seg, WS_DROPPED_process_not_recorded, 1);
		ws_record_notice("process %u is in another PID namespace. It is recorded until the "
		                 "program that you started ends",
		                 (unsigned)ws_process_pid(p));
	}
	p->was_unseen = 1;
}

/* --- its name --- */

static bool is_anothers(const struct ws_process_naming *naming, const char *path)
{
	for (size_t i = 0; i < naming->nprocesses; i++) {
		const struct ws_process *p = naming->processes[i];

		if (p->is_settled && !strcmp(p->final ? p->final : p->trace, path))
			return 1;
	}
	return 0;
}

/*
 * Locks a folder, so that only one recorder at a time chooses names in it. Returns a descriptor to
 * close, which may lack the lock (some network file systems; another process holds it too long), or
 * -1.
 */
static int lock_folder(int folder)
{
	enum { TRIES = 100, PAUSE_US = 10000 };
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0;
	     fd >= 0 && i < TRIES && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
		usleep(PAUSE_US);
	return fd;
}

/* The file was written since this recording began, so it belongs to another recording that runs or
 * has just ended. */
static bool is_of_another_recording(const struct ws_process *p, const char *path)
{
	struct stat st;

	return strcmp(path, p->trace) != 0 &&
	       !fstatat(p->folder, ws_path_name(path), &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) &&
	       st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec >= p->begun_ns;
}

struct claims {
	const struct ws_process *process;       /* its present path is not taken */
	const struct ws_process_naming *naming; /* NULL: only other recordings are checked */
	const char *plain;                      /* the name without a number */
	bool is_contended;                      /* another recording has the plain name */
};

/* A name with a number never replaces a file. */
static bool is_taken(void *ctx, const char *path)
{
	const struct claims *c = ctx;
	const bool is_new = (c->naming && c->naming->keep_existing) ||
	                    (c->is_contended && strcmp(path, c->plain) != 0);

	if ((c->naming && is_anothers(c->naming, path)) ||
	    is_of_another_recording(c->process, path))
		return 1;
	return is_new && strcmp(path, c->process->trace) != 0 &&
	       ws_trace_path_exists(c->process->folder, path);
}

/* The plain name, or one with the pid (if not 0) and a number, so that it is unique. */
static enum ws_status choose_name(const struct ws_process *p, uint32_t pid,
                                  const struct ws_process_naming *naming, char path[PATH_MAX],
                                  struct ws_err *err)
{
	char plain[PATH_MAX];
	const bool is_contended =
	        !(naming && is_anothers(naming, path)) && is_of_another_recording(p, path);
	struct claims claims = {p, naming, plain, is_contended};

	memcpy(plain, path, sizeof(plain));
	WS_FORWARD(ws_output_choose(path, PATH_MAX, pid, is_taken, &claims, err));
	if (is_contended)
		ws_record_notice(
		        "another recording has written %s meanwhile; this one's trace is %s", plain,
		        ws_path_name(path));
	return WS_OK;
}

/* from: the whole trace, or a copy that replaces it. */
static void take_name(struct ws_process *p, const char *from, char *path)
{
	struct ws_seg_header *seg = p->file.seg;
	const bool is_copy = strcmp(from, p->trace) != 0 && strcmp(path, p->trace) != 0;

	/* if we are killed in between, both names exist */
	memcpy(seg->renamed_path, path, strlen(path) + 1);
	if (renameat(p->folder, ws_path_name(from), p->folder, ws_path_name(path))) {
		ws_record_notice("cannot rename %s to %s: %s", from, path, strerror(errno));
		free(path);
		return;
	}
	if (is_copy)
		unlinkat(p->folder, ws_path_name(p->trace), 0);
	memcpy(seg->trace_path, path, strlen(path) + 1);
	seg->renamed_path[0] = 0;
	free(p->trace);
	p->trace = path;
}

void ws_process_resolve(struct ws_process *p, uint32_t pid, const struct ws_process_naming *naming)
{
	char path[PATH_MAX], environment[WS_MAX_ENVIRONMENT], *copy = NULL;
	char unset[WS_OUTPUT_VARIABLE] = "";
	const struct ws_strings env = ws_trace_path_environment(p->file.seg, environment);
	const int lock = lock_folder(p->folder);
	struct ws_err err;

	p->begun_ns = naming->begun_ns;
	enum ws_status status =
	        ws_trace_path_plain(p->file.seg, naming->pattern, pid, path, unset, &err);
	if (status == WS_OK && *unset)
		ws_record_notice("process %u: the variable %s of -o is not set; its trace is %s",
		                 (unsigned)pid, unset, ws_path_name(path));
	/* the pid separates processes of one recording, a number separates recordings */
	WS_THEN(status, choose_name(p, is_anothers(naming, path) ? pid : 0, naming, path, &err));
	if (status == WS_OK)
		copy = ws_xstrdup(path);
	else
		ws_record_notice("%s; the trace is %s", err.text, p->trace);
	/* checked now: a launcher that was killed may have renamed it without recording that */
	p->is_settled = 1;
	if (ws_process_pid(p))
		ws_provenance_process(p->drain, env);
	/* an existing file may be better than our result */
	if (copy && strcmp(path, p->trace) != 0 &&
	    (ws_trace_writer_has_pieces(p->writer) || ws_trace_path_exists(p->folder, path)))
		p->final = copy;
	else if (copy)
		take_name(p, p->trace, copy);
	if (lock >= 0)
		close(lock);
	if (!copy || p->final)
		return;
	ws_drain_set_flag(p->drain, WS_COMMIT_SETTLED);
	ws_drain_commit(p->drain);
}

/* --- while it runs --- */

/* Reports problems with GPU records at once, as the program may run for hours. */
static void warn_of_gpu(struct ws_process *p)
{
	const struct ws_gpu_report gpu = ws_gpu_report(&p->file.seg->gpu);
	char line[1024];

	for (uint32_t bit = 1; bit <= WS_GPU_STOP_LAST; bit *= 2)
		if (gpu.stopped & ~p->warned & bit && ws_gpu_warning(bit, &gpu, line, sizeof(line)))
			ws_record_notice("process %u: %s", (unsigned)ws_process_pid(p), line);
	p->warned |= gpu.stopped;
}

/* The contents of missing pages are unknown. Each page is counted as one lost record. */
static void tell_missing_pages(struct ws_process *p)
{
	const unsigned n = ws_missing_pages();

	ws_drain_count_damage(p->drain, n);
	if (n && !p->is_cut)
		ws_record_notice("process %u: parts of its shared memory are lost. The program "
		                 "cut the segment short, or memory ran out",
		                 (unsigned)ws_process_pid(p));
	p->is_cut |= n != 0;
}

uint64_t ws_process_step(struct ws_process *p)
{
	const struct ws_seg_window *window = &p->file.seg->plan.window;
	struct ws_seg_standby *standby = &p->file.seg->control.standby;
	uint64_t n = ws_drain_pass(p->drain), lost = 0;
	int64_t now = ws_clock_ns(CLOCK_MONOTONIC), drain_now;

	tell_missing_pages(p);
	/* Tells the program when nothing more is recorded, so that it stops producing events.
	 * Unsigned, as the program may have written any value. */
	drain_now = ws_drain_now_ns(p->drain);
	if (window->duration_ns > 0 && drain_now > window->begin_ns &&
	    (uint64_t)drain_now - (uint64_t)window->begin_ns > (uint64_t)window->duration_ns)
		atomic_store(&p->file.seg->control.has_ended, 1);
	if (p->opts->max_size && !ws_drain_is_stopped(p->drain) &&
	    ws_trace_writer_size(p->writer) >= p->opts->max_size) {
		ws_drain_stop(p->drain, drain_now);
		ws_record_notice("%s has reached --max-size; nothing more is recorded", p->trace);
	}
	if (atomic_load(&p->file.seg->gpu.stopped) & ~p->warned)
		warn_of_gpu(p);
	if (p->dumps != atomic_load(&standby->dumps) && p->file.seg->capture.keeps) {
		p->dumps = atomic_load(&standby->dumps);
		ws_flight_trigger(p, "ctl");
	}
	/* for `warpsheet ctl status` */
	for (int i = 0; n && i < WS_DROPPED_COUNT; i++)
		lost += ws_drain_lost(p->drain, (enum ws_dropped)i);
	if (n) {
		const struct ws_drain_counts counts = ws_drain_counts(p->drain);

		atomic_store(&standby->kernels, counts.kernels);
		atomic_store(&standby->ranges, counts.ranges);
		atomic_store(&standby->lost, lost);
	}
	if (now >= p->next_statistics_ns) {
		ws_drain_statistics(p->drain);
		p->next_statistics_ns = now + STATISTICS_INTERVAL_NS;
	}
	if (p->next_piece_ns) {
		const struct ws_trace_writer_opts opts = writer_opts(p);

		ws_flight_step(p, &opts, now);
	}
	if (now >= p->next_commit_ns) {
		ws_drain_commit(p->drain);
		p->next_commit_ns += p->opts->flush_interval_ns;
		if (p->next_commit_ns < now)
			p->next_commit_ns = now + p->opts->flush_interval_ns;
	} else if (ws_drain_wants_commit(p->drain)) {
		ws_drain_commit(p->drain);
	}
	return n;
}

/* --- the end --- */

enum ws_status ws_process_finish(struct ws_process *p, const struct ws_row_process_end *end,
                                 struct ws_err *err)
{
	struct ws_trace_result *result = &p->result;
	enum ws_status status;
	struct ws_seg_header *seg = p->file.seg;
	const struct ws_trace_writer_opts opts = writer_opts(p);
	char whole[PATH_MAX]; /* the closed trace */

	if (!ws_drain_flag(p->drain, WS_COMMIT_ENDED)) {
		ws_drain_last_pass(p->drain);
		tell_missing_pages(p);
		if (end) {
			struct ws_row_process_end row = *end;

			row.time_ns = p->gone_ns - seg->base_ns;
			if (ws_process_pid(p))
				row.pid = ws_process_pid(p);
			ws_drain_add(p->drain, WS_KIND_PROCESS_END, &row);
		}
		ws_drain_look_for_step(p->drain);
		ws_provenance_end(p->drain, seg, p->is_salvaged);
		ws_drain_statistics(p->drain);
		ws_drain_set_flag(p->drain, WS_COMMIT_ENDED);
	}
	warn_of_gpu(p);
	ws_drain_commit(p->drain);
	ws_drain_last_words(p->drain);
	result->file_size = ws_trace_writer_size(p->writer);
	snprintf(whole, sizeof(whole), "%s", p->trace);
	if (!ws_trace_writer_has_pieces(p->writer)) {
		status = ws_trace_writer_close(p->writer, err);
		result->file_size = ws_trace_writer_size(p->writer);
	} else {
		char word[32];

		snprintf(word, sizeof(word), "%s %d",
		         end && end->how == WS_END_SIGNALED ? "signal" : "exit",
		         end ? (int)end->code : 0);
		if (end && end->code && end->how != WS_END_UNKNOWN)
			ws_flight_trigger(p, word);
		status = ws_drain_error(p->drain, err);
		WS_THEN(status, ws_flight_copy(p, &opts, whole, &result->file_size, err));
		if (status == WS_OK)
			p->final = p->final ? p->final : ws_xstrdup(p->trace);
	}
	if (p->final && status == WS_OK) {
		/* Replaces the file that existed before this recording, unless another recording
		 * did so first. */
		const int lock = lock_folder(p->folder);
		char path[PATH_MAX];
		struct ws_err own;

		snprintf(path, sizeof(path), "%s", p->final);
		if (choose_name(p, 0, NULL, path, &own) == WS_OK)
			take_name(p, whole, ws_xstrdup(path));
		else
			ws_record_notice("%s; the trace is %s", own.text, p->trace);
		free(p->final);
		p->final = NULL;
		if (lock >= 0)
			close(lock);
	} else if (p->final)
		ws_record_notice("%s is left as it was; what was recorded is in %s", p->final,
		                 p->trace);
	if (status == WS_OK)
		atomic_store(&p->file.seg->state, WS_SEG_CLOSED);

	result->path = p->trace;
	result->pid = ws_process_pid(p);
	result->counts = ws_drain_counts(p->drain);
	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		result->lost[i] = ws_drain_lost(p->drain, (enum ws_dropped)i);
	result->noutside = atomic_load(&p->file.seg->control.noutside);
	result->calibrate = atomic_load(&p->file.seg->control.calibrate);
	result->gpu = ws_gpu_report(&p->file.seg->gpu);
	return status;
}

void ws_process_close(struct ws_process *p, int keep_segment)
{
	ws_drain_free(p->drain);
	ws_trace_writer_free(p->writer);
	p->drain = NULL;
	p->writer = NULL;
	if (keep_segment)
		ws_segment_file_close(&p->file);
	else
		ws_segment_file_remove(&p->file);
}

void ws_process_free(struct ws_process *p)
{
	if (!p)
		return;
	ws_process_close(p, 0);
	free(p->trace);
	free(p->final);
	free(p->flight.threads);
	free(p);
}
