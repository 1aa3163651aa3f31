#include "recorder/launch/series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "formats/base/xalloc.h"
#include "recorder/launch/launcher.h"

struct series {
	struct ws_outfolder folder;
	const struct ws_grid *grid;
	const struct ws_series_opts *opts;
	size_t todo, made, failed;
	double spent_s;
	sigset_t before; /* SIGINT and SIGTERM are put off while a run is under way */
};

/* How a run ended. */
struct outcome {
	int exit_code;
	char last_words[400]; /* the last line on stderr */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void status_of(const struct series *s, const struct ws_grid_run *run, char name[PATH_MAX])
{
	snprintf(name, PATH_MAX, "%s-r%lld.status", s->grid->points[run->point].name,
	         (long long)run->repetition);
}

static bool is_made(const struct series *s, const struct ws_grid_run *run)
{
	char name[PATH_MAX];

	status_of(s, run, name);
	return faccessat(ws_outfolder_fd(&s->folder), name, F_OK, 0) == 0;
}

/* --- one run ----------------------------------------------------------------------------- */

/* warpsheet-record, its capture options, -o, and what is recorded. */
static char **command_of(const struct series *s, const struct ws_grid_run *run, char *output)
{
	const char *const *options = s->grid->points[run->point].options;
	char *const *program = s->opts->program;
	size_t n = 0, most = 8;
	char **argv;

	for (char *const *c = s->opts->capture_options; *c; c++)
		most++;
	for (const char *const *c = options; c && *c; c++)
		most++;
	for (char *const *c = program; c && *c; c++)
		most++;
	argv = ws_xarray(most, sizeof(*argv));
	argv[n++] = (char *)"warpsheet-record";
	for (char *const *c = s->opts->capture_options; *c; c++)
		argv[n++] = *c;
	argv[n++] = (char *)"-o";
	argv[n++] = output;
	for (const char *const *c = options; c && *c; c++)
		argv[n++] = (char *)*c;
	if (program)
		argv[n++] = (char *)"--";
	for (char *const *c = program; c && *c; c++)
		argv[n++] = *c;
	return argv;
}

/* Pass on what the run says, and keep its last line. */
static void listen(const struct series *s, int fd, struct outcome *o)
{
	FILE *f = ws_xopened(fdopen(fd, "r"));
	char *line = NULL;
	size_t allocated = 0;
	ssize_t len;

	while ((len = getline(&line, &allocated, f)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		if (s->opts->program)
			s->opts->words(line);
		/* "try --help" says nothing of what went wrong */
		if (len && !strstr(line, "try --help"))
			snprintf(o->last_words, sizeof(o->last_words), "%s", line);
	}
	for (char *c = o->last_words; *c; c++)
		if (*c > 0 && *c < ' ')
			*c = '?';
	free(line);
	fclose(f);
}

static enum ws_status run_command(const struct series *s, char **argv, struct outcome *o,
                                  struct ws_err *err)
{
	int words[2], status = 0;
	char folder[48];
	pid_t pid;

	WS_FAIL_IF(pipe2(words, O_CLOEXEC), err, ENVIRONMENT, "cannot make a pipe: %s",
	           strerror(errno));
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &s->before, NULL);
		dup2(words[1], STDERR_FILENO);
		ws_record_folder_id(ws_outfolder_fd(&s->folder), folder);
		setenv(WS_SERIES_FOLDER_ENV, folder, 1);
		execv("/proc/self/exe", argv);
		dprintf(STDERR_FILENO, "cannot run this program again: %s\n", strerror(errno));
		_exit(127);
	}
	close(words[1]);
	if (pid < 0) {
		close(words[0]);
		return WS_FAIL(err, ENVIRONMENT, "cannot start a recorder: %s", strerror(errno));
	}
	listen(s, words[0], o);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	o->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return WS_OK;
}

