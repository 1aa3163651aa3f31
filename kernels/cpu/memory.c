/* Memory of the CPU reference backend, and what kernels launch with. */
#include "kernels/cpu/cpu.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/nvtx/warpsheet_nvtx.h"

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

/* What this process may still allocate without being killed for it. */
uint64_t ws_cpu_memory_available(void)
{
	uint64_t kib, limit, used, available = UINT64_MAX;

	if (read_number("/proc/meminfo", "MemAvailable:", &kib))
		available = kib * 1024;
	/* inside a container its limit counts; "max" is no number and no limit */
	if (read_number("/sys/fs/cgroup/memory.max", "", &limit) &&
	    read_number("/sys/fs/cgroup/memory.current", "", &used)) {
		uint64_t rest = limit > used ? limit - used : 0;

		if (rest < available)
			available = rest;
	}
	return available;
}

void ws_cpu_kernel_begin(struct ws_cpu *cpu, int64_t items)
{
	struct wsnvtx_launch launch = {.grid_y = 1, .grid_z = 1, .block_y = 1, .block_z = 1};
	char name[96];

	launch.grid_x = items > UINT32_MAX ? UINT32_MAX : (uint32_t)items;
	launch.block_x = (uint32_t)ws_pool_threads(cpu->pool);
	if (wsnvtx_attached())
		wsnvtx_kernel_push(ws_op_kernel_name(cpu->op, name, sizeof(name)), &launch);
	ws_cpu_copies_load(cpu);
}

void ws_cpu_kernel_end(struct ws_cpu *cpu)
{
	ws_cpu_copies_store(cpu);
	wsnvtx_kernel_pop();
}

void ws_cpu_launch(struct ws_cpu *cpu, int64_t items, void (*fn)(void *arg, int64_t item),
                   void *arg)
{
	ws_cpu_kernel_begin(cpu, items);
	ws_pool_run(cpu->pool, items, fn, arg);
	ws_cpu_kernel_end(cpu);
}
