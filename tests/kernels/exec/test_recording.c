/*
 * Steps that a backend records once and replays, on a backend that does so to the letter: memory
 * is one block, a recording is the list of its ops. What comes out must be
 * what the plain backend computes, bit for bit.
 */
#include "kernels/run/step.h"
#include "tests/support/kernels_run.h"
#include "tests/support/precision_named.h"

#define RECORDED_MAX 2048

/* An op and its tensors as they were when it was recorded: only addresses survive. */
struct recorded {
	struct ws_op op;
	struct ws_tensor tensors[WS_OP_INPUTS_MAX + WS_OP_OUTPUTS_MAX];
	struct ws_tensor *all; /* of an op on many tensors */
	void *list;            /* its list of them */
};

struct recording {
	struct recorded ops[RECORDED_MAX];
	int count;
};

struct strict {
	struct ws_backend base;
	struct ws_backend *cpu;
	char *memory;
	struct recording *open;                   /* being recorded */
	int ran, recorded, replayed;              /* ops */
	const struct ws_op *loaded[RECORDED_MAX]; /* that ran, each once */
	int nloaded;
	int overflows; /* so many flags are set before they are read */
};

/* A kernel that never ran cannot be loaded while it is recorded. */
static bool is_loaded(const struct strict *s, const struct ws_op *op)
{
	for (int i = 0; i < s->nloaded; i++)
		if (s->loaded[i] == op)
			return true;
	return false;
}

static enum ws_status strict_prepare(struct ws_backend *backend, const struct ws_backend_plan *plan,
                                     void **block, struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;

	WS_FORWARD(s->cpu->ops->prepare(s->cpu, plan, block, err));
	s->memory = *block;
	return WS_OK;
}

static enum ws_status strict_upload(struct ws_backend *backend, void *data, uint64_t offset_bytes,
                                    const void *host, uint64_t size_bytes, struct ws_err *err)
{
	(void)backend;
	(void)err;
	memcpy((char *)data + offset_bytes, host, size_bytes);
	return WS_OK;
}

static enum ws_status strict_download(struct ws_backend *backend, const void *data,
                                      uint64_t offset_bytes, void *host, uint64_t size_bytes,
                                      struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;

	(void)err;
	cr_assert_null(s->open, "the host reads while a step is recorded");
	if (size_bytes == sizeof(float) && s->overflows > 0 && *(const float *)data == 0) {
		*(float *)(s->memory + ((const char *)data - s->memory)) = 1;
		s->overflows--;
	}
	memcpy(host, (const char *)data + offset_bytes, size_bytes);
	return WS_OK;
}

/* The tensors of one op on many, of which in and out have the first alone. */
static void keep_all(struct recorded *r, const struct ws_op *op)
{
	struct ws_update *u = &r->op.u.update;
	struct ws_update_row *rows;

	if (!ws_op_has_rows(op))
		return;
	r->all = calloc((size_t)u->count, WS_UPDATE_TENSORS * sizeof(*r->all));
	r->list = rows = calloc((size_t)u->count, sizeof(*rows));
	for (int i = 0; i < u->count * WS_UPDATE_TENSORS; i++) {
		const struct ws_tensor *t = u->list[i / WS_UPDATE_TENSORS].t[i % WS_UPDATE_TENSORS];

		if (!t)
			continue;
		r->all[i] = *t;
		rows[i / WS_UPDATE_TENSORS].t[i % WS_UPDATE_TENSORS] = &r->all[i];
	}
	u->list = rows;
}

static void keep(struct recorded *r, const struct ws_op *op)
{
	r->op = *op;
	for (int i = 0; i < op->in_count; i++) {
		r->tensors[i] = *op->in[i];
		r->op.in[i] = &r->tensors[i];
	}
	for (int i = 0; i < op->out_count; i++) {
		r->tensors[WS_OP_INPUTS_MAX + i] = *op->out[i];
		r->op.out[i] = &r->tensors[WS_OP_INPUTS_MAX + i];
	}
	keep_all(r, op);
}

