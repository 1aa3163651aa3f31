#include "tests/recorder/cuda/cuda_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cuda_begin(struct run *r)
{
	run_begin(r);
	/* Criterion forks for each test, so these are the caller's, if anybody's */
	for (char **e = environ; *e;) {
		char name[64];

		if (strncmp(*e, "FAKE_CU", strlen("FAKE_CU")) != 0) {
			e++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		unsetenv(name);
		e = environ;
	}
	setenv("LD_LIBRARY_PATH", WS_TEST_FAKES, 1);
	setenv("WARPSHEET_CUPTI_PATH", WS_TEST_FAKES "/libcupti-fake.so", 1);
}

/* Row of the call with this correlation id. */
static int64_t *calls_by_correlation(const struct probe *p, uint64_t *size)
{
	int64_t *row;

	*size = 1;
	for (uint64_t i = 0; i < ROWS(p, api); i++)
		if ((CELL(p, api, correlation, i) & UINT32_MAX) >= *size)
			*size = (CELL(p, api, correlation, i) & UINT32_MAX) + 1;
	row = malloc(*size * sizeof(*row));
	cr_assert_not_null(row);
	memset(row, 0xFF, *size * sizeof(*row));
	for (uint64_t i = 0; i < ROWS(p, api); i++)
		row[CELL(p, api, correlation, i) & UINT32_MAX] = (int64_t)i;
	return row;
}

static void check_config(const struct probe *p, uint64_t config, uint64_t node)
{
	static const char *const names[] = {"_Z4gemmPfS_i", "_Z7softmaxPf", "_Z4castPfPh",
	                                    "_Z4adamPf", "_Z5scalePf"};
	uint64_t k = (node - 1) % 5;

	cr_assert_eq(CELL(p, launch_config, id, config - 1), config);
	cr_assert_str_eq(TEXT(p, launch_config, name, config - 1), names[k]);
	cr_assert_eq(CELL(p, launch_config, grid_x, config - 1), k + 1);
	cr_assert_eq(CELL(p, launch_config, block_x, config - 1), 256);
	cr_assert_eq(CELL(p, launch_config, registers, config - 1), 32);
	cr_assert_eq(CELL(p, launch_config, stream, config - 1), 7);
}

void cuda_check_launches(const struct probe *p, uint64_t n)
{
	uint8_t *seen = calloc(n + 1, 1);
	uint64_t size, checked = 0;
	int64_t *call = calls_by_correlation(p, &size);

	for (uint64_t i = 0; i < ROWS(p, kernel); i++) {
		uint64_t node = CELL(p, kernel, graph_node, i);
		uint64_t correlation = CELL(p, kernel, correlation, i) & UINT32_MAX;
		uint64_t row;

		cr_assert(node >= 1 && node <= n, "launch %lu was never made", (unsigned long)node);
		cr_assert_eq(seen[node]++, 0, "launch %lu is there twice", (unsigned long)node);
		/* texts are slow to look up: each distinct one, and some more */
		if (checked < 1000 && ++checked)
			check_config(p, CELL(p, kernel, config, i), node);
		cr_assert(correlation < size && call[correlation] >= 0, "launch %lu has no call",
		          (unsigned long)node);
		row = (uint64_t)call[correlation];
		cr_assert_eq(CELL(p, api, dur_ns, row), 940);
		if (!CELL(p, kernel, flags, i)) {
			cr_assert_eq(CELL(p, kernel, dur_ns, i), 1000);
			cr_assert_eq(CELL(p, kernel, start_ns, i),
			             CELL(p, api, start_ns, row) + CUDA_CALL_TO_KERNEL_NS);
		}
	}
	cr_expect_eq(ROWS(p, kernel), n, "%lu of %lu launches are there",
	             (unsigned long)ROWS(p, kernel), (unsigned long)n);
	free(call);
	free(seen);
}
