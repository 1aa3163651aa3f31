#include "tests/support/paths.h"
#include "tests/support/recorder/in_process.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "recorder/shared/segment_file.h"
#include "tests/environment/scratch.h"

struct ws_seg_header *collect_seg;
struct ws_drain *collect_drain;
struct ws_seg_window collect_window;

static struct ws_segment_file file;
static struct ws_trace_writer *writer;

void collect_start(uint32_t thread_buffers, uint32_t ring_size, uint64_t defs_size)
{
	const struct ws_seg_opts opts = {.thread_buffers = thread_buffers,
	                                 .ring_size = ring_size,
	                                 .defs_size = defs_size};
	char beside[PATH_MAX];
	struct ws_err err;

	snprintf(beside, sizeof(beside), "%s/", scratch_memory());
	cr_assert_eq(ws_segment_file_create_beside(&file, beside, &opts, &err), WS_OK, "%s",
	             err.text);
	setenv(WSN_ENV_INJECTION, WS_TEST_COLLECTOR, 1);
	setenv(WS_SEG_ENV, file.path, 1);
	cr_assert_eq(ws_trace_writer_create_mem(&writer, &(struct ws_trace_writer_opts){0}, &err),
	             WS_OK, "%s", err.text);
	collect_seg = file.seg;
	collect_seg->plan.window = collect_window;
	cr_assert_eq(ws_segment_file_seal(&file, &err), WS_OK, "%s", err.text);
	collect_drain = ws_drain_new(collect_seg, writer);
}

void collect_stop(void)
{
	ws_drain_free(collect_drain);
	ws_trace_writer_free(writer);
	ws_segment_file_remove(&file);
}

struct probe collect_finish(void)
{
	struct probe p;
	struct ws_err err;

	ws_drain_last_pass(collect_drain);
	ws_drain_statistics(collect_drain);
	ws_drain_commit(collect_drain);
	cr_assert_eq(ws_drain_error(collect_drain, &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_trace_writer_close(writer, &err), WS_OK, "%s", err.text);
	probe_open_mem(&p, ws_trace_writer_mem(writer));
	return p;
}

uint64_t collect_lost(enum ws_dropped cause)
{
	return ws_drain_lost(collect_drain, cause);
}

void collect_expect_no_loss(void)
{
	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		cr_expect_eq(collect_lost((enum ws_dropped)i), 0, "%s",
		             ws_dropped_name((enum ws_dropped)i));
}

struct wsn_event collect_attr(const char *message)
{
	return (struct wsn_event){
	        .version = WSN_VERSION,
	        .size = sizeof(struct wsn_event),
	        .message_type = WSN_MESSAGE_ASCII,
	        .message.ascii = message,
	};
}
