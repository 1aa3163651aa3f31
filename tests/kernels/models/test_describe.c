/* --describe: the numbers of the models' definitions, as text. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/exec/exec.h"
#include "kernels/run/step.h"
#include "tests/support/precision_named.h"

static struct ws_step_options options_of(const char *model, const char *dtype)
{
	return (struct ws_step_options){
	        .model = ws_network_find(model),
	        .precision = precision_named(dtype),
	        .phase = WS_STEP_FULL,
	        .batch = 4,
	        .context = 128,
	        .optimizer = WS_ADAMW_DEFAULT,
	};
}

/* The caller frees. */
static char *described(const char *model)
{
	struct ws_step_options options = options_of(model, "fp32");
	struct ws_err err = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	cr_assert_eq(ws_describe(&options, f, &err), WS_OK, "%s", err.text);
	fclose(f);
	return text;
}

static void expect(const char *text, const char *part)
{
	cr_expect_not_null(strstr(text, part), "no '%s' in:\n%.600s", part, text);
}

Test(describe, totals_are_those_of_the_definition)
{
	char *text = described("transformer-small");

	expect(text, "transformer-small, fp32, fusion none, step, batch 4, context 128, attention "
	             "eager\n");
	expect(text, "parameters              128625408 in 111 tensors\n");
	expect(text, " 126244356096 "); /* matmul FLOPs of the forward phase */
	expect(text, " 252488712192 "); /* of the backward phase: twice that */
	expect(text, "parameters                514501632\n"); /* bytes */
	expect(text, "optimizer_state          1029003264\n");
	expect(text, "  lm_head                          fp32[10000x768]\n");
	expect(text, "layer 11/scaled dot product attention/computing softmax/exp  "
	             "ws_elementwise_exp_fwd_f32  fp32[4x12x128x128] -> fp32[4x12x128x128]  "
	             "786432 FLOPs\n");
	free(text);
}

/* Places have holes between them, so it is more than what is alive at once. */
Test(describe, tells_the_bytes_without_which_a_step_is_refused)
{
	struct ws_step_options options = options_of("transformer-tiny", "fp32");
	char *text = described("transformer-tiny"), needs[64];
	struct ws_memory_plan plan;
	struct ws_step *step;
	struct ws_err err = {0};

	cr_assert_eq(ws_step_build(&options, &step, &err), WS_OK, "%s", err.text);
	plan = ws_memory_plan(step->graph);
	ws_step_close(step);
	cr_assert_gt(plan.block_bytes, plan.peak_bytes);
	snprintf(needs, sizeof(needs), "block %29" PRIu64 "  all in their places",
	         plan.block_bytes);
	expect(text, needs);
	free(text);
}

Test(describe, of_an_image_model)
{
	char *text = described("resnet50");

	expect(text, "resnet50, fp32, fusion none, step, batch 4\n");
	expect(text, "parameters               25557032 in ");
	expect(text, " 32713474048 "); /* forward: 4 images × 2 × 4,089,184,256 multiply-adds */
	expect(text, "  conv1.weight                     fp32[64x3x7x7]\n");
	free(text);
}

Test(describe, fails_as_the_step_would)
{
	struct ws_step_options options = options_of("transformer-tiny", "fp32");
	struct ws_err err;

	options.context = 0;
	cr_expect_eq(ws_describe(&options, stderr, &err), WS_USAGE);
}
