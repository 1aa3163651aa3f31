/*
 * `warpsheet ctl`: finds the user's running recordings by their segments, shows what they do, and
 * asks those that were started with --standby to record. docs/dev/recorder.md, 11.
 */
#include <dirent.h>
#include <fcntl.h>

#include "formats/base/outfile.h"
#include "formats/text/csv_writer.h"
#include "formats/text/json_writer.h"
#include "recorder/launch/launch.h"

/* --- tables --- */

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

/* X(NAME, title, is_number) */
#define COLUMNS(X)                    \
	X(PID, "PID", 1)              \
	X(PROGRAM, "Program", 0)      \
	X(STATE, "State", 0)          \
	X(SINCE, "Since (s)", 1)      \
	X(STEP, "Step", 1)            \
	X(PLAN, "Steps to Record", 0) \
	X(WINDOWS, "Windows", 1)      \
	X(KERNELS, "Kernels", 1)      \
	X(RANGES, "Ranges", 1)        \
	X(LOSSES, "Losses", 1)        \
	X(TRACE, "Trace", 0)          \
	X(RANK, "Rank", 1)            \
	X(HOST, "Host", 0)

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
	/* of a rank of --job */
	uint64_t steps, command; /* begun; number of the last command that it read */
	uint64_t world, ahead;   /* 0: unknown; see choose_step() */
	bool is_dead, keeps;     /* keeps: it is a flight recorder */
};

struct table {
	struct row *rows;
	size_t n, size;
};

/* What is shown of a cell: of a program, and of a trace whose path is too long, the name alone. */
static const char *shown(const struct row *row, int c, int most)
{
	const char *cell = row->cell[c];
	const bool is_short = c == COLUMN_PROGRAM ||
	                      (c == COLUMN_TRACE && cell && most && (int)strlen(cell) > most);

	return cell && is_short ? ws_path_name(cell) : cell ? cell : "";
}

/* Without columns that are empty in all rows. Columns that do not fit into the terminal are below,
 * behind the first one again. */
static void print_text(const struct table *t)
{
	const char *columns_set = getenv("COLUMNS");
	const int most = columns_set ? (int)strtol(columns_set, NULL, 10) : ws_terminal_width();
	int width[NCOLUMNS] = {0};

	for (int c = 0; c < NCOLUMNS; c++) {
		for (size_t r = 0; r < t->n; r++) {
			const int n =
			        (int)strlen(shown(&t->rows[r], c, most ? most - width[0] - 2 : 0));

			width[c] = n > width[c] ? n : width[c];
		}
		if (width[c] && width[c] < (int)strlen(columns[c].title))
			width[c] = (int)strlen(columns[c].title);
	}
	for (int begin = 1, end; begin < NCOLUMNS; begin = end) {
		int sum = width[0], last = 0;

		for (end = begin; end < NCOLUMNS; end++) {
			if (most && last && width[end] && sum + 2 + width[end] > most)
				break;
			sum += width[end] ? 2 + width[end] : 0;
			last = width[end] ? end : last;
		}
		if (!last && begin > 1)
			break;
		for (size_t r = 0; r <= t->n; r++)
			for (int c = 0; c <= last; c = c ? c + 1 : begin) {
				if (!width[c])
					continue;
				printf("%*s%s",
				       columns[c].is_number ? width[c]
				       : c == last          ? 0
				                            : -width[c],
				       r ? shown(&t->rows[r - 1], c, most ? most - width[0] - 2 : 0)
				         : columns[c].title,
				       c == last ? "\n" : "  ");
			}
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

/* The process itself, or the program before it has attached. */
static uint32_t pid_of(const struct ws_seg_header *seg)
{
	return ws_seg_process(atomic_load(&seg->attached) ? &seg->owner : &seg->started).pid;
}

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
	f.pid = pid_of(f.file.seg);
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

		if (!f->has_launcher ||
		    (pid && pid != f->pid && pid != f->launcher && pid != f->started))
			continue;
		*is_ambiguous |= one && !is_same_recording(one, f);
		one = f;
	}
	return one;
}

