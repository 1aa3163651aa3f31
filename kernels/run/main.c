/*
 * warpsheet-step: run training steps of a known model.
 *
 * stdout carries data only (--dump-loss, --help, --version); words go to stderr.
 */
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>

#include "kernels/run/dtypes.h"

#define PROGRAM "warpsheet-step"

enum option_id {
	OPTION_FIRST = 255, /* above every character that getopt_long() returns */
#define WS_OPTION(ID, name, arg, help) OPTION_##ID,
#include "kernels/run/options.def"
	OPTION_END,
};

struct arguments {
	struct ws_step_run_options run;
	struct ws_backend_options backend;
	const char *data; /* path; NULL: synthetic */
	int threads;
	enum ws_optimizer_kind optimizer;
	double lr, weight_decay, momentum, epsilon; /* where given */
	bool describe, print_dtypes;
	enum ws_describe_format format;
	bool dump_loss;
	bool given[OPTION_END - OPTION_FIRST]; /* by option, from its first on */
	bool done;                                /* --help or --version was served */
};

/* --- help ----------------------------------------------------------------------------- */

static void print_help(FILE *out)
{
	static const struct {
		const char *name, *arg, *help;
	} options[] = {
#define WS_OPTION(ID, name, arg, help) {name, arg, help},
#include "kernels/run/options.def"
	};
	char left[40];

	fprintf(out, "usage: " PROGRAM " --model NAME [options]\n\n"
	             "Run training steps of a known model, on a GPU or on the CPU reference, and\n"
	             "annotate every operation for `warpsheet record`.\n\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].arg ? " " : "",
		         options[i].arg ? options[i].arg : "");
		fprintf(out, "  %-19s %s\n", left, options[i].help);
	}
	fprintf(out, "\nmodels:\n");
	for (int i = 0; ws_model_at(i); i++)
		fprintf(out, "  %-19s %s\n", ws_model_at(i)->name, ws_model_at(i)->summary);
	fprintf(out, "\nexit codes: 0 done, 2 usage, 3 data file unreadable or unfit,\n"
	             "4 output could not be written, 5 environment (no such device, out of\n"
	             "memory), 70 a bug\n");
}

/* --- command line ----------------------------------------------------------------------- */

static enum ws_status parse_number(const char *option, const char *text, int64_t min, int64_t max,
                                   int64_t *value, struct ws_err *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	WS_FAIL_IF(errno || end == text || *end || number < min || number > max, err, USAGE,
	           "--%s %s: not a whole number from %lld to %lld", option, text, (long long)min,
	           (long long)max);
	*value = number;
	return WS_OK;
}

static enum ws_status parse_real(const char *option, const char *text, double max, double *value,
                                 struct ws_err *err)
{
	char *end;
	double number = strtod(text, &end);

	WS_FAIL_IF(end == text || *end || !(number >= 0 && number <= max), err, USAGE,
	           "--%s %s: not a number from 0 to %g", option, text, max);
	*value = number;
	return WS_OK;
}

/* "none", "dynamic" or "static:N" */
static enum ws_status parse_loss_scale(const char *text, struct ws_loss_scale *scaling,
                                       struct ws_err *err)
{
	static const char fixed[] = "static:";

	if (!strcmp(text, "none") || !strcmp(text, "dynamic")) {
		scaling->kind = *text == 'n' ? WS_LOSS_SCALE_NONE : WS_LOSS_SCALE_DYNAMIC;
		return WS_OK;
	}
	WS_FAIL_IF(strncmp(text, fixed, sizeof(fixed) - 1), err, USAGE,
	           "--loss-scale %s: it is none, dynamic or static:N", text);
	scaling->kind = WS_LOSS_SCALE_STATIC;
	WS_FORWARD(
	        parse_real("loss-scale", text + sizeof(fixed) - 1, FLT_MAX, &scaling->value, err));
	WS_FAIL_IF((float)scaling->value == 0, err, USAGE, "--loss-scale %s: a scale of 0", text);
	return WS_OK;
}

