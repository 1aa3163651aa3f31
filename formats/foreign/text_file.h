/* A file as it is, or what it holds when it is gzip. */
#pragma once

#include <stdbool.h>

#include "formats/foreign/out.h"

struct gzFile_s;

struct ws_text_file {
	struct gzFile_s *gz;
	bool damaged;              /* the compressed data end early or are wrong */
	struct ws_import_out *out; /* told of progress; NULL = nobody is */
	uint64_t size_bytes;       /* of the file */
};

/* IO_READ: no file, or a pipe, which could not be read twice. */
enum ws_status ws_text_file_open(struct ws_text_file *f, const char *path, struct ws_err *err);
/* Up to size bytes into buf; *got is 0 at the end. ctx: the file; as ws_json_stream wants it. */
enum ws_status ws_text_file_read(void *ctx, void *buf, size_t size, size_t *got,
                                 struct ws_err *err);
bool ws_text_file_is_gzip(struct ws_text_file *f); /* after the first read */
void ws_text_file_close(struct ws_text_file *f);
