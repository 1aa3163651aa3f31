/*
 * `warpsheet ctl`: finds the user's running recordings by their segments, shows what they do, and
 * asks those that were started with --standby to record. docs/dev/recorder.md, 11.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/text/csv_writer.h"
#include "formats/text/json_writer.h"
#include "recorder/launch/launch.h"

/* --- tables --- */

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

/* X(NAME, title, is_number) */
#define COLUMNS(X)                     \
	X(PID, "PID", 1)               \
	X(PROGRAM, "Program", 0)       \
	X(STATE, "State", 0)           \
	X(SINCE, "Since (s)", 1)       \
	X(STEP, "Step", 1)             \
	X(PLAN, "Steps to Record", 0)  \
	X(WINDOWS, "Windows", 1)       \
	X(KERNELS, "Kernels", 1)       \
	X(RANGES, "Ranges", 1)         \
	X(LOSSES, "Losses", 1)         \
	X(TRACE, "Trace", 0)

enum column {
#define X(name, title, is_number) COLUMN_##name,
	COLUMNS(X)
#undef X
	        NCOLUMNS
};

static const struct {
	const char *title;
	bool is_number;
} columns[] = {
#define X(name, title, is_number) {title, is_number},
        COLUMNS(X)
#undef X
};

struct row {
	char *cell[NCOLUMNS]; /* NULL: unknown */
};

struct table {
	struct row *rows;
	size_t n, size;
};

static void print_text(const struct table *t)
{
	int width[NCOLUMNS];

	for (int c = 0; c < NCOLUMNS; c++)
		width[c] = (int)strlen(columns[c].title);
	for (size_t r = 0; r < t->n; r++)
		for (int c = 0; c < NCOLUMNS; c++) {
			const char *cell = t->rows[r].cell[c];

			if (cell && (int)strlen(cell) > width[c])
				width[c] = (int)strlen(cell);
		}
	for (size_t r = 0; r <= t->n; r++)
		for (int c = 0; c < NCOLUMNS; c++) {
			const char *cell = r ? t->rows[r - 1].cell[c] : columns[c].title;
			const bool is_last = c + 1 == NCOLUMNS;

			printf("%*s%s", columns[c].is_number ? width[c] : is_last ? 0 : -width[c],
			       cell ? cell : "", is_last ? "\n" : "  ");
		}
}

static void print_table(const struct table *t, enum format format)
{
	struct ws_csv csv;
	struct ws_json_writer j;

	if (format == FORMAT_TEXT) {
		print_text(t);
		return;
	}
	if (format == FORMAT_JSON) {
		ws_json_begin(&j, stdout);
		WS_JSON_EACH_OBJECT(&j, NULL, r, t->n)
			for (int c = 0; c < NCOLUMNS; c++) {
				const char *cell = t->rows[r].cell[c];
				struct ws_json_writer *value = ws_json_key(&j, columns[c].title);

				if (cell && columns[c].is_number)
					ws_json_i64(value, strtoll(cell, NULL, 10));
				else
					ws_json_str(value, cell);
			}
		putchar('\n');
		return;
	}
	ws_csv_begin(&csv, stdout);
	for (size_t r = 0; r <= t->n; r++) {
		for (int c = 0; c < NCOLUMNS; c++)
			ws_csv_str(&csv, r ? t->rows[r - 1].cell[c] : columns[c].title);
		ws_csv_end_row(&csv);
	}
}

static void free_table(struct table *t)
{
	for (size_t r = 0; r < t->n; r++)
		for (int c = 0; c < NCOLUMNS; c++)
			free(t->rows[r].cell[c]);
	free(t->rows);
}

/* --- recordings --- */

/* A segment in the folder of segments. */
struct found {
	struct ws_segment_file file;
	size_t first_len; /* of the path of the recording's first segment */
	uint32_t launcher, started, pid;
	bool has_launcher; /* its launcher runs */
};

struct search {
	struct found *found;
	size_t n, size;
};

