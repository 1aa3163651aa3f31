/*
 * Matrix products, in float by OpenBLAS where it was found when this was built (the only place
 * that uses it), else and in double by plain loops; and convolutions as matrix products.
 */
#include <stdatomic.h>

#include "kernels/cpu/cpu.h"

#if defined(WS_HAVE_OPENBLAS) && !WS_CPU_REAL_IS_DOUBLE
#define USE_BLAS 1
#include <cblas.h>
#else
#define USE_BLAS                    0
#define openblas_set_num_threads(n) ((void)(n))
#endif

/*
 * c (+)= op(a) · op(b), m × k by k × n, row-major, rows stride apart. No dimension or stride
 * exceeds INT32_MAX.
 */
struct matmul {
	int64_t m, n, k;
	const ws_real *a, *b;
	ws_real *c;
	int64_t a_stride, b_stride, c_stride;
	bool trans_a, trans_b, accumulate;
};

/* On the calling thread; with BLAS on as many as it was told to take. */
static void matmul(const struct matmul *p)
{
#if USE_BLAS
	cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans,
	            p->trans_b ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
	            (blasint)p->k, 1, p->a, (blasint)p->a_stride, p->b, (blasint)p->b_stride,
	            p->accumulate ? 1 : 0, p->c, (blasint)p->c_stride);
#else
	int64_t a_row = p->trans_a ? 1 : p->a_stride, a_step = p->trans_a ? p->a_stride : 1;
	int64_t b_row = p->trans_b ? 1 : p->b_stride, b_col = p->trans_b ? p->b_stride : 1;

	for (int64_t row = 0; row < p->m; row++) {
		ws_real *c = p->c + row * p->c_stride;
		double sum[WS_TILE];

		WS_EACH_TILE(col, n, 0, p->n) {
			for (int64_t j = 0; j < n; j++)
				sum[j] = p->accumulate ? (double)c[col + j] : 0;
			for (int64_t k = 0; k < p->k; k++) {
				double left = p->a[row * a_row + k * a_step];
				const ws_real *right = p->b + k * b_row + col * b_col;

				for (int64_t j = 0; j < n; j++)
					sum[j] += left * (double)right[j * b_col];
			}
			for (int64_t j = 0; j < n; j++)
				c[col + j] = (ws_real)sum[j];
		}
	}
#endif
}

/* --- products -------------------------------------------------------------------------------- */

/* Rows first … first + count of one product of a batch. */
static struct matmul rows_of(const struct ws_op *op, int64_t batch, int64_t first, int64_t count)
{
	const struct ws_gemm *g = &op->u.gemm;

	return (struct matmul){
	        .m = count,
	        .n = g->n,
	        .k = g->k,
	        .a = ws_reals(op->in[0], batch * g->m * g->k + first * (g->trans_a ? 1 : g->k)),
	        .b = ws_reals(op->in[1], batch * g->k * g->n),
	        .c = ws_reals(op->out[0], (batch * g->m + first) * g->n),
	        .a_stride = g->trans_a ? g->m : g->k,
	        .b_stride = g->trans_b ? g->k : g->n,
	        .c_stride = g->n,
	        .trans_a = g->trans_a,
	        .trans_b = g->trans_b,
	};
}

#if !USE_BLAS
static void row_item(const struct ws_op *op, int64_t item)
{
	struct matmul product = rows_of(op, item / op->u.gemm.m, item % op->u.gemm.m, 1);

	matmul(&product);
}
#endif

void WS_CPU_FN(gemm)(struct ws_cpu *cpu, const struct ws_op *op)
{
	int64_t m = op->u.gemm.m, batch = op->u.gemm.batch;

#if USE_BLAS
	ws_cpu_kernel_begin(cpu, batch * m);
	openblas_set_num_threads(ws_pool_threads(cpu->pool));
	for (int64_t i = 0; i < batch; i++) {
		struct matmul product = rows_of(op, i, 0, m);

		matmul(&product);
	}
	ws_cpu_kernel_end(cpu);
#else
	ws_cpu_launch_op(cpu, op, batch * m, row_item);
#endif
}

/* --- convolutions
 * ---------------------------------------------------------------------------------- */