/* "no X called NAME; there are A, B, C" */
static enum ws_status fail_choice(struct ws_err *err, const char *option, const char *given,
                                  const char *(*name_at)(int))
{
	char list[480] = "";
	size_t used = 0;

	for (int i = 0; name_at(i) && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
		                         name_at(i));
	return WS_FAIL(err, USAGE, "--%s %s: it is one of %s", option, given, list);
}

static const char *model_name_at(int i)
{
	return ws_model_at(i) ? ws_model_at(i)->name : NULL;
}

static const char *precision_name_at(int i)
{
	return ws_precision_at(i) ? ws_precision_at(i)->name : NULL;
}

static const char *phase_name_at(int i)
{
	return i <= WS_STEP_FULL ? ws_step_phase_name((enum ws_step_phase)i) : NULL;
}

static const char *loss_name_at(int i)
{
	return ws_loss_name(i + 1); /* 0 is the model's own */
}

static const char *init_name_at(int i)
{
	return i == 0 ? "model" : i == 1 ? "xavier" : NULL;
}

static const char *format_name_at(int i)
{
	return i == WS_DESCRIBE_TEXT ? "text" : i == WS_DESCRIBE_JSON ? "json" : NULL;
}

static const char *yes_name_at(int i)
{
	return i == 0 ? "yes" : i == 1 ? "no" : NULL;
}

/* The index of a name in a list. */
static enum ws_status parse_choice(const char *option, const char *text,
                                   const char *(*name_at)(int), int *index, struct ws_err *err)
{
	for (*index = 0; name_at(*index); ++*index)
		if (!strcmp(name_at(*index), text))
			return WS_OK;
	return fail_choice(err, option, text, name_at);
}

/* The options that only image models have. */
static enum ws_status take_image_option(enum option_id id, const char *value,
                                        struct ws_image_options *image, struct ws_err *err)
{
	enum ws_status status;
	int index = 0;

	switch (id) {
	case OPTION_IMAGE_SIZE:
		return parse_number("image-size", value, 1, 1 << 20, &image->size, err);
	case OPTION_CHANNELS:
		return parse_number("channels", value, 1, 1 << 16, &image->channels, err);
	case OPTION_CLASSES:
		return parse_number("classes", value, 1, 1 << 20, &image->classes, err);
	case OPTION_WIDTH_DIVISOR:
		return parse_number("width-divisor", value, 1, 4096, &image->width_divisor, err);
	case OPTION_KERNEL_WIDTH:
		return parse_number("kernel-width", value, 1, 1 << 16, &image->kernel_width, err);
	case OPTION_DEPTH_MULTIPLIER:
		return parse_number("depth-multiplier", value, 1, 1 << 16, &image->depth_multiplier,
		                    err);
	case OPTION_LAYOUT:
		status = parse_choice("layout", value, ws_layout_name, &index, err);
		image->layout = (enum ws_layout)index;
		return status;
	case OPTION_ACTIVATION:
		status = parse_choice("activation", value, ws_activation_name, &index, err);
		image->activation = (enum ws_activation)index;
		return status;
	case OPTION_LOSS:
		status = parse_choice("loss", value, loss_name_at, &index, err);
		image->loss = (enum ws_loss)(index + 1);
		return status;
	case OPTION_INIT:
		status = parse_choice("init", value, init_name_at, &index, err);
		image->xavier = index == 1;
		return status;
	default: /* RESIDUAL */
		status = parse_choice("residual", value, yes_name_at, &index, err);
		image->plain = index == 1;
		return status;
	}
}

static enum ws_status take_choice(enum option_id id, const char *value, struct arguments *args,
                                  struct ws_err *err)
{
	struct ws_step_options *step = &args->run.step;
	int index = 0;

