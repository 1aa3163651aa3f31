/* Which programs are taken for programs of CUDA, by their files and by what is mapped. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/gpu/cuda_use.h"

/* A program of four sections: none, their names, strings of dynamic linking, something else. */
static struct program {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	char names[64];
	char dynamic[64];
} program;

static char dir[] = "/tmp/ws_cuda_use.XXXXXX", path[64];

static void begin(void)
{
	static const char dynamic[] = "\0libc.so.6\0cudaMalloc\0uselibcuda.so.1";
	static const char names[] = "\0.shstrtab\0.dynstr\0.data";

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	memcpy(program.header.e_ident, ELFMAG, SELFMAG);
	program.header.e_ident[EI_CLASS] = ELFCLASS64;
	program.header.e_shoff = offsetof(struct program, sections);
	program.header.e_shentsize = sizeof(Elf64_Shdr);
	program.header.e_shnum = 4;
	program.header.e_shstrndx = 1;
	memcpy(program.names, names, sizeof(names));
	memcpy(program.dynamic, dynamic, sizeof(dynamic));
	program.sections[1] = (Elf64_Shdr){.sh_name = 1,
	                                   .sh_type = SHT_STRTAB,
	                                   .sh_offset = offsetof(struct program, names),
	                                   .sh_size = sizeof(program.names)};
	program.sections[2] = (Elf64_Shdr){.sh_name = 11,
	                                   .sh_type = SHT_STRTAB,
	                                   .sh_flags = SHF_ALLOC,
	                                   .sh_offset = offsetof(struct program, dynamic),
	                                   .sh_size = sizeof(program.dynamic)};
	program.sections[3] = (Elf64_Shdr){.sh_name = 19, .sh_type = SHT_PROGBITS};
}

static void end(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(cuda_use, .init = begin, .fini = end, .timeout = 600);

static void put(char *to, const char *text)
{
	memcpy(to, text, strlen(text) + 1);
}

/* What is said of the first `size` bytes of the program. */
static int uses_cuda(size_t size)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(&program, 1, size, f), size);
	fclose(f);
	return ws_cuda_use_of_file(path);
}

Test(cuda_use, a_program_with_nothing_of_cuda_is_none)
{
	cr_expect_eq(uses_cuda(sizeof(program)), 0, "names that only hold one of a library");
	cr_expect_eq(ws_cuda_use_of_file("/proc/self/exe"), 0);
	cr_expect_eq(ws_cuda_use_of_file("/nonexistent"), 0);
	cr_expect_eq(ws_cuda_use_of_file("/tmp"), 0);
}

Test(cuda_use, one_with_device_code_is)
{
	put(program.names + 19, ".nv_fatbin");
	cr_expect_eq(uses_cuda(sizeof(program)), 1);
}

Test(cuda_use, one_that_is_linked_to_the_runtime_or_the_driver_is)
{
	static const char *const names[] = {"libcudart.so.12", "libcuda.so.1", "libcublasLt.so.13",
	                                    "libcudnn.so.9", "libcudart-0e1f.so.12"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		put(program.dynamic + 1, names[i]);
		cr_expect_eq(uses_cuda(sizeof(program)), 1, "%s", names[i]);
	}
	program.sections[2].sh_flags = 0;
	cr_expect_eq(uses_cuda(sizeof(program)), 0, "strings of another use");
}

Test(cuda_use, a_damaged_file_is_none_and_no_crash)
{
	static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 1, INT64_MAX, sizeof(program)};

	put(program.dynamic + 1, "libcudart.so.12");
	for (size_t size = 0; size < offsetof(struct program, dynamic) + 16; size++)
		cr_expect_eq(uses_cuda(size), 0, "%zu bytes", size);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct program whole = program;

		program.sections[2].sh_offset = offsets[i];
		cr_expect_eq(uses_cuda(sizeof(program)), 0);
		program = whole;
		program.sections[2].sh_size = offsets[i];
		cr_expect_eq(uses_cuda(sizeof(program)), 0);
		program = whole;
		program.header.e_shoff = offsets[i];
		cr_expect_eq(uses_cuda(sizeof(program)), 0);
		program = whole;
	}
	memset(program.dynamic + 1, 'x', sizeof(program.dynamic) - 1);
	cr_expect_eq(uses_cuda(sizeof(program)), 0, "the last string has no end");
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
