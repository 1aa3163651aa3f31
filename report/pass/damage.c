/* What is wrong with a block whose rows cannot be joined, said when one was found. */
#include <inttypes.h>

#include "formats/codec/block.h"
#include "report/pass/private.h"

/* Of a row: in a block of two kinds that of the row. */
static enum ws_kind kind_of(const struct ws_block_rows *b, uint32_t i)
{
	if (b->info.kind != WS_KIND_THREAD_EVENT)
		return (enum ws_kind)b->info.kind;
	return ws_block_value(b, WS_COL_thread_event_type, i) == WS_THREAD_EVENT_API ? WS_KIND_API
	                                                                             : WS_KIND_NVTX;
}

/* Its number among those of its kind in the file. */
static uint64_t row_in_file(const struct ws_pass *p, const struct ws_block_rows *b, uint32_t block,
                            uint32_t i)
{
	const enum ws_kind kind = kind_of(b, i);
	uint64_t row = 0;

	for (uint32_t before = 0; before < block; before++) {
		const struct ws_block_info *info = ws_trace_reader_block(p->l.r, before);

		row += info->kind == kind ? info->rows : 0;
	}
	for (uint32_t before = 0; before < i; before++)
		row += kind_of(b, before) == kind;
	return row;
}

enum ws_status ws_pass_refuse_time(const struct ws_pass *p, const struct ws_block_rows *b,
                                   uint32_t block, uint32_t i, int64_t dur_ns, struct ws_err *err)
{
	static const char *const what[WS_KIND_END] = {[WS_KIND_KERNEL] = "kernel",
	                                              [WS_KIND_API] = "API call",
	                                              [WS_KIND_NVTX] = "NVTX event"};
	const struct ws_block_info *info = &b->info;
	const int64_t *times = (const int64_t *)b->v[ws_schema_kind(info->kind)->time_column];
	const char *name = what[kind_of(b, i)];
	const uint64_t row = row_in_file(p, b, block, i);
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	char label[WS_BLOCK_LABEL_BYTES];

	if (!times) /* nobody asked for them */
		return WS_FAIL(err, CORRUPT,
		               "time of %s %" PRIu64 " is out of bounds: it takes %" PRId64 " ns",
		               name, row, dur_ns);
	if (times[i] >= info->time_min_ns)
		return ws_check_time(times[i], dur_ns, name, row, err);
	for (uint32_t k = 0; k < info->rows; k++) {
		least = times[k] < least ? times[k] : least;
		greatest = times[k] > greatest ? times[k] : greatest;
	}
	return WS_FAIL(err, CORRUPT,
	               "%s: its header says times %" PRId64 " to %" PRId64
	               " ns, its rows have %" PRId64 " to %" PRId64,
	               ws_block_label(label, info->kind, info->offset), info->time_min_ns,
	               info->time_max_ns, least, greatest);
}

enum ws_status ws_pass_refuse_calls(const struct ws_block_rows *b, uint32_t ncalls,
                                    struct ws_err *err)
{
	char label[WS_BLOCK_LABEL_BYTES];

	return WS_FAIL(err, CORRUPT, "%s: %" PRIu32 " rows are api rows, its header says %" PRIu32,
	               ws_block_label(label, b->info.kind, b->info.offset), ncalls,
	               b->info.api_rows);
}
