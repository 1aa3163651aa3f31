/* warpsheet: finds the command, prints its error, makes the exit code. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "report/commands/command.h"

/* Traces are read as mapped memory: behind the new end of a file that is cut there is none. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
	static const char words[] = "warpsheet: an input was cut short, or could not be read, "
	                            "while it was in use; try again when nobody writes it\n";

	(void)context;
	if (info->si_code == BUS_ADRERR) {
		ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

		(void)ignored;
		_exit(ws_status_exit_code(WS_IO_READ));
	}
	raise(number); /* as without us: SA_RESETHAND */
}

static void end_well_when_a_file_is_cut(void)
{
	struct sigaction action = {.sa_sigaction = on_missing_page,
	                           .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

static enum ws_status (*const runs[])(int argc, char **argv, struct ws_err *err) = {
#define X(function, name, arguments, summary) ws_cmd_##function,
        WS_COMMANDS(X)
#undef X
};

enum ws_status ws_cmd_help(int argc, char **argv, struct ws_err *err)
{
	char help[] = "--help", *help_argv[] = {help, NULL};
	int command;

	if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		ws_command_list(stdout);
		return WS_OK;
	}
	WS_FAIL_IF(argc > 1, err, USAGE, "help takes one command, not also '%s'", argv[1]);
	command = ws_command_find(argv[0]);
	return command < 0 ? ws_command_unknown(argv[0], err) : runs[command](1, help_argv, err);
}

/* --- what a small input may ask for: docs/guarantees.md, 7 --- */

#define SMALL_BYTES      (INT64_C(1) << 20)
#define SMALL_DATA_BYTES (INT64_C(480) << 20)
#define SMALL_SECONDS    10
#define SMALL_IS_UNLIKELY \
	"no recording of that size needs so much: the input is damaged, or made to hurt"

static void on_cpu_limit(int number)
{
	static const char words[] = "warpsheet: an input of less than 1 MB asks for more than 10 s "
	                            "of processor time; " SMALL_IS_UNLIKELY "\n";
	ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

	(void)ignored;
	(void)number;
	/* both only read memory and call unlink() */
	ws_outfile_remove_unfinished();           /* NOLINT(bugprone-signal-handler) */
	_exit(ws_status_exit_code(WS_NO_MEMORY)); /* NOLINT(bugprone-signal-handler) */
}

/* One file or two are among the words, each of less than SMALL_BYTES; many are a sweep. */
static bool is_small_input(int argc, char **argv)
{
	int files = 0;

	for (int i = 2; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) != 0)
			continue;
		/* a folder of traces, a pipe */
		if (!S_ISREG(st.st_mode) || st.st_size >= SMALL_BYTES)
			return false;
		files++;
	}
	return files == 1 || files == 2;
}

/* Lower a limit of the process that is higher. */
static void limit(int resource, int64_t most)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now) != 0 || now.rlim_cur <= (rlim_t)most)
		return;
	now.rlim_cur = (rlim_t)most;
	setrlimit((__rlimit_resource_t)resource, &now);
}

/* 1 when the limits are set. Not for what runs another program, which would inherit them. */
static bool limit_small_input(int argc, char **argv)
{
	if (argc < 3 || !strcmp(argv[1], "record") || !is_small_input(argc, argv))
		return false;
	signal(SIGXCPU, on_cpu_limit);
	limit(RLIMIT_DATA, SMALL_DATA_BYTES);
	limit(RLIMIT_CPU, SMALL_SECONDS);
	return true;
}

static enum ws_status run(int argc, char **argv, struct ws_err *err)
{
	const char *name;
	int command;

	if (argc < 2) {
		ws_command_list(stderr);
		return WS_FAIL(err, USAGE, "no command");
	}
	name = argv[1];
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version"))
		name = "version";
	else if (name[0] == '-')
		return WS_FAIL(err, USAGE,
		               "options stand behind the command, see 'warpsheet help'");
	command = ws_command_find(name);
	if (command < 0)
		return ws_command_unknown(name, err);
	return runs[command](argc - 2, argv + 2, err);
}

int main(int argc, char **argv)
{
	struct ws_err err = {0}, late = {0};
	enum ws_status status, written;
	bool is_limited;

	end_well_when_a_file_is_cut();
	is_limited = limit_small_input(argc, argv);
	status = run(argc, argv, &err);
	written = ws_ui_stdout_finish(&late);
	if (status != WS_OK && err.text[0])
		ws_ui_say("%s", err.text);
	if (status == WS_NO_MEMORY && is_limited)
		ws_ui_say(
		        "an input of less than 1 MB may use 480 MB of memory; " SMALL_IS_UNLIKELY);
	/* output that nobody got matters more than a finding in it */
	if (written != WS_OK && (status == WS_OK || status == WS_FINDING)) {
		ws_ui_say("%s", late.text);
		status = written;
	}
	return ws_status_exit_code(status);
}