/* --- status --- */

static const char *state_of(const struct ws_seg_header *seg, bool has_launcher)
{
	const struct ws_seg_standby *s = &seg->control.standby;
	const union ws_seg_request r = {.word = atomic_load(&s->request)};
	const struct ws_proc owner = ws_seg_process(&seg->owner);
	bool is_waiting = r.is_start;

	if (!has_launcher)
		return "recorder killed";
	if (!atomic_load(&seg->attached))
		return r.is_start ? "waiting" : "starting";
	if (!ws_proc_is_elsewhere(owner.namespace) && !ws_proc_alive(owner))
		return "ended";
	if (!seg->capture.standby || atomic_load(&s->is_recording))
		return "recording";
	if (r.number && r.number == atomic_load(&s->missed))
		return "missed";
	if (r.number == atomic_load(&s->taken))
		is_waiting = atomic_load(&s->steps) < atomic_load(&s->first) &&
		             atomic_load(&s->first) < atomic_load(&s->last);
	return is_waiting ? "waiting" : "silent";
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

/* The rank of a process by its variables; NULL: unknown. For free(). */
static char *variable_of(const struct ws_seg_header *seg, const char *wanted)
{
	char copy[WS_MAX_ENVIRONMENT];
	const struct ws_strings env = ws_trace_path_environment(seg, copy);
	const char *value = NULL;

#define X(key, variable)                    \
	if (!value && !strcmp(key, wanted)) \
		value = ws_strings_value(env, variable, strlen(variable));
	WS_RANK_VARIABLES(X)
#undef X
	return value && *value && strspn(value, "0123456789") == strlen(value) ? ws_xstrdup(value)
	                                                                       : NULL;
}

/* The steps that are to be recorded, or were last; NULL: unknown or none. For free(). */
static char *plan_of(const struct ws_seg_standby *s)
{
	const union ws_seg_request r = {.word = atomic_load(&s->request)};
	const bool is_read = r.number == atomic_load(&s->taken);
	const uint64_t first = is_read || !r.is_start ? atomic_load(&s->first) : r.first;
	const uint64_t last = is_read || !r.is_start ? atomic_load(&s->last)
	                      : r.steps              ? first + r.steps
	                                             : UINT64_MAX;

	if (!is_read && r.is_start && !first)
		return r.steps ? ws_xformat("next %u", (unsigned)r.steps) : ws_xstrdup("next");
	if (first >= last)
		return NULL;
	return last == UINT64_MAX ? ws_xformat("%" PRIu64 "..", first)
	                          : ws_xformat("%" PRIu64 "..%" PRIu64, first, last - 1);
}

static struct row row_of(const struct ws_seg_header *seg, bool has_launcher)
{
	const struct ws_seg_standby *s = &seg->control.standby;
	const int64_t since_ns = atomic_load(&s->since_ns);
	struct row row = {0};

	row.cell[COLUMN_PID] = ws_xformat("%u", pid_of(seg));
	row.cell[COLUMN_PROGRAM] = copy_of(seg->control.command, 64);
	row.cell[COLUMN_STATE] = ws_xstrdup(state_of(seg, has_launcher));
	row.cell[COLUMN_SINCE] = ws_xformat("%" PRId64, (ws_clock_ns(CLOCK_MONOTONIC) -
	                                                 (since_ns ? since_ns : seg->base_ns)) /
	                                                        1000000000);
	if (seg->capture.standby) {
		row.cell[COLUMN_STEP] = ws_xformat("%" PRIu64, atomic_load(&s->steps));
		row.cell[COLUMN_PLAN] = plan_of(s);
		row.cell[COLUMN_WINDOWS] = ws_xformat("%" PRIu64, atomic_load(&s->windows));
	}
	row.cell[COLUMN_KERNELS] = ws_xformat("%" PRIu64, atomic_load(&s->kernels));
	row.cell[COLUMN_RANGES] = ws_xformat("%" PRIu64, atomic_load(&s->ranges));
	row.cell[COLUMN_LOSSES] = ws_xformat("%" PRIu64, atomic_load(&s->lost));
	row.cell[COLUMN_TRACE] = copy_of(seg->trace_path, sizeof(seg->trace_path) - 1);
	row.cell[COLUMN_RANK] = variable_of(seg, "process.rank");
	return row;
}

static void add_row(struct table *t, struct row row)
{
	WS_GROW(t->rows, t->n + 1, t->size);
	t->rows[t->n++] = row;
}

/* of NULL: of all recordings. */
static void print_status(const struct search *s, const struct found *of, enum format format)
{
	struct table t = {0};

	for (size_t i = 0; i < s->n; i++)
		if (!of || is_same_recording(&s->found[i], of))
			add_row(&t, row_of(s->found[i].file.seg, s->found[i].has_launcher));
	print_table(&t, format);
	free_table(&t);
}

/* --- requests --- */

static void put_request(struct ws_seg_header *seg, union ws_seg_request request)
{
	_Atomic uint64_t *word = &seg->control.standby.request;
	union ws_seg_request before = {.word = atomic_load(word)};

	do {
		request.number = before.number + 1;
		if (!request.number)
			request.number = 1;
	} while (!atomic_compare_exchange_weak(word, &before.word, request.word));
	/* while threads record they look for a request only if this is set; the next one resets it
	 */
	if (request.is_now && !request.is_start)
		atomic_store(&seg->control.has_ended, 1);
}

struct ctl {
	int64_t steps;
	bool has_steps, is_now, help;
	const char *segment_dir, *job;
	int format;
};

static void tell_request(const struct found *f, const union ws_seg_request *r)
{
	const uint64_t begun = atomic_load(&f->file.seg->control.standby.steps);

	printf("process %u: ", f->pid);
	if (!r->is_start)
		puts(r->is_now ? "recording ends now"
		               : "recording ends with the present step; --now ends it at once");
	else if (r->is_now)
		puts("recording begins now");
	else if (begun)
		printf("recording begins with the next step; %" PRIu64 " have begun so far\n",
		       begun);
	else
		puts("recording begins with its first step; none has begun so far");
}

/* A program without steps cannot wait for one, unless some are asked for. */
static bool waits_for_no_step(const struct ws_seg_standby *s, union ws_seg_request r, bool is_now)
{
	return is_now || (!atomic_load(&s->steps) && !(r.is_start && r.steps));
}

static int request(const struct search *s, const struct found *of, const struct ctl *c,
                   bool is_start)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct found *f = &s->found[i];
		struct ws_seg_header *seg = f->file.seg;
		union ws_seg_request r = {.is_start = is_start,
		                          .steps = (uint64_t)c->steps & 0x3FFF};

		if (!is_same_recording(f, of))
			continue;
		r.is_now = waits_for_no_step(&seg->control.standby, r, c->is_now);
		put_request(seg, r);
		tell_request(f, &r);
	}
	return 0;
}

