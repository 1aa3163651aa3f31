
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "formats/base/outfile.h"
#include "kernels/nvtx/abi.h"
#include "recorder/launch/launch.h"

/* --- a recording --- */

/* The state of a recording or salvage: all of its processes. */
struct session {
	const struct ws_record_opts *opts;
	struct ws_process **processes; /* [0]: the first segment's */
	size_t nprocesses, capacity;
	int signals;                 /* signalfd, -1 = none */
	pid_t child;                 /* our child until it is reaped; then 0 */
	pid_t witness;               /* receives signals to our process group; 0: none */
	uint32_t started;            /* pid of the program we started, 0 for salvage */
	int wait_status;             /* exit status of the child, once reaped */
	int folder;                  /* folder of the traces, opened once; -1: not possible */
	char pattern[WS_MAX_OUTPUT]; /* absolute pattern of the traces' names: the launcher's own;
	                                for salvage that of the first segment, never of another */
	int keep_existing; /* as in struct ws_record_opts, from the same source as pattern */
	bool no_args;      /* the same; for salvage also if the option is given to it */
	/* files beside the first segment that cannot be trusted: their number now, the number last
	 * reported to the user, and the reason for the first */
	unsigned foreign, foreign_told;
	struct ws_err foreign_why;
	int stop;              /* the user wants to stop, though the program still runs */
	uint32_t scanned;      /* number of further segments at the last search */
	int look_again;        /* a further segment was not ready: search again */
	int uses_cuda;         /* a process has loaded a CUDA library */
	int64_t cuda_look_ns;  /* time of the next check for CUDA, CLOCK_MONOTONIC */
	int64_t cuda_pause_ns; /* pause after the next check */
	bool is_hidden;        /* a process of the program cannot see the segment */
	int64_t hidden_look_ns, hidden_pause_ns; /* the same for the search for such a process */
	int64_t begun_ns;   /* begin by CLOCK_REALTIME; for salvage INT64_MAX: no file is newer */
	struct ws_job *job; /* --job; NULL: none */
	uint64_t records;   /* records read so far */
	int64_t begin_ns;   /* begin of the loop, by CLOCK_MONOTONIC */
	int64_t tell_after_ns; /* after this time since begin_ns, report progress */
	enum ws_status status; /* the first error of any trace */
	struct ws_err failure;
};

/* Pauses between passes: short while there are records, longer when there are none. */
#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 10
/* After a pass with this many records the next one follows at once. */
#define BUSY_RECORDS 4096
/* First check for loaded CUDA libraries. Pauses double, as a check costs the program a little
 * time. */
#define CUDA_LOOK_NS 50000000
/* First search for processes that cannot see the segment. It costs them nothing. */
#define HIDDEN_LOOK_NS 2000000
/* Time of the first progress message, and the longest time between two. */
#define TELL_FIRST_NS 3000000000
#define TELL_EACH_NS  60000000000

static void note(struct session *s, enum ws_status status, const struct ws_err *err)
{
	if (status == WS_OK || s->status != WS_OK)
		return;
	s->status = status;
	s->failure = *err;
}

static void add_process(struct session *s, struct ws_process *p)
{
	WS_GROW(s->processes, s->nprocesses + 1, s->capacity);
	s->processes[s->nprocesses++] = p;
}

/* --- signals --- */

static enum ws_status block_signals(struct session *s, sigset_t *before, struct ws_err *err)
{
	static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
	                                SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t set, pipe;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	/* recording continues when our messages can no longer be read; a file at its size limit
	 * (ulimit -f) is an error like a full disk. The program gets the original mask. */
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

/* Reads received signals: a bit each. *from_kernel: those sent by the kernel. */
static uint64_t read_signals(struct session *s, uint64_t *from_kernel)
{
	uint64_t signals = 0;
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		signals |= SIGNAL_BIT(info.ssi_signo);
		*from_kernel |= info.ssi_code > 0 ? SIGNAL_BIT(info.ssi_signo) : 0;
	}
	return signals;
}

/*
 * While our child runs, a signal to us is passed on to the program. A signal to the process group
 * has already reached the program; it is also pending in the witness. Without a witness, signals
 * from the kernel are taken as sent to the group, like Ctrl-C; but SIGHUP of a closed terminal goes
 * only to the leader. A signal stays pending in the witness, so a new witness replaces it. The new
 * one is started before the old one is asked for the last time, so each signal to the group is
 * pending in one of them. The new one must have no pending signals when it takes over, as those may
 * have been read here already.
 */
static void pass_on(struct session *s, uint64_t signals, uint64_t from_kernel)
{
	uint64_t to_group =
	        s->witness ? ws_witness_signals(s->witness) : from_kernel & ~SIGNAL_BIT(SIGHUP);
	bool is_clean = !s->witness || !to_group;

	while (!is_clean) {
		const pid_t next = ws_witness_start();

		signals |= read_signals(s, &from_kernel);
		to_group |= ws_witness_signals(s->witness);
		is_clean = !next || !ws_witness_signals(next);
		ws_witness_end(s->witness);
		s->witness = next;
	}
	for (int signal = 1; signal <= 64; signal++)
		if (signals & ~to_group & SIGNAL_BIT(signal))
			kill(s->child, signal);
}