/* .NAME-r1.wtrace and those of further processes, .NAME-r1.77.wtrace, get their names. */
static enum ws_status show_traces(const struct series *s, const struct ws_grid_run *run,
                                  struct ws_err *err)
{
	const int in = ws_outfolder_fd(&s->folder);
	int readable = openat(in, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = readable < 0 ? NULL : ws_xopened(fdopendir(readable));
	enum ws_status status = WS_OK;
	struct dirent *entry;
	char prefix[PATH_MAX];

	WS_FAIL_IF(!folder, err, IO_WRITE, "cannot read the folder '%s': %s", s->opts->folder,
	           strerror(errno));
	snprintf(prefix, sizeof(prefix), ".%s-r%lld.", s->grid->points[run->point].name,
	         (long long)run->repetition);
	while (status == WS_OK && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		if (renameat(in, entry->d_name, in, entry->d_name + 1))
			status = WS_FAIL(err, IO_WRITE, "cannot rename '%s/%s': %s",
			                 s->opts->folder, entry->d_name, strerror(errno));
	}
	closedir(folder);
	return status;
}

/* Written last: what has a status is not made again. */
static enum ws_status write_status(const struct series *s, const struct ws_grid_run *run,
                                   const struct outcome *o, struct ws_err *err)
{
	const char *const *facts = s->grid->points[run->point].facts;
	char name[PATH_MAX];
	struct ws_outfile out;

	status_of(s, run, name);
	WS_FORWARD(ws_outfolder_file(&s->folder, name, &out, err));
	if (!o->exit_code)
		fputs("result=ok\n", out.f);
	else
		fprintf(out.f, "result=exit status %d%s%s\n", o->exit_code,
		        *o->last_words ? ": " : "", o->last_words);
	fprintf(out.f, "repetition=%lld\n", (long long)run->repetition);
	for (; facts && facts[0]; facts += 2)
		fprintf(out.f, "%s=%s\n", facts[0], facts[1]);
	return ws_outfile_commit(&out, err);
}

/* Signals that were put off. */
static int stop_asked(void)
{
	sigset_t pending;

	sigpending(&pending);
	if (sigismember(&pending, SIGINT))
		return SIGINT;
	return sigismember(&pending, SIGTERM) ? SIGTERM : 0;
}

/* --- all of them ------------------------------------------------------------------------- */

static void print_progress(const struct series *s, const struct ws_grid_run *run, double seconds,
                           const struct outcome *o)
{
	char line[PATH_MAX + 512], left[64] = "";
	double rest_s = s->spent_s / (double)s->made * (double)(s->todo - s->made);

	if (s->made < s->todo)
		snprintf(left, sizeof(left),
		         rest_s < 90 ? ", about %.0f s left" : ", about %.0f min left",
		         rest_s < 90 ? rest_s : rest_s / 60);
	snprintf(line, sizeof(line), "%zu of %zu: %s, repetition %lld: %s%s%.1f s%s", s->made,
	         s->todo, s->grid->points[run->point].name, (long long)run->repetition,
	         o->exit_code ? o->last_words : "", o->exit_code ? "; failed after " : "", seconds,
	         left);
	s->opts->notice(line);
}

static enum ws_status make_run(struct series *s, const struct ws_grid_run *run, struct ws_err *err)
{
	char output[PATH_MAX], **argv;
	struct outcome o = {0};
	double begin_s = now_s();
	enum ws_status status;

	snprintf(output, sizeof(output), "%s/.%s-r%lld.wtrace", s->opts->folder,
	         s->grid->points[run->point].name, (long long)run->repetition);
	argv = command_of(s, run, output);
	status = run_command(s, argv, &o, err);
	free(argv);
	WS_FORWARD(status);
	s->made++;
	s->spent_s += now_s() - begin_s;
	s->failed += o.exit_code != 0;
	print_progress(s, run, now_s() - begin_s, &o);
	/* a command line that is wrong is wrong for every run */
	WS_FAIL_IF(o.exit_code == ws_status_exit_code(WS_USAGE) && !s->opts->program, err, USAGE,
	           "%s", o.last_words);
	/* stopped by the user: as if it had not begun */
	if (stop_asked())
		return WS_OK;
	WS_FORWARD(show_traces(s, run, err));
	return write_status(s, run, &o, err);
}

static enum ws_status make_runs(struct series *s, int *stopped_by, struct ws_err *err)
{
	for (size_t i = 0; i < s->grid->nruns; i++)
		s->todo += !is_made(s, &s->grid->runs[i]);
	for (size_t i = 0; i < s->grid->nruns; i++) {
		const struct ws_grid_run *run = &s->grid->runs[i];

		if (is_made(s, run))
			continue;
		WS_FORWARD(make_run(s, run, err));
		*stopped_by = stop_asked();
		if (*stopped_by)
			return WS_OK; /* the run under way was stopped, too: it is made anew */
	}
	return WS_OK;
}

enum ws_status ws_series_run(const struct ws_grid *grid, const struct ws_series_opts *opts,
                             int *stopped_by, struct ws_err *err)
{
	struct series s = {.grid = grid, .opts = opts};
	enum ws_status status;
	sigset_t stops;
	char line[160];

	*stopped_by = 0;
	status = ws_outfolder_open(&s.folder, opts->folder, err);
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, &s.before);
	WS_THEN(status, make_runs(&s, stopped_by, err));
	ws_outfolder_abandon(&s.folder); /* a new one goes when nothing came into it */
	WS_FORWARD(status);
	snprintf(line, sizeof(line),
	         "%zu recordings made, %zu of them failed, %zu were there already", s.made,
	         s.failed, grid->nruns - s.todo);
	opts->notice(line);
	return s.failed ? WS_FINDING : WS_OK;
}
