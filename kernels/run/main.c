/*
 * warpsheet-step: run training steps of a known model.
 *
 * stdout carries data only (--dump-loss, --help, --version); words go to stderr.
 */
#include <unistd.h>

#include "kernels/run/step.h"

#define PROGRAM "warpsheet-step"

static enum ws_status dump_loss(void *arg, bool warmup, int64_t number, double loss,
                                struct ws_err *err)
{
	(void)arg;
	/* the sign of a NaN says nothing and differs from machine to machine */
	printf("%lld,%d,%.9g\n", (long long)number, warmup, isnan(loss) ? fabs(loss) : loss);
	WS_FAIL_IF(fflush(stdout) != 0, err, IO_WRITE, "stdout: %s", strerror(errno));
	return WS_OK;
}

static void warn_not_finite(const char *step)
{
	fprintf(stderr,
	        PROGRAM ": warning: the loss is not finite in %s: times hold, values do not\n",
	        step);
}

/* A line on the terminal that renews itself: the step that begins. */
static void show_progress(int64_t step, int64_t steps, bool warmup)
{
	if (step < steps)
		fprintf(stderr, "\r" PROGRAM ": step %lld of %lld%s\033[K", (long long)step + 1,
		        (long long)steps, warmup ? " (warm-up)" : "");
	else
		fputs("\r\033[K", stderr);
}

static enum ws_status run(struct ws_step_command *c, struct ws_err *err)
{
	struct ws_pool *pool = NULL;
	struct ws_backend *backend = NULL;
	char why[640];

	if (c->dump_loss) {
		c->run.report = dump_loss;
		printf("Step,Warm-up,Loss\n");
	}
	if (c->scale_ignored)
		fprintf(stderr, PROGRAM ": --dtype %s has no loss scale: --loss-scale is ignored\n",
		        c->run.step.precision->name);
	if (c->epsilon_is_large)
		fprintf(stderr,
		        PROGRAM
		        ": --dtype fp16 holds no 1e-8: --epsilon is %g unless it is given\n",
		        c->run.step.optimizer.eps);
	c->run.not_finite = warn_not_finite;
	enum ws_status status = ws_pool_create((int)c->threads, &pool, err);
	WS_THEN(status, ws_backend_open(&c->backend, pool, &backend, why, sizeof(why), err));
	if (status == WS_OK) {
		fprintf(stderr, PROGRAM ": %s\n", why);
		c->run.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
		status = ws_step_run_all(&c->run, backend, pool, err);
	}
	ws_backend_close(backend);
	ws_pool_destroy(pool);
	return status;
}

int main(int argc, char **argv)
{
	struct ws_step_command c;
	struct ws_err err = {0};
	enum ws_status status = ws_step_command_parse(&c, argc, argv, &err);

	if (status != WS_OK) {
		/* reported below */
	} else if (c.help && c.help_model) {
		printf("%s: %s\n\noptions of this model:\n", c.help_model->name,
		       c.help_model->summary);
		ws_step_command_print_options(stdout, c.help_model);
	} else if (c.help) {
		printf("usage: " PROGRAM " --model NAME [options]\n\n"
		       "Run training steps of a known model, on a GPU or on the CPU reference, "
		       "and\n"
		       "annotate every operation for `warpsheet record`.\n\noptions:\n");
		ws_step_command_print_options(stdout, NULL);
		printf("\nmodels:\n");
		for (int i = 0; ws_network_at(i); i++)
			printf("  %-19s %s\n", ws_network_at(i)->name, ws_network_at(i)->summary);
		printf("\nexit status: 0 done, 2 usage, 3 data file, 4 output,\n"
		       "5 machine (no such device, out of memory), 70 bug\n");
	} else if (c.version) {
		printf(PROGRAM " " WS_VERSION "\n");
	} else if (c.describe) {
		status = ws_describe(&c.run.step, stdout, &err);
	} else if (c.print_dtypes) {
		status = ws_dtypes_print(&c.run.step, stdout, &err);
	} else {
		status = run(&c, &err);
	}
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
