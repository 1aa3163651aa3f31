/*
 * Golden tensors: `tensor NAME D0xD1x…` and then the values (tests/fixtures/).
 */
#pragma once

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/paths.h"

/* Values of a tensor of a file of fixtures/golden, for free(); fails the test when it is not there.
 */
static inline double *golden_read(const char *file, const char *name, int64_t count)
{
	char path[512], word[128], dims[64];
	double *values = calloc((size_t)count, sizeof(*values));
	FILE *in;

	snprintf(path, sizeof(path), "%s/golden/%s.txt", WS_FIXTURES, file);
	in = fopen(path, "r");
	cr_assert_not_null(in, "%s", path);
	cr_assert_not_null(values);
	while (fscanf(in, "%127s", word) == 1) {
		if (strcmp(word, "tensor"))
			continue;
		cr_assert_eq(fscanf(in, "%127s %63s", word, dims), 2);
		if (strcmp(word, name))
			continue;
		for (int64_t i = 0; i < count; i++)
			cr_assert_eq(fscanf(in, "%lf", &values[i]), 1, "%s ends at value %d", name,
			             (int)i);
		/* not one value more: the sizes agree */
		cr_assert(fscanf(in, "%127s", word) != 1 || !strcmp(word, "tensor"),
		          "%s has more than %d values", name, (int)count);
		fclose(in);
		return values;
	}
	cr_assert_fail("no tensor %s in %s", name, path);
	return NULL;
}
