#include <ctype.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/codec/block.h"
#include "formats/import/import.h"

/* --- files that no importer reads but users try: what they are, how to get others ------------- */

/* Skips white space and the byte-order mark. */
static const char *begin_of(const char *text, const char *end)
{
	if (end - text >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	while (text < end && isspace((unsigned char)*text))
		text++;
	return text;
}

static const char *find_text(const char *text, const char *end, const char *what)
{
	return memmem(text, (size_t)(end - text), what, strlen(what));
}

static bool begins(const char *text, const char *end, const char *what)
{
	return (size_t)(end - text) >= strlen(what) && !strncasecmp(text, what, strlen(what));
}

/* Whether the first and the second line are objects. */
static bool is_json_lines(const char *text, const char *end)
{
	text = begin_of(text, end);
	const char *line_end = memchr(text, '\n', (size_t)(end - text));
	if (!line_end || *text != '{' || line_end + 1 == end || line_end[1] != '{')
		return false;
	return line_end[-1] == '}' || (line_end[-1] == '\r' && line_end[-2] == '}');
}

/* Whether the file is a list of timelines: their key comes before that of any event. */
static bool is_list_of_documents(const char *text, const char *end)
{
	text = begin_of(text, end);
	const char *events = find_text(text, end, "\"traceEvents\"");
	const char *phase = find_text(text, end, "\"ph\"");
	return text < end && *text == '[' && events && (!phase || events < phase);
}

static bool is_rocprof_json(const char *text, const char *end)
{
	text = begin_of(text, end);
	if (text == end || *text++ != '{')
		return false;
	return begins(begin_of(text, end), end, "\"rocprofiler-sdk-tool\"");
}

#define PROFILE_INSTEAD                                                                     \
	"Profile the program with torch.profiler, or with 'nsys profile' and 'nsys export " \
	"--type sqlite'"

#define HTML_PAGE "it is an HTML page: a report, or what a failed download left. Give the trace"

/* Table by the end of the name (any if ""), by the content (any if NULL), and by its first text
 * behind white space and two others that it contains and lacks. */
static const struct {
	const char *ending;
	bool (*has_content)(const char *text, const char *end);
	const char *cure, *begins, *contains, *lacks;
} others[] = {
        {"", .cure = "it is a Git LFS pointer, not the file: run 'git lfs pull'",
         .begins = "version https://git-lfs.github.com/spec/"},
        {"", .cure = HTML_PAGE, .begins = "<!doctype html"},
        {"", .cure = HTML_PAGE, .begins = "<html"},
        {"", is_list_of_documents,
         .cure = "it is a list of profiles: take one out, with jq '.[0]' FILE > ONE.json"},
        {"", is_json_lines,
         .cure = "it has one JSON object per line: make a list of them, with jq -s . FILE > "
                 "LIST.json"},
        {"", is_rocprof_json,
         .cure = "it is JSON of rocprofv3, which cannot be imported. Profile the program with "
                 "torch.profiler"},
        {"",
         .cure = "it is a database of rocprofv3, which cannot be imported. Profile the program "
                 "with torch.profiler",
         .begins = "SQLite format 3", .contains = "rocpd_"},
        {"",
         .cure = "it is a speedscope file: samples of the host without GPU work. " PROFILE_INSTEAD,
         .begins = "{", .contains = "speedscope.app/file-format-schema",
         .lacks = "\"traceEvents\""},
        {".nsys-rep", .cure = "it is a report of Nsight Systems: 'nsys export --type sqlite' makes "
                              "a readable file of it"},
        {".qdrep", .cure = "it is a report of Nsight Systems: 'nsys export --type sqlite' makes a "
                           "readable file of it"},
        {".qdstrm",
         .cure = "it is an unfinished recording of Nsight Systems: QdstrmImporter makes a report "
                 "of it, and 'nsys export --type sqlite' a readable file of that"},
        {".ncu-rep",
         .cure = "it is a report of Nsight Compute, about single kernels. " PROFILE_INSTEAD},
#ifndef WS_HAVE_PROTOBUF_C
        {".xplane.pb",
         .cure = "it is a profile of XLA, and this build of warpsheet lacks libprotobuf-c, which "
                 "reads it. Import the *.trace.json.gz beside it"},
#endif
        {".pftrace", .cure = "it is a binary Perfetto trace, which cannot be imported: open it in "
                             "ui.perfetto.dev. " PROFILE_INSTEAD},
        {".perfetto-trace", .cure = "it is a binary Perfetto trace, which cannot be imported: open "
                                    "it in ui.perfetto.dev. " PROFILE_INSTEAD},
        {".pickle", .cure = "it is pickled data of Python, such as a memory snapshot of PyTorch, "
                            "which cannot be imported. " PROFILE_INSTEAD},
};

/* The same by the first bytes, decompressed, and the end of the name; "": by the bytes alone. */
static const char *ws_import_other_file(const char *path, const char *first, size_t len)
{
	const size_t path_len = strlen(path);
	const char *end = first + len;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const size_t n = strlen(others[i].ending);

		if (n <= path_len && !strcmp(path + path_len - n, others[i].ending) &&
		    (!others[i].has_content || others[i].has_content(first, end)) &&
		    (!others[i].begins || begins(begin_of(first, end), end, others[i].begins)) &&
		    (!others[i].contains || find_text(first, end, others[i].contains)) &&
		    (!others[i].lacks || !find_text(first, end, others[i].lacks)))
			return others[i].cure;
	}
	return NULL;
}