/* --- the recorded processes --- */

static struct ws_seg_header *first_segment(const struct session *s)
{
	return s->processes[0]->file.seg;
}

/* Whether this process may still produce records. */
static bool is_alive(const struct session *s, struct ws_process *p)
{
	const enum ws_life life = ws_process_life(p);
	const uint32_t pid = ws_process_our_pid(p);

	/* no process has attached yet: the child, or a process started by it, may still do so */
	if (!ws_process_pid(p))
		return s->child != 0 || life == WS_LIFE_ON;
	if (life == WS_LIFE_UNSEEN || (pid && pid == s->started))
		return s->child != 0;
	return life == WS_LIFE_ON;
}

static void resolve(struct session *s, struct ws_process *p, uint32_t pid)
{
	const struct ws_process_naming naming = {s->pattern, s->keep_existing, s->processes,
	                                         s->nprocesses, s->begun_ns};

	ws_process_resolve(p, pid, &naming);
}

/* How the process ended; known only for our own child. */
static void finish(struct session *s, struct ws_process *p)
{
	struct ws_row_process_end end = {.pid = s->started, .how = WS_END_UNKNOWN};
	const bool attached = ws_process_pid(p) != 0;
	uint32_t pid = attached ? ws_process_pid(p) : s->started;
	const bool is_child =
	        pid && s->started && (attached ? ws_process_our_pid(p) : pid) == s->started;
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
	enum ws_status status = ws_process_finish(p, pid && p->is_gone ? &end : NULL, &err);
	note(s, status, &err);
	/* salvage can be repeated */
	ws_process_close(p, p->is_salvaged && status != WS_OK);
}

/* --- further processes --- */

/* Facts about the process from its segment are stored in the trace. The path of the trace does not
 * depend on them. */
static enum ws_status begin_further(struct session *s, struct ws_segment_file *file, uint32_t pid,
                                    struct ws_process **out, struct ws_err *err)
{
	char text[WS_MAX_COMMAND]; /* a copy: the program can write there at any time */
	char **command = ws_strings_array(
	        ws_strings_in(memcpy(text, file->seg->control.command, sizeof(text)),
	                      sizeof(text)));
	char path[PATH_MAX];

	enum ws_status status = ws_trace_path_part(file, s->pattern, pid, path, err);
	if (status == WS_OK)
		status = ws_process_begin(out, s->opts, file, s->folder, path, command[0],
		                          command[0] && !s->no_args ? command + 1 : NULL, err);
	else
		ws_segment_file_remove(file);
	free(command);
	return status;
}

/* Continues with the state left by an earlier launcher. */
static enum ws_status resume_further(struct session *s, struct ws_segment_file *file, uint32_t pid,
                                     struct ws_process **out, struct ws_err *err)
{
	enum ws_salvage found;
	char path[PATH_MAX];

	/* it can also be salvaged alone */
	enum ws_status status = ws_segment_file_lock(file, err);
	if (status == WS_OK && ws_drain_is_finished(file->seg))
		status = WS_FAIL(err, ENVIRONMENT, "%s has been salvaged in the meantime",
		                 file->path);
	WS_THEN(status, ws_trace_path_left_at(file, s->folder, s->pattern, pid, path, err));
	if (status == WS_OK)
		return ws_process_resume(out, s->opts, file, s->folder, path, &found, err);
	ws_segment_file_close(file);
	return status;
}

/* Handles a segment beside the first one. It may be known, incomplete, or left by a killed
 * launcher. */
static void look_at(void *ctx, const char *path)
{
	struct session *s = ctx;
	struct ws_segment_file file;
	struct ws_process *p = NULL;
	const char *at = strstr(path, WS_SEG_FURTHER);
	unsigned long long number[3] = {0};
	struct ws_err err;
	bool is_alive_yet;
	char *end;

	/* The process that made the segment, read from the file's name, as the file may not be
	 * ready. */
	at = at ? at + strlen(WS_SEG_FURTHER) : "";
	for (int i = 0; i < 3; i++) {
		number[i] = strtoull(at, &end, 10);
		if (*end != '-')
			break;
		at = end + 1;
	}
	uint32_t pid = (uint32_t)number[0];
	struct ws_proc maker = {pid, number[1], number[2]};

	for (size_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i]->file.seg && !strcmp(s->processes[i]->file.path, path))
			return;
	if (ws_segment_file_is_word(path)) {
		ws_record_notice("process %u is not recorded: it had no descriptor or memory left "
		                 "for the segment",
		                 (unsigned)pid);
		ws_seg_count(first_segment(s), WS_DROPPED_process_not_recorded, 1);
		ws_segment_file_unlink(path);
		return;
	}
	/* asked first: if the process had ended before, its segment no longer changes */
	if (!ws_proc_is_elsewhere(maker.namespace))
		is_alive_yet = ws_proc_alive(maker);
	else /* a process of another PID namespace is taken to run as long as our child */
		is_alive_yet = ws_host_pid_find(maker) || s->child;
	enum ws_status status = ws_segment_file_open(&file, path, &err);
	if (status != WS_OK) {
		if (status == WS_ENVIRONMENT) {
			/* Ignored and not waited for, as its maker could make us wait for ever. */
			if (!s->foreign++)
				s->foreign_why = err;
		} else if (is_alive_yet)
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
		add_process(s, p);
	else if (status != WS_OK) {
		ws_record_notice("process %u is not recorded: %s", (unsigned)pid, err.text);
		ws_seg_count(first_segment(s), WS_DROPPED_process_not_recorded, 1);
		note(s, status, &err);
	}
}

