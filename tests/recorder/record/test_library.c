/*
 * What the collector brings into a traced program, read from its ELF file:
 * it must need nothing but the C library, export nothing but its entry
 * points, and stay loaded.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/nvtx/abi.h"
#include "tests/support/paths.h"

static const char *image;
static size_t image_size;

static void load(void)
{
	struct stat st;
	int fd = open(WS_TEST_COLLECTOR, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	image_size = (size_t)st.st_size;
	image = mmap(NULL, image_size, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq(image, MAP_FAILED);
	close(fd);
}

TestSuite(library, .init = load);

/* The first section of this type; *strings is the string table that goes with it. */
static const Elf64_Shdr *section(uint32_t type, const char **strings)
{
	const Elf64_Ehdr *ehdr = (const void *)image;
	const Elf64_Shdr *shdr = (const void *)(image + ehdr->e_shoff);

	for (int i = 0; i < ehdr->e_shnum; i++) {
		if (shdr[i].sh_type == type) {
			*strings = image + shdr[shdr[i].sh_link].sh_offset;
			return &shdr[i];
		}
	}
	cr_assert(0, "no section of type %u", type);
	return NULL;
}

Test(library, it_needs_the_c_library_and_nothing_else)
{
	const char *strings;
	const Elf64_Shdr *dynamic = section(SHT_DYNAMIC, &strings);
	const Elf64_Dyn *dyn = (const void *)(image + dynamic->sh_offset);
	int needed = 0;

	for (; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag != DT_NEEDED)
			continue;
		needed++;
		cr_expect_str_eq(strings + dyn->d_un.d_val, "libc.so.6");
	}
	cr_expect_eq(needed, 1);
}

Test(library, it_stays_loaded_when_nvtx_closes_it)
{
	const char *strings;
	const Elf64_Shdr *dynamic = section(SHT_DYNAMIC, &strings);
	const Elf64_Dyn *dyn = (const void *)(image + dynamic->sh_offset);
	uint64_t flags = 0;

	for (; dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == DT_FLAGS_1)
			flags = dyn->d_un.d_val;
	cr_expect(flags & DF_1_NODELETE);
}

Test(library, it_exports_its_entry_points_and_nothing_else)
{
	const char *strings;
	const Elf64_Shdr *symbols = section(SHT_DYNSYM, &strings);
	const Elf64_Sym *sym = (const void *)(image + symbols->sh_offset);
	static const char *const entries[] = {WSN_INIT_SYMBOL,
	                                      WSN_EXT_INIT_SYMBOL,
	                                      "InitializeInjection",
	                                      "dlopen",
	                                      "warpsheet_module_begin",
	                                      "warpsheet_module_end",
	                                      "warpsheet_root_begin",
	                                      "warpsheet_root_end",
	                                      "warpsheet_module_hooks",
	                                      "warpsheet_on_module_hooks",
	                                      "warpsheet_push",
	                                      "warpsheet_pop",
	                                      "warpsheet_fact",
	                                      "warpsheet_optimizer",
	                                      "warpsheet_optimizer_stepped"};
	int found[sizeof(entries) / sizeof(*entries)] = {0};

	for (size_t i = 0; i < symbols->sh_size / sizeof(*sym); i++) {
		const char *name = strings + sym[i].st_name;

		if (sym[i].st_shndx == SHN_UNDEF || ELF64_ST_BIND(sym[i].st_info) == STB_LOCAL)
			continue;
		int known = 0;

		for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++) {
			found[k] += !strcmp(name, entries[k]);
			known |= !strcmp(name, entries[k]);
		}
		cr_expect(known, "%s is exported", name);
	}
	for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++)
		cr_expect_eq(found[k], 1, "%s", entries[k]);
}

Test(library, its_thread_local_storage_is_small)
{
	const Elf64_Ehdr *ehdr = (const void *)image;
	const Elf64_Phdr *phdr = (const void *)(image + ehdr->e_phoff);
	uint64_t size = 0;

	for (int i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_TLS)
			size = phdr[i].p_memsz;
	/* glibc keeps little room for libraries that come late; ours is three words */
	cr_expect_gt(size, 0);
	cr_expect_leq(size, 64);
}
