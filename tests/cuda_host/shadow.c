#include "tests/cuda_host/shadow.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "kernels/exec/exec.h"
#include "tests/cuda_host/bounds/bounds.h"
#include "tests/cuda_host/device.h"

/* The tensors of one op on the device, in the order of operands. */
struct run {
	struct ws_shadow *shadow;
	struct ws_operands operands;
	bool written[WS_OPERANDS_MAX];
	void *before[WS_OPERANDS_MAX];          /* bytes of operands that are read */
	void *result[WS_OPERANDS_MAX];          /* bytes that the first run on the device left */
	struct ws_tensor copy[WS_OPERANDS_MAX]; /* on the device */
	struct ws_op op;                        /* on the copies */
	struct ws_update_row list[WS_OPERANDS_MAX];
};

static void note_wrong(struct run *run, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void note_wrong(struct run *run, const char *format, ...)
{
	struct ws_shadow *shadow = run->shadow;
	char name[64];
	va_list args;
	int n;

	if (shadow->wrong++)
		return;
	n = snprintf(shadow->first, sizeof(shadow->first),
	             "%s: ", ws_op_kernel_name(run->operands.op, name, sizeof(name)));
	va_start(args, format);
	vsnprintf(shadow->first + n, sizeof(shadow->first) - (size_t)n, format, args);
	va_end(args);
}

/* --- operands --------------------------------------------------------------------------------- */

static int add_operand(struct run *run, struct ws_tensor *t, bool read, bool written)
{
	struct ws_operands *o = &run->operands;
	int at = 0;

	while (at < o->count && o->list[at].t != t)
		at++;
	if (at == WS_OPERANDS_MAX)
		abort();
	if (at == o->count)
		o->list[o->count++] = (struct ws_operand){.t = t};
	run->written[at] |= written;
	if (read && !run->before[at]) {
		run->before[at] = malloc(t->size_bytes);
		memcpy(run->before[at], t->data, t->size_bytes);
		o->list[at].before = malloc((size_t)t->count * sizeof(double));
		ws_dtype_decode(t->dtype, t->data, o->list[at].before, t->count);
	}
	return at;
}

/* A use of a tensor by an op; a tensor that is used twice has two. */
struct use {
	struct ws_tensor *t;
	bool read, written;
};

#define USES_MAX (2 * WS_OPERANDS_MAX)

static int uses_of(const struct ws_op *op, struct use uses[USES_MAX])
{
	int count = 0;

	for (int i = 0; i < op->in_count; i++)
		uses[count++] = (struct use){op->in[i], true, false};
	/* what an op updates in place it may leave alone, as unscale its flag */
	for (int i = 0; i < op->out_count; i++)
		uses[count++] = (struct use){op->out[i], false, true};
	for (int i = op->in_count + op->out_count; i < ws_op_touched(op); i++) {
		int k = (i - op->in_count - op->out_count) % WS_UPDATE_TENSORS;

		if (count == USES_MAX)
			abort();
		if (ws_op_touches(op, i))
			uses[count++] =
			        (struct use){ws_op_touches(op, i), ws_update_reads(op->sub, k),
			                     ws_update_writes(op->sub, k)};
	}
	return count;
}

/* A tensor that is written without being read is not an operand before: its copy holds NaN. */
static void add_operands(struct run *run, const struct ws_op *op)
{
	struct use uses[USES_MAX];
	int count = uses_of(op, uses);

	run->operands.op = op;
	for (int i = 0; i < count; i++)
		add_operand(run, uses[i].t, uses[i].read, uses[i].written);
}

/* Of the places that the operands take on a device, each tensor once. */
static uint64_t places_bytes(const struct ws_op *op)
{
	struct use uses[USES_MAX];
	int count = uses_of(op, uses);
	uint64_t size_bytes = 0;

	for (int i = 0; i < count; i++) {
		int first = 0;

		while (uses[first].t != uses[i].t)
			first++;
		if (first == i)
			size_bytes += (uses[i].t->size_bytes + WS_MEMORY_ALIGN - 1) /
			              WS_MEMORY_ALIGN * WS_MEMORY_ALIGN;
	}
	return size_bytes;
}

static struct ws_tensor *copy_of(struct run *run, struct ws_tensor *t)
{
	return &run->copy[add_operand(run, t, false, false)];
}

static void redirect(struct run *run)
{
	const struct ws_op *op = run->operands.op;

	run->op = *op;
	for (int i = 0; i < op->in_count; i++)
		run->op.in[i] = copy_of(run, op->in[i]);
	for (int i = 0; i < op->out_count; i++)
		run->op.out[i] = copy_of(run, op->out[i]);
	if (!ws_op_has_rows(op))
		return;
	if (op->u.update.count > WS_OPERANDS_MAX)
		abort();
	for (int i = 0; i < op->u.update.count; i++)
		for (int k = 0; k < WS_UPDATE_TENSORS; k++) {
			struct ws_tensor *t = op->u.update.list[i].t[k];

			run->list[i].t[k] = t ? copy_of(run, t) : NULL;
		}
	run->op.u.update.list = run->list;
}

static void run_free(struct run *run)
{
	for (int i = 0; i < run->operands.count; i++) {
		ws_test_device_leave(run->copy[i].data);
		free(run->operands.list[i].before);
		free(run->operands.list[i].after);
		free(run->before[i]);
		free(run->result[i]);
	}
	free(run);
}

/* --- on the device ------------------------------------------------------------------------------
 */

static void device_places(struct run *run)
{
	uint64_t used = 0;

	for (int i = 0; i < run->operands.count; i++) {
		run->copy[i] = *run->operands.list[i].t;
		run->copy[i].data =
		        ws_test_device_place(run->shadow->block, &used, run->copy[i].size_bytes);
	}
}

/* Operands that are read hold what they held, the others NaN. */
static enum ws_status device_fill(struct run *run, struct ws_err *err)
{
	struct ws_backend *device = run->shadow->device;

	for (int i = 0; i < run->operands.count; i++) {
		struct ws_tensor *t = &run->copy[i];
		void *unset = run->before[i] ? NULL : malloc(t->size_bytes);
		enum ws_status status;

		if (unset)
			memset(unset, 0xff, t->size_bytes);
		status = device->ops->upload(device, t->data, 0, unset ? unset : run->before[i],
		                             t->size_bytes, err);
		free(unset);
		WS_FORWARD(status);
	}
	return WS_OK;
}

/* The results of run number `repeat`: kept of the first, the same bits afterwards. */
static enum ws_status device_results(struct run *run, int repeat, struct ws_err *err)
{
	struct ws_backend *device = run->shadow->device;

	for (int i = 0; i < run->operands.count; i++) {
		struct ws_tensor *t = &run->copy[i];
		void *bytes = malloc(t->size_bytes);

		WS_FORWARD(device->ops->download(device, t->data, 0, bytes, t->size_bytes, err));
		if (!run->written[i] && memcmp(bytes, run->before[i], t->size_bytes) != 0)
			note_wrong(run, "it writes operand %s, which is only read", t->name);
		if (repeat && memcmp(bytes, run->result[i], t->size_bytes) != 0)
			note_wrong(run, "result %s has other bits in run %d than in the first",
			           t->name, repeat);
		free(run->result[i]);
		run->result[i] = bytes;
	}
	return WS_OK;
}

/* A kernel of the op's own name was launched, and none of another class. */
static void check_names(struct run *run)
{
	const char *const *names, *class = ws_op_info(run->op.kind)->kernel_class;
	int count = ws_test_device_launched(&names);
	char name[64], prefix[64];
	bool found = false;

	ws_op_kernel_name(&run->op, name, sizeof(name));
	snprintf(prefix, sizeof(prefix), "ws_%s_", class);
	for (int i = 0; i < count; i++) {
		found |= !strcmp(names[i], name);
		if (strncmp(names[i], prefix, strlen(prefix)) != 0)
			note_wrong(run, "it launched %s", names[i]);
	}
	if (count && !found)
		note_wrong(run, "no kernel of this name was launched, but %s", names[0]);
}

static enum ws_status device_run(struct run *run, struct ws_err *err)
{
	struct ws_backend *device = run->shadow->device;

	redirect(run);
	for (int i = 0; i < ws_test_device_repeats(); i++) {
		ws_test_device_vary(i);
		WS_FORWARD(device_fill(run, err));
		WS_FORWARD(device->ops->run(device, &run->op, err));
		WS_FORWARD(device->ops->sync(device, err));
		check_names(run);
		WS_FORWARD(device_results(run, i, err));
	}
	return WS_OK;
}

/* --- comparing
 * ------------------------------------------------------------------------------------ */

static struct ws_shadow_kernel *kernel_of(struct run *run)
{
	struct ws_shadow *shadow = run->shadow;
	struct ws_shadow_kernel *kernel = shadow->kernels;
	char name[64];

	ws_op_kernel_name(run->operands.op, name, sizeof(name));
	while (kernel < shadow->kernels + shadow->kernel_count && strcmp(kernel->name, name) != 0)
		kernel++;
	if (kernel == shadow->kernels + WS_SHADOW_KERNELS_MAX)
		abort();
	if (kernel == shadow->kernels + shadow->kernel_count) {
		shadow->kernel_count++;
		memcpy(kernel->name, name, sizeof(name));
	}
	return kernel;
}

/* Error as a share of the bound; infinite where one is no number and the other is. */
static double share_of_bound(double got, double want, double bound)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (got == want)
		return 0;
	return isinf(want) || isinf(got) || bound == 0 ? INFINITY : fabs(got - want) / bound;
}

