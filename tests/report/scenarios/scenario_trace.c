/*
 * Traces from a text, a row a line, and commands of warpsheet on them: scenario_trace <TEXT. The
 * line `trace PATH` begins the trace that is written to PATH; what a line of it can be:
 * tests/report/scenarios/README.md. Exit status 2, and the line, when it is nothing of that.
 * The line `run OUT ERR ARGUMENT…` is the command `warpsheet ARGUMENT…`; what it prints is written
 * to OUT and ERR, and its exit status is printed. `width N` is how wide the terminal of the next
 * commands is, 0: it has no end. All commands run in this process, one after the
 * other: nothing is loaded again, and the class rules are compiled once. After the line `done` all
 * traces are written, and 0 is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/bytes.h"
#include "formats/codec/block.h"
#include "report/base/ui.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_sample.h"

/* By --wrap: main of report/commands/main.c, and what it does at its end, which closes stdout. */
int __real_main(int argc, char **argv);
int __wrap_main(void);
enum ws_status __wrap_ws_ui_stdout_finish(struct ws_err *err);

#define PID 100

enum { WORDS = 256 };

struct scenario {
	struct tb *b; /* NULL before the first */
	char *path;
	char *line; /* as read, for messages */
	char *copy; /* that words lie in */
	char *word[WORDS];
	size_t words;
	size_t number; /* of the line, of its trace */
	uint64_t thread, last_id;
	bool unclosed;
	FILE *answers;
	struct ws_sample bytes; /* of a trace that is written; changes are made in them */
};

static _Noreturn void reject(const struct scenario *s, const char *why, const char *what)
{
	fprintf(stderr, "%s: line %zu: %s %s: %s", s->path, s->number, why, what, s->line);
	exit(2);
}

/* --- words ------------------------------------------------------------------------------- */

/* The byte of two hexadecimal digits. */
static char byte_of(const struct scenario *s, const char *digits)
{
	char two[3] = {digits[0], digits[0] ? digits[1] : 0}, *end;
	const long byte = strtol(two, &end, 16);

	if (end != two + 2)
		reject(s, "no byte:", two);
	return (char)byte;
}

/* Words have blanks between them; "…" in a word may hold blanks, \" and \n; \xff is a byte. */
static void split(struct scenario *s)
{
	char *to = s->copy;
	const char *p = s->line;

	s->words = 0;
	for (;;) {
		bool quoted = false;

		p += strspn(p, " \t\n");
		if (!*p || *p == '#')
			return;
		if (s->words == WORDS)
			reject(s, "too many words", "");
		s->word[s->words++] = to;
		for (; *p && (quoted || !strchr(" \t\n", *p)); p++) {
			if (*p == '"') {
				quoted = !quoted;
			} else if (*p == '\\' && p[1]) {
				p++;
				*to++ = *p == 'n' ? '\n' : *p == 'x' ? byte_of(s, p + 1) : *p;
				p += *p == 'x' ? 2 : 0;
			} else {
				*to++ = *p;
			}
		}
		if (quoted)
			reject(s, "a quote", "that does not end");
		*to++ = 0;
	}
}

static const char *word(const struct scenario *s, size_t i)
{
	if (i >= s->words)
		reject(s, "too few words", "");
	return s->word[i];
}

/* Whole numbers; us and ms behind one are ns. */
static bool is_number(const char *text, int64_t *n)
{
	char *end;
	int64_t unit;

	errno = 0;
	*n = *text == '-' ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 0);
	unit = !strcmp(end, "us") ? 1000 : !strcmp(end, "ms") ? 1000000 : *end ? 0 : 1;
	return end != text && unit && !errno && !__builtin_mul_overflow(*n, unit, n);
}

static int64_t number(const struct scenario *s, size_t i)
{
	int64_t n;

	if (!is_number(word(s, i), &n))
		reject(s, "no number:", word(s, i));
	return n;
}

/* The value of the word NAME=VALUE, if it is that. */
static const char *value_of(const char *text, const char *name)
{
	const size_t len = strlen(name);

	return !strncmp(text, name, len) && text[len] == '=' ? text + len + 1 : NULL;
}

/* --- rows of any kind ---------------------------------------------------------------------- */

