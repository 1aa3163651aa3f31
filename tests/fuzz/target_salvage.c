/*
 * Any bytes as a segment that is salvaged: its header, its parts, commits, and launchers that die
 * between them, each followed by one that goes on with the trace's file from the last commit. The
 * first begins where every recording does, with an empty trace that was committed: made once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/trace/check.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/segment.h"
#include "formats/trace/writer.h"

/* A launcher that begins costs more than all that it then reads. */
#define MAX_DEATHS 1          /* the first one goes on with what another left, too */
#define MAX_TRACE  (1u << 20) /* far more than 4 kB of input make */

struct launcher {
	const char *path;
	int fd; /* the same file */
	struct ws_seg_header *seg;
	struct ws_trace_writer *writer;
	struct ws_drain *drain;
};

/* 0: the segment's last commit does not fit the file: nothing is salvaged. */
static int begin(struct launcher *l)
{
	const struct ws_trace_writer_opts opts = {.base_ns = FUZZ_SEG_BASE,
	                                          .zstd_level = FUZZ_ZSTD_LEVEL};
	uint64_t size = ws_drain_file_size(l->seg);
	struct ws_err err;

	l->writer = NULL;
	l->drain = NULL;
	if ((size ? ws_trace_writer_resume(&l->writer, l->fd, l->path, size, &opts, &err)
	          : ws_trace_writer_create(&l->writer, l->fd, l->path, &opts, &err)) != WS_OK)
		return 0;
	l->drain = ws_drain_new(l->seg, l->writer);
	return 1;
}

static void end(struct launcher *l)
{
	ws_drain_free(l->drain);
	ws_trace_writer_free(l->writer);
	l->drain = NULL;
	l->writer = NULL;
}

static void finish(struct launcher *l)
{
	static uint8_t trace[MAX_TRACE];
	struct ws_check_result result;
	struct ws_err err;
	ssize_t size;

	ws_drain_program_ended(l->drain);
	ws_drain_last_pass(l->drain);
	ws_drain_statistics(l->drain);
	ws_drain_commit(l->drain);
	if (ws_drain_error(l->drain, NULL) != WS_OK ||
	    ws_trace_writer_close(l->writer, &err) != WS_OK)
		abort();
	size = pread(l->fd, trace, sizeof(trace), 0);
	if (size <= 0 || size == sizeof(trace) ||
	    ws_trace_check_mem(trace, (size_t)size, NULL, NULL, &result, &err) != WS_OK ||
	    !result.closed)
		abort();
}

/* Segment and file as they are when a recording has begun. */
static void start(struct launcher *l, size_t *seg_size)
{
	static char path[32];
	static uint8_t file[16384];
	static ssize_t file_size;
	static void *seg;
	static int fd;

	l->path = path;
	l->seg = fuzz_segment(seg_size);
	if (!seg) {
		fd = memfd_create("fuzz_salvage", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		seg = malloc(*seg_size);
		l->fd = fd;
		if (!seg || fcntl(fd, F_SETFL, O_APPEND) || !begin(l)) /* as traces are opened */
			abort();
		ws_drain_commit(l->drain);
		end(l);
		memcpy(seg, l->seg, *seg_size);
		file_size = pread(fd, file, sizeof(file), 0);
	}
	memcpy(l->seg, seg, *seg_size);
	l->fd = fd;
	if (ftruncate(fd, 0) || pwrite(fd, file, (size_t)file_size, 0) != file_size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	int is_sound, deaths = 0;
	struct launcher l = {0};
	size_t seg_size;

	start(&l, &seg_size);
	is_sound = begin(&l);
	if (!is_sound) /* nothing would be tried any more, and nobody see it */
		abort();
	while (is_sound && in.at < in.end) {
		enum fuzz_step step = fuzz_segment_step(l.seg, &in, deaths < MAX_DEATHS);

		/* who maps a segment looks at it first */
		if (step == FUZZ_STEP_HEADER) {
			ws_seg_seal(l.seg);
			is_sound = is_sound && !ws_seg_problem(l.seg, seg_size);
		}
		if (is_sound && step == FUZZ_STEP_PASS)
			ws_drain_pass(l.drain);
		else if (is_sound && step == FUZZ_STEP_COMMIT)
			ws_drain_commit(l.drain);
		if ((step == FUZZ_STEP_DEATH || step == FUZZ_STEP_HEADER) &&
		    deaths++ < MAX_DEATHS) {
			end(&l);
			is_sound = is_sound && begin(&l);
		}
	}
	if (is_sound)
		finish(&l);
	end(&l);
	return 0;
}
