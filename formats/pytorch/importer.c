#include <string.h>

#include "formats/foreign/text_file.h"
#include "formats/pytorch/pytorch.h"

static bool contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* Keys that one of the first of a PyTorch trace is; other JSON is none of ours. */
static bool recognises(const char *text, size_t len)
{
	size_t at = 0;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	while (at < len &&
	       (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
		at++;
	if (at == len || (text[at] != '{' && text[at] != '['))
		return false;
	return contains(text, len, "\"traceEvents\"") ||
	       (contains(text, len, "\"schemaVersion\"") &&
	        contains(text, len, "\"deviceProperties\"")) ||
	       (text[at] == '[' && contains(text, len, "\"ph\""));
}

static enum ws_status run(struct ws_import_out *o, const char *path, struct ws_import_clock *clock,
                          struct ws_err *err)
{
	struct ws_json_stream text = {0};
	struct ws_text_file f;
	enum ws_status status;

	WS_FORWARD(ws_text_file_open(&f, path, err));
	f.out = o;
	ws_json_stream_init(&text, ws_text_file_read, &f);
	status = ws_import_pytorch(o, &text, clock, err);
	if (f.damaged)
		ws_import_warn(o, "the compressed data are damaged or end early");
	ws_json_stream_free(&text);
	ws_text_file_close(&f);
	return status;
}

/* Other programs write the same format, too: their categories are not PyTorch's. */
static void empty(const struct ws_import_stats *s, char *text, size_t size)
{
	const struct ws_import_skip *most = NULL;

	for (size_t i = 0; i < s->nskips; i++)
		if ((ws_bytes_begin(ws_bytes_of(s->skips[i].reason), "category '") ||
		     ws_bytes_begin(ws_bytes_of(s->skips[i].reason), "phase '")) &&
		    (!most || s->skips[i].count > most->count))
			most = &s->skips[i];
	if (most)
		snprintf(text, size,
		         "it seems to be another program's Chrome trace (%llu records of %s). "
		         "Open it in ui.perfetto.dev; import what torch.profiler writes",
		         (unsigned long long)most->count,
		         strcmp(most->reason, "category ''") ? most->reason : "no category");
	else
		snprintf(text, size,
		         "it seems to be a PyTorch profile without work. Run at least one step "
		         "while torch.profiler is on");
}

const struct ws_importer ws_importer_pytorch = {
        .name = "PyTorch profiler JSON",
        .recognises = recognises,
        .reads_gzip = true,
        .run = run,
        .empty = empty,
};
