
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "formats/base/outfile.h"
#include "recorder/launch/launch.h"

/* --- grids --- */

#define MOST_POINTS 10000

/* An option with its values, and its position in the command line. */
struct axis {
	const char *option; /* "--batch" */
	char **value;
	size_t n;
};

struct planner {
	struct ws_grid *grid;
	struct axis *axes;
	size_t naxes;
};

bool ws_grid_has_lists(const char *model, char *const *rest, int nrest)
{
	if (!model)
		return false;
	if (strchr(model, ','))
		return true;
	for (int i = 0; i < nrest; i++)
		if (strchr(rest[i], ','))
			return true;
	return false;
}

static void add_axis(struct planner *p, const char *option, const char *values)
{
	struct ws_arena *arena = &p->grid->arena;
	char *copy = ws_arena_copy(arena, values ? values : "", values ? strlen(values) : 0);
	struct axis *axis = &p->axes[p->naxes];
	size_t most = 2; /* and one more: the value of the present point */

	for (const char *c = values; c && *c; c++)
		most += *c == ',';
	*axis = (struct axis){.option = option,
	                      .value = ws_arena_array(arena, most, sizeof(char *))};
	p->naxes++;
	if (!values)
		return;
	for (char *value = strsep(&copy, ","); value; value = strsep(&copy, ","))
		axis->value[axis->n++] = value;
}

/* Whether a value is clear without its option's name. */
static const char *name_part(struct ws_arena *arena, const struct axis *axis, const char *value)
{
	static const char *const alone[] = {"--model",     "--dtype",  "--phase",
	                                    "--optimizer", "--layout", "--activation"};

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++)
		if (!strcmp(axis->option, alone[i]))
			return value;
	return ws_arena_format(arena, "%s%s", axis->option + strspn(axis->option, "-"), value);
}

static void make_point(struct planner *p, size_t number, struct ws_grid_point *point)
{
	struct ws_arena *arena = &p->grid->arena;
	const char **options = ws_arena_array(arena, 2 * p->naxes + 1, sizeof(*options));
	const char **facts = ws_arena_array(arena, 2 * p->naxes + 1, sizeof(*facts));
	const char *name = "";
	size_t n = 0, nfacts = 0;

	/* the last list changes fastest */
	for (size_t a = p->naxes; a-- > 0;)
		if (p->axes[a].n) {
			p->axes[a].value[p->axes[a].n] = p->axes[a].value[number % p->axes[a].n];
			number /= p->axes[a].n;
		}
	for (size_t a = 0; a < p->naxes; a++) {
		const struct axis *axis = &p->axes[a];

		options[n++] = axis->option;
		if (!axis->n)
			continue;
		options[n++] = axis->value[axis->n];
		if (axis->n == 1 && a)
			continue;
		name = ws_arena_format(arena, "%s%s%s", name, *name ? "-" : "",
		                       name_part(arena, axis, axis->value[axis->n]));
		facts[nfacts++] = axis->option + strspn(axis->option, "-");
		facts[nfacts++] = axis->value[axis->n];
	}
	*point = (struct ws_grid_point){.name = name, .options = options, .facts = facts};
}

/* "program" and a hash of its command line, so that a folder never mixes runs of two programs that
 * were both called B. */
static const char *const *hash_program(struct planner *p, char *const *argv)
{
	struct ws_arena *arena = &p->grid->arena;
	const char **facts = ws_arena_array(arena, 3, sizeof(*facts));
	struct ws_checksum sum;

	ws_checksum_begin(&sum);
	for (; *argv; argv++)
		ws_checksum_add(&sum, *argv, strlen(*argv) + 1);
	facts[0] = "program";
	facts[1] = ws_arena_format(arena, "%016llx", (unsigned long long)ws_checksum_end(&sum));
	return facts;
}

