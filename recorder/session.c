#include "recorder/session.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/procfs.h"
#include "recorder/provenance.h"

/* Pauses between passes: short while there is something to do, longer when there is not. */
/* Under a second, so that no second of a trace is without its loss counters. */
#define STATISTICS_INTERVAL_NS 900000000
#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 10
/* Records in a pass after which the next follows at once. */
#define BUSY_RECORDS 4096

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t ws_session_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void ws_session_notice(const struct ws_session *s, const char *fmt, ...)
{
	char line[PATH_MAX + 256];
	va_list ap;

	if (!s->opts->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->opts->notice(line);
}

/* --- signals --- */

enum ws_status ws_session_signals(struct ws_session *s, sigset_t *before, struct ws_err *err)
{
	static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
	sigset_t set, pipe;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	/* nobody reads our words any more: the recording goes on all the same */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	WS_FAIL_IF(s->signals < 0, err, ENVIRONMENT, "cannot wait for signals: %s",
	           strerror(errno));
	return WS_OK;
}

/*
 * While our child lives a signal is for the program. The terminal has sent it
 * to the program too then (it comes from the kernel); what one process sent to
 * us alone must be passed on. With the child gone it is for us.
 */
static void handle_signal(struct ws_session *s, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return;
	if (!s->child)
		s->stop = 1;
	else if (info->ssi_code <= 0)
		kill(s->child, (int)info->ssi_signo);
}

static void handle_signals(struct ws_session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info))
		handle_signal(s, &info);
	if (s->child && waitpid(s->child, &s->wait_status, WNOHANG) == s->child)
		s->child = 0;
}

/* --- the recorded process --- */

static uint32_t owner_pid(const struct ws_session *s)
{
	const struct ws_seg_header *seg = s->file.seg;

	return atomic_load(&seg->attached) ? atomic_load(&seg->owner.pid) : 0;
}

static int owner_alive(const struct ws_session *s)
{
	uint32_t pid = owner_pid(s);

	if (!pid || (pid == s->started && !s->child))
		return 0;
	return ws_proc_alive(pid, s->file.seg->owner.start_ticks);
}

/* How the recorded process ended: known for our own child only. */
static void add_process_end(struct ws_session *s)
{
	struct ws_row_process_end row = {
	        .time_ns = ws_session_now_ns() - s->file.seg->base_realtime_ns,
	        .pid = owner_pid(s) ? owner_pid(s) : s->started,
	        .how = WS_END_UNKNOWN,
	};

	if (!row.pid || owner_alive(s))
		return;
	if (row.pid == s->started && WIFEXITED(s->wait_status)) {
		row.how = WS_END_EXITED;
		row.code = WEXITSTATUS(s->wait_status);
	} else if (row.pid == s->started && WIFSIGNALED(s->wait_status)) {
		row.how = WS_END_SIGNALED;
		row.code = WTERMSIG(s->wait_status);
	}
	ws_drain_add(s->drain, WS_KIND_PROCESS_END, &row);
}

/* --- the loop --- */

void ws_session_loop(struct ws_session *s)
{
	int64_t next_tick = clock_ns(CLOCK_MONOTONIC) + s->opts->flush_interval_ns;
	int64_t next_statistics = clock_ns(CLOCK_MONOTONIC) + STATISTICS_INTERVAL_NS;
	int pause_ms = PAUSE_MIN_MS, told = 0;

	for (;;) {
		struct pollfd poll_fd = {.fd = s->signals, .events = POLLIN};
		uint64_t n;
		int gone;

		/* looked at before the pass: what a dead process left is all in this pass */
		handle_signals(s);
		gone = s->stop || (!s->child && !owner_alive(s));
		if (!s->child && !gone && !told++)
			ws_session_notice(s,
			                  "process %u still runs and is recorded on; "
			                  "interrupt to end the recording",
			                  (unsigned)owner_pid(s));

		n = ws_drain_pass(s->drain);
		if (clock_ns(CLOCK_MONOTONIC) >= next_statistics) {
			ws_drain_statistics(s->drain);
			next_statistics = clock_ns(CLOCK_MONOTONIC) + STATISTICS_INTERVAL_NS;
		}
		if (clock_ns(CLOCK_MONOTONIC) >= next_tick) {
			ws_drain_commit(s->drain);
			next_tick += s->opts->flush_interval_ns;
			if (next_tick < clock_ns(CLOCK_MONOTONIC))
				next_tick = clock_ns(CLOCK_MONOTONIC) + s->opts->flush_interval_ns;
		} else if (ws_drain_wants_commit(s->drain)) {
			ws_drain_commit(s->drain);
		}
		if (gone)
			return;

		pause_ms = n ? PAUSE_MIN_MS : pause_ms < PAUSE_MAX_MS ? pause_ms + 1 : PAUSE_MAX_MS;
		if (n < BUSY_RECORDS)
			poll(&poll_fd, 1, pause_ms);
	}
}

/* --- the end --- */

enum ws_status ws_session_finish(struct ws_session *s, struct ws_record_result *result,
                                 struct ws_err *err)
{
	enum ws_status status;
	struct ws_err cause;

	if (!ws_drain_flag(s->drain, WS_COMMIT_ENDED)) {
		add_process_end(s);
		ws_provenance_end(s->drain, s->file.seg, s->salvage);
		ws_drain_statistics(s->drain);
		ws_drain_set_flag(s->drain, WS_COMMIT_ENDED);
	}
	ws_drain_commit(s->drain);
	status = ws_trace_writer_close(s->writer, &cause);
	if (status == WS_OK)
		atomic_store(&s->file.seg->state, WS_SEG_CLOSED);

	result->was_attached = atomic_load(&s->file.seg->attached) != 0;
	result->counts = ws_drain_counts(s->drain);
	result->file_size = ws_trace_writer_size(s->writer);
	for (int i = 0; i < WS_LOSS_COUNT; i++)
		result->lost[i] = ws_drain_lost(s->drain, (enum ws_loss)i);
	if (ws_drain_error(s->drain, err) != WS_OK)
		return ws_drain_error(s->drain, NULL);
	if (status != WS_OK && err)
		*err = cause;
	return status;
}

void ws_session_close(struct ws_session *s, int keep_segment)
{
	ws_drain_free(s->drain);
	ws_trace_writer_free(s->writer);
	if (keep_segment)
		ws_segment_file_close(&s->file);
	else
		ws_segment_file_remove(&s->file);
	if (s->signals >= 0)
		close(s->signals);
}
