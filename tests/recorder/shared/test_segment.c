/* The segment's layout: sizes by hand, and what must not be taken for a segment. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "recorder/shared/segment.h"

static const struct ws_seg_opts small = {.thread_buffers = 2, .ring_size = 4096, .defs_size = 4096};

#define SIZES(n, ring, defs) \
	(&(struct ws_seg_opts){.thread_buffers = (n), .ring_size = (ring), .defs_size = (defs)})

static struct ws_seg_header *make(const struct ws_seg_opts *opts)
{
	struct ws_seg_header *seg = aligned_alloc(4096, ws_seg_size(opts));

	cr_assert_not_null(seg);
	memset(seg, 0, ws_seg_size(opts));
	ws_seg_init(seg, opts);
	return seg;
}

Test(segment, size_is_the_sum_of_its_regions)
{
	/* header, two commit slots of a page, a page of tables, log 4096, two thread buffers of
	 * 8192 + 4096 */
	cr_expect_eq(ws_seg_size(&small), WS_SEG_HEADER_SIZE + 3 * 4096 + 4096 + 2 * (8192 + 4096));
	/* a slot is 168 bytes and 8 for each of 1024 thread buffers: three pages */
	cr_expect_eq(ws_seg_size(SIZES(1024, 4096, 4096)), WS_SEG_HEADER_SIZE + (2 * 3 + 1) * 4096 +
	                                                           4096 +
	                                                           UINT64_C(1024) * (8192 + 4096));
	/* beyond 4 GiB nothing wraps */
	cr_expect_eq(ws_seg_size(SIZES(1024, 1u << 30, 4096)),
	             WS_SEG_HEADER_SIZE + (2 * 3 + 1) * 4096 + 4096 +
	                     UINT64_C(1024) * (8192 + (UINT64_C(1) << 30)));
}

Test(segment, sizes_out_of_range_are_refused)
{
	cr_expect_eq(ws_seg_size(SIZES(0, 4096, 4096)), 0);
	cr_expect_eq(ws_seg_size(SIZES(8193, 4096, 4096)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 2048, 4096)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 4096 + 8, 4096)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 1u << 31, 4096)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 4096, 0)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 4096, 4097)), 0);
	cr_expect_eq(ws_seg_size(SIZES(1, 4096, UINT64_C(1) << 40)), 0);
}

static uint64_t with_slots(uint32_t slots, uint64_t slot_size)
{
	struct ws_seg_opts opts = small;

	opts.slots = slots;
	opts.slot_size = slot_size;
	return ws_seg_size(&opts);
}

Test(segment, slots_follow_the_thread_buffers_and_their_table_that_of_threads)
{
	/* 64 bytes of table a slot, to whole pages; the threads' table is 64 bytes of the first */
	cr_expect_eq(with_slots(1, 4096), ws_seg_size(&small) + 4096);
	cr_expect_eq(with_slots(65, 8192), ws_seg_size(&small) + 4096 + 65 * 8192);
	cr_expect_eq(with_slots(1024, WS_SEG_MAX_SLOT) >> 36, 1, "64 GiB do not wrap");
	cr_expect_eq(with_slots(1025, 4096), 0);
	cr_expect_eq(with_slots(1, 0), 0);
	cr_expect_eq(with_slots(1, 4096 + 8), 0);
	cr_expect_eq(with_slots(1, WS_SEG_MAX_SLOT + 4096), 0);
}

Test(segment, each_slot_is_given_out_once_and_comes_back_zeroed)
{
	struct ws_seg_opts opts = small;
	struct ws_seg_header *seg;
	uint8_t seen[70] = {0};

	opts.slots = 70;
	opts.slot_size = 4096;
	seg = make(&opts);
	for (int i = 0; i < 70; i++) {
		int slot = ws_slot_take(seg, 3);

		cr_assert(slot >= 0 && slot < 70 && !seen[slot]);
		seen[slot] = 1;
		cr_expect_eq(ws_seg_slot(seg, (uint32_t)slot)->image, 3);
		memset(ws_slot_bytes(seg, (uint32_t)slot), slot + 1, 4096);
	}
	cr_expect_eq(ws_slot_take(seg, 3), -1);
	ws_slot_finish(seg, 69, 4000);
	ws_slot_finish(seg, 5, 4096);
	cr_expect_eq(atomic_load(&ws_seg_slot(seg, 69)->done), 1);
	cr_expect_eq(atomic_load(&ws_seg_slot(seg, 5)->done), 2);
	cr_expect_eq(ws_slot_take(seg, 3), -1, "done is not free");
	ws_slot_return(seg, 69);
	cr_expect_eq(ws_slot_take(seg, 4), 69);
	for (int i = 0; i < 4000; i++)
		cr_assert_eq(ws_slot_bytes(seg, 69)[i], 0);
	cr_expect_eq(ws_slot_bytes(seg, 69)[4000], 70, "only what was used is touched");
	free(seg);
}