/* The value of a name in the list of an ENUM's unit: "0=push,1=pop". */
static bool is_entry(const char *unit, const char *name, int64_t *n)
{
	for (uint64_t v = 0; v < 64; v++) {
		const struct ws_bytes entry = ws_enum_name(unit, v);

		if (entry.len == strlen(name) && !memcmp(entry.ptr, name, entry.len)) {
			*n = (int64_t)v;
			return entry.len > 0;
		}
	}
	return false;
}

static void set_column(struct scenario *s, const struct ws_column_def *c, void *row,
                       const char *value)
{
	void *at = (char *)row + c->row_offset;
	struct ws_bytes bytes = ws_bytes_of(value);
	int64_t n = 0;
	double real;

	switch (c->type) {
	case WS_TYPE_F64:
		real = strtod(value, NULL);
		memcpy(&n, &real, sizeof(n));
		break;
	case WS_TYPE_BLOB: /* 0x0c00… are bytes that a text cannot hold */
		for (bytes.len = strncmp(value, "0x", 2) ? bytes.len : 0;
		     !bytes.len && value[2 + 2 * n]; n++)
			((char *)(uintptr_t)value)[n] = byte_of(s, value + 2 + 2 * n);
		bytes.len = n ? (size_t)n : bytes.len;
		memcpy(at, &bytes, sizeof(bytes));
		return;
	case WS_TYPE_STR:
		n = (int64_t)tb_text(s->b, value);
		break;
	default:
		if (!is_number(value, &n) && !is_entry(c->unit, value, &n))
			reject(s, "no value:", value);
	}
	memcpy(at, &n, sizeof(n));
}

/* Is text COLUMN=VALUE of this kind? Then it is set. */
static bool take_column(struct scenario *s, const struct ws_kind_def *def, void *row,
                        const char *text)
{
	for (size_t c = 0; c < def->ncolumns; c++) {
		const char *value = value_of(text, def->columns[c].name);

		if (value)
			set_column(s, &def->columns[c], row, value);
		if (value)
			return true;
	}
	return false;
}

/* What a row has unless it says so itself: the process, the thread, and no autograd. */
static void set_usual(struct scenario *s, const struct ws_kind_def *def, void *row)
{
	const struct {
		const char *column;
		int64_t value;
	} usual[] = {{"pid", PID},
	             {"thread", (int64_t)s->thread},
	             {"sequence", -1},
	             {"module", -1}};

	for (size_t c = 0; c < def->ncolumns; c++)
		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			if (!strcmp(def->columns[c].name, usual[i].column))
				memcpy((char *)row + def->columns[c].row_offset, &usual[i].value,
				       sizeof(usual[i].value));
}

static void add_row(struct scenario *s, const struct ws_kind_def *def)
{
	uint64_t row[32] = {0};

	if (def->row_size > sizeof(row))
		reject(s, "too long a row:", def->name);
	set_usual(s, def, row);
	for (size_t i = 1; i < s->words; i++)
		if (!take_column(s, def, row, word(s, i)))
			reject(s, "no column:", word(s, i));
	tb_add(s->b, (enum ws_kind)def->id, row);
}

/* --- what a program does --------------------------------------------------------------------- */

/* kernel NAME START DUR COLUMN=VALUE…, columns of kernels and of their configurations. */
static void add_kernel(struct scenario *s, const char *name, int64_t start_ns, int64_t dur_ns,
                       uint64_t correlation, size_t next)
{
	struct ws_row_launch_config config = {.name = tb_text(s->b, name),
	                                      .pid = PID,
	                                      .grid_x = 1,
	                                      .block_x = 32};
	struct ws_row_kernel kernel = {.start_ns = start_ns,
	                               .dur_ns = dur_ns,
	                               .correlation = correlation};
	struct ws_err err;

	for (; next < s->words; next++)
		if (!take_column(s, ws_schema_kind(WS_KIND_KERNEL), &kernel, word(s, next)) &&
		    !take_column(s, ws_schema_kind(WS_KIND_LAUNCH_CONFIG), &config, word(s, next)))
			reject(s, "no column:", word(s, next));
	if (ws_trace_writer_intern_config(tb_writer(s->b), &config, &kernel.config, &err) != WS_OK)
		reject(s, "not written:", err.text);
	tb_add(s->b, WS_KIND_KERNEL, &kernel);
}

