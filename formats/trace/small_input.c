#include "formats/trace/small_input.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/outfile.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DATA_BYTES INT64_MAX /* their shadow memory counts as data, too: terabytes */
#else
#define DATA_BYTES (INT64_C(480) << 20)
#endif
#define SECONDS 10

static void on_cpu_limit(int number)
{
	static const char words[] = "warpsheet: an input of less than 1 MB asks for more than 10 s "
	                            "of processor time; " WS_SMALL_INPUT_UNLIKELY "\n";
	ssize_t ignored = write(STDERR_FILENO, words, sizeof(words) - 1);

	(void)ignored;
	(void)number;
	/* both only read memory and call unlink() */
	ws_outfile_remove_unfinished();           /* NOLINT(bugprone-signal-handler) */
	_exit(ws_status_exit_code(WS_NO_MEMORY)); /* NOLINT(bugprone-signal-handler) */
}

static bool is_small_input(char *const *words, int n)
{
	int files = 0;

	for (int i = 0; i < n; i++) {
		struct stat st;

		if (stat(words[i], &st) != 0)
			continue;
		/* a folder of traces, a pipe */
		if (!S_ISREG(st.st_mode) || st.st_size >= WS_SMALL_INPUT_BYTES)
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

bool ws_small_input_limit(char *const *words, int n)
{
	if (!is_small_input(words, n))
		return false;
	signal(SIGXCPU, on_cpu_limit);
	limit(RLIMIT_DATA, DATA_BYTES);
	limit(RLIMIT_CPU, SECONDS);
	return true;
}