static void look_at(void *ctx, const char *path)
{
	struct search *s = ctx;
	const char *further = strstr(path, WS_SEG_FURTHER);
	struct ws_proc launcher;
	struct found f = {0};

	if (ws_segment_file_open(&f.file, path, NULL) != WS_OK)
		return;
	launcher = ws_seg_process(&f.file.seg->launcher);
	f.first_len = further ? (size_t)(further - path) : strlen(path);
	f.launcher = launcher.pid;
	f.started = ws_seg_process(&f.file.seg->started).pid;
	f.pid = atomic_load(&f.file.seg->attached) ? ws_seg_process(&f.file.seg->owner).pid : 0;
	f.has_launcher = ws_proc_is_elsewhere(launcher.namespace) || ws_proc_alive(launcher);
	WS_GROW(s->found, s->n + 1, s->size);
	s->found[s->n++] = f;
}

static bool is_same_recording(const struct found *a, const struct found *b)
{
	return a->first_len == b->first_len && !strncmp(a->file.path, b->file.path, a->first_len);
}

/* The process with this pid, any if it is 0, of a recording that runs. */
static const struct found *find(const struct search *s, uint32_t pid, bool *is_ambiguous)
{
	const struct found *one = NULL;

	*is_ambiguous = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct found *f = &s->found[i];

		if (!f->has_launcher || (pid && pid != f->pid && pid != f->launcher && pid != f->started))
			continue;
		*is_ambiguous |= one && !is_same_recording(one, f);
		one = f;
	}
	return one;
}

/* --- status --- */

static const char *state_of(const struct found *f)
{
	const struct ws_seg_header *seg = f->file.seg;
	const struct ws_seg_standby *s = &seg->control.standby;
	const union ws_seg_request r = {.word = atomic_load(&s->request)};
	const struct ws_proc owner = ws_seg_process(&seg->owner);

	if (!f->has_launcher)
		return "recorder killed";
	if (!f->pid)
		return r.is_start ? "waiting" : "starting";
	if (!ws_proc_is_elsewhere(owner.namespace) && !ws_proc_alive(owner))
		return "ended";
	if (!seg->capture.standby || atomic_load(&s->is_recording))
		return "recording";
	if (r.number && r.number == atomic_load(&s->missed))
		return "missed";
	if (r.number == atomic_load(&s->taken) ? atomic_load(&s->steps) < atomic_load(&s->first) &&
	                                                 atomic_load(&s->first) < atomic_load(&s->last)
	                                       : r.is_start)
		return "waiting";
	return "silent";
}

/* A copy of a string that the program may change at any time, without control characters. */
static char *copy_of(const char *field, size_t size)
{
	char *text = ws_xmalloc(size + 1);

	memcpy(text, field, size);
	text[size] = 0;
	ws_defuse(text);
	return text;
}

static void add_row(struct table *t, const struct found *f)
{
	const struct ws_seg_header *seg = f->file.seg;
	const struct ws_seg_standby *s = &seg->control.standby;
	const uint64_t first = atomic_load(&s->first), last = atomic_load(&s->last);
	const int64_t since_ns = atomic_load(&s->since_ns);
	struct row row = {0};

	row.cell[COLUMN_PID] = ws_xformat("%u", f->pid ? f->pid : f->started);
	row.cell[COLUMN_PROGRAM] = copy_of(seg->control.command, 64);
	row.cell[COLUMN_STATE] = ws_xstrdup(state_of(f));
	row.cell[COLUMN_SINCE] = ws_xformat(
	        "%" PRId64,
	        (ws_clock_ns(CLOCK_MONOTONIC) - (since_ns ? since_ns : seg->base_ns)) / 1000000000);
	if (seg->capture.standby)
		row.cell[COLUMN_STEP] = ws_xformat("%" PRIu64, atomic_load(&s->steps));
	if (seg->capture.standby && first && first < last && last != UINT64_MAX)
		row.cell[COLUMN_PLAN] = ws_xformat("%" PRIu64 "..%" PRIu64, first, last - 1);
	else if (seg->capture.standby && first < last)
		row.cell[COLUMN_PLAN] = ws_xformat("%" PRIu64 "..", first);
	if (seg->capture.standby)
		row.cell[COLUMN_WINDOWS] = ws_xformat("%" PRIu64, atomic_load(&s->windows));
	row.cell[COLUMN_KERNELS] = ws_xformat("%" PRIu64, atomic_load(&s->kernels));
	row.cell[COLUMN_RANGES] = ws_xformat("%" PRIu64, atomic_load(&s->ranges));
	row.cell[COLUMN_LOSSES] = ws_xformat("%" PRIu64, atomic_load(&s->lost));
	row.cell[COLUMN_TRACE] = copy_of(seg->trace_path, sizeof(seg->trace_path) - 1);
	WS_GROW(t->rows, t->n + 1, t->size);
	t->rows[t->n++] = row;
}