/*
 * A convolution is a product of filters and patches. The patches of some
 * pixels, or some of their numbers, are gathered into a tile of bounded size
 * at a time; the whole matrix of patches never exists.
 *
 * A patch is the c r s numbers of one group that one output pixel reads, in
 * the order of a filter: [c, r, s], in NHWC [r, s, c]. Tiles are [patch
 * numbers, pixels], in NHWC [pixels, patch numbers]. Where a patch is a pixel
 * (1 × 1, stride 1, no padding) the image itself serves as the tile.
 */
#define TILE_PATCH  1024 /* numbers of a patch in a tile, at most */
#define TILE_PIXELS 2048 /* pixels in a tile, at most */

struct job {
	const struct ws_conv *f;
	bool nhwc, direct;
	int64_t c, k;   /* channels and filters of one group */
	int64_t patch;  /* numbers of a patch: c r s */
	int64_t pixels; /* of an output: p q */
	int64_t part;   /* what an item covers: pixels, patch numbers or channels */
	int64_t parts;  /* of such in a group of an image, or of all images */
	ws_real *image, *filter, *output; /* two of them are given */
	ws_real *tiles;                   /* one for each thread */
	int64_t items;
	atomic_int_least64_t next; /* item */
	void (*run)(const struct job *job, int64_t item, ws_real *tile);
};

/* Part of the patch matrix of one group of one image: pixels × patch numbers. */
struct area {
	int64_t n, g;
	int64_t pixel, pixels; /* first, count */
	int64_t number, numbers;
};

/* --- between images and tiles ----------------------------------------------------- */

/* A place in an image: row, column and, from the first number of its group, offset. */
struct place {
	int64_t h, w, offset;
};

/*
 * Between a tile and the image, in the order of the tile: numbers gathered, 0 beyond an edge, or
 * added where they lie.
 */
static void walk_tile(const struct job *job, const struct area *a, ws_real *tile, bool add)
{
	const struct ws_conv *f = job->f;
	int64_t rows = job->nhwc ? a->pixels : a->numbers;
	int64_t cols = job->nhwc ? a->numbers : a->pixels;
	int64_t plane = f->h * f->w;
	ws_real *group = job->image + a->n * f->c * plane + a->g * job->c * (job->nhwc ? 1 : plane);
	struct place numbers[TILE_PATCH], patches[TILE_PIXELS];

	/* where each number lies of the patch that begins at pixel 0 0 */
	for (int64_t i = 0; i < a->numbers; i++) {
		int64_t number = a->number + i, window = f->r * f->s;
		int64_t c = job->nhwc ? number % job->c : number / window;
		int64_t rs = job->nhwc ? number / job->c : number % window;
		struct place *place = &numbers[i];

		place->h = rs / f->s;
		place->w = rs % f->s;
		place->offset = job->nhwc ? (place->h * f->w + place->w) * f->c + c
		                          : (c * f->h + place->h) * f->w + place->w;
	}
	/* where the patch of each output pixel begins, which may be before the edge */
	for (int64_t i = 0; i < a->pixels; i++) {
		struct place *place = &patches[i];

		place->h = (a->pixel + i) / f->q * f->stride - f->pad_h;
		place->w = (a->pixel + i) % f->q * f->stride - f->pad_w;
		place->offset = (place->h * f->w + place->w) * (job->nhwc ? f->c : 1);
	}
	for (int64_t row = 0; row < rows; row++)
		for (int64_t col = 0; col < cols; col++, tile++) {
			const struct place *number = &numbers[job->nhwc ? col : row];
			const struct place *patch = &patches[job->nhwc ? row : col];
			int64_t h = patch->h + number->h, w = patch->w + number->w;
			bool inside = h >= 0 && h < f->h && w >= 0 && w < f->w;
			int64_t offset = patch->offset + number->offset;

			if (add && inside)
				group[offset] += *tile;
			else if (!add)
				*tile = inside ? group[offset] : 0;
		}
}

/* --- the matrices of an area ------------------------------------------------------ */

struct matrix {
	ws_real *data;
	int64_t stride; /* between its rows */
};

/* [numbers, pixels], in NHWC [pixels, numbers]: a tile, or where it lies in the image. */
static struct matrix patches(const struct job *job, const struct area *a, ws_real *tile)
{
	const struct ws_conv *f = job->f;
	int64_t channel = a->g * job->c + a->number;

	if (!job->direct)
		return (struct matrix){tile, job->nhwc ? a->numbers : a->pixels};
	if (job->nhwc)
		return (struct matrix){job->image + (a->n * job->pixels + a->pixel) * f->c +
		                               channel,
		                       f->c};
	return (struct matrix){job->image + (a->n * f->c + channel) * job->pixels + a->pixel,
	                       job->pixels};
}

