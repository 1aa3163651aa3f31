/*
 * Backends: where tensors live and ops run.
 *
 * A backend fills struct ws_backend_ops in a file of its own. Data handles
 * (void *) are the backend's; only upload and download cross to host memory.
 */
#ifndef WS_KERNELS_BACKEND_H
#define WS_KERNELS_BACKEND_H

#include "formats/status.h"
#include "kernels/op.h"
#include "kernels/parallel.h"

struct ws_backend;

struct ws_backend_ops {
	const char *name; /* "cpu" */
	/* size_bytes > 0. WS_NO_MEMORY when the device has no room. */
	enum ws_status (*alloc)(struct ws_backend *backend, uint64_t size_bytes, void **data,
	                        struct ws_err *err);
	void (*release)(struct ws_backend *backend, void *data, uint64_t size_bytes);
	enum ws_status (*upload)(struct ws_backend *backend, void *data, uint64_t offset_bytes,
	                         const void *host, uint64_t size_bytes, struct ws_err *err);
	enum ws_status (*download)(struct ws_backend *backend, const void *data,
	                           uint64_t offset_bytes, void *host, uint64_t size_bytes,
	                           struct ws_err *err);
	/* Start one op; the data of its tensors is allocated. */
	enum ws_status (*run)(struct ws_backend *backend, const struct ws_op *op,
	                      struct ws_err *err);
	/* Wait until all that was started is done. */
	enum ws_status (*sync)(struct ws_backend *backend, struct ws_err *err);
	void (*close)(struct ws_backend *backend);
};

struct ws_backend {
	const struct ws_backend_ops *ops;
	char device[96];          /* "CPU reference" */
	uint64_t limit_bytes;     /* what alloc refuses to exceed */
	uint64_t allocated_bytes; /* now */
	uint64_t peak_bytes;      /* the most since it was opened */
};

/*
 * The CPU reference. pool: borrowed, must outlive the backend. limit_bytes: what
 * alloc refuses to exceed; 0: the memory that the machine has available now.
 */
enum ws_status ws_backend_cpu_open(struct ws_pool *pool, uint64_t limit_bytes,
                                   struct ws_backend **backend, struct ws_err *err);

/*
 * The backend for --device auto, cpu or cuda. limit_bytes: of device memory, 0:
 * all there is. why: one line that says what was chosen and for what reason.
 */
enum ws_status ws_backend_open(const char *device, struct ws_pool *pool, uint64_t limit_bytes,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err);
void ws_backend_close(struct ws_backend *backend);

#endif
