/*
 * Backends: where tensors live and ops run.
 *
 * A backend fills struct ws_backend_ops in a file of its own. Data handles
 * (void *) are the backend's; only upload and download cross to host memory.
 */
#pragma once

#include "formats/base/status.h"
#include "kernels/exec/data.h"
#include "kernels/graph/op.h"
#include "kernels/base/parallel.h"

struct ws_backend;

/* What a session will run, told before any of it is allocated. */
struct ws_backend_plan {
	struct ws_op *const *ops; /* in their order, all phases */
	int op_count;
	uint64_t block_bytes; /* of one block with a place for each tensor: exec.h */
};

struct ws_backend_ops {
	const char *name; /* "cpu", "cuda" */
	/*
	 * Memory for all of a plan and the choice of algorithms, so that steps find everything
	 * ready. *block is the memory of the tensors, until the next plan is prepared.
	 * NO_MEMORY when the device has no room.
	 */
	enum ws_status (*prepare)(struct ws_backend *backend, const struct ws_backend_plan *plan,
	                          void **block, struct ws_err *err);
	/* Memory beside the tensors that running the ops will take. NULL: none. */
	uint64_t (*workspace_bytes)(const struct ws_backend *backend,
	                            const struct ws_backend_plan *plan);
	enum ws_status (*upload)(struct ws_backend *backend, void *data, uint64_t offset_bytes,
	                         const void *host, uint64_t size_bytes, struct ws_err *err);
	enum ws_status (*download)(struct ws_backend *backend, const void *data,
	                           uint64_t offset_bytes, void *host, uint64_t size_bytes,
	                           struct ws_err *err);
	/*
	 * Synthetic images made by the device, of which only planes travel: the numbers of
	 * ws_data_images() to rounding. NULL: the host makes them and uploads.
	 */
	enum ws_status (*draw_images)(struct ws_backend *backend,
	                              const struct ws_image_batch *batch,
	                              const struct ws_plane *planes, struct ws_tensor *t,
	                              struct ws_err *err);
	/* Start one op; the data of its tensors is allocated. */
	enum ws_status (*run)(struct ws_backend *backend, const struct ws_op *op,
	                      struct ws_err *err);
	/* Wait until all that was started is done. */
	enum ws_status (*sync)(struct ws_backend *backend, struct ws_err *err);
	void (*close)(struct ws_backend *backend);

	/*
	 * Recording: what is run between begin and end is not done but kept, to be done by each
	 * replay, on the same addresses. NULL where a backend cannot.
	 */
	enum ws_status (*record_begin)(struct ws_backend *backend, struct ws_err *err);
	enum ws_status (*record_end)(struct ws_backend *backend, void **recording,
	                             struct ws_err *err);
	enum ws_status (*replay)(struct ws_backend *backend, void *recording, struct ws_err *err);
	void (*forget)(struct ws_backend *backend, void *recording);
};

struct ws_backend {
	const struct ws_backend_ops *ops;
	char device[96];          /* "CPU reference" */
	char libraries[96];       /* and their versions; "" where there is none to tell */
	uint64_t limit_bytes;     /* of memory that a session may take */
	uint64_t allocated_bytes; /* by tensors that are alive now */
	uint64_t peak_bytes;      /* the most since it was opened */
	bool records;             /* steps are to be recorded once and replayed */
	enum ws_tf32 tf32;        /* how the CPU reference reads operands of TF32 */
};

struct ws_backend_options {
	const char *device;   /* "auto", "cpu" or "cuda" */
	int gpu;              /* number of the GPU among those visible */
	uint64_t limit_bytes; /* of device memory; 0: all that is free */
	bool autotune;        /* time the algorithms of matrix products and convolutions */
	bool deterministic;   /* the same bits each run: no such algorithms as add in any order */
	bool records;
};

/*
 * The CPU reference. pool: borrowed, must outlive the backend. limit_bytes: of its
 * memory; 0: what the machine has available now.
 */
struct ws_backend *ws_backend_cpu_open(struct ws_pool *pool, uint64_t limit_bytes);

/*
 * A GPU by cuBLAS, cuDNN and own kernels. ENVIRONMENT, with the cure, where the driver,
 * a GPU or a library is missing. In programs built without the CUDA toolkit it always is.
 */
enum ws_status ws_backend_cuda_open(const struct ws_backend_options *options,
                                    struct ws_backend **backend, struct ws_err *err);

/*
 * The backend that the options ask for; auto: a GPU where one answers, else the CPU.
 * why: one line that says what was chosen and for what reason.
 */
enum ws_status ws_backend_open(const struct ws_backend_options *options, struct ws_pool *pool,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err);
void ws_backend_close(struct ws_backend *backend);
