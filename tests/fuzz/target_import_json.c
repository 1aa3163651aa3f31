/*
 * Any bytes as a timeline in JSON, of PyTorch or XLA, or as a protobuf file of XLA. The first byte
 * selects one of the two, and the bytes of each read, so that values lie across the ends of
 * windows. The result must be a sound trace.
 */
#include <stdlib.h>

#include "formats/pytorch/pytorch.h"
#include "formats/text/json_reader.h"
#include "formats/trace/check.h"
#include "formats/xla/xla.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *at;
	size_t left, piece;
};

static enum ws_status read_source(void *ctx, void *buf, size_t size, size_t *got,
                                  struct ws_err *err)
{
	struct source *s = ctx;

	(void)err;
	*got = s->left < size ? s->left : size;
	if (*got > s->piece)
		*got = s->piece;
	if (*got)
		memcpy(buf, s->at, *got);
	s->at += *got;
	s->left -= *got;
	return WS_OK;
}

static void check(const struct ws_trace_writer *w)
{
	struct ws_bytes trace = ws_trace_writer_mem(w);
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_mem(trace.ptr, trace.len, NULL, NULL, &result, &err) != WS_OK ||
	    result.damage || !result.closed)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = {1, 7, 64, 4096};
	static struct ws_import_stats stats;
	const struct ws_trace_writer_opts opts = {.zstd_level = FUZZ_ZSTD_LEVEL};
	struct ws_import_clock clock = {0};
	struct ws_json_stream text;
	struct ws_trace_writer *w;
	struct ws_import_out out;
	struct source source;
	enum ws_status status;
	struct ws_err err;

	if (!size)
		return 0;
	source = (struct source){data + 1, size - 1, pieces[data[0] % 4]};
	stats = (struct ws_import_stats){.source = ws_importer_pytorch.name};
	if (ws_trace_writer_create_mem(&w, &opts, &err) != WS_OK)
		return 0;
	ws_import_out_init(&out, w, &stats);
	ws_json_stream_init(&text, read_source, &source);
#ifdef WS_HAVE_PROTOBUF_C
	if (data[0] & 4)
		status =
		        ws_import_xplane(&out, (struct ws_bytes){data + 1, size - 1}, &clock, &err);
	else
#endif
		status = ws_import_pytorch(&out, &text, &clock, &err);
	if (status == WS_OK) {
		ws_import_out_finish(&out);
		if (ws_trace_writer_close(w, &err) != WS_OK)
			abort();
		if (stats.events != stats.kept + ws_import_left_out(&stats))
			abort();
		check(w);
	} else if (err.status == WS_BUG) {
		abort();
	}
	ws_json_stream_free(&text);
	ws_import_out_free(&out);
	ws_trace_writer_free(w);
	return 0;
}
