/*
 * The collector library inside this process: every NVTX function, and what is kept of it.
 * Criterion runs each test in a process of its own, so each attaches anew.
 */
#include <criterion/criterion.h>
#include <unistd.h>

#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/recorder/in_process.h"

static void start(void)
{
	collect_start(4, 1 << 20, 1 << 20);
	cr_assert(nvtx_attach());
}

TestSuite(collector, .init = start, .fini = collect_stop, .timeout = 600);

/* --- every function --- */

Test(collector, every_function_of_the_interface_is_served)
{
#define X(name, id, ret, params) cr_expect_not_null((void *)(intptr_t)nvtx.name, #name);
#define M(list, module)          list(X)
	WSN_MODULE_LIST(M)
	WSN_EXT_LIST(M)
#undef M
#undef X
	cr_expect_eq(atomic_load(&collect_seg->modules), 1);
	cr_expect(nvtx_attach(), "a second module");
	cr_expect_eq(atomic_load(&collect_seg->modules), 2);
	cr_expect_eq(atomic_load(&collect_seg->images), 1);
	cr_expect_eq(atomic_load(&collect_seg->owner.pid), (uint32_t)getpid());
}

Test(collector, ranges_and_marks_of_the_default_domain)
{
	struct wsn_event a = collect_attr("push ex"), b = collect_attr("start ex"),
	                 c = collect_attr("mark ex");
	struct probe p;
	wsn_range_id one, two, three;

	cr_expect_eq(nvtx.RangePushA("push"), 0);
	cr_expect_eq(nvtx.RangePushW(L"püsh ☃ \x1F40D"), 1);
	cr_expect_eq(nvtx.RangePushEx(&a), 2);
	cr_expect_eq(nvtx.RangePop(), 2);
	cr_expect_eq(nvtx.RangePop(), 1);
	cr_expect_eq(nvtx.RangePop(), 0);
	one = nvtx.RangeStartA("start");
	two = nvtx.RangeStartW(L"stärt");
	three = nvtx.RangeStartEx(&b);
	cr_expect(one && two && three && one != two && two != three && one != three);
	nvtx.RangeEnd(one);
	nvtx.RangeEnd(two);
	nvtx.RangeEnd(three);
	nvtx.MarkA("mark");
	nvtx.MarkW(L"märk");
	nvtx.MarkEx(&c);
	p = collect_finish();

	cr_assert_eq(ROWS(&p, nvtx), 15);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "push"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "püsh ☃ \U0001F40D"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_PUSH, "push ex"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_START, "start"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_START, "stärt"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_START, "start ex"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "mark"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "märk"), 1);
	cr_expect_eq(probe_count(&p, WS_NVTX_MARK, "mark ex"), 1);
	for (uint64_t i = 0; i + 1 < 15; i++)
		cr_expect_leq((int64_t)CELL(&p, nvtx, time_ns, i),
		              (int64_t)CELL(&p, nvtx, time_ns, i + 1));
	/* starts are rows 6 to 8, their ends 9 to 11 */
	for (uint64_t i = 6; i < 9; i++)
		cr_expect_eq(CELL(&p, nvtx, range, i), CELL(&p, nvtx, range, i + 3));
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector, attributes_domains_and_registered_strings)
{
	wsn_domain d = nvtx.DomainCreateA("one"), w = nvtx.DomainCreateW(L"zwö");
	wsn_string s = nvtx.DomainRegisterStringA(d, "registered");
	wsn_string ws = nvtx.DomainRegisterStringW(d, L"régistré");
	struct wsn_event a = collect_attr(NULL);
	struct probe p;
	wsn_range_id id;

	cr_expect(d && w && s && ws && d != w && s != ws);
	cr_expect_eq(nvtx.DomainCreateA("one"), d, "a domain is its name");
	cr_expect_eq(nvtx.DomainRegisterStringA(d, "registered"), s, "a string is its text");
	nvtx.DomainDestroy(d);
	cr_expect(nvtx.DomainIsEnabled(d) && nvtx.DomainIsEnabled(NULL));

	a.message_type = WSN_MESSAGE_REGISTERED;
	a.message.registered = s;
	a.category = 12;
	a.color_type = WSN_COLOR_ARGB;
	a.color = 0xFF102030;
	cr_expect_eq(nvtx.DomainRangePushEx(d, &a), 0);
	cr_expect_eq(nvtx.DomainRangePushEx(w, &a), 0, "levels are counted by domain");
	cr_expect_eq(nvtx.DomainRangePop(w), 0);
	cr_expect_eq(nvtx.DomainRangePop(d), 0);
	a.message.registered = ws;
	a.color_type = WSN_COLOR_UNKNOWN;
	id = nvtx.DomainRangeStartEx(w, &a);
	nvtx.DomainRangeEnd(w, id);
	a.message_type = WSN_MESSAGE_UNICODE;
	a.message.unicode = L"wide";
	nvtx.DomainMarkEx(w, &a);
	nvtx.DomainMarkEx(w, NULL);
	nvtx.Initialize(NULL);
	p = collect_finish();

	cr_assert_eq(ROWS(&p, nvtx), 8);
	cr_expect_str_eq(TEXT(&p, nvtx, name, 0), "registered");
	cr_expect_str_eq(TEXT(&p, nvtx, domain, 0), "one");
	cr_expect_eq(CELL(&p, nvtx, category, 0), 12);
	cr_expect_eq(CELL(&p, nvtx, color, 0), 0xFF102030);
	cr_expect_str_eq(TEXT(&p, nvtx, domain, 1), "zwö");
	cr_expect_str_eq(TEXT(&p, nvtx, domain, 2), "zwö");
	cr_expect_str_eq(TEXT(&p, nvtx, name, 4), "régistré");
	cr_expect_eq(CELL(&p, nvtx, color, 4), 0);
	cr_expect_str_eq(TEXT(&p, nvtx, name, 6), "wide");
	cr_expect_str_eq(TEXT(&p, nvtx, name, 7), "");
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector, names_of_categories_and_threads)
{
	struct wsn_resource_attr r = {
	        .version = WSN_VERSION,
	        .size = sizeof(r),
	        .identifier_type = WSN_RESOURCE_GENERIC_THREAD_NATIVE,
	        .identifier.ull = (uint64_t)getpid(),
	        .message_type = WSN_MESSAGE_ASCII,
	        .message.ascii = "by resource",
	};
	wsn_domain d = nvtx.DomainCreateA("dom");
	struct probe p;

	nvtx.NameCategoryA(1, "cat");
	nvtx.NameCategoryW(2, L"kät");
	nvtx.DomainNameCategoryA(d, 1, "dom cat");
	nvtx.DomainNameCategoryW(d, 2, L"döm cat");
	nvtx.NameCategoryA(1, "cat");
	nvtx.MarkA("first event of the thread");
	nvtx.NameOsThreadA((uint32_t)getpid(), "main thread");
	nvtx.NameOsThreadW((uint32_t)getpid(), L"mäin");
	cr_expect_not_null(nvtx.DomainResourceCreate(d, &r));
	nvtx.DomainResourceDestroy(NULL);
	nvtx.NameOsThreadA((uint32_t)getpid(), "main thread");
	p = collect_finish();

	cr_assert_eq(ROWS(&p, category), 4);
	cr_expect_str_eq(TEXT(&p, category, name, 0), "cat");
	cr_expect_str_eq(TEXT(&p, category, domain, 0), "");
	cr_expect_str_eq(TEXT(&p, category, name, 1), "kät");
	cr_expect_str_eq(TEXT(&p, category, name, 2), "dom cat");
	cr_expect_str_eq(TEXT(&p, category, domain, 2), "dom");
	cr_expect_eq(CELL(&p, category, id, 3), 2);
	cr_assert_eq(ROWS(&p, thread), 5);
	cr_expect_str_eq(TEXT(&p, thread, name, 1), "main thread");
	cr_expect_str_eq(TEXT(&p, thread, name, 2), "mäin");
	cr_expect_str_eq(TEXT(&p, thread, name, 3), "by resource");
	cr_expect_str_eq(TEXT(&p, thread, name, 4), "main thread", "the last name wins again");
	for (uint64_t i = 0; i < 5; i++)
		cr_expect_eq(CELL(&p, thread, tid, i), (uint64_t)getpid());
	cr_assert_eq(ROWS(&p, process), 1);
	cr_expect_eq(CELL(&p, process, pid, 0), (uint64_t)getpid());
	cr_expect(strstr(TEXT(&p, process, program, 0), "test_recorder_collect") != NULL);
	probe_close(&p);
}

