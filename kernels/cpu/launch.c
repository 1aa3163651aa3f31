/* Launches kernels, and makes copies of operands in types in which kernels cannot compute. */
#include "kernels/cpu/cpu.h"

/* --- operands that kernels cannot compute in, as fp32 ----------------------------------------- */

/* What attention's gradient reads beside them is no operand of a product: its dtype stays. */
#define TF32_OPERANDS 4

static bool is_copied(const struct ws_op *op, int i)
{
	switch (op->kind) {
	case WS_OP_UNARY: /* these compute little: tile by tile, from the first-level cache */
	case WS_OP_BINARY:
	case WS_OP_COPY:
	case WS_OP_FILL:
	case WS_OP_BIAS:
	case WS_OP_BIAS_ACT:
	case WS_OP_SQUARED_ERROR:
	case WS_OP_SQUARED_ERROR_GRAD:
	case WS_OP_UPDATE:
	case WS_OP_CLIP:
	case WS_OP_UNSCALE:
	case WS_OP_EMBEDDING: /* these move what they read as it is */
	case WS_OP_PERMUTE:
		return false;
	default:
		break;
	}
	return ws_dtype_size(ws_op_tensor(op, i)->dtype) == sizeof(uint16_t) ||
	       (op->tf32 && i < op->in_count && i < TF32_OPERANDS);
}

uint64_t ws_cpu_copies_bytes(const struct ws_op *op)
{
	uint64_t total_bytes = 0;

	for (int i = 0; i < op->in_count + op->out_count; i++)
		if (is_copied(op, i))
			total_bytes += (uint64_t)ws_op_tensor(op, i)->count * sizeof(float);
	return total_bytes;
}

const struct ws_op *ws_cpu_copies_open(struct ws_cpu *cpu, const struct ws_op *op)
{
	struct ws_op *copied = &cpu->op_on_copies;

	cpu->op = op;
	cpu->copy_count = 0;
	*copied = *op;
	for (int i = 0; i < op->in_count + op->out_count; i++) {
		const struct ws_tensor *t = ws_op_tensor(op, i);
		struct ws_cpu_copy *copy = cpu->copies, *end = copy + cpu->copy_count;
		float *place = cpu->copies_at;

		if (!is_copied(op, i))
			continue;
		for (; copy < end && copy->original->data != t->data; copy++)
			place += copy->original->count;
		if (copy == end) {
			*copy = (struct ws_cpu_copy){.original = t, .t = *t};
			copy->t.dtype = WS_DTYPE_F32;
			copy->t.data = place;
			cpu->copy_count++;
		}
		if (i < op->in_count)
			copied->in[i] = &copy->t;
		else
			copied->out[i - op->in_count] = &copy->t;
		copy->is_read |= i < op->in_count;
		copy->is_written |= i >= op->in_count;
		copy->tf32 = op->tf32 ? cpu->base.tf32 : WS_TF32_EXACT;
	}
	return copied;
}

static void load_item(void *arg, int64_t item)
{
	const struct ws_cpu_copy *copy = arg;
	int64_t first = item * WS_GRAIN, count = ws_min64(WS_GRAIN, copy->original->count - first);
	float *to = ws_reals(&copy->t, first);
	const float *from = ws_real_load(copy->original, first, count, to);

	if (copy->original->dtype == WS_DTYPE_F32)
		for (int64_t i = 0; i < count; i++)
			to[i] = ws_f32_read(from[i], copy->tf32);
}

static void store_item(void *arg, int64_t item)
{
	const struct ws_cpu_copy *copy = arg;
	int64_t first = item * WS_GRAIN;

	ws_real_store(copy->original, first, ws_min64(WS_GRAIN, copy->original->count - first),
	              ws_reals(&copy->t, first));
}

/* --- launching -------------------------------------------------------------------------------- */

void ws_cpu_kernel_begin(struct ws_cpu *cpu, int64_t items)
{
	struct wsnvtx_launch launch = {.grid_y = 1, .grid_z = 1, .block_y = 1, .block_z = 1};
	char name[96];

	launch.grid_x = items > UINT32_MAX ? UINT32_MAX : (uint32_t)items;
	launch.block_x = (uint32_t)ws_pool_threads(cpu->pool);
	if (wsnvtx_attached())
		wsnvtx_kernel_push(ws_op_kernel_name(cpu->op, name, sizeof(name)), &launch);
	for (int i = 0; i < cpu->copy_count; i++)
		if (cpu->copies[i].is_read)
			ws_pool_run(cpu->pool, ws_div_up(cpu->copies[i].t.count, WS_GRAIN),
			            load_item, &cpu->copies[i]);
}

void ws_cpu_kernel_end(struct ws_cpu *cpu)
{
	for (int i = 0; i < cpu->copy_count; i++)
		if (cpu->copies[i].is_written)
			ws_pool_run(cpu->pool, ws_div_up(cpu->copies[i].t.count, WS_GRAIN),
			            store_item, &cpu->copies[i]);
	wsnvtx_kernel_pop();
}

void ws_cpu_launch(struct ws_cpu *cpu, int64_t items, void (*fn)(void *arg, int64_t item),
                   void *arg)
{
	ws_cpu_kernel_begin(cpu, items);
	ws_pool_run(cpu->pool, items, fn, arg);
	ws_cpu_kernel_end(cpu);
}

struct op_items {
	const struct ws_op *op;
	void (*fn)(const struct ws_op *op, int64_t item);
};

static void op_item(void *arg, int64_t item)
{
	const struct op_items *items = arg;

	items->fn(items->op, item);
}

void ws_cpu_launch_op(struct ws_cpu *cpu, const struct ws_op *op, int64_t items,
                      void (*fn)(const struct ws_op *op, int64_t item))
{
	struct op_items arg = {op, fn};

	ws_cpu_launch(cpu, items, op_item, &arg);
}