/* --- the ranks of a job: a folder that they share --- */

/*
 * Each launcher keeps a file RANK_PREFIX HOST-PID there for each of its processes: the row of its
 * status and what else is needed, as lines NAME=VALUE. It reads COMMAND_FILE. Files are replaced as
 * a whole.
 */
#define COMMAND_FILE "command"
#define RANK_PREFIX  "rank-"
#define READ_NS      INT64_C(200000000)
#define WRITE_NS     INT64_C(1000000000)
/* From the choice of a step to the moment at which every rank has heard of it. */
#define NOTICE_S 5
/* A rank is dead if its file is older than this. */
#define DEAD_S 15
/* How long ranks may take to answer. */
#define ANSWER_MS 20000

/* What a command says. */
struct command {
	uint64_t number; /* its time, so that it is another one each time */
	char verb[8];    /* start, stop or dump */
	uint64_t first, steps;
	int is_now;
};

struct ws_job {
	char *dir;
	char host[256];
	uint64_t number; /* of the last command that was read */
	int64_t next_read_ns, next_write_ns;
};

static bool read_command(const char *dir, struct command *c)
{
	char *path = ws_xformat("%s/" COMMAND_FILE, dir), text[256];

	*c = (struct command){0};
	ws_text_read(path, text, sizeof(text));
	free(path);
	return sscanf(text, "%" SCNu64 " %7s %" SCNu64 " %" SCNu64 " %d", &c->number, c->verb,
	              &c->first, &c->steps, &c->is_now) == 5;
}

