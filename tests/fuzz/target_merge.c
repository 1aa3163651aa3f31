/* Any bytes as a trace that is merged with a sound one and with itself. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/merge/merge.h"
#include "formats/trace/check.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/trace_sample.h"

enum { INPUT, SAMPLE, OUTPUT, FILES };

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char paths[FILES][64];
	const char *const from[] = {paths[INPUT], paths[SAMPLE], paths[INPUT]};
	struct ws_check_result result;
	struct ws_merge_result merged;
	struct ws_err err;

	if (!paths[0][0]) {
		struct ws_sample sample = ws_sample_make_unclosed();

		for (int i = 0; i < FILES; i++)
			snprintf(paths[i], sizeof(paths[i]), "/dev/shm/fuzz_merge.%ld.%d",
			         (long)getpid(), i);
		write_file(paths[SAMPLE], sample.data, sample.size);
		ws_sample_free(&sample);
	}
	write_file(paths[INPUT], data, size);
	if (ws_trace_merge(from, 2 + size % 2, paths[OUTPUT], 0, &merged, &err) == WS_OK) {
		if (ws_trace_check_file(paths[OUTPUT], NULL, NULL, &result, &err) != WS_OK ||
		    !result.closed)
			abort();
	} else if (err.status == WS_BUG) {
		abort();
	}
	unlink(paths[OUTPUT]);
	unlink(paths[INPUT]);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
