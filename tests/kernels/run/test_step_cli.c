#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "kernels/models/model.h"
#include "tests/support/paths.h"

struct outcome {
	int code;
	char text[8192]; /* what the redirections in the arguments leave on stdout */
};

/* Run warpsheet-step with these arguments through the shell. */
static struct outcome run(const char *arguments)
{
	struct outcome outcome = {0};
	char command[4096];
	FILE *pipe;
	size_t used;
	int status;

	snprintf(command, sizeof(command), "'%s' %s", WS_STEP_PROGRAM, arguments);
	pipe = popen(command, "r");
	cr_assert_not_null(pipe);
	used = fread(outcome.text, 1, sizeof(outcome.text) - 1, pipe);
	outcome.text[used] = '\0';
	status = pclose(pipe);
	cr_assert(WIFEXITED(status));
	outcome.code = WEXITSTATUS(status);
	return outcome;
}

static void expect_error(const char *arguments, int code, const char *says)
{
	char redirected[512];
	struct outcome o;

	snprintf(redirected, sizeof(redirected), "%s 2>&1 >/dev/null", arguments);
	o = run(redirected);
	cr_assert_eq(o.code, code, "%s: exit code %d: %s", arguments, o.code, o.text);
	cr_assert_not_null(strstr(o.text, says), "%s: %s", arguments, o.text);
}

#define TINY "--model transformer-tiny --context 8 --batch 1 --warmup 1 --steps 2 "

Test(step_cli, losses_go_to_stdout_as_csv_and_words_to_stderr)
{
	struct outcome out = run(TINY "--dump-loss 2>/dev/null");
	struct outcome words = run(TINY "2>&1 >/dev/null");
	struct outcome quiet = run(TINY "2>/dev/null");
	double first, second, third;
	int n = 0;

	cr_assert_eq(out.code, 0);
	cr_assert_eq(sscanf(out.text, "Step,Warm-up,Loss\n1,1,%lf\n1,0,%lf\n2,0,%lf\n%n", &first,
	                    &second, &third, &n),
	             3, "%s", out.text);
	cr_assert_eq(out.text[n], '\0');
	cr_assert_str_eq(quiet.text, "");
	cr_assert_not_null(strstr(words.text, "device cpu"), "%s", words.text);
}

Test(step_cli, automatic_choice_of_the_cpu_gives_its_reason)
{
	struct outcome o = run(TINY "--device auto 2>&1");

	cr_assert_eq(o.code, 0);
	cr_assert_not_null(strstr(o.text, "device c"), "%s", o.text);
	cr_assert(strstr(o.text, "built without the CUDA toolkit") ||
	                  strstr(o.text, "no NVIDIA driver") || strstr(o.text, "sees no GPU") ||
	                  strstr(o.text, "a GPU answers"),
	          "%s", o.text);
}

Test(step_cli, a_gpu_that_is_asked_for_and_absent_is_exit_5_with_the_cure)
{
	struct outcome o = run(TINY "--device cuda 2>&1");

	if (!o.code)
		return; /* there is one: tests/gpu/ */
	cr_assert_eq(o.code, 5, "%s", o.text);
	cr_assert_not_null(strstr(o.text, "--device cuda: "), "%s", o.text);
	cr_assert_not_null(strstr(o.text, "use --device cpu"), "%s", o.text);
}

Test(step_cli, wrong_command_lines_exit_2_and_say_what_is_wrong)
{
	expect_error("", 2, "--model is needed");
	expect_error("--model resnet9", 2, "transformer-small");
	expect_error(TINY "--dtype fp17", 2, "amp-bf16");
	expect_error(TINY "--phase sideways", 2, "forward-backward");
	expect_error(TINY "--batch 0", 2,
	             "--batch needs a whole number from 1 to 2147483647, not '0'");
	expect_error(TINY "--batch 4x", 2, "not '4x'");
	expect_error(TINY "--steps 99999999999999999999", 2, "--steps");
	expect_error(TINY "--context", 2, "--context needs a value");
	expect_error(TINY "--frobnicate", 2, "unknown option --frobnicate");
	expect_error("--modle lenet5", 2, "unknown option --modle (did you mean --model?)");
	expect_error(TINY "stray", 2, "unexpected argument stray");
	expect_error(TINY "--device tpu", 2, "auto, cuda or cpu, not 'tpu'");
	expect_error(TINY "--phase forward --dump-loss", 2, "no loss");
	expect_error(TINY "--optimizer rmsprop", 2, "adamw-cs336, adamw, adam or sgd");
	expect_error(TINY "--momentum 0.9", 2,
	             "--momentum does not apply to --optimizer adamw-cs336");
	expect_error(TINY "--optimizer sgd --epsilon 0.1", 2,
	             "--epsilon does not apply to --optimizer sgd");
	expect_error(TINY "--phase forward --lr 0.1", 2, "no optimizer");
	expect_error(TINY "--lr fast", 2, "--lr needs a number from 0 to 1000000, not 'fast'");
	expect_error(TINY "--lr nan", 2, "not 'nan'");
	expect_error(TINY "--lr -1", 2, "not '-1'");
	expect_error(TINY "--dtype amp-fp16 --loss-scale 256", 2, "static:N");
	expect_error(TINY "--dtype amp-fp16 --loss-scale static:0", 2, "N above 0");
	expect_error(TINY "--dtype amp-fp16 --loss-scale static:1e39", 2, "not 'static:1e39'");
	expect_error(TINY "--dtype amp-fp16 --phase forward --loss-scale none", 2, "no loss");
	expect_error(TINY "--describe --print-dtypes", 2, "one at a time");
	expect_error(TINY "--batch 2000000000 --context 2000000000", 2, "too large");
}

