#include "tests/support/imported.h"

#include <unistd.h>

#include "formats/trace/check.h"
#include "formats/trace/reader.h"
#include "tests/environment/scratch.h"

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

static void read_trace(struct ws_imported *i, const char *path)
{
	struct ws_trace_reader *reader;
	struct ws_check_result result;
	struct ws_err err;

	if (ws_trace_check_file(path, count_damage, i, &result, &err) != WS_OK ||
	    ws_trace_reader_open(&reader, path, &err) != WS_OK) {
		fprintf(stderr, "the trace cannot be read: %s\n", err.text);
		i->damage++;
		return;
	}
	for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
		struct ws_column_data table = {0};

		if (ws_schema_kind(kind) &&
		    ws_trace_reader_load(reader, (enum ws_kind)kind, &table, &err) != WS_OK)
			i->damage++;
		i->rows[kind] = table.rows;
		if (table.def)
			ws_column_data_release(&table);
	}
	ws_trace_reader_free(reader);
}

struct ws_imported *ws_imported_file(const char *path)
{
	struct ws_imported *i = calloc(1, sizeof(*i));
	char *out = temporary("trace");

	if (!i)
		die("calloc");
	i->status = ws_import_file(path, out, NULL, &i->stats, &i->err);
	if (i->status == WS_OK)
		read_trace(i, out);
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