	switch (id) {
	case OPTION_FORMAT:
		WS_FORWARD(parse_choice("format", value, format_name_at, &index, err));
		args->format = (enum ws_describe_format)index;
		return WS_OK;
	case OPTION_MODEL:
		step->model = ws_model_find(value);
		return step->model ? WS_OK : fail_choice(err, "model", value, model_name_at);
	case OPTION_DTYPE:
		step->precision = ws_precision_find(value);
		return step->precision ? WS_OK
		                       : fail_choice(err, "dtype", value, precision_name_at);
	case OPTION_PHASE:
		if (ws_step_phase_find(value, &step->phase))
			return WS_OK;
		return fail_choice(err, "phase", value, phase_name_at);
	case OPTION_FUSION:
		WS_FORWARD(parse_choice("fusion", value, ws_fusion_name, &index, err));
		step->fusion = (enum ws_fusion)index;
		return WS_OK;
	case OPTION_ATTENTION:
		WS_FORWARD(parse_choice("attention", value, ws_attention_mode_name, &index, err));
		step->attention = (enum ws_attention_mode)index;
		return WS_OK;
	case OPTION_OPTIMIZER:
		WS_FORWARD(parse_choice("optimizer", value, ws_optimizer_name, &index, err));
		args->optimizer = (enum ws_optimizer_kind)index;
		return WS_OK;
	default:
		args->backend.device = value;
		return WS_OK;
	}
}

/* The options of the device. */
static enum ws_status take_device_option(enum option_id id, const char *value,
                                         struct ws_backend_options *backend, struct ws_err *err)
{
	int64_t number = 0;
	int index = 0;

	switch (id) {
	case OPTION_GPU:
		WS_FORWARD(parse_number("gpu", value, 0, 1023, &number, err));
		backend->gpu = (int)number;
		return WS_OK;
	case OPTION_AUTOTUNE:
		backend->autotune = true;
		return WS_OK;
	case OPTION_CONV_ENGINE:
		WS_FORWARD(parse_choice("conv-engine", value, ws_conv_engine_name, &index, err));
		backend->conv_engine = (enum ws_conv_engine)index;
		return WS_OK;
	case OPTION_CUDA_GRAPH:
		backend->records = true;
		return WS_OK;
	case OPTION_STREAMS:
		WS_FORWARD(parse_number("streams", value, 1, 2, &number, err));
		backend->two_lanes = number == 2;
		return WS_OK;
	case OPTION_DETERMINISTIC:
		backend->deterministic = true;
		return WS_OK;
	default: /* MEMORY_LIMIT */
		WS_FORWARD(parse_number("memory-limit", value, 1, INT64_MAX >> 20, &number, err));
		backend->limit_bytes = (uint64_t)number << 20;
		return WS_OK;
	}
}

static enum ws_status take_option(enum option_id id, const char *value, struct arguments *args,
                                  struct ws_err *err)
{
	struct ws_step_options *step = &args->run.step;
	int64_t number = 0;

