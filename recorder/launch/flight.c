/* A flight recording: pieces of the unfinished trace, and copies of those that are kept. */

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/trace/reader.h"
#include "recorder/launch/launch.h"

/* Pieces of the kept span: what is kept is longer than the span by at most one of them. */
#define PIECES 8

/* Steps before a median is one, and copies of a process at most. */
#define LEAST_STEPS 5
#define MOST_COPIES 100
/* A copy has this many steps after the slow one, if they end in this time; and at least twice the
 * interval in which GPU records arrive. */
#define STEPS_AFTER  2
#define MOST_WAIT_NS INT64_C(5000000000)

static int by_length(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void ws_flight_trigger(struct ws_process *p, const char *word)
{
	struct ws_flight_reason *why = &p->flight.reason;
	const size_t len = strlen(why->trigger);

	if (!p->is_settled) {
		ws_record_notice("nothing is recorded yet, so no trace is written (%s)", word);
		return;
	}
	why->last_ns = ws_clock_ns(CLOCK_MONOTONIC);
	why->nafter = 0;
	if (!strstr(why->trigger, word))
		snprintf(why->trigger + len, sizeof(why->trigger) - len, "%s%s", len ? ", " : "",
		         word);
}

/* Whether a step is slow is decided by the steps of its thread before it. */
static void judge(struct ws_process *p, const struct ws_drain_step *step)
{
	struct ws_flight *f = &p->flight;
	int64_t sorted[WS_FLIGHT_STEPS];
	size_t at = 0;

	while (at < f->nthreads && f->threads[at].thread != step->thread)
		at++;
	if (at == f->nthreads) {
		WS_GROW(f->threads, f->nthreads + 1, f->capacity);
		f->threads[f->nthreads++] = (struct ws_flight_thread){.thread = step->thread};
	}
	struct ws_flight_thread *t = &f->threads[at];
	const size_t n = t->nlengths < WS_FLIGHT_STEPS ? (size_t)t->nlengths : WS_FLIGHT_STEPS;

	f->reason.nafter += !f->reason.nslow || f->reason.step.thread == step->thread;
	memcpy(sorted, t->lengths_ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_length);
	t->lengths_ns[t->nlengths++ % WS_FLIGHT_STEPS] = step->dur_ns;
	if (!p->opts->slow_factor || n < LEAST_STEPS ||
	    (double)step->dur_ns <= p->opts->slow_factor * (double)sorted[n / 2])
		return;
	ws_flight_trigger(p, "step");
	if (!f->reason.nslow++ || step->dur_ns > f->reason.step.dur_ns) {
		f->reason.step = *step;
		f->reason.median_ns = sorted[n / 2];
	}
}

/* The copy gets the name of the trace with its number before the extension. */
static void dump(struct ws_process *p, const struct ws_trace_writer_opts *opts)
{
	struct ws_flight *f = &p->flight;
	char path[PATH_MAX], copy[PATH_MAX];
	const char *whole = p->final ? p->final : p->trace, *dot = strrchr(whole, '.');
	const unsigned n = ++f->ncopies;
	struct ws_err err;
	uint64_t size;

	if (n > MOST_COPIES) {
		if (n == MOST_COPIES + 1)
			ws_record_notice("--when has written %d traces and writes no more",
			                 MOST_COPIES);
		f->reason = (struct ws_flight_reason){0};
		return;
	}
	dot = dot && dot > strrchr(whole, '/') ? dot : whole + strlen(whole);
	snprintf(path, sizeof(path), "%.*s.%u%.32s", (int)(dot - whole), whole, n, dot);
	ws_drain_statistics(p->drain);
	ws_drain_commit(p->drain);
	enum ws_status status = ws_flight_copy(p, opts, copy, &size, &err);
	if (status == WS_OK &&
	    renameat(p->folder, ws_path_name(copy), p->folder, ws_path_name(path)))
		status = WS_FAIL(&err, IO_WRITE, "cannot rename %s to %s", copy, path);
	if (status != WS_OK)
		ws_record_notice("%s", err.text);
	else if (f->reason.nslow)
		ws_record_notice("%s: step %llu took %.1f ms, the median %.1f ms", path,
		                 (unsigned long long)f->reason.step.number,
		                 (double)f->reason.step.dur_ns / 1e6,
		                 (double)f->reason.median_ns / 1e6);
	else
		ws_record_notice("%s: %s", path, f->reason.trigger);
	f->reason = (struct ws_flight_reason){0};
}

void ws_flight_step(struct ws_process *p, const struct ws_trace_writer_opts *opts, int64_t now_ns)
{
	const struct ws_flight_reason *why = &p->flight.reason;
	const int64_t kept_ns = p->opts->keep_ns;
	struct ws_drain_step step;
	struct ws_err err;

	while (ws_drain_take_step(p->drain, &step))
		judge(p, &step);
	if (*why->trigger && now_ns - why->last_ns >= 2 * p->opts->flush_interval_ns &&
	    (why->nafter >= STEPS_AFTER || now_ns - why->last_ns >= MOST_WAIT_NS))
		dump(p, opts);

	if (now_ns < p->next_piece_ns)
		return;
	p->next_piece_ns = now_ns + kept_ns / PIECES;
	ws_drain_begin_piece(p->drain);
	/* nothing that the next copy is for is dropped before */
	if (*why->trigger)
		return;
	if (ws_trace_writer_drop_before(p->writer,
	                                ws_drain_now_ns(p->drain) - p->file.seg->base_ns - kept_ns,
	                                &err) != WS_OK &&
	    ws_drain_error(p->drain, NULL) == WS_OK)
		ws_record_notice("%s", err.text);
}

enum ws_status ws_flight_copy(struct ws_process *p, const struct ws_trace_writer_opts *opts,
                              char name[PATH_MAX], uint64_t *size, struct ws_err *err)
{
	const struct ws_flight_reason *why = &p->flight.reason;
	const struct {
		const char *key;
		int64_t value;
	} facts[] = {
	        {"flight.step", (int64_t)why->step.number},
	        {"flight.step_start_ns", why->step.start_ns},
	        {"flight.step_ns", why->step.dur_ns},
	        {"flight.median_ns", why->median_ns},
	        {"flight.slow_steps", why->nslow},
	};
	struct ws_trace_reader *r = NULL;
	struct ws_trace_writer *w = NULL;
	char number[32];
	int from = -1, to = -1;

	snprintf(name, PATH_MAX, "%.*s.copy", PATH_MAX - 16, p->trace);
	enum ws_status status =
	        ws_own_file_open(p->folder, ws_path_name(p->trace), p->trace, &from, err);
	WS_THEN(status, ws_trace_reader_open_file(&r, from, p->trace, err));
	WS_THEN(status, ws_own_file_create(p->folder, ws_path_name(name), name, &to, err));
	WS_THEN(status, ws_trace_writer_create(&w, to, name, opts, err));
	WS_THEN(status, ws_trace_writer_copy(w, r, err));
	if (*why->trigger)
		WS_THEN(status, ws_trace_writer_meta(w, "flight.trigger", why->trigger, err));
	for (size_t i = 0; why->nslow && i < sizeof(facts) / sizeof(*facts); i++) {
		snprintf(number, sizeof(number), "%lld", (long long)facts[i].value);
		WS_THEN(status, ws_trace_writer_meta(w, facts[i].key, number, err));
	}
	WS_THEN(status, ws_trace_writer_close(w, err));
	if (status == WS_OK)
		*size = ws_trace_writer_size(w);
	else if (to >= 0)
		unlinkat(p->folder, ws_path_name(name), 0);
	ws_trace_writer_free(w);
	ws_trace_reader_free(r);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return status;
}
