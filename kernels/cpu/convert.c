/* Whole tensors as ws_real, for kernels that compute on matrices rather than on tiles. */
#include "kernels/cpu/real.h"

struct ws_whole WS_CPU_FN(whole_open)(struct ws_cpu *cpu, const struct ws_tensor *t, int slot,
                                      enum ws_tf32 tf32)
{
	bool converted = tf32 != WS_TF32_EXACT || t->dtype != WS_REAL_DTYPE;

	return (struct ws_whole){t, converted ? cpu->workspace[slot] : t->data, converted, tf32};
}

static void load_item(void *arg, int64_t item)
{
	const struct ws_whole *w = arg;
	int64_t first = item * WS_GRAIN, count = ws_min64(WS_GRAIN, w->t->count - first);
	const ws_real *from = ws_real_load(w->t, first, count, w->data + first);

	if (w->tf32 != WS_TF32_EXACT)
		for (int64_t i = 0; i < count; i++)
			w->data[first + i] = (ws_real)ws_f32_read((float)from[i], w->tf32);
}

static void store_item(void *arg, int64_t item)
{
	const struct ws_whole *w = arg;
	int64_t first = item * WS_GRAIN;

	ws_real_store(w->t, first, ws_min64(WS_GRAIN, w->t->count - first), w->data + first);
}

void WS_CPU_FN(whole_load)(struct ws_cpu *cpu, struct ws_whole *whole)
{
	if (whole->converted)
		ws_pool_run(cpu->pool, ws_div_up(whole->t->count, WS_GRAIN), load_item, whole);
}

void WS_CPU_FN(whole_store)(struct ws_cpu *cpu, struct ws_whole *whole)
{
	if (whole->converted)
		ws_pool_run(cpu->pool, ws_div_up(whole->t->count, WS_GRAIN), store_item, whole);
}
