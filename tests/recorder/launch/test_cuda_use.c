/* Which programs are taken for programs of CUDA, by their files and by what is mapped. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/launch/launch.h"

static char dir[] = "/tmp/ws_cuda_use.XXXXXX", path[64];

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
}

static void end(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(cuda_use, .init = begin, .fini = end, .timeout = 600);

/* What is said of a file with this string between two others. */
static int uses_cuda(const char *string)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	fprintf(f, "libc.so.6%c%s%ccudaMalloc", 0, string, 0);
	fclose(f);
	return ws_cuda_use_of_file(path);
}

Test(cuda_use, a_program_with_nothing_of_cuda_is_none)
{
	cr_expect_eq(uses_cuda("uselibcuda.so.1"), 0, "a name that only holds one of a library");
	cr_expect_eq(ws_cuda_use_of_file("/bin/sh"), 0);
	cr_expect_eq(ws_cuda_use_of_file("/nonexistent"), 0);
	cr_expect_eq(ws_cuda_use_of_file("/tmp"), 0);
}

Test(cuda_use, one_with_device_code_or_the_name_of_a_library_is)
{
	static const char *const names[] = {".nv_fatbin",    "libcudart.so.12",
	                                    "libcuda.so.1",  "libcublasLt.so.13",
	                                    "libcudnn.so.9", "libcudart-0e1f.so.12"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect_eq(uses_cuda(names[i]), 1, "%s", names[i]);
}

/* What is said of a file of so many bytes with the name of a library at this place. */
static int large_uses_cuda(long size, long at)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_eq(fseek(f, at, SEEK_SET), 0);
	fputs("libcudart.so.12", f);
	cr_assert_eq(ftruncate(fileno(f), size), 0);
	fclose(f);
	return ws_cuda_use_of_file(path);
}

Test(cuda_use, of_a_large_file_the_begin_and_the_end_are_looked_at)
{
	const long mib = 1 << 20;

	cr_expect_eq(large_uses_cuda(80 * mib, 63 * mib), 1);
	cr_expect_eq(large_uses_cuda(80 * mib, 80 * mib - 100), 1);
	cr_expect_eq(large_uses_cuda(80 * mib, 70 * mib), 0, "not all of a file of gigabytes");
	cr_expect_eq(large_uses_cuda(60 * mib, 50 * mib), 1, "all of a smaller one");
}

Test(cuda_use, of_a_process_it_is_what_it_has_in_memory)
{
	FILE *f;
	void *map;

	snprintf(path, sizeof(path), "%s/libcudart.so.13", dir);
	f = fopen(path, "w+");
	cr_assert_not_null(f);
	cr_assert_eq(ftruncate(fileno(f), 4096), 0);
	cr_expect_eq(ws_cuda_use_of_process((uint32_t)getpid()), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	cr_assert_neq(map, MAP_FAILED);
	cr_expect_eq(ws_cuda_use_of_process((uint32_t)getpid()), 1);
	munmap(map, 4096);
	fclose(f);
	cr_expect_eq(ws_cuda_use_of_process(UINT32_MAX), 0, "there is none");
}