static const struct ws_importer *const importers[] = {
#define X(name) &ws_importer_##name,
        WS_IMPORTERS(X)
#undef X
};
#define NIMPORTERS (sizeof(importers) / sizeof(*importers))

enum ws_status ws_import_find(const char *path, const struct ws_importer **importer,
                              const char **cure, struct ws_err *err)
{
	struct ws_text_file f;
	enum ws_status status = WS_OK;
	size_t len = 0, got;

	*importer = NULL;
	*cure = NULL;
	WS_FORWARD(ws_text_file_open(&f, path, err));
	char *first = ws_xmalloc(WS_IMPORT_LOOK_BYTES);
	do {
		got = 0;
		WS_THEN(status,
		        ws_text_file_read(&f, first + len, WS_IMPORT_LOOK_BYTES - len, &got, err));
		len += got;
	} while (got && len < WS_IMPORT_LOOK_BYTES);
	if (status == WS_OK)
		*cure = ws_import_other_file("", first, len);
	for (size_t i = 0; i < NIMPORTERS && status == WS_OK && !*cure && !*importer; i++)
		if (importers[i]->recognises(first, len))
			*importer = importers[i];
	if (status == WS_OK && !*importer)
		*cure = ws_import_other_file(path, first, len);
	if (*importer && !(*importer)->reads_gzip && ws_text_file_is_gzip(&f))
		status = WS_FAIL(err, IO_READ, "a compressed %s cannot be read: gunzip it first",
		                 (*importer)->name);
	free(first);
	ws_text_file_close(&f);
	return status == WS_OK ? WS_OK : ws_err_prefix(err, status, "%s", path);
}

const char *ws_import_cure(const char *path)
{
	const struct ws_importer *importer;
	const char *cure;

	return ws_import_find(path, &importer, &cure, NULL) == WS_OK ? cure : NULL;
}

/* Higher than a recorder's, for a few percent of size: an import has the time. */
#define ZSTD_LEVEL 9

/* Imports into the open file. out_path is for messages only. */
static enum ws_status import_to(const struct ws_importer *importer, const char *path, int fd,
                                const char *out_path, const struct ws_import_opts *opts,
                                struct ws_import_stats *stats, struct ws_err *err)
{
	static const enum ws_kind events[] = {WS_KIND_KERNEL,       WS_KIND_API,
	                                      WS_KIND_NVTX,         WS_KIND_MEMCPY,
	                                      WS_KIND_MEMSET,       WS_KIND_SYNC,
	                                      WS_KIND_MEMORY,       WS_KIND_OVERHEAD,
	                                      WS_KIND_COUNTER,      WS_KIND_CPU_OP,
	                                      WS_KIND_GRAPH_LAUNCH, WS_KIND_GPU_RANGE,
	                                      WS_KIND_PYTHON_CALL};
	uint64_t nevents = 0;
	const struct ws_trace_writer_opts writer_opts = {.zstd_level = ZSTD_LEVEL};
	struct ws_import_clock clock = {0};
	struct ws_import_out o;
	struct ws_trace_writer *w;
	uint8_t header[WS_FILE_HEADER_BYTES];

