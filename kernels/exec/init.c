#include "kernels/exec/init.h"

void ws_first_values(const struct ws_tensor *t, uint64_t seed, struct ws_first_values *values)
{
	int parts = t->parts ? t->parts : 1;

	values->t = t;
	values->part_count = t->count / parts;
	for (int i = 0; i < parts; i++)
		values->rng[i] = ws_rng_stream(seed, t->parts ? t->part[i] : t->name);
}

static double rope_value(const struct ws_tensor *t, int64_t i)
{
	int64_t pairs = t->shape.dim[2], time = i / pairs % t->shape.dim[1], pair = i % pairs;
	double angle = (double)time * pow(t->init.value, -(double)pair / (double)pairs);

	return i < t->count / 2 ? cos(angle) : sin(angle);
}

/* The place of element i of a filter [k, r, s, c] in [k, c, r, s], whose order it is drawn in. */
static int64_t channels_first(const struct ws_shape *shape, int64_t i)
{
	int64_t channels = shape->dim[3], window = shape->dim[1] * shape->dim[2];
	int64_t k = i / (window * channels), rest = i % (window * channels);

	return (k * channels + rest % channels) * window + rest / channels;
}

double ws_first_value(const struct ws_first_values *values, int64_t i)
{
	const struct ws_tensor *t = values->t;
	const struct ws_rng *rng;
	uint64_t number;

	if (t->init.kind == WS_INIT_ROPE_TABLE)
		return rope_value(t, i);
	if (t->channels_last)
		i = channels_first(&t->shape, i);
	rng = &values->rng[i / values->part_count];
	number = (uint64_t)(i % values->part_count);
	switch (t->init.kind) {
	case WS_INIT_TRUNC_NORMAL:
		return t->init.value * ws_rng_normal(rng, number, WS_INIT_CUT);
	case WS_INIT_NORMAL:
		return t->init.value * ws_rng_normal(rng, number, HUGE_VAL);
	case WS_INIT_UNIFORM:
		return t->init.value * (2 * ws_rng_uniform(rng, number) - 1);
	default:
		return t->init.value;
	}
}