	switch (id) {
	case OPTION_BATCH:
		return parse_number("batch", value, 1, INT32_MAX, &step->batch, err);
	case OPTION_CONTEXT:
		return parse_number("context", value, 1, INT32_MAX, &step->context, err);
	case OPTION_LAYERS:
		return parse_number("layers", value, 1, 10000, &step->layers, err);
	case OPTION_IMAGE_SIZE:
	case OPTION_CHANNELS:
	case OPTION_CLASSES:
	case OPTION_LAYOUT:
	case OPTION_ACTIVATION:
	case OPTION_LOSS:
	case OPTION_INIT:
	case OPTION_WIDTH_DIVISOR:
	case OPTION_KERNEL_WIDTH:
	case OPTION_DEPTH_MULTIPLIER:
	case OPTION_RESIDUAL:
		return take_image_option(id, value, &step->image, err);
	case OPTION_WARMUP:
		return parse_number("warmup", value, 0, INT32_MAX, &args->run.warmup, err);
	case OPTION_STEPS:
		return parse_number("steps", value, 1, INT32_MAX, &args->run.steps, err);
	case OPTION_SEED:
		WS_FORWARD(parse_number("seed", value, 0, INT64_MAX, &number, err));
		step->seed = (uint64_t)number;
		return WS_OK;
	case OPTION_DATA:
		args->data = value;
		return WS_OK;
	case OPTION_THREADS:
		WS_FORWARD(parse_number("threads", value, 1, 1024, &number, err));
		args->threads = (int)number;
		return WS_OK;
	case OPTION_GPU:
	case OPTION_AUTOTUNE:
	case OPTION_CONV_ENGINE:
	case OPTION_CUDA_GRAPH:
	case OPTION_STREAMS:
	case OPTION_DETERMINISTIC:
	case OPTION_MEMORY_LIMIT:
		return take_device_option(id, value, &args->backend, err);
	case OPTION_LOSS_SCALE:
		return parse_loss_scale(value, &step->loss_scale, err);
	case OPTION_LR:
		return parse_real("lr", value, 1e6, &args->lr, err);
	case OPTION_WEIGHT_DECAY:
		return parse_real("weight-decay", value, 1e6, &args->weight_decay, err);
	case OPTION_MOMENTUM:
		return parse_real("momentum", value, 1, &args->momentum, err);
	case OPTION_EPSILON:
		return parse_real("epsilon", value, 1e6, &args->epsilon, err);
	case OPTION_PRINT_DTYPES:
		args->print_dtypes = true;
		return WS_OK;
	case OPTION_DESCRIBE:
		args->describe = true;
		return WS_OK;
	case OPTION_DUMP_LOSS:
		args->dump_loss = true;
		return WS_OK;
	case OPTION_HELP:
		print_help(stdout);
		args->done = true;
		return WS_OK;
	case OPTION_VERSION:
		printf(PROGRAM " " WS_VERSION "\n");
		args->done = true;
		return WS_OK;
	default:
		return take_choice(id, value, args, err);
	}
}

