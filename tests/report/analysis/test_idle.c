/* The causes of idle time add up on anything; each by hand: ../scenarios/idle.scenario. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "report/analysis/idle.h"
#include "tests/support/trace_builder.h"

#define US 1000

/* Of two devices the second is an H100. */
static struct tb *h100(void)
{
	struct tb *b = tb_new();

	tb_device(b, 1, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
	return b;
}

static uint64_t ids = 1000; /* the writer counts its own from 1 */

static void api(struct tb *b, const char *name, int64_t start_us, int64_t dur_us)
{
	tb_add(b, WS_KIND_API,
	       &(struct ws_row_api){.start_ns = start_us * US,
	                            .dur_ns = dur_us * US,
	                            .thread = 1,
	                            .name = tb_text(b, name),
	                            .correlation = ++ids});
}

/* Whatever happens, each device's uses add up to the windows, and no use is negative. */
Test(idle, uses_add_up_on_random_traces)
{
	static const char *const names[] = {"k", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};

	srand(20261122);
	for (int round = 0; round < 300; round++) {
		struct tb *b = h100();
		struct ws_selection sel;
		const struct ws_idle *idle;
		struct joined *j;
		int64_t at = 0;

		tb_device(b, 2, WS_DEVICE_CUDA, "NVIDIA H100 80GB HBM3");
		for (int s = 0; s < 1 + round % 4; s++) {
			int64_t begin = at;

			tb_push(b, at * US, round % 5 ? "step" : "other");
			for (int i = 0; i < rand() % 20; i++) {
				uint64_t device = 1 + (uint64_t)(rand() % 2);
				int64_t start = begin + rand() % 900;

				if (rand() % 4 == 0) {
					tb_add(b, WS_KIND_MEMCPY,
					       &(struct ws_row_memcpy){.start_ns = start * US,
					                               .dur_ns = rand() % 300 * US,
					                               .device = device,
					                               .pid = 100});
				} else {
					struct tb_kernel k = {names[rand() % 2],
					                      start * US,
					                      rand() % 200 * US,
					                      ++ids,
					                      device,
					                      100,
					                      0};

					if (rand() % 3)
						tb_call(b, (start - rand() % 200) * US,
						        rand() % 2000, k.correlation);
					tb_kernel(b, &k);
				}
				if (rand() % 6 == 0)
					api(b, "cudaDeviceSynchronize", begin + rand() % 900,
					    rand() % 90);
			}
			at += 1000;
			tb_pop(b, at * US);
		}
		j = tb_joined(b);
		ws_select_rows(j->m, &j->rows, NULL, &sel);
		idle = ws_idle_find(j->m, &sel);
		for (size_t d = 0; d < idle->ndevices; d++) {
			int64_t sum = 0;

			for (int use = 0; use < WS_USES; use++) {
				cr_assert(ge(i64, idle->device[d].ns[use], 0));
				sum += idle->device[d].ns[use];
			}
			cr_assert(eq(i64, sum, idle->device[d].window_ns));
			cr_assert(sum == 0 || sum == idle->wall_ns, "round %d: %lld of %lld", round,
			          (long long)sum, (long long)idle->wall_ns);
		}
		ws_selection_release(&sel);
		joined_free(j);
		tb_free(b);
	}
}
