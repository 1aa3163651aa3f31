#include "formats/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/own_file.h"
#include "formats/codec/container.h"
#include "formats/foreign/out.h"
#include "formats/text/json_reader.h"

/* --- text, plain or gzip --- */

#define GZ_BUFFER_BYTES (1u << 18)

struct text_file {
	gzFile gz;                 /* passes plain files through */
	int damaged;               /* the compressed data end early or are wrong */
	struct ws_import_out *out; /* told of progress; NULL = nobody is */
	uint64_t size_bytes;
};

static enum ws_status text_open(struct text_file *f, const char *path, struct ws_err *err)
{
	/* a pipe without a writer would be waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {0};

	*f = (struct text_file){0};
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		close(fd);
		return WS_FAIL(err, IO_READ,
		               "cannot import %s: it is no file, and it must be read twice", path);
	}
	f->size_bytes = (uint64_t)st.st_size;
	f->gz = gzdopen(fd, "rb");
	if (!f->gz) {
		close(fd);
		return WS_FAIL(err, NO_MEMORY, "no memory to read %s", path);
	}
	gzbuffer(f->gz, GZ_BUFFER_BYTES);
	return WS_OK;
}

static enum ws_status text_read(void *ctx, void *buf, size_t size, size_t *got, struct ws_err *err)
{
	struct text_file *f = ctx;
	int n = gzread(f->gz, buf, size > INT_MAX ? (unsigned)INT_MAX : (unsigned)size);
	int code;
	const char *words = gzerror(f->gz, &code);

	*got = n > 0 ? (size_t)n : 0;
	WS_FAIL_IF(n < 0 && code == Z_ERRNO, err, IO_READ, "cannot read: %s", strerror(errno));
	WS_FAIL_IF(n < 0 && code == Z_MEM_ERROR, err, NO_MEMORY, "no memory to decompress: %s",
	           words);
	/* what was decompressed before the damage is read all the same */
	f->damaged |= n < 0 || code == Z_BUF_ERROR;
	if (f->out)
		ws_import_tell(f->out, (uint64_t)gzoffset(f->gz), f->size_bytes);
	return WS_OK;
}

/* --- what a file is --- */

#define LOOK_BYTES ((size_t)1 << 18)

static int contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* Keys that one of the first of a PyTorch trace is; other JSON is none of ours. */
static int looks_like_pytorch(const char *text, size_t len)
{
	size_t at = 0;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	while (at < len &&
	       (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
		at++;
	if (at == len || (text[at] != '{' && text[at] != '['))
		return 0;
	return contains(text, len, "\"traceEvents\"") ||
	       (contains(text, len, "\"schemaVersion\"") &&
	        contains(text, len, "\"deviceProperties\"")) ||
	       (text[at] == '[' && contains(text, len, "\"ph\""));
}

static int looks_like_sqlite(const char *text, size_t len)
{
	static const char magic[16] = "SQLite format 3";

	return len >= sizeof(magic) && memcmp(text, magic, sizeof(magic)) == 0;
}

enum ws_status ws_import_kind(const char *path, enum ws_import_kind *kind, struct ws_err *err)
{
	struct text_file f;
	struct ws_err cause;
	enum ws_status status;
	size_t len = 0, got;
	char *text;

	*kind = WS_IMPORT_NONE;
	WS_FORWARD(text_open(&f, path, err));
	text = malloc(LOOK_BYTES);
	status = text ? WS_OK : WS_FAIL(&cause, NO_MEMORY, "no memory");
	do {
		got = 0;
		if (status == WS_OK)
			status = text_read(&f, text + len, LOOK_BYTES - len, &got, &cause);
		len += got;
	} while (got && len < LOOK_BYTES);
	if (status == WS_OK && looks_like_sqlite(text, len)) {
		*kind = WS_IMPORT_NSYS_SQLITE;
		if (!gzdirect(f.gz))
			status = WS_FAIL(&cause, IO_READ,
			                 "a compressed database cannot be read: gunzip it first");
	} else if (status == WS_OK && looks_like_pytorch(text, len)) {
		*kind = WS_IMPORT_PYTORCH_JSON;
	}
	free(text);
	gzclose_r(f.gz);
	if (status != WS_OK)
		return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
	return WS_OK;
}

/* --- the import --- */

static enum ws_status import_text(struct ws_import_out *o, const char *path,
                                  struct ws_import_clock *clock, struct ws_err *err)
{
	struct ws_json_stream text = {0};
	struct text_file f;
	enum ws_status status;

	WS_FORWARD(text_open(&f, path, err));
	f.out = o;
	status = ws_json_stream_init(&text, text_read, &f, err);
	if (status == WS_OK)
		status = ws_import_pytorch(o, &text, clock, err);
	if (f.damaged)
		ws_import_warn(o, "the compressed data are damaged or end early");
	ws_json_stream_free(&text);
	gzclose_r(f.gz);
	return status;
}

static enum ws_status import_database(struct ws_import_out *o, const char *path,
                                      struct ws_import_clock *clock, struct ws_err *err)
{
	struct sqlite3 *db;
	enum ws_status status;

	WS_FORWARD(ws_import_nsys_open(&db, path, err));
	status = ws_import_nsys(o, db, clock, err);
	sqlite3_close(db);
	return status;
}

/* The base time is known at the end of some files only: put it into the header then. */
static enum ws_status set_base(const char *path, int64_t base_ns, struct ws_err *err)
{
	uint8_t header[WS_FILE_HEADER_BYTES];
	int fd = open(path, O_WRONLY | ws_own_file_nofollow(path) | O_CLOEXEC), failed;

	WS_FAIL_IF(fd < 0, err, IO_WRITE, "cannot open %s: %s", path, strerror(errno));
	ws_file_header_put(header, base_ns);
	failed = pwrite(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header);
	failed |= fsync(fd);
	failed |= close(fd);
	WS_FAIL_IF(failed, err, IO_WRITE, "cannot write %s: %s", path, strerror(errno));
	return WS_OK;
}

static enum ws_status import_into(struct ws_trace_writer *w, const char *path,
                                  const struct ws_import_opts *opts, struct ws_import_stats *stats,
                                  struct ws_import_clock *clock, struct ws_err *err)
{
	struct ws_import_out o;
	enum ws_status status;

	ws_import_out_init(&o, w, stats);
	o.opts = opts;
	status = stats->kind == WS_IMPORT_PYTORCH_JSON ? import_text(&o, path, clock, err)
	                                               : import_database(&o, path, clock, err);
	if (status == WS_OK)
		status = ws_import_out_finish(&o, err);
	if (status == WS_OK)
		status = ws_trace_writer_close(w, err);
	ws_import_out_free(&o);
	return status;
}

/* What to do with a file that cannot be read; by its name, as its format is not public. */
static const char *cure_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".nsys-rep") == 0 || strcmp(dot, ".qdrep") == 0)
	               ? ": 'nsys export --type sqlite' makes one of a report"
	               : "";
}

