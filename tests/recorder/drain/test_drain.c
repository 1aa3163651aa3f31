/*
 * The drain over a segment filled by hand: what becomes of each record and
 * definition, and what it makes of hostile memory.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/drain_has_all.h"
#include "kernels/nvtx/abi.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/recorder/by_hand.h"

static void start(void)
{
	by_hand_start(NULL);
}

TestSuite(drain, .init = start, .fini = by_hand_stop, .timeout = 600);

/* --- records --- */

Test(drain, each_kind_of_event_becomes_one_row_with_its_time_type_and_text)
{
	struct probe p;

	put_event(0, EVENT(WS_REC_PUSH, 10, .category = 7, .color = 0xff00ff00), "outer", NULL);
	put_event(0, EVENT(WS_REC_MARK, 20), "here", NULL);
	put_pop(0, 30);
	put_event(0, EVENT(WS_REC_START, 40, .range = 5), "span", NULL);
	put_event(0, EVENT(WS_REC_END, 50, .range = 5), NULL, NULL);
	p = by_hand_finish();

	cr_assert_eq(ROWS(&p, nvtx), 5);
	for (uint64_t i = 0; i < 5; i++) {
		static const unsigned types[] = {WS_NVTX_PUSH, WS_NVTX_MARK, WS_NVTX_POP,
		                                 WS_NVTX_START, WS_NVTX_END};
		static const char *const names[] = {"outer", "here", "", "span", ""};

		cr_expect_eq(CELL(&p, nvtx, type, i), types[i]);
		cr_expect_eq(CELL(&p, nvtx, time_ns, i), 10 * (i + 1));
		cr_expect_eq(CELL(&p, nvtx, thread, i), 1);
		cr_expect_str_eq(TEXT(&p, nvtx, name, i), names[i]);
		cr_expect_eq(CELL(&p, nvtx, range, i), i >= 3 ? 5 : 0);
	}
	cr_expect_eq(CELL(&p, nvtx, category, 0), 7);
	cr_expect_eq(CELL(&p, nvtx, color, 0), 0xff00ff00);
	cr_expect_eq(ws_drain_counts(drain).ranges, 2);
	cr_expect_eq(ws_drain_counts(drain).marks, 1);
	probe_close(&p);
}

Test(drain, registered_strings_and_domains_are_looked_up)
{
	uint32_t string = (uint32_t)put_def(WS_DEF_STRING, 0, "registered", 10);
	struct probe p;

	put_def(WS_DEF_DOMAIN, 3, "cuBLAS", 6);
	put_event(0, EVENT(WS_REC_MARK, 1, .domain = 3, .string = string), NULL, NULL);
	p = by_hand_finish();
	cr_expect_str_eq(TEXT(&p, nvtx, domain, 0), "cuBLAS");
	cr_expect_str_eq(TEXT(&p, nvtx, name, 0), "registered");
	probe_close(&p);
}

Test(drain, payloads_are_kept_byte_by_byte_under_their_schema_and_equal_ones_once)
{
	const uint64_t value = 42;
	struct probe p;

	for (int i = 0; i < 2; i++)
		put_event(0, EVENT(WS_REC_MARK, i, .schema = WSN_ENTRY_UINT64, .payload_size = 8),
		          "m", &value);
	put_event(0, EVENT(WS_REC_MARK, 3, .schema = WSN_ENTRY_INT64, .payload_size = 8), "m",
	          &value);
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, payload), 2);
	cr_expect_eq(CELL(&p, payload, schema, 0), WSN_ENTRY_UINT64);
	cr_expect_eq(CELL(&p, payload, schema, 1), WSN_ENTRY_INT64);
	cr_assert_eq(BYTES(&p, payload, bytes, 0).len, 8);
	cr_expect_eq(memcmp(BYTES(&p, payload, bytes, 0).ptr, &value, 8), 0);
	cr_expect_eq(CELL(&p, nvtx, payload, 0), CELL(&p, nvtx, payload, 1));
	cr_expect_neq(CELL(&p, nvtx, payload, 0), CELL(&p, nvtx, payload, 2));
	probe_close(&p);
}

