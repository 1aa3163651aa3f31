/* Running a graph on a backend: buffers by lifetime, first values, NVTX ranges, ops. */
#pragma once

#include "kernels/graph/graph.h"

/* --- synthetic data -------------------------------------------------------------------------- */

/*
 * Synthetic training data: images, signals and tokens made from the seed, learnable, never all
 * zeros (a GPU computes faster on zeros, so they would falsify the timing).
 */

#define WS_IMAGE_NOISE 0.5 /* largest deviation from the pattern */

/* n images of c × h × w; classes 1: the target of an image is a number instead of a class. */
struct ws_image_batch {
	enum ws_layout layout;
	int64_t n, c, h, w;
	int64_t classes;
};

/*
 * One channel of one image: pixel (row, col) is scale (level + amplitude sin(turn_row row +
 * turn_col col + phase)) + NOISE u, with u in ±1 from number 1 + channel × pixels + pixel of the
 * image's stream.
 */
struct ws_plane {
	struct ws_rng noise;
	uint64_t first; /* number of the first pixel */
	double scale, level, amplitude, turn_row, turn_col, phase;
};

/* The planes [n, c] of batch number `step`, and the labels [n], without the pixels. */
void ws_data_image_planes(uint64_t seed, int64_t step, const struct ws_image_batch *batch,
                          struct ws_plane *planes, double *labels);

/*
 * The pixels of a batch, in the order of its layout. The image of a class is a plane wave of its
 * own in each channel on a level of its own, with noise; a label is 0 … classes - 1. With one
 * class the label is a number between -0.8 and 0.8, by which wave and level are multiplied.
 */
void ws_data_images(const struct ws_image_batch *batch, const struct ws_plane *planes,
                    double *images);

/* The wave along a row of a plane, drawn by rotating (cos, sin). */
struct ws_plane_pen {
	double cosine, sine, turn_cosine, turn_sine;
};

static inline WS_HOST_DEVICE struct ws_plane_pen ws_plane_row(const struct ws_plane *plane,
                                                              int64_t row)
{
	double angle = plane->turn_row * (double)row + plane->phase;
	struct ws_plane_pen pen;

	pen.cosine = cos(angle);
	pen.sine = sin(angle);
	pen.turn_cosine = cos(plane->turn_col);
	pen.turn_sine = sin(plane->turn_col);
	return pen;
}

/* The next pixel of the row, number `pixel` of the plane. */
static inline WS_HOST_DEVICE double ws_plane_pixel(const struct ws_plane *plane,
                                                   struct ws_plane_pen *pen, int64_t pixel)
{
	double noise = 2 * ws_rng_uniform(&plane->noise, plane->first + (uint64_t)pixel) - 1;
	double value = plane->scale * (plane->level + plane->amplitude * pen->sine) +
	               WS_IMAGE_NOISE * noise;
	double cosine = pen->cosine * pen->turn_cosine - pen->sine * pen->turn_sine;

	pen->sine = pen->sine * pen->turn_cosine + pen->cosine * pen->turn_sine;
	pen->cosine = cosine;
	return value;
}

/* --- tokens -------------------------------------------------------------------------------- */

/* n sequences of context tokens with ids below vocab; all at least 1. */
struct ws_token_batch {
	int64_t n, context, vocab;
};

/*
 * Batch number `step` of a language: x[i] and its successor y[i], both [n, context], in 0 …
 * vocab - 1. Three successors in four follow a fixed rule over at most 97 frequent tokens; the
 * fourth is any token.
 */
void ws_data_tokens(uint64_t seed, int64_t step, const struct ws_token_batch *batch, int32_t *x,
                    int32_t *y);

/* --- backends: where tensors live and ops run ------------------------------------------------ */

/*
 * A backend fills struct ws_backend_ops in a file of its own. Data handles
 * (void *) are the backend's; only upload and download cross to host memory.
 */

struct ws_backend;

/* The work of a session, given to the backend before any memory is allocated. */
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
	 * Recording: ops between begin and end are stored instead of executed, and executed by each
	 * replay, on the same addresses. NULL: the backend cannot do this.
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
	char libraries[96];       /* libraries and their versions; "" if none */
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
 * A GPU by cuBLAS, cuDNN and own kernels. ENVIRONMENT, with advice, if the driver, a GPU or a
 * library is missing. In programs built without the CUDA toolkit it always is.
 */