static enum ws_status make_points(struct planner *p, const struct ws_grid_program *programs,
                                  size_t nprograms, struct ws_err *err)
{
	struct ws_grid *grid = p->grid;

	grid->npoints = p->naxes ? 1 : nprograms;
	for (size_t a = 0; a < p->naxes; a++) {
		grid->npoints *= p->axes[a].n ? p->axes[a].n : 1;
		WS_FAIL_IF(grid->npoints > MOST_POINTS, err, USAGE,
		           "the lists make more than %d recordings", MOST_POINTS);
	}
	grid->points = ws_arena_array(&grid->arena, grid->npoints, sizeof(*grid->points));
	for (size_t i = 0; i < grid->npoints; i++) {
		if (p->naxes)
			make_point(p, i, &grid->points[i]);
		else
			grid->points[i] = (struct ws_grid_point){
			        .name = programs[i].name,
			        .program = programs[i].argv,
			        .facts = nprograms > 1 ? hash_program(p, programs[i].argv) : NULL};
	}
	return WS_OK;
}

enum ws_status ws_grid_plan(struct ws_grid *grid, const char *model, char *const *rest, int nrest,
                            const struct ws_grid_program *programs, size_t nprograms,
                            int64_t repeat, uint64_t seed, struct ws_err *err)
{
	struct planner p = {.grid = grid};

	*grid = (struct ws_grid){0};
	if (model) {
		/* "--option value", "--option=value", and flags: an axis without values. */
		struct ws_arena *arena = &p.grid->arena;

		p.axes = ws_arena_array(arena, (size_t)nrest + 1, sizeof(*p.axes));
		add_axis(&p, "--model", model);
		for (int i = 0; i < nrest; i++) {
			const char *equals =
			        !strncmp(rest[i], "--", 2) ? strchr(rest[i], '=') : NULL;

			if (equals)
				add_axis(&p,
				         ws_arena_copy(arena, rest[i], (size_t)(equals - rest[i])),
				         equals + 1);
			else if (i + 1 < nrest && rest[i + 1][0] != '-')
				add_axis(&p, rest[i], rest[i + 1]), i++;
			else
				add_axis(&p, rest[i], NULL);
		}
	}
	WS_FORWARD(make_points(&p, programs, nprograms, err));
	uint64_t state = seed;
	const int64_t first = nprograms > 1 ? 0 : 1;

	WS_FAIL_IF(repeat > MOST_POINTS || (size_t)repeat * grid->npoints > MOST_POINTS, err, USAGE,
	           "the lists and --repeat make more than %d recordings", MOST_POINTS);
	grid->runs = ws_arena_array(&grid->arena, (size_t)(repeat + 1) * grid->npoints,
	                            sizeof(*grid->runs));
	for (int64_t round = first; round <= repeat; round++) {
		struct ws_grid_run *runs = grid->runs + grid->nruns;

		for (size_t i = 0; i < grid->npoints; i++)
			runs[i] = (struct ws_grid_run){i, round};
		for (size_t i = grid->npoints; i-- > 1;) {
			struct ws_grid_run kept = runs[i];

			state = state * UINT64_C(6364136223846793005) +
			        UINT64_C(1442695040888963407);
			size_t other = (size_t)((state >> 33) % (i + 1));
			runs[i] = runs[other];
			runs[other] = kept;
		}
		grid->nruns += grid->npoints;
	}
	return WS_OK;
}

void ws_grid_free(struct ws_grid *grid)
{
	ws_arena_free(&grid->arena);
	*grid = (struct ws_grid){0};
}

/* --- series --- */

struct series {
	struct ws_outfolder folder;
	const struct ws_grid *grid;
	const struct ws_series_opts *opts;
	size_t todo, made, failed, present;
	double spent_s;
	sigset_t stops;  /* SIGINT and SIGTERM, which are blocked */
	sigset_t before; /* original mask */
};

/* The result of a run. */
struct outcome {
	int exit_code;
	char last_words[400]; /* the last line on stderr */
};

