/* First values that the GPU draws are those that the host draws, bit for bit. */
#include <criterion/criterion.h>

#include "kernels/cuda/own/launch.h"
#include "kernels/exec/init.h"

static const struct ws_cuda_launch launch = {.sm_count = 1};

/* Draw t as a backend is asked to, each part in `pieces`, and compare it with the host's. */
static void expect_the_host_s(struct ws_tensor *t, int pieces)
{
	struct ws_first_values rule;
	double *values;
	void *want;

	cr_assert(ws_shape_measure(&t->shape, t->dtype, &t->count, &t->size_bytes));
	values = malloc((size_t)t->count * sizeof(*values));
	want = malloc(t->size_bytes);
	t->data = malloc(t->size_bytes);
	ws_first_values(t, 3, &rule);
	for (int64_t i = 0; i < t->count; i++)
		values[i] = ws_first_value(&rule, i);
	ws_dtype_encode(t->dtype, values, want, t->count);
	for (int64_t part = 0; part < t->count; part += rule.part_count)
		for (int piece = 0; piece < pieces; piece++) {
			int64_t first = rule.part_count * piece / pieces;
			int64_t end = rule.part_count * (piece + 1) / pieces;
			struct ws_cuda_draw draw = {t, rule.rng[part / rule.part_count],
			                            part + first, end - first};
			struct ws_err err = {0};

			if (draw.count)
				cr_assert_eq(ws_cuda_draw(&launch, &draw, &err), WS_OK, "%s",
				             err.text);
		}
	cr_assert_arr_eq(t->data, want, t->size_bytes, "%s, rule %d, %d elements",
	                 ws_dtype_name(t->dtype), t->init.kind, (int)t->count);
	free(values);
	free(want);
	free(t->data);
}

static struct ws_tensor tensor(enum ws_dtype dtype, enum ws_init_kind kind, struct ws_shape shape)
{
	return (struct ws_tensor){.name = "weight",
	                          .dtype = dtype,
	                          .init = {kind, 0.7},
	                          .shape = shape};
}

#define EACH_RULE(kind)                                                              \
	for (enum ws_init_kind kind = WS_INIT_FILL; kind <= WS_INIT_UNIFORM; kind++) \
		if (kind != WS_INIT_ROPE_TABLE)

Test(draw, each_rule_in_each_dtype)
{
	static const enum ws_dtype dtypes[] = {WS_DTYPE_F32, WS_DTYPE_BF16, WS_DTYPE_F16};
	static const int64_t counts[] = {1, 7, 33, 1000, 20011};

	EACH_RULE(kind)
	for (size_t d = 0; d < sizeof(dtypes) / sizeof(*dtypes); d++)
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			struct ws_tensor t = tensor(dtypes[d], kind, WS_SHAPE(counts[c]));

			expect_the_host_s(&t, 1);
			expect_the_host_s(&t, 3);
		}
}

Test(draw, whole_numbers_are_filled)
{
	struct ws_tensor t = tensor(WS_DTYPE_I32, WS_INIT_FILL, WS_SHAPE(33));

	t.init.value = -5;
	expect_the_host_s(&t, 1);
}

Test(draw, each_part_from_its_own_stream)
{
	EACH_RULE(kind)
	{
		struct ws_tensor t = tensor(WS_DTYPE_F32, kind, WS_SHAPE(3 * 7, 11));

		t.parts = 3;
		t.part[0] = "q";
		t.part[1] = "k";
		t.part[2] = "v";
		expect_the_host_s(&t, 1);
		expect_the_host_s(&t, 2);
	}
}

Test(draw, filters_of_nhwc_in_the_order_of_nchw)
{
	EACH_RULE(kind)
	{
		struct ws_tensor t = tensor(WS_DTYPE_F32, kind, WS_SHAPE(5, 3, 7, 18));

		t.channels_last = true;
		expect_the_host_s(&t, 1);
		expect_the_host_s(&t, 2);
	}
}

Test(draw, what_only_the_host_can_make_is_refused)
{
	struct ws_tensor table = tensor(WS_DTYPE_F32, WS_INIT_ROPE_TABLE, WS_SHAPE(2, 3, 4));
	struct ws_tensor doubles = tensor(WS_DTYPE_F64, WS_INIT_NORMAL, WS_SHAPE(3));
	struct ws_cuda_draw draw = {.t = &table, .count = 24};
	struct ws_err err = {0};

	table.count = 24;
	cr_assert_eq(ws_cuda_draw(&launch, &draw, &err), WS_BUG);
	draw.t = &doubles;
	cr_assert_eq(ws_cuda_draw(&launch, &draw, &err), WS_BUG);
	cr_assert(strstr(err.text, "fp64"), "%s", err.text);
}
