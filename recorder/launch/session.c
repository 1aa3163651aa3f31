#include "recorder/launch/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "recorder/gpu/cuda_use.h"
#include "recorder/launch/child.h"
#include "recorder/launch/host_pid.h"
#include "recorder/launch/segments.h"
#include "recorder/launch/trace_name.h"
#include "recorder/shared/clock.h"

/* Pauses between passes: short while there is something to do, longer when there is not. */
#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 10
/* Records in a pass after which the next follows at once. */
#define BUSY_RECORDS 4096
/* The first look for libraries of CUDA; each pause is twice the last, as looking costs the program
 * something. */
#define CUDA_LOOK_NS 50000000
/* The first look for processes that cannot see the segment: it costs them nothing. */
#define HIDDEN_LOOK_NS 2000000
/* When the user is told that it goes on: first, and at most so far apart. */
#define TELL_FIRST_NS 3000000000
#define TELL_EACH_NS  60000000000

static void note(struct ws_session *s, enum ws_status status, const struct ws_err *err)
{
	if (status == WS_OK || s->status != WS_OK)
		return;
	s->status = status;
	s->failure = *err;
}

void ws_session_add(struct ws_session *s, struct ws_process *p)
{
	WS_GROW(s->processes, s->nprocesses + 1, s->capacity);
	s->processes[s->nprocesses++] = p;
}

/* --- signals --- */

enum ws_status ws_session_signals(struct ws_session *s, sigset_t *before, struct ws_err *err)
{
	static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
	                                SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t set, pipe;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	/* when nobody reads our messages any more the recording goes on; a file that may not grow
	   (ulimit -f) is an error like a full disk. The program gets the mask of before. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigaddset(&pipe, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	WS_FAIL_IF(s->signals < 0, err, ENVIRONMENT, "cannot wait for signals: %s",
	           strerror(errno));
	return WS_OK;
}

#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))

/*
 * While our child lives a signal is for the program. One that was sent to the process group has
 * reached the program already: it is the one that the witness has, too. Without a witness what
 * comes from the kernel is taken for that, as Ctrl-C does; but a closed terminal's SIGHUP goes to
 * its leader alone.
 */
static void pass_on(struct ws_session *s, uint64_t signals, uint64_t from_kernel)
{
	const uint64_t to_group =
	        s->witness ? ws_witness_signals(s->witness) : from_kernel & ~SIGNAL_BIT(SIGHUP);

	for (int signal = 1; signal <= 64; signal++)
		if (signals & ~to_group & SIGNAL_BIT(signal))
			kill(s->child, signal);
	if (s->witness && signals & to_group) {
		ws_witness_end(s->witness); /* a signal stays pending there */
		s->witness = ws_witness_start();
	}
}

static void handle_signals(struct ws_session *s)
{
	uint64_t signals = 0, from_kernel = 0;
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		signals |= SIGNAL_BIT(info.ssi_signo);
		from_kernel |= info.ssi_code > 0 ? SIGNAL_BIT(info.ssi_signo) : 0;
	}
	if (signals && s->child)
		pass_on(s, signals, from_kernel);
	else if (signals & ~(SIGNAL_BIT(SIGUSR1) | SIGNAL_BIT(SIGUSR2)))
		s->stop = 1;
	if (s->child && waitpid(s->child, &s->wait_status, WNOHANG) == s->child) {
		s->child = 0;
		s->stop |= s->opts->stop_on_exit;
		if (s->witness)
			ws_witness_end(s->witness);
		s->witness = 0;
	}
}

/* --- the recorded processes --- */

static struct ws_seg_header *first_segment(const struct ws_session *s)
{
	return s->processes[0]->file.seg;
}

/* Whether anything can still come from this process. */
static bool is_alive(const struct ws_session *s, struct ws_process *p)
{
	const enum ws_life life = ws_process_life(p);
	const uint32_t pid = ws_process_our_pid(p);

	/* nobody has attached: the child may, or a process that it starts */
	if (!ws_process_pid(p))
		return s->child != 0 || life == WS_LIFE_ON;
	if (life == WS_LIFE_UNSEEN || (pid && pid == s->started))
		return s->child != 0;
	return life == WS_LIFE_ON;
}

