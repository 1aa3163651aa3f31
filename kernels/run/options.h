/* The command line of warpsheet-step. */
#pragma once

#include "kernels/run/step.h"

enum ws_step_option {
#define WS_OPTION(ID, ...) WS_STEP_OPTION_##ID,
#include "kernels/run/options.def"
	WS_STEP_OPTIONS
};

struct ws_step_command {
	struct ws_step_run_options run;
	struct ws_backend_options backend;
	int64_t threads; /* 0: one for each CPU */
	bool describe, print_dtypes, dump_loss;
	bool help, version;                  /* nothing else was looked at but help_model */
	const struct ws_network *help_model; /* named beside --help; NULL = none that is known */

	/* as given; what comes of them is in run and backend */
	int model, dtype, init, residual, optimizer, optimizer_impl, device;
	int64_t seed, gpu, limit_mib;
	const char *loss_scale;
	double clip_norm, lr, weight_decay, momentum, epsilon;
	bool scale_ignored; /* the dtype has no loss scale */
	bool epsilon_is_large; /* the dtype does not hold the usual one */
	bool given[WS_STEP_OPTIONS];
};

/* Parse argv; strings stay where they are. USAGE says which argument is wrong, and why. */
enum ws_status ws_step_command_parse(struct ws_step_command *c, int argc, char **argv,
                                     struct ws_err *err);
/* The list of options, as --help prints it; of those that this model takes, NULL = any. */
void ws_step_command_print_options(FILE *out, const struct ws_network *model);