static enum ws_status strict_run(struct ws_backend *backend, const struct ws_op *op,
                                 struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;

	if (s->open) {
		cr_assert_lt(s->open->count, RECORDED_MAX);
		cr_assert(is_loaded(s, op), "%s is loaded while it is recorded", op->message);
		keep(&s->open->ops[s->open->count++], op);
		s->recorded++;
		return WS_OK;
	}
	if (s->base.records && !is_loaded(s, op)) {
		cr_assert_lt(s->nloaded, RECORDED_MAX);
		s->loaded[s->nloaded++] = op;
	}
	s->ran++;
	return s->cpu->ops->run(s->cpu, op, err);
}

static enum ws_status strict_sync(struct ws_backend *backend, struct ws_err *err)
{
	(void)backend;
	(void)err;
	return WS_OK;
}

static enum ws_status strict_record_begin(struct ws_backend *backend, struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;

	(void)err;
	cr_assert_null(s->open);
	s->open = calloc(1, sizeof(*s->open));
	return WS_OK;
}

static enum ws_status strict_record_end(struct ws_backend *backend, void **recording,
                                        struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;

	(void)err;
	*recording = s->open;
	s->open = NULL;
	return WS_OK;
}

static enum ws_status strict_replay(struct ws_backend *backend, void *recording, struct ws_err *err)
{
	struct strict *s = (struct strict *)backend;
	const struct recording *r = recording;

	for (int i = 0; i < r->count; i++)
		WS_FORWARD(s->cpu->ops->run(s->cpu, &r->ops[i].op, err));
	s->replayed += r->count;
	return WS_OK;
}

static void strict_forget(struct ws_backend *backend, void *recording)
{
	struct recording *r = recording;

	(void)backend;
	for (int i = 0; i < r->count; i++) {
		free(r->ops[i].all);
		free(r->ops[i].list);
	}
	free(r);
}

static void strict_close(struct ws_backend *backend)
{
	struct strict *s = (struct strict *)backend;

	free(s);
}

static const struct ws_backend_ops strict_ops = {
        .name = "strict",
        .prepare = strict_prepare,
        .upload = strict_upload,
        .download = strict_download,
        .run = strict_run,
        .sync = strict_sync,
        .close = strict_close,
        .record_begin = strict_record_begin,
        .record_end = strict_record_end,
        .replay = strict_replay,
        .forget = strict_forget,
};

static struct strict *strict_open(struct ws_backend *cpu, bool records)
{
	struct strict *s = calloc(1, sizeof(*s));

	cr_assert_not_null(s);
	s->base.ops = &strict_ops;
	s->base.limit_bytes = UINT64_MAX;
	s->base.records = records;
	s->cpu = cpu;
	return s;
}

#define STEPS 8

static void run_steps(const struct ws_step_options *options, struct ws_backend *backend,
                      struct ws_pool *pool, double losses[STEPS], int64_t *skipped)
{
	struct ws_step *step = NULL;

	KERNELS_OK(ws_step_open(options, backend, pool, &step, err));
	for (int i = 0; i < STEPS; i++)
		KERNELS_OK(ws_step_run(step, "step", (uint64_t)i, &losses[i], err));
	*skipped = step->skipped;
	ws_step_close(step);
}

/* The same steps on the plain backend and on a strict one, which is returned. */
static struct strict *compare(const char *model, const char *precision, enum ws_fusion fusion,
                              int64_t interval)
{
	struct ws_step_options options = {
	        .model = ws_network_find(model),
	        .precision = precision_named(precision),
	        .phase = WS_STEP_FULL,
	        .fusion = fusion,
	        .batch = 2,
	        .context = 12,
	        .seed = 3,
	        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW_CS336),
	};
	double expected[STEPS], losses[STEPS];
	int64_t skipped, expected_skipped;
	struct ws_backend *cpu = NULL;
	struct ws_pool *pool = NULL;
	struct strict *strict;

	if (interval)
		options.loss_scale =
		        (struct ws_loss_scale){.kind = WS_LOSS_SCALE_DYNAMIC, .interval = interval};
	KERNELS_OK(ws_pool_create(1, &pool, err));
	cpu = ws_backend_cpu_open(pool, 0);
	strict = strict_open(cpu, true);
	run_steps(&options, cpu, pool, expected, &expected_skipped);
	run_steps(&options, &strict->base, pool, losses, &skipped);
	for (int i = 0; i < STEPS; i++)
		cr_assert(losses[i] == expected[i], "%s %s: step %d has loss %.17g, not %.17g",
		          model, precision, i, losses[i], expected[i]);
	cr_assert_eq(skipped, expected_skipped);
	cr_assert_eq(skipped > 0, interval > 0, "%lld updates were left out", (long long)skipped);
	ws_backend_close(cpu);
	ws_pool_destroy(pool);
	return strict;
}

