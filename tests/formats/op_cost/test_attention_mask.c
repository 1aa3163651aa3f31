/* Which pairs of query and key attention needs, by its recorded inputs. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "formats/op_cost/op_cost.h"

/* Of 2 x 4 heads of 16 queries and keys, 8 wide: 2 x 16 FLOPs a pair. */
#define PAIRS(n) (2ull * 2 * 4 * (n)*16)

#define SQUARE  "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[],[],[],[],[]]"
#define MASKED  "[[2,4,16,8],[2,4,16,8],[2,4,16,8],[16,16],[],[],[],[]]"
#define BY_TIME "[[2,16,4,8],[2,16,4,8],[2,16,4,8],[],[],[],[],[]]"
#define ONE_ROW "[[2,4,1,8],[2,4,16,8],[2,4,16,8],[],[],[],[],[]]"

static const struct {
	const char *name, *dims, *inputs;
	enum ws_op_mask mask;
	uint64_t computed, needed;
} cases[] = {
        {"aten::_scaled_dot_product_flash_attention", SQUARE, "['','','','0.','True']",
         WS_MASK_CAUSAL, PAIRS(136), PAIRS(136)},
        {"aten::_scaled_dot_product_flash_attention", SQUARE, "['','','','0.','False']",
         WS_MASK_NONE, PAIRS(256), PAIRS(256)},
        {"aten::_scaled_dot_product_flash_attention", SQUARE, "", WS_MASK_NOT_KNOWN, PAIRS(256), 0},
        /* fewer queries than keys: which of them they are is the kernel's own */
        {"aten::_scaled_dot_product_flash_attention", ONE_ROW, "['','','','0.','True']",
         WS_MASK_NOT_KNOWN, PAIRS(16), 0},
        /* one that stores its scores computes them all */
        {"aten::_scaled_dot_product_attention_math", SQUARE, "['','','','','0.','True']",
         WS_MASK_CAUSAL, PAIRS(256), PAIRS(136)},
        /* what a tensor masks is not recorded */
        {"aten::scaled_dot_product_attention", MASKED, "['','','','','0.','False']",
         WS_MASK_NOT_KNOWN, PAIRS(256), 0},
        {"aten::scaled_dot_product_attention", SQUARE, "['','','','','0.','False']", WS_MASK_NONE,
         PAIRS(256), PAIRS(256)},
        /* all keys, within a window, and within one that was not recorded */
        {"flash_attn::_flash_attn_forward", BY_TIME, "['','','','0.','','True','-1','-1']",
         WS_MASK_CAUSAL, PAIRS(136), PAIRS(136)},
        {"flash_attn::_flash_attn_forward", BY_TIME, "['','','','0.','','True','4','-1']",
         WS_MASK_NOT_KNOWN, 0, 0},
        {"flash_attn::_flash_attn_forward", BY_TIME, "['','','','0.','','True','15','0']",
         WS_MASK_NOT_KNOWN, PAIRS(136), 0},
        {"flash_attn::_flash_attn_forward", BY_TIME, "['','','','0.','','True']", WS_MASK_NOT_KNOWN,
         PAIRS(136), 0},
};

static struct ws_bytes bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

Test(attention_mask, what_attention_needs_follows_from_its_inputs)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const bool masked = !strcmp(cases[i].dims, MASKED);
		const char *types = masked ? "[\"float\",\"float\",\"float\",\"bool\"]"
		                           : "[\"float\",\"float\",\"float\"]";
		struct ws_op_cost cost;
		char inputs[128];

		snprintf(inputs, sizeof(inputs), "%s", cases[i].inputs);
		for (char *c = inputs; *c; c++)
			*c = *c == '\'' ? '"' : *c; /* JSON, easier to read above */
		ws_op_cost(&(struct ws_op_desc){.name = bytes_of(cases[i].name),
		                                .dims = bytes_of(cases[i].dims),
		                                .types = bytes_of(types),
		                                .inputs = bytes_of(inputs)},
		           &cost);
		cr_expect(eq(int, (int)cost.mask, (int)cases[i].mask), "case %zu", i);
		cr_expect(eq(u64, cost.flops, cases[i].computed), "case %zu", i);
		if (cases[i].mask != WS_MASK_NOT_KNOWN)
			cr_expect(eq(u64, cost.flops_needed, cases[i].needed), "case %zu", i);
	}
}