/* A folder into which nobody else may write: whoever writes there controls the ranks. */
static enum ws_status check_job_folder(const char *dir, struct ws_err *err)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *problem = fd < 0 ? strerror(errno) : ws_own_file_problem(fd, true, 022);

	if (fd >= 0)
		close(fd);
	WS_FAIL_IF(problem, err, ENVIRONMENT, "--job %s: %s", dir, problem);
	return WS_OK;
}

enum ws_status ws_job_open(struct ws_job **out, const char *dir, struct ws_err *err)
{
	struct command before;

	(void)!ws_own_folder_make(dir, 0700);
	WS_FORWARD(check_job_folder(dir, err));
	struct ws_job *job = *out = ws_xarray(1, sizeof(*job));
	job->dir = realpath(dir, NULL);
	if (!job->dir)
		job->dir = ws_xstrdup(dir);
	if (gethostname(job->host, sizeof(job->host) - 1))
		snprintf(job->host, sizeof(job->host), "unknown");
	/* a command that is older than this process is not for its steps */
	if (read_command(dir, &before))
		job->number = before.number;
	return WS_OK;
}

static char *rank_path(const struct ws_job *job, struct ws_process *p)
{
	return ws_xformat("%s/" RANK_PREFIX "%s-%u", job->dir, job->host, ws_process_pid(p));
}

/* The launcher's process is named, too: if that is killed, nobody reads commands any more. */
static void write_rank(const struct ws_job *job, struct ws_process *p)
{
	const struct ws_seg_header *seg = p->file.seg;
	const struct ws_proc self = ws_proc_self();
	char *path = rank_path(job, p), *world = variable_of(seg, "process.world_size");
	struct row row = row_of(seg, true);
	struct ws_outfile out = {0};

	row.cell[COLUMN_HOST] = ws_xstrdup(job->host);
	if (p->job.has_missed) {
		free(row.cell[COLUMN_STATE]);
		row.cell[COLUMN_STATE] = ws_xstrdup("missed");
	}
	if (ws_outfile_open(&out, path, NULL) == WS_OK) {
		for (int c = 0; c < NCOLUMNS; c++)
			if (row.cell[c])
				fprintf(out.f, "%s=%s\n", columns[c].title, row.cell[c]);
		fprintf(out.f,
		        "world=%s\nlauncher=%u\nticks=%" PRIu64 "\nwritten=%" PRId64
		        "\nahead=%" PRIu64 "\nkeeps=%" PRIu32 "\ncommand=%" PRIu64 "\n",
		        world ? world : "", self.pid, self.start_ticks,
		        ws_clock_ns(CLOCK_REALTIME) / 1000000000,
		        p->job.per_s > 0 ? 1 + (uint64_t)ceil(p->job.per_s * NOTICE_S) : 0,
		        seg->capture.keeps, job->number);
		(void)ws_outfile_commit(&out, NULL);
	}
	for (int c = 0; c < NCOLUMNS; c++)
		free(row.cell[c]);
	free(world);
	free(path);
}