/* --- payloads --- */

Test(collector, plain_numbers_are_payloads_of_their_predefined_type)
{
	static const struct {
		int32_t type;
		uint64_t schema, size;
	} cases[] = {
	        {WSN_PAYLOAD_UINT64, 18, 8}, {WSN_PAYLOAD_INT64, 17, 8},
	        {WSN_PAYLOAD_DOUBLE, 20, 8}, {WSN_PAYLOAD_UINT32, 16, 4},
	        {WSN_PAYLOAD_INT32, 15, 4},  {WSN_PAYLOAD_FLOAT, 19, 4},
	};
	struct probe p;

	for (size_t i = 0; i < 6; i++) {
		struct wsn_event a = collect_attr("number");

		a.payload_type = cases[i].type;
		a.payload.ull = UINT64_C(0x4048f5c34048f5c3);
		nvtx.MarkEx(&a);
	}
	p = collect_finish();
	cr_assert_eq(ROWS(&p, payload), 6);
	for (uint64_t i = 0; i < 6; i++) {
		uint64_t bits = UINT64_C(0x4048f5c34048f5c3);

		cr_expect_eq(CELL(&p, payload, schema, i), cases[i].schema);
		cr_assert_eq(BYTES(&p, payload, bytes, i).len, cases[i].size);
		cr_expect_eq(memcmp(BYTES(&p, payload, bytes, i).ptr, &bits, cases[i].size), 0);
		cr_expect_eq(CELL(&p, nvtx, payload, i), i + 1);
	}
	collect_expect_no_loss();
	probe_close(&p);
}