static const struct option long_options[] = {
#define WS_OPTION(ID, name, arg, help) \
	{name, (arg) ? required_argument : no_argument, NULL, OPTION_##ID},
#include "kernels/run/options.def"
        {0},
};

enum model_kind {
	KIND_TRANSFORMER = 1,
	KIND_IMAGE = 2,
	KIND_SIGNAL = 4,
};

/* An option that the model has no use for is a mistake, not a detail. */
static enum ws_status check_options_fit(const struct arguments *args, struct ws_err *err)
{
	static const struct {
		enum option_id id;
		const char *name;
		unsigned kinds;
	} special[] = {
	        {OPTION_CONTEXT, "context", KIND_TRANSFORMER},
	        {OPTION_ATTENTION, "attention", KIND_TRANSFORMER},
	        {OPTION_LAYERS, "layers", KIND_TRANSFORMER | KIND_SIGNAL},
	        {OPTION_IMAGE_SIZE, "image-size", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_CHANNELS, "channels", KIND_IMAGE},
	        {OPTION_CLASSES, "classes", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_LAYOUT, "layout", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_ACTIVATION, "activation", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_LOSS, "loss", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_INIT, "init", KIND_IMAGE | KIND_SIGNAL},
	        {OPTION_WIDTH_DIVISOR, "width-divisor", KIND_IMAGE},
	        {OPTION_KERNEL_WIDTH, "kernel-width", KIND_SIGNAL},
	        {OPTION_DEPTH_MULTIPLIER, "depth-multiplier", KIND_SIGNAL},
	        {OPTION_RESIDUAL, "residual", KIND_SIGNAL},
	        {OPTION_DATA, "data", KIND_TRANSFORMER | KIND_IMAGE},
	};
	const struct ws_model *model = args->run.step.model;
	unsigned kind = !model->image          ? KIND_TRANSFORMER
	                : model->image->signal ? KIND_SIGNAL
	                                       : KIND_IMAGE;

	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		WS_FAIL_IF(args->given[special[i].id - OPTION_FIRST] && !(special[i].kinds & kind),
		           err, USAGE, "--%s: model %s has no such thing", special[i].name,
		           model->name);
	return WS_OK;
}

/* Options of GPUs, asked of the CPU. With --device auto they are for the case that one answers. */
static enum ws_status check_device_options(const struct arguments *args, struct ws_err *err)
{
	static const struct {
		enum option_id id;
		const char *name;
	} gpu_only[] = {
	        {OPTION_GPU, "gpu"},
	        {OPTION_AUTOTUNE, "autotune"},
	        {OPTION_CONV_ENGINE, "conv-engine"},
	        {OPTION_CUDA_GRAPH, "cuda-graph"},
	        {OPTION_STREAMS, "streams"},
	};

	for (size_t i = 0; i < sizeof(gpu_only) / sizeof(*gpu_only); i++)
		WS_FAIL_IF(args->given[gpu_only[i].id - OPTION_FIRST] &&
		                   !strcmp(args->backend.device, "cpu"),
		           err, USAGE, "--%s with --device cpu: it is for GPUs", gpu_only[i].name);
	return WS_OK;
}

/* The optimizer's own defaults, and what was given instead. */
static enum ws_status choose_optimizer(struct arguments *args, struct ws_err *err)
{
	struct ws_optimizer *o = &args->run.step.optimizer;
	bool sgd = args->optimizer == WS_OPTIMIZER_SGD;
	struct {
		enum option_id id;
		const char *name;
		bool fits;
		double *to;
		double value;
	} numbers[] = {
	        {OPTION_LR, "lr", true, &o->lr, args->lr},
	        {OPTION_WEIGHT_DECAY, "weight-decay", true, &o->weight_decay, args->weight_decay},
	        {OPTION_MOMENTUM, "momentum", sgd, &o->momentum, args->momentum},
	        {OPTION_EPSILON, "epsilon", !sgd, &o->eps, args->epsilon},
	};

	*o = ws_optimizer_defaults(args->optimizer);
	WS_FAIL_IF(args->given[OPTION_OPTIMIZER - OPTION_FIRST] &&
	                   args->run.step.phase != WS_STEP_FULL,
	           err, USAGE, "--optimizer with --phase %s: there is no optimizer",
	           ws_step_phase_name(args->run.step.phase));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!args->given[numbers[i].id - OPTION_FIRST])
			continue;
		WS_FAIL_IF(args->run.step.phase != WS_STEP_FULL, err, USAGE,
		           "--%s with --phase %s: there is no optimizer", numbers[i].name,
		           ws_step_phase_name(args->run.step.phase));
		WS_FAIL_IF(!numbers[i].fits, err, USAGE, "--%s: optimizer %s has no such thing",
		           numbers[i].name, ws_optimizer_name((int)args->optimizer));
		*numbers[i].to = numbers[i].value;
	}
	return WS_OK;
}

static enum ws_status check_loss_scale(const struct ws_step_options *step, struct ws_err *err)
{
	if (step->loss_scale.kind == WS_LOSS_SCALE_DEFAULT)
		return WS_OK;
	WS_FAIL_IF(step->phase == WS_STEP_FORWARD, err, USAGE,
	           "--loss-scale with --phase forward: there is no loss");
	WS_FAIL_IF(step->loss_scale.kind != WS_LOSS_SCALE_NONE && step->precision->scale_max == 0,
	           err, USAGE,
	           "--loss-scale: --dtype %s does not scale losses; amp-fp16 and fp16-master do",
	           step->precision->name);
	return WS_OK;
}

static enum ws_status parse(int argc, char **argv, struct arguments *args, struct ws_err *err)
{
	int index = 0, id;