static void obey(const struct command *c, struct ws_process *p)
{
	struct ws_seg_standby *s = &p->file.seg->control.standby;
	union ws_seg_request r = {.is_start = !strcmp(c->verb, "start"),
	                          .steps = c->steps & 0x3FFF};

	if (!strcmp(c->verb, "dump"))
		atomic_fetch_add(&s->dumps, 1);
	if (p->file.seg->capture.keeps)
		return;
	r.is_now = waits_for_no_step(s, r, c->is_now != 0);
	r.first = r.is_now ? 0 : c->first & UINT32_MAX;
	p->job.has_missed = r.is_start && r.first && atomic_load(&s->steps) >= r.first;
	if (!p->job.has_missed)
		put_request(p->file.seg, r);
}

static void remove_rank(const struct ws_job *job, struct ws_process *p)
{
	char *path = p->job.at_ns ? rank_path(job, p) : NULL;
	const char *name;
	const int folder = path ? ws_own_file_folder(path, &name) : -1;

	if (folder >= 0) {
		unlinkat(folder, name, 0);
		close(folder);
	}
	p->job.at_ns = 0;
	free(path);
}

void ws_job_step(struct ws_job *job, struct ws_process *const *processes, size_t n)
{
	const int64_t now_ns = ws_clock_ns(CLOCK_MONOTONIC);
	struct command c;

	if (now_ns < job->next_read_ns)
		return;
	job->next_read_ns = now_ns + READ_NS;
	if (read_command(job->dir, &c) && c.number != job->number) {
		job->number = c.number;
		for (size_t i = 0; i < n; i++)
			if (processes[i]->file.seg && !processes[i]->is_gone)
				obey(&c, processes[i]);
	}
	if (now_ns < job->next_write_ns)
		return;
	job->next_write_ns = now_ns + WRITE_NS;
	for (size_t i = 0; i < n; i++) {
		struct ws_process *p = processes[i];
		uint64_t steps;

		if (!p->file.seg || p->is_gone || !ws_process_pid(p)) {
			remove_rank(job, p);
			continue;
		}
		steps = atomic_load(&p->file.seg->control.standby.steps);
		double per_s = p->job.at_ns ? (double)(steps - p->job.steps) * 1e9 /
		                                      (double)(now_ns - p->job.at_ns)
		                            : 0;
		/* of ranks that pause the last rate counts */
		p->job.per_s = per_s > p->job.per_s / 2 ? per_s : p->job.per_s / 2;
		p->job.steps = steps;
		p->job.at_ns = now_ns;
		write_rank(job, p);
	}
}

void ws_job_close(struct ws_job *job, struct ws_process *const *processes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		remove_rank(job, processes[i]);
	free(job->dir);
	free(job);
}

/* --- the same, seen by `warpsheet ctl --job` --- */

/* The value behind NAME= at the begin of a line; for free(). NULL: there is none. */
static char *value_in(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, len) && line[len] == '=')
			return copy_of(line + len + 1, strcspn(line + len + 1, "\n"));
	return NULL;
}

static uint64_t number_in(const char *text, const char *name)
{
	char *value = value_in(text, name);
	const uint64_t number = value ? strtoull(value, NULL, 10) : 0;

	free(value);
	return number;
}

static void read_rank(struct table *ranks, const char *text)
{
	const struct ws_proc launcher = {.pid = (uint32_t)number_in(text, "launcher"),
	                                 .start_ticks = number_in(text, "ticks")};
	const int64_t age_s =
	        ws_clock_ns(CLOCK_REALTIME) / 1000000000 - (int64_t)number_in(text, "written");
	char host[256] = "";
	struct row r = {.steps = number_in(text, columns[COLUMN_STEP].title),
	                .command = number_in(text, "command"),
	                .world = number_in(text, "world"),
	                .ahead = number_in(text, "ahead"),
	                .keeps = number_in(text, "keeps") != 0};

	for (int c = 0; c < NCOLUMNS; c++)
		r.cell[c] = value_in(text, columns[c].title);
	(void)gethostname(host, sizeof(host) - 1);
	/* on this machine the process itself shows it */
	r.is_dead = r.cell[COLUMN_HOST] && !strcmp(r.cell[COLUMN_HOST], host)
	                    ? !launcher.pid || !ws_proc_alive(launcher)
	                    : age_s > DEAD_S;
	if (r.is_dead) {
		free(r.cell[COLUMN_STATE]);
		r.cell[COLUMN_STATE] = ws_xstrdup("dead");
	}
	add_row(ranks, r);
}

