/*
 * A real GPU as the device under test: the programs of tests/cuda_host/ against it. WS_TEST_DEVICE
 * says which of its ways, words in any order: "free" (any algorithm, also those that add in any
 * order), "autotune", "graph" (what repeats is recorded and replayed). Without it: the same bits
 * each run.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/exec/exec.h"
#include "tests/cuda_host/device.h"

static bool has_word(const char *word)
{
	const char *words = getenv("WS_TEST_DEVICE");

	return words && strstr(words, word);
}

enum ws_status ws_test_device_open(struct ws_pool *pool, struct ws_backend **backend,
                                   struct ws_err *err)
{
	const struct ws_backend_options options = {.device = "cuda",
	                                           .deterministic = !has_word("free"),
	                                           .autotune = has_word("autotune"),
	                                           .records = has_word("graph")};
	char why[256];

	return ws_backend_open(&options, pool, backend, why, sizeof(why), err);
}

/* Products and convolutions are cuBLAS's and cuDNN's, and compared all the same. */
bool ws_test_device_runs(const struct ws_op *op)
{
	(void)op;
	return true;
}

void *ws_test_device_place(void *block, uint64_t *used, uint64_t size_bytes)
{
	char *place = (char *)block + *used;

	*used += (size_bytes + WS_MEMORY_ALIGN - 1) / WS_MEMORY_ALIGN * WS_MEMORY_ALIGN;
	return place;
}

void ws_test_device_leave(void *place)
{
	(void)place; /* the next op's operands lie in the same block */
}

int ws_test_device_repeats(void)
{
	return has_word("free") ? 1 : 2;
}

void ws_test_device_vary(int repeat)
{
	(void)repeat; /* a GPU orders its threads anew by itself */
}

int ws_test_device_launched(const char *const **names)
{
	*names = NULL;
	return 0;
}
