/*
 * A real GPU as the device under test: the programs of tests/cuda_host/ against it.
 */
#include "tests/cuda_host/device.h"

enum ws_status ws_test_device_open(struct ws_pool *pool, struct ws_backend **backend,
                                   struct ws_err *err)
{
	static const struct ws_backend_options options = {.device = "cuda", .deterministic = true};
	char why[256];

	return ws_backend_open(&options, pool, backend, why, sizeof(why), err);
}

/* Products and convolutions are cuBLAS's and cuDNN's, and compared all the same. */
bool ws_test_device_runs(const struct ws_op *op)
{
	(void)op;
	return true;
}

int ws_test_device_repeats(void)
{
	return 2;
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