static int by_rank(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	const char *const rank[] = {a->cell[COLUMN_RANK], b->cell[COLUMN_RANK]};
	const long number[] = {rank[0] ? strtol(rank[0], NULL, 10) : -1,
	                       rank[1] ? strtol(rank[1], NULL, 10) : -1};

	if (number[0] != number[1])
		return number[0] < number[1] ? -1 : 1;
	return strcmp(a->cell[COLUMN_PID] ? a->cell[COLUMN_PID] : "",
	              b->cell[COLUMN_PID] ? b->cell[COLUMN_PID] : "");
}

static void read_ranks(const char *dir, struct table *ranks)
{
	static char text[16384];
	struct dirent *entry;
	DIR *d = opendir(dir);

	*ranks = (struct table){0};
	while (d && (entry = readdir(d))) {
		if (strncmp(entry->d_name, RANK_PREFIX, strlen(RANK_PREFIX)) != 0)
			continue;
		char *path = ws_xformat("%s/%s", dir, entry->d_name);
		if (ws_text_read(path, text, sizeof(text)) && strstr(text, "\ncommand="))
			read_rank(ranks, text);
		free(path);
	}
	if (d)
		closedir(d);
	if (ranks->n)
		qsort(ranks->rows, ranks->n, sizeof(*ranks->rows), by_rank);
}

/* Number of living ranks that read this command, and that missed its first step. */
static size_t count_answers(const struct table *ranks, uint64_t number, size_t *missed)
{
	size_t n = 0;

	*missed = 0;
	for (size_t i = 0; i < ranks->n; i++) {
		const struct row *r = &ranks->rows[i];

		n += !r->is_dead && r->command == number;
		*missed += !r->is_dead && r->command == number &&
		           !strcmp(r->cell[COLUMN_STATE] ? r->cell[COLUMN_STATE] : "", "missed");
	}
	return n;
}

/* A step that no rank has reached when all have heard of it: the largest number begun, and as many
 * further as the fastest one makes until then. *living: number of ranks. */
static enum ws_status choose_step(const struct table *ranks, const char *dir, const char *verb,
                                  uint64_t *step, size_t *living, struct ws_err *err)
{
	const bool is_dump = !strcmp(verb, "dump");
	uint64_t top = 0, world = 0, ahead = 0;

	*living = 0;
	for (size_t i = 0; i < ranks->n; i++) {
		const struct row *r = &ranks->rows[i];

		if (r->is_dead)
			continue;
		WS_FAIL_IF(r->keeps != is_dump, err, USAGE,
		           is_dump ? "process %s keeps nothing to dump: start it with `warpsheet "
		                     "record "
		                     "--keep SECONDS --job %s`"
		                   : "process %s is a flight recorder, which records all the time: "
		                     "`warpsheet ctl dump --job %s`",
		           r->cell[COLUMN_PID] ? r->cell[COLUMN_PID] : "", dir);
		++*living;
		world = r->world > world ? r->world : world;
		top = r->steps > top ? r->steps : top;
		ahead = r->ahead > ahead ? r->ahead : ahead;
	}
	WS_FAIL_IF(!*living, err, FINDING,
	           "no rank runs in %s: start each with `warpsheet record --standby --job %s`, or "
	           "with --keep",
	           dir, dir);
	WS_FAIL_IF(!strcmp(verb, "start") && *living < world, err, FINDING,
	           "%zu of %" PRIu64 " ranks are in %s: wait until all have begun, or see which "
	           "are dead (`warpsheet ctl status --job %s`)",
	           *living, world, dir, dir);
	*step = top + (ahead ? ahead : 2 * NOTICE_S);
	return WS_OK;
}

