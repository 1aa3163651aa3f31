/* A flight recording: pieces of the unfinished trace, and copies of those that are kept. */
#include <stdio.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/trace/reader.h"
#include "recorder/launch/launch.h"

/* Pieces of the kept span: what is kept is longer than the span by at most one of them. */
#define PIECES 8

void ws_flight_step(struct ws_process *p, int64_t now_ns)
{
	const int64_t kept_ns = p->opts->keep_ns;
	struct ws_err err;

	if (now_ns < p->next_piece_ns)
		return;
	p->next_piece_ns = now_ns + kept_ns / PIECES;
	ws_drain_begin_piece(p->drain);
	if (ws_trace_writer_drop_before(p->writer,
	                                ws_drain_now_ns(p->drain) - p->file.seg->base_ns - kept_ns,
	                                &err) != WS_OK &&
	    ws_drain_error(p->drain, NULL) == WS_OK)
		ws_record_notice("%s", err.text);
}

void ws_flight_copy_name(const struct ws_process *p, unsigned n, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%.*s.%u", PATH_MAX - 16, p->trace, n);
}

enum ws_status ws_flight_copy(struct ws_process *p, unsigned n,
                              const struct ws_trace_writer_opts *opts, uint64_t *size,
                              struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	struct ws_trace_writer *w = NULL;
	enum ws_status status;
	char name[PATH_MAX];
	int from = -1, to = -1;

	ws_flight_copy_name(p, n, name);
	status = ws_own_file_open(p->folder, ws_path_name(p->trace), p->trace, &from, err);
	WS_THEN(status, ws_trace_reader_open_file(&r, from, p->trace, err));
	WS_THEN(status, ws_own_file_create(p->folder, ws_path_name(name), name, &to, err));
	WS_THEN(status, ws_trace_writer_create(&w, to, name, opts, err));
	WS_THEN(status, ws_trace_writer_copy(w, r, err));
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