struct sample {
	uint64_t flops;
	uint8_t op;
	uint32_t layer;
	const char *label;
	wsn_string reg;
	char inside[6];
};

/* A schema as a program would write it: offsets left to natural alignment, an own id. */
static uint64_t register_sample(wsn_domain d, uint64_t id)
{
	static const struct wsn_enum_entry ops[] = {{"gemm", 1, 0}, {"conv", 2, 0}};
	const struct wsn_enum_attr e = {
	        .field_mask = WSN_ENUM_FIELD_NAME | WSN_ENUM_FIELD_ENTRIES |
	                      WSN_ENUM_FIELD_NUM_ENTRIES | WSN_ENUM_FIELD_SIZE |
	                      WSN_ENUM_FIELD_SCHEMA_ID,
	        .name = "op",
	        .entries = ops,
	        .num_entries = 2,
	        .size_of_enum = 1,
	        .schema_id = WSN_SCHEMA_ID_STATIC_START + 1,
	};
	const struct wsn_schema_entry entries[] = {
	        {.type = WSN_ENTRY_UINT64, .name = "flops"},
	        {.type = WSN_SCHEMA_ID_STATIC_START + 1, .name = "op"},
	        {.type = WSN_ENTRY_UINT32, .name = "layer"},
	        {.type = WSN_ENTRY_CSTRING, .name = "label"},
	        {.type = WSN_ENTRY_REGISTERED_STRING, .name = "reg"},
	        {.type = WSN_ENTRY_CSTRING, .name = "inside", .array_or_union_detail = 6},
	};
	const struct wsn_schema_attr s = {
	        .field_mask = WSN_SCHEMA_FIELD_NAME | WSN_SCHEMA_FIELD_TYPE |
	                      WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES |
	                      (id ? WSN_SCHEMA_FIELD_SCHEMA_ID : 0),
	        .name = "sample",
	        .type = WSN_SCHEMA_STATIC,
	        .entries = entries,
	        .num_entries = 6,
	        .schema_id = id,
	};

	cr_expect_eq(nvtx.PayloadEnumRegister(d, &e), WSN_SCHEMA_ID_STATIC_START + 1);
	return nvtx.PayloadSchemaRegister(d, &s);
}

static struct wsn_event with_payload(const char *message, const struct wsn_payload_data *data,
                                     int n)
{
	struct wsn_event a = collect_attr(message);

	a.payload_type = WSN_PAYLOAD_EXT;
	a.reserved0 = n;
	a.payload.ull = (uint64_t)(uintptr_t)data;
	return a;
}

