/*
 * Small traces made in memory, and tools to damage them. Everything here
 * stops the test on a failure.
 */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/trace/check.h"
#include "formats/trace/reader.h"
#include "formats/trace/writer.h"

/*
 * From one byte that a test breaks to the next. The buffers of a reader and a writer take the
 * address sanitizer 20 times as long: all bytes would be half an hour.
 */
#ifdef __SANITIZE_ADDRESS__
#define WS_SAMPLE_STRIDE 11
#else
#define WS_SAMPLE_STRIDE 1
#endif

#define WS_SAMPLE_BASE_NS 1700000000000000000 /* 2023-11-14T22:13:20Z */

/* Start of the kernel with correlation 1..20: so noisy that no compressor gains anything. */
#define WS_SAMPLE_KERNEL_START_NS(c) ((c)*10000 + 5000 + (c) * (c)*7919 % 4001)

/* Bytes that the test owns. */
struct ws_sample {
	uint8_t *data;
	size_t size;
};

/* Rows of every kind, in which every id refers to a row before. A flush in the middle. */
void ws_sample_fill(struct ws_trace_writer *w);
/* A closed trace of ws_sample_fill; about 13 kB, the same bytes each time. */
struct ws_sample ws_sample_make(void);
/* The same without index and trailer. */
struct ws_sample ws_sample_make_unclosed(void);
/* A closed trace with rows enough for every encoding and for thread_event blocks; about 20 kB. */
struct ws_sample ws_sample_make_modelled(void);
/* The same with two launches; about 5 kB. */
struct ws_sample ws_sample_make_small(void);
/* What a writer made, in memory of its own. */
struct ws_sample ws_sample_take(const struct ws_trace_writer *w);
void ws_sample_free(struct ws_sample *s);

/* Offset of the n-th block of a kind, from 0. */
size_t ws_sample_block(const struct ws_sample *s, enum ws_kind kind, unsigned n);
/* Whole size of the block at offset. */
size_t ws_sample_block_size(const struct ws_sample *s, size_t offset);
/* Overwrite width bytes at offset with a little-endian value. */
void ws_sample_poke(struct ws_sample *s, size_t offset, unsigned width, uint64_t value);
/* Make the checksums of the block at offset, of the file header or of the trailer right again. */
void ws_sample_seal_block(struct ws_sample *s, size_t offset);
void ws_sample_seal_header(struct ws_sample *s);
void ws_sample_seal_trailer(struct ws_sample *s);
/* Put bytes between others. */
void ws_sample_insert(struct ws_sample *s, size_t offset, const void *bytes, size_t len);
void ws_sample_remove(struct ws_sample *s, size_t offset, size_t len);

/* All findings of a check, as lines "DAMAGE offset: text" or "NOTE offset: text". */
struct ws_sample_findings {
	char text[16384];
	size_t len;
	struct ws_check_result result;
	enum ws_status status;
	struct ws_err err;
};
void ws_sample_check(const struct ws_sample *s, struct ws_sample_findings *out);

/* --- traces as files: made or gone on with by path --- */

static inline enum ws_status trace_file_create(struct ws_trace_writer **out, const char *path,
                                               const struct ws_trace_writer_opts *opts,
                                               struct ws_err *err)
{
	enum ws_status status;
	int fd;

	WS_FORWARD(ws_own_file_create(AT_FDCWD, path, path, &fd, err));
	status = ws_trace_writer_create(out, fd, path, opts, err);
	close(fd);
	return status;
}

static inline enum ws_status trace_file_resume(struct ws_trace_writer **out, const char *path,
                                               uint64_t size,
                                               const struct ws_trace_writer_opts *opts,
                                               struct ws_err *err)
{
	enum ws_status status;
	int fd;

	WS_FORWARD(ws_own_file_open(AT_FDCWD, path, path, &fd, err));
	status = ws_trace_writer_resume(out, fd, path, size, opts, err);
	close(fd);
	return status;
}