/* [filters, pixels], in NHWC [pixels, filters] */
static struct matrix outputs(const struct job *job, const struct area *a)
{
	const struct ws_conv *f = job->f;
	int64_t filter = a->g * job->k;

	if (job->nhwc)
		return (struct matrix){job->output + (a->n * job->pixels + a->pixel) * f->k +
		                               filter,
		                       f->k};
	return (struct matrix){job->output + (a->n * f->k + filter) * job->pixels + a->pixel,
	                       job->pixels};
}

/* [filters, numbers] */
static struct matrix filters(const struct job *job, const struct area *a)
{
	return (struct matrix){job->filter + a->g * job->k * job->patch + a->number, job->patch};
}

/* c (+)= op(a) · op(b) with m × k and k × n operands */
static void multiply(int64_t m, int64_t n, int64_t k, struct matrix a, bool trans_a,
                     struct matrix b, bool trans_b, struct matrix c, bool accumulate)
{
	const struct matmul product = {
	        .m = m,
	        .n = n,
	        .k = k,
	        .a = a.data,
	        .b = b.data,
	        .c = c.data,
	        .a_stride = a.stride,
	        .b_stride = b.stride,
	        .c_stride = c.stride,
	        .trans_a = trans_a,
	        .trans_b = trans_b,
	        .accumulate = accumulate,
	};

	matmul(&product);
}

/* --- forward: item = some pixels of one group of one image ------------------------ */

static void forward_item(const struct job *job, int64_t item, ws_real *tile)
{
	struct area a = {.g = item / job->parts % job->f->groups};
	struct matrix x, y;

	a.n = item / job->parts / job->f->groups;
	a.pixel = item % job->parts * job->part;
	a.pixels = ws_min64(job->part, job->pixels - a.pixel);
	for (a.number = 0; a.number < job->patch; a.number += a.numbers) {
		a.numbers = ws_min64(TILE_PATCH, job->patch - a.number);
		x = patches(job, &a, tile);
		y = outputs(job, &a);
		if (!job->direct)
			walk_tile(job, &a, tile, false);
		if (job->nhwc)
			multiply(a.pixels, job->k, a.numbers, x, false, filters(job, &a), true, y,
			         a.number > 0);
		else
			multiply(job->k, a.pixels, a.numbers, filters(job, &a), false, x, false, y,
			         a.number > 0);
	}
}

/* --- input gradient: item = some channels of one group of one image --------------- */

/* Sums over all pixels for the numbers of an area. */
static void input_grad(const struct job *job, struct area *a, ws_real *tile)
{
	int64_t step =
	        job->direct ? TILE_PIXELS : ws_min64(TILE_PIXELS, WS_CPU_TILE_REALS / a->numbers);
	struct matrix dx, dy;

	for (a->pixel = 0; a->pixel < job->pixels; a->pixel += a->pixels) {
		a->pixels = ws_min64(step, job->pixels - a->pixel);
		dx = patches(job, a, tile);
		dy = outputs(job, a);
		if (job->nhwc)
			multiply(a->pixels, a->numbers, job->k, dy, false, filters(job, a), false,
			         dx, false);
		else
			multiply(a->numbers, a->pixels, job->k, filters(job, a), true, dy, false,
			         dx, false);
		if (!job->direct)
			walk_tile(job, a, tile, true);
	}
}

static void input_grad_item(const struct job *job, int64_t item, ws_real *tile)
{
	struct area a = {.g = item / job->parts % job->f->groups};
	int64_t c = item % job->parts * job->part, count = ws_min64(job->part, job->c - c);
	const struct ws_conv *f = job->f;
	int64_t window = f->r * f->s, plane = f->h * f->w, channel = a.g * job->c + c;

	a.n = item / job->parts / f->groups;
	if (!job->direct && !job->nhwc)
		memset(job->image + (a.n * f->c + channel) * plane, 0,
		       (size_t)(count * plane) * sizeof(ws_real));
	for (int64_t i = 0; !job->direct && job->nhwc && i < plane; i++)
		memset(job->image + (a.n * plane + i) * f->c + channel, 0,
		       (size_t)count * sizeof(ws_real));
	if (job->nhwc) {
		a.numbers = count;
		for (a.number = c; a.number < job->patch; a.number += job->c)
			input_grad(job, &a, tile);
	} else { /* the numbers of some channels are neighbours */
		int64_t end = (c + count) * window;

		for (a.number = c * window; a.number < end; a.number += a.numbers) {
			a.numbers = ws_min64(TILE_PATCH, end - a.number);
			input_grad(job, &a, tile);
		}
	}
}