static enum ws_status write_command(const char *dir, const struct command *c, struct ws_err *err)
{
	char *path = ws_xformat("%s/" COMMAND_FILE, dir);
	struct ws_outfile out = {0};
	enum ws_status status = ws_outfile_open(&out, path, err);

	if (status == WS_OK) {
		fprintf(out.f, "%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %d\n", c->number, c->verb,
		        c->first, c->steps, c->is_now);
		status = ws_outfile_commit(&out, err);
	}
	free(path);
	return status;
}

static int failed(const struct ws_err *err)
{
	fprintf(stderr, "warpsheet ctl: %s\n", err->text);
	return ws_status_exit_code(err->status);
}

static int run_job(const struct ctl *c, const char *verb, const char *dir)
{
	struct command command = {.number = (uint64_t)ws_clock_ns(CLOCK_REALTIME),
	                          .steps = (uint64_t)c->steps,
	                          .is_now = c->is_now};
	struct table ranks = {0};
	const bool is_start = !strcmp(verb, "start");
	size_t living = 0, answers = 0, missed = 0;
	struct ws_err err = {0};
	enum ws_status status = check_job_folder(dir, &err);

	if (status == WS_OK)
		read_ranks(dir, &ranks);
	if (status == WS_OK && !strcmp(verb, "status")) {
		print_table(&ranks, (enum format)c->format);
		if (ranks.n) {
			free_table(&ranks);
			return 0;
		}
	}
	snprintf(command.verb, sizeof(command.verb), "%s", verb);
	WS_THEN(status, choose_step(&ranks, dir, verb, &command.first, &living, &err));
	if (c->is_now)
		command.first = 0;
	WS_THEN(status, write_command(dir, &command, &err));
	/* until all ranks have answered */
	for (int ms = 0; status == WS_OK && ms < ANSWER_MS && answers < living; ms += 100) {
		usleep(100000);
		free_table(&ranks);
		read_ranks(dir, &ranks);
		answers = count_answers(&ranks, command.number, &missed);
	}
	free_table(&ranks);
	if (status == WS_OK)
		printf("%zu rank%s: ", answers - missed, WS_PLURAL(answers - missed));
	if (status == WS_OK && !strcmp(verb, "dump"))
		puts("each recorder writes what is kept, and then prints the name of the trace");
	else if (status == WS_OK && c->is_now)
		printf("recording %s now\n", is_start ? "begins" : "ends");
	else if (status == WS_OK)
		printf(is_start ? "recording begins with step %" PRIu64 "\n"
		                : "step %" PRIu64 " is the first that is not recorded\n",
		       command.first);
	if (status == WS_OK && answers < living)
		status =
		        WS_FAIL(&err, FINDING,
		                "%zu of %zu ranks did not answer (`warpsheet ctl status --job %s`)",
		                living - answers, living, dir);
	else if (status == WS_OK && missed)
		status = WS_FAIL(&err, FINDING,
		                 "%zu ranks had passed step %" PRIu64
		                 " already: stop, and start again",
		                 missed, command.first);
	return status == WS_OK ? 0 : failed(&err);
}

/* --- the command line --- */

static enum ws_status choose(const struct search *s, const char *pid, const struct found **of,
                             struct ws_err *err)
{
	char *end = NULL;
	const unsigned long number = pid ? strtoul(pid, &end, 10) : 0;
	bool is_ambiguous;

