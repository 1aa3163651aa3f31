/*
 * PyTorch traces that others recorded, against the numbers that were
 * published for them: see fixtures/MANIFEST.md.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/support/imported.h"
#include "tests/support/paths.h"

static struct ws_imported *imported(const char *path)
{
	struct ws_imported *i = ws_imported_file(path);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	for (size_t k = 0; k < WS_IMPORT_LOSSES; k++)
		cr_assert(eq(u64, i->stats.losses[k].count, 0), "%s", i->stats.losses[k].reason);
	return i;
}

static struct ws_imported *fixture(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/imports/%s", WS_FIXTURES, name);
	return imported(path);
}

#define COUNT(i, KIND)        ((i)->table[WS_KIND_##KIND].rows)
#define SUM_NS(i, KIND, kind) ws_imported_sum((i), WS_KIND_##KIND, WS_COL_##kind##_dur_ns)

Test(import_published, bert_has_the_published_times)
{
	struct ws_imported *i = fixture("bert-small-h100.json.gz");
	int64_t first = INT64_MAX, last = 0;

	cr_assert(eq(u64, COUNT(i, KERNEL), 60));
	cr_assert(eq(i64, SUM_NS(i, KERNEL, kernel), 307197));
	cr_assert(eq(u64, COUNT(i, MEMCPY), 1));
	cr_assert(eq(i64, SUM_NS(i, MEMCPY, memcpy), 2240));
	/* first begin to last end of device work: the published total is 3,907.825 us */
	for (uint64_t row = 0; row < 60; row++) {
		int64_t start = WS_CELL(i, KERNEL, kernel, start_ns, row);
		int64_t end = start + WS_CELL(i, KERNEL, kernel, dur_ns, row);

		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	cr_assert(le(i64, llabs(last - first - 3907825), 11));
	cr_assert(eq(u64, COUNT(i, CPU_OP), 479));
	cr_assert(eq(u64, COUNT(i, PYTHON_CALL), 1385));
	cr_assert(eq(u64, COUNT(i, MEMORY), 236));
	cr_assert(eq(u64, COUNT(i, API), 132));
	cr_assert(eq(u64, COUNT(i, EXTERNAL_LINK), 61), "every kernel and the copy");
	ws_imported_free(i);
}

/* Sums over the calls of an operation. */
static uint64_t calls(const struct ws_imported *i, const char *op, uint64_t *flops)
{
	uint64_t n = 0;

	*flops = 0;
	for (uint64_t row = 0; row < COUNT(i, CPU_OP); row++) {
		uint64_t config = (uint64_t)WS_CELL(i, CPU_OP, cpu_op, config, row) - 1;

		cr_assert(
		        eq(i64, WS_CELL(i, OP_CONFIG, op_config, id, config), (int64_t)config + 1));
		if (strcmp(WS_CELL_TEXT(i, OP_CONFIG, op_config, name, config), op) != 0)
			continue;
		n++;
		*flops += (uint64_t)WS_CELL(i, OP_CONFIG, op_config, flops, config);
	}
	return n;
}

Test(import_published, bert_has_the_published_flops)
{
	struct ws_imported *i = fixture("bert-small-h100.json.gz");
	uint64_t flops;

	cr_assert(eq(u64, calls(i, "aten::addmm", &flops), 26));
	cr_assert(eq(u64, flops, 8036168946));
	cr_assert(eq(u64, calls(i, "aten::_scaled_dot_product_flash_attention", &flops), 4));
	cr_assert(eq(u64, flops, 4 * 40716288));
	ws_imported_free(i);
}

/* Nanoseconds of the kernels whose External id is that of an operation of this name. */
static int64_t linked_ns(const struct ws_imported *i, const char *op)
{
	int64_t sum = 0;

	for (uint64_t link = 0; link < COUNT(i, EXTERNAL_LINK); link++) {
		int64_t id = WS_CELL(i, EXTERNAL_LINK, external_link, external_id, link);
		int64_t correlation = WS_CELL(i, EXTERNAL_LINK, external_link, correlation, link);
		uint64_t row = 0;

		while (row < COUNT(i, CPU_OP) && WS_CELL(i, CPU_OP, cpu_op, external_id, row) != id)
			row++;
		cr_assert(lt(u64, row, COUNT(i, CPU_OP)), "link to no operation");
		if (strcmp(WS_CELL_TEXT(i, OP_CONFIG, op_config, name,
		                        (uint64_t)WS_CELL(i, CPU_OP, cpu_op, config, row) - 1),
		           op) != 0)
			continue;
		for (uint64_t k = 0; k < COUNT(i, KERNEL); k++)
			if (WS_CELL(i, KERNEL, kernel, correlation, k) == correlation)
				sum += WS_CELL(i, KERNEL, kernel, dur_ns, k);
	}
	return sum;
}

Test(import_published, links_give_bert_s_operations_their_published_kernel_time)
{
	struct ws_imported *i = fixture("bert-small-h100.json.gz");

	cr_assert(eq(i64, linked_ns(i, "aten::addmm"), 197598));
	cr_assert(eq(i64, linked_ns(i, "aten::_flash_attention_forward"), 37408));
	cr_assert(eq(i64, linked_ns(i, "aten::native_layer_norm"), 30912));
	ws_imported_free(i);
}

Test(import_published, waits_of_the_a100_traces_are_read)
{
	struct ws_imported *i = fixture("event-sync-a100.json.gz");

	cr_assert(eq(u64, COUNT(i, KERNEL), 3));
	cr_assert(eq(i64, SUM_NS(i, KERNEL, kernel), 369000));
	cr_assert(eq(u64, COUNT(i, SYNC), 5));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event, 1), 9));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event_stream, 1), 20));
	cr_assert(eq(i64, WS_CELL(i, SYNC, sync, event_correlation, 1), 32));
	ws_imported_free(i);
	i = fixture("alexnet-a100.json.gz");
	cr_assert(eq(u64, COUNT(i, KERNEL), 79));
	cr_assert(eq(i64, SUM_NS(i, KERNEL, kernel), 10728000));
	cr_assert(eq(u64, COUNT(i, SYNC), 41));
	ws_imported_free(i);
}