Test(collector, a_schema_is_stored_with_all_offsets_worked_out)
{
	wsn_domain d = nvtx.DomainCreateA("dom");
	const uint64_t mine = WSN_SCHEMA_ID_STATIC_START + 2;
	uint64_t in_trace = mine + ((uint64_t)1 << 40); /* domain 1 */
	struct probe p;

	cr_expect_eq(register_sample(d, mine), mine);
	p = collect_finish();
	cr_assert_eq(ROWS(&p, payload_schema), 1);
	cr_expect_eq(CELL(&p, payload_schema, id, 0), in_trace);
	cr_expect_str_eq(TEXT(&p, payload_schema, name, 0), "sample");
	cr_expect_str_eq(TEXT(&p, payload_schema, domain, 0), "dom");
	cr_expect_eq(CELL(&p, payload_schema, size_bytes, 0), sizeof(struct sample));
	cr_assert_eq(ROWS(&p, payload_field), 6);
	for (uint64_t i = 0; i < 6; i++) {
		static const size_t offsets[] = {offsetof(struct sample, flops),
		                                 offsetof(struct sample, op),
		                                 offsetof(struct sample, layer),
		                                 offsetof(struct sample, label),
		                                 offsetof(struct sample, reg),
		                                 offsetof(struct sample, inside)};

		cr_expect_eq(CELL(&p, payload_field, schema, i), in_trace);
		cr_expect_eq(CELL(&p, payload_field, index, i), i);
		cr_expect_eq(CELL(&p, payload_field, offset_bytes, i), offsets[i], "field %d",
		             (int)i);
	}
	cr_expect_eq(CELL(&p, payload_field, type, 1),
	             WSN_SCHEMA_ID_STATIC_START + 1 + ((uint64_t)1 << 40));
	cr_assert_eq(ROWS(&p, payload_enum), 2);
	cr_expect_eq(CELL(&p, payload_enum, id, 0),
	             WSN_SCHEMA_ID_STATIC_START + 1 + ((uint64_t)1 << 40));
	cr_expect_str_eq(TEXT(&p, payload_enum, name, 1), "op");
	cr_expect_str_eq(TEXT(&p, payload_enum, entry, 1), "conv");
	cr_expect_eq(CELL(&p, payload_enum, value, 1), 2);
	cr_expect_eq(CELL(&p, payload_enum, size_bytes, 1), 1);
	probe_close(&p);
}

Test(collector, texts_that_a_payload_points_to_follow_it_and_the_pointers_become_offsets)
{
	wsn_domain d = nvtx.DomainCreateA("dom");
	uint64_t schema = register_sample(d, 0);
	struct sample value = {7, 1, 3, NULL, NULL, "abc"}, kept;
	const struct wsn_payload_data data = {schema, sizeof(value), &value};
	char label[] = "a label that dies";
	const char *bytes;
	struct wsn_event a = with_payload("op", &data, 1);
	struct probe p;

	cr_expect_geq(schema, WSN_SCHEMA_ID_DYNAMIC_START);
	cr_expect_eq(register_sample(d, 0), schema, "the same schema keeps its id");
	value.label = label;
	value.reg = nvtx.DomainRegisterStringA(d, "registered");
	nvtx.DomainRangePushEx(d, &a);
	memset(label, 'x', sizeof(label) - 1);
	value.label = NULL;
	nvtx.DomainRangePushEx(d, &a);
	p = collect_finish();

	cr_assert_eq(ROWS(&p, payload), 2);
	cr_expect_eq(CELL(&p, payload, schema, 0), schema);
	/* 40 bytes of struct, the label in 24, the registered string in 16 */
	cr_assert_eq(sizeof(value), 40);
	cr_assert_eq(BYTES(&p, payload, bytes, 0).len, 40 + 24 + 16);
	bytes = BYTES(&p, payload, bytes, 0).ptr;
	memcpy(&kept, bytes, sizeof(kept));
	cr_expect_eq(kept.flops, 7);
	cr_expect_eq(kept.layer, 3);
	cr_expect_str_eq(kept.inside, "abc");
	cr_expect_eq((uintptr_t)kept.label, 40);
	cr_expect_str_eq(bytes + 40, "a label that dies");
	cr_expect_eq((uintptr_t)kept.reg, 64);
	cr_expect_str_eq(bytes + 64, "registered");

	cr_assert_eq(BYTES(&p, payload, bytes, 1).len, 40 + 16);
	memcpy(&kept, BYTES(&p, payload, bytes, 1).ptr, sizeof(kept));
	cr_expect_eq((uintptr_t)kept.label, 0);
	cr_expect_eq((uintptr_t)kept.reg, 40);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector, payload_functions_make_events_without_a_message)
{
	wsn_domain d = nvtx.DomainCreateA("dom");
	const int32_t number = -5;
	const struct wsn_payload_data data = {WSN_ENTRY_INT32, SIZE_MAX, &number};
	wsn_range_id id;
	struct probe p;

	nvtx.MarkPayload(d, &data, 1);
	cr_expect_eq(nvtx.RangePushPayload(d, &data, 1), 0);
	cr_expect_eq(nvtx.RangePopPayload(d, &data, 1), 0);
	id = nvtx.RangeStartPayload(d, &data, 1);
	nvtx.RangeEndPayload(d, id, &data, 1);
	p = collect_finish();
	cr_assert_eq(ROWS(&p, nvtx), 5);
	cr_assert_eq(ROWS(&p, payload), 1);
	cr_expect_eq(BYTES(&p, payload, bytes, 0).len, 4, "the size follows from the type");
	for (uint64_t i = 0; i < 5; i++) {
		static const unsigned types[] = {WS_NVTX_MARK, WS_NVTX_PUSH, WS_NVTX_POP,
		                                 WS_NVTX_START, WS_NVTX_END};

		cr_expect_eq(CELL(&p, nvtx, type, i), types[i]);
		cr_expect_eq(CELL(&p, nvtx, payload, i), 1);
	}
	collect_expect_no_loss();
	probe_close(&p);
}

