/* What stands in the way of recording a program, by its file. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/launch/launch.h"

static char path[64];

/* A copy of a program that is there everywhere. */
static void copy_program(void)
{
	static char bytes[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY), to;
	ssize_t n;

	snprintf(path, sizeof(path), "/tmp/ws_child.XXXXXX");
	to = mkstemp(path);
	cr_assert(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		cr_assert_eq(write(to, bytes, (size_t)n), n);
	close(from);
	close(to);
}

static void remove_copy(void)
{
	unlink(path);
}

TestSuite(child, .init = copy_program, .fini = remove_copy);

/* Rename the program header of this type, so that it is not found. */
static void hide_segment(uint32_t type)
{
	int fd = open(path, O_RDWR);
	Elf64_Ehdr elf;

	cr_assert_eq(pread(fd, &elf, sizeof(elf), 0), sizeof(elf));
	for (int i = 0; i < elf.e_phnum; i++) {
		off_t at = (off_t)(elf.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr));
		Elf64_Phdr segment;

		cr_assert_eq(pread(fd, &segment, sizeof(segment), at), sizeof(segment));
		if (segment.p_type != type)
			continue;
		segment.p_type = PT_NULL;
		cr_assert_eq(pwrite(fd, &segment, sizeof(segment), at), sizeof(segment));
	}
	close(fd);
}

Test(child, a_program_that_loads_libraries_is_no_obstacle)
{
	cr_expect_null(ws_child_obstacle(path));
}

Test(child, a_static_program_is)
{
	const char *text;

	hide_segment(PT_INTERP);
	text = ws_child_obstacle(path);
	cr_assert_not_null(text);
	cr_expect_not_null(strstr(text, "statically"), "%s", text);
}

Test(child, other_rights_are_when_they_are_not_ours_already)
{
	const char *text;

	cr_assert_eq(chmod(path, 04755), 0);
	cr_expect_null(ws_child_obstacle(path), "its owner's rights are ours");
	if (geteuid() == 0) { /* only root gives files away */
		cr_assert_eq(chown(path, 65534, 65534), 0);
		cr_assert_eq(chmod(path, 04755), 0);
		text = ws_child_obstacle(path);
		cr_assert_not_null(text);
		cr_expect_not_null(strstr(text, "rights"), "%s", text);
	}
}

Test(child, scripts_stumps_and_nothing_at_all_are_none)
{
	cr_assert_eq(truncate(path, sizeof(Elf64_Ehdr) + 10), 0);
	cr_expect_null(ws_child_obstacle(path), "headers that are cut off prove nothing");
	cr_assert_eq(truncate(path, 3), 0);
	cr_expect_null(ws_child_obstacle(path));
	cr_assert_eq(truncate(path, 0), 0);
	cr_expect_null(ws_child_obstacle(path));
	cr_expect_null(ws_child_obstacle("/nonexistent"));
}