Test(drain, a_cpu_kernel_becomes_a_launch_and_a_kernel_with_its_configuration)
{
	const struct wsnvtx_launch launch = {4, 3, 2, 8, 1, 1};
	uint64_t schema = put_launch_schema();
	struct probe p;

	for (int i = 0; i < 2; i++)
		put_event(0,
		          EVENT(WS_REC_CPU_KERNEL, 100 + i * 50,
		                .range = (uint64_t)(BASE + 130 + i * 50), .schema = schema,
		                .payload_size = sizeof(launch)),
		          "ws_gemm_matmul_fwd_fp32", &launch);
	p = by_hand_finish();

	cr_assert_eq(ROWS(&p, kernel), 2);
	cr_assert_eq(ROWS(&p, api), 2);
	cr_assert_eq(ROWS(&p, launch_config), 1, "equal launches share their description");
	cr_assert_eq(ROWS(&p, device), 1);
	for (uint64_t i = 0; i < 2; i++) {
		cr_expect_eq(CELL(&p, kernel, start_ns, i), 100 + i * 50);
		cr_expect_eq(CELL(&p, kernel, dur_ns, i), 30);
		cr_expect_eq(CELL(&p, kernel, correlation, i), i + 1);
		cr_expect_eq(CELL(&p, kernel, payload, i), 0, "it is all in the configuration");
		cr_expect_eq(CELL(&p, api, start_ns, i), 100 + i * 50);
		cr_expect_eq(CELL(&p, api, dur_ns, i), 30);
		cr_expect_eq(CELL(&p, api, correlation, i), i + 1);
		cr_expect_eq(CELL(&p, api, thread, i), 1);
		cr_expect_str_eq(TEXT(&p, api, name, i), "ws_cpu_launch");
	}
	cr_expect_str_eq(TEXT(&p, launch_config, name, 0), "ws_gemm_matmul_fwd_fp32");
	cr_expect_eq(CELL(&p, launch_config, pid, 0), 100);
	cr_expect_eq(CELL(&p, launch_config, grid_x, 0), 4);
	cr_expect_eq(CELL(&p, launch_config, grid_y, 0), 3);
	cr_expect_eq(CELL(&p, launch_config, grid_z, 0), 2);
	cr_expect_eq(CELL(&p, launch_config, block_x, 0), 8);
	cr_expect_eq(CELL(&p, device, kind, 0), WS_DEVICE_CPU_REFERENCE);
	cr_expect_str_eq(TEXT(&p, device, name, 0), "CPU reference");
	cr_expect_eq(ws_drain_counts(drain).kernels, 2);
	probe_close(&p);
}

/* Memory that somebody overwrote: no sum of times may be made of it. */
Test(drain, what_ends_before_it_starts_or_lies_ages_away_is_counted_and_no_row)
{
	static const int64_t absurd[] = {INT64_MIN, INT64_MAX, 0, INT64_MAX - BASE};
	const struct ws_def_process process = {.pid = 9, .image = 1, .start_ns = INT64_MIN};
	struct probe p;

	put_event(0, EVENT(WS_REC_CPU_KERNEL, 100, .range = (uint64_t)(BASE + 90)), "k", NULL);
	put_event(0, EVENT(WS_REC_CPU_KERNEL, 100, .range = INT64_MAX), "k", NULL);
	for (size_t i = 0; i < 4; i++) {
		struct ws_rec_event mark = EVENT(WS_REC_MARK, 0);

		mark.head.time_ns = absurd[i];
		put_event(0, mark, "m", NULL);
	}
	put_event(0, EVENT(WS_REC_MARK, 7), "m", NULL);
	put_def(WS_DEF_PROCESS, 0, &process, sizeof(process));
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, kernel), 0);
	cr_expect_eq(ROWS(&p, process), 0);
	cr_assert_eq(ROWS(&p, nvtx), 1);
	cr_expect_eq(CELL(&p, nvtx, time_ns, 0), 7);
	cr_expect_eq(ws_drain_lost(drain, WS_DROPPED_unknown_record), 7);
	probe_close(&p);
}

Test(drain, records_that_wrap_around_the_ring_are_read_whole)
{
	char text[200];
	struct probe p;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	for (int i = 0; i < 500; i++) {
		memcpy(text,
		       (char[4]){(char)('0' + i / 100), (char)('0' + i / 10 % 10),
		                 (char)('0' + i % 10), '-'},
		       4);
		put_event(0, EVENT(WS_REC_MARK, i), text, NULL);
		ws_drain_pass(drain);
		ws_drain_commit(drain);
	}
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, nvtx), 500);
	for (uint64_t i = 0; i < 500; i++) {
		const char *name = TEXT(&p, nvtx, name, i);

		cr_expect_eq(strlen(name), sizeof(text) - 1);
		cr_expect_eq(strtoul(name, NULL, 10), i);
	}
	probe_close(&p);
}

