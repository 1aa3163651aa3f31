/* What is written to: a new file or one's own, through no link. And texts that reach a terminal. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/trace/writer.h"
#include "tests/support/trace_sample.h"

static char dir[64], victim[80], planted[80];
static struct ws_err err;

static void begin(void)
{
	int fd;

	snprintf(dir, sizeof(dir), "/tmp/ws_own_file.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(planted, sizeof(planted), "%s/planted", dir);
	fd = open(victim, O_WRONLY | O_CREAT | O_EXCL, 0600);
	cr_assert_eq(write(fd, "secret", 6), 6);
	close(fd);
}

static void end(void)
{
	unlink(planted);
	unlink(victim);
	rmdir(dir);
}

TestSuite(own_file, .init = begin, .fini = end);

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

/* A trace is begun at the planted name, and one is continued there. */
static void expect_refused(const char *why)
{
	const struct ws_trace_writer_opts opts = {0};
	struct ws_trace_writer *w;
	int fd;

	cr_expect_eq(trace_file_create(&w, planted, &opts, &err), WS_IO_WRITE, "%s", why);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
	cr_expect_eq(ws_own_file_open(AT_FDCWD, planted, planted, &fd, &err), WS_IO_WRITE, "%s",
	             why);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
	cr_expect_eq(size_of(victim), 6, "the victim was written to");
}

Test(own_file, a_link_in_the_place_of_an_output_is_not_followed)
{
	cr_assert_eq(symlink(victim, planted), 0);
	expect_refused("symbolic link");
	unlink(planted);
	cr_assert_eq(link(victim, planted), 0);
	expect_refused("hard link");
}

Test(own_file, a_dangling_link_makes_no_file_elsewhere)
{
	char target[80];
	int fd;

	snprintf(target, sizeof(target), "%s/new", dir);
	cr_assert_eq(symlink(target, planted), 0);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, planted, planted, &fd, &err), WS_IO_WRITE);
	cr_expect_neq(access(target, F_OK), 0);
}

Test(own_file, ones_own_file_is_emptied_and_a_device_written_to_but_through_no_link)
{
	int fd;

	cr_expect_eq(ws_own_file_create(AT_FDCWD, victim, victim, &fd, &err), WS_OK, "%s",
	             err.text);
	cr_expect_eq(size_of(victim), 0);
	close(fd);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, "/dev/null", "/dev/null", &fd, &err), WS_OK, "%s",
	             err.text);
	cr_expect_eq(write(fd, "x", 1), 1);
	close(fd);
	cr_assert_eq(symlink("/dev/null", planted), 0);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, planted, planted, &fd, &err), WS_IO_WRITE);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, "/nonexistent/a", "/nonexistent/a", &fd, &err),
	             WS_IO_WRITE);
}

Test(own_file, a_temporary_file_is_new_and_has_the_usual_mode)
{
	char names[2][16] = {".t.XXXXXXXX", ".t.XXXXXXXX"};
	const int folder = ws_folder_open(WS_HERE, dir, true);
	mode_t mask = umask(022);
	struct stat st;

	for (int i = 0; i < 2; i++) {
		int fd = ws_name_temporary(folder, names[i], 0666, false);

		cr_assert_geq(fd, 0);
		cr_assert_eq(fstat(fd, &st), 0);
		cr_expect_eq(st.st_mode & 07777, 0644);
		close(fd);
		cr_expect_eq(strspn(names[i] + 3, "abcdefghijklmnopqrstuvwxyz234567"), 8);
		cr_expect_eq(ws_name_remove(folder, names[i], false), 0);
	}
	cr_expect_str_neq(names[0], names[1]);
	ws_folder_close(folder);
	umask(mask);
}

Test(own_file, the_names_of_open_descriptors_lead_to_them)
{
	static const struct {
		const char *path;
		int fd;
	} cases[] = {
	        {"/dev/stdout", 1},
	        {"/dev/stderr", 2},
	        {"/dev/fd/63", 63},
	        {"/proc/self/fd/0", 0},
	        {"/dev/fd/", -1},
	        {"/dev/fd/3x", -1},
	        {"/dev/fd/../fd/1", -1},
	        {"/dev/fd/99999999", -1},
	        {"/proc/self/fd/-1", -1},
	        {"/dev/stdout.x", -1},
	        {"/tmp/proc/self/fd/1", -1},
	};
	char path[32];
	int out = open(victim, O_WRONLY | O_APPEND), in = open(victim, O_RDONLY), fd;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(ws_own_file_descriptor(cases[i].path), cases[i].fd, "%s",
		             cases[i].path);
	/* what is there stays: a shell opened it */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	cr_assert_eq(ws_own_file_create(AT_FDCWD, path, path, &fd, &err), WS_OK, "%s", err.text);
	cr_expect_eq(write(fd, "!", 1), 1);
	cr_expect_eq(size_of(victim), 7);
	close(fd);
	snprintf(path, sizeof(path), "/dev/fd/%d", in);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, path, path, &fd, &err), WS_IO_WRITE);
	close(out);
	close(in);
}

Test(own_file, a_pipe_is_written_to_when_somebody_reads_it_and_a_folder_never)
{
	int reader, fd;

	cr_assert_eq(mkfifo(planted, 0600), 0);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, planted, planted, &fd, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "nobody reads this pipe"), "%s", err.text);
	reader = open(planted, O_RDONLY | O_NONBLOCK);
	cr_assert_eq(ws_own_file_create(AT_FDCWD, planted, planted, &fd, &err), WS_OK, "%s",
	             err.text);
	cr_expect_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	close(reader);
	cr_expect_eq(ws_own_file_create(AT_FDCWD, dir, dir, &fd, &err), WS_IO_WRITE);
	cr_expect_not_null(strstr(err.text, "it is a folder"), "%s", err.text);
}

Test(own_file, nothing_that_a_terminal_obeys_is_left_in_a_text)
{
	static const char *const cases[][2] = {
	        {"a\033[31mb\r\n\t\x7f", "a?[31mb????"},
	        {"\x9b"
	         "31m",
	         "?31m"},
	        {"\xc2\x9b"
	         "31m",
	         "??31m"},
	        {"caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80",
	         "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80"},
	        {"\xc3\x9b", "\xc3\x9b"},
	        {"\xe6\x1b\x9b", "\xe6??"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", cases[i][0]);
		ws_defuse(text);
		cr_expect_str_eq(text, cases[i][1], "case %zu: %s", i, text);
	}
}
