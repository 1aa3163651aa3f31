/* Any bytes as a file that may be gzip: read to its end in pieces. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/foreign/importer.h"
#include "tests/fuzz/mutate.h"

#define MAX_READS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[32], piece[4096];
	struct ws_text_file f;
	struct ws_err err;
	size_t got = 1;

	if (fd < 0)
		fd = memfd_create("fuzz_gzip", 0);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (ws_text_file_open(&f, path, &err) != WS_OK)
		return 0;
	for (int i = 0; i < MAX_READS && got; i++)
		if (ws_text_file_read(&f, piece, sizeof(piece), &got, &err) != WS_OK)
			break;
	ws_text_file_is_gzip(&f);
	ws_text_file_close(&f);
	return 0;
}
