#include "formats/import/import.h"

#include <errno.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"
#include "formats/codec/block.h"
#include "formats/foreign/text_file.h"

static const struct ws_importer *const importers[] = {
#define X(name) &ws_importer_##name,
        WS_IMPORTERS(X)
#undef X
};
#define NIMPORTERS (sizeof(importers) / sizeof(*importers))

enum ws_status ws_import_find(const char *path, const struct ws_importer **importer,
                              struct ws_err *err)
{
	struct ws_text_file f;
	struct ws_err cause;
	enum ws_status status;
	size_t len = 0, got;
	char *first;

	*importer = NULL;
	WS_FORWARD(ws_text_file_open(&f, path, err));
	first = ws_xmalloc(WS_IMPORT_LOOK_BYTES);
	status = WS_OK;
	do {
		got = 0;
		WS_THEN(status, ws_text_file_read(&f, first + len, WS_IMPORT_LOOK_BYTES - len, &got,
		                                  &cause));
		len += got;
	} while (got && len < WS_IMPORT_LOOK_BYTES);
	for (size_t i = 0; i < NIMPORTERS && status == WS_OK && !*importer; i++)
		if (importers[i]->recognises(first, len))
			*importer = importers[i];
	if (*importer && !(*importer)->reads_gzip && ws_text_file_is_gzip(&f))
		status = WS_FAIL(&cause, IO_READ, "a compressed %s cannot be read: gunzip it first",
		                 (*importer)->name);
	free(first);
	ws_text_file_close(&f);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
	return WS_OK;
}

const char *ws_import_cure(const char *path)
{
	const char *cure = NULL;

	for (size_t i = 0; i < NIMPORTERS && !cure; i++)
		if (importers[i]->cure)
			cure = importers[i]->cure(path);
	return cure;
}

static enum ws_status fail_unknown(const char *path, struct ws_err *err)
{
	const char *cure = ws_import_cure(path);
	char names[300] = "";
	size_t len = 0;

	for (size_t i = 0; i < NIMPORTERS && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? " or " : "",
		                        importers[i]->name);
	return WS_FAIL(err, IO_READ, "cannot import %s: it is not a %s%s%s", path, names,
	               cure ? "; " : "", cure ? cure : "");
}

/* More work than a recorder may do, for a few percent. */
#define ZSTD_LEVEL 9

/* The base time is known at the end of some files only: put it into the header then. */
static enum ws_status set_base(int fd, const char *path, int64_t base_ns, struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];

	ws_file_header_put(header, base_ns);
	WS_FAIL_IF(pwrite(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header) || fsync(fd),
	           err, IO_WRITE, "cannot write %s: %s", path, strerror(errno));
	return WS_OK;
}

/* Did anything happen in the trace? */
static bool has_events(const struct ws_import_stats *s)
{
	static const enum ws_kind kinds[] = {WS_KIND_KERNEL,       WS_KIND_API,
	                                     WS_KIND_NVTX,         WS_KIND_MEMCPY,
	                                     WS_KIND_MEMSET,       WS_KIND_SYNC,
	                                     WS_KIND_MEMORY,       WS_KIND_OVERHEAD,
	                                     WS_KIND_COUNTER,      WS_KIND_CPU_OP,
	                                     WS_KIND_GRAPH_LAUNCH, WS_KIND_GPU_RANGE,
	                                     WS_KIND_PYTHON_CALL};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		n += s->rows[kinds[i]];
	return n > 0;
}

/* Who reads an empty report learns less than who is told what the file is. */
static enum ws_status refuse_empty(const struct ws_importer *importer,
                                   const struct ws_import_stats *s, struct ws_err *err)
{
	uint64_t lost = 0;
	char seems[256];

	for (size_t i = 0; i < WS_IMPORT_MAX_LOSSES; i++)
		lost += s->losses[i].is_summed ? s->losses[i].count : 0;
	if (lost > s->events / 2)
		snprintf(seems, sizeof(seems),
		         "%llu of its %llu records cannot be read. It seems to be damaged: export "
		         "or copy it again",
		         (unsigned long long)lost, (unsigned long long)s->events);
	else
		importer->empty(s, seems, sizeof(seems));
	return WS_FAIL(err, CORRUPT, "it has nothing to import: %s", seems);
}

static enum ws_status import_into(struct ws_trace_writer *w, const struct ws_importer *importer,
                                  const char *path, const struct ws_import_opts *opts,
                                  struct ws_import_stats *stats, struct ws_import_clock *clock,
                                  struct ws_err *err)
{
	struct ws_import_out o;
	enum ws_status status;

	ws_import_out_init(&o, w, stats);
	o.opts = opts;
	status = importer->run(&o, path, clock, err);
	if (status == WS_OK)
		ws_import_out_finish(&o);
	WS_THEN(status, ws_trace_writer_close(w, err));
	if (status == WS_OK && !has_events(stats))
		status = refuse_empty(importer, stats, err);
	ws_import_out_free(&o);
	return status;
}

/* Into what is open; out_path is for messages. */
static enum ws_status import_to(const struct ws_importer *importer, const char *path, int fd,
                                const char *out_path, const struct ws_import_opts *opts,
                                struct ws_import_stats *stats, struct ws_err *err)
{
	const struct ws_trace_writer_opts writer_opts = {.zstd_level = ZSTD_LEVEL};
	struct ws_import_clock clock = {0};
	struct ws_trace_writer *w;
	struct ws_err cause;
	enum ws_status status;

	stats->source = importer->name;
	WS_FORWARD(ws_trace_writer_create(&w, fd, out_path, &writer_opts, err));
	status = import_into(w, importer, path, opts, stats, &clock, &cause);
	ws_trace_writer_free(w);
	if (status == WS_OK)
		return set_base(fd, out_path, clock.base_ns, err);
	if (status == WS_IO_WRITE) {
		if (err)
			*err = cause;
		return status;
	}
	return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
}

static enum ws_status find(const char *path, const struct ws_importer **importer,
                           struct ws_import_stats *stats, struct ws_err *err)
{
	*stats = (struct ws_import_stats){0};
	WS_FORWARD(ws_import_find(path, importer, err));
	return *importer ? WS_OK : fail_unknown(path, err);
}

enum ws_status ws_import_file(const char *path, const char *out_path,
                              const struct ws_import_opts *opts, struct ws_import_stats *stats,
                              struct ws_err *err)
{
	const struct ws_importer *importer;
	struct ws_outfile out;
	enum ws_status status;

	WS_FORWARD(find(path, &importer, stats, err));
	WS_FORWARD(ws_outfile_open(&out, out_path, err));
	status = import_to(importer, path, fileno(out.f), out_path, opts, stats, err);
	if (status == WS_OK)
		return ws_outfile_commit(&out, err);
	ws_outfile_abandon(&out);
	return status;
}

enum ws_status ws_import_unnamed(const char *path, const struct ws_import_opts *opts, int *fd,
                                 struct ws_import_stats *stats, struct ws_err *err)
{
	const struct ws_importer *importer;
	enum ws_status status;

	WS_FORWARD(ws_own_file_unnamed(fd, err));
	status = find(path, &importer, stats, err);
	WS_THEN(status, import_to(importer, path, *fd, "a temporary file", opts, stats, err));
	if (status != WS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}