static enum ws_status compare(struct run *run, int at, struct ws_err *err)
{
	struct ws_operand *operand = &run->operands.list[at];
	struct ws_tensor *t = operand->t;
	struct ws_shadow_kernel *kernel = kernel_of(run);
	double *got = malloc((size_t)t->count * sizeof(*got));
	double *bounds = malloc((size_t)t->count * sizeof(*bounds));
	enum ws_status status = ws_bounds(&run->operands, operand, bounds, err);

	ws_dtype_decode(t->dtype, run->result[at], got, t->count);
	for (int64_t i = 0; i < t->count && status == WS_OK; i++) {
		double share = share_of_bound(got[i], operand->after[i], bounds[i]);

		/* a batch with an infinity has no statistics, whichever way one gets none */
		if (run->op.kind == WS_OP_BATCH_NORM && !isfinite(operand->after[i]) &&
		    !isfinite(got[i]))
			share = 0;
		if (!(share <= 1)) {
			note_wrong(run,
			           "%s[%lld] of %lld (rows of %lld) is %.9g, not %.9g; allowed are "
			           "%.3g",
			           t->name, (long long)i, (long long)t->count,
			           (long long)ws_tensor_cols(t), got[i], operand->after[i],
			           bounds[i]);
			break;
		}
		if (share > kernel->worst)
			kernel->worst = share;
	}
	free(got);
	free(bounds);
	return status;
}

