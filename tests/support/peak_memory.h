/* The most memory that the test had, to hold what must not load all of a file. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>

/* From now on; clear_refs: proc(5). */
static inline void begin_peak_memory(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	cr_assert(ne(ptr, f, NULL));
	fputs("5", f);
	cr_assert(eq(int, fclose(f), 0));
}

static inline long peak_memory_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	cr_assert(ne(ptr, f, NULL));
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(f);
#ifdef __SANITIZE_ADDRESS__
	kib = 0; /* what it holds back counts, too, and nothing is told of ours */
#endif
	return kib;
}
