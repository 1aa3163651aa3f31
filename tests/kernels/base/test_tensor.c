#include <criterion/criterion.h>

#include "kernels/base/tensor.h"

static struct ws_tensor of(struct ws_shape shape)
{
	struct ws_tensor t = {.shape = shape};

	cr_assert(ws_shape_measure(&shape, WS_DTYPE_F32, &t.count, &t.size_bytes));
	return t;
}

Test(tensor, a_shape_counts_elements_and_bytes)
{
	struct ws_shape shape = WS_SHAPE(3, 5, 7);
	int64_t count;
	uint64_t size_bytes;

	cr_assert_eq(shape.ndim, 3);
	cr_assert(ws_shape_measure(&shape, WS_DTYPE_BF16, &count, &size_bytes));
	cr_assert_eq(count, 105);
	cr_assert_eq(size_bytes, 210);
}

Test(tensor, sizes_that_overflow_or_are_not_positive_are_refused)
{
	struct ws_shape shapes[] = {
	        WS_SHAPE(INT64_MAX, 2),
	        WS_SHAPE((int64_t)1 << 32, (int64_t)1 << 32),
	        WS_SHAPE((int64_t)1 << 61, 1), /* counts, but 4 bytes each do not */
	        WS_SHAPE(4, 0),
	        WS_SHAPE(-1),
	        {.ndim = 0},
	        {.ndim = WS_DIMS_MAX + 1},
	};
	int64_t count;
	uint64_t size_bytes;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		cr_assert_not(ws_shape_measure(&shapes[i], WS_DTYPE_F32, &count, &size_bytes),
		              "shape %zu", i);
}

Test(tensor, rows_and_columns_are_all_but_the_last_dimension_and_the_last)
{
	struct ws_tensor t = of(WS_SHAPE(2, 3, 4)), vector = of(WS_SHAPE(5));

	cr_assert_eq(ws_tensor_rows(&t), 6);
	cr_assert_eq(ws_tensor_cols(&t), 4);
	cr_assert_eq(ws_tensor_rows(&vector), 1);
	cr_assert_eq(ws_tensor_cols(&vector), 5);
}

Test(tensor, broadcast_form_follows_from_the_shapes)
{
	struct ws_tensor result = of(WS_SHAPE(2, 3, 4));
	struct ws_tensor same = of(WS_SHAPE(6, 4)), row = of(WS_SHAPE(4)),
	                 col = of(WS_SHAPE(2, 3, 1));
	struct ws_tensor scalar = of(WS_SHAPE(1)), wrong = of(WS_SHAPE(3)), flat = of(WS_SHAPE(6));

	cr_assert_eq(ws_tensor_broadcast(&same, &result), WS_BROADCAST_SAME);
	cr_assert_eq(ws_tensor_broadcast(&row, &result), WS_BROADCAST_ROW);
	cr_assert_eq(ws_tensor_broadcast(&col, &result), WS_BROADCAST_COL);
	cr_assert_eq(ws_tensor_broadcast(&scalar, &result), WS_BROADCAST_SCALAR);
	cr_assert_eq(ws_tensor_broadcast(&wrong, &result), WS_BROADCAST_NONE);
	/* as many numbers as rows, but not one a row: [6] is a row of six */
	cr_assert_eq(ws_tensor_broadcast(&flat, &result), WS_BROADCAST_NONE);
}

/* One number for one row is the sum's shape, so that its gradient is a row sum. */
Test(tensor, one_number_over_one_row_is_one_number_a_row)
{
	struct ws_tensor result = of(WS_SHAPE(1, 4)), column = of(WS_SHAPE(4, 1));
	struct ws_tensor one = of(WS_SHAPE(1, 1));

	cr_assert_eq(ws_tensor_broadcast(&one, &result), WS_BROADCAST_COL);
	cr_assert_eq(ws_tensor_broadcast(&one, &column), WS_BROADCAST_ROW);
}

Test(tensor, a_square_result_tells_row_and_column_apart)
{
	struct ws_tensor result = of(WS_SHAPE(4, 4)), row = of(WS_SHAPE(4)),
	                 col = of(WS_SHAPE(4, 1));

	cr_assert_eq(ws_tensor_broadcast(&row, &result), WS_BROADCAST_ROW);
	cr_assert_eq(ws_tensor_broadcast(&col, &result), WS_BROADCAST_COL);
}