static double now_s(void)
{
	return (double)ws_clock_ns(CLOCK_MONOTONIC) / 1e9;
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

/* Fails if the folder has a run of another program of this name. */
static enum ws_status check_program(const struct series *s, const struct ws_grid_run *run,
                                    struct ws_err *err)
{
	const char *const *facts = s->grid->points[run->point].facts;
	char name[PATH_MAX], *line = NULL;
	size_t allocated = 0;
	bool is_same = false;

	if (!s->grid->points[run->point].program || !facts)
		return WS_OK;
	status_of(s, run, name);
	int fd = openat(ws_outfolder_fd(&s->folder), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	WS_FAIL_IF(fd < 0, err, IO_READ, "cannot read '%s/%s': %s", s->opts->folder, name,
	           strerror(errno));
	FILE *f = ws_xopened(fdopen(fd, "r"));

	while (!is_same && getline(&line, &allocated, f) > 0)
		is_same = !strncmp(line, "program=", 8) &&
		          !strncmp(line + 8, facts[1], strlen(facts[1]));
	free(line);
	fclose(f);
	WS_FAIL_IF(!is_same, err, USAGE,
	           "'%s' has runs of another program %s. Choose another folder, or remove it",
	           s->opts->folder, s->grid->points[run->point].name);
	return WS_OK;
}

/* --- one run ----------------------------------------------------------------------------- */

/* Makes the command: warpsheet-record, its options, -o, and the model or program. */
static char **command_of(const struct series *s, const struct ws_grid_run *run, char *output)
{
	const char *const *options = s->grid->points[run->point].options;
	char *const *program = s->grid->points[run->point].program;
	size_t n = 0, most = 8;

	for (char *const *c = s->opts->capture_options; *c; c++)
		most++;
	for (const char *const *c = options; c && *c; c++)
		most++;
	for (char *const *c = program; c && *c; c++)
		most++;
	char **argv = ws_xarray(most, sizeof(*argv));
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

/* Passes on the run's stderr, and keeps its last line. */
static void listen(const struct series *s, const struct ws_grid_run *run, int fd, struct outcome *o)
{
	FILE *f = ws_xopened(fdopen(fd, "r"));
	char *line = NULL;
	size_t allocated = 0;
	ssize_t len;

	while ((len = getline(&line, &allocated, f)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		if (s->grid->points[run->point].program)
			ws_record_pass_on(line);
		/* "try --help" does not explain the error */
		if (len && !strstr(line, "try --help"))
			snprintf(o->last_words, sizeof(o->last_words), "%s", line);
	}
	for (char *c = o->last_words; *c; c++)
		if (*c > 0 && *c < ' ')
			*c = '?';
	free(line);
	fclose(f);
}

static enum ws_status run_command(const struct series *s, const struct ws_grid_run *run,
                                  char **argv, struct outcome *o, struct ws_err *err)
{
	const pid_t self = getpid();
	int words[2], status = 0;
	char folder[48];

	WS_FAIL_IF(pipe2(words, O_CLOEXEC), err, ENVIRONMENT, "cannot make a pipe: %s",
	           strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &s->before, NULL);
		/* the run ends with the series: one that goes on would disturb the next series */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != self)
			_exit(127);
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
	listen(s, run, words[0], o);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	o->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return WS_OK;
}

/* Gives the traces .NAME-r1.wtrace, and .NAME-r1.77.wtrace of further processes, their final
 * names, or removes them. */
static enum ws_status settle_traces(const struct series *s, const struct ws_grid_run *run,
                                    bool are_kept, struct ws_err *err)
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
		if (are_kept ? renameat(in, entry->d_name, in, entry->d_name + 1)
		             : unlinkat(in, entry->d_name, 0))
			status = WS_FAIL(err, IO_WRITE, "cannot %s '%s/%s': %s",
			                 are_kept ? "rename" : "remove", s->opts->folder,
			                 entry->d_name, strerror(errno));
	}
	closedir(folder);
	return status;
}

/* Handles signals that arrived during the run. */
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
	char line[PATH_MAX + 512], left[64] = "", which[48] = "warm-up";
	double rest_s = s->spent_s / (double)s->made * (double)(s->todo - s->made);

	if (s->made < s->todo)
		snprintf(left, sizeof(left), ", %s %.0f %s left",
		         s->opts->is_open ? "at most" : "about", rest_s < 90 ? rest_s : rest_s / 60,
		         rest_s < 90 ? "s" : "min");
	if (run->repetition)
		snprintf(which, sizeof(which), "repetition %lld", (long long)run->repetition);
	snprintf(line, sizeof(line), "%zu of %zu: %s, %s: %s%s%.1f s%s", s->made, s->todo,
	         s->grid->points[run->point].name, which, o->exit_code ? o->last_words : "",
	         o->exit_code ? "; failed after " : "", seconds, left);
	ws_record_notice("%s", line);
}

static enum ws_status make_run(struct series *s, const struct ws_grid_run *run, struct ws_err *err)
{
	char output[PATH_MAX], **argv;
	struct outcome o = {0};
	double begin_s = now_s();

