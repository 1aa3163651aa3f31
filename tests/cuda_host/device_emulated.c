/*
 * The emulated GPU as a backend: each tensor in a block of exactly its size, so that the
 * address sanitizer sees every access beyond it, filled with NaN when it is allocated.
 */
#include "tests/cuda_host/device.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/own/launch.h"
#include "kernels/exec/exec.h"
#include "tests/cuda_host/emulation.h"

#define SM_COUNT     2 /* so few that loops over the grid go round more than once */
#define LAUNCHES_MAX 16

static struct {
	const char *names[LAUNCHES_MAX];
	int count;
} launched;

struct emulated {
	struct ws_backend base; /* first: the two are cast into each other */
	struct ws_backend *cpu; /* runs what is not done by own kernels */
};

static void note_launch(void *arg, const struct ws_host_launch *launch)
{
	(void)arg;
	if (launched.count < LAUNCHES_MAX)
		launched.names[launched.count++] = launch->kernel;
}

static void *alloc(uint64_t size_bytes)
{
	void *data;

	if (posix_memalign(&data, WS_MEMORY_ALIGN, size_bytes))
		abort();
	memset(data, 0xff, size_bytes);
	return data;
}

void *ws_test_device_place(void *block, uint64_t *used, uint64_t size_bytes)
{
	(void)block;
	(void)used;
	return alloc(size_bytes);
}

void ws_test_device_leave(void *place)
{
	free(place);
}

static enum ws_status prepare(struct ws_backend *backend, const struct ws_backend_plan *plan,
                              void **block, struct ws_err *err)
{
	struct ws_backend *cpu = ((struct emulated *)backend)->cpu;

	return cpu->ops->prepare(cpu, plan, block, err);
}

static enum ws_status upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                             const void *host, uint64_t size_bytes, struct ws_err *err)
{
	(void)backend;
	(void)err;
	memcpy((char *)data + offset_bytes, host, size_bytes);
	return WS_OK;
}

static enum ws_status download(struct ws_backend *backend, const void *data, uint64_t offset_bytes,
                               void *host, uint64_t size_bytes, struct ws_err *err)
{
	(void)backend;
	(void)err;
	memcpy(host, (const char *)data + offset_bytes, size_bytes);
	return WS_OK;
}

bool ws_test_device_runs(const struct ws_op *op)
{
	return ws_cuda_launcher_of(op->kind) != NULL;
}

static enum ws_status run(struct ws_backend *backend, const struct ws_op *op, struct ws_err *err)
{
	struct emulated *emulated = (struct emulated *)backend;
	struct ws_cuda_launch launch = {.sm_count = SM_COUNT};
	ws_cuda_launcher *launcher = ws_cuda_launcher_of(op->kind);
	enum ws_status status;

	launched.count = 0;
	if (!launcher)
		return emulated->cpu->ops->run(emulated->cpu, op, err);
	launch.scratch_bytes = ws_cuda_scratch_bytes(op);
	if (launch.scratch_bytes)
		launch.scratch = alloc(launch.scratch_bytes);
	ws_host_on_launch(note_launch, NULL);
	status = launcher(&launch, op, err);
	free(launch.scratch);
	return status;
}

/* --- what the device draws itself ------------------------------------------------------------- */

static enum ws_status draw_images(struct ws_backend *backend, const struct ws_image_batch *batch,
                                  const struct ws_plane *planes, struct ws_tensor *t,
                                  struct ws_err *err)
{
	size_t size_bytes = (size_t)(batch->n * batch->c) * sizeof(*planes);
	struct ws_cuda_launch launch = {.sm_count = SM_COUNT};
	enum ws_status status;
	void *table = alloc(size_bytes);

	(void)backend;
	memcpy(table, planes, size_bytes);
	status = ws_cuda_draw_images(&launch, batch, table, t, err);
	free(table);
	return status;
}

static enum ws_status sync(struct ws_backend *backend, struct ws_err *err)
{
	(void)backend;
	(void)err;
	return WS_OK;
}

static void close(struct ws_backend *backend)
{
	struct emulated *emulated = (struct emulated *)backend;

	ws_backend_close(emulated->cpu);
	free(emulated);
}

enum ws_status ws_test_device_open(struct ws_pool *pool, struct ws_backend **backend,
                                   struct ws_err *err)
{
	static const struct ws_backend_ops ops = {
	        .name = "emulated",
	        .prepare = prepare,
	        .upload = upload,
	        .download = download,
	        .draw_images = draw_images,
	        .run = run,
	        .sync = sync,
	        .close = close,
	};
	struct emulated *emulated = calloc(1, sizeof(*emulated));

	WS_FAIL_IF(!emulated, err, NO_MEMORY, "no memory for the emulated device");
	emulated->base.ops = &ops;
	emulated->base.limit_bytes = UINT64_MAX;
	emulated->cpu = ws_backend_cpu_open(pool, 0);
	*backend = &emulated->base;
	return WS_OK;
}

/* --- the same op in several orders ------------------------------------------------------------ */

int ws_test_device_repeats(void)
{
	return WS_HOST_ORDER_COUNT;
}

void ws_test_device_vary(int repeat)
{
	enum ws_host_order order = (enum ws_host_order)(repeat % WS_HOST_ORDER_COUNT);
	struct ws_host_device device = {.threads = order, .blocks = order, .seed = 17};

	ws_host_set_device(&device);
}

int ws_test_device_launched(const char *const **names)
{
	*names = launched.names;
	return launched.count;
}
