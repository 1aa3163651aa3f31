/* The CPU reference backend: its memory, and the choice of the kernel of an op. */
#include "kernels/cpu/cpu.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size_bytes)   ((void)(data), (void)(size_bytes))
#define ASAN_UNPOISON_MEMORY_REGION(data, size_bytes) ((void)(data), (void)(size_bytes))
#endif

/* --- memory ----------------------------------------------------------------------------------- */

/* A whole number from a file, from the line that begins with key ("" = the first). */
static bool read_number(const char *path, const char *key, uint64_t *value)
{
	FILE *file = fopen(path, "r");
	char line[256];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			found = sscanf(line + strlen(key), "%" SCNu64, value) == 1;
	fclose(file);
	return found;
}

/* Memory that an op's kernel needs besides its operands: sums of its items, tiles. */
static uint64_t scratch_bytes(const struct ws_cpu *cpu, const struct ws_op *op)
{
	bool real_is_double = op->out[0]->dtype == WS_DTYPE_F64;

	switch (op->kind) {
	case WS_OP_CLIP:
		return (uint64_t)ws_cpu_update_items(op) * sizeof(double);
	case WS_OP_CROSS_ENTROPY:
		return (uint64_t)op->in[1]->count * sizeof(double);
	case WS_OP_ATTENTION_GRAD: /* a number for each query, as log_sum */
		return op->in[5]->size_bytes;
	case WS_OP_CONV:
	case WS_OP_CONV_DGRAD:
	case WS_OP_CONV_WGRAD:
		return (uint64_t)(WS_CPU_TILE_REALS * ws_pool_threads(cpu->pool)) *
		       (real_is_double ? sizeof(double) : sizeof(float));
	default:
		return 0;
	}
}

static uint64_t cpu_workspace_bytes(const struct ws_backend *backend,
                                    const struct ws_backend_plan *plan)
{
	uint64_t most_bytes = 0;

	for (int i = 0; i < plan->op_count; i++) {
		uint64_t bytes = scratch_bytes((const struct ws_cpu *)backend, plan->ops[i]) +
		                 ws_cpu_copies_bytes(plan->ops[i]);

		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	return most_bytes;
}

static enum ws_status cpu_prepare(struct ws_backend *backend, const struct ws_backend_plan *plan,
                                  void **block, struct ws_err *err)
{
	struct ws_cpu *cpu = (struct ws_cpu *)backend;
	uint64_t workspace_bytes = cpu_workspace_bytes(backend, plan);

	free(cpu->block);
	free(cpu->workspace);
	*block = cpu->block = malloc(plan->block_bytes);
	cpu->block_bytes = cpu->block ? plan->block_bytes : 0;
	cpu->workspace = malloc(workspace_bytes);
	WS_FAIL_IF(!cpu->block || (!cpu->workspace && workspace_bytes), err, NO_MEMORY,
	           "%" PRIu64 " bytes cannot be allocated", plan->block_bytes + workspace_bytes);
	return WS_OK;
}

static enum ws_status cpu_upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                                 const void *host, uint64_t size_bytes, struct ws_err *err)
{
	(void)backend;
	(void)err;
	memcpy((char *)data + offset_bytes, host, size_bytes);
	return WS_OK;
}

static enum ws_status cpu_download(struct ws_backend *backend, const void *data,
                                   uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                   struct ws_err *err)
{
	(void)backend;
	(void)err;
	memcpy(host, (const char *)data + offset_bytes, size_bytes);
	return WS_OK;
}

static enum ws_status cpu_run(struct ws_backend *backend, const struct ws_op *op,
                              struct ws_err *err)
{
	static ws_cpu_kernel *const kernels[][2] = {
#define WS_OP(KIND, name, ...) [WS_OP_##KIND] = {ws_cpu_##name##_f32, ws_cpu_##name##_f64},
#include "kernels/graph/op.def"
	};
	struct ws_cpu *cpu = (struct ws_cpu *)backend;
	bool real_is_double = op->out[0]->dtype == WS_DTYPE_F64;
	const struct ws_gemm *g = &op->u.gemm;
	const struct ws_conv *f = &op->u.conv;
	const struct ws_tensor *index = NULL;
	bool blas_takes = true;
	int64_t end = 0;