Test(segment, what_a_dead_process_had_in_hand_becomes_done_and_is_marked)
{
	struct ws_seg_opts opts = small;
	struct ws_seg_header *seg;

	opts.slots = 3;
	opts.slot_size = 4096;
	seg = make(&opts);
	ws_slot_take(seg, 1);
	ws_slot_take(seg, 1);
	ws_slot_finish(seg, 0, 100);
	ws_slots_give_up(seg);
	cr_expect_eq(ws_seg_slot(seg, 0)->unfinished, 0);
	cr_expect_eq(ws_seg_slot(seg, 0)->valid, 100);
	cr_expect_eq(ws_seg_slot(seg, 1)->unfinished, 1);
	cr_expect_eq(ws_seg_slot(seg, 1)->valid, 4096);
	cr_expect_neq(atomic_load(&ws_seg_slot(seg, 1)->done), 0);
	cr_expect_eq(atomic_load(&ws_seg_slot(seg, 2)->done), 0, "nobody had it");
	cr_expect(ws_slot_is_free(seg, 2));
	free(seg);
}

Test(segment, regions_lie_side_by_side_without_overlap)
{
	struct ws_seg_header *seg = make(&small);
	const char *base = (const char *)seg;

	cr_expect_eq((char *)ws_seg_commit_slot(seg, 0) - base, WS_SEG_HEADER_SIZE);
	cr_expect_eq((char *)ws_seg_commit_slot(seg, 1) - base, WS_SEG_HEADER_SIZE + 4096);
	cr_expect_eq((char *)ws_seg_thread_state(seg, 0) - base, WS_SEG_HEADER_SIZE + 2 * 4096);
	cr_expect_eq((char *)ws_seg_slot(seg, 0) - base, WS_SEG_HEADER_SIZE + 2 * 4096 + 64);
	cr_expect_eq((char *)ws_seg_defs(seg) - base, WS_SEG_HEADER_SIZE + 3 * 4096);
	cr_expect_eq((char *)ws_seg_thread_buffer(seg, 0) - base, WS_SEG_HEADER_SIZE + 4 * 4096);
	cr_expect_eq((char *)ws_seg_thread_buffer(seg, 1) - base,
	             WS_SEG_HEADER_SIZE + 4 * 4096 + 8192 + 4096);
	cr_expect_eq((char *)ws_thread_buffer_bytes(ws_seg_thread_buffer(seg, 1)) + 4096 - base,
	             (ptrdiff_t)seg->total_size);
	cr_expect_eq(seg->activity.count, 0);
	free(seg);
}

Test(segment, a_fresh_segment_has_no_problem_and_is_open)
{
	struct ws_seg_header *seg = make(&small);
	struct ws_seg_commit *commit;

	ws_seg_seal(seg);
	cr_expect_null(ws_seg_problem(seg, seg->total_size));
	cr_expect_eq(atomic_load(&seg->state), WS_SEG_OPEN);
	commit = calloc(1, ws_seg_commit_size(seg));
	cr_expect(!ws_seg_commit_read(seg, commit));
	free(commit);
	free(seg);
}