/* --- definitions --- */

Test(drain, a_process_image_becomes_a_row)
{
	uint8_t body[64];
	struct ws_def_process fixed = {100, 2, BASE + 5};
	struct probe p;

	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), "/bin/prog", 9);
	put_def(WS_DEF_PROCESS, 2, body, sizeof(fixed) + 9);
	p = by_hand_finish();
	cr_expect_eq(CELL(&p, process, pid, 0), 100);
	cr_expect_eq(CELL(&p, process, image, 0), 2);
	cr_expect_eq(CELL(&p, process, start_ns, 0), 5);
	cr_expect_str_eq(TEXT(&p, process, program, 0), "/bin/prog");
	probe_close(&p);
}

Test(drain, a_thread_named_later_gets_a_later_row_and_one_named_before_starts_with_the_name)
{
	struct probe p;

	put_thread(WS_DEF_THREAD_NAME, 0, 1001, "renamed");
	put_thread(WS_DEF_THREAD_NAME, 0, 1002, "first try");
	put_thread(WS_DEF_THREAD_NAME, 0, 1002, "loader");
	put_thread(WS_DEF_THREAD, 2, 1002, "comm");
	put_thread(WS_DEF_THREAD, 3, 1002, "again"); /* the system used the number again */
	put_thread(WS_DEF_THREAD_NAME, 0, 1002, "newest");
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, thread), 5);
	cr_expect_str_eq(TEXT(&p, thread, name, 0), "main");
	cr_expect_str_eq(TEXT(&p, thread, name, 1), "renamed");
	cr_expect_eq(CELL(&p, thread, id, 1), 1);
	cr_expect_str_eq(TEXT(&p, thread, name, 2), "loader");
	cr_expect_eq(CELL(&p, thread, id, 2), 2);
	cr_expect_eq(CELL(&p, thread, tid, 2), 1002);
	cr_expect_str_eq(TEXT(&p, thread, name, 3), "again");
	cr_expect_str_eq(TEXT(&p, thread, name, 4), "newest");
	cr_expect_eq(CELL(&p, thread, id, 4), 3);
	probe_close(&p);
}

Test(drain, a_category_keeps_its_domain)
{
	uint8_t body[32];
	struct ws_def_category fixed = {1, 17};
	struct probe p;

	put_def(WS_DEF_DOMAIN, 1, "dom", 3);
	memcpy(body, &fixed, sizeof(fixed));
	memcpy(body + sizeof(fixed), "io", 2);
	put_def(WS_DEF_CATEGORY, 1, body, sizeof(fixed) + 2);
	p = by_hand_finish();
	cr_expect_str_eq(TEXT(&p, category, domain, 0), "dom");
	cr_expect_eq(CELL(&p, category, id, 0), 17);
	cr_expect_str_eq(TEXT(&p, category, name, 0), "io");
	probe_close(&p);
}

/* --- hostile memory --- */

static uint64_t unknown(void)
{
	return ws_drain_lost(drain, WS_DROPPED_unknown_record);
}

Test(drain, records_that_name_what_does_not_exist_are_counted_and_left_out)
{
	struct probe p;

	put_def(WS_DEF_STRING, 0, "a string", 8);
	put_event(0, EVENT(99, 1), "type", NULL);
	put_event(0, EVENT(WS_REC_MARK, 1, .domain = 5), "domain", NULL);
	put_event(0, EVENT(WS_REC_MARK, 1, .domain = UINT32_MAX), "domain", NULL);
	put_event(0, EVENT(WS_REC_MARK, 1, .string = 1), NULL, NULL);
	put_event(0, EVENT(WS_REC_MARK, 1, .string = 2), NULL, NULL);
	put_event(0, EVENT(WS_REC_MARK, 1, .string = UINT32_MAX), NULL, NULL);
	ws_seg_thread_buffer(seg, 1)->thread = 7;
	put_event(1, EVENT(WS_REC_MARK, 1), "thread", NULL);
	put_event(0, EVENT(WS_REC_MARK, 1), "good", NULL);
	p = by_hand_finish();
	cr_expect_eq(unknown(), 7);
	cr_assert_eq(ROWS(&p, nvtx), 1);
	cr_expect_str_eq(TEXT(&p, nvtx, name, 0), "good");
	probe_close(&p);
}