	WS_FAIL_IF(pid && (!number || *end || number > UINT32_MAX), err, USAGE,
	           "%s is not the number of a process: give a PID, or nothing if only one "
	           "recording runs",
	           pid);
	*of = find(s, (uint32_t)number, &is_ambiguous);
	WS_FAIL_IF(
	        !*of && pid, err, FINDING,
	        "process %s is not recorded by a recorder of yours (`warpsheet ctl status` lists "
	        "those that are; --segment-dir names another folder of segments)",
	        pid);
	WS_FAIL_IF(!*of, err, FINDING,
	           "no recording of yours runs (--segment-dir names another folder of segments)");
	WS_FAIL_IF(is_ambiguous, err, USAGE, "several recordings run: give the PID of one");
	return WS_OK;
}

/* The launcher writes what it keeps: ws_flight_trigger(). */
static int dump(const struct search *s, const struct found *of)
{
	struct ws_err err = {0};

	if (!of->file.seg->capture.keeps) {
		WS_FAIL(&err, USAGE,
		        "process %u keeps nothing to dump: start it with `warpsheet record --keep "
		        "SECONDS`",
		        of->pid);
		return failed(&err);
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_same_recording(&s->found[i], of))
			atomic_fetch_add(&s->found[i].file.seg->control.standby.dumps, 1);
	printf("process %u: the recorder writes what is kept, and then prints the name of the "
	       "trace\n",
	       of->pid);
	return 0;
}

static int run(const struct ctl *c, const char *verb, const char *pid)
{
	struct search s = {0};
	const struct found *of = NULL;
	struct ws_err err = {0};
	const bool is_status = !strcmp(verb, "status");
	int code, fd;

	if (c->segment_dir && ws_segment_folder_open(c->segment_dir, &fd, &err) != WS_OK)
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
	} else if (!strcmp(verb, "dump")) {
		code = dump(&s, of);
	} else if (!of->file.seg->capture.standby) {
		WS_FAIL(&err, USAGE,
		        "process %u was not started with --standby, so it is recorded all the time",
		        of->pid);
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
	               "start and stop: do not wait for a step. A step that this cuts is recorded "
	               "in part"),
	        WS_OPT("job", 0, TEXT, "DIR", &c.job,
	               "all ranks that were started with `record --standby --job DIR`: they record "
	               "the same steps; with `record --keep 60s --job DIR`: dump"),
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
		puts("Usage: warpsheet ctl start|stop|dump|status [PID | --job DIR] [options]\n\n"
		     "Programs that were started by 'warpsheet record --standby' are recorded "
		     "from\n"
		     "'start' on, until 'stop' or for a number of steps. 'dump' writes what a "
		     "flight\n"
		     "recorder ('warpsheet record --keep') keeps. 'status' shows all recordings. "
		     "PID\n"
		     "is that of the recorder, of the program or of one of its processes; it can "
		     "be\n"
		     "left out if one recording runs. Exit status 1: there is no such "
		     "recording.\n");
		ws_opt_print_help(stdout, opts, nopts);
		return 0;
	}
	if (ws_opt_parse(opts, nopts, argc - 1, argv + 1, &n, &err) != WS_OK)
		return failed(&err);
	if (n < 1 || n > 2 ||
	    (strcmp(argv[1], "start") && strcmp(argv[1], "stop") && strcmp(argv[1], "status") &&
	     strcmp(argv[1], "dump"))) {
		WS_FAIL(&err, USAGE,
		        "give start, stop, status or dump, and a PID if several recordings run "
		        "(see --help)");
		return failed(&err);
	}
	if (c.has_steps && strcmp(argv[1], "start")) {
		WS_FAIL(&err, USAGE, "--steps belongs to start");
		return failed(&err);
	}
	if (c.job && n > 1) {
		WS_FAIL(&err, USAGE, "--job DIR and a PID exclude each other");
		return failed(&err);
	}
	return c.job ? run_job(&c, argv[1], c.job) : run(&c, argv[1], n > 1 ? argv[2] : NULL);
}