Test(step_cli, options_of_gpus_are_refused_for_the_cpu)
{
	expect_error(TINY "--device cpu --autotune", 2, "does not apply to --device cpu");
	expect_error(TINY "--device cpu --cuda-graph", 2, "does not apply to --device cpu");
	expect_error(TINY "--device cpu --gpu 1", 2, "does not apply to --device cpu");
	expect_error(TINY "--streams 2", 2, "unknown option --streams");
	expect_error(TINY "--conv-engine legacy", 2, "unknown option --conv-engine");
	expect_error(TINY "--fusion some", 2, "none or full");
}

Test(step_cli, optimizers_and_loss_scales_are_taken)
{
	static const char *const arguments[] = {
	        "--optimizer sgd --lr 0.1 --momentum 0 --weight-decay 1e-4",
	        "--optimizer adam --epsilon 1e-4 --dtype fp16",
	        "--dtype amp-fp16 --loss-scale static:256",
	        "--dtype fp16-master --loss-scale none",
	        "--dtype fp16-master --loss-scale dynamic",
	        "--dtype fp32 --loss-scale none",
	};

	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++) {
		char line[256];
		struct outcome o;
		double losses[3];

		snprintf(line, sizeof(line), TINY "%s --dump-loss 2>/dev/null", arguments[i]);
		o = run(line);
		cr_assert_eq(o.code, 0, "%s: %d", arguments[i], o.code);
		cr_assert_eq(sscanf(o.text, "Step,Warm-up,Loss\n1,1,%lf\n1,0,%lf\n2,0,%lf",
		                    &losses[0], &losses[1], &losses[2]),
		             3, "%s: %s", arguments[i], o.text);
		cr_assert_float_eq(losses[2], 5.5, 1, "%s: %g", arguments[i], losses[2]);
	}
}

Test(step_cli, dtypes_are_printed)
{
	struct outcome text = run("--model toy-mixed --dtype amp-bf16 --print-dtypes 2>&1");
	static const char *const lines[] = {
	        "What        Dtype      Reads      Gradient   Optimizer  Name\n",
	        "weight      fp32       -          fp32       fp32       ln.bias\n",
	        "activation  bf16       bf16       -          -          fc1/linear\n",
	        "activation  fp32       fp32       -          -          ln/add\n",
	        "logits      bf16       bf16       -          -          fc2/linear\n",
	        "loss        fp32       fp32       -          -          cross-entropy/nll_loss\n",
	};

	cr_assert_eq(text.code, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		cr_assert_not_null(strstr(text.text, lines[i]), "%s in %s", lines[i], text.text);
}

/* One grid can hold fp32 beside fp16. */
Test(step_cli, a_loss_scale_is_ignored_with_a_word_where_the_dtype_has_none)
{
	static const char *const dtypes[] = {"fp32", "amp-bf16", "fp16"};

	for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
		char arguments[256], words[128];
		struct outcome o;

		snprintf(arguments, sizeof(arguments),
		         TINY "--dtype %s --loss-scale static:256 2>&1 >/dev/null", dtypes[i]);
		snprintf(words, sizeof(words), "--dtype %s has no loss scale", dtypes[i]);
		o = run(arguments);
		cr_assert_eq(o.code, 0, "%s", o.text);
		cr_assert_not_null(strstr(o.text, words), "%s", o.text);
	}
}

/* In fp16 the usual epsilon is 0, and a step 0 / 0. */
Test(step_cli, native_fp16_trains_with_an_epsilon_that_it_holds)
{
	struct outcome o = run(TINY "--dtype fp16 --steps 3 --dump-loss 2>&1");
	struct outcome given = run(TINY "--dtype fp16 --steps 3 --epsilon 1e-8 --dump-loss 2>&1");
	struct outcome other = run(TINY "--dtype bf16 --steps 3 --dump-loss 2>&1");

	cr_assert_eq(o.code, 0, "%s", o.text);
	cr_assert_not_null(strstr(o.text, "--epsilon is 0.0001"), "%s", o.text);
	cr_assert_null(strstr(o.text, "nan"), "%s", o.text);
	cr_assert_null(strstr(o.text, "not finite"), "%s", o.text);
	cr_assert_null(strstr(given.text, "--epsilon is"), "%s", given.text);
	cr_assert_not_null(strstr(given.text, "the loss is not finite in step 1:"), "%s",
	                   given.text);
	cr_assert_null(strstr(other.text, "--epsilon is"), "%s", other.text);
}

