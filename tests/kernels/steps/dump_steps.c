/*
 * dump_steps FILE STEPS MODEL [OPTION...]: the steps of a model in fp64, for another program to
 * make them again (torch_steps.py). Options are those of warpsheet-step.
 *
 * FILE holds, one after the other, a line "KIND STEP NAME DIM..." and the tensor's doubles: the
 * parameters before the first step (kind first), of each step its input, target,
 * loss, gradients, and the parameters after it (parameter).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "kernels/run/step.h"

static const struct ws_precision fp64 = {.name = "fp64",
                                         .storage = WS_DTYPE_F64,
                                         .low = WS_DTYPE_F64};

static void dump(FILE *out, struct ws_step *step, const char *kind, int number,
                 const struct ws_tensor *t, const char *name)
{
	double *values = ws_xarray((size_t)t->count, sizeof(*values));
	struct ws_err err = {0};

	if (ws_exec_read(step->exec, t, values, &err) != WS_OK) {
		fprintf(stderr, "dump_steps: %s: %s\n", name, err.text);
		exit(2);
	}
	fprintf(out, "%s %d %s", kind, number, name);
	for (int i = 0; i < t->shape.ndim; i++)
		fprintf(out, " %" PRId64, t->shape.dim[i]);
	fputc('\n', out);
	fwrite(values, sizeof(*values), (size_t)t->count, out);
	free(values);
}

static void dump_params(FILE *out, struct ws_step *step, const char *kind, int number,
                        bool gradients)
{
	const struct ws_graph *g = step->graph;

	for (int i = 0; i < g->tensor_count; i++) {
		const struct ws_tensor *t = g->tensors[i];

		if (t->role == WS_ROLE_PARAM)
			dump(out, step, kind, number, gradients ? t->grad : t, t->name);
	}
}

static enum ws_status run(const struct ws_step_command *c, FILE *out, struct ws_backend *backend,
                          struct ws_pool *pool, struct ws_err *err)
{
	struct ws_step *step;
	const struct ws_model_io *io;
	double loss;

	WS_FORWARD(ws_step_open(&c->run.step, backend, pool, &step, err));
	io = &step->io;
	dump_params(out, step, "first", 0, false);
	for (int i = 1; i <= (int)c->run.steps; i++) {
		WS_FORWARD(ws_step_run(step, "step", (uint64_t)i, &loss, err));
		dump(out, step, "input", i, io->input, "input");
		dump(out, step, "target", i, io->target, "target");
		dump(out, step, "loss", i, io->loss, "loss");
		dump_params(out, step, "gradient", i, true);
		dump_params(out, step, "parameter", i, false);
	}
	ws_step_close(step);
	return WS_OK;
}

int main(int argc, char **argv)
{
	const char *arguments[40] = {"dump_steps", "--device", "cpu", "--steps", "", "--model"};
	int n = 6;
	struct ws_step_command c;
	struct ws_pool *pool = NULL;
	struct ws_backend *backend;
	struct ws_err err = {0};
	enum ws_status status;
	FILE *out = argc > 3 ? fopen(argv[1], "wb") : NULL;

	if (!out)
		return 2;
	arguments[4] = argv[2];
	for (int i = 3; i < argc && n < 40; i++)
		arguments[n++] = argv[i];
	status = ws_step_command_parse(&c, n, (char **)arguments, &err);
	c.run.step.precision = &fp64;
	WS_THEN(status, ws_pool_create(1, &pool, &err));
	if (status == WS_OK) {
		backend = ws_backend_cpu_open(pool, 0);
		status = run(&c, out, backend, pool, &err);
		ws_backend_close(backend);
	}
	ws_pool_destroy(pool);
	if (status != WS_OK)
		fprintf(stderr, "dump_steps: %s\n", err.text);
	return fclose(out) || status != WS_OK ? 2 : 0;
}
