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

double ws_first_value(const struct ws_first_values *values, int64_t i)
{
	const struct ws_tensor *t = values->t;

	if (t->init.kind == WS_INIT_ROPE_TABLE)
		return rope_value(t, i);
	if (t->channels_last)
		i = ws_init_channels_first(&t->shape, i);
	return ws_init_draw(&t->init, &values->rng[i / values->part_count],
	                    (uint64_t)(i % values->part_count));
}