/* The reference's results as numbers. */
static void note_results(struct run *run)
{
	for (int i = 0; i < run->operands.count; i++) {
		struct ws_operand *operand = &run->operands.list[i];

		if (!run->written[i])
			continue;
		free(operand->after);
		operand->after = malloc((size_t)operand->t->count * sizeof(double));
		ws_dtype_decode(operand->t->dtype, operand->t->data, operand->after,
		                operand->t->count);
	}
}

/* The sum of the squares of what the device's results differ by. */
static double difference(const struct run *run)
{
	double sum = 0;

	for (int i = 0; i < run->operands.count; i++) {
		const struct ws_operand *operand = &run->operands.list[i];
		double *got;

		if (!run->written[i])
			continue;
		got = malloc((size_t)operand->t->count * sizeof(*got));
		ws_dtype_decode(operand->t->dtype, run->result[i], got, operand->t->count);
		for (int64_t j = 0; j < operand->t->count; j++)
			sum += (got[j] - operand->after[j]) * (got[j] - operand->after[j]);
		free(got);
	}
	return sum;
}

/* The reference reads operands as the device did: of the ways that there are, the nearest. */
static enum ws_status run_nearest(struct run *run, const struct ws_op *op, struct ws_err *err)
{
	static const enum ws_tf32 ways[] = {WS_TF32_ROUNDED, WS_TF32_CUT, WS_TF32_EXACT};
	struct ws_shadow *shadow = run->shadow;
	enum ws_tf32 nearest = ways[0];
	double least = INFINITY;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		double sum;