static void resolve(struct ws_session *s, struct ws_process *p, uint32_t pid)
{
	const struct ws_process_naming naming = {s->pattern, s->keep_existing, s->processes,
	                                         s->nprocesses};

	ws_process_resolve(p, pid, &naming);
}

/* How the process ended: known for our own child only. */
static void finish(struct ws_session *s, struct ws_process *p)
{
	struct ws_row_process_end end = {.pid = s->started, .how = WS_END_UNKNOWN};
	const bool attached = ws_process_pid(p) != 0;
	uint32_t pid = attached ? ws_process_pid(p) : s->started;
	const bool is_child =
	        pid && s->started && (attached ? ws_process_our_pid(p) : pid) == s->started;
	enum ws_status status;
	struct ws_err err;

	if (!p->is_settled)
		resolve(s, p, pid);
	if (is_child && WIFEXITED(s->wait_status)) {
		end.how = WS_END_EXITED;
		end.code = WEXITSTATUS(s->wait_status);
	} else if (is_child && WIFSIGNALED(s->wait_status)) {
		end.how = WS_END_SIGNALED;
		end.code = WTERMSIG(s->wait_status);
	}
	status = ws_process_finish(p, pid && p->is_gone ? &end : NULL, &err);
	note(s, status, &err);
	/* a salvage may be tried again */
	ws_process_close(p, p->is_salvaged && status != WS_OK);
}

/* --- further processes --- */

static void no_trace_for(struct ws_session *s, uint32_t pid, enum ws_status status,
                         const struct ws_err *err)
{
	ws_record_notice(s->opts, "process %u is not recorded: %s", (unsigned)pid, err->text);
	ws_seg_count(first_segment(s), WS_DROPPED_process_not_recorded, 1);
	note(s, status, err);
}

/* What it says of its process is for the trace; where that lies it has no say in. */
static enum ws_status begin_further(struct ws_session *s, struct ws_segment_file *file,
                                    uint32_t pid, struct ws_process **out, struct ws_err *err)
{
	char text[WS_MAX_COMMAND]; /* a copy: the program can write there at any time */
	char **command = ws_strings_array(
	        ws_strings_in(memcpy(text, file->seg->control.command, sizeof(text)),
	                      sizeof(text)));
	const struct ws_provenance provenance = {
	        .program = command[0],
	        .arguments = command[0] && !s->no_args ? command + 1 : NULL,
	        .options = s->opts->options_text,
	        .no_gpu = (int)s->opts->capture.no_cupti,
	        .cpu_time_quantum_ns = file->seg->capture.cpu_time_quantum_ns,
	};
	char path[PATH_MAX];
	enum ws_status status;

	status = ws_trace_path_part(file, s->pattern, pid, path, err);
	if (status == WS_OK)
		status = ws_process_begin(out, s->opts, file, s->folder, path, &provenance, err);
	else
		ws_segment_file_remove(file);
	free(command);
	return status;
}

/* As a launcher before this one left it. */
static enum ws_status resume_further(struct ws_session *s, struct ws_segment_file *file,
                                     uint32_t pid, struct ws_process **out, struct ws_err *err)
{
	enum ws_salvage found;
	enum ws_status status;
	char path[PATH_MAX];

	/* it can be salvaged alone, too */
	status = ws_segment_file_lock(file, err);
	if (status == WS_OK && ws_drain_is_finished(file->seg))
		status = WS_FAIL(err, ENVIRONMENT, "%s has been salvaged in the meantime",
		                 file->path);
	WS_THEN(status, ws_trace_path_left_at(file, s->folder, s->pattern, pid, path, err));
	if (status == WS_OK)
		return ws_process_resume(out, s->opts, file, s->folder, path, &found, err);
	ws_segment_file_close(file);
	return status;
}

/* Who made a further segment, by its name: the file may not be ready to tell. */
static struct ws_proc maker_of(const char *path)
{
	const char *at = strstr(path, WS_SEG_FURTHER);
	unsigned long long number[3] = {0};
	char *end;