static void call(struct scenario *s, int64_t start_ns, int64_t dur_ns, uint64_t correlation,
                 size_t next)
{
	struct ws_row_api row = {.start_ns = start_ns,
	                         .dur_ns = dur_ns,
	                         .thread = s->thread,
	                         .name = tb_text(s->b, "cudaLaunchKernel"),
	                         .correlation = correlation};

	for (; next < s->words; next++)
		if (!take_column(s, ws_schema_kind(WS_KIND_API), &row, word(s, next)))
			reject(s, "no column:", word(s, next));
	tb_add(s->b, WS_KIND_API, &row);
}

/* push TIME NAME FIELD=VALUE…, with which it is an operation */
static void push(struct scenario *s)
{
	static const char *const numbers[] = {"flops", "read", "written", "batch",
	                                      "m",     "n",    "k",       "needed"};
	uint64_t value[sizeof(numbers) / sizeof(*numbers)] = {0};
	struct tb_op op = {.layer = -1};

	if (s->words == 3) {
		tb_push(s->b, number(s, 1), word(s, 2));
		return;
	}
	for (size_t i = 3; i < s->words; i++) {
		const char *text = word(s, i), *v = strchr(text, '=');
		int64_t n = 0;

		if (value_of(text, "op"))
			op.op = value_of(text, "op");
		else if (value_of(text, "direction"))
			op.direction = value_of(text, "direction");
		else if (value_of(text, "dtype"))
			op.dtype = value_of(text, "dtype");
		else if (!v || !is_number(v + 1, &n))
			reject(s, "no field:", text);
		else if (value_of(text, "layer"))
			op.layer = (int32_t)n;
		for (size_t f = 0; f < sizeof(numbers) / sizeof(*numbers); f++)
			if (value_of(text, numbers[f]))
				value[f] = (uint64_t)n;
	}
	op.flops = value[0];
	op.bytes_read = value[1];
	op.bytes_written = value[2];
	tb_push_sized_op(s->b, number(s, 1), word(s, 2), &op, &value[3]);
}

/* --- changes of the bytes of a trace -------------------------------------------------------- */

/* Each block by its kind and number, and the ends: for what is expected of a changed trace. */
static void write_places(const struct scenario *s)
{
	const struct ws_sample *b = &s->bytes;
	unsigned n[WS_KIND_END] = {0};
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.places", s->path);
	f = fopen(path, "w");
	for (size_t at = WS_FILE_HEADER_BYTES; f && b->size - at >= WS_BLOCK_HEADER_BYTES;
	     at += ws_sample_block_size(b, at)) {
		const unsigned kind = ws_load_u16(b->data + at + 4);

		fprintf(f, "%s.%u %zu %zu\n", ws_schema_kind(kind)->name, n[kind]++, at,
		        ws_sample_block_size(b, at));
	}
	if (!f ||
	    fprintf(f, "trailer %zu 32\nend %zu 0\n", b->size - WS_TRAILER_BYTES, b->size) < 0 ||
	    fclose(f))
		reject(s, "not written:", path);
}

/* The bytes that the lines so far make; no row comes after. */
static void make_bytes(struct scenario *s)
{
	if (s->bytes.data)
		return;
	if (s->unclosed)
		ws_trace_writer_flush(tb_writer(s->b), NULL);
	else
		tb_close(s->b);
	s->bytes = ws_sample_take(tb_writer(s->b));
}

/* A byte of the file: file+8, trailer+0, KIND.N+8 of the N-th block of a kind, KIND.N/COLUMN+0 of
 * what its directory says of a column; KIND.N-1 is the last of the block. */
struct place {
	size_t block, at;
	void (*seal)(struct ws_sample *, size_t);
};

static void seal_header(struct ws_sample *s, size_t block)
{
	(void)block;
	ws_sample_seal_header(s);
}

static void seal_trailer(struct ws_sample *s, size_t block)
{
	(void)block;
	ws_sample_seal_trailer(s);
}

