/*
 * default_steps [--plant GAIN] STEPS DTYPES MODEL [OPTION...]: does a model train as it runs by
 * default?
 *
 * STEPS on one batch, in each dtype of the list ("all"). Of every gradient of the first step that
 * updates something must not be 0, and nothing may be infinite or no number; the loss must fall,
 * where there are 20 steps; the scaler may skip FEW steps, and only the first ones. Options are
 * those of warpsheet-step. Prints a line a dtype; exit status 1 where one does not train.
 * --plant: the weights of residual branches ("blocks.") begin GAIN times as large, which must be
 * found: 32 is what conv1d-resnet was until its branches began small.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "kernels/run/step.h"

#define FEW \
	10 /* AlexNet's loss climbs to 63 in step 3, in fp32 too: its scale halves until step 8 */
#define ARGUMENTS 40

/* Gradients of which nothing is known but 0, or something that is not finite. */
static int bad_gradients(struct ws_step *step, struct ws_err *err)
{
	const struct ws_graph *graph = step->graph;
	int bad = 0;

	for (int i = 0; i < graph->tensor_count; i++) {
		const struct ws_tensor *p = graph->tensors[i];
		bool finite = true, is_zero = true;
		double *values;

		if (p->role != WS_ROLE_PARAM)
			continue;
		if (!p->grad) {
			printf("    %s has no gradient\n", p->name);
			bad++;
			continue;
		}
		values = ws_xarray((size_t)p->count, sizeof(*values));
		if (ws_exec_read(step->exec, p->grad, values, err) != WS_OK)
			exit(2);
		for (int64_t k = 0; k < p->count; k++) {
			finite &= isfinite(values[k]);
			is_zero &= values[k] == 0;
		}
		if (is_zero || !finite) {
			printf("    the gradient of %s is %s\n", p->name,
			       is_zero ? "0 everywhere" : "not finite");
			bad++;
		}
		free(values);
	}
	return bad;
}

static enum ws_status plant_gain(struct ws_step *step, double gain, struct ws_err *err)
{
	const struct ws_graph *graph = step->graph;

	for (int i = 0; i < graph->tensor_count; i++) {
		struct ws_tensor *p = graph->tensors[i];
		enum ws_status status;
		double *values;

		if (p->role != WS_ROLE_PARAM || strncmp(p->name, "blocks.", 7) != 0)
			continue;
		values = ws_xarray((size_t)p->count, sizeof(*values));
		status = ws_exec_read(step->exec, p, values, err);
		for (int64_t k = 0; k < p->count; k++)
			values[k] *= gain;
		WS_THEN(status, ws_exec_write(step->exec, p, values, err));
		free(values);
		WS_FORWARD(status);
	}
	return WS_OK;
}

/* 0: it trains */
static int train(const struct ws_step_command *c, double gain, struct ws_backend *backend,
                 struct ws_pool *pool)
{
	int64_t last_skip = 0, steps = c->run.steps, skipped = 0;
	struct ws_err err = {0};
	struct ws_step *step = NULL;
	double first = NAN, loss = NAN;
	int bad = 0;
	enum ws_status status = ws_step_open(&c->run.step, backend, pool, &step, &err);
	bool looked = false, wrong;

	if (status == WS_OK && gain != 1)
		status = plant_gain(step, gain, &err);
	for (int64_t i = 1; i <= steps && status == WS_OK; i++) {
		status = ws_step_run(step, "step", (uint64_t)i, &loss, &err);
		first = i == 1 ? loss : first;
		if (status == WS_OK && step->skipped != skipped)
			last_skip = i;
		else if (status == WS_OK && !looked) {
			bad = bad_gradients(step, &err);
			looked = true;
		}
		skipped = status == WS_OK ? step->skipped : skipped;
	}
	if (status != WS_OK) {
		printf("%s: %s\n", c->run.step.model->name, err.text);
		return status == WS_NO_MEMORY ? 77 : 2;
	}
	wrong = bad || !looked || !isfinite(loss) || last_skip > FEW ||
	        (steps >= 20 && !(loss < first));
	printf("%-20s %-12s loss %.6g to %.6g in %d steps, %d skipped, last in %d; %d gradients "
	       "are wrong%s\n",
	       c->run.step.model->name, c->run.step.precision->name, first, loss, (int)steps,
	       (int)skipped, (int)last_skip, bad, wrong ? ": DOES NOT TRAIN" : "");
	fflush(stdout);
	ws_step_close(step);
	return wrong;
}

static int train_in(const char *dtype, double gain, int argc, char **argv)
{
	const char *arguments[ARGUMENTS] = {
	        "default_steps", "--device", "cpu",     "--dtype", dtype,    "--batches", "1",
	        "--warmup",      "0",        "--steps", argv[1],   "--model"};
	int n = 12, result;
	struct ws_step_command c;
	struct ws_pool *pool = NULL;
	struct ws_backend *backend;
	struct ws_err err = {0};

	for (int i = 3; i < argc && n < ARGUMENTS; i++)
		arguments[n++] = argv[i];
	if (ws_step_command_parse(&c, n, (char **)arguments, &err) != WS_OK ||
	    ws_pool_create((int)c.threads, &pool, &err) != WS_OK) {
		fprintf(stderr, "default_steps: %s\n", err.text);
		return 2;
	}
	backend = ws_backend_cpu_open(pool, 0);
	result = train(&c, gain, backend, pool);
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return result;
}

/* "fp16" is not in "amp-fp16,bf16" */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	int worst = 0;
	double gain = 1;

	if (argc > 2 && !strcmp(argv[1], "--plant")) {
		gain = strtod(argv[2], NULL);
		argc -= 2;
		argv += 2;
	}
	if (argc < 4)
		return 2;
	for (int i = 0; ws_precision_at(i); i++) {
		const char *name = ws_precision_at(i)->name;
		int result;

		if (strcmp(argv[2], "all") != 0 && !listed(argv[2], name))
			continue;
		result = train_in(name, gain, argc, argv);
		worst = result > worst ? result : worst;
	}
	return worst;
}