	stats->source = importer->name;
	WS_FORWARD(ws_trace_writer_create(&w, fd, out_path, &writer_opts, err));
	ws_import_out_init(&o, w, stats);
	o.opts = opts;
	enum ws_status status = importer->run(&o, path, &clock, err);
	if (status == WS_OK)
		ws_import_out_finish(&o);
	WS_THEN(status, ws_trace_writer_close(w, err));
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		nevents += stats->rows[events[i]];
	if (status == WS_OK && !nevents) {
		uint64_t lost = 0;
		char seems[256];

		/* a message that names the kind of file is of more use than an empty report */
		for (size_t i = 0; i < WS_IMPORT_LOSSES; i++)
			lost += stats->losses[i].is_summed ? stats->losses[i].count : 0;
		if (lost > stats->events / 2)
			snprintf(seems, sizeof(seems),
			         "%llu of its %llu records cannot be read. It seems to be damaged: "
			         "export or copy it again",
			         (unsigned long long)lost, (unsigned long long)stats->events);
		else
			importer->empty(stats, seems, sizeof(seems));
		status = WS_FAIL(err, CORRUPT, "it has nothing to import: %s", seems);
	}
	ws_import_out_free(&o);
	ws_trace_writer_free(w);
	if (status != WS_OK)
		return status == WS_IO_WRITE ? status : ws_err_prefix(err, status, "%s", path);
	/* some files have the base time at their end, so it is written to the header now */
	ws_file_header_put(header, clock.base_ns, 0);
	WS_FAIL_IF(ws_file_write_at(fd, 0, header, sizeof(header)) || ws_file_sync(fd), err,
	           IO_WRITE, "cannot write %s: %s", out_path, strerror(errno));
	return WS_OK;
}

/* Finds the importer of a file. Fails if there is none. */
static enum ws_status find_file(const char *path, const struct ws_importer **importer,
                                struct ws_import_stats *stats, struct ws_err *err)
{
	const char *cure;
	char names[300] = "";
	size_t len = 0;
	struct ws_file_info file;

	*stats = (struct ws_import_stats){0};
	if (!ws_file_look(WS_HERE, path, true, &file))
		ws_allowance_file(file.size);
	WS_FORWARD(ws_import_find(path, importer, &cure, err));
	if (*importer)
		return WS_OK;
	WS_FAIL_IF(cure, err, IO_READ, "cannot import %s: %s", path, cure);
	for (size_t i = 0; i < NIMPORTERS && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
		                        !i                   ? ""
		                        : i + 1 < NIMPORTERS ? ", "
		                                             : " or ",
		                        importers[i]->name);
	return WS_FAIL(err, IO_READ, "cannot import %s: it is not a %s", path, names);
}

enum ws_status ws_import_file(const char *path, const char *out_path,
                              const struct ws_import_opts *opts, struct ws_import_stats *stats,
                              struct ws_err *err)
{
	const struct ws_importer *importer;
	struct ws_outfile out;

	WS_FORWARD(find_file(path, &importer, stats, err));
	WS_FORWARD(ws_outfile_open(&out, out_path, err));
	enum ws_status status =
	        import_to(importer, path, fileno(out.f), out_path, opts, stats, err);
	if (status == WS_OK)
		return ws_outfile_commit(&out, err);
	ws_outfile_abandon(&out);
	return status;
}
enum ws_status ws_import_unnamed(const char *path, const struct ws_import_opts *opts, int *fd,
                                 struct ws_import_stats *stats, struct ws_err *err)
{
	const struct ws_importer *importer;

	WS_FORWARD(ws_own_file_unnamed(fd, err));
	enum ws_status status = find_file(path, &importer, stats, err);
	WS_THEN(status, import_to(importer, path, *fd, "a temporary file", opts, stats, err));
	if (status != WS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}