/* One id of a program's choice for a schema of a single number. */
static void register_number(wsn_domain d, uint64_t type)
{
	const struct wsn_schema_entry entry = {.type = type, .name = "number"};
	const struct wsn_schema_attr s = {
	        .field_mask = WSN_SCHEMA_FIELD_TYPE | WSN_SCHEMA_FIELD_ENTRIES |
	                      WSN_SCHEMA_FIELD_NUM_ENTRIES | WSN_SCHEMA_FIELD_SCHEMA_ID,
	        .type = WSN_SCHEMA_STATIC,
	        .entries = &entry,
	        .num_entries = 1,
	        .schema_id = WSN_SCHEMA_ID_STATIC_START + 9,
	};

	cr_expect_eq(nvtx.PayloadSchemaRegister(d, &s), WSN_SCHEMA_ID_STATIC_START + 9);
}

Test(collector, a_schema_registered_anew_with_another_layout_is_another_schema_from_then_on)
{
	static const uint64_t types[] = {WSN_ENTRY_INT32, WSN_ENTRY_DOUBLE, WSN_ENTRY_INT32};
	wsn_domain d = nvtx.DomainCreateA("dom");
	const double number = 1.5;
	const struct wsn_payload_data data = {WSN_SCHEMA_ID_STATIC_START + 9, SIZE_MAX, &number};
	uint64_t seen[3];
	struct probe p;

	for (int i = 0; i < 3; i++) {
		register_number(d, types[i]);
		register_number(d, types[i]); /* once more the same is nothing new */
		nvtx.MarkPayload(d, &data, 1);
	}
	p = collect_finish();
	cr_assert_eq(ROWS(&p, payload_schema), 2, "the third is the first again");
	cr_expect_neq(CELL(&p, payload_schema, id, 0), CELL(&p, payload_schema, id, 1));
	cr_assert_eq(ROWS(&p, nvtx), 3);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t payload = CELL(&p, nvtx, payload, i) - 1;

		seen[i] = CELL(&p, payload, schema, payload);
		cr_expect_eq(BYTES(&p, payload, bytes, payload).len, i == 1 ? 8 : 4);
	}
	cr_expect_eq(seen[0], CELL(&p, payload_schema, id, 0));
	cr_expect_eq(seen[1], CELL(&p, payload_schema, id, 1));
	cr_expect_eq(seen[2], seen[0]);
	cr_expect_eq(CELL(&p, payload_field, type, 1), WSN_ENTRY_DOUBLE);
	collect_expect_no_loss();
	probe_close(&p);
}

Test(collector, payloads_that_cannot_be_kept_are_counted)
{
	static char big[70000];
	const uint64_t number = 1;
	struct wsn_payload_data two[] = {{WSN_ENTRY_UINT64, 8, &number},
	                                 {WSN_ENTRY_UINT64, 8, &number}};
	struct wsn_payload_data too_big = {WSN_ENTRY_BYTE, sizeof(big), big};
	struct wsn_payload_data unknown = {WSN_SCHEMA_ID_STATIC_START + 77, SIZE_MAX, &number};
	struct wsn_payload_data null = {WSN_ENTRY_UINT64, 8, NULL};
	struct wsn_event a = with_payload("two", two, 2);
	struct probe p;

	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 1, "the second of two");
	a = with_payload("too big", &too_big, 1);
	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 2);
	a = with_payload("no size", &unknown, 1);
	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 3);
	a = with_payload("no bytes", &null, 1);
	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 4);
	a.payload_type = 12345;
	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 5);
	nvtx.EventSubmit(NULL, two, 1);
	nvtx.EventBatchSubmit(NULL, two);
	cr_expect_eq(collect_lost(WS_DROPPED_deferred_event), 2);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 5, "the events themselves are there");
	cr_expect_eq(ROWS(&p, payload), 1);
	probe_close(&p);
}