/* of NULL: of all recordings. */
static void print_status(const struct search *s, const struct found *of, enum format format)
{
	struct table t = {0};

	for (size_t i = 0; i < s->n; i++)
		if (!of || is_same_recording(&s->found[i], of))
			add_row(&t, &s->found[i]);
	print_table(&t, format);
	free_table(&t);
}

/* --- requests --- */

static void put_request(struct ws_seg_header *seg, union ws_seg_request request)
{
	_Atomic uint64_t *word = &seg->control.standby.request;
	union ws_seg_request before = {.word = atomic_load(word)};

	/* its threads look for a request only here while they record */
	if (request.is_now && !request.is_start)
		atomic_store(&seg->control.has_ended, 1);
	do {
		request.number = before.number + 1;
		if (!request.number)
			request.number = 1;
	} while (!atomic_compare_exchange_weak(word, &before.word, request.word));
}

struct ctl {
	int64_t steps;
	bool has_steps, is_now, help;
	const char *segment_dir;
	int format;
};

static void tell_request(const struct found *f, const union ws_seg_request *r)
{
	const uint64_t begun = atomic_load(&f->file.seg->control.standby.steps);

	printf("process %u: ", f->pid ? f->pid : f->started);
	if (!r->is_start)
		puts(r->is_now ? "recording ends now"
		               : "recording ends with the present step; --now ends it at once");
	else if (r->is_now)
		puts("recording begins now");
	else if (begun)
		printf("recording begins with the next step; %" PRIu64 " have begun so far\n", begun);
	else
		puts("recording begins with its first step; none has begun so far");
}

static int request(const struct search *s, const struct found *of, const struct ctl *c,
                   bool is_start)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct found *f = &s->found[i];
		struct ws_seg_header *seg = f->file.seg;
		union ws_seg_request r = {.is_start = is_start, .steps = (uint64_t)c->steps & 0x3FFF};

		if (!is_same_recording(f, of))
			continue;
		/* a program without steps cannot wait for one */
		r.is_now = c->is_now ||
		           (!c->has_steps && !atomic_load(&seg->control.standby.steps));
		put_request(seg, r);
		tell_request(f, &r);
	}
	return 0;
}

/* --- the command line --- */

static int failed(const struct ws_err *err)
{
	fprintf(stderr, "warpsheet ctl: %s\n", err->text);
	return ws_status_exit_code(err->status);
}

static enum ws_status choose(const struct search *s, const char *pid, const struct found **of,
                             struct ws_err *err)
{
	char *end = NULL;
	const unsigned long number = pid ? strtoul(pid, &end, 10) : 0;
	bool is_ambiguous;

	WS_FAIL_IF(pid && (!number || *end || number > UINT32_MAX), err, USAGE,
	           "%s is no process: give a PID, or nothing if only one recording runs", pid);
	*of = find(s, (uint32_t)number, &is_ambiguous);
	WS_FAIL_IF(!*of && pid, err, FINDING,
	           "process %s is not recorded by a recorder of yours (`warpsheet ctl status` lists "
	           "those that are; --segment-dir names another folder of segments)",
	           pid);
	WS_FAIL_IF(!*of, err, FINDING,
	           "no recording of yours runs (--segment-dir names another folder of segments)");
	WS_FAIL_IF(is_ambiguous, err, USAGE, "several recordings run: give the PID of one");
	return WS_OK;
}

