#include "tests/support/imported.h"

#include <unistd.h>

#include "formats/trace/check.h"
#include "tests/environment/scratch.h"

/* A text given out, and the one before it. */
struct ws_imported_texts {
	struct ws_imported_texts *before;
	char text[];
};

static void die(const char *what)
{
	perror(what);
	exit(99);
}

/* A new file. Free with free. */
static char *temporary(const char *name)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/ws-%s-XXXXXX", scratch_memory(), name) < 0)
		die("asprintf");
	fd = mkstemp(path);
	if (fd < 0)
		die(path);
	close(fd);
	return path;
}

static void count_damage(void *ctx, const struct ws_check_finding *finding)
{
	struct ws_imported *i = ctx;

	if (finding->level == WS_FINDING_DAMAGE) {
		fprintf(stderr, "the trace has damage: %s\n", finding->text);
		i->damage++;
	}
}

static void open_trace(struct ws_imported *i, const char *path)
{
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_file(path, count_damage, i, &result, &err) != WS_OK ||
	    ws_trace_reader_open(&i->reader, path, &err) != WS_OK) {
		fprintf(stderr, "the trace cannot be read: %s\n", err.text);
		i->damage++;
		return;
	}
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		if (ws_schema_kind(kind) && ws_trace_reader_load(i->reader, (enum ws_kind)kind,
		                                                 &i->table[kind], &err) != WS_OK)
			i->damage++;
}

struct ws_imported *ws_imported_file(const char *path)
{
	struct ws_imported *i = calloc(1, sizeof(*i));
	char *out = temporary("trace");

	if (!i || !(i->texts = calloc(1, sizeof(*i->texts) + 1)))
		die("calloc");
	i->status = ws_import_file(path, out, NULL, &i->stats, &i->err);
	if (i->status == WS_OK)
		open_trace(i, out);
	unlink(out);
	free(out);
	return i;
}

struct ws_imported *ws_imported_bytes(const void *bytes, size_t size)
{
	struct ws_imported *i;
	char *path = temporary("input");
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
		die(path);
	i = ws_imported_file(path);
	unlink(path);
	free(path);
	return i;
}

void ws_imported_free(struct ws_imported *i)
{
	if (!i)
		return;
	for (unsigned kind = 0; kind < WS_KIND_END; kind++)
		if (i->table[kind].def)
			ws_column_data_release(&i->table[kind]);
	ws_trace_reader_free(i->reader);
	for (struct ws_imported_texts *t = i->texts, *before; t; t = before) {
		before = t->before;
		free(t);
	}
	free(i);
}

uint64_t ws_imported_cell(const struct ws_imported *i, enum ws_kind kind, int column, uint64_t row)
{
	const struct ws_column_data *t = &i->table[kind];

	if (!t->def || row >= t->rows || !t->columns[column].present)
		return 0;
	return t->columns[column].v[row];
}

/* A copy with a NUL, freed with the import. The first one is a mere head of the list. */
static const char *copy(const struct ws_imported *i, const struct ws_bytes *bytes)
{
	struct ws_imported_texts *t = malloc(sizeof(*t) + bytes->len + 1);

	if (!t)
		die("malloc");
	t->before = i->texts->before;
	i->texts->before = t;
	if (bytes->len)
		memcpy(t->text, bytes->ptr, bytes->len);
	t->text[bytes->len] = 0;
	return t->text;
}

const char *ws_imported_text(const struct ws_imported *i, uint64_t string_id)
{
	const struct ws_column_data *t = &i->table[WS_KIND_STRING];

	for (uint64_t row = 0; t->def && row < t->rows; row++)
		if (t->columns[WS_COL_string_id].v[row] == string_id)
			return copy(i, &t->columns[WS_COL_string_text].b[row]);
	return "";
}

uint64_t ws_imported_lost(const struct ws_imported *i, const char *words)
{
	for (size_t k = 0; k < WS_IMPORT_LOSSES; k++)
		if (strstr(i->stats.losses[k].reason, words))
			return i->stats.losses[k].count;
	return 0;
}

uint64_t ws_imported_skipped(const struct ws_imported *i, const char *words)
{
	for (size_t k = 0; k < i->stats.nskips; k++)
		if (strstr(i->stats.skips[k].reason, words))
			return i->stats.skips[k].count;
	return 0;
}

int ws_imported_warned(const struct ws_imported *i, const char *words)
{
	for (size_t k = 0; k < i->stats.nwarnings; k++)
		if (strstr(i->stats.warnings[k], words))
			return 1;
	return 0;
}