	switch (op->kind) {
	/* dimensions and strides of matrices, which a BLAS takes as 32-bit numbers */
	case WS_OP_GEMM:
		blas_takes = g->m <= INT32_MAX && g->n <= INT32_MAX && g->k <= INT32_MAX;
		break;
	case WS_OP_CONV:
	case WS_OP_CONV_DGRAD:
	case WS_OP_CONV_WGRAD:
		blas_takes = f->p * f->q <= INT32_MAX &&
		             f->c / f->groups * f->r * f->s <= INT32_MAX && f->c <= INT32_MAX &&
		             f->k <= INT32_MAX;
		break;
	/* indices, which come from outside the graph: they must be below the rows they pick */
	case WS_OP_EMBEDDING:
		index = op->in[1];
		end = op->in[0]->shape.dim[0];
		break;
	case WS_OP_EMBEDDING_GRAD:
		index = op->in[1];
		end = op->out[0]->shape.dim[0];
		break;
	case WS_OP_GATHER_GRAD:
	case WS_OP_NLL_LOSS_GRAD:
		index = op->in[1];
		end = ws_tensor_cols(op->out[0]);
		break;
	case WS_OP_GATHER:
	case WS_OP_NLL_LOSS:
	case WS_OP_CROSS_ENTROPY:
		index = op->in[1];
		end = ws_tensor_cols(op->in[0]);
		break;
	default:
		break;
	}
	WS_FAIL_IF(!blas_takes, err, ENVIRONMENT, "%s: a dimension exceeds what the BLAS can take",
	           op->message);
	for (int64_t i = 0; index && i < index->count; i++) {
		const int32_t v = ((const int32_t *)index->data)[i];

		WS_FAIL_IF(v < 0 || v >= end, err, BUG, "%s[%lld] is %d, not in 0 … %lld",
		           index->name, (long long)i, v, (long long)end - 1);
	}
	cpu->scratch = cpu->workspace;
	cpu->copies_at = cpu->workspace + scratch_bytes(cpu, op);

	/* Tensors lie side by side: the address sanitizer is told that an op stays in its own. */
	ASAN_POISON_MEMORY_REGION(cpu->block, cpu->block_bytes);
	for (int i = 0; i < ws_op_touched(op); i++)
		if (ws_op_touches(op, i))
			ASAN_UNPOISON_MEMORY_REGION(ws_op_touches(op, i)->data,
			                            ws_op_touches(op, i)->size_bytes);
	kernels[op->kind][real_is_double](cpu, ws_cpu_copies_open(cpu, op));
	ASAN_UNPOISON_MEMORY_REGION(cpu->block, cpu->block_bytes);
	return WS_OK;
}

static enum ws_status cpu_sync(struct ws_backend *backend, struct ws_err *err)
{
	(void)backend;
	(void)err;
	return WS_OK; /* cpu_run returns when the op is done */
}

static void cpu_close(struct ws_backend *backend)
{
	struct ws_cpu *cpu = (struct ws_cpu *)backend;

	free(cpu->block);
	free(cpu->workspace);
	free(backend);
}

static const struct ws_backend_ops cpu_ops = {
        .name = "cpu",
        .prepare = cpu_prepare,
        .workspace_bytes = cpu_workspace_bytes,
        .upload = cpu_upload,
        .download = cpu_download,
        .run = cpu_run,
        .sync = cpu_sync,
        .close = cpu_close,
};

struct ws_backend *ws_backend_cpu_open(struct ws_pool *pool, uint64_t limit_bytes)
{
	struct ws_cpu *cpu = ws_xarray(1, sizeof(*cpu));
	uint64_t kib, limit, used;

	cpu->base.ops = &cpu_ops;
	snprintf(cpu->base.device, sizeof(cpu->base.device), "CPU reference");
	cpu->pool = pool;
	cpu->base.tf32 = WS_TF32_ROUNDED;
	cpu->base.limit_bytes = limit_bytes ? limit_bytes : UINT64_MAX;
	/* memory that this process may still allocate without being killed */
	if (!limit_bytes && read_number("/proc/meminfo", "MemAvailable:", &kib))
		cpu->base.limit_bytes = kib * 1024;
	/* inside a container its limit counts; "max" is no number and no limit */
	if (!limit_bytes && read_number("/sys/fs/cgroup/memory.max", "", &limit) &&
	    read_number("/sys/fs/cgroup/memory.current", "", &used)) {
		uint64_t rest = limit > used ? limit - used : 0;

		if (rest < cpu->base.limit_bytes)
			cpu->base.limit_bytes = rest;
	}
	return &cpu->base;
}
