/*
 * Is there a GPU that the CUDA backend can use? Says which, or why not and ends with 77, which
 * CTest shows as skipped.
 */
#include <stdio.h>

#include "kernels/exec/backend.h"

int main(void)
{
	static const struct ws_backend_options options = {.device = "cuda"};
	struct ws_backend *backend = NULL;
	struct ws_pool *pool = NULL;
	struct ws_err err = {0};
	char why[256];
	enum ws_status status = ws_pool_create(1, &pool, &err);

	if (status == WS_OK)
		status = ws_backend_open(&options, pool, &backend, why, sizeof(why), &err);
	if (status == WS_OK)
		puts(why);
	else
		printf("skipped: %s\n", err.text);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return status == WS_OK ? 0 : 77;
}
