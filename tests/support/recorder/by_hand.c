#include "tests/support/drain_has_all.h"
#include "tests/support/recorder/by_hand.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernels/nvtx/abi.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/trace_sample.h"

struct ws_seg_header *seg;
struct ws_trace_writer *writer;
struct ws_drain *drain;

/* --- the producer, by hand --- */

uint64_t put_def(enum ws_def_type type, uint64_t id, const void *body, uint32_t size)
{
	uint64_t pos = atomic_load(&seg->defs_head);
	struct ws_def_head head = {
	        .size = (uint32_t)sizeof(head) + WS_ALIGN8(size),
	        .type = (uint16_t)type,
	        .body_size = size,
	        .id = type == WS_DEF_STRING ? pos / 8 + 1 : id,
	};

	cr_assert_leq(pos + head.size, seg->defs_size);
	memcpy(ws_seg_defs(seg) + pos, &head, sizeof(head));
	memcpy(ws_seg_defs(seg) + pos + sizeof(head), body, size);
	atomic_store(&seg->defs_head, pos + head.size);
	return head.id;
}

void put_thread(enum ws_def_type type, uint64_t id, uint64_t tid, const char *name)
{
	uint8_t body[64];
	struct ws_def_thread fixed = {100, tid};

	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), name, strlen(name));
	put_def(type, id, body, (uint32_t)(sizeof(fixed) + strlen(name)));
}

void put_bytes(uint32_t thread_buffer, const void *rec, uint32_t size)
{
	struct ws_thread_buffer *l = ws_seg_thread_buffer(seg, thread_buffer);
	uint64_t pos = ws_ring_claim(&l->ring, RING, RING, size, 0);

	cr_assert_neq(pos, UINT64_MAX, "the ring of the test is full");
	ws_ring_publish(&l->ring, ws_ring_put(ws_thread_buffer_bytes(l), RING, pos, rec, size));
}

void put_event(uint32_t thread_buffer, struct ws_rec_event rec, const char *text,
               const void *payload)
{
	uint8_t bytes[2048] = {0};
	uint32_t text_size = text ? (uint32_t)strlen(text) : 0;

	rec.text_size = text_size;
	rec.head.size = (uint32_t)sizeof(rec) + WS_ALIGN8(text_size) + WS_ALIGN8(rec.payload_size);
	memcpy(bytes, &rec, sizeof(rec));
	if (text)
		memcpy(bytes + sizeof(rec), text, text_size);
	if (payload)
		memcpy(bytes + sizeof(rec) + WS_ALIGN8(text_size), payload, rec.payload_size);
	put_bytes(thread_buffer, bytes, rec.head.size);
}

void put_pop(uint32_t thread_buffer, int64_t at)
{
	struct ws_rec_pop pop = {{sizeof(pop), WS_REC_POP, 0, BASE + at}, 0, 0};

	put_bytes(thread_buffer, &pop, sizeof(pop));
}

uint64_t put_launch_schema(void)
{
	uint8_t body[128];
	struct ws_def_schema fixed = {
	        .type = WSN_SCHEMA_STATIC,
	        .size_bytes = sizeof(struct wsnvtx_launch),
	        .name = {sizeof(fixed), 16},
	};

	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), "warpsheet.launch", 16);
	return put_def(WS_DEF_SCHEMA, WSN_SCHEMA_ID_DYNAMIC_START + 9, body, sizeof(fixed) + 16);
}

/* --- set-up --- */

static void make_segment(void)
{
	const struct ws_seg_opts opts = {.thread_buffers = 2,
	                                 .ring_size = RING,
	                                 .defs_size = 65536,
	                                 .slots = SLOTS,
	                                 .slot_size = SLOT_SIZE};

	seg = aligned_alloc(4096, ws_seg_size(&opts));
	cr_assert_not_null(seg);
	memset(seg, 0, ws_seg_size(&opts));
	ws_seg_init(seg, &opts);
	seg->boot = 1; /* another one, so that what is read now is no later than BASE */
	seg->base_ns = BASE;
	seg->base_realtime_ns = BASE;
	put_thread(WS_DEF_THREAD, 1, 1001, "main");
	ws_seg_thread_buffer(seg, 0)->thread = 1;
	ws_seg_thread_buffer(seg, 1)->thread = 1;
	atomic_store(ws_seg_thread_state(seg, 0), WS_THREAD_BUFFER_OWNED);
}

void by_hand_start(const char *path)
{
	const struct ws_trace_writer_opts opts = {.base_ns = BASE};
	enum ws_status status;
	struct ws_err err;

	make_segment();
	status = path ? trace_file_create(&writer, path, &opts, &err)
	              : ws_trace_writer_create_mem(&writer, &opts, &err);
	cr_assert_eq(status, WS_OK, "%s", err.text);
	drain = ws_drain_new(seg, writer);
}

struct probe by_hand_finish(void)
{
	struct probe p;
	struct ws_err err;

	ws_drain_pass(drain);
	cr_expect(drain_has_all(drain));
	ws_drain_commit(drain);
	cr_expect_eq(ws_drain_error(drain, &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_trace_writer_close(writer, &err), WS_OK, "%s", err.text);
	probe_open_mem(&p, ws_trace_writer_mem(writer));
	return p;
}

void by_hand_stop(void)
{
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	free(seg);
}