/* --- weight gradient: item = some numbers of the filters of one group ------------- */

static void weight_grad_item(const struct job *job, int64_t item, ws_real *tile)
{
	struct area a = {.g = item / job->parts, .number = item % job->parts * job->part};

	a.numbers = ws_min64(job->part, job->patch - a.number);
	int64_t step = ws_min64(TILE_PIXELS, WS_CPU_TILE_REALS / a.numbers);
	for (a.n = 0; a.n < job->f->n; a.n++) {
		for (a.pixel = 0; a.pixel < job->pixels; a.pixel += a.pixels) {
			a.pixels = ws_min64(step, job->pixels - a.pixel);
			struct matrix x = patches(job, &a, tile);
			struct matrix dy = outputs(job, &a);
			if (!job->direct)
				walk_tile(job, &a, tile, false);
			multiply(job->k, a.numbers, a.pixels, dy, job->nhwc, x, !job->nhwc,
			         filters(job, &a), a.n > 0 || a.pixel > 0);
		}
	}
}

/* --- the three ops ---------------------------------------------------------------- */

static void job_init(struct job *job, struct ws_cpu *cpu, const struct ws_op *op)
{
	const struct ws_conv *f = &op->u.conv;

	memset(job, 0, sizeof(*job));
	job->f = f;
	job->nhwc = f->layout == WS_LAYOUT_NHWC;
	job->direct = f->r == 1 && f->s == 1 && f->stride == 1 && f->pad_h == 0 && f->pad_w == 0;
	job->c = f->c / f->groups;
	job->k = f->k / f->groups;
	job->patch = job->c * f->r * f->s;
	job->pixels = f->p * f->q;
	job->tiles = cpu->scratch;
	job->image = (op->kind == WS_OP_CONV_DGRAD ? op->out[0] : op->in[0])->data;
	job->filter = (op->kind == WS_OP_CONV_WGRAD ? op->out[0] : op->in[1])->data;
	job->output = (op->kind == WS_OP_CONV         ? op->out[0]
	               : op->kind == WS_OP_CONV_DGRAD ? op->in[0]
	                                              : op->in[1])
	                      ->data;
}

/* One for each thread: it has a tile, and takes items while there are some. */
static void run_on_tile(void *arg, int64_t tile)
{
	struct job *job = arg;

	for (int64_t item; (item = atomic_fetch_add(&job->next, 1)) < job->items;)
		job->run(job, item, job->tiles + tile * WS_CPU_TILE_REALS);
}

/* Divides the work into items of `part` of `total`, for each group of each of `images`. */
static void job_run(struct job *job, struct ws_cpu *cpu, int64_t images, int64_t total,
                    int64_t part, void (*run)(const struct job *job, int64_t item, ws_real *tile))
{
	job->part = part < 1 ? 1 : ws_min64(part, total);
	job->parts = ws_div_up(total, job->part);
	job->items = images * job->f->groups * job->parts;
	job->run = run;
	openblas_set_num_threads(1);
	ws_cpu_kernel_begin(cpu, job->items);
	ws_pool_run(cpu->pool, ws_pool_threads(cpu->pool), run_on_tile, job);
	ws_cpu_kernel_end(cpu);
}

void WS_CPU_FN(conv)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct job job;

	job_init(&job, cpu, op);
	job_run(&job, cpu, job.f->n, job.pixels,
	        ws_min64(TILE_PIXELS, WS_CPU_TILE_REALS / ws_min64(job.patch, TILE_PATCH)),
	        forward_item);
}

void WS_CPU_FN(conv_dgrad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct job job;

	job_init(&job, cpu, op);
	job_run(&job, cpu, job.f->n, job.c, TILE_PATCH / (job.f->r * job.f->s), input_grad_item);
}

void WS_CPU_FN(conv_wgrad)(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct job job;
	int64_t part;

	job_init(&job, cpu, op);
	/* a few parts even of a small filter, for threads share no part */
	part = job.patch / 8 < 32 ? 32 : job.patch / 8;
	job_run(&job, cpu, 1, job.patch, ws_min64(part, TILE_PATCH / 2), weight_grad_item);
}