	opterr = 0;
	while (!args->done && (id = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
		WS_FAIL_IF(id == ':', err, USAGE, "%s needs a value", argv[optind - 1]);
		WS_FAIL_IF(id == '?', err, USAGE, "no option %s", argv[optind - 1]);
		args->given[id - OPTION_FIRST] = true;
		WS_FORWARD(take_option((enum option_id)id, optarg, args, err));
	}
	if (args->done)
		return WS_OK;
	WS_FAIL_IF(optind < argc, err, USAGE, "unexpected argument %s", argv[optind]);
	WS_FAIL_IF(!args->run.step.model, err, USAGE, "--model is needed");
	WS_FORWARD(check_options_fit(args, err));
	WS_FORWARD(check_device_options(args, err));
	WS_FORWARD(choose_optimizer(args, err));
	WS_FORWARD(check_loss_scale(&args->run.step, err));
	WS_FAIL_IF(args->describe && args->print_dtypes, err, USAGE,
	           "--describe and --print-dtypes: one at a time");
	WS_FAIL_IF(args->given[OPTION_FORMAT - OPTION_FIRST] && !args->describe &&
	                   !args->print_dtypes,
	           err, USAGE, "--format is of --describe and --print-dtypes");
	WS_FAIL_IF((args->describe || args->print_dtypes) && args->dump_loss, err, USAGE,
	           "--dump-loss: --describe and --print-dtypes run nothing");
	WS_FAIL_IF(args->given[OPTION_LOSS - OPTION_FIRST] &&
	                   args->run.step.phase == WS_STEP_FORWARD,
	           err, USAGE, "--loss with --phase forward: there is no loss");
	WS_FAIL_IF(args->dump_loss && args->run.step.phase == WS_STEP_FORWARD, err, USAGE,
	           "--dump-loss with --phase forward: there is no loss");
	return WS_OK;
}

/* --- running ---------------------------------------------------------------------------- */

static enum ws_status dump_loss(void *arg, bool warmup, int64_t number, double loss,
                                struct ws_err *err)
{
	(void)arg;
	/* the sign of a NaN says nothing and differs from machine to machine */
	printf("%lld,%d,%.9g\n", (long long)number, warmup, isnan(loss) ? fabs(loss) : loss);
	WS_FAIL_IF(fflush(stdout) != 0, err, IO_WRITE, "stdout: %s", strerror(errno));
	return WS_OK;
}

static enum ws_status run(struct arguments *args, struct ws_err *err)
{
	struct ws_pool *pool = NULL;
	struct ws_backend *backend = NULL;
	struct ws_data_file data = {0};
	char why[640];
	enum ws_status status;

	if (args->data) {
		WS_FORWARD(ws_data_file_open(&data, args->data, err));
		args->run.step.data = &data;
	}
	if (args->dump_loss) {
		args->run.report = dump_loss;
		printf("Step,Warm-up,Loss\n");
	}
	status = ws_pool_create(args->threads, &pool, err);
	if (status == WS_OK)
		status = ws_backend_open(&args->backend, pool, &backend, why, sizeof(why), err);
	if (status == WS_OK) {
		fprintf(stderr, PROGRAM ": %s\n", why);
		status = ws_step_run_all(&args->run, backend, pool, err);
	}
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	ws_data_file_close(&data);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments args = {
	        .run = {.warmup = 5,
	                .steps = 10,
	                .step = {.precision = ws_precision_at(0),
	                         .phase = WS_STEP_FULL,
	                         .batch = 4,
	                         .context = 128,
	                         .optimizer = WS_ADAMW_DEFAULT}},
	        .backend = {.device = "auto"},
	};
	struct ws_err err = {0};
	enum ws_status status = parse(argc, argv, &args, &err);

	if (status == WS_OK && !args.done)
		status = args.describe ? ws_describe(&args.run.step, args.format, stdout, &err)
		         : args.print_dtypes
		                 ? ws_dtypes_print(&args.run.step, args.format, stdout, &err)
		                 : run(&args, &err);
	if (status == WS_OK && fflush(stdout) != 0)
		status = WS_FAIL(&err, IO_WRITE, "stdout: %s", strerror(errno));
	if (status != WS_OK) {
		fprintf(stderr, PROGRAM ": %s%s\n", status == WS_NO_MEMORY ? "out of memory: " : "",
		        err.text);
		if (status == WS_USAGE)
			fprintf(stderr, PROGRAM ": try --help\n");
	}
	return ws_status_exit_code(status);
}