	at = at ? at + strlen(WS_SEG_FURTHER) : "";
	for (int i = 0; i < 3; i++) {
		number[i] = strtoull(at, &end, 10);
		if (*end != '-')
			break;
		at = end + 1;
	}
	return (struct ws_proc){(uint32_t)number[0], number[1], number[2]};
}

/* One in another PID namespace that is not to be seen lives as long as our child, for all we know.
 */
static bool maker_lives(const struct ws_session *s, struct ws_proc maker)
{
	if (!ws_proc_is_elsewhere(maker.namespace))
		return ws_proc_alive(maker);
	return ws_host_pid_find(maker) || s->child;
}

/* Left alone, and not waited for: whoever made it could make us wait for ever. */
static void note_foreign(struct ws_session *s, const struct ws_err *why)
{
	if (!s->foreign++)
		s->foreign_why = *why;
}

static void tell_foreign(struct ws_session *s)
{
	if (s->foreign <= s->foreign_told)
		return;
	s->foreign_told = s->foreign;
	ws_record_notice(s->opts, "%u file%s beside the segment %s ignored: %s", s->foreign,
	                 s->foreign == 1 ? "" : "s", s->foreign == 1 ? "is" : "are",
	                 s->foreign_why.text);
}

/* A segment beside the first one; it may be known, half made, or left by a killed launcher. */
static void look_at(void *ctx, const char *path)
{
	struct ws_session *s = ctx;
	struct ws_segment_file file;
	struct ws_process *p = NULL;
	const struct ws_proc maker = maker_of(path);
	const uint32_t pid = maker.pid;
	enum ws_status status;
	struct ws_err err;
	bool is_alive_yet;

	for (size_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i]->file.seg && !strcmp(s->processes[i]->file.path, path))
			return;
	if (ws_segment_file_is_word(path)) {
		ws_record_notice(s->opts,
		                 "process %u is not recorded: it had no descriptor or memory left "
		                 "for the segment",
		                 (unsigned)pid);
		ws_seg_count(first_segment(s), WS_DROPPED_process_not_recorded, 1);
		ws_segment_file_unlink(path);
		return;
	}
	/* asked first: of a process that was gone before the look nothing changes after it */
	is_alive_yet = maker_lives(s, maker);
	status = ws_segment_file_open(&file, path, &err);
	if (status != WS_OK) {
		if (status == WS_ENVIRONMENT)
			note_foreign(s, &err);
		else if (is_alive_yet)
			s->look_again = 1;
		else
			ws_segment_file_unlink(path);
		return;
	}
	if (is_alive_yet && !file.is_attached) {
		s->look_again = 1;
		ws_segment_file_close(&file);
		return;
	}
	if (!atomic_load(&file.seg->attached) || ws_drain_is_finished(file.seg)) {
		ws_segment_file_remove(&file);
		return;
	}
	status = ws_drain_file_size(file.seg) ? resume_further(s, &file, pid, &p, &err)
	                                      : begin_further(s, &file, pid, &p, &err);
	if (p)
		ws_session_add(s, p);
	else if (status != WS_OK)
		no_trace_for(s, pid, status, &err);
}

static void find_further(struct ws_session *s)
{
	struct ws_seg_control *control = &first_segment(s)->control;
	uint32_t processes = atomic_load(&control->processes);
	uint32_t no_room = atomic_exchange(&control->no_room, 0);

	if (no_room)
		ws_record_notice(s->opts,
		                 "process %u is not recorded: no room for its segment beside %s; "
		                 "--segment-dir names another folder, --buffers fewer rings",
		                 (unsigned)no_room, s->processes[0]->file.path);
	if (processes == s->scanned && !s->look_again)
		return;
	s->scanned = processes;
	s->look_again = 0;
	s->foreign = 0;
	ws_segments_further(s->processes[0]->file.path, look_at, s);
	tell_foreign(s);
}

/* --- programs that want CUDA --- */

