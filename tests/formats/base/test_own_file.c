/* What is written to: a new file or one's own, through no link. And texts that reach a terminal. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "formats/trace/writer.h"

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

	cr_expect_eq(ws_trace_writer_create(&w, planted, &opts, &err), WS_IO_WRITE, "%s", why);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
	cr_expect_eq(ws_own_file_open(planted, &fd, &err), WS_IO_WRITE, "%s", why);
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
	cr_expect_eq(ws_own_file_create(planted, &fd, &err), WS_IO_WRITE);
	cr_expect_neq(access(target, F_OK), 0);
}

Test(own_file, ones_own_file_is_emptied_and_a_device_written_to_through_a_link_too)
{
	int fd;

	cr_expect_eq(ws_own_file_create(victim, &fd, &err), WS_OK, "%s", err.text);
	cr_expect_eq(size_of(victim), 0);
	close(fd);
	cr_assert_eq(symlink("/dev/null", planted), 0);
	cr_expect_eq(ws_own_file_create(planted, &fd, &err), WS_OK, "%s", err.text);
	cr_expect_eq(write(fd, "x", 1), 1);
	close(fd);
	cr_expect_eq(ws_own_file_create("/nonexistent/a", &fd, &err), WS_IO_WRITE);
}

Test(own_file, a_temporary_file_is_new_and_has_the_usual_mode)
{
	char a[80], b[80];
	mode_t mask = umask(022);
	struct stat st;
	int fd;

	snprintf(a, sizeof(a), "%s/t.XXXXXX.tmp", dir);
	memcpy(b, a, sizeof(b));
	cr_assert_eq(ws_own_file_temporary(a, 4, &fd, &err), WS_OK, "%s", err.text);
	cr_assert_eq(ws_own_file_temporary(b, 4, NULL, &err), WS_OK, "%s", err.text);
	cr_expect_str_neq(a, b);
	cr_expect_str_eq(a + strlen(a) - 4, ".tmp");
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0644);
	close(fd);
	unlink(a);
	unlink(b);
	umask(mask);
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
