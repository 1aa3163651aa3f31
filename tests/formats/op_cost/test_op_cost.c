/* Costs of operations as costs.txt has them; values and names of those of the public header. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/op_cost/op_cost.h"
#include "formats/schema/schema.h"
#include "kernels/nvtx/warpsheet_nvtx.h"
#include "tests/support/paths.h"

Test(op_cost, values_of_kinds_directions_and_dtypes_are_those_of_the_public_header)
{
	static const int same[][2] = {{WS_NVTX_OP_OTHER, WSNVTX_OP_other},
	                              {WS_NVTX_OP_GEMM, WSNVTX_OP_gemm},
	                              {WS_NVTX_OP_CONV, WSNVTX_OP_conv},
	                              {WS_NVTX_OP_ATTENTION, WSNVTX_OP_attention},
	                              {WS_NVTX_OP_SOFTMAX, WSNVTX_OP_softmax},
	                              {WS_NVTX_OP_NORM, WSNVTX_OP_norm},
	                              {WS_NVTX_OP_ACTIVATION, WSNVTX_OP_activation},
	                              {WS_NVTX_OP_ELEMENTWISE, WSNVTX_OP_elementwise},
	                              {WS_NVTX_OP_EMBEDDING, WSNVTX_OP_embedding},
	                              {WS_NVTX_OP_LOSS, WSNVTX_OP_loss},
	                              {WS_NVTX_OP_OPTIMIZER, WSNVTX_OP_optimizer},
	                              {WS_NVTX_OP_REDUCE, WSNVTX_OP_reduce},
	                              {WS_NVTX_OP_COPY, WSNVTX_OP_copy},
	                              {WS_NVTX_OP_CAST, WSNVTX_OP_cast},
	                              {WS_NVTX_OP_POOL, WSNVTX_OP_pool},
	                              {WS_NVTX_OP_RNG, WSNVTX_OP_rng},
	                              {WS_NVTX_OP_FILL, WSNVTX_OP_fill},
	                              {WS_OP_FORWARD, WSNVTX_DIRECTION_forward},
	                              {WS_OP_BACKWARD, WSNVTX_DIRECTION_backward},
	                              {WS_DTYPE_FP32, WSNVTX_DTYPE_fp32},
	                              {WS_DTYPE_FP16, WSNVTX_DTYPE_fp16},
	                              {WS_DTYPE_BF16, WSNVTX_DTYPE_bf16},
	                              {WS_DTYPE_FP64, WSNVTX_DTYPE_fp64},
	                              {WS_DTYPE_INT8, WSNVTX_DTYPE_int8},
	                              {WS_DTYPE_INT32, WSNVTX_DTYPE_int32},
	                              {WS_DTYPE_INT64, WSNVTX_DTYPE_int64},
	                              {WS_DTYPE_FP8, WSNVTX_DTYPE_fp8},
	                              {WS_DTYPE_BOOL8, WSNVTX_DTYPE_bool8}};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		cr_expect(eq(int, same[i][0], same[i][1]), "%zu", i);
}

/* The unit text of a column names exactly the entries of a list of the public header. */
static void column_lists(int column, const char *const *names, const int *values, size_t n)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_OP_CONFIG);
	const char *unit = def->columns[column].unit;
	size_t entries = 1;

	for (const char *c = unit; *c; c++)
		entries += *c == ',';
	cr_assert(eq(sz, entries, n));
	for (size_t i = 0; i < n; i++) {
		struct ws_bytes name = ws_enum_name(unit, (uint64_t)values[i]);

		cr_assert(eq(sz, name.len, strlen(names[i])), "%s", names[i]);
		cr_assert(eq(int, memcmp(name.ptr, names[i], name.len), 0), "%s", names[i]);
	}
}

Test(op_cost, columns_of_op_config_name_the_entries_of_the_public_header)
{
#define NAME(name, value)  #name,
#define VALUE(name, value) value,
	static const char *const kinds[] = {WSNVTX_OP_KIND_LIST(NAME)};
	static const int kind_values[] = {WSNVTX_OP_KIND_LIST(VALUE)};
	static const char *const dtypes[] = {WSNVTX_DTYPE_LIST(NAME)};
	static const int dtype_values[] = {WSNVTX_DTYPE_LIST(VALUE)};
	static const char *const directions[] = {WSNVTX_DIRECTION_LIST(NAME)};
	static const int direction_values[] = {WSNVTX_DIRECTION_LIST(VALUE)};

	column_lists(WS_COL_op_config_kind, kinds, kind_values, sizeof(kinds) / sizeof(*kinds));
	column_lists(WS_COL_op_config_dtype, dtypes, dtype_values,
	             sizeof(dtypes) / sizeof(*dtypes));
	column_lists(WS_COL_op_config_direction, directions, direction_values,
	             sizeof(directions) / sizeof(*directions));
}

/* What stands behind `=` in a line of costs.txt. */
static void print_cost(const struct ws_op_cost *c, char *out, size_t size)
{
	static const char *const known[] = {"nothing", "flops", "all"};
	static const char *const masks[] = {"", "none", "causal"};
	const struct ws_column_def *columns = ws_schema_kind(WS_KIND_OP_CONFIG)->columns;
	const struct ws_bytes kind = ws_enum_name(columns[WS_COL_op_config_kind].unit, c->kind),
	                      dtype = ws_enum_name(columns[WS_COL_op_config_dtype].unit, c->dtype);
	size_t n = (size_t)snprintf(out, size, "%.*s %.*s %s %llu %llu %llu", (int)kind.len,
	                            (const char *)kind.ptr, (int)dtype.len, (const char *)dtype.ptr,
	                            known[c->known], (unsigned long long)c->flops,
	                            (unsigned long long)c->bytes_read,
	                            (unsigned long long)c->bytes_written);

	if (c->batch)
		n += (size_t)snprintf(out + n, size - n, " %llux%llux%llux%llu",
		                      (unsigned long long)c->batch, (unsigned long long)c->m,
		                      (unsigned long long)c->n, (unsigned long long)c->k);
	if (c->mask)
		snprintf(out + n, size - n, " %s %llu", masks[c->mask],
		         (unsigned long long)c->flops_needed);
}

/* The next part of a line, up to " | ". */
static struct ws_bytes next_part(char **rest)
{
	char *begin = *rest, *end = begin ? strstr(begin, " | ") : NULL;

	*rest = end ? end + 3 : NULL;
	if (!begin)
		return (struct ws_bytes){"", 0};
	return (struct ws_bytes){begin, end ? (size_t)(end - begin) : strlen(begin)};
}

Test(op_cost, costs_are_those_of_the_list)
{
	FILE *f = fopen(WS_SOURCE_DIR "/tests/formats/op_cost/costs.txt", "r");
	char line[1000], copy[1000], got[200];
	size_t n = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *expected = strstr(line, " = "), *rest = copy;
		struct ws_op_desc op;
		struct ws_op_cost cost;

		if (*line == '#' || !expected)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(copy, sizeof(copy), "%.*s", (int)(expected - line), line);
		op.name = next_part(&rest);
		op.dims = next_part(&rest);
		op.types = next_part(&rest);
		op.inputs = next_part(&rest);
		op.strides = next_part(&rest);
		ws_op_cost(&op, &cost);
		print_cost(&cost, got, sizeof(got));
		cr_expect_str_eq(got, expected + 3, "%s: %s", copy, got);
		n++;
	}
	fclose(f);
	cr_expect(gt(sz, n, 120));
}
