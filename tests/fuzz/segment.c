#include "tests/fuzz/segment.h"

#include <stdlib.h>

#include "recorder/shared/record.h"
#include "recorder/shared/segment.h"
#include "tests/support/recorder/cupti_sizes.h"

#define RING      4096u
#define DEFS      8192u
#define SLOT      4096u
#define MAX_BODY  256u
#define MAX_TEXT  64u
#define NDEFTYPES 14 /* one more than there are */

static const struct ws_seg_opts opts = {
        .thread_buffers = 2, .ring_size = RING, .defs_size = DEFS, .slots = 2, .slot_size = SLOT};

struct ws_seg_header *fuzz_segment(size_t *size)
{
	static struct ws_seg_header *seg;

	*size = ws_seg_size(&opts);
	if (!seg)
		seg = aligned_alloc(4096, *size);
	if (!seg)
		abort();
	memset(seg, 0, *size);
	ws_seg_init(seg, &opts);
	seg->boot = 1; /* another one: now is real time, like FUZZ_SEG_BASE */
	seg->base_ns = FUZZ_SEG_BASE;
	seg->base_realtime_ns = FUZZ_SEG_BASE;
	atomic_store(&seg->owner.pid, 100);
	put_cupti_sizes(&seg->gpu, 1);
	return seg;
}

static int64_t take_time(struct fuzz_input *in)
{
	uint64_t n = fuzz_take_number(in);

	/* mostly after the trace's time 0 */
	return (int64_t)(n < UINT64_C(1) << 40 ? n + (uint64_t)FUZZ_SEG_BASE : n);
}

static void put_definition(struct ws_seg_header *seg, struct fuzz_input *in)
{
	uint64_t pos = atomic_load(&seg->defs_head);
	unsigned type = fuzz_take(in) % NDEFTYPES;
	struct ws_def_head head = {.type = (uint16_t)type, .id = fuzz_take_number(in)};
	const uint8_t *body;
	size_t len;

	body = fuzz_take_bytes(in, fuzz_take(in) % MAX_BODY, &len);
	head.body_size = (uint32_t)len;
	head.size = (uint32_t)sizeof(head) + WS_ALIGN8(head.body_size);
	if (type == WS_DEF_STRING && head.id % 4)
		head.id = pos / 8 + 1;
	if (pos + head.size > DEFS)
		return;
	memcpy(ws_seg_defs(seg) + pos, &head, sizeof(head));
	memcpy(ws_seg_defs(seg) + pos + sizeof(head), body, len);
	atomic_store(&seg->defs_head, pos + head.size);
}

static void put_in_ring(struct ws_seg_header *seg, unsigned which, const void *rec, uint32_t size)
{
	struct ws_thread_buffer *b = ws_seg_thread_buffer(seg, which % opts.thread_buffers);
	uint64_t pos = ws_ring_claim(&b->ring, RING, RING, size, 0);

	b->thread = which / 2 % 4;
	if (pos != UINT64_MAX)
		ws_ring_publish(&b->ring,
		                ws_ring_put(ws_thread_buffer_bytes(b), RING, pos, rec, size));
}

static void put_event(struct ws_seg_header *seg, struct fuzz_input *in)
{
	unsigned which = fuzz_take(in);
	struct ws_rec_event rec = {
	        .head = {.type = (uint16_t)(fuzz_take(in) % 8), .time_ns = take_time(in)},
	        .domain = fuzz_take(in) % 4,
	        .string = (uint32_t)fuzz_take_number(in),
	        .range = fuzz_take_number(in),
	        .schema = fuzz_take_number(in),
	};
	uint8_t bytes[sizeof(rec) + 2 * (MAX_TEXT + MAX_BODY)] = {0};
	const uint8_t *text, *payload;
	size_t ntext, npayload;

	text = fuzz_take_bytes(in, fuzz_take(in) % MAX_TEXT, &ntext);
	payload = fuzz_take_bytes(in, fuzz_take(in) % MAX_BODY, &npayload);
	rec.text_size = (uint32_t)ntext;
	rec.payload_size = (uint32_t)npayload;
	rec.head.size = (uint32_t)(sizeof(rec) + WS_ALIGN8(ntext) + WS_ALIGN8(npayload));
	memcpy(bytes, &rec, sizeof(rec));
	memcpy(bytes + sizeof(rec), text, ntext);
	memcpy(bytes + sizeof(rec) + WS_ALIGN8(ntext), payload, npayload);
	put_in_ring(seg, which, bytes, rec.head.size);
}

static void put_raw(struct ws_seg_header *seg, struct fuzz_input *in)
{
	unsigned where = fuzz_take(in), slot;
	uint64_t pos = atomic_load(&seg->defs_head);
	const uint8_t *bytes;
	size_t len;
	int taken;

	bytes = fuzz_take_bytes(in, fuzz_take_number(in) % 1024, &len);
	if (where % 4 < 2) {
		put_in_ring(seg, where, bytes, (uint32_t)len);
	} else if (where % 4 == 2 && pos + len <= DEFS) {
		memcpy(ws_seg_defs(seg) + pos, bytes, len);
		atomic_store(&seg->defs_head, pos + len);
	} else if (where % 4 == 3 && (taken = ws_slot_take(seg, 1)) >= 0) {
		slot = (unsigned)taken;
		memcpy(ws_slot_bytes(seg, slot), bytes, len);
		if (where & 4)
			ws_slot_finish(seg, slot, len);
	}
}

static void put_header(struct ws_seg_header *seg, struct fuzz_input *in, int has_fixed)
{
	const size_t begin = has_fixed ? 0 : WS_SEG_FIXED_SIZE;
	size_t at = fuzz_take(in), len;
	const uint8_t *bytes;

	/* mostly where the layout lies */
	at = begin + (at < 192 ? at : at << 8 | fuzz_take(in)) * 8 % (sizeof(*seg) - begin);
	bytes = fuzz_take_bytes(in, 1 + fuzz_take(in) % 8, &len);
	memcpy((uint8_t *)seg + at, bytes, len);
}

enum fuzz_step fuzz_segment_step(struct ws_seg_header *seg, struct fuzz_input *in, int has_fixed)
{
	enum fuzz_step step = (enum fuzz_step)(fuzz_take(in) % FUZZ_STEPS);
	struct ws_rec_pop pop = {.head = {.size = sizeof(pop), .type = WS_REC_POP}};
	unsigned which;

	switch (step) {
	case FUZZ_STEP_DEFINITION:
		put_definition(seg, in);
		break;
	case FUZZ_STEP_RECORD:
		put_event(seg, in);
		break;
	case FUZZ_STEP_POP:
		which = fuzz_take(in);
		pop.head.time_ns = take_time(in);
		pop.domain = fuzz_take(in) % 4;
		put_in_ring(seg, which, &pop, sizeof(pop));
		break;
	case FUZZ_STEP_RAW:
		put_raw(seg, in);
		break;
	case FUZZ_STEP_HEADER:
		put_header(seg, in, has_fixed);
		break;
	default:
		break;
	}
	return step;
}