enum ws_status ws_backend_cuda_open(const struct ws_backend_options *options,
                                    struct ws_backend **backend, struct ws_err *err);

/*
 * The backend chosen by the options; auto: a GPU if one works, else the CPU. why: one line with the
 * choice and its reason.
 */
enum ws_status ws_backend_open(const struct ws_backend_options *options, struct ws_pool *pool,
                               struct ws_backend **backend, char *why, size_t why_size,
                               struct ws_err *err);
void ws_backend_close(struct ws_backend *backend);

/* --- running a graph ------------------------------------------------------------------------- */

struct ws_exec;

/* graph and backend are borrowed and must outlive the exec. The graph must be complete. */
enum ws_status ws_exec_create(struct ws_graph *graph, struct ws_backend *backend,
                              struct ws_exec **exec, struct ws_err *err);
/* Releases the data of all tensors. */
void ws_exec_destroy(struct ws_exec *exec);

/*
 * Allocate parameters, constants, optimizer state and inputs, and give them
 * their first values from the seed. pool draws the random numbers.
 */
enum ws_status ws_exec_init(struct ws_exec *exec, struct ws_pool *pool, uint64_t seed,
                            struct ws_err *err);

/* Releases tensors of the previous step: kept tensors, and all if that step did not finish. */
void ws_exec_step_begin(struct ws_exec *exec);

/*
 * Run the ops of a phase in order, within an NVTX range of its name, each op in
 * its scopes and in a range of its own. Buffers are released after their last
 * use. Phases must be run in the order of the graph.
 */
enum ws_status ws_exec_phase(struct ws_exec *exec, enum wsnvtx_phase phase, struct ws_err *err);

/* Ops of the last phase that their `unless` (op.h) kept from running. */
int64_t ws_exec_skipped(const struct ws_exec *exec);

/* Copy a tensor that is alive from and to the host, in its own dtype. */
enum ws_status ws_exec_upload(struct ws_exec *exec, struct ws_tensor *t, const void *host,
                              struct ws_err *err);
/* The same, converted from and to double: t->count values. */
enum ws_status ws_exec_write(struct ws_exec *exec, struct ws_tensor *t, const double *values,
                             struct ws_err *err);
enum ws_status ws_exec_read(struct ws_exec *exec, const struct ws_tensor *t, double *values,
                            struct ws_err *err);

/* A synthetic batch into a tensor, by the device where it can. planes: ws_data_image_planes(). */
enum ws_status ws_exec_draw_images(struct ws_exec *exec, const struct ws_image_batch *batch,
                                   const struct ws_plane *planes, struct ws_tensor *t,
                                   struct ws_err *err);

/* --- first values -------------------------------------------------------------------------- */

/* Initial values: the value of each element before the first step. */

#define WS_INIT_CUT 3 /* standard deviations that TRUNC_NORMAL keeps within */

/* State for computing a tensor's initial values. */
struct ws_first_values {
	const struct ws_tensor *t;       /* borrowed */
	struct ws_rng rng[WS_PARTS_MAX]; /* of each part of t */
	int64_t part_count;              /* elements of a part */
};

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values);
/* Element i, before it is rounded to the tensor's dtype. */
double ws_first_value(const struct ws_first_values *values, int64_t i);

/* --- the memory plan ----------------------------------------------------------------------- */

/*
 * The device memory needed by a graph and the position of each tensor in it, computed before
 * anything is allocated. Parameters, constants, optimizer state and inputs live for the whole
 * session; everything else from the op that writes it first to the op that touches it last, but for
 * kept tensors and the gradients of parameters, which stay until the next step.
 */

#define WS_MEMORY_ALIGN 256 /* of each place, as cudaMalloc() aligns */

struct ws_memory_plan {
	uint64_t by_role_bytes[WS_ROLE_COUNT]; /* of tensors that live for the session */
	uint64_t gradient_bytes;               /* gradients of parameters, all of them */
	uint64_t peak_bytes;                   /* the most at once, everything included */
	uint64_t block_bytes;                  /* of one block with a place for all of it */
	const struct ws_op *peak_op;           /* while this op runs; NULL: there are no ops */
	const struct ws_tensor *unwritten;     /* read before that; NULL: none */
};

/* Sets last_use and offset of each tensor: those alive at the same time lie apart. */
struct ws_memory_plan ws_memory_plan(const struct ws_graph *graph);