	snprintf(output, sizeof(output), "%s/.%s-r%lld.wtrace", s->opts->folder,
	         s->grid->points[run->point].name, (long long)run->repetition);
	argv = command_of(s, run, output);
	enum ws_status status = run_command(s, run, argv, &o, err);
	free(argv);
	WS_FORWARD(status);
	s->made++;
	s->spent_s += now_s() - begin_s;
	s->failed += o.exit_code != 0;
	print_progress(s, run, now_s() - begin_s, &o);
	/* a wrong command line is wrong for every run */
	WS_FAIL_IF(o.exit_code == ws_status_exit_code(WS_USAGE) &&
	                   !s->grid->points[run->point].program,
	           err, USAGE, "%s", o.last_words);
	/* a run that the user stopped is treated as not begun */
	const bool is_stopped = stop_asked() != 0;

	WS_FORWARD(settle_traces(s, run, run->repetition && !is_stopped, err));
	if (is_stopped)
		return WS_OK;
	WS_FAIL_IF(!run->repetition && o.exit_code, err, USAGE,
	           "program %s cannot be compared: its warm-up ended with status %d",
	           s->grid->points[run->point].name, o.exit_code);

	/* Written last, because a run with a status is not repeated. */
	const char *const *facts = s->grid->points[run->point].facts;
	char name[PATH_MAX];
	struct ws_outfile out;

	status_of(s, run, name);
	WS_FORWARD(ws_outfolder_file(&s->folder, name, &out, err));
	if (!o.exit_code)
		fputs("result=ok\n", out.f);
	else
		fprintf(out.f, "result=exit status %d%s%s\n", o.exit_code,
		        *o.last_words ? ": " : "", o.last_words);
	fprintf(out.f, "repetition=%lld\n", (long long)run->repetition);
	for (; facts && facts[0]; facts += 2)
		fprintf(out.f, "%s=%s\n", facts[0], facts[1]);
	return ws_outfile_commit(&out, err);
}

static enum ws_status make_runs(struct series *s, int *stopped_by, struct ws_err *err)
{
	for (size_t i = 0; i < s->grid->nruns; i++)
		if (is_made(s, &s->grid->runs[i])) {
			WS_FORWARD(check_program(s, &s->grid->runs[i], err));
			s->present++;
		}
	s->todo = s->grid->nruns - s->present;
	const struct ws_series_opts *opts = s->opts;
	const double begin_s = now_s();

	for (size_t i = 0; i < s->grid->nruns; i++) {
		const struct ws_grid_run *run = &s->grid->runs[i];
		const bool begins_repetition = i % s->grid->npoints == 0 && run->repetition > 1;

		if (is_made(s, run))
			continue;
		if (begins_repetition &&
		    ((opts->most_ns && now_s() - begin_s > (double)opts->most_ns / 1e9) ||
		     (opts->is_open && !opts->is_open(opts))))
			return WS_OK;
		int signal = sigtimedwait(&s->stops, NULL,
		                          &(struct timespec){opts->pause_ns / 1000000000,
		                                             opts->pause_ns % 1000000000});
		if (signal < 0) {
			WS_FORWARD(make_run(s, run, err));
			signal = stop_asked();
		}
		if (signal > 0) { /* the present run was stopped too, and will be repeated */
			*stopped_by = signal;
			return WS_OK;
		}
	}
	return WS_OK;
}

enum ws_status ws_series_run(const struct ws_grid *grid, const struct ws_series_opts *opts,
                             int *stopped_by, struct ws_err *err)
{
	struct series s = {.grid = grid, .opts = opts};
	char line[160];

	*stopped_by = 0;
	enum ws_status status = ws_outfolder_open(&s.folder, opts->folder, err);
	sigemptyset(&s.stops);
	sigaddset(&s.stops, SIGINT);
	sigaddset(&s.stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &s.stops, &s.before);
	WS_THEN(status, make_runs(&s, stopped_by, err));
	ws_outfolder_abandon(&s.folder); /* removes a new folder if it is empty */
	WS_FORWARD(status);
	snprintf(line, sizeof(line),
	         "%zu recordings made, %zu of them failed, %zu were there already", s.made,
	         s.failed, s.present);
	ws_record_notice("%s", line);
	return s.failed ? WS_FINDING : WS_OK;
}
