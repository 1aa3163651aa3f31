/* The loop that record and salvage share, and the end of a trace. */
#ifndef WS_RECORDER_SESSION_H
#define WS_RECORDER_SESSION_H

#include <signal.h>
#include <sys/types.h>

#include "recorder/launcher.h"
#include "recorder/segment_file.h"

struct ws_session {
	const struct ws_record_opts *opts;
	struct ws_segment_file file;
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
	int signals;      /* signalfd, -1 = none */
	pid_t child;      /* our child while it is not reaped, else 0 */
	uint32_t started; /* pid of the program we started, 0 for salvage */
	int wait_status;  /* of the child, once reaped */
	int stop;         /* the user wants an end, though the program still runs */
	int salvage;
};

/* Block the signals that are forwarded; *before is the mask for the child. */
enum ws_status ws_session_signals(struct ws_session *s, sigset_t *before, struct ws_err *err);
/* Drain until the recorded process is gone. */
void ws_session_loop(struct ws_session *s);
/* Last rows, index, trailer. Fills the counts of the result. */
enum ws_status ws_session_finish(struct ws_session *s, struct ws_record_result *result,
                                 struct ws_err *err);
/* Free everything; the segment's file is removed unless keep is set. */
void ws_session_close(struct ws_session *s, int keep_segment);
void ws_session_notice(const struct ws_session *s, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));
int64_t ws_session_now_ns(void); /* CLOCK_REALTIME */

#endif