static void close_strict(struct strict *s)
{
	cr_assert_eq(s->base.allocated_bytes, 0, "%llu bytes are still in use",
	             (unsigned long long)s->base.allocated_bytes);
	ws_backend_close(&s->base);
}

Test(recording, the_first_step_runs_the_second_is_recorded_all_others_are_replayed)
{
	struct strict *s = compare("transformer-tiny", "fp32", WS_FUSION_NONE, 0);

	cr_assert_eq(s->recorded, s->ran, "%d recorded, %d ran", s->recorded, s->ran);
	cr_assert_eq(s->replayed, (STEPS - 1) * s->recorded);
	close_strict(s);
	s = compare("transformer-tiny", "fp32", WS_FUSION_FULL, 0);
	cr_assert_eq(s->replayed, (STEPS - 1) * s->recorded);
	close_strict(s);
	s = compare("lenet5", "fp32", WS_FUSION_NONE, 0);
	cr_assert_eq(s->replayed, (STEPS - 1) * s->recorded);
	close_strict(s);
	s = compare("transformer-tiny", "bf16", WS_FUSION_NONE, 0);
	close_strict(s);
}

/* With a dynamic scale the first steps mostly overflow: their updates are left out. */
static struct strict *overflow_first(const struct ws_step_options *options, struct ws_pool *pool,
                                     bool records, double losses[STEPS])
{
	struct strict *s = strict_open(ws_backend_cpu_open(pool, 0), records);
	int64_t skipped;

	s->overflows = 2;
	run_steps(options, &s->base, pool, losses, &skipped);
	cr_expect_eq(skipped, 2);
	ws_backend_close(s->cpu);
	return s;
}

Test(recording, what_the_first_steps_left_out_runs_before_it_is_recorded)
{
	const struct ws_step_options options = {
	        .model = ws_network_find("transformer-tiny"),
	        .precision = precision_named("amp-fp16"),
	        .phase = WS_STEP_FULL,
	        .batch = 2,
	        .context = 12,
	        .seed = 3,
	        .optimizer = ws_optimizer_defaults(WS_OPTIMIZER_ADAMW),
	        .loss_scale = {.kind = WS_LOSS_SCALE_DYNAMIC},
	};
	double losses[STEPS], expected[STEPS];
	struct ws_pool *pool = NULL;
	struct strict *plain, *s;

	KERNELS_OK(ws_pool_create(1, &pool, err));
	plain = overflow_first(&options, pool, false, expected);
	s = overflow_first(&options, pool, true, losses);
	for (int i = 0; i < STEPS; i++)
		cr_expect(losses[i] == expected[i], "step %d has loss %.17g, not %.17g", i,
		          losses[i], expected[i]);
	cr_expect_eq(s->recorded, s->ran, "%d recorded, %d ran", s->recorded, s->ran);
	cr_expect_gt(s->replayed, 0);
	close_strict(plain);
	close_strict(s);
	ws_pool_destroy(pool);
}

/* A scale that doubles each step soon overflows fp16. */
Test(recording, an_update_that_a_flag_forbids_is_not_replayed)
{
	struct strict *s = compare("transformer-tiny", "amp-fp16", WS_FUSION_NONE, 1);

	cr_assert_gt(s->replayed, 0);
	close_strict(s);
	close_strict(compare("transformer-tiny", "amp-fp16", WS_FUSION_FULL, 1));
}