static int run(const struct ctl *c, const char *verb, const char *pid)
{
	struct search s = {0};
	const struct found *of = NULL;
	struct ws_err err = {0};
	const bool is_status = !strcmp(verb, "status");
	int code, fd;

	if (c->segment_dir &&
	    ws_segment_folder_open(c->segment_dir, &fd, &err) != WS_OK)
		return failed(&err);
	if (c->segment_dir)
		close(fd);
	ws_segments_each(c->segment_dir, look_at, &s);
	if (is_status && !pid && s.n) {
		print_status(&s, NULL, (enum format)c->format);
		code = 0;
	} else if (choose(&s, pid, &of, &err) != WS_OK) {
		code = failed(&err);
		if (err.status == WS_USAGE)
			print_status(&s, NULL, FORMAT_TEXT);
	} else if (is_status) {
		print_status(&s, of, (enum format)c->format);
		code = 0;
	} else if (!of->file.seg->capture.standby) {
		WS_FAIL(&err, USAGE,
		        "process %u was not started with --standby, so it is recorded all the time",
		        of->pid ? of->pid : of->started);
		code = failed(&err);
	} else {
		code = request(&s, of, c, !strcmp(verb, "start"));
	}
	for (size_t i = 0; i < s.n; i++)
		ws_segment_file_close(&s.found[i].file);
	free(s.found);
	return code;
}

int ws_ctl(int argc, char **argv)
{
	struct ctl c = {.segment_dir = secure_getenv(WS_SEG_DIR_ENV)};
	const struct ws_opt opts[] = {
	        WS_OPT("steps", 0, INT, "N", &c.steps,
	               "start: record N steps, then be silent again", .min = 1,
	               .max = WS_STANDBY_MAX_STEPS, .given = &c.has_steps),
	        WS_OPT("now", 0, FLAG, NULL, &c.is_now,
	               "start and stop: at once, not with the next step. The step that is then cut "
	               "is in the trace in part"),
	        WS_OPT("format", 0, CHOICE, "text|csv|json", &c.format,
	               "status: how to print the table (default text)"),
	        WS_OPT("segment-dir", 0, TEXT, "DIR", &c.segment_dir,
	               "folder of the shared memory, as given to record (default as for record)"),
	        WS_OPT("help", 'h', FLAG, NULL, &c.help, "print this text"),
	};
	const size_t nopts = sizeof(opts) / sizeof(*opts);
	struct ws_err err = {0};
	int n = 0;

	if (c.segment_dir && !*c.segment_dir)
		c.segment_dir = NULL;
	if (ws_opt_asks_help(argc, argv)) {
		puts("Usage: warpsheet ctl start|stop|status [PID] [options]\n\n"
		     "Programs that were started by 'warpsheet record --standby' are recorded from\n"
		     "'start' on, until 'stop' or for a number of steps. PID is the recorder, the\n"
		     "program or one of its processes; it can be left out if one recording runs.\n"
		     "'status' shows what all recordings do. Exit status 1: there is none.\n");
		ws_opt_print_help(stdout, opts, nopts);
		return 0;
	}
	if (ws_opt_parse(opts, nopts, argc - 1, argv + 1, &n, &err) != WS_OK)
		return failed(&err);
	if (n < 1 || n > 2 ||
	    (strcmp(argv[1], "start") && strcmp(argv[1], "stop") && strcmp(argv[1], "status"))) {
		WS_FAIL(&err, USAGE, "say start, stop or status, and perhaps a PID (see --help)");
		return failed(&err);
	}
	if (c.has_steps && strcmp(argv[1], "start")) {
		WS_FAIL(&err, USAGE, "--steps belongs to start");
		return failed(&err);
	}
	return run(&c, argv[1], n > 1 ? argv[2] : NULL);
}
