/* A training session: one model, its data and optimizer on one backend. */
#pragma once

#include "kernels/models/model.h"

/* The part of a step that is run: --phase NAME. Each includes those before it. */
#define WS_STEP_PHASE_LIST(X)                                                 \
	X("forward", FORWARD)                   /* forward only: no loss */   \
	X("forward-backward", FORWARD_BACKWARD) /* forward, loss, backward */ \
	X("step", FULL)                         /* and the optimizer */

enum ws_step_phase {
#define X(name, id) WS_STEP_##id,
	WS_STEP_PHASE_LIST(X)
#undef X
};

struct ws_step_options {
	const struct ws_network *model;
	const struct ws_precision *precision;
	enum ws_step_phase phase;
	enum ws_fusion fusion;
	enum ws_attention_mode attention; /* transformers */
	int64_t batch, context;
	int64_t layers;  /* 0: the model's own */
	int64_t batches; /* number of batches drawn and then repeated; 0: a new one for each step */
	uint64_t seed;
	struct ws_image_options image; /* image models; batch, layers and seed: those above */
	struct ws_optimizer optimizer;
	struct ws_loss_scale loss_scale;
};

struct ws_step {
	struct ws_step_options options;
	struct ws_transformer size;
	struct ws_graph *graph;
	struct ws_model_io io;
	struct ws_optim optim;
	struct ws_scaler scaler; /* its scale is NULL where losses are not scaled */
	struct ws_backend *backend;
	struct ws_exec *exec;
	int32_t *tokens, *targets; /* of a batch, on the host */
	int64_t done;              /* steps */
	int64_t skipped;           /* steps without an update */
	/* the host's copy of the scaler's state, which it can follow without reading it */
	double scale;
	int32_t tracker;
};

/* Builds only the model's graph, to print or inspect it. */
enum ws_status ws_step_build(const struct ws_step_options *options, struct ws_step **step,
                             struct ws_err *err);

/*
 * Build the model's graph and allocate and initialise its tensors, in an NVTX
 * range `setup`. backend and pool are borrowed and must outlive the session.
 * NO_MEMORY before anything is allocated when the plan does not fit the device.
 */
enum ws_status ws_step_open(const struct ws_step_options *options, struct ws_backend *backend,
                            struct ws_pool *pool, struct ws_step **step, struct ws_err *err);
void ws_step_close(struct ws_step *step);

/*
 * Run the next step in an NVTX range named range, with number as its payload.
 * loss: NaN when the phase has none.
 */
enum ws_status ws_step_run(struct ws_step *step, const char *range, uint64_t number, double *loss,
                           struct ws_err *err);

/* --- the whole run ----------------------------------------------------------------- */

struct ws_step_run_options {
	struct ws_step_options step;
	int64_t warmup, steps;
	/* Called after each step with its number, from 1 within its kind. An error ends the run. */
	enum ws_status (*report)(void *arg, bool warmup, int64_t number, double loss,
	                         struct ws_err *err);
	void *report_arg;
	/* NULL, or called for the first step with a loss that is not finite: "step 2", "warm-up
	 * 3" */
	void (*not_finite)(const char *step);
	/* NULL, or called as each step begins, and with step == steps after the last */
	void (*progress)(int64_t step, int64_t steps, bool warmup);
};

/*
 * State the facts of the run (warpsheet_nvtx.h: workload), open a session, run
 * the warm-up and the measured steps, state the result, which is "ok" or
 * why it failed.
 */
enum ws_status ws_step_run_all(const struct ws_step_run_options *options,
                               struct ws_backend *backend, struct ws_pool *pool,
                               struct ws_err *err);

/* --- names -------------------------------------------------------------------------- */

/* The i-th dtype mode of precision.def, NULL after the last. */
const struct ws_precision *ws_precision_at(int i);
/* "none", "full"; NULL after the last */
const char *ws_fusion_name(int fusion);
/* "eager", "fused"; NULL after the last */
const char *ws_attention_mode_name(int mode);
/* "forward", "forward-backward", "step"; NULL after the last */
const char *ws_step_phase_name(int phase);

/* --- description of a step ---------------------------------------------------- */

/* Describes a step without running it: `warpsheet-step --describe`. */

/*
 * Parameters, FLOPs and bytes of each phase, device memory, and every op with
 * shapes and dtypes. Builds the graph only: no tensor is allocated. Output
 * errors are the caller's to check (ferror).
 */
enum ws_status ws_describe(const struct ws_step_options *options, FILE *out, struct ws_err *err);

/*
 * Prints all dtypes (`warpsheet-step --print-dtypes`): a row for each parameter with the dtype of
 * its gradient and of what the optimizer updates (its master, where it has one), for the result of
 * each op of the forward and loss phases with what the op reads, for the logits and the loss.
 * Builds the graph only. Output errors are the caller's to check (ferror).
 */
enum ws_status ws_dtypes_print(const struct ws_step_options *options, FILE *out,
                               struct ws_err *err);

/* --- the command line of warpsheet-step ------------------------------------------------------ */

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
	bool help, version;                  /* if set, only help_model is valid besides */
	const struct ws_network *help_model; /* model given with --help; NULL: none, or unknown */

	/* as typed; the resulting values are in run and backend */
	int model, dtype, init, residual, optimizer, optimizer_impl, device;
	int64_t seed, gpu, limit_mib;
	const char *loss_scale;
	double clip_norm, lr, weight_decay, momentum, epsilon;
	bool scale_ignored;    /* the dtype has no loss scale */
	bool epsilon_is_large; /* the dtype does not hold the usual one */
	bool given[WS_STEP_OPTIONS];
};

/* Parse argv; strings stay where they are. USAGE: the message names the wrong argument and the
 * reason. */
enum ws_status ws_step_command_parse(struct ws_step_command *c, int argc, char **argv,
                                     struct ws_err *err);
/* The list of options, as --help prints it; of those that this model takes, NULL = any. */
void ws_step_command_print_options(FILE *out, const struct ws_network *model);