Test(step_cli, image_models_take_their_options_and_refuse_those_of_others)
{
#define SMALL "--model lenet5 --batch 2 --warmup 0 --steps 1 "
	struct outcome o = run(SMALL "--image-size 32 --channels 3 --classes 4 --layout nhwc "
	                             "--activation tanh --loss mse --init xavier "
	                             "--width-divisor 2 --dump-loss 2>/dev/null");
	struct outcome signal = run("--model conv1d-resnet --batch 2 --warmup 0 --steps 1 "
	                            "--layers 2 --kernel-width 5 --depth-multiplier 2 "
	                            "--residual no --image-size 32 --dump-loss 2>/dev/null");
	double loss;

	cr_assert_eq(o.code, 0);
	cr_assert_eq(sscanf(o.text, "Step,Warm-up,Loss\n1,0,%lf", &loss), 1, "%s", o.text);
	cr_assert_eq(signal.code, 0);
	cr_assert_eq(sscanf(signal.text, "Step,Warm-up,Loss\n1,0,%lf", &loss), 1, "%s",
	             signal.text);
	expect_error(SMALL "--layout nwhc", 2, "nchw or nhwc");
	expect_error(SMALL "--activation gelu", 2, "leaky-relu");
	expect_error(SMALL "--loss hinge", 2, "cross-entropy or mse");
	expect_error(SMALL "--init zero", 2, "xavier");
	expect_error(SMALL "--image-size 0", 2, "from 1 to 1048576, not '0'");
	expect_error(SMALL "--image-size 8", 2, "larger images");
	expect_error(SMALL "--context 8", 2, "does not apply to model lenet5");
	expect_error(SMALL "--layers 8", 2, "does not apply to model lenet5");
	expect_error(SMALL "--kernel-width 8", 2, "does not apply to model lenet5");
	expect_error(TINY "--layout nhwc", 2, "--layout does not apply to model transformer-tiny");
	expect_error("--model conv1d-resnet --kernel-width 4", 2, "odd");
	expect_error("--model resnet50 --batch 1000000", 5, "out of memory");
}

Test(step_cli, cuda_without_the_backend_exits_5_with_the_cure)
{
	expect_error(TINY "--device cuda", 5, "--device cpu");
}

Test(step_cli, a_model_too_large_for_the_machine_exits_5)
{
	/* told by the plan: not a byte of it is allocated */
	expect_error("--model transformer-2.7b --batch 100000 --context 1024", 5,
	             "out of memory: the step needs ");
	expect_error(TINY "--memory-limit 1", 5, "the device has 1048576.");
}

Test(step_cli, a_full_disk_exits_4)
{
	struct outcome o = run(TINY "--dump-loss 2>&1 >/dev/full");

	cr_assert_eq(o.code, 4, "%s", o.text);
	cr_assert_not_null(strstr(o.text, "stdout"), "%s", o.text);
}

Test(step_cli, help_names_every_option_and_model)
{
	struct outcome o = run("--help");

	cr_assert_eq(o.code, 0);
#define WS_OPTION(ID, name, ...) cr_assert_not_null(strstr(o.text, "--" name), "--" name);
#include "kernels/run/options.def"
	for (int i = 0; ws_network_at(i); i++)
		cr_assert_not_null(strstr(o.text, ws_network_at(i)->name), "%s",
		                   ws_network_at(i)->name);
}

Test(step_cli, version_is_one_line)
{
	struct outcome o = run("--version");

	cr_assert_eq(o.code, 0);
	cr_assert_str_eq(o.text, "warpsheet-step " WS_VERSION "\n");
}

Test(step_cli, losses_do_not_depend_on_the_thread_count_beyond_rounding)
{
	struct outcome one = run(TINY "--threads 1 --dump-loss 2>/dev/null");
	struct outcome three = run(TINY "--threads 3 --dump-loss 2>/dev/null");
	double a[3], b[3];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(sscanf(i ? three.text : one.text,
		                    "Step,Warm-up,Loss\n1,1,%lf\n1,0,%lf\n2,0,%lf",
		                    i ? &b[0] : &a[0], i ? &b[1] : &a[1], i ? &b[2] : &a[2]),
		             3);
	for (int i = 0; i < 3; i++)
		cr_assert_float_eq(a[i], b[i], 1e-4);
}
