#include "tests/support/joined.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/import/import.h"

void joined_free(struct joined *j)
{
	if (!j)
		return;
	ws_joined_rows_free(&j->rows);
	ws_model_free(j->m);
	free(j);
}

/* With what the joins left over, which the table of losses tells. */
static enum ws_status read_rows(struct joined *j, const struct ws_trace_reader *r, const char *name,
                                const struct ws_model_opts *opts, struct ws_err *err)
{
	struct ws_digest none = {0};
	const char *declined = NULL;
	enum ws_status status =
	        ws_joined_rows_pass(&j->rows, r, name, opts, WS_SCOPE_ALL,
	                            WS_DIGEST_ROWS | WS_DIGEST_LEFT, &j->m, &none, &declined, err);

	ws_digest_release(&none);
	return status == WS_OK && declined
	               ? ws_joined_rows_read(&j->rows, r, name, opts, &j->m, err)
	               : status;
}

enum ws_status joined_open_reader(struct joined **out, const struct ws_trace_reader *r,
                                  const char *name, const struct ws_model_opts *opts,
                                  struct ws_err *err)
{
	struct joined *j = calloc(1, sizeof(*j));
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(!j, err, NO_MEMORY, "out of memory");
	status = read_rows(j, r, name, opts, err);
	if (status == WS_OK)
		*out = j;
	else
		joined_free(j);
	return status;
}

enum ws_status joined_open_mem(struct joined **out, const void *data, size_t size, const char *name,
                               struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_reader_open_mem(&r, data, size, err));
	status = joined_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

static enum ws_status open_trace(struct joined **out, const char *path, const char *name,
                                 struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	WS_FORWARD(ws_trace_reader_open(&r, path, err));
	status = joined_open_reader(out, r, name, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

enum ws_status joined_open(struct joined **out, const char *path, struct ws_err *err)
{
	static struct ws_import_stats stats;
	const struct ws_importer *importer;
	char trace[] = "/tmp/ws-joined-XXXXXX";
	enum ws_status status;
	int fd;

	*out = NULL;
	WS_FORWARD(ws_import_find(path, &importer, err));
	if (!importer)
		return open_trace(out, path, path, err);
	fd = mkstemp(trace);
	WS_FAIL_IF(fd < 0, err, ENVIRONMENT, "no temporary file");
	close(fd);
	status = ws_import_file(path, trace, NULL, &stats, err);
	WS_THEN(status, open_trace(out, trace, path, err));
	unlink(trace);
	return status;
}