static struct place place_of(const struct scenario *s, const char *text)
{
	struct place p = {.seal = ws_sample_seal_block};
	const struct ws_kind_def *def;
	char kind[40] = "", column[40] = "";
	const char *sign = strpbrk(text, "+-");
	unsigned n = 0;

	sscanf(text, "%39[a-z_].%u/%39[a-z_]", kind, &n, column);
	if (!strcmp(kind, "file")) {
		p.seal = seal_header;
	} else if (!strcmp(kind, "trailer")) {
		p.block = s->bytes.size - WS_TRAILER_BYTES;
		p.seal = seal_trailer;
	} else {
		def = ws_schema_kind_by_name(kind);
		if (!def)
			reject(s, "no place:", text);
		p.block = ws_sample_block(&s->bytes, (enum ws_kind)def->id, n);
		p.at = p.block;
		for (unsigned c = 0; *column && c < def->ncolumns; c++)
			if (!strcmp(column, def->columns[c].name))
				p.at += WS_BLOCK_HEADER_BYTES + c * WS_DIR_ENTRY_BYTES;
		if (sign && *sign == '-')
			p.at += ws_sample_block_size(&s->bytes, p.block);
	}
	p.at = (p.at ? p.at : p.block) + (sign ? (size_t)strtol(sign, NULL, 10) : 0);
	return p;
}

/* change PLACE WIDTH VALUE, by a program that makes checksums; store PLACE WIDTH VALUE, flip PLACE
 * MASK: by a disk that makes none. cut PLACE: all from there on is lost. remove PLACE and copy
 * PLACE: of a whole block. Is it one of them? */
static bool take_change(struct scenario *s)
{
	static const char *const changes[] = {"change", "store", "flip", "cut", "remove", "copy"};
	enum { CHANGE, STORE, FLIP, CUT, REMOVE, COPY, CHANGES } what = 0;
	struct place p;
	size_t size;

	while (what < CHANGES && strcmp(word(s, 0), changes[what]) != 0)
		what++;
	if (what == CHANGES)
		return false;
	make_bytes(s);
	p = place_of(s, word(s, 1));
	switch (what) {
	case CHANGE:
	case STORE:
		ws_sample_poke(&s->bytes, p.at, (unsigned)number(s, 2), (uint64_t)number(s, 3));
		if (what == CHANGE)
			p.seal(&s->bytes, p.block);
		break;
	case FLIP:
		s->bytes.data[p.at] ^= (uint8_t)number(s, 2);
		break;
	case CUT:
		s->bytes.size = p.at;
		break;
	default:
		size = ws_sample_block_size(&s->bytes, p.block);
		if (what == REMOVE) {
			ws_sample_remove(&s->bytes, p.block, size);
		} else {
			uint8_t *copy = malloc(size);

			memcpy(copy, s->bytes.data + p.block, size);
			ws_sample_insert(&s->bytes, p.block, copy, size);
			free(copy);
		}
	}
	return true;
}

static void take_line(struct scenario *s)
{
	const char *what = word(s, 0);
	const struct ws_kind_def *def = ws_schema_kind_by_name(what);

	if (!strcmp(what, "on")) {
		s->thread = (uint64_t)number(s, 1);
		tb_on_thread(s->b, s->thread);
	} else if (!strcmp(what, "domain")) {
		tb_in_domain(s->b, word(s, 1));
	} else if (!strcmp(what, "push")) {
		push(s);
	} else if (!strcmp(what, "pop")) {
		tb_pop(s->b, number(s, 1));
	} else if (!strcmp(what, "start")) {
		tb_start(s->b, number(s, 1), word(s, 2), (uint64_t)number(s, 3));
	} else if (!strcmp(what, "end")) {
		tb_end(s->b, number(s, 1), (uint64_t)number(s, 2));
	} else if (!strcmp(what, "mark")) {
		tb_mark(s->b, number(s, 1), word(s, 2));
	} else if (!strcmp(what, "call")) {
		call(s, number(s, 1), number(s, 2), (uint64_t)number(s, 3), 4);
	} else if (!strcmp(what, "kernel")) {
		add_kernel(s, word(s, 1), number(s, 2), number(s, 3), 0, 4);
	} else if (!strcmp(what, "launch")) {
		const uint64_t id = ++s->last_id;

		call(s, number(s, 1), 1, id, s->words);
		add_kernel(s, word(s, 2), number(s, 3), number(s, 4), id, 5);
	} else if (!strcmp(what, "flush")) {
		ws_trace_writer_flush(tb_writer(s->b), NULL);
	} else if (!strcmp(what, "unclosed")) {
		s->unclosed = true;
	} else if (!strcmp(what, "sample")) {
		/* rows of every kind, which other tests have, too */
		s->bytes = s->words > 1 ? ws_sample_make_unclosed() : ws_sample_make();
	} else if (!strcmp(what, "places")) {
		make_bytes(s);
		write_places(s);
	} else if (take_change(s)) {
		return;
	} else if (def && !ws_kind_is_made(def->id)) {
		add_row(s, def);
	} else {
		reject(s, "no kind of row:", what);
	}
}

