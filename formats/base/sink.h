/* Where a trace writer puts its bytes: a file or memory. An append is whole or leaves nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/bytes.h"
#include "formats/base/status.h"

struct ws_sink {
	int fd;            /* -1 = memory */
	char *path;        /* for messages; NULL = memory */
	struct ws_buf mem; /* of a memory sink */
	uint64_t size;     /* bytes appended, whole */
	bool can_cut;      /* a file of our own, whose unfinished end can go */
	uint64_t reserve;  /* bytes of room that are kept behind them, of a file that can */
};

void ws_sink_open_mem(struct ws_sink *s);
/* Write to what is open, of which the sink gets a descriptor of its own; path is for messages. */
enum ws_status ws_sink_open_fd(struct ws_sink *s, int fd, const char *path, struct ws_err *err);
/* Cut the file to size bytes and go on from there. */
enum ws_status ws_sink_cut(struct ws_sink *s, uint64_t size, struct ws_err *err);
/*
 * Keep room on the disk behind what is appended: an append that would leave less fails, and
 * this many bytes can be appended after that (with 0 reserved before). IO_WRITE when there is not
 * so much; a file system that keeps none is no error.
 */
enum ws_status ws_sink_reserve(struct ws_sink *s, uint64_t bytes, struct ws_err *err);
/* IO_WRITE: nothing of bytes stays in the file. */
enum ws_status ws_sink_append(struct ws_sink *s, const void *bytes, size_t len, struct ws_err *err);
/* Make a file durable and close it; memory stays. */
enum ws_status ws_sink_close(struct ws_sink *s, struct ws_err *err);
/* Closes without a word when it is still open, and frees. */
void ws_sink_free(struct ws_sink *s);
