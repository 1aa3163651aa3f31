#include "formats/base/system/system.h"
#include "report/base/ui.h"

static const char *pager_name;

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool ws_ui_colour(enum ws_ui_when when)
{
	const char *term = setting("TERM");

	if (when != WS_UI_AUTO)
		return when == WS_UI_ALWAYS;
	return ws_is_terminal(stdout) && !setting("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

int ws_ui_width(void)
{
	const char *columns = setting("COLUMNS");

	if (columns) {
		char *end;
		long n = strtol(columns, &end, 10);

		if (!*end && n > 0 && n <= 100000)
			return (int)n;
	}
	if (!ws_is_terminal(stdout))
		return 0;
	int width = ws_terminal_width();
	return width ? width : 80;
}

void ws_ui_pager_start(void)
{
	const char *pager = getenv("PAGER");

	if (!ws_is_terminal(stdout))
		return;
	if (!pager)
		/* without less, the output must not be lost */
		pager = "command -v less >/dev/null && exec less || exec cat";
	if (*pager && strcmp(pager, "cat") != 0 && ws_pager_begin(pager))
		pager_name = pager;
}

enum ws_status ws_ui_stdout_finish(struct ws_err *err)
{
	int why = ws_stream_flush(stdout);

	if (fclose(stdout) != 0 && !why)
		why = errno;
	WS_FAIL_IF(!ws_pager_end(), err, IO_WRITE, "cannot run the pager '%s', see --no-pager",
	           pager_name);
	WS_FAIL_IF(why, err, IO_WRITE, "cannot write standard output: %s", strerror(why));
	return WS_OK;
}

/* --- progress --- */

#define PROGRESS_FIRST_MS 1000 /* shorter work shows no progress */
#define PROGRESS_EACH_MS  100

static struct {
	int64_t begin_ms, next_ms; /* begin 0: no work in progress */
	int shown;
} progress;

void ws_ui_progress(const char *what, uint64_t done, uint64_t total)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	char text[300];
	int percent = total ? (int)(100.0 * (double)done / (double)total) : 0;

	if (!progress.begin_ms) {
		progress.begin_ms = now;
		progress.next_ms = now + PROGRESS_FIRST_MS;
	}
	if (now < progress.next_ms || !ws_is_terminal(stderr))
		return;
	progress.next_ms = now + PROGRESS_EACH_MS;
	if (total)
		snprintf(text, sizeof(text), "%.200s: %d %%", what, percent > 100 ? 100 : percent);
	else
		snprintf(text, sizeof(text), "%.200s: %llu", what, (unsigned long long)done);
	ws_defuse(text);
	fprintf(stderr, "\rwarpsheet: %s\033[K", text);
	progress.shown = 1;
}

void ws_ui_progress_end(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	memset(&progress, 0, sizeof(progress));
}

void ws_ui_print(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ws_defuse(text);
	fprintf(stderr, "warpsheet: %s\n", text);
}

/* --- executable dir --- */

enum ws_status ws_executable_dir(char folder[PATH_MAX], struct ws_err *err)
{
	WS_FAIL_IF(ws_program_path(folder, PATH_MAX), err, ENVIRONMENT,
	           "cannot find this program itself: %s", strerror(errno));
	folder[ws_path_name(folder) - folder] = '\0';
	return WS_OK;
}