static bool is_written(struct ws_sample bytes, const char *path)
{
	FILE *f = fopen(path, "wb");
	bool is = f && fwrite(bytes.data, 1, bytes.size, f) == bytes.size;

	return f && fclose(f) == 0 && is;
}

/* Write the trace that was made. */
static void finish(struct scenario *s)
{
	if (!s->b)
		return;
	make_bytes(s);
	if (!is_written(s->bytes, s->path)) {
		perror(s->path);
		exit(4);
	}
	ws_sample_free(&s->bytes);
	tb_free(s->b);
	free(s->path);
	s->b = NULL;
}

static void begin(struct scenario *s, const char *path)
{
	finish(s);
	s->b = tb_new();
	s->path = strdup(path);
	s->thread = 1;
	s->last_id = 1000000; /* that no text would choose */
	s->unclosed = false;
	s->number = 0;
}

/* --- commands -------------------------------------------------------------------------------- */

enum ws_status __wrap_ws_ui_stdout_finish(struct ws_err *err)
{
	return fflush(stdout) ? WS_FAIL(err, IO_WRITE, "%s", strerror(errno)) : WS_OK;
}

static void write_into(int fd, const char *path)
{
	const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(file, fd);
	close(file);
}

static void answer(const struct scenario *s, int status)
{
	fprintf(s->answers, "%d\n", status);
	fflush(s->answers);
}

static void run_command(struct scenario *s)
{
	char **const argv = s->word + 2; /* "warpsheet" takes the place of ERR */
	const int errors = dup(STDERR_FILENO);
	int status;

	finish(s);
	if (s->words < 4 || s->words == WORDS)
		reject(s, "no command:", "");
	write_into(STDOUT_FILENO, s->word[1]);
	write_into(STDERR_FILENO, s->word[2]);
	argv[0] = (char[]){"warpsheet"};
	s->word[s->words] = NULL;
	status = __real_main((int)s->words - 2, argv);
	dup2(errors, STDERR_FILENO);
	close(errors);
	answer(s, status);
}

int __wrap_main(void)
{
	struct scenario s = {.answers = fdopen(dup(STDOUT_FILENO), "w")};
	FILE *lines = fdopen(dup(STDIN_FILENO), "r");
	size_t room = 0;

	write_into(STDIN_FILENO, "/dev/null"); /* as commands see it */
	while (getline(&s.line, &room, lines) >= 0) {
		s.number++;
		s.copy = realloc(s.copy, room);
		if (!s.copy)
			return 2;
		split(&s);
		if (!s.words)
			continue;
		if (!strcmp(word(&s, 0), "trace")) {
			begin(&s, word(&s, 1));
		} else if (!strcmp(word(&s, 0), "run")) {
			run_command(&s);
		} else if (!strcmp(word(&s, 0), "width")) {
			/* of the terminal; 0: without an end */
			if (number(&s, 1))
				setenv("COLUMNS", word(&s, 1), 1);
			else
				unsetenv("COLUMNS");
		} else if (!strcmp(word(&s, 0), "done")) {
			finish(&s);
			answer(&s, 0);
		} else {
			take_line(&s);
		}
	}
	finish(&s);
	free(s.line);
	free(s.copy);
	fclose(lines);
	fclose(s.answers);
	return 0;
}