static void find_further(struct session *s)
{
	struct ws_seg_control *control = &first_segment(s)->control;
	uint32_t processes = atomic_load(&control->processes);
	uint32_t no_room = atomic_exchange(&control->no_room, 0);

	if (no_room)
		ws_record_notice("process %u is not recorded: no room for its segment beside %s; "
		                 "--segment-dir names another folder, --buffers fewer rings",
		                 (unsigned)no_room, s->processes[0]->file.path);
	if (processes == s->scanned && !s->look_again)
		return;
	s->scanned = processes;
	s->look_again = 0;
	s->foreign = 0;

	const char *first_path = s->processes[0]->file.path;
	const char *name = ws_path_name(first_path);
	char dir[PATH_MAX] = ".", prefix[NAME_MAX + 1];

	if (name > first_path)
		snprintf(dir, sizeof(dir), "%.*s", (int)(name - first_path - 1), first_path);
	snprintf(prefix, sizeof(prefix), "%.200s" WS_SEG_FURTHER, name);
	ws_segments_with_prefix(dir, prefix, look_at, s);
	if (s->foreign <= s->foreign_told)
		return;
	s->foreign_told = s->foreign;
	ws_record_notice("%u file%s beside the segment %s ignored: %s", s->foreign,
	                 WS_PLURAL(s->foreign), s->foreign == 1 ? "is" : "are",
	                 s->foreign_why.text);
}

/* --- programs that cannot see the segment --- */

/* Whether the process, or one started by it down to this depth, cannot see the segment, because its
 * root folder or its /dev/shm differs from ours. */
static bool any_lacks_segment(long pid, const char *segment, int depth)
{
	char path[PATH_MAX + 32], root[64];
	struct stat st;
	FILE *children;

	snprintf(path, sizeof(path), "/proc/%ld/root%s", pid, segment);
	snprintf(root, sizeof(root), "/proc/%ld/root/.", pid);
	/* The root is looked at last: a process that has ended lacks both. */
	bool found = stat(path, &st) && errno == ENOENT && !stat(root, &st);

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
	children = found || !depth ? NULL : ws_xopened(fopen(path, "re"));
	while (children && !found && fscanf(children, "%ld", &pid) == 1)
		found = any_lacks_segment(pid, segment, depth - 1);
	if (children)
		fclose(children);
	return found;
}

/* --- the loop --- */

/*
 * One pass over all processes. Returns the number of records read. *alive: whether any process may
 * still produce records.
 */
static uint64_t pass(struct session *s, int *alive)
{
	uint64_t n = 0, records;

	*alive = 0;
	find_further(s);
	for (size_t i = 0; i < s->nprocesses; i++) {
		struct ws_process *p = s->processes[i];

		if (p->is_gone)
			continue;
		/* checked before the pass, so that this pass reads everything from a process that
		 * has ended */
		int has_ended = s->stop || !is_alive(s, p);
		*alive |= !has_ended;
		if (!p->is_settled && ws_process_pid(p))
			resolve(s, p, ws_process_pid(p));
		if (has_ended && !is_alive(s, p))
			ws_drain_program_ended(p->drain);
		records = ws_process_step(p);
		ws_process_look_unseen(p, records);
		n += records;
		if (!has_ended)
			continue;
		p->is_gone = !is_alive(s, p);
		p->gone_ns = ws_drain_now_ns(p->drain);
		ws_drain_commit(p->drain);
		/* further processes find the recording by the first segment, so it is kept until
		 * the end */
		if (i && p->is_gone)
			finish(s, p);
	}
	return n;
}

/* --- samples of GPUs --- */

/* Chooses the GPUs to sample: those that the recorded processes use. */
static void watch_gpus(struct session *s)
{
	struct ws_gpu_address gpus[WS_MAX_GPUS];
	size_t n = 0;

	for (size_t i = 0; i < s->nprocesses; i++) {
		const struct ws_process *p = s->processes[i];

		for (uint32_t device = 0; !p->is_gone && device < WS_MAX_GPUS && n < WS_MAX_GPUS;
		     device++)
			n += ws_drain_gpu_address(p->drain, device, &gpus[n]);
	}
	if (n)
		ws_gpu_samples_watch(gpus, n, s->opts->gpu_sample_ms);
}