enum ws_status ws_import_file(const char *path, const char *out_path,
                              const struct ws_import_opts *opts, struct ws_import_stats *stats,
                              struct ws_err *err)
{
	struct ws_trace_writer_opts writer_opts = {.zstd_level = opts ? opts->zstd_level : 0};
	struct ws_import_clock clock = {0};
	struct ws_trace_writer *w;
	struct ws_err cause;
	enum ws_status status;

	*stats = (struct ws_import_stats){0};
	WS_FORWARD(ws_import_kind(path, &stats->kind, err));
	WS_FAIL_IF(stats->kind == WS_IMPORT_NONE, err, IO_READ,
	           "%s is neither PyTorch profiler JSON nor an Nsight Systems SQLite export%s",
	           path, cure_of(path));
	WS_FORWARD(ws_trace_writer_create(&w, out_path, &writer_opts, err));
	status = import_into(w, path, opts, stats, &clock, &cause);
	ws_trace_writer_free(w);
	if (status == WS_OK)
		return set_base(out_path, clock.base_ns, err);
	if (status == WS_IO_WRITE) {
		if (err)
			*err = cause;
		return status;
	}
	return ws_fail(err, status, cause.file, cause.line, "%s: %s", path, cause.text);
}

/* A file that has lost its name already. */
static enum ws_status unnamed_file(int *fd, struct ws_err *err)
{
	const char *folder = getenv("TMPDIR");
	enum ws_status status = WS_OK;
	char *name;

	WS_FAIL_IF(asprintf(&name, "%s/warpsheet-import-XXXXXX",
	                    folder && *folder ? folder : "/tmp") < 0,
	           err, NO_MEMORY, "no memory for a temporary name");
	*fd = mkostemp(name, O_CLOEXEC);
	if (*fd < 0)
		status = WS_FAIL(err, IO_WRITE, "cannot create %s: %s (TMPDIR names the folder)",
		                 name, strerror(errno));
	else
		unlink(name);
	free(name);
	return status;
}

enum ws_status ws_import_unnamed(const char *path, const struct ws_import_opts *opts, int *fd,
                                 struct ws_import_stats *stats, struct ws_err *err)
{
	enum ws_status status;
	char name[32];

	WS_FORWARD(unnamed_file(fd, err));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", *fd);
	status = ws_import_file(path, name, opts, stats, err);
	if (status != WS_OK) {
		close(*fd);
		*fd = -1;
	}
	return status;
}