Test(collector, data_behind_other_pointers_is_not_followed_but_counted)
{
	const struct wsn_schema_entry entries[] = {
	        {.type = WSN_ENTRY_UINT64, .name = "n"},
	        {.type = WSN_ENTRY_INT32,
	         .name = "p",
	         .flags = WSN_ENTRY_FLAG_POINTER | WSN_ENTRY_FLAG_ARRAY_LENGTH_INDEX},
	};
	const struct wsn_schema_attr s = {
	        .field_mask = WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES,
	        .entries = entries,
	        .num_entries = 2,
	};
	const struct {
		uint64_t n;
		const void *p;
	} value = {3, (const void *)16}; /* following it would crash */
	const struct wsn_payload_data data = {nvtx.PayloadSchemaRegister(NULL, &s), sizeof(value),
	                                      &value};
	struct wsn_event a = with_payload("array", &data, 1);
	struct probe p;

	nvtx.MarkEx(&a);
	cr_expect_eq(collect_lost(WS_DROPPED_payload_truncated), 1);
	p = collect_finish();
	cr_assert_eq(ROWS(&p, payload), 1);
	cr_expect_eq(memcmp(BYTES(&p, payload, bytes, 0).ptr, &value, sizeof(value)), 0);
	probe_close(&p);
}

Test(collector, a_nested_schema_has_its_texts_followed_too)
{
	const struct wsn_schema_entry inner[] = {{.type = WSN_ENTRY_CSTRING_UTF16, .name = "w"}};
	struct wsn_schema_attr s = {
	        .field_mask = WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES,
	        .entries = inner,
	        .num_entries = 1,
	};
	struct wsn_schema_entry outer[] = {{.type = WSN_ENTRY_UINT8, .name = "n"},
	                                   {.type = 0, .name = "inner"}};
	static const uint16_t snake[] = {'s', 0xD83D, 0xDC0D, 0}; /* a surrogate pair */
	struct {
		uint8_t n;
		const uint16_t *w;
	} value = {1, snake};
	struct wsn_payload_data data = {0, SIZE_MAX, &value};
	struct wsn_event a;
	uint64_t where;
	struct probe p;

	outer[1].type = nvtx.PayloadSchemaRegister(NULL, &s);
	s.entries = outer;
	s.num_entries = 2;
	data.schema_id = nvtx.PayloadSchemaRegister(NULL, &s);
	a = with_payload("nested", &data, 1);
	nvtx.MarkEx(&a);
	p = collect_finish();
	cr_assert_eq(BYTES(&p, payload, bytes, 0).len, 16 + 8);
	memcpy(&where, (const char *)BYTES(&p, payload, bytes, 0).ptr + 8, 8);
	cr_expect_eq(where, 16);
	cr_expect_str_eq((const char *)BYTES(&p, payload, bytes, 0).ptr + 16, "s\U0001F40D");
	collect_expect_no_loss();
	probe_close(&p);
}

/* --- the domain of the CPU backend --- */

Test(collector, a_push_and_pop_in_the_cpu_domain_is_one_kernel_and_no_range)
{
	wsn_domain d = nvtx.DomainCreateA(WSNVTX_CPU_DOMAIN);
	struct wsn_event a = collect_attr("ws_softmax_fwd");
	struct probe p;

	cr_expect_eq(nvtx.DomainRangePushEx(d, &a), 0);
	a.message.ascii = "inner";
	cr_expect_eq(nvtx.DomainRangePushEx(d, &a), 1);
	cr_expect_eq(nvtx.DomainRangePop(d), 1);
	cr_expect_eq(nvtx.DomainRangePop(d), 0);
	cr_expect_eq(nvtx.DomainRangePop(d), -1);
	p = collect_finish();
	cr_expect_eq(ROWS(&p, nvtx), 0);
	cr_assert_eq(ROWS(&p, kernel), 2);
	cr_expect_str_eq(TEXT(&p, launch_config, name, 0), "inner", "it ended first");
	cr_expect_str_eq(TEXT(&p, launch_config, name, 1), "ws_softmax_fwd");
	cr_expect_leq(CELL(&p, kernel, start_ns, 1), CELL(&p, kernel, start_ns, 0));
	cr_expect_eq(collect_lost(WS_DROPPED_unmatched_pop), 1);
	probe_close(&p);
}