Test(drain, a_record_whose_parts_do_not_fit_its_size_is_left_out)
{
	struct ws_rec_event rec = EVENT(WS_REC_MARK, 1);
	struct probe p;

	rec.head.size = sizeof(rec);
	rec.text_size = 1;
	put_bytes(0, &rec, sizeof(rec));
	rec.text_size = 0;
	rec.payload_size = UINT32_MAX;
	put_bytes(0, &rec, sizeof(rec));
	rec.payload_size = 0;
	rec.text_size = UINT32_MAX - 6;
	put_bytes(0, &rec, sizeof(rec));
	put_event(0, EVENT(WS_REC_MARK, 1), "good", NULL);
	p = by_hand_finish();
	cr_expect_eq(unknown(), 3);
	cr_expect_eq(ROWS(&p, nvtx), 1);
	probe_close(&p);
}

Test(drain, a_ring_with_a_wrong_size_is_given_up_to_its_head_and_goes_on_behind)
{
	static const uint32_t sizes[] = {0, 8, 23, 4000, UINT32_MAX, RING};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct ws_rec_event rec = EVENT(WS_REC_MARK, 1);

		rec.head.size = sizes[i];
		put_bytes(0, &rec, sizeof(rec));
		put_event(0, EVENT(WS_REC_MARK, 1), "lost with it", NULL);
		ws_drain_pass(drain);
		cr_expect_eq(unknown(), i + 1, "size %u", sizes[i]);
		cr_expect(drain_has_all(drain));
	}
	put_event(0, EVENT(WS_REC_MARK, 1), "good", NULL);
	cr_expect_eq(ws_drain_pass(drain), 1);
	cr_expect_eq(ws_drain_counts(drain).marks, 1);
}

Test(drain, positions_written_over_by_the_program_end_the_pass_all_the_same)
{
	struct ws_ring *ring = &ws_seg_thread_buffer(seg, 0)->ring;

	put_event(0, EVENT(WS_REC_MARK, 1), "m", NULL);
	ws_drain_pass(drain);
	atomic_store(&ring->head, 8); /* backwards */
	ws_drain_pass(drain);
	cr_expect(drain_has_all(drain));
	atomic_store(&ring->head, UINT64_MAX - 7); /* more than it can hold */
	ws_drain_pass(drain);
	cr_expect(drain_has_all(drain));
	atomic_store(&seg->defs_head, UINT64_MAX);
	ws_drain_pass(drain);
	cr_expect(drain_has_all(drain));
	cr_expect_geq(unknown(), 3);
}

Test(drain, definitions_that_make_no_sense_are_counted)
{
	struct ws_def_schema schema = {.nfields = 1000, .name = {8, UINT32_MAX}};
	struct ws_def_enum many = {.nentries = UINT32_MAX};
	struct probe p;

	put_def(WS_DEF_PROCESS, 1, "short", 5);
	put_def(WS_DEF_THREAD, 0, &(struct ws_def_thread){1, 1}, sizeof(struct ws_def_thread));
	put_def(WS_DEF_THREAD, UINT64_MAX, &(struct ws_def_thread){1, 1},
	        sizeof(struct ws_def_thread));
	put_def(WS_DEF_CATEGORY, 1, &(struct ws_def_category){9, 9},
	        sizeof(struct ws_def_category));
	put_def(WS_DEF_SCHEMA, 1, &schema, sizeof(schema));
	put_def(WS_DEF_ENUM, 1, &many, sizeof(many));
	put_def(77, 1, "what", 4);
	p = by_hand_finish();
	cr_expect_eq(unknown(), 7);
	cr_expect_eq(ROWS(&p, thread), 1);
	probe_close(&p);
}

Test(drain, a_definition_with_a_wrong_size_ends_the_log)
{
	uint64_t pos = atomic_load(&seg->defs_head);
	uint32_t size = UINT32_MAX;

	put_def(WS_DEF_DOMAIN, 1, "dom", 3);
	put_def(WS_DEF_DOMAIN, 2, "behind", 6);
	memcpy(ws_seg_defs(seg) + pos, &size, sizeof(size));
	ws_drain_pass(drain);
	cr_expect_eq(unknown(), 1);
	cr_expect(drain_has_all(drain));
}