static void add_sample(struct ws_process *p, const struct ws_gpu_sample *sample)
{
	struct ws_gpu_address address;

	for (uint32_t device = 0; device < WS_MAX_GPUS; device++) {
		struct ws_row_gpu_sample row = sample->row;

		if (!ws_drain_gpu_address(p->drain, device, &address) ||
		    memcmp(&address, &sample->gpu, sizeof(address)) != 0)
			continue;
		row.device = device;
		row.time_ns -= p->file.seg->base_ns;
		if (sample->ngiven)
			ws_drain_add(p->drain, WS_KIND_GPU_SAMPLE, &row);
		ws_seg_count(p->file.seg, WS_DROPPED_gpu_sample_failed, sample->nfailed);
		if (sample->nfailed && !p->has_lost_a_value) {
			p->has_lost_a_value = true;
			ws_drain_add_meta(p->drain, "gpu.samples_failed",
			                  "%s of device %u: NVML error %d", sample->failed,
			                  (unsigned)device, sample->result);
			ws_record_notice("NVML no longer gives the %s of device %u (NVML error "
			                 "%d); its other values are still sampled",
			                 sample->failed, (unsigned)device, sample->result);
		}
	}
}

static void take_samples(struct session *s)
{
	struct ws_gpu_sample samples[64];
	uint64_t late = 0;
	size_t n;

	do {
		n = ws_gpu_samples_take(samples, sizeof(samples) / sizeof(*samples), &late);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < s->nprocesses; k++)
				if (s->processes[k]->drain &&
				    !ws_drain_is_stopped(s->processes[k]->drain))
					add_sample(s->processes[k], &samples[i]);
	} while (n);
	ws_seg_count(first_segment(s), WS_DROPPED_gpu_sample_failed, late);
}