static void look_for_cuda(struct ws_session *s)
{
	int64_t now = ws_clock_ns(CLOCK_MONOTONIC);

	if (s->uses_cuda || s->opts->capture.no_cupti || now < s->cuda_look_ns)
		return;
	s->cuda_pause_ns = s->cuda_pause_ns ? s->cuda_pause_ns * 2 : CUDA_LOOK_NS;
	s->cuda_look_ns = now + s->cuda_pause_ns;
	s->uses_cuda = s->child && ws_cuda_use_of_process((uint32_t)s->child);
	for (size_t i = 0; i < s->nprocesses && !s->uses_cuda; i++)
		s->uses_cuda = !s->processes[i]->is_gone && ws_process_our_pid(s->processes[i]) &&
		               ws_cuda_use_of_process(ws_process_our_pid(s->processes[i]));
}

/* --- programs that cannot see the segment --- */

/* Where this process looks for the segment there is none: its root, or its /dev/shm, is another. */
static bool lacks_segment(long pid, const char *segment)
{
	char path[PATH_MAX + 32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%ld/root/.", pid);
	if (stat(path, &st))
		return 0; /* it is gone, or may not be looked at */
	snprintf(path, sizeof(path), "/proc/%ld/root%s", pid, segment);
	return stat(path, &st) && errno == ENOENT;
}

/* The process, or one that it started, down to this depth. */
static bool any_lacks_segment(long pid, const char *segment, int depth)
{
	char path[64];
	bool found = lacks_segment(pid, segment);
	FILE *children;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
	children = found || !depth ? NULL : ws_xopened(fopen(path, "re"));
	while (children && !found && fscanf(children, "%ld", &pid) == 1)
		found = any_lacks_segment(pid, segment, depth - 1);
	if (children)
		fclose(children);
	return found;
}

/* As long as nobody has attached: it may be the reason. */
static void look_for_hidden(struct ws_session *s)
{
	const char *segment = s->processes[0]->file.path;
	int64_t now = ws_clock_ns(CLOCK_MONOTONIC);

	if (s->is_hidden || !s->child || *segment != '/' || ws_process_pid(s->processes[0]) ||
	    now < s->hidden_look_ns)
		return;
	s->hidden_pause_ns = s->hidden_pause_ns ? s->hidden_pause_ns * 2 : HIDDEN_LOOK_NS;
	s->hidden_look_ns = now + s->hidden_pause_ns;
	s->is_hidden = any_lacks_segment(s->child, segment, 8);
}

/* --- the loop --- */

/*
 * One pass over all processes. Returns the records read; *alive tells whether
 * any process can still add to them.
 */
static uint64_t pass(struct ws_session *s, int *alive)
{
	uint64_t n = 0, records;

	*alive = 0;
	find_further(s);
	for (size_t i = 0; i < s->nprocesses; i++) {
		struct ws_process *p = s->processes[i];
		int gone;

		if (p->is_gone)
			continue;
		/* looked at before the pass: what a dead process left is all in this pass */
		gone = s->stop || !is_alive(s, p);
		*alive |= !gone;
		if (!p->is_settled && ws_process_pid(p))
			resolve(s, p, ws_process_pid(p));
		if (gone && !is_alive(s, p))
			ws_drain_program_ended(p->drain);
		records = ws_process_step(p);
		ws_process_look_unseen(p, records);
		n += records;
		if (!gone)
			continue;
		p->is_gone = !is_alive(s, p);
		p->gone_ns = ws_drain_now_ns(p->drain);
		ws_drain_commit(p->drain);
		/* the first segment shows others the way, so it stays until the end */
		if (i && p->is_gone)
			finish(s, p);
	}
	return n;
}

/*
 * Nothing is alive: let nobody begin any more. Returns 0 when it is the end; 1
 * when somebody had begun before that.
 */
static bool end_attaching(struct ws_session *s)
{
	size_t before = s->nprocesses;

	atomic_store(&first_segment(s)->state, WS_SEG_ENDING);
	s->look_again = 1;
	find_further(s);
	if (s->stop || (s->nprocesses == before && !s->look_again))
		return 0;
	atomic_store(&first_segment(s)->state, WS_SEG_OPEN);
	return 1;
}

static void tell_who_runs(const struct ws_session *s)
{
	for (size_t i = 0; i < s->nprocesses; i++)
		if (!s->processes[i]->is_gone && ws_process_who_runs(s->processes[i]))
			ws_record_notice(s->opts,
			                 "process %u still runs and is still being recorded; "
			                 "interrupt to end the recording",
			                 (unsigned)ws_process_who_runs(s->processes[i]));
}

/* That it goes on, for a person who waits: after 3 s, 6 s, 12 s, … and then each minute. In whole
 * lines, for the program may write to the same terminal. */
static void tell_progress(struct ws_session *s)
{
	int64_t for_ns = ws_clock_ns(CLOCK_MONOTONIC) - s->begin_ns;

	if (!s->opts->tell_progress || for_ns < s->tell_after_ns)
		return;
	ws_record_notice(s->opts, "recording for %.0f s: %llu records so far", (double)for_ns / 1e9,
	                 (unsigned long long)s->records);
	s->tell_after_ns += s->tell_after_ns < TELL_EACH_NS ? s->tell_after_ns : TELL_EACH_NS;
}

void ws_session_loop(struct ws_session *s)
{
	int pause_ms = PAUSE_MIN_MS, is_told = 0, alive;

	s->begin_ns = ws_clock_ns(CLOCK_MONOTONIC);
	s->tell_after_ns = TELL_FIRST_NS;
	for (;;) {
		struct pollfd poll_fd = {.fd = s->signals, .events = POLLIN};
		uint64_t n;

		handle_signals(s);
		look_for_cuda(s);
		look_for_hidden(s);
		n = pass(s, &alive);
		s->records += n;
		tell_progress(s);
		alive |= s->child != 0;
		if ((s->stop && !s->child) || (!alive && !end_attaching(s)))
			return;
		if (!s->child && alive && !is_told++)
			tell_who_runs(s);
		pause_ms = n ? PAUSE_MIN_MS : pause_ms < PAUSE_MAX_MS ? pause_ms + 1 : PAUSE_MAX_MS;
		if (n < BUSY_RECORDS)
			poll(&poll_fd, 1, pause_ms);
	}
}

/* --- the end --- */

/* The program said why it did not run; a trace of that would only replace a good one. */
static bool is_usage_error(const struct ws_session *s)
{
	return s->opts->expect_usage_error && s->nprocesses == 1 &&
	       !ws_process_pid(s->processes[0]) && WIFEXITED(s->wait_status) &&
	       WEXITSTATUS(s->wait_status) == 2;
}

enum ws_status ws_session_finish(struct ws_session *s, struct ws_record_result *result,
                                 struct ws_err *err)
{
	if (is_usage_error(s)) {
		ws_process_remove_trace(s->processes[0]);
		return WS_OK;
	}
	result->traces = ws_xarray(s->nprocesses, sizeof(*result->traces));
	atomic_store(&first_segment(s)->state, WS_SEG_ENDING);
	/* the first one last: it counts what the others could not */
	for (size_t i = s->nprocesses; i--;)
		if (s->processes[i]->file.seg)
			finish(s, s->processes[i]);

	result->ntraces = s->nprocesses;
	for (size_t i = 0; i < s->nprocesses; i++) {
		result->traces[i] = s->processes[i]->result;
		s->processes[i]->trace = NULL; /* the result's now */
	}
	if (s->status != WS_OK && err)
		*err = s->failure;
	return s->status;
}

void ws_record_result_release(struct ws_record_result *result)
{
	for (size_t i = 0; i < result->ntraces; i++)
		free(result->traces[i].path);
	free(result->traces);
	result->traces = NULL;
	result->ntraces = 0;
}

void ws_session_close(struct ws_session *s, int keep_segments)
{
	for (size_t i = 0; i < s->nprocesses; i++) {
		ws_process_close(s->processes[i], keep_segments);
		ws_process_free(s->processes[i]);
	}
	ws_out_of_memory_first(NULL); /* nothing is left that it would have to remove, or tell of */
	ws_out_of_memory_reason(NULL);
	free(s->processes);
	s->processes = NULL;
	s->nprocesses = 0;
	if (s->witness)
		ws_witness_end(s->witness);
	s->witness = 0;
	if (s->signals >= 0)
		close(s->signals);
	if (s->folder >= 0)
		close(s->folder);
}
