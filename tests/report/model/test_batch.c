/* What the names of servers' steps tell of their batches: names as they stand in published traces.
 */
#include <criterion/criterion.h>

#include "report/model/load.h"

static struct ws_batch batch_of(const char *name)
{
	struct ws_batch b;

	cr_assert(ws_batch_of_name(ws_bytes_of(name), &b), "%s", name);
	return b;
}

static void expect_part(const struct ws_batch_part *p, uint64_t requests, uint64_t queries,
                        uint64_t keys, uint64_t squares, uint64_t pairs)
{
	cr_expect_eq(p->requests, requests);
	cr_expect_eq(p->queries, queries);
	cr_expect_eq(p->keys, keys);
	cr_expect_eq(p->squares, squares);
	cr_expect_eq(p->pairs, pairs);
}

Test(batch, vllm_with_sums)
{
	struct ws_batch b = batch_of("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32("
	                             "sq32sk55086sqsq32sqsk55086)");

	expect_part(&b.context, 0, 0, 0, 0, 0);
	expect_part(&b.generation, 32, 32, 55086, 32, 55086);
	cr_expect(b.has_sums);
	cr_expect_str_eq(ws_batch_kind(&b), "decode");
	b = batch_of("execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3("
	             "sq3sk6144sqsq3sqsk6144)");
	expect_part(&b.context, 2, 6144, 7144, 20971520, 23019520);
	expect_part(&b.generation, 3, 3, 6144, 3, 6144);
	cr_expect_str_eq(ws_batch_kind(&b), "mixed");
	/* a query needs the keys up to its own */
	cr_expect_eq(ws_batch_part_causal_pairs(&b.context), 23019520 - (20971520 - 6144) / 2);
	cr_expect_eq(ws_batch_part_causal_pairs(&b.generation), 6144);
}

Test(batch, vllm_without_sums)
{
	struct ws_batch b = batch_of("execute_context_2(14721)_generation_0(0)");

	expect_part(&b.context, 2, 14721, 0, 0, 0);
	cr_expect_not(b.has_sums);
	cr_expect_str_eq(ws_batch_kind(&b), "prefill");
	b = batch_of("execute_context_1(888_788544)_generation_0(0)");
	expect_part(&b.context, 1, 888, 0, 788544, 0);
	cr_expect_not(b.has_sums);
	b = batch_of("execute_new_0_cached_16");
	cr_expect_eq(b.generation.requests, 16);
	cr_expect_str_eq(ws_batch_kind(&b), "decode");
}

Test(batch, sglang)
{
	struct ws_batch b = batch_of("step[EXTEND bs=15 toks=15360]");

	expect_part(&b.context, 15, 15360, 0, 0, 0);
	cr_expect_str_eq(ws_batch_kind(&b), "prefill");
	b = batch_of("step[DECODE bs=16]");
	expect_part(&b.generation, 16, 16, 0, 0, 0);
	cr_expect_str_eq(ws_batch_kind(&b), "decode");
	b = batch_of("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]");
	expect_part(&b.generation, 64, 128, 131072, 256, 262144);
	cr_expect(b.has_sums);
	b = batch_of("step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]");
	expect_part(&b.context, 2, 12, 20, 80, 120);
	b = batch_of("step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 "
	             "g_sqsq=1 g_sqsk=12]");
	expect_part(&b.context, 1, 5, 8, 25, 40);
	expect_part(&b.generation, 1, 1, 12, 1, 12);
	cr_expect_str_eq(ws_batch_kind(&b), "mixed");
	b = batch_of("step[MIXED bs=2]");
	cr_expect_eq(b.context.requests, 2);
	cr_expect_str_eq(ws_batch_kind(&b), "mixed");
	b = batch_of(
	        "step[MIXED bs=1 c=1 g=0 c_sq=3 c_sk=3 c_sqsq=9 c_sqsk=9 g_sq=0 g_sk=0 g_sqsq=0 "
	        "g_sqsk=0]");
	cr_expect_str_eq(ws_batch_kind(&b), "prefill");
}

Test(batch, atom)
{
	struct ws_batch b = batch_of("prefill[bs=2 tok=14721 ctx=[7803, 6918]]");

	expect_part(&b.context, 2, 14721, 0, 0, 0);
	b = batch_of("decode[bs=117/128 tok=117 d=117]");
	expect_part(&b.generation, 117, 117, 0, 0, 0);
	b = batch_of("decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=262144 sk=65536]");
	expect_part(&b.generation, 32, 128, 65536, 512, 262144);
	cr_expect(b.has_sums);
}

Test(batch, other_names_are_none)
{
	static const char *const names[] = {"",
	                                    "step",
	                                    "ProfilerStep#4",
	                                    "step[",
	                                    "step[DECODE",
	                                    "decode[",
	                                    "decode[tok=3]",
	                                    "execute_",
	                                    "execute_context_",
	                                    "execute_context_1(",
	                                    "execute_context_1(2)_generation_3(4",
	                                    "capture_32_DECODE"};
	struct ws_batch b;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect_not(ws_batch_of_name(ws_bytes_of(names[i]), &b), "%s", names[i]);
	/* absurd numbers neither wrap nor end it */
	b = batch_of("step[DECODE bs=99999999999999999999999]");
	cr_expect_eq(b.generation.requests, UINT64_MAX);
}