		shadow->reference->tf32 = ways[i];
		WS_FORWARD(shadow->reference->ops->run(shadow->reference, op, err));
		note_results(run);
		sum = difference(run);
		if (sum < least) {
			least = sum;
			nearest = ways[i];
		}
	}
	shadow->reference->tf32 = nearest;
	WS_GROW(shadow->tf32, shadow->tf32_count + 1, shadow->tf32_capacity);
	shadow->tf32[shadow->tf32_count++] = (uint8_t)nearest;
	return shadow->reference->ops->run(shadow->reference, op, err);
}

static enum ws_status run_both(struct run *run, const struct ws_op *op, struct ws_err *err)
{
	struct ws_backend *reference = run->shadow->reference;

	device_places(run);
	WS_FORWARD(device_run(run, err));
	WS_FORWARD(op->tf32 ? run_nearest(run, op, err) : reference->ops->run(reference, op, err));
	note_results(run);
	for (int i = 0; i < run->operands.count; i++)
		if (run->written[i])
			WS_FORWARD(compare(run, i, err));
	kernel_of(run)->runs++;
	return WS_OK;
}

static enum ws_status shadow_run(struct ws_backend *backend, const struct ws_op *op,
                                 struct ws_err *err)
{
	struct ws_shadow *shadow = (struct ws_shadow *)backend;
	enum ws_status status;
	struct run *run;

	if (!ws_test_device_runs(op))
		return shadow->reference->ops->run(shadow->reference, op, err);
	run = calloc(1, sizeof(*run));
	WS_FAIL_IF(!run, err, NO_MEMORY, "no memory to compare an op");
	run->shadow = shadow;
	run->operands.reference = shadow->reference;
	add_operands(run, op);
	status = run_both(run, op, err);
	run_free(run);
	return status;
}

/*
 * Tensors are the reference's. The device holds one op's operands at a time, so its plan is the
 * session's with a block for the greediest op.
 */
static enum ws_status shadow_prepare(struct ws_backend *backend, const struct ws_backend_plan *plan,
                                     void **block, struct ws_err *err)
{
	struct ws_shadow *shadow = (struct ws_shadow *)backend;
	struct ws_backend_plan own = {plan->ops, plan->op_count, 0};

	for (int i = 0; i < plan->op_count; i++) {
		uint64_t size_bytes = places_bytes(plan->ops[i]);

		if (size_bytes > own.block_bytes)
			own.block_bytes = size_bytes;
	}
	WS_FORWARD(shadow->reference->ops->prepare(shadow->reference, plan, block, err));
	return shadow->device->ops->prepare(shadow->device, &own, &shadow->block, err);
}

static enum ws_status shadow_upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                                    const void *host, uint64_t size_bytes, struct ws_err *err)
{
	struct ws_backend *reference = ((struct ws_shadow *)backend)->reference;

	return reference->ops->upload(reference, data, offset_bytes, host, size_bytes, err);
}

static enum ws_status shadow_download(struct ws_backend *backend, const void *data,
                                      uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                      struct ws_err *err)
{
	struct ws_backend *reference = ((struct ws_shadow *)backend)->reference;

	return reference->ops->download(reference, data, offset_bytes, host, size_bytes, err);
}

static enum ws_status shadow_sync(struct ws_backend *backend, struct ws_err *err)
{
	(void)backend;
	(void)err;
	return WS_OK;
}

static void shadow_close(struct ws_backend *backend)
{
	struct ws_shadow *shadow = (struct ws_shadow *)backend;

	ws_backend_close(shadow->reference);
	ws_backend_close(shadow->device);
	free(shadow->tf32);
	free(shadow);
}

enum ws_status ws_shadow_open(struct ws_pool *pool, struct ws_shadow **shadow, struct ws_err *err)
{
	static const struct ws_backend_ops ops = {
	        .name = "shadow",
	        .prepare = shadow_prepare,
	        .upload = shadow_upload,
	        .download = shadow_download,
	        .run = shadow_run,
	        .sync = shadow_sync,
	        .close = shadow_close,
	};
	struct ws_shadow *s = calloc(1, sizeof(*s));
	enum ws_status status;

	WS_FAIL_IF(!s, err, NO_MEMORY, "no memory for a shadow");
	s->base.ops = &ops;
	s->base.limit_bytes = UINT64_MAX;
	s->reference = ws_backend_cpu_open(pool, 0);
	status = ws_test_device_open(pool, &s->device, err);
	if (status == WS_OK)
		*shadow = s;
	else
		ws_backend_close(&s->base);
	return status;
}