static void run_loop(struct session *s)
{
	int pause_ms = PAUSE_MIN_MS, is_told = 0, alive;

	s->begin_ns = ws_clock_ns(CLOCK_MONOTONIC);
	s->tell_after_ns = TELL_FIRST_NS;
	for (;;) {
		struct pollfd poll_fd = {.fd = s->signals, .events = POLLIN};
		uint64_t n, from_kernel = 0;
		uint64_t signals = read_signals(s, &from_kernel);

		if (s->opts->dumps_on_signal && signals & SIGNAL_BIT(SIGUSR2)) {
			signals &= ~SIGNAL_BIT(SIGUSR2);
			for (size_t i = 0; i < s->nprocesses; i++)
				if (!s->processes[i]->is_gone)
					ws_flight_trigger(s->processes[i], "signal");
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
		/* Has a process loaded a CUDA library? */
		int64_t now = ws_clock_ns(CLOCK_MONOTONIC);
		if (!s->uses_cuda && !s->opts->capture.no_cupti && now >= s->cuda_look_ns) {
			s->cuda_pause_ns = s->cuda_pause_ns ? s->cuda_pause_ns * 2 : CUDA_LOOK_NS;
			s->cuda_look_ns = now + s->cuda_pause_ns;
			s->uses_cuda = s->child && ws_cuda_use_of_process((uint32_t)s->child);
			for (size_t i = 0; i < s->nprocesses && !s->uses_cuda; i++)
				s->uses_cuda =
				        !s->processes[i]->is_gone &&
				        ws_process_our_pid(s->processes[i]) &&
				        ws_cuda_use_of_process(ws_process_our_pid(s->processes[i]));
		}
		/* Reported while no process has attached, as it may be the reason. */
		const char *segment = s->processes[0]->file.path;
		now = ws_clock_ns(CLOCK_MONOTONIC);
		if (!s->is_hidden && s->child && *segment == '/' &&
		    !ws_process_pid(s->processes[0]) && now >= s->hidden_look_ns) {
			s->hidden_pause_ns =
			        s->hidden_pause_ns ? s->hidden_pause_ns * 2 : HIDDEN_LOOK_NS;
			s->hidden_look_ns = now + s->hidden_pause_ns;
			s->is_hidden = any_lacks_segment(s->child, segment, 8);
		}
		n = pass(s, &alive);
		if (s->job)
			ws_job_step(s->job, s->processes, s->nprocesses);
		s->records += n;
		if (s->started && s->opts->gpu_sample_ms && !s->opts->capture.no_cupti) {
			watch_gpus(s);
			take_samples(s);
		}
		/* Progress for the user: after 3 s, 6 s, 12 s, … and then every minute. In whole
		 * lines, as the program may write to the same terminal. */
		int64_t for_ns = ws_clock_ns(CLOCK_MONOTONIC) - s->begin_ns;
		if (s->opts->tell_progress && for_ns >= s->tell_after_ns) {
			ws_record_notice("recording for %.0f s: %llu records so far",
			                 (double)for_ns / 1e9, (unsigned long long)s->records);
			s->tell_after_ns +=
			        s->tell_after_ns < TELL_EACH_NS ? s->tell_after_ns : TELL_EACH_NS;
		}
		alive |= s->child != 0;
		if (s->stop && !s->child)
			return;
		if (!alive) {
			/* No process runs: no further process may attach. The recording goes on if
			 * another process attached before. */
			const size_t before = s->nprocesses;

			atomic_store(&first_segment(s)->state, WS_SEG_ENDING);
			s->look_again = 1;
			find_further(s);
			if (s->stop || (s->nprocesses == before && !s->look_again))
				return;
			atomic_store(&first_segment(s)->state, WS_SEG_OPEN);
		}
		if (!s->child && alive && !is_told++) {
			for (size_t i = 0; i < s->nprocesses; i++)
				if (!s->processes[i]->is_gone &&
				    ws_process_who_runs(s->processes[i]))
					ws_record_notice("process %u still runs and is still being "
					                 "recorded; interrupt to end the recording",
					                 (unsigned)ws_process_who_runs(
					                         s->processes[i]));
		}
		pause_ms = n ? PAUSE_MIN_MS : pause_ms < PAUSE_MAX_MS ? pause_ms + 1 : PAUSE_MAX_MS;
		if (n < BUSY_RECORDS)
			poll(&poll_fd, 1, pause_ms);
	}
}

/* --- the end --- */

static enum ws_status finish_session(struct session *s, struct ws_record_result *result,
                                     struct ws_err *err)
{
	/* the program reported why it did not run: its empty trace would only replace a good one */
	if (s->opts->expect_usage_error && s->nprocesses == 1 && !ws_process_pid(s->processes[0]) &&
	    WIFEXITED(s->wait_status) && WEXITSTATUS(s->wait_status) == 2) {
		ws_process_remove_trace(s->processes[0]);
		return WS_OK;
	}
	result->traces = ws_xarray(s->nprocesses, sizeof(*result->traces));
	atomic_store(&first_segment(s)->state, WS_SEG_ENDING);
	/* the first one last: it counts losses that others could not count */
	for (size_t i = s->nprocesses; i--;)
		if (s->processes[i]->file.seg)
			finish(s, s->processes[i]);

	result->ntraces = s->nprocesses;
	for (size_t i = 0; i < s->nprocesses; i++) {
		result->traces[i] = s->processes[i]->result;
		s->processes[i]->trace = NULL; /* now owned by the result */
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

static void close_session(struct session *s, int keep_segments)
{
	if (s->job)
		ws_job_close(s->job, s->processes, s->nprocesses);
	for (size_t i = 0; i < s->nprocesses; i++) {
		ws_process_close(s->processes[i], keep_segments);
		ws_process_free(s->processes[i]);
	}
	ws_gpu_unlock_clocks();
	ws_out_of_memory_first(NULL); /* nothing remains to be removed or reported */
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

#define COLLECTOR_NAME "libwarpsheet-collect.so"
#define ENV_NVTX       WSN_ENV_INJECTION
#define ENV_CUDA       "CUDA_INJECTION64_PATH"
#define ENV_PRELOAD    "LD_PRELOAD"
#define ENV_PYTHON     "PYTHONPATH"

/* --- preparations before the start --- */

/* Finds the library beside this program, as in the build tree, or in the installation. */
static enum ws_status find_collector(char out[PATH_MAX], struct ws_err *err)
{
	static const char *const places[] = {"", "/../lib/warpsheet"};
	char self[PATH_MAX], path[PATH_MAX];

	WS_FAIL_IF(ws_program_path(self, sizeof(self)), err, ENVIRONMENT,
	           "cannot find this program itself: %s", strerror(errno));
	dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int len = snprintf(path, sizeof(path), "%s%s/" COLLECTOR_NAME, self, places[i]);

		if (len > 0 && (size_t)len < sizeof(path) && realpath(path, out))
			return WS_OK;
	}
	return WS_FAIL(err, ENVIRONMENT,
	               COLLECTOR_NAME " is neither in %s nor in %s/../lib/warpsheet", self, self);
}

/* Further processes use the same folder, so it must have room for this many segments. */
#define ROOM_SEGMENTS 8

/*
 * Makes the segment in memory if possible, else beside the trace. A folder that others can access
 * is an error and not a reason to use another: its maker must not decide where we write.
 */
static enum ws_status make_segment(const struct ws_record_opts *opts, const char *trace,
                                   struct ws_segment_file *file, struct ws_err *err)
{
	const uint64_t room = ws_seg_room(&opts->segment);
	const char *dir = opts->segment_dir;
	char standard[PATH_MAX];
	struct ws_err first;
	int fd;

	if (!dir) {
		ws_segment_folder_make(ROOM_SEGMENTS * room, standard);
		dir = standard;
	}
	enum ws_status status = ws_segment_folder_open(dir, &fd, &first);
	if (status == WS_OK) {
		close(fd);
		status = ws_segment_file_create(file, dir, &opts->segment, &first);
	} else if (status != WS_IO_READ) {
		return ws_fail(err, status, first.file, first.line, "%s", first.text);
	}
	if (status != WS_OK) {
		WS_FAIL_IF(ws_segment_file_create_beside(file, trace, &opts->segment, err) != WS_OK,
		           err, ENVIRONMENT, "%s, and none beside the trace", first.text);
		ws_record_notice("%s; using %s", first.text, file->path);
	}
	if (file->is_shrunk)
		ws_record_notice("ulimit -f or ulimit -v leaves %u MiB for shared memory: buffers "
		                 "for %u threads at a time, of %u KiB each",
		                 (unsigned)(file->size >> 20), file->seg->thread_buffer_count,
		                 file->seg->ring_size >> 10);
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

/* Expands the pattern before a process is recorded. */
static enum ws_status plain_path(const struct session *s, char out[PATH_MAX], struct ws_err *err)
{
	const struct ws_output_vars vars = {(uint32_t)getpid(), NULL, NULL};

	return ws_output_expand(s->pattern, &vars, out, PATH_MAX - 64, err);
}

/*
 * Chooses the first path of the first trace. Its final name depends on the recorded process, which
 * is not known yet, and an existing file with that name is kept until the trace is complete. Until
 * then the trace has the name of its segment, which cannot be guessed. A device or pipe is written
 * directly.
 */
static enum ws_status first_path(struct session *s, char out[PATH_MAX], bool *is_settled,
                                 struct ws_err *err)
{
	struct stat st;
	char id[48];

	WS_FORWARD(plain_path(s, out, err));
	WS_FORWARD(open_folder(out, &s->folder, WS_IO_WRITE, err));
	ws_record_folder_id(s->folder, id);
	WS_FAIL_IF(s->opts->folder_id && strcmp(id, s->opts->folder_id) != 0, err, IO_WRITE,
	           "cannot write %s: its folder has made way for another", out);
	const char *name = strrchr(out, '/') + 1;
	*is_settled = ws_own_file_descriptor(out) >= 0 ||
	              (!fstatat(s->folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	               !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode));
	return WS_OK;
}

/* --- record --- */

/* Files made before the program runs. */
static struct {
	struct ws_segment_file segment;
	int folder;
	char trace[PATH_MAX]; /* name of the unfinished trace; empty: it is the user's own file */
} unstarted;

/* Removed if memory runs out before the program runs; later everything recorded is kept. */
static void remove_unstarted(void)
{
	ws_gpu_unlock_clocks();
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

static enum ws_status open_session(struct session *s, const char *program, char *const argv[],
                                   struct ws_err *err)
{
	const struct ws_record_opts *opts = s->opts;
	struct ws_segment_file file;
	struct ws_process *first;
	struct ws_seg_plan *plan;
	char path[PATH_MAX];
	bool is_settled = false;
	struct ws_seg_header *seg;

	WS_FORWARD(first_path(s, path, &is_settled, err));
	WS_FAIL_IF(is_settled && opts->keep_ns, err, USAGE,
	           "--keep cannot write to %s: it needs a regular file", path);
	WS_FORWARD(make_segment(opts, path, &file, err));
	if (!is_settled) {
		snprintf(path + strlen(path), 64, ".%s.part",
		         strrchr(file.path, '/') + 1 + strlen(WS_SEG_PREFIX));
		snprintf(unstarted.trace, sizeof(unstarted.trace), "%s", strrchr(path, '/') + 1);
	}
	unstarted.segment = file;
	unstarted.folder = s->folder;
	ws_out_of_memory_first(remove_unstarted);
	seg = file.seg;
	seg->boot = ws_proc_boot();
	seg->base_ns = ws_clock_ns(CLOCK_MONOTONIC);
	seg->base_raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW);
	seg->realtime_apart_ns = ws_clock_realtime_apart();
	seg->base_realtime_ns = seg->base_ns + seg->realtime_apart_ns;
	plan = &seg->plan;
	plan->no_args = (uint32_t)opts->no_args;
	memcpy(plan->output, s->pattern, strlen(s->pattern) + 1);
	plan->keep_existing = (uint32_t)opts->keep_existing;
	seg->capture = opts->capture;
	plan->window = opts->window;
	if (opts->delay_ns || opts->window.duration_ns)
		plan->window.begin_ns = seg->base_ns + opts->delay_ns;
	enum ws_status status = ws_segment_file_seal(&file, err);
	if (status != WS_OK) {
		ws_segment_file_remove(&file);
		return status;
	}
	WS_FORWARD(ws_process_begin(&first, opts, &file, s->folder, path, program,
	                            opts->no_args ? NULL : argv + 1, err));
	first->is_settled = is_settled;
	add_process(s, first);
	return WS_OK;
}

#define COUNT_ONE(variable, value) +1
#define MAX_VARIABLES              (6 WS_LIBRARY_RANGES_LIST(COUNT_ONE))

/* A path variable with one more entry, before or after the user's entries. */
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

/* mask: signals to be blocked in the program. */
static enum ws_status start_program(struct session *s, const char *collector, const char *program,
                                    char *const argv[], const sigset_t *mask,
                                    struct ws_record_result *result, struct ws_err *err)
{
	struct ws_child_env env[MAX_VARIABLES] = {
	        {ENV_NVTX, collector},
	        {WS_SEG_ENV, s->processes[0]->file.path},
	};
	char preload[2 * PATH_MAX], pythonpath[2 * PATH_MAX];
	size_t n = 2;

	if (s->opts->capture.pytorch) {
		/* Sets the program's environment for --pytorch. Among preloaded libraries a user's
		 * allocator must come first. Among Python's folders ours comes first; our
		 * sitecustomize.py then runs the user's. */
		char python[PATH_MAX + 32];

		WS_FAIL_IF(strpbrk(collector, ": "), err, ENVIRONMENT,
		           "--pytorch: the path %s has a blank or a colon, so the system cannot "
		           "load it into a program (LD_PRELOAD)",
		           collector);
		/* our sitecustomize.py is in a folder beside the collector */
		snprintf(python, sizeof(python), "%.*s/python",
		         (int)(strrchr(collector, '/') - collector), collector);
		WS_FORWARD(longer_path(ENV_PRELOAD, collector, 0, preload, err));
		WS_FORWARD(longer_path(ENV_PYTHON, python, 1, pythonpath, err));
	}
	if (!s->opts->capture.no_cupti)
		env[n++] = (struct ws_child_env){ENV_CUDA, collector};
#define X(variable, level)                                                        \
	if (s->opts->library_ranges == WS_LIBRARY_RANGES_ON && !getenv(variable)) \
		env[n++] = (struct ws_child_env){variable, level};
	WS_LIBRARY_RANGES_LIST(X)
#undef X
	if (s->opts->capture.pytorch) {
		env[n++] = (struct ws_child_env){WS_PYTORCH_ENV, "on"};
		env[n++] = (struct ws_child_env){ENV_PRELOAD, preload};
		env[n++] = (struct ws_child_env){ENV_PYTHON, pythonpath};
	}
	WS_FORWARD(ws_child_start(&s->child, &s->witness, program, argv, env, n, mask,
	                          &s->processes[0]->file.seg->started, &result->exit_code, err));
	s->started = (uint32_t)s->child;
	snprintf(cure, sizeof(cure), "finish the trace: warpsheet-record --salvage %s",
	         s->processes[0]->file.path);
	ws_out_of_memory_reason(how_to_finish);
	ws_out_of_memory_first(ws_gpu_unlock_clocks);
	return WS_OK;
}

enum ws_status ws_record_run(const struct ws_record_opts *opts, char *const argv[],
                             struct ws_record_result *result, struct ws_err *err)
{
	struct session s = {.opts = opts,
	                    .signals = -1,
	                    .folder = -1,
	                    .keep_existing = opts->keep_existing,
	                    .begun_ns = ws_clock_ns(CLOCK_REALTIME),
	                    .no_args = opts->no_args};
	char program[PATH_MAX], collector[PATH_MAX];
	sigset_t before;

	*result = (struct ws_record_result){0};
	ws_missing_pages_replace();
	WS_FORWARD(ws_child_find(argv[0], program, sizeof(program), &result->exit_code, err));
	WS_FORWARD(find_collector(collector, err));
	if (!opts->force) {
		/* Each of these variables names one tool; a second one would silently replace the
		 * first. */
		static const char *const names[] = {ENV_NVTX, ENV_CUDA};

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			const char *value = getenv(names[i]);

			WS_FAIL_IF(value && *value && strcmp(value, collector) != 0, err,
			           ENVIRONMENT,
			           "%s is set to another tool (%s); unset it, or give --force to "
			           "replace it",
			           names[i], value);
		}
	}

	/* The absolute pattern, for further processes and for --salvage from any folder. */
	char cwd[PATH_MAX], escaped[PATH_MAX];
	int n;

	if (*opts->output == '/') {
		n = snprintf(s.pattern, WS_MAX_OUTPUT, "%s", opts->output);
	} else {
		WS_FAIL_IF(!getcwd(cwd, sizeof(cwd)), err, ENVIRONMENT,
		           "cannot find the current folder: %s", strerror(errno));
		WS_FAIL_IF(ws_output_escape(cwd, escaped, sizeof(escaped)), err, USAGE,
		           "the path %s is too long", cwd);
		n = snprintf(s.pattern, WS_MAX_OUTPUT, "%s/%s", escaped, opts->output);
	}
	WS_FAIL_IF(n < 0 || n >= WS_MAX_OUTPUT, err, USAGE, "the path %s is too long",
	           opts->output);

	if (opts->job)
		WS_FORWARD(ws_job_open(&s.job, opts->job, err));
	/* from here on no signal that is sent ends us with the clocks still locked */
	enum ws_status status = block_signals(&s, &before, err);
	if (opts->lock_clocks)
		WS_THEN(status, ws_gpu_lock_clocks(err));
	WS_THEN(status, open_session(&s, program, argv, err));
	WS_THEN(status, start_program(&s, collector, program, argv, &before, result, err));
	if (status != WS_OK) {
		if (s.nprocesses)
			ws_process_remove_trace(s.processes[0]); /* no program ran */
		close_session(&s, 0);
		return status;
	}
	run_loop(&s);
	if (!ws_gpu_samples_end()) {
		ws_record_notice("NVML does not return: later samples of the GPUs are missing");
		ws_seg_count(first_segment(&s), WS_DROPPED_gpu_sample_failed, 1);
	}
	take_samples(&s);
	if (WIFSIGNALED(s.wait_status)) {
		result->term_signal = WTERMSIG(s.wait_status);
		result->exit_code = 128 + result->term_signal;
	} else {
		result->exit_code = WEXITSTATUS(s.wait_status);
	}
	result->is_hidden = s.is_hidden;
	result->obstacle = ws_child_obstacle(program);
	result->uses_cuda = s.uses_cuda || ws_cuda_use_of_file(program);
	status = finish_session(&s, result, err);
	close_session(&s, 0);
	return status;
}

/* --- salvage --- */

/* Checks that the segment can be salvaged, and restores what the killed launcher had in memory for
 * all processes. */
static enum ws_status take_over(struct session *s, const struct ws_seg_header *seg,
                                const char *path, struct ws_err *err)
{
	const struct ws_proc launcher = ws_seg_process(&seg->launcher);
	const struct ws_seg_plan *plan = &seg->plan;

	WS_FAIL_IF(ws_proc_is_elsewhere(launcher.namespace) ? ws_host_pid_find(launcher) != 0
	                                                    : ws_proc_alive(launcher),
	           err, USAGE, "%s is in use: process %u is recording into it", path,
	           (unsigned)launcher.pid);
	WS_FAIL_IF(!ws_drain_file_size(seg), err, CORRUPT,
	           "%s holds nothing: its program was never started", path);
	WS_FAIL_IF(!memchr(plan->output, 0, sizeof(plan->output)), err, CORRUPT,
	           "%s cannot be salvaged: it names no trace", path);
	memcpy(s->pattern, plan->output, sizeof(s->pattern));
	s->keep_existing = plan->keep_existing != 0;
	s->no_args |= plan->no_args != 0;
	s->begun_ns = INT64_MAX;
	return WS_OK;
}

/* Path of the first trace, and its open folder. The trace may have been moved. */
static enum ws_status find_trace(struct session *s, const struct ws_segment_file *file,
                                 char path[PATH_MAX], int *folder, struct ws_err *err)
{
	WS_FORWARD(plain_path(s, path, err));
	enum ws_status status = open_folder(path, &s->folder, WS_IO_READ, err);
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
	struct session s = {.opts = opts,
	                    .signals = -1,
	                    .folder = -1,
	                    .look_again = 1,
	                    .no_args = opts->no_args};
	struct ws_segment_file file;
	struct ws_process *first = NULL;
	char path[PATH_MAX];
	sigset_t before;
	int folder = -1;

	*result = (struct ws_record_result){0};
	ws_missing_pages_replace();
	WS_FORWARD(ws_segment_file_open(&file, segment, err));
	enum ws_status status = ws_segment_file_lock(&file, err);
	WS_THEN(status, take_over(&s, file.seg, segment, err));
	if (status != WS_OK) {
		ws_segment_file_close(&file);
		return status;
	}
	/* killed after the trace was closed: only the segment had to be removed */
	if (ws_drain_is_finished(file.seg)) {
		result->found = WS_SALVAGE_FINISHED;
		ws_segment_file_remove(&file);
		return WS_OK;
	}
	status = block_signals(&s, &before, err);
	WS_THEN(status, find_trace(&s, &file, path, &folder, err));
	WS_THEN(status, ws_process_resume(&first, opts, &file, folder, path, &result->found, err));
	if (status == WS_OK && first) {
		first->is_settled |= opts->output != NULL;
		/* a flight recording ends here: what a program that runs on does later would push
		 * out what was kept */
		s.stop = ws_trace_writer_has_pieces(first->writer);
		add_process(&s, first);
		run_loop(&s);
		status = finish_session(&s, result, err);
	}
	ws_segment_file_close(&file);
	close_session(&s, status != WS_OK);
	if (opts->output && folder >= 0)
		close(folder);
	return status;
}
