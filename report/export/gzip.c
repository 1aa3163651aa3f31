#include "report/export/gzip.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/base/own_file.h"

#define BUFFER_BYTES (1u << 17)
#define BUFFERS      4u

/* Text goes through a few buffers to a thread of its own, as compressing takes longer than writing.
 */
struct stream {
	gzFile gz;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock; buffers from `taken` on are full, taken < put <= taken + BUFFERS */
	uint64_t put, taken;
	int ended, failed; /* failed: an errno */
	unsigned sizes[BUFFERS];
	char bytes[BUFFERS][BUFFER_BYTES];
};

static void *compress_all(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		unsigned i = s->taken % BUFFERS;
		int failed = 0;

		while (s->taken == s->put && !s->ended)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->taken == s->put)
			break;
		pthread_mutex_unlock(&s->lock);
		errno = 0;
		if (gzwrite(s->gz, s->bytes[i], s->sizes[i]) != (int)s->sizes[i])
			failed = errno ? errno : EIO;
		pthread_mutex_lock(&s->lock);
		s->failed = s->failed ? s->failed : failed;
		s->taken++;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* 0: nothing taken, an error. */
static ssize_t put(void *cookie, const char *bytes, size_t size)
{
	struct stream *s = cookie;
	size_t n = size < BUFFER_BYTES ? size : BUFFER_BYTES;

	pthread_mutex_lock(&s->lock);
	while (s->put - s->taken == BUFFERS)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->failed) {
		errno = s->failed;
		n = 0;
	} else {
		memcpy(s->bytes[s->put % BUFFERS], bytes, n);
		s->sizes[s->put % BUFFERS] = (unsigned)n;
		s->put++;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return (ssize_t)n;
}

static int end(void *cookie)
{
	struct stream *s = cookie;
	int code, failed;

	pthread_mutex_lock(&s->lock);
	s->ended = 1;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	failed = s->failed;
	errno = 0;
	code = gzclose_w(s->gz);
	if (!failed && code != Z_OK)
		failed = code == Z_ERRNO && errno ? errno : EIO;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
	errno = failed;
	return failed ? EOF : 0;
}

/* The thread and the FILE; s is whole but for them. */
static enum ws_status start(struct stream *s, FILE **f)
{
	const cookie_io_functions_t functions = {.write = put, .close = end};

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, compress_all, s) != 0) {
		gzclose_w(s->gz);
		free(s);
		return WS_NO_MEMORY;
	}
	*f = fopencookie(s, "w", functions);
	if (!*f) {
		end(s);
		return WS_NO_MEMORY;
	}
	setvbuf(*f, NULL, _IOFBF, BUFFER_BYTES);
	return WS_OK;
}

enum ws_status ws_export_gzip_open(FILE **f, const char *path, struct ws_err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	enum ws_status status;
	int fd;

	*f = NULL;
	WS_FAIL_IF(!s, err, NO_MEMORY, "no memory to compress");
	status = ws_own_file_create(path, &fd, err);
	if (status != WS_OK) {
		free(s);
		return status;
	}
	s->gz = gzdopen(fd, "wb6");
	if (!s->gz) {
		close(fd);
		free(s);
		return WS_FAIL(err, NO_MEMORY, "no memory to compress");
	}
	gzbuffer(s->gz, BUFFER_BYTES);
	if (start(s, f) != WS_OK)
		return WS_FAIL(err, NO_MEMORY, "no thread or memory to compress");
	return WS_OK;
}
