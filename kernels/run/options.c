#include "kernels/run/step.h"

#include <float.h>

#include "formats/base/options.h"

/* What an option applies to: a model of one of the kinds, and all of the rest. */
enum {
	FOR_TRANSFORMERS = 1,
	FOR_IMAGES = 2,
	FOR_SIGNALS = 4,
	FOR_MODELS = FOR_TRANSFORMERS | FOR_IMAGES | FOR_SIGNALS,
	ON_GPU = 8,
	WITH_LOSS = 16,
	WITH_OPTIMIZER = 32,
	NOT_ADAM = 64,
	NOT_SGD = 128,
};

static const char *model_name(int i)
{
	return ws_network_at(i) ? ws_network_at(i)->name : NULL;
}

static const char *precision_name(int i)
{
	return ws_precision_at(i) ? ws_precision_at(i)->name : NULL;
}

static void make_table(struct ws_step_command *c, struct ws_opt table[WS_STEP_OPTIONS])
{
	const struct ws_opt opts[WS_STEP_OPTIONS] = {
#define WS_OPTION(ID, name, KIND, arg, field, ...)                                                 \
	WS_OPT(name, (WS_STEP_OPTION_##ID == WS_STEP_OPTION_HELP ? 'h' : 0), KIND, arg, &c->field, \
	       __VA_ARGS__, .given = &c->given[WS_STEP_OPTION_##ID]),
#include "kernels/run/options.def"
	};

	memcpy(table, opts, sizeof(opts));
}

static unsigned kind_of(const struct ws_network *model)
{
	if (!model->image)
		return FOR_TRANSFORMERS;
	return model->image->signal ? FOR_SIGNALS : FOR_IMAGES;
}

void ws_step_command_print_options(FILE *out, const struct ws_network *model)
{
	struct ws_step_command c;
	struct ws_opt table[WS_STEP_OPTIONS];
	size_t n = 0;

	make_table(&c, table);
	for (size_t i = 0; i < WS_STEP_OPTIONS; i++)
		if (!model || !(table[i].tags & FOR_MODELS) || table[i].tags & kind_of(model))
			table[n++] = table[i];
	ws_opt_print_help(out, table, n);
}

/* --- options that do not go together --- */

static enum ws_status fail_unfit(const struct ws_opt *opt, const char *to, const char *value,
                                 struct ws_err *err)
{
	return WS_FAIL(err, USAGE, "--%s does not apply to %s%s", opt->name, to, value);
}

/* --- what the values mean --- */

#define FP16_EPSILON 1e-4

enum ws_status ws_step_command_parse(struct ws_step_command *c, int argc, char **argv,
                                     struct ws_err *err)
{
	struct ws_opt table[WS_STEP_OPTIONS];
	int n;
	static const char *const devices[] = {"auto", "cuda", "cpu"};
	static const char fixed[] = "static:";
	struct ws_step_options *step = &c->run.step;
	struct ws_loss_scale *scale = &step->loss_scale;

	*c = (struct ws_step_command){
	        .run = {.warmup = 5,
	                .steps = 10,
	                .step = {.phase = WS_STEP_FULL, .batch = 4, .context = 128}},
	        .help = ws_opt_asks_help(argc, argv),
	};
	if (c->help) {
		/* of the model named on the command line: "--model NAME" or "--model=NAME" */
		for (int i = 1; i < argc && !c->help_model; i++) {
			const char *name = NULL;

			if (!strncmp(argv[i], "--model=", 8))
				name = argv[i] + 8;
			else if (!strcmp(argv[i], "--model") && i + 1 < argc)
				name = argv[i + 1];
			if (name)
				c->help_model = ws_network_find(name);
		}
		return WS_OK;
	}
	make_table(c, table);
	WS_FORWARD(ws_opt_parse(table, WS_STEP_OPTIONS, argc - 1, argv + 1, &n, err));
	if (c->version)
		return WS_OK;
	WS_FAIL_IF(n, err, USAGE, "unexpected argument %s", argv[1]);
	WS_FAIL_IF(!c->given[WS_STEP_OPTION_MODEL], err, USAGE, "--model is needed");
	step->model = ws_network_at(c->model);
	if (!c->given[WS_STEP_OPTION_OPTIMIZER] && step->model->image)
		c->optimizer = WS_OPTIMIZER_ADAM; /* as in seed 001: docs/dev/seeds.md */
	step->precision = ws_precision_at(c->dtype);
	step->seed = (uint64_t)c->seed;
	step->image.xavier = c->init == 1;
	step->image.residual = c->residual == 1;
	c->backend.device = devices[c->device];
	c->backend.gpu = (int)c->gpu;
	c->backend.limit_bytes = (uint64_t)c->limit_mib << 20;
	/* An option that has no effect is a mistake, not a detail. */
	for (size_t i = 0; i < WS_STEP_OPTIONS; i++) {
		const struct ws_opt *opt = &table[i];
		const struct ws_network *model = c->run.step.model;
		enum ws_step_phase phase = c->run.step.phase;
		bool is_sgd = c->optimizer == WS_OPTIMIZER_SGD;

		if (!c->given[i])
			continue;
		if (opt->tags & FOR_MODELS && !(opt->tags & kind_of(model)))
			return fail_unfit(opt, "model ", model->name, err);
		/* with --device auto they are for the case that a GPU answers */
		if (opt->tags & ON_GPU && !strcmp(c->backend.device, "cpu"))
			return fail_unfit(opt, "--device cpu", "", err);
		if (opt->tags & WITH_LOSS && phase == WS_STEP_FORWARD)
			return fail_unfit(opt, "--phase forward", ": there is no loss", err);
		if (opt->tags & WITH_OPTIMIZER && phase != WS_STEP_FULL)
			return WS_FAIL(err, USAGE,
			               "--%s does not apply to --phase %s: there is no optimizer",
			               opt->name, ws_step_phase_name(phase));
		if (opt->tags & (is_sgd ? NOT_SGD : NOT_ADAM))
			return fail_unfit(opt, "--optimizer ", ws_optimizer_name(c->optimizer),
			                  err);
	}
	/* The optimizer's own defaults, and what was given instead. */
	struct ws_optimizer *o = &c->run.step.optimizer;
	*o = ws_optimizer_defaults((enum ws_optimizer_kind)c->optimizer);
	o->impl = (enum ws_optimizer_impl)c->optimizer_impl;
	o->clip_norm = c->clip_norm;
	if (c->given[WS_STEP_OPTION_LR])
		o->lr = c->lr;
	if (c->given[WS_STEP_OPTION_WEIGHT_DECAY])
		o->weight_decay = c->weight_decay;
	if (c->given[WS_STEP_OPTION_MOMENTUM])
		o->momentum = c->momentum;
	/* in fp16 1e-8 is 0, and so are squares of small gradients: 0 / 0 */
	c->epsilon_is_large = step->precision->storage == WS_DTYPE_F16 &&
	                      !step->precision->masters && c->optimizer != WS_OPTIMIZER_SGD &&
	                      step->phase == WS_STEP_FULL && !c->given[WS_STEP_OPTION_EPSILON];
	if (c->epsilon_is_large)
		o->eps = FP16_EPSILON;
	else if (c->given[WS_STEP_OPTION_EPSILON])
		o->eps = c->epsilon;
	const char *text = c->loss_scale;
	if (text) {
		scale->kind = !strcmp(text, "none")      ? WS_LOSS_SCALE_NONE
		              : !strcmp(text, "dynamic") ? WS_LOSS_SCALE_DYNAMIC
		                                         : WS_LOSS_SCALE_STATIC;
		if (scale->kind == WS_LOSS_SCALE_STATIC) {
			bool is_fixed = !strncmp(text, fixed, sizeof(fixed) - 1);
			char *end = NULL;

			if (is_fixed)
				scale->value = strtod(text + sizeof(fixed) - 1, &end);
			WS_FAIL_IF(!is_fixed || end == text + sizeof(fixed) - 1 || *end ||
			                   !(scale->value <= FLT_MAX && (float)scale->value > 0),
			           err, USAGE,
			           "--loss-scale needs none, dynamic or static:N, N above 0 and a "
			           "float, not '%s'",
			           text);
		}
		/* so that one grid can hold fp32 beside fp16: seed 004 */
		if (scale->kind != WS_LOSS_SCALE_NONE && step->precision->scale_max == 0) {
			c->scale_ignored = true;
			scale->kind = WS_LOSS_SCALE_NONE;
		}
	}
	bool looks = c->describe || c->print_dtypes;
	WS_FAIL_IF(c->describe && c->print_dtypes, err, USAGE,
	           "--describe and --print-dtypes: one at a time");
	WS_FAIL_IF(looks && c->dump_loss, err, USAGE,
	           "--dump-loss: --describe and --print-dtypes run nothing");
	return WS_OK;
}