Test(segment, every_damaged_field_of_the_layout_is_seen)
{
	struct ws_seg_header *seg = make(&small);
	const uint64_t size = seg->total_size;

	ws_seg_seal(seg);
#define DAMAGE(field, value)                                                             \
	do {                                                                             \
		struct ws_seg_header saved = *seg;                                       \
		seg->field = (value);                                                    \
		ws_seg_seal(seg);                                                        \
		cr_expect_not_null(ws_seg_problem(seg, size), #field " is not checked"); \
		*seg = saved;                                                            \
	} while (0)
	DAMAGE(magic, 0);
	DAMAGE(version, WS_SEG_VERSION + 1);
	DAMAGE(header_size, 4096);
	DAMAGE(total_size, size + 8);
	DAMAGE(commit_offset, 0);
	DAMAGE(commit_stride, 8);
	DAMAGE(defs_offset, size);
	DAMAGE(defs_size, UINT64_MAX);
	DAMAGE(thread_buffers_offset, size);
	DAMAGE(thread_buffer_stride, 0);
	DAMAGE(thread_buffer_count, 3);
	DAMAGE(thread_buffer_count, UINT32_MAX);
	DAMAGE(ring_size, 8192);
	DAMAGE(ring_size, 3);
	DAMAGE(activity.count, 1);
	DAMAGE(activity.offset, 0);
	DAMAGE(slots_offset, 0);
	DAMAGE(threads_offset, 0);
#undef DAMAGE
	cr_expect_null(ws_seg_problem(seg, size), "the fields were put back");
	cr_expect_null(ws_seg_problem(seg, size - 1), "it was cut short");
	cr_expect_not_null(ws_seg_problem(seg, size + 1));
	cr_expect_not_null(ws_seg_problem(seg, 100));
	free(seg);
}

Test(segment, only_a_sealed_header_is_believed_and_its_spare_copy_is_the_same)
{
	struct ws_seg_header *seg = make(&small);
	const struct ws_seg_header *spare =
	        (const struct ws_seg_header *)(const void *)((const char *)seg + WS_SEG_SPARE);
	const uint64_t size = seg->total_size;

	cr_expect_not_null(ws_seg_problem(seg, size));
	seg->plan.output[7] = 'x';
	ws_seg_seal(seg);
	cr_expect_null(ws_seg_problem(seg, size));
	cr_expect_null(ws_seg_problem(spare, size));
	for (size_t at = 0; at < offsetof(struct ws_seg_header, fixed_check) + 8; at++) {
		((uint8_t *)seg)[at] ^= 0x10;
		cr_assert_not_null(ws_seg_problem(seg, size), "byte %zu", at);
		((uint8_t *)seg)[at] ^= 0x10;
	}
	cr_expect_null(ws_seg_problem(seg, size));
	free(seg);
}

/* A launcher that dies over a commit, or a program that writes there, leaves the one before. */
Test(segment, of_two_commits_the_last_whole_one_counts)
{
	struct ws_seg_header *seg = make(&small);
	const uint64_t size = ws_seg_commit_size(seg);
	struct ws_seg_commit *commit = calloc(1, size), *read = calloc(1, size);

	for (uint64_t n = 1; n <= 5; n++) {
		commit->number = n;
		commit->file_size = 1000 + n;
		commit->tails[1] = n;
		ws_seg_commit_write(seg, commit);
		cr_assert(ws_seg_commit_read(seg, read));
		cr_expect_arr_eq(commit, read, size);
	}
	for (uint64_t at = 0; at < size; at++) {
		uint8_t *slot = (uint8_t *)ws_seg_commit_slot(seg, 5 % 2);

		slot[at] ^= 0x40;
		cr_assert(ws_seg_commit_read(seg, read));
		cr_assert_eq(read->number, 4, "byte %lu", (unsigned long)at);
		slot[at] ^= 0x40;
	}
	memset(ws_seg_commit_slot(seg, 0), 0xFF, size);
	cr_assert(ws_seg_commit_read(seg, read));
	cr_expect_eq(read->file_size, 1005);
	memset(ws_seg_commit_slot(seg, 1), 0xFF, size);
	cr_expect(!ws_seg_commit_read(seg, read));
	free(commit);
	free(read);
	free(seg);
}

Test(segment, counting_a_loss_touches_that_cause_alone)
{
	struct ws_seg_header *seg = make(&small);

	ws_seg_count(seg, WS_DROPPED_text_truncated, 3);
	ws_seg_count(seg, WS_DROPPED_text_truncated, 4);
	for (int i = 0; i < WS_DROPPED_COUNT; i++)
		cr_expect_eq(atomic_load(&seg->lost[i]), i == WS_DROPPED_text_truncated ? 7 : 0);
	free(seg);
}
