/*
 * A program of PyTorch's, as far as the recorder sees one (fake_torch.c). Usage:
 *   victim_torch shapes N       an operation of N shapes, twice; then two others, 5,000 times each
 *   victim_torch threads N      N threads one after the other, with an operation each
 *   victim_torch ranges DEPTH   annotations DEPTH deep, then one at top level
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorder/record/torch/fake_torch.h"

static void *one_op(void *arg)
{
	fake_op("aten::short", 1);
	return arg;
}

int main(int argc, char **argv)
{
	const int n = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

	if (!n)
		return 2;
	if (!strcmp(argv[1], "shapes")) {
		for (int i = 0; i < 2 * n; i++)
			fake_op("aten::growing", 1 + i % n);
		for (int i = 0; i < 5000; i++) {
			fake_op("aten::cos_", 2 * n + i);
			fake_op("aten::sigmoid", 2 * n + i);
		}
	} else if (!strcmp(argv[1], "threads")) {
		for (int i = 0; i < n; i++) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, one_op, NULL))
				return 1;
			pthread_join(thread, NULL);
		}
	} else {
		fake_ranges("deep", (unsigned)n);
		fake_ranges("top", 1);
	}
	return 0;
}
